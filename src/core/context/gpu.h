/* gpu.h -- what the core needs of CUDA: device, stream, memory, copies, waits. No other host code of the core calls
 * CUDA, but for gpu_graph.c and what uses cuSPARSE. gpu.c calls the CUDA runtime; gpu_none.c stands in for it in a
 * build without CUDA. Copies are queued on the context's stream. Public functions make the context's device the current
 * one (SPTI_VISIT in context.h); the functions here rely on that. What allocates, waits or copies to or from host memory
 * can't be captured in a CUDA graph: it refuses (ARGUMENT) while the context's stream is being captured, and the
 * capture stays valid. */
#ifndef SPTI_CORE_CONTEXT_GPU_H
#define SPTI_CORE_CONTEXT_GPU_H

#include "core/context/context.h"
#include "core/device/syncfree.h"

typedef enum { SPTI_TO_DEVICE, SPTI_TO_HOST, SPTI_ON_DEVICE } spti_direction;

int spti_gpu_count(void);
sptrsm_status spti_gpu_open(sptrsm_context *); /* checks the device and asks it for its facts, takes or makes the stream */
void spti_gpu_close(sptrsm_context *);
/* Makes the context's device the calling thread's current one. Returns the device that was current before, or -1 if that is the same. */
int spti_gpu_visit(const sptrsm_context *);
void spti_gpu_leave(int device); /* makes this device the current one again; -1: nothing happens */
/* ARGUMENT if the context's stream is being captured; `what` says what can't be captured. */
sptrsm_status spti_gpu_refuse_capture(const sptrsm_context *, const char *what);
/* The same, with what the caller can do instead. */
sptrsm_status spti_gpu_refuse_capture_but(const sptrsm_context *, const char *what, const char *way_out);
/* Is it host memory that the device copies from and to by itself? A failure to tell means no. */
bool spti_gpu_page_locked(const void *data);
/* ARGUMENT if an array called `name`, said to be in device memory, is not memory that the context's device can reach: pageable host memory,
 * or memory of another device. */
sptrsm_status spti_gpu_check_pointer(const sptrsm_context *, const void *data, const char *name);
/* Also if it does not begin at a multiple of the bytes of an element (alloc.c). */
sptrsm_status spti_gpu_check_array(const sptrsm_context *, const void *data, size_t bytes, const char *name);
int spti_device_code(void); /* a cudaError_t: success if the library has code for the current device (core/device/bind_kernels.cu) */
sptrsm_status spti_gpu_trim(sptrsm_context *); /* waits; gives memory that was freed back to the device */
/* Later work goes to `stream`, behind what is queued already; NULL: to a stream of the context's own. */
sptrsm_status spti_gpu_set_stream(sptrsm_context *, void *stream);
sptrsm_status spti_gpu_wait(const sptrsm_context *); /* waits; leaves lost dependencies to the functions below */
/* Dependencies that never arrived (gpu_losses.c). The first function notes what kernels have reported, and returns the number of all so
 * far; 0 on the host. The second one waits, and fails if there are more than *told, which becomes their number. Both may be called by
 * several threads at a time. The third one is for analyses, which concern no solve: it waits, and fails if kernels have reported one. */
int64_t spti_gpu_note_losses(sptrsm_context *);
sptrsm_status spti_gpu_tell(sptrsm_context *, int64_t *told);
sptrsm_status spti_gpu_sync(const sptrsm_context *);
/* *out = bytes that context->memory_limit, which is set, leaves. What was freed counts until the work that used it is done: so the device
 * is waited for where fewer than `wanted` are left. */
sptrsm_status spti_gpu_room(size_t *out, const sptrsm_context *, size_t wanted);
sptrsm_status spti_gpu_set_limit(sptrsm_context *, size_t bytes); /* also: memory beyond it is not kept for later use */
sptrsm_status spti_gpu_alloc(const sptrsm_context *, void **out, size_t bytes, const char *what);
void spti_gpu_free(const sptrsm_context *, void *);
sptrsm_status spti_gpu_host_alloc(const sptrsm_context *, void **out, size_t bytes); /* page-locked */
void spti_gpu_host_free(void *);
/* Copies `rows` rows of row_bytes each; pitches in bytes. Waits where host memory takes part, so that the caller may
 * use it again. */
