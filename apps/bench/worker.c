/* worker.c -- see worker.h. */
#include "bench/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/check.h"

/* ---- messages ---- */

typedef struct {
  bench_args *args;
  const bench_inputs *inputs;
  int pipe_end;
  sptrsm_place place;
  void *stream;
  sptrsm_context *context;
  bench_triangle triangle;
  int loaded; /* first measurement of the triangle in memory, or -1 */
  void *B, *X;
  int64_t block_nrhs; /* right-hand sides that B and X are for */
} worker;

/* Ends the worker if its parent has ended. */
static void say(const worker *w, const bench_message *m) {
  if (write(w->pipe_end, m, sizeof *m) != (ssize_t)sizeof *m) _exit(CLI_INTERNAL);
}

static void say_trouble(const worker *w, bench_say what, int index, sptrsm_status status) {
  bench_message m = {.what = what, .index = index, .trouble = {.code = cli_exit_code(status)}};
  snprintf(m.trouble.text, sizeof m.trouble.text, "%s", sptrsm_last_error());
  say(w, &m);
}

/* ---- start ---- */

static sptrsm_status limit_memory(const worker *w) {
  if (w->place == SPTRSM_HOST)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "--device-memory: is a limit on a CUDA device, and there is none; leave it out");
  return sptrsm_context_set_memory_limit(w->context, w->args->device_memory);
}

static sptrsm_status open_place(worker *w, bench_machine *machine) {
  w->place = !w->args->host && sptrsm_device_count() > 0 ? SPTRSM_CUDA : SPTRSM_HOST;
  sptrsm_status status = bench_stream_create(&w->stream, w->place);
  if (status == SPTRSM_OK) status = sptrsm_context_create(&w->context, w->place, 0, w->stream);
  if (status == SPTRSM_OK) status = sptrsm_context_set_threads(w->context, w->args->threads);
  if (status == SPTRSM_OK && w->args->device_memory > 0) status = limit_memory(w);
  if (status != SPTRSM_OK) return status;
  machine->place = w->place;
  machine->limits = (bench_limits){NAN, NAN, NAN, NAN, {NAN, NAN}};
  snprintf(machine->device, sizeof machine->device, "%s", sptrsm_context_describe(w->context));
  snprintf(machine->tuned, sizeof machine->tuned, "%s", sptrsm_auto_device(w->context));
  bench_software(machine->software, sizeof machine->software);
  return SPTRSM_OK;
}

static void start(worker *w, bool with_limits) {
  bench_message ready = {.what = SAY_READY};
  sptrsm_status status = open_place(w, &ready.machine);
  if (status == SPTRSM_OK && with_limits) status = bench_limits_measure(&ready.machine.limits, w->place);
  if (status != SPTRSM_OK) {
    say_trouble(w, SAY_FATAL, 0, status);
    _exit(cli_exit_code(status));
  }
  say(w, &ready);
  if (bench_args_settle(w->args, w->place) != CLI_OK) _exit(CLI_MEMORY);
}

/* ---- a triangle ---- */

static size_t compressed_bytes(const sptrsm_sparse *T) {
  size_t nnz = (size_t)T->ptr[T->n], offset = nnz > INT32_MAX ? sizeof(int64_t) : sizeof(int32_t);
  return nnz * (sizeof(int32_t) + sptrsm_dtype_bytes(T->dtype)) + ((size_t)T->n + 1) * offset;
}

static void settle_grid(const worker *w, sptrsm_options *options) {
  const bench_triangle *t = &w->triangle;
  grid_settle(options, &w->args->grid, t->M);
  if (t->stencil == NULL || w->args->grid.has_stencil) return;
  snprintf(options->stencil, sizeof options->stencil, "%s", t->stencil);
  memcpy(options->grid, t->grid, sizeof options->grid);
}

/* What auto goes by. Where that can't be found, the methods say why. */
static void look_as_auto(const worker *w, bench_features *f) {
  sptrsm_matrix *matrix = NULL;
  sptrsm_options options;
  sptrsm_options_init(&options);
  settle_grid(w, &options);
  sptrsm_status status = sptrsm_matrix_create(&matrix, w->context, &w->triangle.T, SPTRSM_COPY);
  for (int o = 0; o < w->args->op_count; o++) {
    double *known = f->known[options.op = w->args->ops[o]];
    if (status == SPTRSM_OK) status = sptrsm_auto_features(known, matrix, &options);
    for (int k = 0; k < SPTRSM_AUTO_FEATURES && status != SPTRSM_OK; k++) known[k] = NAN;
  }
  sptrsm_matrix_destroy(matrix);
}

/* Checks the triangle too: what no method could solve is refused once, not by each method. */
static sptrsm_status survey(const worker *w, bench_features *f) {
  sptrsm_context *host = NULL;
  sptrsm_matrix *matrix = NULL;
  const sptrsm_sparse *T = &w->triangle.T;
  *f = (bench_features){.n = T->n, .nnz = T->ptr[T->n], .uplo = T->uplo, .matrix_bytes = compressed_bytes(T)};
  sptrsm_status status = sptrsm_context_create(&host, SPTRSM_HOST, 0, NULL);
  if (status == SPTRSM_OK) status = sptrsm_matrix_create(&matrix, host, T, SPTRSM_BORROW);
  for (int o = 0; o < w->args->op_count && status == SPTRSM_OK; o++) {
    sptrsm_op op = w->args->ops[o];
    f->levels[op].size = sizeof f->levels[op];
    status = sptrsm_matrix_levels(&f->levels[op], matrix, op);
  }
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(host);
  if (status == SPTRSM_OK && w->args->table != TABLE_LEVELS) look_as_auto(w, f);
  return status;
}

