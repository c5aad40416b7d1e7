/* device.c -- tiles parted on a real device against the host's partition, bit for bit. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "support/device_view.h"
#include "support/solver.h"
#include "core/levels/levels.h"
#include "trsv/tiles/compare.h"

/* Other values of the same pattern, in both views. */
static void change_values(opened *o, const test_system *system, spti_orientation orientation) {
  const sptrsm_sparse *T = &system->T;
  const size_t numbers = (size_t)T->ptr[T->n] * sptrsm_dtype_bytes(T->dtype) / sizeof(double);
  double *changed = malloc((numbers + 1) * sizeof *changed);
  cr_assert_not_null(changed);
  for (size_t e = 0; e < numbers; e++) changed[e] = -1.5 * ((const double *)T->val)[e];
  ok(sptrsm_matrix_set_values(o->matrix, changed));
  free(changed);
  take_views(o, orientation);
}

static void check_tiles(const test_system *system, spti_orientation orientation, const char *name) {
  const spti_tiles_settings set = spti_tiles_defaults();
  opened o = open_system(system, orientation);
  spti_levels levels;
  spti_tiles host;
  spti_gpu_tiles device;
  ok(spti_levels_build(&levels, &o.host));
  ok(spti_tiles_build(&host, &o.host, levels.order, levels.ptr, levels.count, &set));
  ok(spti_gpu_tiles_create(&device, o.plan, true, &set));
  const char *difference = tile_difference(&host, &device, o.plan);
  cr_assert_null(difference, "%s by %s: other %s", name, orientation == SPTI_PULL ? "rows" : "columns", difference);
  change_values(&o, system, orientation);
  spti_tiles_free(&host);
  ok(spti_tiles_build(&host, &o.host, levels.order, levels.ptr, levels.count, &set));
  if (o.host.n > 0) cr_assert_not_null(tile_difference(&host, &device, o.plan), "%s: no values changed", name);
  ok(spti_gpu_tiles_update(&device, o.plan));
  difference = tile_difference(&host, &device, o.plan);
  cr_assert_null(difference, "%s by %s: after an update other %s", name, orientation == SPTI_PULL ? "rows" : "columns", difference);
  spti_gpu_tiles_free(&device, o.plan);
  spti_tiles_free(&host);
  spti_levels_free(&levels);
  close_system(&o);
}

Test(tiles_device, patterns) {
  static const struct {
    test_pattern pattern;
    int32_t n;
  } cases[] = {{TEST_DIAGONAL, 0},  {TEST_DIAGONAL, 70000}, {TEST_CHAIN, 10001},    {TEST_ARROW, 100000}, {TEST_DENSE_ROW, 30001},
               {TEST_GRID, 300000}, {TEST_RANDOM, 5000},    {TEST_LAYERED, 100000}, {TEST_FULL, 1000}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
    for (int upper = 0; upper < 2; upper++) {
      const sptrsm_dtype dtype = c % 2 ? SPTRSM_C128 : SPTRSM_F64;
      test_system system =
          test_system_make(cases[c].pattern, cases[c].n, SPTRSM_CSR, dtype, upper ? SPTRSM_UPPER : SPTRSM_LOWER, TEST_NONUNIT, 5);
      check_tiles(&system, SPTI_PULL, test_pattern_names[cases[c].pattern]);
      check_tiles(&system, SPTI_PUSH, test_pattern_names[cases[c].pattern]);
      test_system_free(&system);
    }
}

/* ---- tile-levelset gives the same bits every time ---- */

enum { RUNS = 100, WIDEST = 33 };

/* Columns [first, first + X's) of all. */
static bool same_columns(const test_block *all, int64_t first, const test_block *X) {
  test_block part = *all;
  part.block.nrhs = X->block.nrhs;
  part.block.data = (char *)all->block.data + (size_t)(first * all->block.ld) * sptrsm_dtype_bytes(all->block.dtype);
  return test_block_same_bits(&part, X);
}

static void check_bits(const test_system *system, const char *method, const char *name) {
  const int32_t n = system->T.n;
  const sptrsm_dtype dtype = system->T.dtype;
  test_solver s = test_solver_open(&system->T, &(test_choice){.method = method, .place = SPTRSM_CUDA});
  test_block B = test_block_make(n, WIDEST, dtype, SPTRSM_COL_MAJOR, 0), X = test_block_make(n, WIDEST, dtype, SPTRSM_COL_MAJOR, 0);
  test_block one = test_block_make(n, 1, dtype, SPTRSM_COL_MAJOR, 0), again = test_block_make(n, WIDEST, dtype, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 3);
  test_solver_solve(&s, &B.block, &X.block);
  for (int run = 1; run < RUNS; run++) {
    test_solver_solve(&s, &B.block, &again.block);
    cr_assert(test_block_same_bits(&X, &again), "%s, %s: run %d gave other bits", name, method, run + 1);
    const int64_t k = run % WIDEST;
    test_block right = B;
    right.block.nrhs = 1;
    right.block.data = (char *)B.block.data + (size_t)(k * B.block.ld) * sptrsm_dtype_bytes(dtype);
    test_solver_solve(&s, &right.block, &one.block);
    cr_assert(same_columns(&X, k, &one), "%s, %s: run %d gave other bits for column %d alone", name, method, run + 1, (int)k);
  }
  test_block *const blocks[] = {&B, &X, &one, &again};
  for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) test_block_free(blocks[b]);
  test_solver_close(&s);
}

Test(tiles_device, the_same_bits_in_100_runs) {
  static const test_pattern patterns[] = {TEST_ARROW, TEST_GRID, TEST_RANDOM, TEST_LAYERED};
  static const char *const methods[] = {"tile-levelset", "tile-levelset:tiles=2,wide=20", "tile-levelset:wide=1,diagonal=thread,align=16"};
  for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
    for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
      test_system system = test_system_make(patterns[p], 4000, SPTRSM_CSR, p % 2 ? SPTRSM_C64 : SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 5);
      check_bits(&system, methods[m], test_pattern_names[patterns[p]]);
      test_system_free(&system);
    }
}
