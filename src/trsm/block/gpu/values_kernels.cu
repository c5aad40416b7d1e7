/* values_kernels.cu -- analysis of `block`, second part: the values of a pull view are stored in the tiles, and the inverses of the
 * diagonal blocks are made and judged.
 *
 * Entries are shared out evenly among threads, whichever panels they are in. The columns of a panel stand in the order in which they
 * become ready, so the step of an entry is found by bisection. The inverse X of a diagonal block D is made by forward substitution in f64,
 * 16 rows at a time for all columns together.
 *
 * Accuracy. Roundings of the product with X are amplified by the row sums of |X| |D|:
 * - X is used alone where these sums stay below a limit, on average over each row with |D| as weights (the amplification in a residual).
 *   A row of many terms has a higher limit, one of few terms a far lower one (limits.cuh) if it depends on a row of the panel that
 *   depends on another row of the panel, whose solution may have cancelled.
 * - Else one step of refinement follows the product, for the strips up to the last such row. It squares the relative error, so the bound is
 *   far higher: on the amplification in each solution, as if all were equally large, or on that in the residuals. Either is enough for a
 *   panel, since the step contracts in either measure; where unknowns are scaled far apart only the second stays small.
 * - Else the panel is substituted.
 * - Underflow: in rows scaled far apart a whole entry of X may be lost. Relative to the panel's largest solution that is at most `lost` of
 *   flag_of_row; the step of refinement restores it and leaves an error of its square, which has to be below the normal numbers.
 *
 * Deterministic: yes. */
#include "core/device/syncfree.cuh"
#include "trsm/block/gpu/analysis_kernels.h"
#include "trsm/block/gpu/kernels.h"
#include "trsm/block/gpu/limits.cuh"

