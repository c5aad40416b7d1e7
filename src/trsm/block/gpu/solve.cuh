/* block_solve -- the kernel of block: x(P,:) = inv(T(P,P)) (b(P,:) - sum of T(P,j) x(j,:)) for a panel P of up to 64 rows and a tile of
 * right-hand sides, by one thread block.
 *
 * A warp multiplies one strip of 16 rows; where a panel has only one or two, several warps share the strip's steps and their sums are
 * added in one order. The block waits for the solutions of 32 columns at a time, 64 by tiles of 8 (real) -- each is asked for by one
 * thread, and again as long as it is the sentinel -- and hands them to its warps through shared memory; the next columns' values are on
 * their way while the product runs. Of the columns that are ready last the product with the inverse is taken in advance
 * (near.cuh).
 *
 * Bits. mma is a chain of fused multiplications and additions in ascending order, the order of steps and the warps that share a
 * strip depend on the panel alone. So a solution has the same bits for every panel width, tile and schedule.
 * Accuracy. x = inverse r is accurate where abs(inverse) abs(block) is small. Where it is not, one step of refinement with the triangle
 * makes it so; where even that would not do, neither in solutions nor in residuals, the panel is solved by substitution with the triangle
 * (flags). All of that is judged by row sums, that is as if the solutions that a row adds up were equally large: where a far larger one
 * cancels, its roundings stay.
 * NaN and infinity. Tiles and inverses have zeros where the matrix has no entries, and would spread what is not finite. It never gets
 * out: a right-hand side whose sums are not finite, or nearly so, is summed again by entries and solved by substitution with
 * the triangle; of a panel that is multiplied only the elements that are not good are taken from that.
 * Progress: tickets deal panels out in the order in which they can be solved. Work blocks: core/two_blocks/two_blocks.cuh. */
#ifndef SPTI_TRSM_BLOCK_GPU_SOLVE_CUH
#define SPTI_TRSM_BLOCK_GPU_SOLVE_CUH

#include "core/device/transfer.cuh"
#include "core/two_blocks/two_blocks.cuh"
#include "trsm/block/gpu/near.cuh"
#include "trsm/block/gpu/out.cuh"

