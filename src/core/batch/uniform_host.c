/* uniform_host.c -- a batch of items with one pattern on the host. The values of a group of items lie side by side (items.h), and a method
 * solves them together (spti_method.solve_items): every index is read once for the whole group, and every operation fills a vector
 * register, even with one right-hand side. Where 8 right-hand sides or more are expected, which fill the registers themselves, and where
 * there are few items, a group has one item, whose panel stays in a nearer cache.
 * The pattern is a sptrsm_direct whose values are ones. It has the plans and the permutations; values, D and scalings come from the group.
 * Threads take groups, and slabs of columns of them. */
#include <stdio.h>
#include <string.h>

#include "core/batch/stand_in.h"
#include "core/batch/uniform.h"
#include "core/context/alloc.h"

/* ---- the storages of a plan ---- */

static const spti_storage *storage_of(const sptrsm_plan *plan) {
  const spti_storage *natural = &plan->matrix->storage[SPTI_NATURAL][SPTRSM_HOST];
  return plan->view.idx == natural->idx ? natural : &plan->matrix->storage[SPTI_TRANSPOSED][SPTRSM_HOST];
}

static int matrix_of(const sptrsm_direct *d, const sptrsm_plan *plan) {
  return plan->matrix == d->matrix[SPTI_PART_U] ? SPTI_PART_U : SPTI_PART_L;
}

/* The number of a plan's places in s->at; those of L come first. */
static int places_number(const spti_uniform *s, const sptrsm_plan *plan) {
  return (matrix_of(s->pattern, plan) << 2) + (plan->op.transpose << 1) + plan->op.conj;
}

/* For a plan that reads the storage in which the values do not lie: the place of each of its entries. */
static sptrsm_status need_places(spti_uniform *s, const sptrsm_plan *plan) {
  SPTI_TRY(spti_matrix_need_map(plan->matrix));
  const int64_t nnz = plan->view.nnz, *here = s->sources[matrix_of(s->pattern, plan)], *there = storage_of(plan)->source;
  int64_t **at = &s->at[places_number(s, plan)], *of_caller;
  if (here == there || *at) return SPTRSM_OK;
  SPTI_TRY(spti_host_alloc(&of_caller, plan->matrix->caller_nnz, sizeof **at, "places of values"));
  const sptrsm_status status = spti_host_alloc(at, nnz, sizeof **at, "places of values");
  for (int64_t p = 0; status == SPTRSM_OK && p < nnz; p++) of_caller[here ? here[p] : p] = p;
  for (int64_t p = 0; status == SPTRSM_OK && p < nnz; p++) (*at)[p] = of_caller[there ? there[p] : p];
  spti_host_free(of_caller);
  return status;
}

/* ---- creation ---- */

/* Batches have a limit of memory of their own, and panels too. */
static sptrsm_status create_pattern(sptrsm_direct **out, const sptrsm_batch *b, const sptrsm_factors *f) {
  spti_stand_in ones;
  sptrsm_options options = b->options;
  if (!options.method || strcmp(options.method, "auto") == 0) options.method = "levelset";
  options.memory_limit = 0;
  SPTI_TRY(spti_stand_in_create(&ones, f));
  const sptrsm_status status = sptrsm_direct_create(out, b->context, &ones.f, &options);
  spti_stand_in_free(&ones);
  return status;
}

/* All values come from `values`, or from the pattern's factor set. */
static sptrsm_batch_values complete(const sptrsm_batch_values *values, const sptrsm_factors *f) {
  sptrsm_batch_values v = *values;
  if (!v.L) v.L = f->L->val, v.L_stride = 0;
  if (!v.U && f->U) v.U = f->U->val, v.U_stride = 0;
  if (!v.D) v.D = f->D, v.D_stride = 0;
  if (!v.D_sub) v.D_sub = f->D_sub, v.D_sub_stride = 0;
  if (!v.scale_row) v.scale_row = f->scale_row, v.scale_row_stride = 0;
  if (!v.scale_col) v.scale_col = f->scale_col, v.scale_col_stride = 0;
  return v;
}

