/* promises.c -- the error bounds that the README promises: norm1(r) / (norm1(T) norm1(x) u) < 30; with X known, error
 * * rcond / u < 30 [lapack1999]; omega1 + omega2 <= 10 u after two steps of refinement [arioli1989]. Systems: every
 * pattern of the oracle, data/, random factor sets. */
#include <complex.h>

#include "support/conformance_subjects.h"
#include "support/oracle.h"
#include "support/solver.h"
#include "core/refine/refine_case.h"

#include <sptrsm_io.h>
#include <sptrsm_refine.h>

TestSuite(promises, .init = open_context, .fini = close_context);

enum { PROMISED = 30, COLUMNS = 3, ORDER = 129 };

static const char *const sets[][2] = {{SPTRSM_DATA "/add32_splu.h5", SPTRSM_DATA "/add32_rhs.h5"},
                                      {SPTRSM_DATA "/circuit_2_splu.h5", SPTRSM_DATA "/circuit_2_rhs.h5"},
                                      {SPTRSM_DATA "/sherman5_splu.h5", SPTRSM_DATA "/sherman5_rhs.h5"}};
enum { SETS = sizeof sets / sizeof sets[0] };

static double largest(double most, double value) { return isnan(most) || value <= most ? most : value; }

/* ---- op(M) x in long double, M any square matrix ---- */

static double complex entry(const sptrsm_block *X, int64_t i, int64_t k) {
  return get(X->data, X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld, X->dtype);
}

static void store(const sptrsm_block *X, int64_t i, int64_t k, double complex v) {
  put(X->data, X->layout == SPTRSM_ROW_MAJOR ? i * X->ld + k : i + k * X->ld, X->dtype, v);
}

/* Calls visit(where, i, j, value) for all entries of op(M). */
static void for_entries(const sptrsm_sparse *M, sptrsm_op op, void (*visit)(void *, int32_t, int32_t, double complex), void *where) {
  bool lines_are_rows = (M->format == SPTRSM_CSR) == (op == SPTRSM_N);
  for (int32_t line = 0; line < M->n; line++) {
    for (int64_t p = M->ptr[line]; p < M->ptr[line + 1]; p++) {
      int32_t other = M->idx[p];
      double complex v = get(M->val, p, M->dtype);
      if (M->diag == SPTRSM_UNIT && other == line) continue;
      visit(where, lines_are_rows ? line : other, lines_are_rows ? other : line, op == SPTRSM_C ? conj(v) : v);
    }
    if (M->diag == SPTRSM_UNIT) visit(where, line, line, 1);
  }
}

typedef struct {
  const sptrsm_block *X;
  int64_t k;
  long double complex *y;
  double *size, *row; /* |op(M)| |x|, and the greatest entry of each row */
} sums;

static void add_to_sums(void *where, int32_t i, int32_t j, double complex v) {
  sums *s = where;
  double complex x = entry(s->X, j, s->k);
  s->y[i] += (long double complex)v * x;
  s->size[i] += cabs(v) * cabs(x);
  s->row[i] = largest(s->row[i], cabs(v));
}

static sums multiply(const sptrsm_sparse *M, sptrsm_op op, const sptrsm_block *X, int64_t k) {
  size_t n = (size_t)M->n + 1;
  sums s = {X, k, calloc(n, sizeof *s.y), calloc(n, sizeof *s.size), calloc(n, sizeof *s.row)};
  cr_assert(s.y && s.size && s.row);
  for_entries(M, op, add_to_sums, &s);
  return s;
}

static void free_sums(sums *s) {
  free(s->y);
  free(s->size);
  free(s->row);
}

static void add_to_column(void *where, int32_t i, int32_t j, double complex v) {
  (void)i;
  ((double *)where)[j] += cabs(v);
}

/* The largest of the sums of magnitudes down the columns. */
static double norm1(const sptrsm_sparse *M, sptrsm_op op) {
  double *sum = calloc((size_t)M->n + 1, sizeof *sum), most = 0;
  cr_assert(sum);
  for_entries(M, op, add_to_column, sum);
  for (int32_t j = 0; j < M->n; j++) most = largest(most, sum[j]);
  free(sum);
  return most;
}

static double norm1_of_column(const sptrsm_block *X, int64_t k) {
  double sum = 0;
  for (int64_t i = 0; i < X->n; i++) sum += cabs(entry(X, i, k));
  return sum;
}

/* ---- norm1(r) / (norm1(T) norm1(x) u) ---- */

