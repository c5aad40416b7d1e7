/* soak.c -- random plans, solves, new values and captures on several threads, each with a context and a stream of its own. A solve with the
 * same values has the same bits every time where the method promises that, whatever the other threads do, also as a replayed graph; every
 * solution has a small residual.
 *
 * Each thread does SOAK_ROUNDS rounds (a few), and goes on for SOAK_SECONDS (0) in all; SOAK_SEED (1) draws others. On the emulator
 * (SOAK_EMULATED) there is one thread, systems are small, and what is captured runs at once. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/oracle.h"

#ifdef SOAK_EMULATED
#include "simt/emulator/emulated_gpu.h"
enum { THREADS = 1, ORDER_MAX = 60, NRHS_MAX = 20, ROUNDS = 40 };
#else
#include <cuda_runtime_api.h>
enum { THREADS = 4, ORDER_MAX = 1500, NRHS_MAX = 60, ROUNDS = 25 };
#endif

enum { METHODS_MAX = 32, REPLAYS = 2 };

typedef struct {
  int number;
  test_random random;
  void *stream;
  sptrsm_context *context;
  long solves, captures, refusals;
  char failure[400]; /* the first one; a thread can't use the assertions of Criterion */
} worker;

typedef struct { /* one round */
  const char *method;
  sptrsm_op op;
  test_system system;
  sptrsm_matrix *matrix;
  sptrsm_plan *plan;
  sptrsm_workspace *workspace;
  sptrsm_info info;
  bool capturable;
  test_block B, X, first; /* first: the solution of the first solve */
  sptrsm_block on_device[2];
  void *memory[2];
} job;

static bool fail(worker *w, const job *j, const char *format, ...) {
  va_list values;
  const int used = snprintf(w->failure, sizeof w->failure, "thread %d, %s, n=%d, %lld right-hand sides, type %d, operation %d: ", w->number,
                            j->method, j->system.T.n, (long long)j->B.block.nrhs, (int)j->system.T.dtype, (int)j->op);
  va_start(values, format);
  vsnprintf(w->failure + used, sizeof w->failure - (size_t)used, format, values);
  va_end(values);
  return false;
}

#define TRY(call)                                                                                                                          \
  do {                                                                                                                                     \
    if ((call) != SPTRSM_OK) return fail(w, j, "%s", sptrsm_last_error());                                                                 \
  } while (0)

/* ---- the device ---- */

#ifdef SOAK_EMULATED

static void *device_copy(const void *host, size_t bytes) { return memcpy(malloc(bytes), host, bytes); }
static void device_free(void *memory) { free(memory); }
static bool transfer(void *to, const void *from, size_t bytes) { return memcpy(to, from, bytes) == to; }
static bool make_stream(worker *w) { return (w->stream = NULL) == NULL; }
static void destroy_stream(worker *w) { (void)w; }

/* The solve within the capture runs at once. */
static bool replay(worker *w, const job *j) {
  emulated_gpu_captures = true;
  const sptrsm_status status = sptrsm_solve(j->plan, j->workspace, NULL, &j->on_device[0], (sptrsm_block *)&j->on_device[1]);
  emulated_gpu_captures = false;
  TRY(status);
  return true;
}

#else

static void *device_copy(const void *host, size_t bytes) {
  void *memory = NULL;
  if (cudaMalloc(&memory, bytes) != cudaSuccess || cudaMemcpy(memory, host, bytes, cudaMemcpyDefault) != cudaSuccess) return NULL;
  return cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess ? memory : NULL;
}
static void device_free(void *memory) { cudaFree(memory); }
static bool transfer(void *to, const void *from, size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess && cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess;
}
static bool make_stream(worker *w) { return cudaStreamCreateWithFlags((cudaStream_t *)&w->stream, cudaStreamNonBlocking) == cudaSuccess; }
static void destroy_stream(worker *w) { cudaStreamDestroy(w->stream); }

/* Captures a solve in a graph, and runs the graph a few times. */
static bool replay(worker *w, const job *j) {
  cudaGraph_t graph = NULL;
  cudaGraphExec_t runnable = NULL;
  sptrsm_block X = j->on_device[1];
  if (cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal) != cudaSuccess) return fail(w, j, "no capture");
  const sptrsm_status status = sptrsm_solve(j->plan, j->workspace, NULL, &j->on_device[0], &X);
  bool good = cudaStreamEndCapture(w->stream, &graph) == cudaSuccess && status == SPTRSM_OK;
  good = good && cudaGraphInstantiate(&runnable, graph, 0) == cudaSuccess;
  for (int run = 0; run < REPLAYS; run++) good = good && cudaGraphLaunch(runnable, w->stream) == cudaSuccess;
  good = sptrsm_context_sync(w->context) == SPTRSM_OK && good;
  if (runnable) cudaGraphExecDestroy(runnable);
  if (graph) cudaGraphDestroy(graph);
  return good || fail(w, j, "capture: %s, %s", sptrsm_last_error(), cudaGetErrorString(cudaGetLastError()));
}

