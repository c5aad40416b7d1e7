/* batch_case.c -- see batch_case.h */
#include "core/batch/batch_case.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t draw(uint32_t below) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13, state ^= state >> 7, state ^= state << 17;
  return (uint32_t)((state >> 20) % below);
}

/* ---- items ---- */

typedef struct {
  const double *val; /* NULL: the set lacks the part */
  int64_t length;
  sptrsm_dtype dtype;
} part_of_set;

static double complex near(double complex v, sptrsm_dtype t) { /* of the type once it is stored */
  return v * (1 + number(t) / 8);
}

static void draw_part(batch_items *out, int part, const part_of_set *from, const void **values, int64_t *stride) {
  const size_t bytes = sptrsm_dtype_bytes(from->dtype);
  const bool shared = draw(5) == 0;
  *stride = shared ? 0 : from->length + draw(4);
  if (*stride == 0 && !shared) *stride = 1; /* no elements */
  const int64_t sets = shared ? 1 : out->count;
  out->part[part] = calloc((size_t)(sets * *stride + from->length + 1), bytes);
  for (int64_t i = 0; i < sets; i++)
    for (int64_t p = 0; p < from->length; p++) {
      double complex v = get(from->val, p, from->dtype);
      put(out->part[part], i * *stride + p, from->dtype, i ? near(v, from->dtype) : v);
    }
  *values = out->part[part];
}

static const void *item_values(const void *values, int64_t item, int64_t stride, sptrsm_dtype t) {
  return values ? (const char *)values + (size_t)(item * stride) * sptrsm_dtype_bytes(t) : NULL;
}

/* Items with odd numbers have 1x1 blocks only. */
static void drop_blocks(batch_items *out) {
  const sptrsm_batch_values *v = &out->values;
  for (int64_t i = 1; i < out->count && v->D_stride > 0 && v->D_sub_stride > 0; i += 2)
    for (int64_t k = 0; k < N; k++) {
      put(out->part[3], i * v->D_sub_stride + k, out->dtype, 0);
      if (get(out->part[2], i * v->D_stride + k, out->dtype) == 0) put(out->part[2], i * v->D_stride + k, out->dtype, 1.5);
    }
}

void draw_items(batch_items *out, const factor_set *s, int64_t count) {
  const sptrsm_dtype t = s->L.T.dtype;
  *out = (batch_items){.count = count, .dtype = t, .pattern = s->f};
  sptrsm_batch_values *v = &out->values;
  sptrsm_batch_values_init(v);
  v->count = count;
  draw_part(out, 0, &(part_of_set){s->L.val, s->L.ptr[N], t}, &v->L, &v->L_stride);
  if (s->f.U) draw_part(out, 1, &(part_of_set){s->U.val, s->U.ptr[N], t}, &v->U, &v->U_stride);
  if (s->f.D) draw_part(out, 2, &(part_of_set){s->D, N, t}, &v->D, &v->D_stride);
  if (s->f.D_sub) draw_part(out, 3, &(part_of_set){s->D_sub, N, t}, &v->D_sub, &v->D_sub_stride);
  if (s->f.scale_row)
    draw_part(out, 4, &(part_of_set){s->scale_row, N, SPTRSM_F64}, (const void **)(void *)&v->scale_row, &v->scale_row_stride);
  if (s->f.scale_col)
    draw_part(out, 5, &(part_of_set){s->scale_col, N, SPTRSM_F64}, (const void **)(void *)&v->scale_col, &v->scale_col_stride);
  if (s->f.D_sub) drop_blocks(out);
  for (int64_t i = 0; i < count; i++) {
    sptrsm_factors *f = &out->items[i];
    *f = s->f;
    out->L[i] = s->L.T, out->L[i].val = item_values(v->L, i, v->L_stride, t);
    f->L = &out->L[i];
    if (s->f.U) out->U[i] = s->U.T, out->U[i].val = item_values(v->U, i, v->U_stride, t), f->U = &out->U[i];
    f->D = item_values(v->D, i, v->D_stride, t);
    f->D_sub = item_values(v->D_sub, i, v->D_sub_stride, t);
    f->scale_row = item_values(v->scale_row, i, v->scale_row_stride, SPTRSM_F64);
    f->scale_col = item_values(v->scale_col, i, v->scale_col_stride, SPTRSM_F64);
  }
}

