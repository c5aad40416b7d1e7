/* kernels.h -- the device steps of syncfree-csc as C functions. Pointers are device pointers. A launcher queues on the stream and returns a
 * cudaError_t as int; it allocates nothing. A solve is start, then solve. */
#ifndef SPTI_TRSM_SYNCFREE_CSC_KERNELS_H
#define SPTI_TRSM_SYNCFREE_CSC_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Analysis: in_degree[i] = number of columns that update row i = off-diagonal entries of row i. Once per pattern. */
typedef struct {
  spti_view view;     /* push */
  int32_t *in_degree; /* [n], any content */
} spti_syncfree_csc_count_args;

int spti_syncfree_csc_count_launch(const spti_syncfree_csc_count_args *, void *stream);

/* A column of more than split_above entries is pushed by several warps, `segment` entries each. A row that more than gather_above columns
 * update has accumulators of its own, one for each `share` updates, so that atomics on one address do not queue up; the warp that solves
 * the row adds them up. */
typedef struct {
  int32_t split_above, segment, gather_above, share;
} spti_syncfree_csc_limits;

/* Words that the survey of a pattern finds, and one that the search for the order uses. */
enum {
  SPTI_CSC_SEGMENTS, /* work items beyond one for each column */
  SPTI_CSC_PARTIALS, /* accumulators of long rows */
  SPTI_CSC_TAIL,     /* end of the queue */
  SPTI_CSC_FACTS
};

typedef struct {
  spti_view view; /* push */
  spti_syncfree_csc_limits limits;
  const int32_t *in_degree; /* [n] */
  int32_t *facts;           /* [SPTI_CSC_FACTS], any content */
  int32_t *part_first;      /* [n], any content: first accumulator of a long row, -1 for the others */
} spti_syncfree_csc_survey_args;

int spti_syncfree_csc_survey_launch(const spti_syncfree_csc_survey_args *, void *stream);

/* target[p]: the row that entry p updates, or ~(accumulator) of a long row. */
typedef struct {
  spti_view view;
  spti_syncfree_csc_limits limits;
  const int32_t *in_degree, *part_first; /* [n] */
  int32_t *target;                       /* [nnz], any content */
} spti_syncfree_csc_target_args;

int spti_syncfree_csc_target_launch(const spti_syncfree_csc_target_args *, void *stream);

/* Finds an order in which columns become ready, by Kahn's algorithm with a shared queue: items[t] is (segment << 32) + column, and every
 * item comes after all items that it waits for. */
typedef struct {
  spti_view view;
  spti_syncfree_csc_limits limits;
  const int32_t *in_degree; /* [n] */
  int32_t *counters;        /* [n], scratch */
  int32_t *facts;           /* [SPTI_CSC_FACTS], scratch */
  int64_t *items;           /* [item_count], any content */
  int64_t item_count;       /* n + facts[SPTI_CSC_SEGMENTS] */
  spti_syncfree sync;
} spti_syncfree_csc_order_args;

int spti_syncfree_csc_order_launch(const spti_syncfree_csc_order_args *, void *stream);

typedef struct {
  spti_view view;      /* push */
  int32_t value_bytes; /* of dtype */
  void *work;          /* element (i,k) at i * ld + k: alpha B on entry, X on exit */
  int64_t ld;
  int32_t width; /* right-hand sides in the panel: the nrhs of the adaptive rule */
  sptrsm_select select;
  int32_t p, q;         /* of the adaptive rule */
  int32_t whole_column; /* of columns of up to this many entries (at most 32) all rows are updated before the first release, else one row */
  int32_t second_chunk; /* then this many rows, 1 to 31, before the second release, then 32 before each */
  int32_t block_warps;  /* warps per thread block, 1 to SPTI_SYNCFREE_CSC_MAX_WARPS */
  spti_syncfree_csc_limits limits;
  const int32_t *in_degree;           /* [n], from the analysis */
  const int64_t *items;               /* [item_count]; NULL: whole columns in the order of their numbers */
  int64_t item_count;                 /* items of each tile */
  const int32_t *part_first, *target; /* [n], [nnz]; NULL without long rows */
  int64_t parts;                      /* accumulators of long rows, each of `width` elements */
  void *partial;                      /* [parts * width], state of this solve */
  int32_t *counters;                  /* [n * tiles], state of this solve */
  spti_syncfree sync;
} spti_syncfree_csc_args;

enum { SPTI_SYNCFREE_CSC_MAX_WARPS = 8, SPTI_SYNCFREE_CSC_TILE = 32 /* right-hand sides of one warp */ };

/* Tiles of a panel, and the bytes that accumulators, sync.control and counters take together. */
static inline SPTI_ANYWHERE int32_t spti_syncfree_csc_tiles(int32_t width) {
  return (int32_t)(((int64_t)width + SPTI_SYNCFREE_CSC_TILE - 1) / SPTI_SYNCFREE_CSC_TILE);
}
static inline size_t spti_syncfree_csc_work_bytes(int32_t n, int32_t tiles, int64_t parts, int32_t width, size_t value_bytes) {
  return (size_t)parts * (size_t)width * value_bytes + ((size_t)n * (size_t)tiles + SPTI_SYNCFREE_CONTROL_WORDS) * sizeof(int32_t);
}
/* Lays that memory out: accumulators first, for their alignment. */
static inline void spti_syncfree_csc_bind(spti_syncfree_csc_args *a, void *memory) {
  a->partial = memory;
  a->sync.control = (int32_t *)((char *)memory + (size_t)a->parts * (size_t)a->width * (size_t)a->value_bytes);
  a->counters = a->sync.control + SPTI_SYNCFREE_CONTROL_WORDS;
}

int spti_syncfree_csc_start_launch(const spti_syncfree_csc_args *, void *stream); /* counters from in_degree, the rest to zero */
int spti_syncfree_csc_solve_launch(const spti_syncfree_csc_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
