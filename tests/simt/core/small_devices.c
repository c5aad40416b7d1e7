/* small_devices.c -- on emulated devices whose thread blocks have 48 to 163 KiB of shared memory: every method solves or refuses, no kernel
 * asks for more than there is, and auto goes on to a method that fits. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <stdio.h>
#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"
#include "trsv/structgrid/pencils/pencils.h"

/* Compute capability 7.5 has 64 KiB, 8.6, 8.9 and 12.0 have 99, 8.0 has 163; a launch may take 48 without asking. */
static const int sizes[] = {48, 64, 99, 163};
enum { SIZES = sizeof sizes / sizeof *sizes, ORDER = 49 };
static const int orders[] = {0, ORDER};

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_status status; /* of making the plan */
} parts;

static void ok(sptrsm_status status, const char *what) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", what, sptrsm_last_error()); }

static parts open_plan(const test_system *system, int kib, const sptrsm_options *options) {
  parts p = {0};
  emulated_gpu_shared_bytes = (size_t)kib << 10;
  ok(sptrsm_context_create(&p.context, SPTRSM_CUDA, 0, NULL), "context");
  ok(sptrsm_matrix_create(&p.matrix, p.context, &system->T, SPTRSM_COPY), "matrix");
  p.status = sptrsm_plan_create(&p.plan, p.matrix, options);
  return p;
}

static void close_plan(parts *p) {
  sptrsm_plan_destroy(p->plan);
  sptrsm_matrix_destroy(p->matrix);
  sptrsm_context_destroy(p->context);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

/* Solves blocks of one and of forty right-hand sides; the residual has the tolerance of tests/simt/core/plan.c. */
static void solve(const parts *p, const test_system *system, const char *what) {
  static const double one[2] = {1, 0};
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, p->plan), what);
  const double tolerance = (system->T.dtype >= SPTRSM_C64 ? 4 : 1) * (info.inverts ? 10 : 1);
  for (int nrhs = 1; nrhs <= 40; nrhs += 39) {
    test_block B = test_block_make(system->T.n, nrhs, system->T.dtype, SPTRSM_ROW_MAJOR, 0);
    test_block_fill(&B, 2);
    test_block X = test_block_copy(&B);
    B.block.place = X.block.place = SPTRSM_CUDA;
    ok(sptrsm_solve(p->plan, NULL, NULL, &B.block, &X.block), what);
    ok(sptrsm_context_sync(p->context), what);
    const double residual = test_residual(system, SPTRSM_N, one, &B, &X, -1);
    cr_assert(residual <= tolerance, "%s, %d right-hand sides: residual %g bounds", what, nrhs, residual);
    test_block_free(&B);
    test_block_free(&X);
  }
}

