/* f64.cu -- the tile kernel for one type; a file for each type, so that they compile in parallel. */
#include "trsv/structgrid/tiles/solve.cuh"

extern "C" int spti_structgrid_f64_launch(const spti_structgrid_args *a, void *stream) {
  return spti::launch_structgrid_type<double>(a, stream);
}
