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

static void NAME(solve)(const spti_nodes *nodes, const void *val, int32_t begin, int32_t end, bool unit, void *data, int64_t step,
                        int32_t width) {
  for (int32_t c = begin; c < end; c++) {
    const spti_node *node = &nodes->node[c];
    T *w = data;
    for (int32_t left = width; left > 0;) {
      int32_t most = left < WIDEST ? left : WIDEST;
      int32_t columns = most >= 32 ? 32 : most >= 16 ? 16 : most >= 8 ? 8 : most >= 4 ? 4 : most >= 2 ? 2 : 1;
      switch (columns) {
      case 32: NAME(node_32)(nodes, node, val, unit, w, step); break;
      case 16: NAME(node_16)(nodes, node, val, unit, w, step); break;
      case 8: NAME(node_8)(nodes, node, val, unit, w, step); break;
      case 4: NAME(node_4)(nodes, node, val, unit, w, step); break;
      case 2: NAME(node_2)(nodes, node, val, unit, w, step); break;
      default: NAME(node_1)(nodes, node, val, unit, w, step);
      }
      w += columns;
      left -= columns;
    }
  }
}

#undef WIDEST
