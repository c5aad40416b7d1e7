/* features.h -- what `auto` goes by on a GPU (core/select/choose.h), found for a plan whose method has not been
 * chosen yet. */
#ifndef SPTI_CORE_PLAN_FEATURES_H
#define SPTI_CORE_PLAN_FEATURES_H

#include "core/select/choose.h"

/* Adds stencil, levels and row panels of plan->view, a pull view in device memory. all: also those that cannot matter
 * to the choice. Level sets and row panels are kept with the plan (core/plan/analysis.h). Waits for the device. */
sptrsm_status spti_gpu_features_add(spti_features *, sptrsm_plan *, bool all);

/* After the chosen method has refused the triangle: adds what the remaining rows of the table go by. */
sptrsm_status spti_gpu_features_add_rest(spti_features *, sptrsm_plan *);

#endif
