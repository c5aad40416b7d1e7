/* main.c -- compare_factors: the solve phase of CHOLMOD, UMFPACK, KLU and others beside that of this library.
 *
 * Each matrix is factorised by every library that fits. Then the library solves with its own factors, and sptrsm_direct and CXSparse with
 * the factor set made from them. Eigen, MUMPS, PARDISO and cuDSS order and factorise the matrix themselves. Times include permutations,
 * scaling, both triangles and the layout, but neither analysis nor factorisation. Repetitions alternate between all solvers, so that a slow
 * moment of the machine affects all of them; medians and least times are shown. Every solver's X is compared with the one that B was
 * computed from. A development tool, which is not installed.
 */
#include "compare/run.h"

#include <string.h>

#include "factor/report.h"

static const char help[] = "compare_factors wathen100.mtx.gz wang4.mtx.gz --nrhs 64 --threads 2\n"
                           "compare_factors wang4.mtx.gz --with umfpack --device cuda --nrhs 128 --threads 16\n"
                           "\n"
                           "usage: compare_factors A ... [options]        solve phases on the same factors\n"
                           "  --with cholmod|umfpack|klu    only this library\n"
                           "  --ordering O                  as in sptrsm-factor\n"
                           "  --ldl                         L D L' of symmetric, indefinite A: by CHOLMOD and others\n"
                           "  --nrhs K,K,..., --threads N   default 64 and 2\n"
                           "  --device cpu|cuda             where sptrsm solves; cuda: B and X in device memory\n"
                           "  --methods a,b                 of sptrsm, default auto\n"
                           "  --reps R                      default 11\n"
                           "  --mkl libmkl_rt.so            MKL's two triangular solves and PARDISO, too\n"
                           "  --cudss libcudss.so.1         with --device cuda: cuDSS and its factors, too\n"
                           "  --device-memory S             with --device cuda: bytes that a solver may take there\n"
                           "  --refine                      refined too, and refined with single factors\n"
                           "  --no-native                   no other solvers on the host\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 a solution is wrong, 2 usage, ...\n";

enum {
  KEY_WITH = 2000,
  KEY_ORDERING,
  KEY_LDL,
  KEY_NRHS,
  KEY_THREADS,
  KEY_DEVICE,
  KEY_METHODS,
  KEY_REPS,
  KEY_MKL,
  KEY_CUDSS,
  KEY_DEVICE_MEMORY,
  KEY_REFINE,
  KEY_NO_NATIVE
};

static const struct argp_option options[] = {
    {"with", KEY_WITH, "W", 0, "", 0},
    {"ordering", KEY_ORDERING, "O", 0, "", 0},
    {"ldl", KEY_LDL, NULL, 0, "", 0},
    {"nrhs", KEY_NRHS, "K", 0, "", 0},
    {"threads", KEY_THREADS, "N", 0, "", 0},
    {"device", KEY_DEVICE, "D", 0, "", 0},
    {"methods", KEY_METHODS, "M", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0},
    {"mkl", KEY_MKL, "FILE", 0, "", 0},
    {"cudss", KEY_CUDSS, "FILE", 0, "", 0},
    {"device-memory", KEY_DEVICE_MEMORY, "SIZE", 0, "", 0},
    {"refine", KEY_REFINE, NULL, 0, "", 0},
    {"no-native", KEY_NO_NATIVE, NULL, 0, "", 0},
    {0},
};

/* ---- the command line ---- */

/* A word with '=' and without ':' is another parameter of the method before it: its comma is put back. */
static void parse_methods(compare_settings *s, char *text) {
  char *last = NULL;
  for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
    if (last && strchr(name, '=') && !strchr(name, ':')) {
      last[strlen(last)] = ',';
      continue;
    }
    if (s->method_count == METHODS_MAX) cli_usage("--methods: more than %d", METHODS_MAX);
    s->methods[s->method_count++] = last = name;
  }
}

