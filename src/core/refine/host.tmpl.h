/* host.tmpl.h -- bodies of host.c for one type T. */

#if SPTI_IS_COMPLEX
/* The product without the C library's treatment of infinities: a column with an infinity is not refined anyway. */
static inline T NAME(times)(T a, T b) {
  T product;
  __real__ product = __real__ a * __real__ b - __imag__ a * __imag__ b;
  __imag__ product = __real__ a * __imag__ b + __imag__ a * __real__ b;
  return product;
}

static inline T NAME(times_alpha)(const double alpha[2], T b) {
  T value = b;
  if (alpha[1] == 0) { /* each part by itself, so that an infinity in one part leaves the other unchanged */
    __real__ value = __real__ b * (R)alpha[0];
    __imag__ value = __imag__ b * (R)alpha[0];
    return value;
  }
  __real__ value = (R)alpha[0];
  __imag__ value = (R)alpha[1];
  return NAME(times)(value, b);
}
#else
static inline T NAME(times)(T a, T b) { return a * b; }
static inline T NAME(times_alpha)(const double alpha[2], T b) { return (R)alpha[0] * b; }
#endif

/* *most = max(*most, ratio of r to s). It divides only where the ratio may exceed the maximum, which is rare. */
static inline void NAME(note_ratio)(double *most, R r, R s, const spti_residual_args *a) {
  if (isinf(s)) {
    *most = NAN;
  } else if (s > (R)a->small) {
    if (!((double)r < *most * (double)s)) *most = nan_max(*most, (double)(r / s));
  } else if (r != 0 || s != 0) {
    *most = nan_max(*most, (double)((r + (R)a->tiny) / (s + (R)a->tiny)));
  }
}

/* r -= op(A)(i,:) x and s += |op(A)(i,:)| |x| for `count` columns, at the given offsets in a row of x; `together`: they lie side by side.
 * Inlined with a constant count, so that the compiler makes columns vector lanes. */
static inline __attribute__((always_inline)) void NAME(subtract_line)(T *r, R *s, const spti_residual_args *a, int32_t i,
                                                                      const int64_t *offset, int32_t count, bool together) {
  const T *val = a->val, *x = a->x.data;
  T sum[GROUP], v[GROUP];
  R sizes[GROUP];
  for (int32_t c = 0; c < count; c++) sum[c] = r[c], sizes[c] = s[c];
  for (int64_t p = a->ptr[i]; p < a->ptr[i + 1]; p++) {
    T t = a->conj ? CONJ(val[p]) : val[p];
    R size = NAME(size)(t);
    const T *row = x + a->idx[p] * a->x.row_stride;
    for (int32_t c = 0; c < count; c++) v[c] = together ? row[offset[0] + c] : row[offset[c]];
    for (int32_t c = 0; c < count; c++) {
      sum[c] -= NAME(times)(t, v[c]);
      sizes[c] += size * NAME(size)(v[c]);
    }
  }
  for (int32_t c = 0; c < count; c++) r[c] = sum[c], s[c] = sizes[c];
}

/* Rows [i0, i1) of columns [c0, c0 + count). */
static void NAME(residual)(const spti_residual_args *a, int32_t i0, int32_t i1, int32_t c0, int32_t count, maxima *m) {
  int64_t offset[GROUP];
  bool together = true;
  *m = (maxima){0};
  for (int32_t c = 0; c < GROUP; c++) { /* a group of fewer columns repeats its last one */
    offset[c] = a->columns[c0 + (c < count ? c : count - 1)] * a->x.col_stride;
    together = together && offset[c] == offset[0] + c;
  }
  for (int32_t i = i0; i < i1; i++) {
    T r[GROUP] = {0};
    R s[GROUP] = {0};
    const T *b = (const T *)a->b.data + i * a->b.row_stride, *x = (const T *)a->x.data + i * a->x.row_stride;
    for (int32_t c = 0; c < count; c++) {
      r[c] = NAME(times_alpha)(a->alpha, b[a->columns[c0 + c] * a->b.col_stride]);
      s[c] = NAME(size)(r[c]);
    }
    if (!a->from_zero) {
      if (count == 1) NAME(subtract_line)(r, s, a, i, offset, 1, false);
      else if (together) NAME(subtract_line)(r, s, a, i, offset, GROUP, true);
      else NAME(subtract_line)(r, s, a, i, offset, GROUP, false);
    }
    for (int32_t c = 0; c < count; c++) {
      R size = NAME(size)(r[c]);
      bool dropped = isfinite(s[c]) && size <= (R)a->drop * s[c];
      if (a->r.data) ((T *)a->r.data)[i * a->r.row_stride + (c0 + c) * a->r.col_stride] = dropped ? 0 : r[c];
      NAME(note_ratio)(&m->berr[c], size, s[c], a);
      if (!dropped) note(&m->size[c], (double)size);
      if (!a->from_zero) note(&m->x_size[c], (double)NAME(size)(x[offset[c]]));
      if (a->weight.data)
        ((R *)a->weight.data)[i * a->weight.row_stride + (c0 + c) * a->weight.col_stride] =
            size + (R)a->growth * s[c] + (s[c] > (R)a->small ? 0 : (R)a->tiny);
    }
  }
}
