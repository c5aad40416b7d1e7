/* problem.c -- see batch.h. A convection-diffusion stencil on a square grid: as sparse as circuits and networks are, with fill that
 * grows as theirs does. It is diagonally dominant, so elimination needs no pivoting. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compare/batch/batch.h"

/* ---- nested dissection of a rectangle [x0, x1) x [y0, y1): both halves, then the line between them ---- */

typedef struct {
  int32_t *perm, side, used;
} dissection;

static void dissect(dissection *d, int32_t x0, int32_t x1, int32_t y0, int32_t y1) {
  const int32_t width = x1 - x0, height = y1 - y0;
  if (width <= 0 || height <= 0) return;
  if (width <= 2 && height <= 2) {
    for (int32_t y = y0; y < y1; y++)
      for (int32_t x = x0; x < x1; x++) d->perm[d->used++] = x + y * d->side;
    return;
  }
  const bool across = width >= height;
  const int32_t middle = across ? (x0 + x1) / 2 : (y0 + y1) / 2;
  dissect(d, x0, across ? middle : x1, y0, across ? y1 : middle);
  dissect(d, across ? middle + 1 : x0, x1, across ? y0 : middle + 1, y1);
  for (int32_t i = across ? y0 : x0; i < (across ? y1 : x1); i++) d->perm[d->used++] = across ? middle + i * d->side : i + middle * d->side;
}

/* ---- A ---- */

static int rows_alloc(batch_rows *r, int32_t n, int64_t nnz) {
  r->ptr = calloc((size_t)n + 1, sizeof *r->ptr);
  r->idx = malloc((size_t)nnz * sizeof *r->idx);
  r->val = malloc((size_t)nnz * sizeof *r->val);
  return r->ptr && r->idx && r->val ? CLI_OK : cli_no_memory("a matrix");
}

static void rows_free(batch_rows *r) {
  free(r->ptr);
  free(r->idx);
  free(r->val);
}

static void add(batch_rows *r, int32_t row, int32_t column, double value) {
  r->idx[r->ptr[row + 1]] = column;
  r->val[r->ptr[row + 1]++] = value;
}

static int make_A(batch_rows *A, int32_t side) {
  if (rows_alloc(A, side * side, 5 * (int64_t)side * side) != CLI_OK) return CLI_MEMORY;
  for (int32_t y = 0; y < side; y++)
    for (int32_t x = 0; x < side; x++) {
      const int32_t i = x + y * side;
      const double wind = 0.3 * sin(0.7 * x + 0.4 * y);
      A->ptr[i + 1] = A->ptr[i];
      if (y > 0) add(A, i, i - side, -1 - wind);
      if (x > 0) add(A, i, i - 1, -1 + wind);
      add(A, i, i, 4.2 + 0.1 * (i % 7));
      if (x + 1 < side) add(A, i, i + 1, -1 - wind);
      if (y + 1 < side) add(A, i, i + side, -1 + wind);
    }
  return CLI_OK;
}

/* ---- factors, row by row in a dense row ---- */

typedef struct {
  double *row;
  char *there;
  int32_t *inverse;
} work_row;

/* Row i of the permuted matrix, less the multiples of earlier rows of U. Returns its number of entries. */
static int64_t eliminate(work_row *w, const batch_problem *p, int32_t i) {
  const int32_t n = p->n, from = p->perm[i];
  int64_t entries = 0;
  memset(w->row, 0, (size_t)n * sizeof *w->row);
  memset(w->there, 0, (size_t)n);
  for (int64_t q = p->A.ptr[from]; q < p->A.ptr[from + 1]; q++) {
    const int32_t j = w->inverse[p->A.idx[q]];
    w->row[j] = p->A.val[q];
    w->there[j] = 1;
  }
  for (int32_t k = 0; k < i; k++) {
    if (!w->there[k]) continue;
    const int64_t first = p->U.ptr[k];
    w->row[k] /= p->U.val[first];
    for (int64_t q = first + 1; q < p->U.ptr[k + 1]; q++) {
      w->row[p->U.idx[q]] -= w->row[k] * p->U.val[q];
      w->there[p->U.idx[q]] = 1;
    }
  }
  for (int32_t j = 0; j < n; j++) entries += w->there[j];
  return entries;
}

