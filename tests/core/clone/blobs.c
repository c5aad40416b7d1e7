/* blobs.c -- plans and solvers as bytes: the same bits after an import, and every other sequence of bytes is refused or harmless. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sptrsm_multi.h>

#include "core/blob/blob.h"
#include "support/factor_set.h"
#include "support/oracle.h"

#define ok(call) cr_assert_eq((call), SPTRSM_OK, "%s: %s", #call, sptrsm_last_error())

enum { COLUMNS = 5 };

typedef struct {
  char *memory;
  size_t bytes;
} bytes;

static bytes alloc_bytes(size_t count) {
  bytes b = {.bytes = count};
  cr_assert_eq(posix_memalign((void **)&b.memory, 64, count), 0);
  return b;
}

static bytes export_plan(const sptrsm_plan *plan) {
  size_t count;
  ok(sptrsm_plan_export_bytes(&count, plan));
  bytes b = alloc_bytes(count);
  memset(b.memory, 0x5a, count);
  ok(sptrsm_plan_export(b.memory, count, plan));
  return b;
}

typedef struct {
  sptrsm_context *context;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
} solver;

static sptrsm_context *open_context(void) {
  sptrsm_context *context;
  ok(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL));
  ok(sptrsm_context_set_threads(context, 2));
  return context;
}

static solver open_solver(const sptrsm_sparse *T, const char *method, sptrsm_op op) {
  solver s = {.context = open_context()};
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.op = op;
  ok(sptrsm_matrix_create(&s.matrix, s.context, T, SPTRSM_COPY));
  if (method) ok(sptrsm_plan_create(&s.plan, s.matrix, &options));
  return s;
}

static void close_solver(solver *s) {
  sptrsm_plan_destroy(s->plan);
  sptrsm_matrix_destroy(s->matrix);
  sptrsm_context_destroy(s->context);
}

static test_block solve(const sptrsm_plan *plan, int32_t n, sptrsm_dtype dtype) {
  test_block B = test_block_make(n, COLUMNS, dtype, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&B, 5);
  ok(sptrsm_solve(plan, NULL, NULL, &B.block, &B.block));
  return B;
}

static void expect_same(const sptrsm_plan *a, const sptrsm_plan *b, const test_system *system, const char *what) {
  test_block X = solve(a, system->T.n, system->T.dtype), Y = solve(b, system->T.n, system->T.dtype);
  cr_assert(test_block_same_bits(&X, &Y), "%s: bits differ", what);
  test_block_free(&X);
  test_block_free(&Y);
}

/* An imported plan takes as much memory but for rounding. */
static void expect_same_info(const sptrsm_plan *a, const sptrsm_plan *b, const char *what) {
  sptrsm_info x = {.size = sizeof x}, y = {.size = sizeof y};
  ok(sptrsm_plan_info(&x, a));
  ok(sptrsm_plan_info(&y, b));
  cr_assert(strcmp(x.method, y.method) == 0 && strcmp(x.parameters, y.parameters) == 0 && strcmp(x.reason, y.reason) == 0, "%s", what);
  cr_assert(x.levels == y.levels && x.panel == y.panel && x.op == y.op, "%s", what);
  cr_assert(y.plan_bytes <= x.plan_bytes + x.plan_bytes / 100 + 256 && x.plan_bytes <= y.plan_bytes + y.plan_bytes / 100 + 256,
            "%s: %zu B, imported %zu B", what, x.plan_bytes, y.plan_bytes);
}

static const char *const methods[] = {"serial", "levelset", "block", "block:width=4,zeros=0", "auto"};
enum { METHODS = 5 };

