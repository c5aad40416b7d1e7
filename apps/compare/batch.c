/* batch.c -- compare_batch: a uniform batch beside loops over KLU's solve and over sptrsm_direct_solve, with the same factors.
 *
 * KLU factorises A, then refactorises it with perturbed values and the same pivots, once for each item. All solve the same blocks, which
 * are column-major: KLU in one thread, as it does, and with its items shared among threads by OpenMP; sptrsm_direct by its method auto, for
 * as many items as --direct says, since each of its solvers has an analysis of its own. KLU solves in place; the copy of B before is not
 * timed. Repetitions alternate between all of them and the shortest time of each is shown, per item. X of the batch is compared with KLU's.
 * A development tool, which is not installed. */
#include <klu.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sptrsm_batch.h>

#include "compare/compare.h"

static const char help[] = "compare_batch add32_splu.h5:/A --count 1000 --nrhs 1,16 --threads 2\n"
                           "\n"
                           "usage: compare_batch A ... [options]     batches of one pattern\n"
                           "  --count N                     value sets, default 1000\n"
                           "  --nrhs K,K,..., --threads N   default 1,16 and 2\n"
                           "  --direct N                    items that sptrsm_direct solves, default 100\n"
                           "  --reps R                      default 7\n"
                           "  --clock wall|cpu              cpu: the processor time of all threads, for a machine that others use too\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 a solution is wrong, 2 usage, ...\n";

enum { KEY_COUNT = 2000, KEY_NRHS, KEY_THREADS, KEY_DIRECT, KEY_REPS, KEY_CLOCK };
enum { INPUTS_MAX = 64, WIDTHS_MAX = 16 };

static const struct argp_option options[] = {
    {"count", KEY_COUNT, "N", 0, "", 0},
    {"nrhs", KEY_NRHS, "K", 0, "", 0},
    {"threads", KEY_THREADS, "N", 0, "", 0},
    {"direct", KEY_DIRECT, "N", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},
    {"clock", KEY_CLOCK, "C", 0, "", 0},
    {0},
};

typedef struct {
  const char *inputs[INPUTS_MAX];
  int input_count, width_count, threads, reps;
  int64_t widths[WIDTHS_MAX], count, direct;
  bool cpu;
} settings;

