/* graph_gpu.c -- on a real device: a captured solve of a batch uses the values that the items have when it is replayed, and leaves out
 * those that are singular then. Everything lies in managed memory. */
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <string.h>

#include <sptrsm_batch.h>

#include "support/factor_set.h"

enum { ITEMS = 5, NRHS = 3, SPAN = N * NRHS };

static void cuda_ok(cudaError_t error) { cr_assert_eq(error, cudaSuccess, "%s", cudaGetErrorString(error)); }
static void ok(sptrsm_status status) { cr_assert_eq(status, SPTRSM_OK, "%s", sptrsm_last_error()); }

static void *managed(size_t bytes) {
  void *memory;
  cuda_ok(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal));
  return memory;
}

typedef struct {
  factor_set *sets; /* [ITEMS], of one pattern in a uniform batch */
  sptrsm_batch *batch;
  double *B, *X;
  bool uniform;
} test_case;

static void create(test_case *c, sptrsm_context *context) {
  const sptrsm_factors *items[ITEMS];
  sptrsm_batch_values values;
  for (int i = 0; i < ITEMS; i++) build_factor_set(&c->sets[i], &recipes[c->uniform ? 5 : i], SPTRSM_F64), items[i] = &c->sets[i].f;
  sptrsm_batch_values_init(&values);
  values.count = ITEMS;
  if (c->uniform) ok(sptrsm_batch_create_uniform(&c->batch, context, items[0], &values, NULL));
  else ok(sptrsm_batch_create_mixed(&c->batch, context, items, ITEMS, NULL));
}

/* L of an item anew: its diagonal is multiplied by `factor`. */
static void change(test_case *c, int item, double factor) {
  triangle *T = &c->sets[c->uniform ? 0 : item].L;
  static double values[NNZ];
  sptrsm_batch_values v;
  memcpy(values, T->val, (size_t)T->ptr[N] * sizeof *values);
  for (int j = 0; j < N; j++)
    for (int64_t p = T->ptr[j]; p < T->ptr[j + 1]; p++)
      if (T->idx[p] == j) values[p] *= factor;
  sptrsm_batch_values_init(&v);
  v.first = item, v.count = 1, v.L = values;
  ok(sptrsm_batch_set_values(c->batch, &v));
}

static void check_batch(bool uniform) {
  sptrsm_context *context;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  test_case c = {.sets = managed(ITEMS * sizeof *c.sets), .uniform = uniform};
  sptrsm_batch_block B, X;
  double expected[ITEMS * SPAN];
  c.B = managed(ITEMS * SPAN * sizeof *c.B), c.X = managed(ITEMS * SPAN * sizeof *c.X);
  cuda_ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  ok(sptrsm_context_create(&context, SPTRSM_CUDA, 0, stream));
  create(&c, context);
  sptrsm_batch_block_init(&B);
  B.data = c.B, B.ld = B.nrhs = NRHS, B.stride = SPAN, B.place = SPTRSM_CUDA;
  X = B, X.data = c.X;
  for (int e = 0; e < ITEMS * SPAN; e++) c.B[e] = creal(number(SPTRSM_F64));
  ok(sptrsm_batch_prepare(c.batch, SPTRSM_SYS_L, SPTRSM_N));
  ok(sptrsm_batch_solve(c.batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &X, NULL)); /* copies what the call tells of the blocks */
  ok(sptrsm_context_sync(context));
  cuda_ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  ok(sptrsm_batch_solve(c.batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &X, NULL));
  cuda_ok(cudaStreamEndCapture(stream, &graph));
  cuda_ok(cudaGraphInstantiate(&executable, graph, 0));
  const double factors[] = {1, 4, 0, 0.5}; /* of the diagonal of item 2's L; 0: singular */
  for (int round = 0; round < 4; round++) {
    change(&c, 2, factors[round]);
    for (int e = 0; e < ITEMS * SPAN; e++) c.X[e] = -7;
    ok(sptrsm_batch_solve(c.batch, SPTRSM_SYS_L, SPTRSM_N, NULL, &B, &X, NULL));
    ok(sptrsm_context_sync(context));
    memcpy(expected, c.X, sizeof expected);
    for (int e = 0; e < ITEMS * SPAN; e++) c.X[e] = -7;
    cuda_ok(cudaGraphLaunch(executable, stream));
    cuda_ok(cudaStreamSynchronize(stream));
    cr_assert(memcmp(expected, c.X, sizeof expected) == 0, "round %d: the replay has other solutions", round);
    const bool untouched = c.X[2 * SPAN] == -7;
    cr_assert_eq(untouched, factors[round] == 0, "round %d: item 2 was %s", round, untouched ? "left out" : "solved");
    cr_assert(c.X[SPAN] != -7 && c.X[4 * SPAN] != -7, "round %d: another item was left out", round);
  }
  cuda_ok(cudaGraphExecDestroy(executable));
  cuda_ok(cudaGraphDestroy(graph));
  sptrsm_batch_destroy(c.batch);
  sptrsm_context_destroy(context);
  cuda_ok(cudaStreamDestroy(stream));
  cuda_ok(cudaFree(c.sets));
  cuda_ok(cudaFree(c.B));
  cuda_ok(cudaFree(c.X));
}

Test(batch_graph, replays_use_new_values_of_a_uniform_batch) { check_batch(true); }
Test(batch_graph, replays_use_new_values_of_a_mixed_batch) { check_batch(false); }
