/* bench_cusparse.c -- cuSPARSE called as its documentation says, nothing of this library in between: the baseline. */
#define DISABLE_CUSPARSE_DEPRECATED
#include "bench.h"

#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdlib.h>
#include <string.h>

#define CUDA_OK(call)                                                                                                                      \
  do {                                                                                                                                     \
    cudaError_t error_ = (call);                                                                                                           \
    if (error_ != cudaSuccess) return sptrsm_error_set(SPTRSM_ERR_DEVICE, "%s: %s", #call, cudaGetErrorString(error_));                    \
  } while (0)
#define SPARSE_OK(call)                                                                                                                    \
  do {                                                                                                                                     \
    cusparseStatus_t error_ = (call);                                                                                                      \
    if (error_ != CUSPARSE_STATUS_SUCCESS) return sptrsm_error_set(SPTRSM_ERR_DEVICE, "%s: %s", #call, cusparseGetErrorString(error_));    \
  } while (0)

enum { MAX_REPS = 1000 };

typedef struct {
  const bench_case *c;
  cusparseHandle_t handle;
  cudaDataType type;
  cusparseOperation_t op;
  int32_t *ptr, *idx; /* device; CSC is read as the CSR of the transpose */
  void *val, *B, *X;
  cusparseSpMatDescr_t matrix;
  bench_timer *timer;
} baseline;

static const void *one(sptrsm_dtype dtype) {
  static const float single[2] = {1, 0};
  static const double twice[2] = {1, 0};
  return dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (const void *)single : (const void *)twice;
}

static sptrsm_status upload_matrix(baseline *b) {
  const sptrsm_sparse *T = b->c->T;
  int64_t nnz = T->ptr[T->n];
  size_t bytes = sptrsm_dtype_bytes(T->dtype), count = (size_t)T->n + 1;
  int32_t *narrow = malloc(count * sizeof *narrow);
  if (!narrow) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "baseline pointers: no memory");
  for (size_t i = 0; i < count; i++) narrow[i] = (int32_t)T->ptr[i];
  sptrsm_status status = bench_memory((void **)&b->ptr, SPTRSM_CUDA, count * sizeof *narrow, narrow);
  free(narrow);
  if (status == SPTRSM_OK) status = bench_memory((void **)&b->idx, SPTRSM_CUDA, (size_t)nnz * sizeof *T->idx, T->idx);
  if (status == SPTRSM_OK) status = bench_memory(&b->val, SPTRSM_CUDA, (size_t)nnz * bytes, T->val);
  if (status != SPTRSM_OK) return status;
  bool upper = (T->uplo == SPTRSM_UPPER) == (T->format == SPTRSM_CSR);
  cusparseFillMode_t fill = upper ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diag = T->diag == SPTRSM_UNIT ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  SPARSE_OK(cusparseCreateCsr(&b->matrix, T->n, T->n, nnz, b->ptr, b->idx, b->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_BASE_ZERO, b->type));
  SPARSE_OK(cusparseSpMatSetAttribute(b->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  SPARSE_OK(cusparseSpMatSetAttribute(b->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
  return SPTRSM_OK;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void summarise(bench_times *t, double *ms, int reps) {
  qsort(ms, (size_t)reps, sizeof *ms, ascending);
  t->solve_ms = ms[reps / 2];
  t->solve_ms_min = ms[0];
}

static size_t block_bytes(const baseline *b) { return (size_t)b->c->T->n * (size_t)b->c->nrhs * sptrsm_dtype_bytes(b->c->T->dtype); }

/* One analysis and the repetitions in one order of the dense blocks. The numbers of a column-major B are those of the
 * row-major one read in that order: another right-hand side of the same size, for timing only. */
static sptrsm_status measure_block(bench_times *t, baseline *b, cusparseOrder_t order, double *ms) {
  const bench_case *c = b->c;
  int64_t n = c->T->n, ld = order == CUSPARSE_ORDER_ROW ? c->nrhs : n;
  const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const void *alpha = one(c->T->dtype);
  cusparseDnMatDescr_t B, X;
  cusparseSpSMDescr_t solver;
  void *buffer;
  SPARSE_OK(cusparseCreateDnMat(&B, n, c->nrhs, ld, b->B, b->type, order));
  SPARSE_OK(cusparseCreateDnMat(&X, n, c->nrhs, ld, b->X, b->type, order));
  for (int pass = 0; pass < 2; pass++) {
    SPARSE_OK(cusparseSpSM_createDescr(&solver));
    CUDA_OK(cudaDeviceSynchronize());
    bench_timer_start(b->timer);
    SPARSE_OK(cusparseSpSM_bufferSize(b->handle, b->op, as_is, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSM_ALG_DEFAULT, solver,
                                      &t->workspace_bytes));
    CUDA_OK(cudaMalloc(&buffer, t->workspace_bytes ? t->workspace_bytes : 1));
    SPARSE_OK(cusparseSpSM_analysis(b->handle, b->op, as_is, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSM_ALG_DEFAULT, solver, buffer));
    *(pass ? &t->analysis_ms : &t->analysis_first_ms) = bench_timer_stop(b->timer);
    if (pass) break;
    CUDA_OK(cudaFree(buffer));
    SPARSE_OK(cusparseSpSM_destroyDescr(solver));
  }
  for (int r = -1; r < c->reps; r++) {
    bench_poison(b->X, SPTRSM_CUDA, block_bytes(b), NULL);
    bench_timer_start(b->timer);
    SPARSE_OK(cusparseSpSM_solve(b->handle, b->op, as_is, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSM_ALG_DEFAULT, solver));
    double elapsed = bench_timer_stop(b->timer);
    if (r >= 0) ms[r] = elapsed;
  }
  summarise(t, ms, c->reps);
  CUDA_OK(cudaFree(buffer));
  SPARSE_OK(cusparseSpSM_destroyDescr(solver));
  SPARSE_OK(cusparseDestroyDnMat(B));
  SPARSE_OK(cusparseDestroyDnMat(X));
  return SPTRSM_OK;
}

static sptrsm_status measure_vector(bench_times *t, baseline *b, double *ms) {
  const bench_case *c = b->c;
  const void *alpha = one(c->T->dtype);
  cusparseDnVecDescr_t B, X;
  cusparseSpSVDescr_t solver;
  void *buffer;
  SPARSE_OK(cusparseCreateDnVec(&B, c->T->n, b->B, b->type));
  SPARSE_OK(cusparseCreateDnVec(&X, c->T->n, b->X, b->type));
  for (int pass = 0; pass < 2; pass++) {
    SPARSE_OK(cusparseSpSV_createDescr(&solver));
    CUDA_OK(cudaDeviceSynchronize());
    bench_timer_start(b->timer);
    SPARSE_OK(
        cusparseSpSV_bufferSize(b->handle, b->op, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSV_ALG_DEFAULT, solver, &t->workspace_bytes));
    CUDA_OK(cudaMalloc(&buffer, t->workspace_bytes ? t->workspace_bytes : 1));
    SPARSE_OK(cusparseSpSV_analysis(b->handle, b->op, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSV_ALG_DEFAULT, solver, buffer));
    *(pass ? &t->analysis_ms : &t->analysis_first_ms) = bench_timer_stop(b->timer);
    if (pass) break;
    CUDA_OK(cudaFree(buffer));
    SPARSE_OK(cusparseSpSV_destroyDescr(solver));
  }
  for (int r = -1; r < c->reps; r++) {
    bench_poison(b->X, SPTRSM_CUDA, block_bytes(b), NULL);
    bench_timer_start(b->timer);
    SPARSE_OK(cusparseSpSV_solve(b->handle, b->op, alpha, b->matrix, B, X, b->type, CUSPARSE_SPSV_ALG_DEFAULT, solver));
    double elapsed = bench_timer_stop(b->timer);
    if (r >= 0) ms[r] = elapsed;
  }
  summarise(t, ms, c->reps);
  CUDA_OK(cudaFree(buffer));
  SPARSE_OK(cusparseSpSV_destroyDescr(solver));
  SPARSE_OK(cusparseDestroyDnVec(B));
  SPARSE_OK(cusparseDestroyDnVec(X));
  return SPTRSM_OK;
}

/* Column-major first, so that X holds the row-major solution of the case at the end. */
static sptrsm_status measure_all(bench_times *better, const char **which, baseline *b) {
  static double ms[MAX_REPS];
  bench_times t = {0};
  sptrsm_status status = measure_block(better, b, CUSPARSE_ORDER_COL, ms);
  *which = "SpSM column-major";
  if (status == SPTRSM_OK) status = measure_block(&t, b, CUSPARSE_ORDER_ROW, ms);
  if (status == SPTRSM_OK && t.solve_ms < better->solve_ms) {
    *better = t;
    *which = "SpSM row-major";
  }
  if (status != SPTRSM_OK || b->c->nrhs > 1) return status;
  status = measure_vector(&t, b, ms);
  if (status == SPTRSM_OK) { /* what a user of cuSPARSE calls for one right-hand side, whether or not SpSM beats it */
    *better = t;
    *which = "SpSV";
  }
  return status;
}

static sptrsm_status prepare(baseline *b) {
  const bench_case *c = b->c;
  bool transpose = (c->T->format == SPTRSM_CSC) != (c->op != SPTRSM_N);
  b->op = transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  if (c->op == SPTRSM_C) {
    if (c->T->format == SPTRSM_CSC) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "cuSPARSE has no conjugation without transposition");
    b->op = CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
  }
  SPARSE_OK(cusparseCreate(&b->handle));
  sptrsm_status status = upload_matrix(b);
  if (status == SPTRSM_OK) status = bench_memory(&b->B, SPTRSM_CUDA, block_bytes(b), c->B);
  if (status == SPTRSM_OK) status = bench_memory(&b->X, SPTRSM_CUDA, block_bytes(b), NULL);
  if (status == SPTRSM_OK) status = bench_timer_create(&b->timer, SPTRSM_CUDA, NULL);
  return status;
}

sptrsm_status bench_cusparse(bench_times *better, const char **which, const bench_case *c) {
  static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
  if (c->reps > MAX_REPS) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "at most %d repetitions", MAX_REPS);
  baseline b = {.c = c, .type = types[c->T->dtype]};
  sptrsm_status status = prepare(&b);
  *better = (bench_times){0};
  if (status == SPTRSM_OK) status = measure_all(better, which, &b);
  if (status == SPTRSM_OK) status = bench_memory_read(c->X, b.X, SPTRSM_CUDA, block_bytes(&b));
  bench_timer_destroy(b.timer);
  if (b.matrix) (void)cusparseDestroySpMat(b.matrix);
  if (b.handle) (void)cusparseDestroy(b.handle);
  void *const memory[] = {b.ptr, b.idx, b.val, b.B, b.X};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) bench_memory_free(memory[i], SPTRSM_CUDA);
  return status;
}
