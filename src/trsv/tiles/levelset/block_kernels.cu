/* block_kernels.cu -- tile-levelset on a GPU for several right-hand sides: lanes over 32 of them, in one pass over the tiles.
 * A thread block of four warps takes an item, each warp four of its rows, so that four chains of sums run at once and a row's entries
 * keep their order. COO entries are loaded a lane each, as for one right-hand side; then each warp takes the entries of its rows, with
 * several rows of x in flight. For a tile of another format the warps load the 16 rows of x together into shared memory, those of the
 * next tile before they are needed. The diagonal tile is solved row by row, without an exchange between lanes.
 * No tile method is published for blocks of right-hand sides.
 * Deterministic: each sum has one order for every width, the order of the kernel for one right-hand side. */
#include "trsv/tiles/levelset/wait.cuh"

namespace spti {

enum { AHEAD = 8 /* rows of x that a warp loads at once */, OWN_ROWS = SPTI_TILE / SPTI_TILE_LEVELSET_WARPS };

/* A block's shared memory: element (r, lane) at 32 r + lane. */
template <typename T> struct tile_block_shared {
  T *sums; /* [32][32]: of each row, in two halves: as lane r + 16 h has them for one right-hand side; then solutions */
  T *x;    /* [16][32]: of the columns of a tile */
};

template <typename T> struct tile_block_sums {
  const spti_tile_levelset_args &a;
  const tile_item &item;
  tile_block_shared<T> shared;
  int64_t k; /* the lane's right-hand side */
  bool on, arrived;

  SPTI_DEVICE T *sum_at(int r) const { return shared.sums + 32 * r + lane(); }
  SPTI_DEVICE static int own_row() { return OWN_ROWS * warp_in_block(); } /* the warp's first one */
  SPTI_DEVICE static bool is_own(int r) { return r / OWN_ROWS == warp_in_block(); }
  SPTI_DEVICE T peek_at(uint32_t q, bool wanted) const {
    return wanted && on && arrived ? peek(static_cast<const T *>(a.x) + q * int64_t(a.transfer.width) + k) : T();
  }
  template <int Count> SPTI_DEVICE void wait(const uint32_t (&place)[Count], T (&x)[Count]) {
    if (on && arrived && !a.single_level) arrived = await_all(a, place, k, x);
  }

  /* ---- COO tiles ---- */

  /* Whole warp: adds the entries of the lanes in `lanes`: value t times the solution of place q to sum r. */
  SPTI_DEVICE void add_entries(uint32_t lanes, int32_t q, int32_t r, T t) {
    while (lanes) {
      uint32_t place[AHEAD];
      int from[AHEAD];
      T x[AHEAD];
      int count = 0;
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        from[i] = lanes ? first_lane(lanes) : 0;
        count += lanes != 0;
        lanes &= lanes - 1;
        place[i] = uint32_t(shfl(q, from[i]));
        x[i] = peek_at(place[i], i < count);
      }
      wait(place, x);
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        const T value = shfl(t, from[i]);
        T *const sum = sum_at(shfl(r, from[i]));
        if (i < count) *sum = *sum + rounded(value, x[i]);
      }
    }
  }
  SPTI_DEVICE void add_coo() {
    int32_t entry = item[SPTI_TILE_ITEM_COO];
    for (int32_t first = 0; first < item[SPTI_TILE_ITEM_COO_TILES]; first += 32) {
      const coo_tiles tiles(a.tiles, item[SPTI_TILE_ITEM_TILE] + first, item[SPTI_TILE_ITEM_COO_TILES] - first);
      for (int32_t base = 0; base < tiles.total; base += 32) {
        const bool used = base + lane() < tiles.total;
        const int32_t e = entry + base + (used ? lane() : 0), tile_row = tiles.tile_row_of_entry(base);
        const int32_t position = load_const(a.tiles.coo_position + e), r = position / SPTI_TILE;
        const T t = load_const(static_cast<const T *>(a.tiles.coo_value) + e);
        add_entries(ballot(used && is_own(r)), tile_row * SPTI_TILE + position % SPTI_TILE, r + SPTI_TILE * half_in_tile(), t);
      }
      entry += tiles.total;
    }
  }

  /* ---- tiles of other formats ---- */

  /* The warp's share of the rows of x of a tile. */
  struct columns {
    uint32_t place[OWN_ROWS];
    T x[OWN_ROWS];
  };
  SPTI_DEVICE void look_at_columns(columns &c, int32_t tile_row, int32_t count) const {
#pragma unroll
    for (int i = 0; i < OWN_ROWS; i++) {
      c.place[i] = uint32_t(tile_row) * SPTI_TILE + uint32_t(own_row() + i);
      c.x[i] = peek_at(c.place[i], own_row() + i < count);
    }
  }
  /* Whole block: x of the tile's columns to shared memory. */
  SPTI_DEVICE void share_columns(columns &c) {
    wait(c.place, c.x);
    syncthreads(); /* those of the tile before are no longer needed */
#pragma unroll
    for (int i = 0; i < OWN_ROWS; i++) shared.x[32 * (own_row() + i) + lane()] = c.x[i];
    syncthreads();
  }
  /* Whole warp: adds to sum `from` the products of the entries that lane `from` has; no lane has more than `length`. */
  SPTI_DEVICE void add_half_row(const tile_share<T> &share, int length, int from) const {
    const uint32_t four_bits = uint32_t(shfl(int32_t(share.columns), from)), entries = uint32_t(shfl(int32_t(share.entries), from));
    T sum = *sum_at(from);
#pragma unroll
    for (int e = 0; e < TILE_SHARE; e++) {
      if (e >= length) continue;
      const int column = int(four_bits >> 4 * e & 15);
      const T value = shfl(share.value[e], from);
      if (entries >> e & 1) sum = sum + rounded(value, shared.x[32 * column + lane()]);
    }
    *sum_at(from) = sum;
  }
  SPTI_DEVICE void add_share(const tile_share<T> &share) const {
    const int length = share_length(share);
#pragma unroll
    for (int h = 0; h < 2; h++)
      for (int i = 0; i < OWN_ROWS; i++) add_half_row(share, length, own_row() + i + SPTI_TILE * h);
  }
  SPTI_DEVICE void add_others() {
    const int32_t count = item[SPTI_TILE_ITEM_OTHER_TILES], tile = item[SPTI_TILE_ITEM_TILE] + item[SPTI_TILE_ITEM_COO_TILES];
    const uint8_t *position = a.tiles.position + item[SPTI_TILE_ITEM_POSITION];
    const T *value = static_cast<const T *>(a.tiles.value) + item[SPTI_TILE_ITEM_VALUE];
    columns now;
    for (int32_t first = 0; first < count; first += 32) {
      const other_tiles tiles(a.tiles, tile + first, item[SPTI_TILE_ITEM_OTHER] + first, count - first);
      const int together = count - first < 32 ? count - first : 32;
      look_at_columns(now, tiles.tile_row_of(0), tiles.extent_of(0));
      for (int t = 0; t < together; t++) {
        const tile_at<T> here = tiles.at(t, item.used(), false, position, value);
        const int next = t + 1 < together ? t + 1 : t;
        const int32_t next_tile_row = tiles.tile_row_of(next), next_extent = tiles.extent_of(next);
        tile_share<T> share;
        load_tile(share, here);
        share_columns(now);
        if (next > t) look_at_columns(now, next_tile_row, next_extent);
        add_share(share);
        position += positions_of(here);
        value += values_of(here);
      }
    }
  }

  /* ---- sums of the tile row's parts ---- */

  /* Parts [s, end) of the tile row's. */
  SPTI_DEVICE void add_parts(int32_t s, int32_t end) {
    enum { TOGETHER = AHEAD / OWN_ROWS };
    const int32_t first = item[SPTI_TILE_ITEM_SUM];
    for (s += first, end += first; s < end; s += TOGETHER) {
      uint32_t place[AHEAD];
      T v[AHEAD];
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        place[i] = uint32_t(s + i / OWN_ROWS) * SPTI_TILE + uint32_t(own_row() + i % OWN_ROWS);
        v[i] = peek_at(place[i], s + i / OWN_ROWS < end);
      }
      wait(place, v);
#pragma unroll
      for (int i = 0; i < AHEAD; i++) {
        const int32_t part = s - first + i / OWN_ROWS;
        T *const sum = sum_at(own_row() + i % OWN_ROWS + SPTI_TILE * (part % 2));
        if (first + part < end) *sum = *sum + v[i];
      }
    }
  }

  SPTI_DEVICE T joined(int r) const { return *sum_at(r) + *sum_at(r + SPTI_TILE); }
};

