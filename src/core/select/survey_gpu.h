/* survey_gpu.h -- what `auto` goes by on a device (core/select/choose.h): level sets and row panels, one weighed against the other. */
#ifndef SPTI_CORE_SELECT_SURVEY_GPU_H
#define SPTI_CORE_SELECT_SURVEY_GPU_H

#include "core/select/choose.h"
#include "core/base/error.h"

typedef struct {
  int32_t levels; /* at least so many, if they are all that counts; the level sets are not kept then */
  int32_t hops;   /* of row panels (spti_row_panels_hops); 0: not looked for */
} spti_survey;

/* Of plan->view, a pull view in device memory. Panels are kept with the plan, and either all level sets or none: none where row panels have
 * levels, and level sets are limits->levels and limits->a_hop times the hops of panels, or more. NULL: all. Deterministic. Waits for the
 * device once, and once more for level sets. */
sptrsm_status spti_plan_survey(spti_survey *out, sptrsm_plan *, const spti_choose_limits *limits);

#endif
