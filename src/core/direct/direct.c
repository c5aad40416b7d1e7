/* direct.c -- the solve phase of a sparse direct solver: x = C Q U^-1 D^-1 L^-1 P R b, its transposes and partial systems.
 *
 * systems.c lists the operators of each system. Here permutations and scalings become the first and the last pass of one pipeline
 * (core/plan/pipeline.h), and L, D and U become its stages. Each triangle and operation has a plan of its own: plans for op N are made at
 * creation, those of other operations when a system first needs them. All plans share the same panels. */
#include "core/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/single.h"
#include "core/plan/method.h"
#include "core/plan/workspace.h"

/* ---- plans ---- */

/* The plan for a stage, the matrix that it solves with and the operation on that matrix: U = L^T and U = L^H are read from L. */
static spti_direct_slot *slot_of(sptrsm_direct *d, int *matrix, spti_op *op, const spti_system_stage *stage) {
  bool mirrored = stage->factor == SPTI_U && d->u_kind != SPTRSM_U_GIVEN;
  *op = stage->op;
  if (mirrored) op->transpose = !op->transpose;
  if (mirrored && d->u_kind == SPTRSM_U_IS_LH) op->conj = !op->conj;
  if (!spti_is_complex(d->dtype)) op->conj = false;
  *matrix = stage->factor == SPTI_U && !mirrored ? SPTI_U_MATRIX : SPTI_L_MATRIX;
  return &d->slots[*matrix][op->transpose][op->conj];
}

sptrsm_status spti_direct_adopt_plan(sptrsm_direct *d, int slot, sptrsm_plan *plan) {
  spti_direct_slot *s = spti_direct_slot_at(d, slot);
  s->plan = plan;
  const sptrsm_status status = spti_direct_fit_panel(d, plan);
  if (status == SPTRSM_OK) return status;
  sptrsm_plan_destroy(s->plan);
  s->plan = NULL;
  return status;
}

static sptrsm_status create_plan(sptrsm_plan **out, const sptrsm_direct *d, int slot) {
  const int matrix = slot >> 2 & 1;
  const spti_op op = {.transpose = slot >> 1 & 1, .conj = slot & 1};
  return spti_name_object(spti_plan_create(out, d->matrix[matrix], op, &d->options), spti_direct_factor_name(d, matrix));
}

static sptrsm_status make_plan(sptrsm_direct *d, int slot) {
  sptrsm_plan *plan;
  SPTI_TRY(create_plan(&plan, d, slot));
  return spti_direct_adopt_plan(d, slot, plan);
}

sptrsm_status spti_direct_begin_to_stream(sptrsm_direct *d, const sptrsm_direct *like) {
  char name[sizeof d->method];
  const unsigned had = spti_direct_plans(like);
  spti_direct_keep_plans(d, 0);
  for (int m = 0; m < 2; m++)
    if (d->matrix[m]) spti_matrix_drop_device_copies(d->matrix[m], d->matrix[m]->home == SPTRSM_CUDA ? 1 : 0);
  spti_plan_streamed_name(name, sizeof name, d->options.method);
  d->options.method = strcpy(d->method, name);
  d->panel = 0;
  sptrsm_status status = SPTRSM_OK;
  for (int s = 0; s < SPTI_DIRECT_SLOTS && status == SPTRSM_OK; s++)
    if (had >> s & 1) status = make_plan(d, s);
  if (status == SPTRSM_OK) return SPTRSM_OK;
  spti_direct_keep_plans(d, 0); /* the next solve makes them anew, with panels of a width of their own */
  d->panel = 0;
  return status;
}

sptrsm_status spti_direct_refit(sptrsm_direct *d) {
  const int32_t panel = d->panel;
  const bool shares_work = d->shares_work;
  sptrsm_status status = SPTRSM_OK;
  if (d->context->memory_limit == 0) return SPTRSM_OK;
  spti_direct_make_room(d);
  d->panel = 0;
  d->shares_work = false;
  for (int s = 0; s < SPTI_DIRECT_SLOTS && status == SPTRSM_OK; s++)
    if (spti_direct_slot_at(d, s)->plan) status = spti_direct_fit_panel(d, spti_direct_slot_at(d, s)->plan);
  if (status == SPTRSM_ERR_MEMORY && !d->lends && spti_plan_may_stream(d->context, d->options.method))
    return spti_direct_begin_to_stream(d, d);
  if (status == SPTRSM_OK) return SPTRSM_OK;
  d->panel = panel;
  d->shares_work = shares_work;
  return status;
}

