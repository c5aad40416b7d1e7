/* superlu.c -- LU by sequential SuperLU: L U = P A Q, partial pivoting, no scaling.
 *
 * SuperLU stores the columns of a supernode as one dense block, whose top triangle holds the diagonal blocks of both L (its unit diagonal
 * is not stored) and U; the entries of U above are sparse. Its indices are int, so a matrix has at most 2^31 - 1 entries.
 */
#include <slu_ddefs.h>
#include <slu_zdefs.h>
#include <stdlib.h>
#include <string.h>

#include "factor/factor.h"

static const char *version(void) {
  static char text[48];
  snprintf(text, sizeof text, "SuperLU %d.%d.%d", SUPERLU_MAJOR_VERSION, SUPERLU_MINOR_VERSION, SUPERLU_PATCH_VERSION);
  return text;
}

typedef struct {
  superlu_options_t options;
  SuperLUStat_t stat;
  SuperMatrix A, permuted, L, U;
  int_t *ptr, *idx;               /* of A in SuperLU's integers; its values are not copied */
  int *row_to, *column_to, *tree; /* row i of A becomes row_to[i] of P A Q, column j column_to[j] */
} workplace;

static bool workplace_begin(workplace *w, const factor_matrix *A, const factor_request *r) {
  static const colperm_t methods[ORDER_COUNT] = {
      [ORDER_DEFAULT] = COLAMD, [ORDER_NATURAL] = NATURAL, [ORDER_COLAMD] = COLAMD, [ORDER_MMD] = MMD_AT_PLUS_A};
  size_t n = (size_t)A->n, nnz = (size_t)A->ptr[n];
  *w = (workplace){.ptr = malloc((n + 1) * sizeof *w->ptr), .idx = malloc((nnz + 1) * sizeof *w->idx)};
  w->row_to = malloc((n + 1) * sizeof *w->row_to);
  w->column_to = malloc((n + 1) * sizeof *w->column_to);
  w->tree = malloc((n + 1) * sizeof *w->tree);
  set_default_options(&w->options);
  w->options.ColPerm = methods[r->order];
  w->options.SymmetricMode = r->order == ORDER_MMD ? YES : NO;
  if (r->order == ORDER_MMD) w->options.DiagPivotThresh = 0.1; /* the ordering needs pivots on the diagonal */
  if (r->pivot >= 0) w->options.DiagPivotThresh = r->pivot;
  StatInit(&w->stat);
  if (!(w->ptr && w->idx && w->row_to && w->column_to && w->tree)) return false;
  for (size_t j = 0; j <= n; j++) w->ptr[j] = (int_t)A->ptr[j];
  for (size_t p = 0; p < nnz; p++) w->idx[p] = (int_t)A->idx[p];
  if (A->is_complex) zCreate_CompCol_Matrix(&w->A, A->n, A->n, (int_t)nnz, (doublecomplex *)A->val, w->idx, w->ptr, SLU_NC, SLU_Z, SLU_GE);
  else dCreate_CompCol_Matrix(&w->A, A->n, A->n, (int_t)nnz, A->val, w->idx, w->ptr, SLU_NC, SLU_D, SLU_GE);
  return true;
}

static void workplace_end(workplace *w) {
  if (w->L.Store) Destroy_SuperNode_Matrix(&w->L);
  if (w->U.Store) Destroy_CompCol_Matrix(&w->U);
  if (w->permuted.Store) Destroy_CompCol_Permuted(&w->permuted);
  if (w->A.Store) Destroy_SuperMatrix_Store(&w->A);
  StatFree(&w->stat);
  free(w->ptr);
  free(w->idx);
  free(w->row_to);
  free(w->column_to);
  free(w->tree);
}

/* SuperLU's return value: 0, step + 1 of the first zero pivot, or more than n where memory ran out. */
static int64_t eliminate(workplace *w, int is_complex) {
  GlobalLU_t global;
  int_t info = 0;
  int panel = sp_ienv(1), relax = sp_ienv(2);
  if (is_complex)
    zgstrf(&w->options, &w->permuted, relax, panel, w->tree, NULL, 0, w->column_to, w->row_to, &w->L, &w->U, &global, &w->stat, &info);
  else dgstrf(&w->options, &w->permuted, relax, panel, w->tree, NULL, 0, w->column_to, w->row_to, &w->L, &w->U, &global, &w->stat, &info);
  return info;
}

/* ---- the triangles ---- */

typedef struct {
  int64_t *ptr, *idx;
  double *val;
  int64_t count, width;
} growing;

static bool growing_begin(growing *g, int64_t n, int64_t nnz, int64_t width) {
  *g = (growing){.ptr = calloc((size_t)n + 1, sizeof *g->ptr), .width = width};
  g->idx = malloc(((size_t)nnz + 1) * sizeof *g->idx);
  g->val = malloc(((size_t)nnz + 1) * (size_t)width * sizeof *g->val);
  return g->ptr && g->idx && g->val;
}

static void growing_free(growing *g) {
  free(g->ptr);
  free(g->idx);
  free(g->val);
}

