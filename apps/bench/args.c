/* args.c -- see args.h. */
#include "bench/args.h"

#include "common/solver.h"

#include <stdlib.h>
#include <string.h>

static const char help[] = "sptrsm-bench data/sherman5_splu.h5 gen:D3N27:64,64,64 --nrhs 1,32\n"
                           "sptrsm-bench triangles/ --methods all --json out.json --budget-s 600\n"
                           "\n"
                           "usage: sptrsm-bench INPUT... [options]\n"
                           "INPUT: FILE, FILE:/path, a folder, or gen:KIND:SIZES[:key=value,...]\n"
                           "  --nrhs LIST      right-hand sides, default 1,8,32,128,512;  --batch COUNT\n"
                           "  --methods LIST|all   name[:key=value,...][/rhs|/column|/p=P,q=Q], default all;\n"
                           "                   cublas too: TRSM on the dense triangle\n"
                           "  --grid X,Y,Z --stencil S   of files that do not say it\n"
                           "  --params M:V+V   variants of method M to measure; may be repeated\n"
                           "  --dtype LIST     of f64 (default), f32, c64, c128\n"
                           "  --op LIST        of N (default), T, C\n"
                           "  --table T        solve, levels, preprocess, memory or limits\n"
                           "  --reps N         timed repetitions, default 11\n"
                           "  --limit-s S      time for a measurement, default 120\n"
                           "  --budget-s S     time for all; what is left is skipped\n"
                           "  --threads N, --host   host threads; measure on the host\n"
                           "  --device-memory S     bytes that may be taken on the GPU; more streams\n"
                           "  --tune[=auto|syncfree-csc]   bounds of auto, or p and q, for this device;\n"
                           "                   --tune-out FILE: rewrites the table\n"
                           "  --json FILE|-, --csv FILE, --force    force: replace any file\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0 ok, 1 a wrong solution or a time limit, 2 usage, 3 bad input,\n"
                           "      4 singular, 5 I/O, 6 memory, 7 device, 8 a method crashed\n";

enum { KEY_OP = 4000, KEY_CSV, KEY_BUDGET, KEY_LIMIT, KEY_PARAMS, KEY_TABLE, KEY_TUNE, KEY_TUNE_OUT, KEY_BATCH, KEY_DEVICE_MEMORY };
static const char *const tunable[] = {"auto", "syncfree-csc"};
static const char *const tables[] = {"solve", "levels", "preprocess", "memory", "limits"};

/* ---- lists ---- */

/* Turns the commas that separate methods into semicolons. A comma inside of a :variant is followed by key=value and stays. */
static void mark_separators(char *text) {
  for (char *c = text; *c; c++) {
    if (*c != ',') continue;
    size_t word = strcspn(c + 1, "=,:/");
    if (c[1 + word] != '=') *c = ';';
  }
}

/* Reads the text behind the slash of an entry: rhs, column or p=P,q=Q, of which one may be missing. */
static bool parse_selection(sptrsm_options *o, const char *text) {
  int used = 0;
  if (strcmp(text, "rhs") == 0) return o->select = SPTRSM_SELECT_RHS, true;
  if (strcmp(text, "column") == 0) return o->select = SPTRSM_SELECT_COLUMN, true;
  if (sscanf(text, "p=%d,q=%d%n", &o->p, &o->q, &used) < 2 && sscanf(text, "p=%d%n", &o->p, &used) < 1)
    (void)sscanf(text, "q=%d%n", &o->q, &used);
  return used > 0 && text[used] == '\0';
}

static void add_method(bench_args *a, char *spec) {
  for (int m = 0; m < a->method_count; m++)
    if (strcmp(a->methods[m], spec) == 0) return;
  if (a->method_count == BENCH_METHODS) cli_usage("--methods: more than %d entries", BENCH_METHODS);
  a->methods[a->method_count++] = spec;
}

