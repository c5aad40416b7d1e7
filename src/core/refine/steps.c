/* steps.c -- iterative refinement of a panel of columns: x := x + op(A)^-1 (alpha b - op(A) x).
 *
 * A step computes the residuals of all columns that are not finished, and their backward errors, in one pass. It picks the columns
 * that continue, by the rules of LAPACK's dgerfs [lapack1999], solves for their corrections and adds these. With factors in single
 * precision the picked residuals are scaled by powers of two, so that small ones do not underflow, and rounded; a solution from
 * scratch is then the correction of zero. In such corrections a row whose residual is within a few unit roundoffs of |op(A)| |x| +
 * |alpha b| counts as zero: rounding errors of large rows, times the error of single precision, would keep tiny rows from
 * converging (README.md). Deterministic if the method is. */
#include "core/refine/steps.h"

#include <math.h>

#include "core/base/dtype.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/pack.h"

/* ---- memory ---- */

static void free_panels(spti_refiner *r, const sptrsm_context *context) {
  spti_free(context, r->R);
  spti_free(context, r->D);
  for (int i = 0; i < 2; i++) spti_free(context, r->staging[i]);
  spti_host_free(r->image[0]);
  spti_free(context, r->image[1]);
  *r = (spti_refiner){.A = r->A};
}

void spti_refiner_release(void *refiner, const sptrsm_context *context) {
  spti_refiner *r = refiner;
  free_panels(r, context);
  for (int orientation = 0; orientation < 2; orientation++) spti_storage_free(&r->A.lines[orientation][SPTRSM_CUDA], context);
}

void spti_refiner_free(void *refiner, const sptrsm_context *context) {
  spti_refiner *r = refiner;
  free_panels(r, context);
  spti_original_free(&r->A, context);
  spti_host_free(r);
}

static spti_refine_lists lists_in(void *image, int32_t panel) {
  double *figures = image;
  int32_t *lists = (int32_t *)(figures + 5 * (int64_t)panel);
  return (spti_refine_lists){
      figures, figures + panel, figures + 2 * (int64_t)panel, figures + 3 * (int64_t)panel, figures + 4 * (int64_t)panel,
      lists,   lists + panel};
}

static size_t image_bytes(int32_t panel) { return (size_t)panel * (5 * sizeof(double) + 2 * sizeof(int32_t)); }

/* Is B (which = 0) or X (1) in host memory while the context is on a GPU? Then it is copied to a panel there. */
static bool stages(const spti_refine_job *j, int which) {
  return j->d->context->place == SPTRSM_CUDA && (which == 0 ? j->B->place : j->X->place) == SPTRSM_HOST;
}

/* Of a correction, or in its place of a weight of the error bound. */
static size_t correction_bytes(const sptrsm_direct *d) {
  const size_t kept = sptrsm_dtype_bytes(d->dtype), weight = spti_is_single(d->given) ? sizeof(float) : sizeof(double);
  return kept > weight ? kept : weight;
}

static sptrsm_status panel_bytes(size_t *out, const spti_refine_job *j, int32_t panel) {
  size_t given = sptrsm_dtype_bytes(j->d->given), each = given + correction_bytes(j->d);
  each += given * (size_t)(stages(j, 0) + stages(j, 1));
  return spti_bytes(out, (int64_t)j->d->n * panel, each, "panels of refinement");
}

/* Columns that are refined together: as many as keep the solver's threads busy, at most nrhs. */
static int32_t columns_at_once(const sptrsm_direct *d, int64_t nrhs) {
  int64_t most = (int64_t)d->panel * (d->context->place == SPTRSM_HOST ? spti_team_threads(d->context->team) : 1);
  if (most > INT32_MAX) most = INT32_MAX;
  return (int32_t)(nrhs < most ? nrhs : most);
}

