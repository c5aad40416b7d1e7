/* structgrid_solve -- the kernel of structgrid: a warp solves several lines of a plane at once, one behind the other.
 *
 * Line (y, z) is the X rows of a grid with that y and z. x(s) = (b(s) - sum over neighbours r of t(s,r) x(r)) / t(s,s).
 * A warp has 32 >> lanes_log lines, the lanes of a line have a right-hand side each. In each step all of them solve one row; line y+1
 * is `skew` rows behind line y, so that what it needs of line y was solved in the step before and comes by a shuffle:
 *
 *     step t    line y    at x = t            own line: x-1, x-2 in registers
 *               line y+1  at x = t - skew     line y-1 at x+1: what the lanes below solved in step t-1
 *               line y+2  at x = t - 2 skew   line y of plane z-1 at x-1 .. x+3: a window; lines y-1 and y+1: windows of the lanes beside
 *
 * Only the window's newest value is read from memory, and at the edges of the warp's lines what the warp beside has solved. These
 * values are their own flags (core/syncfree.cuh); they are asked for some steps ahead and asked again where they were not there yet.
 *
 * Who waits for whom: a warp takes the next lines of its plane's queue, lower y first; planes are given warps in ascending order, in the
 * order in which blocks start. So all that lines wait for has been taken before, or will be by warps that have started: no deadlock. */
#ifndef SPTI_STRUCTGRID_SOLVE_CUH
#define SPTI_STRUCTGRID_SOLVE_CUH

#include "core/syncfree.cuh"
#include "core/transfer.cuh"
#include "trsv/structgrid_kernels.h"

