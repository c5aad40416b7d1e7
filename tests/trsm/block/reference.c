/* reference.c -- see reference.h. */
#include "trsm/block/reference.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "trsm/block/gpu/analysis_kernels.h"

typedef double complex number;

enum { NEAR_COLUMNS = SPTI_BLOCK_NEAR * SPTI_BLOCK_STEP };

/* ---- values of any type ---- */

static number value_at(const spti_view *v, int64_t p) {
  number t;
  switch (v->dtype) {
  case SPTRSM_F32: t = ((const float *)v->val)[p]; break;
  case SPTRSM_F64: t = ((const double *)v->val)[p]; break;
  case SPTRSM_C64: t = ((const float complex *)v->val)[p]; break;
  default: t = ((const double complex *)v->val)[p];
  }
  return v->conj ? conj(t) : t;
}

static void put(void *array, sptrsm_dtype dtype, int64_t at, number t) {
  switch (dtype) {
  case SPTRSM_F32: ((float *)array)[at] = (float)creal(t); break;
  case SPTRSM_F64: ((double *)array)[at] = creal(t); break;
  case SPTRSM_C64: ((float complex *)array)[at] = (float complex)t; break;
  default: ((double complex *)array)[at] = t;
  }
}

static number get(const void *array, sptrsm_dtype dtype, int64_t at) {
  switch (dtype) {
  case SPTRSM_F32: return ((const float *)array)[at];
  case SPTRSM_F64: return ((const double *)array)[at];
  case SPTRSM_C64: return ((const float complex *)array)[at];
  default: return ((const double complex *)array)[at];
  }
}

/* A stored zero is -0, so that it differs from no entry. */
static number entry(number t) { return t == 0 ? CMPLX(-0.0, -0.0) : t; }

static double magnitude(number t) { return fabs(creal(t)) + fabs(cimag(t)); }

/* Where element (row, column) of a tile is. */
static int64_t in_tile(int64_t tile, int32_t row, int32_t column) {
  const int32_t lane = row % 8 * 4 + column % 4, pair = column / 4, i = row / 8;
  return tile * SPTI_BLOCK_TILE + (32 * pair + lane) * 2 + i;
}

/* ---- the partition, by places ---- */

static int32_t place_of(const spti_view *v, int32_t i) { return v->backward ? v->n - 1 - i : i; }

/* The places of the nearest and the farthest column that place s needs; -1 and n: none. */
static int32_t nearest(const spti_view *v, int32_t s) {
  int32_t place = -1;
  const int32_t i = spti_view_line(v, s);
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
    if (place_of(v, v->idx[p]) > place) place = place_of(v, v->idx[p]);
  return place;
}
static int32_t farthest(const spti_view *v, int32_t s) {
  int32_t place = v->n;
  const int32_t i = spti_view_line(v, s);
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
    if (place_of(v, v->idx[p]) < place) place = place_of(v, v->idx[p]);
  return place;
}

/* Where a panel that begins at `first` ends: at the first row that needs none of it. */
static int32_t natural_end(const spti_view *v, const block_rules *r, int32_t first) {
  int32_t end = first + r->least;
  while (end < v->n && end - first < r->rows && nearest(v, end) >= first) end++;
  return end < v->n ? end : v->n;
}

/* It takes in those behind it as long as all of it needs nothing before it. */
static int32_t panel_end(const spti_view *v, const block_rules *r, int32_t first) {
  int32_t end = natural_end(v, r, first), at = first;
  for (;;) {
    while (at < end && farthest(v, at) >= first) at++;
    const int32_t next = natural_end(v, r, end);
    if (at < end || end == v->n || next - first > r->rows) return end;
    while (at < next && farthest(v, at) >= first) at++;
    if (at < next) return end;
    end = next;
  }
}

static int32_t partition(const spti_view *v, const block_rules *r, int32_t *first) {
  int32_t count = 0;
  for (int32_t s = 0; s < v->n; s = panel_end(v, r, s)) first[count++] = s;
  first[count] = v->n;
  return count;
}

/* ---- columns and steps ---- */

typedef struct {
  const spti_view *v;
  const block_rules *rules;
  block_reference *b;
  const int32_t *first; /* as b->panels.first */
  int32_t *panel;       /* [n]: of each place */
  int32_t *order;       /* [count] */
  int32_t *mask;        /* [n]: strips of the current panel that need the place */
  int32_t *list;        /* [n]: its columns */
} maker;

