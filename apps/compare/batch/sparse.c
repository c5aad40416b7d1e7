/* sparse.c -- a loop over cuSPARSE: two triangular solves for each item, analysed beforehand. Permutations, which cuSPARSE lacks, are left
 * out, so its X is not that of A. */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cusparse.h>
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "compare/batch/batch.h"

typedef struct {
  cusparseSpMatDescr_t matrix[2];
  cusparseDnVecDescr_t vector[3]; /* B, between, X */
  cusparseDnMatDescr_t block[3];
  cusparseSpSVDescr_t solve_vector[2];
  cusparseSpSMDescr_t solve_block[2];
  void *buffer[2], *val[2];
} item;

typedef struct {
  cusparseHandle_t handle;
  int32_t *ptr[2], *idx[2];
  double *between;
  int64_t items, nrhs, nnz[2];
  int32_t n;
  item *each;
} loop;

static int check(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return CLI_OK;
  cli_error("cuSPARSE: %s", cusparseGetErrorString(status));
  return CLI_DEVICE;
}

static const double one = 1;
static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static int solve(void *self) {
  loop *l = self;
  int code = CLI_OK;
  for (int64_t i = 0; i < l->items; i++)
    for (int t = 0; t < 2 && code == CLI_OK; t++) {
      item *e = &l->each[i];
      code = check(l->nrhs == 1 ? cusparseSpSV_solve(l->handle, as_is, &one, e->matrix[t], e->vector[t], e->vector[t + 1], CUDA_R_64F,
                                                     CUSPARSE_SPSV_ALG_DEFAULT, e->solve_vector[t])
                                : cusparseSpSM_solve(l->handle, as_is, as_is, &one, e->matrix[t], e->block[t], e->block[t + 1], CUDA_R_64F,
                                                     CUSPARSE_SPSM_ALG_DEFAULT, e->solve_block[t]));
    }
  return code;
}

static void end_item(item *e) {
  for (int t = 0; t < 3; t++) {
    if (e->vector[t]) (void)cusparseDestroyDnVec(e->vector[t]);
    if (e->block[t]) (void)cusparseDestroyDnMat(e->block[t]);
    if (t == 2) break;
    if (e->solve_vector[t]) (void)cusparseSpSV_destroyDescr(e->solve_vector[t]);
    if (e->solve_block[t]) (void)cusparseSpSM_destroyDescr(e->solve_block[t]);
    if (e->matrix[t]) (void)cusparseDestroySpMat(e->matrix[t]);
    bench_memory_free(e->buffer[t], SPTRSM_CUDA);
    bench_memory_free(e->val[t], SPTRSM_CUDA);
  }
}

static void end(void *self) {
  loop *l = self;
  if (l == NULL) return;
  for (int64_t i = 0; l->each && i < l->items; i++) end_item(&l->each[i]);
  for (int t = 0; t < 2; t++) {
    bench_memory_free(l->ptr[t], SPTRSM_CUDA);
    bench_memory_free(l->idx[t], SPTRSM_CUDA);
  }
  bench_memory_free(l->between, SPTRSM_CUDA);
  if (l->handle) (void)cusparseDestroy(l->handle);
  free(l->each);
  free(l);
}

static int upload_pattern(loop *l, int t, const batch_rows *r) {
  int32_t *ptr = malloc(((size_t)l->n + 1) * sizeof *ptr);
  if (!ptr) return cli_no_memory("cuSPARSE");
  for (int32_t i = 0; i <= l->n; i++) ptr[i] = (int32_t)r->ptr[i];
  l->nnz[t] = r->ptr[l->n];
  int code = cli_fail(bench_memory((void **)&l->ptr[t], SPTRSM_CUDA, ((size_t)l->n + 1) * sizeof *ptr, ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&l->idx[t], SPTRSM_CUDA, (size_t)l->nnz[t] * sizeof *r->idx, r->idx));
  free(ptr);
  return code;
}

