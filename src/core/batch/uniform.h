/* uniform.h -- the inside of a uniform batch on the host: what uniform_values.c stores and uniform_host.c solves with. */
#ifndef SPTI_CORE_BATCH_UNIFORM_H
#define SPTI_CORE_BATCH_UNIFORM_H

#include "core/batch/batch.h"
#include "core/batch/items.h"

/* The values of one part: [groups][entries][items], or [entries][items] where all groups have the same. */
typedef struct {
  char *val; /* NULL: the batch has no such part */
  int64_t entries;
  bool shared;
} spti_uniform_part;

enum { SPTI_UNIFORM_PLACES = 8 };

typedef struct {
  sptrsm_direct *pattern;
  int items; /* of a group */
  int64_t groups;
  spti_uniform_part parts[SPTI_PARTS];
  const int64_t *sources[2]; /* of L and U: positions in the caller's arrays, in the order in which the values lie here; NULL: the same */
  int64_t *at[SPTI_UNIFORM_PLACES]; /* by matrix, transpose and conj, for plans that read another storage: where their entries lie here */
  int32_t (*faults)[SPTI_PARTS];    /* [count] */
  int32_t columns;                  /* of an item, in a panel */
  spti_batch_panels panels;         /* behind each there is room for the values of an item, where they have to be gathered */
} spti_uniform;

/* The values of a group; NULL: there are none. */
char *spti_uniform_group(const sptrsm_batch *, int part, int64_t group);
size_t spti_uniform_group_bytes(const sptrsm_batch *, int part);
/* Checks new values, then stores them. The first ones, too, for parts whose memory is there. */
sptrsm_status spti_uniform_set_values(sptrsm_batch *, const sptrsm_batch_values *);

#endif
