/* schedule.c -- several threads that share a panel: schedules of levels and of trees, and the methods that use them. */
#include <criterion/criterion.h>

#include <stdatomic.h>
#include <stdlib.h>
#include <dirent.h>
#include <string.h>

#include "core/levels/schedule.h"
#include "core/plan/method.h"
#include "support/oracle.h"
#include "support/solver.h"

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

/* Every row comes once, after all rows that it depends on: in an earlier step, or before it in its own unit. */
static void check_order(const spti_schedule *s, const spti_view *v) {
  int32_t *step_of = malloc((size_t)v->n * sizeof *step_of), *unit_of = malloc((size_t)v->n * sizeof *unit_of);
  int32_t *place_of = malloc((size_t)v->n * sizeof *place_of);
  cr_assert(step_of && unit_of && place_of);
  memset(place_of, -1, (size_t)v->n * sizeof *place_of);
  cr_assert_eq(s->ptr[0], 0);
  cr_assert_eq(s->unit[0], 0);
  cr_assert_eq(s->unit[s->ptr[s->steps]], v->n);
  for (int32_t t = 0; t < s->steps; t++)
    for (int32_t u = s->ptr[t]; u < s->ptr[t + 1]; u++)
      for (int32_t r = s->unit[u]; r < s->unit[u + 1]; r++) {
        cr_assert_eq(place_of[s->order[r]], -1, "row %d comes twice", s->order[r]);
        place_of[s->order[r]] = r;
        step_of[s->order[r]] = t;
        unit_of[s->order[r]] = u;
      }
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) {
      int32_t j = v->idx[p];
      bool earlier_step = step_of[j] < step_of[i], same_unit = unit_of[j] == unit_of[i] && place_of[j] < place_of[i];
      cr_assert(earlier_step || same_unit, "row %d (step %d) needs row %d (step %d)", i, step_of[i], j, step_of[j]);
    }
  free(step_of);
  free(unit_of);
  free(place_of);
}

/* The parts of a step cover it without gap or overlap, and none has much more work than another. */
static void check_shares(const spti_schedule *s, int parts) {
  for (int32_t t = 0; t < s->steps; t++) {
    int32_t next = s->ptr[t];
    int64_t all = s->cost[s->ptr[t + 1]] - s->cost[s->ptr[t]], heaviest = 0;
    for (int32_t u = s->ptr[t]; u < s->ptr[t + 1]; u++)
      if (s->cost[u + 1] - s->cost[u] > heaviest) heaviest = s->cost[u + 1] - s->cost[u];
    for (int part = 0; part < parts; part++) {
      int32_t begin, end;
      spti_schedule_share(&begin, &end, s, t, part, parts);
      cr_assert_leq(begin, end);
      if (begin == end) continue;
      cr_assert_eq(begin, next, "step %d: part %d of %d begins at %d, not %d", t, part, parts, begin, next);
      cr_assert_leq(s->cost[end] - s->cost[begin], all / parts + heaviest + 1);
      next = end;
    }
    cr_assert_eq(next, s->ptr[t + 1], "step %d: %d parts leave units from %d on", t, parts, next);
  }
}

static void check_schedule(test_pattern pattern, int32_t n, sptrsm_uplo uplo, sptrsm_op op, int *by_levels, int *by_trees) {
  opened o = open_system(pattern, n, SPTRSM_F64, uplo);
  spti_view v;
  spti_levels levels;
  spti_schedule s;
  cr_assert_eq(spti_matrix_view(&v, o.matrix, spti_op_from(op), SPTI_PULL, SPTRSM_HOST), SPTRSM_OK);
  cr_assert_eq(spti_levels_build(&levels, &v), SPTRSM_OK);
  cr_assert_eq(spti_schedule_build(&s, &v, &levels), SPTRSM_OK);
  if (s.team > 1) {
    cr_assert(s.least >= 2 && s.least <= s.team && s.split > 0);
    check_order(&s, &v);
    for (int parts = 1; parts <= 5; parts++) check_shares(&s, parts);
    *(s.trees ? by_trees : by_levels) += 1;
  } else {
    cr_assert(s.least == 1 && s.order == NULL && s.bytes == 0);
  }
  spti_schedule_free(&s);
  spti_levels_free(&levels);
  close_system(&o);
}

