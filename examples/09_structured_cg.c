/* 09_structured_cg.c -- conjugate gradients on the 7-point Laplacian of a grid, preconditioned by its incomplete factors ILU(0).
 *
 * Each step of the method solves with L and with U once: two triangles that are stencils on the grid. On a GPU `structgrid`, which is
 * told the stencil and the grid, solves with them after a check of the pattern, without any other analysis. Factors, product and dot
 * products are plain loops here.
 */
#include <sptrsm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call)                                                                                                                        \
  do {                                                                                                                                     \
    if ((call) != SPTRSM_OK) {                                                                                                             \
      fprintf(stderr, "%s\n", sptrsm_last_error());                                                                                        \
      exit(1);                                                                                                                             \
    }                                                                                                                                      \
  } while (0)

enum { X = 24, Y = 20, Z = 16, N = X * Y * Z, ROW = 7 };

/* Compressed rows; each array has room for 7 entries a row. */
typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[ROW * N];
  double val[ROW * N];
} matrix;

static matrix A, L, U;
static double b[N], x[N], r[N], p[N], z[N], y[N], product[N];

static void add(matrix *M, int32_t column, double value) {
  const int64_t at = M->ptr[N]++; /* the last pointer counts while rows are appended */
  M->idx[at] = column;
  M->val[at] = value;
}

/* Row i = x + y X + z X Y; columns ascending. */
static void assemble(void) {
  A.ptr[N] = 0;
  for (int32_t i = 0; i < N; i++) {
    const int32_t at_x = i % X, at_y = i / X % Y, at_z = i / (X * Y);
    A.ptr[i] = A.ptr[N];
    if (at_z > 0) add(&A, i - X * Y, -1);
    if (at_y > 0) add(&A, i - X, -1);
    if (at_x > 0) add(&A, i - 1, -1);
    add(&A, i, 6);
    if (at_x < X - 1) add(&A, i + 1, -1);
    if (at_y < Y - 1) add(&A, i + X, -1);
    if (at_z < Z - 1) add(&A, i + X * Y, -1);
  }
}

/* Address of entry (i,j) of M; NULL if it is not stored. */
static double *entry(matrix *M, int32_t i, int32_t j) {
  for (int64_t e = M->ptr[i]; e < M->ptr[i + 1]; e++)
    if (M->idx[e] == j) return &M->val[e];
  return NULL;
}

/* Row i of F takes entry e times row k off, in its own pattern. */
static void eliminate(matrix *F, int32_t i, int64_t e, int32_t k) {
  for (int64_t q = F->ptr[k]; q < F->ptr[k + 1]; q++) {
    double *into = F->idx[q] > k ? entry(F, i, F->idx[q]) : NULL;
    if (into) *into -= F->val[e] * F->val[q];
  }
}

/* Gaussian elimination that keeps the pattern of A: F = L - I + U, L with a unit diagonal that is not stored. */
static void factorise(void) {
  static matrix F;
  F = A;
  for (int32_t i = 0; i < N; i++)
    for (int64_t e = F.ptr[i]; F.idx[e] < i; e++) {
      const int32_t k = F.idx[e];
      F.val[e] /= *entry(&F, k, k);
      eliminate(&F, i, e, k);
    }
  for (int32_t i = 0; i < N; i++) {
    L.ptr[i] = L.ptr[N];
    U.ptr[i] = U.ptr[N];
    for (int64_t e = F.ptr[i]; e < F.ptr[i + 1]; e++) add(F.idx[e] < i ? &L : &U, F.idx[e], F.val[e]);
  }
}