sptrsm_status spti_gpu_copy(const sptrsm_context *, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                            size_t rows, spti_direction);
/* Rows of row_bytes each; pitches in bytes. */
typedef struct {
  void *to;
  const void *from;
  size_t to_pitch, from_pitch, row_bytes, rows;
} spti_gpu_pitched;
/* Queues a copy on a stream (a cudaStream_t) of the current device, and does not wait, but for what CUDA waits for where host memory is not
 * page-locked. */
sptrsm_status spti_gpu_queue_copy(void *stream, const spti_gpu_pitched *, spti_direction);
/* Queues a copy to the device. `from` is page-locked and stays as it is until spti_gpu_wait. */
sptrsm_status spti_gpu_send(const sptrsm_context *, void *to, const void *from, size_t bytes);
/* From the memory of one context's device to that of another context, which may be on another device. Waits for both. */
sptrsm_status spti_gpu_copy_peer(const sptrsm_context *to_context, void *to, const sptrsm_context *from_context, const void *from,
                                 size_t bytes);
/* Waits, and copies the results of an analysis to host memory. Small ones go by way of context->pinned: a copy to
 * pageable memory takes the driver longer than one to page-locked memory and another from there. Overwrites
 * context->pinned, so it is not for solves, of which several may run at a time. */
sptrsm_status spti_gpu_fetch(const sptrsm_context *, void *to, const void *from, size_t bytes);
/* Queues the filling of memory with zero bytes. */
sptrsm_status spti_gpu_zero(const sptrsm_context *, void *, size_t bytes);
/* A second stream, for work that may run beside the context's stream. It begins when everything queued so far is
 * done, and what is queued on the context's stream after the join begins when the second stream is done. A fork that
 * succeeds must be joined. Only one thread of a context may fork at a time, since both directions share one event. */
sptrsm_status spti_gpu_fork(const sptrsm_context *, void **stream);
sptrsm_status spti_gpu_join(const sptrsm_context *);
/* Compressed lines in device memory: ptr [n+1], idx [nnz], val [nnz]. */
typedef struct {
  int64_t *ptr;
  int32_t *idx;
  void *val;
} spti_lines;
/* to = the lines of the transpose, each sorted; nnz <= INT32_MAX (core/matrix/transpose_gpu.c). */
sptrsm_status spti_gpu_transpose(sptrsm_context *, int32_t n, int64_t nnz, sptrsm_dtype, const spti_lines *from, const spti_lines *to);
/* Checks a triangle in device memory as core/matrix/validate.c does on the host (core/matrix/check_gpu.c). Without idx only the values of
 * the diagonal are checked. nnz: ptr[n]. */
typedef struct {
  bool good;         /* else the validation on the host says what is wrong */
  int64_t diagonals; /* lines that store their diagonal; not without idx */
} spti_line_check;
sptrsm_status spti_gpu_check_lines(spti_line_check *out, const sptrsm_context *, const sptrsm_sparse *T, int64_t nnz);
void spti_gpu_close_sparse(sptrsm_context *);
sptrsm_status spti_gpu_stream_sparse(sptrsm_context *);         /* cuSPARSE works on the context's stream from now on */
sptrsm_status spti_gpu_check(int cuda_error, const char *what); /* a cudaError_t as int, turned into a status with its message */

/* What kernels need to wait for each other on this context. control: see spti_syncfree; NULL where the launcher sets
 * it. */
static inline spti_syncfree spti_gpu_syncfree(const sptrsm_context *c, int32_t *control) {
  return (spti_syncfree){.control = control, .lost = c->lost_device, .spin_limit = c->spin_limit};
}

#define SPTI_CUDA(call) SPTI_TRY(spti_gpu_check((int)(call), #call))

#endif
