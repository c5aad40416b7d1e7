/* method.c -- syncfree-csc: sync-free substitution by columns, adaptive over right-hand sides; a kernel of its own for one right-hand
 * side. Column j: wait until in_degree[j] is 0; x(j,:) = w(j,:) / t(j,j); for i below: w(i,:) -= t(i,j) x(j,:), in_degree[i]--.
 * Source: [liu2017syncfree] Algorithm 4 and Fig. 6; kernels.cu says what differs. One right-hand side: Algorithm 3 with its two levels of
 * sums and in-degrees, in one_kernels.cu.
 * Wins: next to no analysis (one count over the entries), wide problems with short columns. Loses: long rows, whose sums are atomics on one
 * address; deep problems, where each level costs a release, an acquire and the atomics between them.
 * Deterministic: no (atomic sums). README.md has more. */
#include "trsm/syncfree_csc/kernels.h"

#include <stdio.h>
#include <string.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "core/base/variant.h"
#include "trsm/syncfree_csc/one_kernels.h"

/* The parameters of a name like "syncfree-csc:p=4,ready=1"; the defaults are measured, see README.md. */
typedef struct {
  int32_t p, q;   /* thresholds of the adaptive rule; 0: those of the options, else of the device */
  int32_t select; /* an sptrsm_select; -1: that of the options */
  int32_t whole;  /* columns of up to this many entries release all their rows together; longer ones release the first row alone */
  int32_t second; /* entries between the first and the second release */
  int32_t warps;  /* per thread block; 0: the defaults below */
  int32_t two;    /* use the kernel for one right-hand side on any pattern, with this spti_syncfree_csc_inside; -1: by the pattern */
  int32_t singly; /* blocks of up to this many right-hand sides go through that kernel, one after another */
  int32_t ready;  /* columns in the order of their numbers (0) or of their readiness (1); -1: by the pattern */
  spti_syncfree_csc_limits limits;
} settings;

typedef struct {
  settings set;
  int32_t *in_degree; /* [n]; these are in device memory */
  int64_t *items;     /* [item_count], or NULL: columns as they are numbered */
  int64_t item_count;
  int32_t *part_first; /* [n] and */
  int32_t *target;     /* [nnz], or both NULL: no long rows */
  int32_t parts;
  bool segmented; /* there are long columns */
} state;

/* p and q by device, found by sptrsm-bench --tune; the last row is for all other devices. */
static const struct {
  const char *device;
  int32_t p, q;
} tuned[] = {
#define TUNED(device, p, q) {device, p, q},
#include "trsm/syncfree_csc/tuned.def"
#undef TUNED
};
enum { TUNED_ROWS = sizeof tuned / sizeof tuned[0], DEFAULT_WARPS = 4 };
/* Warps of a thread block by spti_syncfree_csc_inside: 16 is the paper's choice; with solutions in shared memory larger blocks pay. */
static const int32_t DEFAULT_ONE_WARPS[] = {16, 16, 32};
/* Long columns and rows, for which one warp, or one address for all atomics, is the bottleneck. */
static const spti_syncfree_csc_limits LIMITS = {.split_above = 4096, .segment = 512, .gather_above = 1024, .share = 128};
/* The order of readiness costs about one solve. It pays where many short columns keep the resident warps waiting, and on large grids
 * (README.md). */
enum { READY_ORDER_ABOVE = 32768, READY_ORDER_LENGTH = 8, LARGE_ABOVE = 196608, LARGE_LENGTH = 32 };
/* Matrices up to this order are not surveyed: their longest rows and columns cost less than the search for them. */
enum { SURVEY_ABOVE = 20000 };

static const char *const select_names[] = {[SPTRSM_SELECT_ADAPTIVE] = "adaptive",
                                           [SPTRSM_SELECT_RHS] = "rhs",
                                           [SPTRSM_SELECT_COLUMN] = "column",
                                           [SPTRSM_SELECT_COLUMN + 1] = NULL};

static int tuned_row(const char *device) {
  int r = 0;
  while (r < TUNED_ROWS - 1 && strcmp(tuned[r].device, device) != 0) r++;
  return r;
}

static sptrsm_status parse_variant(settings *s, const char *text) {
  const spti_setting known[] = {{"p", &s->p, 1, INT32_MAX, NULL},
                                {"q", &s->q, 1, INT32_MAX, NULL},
                                {"select", &s->select, 0, 0, select_names},
                                {"whole", &s->whole, 0, 32, NULL},
                                {"second", &s->second, 1, 31, NULL},
                                {"warps", &s->warps, 1, SPTI_SYNCFREE_CSC_ONE_MAX_WARPS, NULL},
                                {"two", &s->two, SPTI_CSC_ONE_GLOBAL, SPTI_CSC_ONE_VALUES, NULL},
                                {"singly", &s->singly, 0, SPTI_SYNCFREE_CSC_TILE, NULL},
                                {"ready", &s->ready, 0, 1, NULL},
                                {"split", &s->limits.split_above, 1, INT32_MAX, NULL},
                                {"segment", &s->limits.segment, 1, INT32_MAX, NULL},
                                {"gather", &s->limits.gather_above, 1, INT32_MAX, NULL},
                                {"share", &s->limits.share, 1, INT32_MAX, NULL}};
  return spti_variant_parse("syncfree-csc", text, known, (int)(sizeof known / sizeof *known));
}

