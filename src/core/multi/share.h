/* share.h -- columns are handed out to workers of different speed, one chunk after another. */
#ifndef SPTI_CORE_MULTI_SHARE_H
#define SPTI_CORE_MULTI_SHARE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t panel;  /* columns of a chunk are a multiple of it, but for the last chunk */
  int64_t chunk;  /* columns that are taken at once while enough are left */
  double rate;    /* columns a second, of the latest chunk of this or an earlier call; 0: not known */
  bool warm;      /* it has solved a chunk; the first one takes longer than those after it, and does not count */
  bool left;      /* takes no more */
  bool slow;      /* it left since another one is faster */
  int64_t solved; /* columns, in this call */
} spti_share_worker;

/* For a new call: nothing is solved. One that took nothing in the latest call, being slow, is taken for an eighth faster than it was
 * then, until it has shown by a chunk how fast it is: it may have been slow only once. */
void spti_share_begin(spti_share_worker *);
void spti_share_count(spti_share_worker *, int64_t columns, double seconds); /* a chunk is done */

/* The next columns for worker `me` of `count`, from *next on; false: none. Workers that have no thread must have `left` set. The caller
 * holds a lock. */
bool spti_share_take(int64_t *begin, int64_t *end, spti_share_worker *workers, int count, int me, int64_t *next, int64_t all);

#endif
