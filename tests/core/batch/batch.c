/* batch.c -- every item of a batch has the bits that it has alone: 100 random batches of each kind, in all types, systems and operations,
 * with blocks in all shapes, masks, singular items, NaN, and values that change. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "core/batch/batch_case.h"

static sptrsm_context *context;
static void open_context(void) {
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
}
static void close_context(void) { sptrsm_context_destroy(context); }
TestSuite(batch, .init = open_context, .fini = close_context);

static bool needs_U(sptrsm_system s) {
  return s <= SPTRSM_SYS_Aat || (s >= SPTRSM_SYS_U && s <= SPTRSM_SYS_Uat) || s == SPTRSM_SYS_LDLt || s == SPTRSM_SYS_DLt ||
         (s >= SPTRSM_SYS_U_Qt && s <= SPTRSM_SYS_Q_Uat);
}

static void solve_random(sptrsm_batch *batch, sptrsm_direct **alone, const int32_t *orders, int64_t count, sptrsm_dtype t, bool has_U) {
  sptrsm_system system = (sptrsm_system)draw(SPTRSM_SYS_COUNT);
  while (!has_U && needs_U(system)) system = (sptrsm_system)draw(SPTRSM_SYS_COUNT);
  static batch_blocks blocks;
  draw_blocks(&blocks, orders, count, t);
  if (draw(4) == 0 && blocks.memory[0]) put(blocks.memory[0], draw(7), t, (double)NAN);
  if (blocks.in_place) memcpy(blocks.expected, blocks.memory[0], blocks.bytes[0]);
  solve_and_compare(batch, alone, &blocks, orders, system, (sptrsm_op)draw(3));
  free_blocks(&blocks);
}

static const int32_t orders_N[COUNT_MOST] = {N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
                                             N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N};

/* ---- uniform batches ---- */

static void new_values(sptrsm_batch *batch, sptrsm_direct **alone, batch_items *items, const factor_set *s, const char *method) {
  static batch_items fresh;
  const int64_t first = draw((uint32_t)items->count), count = 1 + draw((uint32_t)(items->count - first));
  draw_items(&fresh, s, count);
  fresh.values.first = first;
  cr_assert_eq(sptrsm_batch_set_values(batch, &fresh.values), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int64_t i = 0; i < count; i++) {
    sptrsm_direct_destroy(alone[first + i]);
    cr_assert_eq(sptrsm_direct_create(&alone[first + i], context, &fresh.items[i],
                                      &(sptrsm_options){.size = sizeof(sptrsm_options), .method = method}),
                 SPTRSM_OK, "%s", sptrsm_last_error());
  }
  free_items(&fresh);
}

/* What the triangle stores of its diagonal does not count any more, and only even lines store it. */
static void make_unit(triangle *t) {
  int64_t p = 0, kept = 0;
  for (int line = 0; line < N; t->ptr[++line] = kept)
    for (const int64_t end = t->ptr[line + 1]; p < end; p++) {
      if (line % 2 && t->idx[p] == line) continue;
      t->idx[kept] = t->idx[p];
      put(t->val, kept++, t->T.dtype, get(t->val, p, t->T.dtype));
    }
  t->T.diag = SPTRSM_UNIT;
}