static sptrsm_status create_parts(sptrsm_batch *b, const sptrsm_batch_values *v) {
  spti_uniform *s = b->state;
  for (int part = 0; part < SPTI_PARTS; part++) {
    int64_t stride;
    spti_uniform_part *p = &s->parts[part];
    if (b->lengths[part] < 0) continue;
    if (!spti_batch_part(&stride, v, part) && b->lengths[part] > 0)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "values: %s is NULL, and so is that of the pattern", spti_batch_part_names[part]);
    p->entries = part <= SPTI_PART_U ? s->pattern->matrix[part]->nnz : b->n;
    p->shared = stride == 0;
    SPTI_TRY(spti_host_alloc(&p->val, p->shared ? 1 : s->groups, spti_uniform_group_bytes(b, part), spti_batch_part_names[part]));
  }
  return SPTRSM_OK;
}

static void choose_columns(sptrsm_batch *b);
static void fit_columns(sptrsm_batch *b);

enum { WIDE = 8 /* right-hand sides that fill vector registers */ };

static int choose_items(const sptrsm_batch *b) {
  const int most = (int)(SPTI_ITEM_BYTES / sptrsm_dtype_bytes(b->dtype));
  return b->options.nrhs_hint >= WIDE || 2 * b->count <= most ? 1 : most;
}

static sptrsm_status create(sptrsm_batch *b, const spti_batch_source *source) {
  spti_uniform *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "batch"));
  *s = (spti_uniform){.items = choose_items(b)};
  s->groups = (b->count + s->items - 1) / s->items;
  b->state = s; /* from here on the batch frees it */
  SPTI_TRY(create_pattern(&s->pattern, b, source->items[0]));
  for (int matrix = 0; matrix < 2; matrix++) {
    const sptrsm_plan *plan = s->pattern->slots[matrix][0][0].plan;
    if (!plan) continue;
    SPTI_TRY(spti_matrix_need_map(plan->matrix));
    s->sources[matrix] = storage_of(plan)->source;
  }
  SPTI_TRY(spti_host_alloc(&s->faults, b->count, sizeof *s->faults, "item statuses"));
  memset(s->faults, -1, (size_t)b->count * sizeof *s->faults);
  choose_columns(b);
  const sptrsm_batch_values v = complete(source->values, source->items[0]);
  SPTI_TRY(create_parts(b, &v));
  return b->count > 0 ? spti_uniform_set_values(b, &v) : SPTRSM_OK;
}

static void free_state(sptrsm_batch *b) {
  spti_uniform *s = b->state;
  sptrsm_direct_destroy(s->pattern);
  for (int part = 0; part < SPTI_PARTS; part++) spti_host_free(s->parts[part].val);
  for (int i = 0; i < SPTI_UNIFORM_PLACES; i++) spti_host_free(s->at[i]);
  spti_host_free(s->faults);
  spti_host_free(s->panels.data);
  spti_host_free(s);
}

/* ---- workspace ---- */

/* Bytes of a thread's panel, which stays in the core's cache, and its right-hand sides of an item. */
enum { GROUP_BYTES = 1 << 20, SINGLE_BYTES = 5 << 19, SINGLE_LEAST = 8, SINGLE_MOST = 32 };

static size_t column_bytes(const sptrsm_batch *b) {
  const spti_uniform *s = b->state;
  return (size_t)b->n * (size_t)s->items * sptrsm_dtype_bytes(b->dtype);
}

/* Right-hand sides of an item that are solved together: a power of two, since kernels are made for these. */
static void choose_columns(sptrsm_batch *b) {
  spti_uniform *s = b->state;
  const bool single = s->items == 1;
  const int64_t column = b->n > 0 ? (int64_t)column_bytes(b) : 1, bytes = single ? SINGLE_BYTES : GROUP_BYTES;
  const int64_t most = single ? SINGLE_MOST : SPTI_ITEM_COLUMNS_MOST, hint = b->options.nrhs_hint;
  int64_t columns = single ? SINGLE_LEAST : 1;
  while (columns < most && 2 * columns * column <= bytes && (hint == 0 || columns < hint)) columns *= 2;
  if (b->options.panel > 0) columns = b->options.panel < most ? b->options.panel : most;
  s->columns = (int32_t)columns;
  fit_columns(b);
}

