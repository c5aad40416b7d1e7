/* devices.c -- compare_devices: one solve on several contexts beside one, with the same factor set, block and bits.
 *
 * A way is a list of devices, as --device of sptrsm-solve has it. B and X are in host memory, page-locked where there is a GPU; or each
 * device has an equal part of their columns in its own memory (--resident). Ways take turns, and the median of the repetitions counts.
 * For a host plan the time of its import from bytes is shown beside that of its analysis. A development tool, which is not installed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/machine/machine.h"
#include "common/solver.h"

static const char help[] = "compare_devices factors.h5                       host beside host,host; GPUs where there are any\n"
                           "compare_devices factors.h5 cuda:0 cuda:0,0 cuda:0,host --nrhs 4096\n"
                           "\n"
                           "usage: compare_devices FACTORS [options] [WAY ...]   a solve on several devices beside one\n"
                           "  WAY                 devices: host, host,host, cuda:0, cuda:all, cuda:0,host, ...\n"
                           "  --nrhs K            right-hand sides; default 1024\n"
                           "  --threads N         of a single host context, shared by those of a way; default all\n"
                           "  --method NAME       default auto\n"
                           "  --reps R            default 7\n"
                           "  --resident          each device has its columns of B and X in its own memory\n"
                           "  -q, -v, --help, --version\n"
                           "exit: 0, 1 an X differs, 2 usage, ...\n";

enum { KEY_NRHS = 2000, KEY_THREADS, KEY_METHOD, KEY_REPS, KEY_RESIDENT, WAYS_MOST = 8, REPS_MOST = 1000 };

static const struct argp_option options[] = {
    {"nrhs", KEY_NRHS, "K", 0, "", 0}, {"threads", KEY_THREADS, "N", 0, "", 0},    {"method", KEY_METHOD, "NAME", 0, "", 0},
    {"reps", KEY_REPS, "R", 0, "", 0}, {"resident", KEY_RESIDENT, NULL, 0, "", 0}, {0},
};

typedef struct {
  const char *file, *method, *ways[WAYS_MOST];
  int way_count, threads, reps;
  int64_t nrhs;
  bool resident;
} settings;

static error_t parse(int key, char *text, struct argp_state *state) {
  settings *s = state->input;
  switch (key) {
  case KEY_NRHS: s->nrhs = cli_integer("--nrhs", text, 1, 1000000); return 0;
  case KEY_THREADS: s->threads = (int)cli_integer("--threads", text, 1, 4096); return 0;
  case KEY_METHOD: s->method = text; return 0;
  case KEY_REPS: s->reps = (int)cli_integer("--reps", text, 1, REPS_MOST); return 0;
  case KEY_RESIDENT: s->resident = true; return 0;
  case ARGP_KEY_ARG:
    if (state->arg_num == 0) s->file = text;
    else if (s->way_count < WAYS_MOST) s->ways[s->way_count++] = text;
    else cli_usage("more than %d ways", WAYS_MOST);
    return 0;
  case ARGP_KEY_END:
    if (!s->file) cli_usage("give a file of factors");
    return 0;
  default: return ARGP_ERR_UNKNOWN;
  }
}

typedef struct {
  const char *name;
  solver solver;
  double import_seconds; /* to make its plans of bytes; 0: they can't be exported */
  double ms[REPS_MOST];
  double difference;
  device_at at[DEVICES_MAX];                   /* of its members */
  sptrsm_block B[DEVICES_MAX], X[DEVICES_MAX]; /* --resident: their columns */
} way;

/* ---- ways ---- */

/* The export and import of the first device's plans, without the factors, as a part of sptrsm_direct_import. */
static sptrsm_status time_import(way *w, const sptrsm_file_factors *F) {
  size_t bytes;
  void *memory;
  sptrsm_direct *again;
  sptrsm_context *context = w->solver.context;
  if (sptrsm_direct_export_bytes(&bytes, w->solver.direct) != SPTRSM_OK) return SPTRSM_OK; /* a GPU, or a method that can't */
  memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!memory) return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for the plans");
  sptrsm_status status = sptrsm_direct_export(memory, bytes, w->solver.direct);
  const double start = cli_now();
  if (status == SPTRSM_OK) status = sptrsm_direct_import(&again, context, &F->factors, NULL, memory, bytes, SPTRSM_BORROW);
  w->import_seconds = cli_now() - start;
  if (status == SPTRSM_OK) sptrsm_direct_destroy(again);
  free(memory);
  return status;
}