static sptrsm_plan *make_plan(sptrsm_context *context, const char *method, const matrix *M, sptrsm_uplo uplo, sptrsm_diag diag) {
  const sptrsm_sparse T = {.format = SPTRSM_CSR,
                           .dtype = SPTRSM_F64,
                           .uplo = uplo,
                           .diag = diag,
                           .place = SPTRSM_HOST,
                           .n = N,
                           .ptr = M->ptr,
                           .idx = M->idx,
                           .val = M->val};
  sptrsm_matrix *triangle;
  sptrsm_plan *plan;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.nrhs_hint = 1;
  snprintf(options.stencil, sizeof options.stencil, "D3N7");
  options.grid[0] = X, options.grid[1] = Y, options.grid[2] = Z;
  CHECK(sptrsm_matrix_create(&triangle, context, &T, SPTRSM_COPY));
  CHECK(sptrsm_plan_create(&plan, triangle, &options));
  sptrsm_matrix_destroy(triangle); /* the plan keeps it */
  return plan;
}

static void solve(const sptrsm_plan *plan, double *from, double *to) {
  const sptrsm_block B = {.data = from, .ld = 1, .n = N, .nrhs = 1, .dtype = SPTRSM_F64};
  sptrsm_block S = {.data = to, .ld = 1, .n = N, .nrhs = 1, .dtype = SPTRSM_F64};
  CHECK(sptrsm_solve(plan, NULL, NULL, &B, &S));
}

static double dot(const double *v, const double *w) {
  double sum = 0;
  for (int32_t i = 0; i < N; i++) sum += v[i] * w[i];
  return sum;
}

static void multiply(double *to, const double *v) {
  for (int32_t i = 0; i < N; i++) {
    to[i] = 0;
    for (int64_t e = A.ptr[i]; e < A.ptr[i + 1]; e++) to[i] += A.val[e] * v[A.idx[e]];
  }
}

/* Iterates until the residual is small; returns the number of steps. lower and upper NULL: without a preconditioner. */
static int conjugate_gradients(const sptrsm_plan *lower, const sptrsm_plan *upper) {
  double rz = 0, size = sqrt(dot(b, b));
  int step = 0;
  for (int32_t i = 0; i < N; i++) x[i] = p[i] = 0, r[i] = b[i];
  for (; step < 500 && !(sqrt(dot(r, r)) <= 1e-10 * size); step++) {
    const double before = rz;
    for (int32_t i = 0; i < N; i++) z[i] = r[i];
    if (lower) solve(lower, r, y), solve(upper, y, z); /* z = U^-1 L^-1 r */
    rz = dot(r, z);
    for (int32_t i = 0; i < N; i++) p[i] = z[i] + (step > 0 ? rz / before : 0) * p[i];
    multiply(product, p);
    const double alpha = rz / dot(p, product);
    for (int32_t i = 0; i < N; i++) x[i] += alpha * p[i], r[i] -= alpha * product[i];
  }
  return step;
}

int main(void) {
  sptrsm_context *context;
  sptrsm_info info = {.size = sizeof info};
  const int on_gpu = sptrsm_device_count() > 0;
  const char *method = on_gpu ? "structgrid" : "auto";
  CHECK(sptrsm_context_create(&context, on_gpu ? SPTRSM_CUDA : SPTRSM_HOST, 0, NULL));
  assemble();
  factorise();
  sptrsm_plan *lower = make_plan(context, method, &L, SPTRSM_LOWER, SPTRSM_UNIT);
  sptrsm_plan *upper = make_plan(context, method, &U, SPTRSM_UPPER, SPTRSM_NONUNIT);
  CHECK(sptrsm_plan_info(&info, lower));
  for (int32_t i = 0; i < N; i++) b[i] = 1 + i % 7;
  const int plain = conjugate_gradients(NULL, NULL), with_factors = conjugate_gradients(lower, upper);
  multiply(product, x);
  double error = 0;
  for (int32_t i = 0; i < N; i++) error = fmax(error, fabs(product[i] - b[i]));
  printf("%d unknowns, method %s, analysis %.2f ms\n", N, info.method, 1e3 * info.analysis_seconds);
  printf("steps: %d plain, %d with ILU(0); largest residual %.1e\n", plain, with_factors, error);
  sptrsm_plan_destroy(lower);
  sptrsm_plan_destroy(upper);
  sptrsm_context_destroy(context);
  return error <= 1e-7 && with_factors < plain ? 0 : 1;
}
