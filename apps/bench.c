/* bench.c -- sptrsm-bench: solve and analysis times of methods on real triangles, beside cuSPARSE in the same run. */
#include "bench.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_io.h>

#include "bench_check.h"
#include "cli.h"

enum { MAX_LIST = 32 };

/* Of a componentwise residual: substitution keeps 1, cuSPARSE with its reciprocals 1.5. */
static const double G1_BOUND = 1.5;

typedef struct {
  char **files;
  int file_count;
  int64_t nrhs[MAX_LIST];
  int nrhs_count;
  char *methods[MAX_LIST];
  int method_count;
  sptrsm_dtype dtype;
  int reps, threads;
  const char *json;
  bool host, force;
} arguments;

typedef struct {
  const arguments *args;
  sptrsm_context *context;
  sptrsm_place place;
  void *stream;
  FILE *table; /* stdout, or stderr where the JSON goes to stdout */
  json_t *results;
  int worst; /* exit code of the latest failure */
  double log_ratio[MAX_LIST];
  int ratios[MAX_LIST];
} run_state;

static const char help[] = "sptrsm-bench data/sherman5_splu.h5 --nrhs 1,32,128\n"
                           "sptrsm-bench triangles/*.h5 --methods cusparse,syncfree-csc/rhs --json out.json\n"
                           "\n"
                           "usage: sptrsm-bench FILE[:/path]... [options]\n"
                           "Every triangle in each FILE, by every method.\n"
                           "  --nrhs LIST      right-hand sides, default 1,32,128\n"
                           "  --methods LIST   as sptrsm-info --methods lists them, with :variant, and /rhs\n"
                           "                   or /column for the selection rule; the first is the baseline\n"
                           "                   of the ratios. Default: cusparse and every GPU method, or\n"
                           "                   every host method. On a GPU `cusparse` is called directly,\n"
                           "                   the better of both block layouts\n"
                           "  --dtype f64|f32  values are converted\n"
                           "  --reps N         timed repetitions, default 11: median and minimum are shown\n"
                           "  --threads N      of host methods\n"
                           "  --host           measure on the host even where there is a GPU\n"
                           "  --json FILE|-    the figures as JSON; --force replaces any file\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0 ok, 1 a wrong solution, 2 usage, 3 bad input, 4 singular, 5 I/O,\n"
                           "      6 memory, 7 device\n";

/* ---- options ---- */

static void split(const char *option, char *text, char **out, int *count) {
  for (char *part = strtok(text, ";"); part; part = strtok(NULL, ";")) {
    if (*count == MAX_LIST) cli_usage("%s: more than %d entries", option, MAX_LIST);
    out[(*count)++] = part;
  }
}

/* A list is separated by commas; commas inside a :variant stay (they follow key=value). */
static void mark_separators(char *text) {
  for (char *c = text; *c; c++) {
    if (*c != ',') continue;
    size_t word = strcspn(c + 1, "=,:/");
    if (c[1 + word] != '=') *c = ';';
  }
}

