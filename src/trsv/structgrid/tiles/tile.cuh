/* tile.cuh -- shared by all warps of the tile kernel: the stencil and the tile at compile time, and the layout of shared memory.
 * kernels.h has the tiling itself. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_TILE_CUH
#define SPTI_TRSV_STRUCTGRID_TILES_TILE_CUH

#include "core/device/copy.cuh"
#include "core/device/transfer.cuh"
#include "trsv/structgrid/entries.cuh"
#include "trsv/structgrid/tiles/kernels.h"

namespace spti {

/* A stencil and a tile at compile time. */
template <typename T, bool Cube, bool Far, int Columns> struct grid_shape : grid_entries<Cube, Far> {
  using grid_entries<Cube, Far>::VALUES;

  /* The same figures as in spti_structgrid_tiling_of. */
  static constexpr int LANES = SPTI_STRUCTGRID_LANES, SKEW = Cube ? 2 : 1, PLANES = sizeof(T) == 16 ? 2 : 4, COLUMNS = Columns;
  static constexpr int LINES_BACK = Cube || Far ? 2 : 1, PLANES_BACK = Far ? 2 : 1, LINES = LANES * PLANES, STRIDE = LINES + 1;
  static constexpr int WHOLE = 16 / int(sizeof(T)), SLOT = (VALUES * STRIDE + WHOLE - 1) / WHOLE * WHOLE;
  static constexpr int EDGE = PLANES_BACK * LANES + LINES_BACK * PLANES;
  static constexpr int CORNERS = Cube ? PLANES_BACK * LINES_BACK : 0, AROUND = EDGE + CORNERS; /* lines of other tiles that a tile needs */

  /* Shared memory holds the solutions of the last RING steps and the values of up to DEPTH steps. CHUNK rows of a line are fetched
   * together, FLUSH rows are written together. ROOM leaves 200 bytes for the ticket and for aligning arrays. */
  static constexpr int RING = Cube && Far ? 16 : 8, ACROSS = LANES + LINES_BACK, FACE = (PLANES + PLANES_BACK) * ACROSS;
  static constexpr int CHUNK = Cube || Far ? 4 : 8, FLUSH = 4;
  static constexpr int ROOM =
      SPTI_STRUCTGRID_SHARED - 200 - RING * COLUMNS * FACE * int(sizeof(T)) - LINES * (16 + 2 * int(sizeof(divisor<T>)));
  static constexpr int FIT = ROOM / ((SLOT + COLUMNS * STRIDE) * int(sizeof(T)));
  static constexpr int DEPTH = FIT < 4 * CHUNK ? FIT : 4 * CHUNK, AHEAD = DEPTH - CHUNK + 1;

  /* Number of warps for each task. */
  static constexpr int SOLVERS = COLUMNS * PLANES, LOADERS = 8, READERS = PLANES, WRITERS = PLANES, EDGES = (COLUMNS * AROUND + 31) / 32;
  static constexpr int WARPS = SOLVERS + LOADERS + READERS + WRITERS + EDGES;
  static_assert(LANES % (LOADERS / PLANES * CHUNK) == 0 && FLUSH <= CHUNK && DEPTH >= CHUNK + 4 && WARPS <= 32, "a tile's sizes");
};

/* A line of the tile, for the warps that fetch its rows. */
template <typename T> struct grid_line {
  const T *start;  /* the first value of row x = 0 in solve order */
  int32_t allowed; /* its entries; -1: there is no such line */
};

