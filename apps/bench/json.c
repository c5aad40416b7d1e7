/* json.c -- see json.h. */
#include "bench/json.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "bench/means.h"

/* ---- one measurement ---- */

static json_t *whole(double value) { return isfinite(value) ? json_integer((json_int_t)value) : json_null(); }

static void add_features(json_t *o, const bench_session *s, int index) {
  const bench_features *f = bench_features_of(s, index);
  const sptrsm_level_stats *l = bench_levels_of(s, index);
  const bool is_known = f->n >= 0;
  const double none = is_known ? 1 : NAN;
  json_object_set_new(o, "n", whole(none * f->n));
  json_object_set_new(o, "nnz", whole(none * (double)f->nnz));
  json_object_set_new(o, "levels", whole(none * l->levels));
  json_object_set_new(o, "chain", cli_json_number(none * bench_chain(s, index)));
  json_object_set_new(o, "rows_min", whole(none * l->min_rows));
  json_object_set_new(o, "rows_average", cli_json_number(none * l->average_rows));
  json_object_set_new(o, "rows_max", whole(none * l->max_rows));
  json_object_set_new(o, "max_row", whole(none * l->max_length));
  json_object_set_new(o, "matrix_bytes", whole(none * (double)f->matrix_bytes));
}

/* The figures of a measurement, null where it was not made. A wrong solution has errors, but no times. */
static void add_figures(json_t *o, const bench_session *s, int index) {
  static const char *const limits[LIMITS] = {"bandwidth", "hops", "flops"};
  const bench_result *r = &s->results[index];
  const bool is_wrong = strncmp(r->status, "wrong", 5) == 0, is_timed = bench_is_ok(s, index) && s->args.table != TABLE_LEVELS;
  const bool is_measured = is_timed || is_wrong;
  const double none = is_measured ? 1 : NAN, no_time = is_timed ? 1 : NAN;
  json_object_set_new(o, "analysis_first_ms", cli_json_number(none * r->analysis_first_ms));
  json_object_set_new(o, "analysis_ms", cli_json_number(none * r->analysis_ms));
  json_object_set_new(o, "view_ms", cli_json_number(none * r->view_ms));
  json_object_set_new(o, "setup_ms", cli_json_number(no_time * r->setup_ms));
  json_object_set_new(o, "update_ms", cli_json_number(no_time * r->update_ms));
  json_object_set_new(o, "solve_ms", cli_json_number(no_time * r->solve_ms));
  json_object_set_new(o, "solve_ms_min", cli_json_number(no_time * r->solve_ms_min));
  json_object_set_new(o, "gflops", cli_json_number(no_time * 1e-6 * r->flops / r->solve_ms));
  json_object_set_new(o, "reps", json_integer(is_measured ? s->args.reps : 0));
  json_object_set_new(o, "plan_bytes", whole(none * (double)r->plan_bytes));
  json_object_set_new(o, "workspace_bytes", whole(none * (double)r->workspace_bytes));
  json_object_set_new(o, "g1", cli_json_number(none * r->g1));
  json_object_set_new(o, "spread", cli_json_number(none * r->spread));
  json_object_set_new(o, "deterministic", is_measured ? json_boolean(r->deterministic) : json_null());
  json_object_set_new(o, "ratio_cusparse", cli_json_number(bench_ratio_cusparse(s, index)));
  json_object_set_new(o, "ratio_baseline", cli_json_number(bench_ratio_baseline(s, index)));
  json_object_set_new(o, "limit_share", cli_json_number(bench_limit_share(s, index)));
  json_object_set_new(o, "limit_by", is_timed ? json_string(limits[bench_limit_of(s, index)]) : json_null());
  json_object_set_new(o, "copy_share", cli_json_number(bench_copy_share(s, index)));
  json_object_set_new(o, "amortised_solves", cli_json_number(bench_amortised(s, index)));
}

static json_t *json_of(const bench_session *s, int index) {
  const bench_args *a = &s->args;
  const bench_id id = bench_id_of(a, index);
  const bench_input *in = &s->inputs.list[id.input];
  const bench_result *r = &s->results[index];
  json_t *o = json_object();
  json_object_set_new(o, "file", cli_json_text(in->file));
  json_object_set_new(o, "group", cli_json_text(in->group));
  add_features(o, s, index);
  json_object_set_new(o, "method", cli_json_text(a->methods[id.method]));
  json_object_set_new(o, "params", cli_json_text(r->params));
  json_object_set_new(o, "chosen", cli_json_text(r->chosen));
  json_object_set_new(o, "reason", cli_json_text(r->reason));
  json_object_set_new(o, "dtype", json_string(cli_dtypes[a->dtypes[id.dtype]]));
  json_object_set_new(o, "op", json_string(cli_ops[a->ops[id.op]]));
  json_object_set_new(o, "nrhs", json_integer((json_int_t)a->nrhs[id.nrhs]));
  add_figures(o, s, index);
  json_object_set_new(o, "status", cli_json_text(r->status));
  return o;
}