static int open_way(way *w, const settings *s, const sptrsm_file_factors *F) {
  solver_request request = {.system = SPTRSM_SYS_A, .op = SPTRSM_N, .threads = s->threads, .device = devices_parse(w->name)};
  sptrsm_options_init(&request.options);
  request.options.method = s->method;
  request.options.nrhs_hint = s->nrhs;
  int code = device_settle(&request);
  if (code != CLI_OK) return code;
  int hosts = request.device.place == SPTRSM_HOST;
  for (int k = 0; k < request.device.others; k++) hosts += request.device.other[k].place == SPTRSM_HOST;
  if (hosts > 1 && s->threads > 0) request.threads = s->threads > hosts ? s->threads / hosts : 1;
  w->at[0] = (device_at){request.device.place, request.device.index};
  memcpy(w->at + 1, request.device.other, (size_t)request.device.others * sizeof *w->at);
  code = solver_create(&w->solver, F, &request);
  return code == CLI_OK ? solver_fail(time_import(w, F)) : code;
}

static size_t part_bytes(const sptrsm_block *part) { return (size_t)part->n * (size_t)part->nrhs * sizeof(double); }

/* The columns of B, in Fortran order, in equal parts; X has room for as many. */
static sptrsm_status share_out(way *w, const sptrsm_block *B) {
  const char *columns = B->data;
  for (int k = 0; k < w->solver.members; k++) {
    const sptrsm_place place = w->at[k].place;
    sptrsm_block part = *B;
    part.nrhs = B->nrhs * (k + 1) / w->solver.members - B->nrhs * k / w->solver.members;
    part.place = place;
    w->B[k] = w->X[k] = part;
    w->B[k].data = w->X[k].data = NULL;
    sptrsm_status status = bench_select(place, w->at[k].index);
    if (status == SPTRSM_OK) status = bench_memory(&w->B[k].data, place, part_bytes(&part), columns);
    if (status == SPTRSM_OK) status = bench_memory(&w->X[k].data, place, part_bytes(&part), NULL);
    if (status != SPTRSM_OK) return status;
    columns += part_bytes(&part);
  }
  return SPTRSM_OK;
}

/* The parts of X side by side. */
static sptrsm_status collect(void *x, const way *w) {
  char *to = x;
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < w->solver.members && status == SPTRSM_OK; k++) {
    status = bench_memory_read(to, w->X[k].data, w->X[k].place, part_bytes(&w->X[k]));
    to += part_bytes(&w->X[k]);
  }
  return status;
}

static void free_parts(way *w) {
  for (int k = 0; k < w->solver.members; k++) {
    bench_memory_free(w->B[k].data, w->B[k].place);
    bench_memory_free(w->X[k].data, w->X[k].place);
  }
}

static sptrsm_status solve_resident(way *w) {
  if (w->solver.multi) return sptrsm_multi_direct_solve_each(w->solver.multi, SPTRSM_SYS_A, SPTRSM_N, NULL, w->B, w->X);
  const sptrsm_status status = sptrsm_direct_solve(w->solver.direct, SPTRSM_SYS_A, SPTRSM_N, NULL, &w->B[0], &w->X[0]);
  return status == SPTRSM_OK ? sptrsm_context_sync(w->solver.context) : status;
}

static sptrsm_status solve(way *w, const settings *s, const sptrsm_block *B, sptrsm_block *X) {
  if (s->resident) return solve_resident(w);
  if (w->solver.multi) return sptrsm_multi_direct_solve(w->solver.multi, SPTRSM_SYS_A, SPTRSM_N, NULL, B, X);
  return solver_run(&w->solver, 0, &(solver_columns){NULL, B, X, 0, B->nrhs});
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* max |x - y| / max |y|; NaN if one of them is. */
static double difference_of(const double *x, const double *y, int64_t count) {
  double most = 0, size = 0;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(x[i] - y[i]) || fabs(x[i] - y[i]) > most) most = fabs(x[i] - y[i]);
    if (isnan(y[i]) || fabs(y[i]) > size) size = fabs(y[i]);
  }
  return most == 0 ? 0 : most / size;
}

/* ---- the table ---- */

static void print_way(const way *w, const settings *s, double reference) {
  char import[40] = "-";
  if (w->import_seconds > 0) snprintf(import, sizeof import, "%.1f", 1e3 * w->import_seconds);
  const double ms = w->ms[s->reps / 2];
  printf("%-16s %10.2f %8.2f %9.1f %9s %9.1f %10.1e   ", w->name, ms, reference / ms,
         1e3 * (w->solver.analyse_seconds - w->solver.clone_seconds), import, 1e3 * w->solver.clone_seconds, w->difference);
  for (int k = 0; k < w->solver.members; k++) {
    const sptrsm_multi_member m = solver_member(&w->solver, k);
    const double share = w->solver.multi ? 100 * (double)m.columns / (double)s->nrhs : 100;
    printf("%s%s %.0f %%", k ? ", " : "", sptrsm_context_describe(m.context), share);
  }
  putchar('\n');
}

