/* nodes.h -- the supernodes of a triangle, and the dense form in which `block` stores them on the host.
 *
 * A supernode is a run of lines with (almost) the same pattern: columns of a factor L, rows of a factor U or of L^T. It is stored as a
 * triangle and a rectangle with one list of places. The place of a row is its position in the order of substitution.
 *
 * SPTI_NODE_PULL     x(node) -= rectangle x(list), then solve the triangle;   the list has earlier places
 * SPTI_NODE_PUSH     solve the triangle, then x(list) -= rectangle x(node);   the list has later places
 * SPTI_NODE_GATHER   x(node) -= row x(list), for one row of the next SPTI_NODE_PUSH
 *
 * A view that pulls has PULL nodes only; a line in no supernode is a node of one place. In a view that pushes the supernodes are PUSH
 * nodes. Its other columns are stored by rows, since updating a row in memory for a few columns costs more than gathering them: a row in
 * no supernode is a PULL node of one place, and a row of a supernode with such entries has a GATHER node.
 *
 * Rows are stored in strips of SPTI_NODE_STRIP; the last strip of a triangle or rectangle has the remaining rows. A strip is stored by
 * columns: first the columns of the list (PULL), then those of the node. A strip of the triangle ends with its own diagonal block, whose
 * upper half is unused; the strips of a pushed rectangle follow. A missing entry is +0 and a stored zero is -0, so that kernels can tell
 * them apart where a solution is NaN. */
#ifndef SPTI_TRSM_BLOCK_HOST_NODES_H
#define SPTI_TRSM_BLOCK_HOST_NODES_H

#include "core/blob/blob.h"
#include "core/matrix/view.h"

enum { SPTI_NODE_STRIP = 8 };

typedef enum { SPTI_NODE_PULL, SPTI_NODE_PUSH, SPTI_NODE_GATHER } spti_node_kind;

typedef struct {
  spti_node_kind kind;
  int32_t first, width; /* places [first, first + width) */
  int32_t listed;       /* places in the list, ascending */
  int64_t exact;        /* nonzero: no entry was added; of 64 bits, so that nodes have no padding */
  int64_t list, value;  /* offsets of its list and of its values */
} spti_node;

/* A place, while values are packed from the lines in the other orientation. */
typedef struct {
  int32_t node;       /* that has it */
  int32_t rank, last; /* at the first place of a node: the rank in its list of the last line that had an entry in it, and that line */
} spti_place;

typedef struct {
  int32_t n, count;
  bool pull, reversed; /* reversed: place s is row n-1-s */
  int64_t stored;      /* values, the unused halves included */
  int64_t entries;     /* off-diagonal entries of the triangle */
  int64_t added;       /* zeros added to them */
  int64_t dense;       /* entries in supernodes (is_dense in nodes.c) */
  spti_node *node;     /* [count], in solve order */
  int32_t *list;
  int64_t list_length;
  bool borrowed; /* node and list are in a blob */
  /* [n] each, used where nodes are found, checked or packed, so that new values need no allocation. rank: where nodes are found, the number
   * of entries that a row gathers; where they are checked, see has_place in carry.c. */
  int32_t *rank;
  spti_place *places;
  int64_t *gathered; /* offset of the next value of a row's gathered list */
} spti_nodes;

typedef struct {
  int32_t width; /* lines of a supernode at most */
  int32_t zeros; /* added zeros at most, in percent of a supernode's off-diagonal entries */
} spti_node_limits;

/* From a host view in either orientation. End with spti_nodes_free. */
sptrsm_status spti_nodes_find(spti_nodes *out, const spti_view *, const spti_node_limits *);
void spti_nodes_free(spti_nodes *);

sptrsm_status spti_nodes_alloc_packing(spti_nodes *); /* rank, places and gathered */

/* carry.c: measures, writes or reads them, for a view of the same matrix in the same orientation. */
void spti_nodes_carry(spti_nodes *, spti_blob *, const spti_view *);
/* Have nodes that were read a place for each entry of the view, and the view an entry for each place in a list? ARGUMENT if not.
 * Overwrites rank and gathered. */
sptrsm_status spti_nodes_check_fit(const spti_nodes *, const spti_view *);

/* Writes all values to val[stored], of the view's type; conjugated where the view says so. The view may have either orientation. */
void spti_nodes_pack(void *val, const spti_nodes *, const spti_view *);

/* Offset of a strip. Each row of a strip has `lead` columns; `triangle`: then those of all rows up to the end of the strip. */
static inline int64_t spti_strip_start(int32_t strip, int64_t lead, bool triangle) {
  return SPTI_NODE_STRIP * strip * lead + (triangle ? (int64_t)SPTI_NODE_STRIP * SPTI_NODE_STRIP / 2 * strip * (strip + 1) : 0);
}

/* Number of values of `rows` rows in such strips. */
static inline int64_t spti_strips_size(int32_t rows, int64_t lead, bool triangle) {
  int32_t strips = rows / SPTI_NODE_STRIP, left = rows % SPTI_NODE_STRIP;
  return spti_strip_start(strips, lead, triangle) + left * (lead + (triangle ? rows : 0));
}

/* Values before the pushed rectangle: the triangle with what it pulls. */
static inline int64_t spti_node_triangle_size(const spti_node *node) {
  return spti_strips_size(node->width, node->kind == SPTI_NODE_PULL ? node->listed : 0, true);
}

static inline int64_t spti_node_size(const spti_node *node) {
  if (node->kind == SPTI_NODE_GATHER) return node->listed;
  return spti_node_triangle_size(node) + (node->kind == SPTI_NODE_PUSH ? spti_strips_size(node->listed, node->width, false) : 0);
}

#endif
