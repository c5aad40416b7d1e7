/* f32.cu -- the pencil kernel for one type; a file for each type, so that they compile in parallel. */
#include "trsv/structgrid/pencils/solve.cuh"

extern "C" int spti_structgrid_pencils_f32_launch(const spti_structgrid_pencils_args *a, void *stream) {
  return spti::launch_pencils_type<float>(a, stream);
}