static void append(growing *g, int64_t row, const double *value) {
  g->idx[g->count] = row;
  memcpy(g->val + g->count * g->width, value, (size_t)g->width * sizeof *value);
  g->count++;
}

/* Appends column j of L and U: the sparse part of U, then the block's column, whose entries down to the diagonal belong to U. */
static void take_column(growing *L, growing *U, const SCformat *l, const NCformat *u, int64_t j) {
  static const double one[2] = {1, 0};
  int64_t width = L->width, first = l->sup_to_col[l->col_to_sup[j]], rows = l->rowind_colptr[first];
  int64_t count = l->rowind_colptr[first + 1] - rows;
  const double *block = (const double *)l->nzval + l->nzval_colptr[j] * width;
  for (int64_t p = u->colptr[j]; p < u->colptr[j + 1]; p++) append(U, u->rowind[p], (const double *)u->nzval + p * width);
  for (int64_t p = 0; p <= j - first; p++) append(U, l->rowind[rows + p], block + p * width);
  append(L, j, one);
  for (int64_t p = j - first + 1; p < count; p++) append(L, l->rowind[rows + p], block + p * width);
  L->ptr[j + 1] = L->count;
  U->ptr[j + 1] = U->count;
}

static int take_triangles(factor_set *out, const factor_matrix *A, const workplace *w, bool keep_zeros) {
  const SCformat *l = w->L.Store;
  const NCformat *u = w->U.Store;
  int64_t n = A->n, width = A->is_complex ? 2 : 1,
          most = (int64_t)l->nzval_colptr[n] + n; /* an upper bound: all entries of the blocks count for both */
  growing L = {0}, U = {0};
  int code = CLI_OK;
  if (growing_begin(&L, n, most, width) && growing_begin(&U, n, most + u->colptr[n], width)) {
    for (int64_t j = 0; j < n; j++) take_column(&L, &U, l, u, j);
    factor_arrays lower = {.format = SPTRSM_CSC, .uplo = SPTRSM_LOWER, .diag = SPTRSM_UNIT, .ptr = L.ptr, .idx = L.idx, .val = L.val};
    factor_arrays upper = {.format = SPTRSM_CSC, .uplo = SPTRSM_UPPER, .diag = SPTRSM_NONUNIT, .ptr = U.ptr, .idx = U.idx, .val = U.val};
    code = factor_take_triangle(&out->L, A, &lower, keep_zeros);
    if (code == CLI_OK) code = factor_take_triangle(&out->U, A, &upper, keep_zeros);
  } else {
    code = factor_no_memory("the factors");
  }
  growing_free(&L);
  growing_free(&U);
  return code;
}

/* out[to[i]] = i */
static int32_t *inverse(const int *to, int32_t n) {
  int32_t *out = malloc(((size_t)n + 1) * sizeof *out);
  for (int32_t i = 0; out && i < n; i++) out[to[i]] = i;
  return out;
}

/* ---- the factorisation ---- */

static int work(factor_set *out, const factor_matrix *A, workplace *w, const factor_request *r) {
  static const char *const names[] = {[NATURAL] = "natural", [MMD_AT_PLUS_A] = "mmd", [COLAMD] = "colamd"};
  double start = cli_now();
  int64_t unmatched = -1;
  int code = factor_unmatched(&unmatched, A); /* SuperLU crashes where a column runs out of rows */
  if (code != CLI_OK) return code;
  if (unmatched >= 0) return factor_singular(out, unmatched, unmatched, "no pivot in any order: the pattern is singular");
  get_perm_c(w->options.ColPerm, &w->A, w->column_to);
  sp_preorder(&w->options, &w->A, w->column_to, w->tree, &w->permuted);
  out->analysis_seconds = cli_now() - start;
  out->ordering = names[w->options.ColPerm];
  out->kind = "L U";
  start = cli_now();
  int64_t info = eliminate(w, A->is_complex);
  out->numeric_seconds = cli_now() - start;
  if (info < 0 || info > A->n) return factor_no_memory("SuperLU");
  out->perm_col = inverse(w->column_to, A->n);
  if (out->perm_col && info > 0) return factor_singular(out, out->perm_col[info - 1], info - 1, "no pivot: the matrix is singular");
  out->perm_row = inverse(w->row_to, A->n);
  return out->perm_row && out->perm_col ? take_triangles(out, A, w, r->keep_zeros) : factor_no_memory("the permutations");
}

static int factorise(factor_set *out, const factor_matrix *A, const factor_request *r) {
  workplace w;
  if (A->ptr[A->n] > INT32_MAX) {
    cli_error("%s: has %lld entries, SuperLU takes up to %d; use --with umfpack", A->where, (long long)A->ptr[A->n], INT32_MAX);
    return CLI_USAGE;
  }
  int code = workplace_begin(&w, A, r) ? work(out, A, &w, r) : factor_no_memory("SuperLU");
  workplace_end(&w);
  return code;
}

const factor_library factor_superlu = {.name = "superlu",
                                       .orders = 1u << ORDER_DEFAULT | 1u << ORDER_NATURAL | 1u << ORDER_COLAMD | 1u << ORDER_MMD,
                                       .factorise = factorise,
                                       .version = version};
