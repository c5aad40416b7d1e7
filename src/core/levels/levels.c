/* levels.c -- level sets on the host, by one sweep and one counting sort [anderson1989, saltz1990], and the statistics of Table III of
 * [liu2017syncfree]. */
#include "core/levels/levels.h"

#include <string.h>

#include <sptrsm_inspect.h>

#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/matrix/matrix.h"

/* Pull view: the level of row i, from the levels of its columns. */
static void pull_level(int32_t *level, const spti_view *v, int32_t i) {
  int32_t own = level[i];
  int64_t end = spti_view_end(v, i);
  for (int64_t p = spti_view_begin(v, i); p < end; p++) own = level[v->idx[p]] >= own ? level[v->idx[p]] + 1 : own;
  level[i] = own;
}

/* Push view: level[i] is final; raises the levels of the rows that depend on row i. */
static void push_level(int32_t *level, const spti_view *v, int32_t i) {
  int64_t end = spti_view_end(v, i);
  for (int64_t p = spti_view_begin(v, i); p < end; p++)
    if (level[v->idx[p]] <= level[i]) level[v->idx[p]] = level[i] + 1;
}

/* Computes level[i] of each row and returns the number of levels. */
static int32_t sweep(const spti_view *v, int32_t *level) {
  int32_t count = 0;
  memset(level, 0, (size_t)v->n * sizeof *level);
  for (int32_t s = 0; s < v->n; s++) {
    int32_t i = spti_view_line(v, s);
    if (v->pull) pull_level(level, v, i);
    else push_level(level, v, i);
    if (level[i] >= count) count = level[i] + 1;
  }
  return count;
}

static void sort_by_level(spti_levels *levels, const spti_view *v, const int32_t *level) {
  memset(levels->ptr, 0, ((size_t)levels->count + 1) * sizeof *levels->ptr);
  for (int32_t i = 0; i < v->n; i++) levels->ptr[level[i] + 1]++;
  for (int32_t l = 0; l < levels->count; l++) levels->ptr[l + 1] += levels->ptr[l];
  for (int32_t s = 0; s < v->n; s++) {
    int32_t i = spti_view_line(v, s);
    levels->order[levels->ptr[level[i]]++] = i;
  }
  for (int32_t l = levels->count; l > 0; l--) levels->ptr[l] = levels->ptr[l - 1];
  levels->ptr[0] = 0;
}

sptrsm_status spti_levels_build(spti_levels *out, const spti_view *v) {
  int32_t *level = NULL;
  spti_levels levels = {0};
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&level, v->n, sizeof *level, "levels"));
  levels.count = sweep(v, level);
  SPTI_TRY_GOTO(spti_host_alloc(&levels.ptr, (int64_t)levels.count + 1, sizeof *levels.ptr, "level pointers"));
  SPTI_TRY_GOTO(spti_host_alloc(&levels.order, v->n, sizeof *levels.order, "level order"));
  sort_by_level(&levels, v, level);
  spti_host_free(level);
  *out = levels;
  return SPTRSM_OK;
fail:
  spti_host_free(level);
  spti_levels_free(&levels);
  return status;
}

void spti_levels_free(spti_levels *levels) {
  spti_host_free(levels->ptr);
  spti_host_free(levels->order);
  *levels = (spti_levels){0};
}

static void row_lengths(sptrsm_level_stats *stats, const spti_view *v) {
  stats->min_length = v->n ? INT32_MAX : 0;
  for (int32_t i = 0; i < v->n; i++) {
    int32_t length = (int32_t)(v->ptr[i + 1] - v->ptr[i]);
    if (length < stats->min_length) stats->min_length = length;
    if (length > stats->max_length) stats->max_length = length;
  }
  stats->average_length = v->n ? (double)v->nnz / v->n : 0;
}

static sptrsm_status check_op(sptrsm_op op, const char *function) {
  if (op == SPTRSM_N || op == SPTRSM_T || op == SPTRSM_C) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: unknown op %d", function, (int)op);
}

sptrsm_status sptrsm_matrix_row_levels(int32_t *level, const sptrsm_matrix *matrix, sptrsm_op op) {
  if (!matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_row_levels: matrix is NULL");
  SPTI_VISIT(matrix->context);
  spti_view v;
  SPTI_TRY(check_op(op, "sptrsm_matrix_row_levels"));
  SPTI_TRY(spti_matrix_view(&v, matrix, spti_op_from(op), SPTI_ANY, SPTRSM_HOST));
  if (v.n == 0) return SPTRSM_OK;
  if (!level) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_row_levels: level is NULL");
  sweep(&v, level);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_matrix_levels(sptrsm_level_stats *out, const sptrsm_matrix *matrix, sptrsm_op op) {
  if (!out || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_matrix_levels: out or matrix is NULL");
  SPTI_VISIT(matrix->context);
  const size_t least = SPTI_SIZE_UP_TO(sptrsm_level_stats, average_length);
  SPTI_TRY(spti_sized_check(out, least, sizeof *out, "sptrsm_matrix_levels", "sptrsm_level_stats"));
  spti_view v;
  spti_levels levels;
  SPTI_TRY(check_op(op, "sptrsm_matrix_levels"));
  SPTI_TRY(spti_matrix_view(&v, matrix, spti_op_from(op), SPTI_PULL, SPTRSM_HOST));
  SPTI_TRY(spti_levels_build(&levels, &v));
  sptrsm_level_stats stats = {.size = sizeof stats, .n = v.n, .nnz = v.nnz, .levels = levels.count};
  stats.min_rows = levels.count ? INT32_MAX : 0;
  for (int32_t l = 0; l < levels.count; l++) {
    int32_t rows = levels.ptr[l + 1] - levels.ptr[l];
    if (rows < stats.min_rows) stats.min_rows = rows;
    if (rows > stats.max_rows) stats.max_rows = rows;
  }
  stats.average_rows = levels.count ? (double)v.n / levels.count : 0;
  row_lengths(&stats, &v);
  spti_levels_free(&levels);
  spti_sized_write(out, &stats, sizeof stats);
  return SPTRSM_OK;
}
