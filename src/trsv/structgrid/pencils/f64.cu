/* structgrid_pencils_f64 -- the kernel of structgrid's pencils for one type, in a file of its own to be compiled beside the others. */
#include "trsv/structgrid/pencils/solve.cuh"

extern "C" int spti_structgrid_pencils_f64_launch(const spti_structgrid_pencils_args *a, void *stream) {
  return spti::launch_pencils_type<double>(a, stream);
}