/* Where the memory limit has no room for a plan beside the others, all of them stream, unless some are lent. */
static sptrsm_status need_plan(spti_direct_slot **out, sptrsm_direct *d, const spti_system_stage *stage) {
  int matrix;
  spti_op op;
  *out = slot_of(d, &matrix, &op, stage);
  const int s = (int)(*out - &d->slots[0][0][0]);
  if ((*out)->plan) return SPTRSM_OK;
  if (d->context->memory_limit > 0) spti_direct_make_room(d);
  const sptrsm_status status = make_plan(d, s);
  if (status != SPTRSM_ERR_MEMORY || d->lends || !spti_plan_may_stream(d->context, d->options.method)) return status;
  SPTI_TRY(spti_direct_begin_to_stream(d, d));
  return make_plan(d, s);
}

sptrsm_status spti_direct_plan(const sptrsm_plan **out, sptrsm_direct *d, const spti_system_stage *stage) {
  spti_direct_slot *slot;
  SPTI_TRY(need_plan(&slot, d, stage));
  d->lends = true;
  *out = slot->plan;
  return SPTRSM_OK;
}

/* ---- creation and destruction ---- */

static sptrsm_status take_options(sptrsm_direct *d, bool *mixed, const sptrsm_options *options) {
  SPTI_TRY(spti_options_read(&d->options, options));
  *mixed = d->options.precision == SPTRSM_MIXED;
  d->options.op = SPTRSM_N;
  d->options.precision = SPTRSM_WORKING; /* for the plans, whose matrices are rounded already */
  if (*mixed) d->dtype = spti_single_of(d->given);
  const char *method = d->options.method;
  if (!method) return SPTRSM_OK;
  if (strlen(method) >= sizeof d->method) return spti_fail(SPTRSM_ERR_ARGUMENT, "unknown method \"%.60s...\"", method);
  d->options.method = strcpy(d->method, method);
  return SPTRSM_OK;
}

/* ---- the first plans ---- */

enum { TOGETHER_LEAST = 50000 }; /* entries of either: with fewer, waking a thread costs what it saves */

typedef struct {
  const sptrsm_direct *d;
  int slot;
  sptrsm_plan *plan;
  sptrsm_status status;
  char message[1024];
} analysis;

static void run_analysis(void *argument, int64_t piece, int member) {
  (void)member;
  analysis *a = (analysis *)argument + piece;
  a->status = create_plan(&a->plan, a->d, a->slot);
  if (a->status != SPTRSM_OK) snprintf(a->message, sizeof a->message, "%s", sptrsm_last_error());
}

/* L and U, of these slots, by two threads. The caller takes the first piece, so that is the larger one, and the caller seldom waits for the
 * other thread. */
static sptrsm_status analyse_together(sptrsm_direct *d, int l_slot, int u_slot) {
  const sptrsm_matrix *U_matrix = d->matrix[SPTI_U_MATRIX];
  const bool swapped = U_matrix && U_matrix->nnz > d->matrix[SPTI_L_MATRIX]->nnz;
  analysis both[2] = {{.d = d, .slot = swapped ? u_slot : l_slot}, {.d = d, .slot = swapped ? l_slot : u_slot}};
  spti_team_run(d->context->team, 2, 2, run_analysis, both);
  const analysis *L = &both[swapped], *U = &both[!swapped], *failed = L->status != SPTRSM_OK ? L : U;
  if (failed->status != SPTRSM_OK) {
    sptrsm_plan_destroy(L->plan);
    sptrsm_plan_destroy(U->plan);
    return spti_fail(failed->status, "%s", failed->message);
  }
  const sptrsm_status status = spti_direct_adopt_plan(d, l_slot, L->plan);
  if (status == SPTRSM_OK) return spti_direct_adopt_plan(d, u_slot, U->plan);
  sptrsm_plan_destroy(U->plan);
  return status;
}

