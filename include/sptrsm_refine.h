/* sptrsm_refine.h -- iterative refinement and error bounds of the solutions of A x = b, for factor sets (sptrsm_direct). */
#ifndef SPTRSM_REFINE_H
#define SPTRSM_REFINE_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A square sparse matrix in the caller's arrays: 0-based; lines need not be sorted, duplicates add up. */
typedef struct {
  sptrsm_format format;
  sptrsm_dtype dtype;
  sptrsm_symmetry symmetry; /* not GENERAL: entries of one triangle, which stand for those of the other too */
  sptrsm_place place;       /* of ptr, idx and val */
  int32_t n;
  const int64_t *ptr; const int32_t *idx; const void *val; /* [n+1], [ptr[n]], [ptr[n]] */
} sptrsm_square;
/* Gives a direct solver the matrix that its factors are of, copied; in the dtype that the factors were given in. Call it again for
 * new numbers; A NULL: forgets it. Errors: ARGUMENT, STRUCTURE (the first index out of range), MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_direct_set_original(sptrsm_direct *, const sptrsm_square *A);

typedef struct {
  size_t size;       /* sizeof(sptrsm_refine_options), set by sptrsm_refine_options_init */
  int32_t max_steps; /* corrections of a column at most; 0: none, only errors. Default -1: 5 as dgerfs has it, with MIXED 30 as dsgesv */
  int32_t solve;     /* nonzero: X need not hold anything, it is solved for first. Default 0: X holds solutions to be refined */
  double tolerance;  /* a column with a berr above it counts as unconverged; default 0: 10 u, u the unit roundoff of B's type */
} sptrsm_refine_options;
SPTRSM_API void sptrsm_refine_options_init_sized(sptrsm_refine_options *, size_t size);
static inline void sptrsm_refine_options_init(sptrsm_refine_options *out) { sptrsm_refine_options_init_sized(out, sizeof *out); }

typedef struct {
  size_t size;         /* set to sizeof(sptrsm_refine_result) by the caller, like the next three */
  double *berr;        /* host, [nrhs], or NULL: componentwise backward error of each column */
  double *ferr;        /* host, [nrhs], or NULL (then the work is saved): bound of the forward error, max |x - true x| / max |x| */
  int32_t *steps;      /* host, [nrhs], or NULL: corrections made */
  double max_berr;     /* NaN if a column has NaN */
  int64_t worst;       /* the column that has it; -1: no columns */
  int64_t unconverged; /* columns whose berr is not <= tolerance */
} sptrsm_refine_result;

/* Iterative refinement of op(S) X = alpha B, x := x + op(S)^-1 (alpha b - op(S) x), for S = SYS_A, SYS_At or SYS_Aat, where A was given
 * (sptrsm_direct_set_original). Follows LAPACK's dgerfs [arioli1989, lapack1999], column by column:
 *   berr = max_i |alpha b - op(S) x|_i / (|op(S)| |x| + |alpha b|)_i, the residual in B's precision, |z| = |re z| + |im z|. Tiny
 *   denominators are lifted as there; rows of zeros count as 0, where dgerfs says 1. A column is done when berr <= u, when the last
 *   correction did not halve it, or after max_steps. NaN and Inf stay in their columns, which are not refined further.
 *   ferr = ||  |op(S)^-1| (|r| + (nz + 1) u (|op(S)| |x| + |alpha b|))  || / ||x||, maximum norms, nz entries in the longest row; the norm
 *   is estimated by about five solves [higham1988] with op(S) and its adjoint; rarely too small by more than a factor of 3.
 * With factors in single precision (MIXED) corrections are solved wholly in it, each residual scaled by a power of two, while B, X and
 * residuals stay in double. A column then goes on as long as berr or its greatest residual is halved now and then, and is done at 6 u; rows
 * that have come so far are left out of corrections, so that small entries converge as large ones do. So berr becomes that of double
 * precision where cond(A) is well below 10^7 [higham2002]; `unconverged` counts columns where not.
 * Where |op(S)| |x| + |alpha b| overflows, berr is NaN.
 * B and X as in sptrsm_direct_solve, but X is not B, and of the dtype the factors were given in. Memory: two panels more, two for blocks
 * in host memory where a GPU works; with ferr two in double precision on the host and for a while one of real numbers on the GPU, which
 * memory_limit does not know of. Returns when all is done. out may be NULL. Errors as there. */
SPTRSM_API sptrsm_status sptrsm_direct_refine(sptrsm_direct *, sptrsm_system, sptrsm_op op, const void *alpha, const sptrsm_block *B,
                                              sptrsm_block *X, const sptrsm_refine_options * /* or NULL */, sptrsm_refine_result *out);

#ifdef __cplusplus
}
#endif
#endif