/* The final item of a tile row: what it knows before the sums. */
template <typename T> struct tile_block_row {
  const spti_tile_levelset_args &a;
  const tile_item &item;
  const tile_block_sums<T> &sums;
  inner_tile<T> *inner; /* shared, */
  divisor<T> *divisors; /* [16] */
  inner_line own;
  int32_t row; /* of lane r: that of place r */
  T b[OWN_ROWS];

  /* Whole block; a barrier follows. */
  SPTI_DEVICE void load() {
    const int32_t first = item.out() * SPTI_TILE;
    row = load_const(a.tiles.row + first + row_in_tile());
    if (warp_in_block() == 0) {
      own = load_inner(inner, a.tiles, item);
      if (lane() < SPTI_TILE) divisors[lane()].set(load_const(static_cast<const T *>(a.tiles.diagonal) + first + lane()));
    }
#pragma unroll
    for (int i = 0; i < OWN_ROWS; i++) {
      const int r = tile_block_sums<T>::own_row() + i;
      const int32_t of_row = shfl(row, r);
      b[i] = r < item.used() && sums.on ? read_rhs<T>(a.transfer, of_row, sums.k) : T();
    }
  }
  SPTI_DEVICE void write(int r, T x) const {
    const int32_t of_row = shfl(row, r);
    if (!sums.on) return;
    publish(static_cast<T *>(a.x) + (int64_t(item.out()) * SPTI_TILE + r) * a.transfer.width + sums.k, r < item.used() ? x : T());
    if (r < item.used()) write_solution(a.transfer, of_row, sums.k, x);
  }
  /* Nothing below the diagonal: each warp its rows. */
  SPTI_DEVICE void divide() const {
#pragma unroll
    for (int i = 0; i < OWN_ROWS; i++) {
      const int r = tile_block_sums<T>::own_row() + i;
      write(r, divisors[r].divide(b[i] - sums.joined(r)));
    }
  }
  /* Whole block: the right-hand sides less the sums, and then all rows by the first warp, one after another. */
  SPTI_DEVICE void solve() const {
#pragma unroll
    for (int i = 0; i < OWN_ROWS; i++) {
      const int r = tile_block_sums<T>::own_row() + i;
      *sums.sum_at(r) = b[i] - sums.joined(r);
    }
    syncthreads();
    if (warp_in_block() != 0) return;
    for (int r = 0; r < SPTI_TILE; r++) {
      const int32_t begin = shfl(own.begin, r), end = shfl(own.end, r);
      T acc = *sums.sum_at(r);
      for (int32_t e = begin; e < end; e++) acc = acc - rounded(inner->value[e], *sums.sum_at(inner->other[e]));
      const T x = divisors[r].divide(acc);
      *sums.sum_at(r) = x;
      write(r, x);
    }
  }
};

