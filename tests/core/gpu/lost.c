/* lost.c -- on a real device: solves that end although a dependency never arrives, and malformed arrays in device memory. */
#include "core/gpu/gpu_case.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/device/syncfree.h"
#include "core/plan/workspace.h"
#include "core/two_blocks/two_blocks.h"

TestSuite(gpu_lost, .init = setup);

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static test_solver open_borrowed(const sptrsm_sparse *T, const char *method, sptrsm_op op) {
  return test_solver_open(T, &(test_choice){method, op, SPTRSM_CUDA, .mode = SPTRSM_BORROW});
}

static void solve(const test_solver *s, blocks *b) {
  ok(sptrsm_solve(s->plan, NULL, NULL, &b->B, &b->X));
  ok(sptrsm_context_sync(s->context));
}

/* Writes the row of the second entry of column 49, which is 50, into the borrowed arrays. The library does not know of it. */
static void move_entry(const sptrsm_sparse *T, int32_t row) {
  cr_assert_eq(data.idx[data.ptr[49] + 1], 50);
  cuda_ok(cudaMemcpy((int32_t *)T->idx + data.ptr[49] + 1, &row, sizeof row, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
}

static void expect_loss(const test_solver *s) {
  cr_assert_eq(sptrsm_context_sync(s->context), SPTRSM_ERR_DEVICE);
  cr_assert(strstr(sptrsm_last_error(), "dependency never arrived (row "), "%s", sptrsm_last_error());
}

/* The solve must end after the two seconds that a wait naps, or some more where other programs use the device, with an error that says so;
 * once the array is repaired, the same plan must work again. */
static void check_loss(const test_solver *s, blocks *b, const sptrsm_sparse *T, int32_t row) {
  solve(s, b);
  move_entry(T, row);
  const double start = seconds();
  ok(sptrsm_solve(s->plan, NULL, NULL, &b->B, &b->X));
  expect_loss(s);
  const double elapsed = seconds() - start;
  cr_assert(elapsed < 60.0, "giving up took %.2f s", elapsed);
  move_entry(T, 50);
  solve(s, b);
}

/* Row 50 misses an update. */
Test(gpu_lost, a_lost_dependency_ends_in_an_error) {
  sptrsm_sparse T = on_device(&data);
  test_solver s = open_borrowed(&T, "syncfree-csc", SPTRSM_N);
  blocks b = make_blocks();
  check_loss(&s, &b, &T, 51);
  check(&b, expected, "after the loss");
  test_solver_close(&s);
  free_blocks(&b);
  free_system(&T);
}

/* The transposed solve reads the borrowed columns as rows: row 49 then depends on itself. */
Test(gpu_lost, a_lost_value_ends_in_an_error) {
  sptrsm_sparse T = on_device(&data);
  test_solver s = open_borrowed(&T, "syncfree-csr:preset=thread", SPTRSM_T);
  blocks b = make_blocks();
  check_loss(&s, &b, &T, 49);
  test_solver_close(&s);
  free_blocks(&b);
  free_system(&T);
}

/* ---- replays of a graph ---- */

/* A solve of borrowed arrays that was captured. */
typedef struct {
  sptrsm_sparse T;
  test_solver s;
  sptrsm_workspace *workspace;
  blocks b;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
} replays;

static replays capture(const char *method) {
  replays r = {.T = on_device(&data), .b = make_blocks()};
  cuda_ok(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
  r.s = test_solver_open(&r.T, &(test_choice){.method = method, .place = SPTRSM_CUDA, .mode = SPTRSM_BORROW, .stream = r.stream});
  ok(sptrsm_workspace_create(&r.workspace, r.s.plan, 0));
  cuda_ok(cudaStreamBeginCapture(r.stream, cudaStreamCaptureModeThreadLocal));
  ok(sptrsm_solve(r.s.plan, r.workspace, NULL, &r.b.B, &r.b.X));
  cuda_ok(cudaStreamEndCapture(r.stream, &r.graph));
  cuda_ok(cudaGraphInstantiate(&r.executable, r.graph, 0));
  return r;
}

static void close_replays(replays *r) {
  cuda_ok(cudaGraphExecDestroy(r->executable));
  cuda_ok(cudaGraphDestroy(r->graph));
  sptrsm_workspace_destroy(r->workspace);
  test_solver_close(&r->s);
  free_blocks(&r->b);
  free_system(&r->T);
  cuda_ok(cudaStreamDestroy(r->stream));
}

static void replay(replays *r) {
  cuda_ok(cudaMemset2DAsync(r->b.X.data, LD_ROWS * sizeof(double), 0xff, NRHS * sizeof(double), N, r->stream));
  cuda_ok(cudaGraphLaunch(r->executable, r->stream));
}

static void replay_well(replays *r) {
  replay(r);
  ok(sptrsm_context_sync(r->s.context));
  check(&r->b, expected, "a replay");
}

static void replay_and_lose(replays *r) {
  replay(r);
  expect_loss(&r->s);
  cr_assert(strstr(sptrsm_last_error(), "solve once with its workspace outside of it"), "%s", sptrsm_last_error());
}

static void solve_and_replay(replays *r) {
  ok(sptrsm_solve(r->s.plan, r->workspace, NULL, &r->b.B, &r->b.X));
  ok(sptrsm_context_sync(r->s.context));
  check(&r->b, expected, "a plain solve after the loss");
  for (int k = 0; k < 3; k++) replay_well(r);
}

/* Sets the flag of a wait that gives up, upon which other waits leave their rows unsolved. */
static void raise_abort_flag(const sptrsm_workspace *w) {
  const spti_two_blocks *work = w->work;
  int32_t *control = (int32_t *)((double *)work->memory + 2 * work->rows * work->ld);
  cuda_ok(cudaMemset(control + SPTI_SYNCFREE_ABORT, 1, 1));
  cuda_ok(cudaDeviceSynchronize());
}

/* Two work blocks that refill each other report the loss until a plain solve has filled both. */
Test(gpu_lost, a_plain_solve_repairs_a_graph) {
  static const char *const two_blocks[] = {"block", "gather", "syncfree-csr"};
  for (int m = 0; m < 3; m++)
    for (int before = 0; before < 2; before++) {
      replays r = capture(two_blocks[m]);
      for (int k = 0; k <= before; k++) replay_well(&r);
      raise_abort_flag(r.workspace);
      for (int k = 0; k < 2; k++) replay_and_lose(&r);
      solve_and_replay(&r);
      close_replays(&r);
    }
}

/* Each replay resets the counters of syncfree-csc. */
Test(gpu_lost, a_graph_repairs_itself) {
  replays r = capture("syncfree-csc");
  replay_well(&r);
  move_entry(&r.T, 51);
  for (int k = 0; k < 2; k++) replay_and_lose(&r);
  move_entry(&r.T, 50);
  for (int k = 0; k < 3; k++) replay_well(&r);
  solve_and_replay(&r);
  close_replays(&r);
}

/* An analysis has waits of its own, and must not report a dependency that a solve before it has lost. */
Test(gpu_lost, a_lost_value_is_reported_after_an_analysis) {
  sptrsm_sparse T = on_device(&data);
  sptrsm_options options;
  sptrsm_plan *later;
  test_solver s = open_borrowed(&T, "syncfree-csr:preset=thread", SPTRSM_T);
  blocks b = make_blocks();
  move_entry(&T, 49);
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  cuda_ok(cudaDeviceSynchronize());
  move_entry(&T, 50);
  sptrsm_options_init(&options);
  options.method = "block";
  options.op = SPTRSM_T;
  ok(sptrsm_plan_create(&later, s.matrix, &options));
  expect_loss(&s);
  ok(sptrsm_context_sync(s.context));
  sptrsm_plan_destroy(later);
  test_solver_close(&s);
  free_blocks(&b);
  free_system(&T);
}

Test(gpu_lost, malformed_device_arrays_are_refused_in_time) {
  sptrsm_context *context;
  sptrsm_matrix *matrix = NULL;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  static system_data broken;
  memcpy(&broken, &data, sizeof broken);
  broken.idx[broken.ptr[N / 2] + 1] = N + 3;
  sptrsm_sparse T = on_device(&broken);
  double start = seconds();
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW), SPTRSM_ERR_STRUCTURE);
  cr_assert(seconds() - start < 1.0);
  char named[32];
  snprintf(named, sizeof named, "column %d:", N / 2);
  cr_assert(strstr(sptrsm_last_error(), named), "%s", sptrsm_last_error());
  cr_assert_null(matrix);
  free_system(&T);
  sptrsm_context_destroy(context);
}
