/* method.c -- cusparse: NVIDIA's cuSPARSE behind the interface of the other methods, SpSM for blocks and SpSV for one right-hand side. The
 * baseline of the benchmarks. Source: [naumov2011] and the cuSPARSE documentation. Differs from the other methods: its analysis depends on
 * the number of right-hand sides, so it is made at the first panel of each width and kept for two widths. Offsets are narrowed to 32 bits.
 * Wins: rarely. Deterministic: for one number of right-hand sides only, which is less than the flag promises, since SpSV and SpSM of
 * different widths give different bits. It multiplies by reciprocals, so a componentwise residual may exceed the bound of substitution by
 * half. */
#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/gpu_sparse.h"
#include "core/device/convert.h"
#include "core/plan/method.h"

typedef struct {
  cusparseHandle_t handle; /* the context's */
  int32_t *ptr;            /* [n+1], device */
  void *conjugate;         /* [nnz], device: conjugated values where the view conjugates, else NULL */
  cusparseSpMatDescr_t matrix;
} state;

/* One analysis: for one width. */
typedef struct {
  int32_t width;          /* 0: unused */
  bool vector;            /* SpSV */
  int64_t values_version; /* version of the plan's values that it was made from */
  cusparseSpSMDescr_t block;
  cusparseSpSVDescr_t single;
  void *buffer;
} analysis;

enum { FULL, REST, KINDS };

typedef struct {
  analysis kinds[KINDS];
  int32_t panel;
} workspace;

static const void *one(sptrsm_dtype dtype) {
  static const float single[2] = {1, 0};
  static const double twice[2] = {1, 0};
  return dtype == SPTRSM_F32 || dtype == SPTRSM_C64 ? (const void *)single : (const void *)twice;
}

/* ---- plan ---- */

static void negate_imaginary(void *values, int64_t count, sptrsm_dtype dtype) {
  for (int64_t p = 0; p < count; p++) {
    if (dtype == SPTRSM_C64) ((float *)values)[2 * p + 1] *= -1;
    else ((double *)values)[2 * p + 1] *= -1;
  }
}

static sptrsm_status conjugate_values(const sptrsm_plan *plan) {
  const spti_view *v = &plan->view;
  const state *s = plan->state;
  size_t bytes = (size_t)v->nnz * sptrsm_dtype_bytes(v->dtype);
  void *host;
  if (!s->conjugate) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&host, (int64_t)bytes, 1, "cuSPARSE values"));
  sptrsm_status status = spti_gpu_copy(plan->context, host, 0, v->val, 0, bytes, 1, SPTI_TO_HOST);
  if (status == SPTRSM_OK) {
    negate_imaginary(host, v->nnz, v->dtype);
    status = spti_gpu_copy(plan->context, s->conjugate, 0, host, 0, bytes, 1, SPTI_TO_DEVICE);
  }
  spti_host_free(host);
  return status;
}

