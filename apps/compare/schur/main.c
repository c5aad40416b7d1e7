/* main.c -- compare_schur_cuda: milliseconds that S_i = B_i K_i^-1 B_i' of a subdomain takes on a GPU, in sptrsm_schur with sparse and
 * with full columns, and with SpSM or DTRSM and DSYRK.
 *
 * Medians of repetitions, timed by the device's events, with factors and analyses made beforehand. S of item 0 is compared with that of
 * sptrsm_schur on the host. A development tool, which is not installed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "compare/schur/schur.h"

static const char help[] = "compare_schur_cuda\n"
                           "compare_schur_cuda --side 20 --items 20 --columns 1500\n"
                           "\n"
                           "usage: compare_schur_cuda [options]      Schur complements of subdomains on a GPU, milliseconds an item\n"
                           "  --side S            of a subdomain, about S^3 unknowns; default 27\n"
                           "  --items N           subdomains; default 100\n"
                           "  --columns M         of each; default 4000\n"
                           "  --sample N          subdomains of the ways with full columns, which take long; default 4, 0: none\n"
                           "  --method NAME       of the solver; default auto\n"
                           "  --reps R            default 5\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 an S is wrong, 2 usage, ...\n";

enum { KEY_SIDE = 2000, KEY_ITEMS, KEY_COLUMNS, KEY_SAMPLE, KEY_METHOD, KEY_REPS };
enum { REPS_MOST = 1000 };

static const struct argp_option options[] = {
    {"side", KEY_SIDE, "S", 0, "", 0},
    {"items", KEY_ITEMS, "N", 0, "", 0},
    {"columns", KEY_COLUMNS, "M", 0, "", 0},
    {"sample", KEY_SAMPLE, "N", 0, "", 0},
    {"method", KEY_METHOD, "NAME", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},
    {0},
};

typedef struct {
  int32_t side;
  int64_t items, columns, sample;
  int reps;
  const char *method;
} settings;

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_SIDE: s->side = (int32_t)cli_integer("--side", text, 4, 60); return 0;
  case KEY_ITEMS: s->items = cli_integer("--items", text, 1, 10000); return 0;
  case KEY_COLUMNS: s->columns = cli_integer("--columns", text, 1, 20000); return 0;
  case KEY_SAMPLE: s->sample = cli_integer("--sample", text, 0, 100); return 0;
  case KEY_METHOD: s->method = text; return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, REPS_MOST); return 0;
  case ARGP_KEY_ARG: cli_usage("no files are read: \"%s\"", text);
  default: return ARGP_ERR_UNKNOWN;
  }
}

typedef struct {
  const settings *s;
  schur_case c;
  bench_timer *timer;
  double *expected, *S; /* of item 0, on the host */
  bool wrong;
} bench;

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median in milliseconds an item. */
static int measure(double *out, const schur_way *way, bench_timer *timer, int reps) {
  double ms[REPS_MOST];
  int code = way->run(way->self); /* warms up */
  for (int r = 0; r < reps && code == CLI_OK; r++) {
    bench_timer_start(timer);
    code = way->run(way->self);
    ms[r] = bench_timer_stop(timer);
  }
  qsort(ms, (size_t)reps, sizeof *ms, by_size);
  *out = ms[reps / 2] / (double)way->items;
  return code;
}

/* The largest difference of the lower triangles, relative to the largest element. */
static double difference(const double *S, const double *expected, int64_t order) {
  double worst = 0, largest = 0;
  for (int64_t i = 0; i < order; i++)
    for (int64_t j = 0; j <= i; j++) {
      const double d = fabs(S[i * order + j] - expected[i * order + j]);
      if (isnan(d) || d > worst) worst = d;
      if (fabs(expected[i * order + j]) > largest) largest = fabs(expected[i * order + j]);
    }
  return worst / largest;
}