static sptrsm_status make_first_plans(sptrsm_direct *d) {
  const spti_system_stage stages[2] = {{.factor = SPTI_L}, {.factor = SPTI_U}};
  spti_direct_slot *slot[2];
  bool large = d->has_U && d->context->place == SPTRSM_HOST && spti_direct_plans(d) == 0;
  for (int s = 0; s < 2 && large; s++) {
    int matrix;
    spti_op op;
    slot[s] = slot_of(d, &matrix, &op, &stages[s]);
    large = d->matrix[matrix]->nnz >= TOGETHER_LEAST;
  }
  if (large && spti_team_ready(d->context->team) > 1)
    return analyse_together(d, (int)(slot[0] - &d->slots[0][0][0]), (int)(slot[1] - &d->slots[0][0][0]));
  for (int s = 0; s < 1 + d->has_U; s++) SPTI_TRY(need_plan(&slot[s], d, &stages[s]));
  return SPTRSM_OK;
}

typedef struct {
  spti_direct_supply *supply;
  void *argument;
} plan_source;

static sptrsm_status fill(sptrsm_direct *d, const sptrsm_factors *f, plan_source plans) {
  SPTI_TRY(spti_name_object(sptrsm_matrix_create(&d->matrix[SPTI_L_MATRIX], d->context, f->L, f->copy),
                            spti_direct_factor_name(d, SPTI_L_MATRIX)));
  if (f->U)
    SPTI_TRY(spti_name_object(sptrsm_matrix_create(&d->matrix[SPTI_U_MATRIX], d->context, f->U, f->copy),
                              spti_direct_factor_name(d, SPTI_U_MATRIX)));
  SPTI_TRY(spti_direct_diagonal_create(&d->D, d->context, d->n, d->dtype, f->D, f->D_sub, f->D_hermitian != 0));
  SPTI_TRY(spti_side_set_maps(&d->row, d->context, f->perm_row, f->row_convention, d->n, "perm_row"));
  SPTI_TRY(spti_side_set_maps(&d->col, d->context, f->perm_col, f->col_convention, d->n, "perm_col"));
  SPTI_TRY(spti_side_set_scale(&d->row, d->context, f->scale_row, f->row_op, d->n, d->given, d->dtype, "scale_row"));
  SPTI_TRY(spti_side_set_scale(&d->col, d->context, f->scale_col, f->col_op, d->n, d->given, d->dtype, "scale_col"));
  if (plans.supply) SPTI_TRY(plans.supply(d, plans.argument));
  return make_first_plans(d);
}

static sptrsm_status fill_by_options(sptrsm_direct *d, const sptrsm_factors *f, const sptrsm_options *options, plan_source plans) {
  bool mixed;
  SPTI_TRY(take_options(d, &mixed, options));
  if (!mixed) return fill(d, f, plans);
  spti_single_factors single;
  SPTI_TRY(spti_single_factors_create(&single, d->context, f));
  sptrsm_status status = fill(d, &single.f, plans);
  spti_single_factors_free(&single);
  return status;
}

