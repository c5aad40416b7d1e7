/* method.c -- recblock: recursive blocks: a triangle in level order is halved again and again; most of its entries end up in rectangles.
 * [L1 0; R L2] [x1; x2] = [b1; b2]: solve L1 x1 = b1; b2 := b2 - R x1 by a product that waits for nothing; solve L2 x2 = b2. L1 and L2 are
 * cut likewise. The triangles at the bottom are solved by the diagonal alone, level by level, or synchronisation-free (partition.c).
 * Source: [lu2020recblock]. Differs: the levels of the whole triangle serve all its parts, so rows are permuted once; the first level is
 * solved as the right-hand side is read; a rectangle above a mere diagonal solves for it in the same pass; long rows are cut in chunks,
 * and a counter finds the chunk that arrives last.
 * Wins: few levels, long rows. Loses: blocks of right-hand sides, where levelset passes no work block; deep problems, which become one
 * waiting triangle whatever their blocks. README.md has the picture and the rules.
 * Deterministic: yes; every sum has a fixed order (sums.cuh). */
#include "trsv/recblock/state.h"

#include <stdio.h>

#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "core/base/variant.h"

typedef spti_recblock_state state;

/* ---- parameters ---- */

enum { DEPTH_BY_RULE = -1 };

static sptrsm_status parse_variant(state *s, const char *text) {
  const spti_setting known[] = {{"depth", &s->tree.depth, 0, SPTI_RECBLOCK_MAX_DEPTH, NULL},
                                {"levels", &s->limits.levels, 0, 10000, NULL},
                                {"thin", &s->limits.thin_levels, 0, 10000, NULL},
                                {"thread", &s->limits.thread_row, 0, 1000000, NULL},
                                {"short", &s->limits.thread_apart, 1, INT32_MAX, NULL},
                                {"long", &s->limits.group_apart, 1, INT32_MAX, NULL},
                                {"chunk", &s->limits.chunk, 1, INT32_MAX, NULL},
                                {"waiting", &s->limits.waiting_row, 0, INT32_MAX, NULL}};
  return spti_variant_parse("recblock", text, known, (int)(sizeof known / sizeof *known));
}

/* ---- analysis ---- */

static sptrsm_status to_device(const sptrsm_context *context, void *to, const void *from, size_t bytes) {
  return spti_gpu_copy(context, to, bytes, from, bytes, bytes, 1, SPTI_TO_DEVICE);
}

/* Cuts the triangle; rows of the first level have no entries and are left out. */
static sptrsm_status cut(sptrsm_plan *plan, state *s, int32_t first) {
  spti_recblock_tree *tree = &s->tree;
  tree->n = plan->view.n;
  tree->first = first;
  if (tree->depth == DEPTH_BY_RULE) tree->depth = spti_recblock_depth(tree->n, plan->context->fp32_lanes);
  const int32_t bounds = spti_recblock_leaves(tree->depth) + 1, words = bounds + spti_recblock_blocks(tree->depth);
  SPTI_TRY(spti_host_alloc(&tree->bound, words, sizeof *tree->bound, "recblock cuts"));
  tree->base = tree->bound + bounds;
  int64_t segments = spti_recblock_cut(tree);
  s->entries = plan->view.nnz - (int64_t)(plan->view.head + plan->view.tail) * tree->n;
  if (segments >= INT32_MAX || s->entries > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED,
                     "recblock: %lld entries in %lld row parts, 2^31 at most; use a smaller depth or another method", (long long)s->entries,
                     (long long)segments);
  s->segments = (int32_t)segments;
  SPTI_TRY(spti_alloc(plan->context, &s->cuts, words, sizeof *s->cuts, "recblock cuts"));
  return to_device(plan->context, s->cuts, tree->bound, (size_t)words * sizeof *s->cuts);
}

/* Makes args->start: the running sum of the segments' lengths, with the marks of SPTI_RECBLOCK_IN_PANEL. */
static sptrsm_status count_segments(const sptrsm_plan *plan, const spti_recblock_pack_args *args) {
  void *temporary, *stream = plan->context->stream;
  size_t bytes;
  SPTI_CUDA(spti_recblock_count_launch(args, stream));
  SPTI_CUDA(spti_scan_narrow_launch(NULL, &bytes, args->count, args->start, args->segments, stream));
  SPTI_TRY(spti_alloc(plan->context, &temporary, (int64_t)bytes, 1, "scan buffer"));
  sptrsm_status status =
      spti_gpu_check(spti_scan_narrow_launch(temporary, &bytes, args->count, args->start, args->segments, stream), "recblock: offsets");
  spti_free(plan->context, temporary);
  SPTI_TRY(status);
  SPTI_CUDA(spti_recblock_mark_launch(args, stream));
  return SPTRSM_OK;
}

