/* method.c -- block-streamed: `block` with the factor in page-locked host memory. Its panels come to the device in pieces, once for each
 * panel of right-hand sides: while the kernel of `block` solves with one piece, the next one is copied to the other of two buffers; or, as
 * where tiles are packed, the kernels of the pieces in several buffers run at the same time.
 * x(P,:) = inv(T(P,P)) (b(P,:) - sum of T(P,j) x(j,:)) for the panels P of a piece; the solutions of earlier pieces are there already.
 * Source: supernodal solves [davis2006, chapters 4 and 8], as `block`; what differs is where the factor is.
 * Wins: factors beyond the memory of the device, with many right-hand sides. Loses: wherever the factor fits into device memory, since the
 * copy takes several times as long as the solve.
 * Deterministic: yes; the bits are those of `block`, however many pieces there are. README.md has more. */
#include <stdio.h>

#include "core/base/variant.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/context/gpu_feed.h"
#include "trsm/block/gpu/streamed/streamed.h"

/* ---- analysis ---- */

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_streamed *s;
  SPTI_TRY(spti_block_check_device(plan->context));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "block-streamed state"));
  *s = (spti_streamed){.set = spti_block_defaults(), .packs = -1};
  plan->state = s;
  const spti_setting more[] = {{"pieces", &s->pieces, 1, INT32_MAX, NULL},
                               {"overlap", &s->overlap, 1, SPTI_GPU_FEED_BUFFERS, NULL},
                               {"packed", &s->packs, 0, 1, NULL}};
  SPTI_TRY(spti_block_parse("block-streamed", &s->set, &s->tile, more, 3, plan->variant));
  s->single = spti_block_is_single(&s->set, plan);
  if (plan->view.n == 0) spti_streamed_choose_form(s, plan, (const int64_t[SPTI_BLOCK_TOTALS]){0}, 0);
  SPTI_TRY(spti_streamed_make(s, plan));
  plan->levels = -1;
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) { return spti_streamed_update(plan->state, plan); }

/* Copies from the images may still be queued. */
static void release(sptrsm_plan *plan) {
  (void)spti_gpu_wait(plan->context);
  spti_streamed_free(plan->state, plan);
  spti_host_free(plan->state);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const spti_streamed *s = plan->state;
  const double stored = (double)(s->tiles * SPTI_BLOCK_TILE) / (double)(plan->view.nnz > 0 ? plan->view.nnz : 1);
  int32_t flagged[3];
  spti_streamed_flagged(flagged, s, plan);
  snprintf(info->parameters, sizeof info->parameters,
           "%spieces=%d overlap=%d packed=%d piece_bytes=%zu sweep_bytes=%zu panels=%d levels=%d stored/nnz=%.2f refined=%d substituted=%d "
           "apart=%d",
           s->single ? "products=32 " : "", s->piece_count, s->overlap, s->packs, s->largest, s->packs ? s->packed_bytes : s->bytes,
           s->found.count, s->found.levels, stored, flagged[1], flagged[0], flagged[2]);
  info->plan_bytes = sizeof *s + s->bytes + s->packed_bytes + (size_t)plan->view.n * sizeof *s->row;
}

/* ---- per-solve state ---- */

/* A block of solutions, by place, whose values are their own flags; and the buffers. */
typedef struct {
  spti_streamed_memory lent; /* first */
  void *memory;              /* solutions, control words, buffers */
  int32_t *control;          /* in memory */
  int64_t ld;
  bool shares_work; /* the memory is the caller's, and others use it between solves */
  spti_gpu_feed *feed;
} workspace;

typedef struct {
  size_t solutions, control, buffer, all; /* bytes; all three begin at multiples of 256 */
} layout;

/* Pieces that take turns need two. */
static int buffers_of(const spti_streamed *s) { return s->overlap > 1 ? s->overlap : 2; }

static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

static size_t buffer_bytes(const spti_streamed *s) { return aligned(s->packs ? s->largest_packed + s->largest_made : s->largest); }

