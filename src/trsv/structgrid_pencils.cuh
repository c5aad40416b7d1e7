/* structgrid_pencils -- the kernel of structgrid for blocks of right-hand sides: a warp solves a grid line, lanes over right-hand sides.
 *
 * Line (y, z) is the X rows of a grid with that y and z, solved in order, a chunk of rows at a time. What a row needs of its own line is
 * in registers; what it needs of other lines slides along with it: of a cube's twelve such neighbours four are read, at x+1.
 *
 * Protocol. A line counts its solved rows in a word of its own, released after each chunk; others wait until it is far enough and then read
 * solutions where they stand, in X, so that B is read and X written once and that is all the traffic there is; an X whose rows are not in
 * one piece, or moved or scaled, is the core's panel (spti_method.writes_to). Two words are looked at, (y-1, z)'s and (y+1, z-1)'s, or (y,
 * z-1)'s where there is no y+1 or the stencil has no use for it: who solved rows up to x there has waited for (y, z-1), (y-1, z-1), (y-2,
 * z) and (y, z-2) as far as that, and hands on what it acquired. Every line waits for its neighbours, whatever entries its rows have, so
 * that this holds where entries are missing.
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
  static constexpr bool WIDE = sizeof(T) == 16;
  static constexpr int ROWS = WIDE ? 2 : Cube || Far ? 4 : 8;     /* of a chunk */
  static constexpr int BACK = Cube ? 2 : 0, REACH = Cube ? 1 : 0; /* rows kept of the chunk before; rows needed of other lines beyond x */
  static constexpr int ITEMS = ROWS * VALUES, ROUNDS = (ITEMS + 31) / 32;
  static constexpr int EARLY = 3 * ROWS; /* rows ahead of which memory is asked for what comes */
  static constexpr int RESIDENT =
      Cube ? (Far || WIDE ? 2 : 3) : (Far ? 3 : 4); /* blocks of a multiprocessor: registers are what limits them */
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
    if (lane() >= Shape::ROWS || mine < 0 || mine >= X) return;
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

/* The solutions of another line of the grid, or zeros where there is none. */
template <typename T, int Rows, int Back, int Reach> struct pencil_neighbour {
  const T *next; /* row x + Reach of the chunk to be read */
  bool exists;
  T x[Rows + Back]; /* [Back + i]: row x + Reach + i */

  SPTI_DEVICE void open(const T *own, int64_t step, int64_t away, int32_t start, bool is_there) {
    exists = is_there;
    next = own + (start + Reach - away) * step;
#pragma unroll
    for (int i = 0; i < Rows + Back; i++) x[i] = zero<T>();
  }
  /* Whole warp: the chunk at `from`. Whole: all its rows exist. */
  SPTI_DEVICE void read(int32_t from, int32_t X, int64_t step, bool whole) {
#pragma unroll
    for (int i = 0; i < Back; i++) x[i] = x[Rows + i];
    if (!exists) return;
    const T *at = next;
    next += Rows * step;
    if (whole) {
#pragma unroll
      for (int i = 0; i < Rows; i++, at += step) x[Back + i] = load_relaxed(at);
    } else {
#pragma unroll
      for (int i = 0; i < Rows; i++, at += step) x[Back + i] = load_relaxed_if(uint32_t(from + Reach + i) < uint32_t(X), at, zero<T>());
    }
  }
};

