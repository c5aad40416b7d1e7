/* ownership.c -- who owns what: copied and borrowed arrays, new values, workspaces and their memory, the order of
 * destruction. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>

#include "core/matrix/matrix.h"

/* A band of half-width 3, lower, CSR. */
enum { N = 60, WIDTH = 4, NRHS = 24 };

typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[N * WIDTH];
  double val[N * WIDTH];
  sptrsm_sparse T;
} band;

static band A;
static sptrsm_context *context;
static double right[N * NRHS];

static void open_all(void) {
  int64_t p = 0;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = i < WIDTH ? 0 : i - WIDTH + 1; j <= i; j++) {
      A.idx[p] = j;
      A.val[p++] = i == j ? 2 + i % 3 : 0.125 * (1 + (i + 2 * j) % 5);
    }
    A.ptr[i + 1] = p;
  }
  A.T = (sptrsm_sparse){.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = A.ptr, .idx = A.idx, .val = A.val};
  for (int i = 0; i < N * NRHS; i++) right[i] = 1 + i % 11;
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
}

static void close_all(void) { sptrsm_context_destroy(context); }
TestSuite(ownership, .init = open_all, .fini = close_all);

static sptrsm_matrix *make_matrix(sptrsm_copy_mode mode) {
  sptrsm_matrix *m;
  cr_assert_eq(sptrsm_matrix_create(&m, context, &A.T, mode), SPTRSM_OK, "%s", sptrsm_last_error());
  return m;
}

static sptrsm_plan *make_plan(const sptrsm_matrix *m, const char *method, sptrsm_op op, size_t limit) {
  sptrsm_plan *p;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  options.memory_limit = limit;
  cr_assert_eq(sptrsm_plan_create(&p, m, &options), SPTRSM_OK, "%s: %s", method, sptrsm_last_error());
  return p;
}

static void solve(const sptrsm_plan *p, sptrsm_workspace *w, double *x) {
  sptrsm_block B = {.data = right, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64}, X = B;
  X.data = x;
  sptrsm_status status = sptrsm_solve(p, w, NULL, &B, &X);
  cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error());
}

/* The bits that a fresh matrix with these values gives. */
static void solve_fresh(const char *method, sptrsm_op op, double *x) {
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  sptrsm_plan *p = make_plan(m, method, op, 0);
  solve(p, NULL, x);
  sptrsm_plan_destroy(p);
  sptrsm_matrix_destroy(m);
}

/* Calls body(method) for every method that works on the host. */
static void for_each_method(void (*body)(const char *)) {
  int count = 0;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place == SPTRSM_HOST) body(info.name), count++;
  }
  cr_assert_gt(count, 0);
}

static double x[N * NRHS], y[N * NRHS], z[N * NRHS];

/* ---- values ---- */

static void copies_and_borrows(const char *method) {
  if (strcmp(method, "serial") != 0) return; /* the one method known to read values in place */
  sptrsm_matrix *copied = make_matrix(SPTRSM_COPY), *borrowed = make_matrix(SPTRSM_BORROW);
  sptrsm_plan *p = make_plan(copied, method, SPTRSM_N, 0), *q = make_plan(borrowed, method, SPTRSM_N, 0);
  solve(p, NULL, x);
  A.val[1] += 1; /* a caller must not do this; it shows who reads the array */
  solve(p, NULL, y);
  cr_assert(memcmp(x, y, sizeof x) == 0, "COPY follows the caller's array");
  solve(q, NULL, z);
  cr_assert(memcmp(x, z, sizeof x) != 0, "BORROW made a copy");
  static double other[N * WIDTH];
  memcpy(other, A.val, sizeof other);
  other[2] += 1;
  cr_assert_eq(sptrsm_matrix_set_values(borrowed, other), SPTRSM_OK, "%s", sptrsm_last_error());
  solve(q, NULL, x);
  A.val[4] += 1; /* the library must not read the old array any more */
  solve(q, NULL, y);
  cr_assert(memcmp(x, y, sizeof x) == 0, "the array that was borrowed first is still read");
  other[5] += 1;
  solve(q, NULL, y);
  cr_assert(memcmp(x, y, sizeof x) != 0, "set_values did not borrow the new array");
  sptrsm_plan_destroy(p);
  sptrsm_plan_destroy(q);
  sptrsm_matrix_destroy(copied);
  sptrsm_matrix_destroy(borrowed);
}

