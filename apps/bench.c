/* bench.c -- sptrsm-bench: solve and analysis times of methods on real triangles, beside cuSPARSE in the same run. */
#include "bench.h"

#include <argp.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sptrsm_io.h>

#include "bench_check.h"

enum { MAX_LIST = 32 };

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
  bool host;
} arguments;

typedef struct {
  const arguments *args;
  sptrsm_context *context;
  sptrsm_place place;
  void *stream;
  json_t *results;
  double log_ratio[MAX_LIST];
  int ratios[MAX_LIST];
} run_state;

static const char usage_text[] =
    "Usage: sptrsm-bench FILE[:/path]... [options]\n"
    "  sptrsm-bench data/sherman5_splu.h5 --nrhs 1,32,128\n"
    "  sptrsm-bench triangles/*.h5 --methods cusparse,syncfree-csc,syncfree-csc/rhs,syncfree-csc/column --json out.json\n\n"
    "Every triangle in each FILE is solved by every method; the first method is the baseline of the ratios.\n"
    "  --nrhs LIST      right-hand sides (default 1,32,128)\n"
    "  --methods LIST   names of `sptrsm-info --methods`, with :variant and /rhs or /column for the selection rule\n"
    "                   (default: cusparse and every GPU method, or every host method); `cusparse` is measured by direct\n"
    "                   calls, the better of both block layouts\n"
    "  --dtype f64|f32  values are converted (default f64)\n"
    "  --reps N         timed repetitions, median and minimum reported (default 11)\n"
    "  --threads N      host threads\n"
    "  --host           measure on the host even where there is a GPU\n"
    "  --json FILE      also write the figures as JSON (- for standard output)\n";

/* ---- options ---- */