/* ---- the run ---- */

static json_t *machine_of(const bench_session *s) {
  char date[32] = "";
  time_t now = time(NULL);
  struct tm utc;
  if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_pack("{s:s s:s s:s s:o s:s s:i s:i s:f}", "place", s->machine.place == SPTRSM_CUDA ? "cuda" : "host", "device",
                   s->machine.device, "tuned_as", s->machine.tuned, "software", cli_json_text(s->machine.software), "date", date, "threads",
                   s->args.threads, "reps", s->args.reps, "seconds", s->seconds);
}

static json_t *limits_of(const bench_limits *l) {
  return json_pack("{s:o s:o s:o s:o s:o s:o}", "copy_gb_s", cli_json_number(1e-9 * l->copy_bytes_per_s), "hop_ns",
                   cli_json_number(1e9 * l->hop_s), "launch_us", cli_json_number(1e6 * l->launch_s), "graph_launch_us",
                   cli_json_number(1e6 * l->graph_launch_s), "f64_tflops", cli_json_number(1e-12 * l->flops_per_s[0]), "f32_tflops",
                   cli_json_number(1e-12 * l->flops_per_s[1]));
}

static void add_mean(json_t *list, const bench_session *s, int method, int dtype, int op, int nrhs) {
  const bench_args *a = &s->args;
  bench_mean m = bench_mean_of(s, method, dtype, op, nrhs);
  if (m.cases == 0) return;
  json_array_append_new(list, json_pack("{s:s s:o s:o s:o s:i s:f s:f s:f}", "method", method == BENCH_BEST ? "best" : a->methods[method],
                                        "dtype", dtype == BENCH_ANY ? json_null() : json_string(cli_dtypes[a->dtypes[dtype]]), "op",
                                        op == BENCH_ANY ? json_null() : json_string(cli_ops[a->ops[op]]), "nrhs",
                                        nrhs == BENCH_ANY ? json_null() : json_integer((json_int_t)a->nrhs[nrhs]), "cases", m.cases, "mean",
                                        m.mean, "least", m.least, "most", m.most));
}

static void add_means(json_t *list, const bench_session *s, int method) {
  const bench_args *a = &s->args;
  for (int d = 0; d < a->dtype_count; d++)
    for (int o = 0; o < a->op_count; o++)
      for (int r = 0; r < a->nrhs_count; r++) add_mean(list, s, method, d, o, r);
  add_mean(list, s, method, BENCH_ANY, BENCH_ANY, BENCH_ANY);
}

static json_t *means_of(const bench_session *s) {
  json_t *list = json_array();
  add_means(list, s, BENCH_BEST);
  for (int m = 1; m < s->args.method_count; m++) add_means(list, s, m);
  return list;
}

json_t *bench_json(const bench_session *s) {
  const bench_auto chosen = bench_auto_of(s);
  json_t *results = json_array();
  for (int index = 0; index < s->count; index++) json_array_append_new(results, json_of(s, index));
  return json_pack("{s:i s:o s:o s:I s:s s:o s:o s:{s:i s:i s:i}}", "schema", 1, "machine", machine_of(s), "limits",
                   limits_of(&s->machine.limits), "batch", (json_int_t)s->args.batch, "baseline", s->args.methods[0], "results", results,
                   "means", means_of(s), "auto", "cases", chosen.cases, "within_10", chosen.within_10, "within_25", chosen.within_25);
}

/* ---- CSV: the same keys in the same order, a text line for each measurement ---- */

static void put_csv(FILE *f, const char *text) {
  const bool is_plain = text[strcspn(text, ",\"\n\r")] == '\0';
  if (!is_plain) fputc('"', f);
  for (const char *c = text; *c; c++) {
    if (*c == '"') fputc('"', f);
    fputc(*c, f);
  }
  if (!is_plain) fputc('"', f);
}

static void put_value_of(FILE *f, const json_t *value) {
  if (json_is_string(value)) put_csv(f, json_string_value(value));
  if (json_is_integer(value)) fprintf(f, "%lld", (long long)json_integer_value(value));
  if (json_is_real(value)) fprintf(f, "%.9g", json_real_value(value));
  if (json_is_boolean(value)) fputs(json_is_true(value) ? "true" : "false", f);
}

int bench_csv_write(const bench_session *s, const char *path) {
  errno = 0;
  FILE *f = fopen(path, "w");
  for (int index = -1; f && index < s->count; index++) { /* the first line: names */
    json_t *o = s->count > 0 ? json_of(s, index < 0 ? 0 : index) : NULL, *value;
    const char *key, *comma = "";
    json_object_foreach(o, key, value) {
      fputs(comma, f);
      comma = ",";
      if (index < 0) fputs(key, f);
      else put_value_of(f, value);
    }
    if (o) fputc('\n', f);
    json_decref(o);
  }
  bool good = f && !ferror(f);
  if (f && fclose(f) != 0) good = false;
  if (good) return CLI_OK;
  cli_error("%s: can't write: %s", path, strerror(errno));
  return CLI_IO;
}
