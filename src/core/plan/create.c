/* create.c -- sptrsm_plan_create: from options to a method, the view that it reads, its analysis and the width of its
 * panels. */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/isa.h"
#include "core/plan/analysis.h"
#include "core/plan/features.h"
#include "core/plan/method.h"
#include "core/plan/panel.h"
#include "core/plan/workspace.h"
#include "core/select/chains.h"

/* ---- a method by its name ---- */

/* Splits "name:variant" and checks that the method works where the context is. */
static sptrsm_status take_method(sptrsm_plan *plan, const char *name) {
  size_t length = strcspn(name, ":");
  if (strncmp(name, "auto:", 5) == 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "method auto has no parameters, \"%s\" sets some; name a method to set those of it", name);
  plan->method = spti_method_find(name, length, plan->context->place);
  if (!plan->method) return spti_fail(SPTRSM_ERR_ARGUMENT, "unknown method \"%s\"; `sptrsm-info --methods` lists them", name);
  if (strlen(name + length) > sizeof plan->variant)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "method \"%.40s...\": a variant has less than %zu characters", name, sizeof plan->variant);
  snprintf(plan->variant, sizeof plan->variant, "%s", name[length] ? name + length + 1 : "");
  plan->options.method = plan->method->name;
  if (*plan->variant && !(plan->method->flags & SPTI_VARIANTS))
    return spti_fail(SPTRSM_ERR_ARGUMENT, "method %s has no variants; \"%s\" asks for one", plan->method->name, name);
  if (plan->method->place != plan->context->place)
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "method %s works on %s, this context is on %s", plan->method->name,
                     plan->method->place == SPTRSM_CUDA ? "a CUDA device" : "the host",
                     plan->context->place == SPTRSM_CUDA ? "a CUDA device" : "the host");
  if (plan->options.deterministic && !(plan->method->flags & SPTI_DETERMINISTIC))
    return spti_fail(SPTRSM_ERR_UNSUPPORTED, "method %s is not deterministic; clear options.deterministic, or choose one that is",
                     plan->method->name);
  return SPTRSM_OK;
}

/* ---- analysis ---- */

static sptrsm_status timed_view(sptrsm_plan *plan, spti_orientation wants) {
  double start = spti_seconds();
  SPTI_TRY(spti_matrix_view(&plan->view, plan->matrix, plan->op, wants, spti_plan_view_place(plan)));
  SPTI_TRY(spti_context_wait(plan->context));
  plan->view_seconds += spti_seconds() - start;
  return SPTRSM_OK;
}

/* The analysis by the plan's method. Transposing the stored format into the one that the method reads is timed
 * separately, since only the first plan of a matrix needs it. */
static sptrsm_status analyse(sptrsm_plan *plan) {
  const spti_orientation wants = plan->method->wants;
  if (wants != SPTI_ANY && plan->view.pull != (wants == SPTI_PULL)) SPTI_TRY(timed_view(plan, wants));
  return plan->method->analyse ? plan->method->analyse(plan) : SPTRSM_OK;
}

static void forget_analysis(sptrsm_plan *plan) {
  if (plan->state && plan->method->free) plan->method->free(plan);
  plan->state = NULL;
  plan->schedule = NULL;
}

/* ---- the choice of auto ---- */

/* all: also those that cannot matter to the choice. */
static sptrsm_status find_features(spti_features *f, sptrsm_plan *plan, bool all) {
  *f = (spti_features){.place = plan->context->place,
                       .device = sptrsm_auto_device(plan->context),
                       .deterministic = plan->options.deterministic,
                       .single_to_double = plan->context->single_to_double,
                       .nrhs = plan->options.nrhs_hint,
                       .n = plan->view.n,
                       .nnz = plan->view.nnz};
  return f->place == SPTRSM_CUDA ? spti_gpu_features_add(f, plan, all) : spti_chained_share(&f->chained, &plan->view);
}

/* The next row that holds and names another method. */
static spti_choice next_choice(const spti_features *features, const spti_choice *before) {
  spti_choice next = spti_choose(features, before->row + 1);
  while (next.method && strcmp(next.method, before->method) == 0) next = spti_choose(features, next.row + 1);
  return next;
}

/* A method may find in its analysis that it cannot solve this triangle, or not in this memory. Then `auto` tries the
 * next row of its table. */
static sptrsm_status analyse_by_choice(sptrsm_plan *plan) {
  spti_features features;
  char refusal[64] = "";
  sptrsm_status status;
  SPTI_TRY(find_features(&features, plan, false));
  for (spti_choice choice = spti_choose(&features, 0);;) {
    snprintf(plan->reason, sizeof plan->reason, "%s%s", refusal, choice.reason);
    SPTI_TRY(take_method(plan, choice.method));
    status = analyse(plan);
    if (status != SPTRSM_ERR_UNSUPPORTED && status != SPTRSM_ERR_MEMORY) return status;
    if (status == SPTRSM_ERR_MEMORY && spti_plan_may_stream(plan->context, NULL)) return status; /* rather than by another method */
    snprintf(refusal, sizeof refusal, "%s %s; ", plan->method->name, status == SPTRSM_ERR_MEMORY ? "found no memory" : "refused");
    forget_analysis(plan);
    if (features.place == SPTRSM_CUDA) SPTI_TRY(spti_gpu_features_add_rest(&features, plan));
    choice = next_choice(&features, &choice);
    if (!choice.method) return status;
  }
}

/* ---- creation ---- */

