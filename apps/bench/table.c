/* table.c -- see table.h. */
#include "bench/table.h"

#include <math.h>
#include <string.h>

#include "bench/means.h"

/* ---- parts of rows ---- */

/* The first columns of a row: triangle, method, type, operation, right-hand sides. Names of ordinary length fit their columns. */
static void print_case(const bench_session *s, int index) {
  const bench_args *a = &s->args;
  const bench_id id = bench_id_of(a, index);
  const bench_result *r = &s->results[index];
  char method[200];
  const bool is_auto = strcmp(a->methods[id.method], "auto") == 0 && r->chosen[0] != '\0';
  if (is_auto) snprintf(method, sizeof method, "auto (%s)", r->chosen);
  else snprintf(method, sizeof method, "%s", a->methods[id.method]);
  fprintf(s->table, "%-25s %-25s %-4s %s %5lld ", cli_shown(s->inputs.list[id.input].shown), method, cli_dtypes[a->dtypes[id.dtype]],
          cli_ops[a->ops[id.op]], (long long)a->nrhs[id.nrhs]);
}

/* A number in a column of `width` characters; "never" for infinity, "-" for NaN. */
static void print_number(const bench_session *s, int width, int digits, double value) {
  if (isfinite(value)) fprintf(s->table, " %*.*f", width, digits, value);
  else fprintf(s->table, " %*s", width, isinf(value) ? "never" : "-");
}

static void print_bytes(const bench_session *s, int width, double bytes) { fprintf(s->table, " %*s", width, cli_bytes(bytes).text); }

/* ---- head ---- */

static void print_limits(const bench_session *s) {
  const bench_limits *l = &s->machine.limits;
  fprintf(s->table, "limits: copy %s/s read and written", cli_bytes(l->copy_bytes_per_s).text);
  if (!isnan(l->hop_s)) fprintf(s->table, ", dependency hop %.0f ns", 1e9 * l->hop_s);
  if (!isnan(l->launch_s))
    fprintf(s->table, ", kernel launch %s, %s in a graph", cli_seconds(l->launch_s).text, cli_seconds(l->graph_launch_s).text);
  if (!isnan(l->flops_per_s[0])) fprintf(s->table, ", %.0f TFLOP/s (single %.0f)", 1e-12 * l->flops_per_s[0], 1e-12 * l->flops_per_s[1]);
  fprintf(s->table, "\n");
}

void bench_table_begin(const bench_session *s) {
  static const char who[] = "triangle                  method                    type op nrhs ";
  fprintf(s->table, "machine: %s; %s\n", s->machine.device, s->machine.software);
  print_limits(s);
  if (s->args.batch > 0) fprintf(s->table, "batch: each solve is that of %lld items with one pattern\n", (long long)s->args.batch);
  if (s->args.table == TABLE_SOLVE) {
    fprintf(s->table, "median and minimum of %d repetitions, times in ms; ratio: time of %s over this one\n", s->args.reps,
            s->args.methods[0]);
    fprintf(s->table, "copy: share of the copy bandwidth; limit: share of the model limit, by bandwidth (b), hops (h) or flops (f)\n");
  }
  switch (s->args.table) {
  case TABLE_SOLVE:
    fprintf(s->table, "%s %9s %9s %6s %7s %6s %7s %8s %7s %7s\n", who, "solve", "min", "ratio", "GFLOP/s", "copy", "limit", "analysis",
            "view", "G1");
    break;
  case TABLE_PREPROCESS:
    fprintf(s->table, "analysis: a repeated one; solve: median of %d repetitions; all times in ms\n", s->args.reps);
    fprintf(s->table, "first: matrix, plan, workspace and a solve, from arrays in place; new: new values and a solve\n");
    fprintf(s->table, "%s %8s %6s %8s %7s %7s %7s %7s %7s %9s\n", who, "analysis", "view", "solve", "/ solve", "first", "/ solve", "new",
            "/ solve", "amortised");
    break;
  case TABLE_MEMORY:
    fprintf(s->table, "%s %10s %10s %10s %10s %10s %10s\n", who, "matrix", "plan", "workspace", "beyond", "cuSPARSE", "ratio");
    break;
  case TABLE_LEVELS:
    fprintf(s->table, "%-32s %2s %12s %12s %9s %13s %11s %11s %9s %8s %8s\n", "triangle", "op", "n", "nnz", "levels", "parallel: min",
            "average", "max", "row: min", "average", "max");
    break;
  case TABLE_LIMITS: break;
  }
  fflush(s->table);
}

