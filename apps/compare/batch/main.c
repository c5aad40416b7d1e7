/* main.c -- compare_batch_cuda: microseconds that an item of a uniform batch takes on a GPU, in sptrsm_batch, cuDSS and a loop over
 * cuSPARSE.
 *
 * Medians of repetitions, timed by the device's events; analysis and factorisation are not part of it. All solve the same systems;
 * X of sptrsm_batch and cuDSS is checked against the matrices of three items. A development tool, which is not installed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "compare/batch/batch.h"

static const char help[] =
    "compare_batch_cuda --cudss libcudss.so.1\n"
    "compare_batch_cuda --sides 32 --counts 1000 --nrhs 1 --methods \"levelset:group=4 levelset:group=8,threads=128\"\n"
    "\n"
    "usage: compare_batch_cuda [options]      microseconds an item, uniform batches on a GPU\n"
    "  --sides S,S,...     of square grids, n = S S; default 10,32,55\n"
    "  --counts N,N,...    items; default 1000,10000\n"
    "  --nrhs K,K,...      default 1,16\n"
    "  --methods \"M M\"     of sptrsm_batch, separated by blanks; default auto\n"
    "  --loop N            items of the loop over cuSPARSE; default 20, 0: none\n"
    "  --cudss FILE        libcudss.so.1\n"
    "  --reps R            default 9\n"
    "  -q, -v, --help, --version\n"
    "exit: 0, 1 a solution is wrong, 2 usage, ...\n";

enum { KEY_SIDES = 2000, KEY_COUNTS, KEY_NRHS, KEY_METHODS, KEY_LOOP, KEY_CUDSS, KEY_REPS };
enum { LIST_MOST = 16, SOLVERS_MOST = LIST_MOST + 2, REPS_MOST = 1000 };

static const struct argp_option options[] = {
    {"sides", KEY_SIDES, "S", 0, "", 0}, {"counts", KEY_COUNTS, "N", 0, "", 0},
    {"nrhs", KEY_NRHS, "K", 0, "", 0},   {"methods", KEY_METHODS, "M", 0, "", 0},
    {"loop", KEY_LOOP, "N", 0, "", 0},   {"cudss", KEY_CUDSS, "FILE", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},   {0},
};

typedef struct {
  int64_t values[LIST_MOST];
  int count;
} list;

typedef struct {
  list sides, counts, nrhs;
  const char *methods[LIST_MOST], *cudss;
  int method_count, reps;
  int64_t loop;
} settings;

static void parse_list(list *out, const char *option, char *text, int64_t most) {
  out->count = 0;
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    if (out->count == LIST_MOST) cli_usage("%s: more than %d", option, LIST_MOST);
    out->values[out->count++] = cli_integer(option, word, 1, most);
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_SIDES: parse_list(&s->sides, "--sides", text, 200); return 0;
  case KEY_COUNTS: parse_list(&s->counts, "--counts", text, 1000000); return 0;
  case KEY_NRHS: parse_list(&s->nrhs, "--nrhs", text, 1024); return 0;
  case KEY_METHODS:
    for (char *word = strtok(text, " "); word && s->method_count < LIST_MOST; word = strtok(NULL, " "))
      s->methods[s->method_count++] = word;
    return 0;
  case KEY_LOOP: s->loop = cli_integer("--loop", text, 0, 100000); return 0;
  case KEY_CUDSS: s->cudss = text; return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, REPS_MOST); return 0;
  case ARGP_KEY_ARG: cli_usage("no files are read: \"%s\"", text);
  case ARGP_KEY_END:
    if (s->method_count == 0) s->methods[s->method_count++] = "auto";
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- one solver ---- */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median in microseconds an item. */
static int measure(double *out, const batch_solver *s, bench_timer *timer, int reps) {
  double ms[REPS_MOST];
  int code = s->solve(s->self); /* warms up */
  for (int r = 0; r < reps && code == CLI_OK; r++) {
    bench_timer_start(timer);
    code = s->solve(s->self);
    ms[r] = bench_timer_stop(timer);
  }
  qsort(ms, (size_t)reps, sizeof *ms, by_size);
  *out = ms[reps / 2] * 1e3 / (double)s->items;
  return code;
}

/* The worst residual of the first, a middle and the last item. */
static int judge(double *worst, const batch_problem *p, const batch_blocks *blocks) {
  const int64_t size = p->n * blocks->nrhs;
  double *b = malloc((size_t)size * sizeof *b), *x = malloc((size_t)size * sizeof *x);
  int code = b && x ? CLI_OK : cli_no_memory("a check");
  *worst = 0;
  for (int s = 0; s < 3 && code == CLI_OK; s++) {
    const int64_t item = s == 0 ? 0 : s == 1 ? blocks->count * 2 / 3 : blocks->count - 1;
    code = cli_fail(bench_memory_read(b, blocks->B + item * size, SPTRSM_CUDA, (size_t)size * sizeof *b));
    if (code == CLI_OK) code = cli_fail(bench_memory_read(x, blocks->X + item * size, SPTRSM_CUDA, (size_t)size * sizeof *x));
    const double r = code == CLI_OK ? batch_residual(p, item, b, x, blocks->nrhs) : 0;
    if (isnan(r) || r > *worst) *worst = r;
  }
  free(b);
  free(x);
  return code;
}

