/* schedule.h -- how tile-levelset on a GPU divides the levels of tile rows into launches. Host only. */
#ifndef SPTI_TRSV_TILES_LEVELSET_SCHEDULE_H
#define SPTI_TRSV_TILES_LEVELSET_SCHEDULE_H

#include "trsv/tiles/tiles.h"

/* What a variant "tile-levelset:tiles=32,wide=100" may set. */
typedef struct {
  spti_tiles_settings tiles;
  int32_t order;    /* of rows: */
  int32_t wide;     /* tile rows of a level from which on it is a launch of its own */
  int32_t thre;     /* tile rows per level, on average, from which on diagonal tiles are solved by threads */
  int32_t diagonal; /* by which rule: */
} spti_tile_levelset_settings;

enum { SPTI_TILE_ORDER_LEVEL, SPTI_TILE_ORDER_NATURAL };
enum { SPTI_TILE_DIAGONAL_AUTO, SPTI_TILE_DIAGONAL_THREAD, SPTI_TILE_DIAGONAL_WARP };

sptrsm_status spti_tile_levelset_settings_parse(spti_tile_levelset_settings *, const char *variant); /* over the defaults */

/* Items [first, last): a run of levels, or a level by itself. */
typedef struct {
  int32_t first, last;
  bool wide;    /* a level by itself: nothing is waited for */
  bool threads; /* its diagonal tiles are solved by threads, in a launch of their own */
  bool sums;    /* it has tiles besides */
} spti_tile_levelset_step;

typedef struct {
  spti_tile_levelset_step *steps; /* [levels] at most */
  int32_t count, wide;
  bool waits; /* some step is a run */
} spti_tile_levelset_schedule;

sptrsm_status spti_tile_levelset_schedule_make(spti_tile_levelset_schedule *, const spti_tiles *, const spti_tile_levelset_settings *);
void spti_tile_levelset_schedule_free(spti_tile_levelset_schedule *);

#endif
