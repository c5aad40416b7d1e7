/* kernels.h -- the device steps of gather as C functions. Pointers are device pointers. A launcher queues on the stream and
 * returns a cudaError_t as int; it allocates nothing. Analysis: rows, then for patterns with long rows parts and items. */
#ifndef SPTI_TRSM_GATHER_KERNELS_H
#define SPTI_TRSM_GATHER_KERNELS_H

#include <sptrsm.h>

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/two_blocks/kernels.h"

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

/* What warps work through, in this order: the rows in the order of their places, before each long one its segments. A work block has
 * n rows for places, then one for every segment. */
typedef struct {
  const int32_t *row;         /* as order, or ~order where nobody reads the solution */
  const int32_t *work_row;    /* where the result goes in the work block; NULL: item i is place i, all over */
  const int32_t *begin, *end; /* entries */
  const int32_t *parts;       /* segments whose sums are terms of the row; -1: the item is a segment; NULL: 0, all over */
} spti_gather_items;

enum { SPTI_GATHER_ITEM_WORDS = 5 };

/* The pattern: row[t] = order[t], or ~order[t] where no other row reads the solution of place t. */
typedef struct {
  int32_t n, entries;
  const int32_t *order; /* [n]: row of each place */
  const int32_t *start; /* [n+1]: entries of place t are [start[t], start[t+1]) */
  const int32_t *from;  /* [entries]: their places */
  int32_t *row;         /* [n], any content */
  spti_gather_split split;
  int32_t *parts;              /* [n]: of each place */
  int32_t *sums;               /* [spti_pull_rows_chunks(n)]: theirs in chunks of places */
  const int32_t *parts_before; /* [n+1]: running sum of parts, made in between with spti_pull_rows_start_launch */
  int64_t item_count;          /* n + parts */
  int32_t *items;              /* [SPTI_GATHER_ITEM_WORDS * (n + parts)], any content: the arrays of spti_gather_items, one after another */
} spti_gather_pattern_args;

int spti_gather_rows_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_parts_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_items_launch(const spti_gather_pattern_args *, void *stream);

/* How the lanes of a warp share the work: 32 right-hand sides of one item; 64 of one item, two a lane, if spti_transfer_in_twos and
 * values are real; 8 of one item, whose terms are in four slots; 8 of each of four items. */
typedef enum { SPTI_GATHER_ROWS, SPTI_GATHER_PAIRS, SPTI_GATHER_SLOTS, SPTI_GATHER_LANES } spti_gather_form;
enum { SPTI_GATHER_WARPS = 4 /* of a thread block */ };

static inline int32_t spti_gather_tile(spti_gather_form form) { return form == SPTI_GATHER_ROWS ? 32 : form == SPTI_GATHER_PAIRS ? 64 : 8; }

typedef struct {
  int32_t n;
  int32_t item_count; /* n + parts */
  spti_gather_items items;
  const int32_t *from;
  const void *val, *diag; /* diag NULL: ones */
  spti_transfer between;
  void *work; /* two blocks of item_count rows: places, then parts */
  int64_t ld; /* of the work blocks, at least between.width; a row of it is less than 2^31 bytes */
  spti_gather_form form;
  int32_t tile;       /* right-hand sides of an item: what spti_gather_tile says of the form */
  int32_t tiles;      /* of between.width */
  spti_syncfree sync; /* control: [SPTI_TWO_BLOCKS_CONTROL_WORDS], as the last solve or the start left it */
} spti_gather_args;

/* Thread blocks of a solve, at most 2^31 - 1: the ticket word has a bit for other things. */
static inline int64_t spti_gather_blocks(const spti_gather_args *a) {
  const int64_t items = a->form == SPTI_GATHER_LANES ? SPTI_GATHER_WARPS * (32 / a->tile) : SPTI_GATHER_WARPS;
  return (a->item_count + items - 1) / items * a->tiles;
}

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
