/* batch.c -- uniform and mixed batches on a device, emulated or real: each item against sptrsm_direct on the host, and its bits
 * against those of the item alone. What is drawn: factor sets of all kinds, types, systems and operations, layouts, strides,
 * pointers, widths, masks, singular items, where matrices and values lie, and the size of a group. On a real device (BATCH_ON_GPU) all
 * of these lie in managed memory. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_batch.h>

#include "support/factor_set.h"

#ifdef BATCH_ON_GPU
#include <cuda_runtime_api.h>
enum { emulated_gpu_blocks = 0 };
#else
#include "simt/emulator/emulated_gpu.h"
#endif

enum { ITEMS_MOST = 11, NRHS_MOST = 9, COPIES = 2, ELEMENTS = 4096 };

typedef struct {
  uint64_t state;
} draws;

static int below(draws *d, int n) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((d->state >> 33) % (uint64_t)n);
}

/* Memory that host and device reach, for the whole test. */
static void *reachable(size_t bytes) {
  void *memory = NULL;
#ifdef BATCH_ON_GPU
  cr_assert_eq(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal), cudaSuccess);
#else
  memory = malloc(bytes);
#endif
  cr_assert_not_null(memory);
  return memory;
}

static void ok(sptrsm_status status, const char *what) { cr_assert_eq(status, SPTRSM_OK, "%s: %s", what, sptrsm_last_error()); }

/* ---- items: the pattern of a factor set with other values ---- */

typedef struct {
  double L[2 * NNZ], U[2 * NNZ], D[2 * N], D_sub[2 * N], scale_row[N], scale_col[N];
} item_values;

typedef struct {
  factor_set *pattern; /* uniform: of all items; mixed: [count] */
  bool mixed, keeps_bits;
  sptrsm_dtype dtype;
  int count;
  sptrsm_place place; /* of all matrices and values */
  int singular;       /* an item with a zero on a diagonal, or -1 */
  int32_t row;        /* where */
  item_values items[ITEMS_MOST];
  char name[256], method[64];
} test_batch;

/* Other numbers of the same size: signs change, and values by a factor up to 1.5. */
static void vary(void *to, const void *from, int64_t count, sptrsm_dtype dtype) {
  for (int64_t p = 0; p < count; p++) put(to, p, dtype, get(from, p, dtype) * (1.25 + creal(number(dtype)) / 4));
}

static void draw_item(item_values *out, const factor_set *f, sptrsm_dtype dtype) {
  vary(out->L, f->L.val, f->L.ptr[N], dtype);
  if (f->f.U) vary(out->U, f->U.val, f->U.ptr[N], dtype);
  if (f->f.D) vary(out->D, f->D, N, dtype);
  if (f->f.D_sub) vary(out->D_sub, f->D_sub, N, dtype);
  if (f->f.D_hermitian)
    for (int i = 0; i < N; i++) put(out->D, i, dtype, creal(get(out->D, i, dtype)));
  if (f->f.scale_row) vary(out->scale_row, f->scale_row, N, SPTRSM_F64);
  if (f->f.scale_col) vary(out->scale_col, f->scale_col, N, SPTRSM_F64);
}

static factor_set *pattern_of(const test_batch *t, int item) { return &t->pattern[t->mixed ? item : 0]; }

/* The factor set of an item, by itself. */
typedef struct {
  sptrsm_factors f;
  sptrsm_sparse L, U;
} item_factors;

static void item_factor_set(item_factors *out, const test_batch *t, int item) {
  const item_values *v = &t->items[item];
  const factor_set *pattern = pattern_of(t, item);
  out->f = pattern->f;
  out->L = pattern->L.T;
  out->L.place = t->place;
  out->L.val = v->L;
  out->f.L = &out->L;
  out->U = pattern->U.T;
  out->U.place = t->place;
  out->U.val = v->U;
  if (out->f.U) out->f.U = &out->U;
  if (out->f.D) out->f.D = v->D;
  if (out->f.D_sub) out->f.D_sub = v->D_sub;
  if (out->f.scale_row) out->f.scale_row = v->scale_row;
  if (out->f.scale_col) out->f.scale_col = v->scale_col;
}

