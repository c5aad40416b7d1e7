/* interleaved_kernels.cu -- solves all items of a uniform batch: one pattern, values interleaved by item.
 *
 * A thread block solves a group of G items for a panel of columns: first pass, all triangles and D, last pass. Its work block x, of n rows
 * by the columns of the panel by G items, is in shared memory where that fits. Level sets are solved one after another with a barrier in
 * between; a run of levels that one warp can solve at once is left to the first warp, without barriers of the block. A lane has an item,
 * so that indices are the same for G lanes, and values and x are neighbours.
 *
 * The entries of a row are added up in four sums by four lanes, entry e in sum e % 4, and the result is b - ((s0 + s1) + (s2 + s3)). So the
 * bits of an item depend on the pattern and its own values alone: not on other items, G, the panel, or the size of a thread block. */
#include "core/batch/gpu/interleaved_kernels.h"

#include "core/batch/gpu/item_blocks.cuh"
#include "core/device/diagonal_pair.cuh"

namespace spti {

typedef spti_batch_solve_args solve_args;
typedef spti_batch_stage stage;

enum { SUMS = 4 };

/* x: plain accesses in shared memory. */
template <bool Shared, typename T> SPTI_DEVICE T x_load(const T *p) {
  if constexpr (Shared) return *p;
  else return load(p);
}
template <bool Shared, typename T> SPTI_DEVICE void x_store(T *p, T v) {
  if constexpr (Shared) *p = v;
  else store(p, v);
}

/* What a thread block works on. */
template <typename T> struct work_unit {
  T *x;              /* element (row, column, item) at ((row << log_panel) + column << log_group) + item */
  int64_t group;     /* of items */
  int64_t first_rhs; /* column 0 of x */
};

/* ---- first and last pass ---- */

/* The share of a thread in a pass: one item, and for it columns k0 + k and rows from row on, in steps. Lanes run along the columns of
 * row-major blocks first, then along the items, then along the rows, so that each item's accesses fill a sector. */
struct pass_share {
  int item, k, log_k, row, row_step;
};
SPTI_DEVICE pass_share share_of(const solve_args &a, const spti_batch_end &e) {
  const int log_k = e.place.row_major ? (a.log_panel < 2 ? a.log_panel : 2) : 0, thread = thread_in_block(), shift = log_k + a.log_group;
  if (threads_per_block() >> shift == 0)
    return {thread & ((1 << a.log_group) - 1), 0, 0, thread >> a.log_group, threads_per_block() >> a.log_group};
  return {(thread >> log_k) & ((1 << a.log_group) - 1), thread & ((1 << log_k) - 1), log_k, thread >> shift, threads_per_block() >> shift};
}

/* The scale factor of an item's row 0; the next row's is G elements on. */
SPTI_DEVICE const double *scale_of(const solve_args &a, const spti_batch_end &e, int64_t group, int item) {
  return e.scale ? e.scale + ((group * a.n) << a.log_group) + item : nullptr;
}

/* Element (row i, column k, item) of x. */
template <typename T> SPTI_DEVICE T *x_at(const solve_args &a, const work_unit<T> &u, int64_t i, int k, int item) {
  return u.x + (((i << a.log_panel) + k) << a.log_group) + item;
}

enum { ROWS_AT_ONCE = 4 }; /* loads of a thread that are on their way together */

template <typename T> SPTI_DEVICE void read_rows(T (&v)[ROWS_AT_ONCE], const T *column, int64_t row_stride, int row, int step, int n) {
#pragma unroll
  for (int r = 0; r < ROWS_AT_ONCE; r++) {
    const int i = row + r * step;
    v[r] = column && i < n ? load(column + i * row_stride) : from_reals<T>::make(0, 0);
  }
}

template <typename T, bool Shared>
SPTI_DEVICE void store_rows(const solve_args &a, const work_unit<T> &u, T (&v)[ROWS_AT_ONCE], const pass_share &s, int row, int k) {
  const double *scale = scale_of(a, a.from, u.group, s.item);
#pragma unroll
  for (int r = 0; r < ROWS_AT_ONCE; r++) {
    const int i = row + r * s.row_step;
    if (i >= a.n) continue;
    v[r] = times_alpha(a.alpha, v[r]);
    if (scale) v[r] = scale_by(v[r], load_const(scale + (int64_t(i) << a.log_group)), a.from.divide != 0);
    x_store<Shared>(x_at(a, u, a.from.map ? load_const(a.from.map + i) : i, k, s.item), v[r]);
  }
}

template <typename T, bool Shared> SPTI_DEVICE void first_pass(const solve_args &a, const work_unit<T> &u) {
  const pass_share s = share_of(a, a.from);
  const int64_t item = (u.group << a.log_group) + s.item;
  const int32_t width = item_width(a.items, item, u.first_rhs, 1 << a.log_panel);
  const item_block<T> b = width == 0 ? item_block<T>{} : block_of<T>(a.items, a.from.place, item, u.first_rhs);
  for (int k = s.k; k < 1 << a.log_panel; k += 1 << s.log_k)
    for (int row = s.row; row < a.n; row += ROWS_AT_ONCE * s.row_step) {
      T v[ROWS_AT_ONCE];
      read_rows(v, k < width ? b.data + k * b.column_stride : nullptr, b.row_stride, row, s.row_step, a.n);
      store_rows<T, Shared>(a, u, v, s, row, k);
    }
}

template <typename T, bool Shared> SPTI_DEVICE void last_pass(const solve_args &a, const work_unit<T> &u) {
  const pass_share s = share_of(a, a.to);
  const int64_t item = (u.group << a.log_group) + s.item;
  const int32_t width = item_width(a.items, item, u.first_rhs, 1 << a.log_panel);
  if (width == 0) return;
  const item_block<T> x = block_of<T>(a.items, a.to.place, item, u.first_rhs);
  const double *scale = scale_of(a, a.to, u.group, s.item);
  for (int k = s.k; k < width; k += 1 << s.log_k)
    for (int i = s.row; i < a.n; i += s.row_step) {
      T v = x_load<Shared>(x_at(a, u, a.to.map ? load_const(a.to.map + i) : i, k, s.item));
      if (scale) v = scale_by(v, load_const(scale + (int64_t(i) << a.log_group)), a.to.divide != 0);
      store(x.data + i * x.row_stride + k * x.column_stride, v);
    }
}

/* ---- triangles ---- */

/* Four lanes solve a row for C columns of one item: lane `part` adds up the entries part, part + 4, ... What does not depend on x (the row,
 * its diagonal and its first entries) is fetched before the barrier in front of the row's level. */
template <typename T, int C, bool Shared> struct row_task {
  enum { AT_ONCE = sizeof(T) > 8 ? 4 : 8 }; /* entries of a lane whose loads are on their way together */
  int row, next, end;                       /* next: the first entry of this lane that is not fetched */
  bool mine;
  T *x; /* of row 0, at this task's first column */
  divisor<T> d;
  int column[AT_ONCE];
  T value[AT_ONCE];

  SPTI_DEVICE void fetch_entries(const solve_args &a, const stage &s, int64_t group) {
    const T *val = (const T *)s.val + ((group * s.entries) << a.log_group) + (lane() & ((1 << a.log_group) - 1));
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      const int q = next + j * SUMS;
      column[j] = q < end ? load_const(s.column + q) : -1;
      value[j] = q < end ? load_const(val + (int64_t(q) << a.log_group)) : from_reals<T>::make(0, 0);
    }
    next += AT_ONCE * SUMS;
  }