sptrsm_status spti_direct_create(sptrsm_direct **out, sptrsm_context *context, const sptrsm_factors *factors, const sptrsm_options *options,
                                 spti_direct_supply *supply, void *argument) {
  sptrsm_factors read;
  SPTI_TRY(spti_factors_read(&read, factors));
  const sptrsm_factors *f = &read;
  sptrsm_direct *d;
  SPTI_TRY(spti_host_alloc(&d, 1, sizeof *d, "direct solver"));
  *d = (sptrsm_direct){.context = context, .u_kind = f->u_kind, .dtype = f->L->dtype, .given = f->L->dtype, .n = f->L->n};
  atomic_init(&d->references, 1);
  d->place[SPTI_L_MATRIX] = f->L->place;
  d->place[SPTI_U_MATRIX] = f->U ? f->U->place : SPTRSM_HOST;
  d->has_U = f->U || f->u_kind != SPTRSM_U_GIVEN;
  spti_context_retain(context);
  sptrsm_status status = fill_by_options(d, f, options, (plan_source){supply, argument});
  if (status != SPTRSM_OK) {
    sptrsm_direct_destroy(d);
    return status;
  }
  *out = d;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_direct_create(sptrsm_direct **out, sptrsm_context *context, const sptrsm_factors *factors,
                                   const sptrsm_options *options) {
  if (!out || !context || !factors) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_create: out, context or factors is NULL");
  SPTI_VISIT(context);
  return spti_direct_create(out, context, factors, options, NULL, NULL);
}

void spti_direct_drop_extension(sptrsm_direct *d) {
  if (d->extension.state) d->extension.free(d->extension.state, d->context);
  d->extension = (spti_direct_extension){0};
}

void spti_direct_retain(sptrsm_direct *d) { atomic_fetch_add(&d->references, 1); }

void sptrsm_direct_destroy(sptrsm_direct *d) {
  if (!d || atomic_fetch_sub(&d->references, 1) > 1) return;
  SPTI_VISIT(d->context);
  spti_direct_drop_extension(d);
  spti_direct_free_workspace(d);
  spti_direct_keep_plans(d, 0);
  spti_host_free(d->blob);
  sptrsm_matrix_destroy(d->matrix[SPTI_L_MATRIX]);
  sptrsm_matrix_destroy(d->matrix[SPTI_U_MATRIX]);
  spti_direct_diagonal_free(&d->D, d->context);
  spti_side_free(&d->row, d->context);
  spti_side_free(&d->col, d->context);
  sptrsm_context_destroy(d->context);
  spti_host_free(d);
}

/* ---- solving ---- */

spti_edge spti_direct_edge(const sptrsm_direct *d, const spti_system_edge *e) {
  if (e->side == SPTI_NO_SIDE) return (spti_edge){0};
  const spti_side *s = e->side == SPTI_ROW_SIDE ? &d->row : &d->col;
  return (spti_edge){.map = e->transpose ? s->inverse : s->map,
                     .inverse = e->transpose ? s->map : s->inverse,
                     .scale = e->scaled ? s->scale : NULL,
                     .divide = s->divide};
}

sptrsm_status spti_direct_need_plans(sptrsm_direct *d, const spti_system_steps *steps) {
  spti_direct_slot *slot;
  for (int s = 0; s < steps->count; s++)
    if (steps->stages[s].factor != SPTI_D) SPTI_TRY(need_plan(&slot, d, &steps->stages[s]));
  return SPTRSM_OK;
}

bool spti_direct_has_plans(const sptrsm_direct *d, const spti_system_steps *steps) {
  int matrix;
  spti_op op;
  for (int s = 0; s < steps->count; s++)
    if (steps->stages[s].factor != SPTI_D && !slot_of((sptrsm_direct *)d, &matrix, &op, &steps->stages[s])->plan) return false;
  return true;
}

unsigned spti_direct_plans(const sptrsm_direct *d) {
  unsigned plans = 0;
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) plans |= (unsigned)(spti_direct_slot_at((sptrsm_direct *)d, s)->plan != NULL) << s;
  return plans;
}

void spti_direct_keep_plans(sptrsm_direct *d, unsigned kept) {
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    if (kept >> s & 1) continue;
    sptrsm_plan_destroy(spti_direct_slot_at(d, s)->plan);
    spti_direct_slot_at(d, s)->plan = NULL;
  }
}

/* Plans are made before the work, since a new plan may narrow the panel and free the workspace. */
sptrsm_status spti_direct_pipeline(spti_pipeline *out, sptrsm_direct *d, const spti_system_steps *steps) {
  spti_direct_slot *used[SPTI_STAGES_MAX];
  *out = (spti_pipeline){.context = d->context,
                         .dtype = d->dtype,
                         .n = d->n,
                         .first = spti_direct_edge(d, &steps->first),
                         .last = spti_direct_edge(d, &steps->last)};
  for (int s = 0; s < steps->count; s++) {
    const spti_system_stage *stage = &steps->stages[s];
    int at = out->stage_count;
    used[at] = NULL;
    if (stage->factor == SPTI_D && !d->D.apply.val) continue; /* the identity */
    if (stage->factor == SPTI_D) out->stages[at].diagonal = &d->D.apply;
    else SPTI_TRY(need_plan(&used[at], d, stage));
    out->stages[at].op = stage->op;
    out->stage_count++;
  }
  SPTI_TRY(spti_direct_need_shared(d));
  for (int s = 0; s < out->stage_count; s++) {
    if (!used[s]) continue;
    SPTI_TRY(spti_direct_need_work(d, used[s]));
    out->stages[s].plan = used[s]->plan;
    out->stages[s].work = used[s]->work;
  }
  return SPTRSM_OK;
}

