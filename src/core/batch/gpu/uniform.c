/* uniform.c -- uniform batches on a GPU: the engine that batch.c calls.
 *
 * All items have one pattern, so it is put in level order once. The values are interleaved by item, and one launch solves all items: a
 * thread block has a group of items, its lanes are items, and level sets are separated by barriers of the block (interleaved_kernels.cu).
 * Wins where items are many and small; the levels of a single large item fill the device better with `levelset` or `block`. */
#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/variant.h"
#include "core/batch/gpu/interleaved.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"

static const char name[] = "levelset";

/* ---- the size of a group ---- */

/* Lanes that fill a sector of 32 bytes with one value of each item. */
static int32_t log_sector(sptrsm_dtype dtype) {
  int32_t log = 0;
  while ((sptrsm_dtype_bytes(dtype) << log) < 32) log++;
  return log;
}

/* Large groups read indices less often; small ones leave more thread blocks to each multiprocessor, which hide each other's barriers. Where
 * many right-hand sides are expected and a panel of them is too large for shared memory whatever the group, it does not count. */
static int32_t choose_group(const sptrsm_batch *b) {
  const int64_t hint = b->options.nrhs_hint, lane = 1 << SPTI_BATCH_LOG_LANE_COLUMNS, panels = hint > lane ? (hint + lane - 1) / lane : 1;
  const int64_t blocks = spti_batch_multiprocessors(b) * BLOCKS_OF_A_MULTIPROCESSOR;
  const size_t columns = (size_t)(hint > 0 && hint < lane ? hint : hint > 0 ? lane : 1);
  const size_t panel = (size_t)b->n * sptrsm_dtype_bytes(b->dtype) * columns;
  const size_t shared = b->context->shared_bytes / BLOCKS_OF_A_MULTIPROCESSOR;
  const int32_t least = log_sector(b->dtype);
  const bool in_shared = columns == 1 || panel << least <= shared;
  int32_t log = SPTI_BATCH_LOG_GROUP_MOST;
  while (log > least && ((in_shared && panel << log > shared) || (b->count >> log) * panels < blocks)) log--;
  return log;
}

static sptrsm_status read_parameters(spti_batch_interleaved *s, const sptrsm_batch *b) {
  int32_t group = 0;
  const spti_setting known[] = {{.key = "group", .target = &group, .least = 1, .most = 1 << SPTI_BATCH_LOG_GROUP_MOST},
                                {.key = "threads", .target = &s->threads, .least = 32, .most = SPTI_BATCH_THREADS_MOST},
                                {.key = "shared", .target = &s->shared, .least = 0, .most = 1},
                                {.key = "panel", .target = &s->panel, .least = 1, .most = 1 << SPTI_BATCH_LOG_PANEL_MOST}};
  const char *colon = b->options.method ? strchr(b->options.method, ':') : NULL;
  s->panel = b->options.panel;
  if (colon) SPTI_TRY(spti_variant_parse(name, colon + 1, known, sizeof known / sizeof *known));
  s->threads = s->threads / 32 * 32;
  s->log_group = choose_group(b);
  if (group > 0) s->log_group = (int32_t)log2(group);
  s->groups = ((b->count - 1) >> s->log_group) + 1;
  return SPTRSM_OK;
}

/* ---- creation ---- */

