/* f32.cu -- the solve kernel of block for one type, in a file of its own so that the types are compiled side by side. */
#include "trsm/block/gpu/solve.cuh"

extern "C" int spti_block_f32_launch(const spti_block_solve_args *a, void *stream) { return spti::launch_block_type<float>(a, stream); }
