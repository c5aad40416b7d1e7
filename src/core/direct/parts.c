/* parts.c -- see parts.h. All that kernels rely on is checked here: permutations, finite nonzero scale factors, a regular D. */
#include "core/direct/parts.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "core/base/diagonal_block.h"
#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"

/* Copies host memory to new memory where the context works. */
static sptrsm_status upload(const sptrsm_context *context, void *out, const void *host, int64_t count, size_t bytes, const char *what) {
  void *memory;
  size_t total;
  SPTI_TRY(spti_bytes(&total, count, bytes, what));
  SPTI_TRY(spti_alloc(context, &memory, count, bytes, what));
  sptrsm_status status = SPTRSM_OK;
  if (total > 0 && context->place == SPTRSM_HOST) memcpy(memory, host, total);
  else if (total > 0) status = spti_gpu_copy(context, memory, total, host, total, total, 1, SPTI_TO_DEVICE);
  if (status != SPTRSM_OK) {
    spti_free(context, memory);
    return status;
  }
  memcpy(out, &memory, sizeof memory);
  return SPTRSM_OK;
}

/* ---- the set as a whole ---- */

void sptrsm_factors_init_sized(sptrsm_factors *factors, size_t size) {
  spti_sized_init(factors, size, &(sptrsm_factors){0}, sizeof *factors);
}

sptrsm_status spti_factors_read(sptrsm_factors *f, const sptrsm_factors *in) {
  sptrsm_factors_init(f);
  SPTI_TRY(spti_sized_read(f, sizeof *f, in, SPTI_SIZE_UP_TO(sptrsm_factors, col_op), "sptrsm_factors"));
  if (!f->L) return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: L is NULL");
  if (f->u_kind < SPTRSM_U_GIVEN || f->u_kind > SPTRSM_U_IS_LH)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown u_kind %d", (int)f->u_kind);
  if (f->u_kind != SPTRSM_U_GIVEN && f->U)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: U is given, but u_kind says that it is L transposed");
  if (f->L->uplo == SPTRSM_UPPER)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "L is an upper triangle; if it holds L transposed, describe it with the other format (CSR/CSC) as lower");
  if (!f->U) return SPTRSM_OK;
  if (f->U->uplo == SPTRSM_LOWER)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "U is a lower triangle; if it holds U transposed, describe it with the other format (CSR/CSC) as upper");
  if (f->U->n != f->L->n) return spti_fail(SPTRSM_ERR_ARGUMENT, "L has order %d, U has order %d", f->L->n, f->U->n);
  if (f->U->dtype != f->L->dtype) return spti_fail(SPTRSM_ERR_ARGUMENT, "L and U have different dtypes");
  return SPTRSM_OK;
}

/* ---- permutations and scalings ---- */

sptrsm_status spti_permutation_invert(int32_t *inverse, const int32_t *perm, int32_t n, const char *name) {
  for (int32_t i = 0; i < n; i++) inverse[i] = -1;
  for (int32_t i = 0; i < n; i++) {
    int32_t v = perm[i];
    if (v < 0 || v >= n)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s[%d] = %d is not in 0..%d%s", name, i, v, n - 1, v == n ? " (1-based? subtract 1)" : "");
    if (inverse[v] >= 0)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s[%d] = %d is there already, at %d: not a permutation", name, i, v, inverse[v]);
    inverse[v] = i;
  }
  return SPTRSM_OK;
}

sptrsm_status spti_side_set_maps(spti_side *out, const sptrsm_context *context, const int32_t *perm, sptrsm_convention convention,
                                 int32_t n, const char *name) {
  if (convention != SPTRSM_GATHER && convention != SPTRSM_SCATTER)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown convention %d of %s", (int)convention, name);
  if (!perm) return SPTRSM_OK;
  int32_t *inverse;
  SPTI_TRY(spti_host_alloc(&inverse, n, sizeof *inverse, name));
  bool gather = convention == SPTRSM_GATHER;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_permutation_invert(inverse, perm, n, name));
  SPTI_TRY_DONE(upload(context, &out->map, gather ? perm : inverse, n, sizeof *perm, name));
  SPTI_TRY_DONE(upload(context, &out->inverse, gather ? inverse : perm, n, sizeof *perm, name));