static sptrsm_status describe_matrix(const sptrsm_plan *plan, state *s) {
  const spti_view *v = &plan->view;
  cusparseFillMode_t fill = v->backward ? CUSPARSE_FILL_MODE_UPPER : CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diag = v->unit ? CUSPARSE_DIAG_TYPE_UNIT : CUSPARSE_DIAG_TYPE_NON_UNIT;
  void *values = s->conjugate ? s->conjugate : (void *)v->val;
  SPTI_CUSPARSE(cusparseCreateCsr(&s->matrix, v->n, v->n, v->nnz, s->ptr, (void *)v->idx, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_BASE_ZERO, spti_cusparse_type(v->dtype)));
  SPTI_CUSPARSE(cusparseSpMatSetAttribute(s->matrix, CUSPARSE_SPMAT_FILL_MODE, &fill, sizeof fill));
  SPTI_CUSPARSE(cusparseSpMatSetAttribute(s->matrix, CUSPARSE_SPMAT_DIAG_TYPE, &diag, sizeof diag));
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  const spti_view *v = &plan->view;
  state *s;
  if (v->nnz > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "cusparse: %lld entries do not fit its 32-bit offsets", (long long)v->nnz);
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "cusparse state"));
  *s = (state){0};
  plan->state = s;
  if (v->n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_cusparse_handle(&s->handle, plan->context));
  SPTI_TRY(spti_alloc(plan->context, &s->ptr, (int64_t)v->n + 1, sizeof *s->ptr, "cuSPARSE pointers"));
  SPTI_CUDA(spti_narrow_launch(s->ptr, v->ptr, (int64_t)v->n + 1, plan->context->stream));
  if (v->conj) SPTI_TRY(spti_alloc(plan->context, &s->conjugate, v->nnz, sptrsm_dtype_bytes(v->dtype), "cuSPARSE values"));
  SPTI_TRY(conjugate_values(plan));
  return describe_matrix(plan, s);
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  state *s = plan->state;
  if (plan->view.n == 0) return SPTRSM_OK;
  SPTI_TRY(conjugate_values(plan));
  SPTI_CUSPARSE(cusparseSpMatSetValues(s->matrix, s->conjugate ? s->conjugate : (void *)plan->view.val));
  return SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (s->matrix) (void)cusparseDestroySpMat(s->matrix);
  spti_free(plan->context, s->ptr);
  spti_free(plan->context, s->conjugate);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  snprintf(info->parameters, sizeof info->parameters, "version %d", CUSPARSE_VERSION);
  info->plan_bytes = ((size_t)plan->view.n + 1) * sizeof *s->ptr + sizeof *s;
  if (s->conjugate) info->plan_bytes += (size_t)plan->view.nnz * sptrsm_dtype_bytes(plan->view.dtype);
}

/* ---- workspace ---- */

/* Dense descriptors are made for each call: they only hold pointers and sizes. */
typedef struct {
  cusparseDnMatDescr_t block;
  cusparseDnVecDescr_t vector;
} dense;

static sptrsm_status dense_create(dense *d, const sptrsm_plan *plan, bool vector, void *data, int64_t ld, int32_t width) {
  cudaDataType type = spti_cusparse_type(plan->view.dtype);
  *d = (dense){0};
  if (vector) SPTI_CUSPARSE(cusparseCreateDnVec(&d->vector, plan->view.n, data, type));
  else SPTI_CUSPARSE(cusparseCreateDnMat(&d->block, plan->view.n, width, ld, data, type, CUSPARSE_ORDER_ROW));
  return SPTRSM_OK;
}

static void dense_destroy(dense *d) {
  if (d->vector) (void)cusparseDestroyDnVec(d->vector);
  if (d->block) (void)cusparseDestroyDnMat(d->block);
}

static sptrsm_status analyse_width(analysis *a, const sptrsm_plan *plan, const dense *W) {
  const state *s = plan->state;
  const sptrsm_dtype dtype = plan->view.dtype;
  const cudaDataType type = spti_cusparse_type(dtype);
  const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  if (a->vector) {
    SPTI_CUSPARSE(cusparseSpSV_createDescr(&a->single));
    SPTI_CUSPARSE(cusparseSpSV_bufferSize(s->handle, op, one(dtype), s->matrix, W->vector, W->vector, type, CUSPARSE_SPSV_ALG_DEFAULT,
                                          a->single, &bytes));
    SPTI_TRY(spti_alloc(plan->context, &a->buffer, (int64_t)bytes, 1, "cuSPARSE buffer"));
    SPTI_CUSPARSE(cusparseSpSV_analysis(s->handle, op, one(dtype), s->matrix, W->vector, W->vector, type, CUSPARSE_SPSV_ALG_DEFAULT,
                                        a->single, a->buffer));
    return SPTRSM_OK;
  }
  SPTI_CUSPARSE(cusparseSpSM_createDescr(&a->block));
  SPTI_CUSPARSE(cusparseSpSM_bufferSize(s->handle, op, op, one(dtype), s->matrix, W->block, W->block, type, CUSPARSE_SPSM_ALG_DEFAULT,
                                        a->block, &bytes));
  SPTI_TRY(spti_alloc(plan->context, &a->buffer, (int64_t)bytes, 1, "cuSPARSE buffer"));
  SPTI_CUSPARSE(cusparseSpSM_analysis(s->handle, op, op, one(dtype), s->matrix, W->block, W->block, type, CUSPARSE_SPSM_ALG_DEFAULT,
                                      a->block, a->buffer));
  return SPTRSM_OK;
}

