/* residual.c -- residuals of whole blocks in extended precision, columns shared among threads. See residual.h.
 *
 * There are two ways. For one sparse matrix, which is the usual case, panel.c takes some columns at once. For products of matrices, for
 * columns that panel.c leaves, and where memory is short, column.tmpl.h takes one column after another in long double. */
#include "common/residual/residual.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/cli.h"
#include "common/residual/column.h"

_Static_assert(LDBL_MANT_DIG >= 64, "residuals of double precision need a wider long double");

double nan_max(double a, double b) { return isnan(a) || a >= b ? a : b; }

static double ratio(double above, double below) { return above == 0 && below == 0 ? 0 : above / below; }

#define TYPE    float
#define WORK    long double
#define NAME(x) x##_f32
#define ABS(x)  fabs((double)(x))
#define CONJ(x) (x)
#include "common/residual/column.tmpl.h"

#define TYPE    double
#define WORK    long double
#define NAME(x) x##_f64
#define ABS(x)  fabs((double)(x))
#define CONJ(x) (x)
#include "common/residual/column.tmpl.h"

#define TYPE    float complex
#define WORK    long double complex
#define NAME(x) x##_c64
#define ABS(x)  cabs((double complex)(x))
#define CONJ(x) conjl(x)
#include "common/residual/column.tmpl.h"

#define TYPE    double complex
#define WORK    long double complex
#define NAME(x) x##_c128
#define ABS(x)  cabs((double complex)(x))
#define CONJ(x) conjl(x)
#include "common/residual/column.tmpl.h"

#define BY_TYPE(dtype, f) ((dtype) == SPTRSM_F32 ? f##_f32 : (dtype) == SPTRSM_F64 ? f##_f64 : (dtype) == SPTRSM_C64 ? f##_c64 : f##_c128)

/* ---- the block ---- */

static bool uses_panel(const chain *S, int width) { return width == RESIDUAL_PANEL && panel_takes(S); }

/* Of one thread, in whole cache lines, so that the next thread's is aligned, too. */
static size_t workspace_bytes(const chain *S, int width) {
  const size_t line = 64, each = (S->dtype == SPTRSM_C64 || S->dtype == SPTRSM_C128) ? sizeof(long double complex) : sizeof(long double);
  size_t bytes = (size_t)S->n * 2 * (each + sizeof(double) + (size_t)width * sptrsm_dtype_bytes(S->dtype));
  if (uses_panel(S, width) && bytes < panel_work_bytes(S)) bytes = panel_work_bytes(S);
  return (bytes + line - 1) / line * line;
}

size_t residual_bytes(const chain *S, int width, int threads) {
  return workspace_bytes(S, width) * (size_t)threads + (uses_panel(S, width) ? panel_rows_bytes(S) : 0);
}

typedef struct {
  const job *job;
  column_result *results;
  int width;  /* columns that a piece takes */
  char *work; /* bytes for each thread */
  size_t bytes;
  _Atomic int64_t done;
  cli_progress *progress; /* NULL: none is shown */
} columns_job;

static void some_columns(void *argument, int64_t piece, int member) {
  columns_job *c = argument;
  const int64_t nrhs = c->job->X->nrhs, k = piece * c->width;
  const int count = nrhs - k < c->width ? (int)(nrhs - k) : c->width;
  void *work = c->work + c->bytes * (size_t)member;
  unsigned left = c->job->rows.ptr ? panel_columns(&c->results[k], c->job, k, count, work) : 0;
  if (!c->job->rows.ptr) BY_TYPE(c->job->S->dtype, columns)(&c->results[k], c->job, k, count, work);
  for (int i = 0; left > 0; i++, left >>= 1)
    if (left & 1) BY_TYPE(c->job->S->dtype, columns)(&c->results[k + i], c->job, k + i, 1, work);
  const int64_t now = atomic_fetch_add(&c->done, count) + count;
  if (c->progress && member == 0) cli_progress_step(c->progress, now, nrhs);
}

/* Takes `width` columns at a time, fewer if there are too few for all threads. */
static bool run_columns(const job *j, column_result *results, int width, bool shows) {
  const int64_t nrhs = j->X->nrhs, most = cli_threads();
  const int threads = (int)(nrhs < most ? nrhs : most);
  if (threads == 0) return true;
  const int64_t share = (nrhs + threads - 1) / threads;
  columns_job c = {.job = j, .results = results, .width = share < width ? (int)share : width};
  c.bytes = workspace_bytes(j->S, width);
  c.work = c.bytes <= SIZE_MAX / (size_t)threads ? malloc(c.bytes * (size_t)threads + 1) : NULL;
  if (!c.work) return false;
  cli_progress progress;
  cli_progress_begin(&progress, "computing residuals");
  if (shows) cli_progress_count(&progress, "columns", 0, nrhs);
  c.progress = shows ? &progress : NULL;
  cli_share(threads, (nrhs + c.width - 1) / c.width, some_columns, &c);
  cli_progress_end(&progress);
  free(c.work);
  return true;
}

