/* partition.h -- how recblock cuts a triangle whose rows and columns are in level order, and how it chooses a kernel for each
 * part. Pure functions of counts, without a device and without allocation.
 *
 * The triangle is halved `depth` times: 2^depth leaves on the diagonal, and a rectangle between each two halves. Blocks are
 * numbered in the order in which they are solved, from left to right: the triangle of leaf k is block 2k; block 2k - 1, just
 * before it, is the rectangle with the rows of leaves [k, k + 2^j) and the columns of the 2^j leaves before, where j is the
 * number of zeros at the end of k.
 * The entries that one row has in one block are a segment; segments are numbered block by block. Rows before `first`
 * have no entries and take no part.
 * Source: [lu2020recblock], the rules of its section on adaptive selection. */
#ifndef SPTI_TRSV_RECBLOCK_PARTITION_H
#define SPTI_TRSV_RECBLOCK_PARTITION_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define SPTI_RECBLOCK_ANYWHERE __host__ __device__
#else
#define SPTI_RECBLOCK_ANYWHERE
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_RECBLOCK_MAX_DEPTH = 12 };

/* The first halving that separates two different leaves, as the highest bit in which their numbers differ. */
static inline SPTI_RECBLOCK_ANYWHERE int32_t spti_recblock_parting(int32_t leaf, int32_t other) {
  int32_t bit = 0;
  for (uint32_t differ = (uint32_t)(leaf ^ other); differ > 1; differ >>= 1) bit++;
  return bit;
}

/* The block of an entry by the leaves of its row and column, column <= row. */
static inline SPTI_RECBLOCK_ANYWHERE int32_t spti_recblock_block_of(int32_t row_leaf, int32_t column_leaf) {
  if (row_leaf == column_leaf) return 2 * row_leaf;
  const int32_t bit = spti_recblock_parting(row_leaf, column_leaf);
  return 2 * (row_leaf >> bit << bit) - 1;
}

/* The published depth: the smallest with n / 2^(depth + 1) < 20 lanes. */
int32_t spti_recblock_depth(int32_t n, int64_t lanes);

typedef struct {
  int32_t n, first, depth;
  int32_t longest; /* entries of the longest row off the diagonal */
  int32_t *bound;  /* [2^depth + 1]: leaf k holds places [bound[k], bound[k+1]) */
  int32_t *base;   /* [2^(depth+1) - 1]: segment of row t in block i is base[i] + t */
} spti_recblock_tree;

typedef struct {
  bool rectangle;
  int32_t row_begin, row_end, column_begin, column_end; /* without rows before `first` */
} spti_recblock_block;

static inline SPTI_RECBLOCK_ANYWHERE int32_t spti_recblock_leaves(int32_t depth) { return (int32_t)1 << depth; }
static inline int32_t spti_recblock_blocks(int32_t depth) { return 2 * spti_recblock_leaves(depth) - 1; }

/* Fills bound and base, which are allocated, from n, first and depth. Returns the number of segments; base is valid only if that
 * is at most INT32_MAX. */
int64_t spti_recblock_cut(spti_recblock_tree *);
spti_recblock_block spti_recblock_block_at(const spti_recblock_tree *, int32_t index);

/* ---- the choice for each block ---- */

typedef struct {
  int32_t levels, level_row;         /* most levels, and entries a row with the diagonal, of a triangle solved level by level */
  int32_t thin_levels;               /* the same for triangles with fewer than two entries a row */
  int32_t thread_row;                /* most entries a row of rectangles summed by one thread a row; others by groups of lanes */
  int32_t thread_empty, group_empty; /* percentage of empty rows above which the other rows are listed */
  int32_t thread_apart, group_apart; /* longer rows are cut in chunks */
  int32_t chunk;                     /* entries of a chunk */
  int32_t waiting_row;               /* the longest row of waiting triangles whose rows are summed by one thread each */
} spti_recblock_limits;

