/* visitor.c -- what a library owes to the program that it works in, on a real device: captures that stay valid when something is
 * refused, pointers that are checked, errors that are not another's, memory that is given back, the current device. */
#include <criterion/criterion.h>

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>

enum { N = 2000, NRHS = 6 };

/* L = bidiagonal, 2 and -1: the solution of L x = 1 is x(i) = 1 - 2^-(i+1). */
static int64_t ptr[N + 1];
static int32_t idx[2 * N];
static double val[2 * N];

static void make_arrays(void) {
  int64_t p = 0;
  for (int32_t i = 0; i < N; i++) {
    ptr[i] = p;
    if (i > 0) idx[p] = i - 1, val[p++] = -1;
    idx[p] = i, val[p++] = 2;
  }
  ptr[N] = p;
}

static void cuda_ok(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }
static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }
static void refused(sptrsm_status status, const char *why) {
  cr_assert_eq(status, SPTRSM_ERR_ARGUMENT, "status %d: %s", (int)status, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), why), "%s", sptrsm_last_error());
}

typedef struct {
  cudaStream_t stream;
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_sparse T; /* in device memory */
  sptrsm_block B, X;
} fixture;

static void *to_device(const void *host, size_t bytes) {
  void *device;
  cuda_ok(cudaMalloc(&device, bytes));
  cuda_ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  return device;
}

static fixture open_fixture(const char *method) {
  fixture f = {.T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .place = SPTRSM_CUDA, .n = N}};
  double ones[N * NRHS];
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  make_arrays();
  for (int e = 0; e < N * NRHS; e++) ones[e] = 1;
  f.T.ptr = to_device(ptr, sizeof ptr);
  f.T.idx = to_device(idx, (size_t)ptr[N] * sizeof *idx);
  f.T.val = to_device(val, (size_t)ptr[N] * sizeof *val);
  cuda_ok(cudaStreamCreateWithFlags(&f.stream, cudaStreamNonBlocking));
  ok(sptrsm_context_create(&f.context, SPTRSM_CUDA, 0, f.stream));
  ok(sptrsm_matrix_create(&f.matrix, f.context, &f.T, SPTRSM_BORROW));
  ok(sptrsm_plan_create(&f.plan, f.matrix, &options));
  f.B = (sptrsm_block){to_device(ones, sizeof ones), N, N, NRHS, SPTRSM_F64, SPTRSM_COL_MAJOR, SPTRSM_CUDA};
  f.X = f.B;
  f.X.data = to_device(ones, sizeof ones);
  return f;
}

static void close_fixture(fixture *f) {
  void *const arrays[] = {(void *)f->T.ptr, (void *)f->T.idx, (void *)f->T.val, f->B.data, f->X.data};
  sptrsm_plan_destroy(f->plan);
  sptrsm_matrix_destroy(f->matrix);
  sptrsm_context_destroy(f->context);
  for (int a = 0; a < 5; a++) cuda_ok(cudaFree(arrays[a]));
  cuda_ok(cudaStreamDestroy(f->stream));
}

static void check_solution(const fixture *f) {
  static double x[N * NRHS];
  cuda_ok(cudaMemcpy(x, f->X.data, sizeof x, cudaMemcpyDeviceToHost));
  for (int k = 0; k < NRHS; k++) {
    double expected = 0;
    for (int i = 0; i < N; i++) {
      expected = (1 + expected) / 2;
      cr_assert(x[k * N + i] - expected < 1e-13 && expected - x[k * N + i] < 1e-13, "X(%d,%d) = %g, not %g", i, k, x[k * N + i], expected);
    }
  }
}

static void solve_plainly(fixture *f, sptrsm_workspace *w) {
  cuda_ok(cudaMemset(f->X.data, 0xff, sizeof(double) * N * NRHS));
  cuda_ok(cudaDeviceSynchronize());
  ok(sptrsm_solve(f->plan, w, NULL, &f->B, &f->X));
  ok(sptrsm_context_sync(f->context));
  check_solution(f);
}

