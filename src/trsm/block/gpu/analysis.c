/* analysis.c -- the host side of the analysis of `block`: the partition into panels and their levels (core/levels/row_panels_gpu.h), the
 * order in which panels can be solved, the columns of each panel, then values, inverses and near columns. The host waits for the numbers of
 * panels and of tiles only. */
#include "trsm/block/gpu/analysis.h"

#include <string.h>

#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/row_panels_gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/plan.h"
#include "trsm/block/gpu/analysis_kernels.h"

enum { SCAN_THREADS = 1024, TIMES_THE_MATRIX = 64 };
static const size_t NEVER_TOO_LARGE = (size_t)1 << 28; /* bytes */

/* ---- memory ---- */

size_t spti_block_lay_out_panels(spti_block_values_args *args, void *memory) {
  spti_block_columns_args *columns = &args->columns;
  const int32_t count = columns->count;
  spti_carver c = {.base = memory, .whole = true};
  columns->order = spti_carve(&c, count, sizeof *columns->order);
  columns->step_start = spti_carve(&c, (int64_t)count + 1, sizeof *columns->step_start);
  columns->diag_start = spti_carve(&c, (int64_t)count + 1, sizeof *columns->diag_start);
  columns->near_start = spti_carve(&c, (int64_t)count + 1, sizeof *columns->near_start);
  columns->tile_start = spti_carve(&c, (int64_t)count + 1, sizeof *columns->tile_start);
  args->flags = spti_carve(&c, count, sizeof *args->flags);
  args->limit = spti_carve(&c, (int64_t)SPTI_BLOCK_ROWS * count, sizeof *args->limit);
  args->flagged = spti_carve(&c, 3, sizeof *args->flagged);
  return c.used;
}

size_t spti_block_lay_out_tiles(spti_block_values_args *args, int32_t **herald, const int64_t *totals, void *memory) {
  const size_t tile = SPTI_BLOCK_TILE * sptrsm_dtype_bytes(args->columns.view.dtype);
  spti_carver c = {.base = memory, .whole = true};
  args->col = spti_carve(&c, totals[SPTI_BLOCK_STEPS] * SPTI_BLOCK_STEP, sizeof *args->col);
  args->step = spti_carve(&c, totals[SPTI_BLOCK_STEPS], sizeof *args->step);
  args->step_ready = spti_carve(&c, totals[SPTI_BLOCK_STEPS], sizeof *args->step_ready);
  *herald = spti_carve(&c, totals[SPTI_BLOCK_STEPS], sizeof **herald);
  args->triangle = spti_carve(&c, totals[SPTI_BLOCK_DIAGONAL_TILES], tile);
  args->inverse = spti_carve(&c, totals[SPTI_BLOCK_DIAGONAL_TILES], tile);
  args->near = spti_carve(&c, totals[SPTI_BLOCK_NEAR_TILES], tile); /* these two are the last ones: streamed/packed.c */
  args->tile = spti_carve(&c, totals[SPTI_BLOCK_TILES], tile);
  return c.used;
}

/* The arrays by panels, and those by places. */
static size_t lay_out(spti_block_values_args *args, char *memory) {
  const size_t panels = spti_block_lay_out_panels(args, memory);
  spti_carver c = {.base = memory ? memory + panels : NULL};
  args->columns.ready_at = spti_carve(&c, args->columns.view.n, sizeof *args->columns.ready_at);
  return panels + c.used;
}

/* Arrays that only the analysis needs. */
typedef struct {
  int32_t *sorted_level;
  void *temporary;
} scratch;

static size_t lay_out_scratch(spti_block_columns_args *columns, scratch *s, size_t temporary_bytes, void *memory) {
  spti_carver c = {.base = memory};
  columns->ready = spti_carve(&c, columns->count, sizeof *columns->ready);
  columns->place_at = spti_carve(&c, columns->view.n, sizeof *columns->place_at);
  columns->steps = spti_carve(&c, columns->count, sizeof *columns->steps);
  columns->tiles = spti_carve(&c, columns->count, sizeof *columns->tiles);
  s->sorted_level = spti_carve(&c, columns->count, sizeof *s->sorted_level);
  s->temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}

/* ---- the steps ---- */

/* Threads to a panel: enough that each has only a few entries of a panel of average length and a few words of the map of a window, and
 * that few panels keep a large device busy, since the longest panels are several times the average. */
enum { DEVICE_THREADS = 1 << 17 };
static int32_t threads_for(const spti_view *v, int32_t panels, int32_t window) {
  int32_t threads = 256;
  while (threads < 1024 &&
         (v->nnz / panels > (int64_t)8 * threads || window / 8 > 64 * threads || (int64_t)panels * threads < DEVICE_THREADS))
    threads *= 2;
  return threads;
}