/* What the name did not set: p, q and select of the options, which are short forms of these parameters; else p and q of the device. */
static void complete(settings *s, const sptrsm_plan *plan) {
  const sptrsm_options *options = &plan->options;
  const int row = tuned_row(plan->context->description);
  if (s->p == 0) s->p = options->p ? options->p : tuned[row].p;
  if (s->q == 0) s->q = options->q ? options->q : tuned[row].q;
  if (s->select < 0) s->select = (int32_t)options->select;
}

/* Accumulators for long rows, which only some patterns have. */
static sptrsm_status gather_long_rows(sptrsm_plan *plan, state *s, int32_t parts) {
  SPTI_TRY(spti_alloc(plan->context, &s->target, plan->view.nnz, sizeof *s->target, "syncfree-csc targets"));
  spti_syncfree_csc_target_args args = {
      .view = plan->view, .limits = s->set.limits, .in_degree = s->in_degree, .part_first = s->part_first, .target = s->target};
  SPTI_CUDA(spti_syncfree_csc_target_launch(&args, plan->context->stream));
  s->parts = parts;
  return SPTRSM_OK;
}

static sptrsm_status order_by_readiness(sptrsm_plan *plan, state *s, int32_t *facts, int32_t segments) {
  const int32_t n = plan->view.n;
  int32_t *scratch;
  SPTI_TRY(spti_alloc(plan->context, &s->items, (int64_t)n + segments, sizeof *s->items, "syncfree-csc order"));
  SPTI_TRY(spti_alloc(plan->context, &scratch, (int64_t)n + SPTI_SYNCFREE_CONTROL_WORDS, sizeof *scratch, "syncfree-csc scratch"));
  s->item_count = (int64_t)n + segments;
  spti_syncfree_csc_order_args args = {.view = plan->view,
                                       .limits = s->set.limits,
                                       .in_degree = s->in_degree,
                                       .counters = scratch + SPTI_SYNCFREE_CONTROL_WORDS,
                                       .facts = facts,
                                       .items = s->items,
                                       .item_count = s->item_count,
                                       .sync = spti_gpu_syncfree(plan->context, scratch)};
  sptrsm_status status = spti_gpu_check(spti_syncfree_csc_order_launch(&args, plan->context->stream), "the order of columns");
  spti_free(plan->context, scratch);
  return status;
}

static bool wants_ready_order(const settings *set, const spti_view *v) {
  if (set->ready >= 0) return set->ready == 1;
  const int64_t most = v->n > LARGE_ABOVE ? LARGE_LENGTH : READY_ORDER_LENGTH;
  return v->n > READY_ORDER_ABOVE && v->nnz < v->n * most;
}

static sptrsm_status survey(sptrsm_plan *plan, state *s, int32_t *facts) {
  const spti_view *v = &plan->view;
  int32_t found[SPTI_CSC_FACTS];
  spti_syncfree_csc_survey_args args = {
      .view = *v, .limits = s->set.limits, .in_degree = s->in_degree, .facts = facts, .part_first = s->part_first};
  SPTI_CUDA(spti_syncfree_csc_survey_launch(&args, plan->context->stream));
  SPTI_TRY(spti_gpu_fetch(plan->context, found, facts, sizeof found));
  if (found[SPTI_CSC_PARTIALS] > 0) SPTI_TRY(gather_long_rows(plan, s, found[SPTI_CSC_PARTIALS]));
  s->segmented = found[SPTI_CSC_SEGMENTS] > 0;
  if (s->segmented || wants_ready_order(&s->set, v)) return order_by_readiness(plan, s, facts, found[SPTI_CSC_SEGMENTS]);
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  const int32_t n = plan->view.n;
  state *s;
  int32_t *facts;
  settings set = {.select = -1, .whole = 4, .second = 4, .two = -1, .singly = 3, .ready = -1, .limits = LIMITS};
  SPTI_TRY(parse_variant(&set, plan->variant));
  complete(&set, plan);
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "syncfree-csc state"));
  *s = (state){.set = set, .item_count = n};
  plan->state = s;
  spti_plan_drop_levels(plan); /* which auto looked at */
  if (n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_alloc(plan->context, &s->in_degree, n, sizeof *s->in_degree, "syncfree-csc in-degrees"));
  spti_syncfree_csc_count_args args = {.view = plan->view, .in_degree = s->in_degree};
  SPTI_CUDA(spti_syncfree_csc_count_launch(&args, plan->context->stream));
  if (n <= SURVEY_ABOVE && set.ready < 1) return SPTRSM_OK;
  SPTI_TRY(spti_alloc(plan->context, &s->part_first, n, sizeof *s->part_first, "syncfree-csc long rows"));
  SPTI_TRY(spti_alloc(plan->context, &facts, SPTI_CSC_FACTS, sizeof *facts, "syncfree-csc survey"));
  sptrsm_status status = survey(plan, s, facts);
  spti_free(plan->context, facts);
  return status;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  void *const memory[] = {s->in_degree, s->items, s->part_first, s->target};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) spti_free(plan->context, memory[i]);
  spti_host_free(s);
}

