/* solve.cuh -- the kernel of structgrid's pencils: a warp solves a grid line, with a lane for each of 32 right-hand sides.
 *
 * Line (y, z) is the X rows of the grid with that y and z, solved in order, a chunk of rows at a time. Solutions of a row's own line are
 * in registers. Solutions of other lines slide along x in registers: of a cube's twelve such neighbours only four, at x+1, are read.
 *
 * Protocol. Solutions are their own flags (core/device/syncfree.cuh) in X itself, which holds sentinels before: so X's rows must be
 * contiguous, and B elsewhere. A line reads all solutions of other lines that a chunk needs, prepares all that depends on no other line,
 * and reads again what was missing. Before its first chunk a line watches a single solution, of a line two wavefronts before, so that
 * lines far from their turn do not load memory.
 *
 * B and the matrix's values are read a chunk before they are needed, and are prefetched to L2 before that.
 *
 * No deadlock: blocks number themselves in the order in which they start, and pencils are dealt out by wavefronts (kernels.h).
 *
 * The bits are those of the tiles (trsv/structgrid/tiles/solve.cuh), operation by operation. */
#ifndef SPTI_TRSV_STRUCTGRID_PENCILS_SOLVE_CUH
#define SPTI_TRSV_STRUCTGRID_PENCILS_SOLVE_CUH

#include "core/device/transfer.cuh"
#include "trsv/structgrid/pencils/kernels.h"
#include "trsv/structgrid/pencils/read.cuh"

namespace spti {

template <typename T, typename Shape> struct pencil {
  static constexpr int ROWS = Shape::ROWS, BACK = Shape::BACK;
  const spti_structgrid_pencils_args &a;
  int32_t y, z, tile, X, k; /* k: the lane's right-hand side; beyond the last one, the last one again */
  bool mine;                /* k is the lane's own */
  int32_t start;            /* where the first chunk begins, 0 or before */
  int64_t step, first;      /* from row to row in X; position of row x = 0 */
  T *own;                   /* X's row x = 0 */
  const T *b_own;           /* B's row x = 0, if B is not mapped */
  int64_t b_step;           /* from a row to the next there */
  const char *asked;        /* what this lane prefetches at x = 0; NULL: nothing */
  int64_t ask_step;         /* bytes from a row to the next there */
  bool surrounded;          /* all lines that rows of this line can need exist */
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
    const spti_end &to = a.transfer.to, &from = a.transfer.from;
    step = a.view.backward ? -to.row_stride : to.row_stride;
    own = static_cast<T *>(to.data) + (a.view.backward ? (a.view.n - 1) * to.row_stride : 0) + first * step + k;
    const int64_t plane = int64_t(a.stencil.grid[1]) * X;
    const bool below = z >= 1;
    zm.open(own, step, plane + X, start, Shape::CUBE && below && y >= 1);
    z0.open(own, step, plane, start, below);
    zp.open(own, step, plane - X, start, Shape::CUBE && below && y + 1 < a.stencil.grid[1]);
    y1.open(own, step, X, start, y >= 1);
    y2.open(own, step, 2 * int64_t(X), start, Shape::FAR && y >= 2);
    z2.open(own, step, 2 * plane, start, Shape::FAR && z >= 2);
    surrounded = y1.exists && z0.exists && (!Shape::CUBE || (zm.exists && zp.exists)) && (!Shape::FAR || (y2.exists && z2.exists));
    x1 = x2 = zero<T>();
    b_step = a.view.backward ? -from.row_stride : from.row_stride;
    b_own = from.map ? NULL : element_at<T>(from, row(0), k);
  }
  /* The first row of the first chunk. Chunks of a cube's line end a row before the chunks of the previous wavefront, since a row needs
   * row x+1 of the lines there. */
  static SPTI_DEVICE int32_t start_of(int64_t front) {
    const int32_t shift = int32_t(front % ROWS);
    return Shape::CUBE ? -(shift ? shift : ROWS) : 0;
  }
  SPTI_DEVICE int64_t line(int32_t of_y, int32_t of_z) const { return int64_t(of_z) * a.stencil.grid[1] + of_y; }
  SPTI_DEVICE int64_t row(int32_t x) const { return a.view.backward ? a.view.n - 1 - first - x : first + x; }
  SPTI_DEVICE bool in_line(int32_t x) const { return uint32_t(x) < uint32_t(X); }

  /* ---- waiting ---- */

