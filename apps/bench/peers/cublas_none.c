/* cublas_none.c -- stands in for cublas.c in a build without CUDA, or where cuBLAS was not found. */
#include "bench/measure.h"

sptrsm_status bench_cublas(bench_result *better, const bench_case *c, void *stream) {
  (void)better, (void)c, (void)stream;
#ifdef BENCH_CUDA
  return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "this build found no cuBLAS");
#else
  return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "cuBLAS needs a build with CUDA");
#endif
}
