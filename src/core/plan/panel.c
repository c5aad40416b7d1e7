/* panel.c -- see panel.h. */
#include "core/plan/panel.h"

#include <stdio.h>
#include <string.h>

#include "core/context/gpu.h"
#include "core/plan/method.h"

enum {
  HOST_SLAB_BYTES = 512 << 20,
  HOST_SLAB_MIN = 8,
  HOST_SLAB_MAX = 32,
  GPU_PANEL_MAX = 512,
  GPU_PANEL_DEFAULT = 128,
  GPU_PANEL_MIN = 32
};
static const int64_t GPU_PANEL_BYTES = (int64_t)1 << 30;

static int64_t column_bytes(const sptrsm_plan *plan) {
  return (int64_t)(plan->view.n > 0 ? plan->view.n : 1) * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
}

/* Whole cache lines of row-major blocks, within a bounded share of memory: a power of two, since kernels are made for these. */
static int32_t host_panel(const sptrsm_plan *plan, int64_t hint) {
  const int64_t column = column_bytes(plan);
  int32_t slab = HOST_SLAB_MIN;
  while (slab < HOST_SLAB_MAX && 2 * slab * column <= HOST_SLAB_BYTES && (hint == 0 || slab < hint)) slab *= 2;
  return slab;
}

/* Wide enough for the kernels, within a bounded share of memory. */
static int32_t gpu_panel(const sptrsm_plan *plan, int64_t expected) {
  if (expected > 0 && expected < GPU_PANEL_MIN) return (int32_t)expected;
  int64_t want = expected > 0 ? (expected + 31) / 32 * 32 : GPU_PANEL_DEFAULT, fits = GPU_PANEL_BYTES / column_bytes(plan) / 32 * 32;
  if (want > GPU_PANEL_MAX) want = GPU_PANEL_MAX;
  if (want > fits) want = fits;
  return (int32_t)(want < GPU_PANEL_MIN ? GPU_PANEL_MIN : want);
}

int32_t spti_panel_choose(const sptrsm_plan *plan) {
  const int64_t most = INT32_MAX, expected = plan->options.nrhs_hint < most ? plan->options.nrhs_hint : most;
  const int64_t hint = (expected + 7) / 8 * 8;
  if (plan->options.panel > 0) return hint > 0 && hint < plan->options.panel ? (int32_t)hint : plan->options.panel;
  const int32_t own = plan->method->panel ? plan->method->panel(plan) : 0;
  if (own > 0) return own;
  return plan->context->place == SPTRSM_HOST ? host_panel(plan, hint) : gpu_panel(plan, expected);
}

/* *limited: there is a limit. */
static sptrsm_status room_for_workspace(size_t *out, bool *limited, const sptrsm_context *context, size_t limit) {
  *limited = limit > 0;
  *out = limit;
  if (context->place == SPTRSM_HOST || context->memory_limit == 0) return SPTRSM_OK;
  size_t room;
  SPTI_TRY(spti_gpu_room(&room, context, SIZE_MAX));
  *out = *limited && limit < room ? limit : room;
  *limited = true;
  return SPTRSM_OK;
}

static int32_t next_narrower(int32_t panel) { return panel > GPU_PANEL_MIN ? (panel - 1) / GPU_PANEL_MIN * GPU_PANEL_MIN : panel / 2; }

sptrsm_status spti_panel_fit(int32_t *panel, int32_t least, const sptrsm_context *context, size_t limit, spti_panel_bytes bytes_of,
                             void *owner) {
  size_t room, bytes;
  bool limited;
  SPTI_TRY(room_for_workspace(&room, &limited, context, limit));
  if (least > *panel) least = *panel;
  for (; limited; *panel = next_narrower(*panel)) {
    SPTI_TRY(bytes_of(&bytes, owner, *panel));
    if (bytes <= room) break;
    if (*panel > least && next_narrower(*panel) >= least) continue;
    char whose[96] = "is";
    if (limit == 0 || room < limit)
      snprintf(whose, sizeof whose, "of %zu for this context, which can be raised, leaves", context->memory_limit);
    return spti_fail(SPTRSM_ERR_MEMORY, "a workspace for %d right-hand side%s takes %zu bytes, the limit %s %zu", *panel,
                     *panel == 1 ? "" : "s", bytes, whose, room);
  }
  return SPTRSM_OK;
}

int32_t spti_panel_even(int32_t panel, int64_t expected) {
  if (expected <= panel) return panel;
  const int64_t sweeps = (expected - 1) / panel + 1, even = ((expected - 1) / sweeps + GPU_PANEL_MIN) / GPU_PANEL_MIN * GPU_PANEL_MIN;
  return even < panel ? (int32_t)even : panel;
}

/* ---- plans that stream ---- */

static const char streamed[] = "block-streamed";

bool spti_plan_may_stream(const sptrsm_context *context, const char *method) {
  if (context->place != SPTRSM_CUDA || context->memory_limit == 0) return false;
  return !method || strcmp(method, "auto") == 0 || strcmp(method, "block") == 0 || strncmp(method, "block:", strlen("block:")) == 0;
}

bool spti_plan_streams(const sptrsm_context *context, const char *method) {
  return context->memory_limit > 0 && method && strncmp(method, streamed, strlen(streamed)) == 0;
}

void spti_plan_streamed_name(char *out, size_t size, const char *method) {
  const char *variant = method ? strchr(method, ':') : NULL;
  snprintf(out, size, "%s%s", streamed, variant ? variant : "");
}
