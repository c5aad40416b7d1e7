/* block_kernels.cu -- order=block: syncfree-csr with 32 consecutive rows for each thread block, for factors, whose neighbouring rows
 * depend on each other.
 *
 * x(r) = (b(r) - sum over columns before the block - sum over columns in the block) / t(r,r).
 * All warps of a block but the last add up the first sums, with s lanes for each row, and wait for values in global memory. The last
 * warp, with one lane for each row, has the entries within the block in shared memory. It takes the columns of the block in order: the
 * lane of the row with that number has its x, all lanes get it by a shuffle, and each adds its product. So a dependency within the block
 * costs some tens of instructions instead of a round trip through global memory. Columns without entries in the block are skipped, and
 * the x of a row is published as soon as it is known.
 * Source: the two levels of [liu2017syncfree] Algorithm 3, for pull and with dense blocks. Differs: no atomics. Deterministic. */
#include "trsv/syncfree_csr/natural.cuh"

namespace spti {

enum { BLOCK_ROWS = SPTI_CSR_BLOCK_ROWS, BLOCK_THREADS = 32 * (SPTI_CSR_BLOCK_LANES + 1), BLOCK_PITCH = BLOCK_ROWS + 1 };

/* The guard that bounds a wait is called once in this many turns, because a turn is short. */
enum { TURNS_PER_GUARD = 16 * SHARED_POLLS };

/* Shared memory of a thread block. */
template <typename T> struct block_share {
  T *coefficient;  /* [BLOCK_ROWS * BLOCK_PITCH]: entry (r, c) at c * BLOCK_PITCH + r; undefined where there is none */
  T *sum;          /* [BLOCK_ROWS]: the sum over the columns before the block, or the sentinel */
  int32_t *inside; /* [BLOCK_ROWS]: bit c: row r has an entry in column c of the block */
};

/* Publishes the outer sum of a row, over the columns before the block, for sum_rows. */
template <typename T> struct outer_sum {
  T *to;
  SPTI_DEVICE void prepare(bool) {}
  SPTI_DEVICE void finish(T sum) { publish_shared(to, sum); }
};

/* Whole warp: writes the entries of a row within the block, the last ones in solve order, to shared memory. Returns their number. */
template <typename T>
SPTI_DEVICE int32_t share_inner_entries(const natural_rows<T> &rows, const row_task<int64_t> &task, lane_groups lanes, int64_t first,
                                        int32_t r, const block_share<T> &share) {
  int32_t inside = 0;
  for (int32_t back = lanes.member() + 1; back < BLOCK_ROWS && back <= task.length; back += lanes.size()) {
    const int64_t column = rows.position_of(rows.source(task, uint32_t(task.length - back))) - first;
    if (column < 0) break;
    shared_store(share.coefficient + column * BLOCK_PITCH + r, rows.value(task, uint32_t(task.length - back)));
    inside |= int32_t(1u << column);
  }
  for (int32_t distance = lanes.size() / 2; distance > 0; distance /= 2) inside |= shfl(inside, lane() ^ distance);
  if (lanes.member() == 0) shared_store(share.inside + r, inside);
  return popcount(uint32_t(inside));
}

SPTI_DEVICE uint32_t union_of_warp(uint32_t lanes) {
  for (int distance = 16; distance > 0; distance /= 2) lanes |= uint32_t(shfl(int32_t(lanes), lane() ^ distance));
  return lanes;
}

/* The last warp, one lane for each row: solves the triangle within the block. pending: the columns still to be taken. */
template <typename T>
SPTI_DEVICE void solve_inner(const spti_syncfree_csr_args &a, const row_solution<T, natural_rows<T>> &mine, const block_share<T> &share) {
  const uint32_t inside = uint32_t(load(share.inside + lane())), rows = ballot(mine.task.mine);
  const T *coefficient = share.coefficient + lane(); /* entry is loaded from it for the next column to be taken */
  uint32_t pending = union_of_warp(inside), done = ~rows;
  int column = pending ? first_lane(pending) : 0;
  T outer = sentinel<T>(), inner = from_reals<T>::make(0, 0), x = inner, entry = load(coefficient + column * BLOCK_PITCH);
  spin_guard guard;
  guard.start();
  for (uint32_t turn = 1; ~done; turn++) {
    if (is_sentinel(outer)) outer = shared_load_relaxed(share.sum + lane());
    const bool known = (done >> lane() & 1u) == 0 && (inside & pending) == 0 && !is_sentinel(outer);
    if (known) x = mine.value(outer + inner);
    const uint32_t now = ballot(known);
    done |= now;
    const bool step = pending != 0 && (done >> column & 1u) != 0;
    if (step) {
      const T other = shfl(x, column);
      if (inside >> column & 1u) inner = inner + entry * other;
      pending &= pending - 1;
      column = pending ? first_lane(pending) : 0;
      entry = load(coefficient + column * BLOCK_PITCH);
    }
    if (known) mine.give(x);
    if (step || now) guard.progress();
    else if (turn % TURNS_PER_GUARD == 0 && !keep_waiting(&guard, a.sync, ~done, mine.task.row)) return;
  }
}

template <typename T> SPTI_KERNEL_RESIDENT(BLOCK_THREADS, sizeof(T) < 16 ? 2 : 1) syncfree_csr_block_kernel(spti_syncfree_csr_args a) {
  SPTI_SHARED(T, coefficient, BLOCK_ROWS * BLOCK_PITCH);
  SPTI_SHARED(T, sum, BLOCK_ROWS);
  SPTI_SHARED(int32_t, inside, BLOCK_ROWS);
  const drawn_block<T> drawn(a);
  const int64_t item = drawn.number, b = item / a.transfer.width, first = b * BLOCK_ROWS;
  const int32_t k = int32_t(item - b * a.transfer.width);
  const block_share<T> share = {coefficient, sum, inside};
  const natural_rows<T> rows = {a};
  if (warp_in_block() == a.lanes) {
    const row_task<int64_t> task = rows.row_at_position(first + lane());
    row_solution<T, natural_rows<T>> mine = {a, rows, task, drawn.work, drawn.work.now + k * a.stride, k, {}, {}, false};
    mine.prepare(task.mine);
    clear_shared(sum + lane());
    syncwarps_apart();
    solve_inner(a, mine, share);
    return;
  }
  const lane_groups lanes = {log_of(a.lanes)};
  const int32_t r = warp_in_block() * (32 >> lanes.log) + lanes.group();
  row_task<int64_t> task = rows.row_at_position(first + r);
  task.length -= share_inner_entries(rows, task, lanes, first, r, share);
  syncwarps_apart();
  outer_sum<T> result = {sum + r};
  sum_rows<SPTI_CSR_BATCH, false>(a, rows, task, lanes, -1, static_cast<const T *>(drawn.work.now + k * a.stride), &result);
}

template <typename T> static int launch_block(const spti_syncfree_csr_args *a, void *stream) {
  const int64_t blocks = (int64_t(a->n) + BLOCK_ROWS - 1) / BLOCK_ROWS * a->transfer.width;
  return SPTI_LAUNCH(syncfree_csr_block_kernel<T>, blocks, 32 * (a->lanes + 1), 0, stream, *a);
}

} // namespace spti

extern "C" int spti_syncfree_csr_block_launch(const spti_syncfree_csr_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->dtype, [&](auto tag) { return launch_block<typename decltype(tag)::type>(a, stream); });
}
