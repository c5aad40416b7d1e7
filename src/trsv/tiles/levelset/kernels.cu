/* kernels.cu -- tile-levelset on a GPU for one right-hand side: a warp for each item, that is, for some tiles of a tile row.
 * x(I) = T(I,I)^-1 (b(I) - sum over tiles of T(I,J) x(J)); lane r + 16 h has a half of row r (trsv/tiles/gpu/products.cuh).
 *
 * A launch takes the items of one level, or of several. With several, solutions are their own flags (core/device/syncfree.cuh); tickets
 * hand out items in the order of their levels, so an item waits only for items that are running or done. A part of a long tile row
 * stores its sums in a block of x like solutions; the final item of the tile row waits for them.
 *
 * The warp solves the diagonal tile column by column, for the columns that have entries: a shuffle passes x_c, and all rows subtract
 * their products at once; neighbouring columns that do not need each other are divided at once. In levels of many tile rows the items
 * leave their sums in x instead, and a thread solves each diagonal tile row by row.
 * Source: [lu2023tile]; levels merged by values that are flags, and sums as values, are new here.
 * Deterministic: a row has two sums, of its two lanes, in a fixed order; block_kernels.cu makes the same sums. */
#include "trsv/tiles/levelset/wait.cuh"

namespace spti {

/* ---- the sums of an item, for one right-hand side ---- */

enum { COO_BATCHES = 3, COO_ENTRIES = 32 * COO_BATCHES, COO_FIRST = 4, PARTS = LATE_PARTS / 2 };

/* Up to COO_ENTRIES entries of COO tiles, a lane to every 32nd: all that does not depend on solutions done. They are waited for
 * together, since each wait by itself takes at least as long as a look at memory. */
template <typename T> struct coo_entries {
  uint32_t place[COO_BATCHES];
  T value[COO_BATCHES], x[COO_BATCHES];
  uint32_t lanes[COO_BATCHES]; /* of each batch: those with entries of the lane's row, beyond the first ones: */
  uint32_t first;              /* COO_FIRST bytes, the numbers of entries of the lane's row */
  int firsts;                  /* that there are */

  /* Whole warp. The first entries of the row are listed, so that their products can be loaded all at once. */
  SPTI_DEVICE void list_first() {
    first = 0;
    firsts = 0;
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++)
      for (; lanes[b] && firsts < COO_FIRST; lanes[b] &= lanes[b] - 1) first |= uint32_t(32 * b + first_lane(lanes[b])) << 8 * firsts++;
  }
  /* Whole warp: sum and the products of the lane's row, one after another. shared: [COO_ENTRIES]. */
  SPTI_DEVICE T add_to(T sum, T *shared) const {
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++) shared[32 * b + lane()] = rounded(value[b], x[b]);
    syncwarp();
    T products[COO_FIRST];
#pragma unroll
    for (int i = 0; i < COO_FIRST; i++) products[i] = shared[first >> 8 * i & 255];
#pragma unroll
    for (int i = 0; i < COO_FIRST; i++)
      if (i < firsts) sum = sum + products[i];
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++)
      for (uint32_t left = lanes[b]; left; left &= left - 1) sum = sum + shared[32 * b + first_lane(left)];
    syncwarp();
    return sum;
  }
};

/* A tile of another format, likewise. */
template <typename T> struct other_stage {
  tile_share<T> share;
  uint32_t place;
  T x;
  int length;
};

