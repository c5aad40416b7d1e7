/* batch_report.c -- the summary and the JSON report of sptrsm-solve with a batch (fields: sptrsm-solve(1)). */
#include "solve/batch.h"

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static int64_t entries_of(const sptrsm_sparse *T) { return T->n > 0 ? T->ptr[T->n] : 0; }

/* Entries of the triangles of all sets that were read: of a uniform batch, those of its pattern. */
static int64_t entries(const sptrsm_file_batch *b) {
  int64_t sum = 0;
  for (int64_t i = 0; i < (b->kind == SPTRSM_BATCH_UNIFORM ? 1 : b->count); i++) {
    const sptrsm_file_factors *F = b->items[i];
    sum += entries_of(&F->L_tri) + (F->U ? entries_of(&F->U_tri) : 0);
  }
  return sum;
}

static const char *kind_name(const sptrsm_file_batch *b) { return b->kind == SPTRSM_BATCH_UNIFORM ? "uniform" : "mixed"; }

static const sptrsm_file_factors *first_of(const sptrsm_file_batch *b) {
  return b->kind == SPTRSM_BATCH_UNIFORM || b->count > 0 ? b->items[0] : NULL;
}

static void column_range(const batch_run *r, int64_t *least, int64_t *most) {
  *least = *most = r->in.B->block.nrhs_of ? 0 : r->in.B->block.nrhs;
  for (int64_t i = 0; r->in.B->block.nrhs_of && i < r->in.B->count; i++) {
    const int64_t nrhs = r->in.B->block.nrhs_of[i];
    if (i == 0 || nrhs < *least) *least = nrhs;
    if (nrhs > *most) *most = nrhs;
  }
}

/* ---- for people ---- */

/* Whether B of the item has a value that is not finite. X may have taken its place; then B is read again, and out says if it can't be. */
static bool odd_rhs(char out[BATCH_VALUE_TEXT], const batch_run *r, int64_t i) {
  const problem_request *p = &r->set->problem;
  const sptrsm_file_blocks *B = r->in.B;
  sptrsm_file_blocks *again = NULL;
  sptrsm_io_options io = p->io;
  char *file = cli_file_of(p->rhs), *where = NULL;
  io.dtype = (int)B->block.dtype;
  const bool in_place = r->array == NULL && r->data_of == NULL;
  bool good = file && asprintf(&where, "%s:%s", file, B->paths ? B->paths[i] : B->path) >= 0;
  if (good && in_place && sptrsm_file_blocks_load(&again, p->rhs, "B", r->in.factors, &io) != SPTRSM_OK) {
    snprintf(out, BATCH_VALUE_TEXT, "a value of the factors or of B, which can't be read again (%s)", sptrsm_last_error());
  } else {
    const sptrsm_block block = batch_block_of(&r->in, again ? &again->block : &B->block, i);
    good = good && batch_odd_number(out, where, &block, p->io.col_begin);
  }
  sptrsm_file_blocks_free(again);
  if (file) free(where);
  free(file);
  return good;
}

/* Which value makes the solution of an item not finite, or its error not a number, for which A counts, too. */
static void explain(char out[BATCH_VALUE_TEXT], const batch_run *r, int64_t i, bool is_error) {
  batch_item item;
  batch_item_of(&item, r->in.factors, i);
  if (!is_error) item.F.A = NULL;
  if (batch_odd_value(out, &item.F) || odd_rhs(out, r, i)) return;
  snprintf(out, BATCH_VALUE_TEXT, "numbers that it was computed with overflow in %s", cli_dtypes[item.F.L_tri.dtype]);
}

void batch_warn(const batch_run *r) {
  const sptrsm_file_batch *b = r->in.factors;
  int64_t named = 0;
  char why[BATCH_VALUE_TEXT];
  for (int64_t i = 0; i < b->count && named < NAMED_COLUMNS; i++) {
    if (r->status[i].status != SPTRSM_ERR_SINGULAR) continue;
    cli_warning("%s is singular: row %d has a zero or nonfinite diagonal; its solution %s NaN; " BATCH_WAY_OUT, batch_name(b, i).text,
                r->status[i].row, r->set->dry_run ? "would be" : "is");
    named++;
  }
  if (r->singular > named)
    cli_warning("%lld more items have no solution; all are in the report (--json)", (long long)(r->singular - named));
  if (r->odd > 0) {
    explain(why, r, r->odd_items[0], false);
    cli_warning("solutions of %lld item%s are not finite, the first is %s: %s; " BATCH_WAY_OUT, (long long)r->odd, plural(r->odd),
                batch_name(b, r->odd_items[0]).text, why);
  }
  if (r->unjudged > 0) {
    explain(why, r, r->unjudged_items[0], true);
    cli_warning("backward errors of %lld item%s are not a number, the first is %s: %s; " BATCH_WAY_OUT, (long long)r->unjudged,
                plural(r->unjudged), batch_name(b, r->unjudged_items[0]).text, why);
  }
  if (r->set->max_berr >= 0 && r->worst_item >= 0 && !(r->max_berr <= r->set->max_berr))
    cli_warning("backward error %s of %s, column %lld, is above --max-berr %g", cli_error_size(r->max_berr).text,
                batch_name(b, r->worst_item).text, (long long)(r->set->problem.io.col_begin + r->worst_column), r->set->max_berr);
}