  /* The number of a line two wavefronts before; of this line if there is none. */
  SPTI_DEVICE int64_t earlier() const {
    if (z == 0) return y >= 2 ? line(y - 2, 0) : line(y, z);
    if (Shape::CUBE) return line(y, z - 1);
    if (y == 0) return z >= 2 ? line(0, z - 2) : line(y, z);
    return line(y - 1, z - 1);
  }
  /* Whole warp, before the first chunk: waits until the lines that it needs are about to begin. */
  SPTI_DEVICE bool arrive() {
    const int64_t away = line(y, z) - earlier();
    if (away == 0) return true;
    const T *const at = own - away * X * step;
    spin_guard guard;
    guard.start();
    while (any(is_missing(peek(at))))
      if (!all(guard.go_on(a.sync, row(0)))) return false;
    return true;
  }
  SPTI_DEVICE bool some_missing() const {
    uint32_t greatest = greater(z0.greatest_half(), y1.greatest_half());
    if constexpr (Shape::CUBE) greatest = greater(greatest, greater(zm.greatest_half(), zp.greatest_half()));
    if constexpr (Shape::FAR) greatest = greater(greatest, greater(y2.greatest_half(), z2.greatest_half()));
    return greatest == UINT32_MAX;
  }
  /* Whole warp: waits until no solution that was read is missing. */
  SPTI_DEVICE bool wait(int32_t x) {
    spin_guard guard;
    guard.start();
    while (any(some_missing())) {
      if (!all(guard.go_on(a.sync, row(x < 0 ? 0 : x)))) return false;
      if constexpr (Shape::CUBE) {
        zm.read_again(step);
        zp.read_again(step);
      }
      z0.read_again(step);
      y1.read_again(step);
      if constexpr (Shape::FAR) {
        y2.read_again(step);
        z2.read_again(step);
      }
    }
    return true;
  }

  /* ---- data that rows need ---- */

