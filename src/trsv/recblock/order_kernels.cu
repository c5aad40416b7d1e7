/* order_kernels.cu -- the analysis of recblock on the device: entries sorted into blocks, and counts of each block's rows for the host.
 *
 *   count    length of every segment (a row's entries in one block), by the leaves of row and column
 *   mark     segments whose row has entries further left
 *   fill     entries to their segments; places and not rows as columns; stable, so that a segment keeps the solve order
 *   facts    per step: entries, rows with entries, rows to cut in chunks
 *   lists    per step: those rows. The order of a list depends on the run, the sums of its rows do not.
 * A lane walks a short row, a warp a long one. With depth 0 a row is one segment, and no entry needs to be looked at to count it. */
#include "core/device/device.cuh"
#include "trsv/recblock/kernels.h"

namespace spti {

enum { ORDER_THREADS = 256, WALK_SHORT = 16 };

/* ---- words ---- */

struct zero_job {
  int32_t *words;
  int64_t count;
};

SPTI_KERNEL(ORDER_THREADS) recblock_zero_kernel(zero_job job) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (at < job.count) store(job.words + at, 0);
}

/* ---- rows ---- */

/* Off-diagonal entries of a row in solve order: the e-th is at start + e * step. */
struct row_span {
  int64_t start;
  int32_t step, length;
};

SPTI_DEVICE row_span row_of(const spti_view &v, int32_t i) {
  const int64_t begin = load_const(v.ptr + i) + v.head, end = load_const(v.ptr + i + 1) - v.tail;
  return {v.backward ? end - 1 : begin, v.backward ? -1 : 1, int32_t(end - begin)};
}

SPTI_DEVICE int32_t leaf_of(const spti_recblock_pack_args &a, int32_t place) {
  int32_t leaf = 0;
  for (int32_t half = spti_recblock_leaves(a.depth) >> 1; half > 0; half >>= 1)
    if (load_const(a.bound + leaf + half) <= place) leaf += half;
  return leaf;
}

SPTI_DEVICE int32_t segment_of(const spti_recblock_pack_args &a, int32_t t, int32_t row_leaf, int32_t column_leaf) {
  return load_const(a.base + spti_recblock_block_of(row_leaf, column_leaf)) + t;
}

/* Which of a row's segments: 0 the triangle's, 1 + bit the rectangles'. */
SPTI_DEVICE int32_t key_of(int32_t row_leaf, int32_t column_leaf) {
  return row_leaf == column_leaf ? 0 : 1 + spti_recblock_parting(row_leaf, column_leaf);
}

SPTI_KERNEL(ORDER_THREADS) recblock_place_kernel(spti_recblock_pack_args a) {
  const int64_t t = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  if (t < a.view.n) store(a.place + load_const(a.order + t), int32_t(t));
}

SPTI_DEVICE void count_entry(const spti_recblock_pack_args &a, const row_span &row, int32_t e, int32_t t, int32_t leaf) {
  const int32_t column = load(a.place + load_const(a.view.idx + row.start + int64_t(e) * row.step));
  red_add(a.count + segment_of(a, t, leaf, leaf_of(a, column)), 1);
}

/* A warp has 32 places. */
SPTI_KERNEL(ORDER_THREADS) recblock_count_kernel(spti_recblock_pack_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block() + a.first;
  const bool mine = at < a.view.n;
  const int32_t t = mine ? int32_t(at) : 0, leaf = leaf_of(a, t);
  row_span row = {0, 1, 0};
  if (mine) row = row_of(a.view, load_const(a.order + t));
  if (a.depth == 0) {
    if (mine) store(a.count + load_const(a.base) + t, row.length);
    return;
  }
  if (row.length <= WALK_SHORT)
    for (int32_t e = 0; e < row.length; e++) count_entry(a, row, e, t, leaf);
  for (uint32_t left = ballot(row.length > WALK_SHORT); left; left &= left - 1) {
    const int from = first_lane(left);
    const row_span shared = {shfl(row.start, from), shfl(row.step, from), shfl(row.length, from)};
    const int32_t shared_t = shfl(t, from), shared_leaf = shfl(leaf, from);
    for (int32_t e = lane(); e < shared.length; e += 32) count_entry(a, shared, e, shared_t, shared_leaf);
  }
}

