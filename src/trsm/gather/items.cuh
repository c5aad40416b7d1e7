/* items.cuh -- what the kernels of gather share: tickets, work blocks, items and their terms, and the end of an item.
 *
 * x(i,:) = (b(i,:) - sum of t(i,j) x(j,:)) / t(i,i), each row by the lanes that own it. An item is a row, or a segment of a long row, for
 * a tile of right-hand sides. Solutions travel through a work block that is filled with sentinels: each word is its own flag, so that one
 * load both asks and answers (core/device/syncfree.cuh).
 *
 * Tickets hand out the items in the order of the levels, so the oldest unfinished item never waits for one that nobody works on.
 *
 * Bits. Entry e of a row goes to accumulator e mod 4, the four are added in one fixed tree, and the last entry, for which the row most
 * often waits, is subtracted last; a long row is cut by the pattern alone. So a solution has the same bits for every panel width, tile,
 * kernel and schedule.
 *
 * Refill: a solve that uses one of two work blocks fills the other with sentinels, row by row (core/two_blocks/two_blocks.cuh). */
#ifndef SPTI_TRSM_GATHER_ITEMS_CUH
#define SPTI_TRSM_GATHER_ITEMS_CUH

#include "core/device/columns.cuh"
#include "core/device/transfer.cuh"
#include "core/two_blocks/two_blocks.cuh"
#include "trsm/gather/kernels.h"

namespace spti {

enum { GATHER_SUMS = 4 }; /* accumulators of a row */

/* ---- tickets ---- */

/* The share of a thread block: `items` items from `first` on, for one tile of right-hand sides. All tiles of the same items follow each
 * other. */
struct gather_share {
  int32_t first, column; /* item, right-hand side */
  bool second;           /* the second of the work blocks is used */