static void find_levels(maker *m) {
  const int32_t count = m->b->panels.count;
  for (int32_t q = 0; q < count; q++)
    for (int32_t s = m->first[q]; s < m->first[q + 1]; s++) {
      const int32_t i = spti_view_line(m->v, s);
      for (int64_t p = spti_view_begin(m->v, i); p < spti_view_end(m->v, i); p++) {
        const int32_t from = m->panel[place_of(m->v, m->v->idx[p])];
        if (from != q && m->b->level[from] >= m->b->level[q]) m->b->level[q] = m->b->level[from] + 1;
      }
      if (m->b->level[q] >= m->b->levels) m->b->levels = m->b->level[q] + 1;
    }
}

static void find_order(maker *m) {
  int32_t at = 0, rank = 0;
  for (int32_t l = 0; l < m->b->levels; l++)
    for (int32_t q = 0; q < m->b->panels.count; q++) {
      if (m->b->level[q] != l) continue;
      m->order[rank++] = q;
      for (int32_t s = m->first[q]; s < m->first[q + 1]; s++) m->b->ready_at[s] = at++;
    }
}

static const int32_t *ready_at; /* for compare_ready */
static int compare_ready(const void *a, const void *b) { return ready_at[*(const int32_t *)a] - ready_at[*(const int32_t *)b]; }

/* list and mask of panel q; returns the number of columns. */
static int32_t columns(maker *m, int32_t q) {
  int32_t count = 0;
  for (int32_t s = m->first[q]; s < m->first[q + 1]; s++) {
    const int32_t i = spti_view_line(m->v, s);
    for (int64_t p = spti_view_begin(m->v, i); p < spti_view_end(m->v, i); p++) {
      const int32_t c = place_of(m->v, m->v->idx[p]);
      if (c >= m->first[q]) continue;
      if (!m->mask[c]) m->list[count++] = c;
      m->mask[c] |= 1 << (s - m->first[q]) / SPTI_BLOCK_STRIP;
    }
  }
  ready_at = m->b->ready_at;
  qsort(m->list, (size_t)count, sizeof *m->list, compare_ready);
  return count;
}

static int32_t window_of(const maker *m, int32_t c) { return m->rules->window ? m->b->ready_at[c] / m->rules->window : 0; }

/* Steps of panel q; written where col and step are not NULL. */
static void steps(maker *m, int32_t q, int32_t *col, int64_t *step) {
  const int32_t count = columns(m, q);
  for (int32_t k = 0; k < count;) {
    int32_t mask = 0, c = 0;
    const int32_t window = window_of(m, m->list[k]);
    for (; c < SPTI_BLOCK_STEP && k < count && window_of(m, m->list[k]) == window; c++, k++) {
      mask |= m->mask[m->list[k]];
      if (col) col[m->b->steps * SPTI_BLOCK_STEP + c] = m->list[k];
    }
    for (; col && c < SPTI_BLOCK_STEP; c++) col[m->b->steps * SPTI_BLOCK_STEP + c] = -1;
    if (step) step[m->b->steps] = m->b->tiles << 4 | mask;
    m->b->steps++;
    for (int32_t strip = 0; strip < SPTI_BLOCK_STRIPS; strip++) m->b->tiles += mask >> strip & 1;
  }
  for (int32_t k = 0; k < count; k++) m->mask[m->list[k]] = 0;
}

/* ---- values ---- */

static void fill_tiles(maker *m, int32_t q, void *tile, void *triangle) {
  const spti_block_panels *b = &m->b->panels;
  const int64_t begin = (int64_t)b->step_start[q] * SPTI_BLOCK_STEP, end = (int64_t)b->step_start[q + 1] * SPTI_BLOCK_STEP;
  int32_t *rank = m->list;
  for (int64_t k = begin; k < end; k++)
    if (b->col[k] >= 0) rank[b->col[k]] = (int32_t)(k - begin);
  for (int32_t s = m->first[q]; s < m->first[q + 1]; s++) {
    const int32_t i = spti_view_line(m->v, s), row = s - m->first[q], strip = row / SPTI_BLOCK_STRIP;
    for (int64_t p = spti_view_begin(m->v, i); p < spti_view_end(m->v, i); p++) {
      const int32_t c = place_of(m->v, m->v->idx[p]), in = c - m->first[q];
      const number t = entry(value_at(m->v, p));
      if (in >= 0) {
        const int64_t at = b->diag_start[q] + spti_block_diagonal_tile(strip, in / 16, in / 8 % 2);
        put(triangle, m->v->dtype, in_tile(at, row % 16, in % 8), t);
        continue;
      }
      const int64_t k = begin + rank[c], step = b->step[k / SPTI_BLOCK_STEP];
      int64_t at = spti_block_step_tile(step);
      for (int32_t below = 0; below < strip; below++) at += spti_block_step_strips(step) >> below & 1;
      put(tile, m->v->dtype, in_tile(at, row % 16, (int32_t)(k % SPTI_BLOCK_STEP)), t);
    }
  }
}