static void begin(const fixture *f) { cuda_ok(cudaStreamBeginCapture(f->stream, cudaStreamCaptureModeThreadLocal)); }
static void end_valid(const fixture *f) {
  cudaGraph_t graph = NULL;
  cuda_ok(cudaStreamEndCapture(f->stream, &graph));
  cr_assert_not_null(graph, "the capture was lost");
  cuda_ok(cudaGraphDestroy(graph));
}

Test(visitor, refusals_leave_a_capture_valid) {
  static const char *const methods[] = {"levelset", "gather", "block", "syncfree-csr", "syncfree-csc"};
  for (int m = 0; m < 5; m++) {
    fixture f = open_fixture(methods[m]);
    sptrsm_workspace *w = NULL;
    sptrsm_plan *other = NULL;
    sptrsm_block host = f.X;
    double *memory = malloc(sizeof(double) * N * NRHS);
    host.data = memory;
    host.place = SPTRSM_HOST;
    begin(&f);
    refused(sptrsm_solve(f.plan, NULL, NULL, &f.B, &f.X), "captured");
    refused(sptrsm_workspace_create(&w, f.plan, 0), "captured");
    refused(sptrsm_plan_create(&other, f.matrix, NULL), "captured");
    refused(sptrsm_context_sync(f.context), "captured");
    refused(sptrsm_context_trim(f.context), "captured");
    end_valid(&f);
    ok(sptrsm_workspace_create(&w, f.plan, 0));
    begin(&f);
    refused(sptrsm_solve(f.plan, w, NULL, &f.B, &host), "captured");
    end_valid(&f);
    solve_plainly(&f, w);
    sptrsm_workspace_destroy(w);
    free(memory);
    close_fixture(&f);
  }
}

Test(visitor, cusparse_can_not_be_captured) {
  fixture f = open_fixture("cusparse");
  solve_plainly(&f, NULL);
  begin(&f);
  refused(sptrsm_solve(f.plan, NULL, NULL, &f.B, &f.X), "cusparse");
  end_valid(&f);
  solve_plainly(&f, NULL);
  close_fixture(&f);
}