Test(ownership, copy_copies_and_borrow_borrows) { for_each_method(copies_and_borrows); }

static void new_values(const char *method) {
  for (int op = SPTRSM_N; op <= SPTRSM_C; op++)
    for (int mode = SPTRSM_COPY; mode <= SPTRSM_BORROW; mode++) {
      open_all(); /* with the first values; the matrices retain the context */
      sptrsm_matrix *m = make_matrix((sptrsm_copy_mode)mode);
      sptrsm_plan *gone = make_plan(m, method, SPTRSM_T, 0), *p = make_plan(m, method, (sptrsm_op)op, 0);
      sptrsm_plan_destroy(gone); /* the matrix must not call it again */
      static double other[N * WIDTH];
      for (int v = 0; v < N * WIDTH; v++) other[v] = A.val[v] * (1 + 0.25 * (v % 3));
      cr_assert_eq(sptrsm_matrix_set_values(m, other), SPTRSM_OK, "%s: %s", method, sptrsm_last_error());
      solve(p, NULL, x);
      memcpy(A.val, other, sizeof other);
      solve_fresh(method, (sptrsm_op)op, y);
      cr_assert(memcmp(x, y, sizeof x) == 0, "%s, op %d, mode %d: new values differ from a fresh matrix", method, op, mode);
      other[A.ptr[7] - 1] = 0;
      static double bad[N * WIDTH];
      memcpy(bad, other, sizeof bad);
      other[A.ptr[7] - 1] = A.val[A.ptr[7] - 1];
      cr_assert_eq(sptrsm_matrix_set_values(m, bad), SPTRSM_ERR_SINGULAR);
      cr_assert(strstr(sptrsm_last_error(), "(6,6) is zero"), "%s", sptrsm_last_error());
      solve(p, NULL, y);
      cr_assert(memcmp(x, y, sizeof x) == 0, "%s: refused values were taken", method);
      sptrsm_plan_destroy(p);
      sptrsm_matrix_destroy(m);
      sptrsm_context_destroy(context);
    }
}

Test(ownership, new_values_equal_a_fresh_matrix) {
  close_all();
  for_each_method(new_values);
  open_all();
}

/* A copied matrix judges the diagonal of new values by its own arrays, since the caller's may be gone. */
Test(ownership, new_values_of_a_matrix_whose_arrays_are_gone) {
  int64_t *ptr = malloc(sizeof A.ptr);
  memcpy(ptr, A.ptr, sizeof A.ptr);
  A.T.ptr = ptr;
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  for (int i = 0; i <= N; i++) ptr[i] = 0;
  free(ptr);
  cr_assert_eq(sptrsm_matrix_set_values(m, A.val), SPTRSM_OK, "%s", sptrsm_last_error());
  A.val[A.ptr[7] - 1] = 0;
  cr_assert_eq(sptrsm_matrix_set_values(m, A.val), SPTRSM_ERR_SINGULAR);
  cr_assert(strstr(sptrsm_last_error(), "(6,6) is zero"), "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(m);
}

/* A write to these arrays would end the program. */
Test(ownership, arrays_that_are_lent_are_not_written) {
  static const int64_t ptr[] = {0, 1, 2};
  static const int32_t idx[] = {0, 1};
  static const double values[2][2] = {{2, 4}, {8, 16}};
  const sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = 2, .ptr = ptr, .idx = idx, .val = values[0]};
  sptrsm_matrix *m;
  cr_assert_eq(sptrsm_matrix_create(&m, context, &T, SPTRSM_BORROW), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_set_values(m, values[1]), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(m);
}

/* Only some lines store their unit diagonal: the matrix drops it, but new values still have the caller's order. */
Test(ownership, new_values_where_some_unit_diagonals_are_stored) {
  int64_t p = 0, q = 0;
  for (int32_t i = 0; i < N; i++) {
    for (; p < A.ptr[i + 1]; p++) {
      if (A.idx[p] == i && i % 2) continue;
      A.idx[q] = A.idx[p];
      A.val[q] = A.idx[p] == i ? NAN : A.val[p];
      q++;
    }
    p = A.ptr[i + 1];
    A.ptr[i + 1] = q;
  }
  A.T.diag = SPTRSM_UNIT;
  for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
    sptrsm_matrix *m = make_matrix(SPTRSM_BORROW);
    sptrsm_plan *plan = make_plan(m, "auto", (sptrsm_op)op, 0);
    for (int64_t v = 0; v < q; v++) A.val[v] *= 1.5;
    cr_assert_eq(sptrsm_matrix_set_values(m, A.val), SPTRSM_OK, "%s", sptrsm_last_error());
    solve(plan, NULL, x);
    solve_fresh("auto", (sptrsm_op)op, y);
    cr_assert(memcmp(x, y, sizeof x) == 0 && isfinite(x[N * NRHS - 1]), "op %d", op);
    sptrsm_plan_destroy(plan);
    sptrsm_matrix_destroy(m);
  }
}

