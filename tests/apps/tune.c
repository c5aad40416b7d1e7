/* tune.c -- bounds of auto's table from invented measurements, and the file that stores them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/tune/tune.h"
#include "bench/tune/bounds.h"

enum { ROWS = 3, CASES = 24 };

static int feature(const char *name) {
  int f = 0;
  while (f < SPTRSM_AUTO_FEATURES && strcmp(sptrsm_auto_feature(f), name) != 0) f++;
  cr_assert_lt(f, SPTRSM_AUTO_FEATURES);
  return f;
}

/* Three rows. "few": at most 6 levels and 4 right-hand sides; "panels": at least 10 levels of rows in a level of panels; "rest". */
static void make_rows(sptrsm_auto_row *rows) {
  static const char *const names[ROWS] = {"few", "panels", "rest"};
  for (int r = 0; r < ROWS; r++) rows[r] = (sptrsm_auto_row){.size = sizeof *rows, .name = names[r], .method = names[r]};
  rows[0].most[feature("levels")] = 6;
  rows[0].least[feature("nrhs")] = 1;
  rows[0].most[feature("nrhs")] = 4;
  rows[1].least[feature("levels_a_hop")] = 10;
}

static tune_case make_case(int of, double levels, double panels, double nrhs, double few, double block, double rest) {
  tune_case c = {.triangle = of, .ms = {few, block, rest}};
  c.features[feature("levels")] = levels;
  c.features[feature("levels_a_hop")] = panels;
  c.features[feature("nrhs")] = nrhs;
  return c;
}

Test(tune_bounds, the_first_row_that_holds_and_has_a_time) {
  sptrsm_auto_row rows[ROWS];
  make_rows(rows);
  tune_case c = make_case(0, 5, 20, 2, 4, 2, 3);
  cr_assert_eq(tune_row_of(rows, ROWS, &c), 0);
  cr_assert_float_eq(tune_loss_of(rows, ROWS, &c), 2, 1e-15);
  c.ms[0] = NAN; /* refused: the next */
  cr_assert_eq(tune_row_of(rows, ROWS, &c), 1);
  cr_assert_eq(tune_loss_of(rows, ROWS, &c), 1);
  c.features[feature("levels_a_hop")] = NAN; /* not known: the bound does not hold */
  cr_assert_eq(tune_row_of(rows, ROWS, &c), 2);
  c.ms[2] = NAN;
  cr_assert_eq(tune_row_of(rows, ROWS, &c), -1);
  cr_assert(isnan(tune_loss_of(rows, ROWS, &c)));
  tune_case two[] = {make_case(0, 5, 20, 2, 4, 2, 3), make_case(1, 50, 1, 2, 1, NAN, 8)};
  cr_assert_float_eq(tune_loss(rows, ROWS, two, 2), 4, 1e-12, "of 2 and 8");
  cr_assert(isnan(tune_loss(rows, ROWS, two, 0)));
}

/* Times for which the best bound of levels lies between 40 and 90, that of panels between 3 and 5, and those of nrhs are best as they
 * are. */
static int make_cases(tune_case *cases) {
  static const double levels[] = {2, 5, 20, 40, 90, 300}, panels[] = {1, 3, 5, 30};
  int count = 0;
  for (int l = 0; l < 6; l++, count++) cases[count] = make_case(count, levels[l], 0, 2, levels[l] / 50, NAN, 1);
  for (int p = 0; p < 4; p++, count++) cases[count] = make_case(count, 1000, panels[p], 32, 9, panels[p] > 4 ? 1 : 4, 2);
  for (int l = 0; l < 3; l++, count++) cases[count] = make_case(count, levels[l], 0, 8, 4, NAN, 1);
  return count;
}

