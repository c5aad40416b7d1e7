/* block_host_pack.tmpl.h -- the packing of block_host_nodes.c for one type T. */

static void NAME(pack_node)(void *to, const spti_nodes *nodes, const spti_node *node, const spti_view *v) {
  T *val = to;
  const T *from = v->val;
  for (int32_t place = node->first; place < node->first + node->width; place++) {
    int32_t i = nodes->reversed ? nodes->n - 1 - place : place;
    int64_t end = spti_view_end(v, i);
    for (int64_t p = spti_view_begin(v, i); p < end; p++) {
      int32_t other = nodes->reversed ? nodes->n - 1 - v->idx[p] : v->idx[p];
      T value = v->conj ? CONJ(from[p]) : from[p];
      val[value_at(node, nodes->pull, place, other, nodes->rank)] = value == 0 ? -(T)0 : value;
    }
    if (v->unit) continue;
    T d = from[spti_view_diagonal(v, i)];
    val[value_at(node, nodes->pull, place, place, nodes->rank)] = v->conj ? CONJ(d) : d;
  }
}
