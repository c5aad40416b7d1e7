/* kernels.h -- arguments and launchers of the kernels of levelset on a GPU. Pointers are device pointers. */
#ifndef SPTI_TRSV_LEVELSET_GPU_KERNELS_H
#define SPTI_TRSV_LEVELSET_GPU_KERNELS_H

#include <sptrsm.h>

#include "core/device/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows in level order (spti_pull_rows), and the part of them that a launch solves. */
typedef struct {
  spti_transfer transfer;
  const int64_t *transfer_at; /* device: the transfer that counts (spti_bind_launch), or NULL; its width is that of `transfer` */
  const int32_t *row, *start, *from;
  const void *val, *diag;
  void *x; /* solutions by place, of right-hand side k from element k * pitch */
  int64_t pitch;
  int32_t first, last; /* places */
} spti_levelset_gpu_rows;

enum {
  SPTI_LEVELSET_GPU_CHUNK = 32,        /* rows that the solving warp takes at once, a lane each */
  SPTI_LEVELSET_GPU_FEEDERS_MAX = 512, /* threads */
  SPTI_LEVELSET_GPU_LONG = 256,        /* entries; a longer row of a wide level gets a block of its own */
};

/* A run of narrow levels, or a segment of one, in one block for each right-hand side. */
typedef struct {
  spti_levelset_gpu_rows rows;
  const int32_t *begin; /* a segment's rows: their first entry in the segment, by place; NULL: start, and the right-hand side is B's */
  const int32_t *level_starts; /* bit r of word c: place first + 32 c + r is the first of its level */
  int32_t feeders;             /* threads beside the solving warp: 32 times a power of two */
} spti_levelset_gpu_run_args;

int spti_levelset_gpu_run_launch(const spti_levelset_gpu_run_args *, sptrsm_dtype, void *stream);

/* Before a segment, by all blocks: x = b - sum over the entries of earlier segments, [start, begin). */
int spti_levelset_gpu_partial_launch(const spti_levelset_gpu_run_args *, sptrsm_dtype, void *stream);

/* A level by all blocks. */
typedef struct {
  spti_levelset_gpu_rows rows;
  int32_t lanes;            /* per row, a power of two up to 32 */
  const int32_t *long_rows; /* [long_count]: places of the rows of more than SPTI_LEVELSET_GPU_LONG entries */
  int32_t long_count;
} spti_levelset_gpu_wide_args;

int spti_levelset_gpu_wide_launch(const spti_levelset_gpu_wide_args *, sptrsm_dtype, void *stream);

/* ---- analysis ---- */

/* entries[l] = start of level l's first entry; long_rows: the long ones of level l from element entries[l] / SPTI_LEVELSET_GPU_LONG
 * on, in any order, long_count[l] of them. */
typedef struct {
  int32_t n, levels;
  const int32_t *level_ptr; /* [levels+1] */
  const int32_t *level;     /* [n], of each row */
  const int32_t *row, *start;
  int32_t *entries;    /* [levels+1] */
  int32_t *long_count; /* [levels] */
  int32_t *long_rows;  /* [all entries / SPTI_LEVELSET_GPU_LONG], or NULL: no row is that long */
} spti_levelset_gpu_survey_args;

int spti_levelset_gpu_survey_launch(const spti_levelset_gpu_survey_args *, void *stream);

/* Segments of a run: `segment` rows each. Behind `begin` come the entries of a row whose columns are in its segment; the first
 * segment's rows have no others. order[p] = where the entry that belongs at p stands now. */
typedef struct {
  spti_levelset_gpu_rows rows; /* of the run */
  int32_t segment;
  int32_t *begin, *order;
} spti_levelset_gpu_split_args;

int spti_levelset_gpu_split_launch(const spti_levelset_gpu_split_args *, void *stream);

/* to[p] = from[order[p]] for the entries of the run's rows; words of 4 to 16 bytes. */
typedef struct {
  const int32_t *start, *order;
  int32_t first, last, words; /* int32_t words per element */
  const int32_t *from;
  int32_t *to;
} spti_levelset_gpu_reorder_args;

int spti_levelset_gpu_reorder_launch(const spti_levelset_gpu_reorder_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