namespace spti {

/* A stencil at compile time. Entry numbers in solve order, a row of three as its first one:
 * z2: (0,0,-2)  zm, z0, zp: (-1..1, -1|0|1, -1)  y2: (0,-2,0)  y1: (-1..1, -1, 0)  x2: (-2,0,0)  x1: (-1,0,0). */
template <bool Cube, bool Far> struct stencil_shape {
  static constexpr bool CUBE = Cube, FAR = Far;
  static constexpr int WIDTH = Cube ? 3 : 1; /* entries in one row of the stencil */
  static constexpr int Z2 = 0, ZM = Far, Z0 = Cube ? ZM + 3 : ZM, ZP = Z0 + 3, Y2 = Cube ? ZP + 3 : Z0 + 1, Y1 = Y2 + Far, X2 = Y1 + WIDTH,
                       X1 = X2 + Far, ENTRIES = X1 + 1;
  static constexpr int SKEW = Cube ? 2 : 1; /* rows that a line is behind the one before */
  static constexpr int LEAD = Cube ? 3 : 0; /* rows that plane z-1 is read ahead: line y+1 of it is SKEW behind, and needed at x+1 */
  static constexpr int WINDOW = Cube ? 5 : 1;
  static constexpr int32_t ALL = (1 << ENTRIES) - 1;
  static constexpr int32_t LEFT = Cube ? 1 << ZM | 1 << Z0 | 1 << ZP | 1 << Y1 | 1 << X1 : 1 << X1, LEFT2 = Far ? 1 << X2 : 0;
  static constexpr int32_t RIGHT = Cube ? 4 << ZM | 4 << Z0 | 4 << ZP | 4 << Y1 : 0;
};

template <typename T> SPTI_DEVICE T zero() { return from_reals<T>::make(0, 0); }

/* ---- the matrix ---- */

template <typename T, typename Shape> struct grid_row {
  T entry[Shape::ENTRIES], diagonal, rhs; /* zeros where there is no entry */
  int32_t present;
  bool inside; /* there is such a row */
};

/* Walks a lane's line, a row each step. */
template <typename T, typename Shape> struct grid_line {
  const T *at; /* of the row to be read next */
  int64_t step, advance, wrap;
  int32_t left; /* SOA: rows until the arrays begin again */
  int32_t allowed;
  int64_t first, from; /* position of the row at x = 0; its row in the matrix */
  bool exists, packed;

  SPTI_DEVICE void start(const spti_structgrid_args &a, int32_t y, int32_t z) {
    const int32_t X = a.stencil.grid[0], Y = a.stencil.grid[1];
    const bool stored = a.view.head || a.view.tail;
    exists = y < Y;
    packed = a.soa == nullptr;
    first = (int64_t(z) * Y + (exists ? y : 0)) * X;
    from = a.view.backward ? a.view.n - 1 - first : first;
    allowed = lines_there(y, z, Y);
    left = -1;
    wrap = 0;
    if (packed) {
      const int64_t p = load_const(a.view.ptr + from + a.view.backward);
      step = a.view.backward ? -1 : 1;
      at = static_cast<const T *>(a.view.val) + (a.view.backward ? p - 1 : p);
      advance = stored;
    } else {
      const spti_structgrid_place place = spti_structgrid_soa_place(&a, exists ? y : 0, z);
      step = place.step;
      advance = place.advance;
      left = X - place.turn;
      wrap = X * advance;
      at = static_cast<const T *>(a.soa) + place.line + place.turn * advance;
    }
  }
  SPTI_DEVICE static int32_t lines_there(int32_t y, int32_t z, int32_t Y) {
    constexpr int32_t ROW = (1 << Shape::WIDTH) - 1;
    int32_t bits = 1 << Shape::X1 | (Shape::FAR ? 1 << Shape::X2 : 0);
    if (y >= 1) bits |= ROW << Shape::Y1;
    if (z >= 1) bits |= ROW << Shape::Z0;
    if (Shape::CUBE && z >= 1 && y >= 1) bits |= ROW << Shape::ZM;
    if (Shape::CUBE && z >= 1 && y + 1 < Y) bits |= ROW << Shape::ZP;
    if (Shape::FAR && y >= 2) bits |= 1 << Shape::Y2;
    if (Shape::FAR && z >= 2) bits |= 1 << Shape::Z2;
    return bits;
  }

  /* The row at x, after those before it. */
  SPTI_DEVICE void read(const spti_structgrid_args &a, int32_t x, int32_t k, grid_row<T, Shape> *row) {
    const int32_t X = a.stencil.grid[0];
    row->inside = exists && x >= 0 && x < X;
    row->present = 0;
    row->rhs = zero<T>();
    row->diagonal = one<T>();
#pragma unroll
    for (int o = 0; o < Shape::ENTRIES; o++) row->entry[o] = zero<T>();
    if (!row->inside) return;
    row->present = a.present ? load_const(a.present + first + x) : present_at(x, X);
    int32_t behind = packed ? popcount(uint32_t(row->present)) : Shape::ENTRIES;
    if (row->present == Shape::ALL) {
#pragma unroll
      for (int o = 0; o < Shape::ENTRIES; o++) row->entry[o] = conj_if(a.view.conj, load_const(at + o * step));
    } else {
      int32_t place = 0;
#pragma unroll
      for (int o = 0; o < Shape::ENTRIES; o++) {
        const bool there = row->present >> o & 1;
        if (there) row->entry[o] = conj_if(a.view.conj, load_const(at + (packed ? place : o) * step));
        place += there;
      }
    }
    if (!a.view.unit) row->diagonal = conj_if(a.view.conj, load_const(at + behind * step));
    if (k < a.transfer.width) row->rhs = read_rhs<T>(a.transfer, a.view.backward ? from - x : from + x, k);
    at += packed ? step * (behind + advance) : advance;
    if (--left == 0) at -= wrap;
  }
  SPTI_DEVICE int32_t present_at(int32_t x, int32_t X) const {
    int32_t bits = allowed;
    if (x == 0) bits &= ~Shape::LEFT;
    if (x < 2) bits &= ~Shape::LEFT2;
    if (x == X - 1) bits &= ~Shape::RIGHT;
    return bits;
  }
};

/* ---- solutions of other warps ---- */

template <typename T> struct asked_ahead { static constexpr int STEPS = sizeof(T) < 16 ? 4 : 2; };

/* One value of a line each step, asked for some steps ahead; zeros outside of the grid. */
template <typename T> struct grid_stream {
  const T *line; /* at x = 0 */
  int32_t X;     /* 0: no such line, or not this lane's to read */
  int32_t log;   /* distance of values */
  T ahead[asked_ahead<T>::STEPS];

  SPTI_DEVICE void start(const spti_structgrid_args &a, bool wanted, int32_t y, int32_t z, int32_t k) {
    const bool exists = wanted && k < a.transfer.width && y >= 0 && y < a.stencil.grid[1] && z >= 0;
    X = exists ? a.stencil.grid[0] : 0;
    log = a.lanes_log;
    line = static_cast<const T *>(a.work) + (exists ? ((int64_t(z) * a.stencil.grid[1] + y) * X << log) + k : 0);
  }
  SPTI_DEVICE const T *place(int32_t x) const { return line + (int64_t(x) << log); }
  SPTI_DEVICE void ask(int u, int32_t x) { ahead[u] = load_relaxed_if(uint32_t(x) < uint32_t(X), place(x), zero<T>()); }
  SPTI_DEVICE void ask_again(int u, int32_t x) { ahead[u] = peek_again(place(x), ahead[u]); }
  SPTI_DEVICE bool missing(int u) const { return is_sentinel(ahead[u]); }
};

/* ---- one warp's lines ---- */

template <typename T, typename Shape> struct grid_lines {
  const spti_structgrid_args &a;
  int32_t k, j, lanes, lines; /* this lane's right-hand side and line; lanes of a line; lines */
  grid_line<T, Shape> matrix;
  grid_row<T, Shape> row, next;
  grid_stream<T> same, below, above, edge, edge2, before; /* (y,z-1); (y-1,z-1) and (y+1,z-1), (y-1,z), (y-2,z) at the edges; (y,z-2) */
  T z0[Shape::WINDOW], zm[3], zp[3], y1[3], x1, x2;       /* what rows are made of, by x ascending; results of x-1 and x-2 */

  SPTI_DEVICE grid_lines(const spti_structgrid_args &args, int32_t first_y, int32_t z) : a(args) {
    lanes = 1 << a.lanes_log;
    lines = 32 >> a.lanes_log;
    k = lane() & (lanes - 1);
    j = lane() >> a.lanes_log;
    const int32_t y = first_y + j;
    const bool lowest = j == 0, highest = j == lines - 1;
    matrix.start(a, y, z);
    same.start(a, true, y, z - 1, k);
    edge.start(a, lowest, y - 1, z, k);
    if (Shape::CUBE) {
      below.start(a, lowest, y - 1, z - 1, k);
      above.start(a, highest, y + 1, z - 1, k);
    }
    if (Shape::FAR) {
      edge2.start(a, lowest, y - 2, z, k);
      before.start(a, true, y, z - 2, k);
    }
#pragma unroll
    for (int i = 0; i < Shape::WINDOW; i++) z0[i] = zero<T>();
#pragma unroll
    for (int i = 0; i < 3; i++) zm[i] = zp[i] = y1[i] = zero<T>();
    x1 = x2 = zero<T>();
  }

  /* x of the newest value of each stream in the step that solves row x. */
  static constexpr int SIDE = Shape::CUBE ? 1 : 0;

  SPTI_DEVICE void ask(int u, int32_t x) {
    same.ask(u, x + Shape::LEAD);
    edge.ask(u, x + SIDE);
    if (Shape::CUBE) {
      below.ask(u, x + 1);
      above.ask(u, x + 1);
    }
    if (Shape::FAR) {
      edge2.ask(u, x);
      before.ask(u, x);
    }
  }
  SPTI_DEVICE bool missing(int u) const {
    bool yes = int(same.missing(u)) | int(edge.missing(u));
    if (Shape::CUBE) yes = int(yes) | int(below.missing(u)) | int(above.missing(u));
    if (Shape::FAR) yes = int(yes) | int(edge2.missing(u)) | int(before.missing(u));
    return yes;
  }
  SPTI_DEVICE void ask_again(int u, int32_t x) {
    same.ask_again(u, x + Shape::LEAD);
    edge.ask_again(u, x + SIDE);
    if (Shape::CUBE) {
      below.ask_again(u, x + 1);
      above.ask_again(u, x + 1);
    }
    if (Shape::FAR) {
      edge2.ask_again(u, x);
      before.ask_again(u, x);
    }
  }
  /* Whole warp: until nothing is missing. False: lost. */
  SPTI_DEVICE bool wait(int u, int32_t x) {
    spin_guard guard;
    guard.start();
    for (uint32_t waiting = ballot(missing(u)); waiting; waiting = ballot(missing(u))) {
      bool on = true;
      if (lane() == first_lane(waiting)) on = guard.go_on(a.sync, matrix.from + (a.view.backward ? -x : x));
      if (!all(on)) return false;
      ask_again(u, x);
    }
    return true;
  }

  /* Moves all windows on to row x. */
  SPTI_DEVICE void shift(int u) {
    const int lower = (lane() - lanes) & 31, higher = (lane() + lanes) & 31;
    const bool lowest = j == 0, highest = j == lines - 1;
    const T solved = shfl(x1, lower), two_back = Shape::FAR ? shfl(y1[0], lower) : zero<T>();
    if (Shape::CUBE) {
#pragma unroll
      for (int i = 0; i + 1 < Shape::WINDOW; i++) z0[i] = z0[i + 1];
      z0[Shape::WINDOW - 1] = same.ahead[u];
      const T from_below = shfl(z0[0], lower), from_above = shfl(z0[Shape::WINDOW - 1], higher);
      push(zm, lowest ? below.ahead[u] : from_below);
      push(zp, highest ? above.ahead[u] : from_above);
      push(y1, lowest ? edge.ahead[u] : solved);
    } else {
      z0[0] = same.ahead[u];
      y1[0] = lowest ? edge.ahead[u] : solved;
    }
    y2 = Shape::FAR && lowest ? edge2.ahead[u] : two_back;
    z2 = Shape::FAR ? before.ahead[u] : zero<T>();
  }
  SPTI_DEVICE static void push(T (&window)[3], T v) {
    window[0] = window[1];
    window[1] = window[2];
    window[2] = v;
  }
  T y2, z2; /* of the points at distance 2: no windows */

  template <bool Whole> SPTI_DEVICE T add(T sum, int o, T x) const {
    const T more = sum + row.entry[o] * x;
    return Whole || (row.present >> o & 1) ? more : sum;
  }
  template <bool Whole> SPTI_DEVICE T add_three(T sum, int o, const T *x) const {
    return add<Whole>(add<Whole>(add<Whole>(sum, o, x[0]), o + 1, x[1]), o + 2, x[2]);
  }
  /* What was solved last is added last. Whole: entries that are not present may be multiplied by zeros of outside the grid. */
  template <bool Whole> SPTI_DEVICE T sum() const {
    T s = zero<T>(), early = zero<T>();
    if (Shape::CUBE) {
      T middle = add_three<Whole>(zero<T>(), Shape::Z0, z0);
      s = add_three<Whole>(add_three<Whole>(zero<T>(), Shape::ZM, zm), Shape::ZP, zp) + middle;
      early = add<Whole>(add<Whole>(early, Shape::Y1, y1[0]), Shape::Y1 + 1, y1[1]);
    } else {
      s = add<Whole>(s, Shape::Z0, z0[0]);
    }
    if (Shape::FAR) early = add<Whole>(add<Whole>(add<Whole>(early, Shape::Z2, z2), Shape::Y2, y2), Shape::X2, x2);
    s = add<Whole>(s + early, Shape::X1, x1);
    return add<Whole>(s, Shape::Y1 + Shape::WIDTH - 1, y1[Shape::WIDTH - 1]);
  }

  SPTI_DEVICE void solve_row(int32_t x) {
    divisor<T> d;
    d.set(row.diagonal);
    const T rest = row.rhs - (a.present ? sum<false>() : sum<true>()), quick = d.quick(rest);
    const bool plain = is_plain(row.diagonal) && is_plain(quick);
    const T solution = plain ? quick : d.divide(rest);
    x2 = x1;
    x1 = row.inside ? solution : zero<T>();
    if (!row.inside || k >= a.transfer.width) return;
    T *const place = static_cast<T *>(a.work) + ((matrix.first + x) << a.lanes_log) + k;
    if (plain) store_relaxed(place, solution);
    else publish(place, solution);
    write_solution(a.transfer, a.view.backward ? matrix.from - x : matrix.from + x, k, solution);
  }

  /* Whole warp. False: a dependency is lost. */
  SPTI_DEVICE bool solve() {
    constexpr int AHEAD = asked_ahead<T>::STEPS;
    const int32_t end = a.stencil.grid[0] + Shape::SKEW * (lines - 1);
    int32_t x = -Shape::LEAD - Shape::SKEW * j;
#pragma unroll
    for (int u = 0; u < AHEAD; u++) ask(u, x + u);
    matrix.read(a, x, k, &next);
    for (int32_t t = -Shape::LEAD; t < end; t += AHEAD) {
#pragma unroll
      for (int u = 0; u < AHEAD; u++, x++) {
        row = next;
        matrix.read(a, x + 1, k, &next);
        if (!wait(u, x)) return false;
        shift(u);
        ask(u, x + AHEAD);
        solve_row(x);
      }
    }
    return true;
  }
};

static SPTI_ANYWHERE inline int32_t structgrid_bands(const spti_structgrid_args &a) {
  const int32_t lines = 32 >> a.lanes_log;
  return int32_t((int64_t(a.stencil.grid[1]) + lines - 1) / lines);
}

template <typename T, bool Cube, bool Far> SPTI_KERNEL(32) structgrid_solve_kernel(spti_structgrid_args a) {
  const int32_t z = int32_t(block_ticket(a.sync) / a.workers);
  if (z >= a.stencil.grid[2]) return;
  for (;;) {
    const int32_t taken = lane() == 0 ? fetch_add(a.queue + z, 1) : 0, band = shfl(taken, 0);
    if (band >= structgrid_bands(a)) return;
    grid_lines<T, stencil_shape<Cube, Far>> lines(a, band * (32 >> a.lanes_log), z);
    if (!lines.solve()) return;
  }
}

template <typename T, bool Cube, bool Far> int launch_structgrid(const spti_structgrid_args *a, void *stream) {
  return SPTI_LAUNCH((structgrid_solve_kernel<T, Cube, Far>), int64_t(a->stencil.grid[2]) * a->workers, 32, 0, stream, *a);
}

template <typename T> int launch_structgrid_type(const spti_structgrid_args *a, void *stream) {
  if (a->stencil.cube) return a->stencil.far ? launch_structgrid<T, true, true>(a, stream) : launch_structgrid<T, true, false>(a, stream);
  return a->stencil.far ? launch_structgrid<T, false, true>(a, stream) : launch_structgrid<T, false, false>(a, stream);
}

} // namespace spti
#endif
