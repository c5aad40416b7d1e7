/* bits_device.c -- deterministic methods on a device: a hundred solves give the same bits, whatever the width of the
 * workspace, the stream and a second solve at the same time. The systems are larger than those of conformance.c, so
 * that thousands of thread blocks take part. */
#include <criterion/criterion.h>

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>

#include "support/oracle.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

enum { NRHS = 129, RUNS = 50, STREAMS = 2 };
static const int32_t widths[] = {0, 1, 7, 32, 40, 128, 129};

static const struct {
  test_pattern pattern;
  int32_t n;
  sptrsm_dtype dtype;
  sptrsm_uplo uplo;
} systems[] = {
    {TEST_LAYERED, 6000, SPTRSM_F64, SPTRSM_LOWER}, {TEST_FULL, 900, SPTRSM_F64, SPTRSM_UPPER},
    {TEST_RANDOM, 3000, SPTRSM_C64, SPTRSM_LOWER},  {TEST_GRID, 4096, SPTRSM_F32, SPTRSM_UPPER}, /* a 5-point stencil on 64 x 64 points */
    {TEST_GRID, 1025, SPTRSM_F64, SPTRSM_UPPER},                                                 /* 33 points on 5 x 41 x 5 */
    {TEST_GRID, 1025, SPTRSM_C64, SPTRSM_LOWER},    {TEST_GRID, 1025, SPTRSM_C128, SPTRSM_UPPER},
    {TEST_CHAIN, 2000, SPTRSM_C128, SPTRSM_LOWER}};

static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }
static void cuda_ok(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }

/* A plan on a stream of its own, a workspace of each width and X in device memory. */
typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace[LENGTH(widths)];
  sptrsm_block X;
  void *found; /* X in host memory */
  size_t bytes;
} solver;

/* False: the method refuses the system. */
static bool open_solver(solver *s, const test_system *system, const char *method) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  *s = (solver){.bytes = (size_t)system->T.n * NRHS * sptrsm_dtype_bytes(system->T.dtype)};
  s->X = (sptrsm_block){
      .ld = NRHS, .n = system->T.n, .nrhs = NRHS, .dtype = system->T.dtype, .layout = SPTRSM_ROW_MAJOR, .place = SPTRSM_CUDA};
  s->found = malloc(s->bytes);
  cr_assert(s->found);
  cuda_ok(cudaMalloc(&s->X.data, s->bytes));
  ok(sptrsm_context_create(&s->context, SPTRSM_CUDA, 0, NULL));
  ok(sptrsm_matrix_create(&s->matrix, s->context, &system->T, SPTRSM_COPY));
  const sptrsm_status status = sptrsm_plan_create(&s->plan, s->matrix, &options);
  if (status == SPTRSM_ERR_UNSUPPORTED) return false;
  ok(status);
  for (int w = 0; w < LENGTH(widths); w++) ok(sptrsm_workspace_create(&s->workspace[w], s->plan, widths[w]));
  return true;
}

static void close_solver(solver *s) {
  for (int w = 0; w < LENGTH(widths); w++) sptrsm_workspace_destroy(s->workspace[w]);
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
  cuda_ok(cudaFree(s->X.data));
  free(s->found);
}

static void fetch(solver *s) {
  ok(sptrsm_context_sync(s->context));
  cuda_ok(cudaMemcpy(s->found, s->X.data, s->bytes, cudaMemcpyDeviceToHost));
}

/* Solves on both streams at a time, in each run with another pair of widths; all must have the bits of the first
 * solve. */
static void check_runs(solver *s, const sptrsm_block *B, const char *method) {
  void *expected = malloc(s[0].bytes);
  cr_assert(expected);
  ok(sptrsm_solve(s[0].plan, NULL, NULL, B, &s[0].X));
  fetch(&s[0]);
  memcpy(expected, s[0].found, s[0].bytes);
  for (int run = 0; run < RUNS; run++) {
    for (int t = 0; t < STREAMS; t++) {
      cuda_ok(cudaMemset(s[t].X.data, 0, s[t].bytes));
      cuda_ok(cudaDeviceSynchronize());
    }
    for (int t = 0; t < STREAMS; t++) ok(sptrsm_solve(s[t].plan, s[t].workspace[(run + 3 * t) % LENGTH(widths)], NULL, B, &s[t].X));
    for (int t = 0; t < STREAMS; t++) {
      fetch(&s[t]);
      cr_assert_eq(memcmp(expected, s[t].found, s[t].bytes), 0, "%s, n=%d: other bits in run %d on stream %d by panels of %d", method, B->n,
                   run, t, widths[(run + 3 * t) % LENGTH(widths)]);
    }
  }
  free(expected);
}

