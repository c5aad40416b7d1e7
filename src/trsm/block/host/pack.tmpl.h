/* pack.tmpl.h -- spti_nodes_pack (nodes.c) for one type T. */

/* Packs the lines of a node. `column`: the node's column is gathered by rows; each value goes to the next place of its row's list. */
static void NAME(pack_node)(void *to, const spti_nodes *nodes, const spti_node *node, const spti_view *v, bool column) {
  T *val = to;
  const T *from = v->val;
  for (int32_t place = node->first; place < node->first + node->width; place++) {
    int32_t i = nodes->reversed ? nodes->n - 1 - place : place;
    int64_t begin = spti_view_begin(v, i), end = spti_view_end(v, i);
    for (int64_t p = begin; p < end; p++) {
      int32_t other = nodes->reversed ? nodes->n - 1 - v->idx[p] : v->idx[p];
      T value = v->conj ? CONJ(from[p]) : from[p];
      int64_t at = column ? nodes->gathered[other]++ : value_at(node, place, other, nodes->rank);
      val[at] = value == 0 ? -(T)0 : value;
    }
    if (v->unit) continue;
    T d = from[spti_view_diagonal(v, i)];
    val[value_at(node, place, place, nodes->rank)] = v->conj ? CONJ(d) : d;
  }
}
