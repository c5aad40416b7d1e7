/* mixed_host.c -- a batch of factor sets with patterns of their own, on the host: a sptrsm_direct for each item, without panels. A thread
 * lends its panel, which is large enough for any item, to the item that it solves. So the workspace is a panel for each thread. Items with
 * the pattern of an earlier one share its analysis.
 * Threads take whole items, those with most entries first. An item that has more than a thread's share of the work is solved by all
 * threads, over its columns, before the others. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/patterns.h"
#include "core/batch/stand_in.h"
#include "core/clone/like.h"
#include "core/context/alloc.h"

typedef struct {
  sptrsm_direct *direct;     /* parts that are at fault have other values here */
  int32_t fault[SPTI_PARTS]; /* first bad row of each part, -1: none */
  void *refused[2];          /* D and D_sub as given where they are singular, else NULL */
} mixed_item;

typedef struct {
  int64_t item, entries;
} mixed_turn;

typedef struct {
  mixed_item *items; /* [count] */
  int64_t *like;     /* [count] the first item with the same pattern */
  mixed_turn *turns; /* [count], those with most entries first */
  spti_batch_panels panels;
} mixed_state;

/* ---- values ---- */

/* D and D_sub of an item with those that `v` changes. */
static spti_D_values merged_D(const mixed_item *it, const sptrsm_batch_values *v) {
  const spti_direct_diagonal *D = &it->direct->D;
  return (spti_D_values){.val = v->D             ? v->D
                                : it->refused[0] ? it->refused[0]
                                                 : D->host[0],
                         .sub = v->D_sub         ? v->D_sub
                                : it->refused[1] ? it->refused[1]
                                                 : D->host[1],
                         .val_step = 1,
                         .sub_step = 1,
                         .hermitian = D->apply.hermitian};
}

/* The faults of an item with new values. */
static sptrsm_status find_faults(int32_t fault[SPTI_PARTS], const mixed_item *it, const sptrsm_batch_values *v) {
  const sptrsm_direct *d = it->direct;
  const spti_D_values D = merged_D(it, v);
  if (v->L) fault[SPTI_PART_L] = spti_diagonal_fault(d->matrix[0], v->L);
  if (v->U) fault[SPTI_PART_U] = spti_diagonal_fault(d->matrix[1], v->U);
  if (v->D || v->D_sub) SPTI_TRY(spti_D_fault(&fault[SPTI_PART_D], &D, d->n, d->dtype));
  if (v->scale_row) fault[SPTI_PART_SCALE_ROW] = spti_scale_fault(v->scale_row, d->n, d->dtype);
  if (v->scale_col) fault[SPTI_PART_SCALE_COL] = spti_scale_fault(v->scale_col, d->n, d->dtype);
  return SPTRSM_OK;
}

/* What new values replace, allocated before anything is changed. */
typedef struct {
  double *scale[2];
  void *refused[2];
} fresh_values;

static sptrsm_status copy_of(void *out, const void *values, int64_t n, size_t bytes, const char *what) {
  void *copy;
  SPTI_TRY(spti_host_alloc(&copy, n, bytes, what));
  if (n > 0) memcpy(copy, values, (size_t)n * bytes);
  memcpy(out, &copy, sizeof copy);
  return SPTRSM_OK;
}

static sptrsm_status prepare_values(fresh_values *out, const mixed_item *it, const sptrsm_batch_values *v,
                                    const int32_t fault[SPTI_PARTS]) {
  const sptrsm_direct *d = it->direct;
  const spti_D_values D = merged_D(it, v);
  const size_t bytes = sptrsm_dtype_bytes(d->dtype);
  if (v->scale_row && fault[SPTI_PART_SCALE_ROW] < 0) SPTI_TRY(copy_of(&out->scale[0], v->scale_row, d->n, sizeof(double), "scale_row"));
  if (v->scale_col && fault[SPTI_PART_SCALE_COL] < 0) SPTI_TRY(copy_of(&out->scale[1], v->scale_col, d->n, sizeof(double), "scale_col"));
  if ((!v->D && !v->D_sub) || fault[SPTI_PART_D] < 0) return SPTRSM_OK;
  SPTI_TRY(copy_of(&out->refused[0], D.val, d->n, bytes, "D"));
  return D.sub ? copy_of(&out->refused[1], D.sub, d->n, bytes, "D_sub") : SPTRSM_OK;
}

static void swap(void *left, void *right) {
  void *a, *b;
  memcpy(&a, left, sizeof a);
  memcpy(&b, right, sizeof b);
  memcpy(left, &b, sizeof b);
  memcpy(right, &a, sizeof a);
}

