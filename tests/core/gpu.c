/* gpu.c -- what only a real device shows: device pointers, borrowed device arrays, graph capture, and solves that end
 * although a dependency never arrives. */
#include <criterion/criterion.h>

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sptrsm_auto.h>

#ifndef GPU_ORDER /* smaller for the sanitizers, which slow kernels down a hundredfold */
#define GPU_ORDER 3000
#define GPU_NRHS  70
#endif

enum { N = GPU_ORDER, NRHS = GPU_NRHS, LD_ROWS = NRHS + 3, LD_COLS = N + 5, REACH = 40 };
static const double CANARY = -12345.678;

/* A lower triangle by columns: column j updates j+1, j+7 and a few rows further on; values keep the solution of order
 * 1. */
typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[4 * N];
  double val[4 * N], other[4 * N];
  sptrsm_sparse T;
} system_data;

static void make_system(system_data *s) {
  int64_t p = 0;
  for (int32_t j = 0; j < N; j++) {
    const int32_t rows[] = {j, j + 1, j + 7, j + 8 + j % REACH};
    s->ptr[j] = p;
    for (int e = 0; e < 4 && rows[e] < N; e++, p++) {
      s->idx[p] = rows[e];
      s->val[p] = e == 0 ? 2 + 0.001 * (j % 100) : -0.3 + 0.001 * (double)(p % 200);
      s->other[p] = s->val[p] * (e == 0 ? 1.5 : -0.5);
    }
  }
  s->ptr[N] = p;
  s->T =
      (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = s->ptr, .idx = s->idx, .val = s->val};
}

static void cuda_ok(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }
static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static void *to_device(const void *host, size_t bytes) {
  void *device;
  cuda_ok(cudaMalloc(&device, bytes));
  cuda_ok(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize()); /* a small copy may return before it is done, and the library's stream does not wait for it */
  return device;
}

static double b_of(int64_t i, int64_t k) { return 1 + (double)((i * 31 + k * 7) % 101) / 16; }