/* The diagonal of panel q and, in D, all of its block. */
static void fill_diagonal(maker *m, int32_t q, void *triangle, number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS]) {
  const int32_t rows = m->first[q + 1] - m->first[q], places = (rows + 15) / 16 * 16;
  for (int32_t row = 0; row < SPTI_BLOCK_ROWS; row++)
    for (int32_t c = 0; c < SPTI_BLOCK_ROWS; c++) D[row][c] = row == c;
  for (int32_t row = 0; row < places; row++) {
    const int32_t i = row < rows ? spti_view_line(m->v, m->first[q] + row) : -1;
    if (i >= 0 && !m->v->unit) D[row][row] = value_at(m->v, spti_view_diagonal(m->v, i));
    for (int64_t p = i >= 0 ? spti_view_begin(m->v, i) : 0; i >= 0 && p < spti_view_end(m->v, i); p++) {
      const int32_t in = place_of(m->v, m->v->idx[p]) - m->first[q];
      if (in >= 0) D[row][in] = value_at(m->v, p);
    }
    const int64_t at = m->b->panels.diag_start[q] + spti_block_diagonal_tile(row / 16, row / 16, row / 8 % 2);
    put(triangle, m->v->dtype, in_tile(at, row % 16, row % 8), D[row][row]);
  }
}

static bool is_single(const spti_view *v) { return v->dtype == SPTRSM_F32 || v->dtype == SPTRSM_C64; }

static double most_of(const spti_view *v) { return is_single(v) ? (double)FLT_MAX : DBL_MAX; }

/* What the type of the values keeps of it. */
static double kept(const spti_view *v, number t) {
  if (!is_single(v)) return magnitude(t);
  const float re = (float)creal(t), im = (float)cimag(t);
  return fabsf(re) + fabsf(im);
}

/* Up to which amplification of roundings a row's residual is small enough, by the number of its terms. */
static double limit_of(const maker *m, int32_t s) {
  if (s >= m->v->n) return m->rules->bound;
  const int32_t i = spti_view_line(m->v, s);
  const double share = (double)(spti_view_end(m->v, i) - spti_view_begin(m->v, i) + 2) / SPTI_BLOCK_TERMS;
  return m->rules->bound * (share > 1 ? share * sqrt(fmin(share, SPTI_BLOCK_TERMS_MOST)) : 1);
}

/* The part of that for a row that takes what has cancelled: by the effective number of its terms. */
static double share_of(const maker *m, int32_t s) {
  if (s >= m->v->n) return 1;
  const int32_t i = spti_view_line(m->v, s);
  const double diagonal = m->v->unit ? 1 : magnitude(value_at(m->v, spti_view_diagonal(m->v, i)));
  double sum = diagonal, roots = sqrt(diagonal);
  for (int64_t p = spti_view_begin(m->v, i); p < spti_view_end(m->v, i); p++) {
    sum += magnitude(value_at(m->v, p));
    roots += sqrt(magnitude(value_at(m->v, p)));
  }
  roots /= sqrt(sum);
  return fmin(1, m->rules->spare * pow(1e8, -1 / (roots * roots)));
}

/* Does row i depend on a row of the panel; on one that itself depends on another? */
static bool takes_others(number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS], int32_t i, bool that_take_others) {
  for (int32_t j = 0; j < i; j++)
    if (D[i][j] != 0 && (!that_take_others || takes_others(D, j, false))) return true;
  return false;
}

static double near_limit(const maker *m, int32_t q, int32_t i, number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS]) {
  const int32_t s = m->first[q] + i;
  return limit_of(m, s) * (s < m->first[q + 1] && takes_others(D, i, false) ? share_of(m, s) : 1) / SPTI_BLOCK_APART_SHARE;
}

