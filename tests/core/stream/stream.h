/* stream.h -- what the tests of streamed factors share: contexts with a limit, solvers, factor sets. Included once per test program. */
#ifndef TESTS_CORE_STREAM_STREAM_H
#define TESTS_CORE_STREAM_STREAM_H

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/matrix/matrix.h"
#include "support/oracle.h"

#if defined(STREAM_EMULATED)
#include "simt/emulator/emulated_gpu.h"
/* Every fifth form of a tree has each type and operation. */
enum { ORDER = 150, DRAWN = 100, NRHS = 19, SEEDS = 1, FORM_STEP = 5, LIMIT_STEP = 140 };
enum { CROWD = 300, CROWD_NRHS = 33, CROWD_PIECES = 4 };
static inline bool left_to_nightly(int number) { return number % 2 != 0 && getenv("SIMT_ALL") == NULL; } /* scripts/nightly.sh cases */
static inline void begin_to_watch(void) { emulated_gpu_most = 0; }
static inline void expect_kept(size_t limit) { cr_assert_leq(emulated_gpu_most, limit); }
#else
enum { ORDER = 1500, DRAWN = 1500, NRHS = 70, SEEDS = 4, FORM_STEP = 1, LIMIT_STEP = 40 };
enum { CROWD = 20000, CROWD_NRHS = 512, CROWD_PIECES = 20 };
static inline bool left_to_nightly(int number) { return number < 0; }
static inline void begin_to_watch(void) {}
static inline void expect_kept(size_t limit) { (void)limit; }
#endif

static inline void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static inline sptrsm_context *open_context(size_t limit) {
  sptrsm_context *context;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  if (limit > 0) ok(sptrsm_context_set_memory_limit(context, limit));
  return context;
}

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static inline solver open_solver(const test_system *system, const char *method, sptrsm_op op, size_t limit) {
  solver s = {.context = open_context(limit)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  ok(sptrsm_matrix_create(&s.matrix, s.context, &system->T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  return s;
}

static inline void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

static inline sptrsm_info info_of(const sptrsm_plan *plan) {
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, plan));
  return info;
}

static inline int pieces_of(const sptrsm_plan *plan) {
  int pieces = 0;
  const sptrsm_info info = info_of(plan);
  cr_assert_str_eq(info.method, "block-streamed");
  cr_assert_eq(sscanf(info.parameters, "pieces=%d", &pieces), 1, "%s", info.parameters);
  return pieces;
}

static inline test_block solve(const solver *s, const test_block *B) {
  test_block X = test_block_copy(B);
  ok(sptrsm_solve(s->plan, NULL, NULL, &X.block, &X.block));
  ok(sptrsm_context_sync(s->context));
  return X;
}

static inline void expect_same(const solver *expected, const solver *found, const test_block *B, const char *what) {
  test_block X = solve(expected, B), Y = solve(found, B);
  cr_assert(test_block_same_bits(&X, &Y), "%s: other bits than with the factor on the device", what);
  cr_assert(test_block_intact(&Y), "%s: wrote outside X", what);
  test_block_free(&X);
  test_block_free(&Y);
}

typedef struct {
  test_system L, U;
  int32_t permutation[ORDER];
  double scale[ORDER];
  sptrsm_factors f;
} set;

static inline void make_set(set *s, sptrsm_dtype dtype, bool mirrored) {
  s->L = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, dtype, SPTRSM_LOWER, TEST_NONUNIT, 7);
  s->U = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, dtype, SPTRSM_UPPER, TEST_NONUNIT, 8);
  for (int32_t i = 0; i < ORDER; i++) {
    s->permutation[i] = (int32_t)((int64_t)i * 7 % ORDER);
    s->scale[i] = 1 + i % 5;
  }
  sptrsm_factors_init(&s->f);
  s->f.L = &s->L.T;
  s->f.U = mirrored ? NULL : &s->U.T;
  s->f.u_kind = mirrored ? SPTRSM_U_IS_LH : SPTRSM_U_GIVEN;
  if (ORDER % 7 != 0) s->f.perm_row = s->f.perm_col = s->permutation;
  s->f.scale_row = s->scale;
}

static inline test_block solve_set(sptrsm_context *context, sptrsm_direct *direct, sptrsm_system system, const test_block *B) {
  test_block X = test_block_copy(B);
  ok(sptrsm_direct_solve(direct, system, SPTRSM_N, NULL, &B->block, &X.block));
  ok(sptrsm_context_sync(context));
  return X;
}

#endif