/* Stores the parts that are sound; a singular part leaves what was there, which no solve reads. */
static sptrsm_status store(mixed_item *it, const sptrsm_batch_values *v, const int32_t fault[SPTI_PARTS], fresh_values *fresh) {
  sptrsm_direct *d = it->direct;
  const spti_D_values D = merged_D(it, v);
  const bool any_D = v->D || v->D_sub, good_D = any_D && fault[SPTI_PART_D] < 0;
  SPTI_TRY(sptrsm_direct_set_values(d, fault[SPTI_PART_L] < 0 ? v->L : NULL, good_D ? D.val : NULL, good_D ? D.sub : NULL,
                                    fault[SPTI_PART_U] < 0 ? v->U : NULL));
  if (fresh->scale[0]) swap(&d->row.scale, &fresh->scale[0]);
  if (fresh->scale[1]) swap(&d->col.scale, &fresh->scale[1]);
  for (int part = 0; any_D && part < 2; part++) swap(&it->refused[part], &fresh->refused[part]);
  memcpy(it->fault, fault, sizeof it->fault);
  return SPTRSM_OK;
}

static sptrsm_status take_values(mixed_item *it, const sptrsm_batch_values *v) {
  fresh_values fresh = {0};
  int32_t fault[SPTI_PARTS];
  sptrsm_status status;
  memcpy(fault, it->fault, sizeof fault);
  SPTI_TRY(find_faults(fault, it, v));
  SPTI_TRY_DONE(prepare_values(&fresh, it, v, fault));
  status = store(it, v, fault, &fresh);
done:
  for (int side = 0; side < 2; side++) spti_host_free(fresh.scale[side]);
  for (int part = 0; part < 2; part++) spti_host_free(fresh.refused[part]);
  return status;
}

static sptrsm_status check_parts(const sptrsm_direct *d, const sptrsm_batch_values *v) {
  const void *has[SPTI_PARTS] = {d->matrix[0], d->matrix[1], d->D.host[0], d->D.host[1], d->row.scale, d->col.scale};
  for (int part = 0; part < SPTI_PARTS; part++) {
    int64_t stride;
    const char *name = spti_batch_part_names[part];
    if (spti_batch_part(&stride, v, part) && !has[part])
      return spti_fail(SPTRSM_ERR_ARGUMENT, "item %lld: %s is given, but the factors have no %s", (long long)v->first, name, name);
  }
  return SPTRSM_OK;
}

static sptrsm_status set_values(sptrsm_batch *b, const sptrsm_batch_values *v) {
  mixed_state *state = b->state;
  mixed_item *it = &state->items[v->first];
  SPTI_TRY(check_parts(it->direct, v));
  SPTI_TRY(spti_batch_name_item(take_values(it, v), v->first));
  spti_batch_set_item(b, v->first, it->fault);
  return SPTRSM_OK;
}

/* ---- creation ---- */

static sptrsm_batch_values values_of(const sptrsm_factors *f) {
  return (sptrsm_batch_values){
      .L = f->L->val, .U = f->U ? f->U->val : NULL, .D = f->D, .D_sub = f->D_sub, .scale_row = f->scale_row, .scale_col = f->scale_col};
}

/* The item has a singular part, or a wrong pattern that this part has hidden so far. */
static sptrsm_status create_singular(mixed_item *it, const sptrsm_batch *b, const sptrsm_factors *f) {
  spti_stand_in s;
  sptrsm_status status;
  const sptrsm_batch_values v = values_of(f);
  SPTI_TRY(spti_stand_in_create(&s, f));
  SPTI_TRY_DONE(sptrsm_direct_create(&it->direct, b->context, &s.f, &b->options));
  status = take_values(it, &v);
done:
  spti_stand_in_free(&s);
  return status;
}

static sptrsm_status create_item(mixed_item *it, const sptrsm_batch *b, const sptrsm_factors *f) {
  const sptrsm_status status = sptrsm_direct_create(&it->direct, b->context, f, &b->options);
  if (status == SPTRSM_ERR_SINGULAR) SPTI_TRY(create_singular(it, b, f));
  else return status;
  return SPTRSM_OK;
}

/* The item has the pattern of an earlier one. Plans come last, since they pack values. */
static sptrsm_status create_like(mixed_item *it, const mixed_item *first, const sptrsm_factors *f) {
  const sptrsm_batch_values v = values_of(f);
  SPTI_TRY(spti_direct_like(&it->direct, first->direct));
  SPTI_TRY(take_values(it, &v));
  return spti_direct_like_plans(it->direct, first->direct);
}

