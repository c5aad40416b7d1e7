/* replays.c -- captured solves on the emulated GPU that are replayed, also after a replay in which a write never arrived: where that is
 * noticed, the error says what repairs the workspace, and afterwards plain solves and replays have the right bits. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>

#include <string.h>

#include "core/context/context.h"
#include "simt/emulator/emulated_gpu.h"
#include "support/conformance_subjects.h"
#include "support/oracle.h"

enum { ORDER = 100, NRHS = 3, SPIN_LIMIT = 2500, TRIALS = 64, LOSSES = 2 };

typedef struct {
  const subject *method;
  test_system system;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  test_block B, X, expected;
  int losses;
} fixture;

static void ok(const fixture *f, sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", f->method->name, sptrsm_last_error()); }

static void open_fixture(fixture *f, const subject *method) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method->name;
  *f = (fixture){.method = method, .system = test_system_make(TEST_GRID, ORDER, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3)};
  ok(f, sptrsm_context_create(&f->context, SPTRSM_CUDA, 0, NULL));
  f->context->spin_limit = SPIN_LIMIT;
  ok(f, sptrsm_matrix_create(&f->matrix, f->context, &f->system.T, SPTRSM_COPY));
  ok(f, sptrsm_plan_create(&f->plan, f->matrix, &options));
  f->B = test_block_make(ORDER, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, 1);
  test_block_fill(&f->B, 2);
  f->X = test_block_copy(&f->B);
  f->expected = test_block_copy(&f->B);
  f->B.block.place = f->X.block.place = SPTRSM_CUDA;
}

static void close_fixture(fixture *f) {
  sptrsm_plan_destroy(f->plan);
  sptrsm_matrix_destroy(f->matrix);
  sptrsm_context_destroy(f->context);
  test_block_free(&f->B);
  test_block_free(&f->X);
  test_block_free(&f->expected);
  test_system_free(&f->system);
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
}

static void solve(fixture *f) { ok(f, sptrsm_solve(f->plan, f->workspace, NULL, &f->B.block, &f->X.block)); }

static void check(fixture *f, const char *what) {
  static const double one[2] = {1, 0};
  const double residual = test_residual(&f->system, SPTRSM_N, one, &f->B, &f->X, -1);
  ok(f, sptrsm_workspace_sync(f->workspace));
  cr_assert(residual <= 10, "%s, %s: residual %g bounds", f->method->name, what, residual);
  if (f->method->deterministic) cr_assert(test_block_same_bits(&f->X, &f->expected), "%s, %s: other bits", f->method->name, what);
  test_block_fill(&f->X, 9);
}

static void replay(fixture *f) { cr_assert_eq(emulated_gpu_replay(), 0, "%s: the replay failed", f->method->name); }

/* Whether a replay without this write reports a loss; it does not if no row waits for the write. */
static bool loses(fixture *f, int64_t write) {
  emulated_gpu_writes = 0;
  emulated_gpu_lose_at = write;
  replay(f);
  emulated_gpu_lose_at = -1;
  return sptrsm_workspace_sync(f->workspace) != SPTRSM_OK;
}

static void told_of_the_way_out(const fixture *f) {
  cr_assert(strstr(sptrsm_last_error(), "dependency never arrived"), "%s: %s", f->method->name, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), "solve once with its workspace outside of it"), "%s: %s", f->method->name, sptrsm_last_error());
}

/* Methods whose work blocks refill each other. */
static bool refills(const char *method) {
  return strncmp(method, "block", 5) == 0 || strncmp(method, "gather", 6) == 0 || strncmp(method, "syncfree-csr", 12) == 0;
}

/* A capture can't fill the work blocks anew: it would do so in each replay, and not before. */
static void capture_is_refused(fixture *f) {
  emulated_gpu_captures = true;
  const sptrsm_status status = sptrsm_solve(f->plan, f->workspace, NULL, &f->B.block, &f->X.block);
  emulated_gpu_captures = false;
  cr_assert_eq(status, SPTRSM_ERR_ARGUMENT, "%s: status %d", f->method->name, (int)status);
  cr_assert(strstr(sptrsm_last_error(), "solve once with this workspace"), "%s: %s", f->method->name, sptrsm_last_error());
}

