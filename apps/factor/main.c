/* main.c -- sptrsm-factor: factorises a sparse matrix and writes the factor set that sptrsm-solve reads.
 *
 * The factorisation is done by a library, one of CHOLMOD, UMFPACK, KLU and SuperLU, as far as the program was built with them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor/report.h"
#include "common/problem.h"

static const char help[] = "sptrsm-factor A.mtx.gz -o factors.h5           Cholesky if it can be, else LU\n"
                           "sptrsm-factor A.h5:/A --with umfpack -o f.h5 --keep-a --nrhs 8\n"
                           "sptrsm-solve f.h5 f_rhs.h5                     solves with what that has made\n"
                           "\n"
                           "usage: sptrsm-factor A -o FILE [options]   A: FILE or FILE:/path\n"
                           "  --with auto|cholmod|umfpack|klu|superlu      default auto\n"
                           "  --ordering default|natural|amd|colamd|metis|nesdis|mmd|best\n"
                           "  --ldl                CHOLMOD: L D L' for indefinite matrices, no pivoting\n"
                           "  --pivot T            LU: relative pivot threshold from 0 to 1\n"
                           "  --no-scale           UMFPACK, KLU: don't scale the rows\n"
                           "  --keep-zeros         keep what is exactly zero: padding of supernodes\n"
                           "  --keep-a             store A too, for residuals and refinement\n"
                           "  --nrhs K             make K right-hand sides with known X: NAME_rhs.h5\n"
                           "  --no-check           no condition estimate and no test solve\n"
                           "  --memory-limit S, --allow-external   as in sptrsm-solve\n"
                           "  --compress 0..9, --force, --json FILE\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0 written, 1 written but of no use, 2 usage, 3 bad input, 4 singular,\n"
                           "      5 I/O, 6 memory\n";

enum {
  KEY_WITH = 2000,
  KEY_ORDERING,
  KEY_LDL,
  KEY_PIVOT,
  KEY_SCALE,
  KEY_ZEROS,
  KEY_KEEP,
  KEY_NRHS,
  KEY_CHECK,
  KEY_COMPRESS,
  KEY_FORCE,
  KEY_JSON
};

static const struct argp_option options[] = {
    {"output", 'o', "FILE", 0, "file of the factors", 0},
    {"with", KEY_WITH, "auto|cholmod|umfpack|klu|superlu", 0, "library that factorises", 0},
    {"ordering", KEY_ORDERING, "default|natural|amd|colamd|metis|nesdis|mmd|best", 0, "fill-reducing ordering", 0},
    {"ldl", KEY_LDL, NULL, 0, "indefinite factorisation by CHOLMOD, without pivoting", 0},
    {"pivot", KEY_PIVOT, "THRESHOLD", 0, "relative pivot threshold of LU, from 0 to 1", 0},
    {"no-scale", KEY_SCALE, NULL, 0, "do not scale the rows", 0},
    {"keep-zeros", KEY_ZEROS, NULL, 0, "keep entries that are exactly zero", 0},
    {"keep-a", KEY_KEEP, NULL, 0, "store the matrix, too", 0},
    {"nrhs", KEY_NRHS, "COUNT", 0, "right-hand sides to make", 0},
    {"no-check", KEY_CHECK, NULL, 0, "no condition estimate and no test solve", 0},
    {"compress", KEY_COMPRESS, "0|1|2|3|4|5|6|7|8|9", 0, "compression of the output", 0},
    {"force", KEY_FORCE, NULL, 0, "replace existing files", 0},
    {"json", KEY_JSON, "FILE", 0, "write a report", 0},
    {"memory-limit", PROBLEM_MEMORY, "SIZE", 0, "bytes that may be taken, such as 4G", 0},
    {"allow-external", PROBLEM_EXTERNAL, NULL, 0, "follow links to other files", 0},
    {0},
};

/* In the order of preference. */
static const factor_library *const libraries[] = {
#ifdef WITH_CHOLMOD
    &factor_cholmod,
#endif
#ifdef WITH_UMFPACK
    &factor_umfpack,
#endif
#ifdef WITH_KLU
    &factor_klu,
#endif
#ifdef WITH_SUPERLU
    &factor_superlu,
#endif
};
enum { LIBRARY_COUNT = sizeof libraries / sizeof libraries[0] };
static const char *const library_names[] = {"auto", "cholmod", "umfpack", "klu", "superlu"};

