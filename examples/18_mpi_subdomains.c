/* 18_mpi_subdomains.c -- domain decomposition with MPI: each rank has the factors of a subdomain of its own.
 *
 * mpirun -n 4 18_mpi_subdomains
 *
 * A rod of points, -u(i-1) + 3 u(i) - u(i+1) = f(i), is cut into a piece for each rank, with one point, the interface, between neighbours.
 * Each rank solves with its own factors for its loads f and for the two columns that couple it to its interfaces, all in one block. What
 * this says about the ends of a piece, a few numbers, goes to all; each rank then solves the small system of the interfaces (the Schur
 * complement, tridiagonal here) and corrects its own u. A rank with many subdomains would make a batch of them (15_batch_mixed.c).
 */
#include <math.h>
#include <mpi.h>
#include <sptrsm.h>
#include <stdio.h>
#include <stdlib.h>

enum { LOADS = 16, LEFT = LOADS, RIGHT, COLUMNS, LONGEST = 2000, ENDS = 2 * COLUMNS };

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    if ((call) != SPTRSM_OK) {                                                                                                             \
      fprintf(stderr, "%s\n", sptrsm_last_error());                                                                                        \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                                                        \
    }                                                                                                                                      \
  } while (0)

/* Pieces differ in length. */
static int length_of(int rank) { return LONGEST - 7 * (rank % 100); }

/* The solution that is aimed at, of load k at point i of the rod, the first point being 1. */
static double truth(int k, int i) { return (k + 1) * (1 + i % 10); }
static double load(int k, int i, int last) { return 3 * truth(k, i) - (i > 1 ? truth(k, i - 1) : 0) - (i < last ? truth(k, i + 1) : 0); }

/* The factors of a piece: L has ones on the diagonal and l below it, U has d on the diagonal and -1 above it. Solves in place. */
static void solve_piece(double *X, int n) {
  static int64_t l_ptr[LONGEST + 1], u_ptr[LONGEST + 1];
  static int32_t l_idx[LONGEST], u_idx[2 * LONGEST];
  static double l_val[LONGEST], u_val[2 * LONGEST];
  double d = 3;
  for (int i = 0; i < n; i++) {
    if (i > 0) l_idx[l_ptr[i]] = i - 1, l_val[l_ptr[i]] = -1 / d, d = 3 - 1 / d;
    l_ptr[i + 1] = l_ptr[i] + (i > 0);
    u_idx[u_ptr[i]] = i, u_val[u_ptr[i]] = d;
    if (i + 1 < n) u_idx[u_ptr[i] + 1] = i + 1, u_val[u_ptr[i] + 1] = -1;
    u_ptr[i + 1] = u_ptr[i] + (i + 1 < n ? 2 : 1);
  }
  const sptrsm_sparse L = {.dtype = SPTRSM_F64, .diag = SPTRSM_UNIT, .n = n, .ptr = l_ptr, .idx = l_idx, .val = l_val};
  const sptrsm_sparse U = {.dtype = SPTRSM_F64, .uplo = SPTRSM_UPPER, .n = n, .ptr = u_ptr, .idx = u_idx, .val = u_val};
  sptrsm_block B = {.data = X, .ld = n, .n = n, .nrhs = COLUMNS, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR};
  sptrsm_context *context;
  sptrsm_direct *direct;
  sptrsm_factors factors;
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.U = &U;
  TRY(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  TRY(sptrsm_direct_create(&direct, context, &factors, NULL));
  TRY(sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &B));
  sptrsm_direct_destroy(direct);
  sptrsm_context_destroy(context);
}

/* g [ranks - 1]: u of load k at the interfaces; interface r lies behind piece r. ends: of each piece the first and the last row of what it
 * has solved. Elimination of a tridiagonal system, the same on all ranks. */
static void solve_interfaces(double *g, const double *ends, int ranks, int k, const double *f) {
  double *d = malloc(((size_t)ranks + 1) * sizeof *d), above = 0;
  for (int r = 0; r + 1 < ranks; r++) {
    const double *last = ends + (size_t)r * ENDS + COLUMNS, *first = ends + ((size_t)r + 1) * ENDS;
    const double below = r > 0 ? -last[LEFT] / d[r - 1] : 0; /* coupling to interface r - 1 through piece r, over its pivot */
    d[r] = 3 - last[RIGHT] - first[LEFT] - below * above;
    g[r] = f[r] + last[k] + first[k] - (r > 0 ? below * g[r - 1] : 0);
    above = -first[RIGHT];
  }
  for (int r = ranks - 2; r >= 0; r--) g[r] = (g[r] + (r + 2 < ranks ? ends[((size_t)r + 1) * ENDS + RIGHT] * g[r + 1] : 0)) / d[r];
  free(d);
}

int main(int argc, char **argv) {
  int rank, ranks, begin = 1, last = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = length_of(rank);
  for (int r = 0; r < ranks; r++) {
    if (r == rank) begin = last + 2; /* the first point of this piece */
    last += length_of(r) + 1;
  }

  double *X = calloc((size_t)n * COLUMNS, sizeof *X), own[ENDS];
  double *ends = malloc((size_t)ranks * sizeof own), *f = malloc((size_t)ranks * sizeof *f), *g = malloc((size_t)ranks * sizeof *g);
  for (int k = 0; k < LOADS; k++)
    for (int i = 0; i < n; i++) X[(size_t)k * n + i] = load(k, begin + i, last);
  X[(size_t)LEFT * n] = X[(size_t)RIGHT * n + n - 1] = 1;
  solve_piece(X, n);
  for (int k = 0; k < COLUMNS; k++) own[k] = X[(size_t)k * n], own[COLUMNS + k] = X[(size_t)k * n + n - 1];
  MPI_Allgather(own, ENDS, MPI_DOUBLE, ends, ENDS, MPI_DOUBLE, MPI_COMM_WORLD);

  double error = 0, largest;
  for (int k = 0; k < LOADS; k++) {
    for (int r = 0, at = 0; r + 1 < ranks; r++) at += length_of(r) + 1, f[r] = load(k, at, last);
    solve_interfaces(g, ends, ranks, k, f);
    const double left = rank > 0 ? g[rank - 1] : 0, right = rank + 1 < ranks ? g[rank] : 0;
    for (int i = 0; i < n; i++) {
      const double u = X[(size_t)k * n + i] + left * X[(size_t)LEFT * n + i] + right * X[(size_t)RIGHT * n + i];
      const double off = fabs(u / truth(k, begin + i) - 1);
      if (!(off <= error)) error = isnan(off) ? INFINITY : off;
    }
  }
  MPI_Reduce(&error, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d subdomain%s, %d loads, largest error %.1e\n", ranks, ranks == 1 ? "" : "s", LOADS, largest);
  free(X);
  free(ends);
  free(f);
  free(g);
  MPI_Finalize();
  return 0;
}
