/* analysis_kernels.h -- the device steps that make the panels of `block` (kernels.h) from a pull view cut into panels
 * (core/levels/row_panels_gpu.h). Pointers are device pointers. A launcher queues on the stream and returns a cudaError_t as int; it allocates
 * nothing. In this order: ready, count, then with memory for what was counted columns, values, at any time inverses, and behind all of
 * these near; new values need the last three only. */
#ifndef SPTI_TRSM_BLOCK_GPU_ANALYSIS_KERNELS_H
#define SPTI_TRSM_BLOCK_GPU_ANALYSIS_KERNELS_H

#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_BLOCK_TERMS = 4 };       /* of a residual: what a row of two entries besides the diagonal has */
enum { SPTI_BLOCK_TERMS_MOST = 64 }; /* so many times as many terms let the bound grow as terms^1.5, more as terms */
/* The part of a diagonal block's bound that near columns have, if they are to be multiplied in advance: x(near) may be larger than x. */
enum { SPTI_BLOCK_APART_SHARE = 8 };
enum { SPTI_BLOCK_SPREAD = 128 }; /* up to which multiple of its limit a row alone may amplify roundings (values_kernels.cu) */
enum { SPTI_BLOCK_STEPS, SPTI_BLOCK_TILES, SPTI_BLOCK_DIAGONAL_TILES, SPTI_BLOCK_NEAR_TILES, SPTI_BLOCK_TOTALS };
enum { SPTI_BLOCK_FEW_PANELS = 1024 };
enum { SPTI_BLOCK_WINDOW = 1 << 17, SPTI_BLOCK_WINDOWS = 1 << 14 }; /* places of a window at most, and windows: any n has room */

typedef struct {
  spti_view view;       /* pull */
  int32_t count;        /* panels */
  int32_t window;       /* columns whose ready_at are in different windows never share a step: a multiple of 64 up to SPTI_BLOCK_WINDOW;
                         * SPTI_BLOCK_WINDOWS of them are n or more */
  int32_t threads;      /* that share a panel's entries: whole warps, from 64 to 1024 */
  int32_t scan_threads; /* of the one block that adds up over panels: likewise */
  const int32_t *first; /* [count+1] */
  int32_t *order;       /* [count] */
  const int32_t *level; /* [count], of up to SPTI_BLOCK_FEW_PANELS: put in order by ready; NULL: `order` is there */
  const int32_t *panel; /* [n]: of each place */
  int32_t *ready;       /* [count]: places of the panels before each in `order` */
  int32_t *ready_at;    /* [n]: position of each place when the panels stand in `order` */
  int32_t *place_at;    /* [n]: place at each position */
  int32_t *steps;       /* [count] */
  int32_t *tiles;       /* [count] */
  int32_t *step_start;  /* [count+1]: their running sums */
  int32_t *diag_start;  /* [count+1] */
  int32_t *near_start;  /* [count+1] */
  int64_t *tile_start;  /* [count+1] */
  int64_t *totals;      /* [SPTI_BLOCK_TOTALS], host memory as the device sees it */
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
  int32_t *flagged; /* [3], zeros before: panels that are substituted, refined, and whose near columns are not multiplied in advance */
  /* Row sums of abs(inverse) abs(triangle) up to which the inverse is used alone, and with refinement: the first on average over a row, and
   * more in rows of more terms than SPTI_BLOCK_TERMS (limit_of_row); the second as they are or, in all rows of a panel, on that average. */
  double bound, refine;
} spti_block_values_args;

int spti_block_columns_launch(const spti_block_values_args *, void *stream);                /* -> col, step, step_ready */
int spti_block_values_launch(const spti_block_values_args *, sptrsm_dtype, void *stream);   /* -> tile, which is zeros elsewhere */
int spti_block_inverses_launch(const spti_block_values_args *, sptrsm_dtype, void *stream); /* -> triangle, inverse, flags, flagged */
int spti_block_near_launch(const spti_block_values_args *, sptrsm_dtype, void *stream);     /* tile, inverse -> near; flags, flagged */

#ifdef __cplusplus
}
#endif
#endif