/* Blocks of a row from left to right. Only its own segments are marked, but the end of one is the word of another's row. */
SPTI_KERNEL(ORDER_THREADS) recblock_mark_kernel(spti_recblock_pack_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block() + a.first;
  if (at >= a.view.n) return;
  const int32_t t = int32_t(at), leaf = leaf_of(a, t);
  bool touched = false;
  for (int32_t bit = a.depth - 1; bit >= -1; bit--) {
    if (bit >= 0 && !(leaf >> bit & 1)) continue;
    const int32_t s = load_const(a.base + (bit < 0 ? 2 * leaf : 2 * (leaf >> bit << bit) - 1)) + t;
    const int32_t begin = load_relaxed(a.start + s), end = load_relaxed(a.start + s + 1) & SPTI_RECBLOCK_OFFSET;
    if (touched) store_relaxed(a.start + s, begin | SPTI_RECBLOCK_IN_PANEL);
    touched |= begin < end;
  }
}

/* ---- entries ---- */

template <typename T> SPTI_DEVICE void move_entry(const spti_recblock_pack_args &a, int64_t p, int32_t column, int32_t to) {
  store(a.from + to, column);
  store((T *)a.val + to, conj_if(a.view.conj, load_const((const T *)a.view.val + p)));
}

template <typename T> SPTI_DEVICE void fill_by_lane(const spti_recblock_pack_args &a, const row_span &row, int32_t t, int32_t leaf) {
  int32_t next[SPTI_RECBLOCK_MAX_DEPTH + 1];
  for (int32_t key = 0; key <= a.depth; key++) next[key] = -1;
  for (int32_t e = 0; e < row.length; e++) {
    const int64_t p = row.start + int64_t(e) * row.step;
    const int32_t column = load(a.place + load_const(a.view.idx + p)), column_leaf = leaf_of(a, column);
    const int32_t key = key_of(leaf, column_leaf);
    if (next[key] < 0) next[key] = load_const(a.start + segment_of(a, t, leaf, column_leaf)) & SPTI_RECBLOCK_OFFSET;
    move_entry<T>(a, p, column, next[key]++);
  }
}

/* Whole warp, the same row in all lanes. Lane `key` knows the next free offset of that segment. */
template <typename T> SPTI_DEVICE void fill_by_warp(const spti_recblock_pack_args &a, const row_span &row, int32_t t, int32_t leaf) {
  int32_t next = 0;
  const int32_t bit = lane() - 1; /* of the rectangle that this lane keeps, if the row has it */
  const bool has = lane() == 0 || (lane() <= a.depth && (leaf >> bit & 1));
  if (has)
    next = load_const(a.start + load_const(a.base + (lane() == 0 ? 2 * leaf : 2 * (leaf >> bit << bit) - 1)) + t) & SPTI_RECBLOCK_OFFSET;
  for (int32_t e = 0; e < row.length; e += 32) {
    const bool mine = e + lane() < row.length;
    const int64_t p = row.start + int64_t(mine ? e + lane() : e) * row.step;
    const int32_t column = load(a.place + load_const(a.view.idx + p)), key = key_of(leaf, leaf_of(a, column));
    for (int32_t k = 0; k <= a.depth; k++) {
      const uint32_t same = ballot(mine && key == k);
      const int32_t base = shfl(next, k);
      if (mine && key == k) move_entry<T>(a, p, column, base + popcount(same & ((1u << lane()) - 1u)));
      if (lane() == k) next += popcount(same);
    }
  }
}

/* Whole warp, one block: a row's entries keep their order, so no lane needs to know of another's. */
template <typename T> SPTI_DEVICE void copy_by_warp(const spti_recblock_pack_args &a, const row_span &row, int32_t t) {
  const int32_t to = load_const(a.start + load_const(a.base) + t);
#pragma unroll 4
  for (int32_t e = lane(); e < row.length; e += 32) {
    const int64_t p = row.start + int64_t(e) * row.step;
    move_entry<T>(a, p, load_const(a.place + load_const(a.view.idx + p)), to + e);
  }
}

