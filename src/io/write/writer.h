/* writer.h -- the state of a stream of columns to a file, shared by open.c and writer.c (the public functions), part.c, done.c and
 * resume.c.
 *
 * A plain stream has no compression or checksums: its columns bypass HDF5 and it can be resumed. Otherwise the stream is filtered:
 * its columns go through HDF5 into a temporary file.
 */
#ifndef SPTI_IO_WRITE_WRITER_H
#define SPTI_IO_WRITE_WRITER_H

#include "io/write/write.h"

typedef struct { /* a `done` record */
  sptrsm_file_columns columns;
  int64_t noted_first, noted_count; /* the last columns written before it, of its range */
  uint64_t sum;                     /* a checksum of their numbers */
} spti_writer_done;

extern const char spti_writer_digest_name[]; /* attribute of a complete X: the records by which it is recognised */

struct sptrsm_file_writer {
  spti_io_output out; /* plain: temp becomes OUT.part, and id is open only at the beginning and at the end */
  bool begun;         /* out must be discarded unless it is committed */
  sptrsm_block shape; /* n, nrhs, dtype and layout of the whole solution */
  bool has_berr, plain;
  bool finished; /* OUT is complete already: only a journal may be left to remove */
  bool ended;    /* sptrsm_file_writer_finish was called */
  sptrsm_save_options options;
  char *name; /* path of the dataset */
  hid_t dataset, type;
  double *berr; /* filtered: [nrhs], collected until the end */
  /* plain: */
  char *part, *journal_name, *journal_new; /* OUT.part, OUT.part.journal, and the journal's name until it is complete */
  int fd;                                  /* of the part */
  bool unsynced;                           /* columns were written since the part was synced */
  struct {
    off_t X, berr, size; /* byte offsets of the two datasets, size of the file */
  } place;
  spti_io_journal journal;
  char *gate_name;           /* OUT.part.lock */
  int gate;                  /* open while this process has passed the gate alone, else -1 */
  sptrsm_file_columns *done; /* [done_count] ascending ranges of columns that are done; states lie in the journal's text */
  size_t done_count;
  spti_writer_done noted; /* the last of these records with a checksum */
  struct {
    int64_t first, count;
    uint64_t sum;
  } latest; /* the last columns written, and a checksum of their numbers */
};

/* ---- part.c: the file OUT.part ---- */

sptrsm_status spti_writer_system_failed(const char *path); /* IO with the text of errno */
spti_io_span spti_writer_span(const sptrsm_file_writer *); /* X in the part */
spti_io_span spti_writer_berr_span(const sptrsm_file_writer *);
/* Lets HDF5 write the skeleton, that is everything but the numbers: both datasets get their place. Closes the file. */
sptrsm_status spti_writer_make_skeleton(sptrsm_file_writer *);
sptrsm_status spti_writer_open_part(sptrsm_file_writer *); /* opens out.temp as fd */
sptrsm_status spti_writer_reserve(const sptrsm_file_writer *);
bool spti_writer_is_file(const char *path);
sptrsm_status spti_writer_remove_journal(const sptrsm_file_writer *);

/* ---- done.c: the columns that are done ---- */

sptrsm_status spti_writer_take_done(sptrsm_file_writer *); /* takes them from the text of the journal */
int64_t spti_writer_columns_left(const sptrsm_file_writer *);
/* Appends a record, with the checksum of the last columns written where they lie in its range. */
sptrsm_status spti_writer_record_done(sptrsm_file_writer *, const sptrsm_file_columns *);

/* ---- resume.c: the records of the journal ---- */

/* Writes the first records of a journal: the shape, the bytes of the skeleton, what the solution depends on. */
sptrsm_status spti_writer_record(sptrsm_file_writer *, const char *inputs);
/* Takes a checksum of the last columns of X, by which a resumed stream recognises its part. */
void spti_writer_note(sptrsm_file_writer *, int64_t first, const sptrsm_block *X);
/* Checks that the journal is of this version and of the same shape, and takes the offsets from it. */
sptrsm_status spti_writer_check_format(sptrsm_file_writer *);
/* Checks that the part is the file which the journal describes, then puts it back into the state of the last checkpoint. */
sptrsm_status spti_writer_restore(sptrsm_file_writer *);
/* The records by which a complete file is recognised, as text lines; the caller frees them. */
sptrsm_status spti_writer_digest(char **out, sptrsm_file_writer *);
/* Whether OUT is the whole solution that the records are about. A file that is another one is no error; one that can't be read is. */
sptrsm_status spti_writer_find_complete(sptrsm_file_writer *, bool *complete);

#endif