sptrsm_status sptrsm_direct_solve(sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                  sptrsm_block *X) {
  if (!d || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_solve: direct, B or X is NULL");
  SPTI_VISIT(d->context);
  if (!sptrsm_system_name(system)) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_solve: unknown system %d", (int)system);
  if (op != SPTRSM_N && op != SPTRSM_T && op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_solve: unknown op %d", (int)op);
  if (B->dtype == d->given && d->dtype != d->given)
    return spti_fail(SPTRSM_ERR_ARGUMENT,
                     "the factors are kept in single precision; call sptrsm_direct_refine, or give B and X in single precision");
  spti_system_steps steps = spti_system_solve_steps(system, op);
  for (int s = 0; s < steps.count; s++)
    if (steps.stages[s].factor == SPTI_U && !d->has_U)
      return spti_fail(SPTRSM_ERR_ARGUMENT, "system %s needs U; the factors have only L (u_kind tells that U is L transposed)",
                       sptrsm_system_name(system));
  spti_pipeline pipeline;
  SPTI_TRY(spti_direct_pipeline(&pipeline, d, &steps));
  if (!d->panels.W) SPTI_TRY(spti_panels_create(&d->panels, d->context, d->n, d->dtype, d->panel, &d->options));
  return spti_pipeline_run(&pipeline, &d->panels, alpha, B, X);
}

/* ---- information ---- */

static sptrsm_status factor_info(sptrsm_info *out, const sptrsm_direct *d, spti_factor factor) {
  int matrix;
  spti_op op;
  const spti_direct_slot *s = slot_of((sptrsm_direct *)d, &matrix, &op, &(spti_system_stage){.factor = factor});
  if (!s->plan)
    return spti_fail(SPTRSM_ERR_MEMORY, "%s has no plan, since the memory limit has no room for one", spti_direct_factor_name(d, matrix));
  SPTI_TRY(sptrsm_plan_info(out, s->plan));
  out->panel = d->panel;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_direct_info(sptrsm_info *L, sptrsm_info *U, const sptrsm_direct *d) {
  if (!d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_info: direct is NULL");
  if (U && !d->has_U) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_info: the factors have no U");
  if (U) SPTI_TRY(spti_sized_check(U, SPTI_SIZE_UP_TO(sptrsm_info, flops_per_rhs), sizeof *U, "sptrsm_direct_info", "sptrsm_info"));
  if (L) SPTI_TRY(factor_info(L, d, SPTI_L));
  return U ? factor_info(U, d, SPTI_U) : SPTRSM_OK;
}

size_t spti_direct_bytes(const sptrsm_direct *d) {
  const size_t n = (size_t)d->n, value = sptrsm_dtype_bytes(d->dtype);
  size_t bytes = sizeof *d + spti_matrix_bytes(d->matrix[SPTI_L_MATRIX]);
  if (d->matrix[SPTI_U_MATRIX]) bytes += spti_matrix_bytes(d->matrix[SPTI_U_MATRIX]);
  for (int s = 0; s < SPTI_DIRECT_SLOTS; s++) {
    const sptrsm_plan *plan = spti_direct_slot_at((sptrsm_direct *)d, s)->plan;
    if (plan) bytes += spti_plan_bytes(plan);
  }
  for (int part = 0; part < 2; part++) bytes += ((d->D.host[part] != NULL) + (d->D.device[part] != NULL)) * n * value;
  const spti_side *sides[2] = {&d->row, &d->col};
  for (int s = 0; s < 2; s++) bytes += n * ((sides[s]->map ? 2 * sizeof *sides[s]->map : 0) + (sides[s]->scale ? sizeof(double) : 0));
  return bytes;
}

sptrsm_status sptrsm_direct_workspace_bytes(size_t *out, const sptrsm_direct *d) {
  if (!out || !d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_workspace_bytes: out or direct is NULL");
  size_t solving, panels = 0, rest;
  if (d->extension.state) SPTI_TRY(d->extension.bytes(&panels, &rest, d, d->panel));
  SPTI_TRY(spti_direct_workspace_bytes(&solving, (sptrsm_direct *)d, d->panel));
  *out = solving + panels;
  return SPTRSM_OK;
}