/* The name of a method may be followed by a slash and a selection; `all` and `cublas` are names of this program alone. */
static void check_method(char *spec) {
  sptrsm_options unused = {0};
  char *slash = strchr(spec, '/');
  if (slash && !parse_selection(&unused, slash + 1)) cli_usage("--methods: '%s': after / goes rhs, column or p=P,q=Q", spec);
  if (strcmp(spec, "all") == 0 || strcmp(spec, "cublas") == 0) return;
  if (slash) *slash = '\0';
  method_check("--methods", spec);
  if (slash) *slash = '/';
}

static void parse_methods(bench_args *a, char *text) {
  mark_separators(text);
  for (char *part; (part = strsep(&text, ";"));) {
    check_method(part);
    add_method(a, part);
  }
}

static void parse_nrhs(bench_args *a, char *text) {
  a->nrhs_count = 0;
  a->nrhs_given = true;
  for (char *part; (part = strsep(&text, ","));) {
    const int64_t nrhs = cli_integer("--nrhs", part, 1, 1 << 20);
    int known = 0;
    while (known < a->nrhs_count && a->nrhs[known] != nrhs) known++;
    if (known == BENCH_LIST) cli_usage("--nrhs: more than %d entries", BENCH_LIST);
    if (known == a->nrhs_count) a->nrhs[a->nrhs_count++] = nrhs;
  }
}

/* Fills chosen with indices into names, each at most once; returns their number. */
static int parse_choices(const char *option, char *text, const char *const names[], int count, int *chosen) {
  int found = 0;
  for (char *part; (part = strsep(&text, ","));) {
    int choice = cli_choice(option, part, names, count), known = 0;
    for (int i = 0; i < found; i++) known |= chosen[i] == choice;
    if (!known) chosen[found++] = choice;
  }
  return found;
}

static void check_params(const char *text) {
  const size_t name = strcspn(text, ":");
  bool is_whole = name > 0 && text[name] == ':';
  for (const char *v = text + name; is_whole && *v; v += 1 + strcspn(v + 1, "+")) is_whole = v[1] != '\0' && v[1] != '+';
  if (!is_whole) cli_usage("--params: '%s' is not METHOD:VARIANT+VARIANT", text);
  method_check("--params", text);
}

static double positive(const char *option, const char *text) {
  double value = cli_number(option, text);
  if (!(value > 0)) cli_usage("%s: %s is not above 0", option, text);
  return value;
}

/* ---- options ---- */

