/* main.c -- compare_factors: the solve phase of CHOLMOD, UMFPACK and KLU beside that of this library, on the same factors.
 *
 * Each matrix is factorised by every library that fits. Then the library solves with its own factors, and sptrsm_direct with the factor set
 * made from them. Times include permutations, scaling, both triangles and the layout, but neither analysis nor factorisation. cuDSS orders
 * and factorises the matrix itself. Repetitions alternate between all solvers, so that a slow moment of the machine affects all of them;
 * medians are shown. Every solver's X is compared with the one that B was computed from. A development tool, which is not installed.
 */
#include "compare/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure.h"
#include "factor/report.h"

static const char help[] = "compare_factors wathen100.mtx.gz wang4.mtx.gz --nrhs 64 --threads 2\n"
                           "compare_factors wang4.mtx.gz --with umfpack --device cuda --nrhs 128 --threads 16\n"
                           "\n"
                           "usage: compare_factors A ... [options]        solve phases on the same factors\n"
                           "  --with cholmod|umfpack|klu    only this library\n"
                           "  --ordering O                  as in sptrsm-factor\n"
                           "  --nrhs K,K,..., --threads N   default 64 and 2\n"
                           "  --device cpu|cuda             where sptrsm solves; cuda: B and X in device memory\n"
                           "  --methods a,b                 of sptrsm, default auto\n"
                           "  --reps R                      default 11\n"
                           "  --mkl libmkl_rt.so            MKL's two triangular solves, too\n"
                           "  --cudss libcudss.so.1         with --device cuda: cuDSS and its factors, too\n"
                           "  --refine                      refined too, and refined with single factors\n"
                           "  --no-native                   not the library that made the factors\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 a solution is wrong, 2 usage, ...\n";

enum {
  KEY_WITH = 2000,
  KEY_ORDERING,
  KEY_NRHS,
  KEY_THREADS,
  KEY_DEVICE,
  KEY_METHODS,
  KEY_REPS,
  KEY_MKL,
  KEY_CUDSS,
  KEY_REFINE,
  KEY_NO_NATIVE
};
enum { INPUTS_MAX = 64, METHODS_MAX = 8, WIDTHS_MAX = 16, SOLVERS_MAX = 6 * METHODS_MAX + 5 };

static const struct argp_option options[] = {
    {"with", KEY_WITH, "W", 0, "", 0},       {"ordering", KEY_ORDERING, "O", 0, "", 0},    {"nrhs", KEY_NRHS, "K", 0, "", 0},
    {"threads", KEY_THREADS, "N", 0, "", 0}, {"device", KEY_DEVICE, "D", 0, "", 0},        {"methods", KEY_METHODS, "M", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},       {"mkl", KEY_MKL, "FILE", 0, "", 0},           {"cudss", KEY_CUDSS, "FILE", 0, "", 0},
    {"refine", KEY_REFINE, NULL, 0, "", 0},  {"no-native", KEY_NO_NATIVE, NULL, 0, "", 0}, {0},
};

typedef struct {
  const char *inputs[INPUTS_MAX], *methods[METHODS_MAX], *with, *mkl, *cudss;
  int input_count, method_count, width_count, threads, reps;
  int64_t widths[WIDTHS_MAX];
  bool no_native, refine;
  sptrsm_place place;
  factor_request request;
} settings;

/* One matrix with one library's factors and a number of right-hand sides. */
typedef struct {
  const settings *s;
  int64_t nrhs;
  const factor_matrix *A;
  const factor_library *library;
  factor_set set;
  double *X_true, *B, *X, *Y;   /* column-major; Y is room for MKL's intermediate */
  double *X_true_rows, *B_rows; /* row-major */
  void *stream;
  sptrsm_context *context;
} problem_set;

typedef enum { NATIVE, OWN, MKL, CUDSS } solver_kind;
typedef struct {
  solver_kind kind;
  char name[96];
  const compare_native *native;
  void *state; /* of `native` */
  compare_mkl *mkl;
  cudss *cudss;
  sptrsm_direct *direct;
  compare_own_kind own;
  sptrsm_block B, X; /* in the memory where sptrsm_direct or cuDSS works */
  bench_timer *timer;
  double *ms, error, residual; /* max |x - x_true|; see compare_residual */
} solver;

