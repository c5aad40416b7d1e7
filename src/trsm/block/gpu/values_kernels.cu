/* block_values_kernels -- the values of a pull view put into the tiles of `block`, and the inverses of its diagonal blocks.
 *
 * Entries are shared out evenly, whichever panels they are in. A panel's columns stand in the order in which they are ready, so an entry's
 * step is found by bisection. The inverse of a triangle D is made column by column by forward substitution, in f64, 16 rows at a time for
 * all columns together. It is used alone where the row sums of abs(inverse) abs(D), by which roundings of the product are amplified, stay
 * below a bound on average over each row; a row of many terms has room for more. A step of refinement squares what the product loses, so
 * with one the bound is far higher: on what the roundings of each solution are amplified by, as if all were equally large, or on what
 * those of the residuals are. Either is enough for a panel, as the step contracts in either measure; where unknowns are scaled far apart
 * only the second stays small.
 * An average hides rows that amplify far more. Where one does, solutions of one panel may be of very different sizes, and what cancels
 * cannot be judged by row sums: the panel is refined, and its near columns are not multiplied in advance.
 * What underflows is lost, too: in rows scaled far apart all of an entry of the inverse. Relative to the panel's largest solution that is
 * at most `lost` of flag_of_row; the step of refinement brings it back and leaves its square, which has to be below the normal numbers.
 * Deterministic: yes. */
#include "core/device/syncfree.cuh"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/gpu/kernels.h"
#include "trsm/block/gpu/limits.cuh"

