/* own.c -- sptrsm_direct as a solver of compare_factors, also with refinement. */
#include <stdlib.h>
#include <string.h>
#include <sptrsm_refine.h>

#include "compare/compare.h"

/* Gives A, with 32-bit indices, to the solver for its residuals. */
static int give_original(sptrsm_direct *d, const factor_matrix *A) {
  int64_t nnz = A->ptr[A->n];
  int32_t *idx = malloc((size_t)nnz * sizeof *idx + 1);
  if (idx == NULL) return factor_no_memory("A");
  for (int64_t p = 0; p < nnz; p++) idx[p] = (int32_t)A->idx[p];
  sptrsm_square square = {.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .n = A->n, .ptr = A->ptr, .idx = idx, .val = A->val};
  int code = cli_fail(sptrsm_direct_set_original(d, &square));
  free(idx);
  return code;
}

int compare_own_begin(sptrsm_direct **out, char name[96], const compare_own_request *r, const factor_set *set, const factor_matrix *A) {
  static const char *const endings[] = {"", ", refined", ", mixed"};
  sptrsm_options o;
  sptrsm_info info = {.size = sizeof info};
  sptrsm_options_init(&o);
  o.method = r->method;
  o.nrhs_hint = r->nrhs;
  o.precision = r->kind == COMPARE_MIXED ? SPTRSM_MIXED : SPTRSM_WORKING;
  int code = cli_fail(sptrsm_direct_create(out, r->context, &set->set, &o));
  if (code == CLI_OK) code = cli_fail(sptrsm_direct_info(&info, NULL, *out));
  if (code == CLI_OK && r->kind != COMPARE_SOLVED) code = give_original(*out, A);
  if (code == CLI_OK && strstr(info.parameters, "sweep_bytes=")) cli_note("%s: L %s, panels of %d", r->method, info.parameters, info.panel);
  bool automatic = strcmp(r->method, "auto") == 0;
  snprintf(name, 96, "sptrsm %s%s%s%s, %s order%s", r->method, automatic ? " (" : "", automatic ? info.method : "", automatic ? ")" : "",
           cli_orders[r->layout], endings[r->kind]);
  return code;
}

sptrsm_status compare_own_solve(sptrsm_direct *d, compare_own_kind kind, const sptrsm_block *B, sptrsm_block *X) {
  if (kind == COMPARE_SOLVED) return sptrsm_direct_solve(d, SPTRSM_SYS_A, SPTRSM_N, NULL, B, X);
  sptrsm_refine_options o;
  sptrsm_refine_options_init(&o);
  o.solve = 1;
  return sptrsm_direct_refine(d, SPTRSM_SYS_A, SPTRSM_N, NULL, B, X, &o, NULL);
}
