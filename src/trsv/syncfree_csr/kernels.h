/* kernels.h -- the kernels of syncfree-csr as C functions. Pointers are device pointers. A launcher queues on the stream and returns a
 * cudaError_t as int; it allocates nothing. A solve launches one of packed, natural and block. */
#ifndef SPTI_TRSV_SYNCFREE_CSR_KERNELS_H
#define SPTI_TRSV_SYNCFREE_CSR_KERNELS_H

#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SPTI_CSR_CLASSES = 8,      /* length classes: rows of class c < 6 have 2^c lanes, rows of class 6 are split over several warps */
  SPTI_CSR_LONG = 6,         /* the class of split rows */
  SPTI_CSR_MAX_WARPS = 8,    /* of a thread block */
  SPTI_CSR_BATCH = 4,        /* entries that a lane loads together */
  SPTI_CSR_BLOCK_ROWS = 32,  /* order=block: consecutive rows of a thread block */
  SPTI_CSR_BLOCK_LANES = 16, /* order=block: most lanes for each row */
  /* The guard that bounds a wait is called once in this many polls, so that little time passes between the arrival of a value and its
   * use; sync.spin_limit counts its calls. */
  SPTI_CSR_POLLS_PER_GUARD = 16,
};

/* A row gets enough lanes, at most 32, that none has more than `entries` entries. Rows with more than `split` entries are divided into
 * segments of `split` entries, one warp for each. */
typedef struct {
  int32_t entries, split;
  int32_t fixed; /* lanes of every row that is not split; 0: chosen by its length */
} spti_csr_classes;

/* ---- analysis: rows sorted by (level, length class), and a record for each warp ---- */

/* The work of one warp: rows of one level and class, 32 >> log of them side by side; or one segment of a split row; or the sum over the
 * segments of a split row. */
typedef struct {
  int32_t first; /* ROWS: place of the first row; SEGMENT: number of the segment; SUM: number of the last segment of the row */
  int32_t shape; /* kind + 4 log + 32 rows */
  int32_t gate;  /* a place some levels below, whose value the warp waits for before it polls any other; or -1 */
} spti_csr_record;

enum { SPTI_CSR_ROWS, SPTI_CSR_SEGMENT, SPTI_CSR_SUM };

/* Segment number s of all segments is the part-th one of the row at `place`; its sum is published in the workspace at place n + s. */
typedef struct {
  int32_t place, part;
} spti_csr_segment;

/* The analysis launches key, sorts order by key (stable, and only where key is not sorted already), launches count, adds up running sums
 * of its two results, and launches record. The place of a row is its position in the sorted order. */
typedef struct {
  spti_view view; /* pull */
  spti_csr_classes classes;
  const int32_t *order, *level;          /* [n] by place; [n] by row */
  const int32_t *level_ptr;              /* [levels + 1]: first place of each level */
  int32_t gate;                          /* how many levels the gate of a row is below the row; 0: no gates */
  int32_t *key;                          /* [n]: level * SPTI_CSR_CLASSES + class of the row at each place */
  int32_t *group;                        /* [levels * SPTI_CSR_CLASSES]: first place with each key */
  int32_t *records, *segments;           /* [n]: how many begin at each place; segments is NULL where no row is split */
  const int32_t *record_at, *segment_at; /* [n+1]: their running sums */
  spti_csr_record *record;               /* [record_at[n]] */
  spti_csr_segment *segment;             /* [segment_at[n]] */
} spti_syncfree_csr_order_args;

int spti_syncfree_csr_key_launch(const spti_syncfree_csr_order_args *, void *stream);    /* order, level -> key */
int spti_syncfree_csr_count_launch(const spti_syncfree_csr_order_args *, void *stream);  /* key -> group, records, segments */
int spti_syncfree_csr_record_launch(const spti_syncfree_csr_order_args *, void *stream); /* -> record, segment */

/* ---- solve ---- */

typedef struct {
  int32_t n;
  sptrsm_dtype dtype;
  /* packed: rows by place (core/levels/gpu.h), and the records of the warps */
  const int32_t *row, *start, *from;
  const void *val, *diag;
  const spti_csr_record *record;
  const spti_csr_segment *segment;
  int32_t records, split;
  int32_t one_batch; /* 1: no lane has more than SPTI_CSR_BATCH entries, and no row is split */
  /* natural and block: rows in the view; position t is row order[t], or the t-th row in solve order where order is NULL */
  spti_view view; /* pull */
  const int32_t *order;
  int32_t lanes;   /* of a row, where `average` is 0; a power of two */
  int32_t average; /* else a warp takes 32 rows with this average of entries or more one after another, others with one lane each */
  /* all */
  spti_transfer transfer; /* one launch solves all its right-hand sides */
  void *work; /* two work blocks that refill each other; in each the value of place or row i for right-hand side k is at k * stride + i, and
               * sums of segments from place n on */
  int64_t stride, block_size; /* values from one right-hand side to the next; values of one work block */
  int32_t block_warps;        /* warps per thread block, 1 to SPTI_CSR_MAX_WARPS */
  spti_syncfree sync;
} spti_syncfree_csr_args;

int spti_syncfree_csr_packed_launch(const spti_syncfree_csr_args *, void *stream);
int spti_syncfree_csr_natural_launch(const spti_syncfree_csr_args *, void *stream);
int spti_syncfree_csr_block_launch(const spti_syncfree_csr_args *, void *stream); /* order is NULL; a thread block has lanes + 1 warps */

#ifdef __cplusplus
}
#endif
#endif