  /* Task `task` of a level with rows at the places [first, last), if there is one. */
  SPTI_DEVICE void fetch(const solve_args &a, const stage &s, const work_unit<T> &u, int first, int last, int task) {
    const int item = lane() & ((1 << a.log_group) - 1), part = (lane() >> a.log_group) % SUMS, log_chunks = a.log_panel - (C == 4 ? 2 : 0);
    const int place = first + (task >> log_chunks);
    mine = place < last;
    next = end = 0;
    if (!mine) return;
    row = load_const(s.row + place);
    next = load_const(s.start + place) + part;
    end = load_const(s.start + place + 1);
    x = u.x + (((task & ((1 << log_chunks) - 1)) * C) << a.log_group) + item;
    fetch_entries(a, s, u.group);
    const T *diag = (const T *)s.diag + ((u.group * a.n + row) << a.log_group) + item;
    d.set(s.diag ? conj_if(s.conj != 0, load_const(diag)) : one<T>());
  }

  SPTI_DEVICE void add_entries(const solve_args &a, bool conj, T (&sum)[C]) const {
#pragma unroll
    for (int j = 0; j < AT_ONCE; j++) {
      if (column[j] < 0) continue;
      const T *from = x + (int64_t(column[j]) << (a.log_panel + a.log_group));
#pragma unroll
      for (int c = 0; c < C; c++) sum[c] = multiply_add(conj_if(conj, value[j]), x_load<Shared>(from + (c << a.log_group)), sum[c]);
    }
  }

