/* refine.c -- iterative refinement in a context with a memory limit: it has room beside the solver, whose panels get narrower or whose
 * factors stream for it; the bits are those without a limit, also of plain solves afterwards; where there is no room, plain solves work. */
#include <sptrsm_refine.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/stream/stream.h"

enum { COLUMNS = NRHS, STEPS = 3, STEP = LIMIT_STEP < 100 ? 15 : 90 /* between limits, in percent of the plans */ };

typedef struct {
  sptrsm_square A;
  int64_t ptr[ORDER + 1];
  int32_t *idx;
  double *val;
} original;

/* A = L U by rows. */
static void make_original(original *out, set *s) {
  double *row = calloc(ORDER, sizeof *row);
  const sptrsm_sparse *L = &s->L.T, *U = &s->U.T;
  const double *l = L->val, *u = U->val;
  *out = (original){.idx = malloc((size_t)ORDER * ORDER * sizeof(int32_t)), .val = malloc((size_t)ORDER * ORDER * sizeof(double))};
  for (int32_t i = 0; i < ORDER; i++) {
    for (int64_t p = L->ptr[i]; p < L->ptr[i + 1]; p++)
      for (int64_t q = U->ptr[L->idx[p]]; q < U->ptr[L->idx[p] + 1]; q++) row[U->idx[q]] += l[p] * u[q];
    int64_t at = out->ptr[i];
    for (int32_t j = 0; j < ORDER; j++)
      if (row[j] != 0) out->idx[at] = j, out->val[at++] = row[j], row[j] = 0;
    out->ptr[i + 1] = at;
  }
  free(row);
  out->A = (sptrsm_square){.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = ORDER, .ptr = out->ptr, .idx = out->idx, .val = out->val};
}

/* ---- a solver without a limit, and what it finds ---- */

static set s;
static original A;

typedef struct {
  sptrsm_context *context;
  sptrsm_direct *direct;
} pair;

static pair open_pair(sptrsm_precision precision, int64_t hint, size_t limit) {
  pair p = {.context = open_context(limit)};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block:rows=16,least=3";
  options.precision = precision;
  options.nrhs_hint = hint;
  ok(sptrsm_direct_create(&p.direct, p.context, &s.f, &options));
  return p;
}

static void close_pair(pair *p) {
  sptrsm_direct_destroy(p->direct);
  sptrsm_context_destroy(p->context);
}

static sptrsm_info info_of_L(const pair *p) {
  sptrsm_info L = {.size = sizeof L};
  ok(sptrsm_direct_info(&L, NULL, p->direct));
  return L;
}

static void set_up(void) {
  s.L = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 7);
  s.U = test_system_make(TEST_TREE, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_UPPER, TEST_NONUNIT, 8);
  sptrsm_factors_init(&s.f);
  s.f.L = &s.L.T;
  s.f.U = &s.U.T;
  make_original(&A, &s);
}

static void tear_down(void) {
  free(A.idx);
  free(A.val);
  test_system_free(&s.L);
  test_system_free(&s.U);
}
TestSuite(stream_refine, .init = set_up, .fini = tear_down);

static size_t limit_of(sptrsm_precision precision, int percent) {
  sptrsm_info L = {.size = sizeof L}, U = L;
  pair whole = open_pair(precision, 0, 0);
  ok(sptrsm_direct_info(&L, &U, whole.direct));
  close_pair(&whole);
  return (L.plan_bytes + U.plan_bytes) / 100 * (size_t)percent;
}

/* ---- results ---- */

/* Of plain solves, by the factors as they are kept, and of refinement. */
typedef struct {
  sptrsm_precision precision;
  test_block plain, X[2];
  double berr[2][COLUMNS], ferr[COLUMNS];
} results;

static void solve_plainly(test_block *out, const pair *p, sptrsm_precision precision) {
  test_block B = test_block_make(ORDER, COLUMNS, precision == SPTRSM_MIXED ? SPTRSM_F32 : SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 4);
  *out = solve_set(p->context, p->direct, SPTRSM_SYS_A, &B);
  test_block_free(&B);
}

static sptrsm_status refine(test_block *X, double *berr, double *ferr, const pair *p, sptrsm_system system) {
  sptrsm_refine_options options;
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .ferr = ferr};
  test_block B = test_block_make(ORDER, COLUMNS, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  sptrsm_refine_options_init(&options);
  options.solve = 1;
  options.max_steps = STEPS;
  test_block_fill(&B, 3);
  *X = test_block_copy(&B);
  const sptrsm_status status = sptrsm_direct_refine(p->direct, system, SPTRSM_N, NULL, &B.block, &X->block, &options, &result);
  test_block_free(&B);
  return status;
}

static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_At};

