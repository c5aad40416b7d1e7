/* cusparse.c -- the baseline: cuSPARSE called directly, as its documentation says, without this library. */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"

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

typedef struct {
  bench_blocks blocks;
  cusparseHandle_t handle;
  cudaDataType type;
  cusparseOperation_t op;
  int32_t *ptr, *idx; /* in device memory, as val; CSC is read as the CSR of the transpose */
  void *val;
  cusparseSpMatDescr_t matrix;
  void *buffer;
  size_t buffer_bytes;
  cusparseDnMatDescr_t block_B, block_X; /* for SpSM */
  cusparseSpSMDescr_t block_solver;
  cusparseDnVecDescr_t vector_B, vector_X; /* for SpSV */
  cusparseSpSVDescr_t vector_solver;
} baseline;

static const void *one(const baseline *b) {
  static const float single[2] = {1, 0};
  static const double twice[2] = {1, 0};
  return b->type == CUDA_R_32F || b->type == CUDA_C_32F ? (const void *)single : (const void *)twice;
}

static sptrsm_status upload_matrix(baseline *b) {
  const sptrsm_sparse *T = b->blocks.c->T;
  int64_t nnz = T->ptr[T->n];
  size_t bytes = sptrsm_dtype_bytes(T->dtype), count = (size_t)T->n + 1;
  if (nnz > INT32_MAX)
    return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "cuSPARSE is called with 32-bit offsets: %lld entries", (long long)nnz);
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

static sptrsm_status new_buffer(baseline *b) {
  bench_memory_free(b->buffer, SPTRSM_CUDA);
  b->buffer = NULL;
  return bench_memory(&b->buffer, SPTRSM_CUDA, b->buffer_bytes, NULL);
}

/* ---- SpSM ---- */

static sptrsm_status analyse_block(baseline *b) {
  const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  SPARSE_OK(cusparseSpSM_createDescr(&b->block_solver));
  SPARSE_OK(cusparseSpSM_bufferSize(b->handle, b->op, as_is, one(b), b->matrix, b->block_B, b->block_X, b->type, CUSPARSE_SPSM_ALG_DEFAULT,
                                    b->block_solver, &b->buffer_bytes));
  sptrsm_status status = new_buffer(b);
  if (status != SPTRSM_OK) return status;
  SPARSE_OK(cusparseSpSM_analysis(b->handle, b->op, as_is, one(b), b->matrix, b->block_B, b->block_X, b->type, CUSPARSE_SPSM_ALG_DEFAULT,
                                  b->block_solver, b->buffer));
  return SPTRSM_OK;
}

static sptrsm_status solve_block(void *self) {
  baseline *b = self;
  SPARSE_OK(cusparseSpSM_solve(b->handle, b->op, CUSPARSE_OPERATION_NON_TRANSPOSE, one(b), b->matrix, b->block_B, b->block_X, b->type,
                               CUSPARSE_SPSM_ALG_DEFAULT, b->block_solver));
  return SPTRSM_OK;
}

static void end_block(baseline *b) {
  if (b->block_solver) (void)cusparseSpSM_destroyDescr(b->block_solver);
  b->block_solver = NULL;
}

/* ---- SpSV ---- */

static sptrsm_status analyse_vector(baseline *b) {
  SPARSE_OK(cusparseSpSV_createDescr(&b->vector_solver));
  SPARSE_OK(cusparseSpSV_bufferSize(b->handle, b->op, one(b), b->matrix, b->vector_B, b->vector_X, b->type, CUSPARSE_SPSV_ALG_DEFAULT,
                                    b->vector_solver, &b->buffer_bytes));
  sptrsm_status status = new_buffer(b);
  if (status != SPTRSM_OK) return status;
  SPARSE_OK(cusparseSpSV_analysis(b->handle, b->op, one(b), b->matrix, b->vector_B, b->vector_X, b->type, CUSPARSE_SPSV_ALG_DEFAULT,
                                  b->vector_solver, b->buffer));
  return SPTRSM_OK;
}

static sptrsm_status solve_vector(void *self) {
  baseline *b = self;
  SPARSE_OK(cusparseSpSV_solve(b->handle, b->op, one(b), b->matrix, b->vector_B, b->vector_X, b->type, CUSPARSE_SPSV_ALG_DEFAULT,
                               b->vector_solver));
  return SPTRSM_OK;
}

static void end_vector(baseline *b) {
  if (b->vector_solver) (void)cusparseSpSV_destroyDescr(b->vector_solver);
  b->vector_solver = NULL;
}

/* ---- measuring ---- */

typedef struct {
  const char *name;
  sptrsm_layout layout;
  sptrsm_status (*analyse)(baseline *);
  bench_solve solve;
  void (*end)(baseline *);
} routine;