static void parse_widths(compare_settings *s, char *text) {
  s->width_count = 0;
  for (char *width = strtok(text, ","); width; width = strtok(NULL, ",")) {
    if (s->width_count == WIDTHS_MAX) cli_usage("--nrhs: more than %d", WIDTHS_MAX);
    s->widths[s->width_count++] = cli_integer("--nrhs", width, 1, INT32_MAX);
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  static const char *const libraries[] = {"cholmod", "umfpack", "klu"}, *const devices[] = {"cpu", "cuda"};
  compare_settings *s = state->input;
  switch (key) {
  case KEY_WITH: s->with = libraries[cli_choice("--with", text, libraries, 3)]; return 0;
  case KEY_ORDERING: s->request.order = (factor_order)cli_choice("--ordering", text, factor_order_names, ORDER_COUNT); return 0;
  case KEY_LDL: s->request.ldl = true; return 0;
  case KEY_NRHS: parse_widths(s, text); return 0;
  case KEY_THREADS: s->threads = (int)cli_integer("--threads", text, 1, 1024); return 0;
  case KEY_DEVICE: s->place = cli_choice("--device", text, devices, 2) ? SPTRSM_CUDA : SPTRSM_HOST; return 0;
  case KEY_METHODS: parse_methods(s, text); return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, 100000); return 0;
  case KEY_MKL: s->mkl = text; return 0;
  case KEY_CUDSS: s->cudss = text; return 0;
  case KEY_DEVICE_MEMORY: s->device_memory = cli_size("--device-memory", text); return 0;
  case KEY_REFINE: s->refine = true; return 0;
  case KEY_NO_NATIVE: s->no_native = true; return 0;
  case ARGP_KEY_ARG:
    if (s->input_count == INPUTS_MAX) cli_usage("more than %d matrices", INPUTS_MAX);
    s->inputs[s->input_count++] = text;
    return 0;
  case ARGP_KEY_END:
    if (s->input_count == 0) cli_usage("give a matrix");
    if (s->width_count == 0) cli_usage("--nrhs: give a number of right-hand sides");
    if (s->request.ldl && s->with && strcmp(s->with, "cholmod") != 0) cli_usage("--ldl is for --with cholmod");
    if (s->cudss && s->place != SPTRSM_CUDA) cli_usage("--cudss works on a GPU; add --device cuda");
    if (s->device_memory && s->place != SPTRSM_CUDA) cli_usage("--device-memory is a limit on a GPU; add --device cuda");
    if (s->method_count == 0) s->methods[s->method_count++] = "auto";
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static int compare(problem_set *p, compare_summary *summaries) {
  int code = p->library->factorise(&p->set, p->A, &p->s->request);
  if (code == CLI_SINGULAR) cli_note("%s: no factors by %s: %s", p->A->where, p->library->name, p->set.singular);
  if (code == CLI_OK) {
    factor_set_finish(&p->set);
    printf("%s: n %d, %s by %s, ordering %s, %lld entries in L", p->A->where, p->A->n, p->set.kind, p->library->version(), p->set.ordering,
           (long long)p->set.L.ptr[p->A->n]);
    if (p->set.U.ptr) printf(", %lld in U", (long long)p->set.U.ptr[p->A->n]);
    putchar('\n');
    for (int w = 0; w < p->s->width_count && code == CLI_OK; w++) code = run_width(p, p->s->widths[w], &summaries[w]);
  }
  factor_set_free(&p->set);
  return code == CLI_SINGULAR ? CLI_OK : code;
}

static bool fits(const compare_settings *s, const factor_library *l, const factor_matrix *A) {
  if (s->with && strcmp(s->with, l->name) != 0) return false;
  if (!(l->orders >> s->request.order & 1)) return false;
  const bool cholesky = A->hermitian && (A->positive_diagonal || s->request.ldl);
  return l == &factor_cholmod ? cholesky : !s->request.ldl;
}

static int compare_matrix(const compare_settings *s, const char *where, void *stream, sptrsm_context *context, compare_summary *summaries) {
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
    code = compare(&p, summaries);
  }
  if (code == CLI_OK && p.library == NULL) cli_warning("%s: left out, no library asked for has this ordering and takes this matrix", where);
  factor_matrix_free(&A);
  sptrsm_file_matrix_free(file);
  return code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"compare_factors", help, options, parse};
  compare_settings s = {.threads = 2, .reps = 11, .widths = {64}, .width_count = 1, .request = {.pivot = -1, .scale = true}};
  compare_summary summaries[WIDTHS_MAX] = {0};
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
  for (int i = 0; i < s.input_count && code == CLI_OK; i++) code = compare_matrix(&s, s.inputs[i], stream, context, summaries);
  bool wrong = false;
  for (int w = 0; w < s.width_count && code == CLI_OK; w++) {
    print_summary(&summaries[w], s.widths[w]);
    wrong = wrong || summaries[w].wrong;
  }
  if (code == CLI_OK && wrong) code = CLI_ABOVE;
  sptrsm_context_destroy(context);
  bench_stream_destroy(stream);
  return code == CLI_OK ? cli_flush() : code;
}
