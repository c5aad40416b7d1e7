/* near_kernels.cu -- analysis of `block`, third part: the products of the inverses with the near columns, N = X A, which the solve uses in
 * diagonal.cuh, and the flag APART of panels that would lose accuracy by them.
 *
 * A thread block takes a panel, up to 64 columns at a time: A is loaded into shared memory, and each warp multiplies a strip of X with it
 * on the tensor cores. The solution is x = X r(far) - N x(near). The roundings of N, up to |X| |A|, are amplified by |D| in the residual,
 * which is measured by |A| and |D|. So the row sums of |D| |X| |A| have to stay below a bound, like those of |D| |X| |D|
 * (values_kernels.cu). Where they do not, and where X is refined, N is refined once with the triangle, N += X (A - D N); then only its
 * elements and the product with x(near) are rounded, and |D| |N| has to stay below that bound. Besides, no element of N may overflow, or
 * be the sum of products that underflow. Deterministic: yes. */
#include "trsm/block/gpu/limits.cuh"
#include "trsm/block/gpu/tile.cuh"

namespace spti {

enum { NEAR_WARPS = SPTI_BLOCK_STRIPS, NEAR_THREADS = 32 * NEAR_WARPS, NEAR_STEPS = 8 /* taken at a time */ };

template <typename T> struct near_shape {
  static constexpr int PLANES = planes_of<T>::COUNT, ROW = NEAR_STEPS * SPTI_BLOCK_STEP * PLANES + 4; /* words of a row of A */
};

/* The sums of a strip of N; columns beyond the near steps are undefined and not stored. */
template <typename T> using near_sums = block_sums<T, NEAR_STEPS>;

struct near_shared {
  double terms[SPTI_BLOCK_ROWS], amplified[SPTI_BLOCK_ROWS], products[SPTI_BLOCK_ROWS]; /* row sums of |A|, |X| |A|, |N| */
  double least_of_A[NEAR_WARPS][32], least_of_X[NEAR_WARPS][32];                        /* least nonzero magnitudes */
  int32_t inaccurate, out_of_range;
};

struct near_item {
  int32_t panel, first, strips, steps, end; /* steps: near steps; end: of the panel's steps */
  int64_t diagonal, near;                   /* first tiles */

  SPTI_DEVICE near_item(const spti_block_values_args &a) {
    const spti_block_columns_args &c = a.columns;
    panel = block_in_grid();
    first = load_const(c.first + panel);
    strips = (load_const(c.first + panel + 1) - first + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    end = load_const(c.step_start + panel + 1);
    steps = spti_block_near(end - load_const(c.step_start + panel));
    diagonal = load_const(c.diag_start + panel);
    near = load_const(c.near_start + panel);
  }
  SPTI_DEVICE bool works() const { return warp_in_block() < strips; }
  /* Near steps that are taken together from `start` on. */
  SPTI_DEVICE int32_t count(int32_t start) const { return steps - start < NEAR_STEPS ? steps - start : NEAR_STEPS; }
};

/* Magnitudes of the lane's elements of one tile. */
template <typename T> SPTI_DEVICE void magnitudes(const block_fragment<T> &f, double (&m)[4]) {
#pragma unroll
  for (int e = 0; e < 4; e++) {
    m[e] = 0;
#pragma unroll
    for (int plane = 0; plane < planes_of<T>::COUNT; plane++) m[e] += magnitude(double(f.part[plane][e]));
  }
}

SPTI_DEVICE double smaller_nonzero(double least, double m) { return m != 0 && !(least <= m) ? m : least; }

/* Whole warp: adds to the sums of the lane's two rows, each of which four lanes share. */
SPTI_DEVICE void add_row_sums(double *sums, double (&mine)[2]) {
#pragma unroll
  for (int h = 0; h < 2; h++) {
    mine[h] += shfl(mine[h], lane() ^ 1);
    mine[h] += shfl(mine[h], lane() ^ 2);
    if (lane() % 4 == 0) sums[warp_in_block() * SPTI_BLOCK_STRIP + 8 * h + lane() / 4] += mine[h];
  }
}

/* Adds a tile's magnitudes times the weights of its columns to the sums of the lane's two rows. */
SPTI_DEVICE void add_weighted(double (&sums)[2], const double (&m)[4], const double *weights) {
#pragma unroll
  for (int e = 0; e < 4; e++) sums[e % 2] += m[e] * weights[lane() % 4 + e / 2 * 4];
}

/* Whole warp: loads one strip of A, with zeros where a step has no tile of the strip. */
template <typename T>
SPTI_DEVICE void load_strip(const spti_block_values_args &a, const near_item &g, int32_t start, double *A, near_shared *shared) {
  constexpr int PLANES = near_shape<T>::PLANES, ROW = near_shape<T>::ROW;
  const int32_t strip = warp_in_block();
  double sums[2] = {0, 0}, least = range<double>::MOST;
  block_fragment<T> f[NEAR_STEPS] = {};
  int64_t record[NEAR_STEPS];
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++) record[i] = i < g.count(start) ? load_const(a.step + g.end - g.steps + start + i) : 0;
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++) {
    const int32_t strips = spti_block_step_strips(record[i]), below = popcount(uint32_t(strips) & ((1u << strip) - 1));
    if (strips >> strip & 1)
      load_fragment(from_global(), static_cast<const T *>(a.tile) + (spti_block_step_tile(record[i]) + below) * SPTI_BLOCK_TILE, f[i]);
  }
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++) {
    double m[4];
    magnitudes<T>(f[i], m);
#pragma unroll
    for (int e = 0; e < 4; e++) {
      const int32_t row = strip * SPTI_BLOCK_STRIP + lane() / 4 + e % 2 * 8, column = i * SPTI_BLOCK_STEP + lane() % 4 + e / 2 * 4;
#pragma unroll
      for (int plane = 0; plane < PLANES; plane++) A[row * ROW + column * PLANES + plane] = double(f[i].part[plane][e]);
      sums[e % 2] += m[e];
      least = smaller_nonzero(least, m[e]);
    }
  }
  add_row_sums(shared->terms, sums);
  shared->least_of_A[strip][lane()] = least;
}

