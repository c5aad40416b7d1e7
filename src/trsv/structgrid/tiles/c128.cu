/* structgrid_c128 -- the kernel of structgrid for one type, in a file of its own to be compiled beside the others. */
#include "trsv/structgrid/tiles/solve.cuh"

extern "C" int spti_structgrid_c128_launch(const spti_structgrid_args *a, void *stream) {
  return spti::launch_structgrid_type<spti::complex_t<double>>(a, stream);
}
