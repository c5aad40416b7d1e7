/* 07_umfpack.c -- factorise with UMFPACK, then solve for 1,000 right-hand sides with sptrsm: on a GPU if there is one, else on the host.
 *
 * UMFPACK gives L U = P R A Q by umfpack_*_get_numeric: L by rows, U by columns, P gathers rows, Q scatters columns, and R = diag(Rs)
 * multiplies or divides as do_recip says. A is a convection-diffusion operator on a square grid, so it is not symmetric.
 *
 *   cc 07_umfpack.c $(pkg-config --cflags --libs sptrsm) -I/usr/include/suitesparse -lumfpack -lm
 */
#include <math.h>
#include <sptrsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <umfpack.h>

enum { SIDE = 50, N = SIDE * SIDE, NRHS = 1000 };

static int64_t A_ptr[N + 1], A_idx[5 * N];
static double A_val[5 * N];

/* Entry (i,j) of the stencil: 4 in the middle, more from the left and above than from the right and below. */
static void convection_diffusion(void) {
  int64_t p = 0;
  for (int j = 0; j < N; j++) { /* rows of column j in ascending order */
    const struct {
      int there, row;
      double value;
    } entries[] = {{j >= SIDE, j - SIDE, -0.7},
                   {j % SIDE > 0, j - 1, -0.6},
                   {1, j, 4},
                   {j % SIDE < SIDE - 1, j + 1, -1.4},
                   {j + SIDE < N, j + SIDE, -1.3}};
    for (int k = 0; k < 5; k++) {
      if (!entries[k].there) continue;
      A_idx[p] = entries[k].row;
      A_val[p++] = entries[k].value;
    }
    A_ptr[j + 1] = p;
  }
}

static double known(int i, int k) { return (i + 3 * k) % 7 - 3; }

/* B = A X for the known X, row-major. */
static void fill(double *B) {
  for (int j = 0; j < N; j++)
    for (int64_t p = A_ptr[j]; p < A_ptr[j + 1]; p++)
      for (int k = 0; k < NRHS; k++) B[A_idx[p] * NRHS + k] += A_val[p] * known(j, k);
}

typedef struct {
  int64_t *Lp, *Lj, *Up, *Ui, P[N], Q[N], do_recip;
  double *Lx, *Ux, Rs[N];
  int32_t p[N], q[N], *Lj32, *Ui32; /* sptrsm's indices have 32 bits */
} factors;

static int32_t *narrow(const int64_t *from, int64_t count, int32_t *to) {
  for (int64_t k = 0; to && k < count; k++) to[k] = (int32_t)from[k];
  return to;
}

static int get(factors *f, void *numeric) {
  int64_t lnz = 0, unz = 0, rows, columns, diagonal;
  umfpack_dl_get_lunz(&lnz, &unz, &rows, &columns, &diagonal, numeric);
  f->Lp = malloc((N + 1) * sizeof *f->Lp);
  f->Up = malloc((N + 1) * sizeof *f->Up);
  f->Lj = malloc((size_t)lnz * sizeof *f->Lj);
  f->Ui = malloc((size_t)unz * sizeof *f->Ui);
  f->Lx = malloc((size_t)lnz * sizeof *f->Lx);
  f->Ux = malloc((size_t)unz * sizeof *f->Ux);
  if (!f->Lp || !f->Up || !f->Lj || !f->Ui || !f->Lx || !f->Ux) return 1;
  if (umfpack_dl_get_numeric(f->Lp, f->Lj, f->Lx, f->Up, f->Ui, f->Ux, f->P, f->Q, NULL, &f->do_recip, f->Rs, numeric) != UMFPACK_OK)
    return 1;
  f->Lj32 = narrow(f->Lj, lnz, malloc((size_t)lnz * sizeof *f->Lj32));
  f->Ui32 = narrow(f->Ui, unz, malloc((size_t)unz * sizeof *f->Ui32));
  narrow(f->P, N, f->p);
  narrow(f->Q, N, f->q);
  return !f->Lj32 || !f->Ui32;
}

/* X = A^-1 B, in place. */
static int solve(const factors *f, double *X) {
  sptrsm_sparse L = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_UNIT, SPTRSM_HOST, N, f->Lp, f->Lj32, f->Lx};
  sptrsm_sparse U = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_UPPER, SPTRSM_NONUNIT, SPTRSM_HOST, N, f->Up, f->Ui32, f->Ux};
  sptrsm_block B = {X, NRHS, N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_factors set;
  sptrsm_factors_init(&set);
  set.L = &L;
  set.U = &U;
  set.perm_row = f->p;
  set.perm_col = f->q;
  set.row_convention = SPTRSM_GATHER;
  set.col_convention = SPTRSM_SCATTER;
  set.scale_row = f->Rs;
  set.row_op = f->do_recip ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
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
  static factors f;
  void *symbolic = NULL, *numeric = NULL;
  double *X = calloc((size_t)N * NRHS, sizeof *X), worst = 0;
  convection_diffusion();
  int failed = X == NULL || umfpack_dl_symbolic(N, N, A_ptr, A_idx, A_val, &symbolic, NULL, NULL) != UMFPACK_OK ||
               umfpack_dl_numeric(A_ptr, A_idx, A_val, symbolic, &numeric, NULL, NULL) != UMFPACK_OK || get(&f, numeric);
  if (failed) fprintf(stderr, "UMFPACK failed\n");
  if (!failed) {
    fill(X);
    failed = solve(&f, X);
  }
  for (size_t p = 0; !failed && p < (size_t)N * NRHS; p++) {
    double error = fabs(X[p] - known((int)(p / NRHS), (int)(p % NRHS)));
    if (isnan(error) || error > worst) worst = error;
  }
  if (!failed)
    printf("n = %d, %lld entries in L and U, %d right-hand sides, largest error %.1e\n", N, (long long)(f.Lp[N] + f.Up[N]), NRHS, worst);
  umfpack_dl_free_symbolic(&symbolic);
  umfpack_dl_free_numeric(&numeric);
  void *const memory[] = {X, f.Lp, f.Lj, f.Up, f.Ui, f.Lx, f.Ux, f.Lj32, f.Ui32};
  for (size_t k = 0; k < sizeof memory / sizeof memory[0]; k++) free(memory[k]);
  return failed || !(worst <= 1e-11);
}
