/* plan.c -- options to a method, its view and its analysis. */
#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/plan/plan.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/context/alloc.h"
#include "core/select/chains.h"
#include "core/select/choose.h"
#include "core/levels/gpu.h"
#include "core/plan/method.h"
#include "core/levels/row_panels_gpu.h"
#include "core/stencil/gpu.h"
#include "core/select/survey_gpu.h"
#include "core/plan/workspace.h"

enum { HOST_SLAB_BYTES = 5 << 19, HOST_SLAB_MIN = 8, HOST_SLAB_MAX = 32, GPU_PANEL_MAX = 512, GPU_PANEL_DEFAULT = 128, GPU_PANEL_MIN = 32 };
static const int64_t GPU_PANEL_BYTES = (int64_t)1 << 30;

double spti_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

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

/* Splits "name:variant" and checks that the method works where the context is. */
static sptrsm_status take_method(sptrsm_plan *plan, const char *name) {
  size_t length = strcspn(name, ":");
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

/* Level sets, if there are not so many that row panels are all that counts. all: even if the choice needs none. */
static sptrsm_status count_levels(spti_features *f, sptrsm_plan *plan, bool all) {
  const spti_gpu_levels *levels;
  f->thin_levels = f->wide_levels = 0;
  if (!plan->gpu_levels || (!all && !spti_choose_asks_for_widths(f))) return SPTRSM_OK;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  for (int32_t l = 0; l < levels->count; l++) {
    const int32_t rows = levels->ptr[l + 1] - levels->ptr[l];
    f->thin_levels += rows < SPTI_THIN_LEVEL;
    f->wide_levels += rows >= SPTI_WIDE_LEVEL;
  }
  return SPTRSM_OK;
}

/* all: not only what the choice needs. */
static sptrsm_status add_levels(spti_features *f, sptrsm_plan *plan, bool all) {
  spti_survey survey;
  const spti_choose_limits limits = spti_choose_limits_on(f->device);
  SPTI_TRY(spti_plan_survey(&survey, plan, all ? NULL : &limits));
  f->levels = survey.levels;
  f->panel_hops = survey.hops;
  return count_levels(f, plan, all);
}

/* What the rows behind those for stencils and for panels go by, once a method of these has refused. */
static sptrsm_status add_what_is_left(spti_features *f, sptrsm_plan *plan) {
  const spti_gpu_levels *levels;
  if (f->place != SPTRSM_CUDA) return SPTRSM_OK;
  if (spti_choose_by_stencil(f)) {
    f->stencil = 0;
    return add_levels(f, plan, false);
  }
  SPTI_TRY(spti_plan_levels(plan, &levels));
  f->levels = levels->count;
  return count_levels(f, plan, true);
}

/* On a GPU the level sets, of which most methods there make use in their analysis anyway, but for a stencil on a grid; whether the triangle
 * is one is asked only where that could matter. */
static sptrsm_status add_stencil_or_levels(spti_features *f, sptrsm_plan *plan, bool all) {
  spti_stencil s;
  if (!all && !spti_choose_asks_for_stencil(f)) return add_levels(f, plan, all);
  const sptrsm_status status = spti_plan_stencil_shown(&s, plan);
  if (status != SPTRSM_OK && status != SPTRSM_ERR_ARGUMENT) return status;
  if (status == SPTRSM_OK && s.name) f->stencil = spti_stencil_width(&s); /* options may say a grid that is not this triangle's */
  return !all && spti_choose_by_stencil(f) ? SPTRSM_OK : add_levels(f, plan, all);
}

/* What auto goes by; all: also what this choice need not know. On the host the shape of lines. */
static sptrsm_status find_features(spti_features *f, sptrsm_plan *plan, bool all) {
  *f = (spti_features){.place = plan->context->place,
                       .device = plan->context->description,
                       .deterministic = plan->options.deterministic,
                       .nrhs = plan->options.nrhs_hint,
                       .n = plan->view.n,
                       .nnz = plan->view.nnz};
  return f->place == SPTRSM_CUDA ? add_stencil_or_levels(f, plan, all) : spti_chained_share(&f->chained, &plan->view);
}

/* Host: a slab of columns that stays in one core's cache. GPU: wide enough for the kernels, within a bounded share of memory. */
static int32_t choose_panel(const sptrsm_plan *plan) {
  const int64_t most = INT32_MAX, expected = plan->options.nrhs_hint < most ? plan->options.nrhs_hint : most;
  int64_t hint = (expected + 7) / 8 * 8;
  if (plan->options.panel > 0) return hint > 0 && hint < plan->options.panel ? (int32_t)hint : plan->options.panel;
  const int32_t own = plan->method->panel ? plan->method->panel(plan) : 0;
  if (own > 0) return own;
  int64_t column = (int64_t)(plan->view.n > 0 ? plan->view.n : 1) * (int64_t)sptrsm_dtype_bytes(plan->view.dtype);
  if (plan->context->place == SPTRSM_HOST) {
    int32_t slab = HOST_SLAB_MIN; /* doubled, since kernels are made for powers of two */
    while (slab < HOST_SLAB_MAX && 2 * slab * column <= HOST_SLAB_BYTES && (hint == 0 || slab < hint)) slab *= 2;
    return slab;
  }
  if (hint > 0 && expected < GPU_PANEL_MIN) return (int32_t)expected;
  int64_t want = hint > 0 ? (hint + 31) / 32 * 32 : GPU_PANEL_DEFAULT, fits = GPU_PANEL_BYTES / column / 32 * 32;
  if (want > GPU_PANEL_MAX) want = GPU_PANEL_MAX;
  if (want > fits) want = fits;
  return (int32_t)(want < GPU_PANEL_MIN ? GPU_PANEL_MIN : want);
}

/* Halves the panel until a workspace keeps within options.memory_limit. */
static sptrsm_status fit_panel(sptrsm_plan *plan) {
  plan->panel = choose_panel(plan);
  if (plan->options.memory_limit == 0) return SPTRSM_OK;
  for (;;) {
    size_t bytes;
    SPTI_TRY(sptrsm_workspace_bytes(&bytes, plan, plan->panel));
    if (bytes <= plan->options.memory_limit) return SPTRSM_OK;
    if (plan->panel == 1)
      return spti_fail(SPTRSM_ERR_MEMORY, "a workspace for one right-hand side takes %zu bytes, the limit is %zu", bytes,
                       plan->options.memory_limit);
    plan->panel /= 2;
  }
}

static sptrsm_status timed_view(sptrsm_plan *plan, spti_orientation wants) {
  double start = spti_seconds();
  SPTI_TRY(spti_matrix_view(&plan->view, plan->matrix, plan->op, wants, plan->context->place));
  SPTI_TRY(spti_context_wait(plan->context));
  plan->view_seconds += spti_seconds() - start;
  return SPTRSM_OK;
}

/* By the method that was taken. Turning the stored format into the one it reads is timed apart: only the first plan of a matrix pays. */
static sptrsm_status analyse(sptrsm_plan *plan) {
  const spti_orientation wants = plan->method->wants;
  if (wants != SPTI_ANY && plan->view.pull != (wants == SPTI_PULL)) SPTI_TRY(timed_view(plan, wants));
  return plan->method->analyse ? plan->method->analyse(plan) : SPTRSM_OK;
}

static void forget_analysis(sptrsm_plan *plan) {
  if (plan->method->free) plan->method->free(plan);
  plan->state = NULL;
  plan->team = 1;
}

/* The next row that takes another method. */
static spti_choice next_choice(const spti_features *features, const spti_choice *before) {
  spti_choice next = spti_choose(features, before->row + 1);
  while (next.method && strcmp(next.method, before->method) == 0) next = spti_choose(features, next.row + 1);
  return next;
}

/* A method may find in its analysis that it cannot serve the triangle, or not in this memory: then the next that auto would take does. */
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
    snprintf(refusal, sizeof refusal, "%s %s; ", plan->method->name, status == SPTRSM_ERR_MEMORY ? "found no memory" : "refused");
    forget_analysis(plan);
    SPTI_TRY(add_what_is_left(&features, plan));
    choice = next_choice(&features, &choice);
    if (!choice.method) return status;
  }
}