template <typename T> SPTI_KERNEL(ORDER_THREADS) recblock_fill_kernel(spti_recblock_pack_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  const bool mine = at < a.view.n;
  const int32_t t = mine ? int32_t(at) : 0, leaf = leaf_of(a, t);
  row_span row = {0, 1, 0};
  if (mine) {
    const int32_t i = load_const(a.order + t);
    row = row_of(a.view, i);
    T d = one<T>();
    if (!a.view.unit) d = conj_if(a.view.conj, load_const((const T *)a.view.val + load_const(a.view.ptr + i + a.view.tail) - a.view.tail));
    store((T *)a.diag + t, d);
  }
  if (row.length <= WALK_SHORT) fill_by_lane<T>(a, row, t, leaf);
  for (uint32_t left = ballot(row.length > WALK_SHORT); left; left &= left - 1) {
    const int from = first_lane(left);
    const row_span shared = {shfl(row.start, from), shfl(row.step, from), shfl(row.length, from)};
    const int32_t shared_t = shfl(t, from), shared_leaf = shfl(leaf, from);
    if (a.depth == 0) copy_by_warp<T>(a, shared, shared_t);
    else fill_by_warp<T>(a, shared, shared_t, shared_leaf);
  }
}

/* ---- counts and lists of the steps' rows ---- */

SPTI_DEVICE int32_t step_of(const spti_recblock_step *steps, int32_t count, int32_t segment) {
  int32_t low = 0, high = count; /* steps[low].segment <= segment < steps[high].segment */
  while (high - low > 1) {
    const int32_t middle = (low + high) / 2;
    if (load_const(&steps[middle].segment) <= segment) low = middle;
    else high = middle;
  }
  return low;
}

SPTI_DEVICE int32_t length_of(const int32_t *start, int32_t segment) {
  return (load_const(start + segment + 1) & SPTI_RECBLOCK_OFFSET) - (load_const(start + segment) & SPTI_RECBLOCK_OFFSET);
}

/* Whole warp: a place for each lane that wants one, from the counter words[index] on; lanes with the same counter share one atomic. */
SPTI_DEVICE int32_t take(int32_t *words, int32_t index, bool want) {
  int32_t got = 0;
  for (uint32_t left = ballot(want); left;) {
    const int from = first_lane(left);
    const int32_t shared = shfl(index, from);
    const uint32_t same = ballot(want && index == shared);
    int32_t base = 0;
    if (lane() == from) base = fetch_add(words + shared, popcount(same));
    base = shfl(base, from);
    if (same >> lane() & 1u) got = base + popcount(same & ((1u << lane()) - 1u));
    left &= ~same;
  }
  return got;
}

SPTI_DEVICE void count_apart(int32_t *facts, int32_t length, int32_t limit, int32_t chunk) {
  if (length <= limit) return;
  red_add(facts, 1);
  red_add(facts + 1, (length - 1) / chunk + 1);
}

SPTI_KERNEL(ORDER_THREADS) recblock_facts_kernel(spti_recblock_facts_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  const bool mine = at < a.segments;
  const int32_t s = mine ? int32_t(at) : 0, step = step_of(a.steps, a.count, s), length = mine ? length_of(a.start, s) : 0;
  int32_t *facts = a.facts + int64_t(step) * SPTI_RECBLOCK_FACTS;
  take(a.facts, step * SPTI_RECBLOCK_FACTS + SPTI_RECBLOCK_NONEMPTY, length > 0);
  count_apart(facts + SPTI_RECBLOCK_THREAD_APART, length, a.thread_apart, a.chunk);
  count_apart(facts + SPTI_RECBLOCK_GROUP_APART, length, a.group_apart, a.chunk);
  if (mine && s == load_const(&a.steps[step].segment))
    store(facts + SPTI_RECBLOCK_ENTRIES, (load_const(a.start + s + load_const(&a.steps[step].rows)) & SPTI_RECBLOCK_OFFSET) -
                                             (load_const(a.start + s) & SPTI_RECBLOCK_OFFSET));
}