static void forget_blocks(worker *w) {
  free(w->B);
  free(w->X);
  w->B = w->X = NULL;
  w->block_nrhs = 0;
}

static void close_place(worker *w) {
  forget_blocks(w);
  bench_triangle_free(&w->triangle);
  sptrsm_context_destroy(w->context);
  bench_stream_destroy(w->stream);
}

/* False: the triangle is refused. */
static bool load(worker *w, int index) {
  const bench_id id = bench_id_of(w->args, index);
  bench_message m = {.what = SAY_LOADING, .index = index};
  say(w, &m);
  forget_blocks(w);
  bench_triangle_free(&w->triangle);
  sptrsm_status status = bench_triangle_load(&w->triangle, &w->inputs->list[id.input], w->args->dtypes[id.dtype]);
  m.what = SAY_LOADED;
  if (status == SPTRSM_OK) status = survey(w, &m.features);
  if (status != SPTRSM_OK) {
    say_trouble(w, SAY_REFUSED, index, status);
    return false;
  }
  say(w, &m);
  return true;
}

static sptrsm_status make_blocks(worker *w, int64_t nrhs) {
  if (w->block_nrhs == nrhs) return SPTRSM_OK;
  forget_blocks(w);
  const sptrsm_sparse *T = &w->triangle.T;
  const int64_t columns = nrhs * (w->args->batch > 0 ? w->args->batch : 1); /* nrhs and batch are at most 2^20 */
  size_t bytes = 0;
  if (__builtin_mul_overflow((size_t)T->n * sptrsm_dtype_bytes(T->dtype), (size_t)columns, &bytes)) bytes = SIZE_MAX - 1;
  w->B = malloc(bytes + 1);
  w->X = malloc(bytes + 1);
  if (w->B == NULL || w->X == NULL) {
    forget_blocks(w);
    return sptrsm_error_set(SPTRSM_ERR_MEMORY, "no memory for two blocks of %zu bytes on the host", bytes);
  }
  w->block_nrhs = nrhs;
  bench_fill(w->B, T->n, columns, T->dtype);
  return SPTRSM_OK;
}

/* ---- a measurement ---- */

static sptrsm_status measure(worker *w, const bench_id *id, bench_result *out) {
  const bench_args *a = w->args;
  const char *spec = a->methods[id->method];
  char name[160];
  sptrsm_options options;
  sptrsm_status status = make_blocks(w, a->nrhs[id->nrhs]);
  if (status != SPTRSM_OK) return status;
  bench_case c = {.T = &w->triangle.T,
                  .op = a->ops[id->op],
                  .nrhs = a->nrhs[id->nrhs],
                  .batch = a->batch,
                  .reps = a->reps,
                  .times_setup = a->table == TABLE_PREPROCESS,
                  .B = w->B,
                  .X = w->X};
  out->setup_ms = out->update_ms = NAN;
  const bool is_peer = bench_is_cusparse(spec, w->place) || bench_is_cublas(spec, w->place);
  if (is_peer && a->batch > 0) return sptrsm_error_set(SPTRSM_ERR_UNSUPPORTED, "--batch is measured with methods of the library");
  if (bench_is_cusparse(spec, w->place)) return bench_cusparse(out, &c, w->stream);
  if (bench_is_cublas(spec, w->place)) return bench_cublas(out, &c, w->stream);
  bench_method_options(&options, name, sizeof name, spec);
  settle_grid(w, &options);
  return (a->batch > 0 ? bench_batch : bench_method)(out, &c, w->place, w->stream, w->context, &options);
}

/* After a device error nothing works any more in this process: it ends, and the parent starts another worker for the next measurement. */
static void run(worker *w, int index) {
  const bench_id id = bench_id_of(w->args, index);
  bench_message m = {.what = SAY_BEGIN, .index = index};
  say(w, &m);
  m.what = SAY_RESULT;
  sptrsm_status status = w->args->table == TABLE_LEVELS ? SPTRSM_OK : measure(w, &id, &m.result);
  if (w->args->table == TABLE_LEVELS) strcpy(m.result.status, "ok");
  if (status != SPTRSM_OK) {
    const bool is_unsupported = status == SPTRSM_ERR_UNSUPPORTED;
    m.result.code = is_unsupported ? CLI_OK : cli_exit_code(status);
    snprintf(m.result.status, sizeof m.result.status, "%s: %s", is_unsupported ? "unsupported" : "failed", sptrsm_last_error());
  }
  say(w, &m);
  if (status == SPTRSM_ERR_DEVICE || status == SPTRSM_ERR_INTERNAL) _exit(CLI_DEVICE);
}

void bench_worker(bench_args *args, const bench_inputs *inputs, int first, bool with_limits, int pipe_end) {
  worker w = {.args = args, .inputs = inputs, .pipe_end = pipe_end, .loaded = -1};
  start(&w, with_limits);
  const int count = bench_count(args, inputs), per_load = bench_per_load(args);
  for (int index = first; index < count; index++) {
    const int begin = index - index % per_load;
    if (w.loaded != begin && !load(&w, index)) {
      index = begin + per_load - 1;
      continue;
    }
    w.loaded = begin;
    run(&w, index);
  }
  close_place(&w);
  exit(CLI_OK);
}
