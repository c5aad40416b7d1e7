/* gpu.h -- level sets of a view in device memory, found on the device, and the rows of a pull view packed in level order.
 *
 * The place of a row is its position in level order: order[place] = row. A method that keeps its solution by place reads and writes
 * neighbouring words within a level, and the row at place t depends only on rows at smaller places. */
#ifndef SPTI_CORE_LEVELS_GPU_H
#define SPTI_CORE_LEVELS_GPU_H

#include "core/levels/kernels.h"
#include "core/matrix/view.h"

typedef struct spti_gpu_levels {
  int32_t n, count;    /* order of the matrix; number of levels, 0 for n = 0 */
  int32_t widest;      /* rows in the widest level; set together with ptr */
  int32_t longest;     /* off-diagonal entries of the longest line of the view the levels were made from */
  int32_t *ptr;        /* host, [count+1]: level l holds places [ptr[l], ptr[l+1]); NULL until spti_gpu_levels_fetch_ptr */
  int32_t *device_ptr; /* device, [count+1]: the same as ptr */
  int32_t *order;      /* device, [n]: row of each place; within a level in solve order */
  int32_t *level;      /* device, [n]: level of each row */
} spti_gpu_levels;

/* Finds the level sets of a view in device memory, pull or push, with ptr and widest. Reads no values. Deterministic. Waits for the device.
 * The caller frees the result. A plan's own level sets: core/plan/analysis.h. */
sptrsm_status spti_gpu_levels_create(spti_gpu_levels **out, const spti_view *, sptrsm_context *);
void spti_gpu_levels_free(spti_gpu_levels *, const sptrsm_context *); /* accepts NULL */
size_t spti_gpu_levels_bytes(const spti_gpu_levels *);

/* After a search: copies ptr to the host and finds widest, unless that was done before. Waits for the device. */
sptrsm_status spti_gpu_levels_fetch_ptr(spti_gpu_levels *, const sptrsm_context *);

/* A search for level sets that may end early: the choice between level sets and row panels does not depend on the number of levels once
 * it exceeds a multiple of the panels' hops (spti_row_panels_hops). */
typedef struct {
  const spti_row_panels_facts *panels; /* device memory, may be written by work that is still queued; NULL: find all levels */
  int32_t least, times;                /* the search ends at max(least, times * hops) levels */
  spti_levels_facts facts;             /* result */
} spti_levels_search;

/* Finds level sets without ptr and widest. *out is NULL if the search ended early, that is if facts.count >= facts.enough. */
sptrsm_status spti_gpu_levels_search(spti_gpu_levels **out, spti_levels_search *, const spti_view *, sptrsm_context *);

/* The rows of a pull view in the order of their places, with diagonals in an array of their own. All arrays are in device memory. */
typedef struct {
  int32_t n;
  int32_t *row;   /* [n]: row of each place */
  int32_t *start; /* [n+1]: off-diagonal entries of place t are [start[t], start[t+1]) */
  int32_t *from;  /* [start[n]]: place of the entry's column; see `sorted` for the order of a row's entries */
  void *val;      /* [start[n]]: values, conjugated if the view says so */
  void *diag;     /* [n]: diagonals, likewise; ones for a unit diagonal */
  size_t bytes;   /* of all arrays */
  int32_t sorted; /* rows with at most this many entries have them in the order of their places, other rows in solve order */
} spti_pull_rows;

/* The most entries: a loop may step beyond the end of a row without overflow of 32 bits. */
enum { SPTI_PULL_ROWS_MOST = INT32_MAX - (1 << 16) };

/* order: device, [n], any order in which each row comes after the rows it depends on (levels->order, or a method's own). Fails with
 * UNSUPPORTED for more than SPTI_PULL_ROWS_MOST entries. spti_pull_rows_update takes new values of the same pattern. */
sptrsm_status spti_pull_rows_create(spti_pull_rows *out, const spti_view *, const sptrsm_context *, const int32_t *order);
sptrsm_status spti_pull_rows_create_sorted(spti_pull_rows *out, const spti_view *, const sptrsm_context *, const int32_t *order,
                                           int32_t sort_up_to);
sptrsm_status spti_pull_rows_update(const spti_pull_rows *, const spti_view *, const sptrsm_context *);
void spti_pull_rows_free(spti_pull_rows *, const sptrsm_context *);

#endif
