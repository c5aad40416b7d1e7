/* single.c -- see single.h. Entries that underflow become subnormal numbers or zeros, which refinement makes up for. Diagonal entries and
 * pivots of D must not underflow, since their reciprocals would overflow; no entry may overflow. */
#include "core/direct/single.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "core/base/dtype.h"
#include "core/context/alloc.h"

sptrsm_dtype spti_single_of(sptrsm_dtype dtype) { return spti_is_complex(dtype) ? SPTRSM_C64 : SPTRSM_F32; }

/* Rounds and returns the first position that overflows, or -1. */
static int64_t round_values(float *to, const double *from, int64_t count, sptrsm_dtype dtype) {
  int words = spti_is_complex(dtype) ? 2 : 1;
  int64_t bad = -1;
  for (int64_t p = count * words - 1; p >= 0; p--) {
    to[p] = (float)from[p];
    if (isinf(to[p]) && isfinite(from[p])) bad = p / words;
  }
  return bad;
}

static double largest_part(const void *val, int64_t p, sptrsm_dtype dtype) {
  const double *v = val;
  if (!spti_is_complex(dtype)) return v[p];
  return fabs(v[2 * p]) > fabs(v[2 * p + 1]) ? v[2 * p] : v[2 * p + 1];
}

static sptrsm_status out_of_range(const char *where, double value, const char *verb) {
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s = %g %s single precision; use working precision, or scale the matrix before factorising",
                   where, value, verb);
}

/* max(|re|, |im|) of entry i of an array of a double type; 0 if val is NULL. */
static double size_of(const void *val, int64_t i, sptrsm_dtype dtype) { return val ? fabs(largest_part(val, i, dtype)) : 0; }

/* The same for an array of rounded values. */
static float rounded_size(const float *val, int64_t i, sptrsm_dtype dtype) {
  if (!val) return 0;
  return spti_is_complex(dtype) ? fmaxf(fabsf(val[2 * i]), fabsf(val[2 * i + 1])) : fabsf(val[i]);
}

/* Is a nonzero pivot of size `given` no normal number when rounded? Zero pivots are refused elsewhere, by another message. */
static bool underflows(double given, float rounded) { return given > 0 && rounded < FLT_MIN; }

/* ---- triangles ---- */

static sptrsm_status triangle_overflow(const sptrsm_sparse *T, int64_t p, const char *name) {
  char where[64];
  int32_t line = 0;
  while (line + 1 < T->n && T->ptr[line + 1] <= p) line++;
  bool rows = T->format == SPTRSM_CSR;
  snprintf(where, sizeof where, "%s: entry (%d,%d)", name, rows ? line : T->idx[p], rows ? T->idx[p] : line);
  return out_of_range(where, largest_part(T->val, p, T->dtype), "overflows");
}

/* T has values in double precision and has not been validated: lines without a diagonal entry in its place are skipped. */
static sptrsm_status check_diagonal(const sptrsm_sparse *T, int64_t nnz, const float *rounded, const char *name) {
  bool first = (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER);
  char where[64];
  if (T->diag == SPTRSM_UNIT) return SPTRSM_OK;
  for (int32_t i = 0; i < T->n; i++) {
    int64_t begin = T->ptr[i], end = T->ptr[i + 1], p = first ? begin : end - 1;
    if (begin < 0 || begin >= end || end > nnz || T->idx[p] != i) continue;
    if (!underflows(size_of(T->val, p, T->dtype), rounded_size(rounded, p, T->dtype))) continue;
    snprintf(where, sizeof where, "%s: diagonal entry (%d,%d)", name, i, i);
    return out_of_range(where, largest_part(T->val, p, T->dtype), "underflows");
  }
  return SPTRSM_OK;
}

/* Checks only what is read here; sptrsm_matrix_create validates the rest. */
static sptrsm_status check_arrays(const sptrsm_sparse *T, int64_t *nnz, const sptrsm_context *context, const char *name) {
  if (T->dtype != SPTRSM_F64 && T->dtype != SPTRSM_C128)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: mixed precision is for factors in double precision; use working precision", name);
  if (T->n < 0 || !T->ptr) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: %s", name, T->n < 0 ? "order n is negative" : "ptr is NULL");
  SPTI_TRY(spti_copy_bytes(context, nnz, SPTRSM_HOST, T->ptr + T->n, T->place, sizeof *nnz));
  if (*nnz > 0 && (!T->idx || !T->val)) return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: idx or val is NULL", name);
  if (*nnz < 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "%s: ptr[%d] = %lld is negative", name, T->n, (long long)*nnz);
  return SPTRSM_OK;
}

