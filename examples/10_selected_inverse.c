/* 10_selected_inverse.c FACTORS -- a small block of the inverse of A: rows and columns FIRST to FIRST+WANTED-1.
 *
 * Columns of the inverse are the solutions for columns of the identity. These right-hand sides are zero in all but WANTED rows, and only
 * WANTED rows of the solutions are asked for, so only a part of the factors takes part in the solve. The result is compared with the same
 * rows of a solve with the whole factors. */
#include <sptrsm_io.h>
#include <sptrsm_reach.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST = 500, WANTED = 20 };

/* Columns of the identity: element (i,k) is one where rows[i] = FIRST + k; rows NULL: all n. */
static double *identity(const int32_t *rows, int32_t n) {
  double *b = calloc((size_t)n * WANTED + 1, sizeof *b);
  for (int32_t i = 0; b && i < n; i++) {
    int32_t k = (rows ? rows[i] : i) - FIRST;
    if (k >= 0 && k < WANTED) b[i * WANTED + k] = 1;
  }
  return b;
}

static sptrsm_status solve_in_place(double *b, int32_t n, sptrsm_context *context, const sptrsm_factors *factors) {
  sptrsm_block B = {b, WANTED, n, WANTED, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_direct *direct = NULL;
  if (!b) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for right-hand sides");
  sptrsm_status status = sptrsm_direct_create(&direct, context, factors, NULL);
  if (!status) status = sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &B);
  sptrsm_direct_destroy(direct);
  return status;
}

static double largest_difference(const double *x, const sptrsm_reach_part *part, const double *whole) {
  double worst = 0;
  for (int32_t r = 0; r < part->m; r++) {
    int32_t i = part->x_rows[r];
    for (int k = 0; k < WANTED && i >= FIRST && i < FIRST + WANTED; k++) {
      double difference = fabs(x[r * WANTED + k] - whole[i * WANTED + k]);
      if (isnan(difference) || difference > worst) worst = difference; /* so written, a NaN counts as an error */
    }
  }
  return worst;
}

static int run(const sptrsm_factors *factors, sptrsm_context *context, sptrsm_reach **reach) {
  int32_t rows[WANTED];
  sptrsm_reach_request request;
  sptrsm_reach_part part = {.size = sizeof part};
  for (int k = 0; k < WANTED; k++) rows[k] = FIRST + k;
  sptrsm_reach_request_init(&request);
  request.nonzero = request.wanted = rows;
  request.nonzero_count = request.wanted_count = WANTED;
  sptrsm_status status = sptrsm_reach_create(reach, factors, &request);
  if (!status) status = sptrsm_reach_part_of(&part, *reach);
  double *x = status ? NULL : identity(part.b_rows, part.m), *whole = status ? NULL : identity(NULL, part.n);
  if (!status) status = solve_in_place(x, part.m, context, part.factors);
  if (!status) status = solve_in_place(whole, part.n, context, factors);
  double worst = status ? NAN : largest_difference(x, &part, whole);
  if (status) fprintf(stderr, "%s\n", sptrsm_last_error());
  else
    printf("%d of %d rows, %lld of %lld entries; largest difference from whole solutions %.1e\n", (int)part.m, (int)part.n,
           (long long)part.entries, (long long)part.all_entries, worst);
  free(x);
  free(whole);
  return !(worst <= 1e-12);
}

int main(int argc, char **argv) {
  sptrsm_file_factors *file = NULL;
  sptrsm_context *context = NULL;
  sptrsm_reach *reach = NULL;
  int failed = argc != 2 || sptrsm_file_factors_load(&file, argv[1], NULL) || sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL);
  if (failed) fprintf(stderr, "%s\n", argc != 2 ? "usage: 10_selected_inverse FACTORS" : sptrsm_last_error());
  else failed = run(&file->factors, context, &reach);
  sptrsm_reach_destroy(reach);
  sptrsm_context_destroy(context);
  sptrsm_file_factors_free(file);
  return failed;
}
