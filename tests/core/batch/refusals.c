/* refusals.c -- wrong calls of sptrsm_batch.h: each has its status and a message that names item, value and the way out, and writes
 * nothing; and what is allowed although it looks odd. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include <sptrsm_batch.h>

#include "core/batch/batch.h"

#ifndef BATCH_PLACE
#define BATCH_PLACE SPTRSM_HOST
#endif

enum { ORDER = 4, ENTRIES = 7, COUNT = 5, NRHS = 2, SPAN = ORDER * NRHS, ROOM = 400 };

static sptrsm_context *context;
static sptrsm_batch *batch;
static double L_val[COUNT * ENTRIES], D[COUNT * ORDER], D_sub[COUNT * ORDER], scale[ORDER], memory[ROOM], before[ROOM];
static const int64_t ptr[ORDER + 1] = {0, 1, 3, 5, 7};
static const int32_t idx[ENTRIES] = {0, 0, 1, 1, 2, 2, 3};
static sptrsm_sparse L;
static sptrsm_factors factors;
static sptrsm_batch_values values;
static sptrsm_batch_block B, X;
static sptrsm_batch_run run;
static sptrsm_options options;
static uint8_t mask[COUNT];
static sptrsm_item_status status[COUNT];

static void create(void) {
  sptrsm_batch_destroy(batch);
  batch = NULL;
  cr_assert_eq(sptrsm_batch_create_uniform(&batch, context, &factors, &values, &options), SPTRSM_OK, "%s", sptrsm_last_error());
}

static void set_up(void) {
  cr_assert_eq(sptrsm_context_create(&context, BATCH_PLACE, 0, NULL), SPTRSM_OK);
  for (int i = 0; i < COUNT * ENTRIES; i++) L_val[i] = 2 + i % 3;
  for (int i = 0; i < COUNT * ORDER; i++) D[i] = 1 + i % 4, D_sub[i] = 0;
  for (int i = 0; i < ORDER; i++) scale[i] = 1;
  for (int i = 0; i < ROOM; i++) memory[i] = before[i] = i % 7;
  L = (sptrsm_sparse){.dtype = SPTRSM_F64, .n = ORDER, .ptr = ptr, .idx = idx, .val = L_val};
  sptrsm_factors_init(&factors);
  factors.L = &L, factors.D = D, factors.D_sub = D_sub, factors.scale_row = scale, factors.u_kind = SPTRSM_U_IS_LT;
  sptrsm_batch_values_init(&values);
  values.count = COUNT;
  values.L = L_val, values.L_stride = ENTRIES;
  values.D = D, values.D_stride = ORDER;
  values.D_sub = D_sub, values.D_sub_stride = ORDER;
  sptrsm_batch_block_init(&B);
  B.data = memory, B.ld = NRHS, B.nrhs = NRHS, B.stride = SPAN;
  X = B;
  X.data = memory + (ROOM / 2);
  sptrsm_batch_run_init(&run);
  sptrsm_options_init(&options);
  create();
}

static void tear_down(void) {
  sptrsm_batch_destroy(batch);
  batch = NULL;
  sptrsm_context_destroy(context);
}
TestSuite(batch_refusals, .init = set_up, .fini = tear_down);

static void expect(sptrsm_status got, sptrsm_status wanted, const char *text) {
  cr_assert_eq(got, wanted, "%s instead of %s: %s", sptrsm_status_name(got), text, sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
  cr_assert(memcmp(memory, before, sizeof memory) == 0, "%s: something was written", text);
}

static sptrsm_status solve(void) { return sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, &run); }
static void refuse_solve(const char *text) { expect(solve(), SPTRSM_ERR_ARGUMENT, text); }
static void accept_solve(void) { cr_assert_eq(solve(), SPTRSM_OK, "%s", sptrsm_last_error()); }

/* ---- creation ---- */

static sptrsm_status try_uniform(void) {
  sptrsm_batch *out = NULL;
  const sptrsm_status got = sptrsm_batch_create_uniform(&out, context, &factors, &values, &options);
  cr_assert(got == SPTRSM_OK || out == NULL);
  sptrsm_batch_destroy(out);
  return got;
}

