/* structgrid_solve -- the kernel of structgrid: a warp solves several lines of a plane at once, one behind the other.
 *
 * Line (y, z) is the X rows of a grid with that y and z. x(s) = (b(s) - sum over neighbours r of t(s,r) x(r)) / t(s,s).
 * A warp has 32 >> lanes_log lines, the lanes of a line have a right-hand side each. In each step all of them solve one row; line y+1
 * is `skew` rows behind line y, so that what it needs of line y was solved in the step before and comes by a shuffle:
 *
 *     line y      at x = t             its own x-1, x-2: in registers
 *     line y+1    at x = t - skew      line y at x+1: what the lanes beside solved in the step before
 *     line y+2    at x = t - 2 skew    plane z-1: line y+1 at x+1 is read from memory; y and y-1 have been read by the lanes beside
 *
 * For cubes, the lines of a warp begin one line lower in each plane. Then all that lane j needs of plane z-1 was solved by lane j of the
 * warp with the same lines there, or by lanes and warps before it: a plane follows the one below by a step and a hop between warps.
 *
 * Values of other warps are their own flags (core/syncfree.cuh); they are asked for some steps ahead, and again where they were not there
 * yet. Who waits for whom: a warp takes the next lines of its plane's queue, lower y first; planes are given warps in ascending order, in
 * the order in which blocks start. So all that lines wait for has been taken before, or will be by warps that have started: no deadlock. */
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
  static constexpr int SIDE = Cube ? 1 : 0; /* the newest value of a window is that at x + SIDE */
  static constexpr int32_t ALL = (1 << ENTRIES) - 1;
  static constexpr int32_t LEFT = Cube ? 1 << ZM | 1 << Z0 | 1 << ZP | 1 << Y1 | 1 << X1 : 1 << X1, LEFT2 = Far ? 1 << X2 : 0;
  static constexpr int32_t RIGHT = Cube ? 4 << ZM | 4 << Z0 | 4 << ZP | 4 << Y1 : 0;

  /* The entries of line (y, z), but for the ends of lines. */
  static SPTI_DEVICE int32_t allowed(int32_t y, int32_t z, int32_t Y) {
    constexpr int32_t ROW = (1 << WIDTH) - 1;
    int32_t bits = 1 << X1 | (Far ? 1 << X2 : 0);
    if (y >= 1) bits |= ROW << Y1;
    if (z >= 1) bits |= ROW << Z0;
    if (Cube && z >= 1 && y >= 1) bits |= ROW << ZM;
    if (Cube && z >= 1 && y + 1 < Y) bits |= ROW << ZP;
    if (Far && y >= 2) bits |= 1 << Y2;
    if (Far && z >= 2) bits |= 1 << Z2;
    return bits;
  }
};

template <typename T> SPTI_DEVICE T zero() { return from_reals<T>::make(0, 0); }

/* ---- the matrix and the right-hand side ---- */

template <typename T, typename Shape> struct grid_row {
  T entry[Shape::ENTRIES], diagonal, rhs; /* zeros, and one, where there is none */
  int32_t present;
  bool inside; /* there is such a row */
};

enum { STRUCTGRID_PREFETCH = 12 }; /* rows */

template <typename T> SPTI_DEVICE const T *behind(const T *p, int64_t bytes) {
  return reinterpret_cast<const T *>(reinterpret_cast<const char *>(p) + bytes);
}

