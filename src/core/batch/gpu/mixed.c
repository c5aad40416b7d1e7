/* mixed.c -- mixed batches on a GPU: the engine that batch.c calls. The work is done by joined_*.c (joined.h). */
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/batch/gpu/joined.h"
#include "core/context/alloc.h"
#include "core/plan/method.h"

/* The default. Other methods decide from the whole joined triangle how they cut and add up rows, so the bits of an item depend on the items
 * beside it. With fixed lengths of segments `gather` adds up each row by its own entries alone. */
static const char by_row[] = "gather:split=128,segment=64";

static sptrsm_status create(sptrsm_batch *b, const spti_batch_source *source) {
  const double begin = spti_seconds();
  spti_joined *s;
  SPTI_TRY(spti_host_alloc(&s, 1, sizeof *s, "batch"));
  *s = (spti_joined){.chosen = !b->options.method || strcmp(b->options.method, "auto") == 0};
  b->state = s; /* from here on the batch frees it */
  if (s->chosen) b->options.method = by_row;
  SPTI_TRY(spti_joined_create(b, source));
  s->seconds = spti_seconds() - begin;
  return SPTRSM_OK;
}

static void release(sptrsm_batch *b) {
  spti_joined *s = b->state;
  for (int64_t k = 0; k < s->set_count; k++) spti_joined_set_free(&s->sets[k], b->context);
  spti_joined_free_memory(s, b->context);
  spti_batch_device_free(&s->device, b->context);
  spti_host_free(s->sets);
  spti_host_free(s->set_of);
  spti_host_free(s->member_of);
  spti_host_free(s->faults);
  spti_host_free(s->places);
  spti_host_free(s);
}

/* The set of the largest item speaks for the batch. */
static const spti_joined_set *set_of_largest(const sptrsm_batch *b) {
  const spti_joined *s = b->state;
  for (int64_t i = 0; i < b->count; i++)
    if (b->n_of[i] == b->n) return &s->sets[s->set_of[i]];
  return NULL;
}

/* What all plans of a solver have in common. */
static unsigned flags_of(const sptrsm_direct *d) {
  unsigned flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE;
  for (int slot = 0; slot < 8; slot++) {
    const sptrsm_plan *plan = d->slots[slot >> 2][slot >> 1 & 1][slot & 1].plan;
    if (plan) flags &= plan->method->flags;
  }
  return flags;
}

static sptrsm_status add_set(sptrsm_batch_facts *out, unsigned *flags, const sptrsm_direct *d, bool largest) {
  sptrsm_info info = {.size = sizeof info};
  SPTI_TRY(sptrsm_direct_info(&info, NULL, d));
  *flags &= flags_of(d);
  out->batch_bytes += spti_direct_bytes(d);
  if (!largest) return SPTRSM_OK;
  snprintf(out->method, sizeof out->method, "%s", info.method);
  snprintf(out->reason, sizeof out->reason, "%s", info.reason);
  out->panel = d->panel;
  return SPTRSM_OK;
}

static sptrsm_status info(sptrsm_batch_facts *out, const sptrsm_batch *b) {
  const spti_joined *s = b->state;
  const spti_joined_set *largest = set_of_largest(b);
  unsigned flags = SPTI_DETERMINISTIC | SPTI_CAPTURABLE;
  for (int64_t k = 0; k < s->set_count; k++) SPTI_TRY(add_set(out, &flags, s->sets[k].direct, &s->sets[k] == largest));
  SPTI_TRY(spti_joined_workspace_bytes(&out->workspace_bytes, (sptrsm_batch *)b, spti_joined_width(s)));
  out->patterns = s->set_count;
  if (s->chosen && largest) strcpy(out->reason, "adds up each row by its own entries alone, whatever items are beside it");
  out->analysis_seconds = s->seconds;
  out->deterministic = (flags & SPTI_DETERMINISTIC) != 0;
  out->capturable = (flags & SPTI_CAPTURABLE) != 0;
  return SPTRSM_OK;
}

const spti_batch_engine spti_batch_mixed_gpu = {.create = create,
                                                .set_values = spti_joined_set_values,
                                                .prepare = spti_joined_prepare,
                                                .solve = spti_joined_solve,
                                                .info = info,
                                                .free = release};