#endif

/* ---- a round ---- */

/* One of the methods for a device, or auto. */
static const char *draw_method(worker *w) {
  const char *names[METHODS_MAX] = {"auto"};
  int count = 1;
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    if (sptrsm_method_at(&info, m) == SPTRSM_OK && info.place == SPTRSM_CUDA && count < METHODS_MAX) names[count++] = info.name;
  }
  return names[test_random_below(&w->random, count)];
}

static bool is_capturable(const char *method) {
  for (int m = 0; m < sptrsm_method_count(); m++) {
    sptrsm_method_info info = {.size = sizeof info};
    if (sptrsm_method_at(&info, m) == SPTRSM_OK && info.place == SPTRSM_CUDA && strcmp(info.name, method) == 0) return info.capturable;
  }
  return false;
}

static void draw(worker *w, job *j) {
  test_random *r = &w->random;
  const test_pattern pattern = (test_pattern)test_random_below(r, TEST_PATTERNS);
  const int32_t n = 1 + test_random_below(r, pattern == TEST_FULL && ORDER_MAX > 300 ? 300 : ORDER_MAX);
  const int64_t nrhs = test_random_below(r, 4) == 0 ? 1 : 1 + test_random_below(r, NRHS_MAX);
  const sptrsm_dtype dtype = (sptrsm_dtype)test_random_below(r, 4);
  const sptrsm_format format = (sptrsm_format)test_random_below(r, 2);
  const sptrsm_uplo uplo = test_random_below(r, 2) ? SPTRSM_LOWER : SPTRSM_UPPER;
  j->method = draw_method(w);
  j->op = (sptrsm_op)test_random_below(r, 3);
  j->system = test_system_make(pattern, n, format, dtype, uplo, (test_diag)test_random_below(r, TEST_DIAGS), test_random_next(r));
  j->B = test_block_make(n, nrhs, dtype, (sptrsm_layout)test_random_below(r, 2), test_random_below(r, 3));
  test_block_fill(&j->B, test_random_next(r));
  j->X = test_block_make(n, nrhs, dtype, (sptrsm_layout)test_random_below(r, 2), test_random_below(r, 3));
}

/* Copies of B and X on the device. */
static bool place_blocks(job *j) {
  const test_block *from[2] = {&j->B, &j->X};
  for (int k = 0; k < 2; k++) {
    j->on_device[k] = from[k]->block;
    j->on_device[k].place = SPTRSM_CUDA;
    if (!(j->memory[k] = device_copy(from[k]->memory, from[k]->bytes))) return false;
    j->on_device[k].data = (char *)j->memory[k] + ((unsigned char *)from[k]->block.data - from[k]->memory);
  }
  return true;
}

static bool fetch(worker *w, job *j) {
  if (!transfer(j->X.memory, j->memory[1], j->X.bytes)) return fail(w, j, "X can't be fetched");
  return test_block_intact(&j->X) || fail(w, j, "something was written outside of X");
}

/* What a solve must overwrite. */
static bool scribble(worker *w, job *j) {
  test_block_fill(&j->X, 3);
  return transfer(j->memory[1], j->X.memory, j->X.bytes) || fail(w, j, "X can't be filled");
}

static bool solve(worker *w, job *j) {
  if (!scribble(w, j)) return false;
  TRY(sptrsm_solve(j->plan, j->workspace, NULL, &j->on_device[0], &j->on_device[1]));
  TRY(sptrsm_context_sync(w->context));
  w->solves++;
  return fetch(w, j);
}

static bool is_solution(worker *w, const job *j) {
  static const double one[2] = {1, 0};
  const double most = (j->system.T.dtype >= SPTRSM_C64 ? 4 : 1) * (j->info.inverts ? 10 : 1);
  const double residual = test_residual(&j->system, j->op, one, &j->B, &j->X, -1);
  return residual <= most || fail(w, j, "residual %g bounds", residual);
}

static bool is_first(worker *w, const job *j, const char *what) {
  if (!j->info.deterministic) return is_solution(w, j);
  return test_block_same_bits(&j->X, &j->first) || fail(w, j, "other bits %s", what);
}

