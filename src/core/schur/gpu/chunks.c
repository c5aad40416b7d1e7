/* chunks.c -- the rows over which the product runs, in chunks that one call of cuBLAS takes. A row is reached by the columns of some
 * groups; in a postorder of the elimination tree these follow each other, and hardly any column between the first and the last one is
 * zero in the row. Neighbouring rows are put into one chunk as long as the products with zeros that this adds cost less than a call. */
#include <string.h>

#include "core/base/carve.h"
#include "core/context/alloc.h"
#include "core/context/gpu.h"
#include "core/schur/gpu/gpu.h"

/* Multiplications that take as long as a call and its launches, about 10 us on an H100. */
#ifndef SPTI_SCHUR_CALL
#define SPTI_SCHUR_CALL 1e8
#endif

/* Positions of columns, [first, end): empty where end <= first. */
typedef struct {
  int32_t first, end;
} span;

static span hull(span a, span b) {
  if (a.end <= a.first) return b;
  if (b.end <= b.first) return a;
  return (span){a.first < b.first ? a.first : b.first, a.end > b.end ? a.end : b.end};
}

static int32_t length(span a) { return a.end > a.first ? a.end - a.first : 0; }

/* Consecutive rows of the list of lines: both sides' columns. */
typedef struct {
  span of[2];
  int32_t line, lines;
} piece;

typedef struct {
  const sptrsm_schur *s;
  int32_t n;
  span *of[2]; /* [n]: of each row; the left one may be the right one */
  int32_t *row, *chunk_of;
  piece *pieces;
  int32_t piece_count, line_count;
} cutter;

/* ---- rows ---- */

static void find_spans(span *out, const spti_schur_gpu_side *g, const spti_schur_side *side) {
  const spti_view *v = &side->plan->view;
  for (int32_t i = 0; i < v->n; i++) out[i] = g->grouped.groups ? (span){0, 0} : (span){0, (int32_t)side->count};
  for (int32_t k = 0; k < g->grouped.groups; k++)
    for (int32_t r = 0; r < g->grouped.runs; r++) {
      if (g->grouped.at[(int64_t)k * g->grouped.runs + r] < 0) continue;
      const int64_t end = ((int64_t)k + 1) * g->width;
      const span own = {k * g->width, end < side->count ? (int32_t)end : (int32_t)side->count};
      for (int32_t place = g->grouped.first[r]; place < g->grouped.first[r + 1]; place++) {
        span *row = &out[v->backward ? v->n - 1 - place : place];
        *row = hull(*row, own);
      }
    }
}

/* Both rows of a 2x2 block of D become nonzero together. */
static void join_pairs(const cutter *c) {
  for (int which = 0; which < (c->of[0] == c->of[1] ? 1 : 2); which++)
    for (int32_t i = 0; c->s->pairs && i + 1 < c->n; i++)
      if (c->s->pairs[i]) c->of[which][i] = c->of[which][i + 1] = hull(c->of[which][i], c->of[which][i + 1]);
}

/* ---- pieces ---- */

static double cost(const piece *p) { return (double)p->lines * length(p->of[0]) * length(p->of[1]) + SPTI_SCHUR_CALL; }

static piece joined(const piece *a, const piece *b) {
  return (piece){
      .of = {hull(a->of[0], b->of[0]), hull(a->of[1], b->of[1])}, .line = a->line, .lines = a->lines + b->lines}; /* b follows a */
}

/* Joins the last two pieces as long as that pays. */
static void settle(cutter *c) {
  while (c->piece_count > 1) {
    piece *last = &c->pieces[c->piece_count - 1], both = joined(last - 1, last);
    if (cost(&both) > cost(last - 1) + cost(last)) return;
    last[-1] = both;
    c->piece_count--;
  }
}

static bool same(span a, span b) { return a.first == b.first && a.end == b.end; }

static void add_row(cutter *c, int32_t i) {
  const span right = c->of[0][i], left = c->of[1][i];
  if (length(right) == 0 || length(left) == 0) return;
  piece *last = c->piece_count > 0 ? &c->pieces[c->piece_count - 1] : NULL;
  c->row[c->line_count] = i;
  if (last && same(last->of[0], right) && same(last->of[1], left)) {
    last->lines++;
  } else {
    settle(c);
    c->pieces[c->piece_count++] = (piece){.of = {right, left}, .line = c->line_count, .lines = 1};
  }
  c->line_count++;
}

