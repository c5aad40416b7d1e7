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

/* Makes row i the parent of the root above row j, and compresses the path to it. */
static void join(int32_t *parent, int32_t *above, int32_t j, int32_t i) {
  while (j != i) {
    const int32_t next = above[j];
    above[j] = i;
    if (next < 0) parent[j] = i;
    j = next < 0 ? i : next;
  }
}

/* Liu's algorithm: the parent of each root above an earlier neighbour of row i is row i. */
static void find_parents(int32_t *parent, int32_t *above, const spti_view *v) {
  for (int32_t i = 0; i < v->n; i++) {
    parent[i] = above[i] = -1;
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) join(parent, above, v->idx[p], i);
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
  int32_t *parent = NULL, *above = NULL;
  int64_t *below = NULL, total = 0;
  int8_t *layer = NULL;
  sptrsm_status status;
  if (v->backward == v->pull) SPTI_TRY_DONE(transpose(&near, v));
  SPTI_TRY_DONE(spti_host_alloc(&f.order, v->n, sizeof *f.order, "rows by tree"));
  SPTI_TRY_DONE(spti_host_alloc(&parent, v->n, sizeof *parent, "parents"));
  SPTI_TRY_DONE(spti_host_alloc(&above, v->n, sizeof *above, "compressed paths"));
  SPTI_TRY_DONE(spti_host_alloc(&below, v->n, sizeof *below, "costs of subtrees"));
  SPTI_TRY_DONE(spti_host_alloc(&layer, v->n, sizeof *layer, "layers of rows"));
  find_parents(parent, above, &near.view);
  memcpy(below, cost, (size_t)v->n * sizeof *below);
  for (int32_t i = 0; i < v->n; i++) {
    total += cost[i];
    if (parent[i] >= 0) below[parent[i]] += below[i];
  }
  for (int32_t i = 0; i < v->n; i++) layer[i] = (int8_t)layer_of(below[i], total);
  number_trees(&f, above, layer, parent, v->backward);
  SPTI_TRY_DONE(sort_rows(&f, above, v));
  *out = f;
  f = (spti_forest){0};
done:
  spti_forest_free(&f);
  spti_host_free(near.ptr);
  spti_host_free(near.idx);
  spti_host_free(parent);
  spti_host_free(above);
  spti_host_free(below);
  spti_host_free(layer);
  return status;
}

void spti_forest_free(spti_forest *f) {
  spti_host_free(f->tree);
  spti_host_free(f->order);
  *f = (spti_forest){0};
}
