/* panel.c -- residuals of some columns at once, for one sparse matrix S: the columns lie in the lanes of vectors, so the matrix is read
 * once for all of them, by rows, and a row is judged as soon as it is there.
 *
 * A sum is a pair of doubles, hi + lo, of about 106 bits: the error of each product comes from a fused multiply-add, and that of each
 * addition from Knuth's two-sum [ogita2005]. Both errors are exact while nothing overflows or underflows. Columns in which a sum of
 * magnitudes leaves the range from 2^-450 to 2^450, where the squares for norms do not either, are left to the other way, which has the
 * exponents of long double. */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/residual/column.h"

#define INLINE static inline __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi" /* how vectors are passed does not matter where every function is inlined */

typedef double lanes __attribute__((vector_size(RESIDUAL_PANEL * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef int64_t lane_mask __attribute__((vector_size(RESIDUAL_PANEL * sizeof(int64_t))));
typedef struct {
  lanes hi, lo;
} wide;

#define LEAST 0x1p-450
#define MOST  0x1p450

/* s += a, exactly but for the sum of the low parts. */
INLINE void add_to(wide *s, lanes a, lanes low) {
  const lanes sum = s->hi + a, part = sum - s->hi;
  s->lo += (s->hi - (sum - part)) + (a - part) + low;
  s->hi = sum;
}

INLINE void add_product(wide *s, double t, lanes x) {
  const lanes product = t * x;
  lanes error;
  for (int k = 0; k < RESIDUAL_PANEL; k++) error[k] = fma(t, x[k], -product[k]);
  add_to(s, product, error);
}

INLINE lanes absolute(lanes x) {
  for (int k = 0; k < RESIDUAL_PANEL; k++) x[k] = fabs(x[k]);
  return x;
}

/* above / below, where 0/0 is 0. */
INLINE lanes quotient(lanes above, lanes below) {
  lanes q;
  for (int k = 0; k < RESIDUAL_PANEL; k++) q[k] = above[k] == 0 ? 0 : above[k] / below[k];
  return q;
}

/* What the rows add up to, for each column. */
typedef struct {
  lanes berr, g1, x_1, x_2, r_1, r_2, b_2;
  lane_mask g1_row, good;
} tally;

INLINE void tally_row(tally *t, const job *j, int32_t i, lanes r, lanes a, lanes b) {
  const lanes size = a + b;
  t->good &= (size == 0) | ((size >= LEAST) & (size <= MOST));
  t->r_1 += r;
  t->r_2 += r * r;
  t->b_2 += b * b;
  const lanes berr = quotient(r, size);
  for (int k = 0; k < RESIDUAL_PANEL; k++) t->berr[k] = berr[k] > t->berr[k] ? berr[k] : t->berr[k];
  if (!j->lengths) return;
  const lanes g1 = quotient(r, (j->lengths[i] + 1 + (j->alpha != NULL)) * unit_roundoff(j->S->dtype) * a);
  const lane_mask larger = g1 > t->g1;
  t->g1_row = (larger & i) | (~larger & t->g1_row);
  for (int k = 0; k < RESIDUAL_PANEL; k++) t->g1[k] = g1[k] > t->g1[k] ? g1[k] : t->g1[k];
}

/* The columns whose numbers have left the range. */
static unsigned finish(column_result *out, const tally *t, const job *j, int width) {
  unsigned left = 0;
  for (int k = 0; k < width; k++) {
    out[k] = (column_result){.berr = t->berr[k], .g1 = t->g1[k], .g1_row = t->g1_row[k]};
    out[k].normwise = t->r_2[k] == 0 ? 0 : sqrt(t->r_2[k]) / (j->norm_f * sqrt(t->x_2[k]) + sqrt(t->b_2[k]));
    if (j->lengths) out[k].g2 = t->r_1[k] == 0 ? 0 : t->r_1[k] / (j->norm_1 * t->x_1[k] * unit_roundoff(j->S->dtype));
    const bool good = t->good[k] && isfinite(j->norm_f) && (t->x_1[k] == 0 || t->x_2[k] >= LEAST * LEAST);
    if (!good) left |= 1u << k;
  }
  return left;
}

#define TYPE    float
#define PARTS   1
#define NAME(x) x##_f32
#include "common/residual/panel.tmpl.h"

#define TYPE    double
#define PARTS   1
#define NAME(x) x##_f64
#include "common/residual/panel.tmpl.h"

#define TYPE    float complex
#define PARTS   2
#define NAME(x) x##_c64
#include "common/residual/panel.tmpl.h"

#define TYPE    double complex
#define PARTS   2
#define NAME(x) x##_c128
#include "common/residual/panel.tmpl.h"

bool panel_takes(const chain *S) { return S->count == 1 && S->links[0].kind == LINK_SPARSE; }

static bool is_complex(const chain *S) { return S->dtype == SPTRSM_C64 || S->dtype == SPTRSM_C128; }

size_t panel_work_bytes(const chain *S) { return (size_t)S->n * (is_complex(S) ? sizeof(row_c128) : sizeof(row_f64)); }

unsigned panel_columns(column_result *out, const job *j, int64_t first, int width, void *workspace) {
  switch (j->S->dtype) {
  case SPTRSM_F32: return columns_f32(out, j, first, width, workspace);
  case SPTRSM_F64: return columns_f64(out, j, first, width, workspace);
  case SPTRSM_C64: return columns_c64(out, j, first, width, workspace);
  default: return columns_c128(out, j, first, width, workspace);
  }
}

/* ---- the matrix by rows ---- */

static double complex value_at(const void *val, sptrsm_dtype dtype, int64_t p) {
  switch (dtype) {
  case SPTRSM_F32: return (double)((const float *)val)[p];
  case SPTRSM_F64: return ((const double *)val)[p];
  case SPTRSM_C64: return (double complex)((const float complex *)val)[p];
  default: return ((const double complex *)val)[p];
  }
}

/* Entry (i,j) = t: counts it in ptr[i + 1], or puts it where ptr[i] says. */
static void put(panel_rows *rows, bool counts, int parts, int32_t i, int32_t j, double complex t) {
  if (counts) {
    rows->ptr[i + 1]++;
    return;
  }
  const int64_t p = rows->ptr[i]++;
  rows->idx[p] = j;
  rows->val[p * parts] = creal(t);
  if (parts == 2) rows->val[p * 2 + 1] = cimag(t);
}

static void put_all(panel_rows *rows, bool counts, const chain *S) {
  const chain_link *M = &S->links[0];
  const bool rows_are_major = (M->format == SPTRSM_CSR) != M->transposed;
  const int parts = is_complex(S) ? 2 : 1;
  for (int32_t m = 0; m < S->n; m++) {
    if (M->unit) put(rows, counts, parts, m, m, 1);
    for (int64_t p = M->ptr[m]; p < M->ptr[m + 1]; p++) {
      const int32_t i = rows_are_major ? m : M->idx[p], j = rows_are_major ? M->idx[p] : m;
      if (M->unit && i == j) continue;
      const double complex stored = value_at(M->val, S->dtype, p), t = M->conjugated ? conj(stored) : stored;
      put(rows, counts, parts, i, j, t);
      if (i == j || M->symmetry == SPTRSM_GENERAL) continue;
      put(rows, counts, parts, j, i, M->symmetry == SPTRSM_SKEW ? -t : M->symmetry == SPTRSM_HERMITIAN ? conj(t) : t);
    }
  }
}

/* An upper bound of the entries of both triangles. */
static size_t most_entries(const chain *S) {
  const chain_link *M = &S->links[0];
  return (size_t)M->ptr[S->n] * (M->symmetry == SPTRSM_GENERAL ? 1 : 2) + (M->unit ? (size_t)S->n : 0);
}

size_t panel_rows_bytes(const chain *S) {
  return most_entries(S) * (sizeof(int32_t) + (is_complex(S) ? 2 : 1) * sizeof(double)) + ((size_t)S->n + 1) * sizeof(int64_t);
}

bool panel_rows_create(panel_rows *out, const chain *S) {
  const size_t n = (size_t)S->n, most = most_entries(S);
  panel_rows rows = {calloc(n + 1, sizeof *rows.ptr), malloc(most * sizeof *rows.idx + 1),
                     malloc(most * (is_complex(S) ? 2 : 1) * sizeof *rows.val + 1)};
  if (!rows.ptr || !rows.idx || !rows.val) {
    panel_rows_free(&rows);
    return false;
  }
  put_all(&rows, true, S);
  for (size_t i = 0; i < n; i++) rows.ptr[i + 1] += rows.ptr[i];
  put_all(&rows, false, S); /* leaves the end of each row in ptr */
  memmove(rows.ptr + 1, rows.ptr, n * sizeof *rows.ptr);
  rows.ptr[0] = 0;
  *out = rows;
  return true;
}

void panel_rows_free(panel_rows *rows) {
  free(rows->ptr);
  free(rows->idx);
  free(rows->val);
  *rows = (panel_rows){0};
}