/* Room for the values of one matrix of an item, for plans that read them in another order: zero if there is none. */
static size_t gathered_bytes(const sptrsm_batch *b) {
  const spti_uniform *s = b->state;
  int64_t most = 0;
  for (int i = 0; i < SPTI_UNIFORM_PLACES && s->items == 1; i++)
    if (s->at[i] && s->parts[i >> 2].entries > most) most = s->parts[i >> 2].entries;
  return (size_t)most * sptrsm_dtype_bytes(b->dtype);
}

static size_t thread_bytes(const sptrsm_batch *b) {
  const spti_uniform *s = b->state;
  return column_bytes(b) * (size_t)s->columns + gathered_bytes(b);
}

/* Fewer columns, until one thread keeps to the limit of memory. */
static void fit_columns(sptrsm_batch *b) {
  spti_uniform *s = b->state;
  while (s->columns > 1 && spti_batch_slabs(b, thread_bytes(b)) < 1) s->columns /= 2;
}

static sptrsm_status need_panels(sptrsm_batch *b) {
  spti_uniform *s = b->state;
  fit_columns(b);
  const size_t bytes = thread_bytes(b);
  const int slabs = spti_batch_slabs(b, bytes);
  if (slabs < 1)
    return spti_fail(SPTRSM_ERR_MEMORY,
                     "the workspace of one thread takes %zu bytes, the limit is %zu: raise options.memory_limit to that or more", bytes,
                     b->options.memory_limit);
  return spti_batch_need_panels(&s->panels, bytes, slabs);
}

static sptrsm_status need_all_places(spti_uniform *s, const spti_pipeline *pipe) {
  for (int stage = 0; stage < pipe->stage_count; stage++)
    if (pipe->stages[stage].plan) SPTI_TRY(need_places(s, pipe->stages[stage].plan));
  return SPTRSM_OK;
}

/* A system that is refused leaves those that worked before as they were. */
static sptrsm_status make_pipeline(spti_pipeline *out, sptrsm_batch *b, const spti_system_steps *steps) {
  spti_uniform *s = b->state;
  const spti_uniform before = *s;
  SPTI_TRY(spti_direct_pipeline(out, s->pattern, steps));
  sptrsm_status status = need_all_places(s, out);
  if (status == SPTRSM_OK) status = need_panels(b);
  if (status == SPTRSM_OK) return status;
  for (int i = 0; i < SPTI_UNIFORM_PLACES; i++)
    if (!before.at[i]) spti_host_free(s->at[i]);
  memcpy(s->at, before.at, sizeof s->at);
  s->columns = before.columns;
  return status;
}

static sptrsm_status prepare(sptrsm_batch *b, const spti_system_steps *steps) {
  spti_pipeline pipe;
  return make_pipeline(&pipe, b, steps);
}

/* ---- solving ---- */

enum { SHARED_LEAST = 1 << 18 /* multiply-adds: solves with less are over before other threads come */ };

typedef struct {
  const sptrsm_batch *b;
  const spti_batch_call *call;
  const spti_pipeline *pipe; /* of the pattern */
  int64_t slabs;             /* of columns, in a group */
} uniform_job;

static int64_t nrhs_of(const spti_batch_call *call, int64_t item) { return call->X->nrhs_of ? call->X->nrhs_of[item] : call->X->nrhs; }