sptrsm_status spti_refiner_bytes(size_t *panels, size_t *rest, const sptrsm_direct *d, int32_t panel) {
  const spti_original *A = &((const spti_refiner *)d->extension.state)->A;
  const int64_t hint = d->options.nrhs_hint > 0 ? d->options.nrhs_hint : INT32_MAX;
  const size_t given = sptrsm_dtype_bytes(d->given), on_device = d->context->place == SPTRSM_CUDA;
  const int64_t columns = on_device ? panel : columns_at_once(d, hint);
  *rest = on_device * (image_bytes(panel) + ((size_t)d->n + 1) * sizeof(int64_t) + (size_t)A->nnz * (sizeof(int32_t) + given));
  return spti_bytes(panels, d->n * columns, given + correction_bytes(d) + 2 * on_device * given, "panels of refinement");
}

/* The number of columns that are refined together, within the memory limit. */
static sptrsm_status choose_panel(int32_t *out, const spti_refine_job *j) {
  const sptrsm_direct *d = j->d;
  int32_t panel = columns_at_once(d, j->B->nrhs);
  size_t bytes;
  for (;; panel /= 2) {
    SPTI_TRY(panel_bytes(&bytes, j, panel));
    if (d->options.memory_limit == 0 || bytes <= d->options.memory_limit) break;
    if (panel == 1)
      return spti_fail(SPTRSM_ERR_MEMORY, "refinement of one right-hand side takes %zu bytes, the limit is %zu", bytes,
                       d->options.memory_limit);
  }
  *out = panel;
  return SPTRSM_OK;
}

/* A solve of a block without columns makes the plans that it needs. */
static sptrsm_status make_plans(const spti_refine_job *j, sptrsm_system system, sptrsm_op op) {
  sptrsm_block none = {.ld = j->d->n, .n = j->d->n, .dtype = j->d->dtype, .layout = SPTRSM_COL_MAJOR};
  return sptrsm_direct_solve(j->d, system, op, NULL, &none, &none);
}

/* With a memory limit a new plan frees the panels of refinement, so plans come first. A solver that had no room for its plans has none, and
 * no width of panels, also if the limit is gone since. */
static sptrsm_status make_all_plans(const spti_refine_job *j) {
  if (j->d->context->memory_limit == 0 && j->d->panel > 0) return SPTRSM_OK;
  SPTI_TRY(make_plans(j, j->system, j->op));
  if (!j->out->ferr) return SPTRSM_OK;
  SPTI_TRY(make_plans(j, SPTRSM_SYS_A, SPTRSM_N));
  return make_plans(j, SPTRSM_SYS_A, SPTRSM_C);
}

sptrsm_status spti_refine_make_panels(spti_refine_job *j) {
  sptrsm_direct *d = j->d;
  spti_refiner *r = j->r;
  int32_t panel = 0;
  SPTI_TRY(make_all_plans(j));
  SPTI_TRY(choose_panel(&panel, j));
  if (panel > r->panel) {
    SPTI_TRY(spti_direct_refit(d)); /* other objects may have taken room */
    SPTI_TRY(choose_panel(&panel, j));
    free_panels(r, d->context);
    SPTI_TRY(spti_alloc(d->context, &r->R, (int64_t)d->n * panel, sptrsm_dtype_bytes(d->given), "panel of residuals"));
    SPTI_TRY(spti_alloc(d->context, &r->D, (int64_t)d->n * panel, correction_bytes(d), "panel of corrections"));
    SPTI_TRY(spti_host_alloc(&r->image[0], 1, image_bytes(panel), "lists of refinement"));
    if (d->context->place == SPTRSM_CUDA) SPTI_TRY(spti_alloc(d->context, &r->image[1], 1, image_bytes(panel), "lists of refinement"));
    r->panel = panel;
  }
  for (int i = 0; i < 2; i++)
    if (stages(j, i) && !r->staging[i])
      SPTI_TRY(spti_alloc(d->context, &r->staging[i], (int64_t)d->n * r->panel, sptrsm_dtype_bytes(d->given), "staging panel"));
  j->host = lists_in(r->image[0], r->panel);
  j->device = r->image[1] ? lists_in(r->image[1], r->panel) : j->host;
  j->image_bytes = image_bytes(r->panel);
  return SPTRSM_OK;
}

