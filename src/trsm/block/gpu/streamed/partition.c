/* partition.c -- see partition.h. The rules of the cut are explained in core/levels/row_panel_kernels.cu. */
#include "trsm/block/gpu/streamed/partition.h"

#include <string.h>

#include "core/context/alloc.h"

static int32_t place_of(const spti_view *v, int32_t line) { return v->backward ? v->n - 1 - line : line; }

/* ---- the cut ---- */

typedef struct {
  const spti_view *view;
  int32_t rows, least;
} cut;

/* The place of the nearest column that a place needs; -1: none. */
static int32_t nearest(const spti_view *v, int32_t place) {
  const int32_t line = place_of(v, place);
  const int64_t begin = spti_view_begin(v, line), end = spti_view_end(v, line);
  return begin == end ? -1 : place_of(v, v->idx[v->backward ? begin : end - 1]);
}

/* Does it need none before `start`? */
static bool needs_nothing_before(const spti_view *v, int32_t place, int32_t start) {
  const int32_t line = place_of(v, place);
  const int64_t begin = spti_view_begin(v, line), end = spti_view_end(v, line);
  return begin == end || place_of(v, v->idx[v->backward ? end - 1 : begin]) >= start;
}

static bool need_nothing_before(const spti_view *v, int32_t from, int32_t to, int32_t start) {
  while (from < to && needs_nothing_before(v, from, start)) from++;
  return from == to;
}

/* The end of the panel that begins at a place, before panels are joined. */
static int32_t plain_end(const cut *c, int32_t start) {
  const int32_t n = c->view->n;
  int32_t rows = c->least;
  while (rows < c->rows && rows < n - start && nearest(c->view, start + rows) >= start) rows++;
  return rows < n - start ? start + rows : n;
}

/* The same after following panels were joined to it. */
static int32_t joined_end(const cut *c, int32_t start) {
  int32_t end = plain_end(c, start);
  if (!need_nothing_before(c->view, start, end, start)) return end;
  while (end < c->view->n) {
    const int32_t next = plain_end(c, end);
    if (next - start > c->rows || !need_nothing_before(c->view, end, next, start)) break;
    end = next;
  }
  return end;
}

static int32_t cut_panels(const cut *c, int32_t *first) {
  int32_t count = 0;
  for (int32_t at = 0; at < c->view->n; at = joined_end(c, at)) first[count++] = at;
  first[count] = c->view->n;
  return count;
}

/* ---- levels ---- */

/* level_of [n]: of each place's panel; filled as far as it is known. */
static int32_t level_of_panel(const spti_view *v, const int32_t *level_of, int32_t first, int32_t end) {
  int32_t highest = 0;
  for (int32_t place = first; place < end; place++) {
    const int32_t line = place_of(v, place);
    for (int64_t p = spti_view_begin(v, line); p < spti_view_end(v, line); p++) {
      const int32_t column = place_of(v, v->idx[p]);
      if (column < first && level_of[column] > highest) highest = level_of[column];
    }
  }
  return highest + 1;
}

static void find_levels(spti_block_partition *f, const spti_view *v, int32_t *level_of) {
  for (int32_t p = 0; p < f->count; p++) {
    const int32_t level = level_of_panel(v, level_of, f->first[p], f->first[p + 1]);
    for (int32_t place = f->first[p]; place < f->first[p + 1]; place++) level_of[place] = level;
    f->level[p] = level;
    if (level > f->levels) f->levels = level;
  }
}

/* next [levels + 1], zero. */
static void find_ready_order(spti_block_partition *f, int32_t *next) {
  for (int32_t p = 0; p < f->count; p++)
    if (f->level[p] < f->levels) next[f->level[p] + 1] += f->first[p + 1] - f->first[p];
  for (int32_t level = 1; level <= f->levels; level++) next[level] += next[level - 1];
  for (int32_t p = 0; p < f->count; p++)
    for (int32_t place = f->first[p]; place < f->first[p + 1]; place++) {
      f->ready_at[place] = next[f->level[p]]++;
      f->place_at[f->ready_at[place]] = place;
    }
}

/* ---- all of it ---- */

sptrsm_status spti_block_partition_make(spti_block_partition *out, const spti_view *v, int32_t rows, int32_t least) {
  const cut c = {v, rows, least};
  const int64_t most = v->n > 0 ? (v->n - 1) / least + 1 : 0;
  int32_t *next;
  *out = (spti_block_partition){0};
  SPTI_TRY(spti_host_alloc(&out->first, most + 1, sizeof *out->first, "panels"));
  SPTI_TRY(spti_host_alloc(&out->level, most, sizeof *out->level, "levels of panels"));
  SPTI_TRY(spti_host_alloc(&out->ready_at, v->n, sizeof *out->ready_at, "order of rows"));
  SPTI_TRY(spti_host_alloc(&out->place_at, v->n, sizeof *out->place_at, "order of rows"));
  out->count = cut_panels(&c, out->first);
  find_levels(out, v, out->place_at); /* which is not needed yet */
  SPTI_TRY(spti_host_alloc(&next, (int64_t)out->levels + 1, sizeof *next, "order of rows"));
  memset(next, 0, ((size_t)out->levels + 1) * sizeof *next);
  find_ready_order(out, next);
  spti_host_free(next);
  return SPTRSM_OK;
}

void spti_block_partition_free(spti_block_partition *f) {
  spti_host_free(f->first);
  spti_host_free(f->level);
  spti_host_free(f->ready_at);
  spti_host_free(f->place_at);
  *f = (spti_block_partition){0};
}