static void print_inputs(const batch_run *r, FILE *f) {
  const sptrsm_file_batch *b = r->in.factors;
  const sptrsm_file_factors *F = first_of(b);
  int64_t least, most;
  fprintf(f, "factors  %s: %s batch of %lld item%s", cli_shown(b->where), kind_name(b), (long long)b->count, plural(b->count));
  if (b->count != b->file_count) fprintf(f, " (of %lld, from item %lld)", (long long)b->file_count, (long long)b->first);
  if (r->in.n_least == r->in.n_most) fprintf(f, ", n %d", r->in.n_most);
  else fprintf(f, ", n %d to %d", r->in.n_least, r->in.n_most);
  fprintf(f, ", %lld entries%s", (long long)entries(b), b->kind == SPTRSM_BATCH_UNIFORM ? " each" : "");
  if (F) fprintf(f, ", %s\n         read as %s", cli_dtypes[F->L_tri.dtype], F->rule);
  column_range(r, &least, &most);
  fprintf(f, "\nrhs      %s: ", cli_shown(r->in.B->where));
  if (least == most)
    fprintf(f, "%lld column%s%s, %s", (long long)most, plural(most),
            r->in.B->path && r->in.B->block.stride == 0 && b->count > 1 ? " for all items" : " an item", r->in.B->rule);
  else fprintf(f, "%lld to %lld columns, %s", (long long)least, (long long)most, r->in.B->rule);
  fprintf(f, "\n%s%s%s", r->in.system.conversion[0] ? "         " : "", r->in.system.conversion, r->in.system.conversion[0] ? "\n" : "");
}

static void print_outcome(const batch_run *r, FILE *f) {
  const phase_seconds *t = &r->seconds;
  const size_t bytes = r->facts.batch_bytes + r->facts.workspace_bytes;
  fprintf(f, "time     read %s, analyse %s, ", cli_seconds(t->read).text, cli_seconds(r->analyse_seconds).text);
  if (r->set->dry_run) {
    fprintf(f, "nothing solved (--dry-run)\nmemory   %s\noutput   would be %s\n", cli_bytes((double)bytes).text, cli_shown(r->set->out));
    return;
  }
  fprintf(f, "solve %s", cli_seconds(t->solve).text);
  if (r->verified) fprintf(f, ", verify %s", cli_seconds(t->verify).text);
  fprintf(f, ", write %s\nmemory   %s\n", cli_seconds(t->write).text, cli_bytes((double)bytes).text);
  fprintf(f, "items    %lld solved, %lld singular, %lld left out\n", (long long)r->solved, (long long)r->singular, (long long)r->left_out);
  if (r->worst_item >= 0)
    fprintf(f, "error    componentwise %s (%s, column %lld), normwise %s, against %s\n", cli_error_size(r->max_berr).text,
            batch_name(r->in.factors, r->worst_item).text, (long long)(r->set->problem.io.col_begin + r->worst_column),
            cli_error_size(r->max_normwise).text, r->against);
  const int64_t count = r->in.factors->count;
  if (r->x_path || count > 0) fprintf(f, "output   %s:%s", cli_shown(r->set->out), cli_shown(r->x_path ? r->x_path : r->x_paths[0]));
  else fprintf(f, "output   %s, which has no solutions", cli_shown(r->set->out));
  if (r->x_path == NULL && count > 1) fprintf(f, " and %lld more", (long long)count - 1);
  fputc('\n', f);
}

void batch_report_text(const batch_run *r, FILE *f) {
  const problem_request *p = &r->set->problem;
  const sptrsm_file_factors *F = first_of(r->in.factors);
  print_inputs(r, f);
  fprintf(f, "system   %s%s\n", F && F->single ? "T" : sptrsm_system_name(p->system),
          p->op == SPTRSM_N   ? ""
          : p->op == SPTRSM_T ? ", transposed"
                              : ", conjugate transposed");
  fprintf(f, "device   %s (%s)\n", sptrsm_context_describe(r->context), r->set->solver.reason);
  if (r->facts.method[0])
    fprintf(f, "method   %s (%s), panel %d, %lld pattern%s\n", r->facts.method, r->facts.reason, r->facts.panel,
            (long long)r->facts.patterns, plural(r->facts.patterns));
  print_outcome(r, f);
}

/* ---- JSON ---- */

