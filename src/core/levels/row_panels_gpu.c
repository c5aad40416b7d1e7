/* row_panels_gpu.c -- panels found on the device. The host waits once, for the number of panels and of their levels; auto's survey waits
 * for the level sets with them (core/select/survey_gpu.c). */
#include "core/levels/row_panels_gpu.h"

#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/row_panel_kernels.h"

/* One allocation. Returns its size. */
static size_t lay_out(spti_row_panels_args *args, void *memory) {
  const int32_t n = args->view.n, most = spti_row_panels_most(n, args->least), chunks = spti_row_panels_chunks(n, args->chunk);
  spti_carver c = {.base = memory};
  args->panel = spti_carve(&c, n, sizeof *args->panel);
  args->first = spti_carve(&c, (int64_t)most + 1, sizeof *args->first);
  args->number = spti_carve(&c, most, sizeof *args->number);
  args->level = spti_carve(&c, most, sizeof *args->level);
  args->exits = spti_carve(&c, (int64_t)chunks * SPTI_ROW_PANEL_ROWS, sizeof *args->exits);
  args->entry = spti_carve(&c, (int64_t)chunks * 2, sizeof *args->entry);
  args->facts = spti_carve(&c, 1, sizeof *args->facts);
  args->sync.control = spti_carve(&c, SPTI_SYNCFREE_CONTROL_WORDS, sizeof *args->sync.control);
  return c.used;
}

/* Enough for a panel of average length to have few entries a thread. */
static int32_t threads_for(const spti_view *v, int32_t rows) {
  const int64_t entries = v->nnz / v->n * rows;
  int32_t threads = 64;
  while (threads < 1024 && entries > (int64_t)8 * threads) threads *= 2;
  return threads;
}

/* Small chunks keep more of a device busy, many take long to be chained. */
static int32_t chunk_for(int32_t n) {
  return n <= 1 << 15 ? SPTI_ROW_PANEL_CHUNK / 4 : n <= 1 << 16 ? SPTI_ROW_PANEL_CHUNK / 2 : SPTI_ROW_PANEL_CHUNK;
}

sptrsm_status spti_row_panels_start(spti_row_panels *out, const spti_view *v, const sptrsm_context *context, int32_t rows, int32_t least,
                                    int32_t dense) {
  void *memory;
  *out = (spti_row_panels){.n = v->n, .rows = rows, .least = least};
  if (v->n == 0) return SPTRSM_OK;
  spti_row_panels_args args = {.view = *v,
                               .rows = rows,
                               .least = least,
                               .chunk = chunk_for(v->n),
                               .threads = threads_for(v, rows),
                               .window = SPTI_ROW_PANEL_WINDOW,
                               .dense = dense,
                               .samples = SPTI_ROW_PANEL_SAMPLES,
                               .sync = spti_gpu_syncfree(context, NULL)};
  out->bytes = lay_out(&args, NULL);
  SPTI_TRY(spti_alloc(context, &memory, (int64_t)out->bytes, 1, "panels"));
  lay_out(&args, memory);
  out->panel = args.panel;
  out->first = args.first;
  out->number = args.number;
  out->level = args.level;
  out->facts = args.facts;
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_gpu_check(spti_row_panels_cut_launch(&args, context->stream), "the cut into panels"));
  SPTI_TRY_GOTO(spti_gpu_check(spti_row_panels_levels_launch(&args, context->stream), "levels of panels"));
fail:
  if (status != SPTRSM_OK) spti_row_panels_free(out, context);
  return status;
}

void spti_row_panels_finish(spti_row_panels *panels, const spti_row_panels_facts *facts) {
  panels->count = facts->count;
  panels->levels = facts->levels;
}

static sptrsm_status wait_for(spti_row_panels *panels, sptrsm_context *context) {
  spti_row_panels_facts facts;
  SPTI_TRY(spti_gpu_fetch(context, &facts, panels->facts, sizeof facts));
  SPTI_TRY(spti_gpu_sync(context));
  spti_row_panels_finish(panels, &facts);
  return SPTRSM_OK;
}

sptrsm_status spti_row_panels_create(spti_row_panels *out, const spti_view *v, sptrsm_context *context, int32_t rows, int32_t least) {
  SPTI_TRY(spti_row_panels_start(out, v, context, rows, least, 0));
  const sptrsm_status status = v->n > 0 ? wait_for(out, context) : SPTRSM_OK;
  if (status != SPTRSM_OK) spti_row_panels_free(out, context);
  return status;
}

void spti_row_panels_free(spti_row_panels *panels, const sptrsm_context *context) {
  spti_free(context, panels->panel);
  *panels = (spti_row_panels){0};
}
