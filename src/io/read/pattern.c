/* pattern.c -- sorts the entries of a matrix in memory, sums duplicates, checks order and values, adds the other triangle.
 *
 * Triplets are sorted by two stable counting sorts, first by the minor index (the column of CSR) and then by the major one, in
 * O(nnz + rows + cols). A compressed matrix is sorted by expanding it to triplets and compressing these again.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

size_t spti_io_triplets_bytes(int64_t rows, int64_t cols, int64_t nnz, sptrsm_dtype dtype) {
  size_t each = 4 * sizeof(int32_t) + 2 * sizeof(int64_t) + 2 * sptrsm_dtype_bytes(dtype);
  return spti_io_add(spti_io_bytes(nnz, each), spti_io_bytes(rows + cols + 2, sizeof(int64_t)));
}

void spti_io_triplets_free(spti_io_triplets *t) {
  free(t->row);
  free(t->col);
  free(t->val);
  *t = (spti_io_triplets){0};
}

/* Stable counting sort. order [nnz]: the positions 0..nnz-1, taken in the sequence of `from` if given, sorted by key;
 * ptr [limit+1]: where each key begins in order. */
static void sort_by_key(int64_t *ptr, int64_t *order, const int32_t *key, int64_t limit, const int64_t *from, int64_t nnz) {
  memset(ptr, 0, (size_t)(limit + 1) * sizeof *ptr);
  for (int64_t p = 0; p < nnz; p++) ptr[key[p] + 1]++;
  for (int64_t i = 0; i < limit; i++) ptr[i + 1] += ptr[i];
  for (int64_t q = 0; q < nnz; q++) {
    int64_t p = from != NULL ? from[q] : q;
    order[ptr[key[p]]++] = p;
  }
  for (int64_t i = limit; i > 0; i--) ptr[i] = ptr[i - 1]; /* the loop above moved each pointer to the end of its key */
  ptr[0] = 0;
}

static void gather(sptrsm_file_matrix *M, const int64_t *order, const int32_t *minor, const void *val, int64_t nnz) {
  size_t each = sptrsm_dtype_bytes(M->dtype);
  for (int64_t p = 0; p < nnz; p++) {
    M->idx[p] = minor[order[p]];
    memcpy((char *)M->val + (size_t)p * each, (const char *)val + (size_t)order[p] * each, each);
  }
}

sptrsm_status spti_io_compress(sptrsm_file_matrix *M, const spti_io_triplets *t) {
  bool csr = M->format == SPTRSM_CSR;
  const int32_t *major = csr ? t->row : t->col, *minor = csr ? t->col : t->row;
  int64_t majors = spti_io_major(M), minors = csr ? M->cols : M->rows;
  int64_t *ptr = NULL, *minor_ptr = NULL, *first = NULL, *order = NULL;
  sptrsm_status status = spti_io_allocate(&ptr, M->where, spti_io_bytes(majors + 1, sizeof *ptr));
  if (status == SPTRSM_OK) status = spti_io_allocate(&minor_ptr, M->where, spti_io_bytes(minors + 1, sizeof *ptr));
  if (status == SPTRSM_OK) status = spti_io_allocate(&first, M->where, spti_io_bytes(t->nnz, sizeof *first));
  if (status == SPTRSM_OK) status = spti_io_allocate(&order, M->where, spti_io_bytes(t->nnz, sizeof *order));
  if (status == SPTRSM_OK && M->idx == NULL) status = spti_io_allocate(&M->idx, M->where, spti_io_bytes(t->nnz, sizeof *M->idx));
  if (status == SPTRSM_OK && M->val == NULL)
    status = spti_io_allocate(&M->val, M->where, spti_io_bytes(t->nnz, sptrsm_dtype_bytes(M->dtype)));
  if (status == SPTRSM_OK) {
    sort_by_key(minor_ptr, first, minor, minors, NULL, t->nnz);
    sort_by_key(ptr, order, major, majors, first, t->nnz);
    gather(M, order, minor, t->val, t->nnz);
    free(M->ptr);
    M->ptr = ptr;
  } else {
    free(ptr);
  }
  free(minor_ptr);
  free(first);
  free(order);
  return status;
}

