/* gpu_case.h -- shared by the tests of a real device: a system with its solution by the host, and blocks with canaries in device memory. */
#ifndef TESTS_CORE_GPU_GPU_CASE_H
#define TESTS_CORE_GPU_GPU_CASE_H

#include <criterion/criterion.h>
#include <cuda_runtime_api.h>

#include "support/solver.h"

#ifndef GPU_ORDER /* smaller for the sanitizers, which slow kernels down a hundredfold */
#define GPU_ORDER 3000
#define GPU_NRHS  70
#endif

enum { N = GPU_ORDER, NRHS = GPU_NRHS, LD_ROWS = NRHS + 3, LD_COLS = N + 5, REACH = 40 };

/* A lower triangle by columns: column j updates j+1, j+7 and a few rows further on; values keep the solution of order
 * 1. */
typedef struct {
  int64_t ptr[N + 1];
  int32_t idx[4 * N];
  double val[4 * N], other[4 * N];
  sptrsm_sparse T;
} system_data;

extern system_data data;                                    /* of the running test */
extern double expected[N * NRHS], expected_other[N * NRHS]; /* X for the values val and other, row-major */
void setup(void);                                           /* fills the three */

void cuda_ok(cudaError_t error);
void ok(sptrsm_status status);
void *to_device(const void *host, size_t bytes);
/* The same system in device memory. */
sptrsm_sparse on_device(const system_data *s);
void free_system(sptrsm_sparse *T);

/* Blocks on the device: B column-major with ld > n, X row-major with ld > nrhs and canaries in its padding. */
typedef struct {
  sptrsm_block B, X;
} blocks;

blocks make_blocks(void);
void free_blocks(blocks *b);
/* X beside the solution, and its canaries. */
void check(const blocks *b, const double *expected, const char *what);

extern const char *const methods[];
extern const size_t method_count;

#endif
