/* forest.h -- independent subtrees of a triangle, for several threads and one panel.
 *
 * In the elimination tree [liu1990] of the pattern of T and T^T, the parent of i is the first later row that elimination couples to it, and
 * all rows that a row depends on are below it in the tree (forward substitution) or above it (backward). So disjoint subtrees can be
 * solved side by side: before the rows above them, or after these.
 *
 * The rows are divided into layers by the cost of the subtree below each row: at most 1/64 of the total, 1/16, 1/4, and all others. Within
 * a layer the rows that hang together are one tree. Factors of nested dissection or minimum degree have most of their entries in the first
 * layers; a chain has one tree in each. */
#ifndef SPTI_CORE_LEVELS_FOREST_H
#define SPTI_CORE_LEVELS_FOREST_H

#include "core/matrix/view.h"

enum { SPTI_FOREST_LAYERS = 4 };

typedef struct {
  int32_t n, trees;
  int32_t ptr[SPTI_FOREST_LAYERS + 1]; /* trees of layer l, layers in the order of substitution: ptr[l] .. ptr[l+1] */
  int32_t *tree;                       /* [trees+1]: the rows of tree t are order[tree[t] .. tree[t+1]), in solve order */
  int32_t *order;                      /* [n] */
} spti_forest;

/* From a view in host memory, in either orientation, and the costs of its rows, cost[n] >= 0. Takes about O(nnz) time, and nnz temporary
 * indices if lines list rows with larger indices. The caller frees it. */
sptrsm_status spti_forest_build(spti_forest *out, const spti_view *, const int64_t *cost);
void spti_forest_free(spti_forest *);

#endif
