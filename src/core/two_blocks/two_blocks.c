/* two_blocks.c -- see two_blocks.h. */
#include "core/two_blocks/two_blocks.h"

#include "core/context/alloc.h"
#include "core/context/gpu.h"

static const int64_t PANEL_BYTES = (int64_t)1 << 31; /* limit of one work block */
enum { PANEL_MOST = 512, PANEL_LEAST = 32 };
enum { LD_MOST = INT32_MAX / 16 }; /* values of any type in a row of less than 2^31 bytes */

int32_t spti_two_blocks_panel(const sptrsm_plan *plan) {
  const int64_t column = (int64_t)(plan->view.n > 0 ? plan->view.n : 1) * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  const int64_t hint = plan->options.nrhs_hint, fits = PANEL_BYTES / column / PANEL_LEAST * PANEL_LEAST;
  if (hint > 0 && hint < PANEL_LEAST) return (int32_t)hint;
  int64_t want = hint > 0 && hint < PANEL_MOST ? (hint + PANEL_LEAST - 1) / PANEL_LEAST * PANEL_LEAST : PANEL_MOST;
  if (want > fits) want = fits;
  return want < PANEL_LEAST ? PANEL_LEAST : (int32_t)want;
}

/* Rows of the work blocks begin at memory sectors, except rows of one or two right-hand sides, of which several share a sector. */
static int64_t ld_of(int32_t panel) { return panel <= 2 ? panel : ((int64_t)panel + 3) / 4 * 4; }

static sptrsm_status bytes_of(size_t *out, const sptrsm_plan *plan, int64_t rows, int32_t panel, size_t blocks) {
  SPTI_TRY(spti_bytes(out, rows * ld_of(panel), blocks * sptrsm_dtype_bytes(plan->view.dtype), "work blocks"));
  *out = (*out + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t) + SPTI_TWO_BLOCKS_CONTROL_WORDS * sizeof(int32_t);
  return SPTRSM_OK;
}

sptrsm_status spti_two_blocks_bytes(size_t *out, const sptrsm_plan *plan, int64_t rows, int32_t panel) {
  return bytes_of(out, plan, rows, panel, 2);
}

sptrsm_status spti_two_blocks_shared_bytes(size_t *out, const sptrsm_plan *plan, int64_t rows, int32_t panel) {
  return bytes_of(out, plan, rows, panel, 1);
}

/* Behind the blocks, which the fill takes for 64-bit words. */
static int32_t *control_of(const spti_two_blocks *w, const sptrsm_plan *plan) {
  const size_t blocks = w->shares_work ? 1 : 2, bytes = blocks * (size_t)(w->rows * w->ld) * sptrsm_dtype_bytes(plan->view.dtype);
  return (int32_t *)((char *)w->memory + (bytes + sizeof(int64_t) - 1) / sizeof(int64_t) * sizeof(int64_t));
}

/* Fills the work blocks. Afterwards a solve uses the first one, and the other one, if there is one, needs no refill. */
static sptrsm_status make_whole(spti_two_blocks *w, const sptrsm_plan *plan) {
  int32_t *control = control_of(w, plan);
  const spti_two_blocks_args args = {control, w->memory, ((char *)control - (char *)w->memory) / (int64_t)sizeof(int64_t)};
  SPTI_CUDA(spti_two_blocks_start_launch(&args, plan->context->stream));
  w->losses = plan->context->losses;
  return SPTRSM_OK;
}

sptrsm_status spti_two_blocks_check_width(int32_t panel) {
  if (ld_of(panel) <= LD_MOST) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "work blocks: rows of %d right-hand sides, more than %d; use smaller panels", panel, LD_MOST);
}

sptrsm_status spti_two_blocks_place(spti_two_blocks *out, void *memory, int64_t rows, int32_t panel) {
  SPTI_TRY(spti_two_blocks_check_width(panel));
  *out = (spti_two_blocks){.memory = memory, .rows = rows, .ld = ld_of(panel), .shares_work = true};
  return SPTRSM_OK;
}

static sptrsm_status keep(void **out, const spti_two_blocks *made) {
  spti_two_blocks *w;
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "workspace"));
  *w = *made;
  *out = w;
  return SPTRSM_OK;
}

sptrsm_status spti_two_blocks_create_in(void **out, void *memory, int64_t rows, int32_t panel) {
  spti_two_blocks made;
  SPTI_TRY(spti_two_blocks_place(&made, memory, rows, panel));
  return keep(out, &made);
}

sptrsm_status spti_two_blocks_create(void **out, const sptrsm_plan *plan, int64_t rows, int32_t panel) {
  size_t bytes;
  SPTI_TRY(spti_two_blocks_check_width(panel));
  SPTI_TRY(spti_two_blocks_bytes(&bytes, plan, rows, panel));
  spti_two_blocks made = {.rows = rows, .ld = ld_of(panel)};
  sptrsm_status status;
  SPTI_TRY(spti_alloc(plan->context, &made.memory, (int64_t)bytes, 1, "work blocks"));
  SPTI_TRY_GOTO(make_whole(&made, plan));
  SPTI_TRY_GOTO(keep(out, &made));
  return SPTRSM_OK;
fail:
  spti_free(plan->context, made.memory);
  return status;
}

void spti_two_blocks_free(void *work, const sptrsm_plan *plan) {
  spti_two_blocks *w = work;
  if (!w->shares_work) spti_free(plan->context, w->memory);
  spti_host_free(w);
}

sptrsm_status spti_two_blocks_ready(spti_syncfree *out, spti_two_blocks *w, const sptrsm_plan *plan, int32_t width) {
  if (w->shares_work) {
    w->ld = ld_of(width);
    SPTI_TRY(make_whole(w, plan));
  } else if (w->losses != plan->context->losses) {
    SPTI_TRY(spti_gpu_refuse_capture_but(plan->context, "a solve after a lost dependency",
                                         "solve once with this workspace before the capture begins"));
    SPTI_TRY(make_whole(w, plan));
  }
  *out = spti_gpu_syncfree(plan->context, control_of(w, plan));
  return SPTRSM_OK;
}
