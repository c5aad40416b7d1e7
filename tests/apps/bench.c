/* bench.c -- parts of sptrsm-bench, with invented methods and times: wrong solutions, means, model limits, the table of devices. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/check.h"
#include "bench/json.h"
#include "bench/means.h"
#include "bench/table.h"
#include "bench/tune/tune.h"

/* ---- start ---- */

static error_t no_options(int key, char *text, struct argp_state *state) {
  (void)key, (void)text, (void)state;
  return ARGP_ERR_UNKNOWN;
}

/* Messages of errors carry the name of the program. */
static void start(void) {
  static const struct argp_option options[] = {{0}};
  static const cli_program program = {"test_bench", "", options, no_options};
  char *argv[] = {(char *)"test_bench", NULL};
  cli_start(&program, 1, argv, NULL);
}

/* ---- repetitions and their checks ---- */

enum { N = 6, NRHS = 3 };

/* A bidiagonal system, and a method that solves it and spoils one of its solutions. */
typedef struct {
  bench_case c;
  bench_blocks blocks;
  int64_t ptr[N + 1];
  int32_t idx[2 * N];
  double val[2 * N], B[N * NRHS], X[N * NRHS];
  int calls, spoil_at; /* the call whose solution is spoilt */
  double factor;       /* x(2,1) is multiplied by it */
  bool poisoned;       /* in every call X was NaN, not an earlier solution */
} system_under_test;

static sptrsm_sparse matrix;

static sptrsm_status solve(void *self) {
  system_under_test *s = self;
  double *X = s->blocks.X;
  const double *B = s->blocks.B;
  s->poisoned = s->poisoned && isnan(X[0]) && isnan(X[N * NRHS - 1]);
  for (int k = 0; k < NRHS; k++)
    for (int i = 0; i < N; i++) X[i * NRHS + k] = (B[i * NRHS + k] - (i > 0 ? X[(i - 1) * NRHS + k] : 0)) / 2;
  if (s->calls++ == s->spoil_at) X[2 * NRHS + 1] *= s->factor;
  return SPTRSM_OK;
}

static bench_result repeat(int spoil_at, double factor, int deterministic) {
  static system_under_test s;
  s = (system_under_test){.spoil_at = spoil_at, .factor = factor, .poisoned = true};
  for (int i = 0; i < N; i++) {
    if (i > 0) s.idx[s.ptr[i]] = i - 1, s.val[s.ptr[i]] = 1;
    s.ptr[i + 1] = s.ptr[i] + (i > 0) + 1;
    s.idx[s.ptr[i + 1] - 1] = i, s.val[s.ptr[i + 1] - 1] = 2;
  }
  matrix = (sptrsm_sparse){.dtype = SPTRSM_F64, .n = N, .ptr = s.ptr, .idx = s.idx, .val = s.val};
  bench_fill(s.B, N, NRHS, SPTRSM_F64);
  s.c = (bench_case){.T = &matrix, .nrhs = NRHS, .reps = 4, .B = s.B, .X = s.X};
  bench_result out = {.deterministic = deterministic};
  cr_assert_eq(bench_blocks_create(&s.blocks, &s.c, SPTRSM_HOST, NULL), SPTRSM_OK);
  cr_assert_eq(bench_repeat(&out, &s.blocks, SPTRSM_ROW_MAJOR, solve, &s), SPTRSM_OK);
  bench_blocks_free(&s.blocks);
  cr_assert_eq(s.calls, 5, "a warm-up and four repetitions");
  cr_assert(s.poisoned);
  cr_assert(out.solve_ms_min >= 0 && out.solve_ms_min <= out.solve_ms);
  return out;
}

Test(repetitions, right_ones_are_ok) {
  bench_result r = repeat(-1, 1, 1);
  cr_assert_str_eq(r.status, "ok");
  cr_assert(r.g1 <= 1);
  cr_assert_eq(r.spread, 0);
  cr_assert_eq(r.code, CLI_OK);
}

Test(repetitions, a_wrong_solution_is_found_in_each) {
  for (int at = 0; at < 5; at++) {
    bench_result r = repeat(at, 1.001, 0);
    cr_assert(strncmp(r.status, "wrong: G1", 9) == 0, "call %d: %s", at, r.status);
    cr_assert_eq(r.code, CLI_ABOVE);
  }
}

