/* fetch.cuh -- the warps of the tile kernel that move data between device memory and shared memory: the matrix's values, right-hand
 * sides, solutions, and solutions of other tiles. All request data at least AHEAD steps before the row is solved. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_FETCH_CUH
#define SPTI_TRSV_STRUCTGRID_TILES_FETCH_CUH

#include "trsv/structgrid/tiles/tile.cuh"

namespace spti {

/* The place of step t in a ring of Depth steps, moved on step by step. */
template <int Depth> struct ring_place {
  int32_t at;
  SPTI_DEVICE explicit ring_place(int32_t t) : at(((t % Depth) + Depth) % Depth) {}
  SPTI_DEVICE void next() { at = at + 1 == Depth ? 0 : at + 1; }
  SPTI_DEVICE int32_t after(int32_t steps) const { return at + steps >= Depth ? at + steps - Depth : at + steps; }
};

/* ---- values ---- */

/* Values from the matrix (layout=csr). In each step one line in CHUNK gets the values of CHUNK rows; each warp reads its lines one after
 * another, with lanes over the entries of the rows, which are contiguous in memory. Values stay in registers for HELD steps before they
 * are stored in shared memory. */
template <typename T, typename Shape> struct value_loader {
  static constexpr int SHARE = Shape::LINES / Shape::LOADERS,
                       LINES = SHARE / Shape::CHUNK; /* lines of one plane: of a warp, and of a warp in one step */
  static constexpr int ROUNDS = (Shape::CHUNK * Shape::VALUES + 31) / 32, HELD = 2;
  static constexpr int PREFETCH = (Shape::CHUNK * Shape::VALUES * int(sizeof(T)) + 127) / 128; /* lines of memory */
  const grid_tile<T, Shape> &tile;
  int32_t first, direction, values; /* first line; step to the next value in memory; values of a row with its diagonal */
  T held[HELD][LINES][ROUNDS];

  SPTI_DEVICE value_loader(const grid_tile<T, Shape> &t, int32_t warp) : tile(t), first(warp * SHARE) {
    direction = tile.a.view.backward ? -1 : 1;
    values = Shape::DIAGONAL + (tile.a.view.head || tile.a.view.tail);
  }
  static SPTI_DEVICE int32_t item(int i) { return lane() + 32 * i; }
  static SPTI_DEVICE bool used(int i) { return item(i) < Shape::CHUNK * Shape::VALUES; }

  SPTI_DEVICE void read_line(int32_t line, int32_t x, T (&to)[ROUNDS]) const {
    const grid_line<T> from = tile.lines[line];
    const int32_t X = tile.a.stencil.grid[0];
    if (from.allowed < 0 || x <= -Shape::CHUNK || x >= X) return;
    const bool inside = x >= (Shape::FAR ? 2 : 1) && x + Shape::CHUNK < X;
    if (inside && from.allowed == Shape::ALL && values == Shape::VALUES) read_inside(from, x, to);
    else read_any(from, x, to);
  }
  /* Rows that have all entries. */
  SPTI_DEVICE void read_inside(const grid_line<T> &from, int32_t x, T (&to)[ROUNDS]) const {
    constexpr int MISSING = (Shape::CUBE ? 5 : 1) + (Shape::FAR ? 2 : 0); /* entries of the first rows */
    constexpr int SECOND = 4 * Shape::CHUNK;                              /* rows ahead for which memory is prefetched */
    const T *at = from.start + (int64_t(x) * Shape::VALUES - MISSING) * direction;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
      if (used(i)) to[i] = load_const(at + item(i) * direction);
    }
    if (lane() < PREFETCH && x + SECOND + Shape::CHUNK < tile.a.stencil.grid[0])
      prefetch(at + (SECOND * Shape::VALUES + lane() * (128 / int(sizeof(T)))) * direction);
  }
  SPTI_DEVICE void read_any(const grid_line<T> &from, int32_t first_x, T (&to)[ROUNDS]) const {
    const int32_t X = tile.a.stencil.grid[0], stored = values - Shape::DIAGONAL, whole = popcount(uint32_t(from.allowed)) + stored;
    const int32_t left = popcount(uint32_t(from.allowed & (Shape::LEFT | Shape::LEFT2))), left2 = Shape::FAR ? 1 : 0;
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
      const int32_t x = first_x + item(i) / Shape::VALUES, entry = item(i) % Shape::VALUES;
      const int32_t present = Shape::allowed_at(from.allowed, x, X) | stored << Shape::DIAGONAL;
      const int32_t missing = x == 0 ? 0 : x == 1 ? left : left + left2; /* in the rows before */
      const int32_t before = popcount(uint32_t(present & ((1 << entry) - 1)));
      const bool wanted = used(i) && tile.in_line(x) && (present >> entry & 1);
      to[i] = load_const_if(wanted, wanted ? from.start + (int64_t(x) * whole - missing + before) * direction : from.start, zero<T>());
    }
  }
  /* Stores the values that were read for the steps from `place` on. Rows that do not exist may get any value. */
  SPTI_DEVICE void put(int h, int32_t phase, const ring_place<Shape::DEPTH> &place) const {
#pragma unroll
    for (int i = 0; i < ROUNDS; i++) {
      T *const to =
          tile.values + place.after(item(i) / Shape::VALUES) * Shape::SLOT + item(i) % Shape::VALUES * Shape::STRIDE + first + phase;
#pragma unroll
      for (int m = 0; m < LINES; m++) {
        if (used(i)) to[m * Shape::CHUNK] = held[h][m][i];
      }
    }
  }

  SPTI_DEVICE void run() {
    const int32_t lag = tile.lag_of(first % Shape::LANES, first / Shape::LANES);
    ring_place<Shape::DEPTH> place(tile.begin + Shape::AHEAD - HELD);
#pragma unroll
    for (int h = 0; h < HELD; h++)
#pragma unroll
      for (int m = 0; m < LINES; m++)
#pragma unroll
        for (int i = 0; i < ROUNDS; i++) held[h][m][i] = zero<T>();
    for (int32_t t = tile.begin; t < tile.end; t += HELD) {
#pragma unroll
      for (int h = 0; h < HELD; h++, place.next()) {
        const int32_t phase = (t + h) & (Shape::CHUNK - 1);
        syncwarps_apart();
        put(h, (t + h - HELD) & (Shape::CHUNK - 1), place);
#pragma unroll
        for (int m = 0; m < LINES; m++)
          read_line(first + m * Shape::CHUNK + phase, t + h + Shape::AHEAD - lag - Shape::SKEW * (m * Shape::CHUNK + phase), held[h][m]);
      }
    }
  }
};

