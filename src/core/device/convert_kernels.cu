/* convert_kernels.cu -- see convert.h. */
#include "core/device/convert.h"
#include "core/device/device.cuh"

namespace spti {

enum { CONVERT_THREADS = 256 };

struct narrow_job {
  const int64_t *from;
  int32_t *to;
  int64_t count;
};
struct widen_job {
  const int32_t *from;
  int64_t *to;
  int64_t count;
};

SPTI_KERNEL(CONVERT_THREADS) convert_narrow_kernel(narrow_job job) {
  const int64_t i = int64_t(block_in_grid()) * CONVERT_THREADS + thread_in_block();
  if (i < job.count) store(job.to + i, int32_t(load_const(job.from + i)));
}

SPTI_KERNEL(CONVERT_THREADS) convert_widen_kernel(widen_job job) {
  const int64_t i = int64_t(block_in_grid()) * CONVERT_THREADS + thread_in_block();
  if (i < job.count) store(job.to + i, int64_t(load_const(job.from + i)));
}

} // namespace spti

extern "C" int spti_narrow_launch(int32_t *to, const int64_t *from, int64_t count, void *stream) {
  using namespace spti;
  const narrow_job job = {from, to, count};
  return SPTI_LAUNCH(convert_narrow_kernel, (count + CONVERT_THREADS - 1) / CONVERT_THREADS, CONVERT_THREADS, 0, stream, job);
}

extern "C" int spti_widen_launch(int64_t *to, const int32_t *from, int64_t count, void *stream) {
  using namespace spti;
  const widen_job job = {from, to, count};
  return SPTI_LAUNCH(convert_widen_kernel, (count + CONVERT_THREADS - 1) / CONVERT_THREADS, CONVERT_THREADS, 0, stream, job);
}
