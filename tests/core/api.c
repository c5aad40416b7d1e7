/* api.c -- what sptrsm.h promises beside the solution itself: wrong calls, blocks, options, names, level sets, traces. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm.h>
#include <sptrsm_inspect.h>

/* L = [2 . . . .; . 4 . . .; 1 . 8 . .; . 3 . 2 .; . . 5 -1 4]: levels {0,1}, {2,3}, {4} */
enum { N = 5, NNZ = 9 };
static const int64_t ptr[] = {0, 1, 2, 4, 6, 9};
static const int32_t idx[] = {0, 1, 0, 2, 1, 3, 2, 3, 4};
static const double val[] = {2, 4, 1, 8, 3, 2, 5, -1, 4};
static const sptrsm_sparse T = {
    .format = SPTRSM_CSR, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .n = N, .ptr = ptr, .idx = idx, .val = val};

static sptrsm_context *context;
static sptrsm_matrix *matrix;
static sptrsm_plan *plan;
static sptrsm_options options;
static double data_B[8 * N], data_X[8 * N];
static sptrsm_block B, X;

static sptrsm_block block(double *data, int64_t nrhs) {
  return (sptrsm_block){.data = data, .ld = nrhs, .n = N, .nrhs = nrhs, .dtype = SPTRSM_F64, .layout = SPTRSM_ROW_MAJOR};
}

