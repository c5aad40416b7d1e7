/* 06_cholmod.c -- factorise with CHOLMOD, then solve for 1,000 right-hand sides with sptrsm: on a GPU if there is one, else on the host.
 *
 * CHOLMOD gives L L' = P A P'. Its supernodal factor becomes plain columns by cholmod_change_factor; a factor set needs these columns
 * and Perm. A is the five-point Laplacian of a square grid.
 *
 *   cc 06_cholmod.c $(pkg-config --cflags --libs sptrsm) -I/usr/include/suitesparse -lcholmod -lm
 */
#include <cholmod.h>
#include <math.h>
#include <sptrsm.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 50, N = SIDE * SIDE, NRHS = 1000 };

static cholmod_sparse *laplacian(cholmod_common *c) {
  cholmod_triplet *T = cholmod_allocate_triplet(N, N, 3 * N, -1, CHOLMOD_REAL, c); /* -1: the lower triangle stands for both */
  if (T == NULL) return NULL;
  int *row = T->i, *column = T->j;
  double *value = T->x;
  for (int i = 0; i < N; i++) {
    const int below[] = {i, i % SIDE < SIDE - 1 ? i + 1 : -1, i + SIDE < N ? i + SIDE : -1};
    for (int k = 0; k < 3; k++) {
      if (below[k] < 0) continue;
      row[T->nnz] = below[k];
      column[T->nnz] = i;
      value[T->nnz++] = k == 0 ? 4 : -1;
    }
  }
  cholmod_sparse *A = cholmod_triplet_to_sparse(T, 0, c);
  cholmod_free_triplet(&T, c);
  return A;
}

static double known(int i, int k) { return (i + 3 * k) % 7 - 3; }

/* B = A X for the known X, row-major. */
static void fill(double *B) {
  for (int i = 0; i < N; i++)
    for (int k = 0; k < NRHS; k++) {
      double sum = 4 * known(i, k);
      if (i % SIDE > 0) sum -= known(i - 1, k);
      if (i % SIDE < SIDE - 1) sum -= known(i + 1, k);
      if (i >= SIDE) sum -= known(i - SIDE, k);
      if (i + SIDE < N) sum -= known(i + SIDE, k);
      B[(size_t)i * NRHS + k] = sum;
    }
}

/* X = A^-1 B with the factor f, in place. */
static int solve(const cholmod_factor *f, double *X) {
  int64_t ptr[N + 1];
  for (int j = 0; j <= N; j++) ptr[j] = ((const int *)f->p)[j]; /* offsets have 64 bits here */
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, N, ptr, f->i, f->x};
  sptrsm_block B = {X, NRHS, N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_factors set;
  sptrsm_factors_init(&set);
  set.L = &L;
  set.u_kind = SPTRSM_U_IS_LT;
  set.perm_row = set.perm_col = f->Perm;
  set.row_convention = SPTRSM_GATHER;
  set.col_convention = SPTRSM_SCATTER;
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  int failed = sptrsm_context_create(&context, sptrsm_device_count() > 0 ? SPTRSM_CUDA : SPTRSM_HOST, 0, NULL) ||
               sptrsm_direct_create(&direct, context, &set, NULL) || sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &B) ||
               sptrsm_context_sync(context);
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  else printf("on %s: ", sptrsm_context_describe(context));
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  return failed;
}

int main(void) {
  cholmod_common c;
  cholmod_start(&c);
  cholmod_sparse *A = laplacian(&c);
  cholmod_factor *f = A ? cholmod_analyze(A, &c) : NULL;
  double *X = malloc((size_t)N * NRHS * sizeof *X), worst = 0;
  int failed = f == NULL || X == NULL || !cholmod_factorize(A, f, &c) || f->minor < f->n ||
               !cholmod_change_factor(CHOLMOD_REAL, 1, 0, 1, 1, f, &c); /* L L', not supernodal, packed, columns in order */
  if (failed) fprintf(stderr, "CHOLMOD: status %d\n", c.status);
  if (!failed) {
    fill(X);
    failed = solve(f, X);
  }
  for (size_t p = 0; !failed && p < (size_t)N * NRHS; p++) {
    double error = fabs(X[p] - known((int)(p / NRHS), (int)(p % NRHS)));
    if (!(error <= worst)) worst = error;
  }
  if (!failed) printf("n = %d, %d entries in L, %d right-hand sides, largest error %.1e\n", N, ((int *)f->p)[N], NRHS, worst);
  free(X);
  cholmod_free_factor(&f, &c);
  cholmod_free_sparse(&A, &c);
  cholmod_finish(&c);
  return failed || !(worst <= 1e-11);
}