/* Puts `row` into the word that names a lost dependency, and returns what was there: an analysis has waits of its own. */
static int64_t exchange_lost(const sptrsm_context *context, int64_t row) {
  if (context->place != SPTRSM_CUDA) return 0;
  volatile int64_t *word = context->lost;
  const int64_t before = *word;
  *word = row;
  return before;
}

/* What auto looks at before it has chosen. */
static spti_orientation undecided(const sptrsm_plan *plan) { return plan->context->place == SPTRSM_HOST ? SPTI_ANY : SPTI_PULL; }

static sptrsm_status prepare(sptrsm_plan *plan) {
  const char *name = plan->options.method;
  const bool automatic = !name || strcmp(name, "auto") == 0;
  snprintf(plan->reason, sizeof plan->reason, "asked for");
  if (!automatic) SPTI_TRY(take_method(plan, name));
  const double start = spti_seconds();
  SPTI_TRY(timed_view(plan, automatic ? undecided(plan) : plan->method->wants));
  SPTI_TRY(automatic ? analyse_by_choice(plan) : analyse(plan));
  spti_plan_drop_row_panels(plan);
  SPTI_TRY(spti_context_wait(plan->context));
  plan->analysis_seconds = spti_seconds() - start - plan->view_seconds;
  return fit_panel(plan);
}

/* A plan without a method, for sptrsm_plan_destroy. */
static sptrsm_status begin(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options) {
  sptrsm_options taken;
  SPTI_TRY(spti_options_read(&taken, options));
  sptrsm_plan *plan;
  SPTI_TRY(spti_host_alloc(&plan, 1, sizeof *plan, "plan"));
  *plan = (sptrsm_plan){.matrix = (sptrsm_matrix *)matrix, .context = matrix->context, .op = op, .options = taken, .levels = -1, .team = 1};
  atomic_init(&plan->references, 1);
  spti_matrix_retain(plan->matrix);
  *out = plan;
  return SPTRSM_OK;
}

