/* method.c -- gather: deterministic substitution for blocks of right-hand sides: every row gathers the solutions it needs.
 * Row i: x(i,:) = (b(i,:) - sum of t(i,j) x(j,:)) / t(i,i), by a warp for each row and tile of right-hand sides.
 * Source: the pull form of synchronisation-free substitution ([zhang2021yy], for one right-hand side), for blocks. Differs: rows packed in
 * level order, and so are the entries of all but long rows; solutions that are their own flags; few instructions a term; long rows shared
 * by several warps; B read and X written once, in any layout, permuted and scaled (items.cuh has the protocol).
 * Wins: sparse and moderately dense rows, from 8 right-hand sides on; where every run must give the same bits. Loses: factors with
 * supernodes, where waiting for rows instead of panels takes too long; an analysis that few solves follow (it finds level sets).
 * Deterministic: yes, for every panel width, lane split and stream. README.md has more. */
#include "trsm/gather/kernels.h"

#include <stdio.h>

#include "core/context/alloc.h"
#include "core/base/carve.h"
#include "core/context/gpu.h"
#include "core/levels/kernels.h"
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "core/two_blocks/two_blocks.h"
#include "core/base/variant.h"

/* The parameters of a name like "gather:form=slots,split=1024". */
typedef struct {
  int32_t form; /* an spti_gather_form, or BY_RULE */
  spti_gather_split split;
  int32_t sort; /* rows of up to this many entries have them in the order of the levels */
} settings;

typedef struct {
  settings set;
  spti_pull_rows rows;
  int32_t *row;   /* [n], device: row of each place, or ~row where no row reads its solution */
  int32_t *items; /* [SPTI_GATHER_ITEM_WORDS * item_count], device; NULL: no long rows */
  int64_t item_count;
  spti_gather_form narrow; /* for up to 8 right-hand sides */
  int32_t level;           /* mean rows of a level */
} state;

/* A row is cut if it has several times as many entries as the mean row, since the rows after its level wait for it; the pieces take no
 * longer than a few hops. In wide levels other rows keep the device busy meanwhile, so only very long rows are cut. */
enum { CUT_ABOVE_MEAN = 4, CUT_LEAST = 32, CUT_MOST = 256, CUT_LESS_LEVELS = 3000 };
/* Rows of a level times right-hand sides from which on a level keeps all warps busy, so that two right-hand sides a lane are better. */
static const int64_t PAIRS_FROM = 48000;
/* Default of `sort`: in rows of up to this many entries the entry that is ready last comes last. */
enum { SORT = 64 };
/* Up to 8 right-hand sides. SLOTS: rows of SLOTS_FROM entries and more in levels of SLOT_LEVELS rows and more. LANES: shorter rows in
 * levels of WIDE_LEVELS rows and more, where hardly any row waits, so that items that share a warp seldom wait for each other. */
enum { SLOT_LEVELS = 1500, SLOTS_FROM = 5, WIDE_LEVELS = 6000 };
enum { BY_RULE = SPTI_GATHER_LANES + 1 };

/* ---- parameters ---- */

static const char *const form_names[] = {[SPTI_GATHER_ROWS] = "rows",
                                         [SPTI_GATHER_PAIRS] = "pairs",
                                         [SPTI_GATHER_SLOTS] = "slots",
                                         [SPTI_GATHER_LANES] = "lanes",
                                         [BY_RULE] = NULL};

static sptrsm_status parse_variant(settings *s, const char *text) {
  const spti_setting known[] = {{"form", &s->form, 0, 0, form_names},
                                {"split", &s->split.above, 1, INT32_MAX, NULL},
                                {"segment", &s->split.segment, 1, INT32_MAX, NULL},
                                {"sort", &s->sort, 0, INT32_MAX, NULL}};
  return spti_variant_parse("gather", text, known, (int)(sizeof known / sizeof *known));
}

/* ---- analysis ---- */

/* Places the arrays that only cutting needs in one allocation; returns its size. */
static size_t lay_out_parts(spti_gather_pattern_args *p, int32_t **before, void *memory) {
  spti_carver c = {.base = memory};
  p->parts = spti_carve(&c, p->n, sizeof *p->parts);
  p->sums = spti_carve(&c, spti_pull_rows_chunks(p->n), sizeof *p->sums);
  p->parts_before = *before = spti_carve(&c, (int64_t)p->n + 1, sizeof **before);
  return c.used;
}

