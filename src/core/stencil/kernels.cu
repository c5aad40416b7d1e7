/* kernels.cu -- see kernels.h. To check a stencil, the thread of a row goes through the stencil's offsets and the row's entries together,
 * both in solve order; an entry that no offset matches is not in the stencil. */
#include "core/stencil/kernels.h"

#include "core/device/device.cuh"

namespace spti {

enum { CHECK_THREADS = 256 };

SPTI_DEVICE bool in_grid(int64_t at, int32_t size) { return at >= 0 && at < size; }

SPTI_KERNEL(32) stencil_last_kernel(spti_stencil_last_args a) {
  const int32_t i = a.view.backward ? 0 : a.view.n - 1;
  const int64_t begin = load_const(a.view.ptr + i) + a.view.head, end = load_const(a.view.ptr + i + 1) - a.view.tail;
  const int64_t left = end - begin - lane();
  if (lane() == 0) store(a.count, int32_t(end - begin));
  if (end - begin > SPTI_STENCIL_ENTRIES || left <= 0) return;
  const int32_t column = load_const(a.view.idx + (a.view.backward ? begin + lane() : end - 1 - lane()));
  store(a.distance + lane(), a.view.backward ? column - i : i - column);
}

SPTI_KERNEL(CHECK_THREADS) stencil_check_kernel(spti_stencil_check_args a) {
  const int64_t s = int64_t(block_in_grid()) * CHECK_THREADS + thread_in_block();
  if (s >= a.view.n) return;
  const int64_t i = a.view.backward ? a.view.n - 1 - s : s, X = a.grid[0], Y = a.grid[1], x = s % X, y = s / X % Y, z = s / (X * Y);
  const int64_t begin = load_const(a.view.ptr + i) + a.view.head, end = load_const(a.view.ptr + i + 1) - a.view.tail;
  int64_t p = a.view.backward ? end - 1 : begin, left = end - begin;
  int32_t present = 0;
  for (int32_t o = 0; o < a.count && left > 0; o++) {
    const int64_t at_x = x + a.offset[o][0], at_y = y + a.offset[o][1], at_z = z + a.offset[o][2];
    if (!in_grid(at_x, a.grid[0]) || !in_grid(at_y, a.grid[1]) || at_z < 0) continue;
    const int64_t neighbour = at_x + X * (at_y + Y * at_z), column = load_const(a.view.idx + p);
    if (column != (a.view.backward ? a.view.n - 1 - neighbour : neighbour)) continue;
    present |= 1 << o;
    p += a.view.backward ? -1 : 1;
    left--;
  }
  if (left > 0 && a.strange) red_max(a.strange, int32_t(a.view.n - i));
  if (a.present) store(a.present + s, present);
}

} // namespace spti

extern "C" int spti_stencil_last_launch(const spti_stencil_last_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(stencil_last_kernel, 1, 32, 0, stream, *a);
}

extern "C" int spti_stencil_check_launch(const spti_stencil_check_args *a, void *stream) {
  using namespace spti;
  const int64_t blocks = (int64_t(a->view.n) + CHECK_THREADS - 1) / CHECK_THREADS;
  return SPTI_LAUNCH(stencil_check_kernel, blocks, CHECK_THREADS, 0, stream, *a);
}
