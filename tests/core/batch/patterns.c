/* patterns.c -- items of a mixed batch that have one pattern share its analysis: each has the bits that it has alone, before and after new
 * values, and sets that differ in anything but values share nothing. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/batch_case.h"

static sptrsm_context *context;
static void open_context(void) {
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_context_set_threads(context, 3), SPTRSM_OK);
}
static void close_context(void) { sptrsm_context_destroy(context); }
TestSuite(batch_patterns, .init = open_context, .fini = close_context);

static sptrsm_batch_facts facts_of(const sptrsm_batch *batch) {
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK, "%s", sptrsm_last_error());
  return facts;
}

static sptrsm_batch *create(const batch_items *items, const char *method) {
  const sptrsm_factors *list[COUNT_MOST];
  sptrsm_batch *batch;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = method;
  for (int64_t i = 0; i < items->count; i++) list[i] = &items->items[i];
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, items->count, &o), SPTRSM_OK, "%s", sptrsm_last_error());
  return batch;
}

static void solve_some(sptrsm_batch *batch, sptrsm_direct **alone, const batch_items *items, bool has_U) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_L, SPTRSM_SYS_Lt, SPTRSM_SYS_A, SPTRSM_SYS_Aat};
  static batch_blocks blocks;
  int32_t orders[COUNT_MOST];
  for (int64_t i = 0; i < items->count; i++) orders[i] = items->items[i].L->n;
  for (int k = 0; k < (has_U ? 4 : 2); k++) {
    draw_blocks(&blocks, orders, items->count, items->dtype);
    if (blocks.in_place) memcpy(blocks.expected, blocks.memory[0], blocks.bytes[0]);
    solve_and_compare(batch, alone, &blocks, orders, systems[k], (sptrsm_op)draw(3));
    free_blocks(&blocks);
  }
}

/* ---- two patterns, taken in turn ---- */

enum { TURNS = 7 };

static void *copy_of(const void *from, size_t bytes) { return from ? memcpy(malloc(bytes), from, bytes) : NULL; }

static void own_lines(sptrsm_sparse *T) {
  T->idx = copy_of(T->idx, (size_t)T->ptr[T->n] * sizeof *T->idx);
  T->ptr = copy_of(T->ptr, ((size_t)T->n + 1) * sizeof *T->ptr);
}

static void free_lines(const sptrsm_sparse *T) {
  free((void *)T->ptr);
  free((void *)T->idx);
}

/* Items 0, 2, 4 ... have the first pattern, the others the second one; each has arrays of its own. */
static void take_turns(batch_items *out, const batch_items drawn[2]) {
  *out = (batch_items){.count = 2 * TURNS, .dtype = drawn[0].dtype};
  for (int64_t i = 0; i < out->count; i++) {
    const batch_items *from = &drawn[i % 2];
    sptrsm_factors *f = &out->items[i];
    *f = from->items[i / 2];
    out->singular[i] = from->singular[i / 2];
    out->L[i] = *f->L, f->L = &out->L[i];
    own_lines(&out->L[i]);
    if (f->U) out->U[i] = *f->U, f->U = &out->U[i], own_lines(&out->U[i]);
    f->perm_row = copy_of(f->perm_row, N * sizeof *f->perm_row);
    f->perm_col = copy_of(f->perm_col, N * sizeof *f->perm_col);
  }
}

static void free_turns(batch_items *items) {
  for (int64_t i = 0; i < items->count; i++) {
    const sptrsm_factors *f = &items->items[i];
    free_lines(f->L);
    if (f->U) free_lines(f->U);
    free((void *)f->perm_row);
    free((void *)f->perm_col);
  }
}

/* New values for the items of the first pattern that are not multiples of 4, the others must keep theirs. */
static void change_some(sptrsm_batch *batch, sptrsm_direct **alone, const factor_set *s, const char *method) {
  static batch_items fresh;
  draw_items(&fresh, s, TURNS);
  for (int64_t i = 2; i < 2 * TURNS; i += 4) {
    const sptrsm_factors *f = &fresh.items[i / 2];
    sptrsm_batch_values v;
    sptrsm_batch_values_init(&v);
    v.first = i, v.count = 1, v.L = f->L->val, v.U = f->U ? f->U->val : NULL, v.D = f->D, v.D_sub = f->D_sub;
    v.scale_row = f->scale_row, v.scale_col = f->scale_col;
    cr_assert_eq(sptrsm_batch_set_values(batch, &v), SPTRSM_OK, "%s", sptrsm_last_error());
    sptrsm_direct_destroy(alone[i]);
    cr_assert_eq(sptrsm_direct_create(&alone[i], context, f, &(sptrsm_options){.size = sizeof(sptrsm_options), .method = method}),
                 SPTRSM_OK, "%s", sptrsm_last_error());
  }
  free_items(&fresh);
}