static void make_singular(test_batch *t, int item) {
  const sptrsm_sparse *T = &pattern_of(t, item)->L.T;
  t->singular = -1;
  if (T->diag == SPTRSM_UNIT) return;
  t->singular = item;
  for (int64_t p = T->ptr[t->row]; p < T->ptr[t->row + 1]; p++)
    if (T->idx[p] == t->row) put(t->items[item].L, p, t->dtype, 0);
}

static void draw_batch(test_batch *t, factor_set *f, int r, sptrsm_dtype dtype, draws *d) {
  build_factor_set(f, &recipes[r], dtype);
  *t = (test_batch){.pattern = f,
                    .dtype = dtype,
                    .count = 1 + below(d, ITEMS_MOST),
                    .keeps_bits = true,
                    .place = below(d, 2) ? SPTRSM_CUDA : SPTRSM_HOST,
                    .singular = -1,
                    .row = below(d, N)};
  f->L.T.place = f->U.T.place = t->place;
  for (int i = 0; i < t->count; i++) draw_item(&t->items[i], f, dtype);
  if (below(d, 2)) make_singular(t, below(d, t->count));
}

static sptrsm_batch_values values_of(const test_batch *t, int first, int count) {
  sptrsm_batch_values v;
  sptrsm_batch_values_init(&v);
  const factor_set *f = pattern_of(t, first);
  const item_values *at = &t->items[first];
  const int64_t stride = (int64_t)(sizeof(item_values) / sptrsm_dtype_bytes(t->dtype));
  v.first = first;
  v.count = count;
  v.L = at->L, v.L_stride = stride;
  if (f->f.U) v.U = at->U, v.U_stride = stride;
  if (f->f.D) v.D = at->D, v.D_stride = stride;
  if (f->f.D_sub) v.D_sub = at->D_sub, v.D_sub_stride = stride;
  if (f->f.scale_row) v.scale_row = at->scale_row, v.scale_row_stride = sizeof(item_values) / sizeof(double);
  if (f->f.scale_col) v.scale_col = at->scale_col, v.scale_col_stride = sizeof(item_values) / sizeof(double);
  return v;
}

/* ---- blocks ---- */

typedef struct {
  double data[ITEMS_MOST * ELEMENTS / 4];
} storage;

typedef struct {
  storage *B, *X;
  sptrsm_batch_block b, x;
  void *b_of[ITEMS_MOST], *x_of[ITEMS_MOST];
  int64_t nrhs_of[ITEMS_MOST], b_ld[ITEMS_MOST], x_ld[ITEMS_MOST];
} test_blocks;

static void draw_block(sptrsm_batch_block *out, storage *s, void **of, int64_t *ld, const test_batch *t, draws *d) {
  const size_t bytes = sptrsm_dtype_bytes(t->dtype);
  sptrsm_batch_block_init(out);
  out->dtype = t->dtype;
  out->layout = below(d, 2) ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR;
  out->place = below(d, 4) ? SPTRSM_CUDA : SPTRSM_HOST;
  out->ld = (out->layout == SPTRSM_ROW_MAJOR ? NRHS_MOST : N) + below(d, 3);
  out->stride = out->ld * (out->layout == SPTRSM_ROW_MAJOR ? N : NRHS_MOST) + below(d, 3);
  out->data = s->data;
  for (int64_t e = 0; e < (int64_t)(sizeof s->data / bytes); e++) put(s->data, e, t->dtype, number(t->dtype));
  if (below(d, 3) > 0) return;
  for (int i = 0; i < t->count; i++) {
    of[i] = (char *)s->data + (size_t)((t->count - 1 - i) * out->stride) * bytes;
    ld[i] = out->ld - (i % 2 && out->ld > (out->layout == SPTRSM_ROW_MAJOR ? NRHS_MOST : N));
  }
  out->data_of = of;
  out->ld_of = ld;
  out->data = NULL;
}

