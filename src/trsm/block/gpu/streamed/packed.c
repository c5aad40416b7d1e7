/* packed.c -- images that leave out what the device can make itself, since the bus is slower than the device's memory: the missing entries
 * of tiles, and the products with the near columns. A packed image is the image up to its near columns and tiles, which are its last two
 * arrays, then which values of tiles are there, where each tile's values begin, and the values. */
#include <stdatomic.h>
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/context/team.h"
#include "trsm/block/gpu/streamed/streamed.h"

/* Tiles are packed where what crosses the bus for tiles and near columns is three quarters of them or less. The kernels that solve with
 * packed pieces take longer than their copies, unless several of them run at the same time; but their buffers are to leave most of a memory
 * limit to right-hand sides. */
void spti_streamed_choose_form(spti_streamed *s, const sptrsm_plan *plan, const int64_t *all, size_t widest) {
  enum { MOST_BUFFERS = 3, SHARE = 4, WORDS_OF_TILE = SPTI_STREAMED_WORDS + 1 };
  const size_t value = sptrsm_dtype_bytes(plan->view.dtype), limit = plan->context->memory_limit;
  const size_t whole = (size_t)(all[SPTI_BLOCK_TILES] + all[SPTI_BLOCK_NEAR_TILES]) * SPTI_BLOCK_TILE * value;
  const size_t sent = (size_t)all[SPTI_BLOCK_TILES] * WORDS_OF_TILE * sizeof(uint32_t) + (size_t)plan->view.nnz * value;
  int32_t buffers = MOST_BUFFERS;
  while (buffers > 1 && limit > 0 && (size_t)buffers * 2 * widest > limit / SHARE) buffers--; /* each holds a piece twice */
  if (s->packs < 0) s->packs = whole > 0 && sent <= whole / 4 * 3 && (buffers > 1 || s->overlap > 0);
  if (s->overlap == 0) s->overlap = s->packs ? buffers : 1;
}

/* What is left out of a piece. */
typedef struct {
  char *near, *tile;
} made;

static size_t lay_out_made(made *out, const spti_streamed_piece *p, size_t value, char *memory) {
  spti_carver c = {.base = memory, .whole = true};
  out->near = spti_carve(&c, p->totals[SPTI_BLOCK_NEAR_TILES] * SPTI_BLOCK_TILE, value);
  out->tile = spti_carve(&c, p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE, value);
  return c.used;
}

static size_t made_bytes(const spti_streamed_piece *p, size_t value) { return lay_out_made(&(made){0}, p, value, NULL); }

typedef struct {
  uint32_t *there;
  int32_t *start;
  char *value;
} packed;

/* The arrays behind the first part of an image that lies at `memory`; returns all bytes. */
static size_t lay_out(packed *out, const spti_streamed_piece *p, size_t value, char *memory) {
  const int64_t tiles = p->totals[SPTI_BLOCK_TILES];
  spti_carver c = {.base = memory, .used = p->bytes - made_bytes(p, value), .whole = true};
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
  made m;
  lay_out_made(&m, p, value, s->image + p->at + p->bytes - made_bytes(p, value));
  return m.tile;
}

/* ---- host threads share the pieces ---- */

typedef struct {
  spti_streamed *s;
  size_t value;     /* bytes */
  atomic_bool grew; /* a piece has more entries than before */
} job;

static void count_values(void *argument, int64_t piece, int member) {
  const job *j = argument;
  spti_streamed_piece *p = &j->s->piece[piece];
  const char *tile = tiles_of(j->s, p, j->value);
  (void)member;
  int64_t values = 0;
  for (int64_t v = 0; v < p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE; v++) values += is_there(tile + (size_t)v * j->value, j->value);
  p->values = values;
}

