/* report.c -- the summary and the JSON report of sptrsm-solve (the fields are described in sptrsm-solve(1)). */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solve/ranks/ranks.h"
#include "solve/solve.h"

enum { SUMMARY_WIDTH = 100 };

static const char *op_text(sptrsm_op op) { return op == SPTRSM_N ? "" : op == SPTRSM_T ? ", transposed" : ", conjugate transposed"; }

static int64_t entries(const sptrsm_sparse *T) { return T && T->ptr ? T->ptr[T->n] : 0; }

static double sparse_bytes(const sptrsm_sparse *T) {
  return T && T->ptr ? (double)entries(T) * (double)(sizeof(int32_t) + sptrsm_dtype_bytes(T->dtype)) + ((double)T->n + 1) * sizeof(int64_t)
                     : 0;
}

double run_gflops(const run *r) {
  double flops = r->solver.flops_per_rhs * (double)(r->stream.on ? r->stream.solved : r->in.B->block.nrhs);
  return r->seconds.solve > 0 ? 1e-9 * flops / r->seconds.solve : 0;
}

size_t run_bytes(const run *r) {
  const sptrsm_block *B = &r->in.B->block;
  double block = (double)B->n * (double)B->nrhs * (double)sptrsm_dtype_bytes(B->dtype), total = r->in_place ? block : 2 * block;
  double factors = sparse_bytes(r->in.factors->factors.L) + sparse_bytes(r->in.factors->factors.U), plans = 0;
  if (r->stream.on) total = (double)r->stream.bytes;
  for (int i = 0; i < r->solver.plans; i++) plans += (double)r->solver.info[i].plan_bytes;
  total += factors + plans + (double)r->solver.workspace_bytes;
  for (int k = 1; k < r->solver.members; k++) total += r->solver.place[k] == SPTRSM_HOST ? plans : 0; /* clones borrow the factors */
  return (size_t)total;
}

/* ---- summary ---- */

static void print_inputs(const run *r, FILE *f) {
  const sptrsm_file_factors *F = r->in.factors;
  const sptrsm_file_block *B = r->in.B;
  fprintf(f, "matrix   %s: n %d, ", cli_shown(r->set->problem.factors), F->L_tri.n);
  if (F->single) fprintf(f, "%s triangle with %lld entries", cli_uplos[F->L_tri.uplo], (long long)entries(&F->L_tri));
  else fprintf(f, "L %lld", (long long)entries(F->factors.L));
  if (F->factors.U) fprintf(f, " and U %lld entries", (long long)entries(F->factors.U));
  fprintf(f, ", %s\n         read as %s\n", cli_dtypes[F->L_tri.dtype], F->rule);
  if (F->source) fprintf(f, "         source: %s\n", cli_shown(F->source));
  fprintf(f, "rhs      %s: %lld column%s, %s", cli_shown(B->where), (long long)B->block.nrhs, B->block.nrhs == 1 ? "" : "s", B->rule);
  if (B->block.nrhs != B->file_nrhs)
    fprintf(f, " (of %lld, from column %lld)", (long long)B->file_nrhs, (long long)r->set->problem.io.col_begin);
  fputc('\n', f);
  if (r->in.conversion[0]) fprintf(f, "         %s\n", r->in.conversion);
}

/* The devices after the first, and what each of all did. */
static void print_others(const run *r, FILE *f) {
  for (int k = 0; k < r->solver.members && r->solver.members > 1; k++) {
    const ring_server *server = &r->stream.server[k];
    fprintf(f, "         %d: %s", k, sptrsm_context_describe(solver_member(&r->solver, k).context));
    if (r->stream.on && !r->set->dry_run)
      fprintf(f, ": %lld panel%s in %s%s", (long long)server->items, server->items == 1 ? "" : "s", cli_seconds(server->busy).text,
              server->left ? ", then left to faster ones" : "");
    fputc('\n', f);
  }
}

