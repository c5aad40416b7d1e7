/* emulated_library.c -- the rest of what the whole library needs of CUDA (see emulated_gpu.c): opening a context, the transpose that
 * cuSPARSE makes, and a method in place of `cusparse` that refuses every matrix. */
#include <stdio.h>
#include <stdlib.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "simt/emulator/emulated_gpu.h"

int spti_gpu_count(void) { return 1; }

/* One fast schedule, since these tests are about host code; kernels have tests of their own. */
static void use_schedule(void) {
  const char *seed = getenv("SIMT_SEED");
  emulated_gpu_use_schedule(seed ? strtoull(seed, NULL, 10) : 5);
}

sptrsm_status spti_gpu_open(sptrsm_context *context) {
  if (context->device != 0) return spti_fail(SPTRSM_ERR_ARGUMENT, "CUDA device %d: the emulator is device 0", context->device);
  SPTI_TRY(spti_host_alloc(&context->lost, 1, sizeof *context->lost + SPTI_PINNED_WORDS * sizeof *context->pinned, "pinned words"));
  context->pinned = context->pinned_device = (int32_t *)(context->lost + 1);
  context->lost_device = context->lost;
  *context->lost = 0;
  context->spin_limit = SPTI_SPIN_LIMIT;
  context->shared_bytes = emulated_gpu_shared_bytes;
  context->fp32_lanes = EMULATED_GPU_FP32_LANES;
  context->single_to_double = 2;
  use_schedule();
  snprintf(context->description, sizeof context->description, "emulator");
  return SPTRSM_OK;
}

void spti_gpu_close(sptrsm_context *context) { spti_host_free(context->lost); }

sptrsm_status spti_gpu_trim(sptrsm_context *context) { return spti_gpu_wait(context); }

/* For no bytes the address is NULL. */
sptrsm_status spti_gpu_host_alloc(const sptrsm_context *context, void **out, size_t bytes) {
  SPTI_TRY(spti_gpu_refuse_capture(context, "page-locked memory"));
  *out = NULL;
  if (bytes == 0) return SPTRSM_OK;
  return spti_host_alloc(out, 1, bytes, "page-locked memory");
}

void spti_gpu_host_free(void *memory) { spti_host_free(memory); }

sptrsm_status spti_gpu_transpose(sptrsm_context *context, int32_t n, int64_t nnz, sptrsm_dtype dtype, const spti_lines *from,
                                 const spti_lines *to) {
  const size_t bytes = sptrsm_dtype_bytes(dtype);
  const spti_storage given = {.ptr = from->ptr, .idx = from->idx, .val = from->val};
  spti_storage turned;
  SPTI_TRY(spti_storage_transpose(&turned, &given, n, bytes));
  sptrsm_status status;
  SPTI_TRY_DONE(spti_copy_bytes(context, to->ptr, SPTRSM_CUDA, turned.ptr, SPTRSM_CUDA, ((size_t)n + 1) * sizeof *to->ptr));
  SPTI_TRY_DONE(spti_copy_bytes(context, to->idx, SPTRSM_CUDA, turned.idx, SPTRSM_CUDA, (size_t)nnz * sizeof *to->idx));
  SPTI_TRY_DONE(spti_copy_bytes(context, to->val, SPTRSM_CUDA, turned.val, SPTRSM_CUDA, (size_t)nnz * bytes));
done:
  spti_storage_free(&turned, NULL);
  return status;
}

static sptrsm_status no_cusparse(sptrsm_plan *plan) {
  (void)plan;
  return spti_fail(SPTRSM_ERR_UNSUPPORTED, "cuSPARSE: not on the emulator");
}

const spti_method spti_method_cusparse = {
    .name = "cusparse",
    .summary = "stands in for cuSPARSE, refuses everything",
    .cite = "naumov2011",
    .place = SPTRSM_CUDA,
    .wants = SPTI_ANY,
    .flags = SPTI_REFERENCE,
    .analyse = no_cusparse,
};
