/* kernels.h -- arguments and launchers of the kernels of recblock. Pointers are device pointers. A launcher queues on the stream
 * and returns a cudaError_t as int; it allocates nothing.
 * Analysis: count, (scan), mark, fill, facts, (the host chooses), lists. Solve: start, then one launch for each step. */
#ifndef SPTI_TRSV_RECBLOCK_KERNELS_H
#define SPTI_TRSV_RECBLOCK_KERNELS_H

#include "core/device/host_device.h"
#include "core/device/syncfree.h"
#include "core/device/transfer.h"
#include "core/matrix/view.h"
#include "trsv/recblock/partition.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A word of `start`: the offset of a segment's first entry, and a flag: the row has entries in a block further left, so that its
 * right-hand side, less the sums so far, is in b; otherwise it is still in the caller's block. */
enum { SPTI_RECBLOCK_OFFSET = INT32_MAX, SPTI_RECBLOCK_IN_PANEL = INT32_MIN };

/* ---- the device (device.c); cudaError_t as int ---- */

/* ---- analysis ---- */

typedef struct {
  spti_view view;       /* pull */
  const int32_t *order; /* [n]: row of each place */
  int32_t *place;       /* [n]: its inverse, scratch */
  int32_t first, depth; /* of the tree, as bound and base */
  const int32_t *bound, *base;
  int32_t segments;
  int32_t *count; /* [segments], scratch: entries of each segment */
  int32_t *start; /* [segments + 1]: count's running sum, made in between with spti_scan_narrow_launch */
  int32_t *from;  /* [entries off the diagonal]: place of each entry's column; a segment's entries in solve order */
  void *val;      /* the same length: conjugated where the view says so */
  void *diag;     /* [n]: by place; ones for a unit diagonal */
} spti_recblock_pack_args;

int spti_recblock_count_launch(const spti_recblock_pack_args *, void *stream); /* -> place, count */
int spti_recblock_mark_launch(const spti_recblock_pack_args *, void *stream);  /* start -> start, marked */
int spti_recblock_fill_launch(const spti_recblock_pack_args *, void *stream);  /* -> place, from, val, diag */

typedef struct {
  const spti_recblock_step *steps; /* [count], ascending by segment */
  int32_t count, segments;
  const int32_t *start;
  int32_t thread_apart, group_apart, chunk; /* limits */
  int32_t *facts;                           /* [count][SPTI_RECBLOCK_FACTS], any content */
} spti_recblock_facts_args;

int spti_recblock_facts_launch(const spti_recblock_facts_args *, void *stream);

/* Rows that are listed or cut in chunks; the steps' members list, record and piece say where a step's part begins. */
typedef struct {
  int32_t *row;          /* [lists]: number of the row within its step */
  int32_t *apart;        /* [records]: number of a row that is cut, within its step */
  int32_t *apart_piece;  /* [records]: its first chunk, counted from the step's first */
  int32_t *piece_record; /* [pieces]: which of the step's cut rows the chunk belongs to */
} spti_recblock_lists;

typedef struct {
  const spti_recblock_step *steps;
  int32_t count, segments;
  const int32_t *start;
  spti_recblock_lists lists;
  int32_t *taken; /* [count][3], scratch: rows listed, rows cut, chunks */
} spti_recblock_lists_args;

int spti_recblock_lists_launch(const spti_recblock_lists_args *, void *stream);

/* ---- solve ---- */

typedef struct {
  sptrsm_dtype dtype;
  spti_transfer between;
  const int64_t *bound; /* device: the transfer that counts (spti_bind_launch), or NULL; its width is that of `between` */
  int32_t n, first;
  const int32_t *order, *start, *from;
  const void *val, *diag;
  spti_recblock_lists lists;
  void *x;           /* [n][width] by place: the solution, or the sentinel where it is waited for */
  void *b;           /* [n - panel_row][width] by place: right-hand sides less the sums so far */
  int32_t panel_row; /* place of b's first row */
  void *partial;     /* [most pieces][width]: sums of chunks */
  int32_t *counters; /* [counter_count]: chunks that arrived, a word for each cut row and tile; then control words of sync-free steps */
  int64_t counter_count;
  int32_t syncfree_begin, syncfree_end; /* places that get the sentinel */
} spti_recblock_solve_args;

enum { SPTI_RECBLOCK_TILE = 32 /* right-hand sides of one warp */ };
static inline SPTI_ANYWHERE int32_t spti_recblock_tiles(int32_t width) {
  return (int32_t)(((int64_t)width + SPTI_RECBLOCK_TILE - 1) / SPTI_RECBLOCK_TILE);
}

/* Solves the rows before `first`, sets rows of waiting triangles to the sentinel and counters to zero. */
int spti_recblock_start_launch(const spti_recblock_solve_args *, void *stream);

typedef struct {
  spti_recblock_solve_args all;
  spti_recblock_step step;
  bool keep;          /* later steps read x */
  spti_syncfree sync; /* of a sync-free step */
} spti_recblock_step_args;

int spti_recblock_rows_launch(const spti_recblock_step_args *, void *stream);     /* a step whose rows wait for nothing */
int spti_recblock_syncfree_launch(const spti_recblock_step_args *, void *stream); /* a waiting triangle */

#ifdef __cplusplus
}
#endif
#endif