typedef struct {
  const char *in, *out, *json;
  char *rhs;        /* name of the file of right-hand sides */
  const char *with; /* NULL: auto */
  factor_request request;
  sptrsm_io_options io;
  bool keep_a, force, no_check;
  bool json_checked; /* --json may be written */
  int compress;
  int64_t nrhs;
} settings;

/* ---- the command line ---- */

static double parse_pivot(const char *text) {
  double value = cli_number("--pivot", text);
  if (value < 0 || value > 1) cli_usage("--pivot: %s is not from 0 to 1", text);
  return value;
}

static void finish_arguments(const settings *s) {
  if (s->in == NULL) cli_usage("give the matrix to factorise");
  if (s->out == NULL) cli_usage("give the output: -o FILE");
  if (s->request.ldl && s->with && strcmp(s->with, "cholmod") != 0) cli_usage("--ldl is for --with cholmod");
  if (s->request.pivot >= 0 && (s->request.ldl || (s->with && strcmp(s->with, "cholmod") == 0)))
    cli_usage("--pivot is for LU; CHOLMOD does not pivot");
  if (s->json && cli_same_output(s->json, s->out)) cli_usage("--json: %s is the output of the factors too", s->json);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case 'o': s->out = text; return 0;
  case KEY_WITH: s->with = cli_choice("--with", text, library_names, 5) > 0 ? text : NULL; return 0;
  case KEY_ORDERING: s->request.order = (factor_order)cli_choice("--ordering", text, factor_order_names, ORDER_COUNT); return 0;
  case KEY_LDL: s->request.ldl = true; return 0;
  case KEY_PIVOT: s->request.pivot = parse_pivot(text); return 0;
  case KEY_SCALE: s->request.scale = false; return 0;
  case KEY_ZEROS: s->request.keep_zeros = true; return 0;
  case KEY_KEEP: s->keep_a = true; return 0;
  case KEY_NRHS: s->nrhs = cli_integer("--nrhs", text, 0, INT32_MAX); return 0;
  case KEY_CHECK: s->no_check = true; return 0;
  case KEY_COMPRESS: s->compress = (int)cli_integer("--compress", text, 0, 9); return 0;
  case KEY_FORCE: s->force = true; return 0;
  case KEY_JSON: s->json = text; return 0;
  case ARGP_KEY_ARG:
    if (s->in) cli_usage("one argument too many: '%s'; give one matrix", text);
    s->in = text;
    return 0;
  case ARGP_KEY_END: finish_arguments(s); return 0;
  default: return problem_parse_io(key, text, &s->io) ? 0 : ARGP_ERR_UNKNOWN;
  }
}

/* ---- which library ---- */

static const factor_library *find_library(const char *name) {
  for (int i = 0; i < LIBRARY_COUNT; i++)
    if (strcmp(libraries[i]->name, name) == 0) return libraries[i];
  return NULL;
}

static bool can_order(const factor_library *l, factor_order order) { return l->orders >> order & 1; }

/* The first library with LU in this build that has the ordering; NULL: none. */
static const factor_library *find_lu(factor_order order) {
  for (int i = 0; i < LIBRARY_COUNT; i++)
    if (strcmp(libraries[i]->name, "cholmod") != 0 && can_order(libraries[i], order)) return libraries[i];
  return NULL;
}

static const char *why_lu(const factor_matrix *A) {
  if (!A->hermitian) return A->is_complex ? "not Hermitian" : "not symmetric";
  return A->positive_diagonal ? "no Cholesky with this ordering" : "the diagonal is not positive";
}