/* ---- the command line ---- */

static void parse_methods(settings *s, char *text) {
  for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
    if (s->method_count == METHODS_MAX) cli_usage("--methods: more than %d", METHODS_MAX);
    s->methods[s->method_count++] = name;
  }
}

static void parse_widths(settings *s, char *text) {
  s->width_count = 0;
  for (char *width = strtok(text, ","); width; width = strtok(NULL, ",")) {
    if (s->width_count == WIDTHS_MAX) cli_usage("--nrhs: more than %d", WIDTHS_MAX);
    s->widths[s->width_count++] = cli_integer("--nrhs", width, 1, INT32_MAX);
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  static const char *const libraries[] = {"cholmod", "umfpack", "klu"}, *const devices[] = {"cpu", "cuda"};
  settings *s = state->input;
  switch (key) {
  case KEY_WITH: s->with = libraries[cli_choice("--with", text, libraries, 3)]; return 0;
  case KEY_ORDERING: s->request.order = (factor_order)cli_choice("--ordering", text, factor_order_names, ORDER_COUNT); return 0;
  case KEY_NRHS: parse_widths(s, text); return 0;
  case KEY_THREADS: s->threads = (int)cli_integer("--threads", text, 1, 1024); return 0;
  case KEY_DEVICE: s->place = cli_choice("--device", text, devices, 2) ? SPTRSM_CUDA : SPTRSM_HOST; return 0;
  case KEY_METHODS: parse_methods(s, text); return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, 100000); return 0;
  case KEY_MKL: s->mkl = text; return 0;
  case KEY_CUDSS: s->cudss = text; return 0;
  case KEY_REFINE: s->refine = true; return 0;
  case KEY_NO_NATIVE: s->no_native = true; return 0;
  case ARGP_KEY_ARG:
    if (s->input_count == INPUTS_MAX) cli_usage("more than %d matrices", INPUTS_MAX);
    s->inputs[s->input_count++] = text;
    return 0;
  case ARGP_KEY_END:
    if (s->input_count == 0) cli_usage("give a matrix");
    if (s->width_count == 0) cli_usage("--nrhs: give a number of right-hand sides");
    if (s->cudss && s->place != SPTRSM_CUDA) cli_usage("--cudss works on a GPU; add --device cuda");
    if (s->method_count == 0) s->methods[s->method_count++] = "auto";
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- right-hand sides ---- */

static void transpose(double *rows, const double *columns, int64_t n, int64_t nrhs) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < n; i++)
    for (int64_t k = 0; k < nrhs; k++) rows[i * nrhs + k] = columns[i + k * n];
}

static double *new_values(const problem_set *p) { return calloc((size_t)p->A->n * (size_t)p->nrhs, sizeof(double)); }

static int make_blocks(problem_set *p) {
  const factor_matrix *A = p->A;
  int64_t n = A->n, nrhs = p->nrhs;
  double **const blocks[] = {&p->X_true, &p->B, &p->X, &p->Y, &p->X_true_rows, &p->B_rows};
  for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++)
    if ((*blocks[b] = new_values(p)) == NULL) return factor_no_memory("the right-hand sides");
  factor_known_solution(p->X_true_rows, A, nrhs);
  factor_multiply(p->B_rows, A, p->X_true_rows, nrhs);
  transpose(p->X_true, p->X_true_rows, nrhs, n); /* the transpose of a row-major block is a column-major one */
  transpose(p->B, p->B_rows, nrhs, n);
  return CLI_OK;
}

static void blocks_free(problem_set *p) {
  double **const blocks[] = {&p->X_true, &p->B, &p->X, &p->Y, &p->X_true_rows, &p->B_rows};
  for (size_t b = 0; b < sizeof blocks / sizeof blocks[0]; b++) {
    free(*blocks[b]);
    *blocks[b] = NULL;
  }
}

/* ---- solvers ---- */