template <typename T> SPTI_KERNEL(TILE_THREADS) tile_levelset_block_kernel(spti_tile_levelset_args a) {
  SPTI_DYNAMIC_SHARED(T, memory);
  SPTI_SHARED(inner_tile<T>, inner, 1);
  SPTI_SHARED(divisor<T>, divisors, SPTI_TILE);
  const int32_t groups = (a.transfer.width + 31) / 32;
  const int64_t at = a.single_level ? block_in_grid() : block_ticket(a.sync);
  const int64_t number = a.first + at / groups;
  const tile_item item(a.tiles, int32_t(number));
  const bool solves = item.out() < a.tiles.tile_rows && !a.sums_only;
  a.transfer = transfer_of(a.transfer, a.bound);
  const int64_t k = at % groups * 32 + lane();
  tile_block_sums<T> sums = {a, item, {memory, memory + 32 * 32}, k, k < a.transfer.width, true};
  tile_block_row<T> tile_row = {a, item, sums, inner, divisors, {0, 0, 0}, 0, {}};
#pragma unroll
  for (int i = 0; i < OWN_ROWS; i++) *sums.sum_at(sums.own_row() + i) = *sums.sum_at(sums.own_row() + i + SPTI_TILE) = T();
  if (solves) tile_row.load();
  syncthreads();
  const int32_t parts = item[SPTI_TILE_ITEM_SUMS], early = early_parts(parts);
  sums.add_parts(0, early);
  sums.add_others();
  sums.add_parts(early, parts);
  sums.add_coo();
  if (solves && item[SPTI_TILE_ITEM_INNER] < 0 && all(sums.arrived)) tile_row.divide();
  else if (solves && item[SPTI_TILE_ITEM_INNER] >= 0) tile_row.solve();
  if (solves || !all(sums.arrived) || !sums.on) return;
  T *const x = static_cast<T *>(a.x) + int64_t(item.out()) * SPTI_TILE * a.transfer.width + k;
  for (int r = sums.own_row(); r < sums.own_row() + OWN_ROWS; r++) publish(x + r * a.transfer.width, sums.joined(r));
}

} // namespace spti

extern "C" int spti_tile_levelset_block_launch(const spti_tile_levelset_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t groups = (a->transfer.width + 31) / 32;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_levelset_block_kernel<T>, (a->last - a->first) * groups, TILE_THREADS, sizeof(T) * 32 * (32 + SPTI_TILE),
                       stream, *a);
  });
}
