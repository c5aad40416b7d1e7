/* kernels.cu -- see kernels.h. Each element is written by one thread, which reads what it needs; so the kernels are deterministic. */
#include "core/schur/gpu/kernels.h"

#include "core/device/diagonal_pair.cuh"

namespace spti {

enum { SCHUR_THREADS = 256 };

SPTI_DEVICE int64_t thread_in_grid() { return int64_t(block_in_grid()) * SCHUR_THREADS + thread_in_block(); }

template <typename T> SPTI_KERNEL(SCHUR_THREADS) schur_scatter_kernel(spti_schur_scatter_args a) {
  const int64_t e = thread_in_grid();
  if (e >= a.entries) return;
  T v = conj_if(a.conj != 0, load_const((const T *)a.val + e));
  if (a.scale) v = scale_by(v, load_const(a.scale + load_const(a.row + e)), a.divide != 0);
  store((T *)a.block + load_const(a.to + e), v);
}

template <typename T> SPTI_KERNEL(SCHUR_THREADS) schur_conjugate_kernel(spti_schur_conjugate_args a) {
  const int64_t e = thread_in_grid();
  if (e < a.count) store((T *)a.values + e, conj_if(true, load((const T *)a.values + e)));
}

/* ---- operands ---- */

/* Element (row, column at `position`) of the solved columns; zero where the column's group does not reach the row. */
template <typename T> SPTI_DEVICE T solved_value(const spti_schur_solved &s, int32_t row, int32_t position) {
  int64_t at = row;
  const int32_t group = s.runs > 0 ? position / s.width : 0;
  if (s.runs > 0) {
    const int32_t place = s.backward ? s.n - 1 - row : row, run = load_const(s.run_of + place);
    const int32_t begin = load_const(s.at + int64_t(group) * s.runs + run);
    if (begin < 0) return from_reals<T>::make(0, 0);
    at = begin + place - load_const(s.first + run);
  }
  return load_const((const T *)s.block + at * s.width + (position - group * s.width));
}

/* The same of D^-1 times the columns. */
template <typename T> SPTI_DEVICE T divided_value(const spti_schur_gather_args &a, int32_t row, int32_t position) {
  const T *D = (const T *)a.D, *sub = (const T *)a.D_sub;
  const T own = solved_value<T>(a.solved, row, position);
  const bool second = sub && row > 0 && !is_zero(load_const(sub + row - 1));
  const bool first = sub && !second && row + 1 < a.solved.n && !is_zero(load_const(sub + row));
  if (!first && !second) return quotient(own, load_const(D + row));
  const int32_t upper = second ? row - 1 : row;
  const T other = solved_value<T>(a.solved, second ? upper : upper + 1, position);
  const diagonal_pair<T> pair(load_const(D + upper), load_const(D + upper + 1), load_const(sub + upper), {false, false, a.hermitian != 0});
  T x0 = second ? other : own, x1 = second ? own : other;
  pair.solve(x0, x1);
  return second ? x1 : x0;
}

/* A thread block for each line. */
template <typename T> SPTI_KERNEL(SCHUR_THREADS) schur_gather_kernel(spti_schur_gather_args a) {
  const int32_t line = block_in_grid(), row = load_const(a.lines.row + line);
  const spti_schur_chunk *chunk = a.lines.chunks + load_const(a.lines.chunk + line);
  const int32_t first = load_const(&chunk->first[a.side]), width = load_const(&chunk->width[a.side]);
  T *to = (T *)a.operand + load_const(&chunk->at[a.side]) + int64_t(line - load_const(&chunk->line)) * width;
  for (int32_t k = thread_in_block(); k < width; k += SCHUR_THREADS)
    store(to + k, a.D ? divided_value<T>(a, row, first + k) : solved_value<T>(a.solved, row, first + k));
}

/* ---- S ---- */

template <typename R> SPTI_DEVICE R without_imaginary(R v) { return v; }
template <typename R> SPTI_DEVICE complex_t<R> without_imaginary(complex_t<R> v) { return {v.re, 0}; }

template <typename T> SPTI_DEVICE T element_of_S(const spti_schur_finish_args &a, int32_t row, int32_t column) {
  const int32_t r = load_const(a.right_at + (a.transposed ? row : column)), l = load_const(a.left_at + (a.transposed ? column : row));
  const bool other = a.symmetric && r < l;
  T v = load_const((const T *)a.sum + (other ? l + r * a.sum_ld : r + l * a.sum_ld));
  if (a.hermitian && row == column) v = without_imaginary(v);
  return conj_if((a.conj != 0) != (other && a.hermitian), v);
}

/* Threads run along the rows or columns that are contiguous in S. */
template <typename T> SPTI_KERNEL(SCHUR_THREADS) schur_finish_kernel(spti_schur_finish_args a) {
  const bool by_rows = a.col_stride == 1;
  const int64_t e = thread_in_grid();
  const int32_t length = by_rows ? a.columns : a.rows;
  if (e >= int64_t(a.rows) * a.columns) return;
  const int32_t row = int32_t(by_rows ? e / length : e % length), column = int32_t(by_rows ? e % length : e / length);
  if (a.symmetric && !a.whole && (a.upper ? row > column : row < column)) return;
  store((T *)a.S + row * a.row_stride + column * a.col_stride, element_of_S<T>(a, row, column));
}

static int64_t blocks_for(int64_t threads) { return (threads + SCHUR_THREADS - 1) / SCHUR_THREADS; }

} // namespace spti

extern "C" int spti_schur_scatter_launch(const spti_schur_scatter_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(schur_scatter_kernel<T>, blocks_for(a->entries), SCHUR_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_schur_conjugate_launch(const spti_schur_conjugate_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(schur_conjugate_kernel<T>, blocks_for(a->count), SCHUR_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_schur_gather_launch(const spti_schur_gather_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(schur_gather_kernel<T>, a->lines.count, SCHUR_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_schur_finish_launch(const spti_schur_finish_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(schur_finish_kernel<T>, blocks_for(int64_t(a->rows) * a->columns), SCHUR_THREADS, 0, stream, *a);
  });
}
