/* sptrsm_reach.h -- sparse right-hand sides, and few rows of X: the part of a factor set that a solve needs.
 *
 * If most rows of B are zero, or only few rows of X are wanted, a solve does not need all of the factors. The nonzero rows of B make only
 * those rows of X nonzero that they reach in the graphs of the factors [gilbert1988], and a wanted row depends only on the rows that reach
 * it. Taking both together leaves a smaller factor set, the "part", of order m <= n. It is a factor set like any other, solved by the
 * same functions on any device:
 *
 *   sptrsm_reach_create(&reach, &factors, &request);
 *   sptrsm_reach_part_of(&part, reach);                                  part.m rows
 *   sptrsm_direct_create(&direct, context, part.factors, options);
 *   copy row part.b_rows[r] of the whole B to row r of B, for r < part.m
 *   sptrsm_direct_solve(direct, request.system, request.op, alpha, &B, &X);
 *   row r of X is row part.x_rows[r] of the whole X, if that row was wanted
 *
 * Wanted rows that are not in part.x_rows are zero. Rows of the part's X that were not wanted have no meaning. The solution is exact,
 * not an approximation. Its bits are those of the whole solve for methods that add up the entries of a row in an order given by the
 * entries alone.
 */
#ifndef SPTRSM_REACH_H
#define SPTRSM_REACH_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sptrsm_reach sptrsm_reach;

#define SPTRSM_ALL_ROWS (-1) /* in place of a count: all rows, and no list is needed */

/* What the solve will be asked for. */
typedef struct {
  size_t size; /* sizeof(sptrsm_reach_request), set by sptrsm_reach_request_init */
  sptrsm_system system;
  sptrsm_op op;
  const int32_t *nonzero, *wanted;     /* rows of B that may be nonzero, rows of X that are wanted; ascending, no duplicates */
  int64_t nonzero_count, wanted_count; /* lengths of these lists, or SPTRSM_ALL_ROWS */
  /* Called now and then: a pass over T, which is L or U, has read its entries [first, end), and goes on with others. So the caller can
   * give back memory of arrays that are mapped from a file. NULL: nobody is told. */
  void (*passed)(void *context, const sptrsm_sparse *T, int64_t first, int64_t end);
  void *context;
} sptrsm_reach_request;
/* Defaults: system A, op N, all rows of B and of X. */
SPTRSM_API void sptrsm_reach_request_init_sized(sptrsm_reach_request *, size_t size);
static inline void sptrsm_reach_request_init(sptrsm_reach_request *out) { sptrsm_reach_request_init_sized(out, sizeof *out); }

/* The smaller factor set. Pointers belong to the sptrsm_reach. */
typedef struct {
  size_t size;                    /* set to sizeof(sptrsm_reach_part) by the caller */
  int32_t n, m;                   /* order of the whole factor set and of the part */
  const sptrsm_factors *factors;  /* the part, in host memory */
  const int32_t *b_rows, *x_rows; /* [m] rows of the whole B and X that the part's rows are, ascending */
  int64_t entries, all_entries;   /* stored entries of the triangles that the system uses: in the part, and in the whole */
} sptrsm_reach_part;

/* Finds and copies the part. The factors must be in host memory; they are validated, and not needed afterwards. O(n + entries) on the
 * host. Errors: ARGUMENT (request, lists, or a system that the factors lack), STRUCTURE and SINGULAR as in sptrsm_matrix_create,
 * UNSUPPORTED (factors in device memory), MEMORY. */
SPTRSM_API sptrsm_status sptrsm_reach_create(sptrsm_reach **out, const sptrsm_factors *, const sptrsm_reach_request *);
/* Only after sptrsm_direct_create, which copies the part, or after the solver if that was told to borrow it (sptrsm_factors.copy). */
SPTRSM_API void sptrsm_reach_destroy(sptrsm_reach *);
SPTRSM_API sptrsm_status sptrsm_reach_part_of(sptrsm_reach_part *out, const sptrsm_reach *);

#ifdef __cplusplus
}
#endif
#endif
