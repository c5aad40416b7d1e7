/* context.h -- where work happens: host threads, or one CUDA device and stream. */
#ifndef SPTI_CORE_CONTEXT_CONTEXT_H
#define SPTI_CORE_CONTEXT_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/base/error.h"

enum { SPTI_PINNED_WORDS = 4094 }; /* with the word for lost dependencies, four pages */

struct sptrsm_context {
  atomic_int references;
  sptrsm_place place;
  int threads; /* host threads, 0: as OpenMP decides */
  char description[96];
  /* CUDA only */
  int device;
  void *stream; /* cudaStream_t */
  bool owns_stream;
  void *beside, *passed;  /* cudaStream_t of spti_gpu_fork, and the cudaEvent_t by which the two streams wait for each other */
  void *pool;             /* cudaMemPool_t */
  void *sparse_handle;    /* cusparseHandle_t, or NULL until it is needed */
  int64_t *lost;          /* host-mapped word: 1 + first row whose dependency never arrived, 0: none */
  int64_t *lost_device;   /* the same word as the device sees it */
  int32_t spin_limit;     /* polls without any progress after which a kernel's wait gives up */
  int64_t losses;         /* such rows reported by spti_gpu_sync: workspaces of solves before may be unfinished */
  size_t shared_bytes;    /* shared memory that a thread block may ask for */
  int64_t fp32_lanes;     /* lanes for single precision of all multiprocessors */
  int32_t *pinned;        /* [SPTI_PINNED_WORDS] page-locked words for small results of an analysis: quick to copy to, and kernels may */
  int32_t *pinned_device; /* write there, whose results the host has after spti_gpu_wait; the same words as the device sees them */
};

int spti_context_threads(const sptrsm_context *);        /* the number a parallel region will use, at least 1 */
sptrsm_status spti_context_wait(const sptrsm_context *); /* for queued work; deferred errors stay deferred */
void spti_context_retain(sptrsm_context *);              /* sptrsm_context_destroy releases */

#endif