namespace spti {

enum {
  VALUES_THREADS = 256,
  VALUES_ENTRIES = 8 /* of a thread at most */,
  DEVICE_THREADS = 1 << 18,
  INVERSE_THREADS = 256,
  INVERSE_WARPS = INVERSE_THREADS / 32,
  LONG_ROW = 1024, /* entries: the whole block adds up those beyond */
  ROWS_AT_ONCE = 4,
  INVERSE_LD = SPTI_BLOCK_ROWS + 1
};

/* ---- values ---- */

/* Index in its tile of element (row, column) of a diagonal block or of a step. */
SPTI_DEVICE int32_t in_tile(int32_t row, int32_t column) { return (32 * (column / 4 % 2) + row % 8 * 4 + column % 4) * 2 + row / 8 % 2; }

/* Index of element (row, column) of a diagonal block that begins at tile `start`. */
SPTI_DEVICE int64_t in_triangle(int32_t start, int32_t row, int32_t column) {
  const int32_t tile = spti_block_diagonal_tile(row / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STEP % 2);
  return (int64_t(start) + tile) * SPTI_BLOCK_TILE + in_tile(row, column);
}

/* The value of entry p; a stored zero becomes -0, so that it differs from a missing entry. */
template <typename T> SPTI_DEVICE T tile_entry(const spti_view &v, int64_t p) {
  const T value = conj_if(v.conj, load_const(static_cast<const T *>(v.val) + p));
  return is_zero(value) ? from_reals<T>::make(-0.0, -0.0) : value;
}

/* The line, from low to high, that holds entry p. */
SPTI_DEVICE int32_t line_of_entry(const spti_view &v, int64_t p, int32_t low, int32_t high) {
  while (low < high) {
    const int32_t middle = low + (high - low + 1) / 2;
    if (load_const(v.ptr + middle) <= p) low = middle;
    else high = middle - 1;
  }
  return low;
}

/* Index in `tile` of the element in `row` of panel p and in the column at `place`. */
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

/* Stores entry p, unless it is within its panel: those are loaded with the diagonal blocks. */
template <typename T> SPTI_DEVICE void put_value(const spti_block_values_args &a, int64_t p, int32_t line) {
  const spti_view &v = a.columns.view;
  const int32_t j = load_const(v.idx + p), place = v.backward ? v.n - 1 - j : j, own = v.backward ? v.n - 1 - line : line;
  const int32_t panel = load_const(a.columns.panel + own), first = load_const(a.columns.first + panel);
  if (place < first) store(static_cast<T *>(a.tile) + outside_element(a, panel, own - first, place), tile_entry<T>(v, p));
}

/* Entries of a thread block. Each entry takes a chain of loads, so few entries are spread over more threads. */
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
  const int32_t first = load_const(a.columns.first), next = load_const(a.columns.first + a.columns.count); /* places of all panels */
  if (thread_in_block() % 32 == 0 && warp_in_block() < 2)
    lines[warp_in_block()] =
        line_of_entry(v, warp_in_block() ? last : begin, v.backward ? v.n - next : first, (v.backward ? v.n - first : next) - 1);
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

/* A triangle D and its inverse X share one square: D(i,j) is at (i,j), X(i,j) at (j,i+1). */
template <typename W> struct two_triangles {
  W *memory;          /* [SPTI_BLOCK_ROWS * INVERSE_LD] */
  divisor<W> *pivots; /* [SPTI_BLOCK_ROWS], shared memory: the divisors of all columns */
  SPTI_DEVICE W &D(int32_t i, int32_t j) const { return memory[i * INVERSE_LD + j]; }
  SPTI_DEVICE W &X(int32_t i, int32_t j) const { return memory[j * INVERSE_LD + i + 1]; }

  /* Whole block; a barrier must follow, as it does in invert_strip. */
  SPTI_DEVICE void prepare_pivots(int32_t rows) const {
    if (thread_in_block() < rows) pivots[thread_in_block()].set(D(thread_in_block(), thread_in_block()));
  }
  /* Makes rows [top, top + 16) of X from the rows above. */
  SPTI_DEVICE void invert_strip(int32_t top) const {
    for (int32_t o = thread_in_block(); o < top * SPTI_BLOCK_STRIP; o += INVERSE_THREADS) {
      const int32_t i = top + o % SPTI_BLOCK_STRIP, j = o / SPTI_BLOCK_STRIP;
      W sum = D(i, j) * X(j, j); /* below: loads that no compiler widens, since another thread may write the next word of X */
#pragma unroll 4
      for (int32_t k = j + 1; k < top; k++) sum = sum + D(i, k) * shared_load_relaxed(&X(k, j));
      X(i, j) = -sum;
    }
    syncthreads();
    if (thread_in_block() < top + SPTI_BLOCK_STRIP) substitute(top, thread_in_block());
    syncthreads();
  }
  /* Column j of these rows. Its right-hand sides are in X where j is before the strip, else they are those of the identity. */
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

/* Stores element (i,j) of a triangle, unless it is before the panel or a unit diagonal. */
template <typename T, typename W> SPTI_DEVICE void put_in_triangle(const two_triangles<W> &t, int32_t i, int32_t j, T value, bool unit) {
  if (j >= 0 && !(unit && j == i)) t.D(i, j) = in_f64<T>::from(value);
}

/* The entries of a row, from its diagonal outwards. */
struct row_entries {
  int64_t begin, count;
  bool backward;
  SPTI_DEVICE int64_t at(int64_t k) const { return backward ? begin + k : begin + count - 1 - k; }
};
SPTI_DEVICE row_entries entries_of_row(const spti_view &v, int32_t place) {
  const int32_t line = v.backward ? v.n - 1 - place : place;
  const int64_t begin = load_const(v.ptr + line);
  return {begin, load_const(v.ptr + line + 1) - begin, v.backward != 0};
}

/* Whole warp: the sums over its lanes, in one order. */
SPTI_DEVICE row_terms over_lanes(row_terms t) {
#pragma unroll
  for (int by = 16; by > 0; by /= 2) {
    t.sum += shfl(t.sum, lane() ^ by);
    t.roots += shfl(t.roots, lane() ^ by);
  }
  return t;
}

/* Whole block: loads D, with ones on a unit diagonal and beyond the last row, and adds up the first LONG_ROW terms of each row; a barrier
 * must follow. A warp takes several rows and reads their entries from the diagonal outwards. */
template <typename T, typename W>
SPTI_DEVICE void load_triangle(const spti_view &v, const two_triangles<W> &t, int32_t first, int32_t size, int32_t rows, row_terms *terms) {
  for (int32_t i = warp_in_block(); i < rows; i += INVERSE_WARPS)
    for (int32_t j = lane(); j <= i; j += 32) t.D(i, j) = i == j && (v.unit || i >= size) ? one<W>() : W();
  syncwarp();
  for (int32_t top = warp_in_block(); top < size; top += ROWS_AT_ONCE * INVERSE_WARPS) {
    row_terms sums[ROWS_AT_ONCE] = {};
    row_entries row[ROWS_AT_ONCE] = {};
    int64_t most = 0;
#pragma unroll
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
      const int32_t i = top + r * INVERSE_WARPS;
      if (i < size) row[r] = entries_of_row(v, first + i);
      most = row[r].count > most ? row[r].count : most;
    }
    for (int64_t k = lane(); any(k < most && k < LONG_ROW); k += 32) {
      int32_t place[ROWS_AT_ONCE];
      T value[ROWS_AT_ONCE];
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++) {
        const bool is_there = k < row[r].count && k < LONG_ROW;
        const int32_t j = is_there ? load_const(v.idx + row[r].at(k)) : -1;
        place[r] = j < 0 ? -1 : v.backward ? v.n - 1 - j : j;
        value[r] = is_there ? tile_entry<T>(v, row[r].at(k)) : T();
      }
#pragma unroll
      for (int r = 0; r < ROWS_AT_ONCE; r++) {
        const int32_t i = top + r * INVERSE_WARPS, j = place[r] - first;
        put_in_triangle(t, i, j, value[r], v.unit);
        sums[r].add(v.unit && j == i ? 0.0 : magnitude(in_f64<T>::from(value[r])));
      }
    }
#pragma unroll
    for (int r = 0; r < ROWS_AT_ONCE; r++) {
      const int32_t i = top + r * INVERSE_WARPS;
      row_terms all = over_lanes(sums[r]);
      if (v.unit) all.add(1);
      if (i < size && lane() == 0) terms[i] = all;
    }
  }
}

