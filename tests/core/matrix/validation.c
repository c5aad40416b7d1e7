/* validation.c -- what sptrsm_matrix_create must refuse: every kind of damage, in every format and triangle. The
 * message names the entry, and the check takes bounded time. tests/simt runs it once more on the emulated device, whose memory is host
 * memory. */
#include <criterion/criterion.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sptrsm.h>

#ifndef VALIDATION_PLACE
#define VALIDATION_PLACE SPTRSM_HOST
#endif

enum { N = 4, NNZ = 10 };

/* A full 4 x 4 triangle. Lines hold 0..i where `left`, else i..3. */
typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[NNZ];
  double val[2 * NNZ];
  sptrsm_sparse T;
  bool left;
} triangle;

static sptrsm_context *context;

static void open(void) { cr_assert_eq(sptrsm_context_create(&context, VALIDATION_PLACE, 0, NULL), SPTRSM_OK); }
static void close(void) { sptrsm_context_destroy(context); }
TestSuite(validation, .init = open, .fini = close);

static triangle *make(sptrsm_format format, sptrsm_uplo uplo) {
  static triangle t;
  t.left = (format == SPTRSM_CSR) == (uplo == SPTRSM_LOWER);
  int64_t p = 0;
  t.ptr[0] = 0;
  for (int i = 0; i < N; i++) {
    for (int32_t j = t.left ? 0 : i; j < (t.left ? i + 1 : N); j++) t.idx[p++] = j;
    t.ptr[i + 1] = p;
  }
  for (int v = 0; v < 2 * NNZ; v++) t.val[v] = 1 + v;
  t.T = (sptrsm_sparse){.format = format, .dtype = SPTRSM_F64, .uplo = uplo, .n = N, .ptr = t.ptr, .idx = t.idx, .val = t.val};
  t.T.place = VALIDATION_PLACE;
  return &t;
}

static int64_t diagonal(const triangle *t, int line) { return t->left ? t->ptr[line + 1] - 1 : t->ptr[line]; }

static void refuse(const triangle *t, sptrsm_status expected, const char *message) {
  sptrsm_matrix *m = (sptrsm_matrix *)context;
  sptrsm_status status = sptrsm_matrix_create(&m, context, &t->T, SPTRSM_COPY);
  cr_assert_eq(status, expected, "%s instead of %s for \"%s\"", sptrsm_status_name(status), sptrsm_status_name(expected), message);
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
  cr_assert(m == (sptrsm_matrix *)context, "the out-parameter was written for \"%s\"", message);
}

