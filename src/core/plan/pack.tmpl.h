/* pack.tmpl.h -- bodies of pack.c for one type T. */

#include "core/matrix/arithmetic.tmpl.h"

/* Prefetches STREAMS columns of a column-major block, once for each line. */
static inline __attribute__((always_inline)) void NAME(prefetch_columns)(const T *row, int32_t r, int64_t row_stride, int64_t step) {
  if (row_stride != 1 || r % (int32_t)(LINE / sizeof(T)) != 0) return;
  for (int k = 0; k < STREAMS; k++) __builtin_prefetch((const void *)((uintptr_t)(row + k * step) + AHEAD * sizeof(T)));
}

/* Copies columns [k0, k1) of rows [r0, r1) of B to rows to[r] of W, or r. At most STREAMS columns of a column-major
 * block at a time: more of them would thrash the TLB and the prefetcher. */
static inline void NAME(copy_in)(const spti_panel *W, const spti_columns *B, const int32_t *to, int32_t r0, int32_t r1, int32_t k0,
                                 int32_t k1) {
  const T *b = (const T *)B->data + k0 * B->col_stride;
  int64_t step = B->col_stride;
  for (int32_t r = r0; r < r1; r++) {
    T *w = (T *)W->data + (to ? to[r] : r) * W->ld + k0;
    const T *from = b + r * B->row_stride;
    if (k1 - k0 == STREAMS) {
      NAME(prefetch_columns)(from, r, B->row_stride, step);
      for (int k = 0; k < STREAMS; k++) w[k] = from[k * step];
    } else
      for (int k = 0; k < k1 - k0; k++) w[k] = from[k * step];
  }
}

/* As copy_in, for an even number of columns, with the scaling, so that divisions overlap with loads. By itself, since the compiler makes
 * slower loops of copy_in where it puts both into one function. */
static __attribute__((noinline)) void NAME(scale_in)(const spti_panel *W, const spti_columns *B, const spti_edge *e, int32_t r0, int32_t r1,
                                                     int32_t k0, int count) {
  const T *b = (const T *)B->data + k0 * B->col_stride;
  const int64_t step = B->col_stride;
  for (int32_t r = r0; r < r1; r++) {
    NAME(pair) *w = (NAME(pair) *)((T *)W->data + (e->inverse ? e->inverse[r] : r) * W->ld + k0);
    const T *from = b + r * B->row_stride;
    const R s = (R)e->scale[r];
    if (count == STREAMS) NAME(prefetch_columns)(from, r, B->row_stride, step);
    if (step == 1) prefetch((const void *)((uintptr_t)from + AHEAD * (uintptr_t)B->row_stride * sizeof(T)), (size_t)count * sizeof(T));
    for (int k = 0; k < count; k += NAME(pair_columns), w++) {
      const NAME(pair) v = NAME(gather)(from + k * step, from + (k + 1) * step);
      *w = e->divide ? v / s : v * s;
    }
  }
}

static inline void NAME(copy_out)(const spti_columns *X, const spti_panel *W, const int32_t *from, int32_t r0, int32_t r1, int32_t k0,
                                  int32_t k1) {
  T *x = (T *)X->data + k0 * X->col_stride;
  int64_t step = X->col_stride;
  for (int32_t r = r0; r < r1; r++) {
    const T *w = (const T *)W->data + (from ? from[r] : r) * W->ld + k0;
    T *to = x + r * X->row_stride;
    if (k1 - k0 == STREAMS) {
      NAME(prefetch_columns)(to, r, X->row_stride, step);
      for (int k = 0; k < STREAMS; k++) to[k * step] = w[k];
    } else
      for (int k = 0; k < k1 - k0; k++) to[k * step] = w[k];
  }
}

/* Rows [r0, r1) of W, of one right-hand side. Loads from all over a column wait for each other less than stores do. Quotients come last,
 * so that vectors divide them. */
static __attribute__((noinline)) void NAME(column_in)(const spti_panel *W, const spti_columns *B, const spti_edge *e, int32_t r0,
                                                      int32_t r1) {
  T *w = (T *)W->data + r0 * W->ld;
  const T *b = B->data;
  const int64_t step = B->row_stride, ld = W->ld;
  const int32_t *map = e->map;
  double scale[TILE];
  if (map)
    for (int32_t i = r0; i < r1; i++) w[(i - r0) * ld] = b[map[i] * step];
  else
    for (int32_t i = r0; i < r1; i++) w[(i - r0) * ld] = b[i * step];
  if (!e->scale) return;
  for (int32_t i = r0; i < r1; i++) scale[i - r0] = e->scale[map ? map[i] : i];
  if (ld == 1 && e->divide)
    for (int32_t i = 0; i < r1 - r0; i++) w[i] = w[i] / (R)scale[i];
  else
    for (int32_t i = 0; i < r1 - r0; i++) w[i * ld] = NAME(scaled)(w[i * ld], &scale[i], e->divide, NULL);
}

