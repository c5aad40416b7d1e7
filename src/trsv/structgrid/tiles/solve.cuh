/* solve.cuh -- the kernel of structgrid's tiles: a thread block solves a tile of grid lines, one row of each line in a step.
 *
 * Line (y, z) is the X rows of the grid with that y and z. x(s) = (b(s) - sum over neighbours r of t(s,r) x(r)) / t(s,s).
 * A solving warp has the lines of one plane, a lane for each line. A line is `skew` rows behind the line before it and behind the same
 * line of the plane below. So all solutions that a row needs are at least one step old and in shared memory; one barrier of the block
 * separates two steps. In step t:
 *
 *     line j, plane w     is at x = t - skew (j + w)   its own x-1, x-2 are in registers
 *     line j-1, plane w   is at x + skew               its solutions of earlier steps are in shared memory
 *     line j, plane w-1   is at x + skew               likewise
 *
 * Other warps (fetch.cuh) keep the values of coming rows in shared memory, for both layouts, and the last lines and planes of other
 * tiles. Solutions of other tiles are their own flags (core/device/syncfree.cuh). All products whose solutions are known earlier are
 * added in the step before, so a step is two reads, three products and a store.
 *
 * No deadlock: blocks number themselves in the order in which they start, and take tiles in the order of their first steps. A tile needs
 * only tiles of an earlier band or group, which come before it. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_SOLVE_CUH
#define SPTI_TRSV_STRUCTGRID_TILES_SOLVE_CUH

#include "trsv/structgrid/tiles/fetch.cuh"

namespace spti {

template <typename T, typename Shape> struct line_solver {
  const grid_tile<T, Shape> &tile;
  int32_t k, j, w, line, first_x; /* the row of step 0 */
  bool mine, raw, tells_plane, tells_line;
  T *plane_edge, *line_edge;    /* where the solution of step 0 is published for other tiles */
  T zm[2], z0[2], zp[2], y1[2]; /* solutions at x-1 and x of the lines that the stencil needs at x-1, x and x+1 */
  T x1;                         /* the solution at x-1 */
  T rest, latest_y, latest_z;   /* of the next row: b less all known products; the two entries whose solutions were unknown */
  bool no_y, no_z;              /* the row lacks that entry */
  divisor<T> by = {};           /* the division by its diagonal */
  bool plain;

  SPTI_DEVICE line_solver(const grid_tile<T, Shape> &t, int32_t warp) : tile(t) {
    k = warp / Shape::PLANES;
    w = warp % Shape::PLANES;
    j = lane();
    line = w * Shape::LANES + j;
    first_x = -tile.lag_of(j, w);
    mine = tile.exists(j, w) && tile.first_column + k < tile.a.transfer.width;
    raw = !tile.a.transfer.from.map && !tile.a.transfer.from.scale;
    tells_plane = mine && w >= Shape::PLANES - Shape::PLANES_BACK;
    tells_line = mine && j >= Shape::LANES - Shape::LINES_BACK;
    T *const edge = tile.edge_at(tile.group, tile.band, 0, k);
    plane_edge = edge + (Shape::PLANES - 1 - w) * Shape::LANES + j;
    line_edge = edge + Shape::PLANES_BACK * Shape::LANES + (Shape::LANES - 1 - j) * Shape::PLANES + w;
#pragma unroll
    for (int i = 0; i < 2; i++) zm[i] = z0[i] = zp[i] = y1[i] = zero<T>();
    x1 = rest = latest_y = latest_z = zero<T>();
    no_y = no_z = false;
    by.set(one<T>());
    plain = true;
  }
  SPTI_DEVICE T solution(int32_t t, int32_t lines, int32_t planes) const { return *tile.solution_at(t, k, j - lines, w - planes); }

  /* sum + entry x; unless Whole, an entry may be missing: its value is the sentinel. */
  template <bool Whole> SPTI_DEVICE T add(T sum, const T *value, int entry, T x) const {
    return add_product<Whole>(tile.a.view.conj, sum, value[entry * Shape::STRIDE], x);
  }
  /* The part of the sum of step t's row that is known before step t - 1 is solved. */
  template <bool Whole> SPTI_DEVICE T known(int32_t t, const T *value) {
    T s = zero<T>(), more = zero<T>();
    if (Shape::CUBE) {
      const T z0_new = solution(t - 3, 1, 1), zm_new = solution(t - 5, 2, 1);
      s = add<Whole>(add<Whole>(add<Whole>(s, value, Shape::ZM, zm[0]), value, Shape::ZM + 1, zm[1]), value, Shape::ZM + 2, zm_new);
      more = add<Whole>(add<Whole>(add<Whole>(more, value, Shape::Z0, z0[0]), value, Shape::Z0 + 1, z0[1]), value, Shape::Z0 + 2, z0_new);
      zm[0] = zm[1], zm[1] = zm_new;
      z0[0] = z0[1], z0[1] = z0_new;
      s = add<Whole>(add<Whole>(s, value, Shape::ZP, zp[0]), value, Shape::ZP + 1, zp[1]);
      more = add<Whole>(add<Whole>(more, value, Shape::Y1, y1[0]), value, Shape::Y1 + 1, y1[1]);
    }
    if (Shape::FAR) {
      constexpr int LINES = 2, PLANES = Shape::CUBE ? 2 : 0; /* (y, z-2) of a cube is line j-2 of plane w-2, else line j */
      s = add<Whole>(add<Whole>(s, value, Shape::Y2, solution(t - 2 * Shape::SKEW, LINES, 0)), value, Shape::X2, x1);
      more = add<Whole>(more, value, Shape::Z2, solution(t - (2 + PLANES) * Shape::SKEW, PLANES, 2));
    }
    return s + more;
  }

  /* Solves the row of step t, and prepares the next row, whose values are at `place`, as far as it does not need this solution. */
  SPTI_DEVICE void step(int32_t t, int32_t place) {
    const bool conj = tile.a.view.conj, missing = tile.a.missing;
    const T y = solution(t - 1, 1, 0), z = solution(t - 1, 0, 1);
    const T *value = tile.values + place * Shape::SLOT + line;
    const T next_y = value[Shape::LATEST_Y * Shape::STRIDE], next_z = value[Shape::LATEST_Z * Shape::STRIDE],
            next_x = value[Shape::X1 * Shape::STRIDE], b = tile.rhs[(place * Shape::COLUMNS + k) * Shape::STRIDE + line];
    const T next_diagonal = tile.diagonal(place, line);
    const divisor<T> next_divisor = *tile.divisor_at(t + 1, line);
    if (Shape::CUBE) {
      y1[0] = y1[1], y1[1] = y;
      zp[0] = zp[1], zp[1] = z;
    }
    const T sum = missing ? known<false>(t + 1, value) : known<true>(t + 1, value);
    const T next_rest = (raw ? times_alpha(tile.a.transfer.alpha, b) : b) - sum;

    const bool inside = mine && tile.in_line(t + first_x);
    const T less_z = no_z ? rest : multiply_add(-latest_z, z, rest), left = no_y ? less_z : multiply_add(-latest_y, y, less_z);
    const T quick = by.quick(left);
    T v = quick;
    if (inside && !(plain && is_plain(quick))) v = by.divide(left);
    x1 = inside ? v : zero<T>();
    *tile.solution_at(t, k, j, w) = x1;

    rest = missing ? less_product<false>(conj, next_rest, next_x, x1) : less_product<true>(conj, next_rest, next_x, x1);
    no_y = missing && is_sentinel(next_y);
    no_z = missing && is_sentinel(next_z);
    latest_y = conj_if(conj, next_y);
    latest_z = conj_if(conj, next_z);
    by = next_divisor;
    plain = is_plain(next_diagonal);
    const int64_t told = int64_t(t) * (Shape::COLUMNS * Shape::EDGE);
    if (inside && tells_plane) publish(plane_edge + told, x1);
    if (inside && tells_line) publish(line_edge + told, x1);
  }
  SPTI_DEVICE void run() {
    ring_place<Shape::DEPTH> place(tile.begin + 1);
    for (int32_t t = tile.begin; t < tile.end; t++, place.next()) {
      syncwarps_apart();
      step(t, place.at);
    }
  }
};

