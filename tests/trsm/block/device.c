/* device.c -- the panels of `block` as a device makes them against those made by plain loops (reference.h), at sizes and
 * schedules that the emulator does not reach. */
#include <criterion/criterion.h>

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "trsm/block/reference.h"
#include "support/device_view.h"
#include "core/context/gpu.h"
#include "trsm/block/gpu/analysis.h"

/* The array in device memory has the bytes of the expected array. */
static void same(const opened *o, const void *device, const void *expected, int64_t count, size_t bytes, const char *what,
                 const char *name) {
  const size_t all = (size_t)count * bytes;
  void *copy = malloc(all + 1);
  cr_assert(copy);
  ok(spti_gpu_copy(o->context, copy, all, device, all, all, 1, SPTI_TO_HOST));
  cr_assert_eq(memcmp(copy, expected, all), 0, "%s: %s", name, what);
  free(copy);
}

/* Tiles of panels, the first of each at start[p], agree but for roundings; those of panels with one of the flags are used nowhere. */
static void alike(const opened *o, const double *device, const double *expected, const int32_t *start, const block_reference *b,
                  int32_t unused_flags, const char *what, const char *name) {
  const size_t all = (size_t)start[b->panels.count] * SPTI_BLOCK_TILE * sizeof(double);
  double *found = malloc(all + 1);
  cr_assert(found);
  ok(spti_gpu_copy(o->context, found, all, device, all, all, 1, SPTI_TO_HOST));
  for (int32_t p = 0; p < b->panels.count; p++)
    for (int64_t i = (int64_t)start[p] * SPTI_BLOCK_TILE; i < (int64_t)start[p + 1] * SPTI_BLOCK_TILE; i++)
      cr_assert((b->panels.flags[p] & unused_flags) || (found[i] - expected[i] <= 1e-10 && expected[i] - found[i] <= 1e-10),
                "%s: %s of panel %d", name, what, p);
  free(found);
}

static void check(const opened *o, const spti_block_analysis *a, const block_rules *rules, const char *name) {
  block_reference b;
  int32_t flagged[3];
  const int64_t *totals = a->totals;
  cr_assert(block_reference_make(&b, &o->host, rules));
  const int64_t count = b.panels.count, diagonal = b.panels.diag_start[count];
  cr_assert_eq(a->panels.count, count, "%s: %d panels, not %d", name, a->panels.count, b.panels.count);
  cr_assert_eq(a->levels, b.levels, "%s: %d levels of panels, not %d", name, a->levels, b.levels);
  cr_assert_eq(totals[SPTI_BLOCK_STEPS], b.steps, "%s", name);
  cr_assert_eq(totals[SPTI_BLOCK_TILES], b.tiles, "%s", name);
  cr_assert_eq(totals[SPTI_BLOCK_DIAGONAL_TILES], diagonal, "%s", name);
  cr_assert_eq(totals[SPTI_BLOCK_NEAR_TILES], b.panels.near_start[count], "%s", name);
  same(o, a->panels.first, b.panels.first, count + 1, sizeof(int32_t), "first", name);
  same(o, a->panels.order, b.panels.order, count, sizeof(int32_t), "order", name);
  same(o, a->panels.step_start, b.panels.step_start, count + 1, sizeof(int32_t), "step_start", name);
  same(o, a->panels.diag_start, b.panels.diag_start, count + 1, sizeof(int32_t), "diag_start", name);
  same(o, a->panels.near_start, b.panels.near_start, count + 1, sizeof(int32_t), "near_start", name);
  same(o, a->panels.col, b.panels.col, b.steps * SPTI_BLOCK_STEP, sizeof(int32_t), "col", name);
  same(o, a->panels.step, b.panels.step, b.steps, sizeof(int64_t), "step", name);
  same(o, a->panels.tile, b.panels.tile, b.tiles * SPTI_BLOCK_TILE, sizeof(double), "tiles", name);
  same(o, a->panels.triangle, b.panels.triangle, diagonal * SPTI_BLOCK_TILE, sizeof(double), "triangles", name);
  same(o, a->panels.flags, b.panels.flags, count, sizeof(int32_t), "flags", name);
  alike(o, a->panels.inverse, b.panels.inverse, b.panels.diag_start, &b, SPTI_BLOCK_SUBSTITUTE, "inverse", name);
  alike(o, a->panels.near, b.panels.near, b.panels.near_start, &b, SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART, "near columns", name);
  ok(spti_block_flagged(flagged, a, o->plan));
  for (int f = 0; f < 3; f++) cr_assert_eq(flagged[f], b.flagged[f], "%s: %d panels, not %d", name, flagged[f], b.flagged[f]);
  block_reference_free(&b);
}