  SPTI_DEVICE void read_b(int32_t x) {
    const spti_end &from = a.transfer.from;
    if (from.map || x < 0 || x + ROWS > X) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) b[i] = in_line(x + i) ? load_once(element_at<T>(from, row_at(from, row(x + i)), k)) : zero<T>();
    } else {
      const T *at = b_own + x * b_step;
#pragma unroll
      for (int i = 0; i < ROWS; i++, at += b_step) b[i] = load_once(at);
    }
  }
  /* A lane for each 128 bytes of B and of values that a chunk needs; an approximation for the values of rows that lack entries. */
  static constexpr int WORDS = 128 / int(sizeof(T)), PIECES = SPTI_PENCIL_TILE / WORDS > 0 ? SPTI_PENCIL_TILE / WORDS : 1;
  SPTI_DEVICE bool is_value(const char *p) const {
    const T *const val = static_cast<const T *>(a.view.val);
    return p >= reinterpret_cast<const char *>(val) && p < reinterpret_cast<const char *>(val + a.view.nnz);
  }
  SPTI_DEVICE void prepare_asking(const pencil_values<T, Shape> &coming) {
    static_assert(ROWS * PIECES + (Shape::ITEMS + WORDS - 1) / WORDS <= 32, "a lane for each");
    const int32_t i = lane() / PIECES, column = tile * SPTI_PENCIL_TILE + lane() % PIECES * WORDS, ahead = (lane() - ROWS * PIECES) * WORDS;
    const spti_end &from = a.transfer.from;
    asked = NULL;
    if (i < ROWS) {
      ask_step = b_step * int64_t(sizeof(T));
      if (!from.map && from.col_stride == 1 && column < a.transfer.width)
        asked = reinterpret_cast<const char *>(element_at<T>(from, row(0), column) + i * b_step);
    } else {
      ask_step = (a.view.backward ? -coming.length : coming.length) * int64_t(sizeof(T));
      if (ahead < ROWS * coming.length)
        asked =
            reinterpret_cast<const char *>(static_cast<const T *>(a.view.val) + coming.inner_start(0) + (a.view.backward ? -ahead : ahead));
    }
  }
  /* Prefetches B and values of the chunk at x. */
  SPTI_DEVICE void ask_memory(int32_t x) const {
    if (x < 2 || x + ROWS >= X || !asked) return;
    const char *const at = asked + x * ask_step;
    if (Shape::WHOLE || lane() < ROWS * PIECES || is_value(at)) prefetch(at);
  }
  SPTI_DEVICE void read_lines(int32_t x) {
    if (surrounded && x >= 0 && x + Shape::REACH + ROWS <= X) {
      if constexpr (Shape::CUBE) {
        zm.read_all(step);
        zp.read_all(step);
      }
      z0.read_all(step);
      y1.read_all(step);
      if constexpr (Shape::FAR) {
        y2.read_all(step);
        z2.read_all(step);
      }
      return;
    }
    if constexpr (Shape::CUBE) {
      zm.read(x, X, step);
      zp.read(x, X, step);
    }
    z0.read(x, X, step);
    y1.read(x, X, step);
    if constexpr (Shape::FAR) {
      y2.read(x, X, step);
      z2.read(x, X, step);
    }
  }

  /* ---- rows ---- */

  SPTI_DEVICE T add(T sum, const T *t, int entry, T x) const { return add_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }
  SPTI_DEVICE T less(T sum, const T *t, int entry, T x) const { return less_product<Shape::WHOLE>(a.view.conj, sum, t[entry], x); }
  SPTI_DEVICE T diagonal(const T *t) const { return a.view.unit ? one<T>() : conj_if(a.view.conj, t[Shape::DIAGONAL]); }

  /* The two sums of row i, with values t, over the entries in other lines, but the latest two. */
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
  /* Row i's right-hand side less all products, from these sums and the solutions of the two rows before it. */
  SPTI_DEVICE T numerator(int i, T rhs, const T *t, T sum, T more, T before, T before2) const {
    if constexpr (Shape::FAR) sum = add(sum, t, Shape::X2, before2);
    const T rest = less(rhs - (sum + more), t, Shape::X1, before), last_z = Shape::CUBE ? zp.x[i + BACK] : z0.x[i];
    return less(less(rest, t, Shape::LATEST_Z, last_z), t, Shape::LATEST_Y, y1.x[i + BACK]);
  }
  /* Whether the quick quotient is what divide returns, for a plain diagonal. */
  static SPTI_DEVICE bool is_right(const divisor<T> &by, T left, T quotient) {
    if constexpr (Shape::COMPLEX) return by.divides_quickly(left);
    else return is_plain(quotient);
  }
  /* The chunk's solutions: v[2 + i] of row x + i, v[0] and v[1] of the two rows before. Quick: by quotients that are right in the middle of
   * the range only, without a branch between rows; returns whether all were right. Not Quick: each row is checked by itself, as in tiles,
   * so that a row's bits do not depend on the other rows of its chunk. */
  template <bool Quick>
  SPTI_DEVICE bool divide_rows(int32_t x, const T (&rest)[ROWS][3], const T *values, const divisor<T> *divisors, T *v) const {
    bool right = true;
#pragma unroll
    for (int i = 0; i < ROWS; i++) {
      const T left = numerator(i, rest[i][0], values + i * Shape::VALUES, rest[i][1], rest[i][2], v[i + 1], v[i]);
      const divisor<T> &by = divisors[i];
      v[i + 2] = by.quick(left);
      if (!Quick && !(is_plain(diagonal(values + i * Shape::VALUES)) && is_plain(v[i + 2]))) v[i + 2] = by.divide(left);
      right = right & is_right(by, left, v[i + 2]);
      if (Shape::CUBE && x + i < 0) v[i + 2] = zero<T>();
    }
    return right;
  }
  /* Solves and publishes the chunk at x. `plain`: its diagonals are well within the range of numbers. */
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
    if (!mine) return;
    if (x >= 0 && x + ROWS <= X) {
#pragma unroll
      for (int i = 0; i < ROWS; i++, at += step) publish_pencil(at, v[i + 2]);
    } else {
#pragma unroll
      for (int i = 0; i < ROWS; i++, at += step)
        if (in_line(x + i)) publish_pencil(at, v[i + 2]);
    }
  }
  /* rhs := alpha b, scaled. Rows beyond the line get ones: they are divided too, but not used, and ones take the quick way. */
  SPTI_DEVICE void scale_rows(int32_t x, T (&rhs)[ROWS]) const {
    const spti_end &from = a.transfer.from;
    if (from.scale) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) rhs[i] = scale_rhs(a.transfer, in_line(x + i) ? row_at(from, row(x + i)) : 0, b[i]);
    } else {
#pragma unroll
      for (int i = 0; i < ROWS; i++) rhs[i] = times_alpha(a.transfer.alpha, b[i]);
    }
    if (x >= 0 && x + ROWS <= X) return;
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      if (!in_line(x + i)) rhs[i] = one<T>();
  }

  /* Whole warp. `values` and `divisors` are the warp's, in shared memory. */
  SPTI_DEVICE void run(T *values, divisor<T> *divisors) {
    pencil_values<T, Shape> coming(a, y, z);
    prepare_asking(coming);
    coming.find(start);
    coming.read(start);
    coming.find(start + ROWS);
    read_b(start);
    for (int32_t x = start + ROWS; x < start + Shape::EARLY; x += ROWS) ask_memory(x);
    for (int32_t x = start; x < X; x += ROWS) {
      T rhs[ROWS];
      scale_rows(x, rhs);
      syncwarp();
      coming.put(values);
      read_lines(x);
      syncwarp();
      bool plain = true;
      if (lane() < ROWS) {
        const T t = in_line(x + lane()) ? diagonal(values + lane() * Shape::VALUES) : one<T>();
        divisors[lane()].set(t);
        plain = Shape::COMPLEX || is_plain(t);
      }
      plain = all(plain);
      syncwarp();
      coming.read(x + ROWS);
      coming.find(x + 2 * ROWS);
      read_b(x + ROWS);
      ask_memory(x + Shape::EARLY);
      if (x == start && !arrive()) return;
      if (!wait(x)) return;
      solve_rows(x, rhs, values, divisors, plain);
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