/* A replay whose dependency is lost reports it, and so do later ones; after a plain solve with its workspace the graph is whole again. */
static void check_repair(const char *method) {
  fixture f = open_fixture(method);
  sptrsm_workspace *w;
  cudaGraph_t graph;
  cudaGraphExec_t replay;
  int32_t *entry = (int32_t *)f.T.idx + ptr[50], wrong = 50; /* row 50 waits for itself */
  ok(sptrsm_workspace_create(&w, f.plan, 0));
  solve_plainly(&f, w);
  begin(&f);
  ok(sptrsm_solve(f.plan, w, NULL, &f.B, &f.X));
  cuda_ok(cudaStreamEndCapture(f.stream, &graph));
  cuda_ok(cudaGraphInstantiate(&replay, graph, 0));
  cuda_ok(cudaMemcpy(entry, &wrong, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  cuda_ok(cudaGraphLaunch(replay, f.stream));
  cr_assert_eq(sptrsm_context_sync(f.context), SPTRSM_ERR_DEVICE, "%s lost nothing", method);
  cuda_ok(cudaMemcpy(entry, idx + ptr[50], sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  solve_plainly(&f, w);
  for (int run = 0; run < 3; run++) {
    cuda_ok(cudaMemset(f.X.data, 0xff, sizeof(double) * N * NRHS));
    cuda_ok(cudaDeviceSynchronize());
    cuda_ok(cudaGraphLaunch(replay, f.stream));
    ok(sptrsm_context_sync(f.context));
    check_solution(&f);
  }
  cuda_ok(cudaGraphExecDestroy(replay));
  cuda_ok(cudaGraphDestroy(graph));
  sptrsm_workspace_destroy(w);
  close_fixture(&f);
}

Test(visitor, a_plain_solve_repairs_a_graph) { check_repair("syncfree-csr:preset=thread"); }

Test(visitor, host_memory_is_not_taken_for_device_memory) {
  int reaches_all = 0;
  cuda_ok(cudaDeviceGetAttribute(&reaches_all, cudaDevAttrPageableMemoryAccess, 0));
  if (reaches_all) cr_skip_test("this device reads pageable host memory");
  fixture f = open_fixture("gather");
  sptrsm_block wrong = f.B;
  sptrsm_matrix *matrix = NULL;
  wrong.data = malloc(sizeof(double) * N * NRHS);
  refused(sptrsm_solve(f.plan, NULL, NULL, &wrong, &f.X), "B ");
  wrong.layout = f.X.layout;
  refused(sptrsm_solve(f.plan, NULL, NULL, &f.B, &wrong), "X ");
  sptrsm_sparse T = f.T;
  T.val = val;
  refused(sptrsm_matrix_create(&matrix, f.context, &T, SPTRSM_COPY), "val ");
  free(wrong.data);
  solve_plainly(&f, NULL);
  close_fixture(&f);
}

/* The host, which can't read these arrays, words what is wrong with them. */
Test(visitor, a_bad_diagonal_in_device_memory_is_named) {
  fixture f = open_fixture("gather");
  sptrsm_matrix *matrix = NULL;
  cuda_ok(cudaMemset((double *)f.T.val + ptr[6] - 1, 0, sizeof *val)); /* the diagonal of row 5 */
  cuda_ok(cudaDeviceSynchronize());
  cr_assert_eq(sptrsm_matrix_create(&matrix, f.context, &f.T, SPTRSM_COPY), SPTRSM_ERR_SINGULAR);
  cr_assert(strstr(sptrsm_last_error(), "(5,5) is zero"), "%s", sptrsm_last_error());
  close_fixture(&f);
}

/* An error that the caller left behind is not blamed on the solve, and stays for the caller. */
Test(visitor, errors_of_others) {
  fixture f = open_fixture("gather");
  solve_plainly(&f, NULL);
  void *memory;
  cr_assert_neq(cudaMalloc(&memory, (size_t)1 << 60), cudaSuccess);
  ok(sptrsm_solve(f.plan, NULL, NULL, &f.B, &f.X));
  ok(sptrsm_context_sync(f.context));
  check_solution(&f);
  cr_assert_eq(cudaGetLastError(), cudaErrorMemoryAllocation);
  close_fixture(&f);
}

Test(visitor, memory_is_given_back) {
  enum { BYTES = 256 << 20 };
  size_t before, kept, trimmed, all;
  fixture f = open_fixture("gather");
  solve_plainly(&f, NULL);
  ok(sptrsm_context_trim(f.context));
  cuda_ok(cudaMemGetInfo(&before, &all));
  sptrsm_workspace *w;
  const int32_t panel = BYTES / N / (int32_t)sizeof(double);
  ok(sptrsm_workspace_create(&w, f.plan, panel));
  sptrsm_workspace_destroy(w);
  ok(sptrsm_context_sync(f.context));
  cuda_ok(cudaMemGetInfo(&kept, &all));
  cr_assert_lt(kept, before - BYTES / 2, "the context is meant to keep freed memory");
  ok(sptrsm_context_trim(f.context));
  cuda_ok(cudaMemGetInfo(&trimmed, &all));
  cr_assert_gt(trimmed, before - BYTES / 8, "%zu bytes free before, %zu after", before, trimmed);
  close_fixture(&f);
}

/* With one device this shows little; with several, that the context's device does not become the caller's. */
Test(visitor, the_current_device_stays) {
  int current;
  for (int device = 0; device < sptrsm_device_count(); device++) {
    cuda_ok(cudaSetDevice(0));
    fixture f = open_fixture("levelset");
    cuda_ok(cudaSetDevice(device));
    ok(sptrsm_solve(f.plan, NULL, NULL, &f.B, &f.X));
    ok(sptrsm_context_sync(f.context));
    cuda_ok(cudaGetDevice(&current));
    cr_assert_eq(current, device);
    cuda_ok(cudaSetDevice(0));
    check_solution(&f);
    close_fixture(&f);
  }
}
