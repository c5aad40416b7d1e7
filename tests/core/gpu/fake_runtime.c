/* fake_runtime.c -- see fake_runtime.h. Only what core/context/gpu.c calls. */
#include "core/gpu/fake_runtime.h"

#include <stdlib.h>
#include <string.h>

#include "core/context/gpu.h"
#include "core/context/gpu_dense.h"

struct fake_state fake;
char fake_other_device[1], fake_pageable[1], fake_page_locked[1];

void fake_reset(void) { fake = (struct fake_state){.devices = FAKE_DEVICES, .fail_at = -1, .major = 9}; }

/* A call that can fail, and does if its turn has come. As in CUDA the error stays to be asked for. */
static cudaError_t next(void) {
  if (fake.fail_at < 0 || fake.fail_at-- > 0) return cudaSuccess;
  return fake.left = cudaErrorUnknown;
}

/* Work on a stream: none is for the graph of a capture. */
static cudaError_t on(cudaStream_t stream) {
  fake_stream *s = (fake_stream *)stream;
  if (s->captured) s->spoiled = true;
  return next();
}

/* What no capture survives, whatever the stream. */
static cudaError_t unsafe(void) {
  if (fake.captured) fake.captured->spoiled = true;
  return next();
}

static cudaError_t make(void **out, size_t bytes) {
  const cudaError_t error = unsafe();
  if (error) return error;
  *out = calloc(1, bytes);
  fake.made++;
  return *out ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t end(void *made) {
  free(made);
  fake.made--;
  return cudaSuccess;
}

/* ---- devices and errors ---- */

cudaError_t cudaGetDeviceCount(int *count) {
  *count = fake.devices;
  return fake.devices > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int *device) {
  *device = fake.current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= fake.devices) return cudaErrorInvalidDevice;
  fake.current = device;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *out, int device) {
  memset(out, 0, sizeof *out);
  strcpy(out->name, device == 0 ? "Fake A" : "Fake B");
  out->major = fake.major;
  out->minor = fake.minor;
  out->multiProcessorCount = 3;
  out->sharedMemPerBlockOptin = 100 << 10;
  out->pageableMemoryAccess = fake.reads_pageable;
  return next();
}
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
  (void)device;
  *value = attribute == cudaDevAttrSingleToDoublePrecisionPerfRatio ? fake.single_to_double : 0;
  return next();
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int other) {
  *can = device != other;
  return next();
}
cudaError_t cudaGetLastError(void) {
  const cudaError_t left = fake.left;
  fake.left = cudaSuccess;
  return left;
}
const char *cudaGetErrorString(cudaError_t error) { return error == cudaErrorUnknown ? "unknown error" : "another error"; }

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *out, const void *data) {
  *out = (struct cudaPointerAttributes){.type = cudaMemoryTypeDevice};
  if (data == fake_other_device) out->device = 1;
  if (data == fake_pageable) out->type = cudaMemoryTypeUnregistered;
  if (data == fake_page_locked) out->type = cudaMemoryTypeHost;
  return next();
}

/* ---- streams and events ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  (void)flags;
  const cudaError_t error = make((void **)out, sizeof(fake_stream));
  if (!error) ((fake_stream *)*out)->device = fake.current;
  return error;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return end(stream); }
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *out) {
  *out = ((fake_stream *)stream)->captured ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return next();
}
#if CUDART_VERSION >= 12080
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int *device) {
  *device = ((fake_stream *)stream)->device;
  return on(stream);
}
#endif
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  fake.waits++;
  return on(stream);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  (void)flags;
  return make((void **)out, 1);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return end(event); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  (void)event;
  return on(stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  (void)event, (void)flags;
  fake.waiting = stream;
  return on(stream);
}

/* ---- memory ---- */

cudaError_t cudaMemPoolCreate(cudaMemPool_t *out, const struct cudaMemPoolProps *properties) {
  (void)properties;
  return make((void **)out, 1);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) { return end(pool); }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  (void)pool, (void)attribute, (void)value;
  return next();
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, void *value) {
  (void)pool, (void)attribute;
  *(uint64_t *)value = 0;
  return next();
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const struct cudaMemAccessDesc *access, size_t count) {
  (void)pool, (void)access, (void)count;
  return next();
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes) {
  (void)pool;
  fake.trimmed_to = bytes;
  fake.trims++;
  return unsafe();
}
cudaError_t cudaMallocFromPoolAsync(void **out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  (void)pool;
  const cudaError_t error = on(stream);
  if (error) return error;
  *out = malloc(bytes);
  fake.made++;
  return cudaSuccess;
}
cudaError_t cudaFreeAsync(void *memory, cudaStream_t stream) {
  (void)stream;
  return end(memory);
}
cudaError_t cudaHostAlloc(void **out, size_t bytes, unsigned flags) {
  (void)flags;
  return make(out, bytes);
}
cudaError_t cudaFreeHost(void *memory) { return end(memory); }
cudaError_t cudaHostGetDevicePointer(void **out, void *host, unsigned flags) {
  (void)flags;
  *out = host;
  return next();
}
cudaError_t cudaMemsetAsync(void *memory, int value, size_t bytes, cudaStream_t stream) {
  memset(memory, value, bytes);
  return on(stream);
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  const cudaError_t error = on(stream);
  if (!error) memcpy(to, from, bytes);
  return error;
}
cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                              enum cudaMemcpyKind kind, cudaStream_t stream) {
  (void)kind;
  for (size_t r = 0; r < rows; r++) memcpy((char *)to + r * to_pitch, (const char *)from + r * from_pitch, width);
  return on(stream);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, cudaStream_t stream) {
  (void)to_device, (void)from_device;
  memcpy(to, from, bytes);
  return on(stream);
}

/* ---- what gpu.c finds in other files of the library ---- */

int spti_device_code(void) { return fake.code; }
void spti_gpu_close_sparse(sptrsm_context *context) { (void)context; }
void spti_gpu_close_dense(sptrsm_context *context) { (void)context; }
sptrsm_status spti_gpu_stream_sparse(sptrsm_context *context) {
  (void)context;
  return SPTRSM_OK;
}