  /* Whole warp. */
  SPTI_DEVICE void solve(const solve_args &a, const stage &s, int64_t group) {
    T sum[C];
#pragma unroll
    for (int c = 0; c < C; c++) sum[c] = from_reals<T>::make(0, 0);
    if (mine) add_entries(a, s.conj != 0, sum);
    while (next < end) {
      fetch_entries(a, s, group);
      add_entries(a, s.conj != 0, sum);
    }
#pragma unroll
    for (int c = 0; c < C; c++) {
      const T pair = sum[c] + shfl(sum[c], lane() ^ (1 << a.log_group)), total = pair + shfl(pair, lane() ^ (2 << a.log_group));
      if (!mine || (lane() >> a.log_group) % SUMS != 0) continue;
      T *at = x + (int64_t(row) << (a.log_panel + a.log_group)) + (c << a.log_group);
      const T rest = x_load<Shared>(at) - total;
      x_store<Shared>(at, s.diag ? d.divide(rest) : rest);
    }
  }
};

/* The rows at the places [first, last), by all warps, or by the first one alone if it has lanes for all of them. */
struct level_rows {
  int first, last;
  bool narrow;
};

template <typename T, int C, bool Shared> SPTI_DEVICE void solve_triangle(const solve_args &a, const stage &s, const work_unit<T> &u) {
  const int log_chunks = a.log_panel - (C == 4 ? 2 : 0), slots = (32 >> a.log_group) / SUMS;
  const int slot = (lane() >> a.log_group) / SUMS, warp = warp_in_block();
  row_task<T, C, Shared> task;
  level_rows now = {0, 0, false}, after = now;
  for (int l = -1; l < s.levels; l++) {
    const int tasks = (now.last - now.first) << log_chunks, step = slots * (now.narrow ? 1 : warps_per_block());
    for (int base = warp * slots; base < tasks && (!now.narrow || warp == 0); base += step) {
      if (base != warp * slots) task.fetch(a, s, u, now.first, now.last, base + slot);
      task.solve(a, s, u.group);
    }
    if (l + 1 < s.levels) {
      after = {now.last, load_const(s.level + l + 2), false};
      after.narrow = (after.last - after.first) << log_chunks <= slots;
      task.fetch(a, s, u, after.first, after.last, warp * slots + slot);
    }
    if (now.narrow && after.narrow && l + 1 < s.levels) syncwarp();
    else if (l >= 0 && !left_out(protocol_step::level_barrier)) syncthreads();
    now = after;
  }
}

/* ---- D ---- */

