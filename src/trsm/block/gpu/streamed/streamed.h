/* streamed.h -- the state of a plan of `block-streamed`: the panels of `block`, in pieces that lie in page-locked host memory as they will
 * lie on the device. */
#ifndef SPTI_TRSM_BLOCK_GPU_STREAMED_STREAMED_H
#define SPTI_TRSM_BLOCK_GPU_STREAMED_STREAMED_H

#include "trsm/block/gpu/analysis.h"
#include "trsm/block/gpu/block.h"
#include "trsm/block/gpu/streamed/kernels.h"
#include "trsm/block/gpu/streamed/partition.h"

/* A run of panels, by level. Its image has the first places of its panels, then the arrays of analysis.h by panels, steps and tiles. */
typedef struct {
  int32_t panel, count; /* the first panel; panels */
  int64_t totals[SPTI_BLOCK_TOTALS];
  size_t at, bytes; /* of the image in spti_streamed.image */
  size_t packed_at, packed_bytes;
  int64_t values; /* of its tiles without missing entries */
} spti_streamed_piece;

/* Device memory of a workspace, of working_bytes or more. */
typedef struct spti_streamed_memory {
  void *memory;
  struct spti_streamed_memory *next;
} spti_streamed_memory;

typedef struct {
  spti_block_settings set;
  int32_t tile;    /* right-hand sides of a thread block, or 0 (block.h) */
  int32_t single;  /* products are in f32 */
  int32_t pieces;  /* at least this many; 0: by the room on the device */
  int32_t overlap; /* pieces whose kernels run at the same time; 0 until the images are made: then chosen by packs */
  spti_block_partition found;
  int32_t *row;               /* device, [n]: row of each place */
  spti_streamed_piece *piece; /* [piece_count] */
  int32_t piece_count;
  size_t working_bytes; /* of device memory, for the time of an analysis or of new values, which use that of a workspace if there is one */
  spti_streamed_memory *lent;
  size_t largest;                                    /* bytes of the largest piece */
  char *image;                                       /* page-locked */
  size_t bytes;                                      /* of image */
  int32_t packs;                                     /* images cross the bus packed (packed.c); -1 until they are made: then chosen */
  char *packed;                                      /* page-locked; NULL unless packs */
  size_t packed_bytes, largest_packed, largest_made; /* of packed; of the largest packed image; of what the device makes from one */
  int64_t tiles;                                     /* of all pieces, with those of diagonal blocks */
} spti_streamed;

/* Makes all but set, tile and pieces, and what is given of overlap and packs, of plan->view in host memory. The device holds the lines and
 * the image of one piece at a time. After a failure, too, call spti_streamed_free. */
sptrsm_status spti_streamed_make(spti_streamed *, const sptrsm_plan *);
sptrsm_status spti_streamed_update(spti_streamed *, const sptrsm_plan *); /* new values, same pattern */
void spti_streamed_free(spti_streamed *, const sptrsm_plan *);
/* Chooses overlap and packs where they are not given. all: totals of all panels; widest: bytes of the largest panel. */
void spti_streamed_choose_form(spti_streamed *, const sptrsm_plan *, const int64_t *all, size_t widest);
/* Packs the images, which are made, anew. */
sptrsm_status spti_streamed_pack(spti_streamed *, const sptrsm_plan *);
/* Queues the unpacking of a piece whose packed image is in a buffer of largest_packed + largest_made bytes: *panels gets its tiles and near
 * columns. The arrays are those of spti_streamed_args for that buffer. */
sptrsm_status spti_streamed_unpack(spti_block_panels *panels, const spti_streamed *, const sptrsm_plan *, const spti_streamed_piece *,
                                   const spti_block_values_args *arrays, void *buffer, void *stream);
/* The arrays of a piece whose image lies at `image`. */
spti_block_values_args spti_streamed_args(const spti_streamed *, const sptrsm_plan *, const spti_streamed_piece *, void *image);
/* What the solve kernel needs of a piece whose image lies at `image`. */
void spti_streamed_state(spti_block_state *out, const spti_streamed *, const sptrsm_plan *, const spti_streamed_piece *, void *image);
void spti_streamed_flagged(int32_t out[3], const spti_streamed *, const sptrsm_plan *); /* substituted, refined, apart */

#endif
