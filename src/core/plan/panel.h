/* panel.h -- the width of a panel: how many right-hand sides are worked on at once. */
#ifndef SPTI_CORE_PLAN_PANEL_H
#define SPTI_CORE_PLAN_PANEL_H

#include "core/plan/plan.h"

/* The width for a plan whose analysis is done: as the options say, else by the method's rule, else by one of the
 * place. At least 1. */
int32_t spti_panel_choose(const sptrsm_plan *);

/* Bytes of a workspace for panels of that width. */
typedef sptrsm_status (*spti_panel_bytes)(size_t *out, void *owner, int32_t panel);

/* Narrows *panel until a workspace keeps within `limit` bytes, 0: no limit, and within what the context's memory limit leaves. MEMORY if
 * `least` right-hand sides, or all that *panel has at the beginning, are too many. */
sptrsm_status spti_panel_fit(int32_t *panel, int32_t least, const sptrsm_context *, size_t limit, spti_panel_bytes, void *owner);

/* The width with as many sweeps over the factor as `panel` needs for `expected` right-hand sides, 0: unknown, and with sweeps as equal as
 * they can be. For plans whose factor comes to the device once for each panel. */
int32_t spti_panel_even(int32_t panel, int64_t expected);

/* A plan that leaves no room for that many right-hand sides beside it is given up for one that streams, if there is one. */
enum { SPTI_PANEL_WORTHWHILE = 32 };

#endif
