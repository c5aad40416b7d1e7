/* 04_direct_solver.c -- the solve phase of a direct solver: L, U, p and q in arrays, as MATLAB, Julia and UMFPACK give them.
 *
 * L U = A(p,q), that is (L U)(i,j) = A(p[i], q[j]): the rows are gathered (b[p[i]]) and the unknowns scattered back (x[q[j]]).
 * Solves A x = b, A' x = b and one partial system, L x = b. */
#include <sptrsm.h>

#include <math.h>
#include <stdio.h>

enum { N = 4 };

/* L = [1; .5 1; . .25 1; . .5 . 1] with its unit diagonal left out, U = [4 1 . 2; 8 . 4; 2 1; 5], both by columns. */
static const int64_t L_ptr[] = {0, 1, 3, 3, 3}, U_ptr[] = {0, 1, 3, 4, 8};
static const int32_t L_idx[] = {1, 2, 3}, U_idx[] = {0, 0, 1, 2, 0, 1, 2, 3};
static const double L_val[] = {0.5, 0.25, 0.5}, U_val[] = {4, 1, 8, 2, 2, 4, 1, 5};
static const int32_t p[] = {2, 0, 3, 1}, q[] = {1, 3, 0, 2};

static const double A[N][N] = {{0, 2, 5, 8.5}, {0, 0, 7, 4}, {0, 4, 2, 1}, {2, 0, 2, 2}}; /* the matrix that L and U are factors of */

static double largest_residual(const double *x, const double *b, int transposed) {
  double worst = 0;
  for (int i = 0; i < N; i++) {
    double r = b[i];
    for (int j = 0; j < N; j++) r -= (transposed ? A[j][i] : A[i][j]) * x[j];
    if (isnan(r) || fabs(r) > worst) worst = fabs(r);
  }
  return worst;
}

static int print(const char *what, const double *x) { return printf("%-8s x = %g %g %g %g\n", what, x[0], x[1], x[2], x[3]); }

int main(void) {
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_UNIT, SPTRSM_HOST, N, L_ptr, L_idx, L_val};
  sptrsm_sparse U = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_UPPER, SPTRSM_NONUNIT, SPTRSM_HOST, N, U_ptr, U_idx, U_val};
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.U = &U;
  factors.perm_row = p;
  factors.row_convention = SPTRSM_GATHER;
  factors.perm_col = q;
  factors.col_convention = SPTRSM_SCATTER;

  double b[N] = {53, 37, 18, 16}, x[N], y[N], z[N];
  sptrsm_block B = {b, 1, N, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}, X = B, Y = B, Z = B;
  X.data = x;
  Y.data = y;
  Z.data = z;
  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  int failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_direct_create(&direct, context, &factors, NULL) ||
               sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X) ||
               sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_T, NULL, &B, &Y) ||
               sptrsm_direct_solve(direct, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &Z);
  if (failed) {
    fprintf(stderr, "%s\n", sptrsm_last_error());
  } else {
    print("A x = b", x);
    print("A' x = b", y);
    print("L x = b", z);
    double residual = fmax(largest_residual(x, b, 0), largest_residual(y, b, 1));
    printf("largest residual %.1e\n", residual);
    failed = !(residual <= 1e-13);
  }
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  return failed;
}
