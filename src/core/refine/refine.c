/* refine.c -- the public calls of iterative refinement: registers the matrix beside its factors, checks arguments, sets the constants of
 * LAPACK's dgerfs [lapack1999], and sums up the results of all columns. steps.c does the work. */
#include "core/refine/refine.h"

#include <float.h>
#include <math.h>

#include "core/base/dtype.h"
#include "core/base/sized.h"
#include "core/context/alloc.h"
#include "core/direct/systems.h"
#include "core/refine/steps.h"

enum { STEPS_WORKING = 5, STEPS_MIXED = 30, GOOD_ENOUGH = 6 /* unit roundoffs: residuals below are dropped in mixed precision */ };

void sptrsm_refine_options_init_sized(sptrsm_refine_options *options, size_t size) {
  spti_sized_init(options, size, &(sptrsm_refine_options){.max_steps = -1}, sizeof *options);
}

/* ---- the original matrix ---- */

sptrsm_status sptrsm_direct_set_original(sptrsm_direct *d, const sptrsm_square *A) {
  if (!d) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_set_original: direct is NULL");
  SPTI_VISIT(d->context);
  spti_refiner *fresh = NULL;
  if (A) {
    SPTI_TRY(spti_host_alloc(&fresh, 1, sizeof *fresh, "refinement"));
    *fresh = (spti_refiner){0};
    sptrsm_status status = spti_original_create(&fresh->A, d->context, A, d->n, d->given);
    if (status != SPTRSM_OK) {
      spti_host_free(fresh);
      return status;
    }
  }
  spti_direct_drop_extension(d);
  if (fresh)
    d->extension = (spti_direct_extension){.state = fresh,
                                           .name = "refinement, which sptrsm_direct_set_original with NULL gives up",
                                           .free = spti_refiner_free,
                                           .release = spti_refiner_release,
                                           .bytes = spti_refiner_bytes};
  const sptrsm_status status = spti_direct_refit(d);
  if (status == SPTRSM_OK || !fresh) return SPTRSM_OK;
  spti_direct_drop_extension(d);
  return status;
}

/* ---- the call ---- */

static sptrsm_status check_call(const spti_refine_job *j, const sptrsm_refine_options *o) {
  if (o->max_steps < -1)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement: max_steps %d is negative; -1 is the default", (int)o->max_steps);
  if (!(o->tolerance >= 0)) return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement: tolerance %g is not a number from 0 up", o->tolerance);
  if (j->system != SPTRSM_SYS_A && j->system != SPTRSM_SYS_At && j->system != SPTRSM_SYS_Aat)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement is for the systems A, At and Aat, not %s",
                     sptrsm_system_name(j->system) ? sptrsm_system_name(j->system) : "an unknown one");
  if (j->op != SPTRSM_N && j->op != SPTRSM_T && j->op != SPTRSM_C)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement: unknown op %d", (int)j->op);
  if (!j->r) return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement needs the matrix itself beside its factors: sptrsm_direct_set_original");
  spti_pipeline like = {.context = j->d->context, .dtype = j->d->given, .n = j->d->n};
  SPTI_TRY(spti_pipeline_check(&like, j->B, j->X));
  if (j->B->data == j->X->data && j->B->place == j->X->place && j->B->n > 0 && j->B->nrhs > 0)
    return spti_fail(SPTRSM_ERR_ARGUMENT, "refinement reads B to the end: X must be another block");
  return SPTRSM_OK;
}

double spti_residual_bounds(spti_residual_args *a, sptrsm_dtype dtype, int32_t longest) {
  const bool single = spti_is_single(dtype);
  const double u = (single ? (double)FLT_EPSILON : DBL_EPSILON) / 2, nz = (double)longest + 1;
  a->growth = nz * u;
  a->tiny = nz * (single ? (double)FLT_MIN : DBL_MIN);
  a->small = a->tiny / u;
  return u;
}

/* Sets the orientation of A and the constants that depend on the type. A memory limit has room for one orientation. */
static sptrsm_status prepare(spti_refine_job *j) {
  const spti_op op = spti_original_op(j->system, j->op);
  const int orientation = op.transpose ? SPTI_LINES_OF_AT : SPTI_LINES_OF_A;
  const spti_storage *lines;
  j->transposed = op.transpose;
  if (j->d->context->memory_limit > 0) spti_storage_free(&j->r->A.lines[!orientation][SPTRSM_CUDA], j->d->context);
  SPTI_TRY(spti_original_lines(&lines, &j->r->A, j->d->context, orientation, j->d->context->place));
  j->residual = (spti_residual_args){.n = j->d->n, .ptr = lines->ptr, .idx = lines->idx, .val = lines->val, .conj = op.conj};
  j->u = spti_residual_bounds(&j->residual, j->d->given, j->r->A.longest[orientation]);
  spti_split_alpha(j->residual.alpha, j->alpha, j->d->given);
  return SPTRSM_OK;
}