void bench_table_triangle(const bench_session *s, int index) {
  if (s->args.table == TABLE_LEVELS || cli_quiet()) return;
  const bench_features *f = bench_features_of(s, index);
  const sptrsm_level_stats *l = bench_levels_of(s, index);
  fprintf(s->table, "%s: %s, n %d, %lld entries, %d levels, longest row %d\n",
          cli_shown(s->inputs.list[bench_id_of(&s->args, index).input].shown), cli_uplos[f->uplo], f->n, (long long)f->nnz, l->levels,
          l->max_length);
  fflush(s->table);
}

/* ---- rows ---- */

/* The share of the model limit has a letter for the model: bandwidth, hops, flops. */
static void print_solve(const bench_session *s, int index) {
  static const char letters[LIMITS] = {'b', 'h', 'f'};
  const bench_result *r = &s->results[index];
  print_number(s, 9, 4, r->solve_ms);
  print_number(s, 9, 4, r->solve_ms_min);
  print_number(s, 6, 2, bench_ratio_baseline(s, index));
  print_number(s, 7, 1, 1e-6 * r->flops / r->solve_ms);
  print_number(s, 6, 3, bench_copy_share(s, index));
  print_number(s, 6, 3, bench_limit_share(s, index));
  fputc(letters[bench_limit_of(s, index)], s->table);
  print_number(s, 8, 3, r->analysis_ms);
  print_number(s, 7, 3, r->view_ms);
  fprintf(s->table, " %7.2g", r->g1);
}

static void print_preprocess(const bench_session *s, int index) {
  const bench_result *r = &s->results[index];
  print_number(s, 8, 3, r->analysis_ms);
  print_number(s, 6, 3, r->view_ms);
  print_number(s, 8, 4, r->solve_ms);
  print_number(s, 7, 1, (r->analysis_ms + r->view_ms) / r->solve_ms);
  print_number(s, 7, 2, r->setup_ms);
  print_number(s, 7, 1, r->setup_ms / r->solve_ms);
  print_number(s, 7, 2, r->update_ms);
  print_number(s, 7, 1, r->update_ms / r->solve_ms);
  print_number(s, 9, 0, bench_amortised(s, index));
}

static void print_memory(const bench_session *s, int index) {
  const bench_result *r = &s->results[index], *its = &s->results[bench_sibling(s, index, 0)];
  const double beyond = (double)(r->plan_bytes + r->workspace_bytes), its_own = (double)(its->plan_bytes + its->workspace_bytes);
  const bool is_known = !isnan(bench_ratio_cusparse(s, index));
  print_bytes(s, 10, (double)bench_features_of(s, index)->matrix_bytes);
  print_bytes(s, 10, (double)r->plan_bytes);
  print_bytes(s, 10, (double)r->workspace_bytes);
  print_bytes(s, 10, beyond);
  if (is_known) print_bytes(s, 10, its_own);
  else print_number(s, 10, 0, NAN);
  print_number(s, 10, 2, is_known && beyond > 0 ? its_own / beyond : NAN);
}

static void print_levels(const bench_session *s, int index) {
  const bench_id id = bench_id_of(&s->args, index);
  const sptrsm_level_stats *l = bench_levels_of(s, index);
  fprintf(s->table, "%-32s %2s %12d %12lld %9d %13d %11.1f %11d %9d %8.1f %8d\n", cli_shown(s->inputs.list[id.input].shown),
          cli_ops[s->args.ops[id.op]], l->n, (long long)l->nnz, l->levels, l->min_rows, l->average_rows, l->max_rows, l->min_length,
          l->average_length, l->max_length);
}