namespace spti {

enum {
  VALUES_THREADS = 256,
  VALUES_ENTRIES = 8 /* of a thread, at most */,
  DEVICE_THREADS = 1 << 18,
  INVERSE_THREADS = 256,
  INVERSE_WARPS = INVERSE_THREADS / 32,
  ROWS_AT_ONCE = 4,
  INVERSE_LD = SPTI_BLOCK_ROWS + 1
};

/* ---- values ---- */

/* Where element (row, column) of a tile is in it. */
SPTI_DEVICE int32_t in_tile(int32_t row, int32_t column) { return (32 * (column / 4 % 2) + row % 8 * 4 + column % 4) * 2 + row / 8 % 2; }

/* Element (row, column) of a diagonal block that begins at tile `start`. */
SPTI_DEVICE int64_t in_triangle(int32_t start, int32_t row, int32_t column) {
  const int32_t tile = spti_block_diagonal_tile(row / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STEP % 2);
  return (int64_t(start) + tile) * SPTI_BLOCK_TILE + in_tile(row, column);
}

/* A stored zero is -0, so that it differs from no entry. */
template <typename T> SPTI_DEVICE T tile_entry(const spti_view &v, int64_t p) {
  const T value = conj_if(v.conj, load_const(static_cast<const T *>(v.val) + p));
  return is_zero(value) ? from_reals<T>::make(-0.0, -0.0) : value;
}

/* The line of [low, high] that entry p is in. */
SPTI_DEVICE int32_t line_of_entry(const spti_view &v, int64_t p, int32_t low, int32_t high) {
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (load_const(v.ptr + middle) <= p) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* Element of `tile` of the column at `place`, in a row of panel p. */
SPTI_DEVICE int64_t outside_element(const spti_block_values_args &a, int32_t p, int32_t row, int32_t place) {
  const int32_t ready_at = load_const(a.columns.ready_at + place);
  int32_t low = load_const(a.columns.step_start + p), high = load_const(a.columns.step_start + p + 1) - 1, column = 0;
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (load_const(a.step_ready + middle) <= ready_at) low = middle;
    else high = middle - 1;
  }
  while (column < SPTI_BLOCK_STEP - 1 && load_const(a.col + int64_t(low) * SPTI_BLOCK_STEP + column) != place) column++;
  const int64_t step = load_const(a.step + low);
  const uint32_t below = uint32_t(spti_block_step_strips(step)) & ((1u << row / SPTI_BLOCK_STRIP) - 1);
  return (spti_block_step_tile(step) + popcount(below)) * SPTI_BLOCK_TILE + in_tile(row, column);
}

/* Those within panels are left to the inverses. */
template <typename T> SPTI_DEVICE void put_value(const spti_block_values_args &a, int64_t p, int32_t line) {
  const spti_view &v = a.columns.view;
  const int32_t j = load_const(v.idx + p), place = v.backward ? v.n - 1 - j : j, own = v.backward ? v.n - 1 - line : line;
  const int32_t panel = load_const(a.columns.panel + own), first = load_const(a.columns.first + panel);
  if (place < first) store(static_cast<T *>(a.tile) + outside_element(a, panel, own - first, place), tile_entry<T>(v, p));
}

/* Entries of a block. An entry's way is a chain of loads, so few entries are rather spread over the device. */
SPTI_ANYWHERE static int64_t values_of_block(const spti_view &v) {
  int64_t entries = 1;
  while (entries < VALUES_ENTRIES && v.nnz > entries * DEVICE_THREADS) entries *= 2;
  return entries * VALUES_THREADS;
}

template <typename T> SPTI_KERNEL(VALUES_THREADS) block_values_kernel(spti_block_values_args a) {
  SPTI_SHARED(int32_t, lines, 2);
  const spti_view &v = a.columns.view;
  const int64_t begin = block_in_grid() * values_of_block(v), end = begin + values_of_block(v);
  const int64_t last = (end < v.nnz ? end : v.nnz) - 1;
  if (thread_in_block() % 32 == 0 && warp_in_block() < 2)
    lines[warp_in_block()] = line_of_entry(v, warp_in_block() ? last : begin, 0, v.n - 1);
  syncthreads();
  for (int64_t p = begin + thread_in_block(); p <= last; p += VALUES_THREADS) put_value<T>(a, p, line_of_entry(v, p, lines[0], lines[1]));
}

/* ---- inverses ---- */

template <typename T> struct in_f64 {
  using type = double;
  static SPTI_DEVICE double from(T v) { return v; }
  static SPTI_DEVICE T to(double v) { return T(v); }
};
template <typename R> struct in_f64<complex_t<R>> {
  using type = complex_t<double>;
  static SPTI_DEVICE type from(complex_t<R> v) { return {double(v.re), double(v.im)}; }
  static SPTI_DEVICE complex_t<R> to(type v) { return {R(v.re), R(v.im)}; }
};

/* A triangle and its inverse X side by side: row i of D from the left, column j of X from above, one place further. */
template <typename W> struct two_triangles {
  W *memory;          /* [SPTI_BLOCK_ROWS * INVERSE_LD] */
  divisor<W> *pivots; /* [SPTI_BLOCK_ROWS], shared too: prepared for all columns */
  SPTI_DEVICE W &D(int32_t i, int32_t j) const { return memory[i * INVERSE_LD + j]; }
  SPTI_DEVICE W &X(int32_t i, int32_t j) const { return memory[j * INVERSE_LD + i + 1]; }

  /* Whole block; a barrier must follow, as it does in invert_strip. */
  SPTI_DEVICE void prepare_pivots(int32_t rows) const {
    if (thread_in_block() < rows) pivots[thread_in_block()].set(D(thread_in_block(), thread_in_block()));
  }
  /* Rows [top, top + 16) of X; those above are there. */
  SPTI_DEVICE void invert_strip(int32_t top) const {
    for (int32_t o = thread_in_block(); o < top * SPTI_BLOCK_STRIP; o += INVERSE_THREADS) {
      const int32_t i = top + o % SPTI_BLOCK_STRIP, j = o / SPTI_BLOCK_STRIP;
      W sum = D(i, j) * X(j, j); /* below, loads that no compiler widens: the next word of X may be another thread's to write */
#pragma unroll 4
      for (int32_t k = j + 1; k < top; k++) sum = sum + D(i, k) * shared_load_relaxed(&X(k, j));
      X(i, j) = -sum;
    }
    syncthreads();
    if (thread_in_block() < top + SPTI_BLOCK_STRIP) substitute(top, thread_in_block());
    syncthreads();
  }
  /* Column j of these rows, of which X has the right-hand sides where j is before the strip; else they are those of the identity. */
  SPTI_DEVICE void substitute(int32_t top, int32_t j) const {
    W x[SPTI_BLOCK_STRIP];
#pragma unroll
    for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++) x[i] = j < top ? X(top + i, j) : top + i == j ? one<W>() : W();
#pragma unroll
    for (int32_t k = 0; k < SPTI_BLOCK_STRIP; k++) {
      x[k] = pivots[top + k].divide(x[k]);
#pragma unroll
      for (int32_t i = k + 1; i < SPTI_BLOCK_STRIP; i++) x[i] = x[i] - D(top + i, top + k) * x[k];
    }
#pragma unroll
    for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++)
      if (top + i >= j) X(top + i, j) = x[i];
  }
};

