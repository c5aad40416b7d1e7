/* natural_kernels.cu -- order=natural and order=level: syncfree-csr on the rows as they are stored in the view, without any preprocessing
 * but the level order.
 *
 * thread level  [su2020capellini]: a warp solves 32 consecutive rows, with one lane for each;
 * warp level    [dufrechou2018]: a warp solves one row with 32 lanes; sub-warps are between the two;
 * fusion        [zhang2021yy]: a warp whose 32 rows have at least 10 entries on average takes them one after another at warp level, and
 *               other rows at thread level.
 * Differs: each value is its own flag; lanes load several entries together. Deterministic: the terms of a sum have a fixed order. */
#include "trsv/syncfree_csr/natural.cuh"

namespace spti {

/* Neighbouring rows wait for each other; therefore many rows should be resident: small batches, for few registers. */
enum { NATURAL_BATCH = 2 };

SPTI_DEVICE int64_t sum_of_warp(int64_t v) {
  for (int distance = 16; distance > 0; distance /= 2) v += shfl(v, lane() ^ distance);
  return v;
}

/* Whole warp: the rule of fusion, for the 32 rows from `first` on. */
template <typename T> SPTI_DEVICE lane_groups lanes_of_window(const natural_rows<T> &rows, int64_t first) {
  const int64_t count = rows.a.n - first < 32 ? rows.a.n - first : 32;
  return {sum_of_warp(rows.row_at_position(first + lane()).length) < count * rows.a.average ? 0 : 5};
}

static SPTI_ANYWHERE int64_t items_of(const spti_syncfree_csr_args &a) {
  const int32_t rows = a.average > 0 ? 32 : 32 / a.lanes;
  return (int64_t(a.n) + rows - 1) / rows * a.transfer.width;
}

template <typename T>
SPTI_KERNEL_RESIDENT(32 * SPTI_CSR_MAX_WARPS, sizeof(T) < 16 ? 4 : 2)
syncfree_csr_natural_kernel(spti_syncfree_csr_args a) {
  const drawn_block<T> drawn(a);
  const int64_t item = drawn.number * warps_per_block() + warp_in_block();
  if (item >= items_of(a)) return;
  const int64_t window = item / a.transfer.width, rows_of_window = a.average > 0 ? 32 : 32 / a.lanes;
  const int64_t first = window * rows_of_window, end = first + rows_of_window < a.n ? first + rows_of_window : a.n;
  const int32_t k = int32_t(item - window * a.transfer.width);
  const natural_rows<T> rows = {a};
  const lane_groups lanes = a.average > 0 ? lanes_of_window(rows, first) : lane_groups{log_of(a.lanes)};
  for (int64_t t = first; t < end; t += 32 >> lanes.log)
    if (!solve_rows<NATURAL_BATCH, false, T>(a, rows, rows.row_at_position(t + lanes.group()), lanes, -1, drawn.work, k)) return;
}

template <typename T> static int launch_natural(const spti_syncfree_csr_args *a, void *stream) {
  const int64_t blocks = (items_of(*a) + a->block_warps - 1) / a->block_warps;
  return SPTI_LAUNCH(syncfree_csr_natural_kernel<T>, blocks, 32 * a->block_warps, 0, stream, *a);
}

} // namespace spti

extern "C" int spti_syncfree_csr_natural_launch(const spti_syncfree_csr_args *a, void *stream) {
  using namespace spti;
  return dispatch(a->dtype, [&](auto tag) { return launch_natural<typename decltype(tag)::type>(a, stream); });
}