/* Flags of panel q, from its diagonal block and its inverse. */
static int32_t flag_of(const maker *m, int32_t q, int32_t places, number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS], number X[][SPTI_BLOCK_ROWS]) {
  const double least = is_single(m->v) ? (double)FLT_MIN : DBL_MIN, step = is_single(m->v) ? (double)FLT_TRUE_MIN : DBL_TRUE_MIN;
  double amplified[SPTI_BLOCK_ROWS], total = 0;
  bool substituted = false, apart = false, small_solutions = true, small_residuals = true;
  int32_t strips = 0;
  for (int32_t i = 0; i < places; i++) {
    const int32_t s = m->first[q] + i;
    double sum = 0, all = 0, residual = 0, weights = 0;
    bool tiny = false;
    for (int32_t k = 0; k <= i; k++) {
      for (int32_t j = 0; j <= k; j++) sum += magnitude(X[i][k]) * magnitude(D[k][j]);
      all += magnitude(X[i][k]);
      total += magnitude(D[i][k]);
      tiny |= X[i][k] != 0 && !(kept(m->v, X[i][k]) >= least);
      substituted |= !(kept(m->v, X[i][k]) <= most_of(m->v));
    }
    amplified[i] = sum;
    for (int32_t j = 0; j <= i; j++) {
      residual += magnitude(D[i][j]) * amplified[j];
      weights += magnitude(D[i][j]);
    }
    const double limit = limit_of(m, s), lost = total * (step + DBL_TRUE_MIN * (sum + SPTI_BLOCK_ROWS * all));
    const bool cancels = s < m->first[q + 1] && takes_others(D, i, true), underflows = tiny || lost > least;
    small_solutions = small_solutions && (residual <= limit * weights || sum <= m->rules->refine);
    small_residuals = small_residuals && residual <= m->rules->refine * weights;
    substituted |= !(lost * lost <= least);
    apart |= underflows;
    if (underflows || !(residual <= limit * (cancels ? share_of(m, s) : 1) * weights)) strips = i / SPTI_BLOCK_STRIP + 1;
  }
  if (substituted || !(small_solutions || small_residuals)) return SPTI_BLOCK_SUBSTITUTE;
  return strips * SPTI_BLOCK_REFINE | (apart ? SPTI_BLOCK_APART : 0);
}

/* Near columns of a panel, and what is known of them. */
typedef struct {
  number A[SPTI_BLOCK_ROWS][NEAR_COLUMNS], N[SPTI_BLOCK_ROWS][NEAR_COLUMNS]; /* N = X A */
  int32_t places, columns;
} near_columns;

static void load_near(const maker *m, int32_t q, const void *tile, near_columns *c) {
  const spti_block_panels *b = &m->b->panels;
  const int32_t end = b->step_start[q + 1], steps = spti_block_near(end - b->step_start[q]);
  c->columns = SPTI_BLOCK_STEP * steps;
  for (int32_t i = 0; i < c->places; i++)
    for (int32_t j = 0; j < c->columns; j++) {
      const int64_t step = b->step[end - steps + j / SPTI_BLOCK_STEP];
      int64_t at = spti_block_step_tile(step);
      for (int32_t below = 0; below < i / 16; below++) at += spti_block_step_strips(step) >> below & 1;
      c->A[i][j] = spti_block_step_strips(step) >> i / 16 & 1 ? get(tile, m->v->dtype, in_tile(at, i % 16, j % SPTI_BLOCK_STEP)) : 0;
    }
}

/* Whether products stay in the range of the type: nothing is left of what underflows. */
static bool in_range(const maker *m, const near_columns *c, number X[][SPTI_BLOCK_ROWS]) {
  const double least = is_single(m->v) ? (double)FLT_MIN : DBL_MIN;
  for (int32_t i = 0; i < c->places; i++)
    for (int32_t j = 0; j < c->columns; j++) {
      double product = 0;
      bool some = false;
      for (int32_t k = 0; k <= i; k++) {
        product += magnitude(X[i][k]) * magnitude(c->A[k][j]);
        some |= X[i][k] != 0 && c->A[k][j] != 0;
      }
      if ((some && !(product >= least)) || !(kept(m->v, c->N[i][j]) <= most_of(m->v))) return false;
    }
  return true;
}

/* Roundings of N x are amplified by abs(D) in the residuals, which are measured by D and A; those of N up to abs(X) abs(A), or, if it is
 * refined, up to abs(N). */
