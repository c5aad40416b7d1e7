/* 17_mpi_columns.c -- a program with its own MPI: each rank solves for its columns of a block of right-hand sides.
 *
 * mpirun -n 4 17_mpi_columns
 *
 * The library knows nothing of MPI. Rank 0 has the matrix T and sends it to all; each rank makes a plan of its own and solves for the
 * columns that belong to it; rank 0 gathers X. Columns do not depend on each other, so X has the bits that one rank makes.
 */
#include <mpi.h>
#include <sptrsm.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 20000, NNZ = 2 * N - 1, NRHS = 100 };

static int64_t ptr[N + 1];
static int32_t idx[NNZ];
static double val[NNZ];

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    if ((call) != SPTRSM_OK) {                                                                                                             \
      fprintf(stderr, "%s\n", sptrsm_last_error());                                                                                        \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                                                        \
    }                                                                                                                                      \
  } while (0)

/* T: 2 on the diagonal, 1 below it. */
static void make_matrix(void) {
  int64_t at = 0;
  for (int i = 0; i < N; i++) {
    ptr[i] = at;
    if (i > 0) idx[at] = i - 1, val[at++] = 1;
    idx[at] = i, val[at++] = 2;
  }
  ptr[N] = at;
}

static void send_matrix(void) {
  MPI_Bcast(ptr, N + 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(idx, NNZ, MPI_INT32_T, 0, MPI_COMM_WORLD);
  MPI_Bcast(val, NNZ, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Solves in place for `count` columns, one behind the other. */
static void solve(double *columns, int count) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  const sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_block X = {.data = columns, .ld = N, .n = N, .nrhs = count, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR};
  TRY(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  TRY(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW));
  TRY(sptrsm_plan_create(&plan, matrix, NULL));
  TRY(sptrsm_solve(plan, NULL, NULL, &X, &X));
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

/* The largest error where X is (1, 2, ..., N) times the number of the column. */
static double largest_error(const double *X) {
  double most = 0;
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) {
      double error = X[(size_t)k * N + i] / (k + 1) - (i + 1);
      if (isnan(error) || fabs(error) > most) most = fabs(error);
    }
  return most;
}

int main(int argc, char **argv) {
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) make_matrix();
  send_matrix();

  /* Columns first, first + 1, ... are those of this rank; with more ranks than columns, some have none. */
  int *counts = malloc((size_t)ranks * sizeof *counts), *places = malloc((size_t)ranks * sizeof *places), first = 0;
  for (int r = 0, at = 0; r < ranks; at += counts[r++] / N) {
    counts[r] = (NRHS / ranks + (r < NRHS % ranks)) * N;
    places[r] = at * N;
    if (r == rank) first = at;
  }
  int own = counts[rank] / N;
  double *mine = malloc(((size_t)own * N + 1) * sizeof *mine), *X = rank == 0 ? malloc((size_t)N * NRHS * sizeof *X) : NULL;
  for (int k = 0; k < own; k++)
    for (int i = 0; i < N; i++) mine[(size_t)k * N + i] = (first + k + 1) * (2.0 * (i + 1) + i);

  solve(mine, own);
  MPI_Gatherv(mine, own * N, MPI_DOUBLE, X, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d columns by %d rank%s, largest error %.2g\n", NRHS, ranks, ranks == 1 ? "" : "s", largest_error(X));
  free(mine);
  free(X);
  free(counts);
  free(places);
  MPI_Finalize();
  return 0;
}