/* Walks a lane's line, a row each step. Distances are in bytes: a product of two words of 32 bits is one instruction. */
template <typename T, typename Shape> struct grid_line {
  const spti_structgrid_args &a;
  const T *at, *rhs;  /* of the row to be read next: its first entry, its right-hand side where that is plain */
  T *work, *solution; /* of the row to be solved next */
  int64_t wrap, rhs_step, solution_step;
  int32_t step, stored, left; /* from entry to entry; diagonals are stored; by entry: rows until the arrays begin again */
  int32_t allowed, k;
  int64_t first, from; /* position of the row at x = 0; its row in the matrix */
  bool exists, mine;   /* the line; and its right-hand side */
  bool plain_from, plain_to;

  SPTI_DEVICE grid_line(const spti_structgrid_args &args, int32_t y, int32_t z, int32_t column) : a(args), k(column) {
    const int32_t X = a.stencil.grid[0], Y = a.stencil.grid[1];
    exists = y >= 0 && y < Y;
    mine = exists && k < a.transfer.width;
    first = (int64_t(z) * Y + (exists ? y : 0)) * X;
    from = a.view.backward ? a.view.n - 1 - first : first;
    allowed = Shape::allowed(y, z, Y);
    stored = a.view.head || a.view.tail;
    start_matrix(y, z);
    start_ends();
  }
  SPTI_DEVICE void start_matrix(int32_t y, int32_t z) {
    left = -1;
    wrap = 0;
    if (a.soa) {
      const spti_structgrid_place place = spti_structgrid_soa_place(&a, exists ? y : 0, z);
      at = static_cast<const T *>(a.soa) + place.line + place.turn * place.advance;
      step = int32_t(place.step * sizeof(T));
      left = a.stencil.grid[0] - place.turn;
      wrap = a.stencil.grid[0] * place.advance * int64_t(sizeof(T));
    } else {
      const int64_t p = load_const(a.view.ptr + from + a.view.backward);
      at = static_cast<const T *>(a.view.val) + (a.view.backward ? p - 1 : p);
      step = a.view.backward ? -int32_t(sizeof(T)) : int32_t(sizeof(T));
    }
  }
  SPTI_DEVICE void start_ends() {
    const int64_t direction = a.view.backward ? -int64_t(sizeof(T)) : int64_t(sizeof(T));
    work = static_cast<T *>(a.work) + (first << a.lanes_log) + k;
    plain_from = !a.transfer.from.map && !a.transfer.from.scale;
    plain_to = !a.transfer.to.map && !a.transfer.to.scale;
    rhs = element_at<T>(a.transfer.from, from, mine ? k : 0);
    solution = element_at<T>(a.transfer.to, from, mine ? k : 0);
    rhs_step = direction * a.transfer.from.row_stride;
    solution_step = direction * a.transfer.to.row_stride;
  }
  SPTI_DEVICE int64_t row_of(int32_t x) const { return a.view.backward ? from - x : from + x; }
  SPTI_DEVICE const T *entry(int32_t place) const { return behind(at, int64_t(place) * step); }

  /* The row at x, after those before it. */
  SPTI_DEVICE void read(int32_t x, grid_row<T, Shape> *row) {
    const bool inside = exists && uint32_t(x) < uint32_t(a.stencil.grid[0]);
    const int32_t present = !inside ? 0 : a.present ? load_const(a.present + first + x) : present_at(x);
    const int32_t count = a.soa ? Shape::ENTRIES : popcount(uint32_t(present));
    row->inside = inside;
    row->present = present;
    if (all(a.soa ? inside : present == Shape::ALL)) {
#pragma unroll
      for (int o = 0; o < Shape::ENTRIES; o++) row->entry[o] = conj_if(a.view.conj, load_const(entry(o)));
    } else {
      int32_t place = 0;
#pragma unroll
      for (int o = 0; o < Shape::ENTRIES; o++) {
        const bool there = present >> o & 1;
        row->entry[o] = conj_if(a.view.conj, load_const_if(there, entry(a.soa ? o : place), zero<T>()));
        place += there;
      }
    }
    row->diagonal = conj_if(a.view.conj, load_const_if(inside && !a.view.unit, entry(count), one<T>()));
    row->rhs = zero<T>();
    if (!inside) return;
    if (mine) row->rhs = plain_from ? times_alpha(a.transfer.alpha, load(rhs)) : read_rhs<T>(a.transfer, row_of(x), k);
    if (a.lanes_log == 0) prefetch_row(x);
    rhs = behind(rhs, rhs_step);
    at = behind(at, int64_t(count + stored) * step);
    if (--left == 0) at = behind(at, -wrap);
  }
  /* The row some rows on, and now and then its right-hand side: first entry of this lane's line, or this lane's share of the step. */
  SPTI_DEVICE void prefetch_row(int32_t x) const {
    constexpr int ROWS = STRUCTGRID_PREFETCH, LINE = 128;
    if (x + ROWS >= a.stencil.grid[0]) return;
    const T *row = behind(at, int64_t(ROWS * (Shape::ENTRIES + stored)) * step);
    if (a.soa) prefetch(behind(row, lane() * (LINE - int(sizeof(T))) - (left <= ROWS ? wrap : 0)));
    else prefetch(row);
    if (x % 4 == 0) prefetch(behind(rhs, ROWS * rhs_step));
  }
  SPTI_DEVICE int32_t present_at(int32_t x) const {
    int32_t bits = allowed;
    if (x == 0) bits &= ~Shape::LEFT;
    if (x < 2) bits &= ~Shape::LEFT2;
    if (x == a.stencil.grid[0] - 1) bits &= ~Shape::RIGHT;
    return bits;
  }

  /* The solution of the row at x, after those before it. plain: it is no sentinel. */
  SPTI_DEVICE void write(int32_t x, bool plain, T v) {
    if (plain) store_relaxed(work, v);
    else publish(work, v);
    if (plain_to) store(solution, v);
    else write_solution(a.transfer, row_of(x), k, v);
    work += int64_t(1) << a.lanes_log;
    solution = const_cast<T *>(behind<T>(solution, solution_step));
  }
};

