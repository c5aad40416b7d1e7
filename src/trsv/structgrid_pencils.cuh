/* structgrid_pencils -- the kernel of structgrid for blocks of right-hand sides: a warp solves a grid line, lanes over right-hand sides.
 *
 * Line (y, z) is the X rows of a grid with that y and z, solved in order, a chunk of rows at a time. What a row needs of its own line is
 * in registers; what it needs of other lines slides along with it: of a cube's twelve such neighbours four are read, at x+1.
 *
 * Protocol. A line counts its solved rows in a word of its own, released after each chunk; others wait until it is far enough and
 * then read solutions where they stand: in X, if its rows are in one piece, so that B is read and X written once and that is all the
 * traffic there is. Two words are looked at, (y-1, z)'s and (y+1, z-1)'s, or (y, z-1)'s where there is no y+1 or the stencil has no use
 * for it: who solved rows up to x there has waited for (y, z-1), (y-1, z-1), (y-2, z) and (y, z-2) as far as that, and hands on what it
 * acquired. Every line waits for its neighbours, whatever entries its rows have, so that this holds where entries are missing.
 *
 * What nobody waits for comes early: B and the matrix's values a chunk before they are needed, and from memory to L2 before that.
 *
 * Who waits for whom: blocks number themselves in the order in which they start, and pencils are dealt out by wavefronts
 * (structgrid_pencils_kernels.h): no deadlock.
 *
 * Bits: as the tiles' (structgrid_solve.cuh), operation by operation. */
#ifndef SPTI_STRUCTGRID_PENCILS_CUH
#define SPTI_STRUCTGRID_PENCILS_CUH

#include "core/transfer.cuh"
#include "trsv/structgrid_entries.cuh"
#include "trsv/structgrid_pencils_kernels.h"