/* Whole block: D, with ones on the diagonal where it is not stored and behind the last row; a barrier must follow. A warp takes a row,
 * whose entries within the panel are those nearest to its diagonal. Several rows of a warp are under way together. */
template <typename T, typename W>
SPTI_DEVICE void load_triangle(const spti_view &v, const two_triangles<W> &t, int32_t first, int32_t size, int32_t rows) {
  for (int32_t i = warp_in_block(); i < rows; i += INVERSE_WARPS)
    for (int32_t j = lane(); j <= i; j += 32) t.D(i, j) = i == j && (v.unit || i >= size) ? one<W>() : W();
  syncwarp();
  for (int32_t top = warp_in_block(); top < size; top += ROWS_AT_ONCE * INVERSE_WARPS) {
    int64_t begin[ROWS_AT_ONCE], end[ROWS_AT_ONCE];
#pragma unroll
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
      const int32_t own = first + top + r * INVERSE_WARPS, line = v.backward ? v.n - 1 - own : own;
      const bool is_there = top + r * INVERSE_WARPS < size;
      begin[r] = is_there ? load_const(v.ptr + line) : 0;
      end[r] = is_there ? load_const(v.ptr + line + 1) : 0;
    }
    bool within = true;
    for (int64_t k = lane(); any(within); k += 32) {
      int32_t place[ROWS_AT_ONCE];
      T value[ROWS_AT_ONCE];
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++) {
        const bool is_there = k < end[r] - begin[r];
        const int64_t p = v.backward ? begin[r] + k : end[r] - 1 - k;
        const int32_t j = is_there ? load_const(v.idx + p) : -1;
        place[r] = j < 0 ? -1 : v.backward ? v.n - 1 - j : j;
        value[r] = is_there ? tile_entry<T>(v, p) : T();
      }
      within = false;
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++) {
        const int32_t i = top + r * INVERSE_WARPS;
        const bool of_panel = place[r] >= first;
        within = within || of_panel;
        if (of_panel && !(v.unit && place[r] == first + i)) t.D(i, place[r] - first) = in_f64<T>::from(value[r]);
      }
    }
  }
}

/* Beside the flags of a panel: rows whose solutions, and whose residuals, amplify roundings too far for a step of refinement. */
enum { FAR_BY_SOLUTION = 8, FAR_BY_RESIDUAL = 16, ROW_FLAGS = 5 };

/* Whole block: what row `thread` asks for. Roundings of the products are amplified by abs(inverse) abs(D) in the
 * solutions, which the residual of a row adds up with abs(D) as weights. */
template <typename T, typename W>
SPTI_DEVICE int32_t flag_of_row(const spti_block_values_args &a, const two_triangles<W> &t, int32_t first, int32_t rows) {
  SPTI_SHARED(double, row_sums, SPTI_BLOCK_ROWS);
  SPTI_SHARED(double, amplified, SPTI_BLOCK_ROWS);
  const int32_t i = thread_in_block();
  double sum = 0, most = 0, all = 0, total = 0, residual = 0;
  bool tiny = false, huge = false;
  for (int32_t j = 0; i < rows && j <= i; j++) sum += magnitude(t.D(i, j));
  if (i < rows) row_sums[i] = sum;
  syncthreads();
  for (int32_t k = 0; i < rows && k <= i; k++) {
    const double x = magnitude(t.X(i, k)), kept = magnitude(in_f64<T>::to(t.X(i, k)));
    most += x * row_sums[k];
    all += x;
    total += row_sums[k];
    tiny |= x != 0 && !(kept >= range<T>::LEAST);
    huge |= !(kept <= range<T>::MOST);
  }
  if (i < rows) amplified[i] = most;
  syncthreads();
  if (i >= rows) return 0;
  for (int32_t j = 0; j <= i; j++) residual += magnitude(t.D(i, j)) * amplified[j];
  const double limit = limit_of_row(a, first + i);
  const bool accurate = residual <= limit * sum, spread = most > SPTI_BLOCK_SPREAD * limit;
  const double lost = total * (range<T>::STEP + range<double>::STEP * (most + SPTI_BLOCK_ROWS * all));
  if (huge || !(lost * lost <= range<T>::LEAST)) return SPTI_BLOCK_SUBSTITUTE;
  const int32_t too_far = (most <= a.refine || accurate ? 0 : FAR_BY_SOLUTION) | (residual <= a.refine * sum ? 0 : FAR_BY_RESIDUAL);
  if (tiny || spread || lost > range<T>::LEAST) return too_far | SPTI_BLOCK_REFINE | SPTI_BLOCK_APART;
  return too_far | (accurate ? 0 : SPTI_BLOCK_REFINE);
}