template <typename T, typename Shape> struct pencil {
  static constexpr int ROWS = Shape::ROWS, BACK = Shape::BACK;
  const spti_structgrid_pencils_args &a;
  int32_t y, z, tile, X, k; /* the lane's right-hand side, or the last one again */
  bool mine;                /* not again */
  int32_t start;            /* where the first chunk begins, 0 or before */
  int64_t step, first;      /* from a row to the next in X; position of row x = 0 */
  T *own;                   /* X's row x = 0 */
  const int32_t *watched;   /* what this lane watches, of two */
  int32_t seen;             /* there, or enough */
  int64_t first_value;      /* of the line, in the matrix */
  pencil_neighbour<T, ROWS, BACK, Shape::REACH> zm, z0, zp, y1;
  pencil_neighbour<T, ROWS, 0, 0> y2, z2;
  T b[ROWS], x1, x2;

  SPTI_DEVICE pencil(const spti_structgrid_pencils_args &args, int32_t of_y, int32_t of_z, int32_t of_tile)
      : a(args), y(of_y), z(of_z), tile(of_tile), X(args.stencil.grid[0]) {
    const int32_t at = tile * SPTI_PENCIL_TILE + lane(), last = a.transfer.width - 1;
    mine = at <= last;
    k = mine ? at : last;
    start = start_of(y + int64_t(spti_pencil_rise(&a.stencil)) * z);
    first = line(y, z) * X;
    const spti_end &to = a.transfer.to;
    step = a.view.backward ? -to.row_stride : to.row_stride;
    own = static_cast<T *>(to.data) + (a.view.backward ? (a.view.n - 1) * to.row_stride : 0) + first * step + k;
    watch();
    const int64_t plane = int64_t(a.stencil.grid[1]) * X;
    const bool below = z >= 1;
    zm.open(own, step, plane + X, start, Shape::CUBE && below && y >= 1);
    z0.open(own, step, plane, start, below);
    zp.open(own, step, plane - X, start, Shape::CUBE && below && y + 1 < a.stencil.grid[1]);
    y1.open(own, step, X, start, y >= 1);
    y2.open(own, step, 2 * int64_t(X), start, Shape::FAR && y >= 2);
    z2.open(own, step, 2 * plane, start, Shape::FAR && z >= 2);
    x1 = x2 = zero<T>();
  }
  /* Chunks of a cube's line end a row before those of the wavefront before: that row more is all they need. */
  static SPTI_DEVICE int32_t start_of(int64_t front) {
    const int32_t shift = int32_t(front % ROWS);
    return Shape::CUBE ? -(shift ? shift : ROWS) : 0;
  }
  SPTI_DEVICE int64_t line(int32_t of_y, int32_t of_z) const { return int64_t(of_z) * a.stencil.grid[1] + of_y; }
  SPTI_DEVICE int32_t *progress() const { return a.progress + int64_t(tile) * a.stencil.grid[1] * a.stencil.grid[2]; }
  SPTI_DEVICE int64_t row(int32_t x) const { return a.view.backward ? a.view.n - 1 - first - x : first + x; }
  SPTI_DEVICE bool in_line(int32_t x) const { return uint32_t(x) < uint32_t(X); }

  /* ---- waiting and telling ---- */

  SPTI_DEVICE void watch() {
    const bool slanted = Shape::CUBE && y + 1 < a.stencil.grid[1], watches = lane() == 0 ? y > 0 : lane() == 1 && z > 0;
    const int64_t other = lane() == 0 ? line(y - 1, z) : line(slanted ? y + 1 : y, z - 1);
    watched = progress() + (watches ? other : 0);
    seen = watches ? 0 : INT32_MAX;
  }
  /* Whole warp: until `goal` rows of the lines it watches are solved. False: they never are. */
  SPTI_DEVICE bool wait(int32_t goal) {
    if (all(seen >= goal)) return true;
    spin_guard guard;
    guard.start();
    for (;;) {
      const int32_t before = seen;
      if (seen < goal) seen = left_out(protocol_step::acquire) ? load_relaxed(watched) : load_acquire(watched);
      if (all(seen >= goal)) break;
      if (seen != before) guard.progress();
      if (!all(seen >= goal || guard.go_on(a.sync, row(goal - 1)))) return false;
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
    const spti_end &from = a.transfer.from;
    if (from.map || x < 0 || x + ROWS > X) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) b[i] = in_line(x + i) ? load_once(element_at<T>(from, row_at(from, row(x + i)), k)) : zero<T>();
    } else {
      const T *at = element_at<T>(from, row(x), k);
      const int64_t by = a.view.backward ? -from.row_stride : from.row_stride;
#pragma unroll
      for (int i = 0; i < ROWS; i++, at += by) b[i] = load_once(at);
    }
  }
  /* A lane for each line of memory of what the chunk at x will need. */
  SPTI_DEVICE void ask_memory(int32_t x) const {
    constexpr int WORDS = 128 / int(sizeof(T)), PIECES = SPTI_PENCIL_TILE / WORDS > 0 ? SPTI_PENCIL_TILE / WORDS : 1;
    constexpr int OF_VALUES = (Shape::ITEMS + WORDS - 1) / WORDS;
    static_assert(ROWS * PIECES + OF_VALUES <= 32, "a lane for each");
    const int32_t i = lane() / PIECES, column = tile * SPTI_PENCIL_TILE + lane() % PIECES * WORDS;
    const spti_end &from = a.transfer.from;
    if (x < 0 || x + ROWS > X) return;
    if (i < ROWS && from.col_stride == 1 && column < a.transfer.width) prefetch(element_at<T>(from, row_at(from, row(x + i)), column));
    const int32_t piece = lane() - ROWS * PIECES;
    const int64_t ahead = int64_t(x) * Shape::VALUES + piece * WORDS; /* near enough: rows at the ends of lines are shorter */
    const int64_t at = a.view.backward ? first_value - ahead : first_value + ahead;
    if (piece >= 0 && piece < OF_VALUES && at >= 0 && at < a.view.nnz) prefetch(static_cast<const T *>(a.view.val) + at);
  }
  SPTI_DEVICE void read_lines(int32_t x) {
    const bool whole = x >= 0 && x + Shape::REACH + ROWS <= X;
    if constexpr (Shape::CUBE) {
      zm.read(x, X, step, whole);
      zp.read(x, X, step, whole);
    }
    z0.read(x, X, step, whole);
    y1.read(x, X, step, whole);
    if constexpr (Shape::FAR) {
      y2.read(x, X, step, whole);
      z2.read(x, X, step, whole);
    }
  }

  /* ---- rows ---- */

  SPTI_DEVICE T add(T sum, const T *t, int entry, T x) const { return add_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }
  SPTI_DEVICE T less(T sum, const T *t, int entry, T x) const { return less_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }
  SPTI_DEVICE T diagonal(const T *t) const { return a.view.unit ? one<T>() : conj_if(a.view.conj, t[Shape::DIAGONAL]); }

  /* Two sums of row i, its values in t: what other lines contribute, but the latest. */
  SPTI_DEVICE void sum_up(int i, const T *t, T *sum, T *more) const {
    T s = zero<T>(), m = zero<T>();
    if constexpr (Shape::CUBE) {
      s = add(add(add(s, t, Shape::ZM, zm.x[i]), t, Shape::ZM + 1, zm.x[i + 1]), t, Shape::ZM + 2, zm.x[i + 2]);
      m = add(add(add(m, t, Shape::Z0, z0.x[i]), t, Shape::Z0 + 1, z0.x[i + 1]), t, Shape::Z0 + 2, z0.x[i + 2]);
      s = add(add(s, t, Shape::ZP, zp.x[i]), t, Shape::ZP + 1, zp.x[i + 1]);
      m = add(add(m, t, Shape::Y1, y1.x[i]), t, Shape::Y1 + 1, y1.x[i + 1]);
    }
    if constexpr (Shape::FAR) {
      s = add(s, t, Shape::Y2, y2.x[i]);
      m = add(m, t, Shape::Z2, z2.x[i]);
    }
    *sum = s;
    *more = m;
  }
  /* Row i's numerator from those, and the solutions of the two rows before it. */
  SPTI_DEVICE T numerator(int i, T rhs, const T *t, T sum, T more, T before, T before2) const {
    if constexpr (Shape::FAR) sum = add(sum, t, Shape::X2, before2);
    const T rest = less(rhs - (sum + more), t, Shape::X1, before), last_z = Shape::CUBE ? zp.x[i + BACK] : z0.x[i];
    return less(less(rest, t, Shape::LATEST_Z, last_z), t, Shape::LATEST_Y, y1.x[i + BACK]);
  }
  /* The chunk's solutions; v[2 + i] is row x + i's, v[0] and v[1] those before. Quick: by quotients without a look at the range. Returns
   * whether that was right: so branches are not in the way from row to row. Otherwise each row is looked at by itself, as tiles do: a row's
   * bits do not depend on the others of its chunk. */
  template <bool Quick>
  SPTI_DEVICE bool divide_rows(int32_t x, const T (&rest)[ROWS][3], const T *values, const divisor<T> *divisors, T *v) const {
    bool right = true;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      const T left = numerator(i, rest[i][0], values + i * Shape::VALUES, rest[i][1], rest[i][2], v[i + 1], v[i]);
      const divisor<T> &by = divisors[i];
      v[i + 2] = by.quick(left);
      if (!Quick && !(is_plain(diagonal(values + i * Shape::VALUES)) && is_plain(v[i + 2]))) v[i + 2] = by.divide(left);
      right = right && (is_plain(v[i + 2]) || !in_line(x + i));
      if (x + i < 0) v[i + 2] = zero<T>();
    }
    return right;
  }
  /* The chunk at x. `plain`: its diagonals are well within the range. */
  SPTI_DEVICE void solve_rows(int32_t x, const T (&rhs)[ROWS], const T *values, const divisor<T> *divisors, bool plain) {
    T rest[ROWS][3], v[ROWS + 2] = {x2, x1};
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      rest[i][0] = rhs[i];
      sum_up(i, values + i * Shape::VALUES, &rest[i][1], &rest[i][2]);
    }
    if (!(plain && divide_rows<true>(x, rest, values, divisors, v))) divide_rows<false>(x, rest, values, divisors, v);
    x2 = v[ROWS];
    x1 = v[ROWS + 1];
    T *at = own + x * step;
