/* solve_reference.c -- see solve_reference.h. */
#include "trsm/block/solve_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS_MOST = 4 };

/* One panel of a solve. */
typedef struct {
  const spti_block_panels *p;
  const double *X; /* by row */
  int32_t width, panel, rows, strips, flags, begin, end, near;
  bool backward;
  double *r[PARTS_MOST], *x, *e; /* [64 * width] each */
} task;

static int32_t row_of(const task *t, int32_t place) { return t->backward ? t->p->n - 1 - place : place; }

/* Element (row, column) of a tile that is stored as the A operand of mma. */
static double element(const void *tiles, int64_t tile, int32_t row, int32_t column) {
  const int32_t lane = row % 8 * 4 + column % 4;
  return ((const double *)tiles)[tile * SPTI_BLOCK_TILE + (32 * (column / 4) + lane) * 2 + row / 8];
}

static void add_times(double *restrict sum, double a, const double *restrict x, int32_t width) {
  if (a == 0) return;
  for (int32_t k = 0; k < width; k++) sum[k] = fma(a, x[k], sum[k]);
}

/* sum -= a tile of a strip times the solutions of a step's columns. */
static void subtract_tile(const task *t, double *sum, const void *tiles, int64_t tile, int32_t strip, int32_t step) {
  for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++)
    for (int32_t j = 0; j < SPTI_BLOCK_STEP; j++) {
      const int32_t place = t->p->col[(int64_t)step * SPTI_BLOCK_STEP + j];
      if (place < 0) continue;
      add_times(sum + (strip * SPTI_BLOCK_STRIP + i) * t->width, -element(tiles, tile, i, j), t->X + (int64_t)row_of(t, place) * t->width,
                t->width);
    }
}

/* Several warps share a strip where a panel has one or two: by pairs of steps, counted from the panel's end. */
static int32_t parts_of(const task *t) { return t->strips == 1 ? 4 : t->strips == 2 ? 2 : 1; }

/* r[0] = B(P,:) - the products with the far columns. */
static void take_far_columns(const task *t, const double *B) {
  const size_t row = (size_t)t->width * sizeof(double);
  const int32_t parts = parts_of(t), words = t->strips * SPTI_BLOCK_STRIP * t->width;
  for (int32_t p = 0; p < parts; p++) memset(t->r[p], 0, (size_t)words * sizeof(double));
  for (int32_t i = 0; i < t->rows; i++) memcpy(t->r[0] + i * t->width, B + (int64_t)row_of(t, t->p->first[t->panel] + i) * t->width, row);
  for (int32_t step = t->begin; step < t->end - t->near; step++) {
    const int64_t record = t->p->step[step];
    int64_t tile = spti_block_step_tile(record);
    for (int32_t strip = 0; strip < t->strips; strip++)
      if (spti_block_step_strips(record) >> strip & 1)
        subtract_tile(t, t->r[(t->end - 1 - step) / 2 % parts], t->p->tile, tile++, strip, step);
  }
  for (int32_t p = 1; p < parts; p++)
    for (int32_t w = 0; w < words; w++) t->r[0][w] += t->r[p][w];
}

/* Element (i,j) of the panel's triangle or inverse. */
static double of_triangle(const task *t, const void *tiles, int32_t i, int32_t j) {
  const int32_t tile = spti_block_diagonal_tile(i / SPTI_BLOCK_STRIP, j / SPTI_BLOCK_STRIP, j / SPTI_BLOCK_STEP % 2);
  return element(tiles, t->p->diag_start[t->panel] + tile, i % SPTI_BLOCK_STRIP, j % SPTI_BLOCK_STEP);
}

/* to += sign * triangle * from, in the first strips. */
static void multiply(const task *t, int32_t strips, double *to, double sign, const void *tiles, const double *from) {
  for (int32_t i = 0; i < strips * SPTI_BLOCK_STRIP; i++)
    for (int32_t j = 0; j <= i; j++) add_times(to + i * t->width, sign * of_triangle(t, tiles, i, j), from + j * t->width, t->width);
}

/* In the order of the kernel: four partial sums of every fourth entry, added in pairs. */
static void substitute(const task *t) {
  for (int32_t i = 0; i < t->rows; i++)
    for (int32_t k = 0; k < t->width; k++) {
      double sum[4] = {0, 0, 0, 0};
      for (int32_t j = 0; j < i; j++) {
        const double a = of_triangle(t, t->p->triangle, i, j);
        if (a != 0) sum[j % 4] = fma(a, t->x[j * t->width + k], sum[j % 4]);
      }
      const double all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
      t->x[i * t->width + k] = (t->r[0][i * t->width + k] - all) / of_triangle(t, t->p->triangle, i, i);
    }
}

static void multiply_by_inverse(const task *t) {
  const size_t bytes = (size_t)(t->strips * SPTI_BLOCK_STRIP * t->width) * sizeof(double);
  const int32_t refined = spti_block_refined_strips(t->flags);
  memset(t->x, 0, bytes);
  multiply(t, t->strips, t->x, 1, t->p->inverse, t->r[0]);
  memcpy(t->e, t->r[0], bytes);
  multiply(t, refined, t->e, -1, t->p->triangle, t->x);
  multiply(t, refined, t->x, 1, t->p->inverse, t->e);
}

static void take_near_columns(const task *t) {
  for (int32_t step = 0; step < t->near; step++)
    for (int32_t strip = 0; strip < t->strips; strip++)
      subtract_tile(t, t->x, t->p->near, t->p->near_start[t->panel] + strip * t->near + step, strip, t->end - t->near + step);
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
    memcpy(X + (int64_t)row_of(t, p->first[panel] + i) * t->width, t->x + i * t->width, (size_t)t->width * sizeof(double));
}

bool block_reference_solve(const block_reference *b, const spti_view *v, int32_t width, const double *B, double *X) {
  const size_t block = (size_t)SPTI_BLOCK_ROWS * (size_t)width;
  double *memory = calloc((PARTS_MOST + 2) * block + 1, sizeof *memory);
  task t = {.p = &b->panels, .X = X, .width = width, .backward = v->backward};
  if (!memory) return false;
  for (int32_t p = 0; p < PARTS_MOST; p++) t.r[p] = memory + (size_t)p * block;
  t.x = memory + PARTS_MOST * block;
  t.e = t.x + block;
  for (int32_t q = 0; q < b->panels.count; q++) solve_panel(&t, b->panels.order[q], B, X);
  free(memory);
  return true;
}