static sptrsm_status make_items(sptrsm_plan *plan, state *s, spti_gather_pattern_args *p, int32_t *before) {
  const spti_pull_rows_args sum = {.view = {.n = p->n}, .count = p->parts, .sums = p->sums, .start = before};
  void *stream = plan->context->stream;
  int32_t parts;
  SPTI_CUDA(spti_gather_parts_launch(p, stream));
  SPTI_CUDA(spti_pull_rows_start_launch(&sum, stream));
  SPTI_TRY(spti_gpu_fetch(plan->context, &parts, before + p->n, sizeof parts));
  s->item_count = (int64_t)p->n + parts;
  if (s->item_count > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "gather: %d rows and %d pieces of long rows are beyond 32 bits; use a larger segment", p->n,
                     parts);
  SPTI_TRY(spti_alloc(plan->context, &s->items, s->item_count, SPTI_GATHER_ITEM_WORDS * sizeof *s->items, "gather items"));
  p->items = s->items;
  p->item_count = s->item_count;
  SPTI_CUDA(spti_gather_items_launch(p, stream));
  return SPTRSM_OK;
}

static sptrsm_status cut_long_rows(sptrsm_plan *plan, state *s, spti_gather_pattern_args *p) {
  int32_t *before;
  void *memory;
  SPTI_TRY(spti_alloc(plan->context, &memory, (int64_t)lay_out_parts(p, &before, NULL), 1, "gather long rows"));
  lay_out_parts(p, &before, memory);
  const sptrsm_status status = make_items(plan, s, p, before);
  spti_free(plan->context, memory);
  return status;
}

static spti_gather_form narrow_form(int64_t row, int32_t level) {
  if (row >= SLOTS_FROM) return level >= SLOT_LEVELS ? SPTI_GATHER_SLOTS : SPTI_GATHER_ROWS;
  return level >= WIDE_LEVELS ? SPTI_GATHER_LANES : SPTI_GATHER_ROWS;
}

/* Sets what the name did not set. */
static void choose_split(spti_gather_split *split, int64_t row, int32_t level) {
  int64_t above = level < CUT_LESS_LEVELS ? CUT_ABOVE_MEAN * row : CUT_MOST;
  if (above < CUT_LEAST) above = CUT_LEAST;
  if (above > CUT_MOST) above = CUT_MOST;
  if (split->above == 0) split->above = (int32_t)above;
  if (split->segment == 0) split->segment = split->above / 2 + split->above % 2;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  const int32_t n = plan->view.n;
  state *s;
  const spti_gpu_levels *levels;
  settings set = {.form = BY_RULE, .sort = SORT};
  SPTI_TRY(parse_variant(&set, plan->variant));
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "gather state"));
  *s = (state){.set = set, .item_count = n};
  plan->state = s;
  SPTI_TRY(spti_plan_level_order(plan, &levels));
  if (n == 0) return SPTRSM_OK;
  const int64_t entries = spti_view_entries(&plan->view);
  s->level = n / levels->count;
  choose_split(&s->set.split, entries / n, s->level);
  SPTI_TRY(spti_pull_rows_create_sorted(&s->rows, &plan->view, plan->context, levels->order, set.sort));
  SPTI_TRY(spti_alloc(plan->context, &s->row, n, sizeof *s->row, "gather rows"));
  spti_gather_pattern_args p = {.n = n,
                                .entries = (int32_t)entries,
                                .order = s->rows.row,
                                .start = s->rows.start,
                                .from = s->rows.from,
                                .row = s->row,
                                .split = s->set.split};
  SPTI_CUDA(spti_gather_rows_launch(&p, plan->context->stream));
  if (levels->longest > s->set.split.above) SPTI_TRY(cut_long_rows(plan, s, &p));
  s->narrow = narrow_form(entries / n, s->level);
  spti_plan_drop_levels(plan);
  return SPTRSM_OK;
}

static sptrsm_status update_values(sptrsm_plan *plan) {
  const state *s = plan->state;
  return plan->view.n > 0 ? spti_pull_rows_update(&s->rows, &plan->view, plan->context) : SPTRSM_OK;
}

