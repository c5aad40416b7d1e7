/* packed.c -- images without the missing entries of their tiles, since the bus is slower than the device's memory. A packed image is the
 * image up to its tiles, which are its last array, then which values are there, where each tile's values begin, and the values. */
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "trsm/block/gpu/streamed/streamed.h"

static size_t tile_bytes(const spti_streamed_piece *p, size_t value) {
  spti_carver c = {0};
  spti_carve(&c, p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE, value);
  return c.used;
}

typedef struct {
  uint32_t *there;
  int32_t *start;
  char *value;
} packed;

/* The arrays behind the first part of an image that lies at `memory`; returns all bytes. */
static size_t lay_out(packed *out, const spti_streamed_piece *p, size_t value, char *memory) {
  const int64_t tiles = p->totals[SPTI_BLOCK_TILES];
  spti_carver c = {.base = memory, .used = p->bytes - tile_bytes(p, value), .whole = true};
  out->there = spti_carve(&c, tiles * SPTI_STREAMED_WORDS, sizeof *out->there);
  out->start = spti_carve(&c, tiles, sizeof *out->start);
  out->value = spti_carve(&c, p->values, value);
  return c.used;
}

static bool is_there(const char *at, size_t value) {
  static const char missing[16];
  return memcmp(at, missing, value) != 0;
}

static const char *tiles_of(const spti_streamed *s, const spti_streamed_piece *p, size_t value) {
  return s->image + p->at + p->bytes - tile_bytes(p, value);
}

static int64_t count_values(const spti_streamed *s, const spti_streamed_piece *p, size_t value) {
  const char *tile = tiles_of(s, p, value);
  int64_t count = 0;
  for (int64_t v = 0; v < p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE; v++) count += is_there(tile + (size_t)v * value, value);
  return count;
}

/* The pattern decides which entries are missing, so new values take the places of old ones. */
static sptrsm_status pack_piece(const spti_streamed *s, const spti_streamed_piece *p, size_t value) {
  const char *tile = tiles_of(s, p, value);
  char *to = s->packed + p->packed_at;
  packed out;
  int64_t count = 0;
  lay_out(&out, p, value, to);
  memcpy(to, s->image + p->at, (size_t)(tile - (s->image + p->at)));
  memset(out.there, 0, (size_t)p->totals[SPTI_BLOCK_TILES] * SPTI_STREAMED_WORDS * sizeof *out.there);
  for (int64_t v = 0; v < p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE; v++, tile += value) {
    if (v % SPTI_BLOCK_TILE == 0) out.start[v / SPTI_BLOCK_TILE] = (int32_t)count;
    if (!is_there(tile, value)) continue;
    if (count == p->values) return spti_fail(SPTRSM_ERR_INTERNAL, "block-streamed: a piece has more entries than before");
    out.there[v / 32] |= (uint32_t)1 << v % 32;
    memcpy(out.value + (size_t)count++ * value, tile, value);
  }
  return SPTRSM_OK;
}

static sptrsm_status make_room(spti_streamed *s, const sptrsm_plan *plan, size_t value) {
  void *memory;
  for (int32_t i = 0; i < s->piece_count; i++) {
    spti_streamed_piece *p = &s->piece[i];
    packed ignored;
    p->values = count_values(s, p, value);
    if (p->values > INT32_MAX)
      return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block-streamed: more than 2^31 entries in a piece; use more pieces");
    p->packed_at = s->packed_bytes;
    p->packed_bytes = lay_out(&ignored, p, value, NULL);
    s->packed_bytes += p->packed_bytes;
    if (p->packed_bytes > s->largest_packed) s->largest_packed = p->packed_bytes;
    if (tile_bytes(p, value) > s->largest_tiles) s->largest_tiles = tile_bytes(p, value);
  }
  SPTI_TRY(spti_gpu_host_alloc(plan->context, &memory, s->packed_bytes));
  s->packed = memory;
  return SPTRSM_OK;
}

sptrsm_status spti_streamed_pack(spti_streamed *s, const sptrsm_plan *plan) {
  const size_t value = sptrsm_dtype_bytes(plan->view.dtype);
  if (s->piece_count == 0) return SPTRSM_OK;
  if (!s->packed) SPTI_TRY(make_room(s, plan, value));
  for (int32_t i = 0; i < s->piece_count; i++) SPTI_TRY(pack_piece(s, &s->piece[i], value));
  return SPTRSM_OK;
}

sptrsm_status spti_streamed_unpack(void **tile, const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p, void *buffer,
                                   void *stream) {
  packed in;
  lay_out(&in, p, sptrsm_dtype_bytes(plan->view.dtype), buffer);
  *tile = (char *)buffer + s->largest_packed;
  const spti_streamed_unpack_args args = {p->totals[SPTI_BLOCK_TILES], in.there, in.start, in.value, *tile};
  if (args.tiles > 0) SPTI_CUDA(spti_streamed_unpack_launch(&args, plan->view.dtype, stream));
  return SPTRSM_OK;
}