static sptrsm_status convert_triangle(spti_single_factors *out, int which, const sptrsm_context *context, const sptrsm_sparse *T,
                                      const char *name) {
  sptrsm_sparse host = *T;
  spti_storage *f = &out->fetched[which];
  int64_t nnz;
  size_t bytes = sptrsm_dtype_bytes(T->dtype);
  SPTI_TRY(check_arrays(T, &nnz, context, name));
  if (T->place == SPTRSM_CUDA) {
    SPTI_TRY(spti_storage_alloc(f, NULL, T->n, nnz, bytes));
    SPTI_TRY(spti_copy_bytes(context, f->ptr, SPTRSM_HOST, T->ptr, SPTRSM_CUDA, ((size_t)T->n + 1) * sizeof *f->ptr));
    SPTI_TRY(spti_copy_bytes(context, f->idx, SPTRSM_HOST, T->idx, SPTRSM_CUDA, (size_t)nnz * sizeof *f->idx));
    SPTI_TRY(spti_copy_bytes(context, f->val, SPTRSM_HOST, T->val, SPTRSM_CUDA, (size_t)nnz * bytes));
    host.ptr = f->ptr, host.idx = f->idx, host.val = f->val, host.place = SPTRSM_HOST;
  }
  SPTI_TRY(spti_host_alloc(&out->values[which], nnz, bytes / 2, "factors in single precision"));
  int64_t bad = round_values(out->values[which], host.val, nnz, T->dtype);
  if (bad >= 0) return triangle_overflow(&host, bad, name);
  SPTI_TRY(check_diagonal(&host, nnz, out->values[which], name));
  host.val = out->values[which];
  host.dtype = spti_single_of(T->dtype);
  out->T[which] = host;
  return SPTRSM_OK;
}

/* ---- sets ---- */

sptrsm_status spti_single_values(void **out, const sptrsm_context *context, const void *val, sptrsm_place place, int64_t count,
                                 sptrsm_dtype dtype, const sptrsm_sparse *pattern, const char *name) {
  size_t bytes = sptrsm_dtype_bytes(dtype);
  void *host = NULL, *rounded = NULL;
  sptrsm_status status = SPTRSM_OK;
  *out = NULL;
  if (!val) return SPTRSM_OK;
  SPTI_TRY_GOTO(spti_host_alloc(&rounded, count, bytes / 2, "values in single precision"));
  if (place == SPTRSM_CUDA) {
    SPTI_TRY_GOTO(spti_host_alloc(&host, count, bytes, "values in single precision"));
    SPTI_TRY_GOTO(spti_copy_bytes(context, host, SPTRSM_HOST, val, place, (size_t)count * bytes));
    val = host;
  }
  int64_t bad = round_values(rounded, val, count, dtype);
  char where[64];
  snprintf(where, sizeof where, "%s[%lld]", name, (long long)bad);
  if (bad >= 0) SPTI_TRY_GOTO(out_of_range(where, largest_part(val, bad, dtype), "overflows"));
  if (pattern) {
    sptrsm_sparse T = *pattern;
    T.val = val, T.dtype = dtype;
    SPTI_TRY_GOTO(check_diagonal(&T, count, rounded, name));
  }
  spti_host_free(host);
  *out = rounded;
  return SPTRSM_OK;
fail:
  spti_host_free(host);
  spti_host_free(rounded);
  return status;
}

sptrsm_status spti_single_check_D(const void *const given[2], const void *const rounded[2], int32_t n, sptrsm_dtype dtype) {
  const float *D = rounded[0], *sub = rounded[1];
  char where[64];
  for (int32_t i = 0; D && i < n; i++) {
    float above = i > 0 ? rounded_size(sub, i - 1, dtype) : 0;
    if (above > 0) continue; /* the second row of a 2x2 block, which was checked with the first */
    double before = i > 0 ? size_of(given[1], i - 1, dtype) : 0;
    double most = fmax(size_of(given[0], i, dtype), fmax(size_of(given[1], i, dtype), before));
    if (!underflows(most, fmaxf(rounded_size(D, i, dtype), rounded_size(sub, i, dtype)))) continue;
    snprintf(where, sizeof where, "D: pivot %d", i);
    return out_of_range(where, most, "underflows");
  }
  return SPTRSM_OK;
}

void spti_single_factors_free(spti_single_factors *s) {
  for (int i = 0; i < 2; i++) spti_storage_free(&s->fetched[i], NULL);
  for (int i = 0; i < 4; i++) spti_host_free(s->values[i]);
}

static sptrsm_status convert(spti_single_factors *out, const sptrsm_context *context, const sptrsm_factors *f) {
  int32_t n = f->L->n;
  SPTI_TRY(convert_triangle(out, 0, context, f->L, "L"));
  if (f->U) SPTI_TRY(convert_triangle(out, 1, context, f->U, "U"));
  SPTI_TRY(spti_single_values(&out->values[2], context, f->D, SPTRSM_HOST, n, f->L->dtype, NULL, "D"));
  SPTI_TRY(spti_single_values(&out->values[3], context, f->D_sub, SPTRSM_HOST, n, f->L->dtype, NULL, "D_sub"));
  return spti_single_check_D((const void *const[2]){f->D, f->D_sub}, (const void *const[2]){out->values[2], out->values[3]}, n,
                             f->L->dtype);
}

sptrsm_status spti_single_factors_create(spti_single_factors *out, const sptrsm_context *context, const sptrsm_factors *f) {
  *out = (spti_single_factors){.f = *f};
  out->f.copy = SPTRSM_COPY;
  sptrsm_status status = convert(out, context, f);
  if (status != SPTRSM_OK) {
    spti_single_factors_free(out);
    return status;
  }
  out->f.L = &out->T[0];
  out->f.U = f->U ? &out->T[1] : NULL;
  out->f.D = out->values[2];
  out->f.D_sub = out->values[3];
  return SPTRSM_OK;
}
