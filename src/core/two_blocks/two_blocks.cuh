/* two_blocks.cuh -- two work blocks of values that are their own flags (core/device/syncfree.cuh): a solve that goes through one of them fills
 * the other with sentinels, so that no solve waits for a filling of its own.
 *
 * Which is which is the sign of the ticket word. The thread block that draws the last ticket turns it over and sets the count back to
 * zero, so that the next launch, also of a captured graph, finds everything in place. A dirty width per block says how far it was
 * written.
 * Lost dependency: what was given up is left unsolved, and unfilled perhaps. The abort flag then stays up, every later solve reports the
 * loss again, until spti_two_blocks_start_launch makes the blocks whole. */
#ifndef SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_CUH
#define SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_CUH

#include "core/device/syncfree.cuh"

namespace spti {

/* One thread of a block: the ticket word; without its sign, the block's number. The first one marks this solve's work block as
 * dirty, and says again what an earlier solve lost; the last one turns the word over. */
SPTI_DEVICE int32_t draw_ticket(const spti_syncfree &s, int32_t width) {
  const int32_t word = fetch_add(s.control + SPTI_SYNCFREE_TICKET, 1), number = word & INT32_MAX;
  if (number == blocks_per_grid() - 1) store_relaxed(s.control + SPTI_SYNCFREE_TICKET, word < 0 ? 0 : INT32_MIN);
  if (number == 0) {
    store_relaxed(s.control + SPTI_TWO_BLOCKS_DIRTY + (word < 0), width);
    if (load_relaxed(s.control + SPTI_SYNCFREE_ABORT) && load_relaxed(s.lost) == 0) store_system(s.lost, 1);
  }
  return word;
}

template <typename T> struct two_blocks {
  T *now, *other;
  int32_t dirty; /* columns of the other one that have to be filled */

  /* Of `size` values each, one after the other. */
  SPTI_DEVICE two_blocks(const spti_syncfree &s, void *work, int64_t size, int32_t word) {
    now = (T *)work + (word < 0 ? size : 0);
    other = (T *)work + (word < 0 ? 0 : size);
    dirty = load_relaxed(s.control + SPTI_TWO_BLOCKS_DIRTY + !(word < 0));
  }
  /* Where the columns end that a tile [first, end) has to fill: those of a wider solve are the last tile's, that ends at `width`. */
  SPTI_DEVICE int32_t fill_end(int32_t end, int32_t width) const { return end < width && end < dirty ? end : dirty; }
};

} // namespace spti
#endif