static json_t *json_factors(const batch_run *r) {
  const sptrsm_file_batch *b = r->in.factors;
  const sptrsm_file_factors *F = first_of(b);
  return json_pack("{s:o, s:s, s:o, s:I, s:I, s:I, s:i, s:i, s:o, s:o, s:b, s:b, s:I, s:I}", "where", cli_json_text(b->where), "kind",
                   kind_name(b), "rule", cli_json_text(F ? F->rule : NULL), "count", (json_int_t)b->count, "first", (json_int_t)b->first,
                   "file_count", (json_int_t)b->file_count, "n_least", (int)r->in.n_least, "n_most", (int)r->in.n_most, "source",
                   cli_json_text(F ? F->source : NULL), "dtype", cli_json_text(F ? cli_dtypes[F->L_tri.dtype] : NULL), "single",
                   F ? F->single : 0, "has_A", F && F->A, "nnz", (json_int_t)entries(b), "patterns", (json_int_t)r->facts.patterns);
}

static json_t *json_rhs(const batch_run *r) {
  const sptrsm_file_blocks *B = r->in.B;
  int64_t least, most;
  column_range(r, &least, &most);
  return json_pack("{s:o, s:s, s:I, s:I, s:I, s:b, s:s}", "where", cli_json_text(B->where), "rule", B->rule, "nrhs_least",
                   (json_int_t)least, "nrhs_most", (json_int_t)most, "file_nrhs", (json_int_t)B->file_nrhs, "shared",
                   B->paths == NULL && B->block.stride == 0, "order", cli_orders[B->block.layout]);
}

static json_t *json_failures(const batch_run *r) {
  const sptrsm_file_batch *b = r->in.factors;
  json_t *list = json_array();
  for (int64_t i = 0; i < b->count; i++) {
    const sptrsm_item_status *s = &r->status[i];
    if (s->status != SPTRSM_ERR_SINGULAR) continue;
    json_array_append_new(list, json_pack("{s:I, s:o, s:s, s:i}", "item", (json_int_t)(b->first + i), "name",
                                          cli_json_text(b->names ? b->names[i] : NULL), "status", "singular", "row", (int)s->row));
  }
  return list;
}

static json_t *json_named(const batch_run *r, int64_t count, const int64_t items[NAMED_COLUMNS]) {
  json_t *first = json_array();
  for (int64_t i = 0; i < count && i < NAMED_COLUMNS; i++)
    json_array_append_new(first, json_integer((json_int_t)(r->in.factors->first + items[i])));
  return json_pack("{s:I, s:o}", "count", (json_int_t)count, "first", first);
}

static json_t *json_items(const batch_run *r) {
  return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "solved", (json_int_t)r->solved, "singular", (json_int_t)r->singular, "left_out",
                   (json_int_t)r->left_out, "failures", json_failures(r), "nonfinite", json_named(r, r->odd, r->odd_items), "unjudged",
                   json_named(r, r->unjudged, r->unjudged_items));
}

static json_t *json_residual(const batch_run *r) {
  if (!r->verified || r->worst_item < 0) return json_null();
  return json_pack("{s:s, s:o, s:o, s:I, s:I}", "against", r->against, "max_berr", cli_json_number(r->max_berr), "max_normwise",
                   cli_json_number(r->max_normwise), "worst_item", (json_int_t)(r->in.factors->first + r->worst_item), "worst_column",
                   (json_int_t)(r->set->problem.io.col_begin + r->worst_column));
}

json_t *batch_report_json(const batch_run *r, bool stored) {
  const settings *s = r->set;
  json_t *device = json_pack("{s:s, s:s, s:s}", "place", s->solver.device.place == SPTRSM_CUDA ? "cuda" : "host", "name",
                             sptrsm_context_describe(r->context), "reason", s->solver.reason);
  json_t *method = json_pack("{s:s, s:s, s:i, s:b}", "method", r->facts.method, "reason", r->facts.reason, "panel", (int)r->facts.panel,
                             "deterministic", r->facts.deterministic);
  json_t *memory = json_pack("{s:I, s:I, s:I}", "batch_bytes", (json_int_t)r->facts.batch_bytes, "workspace_bytes",
                             (json_int_t)r->facts.workspace_bytes, "peak_bytes", (json_int_t)cli_peak_bytes());
  return json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:s, s:[f, f], s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i}", "program",
                   "sptrsm-solve", "version", sptrsm_version(), "batch", json_factors(r), "rhs", json_rhs(r), "conversion",
                   r->in.system.conversion, "system", sptrsm_system_name(s->problem.system), "op", cli_ops[s->problem.op], "alpha",
                   s->problem.alpha[0], s->problem.alpha[1], "device", device, "plan", method, "memory", memory, "seconds",
                   seconds_json(&r->seconds, r->analyse_seconds, stored), "items", json_items(r), "residual", json_residual(r), "output",
                   cli_json_text(s->out), "dataset", cli_json_text(r->x_path), "dry_run", s->dry_run, "exit_code", r->exit_code);
}
