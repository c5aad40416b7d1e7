/* schedule.h -- how tile-levelset on a GPU divides the levels of tile rows into launches. Host only. */
#ifndef SPTI_TRSV_TILES_LEVELSET_SCHEDULE_H
#define SPTI_TRSV_TILES_LEVELSET_SCHEDULE_H

#include "trsv/tiles/tiles.h"

/* What a variant "tile-levelset:tiles=32,wide=100" may set. */
typedef struct {
  spti_tiles_settings tiles;
  int32_t order;    /* of rows: SPTI_TILE_ORDER_... */
  int32_t wide;     /* levels of at least this many tile rows are a launch of their own */
  int32_t thre;     /* tile rows a level, on average, from which on threads solve diagonal tiles */
  int32_t diagonal; /* who solves diagonal tiles: SPTI_TILE_DIAGONAL_... */
} spti_tile_levelset_settings;

enum { SPTI_TILE_ORDER_LEVEL, SPTI_TILE_ORDER_NATURAL };
enum { SPTI_TILE_DIAGONAL_AUTO, SPTI_TILE_DIAGONAL_THREAD, SPTI_TILE_DIAGONAL_WARP };

sptrsm_status spti_tile_levelset_settings_parse(spti_tile_levelset_settings *, const char *variant); /* defaults, then the variant */

/* Items [first, last): a run of levels, or a level by itself. */
typedef struct {
  int32_t first, last;
  bool wide;    /* a level by itself: no item waits */
  bool threads; /* its diagonal tiles are solved by threads, in a launch of their own */
  bool sums;    /* it has tiles off the diagonal, too */
} spti_tile_levelset_step;

typedef struct {
  spti_tile_levelset_step *steps; /* [levels] at most */
  int32_t count, wide;
  bool waits; /* some step is a run */
} spti_tile_levelset_schedule;

sptrsm_status spti_tile_levelset_schedule_make(spti_tile_levelset_schedule *, const spti_tiles *, const spti_tile_levelset_settings *);
void spti_tile_levelset_schedule_free(spti_tile_levelset_schedule *);

#endif
