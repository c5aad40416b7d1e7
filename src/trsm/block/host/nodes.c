/* nodes.c -- finds supernodes by comparing patterns, merges neighbours (relaxed amalgamation), and packs values. Source: the fundamental
 * supernodes and relaxed amalgamation of multifrontal codes [ashcraft1989]. Differs: works on any triangle, with the patterns themselves
 * and no elimination tree, since factors L and U of unsymmetric matrices have none; neighbours are merged where a model of the solve's
 * time says so, within a bound on added zeros.
 *
 * Lines are numbered here so that line t has off-diagonal entries beyond t only: t is the place where the view pushes, and the place
 * counted from the end where it pulls. So in both orientations a supernode is a run of lines [first, end) with a list of numbers from
 * `end` on. */
#include "trsm/block/host/nodes.h"

#include <string.h>

#include "core/context/alloc.h"

/* Model of a solve's time; the unit is half a product of a stored entry with a vector of right-hand sides. As a supernode: per node, per
 * row of its list, per stored cell. By single lines: per line, per entry. Fitted with 32 right-hand sides (README.md). */
enum { NODE_COST = 32, LISTED_COST = 8, CELL_COST = 2, LINE_COST = 8, ENTRY_COST = 3 };

typedef struct {
  int32_t first, end, listed;
  int64_t list, entries; /* off-diagonal entries, without the added ones */
} run;

typedef struct {
  const spti_view *view;
  bool mirrored; /* line t is row or column n-1-t */
  run *runs;     /* a stack */
  int32_t count;
  int32_t *list; /* the lists of the runs, one after another; each is at most as long as a line of its run */
  int32_t *merged;
} search;

static int32_t line_of(const search *s, int32_t t) { return s->mirrored ? s->view->n - 1 - t : t; }

static int32_t line_length(const search *s, int32_t t) {
  const int32_t i = line_of(s, t);
  return (int32_t)(spti_view_end(s->view, i) - spti_view_begin(s->view, i));
}

/* Copies the off-diagonal entries of line t, ascending. */
static int32_t read_line(int32_t *to, const search *s, int32_t t) {
  const spti_view *v = s->view;
  const int32_t length = line_length(s, t);
  const int32_t *from = v->idx + spti_view_begin(v, line_of(s, t));
  for (int32_t e = 0; e < length; e++) to[e] = s->mirrored ? v->n - 1 - from[length - 1 - e] : from[e];
  return length;
}

static int64_t cells(int32_t width, int32_t listed) { return (int64_t)width * (width - 1) / 2 + (int64_t)width * listed; }

static int64_t block_cost(int32_t width, int32_t listed) {
  return NODE_COST + (int64_t)LISTED_COST * listed + CELL_COST * cells(width, listed);
}

static int64_t single_cost(const run *r) { return (int64_t)LINE_COST * (r->end - r->first) + ENTRY_COST * r->entries; }

/* Is the run faster as a supernode? */
static bool is_dense(const run *r) { return r->end - r->first > 1 && block_cost(r->end - r->first, r->listed) <= single_cost(r); }

/* Time of the run as it will be solved; `grows`: both neighbours are not dense yet but may become so together, so count it as a block. */
static int64_t cost(const run *r, bool grows) { return grows || is_dense(r) ? block_cost(r->end - r->first, r->listed) : single_cost(r); }

/* Has line t the off-diagonal entries of line t - 1 without the first of them, t itself? Then it adds no zeros to a run that ends with
 * line t - 1. */
static bool continues(const search *s, int32_t t) {
  const spti_view *v = s->view;
  const int32_t i = line_of(s, t), before = line_of(s, t - 1);
  const int64_t begin = spti_view_begin(v, i), length = spti_view_end(v, i) - begin;
  const int32_t *longer = v->idx + spti_view_begin(v, before);
  if (spti_view_end(v, before) - spti_view_begin(v, before) != length + 1 || longer[s->mirrored ? length : 0] != i) return false;
  return length == 0 || memcmp(longer + !s->mirrored, v->idx + begin, (size_t)length * sizeof *longer) == 0;
}

