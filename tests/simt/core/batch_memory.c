/* batch_memory.c -- the memory that solves of a batch on a device take: what the batch says, what it allocates, and limits; and in which
 * memory new values lie. */
#include <criterion/criterion.h>

#include <string.h>

#include <sptrsm_batch.h>

#include "simt/emulator/emulated_gpu.h"
#include "support/factor_set.h"

static void ok(sptrsm_status status, const char *what) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", what, sptrsm_last_error()); }

enum { ROWS = 30, DIAGONALS_MOST = 150 };

/* Of `count` diagonal items, the last `upright` of them in CSC and so solved apart from the others, and if `empty` without rows. What is
 * done with scalings that they don't have differs. */
static sptrsm_batch_facts facts_of_diagonals(int64_t count, int64_t upright, bool empty, const sptrsm_options *o, sptrsm_dtype dtype) {
  static int64_t ptr[ROWS + 1];
  static int32_t idx[ROWS];
  static double ones[2 * ROWS];
  sptrsm_factors f[3];
  const sptrsm_factors *items[DIAGONALS_MOST];
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  for (int32_t i = 0; i < ROWS; i++) ptr[i + 1] = i + 1, idx[i] = i, put(ones, i, dtype, 1);
  const sptrsm_sparse rows = {.dtype = dtype, .n = ROWS, .ptr = ptr, .idx = idx, .val = ones};
  sptrsm_sparse columns = rows;
  columns.format = SPTRSM_CSC;
  if (empty) columns.n = 0;
  for (int k = 0; k < 3; k++) sptrsm_factors_init(&f[k]), f[k].L = k == 2 ? &columns : &rows;
  f[1].row_op = f[1].col_op = SPTRSM_DIVIDE;
  for (int64_t i = 0; i < count; i++) items[i] = &f[i >= count - upright ? 2 : i % 2];
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "workspace");
  ok(sptrsm_batch_create_mixed(&batch, context, items, count, o), "workspace");
  ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_L, SPTRSM_N), "workspace");
  ok(sptrsm_batch_info(&facts, batch), "workspace");
  if (!o) { /* nothing limits memory, so another system does not narrow the panel */
    sptrsm_batch_facts later = {.size = sizeof later};
    ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_L, SPTRSM_T), "another system");
    ok(sptrsm_batch_info(&later, batch), "another system");
    cr_assert(later.panel == facts.panel && later.workspace_bytes > facts.workspace_bytes, "panel %d, then %d", facts.panel, later.panel);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  return facts;
}

/* Five blocks: the joined panel, the solver's, one for blocks in host memory, two of `gather`, which counts some bytes more. */
static bool is_five_blocks(const sptrsm_batch_facts *facts, int64_t columns, sptrsm_dtype dtype) {
  const size_t blocks = 5 * (size_t)(facts->count * ROWS * columns) * sptrsm_dtype_bytes(dtype);
  return facts->panel == columns && facts->workspace_bytes >= blocks && facts->workspace_bytes < blocks + 64;
}

/* The emulated library has a bound of 1 MiB in place of 256 MiB. */
Test(batch_memory, is_bounded_in_sum_while_32_columns_fit) {
  const size_t bound = (size_t)1 << 20;
  const int64_t counts[] = {1, 10, 20, 27, 100}, columns[] = {256, 64, 32, 32, 32};
  for (int k = 0; k < 5; k++) {
    const sptrsm_batch_facts facts = facts_of_diagonals(counts[k], 0, false, NULL, SPTRSM_F64);
    cr_assert(is_five_blocks(&facts, columns[k], SPTRSM_F64), "panel %d, %zu bytes", facts.panel, facts.workspace_bytes);
    cr_assert((facts.workspace_bytes <= bound) == (counts[k] <= 27), "%d items: %zu bytes", (int)counts[k], facts.workspace_bytes);
  }
  const sptrsm_batch_facts two_forms = facts_of_diagonals(10, 3, false, NULL, SPTRSM_F64);
  cr_assert(two_forms.patterns == 2 && two_forms.panel == 64 && two_forms.workspace_bytes <= bound, "panel %d, %zu bytes", two_forms.panel,
            two_forms.workspace_bytes);
}

