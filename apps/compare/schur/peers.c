/* peers.c -- S = Y' Y with Y = L^-1 P B' for full columns, as programs without sptrsm_schur do it: Y by SpSM of cuSPARSE, analysed
 * beforehand; or by DTRSM of cuBLAS with L made dense by cuSPARSE, which is part of the time. Then DSYRK. */
#define DISABLE_CUSPARSE_DEPRECATED
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <cusparse.h>
#include <math.h>
#include <stdlib.h>

#include "bench/machine/machine.h"
#include "compare/schur/schur.h"

int schur_dense_columns(double **out, const schur_case *c, int64_t item, bool permuted) {
  const schur_factor *f = &c->factors[item % SCHUR_SHAPES];
  const schur_columns *B = &c->columns[item % SCHUR_SHAPES];
  double *host = calloc((size_t)f->n * (size_t)B->count, sizeof *host);
  if (!host) return cli_no_memory("dense columns");
  for (int64_t k = 0; k < B->count; k++)
    for (int64_t p = B->ptr[k]; p < B->ptr[k + 1]; p++) host[k * f->n + (permuted ? f->inverse[B->idx[p]] : B->idx[p])] = B->val[p];
  const int code = cli_fail(bench_memory((void **)out, SPTRSM_CUDA, (size_t)f->n * (size_t)B->count * sizeof *host, host));
  free(host);
  return code;
}

typedef struct {
  int32_t n;
  int32_t *ptr, *idx;
  double *val, *B, *S;
  cusparseSpMatDescr_t L;
  cusparseDnMatDescr_t block[2];
  cusparseSpSMDescr_t solve;
  void *buffer;
} item;

typedef struct {
  bool by_trsm;
  cusparseHandle_t sparse;
  cublasHandle_t dense;
  cudaStream_t stream;
  int64_t items, count;
  item *each;
  double *Y, *full; /* of one item at a time; L as a dense matrix */
  void *room;       /* of the conversion */
  cusparseDnMatDescr_t full_matrix[SCHUR_SHAPES];
} peer;

static int sparse_ok(cusparseStatus_t status) {
  if (status == CUSPARSE_STATUS_SUCCESS) return CLI_OK;
  cli_error("cuSPARSE: %s", cusparseGetErrorString(status));
  return CLI_DEVICE;
}

static int dense_ok(cublasStatus_t status) {
  if (status == CUBLAS_STATUS_SUCCESS) return CLI_OK;
  cli_error("cuBLAS: %s", cublasGetStatusString(status));
  return CLI_DEVICE;
}

static const double one = 1, zero = 0;
static const cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;

static int solve_dense(peer *p, int64_t i) {
  const item *e = &p->each[i];
  const int columns = (int)p->count, n = e->n;
  int code =
      sparse_ok(cusparseSparseToDense(p->sparse, e->L, p->full_matrix[i % SCHUR_SHAPES], CUSPARSE_SPARSETODENSE_ALG_DEFAULT, p->room));
  if (code == CLI_OK && cudaMemcpyAsync(p->Y, e->B, (size_t)n * (size_t)columns * sizeof *p->Y, cudaMemcpyDeviceToDevice, p->stream)) {
    cli_error("a copy of the columns failed");
    return CLI_DEVICE;
  }
  return code != CLI_OK ? code
                        : dense_ok(cublasDtrsm(p->dense, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, n,
                                               columns, &one, p->full, n, p->Y, n));
}

/* The lower triangle of a row-major S is the upper one of a column-major one. */
static int run(void *self) {
  peer *p = self;
  const int columns = (int)p->count;
  int code = CLI_OK;
  for (int64_t i = 0; i < p->items && code == CLI_OK; i++) {
    const item *e = &p->each[i];
    code = p->by_trsm ? solve_dense(p, i)
                      : sparse_ok(cusparseSpSM_solve(p->sparse, as_is, as_is, &one, e->L, e->block[0], e->block[1], CUDA_R_64F,
                                                     CUSPARSE_SPSM_ALG_DEFAULT, e->solve));
    if (code == CLI_OK)
      code = dense_ok(cublasDsyrk(p->dense, CUBLAS_FILL_MODE_UPPER, CUBLAS_OP_T, columns, e->n, &one, p->Y, e->n, &zero, e->S, columns));
  }
  return code;
}

