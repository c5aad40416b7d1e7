/* kernels.cu -- the kernels of levelset on a GPU: runs of narrow levels in one thread block, wide levels by the whole device.
 * Rows stand in level order; the place of a row is its position there, and solutions are stored by place:
 *   x[t] = (b[row[t]] - sum over the entries p of row t of val[p] x[from[p]]) / diag[t].
 *
 * A run is solved in chunks of 32 rows. While the first warp of the block, the solver, solves chunk c, the other warps, the feeders,
 * prepare chunk c + 1. The entries whose columns stand before chunk c, nearly all entries in deep problems, are far: their solutions are
 * final, so the feeders multiply and sum them. The other entries are near: the feeders write them to a dense tile of 64 columns by 32
 * rows. After a block barrier the solver finds all it needs in shared memory. It multiplies the first half of the tile by the solution
 * of chunk c, and solves the triangle in the second half by columns, with one lane for each row: x_r, then acc_i -= T_ir x_r for all
 * rows i at once. So each row adds a division, two products and part of a shuffle to the critical path, whatever its length, and no
 * barrier.
 *
 * A wide level is one launch without any waiting: 1 to 32 lanes for each row, and a thread block for each row that is too long for that.
 * Source: [anderson1989], [saltz1990]; fusing narrow levels as in algorithm 2 of [lu2023tile]; the tile is new here. Deterministic. */
#include "core/device/device.cuh"
#include "core/device/transfer.cuh"
#include "trsv/levelset/gpu/kernels.h"

namespace spti {

enum { CHUNK = SPTI_LEVELSET_GPU_CHUNK, PITCH = CHUNK + 1 /* no bank conflicts */, AHEAD = 4, BATCH = 4, WIDE_THREADS = 256, TOGETHER = 4 };

template <typename T> SPTI_DEVICE T sum_of_lanes(T v, int lanes) {
  for (int step = lanes / 2; step > 0; step /= 2) v = v + shfl(v, lane() ^ step);
  return v;
}

template <typename T> SPTI_DEVICE T *solution_of(const spti_levelset_gpu_rows &a, int64_t k) { return static_cast<T *>(a.x) + k * a.pitch; }

/* ---- runs of narrow levels ---- */

/* A chunk as the feeders prepare it for the solver. */
template <typename T> struct prepared_chunk {
  T near[2 * CHUNK * PITCH]; /* row i, column j at j * PITCH + i: columns of the previous chunk, then of this one; 0: no entry */
  T rest[CHUNK];             /* the right-hand side minus the products of far entries */
  divisor<T> pivot[CHUNK];
};

/* Stored zeros become -0, so that they can be told from places of the tile without an entry, which are +0. A stored zero times NaN or
 * Inf must give NaN, a place without an entry must give nothing. */
template <typename R> SPTI_DEVICE R mark_zero(R v) { return v == 0 ? R(-0.0) : v; }
template <typename R> SPTI_DEVICE complex_t<R> mark_zero(complex_t<R> v) { return {is_zero(v) ? R(-0.0) : v.re, v.im}; }
SPTI_DEVICE bool is_entry(float v) { return float_bits(v) != 0; }
SPTI_DEVICE bool is_entry(double v) { return double_bits(v) != 0; }
template <typename R> SPTI_DEVICE bool is_entry(complex_t<R> v) { return is_entry(v.re) || v.im != 0; }

template <typename T> SPTI_DEVICE bool is_finite(T v) { return is_zero(v - v); }

/* Solves the chunk once more where the quick way cannot be trusted: with division for the full range of numbers, and with products of
 * stored entries only, because 0 times Inf would be NaN. */
template <typename T> SPTI_DEVICE T solve_with_care(const prepared_chunk<T> &c, const T *before, bool has_before) {
  const T *column = c.near + lane();
  T acc = c.rest[lane()];
  for (int j = 0; has_before && j < CHUNK; j++)
    if (is_entry(column[j * PITCH])) acc = acc - column[j * PITCH] * before[j];
  for (int r = 0; r < CHUNK; r++) {
    const T x = shfl(c.pivot[lane()].divide(acc), r), t = column[(CHUNK + r) * PITCH];
    if (is_entry(t)) acc = acc - t * x;
  }
  return c.pivot[lane()].divide(acc);
}

/* x: in, the sums of rows first to first + TOGETHER - 1 of the triangle; out, their solutions. */
template <typename T> SPTI_DEVICE void solve_few_rows(T *x, const prepared_chunk<T> &c, const T *triangle, int first) {
#pragma unroll
  for (int i = 0; i < TOGETHER; i++) {
    x[i] = c.pivot[first + i].quick(x[i]);
#pragma unroll
    for (int below = i + 1; below < TOGETHER; below++) x[below] = x[below] - triangle[(first + i) * PITCH + first + below] * x[i];
  }
}

/* acc minus the products of all columns before `last` with their solutions. It takes TOGETHER columns at a time, whose small triangle
 * every lane solves for itself, so that one round of shuffles is enough for them. */
template <typename T> SPTI_DEVICE T subtract_columns(T acc, const prepared_chunk<T> &c, int last) {
  const T *triangle = c.near + CHUNK * PITCH;
#pragma unroll
  for (int first = 0; first < CHUNK; first += TOGETHER)
    if (first < last) {
      T x[TOGETHER];
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) x[i] = shfl(acc, first + i);
      solve_few_rows(x, c, triangle, first);
#pragma unroll
      for (int i = 0; i < TOGETHER; i++) acc = acc - triangle[(first + i) * PITCH + lane()] * x[i];
    }
  return acc;
}