template <typename T, bool Shared> SPTI_DEVICE void apply_diagonal(const solve_args &a, const stage &s, const work_unit<T> &u) {
  const int item = thread_in_block() & ((1 << a.log_group) - 1), step = threads_per_block() >> a.log_group;
  const diagonal_op op = {s.transpose != 0, s.conj != 0, s.hermitian != 0};
  const int64_t from = ((u.group * a.n) << a.log_group) + item, next = int64_t(1) << (a.log_panel + a.log_group);
  const T *diag = (const T *)s.diag + from, *sub = s.sub ? (const T *)s.sub + from : nullptr;
  for (int i = thread_in_block() >> a.log_group; i < a.n; i += step) {
    if (sub && i > 0 && !is_zero(load_const(sub + (int64_t(i - 1) << a.log_group)))) continue; /* second row of a pair */
    const T below = sub && i + 1 < a.n ? load_const(sub + (int64_t(i) << a.log_group)) : from_reals<T>::make(0, 0);
    const T own = load_const(diag + (int64_t(i) << a.log_group));
    T *x = u.x + (int64_t(i) << (a.log_panel + a.log_group)) + item;
    if (is_zero(below)) {
      divisor<T> d;
      d.set(conj_if(op.conj, own));
      for (int k = 0; k < 1 << a.log_panel; k++, x += 1 << a.log_group) x_store<Shared>(x, d.divide(x_load<Shared>(x)));
      continue;
    }
    const diagonal_pair<T> pair(own, load_const(diag + (int64_t(i + 1) << a.log_group)), below, op);
    for (int k = 0; k < 1 << a.log_panel; k++, x += 1 << a.log_group) {
      T x0 = x_load<Shared>(x), x1 = x_load<Shared>(x + next);
      pair.solve(x0, x1);
      x_store<Shared>(x, x0);
      x_store<Shared>(x + next, x1);
    }
  }
  syncthreads();
}

/* ---- the kernel ---- */

template <typename T, int C, bool Shared> SPTI_KERNEL(SPTI_BATCH_THREADS_MOST) batch_solve_kernel(solve_args a) {
  SPTI_DYNAMIC_SHARED(T, shared_x);
  const int64_t panels = ((a.items.nrhs - 1) >> a.log_panel) + 1, first_group = a.items.first >> a.log_group;
  const int64_t units = (((a.items.first + a.items.count - 1) >> a.log_group) + 1 - first_group) * panels;
  for (int64_t unit = block_in_grid(); unit < units; unit += blocks_per_grid()) {
    work_unit<T> u = {shared_x, first_group + unit / panels, (unit % panels) << a.log_panel};
    if constexpr (!Shared) u.x = (T *)a.work + ((int64_t(block_in_grid()) * a.n) << (a.log_panel + a.log_group));
    first_pass<T, Shared>(a, u);
    syncthreads();
    for (int i = 0; i < a.stage_count; i++) {
      if (a.stages[i].is_diagonal) apply_diagonal<T, Shared>(a, a.stages[i], u);
      else solve_triangle<T, C, Shared>(a, a.stages[i], u);
    }
    last_pass<T, Shared>(a, u);
    syncthreads();
  }
}

} // namespace spti

extern "C" int spti_batch_solve_launch(const spti_batch_solve_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const size_t shared = a->work ? 0 : (size_t(a->n) << (a->log_panel + a->log_group)) * sizeof(T);
    if (a->log_panel >= 2)
      return a->work ? SPTI_LAUNCH((batch_solve_kernel<T, 4, false>), a->blocks, a->threads, shared, stream, *a)
                     : SPTI_LAUNCH((batch_solve_kernel<T, 4, true>), a->blocks, a->threads, shared, stream, *a);
    return a->work ? SPTI_LAUNCH((batch_solve_kernel<T, 1, false>), a->blocks, a->threads, shared, stream, *a)
                   : SPTI_LAUNCH((batch_solve_kernel<T, 1, true>), a->blocks, a->threads, shared, stream, *a);
  });
}
