/* umfpack.c -- LU by UMFPACK: L U = P R A Q, with R the row scaling (divided by or multiplied with, as do_recip says).
 *
 * The complex routines have other names than the real ones, and arguments for split complex numbers, which are not used.
 */
#include "factor/umfpack.h"

#include <math.h>
#include <stdlib.h>

static const char *version(void) {
  static char text[48];
  snprintf(text, sizeof text, "UMFPACK %d.%d.%d", UMFPACK_MAIN_VERSION, UMFPACK_SUB_VERSION, UMFPACK_SUBSUB_VERSION);
  return text;
}

void factor_umfpack_set_up(double control[UMFPACK_CONTROL], const factor_request *r) {
  static const int methods[ORDER_COUNT] = {[ORDER_NATURAL] = UMFPACK_ORDERING_NONE,
                                           [ORDER_AMD] = UMFPACK_ORDERING_AMD,
                                           [ORDER_COLAMD] = UMFPACK_ORDERING_AMD,
                                           [ORDER_METIS] = UMFPACK_ORDERING_METIS,
                                           [ORDER_BEST] = UMFPACK_ORDERING_BEST};
  umfpack_dl_defaults(control);
  control[UMFPACK_PRL] = 0;
  if (r->order != ORDER_DEFAULT) control[UMFPACK_ORDERING] = methods[r->order];
  if (r->order == ORDER_AMD) control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_SYMMETRIC;
  if (r->order == ORDER_COLAMD) control[UMFPACK_STRATEGY] = UMFPACK_STRATEGY_UNSYMMETRIC;
  if (!r->scale) control[UMFPACK_SCALE] = UMFPACK_SCALE_NONE;
  if (r->pivot >= 0) control[UMFPACK_PIVOT_TOLERANCE] = control[UMFPACK_SYM_PIVOT_TOLERANCE] = r->pivot;
}

static const char *ordering_used(const double *info) {
  switch ((int)info[UMFPACK_ORDERING_USED]) {
  case UMFPACK_ORDERING_AMD: return info[UMFPACK_STRATEGY_USED] == UMFPACK_STRATEGY_SYMMETRIC ? "amd" : "colamd";
  case UMFPACK_ORDERING_METIS: return "metis";
  case UMFPACK_ORDERING_NONE: return "natural";
  default: return "given";
  }
}

static void *analyse(const factor_matrix *A, const double *control, double *info, int64_t *status) {
  void *symbolic = NULL;
  *status = A->is_complex ? umfpack_zl_symbolic(A->n, A->n, A->ptr, A->idx, A->val, NULL, &symbolic, control, info)
                          : umfpack_dl_symbolic(A->n, A->n, A->ptr, A->idx, A->val, &symbolic, control, info);
  return symbolic;
}

static void *eliminate(const factor_matrix *A, void *symbolic, const double *control, double *info, int64_t *status) {
  void *numeric = NULL;
  *status = A->is_complex ? umfpack_zl_numeric(A->ptr, A->idx, A->val, NULL, symbolic, &numeric, control, info)
                          : umfpack_dl_numeric(A->ptr, A->idx, A->val, symbolic, &numeric, control, info);
  return numeric;
}

/* ---- the factors in UMFPACK's arrays ---- */

typedef struct {
  int64_t *Lp, *Li, *Up, *Ui, *P, *Q, do_recip;
  double *Lx, *Ux, *Rs;
} parts;

static void parts_free(parts *p) {
  void *const all[] = {p->Lp, p->Li, p->Up, p->Ui, p->P, p->Q, p->Lx, p->Ux, p->Rs};
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
  *p = (parts){0};
}

static bool parts_allocate(parts *p, const factor_matrix *A, void *numeric) {
  int64_t lnz = 0, unz = 0, rows, columns, nz_udiag;
  size_t n = (size_t)A->n, width = A->is_complex ? 2 : 1;
  if (A->is_complex) umfpack_zl_get_lunz(&lnz, &unz, &rows, &columns, &nz_udiag, numeric);
  else umfpack_dl_get_lunz(&lnz, &unz, &rows, &columns, &nz_udiag, numeric);
  int64_t **const pointers[] = {&p->Lp, &p->Up, &p->P, &p->Q};
  for (size_t k = 0; k < 4; k++) *pointers[k] = malloc((n + 1) * sizeof(int64_t));
  p->Li = malloc(((size_t)lnz + 1) * sizeof *p->Li);
  p->Ui = malloc(((size_t)unz + 1) * sizeof *p->Ui);
  p->Lx = malloc(((size_t)lnz + 1) * width * sizeof *p->Lx);
  p->Ux = malloc(((size_t)unz + 1) * width * sizeof *p->Ux);
  p->Rs = malloc((n + 1) * sizeof *p->Rs);
  return p->Lp && p->Li && p->Lx && p->Up && p->Ui && p->Ux && p->P && p->Q && p->Rs;
}