static double residual_ratio(const sptrsm_sparse *M, sptrsm_op op, const sptrsm_block *B, const sptrsm_block *X) {
  double most = 0, norm = norm1(M, op) * u_of(M->dtype);
  for (int64_t k = 0; k < X->nrhs; k++) {
    sums s = multiply(M, op, X, k);
    double r = 0, x = norm1_of_column(X, k);
    for (int64_t i = 0; i < X->n; i++) r += (double)cabsl(s.y[i] - entry(B, i, k));
    most = largest(most, r == 0 ? 0 : r / (norm * x));
    free_sums(&s);
  }
  return most;
}

/* ---- error * rcond / u ---- */

/* X of small whole numbers, and B = op(M) X, rounded. */
static void known_solution(const sptrsm_sparse *M, sptrsm_op op, const sptrsm_block *B, const sptrsm_block *X) {
  for (int64_t k = 0; k < X->nrhs; k++) {
    for (int64_t i = 0; i < X->n; i++)
      store(X, i, k, CMPLX((double)((7 * i + 3 * k) % 19 - 9), is_complex(X->dtype) ? (double)(i % 5) : 0));
    sums s = multiply(M, op, X, k);
    for (int64_t i = 0; i < X->n; i++) store(B, i, k, (double complex)s.y[i]);
    free_sums(&s);
  }
}

/* The error of the worst column, in the 1-norm and in the maximum norm, whichever is larger. */
static double error_of(const sptrsm_block *X, const sptrsm_block *truth) {
  double most = 0;
  for (int64_t k = 0; k < X->nrhs; k++) {
    double sum = 0, sum_true = 0, greatest = 0, greatest_true = 0;
    for (int64_t i = 0; i < X->n; i++) {
      double wrong = cabs(entry(X, i, k) - entry(truth, i, k)), size = cabs(entry(truth, i, k));
      sum += wrong, sum_true += size;
      greatest = largest(greatest, wrong), greatest_true = largest(greatest_true, size);
    }
    most = largest(largest(most, sum / sum_true), greatest / greatest_true);
  }
  return most;
}

/* ---- triangles, by every method of the host ---- */

static void solve_triangle(const sptrsm_sparse *T, sptrsm_op op, const char *method, const sptrsm_block *B, sptrsm_block *X) {
  test_solve(T, &(test_choice){.method = method, .op = op, .mode = SPTRSM_BORROW}, B, X);
}

/* norm1 of the inverse, from its columns. */
static double norm1_of_inverse(const sptrsm_sparse *T, sptrsm_op op) {
  test_block E = test_block_make(T->n, T->n, T->dtype, SPTRSM_ROW_MAJOR, 0), X = test_block_make(T->n, T->n, T->dtype, SPTRSM_ROW_MAJOR, 0);
  double most = 0;
  for (int32_t i = 0; i < T->n; i++)
    for (int32_t k = 0; k < T->n; k++) test_block_set(&E, i, k, i == k, 0);
  solve_triangle(T, op, "serial", &E.block, &X.block);
  for (int32_t k = 0; k < T->n; k++) most = largest(most, norm1_of_column(&X.block, k));
  test_block_free(&E);
  test_block_free(&X);
  return most;
}

typedef struct {
  double residual, error;
} ratios;

/* Random right-hand sides; where the inverse is asked for, also those of a known solution. */
static ratios judge_triangle(const sptrsm_sparse *T, sptrsm_op op, const char *method, bool invert) {
  ratios out = {0};
  test_block B = test_block_make(T->n, COLUMNS, T->dtype, SPTRSM_ROW_MAJOR, 1),
             X = test_block_make(T->n, COLUMNS, T->dtype, SPTRSM_COL_MAJOR, 2);
  test_block truth = test_block_make(T->n, COLUMNS, T->dtype, SPTRSM_COL_MAJOR, 0);
  test_block_fill(&B, 17);
  solve_triangle(T, op, method, &B.block, &X.block);
  out.residual = residual_ratio(T, op, &B.block, &X.block);
  if (invert) {
    known_solution(T, op, &B.block, &truth.block);
    solve_triangle(T, op, method, &B.block, &X.block);
    out.error = error_of(&X.block, &truth.block) / (norm1(T, op) * norm1_of_inverse(T, op) * u_of(T->dtype));
    out.residual = largest(out.residual, residual_ratio(T, op, &B.block, &X.block));
  }
  test_block_free(&B);
  test_block_free(&X);
  test_block_free(&truth);
  return out;
}

static void check(ratios r, const char *method, const char *what, int type, int op) {
  cr_assert(r.residual < PROMISED, "%s, %s, type %d, op %d: residual %g", method, what, type, op, r.residual);
  cr_assert(r.error < PROMISED, "%s, %s, type %d, op %d: error %g", method, what, type, op, r.error);
}