typedef struct {
  const settings *s;
  const batch_problem *p;
  batch_blocks blocks;
  bench_timer *timer;
  bool wrong;
} bench;

/* Shows one line and ends the solver. */
static int run(bench *b, batch_solver *solver, int code, const char *name, bool checked) {
  double us = 0, worst = 0;
  bench_poison(b->blocks.X, SPTRSM_CUDA, (size_t)(b->p->n * b->blocks.nrhs * b->blocks.count) * sizeof(double), b->blocks.stream);
  if (code == CLI_OK) code = measure(&us, solver, b->timer, b->s->reps);
  if (code == CLI_OK && checked) code = judge(&worst, b->p, &b->blocks);
  if (code == CLI_OK) {
    printf("%6d %7lld %5lld  %-44s %10.4f  ", b->p->n, (long long)b->blocks.count, (long long)b->blocks.nrhs, name, us);
    if (checked) printf("%.1e\n", worst);
    else printf("%lld items\n", (long long)solver->items);
    (void)fflush(stdout);
    b->wrong = b->wrong || !(worst < 1e-12);
  }
  if (solver->end) solver->end(solver->self);
  *solver = (batch_solver){0};
  return code;
}

static int compare(bench *b) {
  batch_solver solver = {0};
  int code = CLI_OK;
  for (int m = 0; m < b->s->method_count && code == CLI_OK; m++) {
    code = batch_own_begin(&solver, b->p, &b->blocks, b->s->methods[m]);
    code = run(b, &solver, code, b->s->methods[m], true);
  }
  if (b->s->cudss && code == CLI_OK) {
    const int begun = batch_cudss_begin(&solver, b->p, &b->blocks, b->s->cudss);
    if (run(b, &solver, begun, "cuDSS, uniform batch", true) != CLI_OK) cli_warning("cuDSS is left out here");
  }
  if (b->s->loop > 0 && code == CLI_OK) {
    const int begun = batch_sparse_begin(&solver, b->p, &b->blocks, b->s->loop);
    code = run(b, &solver, begun, b->blocks.nrhs == 1 ? "cuSPARSE SpSV, loop" : "cuSPARSE SpSM, loop", false);
  }
  return code;
}

/* ---- the program ---- */

static int make_blocks(batch_blocks *out, int32_t n, int64_t count, int64_t nrhs) {
  const int64_t size = n * count * nrhs;
  double *host = malloc((size_t)size * sizeof *host);
  if (!host) return cli_no_memory("right-hand sides");
  uint64_t state = 88172645463325252u;
  for (int64_t e = 0; e < size; e++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    host[e] = (double)(int64_t)(state >> 12) / (double)((int64_t)1 << 51) - 1;
  }
  out->count = count;
  out->nrhs = nrhs;
  int code = cli_fail(bench_memory((void **)&out->B, SPTRSM_CUDA, (size_t)size * sizeof *host, host));
  if (code == CLI_OK) code = cli_fail(bench_memory((void **)&out->X, SPTRSM_CUDA, (size_t)size * sizeof *host, NULL));
  free(host);
  return code;
}

static int run_size(bench *b, int64_t count, int64_t nrhs) {
  int code = make_blocks(&b->blocks, b->p->n, count, nrhs);
  if (code == CLI_OK) code = compare(b);
  bench_memory_free(b->blocks.B, SPTRSM_CUDA);
  bench_memory_free(b->blocks.X, SPTRSM_CUDA);
  b->blocks.B = b->blocks.X = NULL;
  return code;
}

static int run_side(bench *b, int32_t side) {
  batch_problem p;
  int code = batch_problem_create(&p, side);
  b->p = &p;
  if (code == CLI_OK)
    printf("# n %d: A %lld, L %lld, U %lld entries\n", p.n, (long long)p.A.ptr[p.n], (long long)p.L.ptr[p.n], (long long)p.U.ptr[p.n]);
  for (int c = 0; c < b->s->counts.count; c++)
    for (int k = 0; k < b->s->nrhs.count && code == CLI_OK; k++) code = run_size(b, b->s->counts.values[c], b->s->nrhs.values[k]);
  batch_problem_free(&p);
  return code;
}

int main(int argc, char **argv) {
  settings s = {.sides = {{10, 32, 55}, 3}, .counts = {{1000, 10000}, 2}, .nrhs = {{1, 16}, 2}, .reps = 9, .loop = 20};
  const cli_program program = {.name = "compare_batch_cuda", .help = help, .options = options, .parse = parse};
  cli_start(&program, argc, argv, &s);
  bench b = {.s = &s};
  int code = cli_fail(bench_stream_create(&b.blocks.stream, SPTRSM_CUDA));
  if (code == CLI_OK) code = cli_fail(bench_timer_create(&b.timer, SPTRSM_CUDA, b.blocks.stream));
  if (code == CLI_OK) printf("     n   items  nrhs  %-44s  us an item  worst residual\n", "solver");
  for (int i = 0; i < s.sides.count && code == CLI_OK; i++) code = run_side(&b, (int32_t)s.sides.values[i]);
  bench_timer_destroy(b.timer);
  bench_stream_destroy(b.blocks.stream);
  if (code == CLI_OK) code = cli_flush();
  return cli_end(code == CLI_OK && b.wrong ? CLI_ABOVE : code);
}