/* ---- solutions of other warps ---- */

enum { STRUCTGRID_ASKED = 2 }; /* steps */

/* One value of a line each step, asked for some steps ahead; zeros outside of the grid. */
template <typename T> struct grid_stream {
  const T *line; /* at x = 0 */
  int32_t X;     /* 0: no such line, or not this lane's to read */
  T ahead[STRUCTGRID_ASKED];

  SPTI_DEVICE void start(const spti_structgrid_args &a, bool wanted, int32_t y, int32_t z, int32_t k) {
    const bool exists = wanted && k < a.transfer.width && y >= 0 && y < a.stencil.grid[1] && z >= 0;
    X = exists ? a.stencil.grid[0] : 0;
    line = static_cast<const T *>(a.work) + (exists ? ((int64_t(z) * a.stencil.grid[1] + y) * X << a.lanes_log) + k : 0);
  }
  SPTI_DEVICE const T *place(int32_t x, int32_t distance) const { return behind(line, int64_t(x) * distance); }
  SPTI_DEVICE void ask(int u, int32_t x, int32_t distance) {
    ahead[u] = load_relaxed_if(uint32_t(x) < uint32_t(X), place(x, distance), zero<T>());
  }
  SPTI_DEVICE void ask_again(int u, int32_t x, int32_t distance) { ahead[u] = peek_again(place(x, distance), ahead[u]); }
  SPTI_DEVICE bool missing(int u) const { return is_sentinel(ahead[u]); }
};

/* ---- one warp's lines ---- */

