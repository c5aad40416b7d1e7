/* values.tmpl.h -- values of one type T on their way from B or C into a panel, and from a tile of the product to S. */

/* Column order[first + c] of a sparse side to column c of the zero panel w. */
static void NAME(scatter)(void *panel, const spti_schur_side *side, const spti_schur_group *g) {
  const spti_edge *e = &side->edge;
  const T *val = side->val;
  T *w = panel;
  for (int32_t c = 0; c < g->width; c++) {
    const int64_t column = side->order[g->first + c];
    for (int64_t p = side->ptr[column]; p < side->ptr[column + 1]; p++) {
      const int32_t r = side->idx[p], i = e->inverse ? e->inverse[r] : r;
      T value = side->conj ? CONJ(val[p]) : val[p];
      if (e->scale) value = e->divide ? value / (R)e->scale[r] : value * (R)e->scale[r];
      w[(int64_t)i * g->ld + c] = value;
    }
  }
}

static void NAME(conjugate)(void *values, int64_t count) {
  T *v = values;
  for (int64_t p = 0; p < count; p++) v[p] = CONJ(v[p]);
}

/* Element (a,b) of S' is element (a,b) or (b,a) of S. */
static void NAME(write_tile)(const spti_schur_target *to, const void *tile, const spti_schur_group *left, const spti_schur_group *right) {
  const T *from = tile;
  T *s = to->S->data;
  const bool rows = to->S->layout == SPTRSM_ROW_MAJOR;
  for (int32_t i = 0; i < left->width; i++)
    for (int32_t j = 0; j < right->width; j++) {
      int64_t a = to->left_order[left->first + i], b = to->right_order[right->first + j];
      T value = from[(int64_t)i * right->ld + j];
      const bool other = to->symmetric && (to->uplo == SPTRSM_LOWER ? a < b : a > b), swap = other || to->transposed;
      if (to->hermitian && a == b) value = __real__ value;
      if (to->conj || (other && to->hermitian)) value = CONJ(value);
      const int64_t at = a * to->S->ld + b, across = b * to->S->ld + a;
      s[rows == swap ? across : at] = value;
      if (to->symmetric && to->whole && a != b) s[rows == swap ? at : across] = to->hermitian ? CONJ(value) : value;
    }
}
