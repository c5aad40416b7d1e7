/* plan.c -- the whole library on the emulated GPU, through its public functions: context, matrix, plan, workspace, solves, new values, for
 * every CUDA method. Checks the order in which the core calls a method (method_order.h), that a workspace takes no more memory than was
 * promised, that solves allocate nothing, and that no memory is left over whichever allocation fails. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <math.h>
#include <string.h>

#include <sptrsm_auto.h>

#include "core/select/choose.h"
#include "simt/core/method_order.h"
#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"

typedef struct {
  const char *method;
  test_pattern pattern;
  int32_t n;
  sptrsm_dtype dtype;
  sptrsm_format format;
  sptrsm_op op;
  int64_t hint;
  size_t memory_limit;
  int64_t nrhs[4]; /* a solve for each; -1: none */
} scenario;

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  size_t promised, before; /* sptrsm_workspace_bytes; bytes of all allocations before the workspace was made */
} parts;

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    const sptrsm_status status_ = (call);                                                                                                  \
    if (status_ != SPTRSM_OK) return status_;                                                                                              \
  } while (0)

static sptrsm_status open_plan(parts *p, const scenario *c, const test_system *system) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = c->method;
  options.op = c->op;
  options.nrhs_hint = c->hint;
  options.memory_limit = c->memory_limit;
  TRY(sptrsm_context_create(&p->context, SPTRSM_CUDA, 0, NULL));
  TRY(sptrsm_matrix_create(&p->matrix, p->context, &system->T, SPTRSM_COPY));
  return sptrsm_plan_create(&p->plan, p->matrix, &options);
}

static sptrsm_status open_workspace(parts *p) {
  sptrsm_info info = {.size = sizeof info};
  TRY(sptrsm_plan_info(&info, p->plan));
  cr_assert_gt(info.panel, 0);
  cr_assert_null(strstr(info.parameters, "nan"), "%s: %s", info.method, info.parameters); /* shares and averages of nothing */
  TRY(sptrsm_workspace_bytes(&p->promised, p->plan, 0));
  p->before = emulated_gpu_total;
  return sptrsm_workspace_create(&p->workspace, p->plan, 0);
}

static void close_all(parts *p) {
  sptrsm_workspace_destroy(p->workspace);
  sptrsm_plan_destroy(p->plan);
  sptrsm_matrix_destroy(p->matrix);
  sptrsm_context_destroy(p->context);
}

/* In residual bounds. Multiplication by inverses of diagonal blocks gets ten times the tolerance of substitution. */
static double tolerance(const scenario *c, const sptrsm_plan *plan) {
  sptrsm_info info = {.size = sizeof info};
  cr_assert_eq(sptrsm_plan_info(&info, plan), SPTRSM_OK);
  return (c->dtype >= SPTRSM_C64 ? 4 : 1) * (info.inverts ? 10 : 1);
}

/* `form` chooses layouts, places and whether X is B: row-major on the device (2) and in host memory (8), column-major on the device
 * (11). */
static sptrsm_status solve_once(const parts *p, const scenario *c, const test_system *system, int64_t nrhs, int form) {
  static const double one[2] = {1, 0};
  const bool in_place = form % 3 == 2;
  test_block B = test_block_make(c->n, nrhs, c->dtype, (sptrsm_layout)(form % 2), form % 3), X;
  test_block_fill(&B, (uint64_t)form);
  if (form % 4 > 1) B.block.place = SPTRSM_CUDA; /* the emulator's device reads any memory */
  test_block given = test_block_copy(&B);
  X = in_place ? B : test_block_make(c->n, nrhs, c->dtype, (sptrsm_layout)(form / 2 % 2), 1);
  if (!in_place && form % 4 % 3 == 0) X.block.place = SPTRSM_CUDA;
  sptrsm_status status = sptrsm_solve(p->plan, p->workspace, NULL, &B.block, &X.block);
  if (status == SPTRSM_OK) status = sptrsm_context_sync(p->context);
  if (status == SPTRSM_OK) {
    const double residual = test_residual(system, c->op, one, &given, &X, -1);
    cr_assert(residual <= tolerance(c, p->plan), "%s, n=%d, %lld right-hand sides, form %d: residual %g bounds", c->method, c->n,
              (long long)nrhs, form, residual);
    cr_assert(test_block_intact(&X), "%s: wrote outside X", c->method);
  }
  if (!in_place) test_block_free(&X);
  test_block_free(&B);
  test_block_free(&given);
  return status;
}

