/* walk_lines.cuh -- visits all entries of a matrix's lines, evenly distributed over threads whether lines are short or long: `lanes`
 * threads share a short line, and the whole block shares each long one. */
#ifndef SPTI_CORE_DEVICE_WALK_LINES_CUH
#define SPTI_CORE_DEVICE_WALK_LINES_CUH

#include "core/device/device.cuh"

namespace spti {

enum { WALK_THREADS = 256, WALK_ENTRIES = 32 }; /* a line with more entries for each of its lanes is shared by the block */

/* The grid for walk_lines, in blocks of WALK_THREADS threads. lanes: a power of two up to 32, about the average length of a line. */
static SPTI_ANYWHERE inline int64_t walk_blocks(int32_t lines, int32_t lanes) {
  return (int64_t(lines) * lanes + WALK_THREADS - 1) / WALK_THREADS;
}

/* Whole block. line_at(t) describes line t; it has a member `length`. visit(line, e) is called once for each e in [0, length). */
template <typename LineAt, typename Visit> SPTI_DEVICE void walk_lines(int32_t lines, int32_t lanes, LineAt line_at, Visit visit) {
  SPTI_SHARED(int32_t, long_lines, WALK_THREADS / 32);
  const int64_t block = int64_t(block_in_grid()) * WALK_THREADS, t = (block + thread_in_block()) / lanes;
  const int32_t first = thread_in_block() % lanes;
  auto line = line_at(int32_t(t < lines ? t : 0));
  if (t >= lines) line.length = 0;
  const bool is_long = line.length > WALK_ENTRIES * lanes;
  for (int32_t e = first; e < line.length && !is_long; e += lanes) visit(line, e);
  const uint32_t found = ballot(is_long && first == 0);
  if (lane() == 0) shared_store(long_lines + warp_in_block(), int32_t(found));
  syncthreads();
  for (int32_t w = 0; w < WALK_THREADS / 32; w++)
    for (uint32_t left = uint32_t(shared_load_relaxed(long_lines + w)); left; left &= left - 1) {
      const auto shared = line_at(int32_t((block + w * 32 + first_lane(left)) / lanes));
      for (int32_t e = thread_in_block(); e < shared.length; e += WALK_THREADS) visit(shared, e);
    }
}

} // namespace spti
#endif