/* ---- memory ---- */

static void limits(const char *method) {
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  sptrsm_plan *p = make_plan(m, method, SPTRSM_N, 0);
  sptrsm_info info = {.size = sizeof info};
  size_t bytes, one, width4, width8;
  cr_assert_eq(sptrsm_plan_info(&info, p), SPTRSM_OK);
  int32_t wide = info.panel;
  cr_assert_eq(sptrsm_workspace_bytes(&bytes, p, 0), SPTRSM_OK);
  cr_assert_eq(sptrsm_workspace_bytes(&one, p, 1), SPTRSM_OK);
  cr_assert_eq(sptrsm_workspace_bytes(&width4, p, 4), SPTRSM_OK);
  cr_assert_eq(sptrsm_workspace_bytes(&width8, p, 8), SPTRSM_OK);
  cr_assert(wide > 4 && one < width4 && width4 < width8 && width8 <= bytes, "%s", method);
  sptrsm_plan *narrow = make_plan(m, method, SPTRSM_N, width4 + 1);
  cr_assert_eq(sptrsm_plan_info(&info, narrow), SPTRSM_OK);
  cr_assert_eq(info.panel, 4, "%s: panel %d", method, info.panel);
  solve(p, NULL, x);
  solve(narrow, NULL, y);
  cr_assert(memcmp(x, y, sizeof x) == 0, "%s: the panel's width changes the bits", method);
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.memory_limit = one - 1;
  sptrsm_plan *none;
  cr_assert_eq(sptrsm_plan_create(&none, m, &options), SPTRSM_ERR_MEMORY);
  cr_assert(strstr(sptrsm_last_error(), "a workspace for 1 right-hand side takes"), "%s", sptrsm_last_error());
  sptrsm_plan_destroy(p);
  sptrsm_plan_destroy(narrow);
  sptrsm_matrix_destroy(m);
}

/* Lines by the other orientation get a map of the values when these change for the first time. */
Test(ownership, a_matrix_tells_the_bytes_of_its_own_arrays) {
  const size_t entries = (size_t)A.ptr[N], lines = sizeof A.ptr + entries * (sizeof *A.idx + sizeof *A.val);
  sptrsm_matrix *copied = make_matrix(SPTRSM_COPY), *borrowed = make_matrix(SPTRSM_BORROW);
  cr_assert_eq(spti_matrix_bytes(copied), lines);
  cr_assert_eq(spti_matrix_bytes(borrowed), 0);
  spti_view v;
  cr_assert_eq(spti_matrix_view(&v, borrowed, spti_op_from(SPTRSM_N), SPTI_PUSH, SPTRSM_HOST), SPTRSM_OK);
  cr_assert_eq(spti_matrix_bytes(borrowed), lines);
  cr_assert_eq(sptrsm_matrix_set_values(borrowed, A.val), SPTRSM_OK);
  cr_assert_eq(spti_matrix_bytes(borrowed), lines + entries * sizeof(int64_t));
  sptrsm_matrix_destroy(copied);
  sptrsm_matrix_destroy(borrowed);
}

Test(ownership, a_memory_limit_narrows_the_panel) { for_each_method(limits); }

