/* bounds.c -- see bounds.h. */
#include "bench/tune/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_TRIANGLES = 2 };
static const double LEAST_GAIN = 1.03;

/* ---- what a table takes ---- */

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

static double *bound_of(sptrsm_auto_row *row, int f, bool is_upper) { return is_upper ? &row->most[f] : &row->least[f]; }

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Distinct values of the feature, ascending, in the cases that come to the row and keep its other bounds. */
static int values_at(double *values, const sptrsm_auto_row *rows, int row, int f, const tune_case *cases, int case_count) {
  int found = 0, kept = 0;
  for (int c = 0; c < case_count; c++) {
    const bool comes = tune_row_of(rows, row, &cases[c]) < 0 && isfinite(cases[c].ms[row]);
    if (comes && isfinite(cases[c].features[f]) && holds_but(&rows[row], cases[c].features, f)) values[found++] = cases[c].features[f];
  }
  qsort(values, (size_t)found, sizeof *values, ascending);
  for (int v = 0; v < found; v++)
    if (kept == 0 || values[v] != values[kept - 1]) values[kept++] = values[v];
  return kept;
}

/* A short number from low to high: their geometric middle to two digits, to more where that is needed. */
static double between(double low, double high) {
  const double middle = low > 0 ? sqrt(low * high) : high / 2;
  for (int digits = 1; digits < 15; digits++) {
    const double unit = pow(10, floor(log10(middle)) - digits), value = round(middle / unit) * unit;
    if (value > low && value < high) return value;
  }
  return middle;
}

/* The bound that splits the values behind `split` of them: an upper one holds for the first `split`, a lower one for the others. */
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

/* How the cases fare for which another row is taken. A case that no row would hold for any more forbids the move. */
static void compare(tune_move *m, const sptrsm_auto_row *before, const sptrsm_auto_row *after, int count, const tune_case *cases,
                    int case_count) {
  double sum = 0;
  int last = -1;
  m->cases = m->triangles = 0;
  for (int c = 0; c < case_count; c++) {
    const int was = tune_row_of(before, count, &cases[c]), is = tune_row_of(after, count, &cases[c]);
    if (was == is || was < 0) continue;
    m->triangles += cases[c].triangle != last;
    last = cases[c].triangle;
    m->cases++;
    sum += is < 0 ? -INFINITY : log(cases[c].ms[was] / cases[c].ms[is]);
  }
  m->gain = m->cases > 0 ? exp(sum / m->cases) : 1;
}

/* A gain over all cases, or nothing. */
static double worth(const tune_move *m) { return m->triangles >= LEAST_TRIANGLES && m->gain >= LEAST_GAIN ? m->cases * log(m->gain) : 0; }

/* Tries all places of one bound; the best one replaces *best. `values` has room for each case. */
static void try_bound(tune_move *best, sptrsm_auto_row *rows, int count, tune_move m, const tune_case *cases, int case_count,
                      double *values) {
  sptrsm_auto_row before[TUNE_ROWS];
  memcpy(before, rows, (size_t)count * sizeof *rows);
  double *bound = bound_of(&rows[m.row], m.feature, m.is_upper);
  const int value_count = values_at(values, rows, m.row, m.feature, cases, case_count);
  m.from = *bound;
  for (int split = m.is_upper ? 1 : 0; split < value_count + m.is_upper; split++) {
    m.to = *bound = bound_at(values, value_count, split, m.is_upper);
    if (m.to > 0) compare(&m, before, rows, count, cases, case_count);
    if (m.to > 0 && worth(&m) > worth(best)) *best = m;
  }
  *bound = m.from;
}

static bool is_known_mark(int f, bool is_upper) { return !is_upper && strcmp(sptrsm_auto_feature(f), "nrhs") == 0; }

static tune_move best_move(sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count, double *values) {
  tune_move best = {.gain = 1};
  for (int r = 0; r < count; r++)
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++)
      for (int upper = 0; upper < 2; upper++)
        if (*bound_of(&rows[r], f, upper) > 0 && !is_known_mark(f, upper))
          try_bound(&best, rows, count, (tune_move){.row = r, .feature = f, .is_upper = upper}, cases, case_count, values);
  return best;
}

int tune_bounds(sptrsm_auto_row *rows, int count, const tune_case *cases, int case_count, tune_move *moves, int room) {
  double *values = calloc((size_t)case_count + 1, sizeof *values);
  int made = 0;
  while (values && made < room) {
    const tune_move m = best_move(rows, count, cases, case_count, values);
    if (!(worth(&m) > 0)) break;
    *bound_of(&rows[m.row], m.feature, m.is_upper) = m.to;
    moves[made++] = m;
  }
  free(values);
  return made;
}
