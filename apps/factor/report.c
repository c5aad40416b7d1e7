/* report.c -- the report of sptrsm-factor, as text and as JSON. */
#include "factor/report.h"

void factor_print(FILE *f, const factor_report *r, const factor_matrix *A, const factor_set *s) {
  const factor_counts *c = &r->counts;
  fprintf(f, "%s: %s by %s (%s), ordering %s\n", cli_shown(r->path), s->kind, r->library, r->why, s->ordering);
  fprintf(f, "  n %d, nnz(A) %lld, nnz(L) %lld, ", A->n, (long long)c->nnz_a, (long long)c->nnz_l);
  if (s->U.ptr) fprintf(f, "nnz(U) %lld, ", (long long)c->nnz_u);
  fprintf(f, "fill %.2f, %s\n", c->fill, cli_dtypes[s->L.dtype]);
  if (r->check.done)
    fprintf(f, "  condition at least %.2e (1-norm), %.2e with rows scaled; test solve: backward error %s, componentwise %s\n",
            r->check.condition, r->check.scaled_condition, cli_error_size(r->check.backward).text,
            cli_error_size(r->check.componentwise).text);
  fprintf(f, "  %.3g flops, %lld supernodes in L\n", c->flops, (long long)c->supernodes);
  fprintf(f, "  analysis %s, numeric %s, ", cli_seconds(s->analysis_seconds).text, cli_seconds(s->numeric_seconds).text);
  if (r->check.done) fprintf(f, "check %s, ", cli_seconds(r->check.seconds).text);
  fprintf(f, "with reading and writing %s\n", cli_seconds(r->total_seconds).text);
}

static json_t *checked(const factor_verdict *v, double number) { return v->done ? cli_json_number(number) : json_null(); }

json_t *factor_json(const factor_report *r, const factor_matrix *A, const factor_set *s) {
  const factor_counts *c = &r->counts;
  const factor_verdict *v = &r->check;
  json_t *report = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:s, s:s, s:i}", "program", "sptrsm-factor", "version", sptrsm_version(),
                             "input", cli_json_text(A->where), "output", cli_json_text(r->path), "library", r->library, "reason", r->why,
                             "kind", s->kind, "ordering", s->ordering, "dtype", cli_dtypes[s->L.dtype], "n", A->n);
  json_t *counts = json_pack("{s:I, s:I, s:I, s:o, s:o, s:I}", "nnz_a", (json_int_t)c->nnz_a, "nnz_l", (json_int_t)c->nnz_l, "nnz_u",
                             (json_int_t)c->nnz_u, "fill", cli_json_number(c->fill), "flops", cli_json_number(c->flops), "supernodes",
                             (json_int_t)c->supernodes);
  json_t *seconds = json_pack("{s:f, s:f, s:f, s:f}", "analysis", s->analysis_seconds, "numeric", s->numeric_seconds, "check", v->seconds,
                              "total", r->total_seconds);
  json_t *rest = json_pack("{s:o, s:o, s:o, s:o, s:o, s:i}", "condition", checked(v, v->condition), "scaled_condition",
                           checked(v, v->scaled_condition), "backward_error", checked(v, v->backward), "componentwise_error",
                           checked(v, v->componentwise), "seconds", seconds, "exit_code", r->exit_code);
  bool good = report && counts && rest && json_object_update(report, counts) == 0 && json_object_update(report, rest) == 0;
  json_decref(counts);
  json_decref(rest);
  if (good) return report;
  json_decref(report);
  return NULL;
}