template <typename T> struct tile_sums {
  const spti_tile_levelset_args &a;
  const tile_item &item;
  T *shared; /* [COO_ENTRIES] */
  T sum;
  bool arrived;

  SPTI_DEVICE T look(uint32_t q) const {
    const T *x = static_cast<const T *>(a.x) + q;
    return a.single_level ? load(x) : peek(x);
  }
  template <int Count> SPTI_DEVICE void wait(const uint32_t (&place)[Count], T (&x)[Count]) {
    if (!a.single_level && arrived) arrived = await_all(a, place, 0, x);
  }

  /* Sums of the tile row's parts [s, end): a half of them to each lane of a row. */
  SPTI_DEVICE void look_at_parts(int32_t s, int32_t end, uint32_t *place, T *v) const {
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      const int32_t part = s + 2 * i + half_in_tile();
      place[i] = uint32_t(part) * SPTI_TILE + uint32_t(row_in_tile());
      v[i] = part < end ? peek(static_cast<const T *>(a.x) + place[i]) : T();
    }
  }
  SPTI_DEVICE void add_parts(const T *v) {
#pragma unroll
    for (int i = 0; i < PARTS; i++) sum = sum + v[i];
  }
  SPTI_DEVICE void add_early_parts(int32_t end) {
    for (int32_t s = item[SPTI_TILE_ITEM_SUM]; s < end; s += 2 * PARTS) {
      uint32_t place[PARTS];
      T v[PARTS];
      look_at_parts(s, end, place, v);
      wait(place, v);
      add_parts(v);
    }
  }

  /* Where the next COO entries are: entry `base` of those of 32 tiles. */
  struct coo_cursor {
    coo_tiles tiles;
    int32_t tile, entry, base;
  };
  SPTI_DEVICE coo_cursor first_coo() const {
    return {coo_tiles(a.tiles, item[SPTI_TILE_ITEM_TILE], item[SPTI_TILE_ITEM_COO_TILES]), 0, item[SPTI_TILE_ITEM_COO], 0};
  }
  SPTI_DEVICE void load_batch(coo_entries<T> &s, int b, const coo_cursor &at) const {
    const int32_t base = at.base + 32 * b;
    const bool used = base + lane() < at.tiles.total;
    const int32_t e = at.entry + base + (used ? lane() : 0), tile_row = at.tiles.tile_row_of_entry(base);
    const int32_t position = load_const(a.tiles.coo_position + e);
    s.value[b] = used ? load_const(static_cast<const T *>(a.tiles.coo_value) + e) : T();
    s.place[b] = uint32_t(tile_row) * SPTI_TILE + uint32_t(position % SPTI_TILE);
    s.x[b] = used ? look(s.place[b]) : T();
    s.lanes[b] = lanes_of_row(position / SPTI_TILE, used);
  }
  SPTI_DEVICE void load_coo(coo_entries<T> &s, coo_cursor &at) const {
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++) {
      s.place[b] = s.lanes[b] = 0;
      s.value[b] = s.x[b] = T();
      if (at.base + 32 * b < at.tiles.total) load_batch(s, b, at);
    }
    s.list_first();
    at.base += COO_ENTRIES;
    if (at.base < at.tiles.total) return;
    at.tile += 32;
    at.entry += at.tiles.total;
    at.base = 0;
    at.tiles = coo_tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + at.tile, item[SPTI_TILE_ITEM_COO_TILES] - at.tile);
  }

  /* Tile t of those that `tiles` has, stored at *position and *value, which move behind it. */
  SPTI_DEVICE void load_other(other_stage<T> &s, const other_tiles &tiles, int t, const uint8_t **position, const T **value) const {
    const tile_at<T> tile = tiles.at(t, item.used(), false, *position, *value);
    load_tile(s.share, tile);
    s.place = uint32_t(tiles.tile_row_of(t)) * SPTI_TILE + uint32_t(row_in_tile());
    s.x = row_in_tile() < tile.c ? look(s.place) : T();
    s.length = share_length(s.share);
    *position += positions_of(tile);
    *value += values_of(tile);
  }
  /* The tiles of other formats but the last one, which is left in `now`: each next one is loaded before the wait for the one before. */
  SPTI_DEVICE void add_others(other_stage<T> &now, int32_t count) {
    const int32_t tile = item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES];
    const uint8_t *position = a.tiles.position + item[SPTI_TILE_ITEM_POSITION];
    const T *value = static_cast<const T *>(a.tiles.value) + item[SPTI_TILE_ITEM_VALUE];
    other_tiles tiles(a.tiles, tile, item[SPTI_TILE_ITEM_OTHER], count);
    other_stage<T> next;
    load_other(now, tiles, 0, &position, &value);
    for (int32_t t = 1; t < count; t++) {
      if (t % 32 == 0) tiles = other_tiles(a.tiles, tile + t, item[SPTI_TILE_ITEM_OTHER] + t, count - t);
      load_other(next, tiles, t % 32, &position, &value);
      const uint32_t place[1] = {now.place};
      T x[1] = {now.x};
      wait(place, x);
      sum = add_share(sum, now.share, now.length, x[0]);
      now = next;
    }
  }
  /* Early parts of the tile row, tiles of other formats, late parts, COO tiles. What may be loaded of them is, before the first
   * wait; the last other tile, late parts and COO entries are waited for together, since each wait by itself takes a look at
   * memory. */
  SPTI_DEVICE void add_all() {
    enum { LAST = COO_BATCHES, FIRST_PART, TOGETHER = FIRST_PART + PARTS };
    const int32_t count = item[SPTI_TILE_ITEM_OTHER_TILES], late = item[SPTI_TILE_ITEM_SUM] + early_parts(item[SPTI_TILE_ITEM_SUMS]);
    coo_cursor at = first_coo();
    coo_entries<T> s;
    other_stage<T> last;
    uint32_t place[TOGETHER];
    T x[TOGETHER];
    load_coo(s, at);
    add_early_parts(late);
    look_at_parts(late, item[SPTI_TILE_ITEM_SUM] + item[SPTI_TILE_ITEM_SUMS], place + FIRST_PART, x + FIRST_PART);
    if (count > 0) add_others(last, count);
    place[LAST] = count > 0 ? last.place : 0;
    x[LAST] = count > 0 ? last.x : T();
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++) {
      place[b] = s.place[b];
      x[b] = s.x[b];
    }
    wait(place, x);