/* The published figures but for three: rows are cut above 32 and 512 entries, not 2048, since one lane or a group of up to eight sums a
 * row, not a warp; they are cut in chunks; and a waiting triangle's kernel depends on its longest row too. */
extern const spti_recblock_limits spti_recblock_defaults;

typedef enum { SPTI_RECBLOCK_DIAGONAL, SPTI_RECBLOCK_LEVELS, SPTI_RECBLOCK_SYNCFREE } spti_recblock_triangle;

spti_recblock_triangle spti_recblock_choose_triangle(const spti_recblock_limits *, int64_t rows, int64_t entries, int32_t levels);

/* The kernel for a set of rows: slots of a row's sum (1: a thread a row), and whether the rows with entries are listed. */
typedef struct {
  int32_t slots;
  bool listed;
} spti_recblock_way;

spti_recblock_way spti_recblock_choose_way(const spti_recblock_limits *, int64_t rows, int64_t nonempty, int64_t entries);

/* The counts of each step's rows. */
enum {
  SPTI_RECBLOCK_ENTRIES,
  SPTI_RECBLOCK_NONEMPTY,
  SPTI_RECBLOCK_THREAD_APART, /* rows above thread_apart, and their chunks */
  SPTI_RECBLOCK_THREAD_CHUNKS,
  SPTI_RECBLOCK_GROUP_APART, /* likewise above group_apart */
  SPTI_RECBLOCK_GROUP_CHUNKS,
  SPTI_RECBLOCK_FACTS
};

enum { SPTI_RECBLOCK_SLOTS = 8 }; /* slots of a row that a group of lanes sums */

/* One kernel launch. It sums rows from solutions of earlier launches or, sync-free, waits for solutions of its own rows. */
typedef struct {
  int32_t block;
  int32_t row, rows;                    /* places [row, row + rows) */
  int32_t segment;                      /* of the first of them */
  int32_t syncfree;                     /* 0: no entry's column is one of the rows */
  int32_t finish;                       /* these are the last sums of the rows: solve for x; else b -= sum */
  int32_t slots;                        /* of a row's sum: 1 or SPTI_RECBLOCK_SLOTS */
  int32_t apart_above;                  /* longer rows are cut in chunks */
  int32_t chunk;                        /* entries of a chunk */
  int32_t listed, list;                 /* number of listed rows, and the first one's place in the list; listed < 0: all rows are summed */
  int32_t apart, record, chunks, piece; /* rows cut in chunks, the first one's record; their chunks, the first one */
} spti_recblock_step;

/* A summary of the choices, for sizes of workspaces and for sptrsm_info. */
typedef struct {
  int32_t diagonal, levels, syncfree;                        /* triangles with rows */
  int32_t thread, thread_listed, group, group_listed, empty; /* rectangles */
  int64_t entries, rectangle_entries;
  int32_t lists, records, pieces;       /* totals over the steps */
  int32_t most_pieces;                  /* the largest number of chunks in one step */
  int32_t panel_row;                    /* first row whose right-hand side is kept between steps; n: none */
  int32_t syncfree_begin, syncfree_end; /* the rows of all waiting triangles lie in between */
} spti_recblock_summary;

/* The steps whose rows are to be counted: one for each rectangle, one for each level of a triangle that may be solved level by
 * level, one for each other triangle.
 * level_ptr: [levels+1], places of the levels of all rows. out NULL: only counts them. */
int32_t spti_recblock_survey(spti_recblock_step *out, const spti_recblock_tree *, const int32_t *level_ptr, int32_t levels,
                             const spti_recblock_limits *);

/* Replaces the surveyed steps by the steps of the solve, from the counts [count][SPTI_RECBLOCK_FACTS]. Returns their number. */
int32_t spti_recblock_choose(spti_recblock_step *steps, int32_t count, const int32_t *facts, const spti_recblock_tree *,
                             const spti_recblock_limits *, spti_recblock_summary *);

#ifdef __cplusplus
}
#endif
#endif
