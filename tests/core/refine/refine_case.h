/* refine_case.h -- what the tests of refinement share: originals beside factors that fit less well, blocks with canaries in their
 * padding, and the truth in long double. */
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

enum { NRHS = 21, LD = 26, ROOM = 2 * LD * LD };

#define OK(call) cr_assert_eq((call), SPTRSM_OK, "%s", sptrsm_last_error())

extern sptrsm_context *context; /* of the running test */
void open_context(void);
void close_context(void);

typedef struct {
  sptrsm_square A;
  mat dense; /* as rounded to the type */
  int64_t ptr[N + 1];
  int32_t idx[NNZ];
  double val[2 * NNZ];
} original;

typedef struct {
  sptrsm_block b;
  double data[ROOM];
} block;

/* The matrix in a format, unsorted; of a symmetric kind its lower triangle, which `dense` mirrors. */
void store_original(original *out, const mat *A, sptrsm_format format, sptrsm_symmetry symmetry, sptrsm_dtype t);
/* Factors, and their product as the original; then L is disturbed, entry by entry, by a factor of 1 + by or 1 - by. */
void build(factor_set *s, original *A, const recipe *r, sptrsm_dtype t, sptrsm_format format, double by);
/* Panel 0: chosen. A NULL: no original. */
sptrsm_direct *create(const factor_set *s, const original *A, sptrsm_precision precision, int32_t panel);
double complex at(const block *x, int64_t i, int64_t k);
void set(block *x, int64_t i, int64_t k, double complex v);
/* Canaries all over. */
void make_block(block *out, sptrsm_layout layout, int64_t nrhs, int64_t padding, sptrsm_dtype t);
/* Random numbers of the type. */
void draw(block *x);
void check_padding(const block *x);
/* The call with blocks where `turn` says: bit 0 B, bit 1 X in device memory, where there is a device. */
sptrsm_status refine_at(int turn, sptrsm_direct *d, sptrsm_system system, sptrsm_op op, const void *alpha, block *B, block *X,
                        const sptrsm_refine_options *options, sptrsm_refine_result *out);
double u_of(sptrsm_dtype t);
double cabs1(double complex z);
/* op(S) for the three systems that refinement is for. */
mat system_of(const mat *A, sptrsm_system system, sptrsm_op op);
/* Reported errors are true to a few units of rounding, and below the limit. */
void check_columns(const mat *S, double complex alpha, const block *B, const block *X, const double *berr, double limit, const char *what);
mat product(mat x, mat y);
/* The status, and that its message has this part. */
void expect(sptrsm_status wanted, sptrsm_status got, const char *part);

#endif
