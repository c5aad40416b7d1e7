/* test.c -- factors in sptrsm beside PETSc's own: orderings, incomplete factors, transposes, leading dimensions, new values, PC, errors. */
#include <petscksp.h>
#include <sptrsm_petsc.h>

/* A band of random entries beside a strong diagonal, and some far from it; blocks of two equal rows, which PETSc treats as one. */
static PetscErrorCode make_matrix(PetscInt n, unsigned long seed, Mat *A) {
  PetscRandom random;
  PetscScalar value;
  PetscFunctionBeginUser;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetSeed(random, seed));
  PetscCall(PetscRandomSeed(random));
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 12, NULL, A));
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt block = i / 2 * 2, columns[] = {block, block + 1, block + 2, block + 3, (7 * block) % n, (n - 1 - block)};
    for (int k = 0; k < 6; k++) {
      if (columns[k] >= n) continue;
      PetscCall(PetscRandomGetValue(random, &value));
      PetscCall(MatSetValue(*A, i, columns[k], value, INSERT_VALUES));
    }
    PetscCall(MatSetValue(*A, i, i, 9 + value, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(0);
}

static PetscErrorCode symbolic(Mat A, MatSolverType solver, MatFactorType type, const char *ordering, Mat *F) {
  MatFactorInfo info;
  IS row = NULL, col = NULL;
  PetscFunctionBeginUser;
  PetscCall(MatFactorInfoInitialize(&info));
  info.fill = 10;
  if (type == MAT_FACTOR_ILU) info.levels = 1, info.fill = 3;
  PetscCall(MatGetFactor(A, solver, type, F));
  if (ordering) PetscCall(MatGetOrdering(A, ordering, &row, &col));
  if (type == MAT_FACTOR_LU) PetscCall(MatLUFactorSymbolic(*F, A, row, col, &info));
  else PetscCall(MatILUFactorSymbolic(*F, A, row, col, &info));
  PetscCall(ISDestroy(&row));
  PetscCall(ISDestroy(&col));
  PetscFunctionReturn(0);
}

static PetscErrorCode numeric(Mat A, Mat F) {
  MatFactorInfo info;
  PetscFunctionBeginUser;
  PetscCall(MatFactorInfoInitialize(&info));
  PetscCall(MatLUFactorNumeric(F, A, &info));
  PetscFunctionReturn(0);
}

static PetscErrorCode expect_equal(Mat X, Mat Y, const char *what) {
  PetscReal difference, size;
  Mat D;
  PetscFunctionBeginUser;
  PetscCall(MatNorm(Y, NORM_FROBENIUS, &size));
  PetscCall(MatDuplicate(X, MAT_COPY_VALUES, &D));
  PetscCall(MatAXPY(D, -1, Y, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(D, NORM_FROBENIUS, &difference));
  PetscCheck(difference <= 1e4 * PETSC_MACHINE_EPSILON * size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: difference %g of %g", what,
             (double)difference, (double)size);
  PetscCall(MatDestroy(&D));
  PetscFunctionReturn(0);
}

/* Solves with both factors, as they are and transposed; B and the two X have more rows than the system. */
static PetscErrorCode expect_solutions(Mat F, Mat G, PetscInt n, PetscInt columns, PetscInt gap, const char *what) {
  Mat all[3], part[3];
  PetscFunctionBeginUser;
  for (int k = 0; k < 3; k++) {
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n + (1 + k) * gap, columns, NULL, &all[k]));
    PetscCall(MatSetRandom(all[k], NULL));
    PetscCall(MatDenseGetSubMatrix(all[k], 0, n, PETSC_DECIDE, PETSC_DECIDE, &part[k]));
  }
  PetscCall(MatMatSolve(F, part[0], part[1]));
  PetscCall(MatMatSolve(G, part[0], part[2]));
  PetscCall(expect_equal(part[2], part[1], what));
  for (PetscInt k = 0; k < columns; k++) {
    Vec b, x;
    PetscCall(MatDenseGetColumnVecRead(part[0], k, &b));
    PetscCall(MatDenseGetColumnVecWrite(part[1], k, &x));
    PetscCall(MatSolveTranspose(F, b, x));
    PetscCall(MatDenseRestoreColumnVecWrite(part[1], k, &x));
    PetscCall(MatDenseRestoreColumnVecRead(part[0], k, &b));
  }
  PetscCall(MatMatSolveTranspose(G, part[0], part[2]));
  PetscCall(expect_equal(part[2], part[1], what));
  for (int k = 0; k < 3; k++) {
    PetscCall(MatDenseRestoreSubMatrix(all[k], &part[k]));
    PetscCall(MatDestroy(&all[k]));
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode test_factors(MatFactorType type, PetscInt n, PetscInt columns, PetscInt gap, const char *ordering) {
  MatSolverType name;
  PetscBool same;
  Mat A, again, F, G;
  PetscFunctionBeginUser;
  PetscCall(make_matrix(n, 1, &A));
  PetscCall(symbolic(A, MATSOLVERPETSC, type, ordering, &F));
  PetscCall(symbolic(A, MATSOLVERSPTRSM, type, ordering, &G));
  PetscCall(MatFactorGetSolverType(G, &name));
  PetscCall(PetscStrcmp(name, MATSOLVERSPTRSM, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the factor is of %s", name);
  PetscCall(numeric(A, F));
  PetscCall(numeric(A, G));
  PetscCall(expect_solutions(F, G, n, columns, gap, ordering));
  PetscCall(make_matrix(n, 2, &again)); /* new values of the same pattern */
  PetscCall(numeric(again, F));
  PetscCall(numeric(again, G));
  PetscCall(expect_solutions(F, G, n, columns, gap, "new values"));
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&again));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* By the options of a program, with an ordering that the adapter finds. */
static PetscErrorCode test_pc(PCType type, KSPType solver) {
  enum { N = 60, COLUMNS = 9 };
  MatSolverType name;
  PetscBool same;
  Mat A, B, X, R;
  KSP ksp;
  PC pc;
  PetscFunctionBeginUser;
  PetscCall(make_matrix(N, 3, &A));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, N, COLUMNS, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, solver));
  PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, type));
  PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERSPTRSM));
  PetscCall(KSPMatSolve(ksp, B, X));
  PetscCall(PCFactorGetMatSolverType(pc, &name));
  PetscCall(PetscStrcmp(name, MATSOLVERSPTRSM, &same));
  PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the factor is of %s", name);
  PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &R));
  PetscCall(expect_equal(R, B, type));
  PetscCall(MatDestroy(&R));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