static void draw_blocks(test_blocks *k, const test_batch *t, draws *d) {
  *k = (test_blocks){.B = k->B, .X = k->X};
  draw_block(&k->b, k->B, k->b_of, k->b_ld, t, d);
  draw_block(&k->x, k->X, k->x_of, k->x_ld, t, d);
  if (!k->b.data_of && below(d, 4) == 0) k->b.stride = 0;
  k->b.nrhs = k->x.nrhs = below(d, 5) ? 1 + below(d, NRHS_MOST) : 1;
  if (below(d, 3) > 0) return;
  for (int i = 0; i < t->count; i++) k->nrhs_of[i] = below(d, (int)k->b.nrhs + 1);
  k->b.nrhs_of = k->x.nrhs_of = k->nrhs_of;
}

static sptrsm_block block_of(const sptrsm_batch_block *block, const test_batch *t, int item, sptrsm_place place) {
  sptrsm_block out = {.ld = block->ld_of ? block->ld_of[item] : block->ld,
                      .n = N,
                      .nrhs = block->nrhs_of ? block->nrhs_of[item] : block->nrhs,
                      .dtype = t->dtype,
                      .layout = block->layout,
                      .place = place};
  out.data = block->data_of ? block->data_of[item] : (char *)block->data + (size_t)(item * block->stride) * sptrsm_dtype_bytes(t->dtype);
  return out;
}

/* ---- one solve, checked ---- */

typedef struct {
  sptrsm_system system;
  sptrsm_op op;
  double alpha[2];
  uint8_t *mask; /* [ITEMS_MOST], as status */
  bool masked;
  sptrsm_item_status *status;
} test_call;

static bool is_solved(const test_batch *t, const test_call *c, int item) { return (!c->masked || c->mask[item]) && item != t->singular; }

/* Solves item by item on the host, from the B that the batch had, into `expected`, which began as a copy of X. */
static void solve_alone(const test_batch *t, const test_blocks *k, const test_call *c, storage *expected) {
  sptrsm_context *context;
  ok(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), t->name);
  for (int i = 0; i < t->count; i++) {
    item_factors f;
    sptrsm_direct *direct;
    if (!is_solved(t, c, i)) continue;
    item_factor_set(&f, t, i);
    f.L.place = f.U.place = SPTRSM_HOST;
    ok(sptrsm_direct_create(&direct, context, &f.f, NULL), t->name);
    const sptrsm_block B = block_of(&k->b, t, i, SPTRSM_HOST);
    sptrsm_block X = block_of(&k->x, t, i, SPTRSM_HOST);
    X.data = (char *)expected->data + ((char *)X.data - (char *)k->X->data);
    ok(sptrsm_direct_solve(direct, c->system, c->op, c->alpha, &B, &X), t->name);
    sptrsm_direct_destroy(direct);
  }
  sptrsm_context_destroy(context);
}

static void compare(const test_batch *t, const storage *expected, const storage *got, bool exactly) {
  const double epsilon = is_single(t->dtype) ? 1e-3 : 1e-11;
  for (int64_t e = 0; e < (int64_t)(sizeof got->data / sptrsm_dtype_bytes(t->dtype)); e++) {
    const double complex x = get(expected->data, e, t->dtype), y = get(got->data, e, t->dtype);
    if (exactly)
      cr_assert_eq(memcmp(&x, &y, sizeof x), 0, "%s: element %d has other bits: %g, not %g", t->name, (int)e, creal(y), creal(x));
    else cr_assert(cabs(x - y) <= epsilon * (1 + cabs(x)), "%s: element %d is %g, not %g", t->name, (int)e, creal(y), creal(x));
  }
}