Test(ownership, sizes_are_64_bit) {
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  sptrsm_plan *p = make_plan(m, "serial", SPTRSM_N, 0);
  size_t bytes;
  cr_assert_eq(sptrsm_context_set_threads(context, 2), SPTRSM_OK);
  cr_assert_eq(sptrsm_workspace_bytes(&bytes, p, INT32_MAX), SPTRSM_OK);
  cr_assert_eq(bytes, (size_t)INT32_MAX * N * sizeof(double) * 2);
  sptrsm_plan_destroy(p);
  sptrsm_matrix_destroy(m);
}

Test(ownership, a_workspace_serves_its_own_plan_only) {
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  sptrsm_plan *p = make_plan(m, "serial", SPTRSM_N, 0), *q = make_plan(m, "serial", SPTRSM_N, 0);
  sptrsm_workspace *w;
  cr_assert_eq(sptrsm_workspace_create(&w, q, 3), SPTRSM_OK);
  sptrsm_block B = {.data = right, .ld = NRHS, .n = N, .nrhs = NRHS, .dtype = SPTRSM_F64}, X = B;
  X.data = x;
  cr_assert_eq(sptrsm_solve(p, w, NULL, &B, &X), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "another plan"), "%s", sptrsm_last_error());
  solve(q, w, x);
  solve(p, NULL, y);
  cr_assert(memcmp(x, y, sizeof x) == 0, "a panel of 3 changes the bits");
  sptrsm_workspace_destroy(w);
  sptrsm_plan_destroy(p);
  sptrsm_plan_destroy(q);
  sptrsm_matrix_destroy(m);
}

/* With more threads than the workspace was made for, a solve must not write beyond its slabs; with fewer it must work
 * as well. */
Test(ownership, the_number_of_threads_may_change) {
  sptrsm_matrix *m = make_matrix(SPTRSM_COPY);
  sptrsm_plan *p = make_plan(m, "serial", SPTRSM_N, 0);
  sptrsm_workspace *w;
  cr_assert_eq(sptrsm_context_set_threads(context, 2), SPTRSM_OK);
  cr_assert_eq(sptrsm_workspace_create(&w, p, 2), SPTRSM_OK);
  solve(p, w, x);
  for (int threads = 1; threads <= 8; threads++) {
    cr_assert_eq(sptrsm_context_set_threads(context, threads), SPTRSM_OK);
    solve(p, w, y);
    cr_assert(memcmp(x, y, sizeof x) == 0, "%d threads change the bits", threads);
  }
  sptrsm_workspace_destroy(w);
  sptrsm_plan_destroy(p);
  sptrsm_matrix_destroy(m);
}

/* ---- the order of destruction ---- */

static sptrsm_context *own_context;
static sptrsm_matrix *own_matrix;
static sptrsm_plan *own_plan;
static sptrsm_workspace *own_workspace;

static void destroy(int which) {
  switch (which) {
  case 0: sptrsm_context_destroy(own_context); break;
  case 1: sptrsm_matrix_destroy(own_matrix); break;
  case 2: sptrsm_plan_destroy(own_plan); break;
  default: sptrsm_workspace_destroy(own_workspace);
  }
}

Test(ownership, destroying_in_any_order) {
  for (int order = 0; order < 24; order++) {
    int left[4] = {0, 1, 2, 3};
    cr_assert_eq(sptrsm_context_create(&own_context, SPTRSM_HOST, 0, NULL), SPTRSM_OK);
    cr_assert_eq(sptrsm_matrix_create(&own_matrix, own_context, &A.T, SPTRSM_COPY), SPTRSM_OK);
    cr_assert_eq(sptrsm_plan_create(&own_plan, own_matrix, NULL), SPTRSM_OK);
    cr_assert_eq(sptrsm_workspace_create(&own_workspace, own_plan, 0), SPTRSM_OK);
    bool plan_is_ours = true;
    for (int count = 4, code = order; count > 0; code /= count, count--) {
      int pick = code % count;
      destroy(left[pick]);
      if (left[pick] == 2) plan_is_ours = false;
      if (plan_is_ours) solve(own_plan, NULL, x);
      memmove(left + pick, left + pick + 1, (size_t)(count - pick - 1) * sizeof *left);
    }
  }
}