/* Of what all rows of a panel ask for. */
SPTI_DEVICE int32_t flags_of_panel(int32_t asked) {
  const int32_t too_far = FAR_BY_SOLUTION | FAR_BY_RESIDUAL;
  if ((asked & SPTI_BLOCK_SUBSTITUTE) || (asked & too_far) == too_far) return SPTI_BLOCK_SUBSTITUTE;
  return asked & ~too_far;
}

template <typename T> SPTI_KERNEL(INVERSE_THREADS) block_inverses_kernel(spti_block_values_args a) {
  using W = typename in_f64<T>::type;
  SPTI_DYNAMIC_SHARED(W, memory);
  SPTI_SHARED(int32_t, asked, INVERSE_WARPS);
  SPTI_SHARED(divisor<W>, pivots, SPTI_BLOCK_ROWS);
  const two_triangles<W> t = {memory, pivots};
  const int32_t p = block_in_grid(), start = load_const(a.columns.diag_start + p);
  const int32_t first = load_const(a.columns.first + p), size = load_const(a.columns.first + p + 1) - first;
  const int32_t rows = (size + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP * SPTI_BLOCK_STRIP;
  load_triangle<T>(a.columns.view, t, first, size, rows);
  syncthreads();
  t.prepare_pivots(rows);
  for (int32_t e = thread_in_block(); e < rows * rows; e += INVERSE_THREADS) {
    const int32_t i = e / rows, j = e % rows;
    if (j / SPTI_BLOCK_STRIP <= i / SPTI_BLOCK_STRIP)
      store(static_cast<T *>(a.triangle) + in_triangle(start, i, j), in_f64<T>::to(j <= i ? t.D(i, j) : W()));
  }
  for (int32_t top = 0; top < rows; top += SPTI_BLOCK_STRIP) t.invert_strip(top);
  for (int32_t e = thread_in_block(); e < rows * rows; e += INVERSE_THREADS) {
    const int32_t i = e / rows, j = e % rows;
    if (j / SPTI_BLOCK_STRIP <= i / SPTI_BLOCK_STRIP)
      store(static_cast<T *>(a.inverse) + in_triangle(start, i, j), in_f64<T>::to(j <= i ? t.X(i, j) : W()));
  }
  const int32_t mine = flag_of_row<T>(a, t, first, rows);
  int32_t flags = 0;
  for (int32_t flag = 1; flag < 1 << ROW_FLAGS; flag *= 2) flags |= any(mine & flag) ? flag : 0;
  if (lane() == 0) asked[warp_in_block()] = flags;
  syncthreads();
  if (thread_in_block() != 0) return;
  for (int32_t w = 1; w < INVERSE_WARPS; w++) flags |= asked[w];
  flags = flags_of_panel(flags);
  store(a.flags + p, flags);
  if (flags) red_add(a.flagged + (flags != SPTI_BLOCK_SUBSTITUTE), 1);
}

} // namespace spti

extern "C" int spti_block_values_launch(const spti_block_values_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::dispatch(dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    const int64_t entries = values_of_block(a->columns.view), blocks = (a->columns.view.nnz + entries - 1) / entries;
    return SPTI_LAUNCH(block_values_kernel<T>, blocks, VALUES_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_block_inverses_launch(const spti_block_values_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::dispatch(dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    const size_t shared = SPTI_BLOCK_ROWS * INVERSE_LD * sizeof(typename in_f64<T>::type);
    return SPTI_LAUNCH(block_inverses_kernel<T>, a->columns.count, INVERSE_THREADS, shared, stream, *a);
  });
}
