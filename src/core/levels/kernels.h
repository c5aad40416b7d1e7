/* kernels.h -- kernels of the level analysis and of rows packed by place, as C functions (kernels.cu,
 * pull_rows_kernels.cu, scan_sort.cu). Pointers are device pointers unless said otherwise; a launcher queues on the stream, returns a
 * cudaError_t as int, and allocates nothing. */
#ifndef SPTI_CORE_LEVELS_KERNELS_H
#define SPTI_CORE_LEVELS_KERNELS_H

#include "core/device/launch.h"
#include "core/device/scan_sort.h"
#include "core/levels/row_panel_kernels.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Off-diagonal entries. */
static inline int64_t spti_view_entries(const spti_view *v) { return v->nnz - (v->head || v->tail ? v->n : 0); }

/* Lanes for a line of average length, so that a warp's accesses lie side by side and few lanes idle (core/device/walk_lines.cuh). */
static inline int32_t spti_walk_lanes(const spti_view *v) {
  int32_t lanes = 1;
  while (lanes < 32 && spti_view_entries(v) > (int64_t)lanes * v->n) lanes *= 2;
  return lanes;
}

/* ---- the pattern of a push view turned into that of a pull view; entries of a line in any order ---- */

typedef struct {
  spti_view view; /* push */
  int32_t *count; /* [n]: entries of each row, without diagonals; counted down again while they are placed */
  int64_t *ptr;   /* [n+1]: count's running sum, made in between with spti_scan_launch */
  int32_t *idx;   /* [off-diagonal entries] */
  int32_t lanes;  /* a power of two up to 32: lanes that share a column */
} spti_turn_args;

int spti_turn_count_launch(const spti_turn_args *, void *stream);
int spti_turn_place_launch(const spti_turn_args *, void *stream);

/* ---- levels ---- */

/* Of a block of lanes with a row each, and of warps with a row each. */
enum { SPTI_LEVELS_LANE_THREADS = 512, SPTI_LEVELS_WARP_THREADS = 1024 };
enum { SPTI_LEVELS_ROUNDS_PER_CHECK = 64 }; /* polls in vain that count as one of sync.spin_limit */

typedef struct {
  int32_t count;   /* levels; from `enough` on: at least so many, and not all rows have theirs */
  int32_t longest; /* entries of the longest line without its diagonal */
  int32_t enough;  /* levels at which the search ended or would have ended */
  int32_t reserved;
  spti_row_panels_facts panels; /* a copy of *panels, if there are any */
} spti_levels_facts;

typedef struct {
  spti_view view; /* pull */
  int32_t *level; /* [n] */
  spti_levels_facts *facts;
  spti_levels_facts *result;           /* a copy of them when all is done: host memory as the device sees it */
  int32_t short_row;                   /* longer rows are polled by a warp */
  int32_t all_by_warps;                /* where one row is longer, a warp to every row; else to the long ones alone */
  int32_t lane_threads, warp_threads;  /* of a block: whole warps, at most as above */
  spti_syncfree sync;                  /* control: set by spti_levels_find_launch */
  const spti_row_panels_facts *panels; /* NULL: all levels are found. Else the search ends at `least` levels or more that are */
  int32_t least, times;                /* `times` the hops of these panels (spti_row_panels_hops), if they have levels */
} spti_levels_args;

int spti_levels_find_launch(const spti_levels_args *, void *stream);

/* Rows in the order of their levels: by count alone if there are few, or by keys, a sort of these with spti_sort_launch, and bounds. */
typedef struct {
  int32_t n, count, backward;
  int32_t bits; /* of the numbers of levels */
  const int32_t *level;
  int32_t *ptr;          /* [count+1] */
  int32_t *order;        /* few levels: [n] */
  int32_t *starts;       /* few levels: [count * spti_level_chunks] */
  int32_t *keys, *rows;  /* many: [n], level and number of each row, in solve order */
  const int32_t *sorted; /* many: [n], keys after sorting */
} spti_level_order_args;

/* Few levels are so many at most, and have so many words of starts. */
enum { SPTI_LEVEL_CHUNK = 2048, SPTI_LEVEL_FEW = 1024, SPTI_LEVEL_FEW_STARTS = 1 << 14 };
static inline SPTI_ANYWHERE int32_t spti_level_chunks(int32_t n) {
  return (int32_t)(((int64_t)n + SPTI_LEVEL_CHUNK - 1) / SPTI_LEVEL_CHUNK);
}

int spti_level_count_launch(const spti_level_order_args *, void *stream);  /* level -> order, ptr */
int spti_level_keys_launch(const spti_level_order_args *, void *stream);   /* level -> keys, rows */
int spti_level_bounds_launch(const spti_level_order_args *, void *stream); /* sorted -> ptr */

/* ---- rows of a pull view by place ---- */

typedef struct {
  spti_view view;       /* pull */
  const int32_t *order; /* [n]: row of each place */
  int32_t *place;       /* [n]: place of each row */
  int32_t *row;         /* [n], or NULL with the next two: a copy of order */
  int32_t *count;       /* [n]: off-diagonal entries of each place */
  int32_t *sums;        /* [spti_pull_rows_chunks(n)]: theirs in chunks of places */
  int32_t *start;       /* [n+1]: running sum of count */
  int32_t *from;        /* [start[n]], or NULL: values only */
  void *val;            /* [start[n]] */
  void *diag;           /* [n] */
  int32_t lanes;        /* a power of two up to 32: lanes that share a row */
  int32_t sort_up_to;   /* rows of up to so many entries get them in the order of their places, longer ones in solve order */
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