/* Whole warp: f(i, pair) for tiles i and i + 1 of its strip of a diagonal block (triangle or inverse); as many tiles are loaded at once as
 * registers have room for. */
template <typename T, typename F> SPTI_DEVICE void each_pair(const near_item &g, const void *block, F f) {
  constexpr int AT_ONCE = planes_of<T>::COUNT == 1 ? 4 : 2;
  const int32_t strip = warp_in_block(), count = 2 * (strip + 1);
  const T *from = static_cast<const T *>(block) + (g.diagonal + spti_block_diagonal_tile(strip, 0, 0)) * SPTI_BLOCK_TILE;
  for (int32_t first = 0; first < count; first += AT_ONCE) {
    block_fragment<T> tile[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (first + i < count) load_fragment(from_global(), from + (first + i) * SPTI_BLOCK_TILE, tile[i]);
#pragma unroll
    for (int i = 0; i < AT_ONCE; i += 2)
      if (first + i < count) f(first + i, tile + i);
  }
}

/* Whole warp: adds the product of its strip of a diagonal block with the columns in shared memory. */
template <typename T> SPTI_DEVICE void add_product(near_sums<T> &sums, const void *block, const near_item &g, const double *A) {
  constexpr int ROW = near_shape<T>::ROW;
  each_pair<T>(g, block, [&](int32_t i, const block_fragment<T> *f) { multiply_tiles<2>(sums, f, A + i * SPTI_BLOCK_STEP * ROW, ROW); });
}

/* Whole warp: exchanges its strip in shared memory with the negated sums. */
template <typename T> SPTI_DEVICE void swap_strip(near_sums<T> &sums, double *A) {
  constexpr int PLANES = near_shape<T>::PLANES, ROW = near_shape<T>::ROW;
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++)
#pragma unroll
    for (int e = 0; e < 4; e++)
#pragma unroll
      for (int plane = 0; plane < PLANES; plane++) {
        const int32_t row = warp_in_block() * SPTI_BLOCK_STRIP + lane() / 4 + e / 2 * 8;
        double *at = A + row * ROW + (i * SPTI_BLOCK_STEP + lane() % 4 * 2 + e % 2) * PLANES + plane, own = sums.part[i][plane][e];
        sums.part[i][plane][e] = *at;
        *at = -own;
      }
}