done:
  spti_host_free(inverse);
  return status;
}

/* In single precision solves multiply by the scale factor rounded to float, so the rounded one must be usable too. */
static bool is_usable(double scale, sptrsm_dtype dtype) {
  const double s = spti_is_single(dtype) ? (double)(float)scale : scale;
  return isfinite(s) && s != 0;
}

int32_t spti_scale_fault(const double *scale, int32_t n, sptrsm_dtype dtype) {
  for (int32_t i = 0; scale && i < n; i++)
    if (!is_usable(scale[i], dtype)) return i;
  return -1;
}

sptrsm_status spti_scale_check(const double *scale, sptrsm_scale_op op, int32_t n, sptrsm_dtype given, sptrsm_dtype dtype,
                               const char *name) {
  if (op != SPTRSM_MULTIPLY && op != SPTRSM_DIVIDE)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: unknown scale operation %d of %s", (int)op, name);
  const int32_t i = spti_scale_fault(scale, n, dtype);
  if (i < 0) return SPTRSM_OK;
  const double s = spti_is_single(dtype) ? (double)(float)scale[i] : scale[i];
  const bool rounded = isfinite(scale[i]) && scale[i] != 0;
  return spti_fail(rounded && given != dtype ? SPTRSM_ERR_UNSUPPORTED : SPTRSM_ERR_SINGULAR, "%s[%d] = %g is %s%s", name, i, scale[i],
                   s == 0 ? "zero" : "not finite",
                   !rounded         ? ""
                   : given != dtype ? " in single precision; use working precision"
                                    : " in single precision; use double factors");
}

sptrsm_status spti_side_set_scale(spti_side *out, const sptrsm_context *context, const double *scale, sptrsm_scale_op op, int32_t n,
                                  sptrsm_dtype given, sptrsm_dtype dtype, const char *name) {
  SPTI_TRY(spti_scale_check(scale, op, n, given, dtype, name));
  out->divide = op == SPTRSM_DIVIDE;
  return scale ? upload(context, &out->scale, scale, n, sizeof *scale, name) : SPTRSM_OK;
}

static sptrsm_status clone_array(const sptrsm_context *context, void *out, const void *from, const sptrsm_context *from_context, int32_t n,
                                 size_t bytes) {
  void *memory;
  if (!from) return SPTRSM_OK;
  SPTI_TRY(spti_alloc(context, &memory, n, bytes, "permutations and scalings"));
  memcpy(out, &memory, sizeof memory);
  return spti_copy_between(context, memory, context->place, from_context, from, from_context->place, (size_t)n * bytes);
}

sptrsm_status spti_side_clone(spti_side *out, const sptrsm_context *context, const spti_side *from, const sptrsm_context *from_context,
                              int32_t n) {
  *out = (spti_side){.divide = from->divide};
  SPTI_TRY(clone_array(context, &out->map, from->map, from_context, n, sizeof *out->map));
  SPTI_TRY(clone_array(context, &out->inverse, from->inverse, from_context, n, sizeof *out->inverse));
  return clone_array(context, &out->scale, from->scale, from_context, n, sizeof *out->scale);
}

void spti_side_free(spti_side *s, const sptrsm_context *context) {
  spti_free(context, s->map);
  spti_free(context, s->inverse);
  spti_free(context, s->scale);
}

/* ---- D ---- */

