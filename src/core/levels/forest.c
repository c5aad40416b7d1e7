/* forest.c -- see forest.h. Rows are visited in the order of their indices, which is the order of elimination in both directions. */
#include "core/levels/forest.h"

#include <string.h>

#include "core/context/alloc.h"

static const int64_t shares[SPTI_FOREST_LAYERS - 1] = {64, 16, 4};

/* A view whose lines list neighbours with smaller indices, and what of it is to be freed. */
typedef struct {
  spti_view view;
  int64_t *ptr;
  int32_t *idx;
} neighbours;

/* Lines that list neighbours with larger indices are transposed, without diagonals. */
static sptrsm_status transpose(neighbours *out, const spti_view *v) {
  SPTI_TRY(spti_host_alloc(&out->ptr, (int64_t)v->n + 2, sizeof *out->ptr, "pointers of columns"));
  SPTI_TRY(spti_host_alloc(&out->idx, v->nnz, sizeof *out->idx, "rows of columns"));
  int64_t *ptr = out->ptr + 1;
  int32_t *idx = out->idx;
  memset(out->ptr, 0, ((size_t)v->n + 2) * sizeof *ptr);
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) ptr[v->idx[p] + 1]++;
  for (int32_t i = 0; i < v->n; i++) ptr[i + 1] += ptr[i];
  /* ptr[j], counted up while column j is filled, ends as the begin of column j + 1, and out->ptr begins one place before ptr. */
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) idx[ptr[v->idx[p]]++] = i;
  out->view = (spti_view){.n = v->n, .nnz = v->nnz, .ptr = out->ptr, .idx = idx};
  return SPTRSM_OK;
}

enum { ROOT = -1, IN_LARGE = -2, LARGE = 16 };

/* The elimination tree while it is made. above[j]: a row on the way from j to its root, ROOT, or IN_LARGE for rows that are, or once were,
 * the root of the large tree, which is the first one with more than a LARGE-th of all costs. Most rows of most triangles end in it, and its
 * root is known without following a path. */
typedef struct {
  int32_t *parent, *above;
  int64_t *below; /* costs of subtrees */
  int32_t large;  /* root of the large tree, or -1 */
} growing;

static void set_parent(growing *g, int32_t root, int32_t i) {
  g->parent[root] = i;
  g->below[i] += g->below[root];
}

/* Makes row i the parent of the root above row j, and compresses the path to it. */
static void join(growing *g, int32_t j, int32_t i) {
  while (j != i) {
    const int32_t next = g->above[j];
    if (next == IN_LARGE) {
      if (g->large != i) set_parent(g, g->large, i);
      g->large = i;
      return;
    }
    g->above[j] = i;
    if (next == ROOT) set_parent(g, j, i);
    j = next == ROOT ? i : next;
  }
}

/* Liu's algorithm: the parent of each root above an earlier neighbour of row i is row i. */
static void find_parents(growing *g, const spti_view *v, int64_t total) {
  for (int32_t i = 0; i < v->n; i++) {
    g->parent[i] = -1;
    g->above[i] = ROOT;
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) join(g, v->idx[p], i);
    if (g->large < 0 && g->below[i] > total / LARGE) g->large = i;
    if (g->large == i) g->above[i] = IN_LARGE;
  }
}

static int layer_of(int64_t below, int64_t total) {
  int layer = 0;
  while (layer < SPTI_FOREST_LAYERS - 1 && below > total / shares[layer]) layer++;
  return layer;
}

/* Numbers the trees, whose roots have parents in later layers, and sets tree_of each row. Numbers ascend by layer in the order of
 * substitution, and by root. */
static void number_trees(spti_forest *f, int32_t *tree_of, const int8_t *layer, const int32_t *parent, bool backward) {
  for (int step = 0; step < SPTI_FOREST_LAYERS; step++) {
    const int wanted = backward ? SPTI_FOREST_LAYERS - 1 - step : step;
    f->ptr[step] = f->trees;
    for (int32_t i = f->n - 1; i >= 0; i--) /* parents before children */
      if (layer[i] == wanted) tree_of[i] = parent[i] >= 0 && layer[parent[i]] == wanted ? tree_of[parent[i]] : f->trees++;
  }
  f->ptr[SPTI_FOREST_LAYERS] = f->trees;
}

/* Sorts the rows by tree, by counting. */
static sptrsm_status sort_rows(spti_forest *f, const int32_t *tree_of, const spti_view *v) {
  SPTI_TRY(spti_host_alloc(&f->tree, (int64_t)f->trees + 2, sizeof *f->tree, "trees"));
  int32_t *next = f->tree + 1;
  memset(f->tree, 0, ((size_t)f->trees + 2) * sizeof *f->tree);
  for (int32_t i = 0; i < f->n; i++) next[tree_of[i] + 1]++;
  for (int32_t t = 0; t < f->trees; t++) next[t + 1] += next[t];
  for (int32_t s = 0; s < f->n; s++) {
    const int32_t i = spti_view_line(v, s);
    f->order[next[tree_of[i]]++] = i;
  }
  return SPTRSM_OK;
}

sptrsm_status spti_forest_build(spti_forest *out, const spti_view *v, const int64_t *cost) {
  spti_forest f = {.n = v->n};
  neighbours near = {.view = *v};
  growing g = {.large = -1};
  int64_t total = 0;
  int8_t *layer = NULL;
  sptrsm_status status;
  if (v->backward == v->pull) SPTI_TRY_DONE(transpose(&near, v));
  SPTI_TRY_DONE(spti_host_alloc(&f.order, v->n, sizeof *f.order, "rows by tree"));
  SPTI_TRY_DONE(spti_host_alloc(&g.parent, v->n, sizeof *g.parent, "parents"));
  SPTI_TRY_DONE(spti_host_alloc(&g.above, v->n, sizeof *g.above, "compressed paths"));
  SPTI_TRY_DONE(spti_host_alloc(&g.below, v->n, sizeof *g.below, "costs of subtrees"));
  SPTI_TRY_DONE(spti_host_alloc(&layer, v->n, sizeof *layer, "layers of rows"));
  if (v->n > 0) memcpy(g.below, cost, (size_t)v->n * sizeof *cost);
  for (int32_t i = 0; i < v->n; i++) total += cost[i];
  find_parents(&g, &near.view, total);
  for (int32_t i = 0; i < v->n; i++) layer[i] = (int8_t)layer_of(g.below[i], total);
  number_trees(&f, g.above, layer, g.parent, v->backward);
  SPTI_TRY_DONE(sort_rows(&f, g.above, v));
  *out = f;
  f = (spti_forest){0};
done:
  spti_forest_free(&f);
  spti_host_free(near.ptr);
  spti_host_free(near.idx);
  spti_host_free(g.parent);
  spti_host_free(g.above);
  spti_host_free(g.below);
  spti_host_free(layer);
  return status;
}

void spti_forest_free(spti_forest *f) {
  spti_host_free(f->tree);
  spti_host_free(f->order);
  *f = (spti_forest){0};
}