Test(tune_bounds, bounds_go_where_they_belong) {
  sptrsm_auto_row rows[ROWS], before[ROWS];
  tune_case cases[CASES];
  tune_move moves[8];
  make_rows(rows);
  const int count = make_cases(cases);
  cases[count] = cases[count - 4]; /* a second triangle with 5 levels a panel level: one alone moves nothing */
  cases[count].features[feature("levels_a_hop")] = 6;
  cases[count].triangle = count;
  cases[count - 4 + 0].features[feature("levels_a_hop")] = 5;
  memcpy(before, rows, sizeof rows);
  const int made = tune_bounds(rows, ROWS, cases, count + 1, moves, 8);
  cr_assert_eq(made, 2);
  const double most_levels = rows[0].most[feature("levels")], least_panels = rows[1].least[feature("levels_a_hop")];
  cr_assert(most_levels >= 40 && most_levels < 90, "%g", most_levels);
  cr_assert(least_panels > 3 && least_panels <= 5, "%g", least_panels);
  cr_assert_eq(rows[0].most[feature("nrhs")], 4);
  cr_assert_eq(rows[0].least[feature("nrhs")], 1);
  cr_assert_float_eq(tune_loss(rows, ROWS, cases, count + 1), 1, 1e-12);
  for (int m = 0; m < made; m++) {
    cr_assert_geq(moves[m].triangles, 2);
    cr_assert_gt(moves[m].gain, 1.03);
    cr_assert(moves[m].from == 6 || moves[m].from == 10);
  }
  cr_assert_eq(tune_bounds(rows, ROWS, cases, count + 1, moves, 8), 0, "a second time there is nothing to gain");
  cr_assert_eq(tune_bounds(before, ROWS, cases, count + 1, moves, 0), 0, "no room for a move");
}

Test(tune_bounds, one_triangle_moves_nothing) {
  sptrsm_auto_row rows[ROWS];
  tune_move moves[4];
  make_rows(rows);
  tune_case cases[4];
  for (int c = 0; c < 4; c++) cases[c] = make_case(7, 20, 0, c + 1, 1, NAN, 50); /* of four numbers of right-hand sides */
  cr_assert_eq(tune_bounds(rows, ROWS, cases, 4, moves, 4), 0);
  cr_assert_eq(rows[0].most[feature("levels")], 6);
  for (int c = 0; c < 4; c++) cases[c].triangle = c, cases[c].ms[0] = 49; /* of four triangles, but by 2 % */
  cr_assert_eq(tune_bounds(rows, ROWS, cases, 4, moves, 4), 0);
  for (int c = 0; c < 4; c++) cases[c].ms[0] = 25;
  cr_assert_eq(tune_bounds(rows, ROWS, cases, 4, moves, 4), 1);
  cr_assert_eq(rows[0].most[feature("levels")], 20, "not beyond what was measured");
  cr_assert_eq(tune_bounds(rows, ROWS, NULL, 0, moves, 4), 0);
}

/* A bound does not move if that leaves a case without any row, whatever other cases gain. */
Test(tune_bounds, no_case_loses_its_last_row) {
  sptrsm_auto_row rows[ROWS];
  tune_move moves[4];
  make_rows(rows);
  const double levels[] = {2, 3, 4, 5, 6};
  tune_case cases[5];
  for (int c = 0; c < 5; c++) cases[c] = make_case(c, levels[c], 0, 2, levels[c] > 3 ? 10 : 1, NAN, 2);
  cases[3].ms[2] = NAN; /* "few" is all there is for it */
  cr_assert_eq(tune_bounds(rows, ROWS, cases, 5, moves, 4), 0);
  cr_assert_eq(rows[0].most[feature("levels")], 6);
  cases[3].ms[2] = 2;
  cr_assert_eq(tune_bounds(rows, ROWS, cases, 5, moves, 4), 1);
  cr_assert_eq(rows[0].most[feature("levels")], 3);
}

/* With any measurements: the loss does not grow, and each row keeps its bounds. */
Test(tune_bounds, any_measurements) {
  for (unsigned seed = 1; seed < 200; seed++) {
    sptrsm_auto_row rows[ROWS], before[ROWS];
    tune_case cases[CASES];
    tune_move moves[16];
    unsigned state = seed;
    make_rows(rows);
    memcpy(before, rows, sizeof rows);
    for (int c = 0; c < CASES; c++) {
      double drawn[6];
      for (int d = 0; d < 6; d++) drawn[d] = (double)((state = state * 1103515245u + 12345u) >> 16 & 63) / 4;
      cases[c] = make_case(c / 2, drawn[0], drawn[1], drawn[2], drawn[3] + 1, drawn[4] > 12 ? NAN : drawn[4] + 1, drawn[5] + 1);
    }
    const double loss = tune_loss(rows, ROWS, cases, CASES);
    const int made = tune_bounds(rows, ROWS, cases, CASES, moves, 16);
    cr_assert(made >= 0 && made < 16);
    cr_assert_leq(tune_loss(rows, ROWS, cases, CASES), loss);
    for (int m = 0; m < made; m++) cr_assert(moves[m].to > 0 && moves[m].to != moves[m].from && moves[m].to <= 16);
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++)
      for (int r = 0; r < ROWS; r++)
        cr_assert((before[r].least[f] > 0) == (rows[r].least[f] > 0) && (before[r].most[f] > 0) == (rows[r].most[f] > 0));
  }
}

