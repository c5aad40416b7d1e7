/* row_panel_kernels.h -- kernels that cut the rows of a pull view into panels, tell how densely these read each other, and find their
 * levels, as C functions (row_panel_kernels.cu). Pointers are device pointers; a launcher queues on the stream, returns a cudaError_t as
 * int, and allocates nothing. */
#ifndef SPTI_CORE_LEVELS_ROW_PANEL_KERNELS_H
#define SPTI_CORE_LEVELS_ROW_PANEL_KERNELS_H

#include "core/device/launch.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_ROW_PANEL_ROWS = 64, SPTI_ROW_PANEL_CHUNK = 1024 };
enum { SPTI_ROW_PANEL_WINDOW = 1 << 18, SPTI_ROW_PANEL_SAMPLES = 512 };

/* A panel needs another if any of its rows has an entry in a column of it. */
typedef struct {
  int32_t count;         /* panels */
  int32_t levels;        /* of panels; 0: not looked for */
  int32_t most;          /* panels that one panel needs, at most; 0: likewise */
  int32_t sampled;       /* panels, evenly spread over all of them, of which these are the sums; 0 where they are dense in any case */
  double needed, stored; /* panels that each needs, and its off-diagonal entries */
} spti_row_panels_facts;

typedef struct {
  spti_view view;      /* pull */
  int32_t rows, least; /* of a panel: at most, up to SPTI_ROW_PANEL_ROWS; before it may end at a row that needs none of it */
  int32_t chunk;       /* places cut by one block: a multiple of 32 from SPTI_ROW_PANEL_ROWS to SPTI_ROW_PANEL_CHUNK */
  int32_t threads;     /* that share a panel's entries: whole warps, at most 1024 */
  int32_t window;      /* panels marked at a time in shared memory: a multiple of 32 up to SPTI_ROW_PANEL_WINDOW */
  int32_t dense;       /* levels are looked for only where a panel has so many entries in each that it needs, and in itself, on average;
                        * 0: always, and no panels are sampled */
  int32_t samples;     /* at most */
  int32_t *exits;      /* [chunks * SPTI_ROW_PANEL_ROWS] */
  int32_t *entry;      /* [2 chunks] */
  int32_t *panel;      /* [n]: of each place */
  int32_t *first;      /* [spti_row_panels_most + 1]: first place of each panel */
  int32_t *number;     /* [spti_row_panels_most]: 0, 1, 2, ... */
  int32_t *level;      /* [spti_row_panels_most]: from 1 */
  spti_row_panels_facts *facts;
  spti_syncfree sync; /* control: set by spti_row_panels_cut_launch */
} spti_row_panels_args;

/* Panels there can be of n > 0 rows; all but the last have `least` rows or more. */
static inline SPTI_ANYWHERE int32_t spti_row_panels_most(int32_t n, int32_t least) { return (n - 1) / least + 1; }
static inline SPTI_ANYWHERE int32_t spti_row_panels_chunks(int32_t n, int32_t chunk) { return (int32_t)(((int64_t)n + chunk - 1) / chunk); }

/* A solve by panels is a chain of levels; and one panel that needs very many others is read for as long as a level takes for so many. */
enum { SPTI_ROW_PANELS_A_HOP = 16 };
static inline SPTI_ANYWHERE int32_t spti_row_panels_hops(int32_t levels, int32_t most) {
  return levels > 0 ? levels + most / SPTI_ROW_PANELS_A_HOP : 0;
}

int spti_row_panels_cut_launch(const spti_row_panels_args *, void *stream);    /* -> panel, first, number, facts->count; level: -1 */
int spti_row_panels_levels_launch(const spti_row_panels_args *, void *stream); /* -> level, the other facts */

#ifdef __cplusplus
}
#endif
#endif