static sptrsm_block columns_of(const sptrsm_block *X, int64_t first, int32_t width) {
  sptrsm_block part = *X;
  part.data = spti_block_columns(X, first).data;
  part.nrhs = width;
  return part;
}

/* A panel without gaps where the context works. */
static sptrsm_block panel_block(const spti_refine_job *j, void *data, sptrsm_layout layout, int32_t width, sptrsm_dtype dtype) {
  return (sptrsm_block){.data = data,
                        .ld = layout == SPTRSM_ROW_MAJOR ? width : j->d->n,
                        .n = j->d->n,
                        .nrhs = width,
                        .dtype = dtype,
                        .layout = layout,
                        .place = j->d->context->place};
}

static spti_refine_block strides_of(const sptrsm_block *b) {
  bool rows = b->layout == SPTRSM_ROW_MAJOR;
  return (spti_refine_block){.data = b->data, .row_stride = rows ? b->ld : 1, .col_stride = rows ? 1 : b->ld};
}

static sptrsm_status copy_panel(const spti_refine_job *j, const sptrsm_block *to, const sptrsm_block *from) {
  size_t bytes = sptrsm_dtype_bytes(to->dtype);
  bool rows = to->layout == SPTRSM_ROW_MAJOR;
  size_t length = (size_t)(rows ? to->nrhs : to->n) * bytes, lines = (size_t)(rows ? to->n : to->nrhs);
  return spti_gpu_copy(j->d->context, to->data, (size_t)to->ld * bytes, from->data, (size_t)from->ld * bytes, length, lines,
                       to->place == SPTRSM_CUDA ? SPTI_TO_DEVICE : SPTI_TO_HOST);
}

/* ---- passes ---- */

static sptrsm_status send_lists(const spti_refine_job *j) {
  if (j->d->context->place == SPTRSM_HOST) return SPTRSM_OK;
  return spti_gpu_copy(j->d->context, j->r->image[1], j->image_bytes, j->r->image[0], j->image_bytes, j->image_bytes, 1, SPTI_TO_DEVICE);
}

/* Residuals of the listed columns of b and x. On return the maxima are in the host's lists; `weight` is where the context works. */
static sptrsm_status residuals(const spti_refine_job *j, const sptrsm_block *b, const sptrsm_block *x, int32_t width, bool from_zero,
                               void *weight) {
  const sptrsm_context *context = j->d->context;
  sptrsm_block r = panel_block(j, j->r->R, weight ? SPTRSM_COL_MAJOR : x->layout, width, x->dtype);
  spti_residual_args a = j->residual;
  a.width = width;
  a.from_zero = from_zero;
  a.columns = j->device.columns;
  a.b = strides_of(b), a.x = strides_of(x), a.r = strides_of(&r);
  if (weight) a.weight = a.r, a.weight.data = weight;
  a.berr = j->device.berr, a.size = j->device.size, a.x_size = j->device.x_size;
  for (int32_t c = 0; c < width; c++) j->host.berr[c] = j->host.size[c] = j->host.x_size[c] = 0;
  SPTI_TRY(send_lists(j));
  if (context->place == SPTRSM_HOST) {
    spti_residual_host(&a, x->dtype, context->team);
    return SPTRSM_OK;
  }
  SPTI_CUDA(spti_residual_launch(&a, x->dtype, context->stream));
  return spti_gpu_copy(context, j->r->image[0], j->image_bytes, j->r->image[1], j->image_bytes, j->image_bytes, 1, SPTI_TO_HOST);
}

