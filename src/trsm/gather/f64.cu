/* f64.cu -- the kernels of gather for one type, in a file of its own so that the types are compiled side by side. */
#include "trsm/gather/solve.cuh"

extern "C" int spti_gather_f64_launch(const spti_gather_args *a, void *stream) { return spti::launch_gather_type<double>(a, stream); }