/* Solver warp: the solution of the lane's row. */
template <typename T>
SPTI_DEVICE T solve_chunk(const prepared_chunk<T> &c, const T *before, bool has_before, uint32_t level_starts, bool used) {
  const T *column = c.near + lane();
  const divisor<T> pivot = c.pivot[lane()];
  T acc = c.rest[lane()];
  if (has_before) {
    T sum[4] = {};
#pragma unroll
    for (int j = 0; j < CHUNK; j++) sum[j % 4] = sum[j % 4] + column[j * PITCH] * before[j];
    acc = acc - ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
  acc = subtract_columns(acc, c, last_lane(level_starts | 1u)); /* no row of the chunk depends on its last level */
  const T x = pivot.quick(acc);
  if (any(used && !(pivot.quick_holds(acc) && is_finite(x)))) return solve_with_care(c, before, has_before);
  return x;
}

template <typename T>
SPTI_DEVICE void solve_run(const spti_levelset_gpu_run_args &a, int64_t k, const prepared_chunk<T> *prepared, T *before) {
  const int chunks = (a.rows.last - a.rows.first + CHUNK - 1) / CHUNK;
  const spti_end &to = a.rows.transfer.to;
  int32_t starts = load_const(a.level_starts);
  syncwarps_apart();
  for (int c = 0; c < chunks; c++) {
    const int32_t place = a.rows.first + CHUNK * c + lane();
    const bool used = place < a.rows.last;
    const int32_t next = c + 1 < chunks ? load_const(a.level_starts + c + 1) : 0;
    const int64_t row = used ? row_at(to, load_const(a.rows.row + place)) : 0; /* read before the solution is known */
    const T x = solve_chunk(prepared[c % 2], before, c > 0, uint32_t(starts), used);
    syncwarp();
    before[lane()] = x;
    if (used) {
      store(solution_of<T>(a.rows, k) + place, x);
      store(element_at<T>(to, row, k), scale_row(to, row, x));
    }
    starts = next;
    syncwarps_apart();
  }
}

/* BATCH entries of one lane: every lanes-th entry of its row from p on; from is -1 behind the end of the row. */
template <typename T> struct batch {
  int32_t from[BATCH];
  T val[BATCH];

  SPTI_DEVICE void load_entries(const spti_levelset_gpu_rows &a, int32_t p, int32_t end, int lanes) {
#pragma unroll
    for (int e = 0; e < BATCH; e++, p += lanes) {
      from[e] = p < end ? load_once(a.from + p) : -1;
      val[e] = p < end ? load_once(static_cast<const T *>(a.val) + p) : T();
    }
  }
  /* Returns the sum of val x over the far entries, whose columns stand before place near_from, and writes the near ones to the tile. */
  SPTI_DEVICE T take(const T *x, T *tile, int32_t base, int32_t near_from) const {
    T known[BATCH], sum = T();
#pragma unroll
    for (int e = 0; e < BATCH; e++) {
      known[e] = from[e] >= 0 && from[e] < near_from ? load(x + from[e]) : T();
      if (from[e] >= near_from) tile[(from[e] - base) * PITCH] = mark_zero(val[e]);
    }
#pragma unroll
    for (int e = 0; e < BATCH; e++)
      if (from[e] < near_from) sum = sum + val[e] * known[e];
    return sum;
  }
};

/* What feeder lanes read of their row in a chunk: where its entries begin and end, and its right-hand side and diagonal. */
struct row_ends {
  int32_t begin, end;

  SPTI_DEVICE void load_ends(const spti_levelset_gpu_run_args &a, int32_t place) {
    const bool used = place < a.rows.last;
    begin = used ? load_const((a.begin ? a.begin : a.rows.start) + place) : 0;
    end = used ? load_const(a.rows.start + place + 1) : 0;
  }
};
template <typename T> struct row_values {
  T b, diag;

  SPTI_DEVICE void load_values(const spti_levelset_gpu_run_args &a, int64_t k, int32_t place) {
    const bool used = place < a.rows.last;
    b = T();
    if (used) b = a.begin ? load(solution_of<T>(a.rows, k) + place) : read_rhs<T>(a.rows.transfer, load_const(a.rows.row + place), k);
    diag = used ? load_const(static_cast<const T *>(a.rows.diag) + place) : one<T>();
  }
};

/* Feeder warps. The batches of a row are loaded one ahead, and the first batch of the next chunk before the block barrier, so that the
 * loads are under way during it. Their positions (row_ends) are loaded one chunk earlier still. */
template <typename T> SPTI_DEVICE void feed_run(const spti_levelset_gpu_run_args &a, int64_t k, prepared_chunk<T> *prepared) {
  const spti_levelset_gpu_rows &rows = a.rows;
  const int lanes = a.feeders / CHUNK, thread = thread_in_block() - 32;
  const int in_chunk = thread / lanes, lane_of_row = thread % lanes;
  const int chunks = (rows.last - rows.first + CHUNK - 1) / CHUNK;
  const T *x = solution_of<T>(rows, k);
  row_ends now, next;
  row_values<T> values;
  batch<T> current;
  now.load_ends(a, rows.first + in_chunk);
  next.load_ends(a, rows.first + CHUNK + in_chunk);
  values.load_values(a, k, rows.first + in_chunk);
  current.load_entries(rows, now.begin + lane_of_row, now.end, lanes);
  for (int c = 0; c < chunks; c++) { /* the solver solves chunk c - 1 meanwhile */
    const int32_t base = rows.first + CHUNK * (c - 1), near_from = c > 0 ? base : rows.first;
    prepared_chunk<T> &to = prepared[c % 2];
    T *const tile = to.near + in_chunk;
    for (int j = lane_of_row; j < 2 * CHUNK; j += lanes) tile[j * PITCH] = T();
    syncwarp();
    T sum = T();
    for (int32_t p = now.begin + lane_of_row + BATCH * lanes; any(p < now.end); p += BATCH * lanes) {
      batch<T> ahead;
      ahead.load_entries(rows, p, now.end, lanes);
      sum = sum + current.take(x, tile, base, near_from);
      current = ahead;
    }
    sum = sum + current.take(x, tile, base, near_from);
    current.load_entries(rows, next.begin + lane_of_row, next.end, lanes);
    const T far = sum_of_lanes(sum, lanes);
    if (lane_of_row == 0) {
      to.rest[in_chunk] = values.b - far;
      to.pivot[in_chunk].set(values.diag);
    }
    values.load_values(a, k, base + 2 * CHUNK + in_chunk);
    now = next;
    next.load_ends(a, base + 3 * CHUNK + in_chunk);
    syncwarps_apart();
  }
  syncwarps_apart();
}

template <typename T> SPTI_KERNEL(SPTI_LEVELSET_GPU_FEEDERS_MAX + 32) levelset_gpu_run_kernel(spti_levelset_gpu_run_args a) {
  SPTI_DYNAMIC_SHARED(prepared_chunk<T>, prepared);
  SPTI_SHARED(T, before, CHUNK);
  const int64_t k = block_in_grid();
  a.rows.transfer = transfer_of(a.rows.transfer, a.rows.transfer_at);
  if (warp_in_block() == 0) solve_run(a, k, prepared, before);
  else feed_run(a, k, prepared);
}

/* ---- wide levels ---- */

/* A lane's part of the sum of a row: every step-th entry from p on. */
template <typename T> SPTI_DEVICE T sum_of_row(const spti_levelset_gpu_rows &a, const T *x, int32_t p, int32_t end, int32_t step) {
  const T *val = static_cast<const T *>(a.val);
  T sum = T();
  for (; p < end - (AHEAD - 1) * step; p += AHEAD * step) {
    int32_t from[AHEAD];
    T v[AHEAD];
#pragma unroll
    for (int e = 0; e < AHEAD; e++) {
      from[e] = load_once(a.from + p + e * step);
      v[e] = load_once(val + p + e * step);
    }
#pragma unroll
    for (int e = 0; e < AHEAD; e++) sum = sum + v[e] * load(x + from[e]);
  }
  for (; p < end; p += step) sum = sum + load_const(val + p) * load(x + load_const(a.from + p));
  return sum;
}

template <typename T> SPTI_DEVICE void finish_row(const spti_levelset_gpu_rows &a, int64_t k, int32_t place, T sum) {
  const int32_t row = load_const(a.row + place);
  const T x = quotient(read_rhs<T>(a.transfer, row, k) - sum, load_const(static_cast<const T *>(a.diag) + place));
  store(solution_of<T>(a, k) + place, x);
  write_solution(a.transfer, row, k, x);
}

/* Whole block: the sum over entries [p, end); the result is valid in thread 0. */
template <typename T> SPTI_DEVICE T sum_by_block(const spti_levelset_gpu_rows &a, const T *x, int32_t p, int32_t end) {
  SPTI_SHARED(T, sums, WIDE_THREADS / 32);
  const T of_warp = sum_of_lanes(sum_of_row(a, x, p + thread_in_block(), end, WIDE_THREADS), 32);
  if (lane() == 0) sums[warp_in_block()] = of_warp;
  syncthreads();
  T sum = sums[0];
  for (int w = 1; w < WIDE_THREADS / 32; w++) sum = sum + sums[w];
  return sum;
}

template <typename T> SPTI_KERNEL(WIDE_THREADS) levelset_gpu_partial_kernel(spti_levelset_gpu_run_args a) {
  const int32_t rows = a.rows.last - a.rows.first;
  const int64_t k = block_in_grid() / rows;
  const int32_t place = a.rows.first + block_in_grid() % rows;
  T *x = solution_of<T>(a.rows, k);
  a.rows.transfer = transfer_of(a.rows.transfer, a.rows.transfer_at);
  const T sum = sum_by_block<T>(a.rows, x, load_const(a.rows.start + place), load_const(a.begin + place));
  if (thread_in_block() == 0) store(x + place, read_rhs<T>(a.rows.transfer, load_const(a.rows.row + place), k) - sum);
}

/* The first blocks take the long rows, which take longest. */
template <typename T> SPTI_KERNEL(WIDE_THREADS) levelset_gpu_wide_kernel(spti_levelset_gpu_wide_args a) {
  const int64_t per_rhs = blocks_per_grid() / a.rows.transfer.width;
  a.rows.transfer = transfer_of(a.rows.transfer, a.rows.transfer_at);
  const int64_t k = block_in_grid() / per_rhs, block = block_in_grid() % per_rhs;
  if (block < a.long_count) {
    const int32_t place = load_const(a.long_rows + block);
    const T sum =
        sum_by_block<T>(a.rows, solution_of<T>(a.rows, k), load_const(a.rows.start + place), load_const(a.rows.start + place + 1));
    if (thread_in_block() == 0) finish_row(a.rows, k, place, sum);
    return;
  }
  const int64_t thread = (block - a.long_count) * WIDE_THREADS + thread_in_block();
  const int64_t place = a.rows.first + thread / a.lanes;
  bool used = place < a.rows.last;
  const int32_t begin = used ? load_const(a.rows.start + place) : 0, end = used ? load_const(a.rows.start + place + 1) : 0;
  used = used && end - begin <= SPTI_LEVELSET_GPU_LONG;
  const T own = used ? sum_of_row(a.rows, solution_of<T>(a.rows, k), begin + int32_t(thread % a.lanes), end, a.lanes) : T();
  const T sum = sum_of_lanes(own, a.lanes);
  if (used && thread % a.lanes == 0) finish_row(a.rows, k, int32_t(place), sum);
}

static int64_t blocks_of(int64_t threads) { return (threads + WIDE_THREADS - 1) / WIDE_THREADS; }

template <typename T> constexpr size_t PREPARED_BYTES = 2 * sizeof(prepared_chunk<T>);

} // namespace spti

extern "C" size_t spti_levelset_gpu_run_shared(sptrsm_dtype dtype) {
  using namespace spti;
  size_t bytes = 0;
  dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    bytes = PREPARED_BYTES<T> + CHUNK * sizeof(T);
    return 0;
  });
  return bytes;
}

extern "C" int spti_levelset_gpu_run_launch(const spti_levelset_gpu_run_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(levelset_gpu_run_kernel<T>, a->rows.transfer.width, a->feeders + 32, PREPARED_BYTES<T>, stream, *a);
  });
}

extern "C" int spti_levelset_gpu_wide_launch(const spti_levelset_gpu_wide_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t short_blocks = blocks_of(int64_t(a->rows.last - a->rows.first) * a->lanes);
  const int64_t blocks = (a->long_count + short_blocks) * a->rows.transfer.width;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(levelset_gpu_wide_kernel<T>, blocks, WIDE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_levelset_gpu_partial_launch(const spti_levelset_gpu_run_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t blocks = int64_t(a->rows.last - a->rows.first) * a->rows.transfer.width;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(levelset_gpu_partial_kernel<T>, blocks, WIDE_THREADS, 0, stream, *a);
  });
}