sptrsm_status spti_D_fault(int32_t *row, const spti_D_values *D, int32_t n, sptrsm_dtype dtype) {
  *row = -1;
  if (!D->val && D->sub) return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: D_sub without D");
  if (D->sub && n > 0 && spti_value_at(D->sub, (n - 1) * D->sub_step, dtype) != 0)
    return spti_fail(SPTRSM_ERR_STRUCTURE, "D_sub[%d] is not zero: the last row has no next one to couple with", n - 1);
  for (int32_t i = 0; D->val && i < n; i++) {
    const double complex a = spti_value_at(D->val, i * D->val_step, dtype), s = D->sub ? spti_value_at(D->sub, i * D->sub_step, dtype) : 0;
    bool regular = cabs(a) > 0 && isfinite(cabs(a));
    if (s != 0) {
      if (spti_value_at(D->sub, (i + 1) * D->sub_step, dtype) != 0)
        return spti_fail(SPTRSM_ERR_STRUCTURE, "D_sub[%d] and D_sub[%d] are both nonzero: 2x2 blocks must not overlap", i, i + 1);
      regular = spti_block_is_regular(a, D->hermitian ? conj(s) : s, s, spti_value_at(D->val, (i + 1) * D->val_step, dtype), dtype);
    }
    if (!regular && *row < 0) *row = i;
    i += s != 0;
  }
  return SPTRSM_OK;
}

sptrsm_status spti_D_check(const void *val, const void *sub, bool hermitian, int32_t n, sptrsm_dtype dtype) {
  int32_t i;
  SPTI_TRY(spti_D_fault(&i, &(spti_D_values){.val = val, .sub = sub, .val_step = 1, .sub_step = 1, .hermitian = hermitian}, n, dtype));
  if (i < 0) return SPTRSM_OK;
  if (sub && spti_value_at(sub, i, dtype) != 0) {
    const double complex s = spti_value_at(sub, i, dtype), a = spti_value_at(val, i, dtype), d = spti_value_at(val, i + 1, dtype);
    const bool in_double = spti_block_is_regular(a, hermitian ? conj(s) : s, s, d, spti_is_complex(dtype) ? SPTRSM_C128 : SPTRSM_F64);
    return spti_fail(SPTRSM_ERR_SINGULAR, "D: the 2x2 block of rows %d and %d is singular, or not finite, or its elimination overflows%s",
                     i, i + 1, in_double ? " in single precision, though not in double" : "");
  }
  return spti_fail(SPTRSM_ERR_SINGULAR, "D[%d] is %s", i, spti_value_at(val, i, dtype) == 0 ? "zero" : "not finite");
}

void spti_direct_diagonal_free(spti_direct_diagonal *D, const sptrsm_context *context) {
  for (int part = 0; part < 2; part++) {
    spti_host_free(D->host[part]);
    spti_free(context, D->device[part]);
  }
}

sptrsm_status spti_direct_diagonal_create(spti_direct_diagonal *out, const sptrsm_context *context, int32_t n, sptrsm_dtype dtype,
                                          const void *val, const void *sub, bool hermitian) {
  SPTI_TRY(spti_D_check(val, sub, hermitian, n, dtype));
  if (!val) return SPTRSM_OK;
  const void *given[2] = {val, sub};
  spti_direct_diagonal D = {.apply.hermitian = hermitian};
  size_t bytes = sptrsm_dtype_bytes(dtype);
  bool on_device = context->place == SPTRSM_CUDA;
  sptrsm_status status;
  for (int part = 0; part < 2 && given[part]; part++) {
    SPTI_TRY_GOTO(spti_host_alloc(&D.host[part], n, bytes, "D"));
    if (n > 0) memcpy(D.host[part], given[part], (size_t)n * bytes);
    if (on_device) SPTI_TRY_GOTO(upload(context, &D.device[part], given[part], n, bytes, "D"));
  }
  D.apply.val = on_device ? D.device[0] : D.host[0];
  D.apply.sub = on_device ? D.device[1] : D.host[1];
  *out = D;
  return SPTRSM_OK;
fail:
  spti_direct_diagonal_free(&D, context);
  return status;
}
