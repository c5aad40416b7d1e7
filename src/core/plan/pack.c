/* pack.c -- see pack.h. Both passes go through the caller's block in the order of its rows, in tiles of rows that
 * stay in cache. So the scattered accesses of a permutation fall on the panel, which is smaller and whose rows fill
 * whole cache lines. The first pass of one right-hand side gathers from B in the order of the panel. */
#include "core/plan/pack.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/base/diagonal_block.h"
#include "core/base/dtype.h"

enum {
  LINE = 64,                 /* bytes of a cache line; shorter rows are copied without calling memcpy */
  TILE = 256,                /* rows */
  STREAMS = 8,               /* columns of a column-major block at once */
  AHEAD = 64,                /* rows by which blocks are prefetched: hardware follows neither rows that are ld apart nor many columns */
  STREAMED_LEAST = 32 << 20, /* bytes that the rows of a row-major X span, from which on they are written past the caches */
  SHARED_LEAST = 1 << 15     /* elements of a panel from which on threads are worth their start */
};

static inline int32_t tile_end(int32_t r0, int32_t n) { return n - r0 < TILE ? n : r0 + TILE; }

static inline void prefetch(const void *row, size_t bytes) {
  for (size_t at = 0; at < bytes; at += LINE) __builtin_prefetch((const char *)row + at);
}

/* Copies part of a row; whole cache lines of `to` go past the caches, so that they are not read first. End with rows_written. */
static inline void write_row(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
  const size_t beyond = (size_t)((uintptr_t)to % LINE), head = beyond == 0 ? 0 : LINE - beyond < bytes ? LINE - beyond : bytes;
  size_t at = head;
  memcpy(to, from, head);
  for (; at + LINE <= bytes; at += LINE)
    for (size_t k = at; k < at + LINE; k += sizeof(__m128i))
      _mm_stream_si128((__m128i *)(to + k), _mm_loadu_si128((const __m128i *)(from + k)));
  memcpy(to + at, from + at, bytes - at);
#else
  memcpy(to, from, bytes);
#endif
}

/* Other threads may read them from now on. */
static inline void rows_written(void) {
#ifdef __SSE2__
  _mm_sfence();
#endif
}

#define SPTI_TEMPLATE "core/plan/pack.tmpl.h"
#include "core/base/for_each_dtype.h"

spti_columns spti_block_columns(const sptrsm_block *block, int64_t first) {
  bool rows = block->layout == SPTRSM_ROW_MAJOR;
  spti_columns c = {.data = block->data, .row_stride = rows ? block->ld : 1, .col_stride = rows ? 1 : block->ld};
  if (block->data) c.data = (char *)block->data + first * c.col_stride * (int64_t)sptrsm_dtype_bytes(block->dtype);
  return c;
}

typedef struct {
  const spti_panel *W;
  int32_t n;
  sptrsm_dtype dtype;
  const spti_columns *block; /* B or X */
  const spti_edge *edge;
  const void *alpha;
} pass;

static void pack_piece(void *argument, int64_t piece, int member) {
  const pass *p = argument;
  (void)member;
  SPTI_SWITCH(p->dtype, pack_tile)(p->W, p->n, (int32_t)(piece * TILE), p->block, p->edge, p->alpha);
}

static void unpack_piece(void *argument, int64_t piece, int member) {
  const pass *p = argument;
  (void)member;
  SPTI_SWITCH(p->dtype, unpack_tile)(p->block, p->n, (int32_t)(piece * TILE), p->W, p->edge);
}

static void share_rows(pass *p, spti_task *task) {
  const int threads = (int64_t)p->n * p->W->width >= SHARED_LEAST ? spti_team_threads(p->W->team) : 1;
  spti_team_run(p->W->team, threads, ((int64_t)p->n - 1) / TILE + 1, task, p);
}

void spti_pack(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_columns *B, const spti_edge *edge, const void *alpha) {
  share_rows(&(pass){W, n, dtype, B, edge, alpha}, pack_piece);
}

void spti_unpack(const spti_columns *X, int32_t n, sptrsm_dtype dtype, const spti_panel *W, const spti_edge *edge) {
  share_rows(&(pass){W, n, dtype, X, edge, NULL}, unpack_piece);
}

void spti_apply_diagonal(const spti_panel *W, int32_t n, sptrsm_dtype dtype, const spti_diagonal *D, spti_op op) {
  SPTI_SWITCH(dtype, apply_diagonal)(W, n, D, op);
}

void spti_split_alpha(double parts[2], const void *alpha, sptrsm_dtype dtype) {
  parts[0] = 1;
  parts[1] = 0;
  if (!alpha) return;
  const bool single = spti_is_single(dtype);
  parts[0] = single ? (double)*(const float *)alpha : *(const double *)alpha;
  if (spti_is_complex(dtype)) parts[1] = single ? (double)((const float *)alpha)[1] : ((const double *)alpha)[1];
}