static int make_matrix(loop *l, item *e, int t) {
  cusparseFillMode_t fill = t ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diag = t ? CUSPARSE_DIAG_TYPE_NON_UNIT : CUSPARSE_DIAG_TYPE_UNIT;
  int code = check(cusparseCreateCsr(&e->matrix[t], l->n, l->n, l->nnz[t], l->ptr[t], l->idx[t], e->val[t], CUSPARSE_INDEX_32I,
                                     CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  if (code == CLI_OK) code = check(cusparseSpMatSetAttribute(e->matrix[t], CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  return code == CLI_OK ? check(cusparseSpMatSetAttribute(e->matrix[t], CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag)) : code;
}

static int analyse_vector(loop *l, item *e, int t) {
  size_t bytes = 0;
  int code = check(cusparseSpSV_createDescr(&e->solve_vector[t]));
  if (code == CLI_OK)
    code = check(cusparseSpSV_bufferSize(l->handle, as_is, &one, e->matrix[t], e->vector[t], e->vector[t + 1], CUDA_R_64F,
                                         CUSPARSE_SPSV_ALG_DEFAULT, e->solve_vector[t], &bytes));
  if (code == CLI_OK) code = cli_fail(bench_memory(&e->buffer[t], SPTRSM_CUDA, bytes, NULL));
  return code == CLI_OK ? check(cusparseSpSV_analysis(l->handle, as_is, &one, e->matrix[t], e->vector[t], e->vector[t + 1], CUDA_R_64F,
                                                      CUSPARSE_SPSV_ALG_DEFAULT, e->solve_vector[t], e->buffer[t]))
                        : code;
}

static int analyse_block(loop *l, item *e, int t) {
  size_t bytes = 0;
  int code = check(cusparseSpSM_createDescr(&e->solve_block[t]));
  if (code == CLI_OK)
    code = check(cusparseSpSM_bufferSize(l->handle, as_is, as_is, &one, e->matrix[t], e->block[t], e->block[t + 1], CUDA_R_64F,
                                         CUSPARSE_SPSM_ALG_DEFAULT, e->solve_block[t], &bytes));
  if (code == CLI_OK) code = cli_fail(bench_memory(&e->buffer[t], SPTRSM_CUDA, bytes, NULL));
  return code == CLI_OK ? check(cusparseSpSM_analysis(l->handle, as_is, as_is, &one, e->matrix[t], e->block[t], e->block[t + 1], CUDA_R_64F,
                                                      CUSPARSE_SPSM_ALG_DEFAULT, e->solve_block[t], e->buffer[t]))
                        : code;
}

static int begin_item(loop *l, int64_t i, const batch_blocks *blocks, double *const val[2]) {
  item *e = &l->each[i];
  const int64_t size = l->n * l->nrhs;
  double *const data[3] = {blocks->B + i * size, l->between, blocks->X + i * size};
  int code = CLI_OK;
  for (int t = 0; t < 3 && code == CLI_OK; t++)
    code = l->nrhs == 1 ? check(cusparseCreateDnVec(&e->vector[t], l->n, data[t], CUDA_R_64F))
                        : check(cusparseCreateDnMat(&e->block[t], l->n, l->nrhs, l->n, data[t], CUDA_R_64F, CUSPARSE_ORDER_COL));
  for (int t = 0; t < 2 && code == CLI_OK; t++) {
    code = cli_fail(bench_memory(&e->val[t], SPTRSM_CUDA, (size_t)l->nnz[t] * sizeof(double), val[t]));
    if (code == CLI_OK) code = make_matrix(l, e, t);
    if (code == CLI_OK) code = l->nrhs == 1 ? analyse_vector(l, e, t) : analyse_block(l, e, t);
  }
  return code;
}

int batch_sparse_begin(batch_solver *s, const batch_problem *p, const batch_blocks *blocks, int64_t items) {
  loop *l = calloc(1, sizeof *l);
  if (l == NULL) return cli_no_memory("cuSPARSE");
  *s = (batch_solver){.self = l, .solve = solve, .end = end, .items = items < blocks->count ? items : blocks->count};
  l->n = p->n;
  l->nrhs = blocks->nrhs;
  l->items = s->items;
  l->each = calloc((size_t)l->items, sizeof *l->each);
  double *val[2] = {malloc((size_t)p->L.ptr[p->n] * sizeof(double)), malloc((size_t)p->U.ptr[p->n] * sizeof(double))};
  int code = l->each && val[0] && val[1] ? check(cusparseCreate(&l->handle)) : cli_no_memory("cuSPARSE");
  if (code == CLI_OK) code = check(cusparseSetStream(l->handle, (cudaStream_t)blocks->stream));
  if (code == CLI_OK) code = upload_pattern(l, 0, &p->L);
  if (code == CLI_OK) code = upload_pattern(l, 1, &p->U);
  if (code == CLI_OK)
    code = cli_fail(bench_memory((void **)&l->between, SPTRSM_CUDA, (size_t)(p->n * blocks->nrhs) * sizeof(double), NULL));
  for (int64_t i = 0; i < l->items && code == CLI_OK; i++) {
    batch_values_of_L(val[0], p, i, 1);
    batch_values_of_U(val[1], p, i, 1);
    code = begin_item(l, i, blocks, val);
  }
  free(val[0]);
  free(val[1]);
  return code;
}
