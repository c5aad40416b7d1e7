/* sptrsm_refine.h -- iterative refinement and error bounds of the solutions of A x = b, for factor sets (sptrsm_direct). */
#ifndef SPTRSM_REFINE_H
#define SPTRSM_REFINE_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A square sparse matrix in the caller's arrays: 0-based. Rows (CSR) or columns (CSC) need not be sorted; duplicate entries add up. */
typedef struct {
  sptrsm_format format;
  sptrsm_dtype dtype;
  sptrsm_symmetry symmetry; /* GENERAL: all entries are stored. Otherwise those of one triangle, which stand for the other one, too */
  sptrsm_place place;       /* of ptr, idx and val */
  int32_t n;
  const int64_t *ptr; /* [n+1] */
  const int32_t *idx; /* [ptr[n]] */
  const void *val;    /* [ptr[n]] of dtype */
} sptrsm_square;

/* Gives a direct solver a copy of the matrix A that its factors were made from, in the dtype that the factors were given in. Call it again
 * when A has new values; A NULL removes the copy. Errors: ARGUMENT, STRUCTURE (names the first index out of range), MEMORY, DEVICE.
 * If the context has a memory limit, the panels get as narrow as refinement needs; if there is no room for one right-hand side, that is
 * MEMORY, and the solver has no copy afterwards. With a limit this and refinement free the memory of earlier solves, so CUDA graphs of
 * these must not be replayed. */
SPTRSM_API sptrsm_status sptrsm_direct_set_original(sptrsm_direct *, const sptrsm_square *A);

typedef struct {
  size_t size;       /* sizeof(sptrsm_refine_options), set by sptrsm_refine_options_init */
  int32_t max_steps; /* most corrections of a column; 0: compute errors only. Default -1: 5 as in dgerfs, with MIXED 30 as in dsgesv */
  int32_t solve;     /* nonzero: X holds nothing yet and is solved for first. Default 0: X holds solutions to be refined */
  double tolerance;  /* a column whose berr is above it counts as unconverged. Default 0: 10 u, u being the unit roundoff of B's type */
} sptrsm_refine_options;
/* The defaults named above. */
SPTRSM_API void sptrsm_refine_options_init_sized(sptrsm_refine_options *, size_t size);
static inline void sptrsm_refine_options_init(sptrsm_refine_options *out) { sptrsm_refine_options_init_sized(out, sizeof *out); }

typedef struct {
  size_t size;         /* set to sizeof(sptrsm_refine_result) by the caller, who also sets the next three */
  double *berr;        /* host, [nrhs], or NULL: componentwise backward error of each column */
  double *ferr;        /* host, [nrhs], or NULL, which saves its work: estimate of the forward error max |x - true x| / max |x| */
  int32_t *steps;      /* host, [nrhs], or NULL: corrections made in each column */
  double max_berr;     /* the largest berr; NaN if a column has NaN */
  int64_t worst;       /* the column with the largest berr; -1: there are no columns */
  int64_t unconverged; /* number of columns whose berr is not <= tolerance */
} sptrsm_refine_result;

/* Iterative refinement of op(S) X = alpha B for S = SYS_A, SYS_At or SYS_Aat: x := x + op(S)^-1 (alpha b - op(S) x), column by
 * column, after LAPACK's dgerfs [arioli1989, lapack1999]. A must have been given (sptrsm_direct_set_original).
 *
 * Backward error: berr = max_i |alpha b - op(S) x|_i / (|op(S)| |x| + |alpha b|)_i, with |z| = |re z| + |im z| and the residual in B's
 *   precision. Tiny denominators are raised as in dgerfs, but a row that is zero on both sides counts as 0 (in dgerfs: 1). Refinement
 *   of a column ends when berr <= u, when the last correction did not halve it, or after max_steps. A column with NaN or Inf is not
 *   refined further, and the other columns are not affected. If |op(S)| |x| + |alpha b| overflows, berr is NaN.
 * Forward error: ferr = || |op(S)^-1| (|r| + (nz + 1) u (|op(S)| |x| + |alpha b|)) || / ||x|| in maximum norms, where nz is the number of
 *   entries of the longest row. The norm is estimated by about five solves with op(S) and its adjoint [higham1988]; the estimate is
 *   rarely too small by more than a factor of 3.
 * Mixed precision (options.precision MIXED when the solver was created): corrections are solved in single precision, each residual
 *   scaled by a power of two; B, X and residuals stay in double precision. A column goes on while its berr or its largest residual keeps
 *   being halved, for up to three steps more while its berr is above 10 u, and is done at 6 u. Rows that have reached 6 u are left out
 *   of further corrections, so that small entries of x converge, too. berr reaches that of double precision if cond(A) is well below
 *   10^7 [higham2002]; `unconverged` counts the other columns.
 *
 * B and X as in sptrsm_direct_solve, but X must not be B, and both have the dtype that the factors were given in. options and out may be
 * NULL. Returns when the work is done. Memory: two panels beyond the solver's own, and two more if a GPU works on blocks in host memory.
 * ferr takes two panels of double precision in host memory, which options.memory_limit does not count. Errors as in sptrsm_direct_solve;
 * after an error the memory is given back. */
SPTRSM_API sptrsm_status sptrsm_direct_refine(sptrsm_direct *, sptrsm_system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                              sptrsm_block *X, const sptrsm_refine_options *options, sptrsm_refine_result *out);

#ifdef __cplusplus
}
#endif
#endif