/* Whole block, between barriers: adds the other terms of long rows. */
template <typename T> SPTI_DEVICE void add_long_rows(const spti_view &v, int32_t first, int32_t size, row_terms *terms) {
  SPTI_SHARED(row_terms, part, INVERSE_WARPS);
  for (int32_t i = 0; i < size; i++) {
    const row_entries row = entries_of_row(v, first + i);
    if (row.count <= LONG_ROW) continue;
    row_terms mine = {};
    for (int64_t k = LONG_ROW + thread_in_block(); k < row.count; k += INVERSE_THREADS)
      mine.add(magnitude(in_f64<T>::from(tile_entry<T>(v, row.at(k)))));
    mine = over_lanes(mine);
    if (lane() == 0) part[warp_in_block()] = mine;
    syncthreads();
    for (int w = 0; w < INVERSE_WARPS && thread_in_block() == 0; w++) {
      terms[i].sum += part[w].sum;
      terms[i].roots += part[w].roots;
    }
    syncthreads();
  }
}

/* Flags of a row: SUBSTITUTE and APART as for a panel; a step of refinement is not enough, measured in the solution or in the residual;
 * STRIP << s: strip s is to be refined. */
enum { FAR_BY_SOLUTION = 4, FAR_BY_RESIDUAL = 8, STRIP = 16, ROW_FLAGS = 8 };

/* Whole block: the flags for row `thread` of the panel. `most` is the row sum of |X| |D|, by which roundings are amplified in the row's
 * solution; `residual` is the row sum of |D| |X| |D|. */
