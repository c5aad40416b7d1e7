/* kernels.cu -- the kernels of structgrid-lines: start resets queues and states, solve solves all grid lines.
 *
 * A grid line (y, z) is a task. Each plane z has a queue of its lines, lowest y first, and the same number of warps; planes get their
 * warps in ascending order. A warp takes a line from its plane's queue and solves it row by row, with a lane for each entry of a row:
 * wait for the solution that the entry needs, multiply, add up over the warp. The first lane divides, writes and publishes.
 * Source: [chen2023structured] Algorithm 2; the parameters turn off parts of it, as its figures 6 and 7 do:
 *   map=row       each row begins at lane 0
 *   map=stream    the entries of consecutive rows are dealt to the lanes without gaps; columns and values are read a batch of 32 ahead
 *   state=row     a flag for each row
 *   state=line    one word for each line, the number of its solved rows
 *   poll=relaxed  relaxed polls; an acquire load when the row is solved
 *   poll=acquire  each poll is an acquire load
 * clock=1 counts the cycles that warps spend in waits for other rows, and all their cycles (figure 7).
 * No deadlock: a line waits only for lower planes, whose warps start earlier, and for lower lines of its plane, which are taken earlier.
 * Deterministic: yes, no sum depends on the order in which solutions arrive. */
#include "trsv/structgrid/lines/kernels.h"

#include "core/device/syncfree.cuh"
#include "core/device/transfer.cuh"

