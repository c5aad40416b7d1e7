/* trees.c -- see trees.h. An item is a node, or a pushed node with the GATHER nodes before it, which share its places. */
#include "trsm/block/host/trees.h"

#include <string.h>

#include "core/context/alloc.h"

enum { NODE = 300, VALUE = 5 }; /* tenths of a nanosecond, for one right-hand side on a server core of 2024 */

typedef struct {
  const spti_nodes *nodes;
  int32_t count;    /* items */
  int32_t *item_of; /* [n] item of a place */
  int64_t *cost;    /* [count], ptr [count+2], idx: the items as a pull view; item i is its row i, or count-1-i if it is backward */
  int64_t *ptr;
  int32_t *idx;
  int32_t *tree_of, *layer_of; /* [count] tree of an item; [trees] layer of a tree */
} items;

static int32_t row_of(const items *s, int32_t item) { return s->nodes->reversed ? s->count - 1 - item : item; }

static void find_items(items *s) {
  const spti_nodes *nodes = s->nodes;
  for (int32_t c = 0; c < nodes->count; c++) {
    const spti_node *node = &nodes->node[c];
    if (node->kind == SPTI_NODE_GATHER) continue; /* the next pushed node has its place */
    s->count++;
    for (int32_t k = 0; k < node->width; k++) s->item_of[node->first + k] = s->count - 1;
  }
}

/* Goes through all pairs of an item and one before it on which it depends; neighbours in a list that are in one item count once. The first
 * time counts the pairs of row r in ptr[r + 1], the second time writes them from ptr[r] on. */
static void go_through_pairs(items *s, int64_t *ptr, bool write) {
  for (int32_t c = 0; c < s->nodes->count; c++) {
    const spti_node *node = &s->nodes->node[c];
    const bool push = node->kind == SPTI_NODE_PUSH;
    const int32_t own = s->item_of[node->first];
    for (int32_t k = 0, last = -1; k < node->listed; k++) {
      const int32_t other = s->item_of[s->nodes->list[node->list + k]], row = row_of(s, push ? other : own);
      if (other == last) continue;
      last = other;
      if (write) s->idx[ptr[row]++] = row_of(s, push ? own : other);
      else ptr[row + 1]++;
    }
  }
}

static void add_costs(items *s) {
  memset(s->cost, 0, (size_t)s->count * sizeof *s->cost);
  for (int32_t c = 0; c < s->nodes->count; c++) {
    const spti_node *node = &s->nodes->node[c];
    const bool push = node->kind == SPTI_NODE_PUSH;
    s->cost[row_of(s, s->item_of[node->first])] += NODE + VALUE * (push ? spti_node_triangle_size(node) : spti_node_size(node));
    for (int32_t k = 0; push && k < node->listed; k++)
      s->cost[row_of(s, s->item_of[s->nodes->list[node->list + k]])] += (int64_t)VALUE * node->width;
  }
}

/* The pointers are counted one place further, so that the second time leaves them as they should be. */
static sptrsm_status make_view(spti_view *out, items *s) {
  SPTI_TRY(spti_host_alloc(&s->ptr, (int64_t)s->count + 2, sizeof *s->ptr, "pointers of items"));
  SPTI_TRY(spti_host_alloc(&s->cost, s->count, sizeof *s->cost, "costs of items"));
  memset(s->ptr, 0, ((size_t)s->count + 2) * sizeof *s->ptr);
  go_through_pairs(s, s->ptr + 1, false);
  for (int32_t r = 0; r < s->count; r++) s->ptr[r + 2] += s->ptr[r + 1];
  const int64_t pairs = s->ptr[s->count + 1];
  SPTI_TRY(spti_host_alloc(&s->idx, pairs, sizeof *s->idx, "pairs of items"));
  go_through_pairs(s, s->ptr + 1, true);
  add_costs(s);
  *out = (spti_view){.n = s->count, .nnz = pairs, .ptr = s->ptr, .idx = s->idx, .pull = true, .backward = s->nodes->reversed};
  return SPTRSM_OK;
}

static sptrsm_status find_trees(items *s, const spti_schedule *schedule) {
  SPTI_TRY(spti_host_alloc(&s->tree_of, s->count, sizeof *s->tree_of, "trees of items"));
  SPTI_TRY(spti_host_alloc(&s->layer_of, schedule->ptr[schedule->steps], sizeof *s->layer_of, "layers of trees"));
  for (int32_t layer = 0; layer < schedule->steps; layer++)
    for (int32_t u = schedule->ptr[layer]; u < schedule->ptr[layer + 1]; u++) {
      s->layer_of[u] = layer;
      for (int32_t r = schedule->unit[u]; r < schedule->unit[u + 1]; r++) s->tree_of[row_of(s, schedule->order[r])] = u;
    }
  return SPTRSM_OK;
}

