/* cusparse_none.c -- stands in for cusparse.c in a build without CUDA. */
#include "bench/measure.h"

sptrsm_status bench_cusparse(bench_result *better, const bench_case *c, void *stream) {
  (void)better, (void)c, (void)stream;
  return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "cuSPARSE needs a build with CUDA");
}