/* Allocates B and X in the place where they are solved, and a clock of that place. */
static sptrsm_status blocks_begin(solver *v, const problem_set *p, sptrsm_layout layout) {
  sptrsm_place place = p->s->place;
  size_t bytes = (size_t)p->A->n * (size_t)p->nrhs * sizeof(double);
  bool rows = layout == SPTRSM_ROW_MAJOR;
  v->B =
      (sptrsm_block){.ld = rows ? p->nrhs : p->A->n, .n = p->A->n, .nrhs = p->nrhs, .dtype = SPTRSM_F64, .layout = layout, .place = place};
  v->X = v->B;
  sptrsm_status status = bench_timer_create(&v->timer, place, p->stream);
  if (status == SPTRSM_OK) status = bench_memory(&v->B.data, place, bytes, rows ? p->B_rows : p->B);
  return status == SPTRSM_OK ? bench_memory(&v->X.data, place, bytes, NULL) : status;
}

static int own_begin(solver *v, const problem_set *p, compare_own_kind kind, const char *method, sptrsm_layout layout) {
  v->kind = OWN;
  v->own = kind;
  int code = cli_fail(blocks_begin(v, p, layout));
  compare_own_request r = {.context = p->context, .kind = kind, .method = method, .layout = layout, .nrhs = p->nrhs};
  return code == CLI_OK ? compare_own_begin(&v->direct, v->name, &r, &p->set, p->A) : code;
}

static int native_begin(solver *v, const problem_set *p, const compare_native *native) {
  v->kind = NATIVE;
  v->native = native;
  snprintf(v->name, sizeof v->name, "%s", native->name);
  int code = native->begin(&v->state, p->A, &p->s->request, p->s->threads);
  return code == CLI_OK ? cli_fail(bench_timer_create(&v->timer, SPTRSM_HOST, NULL)) : code;
}

static int mkl_begin(solver *v, const problem_set *p) {
  v->kind = MKL;
  snprintf(v->name, sizeof v->name, "MKL trsm, triangles only, C order");
  int code = compare_mkl_begin(&v->mkl, p->s->mkl, &p->set, p->nrhs, p->s->threads);
  return code == CLI_OK ? cli_fail(bench_timer_create(&v->timer, SPTRSM_HOST, NULL)) : code;
}

static int cudss_begin(solver *v, const problem_set *p) {
  v->kind = CUDSS;
  int code = cli_fail(blocks_begin(v, p, SPTRSM_COL_MAJOR));
  compare_cudss_blocks blocks = {.B = v->B.data, .X = v->X.data, .nrhs = p->nrhs, .stream = p->stream};
  if (code == CLI_OK) code = compare_cudss_begin(&v->cudss, p->s->cudss, p->A, &blocks);
  if (code == CLI_OK)
    snprintf(v->name, sizeof v->name, "cuDSS (%lld entries of its own), F order", (long long)compare_cudss_entries(v->cudss));
  return code;
}

static void solver_end(solver *v) {
  if (v->native && v->state) v->native->end(v->state);
  compare_mkl_end(v->mkl);
  cudss_close(v->cudss);
  sptrsm_direct_destroy(v->direct);
  bench_memory_free(v->B.data, v->B.place);
  bench_memory_free(v->X.data, v->X.place);
  bench_timer_destroy(v->timer);
  free(v->ms);
}

static int solve_once(solver *v, problem_set *p, double *ms) {
  int code = CLI_OK;
  bench_timer_start(v->timer);
  if (v->kind == OWN) code = cli_fail(compare_own_solve(v->direct, v->own, &v->B, &v->X));
  else if (v->kind == CUDSS) code = cudss_solve(v->cudss);
  else if (v->kind == NATIVE) code = v->native->solve(v->state, p->B, p->X, p->nrhs);
  else code = compare_mkl_solve(v->mkl, p->B_rows, p->Y, p->X, p->nrhs);
  *ms = bench_timer_stop(v->timer);
  return code;
}

