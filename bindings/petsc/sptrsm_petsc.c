/* sptrsm_petsc.c -- see sptrsm_petsc.h.
 *
 * PETSc factorises; its factor is read through MatSeqAIJGetCSRAndMemType. Inside, L without its diagonal of ones comes first,
 * by rows; behind it come the rows of U, the last one first, each with the inverse of its diagonal entry at the end. That is PETSc's own
 * affair and may change, so both the structure and a solution are checked before anything relies on it.
 */
#include <sptrsm.h>
#include <sptrsm_petsc.h>

#include <string.h>

#if defined(PETSC_USE_COMPLEX)
enum { DTYPE = sizeof(PetscReal) == sizeof(float) ? SPTRSM_C64 : SPTRSM_C128 };
#else
enum { DTYPE = sizeof(PetscReal) == sizeof(float) ? SPTRSM_F32 : SPTRSM_F64 };
#endif

#define CALL(call) PetscCheck((call) == SPTRSM_OK, PETSC_COMM_SELF, PETSC_ERR_LIB, "sptrsm: %s", sptrsm_last_error())

typedef struct {
  Mat petsc;   /* PETSc's factor */
  IS row, col; /* its ordering */
  sptrsm_context *context;
  sptrsm_direct *direct;   /* NULL: not analysed */
  PetscBool is_factorised; /* direct has the values of the latest factorisation */
} factor;

/* A triangle by rows. */
typedef struct {
  int64_t *ptr;
  int32_t *idx;
  PetscScalar *val;
} triangle;

typedef struct {
  PetscInt n, nz; /* nz: entries of L and U together */
  triangle L, U;
} triangles;

/* ---- the factors ---- */

static PetscErrorCode triangles_create(triangles *t, PetscInt n, PetscInt lower, PetscInt all) {
  PetscFunctionBegin;
  PetscCheck((PetscInt)(int32_t)n == n, PETSC_COMM_SELF, PETSC_ERR_SUP, "sptrsm takes at most 2^31 - 1 rows, not %" PetscInt_FMT, n);
  t->n = n;
  t->nz = all;
  PetscCall(PetscMalloc3(n + 1, &t->L.ptr, lower, &t->L.idx, lower, &t->L.val));
  PetscCall(PetscMalloc3(n + 1, &t->U.ptr, all - lower, &t->U.idx, all - lower, &t->U.val));
  PetscFunctionReturn(0);
}

static PetscErrorCode triangles_destroy(triangles *t) {
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->L.ptr, t->L.idx, t->L.val));
  PetscCall(PetscFree3(t->U.ptr, t->U.idx, t->U.val));
  PetscFunctionReturn(0);
}

static void copy_lower(triangle *L, PetscInt n, const PetscInt *i, const PetscInt *j, const PetscScalar *a) {
  for (PetscInt k = 0; k <= n; k++) L->ptr[k] = i[k];
  for (PetscInt p = 0; p < i[n]; p++) {
    L->idx[p] = (int32_t)j[p];
    L->val[p] = a[p];
  }
}

/* The rows of U lie in [at, end), the last row first. Writes the rows in order, the diagonal first. */
static PetscErrorCode copy_upper(triangle *U, PetscInt n, PetscInt at, PetscInt end, const PetscInt *j, const PetscScalar *a) {
  int64_t put = end - at;
  PetscFunctionBegin;
  U->ptr[n] = put;
  for (PetscInt row = n - 1; row >= 0; row--) {
    PetscInt diagonal = at;
    while (diagonal < end && j[diagonal] > row) diagonal++;
    PetscCheck(diagonal < end && j[diagonal] == row, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "this PETSc stores its factors in another way than 3.18 does: row %" PetscInt_FMT " of U does not end with its diagonal",
               row);
    put -= diagonal - at + 1;
    U->ptr[row] = put;
    U->idx[put] = (int32_t)row;
    U->val[put] = 1 / a[diagonal];
    for (PetscInt p = at; p < diagonal; p++) {
      U->idx[put + 1 + p - at] = (int32_t)j[p];
      U->val[put + 1 + p - at] = a[p];
    }
    at = diagonal + 1;
  }
  PetscCheck(at == end, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "this PETSc stores its factors in another way than 3.18 does: %" PetscInt_FMT " entries are left", end - at);
  PetscFunctionReturn(0);
}

