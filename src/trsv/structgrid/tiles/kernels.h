/* kernels.h -- structgrid's tiles: the tiling on which host and kernels agree, and the launchers. Pointers are device pointers. A
 * launcher queues on the stream and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, solve.
 *
 * A line is a grid line (y, z). A thread block solves a tile: SPTI_STRUCTGRID_LANES lines of each of some planes (a group of planes, a
 * band of lines). For a cube the lines of a plane are counted from y = -z on, so that a tile needs nothing of the bands above it:
 *
 *     line j of plane w of tile (group, band):  z = group planes + w,  y = band LANES + j - (cube ? z : 0)
 *
 * In step t of the tile, row x = t - skew (j + w) of that line is solved: at least a step after the rows that it needs. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_KERNELS_H
#define SPTI_TRSV_STRUCTGRID_TILES_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/stencil/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STRUCTGRID_SHARED = 228200 };                          /* most bytes of shared memory of a thread block */
enum { SPTI_STRUCTGRID_COLUMNS = 32, SPTI_STRUCTGRID_LANES = 32 }; /* most right-hand sides of one pass; lines of a plane in a tile */

typedef struct {
  int32_t skew, planes, lines_back, planes_back; /* steps between lines; planes of a tile; lines and planes that it needs beside it */
  int32_t groups, bands;                         /* of the grid; some tiles have no line */
  int32_t steps;                                 /* of a tile, from its first row to its last */
  int32_t edge;                                  /* values that a tile publishes for other tiles in a step, for each right-hand side */
  int32_t columns;                               /* most right-hand sides of a thread block */
  int32_t entries, stride, slot;                 /* entries of a row; values of one entry in a step; values of a step */
} spti_structgrid_tiling;

static SPTI_ANYWHERE inline spti_structgrid_tiling spti_structgrid_tiling_of(const spti_stencil *s, sptrsm_dtype dtype) {
  const int32_t lanes = SPTI_STRUCTGRID_LANES, far = s->far ? 1 : 0, wide = dtype == SPTRSM_C128 ? 1 : 0;
  spti_structgrid_tiling t;
  t.skew = s->cube ? 2 : 1;
  t.planes = wide ? 2 : 4;
  t.lines_back = s->cube || s->far ? 2 : 1;
  t.planes_back = 1 + far;
  t.groups = (int32_t)(((int64_t)s->grid[2] + t.planes - 1) / t.planes);
  t.bands = (int32_t)(s->cube ? ((int64_t)s->grid[1] + t.planes - 2) / lanes + 2 : ((int64_t)s->grid[1] + lanes - 1) / lanes);
  t.steps = s->grid[0] + t.skew * (lanes + t.planes - 2);
  t.edge = t.planes_back * lanes + t.lines_back * t.planes;
  t.columns = wide ? 1 : 2;
  t.entries = (s->cube ? 13 : 3) + 3 * far;
  t.stride = lanes * t.planes + 1; /* odd, so that the entries of a row are in different banks */
  const int32_t whole = 16 >> (dtype == SPTRSM_F32 ? 2 : wide ? 4 : 3);
  t.slot = (t.entries + 1) * t.stride + whole - 1;
  t.slot -= t.slot % whole;
  return t;
}
/* The first and the last band of a group that have lines. */
static SPTI_ANYWHERE inline int32_t spti_structgrid_first_band(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group) {
  return s->cube ? (int32_t)((int64_t)group * t->planes / SPTI_STRUCTGRID_LANES) : 0;
}
static SPTI_ANYWHERE inline int32_t spti_structgrid_last_band(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group) {
  const int64_t next = ((int64_t)group + 1) * t->planes, z = (next < s->grid[2] ? next : s->grid[2]) - 1;
  return (int32_t)(((s->cube ? z : 0) + s->grid[1] - 1) / SPTI_STRUCTGRID_LANES);
}
/* The number of a tile among all groups * bands. */
static SPTI_ANYWHERE inline int64_t spti_structgrid_place(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group,
                                                          int32_t band) {
  return (int64_t)group * t->bands + band - spti_structgrid_first_band(s, t, group);
}

typedef struct {
  spti_view view;         /* pull */
  spti_stencil stencil;   /* its grid is the view's */
  const int32_t *present; /* [n] by solve position: which entries a row has (core/stencil/kernels.h); only for filling soa */
  int32_t missing;        /* rows lack entries that the grid allows: then soa exists, and has a sentinel for each */
  void *soa;              /* values by tile, step x % X and entry, [groups bands][X][slot]; or NULL: values are read from the view */
  const int32_t *order;   /* [tiles][2]: group and band of the tiles that have lines, in an order in which they can be solved */
  int32_t tiles;
  spti_transfer transfer; /* width <= SPTI_STRUCTGRID_COLUMNS */
  int32_t columns;        /* right-hand sides of a block */
  void *edges;            /* [blocks of right-hand sides][groups bands][steps][columns][edge]: solutions published for other tiles */
  spti_syncfree sync;
} spti_structgrid_args;

int spti_structgrid_start_launch(const spti_structgrid_args *, void *stream); /* edges unpublished, control zero */
int spti_structgrid_solve_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_soa_launch(const spti_structgrid_args *, void *stream); /* view -> soa; a sentinel for an entry that a row lacks */

/* The solve for one type each; spti_structgrid_solve_launch calls the one that fits. */
int spti_structgrid_f32_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_f64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c128_launch(const spti_structgrid_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
