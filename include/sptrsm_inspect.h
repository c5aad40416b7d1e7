/* sptrsm_inspect.h -- what a triangle looks like to the solver: level sets, stencils of structured grids, tiles; and the threads
 * of the host, and what they do in a solve.
 *
 * For programs that report on matrices; nothing here is needed to solve. Structs, errors and ownership are as in sptrsm.h.
 */
#ifndef SPTRSM_INSPECT_H
#define SPTRSM_INSPECT_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Threads of a host context for which sptrsm_context_set_threads was not called: OMP_NUM_THREADS if it is set, else the processors that the
 * process may run on, or fewer where the CPU quota of its cgroup (of a container, a batch job) allows less. At least 1. */
SPTRSM_API int sptrsm_host_threads(void);

/* The time that a thread spent on one step of a panel of right-hand sides. */
typedef struct {
  const char *step;    /* "copy B", "forward solve", "diagonal", "backward solve", "copy X"; static storage */
  int64_t first, nrhs; /* the panel: columns [first, first + nrhs) of the blocks that the solve was called with */
  double begin, end;   /* seconds of CLOCK_MONOTONIC */
} sptrsm_span;
/* Is called at the end of each step, by the thread that did it, so by several threads at a time. Must not call the library. */
typedef void sptrsm_trace(void *user, const sptrsm_span *);
/* From the next solve on, host solves of this context tell `trace` of their steps; NULL: they tell nothing more, which is the default and
 * costs nothing. Where several threads share a panel, the one that owns it tells. Not to be called during a solve. Errors: ARGUMENT,
 * UNSUPPORTED (a CUDA context: its steps are queued, and a profiler of the GPU shows when they run). */
SPTRSM_API sptrsm_status sptrsm_context_set_trace(sptrsm_context *, sptrsm_trace *trace, void *user);

/* Level 0 holds the unknowns that depend on no other; level l+1 those whose deepest dependency lies in level l. */
typedef struct {
  size_t size;                    /* set to sizeof(sptrsm_level_stats) by the caller */
  int32_t n;                      /* order of the triangle */
  int64_t nnz;                    /* stored entries, including those of the diagonal where they are stored */
  int32_t levels;                 /* number of level sets, which is the length of the longest chain of dependencies */
  int32_t min_rows, max_rows;     /* rows in the smallest and in the largest level */
  double average_rows;            /* n / levels */
  int32_t min_length, max_length; /* stored entries in the shortest and in the longest row of op(T) */
  double average_length;
} sptrsm_level_stats;
/* Level sets of op(T) X = B, with the figures of Table III of liu2017syncfree. O(nnz) on the host. */
SPTRSM_API sptrsm_status sptrsm_matrix_levels(sptrsm_level_stats *out, const sptrsm_matrix *, sptrsm_op);
/* level[i] becomes the level of unknown i, for all n of them; n = 0 needs no array. O(nnz) on the host. */
SPTRSM_API sptrsm_status sptrsm_matrix_row_levels(int32_t *level, const sptrsm_matrix *, sptrsm_op);

/* Recognises a stencil on a structured grid. Fills stencil and grid in the form that sptrsm_options takes; stencil is "" if the pattern
 * is none of the known ones. Looks at all rows, O(nnz) on the host. A stencil is not recognised if entries of the last row are missing or
 * the grid is thinner than the stencil. */
SPTRSM_API sptrsm_status sptrsm_matrix_stencil(char stencil[16], int64_t grid[3], const sptrsm_matrix *);

/* One row of the report on a tiled triangle: all tiles of one format, or one array. */
typedef struct {
  const char *name;       /* static storage */
  int64_t tiles, entries; /* of a format; 0 for an array */
  int64_t bytes;
} sptrsm_tile_part;
typedef struct {
  size_t size;                 /* set to sizeof(sptrsm_tile_stats) by the caller */
  int32_t n, tile_rows;        /* order; number of tile rows, each of 16 rows or, where a wide level begins, fewer */
  int32_t levels;              /* level sets of tile rows */
  double parallelism;          /* tile_rows / levels: the tile-level parallelism of lu2023tile */
  int64_t tiles;               /* tiles off the diagonal */
  sptrsm_tile_part formats[9]; /* COO CSR ELL HYB DNS DNSROW DNSCOL, then the diagonal tiles' DIA and CSR */
  sptrsm_tile_part arrays[12];
  int64_t bytes;            /* of all arrays */
  int64_t compressed_bytes; /* of the same triangle in CSR or CSC: values, 4-byte indices, and 4-byte offsets where these suffice */
} sptrsm_tile_stats;
/* op(T) as the tiles of lu2023tile, in which the methods tile-levelset and tile-syncfree store it. Works on the host. */
SPTRSM_API sptrsm_status sptrsm_matrix_tiles(sptrsm_tile_stats *out, const sptrsm_matrix *, sptrsm_op);

#ifdef __cplusplus
}
#endif
#endif
