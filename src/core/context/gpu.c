/* gpu.c -- device, stream, memory and copies through the CUDA runtime. */
#include "core/context/gpu.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/context/gpu_dense.h"
#include "core/device/syncfree.h"

sptrsm_status spti_gpu_check(int cuda_error, const char *what) {
  if (cuda_error == cudaSuccess) return SPTRSM_OK;
  sptrsm_status status = cuda_error == cudaErrorMemoryAllocation ? SPTRSM_ERR_MEMORY : SPTRSM_ERR_DEVICE;
  (void)cudaGetLastError(); /* clears the error, unless it is sticky */
  if (cuda_error == cudaErrorInvalidConfiguration)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "%s: the grid is too large for the device; use smaller panels (options.panel)", what);
  return spti_fail(status, "CUDA: %s in %s", cudaGetErrorString((cudaError_t)cuda_error), what);
}

int spti_gpu_count(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

/* The CUDA cores of the device: 64 a multiprocessor for compute capability 7.x and 8.0, else 128. */
static int64_t fp32_lanes(const struct cudaDeviceProp *p) {
  const bool half = p->major == 7 || (p->major == 8 && p->minor == 0);
  return (int64_t)p->multiProcessorCount * (half ? 64 : 128);
}

/* The library holds code for the architectures that it was built for, and may hold PTX, which the driver compiles for later ones. */
static sptrsm_status check_code(const sptrsm_context *context, const struct cudaDeviceProp *p) {
  const int error = spti_device_code();
  if (error != cudaErrorNoKernelImageForDevice && error != cudaErrorInvalidDeviceFunction && error != cudaErrorUnsupportedPtxVersion)
    return spti_gpu_check(error, "looking for code for the device");
  (void)cudaGetLastError();
  return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                   "CUDA device %d (%s) has compute capability %d.%d; this library was built for %s; build it with "
                   "-DCMAKE_CUDA_ARCHITECTURES=%d%d%s, or use a host context",
                   context->device, p->name, p->major, p->minor, SPTI_CUDA_ARCHITECTURES, p->major, p->minor,
                   CUDART_VERSION >= 13000 && p->major == 7 && p->minor < 5 ? " and CUDA 12" : "");
}

static sptrsm_status check_device(sptrsm_context *context) {
  int count = spti_gpu_count();
  if (count == 0)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "no CUDA device is visible; use a host context, or check the driver and CUDA_VISIBLE_DEVICES");
  if (context->device < 0 || context->device >= count)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "CUDA device %d: there are %d, numbered from 0", context->device, count);
  struct cudaDeviceProp properties;
  SPTI_CUDA(cudaGetDeviceProperties(&properties, context->device));
  if (properties.major < 7)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "CUDA device %d (%s) has compute capability %d.%d; 7.0 or newer is needed (independent thread scheduling)",
                     context->device, properties.name, properties.major, properties.minor);
  SPTI_TRY(check_code(context, &properties));
  snprintf(context->description, sizeof context->description, "%.95s", properties.name);
  context->shared_bytes = properties.sharedMemPerBlockOptin;
  context->reads_pageable = properties.pageableMemoryAccess != 0;
  context->fp32_lanes = fp32_lanes(&properties);
  SPTI_CUDA(cudaDeviceGetAttribute(&context->single_to_double, cudaDevAttrSingleToDoublePrecisionPerfRatio, context->device));
  return SPTRSM_OK;
}

int spti_gpu_visit(const sptrsm_context *context) {
  int current = -1;
  if (cudaGetDevice(&current) != cudaSuccess) (void)cudaGetLastError();
  if (current == context->device) return -1;
  if (cudaSetDevice(context->device) != cudaSuccess) (void)cudaGetLastError(); /* no such device: what follows reports it */
  return current;
}

void spti_gpu_leave(int device) {
  if (device >= 0 && cudaSetDevice(device) != cudaSuccess) (void)cudaGetLastError(); /* not the caller's error */
}

/* ---- what is refused ---- */

static sptrsm_status refuse_captured(void *stream, const char *what, const char *way_out) {
  enum cudaStreamCaptureStatus capture;
  SPTI_CUDA(cudaStreamIsCapturing((cudaStream_t)stream, &capture));
  if (capture == cudaStreamCaptureStatusNone) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s: the stream is being captured; %s", what, way_out);
}

sptrsm_status spti_gpu_refuse_capture(const sptrsm_context *context, const char *what) {
  return refuse_captured(context->stream, what,
                         "make plan and workspace and solve once before the capture begins, with blocks in device memory");
}

