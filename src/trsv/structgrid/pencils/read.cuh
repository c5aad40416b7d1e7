/* read.cuh -- what the warp of a pencil (solve.cuh) reads for each chunk of rows: its matrix values and solutions of other lines. */
#ifndef SPTI_TRSV_STRUCTGRID_PENCILS_READ_CUH
#define SPTI_TRSV_STRUCTGRID_PENCILS_READ_CUH

#include "trsv/structgrid/entries.cuh"
#include "trsv/structgrid/pencils/kernels.h"

namespace spti {

template <typename T, bool Cube, bool Far, bool Whole> struct pencil_shape : grid_entries<Cube, Far> {
  using grid_entries<Cube, Far>::VALUES;
  static constexpr bool WHOLE = Whole, COMPLEX = !std::is_same<T, real_of<T>>::value;
  static constexpr bool WIDE = sizeof(T) == 16;
  static constexpr int ROWS = WIDE ? 2 : 4;                       /* rows of a chunk */
  static constexpr int BACK = Cube ? 2 : 0, REACH = Cube ? 1 : 0; /* rows kept of the chunk before; rows of other lines needed beyond x */
  static constexpr int ITEMS = ROWS * VALUES, ROUNDS = (ITEMS + 31) / 32;
  static constexpr int EARLY = 3 * ROWS;                                        /* rows ahead for which memory is prefetched */
  static constexpr int RESIDENT = Cube ? (Far || WIDE ? 2 : 3) : (Far ? 3 : 4); /* blocks of a multiprocessor, limited by registers */
};

/* The values of a line's rows, read a chunk ahead; lanes are over the entries of the chunk's rows. */
template <typename T, typename Shape> struct pencil_values {
  static constexpr int ROWS = Shape::ROWS;
  const spti_structgrid_pencils_args &a;
  int64_t first; /* the line's first position */
  int32_t X, allowed, stored;
  int32_t length, without[2]; /* values of an inner row; how many fewer the first and the second row have */
  int64_t origin;             /* where row x = 0 begins in the matrix: its first value, or its last one if the view is backward */
  int64_t start;              /* in lane r: where row r of the chunk that was found begins */
  int32_t bits;               /* and which entries it has */
  int32_t offset[Shape::ROUNDS], inner_there; /* in inner chunks: offset of item i from the first value; bit i: it exists */
  T held[Shape::ROUNDS];
  int32_t there; /* bit i: held[i] is a value */

  SPTI_DEVICE pencil_values(const spti_structgrid_pencils_args &args, int32_t y, int32_t z)
      : a(args), first((int64_t(z) * args.stencil.grid[1] + y) * args.stencil.grid[0]), X(args.stencil.grid[0]),
        allowed(Shape::allowed(y, z, args.stencil.grid[1])), stored(args.view.head || args.view.tail ? 1 << Shape::DIAGONAL : 0), start(0),
        bits(0), inner_there(0), there(0) {
    length = popcount(uint32_t(stored | allowed));
    without[0] = length - popcount(uint32_t(stored | Shape::allowed_at(allowed, 0, X)));
    without[1] = length - popcount(uint32_t(stored | Shape::allowed_at(allowed, 1, X)));
    origin = a.view.backward ? load_const(a.view.ptr + a.view.n - first) - 1 : load_const(a.view.ptr + first);
#pragma unroll
    for (int i = 0; i < Shape::ROUNDS; i++) {
      const int32_t item = lane() + 32 * i, row = item / Shape::VALUES, entry = item % Shape::VALUES, had = stored | allowed;
      const bool is = item < Shape::ITEMS && (had >> entry & 1);
      offset[i] = is ? row * length + popcount(uint32_t(had & ((1 << entry) - 1))) : 0;
      if (a.view.backward) offset[i] = -offset[i];
      inner_there |= int32_t(is) << i;
      held[i] = zero<T>();
    }
  }
  /* Whether all rows of the chunk at x, and the row after it, have all entries that a row of this line can have. */
  SPTI_DEVICE bool is_inner(int32_t x) const { return Shape::WHOLE && x >= 2 && x + ROWS < X; }
  /* Where the values of inner row x begin. */
  SPTI_DEVICE int64_t inner_start(int32_t x) const {
    const int64_t ahead = int64_t(x) * length - without[0] - without[1];
    return a.view.backward ? origin - ahead : origin + ahead;
  }
  /* Finds the values of the chunk at x. */
  SPTI_DEVICE void find(int32_t x) {
    if (is_inner(x)) return;
    const int32_t mine = x + lane();
    bits = 0;
    if (lane() >= ROWS || mine < 0 || mine >= X) return;
    const int64_t s = first + mine;
    if (Shape::WHOLE) {
      const int64_t ahead = int64_t(mine) * length - (mine >= 1 ? without[0] : 0) - (mine >= 2 ? without[1] : 0);
      bits = stored | Shape::allowed_at(allowed, mine, X);
      start = a.view.backward ? origin - ahead : origin + ahead;
    } else {
      bits = stored | load_const(a.present + s);
      start = a.view.backward ? load_const(a.view.ptr + a.view.n - s) - 1 : load_const(a.view.ptr + s);
    }
  }
  /* Reads the values of the chunk at x, which was found before. */
  SPTI_DEVICE void read(int32_t x) {
    const T *const val = static_cast<const T *>(a.view.val);
    if (is_inner(x)) {
      const T *const at = val + inner_start(x);
      there = inner_there;
#pragma unroll
      for (int i = 0; i < Shape::ROUNDS; i++) held[i] = load_const(at + offset[i]);
      return;
    }
    there = 0;
    if (a.view.nnz == 0) return;
#pragma unroll
    for (int i = 0; i < Shape::ROUNDS; i++) {
      const int32_t item = lane() + 32 * i, row = item / Shape::VALUES, entry = item % Shape::VALUES;
      const int32_t present = shfl(bits, row), before = popcount(uint32_t(present & ((1 << entry) - 1)));
      const int64_t at = shfl(start, row) + (a.view.backward ? -before : before);
      const bool is = item < Shape::ITEMS && (present >> entry & 1);
      held[i] = load_const(val + (is ? at : 0)); /* without a branch: the loads of all rounds go out at once */
      there |= int32_t(is) << i;
    }
  }
  SPTI_DEVICE void put(T *values) const {
#pragma unroll
    for (int i = 0; i < Shape::ROUNDS; i++) {
      const T none = Shape::WHOLE ? zero<T>() : sentinel<T>(), value = Shape::WHOLE ? held[i] : distinct(held[i]);
      if (lane() + 32 * i < Shape::ITEMS) values[lane() + 32 * i] = there >> i & 1 ? value : none;
    }
  }
};

/* The upper half of a word tells the sentinel from all solutions that pencils publish, so only it is compared. */
SPTI_DEVICE uint32_t greater(uint32_t a, uint32_t b) { return a > b ? a : b; }
SPTI_DEVICE uint32_t upper_half(float v) { return float_bits(v); }
SPTI_DEVICE uint32_t upper_half(double v) { return uint32_t(double_bits(v) >> 32); }
template <typename R> SPTI_DEVICE uint32_t upper_half(complex_t<R> v) { return greater(upper_half(v.re), upper_half(v.im)); }
template <typename T> SPTI_DEVICE bool is_missing(T v) { return upper_half(v) == UINT32_MAX; }

template <typename R> SPTI_DEVICE void publish_pencil(R *p, R v) {
  store_relaxed(p, is_missing(v) && !left_out(protocol_step::publishable) ? publishable(sentinel<R>()) : v);
}
template <typename R> SPTI_DEVICE void publish_pencil(complex_t<R> *p, complex_t<R> v) {
  publish_pencil(&p->re, v.re);
  publish_pencil(&p->im, v.im);
}

/* The solutions of another grid line that a chunk needs; zeros where there is no such line. */
template <typename T, int Rows, int Back, int Reach> struct pencil_neighbour {
  const T *next; /* row x + Reach of the next chunk to be read */
  bool exists;
  T x[Rows + Back]; /* [Back + i]: row x + Reach + i */

  SPTI_DEVICE void open(const T *own, int64_t step, int64_t away, int32_t start, bool is_there) {
    exists = is_there;
    next = own + (start + Reach - away) * step;
#pragma unroll
    for (int i = 0; i < Rows + Back; i++) x[i] = zero<T>();
  }
  SPTI_DEVICE void slide() {
#pragma unroll
    for (int i = 0; i < Back; i++) x[i] = x[Rows + i];
  }
  /* The next chunk, all of whose rows exist. */
  SPTI_DEVICE void read_all(int64_t step) {
    slide();
    const T *at = next;
    next += Rows * step;
#pragma unroll
    for (int i = 0; i < Rows; i++, at += step) x[Back + i] = load_relaxed(at);
  }
  /* The chunk at `from`, of whose rows some may not exist. */
  SPTI_DEVICE void read(int32_t from, int32_t X, int64_t step) {
    slide();
    const T *at = next;
    next += Rows * step;
#pragma unroll
    for (int i = 0; i < Rows; i++, at += step)
      x[Back + i] = load_relaxed_if(exists && uint32_t(from + Reach + i) < uint32_t(X), at, zero<T>());
  }
  SPTI_DEVICE uint32_t greatest_half() const {
    uint32_t greatest = 0;
#pragma unroll
    for (int i = 0; i < Rows; i++) greatest = greater(greatest, upper_half(x[Back + i]));
    return greatest;
  }
  /* Reads again the solutions that were missing. */
  SPTI_DEVICE void read_again(int64_t step) {
    if (greatest_half() != UINT32_MAX) return;
    const T *at = next - Rows * step;
#pragma unroll
    for (int i = 0; i < Rows; i++, at += step) x[Back + i] = load_relaxed_if(is_missing(x[Back + i]), at, x[Back + i]);
  }
};

} // namespace spti
#endif