static void open_all(void) {
  sptrsm_options_init(&options);
  options.method = "serial";
  cr_assert_eq(sptrsm_context_create(&context, SPTRSM_HOST, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_create(&matrix, context, &T, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_create(&plan, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int i = 0; i < 8 * N; i++) data_B[i] = i + 1, data_X[i] = -1;
  B = block(data_B, 2);
  X = block(data_X, 2);
}

static void close_all(void) {
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
}

TestSuite(api, .init = open_all, .fini = close_all);

static void expect(sptrsm_status status, sptrsm_status expected, const char *message) {
  cr_assert_eq(status, expected, "%s instead of %s for \"%s\"", sptrsm_status_name(status), sptrsm_status_name(expected), message);
  cr_assert(strstr(sptrsm_last_error(), message), "\"%s\" does not say \"%s\"", sptrsm_last_error(), message);
}

#define WRONG(call, message) expect(call, SPTRSM_ERR_ARGUMENT, message)

/* ---- wrong calls ---- */

Test(api, null_and_out_of_range_arguments) {
  sptrsm_context *c;
  sptrsm_matrix *m;
  sptrsm_plan *p;
  sptrsm_workspace *w;
  size_t bytes;
  sptrsm_level_stats stats = {.size = sizeof stats};
  int32_t level;
  sptrsm_info info = {.size = sizeof info};
  sptrsm_method_info method = {.size = sizeof method};
  WRONG(sptrsm_context_create(NULL, SPTRSM_HOST, 0, NULL), "out is NULL");
  WRONG(sptrsm_context_create(&c, (sptrsm_place)7, 0, NULL), "unknown place 7");
  WRONG(sptrsm_context_set_threads(NULL, 1), "context is NULL");
  WRONG(sptrsm_context_set_stream(NULL, NULL), "context is NULL");
  cr_assert_eq(sptrsm_context_set_stream(context, &context), SPTRSM_OK); /* a host context has no stream */
  WRONG(sptrsm_context_set_threads(context, -1), "-1 is not in 0..4096");
  WRONG(sptrsm_context_sync(NULL), "context is NULL");
  WRONG(sptrsm_workspace_sync(NULL), "workspace is NULL");
  WRONG(sptrsm_matrix_create(NULL, context, &T, SPTRSM_COPY), "is NULL");
  WRONG(sptrsm_matrix_create(&m, NULL, &T, SPTRSM_COPY), "is NULL");
  WRONG(sptrsm_matrix_create(&m, context, NULL, SPTRSM_COPY), "is NULL");
  WRONG(sptrsm_matrix_create(&m, context, &T, (sptrsm_copy_mode)2), "unknown copy mode 2");
  WRONG(sptrsm_matrix_set_values(NULL, val), "is NULL");
  WRONG(sptrsm_matrix_set_values(matrix, NULL), "is NULL");
  WRONG(sptrsm_matrix_levels(NULL, matrix, SPTRSM_N), "is NULL");
  WRONG(sptrsm_matrix_levels(&stats, NULL, SPTRSM_N), "is NULL");
  WRONG(sptrsm_matrix_levels(&stats, matrix, (sptrsm_op)4), "unknown op 4");
  WRONG(sptrsm_matrix_row_levels(&level, NULL, SPTRSM_N), "matrix is NULL");
  WRONG(sptrsm_matrix_row_levels(NULL, matrix, SPTRSM_N), "level is NULL");
  WRONG(sptrsm_matrix_row_levels(&level, matrix, (sptrsm_op)4), "unknown op 4");
  WRONG(sptrsm_context_set_trace(NULL, NULL, NULL), "context is NULL");
  stats.size = 0;
  WRONG(sptrsm_matrix_levels(&stats, matrix, SPTRSM_N), "sizeof(sptrsm_level_stats)");
  WRONG(sptrsm_plan_create(NULL, matrix, NULL), "is NULL");
  WRONG(sptrsm_plan_create(&p, NULL, NULL), "is NULL");
  WRONG(sptrsm_plan_info(NULL, plan), "is NULL");
  WRONG(sptrsm_plan_info(&info, NULL), "is NULL");
  info.size = 1;
  WRONG(sptrsm_plan_info(&info, plan), "sizeof(sptrsm_info)");
  WRONG(sptrsm_workspace_create(NULL, plan, 0), "is NULL");
  WRONG(sptrsm_workspace_create(&w, NULL, 0), "is NULL");
  WRONG(sptrsm_workspace_create(&w, plan, -1), "panel is negative");
  WRONG(sptrsm_workspace_bytes(NULL, plan, 0), "is NULL");
  WRONG(sptrsm_workspace_bytes(&bytes, NULL, 0), "is NULL");
  WRONG(sptrsm_workspace_bytes(&bytes, plan, -1), "panel is negative");
  WRONG(sptrsm_solve(NULL, NULL, NULL, &B, &X), "is NULL");
  WRONG(sptrsm_solve(plan, NULL, NULL, NULL, &X), "is NULL");
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, NULL), "is NULL");
  WRONG(sptrsm_method_at(NULL, 0), "sizeof(sptrsm_method_info)");
  char outside[64];
  snprintf(outside, sizeof outside, "index %d is not in 0..%d", sptrsm_method_count(), sptrsm_method_count() - 1);
  WRONG(sptrsm_method_at(&method, -1), "index -1 is not in 0..");
  WRONG(sptrsm_method_at(&method, sptrsm_method_count()), outside);
  sptrsm_context_destroy(NULL);
  sptrsm_matrix_destroy(NULL);
  sptrsm_plan_destroy(NULL);
  sptrsm_workspace_destroy(NULL);
  sptrsm_options_init(NULL);
  cr_assert_str_eq(sptrsm_context_describe(NULL), "");
}

Test(api, wrong_options) {
  sptrsm_plan *p;
  char variant[512] = "block:";
  memset(variant + 6, '9', sizeof variant - 7);
  struct {
    sptrsm_options change;
    const char *message;
  } wrong[] = {
      {{.size = 0}, "call sptrsm_options_init first"},
      {{.size = sizeof options, .op = (sptrsm_op)3}, "unknown op 3"},
      {{.size = sizeof options, .select = (sptrsm_select)3}, "unknown select 3"},
      {{.size = sizeof options, .nrhs_hint = -1}, "must not be negative"},
      {{.size = sizeof options, .p = -1}, "must not be negative"},
      {{.size = sizeof options, .q = -1}, "must not be negative"},
      {{.size = sizeof options, .panel = -1}, "must not be negative"},
      {{.size = sizeof options, .method = "seriall"}, "unknown method \"seriall\"; `sptrsm-info --methods` lists them"},
      {{.size = sizeof options, .method = ""}, "unknown method \"\""},
      {{.size = sizeof options, .method = "auto:p=1"}, "method auto has no parameters, \"auto:p=1\" sets some"},
      {{.size = sizeof options, .method = "Serial"}, "unknown method"},
      {{.size = sizeof options, .method = "serial:lanes=4"}, "method serial has no variants; \"serial:lanes=4\" asks for one"},
      {{.size = sizeof options, .method = variant}, "a variant has less than"},
      {{.size = sizeof options, .precision = (sptrsm_precision)2}, "unknown precision 2"},
      {{.size = sizeof options, .stencil = "D3N7 without end"}, "is no name that is known"},
  };
  for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; w++) WRONG(sptrsm_plan_create(&p, matrix, &wrong[w].change), wrong[w].message);
}

