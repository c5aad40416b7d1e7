/* share.c -- see share.h */
#include "solve/ranks/share.h"

#include <stdlib.h>
#include <string.h>

#include "solve/ranks/ranks.h"

enum { PIECES_MAX = 1000, PIECES_EACH = 4 }; /* PIECES_EACH: files for each rank, so that a slow one may take fewer */

/* ---- the options ---- */

static void parse_part(share_request *r, const char *text) {
  char *slash = strchr(text, '/'), own[24];
  if (slash == NULL || slash == text || slash - text >= (ptrdiff_t)sizeof own)
    cli_usage("--part: '%s' is not I/N, as 3/16 for the third of 16 parts", text);
  snprintf(own, sizeof own, "%.*s", (int)(slash - text), text);
  r->parts = cli_integer("--part", slash + 1, 1, INT32_MAX);
  r->own = cli_integer("--part", own, 1, INT32_MAX);
  if (r->own > r->parts)
    cli_usage("--part: there is no part %lld of %lld; parts are counted from 1", (long long)r->own, (long long)r->parts);
}

bool share_parse(int key, const char *text, share_request *r) {
  switch (key) {
  case SHARE_PART: parse_part(r, text); return true;
  case SHARE_INTO: r->into = text; return true;
  case SHARE_MERGE: r->merge = text; return true;
  case SHARE_REMOVE: r->remove_pieces = true; return true;
  case SHARE_SPLIT:
    r->split = true;
    r->pieces = text ? cli_integer("--split-files", text, 1, PIECES_MAX) : 0;
    return true;
  default: return false;
  }
}

void share_check(const share_request *r, const char **out) {
  if (r->parts > 0 && r->into == NULL) cli_usage("--part: give the file that all parts make, --into FILE");
  if (r->into && r->parts == 0) cli_usage("--into: say which part of it this is, --part I/N; for a whole solution give -o");
  if (r->into && *out) cli_usage("-o: the output of a part is that of --into; leave -o out");
  if (r->into) *out = r->into;
}

int64_t share_pieces(const share_request *r) {
  const int64_t wanted = r->pieces > 0 ? r->pieces : r->parts > 0 ? r->parts : (int64_t)PIECES_EACH * ranks_count();
  return !r->split ? 0 : wanted < PIECES_MAX ? wanted : PIECES_MAX;
}

void share_columns(const share_request *r, int64_t nrhs, int64_t *begin, int64_t *end) {
  *begin = 0;
  *end = nrhs;
  if (r->parts == 0) return;
  const int64_t each = nrhs / r->parts, more = nrhs % r->parts, before = r->own - 1; /* the first `more` parts have one column more */
  *begin = before * each + (before < more ? before : more);
  *end = *begin + each + (before < more);
}

/* ---- panels ---- */

/* Cuts the ranges where files begin. False: no memory. */
static bool cut(panel_list *p, const sptrsm_file_writer *w) {
  const int64_t pieces = sptrsm_file_writer_pieces(w), room = p->count + pieces;
  if (pieces == 0) return true;
  column_span *ranges = malloc((size_t)room * sizeof *ranges);
  int64_t count = 0, k = 0, first, end;
  p->file = malloc((size_t)room * sizeof *p->file);
  for (int64_t i = 0; ranges && p->file && i < p->count; i++)
    for (int64_t at = p->ranges[i].first; at < p->ranges[i].end;) {
      sptrsm_file_writer_piece(w, k, &first, &end);
      if (end <= at) {
        k++;
        continue;
      }
      if (end > p->ranges[i].end) end = p->ranges[i].end;
      ranges[count] = (column_span){at, end};
      p->file[count++] = k;
      at = end;
    }
  const bool good = ranges && p->file;
  free(good ? p->ranges : ranges);
  if (good) p->ranges = ranges, p->count = count;
  return good;
}

bool panels_make(panel_list *p, const sptrsm_file_columns *done, int64_t count, int64_t begin, int64_t end, const sptrsm_file_writer *w) {
  *p = (panel_list){.ranges = malloc(((size_t)count + 1) * sizeof *p->ranges)};
  if (p->ranges == NULL) return false;
  for (int64_t k = 0; k <= count; k++) {
    const int64_t next = k < count && done[k].first < end ? done[k].first : end;
    if (begin < next) p->ranges[p->count++] = (column_span){begin, next};
    if (k < count && done[k].end > begin) begin = done[k].end;
  }
  return cut(p, w);
}

void panels_free(panel_list *p) {
  free(p->ranges);
  free(p->file);
  *p = (panel_list){0};
}

static int64_t panels_of(const panel_list *p, const column_span *r) { return (r->end - r->first + p->width - 1) / p->width; }

int64_t panels_count(const panel_list *p) {
  int64_t count = 0;
  for (int64_t i = 0; i < p->count; i++) count += panels_of(p, &p->ranges[i]);
  return count;
}

int64_t panels_columns(const panel_list *p) {
  int64_t columns = 0;
  for (int64_t i = 0; i < p->count; i++) columns += p->ranges[i].end - p->ranges[i].first;
  return columns;
}

column_span panels_at(const panel_list *p, int64_t k, int64_t *before) {
  *before = 0;
  for (int64_t i = 0; i < p->count; i++) {
    const column_span *r = &p->ranges[i];
    if (k < panels_of(p, r)) {
      const int64_t first = r->first + k * p->width;
      *before += first - r->first;
      return (column_span){first, r->end - first < p->width ? r->end : first + p->width};
    }
    k -= panels_of(p, r);
    *before += r->end - r->first;
  }
  return (column_span){0, 0};
}

/* The panels of the k-th file in which something is left; past the last one, of none. */
static void take_file(panel_list *p, int64_t k) {
  int64_t file = -1, panel = 0;
  p->next = -1;
  for (int64_t i = 0; i < p->count && file <= k; i++) {
    if (i == 0 || p->file[i] != p->file[i - 1]) file++;
    if (file == k && p->next < 0) p->next = panel;
    if (file <= k) panel += panels_of(p, &p->ranges[i]);
  }
  if (p->next < 0) p->next = panel++;
  p->until = panel;
}

column_span panels_next(panel_list *p, int64_t *before) {
  if (p->next == p->until && p->file) take_file(p, ranks_claim());
  else if (p->next == p->until) p->until = (p->next = ranks_claim()) + 1;
  return panels_at(p, p->next++, before);
}
