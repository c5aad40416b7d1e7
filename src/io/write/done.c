/* done.c -- which columns of a partial solution are done: the `done` records of its journal as a list of ranges.
 *
 * A record is about the columns [first, end). It takes the place of earlier ones that lie in its range, as the last record of a finished
 * solution does. One that shares columns with an earlier record in another way comes from no run of this library and does not count, so
 * its columns are solved again.
 */
#include "io/write/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_done(spti_writer_done *d, const char *text, int64_t nrhs) {
  int end = 0;
  int fields = sscanf(text, "%" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNx64 "%n", &d->columns.first, &d->columns.end,
                      &d->noted_first, &d->noted_count, &d->sum, &end);
  const sptrsm_file_columns *c = &d->columns;
  if (fields != 5 || text[end] != ' ' || c->first < 0 || c->first >= c->end || c->end > nrhs) return false;
  d->columns.state = text + end + 1;
  return d->noted_count >= 0 && d->noted_count <= c->end - c->first && d->noted_first >= c->first &&
         d->noted_first <= c->end - d->noted_count;
}

/* The first of the ranges, which ascend, that ends behind a column. */
static size_t find(const sptrsm_file_columns *ranges, size_t count, int64_t column) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (ranges[middle].end > column) high = middle;
    else low = middle + 1;
  }
  return low;
}

/* False: the range does not count. There is room for it. */
static bool insert(sptrsm_file_columns *ranges, size_t *count, const sptrsm_file_columns *new) {
  size_t begin = find(ranges, *count, new->first), end = begin;
  while (end < *count && ranges[end].first < new->end) {
    if (ranges[end].first < new->first || ranges[end].end > new->end) return false;
    end++;
  }
  memmove(&ranges[begin + 1], &ranges[end], (*count - end) * sizeof *ranges);
  ranges[begin] = *new;
  *count = *count - (end - begin) + 1;
  return true;
}

sptrsm_status spti_writer_take_done(sptrsm_file_writer *w) {
  size_t room = 0;
  free(w->done);
  w->done = NULL;
  w->done_count = 0;
  w->noted = (spti_writer_done){.noted_count = 0};
  for (const char *text = NULL; w->journal.text != NULL && (text = spti_io_journal_next(&w->journal, "done", text)) != NULL;) {
    spti_writer_done d;
    if (!read_done(&d, text, w->shape.nrhs)) continue;
    SPTI_IO_TRY(spti_io_grow(&w->done, &room, w->done_count, sizeof *w->done, w->part));
    if (insert(w->done, &w->done_count, &d.columns) && d.noted_count > 0) w->noted = d;
  }
  return SPTRSM_OK;
}

int64_t spti_writer_columns_left(const sptrsm_file_writer *w) {
  int64_t left = w->shape.nrhs;
  for (size_t k = 0; k < w->done_count; k++) left -= w->done[k].end - w->done[k].first;
  return left;
}

bool spti_writer_any_done(const sptrsm_file_writer *w, int64_t first, int64_t end) {
  size_t k = find(w->done, w->done_count, first);
  return k < w->done_count && w->done[k].first < end;
}

sptrsm_status spti_writer_record_done(sptrsm_file_writer *w, const sptrsm_file_columns *c) {
  bool whole = w->latest.first >= c->first && w->latest.first + w->latest.count <= c->end;
  size_t bytes = strlen(c->state) + 128;
  char *text;
  SPTI_IO_TRY(spti_io_allocate(&text, w->part, bytes));
  snprintf(text, bytes, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %016" PRIx64 " %s", c->first, c->end,
           whole ? w->latest.first : c->first, whole ? w->latest.count : 0, w->latest.sum, c->state);
  sptrsm_status status = spti_io_journal_append(&w->journal, "done", text);
  free(text);
  return status;
}

sptrsm_status sptrsm_file_writer_done(sptrsm_file_writer *w, const sptrsm_file_columns **ranges, int64_t *count) {
  if (w == NULL || ranges == NULL || count == NULL)
    return sptrsm_error_set(SPTRSM_ERR_ARGUMENT, "sptrsm_file_writer_done: writer or result is NULL");
  if (w->journal.fd >= 0) { /* of a file that is complete there may be no journal, only the digest */
    SPTI_IO_TRY(spti_io_journal_reload(&w->journal));
    SPTI_IO_TRY(spti_writer_take_done(w));
  }
  *ranges = w->done;
  *count = (int64_t)w->done_count;
  return SPTRSM_OK;
}
