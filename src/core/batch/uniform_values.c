/* uniform_values.c -- the values of a uniform batch on the host: their faults, and groups of items side by side. */
#include <stdatomic.h>
#include <string.h>

#include "core/batch/uniform.h"
#include "core/context/alloc.h"

/* ---- where values lie ---- */

static size_t element_bytes(const sptrsm_batch *b, int part) {
  return part >= SPTI_PART_SCALE_ROW ? sizeof(double) : sptrsm_dtype_bytes(b->dtype);
}

size_t spti_uniform_group_bytes(const sptrsm_batch *b, int part) {
  const spti_uniform *s = b->state;
  return (size_t)s->parts[part].entries * (size_t)s->items * element_bytes(b, part);
}

char *spti_uniform_group(const sptrsm_batch *b, int part, int64_t group) {
  const spti_uniform *s = b->state;
  const spti_uniform_part *p = &s->parts[part];
  return p->val && !p->shared ? p->val + spti_uniform_group_bytes(b, part) * (size_t)group : p->val;
}

/* The first value of an item. */
static const void *item_of(const sptrsm_batch *b, int part, int64_t item) {
  const spti_uniform *s = b->state;
  const char *group = spti_uniform_group(b, part, item / s->items);
  return group ? group + (size_t)(item % s->items) * element_bytes(b, part) : NULL;
}

static const int64_t *source_of(const spti_uniform *s, int part) { return part <= SPTI_PART_U ? s->sources[part] : NULL; }

/* ---- values ---- */

/* One change of values, by threads over items and then over groups. */
typedef struct {
  sptrsm_batch *b;
  const sptrsm_batch_values *v;
  int32_t (*faults)[SPTI_PARTS]; /* [v->count], of the items as they will be */
  atomic_llong refused;          /* an item whose D is no block diagonal, or -1 */
} change;

static const void *new_part(const change *c, int part, int64_t item) {
  int64_t stride;
  const char *values = spti_batch_part(&stride, c->v, part);
  return values ? values + (size_t)((item - c->v->first) * stride) * element_bytes(c->b, part) : NULL;
}

static sptrsm_status find_D_fault(int32_t *row, const change *c, int64_t item) {
  const spti_uniform *s = c->b->state;
  const void *val = new_part(c, SPTI_PART_D, item), *sub = new_part(c, SPTI_PART_D_SUB, item);
  spti_D_values D = {.val = val, .sub = sub, .val_step = 1, .sub_step = 1, .hermitian = s->pattern->D.apply.hermitian};
  if (!val && !sub) return SPTRSM_OK;
  if (!val) D.val = item_of(c->b, SPTI_PART_D, item), D.val_step = s->items;
  if (!sub) D.sub = item_of(c->b, SPTI_PART_D_SUB, item), D.sub_step = s->items;
  return spti_D_fault(row, &D, c->b->n, c->b->dtype);
}

static void find_faults(void *argument, int64_t piece, int member) {
  change *c = argument;
  const spti_uniform *s = c->b->state;
  const int64_t item = c->v->first + piece;
  int32_t *fault = c->faults[piece];
  (void)member;
  for (int part = SPTI_PART_L; part <= SPTI_PART_U; part++)
    if (new_part(c, part, item)) fault[part] = spti_diagonal_fault(s->pattern->matrix[part], new_part(c, part, item));
  for (int part = SPTI_PART_SCALE_ROW; part <= SPTI_PART_SCALE_COL; part++)
    if (new_part(c, part, item)) fault[part] = spti_scale_fault(new_part(c, part, item), c->b->n, c->b->dtype);
  if (find_D_fault(&fault[SPTI_PART_D], c, item) != SPTRSM_OK) atomic_store(&c->refused, item);
}

static void store_group(void *argument, int64_t piece, int member) {
  const change *c = argument;
  const spti_uniform *s = c->b->state;
  const int64_t group = c->v->first / s->items + piece, begin = group * s->items, end = c->v->first + c->v->count;
  (void)member;
  for (int part = 0; part < SPTI_PARTS; part++) {
    const void *from[SPTI_ITEMS_MOST] = {NULL};
    if (!new_part(c, part, c->v->first) || (s->parts[part].shared && piece > 0)) continue;
    for (int v = 0; v < s->items; v++) {
      const int64_t item = begin + v, past = end == c->b->count && item >= end; /* lanes without an item repeat the last one */
      if (item >= c->v->first && (item < end || past)) from[v] = new_part(c, part, past ? end - 1 : item);
    }
    spti_items_interleave(spti_uniform_group(c->b, part, group), from, source_of(s, part), s->parts[part].entries, s->items,
                          element_bytes(c->b, part));
  }
}

/* Gives each group values of its own where new ones make the groups differ. */
static sptrsm_status spread(sptrsm_batch *b, const sptrsm_batch_values *v) {
  spti_uniform *s = b->state;
  for (int part = 0; part < SPTI_PARTS; part++) {
    int64_t stride;
    spti_uniform_part *p = &s->parts[part];
    if (!spti_batch_part(&stride, v, part) || !p->shared || (stride == 0 && v->count == b->count)) continue;
    const size_t bytes = spti_uniform_group_bytes(b, part);
    char *val;
    SPTI_TRY(spti_host_alloc(&val, s->groups, bytes, spti_batch_part_names[part]));
    for (int64_t g = 0; g < s->groups; g++) memcpy(val + bytes * (size_t)g, p->val, bytes);
    spti_host_free(p->val);
    *p = (spti_uniform_part){.val = val, .entries = p->entries};
  }
  return SPTRSM_OK;
}

static void run_over(const sptrsm_batch *b, int64_t pieces, spti_task *task, change *c) {
  spti_team *team = b->context->team;
  spti_team_run(team, spti_team_ready(team), pieces, task, c);
}

sptrsm_status spti_uniform_set_values(sptrsm_batch *b, const sptrsm_batch_values *v) {
  spti_uniform *s = b->state;
  change c = {.b = b, .v = v};
  sptrsm_status status;
  atomic_init(&c.refused, -1);
  SPTI_TRY(spti_host_alloc(&c.faults, v->count, sizeof *c.faults, "item statuses"));
  memcpy(c.faults, s->faults + v->first, (size_t)v->count * sizeof *c.faults);
  run_over(b, v->count, find_faults, &c);
  const int64_t refused = atomic_load(&c.refused);
  if (refused >= 0) { /* once more in this thread, for the message */
    int32_t row;
    SPTI_TRY_DONE(spti_batch_name_item(find_D_fault(&row, &c, refused), refused));
  }
  SPTI_TRY_DONE(spread(b, v));
  run_over(b, (v->first + v->count - 1) / s->items - v->first / s->items + 1, store_group, &c);
  memcpy(s->faults + v->first, c.faults, (size_t)v->count * sizeof *c.faults);
  for (int64_t i = 0; i < v->count; i++) spti_batch_set_item(b, v->first + i, c.faults[i]);
done:
  spti_host_free(c.faults);
  return status;
}