static void end_item(item *e) {
  void *const memory[] = {e->ptr, e->idx, e->val, e->B, e->S, e->buffer};
  if (e->solve) (void)cusparseSpSM_destroyDescr(e->solve);
  for (int k = 0; k < 2; k++)
    if (e->block[k]) (void)cusparseDestroyDnMat(e->block[k]);
  if (e->L) (void)cusparseDestroySpMat(e->L);
  for (size_t k = 0; k < sizeof memory / sizeof *memory; k++) bench_memory_free(memory[k], SPTRSM_CUDA);
}

static void end(void *self) {
  peer *p = self;
  if (!p) return;
  for (int64_t i = 0; p->each && i < p->items; i++) end_item(&p->each[i]);
  for (int k = 0; k < SCHUR_SHAPES; k++)
    if (p->full_matrix[k]) (void)cusparseDestroyDnMat(p->full_matrix[k]);
  bench_memory_free(p->Y, SPTRSM_CUDA);
  bench_memory_free(p->full, SPTRSM_CUDA);
  bench_memory_free(p->room, SPTRSM_CUDA);
  if (p->sparse) (void)cusparseDestroy(p->sparse);
  if (p->dense) (void)cublasDestroy(p->dense);
  free(p->each);
  free(p);
}

/* L by rows, as cuSPARSE solves it best. */
static int upload_rows(item *e, const schur_factor *f) {
  const size_t nnz = (size_t)f->ptr[f->n], rows = (size_t)f->n + 1;
  int32_t *ptr = calloc(rows + 1, sizeof *ptr), *idx = malloc(nnz * sizeof *idx);
  double *val = malloc(nnz * sizeof *val);
  int code = ptr && idx && val ? CLI_OK : cli_no_memory("rows of L");
  for (size_t p = 0; p < nnz && code == CLI_OK; p++) ptr[f->idx[p] + 2]++;
  for (size_t i = 2; i <= rows && code == CLI_OK; i++) ptr[i] += ptr[i - 1];
  for (int32_t j = 0; j < f->n && code == CLI_OK; j++)
    for (int64_t p = f->ptr[j]; p < f->ptr[j + 1]; p++) {
      const int32_t to = ptr[f->idx[p] + 1]++;
      idx[to] = j;
      val[to] = f->val[p];
    }
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&e->ptr, SPTRSM_CUDA, rows * sizeof *ptr, ptr));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&e->idx, SPTRSM_CUDA, nnz * sizeof *idx, idx));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&e->val, SPTRSM_CUDA, nnz * sizeof *val, val));
  free(ptr), free(idx), free(val);
  return code;
}

