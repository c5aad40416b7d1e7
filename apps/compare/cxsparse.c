/* cxsparse.c -- CXSparse's triangular loops, which are those of CSparse, over the triangles of the factor set, one column after the other.
 * Permutations, scaling and D of LDL' are applied here, as the set defines them. */
#include <cs.h>
#include <omp.h>
#include <stdlib.h>

#include "compare/compare.h"

/* A triangle as CXSparse takes it, and its function that solves with it. */
typedef struct {
  cs_di matrix;
  int32_t *ptr; /* 32 bits; the indices are those of the factor set */
  int32_t (*solve)(const cs_di *, double *);
} cs_triangle;

typedef struct {
  const factor_set *set;
  cs_triangle L, U;
  double *work; /* [threads][n] */
  int32_t n;
  int threads;
} cxsparse_state;

/* A triangle by rows is the transpose of one by columns. transposed: T' is solved with. CXSparse wants the diagonal entry of a column
 * first in a lower and last in an upper triangle, which sorted indices give. */
static int take(cs_triangle *out, const sptrsm_sparse *T, bool transposed) {
  const int64_t nnz = T->ptr[T->n];
  const bool by_rows = T->format == SPTRSM_CSR, lower = (T->uplo == SPTRSM_LOWER) != by_rows;
  if (nnz > INT32_MAX) {
    cli_error("CXSparse: %lld entries are more than its 32-bit offsets take; add --no-native", (long long)nnz);
    return CLI_USAGE;
  }
  out->ptr = malloc(((size_t)T->n + 1) * sizeof *out->ptr);
  if (out->ptr == NULL) return factor_no_memory("CXSparse");
  for (int32_t j = 0; j <= T->n; j++) out->ptr[j] = (int32_t)T->ptr[j];
  for (int32_t j = 0; j < T->n; j++) {
    int64_t at = lower ? T->ptr[j] : T->ptr[j + 1] - 1;
    if (T->ptr[j] < T->ptr[j + 1] && T->idx[at] == j) continue;
    cli_error("CXSparse needs diagonal entry %d of the triangle", j);
    return CLI_INTERNAL;
  }
  out->matrix =
      (cs_di){.nzmax = (int32_t)nnz, .m = T->n, .n = T->n, .p = out->ptr, .i = (int32_t *)T->idx, .x = (double *)T->val, .nz = -1};
  if (by_rows != transposed) out->solve = lower ? cs_di_ltsolve : cs_di_utsolve;
  else out->solve = lower ? cs_di_lsolve : cs_di_usolve;
  return CLI_OK;
}

static void cxsparse_end(void *self) {
  cxsparse_state *s = self;
  free(s->L.ptr);
  free(s->U.ptr);
  free(s->work);
  free(s);
}

static int cxsparse_begin(void **self, const compare_case *c, int form) {
  cxsparse_state *s = calloc(1, sizeof *s);
  if (s == NULL) return factor_no_memory("CXSparse");
  *self = s;
  s->set = c->set;
  s->n = c->A->n;
  s->threads = form & COMPARE_SHARED ? c->threads : 1;
  s->work = malloc(((size_t)s->threads * (size_t)s->n + 1) * sizeof *s->work);
  if (s->work == NULL) return factor_no_memory("CXSparse");
  int code = take(&s->L, &c->set->L, false);
  if (code == CLI_OK) code = take(&s->U, c->set->U.ptr ? &c->set->U : &c->set->L, c->set->U.ptr == NULL);
  return code;
}

static int cxsparse_columns(void *self, int thread, const double *B, double *X, int64_t nrhs) {
  cxsparse_state *s = self;
  const factor_set *f = s->set;
  double *w = s->work + (int64_t)thread * s->n;
  for (int64_t k = 0; k < nrhs; k++, B += s->n, X += s->n) {
    for (int32_t i = 0; i < s->n; i++) {
      int32_t row = f->perm_row ? f->perm_row[i] : i;
      double scale = f->scale_row ? f->scale_row[row] : 1;
      w[i] = f->scale_op == SPTRSM_DIVIDE ? B[row] / scale : B[row] * scale;
    }
    s->L.solve(&s->L.matrix, w);
    for (int32_t i = 0; f->D && i < s->n; i++) w[i] /= f->D[i];
    s->U.solve(&s->U.matrix, w);
    for (int32_t i = 0; i < s->n; i++) X[f->perm_col ? f->perm_col[i] : i] = w[i];
  }
  return CLI_OK;
}

static int cxsparse_apply(void *self, const double *B, double *X, int64_t nrhs) {
  cxsparse_state *s = self;
  return compare_share_columns(cxsparse_columns, s, &(compare_share){B, X, s->n, nrhs, s->threads});
}

const compare_native compare_cxsparse[] = {
    {"CXSparse's loops", NULL, 0, cxsparse_begin, cxsparse_apply, cxsparse_end},
    {"CXSparse's loops, columns shared", NULL, COMPARE_SHARED, cxsparse_begin, cxsparse_apply, cxsparse_end},
    {0},
};