static int64_t entries_of(const sptrsm_direct *d) { return d->matrix[0]->nnz + (d->matrix[1] ? d->matrix[1]->nnz : 0) + d->n; }

static int compare_entries(const void *left, const void *right) {
  const mixed_turn *a = left, *b = right;
  if (a->entries != b->entries) return a->entries < b->entries ? 1 : -1;
  return (a->item > b->item) - (a->item < b->item);
}

static sptrsm_status create(sptrsm_batch *b, const spti_batch_source *source) {
  mixed_state *state;
  SPTI_TRY(spti_host_alloc(&state, 1, sizeof *state, "batch"));
  *state = (mixed_state){0};
  b->state = state; /* from here on the batch frees it */
  SPTI_TRY(spti_host_alloc(&state->turns, b->count, sizeof *state->turns, "order of the items"));
  SPTI_TRY(spti_host_alloc(&state->like, b->count, sizeof *state->like, "patterns of the items"));
  SPTI_TRY(spti_host_alloc(&state->items, b->count, sizeof *state->items, "items"));
  for (int64_t i = 0; i < b->count; i++) state->items[i] = (mixed_item){.fault = {-1, -1, -1, -1, -1, -1}};
  SPTI_TRY(spti_batch_find_patterns(state->like, b, source));
  for (int64_t i = 0; i < b->count; i++) {
    mixed_item *it = &state->items[i];
    const mixed_item *first = &state->items[state->like[i]];
    SPTI_TRY(spti_batch_name_item(first == it ? create_item(it, b, source->items[i]) : create_like(it, first, source->items[i]), i));
    spti_batch_set_item(b, i, it->fault);
    state->turns[i] = (mixed_turn){.item = i, .entries = entries_of(it->direct)};
  }
  qsort(state->turns, (size_t)b->count, sizeof *state->turns, compare_entries);
  return SPTRSM_OK;
}

static void free_state(sptrsm_batch *b) {
  mixed_state *state = b->state;
  for (int64_t i = 0; state->items && i < b->count; i++) {
    sptrsm_direct_destroy(state->items[i].direct);
    for (int part = 0; part < 2; part++) spti_host_free(state->items[i].refused[part]);
  }
  spti_host_free(state->items);
  spti_host_free(state->like);
  spti_host_free(state->turns);
  spti_host_free(state->panels.data);
  spti_host_free(state);
}

/* ---- workspace ---- */

/* A panel that is large enough for any item. */
static size_t thread_bytes(const sptrsm_batch *b) {
  const mixed_state *state = b->state;
  size_t most = 0;
  for (int64_t i = 0; i < b->count; i++) {
    const sptrsm_direct *d = state->items[i].direct;
    const size_t bytes = (size_t)d->n * (size_t)d->panel * sptrsm_dtype_bytes(b->dtype);
    if (bytes > most) most = bytes;
  }
  return most;
}

/* At least one thread: each item's plans have kept its panel within the limit. */
static int slabs_of(const sptrsm_batch *b, size_t bytes) {
  const int slabs = spti_batch_slabs(b, bytes);
  return slabs < 1 ? 1 : slabs;
}

/* The plans that an item needs: new ones are made for the first item of a pattern, and are there when the others come. */
static sptrsm_status prepare_item(const mixed_state *state, int64_t i, const spti_system_steps *steps) {
  sptrsm_direct *d = state->items[i].direct;
  spti_pipeline pipe;
  if (state->like[i] != i) SPTI_TRY(spti_direct_like_plans(d, state->items[state->like[i]].direct));
  return spti_direct_pipeline(&pipe, d, steps);
}

static sptrsm_status prepare(sptrsm_batch *b, const spti_system_steps *steps) {
  mixed_state *state = b->state;
  for (int64_t i = 0; i < b->count; i++) SPTI_TRY(spti_batch_name_item(prepare_item(state, i, steps), i));
  const size_t bytes = thread_bytes(b);
  return spti_batch_need_panels(&state->panels, bytes, slabs_of(b, bytes));
}

/* ---- solving ---- */

enum { SHARED_LEAST = 1 << 18 /* of entries times right-hand sides: solves with less are over before other threads come */ };

typedef struct {
  sptrsm_batch *b;
  const spti_batch_call *call;
  int64_t first; /* the turn of piece 0 */
  atomic_int result;
} mixed_job;