template <typename T, typename W>
SPTI_DEVICE int32_t flag_of_row(const spti_block_values_args &a, const two_triangles<W> &t, int32_t panel, int32_t first, int32_t size,
                                int32_t rows, const row_terms *terms) {
  SPTI_SHARED(double, row_sums, SPTI_BLOCK_ROWS);
  SPTI_SHARED(double, amplified, SPTI_BLOCK_ROWS);
  SPTI_SHARED(int32_t, takes_others, SPTI_BLOCK_ROWS);
  const int32_t i = thread_in_block();
  double sum = 0, most = 0, all = 0, total = 0, residual = 0;
  bool tiny = false, huge = false, takes = false, cancels = false;
  for (int32_t j = 0; i < rows && j <= i; j++) {
    sum += magnitude(t.D(i, j));
    takes |= j < i && !is_zero(t.D(i, j));
  }
  if (i < rows) row_sums[i] = sum, takes_others[i] = takes;
  syncthreads();
  for (int32_t k = 0; i < rows && k <= i; k++) {
    const double x = magnitude(t.X(i, k)), kept = magnitude(in_f64<T>::to(t.X(i, k)));
    most += x * row_sums[k];
    all += x;
    total += row_sums[k];
    tiny |= x != 0 && !(kept >= range<T>::LEAST);
    huge |= !(kept <= range<T>::MOST);
    cancels |= k < i && !is_zero(t.D(i, k)) && takes_others[k];
  }
  if (i < rows) amplified[i] = most;
  syncthreads();
  if (i >= rows) return 0;
  for (int32_t j = 0; j <= i; j++) residual += magnitude(t.D(i, j)) * amplified[j];
  const double limit = limit_by_terms(a, first + i), share = i < size ? share_of_few_terms(a, terms[i]) : 1;
  store(a.limit + int64_t(SPTI_BLOCK_ROWS) * panel + i, float(takes ? limit * share : limit));
  const double lost = total * (range<T>::STEP + range<double>::STEP * (most + SPTI_BLOCK_ROWS * all));
  if (huge || !(lost * lost <= range<T>::LEAST)) return SPTI_BLOCK_SUBSTITUTE;
  const int32_t refine = STRIP << i / SPTI_BLOCK_STRIP;
  const int32_t too_far =
      (most <= a.refine || residual <= limit * sum ? 0 : FAR_BY_SOLUTION) | (residual <= a.refine * sum ? 0 : FAR_BY_RESIDUAL);
  if (tiny || lost > range<T>::LEAST) return too_far | refine | SPTI_BLOCK_APART;
  return too_far | (residual <= (cancels ? limit * share : limit) * sum ? 0 : refine);
}

/* The flags of a panel from the union of its rows' flags. */
SPTI_DEVICE int32_t flags_of_panel(int32_t asked) {
  const int32_t too_far = FAR_BY_SOLUTION | FAR_BY_RESIDUAL;
  if ((asked & SPTI_BLOCK_SUBSTITUTE) || (asked & too_far) == too_far) return SPTI_BLOCK_SUBSTITUTE;
  int32_t strips = SPTI_BLOCK_STRIPS;
  while (strips > 0 && !(asked & STRIP << (strips - 1))) strips--;
  return (asked & SPTI_BLOCK_APART) | strips * SPTI_BLOCK_REFINE;
}

template <typename T> SPTI_KERNEL(INVERSE_THREADS) block_inverses_kernel(spti_block_values_args a) {
  using W = typename in_f64<T>::type;
  SPTI_DYNAMIC_SHARED(W, memory);
  SPTI_SHARED(int32_t, asked, INVERSE_WARPS);
  SPTI_SHARED(divisor<W>, pivots, SPTI_BLOCK_ROWS);
  SPTI_SHARED(row_terms, terms, SPTI_BLOCK_ROWS);
  const two_triangles<W> t = {memory, pivots};
  const int32_t p = block_in_grid(), start = load_const(a.columns.diag_start + p);
  const int32_t first = load_const(a.columns.first + p), size = load_const(a.columns.first + p + 1) - first;
  const int32_t rows = (size + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP * SPTI_BLOCK_STRIP;
  load_triangle<T>(a.columns.view, t, first, size, rows, terms);
  syncthreads();
  add_long_rows<T>(a.columns.view, first, size, terms);
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
  const int32_t mine = flag_of_row<T>(a, t, p, first, size, rows, terms);
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