#pragma unroll
    for (int b = 0; b < COO_BATCHES; b++) s.x[b] = x[b];
    if (count > 0) sum = add_share(sum, last.share, last.length, x[LAST]);
    add_parts(x + FIRST_PART);
    sum = s.add_to(sum, shared);
    while (at.tile < item[SPTI_TILE_ITEM_COO_TILES]) {
      load_coo(s, at);
      wait(s.place, s.x);
      sum = s.add_to(sum, shared);
    }
  }
};

/* ---- the diagonal tile, by a warp ---- */

/* Whole warp: the columns with entries in runs, of which none needs another of the same run: bit c is set where a run begins. */
SPTI_DEVICE uint32_t runs_of_columns(const inner_line &own) {
  uint32_t begins = 0, run = 0;
  for (uint32_t columns = warp_or(own.mask); columns; columns &= columns - 1) {
    const int c = first_lane(columns);
    if (begins == 0 || (run & uint32_t(shfl(int32_t(own.mask), c)))) {
      begins |= 1u << c;
      run = 0;
    }
    run |= 1u << c;
  }
  return begins;
}

/* acc: the right-hand side of the lane's row, less the other tiles. Returns it less the columns before, which divide solves: once for
 * each run of them. */
template <typename T, typename Divide>
SPTI_DEVICE T subtract_inner(const inner_tile<T> &inner, const inner_line &own, uint32_t begins, T acc, Divide divide) {
  T x = T();
  int32_t e = own.begin;
  for (uint32_t columns = warp_or(own.mask); columns; columns &= columns - 1) {
    const int c = first_lane(columns);
    const bool needs = own.mask >> c & 1;
    const T t = needs ? inner.value[e] : T();
    if (begins >> c & 1) x = divide(acc);
    const T of_column = shfl(x, c);
    if (needs) acc = acc - rounded(t, of_column);
    e += needs;
  }
  return acc;
}

/* The solution of the lane's row, zero where a last tile row has none. By divisions without a look at the range first, which are
 * all there is to it in most cases; the zeros of lanes without a row are out of that range and do not count. */
template <typename T>
SPTI_DEVICE T solve_inner(const inner_tile<T> &inner, const inner_line &own, uint32_t begins, const divisor<T> &pivot, T acc,
                          bool has_row) {
  const T quick = subtract_inner(inner, own, begins, acc, [&](T a) { return pivot.quick(a); });
  if (all(!has_row || pivot.divides_quickly(quick))) return has_row ? pivot.quick(quick) : T();
  return pivot.divide(subtract_inner(inner, own, begins, acc, [&](T a) { return pivot.divide(a); }));
}

template <typename T> SPTI_KERNEL_RESIDENT(TILE_THREADS, sizeof(T) <= 8 ? 3 : 2) tile_levelset_items_kernel(spti_tile_levelset_args a) {
  SPTI_SHARED(T, products, COO_ENTRIES * SPTI_TILE_LEVELSET_WARPS);
  SPTI_SHARED(inner_tile<T>, inners, SPTI_TILE_LEVELSET_WARPS);
  const int64_t i = a.first + next_item(a);
  if (i >= a.last) return;
  const tile_item item(a.tiles, int32_t(i));
  const int32_t tile_row = item.out();
  const int r = row_in_tile();
  const bool is_final = tile_row < a.tiles.tile_rows, has_row = is_final && r < item.used();
  a.transfer = transfer_of(a.transfer, a.bound);
  const int32_t row = has_row ? load_const(a.tiles.row + tile_row * SPTI_TILE + r) : 0;
  T *const x = static_cast<T *>(a.x) + int64_t(tile_row) * SPTI_TILE + r;
  T b = T(), diagonal = one<T>();
  divisor<T> pivot;
  inner_line own = {0, 0, 0};
  uint32_t begins = 0;
  if (is_final && !a.sums_only) {
    diagonal = load_const(static_cast<const T *>(a.tiles.diagonal) + tile_row * SPTI_TILE + r);
    if (has_row) b = read_rhs<T>(a.transfer, row, 0);
    own = load_inner(inners + warp_in_block(), a.tiles, item);
    begins = runs_of_columns(own);
  }
  pivot.set(diagonal);
  tile_sums<T> sums = {a, item, products + COO_ENTRIES * warp_in_block(), T(), true};
  if (item[SPTI_TILE_ITEM_COO_TILES] + item[SPTI_TILE_ITEM_OTHER_TILES] + item[SPTI_TILE_ITEM_SUMS] > 0) sums.add_all();
  const T sum = sums.sum + shfl(sums.sum, lane() ^ SPTI_TILE);
  if (!all(sums.arrived)) return;
  const bool solves = is_final && !a.sums_only;
  const T result = solves ? solve_inner(inners[warp_in_block()], own, begins, pivot, b - sum, has_row) : sum;
  if (half_in_tile() == 0) publish(x, result);
  if (solves && has_row && half_in_tile() == 0) write_solution(a.transfer, row, 0, result);
}

