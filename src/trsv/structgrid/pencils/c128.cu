/* structgrid_pencils_c128 -- the kernel of structgrid's pencils for one type, in a file of its own to be compiled beside the others. */
#include "trsv/structgrid/pencils/solve.cuh"

extern "C" int spti_structgrid_pencils_c128_launch(const spti_structgrid_pencils_args *a, void *stream) {
  return spti::launch_pencils_type<spti::complex_t<double>>(a, stream);
}