static void accept(const triangle *t) {
  sptrsm_matrix *m;
  cr_assert_eq(sptrsm_matrix_create(&m, context, &t->T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(m);
}

/* Runs `body` for the four combinations of format and triangle. */
static void for_each_kind(void (*body)(sptrsm_format, sptrsm_uplo)) {
  for (int kind = 0; kind < 4; kind++) body(kind & 1 ? SPTRSM_CSC : SPTRSM_CSR, kind & 2 ? SPTRSM_UPPER : SPTRSM_LOWER);
}

/* ---- pointers ---- */

static void bad_pointers(sptrsm_format format, sptrsm_uplo uplo) {
  triangle *t = make(format, uplo);
  accept(t);
  t->ptr[0] = 1;
  refuse(t, SPTRSM_ERR_STRUCTURE, "ptr[0] is 1, not 0");
  t->ptr[0] = -1;
  refuse(t, SPTRSM_ERR_STRUCTURE, "ptr[0] is -1, not 0");
  t = make(format, uplo);
  t->ptr[3] = 0;
  refuse(t, SPTRSM_ERR_STRUCTURE, "ptr[3] = 0 is less than ptr[2] = ");
  t->ptr[3] = INT64_MIN;
  refuse(t, SPTRSM_ERR_STRUCTURE, "ptr[3] = -9223372036854775808 is less than ptr[2] = ");
  t->ptr[3] = INT64_MAX;
  refuse(t, SPTRSM_ERR_STRUCTURE, format == SPTRSM_CSR ? "row 2 has 922337203685477580" : "column 2 has 922337203685477580");
  t = make(format, uplo);
  t->ptr[1] = 5;
  refuse(t, SPTRSM_ERR_STRUCTURE,
         format == SPTRSM_CSR ? "row 0 has 5 entries, more than n = 4" : "column 0 has 5 entries, more than n = 4");
}

Test(validation, pointers) { for_each_kind(bad_pointers); }

/* ---- indices ---- */

static void bad_indices(sptrsm_format format, sptrsm_uplo uplo) {
  static const int32_t outside[] = {-1, INT32_MIN, N, INT32_MAX};
  const char *line = format == SPTRSM_CSR ? "row" : "column";
  char message[80];
  for (int v = 0; v < 4; v++)
    for (int at = 0; at < 2; at++) { /* first and last entry of the middle line: both ends of the fast check */
      triangle *t = make(format, uplo);
      int64_t p = at ? t->ptr[3] - 1 : t->ptr[2];
      t->idx[p] = outside[v];
      snprintf(message, sizeof message, "%s 2: idx[%d] = %d is not in 0..3", line, (int)p, outside[v]);
      refuse(t, SPTRSM_ERR_STRUCTURE, message);
    }
  triangle *t = make(format, uplo);
  int full = t->left ? 3 : 0; /* the line with all four entries: positions first .. first + 3 */
  int64_t first = t->ptr[full];
  t->idx[first + 1] = 2;
  t->idx[first + 2] = 1;
  snprintf(message, sizeof message, "%s %d: idx[%d] = 1 follows 2: not sorted", line, full, (int)first + 2);
  refuse(t, SPTRSM_ERR_STRUCTURE, message);
  t->idx[first + 1] = t->idx[first + 2] = 2;
  snprintf(message, sizeof message, "%s %d: idx[%d] = 2 follows 2: a duplicate", line, full, (int)first + 2);
  refuse(t, SPTRSM_ERR_STRUCTURE, message);
}

Test(validation, indices) { for_each_kind(bad_indices); }

static void wrong_triangle(sptrsm_format format, sptrsm_uplo uplo) {
  triangle *t = make(format, uplo);
  if (t->left) t->idx[t->ptr[2] - 1] = 2; /* line 1: 0, 2 */
  else t->idx[t->ptr[2]] = 1;             /* line 2: 1, 3 */
  refuse(t, SPTRSM_ERR_STRUCTURE,
         uplo == SPTRSM_LOWER ? "entry (1,2) is above the diagonal of a lower triangle"
                              : "entry (2,1) is below the diagonal of an upper triangle");
}

Test(validation, entries_outside_the_triangle) { for_each_kind(wrong_triangle); }

/* ---- diagonal ---- */

static void bad_diagonal(sptrsm_format format, sptrsm_uplo uplo) {
  static const double bad[] = {0, -0.0, NAN, INFINITY, -INFINITY};
  for (int v = 0; v < 5; v++) {
    const char *message = bad[v] == 0 ? "diagonal entry (2,2) is zero" : "diagonal entry (2,2) is not finite";
    triangle *t = make(format, uplo);
    t->val[diagonal(t, 2)] = bad[v];
    refuse(t, SPTRSM_ERR_SINGULAR, message);
    t = make(format, uplo);
    t->T.dtype = SPTRSM_C128;
    t->val[2 * diagonal(t, 2)] = 0;
    t->val[2 * diagonal(t, 2) + 1] = bad[v];
    refuse(t, SPTRSM_ERR_SINGULAR, message);
  }
  float single[2 * NNZ];
  for (int type = 0; type < 2; type++) {
    triangle *t = make(format, uplo);
    for (int p = 0; p < 2 * NNZ; p++) single[p] = 1;
    int width = type + 1;
    t->T.dtype = type ? SPTRSM_C64 : SPTRSM_F32;
    t->T.val = single;
    accept(t);
    memset(&single[width * diagonal(t, 1)], 0, (size_t)width * sizeof *single);
    refuse(t, SPTRSM_ERR_SINGULAR, "diagonal entry (1,1) is zero");
  }
  triangle *t = make(format, uplo);
  t->ptr[N]--; /* the last line loses its last entry, or its only one */
  refuse(t, SPTRSM_ERR_SINGULAR, "diagonal entry (3,3) is missing");
  t->T.diag = SPTRSM_UNIT;
  accept(t);
  t = make(format, uplo);
  t->T.diag = SPTRSM_UNIT;
  for (int i = 0; i < N; i++) t->val[diagonal(t, i)] = i % 2 ? NAN : 0; /* never read */
  accept(t);
  t = make(format, uplo);
  t->val[t->left ? t->ptr[1] : t->ptr[1] - 1] = NAN; /* off the diagonal: a value like any other */
  accept(t);
}

Test(validation, diagonal) { for_each_kind(bad_diagonal); }

/* ---- description ---- */

Test(validation, description) {
  triangle *t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.format = (sptrsm_format)2;
  refuse(t, SPTRSM_ERR_ARGUMENT, "unknown format 2");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.dtype = (sptrsm_dtype)-1;
  refuse(t, SPTRSM_ERR_ARGUMENT, "unknown dtype -1");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.uplo = (sptrsm_uplo)5;
  refuse(t, SPTRSM_ERR_ARGUMENT, "unknown uplo 5");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.diag = (sptrsm_diag)5;
  refuse(t, SPTRSM_ERR_ARGUMENT, "unknown diag 5");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.place = (sptrsm_place)9;
  refuse(t, SPTRSM_ERR_ARGUMENT, "unknown place 9");
  t->T.place = SPTRSM_CUDA;
  if (VALIDATION_PLACE == SPTRSM_HOST) refuse(t, SPTRSM_ERR_ARGUMENT, "device memory need a CUDA context");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.n = -1;
  refuse(t, SPTRSM_ERR_ARGUMENT, "n = -1 is negative");
  t->T.n = INT32_MIN;
  refuse(t, SPTRSM_ERR_ARGUMENT, "n = -2147483648 is negative");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.ptr = NULL;
  refuse(t, SPTRSM_ERR_ARGUMENT, "ptr is NULL");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.idx = NULL;
  refuse(t, SPTRSM_ERR_ARGUMENT, "idx or val is NULL with 10 entries");
  t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->T.val = NULL;
  refuse(t, SPTRSM_ERR_ARGUMENT, "idx or val is NULL with 10 entries");
}

/* ---- the first of several faults is the one named ---- */

Test(validation, the_first_fault_is_named) {
  triangle *t = make(SPTRSM_CSR, SPTRSM_LOWER);
  t->val[diagonal(t, 1)] = 0;
  t->idx[t->ptr[3]] = -7;
  refuse(t, SPTRSM_ERR_SINGULAR, "(1,1)");
  t->val[diagonal(t, 0)] = NAN;
  refuse(t, SPTRSM_ERR_SINGULAR, "(0,0)");
}

/* ---- large: the damage sits in the last entry of two million rows ---- */

static void refuse_quickly(const sptrsm_sparse *T, sptrsm_status expected, const char *message) {
  struct timespec start, end;
  sptrsm_matrix *m;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
  sptrsm_status status = sptrsm_matrix_create(&m, context, T, SPTRSM_COPY);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  double seconds = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
  cr_assert_eq(status, expected, "%s: %s", message, sptrsm_status_name(status));
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
  cr_assert(seconds <= 20, "%s took %g s of computing", message, seconds);
}

Test(validation, a_malformed_pattern_is_refused_in_linear_time) {
  enum { LARGE = 2000000 };
  int64_t *ptr = malloc((LARGE + 1) * sizeof *ptr), nnz = 2 * (int64_t)LARGE - 1;
  int32_t *idx = malloc((size_t)nnz * sizeof *idx);
  double *val = malloc((size_t)nnz * sizeof *val);
  cr_assert(ptr && idx && val);
  ptr[0] = 0;
  for (int64_t i = 0, p = 0; i < LARGE; i++) { /* a chain: row i needs row i-1 */
    if (i > 0) idx[p++] = (int32_t)i - 1;
    idx[p++] = (int32_t)i;
    ptr[i + 1] = p;
  }
  for (int64_t p = 0; p < nnz; p++) val[p] = 1;
  sptrsm_sparse T = {.format = SPTRSM_CSR, .dtype = SPTRSM_F64, .n = LARGE, .ptr = ptr, .idx = idx, .val = val};
  val[nnz - 1] = 0;
  refuse_quickly(&T, SPTRSM_ERR_SINGULAR, "diagonal entry (1999999,1999999) is zero");
  val[nnz - 1] = 1;
  idx[nnz - 1] = LARGE; /* the row depends on one that does not exist */
  refuse_quickly(&T, SPTRSM_ERR_STRUCTURE, "idx[3999998] = 2000000 is not in 0..1999999");
  idx[nnz - 1] = LARGE - 2;
  refuse_quickly(&T, SPTRSM_ERR_STRUCTURE, "a duplicate");
  idx[nnz - 1] = LARGE - 1;
  idx[0] = 1; /* row 0 needs row 1, which needs row 0 */
  refuse_quickly(&T, SPTRSM_ERR_STRUCTURE, "entry (0,1) is above the diagonal");
  idx[0] = 0;
  ptr[LARGE] = 0;
  refuse_quickly(&T, SPTRSM_ERR_STRUCTURE, "ptr[2000000] = 0 is less than ptr[1999999]");
  ptr[LARGE] = nnz - 1;
  refuse_quickly(&T, SPTRSM_ERR_SINGULAR, "diagonal entry (1999999,1999999) is missing");
  free(ptr);
  free(idx);
  free(val);
}