static void try_turns(const recipe *r, sptrsm_dtype t, const char *method) {
  static factor_set sets[2];
  static batch_items drawn[2], items;
  sptrsm_direct *alone[COUNT_MOST];
  for (int k = 0; k < 2; k++) {
    build_factor_set(&sets[k], r, t);
    draw_items(&drawn[k], &sets[k], TURNS);
    for (int64_t i = 0; i < TURNS; i++)
      if (draw(4) == 0) spoil_item(&drawn[k], i);
  }
  take_turns(&items, drawn);
  create_alone(alone, context, &items, method);
  sptrsm_batch *batch = create(&items, method);
  cr_assert_eq(facts_of(batch).patterns, 2, "%s: %d patterns", r->name, (int)facts_of(batch).patterns);
  solve_some(batch, alone, &items, r->has_U);
  change_some(batch, alone, &sets[0], method);
  solve_some(batch, alone, &items, r->has_U);
  sptrsm_batch_destroy(batch);
  destroy_alone(alone, items.count);
  free_turns(&items);
  for (int k = 0; k < 2; k++) free_items(&drawn[k]);
}

/* tile-levelset can't write down its analysis. */
Test(batch_patterns, items_have_the_bits_they_have_alone) {
  static const char *const methods[] = {NULL, "block", "levelset", "serial", "tile-levelset"};
  for (int m = 0; m < 5; m++)
    for (int r = 0; r < RECIPES; r++)
      for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_turns(&recipes[r], (sptrsm_dtype)t, methods[m]);
}

/* ---- sets that differ in one fact ---- */

static const int64_t path_ptr[] = {0, 1, 3, 5, 7}, path_gap[] = {0, 1, 3, 4, 7};
static const int32_t path_idx[] = {0, 0, 1, 1, 2, 2, 3}, path_moved[] = {0, 0, 1, 1, 2, 1, 3}, path_short[] = {0, 0, 1, 2, 0, 1, 3};
static const double path_val[] = {2, 1, 3, 1, 2, 1, 3}, ones[] = {1, 1, 1, 1}, halves[] = {0.5, 2, 0.5, 2};
static const int32_t swap_ends[] = {3, 1, 2, 0}, swap_middle[] = {0, 2, 1, 3};
enum { ORDER = 4, VARIANTS = 13 };

static sptrsm_sparse path(const int64_t *ptr, const int32_t *idx) {
  return (sptrsm_sparse){.dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = ORDER, .ptr = ptr, .idx = idx, .val = path_val};
}

static void make_variants(batch_items *out) {
  sptrsm_factors base;
  sptrsm_factors_init(&base);
  base.perm_row = swap_ends, base.scale_row = halves, base.D = ones, base.u_kind = SPTRSM_U_IS_LT;
  *out = (batch_items){.count = VARIANTS, .dtype = SPTRSM_F64};
  for (int i = 0; i < VARIANTS; i++) {
    out->L[i] = path(path_ptr, path_idx);
    out->items[i] = base;
    out->items[i].L = &out->L[i];
  }
  out->L[1] = path(path_ptr, path_moved);
  out->L[2] = path(path_gap, path_short);
  out->L[3].n = 3;
  out->items[3].perm_row = NULL;
  out->L[4].diag = SPTRSM_UNIT;
  out->items[5].perm_row = swap_middle;
  out->items[6].perm_row = NULL, out->items[6].perm_col = swap_ends;
  out->items[7].row_convention = SPTRSM_SCATTER;
  out->items[8].row_op = SPTRSM_DIVIDE;
  out->items[9].scale_row = NULL;
  out->items[10].D = NULL;
  out->items[11].u_kind = SPTRSM_U_IS_LH;
  out->items[12].scale_col = halves;
}