Test(batch_refusals, of_uniform_batches) {
  values.L_stride = ENTRIES - 1;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "values: L_stride = 6 is less than the 7 elements of an item; 0 lets all items");
  values.L_stride = -1;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "values: L_stride = -1 is negative");
  values.L_stride = INT64_MAX / 16;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "do not fit the address space");
  values.L_stride = ENTRIES, values.D_stride = 3;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "values: D_stride = 3");
  values.D_stride = ORDER, values.U = L_val;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "values: U is given, but the factors have no U");
  values.U = NULL, values.first = 1;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "a batch begins with item 0");
  values.first = 0, values.count = -1;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "count = -1");
  values.count = COUNT, values.size = 0;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "sptrsm_batch_values_init");
  values.size = sizeof values, options.method = "wavelet";
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "unknown method \"wavelet\"");
  options.method = NULL, options.precision = SPTRSM_MIXED;
  expect(try_uniform(), SPTRSM_ERR_UNSUPPORTED, "working precision");
  options.precision = SPTRSM_WORKING, L.val = NULL, values.L = NULL;
  expect(try_uniform(), SPTRSM_ERR_ARGUMENT, "values: L is NULL, and so is that of the pattern");
  values.L = L_val;
  cr_assert_eq(try_uniform(), SPTRSM_OK, "the pattern needs no values: %s", sptrsm_last_error());
  const int32_t unsorted[ENTRIES] = {0, 1, 0, 1, 2, 2, 3}, missing[ENTRIES] = {0, 0, 1, 1, 2, 0, 2};
  L.idx = unsorted;
  expect(try_uniform(), SPTRSM_ERR_STRUCTURE, "L: row 1");
  L.idx = missing;
  expect(try_uniform(), SPTRSM_ERR_SINGULAR, "L: diagonal entry (3,3) is missing");
  options.method = "block";
  expect(try_uniform(), SPTRSM_ERR_SINGULAR, "item 0: L: diagonal entry (3,3) is missing");
  options.method = NULL, L.idx = idx, D_sub[3 * ORDER] = D_sub[3 * ORDER + 1] = 1;
  expect(try_uniform(), SPTRSM_ERR_STRUCTURE, "item 3: D_sub[0] and D_sub[1] are both nonzero");
  expect(sptrsm_batch_create_uniform(NULL, context, &factors, &values, NULL), SPTRSM_ERR_ARGUMENT, "is NULL");
}

