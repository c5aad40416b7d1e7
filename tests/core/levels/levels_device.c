/* levels_device.c -- level analysis and rows packed by place on a real device, against the host's level sets. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "support/device_view.h"
#include "core/context/gpu.h"
#include "core/levels/levels.h"
#include "core/plan/analysis.h"

/* A copy in host memory; end with free. */
static void *fetched(const opened *o, const void *device, int64_t count, size_t bytes) {
  void *copy = malloc((size_t)count * bytes + 1);
  cr_assert(copy);
  ok(spti_gpu_copy(o->context, copy, (size_t)count * bytes, device, (size_t)count * bytes, (size_t)count * bytes, 1, SPTI_TO_HOST));
  return copy;
}

static void check_levels(const opened *o, const spti_gpu_levels *found, const char *name) {
  spti_levels expected;
  ok(spti_levels_build(&expected, &o->host));
  cr_assert_eq(found->n, o->host.n);
  cr_assert_eq(found->count, expected.count, "%s: %d levels, not %d", name, found->count, expected.count);
  cr_assert_eq(o->plan->levels, expected.count);
  int32_t *ptr = fetched(o, found->device_ptr, (int64_t)found->count + 1, sizeof *ptr);
  int32_t *order = fetched(o, found->order, found->n, sizeof *order), *level = fetched(o, found->level, found->n, sizeof *level);
  cr_assert_arr_eq(ptr, expected.ptr, ((size_t)found->count + 1) * sizeof *ptr, "%s: pointers", name);
  cr_assert_arr_eq(found->ptr, expected.ptr, ((size_t)found->count + 1) * sizeof *ptr, "%s: pointers on the host", name);
  cr_assert_arr_eq(order, expected.order, (size_t)found->n * sizeof *order, "%s: order", name);
  int32_t widest = 0;
  for (int32_t l = 0; l < expected.count; l++) {
    const int32_t rows = expected.ptr[l + 1] - expected.ptr[l];
    if (rows > widest) widest = rows;
    for (int32_t t = expected.ptr[l]; t < expected.ptr[l + 1]; t++) cr_assert_eq(level[order[t]], l, "%s: level of row %d", name, order[t]);
  }
  cr_assert_eq(found->widest, widest, "%s: widest", name);
  free(ptr);
  free(order);
  free(level);
  spti_levels_free(&expected);
}

static void check_rows(const opened *o, const spti_gpu_levels *levels, const char *name) {
  const spti_view *v = &o->host;
  spti_pull_rows rows;
  ok(spti_pull_rows_create(&rows, &o->plan->view, o->context, levels->order));
  int32_t *row = fetched(o, rows.row, v->n, sizeof *row), *start = fetched(o, rows.start, (int64_t)v->n + 1, sizeof *start);
  int32_t *from = fetched(o, rows.from, start[v->n], sizeof *from);
  double *val = fetched(o, rows.val, start[v->n], sizeof *val), *diag = fetched(o, rows.diag, v->n, sizeof *diag);
  for (int32_t t = 0; t < v->n; t++) {
    const int64_t begin = spti_view_begin(v, row[t]), length = spti_view_end(v, row[t]) - begin;
    cr_assert_eq(start[t + 1] - start[t], length, "%s: row %d has %d entries", name, row[t], start[t + 1] - start[t]);
    cr_assert_eq(diag[t], ((const double *)v->val)[spti_view_diagonal(v, row[t])], "%s: diagonal of row %d", name, row[t]);
    for (int32_t e = 0; e < length; e++) {
      const int64_t p = v->backward ? begin + length - 1 - e : begin + e;
      cr_assert_eq(row[from[start[t] + e]], v->idx[p], "%s: entry %d of row %d", name, e, row[t]);
      cr_assert_eq(val[start[t] + e], ((const double *)v->val)[p], "%s: value %d of row %d", name, e, row[t]);
    }
  }
  void *const copies[] = {row, start, from, val, diag};
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++) free(copies[i]);
  spti_pull_rows_free(&rows, o->context);
}

static void check_system(const test_system *system, const char *name) {
  for (int pull = 0; pull < 2; pull++) {
    opened o = open_system(system, pull ? SPTI_PULL : SPTI_PUSH);
    const spti_gpu_levels *levels;
    ok(spti_plan_levels(o.plan, &levels));
    check_levels(&o, levels, name);
    if (pull) check_rows(&o, levels, name);
    close_system(&o);
  }
}

Test(levels_device, patterns) {
  static const struct {
    test_pattern pattern;
    int32_t n;
  } cases[] = {{TEST_DIAGONAL, 1},   {TEST_DIAGONAL, 70000}, {TEST_CHAIN, 10001},    {TEST_ARROW, 100000}, {TEST_DENSE_ROW, 10001},
               {TEST_GRID, 1000000}, {TEST_RANDOM, 5000},    {TEST_LAYERED, 300000}, {TEST_FULL, 1500}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int upper = 0; upper < 2; upper++) {
      test_system system =
          test_system_make(cases[c].pattern, cases[c].n, SPTRSM_CSR, SPTRSM_F64, upper ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 5);
      check_system(&system, test_pattern_names[cases[c].pattern]);
      test_system_free(&system);
    }
}

Test(levels_device, nothing_at_all) {
  test_system system = test_system_make(TEST_DIAGONAL, 0, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 5);
  check_system(&system, "nothing");
  test_system_free(&system);
}
