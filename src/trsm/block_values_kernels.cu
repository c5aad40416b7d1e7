/* block_values_kernels -- the values of a pull view put into the tiles of `block`, and the inverses of its diagonal blocks.
 *
 * A block of threads fills the tiles of one panel: an entry's tile follows from the rank of its column (block_column_map.cuh). The
 * inverse of a triangle D is made column by column by forward substitution, in f64, 16 rows at a time for all columns together. It is used
 * alone where the row sums of abs(inverse) abs(D), by which roundings of the product are amplified, stay below a bound on average over each
 * row; a row of many terms has room for more. A step of refinement squares what the product loses, so with one the bound is far higher.
 * What underflows is lost, too: in rows scaled far apart all of an entry of the inverse. Relative to the panel's largest solution that is
 * at most `lost` of flag_of_row; the step of refinement brings it back and leaves its square, which has to be below the normal numbers.
 * Deterministic: yes. */
#include "trsm/block_column_map.cuh"
#include "trsm/block_limits.cuh"

namespace spti {

enum { VALUES_THREADS = 1024, INVERSE_THREADS = 256, INVERSE_LD = SPTI_BLOCK_ROWS + 1 };

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

template <typename T> SPTI_DEVICE void clear_tiles(void *tiles, int64_t from, int64_t to) {
  for (int64_t i = from * SPTI_BLOCK_TILE + thread_in_block(); i < to * SPTI_BLOCK_TILE; i += threads_per_block())
    store(static_cast<T *>(tiles) + i, from_reals<T>::make(0, 0));
}

/* The entries within the panel; ones where the diagonal is not stored, and behind the last row. */
template <typename T> SPTI_DEVICE void fill_triangle(const spti_block_values_args &a, const panel_entries &e, int32_t start) {
  const spti_view &v = a.columns.view;
  T *triangle = static_cast<T *>(a.triangle);
  const int32_t row = thread_in_block(), rows = (e.rows + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP * SPTI_BLOCK_STRIP;
  if (row < rows && (v.unit || row >= e.rows)) store(triangle + in_triangle(start, row, row), one<T>());
  each_entry(v, e, [&](int64_t p, int32_t place) {
    const int32_t column = place - e.first;
    if (column < 0) return;
    const int32_t of = row_of_entry(v, e, p);
    if (column == of && v.unit) return;
    store(triangle + in_triangle(start, of, column), tile_entry<T>(v, p));
  });
}

/* Steps of one window from `first` on; no column where the last one is not full. */
SPTI_DEVICE void write_steps(const spti_block_values_args &a, const column_map &map, int32_t columns, int64_t first, int64_t *tile) {
  const int32_t steps = (columns + SPTI_BLOCK_STEP - 1) / SPTI_BLOCK_STEP, words = (steps + 7) / 8;
  const int32_t share = (words - 1) / threads_per_block() + 1, from = thread_in_block() * share;
  const int32_t to = from + share < words ? from + share : words;
  int64_t tiles = 0, total;
  for (int32_t w = from; w < to; w++) tiles += popcount(map.strips_of(w));
  int64_t at = *tile + block_sum_before(tiles, &total);
  for (int32_t w = from; w < to; w++)
    for (int32_t s = 8 * w; s < 8 * w + 8 && s < steps; s++) {
      const int64_t strips = map.strips_of(w) >> s % 8 * 4 & 15;
      store(a.step + first + s, at << 4 | strips);
      at += popcount(uint32_t(strips));
    }
  *tile += total;
  if (thread_in_block() < steps * SPTI_BLOCK_STEP - columns) store(a.col + first * SPTI_BLOCK_STEP + columns + thread_in_block(), -1);
}

template <typename T> SPTI_KERNEL(VALUES_THREADS) block_values_kernel(spti_block_values_args a) {
  const spti_view &v = a.columns.view;
  const int32_t p = panel_of_block(a.columns), diagonal = load_const(a.columns.diag_start + p);
  const panel_entries e = entries_of(a.columns, p);
  int64_t step = load_const(a.columns.step_start + p), tile = load_const(a.columns.tile_start + p);
  if (p == 0 && thread_in_block() == 0) {
    store(a.flagged, 0);
    store(a.flagged + 1, 0);
    store(a.flagged + 2, 0);
  }
  clear_tiles<T>(a.tile, tile, load_const(a.columns.tile_start + p + 1));
  clear_tiles<T>(a.triangle, diagonal, load_const(a.columns.diag_start + p + 1));
  syncthreads();
  fill_triangle<T>(a, e, diagonal);
  each_window(a.columns, e, [&](const column_map &map, int32_t columns) {
    if (a.col) write_steps(a, map, columns, step, &tile);
    syncthreads();
    each_entry(v, e, [&](int64_t entry, int32_t place) {
      const int32_t at = load_const(a.columns.ready_at + place);
      if (place >= e.first || !map.has(at)) return;
      const int32_t rank = map.rank(at), row = row_of_entry(v, e, entry);
      const int64_t own = load(a.step + step + rank / SPTI_BLOCK_STEP);
      const uint32_t below = uint32_t(spti_block_step_strips(own)) & ((1u << row / SPTI_BLOCK_STRIP) - 1);
      const int64_t to = (spti_block_step_tile(own) + popcount(below)) * SPTI_BLOCK_TILE + in_tile(row, rank);
      store(static_cast<T *>(a.tile) + to, tile_entry<T>(v, entry));
      if (a.col) store(a.col + step * SPTI_BLOCK_STEP + rank, place);
    });
    step += (columns + SPTI_BLOCK_STEP - 1) / SPTI_BLOCK_STEP;
  });
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
  W *memory; /* [SPTI_BLOCK_ROWS * INVERSE_LD] */
  SPTI_DEVICE W &D(int32_t i, int32_t j) const { return memory[i * INVERSE_LD + j]; }
  SPTI_DEVICE W &X(int32_t i, int32_t j) const { return memory[j * INVERSE_LD + i + 1]; }

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
    for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++) {
      W t = j < top ? X(top + i, j) : top + i == j ? one<W>() : W();
#pragma unroll
      for (int32_t k = 0; k < i; k++) t = t - D(top + i, top + k) * x[k];
      x[i] = quotient(t, D(top + i, top + i));
    }
#pragma unroll
    for (int32_t i = 0; i < SPTI_BLOCK_STRIP; i++)
      if (top + i >= j) X(top + i, j) = x[i];
  }
};