namespace spti {

template <typename T, bool Cube, bool Far, bool Whole> struct pencil_shape : grid_entries<Cube, Far> {
  using grid_entries<Cube, Far>::VALUES;
  static constexpr bool WHOLE = Whole;
  static constexpr int ROWS = sizeof(T) == 16 ? 2 : 4;            /* of a chunk */
  static constexpr int BACK = Cube ? 2 : 0, REACH = Cube ? 1 : 0; /* rows kept of the chunk before; rows needed of other lines beyond x */
  static constexpr int ITEMS = ROWS * VALUES, ROUNDS = (ITEMS + 31) / 32;
  static constexpr int EARLY = 3 * ROWS; /* rows ahead of which memory is asked for what comes */
  static constexpr int RESIDENT = sizeof(T) == 16 ? (Cube ? 3 : 4) : (Cube ? 4 : 6);
};

/* A line's values, a chunk ahead. Lanes are over the entries of its rows. */
template <typename T, typename Shape> struct pencil_values {
  const spti_structgrid_pencils_args &a;
  int64_t first, start; /* the line's first position; lanes of rows: where that row's values begin, or end if they are read backward */
  int32_t allowed, bits;
  T held[Shape::ROUNDS];

  SPTI_DEVICE pencil_values(const spti_structgrid_pencils_args &args, int32_t y, int32_t z)
      : a(args), first((int64_t(z) * args.stencil.grid[1] + y) * args.stencil.grid[0]), start(0),
        allowed(Shape::allowed(y, z, args.stencil.grid[1])), bits(0) {}

  /* Where the values of the chunk at x are. */
  SPTI_DEVICE void find(int32_t x) {
    const int32_t mine = x + lane(), X = a.stencil.grid[0], stored = a.view.head || a.view.tail ? 1 << Shape::DIAGONAL : 0;
    bits = 0;
    if (lane() >= Shape::ROWS || mine >= X) return;
    const int64_t s = first + mine;
    bits = stored | (Shape::WHOLE ? Shape::allowed_at(allowed, mine, X) : load_const(a.present + s));
    start = a.view.backward ? load_const(a.view.ptr + a.view.n - s) - 1 : load_const(a.view.ptr + s);
  }
  /* Those of the chunk that was found. */
  SPTI_DEVICE void read() {
    const T *const val = static_cast<const T *>(a.view.val);
#pragma unroll
    for (int i = 0; i < Shape::ROUNDS; i++) {
      const int32_t item = lane() + 32 * i, row = item / Shape::VALUES, entry = item % Shape::VALUES;
      const int32_t present = shfl(bits, row), before = popcount(uint32_t(present & ((1 << entry) - 1)));
      const int64_t at = shfl(start, row) + (a.view.backward ? -before : before);
      const bool wanted = item < Shape::ITEMS && (present >> entry & 1);
      held[i] = load_const_if(wanted, val + (wanted ? at : 0), Shape::WHOLE ? zero<T>() : sentinel<T>());
      if (!Shape::WHOLE && wanted) held[i] = distinct(held[i]);
    }
  }
  SPTI_DEVICE void put(T *values) const {
#pragma unroll
    for (int i = 0; i < Shape::ROUNDS; i++)
      if (lane() + 32 * i < Shape::ITEMS) values[lane() + 32 * i] = held[i];
  }
};

/* Another line of the grid: from where its row x stands, and whether there is one. */
template <typename T> struct pencil_neighbour {
  const T *row;
  bool exists;
};

template <typename T, typename Shape> struct pencil {
  static constexpr int ROWS = Shape::ROWS, BACK = Shape::BACK;
  using rows = T[ROWS + BACK];
  const spti_structgrid_pencils_args &a;
  int32_t y, z, tile, X, k;    /* the lane's right-hand side, or the last one again */
  bool mine;                   /* not again */
  int64_t step, first;         /* from a row to the next in the store; position of row x = 0 */
  T *own;                      /* the store's row x = 0 */
  const int32_t *watched;      /* what this lane watches, of two */
  int32_t seen;                /* there, or enough */
  rows zm, z0, zp, y1, y2, z2; /* [BACK + i]: row x + REACH + i */
  T b[ROWS], x1, x2;
  int64_t first_value; /* of the line, in the matrix */

  SPTI_DEVICE pencil(const spti_structgrid_pencils_args &args, int32_t of_y, int32_t of_z, int32_t of_tile)
      : a(args), y(of_y), z(of_z), tile(of_tile), X(args.stencil.grid[0]) {
    const int32_t at = tile * SPTI_PENCIL_TILE + lane(), last = a.transfer.width - 1;
    mine = at <= last;
    k = mine ? at : last;
    first = line(y, z) * X;
    step = a.view.backward ? -a.store.row_stride : a.store.row_stride;
    own = static_cast<T *>(a.store.data) + (a.view.backward ? (a.view.n - 1) * a.store.row_stride : 0) + first * step + k;
    const bool slanted = Shape::CUBE && y + 1 < a.stencil.grid[1];
    const int64_t other = lane() == 0 ? line(y - 1, z) : line(slanted ? y + 1 : y, z - 1);
    const bool watches = lane() == 0 ? y > 0 : lane() == 1 && z > 0;
    watched = progress() + (watches ? other : 0);
    seen = watches ? 0 : INT32_MAX;
#pragma unroll
    for (int i = 0; i < ROWS + BACK; i++) zm[i] = z0[i] = zp[i] = y1[i] = y2[i] = z2[i] = zero<T>();
    x1 = x2 = zero<T>();
  }
  SPTI_DEVICE int64_t line(int32_t of_y, int32_t of_z) const { return int64_t(of_z) * a.stencil.grid[1] + of_y; }
  SPTI_DEVICE int32_t *progress() const { return a.progress + int64_t(tile) * a.stencil.grid[1] * a.stencil.grid[2]; }
  SPTI_DEVICE int64_t row(int32_t x) const { return a.view.backward ? a.view.n - 1 - first - x : first + x; }

  /* ---- waiting and telling ---- */

  /* Whole warp: until `goal` rows of the lines it watches are solved. False: they never are. */
  SPTI_DEVICE bool wait(int32_t goal) {
    if (all(seen >= goal)) return true;
    spin_guard guard;
    guard.start();
    for (;;) {
      if (seen < goal) {
        const int32_t now = left_out(protocol_step::acquire) ? load_relaxed(watched) : load_acquire(watched);
        if (now != seen) guard.progress();
        seen = now;
      }
      const uint32_t waiting = ballot(seen < goal);
      if (!waiting) break;
      bool on = true;
      if (lane() == first_lane(waiting)) on = guard.go_on(a.sync, row(goal - 1));
      if (!all(on)) return false;
    }
    if (!left_out(protocol_step::arrival_barrier)) syncwarp();
    return true;
  }
  SPTI_DEVICE void tell(int32_t solved) const {
    gather_updates();
    if (lane() != 0) return;
    int32_t *const word = progress() + line(y, z);
    if (left_out(protocol_step::release)) store_relaxed(word, solved);
    else store_release(word, solved);
  }

  /* ---- what rows need ---- */

  SPTI_DEVICE void read_b(int32_t x) {
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      if (x + i < X) b[i] = load_once(element_at<T>(a.transfer.from, row_at(a.transfer.from, row(x + i)), k));
  }
  /* A lane for each line of memory of what the chunk at x will need. */
  SPTI_DEVICE void ask_memory(int32_t x) const {
    constexpr int WORDS = 128 / int(sizeof(T)), PIECES = SPTI_PENCIL_TILE / WORDS > 0 ? SPTI_PENCIL_TILE / WORDS : 1;
    constexpr int OF_VALUES = (Shape::ITEMS + WORDS - 1) / WORDS;
    static_assert(ROWS * PIECES + OF_VALUES <= 32, "a lane for each");
    const int32_t i = lane() / PIECES, column = tile * SPTI_PENCIL_TILE + lane() % PIECES * WORDS;
    const spti_end &from = a.transfer.from;
    if (x + ROWS > X) return;
    if (i < ROWS && from.col_stride == 1 && column < a.transfer.width) prefetch(element_at<T>(from, row_at(from, row(x + i)), column));
    const int32_t piece = lane() - ROWS * PIECES;
    const int64_t ahead = int64_t(x) * Shape::VALUES + piece * WORDS; /* near enough: rows at the ends of lines are shorter */
    const int64_t at = a.view.backward ? first_value - ahead : first_value + ahead;
    if (piece >= 0 && piece < OF_VALUES && at >= 0 && at < a.view.nnz) prefetch(static_cast<const T *>(a.view.val) + at);
  }

  SPTI_DEVICE T of_line(int32_t lines, int32_t planes, bool exists, int32_t x) const {
    const int64_t away = (int64_t(planes) * a.stencil.grid[1] + lines) * X;
    return load_relaxed_if(exists && x < X, own + (x - away) * step, zero<T>());
  }
  template <bool Used> SPTI_DEVICE void read_line(rows &to, int32_t lines, int32_t planes, int32_t x) const {
    if constexpr (Used) {
      const bool exists = y >= lines && z >= planes && y - lines < a.stencil.grid[1];
      if constexpr (BACK > 0) {
        to[0] = to[ROWS];
        to[1] = x > 0 ? to[ROWS + 1] : of_line(lines, planes, exists, 0);
      }
#pragma unroll
      for (int i = 0; i < ROWS; i++) to[BACK + i] = of_line(lines, planes, exists, x + Shape::REACH + i);
    }
  }
  /* Rows of points along the axes at distance two need no rows around x. */
  template <bool Used> SPTI_DEVICE void read_far(rows &to, int32_t lines, int32_t planes, int32_t x) const {
    if constexpr (Used) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) to[i] = of_line(lines, planes, y >= lines && z >= planes, x + i);
    }
  }
  SPTI_DEVICE void read_lines(int32_t x) {
    read_line<Shape::CUBE>(zm, 1, 1, x);
    read_line<true>(z0, 0, 1, x);
    read_line<Shape::CUBE>(zp, -1, 1, x);
    read_line<true>(y1, 1, 0, x);
    read_far<Shape::FAR>(y2, 2, 0, x);
    read_far<Shape::FAR>(z2, 0, 2, x);
  }

  /* ---- a row ---- */

  SPTI_DEVICE T add(T sum, const T *t, int entry, T x) const { return add_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }
  SPTI_DEVICE T less(T sum, const T *t, int entry, T x) const { return less_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }

  /* Row i of the chunk; t: its values. */
  SPTI_DEVICE T solve(int i, T rhs, const T *t, const divisor<T> &by) const {
    T s = zero<T>(), more = zero<T>();
    if constexpr (Shape::CUBE) {
      s = add(add(add(s, t, Shape::ZM, zm[i]), t, Shape::ZM + 1, zm[i + 1]), t, Shape::ZM + 2, zm[i + 2]);
      more = add(add(add(more, t, Shape::Z0, z0[i]), t, Shape::Z0 + 1, z0[i + 1]), t, Shape::Z0 + 2, z0[i + 2]);
      s = add(add(s, t, Shape::ZP, zp[i]), t, Shape::ZP + 1, zp[i + 1]);
      more = add(add(more, t, Shape::Y1, y1[i]), t, Shape::Y1 + 1, y1[i + 1]);
    }
    if constexpr (Shape::FAR) {
      s = add(add(s, t, Shape::Y2, y2[i]), t, Shape::X2, x2);
      more = add(more, t, Shape::Z2, z2[i]);
    }
    const T rest = less(rhs - (s + more), t, Shape::X1, x1), last_z = Shape::CUBE ? zp[i + BACK] : z0[i];
    return by.divide(less(less(rest, t, Shape::LATEST_Z, last_z), t, Shape::LATEST_Y, y1[i + BACK]));
  }
  SPTI_DEVICE void leave(int32_t x, T v) const {
    if (!mine) return;
    store(own + x * step, v);
    if (!a.in_x) write_solution(a.transfer, row(x), k, v);
  }

  /* Whole warp. `values` and `divisors` are the warp's, in shared memory. */
  SPTI_DEVICE void run(T *values, divisor<T> *divisors) {
    pencil_values<T, Shape> coming(a, y, z);
    coming.find(0);
    first_value = shfl(coming.start, 0);
    coming.read();
    coming.find(ROWS);
    read_b(0);
    for (int32_t x = ROWS; x < Shape::EARLY; x += ROWS) ask_memory(x);
    for (int32_t x = 0; x < X; x += ROWS) {
      T rhs[ROWS];
#pragma unroll
      for (int i = 0; i < ROWS; i++) rhs[i] = b[i];
      syncwarp();
      coming.put(values);
      syncwarp();
      if (lane() < ROWS)
        divisors[lane()].set(a.view.unit ? one<T>() : conj_if(a.view.conj, values[lane() * Shape::VALUES + Shape::DIAGONAL]));
      syncwarp();
      coming.read();
      coming.find(x + 2 * ROWS);
      read_b(x + ROWS);
      ask_memory(x + Shape::EARLY);
      if (!wait(x + ROWS + Shape::REACH < X ? x + ROWS + Shape::REACH : X)) return;
      read_lines(x);
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        if (x + i >= X) break;
        const int64_t r = a.transfer.from.scale ? row_at(a.transfer.from, row(x + i)) : 0;
        const T v = solve(i, scale_rhs(a.transfer, r, rhs[i]), values + i * Shape::VALUES, divisors[i]);
        leave(x + i, v);
        x2 = x1;
        x1 = v;
      }
      tell(x + ROWS < X ? x + ROWS : X);
    }
  }
};

