/* pull_rows_gpu.c -- rows of a pull view packed by place; about two passes over the matrix. The host waits for nothing. */
#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/gpu.h"

/* A lane's way is a chain of loads, as long as a row if ranks are looked for: few rows get more lanes than their average entries. */
enum { DEVICE_LANES = 1 << 19 };
static int32_t lanes_for(const spti_view *v) {
  int32_t lanes = spti_walk_lanes(v);
  while (lanes < 32 && (int64_t)v->n * lanes < DEVICE_LANES) lanes *= 2;
  return lanes;
}

static sptrsm_status fill(const spti_pull_rows *rows, const spti_view *v, const sptrsm_context *context, const int32_t *order,
                          int32_t *place, int32_t *from) {
  spti_pull_rows_args args = {.view = *v,
                              .order = order,
                              .place = place,
                              .start = rows->start,
                              .from = from,
                              .val = rows->val,
                              .diag = rows->diag,
                              .lanes = lanes_for(v),
                              .sort_up_to = rows->sorted};
  return spti_gpu_check(spti_pull_rows_fill_launch(&args, context->stream), "rows by place");
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
static size_t lay_out_scratch(spti_pull_rows_args *args, void *memory) {
  const int32_t n = args->view.n;
  spti_carver c = {.base = memory};
  args->place = spti_carve(&c, n, sizeof *args->place);
  args->count = spti_carve(&c, n, sizeof *args->count);
  args->sums = spti_carve(&c, spti_pull_rows_chunks(n), sizeof *args->sums);
  return c.used;
}

static sptrsm_status pack(spti_pull_rows *rows, const sptrsm_context *context, const spti_pull_rows_args *args) {
  void *stream = context->stream;
  if (rows->n == 0) return spti_gpu_zero(context, rows->start, sizeof *rows->start);
  SPTI_CUDA(spti_pull_rows_count_launch(args, stream));
  SPTI_CUDA(spti_pull_rows_start_launch(args, stream));
  return fill(rows, &args->view, context, args->order, args->place, rows->from);
}

sptrsm_status spti_pull_rows_create_sorted(spti_pull_rows *out, const spti_view *v, const sptrsm_context *context, const int32_t *order,
                                           int32_t sort_up_to) {
  spti_pull_rows rows = {.n = v->n, .sorted = sort_up_to};
  spti_pull_rows_args args = {.view = *v, .order = order};
  void *memory = NULL, *scratch = NULL;
  sptrsm_status status;
  if (!v->pull) return spti_fail(SPTRSM_ERR_INTERNAL, "rows by place: the view lists columns; the method must want a pull view");
  if (spti_view_entries(v) > SPTI_PULL_ROWS_MOST)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "rows by place: %lld off-diagonal entries, at most %d are possible; try another method",
                     (long long)spti_view_entries(v), SPTI_PULL_ROWS_MOST);
  rows.bytes = lay_out(&rows, NULL, v);
  SPTI_TRY_GOTO(spti_alloc(context, &memory, (int64_t)rows.bytes, 1, "rows by place"));
  SPTI_TRY_GOTO(spti_alloc(context, &scratch, (int64_t)lay_out_scratch(&args, NULL), 1, "places of rows"));
  lay_out(&rows, memory, v);
  lay_out_scratch(&args, scratch);
  args.row = rows.row;
  args.start = rows.start;
  SPTI_TRY_GOTO(pack(&rows, context, &args));
  spti_free(context, scratch);
  *out = rows;
  return SPTRSM_OK;
fail:
  spti_free(context, scratch);
  spti_free(context, memory);
  return status;
}

sptrsm_status spti_pull_rows_create(spti_pull_rows *out, const spti_view *v, const sptrsm_context *context, const int32_t *order) {
  return spti_pull_rows_create_sorted(out, v, context, order, 0);
}

/* Sorted rows are ranked by places once more, which costs less than to keep the ranks. */
sptrsm_status spti_pull_rows_update(const spti_pull_rows *rows, const spti_view *v, const sptrsm_context *context) {
  spti_pull_rows_args args = {.view = *v, .order = rows->row};
  if (rows->sorted == 0) return fill(rows, v, context, rows->row, NULL, NULL);
  SPTI_TRY(spti_alloc(context, &args.place, rows->n, sizeof *args.place, "places of rows"));
  sptrsm_status status = spti_gpu_check(spti_pull_rows_count_launch(&args, context->stream), "places of rows");
  if (status == SPTRSM_OK) status = fill(rows, v, context, rows->row, args.place, NULL);
  spti_free(context, args.place);
  return status;
}

void spti_pull_rows_free(spti_pull_rows *rows, const sptrsm_context *context) {
  spti_free(context, rows->row);
  *rows = (spti_pull_rows){0};
}