static __attribute__((noinline)) void NAME(column_out)(const spti_columns *X, const spti_panel *W, const int32_t *map, int32_t r0,
                                                       int32_t r1) {
  T *x = X->data;
  const T *w = W->data;
  const int64_t step = X->row_stride, ld = W->ld;
  if (map)
    for (int32_t r = r0; r < r1; r++) x[r * step] = w[map[r] * ld];
  else
    for (int32_t r = r0; r < r1; r++) x[r * step] = w[r * ld];
}

/* Rows [r0, r0 + TILE) of B: copied, then scaled and padded while they are in cache. */
static void NAME(pack_tile)(const spti_panel *W, int32_t n, int32_t r0, const spti_columns *B, const spti_edge *e, const void *alpha) {
  const T *b = B->data;
  const int32_t *to = e->inverse;
  const int32_t r1 = tile_end(r0, n);
  const size_t row_bytes = (size_t)W->width * sizeof(T);
  const int strip = B->col_stride == 1 ? W->width & ~1 : STREAMS; /* columns at once */
  int32_t scaled = e->scale ? 0 : W->width;                       /* columns */
  if (W->padded == 1 && !alpha) {
    NAME(column_in)(W, B, e, r0, r1);
    return;
  }
  if (B->col_stride == 1 && row_bytes >= LINE && !e->scale) {
    for (int32_t r = r0; r < r1; r++) {
      if (r < n - AHEAD) prefetch(b + (r + AHEAD) * B->row_stride, row_bytes);
      memcpy((T *)W->data + (to ? to[r] : r) * W->ld, b + r * B->row_stride, row_bytes);
    }
  } else {
    for (int count; (count = W->width - scaled < strip ? (W->width - scaled) & ~1 : strip) > 0; scaled += count)
      NAME(scale_in)(W, B, e, r0, r1, scaled, count);
    for (int32_t k = e->scale ? scaled : 0; k < W->width; k += STREAMS)
      NAME(copy_in)(W, B, to, r0, r1, k, k + STREAMS < W->width ? k + STREAMS : W->width);
  }
  if (scaled == W->width && !alpha && W->padded == W->width) return;
  for (int32_t r = r0; r < r1; r++) {
    T *w = (T *)W->data + (to ? to[r] : r) * W->ld;
    for (int32_t k = scaled; k < W->width; k++) w[k] = NAME(scaled)(w[k], &e->scale[r], e->divide, NULL);
    for (int32_t k = 0; alpha && k < W->width; k++) w[k] = NAME(scaled)(w[k], NULL, false, alpha);
    for (int32_t k = W->width; k < W->padded; k++) w[k] = 0;
  }
}

static void NAME(unpack_tile)(const spti_columns *X, int32_t n, int32_t r0, const spti_panel *W, const spti_edge *e) {
  T *x = X->data;
  int32_t r1 = tile_end(r0, n);
  size_t row_bytes = (size_t)W->width * sizeof(T);
  const bool large = n * X->row_stride * (int64_t)sizeof(T) >= STREAMED_LEAST;
  if (X->col_stride == 1 && row_bytes >= LINE && large && !e->scale) {
    for (int32_t r = r0; r < r1; r++) {
      char *to = (char *)(x + r * X->row_stride);
      if (r < n - AHEAD && (uintptr_t)to % LINE != 0) { /* lines that it shares with columns before and behind it */
        const char *ahead = (const char *)(x + (r + AHEAD) * X->row_stride);
        __builtin_prefetch(ahead, 1);
        __builtin_prefetch(ahead + row_bytes, 1);
      }
      write_row(to, (const char *)((const T *)W->data + (e->map ? e->map[r] : r) * W->ld), row_bytes);
    }
    rows_written();
  } else if (X->col_stride == 1 && row_bytes >= LINE)
    for (int32_t r = r0; r < r1; r++) {
      if (r < n - AHEAD) prefetch(x + (r + AHEAD) * X->row_stride, row_bytes);
      memcpy(x + r * X->row_stride, (const T *)W->data + (e->map ? e->map[r] : r) * W->ld, row_bytes);
    }
  else if (W->width == 1) NAME(column_out)(X, W, e->map, r0, r1);
  else
    for (int32_t k = 0; k < W->width; k += STREAMS)
      NAME(copy_out)(X, W, e->map, r0, r1, k, k + STREAMS < W->width ? k + STREAMS : W->width);
  if (!e->scale) return;
  for (int32_t r = r0; r < r1; r++)
    for (int32_t k = 0; k < W->width; k++) {
      T *at = x + r * X->row_stride + k * X->col_stride;
      *at = NAME(scaled)(*at, &e->scale[r], e->divide, NULL);
    }
}

static void NAME(apply_diagonal)(const spti_panel *W, int32_t n, const spti_diagonal *D, spti_op op) {
  const T *val = D->val, *sub = D->sub;
  for (int32_t i = 0; i < n; i++) {
    T *w = (T *)W->data + i * W->ld;
    if (!sub || i + 1 == n || sub[i] == 0) {
      const T a = op.conj ? CONJ(val[i]) : val[i];
      for (int32_t k = 0; k < W->padded; k++) w[k] = w[k] / a;
      continue;
    }
    NAME(solve_2x2)(w, w + W->ld, W->padded, 1, val[i], sub[i], val[i + 1], D->hermitian, op);
    i++;
  }
}