/* Chooses the library: the one asked for or, with auto, the one that fits the matrix. Returns an exit code. */
static int choose(const factor_library **out, const char **why, const settings *s, const factor_matrix *A) {
  const factor_library *cholmod = find_library("cholmod");
  const char *name = s->request.ldl ? "cholmod" : s->with;
  *why = "asked for";
  if (name) {
    *out = find_library(name);
    if (*out == NULL) {
      cli_error("this build has no %s; install its development package and build anew, or choose another --with", name);
      return CLI_USAGE;
    }
  } else if (cholmod && can_order(cholmod, s->request.order) && A->hermitian && A->positive_diagonal) {
    *out = cholmod;
    *why = A->is_complex ? "Hermitian, positive diagonal" : "symmetric, positive diagonal";
  } else {
    *out = find_lu(s->request.order);
    *why = why_lu(A);
  }
  if (*out && can_order(*out, s->request.order)) return CLI_OK;
  const char *order = factor_order_names[s->request.order];
  if (*out) cli_error("%s has no ordering %s; choose another --ordering or --with", (*out)->name, order);
  else cli_error("%s: %s, and no LU of this build has ordering %s; choose another --ordering", A->where, *why, order);
  return CLI_USAGE;
}

/* ---- the work ---- */

/* With auto, a matrix that turns out not to be positive definite goes on to LU. */
static int factorise(factor_set *set, factor_report *report, const settings *s, const factor_matrix *A) {
  const factor_library *library = NULL;
  int code = choose(&library, &report->why, s, A);
  if (code != CLI_OK) return code;
  cli_phase("factorising with %s", library->name);
  code = library->factorise(set, A, &s->request);
  const factor_library *lu = s->with || s->request.ldl ? NULL : find_lu(s->request.order);
  if (code == CLI_SINGULAR && strcmp(library->name, "cholmod") == 0 && lu) {
    factor_set_free(set);
    library = lu;
    report->why = "not positive definite";
    cli_phase("not positive definite; factorising with %s", lu->name);
    code = lu->factorise(set, A, &s->request);
  }
  if (code == CLI_OK) code = factor_find_overflow(set);
  report->library = library->version();
  if (code == CLI_SINGULAR)
    cli_error("%s: column %lld, step %lld of the elimination: %s", A->where, (long long)set->singular_column, (long long)set->singular_step,
              set->singular);
  return code;
}

static const double rounding = 0x1p-53, fair = 30 * 0x1p-53, useless = 0x1p-26; /* backward errors: unit roundoff, warning, error */

/* Warns where the test solve is inaccurate; CLI_ABOVE where its backward error makes the factors useless. */
static int rate_accuracy(const factor_verdict *v) {
  if (!v->done) return CLI_OK;
  if (!isfinite(v->backward) || !isfinite(v->condition)) {
    cli_warning("a test solve overflows: numbers of this size need scaling before the factorisation");
    return CLI_ABOVE;
  }
  if (!(v->scaled_condition * rounding < 1))
    cli_warning(
        "the condition number is at least %.1e, with rows scaled: singular to working precision, a solution may have no correct digit",
        v->scaled_condition);
  if (v->backward <= fair) return CLI_OK;
  cli_warning("a test solve has backward error %s, %.0f units of rounding; try --pivot 1 or another --with, or refine with --keep-a",
              cli_error_size(v->backward).text, v->backward / rounding);
  return v->backward <= useless ? CLI_OK : CLI_ABOVE;
}

static int write_files(const settings *s, const factor_report *r, const sptrsm_file_matrix *file, const factor_matrix *A,
                       const factor_set *set) {
  char *source = NULL;
  sptrsm_save_options save;
  sptrsm_save_options_init(&save);
  save.force = s->force;
  save.compress = s->compress;
  if (asprintf(&source, "sptrsm-factor %s, %s, ordering %s", s->in, r->library, set->ordering) < 0) return cli_no_memory("a text");
  save.source = source;
  cli_phase("writing %s", s->out);
  cli_second rhs;
  int code = s->nrhs > 0 ? cli_second_begin(&rhs, s->out, s->rhs, s->force) : CLI_OK;
  const bool two = code == CLI_OK && s->nrhs > 0;
  if (two) code = factor_write_rhs(rhs.held, A, s->nrhs, save);
  if (code == CLI_OK) {
    cli_guard_write(s->out);
    sptrsm_status status = sptrsm_file_factors_save(s->out, &set->set, s->keep_a ? file : NULL, &save);
    cli_guard_end();
    code = cli_fail(status);
  }
  if (two) code = cli_second_end(&rhs, code);
  free(source);
  return code;
}

