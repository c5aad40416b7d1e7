/* carry.c -- supernodes and their trees in a blob. What is read is checked so far that a solve stays within the panel, the lists and the
 * values, whatever is in them, and that nodes depend on nodes before them. Whether the nodes have the pattern of the matrix is looked at
 * only before new values are packed, which relies on it. */
#include <stdlib.h>

#include "core/context/alloc.h"
#include "trsm/block/host/trees.h"

/* ---- nodes ---- */

/* Where the next node begins: nodes follow each other without gaps. GATHER nodes have places of the next other node. */
typedef struct {
  int32_t place;
  int64_t list, value;
  int64_t descents; /* boundaries of lists at which the first place of a list is not above the last place of the list before it */
} cursor;

/* Descents in all lists together, without a branch for each place, since lists are short. */
static int64_t count_descents(const int32_t *list, int64_t length) {
  enum { CHUNK = 1 << 20 };
  int64_t descents = 0;
  for (int64_t begin = 1; begin < length; begin += CHUNK) {
    const int64_t end = length - begin < CHUNK ? length : begin + CHUNK;
    int32_t here = 0; /* so that vectors have the width of places */
    for (int64_t e = begin; e < end; e++) here += list[e - 1] >= list[e];
    descents += here;
  }
  return descents;
}

/* Which member of a node is invalid. If none is, *next is moved past the node. Of its list only the first and the last place are checked
 * here; check_nodes checks the order. */
typedef enum { NODE_GOOD, BAD_KIND, BAD_FIRST, BAD_WIDTH, BAD_LENGTH, BAD_LIST, BAD_PLACES, BAD_VALUES } node_fault;

static inline node_fault fault_of(const spti_nodes *s, const spti_node *node, cursor *next) {
  const bool gathers = node->kind == SPTI_NODE_GATHER, pushes = node->kind == SPTI_NODE_PUSH;
  if ((uint32_t)node->kind > SPTI_NODE_GATHER || (s->pull && node->kind != SPTI_NODE_PULL)) return BAD_KIND;
  if (gathers ? node->first < next->place : node->first != next->place) return BAD_FIRST;
  if (node->width < 1 || node->width > s->n - node->first || (gathers && node->width != 1)) return BAD_WIDTH;
  if (node->listed < 0 || node->listed > s->list_length - next->list) return BAD_LENGTH;
  if (node->list != next->list) return BAD_LIST;
  if (node->listed > 0) {
    const int32_t least = pushes ? node->first + node->width : 0, end = pushes ? s->n : gathers ? next->place : node->first;
    const int32_t *list = s->list + node->list;
    if (list[0] < least || list[node->listed - 1] >= end) return BAD_PLACES;
    next->descents += node->list > 0 && list[-1] >= list[0];
  }
  const int64_t size = node->width == 1 && !pushes ? node->listed + !gathers : spti_node_size(node); /* most nodes are single lines */
  if (node->value != next->value || size > s->stored - next->value) return BAD_VALUES;
  next->list += node->listed;
  next->value += size;
  if (!gathers) next->place += node->width;
  return NODE_GOOD;
}

static void refuse_node(spti_blob *b, const spti_nodes *s, int32_t c, node_fault fault) {
  const spti_node *node = &s->node[c];
  const struct {
    const char *name;
    int64_t value;
  } what[] = {[BAD_KIND] = {"kind", (int64_t)node->kind}, [BAD_FIRST] = {"first place", node->first},
              [BAD_WIDTH] = {"width", node->width},       [BAD_LENGTH] = {"length of a list", node->listed},
              [BAD_LIST] = {"list", node->list},          [BAD_PLACES] = {"places in the list", node->list},
              [BAD_VALUES] = {"values", node->value}};
  spti_blob_refuse(b, "plan: supernode %d of %d can't have the %s %lld; make the plan anew", c, s->count, what[fault].name,
                   (long long)what[fault].value);
}

static void check_nodes(spti_blob *b, const spti_nodes *s) {
  cursor next = {0};
  for (int32_t c = 0; c < s->count; c++) {
    const node_fault fault = fault_of(s, &s->node[c], &next);
    if (fault == NODE_GOOD) continue;
    refuse_node(b, s, c, fault);
    return;
  }
  if (next.place != s->n) spti_blob_refuse(b, "plan: its supernodes have %d of %d rows; make the plan anew", next.place, s->n);
  if (next.descents != count_descents(s->list, next.list))
    spti_blob_refuse(b, "plan: the places that its supernodes list do not ascend; make the plan anew");
}

/* Numbers that are only told: no larger than the matrix and the stored values allow. */
static bool counts_fit(const spti_nodes *s, const spti_view *v) {
  return s->entries >= 0 && s->entries <= v->nnz && s->added >= 0 && s->added <= s->stored && s->dense >= 0 && s->dense <= s->entries;
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
    if (!counts_fit(s, v))
      spti_blob_refuse(b, "plan: %lld entries, %lld of them and %lld zeros in supernodes, are not those of this matrix; make the plan anew",
                       (long long)s->entries, (long long)s->dense, (long long)s->added);
  }
  spti_blob_array(b, &s->node, s->count, sizeof *s->node);
  spti_blob_array(b, &s->list, s->list_length, sizeof *s->list);
  if (b->mode != SPTI_BLOB_READ || b->status != SPTRSM_OK) return;
  check_nodes(b, s);
  if (b->status == SPTRSM_OK) b->status = spti_nodes_alloc_packing(s);
}

/* ---- do they have the pattern? ---- */

/* Is the place `other` one that line `line` of the node may have? rank[other] is e for the e-th place of its list, and -2 - e once a line
 * has reached that place. */
static bool has_place(const spti_nodes *s, const spti_node *node, int32_t line, int32_t other) {
  if (other >= node->first && other < node->first + node->width) return node->kind == SPTI_NODE_PUSH ? other > line : other < line;
  const int32_t at = s->rank[other] < 0 ? -2 - s->rank[other] : s->rank[other];
  if (at < 0 || at >= node->listed || s->list[node->list + at] != other) return false;
  s->rank[other] = -2 - at;
  return true;
}

/* Each line has only places of the node, and each place of its list is one that some line has. */
static bool lines_fit(const spti_nodes *s, const spti_node *node, const spti_view *v) {
  for (int32_t e = 0; e < node->listed; e++) s->rank[s->list[node->list + e]] = e;
  for (int32_t place = node->first; place < node->first + node->width; place++) {
    const int32_t i = s->reversed ? s->n - 1 - place : place;
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
      if (!has_place(s, node, place, s->reversed ? s->n - 1 - v->idx[p] : v->idx[p])) return false;
  }
  for (int32_t e = 0; e < node->listed; e++)
    if (s->rank[s->list[node->list + e]] >= 0) return false;
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