/* Whole block: from N = X A in the sums to N + X (A - D N). The contents of A are lost. */
template <typename T> SPTI_DEVICE void refine(const spti_block_values_args &a, const near_item &g, double *A, near_sums<T> &sums) {
  syncthreads();
  if (g.works()) swap_strip<T>(sums, A);
  syncthreads();
  if (g.works()) add_product<T>(sums, a.triangle, g, A);
  syncthreads();
  if (g.works()) swap_strip<T>(sums, A);
  syncthreads();
  if (g.works()) add_product<T>(sums, a.inverse, g, A);
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++)
#pragma unroll
    for (int e = 0; e < 4 * near_shape<T>::PLANES; e++) sums.part[i][e / 4][e % 4] = -sums.part[i][e / 4][e % 4];
}

/* Whole warp: stores one strip of N and adds up its rows. */
template <typename T>
SPTI_DEVICE void put_strip(const spti_block_values_args &a, const near_item &g, int32_t start, const near_sums<T> &sums,
                           near_shared *shared) {
  T *near = static_cast<T *>(a.near) + (g.near + warp_in_block() * g.steps + start) * SPTI_BLOCK_TILE;
  double rows[2] = {0, 0};
  bool huge = false;
#pragma unroll
  for (int i = 0; i < NEAR_STEPS; i++)
#pragma unroll
    for (int e = 0; e < 4 && i < g.count(start); e++) {
      const T v = from_reals<T>::make(sums.part[i][0][e], sums.part[i][near_shape<T>::PLANES - 1][e]);
      huge |= !(magnitude(v) <= range<T>::MOST);
      rows[e / 2] += magnitude(v);
      store(near + i * SPTI_BLOCK_TILE + place_in_tile(lane() / 4 + e / 2 * 8, lane() % 4 * 2 + e % 2), v);
    }
  add_row_sums(shared->products, rows);
  if (huge) shared->out_of_range = 1;
}

/* Whole warp, one strip: the row sums of |X| |A| from the row sums of |A| (weights), or, without weights, the least element of X. */
template <typename T>
SPTI_DEVICE void weigh_strip(const spti_block_values_args &a, const near_item &g, const double *weights, near_shared *shared) {
  double amplified[2] = {0, 0}, least = range<double>::MOST;
  each_pair<T>(g, a.inverse, [&](int32_t i, const block_fragment<T> *f) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      double m[4];
      magnitudes<T>(f[h], m);
      if (weights) add_weighted(amplified, m, weights + (i + h) * SPTI_BLOCK_STEP);
#pragma unroll
      for (int e = 0; e < 4; e++) least = smaller_nonzero(least, m[e]);
    }
  });
  if (weights) add_row_sums(shared->amplified, amplified);
  else shared->least_of_X[warp_in_block()][lane()] = least;
}

/* Whole warp, one strip: marks the panel as inaccurate if roundings may be too large in its residuals. */
template <typename T>
SPTI_DEVICE void judge_strip(const spti_block_values_args &a, const near_item &g, const double *weighed, near_shared *shared) {
  double residual[2] = {0, 0}, weights[2] = {0, 0};
  each_pair<T>(g, a.triangle, [&](int32_t i, const block_fragment<T> *f) {
#pragma unroll
    for (int h = 0; h < 2; h++) {
      double m[4];
      magnitudes<T>(f[h], m);
      add_weighted(residual, m, weighed + (i + h) * SPTI_BLOCK_STEP);
#pragma unroll
      for (int e = 0; e < 4; e++) weights[e % 2] += m[e];
    }
  });
#pragma unroll
  for (int h = 0; h < 2; h++) {
    const int32_t row = warp_in_block() * SPTI_BLOCK_STRIP + 8 * h + lane() / 4;
#pragma unroll
    for (int by = 1; by < 4; by *= 2) {
      residual[h] += shfl(residual[h], lane() ^ by);
      weights[h] += shfl(weights[h], lane() ^ by);
    }
    const double limit = double(load(a.limit + int64_t(SPTI_BLOCK_ROWS) * g.panel + row)) / SPTI_BLOCK_APART_SHARE;
    if (!(residual[h] <= limit * (weights[h] + shared->terms[row]))) shared->inaccurate = 1;
  }
}

/* Whole block: may any sum of products be below the normal numbers? The product of the least elements says no, as a rule; else all sums are
 * looked at. */