/* So that times and errors that follow belong to this plan only. */
static sptrsm_status end_earlier_work(const sptrsm_plan *plan) {
  SPTI_TRY(spti_context_wait(plan->context));
  (void)spti_gpu_note_losses(plan->context); /* an earlier solve's, of which sptrsm_context_sync tells */
  return SPTRSM_OK;
}

/* The orientation of the view that `auto` looks at. */
static spti_orientation undecided(const sptrsm_plan *plan) { return plan->context->place == SPTRSM_HOST ? SPTI_ANY : SPTI_PULL; }

static sptrsm_status workspace_bytes(size_t *out, void *plan, int32_t panel) { return spti_workspace_bytes(out, plan, panel); }

static sptrsm_status choose_panel(sptrsm_plan *plan) {
  plan->panel = spti_panel_choose(plan);
  const int32_t least = spti_plan_may_stream(plan->context, plan->options.method) ? SPTI_PANEL_WORTHWHILE : 1;
  SPTI_TRY(spti_panel_fit(&plan->panel, least, plan->context, plan->options.memory_limit, workspace_bytes, plan));
  if (plan->method->flags & SPTI_FROM_HOST) plan->panel = spti_panel_even(plan->panel, plan->options.nrhs_hint);
  return SPTRSM_OK;
}

static sptrsm_status prepare(sptrsm_plan *plan) {
  const char *name = plan->options.method;
  plan->automatic = !name || strcmp(name, "auto") == 0;
  snprintf(plan->reason, sizeof plan->reason, "asked for");
  if (!plan->automatic) SPTI_TRY(take_method(plan, name));
  const double start = spti_seconds();
  SPTI_TRY(timed_view(plan, plan->automatic ? undecided(plan) : plan->method->wants));
  SPTI_TRY(plan->automatic ? analyse_by_choice(plan) : analyse(plan));
  spti_plan_drop_row_panels(plan);
  SPTI_TRY(spti_context_wait(plan->context));
  plan->analysis_seconds = spti_seconds() - start - plan->view_seconds;
  return choose_panel(plan);
}

sptrsm_status spti_plan_create(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options) {
  sptrsm_plan *plan;
  SPTI_TRY(spti_plan_begin(&plan, matrix, op, options));
  sptrsm_status status = end_earlier_work(plan);
  if (status == SPTRSM_OK) status = prepare(plan);
  if (status != SPTRSM_OK) {
    sptrsm_plan_destroy(plan);
    return status;
  }
  spti_plan_follow_matrix(plan);
  *out = plan;
  return SPTRSM_OK;
}

static sptrsm_status read_state(sptrsm_plan *plan, spti_blob *blob) {
  SPTI_TRY(take_method(plan, plan->options.method));
  const double start = spti_seconds();
  SPTI_TRY(timed_view(plan, plan->method->wants));
  if (plan->method->carry) plan->method->carry(plan, blob);
  SPTI_TRY(blob->status);
  plan->analysis_seconds = spti_seconds() - start - plan->view_seconds;
  return choose_panel(plan);
}

sptrsm_status spti_plan_restore(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options,
                                spti_blob *blob) {
  sptrsm_plan *plan;
  SPTI_TRY(spti_plan_begin(&plan, matrix, op, options));
  const sptrsm_status status = read_state(plan, blob);
  if (status != SPTRSM_OK) {
    sptrsm_plan_destroy(plan);
    return status;
  }
  spti_plan_follow_matrix(plan);
  *out = plan;
  return SPTRSM_OK;
}

/* A plan that the memory limit leaves no room for is made once more as one that streams. */
sptrsm_status spti_plan_create_to_fit(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options) {
  char name[96];
  const unsigned copies = spti_matrix_device_copies(matrix);
  const sptrsm_status status = spti_plan_create(out, matrix, op, options);
  if (status != SPTRSM_ERR_MEMORY || !spti_plan_may_stream(matrix->context, options ? options->method : NULL)) return status;
  spti_matrix_drop_device_copies((sptrsm_matrix *)matrix, copies); /* which the plan made */
  sptrsm_options again;
  SPTI_TRY(spti_options_read(&again, options));
  spti_plan_streamed_name(name, sizeof name, again.method);
  again.method = name;
  SPTI_TRY(spti_plan_create(out, matrix, op, &again));
  snprintf((*out)->reason, sizeof(*out)->reason, "the memory limit has no room for the factor on the device");
  return SPTRSM_OK;
}

sptrsm_status sptrsm_plan_create(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_options *options) {
  if (!out || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_create: out or matrix is NULL");
  SPTI_VISIT(matrix->context);
  return spti_plan_create_to_fit(out, matrix, spti_op_from(options ? options->op : SPTRSM_N), options);
}

const char *sptrsm_auto_device(const sptrsm_context *context) {
  if (!context) return "";
  return context->place == SPTRSM_CUDA ? context->description : spti_isa_names[spti_isa_best()];
}

static sptrsm_status find_all_features(double *values, sptrsm_plan *plan) {
  spti_features f;
  SPTI_TRY(end_earlier_work(plan));
  SPTI_TRY(timed_view(plan, undecided(plan)));
  SPTI_TRY(find_features(&f, plan, true));
  spti_choose_values(values, &f);
  return spti_context_wait(plan->context);
}

sptrsm_status sptrsm_auto_features(double *values, const sptrsm_matrix *matrix, const sptrsm_options *options) {
  if (!values || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_auto_features: values or matrix is NULL");
  SPTI_VISIT(matrix->context);
  sptrsm_plan *plan;
  SPTI_TRY(spti_plan_begin(&plan, matrix, spti_op_from(options ? options->op : SPTRSM_N), options));
  const sptrsm_status status = find_all_features(values, plan);
  sptrsm_plan_destroy(plan);
  return status;
}
