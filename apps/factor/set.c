/* set.c -- from a library's arrays to triangles as sptrsm takes them, and what can be counted from their patterns alone. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor/factor.h"

const char *const factor_order_names[ORDER_COUNT] = {"default", "natural", "amd", "colamd", "metis", "nesdis", "mmd", "best"};

int factor_no_memory(const char *what) {
  cli_error("no memory for %s; try another --ordering or --with, or a machine with more memory", what);
  return CLI_MEMORY;
}

int factor_singular(factor_set *s, int64_t column, int64_t step, const char *what) {
  s->singular_column = column;
  s->singular_step = step;
  s->singular = what;
  return CLI_SINGULAR;
}

/* ---- triangles ---- */

typedef struct {
  int64_t *ptr;
  int32_t *idx;
  double *val;
} lines;

static bool lines_allocate(lines *l, int64_t n, int64_t nnz, int width) {
  l->ptr = calloc((size_t)n + 2, sizeof *l->ptr);
  l->idx = malloc(((size_t)nnz + 1) * sizeof *l->idx);
  l->val = malloc(((size_t)nnz + 1) * (size_t)width * sizeof *l->val);
  return l->ptr && l->idx && l->val;
}

static void lines_free(lines *l) {
  free(l->ptr);
  free(l->idx);
  free(l->val);
  *l = (lines){0};
}

static bool is_kept(const factor_arrays *a, int64_t line, int64_t p, int width, bool keep_zeros) {
  if (keep_zeros || a->idx[p] == line || a->val[p * width] != 0) return true;
  return width == 2 && a->val[p * 2 + 1] != 0;
}

/* Copies the entries that are kept. *sorted: whether every line (row of CSR, column of CSC) is. */
static bool lines_copy(lines *out, const factor_arrays *a, int64_t n, int width, bool keep_zeros, bool *sorted) {
  int64_t nnz = 0;
  for (int64_t i = 0; i < n; i++)
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) nnz += is_kept(a, i, p, width, keep_zeros);
  if (!lines_allocate(out, n, nnz, width)) return false;
  *sorted = true;
  nnz = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) {
      if (!is_kept(a, i, p, width, keep_zeros)) continue;
      *sorted = *sorted && (nnz == out->ptr[i] || out->idx[nnz - 1] < a->idx[p]);
      out->idx[nnz] = (int32_t)a->idx[p];
      memcpy(out->val + nnz * width, a->val + p * width, (size_t)width * sizeof *a->val);
      nnz++;
    }
    out->ptr[i + 1] = nnz;
  }
  return true;
}

static bool lines_transpose(lines *out, const lines *in, int64_t n, int width) {
  if (!lines_allocate(out, n, in->ptr[n], width)) return false;
  for (int64_t p = 0; p < in->ptr[n]; p++) out->ptr[in->idx[p] + 2]++;
  for (int64_t j = 0; j < n; j++) out->ptr[j + 2] += out->ptr[j + 1];
  for (int64_t i = 0; i < n; i++)
    for (int64_t p = in->ptr[i]; p < in->ptr[i + 1]; p++) {
      int64_t at = out->ptr[in->idx[p] + 1]++;
      out->idx[at] = (int32_t)i;
      memcpy(out->val + at * width, in->val + p * width, (size_t)width * sizeof *in->val);
    }
  return true;
}

/* Transposing twice sorts, in time linear in the entries. */
static bool lines_sort(lines *l, int64_t n, int width) {
  lines other = {0}, sorted = {0};
  bool good = lines_transpose(&other, l, n, width) && lines_transpose(&sorted, &other, n, width);
  lines_free(&other);
  if (good) {
    lines_free(l);
    *l = sorted;
  } else {
    lines_free(&sorted);
  }
  return good;
}

int factor_take_triangle(sptrsm_sparse *out, const factor_matrix *A, const factor_arrays *a, bool keep_zeros) {
  lines l = {0};
  int width = A->is_complex ? 2 : 1;
  bool sorted = false;
  bool good = lines_copy(&l, a, A->n, width, keep_zeros, &sorted) && (sorted || lines_sort(&l, A->n, width));
  if (!good) {
    lines_free(&l);
    return factor_no_memory("the factors");
  }
  *out = (sptrsm_sparse){.format = a->format,
                         .dtype = A->is_complex ? SPTRSM_C128 : SPTRSM_F64,
                         .uplo = a->uplo,
                         .diag = a->diag,
                         .place = SPTRSM_HOST,
                         .n = A->n,
                         .ptr = l.ptr,
                         .idx = l.idx,
                         .val = l.val};
  return CLI_OK;
}

int32_t *factor_take_permutation(const int64_t *perm, int32_t n) {
  int32_t *narrow = malloc(((size_t)n + 1) * sizeof *narrow);
  for (int32_t i = 0; narrow && i < n; i++) narrow[i] = (int32_t)perm[i];
  return narrow;
}

/* ---- the set ---- */