template <typename T, bool Cube, bool Far, int Columns>
SPTI_KERNEL_RESIDENT((grid_shape<T, Cube, Far, Columns>::WARPS * 32), 1)
structgrid_solve_kernel(spti_structgrid_args a) {
  using shape = grid_shape<T, Cube, Far, Columns>;
  SPTI_DYNAMIC_SHARED(unsigned char, shared);
  const grid_tile<T, shape> tile(a, block_ticket(a.sync), shared);
  tile.prepare();
  int32_t warp = warp_in_block();
  if (warp < shape::SOLVERS) return line_solver<T, shape>(tile, warp).run();
  warp -= shape::SOLVERS;
  if (warp < shape::LOADERS && a.soa) return slot_loader<T, shape>{tile}.run(warp);
  if (warp < shape::LOADERS) return value_loader<T, shape>(tile, warp).run();
  warp -= shape::LOADERS;
  if (warp < shape::READERS) return read_columns(tile, warp);
  warp -= shape::READERS;
  if (warp < shape::WRITERS) return write_columns(tile, warp);
  warp -= shape::WRITERS;
  edge_reader<T, shape>(tile, warp * 32 + lane()).run();
}

template <typename T, bool Cube, bool Far, int Columns> int launch_structgrid_columns(const spti_structgrid_args *a, void *stream) {
  using shape = grid_shape<T, Cube, Far, Columns>;
  const int64_t blocks = int64_t(a->tiles) * ((a->transfer.width + Columns - 1) / Columns);
  return SPTI_LAUNCH((structgrid_solve_kernel<T, Cube, Far, Columns>), blocks, shape::WARPS * 32, size_t(grid_tile<T, shape>::SHARED_BYTES),
                     stream, *a);
}

template <typename T, bool Cube, bool Far> int launch_structgrid(const spti_structgrid_args *a, void *stream) {
  constexpr int MOST = sizeof(T) == 16 ? 1 : 2;
  return a->columns == 1 ? launch_structgrid_columns<T, Cube, Far, 1>(a, stream) : launch_structgrid_columns<T, Cube, Far, MOST>(a, stream);
}

template <typename T> int launch_structgrid_type(const spti_structgrid_args *a, void *stream) {
  if (a->stencil.cube) return a->stencil.far ? launch_structgrid<T, true, true>(a, stream) : launch_structgrid<T, true, false>(a, stream);
  return a->stencil.far ? launch_structgrid<T, false, true>(a, stream) : launch_structgrid<T, false, false>(a, stream);
}

} // namespace spti
#endif
