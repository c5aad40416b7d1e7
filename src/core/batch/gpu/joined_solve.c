/* joined_solve.c -- solves of a mixed batch on a GPU. For each set and each panel of columns: one kernel brings the blocks of all
 * items into the rows of the joined panel, the solver's pipeline solves the panel in place, and one kernel brings it to X. */
#include "core/batch/gpu/joined.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/panel.h"

/* ---- memory ---- */

static void drop_panel(spti_joined *s, const sptrsm_context *context) {
  spti_panels_free(&s->panels, context);
  spti_free(context, s->panel);
  spti_free(context, s->staging);
  s->panel = s->staging = NULL;
  s->width = 0;
}

void spti_joined_free_memory(spti_joined *s, const sptrsm_context *context) {
  drop_panel(s, context);
  spti_free(context, s->shared.memory);
  s->shared = (spti_direct_shared){0};
}

/* Where a set's panel is narrower than `panel`, that counts. */
static sptrsm_status work_bytes(size_t *own, size_t *shared, const spti_joined *s, int32_t panel) {
  *own = *shared = 0;
  for (int64_t k = 0; k < s->set_count; k++) {
    const sptrsm_direct *d = s->sets[k].direct;
    size_t own_k, shared_k;
    SPTI_TRY(spti_direct_work_bytes(&own_k, &shared_k, d, d->panel < panel ? d->panel : panel));
    *own += own_k;
    if (shared_k > *shared) *shared = shared_k;
  }
  return SPTRSM_OK;
}

int32_t spti_joined_width(const spti_joined *s) {
  int32_t width = 1;
  for (int64_t k = 0; k < s->set_count; k++)
    if (s->sets[k].direct->panel > width) width = s->sets[k].direct->panel;
  return width;
}

/* Rows of panels of that width, such that each set has room in them for its own panel of at most that width. */
static int32_t rows_for(const spti_joined *s, int32_t width) {
  int64_t values = 0;
  for (int64_t k = 0; k < s->set_count; k++) {
    const int64_t panel = s->sets[k].direct->panel < width ? s->sets[k].direct->panel : width, own = s->sets[k].row_count * panel;
    if (own > values) values = own;
  }
  return (int32_t)((values + width - 1) / width);
}

/* The panel of the pipelines, that of the batch, and one for blocks in host memory, which is counted in any case. */
sptrsm_status spti_joined_workspace_bytes(size_t *out, void *owner, int32_t panel) {
  const sptrsm_batch *b = owner;
  const spti_joined *s = b->state;
  const int32_t rows = rows_for(s, panel);
  size_t panels, own, shared;
  SPTI_TRY(spti_bytes(&panels, (int64_t)rows * panel, 3 * sptrsm_dtype_bytes(b->dtype), "panels of a batch"));
  SPTI_TRY(work_bytes(&own, &shared, s, panel));
  *out = panels + own + shared;
  return SPTRSM_OK;
}

sptrsm_status spti_joined_fit_panels(sptrsm_batch *b) {
  spti_joined *s = b->state;
  int32_t width = spti_joined_width(s);
  SPTI_TRY(spti_panel_fit(&width, 1, b->context, b->options.memory_limit, spti_joined_workspace_bytes, b));
  for (int64_t k = 0; k < s->set_count; k++)
    if (s->sets[k].direct->panel > width) s->sets[k].direct->panel = width;
  return SPTRSM_OK;
}

/* Plans for another system may need more memory than there is, so all of it is made anew, as far as the limits leave room. If they leave
 * none, the batch still solves the systems of before. */
static sptrsm_status make_plans(sptrsm_batch *b, const spti_system_steps *steps) {
  spti_joined *s = b->state;
  sptrsm_status status = SPTRSM_OK;
  SPTI_TRY(spti_gpu_refuse_capture(b->context, "plans for another system"));
  for (int64_t k = 0; k < s->set_count; k++) {
    s->sets[k].plans = spti_direct_plans(s->sets[k].direct);
    spti_direct_free_workspace(s->sets[k].direct);
  }
  spti_joined_free_memory(s, b->context);
  for (int64_t k = 0; k < s->set_count && status == SPTRSM_OK; k++) status = spti_direct_need_plans(s->sets[k].direct, steps);
  if (status == SPTRSM_OK) status = spti_joined_fit_panels(b);
  for (int64_t k = 0; k < s->set_count && status != SPTRSM_OK; k++) spti_direct_keep_plans(s->sets[k].direct, s->sets[k].plans);
  return status;
}

static sptrsm_status need_shared(spti_joined *s, const sptrsm_batch *b) {
  size_t own;
  if (s->shared.memory) return SPTRSM_OK;
  SPTI_TRY(work_bytes(&own, &s->shared.bytes, s, spti_joined_width(s)));
  return spti_alloc(b->context, &s->shared.memory, (int64_t)s->shared.bytes, 1, "work of a batch");
}

/* A new plan may have narrowed a solver's panel. */
static sptrsm_status need_panel(spti_joined *s, const sptrsm_batch *b) {
  const int32_t width = spti_joined_width(s), rows = rows_for(s, width);
  if (s->panel && s->width == width && s->rows == rows) return SPTRSM_OK;
  drop_panel(s, b->context);
  SPTI_TRY(spti_panels_create(&s->panels, b->context, rows, b->dtype, width, &b->options));
  SPTI_TRY(spti_alloc(b->context, &s->panel, (int64_t)rows * width, sptrsm_dtype_bytes(b->dtype), "joined panel"));
  s->width = width;
  s->rows = rows;
  return SPTRSM_OK;
}

static bool has_plans(const spti_joined *s, const spti_system_steps *steps) {
  for (int64_t k = 0; k < s->set_count; k++)
    if (!spti_direct_has_plans(s->sets[k].direct, steps)) return false;
  return true;
}