/* Computes the largest error against X_true, and the residual. MKL does a part of a solve, which has no X. */
static int compute_errors(solver *v, problem_set *p) {
  int64_t count = (int64_t)p->A->n * p->nrhs;
  v->error = v->residual = NAN;
  if (v->kind == MKL) return CLI_OK;
  double *X = p->X;
  if (v->X.data) {
    bool rows = v->X.layout == SPTRSM_ROW_MAJOR;
    int code = cli_fail(bench_memory_read(rows ? p->Y : p->X, v->X.data, v->X.place, (size_t)count * sizeof(double)));
    if (code != CLI_OK) return code;
    if (rows) transpose(p->X, p->Y, p->nrhs, p->A->n);
  }
  v->error = 0;
  for (int64_t i = 0; i < count; i++) {
    double error = fabs(X[i] - p->X_true[i]);
    if (!(error <= v->error)) v->error = error;
  }
  return compare_residual(&v->residual, p->A, p->B, X, p->nrhs);
}

/* ---- measuring ---- */

static int begin_solvers(solver *list, int *count, problem_set *p) {
  int code = CLI_OK;
  for (const compare_native *n = compare_natives; !p->s->no_native && n->name && code == CLI_OK; n++) {
    bool shared = strstr(n->name, "shared") != NULL;
    if (strcmp(n->library, p->library->name) == 0 && !(shared && p->s->threads == 1)) code = native_begin(&list[(*count)++], p, n);
  }
  if (code == CLI_OK && p->s->cudss) code = cudss_begin(&list[(*count)++], p);
  if (code == CLI_OK && p->s->mkl) code = mkl_begin(&list[(*count)++], p);
  for (int m = 0; m < p->s->method_count; m++)
    for (int layout = 0; layout < 2 && code == CLI_OK; layout++)
      for (int kind = COMPARE_SOLVED; kind <= (p->s->refine ? COMPARE_MIXED : COMPARE_SOLVED) && code == CLI_OK; kind++)
        code = own_begin(&list[(*count)++], p, (compare_own_kind)kind, p->s->methods[m], layout ? SPTRSM_ROW_MAJOR : SPTRSM_COL_MAJOR);
  for (int v = 0; v < *count && code == CLI_OK; v++)
    if ((list[v].ms = calloc((size_t)p->s->reps + 1, sizeof(double))) == NULL) code = factor_no_memory("times");
  return code;
}

/* The first round warms up and computes the errors. */
static int repeat(solver *list, int count, problem_set *p) {
  int code = CLI_OK;
  for (int r = 0; r <= p->s->reps; r++)
    for (int v = 0; v < count && code == CLI_OK; v++) {
      code = solve_once(&list[v], p, &list[v].ms[r]);
      if (code == CLI_OK && r == 0) code = compute_errors(&list[v], p);
    }
  return code;
}

/* The error of the first solver that has an X: errors depend on the condition of A, so the others are compared with it. */
static double first_error(const solver *list, int count) {
  int v = 0;
  while (v + 1 < count && list[v].kind == MKL) v++;
  return list[v].error;
}

static bool print_rows(solver *list, int count, const problem_set *p) {
  double flops = 2.0 * (double)(p->set.L.ptr[p->A->n] + (p->set.U.ptr ? p->set.U.ptr[p->A->n] : p->set.L.ptr[p->A->n])) * (double)p->nrhs;
  double first = 0;
  bool good = true;
  for (int v = 0; v < count; v++) {
    double ms = bench_median(list[v].ms + 1, p->s->reps);
    if (v == 0) first = ms;
    bool wrong = list[v].kind != MKL && !(list[v].error <= 1e4 * first_error(list, count) + 1e-10);
    good = good && !wrong;
    printf("  %-42s %10.3f %10.3f %8.2f %8.2f  ", list[v].name, ms, list[v].ms[1], 1e-6 * flops / ms, first / ms);
    if (list[v].kind == MKL) printf("%9s %9s\n", "-", "-");
    else printf("%9.1e %9.1e%s\n", list[v].error, list[v].residual, wrong ? "  WRONG" : "");
  }
  return good;
}

/* All solvers with one number of right-hand sides. */
static int compare_width(problem_set *p, int64_t nrhs) {
  solver list[SOLVERS_MAX] = {0};
  int count = 0;
  p->nrhs = nrhs;
  int code = make_blocks(p);
  if (code == CLI_OK) code = begin_solvers(list, &count, p);
  if (code == CLI_OK) code = repeat(list, count, p);
  if (code == CLI_OK) printf(" %lld right-hand side%s\n", (long long)nrhs, nrhs == 1 ? "" : "s");
  if (code == CLI_OK && !print_rows(list, count, p)) code = CLI_ABOVE;
  for (int v = 0; v < count; v++) solver_end(&list[v]);
  blocks_free(p);
  fflush(stdout);
  return code;
}