static int load(sptrsm_file_matrix **file, factor_matrix *A, const settings *s) {
  cli_phase("reading %s", s->in);
  int code = cli_fail(sptrsm_file_matrix_load(file, s->in, &s->io));
  return code == CLI_OK ? factor_matrix_make(A, *file) : code;
}

static int check_outputs(settings *s) {
  const char *const inputs[] = {s->in};
  int code = cli_check_output(s->out, s->force, inputs, 1);
  if (code == CLI_OK && s->nrhs > 0) {
    s->rhs = cli_sibling(s->out, "_rhs.h5");
    code = s->rhs ? CLI_OK : cli_no_memory("a file name");
  }
  if (code == CLI_OK && s->json) {
    if (s->rhs && cli_same_output(s->json, s->rhs)) cli_usage("--json: %s is the output of the right-hand sides too", s->json);
    code = cli_check_json("--json", s->json, s->force, inputs, 1);
    s->json_checked = code == CLI_OK;
  }
  return code == CLI_OK && s->rhs ? cli_check_output(s->rhs, s->force, inputs, 1) : code;
}

/* The report of a run that failed: why, and the exit code. */
static void report_failure(const settings *s, int code) {
  if (!s->json_checked) return;
  (void)cli_json_lacked_memory(); /* this report is a new one */
  cli_write_json(json_pack("{s:s, s:s, s:o, s:o, s:i}", "program", "sptrsm-factor", "version", sptrsm_version(), "input",
                           cli_json_text(s->in), "error", cli_json_error(code), "exit_code", code),
                 s->json);
}

static int report(const settings *s, const factor_report *r, const factor_matrix *A, const factor_set *set) {
  bool json_is_stdout = s->json && strcmp(s->json, "-") == 0;
  if (!cli_quiet()) factor_print(json_is_stdout ? stderr : stdout, r, A, set);
  int code = cli_flush();
  if (code == CLI_OK && s->json) code = cli_write_json(factor_json(r, A, set), s->json);
  return code;
}

/* From the matrix in memory to the factor set on disk. */
static int work(factor_set *set, factor_report *r, const settings *s, const sptrsm_file_matrix *file, const factor_matrix *A) {
  int code = factorise(set, r, s, A);
  if (code != CLI_OK) return code;
  factor_set_finish(set);
  code = factor_count(&r->counts, A, set);
  if (code == CLI_OK && !s->no_check) {
    cli_phase("checking");
    code = factor_check(&r->check, A, set);
    if (code == CLI_MEMORY) cli_note("the check takes as much memory as the factors again; leave it out with --no-check");
  }
  return code == CLI_OK ? write_files(s, r, file, A, set) : code;
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-factor", help, options, parse};
  settings s = {.request = {.pivot = -1, .scale = true}};
  sptrsm_file_matrix *file = NULL;
  factor_matrix A = {0};
  factor_set set = {0};
  sptrsm_io_options_init(&s.io);
  s.io.tidy = 1;
  cli_start(&program, argc, argv, &s);
  factor_report r = {.path = s.out};
  double start = cli_now();
  int code = check_outputs(&s);
  if (code == CLI_OK) code = load(&file, &A, &s);
  if (code == CLI_OK) code = work(&set, &r, &s, file, &A);
  r.total_seconds = cli_now() - start;
  if (code != CLI_OK) report_failure(&s, code);
  if (code == CLI_OK) r.exit_code = rate_accuracy(&r.check);
  if (code == CLI_OK) code = report(&s, &r, &A, &set);
  if (code == CLI_OK) code = r.exit_code;
  factor_set_free(&set);
  factor_matrix_free(&A);
  sptrsm_file_matrix_free(file);
  free(s.rhs);
  return cli_end(code);
}
