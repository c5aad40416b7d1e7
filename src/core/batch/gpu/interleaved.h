/* interleaved.h -- the inside of a uniform batch on a GPU: one pattern, in level order for each operation that a system needs, and the
 * values of all items interleaved in groups (interleaved_kernels.h). For the files of that name. */
#ifndef SPTI_CORE_BATCH_GPU_INTERLEAVED_H
#define SPTI_CORE_BATCH_GPU_INTERLEAVED_H

#include "core/batch/gpu/device_call.h"
#include "core/batch/gpu/interleaved_kernels.h"

/* The off-diagonal pattern of a triangle, or of its transpose, in level order. Arrays are in device memory. */
typedef struct {
  bool made;
  int32_t levels;
  int64_t entries;
  int32_t *level, *row, *start, *column; /* as in spti_batch_stage */
  int32_t *source;                       /* [entries]: as stored: position of each entry in the values that callers give; transposed: its
                                          * position as stored */
  void *val;                             /* interleaved */
} spti_batch_order_of;

typedef struct {
  bool present, unit;
  sptrsm_sparse T;           /* arrays in host memory, owned; val is NULL */
  int32_t *diagonal;         /* device, [n]: position of each row's diagonal in the values that callers give; NULL: unit */
  void *diag;                /* interleaved; NULL: unit */
  spti_batch_order_of of[2]; /* as stored, and transposed */
  int32_t *place;            /* host, [nnz]: where each caller's entry is in of[0]; -1: a diagonal */
  sptrsm_place values_place; /* of the values that callers give */
} spti_batch_triangle;

typedef struct {
  spti_batch_triangle triangle[2]; /* L and U */
  sptrsm_u_kind u_kind;
  int32_t log_group;
  int64_t groups;
  int32_t threads; /* of a block, 0: as many as the pattern has work for */
  int32_t shared;  /* 1: work blocks are in shared memory where they fit */
  int32_t panel;   /* right-hand sides worked on at once, 0: as many as fit shared memory */
  void *D[2];      /* D and D_sub, interleaved, or NULL */
  bool hermitian;
  spti_side sides[2]; /* maps of rows and columns */
  double *scale[2];   /* interleaved, or NULL */
  int32_t *bad;       /* [SPTI_BATCH_PARTS][count]: see spti_batch_check_args */
  spti_batch_device device;
  bool stale; /* batch->items is older than device.status */
  void *work; /* work blocks in device memory, where shared memory is too small */
  int64_t work_blocks;
  int32_t log_work_panel;
  size_t bytes, work_bytes; /* of factors and patterns in device memory, and of work */
  void *staging[2];         /* parts of B and X in host memory */
  double seconds;
} spti_batch_interleaved;

/* Thread blocks that a multiprocessor should have at once, to hide each other's barriers. */
enum { BLOCKS_OF_A_MULTIPROCESSOR = 4 };
static inline int64_t spti_batch_multiprocessors(const sptrsm_batch *b) { return b->context->fp32_lanes / 128; }

/* ---- interleaved_pattern.c ---- */

/* Memory for `groups` groups of `entries` entries an item; adds its size to state->bytes. */
sptrsm_status spti_batch_interleaved_alloc(const sptrsm_batch *, void *out, int64_t entries, size_t bytes, const char *what);

/* Checks the pattern and keeps a copy of it. */
sptrsm_status spti_batch_triangle_create(spti_batch_triangle *, sptrsm_batch *, const sptrsm_sparse *T, const char *name);
/* Makes of[transposed] with room for its values. */
sptrsm_status spti_batch_order_create(spti_batch_triangle *, const sptrsm_batch *, bool transposed);
void spti_batch_triangle_free(spti_batch_triangle *, const sptrsm_context *);

/* ---- interleaved_values.c ---- */

/* Takes over new values, all of whose memory is there. Parts that `values` lacks come from `rest` for all items, or stay as they are where
 * rest is NULL. */
sptrsm_status spti_batch_interleaved_take(sptrsm_batch *, const sptrsm_batch_values *, const sptrsm_factors *rest);
/* The values of of[1] from those of of[0], for the groups that have the items [first, first + items). */
sptrsm_status spti_batch_interleaved_turn(const sptrsm_batch *, const spti_batch_triangle *, int64_t first, int64_t items);
sptrsm_status spti_batch_interleaved_look(sptrsm_batch *);

/* ---- interleaved_solve.c ---- */

sptrsm_status spti_batch_interleaved_solve(sptrsm_batch *, const spti_batch_call *);
/* Fails if a stage's triangle was not made. */
sptrsm_status spti_batch_interleaved_prepare(sptrsm_batch *, const spti_system_steps *);

#endif
