/* problem.c -- see schur.h. The Cholesky factorisation goes row by row (up-looking [davis2006, chapter 4]): row i of L is the solution with
 * the rows before it, in the rows that it reaches in the elimination tree. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "compare/schur/schur.h"

/* ---- nested dissection of a box: both halves, then the plane between them ---- */

typedef struct {
  int32_t first[3], end[3];
} box;

static int32_t extent(const box *b, int axis) { return b->end[axis] - b->first[axis]; }

static void list_points(schur_factor *f, const box *b) {
  for (int32_t z = b->first[2]; z < b->end[2]; z++)
    for (int32_t y = b->first[1]; y < b->end[1]; y++)
      for (int32_t x = b->first[0]; x < b->end[0]; x++) f->perm[f->n++] = x + f->size[0] * (y + f->size[1] * z);
}

static void dissect(schur_factor *f, box b) {
  int axis = 0;
  for (int a = 1; a < 3; a++)
    if (extent(&b, a) > extent(&b, axis)) axis = a;
  if (extent(&b, axis) <= 2) {
    list_points(f, &b);
    return;
  }
  const int32_t middle = b.first[axis] + extent(&b, axis) / 2;
  box low = b, high = b, plane = b;
  low.end[axis] = plane.first[axis] = middle;
  high.first[axis] = plane.end[axis] = middle + 1;
  dissect(f, low);
  dissect(f, high);
  list_points(f, &plane);
}

/* ---- K ---- */

/* The points beside p, and how many. */
static int neighbours(int32_t out[6], const schur_factor *f, int32_t p) {
  const int32_t step[3] = {1, f->size[0], f->size[0] * f->size[1]};
  int count = 0;
  for (int a = 0; a < 3; a++) {
    const int32_t at = p / step[a] % f->size[a];
    if (at > 0) out[count++] = p - step[a];
    if (at + 1 < f->size[a]) out[count++] = p + step[a];
  }
  return count;
}

/* ---- L ---- */

typedef struct {
  int32_t *parent, *mark, *stack, *path;
  int64_t *next; /* where the next entry of each column goes */
  double *row;
} work_arrays;

static int alloc_work(work_arrays *w, int32_t n) {
  const size_t size = (size_t)n;
  *w = (work_arrays){calloc(size, sizeof *w->parent), calloc(size, sizeof *w->mark), calloc(size, sizeof *w->stack),
                     calloc(size, sizeof *w->path),   calloc(size, sizeof *w->next), calloc(size, sizeof *w->row)};
  return w->parent && w->mark && w->stack && w->path && w->next && w->row ? CLI_OK : cli_no_memory("a factorisation");
}

static void free_work(work_arrays *w) { free(w->parent), free(w->mark), free(w->stack), free(w->path), free(w->next), free(w->row); }

/* The columns in which row i of L has entries, in an order in which they can be eliminated: stack[top .. n). */
static int32_t reach(const work_arrays *w, const schur_factor *f, int32_t i) {
  int32_t beside[6], top = f->n;
  const int count = neighbours(beside, f, f->perm[i]);
  w->mark[i] = i;
  for (int e = 0; e < count; e++) {
    int32_t length = 0;
    for (int32_t k = f->inverse[beside[e]]; k < i && w->mark[k] != i; k = w->parent[k]) {
      w->path[length++] = k;
      w->mark[k] = i;
      if (w->parent[k] < 0) w->parent[k] = i;
    }
    while (length > 0) w->stack[--top] = w->path[--length];
  }
  return top;
}

/* ptr and the elimination tree, from the lengths of all rows' reaches. */
static void count_entries(schur_factor *f, const work_arrays *w) {
  for (int32_t i = 0; i < f->n; i++) w->parent[i] = w->mark[i] = -1;
  for (int32_t i = 0; i < f->n; i++) {
    f->ptr[i + 1]++;
    for (int32_t t = reach(w, f, i); t < f->n; t++) f->ptr[w->stack[t] + 1]++;
  }
  for (int32_t i = 0; i < f->n; i++) {
    f->ptr[i + 1] += f->ptr[i];
    w->mark[i] = -1;
    w->next[i] = f->ptr[i];
  }
}

static void add_row(const schur_factor *f, const work_arrays *w, int32_t i) {
  int32_t beside[6];
  const int count = neighbours(beside, f, f->perm[i]);
  double diagonal = count + 1e-2;
  for (int e = 0; e < count; e++)
    if (f->inverse[beside[e]] < i) w->row[f->inverse[beside[e]]] = -1;
  for (int32_t t = reach(w, f, i); t < f->n; t++) {
    const int32_t k = w->stack[t];
    const double value = w->row[k] / f->val[f->ptr[k]];
    w->row[k] = 0;
    for (int64_t p = f->ptr[k] + 1; p < w->next[k]; p++) w->row[f->idx[p]] -= f->val[p] * value;
    diagonal -= value * value;
    f->idx[w->next[k]] = i;
    f->val[w->next[k]++] = value;
  }
  f->idx[w->next[i]] = i;
  f->val[w->next[i]++] = sqrt(diagonal);
}

