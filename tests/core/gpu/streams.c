/* streams.c -- on a real device: solves captured in a graph, and a context that changes its stream. */
#include "core/gpu/gpu_case.h"

#include <string.h>
#include <time.h>

TestSuite(gpu_streams, .init = setup);

/* Captured once, then replayed, plain solves with the same workspace in between. */
static void check_capture(const char *method, int64_t nrhs) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  test_solver s = test_solver_open(&data.T, &(test_choice){.method = method, .place = SPTRSM_CUDA, .stream = stream});
  sptrsm_workspace *workspace;
  ok(sptrsm_workspace_create(&workspace, s.plan, 0));
  blocks b = make_blocks();
  b.B.nrhs = b.X.nrhs = nrhs;
  cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(sptrsm_solve(s.plan, workspace, NULL, &b.B, &b.X));
  cuda_ok(cudaStreamEndCapture(stream, &graph));
  cuda_ok(cudaGraphInstantiate(&executable, graph, 0));
  for (int run = 0; run < 6; run++) {
    cuda_ok(cudaMemset2DAsync(b.X.data, LD_ROWS * sizeof(double), 0xff, (size_t)nrhs * sizeof(double), N, stream));
    if (run == 2 || run == 3) ok(sptrsm_solve(s.plan, workspace, NULL, &b.B, &b.X));
    else cuda_ok(cudaGraphLaunch(executable, stream));
    ok(sptrsm_context_sync(s.context));
    check(&b, expected, method);
  }
  cuda_ok(cudaGraphExecDestroy(executable));
  cuda_ok(cudaGraphDestroy(graph));
  sptrsm_workspace_destroy(workspace);
  test_solver_close(&s);
  free_blocks(&b);
  cuda_ok(cudaStreamDestroy(stream));
}

/* Some methods refuse this system: structgrid, for example, solves stencils only. */
static bool takes_the_system(const char *method) {
  test_solver s;
  const bool takes = test_solver_try(&s, &data.T, &(test_choice){.method = method, .place = SPTRSM_CUDA});
  if (takes) test_solver_close(&s);
  return takes;
}

Test(gpu_streams, capture_in_a_graph) {
  int captured = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    ok(sptrsm_method_at(&info, m));
    if (info.place != SPTRSM_CUDA || !info.capturable || !takes_the_system(info.name)) continue;
    check_capture(info.name, NRHS);
    check_capture(info.name, 1);
    captured++;
  }
  cr_assert_gt(captured, 0, "no method can be captured");
}

static void CUDART_CB wait_a_while(void *unused) {
  (void)unused;
  const struct timespec while_ = {.tv_nsec = 20 * 1000 * 1000};
  nanosleep(&while_, NULL);
}

/* The right-hand sides arrive late on the stream that is left, so the solve on the next stream is right only if it waits for that. */
static void check_stream_change(const char *method, test_solver *s, cudaStream_t from, cudaStream_t to) {
  blocks b = make_blocks();
  const size_t bytes = sizeof(double) * LD_COLS * NRHS;
  void *late;
  cuda_ok(cudaMalloc(&late, bytes));
  ok(sptrsm_context_set_stream(s->context, from));
  cuda_ok(cudaMemcpy(late, b.B.data, bytes, cudaMemcpyDeviceToDevice));
  cuda_ok(cudaMemset(b.B.data, 0, bytes));
  cuda_ok(cudaDeviceSynchronize());
  cuda_ok(cudaLaunchHostFunc(from, wait_a_while, NULL));
  cuda_ok(cudaMemcpyAsync(b.B.data, late, bytes, cudaMemcpyDeviceToDevice, from));
  ok(sptrsm_context_set_stream(s->context, to));
  ok(sptrsm_solve(s->plan, NULL, NULL, &b.B, &b.X));
  if (to) cuda_ok(cudaStreamSynchronize(to));
  else ok(sptrsm_context_sync(s->context));
  check(&b, expected, method);
  cuda_ok(cudaFree(late));
  free_blocks(&b);
}

Test(gpu_streams, a_context_changes_its_stream) {
  cudaStream_t one, two;
  cuda_ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  cuda_ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  for (size_t m = 0; m < method_count; m++) {
    test_solver s = test_solver_open(&data.T, &(test_choice){.method = methods[m], .place = SPTRSM_CUDA});
    check_stream_change(methods[m], &s, one, two);
    check_stream_change(methods[m], &s, two, cudaStreamLegacy);
    check_stream_change(methods[m], &s, one, NULL);
    cudaGraph_t graph;
    cuda_ok(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
    cr_assert_eq(sptrsm_context_set_stream(s.context, one), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "captured"), "%s", sptrsm_last_error());
    cuda_ok(cudaStreamEndCapture(one, &graph)); /* the refusal left the capture valid */
    cuda_ok(cudaGraphDestroy(graph));
    check_stream_change(methods[m], &s, two, one);
    ok(sptrsm_context_set_stream(s.context, NULL));
    test_solver_close(&s);
  }
  cuda_ok(cudaStreamDestroy(one));
  cuda_ok(cudaStreamDestroy(two));
}
