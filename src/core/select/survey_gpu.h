/* survey_gpu.h -- what `auto` needs to know of a triangle in device memory (core/select/choose.h): the depth of its
 * level sets and of its row panels, one weighed against the other. */
#ifndef SPTI_CORE_SELECT_SURVEY_GPU_H
#define SPTI_CORE_SELECT_SURVEY_GPU_H

#include "core/levels/gpu.h"
#include "core/levels/row_panels_gpu.h"
#include "core/select/choose.h"

typedef struct {
  int32_t levels;              /* number of level sets; a lower bound where the search for them ended early */
  int32_t hops;                /* length of the chain of row panels (spti_row_panels_hops); 0: their levels were not looked for */
  spti_gpu_levels *all_levels; /* the level sets; NULL where the search ended early */
  spti_row_panels panels;
} spti_survey;

/* Surveys a pull view in device memory. The search for level sets ends early where row panels have levels, and there
 * are at least limits->levels level sets and at least limits->a_hop of them for each hop of the panels; limits NULL:
 * it finds all of them. The caller frees all_levels and panels. Deterministic. Waits for the device once, and once
 * more to put the rows of level sets in order. */
sptrsm_status spti_survey_make(spti_survey *out, const spti_view *, sptrsm_context *, const spti_choose_limits *limits);

#endif