ParameterizedTestParameters(promises, triangles_of_every_shape) { return conformance_subjects(SPTRSM_HOST, false); }

ParameterizedTest(subject *s, promises, triangles_of_every_shape) {
  for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
    for (int type = 0; type < 4; type++) {
      int turn = pattern + type; /* formats, sides and diagonals take turns */
      test_system T = test_system_make((test_pattern)pattern, ORDER, turn % 2 ? SPTRSM_CSR : SPTRSM_CSC, (sptrsm_dtype)type,
                                       turn % 3 ? SPTRSM_LOWER : SPTRSM_UPPER, turn % 5 == 4 ? TEST_UNIT_STORED : TEST_NONUNIT, 5);
      for (int op = SPTRSM_N; op <= SPTRSM_C; op++)
        check(judge_triangle(&T.T, (sptrsm_op)op, s->name, true), s->name, test_pattern_names[pattern], type, op);
      test_system_free(&T);
    }
}

static sptrsm_file_factors *load_set(int set, sptrsm_dtype type) {
  sptrsm_file_factors *F;
  sptrsm_io_options o;
  sptrsm_io_options_init(&o);
  o.dtype = (int)type;
  OK(sptrsm_file_factors_load(&F, sets[set][0], &o));
  return F;
}

ParameterizedTestParameters(promises, triangles_of_real_factors) { return conformance_subjects(SPTRSM_HOST, false); }

ParameterizedTest(subject *s, promises, triangles_of_real_factors) {
  for (int set = 0; set < SETS; set++)
    for (int type = 0; type < 4; type++) {
      sptrsm_file_factors *F = load_set(set, (sptrsm_dtype)type);
      sptrsm_op op = (sptrsm_op)((set + type) % 3);
      check(judge_triangle(&F->L_tri, op, s->name, false), s->name, F->L->where, type, (int)op);
      check(judge_triangle(&F->U_tri, op, s->name, false), s->name, F->U->where, type, (int)op);
      sptrsm_file_factors_free(F);
    }
}

/* ---- factor sets ---- */

static sptrsm_sparse matrix_of(const sptrsm_file_matrix *A) {
  cr_assert_eq(A->symmetry, SPTRSM_GENERAL);
  return (sptrsm_sparse){
      .format = A->format, .dtype = A->dtype, .diag = SPTRSM_NONUNIT, .n = (int32_t)A->rows, .ptr = A->ptr, .idx = A->idx, .val = A->val};
}

/* norm1 of A^-1, from some of its columns at a time. */
static double norm1_of_solved(sptrsm_direct *d, int32_t n, sptrsm_dtype type) {
  enum { WIDTH = 64 };
  test_block E = test_block_make(n, WIDTH, type, SPTRSM_ROW_MAJOR, 0), X = test_block_make(n, WIDTH, type, SPTRSM_ROW_MAJOR, 0);
  double most = 0;
  for (int32_t first = 0; first < n; first += WIDTH) {
    for (int32_t i = 0; i < n; i++)
      for (int32_t k = 0; k < WIDTH; k++) test_block_set(&E, i, k, i == first + k, 0);
    OK(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &E.block, &X.block));
    for (int32_t k = 0; k < WIDTH; k++) most = largest(most, norm1_of_column(&X.block, k));
  }
  test_block_free(&E);
  test_block_free(&X);
  return most;
}

Test(promises, known_solutions_of_real_systems) {
  for (int set = 0; set < SETS; set++) {
    sptrsm_file_factors *F = load_set(set, SPTRSM_F64);
    sptrsm_file_block *B, *truth;
    sptrsm_direct *d;
    char where[256];
    snprintf(where, sizeof where, "%s:/X_true", sets[set][1]);
    OK(sptrsm_file_block_load(&truth, where, F->L_tri.n, NULL));
    snprintf(where, sizeof where, "%s:/B", sets[set][1]);
    OK(sptrsm_file_block_load(&B, where, F->L_tri.n, NULL));
    test_block X = test_block_make(F->L_tri.n, B->block.nrhs, SPTRSM_F64, SPTRSM_COL_MAJOR, 0);
    OK(sptrsm_direct_create(&d, context, &F->factors, NULL));
    OK(sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, &B->block, &X.block));
    sptrsm_sparse A = matrix_of(F->A);
    double rcond = 1 / (norm1(&A, SPTRSM_N) * norm1_of_solved(d, A.n, SPTRSM_F64));
    double ratio = error_of(&X.block, &truth->block) * rcond / u_of(SPTRSM_F64);
    cr_assert(rcond < 1 && ratio < PROMISED, "%s: rcond %g, error * rcond / u = %g", sets[set][0], rcond, ratio);
    test_block_free(&X);
    sptrsm_direct_destroy(d);
    sptrsm_file_block_free(B);
    sptrsm_file_block_free(truth);
    sptrsm_file_factors_free(F);
  }
}

