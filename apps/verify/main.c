/* main.c -- sptrsm-verify: computes the residuals of an existing solution and compares them with the error bounds of substitution. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/verify.h"

static const char help[] = "sptrsm-verify factors.h5 rhs.h5 rhs.solution.h5   is X the solution?\n"
                           "sptrsm-verify f.h5:/L b.h5 x.h5:/X --trans T --max 10 --json\n"
                           "\n"
                           "usage: sptrsm-verify FACTORS RHS SOLUTION [options]   FILE or FILE:/path each\n"
                           "  --sys S, --trans N|T|C, --alpha X      the system, as given to sptrsm-solve\n"
                           "  --uplo lower|upper, --unit, --take-triangle, --tidy, --dtype T, --cols a:b,\n"
                           "  --rhs-order C|F, --memory-limit S, --allow-external    as in sptrsm-solve\n"
                           "  --items a:b, --mask FILE   of a batch; --items 3: one item\n"
                           "  --max G              limit instead of the default one\n"
                           "  --json               report on stdout\n"
                           "  -q, -v, --help, --version\n"
                           "\n"
                           "What is judged (u: unit roundoff, k: entries of a row):\n"
                           "  one triangle T   |b - T x| / ((k + 1) u |T||x|) of every entry: at most 1,\n"
                           "                   complex 4; and norm1(b - T x) / (norm1(T) norm1(x) u) < 30\n"
                           "  other systems    norm(b - A x) / ((normF(A) norm(x) + norm(b)) u) <= 30\n"
                           "  X_true           where RHS holds it: X that solves the system, but is far\n"
                           "                   from X_true, is not accepted\n"
                           "exit: 0 within, 1 above or not finite, 2 usage, 3 bad input, 4 singular,\n"
                           "      5 I/O, 6 memory\n";

enum { KEY_MAX = 2000, KEY_JSON };

static const struct argp_option options[] = {MATRIX_OPTIONS,
                                             BLOCK_OPTIONS,
                                             SYSTEM_OPTIONS,
                                             BATCH_OPTIONS,
                                             {"max", KEY_MAX, "LIMIT", 0, "limit instead of the default one", 0},
                                             {"json", KEY_JSON, NULL, 0, "report as JSON on stdout", 0},
                                             {0}};

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  const char **names[] = {&s->problem.factors, &s->problem.rhs, &s->solution};
  if (problem_parse(key, text, &s->problem) || batch_parse(key, text, &s->batch)) return 0;
  switch (key) {
  case KEY_MAX:
    s->max = cli_number("--max", text);
    if (s->max < 0) cli_usage("--max: %s is negative", text);
    return 0;
  case KEY_JSON: s->json = true; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num >= 3) cli_usage("one argument too many: '%s'; give FACTORS, RHS and SOLUTION", text);
    *names[state->arg_num] = text;
    return 0;
  case ARGP_KEY_END:
    if (state->arg_num < 3) cli_usage("give FACTORS, RHS and SOLUTION, the files to read");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

/* ---- the solution and the true one ---- */

/* Does FILE hold an object of this path? A file that is no HDF5 holds none; one that can't be read is an error. Returns an exit code. */
static int find_object(bool *found, const char *file, const char *path, const sptrsm_io_options *io) {
  sptrsm_file_listing list;
  *found = false;
  sptrsm_status listed = sptrsm_file_list(&list, file, io);
  if (listed == SPTRSM_ERR_MEMORY || listed == SPTRSM_ERR_IO) return cli_fail(listed);
  if (listed != SPTRSM_OK) return CLI_OK;
  for (int i = 0; i < list.count; i++) *found = *found || strcmp(list.entries[i].path, path) == 0;
  sptrsm_file_listing_free(&list);
  return CLI_OK;
}

