/* two_blocks.cuh -- two work blocks whose values are their own flags (core/device/syncfree.cuh). A solve publishes its solutions in one of
 * them and fills the other with sentinels for the next solve, so that no solve has to fill a block first.
 *
 * The sign of the ticket word says which of the two blocks the present solve uses. The thread block that draws the last ticket inverts
 * the sign and sets the count back to zero, so that the next launch finds everything in place, also if it is a captured graph. A dirty
 * width for each block says how many of its columns were written.
 * After a lost dependency some rows are unsolved and some words may be unfilled. The abort flag then stays raised, and every later
 * solve reports the loss again until spti_two_blocks_start_launch has filled both blocks anew. */
#ifndef SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_CUH
#define SPTI_CORE_TWO_BLOCKS_TWO_BLOCKS_CUH

#include "core/device/syncfree.cuh"
#include "core/two_blocks/kernels.h"

namespace spti {

/* One thread of a block: draws the ticket word, which is the block's number and, in its sign, the work block. The first drawer marks this
 * solve's work block as dirty and reports a loss of an earlier solve again; the last one inverts the sign. */
SPTI_DEVICE int32_t draw_ticket(const spti_syncfree &s, int32_t width) {
  const int32_t word = fetch_add(s.control + SPTI_SYNCFREE_TICKET, 1), number = word & INT32_MAX;
  if (number == blocks_per_grid() - 1) store_relaxed(s.control + SPTI_SYNCFREE_TICKET, word < 0 ? 0 : INT32_MIN);
  if (number == 0) {
    store_relaxed(s.control + SPTI_TWO_BLOCKS_DIRTY + (word < 0), width);
    if (load_relaxed(s.control + SPTI_SYNCFREE_ABORT) && load_relaxed(s.lost) == 0) store_system(s.lost, 1);
  }
  return word;
}

/* Likewise, in one of several launches that solve together, in the first work block and with one count of tickets, which
 * spti_two_blocks_start_launch has set to zero: `first` is the number of tickets of the launches before. Nothing is reset at the end. */
SPTI_DEVICE int32_t draw_ticket_behind(const spti_syncfree &s, int32_t first) {
  return fetch_add(s.control + SPTI_SYNCFREE_TICKET, 1) - first;
}

/* How many columns of the other work block hold values. `word`: from draw_ticket. */
SPTI_DEVICE int32_t dirty_of_other(const spti_syncfree &s, int32_t word) {
  return load_relaxed(s.control + SPTI_TWO_BLOCKS_DIRTY + !(word < 0));
}

template <typename T> struct two_blocks {
  T *now, *other;
  int32_t dirty; /* columns of `other` that must be filled */

  /* `size`: values of each block; `word`: from draw_ticket. */
  SPTI_DEVICE two_blocks(const spti_syncfree &s, void *work, int64_t size, int32_t word)
      : two_blocks(work, size, word, dirty_of_other(s, word)) {}
  SPTI_DEVICE two_blocks(void *work, int64_t size, int32_t word, int32_t dirty_columns)
      : now((T *)work + (word < 0 ? size : 0)), other((T *)work + (word < 0 ? 0 : size)), dirty(dirty_columns) {}
  /* The end of the columns that the tile [first, end) must fill. If an earlier solve was wider, its columns beyond `width` belong to the
   * last tile. */
  SPTI_DEVICE int32_t fill_end(int32_t end, int32_t width) const { return end < width && end < dirty ? end : dirty; }
};

} // namespace spti
#endif