namespace spti {

enum { STEPS_OF_NEWS = 8 }; /* rounds of steps between two reports of progress */

/* ---- sums, at the end ---- */

/* The right-hand sides that a tile has beyond the last are no one's. */
SPTI_DEVICE void mark_if_bad(const block_item &g, int k, double sum, block_shared *shared) {
  if (!is_good(sum) && k < g.left) shared->some_bad = shared->bad[k] = 1;
}

/* f(word in shared memory, element of the lane's that belongs there, its right-hand side) for all that a warp has of 16 rows of its own:
 * those of part p of strip s begin at row 16 (p strips + s). */
template <typename T, typename Shape, typename F>
SPTI_DEVICE void for_rows(const block_item &g, block_sums<T, Shape::TILES> &sums, double *r, F f) {
#pragma unroll
  for (int n = 0; n < Shape::TILES; n++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      const int k = 8 * n + column_of_lane();
      double *at = r + (g.warp * SPTI_BLOCK_STRIP + 8 * h + lane() / 4) * Shape::ROW + k * Shape::PLANES;
#pragma unroll
      for (int w = 0; w < 2 * Shape::PLANES; w++)
        f(at + w, sums.part[n][w % Shape::PLANES][2 * h + w / Shape::PLANES], k + w / Shape::PLANES);
    }
}

template <typename T, typename Shape>
SPTI_DEVICE void put_sums(const block_item &g, block_sums<T, Shape::TILES> &sums, double *r, block_shared *shared) {
  for_rows<T, Shape>(g, sums, r, [&](double *word, double &sum, int k) {
    *word = sum;
    if (g.parts == 1) mark_if_bad(g, k, sum, shared);
  });
}

/* Whole block: adds the parts of each strip in order, to the rows of the first. */
template <typename Shape> SPTI_DEVICE void add_parts(const block_item &g, double *r, block_shared *shared) {
  const int rows = g.strips * SPTI_BLOCK_STRIP;
  for (int i = thread_in_block(); i < rows * Shape::WORDS; i += BLOCK_THREADS) {
    const int word = i % Shape::WORDS;
    double *at = r + i / Shape::WORDS * Shape::ROW + word, sum = at[0];
    for (int p = 1; p < g.parts; p++) sum += at[p * rows * Shape::ROW];
    at[0] = sum;
    mark_if_bad(g, word / Shape::PLANES, sum, shared);
  }
}

/* ---- by entries ---- */

template <typename T> struct wide_of { using type = double; };
template <typename R> struct wide_of<complex_t<R>> { using type = complex_t<double>; };

SPTI_DEVICE double widen(float v) { return v; }
SPTI_DEVICE double widen(double v) { return v; }
template <typename R> SPTI_DEVICE complex_t<double> widen(complex_t<R> v) { return {double(v.re), double(v.im)}; }

/* One lane: a solution that another thread of the block has seen, but this one may not have yet. */
template <typename T> SPTI_DEVICE T seen_by_others(const spti_block_solve_args &a, const block_item &g, const T *at) {
  spin_guard guard;
  guard.start();
  T x = peek(at);
  while (is_sentinel(x) && guard.go_on(a.sync, g.row(a))) x = peek(at);
  return x;
}

/* One lane: adds the entries of row i of the panel in one step times the solutions of right-hand side k. */
template <typename T, typename W>
SPTI_DEVICE W entries_of_step(const spti_block_solve_args &a, const block_item &g, const T *now, int32_t step, int32_t i, int32_t k,
                              W sum) {
  const T *tile = tile_of<T>(a.panels, step, i / SPTI_BLOCK_STRIP);
  for (int32_t j = 0; tile && j < SPTI_BLOCK_STEP; j++) {
    const T v = load_const(tile + place_in_tile(i % SPTI_BLOCK_STRIP, j));
    if (!is_entry(v)) continue;
    const int64_t place = load_const(a.panels.col + int64_t(step) * SPTI_BLOCK_STEP + j);
    sum = sum + widen(v) * widen(seen_by_others(a, g, now + place * a.ld + k));
  }
  return sum;
}

/* Whole block: the sums of a bad right-hand side once more, by entries. A warp takes every fourth row, a lane every 32nd step. It takes so
 * long that those who wait must hear of it. */
template <typename T, typename Shape>
SPTI_DEVICE void sum_by_entries(const spti_block_solve_args &a, const block_item &g, const T *now, double *r, int column) {
  using wide = typename wide_of<T>::type;
  for (int32_t i = warp_in_block(); i < g.rows; i += BLOCK_WARPS) {
    wide sum = from_reals<wide>::make(0, 0);
    for (int32_t step = g.begin; step < g.end; step += 32) {
      if (step + lane() < g.end) sum = entries_of_step(a, g, now, step + lane(), i, g.k + column, sum);
      if ((step - g.begin) % (32 * STEPS_OF_NEWS) == 0 && lane() == 0) report_progress(a.sync);
    }
#pragma unroll
    for (int by = 16; by > 0; by /= 2) sum = sum + shfl(sum, lane() ^ by);
    if (lane() != 0) continue;
    const wide b = widen(read_rhs<T>(a.between, row_of_place(a, g.first + i), g.k + column));
    *(wide *)(r + i * Shape::ROW + column * Shape::PLANES) = b - sum;
  }
}

/* Whole warp: solves eight right-hand sides by substitution, r becomes x. Lane 4 c + t has column c, and of each row the entries
 * t, t + 4, ... */
template <typename T, typename Shape>
SPTI_DEVICE void substitute(const spti_block_solve_args &a, const block_item &g, double *r, int column) {
  using wide = typename wide_of<T>::type;
  const T *triangle = (const T *)a.panels.triangle + int64_t(g.diagonal) * SPTI_BLOCK_TILE;
  wide *x = (wide *)(r + column * Shape::PLANES);
  constexpr int ROW = Shape::ROW / Shape::PLANES;
  for (int32_t i = 0; i < g.rows; i++) {
    const T *row = triangle + spti_block_diagonal_tile(i / SPTI_BLOCK_STRIP, 0, 0) * SPTI_BLOCK_TILE;
    const auto element = [&](int32_t j) {
      return load_const(row + j / SPTI_BLOCK_STEP * SPTI_BLOCK_TILE + place_in_tile(i % SPTI_BLOCK_STRIP, j % SPTI_BLOCK_STEP));
    };
    wide sum = from_reals<wide>::make(0, 0);
    for (int32_t j = lane() % 4; j < i; j += 4) {
      const T v = element(j);
      if (is_entry(v)) sum = sum + widen(v) * x[j * ROW];
    }
    sum = sum + shfl(sum, lane() ^ 1);
    sum = sum + shfl(sum, lane() ^ 2);
    const wide solution = quotient(x[i * ROW] - sum, widen(element(i)));
    syncwarp();
    if (lane() % 4 == 0) x[i * ROW] = solution;
    syncwarp();
  }
}

/* Whole block: from sums in shared memory, those of bad right-hand sides taken anew by entries, to solutions by substitution. */
template <typename T, typename Shape>
SPTI_DEVICE void solve_by_entries(const spti_block_solve_args &a, const block_item &g, const T *now, double *r,
                                  const block_shared *shared) {
  for (int k = 0; k < Shape::COLUMNS && shared->some_bad; k++)
    if (shared->bad[k]) sum_by_entries<T, Shape>(a, g, now, r, k);
  syncthreads();
  for (int tile = warp_in_block(); tile < Shape::TILES; tile += BLOCK_WARPS) substitute<T, Shape>(a, g, r, 8 * tile + lane() / 4);
  syncthreads();
}

/* ---- the kernel ---- */

/* Whole block: sums become those in shared memory, r, added up over the parts of each strip; and the inverse has come. */
template <typename T, typename Shape>
SPTI_DEVICE void gather_sums(const block_item &g, double *r, block_sums<T, Shape::TILES> &sums, block_shared *shared) {
  put_sums<T, Shape>(g, sums, r, shared);
  await_copies<0>();
  syncthreads();
  if (g.parts == 1) return;
  add_parts<Shape>(g, r, shared);
  syncthreads();
}

/* Whole warp: x = inverse r. */
template <typename T, typename Shape>
SPTI_DEVICE void multiply_once(const block_item &g, const T *block, const double *r, block_sums<T, Shape::TILES> &x) {
  block_inverse<T, Shape> inverse(g, block);
  inverse.fetch_pair(0);
  x = {};
  inverse.multiply(x, r);
}

/* Whole block: e = r - triangle x, x += inverse e. q: room for x; r becomes e. As below the sums are those of -x: a solution that is 0 has
 * the same sign whatever the tile. */
template <typename T, typename Shape>
SPTI_DEVICE void refine_beside(const block_item &g, block_inverse<T, Shape> &inverse, block_diagonal<T, Shape> &triangle, double *r,
                               double *q, block_sums<T, Shape::TILES> &x, bool multiplies, block_shared *shared) {
  block_sums<T, Shape::TILES> e = {};
  if (multiplies) {
    for_rows<T, Shape>(g, x, q, [&](double *word, double &sum, int k) {
      mark_if_bad(g, k, sum, shared);
      *word = sum = -sum;
    });
    for_rows<T, Shape>(g, e, r, [](double *word, double &sum, int) { sum = *word; });
  }
  syncthreads();
  if (multiplies) {
    triangle.multiply(e, q);
    inverse.fetch_pair(0);
    for_rows<T, Shape>(g, e, r, [](double *word, double &sum, int) { *word = -sum; });
  }
  syncthreads();
  if (!multiplies) return;
  inverse.multiply(x, r);
  for_rows<T, Shape>(g, x, r, [](double *, double &sum, int) { sum = -sum; });
}

/* The same where there is no room beside r: a warp has one of x and e in registers, the other stands where r was. */
template <typename T, typename Shape>
SPTI_DEVICE void refine_in_place(const block_item &g, block_inverse<T, Shape> &inverse, block_diagonal<T, Shape> &triangle, double *r,
                                 block_sums<T, Shape::TILES> &x, bool multiplies, block_shared *shared) {
  const auto swap = [&](double *word, double &sum, int k) {
    const double own = sum;
    mark_if_bad(g, k, own, shared);
    sum = *word;
    *word = -own;
  };
  syncthreads();
  if (multiplies) for_rows<T, Shape>(g, x, r, swap); /* -x there, r here */
  syncthreads();
  if (multiplies) {
    triangle.multiply(x, r);
    inverse.fetch_pair(0);
  }
  syncthreads();
  if (multiplies) for_rows<T, Shape>(g, x, r, swap); /* -e there, -x here */
  syncthreads();
  if (!multiplies) return;
  inverse.multiply(x, r);
  for_rows<T, Shape>(g, x, r, [](double *, double &sum, int) { sum = -sum; });
}

/* Whole block: x = inverse r, then one step of refinement. The first tiles of the triangle are asked for long before they are needed.
 * q: what is beside r, if there is room for x. */
template <typename T, typename Shape>
SPTI_DEVICE void multiply_and_refine(const spti_block_solve_args &a, const block_item &g, const T *block, double *r, double *q,
                                     block_sums<T, Shape::TILES> &x, bool multiplies, block_shared *shared) {
  block_inverse<T, Shape> inverse(g, block);
  block_diagonal<T, Shape> triangle(g, (const T *)a.panels.triangle + int64_t(g.diagonal) * SPTI_BLOCK_TILE);
  if (multiplies) triangle.fetch(0);
  gather_sums<T, Shape>(g, r, x, shared);
  if (multiplies) {
    inverse.fetch_pair(0);
    x = {};
    inverse.multiply(x, r);
  }
  if constexpr (Shape::CHUNK >= SPTI_BLOCK_ROWS) refine_beside<T, Shape>(g, inverse, triangle, r, q, x, multiplies, shared);
  else refine_in_place<T, Shape>(g, inverse, triangle, r, x, multiplies, shared);
}

/* Lane by lane: marks what put_good left to others. */
template <typename T, typename Shape>
SPTI_DEVICE void mark_bad(const block_item &g, double *r, block_sums<T, Shape::TILES> &x, block_shared *shared) {
  for_rows<T, Shape>(g, x, r, [&](double *, double &sum, int k) { mark_if_bad(g, k, sum, shared); });
  shared->some_bad = 1;
}

/* Whole block: from the sums over all but the near columns, which are in the warps' registers, to the solutions; nothing of them, if a
 * dependency is lost. near: chunks, of which values has asked for the first. */
template <typename T, typename Shape>
SPTI_DEVICE void solve_panel(const spti_block_solve_args &a, const block_item &g, T *now, int32_t near, double *buffers, const T *inverse,
                             int32_t flags, block_values<T, Shape> &values, block_sums<T, Shape::TILES> &sums, block_shared *shared) {
  /* The sums take the place of the last chunk but one, of which no warp needs anything any more, or of all. */
  constexpr bool FITS = Shape::CHUNK >= SPTI_BLOCK_ROWS;
  const bool owns = g.works() && g.part == 0, multiplies = owns && flags != SPTI_BLOCK_SUBSTITUTE;
  const int32_t far = chunks_of<Shape>(g) - near;
  double *r = buffers + (FITS && far % 2 ? Shape::CHUNK * Shape::ROW : 0), *q = buffers + (far % 2 ? 0 : Shape::CHUNK * Shape::ROW);
  block_near<T, Shape> products(a, g, near);
  if (!FITS || far == 0) syncthreads();
  if (flags & SPTI_BLOCK_REFINE) {
    multiply_and_refine<T, Shape>(a, g, inverse, r, q, sums, multiplies, shared);
    if (multiplies && near > 0) products.fetch(near);
  } else {
    if (multiplies) {
      products.fetch(near);
      products.announce(near);
    }
    gather_sums<T, Shape>(g, r, sums, shared);
    if (multiplies) multiply_once<T, Shape>(g, inverse, r, sums);
  }
  const block_target<T, Shape> target(a, g, now);
  if (near > 0) {
    if (!FITS) syncthreads();
    const bool came = take_near_columns<T, Shape>(a, g, now, far, FITS ? far + 1 : 0, buffers, shared, values, products, multiplies, sums);
    if (!came) return;
  }
  if (multiplies && !target.put_good(sums)) mark_bad<T, Shape>(g, r, sums, shared);
  syncthreads(); /* nobody needs the columns any more */
  if (shared->some_bad || flags == SPTI_BLOCK_SUBSTITUTE) {
    solve_by_entries<T, Shape>(a, g, now, r, shared);
    if (owns) {
      for_rows<T, Shape>(g, sums, r, [&](double *word, double &sum, int) { sum = multiplies && is_good(sum) ? sum : *word; });
      target.put(sums);
    }
  }
  if (owns) write_strip<T, Shape>(a, g, sums);
}

/* Whole block: fills its rows and columns of the other work block. */
template <typename T, typename Shape>
SPTI_DEVICE void refill(const spti_block_solve_args &a, const block_item &g, const two_blocks<T> &blocks) {
  const int32_t end = blocks.fill_end(g.k + Shape::COLUMNS, a.between.width);
  const int32_t words = (end - g.k) * Shape::PLANES; /* may be none, or less than that */
  constexpr int LANES = Shape::WORDS / 2;
  using real = typename Shape::real;
  for (int32_t row = thread_in_block() / LANES; row < g.rows; row += BLOCK_THREADS / LANES) {
    real *at = (real *)(blocks.other + (g.first + row) * a.ld + g.k);
    for (int32_t w = thread_in_block() % LANES * 2; w < words; w += Shape::WORDS) {
      if (w + 1 < words) store_once((two<real> *)(at + w), {sentinel<real>(), sentinel<real>()});
      else store_once(at + w, sentinel<real>());
    }
  }
}

template <typename Shape> SPTI_ANYWHERE int32_t block_tiles_of(const spti_block_solve_args &a) {
  return (a.between.width + Shape::COLUMNS - 1) / Shape::COLUMNS;
}

template <typename T, typename Shape> SPTI_KERNEL_RESIDENT(BLOCK_THREADS, Shape::RESIDENT) block_solve_kernel(spti_block_solve_args a) {
  SPTI_DYNAMIC_SHARED(double, words);
  SPTI_SHARED(block_shared, shared, 1);
  if (thread_in_block() == 0) {
    shared->word = draw_ticket(a.sync, a.between.width);
    shared->lost_at = INT32_MAX;
    shared->some_bad = 0;
  }
  if (thread_in_block() < Shape::COLUMNS) shared->bad[thread_in_block()] = 0;
  syncthreads();
  const int32_t word = shared->word;
  const block_item g(a.panels, word & INT32_MAX, block_tiles_of<Shape>(a), Shape::COLUMNS, a.between.width);
  const two_blocks<T> blocks(a.sync, a.work, a.panels.n * a.ld, word);
  T *inverse = (T *)(words + Shape::ROOM * Shape::ROW);
  const int32_t flags = load_const(a.panels.flags + g.panel);
  const bool apart = flags & (SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART);
  const int32_t near = !apart && a.panels.near ? chunks_of<Shape>(spti_block_near(g.end - g.begin)) : 0;
  block_sums<T, Shape::TILES> sums;
  block_values<T, Shape> values(a, g, blocks.now);
  block_tiles<T, Shape> tiles;
  const int32_t far = chunks_of<Shape>(g) - near;
  ask_for_columns<T, Shape>(a, g, far, values, tiles);
  if (flags != SPTI_BLOCK_SUBSTITUTE) fetch_inverse(a, g, inverse);
  start_sums<T, Shape>(a, g, sums);
  refill<T, Shape>(a, g, blocks); /* while all of that is on its way */
  if (!take_columns<T, Shape>(a, g, blocks.now, far, words, shared, values, tiles, sums)) return;
  solve_panel<T, Shape>(a, g, blocks.now, near, words, inverse, flags, values, sums, shared);
}

template <typename T, int Tiles> int launch_block(const spti_block_solve_args *a, void *stream) {
  using shape = block_shape<T, Tiles>;
  const int64_t blocks = int64_t(a->panels.count) * block_tiles_of<shape>(*a);
  const size_t shared = shape::ROOM * shape::ROW * sizeof(double) + BLOCK_INVERSE_TILES * SPTI_BLOCK_TILE * sizeof(T);
  return SPTI_LAUNCH((block_solve_kernel<T, shape>), blocks, BLOCK_THREADS, shared, stream, *a);
}

/* Complex values leave no registers for tiles of 32. */
template <typename T> int launch_block_type(const spti_block_solve_args *a, void *stream) {
  if (a->tile == 8) return launch_block<T, 1>(a, stream);
  if constexpr (planes_of<T>::COUNT == 1)
    if (a->tile == 32) return launch_block<T, 4>(a, stream);
  return launch_block<T, 2>(a, stream);
}

} // namespace spti
#endif