Test(repetitions, not_a_number_is_wrong) {
  for (int at = 0; at < 5; at += 2) {
    bench_result r = repeat(at, NAN, 0);
    cr_assert(isnan(r.g1));
    cr_assert(strncmp(r.status, "wrong: X is not finite", 22) == 0, "call %d: %s", at, r.status);
  }
}

Test(repetitions, other_bits_are_fine_unless_promised_away) {
  bench_result r = repeat(3, 1 + 0x1p-52, 0);
  cr_assert_str_eq(r.status, "ok");
  cr_assert(r.spread > 0 && r.spread < 1e-15);
  r = repeat(3, 1 + 0x1p-52, 1);
  cr_assert_str_eq(r.status, "wrong: other bits in repetition 3, though deterministic");
  cr_assert_eq(r.code, CLI_ABOVE);
}

/* A triangle with rows of 1, 2 and 3 entries, the diagonal included. */
Test(repetitions, flops_of_any_method) {
  int64_t ptr[] = {0, 1, 3, 6};
  int32_t idx[] = {0, 0, 1, 0, 1, 2};
  sptrsm_sparse T = {.dtype = SPTRSM_F64, .n = 3, .ptr = ptr, .idx = idx};
  const bench_case c = {.T = &T, .nrhs = 5};
  cr_assert_eq(bench_flops(&c), 5 * (2 * 3 + 3));
  T.diag = SPTRSM_UNIT;
  cr_assert_eq(bench_flops(&c), 5 * 2 * 3);
  T.dtype = SPTRSM_C64;
  cr_assert_eq(bench_flops(&c), 4 * 5 * 2 * 3);
  T = (sptrsm_sparse){.n = 0, .ptr = ptr};
  cr_assert_eq(bench_flops(&c), 0);
}

Test(repetitions, medians) {
  double odd[] = {5, 1, 2}, even[] = {8, 1, 4, 2}, single[] = {7};
  cr_assert_eq(bench_median(odd, 3), 2);
  cr_assert_eq(bench_median(even, 4), 3, "between the two in the middle");
  cr_assert_eq(bench_median(single, 1), 7);
  cr_assert_eq(even[0], 1);
}

Test(repetitions, comparison_of_both_real_types) {
  const float a[] = {1, -4, 2}, b[] = {1, -4, 2.5f}, c[] = {1, INFINITY, 2};
  const double d[] = {0.0, 3}, e[] = {-0.0, 3};
  bench_difference diff;
  bench_compare_host(&diff, a, a, 3, 4);
  cr_assert(diff.same && diff.finite && diff.difference == 0 && diff.size == 4);
  bench_compare_host(&diff, a, b, 3, 4);
  cr_assert(!diff.same && diff.finite && diff.difference == 0.5);
  bench_compare_host(&diff, c, a, 3, 4);
  cr_assert(!diff.same && !diff.finite);
  bench_compare_host(&diff, d, e, 2, 8);
  cr_assert(!diff.same && diff.finite && diff.difference == 0 && diff.size == 3);
}

/* ---- a run with given times ---- */

enum { METHODS = 4, CASES = 3, COUNT = METHODS * CASES };

/* One triangle with three numbers of right-hand sides, on a GPU; ms: the times of cuSPARSE, fast, slow and auto in each of these cases. */
static void make_session(bench_session *s, bench_features *features, bench_result *results, bench_input *input, FILE *table) {
  static char *const methods[METHODS] = {"cusparse", "fast", "slow", "auto"};
  static const double ms[CASES][METHODS] = {{8, 2, 16, 2.1}, {9, 3, 3, 3.6}, {4, 8, 1, 7}};
  *input = (bench_input){.where = (char *)"dir/t.h5:/L", .file = (char *)"dir/t,\"1.h5", .group = (char *)"/L", .shown = "t.h5:/L"};
  *s = (bench_session){.inputs = {.list = input, .count = 1}, .count = COUNT, .features = features, .results = results, .table = table};
  s->args = (bench_args){.nrhs = {1, 4, 16}, .nrhs_count = 3, .method_count = METHODS, .dtype_count = 1, .op_count = 1, .reps = 5};
  s->args.dtypes[0] = SPTRSM_F64;
  memcpy(s->args.methods, methods, sizeof methods);
  s->machine =
      (bench_machine){.place = SPTRSM_CUDA, .device = "a device", .software = "none", .limits = {1e12, 1e-6, 1e-6, 1e-7, {NAN, NAN}}};
  *features = (bench_features){.n = 1000, .nnz = 5000, .matrix_bytes = 64000, .levels = {{.levels = 500, .max_length = 7}}};
  for (int index = 0; index < COUNT; index++) {
    results[index] = (bench_result){.solve_ms = ms[index / METHODS][index % METHODS], .analysis_ms = 1 + index % METHODS, .status = "ok"};
    results[index].workspace_bytes = 1000;
  }
  results[0].analysis_ms = 5; /* of cuSPARSE in the first case; fast has 2, slow 3, auto 4 */
  results[METHODS].analysis_ms = 0.5;
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-12 * fabs(b); }

