/* share.h -- columns are handed out to workers of different speed, one chunk after another. */
#ifndef SPTI_CORE_MULTI_SHARE_H
#define SPTI_CORE_MULTI_SHARE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t panel;  /* columns of a chunk are a multiple of it, but for the last chunk */
  int64_t chunk;  /* columns that are taken at once while enough are left */
  double rate;    /* columns a second, of the latest chunk of this or an earlier call; 0: not known */
  bool left;      /* takes no more */
  int64_t solved; /* columns, in this call */
} spti_share_worker;

/* The next columns for worker `me` of `count`, from *next on; false: none. Workers that have no thread must have `left` set. The caller
 * holds a lock. */
bool spti_share_take(int64_t *begin, int64_t *end, spti_share_worker *workers, int count, int me, int64_t *next, int64_t all);

#endif