static void run_batch(sptrsm_batch *batch, sptrsm_context *context, const test_batch *t, test_blocks *k, test_call *c) {
  sptrsm_batch_run run;
  sptrsm_batch_run_init(&run);
  run.status = c->status;
  run.status_place = SPTRSM_CUDA;
  if (c->masked) run.mask = c->mask, run.mask_place = c->mask[0] ? SPTRSM_HOST : SPTRSM_CUDA;
  for (int i = 0; i < t->count; i++) c->status[i] = (sptrsm_item_status){77, 77};
  ok(sptrsm_batch_solve(batch, c->system, c->op, c->alpha, &k->b, &k->x, &run), t->name);
  ok(sptrsm_context_sync(context), t->name);
  for (int i = 0; i < t->count; i++) {
    const int32_t expected = c->masked && !c->mask[i] ? 77 : i == t->singular ? SPTRSM_ERR_SINGULAR : SPTRSM_OK;
    cr_assert_eq(c->status[i].status, expected, "%s: status %d of item %d", t->name, c->status[i].status, i);
    if (i == t->singular && expected != 77) cr_assert_eq(c->status[i].row, t->row, "%s: row %d", t->name, c->status[i].row);
  }
}

/* A second solve of blocks in device memory can be captured and allocates nothing, since the first one has prepared it. */
static void check_capture(sptrsm_batch *batch, const test_batch *t, test_blocks *k, test_call *c) {
#ifndef BATCH_ON_GPU
  const size_t allocated = emulated_gpu_total;
  bool any = !k->x.nrhs_of;
  for (int i = 0; i < t->count && !any; i++) any = k->x.nrhs_of[i] > 0;
  if (!any) return;
  emulated_gpu_captures = true;
  const sptrsm_status got = sptrsm_batch_solve(batch, c->system, c->op, c->alpha, &k->b, &k->x, NULL);
  emulated_gpu_captures = false;
  if (k->b.place == SPTRSM_CUDA && k->x.place == SPTRSM_CUDA) ok(got, t->name);
  else cr_assert_eq(got, SPTRSM_ERR_ARGUMENT, "%s: copies to the host were captured", t->name);
  cr_assert_eq(emulated_gpu_total, allocated, "%s: a solve allocated %zu bytes", t->name, emulated_gpu_total - allocated);
#else
  (void)batch, (void)t, (void)k, (void)c;
#endif
}

/* X may be B. */
static void check_in_place(sptrsm_batch *batch, sptrsm_context *context, const test_batch *t, const test_blocks *k, const test_call *c) {
  static storage *copy;
  if (!copy) copy = reachable(sizeof *copy);
  *copy = *k->B;
  sptrsm_batch_block x = k->b, same = k->b;
  if (k->b.data_of || k->b.stride == 0) return;
  x.data = k->X->data;
  same.data = copy->data;
  ok(sptrsm_batch_solve(batch, c->system, c->op, c->alpha, &k->b, &x, NULL), t->name);
  ok(sptrsm_batch_solve(batch, c->system, c->op, c->alpha, &same, &same, NULL), t->name);
  ok(sptrsm_context_sync(context), t->name);
  for (int i = 0; i < t->count; i++) {
    const sptrsm_block left = block_of(&x, t, i, SPTRSM_HOST), right = block_of(&same, t, i, SPTRSM_HOST);
    for (int64_t e = 0; e < N * left.nrhs && i != t->singular; e++) {
      const int64_t at = left.layout == SPTRSM_ROW_MAJOR ? e / left.nrhs * left.ld + e % left.nrhs : e % N + e / N * left.ld;
      const double complex a = get(left.data, at, t->dtype), b = get(right.data, at, t->dtype);
      cr_assert(a == b, "%s: item %d solved in place has %g, not %g", t->name, i, creal(b), creal(a));
    }
  }
}

