/* pull_rows_gpu.c -- rows of a pull view packed by place; about two passes over the matrix. The host waits for nothing. */
#include "core/alloc.h"
#include "core/carve.h"
#include "core/gpu.h"
#include "core/level_kernels.h"
#include "core/levels_gpu.h"
#include "core/method.h"

static sptrsm_status fill(const spti_pull_rows *rows, const sptrsm_plan *plan, const int32_t *order, int32_t *place, int32_t *from) {
  spti_pull_rows_args args = {.view = plan->view,
                              .order = order,
                              .place = place,
                              .start = rows->start,
                              .from = from,
                              .val = rows->val,
                              .diag = rows->diag,
                              .lanes = spti_walk_lanes(&plan->view),
                              .sort_up_to = rows->sorted};
  return spti_gpu_check(spti_pull_rows_fill_launch(&args, plan->context->stream), "rows by place");
}

/* All arrays are one allocation, which begins with row. Returns its size. */
static size_t lay_out(spti_pull_rows *rows, void *memory, const spti_view *v) {
  const size_t value = sptrsm_dtype_bytes(v->dtype);
  spti_carver c = {.base = memory};
  rows->row = spti_carve(&c, v->n, sizeof *rows->row);
  rows->start = spti_carve(&c, (int64_t)v->n + 1, sizeof *rows->start);
  rows->from = spti_carve(&c, spti_view_entries(v), sizeof *rows->from);
  rows->val = spti_carve(&c, spti_view_entries(v), value);
  rows->diag = spti_carve(&c, v->n, value);
  return c.used;
}

/* What only packing needs, likewise. */
typedef struct {
  int32_t *place, *count;
  void *temporary;
} scratch;

static size_t lay_out_scratch(scratch *s, void *memory, int32_t n, size_t temporary_bytes) {
  spti_carver c = {.base = memory};
  s->place = spti_carve(&c, n, sizeof *s->place);
  s->count = spti_carve(&c, n, sizeof *s->count);
  s->temporary = spti_carve(&c, (int64_t)temporary_bytes, 1);
  return c.used;
}

static sptrsm_status pack(spti_pull_rows *rows, const sptrsm_plan *plan, const int32_t *order, const scratch *s, size_t temporary_bytes) {
  const size_t bytes = (size_t)plan->view.n * sizeof *order;
  const spti_pull_rows_args args = {.view = plan->view, .order = order, .place = s->place, .count = s->count};
  void *stream = plan->context->stream;
  SPTI_TRY(spti_gpu_copy(plan->context, rows->row, bytes, order, bytes, bytes, 1, SPTI_ON_DEVICE));
  SPTI_CUDA(spti_pull_rows_count_launch(&args, stream));
  SPTI_CUDA(spti_scan_narrow_launch(s->temporary, &temporary_bytes, s->count, rows->start, plan->view.n, stream));
  return fill(rows, plan, order, s->place, rows->from);
}

sptrsm_status spti_pull_rows_create_sorted(spti_pull_rows *out, const sptrsm_plan *plan, const int32_t *order, int32_t sort_up_to) {
  const spti_view *v = &plan->view;
  spti_pull_rows rows = {.n = v->n, .sorted = sort_up_to};
  scratch s;
  void *memory = NULL, *scratch_memory = NULL;
  size_t temporary_bytes;
  sptrsm_status status;
  if (!v->pull) return spti_fail(SPTRSM_ERR_INTERNAL, "rows by place: the view lists columns; the method must want a pull view");
  if (spti_view_entries(v) > SPTI_PULL_ROWS_MOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "method %s: %lld off-diagonal entries, it takes at most %d; try another method",
                     plan->method->name, (long long)spti_view_entries(v), SPTI_PULL_ROWS_MOST);
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &temporary_bytes, NULL, NULL, v->n, plan->context->stream));
  rows.bytes = lay_out(&rows, NULL, v);
  SPTI_TRY_GOTO(spti_alloc(plan->context, &memory, (int64_t)rows.bytes, 1, "rows by place"));
  SPTI_TRY_GOTO(spti_alloc(plan->context, &scratch_memory, (int64_t)lay_out_scratch(&s, NULL, v->n, temporary_bytes), 1, "places of rows"));
  lay_out(&rows, memory, v);
  lay_out_scratch(&s, scratch_memory, v->n, temporary_bytes);
  SPTI_TRY_GOTO(pack(&rows, plan, order, &s, temporary_bytes));
  spti_free(plan->context, scratch_memory);
  *out = rows;
  return SPTRSM_OK;
fail:
  spti_free(plan->context, scratch_memory);
  spti_free(plan->context, memory);
  return status;
}

sptrsm_status spti_pull_rows_create(spti_pull_rows *out, const sptrsm_plan *plan, const int32_t *order) {
  return spti_pull_rows_create_sorted(out, plan, order, 0);
}

/* Sorted rows are ranked by places once more, which costs less than to keep the ranks. */
sptrsm_status spti_pull_rows_update(const spti_pull_rows *rows, const sptrsm_plan *plan) {
  spti_pull_rows_args args = {.view = plan->view, .order = rows->row};
  if (rows->sorted == 0) return fill(rows, plan, rows->row, NULL, NULL);
  SPTI_TRY(spti_alloc(plan->context, &args.place, rows->n, sizeof *args.place, "places of rows"));
  sptrsm_status status = spti_gpu_check(spti_pull_rows_count_launch(&args, plan->context->stream), "places of rows");
  if (status == SPTRSM_OK) status = fill(rows, plan, rows->row, args.place, NULL);
  spti_free(plan->context, args.place);
  return status;
}

void spti_pull_rows_free(spti_pull_rows *rows, const sptrsm_plan *plan) {
  spti_free(plan->context, rows->row);
  *rows = (spti_pull_rows){0};
}
