/* host.c -- the two passes of kernels.h on the host. Threads take pieces: PIECE rows and up to GROUP columns, so that an entry of A is
 * loaded once for all columns of the group. Deterministic: a residual is summed in the order of its line, and maxima do not depend
 * on how rows are split. */
#include "core/refine/refine.h"

#include <float.h>
#include <math.h>

#include "core/base/dtype.h"

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

static int pieces_of(int32_t n) { return (int)((n - 1) / PIECE + 1); }

void spti_residual_host(const spti_residual_args *a, sptrsm_dtype dtype, int threads) {
  int pieces = pieces_of(a->n), groups = (a->width - 1) / GROUP + 1;
#pragma omp parallel for collapse(2) schedule(dynamic) num_threads(threads) if ((int64_t)a->n * a->width > ALONE)
  for (int piece = 0; piece < pieces; piece++)
    for (int g = 0; g < groups; g++) {
      int32_t i0 = piece * PIECE, i1 = a->n - i0 < PIECE ? a->n : i0 + PIECE;
      int32_t c0 = g * GROUP, count = a->width - c0 < GROUP ? a->width - c0 : GROUP;
      maxima m;
      SPTI_SWITCH(dtype, residual)(a, i0, i1, c0, count, &m);
#pragma omp critical(spti_refine_maxima)
      merge(a, c0, count, &m);
    }
}

void spti_move_columns_host(const spti_move_columns_args *a, int threads) {
  int pieces = pieces_of(a->n);
#pragma omp parallel for schedule(static) num_threads(threads) if ((int64_t)a->n * a->width > ALONE)
  for (int piece = 0; piece < pieces; piece++) {
    int32_t i0 = piece * PIECE, i1 = a->n - i0 < PIECE ? a->n : i0 + PIECE;
    if (spti_is_single(a->from_dtype)) (spti_is_single(a->to_dtype) ? move_same_single : move_widen)(a, i0, i1);
    else (spti_is_single(a->to_dtype) ? move_narrow : move_same_double)(a, i0, i1);
  }
}