static PetscErrorCode take_triangles(triangles *t, Mat petsc) {
  const PetscInt *i, *j;
  PetscScalar *a;
  PetscInt n;
  PetscMemType place;
  MatInfo info;
  PetscFunctionBegin;
  PetscCall(MatGetSize(petsc, &n, NULL));
  PetscCall(MatGetInfo(petsc, MAT_LOCAL, &info));
  PetscCall(MatSeqAIJGetCSRAndMemType(petsc, &i, &j, &a, &place));
  PetscCheck(PetscMemTypeHost(place), PETSC_COMM_SELF, PETSC_ERR_SUP, "the factor is not in host memory");
  PetscCheck(info.nz_used >= (PetscLogDouble)i[n], PETSC_COMM_SELF, PETSC_ERR_SUP,
             "this PETSc stores its factors in another way than 3.18 does");
  PetscCall(triangles_create(t, n, i[n], n > 0 ? (PetscInt)info.nz_used : 0)); /* PETSc counts an entry of no rows */
  copy_lower(&t->L, n, i, j, a);
  PetscCall(copy_upper(&t->U, n, i[n], t->nz, j, a));
  PetscFunctionReturn(0);
}

/* y += T x, and size += |T| |x|, row by row. */
static void multiply(const triangle *T, PetscInt n, const PetscScalar *x, PetscScalar *y, const PetscReal *x_size, PetscReal *size) {
  for (PetscInt r = 0; r < n; r++)
    for (int64_t p = T->ptr[r]; p < T->ptr[r + 1]; p++) {
      y[r] += T->val[p] * x[T->idx[p]];
      size[r] += PetscAbsScalar(T->val[p]) * x_size[T->idx[p]];
    }
}

