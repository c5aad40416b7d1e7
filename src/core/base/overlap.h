/* overlap.h -- do blocks share memory? Blocks that one call reads and writes must not, but for some that are allowed to. */
#ifndef SPTI_CORE_BASE_OVERLAP_H
#define SPTI_CORE_BASE_OVERLAP_H

#include <stdbool.h>
#include <stdint.h>

#include <sptrsm.h>

size_t spti_block_span(const sptrsm_block *); /* bytes from its first element to the end of its last one; 0 without elements */

/* Do two blocks share memory? Their sizes and leading dimensions are good ones. */
bool spti_blocks_overlap(const sptrsm_block *, const sptrsm_block *);

/* One of many blocks. */
typedef struct spti_claim {
  sptrsm_block block;
  int64_t item;            /* blocks of one item are not compared with each other */
  bool is_written;         /* blocks that are only read may overlap */
  uintptr_t begin, end;    /* set by spti_claim_of: addresses; later what spti_find_overlap compares */
  struct spti_claim *next; /* NULL; for use in spti_find_overlap */
} spti_claim;

spti_claim spti_claim_of(const sptrsm_block *, int64_t item, bool is_written);

/* Finds two blocks that overlap: pair[0] is written. Returns false if there are none. All have elements; they are put in another
 * order. *compared, unless NULL, gets the number of pairs that were looked at: with blocks of one type one behind the other, or side by
 * side in a larger block, a few for each block. */
bool spti_find_overlap(const spti_claim *pair[2], spti_claim *claims, int64_t count, int64_t *compared);

#endif
