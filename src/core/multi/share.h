/* share.h -- columns are handed out to workers of different speed, one chunk after another. */
#ifndef SPTI_CORE_MULTI_SHARE_H
#define SPTI_CORE_MULTI_SHARE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t panel;  /* columns of a chunk are a multiple of it, but for the last chunk */
  int64_t chunk;  /* columns that are taken at once while enough are left */
  bool doubted;   /* a host beside GPUs: taken for an eighth as fast until it has shown its speed; takes nothing while it is slow */
  bool prompt;    /* its first chunk takes at most twice as long as those after it: a host, which has nothing to load */
  double rate;    /* columns a second, of the latest chunk of this or an earlier call; 0: not known */
  double first;   /* likewise of its first chunk, which takes longer than those after it, and does not count but for who is prompt */
  bool warm;      /* it has solved a chunk */
  bool left;      /* takes no more */
  bool slow;      /* it left since others are faster */
  int64_t solved; /* columns, in this call */
  int64_t held;   /* columns of the chunk that it is at work on; 0: none */
} spti_share_worker;

typedef enum {
  SPTI_SHARE_TAKEN,
  SPTI_SHARE_LATER, /* ask again when another worker has done a chunk, or left */
  SPTI_SHARE_NONE
} spti_share_answer;

/* For a new call: nothing is solved. One that took nothing in the latest call, since others were faster, is taken for an eighth faster than
 * it was then, until it has shown by a chunk how fast it is: it may have been slow only once. Not so one that is doubted. */
void spti_share_begin(spti_share_worker *);
void spti_share_count(spti_share_worker *, double seconds); /* its chunk is done */

/* The next columns for worker `me` of `count`, from *next on. Workers that have no thread must have `left` set. The caller holds a lock. */
spti_share_answer spti_share_take(int64_t *begin, int64_t *end, spti_share_worker *workers, int count, int me, int64_t *next, int64_t all);

#endif