/* In another context, with the same values and with others, from bytes that are copied or borrowed. */
static void try_import(test_system *system, const char *method, sptrsm_op op, sptrsm_copy_mode mode) {
  char what[100];
  snprintf(what, sizeof what, "%s, op %d, type %d, mode %d", method, (int)op, (int)system->T.dtype, (int)mode);
  solver a = open_solver(&system->T, method, op), b = open_solver(&system->T, NULL, op);
  bytes blob = export_plan(a.plan), again = export_plan(a.plan);
  cr_assert(blob.bytes == again.bytes && memcmp(blob.memory, again.memory, blob.bytes) == 0, "%s: two exports differ", what);
  ok(sptrsm_plan_import(&b.plan, b.matrix, NULL, blob.memory, blob.bytes, mode));
  if (mode == SPTRSM_COPY) memset(blob.memory, 0xff, blob.bytes);
  expect_same(a.plan, b.plan, system, what);
  expect_same_info(a.plan, b.plan, what);
  test_system_new_values(system, 77);
  solver c = open_solver(&system->T, method, op), d = open_solver(&system->T, NULL, op);
  ok(sptrsm_plan_import(&d.plan, d.matrix, NULL, again.memory, again.bytes, mode));
  expect_same(c.plan, d.plan, system, what); /* the bytes have other values */
  ok(sptrsm_matrix_set_values(b.matrix, system->T.val));
  expect_same(c.plan, b.plan, system, what);
  bytes third = export_plan(b.plan); /* of an imported plan with new values */
  solver e = open_solver(&system->T, NULL, op);
  ok(sptrsm_plan_import(&e.plan, e.matrix, NULL, third.memory, third.bytes, mode));
  expect_same(c.plan, e.plan, system, what);
  solver *all[] = {&a, &b, &c, &d, &e};
  for (int s = 0; s < 5; s++) close_solver(all[s]);
  free(blob.memory);
  free(again.memory);
  free(third.memory);
}

Test(blobs, an_imported_plan_has_the_same_bits) {
  for (int m = 0; m < METHODS; m++)
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++)
      for (int op = SPTRSM_N; op <= SPTRSM_C; op++)
        for (int mode = SPTRSM_COPY; mode <= SPTRSM_BORROW; mode++) {
          test_system system =
              test_system_make(TEST_TREE, 400, type % 2 ? SPTRSM_CSC : SPTRSM_CSR, (sptrsm_dtype)type, SPTRSM_LOWER, TEST_NONUNIT, 9);
          try_import(&system, methods[m], (sptrsm_op)op, (sptrsm_copy_mode)mode);
          test_system_free(&system);
        }
}

Test(blobs, all_patterns_and_orders) {
  const int32_t orders[] = {0, 1, 2, 9, 63};
  for (int m = 0; m < METHODS; m++)
    for (int pattern = 0; pattern < TEST_PATTERNS; pattern++)
      for (int k = 0; k < 5; k++) {
        test_system system = test_system_make((test_pattern)pattern, orders[k], SPTRSM_CSR, SPTRSM_F64, SPTRSM_UPPER, TEST_UNIT_MIXED, 9);
        try_import(&system, methods[m], SPTRSM_N, SPTRSM_BORROW);
        test_system_free(&system);
      }
}

Test(blobs, schedules_of_several_threads) {
  const char *const shared[] = {"levelset", "block"};
  for (int m = 0; m < 2; m++)
    for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
      test_system system = test_system_make(TEST_TREE, 60000, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 3);
      try_import(&system, shared[m], (sptrsm_op)op, SPTRSM_BORROW);
      test_system_free(&system);
    }
}

/* ---- refusals ---- */

static sptrsm_status import(const solver *s, const sptrsm_options *options, bytes b, sptrsm_copy_mode mode) {
  sptrsm_plan *plan = NULL;
  const sptrsm_status status = sptrsm_plan_import(&plan, s->matrix, options, b.memory, b.bytes, mode);
  cr_assert((status == SPTRSM_OK) == (plan != NULL));
  sptrsm_plan_destroy(plan);
  return status;
}

