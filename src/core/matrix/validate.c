/* validate.c -- checks once what every kernel relies on: indices in range, sorted and in the triangle, and a usable
 * diagonal. So no solve waits for a solution that no row computes. */
#include "core/base/dtype.h"
#include "core/matrix/matrix.h"

#include <math.h>

/* What a line is called in messages. */
static const char *line_word(const sptrsm_sparse *T) { return T->format == SPTRSM_CSR ? "row" : "column"; }

static int32_t row_of(const sptrsm_sparse *T, int32_t line, int32_t other) { return T->format == SPTRSM_CSR ? line : other; }
static int32_t col_of(const sptrsm_sparse *T, int32_t line, int32_t other) { return T->format == SPTRSM_CSR ? other : line; }

sptrsm_status spti_validate_description(const sptrsm_sparse *T) {
  if (T->format != SPTRSM_CSR && T->format != SPTRSM_CSC)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: unknown format %d", (int)T->format);
  if (sptrsm_dtype_bytes(T->dtype) == 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: unknown dtype %d", (int)T->dtype);
  if (T->uplo != SPTRSM_LOWER && T->uplo != SPTRSM_UPPER) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: unknown uplo %d", (int)T->uplo);
  if (T->diag != SPTRSM_NONUNIT && T->diag != SPTRSM_UNIT) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: unknown diag %d", (int)T->diag);
  if (T->n < 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: order n = %d is negative", T->n);
  if (!T->ptr) return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: ptr is NULL");
  return SPTRSM_OK;
}

static sptrsm_status check_pointers(const sptrsm_sparse *T, bool values) {
  if (T->ptr[0] != 0) return spti_fail(SPTRSM_ERR_STRUCTURE, "ptr[0] is %lld, not 0 (1-based indices? subtract 1)", (long long)T->ptr[0]);
  for (int32_t i = 0; i < T->n; i++) {
    if (T->ptr[i + 1] < T->ptr[i])
      return spti_fail(SPTRSM_ERR_STRUCTURE, "ptr[%d] = %lld is less than ptr[%d] = %lld", i + 1, (long long)T->ptr[i + 1], i,
                       (long long)T->ptr[i]);
    int64_t length = T->ptr[i + 1] - T->ptr[i]; /* both are at least 0 here */
    if (length > T->n)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s %d has %lld entries, more than n = %d", line_word(T), i, (long long)length, T->n);
  }
  if (T->ptr[T->n] > 0 && (!T->idx || (values && !T->val)))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "matrix: idx%s is NULL with %lld entries", values ? " or val" : "", (long long)T->ptr[T->n]);
  return SPTRSM_OK;
}

/* Names the first wrong entry of line i in the error. Slower than line_is_good, which is called first. */
static sptrsm_status check_line(const sptrsm_sparse *T, int32_t i) {
  bool right_of_diagonal = (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER); /* else left of it */
  for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
    int32_t j = T->idx[p];
    if (j < 0 || j >= T->n)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s %d: idx[%lld] = %d is not in 0..%d", line_word(T), i, (long long)p, j, T->n - 1);
    if (p > T->ptr[i] && j <= T->idx[p - 1])
      return spti_fail(SPTRSM_ERR_STRUCTURE, "%s %d: idx[%lld] = %d follows %d: %s", line_word(T), i, (long long)p, j, T->idx[p - 1],
                       j == T->idx[p - 1] ? "a duplicate; sum duplicates first" : "not sorted; sort each line first");
    if (right_of_diagonal ? j < i : j > i)
      return spti_fail(SPTRSM_ERR_STRUCTURE, "entry (%d,%d) is %s the diagonal of %s triangle", row_of(T, i, j), col_of(T, i, j),
                       T->uplo == SPTRSM_LOWER ? "above" : "below", T->uplo == SPTRSM_LOWER ? "a lower" : "an upper");
  }
  return SPTRSM_OK;
}

/* The checks of check_line with few branches, for the common case. *diagonal: whether the line stores its diagonal. */
static bool line_is_good(const sptrsm_sparse *T, int32_t i, bool diagonal_first, bool *diagonal) {
  int64_t begin = T->ptr[i], end = T->ptr[i + 1];
  *diagonal = false;
  if (begin == end) return true;
  int32_t first = T->idx[begin], last = T->idx[end - 1];
  bool good = diagonal_first ? first >= i && last < T->n : first >= 0 && last <= i;
  for (int64_t p = begin + 1; p < end; p++) good &= T->idx[p - 1] < T->idx[p];
  *diagonal = (diagonal_first ? first : last) == i;
  return good;
}

