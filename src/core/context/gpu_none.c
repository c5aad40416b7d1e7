/* gpu_none.c -- stands in for gpu.c in a library built without CUDA: there is no device, and everything else refuses. */
#include "core/context/gpu.h"
#include "core/context/gpu_copies.h"

static sptrsm_status absent(void) {
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "this library was built without CUDA; use a host context, or build with nvcc on PATH");
}

int spti_gpu_count(void) { return 0; }
sptrsm_status spti_gpu_open(sptrsm_context *context) {
  (void)context;
  return absent();
}
void spti_gpu_close(sptrsm_context *context) { (void)context; }
sptrsm_status spti_gpu_set_stream(sptrsm_context *context, void *stream) {
  (void)context, (void)stream;
  return absent();
}
int spti_gpu_visit(const sptrsm_context *context) {
  (void)context;
  return -1;
}
void spti_gpu_leave(int device) { (void)device; }
sptrsm_status spti_gpu_refuse_capture(const sptrsm_context *context, const char *what) {
  (void)context, (void)what;
  return absent();
}
sptrsm_status spti_gpu_check_pointer(const sptrsm_context *context, const void *data, const char *name) {
  (void)context, (void)data, (void)name;
  return absent();
}
sptrsm_status spti_gpu_trim(sptrsm_context *context) {
  (void)context;
  return absent();
}
sptrsm_status spti_gpu_wait(const sptrsm_context *context) {
  (void)context;
  return absent();
}
sptrsm_status spti_gpu_room(size_t *out, const sptrsm_context *context, size_t wanted) {
  (void)out, (void)context, (void)wanted;
  return absent();
}
sptrsm_status spti_gpu_set_limit(sptrsm_context *context, size_t bytes) {
  (void)context, (void)bytes;
  return absent();
}
sptrsm_status spti_gpu_alloc(const sptrsm_context *context, void **out, size_t bytes, const char *what) {
  (void)context, (void)out, (void)bytes, (void)what;
  return absent();
}
void spti_gpu_free(const sptrsm_context *context, void *memory) { (void)context, (void)memory; }
sptrsm_status spti_gpu_host_alloc(const sptrsm_context *context, void **out, size_t bytes) {
  (void)context, (void)out, (void)bytes;
  return absent();
}
void spti_gpu_host_free(void *memory) { (void)memory; }
sptrsm_status spti_gpu_copy(const sptrsm_context *context, void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t row_bytes,
                            size_t rows, spti_direction direction) {
  (void)context, (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)row_bytes, (void)rows, (void)direction;
  return absent();
}
sptrsm_status spti_gpu_copy_peer(const sptrsm_context *to_context, void *to, const sptrsm_context *from_context, const void *from,
                                 size_t bytes) {
  (void)to_context, (void)to, (void)from_context, (void)from, (void)bytes;
  return absent();
}
void spti_gpu_copies_free(spti_gpu_copies *copies) { (void)copies; }
sptrsm_status spti_gpu_check_lines(spti_line_check *out, const sptrsm_context *context, const sptrsm_sparse *T, int64_t nnz) {
  (void)out, (void)context, (void)T, (void)nnz;
  return absent();
}
sptrsm_status spti_gpu_transpose(sptrsm_context *context, int32_t n, int64_t nnz, sptrsm_dtype dtype, const spti_lines *from,
                                 const spti_lines *to) {
  (void)context, (void)n, (void)nnz, (void)dtype, (void)from, (void)to;
  return absent();
}
sptrsm_status spti_gpu_check(int cuda_error, const char *what) {
  (void)cuda_error, (void)what;
  return absent();
}
