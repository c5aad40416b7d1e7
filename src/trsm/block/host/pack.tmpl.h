/* pack.tmpl.h -- spti_nodes_pack (nodes.c) for one type T. */

/* A stored zero is -0. */
static inline T NAME(packed)(T value, bool conjugated) {
  value = conjugated ? CONJ(value) : value;
  return value == 0 ? -(T)0 : value;
}

/* Row l of a node that pulls. */
static void NAME(pack_row)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v, int32_t l) {
  const int32_t i = line_at(nodes, node->first + l), height = strip_height(node->width, l / SPTI_NODE_STRIP);
  const T *from = v->val;
  T *row = val + node->value + cell(node->width, node->listed, true, l, -node->listed);
  for (int64_t p = spti_view_begin(v, i), end = spti_view_end(v, i); p < end; p++) {
    const int32_t other = line_at(nodes, v->idx[p]), o = other - node->first;
    row[(int64_t)height * (o >= 0 ? node->listed + o : nodes->rank[other])] = NAME(packed)(from[p], v->conj);
  }
  if (v->unit) return;
  const T d = from[spti_view_diagonal(v, i)];
  row[(int64_t)height * (node->listed + l)] = v->conj ? CONJ(d) : d;
}

/* Entry p of the view, in column l of a node that pushes. */
static inline void NAME(put)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v, int32_t l, int64_t p) {
  const int32_t other = line_at(nodes, v->idx[p]), o = other - node->first;
  int64_t at = spti_node_triangle_size(node);
  if (o < node->width) at = cell(node->width, 0, true, o, l);
  else at += cell(node->listed, node->width, false, nodes->rank[other], l - node->width);
  val[node->value + at] = NAME(packed)(((const T *)v->val)[p], v->conj);
}

/* All places of the list, whose values in column l of a node that pushes are from[0], from[1], ... */
static void NAME(pack_list)(T *rectangle, const T *from, const spti_node *node, int32_t l, bool conjugated) {
  const int32_t full = node->listed - node->listed % SPTI_NODE_STRIP, left = node->listed - full;
  for (int32_t r = 0; r < full; r += SPTI_NODE_STRIP) {
    T *to = rectangle + (int64_t)r * node->width + (int64_t)l * SPTI_NODE_STRIP;
    for (int32_t k = 0; k < SPTI_NODE_STRIP; k++) to[k] = NAME(packed)(from[r + k], conjugated);
  }
  for (int32_t k = 0; k < left; k++) rectangle[(int64_t)full * node->width + l * left + k] = NAME(packed)(from[full + k], conjugated);
}

/* Column l of a node that pushes. */
static void NAME(pack_column)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v, int32_t l) {
  const int32_t i = line_at(nodes, node->first + l), end = node->first + node->width;
  const T *from = v->val;
  T *rectangle = val + node->value + spti_node_triangle_size(node);
  int64_t p = spti_view_begin(v, i), last = spti_view_end(v, i);
  while (!nodes->reversed && p < last && v->idx[p] < end) NAME(put)(val, nodes, node, v, l, p++);
  if (!nodes->reversed && last - p == node->listed) {
    NAME(pack_list)(rectangle, from + p, node, l, v->conj);
    p = last;
  }
  for (; p < last; p++) NAME(put)(val, nodes, node, v, l, p);
  if (v->unit) return;
  const T d = from[spti_view_diagonal(v, i)];
  val[node->value + cell(node->width, 0, true, l, l)] = v->conj ? CONJ(d) : d;
}

/* A line whose column is gathered by rows: each value goes to the next place of its row's list. */
static void NAME(pack_gathered)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v) {
  const int32_t i = line_at(nodes, node->first);
  const T *from = v->val;
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
    val[nodes->gathered[line_at(nodes, v->idx[p])]++] = NAME(packed)(from[p], v->conj);
  if (v->unit) return;
  const T d = from[spti_view_diagonal(v, i)];
  val[node->value + cell(1, node->listed, true, 0, 0)] = v->conj ? CONJ(d) : d;
}

static void NAME(pack_node)(void *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v) {
  if (!nodes->pull && node->kind == SPTI_NODE_PULL) NAME(pack_gathered)(val, nodes, node, v);
  else
    for (int32_t l = 0; l < node->width; l++)
      if (nodes->pull) NAME(pack_row)(val, nodes, node, v, l);
      else NAME(pack_column)(val, nodes, node, v, l);
}