Test(batch_memory, items_without_rows_may_have_a_form_of_their_own) {
  const sptrsm_batch_facts facts = facts_of_diagonals(10, 1, true, NULL, SPTRSM_F64);
  cr_assert(facts.patterns == 2 && facts.panel == 64, "panel %d", facts.panel);
}

/* Four blocks of the rows of a set: the joined panel, the solver's, one for blocks in host memory, one that plans use in turns. */
static bool is_four_blocks(const sptrsm_batch_facts *facts, int64_t rows, int64_t columns, sptrsm_dtype dtype) {
  const size_t blocks = 4 * (size_t)(rows * columns) * sptrsm_dtype_bytes(dtype);
  return facts->panel == columns && facts->workspace_bytes >= blocks && facts->workspace_bytes < blocks + 64;
}

/* A panel that is asked for is taken; a limit that is asked for holds, by sets of fewer items before panels of fewer than 32 columns. */
Test(batch_memory, follows_the_options) {
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.panel = 400;
  sptrsm_batch_facts facts = facts_of_diagonals(10, 0, false, &o, SPTRSM_F64);
  cr_assert(is_five_blocks(&facts, 400, SPTRSM_F64), "panel %d, %zu bytes", facts.panel, facts.workspace_bytes);
  /* Limits with room for four blocks of all rows and that number of columns, or a little more: five blocks while seven have room for 32
   * columns, else four of fewer items. A sixteenth is for pieces of long rows, which these items don't have. */
  const struct {
    size_t columns;
    int32_t blocks, panel, sets;
  } cases[] = {{256, 5, 128, 1}, {100, 5, 64, 1}, {55, 4, 32, 1}, {36, 4, 32, 1}, {32, 4, 32, 2}, {17, 4, 32, 3}, {1, 4, 8, 10}};
  for (int k = 0; k < (int)(sizeof cases / sizeof *cases); k++) {
    sptrsm_options_init(&o);
    o.memory_limit = 4 * 10 * ROWS * cases[k].columns * sizeof(double) + 64;
    facts = facts_of_diagonals(10, 0, false, &o, SPTRSM_F64);
    const int64_t rows = (cases[k].sets == 2 ? 9 : (10 + cases[k].sets - 1) / cases[k].sets) * ROWS; /* of the largest set */
    cr_assert_eq(facts.patterns, cases[k].sets, "room for %zu columns: %d sets", cases[k].columns, (int)facts.patterns);
    const bool told = cases[k].blocks == 5 ? is_five_blocks(&facts, cases[k].panel, SPTRSM_F64)
                                           : is_four_blocks(&facts, rows, cases[k].panel, SPTRSM_F64);
    cr_assert(told, "room for %zu columns: panel %d, %zu bytes", cases[k].columns, facts.panel, facts.workspace_bytes);
    cr_assert_leq(facts.workspace_bytes, o.memory_limit);
  }
}

/* Panels of the width that is asked for or expected, with as many items as have room then. */
Test(batch_memory, has_room_for_the_columns_that_are_expected) {
  const int64_t hints[] = {1, 3, 5, 8, 12, 20, 40, 0, 0, 0}, panels[] = {0, 0, 0, 0, 0, 0, 0, 3, 5, 40};
  const int32_t got[] = {8, 8, 8, 8, 16, 24, 32, 3, 5, 40};
  for (int k = 0; k < 10; k++) {
    sptrsm_options o;
    sptrsm_options_init(&o);
    o.nrhs_hint = hints[k];
    o.panel = (int32_t)panels[k];
    o.memory_limit = 4 * 5 * ROWS * (size_t)((got[k] + 3) / 4 * 4) * sizeof(double) / 15 * 16 + 64;
    const sptrsm_batch_facts facts = facts_of_diagonals(10, 0, false, &o, SPTRSM_F64);
    cr_assert(facts.patterns == 2 && facts.panel == got[k], "hint %d, panel %d: %d sets, panel %d", (int)hints[k], (int)panels[k],
              (int)facts.patterns, facts.panel);
  }
}

/* ---- factors ---- */

enum { UNIFORM_ITEMS = 300 };