/* The tree of the k-th place in a node's list. */
static int32_t tree_at(const items *s, const spti_node *node, int32_t k) { return s->tree_of[s->item_of[s->nodes->list[node->list + k]]]; }

static sptrsm_status find_parts(spti_node_trees *t, const items *s) {
  SPTI_TRY(spti_host_alloc(&t->part, (int64_t)s->nodes->count * SPTI_FOREST_LAYERS, sizeof *t->part, "parts of lists"));
  for (int32_t c = 0; c < s->nodes->count; c++) {
    const spti_node *node = &s->nodes->node[c];
    const int32_t listed = node->kind == SPTI_NODE_PUSH ? node->listed : 0;
    for (int32_t layer = 0, k = 0; layer < SPTI_FOREST_LAYERS; layer++) {
      while (k < listed && s->layer_of[tree_at(s, node, k)] <= layer) k++;
      t->part[(int64_t)c * SPTI_FOREST_LAYERS + layer] = k;
    }
  }
  return SPTRSM_OK;
}

/* Goes through all visits, as go_through_pairs does. */
static void go_through_visits(spti_node_trees *t, const items *s, int64_t *ptr, bool write) {
  for (int32_t c = 0; c < s->nodes->count; c++) {
    const spti_node *node = &s->nodes->node[c];
    const int32_t own = s->tree_of[s->item_of[node->first]], *part = t->part ? &t->part[(int64_t)c * SPTI_FOREST_LAYERS] : NULL;
    if (write) t->visit[ptr[own]++] = c;
    else ptr[own + 1]++;
    for (int32_t layer = s->layer_of[own] + 1; part && layer < SPTI_FOREST_LAYERS; layer++) {
      if (part[layer] == part[layer - 1]) continue;
      const int32_t above = tree_at(s, node, part[layer - 1]);
      if (write) t->visit[ptr[above]++] = ~c;
      else ptr[above + 1]++;
    }
  }
}

static sptrsm_status find_visits(spti_node_trees *t, items *s) {
  const int32_t trees = t->schedule.ptr[t->schedule.steps];
  SPTI_TRY(spti_host_alloc(&t->ptr, (int64_t)trees + 2, sizeof *t->ptr, "pointers of trees"));
  memset(t->ptr, 0, ((size_t)trees + 2) * sizeof *t->ptr);
  go_through_visits(t, s, t->ptr + 1, false);
  for (int32_t u = 0; u < trees; u++) t->ptr[u + 2] += t->ptr[u + 1];
  const int64_t visits = t->ptr[trees + 1];
  SPTI_TRY(spti_host_alloc(&t->visit, visits, sizeof *t->visit, "visits of nodes"));
  go_through_visits(t, s, t->ptr + 1, true);
  spti_blob size = {.mode = SPTI_BLOB_MEASURE};
  spti_node_trees_carry(t, &size, s->nodes);
  t->bytes = size.used;
  return SPTRSM_OK;
}

sptrsm_status spti_node_trees_build(spti_node_trees *out, const spti_nodes *nodes) {
  spti_node_trees t = {.schedule = {.least = 1, .team = 1}};
  items s = {.nodes = nodes};
  spti_view v;
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&s.item_of, nodes->n, sizeof *s.item_of, "items of places"));
  find_items(&s);
  SPTI_TRY_DONE(make_view(&v, &s));
  SPTI_TRY_DONE(spti_schedule_trees(&t.schedule, &v, s.cost));
  if (t.schedule.team > 1) {
    SPTI_TRY_DONE(find_trees(&s, &t.schedule));
    if (!nodes->pull) SPTI_TRY_DONE(find_parts(&t, &s));
    SPTI_TRY_DONE(find_visits(&t, &s));
  }
  *out = t;
  t = (spti_node_trees){0};
done:
  spti_node_trees_free(&t);
  spti_host_free(s.item_of);
  spti_host_free(s.cost);
  spti_host_free(s.ptr);
  spti_host_free(s.idx);
  spti_host_free(s.tree_of);
  spti_host_free(s.layer_of);
  return status;
}

void spti_node_trees_free(spti_node_trees *t) {
  if (!t->schedule.borrowed) {
    spti_host_free(t->ptr);
    spti_host_free(t->visit);
    spti_host_free(t->part);
  }
  spti_schedule_free(&t->schedule);
  *t = (spti_node_trees){.schedule = {.least = 1, .team = 1}};
}
