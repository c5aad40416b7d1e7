/* columns.cuh -- P neighbouring right-hand sides that one access moves: 1 of any type, or 2 of a real type, which then must be aligned as a
 * pair (spti_transfer_in_twos). */
#ifndef SPTI_CORE_DEVICE_COLUMNS_CUH
#define SPTI_CORE_DEVICE_COLUMNS_CUH

#include "core/device/syncfree.cuh"

namespace spti {

template <typename T, int P> struct some_columns { T v[P]; };

template <int P, typename T> SPTI_DEVICE some_columns<T, P> load_columns(const T *at) {
  if constexpr (P == 2) {
    const two<T> both = load(reinterpret_cast<const two<T> *>(at));
    return {{both.first, both.second}};
  } else {
    return {{load(at)}};
  }
}
template <int P, typename T> SPTI_DEVICE some_columns<T, P> peek_columns(const T *at) {
  if constexpr (P == 2) {
    const two<T> both = load_relaxed(reinterpret_cast<const two<T> *>(at));
    return {{both.first, both.second}};
  } else {
    return {{peek(at)}};
  }
}
template <typename T> SPTI_DEVICE void store_columns(T *at, const some_columns<T, 1> &x) { store(at, x.v[0]); }
template <typename T> SPTI_DEVICE void store_columns(T *at, const some_columns<T, 2> &x) {
  store(reinterpret_cast<two<T> *>(at), two<T>{x.v[0], x.v[1]});
}
template <typename T> SPTI_DEVICE void store_columns_once(T *at, const some_columns<T, 1> &x) { store_once(at, x.v[0]); }
template <typename T> SPTI_DEVICE void store_columns_once(T *at, const some_columns<T, 2> &x) {
  store_once(reinterpret_cast<two<T> *>(at), two<T>{x.v[0], x.v[1]});
}
template <typename T> SPTI_DEVICE void publish_columns(T *at, const some_columns<T, 1> &x) { publish(at, x.v[0]); }
template <typename T> SPTI_DEVICE void publish_columns(T *at, const some_columns<T, 2> &x) {
  store_relaxed(reinterpret_cast<two<T> *>(at), two<T>{publishable(x.v[0]), publishable(x.v[1])});
}
template <typename T> SPTI_DEVICE bool misses_any(const some_columns<T, 1> &x) { return is_sentinel(x.v[0]); }
template <typename T> SPTI_DEVICE bool misses_any(const some_columns<T, 2> &x) { return is_sentinel(x.v[0]) || is_sentinel(x.v[1]); }

} // namespace spti
#endif
