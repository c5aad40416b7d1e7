/* cholmod.c -- Cholesky and LDL' by CHOLMOD: L D L' = P A P', for real symmetric and complex Hermitian matrices.
 *
 * Supernodal L L' is the default. L D L', which CHOLMOD has without supernodes and without pivoting, takes indefinite matrices as long as
 * no pivot is zero.
 */
#include "factor/cholmod.h"

#include <stdlib.h>

static const char *version(void) {
  static char text[48];
  snprintf(text, sizeof text, "CHOLMOD %d.%d.%d", CHOLMOD_MAIN_VERSION, CHOLMOD_SUB_VERSION, CHOLMOD_SUBSUB_VERSION);
  return text;
}

void factor_cholmod_set_up(cholmod_common *c, const factor_request *r) {
  static const int methods[ORDER_COUNT] = {
      [ORDER_NATURAL] = CHOLMOD_NATURAL, [ORDER_AMD] = CHOLMOD_AMD, [ORDER_METIS] = CHOLMOD_METIS, [ORDER_NESDIS] = CHOLMOD_NESDIS};
  c->print = 0;
  c->error_handler = NULL;
  c->supernodal = r->ldl ? CHOLMOD_SIMPLICIAL : CHOLMOD_SUPERNODAL;
  c->final_ll = !r->ldl;
  if (r->order == ORDER_BEST) c->nmethods = CHOLMOD_MAXMETHODS;
  if (r->order == ORDER_DEFAULT || r->order == ORDER_BEST) return; /* AMD, and METIS where AMD looks bad */
  c->nmethods = 1;
  c->method[0].ordering = methods[r->order];
  c->postorder = 1;
}

static const char *ordering_used(const cholmod_common *c) {
  switch (c->method[c->selected].ordering) {
  case CHOLMOD_NATURAL: return "natural";
  case CHOLMOD_AMD:
  case CHOLMOD_COLAMD: return "amd"; /* CHOLMOD uses AMD in its place where A is symmetric */
  case CHOLMOD_METIS: return "metis";
  case CHOLMOD_NESDIS: return "nesdis";
  default: return "unknown";
  }
}

cholmod_sparse factor_cholmod_view(const factor_matrix *A) {
  return (cholmod_sparse){.nrow = (size_t)A->n,
                          .ncol = (size_t)A->n,
                          .nzmax = (size_t)A->ptr[A->n],
                          .p = A->ptr,
                          .i = A->idx,
                          .x = A->val,
                          .stype = -1,
                          .itype = CHOLMOD_LONG,
                          .xtype = A->is_complex ? CHOLMOD_COMPLEX : CHOLMOD_REAL,
                          .dtype = CHOLMOD_DOUBLE,
                          .sorted = 1,
                          .packed = 1};
}

static int check_status(factor_set *out, const cholmod_common *c, const cholmod_factor *f, const factor_matrix *A, bool ldl) {
  if (c->status == CHOLMOD_OUT_OF_MEMORY || c->status == CHOLMOD_TOO_LARGE) return factor_no_memory("CHOLMOD");
  if (c->status == CHOLMOD_NOT_POSDEF || (f && f->minor < f->n)) {
    int64_t step = (int64_t)f->minor;
    return factor_singular(out, ((const int64_t *)f->Perm)[step], step,
                           ldl ? "the pivot vanishes: singular, or in need of pivoting; use --with umfpack"
                               : "the pivot is not positive: singular, or not positive definite; use --ldl or --with umfpack");
  }
  if (c->status >= CHOLMOD_OK && f != NULL) return CLI_OK;
  cli_error("%s: CHOLMOD failed with status %d", A->where, c->status);
  return CLI_INTERNAL;
}

/* CHOLMOD's L has D on its diagonal: moves it to out->D, and sets a unit diagonal. */
static int split_diagonal(factor_set *out) {
  int32_t n = out->L.n;
  int width = out->L.dtype == SPTRSM_C128 ? 2 : 1;
  double *val = (double *)out->L.val;
  out->D = calloc((size_t)n + 1, (size_t)width * sizeof *out->D);
  if (out->D == NULL) return factor_no_memory("D");
  for (int32_t j = 0; j < n; j++) { /* the diagonal entry is the first of its column */
    out->D[j * width] = val[out->L.ptr[j] * width];
    val[out->L.ptr[j] * width] = 1;
  }
  out->L.diag = SPTRSM_UNIT;
  return CLI_OK;
}

static int take(factor_set *out, const factor_matrix *A, const cholmod_factor *f, const factor_request *r) {
  factor_arrays L = {.format = SPTRSM_CSC, .uplo = SPTRSM_LOWER, .diag = SPTRSM_NONUNIT, .ptr = f->p, .idx = f->i, .val = f->x};
  int code = factor_take_triangle(&out->L, A, &L, r->keep_zeros);
  if (code == CLI_OK && r->ldl) code = split_diagonal(out);
  out->perm_row = factor_take_permutation(f->Perm, A->n);
  out->perm_col = factor_take_permutation(f->Perm, A->n);
  out->kind = r->ldl ? "L D L'" : "L L'";
  return code != CLI_OK || (out->perm_row && out->perm_col) ? code : factor_no_memory("the permutations");
}

static int factorise(factor_set *out, const factor_matrix *A, const factor_request *r) {
  cholmod_common c;
  if (!A->hermitian) {
    cli_error("%s: is not %s, so it has no %s; use --with umfpack", A->where, A->is_complex ? "Hermitian" : "symmetric",
              r->ldl ? "L D L'" : "Cholesky factor");
    return CLI_INPUT;
  }
  cholmod_l_start(&c);
  factor_cholmod_set_up(&c, r);
  cholmod_sparse a = factor_cholmod_view(A);
  double start = cli_now();
  cholmod_factor *f = cholmod_l_analyze(&a, &c);
  out->analysis_seconds = cli_now() - start;
  int code = f ? CLI_OK : check_status(out, &c, f, A, r->ldl);
  if (code == CLI_OK) {
    out->ordering = ordering_used(&c);
    start = cli_now();
    cholmod_l_factorize(&a, f, &c);
    out->numeric_seconds = cli_now() - start;
    code = check_status(out, &c, f, A, r->ldl);
  }
  if (code == CLI_OK && !cholmod_l_change_factor((int)f->xtype, !r->ldl, 0, 1, 1, f, &c)) code = check_status(out, &c, NULL, A, r->ldl);
  if (code == CLI_OK) code = take(out, A, f, r);
  cholmod_l_free_factor(&f, &c);
  cholmod_l_finish(&c);
  return code;
}

const factor_library factor_cholmod = {.name = "cholmod",
                                       .orders = 1u << ORDER_DEFAULT | 1u << ORDER_NATURAL | 1u << ORDER_AMD | 1u << ORDER_METIS |
                                                 1u << ORDER_NESDIS | 1u << ORDER_BEST,
                                       .factorise = factorise,
                                       .version = version};