Test(schedule, schedules_are_valid) {
  static const int32_t orders[] = {0, 1, 33, 4000, 60000};
  int by_levels = 0, by_trees = 0;
  for (int pattern = 0; pattern < TEST_FULL; pattern++)
    for (size_t c = 0; c < sizeof orders / sizeof orders[0]; c++)
      for (int k = 0; k < 4; k++) {
        if (pattern == TEST_RANDOM && orders[c] > 4000) continue; /* takes quadratic time to generate */
        check_schedule((test_pattern)pattern, orders[c], k & 1 ? SPTRSM_UPPER : SPTRSM_LOWER, k & 2 ? SPTRSM_T : SPTRSM_N, &by_levels,
                       &by_trees);
      }
  cr_assert_gt(by_levels, 3, "%d schedules of levels are no test", by_levels);
  cr_assert_geq(by_trees, 2, "%d schedules of trees are no test", by_trees);
}

/* Two chains that do not depend on each other, one with `first` of 100,000 rows. */
static int team_of_chains(int32_t first) {
  enum { ROWS = 100000 };
  int64_t *ptr = malloc((ROWS + 1) * sizeof *ptr), e = 0;
  int32_t *idx = malloc(2 * (size_t)ROWS * sizeof *idx);
  spti_levels levels;
  spti_schedule s;
  cr_assert(ptr && idx);
  for (int32_t i = 0; i < ROWS; i++) {
    ptr[i] = e;
    if (i > 0 && i != first) idx[e++] = i - 1;
    idx[e++] = i;
  }
  ptr[ROWS] = e;
  const spti_view v = {.n = ROWS, .nnz = e, .ptr = ptr, .idx = idx, .tail = 1, .pull = true};
  cr_assert_eq(spti_levels_build(&levels, &v), SPTRSM_OK);
  cr_assert_eq(spti_schedule_build(&s, &v, &levels), SPTRSM_OK);
  const int team = s.team;
  cr_assert(team == 1 || s.trees);
  spti_schedule_free(&s);
  spti_levels_free(&levels);
  free(ptr);
  free(idx);
  return team;
}

/* No more threads than there are chains, and none where one chain has most of the rows. */
Test(schedule, teams_are_as_large_as_the_work_allows) {
  cr_assert_eq(team_of_chains(50000), 2);
  cr_assert_eq(team_of_chains(90000), 1);
}