/* omega1 + omega2 of the worst column: componentwise where |A| |x| + |b| is not tiny, else against the size of row
 * and x. */
static double omegas(const sptrsm_sparse *A, sptrsm_op op, const sptrsm_block *B, const sptrsm_block *X) {
  double most = 0, eps = 2 * u_of(A->dtype);
  for (int64_t k = 0; k < X->nrhs; k++) {
    double omega[2] = {0, 0}, x = 0;
    for (int64_t i = 0; i < X->n; i++) x = largest(x, cabs(entry(X, i, k)));
    sums s = multiply(A, op, X, k);
    for (int64_t i = 0; i < X->n; i++) {
      double b = cabs(entry(B, i, k)), r = (double)cabsl(s.y[i] - entry(B, i, k)), size = s.size[i] + b;
      bool tiny = size <= 1000 * (double)X->n * eps * (s.row[i] * x + b);
      if (tiny) size = s.size[i] + s.row[i] * x;
      omega[tiny] = largest(omega[tiny], r == 0 ? 0 : r / size);
    }
    most = largest(most, omega[0] + omega[1]);
    free_sums(&s);
  }
  return most;
}

static void check_two_steps(sptrsm_direct *d, const sptrsm_sparse *A, const char *what) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_At, SPTRSM_SYS_Aat};
  test_block B = test_block_make(A->n, COLUMNS, A->dtype, SPTRSM_ROW_MAJOR, 0),
             X = test_block_make(A->n, COLUMNS, A->dtype, SPTRSM_COL_MAJOR, 1);
  test_block_fill(&B, 29);
  for (int op = 0; op < 3; op++) { /* ' is C, .' is T */
    int32_t steps[COLUMNS];
    sptrsm_refine_options options;
    sptrsm_refine_options_init(&options);
    options.solve = 1;
    options.max_steps = 2;
    sptrsm_refine_result result = {.size = sizeof result, .steps = steps};
    OK(sptrsm_direct_refine(d, systems[op], SPTRSM_N, NULL, &B.block, &X.block, &options, &result));
    double sum = omegas(A, op == 0 ? SPTRSM_N : op == 1 ? SPTRSM_C : SPTRSM_T, &B.block, &X.block);
    cr_assert(sum <= 10 * u_of(A->dtype), "%s, type %d, system %d: omega1 + omega2 = %g u", what, A->dtype, op, sum / u_of(A->dtype));
    for (int k = 0; k < COLUMNS; k++) cr_assert(steps[k] <= 2, "%s: %d steps", what, steps[k]);
  }
  test_block_free(&B);
  test_block_free(&X);
}

Test(promises, two_steps_of_refinement_on_real_sets) {
  for (int set = 0; set < SETS; set++)
    for (int type = 0; type < 4; type++) {
      sptrsm_file_factors *F = load_set(set, (sptrsm_dtype)type);
      sptrsm_sparse A = matrix_of(F->A);
      sptrsm_direct *d;
      OK(sptrsm_direct_create(&d, context, &F->factors, NULL));
      OK(sptrsm_direct_set_original(
          d, &(sptrsm_square){.format = A.format, .dtype = A.dtype, .n = A.n, .ptr = A.ptr, .idx = A.idx, .val = A.val}));
      check_two_steps(d, &A, sets[set][0]);
      sptrsm_direct_destroy(d);
      sptrsm_file_factors_free(F);
    }
}

Test(promises, two_steps_of_refinement_on_sets_of_every_kind) {
  static factor_set s;
  static original A;
  for (int r = 0; r < RECIPES; r++)
    for (int type = 0; type < 4 && recipes[r].has_U; type++) {
      build(&s, &A, &recipes[r], (sptrsm_dtype)type, r % 2 ? SPTRSM_CSR : SPTRSM_CSC, 0);
      sptrsm_sparse M = {
          .format = A.A.format, .dtype = A.A.dtype, .diag = SPTRSM_NONUNIT, .n = N, .ptr = A.ptr, .idx = A.idx, .val = A.val};
      sptrsm_direct *d = create(&s, &A, SPTRSM_WORKING, 0);
      check_two_steps(d, &M, recipes[r].name);
      sptrsm_direct_destroy(d);
    }
}
