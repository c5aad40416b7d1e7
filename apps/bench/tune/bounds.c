/* bounds.c -- see bounds.h. */
#include "bench/tune/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TRIANGLES = 2 };
static const double LEAST_GAIN = 1.03;

/* ---- the row that a table takes ---- */

static bool within(const sptrsm_auto_row *row, int f, double value) {
  return (row->least[f] == 0 || value >= row->least[f]) && (row->most[f] == 0 || value <= row->most[f]);
}

static bool holds_but(const sptrsm_auto_row *row, const double *features, int left_out) {
  bool all = true;
  for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++) all = all && (f == left_out || within(row, f, features[f]));
  return all;
}

int tune_row_of(const sptrsm_auto_row *rows, int count, const tune_case *c) {
  for (int r = 0; r < count; r++)
    if (isfinite(c->ms[r]) && holds_but(&rows[r], c->features, -1)) return r;
  return -1;
}

double tune_loss_of(const sptrsm_auto_row *rows, int count, const tune_case *c) {
  const int taken = tune_row_of(rows, count, c);
  double best = INFINITY;
  for (int r = 0; r < count; r++)
    if (isfinite(c->ms[r])) best = fmin(best, c->ms[r]);
  return taken >= 0 ? c->ms[taken] / best : NAN;
}

double tune_loss(const sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count) {
  double sum = 0;
  int counted = 0;
  for (int c = 0; c < case_count; c++) {
    const double loss = tune_loss_of(rows, count, &cases[c]);
    if (isfinite(loss)) sum += log(loss), counted++;
  }
  return counted > 0 ? exp(sum / counted) : NAN;
}

/* ---- where a bound may go ---- */

typedef struct {
  sptrsm_auto_row *rows;
  int count;
  const tune_case *cases;
  int case_count;
  double *values; /* [case_count], scratch */
} search;

static double *bound_of(sptrsm_auto_row *row, int f, bool is_upper) { return is_upper ? &row->most[f] : &row->least[f]; }

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Distinct values of feature f, ascending, in the cases that reach a row and keep its other bounds -> s->values. Returns their number. */
static int values_at(const search *s, int row, int f) {
  int found = 0, kept = 0;
  double *values = s->values;
  for (int c = 0; c < s->case_count; c++) {
    const tune_case *now = &s->cases[c];
    const bool comes = tune_row_of(s->rows, row, now) < 0 && isfinite(now->ms[row]);
    if (comes && isfinite(now->features[f]) && holds_but(&s->rows[row], now->features, f)) values[found++] = now->features[f];
  }
  qsort(values, (size_t)found, sizeof *values, ascending);
  for (int v = 0; v < found; v++)
    if (kept == 0 || values[v] != values[kept - 1]) values[kept++] = values[v];
  return kept;
}

/* A short number between low and high: their geometric mean, to two digits or to as many as are needed. */
static double between(double low, double high) {
  const double middle = low > 0 ? sqrt(low * high) : high / 2;
  for (int digits = 1; digits < 15; digits++) {
    const double unit = pow(10, floor(log10(middle)) - digits), value = round(middle / unit) * unit;
    if (value > low && value < high) return value;
  }
  return middle;
}

/* The bound that divides ascending values after the first `split`: an upper bound holds for these, a lower one for the others. */
static double bound_at(const double *values, int count, int split, bool is_upper) {
  if (split == 0) return values[0];
  if (split == count) return values[count - 1];
  const double low = values[split - 1], high = values[split];
  const bool whole = low == floor(low) && high == floor(high);
  const double middle = between(low, high);
  if (!whole) return middle;
  return is_upper ? fmax(low, fmin(floor(middle), high - 1)) : fmin(high, fmax(ceil(middle), low + 1));
}

/* ---- one move ---- */

/* Compares the rows with those before a move, in the cases for which another row is taken -> cases, triangles and gain of the move. A case
 * that no row would hold for any more forbids the move. */
static void compare(tune_move *m, const search *s, const sptrsm_auto_row *before) {
  double sum = 0;
  int last = -1;
  m->cases = m->triangles = 0;
  for (int c = 0; c < s->case_count; c++) {
    const tune_case *now = &s->cases[c];
    const int was = tune_row_of(before, s->count, now), is = tune_row_of(s->rows, s->count, now);
    if (was == is || was < 0) continue;
    m->triangles += now->triangle != last;
    last = now->triangle;
    m->cases++;
    sum += is < 0 ? -INFINITY : log(now->ms[was] / now->ms[is]);
  }
  m->gain = m->cases > 0 ? exp(sum / m->cases) : 1;
}

/* The logarithm of the gain, summed over all cases; 0 where a move gains too little or in too few triangles. */
static double worth(const tune_move *m) { return m->triangles >= LEAST_TRIANGLES && m->gain >= LEAST_GAIN ? m->cases * log(m->gain) : 0; }

/* Tries all places of one bound; the best one replaces *best. The rows are as before at the end. */
static void try_bound(tune_move *best, const search *s, tune_move m) {
  sptrsm_auto_row before[BENCH_AUTO_ROWS];
  memcpy(before, s->rows, (size_t)s->count * sizeof *before);
  double *bound = bound_of(&s->rows[m.row], m.feature, m.is_upper);
  const int value_count = values_at(s, m.row, m.feature);
  m.from = *bound;
  for (int split = m.is_upper ? 1 : 0; split < value_count + m.is_upper; split++) {
    m.to = *bound = bound_at(s->values, value_count, split, m.is_upper);
    if (m.to > 0) compare(&m, s, before);
    if (m.to > 0 && worth(&m) > worth(best)) *best = m;
  }
  *bound = m.from;
}

/* The least nrhs of a row says that the number of right-hand sides has to be known: it is no threshold. */
static bool is_known_mark(int f, bool is_upper) { return !is_upper && strcmp(sptrsm_auto_feature(f), "nrhs") == 0; }

static void try_row(tune_move *best, const search *s, int row) {
  for (int bound = 0; bound < 2 * SPTRSM_AUTO_FEATURES; bound++) {
    const tune_move m = {.row = row, .feature = bound / 2, .is_upper = bound % 2};
    if (*bound_of(&s->rows[row], m.feature, m.is_upper) > 0 && !is_known_mark(m.feature, m.is_upper)) try_bound(best, s, m);
  }
}

int tune_bounds(sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count, tune_move *moves, int room) {
  search s = {rows, count, cases, case_count, calloc((size_t)case_count + 1, sizeof(double))};
  int made = 0;
  while (s.values && made < room) {
    tune_move best = {.gain = 1};
    for (int r = 0; r < count; r++) try_row(&best, &s, r);
    if (!(worth(&best) > 0)) break;
    *bound_of(&rows[best.row], best.feature, best.is_upper) = best.to;
    moves[made++] = best;
  }
  free(s.values);
  return made;
}