/* ---- the file ---- */

static void expect_file(const char *path, const char *text) {
  char is[2000] = "";
  FILE *f = fopen(path, "r");
  cr_assert_not_null(f);
  is[fread(is, 1, sizeof is - 1, f)] = '\0';
  fclose(f);
  cr_assert_str_eq(is, text);
}

static error_t no_options(int key, char *text, struct argp_state *state) {
  (void)key, (void)text, (void)state;
  return ARGP_ERR_UNKNOWN;
}

static void start(void) {
  static const struct argp_option options[] = {{0}};
  static const cli_program program = {"test_tune", "", options, no_options};
  char *argv[] = {(char *)"test_tune", NULL};
  cli_start(&program, 1, argv, NULL);
}

Test(tune_file, lines_are_added_replaced_and_dropped, .init = start) {
  char path[] = "/tmp/test_tune_XXXXXX";
  const int file = mkstemp(path);
  cr_assert(file >= 0);
  close(file);
  FILE *f = fopen(path, "w");
  fputs("/* kept */\nAUTO_BOUNDS(\"One\", \"few\", levels, 0, 9) /* old */\n", f);
  fclose(f);
  const bench_auto_bounds two[] = {{"few", "levels", 0, 12.5, false, "why"}, {"panels", "levels_a_hop", 8, 0, false, "because"}};
  cr_assert_eq(bench_tune_auto_write(path, "Two", two, 2), CLI_OK);
  expect_file(path, "/* kept */\nAUTO_BOUNDS(\"One\", \"few\", levels, 0, 9) /* old */\n"
                    "AUTO_BOUNDS(\"Two\", \"few\", levels, 0, 12.5) /* why */\n"
                    "AUTO_BOUNDS(\"Two\", \"panels\", levels_a_hop, 8, 0) /* because */\n");
  const bench_auto_bounds again[] = {{"few", "levels", 0, 14, false, "better"}, {"panels", "levels_a_hop", 10, 0, true, ""}};
  cr_assert_eq(bench_tune_auto_write(path, "Two", again, 2), CLI_OK);
  expect_file(path, "/* kept */\nAUTO_BOUNDS(\"One\", \"few\", levels, 0, 9) /* old */\n"
                    "AUTO_BOUNDS(\"Two\", \"few\", levels, 0, 14) /* better */\n");
  cr_assert_eq(bench_tune_auto_write(path, "a \"quoted\" one", again, 2), CLI_INTERNAL);
  cr_assert_eq(bench_tune_auto_write("/nowhere/x.def", "Two", again, 2), CLI_IO);
  unlink(path);
}

static void write_text(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  cr_assert_not_null(f);
  fputs(text, f);
  fclose(f);
}

Test(tune_file, a_last_line_without_its_end, .init = start) {
  char path[] = "/tmp/test_tune_XXXXXX";
  const bench_auto_bounds one[] = {{"few", "levels", 0, 12.5, false, "why"}};
  close(mkstemp(path));
  write_text(path, "AUTO_BOUNDS(\"One\", \"few\", levels, 0, 9)");
  for (int times = 0; times < 2; times++) {
    cr_assert_eq(bench_tune_auto_write(path, "Two", one, 1), CLI_OK);
    expect_file(path, "AUTO_BOUNDS(\"One\", \"few\", levels, 0, 9)\nAUTO_BOUNDS(\"Two\", \"few\", levels, 0, 12.5) /* why */\n");
  }
  write_text(path, "TUNED(\"Two\", 1, 64)\nTUNED(\"\", 8, 8192)");
  cr_assert_eq(bench_tune_write(path, "One", 4, 256), CLI_OK);
  expect_file(path, "TUNED(\"Two\", 1, 64)\nTUNED(\"One\", 4, 256)\nTUNED(\"\", 8, 8192)\n");
  unlink(path);
}

