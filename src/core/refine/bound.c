/* bound.c -- the norm || |op(A)^-1| w ||_inf of dgerfs' error bound, for a panel of columns with a w each.
 *
 * It equals the 1-norm of M = W op(A)^-H with W = diag(w), which is estimated from products with M and M^H by Higham's method, as in
 * LAPACK's dlacn2 [higham1988]: a gradient ascent over unit vectors, from x = (1/n, ..., 1/n), with at most five steps, and one vector
 * of alternating signs for matrices on which the ascent fails. All columns of a panel take their steps together, so that the solves
 * are block solves; a column that is finished solves for zero. Since only absolute values matter, op is N or C. The vectors are kept
 * on the host: a bound takes five to ten solves and is computed by request only. */
#include "core/refine/refine.h"

#include <complex.h>
#include <math.h>

#include "core/context/alloc.h"
#include "core/direct/direct.h"

enum { STEPS_MAX = 5 };

typedef struct {
  sptrsm_direct *d;
  sptrsm_block V; /* [n,width] column-major, host, in the factors' type */
  int8_t *signs;  /* [n,width], for real types: signs of the latest vector */
  const double *w;
  bool transposed;
  double *est;
  int32_t *peak; /* [width] row of the unit vector; -1: this column is finished */
} estimate;

static inline float modulus_f32(float x) { return fabsf(x); }
static inline double modulus_f64(double x) { return fabs(x); }
static inline float modulus_c64(float _Complex x) { return cabsf(x); }
static inline double modulus_c128(double _Complex x) { return cabs(x); }

#define SPTI_TEMPLATE "core/refine/bound.tmpl.h"
#include "core/base/for_each_dtype.h"

static sptrsm_status solve(estimate *e, bool adjoint) {
  sptrsm_op op = e->transposed != adjoint ? SPTRSM_C : SPTRSM_N;
  SPTI_TRY(sptrsm_direct_solve(e->d, SPTRSM_SYS_A, op, NULL, &e->V, &e->V));
  return sptrsm_context_sync(e->d->context);
}

/* V := M V, V := M^H V */
static sptrsm_status multiply(estimate *e) {
  SPTI_TRY(solve(e, true));
  SPTI_SWITCH(e->V.dtype, weigh)(e);
  return SPTRSM_OK;
}
static sptrsm_status multiply_adjoint(estimate *e) {
  SPTI_SWITCH(e->V.dtype, weigh)(e);
  return solve(e, false);
}

static sptrsm_status run(estimate *e) {
  SPTI_SWITCH(e->V.dtype, start)(e);
  SPTI_TRY(multiply(e));
  if (SPTI_SWITCH(e->V.dtype, take_signs)(e, true)) {
    SPTI_TRY(multiply_adjoint(e));
    for (int step = 0; SPTI_SWITCH(e->V.dtype, take_units)(e, step); step++) {
      SPTI_TRY(multiply(e));
      if (!SPTI_SWITCH(e->V.dtype, take_signs)(e, false)) break;
      SPTI_TRY(multiply_adjoint(e));
    }
  }
  SPTI_SWITCH(e->V.dtype, alternate)(e);
  SPTI_TRY(multiply(e));
  SPTI_SWITCH(e->V.dtype, take_alternate)(e);
  return SPTRSM_OK;
}

/* Scales the weights to at most 1, so that the solves neither overflow nor underflow. The estimate is to be multiplied by scale[c]. */
static void normalise(double *w, double *scale, int32_t n, int32_t width) {
  for (int32_t c = 0; c < width; c++) {
    double most = 0, *column = w + (int64_t)c * n;
    for (int32_t i = 0; i < n; i++)
      if (isnan(column[i]) || column[i] > most) most = column[i];
    scale[c] = most > 0 && isfinite(most) ? most : 1;
    for (int32_t i = 0; i < n; i++) column[i] /= scale[c];
  }
}

sptrsm_status spti_error_bound(double *out, sptrsm_direct *d, bool transposed, int32_t width, double *w) {
  int64_t count = (int64_t)d->n * width;
  estimate e = {.d = d, .w = w, .transposed = transposed, .est = out};
  e.V = (sptrsm_block){.ld = d->n, .n = d->n, .nrhs = width, .dtype = d->dtype, .layout = SPTRSM_COL_MAJOR};
  double *scale = NULL;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&e.V.data, count, sptrsm_dtype_bytes(d->dtype), "vectors of the error bound"));
  SPTI_TRY_DONE(spti_host_alloc(&e.signs, count, sizeof *e.signs, "signs of the error bound"));
  SPTI_TRY_DONE(spti_host_alloc(&e.peak, width, sizeof *e.peak, "error bound"));
  SPTI_TRY_DONE(spti_host_alloc(&scale, width, sizeof *scale, "error bound"));
  normalise(w, scale, d->n, width);
  for (int32_t c = 0; c < width; c++) out[c] = 0, e.peak[c] = 0;
  if (d->n > 0) SPTI_TRY_DONE(run(&e));
  for (int32_t c = 0; c < width; c++) out[c] *= scale[c];
done:
  spti_host_free(e.V.data);
  spti_host_free(e.signs);
  spti_host_free(e.peak);
  spti_host_free(scale);
  return status;
}