/* Union of b and the elements of a from `end` on: ascending, without duplicates. */
static int32_t unite(int32_t *to, const int32_t *a, int32_t a_count, const int32_t *b, int32_t b_count, int32_t end) {
  int32_t i = 0, j = 0, count = 0;
  while (i < a_count && a[i] < end) i++;
  while (i < a_count && j < b_count) {
    int32_t next = a[i] < b[j] ? a[i] : b[j];
    i += a[i] == next;
    j += b[j] == next;
    to[count++] = next;
  }
  for (; i < a_count; i++) to[count++] = a[i];
  for (; j < b_count; j++) to[count++] = b[j];
  return count;
}

/* Would the two runs, merged with so long a list, save time within the limits? If not, no longer list would. */
static bool pays(const run *a, const run *b, int32_t listed, const spti_node_limits *limits) {
  const int32_t width = b->end - a->first;
  const int64_t entries = a->entries + b->entries, all = cells(width, listed);
  const bool grows = !is_dense(a) && !is_dense(b);
  return (all - entries) * 100 <= all * limits->zeros && block_cost(width, listed) <= cost(a, grows) + cost(b, grows);
}

/* Merges the two runs on top of the stack if that pays. */
static bool merge_top(search *s, const spti_node_limits *limits) {
  if (s->count < 2) return false;
  run *a = &s->runs[s->count - 2], *b = &s->runs[s->count - 1];
  if (b->end - a->first > limits->width) return false;
  const int32_t rest = a->listed - (b->end - b->first); /* of a's list, at least, beyond b */
  if (!pays(a, b, rest > b->listed ? rest : b->listed, limits)) return false;
  int32_t listed = unite(s->merged, s->list + a->list, a->listed, s->list + b->list, b->listed, b->end);
  if (!pays(a, b, listed, limits)) return false;
  memcpy(s->list + a->list, s->merged, (size_t)listed * sizeof *s->list);
  *a = (run){.first = a->first, .end = b->end, .listed = listed, .list = a->list, .entries = a->entries + b->entries};
  s->count--;
  return true;
}

/* A fundamental supernode: the longest run of lines from `first` on that continue each other. */
static run take_run(search *s, int32_t first, int32_t width_most) {
  int64_t at = s->count ? s->runs[s->count - 1].list + s->runs[s->count - 1].listed : 0;
  run r = {.first = first, .end = first + 1, .list = at, .entries = line_length(s, first)};
  for (; r.end < s->view->n && r.end - r.first < width_most && continues(s, r.end); r.end++) r.entries += line_length(s, r.end);
  r.listed = read_line(s->list + at, s, r.end - 1);
  return r;
}

/* ---- from runs to nodes in solve order ---- */

/* The next node; its list is at the end of all lists. */
static spti_node *append(spti_nodes *out, spti_node_kind kind, int32_t first, int32_t width, int32_t listed) {
  spti_node *node = &out->node[out->count++];
  *node = (spti_node){.kind = kind, .first = first, .width = width, .listed = listed, .exact = 1};
  node->list = out->list_length;
  node->value = out->stored;
  out->list_length += listed;
  out->stored += spti_node_size(node);
  return node;
}

/* A run as one node. */
static void append_run(spti_nodes *out, const search *s, const run *r) {
  const int32_t n = out->n, width = r->end - r->first;
  const int32_t *from = s->list + r->list;
  spti_node *node = append(out, out->pull ? SPTI_NODE_PULL : SPTI_NODE_PUSH, out->pull ? n - r->end : r->first, width, r->listed);
  int32_t *to = out->list + node->list;
  for (int32_t e = 0; e < r->listed; e++) to[e] = out->pull ? n - 1 - from[r->listed - 1 - e] : from[e];
  node->exact = cells(width, r->listed) == r->entries;
  out->added += cells(width, r->listed) - r->entries;
  out->dense += r->entries;
}

/* In a view that pulls: a run as one node, or as its single lines, the last one first. */
static void append_pulled(spti_nodes *out, search *s, const run *r) {
  if (is_dense(r)) {
    append_run(out, s, r);
    return;
  }
  for (int32_t t = r->end - 1; t >= r->first; t--) {
    int32_t length = read_line(s->merged, s, t);
    int32_t *to = out->list + append(out, SPTI_NODE_PULL, out->n - 1 - t, 1, length)->list;
    for (int32_t e = 0; e < length; e++) to[e] = out->n - 1 - s->merged[length - 1 - e];
  }
}