/* A zero pivot, and a solve before the factorisation, are errors, not wrong numbers. */
static PetscErrorCode test_errors(void) {
  Mat A, B, X, F, G;
  PetscErrorCode early, singular, late;
  PetscFunctionBeginUser;
  PetscCall(make_matrix(4, 4, &A));
  PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, 4, 2, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(symbolic(A, MATSOLVERSPTRSM, MAT_FACTOR_LU, MATORDERINGNATURAL, &F));
  PetscCall(symbolic(A, MATSOLVERSPTRSM, MAT_FACTOR_LU, MATORDERINGNATURAL, &G));
  PetscCall(numeric(A, G));
  PetscCall(MatMatSolve(G, B, X));
  PetscCall(MatZeroEntries(A));
  PetscCall(PetscPushErrorHandler(PetscIgnoreErrorHandler, NULL));
  early = MatMatSolve(F, B, X);
  singular = numeric(A, G);
  late = MatMatSolve(G, B, X); /* not with the factors before */
  PetscCall(PetscPopErrorHandler());
  PetscCheck(early == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a solve before the factorisation: %d", (int)early);
  PetscCheck(singular == PETSC_ERR_MAT_LU_ZRPVT, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a zero pivot: %d", (int)singular);
  PetscCheck(late == PETSC_ERR_ORDER, PETSC_COMM_SELF, PETSC_ERR_PLIB, "a solve after it: %d", (int)late);
  PetscCall(MatDestroy(&F));
  PetscCall(MatDestroy(&G));
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv) {
  static const char *const orderings[] = {MATORDERINGNATURAL, MATORDERINGND, MATORDERINGRCM, MATORDERINGQMD};
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(sptrsm_petsc_register());
  for (int k = 0; k < 4; k++) {
    PetscCall(test_factors(MAT_FACTOR_LU, 200, 33, 0, orderings[k]));
    PetscCall(test_factors(MAT_FACTOR_LU, 51, 1, 7, orderings[k]));
  }
  PetscCall(test_factors(MAT_FACTOR_LU, 1, 5, 2, MATORDERINGNATURAL));
  PetscCall(test_factors(MAT_FACTOR_LU, 0, 3, 2, MATORDERINGNATURAL));
  PetscCall(test_factors(MAT_FACTOR_LU, 60, 0, 0, MATORDERINGNATURAL));
  PetscCall(test_factors(MAT_FACTOR_ILU, 200, 33, 3, MATORDERINGNATURAL));
  PetscCall(test_factors(MAT_FACTOR_ILU, 200, 17, 0, MATORDERINGRCM));
  PetscCall(test_pc(PCLU, KSPPREONLY));
  PetscCall(test_pc(PCILU, KSPGMRES));
  PetscCall(test_errors());
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "all passed\n"));
  PetscCall(PetscFinalize());
  return 0;
}