/* A file that exists but can't be read is not replaced: here a folder, and a link that leads to itself. */
Test(tune_file, what_cannot_be_read_stays, .init = start) {
  char folder[] = "/tmp/test_tune_XXXXXX", path[80], part[100], target[80];
  const bench_auto_bounds one[] = {{"few", "levels", 0, 12.5, false, "why"}};
  cr_assert_not_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/loop.def", folder);
  cr_assert_eq(symlink("loop.def", path), 0);
  const char *const unreadable[] = {folder, path};
  for (int u = 0; u < 2; u++) {
    cr_assert_eq(bench_tune_auto_write(unreadable[u], "Two", one, 1), CLI_IO);
    snprintf(part, sizeof part, "%s.part", unreadable[u]);
    cr_assert_neq(access(part, F_OK), 0, "%s is left over", part);
  }
  cr_assert_eq(readlink(path, target, sizeof target), 8, "the link was replaced");
  unlink(path);
  rmdir(folder);
}

/* ---- a whole report ---- */

enum { TRIANGLES = 9 };

/* All methods of the table have the same times but one, which is slower in some of the cases that the table gives it. */
Test(tune_report, finds_a_bound_and_writes_it, .init = start) {
  static bench_session s;
  bench_features f[TRIANGLES];
  bench_input in[TRIANGLES];
  char path[] = "/tmp/test_tune_XXXXXX", *text = NULL;
  size_t size;
  const int file = mkstemp(path);
  close(file);
  s = (bench_session){.inputs = {.list = in, .count = TRIANGLES}, .features = f};
  s.machine = (bench_machine){.place = SPTRSM_CUDA, .tuned = "a device that nobody has"};
  s.args = (bench_args){.nrhs = {32}, .nrhs_count = 1, .dtype_count = 1, .op_count = 1, .nrhs_given = true, .tune = TUNE_AUTO};
  s.args.tune_out = path;
  bench_tune_methods(&s.args);
  cr_assert_eq(bench_args_settle(&s.args, SPTRSM_CUDA), CLI_OK);
  s.count = TRIANGLES * s.args.method_count;
  s.results = calloc((size_t)s.count, sizeof *s.results);
  for (int t = 0; t < TRIANGLES; t++) {
    in[t] = (bench_input){.shown = "t"};
    f[t] = (bench_features){.n = 1000};
    f[t].known[SPTRSM_N][feature("levels")] = 1000;
    f[t].known[SPTRSM_N][feature("rows_a_level")] = 1;
    f[t].known[SPTRSM_N][feature("levels_a_hop")] = 2 + t; /* 2 to 10; from 8 on block is faster */
    for (int m = 0; m < s.args.method_count; m++) {
      bench_result *r = &s.results[t * s.args.method_count + m];
      const bool is_block = strcmp(s.args.methods[m], "block") == 0;
      *r = (bench_result){.solve_ms = is_block ? (t >= 6 ? 1 : 4) : 2, .status = "ok"};
      snprintf(r->chosen, sizeof r->chosen, "%s", t >= 3 ? "block" : "gather");
    }
  }
  s.table = open_memstream(&text, &size);
  cr_assert_eq(bench_tune_report(&s), CLI_OK);
  fclose(s.table);
  cr_assert(strstr(text, "panels: levels_a_hop >= 8 instead of 5, 100 % faster in 3 cases of 3 triangles"), "%s", text);
  cr_assert(strstr(text, "with these: 1.000 times the best"), "%s", text);
  cr_assert_null(strstr(text, "auto took another"));
  expect_file(path, "AUTO_BOUNDS(\"a device that nobody has\", \"panels\", levels_a_hop, 8, 0) "
                    "/* 100 % faster in 3 cases of 3 triangles than with 5 */\n");
  strcpy(s.results[0].chosen, "serial");
  s.args.tune_out = NULL;
  s.table = open_memstream(&text, &size);
  cr_assert_eq(bench_tune_report(&s), CLI_OK);
  for (int t = 0; t < 2; t++) f[t].known[SPTRSM_N][feature("levels")] = NAN;
  cr_assert_eq(bench_tune_report(&s), CLI_ABOVE, "two triangles without features");
  for (int t = 0; t < 2; t++) f[t].known[SPTRSM_N][feature("levels")] = 1000;
  for (int m = 0; m < 2 * s.args.method_count; m++) strcpy(s.results[m].status, "timeout");
  cr_assert_eq(bench_tune_report(&s), CLI_ABOVE, "seven triangles are left");
  fclose(s.table);
  cr_assert(strstr(text, "in 1 cases auto took another method than its table says"), "%s", text);
  unlink(path);
  free(s.results);
}