static sptrsm_status move_columns(const spti_refine_job *j, spti_move_columns_args *a) {
  const sptrsm_context *context = j->d->context;
  a->n = j->d->n;
  if (context->place == SPTRSM_HOST) spti_move_columns_host(a, context->team);
  else SPTI_CUDA(spti_move_columns_launch(a, context->stream));
  return SPTRSM_OK;
}

/* x(:,columns[c]) += op(A)^-1 r(:,pick[c]) for c < width; = instead of += where x is fresh. R has residuals of `were` columns. */
static sptrsm_status correct(const spti_refine_job *j, const sptrsm_block *x, int32_t width, int32_t were, bool fresh) {
  sptrsm_block r = panel_block(j, j->r->R, x->layout, were, x->dtype), D = panel_block(j, j->r->D, x->layout, width, j->d->dtype);
  spti_move_columns_args pick = {.width = width,
                                 .from = strides_of(&r),
                                 .to = strides_of(&D),
                                 .from_dtype = r.dtype,
                                 .to_dtype = D.dtype,
                                 .from_columns = j->device.pick,
                                 .scale = j->device.scale};
  spti_move_columns_args add = {.width = width,
                                .from = strides_of(&D),
                                .to = strides_of(x),
                                .from_dtype = D.dtype,
                                .to_dtype = x->dtype,
                                .to_columns = j->device.columns,
                                .scale = j->device.unscale,
                                .add = !fresh};
  SPTI_TRY(send_lists(j));
  SPTI_TRY(move_columns(j, &pick));
  SPTI_TRY(sptrsm_direct_solve(j->d, j->system, j->op, NULL, &D, &D));
  return move_columns(j, &add);
}

/* ---- steps ---- */

/* The power of two that brings numbers of this size near 1; 1 if there is none. */
static double scale_for(double size) {
  int exponent = 0;
  if (!(size > 0) || !isfinite(size)) return 1;
  (void)frexp(size, &exponent);
  if (exponent > 1000) exponent = 1000;
  return ldexp(1, exponent < -1000 ? 1000 : -exponent);
}

/* dgerfs continues while the error is above u, the latest step at least halved it (the first step may always be taken), and the maximum
 * number of steps is not reached. */
static bool goes_on_as_dgerfs(const spti_refine_job *j, const spti_refine_history *h, int32_t column, double berr) {
  return berr > j->u && 2 * berr <= h->last[column] && h->steps[column] < j->max_steps;
}

/* With factors in single precision the first steps do not improve rows with tiny entries, so a step that halves the largest residual is
 * progress too. Later, corrections of some rows sometimes disturb others, so a few steps without progress are allowed while the error is
 * above the tolerance. A residual of size 0 means that all rows are good enough. */
static bool goes_on_mixed(const spti_refine_job *j, const spti_refine_history *h, int32_t column, double berr, double size) {
  enum { PATIENCE = 3 };
  if (!(berr > j->u) || size == 0 || h->steps[column] >= j->max_steps) return false;
  bool halved = 2 * berr <= h->last[column] || 2 * size <= h->last_size[column];
  h->idle[column] = halved ? 0 : h->idle[column] + 1;
  return halved || (berr > j->tolerance && h->idle[column] <= PATIENCE);
}

static bool goes_on(const spti_refine_job *j, const spti_refine_history *h, int32_t column, double berr, double size) {
  return j->mixed ? goes_on_mixed(j, h, column, berr, size) : goes_on_as_dgerfs(j, h, column, berr);
}