static void conclude(const spti_refine_job *j, int64_t first, int32_t width, const spti_refine_history *h) {
  sptrsm_refine_result *out = j->out;
  for (int32_t c = 0; c < width; c++) {
    double berr = h->berr[c];
    if (out->berr) out->berr[first + c] = berr;
    if (out->steps) out->steps[first + c] = h->steps[c];
    out->unconverged += !(berr <= j->tolerance);
    if (out->worst >= 0 && (isnan(out->max_berr) || berr <= out->max_berr)) continue;
    out->max_berr = berr;
    out->worst = first + c;
  }
}

static sptrsm_status run(spti_refine_job *j, const sptrsm_refine_options *options) {
  int64_t nrhs = j->B->nrhs;
  spti_refine_history h = {0};
  if (nrhs > 0) SPTI_TRY(spti_refine_make_panels(j)); /* which may free A on the device */
  SPTI_TRY(prepare(j));
  j->residual.drop = j->mixed ? GOOD_ENOUGH * j->u : 0;
  j->tolerance = options->tolerance > 0 ? options->tolerance : 10 * j->u;
  if (nrhs == 0) return SPTRSM_OK;
  sptrsm_status status = spti_host_alloc(&h.berr, j->r->panel, 3 * sizeof(double) + 2 * sizeof(int32_t), "history of refinement");
  if (status != SPTRSM_OK) return status;
  h.last = h.berr + j->r->panel;
  h.last_size = h.last + j->r->panel;
  h.steps = (int32_t *)(h.last_size + j->r->panel);
  h.idle = h.steps + j->r->panel;
  for (int64_t first = 0; first < nrhs && status == SPTRSM_OK; first += j->r->panel) {
    int32_t width = (int32_t)(nrhs - first < j->r->panel ? nrhs - first : j->r->panel);
    status = spti_refine_run_panel(j, first, width, &h);
    if (status == SPTRSM_OK) conclude(j, first, width, &h);
  }
  spti_host_free(h.berr);
  return status == SPTRSM_OK ? sptrsm_context_sync(j->d->context) : status;
}

sptrsm_status sptrsm_direct_refine(sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                   sptrsm_block *X, const sptrsm_refine_options *options, sptrsm_refine_result *out) {
  if (!d || !B || !X) return spti_fail(SPTRSM_ERR_ARGUMENT, "sptrsm_direct_refine: direct, B or X is NULL");
  SPTI_VISIT(d->context);
  sptrsm_refine_options taken;
  sptrsm_refine_options_init(&taken);
  const size_t options_least = SPTI_SIZE_UP_TO(sptrsm_refine_options, tolerance);
  if (options) SPTI_TRY(spti_sized_read(&taken, sizeof taken, options, options_least, "sptrsm_refine_options"));
  options = &taken;
  sptrsm_refine_result result = {.size = sizeof result};
  const size_t least = SPTI_SIZE_UP_TO(sptrsm_refine_result, unconverged);
  if (out) SPTI_TRY(spti_sized_check(out, least, sizeof *out, "sptrsm_direct_refine", "sptrsm_refine_result"));
  if (out) SPTI_TRY(spti_sized_read(&result, sizeof result, out, least, "sptrsm_refine_result"));
  spti_refine_job j = {.d = d, .r = d->extension.state, .system = system, .op = op, .alpha = alpha, .B = B, .X = X, .out = &result};
  SPTI_TRY(check_call(&j, options));
  j.mixed = d->dtype != d->given;
  j.solve = options->solve != 0;
  j.max_steps = options->max_steps >= 0 ? options->max_steps : j.mixed ? STEPS_MIXED : STEPS_WORKING;
  result.max_berr = 0;
  result.worst = -1;
  result.unconverged = 0;
  const sptrsm_status status = run(&j, options);
  if (status != SPTRSM_OK) {
    spti_refiner_release(j.r, d->context); /* so that other solves have the room */
    return status;
  }
  if (out) spti_sized_write(out, &result, sizeof result);
  return SPTRSM_OK;
}
