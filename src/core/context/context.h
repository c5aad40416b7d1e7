/* context.h -- the place where plans work: host threads, or one CUDA device and stream, with the facts of that
 * device. */
#ifndef SPTI_CORE_CONTEXT_CONTEXT_H
#define SPTI_CORE_CONTEXT_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <sptrsm_inspect.h>

#include "core/base/error.h"
#include "core/context/team.h"

enum { SPTI_THREADS_MAX = 4096 };  /* of a context on the host */
enum { SPTI_PINNED_WORDS = 4094 }; /* together with the word for lost dependencies, four pages */

struct sptrsm_context {
  atomic_int references;
  sptrsm_place place;
  spti_team *team; /* host threads */
  char description[96];
  sptrsm_trace *trace; /* NULL: nobody traces; see trace.h */
  void *trace_user;
  /* CUDA only */
  int device;
  void *stream;           /* cudaStream_t */
  void *own_stream;       /* cudaStream_t made by the context, or NULL: none was needed */
  void *beside, *passed;  /* cudaStream_t of spti_gpu_fork; cudaEvent_t by which the two streams wait for each other */
  void *pool;             /* cudaMemPool_t */
  void *sparse_handle;    /* cusparseHandle_t, or NULL until it is needed */
  void *dense;            /* cuBLAS, or NULL until it is needed (gpu_dense.c) */
  int64_t *lost;          /* a word of host memory that kernels write: 1 + a row whose dependency never arrived; 0: none */
  int64_t *lost_device;   /* the same word as the device sees it */
  int32_t spin_limit;     /* polls without any progress after which a kernel naps between polls, and then gives up waiting */
  pthread_mutex_t noting; /* held while such a row is noted (gpu_losses.c): */
  atomic_llong lost_row;  /* the latest */
  atomic_llong losses;    /* their number; solves before may have left workspaces unfinished */
  int64_t told;           /* how many of them sptrsm_context_sync has told of */
  size_t shared_bytes;    /* shared memory that a thread block may ask for */
  size_t memory_limit;    /* bytes of device memory for all objects of the context; 0: no limit */
  bool reads_pageable;    /* the device reads and writes all host memory */
  int single_to_double;   /* operations in single precision in the time of one in double */
  int64_t fp32_lanes;     /* lanes for single precision of all multiprocessors */
  int32_t *pinned;        /* [SPTI_PINNED_WORDS] page-locked words for small results of an analysis, copied there or written by kernels */
  int32_t *pinned_device; /* the same words as the device sees them; the host may read what kernels wrote after spti_gpu_wait */
};

sptrsm_status spti_context_wait(const sptrsm_context *); /* for queued work; lost dependencies stay for spti_gpu_tell */

/* The first declaration of a public function that may call CUDA: until it returns, the context's device is the calling thread's current
 * one, and afterwards the one that the caller had. `context` may be NULL and may end meanwhile. */
#define SPTI_VISIT(context) __attribute__((cleanup(spti_visit_end), unused)) int callers_device_ = spti_visit_begin(context)
int spti_visit_begin(const sptrsm_context *);
void spti_visit_end(const int *callers_device);
void spti_context_retain(sptrsm_context *); /* sptrsm_context_destroy releases */

#endif