sptrsm_status spti_io_expand(spti_io_triplets *t, const sptrsm_file_matrix *M) {
  int64_t majors = spti_io_major(M);
  *t = (spti_io_triplets){.nnz = M->ptr[majors]};
  size_t bytes = spti_io_bytes(t->nnz, sptrsm_dtype_bytes(M->dtype));
  sptrsm_status status = spti_io_allocate(&t->row, M->where, spti_io_bytes(t->nnz, sizeof *t->row));
  if (status == SPTRSM_OK) status = spti_io_allocate(&t->col, M->where, spti_io_bytes(t->nnz, sizeof *t->col));
  if (status == SPTRSM_OK) status = spti_io_allocate(&t->val, M->where, bytes);
  if (status != SPTRSM_OK) return status;
  int32_t *major = M->format == SPTRSM_CSR ? t->row : t->col, *minor = M->format == SPTRSM_CSR ? t->col : t->row;
  for (int64_t j = 0; j < majors; j++)
    for (int64_t p = M->ptr[j]; p < M->ptr[j + 1]; p++) major[p] = (int32_t)j, minor[p] = M->idx[p];
  memcpy(t->val, M->val, bytes);
  return SPTRSM_OK;
}

sptrsm_status spti_io_sort(sptrsm_file_matrix *M) {
  spti_io_triplets t;
  bool sorted = true;
  for (int64_t j = 0; j < spti_io_major(M) && sorted; j++)
    for (int64_t p = M->ptr[j] + 1; p < M->ptr[j + 1] && sorted; p++) sorted = M->idx[p - 1] <= M->idx[p];
  if (sorted) return SPTRSM_OK;
  sptrsm_status status = spti_io_expand(&t, M);
  if (status == SPTRSM_OK) status = spti_io_compress(M, &t);
  spti_io_triplets_free(&t);
  return status;
}

/* val[to] += val[from] */
static void add_value(void *val, sptrsm_dtype dtype, int64_t to, int64_t from) {
  int words = spti_is_complex(dtype) ? 2 : 1;
  for (int w = 0; w < words; w++) {
    if (spti_is_single(dtype)) ((float *)val)[to * words + w] += ((float *)val)[from * words + w];
    else ((double *)val)[to * words + w] += ((double *)val)[from * words + w];
  }
}

void spti_io_sum_duplicates(sptrsm_file_matrix *M) {
  size_t each = sptrsm_dtype_bytes(M->dtype);
  int64_t used = 0, begin = 0, majors = spti_io_major(M);
  for (int64_t j = 0; j < majors; j++) {
    int64_t end = M->ptr[j + 1], first = used;
    for (int64_t p = begin; p < end; p++) {
      if (used > first && M->idx[used - 1] == M->idx[p]) {
        add_value(M->val, M->dtype, used - 1, p);
        continue;
      }
      M->idx[used] = M->idx[p];
      if (used != p) memcpy((char *)M->val + (size_t)used * each, (char *)M->val + (size_t)p * each, each);
      used++;
    }
    begin = end;
    M->ptr[j + 1] = used;
  }
}

/* ---- checks ---- */

/* Whether all is sorted, without duplicates. */
static bool is_strict(const sptrsm_file_matrix *M) {
  bool strict = true;
  for (int64_t j = 0; j < spti_io_major(M) && strict; spti_io_passed(M, M->ptr[j], M->ptr[j + 1]), j++)
    for (int64_t p = M->ptr[j] + 1; p < M->ptr[j + 1]; p++) strict &= M->idx[p - 1] < M->idx[p];
  return strict;
}

sptrsm_status spti_io_check_order(const sptrsm_file_matrix *M) {
  const char *major = M->format == SPTRSM_CSR ? "row" : "column", *minor = M->format == SPTRSM_CSR ? "column" : "row";
  if (is_strict(M)) return SPTRSM_OK;
  for (int64_t j = 0; j < spti_io_major(M); spti_io_passed(M, M->ptr[j], M->ptr[j + 1]), j++)
    for (int64_t p = M->ptr[j] + 1; p < M->ptr[j + 1]; p++) {
      if (M->idx[p - 1] == M->idx[p])
        return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %s %lld has %s %d twice; use --tidy to sum duplicates", M->where, major,
                                (long long)j, minor, M->idx[p]);
      if (M->idx[p - 1] > M->idx[p])
        return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: %s %lld is not sorted: %s %d comes after %d; use --tidy to sort it", M->where,
                                major, (long long)j, minor, M->idx[p], M->idx[p - 1]);
    }
  return SPTRSM_OK;
}

static bool are_all_finite(const sptrsm_file_matrix *M) {
  const int64_t nnz = M->ptr[spti_io_major(M)];
  bool all = true;
  for (int64_t p = 0, end; p < nnz && all; p = end) {
    end = nnz - p < SPTI_MAP_WINDOW ? nnz : p + SPTI_MAP_WINDOW;
    all = spti_io_all_finite(M->dtype, M->val, p, end);
    spti_io_passed(M, p, end);
  }
  return all;
}

