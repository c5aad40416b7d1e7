/* joined_solve.c -- solves of a mixed batch on a GPU. For each set and each panel of columns: one kernel brings the blocks of all
 * items into the rows of the joined panel, the solver's pipeline solves the panel in place, and one kernel brings it to X. */
#include "core/batch/gpu/joined.h"
#include "core/context/alloc.h"

/* ---- memory ---- */

static void drop_panel(spti_joined_set *set, const sptrsm_context *context) {
  spti_panels_free(&set->panels, context);
  spti_free(context, set->panel);
  spti_free(context, set->staging);
  set->panel = set->staging = NULL;
  set->panel_width = 0;
}

/* A new plan may have narrowed the solver's panel. */
static sptrsm_status need_panel(spti_joined_set *set, const sptrsm_batch *b) {
  const sptrsm_direct *d = set->direct;
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  if (set->panel && set->panel_width == d->panel) return SPTRSM_OK;
  drop_panel(set, b->context);
  SPTI_TRY(spti_panels_create(&set->panels, b->context, d->n, d->dtype, d->panel, &b->options));
  SPTI_TRY(spti_alloc(b->context, &set->panel, (int64_t)d->n * d->panel, bytes, "joined panel"));
  set->panel_width = d->panel;
  return SPTRSM_OK;
}

sptrsm_status spti_joined_prepare(sptrsm_batch *b, const spti_system_steps *steps) {
  const spti_joined *s = b->state;
  for (int64_t k = 0; k < s->set_count; k++) {
    spti_pipeline pipe;
    SPTI_TRY(spti_direct_pipeline(&pipe, s->sets[k].direct, steps));
    SPTI_TRY(need_panel(&s->sets[k], b));
  }
  return SPTRSM_OK;
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
    char *at = (char *)set->staging + (size_t)set->first[m] * row;
    SPTI_TRY(spti_batch_device_move(b, block, set->item[m], column, width, at, direction));
  }
  return SPTRSM_OK;
}

/* Between the blocks B or X and the panel. */
static sptrsm_status move_panel(sptrsm_batch *b, spti_joined_set *set, const joined_call *c, bool is_X, int64_t column, int32_t width) {
  const sptrsm_batch_block *block = is_X ? c->call->X : c->call->B;
  const bool staged = block->place == SPTRSM_HOST;
  spti_joined_move_args args = {
      .rows = set->rows, .items = c->items, .place = c->place[is_X], .staged = staged, .width = width, .panel = set->panel};
  args.items.first_column = args.place.first_column = column;
  args.items.nrhs = width;
  if (staged) args.place = (spti_batch_place){.data = set->staging, .row_major = block->layout == SPTRSM_ROW_MAJOR};
  if (staged && !is_X) SPTI_TRY(bring(b, set, c, block, column, width, SPTI_TO_DEVICE));
  if (is_X) SPTI_CUDA(spti_joined_unpack_launch(&args, b->dtype, b->context->stream));
  else SPTI_CUDA(spti_joined_pack_launch(&args, b->dtype, b->context->stream));
  return staged && is_X ? bring(b, set, c, block, column, width, SPTI_TO_HOST) : SPTRSM_OK;
}

static sptrsm_status solve_set(sptrsm_batch *b, spti_joined_set *set, const joined_call *c) {
  spti_pipeline pipe;
  if (set->rows.n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_direct_pipeline(&pipe, set->direct, &c->call->steps));
  if (c->solved && !set->staging)
    SPTI_TRY(spti_alloc(b->context, &set->staging, (int64_t)set->rows.n * set->panel_width, sptrsm_dtype_bytes(b->dtype), "staging panel"));
  for (int64_t k = 0; k < c->items.nrhs; k += set->panel_width) {
    const int64_t left = c->items.nrhs - k;
    const int32_t width = left < set->panel_width ? (int32_t)left : set->panel_width;
    const sptrsm_block panel = {.data = set->panel,
                                .ld = width,
                                .n = set->rows.n,
                                .nrhs = width,
                                .dtype = b->dtype,
                                .layout = SPTRSM_ROW_MAJOR,
                                .place = SPTRSM_CUDA};
    SPTI_TRY(move_panel(b, set, c, false, k, width));
    SPTI_TRY(spti_pipeline_run(&pipe, &set->panels, c->call->alpha, &panel, &panel));
    SPTI_TRY(move_panel(b, set, c, true, k, width));
  }
  return SPTRSM_OK;
}

static sptrsm_status run(sptrsm_batch *b, joined_call *c) {
  spti_joined *s = b->state;
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