/* The pattern decides which entries are missing, so new values take the places of old ones. */
static void pack_piece(void *argument, int64_t piece, int member) {
  job *j = argument;
  const spti_streamed_piece *p = &j->s->piece[piece];
  const char *tile = tiles_of(j->s, p, j->value);
  char *to = j->s->packed + p->packed_at;
  packed out;
  int64_t count = 0;
  (void)member;
  lay_out(&out, p, j->value, to);
  memcpy(to, j->s->image + p->at, p->bytes - made_bytes(p, j->value));
  memset(out.there, 0, (size_t)p->totals[SPTI_BLOCK_TILES] * SPTI_STREAMED_WORDS * sizeof *out.there);
  for (int64_t v = 0; v < p->totals[SPTI_BLOCK_TILES] * SPTI_BLOCK_TILE; v++, tile += j->value) {
    if (v % SPTI_BLOCK_TILE == 0) out.start[v / SPTI_BLOCK_TILE] = (int32_t)count;
    if (!is_there(tile, j->value)) continue;
    if (count == p->values) {
      atomic_store(&j->grew, true);
      return;
    }
    out.there[v / 32] |= (uint32_t)1 << v % 32;
    memcpy(out.value + (size_t)count++ * j->value, tile, j->value);
  }
}

static void share_out(const sptrsm_plan *plan, spti_task *task, job *j) {
  spti_team *team = plan->context->team;
  spti_team_run(team, spti_team_ready(team), j->s->piece_count, task, j);
}

/* ---- packing ---- */

static sptrsm_status make_room(job *j, const sptrsm_plan *plan) {
  spti_streamed *s = j->s;
  void *memory;
  share_out(plan, count_values, j);
  for (int32_t i = 0; i < s->piece_count; i++) {
    spti_streamed_piece *p = &s->piece[i];
    if (p->values > INT32_MAX)
      return spti_fail(SPTRSM_ERR_UNSUPPORTED, "block-streamed: more than 2^31 entries in a piece; use more pieces");
    p->packed_at = s->packed_bytes;
    p->packed_bytes = lay_out(&(packed){0}, p, j->value, NULL);
    s->packed_bytes += p->packed_bytes;
    if (p->packed_bytes > s->largest_packed) s->largest_packed = p->packed_bytes;
    if (made_bytes(p, j->value) > s->largest_made) s->largest_made = made_bytes(p, j->value);
  }
  SPTI_TRY(spti_gpu_host_alloc(plan->context, &memory, s->packed_bytes));
  s->packed = memory;
  return SPTRSM_OK;
}

sptrsm_status spti_streamed_pack(spti_streamed *s, const sptrsm_plan *plan) {
  job j = {.s = s, .value = sptrsm_dtype_bytes(plan->view.dtype)};
  if (s->piece_count == 0) return SPTRSM_OK;
  if (!s->packed) SPTI_TRY(make_room(&j, plan));
  share_out(plan, pack_piece, &j);
  return atomic_load(&j.grew) ? spti_fail(SPTRSM_ERR_INTERNAL, "block-streamed: a piece has more entries than before") : SPTRSM_OK;
}

/* The near columns are made by the kernel that made those of the image, from the same tiles, inverses and flags. */
sptrsm_status spti_streamed_unpack(spti_block_panels *panels, const spti_streamed *s, const sptrsm_plan *plan, const spti_streamed_piece *p,
                                   const spti_block_values_args *arrays, void *buffer, void *stream) {
  spti_block_values_args args = *arrays;
  const size_t value = sptrsm_dtype_bytes(plan->view.dtype);
  packed in;
  made out;
  lay_out(&in, p, value, buffer);
  lay_out_made(&out, p, value, (char *)buffer + s->largest_packed);
  const spti_streamed_unpack_args unpack = {p->totals[SPTI_BLOCK_TILES], in.there, in.start, in.value, out.tile};
  if (unpack.tiles > 0) SPTI_CUDA(spti_streamed_unpack_launch(&unpack, plan->view.dtype, stream));
  panels->tile = args.tile = out.tile;
  panels->near = args.near = out.near;
  SPTI_CUDA(spti_block_near_launch(&args, plan->view.dtype, stream));
  return SPTRSM_OK;
}
