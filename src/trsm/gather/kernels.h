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

/* A row of more than `above` entries is summed by several warps: one for each `segment` of its entries, whose sum has a row of its own in
 * the work block, and the row's owner, which adds these sums and the remaining entries (1 to `segment`). */
typedef struct {
  int32_t above, segment;
} spti_gather_split;

/* Segments of a row of `length` entries that other warps sum. */
static inline SPTI_ANYWHERE int32_t spti_gather_parts(spti_gather_split s, int32_t length) {
  return length > s.above ? (length - 1) / s.segment : 0;
}

/* The items that warps take, in this order: the rows in the order of their places, and before each long row its segments. A work block has
 * n rows for places, then one for every segment. */
typedef struct {
  const int32_t *row;         /* row of the matrix, or ~row where no row reads the solution */
  const int32_t *work_row;    /* row of the work block for the result; NULL: item i is place i, for all items */
  const int32_t *begin, *end; /* entries */
  const int32_t *parts;       /* segments whose sums are terms of the row; -1: the item is a segment; NULL: 0 for all items */
} spti_gather_items;

enum { SPTI_GATHER_ITEM_WORDS = 5 };

/* Arguments of the analysis. It sets row[t] = order[t], or ~order[t] where no other row reads the solution of place t. */
typedef struct {
  int32_t n, entries;
  const int32_t *order; /* [n]: row of each place */
  const int32_t *start; /* [n+1]: entries of place t are [start[t], start[t+1]) */
  const int32_t *from;  /* [entries]: their places */
  int32_t *row;         /* [n], any content */
  spti_gather_split split;
  int32_t *parts;              /* [n]: segments of each place */
  int32_t *sums;               /* [spti_pull_rows_chunks(n)]: sums of parts over chunks of places */
  const int32_t *parts_before; /* [n+1]: running sum of parts, made in between with spti_pull_rows_start_launch */
  int64_t item_count;          /* n + parts */
  int32_t *items;              /* [SPTI_GATHER_ITEM_WORDS * (n + parts)], any content: the arrays of spti_gather_items, one after another */
} spti_gather_pattern_args;

int spti_gather_rows_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_parts_launch(const spti_gather_pattern_args *, void *stream);
int spti_gather_items_launch(const spti_gather_pattern_args *, void *stream);

/* How the lanes of a warp share the work. ROWS: 32 right-hand sides of one item. PAIRS: 64 of one item, two a lane, if
 * spti_transfer_in_twos and values are real. SLOTS: 8 of one item, whose terms are in four slots. LANES: 8 of each of four items. */
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
  int32_t tile;       /* right-hand sides of an item: spti_gather_tile(form) */
  int32_t tiles;      /* tiles of between.width right-hand sides */
  spti_syncfree sync; /* control: [SPTI_TWO_BLOCKS_CONTROL_WORDS], as spti_two_blocks_start_launch or the last solve left it */
} spti_gather_args;

/* Thread blocks of a solve, at most 2^31 - 1: the sign of the ticket word says which work block is used. */
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
