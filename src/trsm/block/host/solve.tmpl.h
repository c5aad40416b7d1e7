/* solve.tmpl.h -- block on the host for one type T: kernels for widths 1, 2, 4 ... 32, and the split of any width into these. */

/* The operands of a kernel's rows: the places of a list, then consecutive places; their values are in the same order. */
typedef struct {
  const T *a;
  int64_t next; /* values from one column of a strip to the next */
  const int32_t *list;
  int32_t listed, first, count;
  T *w;
  int64_t step;
} NAME(operands);

/* The rows of one call: consecutive places from `first`, or those of `list`. */
typedef struct {
  const int32_t *list;
  int32_t first;
  bool solve, unit, exact; /* solve: with the diagonal block that follows the operands; exact: no entry was added */
} NAME(targets);

/* Values are read once, in the order in which they lie, so those that will be needed soon can be asked for: here those `ahead` bytes
 * behind the start of a column of `rows` rows, also where that is behind the array. Not for so few rows that a line of the cache has
 * more than two columns. */
static inline __attribute__((always_inline)) void NAME(ask_ahead)(const T *a, int rows, int ahead) {
  const int bytes = rows * (int)sizeof(T);
  for (int at = 0; at < bytes && bytes >= LINE / 2; at += LINE) __builtin_prefetch((const void *)((uintptr_t)a + (uintptr_t)(ahead + at)));
}

#define WIDTH   1
#define CAREFUL 1
#include "trsm/block/host/width.tmpl.h"
#undef CAREFUL
#define CAREFUL 0
#define WIDTH   1
#include "trsm/block/host/width.tmpl.h"
#define WIDTH 2
#include "trsm/block/host/width.tmpl.h"
#define WIDTH 4
#include "trsm/block/host/width.tmpl.h"
#define WIDTH 8
#include "trsm/block/host/width.tmpl.h"
#define WIDTH 16
#include "trsm/block/host/width.tmpl.h"
#define WIDTH 32
#include "trsm/block/host/width.tmpl.h"
#undef CAREFUL

#define WIDEST ((int32_t)(ROW_VECTORS * VECTOR_BYTES / sizeof(T)))

/* See node_ in width.tmpl.h. */
static void NAME(node)(const spti_block_host_panel *p, int32_t c, bool solve, int32_t from, int32_t to) {
  T *w = p->w;
  for (int32_t left = p->width; left > 0;) {
    int32_t most = left < WIDEST ? left : WIDEST;
    int32_t columns = most >= 32 ? 32 : most >= 16 ? 16 : most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
    switch (columns) {
    case 32: NAME(node_32)(p, w, c, solve, from, to); break;
    case 16: NAME(node_16)(p, w, c, solve, from, to); break;
    case 8: NAME(node_8)(p, w, c, solve, from, to); break;
    case 4: NAME(node_4)(p, w, c, solve, from, to); break;
    case 2: NAME(node_2)(p, w, c, solve, from, to); break;
    default: NAME(node_1)(p, w, c, solve, from, to);
    }
    w += columns;
    left -= columns;
  }
}

static void NAME(solve)(const spti_block_host_panel *p, int32_t begin, int32_t end, int32_t most) {
  for (int32_t c = begin; c < end; c++) NAME(node)(p, c, true, 0, most < p->nodes->node[c].listed ? most : p->nodes->node[c].listed);
}

static void NAME(push)(const spti_block_host_panel *p, int32_t node, int32_t from, int32_t to) { NAME(node)(p, node, false, from, to); }

#undef WIDEST
