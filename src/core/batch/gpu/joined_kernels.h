/* joined_kernels.h -- the kernels of mixed batches on a GPU (joined.h): blocks of items to and from the rows of one joined panel;
 * diagonals of items. Plain C; pointers are device pointers. A launcher queues on the stream, returns a cudaError_t and allocates
 * nothing. */
#ifndef SPTI_CORE_BATCH_GPU_JOINED_KERNELS_H
#define SPTI_CORE_BATCH_GPU_JOINED_KERNELS_H

#include "core/batch/gpu/item_blocks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The rows of a joined factor set: row r belongs to member row_member[r], whose rows begin at first[member], and which is item
 * item[member] of the batch. */
typedef struct {
  int32_t n;
  const int32_t *row_member; /* [n] */
  const int32_t *first;      /* [members + 1] */
  const int64_t *item;       /* [members] */
} spti_joined_rows;

typedef struct {
  spti_joined_rows rows;
  spti_batch_items items;
  spti_batch_place place;
  int32_t staged; /* place.data holds the blocks one behind the other: a member's begins at first[member] * width, without gaps */
  int32_t width;
  void *panel; /* element (row, k) at row * width + k */
} spti_joined_move_args;

int spti_joined_pack_launch(const spti_joined_move_args *, sptrsm_dtype, void *stream);   /* blocks -> panel; zeros where there are none */
int spti_joined_unpack_launch(const spti_joined_move_args *, sptrsm_dtype, void *stream); /* panel -> blocks, of items that are solved */

/* A joined triangle's lines [begin, end), which have their diagonals stored. */
typedef struct {
  spti_joined_rows rows;
  int32_t begin, end;
  int32_t diagonal_first; /* of its line, else last */
  const int64_t *ptr;     /* [n+1] */
  const int32_t *idx;
  void *val;
  int32_t *bad; /* [members]: n - r of its first row r with a bad diagonal, counted in its own rows and order; 0: none */
} spti_joined_check_args;

int spti_joined_check_launch(const spti_joined_check_args *, sptrsm_dtype, void *stream); /* sets bad, which must be zero */
int spti_joined_mend_launch(const spti_joined_check_args *, sptrsm_dtype, void *stream);  /* members that are bad get the identity */

#ifdef __cplusplus
}
#endif
#endif