/* The columns of the group's items from column `first` on. Returns the most that an item has. */
static int32_t take_columns(spti_item_columns *B, spti_item_columns *X, const uniform_job *job, int64_t group, int64_t first) {
  const sptrsm_batch *b = job->b;
  const spti_uniform *s = b->state;
  int32_t most = 0;
  for (int v = 0; v < s->items; v++) {
    const int64_t item = group * s->items + v;
    B[v].width = X[v].width = 0;
    if (item >= b->count || !spti_batch_wants(job->call, item) || b->items[item].status != SPTRSM_OK) continue;
    const int64_t left = nrhs_of(job->call, item) - first;
    if (left <= 0) continue;
    const sptrsm_block from = spti_batch_block_of(b, job->call->B, item), to = spti_batch_block_of(b, job->call->X, item);
    B[v].block = spti_block_columns(&from, first);
    X[v].block = spti_block_columns(&to, first);
    B[v].width = X[v].width = (int32_t)(left < s->columns ? left : s->columns);
    if (B[v].width > most) most = B[v].width;
  }
  return most;
}

static spti_edge edge_of(const uniform_job *job, const spti_edge *of_pattern, const spti_system_edge *edge, int64_t group) {
  spti_edge e = *of_pattern;
  const int part = edge->side == SPTI_ROW_SIDE ? SPTI_PART_SCALE_ROW : SPTI_PART_SCALE_COL;
  if (e.scale) e.scale = (const double *)(void *)spti_uniform_group(job->b, part, group);
  return e;
}

/* The panel of a thread, with the columns of one group. */
typedef struct {
  const uniform_job *job;
  int64_t group;
  spti_panel W;
  char *gathered;
} uniform_slab;

static void apply_diagonal(const uniform_slab *at, const spti_stage *stage) {
  const sptrsm_batch *b = at->job->b;
  const spti_uniform *s = b->state;
  const spti_diagonal D = {.val = spti_uniform_group(b, SPTI_PART_D, at->group),
                           .sub = spti_uniform_group(b, SPTI_PART_D_SUB, at->group),
                           .hermitian = stage->diagonal->hermitian};
  if (s->items == 1) spti_apply_diagonal(&at->W, b->n, b->dtype, &D, stage->op);
  else spti_items_apply_diagonal(&at->W, b->n, b->dtype, &D, stage->op);
}

static void run_stage(const uniform_slab *at, const spti_stage *stage) {
  const sptrsm_batch *b = at->job->b;
  const spti_uniform *s = b->state;
  const sptrsm_plan *plan = stage->plan;
  if (!plan) {
    apply_diagonal(at, stage);
    return;
  }
  const int matrix = matrix_of(s->pattern, plan);
  const int64_t *places = s->at[places_number(s, plan)];
  spti_item_values values = {.items = s->items, .val = spti_uniform_group(b, matrix, at->group), .at = places};
  if (s->items == 1 && places) {
    spti_storage_gather(at->gathered, values.val, places, plan->view.nnz, sptrsm_dtype_bytes(b->dtype));
    values.val = at->gathered, values.at = NULL;
  }
  plan->method->solve_items(plan, &values, &at->W);
}

static void solve_slab(void *argument, int64_t piece, int member) {
  const uniform_job *job = argument;
  const spti_uniform *s = job->b->state;
  const spti_pipeline *pipe = job->pipe;
  const int64_t first = piece % job->slabs * s->columns;
  uniform_slab at = {.job = job, .group = piece / job->slabs, .W.data = s->panels.data + s->panels.bytes * (size_t)member};
  spti_item_columns B[SPTI_ITEMS_MOST], X[SPTI_ITEMS_MOST];
  const int32_t columns = take_columns(B, X, job, at.group, first);
  if (columns == 0) return;
  at.W.width = columns * s->items;
  at.W.ld = at.W.padded = s->items == 1 ? spti_padded_width(columns, s->columns) : at.W.width;
  at.gathered = (char *)at.W.data + column_bytes(job->b) * (size_t)s->columns;
  const spti_edge from = edge_of(job, &pipe->first, &job->call->steps.first, at.group);
  const spti_edge to = edge_of(job, &pipe->last, &job->call->steps.last, at.group);
  if (s->items == 1) spti_pack(&at.W, pipe->n, pipe->dtype, &B[0].block, &from, job->call->alpha);
  else spti_items_pack(&at.W, pipe->n, pipe->dtype, B, &from, job->call->alpha);
  for (int stage = 0; stage < pipe->stage_count; stage++) run_stage(&at, &pipe->stages[stage]);
  if (s->items == 1) spti_unpack(&X[0].block, pipe->n, pipe->dtype, &at.W, &to);
  else spti_items_unpack(X, pipe->n, pipe->dtype, &at.W, &to);
}