SPTI_KERNEL(ORDER_THREADS) recblock_lists_kernel(spti_recblock_lists_args a) {
  const int64_t at = int64_t(block_in_grid()) * ORDER_THREADS + thread_in_block();
  const int32_t s = at < a.segments ? int32_t(at) : 0, number = step_of(a.steps, a.count, s);
  const spti_recblock_step *step = a.steps + number;
  const int32_t row = s - load_const(&step->segment), length = length_of(a.start, s);
  const bool mine = at < a.segments && row >= 0 && row < load_const(&step->rows); /* blocks without a step leave gaps */
  const bool apart = mine && length > load_const(&step->apart_above);
  const bool listed = mine && !apart && length > 0 && load_const(&step->listed) >= 0;
  const int32_t in_list = take(a.taken, number * 3, listed);
  if (listed) store(a.lists.row + load_const(&step->list) + in_list, row);
  if (!apart) return;
  const int32_t chunks = (length - 1) / load_const(&step->chunk) + 1;
  const int32_t record = fetch_add(a.taken + number * 3 + 1, 1), piece = fetch_add(a.taken + number * 3 + 2, chunks);
  store(a.lists.apart + load_const(&step->record) + record, row);
  store(a.lists.apart_piece + load_const(&step->record) + record, piece);
  for (int32_t c = 0; c < chunks; c++) store(a.lists.piece_record + load_const(&step->piece) + piece + c, record);
}

static int64_t blocks_for(int64_t count) { return (count + ORDER_THREADS - 1) / ORDER_THREADS; }

} // namespace spti

extern "C" int spti_recblock_count_launch(const spti_recblock_pack_args *a, void *stream) {
  using namespace spti;
  int error = SPTI_LAUNCH(recblock_place_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
  const zero_job count = {a->count, a->segments};
  if (!error) error = SPTI_LAUNCH(recblock_zero_kernel, blocks_for(count.count), ORDER_THREADS, 0, stream, count);
  if (!error) error = SPTI_LAUNCH(recblock_count_kernel, blocks_for(a->view.n - a->first), ORDER_THREADS, 0, stream, *a);
  return error;
}

extern "C" int spti_recblock_mark_launch(const spti_recblock_pack_args *a, void *stream) {
  using namespace spti;
  if (a->depth == 0) return 0;
  return SPTI_LAUNCH(recblock_mark_kernel, blocks_for(a->view.n - a->first), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_recblock_fill_launch(const spti_recblock_pack_args *a, void *stream) {
  using namespace spti;
  const int error = SPTI_LAUNCH(recblock_place_kernel, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
  if (error) return error;
  return dispatch(a->view.dtype, [&](auto tag) {
    return SPTI_LAUNCH(recblock_fill_kernel<typename decltype(tag)::type>, blocks_for(a->view.n), ORDER_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_recblock_facts_launch(const spti_recblock_facts_args *a, void *stream) {
  using namespace spti;
  const zero_job facts = {a->facts, int64_t(a->count) * SPTI_RECBLOCK_FACTS};
  const int error = SPTI_LAUNCH(recblock_zero_kernel, blocks_for(facts.count), ORDER_THREADS, 0, stream, facts);
  if (error) return error;
  return SPTI_LAUNCH(recblock_facts_kernel, blocks_for(a->segments), ORDER_THREADS, 0, stream, *a);
}

extern "C" int spti_recblock_lists_launch(const spti_recblock_lists_args *a, void *stream) {
  using namespace spti;
  const zero_job taken = {a->taken, int64_t(a->count) * 3};
  const int error = SPTI_LAUNCH(recblock_zero_kernel, blocks_for(taken.count), ORDER_THREADS, 0, stream, taken);
  if (error) return error;
  return SPTI_LAUNCH(recblock_lists_kernel, blocks_for(a->segments), ORDER_THREADS, 0, stream, *a);
}
