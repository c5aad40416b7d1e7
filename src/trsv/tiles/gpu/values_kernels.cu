/* values_kernels.cu -- copies the values of a view to where the tiles store them. In formats with places that have no entry, an entry that
 * is zero gets a sign bit, so that the two differ. Deterministic. */
#include "trsv/tiles/gpu/part.cuh"

namespace spti {

template <typename T> SPTI_DEVICE T tile_value(const spti_view &v, int64_t p) {
  return conj_if(v.conj, load_const(static_cast<const T *>(v.val) + p));
}

SPTI_DEVICE bool no_bits(float v) { return float_bits(v) == 0; }
SPTI_DEVICE bool no_bits(double v) { return double_bits(v) == 0; }
template <typename R> SPTI_DEVICE bool no_bits(complex_t<R> v) { return no_bits(v.re) && no_bits(v.im); }

SPTI_DEVICE float negative_zero(float) { return bits_to_float(0x80000000u); }
SPTI_DEVICE double negative_zero(double) { return bits_to_double(0x8000000000000000ull); }
template <typename R> SPTI_DEVICE complex_t<R> negative_zero(complex_t<R> v) { return {negative_zero(v.re), R(0)}; }

template <typename T> SPTI_DEVICE void write_diagonal(const spti_tile_values_args &a, int64_t q) {
  const int32_t i = load_const(a.row + q);
  T *to = static_cast<T *>(a.diagonal) + q;
  if (i < 0 || a.view.unit) store(to, one<T>());
  else store(to, tile_value<T>(a.view, a.view.head ? load_const(a.view.ptr + i) : load_const(a.view.ptr + i + 1) - 1));
}

template <typename T> SPTI_DEVICE void write_other(const spti_tile_values_args &a, int64_t slot) {
  const int32_t p = load_const(a.value_source + slot);
  const T v = p < 0 ? T() : tile_value<T>(a.view, p);
  store(static_cast<T *>(a.value) + slot, p >= 0 && no_bits(v) ? negative_zero(v) : v);
}

template <typename T> SPTI_KERNEL(PART_THREADS) tile_values_kernel(spti_tile_values_args a) {
  const int64_t t = part_thread();
  if (t < a.places) write_diagonal<T>(a, t);
  if (t < a.values) write_other<T>(a, t);
  if (t < a.coo) store(static_cast<T *>(a.coo_value) + t, tile_value<T>(a.view, load_const(a.coo_source + t)));
  if (t < a.inner) store(static_cast<T *>(a.inner_value) + t, tile_value<T>(a.view, load_const(a.inner_source + t)));
}

} // namespace spti

extern "C" int spti_tile_values_launch(const spti_tile_values_args *a, void *stream) {
  using namespace spti;
  int32_t most = a->places;
  const int32_t sizes[] = {a->coo, a->values, a->inner};
  for (int32_t size : sizes) most = size > most ? size : most;
  return dispatch(a->view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(tile_values_kernel<T>, part_blocks(most), PART_THREADS, 0, stream, *a);
  });
}
