/* panel.h -- the width of a panel: how many right-hand sides are worked on at once. */
#ifndef SPTI_CORE_PLAN_PANEL_H
#define SPTI_CORE_PLAN_PANEL_H

#include "core/plan/plan.h"

/* The width for a plan whose analysis is done: as the options say, else by the method's rule, else by one of the
 * place. At least 1. */
int32_t spti_panel_choose(const sptrsm_plan *);

/* Bytes of a workspace for panels of that width. */
typedef sptrsm_status (*spti_panel_bytes)(size_t *out, void *owner, int32_t panel);

/* Halves *panel until a workspace keeps within `limit` bytes, 0: no limit. MEMORY if one right-hand side is too many. */
sptrsm_status spti_panel_fit(int32_t *panel, size_t limit, spti_panel_bytes, void *owner);

#endif