/* Rows begin at multiples of 16 bytes, and the rows together fill 64-bit words. */
static int64_t ld_of(int32_t panel) { return ((int64_t)panel + 3) / 4 * 4; }

static sptrsm_status lay_out(layout *out, const sptrsm_plan *plan, int32_t panel) {
  const spti_streamed *s = plan->state;
  SPTI_TRY(spti_bytes(&out->solutions, (int64_t)plan->view.n * ld_of(panel), sptrsm_dtype_bytes(plan->view.dtype), "solutions"));
  out->control = aligned(out->solutions);
  out->buffer = out->control + aligned(SPTI_TWO_BLOCKS_CONTROL_WORDS * sizeof(int32_t));
  out->all = out->buffer + (size_t)buffers_of(s) * buffer_bytes(s);
  if (out->all < s->working_bytes) out->all = s->working_bytes; /* new values use it */
  return SPTRSM_OK;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  layout l;
  SPTI_TRY(lay_out(&l, plan, panel));
  *out = l.all;
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  workspace *w = work;
  spti_streamed_memory **at = &((spti_streamed *)plan->state)->lent;
  while (*at != &w->lent) at = &(*at)->next;
  *at = w->lent.next;
  spti_gpu_feed_free(w->feed);
  if (!w->shares_work) spti_free(plan->context, w->memory);
  spti_host_free(w);
}

static sptrsm_status create_in(void **work, const sptrsm_plan *plan, int32_t panel, void *memory, bool shares_work) {
  spti_streamed *s = plan->state;
  workspace *w;
  layout l;
  SPTI_TRY(spti_two_blocks_check_width(panel));
  SPTI_TRY(lay_out(&l, plan, panel));
  SPTI_TRY(spti_host_alloc(&w, 1, sizeof *w, "workspace"));
  *w = (workspace){.lent = {memory, s->lent},
                   .memory = memory,
                   .control = (int32_t *)((char *)memory + l.control),
                   .ld = ld_of(panel),
                   .shares_work = shares_work};
  const sptrsm_status status = spti_gpu_feed_create(&w->feed, plan->context, (char *)memory + l.buffer, buffer_bytes(s), buffers_of(s));
  if (status != SPTRSM_OK) {
    spti_host_free(w);
    return status;
  }
  s->lent = &w->lent;
  *work = w;
  return SPTRSM_OK;
}

static sptrsm_status shared_create(void **work, const sptrsm_plan *plan, int32_t panel, void *memory) {
  return create_in(work, plan, panel, memory, true);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  void *memory;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  SPTI_TRY(spti_alloc(plan->context, &memory, (int64_t)bytes, 1, "solutions and buffers for pieces of the factor"));
  const sptrsm_status status = create_in(work, plan, panel, memory, false);
  if (status != SPTRSM_OK) spti_free(plan->context, memory);
  return status;
}

static const spti_shared_work shared_work = {.bytes = work_bytes, .create = shared_create};

/* The factor crosses the bus once a panel: so a panel has all right-hand sides that are expected, if a memory limit narrows it where
 * needed. */
static int32_t panel_width(const sptrsm_plan *plan) {
  enum { MOST = 1 << 16 };
  const int64_t hint = plan->options.nrhs_hint;
  const bool limited = plan->context->memory_limit > 0 || plan->options.memory_limit > 0;
  if (!limited || hint <= 0) return spti_two_blocks_panel(plan);
  return hint < 32 ? (int32_t)hint : (int32_t)((hint < MOST ? hint : MOST) + 31) / 32 * 32;
}

/* ---- solve ---- */

static sptrsm_status send(workspace *w, const spti_streamed *s, int32_t k) {
  if (k >= s->piece_count) return SPTRSM_OK;
  const spti_streamed_piece *p = &s->piece[k];
  if (s->packs) return spti_gpu_feed_send(w->feed, k, s->packed + p->packed_at, p->packed_bytes);
  return spti_gpu_feed_send(w->feed, k, s->image + p->at, p->bytes);
}

