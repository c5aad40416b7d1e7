/* syncfree_csc -- synchronisation-free substitution by columns, adaptive over right-hand sides.
 * Column j: wait until in_degree[j] is 0; x(j,:) = w(j,:) / t(j,j); for i below: w(i,:) -= t(i,j) x(j,:), in_degree[i]--.
 * Source: [liu2017syncfree] Algorithm 4 and Fig. 6; the kernels and what differs are in syncfree_csc_kernels.cu.
 * Wins: next to no analysis (one count over the entries), wide problems with short columns. Loses: long rows, whose sums are
 * atomics on one address; deep problems, where each level costs a release, an acquire and the atomics between them.
 * Deterministic: no (atomic sums). */
#include "trsm/syncfree_csc_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/alloc.h"
#include "core/gpu.h"
#include "core/method.h"

/* What a variant "syncfree-csc:tile=64,first=1,..." may set; the defaults are measured, see docs/benchmarks.md. */
typedef struct {
  int32_t tile;   /* right-hand sides per warp: 32, 64 or 128 */
  int32_t first;  /* entries updated before the first release */
  int32_t second; /* and before the second */
  int32_t warps;  /* per thread block */
  int32_t order;  /* 0: tiles of a column side by side; 1: tile after tile; -1: by the size of the panel */
} settings;

typedef struct {
  int32_t *in_degree; /* [n], device */
  settings set;
} state;

enum { DEFAULT_P = 8, DEFAULT_Q = 8192 };
static const int64_t L2_SHARE = (int64_t)32 << 20; /* bytes of a panel that stay in the L2 cache while all its tiles run */

static sptrsm_status parse_setting(settings *s, const char *key, size_t length, long value) {
  const struct { const char *key; int32_t *target; long least, most; } known[] = {
      {"tile", &s->tile, 32, 128}, {"first", &s->first, 1, 32}, {"second", &s->second, 1, 32}, {"warps", &s->warps, 1, SPTI_SYNCFREE_CSC_MAX_WARPS},
      {"order", &s->order, 0, 1}};
  for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
    if (strlen(known[i].key) != length || memcmp(known[i].key, key, length) != 0) continue;
    if (value < known[i].least || value > known[i].most || (i == 0 && (value & (value - 1))))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "syncfree-csc: %s=%ld is not in %ld..%ld%s", known[i].key, value, known[i].least, known[i].most,
                       i == 0 ? " or not a power of two" : "");
    *known[i].target = (int32_t)value;
    return SPTRSM_OK;
  }
  return spti_fail(SPTRSM_ERR_ARGUMENT, "syncfree-csc: unknown parameter \"%.*s\"; known are tile, first, second, warps, order", (int)length, key);
}

/* "key=value,key=value" */
static sptrsm_status parse_variant(settings *s, const char *text) {
  while (*text) {
    size_t length = strcspn(text, "=,");
    char *end = NULL;
    long value = text[length] == '=' ? strtol(text + length + 1, &end, 10) : 0;
    if (!end || end == text + length + 1 || (*end && *end != ','))
      return spti_fail(SPTRSM_ERR_ARGUMENT, "syncfree-csc: expected key=value[,key=value...] in \"%s\"", text);
    SPTI_TRY(parse_setting(s, text, length, value));
    text = *end ? end + 1 : end;
  }
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  state *s;
  settings set = {.tile = 32, .first = 1, .second = 4, .warps = 4, .order = -1};
  SPTI_TRY(parse_variant(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "syncfree-csc state"));
  *s = (state){.set = set};
  plan->state = s;
  SPTI_TRY(spti_alloc(plan->context, &s->in_degree, plan->view.n, sizeof *s->in_degree, "syncfree-csc in-degrees"));
  spti_syncfree_csc_count_args args = {.view = plan->view, .in_degree = s->in_degree};
  SPTI_CUDA(spti_syncfree_csc_count_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  if (!s) return;
  spti_free(plan->context, s->in_degree);
  spti_host_free(s);
}

static int32_t p_of(const sptrsm_plan *plan) { return plan->options.p ? plan->options.p : DEFAULT_P; }
static int32_t q_of(const sptrsm_plan *plan) { return plan->options.q ? plan->options.q : DEFAULT_Q; }

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  static const char *const selects[] = {"adaptive", "rhs", "column"};
  const state *s = plan->state;
  snprintf(info->parameters, sizeof info->parameters, "select=%s p=%d q=%d tile=%d first=%d second=%d warps=%d", selects[plan->options.select],
           p_of(plan), q_of(plan), s->set.tile, s->set.first, s->set.second, s->set.warps);
  info->plan_bytes = (size_t)plan->view.n * sizeof *s->in_degree + sizeof *s;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  *out = spti_syncfree_csc_work_bytes(plan->view.n, spti_syncfree_csc_tiles(panel, s->set.tile / 32));
  return SPTRSM_OK;
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  return spti_alloc(plan->context, work, (int64_t)bytes, 1, "syncfree-csc counters");
}

static void work_free(void *work, const sptrsm_plan *plan) { spti_free(plan->context, work); }

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  const state *s = plan->state;
  int64_t panel_bytes = (int64_t)plan->view.n * W->width * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  bool tile_fastest = s->set.order >= 0 ? s->set.order == 0 : panel_bytes <= L2_SHARE;
  spti_syncfree_csc_args args = {
      .view = plan->view, .work = W->data, .ld = W->ld, .width = W->width, .row_words = s->set.tile / 32,
      .select = plan->options.select, .p = p_of(plan), .q = q_of(plan), .first_chunk = s->set.first, .second_chunk = s->set.second,
      .block_warps = s->set.warps, .order = tile_fastest ? SPTI_TILE_FASTEST : SPTI_COLUMN_FASTEST, .in_degree = s->in_degree,
      .sync = {.lost = plan->context->lost_device, .spin_limit = SPTI_SPIN_LIMIT}};
  spti_syncfree_csc_bind(&args, work);
  SPTI_CUDA(spti_syncfree_csc_start_launch(&args, plan->context->stream));
  SPTI_CUDA(spti_syncfree_csc_solve_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

const spti_method spti_method_syncfree_csc = {
    .name = "syncfree-csc",
    .summary = "sync-free push by columns, adaptive over right-hand sides (p, q)",
    .cite = "liu2017syncfree",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PUSH,
    .flags = SPTI_CAPTURABLE,
    .analyse = analyse,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve = solve,
};