static void split(char *text, char **out, int *count, struct argp_state *state) {
  for (char *part = strtok(text, ";"); part; part = strtok(NULL, ";")) {
    if (*count == MAX_LIST) argp_error(state, "more than %d entries in a list", MAX_LIST);
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

static long positive(const char *text, struct argp_state *state) {
  char *end;
  long value = strtol(text, &end, 10);
  if (*end || end == text || value < 1) argp_error(state, "\"%s\" is not a positive number", text);
  return value;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  arguments *a = state->input;
  char *parts[MAX_LIST];
  switch (key) {
  case 'n':
    a->nrhs_count = 0;
    mark_separators(arg);
    int count = 0;
    split(arg, parts, &count, state);
    for (int i = 0; i < count; i++) a->nrhs[a->nrhs_count++] = positive(parts[i], state);
    return 0;
  case 'm':
    mark_separators(arg);
    split(arg, a->methods, &a->method_count, state);
    return 0;
  case 'd':
    if (strcmp(arg, "f64") && strcmp(arg, "f32")) argp_error(state, "--dtype takes f64 or f32, not \"%s\"", arg);
    a->dtype = strcmp(arg, "f32") ? SPTRSM_F64 : SPTRSM_F32;
    return 0;
  case 'r': a->reps = (int)positive(arg, state); return 0;
  case 't': a->threads = (int)positive(arg, state); return 0;
  case 'H': a->host = true; return 0;
  case 'j': a->json = arg; return 0;
  case 'h':
    fputs(usage_text, stdout);
    exit(0);
  case ARGP_KEY_ARGS:
    a->files = state->argv + state->next;
    a->file_count = state->argc - state->next;
    return 0;
  case ARGP_KEY_NO_ARGS: argp_error(state, "no file given"); return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option option_table[] = {
    {"nrhs", 'n', "LIST", 0, "", 0},   {"methods", 'm', "LIST", 0, "", 0}, {"dtype", 'd', "TYPE", 0, "", 0}, {"reps", 'r', "N", 0, "", 0},
    {"threads", 't', "N", 0, "", 0},   {"host", 'H', 0, 0, "", 0},         {"json", 'j', "FILE", 0, "", 0},  {"help", 'h', 0, 0, "", 0},
    {0}};

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

static void report(run_state *s, const char *where, const bench_case *c, int m, const bench_times *t, double g1, double baseline, const char *detail) {
  const char *spec = s->args->methods[m];
  double ratio = baseline > 0 ? baseline / t->solve_ms : 0;
  double gflops = t->solve_ms > 0 ? 2e-6 * (double)c->T->ptr[c->T->n] * (double)c->nrhs / t->solve_ms : 0;
  printf("%-28s %8d %9lld %5lld  %-26s %9.4f %9.4f %8.1f %7.2f %9.3f %9.3f %8.3f %8.2g\n", where, c->T->n, (long long)c->T->ptr[c->T->n],
         (long long)c->nrhs, spec, t->solve_ms, t->solve_ms_min, gflops, ratio, t->analysis_first_ms, t->analysis_ms, t->view_ms, g1);
  fflush(stdout);
  if (ratio > 0) {
    s->log_ratio[m] += log(ratio);
    s->ratios[m]++;
  }
  json_array_append_new(s->results, json_pack("{s:s s:i s:I s:I s:s s:s s:s s:f s:f s:f s:f s:f s:I s:f s:f s:s}", "file", where, "n", c->T->n, "nnz",
                                              (json_int_t)c->T->ptr[c->T->n], "nrhs", (json_int_t)c->nrhs, "method", spec, "params", detail, "dtype",
                                              c->T->dtype == SPTRSM_F32 ? "f32" : "f64", "solve_ms", t->solve_ms, "solve_ms_min", t->solve_ms_min,
                                              "analysis_first_ms", t->analysis_first_ms, "analysis_ms", t->analysis_ms, "view_ms", t->view_ms,
                                              "workspace_bytes", (json_int_t)t->workspace_bytes, "g1", isfinite(g1) ? g1 : -1.0, "ratio_baseline", ratio, "status",
                                              g1 <= 1.0 ? "ok" : "wrong"));
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
      printf("%-28s %8d %9s %5lld  %-26s failed: %s\n", where, c->T->n, "", (long long)c->nrhs, s->args->methods[m], sptrsm_last_error());
      continue;
    }
    if (m == 0) baseline = t.solve_ms;
    report(s, where, c, m, &t, bench_g1(c->T, c->B, c->X, c->nrhs), baseline, direct ? detail : t.info.parameters);
  }
}

/* ---- files ---- */

static void bench_matrix(run_state *s, const char *where) {
  sptrsm_io_options io;
  sptrsm_io_options_init(&io);
  io.dtype = (int)s->args->dtype;
  sptrsm_file_matrix *M;
  sptrsm_sparse T;
  if (sptrsm_file_matrix_load(&M, where, &io) != SPTRSM_OK) {
    fprintf(stderr, "sptrsm-bench: %s\n", sptrsm_last_error());
    return;
  }
  const char *shown = strrchr(where, '/') && strchr(where, ':') ? where : where;
  const char *colon = strrchr(where, ':');
  for (const char *c = where; colon && c < colon; c++)
    if (*c == '/') shown = c + 1;
  if (sptrsm_file_matrix_triangle(&T, M, &io) != SPTRSM_OK) {
    fprintf(stderr, "sptrsm-bench: skipped: %s\n", sptrsm_last_error());
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
      fprintf(stderr, "sptrsm-bench: %s: no memory for %lld right-hand sides\n", where, (long long)c.nrhs);
    }
    free(B);
    free(c.X);
  }
  sptrsm_file_matrix_free(M);
}

static int bench_file(run_state *s, const char *file) {
  sptrsm_file_listing listing;
  if (sptrsm_file_list(&listing, file, NULL) != SPTRSM_OK) {
    fprintf(stderr, "sptrsm-bench: %s\n", sptrsm_last_error());
    return 3;
  }
  for (int e = 0; e < listing.count; e++) {
    const sptrsm_file_entry *entry = &listing.entries[e];
    if (strcmp(entry->kind, "matrix") || !strcmp(entry->path, "/A")) continue;
    char where[4096];
    snprintf(where, sizeof where, "%s:%s", file, entry->path);
    bench_matrix(s, strcmp(entry->path, "/") ? where : file);
  }
  sptrsm_file_listing_free(&listing);
  return 0;
}

static void print_means(const run_state *s) {
  for (int m = 1; m < s->args->method_count; m++)
    if (s->ratios[m])
      printf("geometric mean over %s: %-28s %6.2f x  (%d cases)\n", s->args->methods[0], s->args->methods[m], exp(s->log_ratio[m] / s->ratios[m]), s->ratios[m]);
}

int main(int argc, char **argv) {
  arguments args = {.nrhs = {1, 32, 128}, .nrhs_count = 3, .dtype = SPTRSM_F64, .reps = 11};
  struct argp argp = {option_table, parse, "FILE...", NULL, NULL, NULL, NULL};
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, ARGP_NO_HELP, NULL, &args);
  run_state s = {.args = &args, .place = !args.host && sptrsm_device_count() > 0 ? SPTRSM_CUDA : SPTRSM_HOST, .results = json_array()};
  default_methods(&args, s.place);
  sptrsm_status status = bench_stream_create(&s.stream, s.place);
  if (status == SPTRSM_OK) status = sptrsm_context_create(&s.context, s.place, 0, s.stream);
  if (status == SPTRSM_OK) status = sptrsm_context_set_threads(s.context, args.threads);
  if (status != SPTRSM_OK) {
    fprintf(stderr, "sptrsm-bench: %s\n", sptrsm_last_error());
    return 7;
  }
  printf("machine: %s; median and minimum of %d repetitions, times in ms\n", sptrsm_context_describe(s.context), args.reps);
  printf("%-28s %8s %9s %5s  %-26s %9s %9s %8s %7s %9s %9s %8s %8s\n", "triangle", "n", "nnz", "nrhs", "method", "solve", "min", "GFLOP/s", "ratio",
         "analysis", "repeated", "view", "G1");
  int worst = 0;
  for (int f = 0; f < args.file_count; f++) worst = bench_file(&s, args.files[f]) ? 3 : worst;
  print_means(&s);
  json_t *root = json_pack("{s:s s:o}", "machine", sptrsm_context_describe(s.context), "results", s.results);
  if (args.json && (strcmp(args.json, "-") ? json_dump_file(root, args.json, JSON_INDENT(1)) : json_dumpf(root, stdout, JSON_INDENT(1)))) {
    fprintf(stderr, "sptrsm-bench: %s can't be written\n", args.json);
    worst = 5;
  }
  json_decref(root);
  sptrsm_context_destroy(s.context);
  bench_stream_destroy(s.stream);
  return worst;
}
