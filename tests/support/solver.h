/* solver.h -- context, matrix and plan of one triangle, opened and closed together. Whatever fails fails the test. */
#ifndef TESTS_SUPPORT_SOLVER_H
#define TESTS_SUPPORT_SOLVER_H

#include <stdbool.h>

#include <sptrsm.h>

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} test_solver;

/* Members that are zero have the library's defaults. */
typedef struct {
  const char *method;
  sptrsm_op op;
  sptrsm_place place;
  int threads;
  void *stream; /* NULL: the context makes its own */
  sptrsm_copy_mode mode;
  const char *stencil; /* NULL: none */
  int64_t grid[3];
} test_choice;

test_solver test_solver_open(const sptrsm_sparse *T, const test_choice *choice);
/* As test_solver_open, but false, with nothing left open, where the method answers SPTRSM_ERR_UNSUPPORTED. */
bool test_solver_try(test_solver *s, const sptrsm_sparse *T, const test_choice *choice);
void test_solver_close(test_solver *s);
/* op(T) X = B, with the workspace of the plan; X is there at the return, on a device too. */
void test_solver_solve(const test_solver *s, const sptrsm_block *B, sptrsm_block *X);
/* The three above in one. */
void test_solve(const sptrsm_sparse *T, const test_choice *choice, const sptrsm_block *B, sptrsm_block *X);

#endif
