/* interleaved_kernels.h -- the kernels of a uniform batch on a GPU (uniform.c), as C functions. Pointers are device pointers. A
 * launcher queues on the stream, returns a cudaError_t and allocates nothing.
 *
 * Items stand in groups of G = 2^log_group. The values of the items of a group are interleaved: with E entries an item, entry p of item i
 * is element (i / G * E + p) * G + i % G. So lanes of a warp are items, and all of their accesses are neighbours. */
#ifndef SPTI_CORE_BATCH_GPU_INTERLEAVED_KERNELS_H
#define SPTI_CORE_BATCH_GPU_INTERLEAVED_KERNELS_H

#include "core/batch/gpu/item_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SPTI_BATCH_LOG_GROUP_MOST = 3,
  SPTI_BATCH_LOG_PANEL_MOST = 5,
  SPTI_BATCH_LOG_LANE_COLUMNS = 2,
  SPTI_BATCH_THREADS_MOST = 256,
  SPTI_BATCH_STAGES_MOST = 3
};

/* A triangle in level order, or D. */
typedef struct {
  int32_t is_diagonal; /* D, else a triangle */
  int32_t conj;
  const void *diag; /* diagonal by row, interleaved; NULL: ones */
  /* a triangle: the rows of level l are those at the places [level[l], level[l+1]) */
  int32_t levels;
  const int32_t *level;  /* [levels+1] */
  const int32_t *row;    /* [n]: row of each place */
  const int32_t *start;  /* [n+1]: off-diagonal entries of place t are [start[t], start[t+1]) */
  const int32_t *column; /* [entries] */
  const void *val;       /* interleaved */
  int64_t entries;
  /* D */
  const void *sub; /* interleaved; NULL: 1x1 blocks only */
  int32_t transpose, hermitian;
} spti_batch_stage;

/* The blocks B or X of all items, and what the first or the last pass does with them. */
typedef struct {
  spti_batch_place place;
  int32_t divide;      /* by scale, instead of multiplying by it */
  const int32_t *map;  /* [n] or NULL: row i of the block is row map[i] of the work block */
  const double *scale; /* by row of the block, interleaved, or NULL */
} spti_batch_end;

typedef struct {
  int32_t n;
  int32_t log_group, log_panel; /* columns of a work block: 2^log_panel, of which a solve has `width` or fewer */
  spti_batch_items items;
  spti_batch_end from, to;
  double alpha[2];
  void *work;      /* NULL: in shared memory; else a work block of n x 2^log_panel x G elements for each thread block */
  int64_t blocks;  /* thread blocks, at most one for each group and panel */
  int32_t threads; /* of a block: a multiple of 32, up to SPTI_BATCH_THREADS_MOST */
  int32_t stage_count;
  spti_batch_stage stages[SPTI_BATCH_STAGES_MOST];
} spti_batch_solve_args;

int spti_batch_solve_launch(const spti_batch_solve_args *, sptrsm_dtype, void *stream);

/* Interleaves new values of the items [first, first + items). */
typedef struct {
  const void *from; /* of item first + i: from + i * stride elements */
  int64_t stride, first, items;
  int64_t entries;
  const int32_t *source; /* [entries]: position of each entry in the values of an item, NULL: the same */
  void *to;
  int32_t log_group;
} spti_batch_interleave_args;

int spti_batch_interleave_launch(const spti_batch_interleave_args *, sptrsm_dtype, void *stream);

/* The same entries in another order: entry p of `to` is entry source[p] of `from`, for all items of `groups` groups. */
typedef struct {
  const void *from;
  int64_t entries, groups;
  const int32_t *source;
  void *to;
  int32_t log_group;
} spti_batch_reorder_args;

int spti_batch_reorder_launch(const spti_batch_reorder_args *, sptrsm_dtype, void *stream);

/* Checks a diagonal, or D, of the items [first, first + items): bad[i] = n - r for the first row r of item i that can't be divided by, else
 * it stays as it is. */
typedef struct {
  int32_t n, log_group;
  int64_t first, items;
  const void *diag, *sub; /* interleaved; sub is NULL for a triangle and where D has 1x1 blocks only */
  int32_t hermitian;
  int32_t in_single; /* the values must be usable when they are rounded to single precision, too */
  int32_t *bad;      /* [count] */
} spti_batch_check_args;

int spti_batch_check_launch(const spti_batch_check_args *, sptrsm_dtype, void *stream);

/* status[i] of the items [first, first + items) that the mask has: SINGULAR with the row that the first array with a bad row tells, else
 * OK. bad and from are exclusive: with `from`, statuses are copied. */
enum { SPTI_BATCH_PARTS = 5 };
typedef struct {
  int32_t n;
  int64_t first, items;
  const int32_t *bad[SPTI_BATCH_PARTS]; /* [count] each, or NULL */
  const sptrsm_item_status *from;
  const uint8_t *mask; /* NULL: all */
  sptrsm_item_status *status;
} spti_batch_status_args;

int spti_batch_status_launch(const spti_batch_status_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