sptrsm_status spti_plan_create(sptrsm_plan **out, const sptrsm_matrix *matrix, spti_op op, const sptrsm_options *options) {
  sptrsm_plan *plan;
  SPTI_TRY(begin(&plan, matrix, op, options));
  sptrsm_status status = spti_context_wait(plan->context); /* so that times and errors are of this plan only */
  const int64_t lost = exchange_lost(plan->context, 0);
  if (status == SPTRSM_OK) status = prepare(plan);
  if (lost != 0) exchange_lost(plan->context, lost); /* an earlier solve's is left to sptrsm_context_sync */
  if (status != SPTRSM_OK) {
    sptrsm_plan_destroy(plan);
    return status;
  }
  plan->next = plan->matrix->plans;
  plan->matrix->plans = plan;
  *out = plan;
  return SPTRSM_OK;
}

sptrsm_status sptrsm_plan_create(sptrsm_plan **out, const sptrsm_matrix *matrix, const sptrsm_options *options) {
  if (!out || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_create: out or matrix is NULL");
  return spti_plan_create(out, matrix, spti_op_from(options ? options->op : SPTRSM_N), options);
}

static sptrsm_status find_all_features(double *values, sptrsm_plan *plan) {
  spti_features f;
  SPTI_TRY(timed_view(plan, undecided(plan)));
  SPTI_TRY(find_features(&f, plan, true));
  spti_choose_values(values, &f);
  return spti_context_wait(plan->context);
}

sptrsm_status sptrsm_auto_features(double *values, const sptrsm_matrix *matrix, const sptrsm_options *options) {
  if (!values || !matrix) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_auto_features: values or matrix is NULL");
  sptrsm_plan *plan;
  SPTI_TRY(begin(&plan, matrix, spti_op_from(options ? options->op : SPTRSM_N), options));
  const sptrsm_status status = find_all_features(values, plan);
  sptrsm_plan_destroy(plan);
  return status;
}

void spti_plan_retain(const sptrsm_plan *plan) { atomic_fetch_add(&((sptrsm_plan *)plan)->references, 1); }

static void unlink_plan(sptrsm_plan *plan) {
  for (sptrsm_plan **at = &plan->matrix->plans; *at; at = &(*at)->next)
    if (*at == plan) {
      *at = plan->next;
      return;
    }
}

void sptrsm_plan_destroy(sptrsm_plan *plan) {
  if (!plan || atomic_fetch_sub(&plan->references, 1) > 1) return;
  unlink_plan(plan);
  spti_workspace_end(plan->own, plan);
  if (plan->method && plan->method->free) plan->method->free(plan);
  spti_plan_drop_levels(plan);
  spti_plan_drop_row_panels(plan);
  sptrsm_matrix_destroy(plan->matrix);
  spti_host_free(plan);
}

sptrsm_status spti_plan_refresh(sptrsm_plan *plan) {
  SPTI_TRY(spti_matrix_view(&plan->view, plan->matrix, plan->op, plan->method->wants, plan->context->place));
  plan->values_version++;
  return plan->method->update_values ? plan->method->update_values(plan) : SPTRSM_OK;
}

sptrsm_status sptrsm_plan_info(sptrsm_info *out, const sptrsm_plan *plan) {
  if (!out || !plan) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_plan_info: out or plan is NULL");
  SPTI_TRY(spti_sized_check(out, SPTI_SIZE_UP_TO(sptrsm_info, flops_per_rhs), sizeof *out, "sptrsm_plan_info", "sptrsm_info"));
  const spti_view *v = &plan->view;
  int64_t diagonals = v->head || v->tail ? v->n : 0;
  sptrsm_info info = {.size = sizeof info,
                      .method = plan->method->name,
                      .place = plan->method->place,
                      .levels = plan->levels,
                      .op = plan->op.transpose ? (plan->op.conj ? SPTRSM_C : SPTRSM_T) : SPTRSM_N,
                      .panel = plan->panel,
                      .deterministic = (plan->method->flags & SPTI_DETERMINISTIC) != 0,
                      .inverts = (plan->method->flags & SPTI_INVERTS) != 0,
                      .nnz = v->nnz,
                      .analysis_seconds = plan->analysis_seconds,
                      .view_seconds = plan->view_seconds};
  info.flops_per_rhs = (2.0 * (double)(v->nnz - diagonals) + (v->unit ? 0 : v->n)) * (spti_is_complex(v->dtype) ? 4 : 1);
  snprintf(info.reason, sizeof info.reason, "%s", plan->reason);
  if (plan->method->describe) plan->method->describe(plan, &info);
  spti_sized_write(out, &info, sizeof info);
  return SPTRSM_OK;
}
