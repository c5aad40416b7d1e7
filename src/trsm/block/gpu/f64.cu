/* block_f64 -- the kernel of block for one type, in a file of its own to be compiled beside the others. */
#include "trsm/block/gpu/solve.cuh"

extern "C" int spti_block_f64_launch(const spti_block_solve_args *a, void *stream) { return spti::launch_block_type<double>(a, stream); }
