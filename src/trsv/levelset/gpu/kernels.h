/* kernels.h -- arguments and launchers of the kernels of levelset on a GPU. Pointers are device pointers. The place of a row is its
 * position in level order. */
#ifndef SPTI_TRSV_LEVELSET_GPU_KERNELS_H
#define SPTI_TRSV_LEVELSET_GPU_KERNELS_H

#include <sptrsm.h>

#include "core/device/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Rows in level order (spti_pull_rows), of which a launch solves those at places [first, last). */
typedef struct {
  spti_transfer transfer;
  const int64_t *transfer_at; /* the transfer in device memory that takes the place of `transfer` (spti_bind_launch), with the same width;
                                 or NULL */
  const int32_t *row, *start, *from;
  const void *val, *diag;
  void *x; /* solution at place t of right-hand side k: element k * pitch + t */
  int64_t pitch;
  int32_t first, last;
} spti_levelset_gpu_rows;

enum {
  SPTI_LEVELSET_GPU_CHUNK = 32,        /* rows that the solver warp solves at once, one lane each */
  SPTI_LEVELSET_GPU_FEEDERS_MAX = 512, /* threads */
  SPTI_LEVELSET_GPU_LONG = 256,        /* entries; a longer row of a wide level gets a block of its own */
};

/* A run of narrow levels, or a segment of one: one thread block for each right-hand side. */
typedef struct {
  spti_levelset_gpu_rows rows;
  const int32_t *begin;        /* by place: the first entry whose column is in the segment, and x holds the right-hand side minus the sum
                                  of the entries before it; NULL: all entries of the row, and the right-hand side is in B */
  const int32_t *level_starts; /* bit r of word c: place first + 32 c + r is the first of its level */
  int32_t feeders;             /* threads beside the solver warp: 32 times a power of two */
} spti_levelset_gpu_run_args;

size_t spti_levelset_gpu_run_shared(sptrsm_dtype); /* bytes of shared memory of a thread block */
int spti_levelset_gpu_run_launch(const spti_levelset_gpu_run_args *, sptrsm_dtype, void *stream);

/* Before a segment, by the whole device: x = b - sum over the entries of earlier segments, [start, begin). */
int spti_levelset_gpu_partial_launch(const spti_levelset_gpu_run_args *, sptrsm_dtype, void *stream);

/* A wide level, by the whole device. */
typedef struct {
  spti_levelset_gpu_rows rows;
  int32_t lanes;            /* of a row, a power of two up to 32 */
  const int32_t *long_rows; /* [long_count]: places of the rows of more than SPTI_LEVELSET_GPU_LONG entries */
  int32_t long_count;
} spti_levelset_gpu_wide_args;

int spti_levelset_gpu_wide_launch(const spti_levelset_gpu_wide_args *, sptrsm_dtype, void *stream);

/* ---- analysis ---- */

/* Counts entries and long rows of each level: entries[l] = the number of entries before level l; long_count[l] = the number of its long
 * rows, whose places are written to long_rows, in any order, from element entries[l] / SPTI_LEVELSET_GPU_LONG on. */
typedef struct {
  int32_t n, levels;
  const int32_t *level_ptr; /* [levels+1] */
  const int32_t *level;     /* [n], by row */
  const int32_t *row, *start;
  int32_t *entries;    /* [levels+1] */
  int32_t *long_count; /* [levels] */
  int32_t *long_rows;  /* [all entries / SPTI_LEVELSET_GPU_LONG], or NULL: no row is that long */
} spti_levelset_gpu_survey_args;

int spti_levelset_gpu_survey_launch(const spti_levelset_gpu_survey_args *, void *stream);

/* Divides a run into segments of `segment` rows, and the entries of each row: first those whose columns are in earlier segments, then,
 * from begin on, those whose columns are in the row's own segment. Rows of the first segment have the latter only. order[p] = the present
 * position of the entry that belongs at p. */
typedef struct {
  spti_levelset_gpu_rows rows; /* of the whole run */
  int32_t segment;
  int32_t *begin, *order;
} spti_levelset_gpu_split_args;

int spti_levelset_gpu_split_launch(const spti_levelset_gpu_split_args *, void *stream);

/* to[p] = from[order[p]] for the entries of the rows at places [first, last) of a run; an element has `words` words of 4 bytes. */
typedef struct {
  const int32_t *start, *order;
  int32_t first, last, words;
  const int32_t *from;
  int32_t *to;
} spti_levelset_gpu_reorder_args;

int spti_levelset_gpu_reorder_launch(const spti_levelset_gpu_reorder_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
