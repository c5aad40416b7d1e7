/* kernels.h -- the device steps of structgrid as C functions, and the tiling that they and their caller agree on. Pointers are
 * device pointers. A launcher queues on the stream and returns a cudaError_t as int; it allocates nothing. Order of a solve: start, solve.
 *
 * A tile is what a block solves: SPTI_STRUCTGRID_LANES lines of each of some planes, those with the same `band`. For a cube the lines of a
 * plane are counted from y = -z on, so that a tile needs nothing of bands above its own:
 *
 *     line j of plane w of tile (group, band):  z = group planes + w,  y = band LANES + j - (cube ? z : 0)
 *
 * In step t of a tile that line's row x = t - skew (j + w) is solved: a step after all that it needs. */
#ifndef SPTI_TRSV_STRUCTGRID_TILES_KERNELS_H
#define SPTI_TRSV_STRUCTGRID_TILES_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/stencil/stencil.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SPTI_STRUCTGRID_SHARED = 228200 };                          /* bytes of shared memory that a block takes, at most */
enum { SPTI_STRUCTGRID_COLUMNS = 32, SPTI_STRUCTGRID_LANES = 32 }; /* right-hand sides of one pass, at most; lines of a plane in a tile */

typedef struct {
  int32_t skew, planes, lines_back, planes_back; /* of a tile; lines and planes beside a tile that it needs */
  int32_t groups, bands;                         /* tiles of the grid, with some that no line is in */
  int32_t steps;                                 /* of a tile */
  int32_t edge;                                  /* values of a step and right-hand side that other tiles need */
  int32_t columns;                               /* right-hand sides of a block, at most */
  int32_t entries, stride, slot;                 /* of a row; values of an entry in a step; of a step */
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
  t.stride = lanes * t.planes + 1; /* odd: entries of a row are in banks of their own */
  const int32_t whole = 16 >> (dtype == SPTRSM_F32 ? 2 : wide ? 4 : 3);
  t.slot = (t.entries + 1) * t.stride + whole - 1;
  t.slot -= t.slot % whole;
  return t;
}
/* The bands of a group that have lines, first and last. */
static SPTI_ANYWHERE inline int32_t spti_structgrid_first_band(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group) {
  return s->cube ? (int32_t)((int64_t)group * t->planes / SPTI_STRUCTGRID_LANES) : 0;
}
static SPTI_ANYWHERE inline int32_t spti_structgrid_last_band(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group) {
  const int64_t next = ((int64_t)group + 1) * t->planes, z = (next < s->grid[2] ? next : s->grid[2]) - 1;
  return (int32_t)(((s->cube ? z : 0) + s->grid[1] - 1) / SPTI_STRUCTGRID_LANES);
}
/* A tile's place among groups * bands. */
static SPTI_ANYWHERE inline int64_t spti_structgrid_place(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t group,
                                                          int32_t band) {
  return (int64_t)group * t->bands + band - spti_structgrid_first_band(s, t, group);
}

typedef struct {
  spti_view view;         /* pull */
  spti_stencil stencil;   /* its grid is the view's */
  const int32_t *present; /* [n] by solve position: which entries a row has (core/stencil/kernels.h); for the filling of soa alone */
  int32_t missing;        /* rows lack entries that the grid allows: then there is soa, with a sentinel for each */
  void *soa;              /* values by tile, step x % X and entry, [groups bands][X][slot]; or NULL: those of the view are read */
  const int32_t *order;   /* [tiles][2]: group and band of the tiles that have lines, in an order in which they can be solved */
  int32_t tiles;
  spti_transfer transfer; /* width <= SPTI_STRUCTGRID_COLUMNS */
  int32_t columns;        /* right-hand sides of a block */
  void *edges;            /* [blocks of right-hand sides][groups bands][steps][columns][edge]: what tiles tell others */
  spti_syncfree sync;
} spti_structgrid_args;

int spti_structgrid_start_launch(const spti_structgrid_args *, void *stream); /* edges unpublished, control zero */
int spti_structgrid_solve_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_soa_launch(const spti_structgrid_args *, void *stream); /* view -> soa; a sentinel for an entry that a row lacks */

/* What spti_structgrid_solve_launch chooses from, one file each. */
int spti_structgrid_f32_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_f64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c64_launch(const spti_structgrid_args *, void *stream);
int spti_structgrid_c128_launch(const spti_structgrid_args *, void *stream);

#ifdef __cplusplus
}
#endif
#endif
