/* journal.c -- a stream of columns that is resumed after its journal, its part or both were changed.
 *
 * A stream of five columns is cut off behind its third. The input says what happens to the journal (records with right checksums but any
 * text, or bytes) and to the part. What a resumed stream counts as done must be ranges of columns that ascend, and where these are of
 * columns that were written, the solution it completes must have the right numbers, unless the input changed their bytes.
 */
#include <string.h>
#include <unistd.h>

#include "hdf5_file.h"

enum { N = 3, COLUMNS = 5, DONE = 3, ROOM = 1 << 16 };

static char out[300], part[320], journal[340];

static double column_value(int i, int k) { return 10 * k + i + 1; }

static sptrsm_block column(double *data, int k) {
  for (int i = 0; i < N; i++) data[i] = column_value(i, k);
  return (sptrsm_block){data, 1, N, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
}

static sptrsm_status write_columns(sptrsm_file_writer *w, int begin, int end) {
  double data[N];
  sptrsm_status status = SPTRSM_OK;
  for (int k = begin; k < end && status == SPTRSM_OK; k++) {
    const sptrsm_block X = column(data, k);
    status = sptrsm_file_writer_write(w, k, &X, NULL);
    if (status == SPTRSM_OK) status = sptrsm_file_writer_checkpoint(w, &(sptrsm_file_columns){k, k + 1, "{\"sum\": 1}"});
  }
  return status;
}

static size_t load(const char *name, unsigned char *data) {
  FILE *f = fopen(name, "rb");
  const size_t bytes = f ? fread(data, 1, ROOM, f) : 0;
  if (f) fclose(f);
  return bytes;
}

/* Replaces some bytes of a file. */
static bool change_bytes(const char *name, fuzz_bytes *in) {
  static unsigned char data[ROOM];
  size_t bytes = load(name, data);
  const int edits = fuzz_below(in, 4);
  for (int k = 0; k < edits && bytes > 0; k++) {
    const size_t at = (size_t)(fuzz_below(in, 256) << 8 | fuzz_below(in, 256)) % bytes;
    data[at] ^= (unsigned char)(1 + fuzz_below(in, 255));
  }
  if (fuzz_below(in, 8) == 7) bytes = bytes * (size_t)fuzz_below(in, 256) / 256;
  fuzz_write_file(name, data, bytes);
  return edits > 0;
}

/* Appends records as the journal writes them: the checksum fits, the text is the input's. */
static void append_records(fuzz_bytes *in) {
  static const char *const words[] = {"done", "end", "bytes", "format", "inputs"};
  FILE *f = fopen(journal, "ab");
  for (int count = fuzz_below(in, 4); f && count > 0; count--) {
    char text[160], line[192];
    const char *word = words[fuzz_below(in, 5)];
    uint64_t sum = 0xcbf29ce484222325u;
    fuzz_text(in, text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    snprintf(line, sizeof line, "%s %s", word, text);
    for (const char *c = line; *c; c++) sum = (sum ^ (unsigned char)*c) * 0x100000001b3u;
    fprintf(f, "%016llx %s\n", (unsigned long long)sum, line);
  }
  if (f) fclose(f);
}

static void check_solution(void) {
  sptrsm_file_block *X = NULL;
  FUZZ_CHECK(sptrsm_file_block_load(&X, out, N, NULL) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(X->block.n == N && X->block.nrhs == COLUMNS, "%d x %lld", X->block.n, (long long)X->block.nrhs);
  for (int i = 0; i < N; i++)
    for (int k = 0; k < COLUMNS; k++)
      FUZZ_CHECK(((double *)X->block.data)[i * X->block.ld + k] == column_value(i, k), "row %d, column %d", i, k);
  sptrsm_file_block_free(X);
}

/* Writes what is not done. *written: nothing else counts as done but columns that were written. */
static sptrsm_status write_rest(sptrsm_file_writer *w, bool *written) {
  const sptrsm_file_columns *done;
  int64_t count, at = 0;
  int rest[2 * COLUMNS + 2], gaps = 0;
  FUZZ_CHECK(sptrsm_file_writer_done(w, &done, &count) == SPTRSM_OK && count <= COLUMNS, "%s", sptrsm_last_error());
  for (int64_t k = 0; k < count; at = done[k++].end) {
    FUZZ_CHECK(done[k].first >= at && done[k].first < done[k].end && done[k].end <= COLUMNS, "range %lld", (long long)k);
    rest[gaps++] = (int)at, rest[gaps++] = (int)done[k].first;
    if (done[k].end > DONE) *written = false;
  }
  rest[gaps++] = (int)at, rest[gaps++] = COLUMNS;
  sptrsm_status status = SPTRSM_OK;
  for (int k = 0; k < gaps && status == SPTRSM_OK; k += 2) status = write_columns(w, rest[k], rest[k + 1]);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_bytes in = {data, size};
  const sptrsm_block shape = {NULL, COLUMNS, N, COLUMNS, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_file_writer *w = NULL;
  sptrsm_save_options o;
  sptrsm_save_options_init(&o);
  o.keep_partial = o.force = 1;
  snprintf(out, sizeof out, "%s/x.h5", fuzz_folder());
  snprintf(part, sizeof part, "%s.part", out);
  snprintf(journal, sizeof journal, "%s.journal", part);
  fuzz_hdf5_start();
  FUZZ_CHECK(sptrsm_file_writer_create(&w, out, &shape, 0, 1, "{}", &o) == SPTRSM_OK, "%s", sptrsm_last_error());
  FUZZ_CHECK(write_columns(w, 0, DONE) == SPTRSM_OK, "%s", sptrsm_last_error());
  sptrsm_file_writer_close(w);
  w = NULL;
  const int what = fuzz_below(&in, 4);
  if (what & 1) append_records(&in);
  if (what & 2) change_bytes(journal, &in);
  const bool same_part = what == 0 ? !change_bytes(part, &in) : true;
  const sptrsm_status status = sptrsm_file_writer_resume(&w, out, &shape, 0, &o);
  if (status == SPTRSM_OK && w) {
    FUZZ_CHECK(!sptrsm_file_writer_complete(w), "complete");
    bool written = true;
    if (write_rest(w, &written) == SPTRSM_OK && sptrsm_file_writer_finish(w, "{}") == SPTRSM_OK && same_part && written) check_solution();
  }
  sptrsm_file_writer_close(w);
  remove(out), remove(part), remove(journal);
  return 0;
}
