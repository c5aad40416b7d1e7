/* stencil.c -- stencils on grids through the public interface: recognised on the host, and found by name; with STENCIL_ON_GPU also named in
 * the options of a plan, solved and refused by structgrid. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>
#include <sptrsm_inspect.h>

#include "core/stencil/stencil.h"
#include "support/solver.h"

typedef struct {
  const char *name;
  int64_t grid[3];
} problem;

static const problem problems[] = {{"D2N5", {7, 5, 1}},  {"D2N9", {40, 37, 1}}, {"D3N7", {33, 5, 4}},
                                   {"D3N13", {6, 5, 4}}, {"D3N27", {9, 40, 5}}, {"D3N33", {5, 35, 6}}};
enum { PROBLEMS = sizeof problems / sizeof problems[0] };

static bool near_by(const char *name, int64_t x, int64_t y, int64_t z) {
  const int64_t distance = llabs(x) + llabs(y) + llabs(z);
  const bool cube = strstr("D2N9 D3N27 D3N33", name) != NULL, far = strcmp(name, "D3N13") == 0 || strcmp(name, "D3N33") == 0;
  if (llabs(x) <= 1 && llabs(y) <= 1 && llabs(z) <= 1) return cube || distance <= 1;
  return far && distance == 2;
}

/* A triangle of the problem in the caller's arrays; the entry between rows 0 and 1 has value `first`. */
typedef struct {
  sptrsm_sparse T;
  int64_t *ptr;
  int32_t *idx;
  double *val;
} triangle;

static triangle make(const problem *p, sptrsm_uplo uplo, sptrsm_format format) {
  const int64_t X = p->grid[0], Y = p->grid[1], n = X * Y * p->grid[2];
  const bool before = (uplo == SPTRSM_LOWER) == (format == SPTRSM_CSR); /* entries of a line stand before the diagonal */
  triangle t = {.ptr = calloc((size_t)n + 1, sizeof *t.ptr),
                .idx = calloc(17 * (size_t)n, sizeof *t.idx),
                .val = calloc(17 * (size_t)n, sizeof *t.val)};
  int64_t at = 0;
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = before ? 0 : i; j <= (before ? i : n - 1); j++) {
      if (i != j && !near_by(p->name, i % X - j % X, i / X % Y - j / X % Y, i / (X * Y) - j / (X * Y))) continue;
      t.idx[at] = (int32_t)j;
      t.val[at++] = i == j ? 20 : -0.125 * (double)(1 + (i + j) % 5);
    }
    t.ptr[i + 1] = at;
  }
  t.T = (sptrsm_sparse){format, SPTRSM_F64, uplo, SPTRSM_NONUNIT, SPTRSM_HOST, (int32_t)n, t.ptr, t.idx, t.val};
  return t;
}

static void drop(triangle *t) { free(t->ptr), free(t->idx), free(t->val); }

#ifndef STENCIL_ON_GPU

Test(stencil, is_recognised) {
  sptrsm_context *context;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  for (int c = 0; c < 4 * PROBLEMS; c++) {
    const problem *p = &problems[c / 4];
    triangle t = make(p, (sptrsm_uplo)(c % 2), (sptrsm_format)(c / 2 % 2));
    sptrsm_matrix *matrix;
    char stencil[16];
    int64_t grid[3];
    cr_assert_eq(sptrsm_matrix_create(&matrix, context, &t.T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_matrix_stencil(stencil, grid, matrix), SPTRSM_OK);
    cr_expect_str_eq(stencil, p->name);
    cr_expect_arr_eq(grid, p->grid, sizeof grid);
    sptrsm_matrix_destroy(matrix);
    drop(&t);
  }
  sptrsm_context_destroy(context);
}

/* One entry outside the stencil, far from the last row, from which the stencil is guessed. */
Test(stencil, one_strange_row_is_enough) {
  const int64_t ptr[] = {0, 1, 3, 5, 7, 10, 13, 15, 18, 21};
  const int32_t good[] = {0, 0, 1, 1, 2, 0, 3, 1, 3, 4, 2, 4, 5, 3, 6, 4, 6, 7, 5, 7, 8};
  int32_t idx[21];
  double val[21];
  char stencil[16];
  int64_t grid[3];
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
  for (int strange = 0; strange < 2; strange++) {
    memcpy(idx, good, sizeof idx);
    for (int e = 0; e < 21; e++) val[e] = 1;
    if (strange) idx[3] = 0; /* (2,0) needs (0,0) */
    const sptrsm_sparse T = {SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 9, ptr, idx, val};
    cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_matrix_stencil(stencil, grid, matrix), SPTRSM_OK);
    cr_expect_str_eq(stencil, strange ? "" : "D2N5");
    cr_expect_eq(grid[0], strange ? 0 : 3);
    sptrsm_matrix_destroy(matrix);
  }
  cr_expect_eq(sptrsm_matrix_stencil(stencil, grid, NULL), SPTRSM_ERR_ARGUMENT);
  sptrsm_context_destroy(context);
}