static void analysis_free(analysis *a, const sptrsm_plan *plan) {
  if (a->block) (void)cusparseSpSM_destroyDescr(a->block);
  if (a->single) (void)cusparseSpSV_destroyDescr(a->single);
  spti_free(plan->context, a->buffer);
  *a = (analysis){0};
}

/* The analysis for a panel of this width, made where there is none yet; it replaces the one of its kind for another width. */
static sptrsm_status find_analysis(analysis **out, workspace *ws, const sptrsm_plan *plan, const dense *W, bool vector, int32_t width) {
  analysis *a = &ws->kinds[width == ws->panel ? FULL : REST];
  if (a->width == width && a->vector == vector) {
    *out = a;
    return SPTRSM_OK;
  }
  analysis_free(a, plan);
  a->vector = vector;
  sptrsm_status status = analyse_width(a, plan, W);
  if (status != SPTRSM_OK) {
    analysis_free(a, plan);
    return status;
  }
  a->width = width;
  a->values_version = plan->values_version;
  *out = a;
  return SPTRSM_OK;
}

static sptrsm_status follow_values(analysis *a, const sptrsm_plan *plan) {
  const state *s = plan->state;
  if (a->values_version == plan->values_version) return SPTRSM_OK;
  void *values = s->conjugate ? s->conjugate : (void *)plan->view.val;
  if (a->vector) SPTI_CUSPARSE(cusparseSpSV_updateMatrix(s->handle, a->single, values, CUSPARSE_SPSV_UPDATE_GENERAL));
  else SPTI_CUSPARSE(cusparseSpSM_updateMatrix(s->handle, a->block, values, CUSPARSE_SPSM_UPDATE_GENERAL));
  a->values_version = plan->values_version;
  return SPTRSM_OK;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  /* cuSPARSE tells its buffer only for a concrete block; it keeps a copy of the whole block and about 20 bytes per row. */
  *out = sizeof(workspace) + (size_t)plan->view.n * ((size_t)panel * sptrsm_dtype_bytes(plan->view.dtype) + 20);
  return SPTRSM_OK;
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  workspace *ws;
  (void)plan;
  SPTI_TRY(spti_host_alloc(&ws, 1, sizeof *ws, "cusparse workspace"));
  *ws = (workspace){.panel = panel};
  *work = ws;
  return SPTRSM_OK;
}

static void work_free(void *work, const sptrsm_plan *plan) {
  workspace *ws = work;
  for (int kind = 0; kind < KINDS; kind++) analysis_free(&ws->kinds[kind], plan);
  spti_host_free(ws);
}

static sptrsm_status solve_dense(workspace *ws, const sptrsm_plan *plan, const dense *W, bool vector, int32_t width) {
  const state *s = plan->state;
  const sptrsm_dtype dtype = plan->view.dtype;
  const cusparseOperation_t op = CUSPARSE_OPERATION_NON_TRANSPOSE;
  analysis *a;
  SPTI_TRY(find_analysis(&a, ws, plan, W, vector, width));
  SPTI_TRY(follow_values(a, plan));
  if (vector)
    SPTI_CUSPARSE(cusparseSpSV_solve(s->handle, op, one(dtype), s->matrix, W->vector, W->vector, spti_cusparse_type(dtype),
                                     CUSPARSE_SPSV_ALG_DEFAULT, a->single));
  else
    SPTI_CUSPARSE(cusparseSpSM_solve(s->handle, op, op, one(dtype), s->matrix, W->block, W->block, spti_cusparse_type(dtype),
                                     CUSPARSE_SPSM_ALG_DEFAULT, a->block));
  return SPTRSM_OK;
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  dense d;
  bool vector = W->width == 1 && W->ld == 1;
  sptrsm_status status = dense_create(&d, plan, vector, W->data, W->ld, W->width);
  if (status == SPTRSM_OK) status = solve_dense(work, plan, &d, vector, W->width);
  dense_destroy(&d);
  return status;
}

const spti_method spti_method_cusparse = {
    .name = "cusparse",
    .summary = "NVIDIA cuSPARSE SpSM and SpSV behind the same interface",
    .cite = "naumov2011",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_REFERENCE,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve = solve,
};
