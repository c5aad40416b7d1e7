/* kernels.cu -- residuals of a panel in one pass over A, and columns moved between blocks (kernels.h).
 *
 * Where the columns of the residual lie side by side, neighbouring lanes take neighbouring columns (as many as there are, up to 32; the
 * rest of the warp takes further rows), else neighbouring rows. A lane sums one element of the residual in the order of the row and
 * keeps maxima over its rows. The warp reduces the maxima of each column, and one lane adds them to the result by an atomic maximum.
 * Deterministic: a maximum does not depend on the order. */
#include "core/base/dtype.h"
#include "core/refine/kernels.h"
#include "core/refine/residual.cuh"

namespace spti {

enum { REFINE_THREADS = 256, REFINE_BLOCKS = 2048 /* at most about this many thread blocks share the rows */ };

/* How threads are laid out over rows and columns. */
struct refine_shape {
  int log_lanes; /* log2 of the number of neighbouring threads that take neighbouring columns */
  int32_t column_tiles;
  int64_t row_teams; /* thread blocks that share the rows of a column tile */
};

static refine_shape shape_of(int32_t n, int32_t width, bool along_columns) {
  refine_shape s = {0, 0, 0};
  while (along_columns && s.log_lanes < 5 && (1 << s.log_lanes) < width) s.log_lanes++;
  s.column_tiles = ((width - 1) >> s.log_lanes) + 1;
  const int64_t rows = REFINE_THREADS >> s.log_lanes, most = (REFINE_BLOCKS - 1) / s.column_tiles + 1;
  s.row_teams = (n - 1) / rows + 1;
  if (s.row_teams > most) s.row_teams = most;
  return s;
}

/* A thread's column, its first row and the distance to its next row. */
struct refine_place {
  int32_t column;
  int64_t row, step;
};

SPTI_DEVICE refine_place place_of(const refine_shape &s) {
  const int lanes = 1 << s.log_lanes, rows = REFINE_THREADS >> s.log_lanes;
  const int64_t team = block_in_grid() / s.column_tiles;
  return {(block_in_grid() % s.column_tiles) * lanes + (thread_in_block() & (lanes - 1)), team * rows + (thread_in_block() >> s.log_lanes),
          s.row_teams * rows};
}

/* ---- residuals ---- */

struct residual_job {
  spti_residual_args a;
  refine_shape shape;
};

struct refine_maxima {
  int64_t berr, size, x_size;
};

template <typename T> SPTI_DEVICE T *element(const spti_refine_block &b, int64_t i, int64_t k) {
  return (T *)b.data + i * b.row_stride + k * b.col_stride;
}

template <typename T> SPTI_DEVICE void residual_element(const spti_residual_args &a, int64_t i, int32_t c, refine_maxima *m) {
  using R = real_of<T>;
  const int64_t k = load_const(a.columns + c);
  residual_row<T> row(times_alpha(a.alpha, load((const T *)element<T>(a.b, i, k))));
  if (!a.from_zero) {
    const T *x = element<T>(a.x, 0, k);
    row.subtract(a.ptr, a.idx, (const T *)a.val, a.conj, i, x, a.x.row_stride);
    m->x_size = greater(m->x_size, figure(magnitude(load(x + i * a.x.row_stride))));
  }
  const R size = magnitude(row.r), s = row.s;
  m->berr = greater(m->berr, figure(backward_error(size, s, R(a.tiny), R(a.small))));
  const bool dropped = s - s == 0 && size <= R(a.drop) * s;
  m->size = greater(m->size, dropped ? 0 : figure(size));
  if (a.r.data) store(element<T>(a.r, i, c), dropped ? from_reals<T>::make(0, 0) : row.r);
  if (a.weight.data) store(element<R>(a.weight, i, c), R(size + R(a.growth) * s + (s > R(a.small) ? R(0) : R(a.tiny))));
}

template <typename T> SPTI_KERNEL(REFINE_THREADS) refine_residual_kernel(residual_job job) {
  const spti_residual_args &a = job.a;
  const refine_place at = place_of(job.shape);
  const int lanes = 1 << job.shape.log_lanes;
  refine_maxima m = {0, 0, 0};
  if (at.column < a.width)
    for (int64_t i = at.row; i < a.n; i += at.step) residual_element<T>(a, i, at.column, &m);
  m = {column_maximum(m.berr, lanes), column_maximum(m.size, lanes), column_maximum(m.x_size, lanes)};
  if (lane() >= lanes || at.column >= a.width) return;
  red_max((int64_t *)a.berr + at.column, m.berr);
  red_max((int64_t *)a.size + at.column, m.size);
  red_max((int64_t *)a.x_size + at.column, m.x_size);
}

/* ---- moving columns: a complex value is moved as two real ones ---- */

struct move_job {
  spti_move_columns_args a;
  refine_shape shape;
  int parts;
};

template <typename From, typename To> SPTI_KERNEL(REFINE_THREADS) refine_move_kernel(move_job job) {
  const spti_move_columns_args &a = job.a;
  const refine_place at = place_of(job.shape);
  if (at.column >= a.width) return;
  const int64_t in = a.from_columns ? load_const(a.from_columns + at.column) : at.column;
  const int64_t out = a.to_columns ? load_const(a.to_columns + at.column) : at.column;
  const double scale = load_const(a.scale + at.column);
  for (int64_t i = at.row; i < a.n; i += at.step)
    for (int part = 0; part < job.parts; part++) {
      const From *from = (const From *)a.from.data + job.parts * (i * a.from.row_stride + in * a.from.col_stride) + part;
      To *to = (To *)a.to.data + job.parts * (i * a.to.row_stride + out * a.to.col_stride) + part;
      const To moved = To(scale * double(load(from)));
      store(to, a.add ? load(to) + moved : moved);
    }
}

template <typename From, typename To> static int launch_move(const move_job &job, void *stream) {
  return SPTI_LAUNCH((refine_move_kernel<From, To>), job.shape.row_teams * job.shape.column_tiles, REFINE_THREADS, 0, stream, job);
}

} // namespace spti

extern "C" int spti_residual_launch(const spti_residual_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  if (a->n == 0 || a->width == 0) return 0;
  const residual_job job = {*a, shape_of(a->n, a->width, a->r.col_stride == 1)};
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(refine_residual_kernel<T>, job.shape.row_teams * job.shape.column_tiles, REFINE_THREADS, 0, stream, job);
  });
}

extern "C" int spti_move_columns_launch(const spti_move_columns_args *a, void *stream) {
  using namespace spti;
  if (a->n == 0 || a->width == 0) return 0;
  const int parts = a->to_dtype == SPTRSM_C64 || a->to_dtype == SPTRSM_C128 ? 2 : 1;
  const move_job job = {*a, shape_of(a->n, a->width, a->to.col_stride == 1), parts};
  if (spti_is_single(a->from_dtype))
    return spti_is_single(a->to_dtype) ? launch_move<float, float>(job, stream) : launch_move<float, double>(job, stream);
  return spti_is_single(a->to_dtype) ? launch_move<double, float>(job, stream) : launch_move<double, double>(job, stream);
}