/* Whole block: what row `thread` asks for, a flag of the panel. Roundings of the products are amplified by abs(inverse) abs(D) in the
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
  const bool accurate = residual <= limit_of_row(a, first + i) * sum;
  const double lost = total * (range<T>::STEP + range<double>::STEP * (most + SPTI_BLOCK_ROWS * all));
  if (!(most <= a.refine || accurate) || huge || !(lost * lost <= range<T>::LEAST)) return SPTI_BLOCK_SUBSTITUTE;
  return !accurate || tiny || lost > range<T>::LEAST ? SPTI_BLOCK_REFINE : 0;
}

template <typename T> SPTI_KERNEL(INVERSE_THREADS) block_inverses_kernel(spti_block_values_args a) {
  using W = typename in_f64<T>::type;
  SPTI_DYNAMIC_SHARED(W, memory);
  SPTI_SHARED(int32_t, asked, 2 * INVERSE_THREADS / 32);
  const two_triangles<W> t = {memory};
  const int32_t p = block_in_grid(), start = load_const(a.columns.diag_start + p);
  const int32_t first = load_const(a.columns.first + p), size = load_const(a.columns.first + p + 1) - first;
  const int32_t rows = (size + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP * SPTI_BLOCK_STRIP;
  for (int32_t e = thread_in_block(); e < rows * rows; e += INVERSE_THREADS) {
    const int32_t i = e / rows, j = e % rows;
    if (j <= i) t.D(i, j) = in_f64<T>::from(load_const(static_cast<const T *>(a.triangle) + in_triangle(start, i, j)));
  }
  syncthreads();
  for (int32_t top = 0; top < rows; top += SPTI_BLOCK_STRIP) t.invert_strip(top);
  for (int32_t e = thread_in_block(); e < rows * rows; e += INVERSE_THREADS) {
    const int32_t i = e / rows, j = e % rows;
    if (j / SPTI_BLOCK_STRIP <= i / SPTI_BLOCK_STRIP)
      store(static_cast<T *>(a.inverse) + in_triangle(start, i, j), in_f64<T>::to(j <= i ? t.X(i, j) : W()));
  }
  const int32_t mine = flag_of_row<T>(a, t, first, rows);
  const bool substitute = any(mine == SPTI_BLOCK_SUBSTITUTE), refine = any(mine == SPTI_BLOCK_REFINE);
  if (lane() == 0) asked[2 * warp_in_block()] = substitute, asked[2 * warp_in_block() + 1] = refine;
  syncthreads();
  if (thread_in_block() != 0) return;
  int32_t by_any[2] = {0, 0};
  for (int32_t w = 0; w < 2 * INVERSE_THREADS / 32; w++) by_any[w % 2] |= asked[w];
  store(a.flags + p, by_any[0] ? SPTI_BLOCK_SUBSTITUTE : by_any[1] ? SPTI_BLOCK_REFINE : 0);
  if (by_any[0] || by_any[1]) red_add(a.flagged + !by_any[0], 1);
}

} // namespace spti

extern "C" int spti_block_values_launch(const spti_block_values_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::dispatch(dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(block_values_kernel<T>, a->columns.count, a->columns.threads, column_map_bytes(a->columns.window), stream, *a);
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