/* Every item in a batch of its own, with another size of groups: the same bits. */
static void solve_in_batches_of_one(const test_batch *t, test_blocks *k, const test_call *c, sptrsm_context *context, storage *expected) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = t->mixed ? t->method : "levelset:group=1,threads=32,panel=2";
  storage *const X = k->X;
  for (int i = 0; i < t->count; i++) {
    sptrsm_batch *one;
    sptrsm_batch_values v = values_of(t, i, 1);
    item_factors f;
    const sptrsm_factors *const alone[] = {&f.f};
    if (!is_solved(t, c, i)) continue;
    v.first = 0;
    item_factor_set(&f, t, i);
    if (t->mixed) ok(sptrsm_batch_create_mixed(&one, context, alone, 1, &options), t->name);
    else ok(sptrsm_batch_create_uniform(&one, context, &t->pattern->f, &v, &options), t->name);
    test_blocks own = *k;
    const sptrsm_block B = block_of(&k->b, t, i, k->b.place), at = block_of(&k->x, t, i, k->x.place);
    own.b.data = B.data, own.b.data_of = NULL, own.b.ld_of = NULL, own.b.nrhs_of = NULL, own.b.nrhs = B.nrhs, own.b.ld = B.ld;
    own.x.data = (char *)expected->data + ((char *)at.data - (char *)X->data);
    own.x.data_of = NULL, own.x.ld_of = NULL, own.x.nrhs_of = NULL, own.x.nrhs = at.nrhs, own.x.ld = at.ld;
    ok(sptrsm_batch_solve(one, c->system, c->op, c->alpha, &own.b, &own.x, NULL), t->name);
    ok(sptrsm_context_sync(context), t->name);
    sptrsm_batch_destroy(one);
  }
}

static void check_call(sptrsm_batch *batch, sptrsm_context *context, test_batch *t, test_blocks *k, test_call *c, draws *d) {
  static storage *room, before, expected;
  if (!room) room = reachable(sizeof *room);
  draw_blocks(k, t, d);
  c->masked = below(d, 2);
  for (int i = 0; i < t->count; i++) c->mask[i] = (uint8_t)below(d, 2);
  before = expected = *k->X;
  run_batch(batch, context, t, k, c);
  solve_alone(t, k, c, &expected);
  compare(t, &expected, k->X, false);
  expected = *k->X;
  if (!t->keeps_bits) return;
  check_capture(batch, t, k, c);
  check_in_place(batch, context, t, k, c);
  *k->X = expected;
  *room = before;
  solve_in_batches_of_one(t, k, c, context, room);
  compare(t, room, k->X, true);
}

/* other: a method that does not solve the items together; NULL: levelset with drawn parameters. */
static void check_batch(int r, sptrsm_dtype dtype, const char *other, uint64_t seed) {
  static factor_set *pattern;
  static test_batch *drawn;
  static test_blocks k;
  static test_call c;
  draws d = {seed};
  if (!pattern) pattern = reachable(sizeof *pattern), drawn = reachable(sizeof *drawn);
  if (!k.B) k.B = reachable(sizeof *k.B), k.X = reachable(sizeof *k.X);
  if (!c.mask) c.mask = reachable(ITEMS_MOST), c.status = reachable(ITEMS_MOST * sizeof *c.status);
  test_batch *const t = drawn;
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_options options;
  char method[64];
  draw_batch(t, pattern, r, dtype, &d);
  snprintf(method, sizeof method, "levelset:group=%d,threads=%d,panel=%d,shared=%d", 1 << below(&d, 4), 32 << below(&d, 3),
           1 + below(&d, 9), below(&d, 2));
  if (other) snprintf(method, sizeof method, "%s", other), t->keeps_bits = false;
  snprintf(t->name, sizeof t->name, "%s, type %d, %d items, %s, seed %d", recipes[r].name, (int)dtype, t->count, method, (int)seed);
  sptrsm_options_init(&options);
  options.method = method;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), t->name);
  const sptrsm_batch_values v = values_of(t, 0, t->count);
  ok(sptrsm_batch_create_uniform(&batch, context, &pattern->f, &v, &options), t->name);
  for (int round = 0; round < 4; round++) {
    c.system = (sptrsm_system)below(&d, SPTRSM_SYS_COUNT);
    c.op = (sptrsm_op)below(&d, 3);
    c.alpha[0] = 0.75;
    c.alpha[1] = is_complex(dtype) ? 0.5 : 0;
    if (is_single(dtype)) memcpy(c.alpha, (float[2]){0.75f, is_complex(dtype) ? 0.5f : 0}, sizeof(float[2]));
    if (!recipes[r].has_U) c.system = SPTRSM_SYS_Pt_L;
    check_call(batch, context, t, &k, &c, &d);
    if (round != 1) continue;
    const int first = below(&d, t->count), count = 1 + below(&d, t->count - first); /* new values for some items */
    for (int i = first; i < first + count; i++) draw_item(&t->items[i], pattern, dtype);
    if (t->singular >= first && t->singular < first + count) t->singular = -1;
    const sptrsm_batch_values fresh = values_of(t, first, count);
    ok(sptrsm_batch_set_values(batch, &fresh), t->name);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0, "%s: %d device blocks left over", t->name, emulated_gpu_blocks);
}

