/* parts.c -- levelset on the host, beyond the conformance test: its schedule, teams of every size, the kernels of each instruction set,
 * and its parameters. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "core/plan/method.h"
#include "support/oracle.h"
#include "support/solver.h"
#include "trsv/levelset/host/schedule.h"

typedef struct {
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
} opened;

static opened open_system(test_pattern pattern, int32_t n, sptrsm_dtype dtype, sptrsm_uplo uplo) {
  opened o = {.system = test_system_make(pattern, n, SPTRSM_CSR, dtype, uplo, TEST_NONUNIT, 11)};
  cr_assert_eq(sptrsm_context_create(&o.context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_matrix_create(&o.matrix, o.context, &o.system.T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
  return o;
}

static void close_system(opened *o) {
  sptrsm_matrix_destroy(o->matrix);
  sptrsm_context_destroy(o->context);
  test_system_free(&o->system);
}

/* ---- the schedule ---- */

static void check_order(const spti_schedule *s, const spti_view *v) {
  int32_t *step_of = malloc((size_t)v->n * sizeof *step_of), *place_of = malloc((size_t)v->n * sizeof *place_of);
  cr_assert(step_of && place_of);
  memset(place_of, -1, (size_t)v->n * sizeof *place_of);
  cr_assert_eq(s->ptr[0], 0);
  cr_assert_eq(s->ptr[s->steps], v->n);
  for (int32_t t = 0; t < s->steps; t++)
    for (int32_t r = s->ptr[t]; r < s->ptr[t + 1]; r++) {
      cr_assert_eq(place_of[s->order[r]], -1, "row %d comes twice", s->order[r]);
      place_of[s->order[r]] = r;
      step_of[s->order[r]] = t;
    }
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) {
      int32_t j = v->idx[p];
      bool earlier_step = step_of[j] < step_of[i];
      bool same_run = step_of[j] == step_of[i] && !s->split[step_of[i]] && place_of[j] < place_of[i];
      cr_assert(earlier_step || same_run, "row %d (step %d) needs row %d (step %d)", i, step_of[i], j, step_of[j]);
    }
  free(step_of);
  free(place_of);
}

/* The threads' shares of a step cover it without gap or overlap, and no thread has much more work than another. */
static void check_shares(const spti_schedule *s, int threads) {
  for (int32_t t = 0; t < s->steps; t++) {
    int32_t next = s->ptr[t];
    int64_t all = s->cost[s->ptr[t + 1]] - s->cost[s->ptr[t]], heaviest = 0;
    for (int32_t r = s->ptr[t]; r < s->ptr[t + 1]; r++)
      if (s->cost[r + 1] - s->cost[r] > heaviest) heaviest = s->cost[r + 1] - s->cost[r];
    for (int thread = 0; thread < threads; thread++) {
      int32_t begin, end;
      spti_schedule_share(&begin, &end, s, t, thread, threads);
      cr_assert_leq(begin, end);
      if (begin == end) continue;
      cr_assert_eq(begin, next, "step %d: thread %d of %d begins at %d, not %d", t, thread, threads, begin, next);
      if (s->split[t]) cr_assert_leq(s->cost[end] - s->cost[begin], all / threads + heaviest + 1);
      else cr_assert_eq(thread, 0);
      next = end;
    }
    cr_assert_eq(next, s->ptr[t + 1], "step %d: %d threads leave rows from %d on", t, threads, next);
  }
}

static void check_schedule(test_pattern pattern, int32_t n, sptrsm_op op, int *split_steps, int *runs) {
  opened o = open_system(pattern, n, SPTRSM_F64, op == SPTRSM_N ? SPTRSM_LOWER : SPTRSM_UPPER);
  spti_view v;
  spti_levels levels;
  spti_schedule s;
  cr_assert_eq(spti_matrix_view(&v, o.matrix, spti_op_from(op), SPTI_PULL, SPTRSM_HOST), SPTRSM_OK);
  cr_assert_eq(spti_levels_build(&levels, &v), SPTRSM_OK);
  cr_assert_eq(spti_schedule_build(&s, &v, &levels), SPTRSM_OK);
  check_order(&s, &v);
  for (int threads = 1; threads <= 5; threads++) check_shares(&s, threads);
  *split_steps += s.wide;
  *runs += s.steps - s.wide;
  spti_schedule_free(&s);
  spti_levels_free(&levels);
  close_system(&o);
}