/* All solves of a plan, in forms that depend on `round`. The first solve is of a block in host memory and makes the workspace's second
 * panel; the widest such block, if it has several panels, may take two more where memory has no limit. Then solves must not allocate. */
static sptrsm_status solve_all(const parts *p, const scenario *c, const test_system *system, int round) {
  int64_t widest = 1;
  for (int k = 0; k < 4; k++) widest = c->nrhs[k] > widest ? c->nrhs[k] : widest;
  TRY(solve_once(p, c, system, 1, 0));
  size_t taken = emulated_gpu_total - p->before;
  if (round == 0 && c->n > 0) /* for n = 0 an empty allocation takes a byte */
    cr_assert_leq(taken, p->promised, "%s, n=%d: workspace_bytes said %zu, %zu were taken", c->method, c->n, p->promised, taken);
  TRY(solve_once(p, c, system, widest, 0));
  if (c->memory_limit > 0) cr_assert_eq(emulated_gpu_total - p->before, taken, "%s: a solve took more than the limit", c->method);
  taken = emulated_gpu_total - p->before;
  for (int k = 0; k < 4; k++)
    if (c->nrhs[k] >= 0) TRY(solve_once(p, c, system, c->nrhs[k], 7 * round + k + 1));
  cr_assert_eq(emulated_gpu_total - p->before, taken, "%s: a solve allocated", c->method);
  return SPTRSM_OK;
}

static sptrsm_status run_steps(parts *p, const scenario *c, test_system *system) {
  TRY(open_plan(p, c, system));
  TRY(open_workspace(p));
  TRY(solve_all(p, c, system, 0));
  test_system_new_values(system, 5);
  TRY(sptrsm_matrix_set_values(p->matrix, system->T.val));
  p->before = emulated_gpu_total;
  return solve_all(p, c, system, 1);
}

/* The caller works on another device than the context. */
enum { CALLERS_DEVICE = 3 };

