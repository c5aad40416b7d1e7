/* block_kernels.h -- arguments and launchers of the kernels of levelset for blocks of right-hand sides. Pointers are device
 * pointers. */
#ifndef SPTI_TRSV_LEVELSET_GPU_BLOCK_KERNELS_H
#define SPTI_TRSV_LEVELSET_GPU_BLOCK_KERNELS_H

#include <sptrsm.h>

#include "core/device/host_device.h"
#include "core/device/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* column[p] = row[from[p]]: the row whose solution entry p multiplies. */
typedef struct {
  int32_t entries;
  const int32_t *row, *from;
  int32_t *column;
} spti_levelset_gpu_column_args;

int spti_levelset_gpu_column_launch(const spti_levelset_gpu_column_args *, void *stream);

/* A level: the rows at places [first, last). */
typedef struct {
  sptrsm_dtype dtype;
  spti_transfer transfer;
  const int32_t *row, *start, *column;
  const void *val, *diag;
  spti_end solved; /* where later levels read solutions: transfer.to or, where that scales them, the work block */
  int32_t copies;  /* 1: solved is the work block, and solutions are stored twice */
  int32_t first, last;
  int32_t keep;             /* 1: later levels read the solutions of this level */
  const int32_t *long_rows; /* [long_count]: places of rows of more than SPTI_LEVELSET_GPU_LONG entries, `parts` blocks each */
  int32_t long_count, parts;
  void *partial;         /* [long_count * parts][width] */
  int32_t *counters;     /* [long_count * tiles]: parts that have arrived, zero before the level and again after it */
  int32_t counter_count; /* first level: words of `counters` that it sets to zero */
} spti_levelset_gpu_block_args;

/* Counters of one long row for a panel of that width: one for each 32 right-hand sides. */
static inline SPTI_ANYWHERE int32_t spti_levelset_gpu_tiles(int32_t width) { return (int32_t)(((int64_t)width + 31) / 32); }

int spti_levelset_gpu_first_launch(const spti_levelset_gpu_block_args *, void *stream); /* the first level, whose rows have no entries */
int spti_levelset_gpu_level_launch(const spti_levelset_gpu_block_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
