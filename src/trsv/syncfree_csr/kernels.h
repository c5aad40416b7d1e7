/* kernels.h -- the device steps of syncfree-csr as C functions. Pointers are device pointers. A launcher queues on the
 * stream and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, then one of the three solves. */
#ifndef SPTI_TRSV_SYNCFREE_CSR_KERNELS_H
#define SPTI_TRSV_SYNCFREE_CSR_KERNELS_H

#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/matrix/view.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
  SPTI_CSR_CLASSES = 8,      /* rows of a level by length: class c < 6 has 2^c lanes a row, class 6 is split over several warps */
  SPTI_CSR_LONG = 6,         /* the class of split rows */
  SPTI_CSR_MAX_WARPS = 8,    /* per thread block */
  SPTI_CSR_BATCH = 4,        /* entries that a lane has in flight */
  SPTI_CSR_BLOCK_ROWS = 32,  /* consecutive rows of a thread block, */
  SPTI_CSR_BLOCK_LANES = 16, /* and the most lanes that each of them has */
};

/* How many lanes a row gets: as many as leave each of them no more than `entries` entries, at most 32. Rows of more than `split`
 * entries are dealt out in segments of `split` entries to several warps. */
typedef struct {
  int32_t entries, split;
  int32_t fixed; /* lanes of every row that is not split; 0: by its length */
} spti_csr_classes;

/* ---- analysis: rows by (level, class), and the records of its warps ---- */

/* What one warp does: rows of one level and class, 32 >> log of them side by side; or one segment of a split row; or, once these are
 * done, the sum of them. */
typedef struct {
  int32_t first; /* place of the first row; SEGMENT: number of the segment; SUM: that of the row's last segment */
  int32_t shape; /* kind + 4 log + 32 rows */
  int32_t gate;  /* a place some levels below, or -1: until its value is there, it alone is polled */
} spti_csr_record;

enum { SPTI_CSR_ROWS, SPTI_CSR_SEGMENT, SPTI_CSR_SUM };

/* The part-th segment of the row at its place. The sum of segment s of all is published in the work at place n + s. */
typedef struct {
  int32_t place, part;
} spti_csr_segment;

/* key, then a stable sort of order by it unless it ascends already, then count, then two running sums, then record. */
typedef struct {
  spti_view view; /* pull */
  spti_csr_classes classes;
  const int32_t *order, *level;          /* [n] by place; [n] by row */
  const int32_t *level_ptr;              /* [levels + 1]: first place of each level */
  int32_t gate;                          /* how many levels below a row its gate is; 0: none */
  int32_t *key;                          /* [n]: level * SPTI_CSR_CLASSES + class of the row at each place */
  int32_t *group;                        /* [levels * SPTI_CSR_CLASSES]: first place of each key that occurs */
  int32_t *records, *segments;           /* [n]: how many begin at each place; segments NULL: no row is split */
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
  /* rows packed by place (core/levels/gpu.h), and their records */
  const int32_t *row, *start, *from;
  const void *val, *diag;
  const spti_csr_record *record;
  const spti_csr_segment *segment;
  int32_t records, split;
  int32_t one_batch; /* no lane has more than SPTI_CSR_BATCH entries, no row is split */
  /* or rows where they are: position t is row order[t], or the t-th in solve order where order is NULL */
  spti_view view; /* pull */
  const int32_t *order;
  int32_t lanes;   /* of a row, where `average` is 0; a power of two */
  int32_t average; /* else windows of 32 rows: with so many entries a row or more, row by row with 32 lanes; below, a lane each */
  /* both */
  spti_transfer transfer; /* its right-hand sides are solved by one launch */
  void *work;             /* value at place i (row i) of right-hand side k at k * stride + i; segments behind place n */
  int64_t stride;
  int32_t block_warps; /* warps per thread block, 1 to SPTI_CSR_MAX_WARPS */
  spti_syncfree sync;
} spti_syncfree_csr_args;

int spti_syncfree_csr_start_launch(const spti_syncfree_csr_args *, void *stream); /* the work unpublished, control zero */
int spti_syncfree_csr_packed_launch(const spti_syncfree_csr_args *, void *stream);
int spti_syncfree_csr_natural_launch(const spti_syncfree_csr_args *, void *stream);
int spti_syncfree_csr_block_launch(const spti_syncfree_csr_args *, void *stream); /* order NULL; lanes + 1 warps a block */

#ifdef __cplusplus
}
#endif
#endif