/* Pieces take turns; or the kernel of a piece begins when all thread blocks of earlier pieces have started, and waits for what they have
 * not solved yet. */
static sptrsm_status open_gate(const sptrsm_plan *plan, workspace *w, int32_t k, const spti_block_work *in) {
  const spti_two_blocks_gate_args gate = {w->control, in->tickets};
  if (((const spti_streamed *)plan->state)->overlap == 1) return spti_gpu_feed_in_turn(w->feed, k);
  if (k > 0) SPTI_CUDA(spti_two_blocks_gate_launch(&gate, in->stream));
  return SPTRSM_OK;
}

static sptrsm_status solve_piece(const sptrsm_plan *plan, workspace *w, int32_t k, spti_block_work *in, const spti_transfer *between) {
  const spti_streamed *s = plan->state;
  spti_block_state piece;
  void *image = spti_gpu_feed_take(&in->stream, w->feed, k);
  spti_streamed_state(&piece, s, plan, &s->piece[k], image);
  if (s->packs) {
    const spti_block_values_args arrays = spti_streamed_args(s, plan, &s->piece[k], image);
    SPTI_TRY(spti_streamed_unpack(&piece.panels, s, plan, &s->piece[k], &arrays, image, in->stream));
  }
  SPTI_TRY(open_gate(plan, w, k, in));
  return spti_block_solve_panels(&piece, plan, in, between);
}

/* The copy of piece k + ahead is queued after the kernel of piece k, which waits for all that is queued on the stream of piece k - 1, the
 * stream of that copy. */
static sptrsm_status solve_pieces(const sptrsm_plan *plan, workspace *w, spti_block_work *in, const spti_transfer *between) {
  const spti_streamed *s = plan->state;
  const int32_t ahead = buffers_of(s) - 1;
  if (w->shares_work)
    SPTI_TRY(spti_gpu_feed_begin(w->feed, plan->context)); /* other plans have used this memory: the copies wait for them */
  for (int32_t k = 0; k < ahead; k++) SPTI_TRY(send(w, s, k));
  if (!w->shares_work) SPTI_TRY(spti_gpu_feed_begin(w->feed, plan->context));
  for (int32_t k = 0; k < s->piece_count; k++) {
    SPTI_TRY(solve_piece(plan, w, k, in, between));
    SPTI_TRY(send(w, s, k + ahead));
  }
  return SPTRSM_OK;
}

/* The kernel of `block` changes between two work blocks. Here there is one, filled before the first piece, and one count of tickets. After
 * an error, too, the context's stream waits for what was queued. */
static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  const spti_streamed *s = plan->state;
  workspace *w = work;
  if (s->found.count >= INT32_MAX / ((between->width + 7) / 8))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block-streamed: %d panels times %d right-hand sides are beyond 32 bits; use smaller panels",
                     s->found.count, between->width);
  const int64_t bytes = plan->view.n * w->ld * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  const spti_two_blocks_args start = {w->control, w->memory, bytes / (int64_t)sizeof(int64_t)};
  spti_block_work in = {.memory = w->memory, .ld = w->ld, .together = true, .sync = spti_gpu_syncfree(plan->context, w->control)};
  SPTI_CUDA(spti_two_blocks_start_launch(&start, plan->context->stream));
  const sptrsm_status status = solve_pieces(plan, w, &in, between), joined = spti_gpu_feed_end(w->feed, plan->context);
  return status != SPTRSM_OK ? status : joined;
}

const spti_method spti_method_block_streamed = {
    .name = "block-streamed",
    .summary = "block with the factor in host memory, in pieces through buffers on the device",
    .cite = "davis2006",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_VARIANTS | SPTI_INVERTS | SPTI_FROM_HOST,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .panel = panel_width,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .shared_work = &shared_work,
    .solve_between = solve_between,
};
