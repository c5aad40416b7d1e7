/* table.c -- the rows of a run of compare_factors, and its summary. */
#include "compare/run.h"

#include <math.h>

/* The error of the first solver that has an X: errors depend on the condition of A, so the others are compared with it. */
static double first_error(const solver *list, int count) {
  int v = 0;
  while (v + 1 < count && list[v].kind == MKL) v++;
  return list[v].error;
}

static bool is_wrong(const solver *v, const solver *list, int count) {
  return v->kind != MKL && !(v->error <= 1e4 * first_error(list, count) + 1e-10);
}

static double median(const solver *v, const problem_set *p) { return bench_median(v->ms + 1, p->s->reps); }

/* The least time; the repetitions are sorted when their median has been found. */
static double least(const solver *v) { return v->ms[1]; }

/* Others are given column-major blocks, ours with the first method blocks of either layout. Least times are compared, which a busy machine
 * disturbs less than medians. */
static void add_case(compare_summary *summary, sptrsm_layout layout, const solver *list, int count, const problem_set *p) {
  compare_standing *s = &summary->layouts[layout];
  const solver *best = NULL, *own = NULL;
  for (const solver *v = list; v < list + count; v++) {
    if (is_wrong(v, list, count)) continue;
    if (v->kind == NATIVE && (best == NULL || least(v) < least(best))) best = v;
    if (own == NULL && v->kind == OWN && v->B.layout == layout) own = v;
  }
  if (best == NULL || own == NULL) return;
  double ratio = least(best) / least(own);
  s->logarithms += log(ratio);
  if (s->cases++ > 0 && s->least <= ratio) return;
  s->least = ratio;
  snprintf(s->least_case, sizeof s->least_case, "%s with the factors of %s, beside %s", p->A->where, p->library->name, best->name);
}

void print_summary(const compare_summary *summary, int64_t nrhs) {
  for (int layout = SPTRSM_COL_MAJOR; layout >= SPTRSM_ROW_MAJOR; layout--) {
    const compare_standing *s = &summary->layouts[layout];
    if (s->cases == 0) continue;
    printf("%lld right-hand side%s, %s order, %d case%s: %.2f times as fast as the best other solver (geometric mean), least %.2f: %s\n",
           (long long)nrhs, nrhs == 1 ? "" : "s", cli_orders[layout], s->cases, s->cases == 1 ? "" : "s", exp(s->logarithms / s->cases),
           s->least, s->least_case);
  }
}

bool print_rows(const solver *list, int count, const problem_set *p, compare_summary *summary) {
  double flops = 2.0 * (double)(p->set.L.ptr[p->A->n] + (p->set.U.ptr ? p->set.U.ptr[p->A->n] : p->set.L.ptr[p->A->n])) * (double)p->nrhs;
  double first = 0;
  bool good = true;
  for (int v = 0; v < count; v++) {
    double ms = median(&list[v], p);
    if (v == 0) first = ms;
    bool wrong = is_wrong(&list[v], list, count);
    good = good && !wrong;
    printf("  %-42s %10.3f %10.3f %8.2f %8.2f  ", list[v].name, ms, least(&list[v]), 1e-6 * flops / ms, first / ms);
    if (list[v].kind == MKL) printf("%9s %9s\n", "-", "-");
    else printf("%9.1e %9.1e%s\n", list[v].error, list[v].residual, wrong ? "  WRONG" : "");
  }
  add_case(summary, SPTRSM_COL_MAJOR, list, count, p);
  add_case(summary, SPTRSM_ROW_MAJOR, list, count, p);
  return good;
}