/* Solves outside of the graph after a loss. `twice`: replays before that, which may work or report the loss again. */
static void repair(fixture *f, bool twice) {
  told_of_the_way_out(f);
  f->losses++;
  if (twice) {
    replay(f);
    if (sptrsm_workspace_sync(f->workspace) != SPTRSM_OK) told_of_the_way_out(f);
    else check(f, "a replay after the loss");
  }
  if (refills(f->method->name)) capture_is_refused(f);
  solve(f);
  check(f, "a plain solve after the loss");
  for (int k = 0; k < 3; k++) {
    replay(f);
    check(f, "a replay after the repair");
  }
}

static void capture(fixture *f) {
  emulated_gpu_forget_captured();
  emulated_gpu_captures = true;
  solve(f);
  emulated_gpu_captures = false;
  check(f, "the captured solve");
}

static void lose_one(fixture *f, int trial) {
  ok(f, sptrsm_workspace_create(&f->workspace, f->plan, 0));
  capture(f);
  emulated_gpu_writes = 0;
  for (int k = 0; k < 1 + trial % 2; k++) { /* so that the loss happens in either work block */
    emulated_gpu_writes = 0;
    replay(f);
    check(f, "a replay");
  }
  if (loses(f, emulated_gpu_writes * (trial * 37 % TRIALS) / TRIALS)) repair(f, f->losses % 2 == 0);
  sptrsm_workspace_destroy(f->workspace);
}

/* Launches alone order the work of levelset, and of recblock where the parts are solved by level sets. */
static bool waits(const char *method) {
  const bool ordered = strncmp(method, "levelset", strlen("levelset")) == 0 || strncmp(method, "recblock", strlen("recblock")) == 0;
  return !ordered || strstr(method, "levels=0");
}

ParameterizedTestParameters(replays, after_a_loss) { return conformance_subjects(SPTRSM_CUDA, false); }

ParameterizedTest(subject *s, replays, after_a_loss) {
  if (strcmp(s->name, "cusparse") == 0 || strncmp(s->name, "block-streamed", strlen("block-streamed")) == 0) return; /* no replays */
  fixture f;
  open_fixture(&f, s);
  ok(&f, sptrsm_solve(f.plan, NULL, NULL, &f.B.block, &f.expected.block));
  for (int trial = 0; trial < TRIALS && f.losses < LOSSES && (waits(s->name) || trial < LOSSES); trial++) lose_one(&f, trial);
  cr_assert_eq(f.losses > 0, waits(s->name), "%s: %d losses", s->name, f.losses);
  close_fixture(&f);
}

/* A loss that nobody has been told of yet is none of a workspace that is made afterwards: its first solve may be captured. */
Test(replays, a_new_workspace_has_lost_nothing) {
  const subject method = {.name = "gather", .deterministic = true};
  fixture f;
  open_fixture(&f, &method);
  ok(&f, sptrsm_solve(f.plan, NULL, NULL, &f.B.block, &f.expected.block));
  for (int trial = 0; *f.context->lost == 0; trial++) {
    cr_assert_lt(trial, TRIALS, "no replay loses a dependency");
    if (trial > 0) sptrsm_workspace_destroy(f.workspace);
    ok(&f, sptrsm_workspace_create(&f.workspace, f.plan, 0));
    capture(&f);
    emulated_gpu_writes = 0;
    emulated_gpu_lose_at = 10 * trial;
    replay(&f);
    emulated_gpu_lose_at = -1;
  }
  sptrsm_workspace *const earlier = f.workspace;
  ok(&f, sptrsm_workspace_create(&f.workspace, f.plan, 0));
  capture(&f);
  sptrsm_workspace_destroy(earlier);
  sptrsm_workspace_destroy(f.workspace);
  close_fixture(&f);
}
