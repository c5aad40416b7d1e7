/* syncfree_csc_kernels.h -- the device steps of syncfree-csc as C functions. Pointers are device pointers. A launcher
 * queues on the stream and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, solve. */
#ifndef SPTI_SYNCFREE_CSC_KERNELS_H
#define SPTI_SYNCFREE_CSC_KERNELS_H

#include "core/launch.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Analysis: in_degree[i] = number of columns that update row i = off-diagonal entries of row i. Once per pattern. */
typedef struct {
  spti_view view;     /* push */
  int32_t *in_degree; /* [n], any content */
} spti_syncfree_csc_count_args;

int spti_syncfree_csc_count_launch(const spti_syncfree_csc_count_args *, void *stream);

typedef enum { SPTI_TILE_FASTEST, SPTI_COLUMN_FASTEST } spti_item_order; /* which of (column, tile) the next work item differs in */

typedef struct {
  spti_view view;           /* push */
  void *work;               /* element (i,k) at i * ld + k: alpha B on entry, X on exit */
  int64_t ld;
  int32_t width;            /* right-hand sides in the panel: the nrhs of the adaptive rule */
  int32_t row_words;        /* columns of a tile / 32: 1, 2 or 4 */
  sptrsm_select select;
  int32_t p, q;             /* of the adaptive rule */
  int32_t first_chunk;      /* entries updated before the first release, 1 to 32: a small one lets the critical consumer start early */
  int32_t second_chunk;     /* entries before the second release, 1 to 32; then 32 each */
  int32_t block_warps;      /* warps per thread block, 1 to SPTI_SYNCFREE_CSC_MAX_WARPS */
  spti_item_order order;
  const int32_t *in_degree; /* [n], from the analysis */
  int32_t *counters;        /* [n * tiles], state of this solve */
  spti_syncfree sync;
} spti_syncfree_csc_args;

enum { SPTI_SYNCFREE_CSC_MAX_WARPS = 8 };

/* Tiles of a panel, and the bytes that counters and sync.control take together. */
static inline SPTI_ANYWHERE int32_t spti_syncfree_csc_tiles(int32_t width, int32_t row_words) {
  return (int32_t)(((int64_t)width + 32 * row_words - 1) / (32 * row_words));
}
static inline size_t spti_syncfree_csc_work_bytes(int32_t n, int32_t tiles) {
  return ((size_t)n * (size_t)tiles + SPTI_SYNCFREE_CONTROL_WORDS) * sizeof(int32_t);
}
/* Lays that memory out: control words first. */
static inline void spti_syncfree_csc_bind(spti_syncfree_csc_args *a, void *memory) {
  a->sync.control = (int32_t *)memory;
  a->counters = (int32_t *)memory + SPTI_SYNCFREE_CONTROL_WORDS;
}

int spti_syncfree_csc_start_launch(const spti_syncfree_csc_args *, void *stream); /* counters from in_degree, control words to zero */
int spti_syncfree_csc_solve_launch(const spti_syncfree_csc_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