sptrsm_status spti_gpu_refuse_capture_but(const sptrsm_context *context, const char *what, const char *way_out) {
  return refuse_captured(context->stream, what, way_out);
}

sptrsm_status spti_gpu_check_pointer(const sptrsm_context *context, const void *data, const char *name) {
  struct cudaPointerAttributes found;
  if (!data) return SPTRSM_OK;
  SPTI_CUDA(cudaPointerGetAttributes(&found, data));
  if (found.type == cudaMemoryTypeUnregistered && !context->reads_pageable)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is said to be in device memory, but CUDA does not know it; is its place SPTRSM_HOST?", name);
  if (found.type != cudaMemoryTypeDevice || found.device == context->device) return SPTRSM_OK;
  return spti_fail(SPTRSM_ERR_ARGUMENT, "%s is in the memory of device %d, the context works on device %d", name, found.device,
                   context->device);
}

bool spti_gpu_page_locked(const void *data) {
  struct cudaPointerAttributes found;
  if (cudaPointerGetAttributes(&found, data) == cudaSuccess) return found.type != cudaMemoryTypeUnregistered;
  (void)cudaGetLastError();
  return false;
}

/* From CUDA 12.8 on the device of a stream can be asked for. */
static sptrsm_status check_stream(const sptrsm_context *context, void *stream) {
#if CUDART_VERSION >= 12080
  int device;
  SPTI_CUDA(cudaStreamGetDevice((cudaStream_t)stream, &device));
  if (device != context->device)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "the stream belongs to device %d, the context works on device %d", device, context->device);
#else
  (void)context, (void)stream;
#endif
  return SPTRSM_OK;
}

/* ---- opening and closing ---- */

/* A memory pool of the context's own. Freed memory stays in it, so that later analyses and workspaces allocate
 * without a call to the driver. */
