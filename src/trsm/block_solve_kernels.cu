/* block_solve_kernels -- the choice of block's kernel (block_solve.cuh) by type. */
#include "trsm/block_kernels.h"

extern "C" int spti_block_solve_launch(const spti_block_solve_args *a, sptrsm_dtype dtype, void *stream) {
  switch (dtype) {
  case SPTRSM_F32: return spti_block_f32_launch(a, stream);
  case SPTRSM_F64: return spti_block_f64_launch(a, stream);
  case SPTRSM_C64: return spti_block_c64_launch(a, stream);
  default: return spti_block_c128_launch(a, stream);
  }
}