template <typename T, bool Cube, bool Far, bool Whole>
SPTI_KERNEL_RESIDENT(32 * SPTI_PENCIL_WARPS, (pencil_shape<T, Cube, Far, Whole>::RESIDENT))
structgrid_pencils_kernel(spti_structgrid_pencils_args a) {
  using shape = pencil_shape<T, Cube, Far, Whole>;
  SPTI_SHARED(T, values, SPTI_PENCIL_WARPS * shape::ITEMS);
  SPTI_SHARED(divisor<T>, divisors, SPTI_PENCIL_WARPS * shape::ROWS);
  const int64_t item = block_ticket(a.sync) * SPTI_PENCIL_WARPS + warp_in_block(), slot = item / a.tiles;
  const int64_t slots = spti_pencil_slots(&a.stencil), rise = spti_pencil_rise(&a.stencil), front = slot / slots;
  const int64_t above = front - (a.stencil.grid[1] - 1), lowest = above > 0 ? (above + rise - 1) / rise : 0;
  const int64_t z = lowest + slot % slots, y = front - rise * z;
  if (y < 0 || z >= a.stencil.grid[2]) return;
  pencil<T, shape>(a, int32_t(y), int32_t(z), int32_t(item % a.tiles))
      .run(values + warp_in_block() * shape::ITEMS, divisors + warp_in_block() * shape::ROWS);
}

template <typename T, bool Cube, bool Far> int launch_pencils(const spti_structgrid_pencils_args *a, void *stream) {
  const int64_t blocks = spti_pencil_blocks(&a->stencil, a->tiles);
  if (a->present) return SPTI_LAUNCH((structgrid_pencils_kernel<T, Cube, Far, false>), blocks, 32 * SPTI_PENCIL_WARPS, 0, stream, *a);
  return SPTI_LAUNCH((structgrid_pencils_kernel<T, Cube, Far, true>), blocks, 32 * SPTI_PENCIL_WARPS, 0, stream, *a);
}

template <typename T> int launch_pencils_type(const spti_structgrid_pencils_args *a, void *stream) {
  if (a->stencil.cube) return a->stencil.far ? launch_pencils<T, true, true>(a, stream) : launch_pencils<T, true, false>(a, stream);
  return a->stencil.far ? launch_pencils<T, false, true>(a, stream) : launch_pencils<T, false, false>(a, stream);
}

} // namespace spti
#endif