/* method: of the items alone, and of the batch, unless levelset, which is what `auto` takes. */
static void try_uniform(const recipe *r, sptrsm_dtype t, const char *method) {
  static factor_set s;
  static batch_items items;
  sptrsm_direct *alone[COUNT_MOST];
  sptrsm_batch *batch;
  sptrsm_options o;
  sptrsm_options_init(&o);
  if (strcmp(method, "levelset") != 0) o.method = method;
  if (draw(3) == 0) o.panel = 1 + (int32_t)draw(9);
  if (draw(3) == 0) o.nrhs_hint = 1 + draw(9);
  build_factor_set(&s, r, t);
  if (draw(3) == 0) make_unit(&s.L);
  if (draw(3) == 0 && s.f.U) make_unit(&s.U);
  draw_items(&items, &s, 1 + draw(COUNT_MOST));
  for (int64_t i = 0; i < items.count; i++)
    if (draw(6) == 0) spoil_item(&items, i);
  cr_assert_eq(sptrsm_context_set_threads(context, 1 + (int)draw(4)), SPTRSM_OK);
  create_alone(alone, context, &items, method);
  items.pattern.copy = SPTRSM_BORROW; /* batches copy in any case */
  cr_assert_eq(sptrsm_batch_create_uniform(&batch, context, &items.pattern, &items.values, &o), SPTRSM_OK, "%s: %s", r->name,
               sptrsm_last_error());
  memset(items.part[0], 0xff, (size_t)((items.count - 1) * items.values.L_stride + s.L.ptr[N]) * sptrsm_dtype_bytes(t));
  for (int round = 0; round < 6; round++) solve_random(batch, alone, orders_N, items.count, t, r->has_U);
  new_values(batch, alone, &items, &s, method);
  cr_assert_eq(sptrsm_context_set_threads(context, 1 + (int)draw(4)), SPTRSM_OK);
  for (int round = 0; round < 4; round++) solve_random(batch, alone, orders_N, items.count, t, r->has_U);
  destroy_alone(alone, items.count);
  sptrsm_batch_destroy(batch);
  free_items(&items);
}

Test(batch, items_of_uniform_batches_have_the_bits_they_have_alone) {
  for (int round = 0; round < 4; round++)
    for (int r = 0; r < RECIPES; r++)
      for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_uniform(&recipes[r], (sptrsm_dtype)t, "levelset");
}

Test(batch, uniform_batches_take_any_method) {
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_uniform(&recipes[r], (sptrsm_dtype)t, r % 2 ? "block" : "serial");
}

/* Each system and operation once for every type and recipe. */
Test(batch, every_system_of_a_uniform_batch) {
  static factor_set s;
  static batch_items items;
  static batch_blocks blocks;
  sptrsm_direct *alone[COUNT_MOST];
  sptrsm_batch *batch;
  for (int r = 0; r < RECIPES; r++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) {
      build_factor_set(&s, &recipes[r], (sptrsm_dtype)t);
      draw_items(&items, &s, 9);
      create_alone(alone, context, &items, "levelset");
      cr_assert_eq(sptrsm_batch_create_uniform(&batch, context, &items.pattern, &items.values, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
      for (int system = 0; system < SPTRSM_SYS_COUNT; system++)
        for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
          draw_blocks(&blocks, orders_N, 9, (sptrsm_dtype)t);
          if (recipes[r].has_U || !needs_U((sptrsm_system)system))
            solve_and_compare(batch, alone, &blocks, orders_N, (sptrsm_system)system, (sptrsm_op)op);
          else
            cr_assert_eq(sptrsm_batch_solve(batch, (sptrsm_system)system, (sptrsm_op)op, NULL, &blocks.B, &blocks.X, NULL),
                         SPTRSM_ERR_ARGUMENT);
          free_blocks(&blocks);
        }
      destroy_alone(alone, items.count);
      sptrsm_batch_destroy(batch);
      free_items(&items);
    }
}

/* ---- mixed batches ---- */

/* Factor sets of several recipes; all have U, or none. */
static void try_mixed(sptrsm_dtype t, bool has_U) {
  enum { SETS = 5 };
  static factor_set sets[SETS];
  static batch_items items;
  const sptrsm_factors *list[COUNT_MOST];
  sptrsm_direct *alone[COUNT_MOST];
  sptrsm_batch *batch;
  const char *method = draw(2) ? "levelset" : NULL;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.method = method;
  items = (batch_items){.count = 1 + draw(SETS), .dtype = t};
  for (int64_t i = 0; i < items.count; i++) {
    int r = (int)draw(RECIPES);
    while (recipes[r].has_U != has_U) r = (int)draw(RECIPES);
    build_factor_set(&sets[i], &recipes[r], t);
    items.items[i] = sets[i].f;
    if (draw(4) == 0 && sets[i].f.U) {
      for (int64_t p = sets[i].U.ptr[5]; p < sets[i].U.ptr[6]; p++)
        if (sets[i].U.idx[p] == 5) put(sets[i].U.val, p, t, 0), items.singular[i] = true;
    }
    list[i] = &items.items[i];
  }
  cr_assert_eq(sptrsm_context_set_threads(context, 1 + (int)draw(4)), SPTRSM_OK);
  create_alone(alone, context, &items, method);
  for (int64_t i = 0; i < items.count; i++) items.items[i].copy = SPTRSM_BORROW; /* batches copy in any case */
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, items.count, &o), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int64_t i = 0; i < items.count; i++) memset(sets[i].L.val, 0xff, (size_t)sets[i].L.ptr[N] * sptrsm_dtype_bytes(t));
  for (int round = 0; round < 8; round++) solve_random(batch, alone, orders_N, items.count, t, has_U);
  destroy_alone(alone, items.count);
  sptrsm_batch_destroy(batch);
}

