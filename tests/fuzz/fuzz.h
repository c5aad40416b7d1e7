/* fuzz.h -- what the fuzz targets share: reading the input, values, files in memory, and what a solution must satisfy. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <common/chain.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <support/oracle.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A condition that no input may break. The message goes to stderr, and libFuzzer keeps the input. */
#define FUZZ_CHECK(condition, ...)                                                                                                         \
  do {                                                                                                                                     \
    if (!(condition)) {                                                                                                                    \
      fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #condition);                                                        \
      fprintf(stderr, __VA_ARGS__);                                                                                                        \
      fputc('\n', stderr);                                                                                                                 \
      abort();                                                                                                                             \
    }                                                                                                                                      \
  } while (0)

/* ---- the input, read from its begin; behind its end there are zeros ---- */

typedef struct {
  const uint8_t *at;
  size_t left;
} fuzz_bytes;

int fuzz_below(fuzz_bytes *, int bound); /* one byte: 0 .. bound-1, bound <= 256 */
/* One byte: two thirds are small numbers between 0.001 and 1000 and their negatives, others multiples of 1/16, zero, huge and tiny numbers,
 * infinities and NaN. */
double fuzz_value(fuzz_bytes *);
void fuzz_values(fuzz_bytes *, void *val, sptrsm_dtype, int64_t count);
/* Text up to a zero byte or the end of the input, at most room - 1 characters. */
void fuzz_text(fuzz_bytes *, char *out, size_t room);

/* ---- files ---- */

/* A folder of this process, in TMPDIR, else in /dev/shm, where files lie in memory. It is removed at the end, but not after a finding. */
const char *fuzz_folder(void);
const char *fuzz_file(void); /* a name in it */
void fuzz_write_file(const char *name, const void *data, size_t bytes);

/* ---- what must hold ---- */

/* Whether T keeps every rule that sptrsm_matrix_create states. n, ptr[0..n] and the array lengths are sound. */
bool fuzz_is_triangle(const sptrsm_sparse *T);
/* M is sorted, within its shape and without duplicates. */
void fuzz_check_matrix(const sptrsm_file_matrix *M);
/* op(T) as a product of one factor. */
chain fuzz_chain_of(const sptrsm_sparse *T, sptrsm_op);
/* X solves S X = alpha B, as far as it can be told: every column whose numbers neither overflow nor underflow in long double must be finite
 * and keep the bound of README.md (a triangle) or a small multiple of n u (a product). */
void fuzz_check_solution(const chain *S, const void *alpha, const test_block *B, const test_block *X);
/* A context with a few threads, made once. */
sptrsm_context *fuzz_context(void);
/* Solves with a triangle, as far as it is small, for a block, options and an operation from the input, and checks the solution. */
void fuzz_solve_triangle(const sptrsm_sparse *T, fuzz_bytes *);
/* A block with values from the input: n x nrhs in some layout, a little larger than it needs to be. */
test_block fuzz_block(fuzz_bytes *, int32_t n, int64_t nrhs, sptrsm_dtype);
/* Options from the input: a method with parameters, panel, operation, hints and limits; text holds the name. */
void fuzz_options(sptrsm_options *, fuzz_bytes *, char *text, size_t room);
/* Options of the loaders from the input, with a memory limit of at most 64 MB. */
void fuzz_io_options(sptrsm_io_options *, fuzz_bytes *);

#endif