/* *out: "FILE:/path" of an object `name` in the group that holds B, which the caller frees; NULL: FILE has none. Returns an exit code. */
static int find_beside(char **out, const char *where, const problem *p, const char *name) {
  char *file = cli_file_of(where), *path = problem_beside_B(p, name);
  bool found = false;
  *out = NULL;
  int code = file && path ? find_object(&found, file, path, &p->request->io) : cli_no_memory("a name");
  if (found && asprintf(out, "%s:%s", file, path) < 0) {
    *out = NULL;
    code = cli_no_memory("a name");
  }
  free(file);
  free(path);
  return code;
}

static sptrsm_status load_columns(sptrsm_file_block **out, const char *where, const problem *p, int64_t begin, int64_t end) {
  sptrsm_io_options io = p->request->io;
  io.dtype = (int)p->B->block.dtype;
  io.order = SPTRSM_AS_STORED;
  io.col_begin = begin;
  io.col_end = end;
  return sptrsm_file_block_load(out, where, p->B->block.n, &io);
}

/* Loads a block with as many columns as B. Where it has as many as the file of B, the columns of B (--cols) are cut out of it. */
static int load_matching(sptrsm_file_block **out, const char *where, const problem *p) {
  const sptrsm_file_block *B = p->B;
  int64_t begin = p->request->io.col_begin;
  sptrsm_status status = load_columns(out, where, p, 0, -1);
  if (status != SPTRSM_OK) return cli_fail(status);
  int64_t columns = (*out)->block.nrhs;
  if (columns == B->block.nrhs) return CLI_OK;
  if (columns != B->file_nrhs) {
    cli_error("%s: has %lld columns, %s has %lld; is it the solution of these right-hand sides, or is --cols needed?", (*out)->where,
              (long long)columns, B->where, (long long)B->block.nrhs);
    return CLI_INPUT;
  }
  sptrsm_file_block_free(*out);
  *out = NULL;
  return cli_fail(load_columns(out, where, p, begin, begin + B->block.nrhs));
}

/* Loads the solution. A file named without a path is searched for an X in the group that holds B in its file. */
static int load_solution(verdict *v, const settings *s) {
  char *file = cli_file_of(s->solution), *where = NULL, *rows = NULL;
  if (file == NULL) return cli_no_memory("a file name");
  bool plain = strcmp(file, s->solution) == 0;
  int code = plain ? find_beside(&where, s->solution, &v->problem, "X") : CLI_OK;
  if (code == CLI_OK && plain) code = find_beside(&rows, s->solution, &v->problem, "rows");
  if (rows) {
    cli_error("%s: X holds only the rows that are listed there (sptrsm-solve --rows); a residual needs all of them", rows);
    code = CLI_INPUT;
  }
  if (code == CLI_OK) code = load_matching(&v->X, where ? where : s->solution, &v->problem);
  free(rows);
  free(where);
  free(file);
  return code;
}

static int compare_with_truth(verdict *v) {
  char *where;
  int code = find_beside(&where, v->problem.request->rhs, &v->problem, "X_true");
  if (where == NULL) return code;
  sptrsm_file_block *truth = NULL;
  code = load_matching(&truth, where, &v->problem);
  v->has_error = code == CLI_OK;
  if (v->has_error) {
    v->error = max_difference(&v->X->block, &truth->block);
    v->size = max_entry(&truth->block);
  }
  sptrsm_file_block_free(truth);
  free(where);
  return code;
}

/* ---- report ---- */

