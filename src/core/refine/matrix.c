/* matrix.c -- the matrix A that the factors belong to, as residuals need it: both triangles, by rows of A or of A^T. */
#include "core/refine/refine.h"

#include <string.h>

#include "core/base/dtype.h"
#include "core/context/alloc.h"

/* ---- checks and the copy on the host ---- */

static sptrsm_status check_description(const sptrsm_square *A, const sptrsm_context *context) {
  if (A->n < 0 || !A->ptr) return spti_fail(SPTRSM_ERR_ARGUMENT, "A: %s", A->n < 0 ? "order n is negative" : "ptr is NULL");
  if (sptrsm_dtype_bytes(A->dtype) == 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "A: unknown dtype %d", (int)A->dtype);
  if (A->format != SPTRSM_CSR && A->format != SPTRSM_CSC) return spti_fail(SPTRSM_ERR_ARGUMENT, "A: unknown format %d", (int)A->format);
  if (A->symmetry < SPTRSM_GENERAL || A->symmetry > SPTRSM_SKEW)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "A: unknown symmetry %d", (int)A->symmetry);
  if (A->place != SPTRSM_HOST && A->place != SPTRSM_CUDA) return spti_fail(SPTRSM_ERR_ARGUMENT, "A: unknown place %d", (int)A->place);
  if (A->place == SPTRSM_CUDA && context->place == SPTRSM_HOST)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "A is in device memory, the context works on the host");
  return SPTRSM_OK;
}

static sptrsm_status check_lines(const spti_storage *lines, int32_t n, int64_t nnz) {
  if (lines->ptr[0] != 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "A: ptr[0] = %lld, not 0", (long long)lines->ptr[0]);
  for (int32_t i = 0; i < n; i++)
    if (lines->ptr[i + 1] < lines->ptr[i] || lines->ptr[i + 1] > nnz)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "A: ptr[%d] = %lld, but ptr[%d] = %lld and there are %lld entries", i + 1,
                       (long long)lines->ptr[i + 1], i, (long long)lines->ptr[i], (long long)nnz);
  for (int64_t p = 0; p < nnz; p++)
    if (lines->idx[p] < 0 || lines->idx[p] >= n)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "A: idx[%lld] = %d is not in 0..%d", (long long)p, lines->idx[p], n - 1);
  return SPTRSM_OK;
}

/* Copies A to the host. */
static sptrsm_status fetch(spti_storage *out, int64_t *nnz, const sptrsm_context *context, const sptrsm_square *A) {
  size_t bytes = sptrsm_dtype_bytes(A->dtype);
  SPTI_TRY(spti_copy_bytes(context, nnz, SPTRSM_HOST, A->ptr + A->n, A->place, sizeof *nnz));
  if (*nnz < 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "A: ptr[%d] = %lld is negative", A->n, (long long)*nnz);
  if (*nnz > 0 && (!A->idx || !A->val)) return spti_fail(SPTRSM_ERR_ARGUMENT, "A: idx or val is NULL with %lld entries", (long long)*nnz);
  SPTI_TRY(spti_storage_alloc(out, NULL, A->n, *nnz, bytes));
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->ptr, SPTRSM_HOST, A->ptr, A->place, ((size_t)A->n + 1) * sizeof *out->ptr));
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->idx, SPTRSM_HOST, A->idx, A->place, (size_t)*nnz * sizeof *out->idx));
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->val, SPTRSM_HOST, A->val, A->place, (size_t)*nnz * bytes));
  SPTI_TRY_GOTO(check_lines(out, A->n, *nnz));
  return SPTRSM_OK;
fail:
  spti_storage_free(out, NULL);
  return status;
}

/* ---- a matrix given by one triangle ---- */

/* Writes the value at (j,i) that belongs to the stored value at (i,j). */
static void put_image(char *to, const char *from, sptrsm_dtype dtype, sptrsm_symmetry symmetry) {
  double signs[2] = {symmetry == SPTRSM_SKEW ? -1 : 1, symmetry == SPTRSM_SYMMETRIC ? 1 : -1};
  for (int part = 0; part < (spti_is_complex(dtype) ? 2 : 1); part++) {
    if (spti_is_single(dtype)) ((float *)to)[part] = (float)signs[part] * ((const float *)from)[part];
    else ((double *)to)[part] = signs[part] * ((const double *)from)[part];
  }
}

