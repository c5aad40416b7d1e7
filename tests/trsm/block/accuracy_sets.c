/* accuracy_sets.c -- block_accuracy BOUND COLUMNS [--complex] FILE...: how accurate `block:bound=BOUND` of a GPU is on the triangles L and
 * U of files in double precision. Its operations are repeated on the host in their order (solve_reference.h), with COLUMNS right-hand sides
 * of each distribution. Prints a line for each triangle; exit code 1 if one is beyond the ten bounds that are promised, or 40 for complex
 * ones. --complex makes real triangles complex without another condition: by D T D^-1, D a diagonal of random numbers of modulus 1. */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_io.h>

#include "core/matrix/matrix.h"
#include "support/oracle.h"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/solve_reference.h"

enum { PROMISED = 10, PROMISED_COMPLEX = 40, UNREADABLE = 2 };

/* 1 if the promise is broken, else 0; UNREADABLE if there was an error. */
static int judge(const char *name, const spti_view *v, const block_rules *rules, int64_t columns) {
  double worst[BLOCK_DISTRIBUTIONS];
  block_reference b;
  int code = UNREADABLE;
  const int promised = v->dtype == SPTRSM_C128 ? PROMISED_COMPLEX : PROMISED;
  if (!block_reference_make(&b, v, rules)) return code;
  if (block_accuracy(worst, &b, v, columns)) {
    code = 0;
    printf("%s: %d panels, %d refined, %d apart:", name, b.panels.count, b.flagged[1], b.flagged[2]);
    for (int d = 0; d < BLOCK_DISTRIBUTIONS; d++) {
      printf(" %s %.3g%c", block_distribution_names[d], worst[d], d + 1 < BLOCK_DISTRIBUTIONS ? ',' : '\n');
      if (!(worst[d] <= promised)) code = 1;
    }
    fflush(stdout);
  }
  block_reference_free(&b);
  return code;
}

/* The values of D T D^-1. NULL: no memory. */
static double complex *turned(const sptrsm_sparse *T) {
  double complex *D = calloc((size_t)T->n + 1, sizeof *D), *val = D ? calloc((size_t)T->ptr[T->n] + 1, sizeof *val) : NULL;
  test_random r = {17};
  for (int32_t i = 0; val && i < T->n; i++) D[i] = cexp(CMPLX(0, 0x1p-52 * (double)(test_random_next(&r) >> 11) * 3.14159265358979323846));
  for (int32_t line = 0; val && line < T->n; line++)
    for (int64_t p = T->ptr[line]; p < T->ptr[line + 1]; p++) {
      const int32_t row = T->format == SPTRSM_CSR ? line : T->idx[p], column = T->format == SPTRSM_CSR ? T->idx[p] : line;
      const double t = ((const double *)T->val)[p];
      val[p] = row == column ? t : t * D[row] * conj(D[column]);
    }
  free(D);
  return val;
}

static int judge_triangle(sptrsm_context *context, const char *file, const char *name, sptrsm_sparse T, const block_rules *rules,
                          int64_t columns, bool make_complex) {
  sptrsm_matrix *matrix = NULL;
  spti_view view;
  char where[4096];
  int code = UNREADABLE;
  snprintf(where, sizeof where, "%s:/%s", file, name);
  double complex *val = make_complex && T.dtype == SPTRSM_F64 ? turned(&T) : NULL;
  if (val) {
    T.val = val;
    T.dtype = SPTRSM_C128;
  }
  if (T.dtype != SPTRSM_C128 && (make_complex || T.dtype != SPTRSM_F64)) fprintf(stderr, "%s: its values are not f64 or c128\n", where);
  else if (sptrsm_matrix_create(&matrix, context, &T, SPTRSM_BORROW) ||
           spti_matrix_view(&view, matrix, spti_op_from(SPTRSM_N), SPTI_PULL, SPTRSM_HOST))
    fprintf(stderr, "%s: %s\n", where, sptrsm_last_error());
  else code = judge(where, &view, rules, columns);
  sptrsm_matrix_destroy(matrix);
  free(val);
  return code;
}

/* A file has L, or L and U: one that is there and can't be read is an error, whatever the other says. */
static int judge_file(sptrsm_context *context, const char *file, const block_rules *rules, int64_t columns, bool make_complex) {
  sptrsm_file_factors *F = NULL;
  if (sptrsm_file_factors_load(&F, file, NULL)) {
    fprintf(stderr, "%s\n", sptrsm_last_error());
    return UNREADABLE;
  }
  const int L = judge_triangle(context, file, "L", F->L_tri, rules, columns, make_complex);
  const int U = F->U ? judge_triangle(context, file, "U", F->U_tri, rules, columns, make_complex) : 0;
  sptrsm_file_factors_free(F);
  return L > U ? L : U;
}

int main(int argc, char **argv) {
  sptrsm_context *context;
  int worst = 0;
  const bool make_complex = argc > 3 && strcmp(argv[3], "--complex") == 0;
  if (argc < 4 + make_complex) {
    fprintf(stderr, "use: block_accuracy BOUND COLUMNS [--complex] FILE...\n");
    return UNREADABLE;
  }
  const block_rules rules = {
      .rows = SPTI_BLOCK_ROWS, .least = 16, .window = SPTI_BLOCK_WINDOW, .bound = atof(argv[1]), .spare = 32, .refine = 1e6};
  if (sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL)) return UNREADABLE;
  for (int f = make_complex ? 4 : 3; f < argc; f++) {
    const int code = judge_file(context, argv[f], &rules, atoll(argv[2]), make_complex);
    if (code > worst) worst = code;
  }
  sptrsm_context_destroy(context);
  return worst;
}