template <typename T>
SPTI_DEVICE void look_for_underflow(const spti_block_values_args &a, const near_item &g, int32_t start, const double *A,
                                    near_shared *shared) {
  constexpr int PLANES = near_shape<T>::PLANES, ROW = near_shape<T>::ROW;
  double least[2] = {range<double>::MOST, range<double>::MOST};
  for (int32_t i = 0; i < 32 * g.strips; i++) {
    least[0] = smaller_nonzero(least[0], shared->least_of_A[i / 32][i % 32]);
    least[1] = smaller_nonzero(least[1], shared->least_of_X[i / 32][i % 32]);
  }
  if (least[0] * least[1] >= range<T>::LEAST) return;
  const T *inverse = static_cast<const T *>(a.inverse) + g.diagonal * SPTI_BLOCK_TILE;
  const int32_t columns = g.count(start) * SPTI_BLOCK_STEP;
  for (int32_t o = thread_in_block(); o < g.strips * SPTI_BLOCK_STRIP * columns; o += NEAR_THREADS) {
    const int32_t i = o / columns, j = o % columns;
    double product = 0;
    bool some = false;
    for (int32_t k = 0; k <= i; k++) {
      const int32_t tile = spti_block_diagonal_tile(i / SPTI_BLOCK_STRIP, k / SPTI_BLOCK_STRIP, k / SPTI_BLOCK_STEP % 2);
      const double *at = A + k * ROW + j * PLANES;
      const double x = magnitude(
                       load_const(inverse + int64_t(tile) * SPTI_BLOCK_TILE + place_in_tile(i % SPTI_BLOCK_STRIP, k % SPTI_BLOCK_STEP))),
                   y = magnitude(at[0]) + (PLANES == 2 ? magnitude(at[1]) : 0.0);
      product += x * y;
      some |= x != 0 && y != 0;
    }
    if (some && !(product >= range<T>::LEAST)) shared->out_of_range = 1;
  }
}

/* Whole block: makes N, refined or not. False: N must not be used. */
template <typename T>
SPTI_DEVICE bool make_near(const spti_block_values_args &a, const near_item &g, bool refined, double *A, near_shared *shared) {
  if (thread_in_block() == 0) shared->inaccurate = shared->out_of_range = 0;
  if (thread_in_block() < SPTI_BLOCK_ROWS)
    shared->terms[thread_in_block()] = shared->amplified[thread_in_block()] = shared->products[thread_in_block()] = 0;
  if (g.works()) weigh_strip<T>(a, g, nullptr, shared);
  syncthreads();
  for (int32_t start = 0; start < g.steps; start += NEAR_STEPS) {
    if (g.works()) load_strip<T>(a, g, start, A, shared);
    syncthreads();
    look_for_underflow<T>(a, g, start, A, shared);
    near_sums<T> sums = {};
    if (g.works()) add_product<T>(sums, a.inverse, g, A);
    if (refined) refine<T>(a, g, A, sums);
    if (g.works()) put_strip<T>(a, g, start, sums, shared);
    syncthreads();
  }
  if (g.works() && !refined) weigh_strip<T>(a, g, shared->terms, shared);
  syncthreads();
  if (g.works()) judge_strip<T>(a, g, refined ? shared->products : shared->amplified, shared);
  syncthreads();
  return !shared->inaccurate && !shared->out_of_range;
}

template <typename T> SPTI_KERNEL_RESIDENT(NEAR_THREADS, (planes_of<T>::COUNT == 1 ? 3 : 2)) block_near_kernel(spti_block_values_args a) {
  SPTI_DYNAMIC_SHARED(double, A);
  SPTI_SHARED(near_shared, shared, 1);
  const near_item g(a);
  const int32_t flags = load(a.flags + g.panel);
  if (g.steps == 0 || flags == SPTI_BLOCK_SUBSTITUTE) return;
  bool good = !flags && make_near<T>(a, g, false, A, shared);
  if (!good && !(flags & SPTI_BLOCK_APART) && (flags || !shared->out_of_range)) {
    syncthreads();
    good = make_near<T>(a, g, true, A, shared);
  }
  if (thread_in_block() != 0 || good) return;
  store(a.flags + g.panel, flags | SPTI_BLOCK_APART);
  red_add(a.flagged + 2, 1);
}

} // namespace spti

extern "C" int spti_block_near_launch(const spti_block_values_args *a, sptrsm_dtype dtype, void *stream) {
  return spti::dispatch(dtype, [&](auto tag) {
    using namespace spti;
    using T = typename decltype(tag)::type;
    const size_t shared = SPTI_BLOCK_ROWS * near_shape<T>::ROW * sizeof(double);
    return SPTI_LAUNCH(block_near_kernel<T>, a->columns.count, NEAR_THREADS, shared, stream, *a);
  });
}
