#include "support/solver.h"

#include <criterion/criterion.h>
#include <string.h>

bool test_solver_try(test_solver *s, const sptrsm_sparse *T, const test_choice *choice) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.op = choice->op;
  options.method = choice->method;
  if (choice->stencil) strcpy(options.stencil, choice->stencil);
  memcpy(options.grid, choice->grid, sizeof options.grid);
  *s = (test_solver){0};
  cr_assert_eq(sptrsm_context_create(&s->context, choice->place, 0, choice->stream), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_set_threads(s->context, choice->threads), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_create(&s->matrix, s->context, T, choice->mode), SPTRSM_OK, "%s", sptrsm_last_error());
  const sptrsm_status status = sptrsm_plan_create(&s->plan, s->matrix, &options);
  if (status == SPTRSM_ERR_UNSUPPORTED) return test_solver_close(s), false;
  cr_assert_eq(status, SPTRSM_OK, "%s: %s", options.method, sptrsm_last_error());
  return true;
}

test_solver test_solver_open(const sptrsm_sparse *T, const test_choice *choice) {
  test_solver s;
  cr_assert(test_solver_try(&s, T, choice), "%s: %s", choice->method, sptrsm_last_error());
  return s;
}

void test_solver_close(test_solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
  *s = (test_solver){0};
}

void test_solver_solve(const test_solver *s, const sptrsm_block *B, sptrsm_block *X) {
  cr_assert_eq(sptrsm_solve(s->plan, NULL, NULL, B, X), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(s->context), SPTRSM_OK, "%s", sptrsm_last_error());
}

void test_solve(const sptrsm_sparse *T, const test_choice *choice, const sptrsm_block *B, sptrsm_block *X) {
  test_solver s = test_solver_open(T, choice);
  test_solver_solve(&s, B, X);
  test_solver_close(&s);
}