/* Sorts the entries into blocks; `count`: finds the segments first, which a pattern needs only once. */
static sptrsm_status pack(const sptrsm_plan *plan, const state *s, bool count) {
  int32_t *scratch;
  SPTI_TRY(spti_alloc(plan->context, &scratch, (int64_t)plan->view.n + (count ? s->segments : 0), sizeof *scratch, "recblock places"));
  const spti_recblock_pack_args args = {.view = plan->view,
                                        .order = s->order,
                                        .place = scratch,
                                        .first = s->tree.first,
                                        .depth = s->tree.depth,
                                        .bound = s->cuts,
                                        .base = s->cuts + (s->tree.base - s->tree.bound),
                                        .segments = s->segments,
                                        .count = scratch + plan->view.n,
                                        .start = s->start,
                                        .from = s->from,
                                        .val = s->val,
                                        .diag = s->diag};
  sptrsm_status status = count ? count_segments(plan, &args) : SPTRSM_OK;
  if (status == SPTRSM_OK) status = spti_gpu_check(spti_recblock_fill_launch(&args, plan->context->stream), "recblock: filling");
  spti_free(plan->context, scratch);
  return status;
}

static sptrsm_status pack_blocks(sptrsm_plan *plan, state *s) {
  const size_t value_bytes = sptrsm_dtype_bytes(plan->view.dtype);
  SPTI_TRY(spti_alloc(plan->context, &s->start, (int64_t)s->segments + 1, sizeof *s->start, "recblock rows"));
  SPTI_TRY(spti_alloc(plan->context, &s->from, s->entries, sizeof *s->from, "recblock columns"));
  SPTI_TRY(spti_alloc(plan->context, &s->val, s->entries, value_bytes, "recblock values"));
  SPTI_TRY(spti_alloc(plan->context, &s->diag, plan->view.n, value_bytes, "recblock diagonal"));
  return pack(plan, s, true);
}

/* Counts the rows of the surveyed steps on the device, and fetches the counts. */
static sptrsm_status count_facts(const sptrsm_plan *plan, const state *s, const spti_recblock_step *steps, int32_t *device_facts,
                                 int32_t *facts) {
  const size_t bytes = (size_t)s->step_count * SPTI_RECBLOCK_FACTS * sizeof *facts;
  const spti_recblock_facts_args args = {.steps = steps,
                                         .count = s->step_count,
                                         .segments = s->segments,
                                         .start = s->start,
                                         .thread_apart = s->limits.thread_apart,
                                         .group_apart = s->limits.group_apart,
                                         .chunk = s->limits.chunk,
                                         .facts = device_facts};
  SPTI_CUDA(spti_recblock_facts_launch(&args, plan->context->stream));
  return spti_gpu_fetch(plan->context, facts, device_facts, bytes);
}

/* Lists the rows of the steps that need lists. taken: scratch on the device, three words a step. */
static sptrsm_status make_lists(sptrsm_plan *plan, state *s, spti_recblock_step *device_steps, int32_t *taken) {
  const spti_recblock_summary *m = &s->summary;
  const int64_t words = (int64_t)m->lists + 2 * (int64_t)m->records + m->pieces;
  if (words == 0) return SPTRSM_OK;
  SPTI_TRY(spti_alloc(plan->context, &s->list_words, words, sizeof *s->list_words, "recblock lists"));
  SPTI_TRY(to_device(plan->context, device_steps, s->steps, (size_t)s->step_count * sizeof *s->steps));
  const spti_recblock_lists_args args = {.steps = device_steps,
                                         .count = s->step_count,
                                         .segments = s->segments,
                                         .start = s->start,
                                         .lists = spti_recblock_lists_of(s),
                                         .taken = taken};
  SPTI_CUDA(spti_recblock_lists_launch(&args, plan->context->stream));
  return SPTRSM_OK;
}

typedef struct {
  spti_recblock_step *steps; /* device */
  int32_t *words;            /* device: facts, then three words of scratch a step for the lists */
  int32_t *facts;            /* host */
} scratch;

