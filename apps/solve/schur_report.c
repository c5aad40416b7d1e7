/* schur_report.c -- the summary and the JSON report of sptrsm-solve --schur (fields: sptrsm-solve(1)). */
#include "solve/schur.h"

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static const sptrsm_file_factors *first_of(const schur_run *r) {
  return r->batch->kind == SPTRSM_BATCH_UNIFORM || r->batch->count > 0 ? r->batch->items[0] : NULL;
}

/* S as a formula. */
static const char *form(const schur_run *r) {
  static const char *const general[] = {"C A^-1 B", "C A^-T B", "C A^-H B"};
  const sptrsm_file_factors *F = first_of(r);
  if (r->C.where) return general[r->set->problem.op];
  return F && F->factors.u_kind == SPTRSM_U_IS_LH ? "B^H A^-1 B" : "B^T A^-1 B";
}

typedef struct {
  int32_t n_least, n_most;
  int64_t rows_least, rows_most, groups;
  double reached;   /* the mean of the items */
  size_t workspace; /* the largest */
} totals;

static totals sum_up(const schur_run *r) {
  totals t = {0};
  if (r->batch->count == 0 && first_of(r)) t.n_least = t.n_most = first_of(r)->L_tri.n;
  if (r->batch->count == 0) t.rows_least = t.rows_most = r->rows[0];
  for (int64_t i = 0; i < r->batch->count; i++) {
    const schur_item *item = &r->items[i];
    const int32_t n = item->factors.F.L_tri.n;
    if (i == 0 || n < t.n_least) t.n_least = n;
    if (n > t.n_most) t.n_most = n;
    if (i == 0 || r->rows[i] < t.rows_least) t.rows_least = r->rows[i];
    if (r->rows[i] > t.rows_most) t.rows_most = r->rows[i];
    if (r->status[i].status != SPTRSM_OK) continue;
    t.groups += item->facts.groups;
    t.reached += item->facts.reached / (double)r->solved;
    if (item->facts.workspace_bytes > t.workspace) t.workspace = item->facts.workspace_bytes;
  }
  return t;
}

/* ---- for people ---- */

static bool odd_side(char out[BATCH_VALUE_TEXT], const schur_input *in, int64_t i) {
  if (in->where == NULL) return false;
  const schur_side *s = schur_side_of(in, i);
  return s->matrix ? batch_odd_entry(out, s->matrix) : batch_odd_number(out, s->block->where, &s->block->block, 0);
}

/* Which value makes S of an item not finite. */
static void explain(char out[BATCH_VALUE_TEXT], const schur_run *r, int64_t i) {
  sptrsm_file_factors F = r->items[i].factors.F;
  F.A = NULL; /* S is made without it */
  if (batch_odd_value(out, &F) || odd_side(out, &r->B, i) || odd_side(out, &r->C, i)) return;
  snprintf(out, BATCH_VALUE_TEXT, "numbers that it was computed with overflow in %s", cli_dtypes[F.L_tri.dtype]);
}

void schur_warn(const schur_run *r) {
  int64_t named = 0;
  char why[BATCH_VALUE_TEXT];
  for (int64_t i = 0; i < r->batch->count && named < NAMED_COLUMNS; i++) {
    if (r->status[i].status != SPTRSM_ERR_SINGULAR) continue;
    cli_warning("%s is singular: row %d has a zero or nonfinite diagonal; its S %s NaN; " BATCH_WAY_OUT, batch_name(r->batch, i).text,
                r->status[i].row, r->set->dry_run ? "would be" : "is");
    named++;
  }
  if (r->singular > named) cli_warning("%lld more items have no S; all are in the report (--json)", (long long)(r->singular - named));
  if (r->odd > 0) explain(why, r, r->odd_items[0]);
  if (r->odd > 0 && r->is_batch)
    cli_warning("S of %lld item%s is not finite, the first is %s: %s; " BATCH_WAY_OUT, (long long)r->odd, plural(r->odd),
                batch_name(r->batch, r->odd_items[0]).text, why);
  else if (r->odd > 0) cli_warning("S is not finite: %s", why);
  if (r->above && r->set->max_berr >= 0)
    cli_warning("the difference of S z and %s z, %s, is above --max-berr %g", form(r), cli_error_size(r->difference).text,
                r->set->max_berr);
  else if (r->above && r->odd == 0) cli_warning("the difference of S z and %s z is not a number", form(r));
}

static void print_range(FILE *f, int64_t least, int64_t most) {
  if (least == most) fprintf(f, "%lld", (long long)most);
  else fprintf(f, "%lld to %lld", (long long)least, (long long)most);
}