/* ---- chunks ---- */

static void describe_chunks(spti_schur_gpu *g, cutter *c) {
  for (int32_t k = 0; k < c->piece_count; k++) {
    const piece *p = &c->pieces[k];
    spti_schur_chunk *chunk = &g->chunks[k];
    *chunk = (spti_schur_chunk){.line = p->line, .lines = p->lines};
    for (int which = 0; which < 2; which++) {
      chunk->first[which] = p->of[which].first;
      chunk->width[which] = length(p->of[which]);
      chunk->at[which] = g->elements[which];
      g->elements[which] += (int64_t)p->lines * chunk->width[which];
    }
    for (int32_t line = p->line; line < p->line + p->lines; line++) c->chunk_of[line] = k;
  }
  g->chunk_count = c->piece_count;
  g->line_count = c->line_count;
}

static size_t lay_out_lines(spti_schur_lines *l, int32_t lines, int32_t chunks, void *memory) {
  spti_carver c = {.base = memory};
  l->count = lines;
  l->row = spti_carve(&c, lines, sizeof *l->row);
  l->chunk = spti_carve(&c, lines, sizeof *l->chunk);
  l->chunks = spti_carve(&c, chunks, sizeof *l->chunks);
  return c.used;
}

static sptrsm_status upload(spti_schur_gpu *g, const cutter *c) {
  const sptrsm_context *context = c->s->direct->context;
  const size_t lines = (size_t)c->line_count;
  SPTI_TRY(spti_alloc(context, &g->lines_memory, (int64_t)lay_out_lines(&g->lines, c->line_count, c->piece_count, NULL), 1, "rows of S"));
  (void)lay_out_lines(&g->lines, c->line_count, c->piece_count, g->lines_memory);
  SPTI_TRY(spti_copy_bytes(context, (void *)g->lines.row, SPTRSM_CUDA, c->row, SPTRSM_HOST, lines * sizeof *c->row));
  SPTI_TRY(spti_copy_bytes(context, (void *)g->lines.chunk, SPTRSM_CUDA, c->chunk_of, SPTRSM_HOST, lines * sizeof *c->chunk_of));
  return spti_copy_bytes(context, (void *)g->lines.chunks, SPTRSM_CUDA, g->chunks, SPTRSM_HOST, (size_t)c->piece_count * sizeof *g->chunks);
}

static size_t lay_out_cutter(cutter *c, void *memory) {
  spti_carver carver = {.base = memory};
  c->of[0] = spti_carve(&carver, c->n, sizeof *c->of[0]);
  c->of[1] = c->s->symmetric ? c->of[0] : spti_carve(&carver, c->n, sizeof *c->of[1]);
  c->row = spti_carve(&carver, c->n, sizeof *c->row);
  c->chunk_of = spti_carve(&carver, c->n, sizeof *c->chunk_of);
  c->pieces = spti_carve(&carver, c->n, sizeof *c->pieces);
  return carver.used;
}

sptrsm_status spti_schur_gpu_chunks_create(spti_schur_gpu *g, const sptrsm_schur *s) {
  cutter c = {.s = s, .n = s->direct->n};
  void *memory;
  SPTI_TRY(spti_host_alloc(&memory, (int64_t)lay_out_cutter(&c, NULL), 1, "rows of S"));
  (void)lay_out_cutter(&c, memory);
  for (int which = 0; which < (s->symmetric ? 1 : 2); which++) find_spans(c.of[which], &g->side[which], &s->side[which]);
  join_pairs(&c);
  for (int32_t i = 0; i < c.n; i++) add_row(&c, i);
  settle(&c);
  sptrsm_status status;
  SPTI_TRY_DONE(spti_host_alloc(&g->chunks, c.piece_count, sizeof *g->chunks, "rows of S"));
  describe_chunks(g, &c);
  status = upload(g, &c);
done:
  spti_host_free(memory);
  return status;
}
