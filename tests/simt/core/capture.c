/* capture.c -- solves on the emulated GPU while the context's stream is being captured in a CUDA graph: what would allocate, wait or copy
 * is refused, and leaves everything as it was; what exists already is solved. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"

enum { ORDER = 49, NRHS = 5 };

typedef struct {
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  test_block B, X;
} fixture;

static void ok(sptrsm_status status, const char *method) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", method, sptrsm_last_error()); }

static void refused(sptrsm_status status, const char *method) {
  cr_assert_eq(status, SPTRSM_ERR_ARGUMENT, "%s: status %d", method, (int)status);
  cr_assert(strstr(sptrsm_last_error(), "captured"), "%s: %s", method, sptrsm_last_error());
}

static fixture open_fixture(const char *method) {
  fixture f = {.system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, NULL), method);
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.system.T, SPTRSM_COPY), method);
  ok(sptrsm_plan_create(&f.plan, f.matrix, &options), method);
  f.B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, 1);
  test_block_fill(&f.B, 2);
  f.X = test_block_copy(&f.B);
  f.B.block.place = f.X.block.place = SPTRSM_CUDA;
  return f;
}

static void close_fixture(fixture *f) {
  sptrsm_plan_destroy(f->plan);
  sptrsm_matrix_destroy(f->matrix);
  sptrsm_context_destroy(f->context);
  test_block_free(&f->B);
  test_block_free(&f->X);
  test_system_free(&f->system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

static sptrsm_status solve_captured(fixture *f, sptrsm_workspace *w) {
  emulated_gpu_captures = true;
  const sptrsm_status status = sptrsm_solve(f->plan, w, NULL, &f->B.block, &f->X.block);
  emulated_gpu_captures = false;
  return status;
}

static void check_solution(const fixture *f, const char *method) {
  static const double one[2] = {1, 0};
  const double residual = test_residual(&f->system, SPTRSM_N, one, &f->B, &f->X, -1);
  cr_assert(residual <= 10, "%s: residual %g bounds", method, residual);
}

ParameterizedTestParameters(capture, all_methods) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, capture, all_methods) {
  sptrsm_workspace *w = NULL;
  if (strcmp(s->name, "cusparse") == 0) return; /* not on the emulator */
  fixture f = open_fixture(s->name);
  refused(solve_captured(&f, NULL), s->name);
  emulated_gpu_captures = true;
  refused(sptrsm_workspace_create(&w, f.plan, 0), s->name);
  refused(sptrsm_context_sync(f.context), s->name);
  emulated_gpu_captures = false;
  ok(sptrsm_workspace_create(&w, f.plan, 0), s->name);
  if (strncmp(s->name, "block-streamed", strlen("block-streamed")) == 0) { /* which is never captured */
    refused(solve_captured(&f, w), s->name);
    cr_assert(strstr(sptrsm_last_error(), "solve outside of the graph"), "%s", sptrsm_last_error());
    sptrsm_workspace_destroy(w);
    close_fixture(&f);
    return;
  }
  ok(solve_captured(&f, w), s->name);
  check_solution(&f, s->name);
  f.X.block.place = SPTRSM_HOST;
  refused(solve_captured(&f, w), s->name);
  f.X.block.place = SPTRSM_CUDA;
  ok(sptrsm_solve(f.plan, NULL, NULL, &f.B.block, &f.X.block), s->name); /* the plan's own workspace is made after the refusal */
  ok(solve_captured(&f, NULL), s->name);
  check_solution(&f, s->name);
  sptrsm_workspace_destroy(w);
  close_fixture(&f);
}

/* A solver of factors makes its plans at the first solve. */
Test(capture, factors) {
  fixture f = open_fixture("gather");
  sptrsm_factors factors;
  sptrsm_direct *direct;
  sptrsm_factors_init(&factors);
  factors.L = &f.system.T;
  factors.u_kind = SPTRSM_U_IS_LT;
  ok(sptrsm_direct_create(&direct, f.context, &factors, NULL), "direct");
  emulated_gpu_captures = true;
  refused(sptrsm_direct_solve(direct, SPTRSM_SYS_At, SPTRSM_N, NULL, &f.B.block, &f.X.block), "direct");
  emulated_gpu_captures = false;
  ok(sptrsm_direct_solve(direct, SPTRSM_SYS_At, SPTRSM_N, NULL, &f.B.block, &f.X.block), "direct");
  test_block first = test_block_copy(&f.X);
  test_block_fill(&f.X, 9);
  emulated_gpu_captures = true;
  ok(sptrsm_direct_solve(direct, SPTRSM_SYS_At, SPTRSM_N, NULL, &f.B.block, &f.X.block), "direct");
  emulated_gpu_captures = false;
  for (int32_t i = 0; i < ORDER; i++)
    for (int64_t k = 0; k < NRHS; k++) {
      double x, y, unused;
      test_block_get(&x, &unused, &f.X, i, k);
      test_block_get(&y, &unused, &first, i, k);
      cr_assert_eq(x, y, "X(%d,%lld) = %g, before %g", i, (long long)k, x, y);
    }
  test_block_free(&first);
  sptrsm_direct_destroy(direct);
  close_fixture(&f);
}