Test(levelset_parts, schedules_are_valid) {
  static const int32_t orders[] = {0, 1, 33, 4000, 30000};
  int split_steps = 0, runs = 0;
  for (int pattern = 0; pattern < TEST_FULL; pattern++)
    for (size_t c = 0; c < sizeof orders / sizeof orders[0]; c++) {
      if (pattern == TEST_RANDOM && orders[c] > 4000) continue; /* takes quadratic time to generate */
      check_schedule((test_pattern)pattern, orders[c], SPTRSM_N, &split_steps, &runs);
      check_schedule((test_pattern)pattern, orders[c], SPTRSM_T, &split_steps, &runs);
    }
  cr_assert_gt(split_steps, 10, "nothing was split, so nothing was tested");
  cr_assert_gt(runs, 10, "no run of narrow levels was tested");
}

/* A panel solved by one thread has the same bits as one solved by a team of up to 8 threads. */
static void check_teams(test_pattern pattern, sptrsm_dtype dtype, sptrsm_uplo uplo) {
  const int32_t n = 60000, width = 8;
  opened o = open_system(pattern, n, dtype, uplo);
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "levelset";
  cr_assert_eq(sptrsm_plan_create(&plan, o.matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(plan->team >= 3, "%s: a team of %d is no test", test_pattern_names[pattern], plan->team);
  test_block alone = test_block_make(n, width, dtype, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&alone, 2);
  test_block start = test_block_copy(&alone);
  spti_panel W = {.data = alone.block.data, .ld = width, .width = width, .padded = width};
  cr_assert_eq(plan->method->solve(plan, NULL, &W), SPTRSM_OK);
  for (int run = 0; run < 48; run++) {
    test_block X = test_block_copy(&start);
    const int threads = 2 + run % 7;
    spti_team_set_threads(plan->context->team, threads);
    W.data = X.block.data;
    W.team = plan->context->team;
    cr_assert_eq(plan->method->solve(plan, NULL, &W), SPTRSM_OK);
    cr_assert(test_block_same_bits(&X, &alone), "%s: %d threads give other bits than one", test_pattern_names[pattern], threads);
    test_block_free(&X);
  }
  test_block_free(&start);
  test_block_free(&alone);
  sptrsm_plan_destroy(plan);
  close_system(&o);
}

Test(levelset_parts, teams_give_the_bits_of_one_thread) {
  check_teams(TEST_LAYERED, SPTRSM_F64, SPTRSM_LOWER);
  check_teams(TEST_LAYERED, SPTRSM_C64, SPTRSM_UPPER);
  check_teams(TEST_ARROW, SPTRSM_F32, SPTRSM_LOWER);
}

/* Wide levels with a hub between them: a row that needs every fifth row of the level before it and that all rows after it need. Steps then
 * alternate between parts for all threads and a part for one, and a thread that goes ahead too early reads rows that are not solved. */
enum { HUB_LEVELS = 10, HUB_ROWS = 20000, HUB_STRIDE = 5, HUB_ORDER = HUB_LEVELS * (HUB_ROWS + 1) };

static void fill_hubs(int64_t *ptr, int32_t *idx, double *val) {
  int64_t e = 0;
  int32_t i = 0;
  for (int level = 0; level < HUB_LEVELS; level++) {
    const int32_t first = i;
    for (; i < first + HUB_ROWS; i++) {
      ptr[i] = e;
      if (first > 0) idx[e] = first - 1, val[e++] = 0.5;
      idx[e] = i, val[e++] = 2;
    }
    ptr[i] = e;
    for (int32_t j = first + HUB_STRIDE - 1; j < i; j += HUB_STRIDE) idx[e] = j, val[e++] = 1.0 / HUB_ROWS;
    idx[e] = i, val[e++] = 2;
    i++;
  }
  ptr[i] = e;
}

static void solve_hubs(double *x, const sptrsm_sparse *T, int threads) {
  for (int32_t k = 0; k < HUB_ORDER; k++) x[k] = 1 + k % 7;
  sptrsm_block block = {.data = x, .ld = HUB_ORDER, .n = HUB_ORDER, .nrhs = 1, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR};
  test_solve(T, &(test_choice){.method = "levelset", .threads = threads}, &block, &block);
}

Test(levelset_parts, no_thread_goes_ahead_of_a_step) {
  int64_t *ptr = malloc((HUB_ORDER + 1) * sizeof *ptr);
  int32_t *idx = malloc(3 * (size_t)HUB_ORDER * sizeof *idx);
  double *val = malloc(3 * (size_t)HUB_ORDER * sizeof *val), *x = malloc(HUB_ORDER * sizeof *x), *alone = malloc(HUB_ORDER * sizeof *x);
  cr_assert(ptr && idx && val && x && alone);
  fill_hubs(ptr, idx, val);
  const sptrsm_sparse T = {
      .format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = HUB_ORDER, .ptr = ptr, .idx = idx, .val = val};
  solve_hubs(alone, &T, 1);
  for (int round = 0; round < 8; round++) {
    solve_hubs(x, &T, 8);
    cr_assert(memcmp(x, alone, HUB_ORDER * sizeof *x) == 0, "round %d: other bits with 8 threads than with one", round);
  }
  free(ptr);
  free(idx);
  free(val);
  free(x);
  free(alone);
}

/* ---- instruction sets ---- */

/* False where the CPU lacks the variant's instructions. */
static bool solve_with(test_block *X, const test_system *system, const char *method, const test_block *B) {
  test_solver s;
  if (!test_solver_try(&s, &system->T, &(test_choice){.method = method})) return false;
  test_solver_solve(&s, &B->block, &X->block);
  test_solver_close(&s);
  return true;
}

Test(levelset_parts, instruction_sets_give_the_same_bits) {
  for (int dtype = 0; dtype < 4; dtype++) {
    test_system system =
        test_system_make(TEST_RANDOM, 300, SPTRSM_CSR, (sptrsm_dtype)dtype, dtype % 2 ? SPTRSM_LOWER : SPTRSM_UPPER, TEST_NONUNIT, 11);
    test_block B = test_block_make(300, 63, (sptrsm_dtype)dtype, SPTRSM_ROW_MAJOR, 0);
    test_block expected = test_block_copy(&B), X = test_block_copy(&B);
    test_block_fill(&B, 1);
    cr_assert(solve_with(&expected, &system, "levelset:isa=baseline", &B));
#ifdef __x86_64__
    static const char *const variants[] = {"levelset:isa=avx2", "levelset:isa=avx512"};
    for (int v = 0; v < 2; v++)
      if (solve_with(&X, &system, variants[v], &B))
        cr_assert(test_block_same_bits(&X, &expected), "%s: other bits for %s", variants[v], test_dtype_names[dtype]);
#endif
    cr_assert(solve_with(&X, &system, "levelset", &B));
    cr_assert(test_block_same_bits(&X, &expected));
    test_block_free(&X);
    test_block_free(&expected);
    test_block_free(&B);
    test_system_free(&system);
  }
}

Test(levelset_parts, parameters_that_are_refused) {
  static const struct {
    const char *method, *message;
  } cases[] = {{"levelset:isa=mmx", "levelset: isa=mmx; known are avx512, avx2, baseline"},
               {"levelset:avx2", "levelset: \"avx2\" has no key; write levelset:isa=avx2"},
               {"levelset:mmx", "levelset: expected key=value[,key=value...], not \"mmx\"; known are isa"}};
  opened o = open_system(TEST_CHAIN, 3, SPTRSM_F64, SPTRSM_LOWER);
  sptrsm_options options;
  sptrsm_options_init(&options);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    sptrsm_plan *plan = NULL;
    options.method = cases[c].method;
    cr_assert_eq(sptrsm_plan_create(&plan, o.matrix, &options), SPTRSM_ERR_ARGUMENT, "%s", cases[c].method);
    cr_assert_str_eq(sptrsm_last_error(), cases[c].message);
    cr_assert_null(plan);
  }
  close_system(&o);
}