static int32_t warps_of(const settings *set) {
  if (set->warps == 0) return DEFAULT_WARPS;
  return set->warps < SPTI_SYNCFREE_CSC_MAX_WARPS ? set->warps : SPTI_SYNCFREE_CSC_MAX_WARPS;
}

/* Do `width` right-hand sides go one by one through the kernel for one? It takes columns in the order of their numbers, since the columns
 * of a thread block must be neighbours; up to LARGE_ABOVE columns that is worth more than the order of readiness. */
static bool one_by_one(const sptrsm_plan *plan, int32_t width) {
  const state *s = plan->state;
  if (s->set.select != SPTRSM_SELECT_ADAPTIVE || width > s->set.singly) return false;
  if (s->set.two >= 0) return true;
  if (s->set.ready == 1 || s->segmented) return false;
  return !s->items || (width == 1 && plan->view.n <= LARGE_ABOVE);
}

static spti_syncfree_csc_inside inside_of(const settings *set) {
  return set->two >= 0 ? (spti_syncfree_csc_inside)set->two : SPTI_CSC_ONE_VALUES;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  static const char *const ones[] = {"global", "sums", "values"};
  const state *s = plan->state;
  snprintf(info->parameters, sizeof info->parameters, "select=%s p=%d q=%d whole=%d second=%d warps=%d order=%s parts=%d one=%s",
           select_names[s->set.select], s->set.p, s->set.q, s->set.whole, s->set.second, warps_of(&s->set), s->items ? "ready" : "natural",
           s->parts, one_by_one(plan, 1) ? ones[inside_of(&s->set)] : "as-block");
  info->plan_bytes = sizeof *s + (size_t)plan->view.n * sizeof *s->in_degree;
  if (s->part_first) info->plan_bytes += (size_t)plan->view.n * sizeof *s->part_first;
  if (s->items) info->plan_bytes += (size_t)s->item_count * sizeof *s->items;
  if (s->target) info->plan_bytes += (size_t)plan->view.nnz * sizeof *s->target;
}

static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  const state *s = plan->state;
  *out = spti_syncfree_csc_work_bytes(plan->view.n, spti_syncfree_csc_tiles(panel), s->parts, panel, sptrsm_dtype_bytes(plan->view.dtype));
  return SPTRSM_OK;
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  size_t bytes;
  SPTI_TRY(work_bytes(&bytes, plan, panel));
  return spti_alloc(plan->context, work, (int64_t)bytes, 1, "syncfree-csc counters");
}

static void work_free(void *work, const sptrsm_plan *plan) { spti_free(plan->context, work); }

static sptrsm_status solve_one_by_one(const sptrsm_plan *plan, void *work, const spti_syncfree_csc_args *block) {
  const settings *set = &((const state *)plan->state)->set;
  spti_syncfree_csc_one_args one = {.solve = *block, .inside = inside_of(set)};
  one.solve.width = 1;
  one.solve.block_warps = set->warps ? set->warps : DEFAULT_ONE_WARPS[one.inside];
  spti_syncfree_csc_bind(&one.solve, work);
  for (int32_t k = 0; k < block->width; k++) {
    one.solve.work = (char *)block->work + (size_t)k * (size_t)block->value_bytes;
    SPTI_CUDA(spti_syncfree_csc_start_launch(&one.solve, plan->context->stream));
    SPTI_CUDA(spti_syncfree_csc_one_launch(&one, plan->context->stream));
  }
  return SPTRSM_OK;
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  const state *s = plan->state;
  spti_syncfree_csc_args args = {.view = plan->view,
                                 .value_bytes = (int32_t)sptrsm_dtype_bytes(plan->view.dtype),
                                 .work = W->data,
                                 .ld = W->ld,
                                 .width = W->width,
                                 .select = (sptrsm_select)s->set.select,
                                 .p = s->set.p,
                                 .q = s->set.q,
                                 .whole_column = s->set.whole,
                                 .second_chunk = s->set.second,
                                 .block_warps = warps_of(&s->set),
                                 .limits = s->set.limits,
                                 .in_degree = s->in_degree,
                                 .items = s->items,
                                 .item_count = s->item_count,
                                 .part_first = s->part_first,
                                 .target = s->target,
                                 .parts = s->parts,
                                 .sync = spti_gpu_syncfree(plan->context, NULL)};
  if (one_by_one(plan, W->width)) return solve_one_by_one(plan, work, &args);
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
    .flags = SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .free = release,
    .describe = describe,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = work_free,
    .solve = solve,
};