static void print_factors(const schur_run *r, const totals *t, FILE *f) {
  const sptrsm_file_batch *b = r->batch;
  const sptrsm_file_factors *F = first_of(r);
  fprintf(f, "factors  %s: ", cli_shown(r->is_batch ? b->where : r->set->problem.factors));
  if (r->is_batch)
    fprintf(f, "%s batch of %lld item%s, ", b->kind == SPTRSM_BATCH_UNIFORM ? "uniform" : "mixed", (long long)b->count, plural(b->count));
  if (b->count != b->file_count) fprintf(f, "of %lld from item %lld, ", (long long)b->file_count, (long long)b->first);
  fprintf(f, "n ");
  print_range(f, t->n_least, t->n_most);
  if (F) fprintf(f, ", %s\n         read as %s", cli_dtypes[F->L_tri.dtype], F->rule);
  fputc('\n', f);
}

static void print_side(const schur_input *in, const char *name, FILE *f) {
  if (in->where == NULL || in->sides == NULL || in->count == 0) return;
  const schur_side *s = &in->sides[0];
  fprintf(f, "%-9s%s: ", name, cli_shown(in->where));
  print_range(f, in->least, in->most);
  fprintf(f, " column%s%s, ", plural(in->most), in->grouped ? " an item" : "");
  if (s->matrix) fprintf(f, "%lld entries, %s\n", (long long)in->entries, s->matrix->rule);
  else fprintf(f, "dense, %s\n", s->block ? s->block->rule : "unread");
}

static void print_schur(const schur_run *r, const totals *t, FILE *f) {
  fprintf(f, "schur    S = %s%s, ", form(r), r->C.where ? "" : " (both triangles are written)");
  print_range(f, t->rows_least, t->rows_most);
  fprintf(f, " x ");
  print_range(f, r->B.least, r->B.most);
  fprintf(f, "\nreach    %.3g %% of the rows, %lld group%s of columns\n", 100 * t->reached, (long long)t->groups, plural(t->groups));
}

static void print_output(const schur_run *r, FILE *f) {
  const bool groups = r->B.grouped || r->C.grouped;
  fprintf(f, "output   %s%s", r->set->dry_run ? "would be " : "", cli_shown(r->set->out));
  if (groups && r->batch->count > 0) fprintf(f, ":/items/%s/S", cli_shown(r->batch->names[0]));
  else fprintf(f, "%s", groups ? ", which has no S" : ":/S");
  if (groups && r->batch->count > 1) fprintf(f, " and %lld more", (long long)r->batch->count - 1);
  fputc('\n', f);
}

static void print_outcome(const schur_run *r, const totals *t, FILE *f) {
  const phase_seconds *s = &r->seconds;
  fprintf(f, "time     read %s, analyse %s, ", cli_seconds(s->read).text, cli_seconds(r->analyse_seconds).text);
  if (r->set->dry_run) fprintf(f, "nothing solved (--dry-run)\n");
  else {
    fprintf(f, "solve %s", cli_seconds(s->solve).text);
    if (r->verified) fprintf(f, ", verify %s", cli_seconds(s->verify).text);
    fprintf(f, ", write %s\n", cli_seconds(s->write).text);
  }
  fprintf(f, "memory   S %s, workspace %s", cli_bytes((double)r->S_bytes).text, cli_bytes((double)t->workspace).text);
  if (r->is_batch) fprintf(f, "%s", r->set->solver.device.place == SPTRSM_HOST ? " of a thread" : " for all items");
  fprintf(f, ", peak %s\n", cli_bytes(cli_peak_bytes()).text);
  if (r->is_batch && !r->set->dry_run)
    fprintf(f, "items    %lld solved, %lld singular, %lld left out\n", (long long)r->solved, (long long)r->singular,
            (long long)r->left_out);
  if (r->worst >= 0) {
    fprintf(f, "check    S z differs from %s z by %s for a random z", form(r), cli_error_size(r->difference).text);
    if (r->is_batch) fprintf(f, " (%s)", batch_name(r->batch, r->worst).text);
    fputc('\n', f);
  }
  print_output(r, f);
}

void schur_text(const schur_run *r, FILE *f) {
  const totals t = sum_up(r);
  print_factors(r, &t, f);
  print_side(&r->B, "B", f);
  print_side(&r->C, "C", f);
  print_schur(r, &t, f);
  fprintf(f, "device   %s (%s)\n", sptrsm_context_describe(r->context), r->set->solver.reason);
  if (r->method.method) fprintf(f, "method   L: %s (%s)\n", r->method.method, r->method.reason);
  print_outcome(r, &t, f);
}

