/* work.c -- the memory that solves of a factor set change: each plan's work, or memory that plans share, and how wide the panels beside it
 * are. */
#include "core/context/alloc.h"
#include "core/direct/direct.h"
#include "core/plan/method.h"
#include "core/plan/panel.h"
#include "core/plan/workspace.h"

void spti_direct_free_workspace(sptrsm_direct *d) {
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    spti_direct_slot *at = spti_direct_slot_at(d, s);
    if (at->work_made) spti_work_free(at->work, at->plan);
    at->work_made = false;
  }
  spti_panels_free(&d->panels, d->context);
  spti_free(d->context, d->own_shared.memory);
  d->own_shared = (spti_direct_shared){0};
}

/* A plan has its work in the memory that plans share. */
static bool shares_work(const sptrsm_direct *d, const sptrsm_plan *plan) {
  return plan->method->shared_work && (d->shared || (d->shares_work && plan->method->flags & SPTI_FROM_HOST));
}

static const spti_direct_shared *shared_of(const sptrsm_direct *d) { return d->shared ? d->shared : &d->own_shared; }

sptrsm_status spti_direct_work_bytes(size_t *own, size_t *shared, const sptrsm_direct *d, int32_t panel) {
  *own = *shared = 0;
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    const sptrsm_plan *plan = spti_direct_slot_at((sptrsm_direct *)d, s)->plan;
    size_t bytes;
    if (!plan) continue;
    if (!shares_work(d, plan)) {
      SPTI_TRY(spti_work_bytes(&bytes, plan, panel));
      *own += bytes;
      continue;
    }
    SPTI_TRY(plan->method->shared_work->bytes(&bytes, plan, panel));
    if (bytes > *shared) *shared = bytes;
  }
  return SPTRSM_OK;
}

sptrsm_status spti_direct_workspace_bytes(size_t *out, void *owner, int32_t panel) {
  const sptrsm_direct *d = owner;
  size_t panels, own, shared;
  SPTI_TRY(spti_panels_bytes(&panels, d->context, d->n, d->dtype, panel, &d->options));
  SPTI_TRY(spti_direct_work_bytes(&own, &shared, d, panel));
  *out = panels + own + (d->shared ? 0 : shared);
  return SPTRSM_OK;
}

/* Plans for another system may need more than there is. */
sptrsm_status spti_direct_need_shared(sptrsm_direct *d) {
  size_t own, shared;
  if (!d->shares_work) return SPTRSM_OK;
  SPTI_TRY(spti_direct_work_bytes(&own, &shared, d, d->panel));
  if (shared <= d->own_shared.bytes) return SPTRSM_OK;
  spti_direct_free_workspace(d);
  SPTI_TRY(spti_alloc(d->context, &d->own_shared.memory, (int64_t)shared, 1, "shared work of plans"));
  d->own_shared.bytes = shared;
  return SPTRSM_OK;
}

sptrsm_status spti_direct_need_work(sptrsm_direct *d, spti_direct_slot *s) {
  if (s->work_made) return SPTRSM_OK;
  if (!shares_work(d, s->plan)) SPTI_TRY(spti_work_create(&s->work, s->plan, d->panel));
  else SPTI_TRY(s->plan->method->shared_work->create(&s->work, s->plan, d->panel, shared_of(d)->memory));
  s->work_made = true;
  return SPTRSM_OK;
}

/* ---- the width of the panels ---- */

/* For spti_panel_fit: all that solves allocate. */
static sptrsm_status bytes_with_extension(size_t *out, void *owner, int32_t panel) {
  size_t solving, panels, rest;
  SPTI_TRY(spti_direct_workspace_bytes(&solving, owner, panel));
  SPTI_TRY(((const sptrsm_direct *)owner)->extension.bytes(&panels, &rest, owner, panel));
  *out = solving + panels + rest;
  return SPTRSM_OK;
}

/* options.memory_limit is for the workspace alone. */
static sptrsm_status narrow_panel(int32_t *panel, sptrsm_direct *d) {
  const int32_t least = spti_plan_may_stream(d->context, d->options.method) ? SPTI_PANEL_WORTHWHILE : 1;
  SPTI_TRY(spti_panel_fit(panel, least, d->context, d->options.memory_limit, spti_direct_workspace_bytes, d));
  if (!d->extension.state) return SPTRSM_OK;
  return spti_name_object(spti_panel_fit(panel, least, d->context, 0, bytes_with_extension, d), d->extension.name);
}

sptrsm_status spti_direct_fit_panel(sptrsm_direct *d, const sptrsm_plan *added) {
  int32_t panel = d->panel && d->panel < added->panel ? d->panel : added->panel;
  const int32_t wanted = panel;
  sptrsm_status status = narrow_panel(&panel, d);
  if (added->method->flags & SPTI_FROM_HOST && !d->shares_work && (status == SPTRSM_ERR_MEMORY || panel < wanted)) {
    spti_direct_free_workspace(d);
    d->shares_work = true;
    panel = wanted;
    status = narrow_panel(&panel, d);
  }
  SPTI_TRY(status);
  if (added->method->flags & SPTI_FROM_HOST) panel = spti_panel_even(panel, d->options.nrhs_hint);
  if (panel != d->panel) spti_direct_free_workspace(d); /* it was made for another width */
  d->panel = panel;
  return SPTRSM_OK;
}

void spti_direct_make_room(sptrsm_direct *d) {
  spti_direct_free_workspace(d);
  if (d->extension.state) d->extension.release(d->extension.state, d->context);
}
