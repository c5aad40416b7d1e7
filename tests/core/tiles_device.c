/* tiles_device.c -- tiles parted on a real device against the host's partition, bit for bit. */
#include <criterion/criterion.h>

#include "core/levels.h"
#include "core/oracle.h"
#include "core/plan.h"
#include "core/tile_compare.h"

#define ok(call)                                                                                                                           \
  do {                                                                                                                                     \
    sptrsm_status status_ = (call);                                                                                                        \
    cr_assert_eq(status_, SPTRSM_OK, "%s: %s", #call, sptrsm_last_error());                                                                \
  } while (0)

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  spti_view host; /* the plan's view in host memory */
} opened;

/* Any method will do: its plan is given the view that is wanted. */
static opened open_system(const test_system *system, spti_orientation orientation) {
  opened o;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "syncfree-csc";
  ok(sptrsm_context_create(&o.context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&o.matrix, o.context, &system->T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&o.plan, o.matrix, &options));
  ok(spti_matrix_view(&o.plan->view, o.matrix, spti_op_from(SPTRSM_N), orientation, SPTRSM_CUDA));
  ok(spti_matrix_view(&o.host, o.matrix, spti_op_from(SPTRSM_N), orientation, SPTRSM_HOST));
  return o;
}

static void close_system(opened *o) {
  sptrsm_plan_destroy(o->plan);
  sptrsm_matrix_destroy(o->matrix);
  sptrsm_context_destroy(o->context);
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