static void release(sptrsm_plan *plan) {
  state *s = plan->state;
  spti_pull_rows_free(&s->rows, plan->context);
  spti_free(plan->context, s->row);
  spti_free(plan->context, s->items);
  spti_host_free(s);
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const state *s = plan->state;
  const int64_t parts = s->item_count - plan->view.n;
  int used = snprintf(info->parameters, sizeof info->parameters, "split=%d segment=%d parts=%lld", s->set.split.above, s->set.split.segment,
                      (long long)parts);
  if (s->set.form != BY_RULE)
    snprintf(info->parameters + used, sizeof info->parameters - (size_t)used, " form=%s", form_names[s->set.form]);
  info->plan_bytes = sizeof *s + s->rows.bytes + (size_t)plan->view.n * sizeof *s->row;
  if (s->items) info->plan_bytes += (size_t)s->item_count * SPTI_GATHER_ITEM_WORDS * sizeof *s->items;
}

/* ---- per-solve state ---- */

/* Two work blocks, with a row for each item. */
static sptrsm_status work_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_bytes(out, plan, ((const state *)plan->state)->item_count, panel);
}

static sptrsm_status work_create(void **work, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_create(work, plan, ((const state *)plan->state)->item_count, panel);
}

static sptrsm_status shared_bytes(size_t *out, const sptrsm_plan *plan, int32_t panel) {
  return spti_two_blocks_shared_bytes(out, plan, ((const state *)plan->state)->item_count, panel);
}

static sptrsm_status shared_create(void **work, const sptrsm_plan *plan, int32_t panel, void *memory) {
  return spti_two_blocks_create_in(work, memory, ((const state *)plan->state)->item_count, panel);
}

static const spti_shared_work shared_work = {.bytes = shared_bytes, .create = shared_create};

/* ---- solve ---- */

static spti_gather_items items_of(const state *s) {
  const int32_t *at = s->items;
  const int64_t count = s->item_count;
  if (!at) return (spti_gather_items){.row = s->row, .begin = s->rows.start, .end = s->rows.start + 1};
  return (spti_gather_items){at, at + count, at + 2 * count, at + 3 * count, at + 4 * count};
}

static bool suits_pairs(const sptrsm_plan *plan, const spti_transfer *t) {
  const sptrsm_dtype d = plan->view.dtype;
  return (d == SPTRSM_F32 || d == SPTRSM_F64) && spti_transfer_in_twos(t, sptrsm_dtype_bytes(d));
}

static spti_gather_form form_by_rule(const state *s, int32_t width) {
  if (width <= 8) return s->narrow;
  return width > 32 && (int64_t)width * s->level >= PAIRS_FROM ? SPTI_GATHER_PAIRS : SPTI_GATHER_ROWS;
}

static spti_gather_form form_for(const sptrsm_plan *plan, const spti_transfer *t) {
  const state *s = plan->state;
  const spti_gather_form form = s->set.form == BY_RULE ? form_by_rule(s, t->width) : (spti_gather_form)s->set.form;
  return form == SPTI_GATHER_PAIRS && !suits_pairs(plan, t) ? SPTI_GATHER_ROWS : form;
}

static sptrsm_status solve_between(const sptrsm_plan *plan, void *work, const spti_transfer *between) {
  const state *s = plan->state;
  spti_two_blocks *w = work;
  const spti_gather_form form = form_for(plan, between);
  const int32_t tile = spti_gather_tile(form);
  spti_gather_args args = {.n = plan->view.n,
                           .item_count = (int32_t)s->item_count,
                           .items = items_of(s),
                           .from = s->rows.from,
                           .val = s->rows.val,
                           .diag = plan->view.unit ? NULL : s->rows.diag,
                           .between = *between,
                           .work = w->memory,
                           .form = form,
                           .tile = tile,
                           .tiles = (int32_t)(((int64_t)between->width + tile - 1) / tile)};
  if (spti_gather_blocks(&args) > INT32_MAX)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "gather: %d rows times %d right-hand sides are beyond 32 bits; use smaller panels",
                     args.item_count, between->width);
  SPTI_TRY(spti_two_blocks_ready(&args.sync, w, plan, between->width));
  args.ld = w->ld;
  SPTI_CUDA(spti_gather_solve_launch(&args, plan->view.dtype, plan->context->stream));
  return SPTRSM_OK;
}

const spti_method spti_method_gather = {
    .name = "gather",
    .summary = "deterministic pull for blocks: rows in level order, solutions as their own flags",
    .cite = "zhang2021yy",
    .place = SPTRSM_CUDA,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE | SPTI_VARIANTS,
    .analyse = analyse,
    .update_values = update_values,
    .free = release,
    .describe = describe,
    .panel = spti_two_blocks_panel,
    .work_bytes = work_bytes,
    .work_create = work_create,
    .work_free = spti_two_blocks_free,
    .shared_work = &shared_work,
    .solve_between = solve_between,
};