Test(means, ratios_best_and_auto) {
  static bench_session s;
  bench_features f;
  bench_result r[COUNT];
  bench_input in;
  make_session(&s, &f, r, &in, stdout);
  bench_mean m = bench_mean_of(&s, 1, BENCH_ANY, BENCH_ANY, BENCH_ANY);
  cr_assert_eq(m.cases, 3);
  cr_assert(near(m.mean, cbrt(4 * 3 * 0.5)) && near(m.least, 0.5) && near(m.most, 4));
  m = bench_mean_of(&s, 1, 0, 0, 1);
  cr_assert(m.cases == 1 && near(m.mean, 3));
  m = bench_mean_of(&s, BENCH_BEST, BENCH_ANY, BENCH_ANY, BENCH_ANY);
  cr_assert(m.cases == 3 && near(m.mean, cbrt(4 * 3 * 4)) && near(m.least, 3));
  bench_auto a = bench_auto_of(&s);
  cr_assert(a.cases == 3 && a.within_10 == 1 && a.within_25 == 2); /* 5 %, 20 % and 7 times above the best */
  strcpy(r[1].status, "wrong: G1 7");                              /* a wrong solution has no time */
  m = bench_mean_of(&s, 1, BENCH_ANY, BENCH_ANY, BENCH_ANY);
  cr_assert(m.cases == 2 && near(m.most, 3));
  cr_assert(isnan(bench_ratio_cusparse(&s, 1)) && isnan(bench_limit_share(&s, 1)));
}

static int feature_named(const char *name) {
  int f = 0;
  while (f < SPTRSM_AUTO_FEATURES && strcmp(sptrsm_auto_feature(f), name) != 0) f++;
  cr_assert_lt(f, SPTRSM_AUTO_FEATURES);
  return f;
}

Test(means, limit_and_amortisation) {
  static bench_session s;
  bench_features f;
  bench_result r[COUNT];
  bench_input in;
  make_session(&s, &f, r, &in, stdout);
  cr_assert(near(bench_limit_share(&s, 1), 500 * 1e-6 * 1e3 / 2), "500 hops of 1 us, 2 ms");
  s.machine.limits.hop_s = 0;
  cr_assert(near(bench_limit_share(&s, 1), (64000 + 2 * 8000) / 1e12 * 1e3 / 2), "the matrix and two blocks at 1 TB/s");
  cr_assert_eq(bench_limit_of(&s, 1), LIMIT_BANDWIDTH);
  s.machine.place = SPTRSM_HOST;
  s.machine.limits.hop_s = 1; /* a single thread needs no hop */
  cr_assert(near(bench_limit_share(&s, 1), (64000 + 2 * 8000) / 1e12 * 1e3 / 2));
  s.machine.place = SPTRSM_CUDA;
  cr_assert_eq(bench_limit_of(&s, 1), LIMIT_HOPS);
  cr_assert_eq(bench_chain(&s, 1), 500);
  f.known[SPTRSM_N][feature_named("levels_a_hop")] = 20; /* of rows: 25 of panels */
  cr_assert_eq(bench_chain(&s, 1), 25);
  cr_assert(near(bench_limit_share(&s, 1), 25 * 1e3 / 2) && near(bench_copy_share(&s, 1), (64000 + 2 * 8000) / 1e12 * 1e3 / 2));
  s.machine.limits = (bench_limits){1e12, 0, NAN, NAN, {1e9, 2e9}};
  r[1].flops = 1e6;
  cr_assert(bench_limit_of(&s, 1) == LIMIT_FLOPS && near(bench_limit_share(&s, 1), 0.5), "1 ms of 2");
  s.args.dtypes[0] = SPTRSM_C64;
  cr_assert(near(bench_limit_share(&s, 1), 0.25));
  cr_assert_eq(bench_amortised(&s, 1), 0, "a shorter analysis");
  cr_assert(isnan(bench_amortised(&s, 0)), "cuSPARSE beside itself");
  cr_assert_eq(bench_amortised(&s, METHODS + 1), 1, "1.5 ms more, 6 ms gained by a solve");
  cr_assert_eq(bench_amortised(&s, 2 * METHODS + 1), INFINITY, "more, and slower");
  s.results[2 * METHODS + 1].analysis_ms = NAN;
  cr_assert(isnan(bench_amortised(&s, 2 * METHODS + 1)), "an analysis that nobody timed");
}