static void expect_refusal(const solver *s, const sptrsm_options *options, bytes b, sptrsm_status wanted, const char *text) {
  const sptrsm_status status = import(s, options, b, SPTRSM_COPY);
  cr_assert_eq(status, wanted, "%s: %s, %s", text, sptrsm_status_name(status), sptrsm_last_error());
  cr_assert(strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
}

static void expect_matrix_refused(bytes blob, test_system system, const char *text) {
  solver s = open_solver(&system.T, NULL, SPTRSM_N);
  expect_refusal(&s, NULL, blob, SPTRSM_ERR_ARGUMENT, text);
  close_solver(&s);
  test_system_free(&system);
}

static void edit(bytes b, size_t at, const void *value, size_t size) {
  memcpy(b.memory + at, value, size);
  spti_blob_seal(b.memory, b.bytes, SPTI_BLOB_PLAN, NULL);
}

Test(blobs, other_matrices_methods_and_versions_are_refused_by_name) {
  test_system system = test_system_make(TEST_TREE, 120, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver a = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(a.plan), cut = {.memory = blob.memory, .bytes = blob.bytes - 1};
  sptrsm_options options;
  expect_matrix_refused(blob, test_system_make(TEST_CHAIN, 120, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9), "another pattern");
  expect_matrix_refused(blob, test_system_make(TEST_TREE, 120, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9), "another pattern");
  expect_matrix_refused(blob, test_system_make(TEST_TREE, 120, SPTRSM_CSC, SPTRSM_F32, SPTRSM_LOWER, TEST_NONUNIT, 9),
                        "has type f64, the matrix type f32");
  expect_matrix_refused(blob, test_system_make(TEST_TREE, 121, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9),
                        "is of order 120, the matrix of order 121");
  expect_refusal(&a, NULL, cut, SPTRSM_ERR_ARGUMENT, "was cut off");
  cut.bytes = 10;
  expect_refusal(&a, NULL, cut, SPTRSM_ERR_ARGUMENT, "are not what a plan was exported to");
  sptrsm_options_init(&options);
  options.method = "levelset";
  expect_refusal(&a, &options, blob, SPTRSM_ERR_ARGUMENT, "is of method block, the options ask for levelset");
  options.method = "block";
  options.op = SPTRSM_T;
  expect_refusal(&a, &options, blob, SPTRSM_ERR_ARGUMENT, "another operation");
  options.op = SPTRSM_N;
  ok(import(&a, &options, blob, SPTRSM_BORROW));
  cr_assert_eq(import(&a, NULL, (bytes){blob.memory + 8, blob.bytes - 8}, SPTRSM_BORROW), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "multiple of 64"), "%s", sptrsm_last_error());
  spti_blob_frame frame;
  memcpy(&frame, blob.memory, sizeof frame);
  strcpy(frame.library, "0.0.9");
  memcpy(blob.memory, &frame, sizeof frame);
  expect_refusal(&a, NULL, blob, SPTRSM_ERR_UNSUPPORTED, "written by version 0.0.9 of the library");
  spti_blob_seal(blob.memory, blob.bytes, SPTI_BLOB_SOLVER, NULL);
  expect_refusal(&a, NULL, blob, SPTRSM_ERR_ARGUMENT, "is not the plan of one triangle, but the plans of a factor set");
  close_solver(&a);
  free(blob.memory);
  test_system_free(&system);
}

/* A clone in this process needs no hashes and writes none; bytes from outside always have them. */
Test(blobs, no_hash_of_the_pattern_is_no_way_past_the_comparison) {
  enum { REASON = 160 }; /* bytes of the plan in front of the hash */
  const uint64_t none = 0;
  test_system system = test_system_make(TEST_TREE, 120, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver s = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(s.plan);
  edit(blob, sizeof(spti_blob_frame) + REASON, &none, sizeof none);
  expect_refusal(&s, NULL, blob, SPTRSM_ERR_ARGUMENT, "another pattern");
  close_solver(&s);
  free(blob.memory);
  test_system_free(&system);
}

/* Bytes from outside may name what this library does not have, and what can't be written down. */
Test(blobs, methods_that_cannot_be_imported) {
  static const char *const names[] = {"bloke", "tile-levelset", "gather"};
  test_system system = test_system_make(TEST_TREE, 120, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver s = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(s.plan);
  char *name = memmem(blob.memory + sizeof(spti_blob_frame), blob.bytes - sizeof(spti_blob_frame), "block", sizeof "block");
  cr_assert(name != NULL);
  for (int k = 0; k < 3; k++) {
    char text[80];
    snprintf(text, sizeof text, "plan: method %s can't be imported", names[k]);
    edit(blob, (size_t)(name - blob.memory), names[k], strlen(names[k]) + 1);
    expect_refusal(&s, NULL, blob, SPTRSM_ERR_UNSUPPORTED, text);
  }
  close_solver(&s);
  free(blob.memory);
  test_system_free(&system);
}

Test(blobs, what_cannot_be_exported) {
  test_system system = test_system_make(TEST_TREE, 120, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver a = open_solver(&system.T, "tile-levelset", SPTRSM_N), b = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(b.plan);
  size_t count = 3;
  cr_assert_eq(sptrsm_plan_export_bytes(&count, a.plan), SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strstr(sptrsm_last_error(), "tile-levelset") && count == 3, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_export(blob.memory, blob.bytes - 1, b.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_plan_export(NULL, blob.bytes, b.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_plan_export_bytes(NULL, b.plan), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(import(&b, NULL, (bytes){NULL, 100}, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(import(&b, NULL, blob, (sptrsm_copy_mode)7), SPTRSM_ERR_ARGUMENT);
  close_solver(&a);
  close_solver(&b);
  free(blob.memory);
  test_system_free(&system);
}

/* ---- damage ---- */

/* An import that succeeds must solve and take new values without leaving its memory; what it computes is not looked at. */
static void use(const solver *s, bytes blob, const test_system *system) {
  sptrsm_plan *plan;
  if (sptrsm_plan_import(&plan, s->matrix, NULL, blob.memory, blob.bytes, SPTRSM_COPY) != SPTRSM_OK) return;
  test_block X = test_block_make(system->T.n, COLUMNS, system->T.dtype, SPTRSM_ROW_MAJOR, 0);
  test_block_fill(&X, 5);
  const sptrsm_status status = sptrsm_solve(plan, NULL, NULL, &X.block, &X.block); /* the width of its panels may be anything, too */
  cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
  (void)sptrsm_matrix_set_values(s->matrix, system->T.val); /* may find that the plan is not of this pattern */
  test_block_free(&X);
  sptrsm_plan_destroy(plan);
}

Test(blobs, every_byte_that_changes_is_noticed) {
  test_system system = test_system_make(TEST_TREE, 30, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  for (int m = 0; m < METHODS; m++) {
    solver s = open_solver(&system.T, methods[m], SPTRSM_N);
    bytes blob = export_plan(s.plan);
    for (size_t at = 0; at < blob.bytes; at++)
      for (int bit = 0; bit < 8; bit += 7) {
        blob.memory[at] ^= (char)(1 << bit);
        cr_assert_neq(import(&s, NULL, blob, SPTRSM_BORROW), SPTRSM_OK, "%s: bit %d of byte %zu", methods[m], bit, at);
        blob.memory[at] ^= (char)(1 << bit);
      }
    ok(import(&s, NULL, blob, SPTRSM_BORROW));
    close_solver(&s);
    free(blob.memory);
  }
  test_system_free(&system);
}

/* The same with a checksum that fits. AddressSanitizer sees what goes wrong. */
Test(blobs, damage_with_a_good_checksum_stays_in_memory) {
  test_random random = {5};
  for (int m = 1; m < METHODS; m++)
    for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
      test_system system = test_system_make(TEST_TREE, 40, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
      solver s = open_solver(&system.T, methods[m], (sptrsm_op)op);
      bytes blob = export_plan(s.plan);
      for (size_t at = sizeof(spti_blob_frame); at < blob.bytes; at++) {
        const char before = blob.memory[at], change = (char)(1 << test_random_below(&random, 8));
        edit(blob, at, &(char){(char)(before ^ change)}, 1);
        use(&s, blob, &system);
        edit(blob, at, &before, 1);
      }
      close_solver(&s);
      free(blob.memory);
      test_system_free(&system);
    }
}

/* Places in a list of which the ends are right, with a checksum that fits. */
Test(blobs, lists_that_do_not_ascend_are_refused) {
  test_system system = test_system_make(TEST_TREE, 300, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  solver s = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(s.plan);
  int found = 0;
  for (int32_t i = 0; i < system.T.n; i++) {
    const int32_t *row = system.T.idx + system.T.ptr[i];
    const int64_t listed = system.T.ptr[i + 1] - system.T.ptr[i] - 1; /* without the diagonal */
    int32_t *list = listed < 4 ? NULL : memmem(blob.memory, blob.bytes, row, (size_t)listed * sizeof *row);
    if (!list) continue;
    found++;
    const int32_t kept[] = {list[1], list[2]}, swapped[] = {list[2], list[1]}, twice[] = {list[1], list[1]};
    const size_t at = (size_t)((char *)list - blob.memory) + sizeof *list;
    edit(blob, at, swapped, sizeof swapped);
    expect_refusal(&s, NULL, blob, SPTRSM_ERR_ARGUMENT, "do not ascend");
    edit(blob, at, twice, sizeof twice);
    expect_refusal(&s, NULL, blob, SPTRSM_ERR_ARGUMENT, "do not ascend");
    edit(blob, at, kept, sizeof kept);
  }
  cr_assert_gt(found, 3);
  ok(import(&s, NULL, blob, SPTRSM_BORROW));
  close_solver(&s);
  free(blob.memory);
  test_system_free(&system);
}

/* The numbers of entries, of added zeros and of entries in supernodes follow each other in a plan; no solve reads them. */
Test(blobs, counts_that_no_matrix_has_are_refused) {
  const int64_t wrong[] = {-1, INT32_MAX, INT64_MAX};
  test_system system = test_system_make(TEST_TREE, 300, SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
  const int64_t entries = system.T.ptr[system.T.n] - system.T.n;
  solver s = open_solver(&system.T, "block", SPTRSM_N);
  bytes blob = export_plan(s.plan);
  const char *place = memmem(blob.memory, blob.bytes, &entries, sizeof entries);
  cr_assert(place);
  for (size_t word = 0; word < 3; word++) {
    const size_t at = (size_t)(place - blob.memory) + word * sizeof entries;
    char kept[sizeof entries];
    memcpy(kept, blob.memory + at, sizeof kept);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
      edit(blob, at, &wrong[k], sizeof *wrong);
      expect_refusal(&s, NULL, blob, SPTRSM_ERR_ARGUMENT, "in supernodes, are not those of this matrix");
    }
    edit(blob, at, kept, sizeof kept);
  }
  ok(import(&s, NULL, blob, SPTRSM_BORROW));
  close_solver(&s);
  free(blob.memory);
  test_system_free(&system);
}

/* Words of 32 and 64 bits with values that offsets and counts go wrong with, in a plan with schedules, and at random places. */
Test(blobs, hostile_words_stay_in_memory) {
  const int64_t words[] = {-1, 0, 1, 2, 7, 39, 40, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, INT64_MAX / 8, (int64_t)1 << 33};
  test_random random = {11};
  for (int m = 1; m < 3; m++)
    for (int op = SPTRSM_N; op <= SPTRSM_T; op++) {
      const int32_t n = m == 1 ? 40 : 300;
      test_system system = test_system_make(TEST_TREE, n, SPTRSM_CSC, SPTRSM_F64, SPTRSM_LOWER, TEST_NONUNIT, 9);
      solver s = open_solver(&system.T, methods[m], (sptrsm_op)op);
      bytes blob = export_plan(s.plan);
      for (int trial = 0; trial < 3000; trial++) {
        const size_t size = test_random_below(&random, 2) ? 8 : 4, first = sizeof(spti_blob_frame);
        const size_t at = first + (size_t)test_random_below(&random, (int)((blob.bytes - first - 8) / 4)) * 4;
        char before[8];
        memcpy(before, blob.memory + at, 8);
        edit(blob, at, &words[test_random_below(&random, sizeof words / sizeof *words)], size);
        use(&s, blob, &system);
        edit(blob, at, before, 8);
      }
      close_solver(&s);
      free(blob.memory);
      test_system_free(&system);
    }
}

/* ---- factor sets ---- */

static sptrsm_status try_solving(double *x, sptrsm_direct *d, sptrsm_system system, sptrsm_dtype t) {
  double b[2 * N * COLUMNS] = {0};
  for (int i = 0; i < N * COLUMNS; i++) put(b, i, t, CMPLX(1 + i % 7, is_complex(t) ? i % 5 : 0));
  sptrsm_block B = {.data = b, .ld = COLUMNS, .n = N, .nrhs = COLUMNS, .dtype = t}, X = B;
  X.data = x;
  return sptrsm_direct_solve(d, system, SPTRSM_N, NULL, &B, &X);
}

static void solve_set(double *x, sptrsm_direct *d, sptrsm_system system, sptrsm_dtype t) { ok(try_solving(x, d, system, t)); }

static bytes export_set(const sptrsm_direct *d) {
  size_t count;
  ok(sptrsm_direct_export_bytes(&count, d));
  bytes b = alloc_bytes(count);
  ok(sptrsm_direct_export(b.memory, count, d));
  return b;
}

static void try_set(const factor_set *s, const recipe *r, sptrsm_dtype t, const char *method, bool mixed) {
  static const sptrsm_system systems[] = {SPTRSM_SYS_A, SPTRSM_SYS_Aat, SPTRSM_SYS_At};
  const sptrsm_dtype kept = !mixed ? t : t == SPTRSM_F64 ? SPTRSM_F32 : SPTRSM_C64;
  sptrsm_context *context = open_context();
  sptrsm_direct *a, *b;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = method;
  options.precision = mixed ? SPTRSM_MIXED : SPTRSM_WORKING;
  ok(sptrsm_direct_create(&a, context, &s->f, &options));
  double x[2 * N * COLUMNS] = {0}, y[2 * N * COLUMNS] = {0};
  solve_set(x, a, SPTRSM_SYS_Aat, kept); /* its plans are exported; those of At are made anew */
  bytes blob = export_set(a);
  ok(sptrsm_direct_import(&b, context, &s->f, NULL, blob.memory, blob.bytes, SPTRSM_COPY));
  memset(blob.memory, 0, blob.bytes);
  for (int k = 0; k < 3; k++) {
    solve_set(x, a, systems[k], kept);
    solve_set(y, b, systems[k], kept);
    cr_assert(memcmp(x, y, sizeof x) == 0, "%s, type %d, %s: bits differ", r->name, (int)t, sptrsm_system_name(systems[k]));
  }
  sptrsm_direct_destroy(a);
  sptrsm_direct_destroy(b);
  sptrsm_context_destroy(context);
  free(blob.memory);
}

Test(blobs, factor_sets) {
  static factor_set s;
  for (int r = 0; r < RECIPES; r++)
    for (int type = SPTRSM_F32; type <= SPTRSM_C128; type++) {
      if (!recipes[r].has_U) continue;
      build_factor_set(&s, &recipes[r], (sptrsm_dtype)type);
      try_set(&s, &recipes[r], (sptrsm_dtype)type, "block", false);
      try_set(&s, &recipes[r], (sptrsm_dtype)type, NULL, false);
      if (type == SPTRSM_F64 || type == SPTRSM_C128) try_set(&s, &recipes[r], (sptrsm_dtype)type, "levelset", true);
    }
}

static void expect_set_refused(sptrsm_context *context, const factor_set *s, const sptrsm_options *options, bytes blob, const char *text) {
  sptrsm_direct *d = NULL;
  cr_assert_neq(sptrsm_direct_import(&d, context, &s->f, options, blob.memory, blob.bytes, SPTRSM_BORROW), SPTRSM_OK, "%s", text);
  cr_assert(strstr(sptrsm_last_error(), text), "\"%s\" lacks \"%s\"", sptrsm_last_error(), text);
  cr_assert_null(d);
}

/* Each word that says which plan follows: any other number is refused. */
static void expect_slots_refused(sptrsm_context *context, const factor_set *s, bytes blob) {
  int found = 0;
  for (size_t at = sizeof(spti_blob_frame); at + sizeof(int64_t) <= blob.bytes; at += 4) {
    int64_t slot;
    memcpy(&slot, blob.memory + at, sizeof slot);
    for (int64_t other = 8; other >= -1; other--) {
      if (slot < 0 || slot > 7 || other == slot) continue;
      sptrsm_direct *d = NULL;
      memcpy(blob.memory + at, &other, sizeof other);
      spti_blob_seal(blob.memory, blob.bytes, SPTI_BLOB_SOLVER, NULL);
      const sptrsm_status status = sptrsm_direct_import(&d, context, &s->f, NULL, blob.memory, blob.bytes, SPTRSM_BORROW);
      sptrsm_direct_destroy(d);
      if (other == 8 && !strstr(sptrsm_last_error(), "has a plan number 8, which can't be")) break; /* another word */
      const char *text = other < 0 ? "has a plan number -1, which can't be" : other / 4 == slot / 4 ? "is for another operation" : "plan";
      cr_assert(status != SPTRSM_OK && strstr(sptrsm_last_error(), text), "plan %d as %d: %s", (int)slot, (int)other, sptrsm_last_error());
      found += other == 8;
    }
    memcpy(blob.memory + at, &slot, sizeof slot);
  }
  spti_blob_seal(blob.memory, blob.bytes, SPTI_BLOB_SOLVER, NULL);
  cr_assert_eq(found, 2, "%d plans, not L's and U's", found);
}

Test(blobs, factor_sets_in_mixed_precision_and_of_another_order) {
  static factor_set s;
  static const int64_t ptr[] = {0, 1, 2};
  static const int32_t idx[] = {0, 1};
  static const double val[] = {1, 1};
  const sptrsm_sparse pair = {.dtype = SPTRSM_F64, .n = 2, .ptr = ptr, .idx = idx, .val = val};
  sptrsm_factors small;
  sptrsm_context *context = open_context();
  sptrsm_direct *a, *b = NULL;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.precision = SPTRSM_MIXED;
  options.method = "levelset";
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  ok(sptrsm_direct_create(&a, context, &s.f, &options));
  bytes blob = export_set(a);
  options.precision = SPTRSM_WORKING;
  expect_set_refused(context, &s, &options, blob, "was made in mixed precision");
  sptrsm_factors_init(&small);
  small.L = &pair;
  cr_assert_eq(sptrsm_direct_import(&b, context, &small, NULL, blob.memory, blob.bytes, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert(strstr(sptrsm_last_error(), "is of a factor set of order 13, these have order 2"), "%s", sptrsm_last_error());
  sptrsm_direct_destroy(a);
  sptrsm_context_destroy(context);
  free(blob.memory);
}

Test(blobs, factor_sets_that_cannot_be_exported) {
  static factor_set s;
  sptrsm_context *context = open_context();
  sptrsm_direct *a, *b = NULL;
  sptrsm_options options;
  size_t count = 3;
  sptrsm_options_init(&options);
  build_factor_set(&s, &recipes[0], SPTRSM_F64);
  options.method = "tile-levelset";
  ok(sptrsm_direct_create(&a, context, &s.f, &options));
  cr_assert_eq(sptrsm_direct_export_bytes(&count, a), SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strncmp(sptrsm_last_error(), "L: ", 3) == 0 && count == 3, "%s", sptrsm_last_error());
  sptrsm_direct_destroy(a);
  options.method = "levelset";
  ok(sptrsm_direct_create(&a, context, &s.f, &options));
  bytes blob = export_set(a);
  for (int more = -1; more < 2; more += 2) {
    cr_assert_eq(sptrsm_direct_export(blob.memory, blob.bytes + (size_t)more, a), SPTRSM_ERR_ARGUMENT);
    cr_assert(strstr(sptrsm_last_error(), "ask sptrsm_direct_export_bytes"), "%s", sptrsm_last_error());
  }
  cr_assert_eq(sptrsm_direct_export_bytes(NULL, a), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_export_bytes(&count, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_export(NULL, blob.bytes, a), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_export(blob.memory, blob.bytes, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_import(NULL, context, &s.f, NULL, blob.memory, blob.bytes, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_import(&b, NULL, &s.f, NULL, blob.memory, blob.bytes, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_import(&b, context, NULL, NULL, blob.memory, blob.bytes, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_import(&b, context, &s.f, NULL, NULL, blob.bytes, SPTRSM_COPY), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_clone(NULL, context, a), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_clone(&b, NULL, a), SPTRSM_ERR_ARGUMENT);
  cr_assert_eq(sptrsm_direct_clone(&b, context, NULL), SPTRSM_ERR_ARGUMENT);
  cr_assert_null(b);
  sptrsm_direct_destroy(a);
  sptrsm_context_destroy(context);
  free(blob.memory);
}

Test(blobs, factor_sets_refused_and_damaged) {
  static factor_set s, other;
  int with_U = 0, without = 0;
  while (!recipes[with_U].has_U || recipes[with_U].u_kind != SPTRSM_U_GIVEN) with_U++;
  while (recipes[without].u_kind == recipes[with_U].u_kind) without++;
  build_factor_set(&s, &recipes[with_U], SPTRSM_F64);
  sptrsm_context *context = open_context();
  sptrsm_direct *a;
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = "block";
  ok(sptrsm_direct_create(&a, context, &s.f, &options));
  bytes blob = export_set(a);
  build_factor_set(&other, &recipes[with_U], SPTRSM_F64); /* draws another pattern */
  expect_set_refused(context, &other, NULL, blob, "L: plan: the matrix has another pattern");
  other.f.L = s.f.L;
  expect_set_refused(context, &other, NULL, blob, "U: plan: the matrix has another pattern");
  build_factor_set(&other, &recipes[with_U], SPTRSM_F32);
  expect_set_refused(context, &other, NULL, blob, "is of factors of another type");
  build_factor_set(&other, &recipes[without], SPTRSM_F64);
  expect_set_refused(context, &other, NULL, blob, "with another u_kind than these factors");
  while (recipes[without].has_U) without++;
  build_factor_set(&other, &recipes[without], SPTRSM_F64);
  expect_set_refused(context, &other, NULL, blob, "with a stored U, these factors are without");
  options.method = "levelset";
  expect_set_refused(context, &s, &options, blob, "L: plan: is of method block, the options ask for levelset");
  options.method = NULL;
  options.precision = SPTRSM_MIXED;
  expect_set_refused(context, &s, &options, blob, "was made in working precision");
  expect_slots_refused(context, &s, blob);
  for (size_t at = sizeof(spti_blob_frame); at < blob.bytes; at++) {
    blob.memory[at] ^= 0x10;
    sptrsm_direct *d = NULL;
    cr_assert_neq(sptrsm_direct_import(&d, context, &s.f, NULL, blob.memory, blob.bytes, SPTRSM_BORROW), SPTRSM_OK, "byte %zu", at);
    spti_blob_seal(blob.memory, blob.bytes, SPTI_BLOB_SOLVER, NULL);
    if (sptrsm_direct_import(&d, context, &s.f, NULL, blob.memory, blob.bytes, SPTRSM_BORROW) == SPTRSM_OK) {
      double x[2 * N * COLUMNS];
      const sptrsm_status status = try_solving(x, d, SPTRSM_SYS_A, SPTRSM_F64);
      cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "%s", sptrsm_last_error());
    }
    sptrsm_direct_destroy(d);
    blob.memory[at] ^= 0x10;
    spti_blob_seal(blob.memory, blob.bytes, SPTI_BLOB_SOLVER, NULL);
  }
  sptrsm_direct_destroy(a);
  sptrsm_context_destroy(context);
  free(blob.memory);
}
