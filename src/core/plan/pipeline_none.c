/* pipeline_none.c -- stands in for pipeline_gpu.c in a library built without CUDA, where no CUDA context exists. */
#include "core/plan/pipeline.h"

sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *line, spti_panels *panels, const void *alpha, const sptrsm_block *B,
                                    const sptrsm_block *X) {
  (void)line, (void)panels, (void)alpha, (void)B, (void)X;
  return spti_fail(SPTRSM_ERR_INTERNAL, "a CUDA pipeline in a library built without CUDA");
}