sptrsm_status spti_joined_prepare(sptrsm_batch *b, const spti_system_steps *steps) {
  spti_joined *s = b->state;
  if (s->shares_work && !has_plans(s, steps)) SPTI_TRY(make_plans(b, steps));
  if (s->shares_work) SPTI_TRY(need_shared(s, b));
  for (int64_t k = 0; k < s->set_count; k++) {
    spti_pipeline pipe;
    SPTI_TRY(spti_direct_pipeline(&pipe, s->sets[k].direct, steps));
  }
  return need_panel(s, b);
}

/* ---- panels ---- */

typedef struct {
  const spti_batch_call *call;
  spti_batch_items items;
  spti_batch_place place[2]; /* of B and X in device memory */
  const uint8_t *solved;     /* [count], where B or X is in host memory */
} joined_call;

/* Members' blocks in host memory to the staging buffer, or back. */
static sptrsm_status bring(const sptrsm_batch *b, const spti_joined_set *set, const joined_call *c, const sptrsm_batch_block *block,
                           int64_t column, int32_t width, spti_direction direction) {
  const size_t row = (size_t)width * sptrsm_dtype_bytes(b->dtype);
  for (int64_t m = 0; m < set->members; m++) {
    if (!c->solved[set->item[m]]) continue;
    char *at = (char *)((const spti_joined *)b->state)->staging + (size_t)set->first[m] * row;
    SPTI_TRY(spti_batch_device_move(b, block, set->item[m], column, width, at, direction));
  }
  return SPTRSM_OK;
}

/* Between the blocks B or X and the panel. */
static sptrsm_status move_panel(sptrsm_batch *b, spti_joined_set *set, const joined_call *c, bool is_X, int64_t column, int32_t width) {
  const spti_joined *s = b->state;
  const sptrsm_batch_block *block = is_X ? c->call->X : c->call->B;
  const bool staged = block->place == SPTRSM_HOST;
  spti_joined_move_args args = {
      .rows = set->rows, .items = c->items, .place = c->place[is_X], .staged = staged, .width = width, .panel = s->panel};
  args.items.first_column = args.place.first_column = column;
  args.items.nrhs = width;
  if (staged) args.place = (spti_batch_place){.data = s->staging, .row_major = block->layout == SPTRSM_ROW_MAJOR};
  if (staged && !is_X) SPTI_TRY(bring(b, set, c, block, column, width, SPTI_TO_DEVICE));
  if (is_X) SPTI_CUDA(spti_joined_unpack_launch(&args, b->dtype, b->context->stream));
  else SPTI_CUDA(spti_joined_pack_launch(&args, b->dtype, b->context->stream));
  return staged && is_X ? bring(b, set, c, block, column, width, SPTI_TO_HOST) : SPTRSM_OK;
}

static sptrsm_status solve_set(sptrsm_batch *b, spti_joined_set *set, const joined_call *c) {
  spti_joined *s = b->state;
  const int32_t most = set->direct->panel;
  spti_pipeline pipe;
  if (set->rows.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_direct_pipeline(&pipe, set->direct, &c->call->steps));
  for (int64_t k = 0; k < c->items.nrhs; k += most) {
    const int64_t left = c->items.nrhs - k;
    const int32_t width = left < most ? (int32_t)left : most;
    const sptrsm_block panel = {.data = s->panel,
                                .ld = width,
                                .n = set->rows.n,
                                .nrhs = width,
                                .dtype = b->dtype,
                                .layout = SPTRSM_ROW_MAJOR,
                                .place = SPTRSM_CUDA};
    SPTI_TRY(move_panel(b, set, c, false, k, width));
    SPTI_TRY(spti_pipeline_run(&pipe, &s->panels, c->call->alpha, &panel, &panel));
    SPTI_TRY(move_panel(b, set, c, true, k, width));
  }
  return SPTRSM_OK;
}

static sptrsm_status run(sptrsm_batch *b, joined_call *c) {
  spti_joined *s = b->state;
  if (c->solved && !s->staging)
    SPTI_TRY(spti_alloc(b->context, &s->staging, (int64_t)s->rows * s->width, sptrsm_dtype_bytes(b->dtype), "staging panel"));
  if (c->call->B->place == SPTRSM_CUDA) SPTI_TRY(spti_batch_device_place(&c->place[0], &s->device, b, c->call->B, false));
  if (c->call->X->place == SPTRSM_CUDA) SPTI_TRY(spti_batch_device_place(&c->place[1], &s->device, b, c->call->X, true));
  for (int64_t k = 0; k < s->set_count; k++) SPTI_TRY(solve_set(b, &s->sets[k], c));
  return SPTRSM_OK;
}

sptrsm_status spti_joined_solve(sptrsm_batch *b, const spti_batch_call *call) {
  spti_joined *s = b->state;
  joined_call c = {.call = call};
  uint8_t *solved = NULL;
  if (b->count == 0) return SPTRSM_OK;
  SPTI_TRY(spti_joined_prepare(b, &call->steps));
  SPTI_TRY(spti_batch_device_items(&c.items, &s->device, b, call));
  if (call->B->place == SPTRSM_HOST || call->X->place == SPTRSM_HOST) {
    SPTI_TRY(spti_gpu_refuse_capture(b->context, "blocks in host memory"));
    SPTI_TRY(spti_batch_device_solved(&solved, b, call->run));
    c.solved = solved;
  }
  const sptrsm_status status = c.items.nrhs > 0 ? run(b, &c) : SPTRSM_OK;
  spti_host_free(solved);
  if (status != SPTRSM_OK) return status;
  SPTI_TRY(spti_batch_device_errors(&s->device, b, call));
  return spti_batch_device_tell(&s->device, b, call->run);
}