/* The block's tile. In step t = 0 the first row of its first line is solved; in steps before, data are fetched. */
template <typename T, typename Shape> struct grid_tile {
  const spti_structgrid_args &a;
  int32_t group, band, first_column; /* of right-hand sides: this block's */
  int64_t block_of_columns;
  T *values, *rhs, *ring; /* shared */
  grid_line<T> *lines;
  divisor<T> *divisors;
  int32_t begin, end; /* steps */

  SPTI_DEVICE grid_tile(const spti_structgrid_args &args, int64_t ticket, unsigned char *shared) : a(args) {
    const int32_t blocks = (a.transfer.width + Shape::COLUMNS - 1) / Shape::COLUMNS;
    const int64_t tile = ticket / blocks;
    block_of_columns = ticket % blocks;
    group = load_const(a.order + 2 * tile);
    band = load_const(a.order + 2 * tile + 1);
    first_column = int32_t(block_of_columns) * Shape::COLUMNS;
    values = reinterpret_cast<T *>(shared);
    rhs = values + Shape::DEPTH * Shape::SLOT;
    ring = rhs + Shape::DEPTH * Shape::COLUMNS * Shape::STRIDE;
    lines = reinterpret_cast<grid_line<T> *>(shared + LINES_AT);
    divisors = reinterpret_cast<divisor<T> *>(shared + DIVISORS_AT);
    begin = -(Shape::AHEAD + Shape::CHUNK);
    end = begin + (steps() + Shape::FLUSH - begin + 3) / 4 * 4;
  }
  static constexpr int WORDS = Shape::DEPTH * (Shape::SLOT + Shape::COLUMNS * Shape::STRIDE) + Shape::RING * Shape::COLUMNS * Shape::FACE;
  static constexpr int LINES_AT = (WORDS * int(sizeof(T)) + 15) / 16 * 16,
                       DIVISORS_AT = LINES_AT + Shape::LINES * int(sizeof(grid_line<T>));
  static constexpr int SHARED_BYTES = DIVISORS_AT + 2 * Shape::LINES * int(sizeof(divisor<T>));

  static_assert(SHARED_BYTES + 64 <= SPTI_STRUCTGRID_SHARED, "with the ticket, what a block takes");

  SPTI_DEVICE int32_t steps() const { return a.stencil.grid[0] + lag_of(Shape::LANES - 1, Shape::PLANES - 1); }
  static SPTI_DEVICE int32_t lag_of(int32_t j, int32_t w) { return Shape::SKEW * (j + w); }
  SPTI_DEVICE int32_t z_of(int32_t w) const { return group * Shape::PLANES + w; }
  SPTI_DEVICE int32_t y_of(int32_t j, int32_t w) const { return band * Shape::LANES + j - (Shape::CUBE ? z_of(w) : 0); }
  SPTI_DEVICE bool exists(int32_t j, int32_t w) const {
    const int32_t y = y_of(j, w), z = z_of(w);
    return y >= 0 && y < a.stencil.grid[1] && z >= 0 && z < a.stencil.grid[2];
  }
  /* The position of row x = 0 of a line that exists, and the matrix's row for its row x. */
  SPTI_DEVICE int64_t first_of(int32_t j, int32_t w) const {
    return (int64_t(z_of(w)) * a.stencil.grid[1] + y_of(j, w)) * a.stencil.grid[0];
  }
  SPTI_DEVICE int64_t row_at(int32_t j, int32_t w, int32_t x) const {
    const int64_t s = first_of(j, w) + x;
    return a.view.backward ? a.view.n - 1 - s : s;
  }
  SPTI_DEVICE bool in_line(int32_t x) const { return uint32_t(x) < uint32_t(a.stencil.grid[0]); }

  /* Where the solution of step t is: right-hand side k, line j, plane w. Lines and planes of other tiles have negative numbers. */
  SPTI_DEVICE T *solution_at(int32_t t, int32_t k, int32_t j, int32_t w) const {
    return ring + ((t & (Shape::RING - 1)) * Shape::COLUMNS + k) * Shape::FACE + (w + Shape::PLANES_BACK) * Shape::ACROSS + j +
           Shape::LINES_BACK;
  }
  /* A row's diagonal, its values being at `place`; and the prepared division by it, which exists a step before it is needed. */
  SPTI_DEVICE T diagonal(int32_t place, int32_t line) const {
    return a.view.unit ? one<T>() : conj_if(a.view.conj, values[place * Shape::SLOT + Shape::DIAGONAL * Shape::STRIDE + line]);
  }
  SPTI_DEVICE divisor<T> *divisor_at(int32_t t, int32_t line) const { return divisors + (t & 1) * Shape::LINES + line; }
  /* The values that tile (of_group, of_band) publishes in step t. */
  SPTI_DEVICE T *edge_at(int32_t of_group, int32_t of_band, int64_t t, int32_t k) const {
    const spti_structgrid_tiling tiling = spti_structgrid_tiling_of(&a.stencil, a.view.dtype);
    const int64_t tiles = int64_t(tiling.groups) * tiling.bands, place = spti_structgrid_place(&a.stencil, &tiling, of_group, of_band);
    return static_cast<T *>(a.edges) + (((block_of_columns * tiles + place) * tiling.steps + t) * Shape::COLUMNS + k) * Shape::EDGE;
  }

  /* Whole block: prepares shared memory for the first step. */
  SPTI_DEVICE void prepare() const {
    for (int32_t i = thread_in_block(); i < Shape::RING * Shape::COLUMNS * Shape::FACE; i += threads_per_block()) ring[i] = zero<T>();
    for (int32_t i = thread_in_block(); i < Shape::LINES; i += threads_per_block()) lines[i] = line_of(i % Shape::LANES, i / Shape::LANES);
    syncthreads();
  }
  SPTI_DEVICE grid_line<T> line_of(int32_t j, int32_t w) const {
    if (!exists(j, w)) return {nullptr, -1};
    const int32_t allowed = Shape::allowed(y_of(j, w), z_of(w), a.stencil.grid[1]);
    if (a.soa) return {nullptr, allowed};
    const int64_t p = load_const(a.view.ptr + row_at(j, w, 0) + (a.view.backward ? 1 : 0)) - (a.view.backward ? 1 : 0);
    return {static_cast<const T *>(a.view.val) + p, allowed};
  }
};

} // namespace spti
#endif
