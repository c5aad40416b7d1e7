/* analysis_kernels.h -- the device steps of the analysis of `block`: from a pull view that is cut into panels
 * (core/levels/row_panels_gpu.h) to the arrays of kernels.h. Pointers are device pointers. A launcher queues on the stream and returns a
 * cudaError_t as int; it allocates nothing. The order is: ready, count; then, with memory for the counted steps and tiles, columns and
 * values; inverses at any time; near after all of these. New values need values, inverses and near only. */
#ifndef SPTI_TRSM_BLOCK_GPU_ANALYSIS_KERNELS_H
#define SPTI_TRSM_BLOCK_GPU_ANALYSIS_KERNELS_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_BLOCK_TERMS = 4 };       /* terms of a residual up to which its row has the plain bound: two entries beside the diagonal */
enum { SPTI_BLOCK_TERMS_MOST = 64 }; /* up to this many times as many terms the bound grows as terms^1.5, beyond as terms */
/* The limit for near columns that are multiplied in advance is a diagonal block's limit over this: x(near) may be larger than x. */
enum { SPTI_BLOCK_APART_SHARE = 4 };
enum { SPTI_BLOCK_STEPS, SPTI_BLOCK_TILES, SPTI_BLOCK_DIAGONAL_TILES, SPTI_BLOCK_NEAR_TILES, SPTI_BLOCK_TOTALS };
enum { SPTI_BLOCK_FEW_PANELS = 1024 };
enum { SPTI_BLOCK_WINDOW = 1 << 17, SPTI_BLOCK_WINDOWS = 1 << 14 }; /* most places of a window, most windows: enough for any n */

typedef struct {
  spti_view view;       /* pull */
  int32_t count;        /* panels */
  int32_t window;       /* columns whose ready_at are in different windows never share a step: a multiple of 64 up to SPTI_BLOCK_WINDOW;
                         * SPTI_BLOCK_WINDOWS of them are n or more */
  int32_t threads;      /* of the thread block that takes a panel: a multiple of 32 from 64 to 1024 */
  int32_t scan_threads; /* of the one thread block that makes running sums over panels: likewise */
  const int32_t *first; /* [count+1] */
  int32_t *order;       /* [count] */
  const int32_t *level; /* [count], at most SPTI_BLOCK_FEW_PANELS: ready makes `order` from it; NULL: `order` is made already */
  const int32_t *panel; /* [n]: panel of each place */
  int32_t *ready;       /* [count]: number of places in the panels before this one in `order` */
  int32_t *ready_at;    /* [n]: position of each place when the panels stand in `order` */
  int32_t *place_at;    /* [n]: place at each position */
  int32_t *steps;       /* [count] */
  int32_t *tiles;       /* [count] */
  int32_t *step_start;  /* [count+1]: their running sums */
  int32_t *diag_start;  /* [count+1] */
  int32_t *near_start;  /* [count+1] */
  int64_t *tile_start;  /* [count+1] */
  int64_t *totals;      /* [SPTI_BLOCK_TOTALS], page-locked host memory, by its device address */
} spti_block_columns_args;

int spti_block_ready_launch(const spti_block_columns_args *, void *stream); /* -> order, ready_at, place_at */
int spti_block_count_launch(const spti_block_columns_args *, void *stream); /* -> step_start, tile_start, diag_start, near_start, totals */

typedef struct {
  spti_block_columns_args columns;
  int32_t *col;        /* [8 steps] */
  int64_t *step;       /* [steps] */
  int32_t *step_ready; /* [steps]: ready_at of the first column of each */
  void *tile, *triangle, *inverse, *near;
  int32_t *flags;   /* [count] */
  float *limit;     /* [SPTI_BLOCK_ROWS count]: on the amplification in row r of panel p, at SPTI_BLOCK_ROWS p + r, for near */
  int32_t *flagged; /* [3], zero at the start: numbers of panels that are substituted, refined, and APART */
  /* Row sums of |inverse| |triangle| up to which the inverse is used alone, and with refinement: `bound` holds on average over a row, and
   * depends on its terms (limits.cuh); `refine` holds for each sum or, in all rows, for that average. */
  double bound, refine, spare; /* spare: see limits.cuh */
} spti_block_values_args;

int spti_block_columns_launch(const spti_block_values_args *, void *stream);              /* -> col, step, step_ready */
int spti_block_values_launch(const spti_block_values_args *, sptrsm_dtype, void *stream); /* -> tile, zeroed before */
int spti_block_inverses_launch(const spti_block_values_args *, sptrsm_dtype,
                               void *stream);                                           /* -> triangle, inverse, limit, flags, flagged */
int spti_block_near_launch(const spti_block_values_args *, sptrsm_dtype, void *stream); /* tile, inverse, limit -> near; flags, flagged */

#ifdef __cplusplus
}
#endif
#endif