static error_t parse_lists(int key, char *text, bench_args *a) {
  int chosen[4];
  switch (key) {
  case 'n': parse_nrhs(a, text); return 0;
  case 'm': parse_methods(a, text); return 0;
  case 'd':
    a->dtype_count = parse_choices("--dtype", text, cli_dtypes, 4, chosen);
    for (int i = 0; i < a->dtype_count; i++) a->dtypes[i] = (sptrsm_dtype)chosen[i];
    return 0;
  case KEY_OP:
    a->op_count = parse_choices("--op", text, cli_ops, 3, chosen);
    for (int i = 0; i < a->op_count; i++) a->ops[i] = (sptrsm_op)chosen[i];
    return 0;
  case KEY_PARAMS:
    check_params(text);
    if (a->params_count == BENCH_LIST) cli_usage("--params: given more than %d times", BENCH_LIST);
    a->params[a->params_count++] = text;
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

static error_t parse(int key, char *text, struct argp_state *state) {
  bench_args *a = state->input;
  switch (key) {
  case 'r': a->reps = (int)cli_integer("--reps", text, 1, 1000); return 0;
  case 't': a->threads = (int)cli_integer("--threads", text, 0, 4096); return 0;
  case 'H': a->host = true; return 0;
  case 'f': a->force = true; return 0;
  case 'j': a->json = text; return 0;
  case KEY_CSV: a->csv = text; return 0;
  case KEY_BUDGET: a->budget_s = positive("--budget-s", text); return 0;
  case KEY_LIMIT: a->limit_s = positive("--limit-s", text); return 0;
  case KEY_TABLE: a->table = (bench_table_kind)cli_choice("--table", text, tables, 5); return 0;
  case KEY_TUNE: a->tune = text ? (bench_tune_kind)(TUNE_AUTO + cli_choice("--tune", text, tunable, 2)) : TUNE_AUTO; return 0;
  case KEY_TUNE_OUT: a->tune_out = text; return 0;
  case KEY_DEVICE_MEMORY: a->device_memory = cli_size("--device-memory", text); return 0;
  case KEY_BATCH: a->batch = cli_integer("--batch", text, 1, 1 << 20); return 0;
  case ARGP_KEY_ARGS:
    a->names = state->argv + state->next;
    a->name_count = state->argc - state->next;
    return 0;
  default: return grid_parse(key, text, &a->grid) ? 0 : parse_lists(key, text, a);
  }
}

static const struct argp_option options[] = {GRID_OPTIONS,
                                             {"nrhs", 'n', "LIST", 0, "numbers of right-hand sides", 0},
                                             {"methods", 'm', "METHOD", 0, "methods to measure", 0},
                                             {"dtype", 'd', "f64|f32|c64|c128", 0, "types to measure", 0},
                                             {"batch", KEY_BATCH, "COUNT", 0, "items of a batch that is solved at once", 0},
                                             {"op", KEY_OP, "N|T|C", 0, "operations to measure", 0},
                                             {"reps", 'r', "COUNT", 0, "timed repetitions", 0},
                                             {"threads", 't', "COUNT", 0, "threads on the host", 0},
                                             {"device-memory", KEY_DEVICE_MEMORY, "SIZE", 0, "bytes that may be taken on the device", 0},
                                             {"host", 'H', NULL, 0, "measure on the host", 0},
                                             {"json", 'j', "FILE", 0, "write a report", 0},
                                             {"csv", KEY_CSV, "FILE", 0, "write the table", 0},
                                             {"force", 'f', NULL, 0, "replace existing files", 0},
                                             {"budget-s", KEY_BUDGET, "SECONDS", 0, "time for all", 0},
                                             {"limit-s", KEY_LIMIT, "SECONDS", 0, "time for one measurement", 0},
                                             {"params", KEY_PARAMS, "VARIANTS", 0, "variants of a method to measure", 0},
                                             {"table", KEY_TABLE, "solve|levels|preprocess|memory|limits", 0, "what is printed", 0},
                                             {"tune", KEY_TUNE, "auto|syncfree-csc", OPTION_ARG_OPTIONAL, "find bounds for this device", 0},
                                             {"tune-out", KEY_TUNE_OUT, "FILE", 0, "rewrite the table of bounds", 0},
                                             {0}};

void bench_args_read(bench_args *a, int argc, char **argv) {
  static const cli_program program = {.name = "sptrsm-bench", .help = help, .options = options, .parse = parse};
  *a = (bench_args){.nrhs = {1, 8, 32, 128, 512},
                    .nrhs_count = 5,
                    .dtypes = {SPTRSM_F64},
                    .dtype_count = 1,
                    .ops = {SPTRSM_N},
                    .op_count = 1,
                    .reps = 11,
                    .limit_s = 120};
  cli_start(&program, argc, argv, a);
  if (a->name_count == 0 && a->table != TABLE_LIMITS) cli_usage("give a FILE with triangles, a folder or gen:KIND:SIZES");
  grid_check(&a->grid);
  if (a->device_memory > 0 && a->host) cli_usage("--device-memory: is a limit on a CUDA device; leave it out, or --host");
  if (a->tune_out && !a->tune) cli_usage("--tune-out goes with --tune");
  if (a->tune && (a->method_count || a->params_count)) cli_usage("--tune says what is measured; leave --methods and --params out");
  if (a->tune && a->batch > 0) cli_usage("--tune measures single systems; leave --batch out");
  if (a->batch > 0 && (a->table == TABLE_LEVELS || a->table == TABLE_LIMITS))
    cli_usage("--batch: table %s has no solves", tables[a->table]);
  if (a->csv && strcmp(a->csv, "-") == 0) cli_usage("--csv needs a file; only --json takes -");
}

/* ---- methods ---- */

static void add_all(bench_args *a, sptrsm_place place) {
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    if (sptrsm_method_at(&info, m) == SPTRSM_OK && info.place == place) add_method(a, (char *)info.name);
  }
  add_method(a, "auto");
}

int bench_auto_rows(sptrsm_auto_row *rows, sptrsm_place place, const char *device) {
  int count = 0;
  bool is_bounded = true;
  for (int r = 0; r < sptrsm_auto_row_count() && count < BENCH_AUTO_ROWS && is_bounded; r++) {
    sptrsm_auto_row *row = &rows[count];
    row->size = sizeof *row;
    if (sptrsm_auto_row_at(row, r, device) != SPTRSM_OK || row->place != place) continue;
    is_bounded = false;
    for (int f = 0; f < SPTRSM_AUTO_FEATURES; f++) is_bounded = is_bounded || row->least[f] != 0 || row->most[f] != 0;
    count++;
  }
  return count;
}

/* What --tune=auto measures. */
static void add_rows(bench_args *a, sptrsm_place place) {
  sptrsm_auto_row rows[BENCH_AUTO_ROWS];
  const int count = bench_auto_rows(rows, place, NULL);
  add_method(a, "auto");
  for (int r = 0; r < count; r++) add_method(a, (char *)rows[r].method);
}

/* Replaces the entry `all` by what it means. */
static void expand_all(bench_args *a, sptrsm_place place) {
  char *given[BENCH_METHODS];
  int count = a->method_count;
  memcpy(given, a->methods, sizeof given);
  a->method_count = 0;
  if (count == 0 && a->tune == TUNE_AUTO) add_rows(a, place);
  else if (count == 0) add_all(a, place);
  for (int m = 0; m < count; m++) {
    if (strcmp(given[m], "all") == 0) add_all(a, place);
    else add_method(a, given[m]);
  }
}

/* "METHOD:V+W" adds METHOD:V and METHOD:W. Their strings are never freed. */
static int add_variants(bench_args *a, const char *params) {
  int name = (int)strcspn(params, ":");
  char *variants = strdup(params + name + 1), *rest = variants;
  for (char *v; variants && (v = strsep(&rest, "+"));) {
    char *spec;
    if (asprintf(&spec, "%.*s:%s", name, params, v) < 0) variants = NULL;
    else add_method(a, spec);
  }
  if (variants == NULL) return cli_no_memory("the variants of --params");
  free(variants);
  return CLI_OK;
}

int bench_args_settle(bench_args *a, sptrsm_place place) {
  if (a->table == TABLE_LEVELS) { /* nothing is measured: a row of the table for each triangle and operation */
    a->methods[0] = "none";
    a->method_count = a->nrhs_count = a->dtype_count = 1;
    return CLI_OK;
  }
  expand_all(a, place);
  for (int i = 0; i < a->params_count; i++) {
    int code = add_variants(a, a->params[i]);
    if (code != CLI_OK) return code;
  }
  for (int m = 1; m < a->method_count; m++) {
    if (!bench_is_cusparse(a->methods[m], SPTRSM_CUDA)) continue;
    char *first = a->methods[m];
    memmove(a->methods + 1, a->methods, (size_t)m * sizeof *a->methods);
    a->methods[0] = first;
  }
  return CLI_OK;
}

bool bench_is_cusparse(const char *spec, sptrsm_place place) { return place == SPTRSM_CUDA && strcmp(spec, "cusparse") == 0; }
bool bench_is_cublas(const char *spec, sptrsm_place place) { return place == SPTRSM_CUDA && strcmp(spec, "cublas") == 0; }

void bench_method_options(sptrsm_options *o, char *name, size_t size, const char *spec) {
  snprintf(name, size, "%s", spec);
  char *slash = strchr(name, '/');
  sptrsm_options_init(o);
  o->method = name;
  if (slash == NULL) return;
  *slash++ = '\0';
  (void)parse_selection(o, slash); /* was checked when it was read */
}