/* SpSM wants to be told that L is a triangle, and the conversion to a dense matrix refuses to be told so. */
static int describe_L(item *e, const schur_factor *f, bool as_triangle) {
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diag = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int code = sparse_ok(cusparseCreateCsr(&e->L, f->n, f->n, f->ptr[f->n], e->ptr, e->idx, e->val, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                         CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
  if (code != CLI_OK || !as_triangle) return code;
  code = sparse_ok(cusparseSpMatSetAttribute(e->L, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  return code == CLI_OK ? sparse_ok(cusparseSpMatSetAttribute(e->L, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag)) : code;
}

static int analyse(peer *p, item *e, double *workspace) {
  double *const data[2] = {e->B, p->Y};
  size_t bytes = 0;
  int code = CLI_OK;
  for (int k = 0; k < 2 && code == CLI_OK; k++)
    code = sparse_ok(cusparseCreateDnMat(&e->block[k], e->n, p->count, e->n, data[k], CUDA_R_64F, CUSPARSE_ORDER_COL));
  if (code == CLI_OK) code = sparse_ok(cusparseSpSM_createDescr(&e->solve));
  if (code == CLI_OK)
    code = sparse_ok(cusparseSpSM_bufferSize(p->sparse, as_is, as_is, &one, e->L, e->block[0], e->block[1], CUDA_R_64F,
                                             CUSPARSE_SPSM_ALG_DEFAULT, e->solve, &bytes));
  if (code == CLI_OK) code = cli_fail(bench_memory(&e->buffer, SPTRSM_CUDA, bytes, NULL));
  if (code == CLI_OK)
    code = sparse_ok(cusparseSpSM_analysis(p->sparse, as_is, as_is, &one, e->L, e->block[0], e->block[1], CUDA_R_64F,
                                           CUSPARSE_SPSM_ALG_DEFAULT, e->solve, e->buffer));
  *workspace += (double)bytes / (double)p->items;
  return code;
}

/* The dense L of the largest subdomain, and a description for each shape. */
static int make_full(peer *p, const schur_case *c, schur_way *way) {
  size_t most = 0, bytes = 0;
  for (int k = 0; k < SCHUR_SHAPES; k++)
    if ((size_t)c->factors[k].n > most) most = (size_t)c->factors[k].n;
  int code = cli_fail(bench_memory((void **)&p->full, SPTRSM_CUDA, most * most * sizeof *p->full, NULL));
  for (int k = 0; k < SCHUR_SHAPES && code == CLI_OK; k++) {
    const int32_t n = c->factors[k].n;
    code = sparse_ok(cusparseCreateDnMat(&p->full_matrix[k], n, n, n, p->full, CUDA_R_64F, CUSPARSE_ORDER_COL));
  }
  for (int64_t i = 0; i < p->items && code == CLI_OK; i++) {
    size_t own = 0;
    code = sparse_ok(cusparseSparseToDense_bufferSize(p->sparse, p->each[i].L, p->full_matrix[i % SCHUR_SHAPES],
                                                      CUSPARSE_SPARSETODENSE_ALG_DEFAULT, &own));
    if (own > bytes) bytes = own;
  }
  if (code == CLI_OK) code = cli_fail(bench_memory(&p->room, SPTRSM_CUDA, bytes + 1, NULL));
  way->workspace = (double)(most * most * sizeof *p->full + bytes);
  return code;
}

static int begin_item(peer *p, const schur_case *c, int64_t i, schur_way *way) {
  const schur_factor *f = &c->factors[i % SCHUR_SHAPES];
  item *e = &p->each[i];
  e->n = f->n;
  int code = upload_rows(e, f);
  if (code == CLI_OK) code = describe_L(e, f, !p->by_trsm);
  if (code == CLI_OK) code = schur_dense_columns(&e->B, c, i, true);
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&e->S, SPTRSM_CUDA, (size_t)(c->count * c->count) * sizeof *e->S, NULL));
  return code == CLI_OK && !p->by_trsm ? analyse(p, e, &way->workspace) : code;
}

static int begin(schur_way *way, const schur_case *c, int64_t items, bool by_trsm) {
  peer *p = calloc(1, sizeof *p);
  size_t most = 0;
  if (!p) return cli_no_memory("a comparison");
  *way = (schur_way){.self = p, .run = run, .end = end, .items = items, .analysis_ms = NAN, .reached = 1};
  p->by_trsm = by_trsm;
  p->items = items;
  p->stream = (cudaStream_t)c->stream;
  p->count = c->count;
  p->each = calloc((size_t)items, sizeof *p->each);
  for (int k = 0; k < SCHUR_SHAPES; k++)
    if ((size_t)c->factors[k].n > most) most = (size_t)c->factors[k].n;
  int code = p->each ? sparse_ok(cusparseCreate(&p->sparse)) : cli_no_memory("a comparison");
  if (code == CLI_OK) code = sparse_ok(cusparseSetStream(p->sparse, p->stream));
  if (code == CLI_OK) code = dense_ok(cublasCreate(&p->dense));
  if (code == CLI_OK) code = dense_ok(cublasSetStream(p->dense, p->stream));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&p->Y, SPTRSM_CUDA, most * (size_t)c->count * sizeof *p->Y, NULL));
  for (int64_t i = 0; i < items && code == CLI_OK; i++) code = begin_item(p, c, i, way);
  if (code == CLI_OK && by_trsm) code = make_full(p, c, way);
  way->S = p->each ? p->each[0].S : NULL;
  return code;
}

int schur_spsm_begin(schur_way *way, const schur_case *c, int64_t items) { return begin(way, c, items, false); }
int schur_trsm_begin(schur_way *way, const schur_case *c, int64_t items) { return begin(way, c, items, true); }