static void check_system(const test_system *system, int32_t window, const char *name) {
  opened o = open_system(system, SPTI_PULL);
  const spti_block_settings set = {.rows = 64, .least = 16, .window = window, .bound = 8, .spare = 32, .refine = 1000};
  const block_rules rules = {64, 16, window, 8, 32, 1000};
  spti_block_analysis a;
  ok(spti_block_analysis_make(&a, o.plan, &set));
  check(&o, &a, &rules, name);
  ok(spti_block_analysis_update(&a, o.plan));
  check(&o, &a, &rules, name);
  spti_block_analysis_free(&a, o.plan);
  close_system(&o);
}

Test(block_device, patterns) {
  static const struct {
    test_pattern pattern;
    int32_t n, window;
  } cases[] = {{TEST_DIAGONAL, 1, 1 << 17},  {TEST_DIAGONAL, 70000, 1 << 17},   {TEST_CHAIN, 10001, 1 << 17},
               {TEST_ARROW, 30000, 1 << 17}, {TEST_DENSE_ROW, 300000, 1 << 17}, {TEST_GRID, 40000, 1 << 13},
               {TEST_RANDOM, 5000, 1 << 17}, {TEST_LAYERED, 30000, 1 << 12},    {TEST_FULL, 1500, 1 << 17}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int upper = 0; upper < 2; upper++) {
      test_system system =
          test_system_make(cases[c].pattern, cases[c].n, SPTRSM_CSR, SPTRSM_F64, upper ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 5);
      check_system(&system, cases[c].window, test_pattern_names[cases[c].pattern]);
      test_system_free(&system);
    }
}

/* A bidiagonal of few bytes, whose panels are more than block takes: auto goes on to the next method. */
Test(block_device, auto_where_block_refuses) {
  enum { ORDER = 250000 };
  int64_t *ptr = malloc((ORDER + 1) * sizeof *ptr);
  int32_t *idx = malloc(ORDER * sizeof *idx);
  double complex *val = malloc(ORDER * sizeof *val), *x = malloc(ORDER * sizeof *x);
  cr_assert(ptr && idx && val && x);
  for (int32_t i = 0; i <= ORDER; i++) ptr[i] = i > 0 ? i - 1 : 0;
  for (int32_t i = 0; i < ORDER; i++) idx[i] = i, val[i] = 0.5, x[i] = 3;
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_C128, .diag = SPTRSM_UNIT, .n = ORDER, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_block X = {.data = x, .n = ORDER, .nrhs = 1, .ld = 1, .dtype = SPTRSM_C128, .layout = SPTRSM_ROW_MAJOR};
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY));
  options.method = "block";
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_ERR_UNSUPPORTED);
  options.method = "auto";
  ok(sptrsm_plan_create(&plan, matrix, &options));
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, plan));
  cr_assert_str_eq(info.method, "levelset");
  cr_assert_eq(strncmp(info.reason, "block refused; chains of short rows: ", 37), 0, "%s", info.reason);
  ok(sptrsm_solve(plan, NULL, NULL, &X, &X));
  ok(sptrsm_context_sync(context));
  cr_assert(x[0] == 3 && x[1] == 1.5 && x[ORDER - 1] == 2, "%g, %g, %g", creal(x[0]), creal(x[1]), creal(x[ORDER - 1]));
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  free(ptr);
  free(idx);
  free(val);
  free(x);
}