void factor_set_finish(factor_set *s) {
  sptrsm_factors_init(&s->set);
  s->set.L = &s->L;
  s->set.U = s->U.ptr ? &s->U : NULL;
  s->set.u_kind = s->U.ptr ? SPTRSM_U_GIVEN : s->L.dtype == SPTRSM_C128 ? SPTRSM_U_IS_LH : SPTRSM_U_IS_LT;
  s->set.perm_row = s->perm_row;
  s->set.perm_col = s->perm_col;
  s->set.row_convention = SPTRSM_GATHER;
  s->set.col_convention = SPTRSM_SCATTER;
  s->set.D = s->D;
  s->set.scale_row = s->scale_row;
  s->set.row_op = s->scale_op;
}

/* The first step of the elimination, below `least`, that has an entry of T which is not finite; else `least`. */
static int32_t overflow_of(const sptrsm_sparse *T, int32_t least) {
  int width = T->dtype == SPTRSM_C128 ? 2 : 1;
  const double *val = T->val;
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++) {
      int32_t step = T->format == SPTRSM_CSC ? i : T->idx[p];
      if (step < least && !(isfinite(val[p * width]) && isfinite(val[(p + 1) * width - 1]))) least = step;
    }
  return least;
}

int factor_find_overflow(factor_set *s) {
  int32_t n = s->L.n, least = overflow_of(&s->L, n);
  int width = s->L.dtype == SPTRSM_C128 ? 2 : 1;
  if (s->U.ptr) least = overflow_of(&s->U, least);
  for (int32_t k = 0; s->D && k < least; k++)
    if (!isfinite(s->D[k * width])) least = k;
  if (least == n) return CLI_OK;
  return factor_singular(s, s->perm_col[least], least, "numbers overflow: singular but for rounding, or in need of scaling or pivoting");
}

static void triangle_free(sptrsm_sparse *T) {
  free((void *)T->ptr);
  free((void *)T->idx);
  free((void *)T->val);
}

void factor_set_free(factor_set *s) {
  triangle_free(&s->L);
  triangle_free(&s->U);
  free(s->perm_row);
  free(s->perm_col);
  free(s->scale_row);
  free(s->D);
  *s = (factor_set){0};
}

/* ---- counts ---- */

/* Adds the number of off-diagonal entries of every column (by_column) or row of T to counts. */
static void count_lines(int32_t *counts, const sptrsm_sparse *T, bool by_column) {
  bool lines_count = (T->format == SPTRSM_CSC) == by_column;
  for (int32_t i = 0; i < T->n; i++)
    for (int64_t p = T->ptr[i]; p < T->ptr[i + 1]; p++)
      if (T->idx[p] != i) counts[lines_count ? i : T->idx[p]]++;
}

/* Step k of LU divides the l[k] entries of its column by the pivot and subtracts a product of l[k] by u[k] entries; Cholesky subtracts half
 * of the square. */
static double count_flops(const factor_set *s, const int32_t *l, const int32_t *u, int is_complex) {
  double multiply_adds = 0, divisions = 0;
  for (int32_t k = 0; k < s->L.n; k++) {
    divisions += l[k];
    multiply_adds += u ? (double)l[k] * u[k] : 0.5 * l[k] * ((double)l[k] + 1);
  }
  return is_complex ? 8 * multiply_adds + 6 * divisions : 2 * multiply_adds + divisions;
}

/* Column j+1 continues the supernode of j if the rows of j are j+1 and the rows of j+1. That is so if the first row below the diagonal of
 * j, its parent in the elimination tree, is j+1, and the numbers of entries differ by one: always for symmetric patterns, and for other
 * ones except by coincidence. */
static int64_t count_supernodes(const sptrsm_sparse *L, const int32_t *l, int32_t *first) {
  int64_t count = L->n > 0;
  for (int32_t j = 0; j < L->n; j++) first[j] = INT32_MAX;
  for (int32_t i = 0; i < L->n; i++)
    for (int64_t p = L->ptr[i]; p < L->ptr[i + 1]; p++) {
      int32_t row = L->format == SPTRSM_CSC ? L->idx[p] : i, column = L->format == SPTRSM_CSC ? i : L->idx[p];
      if (row > column && row < first[column]) first[column] = row;
    }
  for (int32_t j = 0; j + 1 < L->n; j++) count += !(first[j] == j + 1 && l[j] == l[j + 1] + 1);
  return count;
}

int factor_count(factor_counts *out, const factor_matrix *A, const factor_set *s) {
  int32_t n = A->n;
  int32_t *l = calloc((size_t)n + 1, sizeof *l), *u = calloc((size_t)n + 1, sizeof *u), *first = malloc(((size_t)n + 1) * sizeof *first);
  bool good = l && u && first;
  if (good) {
    *out = (factor_counts){.nnz_a = A->ptr[n], .nnz_l = s->L.ptr[n]};
    out->nnz_u = s->U.ptr ? s->U.ptr[n] : out->nnz_l;
    out->fill = out->nnz_a > 0 ? (double)(out->nnz_l + out->nnz_u - n) / (double)out->nnz_a : 0;
    count_lines(l, &s->L, true);
    if (s->U.ptr) count_lines(u, &s->U, false);
    out->flops = count_flops(s, l, s->U.ptr ? u : NULL, A->is_complex);
    out->supernodes = count_supernodes(&s->L, l, first);
  }
  free(l);
  free(u);
  free(first);
  return good ? CLI_OK : factor_no_memory("the report");
}