/* How many of `all` draws of a form are run: on the emulator one of two, or all with SIMT_ALL (scripts/nightly.sh cases). */
static uint64_t copies(uint64_t all) {
#ifdef BATCH_ON_GPU
  return all;
#else
  return getenv("SIMT_ALL") ? all : all / 2;
#endif
}

static void check_all(sptrsm_dtype dtype, uint64_t first) {
  for (int r = 0; r < RECIPES; r++)
    for (uint64_t copy = 0; copy < copies(COPIES); copy++) check_batch(r, dtype, NULL, first + (uint64_t)r * 10 + copy);
  for (int r = 0; r < RECIPES; r++) check_batch(r, dtype, r % 2 ? "block" : "gather", first + (uint64_t)r * 10 + COPIES);
}

/* Items of different forms, which need sets of their own. rows > 0: memory has room for panels of that many rows and two columns, so that
 * there are more sets of a form, in the same memory, and panels of few columns. */
static void check_mixed(sptrsm_dtype dtype, const char *method, int rows, uint64_t seed) {
  static factor_set *patterns;
  static test_batch *drawn;
  static test_blocks k;
  static test_call c;
  item_factors f[ITEMS_MOST];
  const sptrsm_factors *items[ITEMS_MOST];
  draws d = {seed};
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_options options;
  if (!patterns) patterns = reachable(ITEMS_MOST * sizeof *patterns), drawn = reachable(sizeof *drawn);
  if (!k.B) k.B = reachable(sizeof *k.B), k.X = reachable(sizeof *k.X);
  if (!c.mask) c.mask = reachable(ITEMS_MOST), c.status = reachable(ITEMS_MOST * sizeof *c.status);
  test_batch *const t = drawn;
  *t = (test_batch){.pattern = patterns,
                    .mixed = true,
                    .dtype = dtype,
                    .count = 1 + below(&d, ITEMS_MOST),
                    .place = below(&d, 2) ? SPTRSM_CUDA : SPTRSM_HOST,
                    .singular = -1,
                    .row = below(&d, N)};
  snprintf(t->name, sizeof t->name, "mixed, type %d, %d items, %s, room for %d rows, seed %d", (int)dtype, t->count, method, rows,
           (int)seed);
  snprintf(t->method, sizeof t->method, "%s", method);
  t->keeps_bits = strcmp(method, "auto") == 0 || strncmp(method, "gather", 6) == 0;
  const int kinds = 1 + below(&d, 3), kind = below(&d, RECIPES);
  for (int i = 0; i < t->count; i++) {
    build_factor_set(&patterns[i], &recipes[(kind + i % kinds) % RECIPES], dtype);
    draw_item(&t->items[i], &patterns[i], dtype);
  }
  if (below(&d, 2)) make_singular(t, below(&d, t->count));
  for (int i = 0; i < t->count; i++) item_factor_set(&f[i], t, i), items[i] = &f[i].f;
  sptrsm_options_init(&options);
  options.method = method;
  if (rows) options.panel = 2, options.memory_limit = (size_t)rows * 4 * 2 * sptrsm_dtype_bytes(dtype) + 64;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), t->name);
  ok(sptrsm_batch_create_mixed(&batch, context, items, t->count, &options), t->name);
  bool has_U = true;
  for (int i = 0; i < kinds; i++) has_U = has_U && recipes[(kind + i) % RECIPES].has_U;
  for (int round = 0; round < 3; round++) {
    c.system = has_U ? (sptrsm_system)below(&d, SPTRSM_SYS_COUNT) : SPTRSM_SYS_Pt_L;
    c.op = (sptrsm_op)below(&d, 3);
    c.alpha[0] = 0.75;
    c.alpha[1] = is_complex(dtype) ? 0.5 : 0;
    if (is_single(dtype)) memcpy(c.alpha, (float[2]){0.75f, is_complex(dtype) ? 0.5f : 0}, sizeof(float[2]));
    check_call(batch, context, t, &k, &c, &d);
    const int fresh = below(&d, t->count);
    draw_item(&t->items[fresh], &patterns[fresh], dtype);
    if (fresh == t->singular) t->singular = -1;
    const sptrsm_batch_values v = values_of(t, fresh, 1);
    ok(sptrsm_batch_set_values(batch, &v), t->name);
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  cr_assert_eq(emulated_gpu_blocks, 0, "%s: %d device blocks left over", t->name, emulated_gpu_blocks);
}

