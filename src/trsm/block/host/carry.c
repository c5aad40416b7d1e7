/* carry.c -- supernodes and their trees in a blob. What is read is checked so far that a solve stays within the panel, the lists and the
 * values, whatever is in them, and that nodes depend on nodes before them. Whether the nodes have the pattern of the matrix is looked at
 * only before new values are packed, which relies on it. */
#include <stdlib.h>

#include "core/context/alloc.h"
#include "trsm/block/host/trees.h"

/* ---- nodes ---- */

/* Do the places ascend within [least, end)? */
static bool ascends(const int32_t *list, int32_t count, int32_t least, int32_t end) {
  for (int32_t e = 0; e < count; e++) {
    if (list[e] < least || list[e] >= end) return false;
    least = list[e] + 1;
  }
  return true;
}

/* Where the next node begins: nodes follow each other without gaps. GATHER nodes have places of the next other node. */
typedef struct {
  int32_t place;
  int64_t list, value;
} cursor;

/* What is wrong with a node, and its value; NULL: nothing, and *next goes on behind it. */
static const char *fault_of(int64_t *value, const spti_nodes *s, const spti_node *node, cursor *next) {
  const bool gathers = node->kind == SPTI_NODE_GATHER, pushes = node->kind == SPTI_NODE_PUSH;
  *value = (int64_t)node->kind;
  if ((uint32_t)node->kind > SPTI_NODE_GATHER || (s->pull && node->kind != SPTI_NODE_PULL)) return "kind";
  *value = node->first;
  if (gathers ? node->first < next->place : node->first != next->place) return "first place";
  *value = node->width;
  if (node->width < 1 || node->width > s->n - node->first || (gathers && node->width != 1)) return "width";
  *value = node->listed;
  if (node->listed < 0 || node->listed > s->list_length - next->list) return "length of a list";
  *value = node->list;
  if (node->list != next->list) return "list";
  const int32_t least = pushes ? node->first + node->width : 0, end = pushes ? s->n : gathers ? next->place : node->first;
  if (!ascends(s->list + node->list, node->listed, least, end)) return "places in the list";
  *value = node->value;
  if (node->value != next->value || spti_node_size(node) > s->stored - next->value) return "values";
  next->list += node->listed;
  next->value += spti_node_size(node);
  if (!gathers) next->place += node->width;
  return NULL;
}

static void check_nodes(spti_blob *b, const spti_nodes *s) {
  cursor next = {0};
  for (int32_t c = 0; c < s->count; c++) {
    int64_t value;
    const char *fault = fault_of(&value, s, &s->node[c], &next);
    if (!fault) continue;
    spti_blob_refuse(b, "plan: supernode %d of %d can't have the %s %lld; make the plan anew", c, s->count, fault, (long long)value);
    return;
  }
  if (next.place != s->n) spti_blob_refuse(b, "plan: its supernodes have %d of %d rows; make the plan anew", next.place, s->n);
}

void spti_nodes_carry(spti_nodes *s, spti_blob *b, const spti_view *v) {
  int64_t shape[] = {s->n, s->count, s->pull, s->reversed, s->stored, s->entries, s->added, s->dense, s->list_length};
  spti_blob_value(b, shape, sizeof shape);
  if (b->mode == SPTI_BLOB_READ) {
    if (b->status == SPTRSM_OK &&
        (shape[0] != v->n || shape[1] < 0 || shape[1] > 2 * shape[0] || shape[2] != v->pull || shape[3] != v->backward || shape[4] < 0))
      spti_blob_refuse(b, "plan: %lld supernodes of %lld rows are not those of this matrix; make the plan anew", (long long)shape[1],
                       (long long)shape[0]);
    if (b->status != SPTRSM_OK) return;
    *s = (spti_nodes){.n = v->n, .count = (int32_t)shape[1], .pull = v->pull, .reversed = v->backward, .borrowed = true};
    s->stored = shape[4], s->entries = shape[5], s->added = shape[6], s->dense = shape[7], s->list_length = shape[8];
  }
  spti_blob_array(b, &s->node, s->count, sizeof *s->node);
  spti_blob_array(b, &s->list, s->list_length, sizeof *s->list);
  if (b->mode != SPTI_BLOB_READ || b->status != SPTRSM_OK) return;
  check_nodes(b, s);
  if (b->status == SPTRSM_OK) b->status = spti_nodes_alloc_packing(s);
}

/* ---- do they have the pattern? ---- */

/* Is the place `other` one that line `line` of the node may have? rank is set for the places of its list. */
static bool has_place(const spti_nodes *s, const spti_node *node, int32_t line, int32_t other) {
  if (other >= node->first && other < node->first + node->width) return node->kind == SPTI_NODE_PUSH ? other > line : other < line;
  const int32_t at = s->rank[other];
  return at >= 0 && at < node->listed && s->list[node->list + at] == other;
}