/* In a view that pushes: a run as one node, after GATHER nodes of its rows, or as single rows. rank[t]: entries that row t gathers. */
static void append_pushed(spti_nodes *out, const search *s, const run *r) {
  bool dense = is_dense(r);
  for (int32_t t = r->first; t < r->end; t++)
    if (!dense || out->rank[t] > 0) out->gathered[t] = append(out, dense ? SPTI_NODE_GATHER : SPTI_NODE_PULL, t, 1, out->rank[t])->list;
  if (dense) append_run(out, s, r);
}

/* Line t, whose column no supernode pushes: counts in rank[i] (list NULL), or lists, that row i gathers it. */
static void gather_column(spti_nodes *out, const search *s, int32_t t, int32_t *list) {
  const int32_t length = read_line(s->merged, s, t);
  for (int32_t e = 0; e < length; e++)
    if (list) list[out->gathered[s->merged[e]]++] = t;
    else out->rank[s->merged[e]]++;
}

static void gather_columns(spti_nodes *out, const search *s, int32_t *list) {
  for (int32_t c = 0; c < s->count; c++) {
    const run *r = &s->runs[c];
    for (int32_t t = is_dense(r) ? r->end : r->first; t < r->end; t++) gather_column(out, s, t, list);
  }
}

sptrsm_status spti_nodes_alloc_packing(spti_nodes *nodes) {
  SPTI_TRY(spti_host_alloc(&nodes->rank, nodes->n, sizeof *nodes->rank, "ranks in a list"));
  SPTI_TRY(spti_host_alloc(&nodes->places, nodes->n, sizeof *nodes->places, "nodes of places"));
  return spti_host_alloc(&nodes->gathered, nodes->pull ? 0 : nodes->n, sizeof *nodes->gathered, "places of gathered values");
}

/* Memory for as many nodes and places in lists as there will be; rank[t] is the number of entries that row t gathers. */
static sptrsm_status alloc_nodes(spti_nodes *nodes, const search *s) {
  int64_t count = 0, listed = 0;
  for (int32_t c = 0; c < s->count; c++) {
    const run *r = &s->runs[c];
    const bool dense = is_dense(r);
    count += dense ? 1 : r->end - r->first;
    listed += dense ? r->listed : r->entries;
    for (int32_t t = r->first; t < r->end && dense && !nodes->pull; t++) count += nodes->rank[t] > 0;
  }
  SPTI_TRY(spti_host_alloc(&nodes->node, count, sizeof *nodes->node, "supernodes"));
  return spti_host_alloc(&nodes->list, listed, sizeof *nodes->list, "lists of supernodes");
}

static sptrsm_status make_nodes(spti_nodes *out, search *s) {
  SPTI_TRY(spti_nodes_alloc_packing(out));
  if (out->n) memset(out->rank, 0, (size_t)out->n * sizeof *out->rank);
  if (!out->pull) gather_columns(out, s, NULL);
  SPTI_TRY(alloc_nodes(out, s));
  for (int32_t c = 0; c < s->count; c++) {
    const run *r = &s->runs[out->pull ? s->count - 1 - c : c];
    out->entries += r->entries;
    if (out->pull) append_pulled(out, s, r);
    else append_pushed(out, s, r);
  }
  if (!out->pull) gather_columns(out, s, out->list);
  return SPTRSM_OK;
}

sptrsm_status spti_nodes_find(spti_nodes *out, const spti_view *v, const spti_node_limits *limits) {
  spti_nodes nodes = {.n = v->n, .pull = v->pull, .reversed = v->backward};
  search s = {.view = v, .mirrored = v->pull != v->backward};
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&s.runs, v->n, sizeof *s.runs, "runs of lines"));
  SPTI_TRY_DONE(spti_host_alloc(&s.list, v->nnz, sizeof *s.list, "lists of runs"));
  SPTI_TRY_DONE(spti_host_alloc(&s.merged, v->n, sizeof *s.merged, "a merged list"));
  for (int32_t t = 0; t < v->n; t = s.runs[s.count - 1].end) {
    s.runs[s.count] = take_run(&s, t, limits->width);
    s.count++;
    while (merge_top(&s, limits)) continue;
  }
  SPTI_TRY_DONE(make_nodes(&nodes, &s));
  *out = nodes;
  nodes = (spti_nodes){0};