/* The solution by the host, row-major. */
static void reference(double *X, const sptrsm_sparse *T) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "serial";
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < NRHS; k++) X[i * NRHS + k] = b_of(i, k);
  sptrsm_block block = {.data = X, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
  ok(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  ok(sptrsm_matrix_create(&matrix, context, T, SPTRSM_COPY));
  ok(sptrsm_plan_create(&plan, matrix, &options));
  ok(sptrsm_solve(plan, NULL, NULL, &block, &block));
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* Blocks on the device: B column-major with ld > n, X row-major with ld > nrhs and canaries in its padding. */
typedef struct {
  sptrsm_block B, X;
} blocks;

static blocks make_blocks(void) {
  double *host = malloc(sizeof(double) * LD_COLS * NRHS + sizeof(double) * LD_ROWS * N);
  double *x = host + LD_COLS * NRHS;
  for (int64_t k = 0; k < NRHS; k++)
    for (int64_t i = 0; i < LD_COLS; i++) host[i + k * LD_COLS] = i < N ? b_of(i, k) : CANARY;
  for (int64_t e = 0; e < LD_ROWS * N; e++) x[e] = CANARY;
  blocks b = {.B = {.data = to_device(host, sizeof(double) * LD_COLS * NRHS),
                    .ld = LD_COLS,
                    .n = N,
                    .nrhs = NRHS,
                    .dtype = SPTRSM_F64,
                    .layout = SPTRSM_COL_MAJOR,
                    .place = SPTRSM_CUDA}};
  b.X = b.B;
  b.X.data = to_device(x, sizeof(double) * LD_ROWS * N);
  b.X.ld = LD_ROWS;
  b.X.layout = SPTRSM_ROW_MAJOR;
  free(host);
  return b;
}

static void check(const blocks *b, const double *expected, const char *what) {
  double *x = malloc(sizeof(double) * LD_ROWS * N);
  cuda_ok(cudaMemcpy(x, b->X.data, sizeof(double) * LD_ROWS * N, cudaMemcpyDeviceToHost));
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < LD_ROWS; k++) {
      double found = x[i * LD_ROWS + k], wanted = k < b->X.nrhs ? expected[i * NRHS + k] : CANARY;
      cr_assert(k < b->X.nrhs ? fabs(found - wanted) <= 1e-11 * (1 + fabs(wanted)) : found == wanted, "%s: X(%lld,%lld) = %.17g, not %.17g",
                what, (long long)i, (long long)k, found, wanted);
    }
  free(x);
}

static void free_blocks(blocks *b) {
  cuda_ok(cudaFree(b->B.data));
  cuda_ok(cudaFree(b->X.data));
}

/* The same system in device memory. */
static sptrsm_sparse on_device(const system_data *s) {
  sptrsm_sparse T = s->T;
  T.place = SPTRSM_CUDA;
  T.ptr = to_device(s->ptr, sizeof s->ptr);
  T.idx = to_device(s->idx, sizeof s->idx);
  T.val = to_device(s->val, sizeof s->val);
  return T;
}

static void free_system(sptrsm_sparse *T) {
  cuda_ok(cudaFree((void *)T->ptr));
  cuda_ok(cudaFree((void *)T->idx));
  cuda_ok(cudaFree((void *)T->val));
}

static system_data data;
static double expected[N * NRHS], expected_other[N * NRHS];

static void setup(void) {
  make_system(&data);
  reference(expected, &data.T);
  sptrsm_sparse other = data.T;
  other.val = data.other;
  reference(expected_other, &other);
}

TestSuite(gpu, .init = setup);

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static solver open_solver(const sptrsm_sparse *T, sptrsm_copy_mode mode, const char *method, void *stream) {
  solver s;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  ok(sptrsm_context_create(&s.context, SPTRSM_CUDA, 0, stream));
  ok(sptrsm_matrix_create(&s.matrix, s.context, T, mode));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  return s;
}

static void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

static const char *const methods[] = {"syncfree-csc",
                                      "syncfree-csc:ready=1",
                                      "syncfree-csc:ready=1,split=1,segment=1,gather=1,share=1",
                                      "levelset",
                                      "levelset:segment=64,dense=0",
                                      "levelset:narrow=1",
                                      "recblock",
                                      "recblock:depth=3,levels=0,thin=0,short=2,long=3,chunk=2",
                                      "gather",
                                      "gather:split=2,segment=1",
                                      "syncfree-csr",
                                      "syncfree-csr:order=block",
                                      "syncfree-csr:preset=thread",
                                      "syncfree-csr:preset=warp",
                                      "syncfree-csr:preset=yy",
                                      "syncfree-csr:order=packed,split=2",
                                      "cusparse",
                                      "auto"};
enum { METHODS = sizeof methods / sizeof *methods };

Test(gpu, device_pointers_borrowed_arrays_and_new_values) {
  for (size_t m = 0; m < METHODS; m++) {
    sptrsm_sparse T = on_device(&data);
    solver s = open_solver(&T, SPTRSM_BORROW, methods[m], NULL);
    blocks b = make_blocks();
    ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
    ok(sptrsm_context_sync(s.context));
    check(&b, expected, methods[m]);
    void *other = to_device(data.other, sizeof data.other);
    ok(sptrsm_matrix_set_values(s.matrix, other));
    ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
    ok(sptrsm_context_sync(s.context));
    check(&b, expected_other, "after new values");
    close_solver(&s);
    cuda_ok(cudaFree(other));
    free_blocks(&b);
    free_system(&T);
  }
}

/* The kernels for one right-hand side, with one and with a few, which are then solved one by one. */
Test(gpu, one_right_hand_side) {
  static const char *const more[] = {"syncfree-csc:two=0,singly=3", "syncfree-csc:two=1",         "syncfree-csc:two=2,singly=3",
                                     "syncfree-csc:two=1,warps=1",  "syncfree-csc:two=1,warps=3", "syncfree-csc:two=1,warps=32",
                                     "syncfree-csc:two=2,warps=32"};
  const size_t count = METHODS + sizeof more / sizeof *more;
  for (size_t m = 0; m < count; m++) {
    const char *method = m < METHODS ? methods[m] : more[m - METHODS];
    solver s = open_solver(&data.T, SPTRSM_COPY, method, NULL);
    blocks b = make_blocks();
    for (int run = 0; run < 12; run++) {
      b.B.nrhs = b.X.nrhs = 1 + run / 4; /* 1, 2 and 3, each several times */
      ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
      ok(sptrsm_context_sync(s.context));
      check(&b, expected, method);
    }
    close_solver(&s);
    free_blocks(&b);
  }
}

/* Captured once, then replayed, plain solves with the same workspace in between. */
static void check_capture(const char *method, int64_t nrhs) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  solver s = open_solver(&data.T, SPTRSM_COPY, method, stream);
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
  close_solver(&s);
  free_blocks(&b);
  cuda_ok(cudaStreamDestroy(stream));
}