/* PETSc's own solution x for a vector of ones must solve L U x = b to rounding with what was taken, whatever the condition is. */
static PetscErrorCode check_triangles(const factor *f, const triangles *t) {
  const PetscReal limit = 1000 * PETSC_MACHINE_EPSILON * PetscSqrtReal((PetscReal)t->n);
  PetscScalar *x, *y, *z;
  PetscReal *x_size, *y_size, *z_size;
  const PetscScalar *solution;
  const PetscInt *col;
  Vec b, v;
  PetscFunctionBegin;
  PetscCall(MatCreateVecs(f->petsc, &v, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(MatSolve(f->petsc, b, v));
  PetscCall(PetscCalloc6(t->n, &x, t->n, &y, t->n, &z, t->n, &x_size, t->n, &y_size, t->n, &z_size));
  PetscCall(VecGetArrayRead(v, &solution));
  PetscCall(ISGetIndices(f->col, &col));
  for (PetscInt k = 0; k < t->n; k++) {
    x[k] = solution[col[k]];
    x_size[k] = PetscAbsScalar(x[k]);
  }
  multiply(&t->U, t->n, x, y, x_size, y_size);
  for (PetscInt k = 0; k < t->n; k++) z[k] = y[k], z_size[k] = y_size[k]; /* the diagonal of L */
  multiply(&t->L, t->n, y, z, y_size, z_size);
  for (PetscInt k = 0; k < t->n; k++)
    PetscCheck(PetscAbsScalar(z[k] - 1) <= limit * (z_size[k] + 1), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "this PETSc stores its factors in another way than 3.18 does: row %" PetscInt_FMT " of L U x = b does not hold", k);
  PetscCall(ISRestoreIndices(f->col, &col));
  PetscCall(VecRestoreArrayRead(v, &solution));
  PetscCall(PetscFree6(x, y, z, x_size, y_size, z_size));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(0);
}

/* ---- analysis ---- */

/* A permutation of PETSc as numbers of 32 bits. */
static PetscErrorCode copy_permutation(int32_t *to, IS from, PetscInt n) {
  const PetscInt *indices;
  PetscFunctionBegin;
  PetscCall(ISGetIndices(from, &indices));
  for (PetscInt k = 0; k < n; k++) to[k] = (int32_t)indices[k];
  PetscCall(ISRestoreIndices(from, &indices));
  PetscFunctionReturn(0);
}

static PetscErrorCode analyse(factor *f, const triangles *t) {
  const sptrsm_sparse L = {SPTRSM_CSR, (sptrsm_dtype)DTYPE, SPTRSM_LOWER, SPTRSM_UNIT, SPTRSM_HOST, (int32_t)t->n, t->L.ptr, t->L.idx,
                           t->L.val};
  const sptrsm_sparse U = {SPTRSM_CSR, (sptrsm_dtype)DTYPE, SPTRSM_UPPER, SPTRSM_NONUNIT, SPTRSM_HOST, (int32_t)t->n, t->U.ptr, t->U.idx,
                           t->U.val};
  sptrsm_factors factors;
  int32_t *row, *col;
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(t->n, &row, t->n, &col));
  PetscCall(copy_permutation(row, f->row, t->n));
  PetscCall(copy_permutation(col, f->col, t->n));
  sptrsm_factors_init(&factors);
  factors.L = &L;
  factors.U = &U;
  factors.perm_row = row;
  factors.perm_col = col;
  factors.row_convention = SPTRSM_GATHER;
  factors.col_convention = SPTRSM_SCATTER;
  CALL(sptrsm_direct_create(&f->direct, f->context, &factors, NULL));
  PetscCall(PetscFree2(row, col));
  PetscFunctionReturn(0);
}

/* ---- the operations of the factor ---- */

/* Keeps the ordering, or finds one: a PC gives none to solvers other than PETSc's. */
static PetscErrorCode keep_ordering(factor *f, Mat A, IS row, IS col, MatFactorType type) {
  char named[64];
  const char *prefix;
  PetscBool set;
  MatOrderingType ordering;
  PetscFunctionBegin;
  PetscCall(ISDestroy(&f->row));
  PetscCall(ISDestroy(&f->col));
  if (row && col) {
    PetscCall(PetscObjectReference((PetscObject)row));
    PetscCall(PetscObjectReference((PetscObject)col));
    f->row = row;
    f->col = col;
    PetscFunctionReturn(0);
  }
  PetscCall(MatFactorGetPreferredOrdering(f->petsc, type, &ordering));
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscCall(PetscOptionsGetString(NULL, prefix, "-mat_sptrsm_ordering", named, sizeof named, &set));
  PetscCall(MatGetOrdering(A, set ? named : ordering, &f->row, &f->col));
  PetscFunctionReturn(0);
}

static PetscErrorCode symbolic(Mat F, Mat A, IS row, IS col, const MatFactorInfo *info) {
  MatFactorType type;
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  PetscCall(MatGetFactorType(F, &type));
  PetscCall(keep_ordering(f, A, row, col, type));
  if (type == MAT_FACTOR_LU) PetscCall(MatLUFactorSymbolic(f->petsc, A, f->row, f->col, info));
  else PetscCall(MatILUFactorSymbolic(f->petsc, A, f->row, f->col, info));
  sptrsm_direct_destroy(f->direct);
  f->direct = NULL;
  PetscFunctionReturn(0);
}

static PetscErrorCode take_factor(factor *f, triangles *t) {
  PetscFunctionBegin;
  PetscCall(take_triangles(t, f->petsc));
  PetscCall(check_triangles(f, t));
  if (f->direct) CALL(sptrsm_direct_set_values(f->direct, t->L.val, NULL, NULL, t->U.val)); /* of the same pattern: no new analysis */
  else PetscCall(analyse(f, t));
  PetscFunctionReturn(0);
}

/* Until all is well there is nothing to solve with: never the factors of a matrix before. */
static PetscErrorCode numeric(Mat F, Mat A, const MatFactorInfo *info) {
  MatFactorError error;
  triangles t = {0};
  PetscErrorCode code;
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  f->is_factorised = PETSC_FALSE;
  PetscCall(MatLUFactorNumeric(f->petsc, A, info)); /* of an incomplete factor, too */
  PetscCall(MatFactorGetError(f->petsc, &error));
  PetscCheck(error == MAT_FACTOR_NOERROR, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "PETSc's factorisation failed with MatFactorError %d",
             (int)error);
  code = take_factor(f, &t);
  PetscCall(triangles_destroy(&t));
  PetscCall(code);
  f->is_factorised = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static PetscErrorCode solve_block(Mat F, Mat B, Mat X, sptrsm_system system) {
  const PetscScalar *b;
  PetscScalar *x;
  PetscInt n, nrhs, ldb, ldx;
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  PetscCheck(f->is_factorised, PETSC_COMM_SELF, PETSC_ERR_ORDER, "the matrix is not factorised; call MatLUFactorNumeric first");
  PetscCall(MatGetLocalSize(B, &n, NULL));
  PetscCall(MatGetSize(B, NULL, &nrhs));
  PetscCall(MatDenseGetLDA(B, &ldb));
  PetscCall(MatDenseGetLDA(X, &ldx));
  PetscCall(MatDenseGetArrayRead(B, &b));
  if (X == B) x = (PetscScalar *)b;
  else PetscCall(MatDenseGetArrayWrite(X, &x));
  sptrsm_block from = {(void *)b, ldb, (int32_t)n, nrhs, (sptrsm_dtype)DTYPE, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  sptrsm_block to = {x, ldx, (int32_t)n, nrhs, (sptrsm_dtype)DTYPE, SPTRSM_COL_MAJOR, SPTRSM_HOST};
  CALL(sptrsm_direct_solve(f->direct, system, SPTRSM_N, NULL, &from, &to));
  if (X != B) PetscCall(MatDenseRestoreArrayWrite(X, &x));
  PetscCall(MatDenseRestoreArrayRead(B, &b));
  PetscFunctionReturn(0);
}

static PetscErrorCode mat_solve(Mat F, Mat B, Mat X) { return solve_block(F, B, X, SPTRSM_SYS_A); }
static PetscErrorCode mat_solve_transpose(Mat F, Mat B, Mat X) { return solve_block(F, B, X, SPTRSM_SYS_Aat); }

static PetscErrorCode solve(Mat F, Vec b, Vec x) {
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  PetscCall(MatSolve(f->petsc, b, x));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve_transpose(Mat F, Vec b, Vec x) {
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  PetscCall(MatSolveTranspose(f->petsc, b, x));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_info(Mat F, MatInfoType type, MatInfo *info) {
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  PetscCall(MatGetInfo(f->petsc, type, info));
  PetscFunctionReturn(0);
}

/* ---- creation ---- */

static PetscErrorCode destroy(Mat F) {
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatShellGetContext(F, &f));
  sptrsm_direct_destroy(f->direct);
  sptrsm_context_destroy(f->context);
  PetscCall(ISDestroy(&f->row));
  PetscCall(ISDestroy(&f->col));
  PetscCall(MatDestroy(&f->petsc));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", NULL));
  PetscCall(PetscFree(f));
  PetscFunctionReturn(0);
}

static PetscErrorCode solver_type(Mat F, MatSolverType *type) {
  (void)F;
  *type = MATSOLVERSPTRSM;
  return 0;
}

static PetscErrorCode set_operations(Mat F) {
  PetscFunctionBegin;
  PetscCall(MatShellSetOperation(F, MATOP_DESTROY, (void (*)(void))destroy));
  PetscCall(MatSetOperation(F, MATOP_LUFACTOR_SYMBOLIC, (void (*)(void))symbolic));
  PetscCall(MatSetOperation(F, MATOP_ILUFACTOR_SYMBOLIC, (void (*)(void))symbolic));
  PetscCall(MatSetOperation(F, MATOP_LUFACTOR_NUMERIC, (void (*)(void))numeric));
  PetscCall(MatSetOperation(F, MATOP_SOLVE, (void (*)(void))solve));
  PetscCall(MatSetOperation(F, MATOP_SOLVE_TRANSPOSE, (void (*)(void))solve_transpose));
  PetscCall(MatSetOperation(F, MATOP_MAT_SOLVE, (void (*)(void))mat_solve));
  PetscCall(MatSetOperation(F, MATOP_MAT_SOLVE_TRANSPOSE, (void (*)(void))mat_solve_transpose));
  PetscCall(MatSetOperation(F, MATOP_GETINFO, (void (*)(void))get_info));
  PetscCall(PetscObjectComposeFunction((PetscObject)F, "MatFactorGetSolverType_C", solver_type));
  PetscFunctionReturn(0);
}

static PetscErrorCode get_factor(Mat A, MatFactorType type, Mat *F) {
  PetscInt n, threads = 0;
  const char *prefix;
  factor *f;
  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &n, NULL));
  PetscCall(PetscNew(&f));
  PetscCall(MatGetFactor(A, MATSOLVERPETSC, type, &f->petsc));
  CALL(sptrsm_context_create(&f->context, SPTRSM_HOST, 0, NULL));
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscCall(PetscOptionsGetInt(NULL, prefix, "-mat_sptrsm_threads", &threads, NULL));
  CALL(sptrsm_context_set_threads(f->context, (int)threads));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), n, n, n, n, f, F));
  PetscCall(MatSetFactorType(*F, type));
  PetscCall(set_operations(*F));
  PetscFunctionReturn(0);
}

PetscErrorCode sptrsm_petsc_register(void) {
  PetscFunctionBegin;
  PetscCall(MatInitializePackage()); /* PETSc's own solvers come first */
  PetscCall(MatSolverTypeRegister(MATSOLVERSPTRSM, MATSEQAIJ, MAT_FACTOR_LU, get_factor));
  PetscCall(MatSolverTypeRegister(MATSOLVERSPTRSM, MATSEQAIJ, MAT_FACTOR_ILU, get_factor));
  PetscFunctionReturn(0);
}