static void print_solver(const run *r, FILE *f) {
  const solver *s = &r->solver;
  const char *system = r->in.factors->single ? "T" : sptrsm_system_name(s->system);
  fprintf(f, "system   %s%s\n", system, op_text(s->op));
  fprintf(f, "device   %s (%s)\n", sptrsm_context_describe(s->context), r->set->solver.reason);
  print_others(r, f);
  for (int i = 0; i < s->plans; i++) {
    const sptrsm_info *p = &s->info[i];
    const char *factor = r->in.factors->single ? "T" : i == 0 && chain_has(s->system, 'L') ? "L" : "U";
    char rest[64] = ""; /* the summary is short; parameters and the full reason are printed with -v */
    if (p->levels >= 0) snprintf(rest, sizeof rest, ", %d level%s", p->levels, p->levels == 1 ? "" : "s");
    int width = SUMMARY_WIDTH - (int)(strlen("method   X:  (), panel 2147483647") + strlen(p->method) + strlen(rest));
    int part = (int)strcspn(p->reason, ":"); /* an explanation follows the colon */
    if (part > width) part = width;
    fprintf(f, "method   %s: %s (%.*s)%s, panel %d", factor, p->method, cli_verbose() ? INT_MAX : part, p->reason, rest, p->panel);
    fprintf(f, "%s%s\n", cli_verbose() && p->parameters[0] ? ", " : "", cli_verbose() ? p->parameters : "");
  }
}

static double share(int64_t part, int64_t whole) { return whole > 0 ? (double)part / (double)whole : 0; }

static void print_part(const run *r, FILE *f) {
  const part_summary *p = &r->part;
  if (!p->on) return;
  fprintf(f, "reach    %d of %d rows, %.3g %% of the entries", p->n, r->in.factors->L_tri.n, 100 * share(p->entries, p->all_entries));
  if (p->wanted.rows) fprintf(f, "; %lld row%s of X, no residual", (long long)p->wanted.count, p->wanted.count == 1 ? "" : "s");
  fputc('\n', f);
}

static cli_text ranks_text(void) {
  cli_text t = {""};
  if (ranks_count() > 1) snprintf(t.text, sizeof t.text, " by %d ranks", ranks_count());
  return t;
}

static void print_stream(const run *r, FILE *f) {
  const stream_summary *s = &r->stream;
  if (!s->on) return;
  fprintf(f, "stream   %lld column%s at a time, %d buffers, %s", (long long)s->width, s->width == 1 ? "" : "s", s->slots,
          cli_bytes((double)s->bytes).text);
  if (r->set->dry_run) fprintf(f, "\n");
  else
    fprintf(f, ", peak memory %s\n         %lld panel%s%s in %s, read %s, written %s\n", cli_bytes(cli_peak_bytes()).text,
            (long long)s->panels, s->panels == 1 ? "" : "s", ranks_text().text, cli_seconds(s->seconds).text,
            s->direct_read ? "directly" : "by HDF5", s->direct_write ? "directly" : "by HDF5");
  if (s->resumed > 0) fprintf(f, "         resumed with %lld columns done\n", (long long)s->resumed);
}

/* Where the numbers of X are, if they are in several files. */
static cli_text pieces_text(const run *r) {
  cli_text t = {""};
  if (r->stream.pieces > 0)
    snprintf(t.text, sizeof t.text, ", in %lld piece%s", (long long)r->stream.pieces, r->stream.pieces == 1 ? "" : "s");
  return t;
}

static void print_outcome(const run *r, FILE *f) {
  const phase_seconds *t = &r->seconds;
  fprintf(f, "time     read %s, analyse %s, ", cli_seconds(t->read).text, cli_seconds(r->solver.analyse_seconds).text);
  if (r->set->dry_run) {
    fprintf(f, "nothing solved (--dry-run)\nmemory   %s\noutput   would be %s:%s\n", cli_bytes((double)run_bytes(r)).text,
            cli_shown(r->set->out), cli_shown(r->x_path));
    return;
  }
  fprintf(f, "solve %s", cli_seconds(t->solve).text);
  if (r->verified) fprintf(f, ", verify %s", cli_seconds(t->verify).text);
  fprintf(f, ", write %s\n", cli_seconds(t->write).text);
  fprintf(f, "speed    %.3g GFLOP/s, memory %s\n", run_gflops(r), cli_bytes((double)run_bytes(r)).text);
  if (r->verified && r->residual.nrhs > 0) {
    fprintf(f, "error    componentwise %s (column %lld), normwise %s, against %s\n", cli_error_size(r->residual.max_berr).text,
            (long long)(r->set->problem.io.col_begin + r->residual.worst), cli_error_size(r->residual.max_normwise).text, r->in.S.name);
  }
  if (r->refined.on) refine_text(&r->refined, &r->set->refine, r->set->problem.io.col_begin, f);
  if (r->stream.left > 0)
    fprintf(f, "output   %s.part: %lld columns are left to other parts\n", cli_shown(r->set->out), (long long)r->stream.left);
  else fprintf(f, "output   %s:%s%s\n", cli_shown(r->set->out), cli_shown(r->x_path), pieces_text(r).text);
}