/* ---- diagonal tiles, by a thread ---- */

template <typename T> SPTI_KERNEL(TILE_THREADS) tile_levelset_diagonal_kernel(spti_tile_levelset_args a) {
  const int64_t thread = int64_t(block_in_grid()) * TILE_THREADS + thread_in_block();
  const int64_t i = a.first + thread / a.transfer.width, k = thread % a.transfer.width;
  if (i >= a.last) return;
  a.transfer = transfer_of(a.transfer, a.bound);
  const int32_t *item = a.tiles.item + i * SPTI_TILE_ITEM_WORDS;
  const uint32_t out = uint32_t(load_const(item + SPTI_TILE_ITEM_OUT));
  const int64_t tile_row = out & ((1u << SPTI_TILE_OUT_BITS) - 1);
  const int32_t used = int32_t(out >> SPTI_TILE_OUT_BITS) + 1, inner = load_const(item + SPTI_TILE_ITEM_INNER);
  const uint8_t *bytes = a.tiles.inner_byte + load_const(item + SPTI_TILE_ITEM_INNER_BYTE);
  T *const x = static_cast<T *>(a.x) + tile_row * SPTI_TILE * a.transfer.width + k;
  int32_t e = 0;
  for (int r = 0; r < SPTI_TILE; r++) {
    if (r >= used) {
      publish(x + r * a.transfer.width, T());
      continue;
    }
    const int32_t row = load_const(a.tiles.row + tile_row * SPTI_TILE + r), end = inner >= 0 ? int32_t(load_const(bytes + r)) : 0;
    T sum = a.sums_only ? load(x + r * a.transfer.width) : T();
    for (; e < end; e++)
      sum = sum + load_const(static_cast<const T *>(a.tiles.inner_value) + inner + e) *
                      load(x + load_const(bytes + SPTI_TILE + e) * a.transfer.width);
    const T result =
        quotient(read_rhs<T>(a.transfer, row, k) - sum, load_const(static_cast<const T *>(a.tiles.diagonal) + tile_row * SPTI_TILE + r));
    publish(x + r * a.transfer.width, result);
    write_solution(a.transfer, row, k, result);
  }
}

/* ---- before a solve ---- */

template <typename T> SPTI_KERNEL(TILE_THREADS) tile_levelset_reset_kernel(spti_tile_levelset_args a) {
  const int64_t words = a.blocks * SPTI_TILE * a.transfer.width, step = int64_t(blocks_per_grid()) * TILE_THREADS;
  for (int64_t w = int64_t(block_in_grid()) * TILE_THREADS + thread_in_block(); w < words; w += step)
    store(static_cast<T *>(a.x) + w, sentinel<T>());
  const int64_t controls = int64_t(a.steps) * SPTI_SYNCFREE_CONTROL_WORDS;
  for (int64_t w = int64_t(block_in_grid()) * TILE_THREADS + thread_in_block(); w < controls; w += step) store(a.sync.control + w, 0);
}

static int64_t tile_blocks(int64_t threads) { return (threads + TILE_THREADS - 1) / TILE_THREADS; }

} // namespace spti

extern "C" int spti_tile_levelset_reset_launch(const spti_tile_levelset_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t most = 1 << 12, wanted = tile_blocks(a->blocks * SPTI_TILE * a->transfer.width), blocks = wanted < most ? wanted : most;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_levelset_reset_kernel<T>, blocks, TILE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_tile_levelset_items_launch(const spti_tile_levelset_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_levelset_items_kernel<T>, tile_blocks(32 * int64_t(a->last - a->first)), TILE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_tile_levelset_diagonal_launch(const spti_tile_levelset_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_levelset_diagonal_kernel<T>, tile_blocks(int64_t(a->last - a->first) * a->transfer.width), TILE_THREADS, 0,
                       stream, *a);
  });
}