static int compare(problem_set *p) {
  int code = p->library->factorise(&p->set, p->A, &p->s->request);
  if (code == CLI_SINGULAR) cli_note("%s: no factors by %s: %s", p->A->where, p->library->name, p->set.singular);
  if (code == CLI_OK) {
    factor_set_finish(&p->set);
    printf("%s: n %d, %s by %s, ordering %s, %lld entries in L", p->A->where, p->A->n, p->set.kind, p->library->version(), p->set.ordering,
           (long long)p->set.L.ptr[p->A->n]);
    if (p->set.U.ptr) printf(", %lld in U", (long long)p->set.U.ptr[p->A->n]);
    putchar('\n');
    for (int w = 0; w < p->s->width_count && code == CLI_OK; w++) code = compare_width(p, p->s->widths[w]);
  }
  factor_set_free(&p->set);
  return code == CLI_SINGULAR ? CLI_OK : code;
}

static bool fits(const settings *s, const factor_library *l, const factor_matrix *A) {
  if (s->with && strcmp(s->with, l->name) != 0) return false;
  if (!(l->orders >> s->request.order & 1)) return false;
  return l != &factor_cholmod || (A->hermitian && A->positive_diagonal);
}

static int compare_matrix(const settings *s, const char *where, void *stream, sptrsm_context *context) {
  static const factor_library *const libraries[] = {&factor_cholmod, &factor_umfpack, &factor_klu};
  sptrsm_file_matrix *file = NULL;
  sptrsm_io_options io;
  factor_matrix A = {0};
  problem_set p = {.s = s, .A = &A, .stream = stream, .context = context};
  sptrsm_io_options_init(&io);
  io.tidy = 1;
  int code = cli_fail(sptrsm_file_matrix_load(&file, where, &io));
  if (code == CLI_OK) code = factor_matrix_make(&A, file);
  if (code == CLI_OK && A.is_complex) {
    cli_error("%s: is complex; the comparison is for real matrices", where);
    code = CLI_USAGE;
  }
  for (size_t l = 0; l < sizeof libraries / sizeof libraries[0] && code == CLI_OK; l++) {
    if (!fits(s, libraries[l], &A)) continue;
    p.library = libraries[l];
    code = compare(&p);
  }
  if (code == CLI_OK && p.library == NULL) cli_warning("%s: left out, no library asked for has this ordering and takes this matrix", where);
  factor_matrix_free(&A);
  sptrsm_file_matrix_free(file);
  return code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"compare_factors", help, options, parse};
  settings s = {.threads = 2, .reps = 11, .widths = {64}, .width_count = 1, .request = {.pivot = -1, .scale = true}};
  void *stream = NULL;
  sptrsm_context *context = NULL;
  char software[128];
  cli_start(&program, argc, argv, &s);
  compare_set_threads(s.threads);
  int code = cli_fail(bench_stream_create(&stream, s.place));
  if (code == CLI_OK) code = cli_fail(sptrsm_context_create(&context, s.place, 0, stream));
  if (code == CLI_OK && s.place == SPTRSM_HOST) code = cli_fail(sptrsm_context_set_threads(context, s.threads));
  if (code == CLI_OK && !cli_quiet()) {
    bench_software(software, sizeof software);
    printf("%s; %s; f64, %d threads for the others, median of %d\n", software, sptrsm_context_describe(context), s.threads, s.reps);
    printf("  %-42s %10s %10s %8s %8s  %9s %9s\n", "solve phase", "ms", "least", "GFLOP/s", "faster", "error", "residual");
  }
  for (int i = 0; i < s.input_count && code == CLI_OK; i++) code = compare_matrix(&s, s.inputs[i], stream, context);
  sptrsm_context_destroy(context);
  bench_stream_destroy(stream);
  return code == CLI_OK ? cli_flush() : code;
}