static void check_all_mixed(sptrsm_dtype dtype, uint64_t first) {
  static const char *const methods[] = {"auto", "gather:split=3,segment=2", "levelset", "block", "syncfree-csr"};
  for (uint64_t m = 0; m < sizeof methods / sizeof *methods; m++)
    for (uint64_t copy = 0; copy < copies(2); copy++) check_mixed(dtype, methods[m], 0, first + 10 * m + copy);
  for (uint64_t copy = 0; copy < 4; copy++) check_mixed(dtype, copy == 3 ? "block" : methods[copy % 2], 2 * N, first + 5 + 10 * copy);
}

/* Rows of many more entries than a thread takes at once. */
static void check_long_rows(sptrsm_dtype dtype) {
  enum { ORDER = 80, ENTRIES = ORDER * (ORDER + 1) / 2, ITEMS = 3 };
  static double values[ITEMS * ENTRIES * 2], B[ITEMS * ORDER * 2], X[ITEMS * ORDER * 2], expected[ORDER * 2];
  static int64_t ptr[ORDER + 1];
  static int32_t idx[ENTRIES];
  sptrsm_context *context, *host;
  sptrsm_batch *batch;
  for (int64_t i = 0, p = 0; i < ORDER; ptr[++i] = p)
    for (int32_t j = 0; j <= i; j++, p++) {
      idx[p] = j;
      for (int64_t item = 0; item < ITEMS; item++)
        put(values, item * ENTRIES + p, dtype, j == i ? 8 + number(dtype) : number(dtype) / ORDER);
    }
  for (int64_t e = 0; e < ITEMS * ORDER; e++) put(B, e, dtype, number(dtype));
  sptrsm_sparse L = {.dtype = dtype, .n = ORDER, .ptr = ptr, .idx = idx, .val = values};
  sptrsm_factors f;
  sptrsm_batch_values v;
  sptrsm_batch_block b, x;
  sptrsm_factors_init(&f);
  sptrsm_batch_values_init(&v);
  sptrsm_batch_block_init(&b);
  f.L = &L, v.count = ITEMS, v.L = values, v.L_stride = ENTRIES;
  b.dtype = dtype, b.data = B, b.ld = b.nrhs = 1, b.stride = ORDER;
  x = b, x.data = X;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "long rows");
  ok(sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL), "long rows");
  ok(sptrsm_batch_create_uniform(&batch, context, &f, &v, NULL), "long rows");
  for (int op = SPTRSM_N; op <= SPTRSM_C; op++) {
    ok(sptrsm_batch_solve(batch, SPTRSM_SYS_L, (sptrsm_op)op, NULL, &b, &x, NULL), "long rows");
    for (int64_t item = 0; item < ITEMS; item++) {
      const int64_t bytes = (int64_t)sptrsm_dtype_bytes(dtype);
      sptrsm_direct *direct;
      sptrsm_block from = {.data = (char *)B + item * ORDER * bytes, .ld = 1, .n = ORDER, .nrhs = 1, .dtype = dtype}, to = from;
      L.val = (char *)values + item * ENTRIES * bytes;
      to.data = expected;
      ok(sptrsm_direct_create(&direct, host, &f, NULL), "long rows");
      ok(sptrsm_direct_solve(direct, SPTRSM_SYS_L, (sptrsm_op)op, NULL, &from, &to), "long rows");
      sptrsm_direct_destroy(direct);
      for (int64_t i = 0; i < ORDER; i++) {
        const double complex wanted = get(expected, i, dtype), got = get(X, item * ORDER + i, dtype);
        cr_assert(cabs(wanted - got) <= (is_single(dtype) ? 1e-5 : 1e-13), "type %d, op %d, item %d: row %d has %g, not %g", (int)dtype, op,
                  (int)item, (int)i, creal(got), creal(wanted));
      }
    }
  }
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  sptrsm_context_destroy(host);
}