/* The whole matrix from one triangle: line i gets its stored entries and the images of the entries of column i. */
static sptrsm_status mirror(spti_storage *out, int64_t *out_nnz, const spti_storage *in, const sptrsm_square *A) {
  size_t bytes = sptrsm_dtype_bytes(A->dtype);
  int32_t n = A->n;
  int64_t nnz = in->ptr[n];
  for (int32_t i = 0; i < n; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) nnz += in->idx[p] != i;
  SPTI_TRY(spti_storage_alloc(out, NULL, n, nnz, bytes));
  memset(out->ptr, 0, ((size_t)n + 1) * sizeof *out->ptr);
  for (int32_t i = 0; i < n; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      out->ptr[i + 1]++;
      if (in->idx[p] != i) out->ptr[in->idx[p] + 1]++;
    }
  for (int32_t i = 0; i < n; i++) out->ptr[i + 1] += out->ptr[i];
  for (int32_t i = 0; i < n; i++) /* ptr[i] is the next free place of line i */
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      int32_t j = in->idx[p];
      int64_t at = out->ptr[i]++;
      out->idx[at] = j;
      memcpy((char *)out->val + (size_t)at * bytes, (const char *)in->val + (size_t)p * bytes, bytes);
      if (j == i) continue;
      at = out->ptr[j]++;
      out->idx[at] = i;
      put_image((char *)out->val + (size_t)at * bytes, (const char *)in->val + (size_t)p * bytes, A->dtype, A->symmetry);
    }
  memmove(out->ptr + 1, out->ptr, (size_t)n * sizeof *out->ptr);
  out->ptr[0] = 0;
  *out_nnz = nnz;
  return SPTRSM_OK;
}

sptrsm_status spti_original_create(spti_original *out, const sptrsm_context *context, const sptrsm_square *A, int32_t n,
                                   sptrsm_dtype dtype) {
  if (A->n != n) return spti_fail(SPTRSM_ERR_ARGUMENT, "A has order %d, its factors %d", A->n, n);
  if (A->dtype != dtype) return spti_fail(SPTRSM_ERR_ARGUMENT, "A has another dtype than its factors");
  SPTI_TRY(check_description(A, context));
  spti_storage stored;
  spti_original made = {.dtype = A->dtype, .n = A->n, .longest = {-1, -1}};
  made.given = A->format == SPTRSM_CSR ? SPTI_LINES_OF_A : SPTI_LINES_OF_AT;
  SPTI_TRY(fetch(&stored, &made.nnz, context, A));
  if (A->symmetry == SPTRSM_GENERAL) {
    made.lines[made.given][SPTRSM_HOST] = stored;
  } else {
    sptrsm_status status = mirror(&made.lines[made.given][SPTRSM_HOST], &made.nnz, &stored, A);
    spti_storage_free(&stored, NULL);
    if (status != SPTRSM_OK) return status;
  }
  *out = made;
  return SPTRSM_OK;
}

/* ---- orientations and places ---- */

spti_op spti_original_op(sptrsm_system system, sptrsm_op op) {
  const bool adjoint = system == SPTRSM_SYS_At || system == SPTRSM_SYS_Lt, transpose = system == SPTRSM_SYS_Aat || system == SPTRSM_SYS_Lat;
  const spti_op own = spti_op_from(adjoint ? SPTRSM_C : transpose ? SPTRSM_T : SPTRSM_N), top = spti_op_from(op);
  return (spti_op){.transpose = own.transpose != top.transpose, .conj = own.conj != top.conj};
}

static sptrsm_status make_transposed(spti_original *A, int orientation) {
  const spti_storage *stored = &A->lines[!orientation][SPTRSM_HOST];
  return spti_storage_transpose(&A->lines[orientation][SPTRSM_HOST], stored, A->n, sptrsm_dtype_bytes(A->dtype));
}

static sptrsm_status upload(spti_storage *out, const spti_original *A, const spti_storage *host, const sptrsm_context *context) {
  size_t bytes = sptrsm_dtype_bytes(A->dtype);
  SPTI_TRY(spti_storage_alloc(out, context, A->n, A->nnz, bytes));
  sptrsm_status status;
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->ptr, SPTRSM_CUDA, host->ptr, SPTRSM_HOST, ((size_t)A->n + 1) * sizeof *out->ptr));
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->idx, SPTRSM_CUDA, host->idx, SPTRSM_HOST, (size_t)A->nnz * sizeof *out->idx));
  SPTI_TRY_GOTO(spti_copy_bytes(context, out->val, SPTRSM_CUDA, host->val, SPTRSM_HOST, (size_t)A->nnz * bytes));
  return SPTRSM_OK;
fail:
  spti_storage_free(out, context);
  return status;
}

sptrsm_status spti_original_lines(const spti_storage **out, spti_original *A, const sptrsm_context *context, int orientation,
                                  sptrsm_place place) {
  spti_storage *host = &A->lines[orientation][SPTRSM_HOST], *wanted = &A->lines[orientation][place];
  if (!host->present) SPTI_TRY(make_transposed(A, orientation));
  if (!wanted->present) SPTI_TRY(upload(wanted, A, host, context));
  if (A->longest[orientation] < 0) {
    int64_t most = 0;
    for (int32_t i = 0; i < A->n; i++)
      if (host->ptr[i + 1] - host->ptr[i] > most) most = host->ptr[i + 1] - host->ptr[i];
    A->longest[orientation] = (int32_t)(most < INT32_MAX ? most : INT32_MAX);
  }
  *out = wanted;
  return SPTRSM_OK;
}

void spti_original_free(spti_original *A, const sptrsm_context *context) {
  for (int orientation = 0; orientation < 2; orientation++) {
    spti_storage_free(&A->lines[orientation][SPTRSM_HOST], NULL);
    spti_storage_free(&A->lines[orientation][SPTRSM_CUDA], context);
  }
}
