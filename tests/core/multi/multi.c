/* multi.c -- one solve on several contexts: the bits of one context, every column once, errors of any one, threads that can't be had. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sptrsm_multi.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "support/factor_set.h"
#include "support/oracle.h"

/* The places of the contexts, by turns, beginning with that of the solver. */
static const sptrsm_place places[] = {
#if defined MULTI_mixed
    SPTRSM_CUDA, SPTRSM_HOST
#elif defined MULTI_gpu
    SPTRSM_CUDA
#else
    SPTRSM_HOST
#endif
};
#if defined MULTI_EMULATED
enum { MEMBERS = 2, MANY = 100 }; /* the emulator has one thread, and is slow */
#else
enum { MEMBERS = 4, MANY = 400 };
#endif
enum { KINDS = sizeof places / sizeof *places, ORDER = 300 };

#define ok(call) cr_assert_eq((call), SPTRSM_OK, "%s: %s", #call, sptrsm_last_error())

/* ---- threads that can't be had: the linker replaces pthread_create (--wrap) ---- */

static atomic_bool threads_fail;

typedef void *thread_function(void *);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, thread_function *, void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, thread_function *, void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, thread_function *function, void *argument) {
  return threads_fail ? EAGAIN : __real_pthread_create(thread, attributes, function, argument);
}

/* ---- contexts ---- */

typedef struct {
  sptrsm_context *all[MEMBERS];
} contexts;

static contexts open_contexts(void) {
  contexts c;
  for (int k = 0; k < MEMBERS; k++) {
    ok(sptrsm_context_create(&c.all[k], places[k % KINDS], 0, NULL));
    ok(sptrsm_context_set_threads(c.all[k], 1 + k % 2));
  }
  return c;
}

static void close_contexts(contexts *c) {
  for (int k = 0; k < MEMBERS; k++) sptrsm_context_destroy(c->all[k]);
}

static int64_t columns_solved(const sptrsm_multi *m) {
  int64_t sum = 0;
  for (int k = 0; k < sptrsm_multi_count(m); k++) {
    sptrsm_multi_member member = {.size = sizeof member};
    ok(sptrsm_multi_member_at(&member, m, k));
    cr_assert(member.context && (member.plan || member.direct));
    sum += member.columns;
  }
  return sum;
}

/* ---- plans ---- */

static sptrsm_plan *make_plan(sptrsm_context *context, const sptrsm_sparse *T, const char *method, size_t memory_limit) {
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.panel = 8;
  options.memory_limit = memory_limit;
  ok(sptrsm_matrix_create(&matrix, context, T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&plan, matrix, &options));
  sptrsm_matrix_destroy(matrix);
  return plan;
}

static void expect_solution(const test_system *system, const test_block *B, const test_block *X, const test_block *alone,
                            const char *what) {
  const double half[2] = {0.5, 0};
  const double residual = test_residual(system, SPTRSM_N, half, B, X, -1);
  cr_assert(residual <= 100, "%s: residual %g", what, residual);
  cr_assert(test_block_intact(X), "%s", what);
  if (KINDS == 1 && places[0] == SPTRSM_HOST) cr_assert(test_block_same_bits(X, alone), "%s: bits differ from those of one context", what);
}

static void try_plans(const test_system *system, sptrsm_multi *m, const sptrsm_plan *plan, int64_t nrhs, sptrsm_layout layout) {
  const double half = 0.5;
  char what[80];
  snprintf(what, sizeof what, "%d contexts, %d columns, layout %d", sptrsm_multi_count(m), (int)nrhs, (int)layout);
  test_block B = test_block_make(system->T.n, nrhs, SPTRSM_F64, layout, 3);
  test_block_fill(&B, 5);
  test_block X = test_block_copy(&B), alone = test_block_copy(&B), in_place = test_block_copy(&B);
  ok(sptrsm_solve(plan, NULL, &half, &B.block, &alone.block));
  ok(sptrsm_multi_solve(m, &half, &B.block, &X.block));
  cr_assert_eq(columns_solved(m), nrhs, "%s", what);
  expect_solution(system, &B, &X, &alone, what);
  ok(sptrsm_multi_solve(m, &half, &in_place.block, &in_place.block));
  expect_solution(system, &B, &in_place, &alone, what);
  test_block *all[] = {&B, &X, &alone, &in_place};
  for (int k = 0; k < 4; k++) test_block_free(all[k]);
}