/* Uniform items with two entries a row, solved in shared memory or in a work block of that many columns for groups of four. What a batch
 * says of its factors and work is what the device has but for the states of the items. Returns the bytes of the factors. */
static size_t check_uniform(int64_t count, const char *method, int64_t hint, int work_columns) {
  static int64_t ptr[ROWS + 1];
  static int32_t idx[2 * ROWS];
  static double ones[UNIFORM_ITEMS * 2 * ROWS];
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  sptrsm_factors pattern;
  sptrsm_batch_values values;
  sptrsm_options o;
  int32_t entries = 0;
  for (int32_t i = 0; i < ROWS; ptr[++i] = entries) {
    if (i > 0) idx[entries++] = i - 1;
    idx[entries++] = i;
  }
  for (int i = 0; i < UNIFORM_ITEMS * 2 * ROWS; i++) ones[i] = 1;
  const sptrsm_sparse L = {.dtype = SPTRSM_F64, .n = ROWS, .ptr = ptr, .idx = idx};
  sptrsm_factors_init(&pattern);
  pattern.L = &L;
  sptrsm_batch_values_init(&values);
  values.L = ones;
  values.L_stride = entries;
  values.count = count;
  sptrsm_options_init(&o);
  o.method = method;
  o.nrhs_hint = hint;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "uniform");
  ok(sptrsm_batch_create_uniform(&batch, context, &pattern, &values, &o), "uniform");
  for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
    ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_L, (sptrsm_op)op), "uniform");
    ok(sptrsm_batch_info(&facts, batch), "uniform");
    const size_t used = emulated_gpu_used(context);
    const size_t states = (size_t)count * (5 * sizeof(int32_t) + sizeof(sptrsm_item_status));
    cr_assert_eq(facts.workspace_bytes, (size_t)(ROWS * 4 * work_columns) * sizeof(double), "%zu bytes", facts.workspace_bytes);
    cr_assert_eq(facts.batch_bytes + states + facts.workspace_bytes, used, "%d items, op %d: %zu bytes and %zu of states, not %zu",
                 (int)count, op, facts.batch_bytes, states, used);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  return facts.batch_bytes;
}

Test(batch_memory, of_factors_is_what_a_uniform_batch_says) {
  check_uniform(1, NULL, 0, 0);
  check_uniform(UNIFORM_ITEMS, NULL, 0, 0);
  check_uniform(UNIFORM_ITEMS, "levelset:shared=0,group=4", 1, 1);
  check_uniform(UNIFORM_ITEMS, "levelset:shared=0,group=4", 0, 4);
}

/* Memory is taken for whole groups. */
Test(batch_memory, is_that_of_the_largest_groups_where_shared_memory_has_room) {
  const size_t most = check_uniform(1, "levelset:group=8", 0, 0);
  cr_assert_eq(check_uniform(1, NULL, 0, 0), most);
  cr_assert_lt(check_uniform(1, "levelset:group=4", 0, 0), most);
}

/* ---- systems in the same memory ---- */

static sptrsm_batch *limited_batch(sptrsm_context *context, const factor_set *f, int64_t count, size_t limit) {
  const sptrsm_factors *items[DIAGONALS_MOST];
  sptrsm_batch *batch;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.memory_limit = limit;
  for (int64_t i = 0; i < count; i++) items[i] = &f->f;
  ok(sptrsm_batch_create_mixed(&batch, context, items, count, &o), "limited");
  return batch;
}

Test(batch_memory, is_what_the_batch_says_and_serves_all_systems) {
  static factor_set f;
  const size_t item = 4 * N * 32 * sizeof(double) / 15 * 16, room = 64;
  sptrsm_context *context;
  sptrsm_batch_facts facts = {.size = sizeof facts};
  build_factor_set(&f, &recipes[2], SPTRSM_F64);
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "context");
  sptrsm_batch *batch = limited_batch(context, &f, 20, 5 * item + room);
  const size_t before = emulated_gpu_total;
  ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_A, SPTRSM_N), "A");
  const size_t made = emulated_gpu_total - before;
  ok(sptrsm_batch_info(&facts, batch), "A");
  const size_t staging = (size_t)(5 * N * 32) * sizeof(double); /* for blocks in host memory */
  cr_assert(facts.patterns == 4 && facts.panel == 32, "%d sets, panel %d", (int)facts.patterns, facts.panel);
  cr_assert_eq(made + staging, facts.workspace_bytes, "%zu bytes and %zu for blocks in host memory, said %zu", made, staging,
               facts.workspace_bytes);
  const size_t one_system = facts.workspace_bytes;
  ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_A, SPTRSM_T), "another system");
  ok(sptrsm_batch_prepare(batch, SPTRSM_SYS_Lt, SPTRSM_N), "another system");
  ok(sptrsm_batch_info(&facts, batch), "another system");
  cr_assert(facts.panel == 32 && facts.workspace_bytes == one_system, "panel %d, %zu bytes", facts.panel, facts.workspace_bytes);
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* ---- another system needs more ---- */