Test(batch, items_of_mixed_batches_have_the_bits_they_have_alone) {
  for (int round = 0; round < 25; round++)
    for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) try_mixed((sptrsm_dtype)t, round % 4 != 0);
}

/* ---- orders from 0 to some thousand, one dense: threads share items, and columns of the largest ---- */

enum { BAND = 5, LARGE = 2500, DENSE = 70, SIZES = 9 };
static const int32_t sizes[SIZES] = {3, 0, LARGE, 1, DENSE, 0, 17, 40, 2};

typedef struct {
  sptrsm_sparse T;
  int64_t ptr[LARGE + 1];
  int32_t idx[LARGE * BAND];
  double val[LARGE * BAND];
} band;

static void make_band(band *b, int32_t n) {
  const int32_t width = n == DENSE ? DENSE : BAND;
  int64_t p = 0;
  b->ptr[0] = 0;
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = i < width ? 0 : i - width + 1; j <= i; j++) {
      b->idx[p] = j;
      b->val[p++] = i == j ? 2 + i % 3 : 0.125 * (1 + (i + 2 * j) % 5);
    }
    b->ptr[i + 1] = p;
  }
  b->T = (sptrsm_sparse){.dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = n, .ptr = b->ptr, .idx = b->idx, .val = b->val};
}

Test(batch, items_of_very_different_size) {
  static band bands[SIZES];
  static batch_items items;
  const sptrsm_factors *list[SIZES];
  sptrsm_direct *alone[SIZES];
  sptrsm_batch *batch;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  items = (batch_items){.count = SIZES, .dtype = SPTRSM_F64};
  for (int i = 0; i < SIZES; i++) {
    make_band(&bands[i], sizes[i]);
    sptrsm_factors_init(&items.items[i]);
    items.items[i].L = &bands[i].T;
    list[i] = &items.items[i];
  }
  create_alone(alone, context, &items, NULL);
  for (int threads = 1; threads <= 4; threads++) {
    cr_assert_eq(sptrsm_context_set_threads(context, threads), SPTRSM_OK);
    cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, SIZES, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
    for (int round = 0; round < 12; round++) solve_random(batch, alone, sizes, SIZES, SPTRSM_F64, false);
    cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
    cr_assert(facts.count == SIZES && facts.patterns == SIZES - 1 && /* two have order 0 */ facts.n_most == LARGE && facts.singular == 0);
    cr_assert_eq(facts.workspace_bytes, (size_t)threads * (size_t)facts.panel * LARGE * sizeof(double), "a panel a thread");
    sptrsm_batch_destroy(batch);
  }
  destroy_alone(alone, SIZES);
}

Test(batch, items_without_rows_take_no_workspace) {
  static const int64_t none[1];
  const sptrsm_sparse empty = {.dtype = SPTRSM_F64, .ptr = none};
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  f.L = &empty;
  const sptrsm_factors *list[] = {&f, &f};
  sptrsm_batch *batch;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, list, 2, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert(facts.n_most == 0 && facts.workspace_bytes == 0, "%zu bytes", facts.workspace_bytes);
  sptrsm_batch_destroy(batch);
}
