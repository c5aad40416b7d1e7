/* oracle.h -- test systems op(T) X = alpha B: triangles of known shape, blocks with canaries, and the residual of a solution. */
#ifndef TESTS_SUPPORT_ORACLE_H
#define TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include <sptrsm.h>

/* ---- random numbers that are the same on every machine ---- */

typedef struct {
  uint64_t state;
} test_random;

uint64_t test_random_next(test_random *);
int test_random_below(test_random *, int bound);                    /* 0 .. bound-1 */
double test_random_value(test_random *, double least, double most); /* magnitude in [least, most], either sign */

/* ---- triangles ---- */

typedef enum {
  TEST_DIAGONAL,  /* no other entries */
  TEST_CHAIN,     /* each row depends on the row before */
  TEST_ARROW,     /* every row depends on the first */
  TEST_DENSE_ROW, /* the last row depends on all others */
  TEST_GRID,      /* five points in the plane; of order 1025, 33 points in space (D3N33) on 5 x 41 x 5 */
  TEST_RANDOM,    /* about four entries per row, no symmetry */
  TEST_LAYERED,   /* six layers; a row depends on three rows of the layer before */
  TEST_TREE,      /* nodes of three rows, most of them supernodes, which depend on nodes below them in a tree, as in a factor */
  TEST_FULL,      /* all entries below the diagonal */
  TEST_PATTERNS
} test_pattern;

typedef enum {
  TEST_NONUNIT,
  TEST_UNIT_STORED,   /* unit diagonal, but wrong values are stored in every line */
  TEST_UNIT_IMPLICIT, /* unit diagonal, stored in no line */
  TEST_UNIT_MIXED,    /* unit diagonal, stored in some lines */
  TEST_DIAGS
} test_diag;

extern const char *const test_pattern_names[TEST_PATTERNS], *const test_diag_names[TEST_DIAGS], *const test_dtype_names[4];

/* A matrix that owns the arrays T.ptr, T.idx and T.val. */
typedef struct {
  sptrsm_sparse T;
  test_diag diag;
} test_system;

/* Diagonal entries have magnitude 1 to 2, others 0.2 to 0.6, so that solutions neither overflow nor vanish. */
test_system test_system_make(test_pattern, int32_t n, sptrsm_format, sptrsm_dtype, sptrsm_uplo, test_diag, uint64_t seed);
void test_system_new_values(test_system *, uint64_t seed); /* same pattern */
void test_system_free(test_system *);

/* ---- blocks ---- */

/* A dense block in memory that is filled with a pattern outside the block. */
typedef struct {
  sptrsm_block block;
  unsigned char *memory;
  size_t bytes;
} test_block;

test_block test_block_make(int32_t n, int64_t nrhs, sptrsm_dtype, sptrsm_layout, int padding); /* ld is the least possible + padding */
test_block test_block_copy(const test_block *);
void test_block_free(test_block *);
void test_block_fill(test_block *, uint64_t seed); /* element (i,k) depends on i, k and the seed only */
bool test_block_intact(const test_block *);        /* nothing was written outside the block */
void test_block_set(test_block *, int32_t i, int64_t k, double re, double im);
void test_block_get(double *re, double *im, const test_block *, int32_t i, int64_t k);
bool test_block_same_bits(const test_block *, const test_block *); /* element by element, any layouts */

/* ---- residual ---- */

/* The largest over i and k of |alpha b - op(T) x|(i,k) / ((entries of row i + 1) u (|op(T)| |x|)(i,k)), in long double, or double for
 * single precision. alpha: real and imaginary part. Column `skip` (or -1) is left out. NaN where the solution has one. */
double test_residual(const test_system *, sptrsm_op, const double alpha[2], const test_block *B, const test_block *X, int64_t skip);

#endif