/* By name, as structgrid is told of it. */
Test(stencil, has_a_name_and_as_many_points_as_rows) {
  static const struct {
    const char *name, *text; /* text: NULL if the grid is that of the stencil */
    int64_t grid[3];
    int32_t n;
  } cases[] = {{"D2N5", NULL, {7, 5, 1}, 35},
               {"D3N33", NULL, {5, 35, 6}, 1050},
               {"D3N7", NULL, {INT32_MAX, 1, 1}, INT32_MAX},
               {"D3N13", NULL, {0, 5, 4}, 0},
               {"D2N9", "stencil D2N9 is for grids with Z = 1, not 2; use D3N7 or D3N27", {7, 5, 2}, 70},
               {"D3N7", "a grid of 7 x 5 x 2 has not 71 points, one for each row; mend grid", {7, 5, 2}, 71},
               {"D3N7", "a grid of 65536 x 65536 x 65536 has not 0 points", {65536, 65536, 65536}, 0},
               {"D3N7", "grid[1] is -5, outside 0..2147483647", {7, -5, -2}, 70},
               {"D3N7", "grid[2] is 2147483648, outside 0..2147483647", {1, 1, (int64_t)INT32_MAX + 1}, 70},
               {"D3N8", "unknown stencil \"D3N8\"; known are D2N5", {7, 5, 2}, 70}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    spti_stencil s = {.name = "untouched"};
    const sptrsm_status status = spti_stencil_named(&s, cases[c].name, cases[c].grid, cases[c].n);
    cr_assert_eq(status, cases[c].text ? SPTRSM_ERR_ARGUMENT : SPTRSM_OK, "case %zu: %s", c, sptrsm_last_error());
    cr_assert_str_eq(s.name, cases[c].text ? "untouched" : cases[c].name);
    if (cases[c].text) cr_assert(strstr(sptrsm_last_error(), cases[c].text), "case %zu: %s", c, sptrsm_last_error());
    for (int d = 0; d < 3 && !cases[c].text; d++) cr_assert_eq(s.grid[d], cases[c].grid[d]);
    if (!cases[c].text) cr_assert(s.far == (strcmp(s.name, "D3N33") == 0 || strcmp(s.name, "D3N13") == 0));
  }
}

#else

/* x of the ones for B = T * ones. */
static void expect_ones(const problem *p, const char *method, sptrsm_op op, int64_t nrhs, triangle *t) {
  const int32_t n = t->T.n;
  double *B = calloc((size_t)n * (size_t)nrhs, sizeof *B);
  for (int32_t line = 0; line < n; line++)
    for (int64_t e = t->ptr[line]; e < t->ptr[line + 1]; e++)
      for (int64_t k = 0; k < nrhs; k++)
        B[((t->T.format == SPTRSM_CSR) == (op == SPTRSM_N) ? line : t->idx[e]) * nrhs + k] += t->val[e] * (double)(k + 1);
  sptrsm_block X = {.data = B, .ld = nrhs, .n = n, .nrhs = nrhs, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
  const test_choice choice = {method, op, SPTRSM_CUDA, .stencil = p->name, .grid = {p->grid[0], p->grid[1], p->grid[2]}};
  test_solve(&t->T, &choice, &X, &X);
  for (int64_t i = 0; i < n * nrhs; i++)
    cr_assert_float_eq(B[i], (double)(i % nrhs + 1), 1e-10 * (double)nrhs, "%s %s: x[%lld] is %g", p->name, method, (long long)i, B[i]);
  free(B);
}

Test(gpu_stencil, structgrid_solves) {
  static const int64_t counts[] = {1, 2, 5, 32, 40};
  for (int c = 0; c < 20 * PROBLEMS; c++) {
    const problem *p = &problems[c / 20];
    triangle t = make(p, (sptrsm_uplo)(c % 2), (sptrsm_format)(c / 2 % 2));
    static const char *const methods[] = {"structgrid", "structgrid:layout=csr", "structgrid:tasks=pencils"};
    expect_ones(p, methods[c % 3], c % 5 ? SPTRSM_N : SPTRSM_T, counts[c % 20 / 4], &t);
    drop(&t);
  }
}

/* A matrix of another pattern is refused; the message names the first row that differs. */
Test(gpu_stencil, what_is_told_is_checked) {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_options options;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), SPTRSM_OK);
  triangle t = make(&problems[4], SPTRSM_LOWER, SPTRSM_CSR); /* D3N27 on 9 x 40 x 5 */
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &t.T, SPTRSM_COPY), SPTRSM_OK);
  sptrsm_options_init(&options);
  strcpy(options.stencil, "D3N7");
  memcpy(options.grid, problems[4].grid, sizeof options.grid);
  options.method = "structgrid";
  cr_expect_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_ERR_UNSUPPORTED);
  cr_expect(strstr(sptrsm_last_error(), "row 9 has an entry"), "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(matrix);
  drop(&t);
  sptrsm_context_destroy(context);
}

#endif