  SPTI_DEVICE gather_share(const spti_gather_args &a, int32_t items) {
    SPTI_SHARED(int32_t, shared, 3);
    if (thread_in_block() == 0) {
      const int32_t word = draw_ticket(a.sync, a.between.width), number = word & INT32_MAX, group = a.tiles > 1 ? number / a.tiles : number;
      shared[0] = group * items;
      shared[1] = (number - group * a.tiles) * a.tile;
      shared[2] = word < 0;
    }
    syncthreads();
    first = shared[0];
    column = shared[1];
    second = shared[2] != 0;
  }
};

/* The column, or columns, of the work blocks that one lane has. Rows are `stride` bytes apart. */
template <typename T> struct gather_column {
  char *now, *other;
  int32_t stride;

  SPTI_DEVICE gather_column(const spti_gather_args &a, bool second, int32_t k) : stride(int32_t(a.ld) * int32_t(sizeof(T))) {
    char *const one = (char *)a.work + int64_t(k) * int64_t(sizeof(T)), *const two = one + int64_t(a.item_count) * stride;
    now = second ? two : one;
    other = second ? one : two;
  }
  SPTI_DEVICE T *at(int32_t work_row) const { return (T *)(now + int64_t(work_row) * stride); }
  SPTI_DEVICE T *refill(int32_t work_row) const { return (T *)(other + int64_t(work_row) * stride); }
};

/* The column where the refill of a tile ends: that of the tile, but the last tile also fills columns that an earlier, wider solve wrote.
 * No block of this launch writes the dirty width of the other work block, so it may come from the nearest cache: loads of it by every warp
 * from the cache line of the tickets would delay the solve. */
SPTI_DEVICE int32_t refill_end(const spti_gather_args &a, const gather_share &share) {
  const int32_t dirty = load_const(a.sync.control + SPTI_TWO_BLOCKS_DIRTY + !share.second), end = share.column + a.tile;
  return end < a.between.width && end < dirty ? end : dirty;
}

/* ---- items ---- */

/* An item of spti_gather_items. Its terms are the sums of `parts` segments, then entries of the matrix.
 * Cut: the pattern has long rows. Else item i is place i, and `parts` and `work_row` are known when the kernel is compiled. */
template <bool Cut> struct gather_item {
  int32_t index, row, work_row, begin, end, parts;

  SPTI_DEVICE bool is_part() const { return Cut && parts < 0; }
  SPTI_DEVICE int32_t sums() const { return Cut && parts > 0 ? parts : 0; }
  SPTI_DEVICE int32_t terms() const { return end - begin + sums(); }
  SPTI_DEVICE bool is_read() const { return row >= 0; }
  SPTI_DEVICE int32_t matrix_row() const { return row < 0 ? ~row : row; }
  /* Row of the work block of the row's first segment: index - place segments come before the row, and its own are the last of them. */
  SPTI_DEVICE int32_t first_part(int32_t n) const { return n + (index - work_row) - parts; }

  /* Relaxed, although nobody writes there: so the compiler keeps these loads together, before the first use of one of them. */
  SPTI_DEVICE gather_item(const spti_gather_items &items, int32_t i) : index(i) {
    begin = load_relaxed(items.begin + i);
    end = load_relaxed(items.end + i);
    parts = Cut ? load_relaxed(items.parts + i) : 0;
    work_row = Cut ? load_relaxed(items.work_row + i) : i;
    row = load_relaxed(items.row + i);
  }
};

/* Index of the entry that is term e, for e >= sums(); the entries after it follow. */
template <bool Cut> SPTI_DEVICE int64_t entry_of(const gather_item<Cut> &g, int32_t e) { return int64_t(g.begin) + (e - g.sums()); }

/* Term e + u of an item is value_of times the solution in work row from_of; entry = entry_of(g, e). */
template <bool Cut> SPTI_DEVICE int32_t from_of(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, int u, int64_t entry) {
  return Cut && e + u < g.sums() ? g.first_part(a.n) + e + u : load_const(a.from + entry + u);
}
template <typename T, bool Cut>
SPTI_DEVICE T value_of(const spti_gather_args &a, const gather_item<Cut> &g, int32_t e, int u, int64_t entry) {
  return Cut && e + u < g.sums() ? one<T>() : load_const((const T *)a.val + entry + u);
}

template <typename T> SPTI_DEVICE T add_up(const T (&sum)[GATHER_SUMS]) { return (sum[0] + sum[2]) + (sum[1] + sum[3]); }

/* ---- the ends of an item ---- */

/* Right-hand sides and diagonal of an item as they are in memory: loaded first, used after the loads of its terms. */
template <typename T, int P = 1> struct gather_loaded {
  some_columns<T, P> b;
  T diag;
  int64_t row; /* of B */

  template <bool Cut>
  SPTI_DEVICE gather_loaded(const spti_gather_args &a, const gather_item<Cut> &g, int32_t k) : b{}, diag(one<T>()), row(0) {
    if (a.diag && !g.is_part()) diag = load_const((const T *)a.diag + g.work_row);
    if (g.is_part()) return;
    row = row_at(a.between.from, g.matrix_row());
    b = load_columns<P>(element_at<T>(a.between.from, row, k));
  }
};

/* The same, scaled and prepared for the division. */
template <typename T, int P = 1> struct gather_ends {
  some_columns<T, P> b;
  divisor<T> diagonal;

  template <bool Cut> SPTI_DEVICE void make(const spti_gather_args &a, const gather_item<Cut> &g, const gather_loaded<T, P> &loaded) {
#pragma unroll
    for (int c = 0; c < P; c++) b.v[c] = g.is_part() ? loaded.b.v[c] : scale_rhs(a.between, loaded.row, loaded.b.v[c]);
    diagonal.set(loaded.diag);
  }
  /* The solution of the lane's right-hand side c: sum is that of all terms but the last, which is t x. */
  template <bool Cut> SPTI_DEVICE T solution(const spti_gather_args &a, const gather_item<Cut> &g, T sum, T t, T x, int c = 0) const {
    T v = b.v[c] - sum;
    if (g.terms() > 0) v = multiply_add(-t, x, v);
    if (g.is_part()) return -v;
    return a.diag ? diagonal.divide(v) : v;
  }
};

/* Writes the solution to X, and the sentinel to its place in the other work block. */
template <typename T, bool Cut, int P>
SPTI_DEVICE void leave(const spti_gather_args &a, const gather_item<Cut> &g, const gather_column<T> &column, int32_t k, int32_t end,
                       some_columns<T, P> v) {
  if (!g.is_part() && k < a.between.width) {
    const int64_t to_row = row_at(a.between.to, g.matrix_row());
#pragma unroll
    for (int c = 0; c < P; c++) v.v[c] = scale_row(a.between.to, to_row, v.v[c]);
    store_columns_once(element_at<T>(a.between.to, to_row, k), v);
  }
  if (!g.is_read()) return;
  T *const refilled = column.refill(g.work_row);
#pragma unroll
  for (int c = 0; c < P; c++) v.v[c] = sentinel<T>();
  for (int32_t at = 0; k + at < end; at += a.tile) store_columns_once(refilled + at, v);
}

} // namespace spti
#endif