void report_text(const run *r, FILE *f) {
  print_inputs(r, f);
  print_solver(r, f);
  print_part(r, f);
  print_stream(r, f);
  print_outcome(r, f);
}

/* ---- JSON ---- */

static json_t *json_triangle(const sptrsm_file_matrix *M, const sptrsm_sparse *T) {
  if (M == NULL) return json_null();
  return json_pack("{s:o, s:s, s:I, s:I, s:s, s:s, s:s}", "where", cli_json_text(M->where), "rule", M->rule, "nnz", (json_int_t)entries(T),
                   "dropped", (json_int_t)M->dropped, "uplo", cli_uplos[T->uplo], "diag", T->diag == SPTRSM_UNIT ? "unit" : "nonunit",
                   "format", T->format == SPTRSM_CSR ? "csr" : "csc");
}

static json_t *json_factors(const run *r) {
  const sptrsm_file_factors *F = r->in.factors;
  return json_pack("{s:o, s:s, s:o, s:i, s:s, s:b, s:b, s:o, s:o}", "where", cli_json_text(r->set->problem.factors), "rule", F->rule,
                   "source", cli_json_text(F->source), "n", (int)F->L_tri.n, "dtype", cli_dtypes[F->L_tri.dtype], "single", F->single,
                   "has_A", F->A != NULL, "L", json_triangle(F->L, &F->L_tri), "U", json_triangle(F->U, &F->U_tri));
}

static json_t *json_rhs(const run *r) {
  const sptrsm_file_block *B = r->in.B;
  json_int_t begin = r->set->problem.io.col_begin;
  return json_pack("{s:o, s:s, s:I, s:I, s:[I, I], s:s}", "where", cli_json_text(B->where), "rule", B->rule, "nrhs",
                   (json_int_t)B->block.nrhs, "file_nrhs", (json_int_t)B->file_nrhs, "columns", begin, begin + (json_int_t)B->block.nrhs,
                   "order", cli_orders[B->block.layout]);
}

static json_t *json_plans(const run *r) {
  const solver *s = &r->solver;
  json_t *list = json_array();
  for (int i = 0; i < s->plans; i++) {
    const sptrsm_info *p = &s->info[i];
    const char *factor = r->in.factors->single ? "T" : i == 0 && chain_has(s->system, 'L') ? "L" : "U";
    json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:b, s:I, s:f, s:f, s:I}", "factor", factor, "method", p->method,
                                          "reason", p->reason, "parameters", p->parameters, "levels", (int)p->levels, "panel",
                                          (int)p->panel, "deterministic", p->deterministic, "nnz", (json_int_t)p->nnz, "analysis_seconds",
                                          p->analysis_seconds, "view_seconds", p->view_seconds, "plan_bytes", (json_int_t)p->plan_bytes));
  }
  return list;
}

static json_t *json_list(const double *values, int64_t count) {
  json_t *list = json_array();
  for (int64_t i = 0; i < count; i++) json_array_append_new(list, cli_json_number(values[i]));
  return list;
}

static json_t *json_residual(const run *r, bool per_column) {
  const residual *R = &r->residual;
  if (!r->verified || R->nrhs == 0) return json_null();
  json_t *o = json_pack("{s:s, s:o, s:o, s:I}", "against", r->in.S.name, "max_berr", cli_json_number(R->max_berr), "max_normwise",
                        cli_json_number(R->max_normwise), "worst_column", (json_int_t)(r->set->problem.io.col_begin + R->worst));
  if (R->is_triangle) {
    json_object_set_new(o, "g1", cli_json_number(R->g1));
    json_object_set_new(o, "g2", cli_json_number(R->g2));
  }
  if (per_column && R->berr) {
    json_object_set_new(o, "berr", json_list(R->berr, R->nrhs));
    json_object_set_new(o, "normwise", json_list(R->normwise, R->nrhs));
  }
  return o;
}

