/* sptrsm_reach.h -- sparse right-hand sides, and few rows of X: the part of a factor set that a solve needs. */
#ifndef SPTRSM_REACH_H
#define SPTRSM_REACH_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where most rows of B are zero, or few rows of X are wanted, most of the factors need not be touched: a solve fills the rows that
 * the nonzero rows of B reach in the graphs of the factors [gilbert1988], and the wanted rows need only the rows that reach them.
 * What is left is a factor set of order m again, with the triangles of the whole between these rows. It is exact, and solved as any
 * other, on any device:
 *   sptrsm_reach_create(&reach, &factors, &request);
 *   sptrsm_reach_part_of(&part, reach);
 *   sptrsm_direct_create(&direct, context, part.factors, options);
 *   row r of B (m rows) is row part.b_rows[r] of the whole one;
 *   sptrsm_direct_solve(direct, request.system, request.op, alpha, &B, &X);
 *   row r of X is row part.x_rows[r] of the whole one, if that is wanted; wanted rows that are not among x_rows are zero.
 * Other rows of X mean nothing. Bits are those of the whole solve where a method adds up a row in an order of its entries alone. */
typedef struct sptrsm_reach sptrsm_reach;

#define SPTRSM_ALL_ROWS (-1) /* as a count of rows */

typedef struct {
  size_t size;                         /* sizeof(sptrsm_reach_request), set by sptrsm_reach_request_init */
  sptrsm_system system;
  sptrsm_op op;
  const int32_t *nonzero, *wanted;     /* rows of B that may be nonzero, rows of X; ascending, no duplicates */
  int64_t nonzero_count, wanted_count; /* may be SPTRSM_ALL_ROWS */
} sptrsm_reach_request;
/* A, op N, all rows of both */
SPTRSM_API void sptrsm_reach_request_init_sized(sptrsm_reach_request *, size_t size);
static inline void sptrsm_reach_request_init(sptrsm_reach_request *out) { sptrsm_reach_request_init_sized(out, sizeof *out); }

typedef struct {
  size_t size;                    /* set to sizeof(sptrsm_reach_part) by the caller */
  int32_t n, m;                   /* order of the whole and of the part */
  const sptrsm_factors *factors;  /* of the part; this and the lists belong to the reach */
  const int32_t *b_rows, *x_rows; /* [m] ascending */
  int64_t entries, all_entries;   /* of the triangles that take part: those of the part, and the whole */
} sptrsm_reach_part;

/* The factors must be in host memory and are not needed afterwards. They are validated; O(n + entries) on the host. */
SPTRSM_API sptrsm_status sptrsm_reach_create(sptrsm_reach **out, const sptrsm_factors *, const sptrsm_reach_request *);
SPTRSM_API void sptrsm_reach_destroy(sptrsm_reach *); /* not before sptrsm_direct_create, which copies */
SPTRSM_API sptrsm_status sptrsm_reach_part_of(sptrsm_reach_part *out, const sptrsm_reach *);

#ifdef __cplusplus
}
#endif
#endif
