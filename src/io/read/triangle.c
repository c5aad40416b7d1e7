/* triangle.c -- describes a matrix from a file as a triangle: decides its side and diagonal, and checks both.
 *
 * The side is the caller's wish, else what the file says, else what the pattern shows. An entry that would make the substitution
 * wrong is refused by its place; nothing is dropped unless option take_triangle asks for it.
 */
#include "io/read/read.h"

#include <string.h>

typedef struct { /* first entry found on each side; row -1: none */
  int64_t below_row, below_col, above_row, above_col;
} sides;

static void note(sides *s, int64_t row, int64_t col) {
  if (row > col && s->below_row < 0) s->below_row = row, s->below_col = col;
  if (row < col && s->above_row < 0) s->above_row = row, s->above_col = col;
}

/* Lines are sorted, so the ends of one show which sides it has; only the first line with a side is looked through. */
static sides find_sides(const sptrsm_file_matrix *M) {
  sides s = {-1, -1, -1, -1};
  const bool csr = M->format == SPTRSM_CSR;
  for (int64_t j = 0; j < spti_io_major(M) && (s.below_row < 0 || s.above_row < 0); spti_io_passed(M, M->ptr[j], M->ptr[j + 1]), j++) {
    const int64_t begin = M->ptr[j], end = M->ptr[j + 1], before = csr ? s.below_row : s.above_row,
                  behind = csr ? s.above_row : s.below_row;
    const bool is_new = begin < end && ((before < 0 && M->idx[begin] < j) || (behind < 0 && M->idx[end - 1] > j));
    for (int64_t p = begin; p < end && is_new; p++) note(&s, csr ? j : M->idx[p], csr ? M->idx[p] : j);
  }
  return s;
}

static const char *symmetry_name(sptrsm_symmetry s) {
  return s == SPTRSM_HERMITIAN ? "Hermitian" : s == SPTRSM_SKEW ? "skew-symmetric" : "symmetric";
}

/* A symmetric matrix stores one triangle of two; only on request is the stored one taken as a triangular matrix. */
static sptrsm_status check_symmetry(const sptrsm_file_matrix *M, const sptrsm_io_options *o) {
  if (M->symmetry == SPTRSM_GENERAL) return SPTRSM_OK;
  bool fits = o->uplo == SPTRSM_AS_STORED || M->uplo == SPTRSM_AS_STORED || o->uplo == M->uplo;
  if (o->take_triangle && fits) return SPTRSM_OK;
  return sptrsm_error_set(
      SPTRSM_ERR_STRUCTURE,
      "%s: declared %s (one triangle stored for both), not triangular; use --take-triangle to solve with the stored %s triangle alone",
      M->where, symmetry_name(M->symmetry), M->uplo == SPTRSM_UPPER ? "upper" : "lower");
}

static sptrsm_status decide_uplo(sptrsm_uplo *out, const sptrsm_file_matrix *M, const sides *s, const sptrsm_io_options *o) {
  if (o->uplo != SPTRSM_AS_STORED) *out = (sptrsm_uplo)o->uplo;
  else if (M->uplo != SPTRSM_AS_STORED) *out = (sptrsm_uplo)M->uplo;
  else if (s->below_row >= 0 && s->above_row >= 0)
    return sptrsm_error_set(
        SPTRSM_ERR_STRUCTURE,
        "%s: has entries on both sides of the diagonal, e.g. (%lld,%lld) and (%lld,%lld); use --uplo with --take-triangle to take one",
        M->where, (long long)s->below_row, (long long)s->below_col, (long long)s->above_row, (long long)s->above_col);
  else *out = s->above_row >= 0 ? SPTRSM_UPPER : SPTRSM_LOWER;
  return SPTRSM_OK;
}

/* Do all entries off the diagonal lie on one side? */
static bool all_above(const sides *s) { return s->above_row >= 0 && s->below_row < 0; }
static bool all_below(const sides *s) { return s->below_row >= 0 && s->above_row < 0; }

static bool is_named(const sptrsm_file_matrix *M, const char *name) {
  const char *slash = strrchr(M->where, '/');
  return slash != NULL && strcmp(slash + 1, name) == 0;
}

/* The end of the message about a transposed triangle: other ways to make sense of it. */
static const char *transpose_advice(const sides *s, spti_io_role role) {
  if (role == SPTI_L_OF_SET) return "";
  if (role != SPTI_ALONE) return "; or are L and U swapped?";
  return all_above(s) ? ", or give --uplo upper to solve with it as CSR" : ", or give --uplo lower to solve with it as CSR";
}

/* SciPy's splu gives CSC. Where the file names no format, CSC arrays read as CSR give the transpose: L looks upper and U lower. */
static sptrsm_status refuse_transpose(const sptrsm_file_matrix *M, const sides *s, spti_io_role role, const sptrsm_io_options *o) {
  int side = all_above(s) ? SPTRSM_UPPER : SPTRSM_LOWER;
  bool turned = (is_named(M, "L") && all_above(s)) || (is_named(M, "U") && all_below(s));
  bool asked = role == SPTI_ALONE && o->uplo == side;
  if (!M->format_guessed || !turned || asked || M->uplo == side) return SPTRSM_OK;
  const char *name = role == SPTI_L_WITH_U || role == SPTI_U_WITH_L ? "L and U look" : "looks";
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE,
                          "%s: says neither CSR nor CSC, and as CSR it is %s; %s like CSC: store format = \"csc\" (attribute or dataset)%s",
                          M->where, all_above(s) ? "upper" : "lower", name, transpose_advice(s, role));
}