Test(report, tables_and_files, .init = start) {
  static bench_session s;
  bench_features f;
  bench_result r[COUNT];
  bench_input in;
  char *text = NULL;
  size_t size;
  make_session(&s, &f, r, &in, open_memstream(&text, &size));
  for (int kind = TABLE_SOLVE; kind <= TABLE_MEMORY; kind++) {
    s.args.table = (bench_table_kind)kind;
    bench_table_begin(&s);
    for (int index = 0; index < COUNT; index++) bench_table_row(&s, index);
    bench_table_end(&s);
  }
  fclose(s.table);
  cr_assert(strstr(text, "kernel launch 1 us, 0.1 us in a graph"));
  cr_assert(strstr(text, "never") && strstr(text, "best of them") && strstr(text, "within 10 % of the best other method in 1 of 3"));
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) cr_assert(strlen(line) <= 140, "%s", line);
  free(text);
  json_t *json = bench_json(&s), *result = json_array_get(json_object_get(json, "results"), 1);
  cr_assert(near(json_real_value(json_object_get(result, "ratio_cusparse")), 4));
  cr_assert_eq(json_array_size(json_object_get(json, "means")), 16); /* three methods and the best: by right-hand sides and overall */
  json_decref(json);
  strcpy(r[1].status, "wrong: G1 7"); /* a wrong one has errors, but no time; a failed one has neither */
  strcpy(r[2].status, "failed: device lost");
  json = bench_json(&s);
  const char *const times[] = {"solve_ms", "solve_ms_min", "gflops", "ratio_cusparse", "ratio_baseline", "limit_share"};
  for (int index = 1; index <= 2; index++) {
    result = json_array_get(json_object_get(json, "results"), (size_t)index);
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) cr_assert(json_is_null(json_object_get(result, times[k])), "%s", times[k]);
    cr_assert_eq(json_is_null(json_object_get(result, "g1")), index == 2);
    cr_assert_eq(json_is_null(json_object_get(result, "analysis_ms")), index == 2);
  }
  json_decref(json);
  strcpy(r[1].status, "ok");
  strcpy(r[2].status, "ok");
  char name[] = "/tmp/test_bench_XXXXXX", line[2000];
  cr_assert(mkstemp(name) >= 0);
  cr_assert_eq(bench_csv_write(&s, name), CLI_OK);
  FILE *csv = fopen(name, "r");
  cr_assert(fgets(line, sizeof line, csv) && fgets(line, sizeof line, csv));
  cr_assert_eq(strncmp(line, "\"dir/t,\"\"1.h5\",/L,1000,5000,500,", 32), 0, "%s", line);
  fclose(csv);
  unlink(name);
  cr_assert_eq(bench_csv_write(&s, "/nowhere/x.csv"), CLI_IO);
}

/* ---- the table of devices ---- */

static void expect_rows(const char *path, const char *rows) {
  char text[1000] = "";
  FILE *f = fopen(path, "r");
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  const char *first = strstr(text, "TUNED");
  cr_assert(first && strcmp(first, rows) == 0, "%s", text);
}