/* Values from the copy by tile, step and entry (layout=soa): those of a step are contiguous. */
template <typename T, typename Shape> struct slot_loader {
  const grid_tile<T, Shape> &tile;

  SPTI_DEVICE void run(int32_t warp) const {
    constexpr int PIECES = Shape::SLOT * int(sizeof(T)) / 16;
    const spti_stencil *s = &tile.a.stencil;
    const spti_structgrid_tiling tiling = spti_structgrid_tiling_of(s, tile.a.view.dtype);
    const int32_t X = s->grid[0];
    const T *from = static_cast<const T *>(tile.a.soa) + spti_structgrid_place(s, &tiling, tile.group, tile.band) * X * Shape::SLOT;
    ring_place<Shape::DEPTH> place(tile.begin + Shape::AHEAD);
    int32_t turn = 0;
    for (int32_t t = tile.begin; t < tile.end; t++, place.next()) {
      syncwarps_apart();
      const int32_t step = t + Shape::AHEAD;
      if (step >= 0 && step < tile.steps()) {
        const char *piece = reinterpret_cast<const char *>(from + int64_t(turn) * Shape::SLOT);
        char *to = reinterpret_cast<char *>(tile.values + place.at * Shape::SLOT);
        for (int32_t i = warp * 32 + lane(); i < PIECES; i += 32 * Shape::LOADERS) copy_async_16(to + 16 * i, piece + 16 * i);
        turn = turn + 1 == X ? 0 : turn + 1;
      }
      end_copies();
      await_copies<Shape::AHEAD - 3>();
    }
  }
};