Test(multi, plans_of_one_to_four_contexts) {
  const int64_t numbers[] = {0, 1, 2, 8, 9, 67, MANY};
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  contexts c = open_contexts();
  sptrsm_plan *plan = make_plan(c.all[0], &system.T, "levelset", 0);
  for (int count = KINDS - 1; count < MEMBERS; count++) {
    sptrsm_multi *m;
    ok(sptrsm_multi_create_plans(&m, plan, c.all + 1, count));
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
      try_plans(&system, m, plan, numbers[k], k % 2 ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
    for (int again = 0; again < 3; again++) try_plans(&system, m, plan, MANY, SPTRSM_ROW_MAJOR); /* now speeds are known */
    sptrsm_multi_destroy(m);
  }
  sptrsm_plan_destroy(plan);
  close_contexts(&c);
  test_system_free(&system);
}

/* A plan in every context. */
typedef struct {
  test_system system;
  contexts c;
  sptrsm_plan *plan;
  sptrsm_multi *m;
} together;

static together open_together(const char *method) {
  together t = {.system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9), .c = open_contexts()};
  t.plan = make_plan(t.c.all[0], &t.system.T, method, 0);
  ok(sptrsm_multi_create_plans(&t.m, t.plan, t.c.all + 1, MEMBERS - 1));
  return t;
}

static void close_together(together *t) {
  sptrsm_multi_destroy(t->m);
  sptrsm_plan_destroy(t->plan);
  close_contexts(&t->c);
  test_system_free(&t->system);
}

Test(multi, without_threads_one_context_solves_all) {
  together all = open_together("levelset");
  sptrsm_multi_member first = {.size = sizeof first};
  try_plans(&all.system, all.m, all.plan, 200, SPTRSM_ROW_MAJOR);
  threads_fail = true;
  try_plans(&all.system, all.m, all.plan, 200, SPTRSM_ROW_MAJOR);
  threads_fail = false;
  ok(sptrsm_multi_member_at(&first, all.m, 0));
  cr_assert_eq(first.columns, 200);
  close_together(&all);
}

/* The device takes all columns before it is measured, so the host waits until none is left. */
Test(multi, a_host_that_is_not_measured_leaves_few_columns_to_a_device) {
  if (KINDS == 1) cr_skip_test("no device");
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  contexts c = open_contexts();
  sptrsm_plan *plan = make_plan(c.all[0], &system.T, "levelset", 0);
  sptrsm_multi *m;
  sptrsm_multi_member device = {.size = sizeof device};
  test_block B = test_block_make(ORDER, 64, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 1);
  ok(sptrsm_multi_create_plans(&m, plan, c.all + 1, 1));
  ok(sptrsm_multi_solve(m, NULL, &B.block, &B.block));
  ok(sptrsm_multi_member_at(&device, m, 0));
  cr_assert_eq(device.columns, 64);
  sptrsm_multi_destroy(m);
  sptrsm_plan_destroy(plan);
  test_block_free(&B);
  close_contexts(&c);
  test_system_free(&system);
}

Test(multi, new_values_reach_all_contexts) {
  together all = open_together("block");
  test_system_new_values(&all.system, 3);
  ok(sptrsm_multi_set_values(all.m, all.system.T.val, NULL, NULL, NULL));
  for (int again = 0; again < 5; again++) try_plans(&all.system, all.m, all.plan, MANY / 2, SPTRSM_ROW_MAJOR);
  cr_assert_eq(sptrsm_multi_set_values(all.m, all.system.T.val, all.system.T.val, NULL, NULL), SPTRSM_ERR_ARGUMENT);
  close_together(&all);
}

/* ---- blocks that are shared out ---- */

