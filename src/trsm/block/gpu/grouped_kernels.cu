/* grouped_kernels.cu -- see grouped_kernels.h. A warp takes a copy of a panel, a lane each 32nd step. Deterministic. */
#include "core/device/device.cuh"
#include "trsm/block/gpu/grouped_kernels.h"

namespace spti {

enum { GROUPED_THREADS = 256 };

/* The place of a column in the grouped order; -1: there is none, or the group does not reach it. */
SPTI_DEVICE int32_t grouped_place(const spti_block_grouped_args &a, int32_t group, int32_t place) {
  if (place < 0) return -1;
  const int32_t panel = load_const(a.panel_of + place);
  const int32_t at = load_const(a.at + int64_t(group) * a.panels.count + panel);
  return at < 0 ? -1 : at + place - load_const(a.panels.first + panel);
}

struct grouped_copy {
  int32_t group, begin, end, near; /* steps from `near` on are always kept */

  SPTI_DEVICE grouped_copy(const spti_block_grouped_args &a, int32_t copy) {
    const int32_t source = load_const(a.source + copy);
    group = load_const(a.group + copy);
    begin = load_const(a.panels.step_start + source);
    end = load_const(a.panels.step_start + source + 1);
    near = end - spti_block_near(end - begin);
  }
  SPTI_DEVICE bool keeps(const spti_block_grouped_args &a, int32_t step) const {
    bool some = step >= near && step < end;
    for (int j = 0; j < SPTI_BLOCK_STEP && step < near && !some; j++)
      some = grouped_place(a, group, load_const(a.panels.col + int64_t(step) * SPTI_BLOCK_STEP + j)) >= 0;
    return some;
  }
};

SPTI_DEVICE int32_t copy_of_warp() { return int32_t((int64_t(block_in_grid()) * GROUPED_THREADS + thread_in_block()) / 32); }

SPTI_KERNEL(GROUPED_THREADS) block_grouped_count_kernel(spti_block_grouped_args a) {
  const int32_t copy = copy_of_warp();
  if (copy >= a.copies) return;
  const grouped_copy c(a, copy);
  int32_t steps = 0;
  for (int32_t step = c.begin; step < c.end; step += 32) steps += popcount(ballot(c.keeps(a, step + lane())));
  if (lane() == 0) store(a.steps + copy, steps);
}

SPTI_KERNEL(GROUPED_THREADS) block_grouped_fill_kernel(spti_block_grouped_args a) {
  const int32_t copy = copy_of_warp();
  if (copy >= a.copies) return;
  const grouped_copy c(a, copy);
  int64_t to = load_const(a.step_start + copy);
  for (int32_t first = c.begin; first < c.end; first += 32) {
    const int32_t step = first + lane();
    const bool keep = c.keeps(a, step);
    const uint32_t kept = ballot(keep);
    const int64_t own = to + popcount(kept & ((1u << lane()) - 1));
    to += popcount(kept);
    if (!keep) continue;
    store(a.step + own, load_const(a.panels.step + step));
    for (int j = 0; j < SPTI_BLOCK_STEP; j++)
      store(a.col + own * SPTI_BLOCK_STEP + j, grouped_place(a, c.group, load_const(a.panels.col + int64_t(step) * SPTI_BLOCK_STEP + j)));
  }
  if (lane() != 0) return;
  const int32_t source = load_const(a.source + copy);
  store(a.diag_start + copy, load_const(a.panels.diag_start + source));
  store(a.near_start + copy, load_const(a.panels.near_start + source));
}

SPTI_KERNEL(GROUPED_THREADS) block_grouped_flags_kernel(spti_block_grouped_args a) {
  const int64_t copy = int64_t(block_in_grid()) * GROUPED_THREADS + thread_in_block();
  if (copy < a.copies) store(a.flags + copy, load_const(a.panels.flags + load_const(a.source + copy)));
}

static int64_t blocks_for(int64_t threads) { return (threads + GROUPED_THREADS - 1) / GROUPED_THREADS; }

} // namespace spti

extern "C" int spti_block_grouped_count_launch(const spti_block_grouped_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(block_grouped_count_kernel, blocks_for(int64_t(a->copies) * 32), GROUPED_THREADS, 0, stream, *a);
}

extern "C" int spti_block_grouped_fill_launch(const spti_block_grouped_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(block_grouped_fill_kernel, blocks_for(int64_t(a->copies) * 32), GROUPED_THREADS, 0, stream, *a);
}

extern "C" int spti_block_grouped_flags_launch(const spti_block_grouped_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(block_grouped_flags_kernel, blocks_for(a->copies), GROUPED_THREADS, 0, stream, *a);
}