/* ---- right-hand sides and solutions: a warp for each plane ---- */

/* The rows that a warp moves in a step: Batch rows of one in Batch of the plane's lines, a lane for each row. */
template <typename T, typename Shape, int Batch> struct row_lanes {
  const grid_tile<T, Shape> &tile;
  int32_t w, line, behind, y; /* in phase 0: the lane's line, its row minus the step, its y */
  int64_t first;              /* the position of its row x = 0 */
  bool in_plane;

  SPTI_DEVICE row_lanes(const grid_tile<T, Shape> &t, int32_t plane) : tile(t), w(plane) {
    line = lane() / Batch * Batch;
    behind = lane() % Batch - tile.lag_of(line, w);
    y = tile.y_of(line, w);
    first = (int64_t(tile.z_of(w)) * tile.a.stencil.grid[1] + y) * tile.a.stencil.grid[0];
    in_plane = tile.z_of(w) < tile.a.stencil.grid[2];
  }
  SPTI_DEVICE int32_t phase(int32_t step) const { return step & (Batch - 1); }
  /* The row in the matrix, from the step of the batch's first row; -1: there is none. */
  SPTI_DEVICE int32_t row(int32_t step, int32_t phase) const {
    const int32_t x = step + behind - Shape::SKEW * phase, s = int32_t(first + int64_t(phase) * tile.a.stencil.grid[0] + x);
    if (!in_plane || !tile.in_line(x) || uint32_t(y + phase) >= uint32_t(tile.a.stencil.grid[1])) return -1;
    return tile.a.view.backward ? tile.a.view.n - 1 - s : s;
  }
};

template <typename T, typename Shape> SPTI_DEVICE void read_columns(const grid_tile<T, Shape> &tile, int32_t plane) {
  const spti_transfer &t = tile.a.transfer;
  const bool plain = !t.from.map && !t.from.scale;
  const row_lanes<T, Shape, Shape::CHUNK> rows(tile, plane);
  ring_place<Shape::DEPTH> place(tile.begin + Shape::AHEAD);
  for (int32_t u = tile.begin; u < tile.end; u++, place.next()) {
    const int32_t phase = rows.phase(u), i = rows.row(u + Shape::AHEAD, phase);
    T *const to =
        tile.rhs + place.after(lane() % Shape::CHUNK) * (Shape::COLUMNS * Shape::STRIDE) + plane * Shape::LANES + rows.line + phase;
    syncwarps_apart();
#pragma unroll
    for (int k = 0; k < Shape::COLUMNS; k++) {
      if (i < 0 || tile.first_column + k >= t.width) continue;
      if (plain) copy_async(to + k * Shape::STRIDE, element_at<T>(t.from, i, tile.first_column + k));
      else to[k * Shape::STRIDE] = read_rhs<T>(t, i, tile.first_column + k);
    }
    end_copies();
    await_copies<Shape::AHEAD - 3>();
  }
}

/* Writes solutions; these warps also prepare the divisions of two steps ahead, since they have time. */
template <typename T, typename Shape> SPTI_DEVICE void write_columns(const grid_tile<T, Shape> &tile, int32_t plane) {
  const spti_transfer &to = tile.a.transfer;
  const bool plain = !to.to.map && !to.to.scale;
  const row_lanes<T, Shape, Shape::FLUSH> rows(tile, plane);
  const int32_t line = plane * Shape::LANES + lane();
  ring_place<Shape::DEPTH> soon(tile.begin + 2);
  *tile.divisor_at(tile.begin + 1, line) = {}; /* read, but no row is there to be divided */
  for (int32_t t = tile.begin; t < tile.end; t++, soon.next()) {
    const int32_t phase = rows.phase(t), i = rows.row(t - Shape::FLUSH, phase);
    const T *const from = tile.solution_at(t - Shape::FLUSH + lane() % Shape::FLUSH, 0, rows.line + phase, plane);
    syncwarps_apart();
#pragma unroll
    for (int k = 0; k < Shape::COLUMNS; k++) {
      if (i < 0 || tile.first_column + k >= to.width) continue;
      if (plain) store(element_at<T>(to.to, i, tile.first_column + k), from[k * Shape::FACE]);
      else write_solution(to, i, tile.first_column + k, from[k * Shape::FACE]);
    }
    divisor<T> by;
    by.set(tile.diagonal(soon.at, line));
    *tile.divisor_at(t + 2, line) = by;
  }
}