/* X[k] in the memory of member k's device: there and back. */
static void move_block(sptrsm_block *to, const sptrsm_block *from, sptrsm_context *context, spti_direction direction) {
  const size_t bytes = (size_t)from->ld * (size_t)from->nrhs * sizeof(double);
  if (bytes > 0) ok(spti_gpu_copy(context, to->data, bytes, from->data, bytes, bytes, 1, direction));
}

static void try_shares(const contexts *c, sptrsm_multi *m, const sptrsm_plan *plan, const test_system *system) {
  const int64_t numbers[] = {9, 0, 67, 1};
  test_block B[MEMBERS], X[MEMBERS];
  sptrsm_block given[MEMBERS];
  int64_t sum = 0;
  for (int k = 0; k < MEMBERS; k++) {
    B[k] = test_block_make(ORDER, numbers[(k + 2) % 4], SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
    test_block_fill(&B[k], (uint64_t)k);
    X[k] = test_block_copy(&B[k]);
    given[k] = X[k].block;
    sum += given[k].nrhs;
    if (places[k % KINDS] == SPTRSM_HOST) continue;
    given[k].place = SPTRSM_CUDA;
    ok(spti_alloc(c->all[k], &given[k].data, ORDER * given[k].nrhs + 1, sizeof(double), "test block"));
    move_block(&given[k], &B[k].block, c->all[k], SPTI_TO_DEVICE);
  }
  const double half = 0.5;
  ok(sptrsm_multi_solve_each(m, &half, given, given));
  cr_assert_eq(columns_solved(m), sum);
  for (int k = 0; k < MEMBERS; k++) {
    test_block alone = test_block_copy(&B[k]);
    if (given[k].place == SPTRSM_CUDA) move_block(&X[k].block, &given[k], c->all[k], SPTI_TO_HOST);
    if (given[k].place == SPTRSM_CUDA) spti_free(c->all[k], given[k].data);
    ok(sptrsm_solve(plan, NULL, &half, &B[k].block, &alone.block));
    expect_solution(system, &B[k], &X[k], &alone, "a block for each context");
    test_block *all[] = {&B[k], &X[k], &alone};
    for (int i = 0; i < 3; i++) test_block_free(all[i]);
  }
}

Test(multi, blocks_that_are_shared_out) {
  together all = open_together("levelset");
  try_shares(&all.c, all.m, all.plan, &all.system);
  threads_fail = true; /* the calling thread solves one after another */
  try_shares(&all.c, all.m, all.plan, &all.system);
  threads_fail = false;
  close_together(&all);
}

/* ---- refusals and errors ---- */

static void expect(sptrsm_status status, sptrsm_status wanted, const char *text) {
  cr_assert_eq(status, wanted, "%s: %s, %s", text, sptrsm_status_name(status), sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
}

Test(multi, refusals) {
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  contexts c = open_contexts();
  sptrsm_plan *plan = make_plan(c.all[0], &system.T, "levelset", 0);
  sptrsm_multi *m = NULL;
  sptrsm_context *twice[] = {c.all[1], c.all[1]}, *none[] = {NULL};
  test_block B = test_block_make(ORDER, 32, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 1);
  expect(sptrsm_multi_create_plans(&m, plan, twice, 2), SPTRSM_ERR_ARGUMENT, "context 1 is an earlier one, too");
  expect(sptrsm_multi_create_plans(&m, plan, c.all, 1), SPTRSM_ERR_ARGUMENT, "context 0 is that of the solver, too");
  expect(sptrsm_multi_create_plans(&m, plan, none, 1), SPTRSM_ERR_ARGUMENT, "context 0 is NULL");
  expect(sptrsm_multi_create_plans(&m, plan, NULL, -1), SPTRSM_ERR_ARGUMENT, "-1 more contexts, 0 to 1023 are possible");
  expect(sptrsm_multi_create_plans(&m, NULL, NULL, 0), SPTRSM_ERR_ARGUMENT, "is NULL");
  expect(sptrsm_multi_create(&m, NULL, NULL, 0), SPTRSM_ERR_ARGUMENT, "is NULL");
  cr_assert_null(m);
  ok(sptrsm_multi_create_plans(&m, plan, c.all + 1, 1));
  sptrsm_block X = B.block, shifted = B.block, device = B.block, fewer = B.block;
  shifted.data = (double *)B.block.data + 8 * ORDER, shifted.nrhs = X.nrhs = 16;
  device.place = SPTRSM_CUDA;
  fewer.nrhs = 8;
  expect(sptrsm_multi_solve(m, NULL, &X, &shifted), SPTRSM_ERR_ARGUMENT, "X overlaps B");
  expect(sptrsm_multi_solve(m, NULL, &device, &device), SPTRSM_ERR_ARGUMENT, "in host memory");
  expect(sptrsm_multi_solve(m, NULL, &B.block, &fewer), SPTRSM_ERR_ARGUMENT, "32 right-hand sides, X has 8");
  expect(sptrsm_multi_solve(m, NULL, NULL, &X), SPTRSM_ERR_ARGUMENT, "is NULL");
  expect(sptrsm_multi_direct_solve(m, SPTRSM_SYS_A, SPTRSM_N, NULL, &X, &X), SPTRSM_ERR_ARGUMENT, "call sptrsm_multi_solve");
  expect(sptrsm_multi_direct_solve_each(m, SPTRSM_SYS_A, SPTRSM_N, NULL, &X, &X), SPTRSM_ERR_ARGUMENT, "this is one of plans");
  expect(sptrsm_multi_set_original(m, NULL), SPTRSM_ERR_ARGUMENT, "plans have no refinement");
  sptrsm_block each[2] = {X, X}, others[2] = {X, X};
  others[1].nrhs = 7;
  expect(sptrsm_multi_solve_each(m, NULL, each, others), SPTRSM_ERR_ARGUMENT, "B has 16 right-hand sides, X has 7");
  cr_assert(strncmp(sptrsm_last_error(), "context 1 (", 11) == 0, "%s", sptrsm_last_error());
  others[1] = X, others[1].data = (double *)X.data + ORDER;
  expect(sptrsm_multi_solve_each(m, NULL, each, others), SPTRSM_ERR_ARGUMENT, "X overlaps B");
  others[1] = each[1] = device;
  if (c.all[1] && places[1 % KINDS] == SPTRSM_HOST)
    expect(sptrsm_multi_solve_each(m, NULL, each, others), SPTRSM_ERR_ARGUMENT, "B is in device memory, the context works on the host");
  each[1] = others[1] = X, each[1].n = others[1].n = ORDER - 1;
  expect(sptrsm_multi_solve_each(m, NULL, each, others), SPTRSM_ERR_ARGUMENT, "context 1 (");
  expect(sptrsm_multi_solve_each(m, NULL, each, NULL), SPTRSM_ERR_ARGUMENT, "is NULL");
  sptrsm_multi_member member = {.size = sizeof member};
  expect(sptrsm_multi_member_at(&member, m, 2), SPTRSM_ERR_ARGUMENT, "index 2 is not in 0..1");
  cr_assert_eq(sptrsm_multi_count(NULL), 0);
  sptrsm_multi_destroy(m);
  sptrsm_multi_destroy(NULL);
  sptrsm_plan_destroy(plan);
  test_block_free(&B);
  close_contexts(&c);
  test_system_free(&system);
}

/* The second context gets more threads than its memory limit has panels for. */
Test(multi, the_error_of_one_context_ends_the_call_with_its_name) {
  if (places[0] != SPTRSM_HOST || KINDS > 1) return;
  test_system system = test_system_make(TEST_TREE, ORDER, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  contexts c = open_contexts();
  sptrsm_plan *plan = make_plan(c.all[0], &system.T, "levelset", (size_t)ORDER * 8 * sizeof(double) * 2);
  sptrsm_multi *m;
  test_block B = test_block_make(ORDER, 4000, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 1);
  ok(sptrsm_multi_create_plans(&m, plan, c.all + 1, MEMBERS - 1));
  ok(sptrsm_context_set_threads(c.all[2], 7));
  int failures = 0;
  for (int again = 0; again < 20; again++) { /* the others may be done before it begins */
    const sptrsm_status status = sptrsm_multi_solve(m, NULL, &B.block, &B.block);
    if (status == SPTRSM_OK) continue;
    expect(status, SPTRSM_ERR_MEMORY, "context 2 (host, 7 threads): a workspace for 8 right-hand sides takes");
    failures++;
  }
  cr_assert_gt(failures, 0);
  ok(sptrsm_context_set_threads(c.all[2], 1));
  ok(sptrsm_multi_solve(m, NULL, &B.block, &B.block));
  sptrsm_multi_destroy(m);
  sptrsm_plan_destroy(plan);
  test_block_free(&B);
  close_contexts(&c);
  test_system_free(&system);
}

/* ---- factor sets ---- */

enum { NRHS = 150 };

static void expect_close(const double *x, const double *y, sptrsm_dtype t, const char *name) {
  const double most = KINDS == 1 ? 0 : is_single(t) ? 1e-3 : 1e-9;
  for (int i = 0; i < N * NRHS; i++) {
    const double error = cabs(get(x, i, t) - get(y, i, t));
    cr_assert(error <= most * (1 + cabs(get(x, i, t))), "%s, type %d: element %d differs by %g", name, (int)t, i, error);
  }
}

static void try_set(const recipe *r, sptrsm_dtype t) {
  static factor_set s;
  static double b[2 * N * NRHS], x[2 * N * NRHS], y[2 * N * NRHS];
  contexts c = open_contexts();
  sptrsm_direct *d;
  sptrsm_multi *m;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "levelset";
  options.panel = 8;
  build_factor_set(&s, r, t);
  ok(sptrsm_direct_create(&d, c.all[0], &s.f, &options));
  ok(sptrsm_multi_create(&m, d, c.all + 1, MEMBERS - 1));
  for (int i = 0; i < N * NRHS; i++) put(b, i, t, CMPLX(1 + i % 7, is_complex(t) ? i % 5 : 0));
  sptrsm_block B = {.data = b, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = t}, X = B, Y = B;
  X.data = x, Y.data = y;
  ok(sptrsm_direct_solve(d, SPTRSM_SYS_Aat, SPTRSM_C, NULL, &B, &X));
  sptrsm_direct_destroy(d); /* the multi keeps it */
  ok(sptrsm_multi_direct_solve(m, SPTRSM_SYS_Aat, SPTRSM_C, NULL, &B, &Y));
  cr_assert_eq(columns_solved(m), NRHS);
  expect_close(x, y, t, r->name);
  sptrsm_block each_B[MEMBERS], each_Y[MEMBERS]; /* the second member has no columns */
  for (int k = 0, first = 0; k < MEMBERS; k++) {
    const int64_t at = first * (int64_t)sptrsm_dtype_bytes(t);
    each_B[k] = B, each_Y[k] = Y;
    each_B[k].data = (char *)b + at, each_Y[k].data = (char *)y + at;
    each_B[k].nrhs = each_Y[k].nrhs = k == 1 ? 0 : k == (MEMBERS == 2 ? 0 : MEMBERS - 1) ? NRHS - first : 7 + k;
    first += (int)each_B[k].nrhs;
  }
  memset(y, 0, sizeof y);
  ok(sptrsm_multi_direct_solve_each(m, SPTRSM_SYS_Aat, SPTRSM_C, NULL, each_B, each_Y));
  cr_assert_eq(columns_solved(m), NRHS);
  expect_close(x, y, t, r->name);
  expect(sptrsm_multi_direct_solve(m, (sptrsm_system)99, SPTRSM_N, NULL, &B, &Y), SPTRSM_ERR_ARGUMENT, "unknown system");
  expect(sptrsm_multi_solve(m, NULL, &B, &Y), SPTRSM_ERR_ARGUMENT, "call sptrsm_multi_direct_solve");
  sptrsm_multi_destroy(m);
  close_contexts(&c);
}

Test(multi, factor_sets) {
  for (int r = 0; r < RECIPES; r++)
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++)
      if (recipes[r].has_U) try_set(&recipes[r], (sptrsm_dtype)type);
}
