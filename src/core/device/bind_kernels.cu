/* bind_kernels -- a transfer put where recorded launches find it (core/device/transfer.cuh: transfer_of). */
#include <string.h>

#include "core/device/device.cuh"
#include "core/device/launch.h"

namespace spti {

typedef struct {
  spti_transfer transfer;
  int64_t *to;
} bind_args;

SPTI_KERNEL(32) bind_transfer_kernel(bind_args a) {
  int64_t words[SPTI_TRANSFER_WORDS] = {};
  memcpy(words, &a.transfer, sizeof a.transfer);
  for (int w = 0; w < SPTI_TRANSFER_WORDS; w++)
    if (thread_in_block() == w) store(a.to + w, words[w]);
}

} // namespace spti

extern "C" int spti_bind_launch(const spti_transfer *transfer, int64_t *to, void *stream) {
  using namespace spti;
  const bind_args args = {*transfer, to};
  return SPTI_LAUNCH(bind_transfer_kernel, 1, 32, 0, stream, args);
}
