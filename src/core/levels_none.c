/* levels_none.c -- stands in for levels_gpu.c in a library built without CUDA: no plan has levels to drop. */
#include "core/levels_gpu.h"

#include "core/plan.h"

void spti_plan_drop_levels(sptrsm_plan *plan) { (void)plan; }