/* On the smallest device that a method does not refuse it solves: kernels take the same shared memory on larger ones. */
ParameterizedTestParameters(small_devices, all_methods) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, small_devices, all_methods) {
  char what[160];
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = s->name;
  if (strcmp(s->name, "cusparse") == 0) return; /* not on the emulator */
  for (int at = 0; at < 8; at++) {
    const sptrsm_dtype dtype = (sptrsm_dtype)(at / 2);
    test_system system = test_system_make(TEST_GRID, orders[at % 2], SPTRSM_CSR, dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
    bool served = false;
    for (int k = 0; k < SIZES && !served; k++) {
      snprintf(what, sizeof what, "%s, %s, order %d, %d KiB", s->name, test_dtype_names[dtype], orders[at % 2], sizes[k]);
      parts p = open_plan(&system, sizes[k], &options);
      served = p.status == SPTRSM_OK;
      if (served) solve(&p, &system, what);
      else {
        cr_assert_eq(p.status, SPTRSM_ERR_UNSUPPORTED, "%s: %s", what, sptrsm_last_error());
        cr_assert(strstr(sptrsm_last_error(), "shared memory"), "%s: %s", what, sptrsm_last_error());
        cr_assert(strstr(sptrsm_last_error(), "use "), "%s: %s", what, sptrsm_last_error());
      }
      close_plan(&p);
    }
    test_system_free(&system);
  }
}

/* Without parameters these serve every device, but for levelset in complex double on 64 KiB and less. */
Test(small_devices, what_is_served) {
  static const char *const methods[] = {"structgrid", "levelset", "gather", "syncfree-csr", "syncfree-csc"};
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (int dtype = 0; dtype < 4; dtype++) {
      sptrsm_options options;
      sptrsm_options_init(&options);
      options.method = methods[m];
      test_system system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, (sptrsm_dtype)dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
      for (int k = 0; k < SIZES; k++) {
        const bool refused = strcmp(methods[m], "levelset") == 0 && dtype == SPTRSM_C128 && sizes[k] <= 64;
        parts p = open_plan(&system, sizes[k], &options);
        cr_assert_eq(p.status, refused ? SPTRSM_ERR_UNSUPPORTED : SPTRSM_OK, "%s, %s, %d KiB: %s", methods[m], test_dtype_names[dtype],
                     sizes[k], sptrsm_last_error());
        close_plan(&p);
      }
      test_system_free(&system);
    }
}

/* ---- auto ---- */

/* The method that auto takes, and its reason; solves if `solves`. */
static sptrsm_info chosen(const test_system *system, int kib, const sptrsm_options *options, bool solves) {
  sptrsm_info info = {.size = sizeof info};
  parts p = open_plan(system, kib, options);
  ok(p.status, "auto");
  ok(sptrsm_plan_info(&info, p.plan), "auto");
  if (solves) solve(&p, system, info.method);
  close_plan(&p);
  return info;
}

/* auto takes levelset for few levels, and for a chain on 64 KiB, where block does not fit; not in complex double, whose runs do not fit. */
Test(small_devices, auto_goes_on) {
  static const test_pattern patterns[] = {TEST_DIAGONAL, TEST_LAYERED, TEST_CHAIN, TEST_TREE};
  for (size_t at = 0; at < sizeof patterns / sizeof *patterns; at++)
    for (int dtype = 0; dtype < 4; dtype++) {
      test_system system = test_system_make(patterns[at], 120, SPTRSM_CSR, (sptrsm_dtype)dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
      for (int k = 1; k <= 2; k++) { /* without room for block, and with */
        const sptrsm_info info = chosen(&system, sizes[k], NULL, true);
        const bool runs = patterns[at] == TEST_CHAIN && sizes[k] <= 64, fits = !runs || dtype != SPTRSM_C128;
        if (at < 2 || runs)
          cr_assert_eq(strcmp(info.method, "levelset") == 0, fits, "%s, %d KiB: %s: %s", test_dtype_names[dtype], sizes[k], info.method,
                       info.reason);
        if (!fits) cr_assert(strstr(info.reason, "levelset refused"), "%s", info.reason);
      }
      test_system_free(&system);
    }
}

/* A grid with 541 rows at a time, each of which lacks all neighbours. Where tiles don't fit: pencils, but another method for a hint of one
 * or two right-hand sides. */
Test(small_devices, auto_on_grids) {
  test_system system = test_system_make(TEST_DIAGONAL, 64000, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  sptrsm_options options;
  sptrsm_options_init(&options);
  snprintf(options.stencil, sizeof options.stencil, "D3N7");
  for (int d = 0; d < 3; d++) options.grid[d] = 40;
  sptrsm_info info = chosen(&system, 163, &options, false);
  cr_assert(strstr(info.parameters, "tasks=pencils"), "%s: %s", info.method, info.parameters);
  options.nrhs_hint = 2;
  info = chosen(&system, 163, &options, false);
  cr_assert(strstr(info.reason, "structgrid refused") && strcmp(info.method, "structgrid") != 0, "%s: %s", info.method, info.reason);
  test_system_free(&system);
}

/* A panel of pencils takes at most 4 GiB, whole tiles of right-hand sides, and 512 of them. */
Test(small_devices, panels_of_pencils) {
  static const struct {
    int32_t n;
    int64_t hint;
    int32_t panel;
  } cases[] = {{1 << 20, 10000, 512}, {1 << 21, 10000, 256}, {1 << 22, 10000, 128},
               {5 << 20, 10000, 96},  {1 << 23, 0, 64},      {1 << 23, 3, 3}};
  for (size_t at = 0; at < sizeof cases / sizeof *cases; at++) {
    const sptrsm_plan plan = {.view = {.n = cases[at].n, .dtype = SPTRSM_F64}, .options = {.nrhs_hint = cases[at].hint}};
    cr_assert(spti_structgrid_pencils_tile_fits(&plan));
    cr_assert_eq(spti_structgrid_pencils_panel(&plan), cases[at].panel, "%d rows", cases[at].n);
  }
  cr_assert(!spti_structgrid_pencils_tile_fits(&(sptrsm_plan){.view = {.n = (1 << 24) + 1, .dtype = SPTRSM_F64}}));
}