/* Sorts panels by level, if they are too many for one thread block. bytes: of s->temporary (spti_sort_launch). */
static sptrsm_status sort_panels(const spti_block_analysis *a, const scratch *s, size_t *bytes, void *stream) {
  const spti_row_panels *found = &a->found;
  const spti_sort_args sort = {.keys = found->level,
                               .values = found->number,
                               .sorted_keys = s->sorted_level,
                               .sorted_values = a->args.columns.order,
                               .count = found->count,
                               .bits = spti_sort_bits(found->levels + 1)};
  if (found->count <= SPTI_BLOCK_FEW_PANELS) return SPTRSM_OK;
  SPTI_CUDA(spti_sort_launch(s->temporary, bytes, &sort, stream));
  return SPTRSM_OK;
}

/* Orders panels by level and places accordingly, and counts steps and tiles. */
static sptrsm_status order_and_count(spti_block_analysis *a, const sptrsm_plan *plan) {
  spti_block_columns_args *columns = &a->args.columns;
  void *stream = plan->context->stream;
  scratch s = {0};
  size_t bytes = 0;
  SPTI_TRY(sort_panels(a, &s, &bytes, stream));
  SPTI_TRY(spti_alloc(plan->context, &a->scratch, (int64_t)lay_out_scratch(columns, &s, bytes, NULL), 1, "block columns"));
  lay_out_scratch(columns, &s, bytes, a->scratch);
  columns->totals = (int64_t *)plan->context->pinned_device;
  SPTI_TRY(sort_panels(a, &s, &bytes, stream));
  SPTI_CUDA(spti_block_ready_launch(columns, stream));
  SPTI_CUDA(spti_block_count_launch(columns, stream));
  SPTI_TRY(spti_gpu_wait(plan->context));
  memcpy(a->totals, plan->context->pinned, sizeof a->totals);
  return SPTRSM_OK;
}

static sptrsm_status check_size(const spti_block_analysis *a, const spti_view *v) {
  const size_t matrix = (size_t)v->nnz * (sptrsm_dtype_bytes(v->dtype) + sizeof *v->idx);
  const int64_t *t = a->totals, steps = t[SPTI_BLOCK_STEPS], diagonal = t[SPTI_BLOCK_DIAGONAL_TILES], near = t[SPTI_BLOCK_NEAR_TILES];
  if (steps > INT32_MAX / SPTI_BLOCK_STEP || diagonal > INT32_MAX || near > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "block: %lld steps of columns, %lld diagonal and %lld near tiles are beyond 32 bits; use gather", (long long)steps,
                     (long long)diagonal, (long long)near);
  if (a->bytes > NEVER_TOO_LARGE && a->bytes / TIMES_THE_MATRIX > matrix)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block: panels of %zu bytes would be more than %d times the matrix; use gather", a->bytes,
                     TIMES_THE_MATRIX);
  return SPTRSM_OK;
}

/* Makes the steps and their columns, and zeroed tiles. */
static sptrsm_status make_steps(const spti_block_analysis *a, const sptrsm_context *context) {
  const size_t tile = SPTI_BLOCK_TILE * sptrsm_dtype_bytes(a->args.columns.view.dtype);
  SPTI_CUDA(spti_block_columns_launch(&a->args, context->stream));
  SPTI_CUDA(spti_block_herald_launch(&a->panels, a->totals[SPTI_BLOCK_STEPS], a->herald, context->stream));
  return spti_gpu_zero(context, a->args.tile, (size_t)a->totals[SPTI_BLOCK_TILES] * tile);
}

static sptrsm_status put_values(const spti_block_analysis *a, const spti_block_values_args *args, const sptrsm_context *context,
                                bool has_steps) {
  if (!has_steps) SPTI_TRY(make_steps(a, context));
  SPTI_CUDA(spti_block_values_launch(args, args->columns.view.dtype, context->stream));
  return SPTRSM_OK;
}

/* The inverses need no tiles and are made on a second stream beside them. */
sptrsm_status spti_block_fill(const spti_block_analysis *a, const spti_view *view, const sptrsm_context *context, bool has_steps) {
  spti_block_values_args args = a->args;
  void *beside;
  args.columns.view = *view;
  SPTI_TRY(spti_gpu_zero(context, args.flagged, 3 * sizeof *args.flagged));
  SPTI_TRY(spti_gpu_fork(context, &beside));
  sptrsm_status status = spti_gpu_check(spti_block_inverses_launch(&args, view->dtype, beside), "inverses of diagonal blocks");
  if (status == SPTRSM_OK) status = put_values(a, &args, context, has_steps);
  const sptrsm_status joined = spti_gpu_join(context);
  if (status == SPTRSM_OK) status = joined;
  return status != SPTRSM_OK ? status : spti_gpu_check(spti_block_near_launch(&args, view->dtype, context->stream), "near columns");
}

