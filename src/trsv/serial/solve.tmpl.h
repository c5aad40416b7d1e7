/* solve.tmpl.h -- the two loops of serial for one type T. Row i of the panel w holds b(i) at first, x(i) at the end. */

/* A matrix stored by rows: x(i) = (b(i) - sum over j of t(i,j) x(j)) / t(i,i). The terms are taken in the order in which the x(j) were
 * solved, as push does, so both give the same bits. */
static void NAME(pull)(const spti_view *v, const spti_panel *W) {
  const T *val = v->val;
  T *w = W->data;
  for (int32_t s = 0; s < v->n; s++) {
    int32_t i = spti_view_line(v, s);
    const int64_t begin = spti_view_begin(v, i), length = spti_view_end(v, i) - begin;
    for (int64_t e = 0; e < length; e++) {
      const int64_t p = v->backward ? begin + length - 1 - e : begin + e;
      T t = v->conj ? CONJ(val[p]) : val[p];
      for (int32_t k = 0; k < W->width; k++) w[i * W->ld + k] -= t * w[v->idx[p] * W->ld + k];
    }
    if (v->unit) continue;
    T d = val[spti_view_diagonal(v, i)];
    if (v->conj) d = CONJ(d);
    for (int32_t k = 0; k < W->width; k++) w[i * W->ld + k] /= d;
  }
}

/* A matrix stored by columns: x(j) = b(j) / t(j,j), then b(i) -= t(i,j) x(j) for all rows i of column j. */
static void NAME(push)(const spti_view *v, const spti_panel *W) {
  const T *val = v->val;
  T *w = W->data;
  for (int32_t s = 0; s < v->n; s++) {
    int32_t j = spti_view_line(v, s);
    if (!v->unit) {
      T d = val[spti_view_diagonal(v, j)];
      if (v->conj) d = CONJ(d);
      for (int32_t k = 0; k < W->width; k++) w[j * W->ld + k] /= d;
    }
    int64_t end = spti_view_end(v, j);
    for (int64_t p = spti_view_begin(v, j); p < end; p++) {
      T t = v->conj ? CONJ(val[p]) : val[p];
      for (int32_t k = 0; k < W->width; k++) w[v->idx[p] * W->ld + k] -= t * w[j * W->ld + k];
    }
  }
}