static int parts_get(parts *p, const factor_matrix *A, void *numeric) {
  int64_t status = UMFPACK_ERROR_out_of_memory;
  if (!parts_allocate(p, A, numeric)) return factor_no_memory("the factors");
  if (A->is_complex)
    status =
        umfpack_zl_get_numeric(p->Lp, p->Li, p->Lx, NULL, p->Up, p->Ui, p->Ux, NULL, p->P, p->Q, NULL, NULL, &p->do_recip, p->Rs, numeric);
  else status = umfpack_dl_get_numeric(p->Lp, p->Li, p->Lx, p->Up, p->Ui, p->Ux, p->P, p->Q, NULL, &p->do_recip, p->Rs, numeric);
  return status == UMFPACK_OK ? CLI_OK : factor_no_memory("the factors");
}

/* Notes the first step without a pivot. A column of U has its diagonal entry, if it exists, at its end. */
static int name_singular(factor_set *out, const parts *p, const factor_matrix *A) {
  int width = A->is_complex ? 2 : 1;
  for (int64_t k = 0; k < A->n; k++) {
    int64_t last = p->Up[k + 1] - 1;
    bool there = last >= p->Up[k] && p->Ui[last] == k;
    double size = there ? fabs(p->Ux[last * width]) + (width == 2 ? fabs(p->Ux[last * width + 1]) : 0) : 0;
    if (!(size > 0) || !isfinite(size)) return factor_singular(out, p->Q[k], k, "no pivot: the matrix is singular");
  }
  return factor_singular(out, p->Q[A->n - 1], A->n - 1, "UMFPACK calls the matrix singular");
}

static int take(factor_set *out, const factor_matrix *A, parts *p, const factor_request *r) {
  factor_arrays L = {.format = SPTRSM_CSR, .uplo = SPTRSM_LOWER, .diag = SPTRSM_UNIT, .ptr = p->Lp, .idx = p->Li, .val = p->Lx};
  factor_arrays U = {.format = SPTRSM_CSC, .uplo = SPTRSM_UPPER, .diag = SPTRSM_NONUNIT, .ptr = p->Up, .idx = p->Ui, .val = p->Ux};
  int code = factor_take_triangle(&out->L, A, &L, r->keep_zeros);
  if (code == CLI_OK) code = factor_take_triangle(&out->U, A, &U, r->keep_zeros);
  if (code != CLI_OK) return code;
  out->perm_row = factor_take_permutation(p->P, A->n);
  out->perm_col = factor_take_permutation(p->Q, A->n);
  out->kind = "L U";
  if (r->scale) {
    out->scale_row = p->Rs;
    out->scale_op = p->do_recip ? SPTRSM_MULTIPLY : SPTRSM_DIVIDE;
    p->Rs = NULL;
  }
  return out->perm_row && out->perm_col ? CLI_OK : factor_no_memory("the permutations");
}

static int check_status(int64_t status, const factor_matrix *A) {
  if (status == UMFPACK_OK || status == UMFPACK_WARNING_singular_matrix) return CLI_OK;
  if (status == UMFPACK_ERROR_out_of_memory) return factor_no_memory("UMFPACK");
  cli_error("%s: UMFPACK failed with status %lld", A->where, (long long)status);
  return status == UMFPACK_ERROR_ordering_failed ? CLI_USAGE : CLI_INTERNAL;
}

static int factorise(factor_set *out, const factor_matrix *A, const factor_request *r) {
  double control[UMFPACK_CONTROL], info[UMFPACK_INFO], start = cli_now();
  parts p = {0};
  int64_t status;
  factor_umfpack_set_up(control, r);
  void *symbolic = analyse(A, control, info, &status), *numeric = NULL;
  out->analysis_seconds = cli_now() - start;
  int code = check_status(status, A);
  if (code == CLI_OK) {
    start = cli_now();
    numeric = eliminate(A, symbolic, control, info, &status);
    out->numeric_seconds = cli_now() - start;
    out->ordering = ordering_used(info);
    code = check_status(status, A);
  }
  if (code == CLI_OK) code = parts_get(&p, A, numeric);
  if (code == CLI_OK) code = status == UMFPACK_WARNING_singular_matrix ? name_singular(out, &p, A) : take(out, A, &p, r);
  parts_free(&p);
  if (A->is_complex) umfpack_zl_free_numeric(&numeric), umfpack_zl_free_symbolic(&symbolic);
  else umfpack_dl_free_numeric(&numeric), umfpack_dl_free_symbolic(&symbolic);
  return code;
}

const factor_library factor_umfpack = {.name = "umfpack",
                                       .orders = 1u << ORDER_DEFAULT | 1u << ORDER_NATURAL | 1u << ORDER_AMD | 1u << ORDER_COLAMD |
                                                 1u << ORDER_METIS | 1u << ORDER_BEST,
                                       .factorise = factorise,
                                       .version = version};