/* Moves the columns that continue to the front of the lists and returns their number. */
static int32_t pick(const spti_refine_job *j, const spti_refine_history *h, int32_t width, bool all) {
  int32_t kept = 0;
  for (int32_t c = 0; c < width; c++) {
    int32_t column = j->host.columns[c];
    double berr = j->host.berr[c];
    if (!all) h->berr[column] = berr;
    if (!all && !goes_on(j, h, column, berr, j->host.size[c])) continue;
    if (!all) h->last[column] = berr, h->last_size[column] = j->host.size[c], h->steps[column]++;
    j->host.columns[kept] = column;
    j->host.pick[kept] = c;
    j->host.scale[kept] = j->mixed ? scale_for(j->host.size[c]) : 1;
    j->host.unscale[kept] = 1 / j->host.scale[kept];
    kept++;
  }
  return kept;
}

static sptrsm_status refine_panel(const spti_refine_job *j, const sptrsm_block *b, const sptrsm_block *x, const spti_refine_history *h) {
  int32_t width = (int32_t)x->nrhs;
  bool fresh = j->solve && j->mixed;
  for (int32_t c = 0; c < width; c++) {
    j->host.columns[c] = c;
    h->last[c] = 3; /* as in dgerfs: allows the first step for errors up to 1.5 */
    h->last_size[c] = INFINITY;
    h->steps[c] = h->idle[c] = 0;
  }
  if (j->solve && !j->mixed) {
    sptrsm_block out = *x;
    SPTI_TRY(sptrsm_direct_solve(j->d, j->system, j->op, j->alpha, b, &out));
  }
  while (width > 0) {
    SPTI_TRY(residuals(j, b, x, width, fresh, NULL));
    int32_t kept = pick(j, h, width, fresh);
    if (kept > 0) SPTI_TRY(correct(j, x, kept, width, fresh));
    width = kept;
    fresh = false;
  }
  return SPTRSM_OK;
}

/* Error bounds of a panel's columns, from the residuals of the final solutions. */
static sptrsm_status bound_panel(const spti_refine_job *j, const sptrsm_block *b, const sptrsm_block *x, double *ferr) {
  const sptrsm_context *context = j->d->context;
  int32_t width = (int32_t)x->nrhs;
  int64_t count = (int64_t)j->d->n * width;
  bool single = spti_is_single(x->dtype);
  size_t bytes = single ? sizeof(float) : sizeof(double);
  double *w = NULL;
  sptrsm_status status;
  SPTI_TRY(spti_host_alloc(&w, count, sizeof *w, "weights of the error bound"));
  for (int32_t c = 0; c < width; c++) j->host.columns[c] = c;
  SPTI_TRY_DONE(residuals(j, b, x, width, false, j->r->D));
  SPTI_TRY_DONE(spti_copy_bytes(context, w, SPTRSM_HOST, j->r->D, context->place, (size_t)count * bytes));
  for (int64_t p = count - 1; p >= 0 && single; p--) w[p] = (double)((float *)w)[p];
  SPTI_TRY_DONE(spti_error_bound(ferr, j->d, j->transposed, width, w));
  for (int32_t c = 0; c < width; c++)
    if (j->host.x_size[c] != 0) ferr[c] /= j->host.x_size[c];
done:
  spti_host_free(w);
  return status;
}

sptrsm_status spti_refine_run_panel(const spti_refine_job *j, int64_t first, int32_t width, const spti_refine_history *h) {
  sptrsm_block b = columns_of(j->B, first, width), x = columns_of(j->X, first, width), caller = x;
  if (stages(j, 0)) {
    sptrsm_block staged = panel_block(j, j->r->staging[0], b.layout, width, b.dtype);
    SPTI_TRY(copy_panel(j, &staged, &b));
    b = staged;
  }
  if (stages(j, 1)) {
    x = panel_block(j, j->r->staging[1], x.layout, width, x.dtype);
    if (!j->solve) SPTI_TRY(copy_panel(j, &x, &caller));
  }
  SPTI_TRY(refine_panel(j, &b, &x, h));
  if (j->out->ferr) SPTI_TRY(bound_panel(j, &b, &x, j->out->ferr + first));
  return stages(j, 1) ? copy_panel(j, &caller, &x) : SPTRSM_OK;
}
