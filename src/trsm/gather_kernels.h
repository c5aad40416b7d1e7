/* gather_kernels.h -- the device steps of gather as C functions. Pointers are device pointers. A launcher queues on the stream and
 * returns a cudaError_t as int; it allocates nothing. Analysis: rows, then for patterns with long rows find and items. A
 * workspace is filled once, by start; after that every solve leaves it ready for the next one. */
#ifndef SPTI_GATHER_KERNELS_H
#define SPTI_GATHER_KERNELS_H

#include "core/launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row of more than `above` entries is summed by several warps: one for each `segment` of its entries, whose sum is a row of the
 * work block of its own, and the row's owner, who takes these sums and the entries that are left (1 to `segment`). */
typedef struct {
  int32_t above, segment;
} spti_gather_split;

/* Segments that a row of so many entries gives to other warps. */
static inline SPTI_ANYWHERE int32_t spti_gather_parts(spti_gather_split s, int32_t length) {
  return length > s.above ? (length - 1) / s.segment : 0;
}

enum { SPTI_GATHER_FOUND, SPTI_GATHER_PARTS, SPTI_GATHER_FACTS };

/* The pattern: row[t] = order[t], or ~order[t] where no other row reads the solution of place t. */
typedef struct {
  int32_t n, entries;
  const int32_t *order; /* [n]: row of each place */
  const int32_t *start; /* [n+1]: entries of place t are [start[t], start[t+1]) */
  const int32_t *from;  /* [entries]: their places */
  int32_t *row;         /* [n], any content */
  spti_gather_split split;
  int32_t *facts;      /* [SPTI_GATHER_FACTS]; find: number of long rows, and of all their parts */
  int64_t *found;      /* [found_room]; find: (place << 32) + parts of each long row, in any order; */
  int32_t found_count; /* items: ascending, and in the lower half the parts of the rows before it */
  int32_t found_room;  /* at least entries / split.above */
  int64_t *item;       /* [n + parts], any content: place, and in the upper half 1 + segment, or 0 for the row itself */
} spti_gather_pattern_args;

int spti_gather_rows_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_find_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_items_launch(const spti_gather_pattern_args *, void *stream);

/* Control words behind those of the protocol: columns of each of the two work blocks that may hold values. */
enum { SPTI_GATHER_DIRTY = SPTI_SYNCFREE_CONTROL_WORDS, SPTI_GATHER_CONTROL_WORDS = SPTI_GATHER_DIRTY + 2 };

typedef struct {
  int32_t n;
  int64_t item_count;  /* per tile of right-hand sides: n + parts */
  const int64_t *item; /* [item_count], or NULL: no long rows, item t is place t */
  const int32_t *row;  /* [n], as spti_gather_pattern_args */
  const int32_t *start, *from;
  const void *val, *diag; /* diag NULL: ones */
  spti_gather_split split;
  spti_transfer between;
  void *work;          /* two blocks of item_count rows: places, then parts */
  int64_t ld;          /* of the work blocks, at least between.width */
  int32_t lanes;       /* right-hand sides side by side in a warp: 4, 8, 16 or 32 */
  int32_t run;         /* items that a warp takes one after another, 1 to SPTI_GATHER_RUN_MAX */
  int32_t block_warps; /* 1 to SPTI_GATHER_WARPS_MAX */
  spti_syncfree sync;  /* control: [SPTI_GATHER_CONTROL_WORDS], as the last solve or start left it */
} spti_gather_args;

enum { SPTI_GATHER_RUN_MAX = 32, SPTI_GATHER_WARPS_MAX = 8, SPTI_GATHER_LANES_MAX = 32 };

int spti_gather_start_launch(const spti_gather_args *, sptrsm_dtype, void *stream);
int spti_gather_solve_launch(const spti_gather_args *, sptrsm_dtype, void *stream);

/* What spti_gather_solve_launch chooses from, one file each. */
int spti_gather_f32_launch(const spti_gather_args *, void *stream);
int spti_gather_f64_launch(const spti_gather_args *, void *stream);
int spti_gather_c64_launch(const spti_gather_args *, void *stream);
int spti_gather_c128_launch(const spti_gather_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
