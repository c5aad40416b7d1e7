/* method.c -- levelset on the host: substitution by rows, with the right-hand sides of a panel in vector lanes.
 * The core gives each thread panels of its own. Where there is a single panel, several threads share it, by level sets
 * or by subtrees of the elimination tree (core/levels/schedule.h).
 * Source: [anderson1989, saltz1990, liu1990]. Differs: one thread solves a run of narrow levels without barriers, a wide level is split by
 * entries, and a thread that has a panel to itself takes the rows in natural order, which reads the matrix from front to back.
 * Wins: the default on the host. Loses: fewer right-hand sides than threads, narrow levels and no subtrees, where all threads but one are
 * idle.
 * Deterministic: yes; the terms of each sum have one order, whatever the width, the threads and the instruction set. */
#include <stdio.h>

#include "core/base/isa.h"
#include "core/base/variant.h"
#include "core/context/alloc.h"
#include "core/levels/schedule.h"
#include "core/plan/method.h"
#include "trsv/levelset/host/kernels.h"

typedef struct {
  spti_isa isa;
  spti_schedule schedule;
} levelset_state;

static const struct {
  spti_levelset_rows *const *rows;
  spti_levelset_items *const *items;
} kernels[SPTI_ISA_COUNT] = {
#ifdef SPTI_X86_KERNELS
    [SPTI_ISA_AVX512] = {spti_levelset_avx512, spti_levelset_items_avx512},
    [SPTI_ISA_AVX2] = {spti_levelset_avx2, spti_levelset_items_avx2},
#endif
    [SPTI_ISA_BASELINE] = {spti_levelset_baseline, spti_levelset_items_baseline},
};

/* The instruction set that "levelset:isa=avx2" names, or the best that the CPU runs. */
static sptrsm_status choose_isa(spti_isa *out, const char *variant) {
  int32_t isa = (int32_t)spti_isa_best();
  const spti_setting known[] = {{.key = "isa", .target = &isa, .words = spti_isa_names}};
  SPTI_TRY(spti_variant_parse("levelset", variant, known, sizeof known / sizeof known[0]));
  if (!spti_isa_runs((spti_isa)isa))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "levelset:isa=%s: this CPU lacks these instructions; leave isa out", spti_isa_names[isa]);
  *out = (spti_isa)isa;
  return SPTRSM_OK;
}

static void free_state(sptrsm_plan *plan) {
  levelset_state *state = plan->state;
  if (!state) return;
  spti_schedule_free(&state->schedule);
  spti_host_free(state);
  plan->state = NULL;
}

/* A state without schedule; from here on the plan frees it. */
static sptrsm_status begin(sptrsm_plan *plan) {
  levelset_state *state;
  spti_isa isa = SPTI_ISA_BASELINE;
  SPTI_TRY(choose_isa(&isa, plan->variant));
  SPTI_TRY(spti_host_alloc(&state, 1, sizeof *state, "levelset plan"));
  *state = (levelset_state){.isa = isa, .schedule = {.least = 1, .team = 1}};
  plan->state = state;
  return SPTRSM_OK;
}

static sptrsm_status analyse(sptrsm_plan *plan) {
  spti_levels levels;
  SPTI_TRY(begin(plan));
  levelset_state *state = plan->state;
  SPTI_TRY(spti_levels_build(&levels, &plan->view));
  sptrsm_status status = spti_schedule_build(&state->schedule, &plan->view, &levels);
  plan->levels = levels.count;
  spti_levels_free(&levels);
  plan->schedule = &state->schedule;
  return status;
}

static void carry(sptrsm_plan *plan, spti_blob *blob) {
  if (blob->mode == SPTI_BLOB_READ) blob->status = begin(plan);
  if (blob->status != SPTRSM_OK) return;
  levelset_state *state = plan->state;
  spti_schedule_carry(&state->schedule, blob, plan->view.n);
  plan->schedule = &state->schedule;
}

static void describe(const sptrsm_plan *plan, sptrsm_info *info) {
  const levelset_state *state = plan->state;
  const spti_schedule *s = &state->schedule;
  info->plan_bytes = sizeof *state + s->bytes;
  int used = snprintf(info->parameters, sizeof info->parameters, "isa=%s team=%d", spti_isa_names[state->isa], s->team);
  if (s->team > 1)
    snprintf(info->parameters + used, sizeof info->parameters - (size_t)used, " shares=%s steps=%d split=%d", s->trees ? "trees" : "levels",
             s->steps, s->split);
}

typedef struct {
  const sptrsm_plan *plan;
  const spti_panel *W;
} shared_solve;

static void solve_units(void *argument, int32_t step, int32_t begin, int32_t end) {
  const shared_solve *job = argument;
  const levelset_state *state = job->plan->state;
  const spti_schedule *s = &state->schedule;
  const spti_panel *W = job->W;
  (void)step;
  kernels[state->isa].rows[job->plan->view.dtype](&job->plan->view, s->order, s->unit[begin], s->unit[end], W->data, W->ld, W->padded);
}

static sptrsm_status solve(const sptrsm_plan *plan, void *work, const spti_panel *W) {
  (void)work;
  const levelset_state *state = plan->state;
  const int threads = W->rows ? 1 : spti_schedule_threads(&state->schedule, W->team);
  shared_solve job = {plan, W};
  if (threads > 1) {
    spti_schedule_run(&state->schedule, W->team, threads, solve_units, &job);
    return SPTRSM_OK;
  }
  const int32_t count = W->rows ? W->row_count : plan->view.n;
  kernels[state->isa].rows[plan->view.dtype](&plan->view, W->rows, 0, count, W->data, W->ld, W->padded);
  return SPTRSM_OK;
}

static void solve_items(const sptrsm_plan *plan, const spti_item_values *values, const spti_panel *W) {
  const levelset_state *state = plan->state;
  spti_view view = plan->view;
  view.val = values->val;
  if (values->items == 1) kernels[state->isa].rows[view.dtype](&view, NULL, 0, view.n, W->data, W->ld, W->padded);
  else kernels[state->isa].items[view.dtype](&view, values, W->data, W->ld, W->padded);
}

const spti_method spti_method_levelset = {
    .name = "levelset",
    .summary = "vector lanes and threads over right-hand sides, threads over wide levels, on the host",
    .cite = "anderson1989",
    .place = SPTRSM_HOST,
    .wants = SPTI_PULL,
    .flags = SPTI_DETERMINISTIC | SPTI_VARIANTS,
    .analyse = analyse,
    .carry = carry,
    .free = free_state,
    .describe = describe,
    .solve = solve,
    .solve_items = solve_items,
};
