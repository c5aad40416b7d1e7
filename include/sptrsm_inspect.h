/* sptrsm_inspect.h -- what a triangle looks like to the solver: level sets, stencils of structured grids, tiles.
 *
 * For programs that report on matrices; nothing here is needed to solve. Structs, errors and ownership as in sptrsm.h.
 */
#ifndef SPTRSM_INSPECT_H
#define SPTRSM_INSPECT_H

#include <sptrsm.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  size_t size;                  /* set to sizeof(sptrsm_level_stats) by the caller */
  int32_t n;
  int64_t nnz;                  /* stored entries, diagonal included where stored */
  int32_t levels;               /* level sets: length of the longest dependency chain */
  int32_t min_rows, max_rows;   /* rows in the smallest and in the largest level */
  double average_rows;          /* n / levels */
  int32_t min_length, max_length; /* entries of a row of op(T), diagonal included where stored */
  double average_length;
} sptrsm_level_stats;
/* Level sets of op(T) X = B as Table III of liu2017syncfree prints them. O(nnz) on the host. */
SPTRSM_API sptrsm_status sptrsm_matrix_levels(sptrsm_level_stats *out, const sptrsm_matrix *, sptrsm_op);

/* Is it a structured problem? Fills stencil and grid as sptrsm_options takes them; stencil "" if the pattern is no stencil's. All rows are
 * looked at, O(nnz) on the host; where entries of the last row are missing, or the grid is thinner than the stencil, it is not found. */
SPTRSM_API sptrsm_status sptrsm_matrix_stencil(char stencil[16], int64_t grid[3], const sptrsm_matrix *);

/* A part of a tiled triangle: tiles of one format, or one array. */
typedef struct {
  const char *name;       /* static storage */
  int64_t tiles, entries; /* formats only */
  int64_t bytes;
} sptrsm_tile_part;
typedef struct {
  size_t size;            /* set to sizeof(sptrsm_tile_stats) by the caller */
  int32_t n, lines;       /* lines of tiles: 16 rows each, fewer where a wide level begins */
  int32_t levels;         /* level sets of lines */
  double parallelism;     /* lines / levels: the tile-level parallelism of lu2023tile */
  int64_t tiles;          /* off the diagonal */
  sptrsm_tile_part formats[9]; /* COO CSR ELL HYB DNS DNSROW DNSCOL; diagonal tiles: DIA, CSR */
  sptrsm_tile_part arrays[12];
  int64_t bytes;            /* of all arrays */
  int64_t compressed_bytes; /* of CSR or CSC: values, 4-byte indices, 4-byte offsets where they suffice */
} sptrsm_tile_stats;
/* op(T) as the tiles of lu2023tile, which the methods tile-levelset and tile-syncfree store. On the host. */
SPTRSM_API sptrsm_status sptrsm_matrix_tiles(sptrsm_tile_stats *out, const sptrsm_matrix *, sptrsm_op);

#ifdef __cplusplus
}
#endif
#endif
