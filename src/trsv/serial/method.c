/* method.c -- serial, the reference: substitution by plain loops, in the orientation in which the matrix is stored.
 * Source: textbook substitution, as cs_lsolve of [davis2006]. Wins: never, by design; all other methods are tested against it.
 * Deterministic: yes. */
#include "core/plan/method.h"

#define SPTI_TEMPLATE "trsv/serial/solve.tmpl.h"
#include "core/base/for_each_dtype.h"

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  const spti_view *v = &plan->view;
  if (v->pull) SPTI_SWITCH(v->dtype, pull)(v, W);
  else SPTI_SWITCH(v->dtype, push)(v, W);
  return SPTRSM_OK;
}

const spti_method spti_method_serial = {
    .name = "serial",
    .summary = "reference substitution by plain loops on the host",
    .cite = "davis2006",
    .place = SPTRSM_HOST,
    .wants = SPTI_ANY,
    .flags = SPTI_DETERMINISTIC | SPTI_REFERENCE,
    .solve = solve,
};