static int factorise(batch_problem *p) {
  const int32_t n = p->n;
  const int64_t room = (int64_t)n * 200 + 1000; /* more than the fill of any grid that fits a thread block */
  work_row w = {malloc((size_t)n * sizeof(double)), malloc((size_t)n), malloc((size_t)n * sizeof(int32_t))};
  int code = w.row && w.there && w.inverse ? CLI_OK : cli_no_memory("factors");
  if (code == CLI_OK) code = rows_alloc(&p->L, n, room);
  if (code == CLI_OK) code = rows_alloc(&p->U, n, room);
  for (int32_t i = 0; i < n && code == CLI_OK; i++) w.inverse[p->perm[i]] = i;
  for (int32_t i = 0; i < n && code == CLI_OK; i++) {
    p->L.ptr[i + 1] = p->L.ptr[i];
    p->U.ptr[i + 1] = p->U.ptr[i];
    const int64_t entries = eliminate(&w, p, i);
    if (p->L.ptr[i] + entries > room || p->U.ptr[i] + entries > room) code = cli_no_memory("factors with that much fill");
    for (int32_t j = 0; j < n && code == CLI_OK; j++)
      if (w.there[j]) add(j < i ? &p->L : &p->U, i, j, w.row[j]);
  }
  free(w.row);
  free(w.there);
  free(w.inverse);
  return code;
}

int batch_problem_create(batch_problem *p, int32_t side) {
  *p = (batch_problem){.n = side * side, .perm = malloc((size_t)side * (size_t)side * sizeof *p->perm)};
  if (!p->perm) return cli_no_memory("an ordering");
  dissection d = {p->perm, side, 0};
  dissect(&d, 0, side, 0, side);
  if (make_A(&p->A, side) != CLI_OK) return CLI_MEMORY;
  return factorise(p);
}

void batch_problem_free(batch_problem *p) {
  free(p->perm);
  rows_free(&p->A);
  rows_free(&p->L);
  rows_free(&p->U);
}

/* ---- items ---- */

/* A power of two between 1/2 and 4, times a small factor: well away from one another. */
double batch_scale(int64_t item, int32_t index, bool column) {
  uint64_t h = ((uint64_t)item * 2654435761u + (uint64_t)index * 40503u + (column ? 977u : 0u)) * 0x9e3779b97f4a7c15u;
  h ^= h >> 29;
  return ldexp(1 + (double)(h % 1021) / 4096, (int)(h >> 40) % 3 - 1);
}

typedef struct {
  double *row, *column; /* by row of the matrix whose values are made */
} item_scales;

/* perm NULL: of A, else of the permuted matrix. */
static void scales_of(item_scales *s, int64_t item, int32_t n, const int32_t *perm) {
  for (int32_t i = 0; i < n; i++) {
    s->row[i] = batch_scale(item, perm ? perm[i] : i, false);
    s->column[i] = batch_scale(item, perm ? perm[i] : i, true);
  }
}

/* left and right: which scales multiply row and column of an entry. L is diag(r) L diag(1 / r), U is diag(r) U diag(c). */
static void make_values(double *out, const batch_problem *p, const batch_rows *m, const int32_t *perm, bool is_L, int64_t first,
                        int64_t count) {
  double *room = malloc(2 * (size_t)p->n * sizeof *room);
  item_scales s = {room, room + p->n};
  if (!room) return;
  for (int64_t item = first; item < first + count; item++) {
    scales_of(&s, item, p->n, perm);
    for (int32_t i = 0; i < p->n; i++)
      for (int64_t q = m->ptr[i]; q < m->ptr[i + 1]; q++)
        *out++ = m->val[q] * s.row[i] * (is_L ? 1 / s.row[m->idx[q]] : s.column[m->idx[q]]);
  }
  free(room);
}

void batch_values_of_A(double *out, const batch_problem *p, int64_t first, int64_t count) {
  make_values(out, p, &p->A, NULL, false, first, count);
}
void batch_values_of_L(double *out, const batch_problem *p, int64_t first, int64_t count) {
  make_values(out, p, &p->L, p->perm, true, first, count);
}
void batch_values_of_U(double *out, const batch_problem *p, int64_t first, int64_t count) {
  make_values(out, p, &p->U, p->perm, false, first, count);
}

double batch_residual(const batch_problem *p, int64_t item, const double *b, const double *x, int64_t nrhs) {
  double worst = 0;
  for (int64_t k = 0; k < nrhs; k++)
    for (int32_t i = 0; i < p->n; i++) {
      double sum = b[k * p->n + i], size = fabs(sum);
      for (int64_t q = p->A.ptr[i]; q < p->A.ptr[i + 1]; q++) {
        const int32_t j = p->A.idx[q];
        const double term = p->A.val[q] * batch_scale(item, i, false) * batch_scale(item, j, true) * x[k * p->n + j];
        sum -= term;
        size += fabs(term);
      }
      if (isnan(sum) || fabs(sum) > worst * size) worst = fabs(sum) / size;
    }
  return worst;
}
