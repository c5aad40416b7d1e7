/* klu.c -- LU by KLU: L U = P R A Q, with R dividing the rows by their largest entry.
 *
 * KLU's permutation to block triangular form is not used. With it the factorisation is L U + F, where F has the entries above the diagonal
 * blocks, and a solve goes block by block; A is a product of two triangles only if L^-1 F is filled in, which costs what the blocks save.
 */
#include "factor/klu.h"

#include <stdlib.h>

static const char *version(void) {
  static char text[48];
  snprintf(text, sizeof text, "KLU %d.%d.%d", KLU_MAIN_VERSION, KLU_SUB_VERSION, KLU_SUBSUB_VERSION);
  return text;
}

enum { KLU_ORDER_AMD, KLU_ORDER_COLAMD, KLU_ORDER_GIVEN }; /* klu_common.ordering */
enum { KLU_SCALE_NONE, KLU_SCALE_SUM, KLU_SCALE_MAX };     /* klu_common.scale */

void factor_klu_set_up(klu_l_common *c, const factor_request *r) {
  klu_l_defaults(c);
  c->btf = 0;
  c->ordering = r->order == ORDER_COLAMD ? KLU_ORDER_COLAMD : r->order == ORDER_NATURAL ? KLU_ORDER_GIVEN : KLU_ORDER_AMD;
  c->scale = r->scale ? KLU_SCALE_MAX : KLU_SCALE_NONE;
  if (r->pivot >= 0) c->tol = r->pivot;
}

static const char *ordering_used(const klu_l_common *c) {
  static const char *const names[] = {"amd", "colamd", "natural"};
  return names[c->ordering];
}

static int check_status(factor_set *out, const klu_l_common *c, const factor_matrix *A) {
  if (c->status == KLU_OK) return CLI_OK;
  if (c->status == KLU_SINGULAR) return factor_singular(out, c->singular_col, c->numerical_rank, "no pivot: the matrix is singular");
  if (c->status == KLU_OUT_OF_MEMORY || c->status == KLU_TOO_LARGE) return factor_no_memory("KLU");
  cli_error("%s: KLU failed with status %lld", A->where, (long long)c->status);
  return CLI_INTERNAL;
}

/* ---- the factors in KLU's arrays ---- */

typedef struct {
  int64_t *Lp, *Li, *Up, *Ui, *P, *Q;
  double *Lx, *Lz, *Ux, *Uz, *Rs; /* Lz and Uz: imaginary parts */
} parts;

static void parts_free(parts *p) {
  void *const all[] = {p->Lp, p->Li, p->Up, p->Ui, p->P, p->Q, p->Lx, p->Lz, p->Ux, p->Uz, p->Rs};
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
  *p = (parts){0};
}

static bool parts_allocate(parts *p, const factor_matrix *A, const klu_l_numeric *f) {
  size_t n = (size_t)A->n + 1, l = (size_t)f->lnz + 1, u = (size_t)f->unz + 1, width = A->is_complex ? 2 : 1;
  int64_t **const pointers[] = {&p->Lp, &p->Up, &p->P, &p->Q};
  for (size_t k = 0; k < 4; k++) *pointers[k] = malloc(n * sizeof(int64_t));
  p->Li = malloc(l * sizeof *p->Li);
  p->Ui = malloc(u * sizeof *p->Ui);
  p->Lx = malloc(l * width * sizeof *p->Lx);
  p->Ux = malloc(u * width * sizeof *p->Ux);
  p->Lz = malloc(l * sizeof *p->Lz);
  p->Uz = malloc(u * sizeof *p->Uz);
  p->Rs = malloc(n * sizeof *p->Rs);
  return p->Lp && p->Li && p->Lx && p->Lz && p->Up && p->Ui && p->Ux && p->Uz && p->P && p->Q && p->Rs;
}

/* x[0..count) holds real parts and has room for pairs. */
static void interleave(double *x, const double *imaginary, int64_t count) {
  for (int64_t p = count - 1; p >= 0; p--) {
    double real = x[p];
    x[2 * p] = real;
    x[2 * p + 1] = imaginary[p];
  }
}

