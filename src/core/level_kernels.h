/* level_kernels.h -- kernels of the level analysis and of rows packed by place, as C functions (level_kernels.cu,
 * pull_rows_kernels.cu, scan_sort.cu). Pointers are device pointers unless said otherwise; a launcher queues on the stream, returns a
 * cudaError_t as int, and allocates nothing. */
#ifndef SPTI_LEVEL_KERNELS_H
#define SPTI_LEVEL_KERNELS_H

#include "core/launch.h"
#include "core/row_panel_kernels.h"
#include "core/view.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Off-diagonal entries. */
static inline int64_t spti_view_entries(const spti_view *v) { return v->nnz - (v->head || v->tail ? v->n : 0); }

/* Lanes for a line of average length, so that a warp's accesses lie side by side and few lanes idle (core/walk_lines.cuh). */
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
  int32_t short_row;                   /* longer rows are polled by a warp */
  int32_t all_by_warps;                /* where one row is longer, a warp to every row; else to the long ones alone */
  int32_t lane_threads, warp_threads;  /* of a block: whole warps, at most as above */
  spti_syncfree sync;                  /* control: set by spti_levels_find_launch */
  const spti_row_panels_facts *panels; /* NULL: all levels are found. Else the search ends at `least` levels or more that are */
  int32_t least, times;                /* `times` the hops of these panels (spti_row_panels_hops), if they have levels */
} spti_levels_args;

int spti_levels_find_launch(const spti_levels_args *, void *stream);

typedef struct {
  int32_t n, count, backward;
  const int32_t *level;
  int32_t *keys, *rows;  /* [n]: level and number of each row, in solve order */
  const int32_t *sorted; /* [n]: keys after sorting */
  int32_t *ptr;          /* [count+1] */
} spti_level_order_args;

int spti_level_keys_launch(const spti_level_order_args *, void *stream);   /* level -> keys, rows */
int spti_level_bounds_launch(const spti_level_order_args *, void *stream); /* sorted -> ptr */

/* ---- library calls: with temporary NULL they only set *bytes, the temporary memory needed ---- */

/* to[0..count] = running sums of from[0..count), beginning with 0. */
int spti_scan_launch(void *temporary, size_t *bytes, const int32_t *from, int64_t *to, int32_t count, void *stream);
int spti_scan_narrow_launch(void *temporary, size_t *bytes, const int32_t *from, int32_t *to, int32_t count, void *stream);

typedef struct {
  const int32_t *keys, *values; /* [count], keys in [0, 2^bits) */
  int32_t *sorted_keys, *sorted_values;
  int32_t count, bits;
} spti_sort_args;

int spti_sort_launch(void *temporary, size_t *bytes, const spti_sort_args *, void *stream); /* stable */

typedef struct {
  const int64_t *keys; /* [count], in [0, 2^bits) */
  const int32_t *values;
  int64_t *sorted_keys;
  int32_t *sorted_values;
  int32_t count, bits;
} spti_sort_long_args;

int spti_sort_long_launch(void *temporary, size_t *bytes, const spti_sort_long_args *, void *stream); /* stable */

/* ---- rows of a pull view by place ---- */

typedef struct {
  spti_view view;       /* pull */
  const int32_t *order; /* [n]: row of each place */
  int32_t *place;       /* [n]: place of each row */
  int32_t *count;       /* [n], or NULL: off-diagonal entries of each place */
  const int32_t *start; /* [n+1]: their running sum */
  int32_t *from;        /* [start[n]], or NULL: values only */
  void *val;            /* [start[n]] */
  void *diag;           /* [n] */
  int32_t lanes;        /* a power of two up to 32: lanes that share a row */
  int32_t sort_up_to;   /* rows of up to so many entries get them in the order of their places, longer ones in solve order */
} spti_pull_rows_args;

int spti_pull_rows_count_launch(const spti_pull_rows_args *, void *stream); /* order -> place, count */
int spti_pull_rows_fill_launch(const spti_pull_rows_args *, void *stream);  /* -> from, val, diag */

#ifdef __cplusplus
}
#endif
#endif