/* Measures a way and ends it. A way that fails is left out. */
static double run(bench *b, schur_way *way, int code, const char *name) {
  double ms = NAN;
  const size_t bytes = (size_t)(b->c.count * b->c.count) * sizeof *b->S;
  if (code == CLI_OK) code = measure(&ms, way, b->timer, b->s->reps);
  if (code == CLI_OK) code = cli_fail(bench_memory_read(b->S, way->S, SPTRSM_CUDA, bytes));
  if (code == CLI_OK) {
    const double d = difference(b->S, b->expected, b->c.count);
    printf("%-44s %6lld %10.3f %12.3f %9.1f %11.1f   %.1e\n", name, (long long)way->items, ms, way->analysis_ms, 100 * way->reached,
           way->workspace / (1 << 20), d);
    b->wrong = b->wrong || !(d <= 1e-12);
  } else {
    cli_warning("%s is left out", name);
    ms = NAN;
  }
  (void)fflush(stdout);
  if (way->end) way->end(way->self);
  *way = (schur_way){0};
  return ms;
}

static void compare(bench *b) {
  const settings *s = b->s;
  const int64_t sample = s->sample < s->items ? s->sample : s->items;
  double full = NAN, spsm = NAN, trsm = NAN;
  schur_way way = {0};
  int code = schur_own_begin(&way, &b->c, s->items, false, s->method);
  const double sparse = run(b, &way, code, "sptrsm_schur, sparse columns");
  if (sample > 0) {
    code = schur_own_begin(&way, &b->c, sample, true, s->method);
    full = run(b, &way, code, "sptrsm_schur, full columns");
    code = schur_spsm_begin(&way, &b->c, sample);
    spsm = run(b, &way, code, "SpSM + DSYRK, full columns");
    code = schur_trsm_begin(&way, &b->c, sample);
    trsm = run(b, &way, code, "L made dense, DTRSM + DSYRK, full columns");
  }
  printf("sparse columns are %.1f times as fast as full ones, %.1f times as SpSM + DSYRK, %.1f times as DTRSM + DSYRK\n", full / sparse,
         spsm / sparse, trsm / sparse);
}

static int prepare(bench *b, schur_factor *factors, schur_columns *columns) {
  const size_t bytes = (size_t)(b->s->columns * b->s->columns) * sizeof(double);
  int code = schur_factors_create(factors, b->s->side);
  for (int k = 0; k < SCHUR_SHAPES && code == CLI_OK; k++) code = schur_columns_create(&columns[k], &factors[k], b->s->columns);
  b->c.factors = factors;
  b->c.columns = columns;
  b->c.items = b->s->items;
  b->c.count = b->s->columns;
  b->expected = malloc(bytes);
  b->S = malloc(bytes);
  if (code == CLI_OK && (!b->expected || !b->S)) code = cli_no_memory("S");
  if (code == CLI_OK) code = schur_on_host(b->expected, &b->c);
  if (code == CLI_OK) code = cli_fail(bench_stream_create(&b->c.stream, SPTRSM_CUDA));
  return code == CLI_OK ? cli_fail(bench_timer_create(&b->timer, SPTRSM_CUDA, b->c.stream)) : code;
}

int main(int argc, char **argv) {
  settings s = {.side = 27, .items = 100, .columns = 4000, .sample = 4, .reps = 5};
  const cli_program program = {.name = "compare_schur_cuda", .help = help, .options = options, .parse = parse};
  cli_start(&program, argc, argv, &s);
  bench b = {.s = &s};
  schur_factor factors[SCHUR_SHAPES] = {{.n = 0}};
  schur_columns columns[SCHUR_SHAPES] = {{.count = 0}};
  int code = prepare(&b, factors, columns);
  if (code == CLI_OK) {
    printf("# %lld subdomains of %d shapes, the first has %d unknowns and %lld entries in L; %lld columns each\n", (long long)s.items,
           SCHUR_SHAPES, factors[0].n, (long long)factors[0].ptr[factors[0].n], (long long)s.columns);
    printf("%-44s %6s %10s %12s %9s %11s   %s\n", "way", "items", "ms an item", "analysis ms", "reached %", "work MiB", "difference");
    compare(&b);
  }
  bench_timer_destroy(b.timer);
  bench_stream_destroy(b.c.stream);
  for (int k = 0; k < SCHUR_SHAPES; k++) schur_factor_free(&factors[k]), schur_columns_free(&columns[k]);
  free(b.expected), free(b.S);
  if (code == CLI_OK) code = cli_flush();
  return cli_end(code == CLI_OK && b.wrong ? CLI_ABOVE : code);
}
