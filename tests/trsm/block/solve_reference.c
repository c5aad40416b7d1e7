/* solve_reference.c -- see solve_reference.h. */
#include "trsm/block/solve_reference.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 4 };

/* One panel of a solve. A complex value is two words, like two real ones, and has two planes, its real and its imaginary part. */
typedef struct {
  const spti_block_panels *p;
  const double *X;       /* by row */
  int32_t words, planes; /* of a row of right-hand sides; of a value */
  int32_t panel, rows, strips, flags, begin, end, near;
  bool backward;
  double *r[PARTS_MOST], *x, *e; /* [64 * words] each */
} task;

static int32_t row_of(const task *t, int32_t place) { return t->backward ? t->p->n - 1 - place : place; }

/* A plane of element (row, column) of a tile that is stored as the A operand of mma. */
static double element(const task *t, const void *tiles, int64_t tile, int32_t row, int32_t column, int32_t plane) {
  const int32_t lane = row % 8 * 4 + column % 4;
  return ((const double *)tiles)[(tile * SPTI_BLOCK_TILE + (32 * (column / 4) + lane) * 2 + row / 8) * t->planes + plane];
}

static void add_times(double *restrict sum, double a, int32_t plane, const double *restrict x, int32_t words) {
  if (a == 0) return;
  for (int32_t w = 0; plane == 0 && w < words; w++) sum[w] = fma(a, x[w], sum[w]);
  for (int32_t w = 0; plane == 1 && w < words; w += 2) {
    sum[w] = fma(-a, x[w + 1], sum[w]);
    sum[w + 1] = fma(a, x[w], sum[w + 1]);
  }
}

/* Two neighbouring tiles of a strip, or one of them (else -1), and the rows that they are multiplied with; NULL: a column without. */
typedef struct {
  const void *tiles;
  int64_t tile[2];
  const double *x[2 * SPTI_BLOCK_STEP];
} tile_pair;

/* sum += sign * tiles * rows: first by the real parts of both tiles, then by the imaginary parts. */
static void multiply_pair(const task *t, double *sum, double sign, const tile_pair *pair) {
  for (int32_t plane = 0; plane < t->planes; plane++)
    for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++)
      for (int32_t j = 0; j < 2 * SPTI_BLOCK_STEP; j++) {
        const int64_t tile = pair->tile[j / SPTI_BLOCK_STEP];
        if (tile < 0 || !pair->x[j]) continue;
        add_times(sum + i * t->words, sign * element(t, pair->tiles, tile, i, j % SPTI_BLOCK_STEP, plane), plane, pair->x[j], t->words);
      }
}

/* The solutions of the columns of steps `step` and `step` + 1. A step before the panel's first one has none. */
static void columns_of_pair(const task *t, int32_t step, tile_pair *pair) {
  for (int32_t j = 0; j < 2 * SPTI_BLOCK_STEP; j++) {
    const int32_t own = step + j / SPTI_BLOCK_STEP, place = own < t->begin ? -1 : t->p->col[(int64_t)step * SPTI_BLOCK_STEP + j];
    pair->x[j] = place < 0 ? NULL : t->X + (int64_t)row_of(t, place) * t->words;
  }
}

/* Several warps share a strip where a panel has one or two: by pairs of steps, counted from the panel's end. */
static int32_t parts_of(const task *t) { return t->strips == 1 ? 4 : t->strips == 2 ? 2 : 1; }

/* The tile of a strip in a far step; -1: it has none. */
static int64_t far_tile(const task *t, int32_t step, int32_t strip) {
  if (step < t->begin || !(spti_block_step_strips(t->p->step[step]) >> strip & 1)) return -1;
  int64_t tile = spti_block_step_tile(t->p->step[step]);
  for (int32_t below = 0; below < strip; below++) tile += spti_block_step_strips(t->p->step[step]) >> below & 1;
  return tile;
}

/* r[0] = B(P,:) - the products with the far columns, by pairs of steps that are counted from the panel's end. */
static void take_far_columns(const task *t, const double *B) {
  const size_t row = (size_t)t->words * sizeof(double);
  const int32_t parts = parts_of(t), words = t->strips * SPTI_BLOCK_STRIP * t->words, far = t->end - t->near;
  for (int32_t p = 0; p < parts; p++) memset(t->r[p], 0, (size_t)words * sizeof(double));
  for (int32_t i = 0; i < t->rows; i++) memcpy(t->r[0] + i * t->words, B + (int64_t)row_of(t, t->p->first[t->panel] + i) * t->words, row);
  for (int32_t step = t->begin - (t->end - t->begin) % 2; step < far; step += 2) {
    tile_pair pair = {.tiles = t->p->tile};
    columns_of_pair(t, step, &pair);
    for (int32_t strip = 0; strip < t->strips; strip++) {
      for (int32_t k = 0; k < 2; k++) pair.tile[k] = step + k < far ? far_tile(t, step + k, strip) : -1;
      multiply_pair(t, t->r[(t->end - 1 - step) / 2 % parts] + strip * SPTI_BLOCK_STRIP * t->words, -1, &pair);
    }
  }
  for (int32_t p = 1; p < parts; p++)
    for (int32_t w = 0; w < words; w++) t->r[0][w] += t->r[p][w];
}

