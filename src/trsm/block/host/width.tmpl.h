/* width.tmpl.h -- a node in WIDTH columns. Undefines WIDTH for the next inclusion.
 *
 * Rows are solved 8, 4, 2 or 1 at once, as many as have their sums in registers. A sum that is not finite may come from an added zero
 * times a NaN or an infinity: then these rows are done again one by one and column by column without such products (CAREFUL 1). */

#if CAREFUL
#define AT_WIDTH(f) NAME(SPTI_CAT(f, careful))
#else
#define AT_WIDTH(f) NAME(SPTI_CAT(f, WIDTH))
#endif
#include "core/base/vector.tmpl.h"

#if SPTI_IS_COMPLEX

/* s / d after Smith (1962), whose scalars depend on the row alone: x = (p s + q (-i) s) / e. Products are added to a zero, so that all
 * are rounded, whichever of them the compiler fuses. */
static inline void AT_WIDTH(divide_)(VECTOR *sum, T d) {
  const R re = __real__ d, im = __imag__ d, none = 0;
  bool upright = (re < 0 ? -re : re) < (im < 0 ? -im : im);
  R p = upright ? re / im : 1, q = upright ? 1 : im / re;
  R e = (none + re * p) + (none + im * q);
  for (int c = 0; c < COUNT; c++) sum[c] = ((none + p * sum[c]) + (none + q * AT_WIDTH(turned_)(sum[c]))) / e;
}

#else

static inline void AT_WIDTH(divide_)(VECTOR *sum, T d) {
  for (int c = 0; c < COUNT; c++) sum[c] /= d;
}

#endif

static inline bool AT_WIDTH(finite_)(VECTOR v) {
  VECTOR zero = v - v;
  R sum = 0;
  for (int l = 0; l < LANES; l++) sum += LANE(zero, l);
  return sum == 0;
}

#if CAREFUL

/* y, or 0 where an added zero would be multiplied with a value that is not finite. */
static inline VECTOR AT_WIDTH(met_)(VECTOR y, T a) {
  static const T added = 0;
  return memcmp(&a, &added, sizeof a) == 0 && !AT_WIDTH(finite_)(y) ? (VECTOR){0} : y;
}

#define MET(y, a) AT_WIDTH(met_)(y, a)
#else
#define MET(y, a) (y)
#endif

#define ROWS 1
#include "trsm/block/host/rows.tmpl.h"

#if CAREFUL

/* Redoes rows of `width` columns, one row and column at a time. */
static void NAME(redo)(const NAME(operands) * o, const NAME(targets) * t, int rows, int width) {
  for (int k = 0; k < width; k++) {
    NAME(operands) one = *o;
    NAME(targets) row = *t;
    one.w = o->w + k;
    for (int r = 0; r < rows; r++, one.a++, one.count += t->solve, row.first++) {
      if (t->list) row.list = t->list + r;
      AT_WIDTH(rows_1_)(&one, &row);
    }
  }
}

#else

#if WIDTH == 1 && !SPTI_IS_COMPLEX
#define SEVERAL_ROWS "trsm/block/host/column.tmpl.h"
#else
#define SEVERAL_ROWS "trsm/block/host/rows.tmpl.h"
#endif
#define ROWS 2
#include SEVERAL_ROWS
#define ROWS 4
#include SEVERAL_ROWS
#define ROWS 8
#include SEVERAL_ROWS

#define MOST (SUM_VECTORS / COUNT / (SPTI_IS_COMPLEX ? 2 : 1))

/* The rows [from, to) of a triangle (t.solve) or of a rectangle that has `rows` rows. False if a sum is not finite. */
static inline bool AT_WIDTH(strips_)(NAME(operands) o, NAME(targets) t, int32_t rows, int32_t from, int32_t to) {
  const int32_t *list = t.list;
  const int32_t first = t.first, strip = from / SPTI_NODE_STRIP;
  const T *a = o.a + spti_strip_start(strip, t.solve ? o.listed : o.listed + o.count, t.solve);
  bool finite = true;
  for (int32_t done = strip * SPTI_NODE_STRIP; done < to;) {
    int32_t height = rows - done < SPTI_NODE_STRIP ? rows - done : SPTI_NODE_STRIP, end = to - done < height ? to - done : height;
    o.next = height;
    for (int32_t r = from > done ? from - done : 0; r < end;) {
      int32_t left = end - r;
      o.a = a + r;
      t.first = first + done + r;
      if (list) t.list = list + done + r;
      if (t.solve) o.count = done + r;
      if (left >= 8 && MOST >= 8) finite &= AT_WIDTH(rows_8_)(&o, &t), r += 8;
      else if (left >= 4 && MOST >= 4) finite &= AT_WIDTH(rows_4_)(&o, &t), r += 4;
      else if (left >= 2 && MOST >= 2) finite &= AT_WIDTH(rows_2_)(&o, &t), r += 2;
      else finite &= AT_WIDTH(rows_1_)(&o, &t), r++;
    }
    done += height;
    a += (o.listed + (int64_t)(t.solve ? done : o.count)) * height;
  }
  return finite;
}

/* Are the solutions of a node finite? */
static inline bool AT_WIDTH(solved_finite_)(const T *w, int64_t step, const spti_node *node) {
  VECTOR zero = {0};
  for (int32_t k = 0; k < node->width; k++) {
    const VECTOR *x = (const VECTOR *)(w + (node->first + k) * step);
    for (int c = 0; c < COUNT; c++) zero += x[c] - x[c];
  }
  return AT_WIDTH(finite_)(zero);
}

/* A pushed node: a function of its own, since it would slow down the many nodes of one row. */
static __attribute__((noinline)) void AT_WIDTH(push_)(const spti_block_host_panel *p, T *w, const spti_node *node, bool solve, int32_t from,
                                                      int32_t to) {
  NAME(operands) o = {.a = (const T *)p->val + node->value, .next = 1, .first = node->first, .w = w, .step = p->step};
  NAME(targets) t = {.first = node->first, .solve = true, .unit = p->unit, .exact = node->exact};
  bool finite = solve ? AT_WIDTH(strips_)(o, t, node->width, 0, node->width) : AT_WIDTH(solved_finite_)(w, p->step, node);
  o.a += spti_node_triangle_size(node);
  o.count = node->width;
  t.solve = false;
  t.exact = node->exact || finite;
  t.list = p->nodes->list + node->list;
  AT_WIDTH(strips_)(o, t, node->listed, from, to);
}

/* If solve is set, solves the node; then, if it is pushed, updates the places [from, to) of its list. */
static void AT_WIDTH(node_)(const spti_block_host_panel *p, T *w, int32_t c, bool solve, int32_t from, int32_t to) {
  const spti_node *node = &p->nodes->node[c];
  if (node->kind == SPTI_NODE_PUSH) {
    AT_WIDTH(push_)(p, w, node, solve, from, to);
    return;
  }
  NAME(operands) o = {.a = (const T *)p->val + node->value, .next = 1, .first = node->first, .w = w, .step = p->step};
  NAME(targets) t = {.first = node->first, .solve = node->kind != SPTI_NODE_GATHER, .unit = p->unit, .exact = node->exact};
  o.list = p->nodes->list + node->list;
  o.listed = node->listed;
  if (node->width == 1) AT_WIDTH(rows_1_)(&o, &t);
  else AT_WIDTH(strips_)(o, t, node->width, 0, node->width);
}

#undef MOST
#undef SEVERAL_ROWS
#endif
#undef AT_WIDTH
#undef MET
#undef WIDTH