static json_t *json_nonfinite(const run *r) {
  json_t *first = json_array();
  for (int64_t i = 0; i < r->odd.count && i < NAMED_COLUMNS; i++)
    json_array_append_new(first, json_integer((json_int_t)(r->set->problem.io.col_begin + r->odd.columns[i])));
  return json_pack("{s:I, s:o}", "count", (json_int_t)r->odd.count, "first", first);
}

static json_t *json_part(const run *r) {
  const part_summary *p = &r->part;
  if (!p->on) return json_null();
  return json_pack("{s:i, s:I, s:I, s:o}", "rows", (int)p->n, "entries", (json_int_t)p->entries, "all_entries", (json_int_t)p->all_entries,
                   "wanted", p->wanted.rows ? json_integer((json_int_t)p->wanted.count) : json_null());
}

static json_t *json_stream(const run *r) {
  const stream_summary *s = &r->stream;
  if (!s->on) return json_null();
  return json_pack("{s:I, s:I, s:i, s:i, s:I, s:s, s:s, s:I, s:I, s:I, s:f}", "columns", (json_int_t)s->width, "panels",
                   (json_int_t)s->panels, "ranks", ranks_count(), "buffers", s->slots, "bytes", (json_int_t)s->bytes, "read",
                   s->direct_read ? "direct" : "hdf5", "written", s->direct_write ? "direct" : "hdf5", "resumed", (json_int_t)s->resumed,
                   "left", (json_int_t)s->left, "pieces", (json_int_t)s->pieces, "seconds", s->seconds);
}

json_t *seconds_json(const phase_seconds *t, double analyse_seconds, bool stored) {
  json_t *o = json_pack("{s:f, s:f, s:f, s:f}", "read", t->read, "analyse", analyse_seconds, "solve", t->solve, "verify", t->verify);
  if (stored) return o;
  json_object_set_new(o, "write", json_real(t->write));
  json_object_set_new(o, "total", json_real(t->total));
  return o;
}

/* All devices, the first one too, with what each did. */
static json_t *json_devices(const run *r) {
  json_t *list = json_array();
  for (int k = 0; k < r->solver.members; k++) {
    const ring_server *server = &r->stream.server[k];
    json_array_append_new(list, json_pack("{s:s, s:I, s:f, s:b}", "name", sptrsm_context_describe(solver_member(&r->solver, k).context),
                                          "panels", (json_int_t)server->items, "seconds", server->busy, "left", server->left));
  }
  return list;
}

json_t *report_json(const run *r, bool stored) {
  const solver *s = &r->solver;
  json_t *device = json_pack("{s:s, s:s, s:s}", "place", r->set->solver.device.place == SPTRSM_CUDA ? "cuda" : "host", "name",
                             sptrsm_context_describe(s->context), "reason", r->set->solver.reason);
  json_t *memory = json_pack("{s:I, s:I, s:I}", "total_bytes", (json_int_t)run_bytes(r), "workspace_bytes", (json_int_t)s->workspace_bytes,
                             "peak_bytes", (json_int_t)cli_peak_bytes());
  json_t *refined = refine_json(&r->refined, &r->set->refine, r->in.B->block.nrhs, r->set->problem.io.col_begin,
                                !stored && !r->set->dry_run && !r->stream.on);
  return json_pack(
      "{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:[f, f], s:o, s:o, s:o, s:o, s:o, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:b, "
      "s:i}",
      "program", "sptrsm-solve", "version", sptrsm_version(), "factors", json_factors(r), "rhs", json_rhs(r), "conversion",
      r->in.conversion, "system", sptrsm_system_name(s->system), "op", cli_ops[s->op], "alpha", r->set->problem.alpha[0],
      r->set->problem.alpha[1], "device", device, "devices", s->members > 1 ? json_devices(r) : json_null(), "plans", json_plans(r),
      "memory", memory, "stream", json_stream(r), "seconds", seconds_json(&r->seconds, r->solver.analyse_seconds, stored), "flops_per_rhs",
      s->flops_per_rhs, "gflops", run_gflops(r), "reach", json_part(r), "residual", json_residual(r, !stored), "refinement", refined,
      "nonfinite_columns", json_nonfinite(r), "output", cli_json_text(r->set->out), "dataset", cli_json_text(r->x_path), "dry_run",
      r->set->dry_run, "exit_code", r->exit_code);
}