/* Part `part` of entry p: real, or imaginary of a complex type. */
static double part_of(const void *val, int64_t p, int part, sptrsm_dtype dtype) {
  switch (dtype) {
  case SPTRSM_F32: return (double)((const float *)val)[p];
  case SPTRSM_F64: return ((const double *)val)[p];
  case SPTRSM_C64: return (double)((const float *)val)[2 * p + part];
  default: return ((const double *)val)[2 * p + part];
  }
}

static bool is_regular(const void *val, int64_t p, sptrsm_dtype dtype) {
  const double re = part_of(val, p, 0, dtype), im = spti_is_complex(dtype) ? part_of(val, p, 1, dtype) : 0;
  return (re != 0 || im != 0) && isfinite(re) && isfinite(im);
}

static int64_t diagonal_position(const sptrsm_sparse *T, int32_t i) {
  return (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER) ? T->ptr[i] : T->ptr[i + 1] - 1;
}

static int32_t diagonal_fault(const sptrsm_sparse *T, const void *val) {
  if (T->diag == SPTRSM_UNIT) return -1;
  for (int32_t i = 0; i < T->n; i++)
    if (!is_regular(val, diagonal_position(T, i), T->dtype)) return i;
  return -1;
}

int32_t spti_diagonal_fault(const sptrsm_matrix *m, const void *val) {
  sptrsm_sparse T = m->T;
  T.ptr = m->storage[SPTI_NATURAL][SPTRSM_HOST].ptr; /* what stored unit diagonals are dropped from has none to be judged */
  return diagonal_fault(&T, val);
}

static sptrsm_status name_fault(const sptrsm_sparse *T, const void *val, int32_t i) {
  const int64_t p = diagonal_position(T, i);
  const bool zero = part_of(val, p, 0, T->dtype) == 0 && (!spti_is_complex(T->dtype) || part_of(val, p, 1, T->dtype) == 0);
  return spti_fail(SPTRSM_ERR_SINGULAR, "diagonal entry (%d,%d) is %s; the system has no unique solution", i, i,
                   zero ? "zero" : "not finite");
}

sptrsm_status spti_validate_diagonal(const sptrsm_sparse *T, const void *val) {
  const int32_t i = diagonal_fault(T, val);
  return i < 0 ? SPTRSM_OK : name_fault(T, val, i);
}

/* Adds to *diagonals how many of the lines store their diagonal. */
static sptrsm_status validate_lines(const sptrsm_sparse *T, bool values, int32_t first, int32_t end, int64_t *diagonals) {
  bool diagonal_first = (T->format == SPTRSM_CSR) == (T->uplo == SPTRSM_UPPER);
  int64_t stored = 0;
  for (int32_t i = first; i < end; i++) {
    bool diagonal;
    if (!line_is_good(T, i, diagonal_first, &diagonal)) SPTI_TRY(check_line(T, i));
    stored += diagonal;
    if (T->diag == SPTRSM_UNIT) continue;
    if (!diagonal)
      return spti_fail(SPTRSM_ERR_SINGULAR, "diagonal entry (%d,%d) is missing; store it, or say that the diagonal is one (SPTRSM_UNIT)", i,
                       i);
    if (values && !is_regular(T->val, diagonal_position(T, i), T->dtype)) return name_fault(T, T->val, i);
  }
  *diagonals += stored;
  return SPTRSM_OK;
}

sptrsm_status spti_validate_frame(const sptrsm_sparse *T) {
  SPTI_TRY(spti_validate_description(T));
  return check_pointers(T, true);
}

sptrsm_status spti_validate_lines(const sptrsm_sparse *T, int32_t first, int32_t end) {
  int64_t unused = 0;
  return validate_lines(T, true, first, end, &unused);
}

static sptrsm_status validate(const sptrsm_sparse *T, bool values, int64_t *diagonals) {
  SPTI_TRY(spti_validate_description(T));
  SPTI_TRY(check_pointers(T, values));
  *diagonals = 0;
  return validate_lines(T, values, 0, T->n, diagonals);
}

sptrsm_status spti_validate(const sptrsm_sparse *T, int64_t *diagonals) { return validate(T, true, diagonals); }

sptrsm_status spti_validate_pattern(const sptrsm_sparse *T) {
  int64_t diagonals;
  return validate(T, false, &diagonals);
}
