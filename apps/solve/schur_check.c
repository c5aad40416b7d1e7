/* schur_check.c -- the check of sptrsm-solve --schur: S z beside C op(A)^-1 B z, which one solve with both triangles gives. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "solve/schur.h"

static double complex number_at(const void *data, int64_t at, sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)data)[at];
  case SPTRSM_F64: return ((const double *)data)[at];
  case SPTRSM_C64: return ((const float complex *)data)[at];
  default: return ((const double complex *)data)[at];
  }
}

static void store_number(void *data, int64_t at, sptrsm_dtype dtype, double complex value) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)data)[at] = (float)creal(value); break;
  case SPTRSM_F64: ((double *)data)[at] = creal(value); break;
  case SPTRSM_C64: ((float complex *)data)[at] = (float complex)value; break;
  default: ((double complex *)data)[at] = value;
  }
}

/* Element k of z, of either sign, with 1/2 <= |z| < 1: the same in every run. */
static double random_at(int64_t k) {
  uint64_t x = ((uint64_t)k + 1) * 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 31)) * 0xBF58476D1CE4E5B9u;
  x ^= x >> 29;
  const double size = 0.5 + 0.5 * (double)(x >> 12) * 0x1p-52;
  return x & 1 ? size : -size;
}

/* ---- columns that are sparse or dense ---- */

static int64_t entries_of(const schur_side *s, int64_t k) {
  return s->block ? s->block->block.n : s->columns.ptr[k + 1] - s->columns.ptr[k];
}

static double complex entry(const schur_side *s, int64_t k, int64_t q, int64_t *row) {
  if (s->block) {
    const sptrsm_block *b = &s->block->block;
    *row = q;
    return number_at(b->data, b->layout == SPTRSM_ROW_MAJOR ? q * b->ld + k : q + k * b->ld, b->dtype);
  }
  const int64_t p = s->columns.ptr[k] + q;
  *row = s->columns.idx[p];
  return number_at(s->columns.val, p, s->matrix->dtype);
}

/* ---- both ways ---- */

/* x = op(A)^-1 B z */
static sptrsm_status solve_once(const sptrsm_block *x, double complex *sums, const schur_run *r, int64_t i) {
  const schur_side *B = schur_side_of(&r->B, i);
  sptrsm_block to = *x;
  int64_t row;
  for (int64_t k = 0; k < schur_side_count(B); k++)
    for (int64_t q = 0; q < entries_of(B, k); q++) {
      const double complex b = entry(B, k, q, &row);
      sums[row] += b * random_at(k);
    }
  for (int64_t j = 0; j < x->n; j++) store_number(x->data, j, x->dtype, sums[j]);
  sptrsm_status status = sptrsm_direct_solve(r->items[i].direct, SPTRSM_SYS_A, r->set->problem.op, NULL, x, &to);
  return status == SPTRSM_OK ? sptrsm_context_sync(r->context) : status;
}

/* Element k of C x; without C, of B^T x or B^H x. */
static double complex product_at(const schur_run *r, int64_t i, int64_t k, const sptrsm_block *x) {
  const schur_side *C = schur_side_of(r->C.where ? &r->C : &r->B, i);
  const bool conjugated = !r->C.where && r->items[i].factors.F.factors.u_kind == SPTRSM_U_IS_LH;
  double complex sum = 0;
  int64_t row;
  for (int64_t q = 0; q < entries_of(C, k); q++) {
    const double complex c = entry(C, k, q, &row);
    sum += (conjugated ? conj(c) : c) * number_at(x->data, row, x->dtype);
  }
  return sum;
}

static double largest_difference(const schur_run *r, int64_t i, const sptrsm_block *x) {
  const sptrsm_block *S = &r->items[i].S;
  double worst = 0, scale = 0;
  for (int64_t j = 0; j < S->n; j++) {
    double complex sum = 0;
    double sizes = 0;
    for (int64_t k = 0; k < S->nrhs; k++) {
      const double complex s = number_at(S->data, j * S->ld + k, S->dtype);
      sum += s * random_at(k);
      sizes += cabs(s) * fabs(random_at(k));
    }
    worst = nan_max(worst, cabs(sum - product_at(r, i, j, x)));
    scale = nan_max(scale, sizes);
  }
  return worst == 0 ? 0 : worst / scale;
}

int schur_compare(double *difference, const schur_run *r, int64_t i) {
  const sptrsm_sparse *L = &r->items[i].factors.F.L_tri;
  const size_t n = (size_t)L->n;
  double complex *sums = calloc(n + 1, sizeof *sums);
  sptrsm_block x = {calloc(n + 1, sizeof(double complex)), n > 0 ? L->n : 1, L->n, 1, L->dtype, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  int code = sums && x.data ? solver_fail(solve_once(&x, sums, r, i)) : cli_no_memory("the check");
  if (code == CLI_OK) *difference = largest_difference(r, i, &x);
  free(sums);
  free(x.data);
  return code;
}