static bool stays_accurate(const maker *m, int32_t q, const near_columns *c, bool refined, number D[][SPTI_BLOCK_ROWS],
                           number X[][SPTI_BLOCK_ROWS]) {
  double terms[SPTI_BLOCK_ROWS], rounded[SPTI_BLOCK_ROWS];
  for (int32_t i = 0; i < c->places; i++) {
    terms[i] = rounded[i] = 0;
    for (int32_t j = 0; j < c->columns; j++) terms[i] += magnitude(c->A[i][j]);
    for (int32_t j = 0; refined && j < c->columns; j++) rounded[i] += magnitude(c->N[i][j]);
    for (int32_t k = 0; !refined && k <= i; k++) rounded[i] += magnitude(X[i][k]) * terms[k];
    double residual = 0, weights = terms[i];
    for (int32_t j = 0; j <= i; j++) {
      residual += magnitude(D[i][j]) * rounded[j];
      weights += magnitude(D[i][j]);
    }
    if (!(residual <= near_limit(m, q, i, D) * weights)) return false;
  }
  return true;
}

/* N += X (A - D N). */
static void refine_near(near_columns *c, number D[][SPTI_BLOCK_ROWS], number X[][SPTI_BLOCK_ROWS]) {
  for (int32_t j = 0; j < c->columns; j++) {
    number e[SPTI_BLOCK_ROWS];
    for (int32_t i = 0; i < c->places; i++) {
      e[i] = c->A[i][j];
      for (int32_t k = 0; k <= i; k++) e[i] -= D[i][k] * c->N[k][j];
    }
    for (int32_t i = 0; i < c->places; i++)
      for (int32_t k = 0; k <= i; k++) c->N[i][j] += X[i][k] * e[k];
  }
}

/* The products of the inverse X with the near columns of panel q, which has these flags. False: they are not to be used. */
static bool multiply_near(const maker *m, int32_t q, int32_t places, int32_t flags, number D[][SPTI_BLOCK_ROWS],
                          number X[][SPTI_BLOCK_ROWS], const void *tile, void *near) {
  static near_columns c;
  c.places = places;
  load_near(m, q, tile, &c);
  if (c.columns == 0) return true;
  for (int32_t i = 0; i < places; i++)
    for (int32_t j = 0; j < c.columns; j++) {
      c.N[i][j] = 0;
      for (int32_t k = 0; k <= i; k++) c.N[i][j] += X[i][k] * c.A[k][j];
    }
  bool good = in_range(m, &c, X) && !(flags & SPTI_BLOCK_APART);
  if (good && (flags || !stays_accurate(m, q, &c, false, D, X))) {
    refine_near(&c, D, X);
    good = in_range(m, &c, X) && stays_accurate(m, q, &c, true, D, X);
  }
  for (int32_t i = 0; i < places; i++)
    for (int32_t j = 0; j < c.columns; j++) {
      const int64_t at = m->b->panels.near_start[q] + i / 16 * (c.columns / SPTI_BLOCK_STEP) + j / SPTI_BLOCK_STEP;
      put(near, m->v->dtype, in_tile(at, i % 16, j % SPTI_BLOCK_STEP), c.N[i][j]);
    }
  return good;
}

/* The inverse of panel q's block D by forward substitution, and its products with the near columns; returns the panel's flags. */
static int32_t invert(maker *m, int32_t q, number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS], void *inverse, const void *tile, void *near) {
  static number X[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS];
  const int32_t rows = m->first[q + 1] - m->first[q], places = (rows + 15) / 16 * 16;
  for (int32_t i = 0; i < places; i++)
    for (int32_t j = 0; j <= i; j++) {
      number t = i == j;
      for (int32_t k = j; k < i; k++) t -= D[i][k] * X[k][j];
      X[i][j] = t / D[i][i];
      const int64_t at = m->b->panels.diag_start[q] + spti_block_diagonal_tile(i / 16, j / 16, j / 8 % 2);
      put(inverse, m->v->dtype, in_tile(at, i % 16, j % 8), X[i][j]);
    }
  const int32_t flags = flag_of(m, q, places, D, X);
  if (flags) m->b->flagged[flags != SPTI_BLOCK_SUBSTITUTE]++;
  if (flags == SPTI_BLOCK_SUBSTITUTE || multiply_near(m, q, places, flags, D, X, tile, near)) return flags;
  m->b->flagged[2]++;
  return flags | SPTI_BLOCK_APART;
}

/* ---- all of it ---- */

