/* 11_refine.c -- factors kept in single precision, solutions in double, with their errors.
 *
 * A = L L' is a chain of springs of very different stiffness. sptrsm_direct keeps L in single precision, which halves its memory;
 * refinement with A brings the solutions to the accuracy of double precision, and returns bounds of their errors. */
#include <sptrsm.h>
#include <sptrsm_refine.h>

#include <math.h>
#include <stdio.h>

enum { N = 1000, NRHS = 4 };

/* L and A by columns: a diagonal and one entry below it. */
static int64_t ptr[N + 1];
static int32_t idx[2 * N];
static double L_val[2 * N], A_val[2 * N];

static void make_chain(void) {
  int64_t p = 0;
  double above = 0; /* L(j,j-1) */
  for (int j = 0; j < N; j++) {
    double d = 1 + j % 10 * (j % 3 ? 0.01 : 100), below = -0.9 * d;
    idx[p] = j, L_val[p] = d, A_val[p++] = d * d + above * above;
    if (j + 1 < N) idx[p] = j + 1, L_val[p] = below, A_val[p++] = below * d;
    above = below;
    ptr[j + 1] = p;
  }
}

int main(void) {
  static double b[N * NRHS], x[N * NRHS];
  make_chain();
  for (int i = 0; i < N * NRHS; i++) b[i] = sin(i);
  sptrsm_sparse L = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, N, ptr, idx, L_val};
  sptrsm_square A = {SPTRSM_CSC, SPTRSM_F64, SPTRSM_SYMMETRIC, SPTRSM_HOST, N, ptr, idx, A_val}; /* the lower triangle */
  sptrsm_block B = {b, NRHS, N, NRHS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST}, X = B;
  X.data = x;
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.u_kind = SPTRSM_U_IS_LT;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.precision = SPTRSM_MIXED;
  sptrsm_refine_options refine;
  sptrsm_refine_options_init(&refine);
  refine.solve = 1; /* X holds nothing yet */
  double berr[NRHS], ferr[NRHS];
  int32_t steps[NRHS];
  sptrsm_refine_result result = {.size = sizeof result, .berr = berr, .ferr = ferr, .steps = steps};

  sptrsm_context *context = NULL;
  sptrsm_direct *direct = NULL;
  int failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL) || sptrsm_direct_create(&direct, context, &factors, &options) ||
               sptrsm_direct_set_original(direct, &A) ||
               sptrsm_direct_refine(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &refine, &result);
  if (failed) fprintf(stderr, "%s\n", sptrsm_last_error());
  for (int k = 0; k < NRHS && !failed; k++)
    printf("column %d: backward error %.1e after %d steps, forward error below about %.1e\n", k, berr[k], (int)steps[k], ferr[k]);
  if (!failed) printf("%d of %d columns not converged\n", (int)result.unconverged, NRHS);
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
  return failed;
}