static int factorise(schur_factor *f) {
  work_arrays w;
  int code = alloc_work(&w, f->n);
  if (code == CLI_OK) {
    count_entries(f, &w);
    f->idx = malloc((size_t)f->ptr[f->n] * sizeof *f->idx);
    f->val = malloc((size_t)f->ptr[f->n] * sizeof *f->val);
    if (!f->idx || !f->val) code = cli_no_memory("a factor");
  }
  for (int32_t i = 0; i < f->n && code == CLI_OK; i++) add_row(f, &w, i);
  free_work(&w);
  return code;
}

static void *make_factor(void *argument) {
  schur_factor *f = argument;
  const int32_t n = f->size[0] * f->size[1] * f->size[2];
  f->perm = malloc((size_t)n * sizeof *f->perm);
  f->inverse = malloc((size_t)n * sizeof *f->inverse);
  f->ptr = calloc((size_t)n + 1, sizeof *f->ptr);
  if (!f->perm || !f->inverse || !f->ptr) return argument;
  dissect(f, (box){.end = {f->size[0], f->size[1], f->size[2]}});
  for (int32_t i = 0; i < n; i++) f->inverse[f->perm[i]] = i;
  return factorise(f) == CLI_OK ? NULL : argument;
}

int schur_factors_create(schur_factor f[SCHUR_SHAPES], int32_t side) {
  static const int32_t change[SCHUR_SHAPES][3] = {{0, 0, 0}, {-1, 0, 1}, {1, 0, -1}, {0, 1, -1}, {0, -1, 1}, {1, -1, 0}, {-1, 1, 0}};
  pthread_t thread[SCHUR_SHAPES];
  int started = 0;
  bool good = true;
  for (; started < SCHUR_SHAPES && good; started += good) {
    f[started] = (schur_factor){0};
    for (int a = 0; a < 3; a++) f[started].size[a] = side + change[started][a];
    good = pthread_create(&thread[started], NULL, make_factor, &f[started]) == 0;
  }
  for (int k = 0; k < started; k++) {
    void *bad;
    (void)pthread_join(thread[k], &bad);
    good = good && !bad;
  }
  return good ? CLI_OK : cli_no_memory("factors");
}

void schur_factor_free(schur_factor *f) {
  free(f->perm), free(f->inverse), free(f->ptr), free(f->idx), free(f->val);
  *f = (schur_factor){0};
}

/* ---- columns ---- */

/* Adds the column of point p of a face, and the one after it along `along`. */
static void add_column(schur_columns *c, int32_t p, int32_t along, double sign) {
  int64_t e = c->ptr[c->count];
  for (int k = 0; k <= (along > 0); k++) c->idx[e] = p + k * along, c->val[e++] = along > 0 ? sign / 2 : sign;
  c->ptr[++c->count] = e;
}

/* The columns of the points of one of the two faces across an axis; of all faces' points, `count` of `all` get one. */
static void glue(schur_columns *c, const schur_factor *f, int axis, int side, int64_t *seen, int64_t count, int64_t all) {
  const int32_t step[3] = {1, f->size[0], f->size[0] * f->size[1]}, face = (side ? f->size[axis] - 1 : 0) * step[axis];
  const int u = (axis + 1) % 3, v = (axis + 2) % 3;
  for (int64_t k = 0; k < (int64_t)f->size[u] * f->size[v]; k++, (*seen)++) {
    const int32_t a = (int32_t)(k / f->size[v]), b = (int32_t)(k % f->size[v]);
    if ((*seen + 1) * count / all == *seen * count / all) continue;
    const bool two = c->count % 2 && a + 1 < f->size[u];
    add_column(c, face + a * step[u] + b * step[v], two ? step[u] : 0, side ? -1 : 1);
  }
}

int schur_columns_create(schur_columns *c, const schur_factor *f, int64_t count) {
  const size_t room = (size_t)count;
  int64_t all = 0, seen = 0;
  *c = (schur_columns){
      .ptr = calloc(room + 1, sizeof *c->ptr), .idx = malloc(2 * room * sizeof *c->idx), .val = malloc(2 * room * sizeof *c->val)};
  if (!c->ptr || !c->idx || !c->val) return cli_no_memory("columns");
  for (int a = 0; a < 3; a++) all += 2 * (int64_t)f->size[(a + 1) % 3] * f->size[(a + 2) % 3];
  if (count > all) {
    cli_error("a box of %d unknowns has %lld points of faces, so no %lld columns", f->n, (long long)all, (long long)count);
    return CLI_USAGE;
  }
  for (int face = 0; face < 6; face++) glue(c, f, face / 2, face % 2, &seen, count, all);
  return CLI_OK;
}

void schur_columns_free(schur_columns *c) {
  free(c->ptr), free(c->idx), free(c->val);
  *c = (schur_columns){0};
}