static void check_system(int number, const char *method) {
  test_system system = test_system_make(systems[number].pattern, systems[number].n, SPTRSM_CSR, systems[number].dtype, systems[number].uplo,
                                        TEST_NONUNIT, 5);
  test_block host = test_block_make(system.T.n, NRHS, system.T.dtype, SPTRSM_COL_MAJOR, 1);
  sptrsm_block B = host.block;
  const size_t bytes = (size_t)(B.ld * NRHS) * sptrsm_dtype_bytes(B.dtype);
  solver s[STREAMS];
  test_block_fill(&host, 7);
  B.place = SPTRSM_CUDA;
  cuda_ok(cudaMalloc(&B.data, bytes));
  cuda_ok(cudaMemcpy(B.data, host.block.data, bytes - sptrsm_dtype_bytes(B.dtype), cudaMemcpyHostToDevice));
  bool taken = true;
  for (int t = 0; t < STREAMS; t++) taken = open_solver(&s[t], &system, method) && taken;
  if (taken) check_runs(s, &B, method);
  for (int t = 0; t < STREAMS; t++) close_solver(&s[t]);
  cuda_ok(cudaFree(B.data));
  test_block_free(&host);
  test_system_free(&system);
}

/* Refined panels by tiles of any width, with zeros and unit vectors as right-hand sides: solutions that are 0 have a
 * sign, too. */
static void check_tiles(int number) {
  static const char *const variants[] = {"block:bound=0,tile=8", "block:bound=0,tile=16", "block:bound=0,tile=32"};
  test_system system = test_system_make(systems[number].pattern, systems[number].n, SPTRSM_CSR, systems[number].dtype, systems[number].uplo,
                                        TEST_NONUNIT, 5);
  const size_t bytes = (size_t)system.T.n * NRHS * sptrsm_dtype_bytes(system.T.dtype), column = sptrsm_dtype_bytes(system.T.dtype);
  test_block host = test_block_make(system.T.n, NRHS, system.T.dtype, SPTRSM_ROW_MAJOR, 0);
  sptrsm_block B = host.block;
  const size_t pitch = (size_t)B.ld * column;
  char *first = malloc(bytes);
  cr_assert(first);
  test_block_fill(&host, 7);
  for (int32_t i = 0; i < B.n; i++) {
    char *row = (char *)host.block.data + (size_t)i * pitch;
    memset(row, 0, 2 * column);
    if (i == B.n / 2) memcpy(row + column, row + 2 * column, column);
  }
  B.place = SPTRSM_CUDA;
  cuda_ok(cudaMalloc(&B.data, (size_t)B.n * pitch));
  cuda_ok(cudaMemcpy(B.data, host.block.data, (size_t)(B.n - 1) * pitch + NRHS * column, cudaMemcpyHostToDevice));
  for (int v = 0; v < LENGTH(variants); v++) {
    solver s;
    cr_assert(open_solver(&s, &system, variants[v]), "%s", sptrsm_last_error());
    ok(sptrsm_solve(s.plan, NULL, NULL, &B, &s.X));
    fetch(&s);
    if (v == 0) memcpy(first, s.found, bytes);
    cr_assert_eq(memcmp(first, s.found, bytes), 0, "%s, n=%d: other bits than by %s", variants[v], B.n, variants[0]);
    close_solver(&s);
  }
  cuda_ok(cudaFree(B.data));
  free(first);
  test_block_free(&host);
  test_system_free(&system);
}

Test(bits_device, tiles_of_block) {
  for (int c = 0; c < LENGTH(systems); c++) check_tiles(c);
}

Test(bits_device, runs_panels_and_streams) {
  int checked = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    ok(sptrsm_method_at(&info, m));
    if (info.place != SPTRSM_CUDA || !info.deterministic) continue;
    for (int c = 0; c < LENGTH(systems); c++) check_system(c, info.name);
    checked++;
  }
  cr_assert_geq(checked, 2, "%d methods promise the same bits", checked);
}