/* A panel solved by one thread has the same bits as one solved by a team of up to 8 threads. */
static void check_teams(const char *method, test_pattern pattern, sptrsm_dtype dtype, sptrsm_uplo uplo, sptrsm_op op) {
  const int32_t n = 60000, width = 8;
  opened o = open_system(pattern, n, dtype, uplo);
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  cr_assert_eq(sptrsm_plan_create(&plan, o.matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(plan->schedule->team >= 3, "%s, %s: a team of %d is no test", method, test_pattern_names[pattern], plan->schedule->team);
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
    cr_assert(test_block_same_bits(&X, &alone), "%s, %s: %d threads give other bits than one", method, test_pattern_names[pattern],
              threads);
    test_block_free(&X);
  }
  test_block_free(&start);
  test_block_free(&alone);
  sptrsm_plan_destroy(plan);
  close_system(&o);
}

Test(schedule, teams_give_the_bits_of_one_thread) {
  check_teams("levelset", TEST_LAYERED, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_N);
  check_teams("levelset", TEST_LAYERED, SPTRSM_C64, SPTRSM_UPPER, SPTRSM_N);
  check_teams("levelset", TEST_ARROW, SPTRSM_F32, SPTRSM_LOWER, SPTRSM_N);
  check_teams("levelset", TEST_TREE, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_N);
  check_teams("levelset", TEST_TREE, SPTRSM_C128, SPTRSM_LOWER, SPTRSM_C);
  check_teams("block", TEST_TREE, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_N);
  check_teams("block", TEST_TREE, SPTRSM_F32, SPTRSM_LOWER, SPTRSM_T);
  check_teams("block", TEST_TREE, SPTRSM_C64, SPTRSM_LOWER, SPTRSM_C);
}

static void count_slabs(void *user, const sptrsm_span *span) {
  if (strcmp(span->step, "copy B") == 0) atomic_fetch_add((atomic_int *)user, 1);
}

/* Where at most half of the threads would have slabs of 8 columns, groups of threads share slabs, fewer and wider ones if the model says
 * so; else each thread has slabs of its own. Bits stay. */
Test(schedule, few_slabs_are_shared) {
  static const struct {
    int columns, threads, slabs;
  } known[] = {{8, 16, 1}, {16, 16, 2}, {32, 16, 2}, {64, 16, 4}, {72, 16, 9}, {128, 16, 16}, {40, 4, 3}, {24, 6, 1}, {24, 5, 3}};
  const int32_t n = 20000;
  opened o = open_system(TEST_TREE, n, SPTRSM_F64, SPTRSM_LOWER);
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block";
  cr_assert_eq(sptrsm_plan_create(&plan, o.matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    const int columns = known[k].columns;
    atomic_int slabs = 0;
    test_block B = test_block_make(n, columns, SPTRSM_F64, SPTRSM_ROW_MAJOR, 0), alone, X;
    test_block_fill(&B, 2);
    alone = test_block_copy(&B), X = test_block_copy(&B);
    spti_team_set_threads(plan->context->team, 1);
    cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B.block, &alone.block), SPTRSM_OK, "%s", sptrsm_last_error());
    spti_team_set_threads(plan->context->team, known[k].threads);
    cr_assert_eq(sptrsm_context_set_trace(plan->context, count_slabs, &slabs), SPTRSM_OK);
    sptrsm_workspace *workspace;
    cr_assert_eq(sptrsm_workspace_create(&workspace, plan, 0), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_solve(plan, workspace, NULL, &B.block, &X.block), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_context_set_trace(plan->context, NULL, NULL), SPTRSM_OK);
    cr_expect_eq(slabs, known[k].slabs, "%d columns, %d threads: %d slabs", columns, known[k].threads, (int)slabs);
    cr_assert(test_block_same_bits(&X, &alone), "%d columns have other bits", columns);
    sptrsm_workspace_destroy(workspace);
    test_block_free(&X);
    test_block_free(&alone);
    test_block_free(&B);
  }
  sptrsm_plan_destroy(plan);
  close_system(&o);
}

static int threads_of_process(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/task");
  if (!folder) return -1;
  for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) count += entry->d_name[0] != '.';
  closedir(folder);
  return count;
}

