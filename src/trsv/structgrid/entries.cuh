/* entries.cuh -- shared by the kernels of structgrid's tiles and pencils: the numbers of a stencil's entries, which of them the rows of
 * a grid line have, and the products of a row. */
#ifndef SPTI_TRSV_STRUCTGRID_ENTRIES_CUH
#define SPTI_TRSV_STRUCTGRID_ENTRIES_CUH

#include "core/device/syncfree.cuh"

namespace spti {

template <typename T> SPTI_DEVICE T zero() { return from_reals<T>::make(0, 0); }

/* The numbers of a row's entries in solve order, as in spti_stencil_offsets; three neighbours along x are named by the first. Offsets:
 * z2: (0,0,-2)  zm, z0, zp: (-1..1, -1|0|1, -1)  y2: (0,-2,0)  y1: (-1..1, -1, 0)  x2: (-2,0,0)  x1: (-1,0,0); then the diagonal. */
template <bool Cube, bool Far> struct grid_entries {
  static constexpr bool CUBE = Cube, FAR = Far;
  static constexpr int WIDTH = Cube ? 3 : 1; /* entries of the stencil along x */
  static constexpr int Z2 = 0, ZM = Far, Z0 = Cube ? ZM + 3 : ZM, ZP = Z0 + 3, Y2 = Cube ? ZP + 3 : Z0 + 1, Y1 = Y2 + Far, X2 = Y1 + WIDTH,
                       X1 = X2 + Far, DIAGONAL = X1 + 1, VALUES = DIAGONAL + 1;
  /* The entries whose products are subtracted last: in a tile, their solutions come from the step before. */
  static constexpr int LATEST_Y = Y1 + WIDTH - 1, LATEST_Z = Cube ? ZP + 2 : Z0;
  static constexpr int32_t ALL = (1 << DIAGONAL) - 1;
  static constexpr int32_t LEFT = Cube ? 1 << ZM | 1 << Z0 | 1 << ZP | 1 << Y1 | 1 << X1 : 1 << X1, LEFT2 = Far ? 1 << X2 : 0;
  static constexpr int32_t RIGHT = Cube ? 4 << ZM | 4 << Z0 | 4 << ZP | 4 << Y1 : 0;

  /* The entries that the rows of grid line (y, z) have, as bits, its ends apart. */
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
  /* The entries that row x of such a line has. */
  static SPTI_DEVICE int32_t allowed_at(int32_t allowed, int32_t x, int32_t X) {
    int32_t bits = allowed;
    if (x == 0) bits &= ~LEFT;
    if (x < 2) bits &= ~LEFT2;
    if (x == X - 1) bits &= ~RIGHT;
    return bits;
  }
};

/* The value, with other bits if it equals the sentinel. */
SPTI_DEVICE float distinct(float v) { return publishable(v); }
SPTI_DEVICE double distinct(double v) { return publishable(v); }
template <typename R> SPTI_DEVICE complex_t<R> distinct(complex_t<R> v) { return {publishable(v.re), publishable(v.im)}; }

/* sum + t x and sum - t x, t as stored, by operations that the compiler cannot fuse in two ways, so that tiles and pencils make the same
 * bits. Whole: rows have all entries that the grid allows; else t is the sentinel for a missing entry, and nothing is added. */
template <bool Whole, typename T> SPTI_DEVICE T add_product(bool conj, T sum, T t, T x) {
  const T more = multiply_add(conj_if(conj, t), x, sum);
  return Whole || !is_sentinel(t) ? more : sum;
}
template <bool Whole, typename T> SPTI_DEVICE T less_product(bool conj, T sum, T t, T x) {
  const T less = multiply_add(-conj_if(conj, t), x, sum);
  return Whole || !is_sentinel(t) ? less : sum;
}

} // namespace spti
#endif
