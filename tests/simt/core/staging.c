/* staging.c -- blocks in host memory on the emulated GPU: they pass through staging memory in pieces, in three slots or, where memory is
 * limited, in parts of a panel. Pieces don't mix, whatever layouts, ld and the solves before, and allocations that fail leave nothing over
 * and a workspace that works. The emulator copies out as late as streams allow. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/oracle.h"

enum { ORDER = 50, PANEL = 4, SLOTS = 3, WIDEST = 41, PANEL_OF_PARTS = 20 /* which pass by 8 columns or 20 rows */ };

/* FREE: three slots. LIMITED: one, by options.memory_limit. IN_PARTS: parts of a panel, by the limit of the context. */
typedef enum { FREE, LIMITED, IN_PARTS } mode;

typedef struct {
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
} fixture;

static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static fixture open_fixture(const char *method, sptrsm_dtype dtype, mode memory) {
  fixture f = {.system = test_system_make(TEST_RANDOM, ORDER, SPTRSM_CSR, dtype, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.panel = memory == IN_PARTS ? PANEL_OF_PARTS : PANEL;
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL));
  if (memory == IN_PARTS) ok(sptrsm_context_set_memory_limit(f.context, (size_t)1 << 24));
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.system.T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&f.plan, f.matrix, &options));
  if (memory == LIMITED) {
    size_t bytes;
    ok(sptrsm_workspace_bytes(&bytes, f.plan, 0));
    options.memory_limit = bytes;
    sptrsm_plan_destroy(f.plan);
    ok(sptrsm_plan_create(&f.plan, f.matrix, &options));
  }
  ok(sptrsm_workspace_create(&f.workspace, f.plan, 0));
  return f;
}

static void close_fixture(fixture *f) {
  sptrsm_workspace_destroy(f->workspace);
  sptrsm_plan_destroy(f->plan);
  sptrsm_matrix_destroy(f->matrix);
  sptrsm_context_destroy(f->context);
  test_system_free(&f->system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

/* Layouts, and what is in host memory, by the bits of `form`: B row-major, X row-major, B on the device, X on the device, X in place. */
enum { FORMS = 16, IN_PLACE = 16 };

static sptrsm_status solve(const fixture *f, int64_t nrhs, int form, uint64_t seed) {
  static const double one[2] = {1, 0};
  const sptrsm_dtype dtype = f->system.T.dtype;
  const bool in_place = (form & IN_PLACE) != 0;
  test_block B = test_block_make(ORDER, nrhs, dtype, (sptrsm_layout)(form & 1), 3), X;
  test_block_fill(&B, seed);
  test_block given = test_block_copy(&B);
  X = in_place ? B : test_block_make(ORDER, nrhs, dtype, (sptrsm_layout)(form >> 1 & 1), 5);
  if (!in_place && form & 4) B.block.place = SPTRSM_CUDA;
  if (!in_place && form & 8) X.block.place = SPTRSM_CUDA;
  const sptrsm_status status = sptrsm_solve(f->plan, f->workspace, NULL, &B.block, &X.block);
  if (status == SPTRSM_OK) {
    ok(sptrsm_context_sync(f->context));
    const double residual = test_residual(&f->system, SPTRSM_N, one, &given, &X, -1);
    cr_assert(residual <= (dtype >= SPTRSM_C64 ? 40 : 10), "%lld right-hand sides, form %d: residual %g", (long long)nrhs, form, residual);
    cr_assert(test_block_intact(&X), "%lld right-hand sides, form %d: wrote outside X", (long long)nrhs, form);
    cr_assert(in_place || test_block_same_bits(&B, &given), "form %d: B has changed", form);
  }
  test_block_free(&B);
  test_block_free(&given);
  if (!in_place) test_block_free(&X);
  return status;
}

/* Few and many pieces in turn, so that pieces of earlier solves are in all slots. A form with all blocks on the device comes last. */
static void solve_all(const fixture *f) {
  static const int64_t widths[] = {1, WIDEST, PANEL, SLOTS * PANEL + 1};
  for (int form = 0; form < FORMS + 2; form++)
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
      ok(solve(f, widths[w], form < FORMS ? form : IN_PLACE + form % 2, (uint64_t)form * 10 + w));
}

static const char *const methods[] = {"gather", "block", "syncfree-csc", "levelset"};
enum { METHODS = sizeof methods / sizeof *methods };

Test(staging, pieces_do_not_mix) {
  for (int m = 0; m < METHODS; m++) {
    fixture f = open_fixture(methods[m], (sptrsm_dtype)m, FREE);
    const size_t before = emulated_gpu_used(f.context);
    ok(solve(&f, PANEL, 0, 1));
    const size_t panel = (size_t)ORDER * PANEL * sptrsm_dtype_bytes(f.system.T.dtype);
    cr_assert_eq(emulated_gpu_used(f.context), before + panel, "%s: the second panel", methods[m]);
    ok(solve(&f, WIDEST, 0, 2));
    cr_assert_eq(emulated_gpu_used(f.context), before + SLOTS * panel, "%s: two more", methods[m]);
    const size_t taken = emulated_gpu_total;
    solve_all(&f);
    cr_assert_eq(emulated_gpu_total, taken, "%s: a solve allocated", methods[m]);
    close_fixture(&f);
  }
}

/* The first solve makes all the memory that later ones have. */
static void check_limited(const char *method, sptrsm_dtype dtype, mode memory) {
  fixture f = open_fixture(method, dtype, memory);
  const size_t before = emulated_gpu_used(f.context);
  ok(solve(&f, 1, 0, 1));
  const size_t taken = emulated_gpu_total, panel = (size_t)ORDER * PANEL_OF_PARTS * sptrsm_dtype_bytes(dtype);
  if (memory == IN_PARTS) cr_assert_lt(emulated_gpu_used(f.context) - before, panel, "a whole panel beside that of the method");
  solve_all(&f);
  cr_assert_eq(emulated_gpu_total, taken, "%s: a solve allocated", method);
  close_fixture(&f);
}

Test(staging, where_memory_is_limited) {
  for (int m = 0; m < METHODS; m++) check_limited(methods[m], (sptrsm_dtype)m, LIMITED);
}

Test(staging, parts_of_a_panel) {
  for (int dtype = 0; dtype < 4; dtype++) check_limited("block", (sptrsm_dtype)dtype, IN_PARTS);
}

/* Fails to make staging memory, or to enlarge it. */
Test(staging, failing_allocations) {
  for (int m = 0; m < METHODS; m++)
    for (int with_panel = 0; with_panel < 2; with_panel++) {
      fixture f = open_fixture(methods[m], SPTRSM_F64, FREE);
      if (with_panel) ok(solve(&f, PANEL, 0, 1));
      for (int again = 0; again < 2; again++) {
        emulated_gpu_fail_at = 0;
        cr_assert_eq(solve(&f, WIDEST, again, 2), SPTRSM_ERR_MEMORY, "%s", methods[m]);
        cr_assert(strstr(sptrsm_last_error(), "staging memory"), "%s", sptrsm_last_error());
        emulated_gpu_fail_at = -1;
        if (again == with_panel) ok(solve(&f, PANEL, 1, 3)); /* with less memory */
      }
      for (int form = 0; form < 3; form++) ok(solve(&f, WIDEST, form, 4));
      close_fixture(&f);
    }
}