static sptrsm_status choose_with(sptrsm_plan *plan, state *s, scratch *t) {
  const int32_t surveyed = s->step_count;
  SPTI_TRY(spti_host_alloc(&t->facts, (int64_t)surveyed * SPTI_RECBLOCK_FACTS, sizeof *t->facts, "recblock facts"));
  SPTI_TRY(spti_alloc(plan->context, &t->steps, surveyed, sizeof *t->steps, "recblock steps"));
  SPTI_TRY(spti_alloc(plan->context, &t->words, (int64_t)surveyed * (SPTI_RECBLOCK_FACTS + 3), sizeof *t->words, "recblock facts"));
  SPTI_TRY(to_device(plan->context, t->steps, s->steps, (size_t)surveyed * sizeof *s->steps));
  SPTI_TRY(count_facts(plan, s, t->steps, t->words, t->facts));
  s->step_count = spti_recblock_choose(s->steps, surveyed, t->facts, &s->tree, &s->limits, &s->summary);
  return make_lists(plan, s, t->steps, t->words + (int64_t)surveyed * SPTI_RECBLOCK_FACTS);
}

static sptrsm_status choose_steps(sptrsm_plan *plan, state *s, const spti_gpu_levels *levels) {
  scratch t = {0};
  s->summary.panel_row = s->tree.n;
  s->step_count = spti_recblock_survey(NULL, &s->tree, levels->ptr, levels->count, &s->limits);
  if (s->step_count == 0) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&s->steps, s->step_count, sizeof *s->steps, "recblock steps"));
  spti_recblock_survey(s->steps, &s->tree, levels->ptr, levels->count, &s->limits);
  sptrsm_status status = choose_with(plan, s, &t);
  spti_free(plan->context, t.words);
  spti_free(plan->context, t.steps);
  spti_host_free(t.facts);
  return status;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  const int32_t n = plan->view.n;
  const spti_gpu_levels *levels;
  state *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "recblock state"));
  *s = (state){.limits = spti_recblock_defaults, .tree.depth = DEPTH_BY_RULE};
  plan->state = s;
  SPTI_TRY(parse_variant(s, plan->variant));
  if (n == 0) return SPTRSM_OK;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  s->tree.longest = levels->longest;
  SPTI_TRY(cut(plan, s, levels->ptr[1]));
  const size_t bytes = (size_t)n * sizeof *s->order;
  SPTI_TRY(spti_alloc(plan->context, &s->order, n, sizeof *s->order, "recblock order"));
  SPTI_TRY(spti_gpu_copy(plan->context, s->order, bytes, levels->order, bytes, bytes, 1, SPTI_ON_DEVICE));
  SPTI_TRY(pack_blocks(plan, s));
  SPTI_TRY(choose_steps(plan, s, levels));
  spti_plan_drop_levels(plan);
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) { return plan->view.n == 0 ? SPTRSM_OK : pack(plan, plan->state, false); }

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  void *const memory[] = {s->cuts, s->order, s->start, s->from, s->val, s->diag, s->list_words};
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) spti_free(plan->context, memory[i]);
  spti_host_free(s->steps);
  spti_host_free(s->tree.bound);
  spti_host_free(s);
}

/* Numbers of triangles by kind, and of rectangles by lanes a row (with all rows + with a list); share of the entries in rectangles. */
static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const spti_recblock_summary *m = &s->summary;
  const double share = m->entries > 0 ? 100.0 * (double)m->rectangle_entries / (double)m->entries : 0;
  snprintf(info->parameters, sizeof info->parameters,
           "depth=%d diagonal=%d levels=%d syncfree=%d thread=%d+%d group=%d+%d empty=%d rectangles=%.0f%% launches=%d",
           s->tree.depth < 0 ? 0 : s->tree.depth, m->diagonal, m->levels, m->syncfree, m->thread, m->thread_listed, m->group,
           m->group_listed, m->empty, share, s->step_count + 1);
  const size_t value_bytes = sptrsm_dtype_bytes(plan->view.dtype), rows = (size_t)plan->view.n, entries = (size_t)s->entries;
  const size_t words = rows + (size_t)s->segments + 1 + entries + (size_t)m->lists + 2 * (size_t)m->records + (size_t)m->pieces;
  info->plan_bytes = sizeof *s + (size_t)s->step_count * sizeof *s->steps + words * sizeof *s->order + (rows + entries) * value_bytes;
}

const spti_method spti_method_recblock = {
    .name = "recblock",
    .summary = "recursive blocks in level order: triangles by kind, rectangles without waiting",
    .cite = "lu2020recblock",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS | SPTI_REFERENCE,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .work_bytes = spti_recblock_work_bytes,
    .work_create = spti_recblock_work_create,
    .work_free = spti_recblock_work_free,
    .solve_between = spti_recblock_solve_between,
};
