/* tiles_gpu.c -- tiles of a triangle in device memory: parted on the host (core/tiles.c), then copied. */
#include <string.h>

#include "core/alloc.h"
#include "core/carve.h"
#include "core/gpu.h"
#include "core/levels_gpu.h"
#include "core/method.h"
#include "core/tile_arrays.h"

/* A view of device memory and what it stands on, on the host. */
typedef struct {
  spti_view view;
  int64_t *ptr;
  int32_t *idx;
  void *val;
} host_copy;

static sptrsm_status fetch(const sptrsm_plan *plan, void *out, const void *from, int64_t count, size_t bytes) {
  void *to;
  const size_t all = (size_t)count * bytes;
  SPTI_TRY(spti_host_alloc(&to, count, bytes, "matrix to be tiled"));
  memcpy(out, &to, sizeof to);
  return all ? spti_gpu_copy(plan->context, to, all, from, all, all, 1, SPTI_TO_HOST) : SPTRSM_OK;
}

static sptrsm_status fetch_view(host_copy *h, const sptrsm_plan *plan) {
  const spti_view *v = &plan->view;
  h->view = *v;
  SPTI_TRY(fetch(plan, &h->ptr, v->ptr, (int64_t)v->n + 1, sizeof *h->ptr));
  SPTI_TRY(fetch(plan, &h->idx, v->idx, v->nnz, sizeof *h->idx));
  SPTI_TRY(fetch(plan, &h->val, v->val, v->nnz, sptrsm_dtype_bytes(v->dtype)));
  SPTI_TRY(spti_gpu_wait(plan->context));
  h->view.ptr = h->ptr;
  h->view.idx = h->idx;
  h->view.val = h->val;
  h->view.place = SPTRSM_HOST;
  return SPTRSM_OK;
}

static void drop_view(host_copy *h) {
  spti_host_free(h->ptr);
  spti_host_free(h->idx);
  spti_host_free(h->val);
}

/* ---- to the device ---- */

typedef struct {
  const void *from; /* host */
  const void *to;   /* device */
  size_t bytes;
} transfer;

enum { ARRAYS = 12 };

static const void *carve(spti_carver *c, transfer *t, const void *from, int64_t count, size_t bytes) {
  t->from = from;
  t->bytes = (size_t)count * bytes;
  return t->to = spti_carve(c, count, bytes);
}

/* Returns the size of all arrays. */
static size_t lay_out(spti_tile_arrays *a, transfer each[ARRAYS], void *memory, const spti_tiles *t) {
  const size_t value = sptrsm_dtype_bytes(t->dtype);
  const int64_t places = (int64_t)t->lines * SPTI_TILE;
  spti_carver c = {.base = memory};
  a->lines = t->lines;
  a->items = t->items;
  a->row = carve(&c, &each[0], t->row, places, sizeof *t->row);
  a->used = carve(&c, &each[1], t->used, t->lines, 1);
  a->word = carve(&c, &each[2], t->word, t->tiles, sizeof *t->word);
  a->shape = carve(&c, &each[3], t->shape, t->others, 2);
  a->coo_position = carve(&c, &each[4], t->coo_position, t->coo, 1);
  a->coo_value = carve(&c, &each[5], t->coo_value, t->coo, value);
  a->position = carve(&c, &each[6], t->position, t->positions, 1);
  a->value = carve(&c, &each[7], t->value, t->values, value);
  a->inner_byte = carve(&c, &each[8], t->inner_byte, t->inner_bytes, 1);
  a->inner_value = carve(&c, &each[9], t->inner_value, t->inner, value);
  a->diagonal = carve(&c, &each[10], t->diagonal, places, value);
  a->item = carve(&c, &each[11], t->item, t->items, SPTI_TILE_ITEM_WORDS * sizeof *t->item);
  return c.used;
}

static sptrsm_status upload(spti_gpu_tiles *g, const sptrsm_plan *plan) {
  transfer each[ARRAYS];
  if (!g->memory) SPTI_TRY(spti_alloc(plan->context, &g->memory, (int64_t)lay_out(&g->arrays, each, NULL, &g->host), 1, "tiles"));
  lay_out(&g->arrays, each, g->memory, &g->host);
  for (int i = 0; i < ARRAYS; i++)
    if (each[i].bytes > 0)
      SPTI_TRY(spti_gpu_copy(plan->context, (void *)(uintptr_t)each[i].to, each[i].bytes, each[i].from, each[i].bytes, each[i].bytes, 1,
                             SPTI_TO_DEVICE));
  return spti_gpu_wait(plan->context);
}

/* ---- building ---- */

static sptrsm_status build_by_level(spti_gpu_tiles *out, sptrsm_plan *plan, const spti_view *view, const spti_tiles_settings *set) {
  const spti_gpu_levels *levels;
  int32_t *order;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  SPTI_TRY(fetch(plan, &order, levels->order, view->n, sizeof *order));
  sptrsm_status status = spti_gpu_wait(plan->context);
  if (status == SPTRSM_OK) status = spti_tiles_build(&out->host, view, order, levels->ptr, levels->count, set);
  spti_host_free(order);
  return status;
}

static sptrsm_status build_as_solved(spti_gpu_tiles *out, const spti_view *view, const spti_tiles_settings *set) {
  int32_t *order;
  SPTI_TRY(spti_host_alloc(&order, view->n, sizeof *order, "order of rows"));
  for (int32_t s = 0; s < view->n; s++) order[s] = spti_view_line(view, s);
  const sptrsm_status status = spti_tiles_build(&out->host, view, order, NULL, 0, set);
  spti_host_free(order);
  return status;
}

sptrsm_status spti_gpu_tiles_create(spti_gpu_tiles *out, sptrsm_plan *plan, bool by_level, const spti_tiles_settings *set) {
  host_copy h = {0};
  *out = (spti_gpu_tiles){0};
  sptrsm_status status = fetch_view(&h, plan);
  if (status == SPTRSM_OK) status = by_level ? build_by_level(out, plan, &h.view, set) : build_as_solved(out, &h.view, set);
  if (status == SPTRSM_OK) status = upload(out, plan);
  drop_view(&h);
  spti_plan_drop_levels(plan);
  return status;
}

sptrsm_status spti_gpu_tiles_update(spti_gpu_tiles *g, const sptrsm_plan *plan) {
  host_copy h = {0};
  sptrsm_status status = fetch_view(&h, plan);
  if (status == SPTRSM_OK) status = spti_tiles_update(&g->host, &h.view);
  if (status == SPTRSM_OK) status = upload(g, plan);
  drop_view(&h);
  return status;
}

void spti_gpu_tiles_free(spti_gpu_tiles *g, const sptrsm_plan *plan) {
  spti_free(plan->context, g->memory);
  spti_tiles_free(&g->host);
  *g = (spti_gpu_tiles){0};
}
