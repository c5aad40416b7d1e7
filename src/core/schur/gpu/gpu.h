/* gpu.h -- Schur complements on a CUDA device. Columns are solved in groups, in the rows that they reach where the method can do that
 * (core/plan/method.h), else in all rows. The product runs over chunks of rows: S' = sum over chunks of left(chunk)^T D^-1 right(chunk),
 * and a chunk takes the columns from the first to the last one that reaches its rows. */
#ifndef SPTI_CORE_SCHUR_GPU_GPU_H
#define SPTI_CORE_SCHUR_GPU_GPU_H

#include "core/plan/method.h"
#include "core/schur/gpu/kernels.h"
#include "core/schur/schur.h"

enum { SPTI_SCHUR_GPU_GROUP = 64 }; /* columns of a group */

/* Arrays are in device memory. */
typedef struct {
  spti_grouped grouped; /* groups 0: the columns are solved in all rows */
  int32_t width;        /* columns of a group; without groups, all */
  int64_t rows;         /* of the block that is solved: width columns, row-major */
  int64_t entries;
  int64_t *to;       /* [entries]: where an entry of a sparse side goes in the block */
  int32_t *row;      /* [entries]: its row of B or C */
  void *val;         /* [entries] */
  int32_t *position; /* [count]: of each column in the order */
  void *memory;
} spti_schur_gpu_side;

/* Device memory of solves, in one allocation. */
typedef struct {
  void *memory;
  size_t bytes;
  void *block[2], *operand[2]; /* of the sides right and left: solved columns; what is multiplied */
  void *solve;                 /* of the groups' solves */
  void *sum, *S;               /* the sum of products; S on its way to host memory */
} spti_schur_gpu_work;

typedef struct spti_schur_gpu {
  spti_schur_gpu_side side[2]; /* the left one is empty in the symmetric form */
  spti_schur_chunk *chunks;    /* host */
  int32_t chunk_count, line_count;
  int64_t elements[2]; /* of the operands right and left */
  spti_schur_lines lines;
  void *lines_memory;
  spti_schur_gpu_work work; /* made by the first solve of this item alone */
  bool as_solved;           /* the solved blocks themselves are the operands, of one chunk with all rows */
} spti_schur_gpu;

/* The side that goes through U^T; in the symmetric form there is one. */
static inline int spti_schur_gpu_left(const sptrsm_schur *s) { return s->symmetric ? SPTI_SCHUR_RIGHT : SPTI_SCHUR_LEFT; }

/* ---- columns.c ---- */

/* Makes a side's groups and puts its entries on the device. Takes side->edge in host memory. */
sptrsm_status spti_schur_gpu_side_create(spti_schur_gpu_side *, spti_schur_side *, const sptrsm_context *);
void spti_schur_gpu_side_free(spti_schur_gpu_side *, const spti_schur_side *, const sptrsm_context *);

/* ---- chunks.c ---- */

/* Cuts the rows that both sides reach into chunks. */
sptrsm_status spti_schur_gpu_chunks_create(spti_schur_gpu *, const sptrsm_schur *);

/* ---- gpu.c ---- */

sptrsm_status spti_schur_gpu_create(sptrsm_schur *); /* s->side has its columns, plans and edges in host memory */
void spti_schur_gpu_free(sptrsm_schur *);
/* New values of a sparse side, which are in side->val. */
sptrsm_status spti_schur_gpu_set_values(sptrsm_schur *, int which);
/* Device memory for solving any of the items, one at a time. host_S: an S is in host memory. */
sptrsm_status spti_schur_gpu_work_bytes(size_t *out, sptrsm_schur *const *items, int64_t count, bool host_S);
/* Computes S of all items, which was checked; queues its work. The workspace is kept by the item if there is one, else freed. */
sptrsm_status spti_schur_gpu_solve(sptrsm_schur *const *items, int64_t count, const sptrsm_block *S);
void spti_schur_gpu_facts(sptrsm_schur_facts *, const sptrsm_schur *); /* groups and the share of rows that they reach */

#endif