static int run(way *ways, const settings *s, const sptrsm_block *B, sptrsm_block *X, double *first) {
  const size_t bytes = (size_t)B->n * (size_t)B->nrhs * sizeof(double);
  sptrsm_status status = SPTRSM_OK;
  for (int rep = -1; rep < s->reps; rep++) /* the first is not counted */
    for (int k = 0; k < s->way_count && status == SPTRSM_OK; k++) {
      memset(X->data, 0xff, bytes);
      const double start = cli_now();
      status = solve(&ways[k], s, B, X);
      if (rep >= 0) ways[k].ms[rep] = 1e3 * (cli_now() - start);
      if (s->resident && status == SPTRSM_OK) status = collect(X->data, &ways[k]);
      if (k == 0 && rep < 0) memcpy(first, X->data, bytes);
      const double difference = difference_of(X->data, first, (int64_t)B->n * B->nrhs);
      if (isnan(difference) || difference > ways[k].difference) ways[k].difference = difference;
    }
  return solver_fail(status);
}

static int compare(const settings *s, const sptrsm_file_factors *F, sptrsm_context *memory) {
  static way ways[WAYS_MOST];
  const size_t count = (size_t)F->L_tri.n * (size_t)s->nrhs;
  void *b = NULL, *x = NULL;
  double *first = malloc(count * sizeof *first + 1);
  int code = first ? solver_fail(sptrsm_host_alloc(&b, memory, count * sizeof(double))) : cli_no_memory("X");
  if (code == CLI_OK) code = solver_fail(sptrsm_host_alloc(&x, memory, count * sizeof(double)));
  for (size_t i = 0; i < count && code == CLI_OK; i++) ((double *)b)[i] = 1 + (double)(i % 17) / 8;
  for (int k = 0; k < s->way_count && code == CLI_OK; k++) {
    ways[k].name = s->ways[k];
    code = open_way(&ways[k], s, F);
  }
  sptrsm_block B = {.data = b, .ld = s->nrhs, .n = F->L_tri.n, .nrhs = s->nrhs, .dtype = SPTRSM_F64}, X = B;
  X.data = x;
  if (s->resident) B.layout = X.layout = SPTRSM_COL_MAJOR, B.ld = X.ld = B.n;
  for (int k = 0; k < s->way_count && s->resident && code == CLI_OK; k++) code = solver_fail(share_out(&ways[k], &B));
  if (code == CLI_OK) code = run(ways, s, &B, &X, first);
  if (code == CLI_OK) {
    printf("# %s: n %d, %lld right-hand sides, %s\n", s->file, F->L_tri.n, (long long)s->nrhs,
           s->resident ? "Fortran order, in the memory of their devices" : "C order, in host memory");
    printf("%-16s %10s %8s %9s %9s %9s %10s   %s\n", "devices", "solve ms", "speed-up", "made ms", "import ms", "clones ms", "difference",
           "columns of each");
  }
  bool wrong = false;
  for (int k = 0; k < s->way_count; k++) {
    if (code == CLI_OK) qsort(ways[k].ms, (size_t)s->reps, sizeof(double), by_size);
    if (code == CLI_OK) print_way(&ways[k], s, ways[0].ms[s->reps / 2]);
    wrong = wrong || !(ways[k].difference <= 1e-6);
  }
  for (int k = 0; k < s->way_count; k++) {
    free_parts(&ways[k]);
    solver_free(&ways[k].solver);
  }
  free(first);
  sptrsm_host_free(memory, b);
  sptrsm_host_free(memory, x);
  return code == CLI_OK && wrong ? CLI_ABOVE : code;
}

int main(int argc, char **argv) {
  settings s = {.nrhs = 1024, .reps = 7};
  const cli_program program = {.name = "compare_devices", .help = help, .options = options, .parse = parse};
  sptrsm_file_factors *F = NULL;
  sptrsm_context *memory = NULL;
  cli_start(&program, argc, argv, &s);
  const bool has_gpu = sptrsm_device_count() > 0;
  const char *const host_ways[] = {"host", "host,host"}, *const gpu_ways[] = {"cuda:0", "cuda:0,0", "cuda:0,host", "cuda:all"};
  if (s.way_count == 0) {
    s.way_count = has_gpu ? 3 + (sptrsm_device_count() > 1) : 2;
    memcpy(s.ways, has_gpu ? gpu_ways : host_ways, (size_t)s.way_count * sizeof *s.ways);
  }
  int code = cli_fail(sptrsm_file_factors_load(&F, s.file, NULL));
  if (code == CLI_OK && (F->single || F->L_tri.dtype != SPTRSM_F64)) cli_usage("%s: is no factor set in f64", s.file);
  if (code == CLI_OK) code = cli_fail(sptrsm_context_create(&memory, has_gpu ? SPTRSM_CUDA : SPTRSM_HOST, 0, NULL));
  if (code == CLI_OK) code = compare(&s, F, memory);
  sptrsm_context_destroy(memory);
  sptrsm_file_factors_free(F);
  if (code == CLI_OK) code = cli_flush();
  return cli_end(code);
}