static sptrsm_status make_state(sptrsm_batch *b, const sptrsm_factors *f) {
  spti_batch_interleaved *s = b->state;
  const size_t bytes = sptrsm_dtype_bytes(b->dtype);
  SPTI_TRY(read_parameters(s, b));
  SPTI_TRY(spti_batch_triangle_create(&s->triangle[0], b, f->L, "L"));
  if (f->U) SPTI_TRY(spti_batch_triangle_create(&s->triangle[1], b, f->U, "U"));
  for (int m = 0; m < 2; m++)
    if (s->triangle[m].present) SPTI_TRY(spti_batch_order_create(&s->triangle[m], b, false));
  if (f->D) SPTI_TRY(spti_batch_interleaved_alloc(b, &s->D[0], b->n, bytes, "D of a batch"));
  if (f->D_sub) SPTI_TRY(spti_batch_interleaved_alloc(b, &s->D[1], b->n, bytes, "D of a batch"));
  SPTI_TRY(spti_side_set_maps(&s->sides[0], b->context, f->perm_row, f->row_convention, b->n, "perm_row"));
  SPTI_TRY(spti_side_set_maps(&s->sides[1], b->context, f->perm_col, f->col_convention, b->n, "perm_col"));
  const double *const scale[2] = {f->scale_row, f->scale_col};
  for (int side = 0; side < 2; side++)
    if (scale[side]) SPTI_TRY(spti_batch_interleaved_alloc(b, &s->scale[side], b->n, sizeof(double), "scale factors of a batch"));
  SPTI_TRY(spti_alloc(b->context, &s->bad, b->count * SPTI_BATCH_PARTS, sizeof *s->bad, "item statuses"));
  SPTI_TRY(spti_alloc(b->context, &s->device.status, b->count, sizeof *s->device.status, "item statuses"));
  return spti_gpu_zero(b->context, s->bad, (size_t)b->count * SPTI_BATCH_PARTS * sizeof *s->bad);
}

static sptrsm_status check_factors(const sptrsm_factors *f) {
  if (!f->D && f->D_sub) return spti_fail(SPTRSM_ERR_ARGUMENT, "factors: D_sub without D");
  SPTI_TRY(spti_scale_check(NULL, f->row_op, 0, f->L->dtype, f->L->dtype, "scale_row"));
  return spti_scale_check(NULL, f->col_op, 0, f->L->dtype, f->L->dtype, "scale_col");
}

static sptrsm_status create(sptrsm_batch *b, const spti_batch_source *source) {
  const sptrsm_factors *f = source->items[0];
  const double begin = spti_seconds();
  spti_batch_interleaved *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "batch"));
  *s = (spti_batch_interleaved){.shared = 1, .u_kind = f->u_kind, .hermitian = f->D_hermitian != 0};
  b->state = s;
  SPTI_TRY(check_factors(f));
  s->sides[0].divide = f->row_op == SPTRSM_DIVIDE;
  s->sides[1].divide = f->col_op == SPTRSM_DIVIDE;
  SPTI_TRY(make_state(b, f));
  SPTI_TRY(spti_batch_interleaved_take(b, source->values, f));
  SPTI_TRY(spti_gpu_wait(b->context));
  s->seconds = spti_seconds() - begin;
  return SPTRSM_OK;
}

static void release(sptrsm_batch *b) {
  spti_batch_interleaved *s = b->state;
  const sptrsm_context *context = b->context;
  for (int i = 0; i < 2; i++) {
    spti_batch_triangle_free(&s->triangle[i], context);
    spti_side_free(&s->sides[i], context);
    spti_free(context, s->D[i]);
    spti_free(context, s->scale[i]);
    spti_free(context, s->staging[i]);
  }
  spti_batch_device_free(&s->device, context);
  spti_free(context, s->bad);
  spti_free(context, s->work);
  spti_host_free(s);
}

static sptrsm_status set_values(sptrsm_batch *b, const sptrsm_batch_values *v) {
  SPTI_TRY(spti_gpu_refuse_capture(b->context, "new values"));
  return spti_batch_interleaved_take(b, v, NULL);
}

static sptrsm_status info(sptrsm_batch_facts *out, const sptrsm_batch *b) {
  const spti_batch_interleaved *s = b->state;
  out->patterns = b->count > 0;
  out->panel = s->panel;
  strcpy(out->method, name);
  strcpy(out->reason, "values interleaved by item: one thread block for each group of items");
  out->deterministic = out->capturable = 1;
  out->batch_bytes = s->bytes;
  out->workspace_bytes = s->work_bytes;
  out->analysis_seconds = s->seconds;
  return SPTRSM_OK;
}

const spti_batch_engine spti_batch_uniform_gpu = {.create = create,
                                                  .set_values = set_values,
                                                  .look = spti_batch_interleaved_look,
                                                  .prepare = spti_batch_interleaved_prepare,
                                                  .solve = spti_batch_interleaved_solve,
                                                  .info = info,
                                                  .free = release};
