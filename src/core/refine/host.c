/* host.c -- the two passes of kernels.h on the host. Threads take pieces: PIECE rows and up to GROUP columns, so that an entry of A is
 * loaded once for all columns of the group. Deterministic: a residual is summed in the order of its line, and maxima do not depend
 * on how rows are split. */
#include "core/refine/refine.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "core/base/dtype.h"
#include "core/context/team.h"

enum { GROUP = 8 /* columns at a time */, PIECE = 2048 /* rows */, ALONE = 1 << 14 /* up to this many elements one thread does all */ };

static inline double nan_max(double a, double b) { return isnan(a) || a >= b ? a : b; }
static inline void note(double *most, double v) {
  if (!(v <= *most)) *most = nan_max(*most, v);
}

/* Maxima over the rows of a piece, by column of its group. */
typedef struct {
  double berr[GROUP], size[GROUP], x_size[GROUP];
} maxima;

static void merge(const spti_residual_args *a, int32_t c0, int32_t count, const maxima *m) {
  for (int32_t c = 0; c < count; c++) {
    a->berr[c0 + c] = nan_max(a->berr[c0 + c], m->berr[c]);
    a->size[c0 + c] = nan_max(a->size[c0 + c], m->size[c]);
    a->x_size[c0 + c] = nan_max(a->x_size[c0 + c], m->x_size[c]);
  }
}

static inline float size_f32(float x) { return fabsf(x); }
static inline double size_f64(double x) { return fabs(x); }
static inline float size_c64(float _Complex x) { return fabsf(__real__ x) + fabsf(__imag__ x); }
static inline double size_c128(double _Complex x) { return fabs(__real__ x) + fabs(__imag__ x); }

#define SPTI_TEMPLATE "core/refine/host.tmpl.h"
#include "core/base/for_each_dtype.h"

/* Moving columns: a complex value is moved as two real ones. */
#define FROM          float
#define TO            float
#define MOVE(element) element##_same_single
#include "core/refine/move.tmpl.h"
#define FROM          double
#define TO            double
#define MOVE(element) element##_same_double
#include "core/refine/move.tmpl.h"
#define FROM          double
#define TO            float
#define MOVE(element) element##_narrow
#include "core/refine/move.tmpl.h"
#define FROM          float
#define TO            double
#define MOVE(element) element##_widen
#include "core/refine/move.tmpl.h"

static int64_t pieces_of(int32_t n) { return (n - 1) / PIECE + 1; }

static int threads_for(spti_team *team, int32_t n, int32_t width) { return (int64_t)n * width > ALONE ? spti_team_ready(team) : 1; }

typedef struct {
  const spti_residual_args *args;
  sptrsm_dtype dtype;
  pthread_mutex_t lock; /* of the maxima in args */
} residual_job;

static void residual_piece(void *argument, int64_t piece, int member) {
  residual_job *job = argument;
  const spti_residual_args *a = job->args;
  (void)member;
  const int32_t groups = (a->width - 1) / GROUP + 1;
  const int32_t i0 = (int32_t)(piece / groups * PIECE), i1 = a->n - i0 < PIECE ? a->n : i0 + PIECE;
  const int32_t c0 = (int32_t)(piece % groups * GROUP), count = a->width - c0 < GROUP ? a->width - c0 : GROUP;
  maxima m;
  SPTI_SWITCH(job->dtype, residual)(a, i0, i1, c0, count, &m);
  pthread_mutex_lock(&job->lock);
  merge(a, c0, count, &m);
  pthread_mutex_unlock(&job->lock);
}

void spti_residual_host(const spti_residual_args *a, sptrsm_dtype dtype, spti_team *team) {
  residual_job job = {.args = a, .dtype = dtype, .lock = PTHREAD_MUTEX_INITIALIZER};
  const int64_t groups = (a->width - 1) / GROUP + 1;
  spti_team_run(team, threads_for(team, a->n, a->width), pieces_of(a->n) * groups, residual_piece, &job);
}

static void move_piece(void *argument, int64_t piece, int member) {
  const spti_move_columns_args *a = argument;
  (void)member;
  const int32_t i0 = (int32_t)(piece * PIECE), i1 = a->n - i0 < PIECE ? a->n : i0 + PIECE;
  if (spti_is_single(a->from_dtype)) (spti_is_single(a->to_dtype) ? move_same_single : move_widen)(a, i0, i1);
  else (spti_is_single(a->to_dtype) ? move_narrow : move_same_double)(a, i0, i1);
}

void spti_move_columns_host(const spti_move_columns_args *a, spti_team *team) {
  spti_move_columns_args args = *a;
  spti_team_run(team, threads_for(team, a->n, a->width), pieces_of(a->n), move_piece, &args);
}