done:
  spti_nodes_free(&nodes);
  spti_host_free(s.runs);
  spti_host_free(s.list);
  spti_host_free(s.merged);
  return status;
}

void spti_nodes_free(spti_nodes *nodes) {
  if (!nodes->borrowed) {
    spti_host_free(nodes->node);
    spti_host_free(nodes->list);
  }
  spti_host_free(nodes->rank);
  spti_host_free(nodes->places);
  spti_host_free(nodes->gathered);
  *nodes = (spti_nodes){0};
}

/* ---- values ---- */

static int32_t line_at(const spti_nodes *nodes, int32_t place) { return nodes->reversed ? nodes->n - 1 - place : place; }

static int32_t strip_height(int32_t rows, int32_t strip) {
  const int32_t left = rows - strip * SPTI_NODE_STRIP;
  return left < SPTI_NODE_STRIP ? left : SPTI_NODE_STRIP;
}

/* Element (row, column) of strips that begin with `lead` columns; column < 0 counts from the end of these. */
static int64_t cell(int32_t rows, int64_t lead, bool triangle, int32_t row, int64_t column) {
  const int32_t strip = row / SPTI_NODE_STRIP;
  return spti_strip_start(strip, lead, triangle) + (lead + column) * strip_height(rows, strip) + row % SPTI_NODE_STRIP;
}

/* Where the search for a line's entries in a node's list begins: at its end if places are reversed, since these then descend. */
static const int32_t *first_sought(const spti_nodes *nodes, const spti_node *node) {
  return nodes->list + node->list + (nodes->reversed && node->listed > 0 ? node->listed - 1 : 0);
}

#define SPTI_TEMPLATE "trsm/block/host/pack.tmpl.h"
#include "core/base/for_each_dtype.h"

/* Zeros where there may be no entry: in a node with added zeros anywhere, else in the diagonal blocks, whose upper halves have none. */
static void clear_node(char *val, const spti_node *node, size_t value_bytes) {
  const int32_t lead = node->kind == SPTI_NODE_PULL ? node->listed : 0;
  char *first = val + (size_t)node->value * value_bytes;
  if (!node->exact) memset(first, 0, (size_t)spti_node_size(node) * value_bytes);
  for (int32_t row = 0; row < node->width && node->exact && node->kind != SPTI_NODE_GATHER; row += SPTI_NODE_STRIP) {
    const int32_t height = strip_height(node->width, row / SPTI_NODE_STRIP);
    memset(first + (size_t)cell(node->width, lead, true, row, row) * value_bytes, 0, (size_t)(height * height) * value_bytes);
  }
}

/* From a view in the other orientation. */
static void pack_across(void *val, const spti_nodes *nodes, const spti_view *v) {
  for (int32_t c = 0; c < nodes->count; c++) {
    const spti_node *node = &nodes->node[c];
    clear_node(val, node, sptrsm_dtype_bytes(v->dtype));
    for (int32_t k = 0; k < node->width && node->kind != SPTI_NODE_GATHER; k++)
      nodes->places[node->first + k] = (spti_place){.node = c, .rank = -1, .last = -1};
  }
  SPTI_SWITCH(v->dtype, pack_across)(val, nodes, v);
}

void spti_nodes_pack(void *val, const spti_nodes *nodes, const spti_view *v) {
  for (int32_t c = 0; c < nodes->count && !nodes->pull; c++)
    if (nodes->node[c].kind != SPTI_NODE_PUSH) nodes->gathered[nodes->node[c].first] = nodes->node[c].value;
  if (v->pull != nodes->pull) {
    pack_across(val, nodes, v);
    return;
  }
  for (int32_t c = 0; c < nodes->count; c++) {
    const spti_node *node = &nodes->node[c];
    clear_node(val, node, sptrsm_dtype_bytes(v->dtype));
    if (node->kind != SPTI_NODE_GATHER) SPTI_SWITCH(v->dtype, pack_node)(val, nodes, node, v);
  }
}
