/* pack.tmpl.h -- spti_nodes_pack (nodes.c) for one type T. */

/* A stored zero is -0. */
static inline T NAME(packed)(T value, bool conjugated) {
  value = conjugated ? CONJ(value) : value;
  return value == 0 ? -(T)0 : value;
}

/* Row l of a node that pulls. Its entries come in the order of the list, or against it. */
static void NAME(pack_row)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v, int32_t l) {
  const int32_t i = line_at(nodes, node->first + l), height = strip_height(node->width, l / SPTI_NODE_STRIP);
  const int32_t *at = first_sought(nodes, node), step = nodes->reversed ? -1 : 1;
  const T *from = v->val;
  T *row = val + node->value + cell(node->width, node->listed, true, l, -node->listed);
  for (int64_t p = spti_view_begin(v, i), end = spti_view_end(v, i); p < end; p++) {
    const int32_t other = line_at(nodes, v->idx[p]), o = other - node->first;
    while (o < 0 && *at != other) at += step;
    row[(int64_t)height * (o >= 0 ? node->listed + o : at - nodes->list - node->list)] = NAME(packed)(from[p], v->conj);
  }
  if (v->unit) return;
  const T d = from[spti_view_diagonal(v, i)];
  row[(int64_t)height * (node->listed + l)] = v->conj ? CONJ(d) : d;
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
  const int32_t i = line_at(nodes, node->first + l), *at = first_sought(nodes, node), step = nodes->reversed ? -1 : 1;
  const T *from = v->val;
  T *triangle = val + node->value, *rectangle = triangle + spti_node_triangle_size(node);
  for (int64_t p = spti_view_begin(v, i), end = spti_view_end(v, i); p < end; p++) {
    const int32_t other = line_at(nodes, v->idx[p]), o = other - node->first;
    if (o >= node->width && !nodes->reversed && end - p == node->listed) {
      NAME(pack_list)(rectangle, from + p, node, l, v->conj);
      break;
    }
    while (o >= node->width && *at != other) at += step;
    *(o < node->width ? triangle + cell(node->width, 0, true, o, l)
                      : rectangle + cell(node->listed, node->width, false, (int32_t)(at - nodes->list - node->list), l - node->width)) =
        NAME(packed)(from[p], v->conj);
  }
  if (v->unit) return;
  const T d = from[spti_view_diagonal(v, i)];
  triangle[cell(node->width, 0, true, l, l)] = v->conj ? CONJ(d) : d;
}

/* A line whose column is gathered by rows: each value goes to the next place of its row's list. */
static void NAME(pack_gathered)(T *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v) {
  const int32_t i = line_at(nodes, node->first);
  const T *from = v->val;
  for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++)
    val[nodes->gathered[line_at(nodes, v->idx[p])]++] = NAME(packed)(from[p], v->conj);
  T *diagonal = val + node->value + cell(1, node->listed, true, 0, 0);
  const T d = v->unit ? 0 : from[spti_view_diagonal(v, i)];
  *diagonal = v->conj ? CONJ(d) : d;
}

/* Lists of rows that gather are written as a whole; other nodes may have cells without an entry. */
static void NAME(pack_node)(void *val, const spti_nodes *nodes, const spti_node *node, const spti_view *v) {
  if (!nodes->pull && node->kind == SPTI_NODE_PULL) {
    NAME(pack_gathered)(val, nodes, node, v);
    return;
  }
  memset((T *)val + node->value, 0, (size_t)spti_node_size(node) * sizeof(T));
  for (int32_t l = 0; l < node->width; l++)
    if (nodes->pull) NAME(pack_row)(val, nodes, node, v, l);
    else NAME(pack_column)(val, nodes, node, v, l);
}

/* The cell of entry (row, column), by places, in the node of the line that the nodes follow; NULL: row gathers it. */
static inline T *NAME(cell_across)(T *val, const spti_nodes *nodes, const spti_node *node, int32_t row, int32_t column) {
  const int32_t listed = nodes->rank[node->first];
  T *at = val + node->value;
  if (nodes->pull)
    return at +
           cell(node->width, node->listed, true, row - node->first, column >= node->first ? column - node->first : listed - node->listed);
  if (node->kind != SPTI_NODE_PUSH) return NULL;
  if (row < node->first + node->width) return at + cell(node->width, 0, true, row - node->first, column - node->first);
  return at + spti_node_triangle_size(node) + cell(node->listed, node->width, false, listed, column - node->first - node->width);
}

/* From a view in the other orientation, line by line, in the order of places: rank[first] is how far the line is in the list of a node. */
static void NAME(pack_across)(void *to, const spti_nodes *nodes, const spti_view *v) {
  const T *from = v->val;
  T *val = to;
  for (int32_t place = 0; place < nodes->n; place++) {
    const int32_t i = line_at(nodes, place);
    const int64_t begin = spti_view_begin(v, i), end = spti_view_end(v, i);
    for (int64_t e = 0; e < end - begin; e++) {
      const int64_t p = nodes->reversed ? end - 1 - e : begin + e;
      const int32_t other = line_at(nodes, v->idx[p]);
      const spti_node *node = &nodes->node[nodes->node_at[other]];
      const int32_t *list = nodes->list + node->list;
      int32_t *reached = &nodes->rank[node->first];
      while (*reached < node->listed && list[*reached] < place) ++*reached;
      T *at = NAME(cell_across)(val, nodes, node, nodes->pull ? other : place, nodes->pull ? place : other);
      if (!at) at = &val[nodes->gathered[place]++];
      *at = NAME(packed)(from[p], v->conj);
    }
    const spti_node *node = &nodes->node[nodes->node_at[place]];
    const T d = v->unit ? 0 : from[spti_view_diagonal(v, i)];
    val[node->value + cell(node->width, node->kind == SPTI_NODE_PULL ? node->listed : 0, true, place - node->first, place - node->first)] =
        v->conj ? CONJ(d) : d;
  }
}