static bool lines_fit(const spti_nodes *s, const spti_node *node, const spti_view *v) {
  for (int32_t e = 0; e < node->listed; e++) s->rank[s->list[node->list + e]] = e;
  for (int32_t place = node->first; place < node->first + node->width; place++) {
    const int32_t i = s->reversed ? s->n - 1 - place : place;
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
      if (!has_place(s, node, place, s->reversed ? s->n - 1 - v->idx[p] : v->idx[p])) return false;
  }
  return true;
}

/* Rows that gather: as many entries as their lists have places. gathered[] counts them. */
static bool gathered_fit(const spti_nodes *s, const spti_view *v) {
  for (int32_t i = 0; i < s->n; i++) s->gathered[i] = 0;
  for (int32_t c = 0; c < s->count; c++) {
    const spti_node *node = &s->node[c];
    if (node->kind != SPTI_NODE_PULL) continue;
    if (node->width != 1) return false;
    const int32_t column = s->reversed ? s->n - 1 - node->first : node->first;
    for (int64_t p = spti_view_begin(v, column); p < spti_view_end(v, column); p++)
      s->gathered[s->reversed ? s->n - 1 - v->idx[p] : v->idx[p]]++;
  }
  for (int32_t c = 0; c < s->count; c++) {
    const spti_node *node = &s->node[c];
    if (node->kind == SPTI_NODE_PUSH) continue;
    if (s->gathered[node->first] != node->listed) return false;
    s->gathered[node->first] = 0;
  }
  for (int32_t i = 0; i < s->n; i++)
    if (s->gathered[i] != 0) return false;
  return true;
}

sptrsm_status spti_nodes_check_fit(const spti_nodes *s, const spti_view *v) {
  bool fit = s->pull || gathered_fit(s, v);
  for (int32_t i = 0; i < s->n; i++) s->rank[i] = -1;
  for (int32_t c = 0; c < s->count && fit; c++)
    if (s->pull || s->node[c].kind == SPTI_NODE_PUSH) fit = lines_fit(s, &s->node[c], v);
  return fit ? SPTRSM_OK : spti_fail(SPTRSM_ERR_ARGUMENT, "plan: its supernodes are not those of the matrix; make the plan anew");
}

/* ---- trees ---- */

/* Lists are cut at places that do not decrease from layer to layer. */
static bool parts_fit(const spti_node_trees *t, const spti_nodes *nodes) {
  for (int32_t c = 0; c < nodes->count; c++)
    for (int32_t layer = 0, before = 0; layer < SPTI_FOREST_LAYERS; layer++) {
      const int32_t part = t->part[(int64_t)c * SPTI_FOREST_LAYERS + layer];
      if (part < before || part > (nodes->node[c].kind == SPTI_NODE_PUSH ? nodes->node[c].listed : 0)) return false;
      before = part;
    }
  return true;
}

/* Every visit is of a node, and updates come from nodes that push, in layers after the first. */
static bool visits_fit(const spti_node_trees *t, const spti_nodes *nodes, int64_t visits) {
  const int32_t first_end = t->schedule.ptr[1], trees = t->schedule.ptr[t->schedule.steps];
  if (t->ptr[0] != 0 || t->ptr[trees] != visits) return false;
  for (int32_t u = 0; u < trees; u++) {
    if (t->ptr[u + 1] < t->ptr[u] || t->ptr[u + 1] > visits) return false;
    for (int64_t k = t->ptr[u]; k < t->ptr[u + 1]; k++) {
      const int32_t node = t->visit[k] >= 0 ? t->visit[k] : ~t->visit[k];
      if (node >= nodes->count) return false;
      if (t->visit[k] < 0 && (u < first_end || !t->part || nodes->node[node].kind != SPTI_NODE_PUSH)) return false;
    }
  }
  return true;
}

void spti_node_trees_carry(spti_node_trees *t, spti_blob *b, const spti_nodes *nodes) {
  const bool reads = b->mode == SPTI_BLOB_READ;
  const size_t before = b->used;
  spti_schedule_carry(&t->schedule, b, nodes->count);
  if (b->status != SPTRSM_OK || t->schedule.team == 1) return;
  const int32_t trees = t->schedule.ptr[t->schedule.steps];
  int64_t visits = reads ? 0 : t->ptr[trees];
  spti_blob_value(b, &visits, sizeof visits);
  spti_blob_array(b, &t->ptr, (int64_t)trees + 1, sizeof *t->ptr);
  spti_blob_array(b, &t->visit, visits, sizeof *t->visit);
  if (!nodes->pull) spti_blob_array(b, &t->part, (int64_t)nodes->count * SPTI_FOREST_LAYERS, sizeof *t->part);
  if (!reads || b->status != SPTRSM_OK) return;
  t->bytes = b->used - before;
  if (t->schedule.steps != SPTI_FOREST_LAYERS || !visits_fit(t, nodes, visits) || (t->part && !parts_fit(t, nodes)))
    spti_blob_refuse(b, "plan: its trees have supernodes that are not there; make the plan anew");
}
