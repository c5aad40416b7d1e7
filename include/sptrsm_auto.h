/* sptrsm_auto.h -- how the method `auto` chooses: its table and what it knows of a triangle, for those who tune it or want to see.
 *
 * `auto` goes through the rows of a table and takes the method of the first one all of whose bounds hold for its features: numbers of the
 * triangle and the right-hand sides. Where that method refuses the triangle or finds no memory, the next such row counts.
 * sptrsm_plan_info says what was chosen and why.
 */
#ifndef SPTRSM_AUTO_H
#define SPTRSM_AUTO_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the table may go by, in this order:
 *   nrhs              right-hand sides of a solve, 0: unknown
 *   levels            number of level sets
 *   wide_levels       number of level sets with many rows (GPU)
 *   thin_share        share of the level sets with few rows (GPU)
 *   rows_a_level      n / levels
 *   entries_a_level   stored entries / levels
 *   levels_a_hop      level sets of rows per level set of row panels, as `block` forms them (GPU); 0: not looked for
 *   stencil           rows that can be solved at the same time if the pattern is a stencil's on a grid (GPU), else 0
 *   chained           share of the entries in rows with nearly the pattern of a neighbour, as in supernodes (host)
 *   single_to_double  operations in single precision that the device does in the time of one in double (GPU), else 0 */
#define SPTRSM_AUTO_FEATURES 10
SPTRSM_API const char *sptrsm_auto_feature(int index); /* its name, static storage; NULL beyond 0 <= index < SPTRSM_AUTO_FEATURES */

/* values [SPTRSM_AUTO_FEATURES]: the features of op(T) with options->nrhs_hint right-hand sides (0: unknown); options NULL: the defaults.
 * Computes all features, even those that no plan of this matrix would need; this takes about as long as creating a plan. Errors:
 * ARGUMENT, MEMORY, DEVICE. */
SPTRSM_API sptrsm_status sptrsm_auto_features(double *values, const sptrsm_matrix *, const sptrsm_options *);

typedef struct {
  size_t size;                        /* set to sizeof(sptrsm_auto_row) by the caller */
  const char *name, *method, *reason; /* static storage */
  sptrsm_place place;
  int32_t deterministic; /* the method is; where options.deterministic asks for that, other rows do not count */
  double least[SPTRSM_AUTO_FEATURES], most[SPTRSM_AUTO_FEATURES]; /* inclusive; most 0: no upper bound */
} sptrsm_auto_row;
SPTRSM_API int sptrsm_auto_row_count(void);
/* The name by which bounds are tuned for the device of a context: a GPU's name, as of sptrsm_context_describe; on the host the instruction
 * set that its kernels use ("avx512", "avx2", "baseline"), whatever the number of threads. Valid while the context lives; NULL: "". */
SPTRSM_API const char *sptrsm_auto_device(const sptrsm_context *);
/* With the bounds tuned for `device`, a name as of sptrsm_auto_device; NULL: the bounds without tuning. 0 <= index < count, else
 * ARGUMENT. */
SPTRSM_API sptrsm_status sptrsm_auto_row_at(sptrsm_auto_row *out, int index, const char *device);

#ifdef __cplusplus
}
#endif
#endif
