/* mkl.c -- mkl_sparse_d_trsm on L and U. MKL is loaded at run time, from a path that the user gives; the build does not need it.
 *
 * The part of MKL's interface that is used is declared here, as its manual describes it (LP64: 32-bit integers). Matrices are CSR with
 * 32-bit offsets. Hints and optimisation (the inspector) are part of begin, not of a solve.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "compare/compare.h"

enum { MKL_NO_TRANSPOSE = 10, MKL_TRANSPOSE = 11, MKL_ROW_MAJOR = 101, MKL_COLUMN_MAJOR = 102, MKL_TRIANGULAR = 23 };
enum { MKL_LOWER = 40, MKL_UPPER = 41, MKL_NON_UNIT = 50, MKL_UNIT = 51 };
typedef struct {
  int type, mode, diag;
} mkl_description;

typedef struct {
  void *matrix;
  int32_t *ptr, *idx;
  double *val;
  mkl_description description;
  int operation;
} mkl_triangle;

struct compare_mkl {
  void *library;
  int (*create)(void **, int base, int rows, int cols, int *begin, int *end, int *idx, double *val);
  int (*hint)(void *, int operation, mkl_description, int layout, int columns, int calls);
  int (*optimize)(void *);
  int (*trsm)(int operation, double alpha, void *, mkl_description, int layout, const double *x, int columns, int ldx, double *y, int ldy);
  int (*destroy)(void *);
  void (*set_threads)(int);
  mkl_triangle L, U;
  int n, layout, columns;
};

static int resolve(compare_mkl *m, const char *path) {
  struct {
    const char *name;
    void **to;
  } const symbols[] = {{"mkl_sparse_d_create_csr", (void **)&m->create}, {"mkl_sparse_set_sm_hint", (void **)&m->hint},
                       {"mkl_sparse_optimize", (void **)&m->optimize},   {"mkl_sparse_d_trsm", (void **)&m->trsm},
                       {"mkl_sparse_destroy", (void **)&m->destroy},     {"MKL_Set_Num_Threads", (void **)&m->set_threads}};
  setenv("MKL_THREADING_LAYER", "GNU", 0); /* the OpenMP of this program */
  m->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; m->library && i < sizeof symbols / sizeof symbols[0]; i++) {
    *symbols[i].to = dlsym(m->library, symbols[i].name);
    if (*symbols[i].to == NULL) break;
  }
  if (m->library && m->set_threads) return CLI_OK;
  cli_error("--mkl: %s", dlerror());
  return CLI_USAGE;
}

/* A CSC triangle is the CSR of its transpose. transposed: the system has T' as its matrix, as in the second half of a Cholesky solve. */
static int hand_over(compare_mkl *m, mkl_triangle *t, const sptrsm_sparse *T, bool transposed) {
  int64_t nnz = T->ptr[T->n];
  bool lower = (T->uplo == SPTRSM_LOWER) == (T->format == SPTRSM_CSR);
  if (nnz > INT32_MAX) {
    cli_error("--mkl: %lld entries are more than its 32-bit offsets take", (long long)nnz);
    return CLI_USAGE;
  }
  t->ptr = malloc(((size_t)T->n + 1) * sizeof *t->ptr);
  t->idx = malloc(((size_t)nnz + 1) * sizeof *t->idx);
  t->val = malloc(((size_t)nnz + 1) * sizeof *t->val);
  if (!t->ptr || !t->idx || !t->val) return factor_no_memory("MKL's triangles");
  for (int32_t i = 0; i <= T->n; i++) t->ptr[i] = (int32_t)T->ptr[i];
  memcpy(t->idx, T->idx, (size_t)nnz * sizeof *t->idx);
  memcpy(t->val, T->val, (size_t)nnz * sizeof *t->val);
  t->description = (mkl_description){MKL_TRIANGULAR, lower ? MKL_LOWER : MKL_UPPER, T->diag == SPTRSM_UNIT ? MKL_UNIT : MKL_NON_UNIT};
  t->operation = (T->format == SPTRSM_CSC) != transposed ? MKL_TRANSPOSE : MKL_NO_TRANSPOSE;
  int bad = m->create(&t->matrix, 0, T->n, T->n, t->ptr, t->ptr + 1, t->idx, t->val);
  if (!bad) bad = m->hint(t->matrix, t->operation, t->description, m->layout, m->columns, 1000);
  if (!bad) bad = m->optimize(t->matrix);
  if (bad) cli_error("--mkl: status %d", bad);
  return bad ? CLI_INTERNAL : CLI_OK;
}

static void triangle_end(compare_mkl *m, mkl_triangle *t) {
  if (t->matrix) m->destroy(t->matrix);
  free(t->ptr);
  free(t->idx);
  free(t->val);
}

void compare_mkl_end(compare_mkl *m) {
  if (m == NULL) return;
  triangle_end(m, &m->L);
  triangle_end(m, &m->U);
  free(m); /* the library stays loaded: its threads would crash without it */
}

int compare_mkl_begin(compare_mkl **out, const char *path, const factor_set *s, sptrsm_layout layout, int64_t nrhs, int threads) {
  compare_mkl *m = calloc(1, sizeof *m);
  if (m == NULL) return factor_no_memory("MKL");
  m->n = s->L.n;
  m->layout = layout == SPTRSM_ROW_MAJOR ? MKL_ROW_MAJOR : MKL_COLUMN_MAJOR;
  m->columns = (int)nrhs;
  int code = resolve(m, path);
  if (code == CLI_OK) {
    m->set_threads(threads);
    code = hand_over(m, &m->L, &s->L, false);
  }
  if (code == CLI_OK) code = s->U.ptr ? hand_over(m, &m->U, &s->U, false) : hand_over(m, &m->U, &s->L, true);
  if (code == CLI_OK) *out = m;
  else compare_mkl_end(m);
  return code;
}

int compare_mkl_solve(compare_mkl *m, const double *B, double *Y, double *X) {
  const int ld = m->layout == MKL_ROW_MAJOR ? m->columns : m->n;
  int bad = m->trsm(m->L.operation, 1, m->L.matrix, m->L.description, m->layout, B, m->columns, ld, Y, ld);
  if (!bad) bad = m->trsm(m->U.operation, 1, m->U.matrix, m->U.description, m->layout, Y, m->columns, ld, X, ld);
  if (bad) cli_error("mkl_sparse_d_trsm: status %d", bad);
  return bad ? CLI_INTERNAL : CLI_OK;
}
