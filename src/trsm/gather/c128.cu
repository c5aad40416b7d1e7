/* gather_c128 -- the kernel of gather for one type, in a file of its own to be compiled beside the others. */
#include "trsm/gather/solve.cuh"

extern "C" int spti_gather_c128_launch(const spti_gather_args *a, void *stream) {
  return spti::launch_gather_type<spti::complex_t<double>>(a, stream);
}