Test(tune, rows_are_added_and_replaced, .init = start) {
  char path[] = "/tmp/test_tune_XXXXXX";
  cr_assert(mkstemp(path) >= 0);
  unlink(path);
  cr_assert_eq(bench_tune_write(path, "One", 4, 512), CLI_OK);
  expect_rows(path, "TUNED(\"One\", 4, 512)\nTUNED(\"\", 8, 8192)\n");
  cr_assert_eq(bench_tune_write(path, "Two", 16, 64), CLI_OK);
  cr_assert_eq(bench_tune_write(path, "One", 2, 1024), CLI_OK);
  expect_rows(path, "TUNED(\"One\", 2, 1024)\nTUNED(\"Two\", 16, 64)\nTUNED(\"\", 8, 8192)\n");
  cr_assert_eq(bench_tune_write(path, "a \"quoted\" one", 2, 1024), CLI_INTERNAL);
  expect_rows(path, "TUNED(\"One\", 2, 1024)\nTUNED(\"Two\", 16, 64)\nTUNED(\"\", 8, 8192)\n");
  unlink(path);
  cr_assert_eq(bench_tune_write("/nowhere/x.def", "One", 4, 512), CLI_IO);
}

Test(tune, the_best_pair_is_reported_if_it_is_worth_it) {
  static bench_session s;
  static bench_result r[2 * 64];
  bench_features f[2] = {{.n = 1}, {.n = 1}};
  bench_input in[2] = {{.shown = "t"}, {.shown = "u"}};
  char *text = NULL;
  size_t size;
  s = (bench_session){.inputs = {.list = in, .count = 1}, .features = f, .results = r, .machine = {.device = "One"}};
  s.args = (bench_args){.nrhs = {1}, .nrhs_count = 1, .dtype_count = 1, .op_count = 1, .nrhs_given = true, .tune = TUNE_SYNCFREE_CSC};
  bench_tune_methods(&s.args);
  s.count = s.args.method_count;
  cr_assert_leq(s.count, 64);
  cr_assert_str_eq(s.args.methods[0], "syncfree-csc/p=8,q=8192");
  for (int m = 0; m < s.count; m++) r[m] = (bench_result){.solve_ms = m == 9 ? 0.995 : 1, .status = "ok"};
  s.table = open_memstream(&text, &size);
  cr_assert_eq(bench_tune_report(&s), CLI_OK);
  r[9].solve_ms = 0.5;
  s.inputs.count = 2; /* a second triangle, where the third pair loses what it gains in the first */
  s.count = 2 * s.args.method_count;
  for (int m = 0; m < s.args.method_count; m++) r[s.args.method_count + m] = r[m];
  r[2].solve_ms = 0.1;
  r[s.args.method_count + 2].solve_ms = 1.2;
  cr_assert_eq(bench_tune_report(&s), CLI_OK);
  fclose(s.table);
  int p, q;
  cr_assert_eq(sscanf(s.args.methods[9], "syncfree-csc/p=%d,q=%d", &p, &q), 2);
  char expected[100];
  snprintf(expected, sizeof expected, "best on One: p %d, q %d, 2.00 times as fast as the default\n", p, q);
  cr_assert(strncmp(text, "best on One: the default, p 8, q 8192", 37) == 0, "%s", text);
  cr_assert(strstr(text, expected), "%s", text);
  free(text);
}

Test(tune, methods_carry_their_options) {
  sptrsm_options o;
  char name[80];
  bench_method_options(&o, name, sizeof name, "syncfree-csc/p=2,q=1024");
  cr_assert(strcmp(o.method, "syncfree-csc") == 0 && o.p == 2 && o.q == 1024 && o.select == SPTRSM_SELECT_ADAPTIVE);
  bench_method_options(&o, name, sizeof name, "syncfree-csc:ready=1/rhs");
  cr_assert(strcmp(o.method, "syncfree-csc:ready=1") == 0 && o.p == 0 && o.select == SPTRSM_SELECT_RHS);
  bench_method_options(&o, name, sizeof name, "syncfree-csc/q=7");
  cr_assert(o.p == 0 && o.q == 7);
  bench_method_options(&o, name, sizeof name, "syncfree-csc/column");
  cr_assert_eq(o.select, SPTRSM_SELECT_COLUMN);
}
