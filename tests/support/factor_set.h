/* factor_set.h -- small random factor sets for the tests of sptrsm_direct: sparse for the library, dense for the check. */
#ifndef TESTS_SUPPORT_FACTOR_SET_H
#define TESTS_SUPPORT_FACTOR_SET_H

#include <complex.h>
#include <stdbool.h>

#include <sptrsm.h>

enum { N = 13, NNZ = N * N };

typedef struct {
  double complex a[N][N];
} mat;

mat tr(mat);  /* transposed */
mat adj(mat); /* conjugate transposed */

/* ---- numbers of the four types ---- */

bool is_single(sptrsm_dtype);
bool is_complex(sptrsm_dtype);
double complex get(const void *p, int64_t i, sptrsm_dtype);
void put(void *p, int64_t i, sptrsm_dtype, double complex);
double complex number(sptrsm_dtype); /* random and exact in the type; every run draws the same numbers */

/* ---- factor sets ---- */

typedef struct {
  sptrsm_sparse T;
  int64_t ptr[N + 1];
  int32_t idx[NNZ];
  double val[2 * NNZ];
} triangle;

typedef struct {
  mat L, D, U, P, Q, R_inverse, C_inverse;
} dense_parts;

typedef struct {
  sptrsm_factors f;
  triangle L, U;
  double D[2 * N], D_sub[2 * N], scale_row[N], scale_col[N];
  int32_t perm_row[N], perm_col[N];
  dense_parts dense;
} factor_set;

typedef struct {
  const char *name;
  sptrsm_u_kind u_kind;
  bool has_U, has_D, pairs, hermitian, permuted, scaled;
  sptrsm_diag l_diag;
  sptrsm_format l_format, u_format;
  sptrsm_convention row_convention, col_convention;
  sptrsm_scale_op row_op, col_op;
} recipe;

enum { RECIPES = 7 };
extern const recipe recipes[RECIPES];

/* Draws pattern, values and permutations. The set has pointers into itself: do not copy it. */
void build_factor_set(factor_set *, const recipe *, sptrsm_dtype);

#endif
