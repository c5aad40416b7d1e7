/* stream.c -- factors that stream from host memory because of a memory limit on a CUDA context: the bits are those of a plan on the device,
 * whatever the number of pieces, in all forms of matrices and blocks; new values; refusals. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "support/oracle.h"

#if defined(SPTI_SIMT)
enum { ORDER = 150, NRHS = 19, SEEDS = 1 };
#else
enum { ORDER = 1500, NRHS = 70, SEEDS = 4 };
#endif

static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static sptrsm_context *open_context(size_t limit) {
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

static solver open_solver(const test_system *system, const char *method, sptrsm_op op, size_t limit) {
  solver s = {.context = open_context(limit)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  ok(sptrsm_matrix_create(&s.matrix, s.context, &system->T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  return s;
}

static void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

static sptrsm_info info_of(const sptrsm_plan *plan) {
  sptrsm_info info = {.size = sizeof info};
  ok(sptrsm_plan_info(&info, plan));
  return info;
}

static int pieces_of(const sptrsm_plan *plan) {
  int pieces = 0;
  const sptrsm_info info = info_of(plan);
  cr_assert_str_eq(info.method, "block-streamed");
  cr_assert_eq(sscanf(info.parameters, "pieces=%d", &pieces), 1, "%s", info.parameters);
  return pieces;
}

static test_block solve(const solver *s, const test_block *B) {
  test_block X = test_block_copy(B);
  ok(sptrsm_solve(s->plan, NULL, NULL, &X.block, &X.block));
  ok(sptrsm_context_sync(s->context));
  return X;
}

static void expect_same(const solver *expected, const solver *found, const test_block *B, const char *what) {
  test_block X = solve(expected, B), Y = solve(found, B);
  cr_assert(test_block_same_bits(&X, &Y), "%s: other bits than with the factor on the device", what);
  cr_assert(test_block_intact(&Y), "%s: wrote outside X", what);
  test_block_free(&X);
  test_block_free(&Y);
}

/* ---- bits ---- */

typedef struct {
  test_pattern pattern;
  sptrsm_format format;
  sptrsm_dtype dtype;
  sptrsm_uplo uplo;
  test_diag diag;
  sptrsm_op op;
  int32_t n;
} form;

/* Both before and after new values. */
static void compare(const form *f, const char *method, const char *streamed, int least) {
  char what[160];
  snprintf(what, sizeof what, "%s %s, %s, format %d, uplo %d, op %d, n=%d, %s", test_pattern_names[f->pattern], test_diag_names[f->diag],
           test_dtype_names[f->dtype], (int)f->format, (int)f->uplo, (int)f->op, f->n, streamed);
  test_system system = test_system_make(f->pattern, f->n, f->format, f->dtype, f->uplo, f->diag, 7);
  test_block B = test_block_make(f->n, NRHS, f->dtype, (sptrsm_layout)(f->op == SPTRSM_T), 2);
  solver whole = open_solver(&system, method, f->op, 0), pieces = open_solver(&system, streamed, f->op, 0);
  test_block_fill(&B, 3);
  cr_assert_geq(pieces_of(pieces.plan), least, "%s: %s", what, info_of(pieces.plan).parameters);
  cr_assert_null(strstr(info_of(whole.plan).method, "streamed"));
  expect_same(&whole, &pieces, &B, what);
  test_system_new_values(&system, 11);
  ok(sptrsm_matrix_set_values(whole.matrix, system.T.val));
  ok(sptrsm_matrix_set_values(pieces.matrix, system.T.val));
  expect_same(&whole, &pieces, &B, what);
  close_solver(&whole);
  close_solver(&pieces);
  test_block_free(&B);
  test_system_free(&system);
}

static form drawn_form(test_random *random, test_pattern pattern) {
  return (form){.pattern = pattern,
                .format = (sptrsm_format)test_random_below(random, 2),
                .dtype = (sptrsm_dtype)test_random_below(random, 4),
                .uplo = (sptrsm_uplo)test_random_below(random, 2),
                .diag = (test_diag)test_random_below(random, TEST_DIAGS),
                .op = (sptrsm_op)test_random_below(random, 3),
                .n = ORDER};
}

Test(stream, every_pattern_in_drawn_forms) {
  test_random random = {5};
  for (int seed = 0; seed < SEEDS; seed++)
    for (int p = 0; p < TEST_PATTERNS; p++) {
      const form f = drawn_form(&random, (test_pattern)p);
      compare(&f, "block:rows=16,least=3", "block-streamed:rows=16,least=3,pieces=6", 4);
      compare(&f, "block", "block-streamed", 1);
    }
}

Test(stream, every_form_of_a_tree) {
  for (int c = 0; c < 48; c++) {
    const form f = {.pattern = TEST_TREE,
                    .format = (sptrsm_format)(c % 2),
                    .uplo = (sptrsm_uplo)(c / 2 % 2),
                    .op = (sptrsm_op)(c / 4 % 3),
                    .dtype = (sptrsm_dtype)(c / 12),
                    .n = 90};
    compare(&f, "block:rows=16,least=3", "block-streamed:rows=16,least=3,pieces=5", 4);
  }
}

Test(stream, nothing_and_one_row) {
  for (int32_t n = 0; n < 2; n++) {
    const form f = {.pattern = TEST_DIAGONAL, .dtype = SPTRSM_F64, .n = n};
    compare(&f, "block", "block-streamed", n);
  }
}

/* A piece for each panel, the most that there can be. */
Test(stream, as_many_pieces_as_panels) {
  const form f = {.pattern = TEST_FULL, .dtype = SPTRSM_C128, .uplo = SPTRSM_UPPER, .n = 100};
  compare(&f, "block:rows=16", "block-streamed:rows=16,pieces=1000", 7);
}
