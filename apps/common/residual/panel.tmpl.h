/* panel.tmpl.h -- a panel of columns, included once per type by panel.c. TYPE: of the data; PARTS: 1, or 2 for real and imaginary parts;
 * NAME(x): x with the type's ending. No include guard: by design. */

/* A row of all columns. */
typedef struct {
  lanes x[PARTS];
#if PARTS == 2
  lanes size;
#endif
} NAME(row);

INLINE lanes NAME(size)(const lanes *z) {
#if PARTS == 1
  return absolute(z[0]);
#else
  lanes size = z[0] * z[0] + z[1] * z[1];
  for (int k = 0; k < RESIDUAL_PANEL; k++) size[k] = sqrt(size[k]);
  return size;
#endif
}

/* Row i of columns [first, first + width) of X; zeros in the other lanes. */
INLINE void NAME(read)(lanes *to, const sptrsm_block *X, int64_t i, int64_t first, int width) {
  const bool rows = X->layout == SPTRSM_ROW_MAJOR;
  const TYPE *from = (const TYPE *)X->data + (rows ? i * X->ld + first : i + first * X->ld);
  const int64_t step = rows ? 1 : X->ld;
  lanes re = {0}, im = {0};
  for (int k = 0; k < width; k++) re[k] = creal(from[k * step]), im[k] = cimag(from[k * step]);
  to[0] = re;
  if (PARTS == 2) to[PARTS - 1] = im;
}

/* y += t x */
INLINE void NAME(add)(wide *y, const double *t, const lanes *x) {
  add_product(&y[0], t[0], x[0]);
#if PARTS == 2
  add_product(&y[0], -t[1], x[1]);
  add_product(&y[1], t[0], x[1]);
  add_product(&y[1], t[1], x[0]);
#endif
}

/* y = S x and a = |S| |x| in row i. */
INLINE void NAME(multiply)(wide *y, lanes *a, const panel_rows *S, int32_t i, const NAME(row) * rows) {
  for (int64_t p = S->ptr[i]; p < S->ptr[i + 1]; p++) {
    const double *t = S->val + p * PARTS;
    const NAME(row) *from = &rows[S->idx[p]];
    NAME(add)(y, t, from->x);
#if PARTS == 1
    *a += fabs(t[0]) * absolute(from->x[0]);
#else
    *a += sqrt(t[0] * t[0] + t[1] * t[1]) * from->size;
#endif
  }
}

/* alpha b - y in row i. */
INLINE void NAME(judge_row)(tally *t, const job *j, int32_t i, const NAME(row) * rows, int64_t first, int width) {
  const TYPE alpha = j->alpha ? *(const TYPE *)j->alpha : 1;
  const double parts[2] = {creal(alpha), cimag(alpha)};
  lanes b[PARTS], scaled[PARTS], r[PARTS], a = {0};
  wide y[PARTS], sum[PARTS];
  memset(y, 0, sizeof y);
  memset(sum, 0, sizeof sum);
  NAME(multiply)(y, &a, &j->rows, i, rows);
  NAME(read)(b, j->B, i, first, width);
  NAME(add)(sum, parts, b);
  for (int c = 0; c < PARTS; c++) {
    scaled[c] = sum[c].hi;
    add_to(&sum[c], -y[c].hi, -y[c].lo);
    r[c] = sum[c].hi + sum[c].lo;
  }
  tally_row(t, j, i, NAME(size)(r), a, NAME(size)(scaled));
}

INLINE unsigned NAME(columns_of)(column_result *out, const job *j, int64_t first, int width, void *workspace) {
  NAME(row) *rows = workspace;
  const int32_t n = j->S->n;
  tally t;
  memset(&t, 0, sizeof t);
  t.good = ~t.good;
  for (int32_t i = 0; i < n; i++) {
    NAME(read)(rows[i].x, j->X, i, first, width);
    const lanes size = NAME(size)(rows[i].x);
#if PARTS == 2
    rows[i].size = size;
#endif
    t.good &= size <= MOST;
    t.x_1 += size;
    t.x_2 += size * size;
  }
  for (int32_t i = 0; i < n; i++) NAME(judge_row)(&t, j, i, rows, first, width);
  return finish(out, &t, j, width);
}

/* The same for the instruction sets that have the fused multiply-add; without it fma is a slow function. */
#ifdef __x86_64__
__attribute__((target("avx512f,fma"))) static unsigned NAME(columns_avx512)(column_result *out, const job *j, int64_t first, int width,
                                                                            void *workspace) {
  return NAME(columns_of)(out, j, first, width, workspace);
}
__attribute__((target("avx2,fma"))) static unsigned NAME(columns_avx2)(column_result *out, const job *j, int64_t first, int width,
                                                                       void *workspace) {
  return NAME(columns_of)(out, j, first, width, workspace);
}
#endif

static unsigned NAME(columns)(column_result *out, const job *j, int64_t first, int width, void *workspace) {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return NAME(columns_avx512)(out, j, first, width, workspace);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return NAME(columns_avx2)(out, j, first, width, workspace);
#endif
  return NAME(columns_of)(out, j, first, width, workspace);
}

#undef TYPE
#undef PARTS
#undef NAME