static sptrsm_status make_pool(sptrsm_context *context) {
  struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                        .location = {.type = cudaMemLocationTypeDevice, .id = context->device}};
  uint64_t threshold = UINT64_MAX;
  SPTI_CUDA(cudaMemPoolCreate((cudaMemPool_t *)&context->pool, &properties));
  SPTI_CUDA(cudaMemPoolSetAttribute((cudaMemPool_t)context->pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  return SPTRSM_OK;
}

/* SPTRSM_PATIENCE=N: kernels poll N times as often before they give up, for debuggers and compute-sanitizer, which
 * slow them down a hundredfold. */
static int32_t spin_limit(void) {
  const char *value = getenv("SPTRSM_PATIENCE");
  const long times = value ? strtol(value, NULL, 10) : 1;
  return times > INT32_MAX / 2 / SPTI_SPIN_LIMIT ? INT32_MAX / 2 : SPTI_SPIN_LIMIT * (int32_t)(times > 1 ? times : 1);
}

static sptrsm_status make_own_stream(sptrsm_context *context) {
  if (!context->own_stream) SPTI_CUDA(cudaStreamCreateWithFlags((cudaStream_t *)&context->own_stream, cudaStreamNonBlocking));
  return SPTRSM_OK;
}

static sptrsm_status open_parts(sptrsm_context *context) {
  context->spin_limit = spin_limit();
  SPTI_TRY(make_pool(context));
  SPTI_CUDA(
      cudaHostAlloc((void **)&context->lost, sizeof *context->lost + SPTI_PINNED_WORDS * sizeof *context->pinned, cudaHostAllocMapped));
  context->pinned = (int32_t *)(context->lost + 1);
  *context->lost = 0;
  SPTI_CUDA(cudaHostGetDevicePointer((void **)&context->lost_device, context->lost, 0));
  context->pinned_device = (int32_t *)(context->lost_device + 1);
  SPTI_CUDA(cudaStreamCreateWithFlags((cudaStream_t *)&context->beside, cudaStreamNonBlocking));
  SPTI_CUDA(cudaEventCreateWithFlags((cudaEvent_t *)&context->passed, cudaEventDisableTiming));
  if (context->stream) return check_stream(context, context->stream);
  SPTI_TRY(make_own_stream(context));
  context->stream = context->own_stream;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_open(sptrsm_context *context) {
  if (context->stream) SPTI_TRY(refuse_captured(context->stream, "a new context", "create it before the capture begins"));
  SPTI_TRY(check_device(context));
  sptrsm_status status = open_parts(context);
  if (status != SPTRSM_OK) spti_gpu_close(context);
  return status;
}

void spti_gpu_close(sptrsm_context *context) {
  if (context->stream) (void)cudaStreamSynchronize((cudaStream_t)context->stream);
  spti_gpu_close_sparse(context);
  spti_gpu_close_dense(context);
  if (context->own_stream) (void)cudaStreamDestroy((cudaStream_t)context->own_stream);
  if (context->beside) (void)cudaStreamDestroy((cudaStream_t)context->beside);
  if (context->passed) (void)cudaEventDestroy((cudaEvent_t)context->passed);
  if (context->lost) (void)cudaFreeHost(context->lost);
  if (context->pool) (void)cudaMemPoolDestroy((cudaMemPool_t)context->pool);
}

sptrsm_status spti_gpu_wait(const sptrsm_context *context) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "waiting for the device"));
  SPTI_CUDA(cudaStreamSynchronize((cudaStream_t)context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_trim(sptrsm_context *context) {
  SPTI_TRY(spti_gpu_wait(context));
  SPTI_CUDA(cudaMemPoolTrimTo((cudaMemPool_t)context->pool, 0));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_zero(const sptrsm_context *context, void *memory, size_t bytes) {
  SPTI_CUDA(cudaMemsetAsync(memory, 0, bytes, (cudaStream_t)context->stream));
  return SPTRSM_OK;
}

static sptrsm_status let_wait(const sptrsm_context *context, void *waiting, void *for_stream) {
  SPTI_CUDA(cudaEventRecord((cudaEvent_t)context->passed, (cudaStream_t)for_stream));
  SPTI_CUDA(cudaStreamWaitEvent((cudaStream_t)waiting, (cudaEvent_t)context->passed, 0));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_fork(const sptrsm_context *context, void **stream) {
  *stream = context->beside;
  return let_wait(context, context->beside, context->stream);
}

sptrsm_status spti_gpu_join(const sptrsm_context *context) { return let_wait(context, context->stream, context->beside); }

sptrsm_status spti_gpu_set_stream(sptrsm_context *context, void *stream) {
  static const char set_stream[] = "sptrsm_context_set_stream", way_out[] = "set the stream before the capture begins";
  void *const before = context->stream;
  if (!stream) {
    SPTI_TRY(make_own_stream(context));
    stream = context->own_stream;
  }
  if (stream == before) return SPTRSM_OK;
  SPTI_TRY(refuse_captured(before, set_stream, way_out));
  SPTI_TRY(refuse_captured(stream, set_stream, way_out)); /* before it is asked for its device, which would end the capture */
  SPTI_TRY(check_stream(context, stream));
  SPTI_TRY(let_wait(context, stream, before));
  context->stream = stream;
  const sptrsm_status status = spti_gpu_stream_sparse(context);
  if (status != SPTRSM_OK) context->stream = before;
  return status;
}

sptrsm_status spti_gpu_room(size_t *out, const sptrsm_context *context, size_t wanted) {
  for (int waited = 0; waited < 2; waited++) {
    uint64_t used = 0;
    SPTI_CUDA(cudaMemPoolGetAttribute((cudaMemPool_t)context->pool, cudaMemPoolAttrUsedMemCurrent, &used));
    *out = used < context->memory_limit ? context->memory_limit - (size_t)used : 0;
    if (*out >= wanted) break;
    if (!waited) SPTI_TRY(spti_gpu_wait(context));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_set_limit(sptrsm_context *context, size_t bytes) {
  uint64_t threshold = bytes > 0 ? bytes : UINT64_MAX;
  SPTI_CUDA(cudaMemPoolSetAttribute((cudaMemPool_t)context->pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  context->memory_limit = bytes;
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_alloc(const sptrsm_context *context, void **out, size_t bytes, const char *what) {
  SPTI_TRY(spti_gpu_refuse_capture(context, what));
  cudaError_t error = cudaMallocFromPoolAsync(out, bytes, (cudaMemPool_t)context->pool, (cudaStream_t)context->stream);
  if (error == cudaSuccess) return SPTRSM_OK;
  (void)cudaGetLastError();
  if (error != cudaErrorMemoryAllocation) return spti_gpu_check((int)error, what);
  return spti_fail(SPTRSM_ERR_MEMORY, "%s: no device memory for %zu bytes", what, bytes);
}

void spti_gpu_free(const sptrsm_context *context, void *memory) {
  if (memory) (void)cudaFreeAsync(memory, (cudaStream_t)context->stream);
}

sptrsm_status spti_gpu_host_alloc(const sptrsm_context *context, void **out, size_t bytes) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "page-locked memory"));
  cudaError_t error = cudaHostAlloc(out, bytes, cudaHostAllocDefault);
  if (error != cudaErrorMemoryAllocation) return spti_gpu_check((int)error, "cudaHostAlloc");
  (void)cudaGetLastError();
  return spti_fail(SPTRSM_ERR_MEMORY, "no page-locked host memory for %zu bytes", bytes);
}

void spti_gpu_host_free(void *memory) {
  if (memory) (void)cudaFreeHost(memory);
}

sptrsm_status spti_gpu_fetch(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  const bool small = bytes <= SPTI_PINNED_WORDS * sizeof *context->pinned;
  void *first = small ? context->pinned : to;
  if (bytes == 0) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(context, "results of an analysis"));
  SPTI_CUDA(cudaMemcpyAsync(first, from, bytes, cudaMemcpyDeviceToHost, (cudaStream_t)context->stream));
  SPTI_CUDA(cudaStreamSynchronize((cudaStream_t)context->stream));
  if (small) memcpy(to, first, bytes);
  return SPTRSM_OK;
}

enum { PITCH_MAX = INT32_MAX }; /* of cudaMemcpy2D */

sptrsm_status spti_gpu_send(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  if (bytes > 0) SPTI_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, (cudaStream_t)context->stream));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_queue_copy(void *stream, const spti_gpu_pitched *c, spti_direction direction) {
  static const enum cudaMemcpyKind kinds[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice};
  const enum cudaMemcpyKind kind = kinds[direction];
  cudaStream_t queue = (cudaStream_t)stream;
  bool dense = c->rows == 1 || (c->to_pitch == c->row_bytes && c->from_pitch == c->row_bytes);
  if (c->row_bytes == 0 || c->rows == 0) return SPTRSM_OK;
  if (dense) {
    SPTI_CUDA(cudaMemcpyAsync(c->to, c->from, c->row_bytes * c->rows, kind, queue));
  } else if (c->to_pitch <= PITCH_MAX && c->from_pitch <= PITCH_MAX) {
    SPTI_CUDA(cudaMemcpy2DAsync(c->to, c->to_pitch, c->from, c->from_pitch, c->row_bytes, c->rows, kind, queue));
  } else {
    for (size_t r = 0; r < c->rows; r++)
      SPTI_CUDA(cudaMemcpyAsync((char *)c->to + r * c->to_pitch, (const char *)c->from + r * c->from_pitch, c->row_bytes, kind, queue));
  }
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copy(const sptrsm_context *context, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                            size_t rows, spti_direction direction) {
  const spti_gpu_pitched copy = {
      .to = to, .from = from, .to_pitch = to_pitch, .from_pitch = from_pitch, .row_bytes = row_bytes, .rows = rows};
  if (row_bytes == 0 || rows == 0) return SPTRSM_OK;
  if (direction != SPTI_ON_DEVICE) SPTI_TRY(spti_gpu_refuse_capture(context, "copies between host and device"));
  SPTI_TRY(spti_gpu_queue_copy(context->stream, &copy, direction));
  if (direction != SPTI_ON_DEVICE) SPTI_CUDA(cudaStreamSynchronize((cudaStream_t)context->stream));
  return SPTRSM_OK;
}

/* Memory of a pool is out of the reach of other devices until the pool lets them in, which needs a link between the two. */
static sptrsm_status let_in(const sptrsm_context *from, const sptrsm_context *to) {
  int linked = 0;
  struct cudaMemAccessDesc access = {.location = {.type = cudaMemLocationTypeDevice, .id = to->device},
                                     .flags = cudaMemAccessFlagsProtReadWrite};
  if (from->device == to->device) return SPTRSM_OK;
  SPTI_CUDA(cudaDeviceCanAccessPeer(&linked, to->device, from->device));
  if (linked) SPTI_CUDA(cudaMemPoolSetAccess((cudaMemPool_t)from->pool, &access, 1));
  return SPTRSM_OK;
}

sptrsm_status spti_gpu_copy_peer(const sptrsm_context *to_context, void *to, const sptrsm_context *from_context, const void *from,
                                 size_t bytes) {
  cudaStream_t stream = (cudaStream_t)to_context->stream;
  if (bytes == 0) return SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(to_context, "copies between devices"));
  SPTI_TRY(let_in(from_context, to_context));
  SPTI_TRY(spti_gpu_wait(from_context));
  SPTI_CUDA(cudaMemcpyPeerAsync(to, to_context->device, from, from_context->device, bytes, stream));
  SPTI_CUDA(cudaStreamSynchronize(stream));
  return SPTRSM_OK;
}
