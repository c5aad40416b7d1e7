/* columns.c -- the columns of a side on a device: groups, the rows that they reach, and where each entry goes. */
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/plan/method.h"
#include "core/schur/gpu/gpu.h"

/* Host arrays of a creation. */
typedef struct {
  int32_t *position, *place;
  int64_t *start, *to;
  void *memory;
} entry_arrays;

static size_t lay_out_host(entry_arrays *a, const spti_schur_side *side, int64_t entries, void *memory) {
  spti_carver c = {.base = memory};
  a->position = spti_carve(&c, side->count, sizeof *a->position);
  a->place = spti_carve(&c, entries, sizeof *a->place);
  a->start = spti_carve(&c, side->count / SPTI_SCHUR_GPU_GROUP + 2, sizeof *a->start);
  a->to = spti_carve(&c, entries, sizeof *a->to);
  a->memory = memory;
  return c.used;
}

static size_t lay_out_device(spti_schur_gpu_side *out, const spti_schur_side *side, void *memory) {
  spti_carver c = {.base = memory};
  out->position = spti_carve(&c, side->count, sizeof *out->position);
  out->to = spti_carve(&c, out->entries, sizeof *out->to);
  out->row = spti_carve(&c, out->entries, sizeof *out->row);
  out->val = spti_carve(&c, out->entries, sptrsm_dtype_bytes(side->dtype));
  return c.used;
}

static int32_t place_of(const spti_schur_side *side, int64_t p) {
  const spti_view *v = &side->plan->view;
  const int32_t row = spti_schur_row_of(side, p);
  return v->backward ? v->n - 1 - row : row;
}

/* The entries of each group, by place: columns are grouped as they are ordered. */
static spti_group_entries entries_of(entry_arrays *a, const spti_schur_side *side) {
  int64_t e = 0;
  int32_t groups = 0;
  for (int64_t k = 0; k < side->count; k++) {
    if (k % SPTI_SCHUR_GPU_GROUP == 0) a->start[groups++] = e;
    for (int64_t p = side->ptr[side->order[k]]; p < side->ptr[side->order[k] + 1]; p++) a->place[e++] = place_of(side, p);
  }
  a->start[groups] = e;
  return (spti_group_entries){.count = groups, .start = a->start, .place = a->place};
}

/* Finds groups where the method can solve them; else leaves out->grouped empty. */
static sptrsm_status make_groups(spti_schur_gpu_side *out, entry_arrays *a, const spti_schur_side *side) {
  const spti_grouping *grouping = side->plan->method->grouping;
  out->width = (int32_t)side->count;
  out->rows = side->plan->view.n;
  if (!grouping || side->is_dense || side->count <= SPTI_SCHUR_GPU_GROUP) return SPTRSM_OK;
  const spti_group_entries entries = entries_of(a, side);
  const sptrsm_status status = grouping->create(&out->grouped, side->plan, &entries);
  if (status == SPTRSM_ERR_UNSUPPORTED) return SPTRSM_OK;
  if (status != SPTRSM_OK) return status;
  out->width = SPTI_SCHUR_GPU_GROUP;
  out->rows = out->grouped.rows;
  return SPTRSM_OK;
}

/* Row of the block of an entry in the column at position k. */
static int64_t block_row(const spti_grouped *g, const spti_schur_side *side, int64_t k, int64_t p) {
  if (g->groups == 0) return spti_schur_row_of(side, p);
  const int32_t place = place_of(side, p);
  int32_t low = 0, high = g->runs; /* first[low] <= place < first[high] */
  while (high - low > 1) {
    const int32_t middle = low + (high - low) / 2;
    if (g->first[middle] <= place) low = middle;
    else high = middle;
  }
  return (int64_t)g->at[k / SPTI_SCHUR_GPU_GROUP * g->runs + low] + place - g->first[low];
}

static void find_targets(entry_arrays *a, const spti_schur_gpu_side *out, const spti_schur_side *side) {
  for (int64_t k = 0; k < side->count; k++) {
    a->position[side->order[k]] = (int32_t)k;
    if (side->is_dense) continue;
    for (int64_t p = side->ptr[side->order[k]]; p < side->ptr[side->order[k] + 1]; p++)
      a->to[p] = block_row(&out->grouped, side, k, p) * out->width + k % out->width;
  }
}

static sptrsm_status upload(spti_schur_gpu_side *out, const entry_arrays *a, const spti_schur_side *side, const sptrsm_context *context) {
  const size_t entries = (size_t)out->entries;
  SPTI_TRY(spti_alloc(context, &out->memory, (int64_t)lay_out_device(out, side, NULL), 1, "columns of B and C"));
  (void)lay_out_device(out, side, out->memory);
  SPTI_TRY(spti_copy_bytes(context, out->position, SPTRSM_CUDA, a->position, SPTRSM_HOST, (size_t)side->count * sizeof *a->position));
  SPTI_TRY(spti_copy_bytes(context, out->to, SPTRSM_CUDA, a->to, SPTRSM_HOST, entries * sizeof *a->to));
  SPTI_TRY(spti_copy_bytes(context, out->row, SPTRSM_CUDA, side->idx, SPTRSM_HOST, entries * sizeof *side->idx));
  return spti_copy_bytes(context, out->val, SPTRSM_CUDA, side->val, SPTRSM_HOST, entries * sptrsm_dtype_bytes(side->dtype));
}

sptrsm_status spti_schur_gpu_side_create(spti_schur_gpu_side *out, spti_schur_side *side, const sptrsm_context *context) {
  entry_arrays a;
  void *memory;
  out->entries = side->is_dense ? 0 : side->ptr[side->count];
  SPTI_TRY(spti_schur_sort_columns(side));
  SPTI_TRY(spti_host_alloc(&memory, (int64_t)lay_out_host(&a, side, out->entries, NULL), 1, "columns of B and C"));
  (void)lay_out_host(&a, side, out->entries, memory);
  sptrsm_status status;
  SPTI_TRY_DONE(make_groups(out, &a, side));
  find_targets(&a, out, side);
  status = upload(out, &a, side, context);
done:
  spti_host_free(memory);
  return status;
}

void spti_schur_gpu_side_free(spti_schur_gpu_side *g, const spti_schur_side *side, const sptrsm_context *context) {
  if (g->grouped.groups > 0) side->plan->method->grouping->free(&g->grouped, side->plan);
  spti_free(context, g->memory);
}