/* Without a limit. */
static void find_results(results *out, sptrsm_precision precision) {
  pair whole = open_pair(precision, 0, 0);
  out->precision = precision;
  solve_plainly(&out->plain, &whole, precision);
  ok(sptrsm_direct_set_original(whole.direct, &A.A));
  for (int k = 0; k < 2; k++) {
    ok(refine(&out->X[k], out->berr[k], k == 0 ? out->ferr : NULL, &whole, systems[k]));
    for (int c = 0; c < COLUMNS; c++) cr_assert(out->berr[k][c] < 1e-12, "system %d: backward error %g", k, out->berr[k][c]);
  }
  close_pair(&whole);
}

static void free_results(results *r) {
  test_block_free(&r->plain);
  for (int k = 0; k < 2; k++) test_block_free(&r->X[k]);
}

static void expect_plain(const results *expected, const pair *p, const char *what) {
  test_block X;
  solve_plainly(&X, p, expected->precision);
  cr_assert(test_block_same_bits(&expected->plain, &X), "%s: other bits of a plain solve than without a limit", what);
  test_block_free(&X);
}

static void expect_refined(const results *expected, int k, bool with_bounds, const pair *p, const char *what) {
  double berr[COLUMNS], ferr[COLUMNS];
  test_block X;
  const sptrsm_status status = refine(&X, berr, with_bounds ? ferr : NULL, p, systems[k]);
  cr_assert_eq(status, SPTRSM_OK, "%s, system %d: %s", what, k, sptrsm_last_error());
  cr_assert(test_block_same_bits(&expected->X[k], &X), "%s, system %d: other bits than without a limit", what, k);
  cr_assert(memcmp(expected->berr[k], berr, sizeof berr) == 0, "%s, system %d: other backward errors", what, k);
  cr_assert(!with_bounds || memcmp(expected->ferr, ferr, sizeof ferr) == 0, "%s, system %d: other bounds", what, k);
  test_block_free(&X);
}

/* ---- limits ---- */

/* Plain solves before and afterwards; a transposed system, which takes another orientation of A and plans of its own. */
static void check_limit(const results *expected, int percent, int64_t hint) {
  const size_t limit = limit_of(expected->precision, percent);
  char what[80];
  snprintf(what, sizeof what, "%s, hint %d, limit of %d %%", expected->precision == SPTRSM_MIXED ? "mixed" : "working", (int)hint, percent);
  begin_to_watch();
  pair tight = open_pair(expected->precision, hint, limit);
  ok(sptrsm_direct_set_original(tight.direct, &A.A));
  expect_refined(expected, 0, false, &tight, what);
  expect_plain(expected, &tight, what);
  expect_refined(expected, 1, false, &tight, what);
  expect_refined(expected, 0, percent == 60, &tight, what); /* back, once with bounds */
  expect_plain(expected, &tight, what);
  expect_kept(limit);
  close_pair(&tight);
}

static void check_limits(sptrsm_precision precision, int64_t hint) {
  results expected;
  find_results(&expected, precision);
  for (int percent = 60; percent <= 240; percent += STEP) check_limit(&expected, percent, hint);
  free_results(&expected);
}

Test(stream_refine, few_in_working_precision) { check_limits(SPTRSM_WORKING, 32); }
Test(stream_refine, many_in_working_precision) { check_limits(SPTRSM_WORKING, 400); }
Test(stream_refine, few_in_mixed_precision) { check_limits(SPTRSM_MIXED, 32); }
Test(stream_refine, many_in_mixed_precision) { check_limits(SPTRSM_MIXED, 400); }

/* Where A and one column more have room, factors that were on the device stay there. */
Test(stream_refine, factors_stay_on_the_device_where_they_can) {
  pair tight = open_pair(SPTRSM_WORKING, 32, limit_of(SPTRSM_WORKING, 300));
  ok(sptrsm_direct_set_original(tight.direct, &A.A));
  cr_assert_str_eq(info_of_L(&tight).method, "block");
  close_pair(&tight);
}

/* A panel that got narrower for refinement is as wide as before when the matrix is taken away. */
Test(stream_refine, a_panel_gets_wide_again) {
  pair tight = open_pair(SPTRSM_WORKING, 400, limit_of(SPTRSM_WORKING, 105));
  const int32_t panel = info_of_L(&tight).panel;
  ok(sptrsm_direct_set_original(tight.direct, &A.A));
  cr_assert_lt(info_of_L(&tight).panel, panel);
  ok(sptrsm_direct_set_original(tight.direct, NULL));
  cr_assert_eq(info_of_L(&tight).panel, panel);
  close_pair(&tight);
}

/* ---- no room ---- */

static void expect_refusal(sptrsm_status status, size_t limit) {
  char text[80];
  snprintf(text, sizeof text, "the limit of %zu for this context, which can be raised, leaves", limit);
  cr_assert_eq(status, SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text), "%s", sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), "sptrsm_direct_set_original with NULL"), "%s", sptrsm_last_error());
}