static bool make_symbolic(maker *m) {
  block_reference *b = m->b;
  const int32_t n = m->v->n;
  int32_t *first = calloc((size_t)n + 2, sizeof *first);
  b->panels.first = m->first = first;
  m->panel = calloc((size_t)n + 1, sizeof *m->panel);
  m->order = calloc((size_t)n + 1, sizeof *m->order);
  b->panels.order = m->order;
  m->mask = calloc((size_t)n + 1, sizeof *m->mask);
  m->list = calloc((size_t)n + 1, sizeof *m->list);
  b->level = calloc((size_t)n + 1, sizeof *b->level);
  b->ready_at = calloc((size_t)n + 1, sizeof *b->ready_at);
  if (!first || !m->panel || !m->order || !m->mask || !m->list || !b->level || !b->ready_at) return false;
  b->panels.n = n;
  b->panels.count = partition(m->v, m->rules, first);
  for (int32_t q = 0; q < b->panels.count; q++)
    for (int32_t s = first[q]; s < first[q + 1]; s++) m->panel[s] = q;
  find_levels(m);
  find_order(m);
  return true;
}

static bool make_steps(maker *m) {
  block_reference *b = m->b;
  const size_t count = (size_t)b->panels.count;
  int32_t *step_start = calloc(count + 1, sizeof *step_start), *diag_start = calloc(count + 1, sizeof *diag_start);
  int32_t *near_start = calloc(count + 1, sizeof *near_start);
  b->panels.step_start = step_start;
  b->panels.diag_start = diag_start;
  b->panels.near_start = near_start;
  if (!step_start || !diag_start || !near_start) return false;
  for (int32_t q = 0; q < b->panels.count; q++) {
    steps(m, q, NULL, NULL);
    step_start[q + 1] = (int32_t)b->steps;
    const int32_t strips = (m->first[q + 1] - m->first[q] + 15) / 16;
    diag_start[q + 1] = diag_start[q] + spti_block_diagonal_tiles(strips);
    near_start[q + 1] = near_start[q] + strips * spti_block_near(step_start[q + 1] - step_start[q]);
  }
  int32_t *col = calloc((size_t)b->steps * SPTI_BLOCK_STEP + 1, sizeof *col);
  int64_t *step = calloc((size_t)b->steps + 1, sizeof *step);
  b->panels.col = col;
  b->panels.step = step;
  if (!col || !step) return false;
  b->steps = b->tiles = 0;
  for (int32_t q = 0; q < b->panels.count; q++) steps(m, q, col, step);
  return true;
}

static bool make_values(maker *m) {
  static number D[SPTI_BLOCK_ROWS][SPTI_BLOCK_ROWS];
  block_reference *b = m->b;
  const size_t bytes = SPTI_BLOCK_TILE * sptrsm_dtype_bytes(m->v->dtype), diagonal = (size_t)b->panels.diag_start[b->panels.count];
  void *tile = calloc((size_t)b->tiles + 1, bytes), *triangle = calloc(diagonal + 1, bytes), *inverse = calloc(diagonal + 1, bytes);
  void *near = calloc((size_t)b->panels.near_start[b->panels.count] + 1, bytes);
  int32_t *flags = calloc((size_t)b->panels.count + 1, sizeof *flags);
  b->panels.near = near;
  b->panels.tile = tile;
  b->panels.triangle = triangle;
  b->panels.inverse = inverse;
  b->panels.flags = flags;
  if (!tile || !triangle || !inverse || !near || !flags) return false;
  for (int32_t q = 0; q < b->panels.count; q++) {
    fill_tiles(m, q, tile, triangle);
    fill_diagonal(m, q, triangle, D);
    flags[q] = invert(m, q, D, inverse, tile, near);
  }
  return true;
}

bool block_reference_make(block_reference *b, const spti_view *v, const block_rules *rules) {
  *b = (block_reference){0};
  maker m = {.v = v, .rules = rules, .b = b};
  const bool made = make_symbolic(&m) && make_steps(&m) && make_values(&m);
  free(m.panel);
  free(m.mask);
  free(m.list);
  if (!made) block_reference_free(b);
  return made;
}

void block_reference_free(block_reference *b) {
  const spti_block_panels *p = &b->panels;
  const void *const arrays[] = {p->first,    p->order,   p->step_start, p->col,        p->step, p->tile,  p->diag_start,
                                p->triangle, p->inverse, p->flags,      p->near_start, p->near, b->level, b->ready_at};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free((void *)(uintptr_t)arrays[i]);
  *b = (block_reference){0};
}