namespace spti {

enum { LINES_FILL_THREADS = 256 };

SPTI_KERNEL(LINES_FILL_THREADS) structgrid_lines_start_kernel(spti_structgrid_lines_args a) {
  const int64_t at = int64_t(block_in_grid()) * LINES_FILL_THREADS + thread_in_block();
  if (at < a.states) store(a.state + at, 0);
  if (at < a.grid[2]) store(a.queue + at, 0);
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
}

/* A lane's entry of a batch of 32; not used: the lane has none. */
template <typename T> struct line_entries {
  int32_t column;
  T value;
  bool used;
};

/* A grid line as one warp solves it. Counted: waits are timed. */
template <typename T, bool Counted> struct line_of_rows {
  const spti_structgrid_lines_args &a;
  int64_t first, begin; /* position of its first row; number of entries in all rows before it, in solve order */
  int32_t length;       /* number of its entries */
  bool lost;            /* a dependency was lost: the solve is given up */
  int64_t waited;       /* cycles */

  SPTI_DEVICE line_of_rows(const spti_structgrid_lines_args &args, int64_t line)
      : a(args), first(line * args.grid[0]), lost(false), waited(0) {
    begin = entries_before(0);
    length = int32_t(entries_before(a.grid[0]) - begin);
  }
  SPTI_DEVICE int64_t row(int64_t s) const { return a.view.backward ? a.view.n - 1 - s : s; }
  /* Entries of all rows before the line's row x, in solve order. */
  SPTI_DEVICE int64_t entries_before(int32_t x) const {
    const int64_t s = first + x;
    return a.view.backward ? a.view.nnz - load_const(a.view.ptr + a.view.n - s) : load_const(a.view.ptr + s);
  }
  SPTI_DEVICE line_entries<T> entry(int32_t at, bool used) const {
    const int64_t p = a.view.backward ? a.view.nnz - 1 - begin - at : begin + at;
    if (!used) return {0, from_reals<T>::make(0, 0), false};
    return {load_const(a.view.idx + p), conj_if(a.view.conj, load_const(static_cast<const T *>(a.view.val) + p)), true};
  }

  SPTI_DEVICE const int32_t *state_of(int64_t s) const { return a.state + (a.state_by_line ? s / a.grid[0] : s); }
  SPTI_DEVICE int32_t goal_of(int64_t s) const { return a.state_by_line ? int32_t(s % a.grid[0]) + 1 : 1; }
  SPTI_DEVICE int32_t poll(const int32_t *state) const { return a.acquire_polls ? load_acquire(state) : load_relaxed(state); }

  /* Whole warp: waits until row s of each lane with `wanted` is solved. */
  SPTI_DEVICE void wait(bool wanted, int64_t s) {
    const int32_t *state = state_of(wanted ? s : first), goal = goal_of(s);
    spin_guard guard;
    guard.start();
    bool missing = wanted && poll(state) < goal;
    for (uint32_t waiting = ballot(missing); waiting && !lost; waiting = ballot(missing)) {
      bool on = true;
      if (lane() == first_lane(waiting)) on = guard.go_on(a.sync, row(s));
      lost = !all(on);
      if (missing) missing = poll(state) < goal;
    }
    if (!a.acquire_polls && wanted) load_acquire(state);
    syncwarp();
  }
  /* The product of each lane's entry with its solution; zero for a lane without `wanted`. */
  SPTI_DEVICE T product_of(const line_entries<T> &e, bool wanted) {
    const int64_t s = row(e.column), before = Counted ? cycles_now() : 0; /* row is its own inverse */
    wait(wanted, s);
    if (Counted) waited += cycles_now() - before;
    return wanted ? e.value * load(static_cast<const T *>(a.x) + s) : from_reals<T>::make(0, 0);
  }
  static SPTI_DEVICE T sum(T v) {
#pragma unroll
    for (int by = 16; by > 0; by >>= 1) v = v + shfl(v, lane() ^ by);
    return v;
  }
  SPTI_DEVICE void finish(int32_t x, T others, T diagonal) const {
    const int64_t s = first + x;
    if (lane() == 0) {
      const T left = read_rhs<T>(a.transfer, row(s), 0) - others, v = a.view.unit ? left : quotient(left, diagonal);
      store(static_cast<T *>(a.x) + s, v);
      write_solution(a.transfer, row(s), 0, v);
      store_release(const_cast<int32_t *>(state_of(s)), goal_of(s));
    }
    syncwarp();
  }

  SPTI_DEVICE bool solve_by_row() {
    for (int32_t x = 0; x < a.grid[0] && !lost; x++) {
      const int32_t from = int32_t(entries_before(x) - begin), to = int32_t(entries_before(x + 1) - begin);
      const line_entries<T> mine = entry(from + lane(), from + lane() < to);
      const T others = sum(product_of(mine, mine.used && from + lane() < to - 1));
      finish(x, others, shfl(mine.value, to - 1 - from));
    }
    return !lost;
  }
  /* As bits: the lanes of the batch at `at` that have the last entry of a row, from row x on. */
  SPTI_DEVICE uint32_t ends(int32_t x, int32_t at) const {
    const int32_t mine = x + lane() < a.grid[0] ? int32_t(entries_before(x + lane() + 1) - begin) - at - 1 : 32;
    return warp_or(mine >= 0 && mine < 32 ? 1u << mine : 0);
  }
  SPTI_DEVICE bool solve_by_stream() {
    T carried = from_reals<T>::make(0, 0);
    line_entries<T> next = entry(lane(), lane() < length);
    int32_t x = 0;
    for (int32_t at = 0; at < length && !lost; at += 32) {
      const line_entries<T> mine = next;
      next = entry(at + 32 + lane(), at + 32 + lane() < length);
      uint32_t last = ends(x, at), open = ballot(mine.used);
      const bool is_diagonal = last >> lane() & 1;
      while (open && !lost) { /* row by row */
        const bool complete = last != 0;
        const uint32_t of_row = complete ? open & ((2u << first_lane(last)) - 1) : open;
        const T others = carried + sum(product_of(mine, (of_row >> lane() & 1) && !is_diagonal));
        if (complete) finish(x++, others, shfl(mine.value, first_lane(last)));
        carried = complete ? from_reals<T>::make(0, 0) : others;
        open &= ~of_row;
        last &= last - 1;
      }
    }
    return !lost;
  }
};

template <typename T, bool Counted> SPTI_KERNEL(32) structgrid_lines_solve_kernel(spti_structgrid_lines_args a) {
  const int64_t start = Counted ? cycles_now() : 0;
  const int32_t z = int32_t(block_ticket(a.sync) / a.warps);
  int64_t waited = 0;
  for (bool going = z < a.grid[2]; going;) {
    const int32_t taken = lane() == 0 ? fetch_add(a.queue + z, 1) : 0, y = shfl(taken, 0);
    if (y >= a.grid[1]) break;
    line_of_rows<T, Counted> line(a, int64_t(z) * a.grid[1] + y);
    going = a.map_stream ? line.solve_by_stream() : line.solve_by_row();
    waited += line.waited;
  }
  if (!Counted || lane() != 0) return;
  red_add(a.cycles, double(waited));
  red_add(a.cycles + 1, double(cycles_now() - start));
}

} // namespace spti

extern "C" int spti_structgrid_lines_start_launch(const spti_structgrid_lines_args *a, void *stream) {
  using namespace spti;
  const int64_t planes = a->grid[2] < SPTI_SYNCFREE_CONTROL_WORDS ? SPTI_SYNCFREE_CONTROL_WORDS : a->grid[2];
  const int64_t threads = a->states < planes ? planes : a->states;
  const int64_t blocks = (threads + LINES_FILL_THREADS - 1) / LINES_FILL_THREADS;
  return SPTI_LAUNCH(structgrid_lines_start_kernel, blocks, LINES_FILL_THREADS, 0, stream, *a);
}

extern "C" int spti_structgrid_lines_solve_launch(const spti_structgrid_lines_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) {
    using type = typename decltype(tag)::type;
    const int64_t blocks = int64_t(a->grid[2]) * a->warps;
    if (a->cycles) return SPTI_LAUNCH((structgrid_lines_solve_kernel<type, true>), blocks, 32, 0, stream, *a);
    return SPTI_LAUNCH((structgrid_lines_solve_kernel<type, false>), blocks, 32, 0, stream, *a);
  });
}