/* A plane of element (i,j) of the panel's triangle. */
static double of_triangle(const task *t, int32_t i, int32_t j, int32_t plane) {
  const int32_t tile = spti_block_diagonal_tile(i / SPTI_BLOCK_STRIP, j / SPTI_BLOCK_STRIP, j / SPTI_BLOCK_STEP % 2);
  return element(t, t->p->triangle, t->p->diag_start[t->panel] + tile, i % SPTI_BLOCK_STRIP, j % SPTI_BLOCK_STEP, plane);
}

/* to += sign * triangle * from, in the first strips. */
static void multiply(const task *t, int32_t strips, double *to, double sign, const void *tiles, const double *from) {
  for (int32_t strip = 0; strip < strips; strip++)
    for (int32_t left = 0; left <= strip; left++) {
      tile_pair pair = {.tiles = tiles};
      for (int32_t k = 0; k < 2; k++) pair.tile[k] = t->p->diag_start[t->panel] + spti_block_diagonal_tile(strip, left, k);
      for (int32_t j = 0; j < SPTI_BLOCK_STRIP; j++) pair.x[j] = from + (left * SPTI_BLOCK_STRIP + j) * t->words;
      multiply_pair(t, to + strip * SPTI_BLOCK_STRIP * t->words, sign, &pair);
    }
}

/* x(i) = (r - sum) / T(i,i) for one right-hand side, which has t->planes words. */
static void divide(const task *t, int32_t i, const double *sum, int32_t at) {
  const double re = t->r[0][at] - sum[0], d = of_triangle(t, i, i, 0);
  if (t->planes == 1) {
    t->x[at] = re / d;
    return;
  }
  const double _Complex x = CMPLX(re, t->r[0][at + 1] - sum[1]) / CMPLX(d, of_triangle(t, i, i, 1));
  t->x[at] = creal(x);
  t->x[at + 1] = cimag(x);
}

/* In the order of the kernel: four partial sums of every fourth entry, added in pairs. */
static void substitute(const task *t) {
  for (int32_t i = 0; i < t->rows; i++)
    for (int32_t w = 0; w < t->words; w += t->planes) {
      double sum[4][2] = {{0}}, all[2];
      for (int32_t j = 0; j < i; j++)
        for (int32_t plane = 0; plane < t->planes; plane++)
          add_times(sum[j % 4], of_triangle(t, i, j, plane), plane, t->x + j * t->words + w, t->planes);
      for (int32_t k = 0; k < 2; k++) all[k] = (sum[0][k] + sum[1][k]) + (sum[2][k] + sum[3][k]);
      divide(t, i, all, i * t->words + w);
    }
}

static void multiply_by_inverse(const task *t) {
  const size_t bytes = (size_t)(t->strips * SPTI_BLOCK_STRIP * t->words) * sizeof(double);
  const int32_t refined = spti_block_refined_strips(t->flags);
  memset(t->x, 0, bytes);
  multiply(t, t->strips, t->x, 1, t->p->inverse, t->r[0]);
  memcpy(t->e, t->r[0], bytes);
  multiply(t, refined, t->e, -1, t->p->triangle, t->x);
  multiply(t, refined, t->x, 1, t->p->inverse, t->e);
}

static void take_near_columns(const task *t) {
  for (int32_t step = -(t->near % 2); step < t->near; step += 2) {
    tile_pair pair = {.tiles = t->p->near};
    columns_of_pair(t, t->end - t->near + step, &pair);
    for (int32_t strip = 0; strip < t->strips; strip++) {
      for (int32_t k = 0; k < 2; k++) pair.tile[k] = step + k < 0 ? -1 : t->p->near_start[t->panel] + strip * t->near + step + k;
      multiply_pair(t, t->x + strip * SPTI_BLOCK_STRIP * t->words, -1, &pair);
    }
  }
}

static void solve_panel(task *t, int32_t panel, const double *B, double *X) {
  const spti_block_panels *p = t->p;
  t->panel = panel;
  t->rows = p->first[panel + 1] - p->first[panel];
  t->strips = (t->rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
  t->flags = p->flags[panel];
  t->begin = p->step_start[panel];
  t->end = p->step_start[panel + 1];
  t->near = t->flags & (SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART) ? 0 : spti_block_near(t->end - t->begin);
  take_far_columns(t, B);
  if (t->flags == SPTI_BLOCK_SUBSTITUTE) substitute(t);
  else multiply_by_inverse(t);
  take_near_columns(t);
  for (int32_t i = 0; i < t->rows; i++)
    memcpy(X + (int64_t)row_of(t, p->first[panel] + i) * t->words, t->x + i * t->words, (size_t)t->words * sizeof(double));
}

bool block_reference_solve(const block_reference *b, const spti_view *v, int32_t width, const double *B, double *X) {
  const int32_t planes = v->dtype == SPTRSM_C128 ? 2 : 1, words = width * planes;
  const size_t block = (size_t)SPTI_BLOCK_ROWS * (size_t)words;
  double *memory = calloc((PARTS_MOST + 2) * block + 1, sizeof *memory);
  task t = {.p = &b->panels, .X = X, .words = words, .planes = planes, .backward = v->backward};
  if (!memory) return false;
  for (int32_t p = 0; p < PARTS_MOST; p++) t.r[p] = memory + (size_t)p * block;
  t.x = memory + PARTS_MOST * block;
  t.e = t.x + block;
  for (int32_t q = 0; q < b->panels.count; q++) solve_panel(&t, b->panels.order[q], B, X);
  free(memory);
  return true;
}
