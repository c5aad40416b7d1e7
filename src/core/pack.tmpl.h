/* pack.tmpl.h -- bodies of pack.c for one type T. */

/* Row r's factor alpha * s(r), applied in this order: scaling of B first, as the formula reads. */
static inline T NAME(scaled)(T value, int64_t r, const spti_edge *e, const T *alpha) {
  if (e->scale) value = e->divide ? value / (R)e->scale[r] : value * (R)e->scale[r];
  return alpha ? *alpha * value : value;
}

static void NAME(pack)(const spti_panel *W, int32_t n, const spti_columns *B, const spti_edge *e, const void *alpha) {
  const T *b = B->data;
  bool plain = !e->scale && !alpha;
  for (int32_t i = 0; i < n; i++) {
    T *w = (T *)W->data + i * W->ld;
    int64_t r = e->map ? e->map[i] : i;
    const T *row = b + r * B->row_stride;
    if (plain) {
      for (int32_t k = 0; k < W->width; k++) w[k] = row[k * B->col_stride];
    } else {
      for (int32_t k = 0; k < W->width; k++) w[k] = NAME(scaled)(row[k * B->col_stride], r, e, alpha);
    }
    for (int32_t k = W->width; k < W->padded; k++) w[k] = 0;
  }
}

static void NAME(unpack)(const spti_columns *X, int32_t n, const spti_panel *W, const spti_edge *e) {
  T *x = X->data;
  for (int32_t i = 0; i < n; i++) {
    const T *w = (const T *)W->data + (e->map ? e->map[i] : i) * W->ld;
    T *row = x + i * X->row_stride;
    if (e->scale) {
      for (int32_t k = 0; k < W->width; k++) row[k * X->col_stride] = NAME(scaled)(w[k], i, e, NULL);
    } else {
      for (int32_t k = 0; k < W->width; k++) row[k * X->col_stride] = w[k];
    }
  }
}

/* The block [[a, u], [s, d]] of rows i and i+1: s = sub[i], u = s or its conjugate. By elimination with the larger pivot first
 * row, so that a small a does no harm. */
static void NAME(solve_2x2)(T *w0, T *w1, int32_t width, T a, T u, T s, T d) {
  bool swap = NAME(size)(s) > NAME(size)(a);
  T p = swap ? s : a, q = swap ? d : u, r = swap ? a : s, t = swap ? u : d;
  T factor = r / p, pivot = t - factor * q;
  for (int32_t k = 0; k < width; k++) {
    T b0 = swap ? w1[k] : w0[k], b1 = swap ? w0[k] : w1[k];
    T x1 = (b1 - factor * b0) / pivot;
    w0[k] = (b0 - q * x1) / p;
    w1[k] = x1;
  }
}

static void NAME(apply_diagonal)(const spti_panel *W, int32_t n, const spti_diagonal *D, spti_op op) {
  const T *val = D->val, *sub = D->sub;
  for (int32_t i = 0; i < n; i++) {
    T *w = (T *)W->data + i * W->ld;
    T a = op.conj ? CONJ(val[i]) : val[i];
    if (!sub || i + 1 == n || sub[i] == 0) {
      for (int32_t k = 0; k < W->padded; k++) w[k] = w[k] / a;
      continue;
    }
    T below = sub[i], above = D->hermitian ? CONJ(below) : below, d = val[i + 1];
    if (op.conj) {
      below = CONJ(below);
      above = CONJ(above);
      d = CONJ(d);
    }
    if (op.transpose) NAME(solve_2x2)(w, w + W->ld, W->padded, a, below, above, d);
    else NAME(solve_2x2)(w, w + W->ld, W->padded, a, above, below, d);
    i++;
  }
}
