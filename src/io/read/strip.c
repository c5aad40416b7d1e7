/* strip.c -- reads columns of a chunked block so that each chunk is unpacked once.
 *
 * HDF5 unpacks whole chunks, and its cache does not hold chunks that are larger than the cache. So columns that do not fill whole chunks
 * are taken from a strip: the columns of one chunk, all rows, as numbers in memory. A chunk of a block in one dimension may end inside a
 * column, and is then a part of two strips. Where a strip needs more memory than a quarter of the limit, columns are read as they are
 * asked for, and a chunk is unpacked as often as it is touched.
 */
#include "io/read/read.h"

#include <stdlib.h>
#include <string.h>

/* Columns that a chunk spans, counted from column 0 of the dataset; 1: none is cut by reading single columns. */
static int64_t chunk_columns(const spti_io_block_source *s) {
  const int64_t *chunk = s->d.chunk;
  if (chunk[0] == 0 || s->rows == 0) return 1;
  if (!s->flat) return s->d.rank == 1 ? 1 : chunk[s->layout == SPTRSM_ROW_MAJOR];
  int64_t count = chunk[0] / (s->d.pairs ? 2 : 1);
  if (s->layout == SPTRSM_ROW_MAJOR) return s->cols;
  return count > s->rows ? count / s->rows : 1;
}

void spti_io_strip_plan(spti_io_strip *strip, const spti_io_block_source *s, sptrsm_dtype dtype) {
  int64_t width = chunk_columns(s);
  if (width > s->cols) width = s->cols;
  *strip = (spti_io_strip){.each = sptrsm_dtype_bytes(dtype), .dtype = dtype};
  size_t bytes = spti_io_bytes(s->rows, spti_io_bytes(width, strip->each));
  if (s->direct || width <= 1 || bytes > s->file->memory_limit / 4) return;
  strip->width = width;
  strip->bytes = bytes;
}

void spti_io_strip_free(spti_io_strip *strip) {
  free(strip->data);
  *strip = (spti_io_strip){.width = 0};
}

static sptrsm_status fill(spti_io_strip *strip, const spti_io_block_source *s, int64_t begin) {
  if (strip->count > 0 && strip->begin == begin) return SPTRSM_OK;
  if (strip->data == NULL) SPTI_IO_TRY(spti_io_allocate(&strip->data, s->d.where, strip->bytes));
  strip->count = 0;
  int64_t count = s->cols - begin < strip->width ? s->cols - begin : strip->width;
  SPTI_IO_TRY(spti_io_block_read(s, begin, count, strip->dtype, strip->data));
  strip->begin = begin;
  strip->count = count;
  return SPTRSM_OK;
}

/* Copies `count` columns from column `from` of the strip to column `to` of a dense block of `width` columns. */
static void copy_columns(const spti_io_strip *strip, const spti_io_block_source *s, int64_t from, int64_t count, char *out, int64_t to,
                         int64_t width) {
  const bool by_rows = s->layout == SPTRSM_ROW_MAJOR;
  const int64_t lines = by_rows ? s->rows : count, length = by_rows ? count : s->rows;
  const char *data = strip->data;
  for (int64_t i = 0; i < lines; i++) {
    int64_t source = by_rows ? i * strip->count + from : (from + i) * s->rows, target = by_rows ? i * width + to : (to + i) * s->rows;
    memcpy(out + (size_t)target * strip->each, data + (size_t)source * strip->each, (size_t)length * strip->each);
  }
}

sptrsm_status spti_io_strip_read(spti_io_strip *strip, const spti_io_block_source *s, int64_t begin, int64_t width, void *out) {
  const int64_t end = begin + width, w = strip->width;
  if (w == 0 || (begin % w == 0 && (end % w == 0 || end == s->cols))) return spti_io_block_read(s, begin, width, strip->dtype, out);
  for (int64_t k = begin; k < end; k = strip->begin + strip->count) {
    SPTI_IO_TRY(fill(strip, s, k / w * w));
    int64_t from = k - strip->begin, left = end - k, held = strip->count - from;
    copy_columns(strip, s, from, left < held ? left : held, out, k - begin, width);
  }
  return SPTRSM_OK;
}
