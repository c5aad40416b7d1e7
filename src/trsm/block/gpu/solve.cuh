/* solve.cuh -- the solve kernel of block: a thread block computes the solutions of one panel P of up to 64 rows for one tile of right-hand
 * sides, x(P,:) = inv(T(P,P)) (b(P,:) - sum of T(P,j) x(j,:)).
 *
 *   1. draw a ticket: tickets deal panels out in the order in which they can be solved     solve.cuh
 *   2. begin the sums with the right-hand sides; refill the other work block                sums.cuh, here
 *   3. subtract the products with the far columns, chunk by chunk, as they are published    columns.cuh
 *   4. multiply with the inverse of the diagonal block; refine where the analysis says so   diagonal.cuh
 *   5. subtract the products with the near columns, the last ones to be ready               diagonal.cuh
 *   6. publish the solutions in the work block, then write them to X                        sums.cuh
 *   7. where something is not finite: sum by entries, solve by substitution                 here
 *
 * A warp multiplies one strip of 16 rows; where a panel has only one or two strips, several warps share the strip's steps, and their sums
 * are added in one order. The work blocks, which hold solutions that are their own flags, are in core/two_blocks/two_blocks.cuh.
 * Bits. mma in f64 is a chain of fused multiply-adds in ascending order; in f32 it rounds in a way of the device's own, which is always the
 * same. The order of steps and the warps that share a strip depend on the panel alone. So a solution has the same bits for every panel
 * width, tile and schedule.
 * Accuracy. x = inverse r is accurate where |inverse| |block| is small. Where it is not, one step of refinement with the triangle makes it
 * so; where even that is not enough, neither in solutions nor in residuals, the panel is solved by substitution (its flags;
 * values_kernels.cu). All of that is judged by row sums, with lower limits for rows whose terms may cancel (limits.cuh).
 * NaN and infinity. Tiles and inverses have zeros where the matrix has no entries, and these would spread values that are not finite. So
 * a right-hand side with sums that are not finite, or nearly overflow, is summed again by entries and solved by substitution with the
 * triangle; of a panel that is multiplied only the elements that are not good are taken from that. */
#ifndef SPTI_TRSM_BLOCK_GPU_SOLVE_CUH
#define SPTI_TRSM_BLOCK_GPU_SOLVE_CUH

#include "trsm/block/gpu/diagonal.cuh"