/* Any hint is accepted, however large it is. */
Test(api, any_hint_will_do) {
  static const int64_t hints[] = {1, INT32_MAX, INT64_MAX - 3, INT64_MAX};
  for (size_t h = 0; h < sizeof hints / sizeof *hints; h++) {
    sptrsm_plan *p;
    size_t bytes;
    options.nrhs_hint = hints[h];
    cr_assert_eq(sptrsm_plan_create(&p, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_workspace_bytes(&bytes, p, 0), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert_eq(sptrsm_solve(p, NULL, NULL, &B, &X), SPTRSM_OK, "hint %lld: %s", (long long)hints[h], sptrsm_last_error());
    sptrsm_plan_destroy(p);
  }
}

Test(api, deterministic_is_granted_or_refused) {
  options.deterministic = 1;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info method = {.size = sizeof method};
    sptrsm_info info = {.size = sizeof info};
    sptrsm_plan *p;
    cr_assert_eq(sptrsm_method_at(&method, m), SPTRSM_OK);
    if (method.place != SPTRSM_HOST) continue;
    options.method = method.name;
    sptrsm_status status = sptrsm_plan_create(&p, matrix, &options);
    if (!method.deterministic) {
      expect(status, SPTRSM_ERR_UNSUPPORTED, "is not deterministic");
      continue;
    }
    cr_assert_eq(status, SPTRSM_OK, "%s: %s", method.name, sptrsm_last_error());
    cr_assert_eq(sptrsm_plan_info(&info, p), SPTRSM_OK);
    cr_assert_eq(info.deterministic, 1, "%s", method.name);
    sptrsm_plan_destroy(p);
  }
  options.method = "auto";
  sptrsm_plan *p;
  sptrsm_info info = {.size = sizeof info};
  cr_assert_eq(sptrsm_plan_create(&p, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_info(&info, p), SPTRSM_OK);
  cr_assert_eq(info.deterministic, 1, "auto chose %s", info.method);
  sptrsm_plan_destroy(p);
}

Test(api, plan_information) {
  sptrsm_info info = {.size = sizeof info};
  cr_assert_eq(sptrsm_plan_info(&info, plan), SPTRSM_OK);
  cr_assert_str_eq(info.method, "serial");
  cr_assert_str_eq(info.reason, "asked for");
  cr_assert(info.place == SPTRSM_HOST && info.op == SPTRSM_N && info.nnz == NNZ && info.panel >= 1 && info.analysis_seconds >= 0);
  cr_assert(info.flops_per_rhs == 2 * (NNZ - N) + N, "%g", info.flops_per_rhs);
  sptrsm_plan *p;
  options.op = SPTRSM_C;
  options.panel = 3;
  cr_assert_eq(sptrsm_plan_create(&p, matrix, &options), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_info(&info, p), SPTRSM_OK);
  cr_assert(info.op == SPTRSM_C && info.panel == 3);
  sptrsm_plan_destroy(p);
  cr_assert_eq(sptrsm_plan_create(&p, matrix, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_plan_info(&info, p), SPTRSM_OK);
  cr_assert(strlen(info.reason) > 0 && strcmp(info.reason, "asked for") != 0, "auto gives no reason: \"%s\"", info.reason);
  sptrsm_plan_destroy(p);
}

/* A name may stand for a method on the host and for one on a GPU. */
static bool on_host(const char *name) {
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    if (info.place == SPTRSM_HOST && strcmp(info.name, name) == 0) return true;
  }
  return false;
}

Test(api, devices) {
  sptrsm_context *c;
  if (sptrsm_device_count() == 0) {
    sptrsm_status status = sptrsm_context_create(&c, SPTRSM_CUDA, 0, NULL);
    cr_assert(status == SPTRSM_ERR_UNSUPPORTED || status == SPTRSM_ERR_DEVICE, "%s", sptrsm_status_name(status));
    cr_assert(strlen(sptrsm_last_error()) > 0);
  } else {
    WRONG(sptrsm_context_create(&c, SPTRSM_CUDA, sptrsm_device_count(), NULL), "device");
  }
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    sptrsm_plan *p;
    cr_assert_eq(sptrsm_method_at(&info, m), SPTRSM_OK);
    options.method = info.name;
    if (!on_host(info.name)) expect(sptrsm_plan_create(&p, matrix, &options), SPTRSM_ERR_UNSUPPORTED, "works on a CUDA device");
  }
}

/* Page-locked for a context on a device, plain memory for one on the host: can be read and written in both cases. */
static void use_host_memory(sptrsm_context *c) {
  double *memory = NULL;
  void *none = NULL;
  cr_assert_eq(sptrsm_host_alloc((void **)&memory, c, 1000 * sizeof *memory), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int i = 0; i < 1000; i++) memory[i] = i;
  cr_assert(memory[999] == 999);
  sptrsm_host_free(c, memory);
  cr_assert(sptrsm_host_alloc(&none, c, 0) == SPTRSM_OK && none != NULL);
  sptrsm_host_free(c, none);
  sptrsm_host_free(c, NULL);
  cr_assert_eq(sptrsm_host_alloc(&none, c, SIZE_MAX / 4), SPTRSM_ERR_MEMORY);
  cr_assert(strstr(sptrsm_last_error(), "memory for"), "%s", sptrsm_last_error());
}

Test(api, host_memory) {
  sptrsm_context *c;
  void *memory;
  use_host_memory(context);
  WRONG(sptrsm_host_alloc(&memory, NULL, 8), "context is NULL");
  WRONG(sptrsm_host_alloc(NULL, context, 8), "out or context");
  if (sptrsm_device_count() == 0) return;
  cr_assert_eq(sptrsm_context_create(&c, SPTRSM_CUDA, 0, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  use_host_memory(c);
  sptrsm_context_destroy(c);
}

/* ---- blocks ---- */

static void wrong_block(sptrsm_block b, const char *message) {
  sptrsm_block other = X;
  other.nrhs = b.nrhs;
  if (other.nrhs > other.ld) other.ld = other.nrhs;
  WRONG(sptrsm_solve(plan, NULL, NULL, &b, &other), message);
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &b), message);
}

Test(api, wrong_blocks) {
  sptrsm_block b = B;
  b.n = N - 1;
  wrong_block(b, "has 4 rows, the matrix has order 5");
  b = B, b.nrhs = -1;
  wrong_block(b, "nrhs = -1 is negative");
  b = B, b.dtype = SPTRSM_F32;
  wrong_block(b, "another dtype");
  b = B, b.layout = (sptrsm_layout)2;
  wrong_block(b, "unknown layout 2");
  b = B, b.place = (sptrsm_place)2;
  wrong_block(b, "unknown place 2");
  b = B, b.place = SPTRSM_CUDA;
  wrong_block(b, "device memory, the context works on the host");
  b = B, b.ld = 1;
  wrong_block(b, "ld = 1 is less than 2");
  b = B, b.layout = SPTRSM_COL_MAJOR, b.ld = N - 1;
  wrong_block(b, "ld = 4 is less than 5");
  b = B, b.ld = INT64_MAX;
  wrong_block(b, "do not fit the address space");
  b = B, b.data = NULL;
  wrong_block(b, "data is NULL");
  b = X, b.nrhs = 1;
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &b), "B has 2 right-hand sides, X has 1");
  for (int i = 0; i < 8 * N; i++) cr_assert(data_X[i] == -1, "a refused solve wrote X");
}