static bool is_solved(const sptrsm_batch *b, const spti_batch_call *call, int64_t item) {
  return spti_batch_wants(call, item) && b->items[item].status == SPTRSM_OK;
}

static double work_of(const sptrsm_batch *b, const spti_batch_call *call, const mixed_turn *turn) {
  if (!is_solved(b, call, turn->item)) return 0;
  const int64_t nrhs = call->X->nrhs_of ? call->X->nrhs_of[turn->item] : call->X->nrhs;
  return (double)turn->entries * (double)nrhs;
}

/* Solves an item in the panel of one thread, or in those of all if `member` is negative. */
static sptrsm_status solve_item(const mixed_job *job, int64_t item, int member) {
  const mixed_state *state = job->b->state;
  sptrsm_direct *d = state->items[item].direct;
  const sptrsm_block B = spti_batch_block_of(job->b, job->call->B, item), X = spti_batch_block_of(job->b, job->call->X, item);
  spti_panels panels = {.panel = d->panel, .narrow = spti_narrow_panel(d->n, d->dtype, d->panel, &d->options)};
  panels.slabs = member < 0 ? state->panels.slabs : 1, panels.lent = member >= 0;
  spti_pipeline pipe;
  panels.W = state->panels.data + (member < 0 ? 0 : state->panels.bytes * (size_t)member);
  SPTI_TRY(spti_direct_pipeline(&pipe, d, &job->call->steps));
  return spti_pipeline_run(&pipe, &panels, job->call->alpha, &B, &X);
}

static void solve_turn(void *argument, int64_t piece, int member) {
  mixed_job *job = argument;
  const mixed_state *state = job->b->state;
  const int64_t item = state->turns[job->first + piece].item;
  if (!is_solved(job->b, job->call, item)) return;
  const sptrsm_status status = solve_item(job, item, member);
  if (status != SPTRSM_OK) atomic_store(&job->result, status);
}

static sptrsm_status solve(sptrsm_batch *b, const spti_batch_call *call) {
  mixed_state *state = b->state;
  mixed_job job = {.b = b, .call = call};
  spti_team *team = b->context->team;
  double work = 0;
  SPTI_TRY(prepare(b, &call->steps));
  for (int64_t t = 0; t < b->count; t++) work += work_of(b, call, &state->turns[t]);
  const int ready = work < SHARED_LEAST ? 1 : spti_team_ready(team), threads = ready < state->panels.slabs ? ready : state->panels.slabs;
  atomic_init(&job.result, SPTRSM_OK);
  for (; threads > 1 && job.first < b->count; job.first++) {
    const int64_t item = state->turns[job.first].item;
    if (work_of(b, call, &state->turns[job.first]) * threads <= work) break;
    SPTI_TRY(solve_item(&job, item, -1));
  }
  spti_team_run(team, threads, b->count - job.first, solve_turn, &job);
  return (sptrsm_status)atomic_load(&job.result);
}

/* ---- information ---- */

static sptrsm_status info(sptrsm_batch_facts *out, const sptrsm_batch *b) {
  const mixed_state *state = b->state;
  sptrsm_info L = {.size = sizeof L}, U = {.size = sizeof U};
  for (int64_t i = 0; i < b->count; i++) out->patterns += state->like[i] == i;
  out->deterministic = 1;
  out->batch_bytes = (size_t)b->count * (sizeof *state->items + sizeof *state->like + sizeof *state->turns);
  for (int64_t t = b->count - 1; t >= 0; t--) { /* the largest item last: L describes it afterwards */
    const sptrsm_direct *d = state->items[state->turns[t].item].direct;
    SPTI_TRY(sptrsm_direct_info(&L, d->has_U ? &U : NULL, d));
    out->analysis_seconds += L.analysis_seconds + (d->has_U ? U.analysis_seconds : 0);
    out->deterministic &= L.deterministic && (!d->has_U || U.deterministic);
    out->batch_bytes += spti_direct_bytes(d);
  }
  snprintf(out->method, sizeof out->method, "%s", b->count ? L.method : "");
  snprintf(out->reason, sizeof out->reason, "%s", L.reason);
  out->panel = L.panel;
  out->workspace_bytes = thread_bytes(b);
  out->workspace_bytes *= (size_t)slabs_of(b, out->workspace_bytes);
  return SPTRSM_OK;
}

const spti_batch_engine spti_batch_mixed_host = {
    .create = create, .set_values = set_values, .prepare = prepare, .solve = solve, .info = info, .free = free_state};
