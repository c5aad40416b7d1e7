/* refine.c -- refinement on several contexts of the host: what one context finds, bit by bit, whoever refined a column. What a device finds
 * is tested by core/refine. */
#include <sptrsm_multi.h>

#include "core/refine/refine_case.h"

enum { MEMBERS = 3, COLUMNS = NRHS };

static sptrsm_context *others[MEMBERS - 1];

static void open_contexts(void) {
  open_context();
  for (int k = 0; k < MEMBERS - 1; k++) OK(sptrsm_context_create(&others[k], SPTRSM_HOST, 0, NULL));
}

static void close_contexts(void) {
  for (int k = 0; k < MEMBERS - 1; k++) sptrsm_context_destroy(others[k]);
  close_context();
}
TestSuite(multi_refine, .init = open_contexts, .fini = close_contexts);

typedef struct {
  sptrsm_refine_result r;
  double berr[COLUMNS], ferr[COLUMNS];
  int32_t steps[COLUMNS];
} errors;

static void begin(errors *e) { e->r = (sptrsm_refine_result){.size = sizeof e->r, .berr = e->berr, .ferr = e->ferr, .steps = e->steps}; }

/* NaN equals NaN. */
static void expect_same(const errors *a, const errors *b) {
  cr_assert(memcmp(a->berr, b->berr, sizeof a->berr) == 0 && memcmp(a->ferr, b->ferr, sizeof a->ferr) == 0);
  cr_assert(memcmp(a->steps, b->steps, sizeof a->steps) == 0);
  cr_assert(a->r.max_berr == b->r.max_berr || (isnan(a->r.max_berr) && isnan(b->r.max_berr)), "%g, %g", a->r.max_berr, b->r.max_berr);
  cr_assert_eq(a->r.worst, b->r.worst);
  cr_assert_eq(a->r.unconverged, b->r.unconverged);
}

static const recipe *with_U(void) {
  const recipe *r = recipes;
  while (!r->has_U) r++;
  return r;
}

/* Columns from `bad` on have NaN. */
static void compare(sptrsm_dtype t, sptrsm_precision precision, int64_t bad) {
  static factor_set s;
  static original A;
  static block B, alone, X;
  static errors one, many;
  sptrsm_multi *m;
  sptrsm_refine_options options;
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  options.max_steps = 2;
  options.tolerance = 1e-30; /* some columns count as unconverged */
  build(&s, &A, with_U(), t, SPTRSM_CSR, 1e-6);
  sptrsm_direct *d = create(&s, &A, precision, 2);
  make_block(&B, SPTRSM_COL_MAJOR, COLUMNS, 0, t);
  draw(&B);
  for (int64_t k = bad; k < COLUMNS; k++) set(&B, 1, k, NAN);
  alone = B, X = B;
  alone.b.data = alone.data, X.b.data = X.data;
  begin(&one), begin(&many);
  OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_T, NULL, &B.b, &alone.b, &options, &one.r));
  OK(sptrsm_multi_create(&m, d, others, MEMBERS - 1));
  cr_assert_eq(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_T, NULL, &B.b, &X.b, &options, &many.r), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "context 1 has no matrix to refine with"), "%s", sptrsm_last_error());
  OK(sptrsm_multi_set_original(m, &A.A));
  for (int again = 0; again < 4; again++) {
    begin(&many);
    OK(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_T, NULL, &B.b, &X.b, &options, &many.r));
    cr_assert(memcmp(X.data, alone.data, sizeof X.data) == 0, "other bits");
    expect_same(&one, &many);
  }
  cr_assert_eq(isnan(many.r.max_berr), bad < COLUMNS);
  OK(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_T, NULL, &B.b, &X.b, NULL, NULL));
  sptrsm_multi_destroy(m);
  sptrsm_direct_destroy(d);
}

Test(multi_refine, columns_that_are_handed_out) {
  compare(SPTRSM_F64, SPTRSM_WORKING, COLUMNS);
  compare(SPTRSM_F64, SPTRSM_MIXED, COLUMNS);
  compare(SPTRSM_C128, SPTRSM_WORKING, COLUMNS);
}

Test(multi_refine, columns_that_are_not_numbers) {
  compare(SPTRSM_F64, SPTRSM_WORKING, COLUMNS - 3);
  compare(SPTRSM_C64, SPTRSM_WORKING, 0);
}

/* Where one context can't have its copy, none has one. */
Test(multi_refine, refusals) {
  static factor_set s;
  static original A;
  sptrsm_multi *m;
  build(&s, &A, with_U(), SPTRSM_F64, SPTRSM_CSR, 0);
  sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, 2);
  static block B, X;
  make_block(&B, SPTRSM_COL_MAJOR, 2, 0, SPTRSM_F64);
  draw(&B);
  X = B, X.b.data = X.data;
  OK(sptrsm_multi_create(&m, d, others, MEMBERS - 1));
  sptrsm_square on_device = A.A, smaller = A.A;
  on_device.place = SPTRSM_CUDA;
  smaller.n--;
  cr_assert_eq(sptrsm_multi_set_original(m, &on_device), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "give it in host memory"), "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_multi_set_original(NULL, &A.A), SPTRSM_ERR_ARGUMENT);
  OK(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, NULL)); /* it still has its copy */
  cr_assert_eq(sptrsm_multi_set_original(m, &smaller), SPTRSM_ERR_ARGUMENT);
  cr_assert(strncmp(sptrsm_last_error(), "context 0 (host", 15) == 0, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, NULL), SPTRSM_ERR_ARGUMENT);
  OK(sptrsm_multi_set_original(m, &A.A));
  sptrsm_refine_result wrong = {.size = 3};
  cr_assert_eq(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, &wrong), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &B.b, NULL, NULL), SPTRSM_ERR_ARGUMENT, "X is B");
  cr_assert(strstr(sptrsm_last_error(), "X must be another block"), "%s", sptrsm_last_error());
  OK(sptrsm_multi_refine(m, SPTRSM_SYS_A, SPTRSM_N, NULL, &B.b, &X.b, NULL, NULL));
  sptrsm_multi_destroy(m);
  sptrsm_direct_destroy(d);
}