/* ---- JSON ---- */

static json_t *json_factors(const schur_run *r, const totals *t) {
  const sptrsm_file_batch *b = r->batch;
  const sptrsm_file_factors *F = first_of(r);
  return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:i, s:i, s:o}", "where",
                   cli_json_text(r->is_batch ? b->where : r->set->problem.factors), "kind",
                   cli_json_text(!r->is_batch                      ? NULL
                                 : b->kind == SPTRSM_BATCH_UNIFORM ? "uniform"
                                                                   : "mixed"),
                   "rule", cli_json_text(F ? F->rule : NULL), "count", (json_int_t)b->count, "first", (json_int_t)b->first, "file_count",
                   (json_int_t)b->file_count, "n_least", (int)t->n_least, "n_most", (int)t->n_most, "dtype",
                   cli_json_text(F ? cli_dtypes[F->L_tri.dtype] : NULL));
}

static json_t *json_side(const schur_input *in) {
  if (in->where == NULL) return json_null();
  return json_pack("{s:o, s:b, s:b, s:I, s:I, s:I}", "where", cli_json_text(in->where), "grouped", in->grouped, "dense",
                   in->sides && in->sides[0].block != NULL, "columns_least", (json_int_t)in->least, "columns_most", (json_int_t)in->most,
                   "entries", (json_int_t)in->entries);
}

static json_t *json_failures(const schur_run *r) {
  json_t *list = json_array();
  for (int64_t i = 0; i < r->batch->count; i++)
    if (r->status[i].status == SPTRSM_ERR_SINGULAR)
      json_array_append_new(list, json_pack("{s:I, s:o, s:s, s:i}", "item", (json_int_t)(r->batch->first + i), "name",
                                            cli_json_text(r->batch->names ? r->batch->names[i] : NULL), "status", "singular", "row",
                                            (int)r->status[i].row));
  return list;
}

static json_t *json_items(const schur_run *r) {
  json_t *first = json_array();
  for (int64_t i = 0; i < r->odd && i < NAMED_COLUMNS; i++)
    json_array_append_new(first, json_integer((json_int_t)(r->batch->first + r->odd_items[i])));
  return json_pack("{s:I, s:I, s:I, s:o, s:{s:I, s:o}}", "solved", (json_int_t)r->solved, "singular", (json_int_t)r->singular, "left_out",
                   (json_int_t)r->left_out, "failures", json_failures(r), "nonfinite", "count", (json_int_t)r->odd, "first", first);
}

static json_t *json_check(const schur_run *r) {
  if (r->worst < 0) return json_null();
  return json_pack("{s:o, s:I}", "difference", cli_json_number(r->difference), "worst_item", (json_int_t)(r->batch->first + r->worst));
}

json_t *schur_json(const schur_run *r, bool stored) {
  const settings *s = r->set;
  const totals t = sum_up(r);
  json_t *device = json_pack("{s:s, s:s, s:s}", "place", s->solver.device.place == SPTRSM_CUDA ? "cuda" : "host", "name",
                             sptrsm_context_describe(r->context), "reason", s->solver.reason);
  json_t *schur = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:f}", "form", form(r), "rows_least", (json_int_t)t.rows_least, "rows_most",
                            (json_int_t)t.rows_most, "columns_least", (json_int_t)r->B.least, "columns_most", (json_int_t)r->B.most,
                            "groups", (json_int_t)t.groups, "reached", t.reached);
  json_t *memory = json_pack("{s:I, s:I, s:I}", "S_bytes", (json_int_t)r->S_bytes, "workspace_bytes", (json_int_t)t.workspace, "peak_bytes",
                             (json_int_t)cli_peak_bytes());
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:i}", "program", "sptrsm-solve", "version",
                   sptrsm_version(), r->is_batch ? "batch" : "factors", json_factors(r, &t), "B", json_side(&r->B), "C", json_side(&r->C),
                   "schur", schur, "device", device, "method", cli_json_text(r->method.method), "memory", memory, "seconds",
                   seconds_json(&r->seconds, r->analyse_seconds, stored), "items", json_items(r), "check", json_check(r), "output",
                   cli_json_text(s->out), "dataset", cli_json_text(r->B.grouped || r->C.grouped ? NULL : "/S"), "dry_run", s->dry_run,
                   "exit_code", r->exit_code);
}
