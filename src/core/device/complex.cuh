/* complex.cuh -- the accesses of device.cuh, which includes this, for complex values: each is moved as two words. */
#ifndef SPTI_CORE_DEVICE_COMPLEX_CUH
#define SPTI_CORE_DEVICE_COMPLEX_CUH

#include "core/device/scalar.cuh"

namespace spti {

template <typename R> SPTI_DEVICE complex_t<R> load_const(const complex_t<R> *p) { return {load_const(&p->re), load_const(&p->im)}; }
template <typename R> SPTI_DEVICE complex_t<R> load(const complex_t<R> *p) { return {load(&p->re), load(&p->im)}; }
template <typename R> SPTI_DEVICE complex_t<R> load_once(const complex_t<R> *p) { return {load_once(&p->re), load_once(&p->im)}; }
template <typename R> SPTI_DEVICE void store_once(complex_t<R> *p, complex_t<R> v) {
  store_once(&p->re, v.re);
  store_once(&p->im, v.im);
}
template <typename R> SPTI_DEVICE complex_t<R> load_relaxed(const complex_t<R> *p) { return {load_relaxed(&p->re), load_relaxed(&p->im)}; }
template <typename R> SPTI_DEVICE complex_t<R> load_relaxed_if(bool wanted, const complex_t<R> *p, complex_t<R> v) {
  return {load_relaxed_if(wanted, &p->re, v.re), load_relaxed_if(wanted, &p->im, v.im)};
}
template <typename R> SPTI_DEVICE complex_t<R> load_const_if(bool wanted, const complex_t<R> *p, complex_t<R> v) {
  return {load_const_if(wanted, &p->re, v.re), load_const_if(wanted, &p->im, v.im)};
}
template <typename R> SPTI_DEVICE void store(complex_t<R> *p, complex_t<R> v) {
  store(&p->re, v.re);
  store(&p->im, v.im);
}
template <typename R> SPTI_DEVICE void store_relaxed(complex_t<R> *p, complex_t<R> v) {
  store_relaxed(&p->re, v.re);
  store_relaxed(&p->im, v.im);
}
template <typename R> SPTI_DEVICE void red_add(complex_t<R> *p, complex_t<R> v) {
  red_add(&p->re, v.re);
  red_add(&p->im, v.im);
}
template <typename R> SPTI_DEVICE complex_t<R> shared_load_relaxed(const complex_t<R> *p) {
  return {shared_load_relaxed(&p->re), shared_load_relaxed(&p->im)};
}
template <typename R> SPTI_DEVICE void shared_store(complex_t<R> *p, complex_t<R> v) {
  shared_store(&p->re, v.re);
  shared_store(&p->im, v.im);
}
template <typename R> SPTI_DEVICE void shared_red_add(complex_t<R> *p, complex_t<R> v) {
  shared_red_add(&p->re, v.re);
  shared_red_add(&p->im, v.im);
}
template <typename R> SPTI_DEVICE complex_t<R> shfl(complex_t<R> v, int from) { return {shfl(v.re, from), shfl(v.im, from)}; }

} // namespace spti
#endif