enum { TALL = 40, TALL_ITEMS = 6 };

/* Solves with 2 on the diagonal and ones in the first column, for ones: L x = 1, or L^T x = 1. */
static void check_tall(sptrsm_batch *batch, sptrsm_op op) {
  static double b[TALL_ITEMS * TALL], x[TALL_ITEMS * TALL];
  sptrsm_batch_block B, X;
  for (int i = 0; i < TALL_ITEMS * TALL; i++) b[i] = 1, x[i] = -1;
  sptrsm_batch_block_init(&B);
  B.data = b, B.ld = TALL, B.stride = TALL, B.nrhs = 1, B.layout = SPTRSM_COL_MAJOR, B.place = SPTRSM_CUDA;
  X = B, X.data = x;
  ok(sptrsm_batch_solve(batch, SPTRSM_SYS_L, op, NULL, &B, &X, NULL), "tall");
  for (int i = 0; i < TALL_ITEMS * TALL; i++) {
    const bool first = i % TALL == 0;
    const double expected = op == SPTRSM_N ? (first ? 0.5 : 0.25) : (first ? (1 - (TALL - 1) / 2.0) / 2 : 0.5);
    cr_assert_eq(x[i], expected, "op %d, row %d of item %d: %g", (int)op, i % TALL, i / TALL, x[i]);
  }
}