/* A matrix beyond the limit, made of an entry that is given many times, is refused; with the factors on the device at first or not. */
Test(stream_refine, a_matrix_beyond_the_limit) {
  results expected;
  find_results(&expected, SPTRSM_WORKING);
  for (int percent = 75; percent < 300; percent += 120) {
    const size_t limit = limit_of(SPTRSM_WORKING, percent);
    const int64_t many = (int64_t)(limit / sizeof(double));
    int64_t ptr[ORDER + 1] = {0};
    for (int i = 1; i <= ORDER; i++) ptr[i] = many;
    sptrsm_square large = A.A;
    large.ptr = ptr;
    large.idx = calloc((size_t)many, sizeof *large.idx);
    large.val = calloc((size_t)many, sizeof(double));
    pair tight = open_pair(SPTRSM_WORKING, 32, limit);
    expect_plain(&expected, &tight, "before");
    expect_refusal(sptrsm_direct_set_original(tight.direct, &large), limit);
    expect_plain(&expected, &tight, "after a refusal");
    test_block X;
    cr_assert_eq(refine(&X, NULL, NULL, &tight, SPTRSM_SYS_A), SPTRSM_ERR_ARGUMENT, "there is a matrix");
    test_block_free(&X);
    ok(sptrsm_direct_set_original(tight.direct, &A.A));
    expect_refined(&expected, 0, false, &tight, "another matrix");
    close_pair(&tight);
    free((void *)large.idx);
    free((void *)large.val);
  }
  free_results(&expected);
}

/* A limit that came later leaves the factors room to stream, or none at all; a solver refines when it is gone. */
Test(stream_refine, a_limit_that_goes_away) {
  results expected;
  int refused = 0;
  find_results(&expected, SPTRSM_WORKING);
  for (int percent = 5; percent <= 25; percent += 10) {
    pair tight = open_pair(SPTRSM_WORKING, 32, limit_of(SPTRSM_WORKING, 300));
    ok(sptrsm_direct_set_original(tight.direct, &A.A));
    cr_assert_str_eq(info_of_L(&tight).method, "block");
    expect_plain(&expected, &tight, "before");
    ok(sptrsm_context_set_memory_limit(tight.context, limit_of(SPTRSM_WORKING, percent)));
    test_block X;
    const sptrsm_status status = refine(&X, NULL, NULL, &tight, SPTRSM_SYS_A);
    refused += status == SPTRSM_ERR_MEMORY;
    const bool may_stream = ORDER > 1000; /* smaller systems have no room to stream within these limits */
    cr_assert(status == SPTRSM_ERR_MEMORY || (may_stream && status == SPTRSM_OK), "limit of %d %%: %s", percent, sptrsm_last_error());
    cr_assert(status != SPTRSM_OK || test_block_same_bits(&expected.X[0], &X), "limit of %d %%: other bits", percent);
    test_block_free(&X);
    ok(sptrsm_context_set_memory_limit(tight.context, 0));
    expect_refined(&expected, 0, false, &tight, "no limit");
    close_pair(&tight);
  }
  cr_assert_gt(refused, 0);
  free_results(&expected);
}

/* Other objects of the context have taken a part of the room since, or nearly all of it, which they give back. */
Test(stream_refine, room_that_others_take) {
  results expected;
  find_results(&expected, SPTRSM_WORKING);
  pair tight = open_pair(SPTRSM_WORKING, 32, limit_of(SPTRSM_WORKING, 135));
  ok(sptrsm_direct_set_original(tight.direct, &A.A));
  size_t room, left;
  void *taken[2];
  ok(spti_gpu_room(&room, tight.context, 0));
  ok(spti_alloc(tight.context, &taken[0], (int64_t)room / 4, 1, "a part of the room"));
  expect_refined(&expected, 0, false, &tight, "less room");
  ok(sptrsm_direct_set_original(tight.direct, &A.A));
  ok(spti_gpu_room(&room, tight.context, SIZE_MAX));
  ok(spti_alloc(tight.context, &taken[1], (int64_t)room - 1000, 1, "most of the rest"));
  ok(spti_gpu_room(&left, tight.context, 0));
  test_block X;
  cr_assert_eq(refine(&X, NULL, NULL, &tight, SPTRSM_SYS_A), SPTRSM_ERR_MEMORY);
  test_block_free(&X);
  ok(spti_gpu_room(&room, tight.context, SIZE_MAX));
  cr_assert_geq(room, left, "refinement has kept %zu bytes", left - room);
  for (int k = 0; k < 2; k++) spti_free(tight.context, taken[k]);
  expect_plain(&expected, &tight, "room again");
  expect_refined(&expected, 0, false, &tight, "room again");
  close_pair(&tight);
  free_results(&expected);
}