static void drop_outside(sptrsm_file_matrix *M, sptrsm_uplo uplo) {
  size_t each = sptrsm_dtype_bytes(M->dtype);
  bool keep_small = (uplo == SPTRSM_LOWER) == (M->format == SPTRSM_CSR); /* entries with minor index <= major index stay */
  int64_t used = 0, begin = 0;
  for (int64_t j = 0; j < spti_io_major(M); j++) {
    int64_t end = M->ptr[j + 1];
    for (int64_t p = begin; p < end; p++) {
      if (keep_small ? M->idx[p] > j : M->idx[p] < j) continue;
      M->idx[used] = M->idx[p];
      if (used != p) memcpy((char *)M->val + (size_t)used * each, (char *)M->val + (size_t)p * each, each);
      used++;
    }
    begin = end;
    M->ptr[j + 1] = used;
  }
  M->dropped += begin - used;
}

/* The advice for an entry on the wrong side. The side of a factor is fixed, so --uplo does not help there. */
static const char *way_out(sptrsm_uplo uplo, const sides *s, spti_io_role role) {
  bool all_wrong = uplo == SPTRSM_LOWER ? all_above(s) : all_below(s);
  if (role == SPTI_ALONE) return uplo == SPTRSM_LOWER ? "use --uplo upper or --take-triangle" : "use --uplo lower or --take-triangle";
  if (!all_wrong) return "use --take-triangle to drop such entries";
  return role == SPTI_L_OF_SET ? "L must be lower triangular: is it stored transposed?" : "are L and U swapped, or stored transposed?";
}

static sptrsm_status check_side(sptrsm_file_matrix *M, sptrsm_uplo uplo, const sides *s, spti_io_role role, const sptrsm_io_options *o) {
  int64_t row = uplo == SPTRSM_LOWER ? s->above_row : s->below_row, col = uplo == SPTRSM_LOWER ? s->above_col : s->below_col;
  if (row < 0) return SPTRSM_OK;
  if (o->take_triangle) {
    SPTI_IO_TRY(spti_io_own(M));
    drop_outside(M, uplo);
    return SPTRSM_OK;
  }
  return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: row %lld has entry (%lld,%lld) %s the diagonal; %s", M->where, (long long)row,
                          (long long)row, (long long)col, uplo == SPTRSM_LOWER ? "above" : "below", way_out(uplo, s, role));
}

/* In a sorted triangle the diagonal is the first or the last entry of its row or column. */
static sptrsm_status check_diagonal(const sptrsm_file_matrix *M, sptrsm_uplo uplo) {
  bool last = (uplo == SPTRSM_LOWER) == (M->format == SPTRSM_CSR);
  for (int64_t j = 0; j < M->rows; spti_io_passed(M, M->ptr[j], M->ptr[j + 1]), j++) {
    int64_t p = last ? M->ptr[j + 1] - 1 : M->ptr[j];
    if (M->ptr[j] == M->ptr[j + 1] || M->idx[p] != j)
      return sptrsm_error_set(SPTRSM_ERR_SINGULAR, "%s: row %lld has no diagonal entry; use --unit if the diagonal is one", M->where,
                              (long long)j);
    if (spti_io_zero(M->dtype, M->val, p))
      return sptrsm_error_set(SPTRSM_ERR_SINGULAR, "%s: diagonal entry (%lld,%lld) is zero%s; the matrix is singular", M->where,
                              (long long)j, (long long)j, spti_io_precision_note(M->dtype));
    if (!spti_io_finite(M->dtype, M->val, p))
      return sptrsm_error_set(SPTRSM_ERR_SINGULAR,
                              "%s: diagonal entry (%lld,%lld) is NaN or infinite%s; repair the factorisation that wrote it", M->where,
                              (long long)j, (long long)j, spti_io_precision_note(M->dtype));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_io_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, spti_io_role role, const sptrsm_io_options *o) {
  sptrsm_io_options taken;
  sptrsm_uplo uplo = SPTRSM_LOWER;
  if (out == NULL || M == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_matrix_triangle: %s is NULL", out == NULL ? "out" : "the matrix");
  SPTI_IO_TRY(spti_io_take_options(&taken, &o));
  if (M->rows != M->cols)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: is %lld x %lld, a triangular matrix is square", M->where, (long long)M->rows,
                            (long long)M->cols);
  SPTI_IO_TRY(spti_io_check_finite(M, false));
  SPTI_IO_TRY(check_symmetry(M, o));
  sides s = find_sides(M);
  SPTI_IO_TRY(refuse_transpose(M, &s, role, o));
  SPTI_IO_TRY(decide_uplo(&uplo, M, &s, o));
  SPTI_IO_TRY(check_side(M, uplo, &s, role, o));
  sptrsm_diag diag = o->unit || M->diag == SPTRSM_UNIT ? SPTRSM_UNIT : SPTRSM_NONUNIT;
  if (diag == SPTRSM_NONUNIT) SPTI_IO_TRY(check_diagonal(M, uplo));
  *out = (sptrsm_sparse){.format = M->format,
                         .dtype = M->dtype,
                         .uplo = uplo,
                         .diag = diag,
                         .place = SPTRSM_HOST,
                         .n = (int32_t)M->rows,
                         .ptr = M->ptr,
                         .idx = M->idx,
                         .val = M->val};
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_matrix_triangle(sptrsm_sparse *out, sptrsm_file_matrix *M, const sptrsm_io_options *o) {
  return spti_io_triangle(out, M, SPTI_ALONE, o);
}