#pragma unroll
    for (int i = 0; i < ROWS; i++, at += step)
      if (mine && in_line(x + i)) store(at, v[i + 2]);
  }
  SPTI_DEVICE void scale_rows(int32_t x, T (&rhs)[ROWS]) const {
    const spti_end &from = a.transfer.from;
    if (from.scale) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) rhs[i] = scale_rhs(a.transfer, in_line(x + i) ? row_at(from, row(x + i)) : 0, b[i]);
    } else {
#pragma unroll
      for (int i = 0; i < ROWS; i++) rhs[i] = times_alpha(a.transfer.alpha, b[i]);
    }
  }

  /* Whole warp. `values` and `divisors` are the warp's, in shared memory. */
  SPTI_DEVICE void run(T *values, divisor<T> *divisors) {
    pencil_values<T, Shape> coming(a, y, z);
    coming.find(0);
    first_value = shfl(coming.start, 0);
    coming.find(start);
    coming.read();
    coming.find(start + ROWS);
    read_b(start);
    for (int32_t x = start + ROWS; x < start + Shape::EARLY; x += ROWS) ask_memory(x);
    for (int32_t x = start; x < X; x += ROWS) {
      T rhs[ROWS];
      scale_rows(x, rhs);
      syncwarp();
      coming.put(values);
      syncwarp();
      bool plain = true;
      if (lane() < ROWS) { /* what is beyond the line is divided as well, and not used */
        const T t = in_line(x + lane()) ? diagonal(values + lane() * Shape::VALUES) : one<T>();
        divisors[lane()].set(t);
        plain = is_plain(t);
      }
      plain = all(plain);
      syncwarp();
      coming.read();
      coming.find(x + 2 * ROWS);
      read_b(x + ROWS);
      ask_memory(x + Shape::EARLY);
      const int32_t end = x + ROWS < X ? x + ROWS : X;
      if (!wait(end + Shape::REACH < X ? end + Shape::REACH : X)) return;
      read_lines(x);
      solve_rows(x, rhs, values, divisors, plain);
      if (end > 0) tell(end);
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
