/* streamed.h -- the state of a plan of `block-streamed`: the panels of `block`, in pieces that lie in page-locked host memory as they will
 * lie on the device. */
#ifndef SPTI_TRSM_BLOCK_GPU_STREAMED_STREAMED_H
#define SPTI_TRSM_BLOCK_GPU_STREAMED_STREAMED_H

#include "trsm/block/gpu/analysis.h"
#include "trsm/block/gpu/block.h"
#include "trsm/block/gpu/streamed/partition.h"

/* A run of panels. Its image has the first places of its panels, then the arrays of analysis.h by panels and by steps and tiles. */
typedef struct {
  int32_t panel, count; /* the first panel; panels */
  int32_t levels;       /* an estimate of the length of its longest chain of panels */
  int64_t totals[SPTI_BLOCK_TOTALS];
  size_t at, bytes; /* of the image in spti_streamed.image */
} spti_streamed_piece;

typedef struct {
  spti_block_settings set;
  int32_t tile;    /* right-hand sides of a thread block, or 0 (block.h) */
  int32_t pieces;  /* at least this many; 0: by the room on the device */
  int32_t overlap; /* pieces whose kernels run at the same time */
  spti_block_partition found;
  spti_streamed_piece *piece; /* [piece_count] */
  int32_t piece_count;
  int32_t places;       /* the most of a piece */
  int64_t entries;      /* likewise */
  size_t working_bytes; /* of device memory, for the time of an analysis or of new values */
  size_t largest;       /* bytes of the largest piece */
  char *image;          /* page-locked */
  size_t bytes;         /* of image */
  int64_t tiles;        /* of all pieces, with those of diagonal blocks */
} spti_streamed;

/* Makes all but set, tile, pieces and overlap, of plan->view in host memory. On the device it takes the lines and the image of one piece at
 * a time. After a failure, too, call spti_streamed_free. */
sptrsm_status spti_streamed_make(spti_streamed *, const sptrsm_plan *);
sptrsm_status spti_streamed_update(spti_streamed *, const sptrsm_plan *); /* new values, same pattern */
void spti_streamed_free(spti_streamed *);
/* What the solve kernel needs of a piece whose image lies at `image`. */
void spti_streamed_state(spti_block_state *out, const spti_streamed *, const sptrsm_plan *, const spti_streamed_piece *, void *image);
void spti_streamed_flagged(int32_t out[3], const spti_streamed *, const sptrsm_plan *); /* substituted, refined, apart */

#endif
