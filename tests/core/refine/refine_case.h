/* refine_case.h -- shared by the tests of refinement: matrices with factors that are deliberately inexact, blocks with canaries in their
 * padding, and residuals in long double. */
#ifndef TESTS_CORE_REFINE_REFINE_CASE_H
#define TESTS_CORE_REFINE_REFINE_CASE_H

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sptrsm_refine.h>

#include "support/factor_set.h"

#ifndef DIRECT_PLACE
#define DIRECT_PLACE SPTRSM_HOST
#endif
#ifndef DIRECT_SHARE /* one system in this many is refined */
#define DIRECT_SHARE 1
#endif

enum { NRHS = 21, LD = 26, ROOM = 2 * LD * LD };

#define OK(call) cr_assert_eq((call), SPTRSM_OK, "%s", sptrsm_last_error())

extern sptrsm_context *context; /* the context of the running test */
void open_context(void);
void close_context(void);

typedef struct {
  sptrsm_square A;
  mat dense; /* rounded to the type */
  int64_t ptr[N + 1];
  int32_t idx[NNZ];
  double val[2 * NNZ];
} original;

typedef struct {
  sptrsm_block b;
  double data[ROOM];
} block;

/* Stores the matrix in a format with unsorted lines; of a symmetric matrix only the lower triangle, while `dense` has both. */
void store_original(original *out, const mat *A, sptrsm_format format, sptrsm_symmetry symmetry, sptrsm_dtype t);
/* Makes factors and their product as the original. Then every entry of L is multiplied by 1 + by or 1 - by. */
void build(factor_set *s, original *A, const recipe *r, sptrsm_dtype t, sptrsm_format format, double by);
/* With panel 0 the library chooses the panel. A may be NULL. */
sptrsm_direct *create(const factor_set *s, const original *A, sptrsm_precision precision, int32_t panel);
double complex at(const block *x, int64_t i, int64_t k);
void set(block *x, int64_t i, int64_t k, double complex v);
/* Fills the whole block with canaries. */
void make_block(block *out, sptrsm_layout layout, int64_t nrhs, int64_t padding, sptrsm_dtype t);
/* Fills the block with random numbers of the type. */
void draw(block *x);
void check_padding(const block *x);
/* Calls sptrsm_direct_refine. On a device, bits 0 and 1 of `turn` say whether B and X are in device memory. */
sptrsm_status refine_at(int turn, sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const void *alpha, block *B, block *X,
                        const sptrsm_refine_options *options, sptrsm_refine_result *out);
double u_of(sptrsm_dtype t);
double cabs1(double complex z);
/* op(S) for the systems A, At and Aat. */
mat system_of(const mat *A, sptrsm_system system, sptrsm_op op);
/* Checks that the reported errors are right within a few unit roundoffs, and at most `limit`. */
void check_columns(const mat *S, double complex alpha, const block *B, const block *X, const double *berr, double limit, const char *what);
mat product(mat x, mat y);
/* Checks the status, and that the message contains `part`. */
void expect(sptrsm_status wanted, sptrsm_status got, const char *part);

#endif