static void report_text(const verdict *v, const settings *s) {
  const residual *r = &v->residual;
  printf("%s solves %s with %s: %s\n", cli_shown(v->X->where), cli_shown(v->problem.B->where), cli_shown(s->problem.factors),
         v->within ? "yes" : "NO");
  printf("  %s: %s, limit %g", v->figure_name, cli_error_size(v->figure).text, v->limit);
  if (r->is_triangle && r->nrhs > 0)
    printf(" (row %lld, column %lld)", (long long)r->g1_row, (long long)(s->problem.io.col_begin + r->g1_column));
  putchar('\n');
  if (r->is_triangle) printf("  norm1 residual over norm1(T) norm1(x) u: %s, limit %g\n", cli_error_size(r->g2).text, g2_limit);
  printf("  backward error against %s: componentwise %s (column %lld), normwise %s\n", v->problem.S.name, cli_error_size(r->max_berr).text,
         (long long)(s->problem.io.col_begin + r->worst), cli_error_size(r->max_normwise).text);
  if (v->has_error) printf("  largest error against X_true: %s\n", cli_error_size(v->error).text);
}

static json_t *report_json(const verdict *v, const settings *s) {
  const residual *r = &v->residual;
  json_t *berr = json_array(), *normwise = json_array();
  for (int64_t k = 0; k < r->nrhs; k++) {
    json_array_append_new(berr, cli_json_number(r->berr[k]));
    json_array_append_new(normwise, cli_json_number(r->normwise[k]));
  }
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s, s:s, s:b, s:s, s:o, s:f, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o, s:b}", "program",
                   "sptrsm-verify", "version", sptrsm_version(), "factors", cli_json_text(s->problem.factors), "rhs",
                   cli_json_text(v->problem.B->where), "solution", cli_json_text(v->X->where), "system",
                   sptrsm_system_name(s->problem.system), "op", cli_ops[s->problem.op], "against", v->problem.S.name, "within", v->within,
                   "figure_name", v->figure_name, "figure", cli_json_number(v->figure), "limit", v->limit, "g1",
                   r->is_triangle ? cli_json_number(r->g1) : json_null(), "g2", r->is_triangle ? cli_json_number(r->g2) : json_null(),
                   "max_berr", cli_json_number(r->max_berr), "max_normwise", cli_json_number(r->max_normwise), "worst_column",
                   (json_int_t)(s->problem.io.col_begin + r->worst), "berr", berr, "normwise", normwise, "max_error",
                   v->has_error ? cli_json_number(v->error) : json_null(), "far_off", v->far_off);
}

static int verify(verdict *v, const settings *s) {
  int code = problem_load(&v->problem, &s->problem);
  if (code == CLI_OK) code = load_solution(v, s);
  if (code == CLI_OK) code = compare_with_truth(v);
  sptrsm_file_cache_clear(s->problem.io.cache);
  if (code != CLI_OK) return code;
  if (!residual_compute(&v->residual, &v->problem.S, v->problem.alpha, &v->problem.B->block, &v->X->block))
    return cli_no_memory("the residuals");
  judge(v, s);
  if (s->json) code = cli_write_json(report_json(v, s), "-");
  else if (!cli_quiet()) report_text(v, s);
  if (v->far_off)
    cli_warning("the solution solves this system, but is far from X_true (error %.2e, X_true up to %.2e): is this the right matrix?",
                v->error, v->size);
  if (code == CLI_OK) code = cli_flush();
  return code != CLI_OK ? code : v->within && !v->far_off ? CLI_OK : CLI_ABOVE;
}

int main(int argc, char **argv) {
  static const cli_program program = {"sptrsm-verify", help, options, parse};
  settings s = {.max = -1};
  verdict v = {0};
  problem_request_init(&s.problem);
  cli_start(&program, argc, argv, &s);
  sptrsm_batch_kind kind = SPTRSM_BATCH_NONE;
  int code = cli_fail(sptrsm_file_cache_create(&s.problem.io.cache));
  if (code == CLI_OK) code = batch_find(&kind, s.problem.factors, &s.batch, &s.problem.io);
  if (code == CLI_OK) code = kind == SPTRSM_BATCH_NONE ? verify(&v, &s) : verify_batch(&s);
  residual_free(&v.residual);
  sptrsm_file_block_free(v.X);
  problem_free(&v.problem);
  sptrsm_file_cache_destroy(s.problem.io.cache);
  return cli_end(code);
}