static bool new_values(worker *w, job *j, uint64_t seed) {
  test_system_new_values(&j->system, seed);
  TRY(sptrsm_matrix_set_values(j->matrix, j->system.T.val));
  return solve(w, j) && is_solution(w, j);
}

static bool solve_all(worker *w, job *j) {
  if (!new_values(w, j, 7)) return false;
  j->first = test_block_copy(&j->X);
  if (!solve(w, j) || !is_first(w, j, "in the second solve")) return false;
  if (j->capturable && !(scribble(w, j) && replay(w, j) && fetch(w, j) && is_first(w, j, "in a graph"))) return false;
  w->captures += j->capturable;
  return new_values(w, j, 8) && new_values(w, j, 7) && is_first(w, j, "with the first values again");
}

/* False: something is wrong. A method may refuse a system. */
static bool open_and_solve(worker *w, job *j) {
  sptrsm_options options;
  sptrsm_options_init(&options);
  options.method = j->method;
  options.op = j->op;
  options.nrhs_hint = test_random_below(&w->random, 3) * 20;
  TRY(sptrsm_matrix_create(&j->matrix, w->context, &j->system.T, SPTRSM_COPY));
  const sptrsm_status status = sptrsm_plan_create(&j->plan, j->matrix, &options);
  w->refusals += status == SPTRSM_ERR_UNSUPPORTED;
  if (status == SPTRSM_ERR_UNSUPPORTED) return true;
  TRY(status);
  j->info.size = sizeof j->info;
  TRY(sptrsm_plan_info(&j->info, j->plan));
  j->capturable = is_capturable(j->info.method);
  TRY(sptrsm_workspace_create(&j->workspace, j->plan, 0));
  return place_blocks(j) ? solve_all(w, j) : fail(w, j, "no memory for blocks");
}

static void one_round(worker *w) {
  job j = {0};
  draw(w, &j);
  open_and_solve(w, &j);
  for (int k = 0; k < 2; k++)
    if (j.memory[k]) device_free(j.memory[k]);
  sptrsm_workspace_destroy(j.workspace);
  sptrsm_plan_destroy(j.plan);
  sptrsm_matrix_destroy(j.matrix);
  test_block_free(&j.first);
  test_block_free(&j.X);
  test_block_free(&j.B);
  test_system_free(&j.system);
}

/* ---- threads ---- */

static long setting(const char *name, long otherwise) { return getenv(name) ? strtol(getenv(name), NULL, 10) : otherwise; }

static void *work(void *argument) {
  worker *w = argument;
  const time_t end = time(NULL) + setting("SOAK_SECONDS", 0);
  const long rounds = setting("SOAK_ROUNDS", ROUNDS);
  if (!make_stream(w) || sptrsm_context_create(&w->context, SPTRSM_CUDA, 0, w->stream) != SPTRSM_OK) {
    snprintf(w->failure, sizeof w->failure, "thread %d has no context: %s", w->number, sptrsm_last_error());
    return NULL;
  }
  for (long round = 0; (round < rounds || time(NULL) < end) && !w->failure[0]; round++) one_round(w);
  sptrsm_context_destroy(w->context);
  destroy_stream(w);
  return NULL;
}

Test(soak, random_plans_solves_values_and_captures, .timeout = 7200) {
  static worker workers[THREADS];
  pthread_t threads[THREADS];
  long solves = 0, captures = 0, refusals = 0;
  for (int t = 0; t < THREADS; t++)
    workers[t] = (worker){.number = t, .random = {.state = (uint64_t)(setting("SOAK_SEED", 1) * 100 + t + 1)}};
  for (int t = 1; t < THREADS; t++) cr_assert_eq(pthread_create(&threads[t], NULL, work, &workers[t]), 0);
  work(&workers[0]);
  for (int t = 1; t < THREADS; t++) pthread_join(threads[t], NULL);
  for (int t = 0; t < THREADS; t++) {
    cr_assert_str_empty(workers[t].failure, "%s", workers[t].failure);
    solves += workers[t].solves, captures += workers[t].captures, refusals += workers[t].refusals;
  }
  printf("%d threads: %ld solves, %ld captures, %ld systems that a method refused\n", (int)THREADS, solves, captures, refusals);
  cr_assert(solves > 4 * refusals && captures > 0, "%ld solves, %ld captures, %ld refusals", solves, captures, refusals);
#ifdef SOAK_EMULATED
  cr_assert_eq(emulated_gpu_blocks, 0, "%d device blocks left over", emulated_gpu_blocks);
#endif
}
