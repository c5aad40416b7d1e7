/* none.c -- stands in for analysis.c, features_gpu.c and pipeline_gpu.c in a library built without CUDA, where no
 * context is on a device. */
#include "core/plan/analysis.h"
#include "core/plan/features.h"
#include "core/plan/pipeline.h"

static sptrsm_status absent(void) { return spti_fail(SPTRSM_ERR_INTERNAL, "a plan on a CUDA device in a library built without CUDA"); }

void spti_plan_drop_levels(sptrsm_plan *plan) { (void)plan; }

void spti_plan_drop_row_panels(sptrsm_plan *plan) { (void)plan; }

sptrsm_status spti_gpu_features_add(spti_features *f, sptrsm_plan *plan, bool all) {
  (void)f, (void)plan, (void)all;
  return absent();
}

sptrsm_status spti_gpu_features_add_rest(spti_features *f, sptrsm_plan *plan) {
  (void)f, (void)plan;
  return absent();
}

sptrsm_status spti_pipeline_run_gpu(const spti_pipeline *pipe, spti_panels *panels, const void *alpha, const sptrsm_block *B,
                                    const sptrsm_block *X) {
  (void)pipe, (void)panels, (void)alpha, (void)B, (void)X;
  return absent();
}