/* ---- solutions of other tiles: a lane for each line and right-hand side ---- */

template <typename T, typename Shape> struct edge_reader {
  static constexpr int ASKED = 4; /* steps ahead; a power of two */
  const grid_tile<T, Shape> &tile;
  int32_t k, j, w;
  const T *from; /* the value published for t = 0 */
  bool wanted;
  T ahead[ASKED];

  SPTI_DEVICE edge_reader(const grid_tile<T, Shape> &t, int32_t item) : tile(t) {
    constexpr int BELOW = Shape::PLANES_BACK * Shape::LANES;
    k = item / Shape::AROUND;
    const int32_t i = item % Shape::AROUND, beside = i - BELOW, corner = i - Shape::EDGE;
    int32_t told; /* its place among the values that the other tile publishes in a step */
    bool other_group = true, other_band = true;
    if (i < BELOW) {
      w = -1 - i / Shape::LANES;
      j = i % Shape::LANES;
      told = i;
      other_band = false;
    } else if (i < Shape::EDGE) {
      j = -1 - beside / Shape::PLANES;
      w = beside % Shape::PLANES;
      told = i;
      other_group = false;
    } else {
      w = -1 - corner / Shape::LINES_BACK;
      j = -1 - corner % Shape::LINES_BACK;
      told = (-1 - w) * Shape::LANES + Shape::LANES + j;
    }
    const int64_t later = tile.lag_of(other_band ? Shape::LANES : 0, other_group ? Shape::PLANES : 0);
    wanted = k < Shape::COLUMNS && tile.first_column + k < tile.a.transfer.width && tile.exists(j, w);
    from = wanted ? tile.edge_at(tile.group - other_group, tile.band - other_band, later, k) + told : static_cast<const T *>(tile.a.edges);
  }
  SPTI_DEVICE const T *place(int32_t t) const { return from + int64_t(t) * (Shape::COLUMNS * Shape::EDGE); }
  SPTI_DEVICE bool has(int32_t t) const { return wanted && tile.in_line(t - tile.lag_of(j, w)); }
  SPTI_DEVICE void ask(int u, int32_t t) { ahead[u] = load_relaxed_if(has(t), place(t), zero<T>()); }

  /* Whole warp: waits until no value is missing. False: a dependency was lost. */
  SPTI_DEVICE bool wait(int u, int32_t t) {
    spin_guard guard;
    guard.start();
    for (uint32_t waiting = ballot(is_sentinel(ahead[u])); waiting; waiting = ballot(is_sentinel(ahead[u]))) {
      bool on = true;
      if (lane() == first_lane(waiting)) on = guard.go_on(tile.a.sync, tile.row_at(j, w, t - tile.lag_of(j, w)));
      if (!all(on)) return false;
      ahead[u] = peek_again(place(t), ahead[u]);
    }
    return true;
  }
  SPTI_DEVICE void run() {
    bool going = true;
#pragma unroll
    for (int u = 0; u < ASKED; u++) ask(u, tile.begin + u);
    for (int32_t t = tile.begin; t < tile.end; t += ASKED) {
#pragma unroll
      for (int u = 0; u < ASKED; u++) {
        syncwarps_apart();
        if (going) going = wait(u, t + u);
        if (k < Shape::COLUMNS) *tile.solution_at(t + u, k, j, w) = going ? ahead[u] : zero<T>();
        ask(u, t + u + ASKED);
      }
    }
  }
};

} // namespace spti
#endif
