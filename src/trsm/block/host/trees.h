/* trees.h -- how several threads share the nodes of one panel: by subtrees of the elimination tree of nodes (core/levels/forest.h).
 *
 * Nodes that pull write their own rows only, so a thread takes the nodes of a tree. What a pushed node updates lies in its own tree and in
 * at most one tree of each later layer, since these are above it: so its list falls into one part for each layer. The thread that takes a
 * tree goes through its nodes and through those below it with a part in the tree, in the order in which one thread would solve them all:
 * it solves the former, and of the latter, which are solved, it applies that part. So each row gets its updates in one order, and the bits
 * are those of one thread. Pushed nodes are solved forward, so that what a node updates lies on one path from it to the root. */
#ifndef SPTI_TRSM_BLOCK_HOST_TREES_H
#define SPTI_TRSM_BLOCK_HOST_TREES_H

#include "core/levels/forest.h"
#include "core/levels/schedule.h"
#include "trsm/block/host/nodes.h"

typedef struct {
  spti_schedule schedule; /* its units are trees; of team 1: sharing does not pay, and there are no arrays */
  int64_t *ptr;           /* [trees+1]: tree t has the visits ptr[t] .. ptr[t+1] */
  int32_t *visit;         /* node c, to be solved, or ~c, of which a part is to be applied */
  int32_t *part;          /* [nodes * SPTI_FOREST_LAYERS]: places in a node's list that lie in layers up to this one; NULL: nodes pull */
  size_t bytes;
} spti_node_trees;

sptrsm_status spti_node_trees_build(spti_node_trees *out, const spti_nodes *);
void spti_node_trees_free(spti_node_trees *);
/* carry.c: measures, writes or reads them. */
void spti_node_trees_carry(spti_node_trees *, spti_blob *, const spti_nodes *);

#endif