static bool parts_get(parts *p, const factor_matrix *A, klu_l_symbolic *s, klu_l_numeric *f, klu_l_common *c) {
  if (!A->is_complex)
    return klu_l_sort(s, f, c) &&
           klu_l_extract(f, s, p->Lp, p->Li, p->Lx, p->Up, p->Ui, p->Ux, NULL, NULL, NULL, p->P, p->Q, p->Rs, NULL, c);
  bool good = klu_zl_sort(s, f, c) && klu_zl_extract(f, s, p->Lp, p->Li, p->Lx, p->Lz, p->Up, p->Ui, p->Ux, p->Uz, NULL, NULL, NULL, NULL,
                                                     p->P, p->Q, p->Rs, NULL, c);
  if (!good) return false;
  interleave(p->Lx, p->Lz, p->Lp[A->n]);
  interleave(p->Ux, p->Uz, p->Up[A->n]);
  return true;
}

static int take(factor_set *out, const factor_matrix *A, parts *p, const factor_request *r) {
  factor_arrays L = {.format = SPTRSM_CSC, .uplo = SPTRSM_LOWER, .diag = SPTRSM_UNIT, .ptr = p->Lp, .idx = p->Li, .val = p->Lx};
  factor_arrays U = {.format = SPTRSM_CSC, .uplo = SPTRSM_UPPER, .diag = SPTRSM_NONUNIT, .ptr = p->Up, .idx = p->Ui, .val = p->Ux};
  int code = factor_take_triangle(&out->L, A, &L, r->keep_zeros);
  if (code == CLI_OK) code = factor_take_triangle(&out->U, A, &U, r->keep_zeros);
  if (code != CLI_OK) return code;
  out->perm_row = factor_take_permutation(p->P, A->n);
  out->perm_col = factor_take_permutation(p->Q, A->n);
  out->kind = "L U";
  if (r->scale) out->scale_row = malloc(((size_t)A->n + 1) * sizeof *out->scale_row);
  if (!out->perm_row || !out->perm_col || (r->scale && !out->scale_row)) return factor_no_memory("the permutations");
  for (int32_t k = 0; r->scale && k < A->n; k++) out->scale_row[p->P[k]] = p->Rs[k]; /* KLU stores the scaling in the order of the pivots */
  out->scale_op = SPTRSM_DIVIDE;
  return CLI_OK;
}

static int factorise(factor_set *out, const factor_matrix *A, const factor_request *r) {
  klu_l_common c;
  klu_l_numeric *f = NULL;
  parts p = {0};
  factor_klu_set_up(&c, r);
  double start = cli_now();
  klu_l_symbolic *s = klu_l_analyze(A->n, A->ptr, A->idx, &c);
  out->analysis_seconds = cli_now() - start;
  int code = check_status(out, &c, A);
  if (code == CLI_OK) {
    start = cli_now();
    f = A->is_complex ? klu_zl_factor(A->ptr, A->idx, A->val, s, &c) : klu_l_factor(A->ptr, A->idx, A->val, s, &c);
    out->numeric_seconds = cli_now() - start;
    out->ordering = ordering_used(&c);
    code = check_status(out, &c, A);
  }
  if (code == CLI_OK && !(parts_allocate(&p, A, f) && parts_get(&p, A, s, f, &c))) code = factor_no_memory("the factors");
  if (code == CLI_OK) code = take(out, A, &p, r);
  parts_free(&p);
  if (A->is_complex) klu_zl_free_numeric(&f, &c);
  else klu_l_free_numeric(&f, &c);
  klu_l_free_symbolic(&s, &c);
  return code;
}

const factor_library factor_klu = {.name = "klu",
                                   .orders = 1u << ORDER_DEFAULT | 1u << ORDER_NATURAL | 1u << ORDER_AMD | 1u << ORDER_COLAMD,
                                   .factorise = factorise,
                                   .version = version};
