/* interleaved_values_kernels.cu -- takes new values of a uniform batch apart into groups, checks diagonals, and says what became of items
 * (interleaved_kernels.h). Deterministic. */
#include <math.h>

#include "core/batch/gpu/interleaved_kernels.h"
#include "core/device/diagonal_pair.cuh"
#include "core/device/usable.cuh"

namespace spti {

enum { VALUE_THREADS = 256, TILE_ENTRIES = 32 };

/* ---- interleaving ---- */

/* A thread block turns TILE_ENTRIES entries of the items of a group: it reads along the entries and writes along the items. */
template <typename T> SPTI_KERNEL(VALUE_THREADS) interleave_kernel(spti_batch_interleave_args a) {
  SPTI_DYNAMIC_SHARED(T, tile); /* [TILE_ENTRIES][G + 1] */
  const int group_size = 1 << a.log_group, pitch = group_size + 1;
  const int64_t tiles = (a.entries - 1) / TILE_ENTRIES + 1, first_group = a.first >> a.log_group;
  const int64_t group = first_group + block_in_grid() / tiles, first = block_in_grid() % tiles * TILE_ENTRIES;
  for (int e = thread_in_block(); e < TILE_ENTRIES << a.log_group; e += VALUE_THREADS) {
    const int64_t p = first + e % TILE_ENTRIES, i = (group << a.log_group) + e / TILE_ENTRIES - a.first;
    if (p >= a.entries || i < 0 || i >= a.items) continue;
    const int64_t at = a.source ? load_const(a.source + p) : p;
    tile[e % TILE_ENTRIES * pitch + e / TILE_ENTRIES] = load_const((const T *)a.from + i * a.stride + at);
  }
  syncthreads();
  for (int e = thread_in_block(); e < TILE_ENTRIES << a.log_group; e += VALUE_THREADS) {
    const int item = e & (group_size - 1);
    const int64_t p = first + (e >> a.log_group), i = (group << a.log_group) + item - a.first;
    if (p >= a.entries || i < 0 || i >= a.items) continue;
    store((T *)a.to + ((group * a.entries + p) << a.log_group) + item, tile[(e >> a.log_group) * pitch + item]);
  }
}

template <typename T> SPTI_KERNEL(VALUE_THREADS) reorder_kernel(spti_batch_reorder_args a) {
  const int64_t e = int64_t(block_in_grid()) * VALUE_THREADS + thread_in_block(), at = e >> a.log_group;
  if (at >= a.entries * a.groups) return;
  const int64_t group = at / a.entries, from = group * a.entries + load_const(a.source + at % a.entries);
  store((T *)a.to + e, load_const((const T *)a.from + (from << a.log_group) + (e & ((1 << a.log_group) - 1))));
}

/* ---- checks ---- */

template <typename R> SPTI_DEVICE bool parts_are_finite(R v) { return is_finite_number(v); }
template <typename R> SPTI_DEVICE bool parts_are_finite(complex_t<R> v) { return is_finite_number(v.re) && is_finite_number(v.im); }

/* Half of |re| + |im|: without overflow. */
template <typename R> SPTI_DEVICE double half_size(R v) { return magnitude(double(v)) / 2; }
template <typename R> SPTI_DEVICE double half_size(complex_t<R> v) { return half_size(v.re) + half_size(v.im); }

/* What core/base/diagonal_block.h asks on the host. */
template <typename T> SPTI_DEVICE bool is_regular(T a, T u, T s, T d) {
  const bool single = sizeof(real_of<T>) == sizeof(float);
  const double epsilon = single ? 0x1p-23 : 0x1p-52, half_of_least = single ? 0x1p-150 : 0;
  const diagonal_pair<T> b(a, u, s, d);
  const double kept = half_size(b.pivot), lost = epsilon * (half_size(b.t) + half_size(b.eliminated(b.q)));
  const bool fits = is_finite_number(magnitude(b.p)) && is_finite_number(magnitude(b.r)) && is_finite_number(magnitude(b.pivot));
  return fits && parts_are_finite(b.factor) && kept > lost && kept > half_of_least;
}

SPTI_DEVICE float single_of(double v) { return float(v); }
template <typename T> SPTI_DEVICE T single_of(T v) { return v; }

template <typename T> SPTI_DEVICE bool row_is_good(const spti_batch_check_args &a, const T *diag, const T *sub, int32_t i) {
  const int64_t next = int64_t(1) << a.log_group, at = int64_t(i) << a.log_group;
  const T d = load_const(diag + at), none = from_reals<T>::make(0, 0);
  if (a.in_single && !is_usable(single_of(d))) return false;
  if (!sub) return is_usable(d);
  const T below = load_const(sub + at), above = i > 0 ? load_const(sub + at - next) : none;
  if (is_zero(below)) return !is_zero(above) || is_usable(d);
  if (!is_zero(above) || i + 1 == a.n) return false; /* blocks overlap, or the last row couples with none */
  return is_regular<T>(d, conj_if(a.hermitian != 0, below), below, load_const(diag + at + next));
}

template <typename T> SPTI_KERNEL(VALUE_THREADS) check_items_kernel(spti_batch_check_args a) {
  const int64_t e = int64_t(block_in_grid()) * VALUE_THREADS + thread_in_block();
  const int64_t at = e >> a.log_group, group = (a.first >> a.log_group) + at / a.n;
  const int64_t item = (group << a.log_group) + (e & ((1 << a.log_group) - 1));
  if (item < a.first || item >= a.first + a.items) return;
  const int64_t from = ((group * a.n) << a.log_group) + (e & ((1 << a.log_group) - 1));
  const int32_t i = int32_t(at % a.n);
  if (!row_is_good<T>(a, (const T *)a.diag + from, a.sub ? (const T *)a.sub + from : nullptr, i)) red_max(a.bad + item, a.n - i);
}

SPTI_KERNEL(VALUE_THREADS) status_kernel(spti_batch_status_args a) {
  const int64_t item = a.first + int64_t(block_in_grid()) * VALUE_THREADS + thread_in_block();
  if (item >= a.first + a.items || (a.mask && !load_const(a.mask + item))) return;
  int32_t status = SPTRSM_OK, row = -1;
  for (int part = SPTI_BATCH_PARTS - 1; part >= 0; part--) {
    const int32_t bad = a.bad[part] ? load_const(a.bad[part] + item) : 0;
    if (bad == 0) continue;
    status = SPTRSM_ERR_SINGULAR;
    row = a.n - bad;
  }
  if (a.from) {
    status = load_const(&a.from[item].status);
    row = load_const(&a.from[item].row);
  }
  store(&a.status[item].status, status);
  store(&a.status[item].row, row);
}

/* ---- launchers ---- */

static int64_t value_blocks(int64_t count) { return (count + VALUE_THREADS - 1) / VALUE_THREADS; }

static int64_t groups_of(int64_t first, int64_t items, int log_group) {
  return items > 0 ? ((first + items - 1) >> log_group) - (first >> log_group) + 1 : 0;
}

} // namespace spti

extern "C" int spti_batch_interleave_launch(const spti_batch_interleave_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  if (a->entries == 0) return 0;
  const int64_t blocks = groups_of(a->first, a->items, a->log_group) * ((a->entries - 1) / TILE_ENTRIES + 1);
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const size_t shared = sizeof(T) * TILE_ENTRIES * ((size_t(1) << a->log_group) + 1);
    return SPTI_LAUNCH(interleave_kernel<T>, blocks, VALUE_THREADS, shared, stream, *a);
  });
}

extern "C" int spti_batch_reorder_launch(const spti_batch_reorder_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(reorder_kernel<T>, value_blocks((a->entries * a->groups) << a->log_group), VALUE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_batch_check_launch(const spti_batch_check_args *a, sptrsm_dtype dtype, void *stream) {
  using namespace spti;
  const int64_t elements = (groups_of(a->first, a->items, a->log_group) * a->n) << a->log_group;
  return dispatch(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return SPTI_LAUNCH(check_items_kernel<T>, value_blocks(elements), VALUE_THREADS, 0, stream, *a);
  });
}

extern "C" int spti_batch_status_launch(const spti_batch_status_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(status_kernel, value_blocks(a->items), VALUE_THREADS, 0, stream, *a);
}
