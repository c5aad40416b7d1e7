/* factor_report.c -- the report of sptrsm-factor, as text and as JSON. */
#include "factor_report.h"

void factor_print(const factor_report *r, const factor_matrix *A, const factor_set *s) {
  const factor_counts *c = &r->counts;
  if (cli_quiet()) return;
  printf("%s: %s by %s (%s), ordering %s\n", r->path, s->kind, r->library, r->why, s->ordering);
  printf("  n %d, nnz(A) %lld, nnz(L) %lld, ", A->n, (long long)c->nnz_a, (long long)c->nnz_l);
  if (s->U.ptr) printf("nnz(U) %lld, ", (long long)c->nnz_u);
  printf("fill %.2f, %s\n", c->fill, cli_dtypes[s->L.dtype]);
  printf("  %.3g flops, %lld supernodes in L\n", c->flops, (long long)c->supernodes);
  printf("  analysis %s, numeric %s, all %s\n", cli_seconds(s->analysis_seconds).text, cli_seconds(s->numeric_seconds).text,
         cli_seconds(r->total_seconds).text);
}

json_t *factor_json(const factor_report *r, const factor_matrix *A, const factor_set *s) {
  const factor_counts *c = &r->counts;
  json_t *seconds = json_pack("{s:f, s:f, s:f}", "analysis", s->analysis_seconds, "numeric", s->numeric_seconds, "total", r->total_seconds);
  return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:I, s:o, s:i}", "input", A->where, "output", r->path,
                   "library", r->library, "reason", r->why, "kind", s->kind, "ordering", s->ordering, "dtype", cli_dtypes[s->L.dtype], "n",
                   (json_int_t)A->n, "nnz_a", (json_int_t)c->nnz_a, "nnz_l", (json_int_t)c->nnz_l, "nnz_u", (json_int_t)c->nnz_u, "fill",
                   cli_json_number(c->fill), "flops", cli_json_number(c->flops), "supernodes", (json_int_t)c->supernodes, "seconds",
                   seconds, "exit_code", CLI_OK);
}