Test(batch_patterns, sets_that_differ_in_one_fact_are_not_shared) {
  static batch_items items;
  sptrsm_direct *alone[COUNT_MOST];
  make_variants(&items);
  create_alone(alone, context, &items, NULL);
  sptrsm_batch *batch = create(&items, NULL);
  cr_assert_eq(facts_of(batch).patterns, VARIANTS);
  solve_some(batch, alone, &items, true);
  sptrsm_batch_destroy(batch);
  destroy_alone(alone, items.count);
}

/* An item whose array of values is missing, or whose lines have no end, is refused by its number, whatever its neighbours. */
Test(batch_patterns, items_that_cant_be_read_are_refused) {
  static batch_items items;
  static const int64_t open_ptr[] = {0, 1, 3, 5, 1 << 20};
  const sptrsm_factors *list[3];
  sptrsm_batch *batch;
  make_variants(&items);
  for (int i = 0; i < 3; i++) list[i] = &items.items[0];
  list[2] = &items.items[1];
  items.L[1] = path(path_ptr, path_idx), items.L[1].val = NULL;
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, 3, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "item 2"), "%s", sptrsm_last_error());
  items.L[1] = path(open_ptr, path_idx);
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, 3, NULL), SPTRSM_ERR_STRUCTURE);
  cr_assert(strstr(sptrsm_last_error(), "item 2"), "%s", sptrsm_last_error());
}

/* ---- memory ---- */

enum { LONG = 4000, ITEMS = 8 };

Test(batch_patterns, an_item_more_takes_memory_for_its_values) {
  static int64_t ptr[LONG + 1];
  static int32_t idx[2 * LONG];
  static double val[2 * LONG];
  const sptrsm_factors *list[ITEMS];
  sptrsm_factors f;
  sptrsm_batch *batch;
  size_t bytes[2];
  for (int32_t i = 0, p = 0; i < LONG; ptr[++i] = p) { /* columns: `levelset` reads rows, and needs the transposed triangle */
    idx[p] = i, val[p++] = 2;
    if (i + 1 < LONG) idx[p] = i + 1, val[p++] = 1;
  }
  const sptrsm_sparse L = {.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .n = LONG, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors_init(&f);
  f.L = &L;
  for (int i = 0; i < ITEMS; i++) list[i] = &f;
  for (int k = 0; k < 2; k++) {
    const sptrsm_options o = {.size = sizeof o, .method = "levelset"};
    cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, k ? ITEMS : 1, &o), SPTRSM_OK, "%s", sptrsm_last_error());
    bytes[k] = facts_of(batch).batch_bytes;
    sptrsm_batch_destroy(batch);
  }
  const size_t values = 2 * (size_t)ptr[LONG] * sizeof *val, more = (bytes[1] - bytes[0]) / (ITEMS - 1);
  cr_assert(more >= values && more < values + 4096, "%zu bytes an item, %zu of values in both orientations", more, values);
}

/* Numbers of items that fill a vector register are kept side by side, unless right-hand sides are expected that fill it. */
Test(batch_patterns, items_are_side_by_side_for_few_right_hand_sides) {
  const int64_t ptr[] = {0, 1, 2}, hints[] = {0, 7, 8, 9, 1000};
  const int32_t idx[] = {0, 1};
  const double val[] = {1, 2};
  const sptrsm_sparse L = {.dtype = SPTRSM_F64, .n = 2, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors f;
  sptrsm_batch_values v;
  size_t bytes[5];
  sptrsm_factors_init(&f);
  f.L = &L;
  sptrsm_batch_values_init(&v);
  double values[18];
  for (int k = 0; k < 18; k++) values[k] = 1 + k % 2;
  v.L = values, v.L_stride = 2, v.count = 9;
  for (int k = 0; k < 5; k++) {
    const sptrsm_options o = {.size = sizeof o, .nrhs_hint = hints[k]};
    sptrsm_batch *batch;
    cr_assert_eq(sptrsm_batch_create_uniform(&batch, context, &f, &v, &o), SPTRSM_OK, "%s", sptrsm_last_error());
    bytes[k] = facts_of(batch).batch_bytes;
    sptrsm_batch_destroy(batch);
  }
  cr_assert(bytes[0] == bytes[1] && bytes[2] == bytes[3] && bytes[3] == bytes[4], "%zu %zu %zu %zu %zu bytes", bytes[0], bytes[1], bytes[2],
            bytes[3], bytes[4]);
  cr_assert_gt(bytes[1], bytes[2], "%zu bytes, %zu apart: room for 16 items, not 9", bytes[1], bytes[2]);
}
