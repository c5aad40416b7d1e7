/* pull_rows_gpu.c -- rows of a pull view packed by place; about two passes over the matrix. The host waits for nothing. */
#include <string.h>

#include "core/alloc.h"
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
                              .lanes = spti_walk_lanes(&plan->view)};
  return spti_gpu_check(spti_pull_rows_fill_launch(&args, plan->context->stream), "rows by place");
}

/* rows->row, start; then the rest with the places of rows at hand. */
static sptrsm_status pack(spti_pull_rows *rows, const sptrsm_plan *plan, const int32_t *order, int32_t *place, int32_t *count) {
  const int32_t n = plan->view.n;
  void *temporary = NULL, *stream = plan->context->stream;
  size_t bytes = (size_t)n * sizeof *order;
  sptrsm_status status;
  spti_pull_rows_args args = {.view = plan->view, .order = order, .place = place, .count = count};
  SPTI_TRY(spti_gpu_copy(plan->context, rows->row, bytes, order, bytes, bytes, 1, SPTI_ON_DEVICE));
  SPTI_CUDA(spti_pull_rows_count_launch(&args, stream));
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &bytes, count, rows->start, n, stream));
  SPTI_TRY(spti_alloc(plan->context, &temporary, (int64_t)bytes, 1, "scan buffer"));
  status = spti_gpu_check(spti_scan_narrow_launch(temporary, &bytes, count, rows->start, n, stream), "starts of rows");
  spti_free(plan->context, temporary);
  SPTI_TRY(status);
  return fill(rows, plan, order, place, rows->from);
}

sptrsm_status spti_pull_rows_create(spti_pull_rows *out, const sptrsm_plan *plan, const int32_t *order) {
  const spti_view *v = &plan->view;
  const sptrsm_context *context = plan->context;
  const int64_t entries = spti_view_entries(v), n = v->n;
  const size_t value = sptrsm_dtype_bytes(v->dtype), index = sizeof(int32_t);
  spti_pull_rows rows = {.n = v->n};
  int32_t *place = NULL, *count = NULL;
  sptrsm_status status;
  if (!v->pull) return spti_fail(SPTRSM_ERR_INTERNAL, "rows by place: the view lists columns; the method must want a pull view");
  if (entries > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "method %s: %lld off-diagonal entries, it takes at most %d; try another method",
                     plan->method->name, (long long)entries, INT32_MAX);
  SPTI_TRY_GOTO(spti_alloc(context, &rows.row, n, index, "rows by place"));
  SPTI_TRY_GOTO(spti_alloc(context, &rows.start, n + 1, index, "starts of rows by place"));
  SPTI_TRY_GOTO(spti_alloc(context, &rows.from, entries, index, "places of entries"));
  SPTI_TRY_GOTO(spti_alloc(context, &rows.val, entries, value, "values by place"));
  SPTI_TRY_GOTO(spti_alloc(context, &rows.diag, n, value, "diagonal by place"));
  SPTI_TRY_GOTO(spti_alloc(context, &place, n, sizeof *place, "places of rows"));
  SPTI_TRY_GOTO(spti_alloc(context, &count, n, sizeof *count, "entries of rows"));
  SPTI_TRY_GOTO(pack(&rows, plan, order, place, count));
  spti_free(context, place);
  spti_free(context, count);
  rows.bytes = (size_t)(2 * n + 1) * index + (size_t)entries * (index + value) + (size_t)n * value;
  *out = rows;
  return SPTRSM_OK;
fail:
  spti_free(context, place);
  spti_free(context, count);
  spti_pull_rows_free(&rows, plan);
  return status;
}

sptrsm_status spti_pull_rows_update(const spti_pull_rows *rows, const sptrsm_plan *plan) { return fill(rows, plan, rows->row, NULL, NULL); }

void spti_pull_rows_free(spti_pull_rows *rows, const sptrsm_plan *plan) {
  void *const memory[] = {rows->row, rows->start, rows->from, rows->val, rows->diag};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) spti_free(plan->context, memory[i]);
  *rows = (spti_pull_rows){0};
}
