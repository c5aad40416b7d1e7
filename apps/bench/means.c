/* means.c -- what a run says as a whole: geometric means of ratios, the least of them, and how good auto's choices were. */
#include <math.h>
#include <string.h>

#include "bench/table.h"

/* ---- ratios ---- */

/* Best time of a case over all methods but one; infinity without. */
static double best_but(const bench_session *s, int index, int left_out) {
  double best = INFINITY;
  for (int m = 0; m < s->args.method_count; m++) {
    int at = bench_sibling(s, index, m);
    if (m != left_out && bench_is_ok(s, at)) best = fmin(best, s->results[at].solve_ms);
  }
  return best;
}

static double ratio_of(const bench_session *s, int first, int method) {
  if (method != BENCH_BEST) return bench_ratio_baseline(s, bench_sibling(s, first, method));
  double best = best_but(s, first, 0);
  return bench_is_ok(s, first) && isfinite(best) ? s->results[first].solve_ms / best : NAN;
}

static bool fits(int wanted, int is) { return wanted == BENCH_ANY || wanted == is; }

bench_mean bench_mean_of(const bench_session *s, int method, int dtype, int op, int nrhs) {
  bench_mean m = {.mean = NAN, .least = INFINITY, .most = -INFINITY};
  double sum = 0;
  for (int first = 0; first < s->count; first += s->args.method_count) {
    const bench_id id = bench_id_of(&s->args, first);
    if (!fits(dtype, id.dtype) || !fits(op, id.op) || !fits(nrhs, id.nrhs)) continue;
    double ratio = ratio_of(s, first, method);
    if (isnan(ratio)) continue;
    m.cases++;
    sum += log(ratio);
    m.least = fmin(m.least, ratio);
    m.most = fmax(m.most, ratio);
  }
  if (m.cases > 0) m.mean = exp(sum / m.cases);
  else m.least = m.most = NAN;
  return m;
}

static int find_auto(const bench_session *s) {
  for (int m = 0; m < s->args.method_count; m++)
    if (strcmp(s->args.methods[m], "auto") == 0) return m;
  return -1;
}

bench_auto bench_auto_of(const bench_session *s) {
  bench_auto a = {0};
  const int m = find_auto(s);
  for (int first = 0; m >= 0 && first < s->count; first += s->args.method_count) {
    const int at = bench_sibling(s, first, m);
    const double best = best_but(s, first, m);
    if (!bench_is_ok(s, at) || !isfinite(best)) continue;
    a.cases++;
    a.within_10 += s->results[at].solve_ms <= 1.10 * best;
    a.within_25 += s->results[at].solve_ms <= 1.25 * best;
  }
  return a;
}

/* ---- printed ---- */

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