Test(api, overlap) {
  sptrsm_block x = B;
  x.data = data_B + 1;
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &x), "X overlaps B");
  x.data = data_B + 2 * N - 1; /* B's last element */
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &x), "X overlaps B");
  WRONG(sptrsm_solve(plan, NULL, NULL, &x, &B), "X overlaps B");
  x.data = data_B + 2 * N; /* the first element behind B */
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &x), SPTRSM_OK, "%s", sptrsm_last_error());
  x = B;
  x.layout = SPTRSM_COL_MAJOR, x.ld = N;
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &x), "X overlaps B");
  x = B;
  x.ld = 3;
  WRONG(sptrsm_solve(plan, NULL, NULL, &B, &x), "X overlaps B");
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &B), SPTRSM_OK, "%s", sptrsm_last_error());
}

Test(api, nothing_to_solve) {
  B.nrhs = X.nrhs = 0;
  B.data = X.data = NULL;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  B.ld = X.ld = 0;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &B, &X), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_sparse empty = {.format = SPTRSM_CSC, .dtype = SPTRSM_C64, .n = 0, .ptr = ptr};
  sptrsm_matrix *m;
  sptrsm_plan *p;
  cr_assert_eq(sptrsm_matrix_create(&m, context, &empty, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_level_stats stats = {.size = sizeof stats};
  cr_assert_eq(sptrsm_matrix_levels(&stats, m, SPTRSM_T), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(stats.levels == 0 && stats.nnz == 0 && stats.max_rows == 0 && stats.average_rows == 0 && stats.average_length == 0);
  for (int method = 0; method < sptrsm_method_count(); method++) {
    sptrsm_method_info info = {.size = sizeof info};
    cr_assert_eq(sptrsm_method_at(&info, method), SPTRSM_OK);
    if (info.place != SPTRSM_HOST) continue;
    options.method = info.name;
    cr_assert_eq(sptrsm_plan_create(&p, m, &options), SPTRSM_OK, "%s: %s", info.name, sptrsm_last_error());
    sptrsm_block none = {.ld = 3, .nrhs = 3, .dtype = SPTRSM_C64};
    cr_assert_eq(sptrsm_solve(p, NULL, NULL, &none, &none), SPTRSM_OK, "%s: %s", info.name, sptrsm_last_error());
    sptrsm_plan_destroy(p);
  }
  sptrsm_matrix_destroy(m);
}

/* One column of a block whose ld would make it terabytes. */
Test(api, a_huge_leading_dimension_is_only_a_stride) {
  sptrsm_block b = block(data_B, 1), x = block(data_X, 1);
  b.layout = x.layout = SPTRSM_COL_MAJOR;
  b.ld = (int64_t)1 << 40;
  x.ld = N;
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &b, &x), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(data_X[0] == 0.5 && data_X[1] == 0.5 && data_X[5] == -1, "%g %g %g", data_X[0], data_X[1], data_X[5]);
}

/* ---- names ---- */

Test(api, names) {
  static const char *names[] = {"OK", "ARGUMENT", "STRUCTURE", "SINGULAR", "MEMORY", "IO", "UNSUPPORTED", "DEVICE", "INTERNAL"};
  for (int s = 0; s <= 8; s++) cr_assert_str_eq(sptrsm_status_name((sptrsm_status)-s), names[s]);
  cr_assert_str_eq(sptrsm_status_name((sptrsm_status)1), "UNKNOWN");
  char version[32];
  snprintf(version, sizeof version, "%d.%d.%d", SPTRSM_VERSION_MAJOR, SPTRSM_VERSION_MINOR, SPTRSM_VERSION_PATCH);
  cr_assert_str_eq(sptrsm_version(), version);
  static const size_t bytes[] = {4, 8, 8, 16, 0};
  for (int t = 0; t < 5; t++) cr_assert_eq(sptrsm_dtype_bytes((sptrsm_dtype)t), bytes[t]);
  cr_assert_eq(sptrsm_context_set_threads(context, 3), SPTRSM_OK);
  cr_assert_str_eq(sptrsm_context_describe(context), "host, 3 threads");
  cr_assert_eq(sptrsm_context_set_threads(context, 1), SPTRSM_OK);
  cr_assert_str_eq(sptrsm_context_describe(context), "host, 1 thread");
  cr_assert_eq(sptrsm_error_set(SPTRSM_ERR_IO, "file %d", 7), SPTRSM_ERR_IO);
  cr_assert_str_eq(sptrsm_last_error(), "file 7");
}

static void *message_of_a_new_thread(void *out) {
  *(int *)out = sptrsm_last_error()[0] == 0;
  sptrsm_error_set(SPTRSM_ERR_IO, "of the other thread");
  return NULL;
}

Test(api, messages_belong_to_their_thread) {
  pthread_t thread;
  int empty = 0;
  sptrsm_error_set(SPTRSM_ERR_IO, "of this thread");
  cr_assert_eq(pthread_create(&thread, NULL, message_of_a_new_thread, &empty), 0);
  pthread_join(thread, NULL);
  cr_assert(empty, "a new thread starts with another thread's message");
  cr_assert_str_eq(sptrsm_last_error(), "of this thread");
}

/* ---- levels ---- */

static sptrsm_level_stats levels_of(const sptrsm_sparse *t, sptrsm_op op) {
  sptrsm_level_stats stats = {.size = sizeof stats};
  sptrsm_matrix *m;
  cr_assert_eq(sptrsm_matrix_create(&m, context, t, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_levels(&stats, m, op), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(m);
  return stats;
}

Test(api, level_statistics_by_hand) {
  sptrsm_level_stats s = levels_of(&T, SPTRSM_N);
  cr_assert(s.n == 5 && s.nnz == 9 && s.levels == 3 && s.min_rows == 1 && s.max_rows == 2 && s.average_rows == 5.0 / 3);
  cr_assert(s.min_length == 1 && s.max_length == 3 && s.average_length == 9.0 / 5);
  s = levels_of(&T, SPTRSM_C); /* {4}, {2,3}, {0,1}; columns have 2, 2, 2, 2, 1 entries */
  cr_assert(s.levels == 3 && s.min_rows == 1 && s.max_rows == 2 && s.min_length == 1 && s.max_length == 2 && s.average_length == 9.0 / 5);
  sptrsm_sparse csc = T; /* the same arrays as CSC: L^T, an upper triangle */
  csc.format = SPTRSM_CSC, csc.uplo = SPTRSM_UPPER;
  s = levels_of(&csc, SPTRSM_N);
  cr_assert(s.levels == 3 && s.max_length == 2);
  s = levels_of(&csc, SPTRSM_T);
  cr_assert(s.levels == 3 && s.max_length == 3);
  static const int64_t strict_ptr[] = {0, 0, 0, 1, 2, 4}, chain_ptr[] = {0, 0, 1, 2, 3, 4};
  static const int32_t strict_idx[] = {0, 1, 2, 3}, chain_idx[] = {0, 1, 2, 3};
  sptrsm_sparse unit = T;
  unit.diag = SPTRSM_UNIT, unit.ptr = strict_ptr, unit.idx = strict_idx;
  s = levels_of(&unit, SPTRSM_N);
  cr_assert(s.nnz == 4 && s.levels == 3 && s.min_length == 0 && s.max_length == 2 && s.average_length == 4.0 / 5);
  unit.ptr = chain_ptr, unit.idx = chain_idx;
  s = levels_of(&unit, SPTRSM_T);
  cr_assert(s.levels == 5 && s.min_rows == 1 && s.max_rows == 1 && s.average_rows == 1);
}

static void expect_row_levels(const sptrsm_sparse *t, sptrsm_op op, const int32_t *expected) {
  sptrsm_matrix *m;
  int32_t level[5] = {-1, -1, -1, -1, -1};
  cr_assert_eq(sptrsm_matrix_create(&m, context, t, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_row_levels(level, m, op), SPTRSM_OK, "%s", sptrsm_last_error());
  for (int32_t i = 0; i < t->n; i++) cr_assert_eq(level[i], expected[i], "op %d, row %d: level %d", (int)op, i, level[i]);
  sptrsm_matrix_destroy(m);
}

Test(api, levels_of_rows_by_hand) {
  sptrsm_sparse csc = T; /* the same arrays as CSC: L^T, an upper triangle */
  csc.format = SPTRSM_CSC, csc.uplo = SPTRSM_UPPER;
  expect_row_levels(&T, SPTRSM_N, (int32_t[]){0, 0, 1, 1, 2});
  expect_row_levels(&T, SPTRSM_C, (int32_t[]){2, 2, 1, 1, 0});
  expect_row_levels(&csc, SPTRSM_N, (int32_t[]){2, 2, 1, 1, 0});
  expect_row_levels(&csc, SPTRSM_T, (int32_t[]){0, 0, 1, 1, 2});
  sptrsm_sparse none = T;
  sptrsm_matrix *m;
  none.n = 0;
  cr_assert_eq(sptrsm_matrix_create(&m, context, &none, SPTRSM_COPY), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_matrix_row_levels(NULL, m, SPTRSM_N), SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_matrix_destroy(m);
}

/* ---- what a solve tells of its steps ---- */

enum { TRACED = 40, STEPS = 5 };

/* How often each column was told of in each step, and what was wrong. */
typedef struct {
  pthread_mutex_t lock;
  int times[STEPS][TRACED], unknown, wrong;
} told;

static void tell(void *user, const sptrsm_span *s) {
  static const char *const steps[STEPS] = {"copy B", "forward solve", "diagonal", "backward solve", "copy X"};
  told *t = user;
  int step = 0;
  while (step < STEPS && strcmp(steps[step], s->step) != 0) step++;
  pthread_mutex_lock(&t->lock);
  t->unknown += step == STEPS;
  t->wrong += !(s->end >= s->begin) || s->first < 0 || s->nrhs < 1 || s->first + s->nrhs > TRACED;
  for (int64_t k = s->first; step < STEPS && t->wrong == 0 && k < s->first + s->nrhs; k++) t->times[step][k]++;
  pthread_mutex_unlock(&t->lock);
}

static void expect_told(const told *t, int copies, int forward, int backward) {
  const int expected[STEPS] = {copies, forward, 0, backward, copies};
  cr_assert(t->unknown == 0 && t->wrong == 0, "%d unknown steps, %d wrong spans", t->unknown, t->wrong);
  for (int s = 0; s < STEPS; s++)
    for (int k = 0; k < TRACED; k++) cr_assert_eq(t->times[s][k], expected[s], "step %d, column %d: %d times", s, k, t->times[s][k]);
}

Test(api, trace_tells_each_step_of_each_column_once) {
  static double numbers[N * TRACED];
  sptrsm_block many = block(numbers, TRACED);
  sptrsm_factors factors;
  sptrsm_direct *direct;
  told t = {.lock = PTHREAD_MUTEX_INITIALIZER};
  sptrsm_factors_init(&factors);
  factors.L = &T;
  factors.u_kind = SPTRSM_U_IS_LT;
  for (int i = 0; i < N * TRACED; i++) numbers[i] = i % 7;
  cr_assert_eq(sptrsm_context_set_threads(context, 3), SPTRSM_OK);
  cr_assert_eq(sptrsm_context_set_trace(context, tell, &t), SPTRSM_OK);
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &many, &many), SPTRSM_OK, "%s", sptrsm_last_error());
  expect_told(&t, 1, 1, 0);
  cr_assert_eq(sptrsm_direct_create(&direct, context, &factors, NULL), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(sptrsm_direct_solve(direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &many, &many), SPTRSM_OK, "%s", sptrsm_last_error());
  expect_told(&t, 2, 2, 1);
  cr_assert_eq(sptrsm_context_set_trace(context, NULL, NULL), SPTRSM_OK);
  cr_assert_eq(sptrsm_solve(plan, NULL, NULL, &many, &many), SPTRSM_OK, "%s", sptrsm_last_error());
  expect_told(&t, 2, 2, 1); /* nothing more */
  sptrsm_direct_destroy(direct);
}