void free_items(batch_items *items) {
  for (int part = 0; part < PARTS; part++) free(items->part[part]);
}

bool spoil_item(batch_items *items, int64_t item) {
  const bool upper = items->values.U != NULL;
  const sptrsm_sparse *T = upper ? &items->U[item] : &items->L[item];
  const int64_t stride = upper ? items->values.U_stride : items->values.L_stride;
  if (stride == 0 || T->diag == SPTRSM_UNIT) return false;
  for (int64_t p = T->ptr[5]; p < T->ptr[6]; p++)
    if (T->idx[p] == 5) put(items->part[upper], item * stride + p, items->dtype, item % 2 ? (double)NAN : 0);
  items->singular[item] = true;
  return true;
}

void create_alone(sptrsm_direct **alone, sptrsm_context *context, const batch_items *items, const char *method) {
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = method;
  for (int64_t i = 0; i < items->count; i++) {
    alone[i] = NULL;
    const sptrsm_status status = sptrsm_direct_create(&alone[i], context, &items->items[i], &o);
    cr_assert_eq(status, items->singular[i] ? SPTRSM_ERR_SINGULAR : SPTRSM_OK, "item %d: %s", (int)i, sptrsm_last_error());
  }
}

void destroy_alone(sptrsm_direct **alone, int64_t count) {
  for (int64_t i = 0; i < count; i++) sptrsm_direct_destroy(alone[i]);
}

/* ---- blocks ---- */

enum { NRHS_MOST = 19, GAP = 3 };

static void draw_side(batch_blocks *out, sptrsm_batch_block *block, int side, const int32_t *orders, int64_t count, sptrsm_dtype t) {
  const bool shared = side == 0 && !out->in_place && draw(6) == 0; /* all items read one B */
  const bool pointers = !shared && draw(2), own_ld = !shared && draw(2);
  int64_t most = 0, ld = 0, at = 0;
  sptrsm_batch_block_init(block);
  block->dtype = t;
  block->layout = draw(2) ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR;
  for (int64_t i = 0; i < count; i++) {
    const int64_t least = block->layout == SPTRSM_ROW_MAJOR ? out->nrhs_of[i] : orders[i];
    out->ld_of[side][i] = least + (own_ld ? draw(GAP) : 0);
    if (out->ld_of[side][i] > ld) ld = out->ld_of[side][i];
  }
  ld += draw(GAP);
  for (int64_t i = 0; i < count; i++) {
    if (!own_ld) out->ld_of[side][i] = ld;
    const int64_t span = out->ld_of[side][i] * (block->layout == SPTRSM_ROW_MAJOR ? orders[i] : out->nrhs_of[i]);
    if (span > most) most = span;
  }
  most += draw(GAP);
  const size_t bytes = sptrsm_dtype_bytes(t), elements = (size_t)((count + 1) * (most + 1)) + 8; /* 7 are always there */
  out->bytes[side] = elements * bytes;
  out->memory[side] = malloc(elements * bytes);
  for (size_t p = 0; p < elements; p++) put(out->memory[side], (int64_t)p, t, number(t));
  block->ld = ld, block->ld_of = own_ld ? out->ld_of[side] : NULL;
  block->nrhs = count ? out->nrhs_of[0] : 0;
  block->data = out->memory[side], block->stride = shared ? 0 : most;
  for (int64_t i = count - 1; pointers && i >= 0; i--, at += most) /* the last item first */
    out->data_of[side][i] = out->masked && !out->mask[i] ? NULL : (char *)out->memory[side] + (size_t)at * bytes;
  if (pointers) block->data_of = out->data_of[side], block->data = NULL, block->stride = 0;
}