/* The status of the first step that failed. */
static sptrsm_status run(const scenario *c) {
  parts p = {0};
  emulated_gpu_current = CALLERS_DEVICE;
  test_system system = test_system_make(c->pattern, c->n, c->format, c->dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  const sptrsm_status status = run_steps(&p, c, &system);
  close_all(&p);
  test_system_free(&system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%s: %d device blocks left over", c->method, emulated_gpu_blocks);
  cr_assert_eq(emulated_gpu_strays, 0, "%s: %d calls while another device was the current one", c->method, emulated_gpu_strays);
  cr_assert_eq(emulated_gpu_current, CALLERS_DEVICE, "%s: the caller's device was changed", c->method);
  cr_assert_str_empty(method_order_breach, "out of order: %s", method_order_breach);
  return status;
}

static bool runs_here(const char *method) { return strcmp(method, "cusparse") != 0; }

/* Is it a variant of a method? */
static bool is_form(const subject *s) { return strchr(s->name, ':') != NULL; }

/* All methods without their variants. A process for each variant, which starts slowly with AddressSanitizer, would end at once. */
static struct criterion_test_params plain_methods(void) {
  struct criterion_test_params all = conformance_subjects(SPTRSM_CUDA, false);
  subject *list = all.params;
  size_t kept = 0;
  for (size_t k = 0; k < all.length; k++)
    if (!is_form(&list[k])) list[kept++] = list[k];
  all.length = kept;
  return all;
}

static const scenario kinds[] = {
    {.pattern = TEST_GRID, .n = 49, .dtype = SPTRSM_F64, .nrhs = {0, 1, 3, 40}},
    {.pattern = TEST_GRID, .n = 49, .dtype = SPTRSM_F32, .format = SPTRSM_CSC, .hint = 40, .nrhs = {40, 0, 3, 1}},
    {.pattern = TEST_GRID, .n = 49, .dtype = SPTRSM_C128, .op = SPTRSM_C, .hint = 3, .nrhs = {3, 4, -1, 3}},
    {.pattern = TEST_RANDOM, .n = 50, .dtype = SPTRSM_F64, .op = SPTRSM_T, .hint = 1, .nrhs = {1, 3, 40, 0}},
    {.pattern = TEST_CHAIN, .n = 40, .dtype = SPTRSM_C64, .format = SPTRSM_CSC, .nrhs = {3, 1, -1, -1}},
    {.pattern = TEST_DIAGONAL, .n = 1, .dtype = SPTRSM_F64, .nrhs = {0, 1, 3, 40}},
    {.pattern = TEST_DIAGONAL, .n = 0, .dtype = SPTRSM_F64, .nrhs = {0, 1, 3, 40}},
    {.pattern = TEST_DIAGONAL, .n = 0, .dtype = SPTRSM_F32, .hint = 40, .nrhs = {40, 1, -1, -1}},
};
enum { KINDS = sizeof kinds / sizeof *kinds, KINDS_OF_STENCILS = 3 };

/* Each variant runs some of the kinds; with AddressSanitizer, which is slow, one kind, and one block of right-hand sides of a factor
 * set. */
#if defined(__SANITIZE_ADDRESS__)
enum { FORM_STEP = KINDS, FORM_BLOCKS = 1 };
#else
enum { FORM_STEP = KINDS_OF_STENCILS, FORM_BLOCKS = 4 };
#endif

/* Runs kinds first, first + step, ...; `refusals` counts those that the method refuses. */
static void run_kinds(const char *method, int first, int step, int *refusals) {
  for (int k = first; k < KINDS; k += step) {
    scenario c = kinds[k];
    c.method = method;
    const sptrsm_status status = run(&c);
    *refusals += status == SPTRSM_ERR_UNSUPPORTED;
    cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_UNSUPPORTED, "%s, kind %d: %s", method, k, sptrsm_last_error());
  }
  cr_assert_gt(method_order_calls, 0);
}

ParameterizedTestParameters(plan, all_methods) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, plan, all_methods) {
  int refusals = 0;
  if (!runs_here(s->name)) return;
  run_kinds(s->name, is_form(s) ? s->number % KINDS_OF_STENCILS : 0, is_form(s) ? FORM_STEP : 1, &refusals);
  const bool stencils_only = strncmp(s->name, "structgrid", strlen("structgrid")) == 0;
  cr_assert_leq(refusals, stencils_only ? 2 : 0, "%s refused %d kinds", s->name, refusals);
}

Test(plan, auto_serves_every_kind) {
  int refusals = 0;
  run_kinds("auto", 0, 1, &refusals);
  cr_assert_eq(refusals, 0);
}

/* sptrsm_info tells the memory of a plan: what it takes on the device, but for gaps between arrays, and little for the host. A second plan
 * is measured, since the first one may take a copy of the matrix in another order, which is no plan's. */
ParameterizedTestParameters(plan, plans_tell_their_memory) { return conformance_subjects(SPTRSM_CUDA, false); }