static double work_of(const uniform_job *job, int64_t *most) {
  double columns = 0, entries = 2.0 * job->b->n; /* the first and the last pass */
  *most = 0;
  for (int stage = 0; stage < job->pipe->stage_count; stage++) {
    const sptrsm_plan *plan = job->pipe->stages[stage].plan;
    entries += plan ? (double)plan->view.nnz : job->b->n;
  }
  for (int64_t i = 0; i < job->b->count; i++) {
    if (!spti_batch_wants(job->call, i)) continue;
    const int64_t nrhs = nrhs_of(job->call, i);
    columns += (double)nrhs;
    if (nrhs > *most) *most = nrhs;
  }
  return entries * columns;
}

static sptrsm_status solve(sptrsm_batch *b, const spti_batch_call *call) {
  spti_uniform *s = b->state;
  spti_team *team = b->context->team;
  spti_pipeline pipe;
  int64_t most;
  SPTI_TRY(make_pipeline(&pipe, b, &call->steps));
  uniform_job job = {.b = b, .call = call, .pipe = &pipe};
  const int ready = work_of(&job, &most) < SHARED_LEAST ? 1 : spti_team_ready(team);
  if (b->n == 0 || most == 0) return SPTRSM_OK;
  job.slabs = (most - 1) / s->columns + 1;
  spti_team_run(team, ready < s->panels.slabs ? ready : s->panels.slabs, s->groups * job.slabs, solve_slab, &job);
  return SPTRSM_OK;
}

/* ---- information ---- */

static sptrsm_status info(sptrsm_batch_facts *out, const sptrsm_batch *b) {
  const spti_uniform *s = b->state;
  const bool has_U = s->pattern->has_U;
  sptrsm_info L = {.size = sizeof L}, U = {.size = sizeof U};
  SPTI_TRY(sptrsm_direct_info(&L, has_U ? &U : NULL, s->pattern));
  out->patterns = 1;
  out->panel = s->columns;
  out->deterministic = L.deterministic && (!has_U || U.deterministic);
  out->analysis_seconds = L.analysis_seconds + (has_U ? U.analysis_seconds : 0);
  snprintf(out->method, sizeof out->method, "%s", L.method);
  const bool asked = b->options.method && strcmp(b->options.method, "auto") != 0;
  snprintf(out->reason, sizeof out->reason, "%s", asked ? L.reason : "reads each index once for a group of systems");
  out->batch_bytes = sizeof *s + spti_direct_bytes(s->pattern) + (size_t)b->count * sizeof *s->faults;
  for (int part = 0; part < SPTI_PARTS; part++)
    if (s->parts[part].val) out->batch_bytes += spti_uniform_group_bytes(b, part) * (size_t)(s->parts[part].shared ? 1 : s->groups);
  for (int i = 0; i < SPTI_UNIFORM_PLACES; i++)
    if (s->at[i]) out->batch_bytes += (size_t)s->pattern->matrix[i >> 2]->nnz * sizeof *s->at[i];
  out->workspace_bytes = thread_bytes(b);
  out->workspace_bytes *= (size_t)spti_batch_slabs(b, out->workspace_bytes);
  return SPTRSM_OK;
}

const spti_batch_engine spti_batch_uniform_host = {
    .create = create, .set_values = spti_uniform_set_values, .prepare = prepare, .solve = solve, .info = info, .free = free_state};