static void gather(residual *R, const column_result *results) {
  for (int64_t k = 0; k < R->nrhs; k++) {
    const column_result *c = &results[k];
    R->berr[k] = c->berr;
    R->normwise[k] = c->normwise;
    R->max_normwise = nan_max(R->max_normwise, c->normwise);
    R->g2 = nan_max(R->g2, c->g2);
    if (!(c->berr <= R->max_berr) && !isnan(R->max_berr)) R->max_berr = c->berr, R->worst = k;
    if (!(c->g1 <= R->g1) && !isnan(R->g1)) R->g1 = c->g1, R->g1_row = c->g1_row, R->g1_column = k;
  }
}

static bool compute(residual *R, const chain *S, const void *alpha, const sptrsm_block *B, const sptrsm_block *X, int width, bool shows) {
  size_t nrhs = (size_t)X->nrhs, n = (size_t)S->n;
  job j = {.S = S, .alpha = alpha, .B = B, .X = X};
  *R = (residual){.nrhs = X->nrhs, .is_triangle = S->is_triangle};
  R->berr = calloc(nrhs + 1, sizeof *R->berr);
  R->normwise = calloc(nrhs + 1, sizeof *R->normwise);
  column_result *results = calloc(nrhs + 1, sizeof *results);
  int32_t *lengths = calloc(n + 1, sizeof *lengths);
  double *sums = calloc(n + 1, sizeof *sums);
  bool good = R->berr && R->normwise && results && lengths && sums;
  if (good && S->count == 1 && S->links[0].kind == LINK_SPARSE) {
    BY_TYPE(S->dtype, measure)(&j, lengths, sums);
    if (S->is_triangle) j.lengths = lengths;
  }
  if (uses_panel(S, width)) good = good && panel_rows_create(&j.rows, S);
  good = good && run_columns(&j, results, width, shows);
  if (good) gather(R, results);
  else residual_free(R);
  panel_rows_free(&j.rows);
  free(results);
  free(lengths);
  free(sums);
  return good;
}

bool residual_compute(residual *R, const chain *S, const void *alpha, const sptrsm_block *B, const sptrsm_block *X) {
  return compute(R, S, alpha, B, X, RESIDUAL_PANEL, true);
}

bool residual_of_panel(residual *R, const chain *S, const void *alpha, const sptrsm_block *B, const sptrsm_block *X, int width) {
  return compute(R, S, alpha, B, X, width, false);
}

bool residual_above(double value, int64_t column, double most, int64_t at) {
  if (isnan(value) || isnan(most)) return isnan(value) && (!isnan(most) || column < at);
  return value > most || (value == most && column < at);
}

void residual_add(residual *R, const residual *part, int64_t first) {
  const int64_t worst = first + part->worst, g1_column = first + part->g1_column;
  R->max_normwise = nan_max(R->max_normwise, part->max_normwise);
  R->g2 = nan_max(R->g2, part->g2);
  if (residual_above(part->max_berr, worst, R->max_berr, R->worst)) R->max_berr = part->max_berr, R->worst = worst;
  if (residual_above(part->g1, g1_column, R->g1, R->g1_column)) R->g1 = part->g1, R->g1_row = part->g1_row, R->g1_column = g1_column;
}

void residual_free(residual *R) {
  free(R->berr);
  free(R->normwise);
  R->berr = R->normwise = NULL;
}

/* ---- comparing blocks ---- */

/* Whether no entry is NaN or infinite: one vectorised pass over the block, as it lies in memory. */
static bool all_finite(const sptrsm_block *X) {
  bool single = X->dtype == SPTRSM_F32 || X->dtype == SPTRSM_C64, rows = X->layout == SPTRSM_ROW_MAJOR;
  size_t reals = sptrsm_dtype_bytes(X->dtype) / (single ? sizeof(float) : sizeof(double)), count = (size_t)(rows ? X->n : X->nrhs);
  size_t length = (size_t)(rows ? X->nrhs : X->n) * reals, ld = (size_t)X->ld * reals;
  int64_t odd = 0;
  for (size_t l = 0; l < count && odd == 0; l++) {
    const float *f = (const float *)X->data + (single ? l * ld : 0);
    const double *d = (const double *)X->data + (single ? 0 : l * ld);
    for (size_t k = 0; single && k < length; k++) odd |= !(fabsf(f[k]) <= FLT_MAX);
    for (size_t k = 0; !single && k < length; k++) odd |= !(fabs(d[k]) <= DBL_MAX);
  }
  return odd == 0;
}

int64_t nonfinite_columns(const sptrsm_block *X, int64_t *columns, int room) {
  int64_t found = 0;
  if (all_finite(X)) return 0;
  for (int64_t k = 0; k < X->nrhs; k++) {
    if (BY_TYPE(X->dtype, column_is_finite)(X, k)) continue;
    if (found < room) columns[found] = k;
    found++;
  }
  return found;
}

double max_difference(const sptrsm_block *X, const sptrsm_block *Y) {
  double most = 0;
  for (int64_t k = 0; k < X->nrhs; k++) most = nan_max(most, BY_TYPE(X->dtype, column_difference)(X, Y, k));
  return most;
}

double max_entry(const sptrsm_block *X) {
  double most = 0;
  for (int64_t k = 0; k < X->nrhs; k++) most = nan_max(most, BY_TYPE(X->dtype, column_size)(X, k));
  return most;
}
