/* matmatsolve.c -- MatMatSolve with many columns: PETSc's own factor beside the same factor in sptrsm.
 *
 *   cc -O2 matmatsolve.c sptrsm_petsc.c -I. $(pkg-config --cflags --libs PETSc sptrsm) -o matmatsolve      (CC=mpicc)
 *   ./matmatsolve [-side 60 | -matrix FILE] [-columns 128] [-ordering nd] [-turns 10] [-mat_sptrsm_threads 2 | -core]
 *
 * The matrix is a square grid with SIDE points per side, diffusion and wind, or one that MatView has written in PETSc's binary form. */
#define _POSIX_C_SOURCE 200809L /* for the clocks */
#include <petscksp.h>
#include <sptrsm_petsc.h>

#include <math.h>
#include <time.h>

static PetscErrorCode grid(PetscInt side, Mat *A) {
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, side * side, side * side, 5, NULL, A));
  for (PetscInt y = 0; y < side; y++)
    for (PetscInt x = 0; x < side; x++) {
      const PetscInt i = x + y * side;
      PetscCall(MatSetValue(*A, i, i, 4.1, INSERT_VALUES));
      if (x > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.3, INSERT_VALUES));
      if (x + 1 < side) PetscCall(MatSetValue(*A, i, i + 1, -0.7, INSERT_VALUES));
      if (y > 0) PetscCall(MatSetValue(*A, i, i - side, -1, INSERT_VALUES));
      if (y + 1 < side) PetscCall(MatSetValue(*A, i, i + side, -1, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode load(const char *file, Mat *A) {
  PetscViewer viewer;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetType(*A, MATSEQAIJ));
  PetscCall(PetscViewerBinaryOpen(PETSC_COMM_SELF, file, FILE_MODE_READ, &viewer));
  PetscCall(MatLoad(*A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscFunctionReturn(0);
}

static PetscErrorCode factorise(Mat A, MatSolverType solver, IS row, IS col, Mat *F) {
  MatFactorInfo info;
  PetscFunctionBeginUser;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 5;
  PetscCall(MatGetFactor(A, solver, MAT_FACTOR_LU, F));
  PetscCall(MatLUFactorSymbolic(*F, A, row, col, &info));
  PetscCall(MatLUFactorNumeric(*F, A, &info));
  PetscFunctionReturn(0);
}

/* The loop that a program without MatMatSolve has. */
static PetscErrorCode column_loop(Mat F, Mat B, Mat X) {
  PetscInt columns;
  PetscFunctionBeginUser;
  PetscCall(MatGetSize(B, NULL, &columns));
  for (PetscInt k = 0; k < columns; k++) {
    Vec b, x;
    PetscCall(MatDenseGetColumnVecRead(B, k, &b));
    PetscCall(MatDenseGetColumnVecWrite(X, k, &x));
    PetscCall(MatSolve(F, b, x));
    PetscCall(MatDenseRestoreColumnVecWrite(X, k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(B, k, &b));
  }
  PetscFunctionReturn(0);
}

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double wall(void) { return seconds_of(CLOCK_MONOTONIC); }
static double core(void) { return seconds_of(CLOCK_THREAD_CPUTIME_ID); } /* that a core worked for this thread */

/* Shortens *best to the time of one call by a clock, in seconds. */
static PetscErrorCode time_call(double (*now)(void), PetscErrorCode (*call)(Mat, Mat, Mat), Mat F, Mat B, Mat X, double *best) {
  const double begin = now();
  PetscFunctionBeginUser;
  PetscCall(call(F, B, X));
  *best = PetscMin(*best, now() - begin);
  PetscFunctionReturn(0);
}

/* Times are those of the fastest of `turns` turns, in each of which all three solve. PETSc has one thread and is timed by what a core works
 * for it, so that other work on the machine does not count; sptrsm by the clock on the wall or, with -core and one thread, as PETSc. */
static PetscErrorCode compare(Mat A, PetscInt columns, PetscInt turns, const char *ordering) {
  double loop = HUGE_VAL, own = HUGE_VAL, ours = HUGE_VAL;
  PetscReal difference, size;
  PetscInt n;
  PetscBool by_core = PETSC_FALSE;
  Mat F, G, B, X, Y;
  IS row, col;
  PetscFunctionBeginUser;
  PetscCall(PetscOptionsHasName(NULL, NULL, "-core", &by_core));
  if (by_core) PetscCall(PetscOptionsSetValue(NULL, "-mat_sptrsm_threads", "1"));
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOrdering(A, ordering, &row, &col));
  PetscCall(factorise(A, MATSOLVERPETSC, row, col, &F));
  PetscCall(factorise(A, MATSOLVERSPTRSM, row, col, &G));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &Y));
  for (PetscInt turn = 0; turn < turns; turn++) {
    PetscCall(time_call(core, column_loop, F, B, X, &loop));
    PetscCall(time_call(core, MatMatSolve, F, B, X, &own));
    PetscCall(time_call(by_core ? core : wall, MatMatSolve, G, B, Y, &ours));
  }
  PetscCall(MatNorm(X, NORM_FROBENIUS, &size));
  PetscCall(MatAXPY(Y, -1, X, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &difference));
  PetscCall(PetscPrintf(PETSC_COMM_SELF,
                        "n = %" PetscInt_FMT ", %" PetscInt_FMT " columns, ordering %s: MatSolve in a loop %.2f ms, MatMatSolve %.2f ms, "
                        "sptrsm %.2f ms: %.1f times as fast as the faster one, difference %.1e\n",
                        n, columns, ordering, 1e3 * loop, 1e3 * own, 1e3 * ours, PetscMin(loop, own) / ours, (double)(difference / size)));
  PetscCheck(difference <= 1e-9 * size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the solutions differ");
  PetscCall(MatDestroy(&Y));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&F));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  PetscInt side = 60, columns = 128, turns = 10;
  char file[PETSC_MAX_PATH_LEN], ordering[64] = MATORDERINGND;
  PetscBool from_file;
  Mat A;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(sptrsm_petsc_register());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-side", &side, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-columns", &columns, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ordering", ordering, sizeof ordering, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-matrix", file, sizeof file, &from_file));
  PetscCall(from_file ? load(file, &A) : grid(side, &A));
  PetscCall(compare(A, columns, turns, ordering));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
