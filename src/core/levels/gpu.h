/* gpu.h -- level sets of a view in device memory, found on the device, and the rows of a pull view packed in level order.
 *
 * A place is a row's position in level order: order[place] = row. Methods that keep their solution by place read and write
 * neighbouring words within a level, and all that row place t needs stands at smaller places. */
#ifndef SPTI_CORE_LEVELS_GPU_H
#define SPTI_CORE_LEVELS_GPU_H

#include "core/levels/kernels.h"
#include "core/matrix/view.h"

typedef struct spti_gpu_levels {
  int32_t n, count;    /* order of the matrix; number of levels, 0 for n = 0 */
  int32_t widest;      /* rows in the widest level; with ptr */
  int32_t longest;     /* off-diagonal entries of the longest line of the view the levels were made from */
  int32_t *ptr;        /* host, [count+1]: level l holds places [ptr[l], ptr[l+1]); NULL until spti_gpu_levels_fetch_ptr */
  int32_t *device_ptr; /* device, the same */
  int32_t *order;      /* device, [n]: row of each place; within a level in solve order */
  int32_t *level;      /* device, [n]: level of each row */
} spti_gpu_levels;

/* The level sets of a view in device memory, in either orientation. Reads no values. Deterministic. Waits for the device. The caller frees
 * them; for those of a plan's view see core/plan/analysis.h. */
sptrsm_status spti_gpu_levels_create(spti_gpu_levels **out, const spti_view *, sptrsm_context *);
void spti_gpu_levels_free(spti_gpu_levels *, const sptrsm_context *); /* NULL: nothing happens */

/* After a search: copies ptr to the host and finds widest, unless that was done before. Waits for the device. */
sptrsm_status spti_gpu_levels_fetch_ptr(spti_gpu_levels *, const sptrsm_context *);

/* A search that may end early: whoever weighs levels against row panels need not know how many levels there are beyond so many times
 * the hops of the panels (spti_row_panels_hops). */
typedef struct {
  const spti_row_panels_facts *panels; /* device, as queued work leaves them; NULL: all levels are wanted */
  int32_t least, times;                /* enough: times the hops, but not fewer than least */
  spti_levels_facts facts;             /* result */
} spti_levels_search;

/* Without ptr and widest. *out = NULL where facts.count has come to facts.enough. */
sptrsm_status spti_gpu_levels_search(spti_gpu_levels **out, spti_levels_search *, const spti_view *, sptrsm_context *);

/* Rows of a pull view in the order of their places, diagonals apart. All arrays in device memory. */
typedef struct {
  int32_t n;
  int32_t *row;   /* [n]: row of each place */
  int32_t *start; /* [n+1]: off-diagonal entries of place t are [start[t], start[t+1]) */
  int32_t *from;  /* [start[n]]: place of the entry's column; entries in solve order (ascending columns forward, descending backward), */
  void *val;      /* [start[n]]: as stored, conjugated where the view says so */
  void *diag;     /* [n]: likewise; ones for a unit diagonal */
  size_t bytes;   /* of all of them */
  int32_t sorted; /* but in rows of up to so many entries in the order of their places */
} spti_pull_rows;

/* So many entries that a loop's step beyond a row's end still fits 32 bits. */
enum { SPTI_PULL_ROWS_MOST = INT32_MAX - (1 << 16) };

/* order: device, [n], any order of the rows in which each stands behind the rows it needs (levels->order, or one of a method's own).
 * UNSUPPORTED where there are more than SPTI_PULL_ROWS_MOST entries. update: new values of the same pattern. */
sptrsm_status spti_pull_rows_create(spti_pull_rows *out, const spti_view *, const sptrsm_context *, const int32_t *order);
sptrsm_status spti_pull_rows_create_sorted(spti_pull_rows *out, const spti_view *, const sptrsm_context *, const int32_t *order,
                                           int32_t sort_up_to);
sptrsm_status spti_pull_rows_update(const spti_pull_rows *, const spti_view *, const sptrsm_context *);
void spti_pull_rows_free(spti_pull_rows *, const sptrsm_context *);

#endif