spti_block_panels spti_block_panels_of(const spti_block_analysis *a) {
  const spti_block_columns_args *columns = &a->args.columns;
  return (spti_block_panels){.n = columns->view.n,
                             .count = columns->count,
                             .first = columns->first,
                             .order = columns->order,
                             .step_start = columns->step_start,
                             .col = a->args.col,
                             .step = a->args.step,
                             .tile = a->args.tile,
                             .diag_start = columns->diag_start,
                             .triangle = a->args.triangle,
                             .inverse = a->args.inverse,
                             .near_start = columns->near_start,
                             .near = a->args.near,
                             .flags = a->args.flags,
                             .herald = a->herald};
}

spti_block_values_args spti_block_args(const spti_block_settings *set, const spti_view *v, int32_t count) {
  const bool single = v->dtype == SPTRSM_F32 || v->dtype == SPTRSM_C64;
  const int64_t places = ((int64_t)v->n + SPTI_BLOCK_ROWS - 1) / SPTI_BLOCK_ROWS * SPTI_BLOCK_ROWS;
  const int32_t window = places < set->window ? (int32_t)places : set->window;
  return (spti_block_values_args){
      .bound = set->bound,
      .spare = set->spare,
      .refine = single && set->refine > SPTI_BLOCK_REFINE_F32 ? SPTI_BLOCK_REFINE_F32 : set->refine,
      .columns = {.view = *v, .count = count, .window = window, .threads = threads_for(v, count, window), .scan_threads = SCAN_THREADS}};
}

static sptrsm_status build(spti_block_analysis *a, const sptrsm_plan *plan) {
  const spti_view *v = &plan->view;
  const spti_row_panels *found = &a->found;
  a->levels = found->levels;
  a->args = spti_block_args(&a->set, v, found->count);
  a->args.columns.first = found->first;
  a->args.columns.level = found->count <= SPTI_BLOCK_FEW_PANELS ? found->level : NULL;
  a->args.columns.panel = found->panel;
  a->bytes = lay_out(&a->args, NULL);
  SPTI_TRY(spti_alloc(plan->context, &a->memory[0], (int64_t)a->bytes, 1, "block panels"));
  lay_out(&a->args, a->memory[0]);
  SPTI_TRY(order_and_count(a, plan));
  const size_t bytes = spti_block_lay_out_tiles(&a->args, &a->herald, a->totals, NULL);
  a->bytes += bytes + found->bytes;
  SPTI_TRY(check_size(a, v));
  SPTI_TRY(spti_alloc(plan->context, &a->memory[1], (int64_t)bytes, 1, "block tiles"));
  spti_block_lay_out_tiles(&a->args, &a->herald, a->totals, a->memory[1]);
  a->panels = spti_block_panels_of(a);
  return spti_block_fill(a, v, plan->context, false);
}

static void drop_scratch(spti_block_analysis *a, const sptrsm_plan *plan) {
  spti_block_columns_args *columns = &a->args.columns;
  spti_free(plan->context, a->scratch);
  a->scratch = NULL;
  columns->ready = columns->place_at = columns->steps = columns->tiles = NULL;
  columns->totals = NULL;
}

sptrsm_status spti_block_check_window(const spti_block_settings *set, int32_t n) {
  const int64_t room = (int64_t)SPTI_BLOCK_WINDOWS * set->window;
  if (n <= room) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "block: window=%d has room for %lld rows, not for %d; use a larger window, up to %d", set->window,
                   (long long)room, n, SPTI_BLOCK_WINDOW);
}

sptrsm_status spti_block_analysis_make(spti_block_analysis *out, sptrsm_plan *plan, const spti_block_settings *set) {
  *out = (spti_block_analysis){.set = *set};
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_block_check_window(set, plan->view.n));
  SPTI_TRY(spti_plan_take_row_panels(&out->found, plan, set->rows, set->least));
  const sptrsm_status status = build(out, plan);
  drop_scratch(out, plan);
  return status;
}

sptrsm_status spti_block_analysis_update(const spti_block_analysis *a, const sptrsm_plan *plan) {
  return plan->view.n > 0 ? spti_block_fill(a, &plan->view, plan->context, true) : SPTRSM_OK;
}

sptrsm_status spti_block_flagged(int32_t out[3], const spti_block_analysis *a, const sptrsm_plan *plan) {
  const size_t bytes = 3 * sizeof *out;
  out[0] = out[1] = out[2] = 0;
  return plan->view.n > 0 ? spti_gpu_copy(plan->context, out, bytes, a->args.flagged, bytes, bytes, 1, SPTI_TO_HOST) : SPTRSM_OK;
}

void spti_block_analysis_free(spti_block_analysis *a, const sptrsm_plan *plan) {
  for (int m = 0; m < 2; m++) spti_free(plan->context, a->memory[m]);
  spti_row_panels_free(&a->found, plan->context);
  *a = (spti_block_analysis){0};
}
