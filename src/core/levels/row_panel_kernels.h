/* row_panel_kernels.h -- kernels that cut the rows of a pull view into panels, measure how many entries a panel has in each panel that it
 * depends on, and find the levels of panels, as C functions (row_panel_kernels.cu). Pointers are device pointers. A launcher queues on the
 * stream, returns a cudaError_t and allocates nothing. */
#ifndef SPTI_CORE_LEVELS_ROW_PANEL_KERNELS_H
#define SPTI_CORE_LEVELS_ROW_PANEL_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_ROW_PANEL_ROWS = 64, SPTI_ROW_PANEL_CHUNK = 1024 };
enum { SPTI_ROW_PANEL_WINDOW = 1 << 18, SPTI_ROW_PANEL_SAMPLES = 512 };

/* A panel depends on another one if any of its rows has an entry in one of the other's columns. */
typedef struct {
  int32_t count;         /* number of panels */
  int32_t levels;        /* number of levels of panels; 0: not searched */
  int32_t most;          /* the most panels that one panel depends on; 0: not searched */
  int32_t sampled;       /* number of evenly spread panels that needed and stored are sums over; 0 if panels are dense in any case */
  double needed, stored; /* sums of the panels that a panel depends on, and of its off-diagonal entries */
} spti_row_panels_facts;

typedef struct {
  spti_view view;      /* pull */
  int32_t rows, least; /* of a panel: at most `rows` (up to SPTI_ROW_PANEL_ROWS); at least `least` before it may end early */
  int32_t chunk;       /* places that one thread block cuts: a multiple of 32 from SPTI_ROW_PANEL_ROWS to SPTI_ROW_PANEL_CHUNK */
  int32_t threads;     /* threads that share a panel's entries: a multiple of 32, at most 1024 */
  int32_t window;      /* panels marked at a time in shared memory: a multiple of 32 up to SPTI_ROW_PANEL_WINDOW */
  int32_t dense;       /* levels are searched only if a panel has on average at least this many entries in each panel that it depends on
                        * and in itself; 0: always, and no panels are sampled */
  int32_t samples;     /* at most this many panels are sampled */
  int32_t *exits;      /* [chunks * SPTI_ROW_PANEL_ROWS] */
  int32_t *entry;      /* [2 chunks] */
  int32_t *panel;      /* [n]: panel of each place */
  int32_t *first;      /* [spti_row_panels_most + 1]: first place of each panel */
  int32_t *number;     /* [spti_row_panels_most]: 0, 1, 2, ... */
  int32_t *level;      /* [spti_row_panels_most]: counted from 1 */
  spti_row_panels_facts *facts;
  spti_syncfree sync; /* control: set by spti_row_panels_cut_launch */
} spti_row_panels_args;

/* The most panels that n > 0 rows can have, since all panels but the last have at least `least` rows. */
static inline SPTI_ANYWHERE int32_t spti_row_panels_most(int32_t n, int32_t least) { return (n - 1) / least + 1; }
static inline SPTI_ANYWHERE int32_t spti_row_panels_chunks(int32_t n, int32_t chunk) { return (int32_t)(((int64_t)n + chunk - 1) / chunk); }

/* Estimates the time of a solve by panels in hops. A level is a hop, and reading a panel that depends on very many others takes a hop for
 * every SPTI_ROW_PANELS_A_HOP of them. */
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