static void open_tall(sptrsm_batch **batch, sptrsm_context **context, const sptrsm_options *o) {
  int64_t ptr[TALL + 1] = {0, 1};
  int32_t idx[2 * TALL] = {0};
  double val[2 * TALL] = {2};
  sptrsm_factors f;
  const sptrsm_factors *items[TALL_ITEMS];
  for (int i = 1; i < TALL; i++) ptr[i + 1] = ptr[i] + 2, idx[2 * i] = i, val[2 * i - 1] = 1, val[2 * i] = 2;
  const sptrsm_sparse L = {.dtype = SPTRSM_F64, .n = TALL, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors_init(&f);
  f.L = &L;
  for (int i = 0; i < TALL_ITEMS; i++) items[i] = &f;
  ok(sptrsm_context_create(context, SPTRSM_CUDA, 0, NULL), "tall");
  ok(sptrsm_batch_create_mixed(batch, *context, items, TALL_ITEMS, o), "tall");
}

/* Transposed, the first column is a long row, whose pieces need rows of the work block. The limit holds all the same. */
Test(batch_memory, grows_with_another_system_within_the_limit) {
  sptrsm_options o;
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_facts facts = {.size = sizeof facts}, later = facts;
  sptrsm_options_init(&o);
  o.method = "gather:split=3,segment=2";
  o.memory_limit = 4 * 3 * TALL * 32 * sizeof(double) / 15 * 16 + 64;
  open_tall(&batch, &context, &o);
  check_tall(batch, SPTRSM_N);
  ok(sptrsm_batch_info(&facts, batch), "tall");
  check_tall(batch, SPTRSM_T);
  ok(sptrsm_batch_info(&later, batch), "tall");
  cr_assert(facts.patterns == 2 && facts.panel == 32, "%d sets, panel %d", (int)facts.patterns, facts.panel);
  cr_assert(strncmp(facts.method, "gather", 6) == 0 && facts.reason[0] != '\0', "%s (%s)", facts.method, facts.reason);
  cr_assert(later.workspace_bytes <= o.memory_limit && later.panel < facts.panel, "panel %d, %zu bytes", later.panel,
            later.workspace_bytes);
  check_tall(batch, SPTRSM_N);
  check_tall(batch, SPTRSM_T);
  const size_t made = emulated_gpu_total;
  for (int op = SPTRSM_N; op <= SPTRSM_T; op++) check_tall(batch, (sptrsm_op)op);
  cr_assert_eq(emulated_gpu_total, made, "plans that are there were made again");
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* Where another system finds no room, it is refused each time, and the systems of before are solved. */
Test(batch_memory, of_a_refused_system_is_given_back) {
  sptrsm_options o;
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_options_init(&o);
  o.method = "gather:split=3,segment=2";
  o.memory_limit = 4 * TALL * sizeof(double) + 64; /* one column of one item, without pieces of long rows */
  open_tall(&batch, &context, &o);
  check_tall(batch, SPTRSM_N);
  for (int k = 0; k < 2; k++) {
    cr_assert_eq(sptrsm_batch_prepare(batch, SPTRSM_SYS_L, SPTRSM_T), SPTRSM_ERR_MEMORY);
    cr_assert_not_null(strstr(sptrsm_last_error(), "a workspace for 1 right-hand side takes "), "%s", sptrsm_last_error());
    check_tall(batch, SPTRSM_N);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

Test(batch_memory, is_refused_where_one_column_of_an_item_does_not_fit) {
  static factor_set f;
  const sptrsm_factors *items[1] = {&f.f};
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.memory_limit = 4 * N * sizeof(double) - 1;
  build_factor_set(&f, &recipes[2], SPTRSM_F64);
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "context");
  cr_assert_eq(sptrsm_batch_create_mixed(&batch, context, items, 1, &o), SPTRSM_ERR_MEMORY);
  cr_assert_not_null(strstr(sptrsm_last_error(), "a workspace for 1 right-hand side takes "), "%s", sptrsm_last_error());
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* ---- where new values lie ---- */

/* Bytes that move between host and device for new values of D, which lie where L lies. */
static size_t moved_by_D(sptrsm_place L_place, sptrsm_place U_place) {
  static factor_set f;
  sptrsm_context *context;
  sptrsm_batch_values v;
  build_factor_set(&f, &recipes[1], SPTRSM_F64);
  f.L.T.place = L_place, f.U.T.place = U_place;
  sptrsm_batch_values_init(&v);
  v.count = 1, v.D = f.D;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "context");
  sptrsm_batch *batch = limited_batch(context, &f, 1, 0);
  const size_t before = emulated_gpu_moved;
  ok(sptrsm_batch_set_values(batch, &v), "D");
  const size_t moved = emulated_gpu_moved - before;
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  return moved;
}

Test(batch_memory, of_D_is_where_L_lies) {
  const size_t least = moved_by_D(SPTRSM_HOST, SPTRSM_HOST);
  cr_assert_eq(moved_by_D(SPTRSM_HOST, SPTRSM_CUDA), least);
  for (int U = 0; U < 2; U++) cr_assert_eq(moved_by_D(SPTRSM_CUDA, U ? SPTRSM_CUDA : SPTRSM_HOST), least + N * sizeof(double));
}

Test(batch_memory, that_the_device_does_not_reach_is_refused) {
  static factor_set f;
  sptrsm_context *context;
  build_factor_set(&f, &recipes[1], SPTRSM_F64);
  f.L.T.place = f.U.T.place = SPTRSM_CUDA;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "context");
  sptrsm_batch *batch = limited_batch(context, &f, 1, 0);
  for (int U = 0; U < 2; U++) {
    sptrsm_batch_values v;
    sptrsm_batch_values_init(&v);
    v.count = 1, v.L = f.L.val, v.U = f.U.val;
    emulated_gpu_unreached = U ? f.U.val : f.L.val;
    cr_assert_eq(sptrsm_batch_set_values(batch, &v), SPTRSM_ERR_ARGUMENT);
    cr_assert_not_null(strstr(sptrsm_last_error(), U ? ": U is not in" : ": L is not in"), "%s", sptrsm_last_error());
  }
  emulated_gpu_unreached = NULL;
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
}