/* A workspace that was made for one thread has one slab, so threads share that slab even with more columns. */
Test(schedule, the_only_slab_of_a_workspace_is_shared) {
  const int32_t n = 20000, columns = 256;
  const int before = threads_of_process();
  if (before < 0) cr_skip_test("no /proc");
  opened o = open_system(TEST_TREE, n, SPTRSM_F64, SPTRSM_LOWER);
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block";
  cr_assert_eq(sptrsm_plan_create(&plan, o.matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  spti_team_set_threads(plan->context->team, 1);
  cr_assert_eq(sptrsm_workspace_create(&workspace, plan, 0), SPTRSM_OK, "%s", sptrsm_last_error());
  test_block B = test_block_make(n, columns, SPTRSM_F64, SPTRSM_COL_MAJOR, 0), alone, X;
  test_block_fill(&B, 2);
  alone = test_block_copy(&B), X = test_block_copy(&B);
  cr_assert_eq(sptrsm_solve(plan, workspace, NULL, &B.block, &alone.block), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(threads_of_process(), before);
  spti_team_set_threads(plan->context->team, 8);
  cr_assert_eq(sptrsm_solve(plan, workspace, NULL, &B.block, &X.block), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_gt(threads_of_process(), before, "no other thread helps");
  cr_assert(test_block_same_bits(&X, &alone), "other bits");
  test_block_free(&X);
  test_block_free(&alone);
  test_block_free(&B);
  sptrsm_workspace_destroy(workspace);
  sptrsm_plan_destroy(plan);
  close_system(&o);
}

/* The number of slabs into which a solve divides the columns of B, with a workspace for `hint` columns (0: unknown). `alone`: X as one
 * thread computes it. */
static int slabs_of(const sptrsm_matrix *matrix, const char *method, int threads, int64_t hint, size_t limit, const test_block *B,
                    const test_block *alone) {
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  sptrsm_options options;
  atomic_int slabs = 0;
  sptrsm_options_init(&options);
  options.method = method, options.nrhs_hint = hint, options.memory_limit = limit;
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  plan->schedule = NULL; /* threads share no slab */
  test_block X = test_block_copy(B);
  spti_team_set_threads(plan->context->team, threads);
  cr_assert_eq(sptrsm_workspace_create(&workspace, plan, 0), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_set_trace(plan->context, count_slabs, &slabs), SPTRSM_OK);
  cr_assert_eq(sptrsm_solve(plan, workspace, NULL, &B->block, &X.block), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_set_trace(plan->context, NULL, NULL), SPTRSM_OK);
  cr_assert(test_block_same_bits(&X, alone), "%s, %d threads: other bits", method, threads);
  sptrsm_workspace_destroy(workspace);
  sptrsm_plan_destroy(plan);
  test_block_free(&X);
  return slabs;
}

/* If there are at least as many threads as columns, each column has a thread of its own; not with `block`, which reads its factor once a
 * slab, and not where memory is limited. */
Test(schedule, few_columns_have_a_thread_each) {
  static const struct {
    int columns, threads, slabs, slabs_of_block, slabs_in_limited_memory;
  } known[] = {{2, 2, 2, 1, 1}, {3, 2, 2, 1, 1}, {4, 2, 1, 1, 1},  {8, 2, 2, 2, 1},    {3, 4, 3, 1, 1},  {4, 4, 4, 1, 1},
               {5, 4, 2, 2, 1}, {8, 4, 2, 2, 1}, {8, 16, 8, 2, 1}, {16, 16, 16, 4, 2}, {20, 16, 5, 5, 3}};
  const int32_t n = 70000;
  opened o = open_system(TEST_TREE, n, SPTRSM_F64, SPTRSM_LOWER);
  for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
    const int columns = known[k].columns, threads = known[k].threads;
    test_block B = test_block_make(n, columns, SPTRSM_F64, SPTRSM_COL_MAJOR, 0), alone = test_block_copy(&B);
    test_block_fill(&B, 2);
    for (int method = 0; method < 2; method++) {
      const char *name = method == 0 ? "levelset" : "block";
      test_solve(&o.system.T, &(test_choice){.method = name, .threads = 1}, &B.block, &alone.block);
      const int wanted = method == 0 ? known[k].slabs : known[k].slabs_of_block;
      for (int64_t hint = 0; hint <= columns; hint += columns) {
        const int slabs = slabs_of(o.matrix, name, threads, hint, 0, &B, &alone);
        cr_assert_eq(slabs, wanted, "%s: %d columns, %d threads, hint %d: %d slabs", name, columns, threads, (int)hint, slabs);
      }
      const int limited = slabs_of(o.matrix, name, threads, columns, (size_t)1 << 34, &B, &alone);
      cr_assert_eq(limited, known[k].slabs_in_limited_memory, "%s: %d columns, %d threads: %d slabs", name, columns, threads, limited);
    }
    test_block_free(&alone);
    test_block_free(&B);
  }
  close_system(&o);
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

Test(schedule, no_thread_goes_ahead_of_a_step) {
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