Test(batch_refusals, of_mixed_batches) {
  sptrsm_batch *out = NULL;
  sptrsm_factors single = factors;
  sptrsm_sparse wrong = L;
  const int32_t unsorted[ENTRIES] = {0, 1, 0, 1, 2, 2, 3};
  const sptrsm_factors *items[3] = {&factors, &factors, NULL};
  expect(sptrsm_batch_create_mixed(&out, context, items, 3, NULL), SPTRSM_ERR_ARGUMENT, "item 2: the factor set is NULL");
  expect(sptrsm_batch_create_mixed(&out, context, NULL, 3, NULL), SPTRSM_ERR_ARGUMENT, "items is NULL");
  expect(sptrsm_batch_create_mixed(&out, context, items, -3, NULL), SPTRSM_ERR_ARGUMENT, "count = -3 is negative");
  single.L = &wrong, items[2] = &single, wrong.dtype = SPTRSM_F32;
  expect(sptrsm_batch_create_mixed(&out, context, items, 3, NULL), SPTRSM_ERR_ARGUMENT, "item 2: it has another dtype than item 0");
  wrong.dtype = SPTRSM_F64, wrong.idx = unsorted;
  expect(sptrsm_batch_create_mixed(&out, context, items, 3, NULL), SPTRSM_ERR_STRUCTURE, "item 2: L: row 1");
  sptrsm_sparse no_U = L; /* which nothing has looked at where L is singular */
  double zero[ENTRIES] = {0};
  wrong.idx = idx, wrong.val = zero, no_U.uplo = SPTRSM_UPPER, no_U.ptr = NULL, single.U = &no_U, single.u_kind = SPTRSM_U_GIVEN;
  expect(sptrsm_batch_create_mixed(&out, context, items, 3, NULL), SPTRSM_ERR_ARGUMENT, "item 2: U: matrix: ptr is NULL");
  wrong.val = L_val, single.U = NULL, single.D_sub = NULL, D[ORDER - 1] = 0;
  cr_assert_eq(sptrsm_batch_create_mixed(&out, context, items, 3, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  expect(sptrsm_batch_solve(out, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, NULL), SPTRSM_ERR_ARGUMENT,
         "system A needs U; the factors of item 2 have only L");
  values.count = 2;
  expect(sptrsm_batch_set_values(out, &values), SPTRSM_ERR_ARGUMENT, "a mixed batch takes new values for one item at a time");
  values.count = 1, values.first = 2;
  expect(sptrsm_batch_set_values(out, &values), SPTRSM_ERR_ARGUMENT, "item 2: D_sub is given, but the factors have no D_sub");
  values.first = 1, D_sub[1] = D_sub[2] = 1;
  expect(sptrsm_batch_set_values(out, &values), SPTRSM_ERR_STRUCTURE, "item 1: D_sub[1] and D_sub[2] are both nonzero");
  values.first = 0, D_sub[1] = D_sub[2] = 0;
  cr_assert_eq(sptrsm_batch_set_values(out, &values), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_item_status item = {.status = 99}; /* item 1 is as singular as it was */
  cr_assert(sptrsm_batch_item(&item, out, 1) == SPTRSM_OK && item.status == SPTRSM_ERR_SINGULAR, "status %d", item.status);
  sptrsm_batch_destroy(out);
}

/* ---- values and items ---- */

Test(batch_refusals, of_values_and_items) {
  sptrsm_item_status item;
  values.first = 3, values.count = 3;
  expect(sptrsm_batch_set_values(batch, &values), SPTRSM_ERR_ARGUMENT, "values: 3 items from item 3 on are not in a batch of 5");
  values.first = 3, values.count = 2, values.scale_col = scale;
  expect(sptrsm_batch_set_values(batch, &values), SPTRSM_ERR_ARGUMENT, "values: scale_col is given, but the factors have no scale_col");
  values.scale_col = NULL, D_sub[ORDER + 3] = 1;
  expect(sptrsm_batch_set_values(batch, &values), SPTRSM_ERR_STRUCTURE, "item 4: D_sub[3] is not zero");
  expect(sptrsm_batch_item(&item, batch, COUNT), SPTRSM_ERR_ARGUMENT, "there is no item 5 in a batch of 5");
  expect(sptrsm_batch_item(&item, batch, -1), SPTRSM_ERR_ARGUMENT, "there is no item -1");
  expect(sptrsm_batch_item(NULL, batch, 0), SPTRSM_ERR_ARGUMENT, "out or batch is NULL");
  expect(sptrsm_batch_item(&item, NULL, 0), SPTRSM_ERR_ARGUMENT, "out or batch is NULL");
  expect(sptrsm_batch_set_values(NULL, &values), SPTRSM_ERR_ARGUMENT, "is NULL");
  sptrsm_batch_facts facts = {.size = 0};
  expect(sptrsm_batch_info(&facts, batch), SPTRSM_ERR_ARGUMENT, "sizeof(sptrsm_batch_facts)");
}

/* ---- blocks ---- */

Test(batch_refusals, of_blocks_at_strides) {
  expect(sptrsm_batch_solve(batch, SPTRSM_SYS_COUNT, SPTRSM_N, NULL, &B, &X, &run), SPTRSM_ERR_ARGUMENT, "unknown system");
  expect(sptrsm_batch_solve(batch, SPTRSM_SYS_A, (sptrsm_op)9, NULL, &B, &X, &run), SPTRSM_ERR_ARGUMENT, "unknown op 9");
  expect(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, NULL, &X, &run), SPTRSM_ERR_ARGUMENT, "is NULL");
  expect(sptrsm_batch_prepare(NULL, SPTRSM_SYS_A, SPTRSM_N), SPTRSM_ERR_ARGUMENT, "batch is NULL");
  expect(sptrsm_batch_prepare(batch, SPTRSM_SYS_COUNT, SPTRSM_N), SPTRSM_ERR_ARGUMENT, "sptrsm_batch_prepare: unknown system");
  X.stride = SPAN - 1;
  refuse_solve("item 0: X: stride = 7 is less than the 8 elements from its first to its last one");
  X.stride = 0;
  refuse_solve("item 0: X: stride = 0 is less");
  X.stride = -8;
  refuse_solve("X: stride = -8 is negative");
  X.stride = INT64_MAX / 8;
  refuse_solve("X: 5 items at stride = 1152921504606846975 do not fit the address space");
  X.stride = SPAN, B.stride = -1;
  refuse_solve("B: stride = -1 is negative");
  B.stride = SPAN, X.ld = 1;
  refuse_solve("item 0: X: ld = 1 is less than 2");
  X.ld = NRHS, X.nrhs = 1;
  refuse_solve("item 0: B has 2 right-hand sides, X has 1");
  X.nrhs = NRHS, X.dtype = SPTRSM_F32;
  refuse_solve("item 0: X has another dtype than the matrix");
  X.dtype = SPTRSM_F64, X.place = SPTRSM_CUDA;
  if (BATCH_PLACE == SPTRSM_HOST) refuse_solve("X is in device memory, the context works on the host");
  X.place = SPTRSM_HOST, X.data = NULL;
  refuse_solve("item 0: X: data is NULL");
  X.data = memory + 1;
  refuse_solve("item 0: X overlaps B");
  X.data = memory + SPAN;
  refuse_solve("item 0: X overlaps B of item 1");
  X.data = memory + 2 * SPAN + 1, B.stride = 0, B.data = memory + 2 * SPAN + 17;
  refuse_solve("item 2: X overlaps B, which all items read (its stride is 0)");
}

/* Items that are columns of one row-major block, or rows of one column-major block. */
Test(batch_refusals, of_items_side_by_side) {
  X.ld = COUNT * NRHS, X.stride = NRHS - 1;
  refuse_solve("item 0: X: stride = 1 is less than the 32 elements from its first to its last one");
  X.ld--, X.stride = NRHS;
  refuse_solve("item 0: X: stride = 2 is less than the 29 elements from its first to its last one");
  int64_t ld[COUNT] = {COUNT * NRHS, COUNT * NRHS - 1, COUNT * NRHS, COUNT * NRHS, COUNT * NRHS};
  X.ld_of = ld;
  refuse_solve("item 0: X: stride = 2 is less than the 32 elements from its first to its last one");
  X.ld_of = NULL, X.layout = SPTRSM_COL_MAJOR, X.ld = COUNT * ORDER, X.stride = ORDER - 1;
  refuse_solve("item 0: X: stride = 3 is less than the 24 elements from its first to its last one");
  X.stride = ORDER;
  accept_solve();
  cr_assert_eq(batch->compared, 0, "blocks at strides were compared one by one");
  X.layout = SPTRSM_ROW_MAJOR, X.ld = COUNT * (NRHS + 1), X.stride = NRHS + 1; /* with gaps */
  accept_solve();
}

/* What lies where is judged by one item for all, also if the mask leaves it out. */
Test(batch_refusals, of_strides_whatever_is_masked_out) {
  run.mask = mask;
  memset(mask, 0, sizeof mask);
  X.stride = SPAN - 1;
  refuse_solve("item 0: X: stride = 7 is less than the 8 elements from its first to its last one");
  mask[3] = 1;
  refuse_solve("item 0: X: stride = 7 is less than the 8 elements from its first to its last one");
}

/* The last item begins where just its elements are left of the address space; only the first one is there. */
Test(batch_refusals, of_strides_as_long_as_can_be, .disabled = BATCH_PLACE != SPTRSM_HOST) {
  const int64_t most = (INT64_MAX / (int64_t)sizeof(double _Complex) - SPAN) / (COUNT - 1);
  run.mask = mask;
  memset(mask, 0, sizeof mask);
  mask[0] = 1, X.stride = most + 1;
  refuse_solve("X: 5 items at stride = 144115188075855870 do not fit the address space");
  X.stride = most;
  accept_solve();
}

Test(batch_refusals, of_run) {
  run.mask = mask, run.mask_place = SPTRSM_CUDA;
  if (BATCH_PLACE == SPTRSM_HOST) refuse_solve("run: mask is in device memory");
  run.mask_place = (sptrsm_place)7;
  refuse_solve("run: unknown mask_place 7");
  run.mask = NULL, run.status = status, run.status_place = SPTRSM_CUDA;
  if (BATCH_PLACE == SPTRSM_HOST) refuse_solve("run: status is in device memory");
  run.size = 3;
  refuse_solve("sptrsm_batch_run_init");
}

/* A load of a GPU at an address that is no multiple of its size is an error that ends the context. */
Test(batch_refusals, of_arrays_off_their_elements, .disabled = BATCH_PLACE == SPTRSM_HOST) {
  run.status = (sptrsm_item_status *)((char *)status + 2), run.status_place = SPTRSM_CUDA;
  refuse_solve("run: status: the address is 2 bytes beyond a multiple of 4");
  run.status = NULL;
  B.place = X.place = SPTRSM_CUDA;
  run.berr = (double *)((char *)memory + 4);
  refuse_solve("run: berr: the address is 4 bytes beyond a multiple of 8");
  run.berr = NULL;
  X.data = (char *)X.data + 4;
  refuse_solve("item 0: X: the address is 4 bytes beyond a multiple of 8");
  L.place = SPTRSM_CUDA;
  create();
  values.L = (char *)L_val + 4;
  expect(sptrsm_batch_set_values(batch, &values), SPTRSM_ERR_ARGUMENT, "L: the address is 4 bytes beyond a multiple of 8");
}

Test(batch_refusals, of_pointers) {
  void *from[COUNT], *to[COUNT];
  int64_t nrhs[COUNT] = {1, 2, 0, 2, 1}, ld[COUNT] = {2, 2, 2, 1, 2};
  for (int i = 0; i < COUNT; i++) from[i] = memory + i * SPAN, to[i] = memory + ROOM / 2 + i * SPAN;
  B.data_of = from, X.data_of = to;
  to[4] = NULL;
  refuse_solve("item 4: X: data is NULL");
  to[4] = memory + ROOM / 2 + 1;
  refuse_solve("item 0: X overlaps X of item 4");
  to[4] = from[1];
  refuse_solve("item 4: X overlaps B of item 1");
  to[4] = memory + ROOM / 2 + 4 * SPAN;
  X.ld_of = ld;
  refuse_solve("item 3: X: ld = 1 is less than 2");
  ld[3] = 2, X.nrhs_of = nrhs;
  refuse_solve("item 0: B has 2 right-hand sides, X has 1");
  B.nrhs_of = nrhs, nrhs[1] = -4;
  refuse_solve("item 1: B: nrhs = -4 is negative");
  nrhs[1] = 2, from[1] = to[1] = NULL, from[2] = to[2] = NULL; /* item 2 has no columns */
  refuse_solve("item 1: B: data is NULL");
  memset(mask, 1, sizeof mask);
  run.mask = mask, mask[1] = 0, nrhs[1] = -4;
  accept_solve();
}

Test(batch_refusals, of_blocks_between_the_rows_of_another) {
  void *from[COUNT], *to[COUNT];
  const int begin[COUNT] = {200, 202, 220, 204, 206}; /* side by side, but item 2, which begins with the second row of item 0 */
  for (int i = 0; i < COUNT; i++) from[i] = memory + i * SPAN, to[i] = memory + begin[i];
  B.data_of = from, X.data_of = to, X.ld = 20;
  refuse_solve("item 0: X overlaps X of item 2");
  to[2] = memory + 208;
  accept_solve();
}

/* Who owns an element: B or X of an item. Returns false if two owners meet, one of them an X of another item. */
static bool claim(int *owners, const double *base, const void *at, int item, bool is_X) {
  for (int r = 0; r < ORDER; r++)
    for (int k = 0; k < NRHS; k++) {
      int *owner = &owners[(const double *)at - base + r * X.ld + k];
      const int mine = 2 * item + (is_X ? 2 : 1);
      if (*owner && (*owner - 1) / 2 != item && (is_X || *owner % 2 == 0)) return false;
      if (!*owner || is_X) *owner = mine;
    }
  return true;
}

/* Blocks of one leading dimension anywhere in an array, side by side, one behind the other and between each other's rows: the call accepts
 * those that share no element. */
Test(batch_refusals, of_random_places) {
  enum { DRAWS = BATCH_PLACE == SPTRSM_HOST ? 20000 : 1000, WIDTH = 12, ROWS = 24 };
  uint32_t random = 1;
  int accepted = 0, refused = 0;
  static double array[WIDTH * ROWS];
  void *from[COUNT], *to[COUNT];
  B.data_of = from, X.data_of = to, B.ld = X.ld = WIDTH;
  for (int draw = 0; draw < DRAWS; draw++) {
    int owners[WIDTH * ROWS] = {0};
    bool good = true;
    for (int i = 0; i < COUNT; i++)
      for (int which = 0; which < 2; which++) {
        random = random * 1664525 + 1013904223;
        void **at = which ? &to[i] : &from[i];
        const int row = (int)(random >> 8) % (ROWS - ORDER), step = draw % 2 ? 1 : ORDER, column = (int)(random >> 16) % (WIDTH - NRHS + 1);
        *at = array + (row / step * step) * WIDTH + (draw % 3 ? column / NRHS * NRHS : column);
      }
    if (draw % 4 == 0) memcpy(from, to, sizeof from); /* in place */
    for (int i = 0; i < COUNT && good; i++) {
      const ptrdiff_t distance = (double *)to[i] - (double *)from[i];
      int rows[WIDTH * ROWS] = {0};
      good = claim(owners, array, from[i], i, false) && claim(owners, array, to[i], i, true);
      for (int r = 0; r < ORDER && distance != 0; r++) /* B and X of an item are the same, or share nothing */
        for (int k = 0; k < NRHS; k++) rows[(double *)from[i] - array + r * WIDTH + k] = 1;
      for (int r = 0; r < ORDER && distance != 0; r++)
        for (int k = 0; k < NRHS; k++) good = good && !rows[(double *)to[i] - array + r * WIDTH + k];
    }
    const sptrsm_status got = solve();
    cr_assert_eq(got, good ? SPTRSM_OK : SPTRSM_ERR_ARGUMENT, "draw %d: %s, %s", draw, sptrsm_status_name(got), sptrsm_last_error());
    *(good ? &accepted : &refused) += 1;
  }
  cr_assert(accepted > DRAWS / 100 && refused > DRAWS / 100, "%d accepted, %d refused", accepted, refused);
}

/* Every block by its pointer: their ranges of addresses all meet, but hardly any two of them are looked at. */
Test(batch_refusals, many_blocks_side_by_side_take_few_comparisons, .disabled = BATCH_PLACE != SPTRSM_HOST) {
  enum { MANY = 3000 };
  static double both[ORDER * MANY * 2 * NRHS], behind[MANY * SPAN];
  static void *from[MANY], *to[MANY], *apart[MANY];
  values.count = MANY, values.L_stride = values.D_stride = values.D_sub_stride = 0;
  create();
  for (int i = 0; i < MANY; i++) from[i] = both + 2 * i * NRHS, to[i] = both + (2 * i + 1) * NRHS, apart[i] = behind + i * SPAN;
  B.data_of = from, X.data_of = to, B.ld = X.ld = MANY * 2 * NRHS;
  accept_solve();
  cr_assert(batch->compared <= 8 * MANY, "%d pairs", (int)batch->compared);
  to[7] = from[2990];
  refuse_solve("item 7: X overlaps B of item 2990");
  X.data_of = apart, X.ld = NRHS;
  accept_solve();
  cr_assert(batch->compared <= 8 * MANY, "%d pairs", (int)batch->compared);
}

/* ---- what is allowed ---- */

Test(batch_refusals, blocks_side_by_side_are_none) {
  double big[ORDER * COUNT * 2 * NRHS], x[ORDER * COUNT * NRHS];
  for (int i = 0; i < ORDER * COUNT * 2 * NRHS; i++) big[i] = i % 5;
  B = (sptrsm_batch_block){.size = sizeof B, .data = big, .ld = COUNT * 2 * NRHS, .nrhs = NRHS, .stride = 2 * NRHS, .dtype = SPTRSM_F64};
  X = B;
  X.data = x, X.ld = NRHS, X.stride = SPAN;
  accept_solve();
  X = B, X.data = big + NRHS; /* between the columns of B */
  accept_solve();
  for (int64_t i = 0; i < COUNT; i++)
    for (int r = 0; r < ORDER; r++)
      for (int k = 0; k < NRHS; k++)
        cr_assert_eq(big[r * B.ld + i * B.stride + NRHS + k], x[i * SPAN + r * NRHS + k], "item %d (%d,%d)", (int)i, r, k);
}

Test(batch_refusals, nothing_to_do_is_allowed) {
  B.nrhs = X.nrhs = 0, B.data = X.data = NULL, run.status = status;
  accept_solve();
  values.count = 0;
  create();
  accept_solve();
  const sptrsm_factors *none = NULL;
  sptrsm_batch_destroy(batch);
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, &none, 0, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert(facts.count == 0 && facts.singular == 0 && facts.patterns == 0);
  sptrsm_batch_destroy(NULL);
}

Test(batch_refusals, order_zero_is_allowed) {
  const int64_t zero[1] = {0};
  L = (sptrsm_sparse){.dtype = SPTRSM_F64, .ptr = zero};
  values.L_stride = 0;
  create();
  B.data = X.data = NULL, run.status = status;
  accept_solve();
  cr_assert(status[COUNT - 1].status == SPTRSM_OK && status[COUNT - 1].row == -1);
}

Test(batch_refusals, a_huge_ld_is_allowed) {
  static double big[ORDER * 100000];
  B.nrhs = X.nrhs = 1, B.ld = 100000, B.stride = 1, B.data = big, X.ld = 1, X.stride = ORDER;
  for (int r = 0; r < ORDER; r++)
    for (int i = 0; i < COUNT; i++) big[r * B.ld + i] = 1;
  accept_solve();
  X.ld = INT64_MAX / 2;
  sptrsm_status got = solve();
  cr_assert(got == SPTRSM_ERR_ARGUMENT && strstr(sptrsm_last_error(), "item 0: X: 4 rows of ld"), "%s", sptrsm_last_error());
}

/* Where `values` has a part, that of the pattern may be anything. */
Test(batch_refusals, no_scaling_of_the_pattern_where_the_values_have_one) {
  static double bad[ORDER] = {1, 0, NAN, 1}, good[ORDER] = {1, 2, 3, 4};
  factors.scale_row = factors.scale_col = bad;
  values.scale_row = values.scale_col = good;
  values.scale_row_stride = values.scale_col_stride = 0;
  create();
  for (int64_t i = 0; i < COUNT; i++) {
    sptrsm_item_status item = {.status = 99};
    cr_assert(sptrsm_batch_item(&item, batch, i) == SPTRSM_OK && item.status == SPTRSM_OK, "item %d: status %d", (int)i, item.status);
  }
}

/* ---- singular items come and go ---- */

static void expect_item(int64_t i, sptrsm_status wanted, int32_t row) {
  sptrsm_item_status item = {.status = 99};
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_batch_item(&item, batch, i), SPTRSM_OK);
  cr_assert(item.status == wanted && item.row == row, "item %d: status %d, row %d", (int)i, item.status, item.row);
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert_eq(facts.singular, wanted != SPTRSM_OK);
}

/* New values of item 2 alone: each part at its place in `values`. */
static void change(const void *L_new, const void *D_new, const void *sub_new, const void *scale_new) {
  sptrsm_batch_values v;
  sptrsm_batch_values_init(&v);
  v.first = 2, v.count = 1;
  v.L = L_new, v.D = D_new, v.D_sub = sub_new, v.scale_row = scale_new;
  cr_assert_eq(sptrsm_batch_set_values(batch, &v), SPTRSM_OK, "%s", sptrsm_last_error());
}

static void come_and_go(void) {
  double bad_L[ENTRIES], bad_D[ORDER], pair[ORDER] = {0, 1, 0, 0}, none[ORDER] = {0}, bad_scale[ORDER] = {1, 1, 1, INFINITY};
  memcpy(bad_L, L_val, sizeof bad_L);
  memcpy(bad_D, D, sizeof bad_D);
  bad_L[4] = NAN, bad_D[1] = bad_D[2] = 0;
  expect_item(2, SPTRSM_OK, -1);
  change(bad_L, NULL, NULL, NULL);
  expect_item(2, SPTRSM_ERR_SINGULAR, 2);
  change(NULL, bad_D, NULL, NULL);
  change(L_val, NULL, NULL, NULL);
  expect_item(2, SPTRSM_ERR_SINGULAR, 1); /* D still is */
  change(NULL, NULL, NULL, bad_scale);
  change(NULL, NULL, pair, NULL); /* zeros on the diagonal of a block are good */
  expect_item(2, SPTRSM_ERR_SINGULAR, 3);
  change(NULL, NULL, NULL, scale);
  expect_item(2, SPTRSM_OK, -1);
  change(NULL, NULL, none, NULL);
  expect_item(2, SPTRSM_ERR_SINGULAR, 1);
  change(NULL, D, NULL, NULL);
  expect_item(2, SPTRSM_OK, -1);
  accept_solve(); /* item 2 has item 0's values now */
  memcpy(before, memory, sizeof memory);
  memcpy(memory + 2 * SPAN, memory, SPAN * sizeof *memory);
  accept_solve();
  cr_assert(memcmp(memory + ROOM / 2, memory + ROOM / 2 + 2 * SPAN, SPAN * sizeof *memory) == 0, "item 2 has other values than item 0");
}

Test(batch_refusals, singular_items_of_a_uniform_batch_come_and_go) {
  come_and_go();
  options.method = "block";
  cr_assert_eq(try_uniform(), SPTRSM_OK, "%s", sptrsm_last_error());
  come_and_go();
}

/* In device memory nobody looks at them before they are stored: the item is at fault, not the call. */
Test(batch_refusals, blocks_of_D_that_overlap_in_device_memory_are_singular, .disabled = BATCH_PLACE == SPTRSM_HOST) {
  L.place = SPTRSM_CUDA;
  D_sub[2 * ORDER] = D_sub[2 * ORDER + 1] = 1;
  create();
  expect_item(2, SPTRSM_ERR_SINGULAR, 1);
  D_sub[2 * ORDER + 1] = 0;
  change(NULL, NULL, D_sub + 2 * ORDER, NULL);
  expect_item(2, SPTRSM_OK, -1);
}

/* As in tests/core/direct/refusals.c. */
Test(batch_refusals, pairs_in_single_precision) {
  static const float bad[][3] = {{1e30f, 1e-15f, 0}, {3e38f, 1e-3f, 1e-43f}, {-1, 1.7e19f, 3e38f}, {1, 0x1.8p-74f, 5 * 0x1p-149f}};
  static float L_single[COUNT * ENTRIES], D_single[COUNT * ORDER], sub_single[COUNT * ORDER];
  for (int i = 0; i < COUNT * ENTRIES; i++) L_single[i] = 1;
  for (int i = 0; i < COUNT * ORDER; i++) D_single[i] = 1;
  L.dtype = SPTRSM_F32, L.val = values.L = L_single, values.D = D_single, values.D_sub = sub_single;
  factors.D = D_single, factors.D_sub = sub_single;
  for (int i = 0; i < 4; i++) {
    float *pair = D_single + 2 * ORDER + 1, *sub = sub_single + 2 * ORDER + 1;
    pair[0] = bad[i][0], sub[0] = bad[i][1], pair[1] = bad[i][2];
    create();
    expect_item(2, SPTRSM_ERR_SINGULAR, 1);
    pair[0] = 2e38f, sub[0] = 1.5e38f, pair[1] = 3e38f; /* regular, though sums of sizes overflow */
    change(NULL, D_single + 2 * ORDER, sub_single + 2 * ORDER, NULL);
    expect_item(2, SPTRSM_OK, -1);
  }
}

Test(batch_refusals, singular_items_of_a_mixed_batch_come_and_go) {
  sptrsm_factors sets[COUNT];
  sptrsm_sparse T[COUNT];
  const sptrsm_factors *items[COUNT];
  for (int i = 0; i < COUNT; i++) {
    sets[i] = factors, T[i] = L, T[i].val = L_val + i * ENTRIES;
    sets[i].L = &T[i], sets[i].D = D + i * ORDER, sets[i].D_sub = D_sub + i * ORDER;
    items[i] = &sets[i];
  }
  sptrsm_batch_destroy(batch);
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, items, COUNT, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert(facts.patterns == 1 && facts.method[0] && facts.reason[0], "%d patterns", (int)facts.patterns);
  come_and_go();
  sptrsm_batch_destroy(batch);
  L_val[2 * ENTRIES + 4] = 0; /* singular from the beginning */
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, items, COUNT, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  expect_item(2, SPTRSM_ERR_SINGULAR, 2);
  L_val[2 * ENTRIES + 4] = 2;
  change(L_val + 2 * ENTRIES, NULL, NULL, NULL);
  come_and_go();
}

/* ---- memory; on a device a workspace is what shared memory does not hold ---- */

Test(batch_refusals, limits_of_memory_hold, .disabled = BATCH_PLACE != SPTRSM_HOST) {
  sptrsm_batch_facts facts = {.size = sizeof facts};
  cr_assert_eq(sptrsm_context_set_threads(context, 4), SPTRSM_OK);
  options.memory_limit = 3 * ORDER * 64; /* three threads with one right-hand side of a group */
  create();
  cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
  cr_assert(facts.workspace_bytes <= options.memory_limit && facts.workspace_bytes > 0, "%zu bytes", facts.workspace_bytes);
  accept_solve();
  memcpy(memory, before, sizeof memory);
  options.memory_limit = ORDER * 64 - 1;
  create();
  expect(solve(), SPTRSM_ERR_MEMORY, "the workspace of one thread takes 256 bytes, the limit is 255: raise options.memory_limit");
}

static sptrsm_status solve_system(sptrsm_system system) { return sptrsm_batch_solve(batch, system, SPTRSM_N, NULL, &B, &X, &run); }

/* The second triangle's values are gathered behind a thread's panel, which is narrower then. Without room for a single column of it the
 * system is refused, and the one before works on. */
Test(batch_refusals, a_limit_leaves_systems_that_worked_as_they_were, .disabled = BATCH_PLACE != SPTRSM_HOST) {
  sptrsm_batch_facts facts = {.size = sizeof facts};
  const size_t column = ORDER * sizeof(double), gathered = ENTRIES * sizeof(double);
  cr_assert_eq(sptrsm_context_set_threads(context, 1), SPTRSM_OK);
  options.nrhs_hint = 8;
  for (int room = 0; room < 2; room++) {
    options.memory_limit = room ? 8 * column : gathered + column - 1;
    create();
    cr_assert_eq(solve_system(SPTRSM_SYS_L), SPTRSM_OK, "%s", sptrsm_last_error());
    const sptrsm_status got = solve_system(SPTRSM_SYS_A);
    cr_assert_eq(got, room ? SPTRSM_OK : SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
    cr_assert_eq(solve_system(SPTRSM_SYS_L), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_batch_info(&facts, batch), SPTRSM_OK);
    cr_assert(facts.workspace_bytes > 0 && facts.workspace_bytes <= options.memory_limit, "%zu bytes", facts.workspace_bytes);
  }
}

Test(batch_refusals, workspace_does_not_grow_with_items_or_right_hand_sides, .disabled = BATCH_PLACE != SPTRSM_HOST) {
  sptrsm_batch_facts few = {.size = sizeof few}, many = {.size = sizeof many};
  cr_assert_eq(sptrsm_batch_info(&few, batch), SPTRSM_OK);
  values.L_stride = values.D_stride = values.D_sub_stride = 0, values.count = 1000;
  create();
  cr_assert_eq(sptrsm_batch_info(&many, batch), SPTRSM_OK);
  cr_assert(many.workspace_bytes == few.workspace_bytes && many.workspace_bytes > 0 && many.count == 1000 && many.patterns == 1);
}