static sptrsm_status measure(bench_result *t, baseline *b, const routine *how) {
  sptrsm_status status = SPTRSM_OK;
  for (int pass = 0; pass < 2 && status == SPTRSM_OK; pass++) {
    how->end(b);
    CUDA_OK(cudaStreamSynchronize((cudaStream_t)b->blocks.stream));
    bench_timer_start(b->blocks.timer);
    status = how->analyse(b);
    *(pass ? &t->analysis_ms : &t->analysis_first_ms) = bench_timer_stop(b->blocks.timer);
  }
  t->workspace_bytes = b->buffer_bytes;
  snprintf(t->params, sizeof t->params, "%s", how->name);
  if (status == SPTRSM_OK) status = bench_repeat(t, &b->blocks, how->layout, how->solve, b);
  how->end(b);
  return status;
}

/* SpSM in one order of the dense blocks. The memory of the row-major B is read as a column-major one: other right-hand sides of the same
 * size. */
static sptrsm_status measure_block(bench_result *t, baseline *b, sptrsm_layout layout) {
  const bench_case *c = b->blocks.c;
  const bool rows = layout == SPTRSM_ROW_MAJOR;
  const routine how = {rows ? "SpSM row-major" : "SpSM column-major", layout, analyse_block, solve_block, end_block};
  const int64_t n = c->T->n, ld = rows ? c->nrhs : n;
  const cusparseOrder_t order = rows ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
  SPARSE_OK(cusparseCreateDnMat(&b->block_B, n, c->nrhs, ld, b->blocks.B, b->type, order));
  SPARSE_OK(cusparseCreateDnMat(&b->block_X, n, c->nrhs, ld, b->blocks.X, b->type, order));
  sptrsm_status status = measure(t, b, &how);
  (void)cusparseDestroyDnMat(b->block_B);
  (void)cusparseDestroyDnMat(b->block_X);
  return status;
}

static sptrsm_status measure_vector(bench_result *t, baseline *b) {
  const routine how = {"SpSV", SPTRSM_COL_MAJOR, analyse_vector, solve_vector, end_vector};
  SPARSE_OK(cusparseCreateDnVec(&b->vector_B, b->blocks.c->T->n, b->blocks.B, b->type));
  SPARSE_OK(cusparseCreateDnVec(&b->vector_X, b->blocks.c->T->n, b->blocks.X, b->type));
  sptrsm_status status = measure(t, b, &how);
  (void)cusparseDestroyDnVec(b->vector_B);
  (void)cusparseDestroyDnVec(b->vector_X);
  return status;
}

/* SpSV for one right-hand side, because users call it for that, even where SpSM is faster. */
static sptrsm_status measure_all(bench_result *better, baseline *b) {
  if (b->blocks.c->nrhs == 1) return measure_vector(better, b);
  bench_result t = *better;
  sptrsm_status status = measure_block(better, b, SPTRSM_COL_MAJOR);
  if (status == SPTRSM_OK) status = measure_block(&t, b, SPTRSM_ROW_MAJOR);
  if (status == SPTRSM_OK && t.solve_ms < better->solve_ms) *better = t;
  return status;
}

static sptrsm_status prepare(baseline *b, const bench_case *c) {
  bool transpose = (c->T->format == SPTRSM_CSC) != (c->op != SPTRSM_N);
  b->op = transpose ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
  const bool is_complex = c->T->dtype == SPTRSM_C64 || c->T->dtype == SPTRSM_C128; /* of real numbers C is T, and cuSPARSE takes T only */
  if (c->op == SPTRSM_C && is_complex) {
    if (c->T->format == SPTRSM_CSC) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "cuSPARSE has no conjugation without transposition");
    b->op = CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE;
  }
  SPARSE_OK(cusparseCreate(&b->handle));
  SPARSE_OK(cusparseSetStream(b->handle, (cudaStream_t)b->blocks.stream));
  return upload_matrix(b);
}

sptrsm_status bench_cusparse(bench_result *better, const bench_case *c, void *stream) {
  static const cudaDataType types[] = {CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F};
  baseline b = {.type = types[c->T->dtype]};
  snprintf(better->chosen, sizeof better->chosen, "cusparse");
  sptrsm_status status = bench_blocks_create(&b.blocks, c, SPTRSM_CUDA, stream);
  if (status == SPTRSM_OK) status = prepare(&b, c);
  if (status == SPTRSM_OK) status = measure_all(better, &b);
  if (b.matrix) (void)cusparseDestroySpMat(b.matrix);
  if (b.handle) (void)cusparseDestroy(b.handle);
  void *const memory[] = {b.ptr, b.idx, b.val, b.buffer};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) bench_memory_free(memory[i], SPTRSM_CUDA);
  bench_blocks_free(&b.blocks);
  return status;
}