namespace spti {

enum { STEPS_OF_NEWS = 8 }; /* rounds of 32 steps between two reports of progress */

/* ---- by entries ---- */

template <typename T> struct wide_of { using type = double; };
template <typename R> struct wide_of<complex_t<R>> { using type = complex_t<double>; };

SPTI_DEVICE double widen(float v) { return v; }
SPTI_DEVICE double widen(double v) { return v; }
template <typename R> SPTI_DEVICE complex_t<double> widen(complex_t<R> v) { return {double(v.re), double(v.im)}; }

/* One lane: a solution that another thread of the block has seen, but that may not be visible to this one yet. */
template <typename T, typename Shape>
SPTI_DEVICE T seen_by_others(const spti_block_solve_args &a, const block_task<T, Shape> &t, const T *at) {
  spin_guard guard;
  guard.start();
  T x = peek(at);
  while (is_sentinel(x) && guard.go_on(a.sync, t.row(a))) x = peek(at);
  return x;
}

/* A strip's tile of a step; NULL: it has none. */
template <typename T> SPTI_DEVICE const T *tile_of(const spti_block_panels &p, int32_t step, int32_t strip) {
  const int64_t record = load_const(p.step + step);
  const int32_t strips = spti_block_step_strips(record);
  if (!(strips >> strip & 1)) return nullptr;
  return (const T *)p.tile + (spti_block_step_tile(record) + popcount(uint32_t(strips & ((1 << strip) - 1)))) * SPTI_BLOCK_TILE;
}

/* One lane: sum plus the products of the entries of row i of the panel in one step with the solutions of right-hand side k. */
template <typename T, typename Shape, typename W>
SPTI_DEVICE W entries_of_step(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t step, int32_t i, int32_t k, W sum) {
  const spti_block_panels &panels = a.panels;
  const T *tile = tile_of<T>(panels, step, i / SPTI_BLOCK_STRIP);
  for (int32_t j = 0; tile && j < SPTI_BLOCK_STEP; j++) {
    const T v = load_const(tile + place_in_tile(i % SPTI_BLOCK_STRIP, j));
    if (!is_entry(v)) continue;
    const int64_t place = load_const(panels.col + int64_t(step) * SPTI_BLOCK_STEP + j);
    if (place < 0) continue; /* a column that the group does not reach (grouped.c) */
    sum = sum + widen(v) * widen(seen_by_others(a, t, t.now + place * a.ld + k));
  }
  return sum;
}

/* Whole block: the sums of one bad right-hand side once more, by entries. A warp takes every fourth row, a lane every 32nd step. This takes
 * so long that the blocks that wait for it must see progress. */
template <typename T, typename Shape>
SPTI_DEVICE void sum_by_entries(const spti_block_solve_args &a, const block_task<T, Shape> &t, typename Shape::word *r, int column) {
  using wide = typename wide_of<T>::type;
  for (int32_t i = warp_in_block(); i < t.rows; i += BLOCK_WARPS) {
    wide sum = from_reals<wide>::make(0, 0);
    for (int32_t step = t.begin; step < t.end; step += 32) {
      if (step + lane() < t.end) sum = entries_of_step(a, t, step + lane(), i, t.k + column, sum);
      if ((step - t.begin) % (32 * STEPS_OF_NEWS) == 0 && lane() == 0) report_progress(a.sync);
    }
#pragma unroll
    for (int by = 16; by > 0; by /= 2) sum = sum + shfl(sum, lane() ^ by);
    if (lane() != 0) continue;
    const wide b = widen(read_rhs<T>(a.between, row_of_place(a, t.first + i), t.k + column));
    *(wide *)(r + i * Shape::ROW + column * Shape::PLANES) = b - sum;
  }
}

/* Whole warp: solves eight right-hand sides by substitution; r becomes x. Lane 4 c + l has column c, and of each row the entries l, l + 4,
 * ... */
template <typename T, typename Shape>
SPTI_DEVICE void substitute(const spti_block_solve_args &a, const block_task<T, Shape> &t, typename Shape::word *r, int column) {
  using wide = typename wide_of<T>::type;
  const T *triangle = (const T *)a.panels.triangle + int64_t(t.diagonal) * SPTI_BLOCK_TILE;
  wide *x = (wide *)(r + column * Shape::PLANES);
  constexpr int ROW = Shape::ROW / Shape::PLANES;
  for (int32_t i = 0; i < t.rows; i++) {
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

/* Whole block: r, with the sums of bad right-hand sides taken anew by entries, becomes the solutions, in f64, by substitution. */
template <typename T, typename Shape>
SPTI_DEVICE void solve_by_entries(const spti_block_solve_args &a, const block_task<T, Shape> &t, typename Shape::word *r) {
  if constexpr (sizeof(typename Shape::number) == 4) {
    for (int i = thread_in_block(); i < SPTI_BLOCK_ROWS * Shape::ROW; i += BLOCK_THREADS) *(double *)(r + i) = value_of(r[i]);
    syncthreads();
  }
  for (int k = 0; k < Shape::COLUMNS && t.shared->some_bad; k++)
    if (t.shared->bad[k]) sum_by_entries(a, t, r, k);
  syncthreads();
  for (int tile = warp_in_block(); tile < Shape::TILES; tile += BLOCK_WARPS) substitute(a, t, r, 8 * tile + lane() / 4);
  syncthreads();
}

/* Lane by lane: marks the right-hand sides that put_good did not publish. */
template <typename T, typename Shape>
SPTI_DEVICE void mark_bad(const block_task<T, Shape> &t, typename Shape::word *r, typename Shape::sums &x) {
  for_rows(t, x, r, [&](auto *, auto &sum, int k) { mark_if_bad(t, k, sum); });
  t.shared->some_bad = 1;
}

/* ---- the kernel ---- */

/* Whole block: from the sums over the far columns, which are in the warps' registers, to solutions that are published and written; no
 * solutions where a dependency is lost. near: chunks of near columns, of which values has loaded the first. */
template <typename T, typename Shape>
SPTI_DEVICE void solve_panel(const spti_block_solve_args &a, const block_task<T, Shape> &t, int32_t near, typename Shape::word *buffers,
                             block_values<T, Shape> &values, typename Shape::sums &sums) {
  /* r takes the place of the last chunk but one, which no warp needs any more; if one chunk has no room for it, that of both. */
  constexpr bool FITS = Shape::CHUNK >= SPTI_BLOCK_ROWS;
  const bool owns = t.works() && t.part == 0, multiplies = owns && t.flags != SPTI_BLOCK_SUBSTITUTE;
  const int32_t refined = spti_block_refined_strips(t.flags);
  const int32_t far = t.chunks() - near;
  typename Shape::word *r = buffer_of<Shape>(buffers, FITS ? far : 0), *q = buffer_of<Shape>(buffers, far + 1);
  block_near<T, Shape> products(a, t, near);
  if (!FITS || far == 0) syncthreads();
  if (refined > 0) {
    multiply_and_refine(a, t, inverse_in<T, Shape>(buffers), r, q, sums, multiplies, multiplies && t.strip < refined);
    if (multiplies && near > 0) products.fetch(near);
  } else {
    if (multiplies) {
      products.fetch(near);
      products.announce(near);
    }
    gather_sums(t, r, sums);
    if (multiplies) multiply_once(t, inverse_in<T, Shape>(buffers), r, sums);
  }
  const block_target<T, Shape> target(a, t);
  if (near > 0) {
    if (!FITS) syncthreads();
    if (!take_near_columns(a, t, far, FITS ? far + 1 : 0, buffers, values, products, multiplies, sums)) return;
  }
  if (multiplies && !target.put_good(sums)) mark_bad(t, r, sums);
  syncthreads(); /* nobody needs the columns any more */
  if (t.shared->some_bad || t.flags == SPTI_BLOCK_SUBSTITUTE) {
    solve_by_entries(a, t, r);
    if (owns) {
      for_rows(t, sums, r,
               [&](auto *word, auto &sum, int) { sum = multiplies && is_good(sum) ? sum : typename Shape::number(*(const double *)word); });
      target.put(sums);
    }
  }
  if (owns) write_strip(a, t, sums);
}

/* Whole block: fills its rows and columns of the other work block with sentinels. */
template <typename T, typename Shape>
SPTI_DEVICE void refill(const spti_block_solve_args &a, const block_task<T, Shape> &t, const two_blocks<T> &blocks) {
  const int32_t end = blocks.fill_end(t.k + Shape::COLUMNS, a.between.width);
  const int32_t words = (end - t.k) * Shape::PLANES; /* may be 0 or negative */
  constexpr int LANES = Shape::WORDS / 2;
  using real = typename Shape::real;
  for (int32_t row = thread_in_block() / LANES; row < t.rows; row += BLOCK_THREADS / LANES) {
    real *at = (real *)(blocks.other + (t.first + row) * a.ld + t.k);
    for (int32_t w = thread_in_block() % LANES * 2; w < words; w += Shape::WORDS) {
      if (w + 1 < words) store_once((two<real> *)(at + w), {sentinel<real>(), sentinel<real>()});
      else store_once(at + w, sentinel<real>());
    }
  }
}

template <typename T, typename Shape> SPTI_KERNEL_RESIDENT(BLOCK_THREADS, Shape::RESIDENT) block_solve_kernel(spti_block_solve_args a) {
  SPTI_DYNAMIC_SHARED(typename Shape::word, buffers);
  SPTI_SHARED(block_shared, shared, 1);
  if (thread_in_block() == 0) {
    shared->word = a.together ? draw_ticket_behind(a.sync, a.first_ticket) : draw_ticket(a.sync, a.between.width);
    shared->lost_at = INT32_MAX;
    shared->some_bad = 0;
  }
  if (thread_in_block() < Shape::COLUMNS) shared->bad[thread_in_block()] = 0;
  syncthreads();
  const int32_t word = shared->word;
  const two_blocks<T> blocks(a.sync, a.work, a.panels.n * a.ld, word);
  block_task<T, Shape> t(a, word, shared, blocks.now);
  t.flags = load_const(a.panels.flags + t.panel);
  const bool apart = t.flags & (SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART);
  const int32_t near = !apart && a.panels.near ? chunks_of<Shape>(spti_block_near(t.end - t.begin)) : 0;
  const int32_t far = t.chunks() - near;
  typename Shape::sums sums;
  block_values<T, Shape> values(a, t);
  block_tiles<T, Shape> tiles;
  ask_for_columns(a, t, far, values, tiles);
  if (t.flags != SPTI_BLOCK_SUBSTITUTE) fetch_inverse(a, t, inverse_in<T, Shape>(buffers));
  start_sums(a, t, sums);
  refill(a, t, blocks); /* while these loads are under way */
  if (!take_columns(a, t, far, buffers, values, tiles, sums)) return;
  solve_panel(a, t, near, buffers, values, sums);
}

template <typename T, int Tiles, typename Number = double> int launch_block(const spti_block_solve_args *a, void *stream) {
  if constexpr (sizeof(real_of<T>) < sizeof(Number))
    if (a->single) return launch_block<T, Tiles, real_of<T>>(a, stream);
  using shape = block_shape<T, Tiles, Number>;
  const int64_t blocks = int64_t(a->panels.count) * block_tiles_of<shape>(*a);
  const size_t shared = shape::ROOM * shape::ROW * sizeof(typename shape::word) + BLOCK_INVERSE_TILES * SPTI_BLOCK_TILE * sizeof(T);
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
