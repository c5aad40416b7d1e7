/* partition.c -- see partition.h. The rules of the cut are explained in core/levels/row_panel_kernels.cu. */
#include "trsm/block/gpu/streamed/partition.h"

#include <string.h>

#include "core/context/alloc.h"

/* While panels are cut, a place is a position in the order of substitution. */
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

/* first [count+1]; level_of [n]. Returns the number of levels. */
static int32_t find_levels(int32_t *level_of, const spti_view *v, const int32_t *first, int32_t count) {
  int32_t levels = 0;
  for (int32_t p = 0; p < count; p++) {
    const int32_t level = level_of_panel(v, level_of, first[p], first[p + 1]);
    for (int32_t place = first[p]; place < first[p + 1]; place++) level_of[place] = level;
    if (level > levels) levels = level;
  }
  return levels;
}

/* ---- the order ---- */

/* The next panel of a level, and its first place. */
typedef struct {
  int32_t panel, place;
} position;

/* Panels by level. starts [count+1]: first places as they were cut; level_of [n]; next [levels+1]: for use here. */
static void number_panels(spti_block_partition *f, const spti_view *v, const int32_t *starts, const int32_t *level_of, position *next) {
  memset(next, 0, ((size_t)f->levels + 1) * sizeof *next);
  for (int32_t p = 0; p < f->count; p++) {
    if (level_of[starts[p]] == f->levels) continue;
    position *above = &next[level_of[starts[p]] + 1];
    above->panel++;
    above->place += starts[p + 1] - starts[p];
  }
  for (int32_t level = 2; level <= f->levels; level++) {
    next[level].panel += next[level - 1].panel;
    next[level].place += next[level - 1].place;
  }
  for (int32_t p = 0; p < f->count; p++) {
    position *at = &next[level_of[starts[p]]];
    f->first[at->panel++] = at->place;
    for (int32_t s = starts[p]; s < starts[p + 1]; s++) f->line[at->place++] = spti_view_line(v, s);
  }
  f->first[f->count] = v->n;
}

static void number_lines(spti_block_partition *f, const spti_view *v) {
  f->entries[0] = 0;
  for (int32_t place = 0; place < v->n; place++) {
    const int32_t line = f->line[place];
    f->place[line] = place;
    f->entries[place + 1] = f->entries[place] + v->ptr[line + 1] - v->ptr[line];
  }
}

/* ---- all of it ---- */

/* first [(n-1) / least + 2], level_of [n]: for use here. */
static sptrsm_status make(spti_block_partition *out, const spti_view *v, const cut *c, int32_t *first, int32_t *level_of) {
  position *next;
  out->count = cut_panels(c, first);
  out->levels = find_levels(level_of, v, first, out->count);
  SPTI_TRY(spti_host_alloc(&out->first, (int64_t)out->count + 1, sizeof *out->first, "panels"));
  SPTI_TRY(spti_host_alloc(&out->line, v->n, sizeof *out->line, "order of rows"));
  SPTI_TRY(spti_host_alloc(&out->place, v->n, sizeof *out->place, "order of rows"));
  SPTI_TRY(spti_host_alloc(&out->entries, (int64_t)v->n + 1, sizeof *out->entries, "order of rows"));
  SPTI_TRY(spti_host_alloc(&next, (int64_t)out->levels + 1, sizeof *next, "order of panels"));
  number_panels(out, v, first, level_of, next);
  number_lines(out, v);
  spti_host_free(next);
  return SPTRSM_OK;
}

sptrsm_status spti_block_partition_make(spti_block_partition *out, const spti_view *v, int32_t rows, int32_t least) {
  const cut c = {v, rows, least};
  const int64_t most = v->n > 0 ? (v->n - 1) / least + 1 : 0;
  int32_t *first = NULL, *level_of = NULL;
  sptrsm_status status;
  *out = (spti_block_partition){0};
  SPTI_TRY_DONE(spti_host_alloc(&first, most + 1, sizeof *first, "panels"));
  SPTI_TRY_DONE(spti_host_alloc(&level_of, v->n, sizeof *level_of, "levels of rows"));
  status = make(out, v, &c, first, level_of);
done:
  spti_host_free(first);
  spti_host_free(level_of);
  return status;
}

void spti_block_partition_free(spti_block_partition *f) {
  spti_host_free(f->first);
  spti_host_free(f->line);
  spti_host_free(f->place);
  spti_host_free(f->entries);
  *f = (spti_block_partition){0};
}

/* ---- lines by place ---- */

void spti_block_partition_columns(int32_t *out, const spti_block_partition *f, const spti_view *v, int32_t first, int32_t end) {
  for (int32_t at = first; at < end; at++) {
    const int64_t begin = v->ptr[f->line[at]], behind = v->ptr[f->line[at] + 1];
    for (int64_t i = 0; i < behind - begin; i++) *out++ = f->place[v->idx[v->backward ? behind - 1 - i : begin + i]];
  }
}

void spti_block_partition_values(void *out, const spti_block_partition *f, const spti_view *v, int32_t first, int32_t end) {
  const size_t bytes = sptrsm_dtype_bytes(v->dtype);
  const char *val = v->val;
  char *to = out;
  for (int32_t at = first; at < end; at++) {
    const size_t begin = (size_t)v->ptr[f->line[at]] * bytes, length = (size_t)v->ptr[f->line[at] + 1] * bytes - begin;
    if (!v->backward) memcpy(to, val + begin, length);
    for (size_t i = 0; v->backward && i < length; i += bytes) memcpy(to + i, val + begin + length - bytes - i, bytes);
    to += length;
  }
}
