/* kernels.h -- the kernels that find level sets (kernels.cu), order rows by level (order_kernels.cu) and pack rows in an order
 * (pull_rows_kernels.cu), as C functions. Pointers are device pointers unless stated otherwise. A launcher queues on the stream, returns
 * a cudaError_t and allocates nothing. */
#ifndef SPTI_CORE_LEVELS_KERNELS_H
#define SPTI_CORE_LEVELS_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/scan_sort.h"
#include "core/device/syncfree.h"
#include "core/levels/row_panel_kernels.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of off-diagonal entries. */
static inline int64_t spti_view_entries(const spti_view *v) { return v->nnz - (v->head || v->tail ? v->n : 0); }

/* Lanes for a line of average length, so that accesses of a warp are neighbours and few lanes idle (core/device/walk_lines.cuh). */
static inline int32_t spti_walk_lanes(const spti_view *v) {
  int32_t lanes = 1;
  while (lanes < 32 && spti_view_entries(v) > (int64_t)lanes * v->n) lanes *= 2;
  return lanes;
}

/* ---- the pattern of a push view transposed to that of a pull view; the entries of a line get any order ---- */

typedef struct {
  spti_view view; /* push */
  int32_t *count; /* [n]: off-diagonal entries of each row; counted down to 0 while they are placed */
  int64_t *ptr;   /* [n+1]: prefix sums of count, made between the two launches by spti_scan_launch */
  int32_t *idx;   /* [off-diagonal entries] */
  int32_t lanes;  /* a power of two up to 32: lanes that share a column */
} spti_turn_args;

int spti_turn_count_launch(const spti_turn_args *, void *stream);
int spti_turn_place_launch(const spti_turn_args *, void *stream);

/* ---- levels ---- */

/* Most threads of a block in which each lane, or each warp, has a row. */
enum { SPTI_LEVELS_LANE_THREADS = 512, SPTI_LEVELS_WARP_THREADS = 1024 };
enum { SPTI_LEVELS_ROUNDS_PER_CHECK = 64 }; /* unsuccessful rounds of polls that count as one poll of sync.spin_limit */

typedef struct {
  int32_t count;   /* number of levels; if count >= enough, only a lower bound, and some rows have no level */
  int32_t longest; /* off-diagonal entries of the longest line */
  int32_t enough;  /* number of levels at which the search ends */
  int32_t reserved;
  spti_row_panels_facts panels; /* a copy of spti_levels_args.panels, or zeros */
} spti_levels_facts;

typedef struct {
  spti_view view; /* pull */
  int32_t *level; /* [n] */
  spti_levels_facts *facts;
  spti_levels_facts *result;           /* receives a copy of *facts at the end: mapped host memory */
  int32_t short_row;                   /* rows with more entries are polled by a whole warp */
  int32_t all_by_warps;                /* if there is any longer row: a warp for every row, else only for the longer rows */
  int32_t lane_threads, warp_threads;  /* of a block: a multiple of 32, at most the numbers above */
  spti_syncfree sync;                  /* control: set by spti_levels_find_launch */
  const spti_row_panels_facts *panels; /* NULL: all levels are found. Else the search ends at max(least, times * hops) */
  int32_t least, times;                /* levels, with the hops of these panels (spti_row_panels_hops), if they have levels */
} spti_levels_args;

int spti_levels_find_launch(const spti_levels_args *, void *stream);

/* Orders rows by level. Few levels: spti_level_count_launch does all. Many levels: spti_level_keys_launch, spti_sort_launch, then
 * spti_level_bounds_launch. */
typedef struct {
  int32_t n, count, backward;
  int32_t bits; /* bits of a level number */
  const int32_t *level;
  int32_t *ptr;          /* [count+1] */
  int32_t *order;        /* [n], written if levels are few */
  int32_t *starts;       /* [count * spti_level_chunks(n)], scratch if levels are few */
  int32_t *keys, *rows;  /* many levels: [n], level and number of each row, in solve order */
  const int32_t *sorted; /* many levels: [n], keys after sorting */
} spti_level_order_args;

/* Levels are few if there are at most SPTI_LEVEL_FEW of them and `starts` has at most SPTI_LEVEL_FEW_STARTS words. */
enum { SPTI_LEVEL_CHUNK = 2048, SPTI_LEVEL_FEW = 1024, SPTI_LEVEL_FEW_STARTS = 1 << 14 };
static inline SPTI_ANYWHERE int32_t spti_level_chunks(int32_t n) {
  return (int32_t)(((int64_t)n + SPTI_LEVEL_CHUNK - 1) / SPTI_LEVEL_CHUNK);
}

int spti_level_count_launch(const spti_level_order_args *, void *stream);  /* level -> order, ptr */
int spti_level_keys_launch(const spti_level_order_args *, void *stream);   /* level -> keys, rows */
int spti_level_bounds_launch(const spti_level_order_args *, void *stream); /* sorted -> ptr */

/* ---- rows of a pull view packed in a given order (spti_pull_rows) ---- */

typedef struct {
  spti_view view;       /* pull */
  const int32_t *order; /* [n]: row of each place */
  int32_t *place;       /* [n]: place of each row */
  int32_t *row;         /* [n]: a copy of order; NULL (then count and sums are, too) if only place is wanted */
  int32_t *count;       /* [n]: off-diagonal entries of each place */
  int32_t *sums;        /* [spti_pull_rows_chunks(n)]: sums of count over chunks of places */
  int32_t *start;       /* [n+1]: prefix sums of count */
  int32_t *from;        /* [start[n]]: place of each entry's column; NULL if only values are wanted */
  void *val;            /* [start[n]] */
  void *diag;           /* [n] */
  int32_t lanes;        /* a power of two up to 32: lanes that share a row */
  int32_t sort_up_to;   /* rows with at most this many entries get them in the order of their places, other rows in solve order */
} spti_pull_rows_args;

enum { SPTI_PULL_ROWS_CHUNK = 2048 };
static inline SPTI_ANYWHERE int32_t spti_pull_rows_chunks(int32_t n) {
  return (int32_t)(((int64_t)n + SPTI_PULL_ROWS_CHUNK - 1) / SPTI_PULL_ROWS_CHUNK);
}

int spti_pull_rows_count_launch(const spti_pull_rows_args *, void *stream); /* order -> place, row, count, sums */
int spti_pull_rows_start_launch(const spti_pull_rows_args *, void *stream); /* count, sums -> start */
int spti_pull_rows_fill_launch(const spti_pull_rows_args *, void *stream);  /* -> from, val, diag */

#ifdef __cplusplus
}
#endif
#endif