template <typename T, typename Shape> struct grid_lines {
  using row_type = grid_row<T, Shape>;
  const spti_structgrid_args &a;
  int32_t k, j, lanes, distance; /* this lane's right-hand side and line; lanes of a line; bytes from a value to that at x+1 */
  grid_line<T, Shape> line;
  row_type row, next;
  grid_stream<T> top, low, low2, edge, edge2, before; /* newest line of z-1; of the lowest line: z-1, y and y-1; y-1, y-2; (y,z-2) */
  T zm[3], z0[3], zp[3], y1[3], x1, x2, y2, z2;       /* what rows are made of, by x ascending; results of x-1 and x-2 */

  SPTI_DEVICE grid_lines(const spti_structgrid_args &args, int32_t first_y, int32_t z)
      : a(args), k(lane() & ((1 << args.lanes_log) - 1)), j(lane() >> args.lanes_log), lanes(1 << args.lanes_log),
        distance(int32_t(sizeof(T)) << args.lanes_log),
        line(args, first_y + (lane() >> args.lanes_log), z, lane() & ((1 << args.lanes_log) - 1)) {
    const int32_t y = first_y + j;
    const bool lowest = j == 0;
    top.start(a, true, y + Shape::SIDE, z - 1, k);
    edge.start(a, lowest, y - 1, z, k);
    if (Shape::CUBE) {
      low.start(a, lowest, y, z - 1, k);
      low2.start(a, lowest, y - 1, z - 1, k);
    }
    if (Shape::FAR) {
      edge2.start(a, lowest, y - 2, z, k);
      before.start(a, true, y, z - 2, k);
    }
#pragma unroll
    for (int i = 0; i < 3; i++) zm[i] = z0[i] = zp[i] = y1[i] = zero<T>();
    x1 = x2 = y2 = z2 = zero<T>();
  }

  SPTI_DEVICE void ask(int u, int32_t x) {
    top.ask(u, x + Shape::SIDE, distance);
    edge.ask(u, x + Shape::SIDE, distance);
    if (Shape::CUBE) {
      low.ask(u, x + 1, distance);
      low2.ask(u, x + 1, distance);
    }
    if (Shape::FAR) {
      edge2.ask(u, x, distance);
      before.ask(u, x, distance);
    }
  }
  SPTI_DEVICE bool missing(int u) const {
    bool yes = int(top.missing(u)) | int(edge.missing(u));
    if (Shape::CUBE) yes = int(yes) | int(low.missing(u)) | int(low2.missing(u));
    if (Shape::FAR) yes = int(yes) | int(edge2.missing(u)) | int(before.missing(u));
    return yes;
  }
  SPTI_DEVICE void ask_again(int u, int32_t x) {
    top.ask_again(u, x + Shape::SIDE, distance);
    edge.ask_again(u, x + Shape::SIDE, distance);
    if (Shape::CUBE) {
      low.ask_again(u, x + 1, distance);
      low2.ask_again(u, x + 1, distance);
    }
    if (Shape::FAR) {
      edge2.ask_again(u, x, distance);
      before.ask_again(u, x, distance);
    }
  }
  /* Whole warp: until nothing is missing. False: lost. */
  SPTI_DEVICE bool wait(int u, int32_t x) {
    spin_guard guard;
    guard.start();
    for (uint32_t waiting = ballot(missing(u)); waiting; waiting = ballot(missing(u))) {
      bool on = true;
      if (lane() == first_lane(waiting)) on = guard.go_on(a.sync, line.row_of(x));
      if (!all(on)) return false;
      ask_again(u, x);
    }
    return true;
  }

  /* Moves all windows on to row x. */
  SPTI_DEVICE void shift(int u) {
    const int lower = (lane() - lanes) & 31;
    const bool lowest = j == 0;
    const T solved = shfl(x1, lower);
    if (Shape::FAR) {
      const T two_back = shfl(y1[0], lower);
      y2 = lowest ? edge2.ahead[u] : two_back;
      z2 = before.ahead[u];
    }
    if (Shape::CUBE) {
      push(zp, top.ahead[u]);
      const T second = shfl(zp[0], lower);
      push(z0, lowest ? low.ahead[u] : second);
      const T third = shfl(z0[0], lower);
      push(zm, lowest ? low2.ahead[u] : third);
      push(y1, lowest ? edge.ahead[u] : solved);
    } else {
      z0[0] = top.ahead[u];
      y1[0] = lowest ? edge.ahead[u] : solved;
    }
  }
  SPTI_DEVICE static void push(T (&window)[3], T v) {
    window[0] = window[1];
    window[1] = window[2];
    window[2] = v;
  }

  template <bool Whole> SPTI_DEVICE T add(T sum, int o, T x) const {
    const T more = sum + row.entry[o] * x;
    return Whole || (row.present >> o & 1) ? more : sum;
  }
  template <bool Whole> SPTI_DEVICE T add_three(T sum, int o, const T *x) const {
    return add<Whole>(add<Whole>(add<Whole>(sum, o, x[0]), o + 1, x[1]), o + 2, x[2]);
  }
  /* b minus all but what was solved last, which is subtracted last. Whole: entries that are not present may be multiplied by zeros of
   * outside the grid. */
  template <bool Whole> SPTI_DEVICE T rest() const {
    T s = zero<T>(), early = zero<T>();
    if (Shape::CUBE) {
      s = add_three<Whole>(zero<T>(), Shape::ZM, zm) + add_three<Whole>(zero<T>(), Shape::Z0, z0);
      early = add<Whole>(add<Whole>(add_three<Whole>(zero<T>(), Shape::ZP, zp), Shape::Y1, y1[0]), Shape::Y1 + 1, y1[1]);
    } else {
      s = add<Whole>(s, Shape::Z0, z0[0]);
    }
    if (Shape::FAR) early = add<Whole>(add<Whole>(add<Whole>(early, Shape::Z2, z2), Shape::Y2, y2), Shape::X2, x2);
    s = add<Whole>(s + early, Shape::X1, x1);
    return row.rhs - add<Whole>(s, Shape::Y1 + Shape::WIDTH - 1, y1[Shape::WIDTH - 1]);
  }

  SPTI_DEVICE void solve_row(int32_t x) {
    divisor<T> d;
    d.set(row.diagonal);
    const T left = a.present ? rest<false>() : rest<true>(), quick = d.quick(left);
    const bool plain = is_plain(row.diagonal) && is_plain(quick), mine = row.inside && line.mine;
    T solution = quick;
    if (mine && !plain) solution = d.divide(left);
    x2 = x1;
    x1 = mine ? solution : zero<T>();
    if (mine) line.write(x, plain, solution);
  }

  /* Whole warp. False: a dependency is lost. */
  SPTI_DEVICE bool solve() {
    const int32_t end = a.stencil.grid[0] + Shape::SKEW * ((32 >> a.lanes_log) - 1);
    int32_t x = -Shape::SIDE - Shape::SKEW * j;
#pragma unroll
    for (int u = 0; u < STRUCTGRID_ASKED; u++) ask(u, x + u);
    line.read(x, &next);
    for (int32_t t = -Shape::SIDE; t < end; t += STRUCTGRID_ASKED) {
#pragma unroll
      for (int u = 0; u < STRUCTGRID_ASKED; u++, x++) {
        row = next;
        line.read(x + 1, &next);
        if (!wait(u, x)) return false;
        shift(u);
        ask(u, x + STRUCTGRID_ASKED);
        solve_row(x);
      }
    }
    return true;
  }
};

/* Lines of a warp: the first one, and how many warps' worth there are in plane z. */
template <bool Cube> SPTI_DEVICE int32_t first_line(const spti_structgrid_args &a, int32_t band, int32_t z) {
  const int32_t lines = 32 >> a.lanes_log;
  return band * lines - (Cube ? z % lines : 0);
}

template <typename T, bool Cube, bool Far> SPTI_KERNEL(32) structgrid_solve_kernel(spti_structgrid_args a) {
  const int32_t z = int32_t(block_ticket(a.sync) / a.workers);
  if (z >= a.stencil.grid[2]) return;
  for (;;) {
    const int32_t taken = lane() == 0 ? fetch_add(a.queue + z, 1) : 0, y = first_line<Cube>(a, shfl(taken, 0), z);
    if (y >= a.stencil.grid[1]) return;
    grid_lines<T, stencil_shape<Cube, Far>> lines(a, y, z);
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
