/* properties.c -- random triangles through plans and solves against residuals in extended precision: every deterministic method of the
 * host and `auto`, all types, operations, formats, layouts, widths, panels and numbers of threads, in place and apart. Factor sets are in
 * properties_factors.c. The number of cases is fixed; PROPERTY_CASES gives another one, PROPERTY_FIRST the first of them, which repeats a
 * case that failed. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/properties.h"
#include "support/oracle.h"

#if defined(__SANITIZE_ADDRESS__) /* several times slower */
enum { CASES = 3000 };
#else
enum { CASES = 20000 };
#endif
enum { METHODS_MAX = 16 };

static const char *method_names[METHODS_MAX] = {NULL}; /* NULL: auto */
static int method_count = 1;

static void find_methods(void) {
  if (method_count > 1) return;
  static sptrsm_method_info info[METHODS_MAX];
  for (int m = 0; m < sptrsm_method_count() && method_count < METHODS_MAX; m++) {
    sptrsm_method_info *i = &info[method_count];
    *i = (sptrsm_method_info){.size = sizeof *i};
    cr_assert_eq(sptrsm_method_at(i, m), SPTRSM_OK);
    if (i->place == SPTRSM_HOST && i->deterministic) method_names[method_count++] = i->name;
  }
}

const char *draw_method(test_random *r) {
  find_methods();
  return method_names[test_random_below(r, method_count)];
}

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static void open_solver(solver *s, const sptrsm_sparse *T, const sptrsm_options *options, int threads) {
  cr_assert_eq(sptrsm_context_create(&s->context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_set_threads(s->context, threads), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&s->matrix, s->context, T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&s->plan, s->matrix, options), SPTRSM_OK, "%s", sptrsm_last_error());
}

static void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

/* Multiplies the stored numbers of each line by one power of two, so that numbers of very different size meet. */
static void stretch(test_system *s, test_random *r) {
  const bool single = s->T.dtype == SPTRSM_F32 || s->T.dtype == SPTRSM_C64;
  const int parts = s->T.dtype == SPTRSM_C64 || s->T.dtype == SPTRSM_C128 ? 2 : 1, range = single ? 12 : 100;
  for (int32_t i = 0; i < s->T.n; i++) {
    const double factor = ldexp(1, test_random_below(r, range) - range / 2);
    for (int64_t p = s->T.ptr[i] * parts; p < s->T.ptr[i + 1] * parts; p++)
      if (single) ((float *)s->T.val)[p] *= (float)factor;
      else ((double *)s->T.val)[p] *= factor;
  }
}

static void check_case(int number) {
  test_random r = {.state = (uint64_t)number * 0x9e3779b97f4a7c15u + 1};
  const int32_t n = test_random_below(&r, 4) == 0 ? test_random_below(&r, 4) : test_random_below(&r, 300);
  const sptrsm_dtype dtype = (sptrsm_dtype)test_random_below(&r, 4);
  const sptrsm_op op = (sptrsm_op)test_random_below(&r, 3);
  const test_diag diag = (test_diag)test_random_below(&r, TEST_DIAGS);
  test_system s = test_system_make((test_pattern)test_random_below(&r, TEST_PATTERNS), n, (sptrsm_format)test_random_below(&r, 2), dtype,
                                   (sptrsm_uplo)test_random_below(&r, 2), diag, (uint64_t)number);
  if (diag == TEST_NONUNIT && test_random_below(&r, 2)) stretch(&s, &r);
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = draw_method(&r);
  options.op = op;
  options.panel = test_random_below(&r, 2) ? 1 + test_random_below(&r, 40) : 0;
  test_block B = test_block_make(n, test_random_below(&r, 70), dtype, (sptrsm_layout)test_random_below(&r, 2), test_random_below(&r, 3));
  test_block_fill(&B, (uint64_t)number);
  const double alpha[2] = {test_random_value(&r, 0.1, 4), dtype == SPTRSM_C64 || dtype == SPTRSM_C128 ? test_random_value(&r, 0.1, 4) : 0};
  const float alpha_single[2] = {(float)alpha[0], (float)alpha[1]};
  const bool single = dtype == SPTRSM_F32 || dtype == SPTRSM_C64, in_place = test_random_below(&r, 3) == 0;
  const double taken[2] = {single ? alpha_single[0] : alpha[0], single ? alpha_single[1] : alpha[1]};
  test_block before = test_block_copy(&B), X = test_block_copy(&B);
  solver v;
  open_solver(&v, &s.T, &options, 1 + test_random_below(&r, 4));
  sptrsm_status status = sptrsm_solve(v.plan, NULL, single ? (const void *)alpha_single : alpha, in_place ? &X.block : &B.block, &X.block);
  cr_assert_eq(status, SPTRSM_OK, "case %d: %s", number, sptrsm_last_error());
  const double ratio = test_residual(&s, op, taken, &before, &X, -1);
  const double most = dtype == SPTRSM_C64 || dtype == SPTRSM_C128 ? 4 : 1; /* a complex product rounds more than once */
  cr_expect(ratio <= most, "case %d: %s, %s, op %d, n %d: residual %g is above %g", number, options.method ? options.method : "auto",
            test_dtype_names[dtype], op, n, ratio, most);
  cr_expect(test_block_intact(&X), "case %d: wrote outside X", number);
  cr_expect(memcmp(B.memory, before.memory, B.bytes) == 0, "case %d: B was changed", number);
  close_solver(&v);
  test_block_free(&before);
  test_block_free(&B);
  test_block_free(&X);
  test_system_free(&s);
}

int number_of(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text ? atoi(text) : otherwise;
}

Test(properties, random_systems_have_small_residuals, .timeout = 1800) {
  const int first = number_of("PROPERTY_FIRST", 0), cases = number_of("PROPERTY_CASES", CASES);
  find_methods();
  cr_assert_gt(method_count, 4);
  for (int c = 0; c < cases; c++) check_case(first + c);
}
