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
    if (o < 0 && nodes->reversed && end - p == node->listed) { /* all places of the list */
      for (int32_t e = node->listed - 1; e >= 0; e--) row[(int64_t)height * e] = NAME(packed)(from[p++], v->conj);
      break;
    }
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

/* Where those entries of a line go whose other place is in [low, high): the first of them to at[0], the next to at[step], ... */
typedef struct {
  T *at;
  int32_t low, high, step;
} NAME(target);

/* For line `place` of the orientation that the nodes do not follow, and what it has in the node of place `other`: a column of a strip, or
 * the row of a node that pushes. Each place of a node's list is a line that has something there, so lines are counted instead of looking
 * them up in the list. */
static NAME(target) NAME(target_of)(T *val, const spti_nodes *nodes, int32_t place, int32_t other) {
  const spti_node *node = &nodes->node[nodes->places[other].node];
  const int32_t first = node->first, width = node->width, listed = node->listed;
  const bool inside = place >= first && place < first + width;
  spti_place *reached = &nodes->places[first];
  if (!inside && reached->last != place) reached->last = place, reached->rank++;
  const int32_t rank = reached->rank;
  T *at = val + node->value;
  if (nodes->pull) {
    const int32_t row = (other - first) / SPTI_NODE_STRIP * SPTI_NODE_STRIP, height = strip_height(width, row / SPTI_NODE_STRIP);
    at += cell(width, listed, true, row, inside ? place - first : rank - listed);
    return (NAME(target)){at, first + row, first + row + height, 1};
  }
  if (node->kind != SPTI_NODE_PUSH) return (NAME(target)){val + nodes->gathered[place]++, other, other + 1, 1};
  const int32_t row = inside ? place - first : rank, height = strip_height(inside ? width : listed, row / SPTI_NODE_STRIP);
  at += inside ? cell(width, 0, true, row, 0) : spti_node_triangle_size(node) + cell(listed, width, false, row, -width);
  return (NAME(target)){at, first, first + width, height};
}

/* From a view in the other orientation, line by line, in the order of places; also the entries of a line are taken in that order. */
static void NAME(pack_across)(void *to, const spti_nodes *nodes, const spti_view *v) {
  const int32_t sign = nodes->reversed ? -1 : 1, shift = nodes->reversed ? nodes->n - 1 : 0;
  const int32_t *idx = v->idx;
  const T *from = v->val;
  T *val = to;
  for (int32_t place = 0; place < nodes->n; place++) {
    const int32_t i = line_at(nodes, place);
    const int64_t begin = spti_view_begin(v, i), end = spti_view_end(v, i);
    for (int64_t p = nodes->reversed ? end - 1 : begin; p >= begin && p < end;) {
      const NAME(target) t = NAME(target_of)(val, nodes, place, shift + sign * idx[p]);
      for (int32_t other; p >= begin && p < end && (other = shift + sign * idx[p]) < t.high; p += sign)
        t.at[(int64_t)(other - t.low) * t.step] = NAME(packed)(from[p], v->conj);
    }
    if (v->unit) continue;
    const spti_node *node = &nodes->node[nodes->places[place].node];
    const int32_t lead = node->kind == SPTI_NODE_PULL ? node->listed : 0, l = place - node->first;
    const T d = from[spti_view_diagonal(v, i)];
    val[node->value + cell(node->width, lead, true, l, l)] = v->conj ? CONJ(d) : d;
  }
}
