/* batch.h -- the inside of sptrsm_batch. batch.c, values.c and blocks.c check what callers give; an engine does the work. There is one
 * engine for each kind of batch and each place; a uniform batch with another method than `levelset` is a mixed one to them. An engine may
 * rely on all that this file says was checked. */
#ifndef SPTI_CORE_BATCH_BATCH_H
#define SPTI_CORE_BATCH_BATCH_H

#include <sptrsm_batch.h>

#include "core/base/overlap.h"
#include "core/direct/direct.h"
#include "core/direct/systems.h"
#include "core/refine/refine.h"

struct spti_batch_engine;

/* The parts of an item's values. */
enum { SPTI_PART_L, SPTI_PART_U, SPTI_PART_D, SPTI_PART_D_SUB, SPTI_PART_SCALE_ROW, SPTI_PART_SCALE_COL, SPTI_PARTS };

struct sptrsm_batch {
  sptrsm_context *context; /* retained */
  const struct spti_batch_engine *engine;
  void *state; /* the engine's; NULL until its `create` has set it */
  int64_t count;
  sptrsm_dtype dtype;
  int32_t n;                   /* order of all items, in a mixed batch of the largest one */
  bool uniform;                /* made by sptrsm_batch_create_uniform */
  int32_t *n_of;               /* [count] where each item is a factor set of its own, also in a uniform batch; else NULL */
  int64_t lacks_U;             /* an item without U, -1: there is none */
  int64_t lengths[SPTI_PARTS]; /* uniform: elements of each part of an item, -1: the batch has no such part */
  sptrsm_options options;      /* op is N */
  char method[96];             /* what options.method points to */
  sptrsm_item_status *items;   /* [count], as the values left them; the engine fills it in `create` and `set_values`, or in `look` */
  spti_claim *claims;          /* what blocks.c needs to compare blocks, allocated once */
  int64_t compared;            /* pairs of blocks that the latest call has looked at, for tests */
  spti_original *originals;    /* [count]: matrices of the items, NULL: none was given. These three are of errors.c */
  void *tables[2];             /* on a device: spti_residual_lines of all items, by orientation, or NULL */
  bool has_lines[2][2];        /* all items' matrices have lines of this orientation in this place */
};

/* What a batch is made from. */
typedef struct {
  const sptrsm_factors *const *items; /* read by spti_factors_read. Mixed: [count]; uniform: items[0] has the pattern */
  const sptrsm_batch_values *values;  /* uniform only, its strides checked; parts without a pointer are those of items[0] */
} spti_batch_source;

/* One call of sptrsm_batch_solve. The blocks fit the items, none overlaps another, and their places are ones that the context reaches. */
typedef struct {
  spti_system_steps steps;
  const void *alpha; /* one value in host memory, or NULL: 1 */
  const sptrsm_batch_block *B, *X;
  const sptrsm_batch_run *run; /* not NULL */
  spti_op on_original;         /* what the call reads of the items' matrices, for run->berr */
} spti_batch_call;

/* All functions but `look` are required. On the host, batch.c writes run->status when `solve` has returned; on a device the engine does. */
typedef struct spti_batch_engine {
  /* Sets batch->state, which `free` gets also if this fails, and batch->items. */
  sptrsm_status (*create)(sptrsm_batch *, const spti_batch_source *);
  /* Items and strides are in range and the batch has the parts that are given; in a mixed batch count is 1. Fails before it changes
   * anything. */
  sptrsm_status (*set_values)(sptrsm_batch *, const sptrsm_batch_values *);
  sptrsm_status (*look)(sptrsm_batch *); /* brings batch->items up to date; NULL: it always is */
  sptrsm_status (*prepare)(sptrsm_batch *, const spti_system_steps *);
  sptrsm_status (*solve)(sptrsm_batch *, const spti_batch_call *);
  sptrsm_status (*info)(sptrsm_batch_facts *, const sptrsm_batch *); /* all members but size, count, singular and n_most */
  void (*free)(sptrsm_batch *);
} spti_batch_engine;

extern const spti_batch_engine spti_batch_uniform_host, spti_batch_mixed_host, spti_batch_uniform_gpu, spti_batch_mixed_gpu;

static inline int32_t spti_batch_order(const sptrsm_batch *b, int64_t item) { return b->n_of ? b->n_of[item] : b->n; }

/* Does the call solve this item, as far as the host can tell: is it in the mask, if that lies in host memory? */
static inline bool spti_batch_wants(const spti_batch_call *call, int64_t item) {
  return !call->run->mask || call->run->mask_place != SPTRSM_HOST || call->run->mask[item];
}

/* ---- blocks.c ---- */

/* The block of an item. */
sptrsm_block spti_batch_block_of(const sptrsm_batch *, const sptrsm_batch_block *, int64_t item);
/* Is there such an item? `call` is the name of the function. */
sptrsm_status spti_batch_check_number(const sptrsm_batch *, int64_t item, const char *call);
/* Everything that this file says about the blocks and the run of a call. */
sptrsm_status spti_batch_check_call(sptrsm_batch *, const spti_batch_call *);

/* ---- errors.c ---- */

/* Everything that run->berr relies on, where it is wanted; makes what it reads. */
sptrsm_status spti_batch_check_errors(sptrsm_batch *, const spti_batch_call *, sptrsm_system);
/* run->berr of solved blocks in host memory. batch->items must be up to date. */
sptrsm_status spti_batch_errors_host(const sptrsm_batch *, const spti_batch_call *);
void spti_batch_free_originals(sptrsm_batch *);

/* ---- panels.c ---- */

typedef struct {
  char *data;   /* of all threads, or NULL */
  size_t bytes; /* of a thread */
  int slabs;    /* threads that have a panel */
} spti_batch_panels;

/* Threads that may have a panel of this size, by the limit of memory; 0: none. */
int spti_batch_slabs(const sptrsm_batch *, size_t bytes);
sptrsm_status spti_batch_need_panels(spti_batch_panels *, size_t bytes, int slabs);

/* ---- values.c ---- */

sptrsm_status spti_batch_name_item(sptrsm_status, int64_t item); /* puts "item 7: " in front of the latest message, unless OK */

/* Part `part` of values, and its stride. */
const void *spti_batch_part(int64_t *stride, const sptrsm_batch_values *, int part);
extern const char *const spti_batch_part_names[SPTI_PARTS]; /* "L", ... */
/* lengths[] of a uniform batch with the pattern f. */
sptrsm_status spti_batch_read_lengths(sptrsm_batch *, const sptrsm_factors *f);
/* Sets the status of an item whose parts have these rows at fault, -1: none. D_sub is judged together with D. */
void spti_batch_set_item(sptrsm_batch *, int64_t item, const int32_t fault[SPTI_PARTS]);
/* Do the values fit the batch: items in range, parts that it has, strides neither negative nor too short? */
sptrsm_status spti_batch_check_values(const sptrsm_batch *, const sptrsm_batch_values *);

#endif