sptrsm_status spti_io_check_finite(const sptrsm_file_matrix *M, bool diagonal) {
  int64_t bad = 0, row = 0, col = 0;
  if (are_all_finite(M)) return SPTRSM_OK;
  for (int64_t j = 0; j < spti_io_major(M); spti_io_passed(M, M->ptr[j], M->ptr[j + 1]), j++)
    for (int64_t p = M->ptr[j]; p < M->ptr[j + 1]; p++) {
      if (spti_io_finite(M->dtype, M->val, p) || (!diagonal && M->idx[p] == j)) continue;
      if (bad++ > 0) continue;
      row = M->format == SPTRSM_CSR ? j : M->idx[p];
      col = M->format == SPTRSM_CSR ? M->idx[p] : j;
    }
  if (bad == 0) return SPTRSM_OK;
  return sptrsm_error_set(row == col ? SPTRSM_ERR_SINGULAR : SPTRSM_ERR_STRUCTURE,
                          "%s: entry (%lld,%lld) is NaN or infinite%s, the first of %lld; repair what wrote it", M->where, (long long)row,
                          (long long)col, spti_io_precision_note(M->dtype), (long long)bad);
}

sptrsm_status spti_io_finish_matrix(sptrsm_file_matrix *M, const sptrsm_io_options *o) {
  if (is_strict(M)) return SPTRSM_OK;
  if (o->tidy) {
    SPTI_IO_TRY(spti_io_own(M));
    SPTI_IO_TRY(spti_io_sort(M));
    spti_io_sum_duplicates(M);
  }
  return spti_io_check_order(M);
}

/* ---- the other triangle ---- */

/* Adds the mirror images of the off-diagonal entries t[0 .. nnz). */
static void mirror(spti_io_triplets *t, int64_t nnz, const sptrsm_file_matrix *M) {
  size_t each = sptrsm_dtype_bytes(M->dtype);
  int words = spti_is_complex(M->dtype) ? 2 : 1;
  bool single = spti_is_single(M->dtype);
  for (int64_t p = 0; p < nnz; p++) {
    if (t->row[p] == t->col[p]) continue;
    int64_t q = t->nnz++;
    t->row[q] = t->col[p];
    t->col[q] = t->row[p];
    memcpy((char *)t->val + (size_t)q * each, (char *)t->val + (size_t)p * each, each);
    for (int w = 0; w < words; w++) {
      bool negate = M->symmetry == SPTRSM_SKEW || (M->symmetry == SPTRSM_HERMITIAN && w == 1);
      if (negate && single) ((float *)t->val)[q * words + w] *= -1;
      if (negate && !single) ((double *)t->val)[q * words + w] *= -1;
    }
  }
}

static sptrsm_status grow(spti_io_triplets *t, const sptrsm_file_matrix *M) {
  size_t room = spti_io_bytes(t->nnz > 0 ? t->nnz : 1, 2);
  void *row = realloc(t->row, spti_io_bytes((int64_t)room, sizeof *t->row));
  if (row != NULL) t->row = row;
  void *col = realloc(t->col, spti_io_bytes((int64_t)room, sizeof *t->col));
  if (col != NULL) t->col = col;
  void *val = realloc(t->val, spti_io_bytes((int64_t)room, sptrsm_dtype_bytes(M->dtype)));
  if (val != NULL) t->val = val;
  if (row == NULL || col == NULL || val == NULL) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "%s: no memory for its mirror image", M->where);
  return SPTRSM_OK;
}

sptrsm_status sptrsm_file_matrix_mirror(sptrsm_file_matrix *M) {
  if (M == NULL) return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_matrix_mirror: the matrix is NULL");
  if (M->symmetry == SPTRSM_GENERAL) return SPTRSM_OK;
  if (M->rows != M->cols)
    return sptrsm_error_set(SPTRSM_ERR_STRUCTURE, "%s: symmetric, but %lld x %lld", M->where, (long long)M->rows, (long long)M->cols);
  spti_io_triplets t;
  sptrsm_status status = spti_io_expand(&t, M);
  if (status == SPTRSM_OK) status = grow(&t, M);
  if (status == SPTRSM_OK) {
    mirror(&t, t.nnz, M);
    sptrsm_file_matrix whole = *M;
    whole.ptr = NULL, whole.idx = NULL, whole.val = NULL;
    whole.mapped[0] = whole.mapped[1] = 0;
    status = spti_io_compress(&whole, &t);
    if (status == SPTRSM_OK) {
      free(M->ptr), spti_io_free_entries(M);
      *M = whole;
      M->symmetry = SPTRSM_GENERAL;
      M->uplo = SPTRSM_AS_STORED;
      status = spti_io_check_order(M);
    } else {
      free(whole.ptr), free(whole.idx), free(whole.val);
    }
  }
  spti_io_triplets_free(&t);
  return status;
}
