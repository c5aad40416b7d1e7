/* bind_kernels.cu -- copies a transfer to device memory, where launches recorded in a graph read it (transfer_of in transfer.cuh). It
 * is in every build, so it also tells whether the library has code for the device. */
#include <string.h>

#include "core/device/device.cuh"
#include "core/device/transfer.h"

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

extern "C" int spti_device_code() { return spti::find_code(spti::bind_transfer_kernel); }

extern "C" int spti_bind_launch(const spti_transfer *transfer, int64_t *to, void *stream) {
  using namespace spti;
  const bind_args args = {*transfer, to};
  return SPTI_LAUNCH(bind_transfer_kernel, 1, 32, 0, stream, args);
}