/* Some methods refuse this system: structgrid, for example, solves stencils only. */
static bool takes_the_system(const char *method) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan = NULL;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&matrix, context, &data.T, SPTRSM_COPY));
  const sptrsm_status status = sptrsm_plan_create(&plan, matrix, &options);
  if (status != SPTRSM_ERR_UNSUPPORTED) ok(status);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  return status == SPTRSM_OK;
}

Test(gpu, capture_in_a_graph) {
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

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Borrowed arrays are changed without the library's knowledge, so that row 50 misses an update. The solve must end
 * within a second, with an error that says so; once the array is repaired, the same plan must work again. */
Test(gpu, a_lost_dependency_ends_in_an_error) {
  sptrsm_sparse T = on_device(&data);
  solver s = open_solver(&T, SPTRSM_BORROW, "syncfree-csc", NULL);
  blocks b = make_blocks();
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  ok(sptrsm_context_sync(s.context));
  int32_t *entry = (int32_t *)T.idx + data.ptr[49] + 1, wrong = 51;
  cr_assert_eq(data.idx[data.ptr[49] + 1], 50);
  cuda_ok(cudaMemcpy(entry, &wrong, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  double start = seconds();
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  cr_assert_eq(sptrsm_context_sync(s.context), SPTRSM_ERR_DEVICE);
  double elapsed = seconds() - start;
  cr_assert(elapsed < 1.0, "giving up took %.2f s", elapsed);
  cr_assert(strstr(sptrsm_last_error(), "dependency never arrived (row "), "%s", sptrsm_last_error());
  cuda_ok(cudaMemcpy(entry, data.idx + data.ptr[49] + 1, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  ok(sptrsm_context_sync(s.context));
  check(&b, expected, "after the loss");
  close_solver(&s);
  free_blocks(&b);
  free_system(&T);
}

/* The transposed solve reads the borrowed columns as rows: row 49 then depends on itself. */
Test(gpu, a_lost_value_ends_in_an_error) {
  sptrsm_sparse T = on_device(&data);
  sptrsm_options options;
  solver s;
  sptrsm_options_init(&options);
  options.method = "syncfree-csr:preset=thread";
  options.op = SPTRSM_T;
  ok(sptrsm_context_create(&s.context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&s.matrix, s.context, &T, SPTRSM_BORROW));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  blocks b = make_blocks();
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  ok(sptrsm_context_sync(s.context));
  int32_t *entry = (int32_t *)T.idx + data.ptr[49] + 1, wrong = 49;
  cuda_ok(cudaMemcpy(entry, &wrong, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  double start = seconds();
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  cr_assert_eq(sptrsm_context_sync(s.context), SPTRSM_ERR_DEVICE);
  double elapsed = seconds() - start;
  cr_assert(elapsed < 1.0, "giving up took %.2f s", elapsed);
  cr_assert(strstr(sptrsm_last_error(), "dependency never arrived (row "), "%s", sptrsm_last_error());
  cuda_ok(cudaMemcpy(entry, data.idx + data.ptr[49] + 1, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  ok(sptrsm_context_sync(s.context));
  close_solver(&s);
  free_blocks(&b);
  free_system(&T);
}

/* An analysis has waits of its own, and must not report a dependency that a solve before it has lost. */
Test(gpu, a_lost_value_is_reported_after_an_analysis) {
  sptrsm_sparse T = on_device(&data);
  sptrsm_options options;
  sptrsm_plan *later;
  solver s;
  sptrsm_options_init(&options);
  options.method = "syncfree-csr:preset=thread";
  options.op = SPTRSM_T;
  ok(sptrsm_context_create(&s.context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&s.matrix, s.context, &T, SPTRSM_BORROW));
  ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  blocks b = make_blocks();
  int32_t *entry = (int32_t *)T.idx + data.ptr[49] + 1, wrong = 49;
  cuda_ok(cudaMemcpy(entry, &wrong, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  ok(sptrsm_solve(s.plan, NULL, NULL, &b.B, &b.X));
  cuda_ok(cudaDeviceSynchronize());
  cuda_ok(cudaMemcpy(entry, data.idx + data.ptr[49] + 1, sizeof wrong, cudaMemcpyHostToDevice));
  cuda_ok(cudaDeviceSynchronize());
  options.method = "block";
  ok(sptrsm_plan_create(&later, s.matrix, &options));
  cr_assert_eq(sptrsm_context_sync(s.context), SPTRSM_ERR_DEVICE);
  cr_assert(strstr(sptrsm_last_error(), "dependency never arrived (row "), "%s", sptrsm_last_error());
  ok(sptrsm_context_sync(s.context));
  sptrsm_plan_destroy(later);
  close_solver(&s);
  free_blocks(&b);
  free_system(&T);
}

Test(gpu, malformed_device_arrays_are_refused_in_time) {
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

/* Two solves with one plan that run at a time need a workspace each; here on one stream, then with two contexts on
 * two streams. */
static void check_workspaces(const char *method) {
  solver one = open_solver(&data.T, SPTRSM_COPY, method, NULL), two = open_solver(&data.T, SPTRSM_COPY, method, NULL);
  sptrsm_workspace *workspaces[2];
  blocks b[3] = {make_blocks(), make_blocks(), make_blocks()};
  for (int w = 0; w < 2; w++) ok(sptrsm_workspace_create(&workspaces[w], one.plan, w ? 16 : 0));
  for (int w = 0; w < 2; w++) ok(sptrsm_solve(one.plan, workspaces[w], NULL, &b[w].B, &b[w].X));
  ok(sptrsm_solve(two.plan, NULL, NULL, &b[2].B, &b[2].X));
  ok(sptrsm_context_sync(one.context));
  ok(sptrsm_context_sync(two.context));
  for (int w = 0; w < 3; w++) check(&b[w], expected, method);
  for (int w = 0; w < 2; w++) sptrsm_workspace_destroy(workspaces[w]);
  for (int w = 0; w < 3; w++) free_blocks(&b[w]);
  close_solver(&one);
  close_solver(&two);
}

Test(gpu, workspaces_and_streams) {
  for (size_t m = 0; m < METHODS; m++) check_workspaces(methods[m]);
}

static void CUDART_CB wait_a_while(void *unused) {
  (void)unused;
  const struct timespec while_ = {.tv_nsec = 20 * 1000 * 1000};
  nanosleep(&while_, NULL);
}

/* The right-hand sides arrive late on the stream that is left, so the solve on the next stream is right only if it waits for that. */
static void check_stream_change(const char *method, solver *s, cudaStream_t from, cudaStream_t to) {
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

Test(gpu, a_context_changes_its_stream) {
  cudaStream_t one, two;
  cuda_ok(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
  cuda_ok(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  for (size_t m = 0; m < METHODS; m++) {
    solver s = open_solver(&data.T, SPTRSM_COPY, methods[m], NULL);
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
    close_solver(&s);
  }
  cuda_ok(cudaStreamDestroy(one));
  cuda_ok(cudaStreamDestroy(two));
}

/* The first row of the table whose bounds hold for the features of the triangle. */
static const char *row_method(const sptrsm_matrix *matrix, const sptrsm_options *options, const char *device) {
  double values[SPTRSM_AUTO_FEATURES];
  static sptrsm_auto_row row;
  row.size = sizeof row;
  ok(sptrsm_auto_features(values, matrix, options));
  for (int r = 0; r < sptrsm_auto_row_count(); r++) {
    ok(sptrsm_auto_row_at(&row, r, device));
    bool holds = row.place == SPTRSM_CUDA;
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++)
      holds = holds && values[f] >= row.least[f] && (row.most[f] == 0 || values[f] <= row.most[f]);
    if (holds) return row.method;
  }
  return "none";
}

/* A plan by `auto` takes the method that the public table and the public features lead to. */
Test(gpu, auto_takes_the_row_that_its_features_keep_to) {
  static const int64_t counts[] = {0, 1, 4, 8, 32, 200};
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&matrix, context, &data.T, SPTRSM_COPY));
  for (int c = 0; c < 6; c++) {
    sptrsm_plan *plan;
    sptrsm_options options;
    sptrsm_info info = {.size = sizeof info};
    sptrsm_options_init(&options);
    options.nrhs_hint = counts[c];
    const char *method = row_method(matrix, &options, sptrsm_context_describe(context));
    ok(sptrsm_plan_create(&plan, matrix, &options));
    ok(sptrsm_plan_info(&info, plan));
    cr_expect_str_eq(info.method, method, "%d right-hand sides", (int)counts[c]);
    sptrsm_plan_destroy(plan);
  }
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}
