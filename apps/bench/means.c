/* means.c -- see means.h. */
#include "bench/means.h"

#include <math.h>
#include <string.h>

/* ---- ratios ---- */

/* The least time of a case over all methods but one; infinity if there is none. */
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

double bench_amortised(const bench_session *s, int index) {
  const int other = bench_sibling(s, index, 0);
  if (isnan(bench_ratio_cusparse(s, index)) || other == index) return NAN;
  const bench_result *mine = &s->results[index], *its = &s->results[other];
  double more = mine->analysis_ms + mine->view_ms - its->analysis_ms - its->view_ms, gain = its->solve_ms - mine->solve_ms;
  if (isnan(more)) return NAN;
  if (more <= 0) return 0;
  return gain > 0 ? ceil(more / gain) : INFINITY;
}
