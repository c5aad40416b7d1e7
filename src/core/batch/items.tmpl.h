/* items.tmpl.h -- bodies of items.c for one type T. */

#include "core/matrix/arithmetic.tmpl.h"

#define ITEMS ((int)(SPTI_ITEM_BYTES / sizeof(T)))

/* Element l of row 0 of a panel is the value at[l] of a block, and that of row r the one r * step[l] behind it. */
typedef struct {
  T *at[SPTI_ITEMS_MOST * SPTI_ITEM_COLUMNS_MOST];
  int64_t step[SPTI_ITEMS_MOST * SPTI_ITEM_COLUMNS_MOST];
} NAME(places);

static void NAME(find_places)(NAME(places) * out, const spti_item_columns *items, int32_t width, T *absent) {
  for (int32_t l = 0; l < width; l++) {
    const spti_item_columns *item = &items[l % ITEMS];
    const bool present = l / ITEMS < item->width;
    out->at[l] = present ? (T *)item->block.data + l / ITEMS * item->block.col_stride : absent;
    out->step[l] = present ? item->block.row_stride : 0;
  }
}

static void NAME(pack)(const spti_panel *W, int32_t n, const spti_item_columns *B, const spti_edge *e, const void *alpha) {
  T zero = 0;
  NAME(places) from;
  NAME(find_places)(&from, B, W->width, &zero);
  for (int32_t r = 0; r < n; r++) {
    T *w = (T *)W->data + (e->inverse ? e->inverse[r] : r) * W->ld;
    for (int32_t l = 0; l < W->width; l++) w[l] = from.at[l][r * from.step[l]];
    if (!e->scale && !alpha) continue;
    const double *scale = e->scale ? e->scale + (int64_t)r * ITEMS : NULL;
    for (int32_t l = 0; l < W->width; l++) w[l] = NAME(scaled)(w[l], scale ? &scale[l % ITEMS] : NULL, e->divide, alpha);
  }
}

static void NAME(unpack)(const spti_item_columns *X, int32_t n, const spti_panel *W, const spti_edge *e) {
  T nowhere;
  NAME(places) to;
  NAME(find_places)(&to, X, W->width, &nowhere);
  for (int32_t r = 0; r < n; r++) {
    const T *w = (const T *)W->data + (e->map ? e->map[r] : r) * W->ld;
    const double *scale = e->scale ? e->scale + (int64_t)r * ITEMS : NULL;
    for (int32_t l = 0; l < W->width; l++) to.at[l][r * to.step[l]] = scale ? NAME(scaled)(w[l], &scale[l % ITEMS], e->divide, NULL) : w[l];
  }
}

/* Is there an item whose rows i and i + 1 are a 2x2 block? */
static inline bool NAME(couples)(const T *sub, int64_t i) {
  bool any = false;
  for (int v = 0; v < ITEMS; v++) any |= sub[i * ITEMS + v] != 0;
  return any;
}

/* Rows i and i + 1, of which some items have blocks of their own sizes. `second` has the items whose row i is the second of a block, and
 * then those of row i + 1. */
static void NAME(apply_blocks)(const spti_panel *W, int32_t i, const spti_diagonal *D, spti_op op, bool *second) {
  const T *val = (const T *)D->val + (int64_t)i * ITEMS, *sub = (const T *)D->sub + (int64_t)i * ITEMS;
  T *w = (T *)W->data + i * W->ld;
  for (int v = 0; v < ITEMS; v++) {
    const bool done = second[v];
    second[v] = !done && sub[v] != 0;
    if (done) continue;
    if (second[v]) {
      NAME(solve_2x2)(w + v, w + W->ld + v, W->width / ITEMS, ITEMS, val[v], sub[v], val[ITEMS + v], D->hermitian, op);
      continue;
    }
    const T a = op.conj ? CONJ(val[v]) : val[v];
    for (int32_t l = v; l < W->width; l += ITEMS) w[l] = w[l] / a;
  }
}

static void NAME(apply_diagonal)(const spti_panel *W, int32_t n, const spti_diagonal *D, spti_op op) {
  bool second[SPTI_ITEMS_MOST] = {false}, blocks = false;
  for (int32_t i = 0; i < n; i++) {
    const bool more = D->sub && i + 1 < n && NAME(couples)(D->sub, i);
    if (more || blocks) {
      NAME(apply_blocks)(W, i, D, op, second);
      blocks = more;
      continue;
    }
    T a[ITEMS], *w = (T *)W->data + i * W->ld;
    for (int v = 0; v < ITEMS; v++) a[v] = ((const T *)D->val)[(int64_t)i * ITEMS + v];
    for (int v = 0; op.conj && v < ITEMS; v++) a[v] = CONJ(a[v]);
    for (int32_t l = 0; l < W->width; l += ITEMS)
      for (int v = 0; v < ITEMS; v++) w[l + v] = w[l + v] / a[v];
  }
}

#undef ITEMS