Test(uniform, long_rows) {
  for (int t = SPTRSM_F32; t <= SPTRSM_C128; t++) check_long_rows((sptrsm_dtype)t);
}

#ifndef BATCH_ON_GPU
/* Kernels of a solve, and of backward errors, of `count` items. */
static int64_t launches_of(bool mixed, int64_t count) {
  static factor_set f;
  static double B[ITEMS_MOST * N], X[ITEMS_MOST * N], berr[ITEMS_MOST];
  const sptrsm_factors *items[ITEMS_MOST];
  const sptrsm_square A = {.dtype = SPTRSM_F64, .n = N, .ptr = f.L.ptr, .idx = f.L.idx, .val = f.L.val};
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_batch_values values;
  sptrsm_batch_block b, x;
  sptrsm_batch_run run;
  if (!f.f.L) build_factor_set(&f, &recipes[2], SPTRSM_F64);
  for (int64_t i = 0; i < count; i++) items[i] = &f.f;
  sptrsm_batch_values_init(&values);
  sptrsm_batch_block_init(&b);
  sptrsm_batch_run_init(&run);
  values.count = count;
  b.data = B, b.ld = b.nrhs = 1, b.stride = N, b.place = SPTRSM_CUDA;
  x = b, x.data = X;
  run.berr = berr;
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, NULL), "launches");
  if (mixed) ok(sptrsm_batch_create_mixed(&batch, context, items, count, NULL), "launches");
  else ok(sptrsm_batch_create_uniform(&batch, context, &f.f, &values, NULL), "launches");
  for (int64_t i = 0; i < count; i++) ok(sptrsm_batch_set_original(batch, i, &A), "launches");
  ok(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &b, &x, &run), "launches");
  const int64_t before = emulated_gpu_launches;
  ok(sptrsm_batch_solve(batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &b, &x, &run), "launches");
  const int64_t launches = emulated_gpu_launches - before;
  sptrsm_batch_destroy(batch);
  sptrsm_context_destroy(context);
  return launches;
}

Test(uniform, launches_do_not_grow_with_the_items) { cr_assert(launches_of(false, 1) == 3 && launches_of(false, ITEMS_MOST) == 3); }
Test(mixed, launches_do_not_grow_with_the_items) {
  const int64_t one = launches_of(true, 1);
  cr_assert(one > 0 && launches_of(true, ITEMS_MOST) == one);
}
#endif

Test(mixed, f32) { check_all_mixed(SPTRSM_F32, 500); }
Test(mixed, f64) { check_all_mixed(SPTRSM_F64, 600); }
Test(mixed, c64) { check_all_mixed(SPTRSM_C64, 700); }
Test(mixed, c128) { check_all_mixed(SPTRSM_C128, 800); }

Test(uniform, f32) { check_all(SPTRSM_F32, 100); }
Test(uniform, f64) { check_all(SPTRSM_F64, 200); }
Test(uniform, c64) { check_all(SPTRSM_C64, 300); }
Test(uniform, c128) { check_all(SPTRSM_C128, 400); }
