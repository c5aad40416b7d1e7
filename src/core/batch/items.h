/* items.h -- the panel of a group of items, systems with one pattern whose values lie side by side, on the host: the first and the last
 * pass over it, and D^-1 between the triangles (core/plan/pack.h has these for one system, with the same bits).
 *
 * A group has SPTI_ITEM_BYTES / sizeof(value) items. A row of its panel has the first right-hand side of each item, then the second and so
 * on: element (i, k) of item v is data[i * ld + k * items + v]. Scale factors and D lie likewise: those of row i are [i * items, ...). */
#ifndef SPTI_CORE_BATCH_ITEMS_H
#define SPTI_CORE_BATCH_ITEMS_H

#include "core/plan/method.h"
#include "core/plan/pack.h"

enum { SPTI_ITEMS_MOST = 16, SPTI_ITEM_COLUMNS_MOST = 16 }; /* items of a group, right-hand sides of an item in a panel */

/* The right-hand sides of an item that a panel has. width 0: the item is not solved; its lanes get zeros, and nothing is written. */
typedef struct {
  spti_columns block;
  int32_t width;
} spti_item_columns;

/* As spti_pack and spti_unpack; W->width counts the columns of all items. */
void spti_items_pack(const spti_panel *W, int32_t n, sptrsm_dtype, const spti_item_columns *B, const spti_edge *, const void *alpha);
void spti_items_unpack(const spti_item_columns *X, int32_t n, sptrsm_dtype, const spti_panel *W, const spti_edge *);
void spti_items_apply_diagonal(const spti_panel *W, int32_t n, sptrsm_dtype, const spti_diagonal *, spti_op);

/* to[p * items + v] = from[v][source[p]] for those v whose from[v] is not NULL. source NULL: the identity. */
void spti_items_interleave(void *to, const void *const *from, const int64_t *source, int64_t count, int items, size_t bytes);

#endif