void bench_table_row(const bench_session *s, int index) {
  if (s->args.table == TABLE_LEVELS && bench_is_ok(s, index)) {
    print_levels(s, index);
    fflush(s->table);
    return;
  }
  print_case(s, index);
  if (!bench_is_ok(s, index)) fprintf(s->table, " %s", s->results[index].status);
  else if (s->args.table == TABLE_PREPROCESS) print_preprocess(s, index);
  else if (s->args.table == TABLE_MEMORY) print_memory(s, index);
  else print_solve(s, index);
  fprintf(s->table, "\n");
  const bench_result *r = &s->results[index];
  if (cli_verbose() && bench_is_ok(s, index))
    fprintf(s->table, "  %s (%s)%s%s\n", r->chosen, r->reason[0] ? r->reason : "called directly", r->params[0] ? ": " : "", r->params);
  fflush(s->table);
}

/* ---- the end: means over the run ---- */

static void print_mean(const bench_session *s, int method, int dtype, int op, int nrhs) {
  const bench_args *a = &s->args;
  bench_mean m = bench_mean_of(s, method, dtype, op, nrhs);
  if (m.cases == 0) return;
  fprintf(s->table, "  %-40s %-4s %-2s ", method == BENCH_BEST ? "best of them" : a->methods[method],
          dtype == BENCH_ANY ? "all" : cli_dtypes[a->dtypes[dtype]], op == BENCH_ANY ? "" : cli_ops[a->ops[op]]);
  if (nrhs == BENCH_ANY) fprintf(s->table, "%6s", "all");
  else fprintf(s->table, "%6lld", (long long)a->nrhs[nrhs]);
  fprintf(s->table, " %6d %9.2f %9.2f %9.2f\n", m.cases, m.mean, m.least, m.most);
}

static void print_method(const bench_session *s, int method) {
  const bench_args *a = &s->args;
  for (int d = 0; d < a->dtype_count; d++)
    for (int o = 0; o < a->op_count; o++)
      for (int r = 0; r < a->nrhs_count; r++) print_mean(s, method, d, o, r);
  if (a->dtype_count * a->op_count * a->nrhs_count > 1) print_mean(s, method, BENCH_ANY, BENCH_ANY, BENCH_ANY);
}

static void print_ratios(const bench_session *s) {
  const bench_args *a = &s->args;
  if (bench_mean_of(s, BENCH_BEST, BENCH_ANY, BENCH_ANY, BENCH_ANY).cases == 0) return;
  fprintf(s->table, "\ngeometric mean over %s\n  %-40s %-4s %-2s %6s %6s %9s %9s %9s\n", a->methods[0], "method", "type", "op", "nrhs",
          "cases", "mean", "least", "most");
  for (int m = 1; m < a->method_count; m++) print_method(s, m);
  if (a->method_count > 2) print_method(s, BENCH_BEST);
}

/* The bottom line of Tables IV and V of [liu2017syncfree]. */
static void print_analyses(const bench_session *s) {
  fprintf(s->table, "\nharmonic mean of the repeated analysis with its view, ms\n");
  for (int m = 0; m < s->args.method_count; m++) {
    double sum = 0;
    int cases = 0;
    for (int index = m; index < s->count; index += s->args.method_count) {
      const bench_result *r = &s->results[index];
      if (!bench_is_ok(s, index) || !(r->analysis_ms + r->view_ms > 0)) continue;
      sum += 1 / (r->analysis_ms + r->view_ms);
      cases++;
    }
    if (cases > 0) fprintf(s->table, "  %-40s %6d cases %9.3f\n", s->args.methods[m], cases, cases / sum);
  }
}

void bench_table_end(const bench_session *s) {
  if (s->args.table == TABLE_LEVELS || s->args.table == TABLE_LIMITS) return;
  if (s->args.table == TABLE_PREPROCESS) print_analyses(s);
  print_ratios(s);
  bench_auto a = bench_auto_of(s);
  if (a.cases > 0)
    fprintf(s->table, "auto: within 10 %% of the best other method in %d of %d cases (%.0f %%), within 25 %% in %d (%.0f %%)\n",
            a.within_10, a.cases, 100.0 * a.within_10 / a.cases, a.within_25, 100.0 * a.within_25 / a.cases);
  fflush(s->table);
}