void draw_blocks(batch_blocks *out, const int32_t *orders, int64_t count, sptrsm_dtype t) {
  *out = (batch_blocks){.in_place = draw(2), .masked = draw(2)};
  const bool own_nrhs = draw(2);
  const int64_t nrhs = draw(NRHS_MOST);
  for (int64_t i = 0; i < count; i++) {
    out->nrhs_of[i] = own_nrhs ? draw(NRHS_MOST) : nrhs;
    out->mask[i] = (uint8_t)draw(3);
    out->status[i] = (sptrsm_item_status){.status = 77, .row = 77};
  }
  draw_side(out, &out->B, 0, orders, count, t);
  if (out->in_place) out->X = out->B;
  else draw_side(out, &out->X, 1, orders, count, t);
  if (own_nrhs) out->B.nrhs_of = out->X.nrhs_of = out->nrhs_of;
  sptrsm_batch_run_init(&out->run);
  out->run.mask = out->masked ? out->mask : NULL;
  out->run.status = out->status;
  const int side = out->in_place ? 0 : 1;
  out->expected = malloc(out->bytes[side]);
  memcpy(out->expected, out->memory[side], out->bytes[side]);
}

void free_blocks(batch_blocks *b) {
  free(b->memory[0]);
  free(b->memory[1]);
  free(b->expected);
}

static sptrsm_block block_of(const sptrsm_batch_block *b, int64_t item, int32_t n) {
  sptrsm_block out = {.ld = b->ld_of ? b->ld_of[item] : b->ld,
                      .n = n,
                      .nrhs = b->nrhs_of ? b->nrhs_of[item] : b->nrhs,
                      .dtype = b->dtype,
                      .layout = b->layout};
  out.data = b->data_of ? b->data_of[item] : (char *)b->data + (size_t)(item * b->stride) * sptrsm_dtype_bytes(b->dtype);
  return out;
}

static bool same_number(double a, double b) { return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b)); }

static void compare_memory(const batch_blocks *b, sptrsm_dtype t, const char *what) {
  const int side = b->in_place ? 0 : 1;
  const size_t bytes = sptrsm_dtype_bytes(t);
  for (size_t p = 0; p < b->bytes[side] / bytes; p++) {
    double complex x = get(b->memory[side], (int64_t)p, t), y = get(b->expected, (int64_t)p, t);
    cr_assert(same_number(creal(x), creal(y)) && same_number(cimag(x), cimag(y)), "%s: element %zu of X is %a %a, alone %a %a", what, p,
              creal(x), cimag(x), creal(y), cimag(y));
  }
}

void solve_and_compare(sptrsm_batch *batch, sptrsm_direct **alone, batch_blocks *b, const int32_t *orders, sptrsm_system system,
                       sptrsm_op op) {
  char what[96];
  double alpha[2];
  sptrsm_batch_facts facts = {.size = sizeof facts};
  const sptrsm_dtype t = b->B.dtype;
  const int side = b->in_place ? 0 : 1;
  put(alpha, 0, t, number(t));
  const void *given = draw(2) ? alpha : NULL;
  snprintf(what, sizeof what, "system %s, op %d, type %d", sptrsm_system_name(system), (int)op, (int)t);
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert_eq(sptrsm_batch_solve(batch, system, op, given, &b->B, &b->X, &b->run), SPTRSM_OK, "%s: %s", what, sptrsm_last_error());
  for (int64_t i = 0; i < facts.count; i++) {
    const bool wanted = !b->masked || b->mask[i];
    const int32_t expected = !wanted ? 77 : alone[i] ? SPTRSM_OK : SPTRSM_ERR_SINGULAR, row = !wanted ? 77 : alone[i] ? -1 : 5;
    cr_assert(b->status[i].status == expected && b->status[i].row == row, "%s: item %d has status %d, row %d", what, (int)i,
              b->status[i].status, b->status[i].row);
    if (!wanted || !alone[i]) continue;
    sptrsm_block X = block_of(&b->X, i, orders[i]), B = block_of(&b->B, i, orders[i]);
    if (X.data) X.data = (char *)b->expected + ((char *)X.data - (char *)b->memory[side]);
    if (b->in_place) B.data = X.data;
    cr_assert_eq(sptrsm_direct_solve(alone[i], system, op, given, &B, &X), SPTRSM_OK, "%s: %s", what, sptrsm_last_error());
  }
  compare_memory(b, t, what);
}
