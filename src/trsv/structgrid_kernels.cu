/* structgrid_kernels -- what precedes the solve of structgrid: the work unpublished, and values by stencil entry for layout=soa. */
#include "trsv/structgrid_kernels.h"

#include "core/syncfree.cuh"

namespace spti {

enum { FILL_THREADS = 256 };

SPTI_DEVICE int64_t thread_in_grid() { return int64_t(block_in_grid()) * FILL_THREADS + thread_in_block(); }

/* reals: words of the work; with those, planes of queues and control words. */
template <typename Real> SPTI_KERNEL(FILL_THREADS) structgrid_start_kernel(spti_structgrid_args a) {
  const int64_t at = thread_in_grid(), words = a.view.dtype == SPTRSM_C64 || a.view.dtype == SPTRSM_C128 ? 2 : 1;
  const int64_t count = (int64_t(a.view.n) << a.lanes_log) * words;
  if (at < count && !left_out(protocol_step::unpublish)) store(static_cast<Real *>(a.work) + at, sentinel<Real>());
  if (at < a.stencil.grid[2]) store(a.queue + at, 0);
  if (at < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + at, 0);
}

template <typename Real> static int launch_start(const spti_structgrid_args *a, int64_t reals, void *stream) {
  const int64_t control = SPTI_SYNCFREE_CONTROL_WORDS, threads = reals < control ? control : reals;
  return SPTI_LAUNCH(structgrid_start_kernel<Real>, (threads + FILL_THREADS - 1) / FILL_THREADS, FILL_THREADS, 0, stream, *a);
}

/* A thread per row. */
template <typename T> SPTI_KERNEL(FILL_THREADS) structgrid_soa_kernel(spti_structgrid_args a) {
  const int64_t s = thread_in_grid();
  if (s >= a.view.n) return;
  const int64_t X = a.stencil.grid[0], Y = a.stencil.grid[1], i = a.view.backward ? a.view.n - 1 - s : s;
  const int32_t y = int32_t(s / X % Y), z = int32_t(s / (X * Y)), entries = spti_structgrid_entries(&a.stencil);
  const int32_t present = load_const(a.present + s);
  const spti_structgrid_place place = spti_structgrid_soa_place(&a, y, z);
  T *to = static_cast<T *>(a.soa) + place.line + (place.turn + s % X) % X * place.advance;
  const T *from = static_cast<const T *>(a.view.val) + (a.view.backward ? load_const(a.view.ptr + i + 1) - 1 : load_const(a.view.ptr + i));
  const int64_t step = a.view.backward ? -1 : 1;
  for (int32_t e = 0; e < entries; e++, to += place.step) {
    const bool there = present >> e & 1;
    store(to, there ? load_const(from) : from_reals<T>::make(0, 0));
    if (there) from += step;
  }
  if (a.view.head || a.view.tail) store(to, load_const(from));
}

template <typename T> static int launch_soa(const spti_structgrid_args *a, void *stream) {
  return SPTI_LAUNCH(structgrid_soa_kernel<T>, (int64_t(a->view.n) + FILL_THREADS - 1) / FILL_THREADS, FILL_THREADS, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_structgrid_start_launch(const spti_structgrid_args *a, void *stream) {
  const int64_t values = int64_t(a->view.n) << a->lanes_log;
  switch (a->view.dtype) {
  case SPTRSM_F32: return spti::launch_start<float>(a, values, stream);
  case SPTRSM_F64: return spti::launch_start<double>(a, values, stream);
  case SPTRSM_C64: return spti::launch_start<float>(a, 2 * values, stream);
  default: return spti::launch_start<double>(a, 2 * values, stream);
  }
}

extern "C" int spti_structgrid_soa_launch(const spti_structgrid_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->view.dtype, [&](auto tag) { return launch_soa<typename decltype(tag)::type>(a, stream); });
}

extern "C" int spti_structgrid_solve_launch(const spti_structgrid_args *a, void *stream) {
  switch (a->view.dtype) {
  case SPTRSM_F32: return spti_structgrid_f32_launch(a, stream);
  case SPTRSM_F64: return spti_structgrid_f64_launch(a, stream);
  case SPTRSM_C64: return spti_structgrid_c64_launch(a, stream);
  default: return spti_structgrid_c128_launch(a, stream);
  }
}