static void parse_nrhs(arguments *a, char *text) {
  char *parts[MAX_LIST];
  int count = 0;
  mark_separators(text);
  split("--nrhs", text, parts, &count);
  a->nrhs_count = 0;
  for (int i = 0; i < count; i++) a->nrhs[a->nrhs_count++] = cli_integer("--nrhs", parts[i], 1, 1 << 20);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  arguments *a = state->input;
  switch (key) {
  case 'n': parse_nrhs(a, arg); return 0;
  case 'm':
    mark_separators(arg);
    split("--methods", arg, a->methods, &a->method_count);
    return 0;
  case 'd': a->dtype = (sptrsm_dtype)cli_choice("--dtype", arg, cli_dtypes, 2); return 0;
  case 'r': a->reps = (int)cli_integer("--reps", arg, 1, 1000); return 0;
  case 't': a->threads = (int)cli_integer("--threads", arg, 0, 4096); return 0;
  case 'H': a->host = true; return 0;
  case 'f': a->force = true; return 0;
  case 'j': a->json = arg; return 0;
  case ARGP_KEY_ARGS:
    a->files = state->argv + state->next;
    a->file_count = state->argc - state->next;
    return 0;
  case ARGP_KEY_NO_ARGS: cli_usage("give a FILE with triangles");
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option option_table[] = {
    {"nrhs", 'n', "LIST", 0, NULL, 0}, {"methods", 'm', "LIST", 0, NULL, 0}, {"dtype", 'd', "TYPE", 0, NULL, 0},
    {"reps", 'r', "N", 0, NULL, 0},    {"threads", 't', "N", 0, NULL, 0},    {"host", 'H', NULL, 0, NULL, 0},
    {"json", 'j', "FILE", 0, NULL, 0}, {"force", 'f', NULL, 0, NULL, 0},     {0}};

static const cli_program program = {.name = "sptrsm-bench", .help = help, .options = option_table, .parse = parse};

static void default_methods(arguments *a, sptrsm_place place) {
  if (a->method_count) return;
  for (int m = 0; m < sptrsm_method_count() && a->method_count < MAX_LIST; m++) {
    sptrsm_method_info info = {.size = sizeof info};
    if (sptrsm_method_at(&info, m) != SPTRSM_OK || info.place != place) continue;
    a->methods[a->method_count++] = (char *)info.name;
  }
  for (int m = 1; m < a->method_count; m++) /* the baseline first */
    if (strcmp(a->methods[m], "cusparse") == 0) {
      char *name = a->methods[0];
      a->methods[0] = a->methods[m];
      a->methods[m] = name;
    }
}

/* ---- one case ---- */

/* "name[:variant][/rhs|/column]" */
static void set_method(sptrsm_options *options, char *name, size_t size, const char *spec) {
  snprintf(name, size, "%s", spec);
  char *slash = strchr(name, '/');
  sptrsm_options_init(options);
  if (slash) {
    options->select = strcmp(slash, "/rhs") == 0 ? SPTRSM_SELECT_RHS : SPTRSM_SELECT_COLUMN;
    *slash = 0;
  }
  options->method = name;
}

static void report(run_state *s, const char *where, const bench_case *c, int m, const bench_times *t, double g1, double baseline,
                   const char *detail) {
  const char *spec = s->args->methods[m];
  double ratio = baseline > 0 ? baseline / t->solve_ms : 0;
  double gflops = t->solve_ms > 0 ? 2e-6 * (double)c->T->ptr[c->T->n] * (double)c->nrhs / t->solve_ms : 0;
  fprintf(s->table, "%-28s %8d %9lld %5lld  %-26s %9.4f %9.4f %8.1f %7.2f %9.3f %9.3f %8.3f %8.2g\n", where, c->T->n,
          (long long)c->T->ptr[c->T->n], (long long)c->nrhs, spec, t->solve_ms, t->solve_ms_min, gflops, ratio, t->analysis_first_ms,
          t->analysis_ms, t->view_ms, g1);
  fflush(s->table);
  if (ratio > 0) {
    s->log_ratio[m] += log(ratio);
    s->ratios[m]++;
  }
  json_array_append_new(s->results,
                        json_pack("{s:s s:i s:I s:I s:s s:s s:s s:f s:f s:f s:f s:f s:I s:f s:f s:s}", "file", where, "n", c->T->n, "nnz",
                                  (json_int_t)c->T->ptr[c->T->n], "nrhs", (json_int_t)c->nrhs, "method", spec, "params", detail, "dtype",
                                  c->T->dtype == SPTRSM_F32 ? "f32" : "f64", "solve_ms", t->solve_ms, "solve_ms_min", t->solve_ms_min,
                                  "analysis_first_ms", t->analysis_first_ms, "analysis_ms", t->analysis_ms, "view_ms", t->view_ms,
                                  "workspace_bytes", (json_int_t)t->workspace_bytes, "g1", isfinite(g1) ? g1 : -1.0, "ratio_baseline",
                                  ratio, "status", g1 <= G1_BOUND ? "ok" : "wrong"));
}

static void bench_case_all(run_state *s, const char *where, bench_case *c) {
  double baseline = 0;
  for (int m = 0; m < s->args->method_count; m++) {
    char name[128];
    sptrsm_options options;
    bench_times t = {0};
    const char *detail = "";
    set_method(&options, name, sizeof name, s->args->methods[m]);
    bool direct = s->place == SPTRSM_CUDA && strcmp(s->args->methods[m], "cusparse") == 0;
    sptrsm_status status = direct ? bench_cusparse(&t, &detail, c) : bench_method(&t, c, s->place, s->stream, s->context, &options);
    if (status != SPTRSM_OK) {
      fprintf(s->table, "%-28s %8d %9s %5lld  %-26s failed: %s\n", where, c->T->n, "", (long long)c->nrhs, s->args->methods[m],
              sptrsm_last_error());
      s->worst = cli_exit_code(status);
      continue;
    }
    if (m == 0) baseline = t.solve_ms;
    double g1 = bench_g1(c->T, c->B, c->X, c->nrhs);
    if (!(g1 <= G1_BOUND)) s->worst = CLI_ABOVE;
    report(s, where, c, m, &t, g1, baseline, direct ? detail : t.info.parameters);
  }
}

/* ---- files ---- */

static void fail(run_state *s, sptrsm_status status) { s->worst = cli_fail(status); }

static void bench_matrix(run_state *s, const char *where) {
  sptrsm_io_options io;
  sptrsm_io_options_init(&io);
  io.dtype = (int)s->args->dtype;
  sptrsm_file_matrix *M;
  sptrsm_sparse T;
  cli_guard_begin(where);
  sptrsm_status status = sptrsm_file_matrix_load(&M, where, &io);
  cli_guard_end();
  if (status != SPTRSM_OK) {
    fail(s, status);
    return;
  }
  const char *shown = strrchr(where, '/') && strchr(where, ':') ? where : where;
  const char *colon = strrchr(where, ':');
  for (const char *c = where; colon && c < colon; c++)
    if (*c == '/') shown = c + 1;
  status = sptrsm_file_matrix_triangle(&T, M, &io);
  if (status != SPTRSM_OK) {
    fail(s, status);
    sptrsm_file_matrix_free(M);
    return;
  }
  for (int r = 0; r < s->args->nrhs_count; r++) {
    bench_case c = {.T = &T, .op = SPTRSM_N, .nrhs = s->args->nrhs[r], .reps = s->args->reps};
    size_t bytes = (size_t)T.n * (size_t)c.nrhs * sptrsm_dtype_bytes(T.dtype);
    void *B = malloc(bytes ? bytes : 1);
    c.X = malloc(bytes ? bytes : 1);
    c.B = B;
    if (B && c.X) {
      bench_fill(B, T.n, c.nrhs, T.dtype);
      bench_case_all(s, shown, &c);
    } else {
      s->worst = cli_no_memory("right-hand sides");
    }
    free(B);
    free(c.X);
  }
  sptrsm_file_matrix_free(M);
}

static void bench_file(run_state *s, const char *name) {
  sptrsm_file_listing listing;
  cli_guard_begin(name);
  sptrsm_status status = sptrsm_file_list(&listing, name, NULL);
  cli_guard_end();
  if (status != SPTRSM_OK) {
    fail(s, status);
    return;
  }
  char *file = cli_file_of(name);
  int triangles = 0;
  for (int e = 0; file && e < listing.count; e++) {
    const sptrsm_file_entry *entry = &listing.entries[e];
    if (strcmp(entry->kind, "matrix") || !strcmp(entry->path, "/A")) continue;
    char where[4096];
    triangles++;
    snprintf(where, sizeof where, "%s:%s", file, entry->path);
    bench_matrix(s, strcmp(entry->path, "/") && strcmp(entry->path, ":") ? where : file);
  }
  if (triangles == 0) {
    cli_error("%s: holds no triangle; give a file with one, or its path as FILE:/path", name);
    s->worst = CLI_INPUT;
  }
  free(file);
  sptrsm_file_listing_free(&listing);
}

static void print_means(const run_state *s) {
  for (int m = 1; m < s->args->method_count; m++)
    if (s->ratios[m])
      fprintf(s->table, "geometric mean over %s: %-28s %6.2f x  (%d cases)\n", s->args->methods[0], s->args->methods[m],
              exp(s->log_ratio[m] / s->ratios[m]), s->ratios[m]);
}

static sptrsm_status open_place(run_state *s) {
  sptrsm_status status = bench_stream_create(&s->stream, s->place);
  if (status == SPTRSM_OK) status = sptrsm_context_create(&s->context, s->place, 0, s->stream);
  return status == SPTRSM_OK ? sptrsm_context_set_threads(s->context, s->args->threads) : status;
}

int main(int argc, char **argv) {
  arguments args = {.nrhs = {1, 32, 128}, .nrhs_count = 3, .dtype = SPTRSM_F64, .reps = 11};
  cli_start(&program, argc, argv, &args);
  const char *const *read = (const char *const *)args.files;
  int checked = args.json ? cli_check_json(args.json, args.force, read, args.file_count) : CLI_OK;
  if (checked != CLI_OK) return checked;
  run_state s = {.args = &args, .results = json_array()};
  s.place = !args.host && sptrsm_device_count() > 0 ? SPTRSM_CUDA : SPTRSM_HOST;
  s.table = args.json && strcmp(args.json, "-") == 0 ? stderr : stdout;
  default_methods(&args, s.place);
  sptrsm_status status = open_place(&s);
  if (status != SPTRSM_OK) return cli_fail(status);
  fprintf(s.table, "machine: %s; median and minimum of %d repetitions, times in ms\n", sptrsm_context_describe(s.context), args.reps);
  fprintf(s.table, "%-28s %8s %9s %5s  %-26s %9s %9s %8s %7s %9s %9s %8s %8s\n", "triangle", "n", "nnz", "nrhs", "method", "solve", "min",
          "GFLOP/s", "ratio", "analysis", "repeated", "view", "G1");
  for (int f = 0; f < args.file_count; f++) bench_file(&s, args.files[f]);
  print_means(&s);
  json_t *root = json_pack("{s:s s:o}", "machine", sptrsm_context_describe(s.context), "results", s.results);
  int code = args.json ? cli_write_json(root, args.json) : CLI_OK;
  if (!args.json) json_decref(root);
  sptrsm_context_destroy(s.context);
  bench_stream_destroy(s.stream);
  return s.worst ? s.worst : code;
}