static double now(const settings *s) {
  struct timespec t;
  clock_gettime(s->cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static error_t parse(int key, char *text, struct argp_state *state) {
  static const char *const clocks[] = {"wall", "cpu"};
  settings *s = state->input;
  switch (key) {
  case KEY_CLOCK: s->cpu = cli_choice("--clock", text, clocks, 2) == 1; return 0;
  case KEY_COUNT: s->count = cli_integer("--count", text, 1, 1000000); return 0;
  case KEY_THREADS: s->threads = (int)cli_integer("--threads", text, 1, 1024); return 0;
  case KEY_DIRECT: s->direct = cli_integer("--direct", text, 1, 1000000); return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, 100000); return 0;
  case KEY_NRHS:
    s->width_count = 0;
    for (char *width = strtok(text, ","); width; width = strtok(NULL, ",")) {
      if (s->width_count == WIDTHS_MAX) cli_usage("--nrhs: more than %d", WIDTHS_MAX);
      s->widths[s->width_count++] = cli_integer("--nrhs", width, 1, INT32_MAX);
    }
    return 0;
  case ARGP_KEY_ARG:
    if (s->input_count == INPUTS_MAX) cli_usage("more than %d matrices", INPUTS_MAX);
    s->inputs[s->input_count++] = text;
    return 0;
  case ARGP_KEY_END:
    if (s->input_count == 0) cli_usage("give a matrix");
    if (s->direct > s->count) s->direct = s->count;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- the items ---- */

typedef struct {
  const settings *s;
  int32_t n;
  klu_common common;
  klu_symbolic *symbolic;
  klu_numeric **numeric; /* [count] */
  sptrsm_sparse L, U;
  int64_t *ptr[2];
  int32_t *idx[2], *P, *Q;
  double *L_val, *U_val, *scale; /* [count] times the length of one item; scale has the rows' factors by row of A */
  sptrsm_context *context;
  sptrsm_batch *batch;
  sptrsm_direct **direct; /* [s->direct] */
  int64_t nrhs;
  double *B, *X, *Y; /* [count][nrhs][n]; Y is KLU's */
} items;

static int refused(const char *what) {
  cli_error("KLU: %s failed", what);
  return CLI_INTERNAL;
}

static double perturbed(double value, uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return value * (1 + 0.125 * ((double)(*seed >> 8) / (1 << 24) - 0.5));
}

/* Factors of all items, by the pivots of the first. */
static int factorise(items *t, const factor_matrix *A) {
  const int64_t nnz = A->ptr[A->n];
  int32_t *ptr = malloc(((size_t)A->n + 1) * sizeof *ptr), *idx = malloc((size_t)nnz * sizeof *idx + 1);
  double *val = malloc((size_t)nnz * sizeof *val + 1);
  uint32_t seed = 1;
  int code = ptr && idx && val && t->numeric ? CLI_OK : factor_no_memory("A");
  if (code == CLI_OK) {
    for (int32_t j = 0; j <= A->n; j++) ptr[j] = (int32_t)A->ptr[j];
    for (int64_t p = 0; p < nnz; p++) idx[p] = (int32_t)A->idx[p];
    klu_defaults(&t->common);
    t->common.btf = 0; /* so that A is a product of two triangles: see factor/klu.c */
    t->symbolic = klu_analyze(A->n, ptr, idx, &t->common);
    if (t->symbolic == NULL) code = refused("analysis");
  }
  for (int64_t i = 0; i < t->s->count && code == CLI_OK; i++) {
    t->numeric[i] = klu_factor(ptr, idx, A->val, t->symbolic, &t->common);
    for (int64_t p = 0; p < nnz; p++) val[p] = i ? perturbed(A->val[p], &seed) : A->val[p];
    if (t->numeric[i] == NULL || !klu_refactor(ptr, idx, val, t->symbolic, t->numeric[i], &t->common) ||
        !klu_sort(t->symbolic, t->numeric[i], &t->common))
      code = refused("factorisation");
  }
  free(ptr);
  free(idx);
  free(val);
  return code;
}

/* Copies the factors of all items into arrays at strides. */
static int extract(items *t) {
  const size_t n = (size_t)t->n, count = (size_t)t->s->count, lnz = (size_t)t->numeric[0]->lnz, unz = (size_t)t->numeric[0]->unz;
  int32_t *ptr[2] = {malloc((n + 1) * sizeof **ptr), malloc((n + 1) * sizeof **ptr)};
  double *rows = malloc((n + 1) * sizeof *rows);
  int code = CLI_OK;
  t->P = malloc(n * sizeof *t->P + 1), t->Q = malloc(n * sizeof *t->Q + 1);
  t->L_val = malloc(count * lnz * sizeof(double) + 1), t->U_val = malloc(count * unz * sizeof(double) + 1);
  t->scale = malloc(count * n * sizeof(double) + 1);
  for (int m = 0; m < 2; m++) {
    t->ptr[m] = malloc((n + 1) * sizeof *t->ptr[m]);
    t->idx[m] = malloc((m ? unz : lnz) * sizeof *t->idx[m] + 1);
    if (!ptr[m] || !t->ptr[m] || !t->idx[m]) code = CLI_MEMORY;
  }
  if (code != CLI_OK || !rows || !t->P || !t->Q || !t->L_val || !t->U_val || !t->scale) code = factor_no_memory("the factors");
  for (size_t i = 0; i < count && code == CLI_OK; i++) {
    if (!klu_extract(t->numeric[i], t->symbolic, ptr[0], t->idx[0], t->L_val + i * lnz, ptr[1], t->idx[1], t->U_val + i * unz, NULL, NULL,
                     NULL, t->P, t->Q, rows, NULL, &t->common))
      code = refused("extraction");
    for (size_t k = 0; k < n && code == CLI_OK; k++) t->scale[i * n + (size_t)t->P[k]] = rows[k];
  }
  for (int m = 0; m < 2 && code == CLI_OK; m++)
    for (size_t j = 0; j <= n; j++) t->ptr[m][j] = ptr[m][j];
  free(ptr[0]);
  free(ptr[1]);
  free(rows);
  return code;
}

static sptrsm_factors factors_of(items *t, int64_t item) {
  sptrsm_factors f;
  sptrsm_factors_init(&f);
  t->L = (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .uplo = SPTRSM_LOWER, .diag = SPTRSM_UNIT, .n = t->n, .ptr = t->ptr[0]};
  t->U = (sptrsm_sparse){.format = SPTRSM_CSC, .dtype = SPTRSM_F64, .uplo = SPTRSM_UPPER, .n = t->n, .ptr = t->ptr[1]};
  t->L.idx = t->idx[0], t->L.val = t->L_val + item * t->ptr[0][t->n];
  t->U.idx = t->idx[1], t->U.val = t->U_val + item * t->ptr[1][t->n];
  f.L = &t->L, f.U = &t->U;
  f.perm_row = t->P, f.row_convention = SPTRSM_GATHER;
  f.perm_col = t->Q, f.col_convention = SPTRSM_SCATTER;
  f.scale_row = t->scale + item * t->n, f.row_op = SPTRSM_DIVIDE;
  return f;
}

/* The batch is told how many right-hand sides will come. */
static int create_batch(items *t) {
  const sptrsm_factors f = factors_of(t, 0);
  sptrsm_batch_values v;
  sptrsm_options o;
  sptrsm_options_init(&o);
  o.nrhs_hint = t->nrhs;
  sptrsm_batch_destroy(t->batch);
  t->batch = NULL;
  sptrsm_batch_values_init(&v);
  v.count = t->s->count;
  v.L = t->L_val, v.L_stride = t->ptr[0][t->n];
  v.U = t->U_val, v.U_stride = t->ptr[1][t->n];
  v.scale_row = t->scale, v.scale_row_stride = t->n;
  double start = cli_now();
  int code = cli_fail(sptrsm_batch_create_uniform(&t->batch, t->context, &f, &v, &o));
  cli_phase("the batch was made in %.3f s", cli_now() - start);
  return code;
}

static int create_direct(items *t) {
  int code = CLI_OK;
  for (int64_t i = 0; i < t->s->direct && code == CLI_OK; i++) {
    const sptrsm_factors f = factors_of(t, i);
    code = cli_fail(sptrsm_direct_create(&t->direct[i], t->context, &f, NULL));
  }
  return code;
}

static void items_end(items *t) {
  for (int64_t i = 0; t->numeric && i < t->s->count; i++) klu_free_numeric(&t->numeric[i], &t->common);
  for (int64_t i = 0; t->direct && i < t->s->direct; i++) sptrsm_direct_destroy(t->direct[i]);
  if (t->symbolic) klu_free_symbolic(&t->symbolic, &t->common);
  sptrsm_batch_destroy(t->batch);
  sptrsm_context_destroy(t->context);
  void *const all[] = {t->numeric, t->direct, t->ptr[0], t->ptr[1], t->idx[0], t->idx[1], t->P, t->Q, t->L_val, t->U_val, t->scale};
  for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
}

/* ---- one repetition of each; seconds an item ---- */

static double *block_of(const items *t, double *blocks, int64_t item) { return blocks + item * t->nrhs * t->n; }

static int by_klu(double *seconds, items *t, int threads) {
  int wrong = 0;
  double total = 0;
  const size_t bytes = (size_t)t->n * (size_t)t->nrhs * sizeof(double);
  memcpy(t->Y, t->B, bytes * (size_t)t->s->count);
  if (threads == 1) {
    for (int64_t i = 0; i < t->s->count; i++) {
      double *y = block_of(t, t->Y, i);
      double start = now(t->s);
      wrong |= !klu_solve(t->symbolic, t->numeric[i], t->n, (int)t->nrhs, y, &t->common);
      total += now(t->s) - start;
    }
  } else {
    double start = now(t->s);
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(| : wrong)
    for (int64_t i = 0; i < t->s->count; i++) {
      klu_common own = t->common;
      wrong |= !klu_solve(t->symbolic, t->numeric[i], t->n, (int)t->nrhs, block_of(t, t->Y, i), &own);
    }
    total = now(t->s) - start;
  }
  *seconds = total / (double)t->s->count;
  return wrong ? refused("solve") : CLI_OK;
}

static int by_direct(double *seconds, items *t) {
  sptrsm_block B = {.ld = t->n, .n = t->n, .nrhs = t->nrhs, .dtype = SPTRSM_F64, .layout = SPTRSM_COL_MAJOR}, X = B;
  int code = CLI_OK;
  double start = now(t->s);
  for (int64_t i = 0; i < t->s->direct && code == CLI_OK; i++) {
    B.data = block_of(t, t->B, i);
    X.data = block_of(t, t->X, i);
    code = cli_fail(sptrsm_direct_solve(t->direct[i], SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X));
  }
  *seconds = (now(t->s) - start) / (double)t->s->direct;
  return code;
}

static int by_batch(double *seconds, items *t) {
  sptrsm_batch_block B, X;
  sptrsm_batch_block_init(&B);
  B.data = t->B, B.ld = t->n, B.nrhs = t->nrhs, B.stride = t->n * t->nrhs, B.layout = SPTRSM_COL_MAJOR;
  X = B;
  X.data = t->X;
  double start = now(t->s);
  int code = cli_fail(sptrsm_batch_solve(t->batch, SPTRSM_SYS_A, SPTRSM_N, NULL, &B, &X, NULL));
  *seconds = (now(t->s) - start) / (double)t->s->count;
  return code;
}

/* ---- measuring ---- */

enum { KLU, KLU_SHARED, DIRECT, BATCH, SOLVERS };

static int solve_once(double *seconds, items *t, int solver) {
  if (solver == KLU) return by_klu(seconds, t, 1);
  if (solver == KLU_SHARED) return by_klu(seconds, t, t->s->threads);
  return solver == DIRECT ? by_direct(seconds, t) : by_batch(seconds, t);
}

/* The largest difference between X and KLU's, relative to the largest number in KLU's. */
static double difference(const items *t) {
  double most = 0, size = 0;
  for (int64_t p = 0; p < t->s->count * t->nrhs * t->n; p++) {
    const double error = fabs(t->X[p] - t->Y[p]);
    if (isnan(error) || error > most) most = error;
    if (fabs(t->Y[p]) > size) size = fabs(t->Y[p]);
  }
  return most / size;
}

static int measure(items *t) {
  double least[SOLVERS] = {INFINITY, INFINITY, INFINITY, INFINITY}, seconds = 0, error = 0;
  int code = CLI_OK;
  for (int r = 0; r <= t->s->reps; r++) /* the first round warms up */
    for (int solver = 0; solver < SOLVERS && code == CLI_OK; solver++) {
      code = solve_once(&seconds, t, solver);
      if (r > 0 && seconds < least[solver]) least[solver] = seconds;
      if (solver == BATCH && r == 0) error = difference(t);
    }
  if (code != CLI_OK) return code;
  printf("%6lld %10.2f %10.2f %10.2f %10.2f %8.2f %8.2f %8.2f %9.1e%s\n", (long long)t->nrhs, 1e6 * least[KLU], 1e6 * least[KLU_SHARED],
         1e6 * least[DIRECT], 1e6 * least[BATCH], least[KLU] / least[BATCH], least[KLU_SHARED] / least[BATCH], least[DIRECT] / least[BATCH],
         error, error <= 1e-6 ? "" : "  WRONG");
  return error <= 1e-6 ? CLI_OK : CLI_ABOVE;
}

static int measure_width(items *t, int64_t nrhs) {
  const size_t values = (size_t)t->s->count * (size_t)nrhs * (size_t)t->n;
  t->nrhs = nrhs;
  t->B = malloc(values * sizeof(double)), t->X = calloc(values, sizeof(double)), t->Y = malloc(values * sizeof(double));
  int code = t->B && t->X && t->Y ? create_batch(t) : factor_no_memory("the right-hand sides");
  for (size_t p = 0; p < values && code == CLI_OK; p++) t->B[p] = 1 + (double)(p % 17) / 16;
  if (code == CLI_OK) code = measure(t);
  free(t->B);
  free(t->X);
  free(t->Y);
  return code;
}

static int compare(const settings *s, const factor_matrix *A) {
  items t = {.s = s, .n = A->n};
  t.numeric = calloc((size_t)s->count, sizeof(void *));
  t.direct = calloc((size_t)s->direct, sizeof(void *));
  int code = t.direct ? factorise(&t, A) : factor_no_memory("the items");
  if (code == CLI_OK) code = extract(&t);
  if (code == CLI_OK) code = cli_fail(sptrsm_context_create(&t.context, SPTRSM_HOST, 0, NULL));
  if (code == CLI_OK) code = cli_fail(sptrsm_context_set_threads(t.context, s->threads));
  if (code == CLI_OK) code = create_direct(&t);
  if (code == CLI_OK)
    printf("%s: n %d, %d entries in L, %d in U, %lld items\n%6s %10s %10s %10s %10s %8s %8s %8s %9s\n", A->where, A->n, t.numeric[0]->lnz,
           t.numeric[0]->unz, (long long)s->count, "nrhs", "KLU us", "shared us", "direct us", "batch us", "x KLU", "x shared", "x direct",
           "error");
  for (int w = 0; w < s->width_count && code == CLI_OK; w++) code = measure_width(&t, s->widths[w]);
  items_end(&t);
  return code;
}

static int compare_matrix(const settings *s, const char *where) {
  sptrsm_file_matrix *file = NULL;
  sptrsm_io_options io;
  factor_matrix A = {0};
  sptrsm_io_options_init(&io);
  io.tidy = 1;
  int code = cli_fail(sptrsm_file_matrix_load(&file, where, &io));
  if (code == CLI_OK) code = factor_matrix_make(&A, file);
  if (code == CLI_OK && A.is_complex) {
    cli_error("%s: is complex; the comparison is for real matrices", where);
    code = CLI_USAGE;
  }
  if (code == CLI_OK) code = compare(s, &A);
  factor_matrix_free(&A);
  sptrsm_file_matrix_free(file);
  return code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"compare_batch", help, options, parse};
  settings s = {.threads = 2, .reps = 7, .widths = {1, 16}, .width_count = 2, .count = 1000, .direct = 100};
  cli_start(&program, argc, argv, &s);
  compare_set_threads(s.threads);
  int code = CLI_OK;
  for (int i = 0; i < s.input_count && code == CLI_OK; i++) code = compare_matrix(&s, s.inputs[i]);
  return code == CLI_OK ? cli_flush() : code;
}
