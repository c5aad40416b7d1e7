/* plan.c -- options, references to a plan, new values, and sptrsm_plan_info. Plans are made in create.c. */
#include "core/plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/plan/analysis.h"
#include "core/plan/method.h"
#include "core/plan/workspace.h"

void sptrsm_options_init_sized(sptrsm_options *options, size_t size) {
  spti_sized_init(options, size, &(sptrsm_options){0}, sizeof *options);
}

sptrsm_status spti_options_read(sptrsm_options *o, const sptrsm_options *in) {
  sptrsm_options_init(o);
  if (!in) return SPTRSM_OK;
  SPTI_TRY(spti_sized_read(o, sizeof *o, in, SPTI_SIZE_UP_TO(sptrsm_options, precision), "sptrsm_options"));
  if (o->op != SPTRSM_N && o->op != SPTRSM_T && o->op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "options: unknown op %d", (int)o->op);
  if (o->select < SPTRSM_SELECT_ADAPTIVE || o->select > SPTRSM_SELECT_COLUMN)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "options: unknown select %d", (int)o->select);
  if (o->nrhs_hint < 0 || o->p < 0 || o->q < 0 || o->panel < 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "options: nrhs_hint, p, q and panel must not be negative");
  if (o->precision != SPTRSM_WORKING && o->precision != SPTRSM_MIXED)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "options: unknown precision %d", (int)o->precision);
  if (memchr(o->stencil, 0, sizeof o->stencil) == NULL)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "options: stencil \"%.15s...\" is no name that is known; leave it empty", o->stencil);
  return SPTRSM_OK;
}

sptrsm_status spti_plan_begin(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options) {
  sptrsm_options taken;
  SPTI_TRY(spti_options_read(&taken, options));
  sptrsm_plan *plan;
  SPTI_TRY(spti_host_alloc(&plan, 1, sizeof *plan, "plan"));
  *plan = (sptrsm_plan){.matrix = (sptrsm_matrix *)matrix, .context = matrix->context, .op = op, .options = taken, .levels = -1};
  atomic_init(&plan->references, 1);
  spti_matrix_retain(plan->matrix);
  *out = plan;
  return SPTRSM_OK;
}

void spti_plan_retain(const sptrsm_plan *plan) { atomic_fetch_add(&((sptrsm_plan *)plan)->references, 1); }

void sptrsm_plan_destroy(sptrsm_plan *plan) {
  if (!plan || atomic_fetch_sub(&plan->references, 1) > 1) return;
  SPTI_VISIT(plan->context);
  spti_matrix_remove_dependant(plan->matrix, &plan->dependant);
  spti_workspace_free(plan->own, plan);
  if (plan->state && plan->method->free) plan->method->free(plan);
  spti_plan_drop_levels(plan);
  spti_plan_drop_row_panels(plan);
  spti_host_free(plan->blob);
  spti_host_free(plan->lent);
  sptrsm_plan_destroy(plan->lender);
  sptrsm_matrix_destroy(plan->matrix);
  spti_host_free(plan);
}

sptrsm_place spti_plan_view_place(const sptrsm_plan *plan) {
  return plan->method && plan->method->flags & SPTI_FROM_HOST ? SPTRSM_HOST : plan->context->place;
}

/* The matrix has new values. */
static sptrsm_status refresh(void *owner) {
  sptrsm_plan *plan = owner;
  SPTI_TRY(spti_matrix_view(&plan->view, plan->matrix, plan->op, plan->method->wants, spti_plan_view_place(plan)));
  plan->values_version++;
  return plan->method->update_values ? plan->method->update_values(plan) : SPTRSM_OK;
}

void spti_plan_follow_matrix(sptrsm_plan *plan) {
  plan->dependant = (spti_dependant){.owner = plan, .refresh = refresh};
  spti_matrix_add_dependant(plan->matrix, &plan->dependant);
}

size_t spti_plan_bytes(const sptrsm_plan *plan) {
  sptrsm_info info = {.size = sizeof info};
  const bool reads_all = plan->lender && !plan->method->update_values; /* it has no arrays but the lender's */
  if (plan->method->describe && !reads_all) plan->method->describe(plan, &info);
  return sizeof *plan + info.plan_bytes + plan->lent_bytes;
}

static sptrsm_op op_of(spti_op op) { return op.transpose ? (op.conj ? SPTRSM_C : SPTRSM_T) : SPTRSM_N; }

/* Operations for one right-hand side: a multiplication and a subtraction for each off-diagonal entry, a division for
 * each row of a non-unit triangle. A complex operation counts as four. */
static double flops_of(const spti_view *v) {
  const int64_t diagonals = v->head || v->tail ? v->n : 0;
  return (2.0 * (double)(v->nnz - diagonals) + (v->unit ? 0 : v->n)) * (spti_is_complex(v->dtype) ? 4 : 1);
}

sptrsm_status sptrsm_plan_info(sptrsm_info *out, const sptrsm_plan *plan) {
  if (!out || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_info: out or plan is NULL");
  SPTI_VISIT(plan->context);
  SPTI_TRY(spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_info, flops_per_rhs), sizeof *out, "sptrsm_plan_info", "sptrsm_info"));
  sptrsm_info info = {.size = sizeof info,
                      .method = plan->method->name,
                      .place = plan->method->place,
                      .levels = plan->levels,
                      .op = op_of(plan->op),
                      .panel = plan->panel,
                      .deterministic = (plan->method->flags & SPTI_DETERMINISTIC) != 0,
                      .inverts = (plan->method->flags & SPTI_INVERTS) != 0,
                      .nnz = plan->view.nnz,
                      .flops_per_rhs = flops_of(&plan->view),
                      .analysis_seconds = plan->analysis_seconds,
                      .view_seconds = plan->view_seconds};
  snprintf(info.reason, sizeof info.reason, "%s", plan->reason);
  if (plan->method->describe) plan->method->describe(plan, &info);
  spti_sized_write(out, &info, sizeof info);
  return SPTRSM_OK;
}