static void check_told_bytes(const char *method, test_pattern pattern) {
  enum { ORDER = 576, GAPS = 1024, ON_HOST = 4608 };            /* bytes: less than an array of n row numbers, and two of them */
  const size_t gaps = strstr(method, "order=level") ? 0 : GAPS; /* it knows its own */
  const scenario c = {.method = method, .pattern = pattern, .n = ORDER, .dtype = SPTRSM_F64};
  test_system system = test_system_make(c.pattern, c.n, c.format, c.dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  sptrsm_info info = {.size = sizeof info};
  sptrsm_options options;
  parts p = {0};
  sptrsm_plan *second;
  const sptrsm_status status = open_plan(&p, &c, &system);
  cr_assert(status == SPTRSM_OK || (status == SPTRSM_ERR_UNSUPPORTED && pattern != TEST_GRID), "%s: %s", method, sptrsm_last_error());
  if (status == SPTRSM_OK) {
    const size_t before = emulated_gpu_used(p.context);
    sptrsm_options_init(&options);
    options.method = method;
    cr_assert_eq(sptrsm_plan_create(&second, p.matrix, &options), SPTRSM_OK);
    const size_t taken = emulated_gpu_used(p.context) - before;
    cr_assert_eq(sptrsm_plan_info(&info, second), SPTRSM_OK);
    cr_assert(info.plan_bytes + gaps >= taken && info.plan_bytes <= taken + ON_HOST, "%s: told %zu bytes, took %zu on the device", method,
              info.plan_bytes, taken);
    sptrsm_plan_destroy(second);
  }
  close_all(&p);
  test_system_free(&system);
}

ParameterizedTest(subject *s, plan, plans_tell_their_memory) {
  if (!runs_here(s->name) || strncmp(s->name, "block-streamed", strlen("block-streamed")) == 0) return; /* a streamed plan is on the host */
  check_told_bytes(s->name, TEST_GRID);
  check_told_bytes(s->name, TEST_DENSE_ROW);
}

/* What auto goes by: a chain has thin levels only, a diagonal one level, which is as wide as it is long. */
Test(plan, features_of_known_triangles) {
  static const struct {
    test_pattern pattern;
    int32_t n;
    double levels, wide_levels, thin_share;
  } known[] = {{TEST_CHAIN, 40, 40, 0, 1},
               {TEST_DIAGONAL, SPTI_THIN_LEVEL - 1, 1, 0, 1},
               {TEST_DIAGONAL, SPTI_THIN_LEVEL, 1, 0, 0},
               {TEST_DIAGONAL, SPTI_WIDE_LEVEL - 1, 1, 0, 0},
               {TEST_DIAGONAL, SPTI_WIDE_LEVEL, 1, 1, 0}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    double values[SPTRSM_AUTO_FEATURES];
    parts p = {0};
    test_system system = test_system_make(known[k].pattern, known[k].n, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
    cr_assert_eq(sptrsm_context_create(&p.context, SPTRSM_CUDA, 0, NULL), SPTRSM_OK);
    cr_assert_eq(sptrsm_matrix_create(&p.matrix, p.context, &system.T, SPTRSM_COPY), SPTRSM_OK);
    cr_assert_eq(sptrsm_auto_features(values, p.matrix, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++) {
      const char *name = sptrsm_auto_feature(f);
      const double right = !strcmp(name, "levels")         ? known[k].levels
                           : !strcmp(name, "wide_levels")  ? known[k].wide_levels
                           : !strcmp(name, "thin_share")   ? known[k].thin_share
                           : !strcmp(name, "rows_a_level") ? known[k].n / known[k].levels
                                                           : values[f];
      cr_assert_eq(values[f], right, "n = %d, %s: %g, not %g", known[k].n, name, values[f], right);
    }
    close_all(&p);
    test_system_free(&system);
  }
}

/* ---- permuted and scaled rows ---- */

typedef struct {
  const char *method;
  sptrsm_context *context;
  sptrsm_direct *direct;
} system_solver;

static system_solver open_system(sptrsm_place place, const char *method, const sptrsm_factors *factors) {
  system_solver s = {.method = method};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  cr_assert_eq(sptrsm_context_create(&s.context, place, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_create(&s.direct, s.context, factors, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  return s;
}

static void close_system(system_solver *s) {
  sptrsm_direct_destroy(s->direct);
  sptrsm_context_destroy(s->context);
}

/* X = A^-1 B for A = P' L L' P scaled, of a stencil's L. */
static void solve_system(const system_solver *s, const test_block *B, test_block *X) {
  cr_assert_eq(sptrsm_direct_solve(s->direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B->block, &X->block), SPTRSM_OK, "%s: %s", s->method,
               sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(s->context), SPTRSM_OK, "%s: %s", s->method, sptrsm_last_error());
}

static void expect_alike(const test_block *X, const test_block *expected, const char *method) {
  for (int32_t i = 0; i < X->block.n; i++)
    for (int64_t k = 0; k < X->block.nrhs; k++) {
      double found, right, unused;
      test_block_get(&found, &unused, X, i, k);
      test_block_get(&right, &unused, expected, i, k);
      cr_assert(fabs(found - right) <= 1e-12 * (1 + fabs(right)), "%s: X(%d,%lld) = %g, not %g", method, i, (long long)k, found, right);
    }
}

ParameterizedTestParameters(plan, factors_with_permutations) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, plan, factors_with_permutations) {
  enum { ORDER = 49 };
  int32_t permutation[ORDER];
  double scale[ORDER];
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  if (!runs_here(s->name)) return;
  emulated_gpu_current = CALLERS_DEVICE;
  test_system system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
  for (int32_t i = 0; i < ORDER; i++) {
    permutation[i] = (i * 5 + 2) % ORDER;
    scale[i] = 1 + i % 3;
  }
  factors.L = &system.T;
  factors.u_kind = SPTRSM_U_IS_LT;
  factors.perm_row = factors.perm_col = permutation;
  factors.scale_row = factors.scale_col = scale;
  system_solver reference = open_system(SPTRSM_HOST, "serial", &factors), solver = open_system(SPTRSM_CUDA, s->name, &factors);
  for (int k = 0; k < (is_form(s) ? FORM_BLOCKS : 4); k++) { /* narrow and wide, by rows and by columns */
    const int which = k + s->number;
    test_block B = test_block_make(ORDER, which & 1 ? 40 : 3, SPTRSM_F64, (sptrsm_layout)(which >> 1 & 1), 1), expected, X;
    test_block_fill(&B, 7);
    expected = test_block_copy(&B);
    X = test_block_copy(&B);
    solve_system(&reference, &B, &expected);
    B.block.place = X.block.place = SPTRSM_CUDA;
    solve_system(&solver, &B, &X);
    expect_alike(&X, &expected, s->name);
    cr_assert(test_block_intact(&X), "%s: wrote outside X", s->name);
    test_block_free(&X);
    test_block_free(&expected);
    test_block_free(&B);
  }
  close_system(&reference);
  close_system(&solver);
  test_system_free(&system);
  cr_assert_eq(emulated_gpu_strays, 0, "%s: %d calls while another device was the current one", s->name, emulated_gpu_strays);
  cr_assert_str_empty(method_order_breach, "out of order: %s", method_order_breach);
}

/* ---- right-hand sides with the bits of the sentinel ---- */

static void solve_on(sptrsm_place place, const scenario *c, const test_system *system, const test_block *B, test_block *X) {
  sptrsm_options options;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options_init(&options);
  options.method = place == SPTRSM_HOST ? "serial" : c->method;
  cr_assert_eq(sptrsm_context_create(&context, place, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &system->T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B->block, &X->block), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
  cr_assert_eq(sptrsm_context_sync(context), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* All bits of one element of B are ones, like the sentinel of kernels: X must have numbers in the same places as without a GPU. */
static void solve_with_marked(const scenario *c, int64_t nrhs) {
  test_system system = test_system_make(c->pattern, c->n, c->format, c->dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  test_block B = test_block_make(c->n, nrhs, c->dtype, SPTRSM_ROW_MAJOR, 1), X, expected;
  const size_t bytes = sptrsm_dtype_bytes(c->dtype);
  int found = 0;
  test_block_fill(&B, 5);
  memset((char *)B.block.data + (size_t)(10 * B.block.ld + nrhs - 1) * bytes, 0xff, bytes);
  X = test_block_copy(&B);
  expected = test_block_copy(&B);
  solve_on(SPTRSM_HOST, c, &system, &B, &expected);
  solve_on(SPTRSM_CUDA, c, &system, &B, &X);
  for (int32_t i = 0; i < c->n; i++)
    for (int64_t k = 0; k < nrhs; k++) {
      double re[2], im[2];
      test_block_get(&re[0], &im[0], &X, i, k);
      test_block_get(&re[1], &im[1], &expected, i, k);
      cr_assert_eq(isnan(re[0]) || isnan(im[0]), isnan(re[1]) || isnan(im[1]), "%s, type %d: X(%d,%lld) is %g", c->method, c->dtype, i,
                   (long long)k, re[0]);
      found += isnan(re[1]);
    }
  cr_assert(found > 1 && found < c->n, "%d numbers that are none", found);
  test_block_free(&expected);
  test_block_free(&X);
  test_block_free(&B);
  test_system_free(&system);
}

ParameterizedTestParameters(plan, marked_right_hand_sides) { return conformance_subjects(SPTRSM_CUDA, false); }

/* All types; one type for a variant. */
ParameterizedTest(subject *s, plan, marked_right_hand_sides) {
  scenario c = kinds[0];
  c.method = s->name;
  for (int type = 0; runs_here(s->name) && type < (is_form(s) ? 1 : 4); type++) {
    c.dtype = (sptrsm_dtype)((type + s->number) % 4);
    solve_with_marked(&c, 1);
    if (FORM_BLOCKS > 1) solve_with_marked(&c, 5);
  }
}

/* ---- blocks in host memory beside copies ---- */

/* Both blocks in host memory, or one of them, must give what blocks in device memory give: seven panels pass through three slots. */
static void solve_from_host(const scenario *c, sptrsm_layout layout, bool in_place) {
  enum { COLUMNS = 49 };
  parts p = {0};
  test_system system = test_system_make(c->pattern, c->n, c->format, c->dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  cr_assert_eq(open_plan(&p, c, &system), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
  test_block B = test_block_make(c->n, COLUMNS, c->dtype, layout, 3), expected;
  test_block_fill(&B, 11);
  expected = test_block_copy(&B);
  expected.block.place = SPTRSM_CUDA;
  cr_assert_eq(sptrsm_solve(p.plan, NULL, NULL, &expected.block, &expected.block), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int places = 1; places < 4; places++) {
    test_block given = test_block_copy(&B), X = in_place ? given : test_block_copy(&B);
    given.block.place = places & 1 ? SPTRSM_HOST : SPTRSM_CUDA;
    X.block.place = (in_place ? places & 1 : places & 2) ? SPTRSM_HOST : SPTRSM_CUDA;
    cr_assert_eq(sptrsm_solve(p.plan, NULL, NULL, &given.block, &X.block), SPTRSM_OK, "%s: %s", c->method, sptrsm_last_error());
    expect_alike(&X, &expected, c->method);
    cr_assert(test_block_intact(&X), "%s: wrote outside X", c->method);
    if (!in_place) test_block_free(&X);
    test_block_free(&given);
  }
  test_block_free(&expected);
  test_block_free(&B);
  close_all(&p);
  test_system_free(&system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%s: %d device blocks left over", c->method, emulated_gpu_blocks);
}

ParameterizedTestParameters(plan, several_panels_from_host_memory) { return plain_methods(); }

ParameterizedTest(subject *s, plan, several_panels_from_host_memory) {
  scenario c = {.method = s->name, .pattern = TEST_GRID, .n = 25, .dtype = SPTRSM_F64, .hint = 8};
  if (!runs_here(s->name)) return;
  for (int form = 0; form < 4; form++) solve_from_host(&c, (sptrsm_layout)(form & 1), form >> 1);
}

/* ---- failing allocations and memory limits ---- */

/* Every allocation of a run fails once. auto may take another method then. */
static void lack_memory(const char *method) {
  scenario c = kinds[0];
  c.method = method;
  c.n = 16;
  c.nrhs[0] = 3;
  c.nrhs[1] = c.nrhs[2] = c.nrhs[3] = -1;
  for (int k = 0;; k++) {
    emulated_gpu_fail_at = k;
    const sptrsm_status status = run(&c);
    const bool failed = emulated_gpu_fail_at < 0;
    emulated_gpu_fail_at = -1;
    cr_assert(status == SPTRSM_ERR_MEMORY || (status == SPTRSM_OK && (!failed || strcmp(method, "auto") == 0)), "%s, allocation %d: %s",
              method, k, sptrsm_last_error());
    if (!failed) break;
    cr_assert_lt(k, 1000);
  }
}

ParameterizedTestParameters(plan, failing_allocations) { return plain_methods(); }

ParameterizedTest(subject *s, plan, failing_allocations) {
  if (runs_here(s->name)) lack_memory(s->name);
}

Test(plan, auto_without_memory) { lack_memory("auto"); }

/* If gather finds no memory for its copy of the rows, the matrix is solved from its own storage. */
Test(plan, auto_without_memory_for_a_copy) {
  scenario c = {.method = "auto", .pattern = TEST_GRID, .n = 1024, .dtype = SPTRSM_F64}; /* auto takes gather */
  test_system system = test_system_make(c.pattern, c.n, c.format, c.dtype, SPTRSM_LOWER, TEST_NONUNIT, 3);
  int went_on = 0;
  for (int k = 0, failed = 1; failed; k++) {
    parts p = {0};
    sptrsm_info info = {.size = sizeof info};
    emulated_gpu_fail_at = k;
    const sptrsm_status status = open_plan(&p, &c, &system);
    failed = emulated_gpu_fail_at < 0;
    emulated_gpu_fail_at = -1;
    if (status == SPTRSM_OK) cr_assert_eq(sptrsm_plan_info(&info, p.plan), SPTRSM_OK);
    if (strncmp(info.reason, "gather found no memory; on a GPU: rows where they stand", 55) == 0) {
      cr_assert_str_eq(info.method, "syncfree-csr");
      if (went_on == 0) cr_assert_eq(solve_once(&p, &c, &system, 3, 2), SPTRSM_OK, "%s", sptrsm_last_error());
      went_on++;
    }
    close_all(&p);
  }
  cr_assert_gt(went_on, 0);
  test_system_free(&system);
}

/* levelset tells the rows of the narrowest level, of an average one and of the widest. */
Test(plan, levelset_tells_its_levels) {
  static const int64_t ptr[] = {0, 1, 2, 3, 5, 7, 9};
  static const int32_t idx[] = {0, 1, 2, 0, 3, 3, 4, 3, 5};
  static const double val[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  const test_system system = {.T = {.n = 6, .dtype = SPTRSM_F64, .ptr = ptr, .idx = idx, .val = val}};
  const scenario c = {.method = "levelset"};
  sptrsm_info info = {.size = sizeof info};
  parts p = {0};
  cr_assert_eq(open_plan(&p, &c, &system), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_info(&info, p.plan), SPTRSM_OK);
  cr_assert_eq(strncmp(info.parameters, "levels=3 rows=1/2.0/3 ", 22), 0, "%s", info.parameters);
  close_all(&p);
}

/* Panels are halved until a workspace keeps within the limit; a solve of more right-hand sides then takes several panels. */
ParameterizedTestParameters(plan, memory_limits) { return plain_methods(); }

ParameterizedTest(subject *s, plan, memory_limits) {
  scenario c = kinds[0];
  c.method = s->name;
  if (!runs_here(s->name)) return;
  for (size_t limit = 1 << 8; limit <= 1 << 20; limit *= 64) {
    c.memory_limit = limit;
    const sptrsm_status status = run(&c);
    cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "%s within %zu bytes: %s", s->name, limit, sptrsm_last_error());
    if (limit == 1 << 20) cr_assert_eq(status, SPTRSM_OK, "%s: %s", s->name, sptrsm_last_error());
  }
}
