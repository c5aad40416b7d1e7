/* writer.h -- the state of a stream of columns to a file, shared by open.c, writer.c and merge.c (the public functions), part.c, pieces.c,
 * done.c and resume.c.
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
  struct {
    int64_t count;               /* of pieces (pieces.c); 0: all numbers are in the part */
    char id[9];                  /* hex digits in the names of the pieces */
    char *base;                  /* what these names begin with: the name that OUT had, which may have got another one since */
    int64_t number, first, cols; /* the piece that is open, and its columns; number -1: none */
    bool writable;
    char *name;
    int fd;
    off_t X, berr; /* byte offsets of its datasets */
  } piece;
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
/* Makes the file with columns [*first, *first + count) the one that spans are of, and *first their number in it. */
sptrsm_status spti_writer_locate(sptrsm_file_writer *, int64_t *first, int64_t count, bool writing);
const char *spti_writer_data_name(const sptrsm_file_writer *); /* of that file */
spti_io_span spti_writer_span(const sptrsm_file_writer *);     /* X in that file */
spti_io_span spti_writer_berr_span(const sptrsm_file_writer *);
/* Lets HDF5 write the skeleton, that is everything but the numbers: both datasets get their place. Closes the file. */
sptrsm_status spti_writer_make_skeleton(sptrsm_file_writer *);
/* Where a dataset with such numbers lies in its file, as they are in memory; -1: elsewhere, or it is another one. dims NULL: any size. */
off_t spti_writer_place_of(spti_io_file *, const char *name, sptrsm_dtype, const int64_t dims[2]);
sptrsm_status spti_writer_open_part(sptrsm_file_writer *); /* opens out.temp as fd */
sptrsm_status spti_writer_reserve(int fd, off_t bytes, const char *where);
sptrsm_status spti_writer_sync(sptrsm_file_writer *); /* what was written since the last time */
/* Creates both datasets with `nrhs` columns and a place in the file; *X, *berr: their byte offsets. */
sptrsm_status spti_writer_place_arrays(const sptrsm_file_writer *, const spti_io_output *, int64_t nrhs, off_t *X, off_t *berr);
bool spti_writer_is_file(const char *path);
sptrsm_status spti_writer_remove_journal(const sptrsm_file_writer *);

/* ---- pieces.c: X in several files ---- */

enum { SPTI_PIECES_MAX = 1000 };
sptrsm_status spti_writer_begin_pieces(sptrsm_file_writer *); /* as many as the options say: chooses the names */
sptrsm_status spti_writer_record_pieces(sptrsm_file_writer *);
/* Takes number and names from the journal. STRUCTURE: they are damaged, or more than `most`. */
sptrsm_status spti_writer_take_pieces(sptrsm_file_writer *, int64_t most);
/* Lets HDF5 write the skeleton of a part whose numbers are in pieces: virtual datasets over them. Closes the file. */
sptrsm_status spti_writer_make_virtual(sptrsm_file_writer *);
/* Opens a piece in place of the one before. writing: one without columns that are done is made where it is not there. */
sptrsm_status spti_writer_open_piece(sptrsm_file_writer *, int64_t number, bool writing);
void spti_writer_close_piece(sptrsm_file_writer *);
/* Checks that all pieces, or those with columns that are done, are there and of this solution. */
sptrsm_status spti_writer_check_pieces(const sptrsm_file_writer *, bool all);
sptrsm_status spti_writer_remove_pieces(const sptrsm_file_writer *); /* all that it can; the error names the first that stays */
sptrsm_status spti_writer_refuse_piece(const sptrsm_file_writer *, const char *path); /* ARGUMENT: the path leads to a piece */

/* ---- done.c: the columns that are done ---- */

sptrsm_status spti_writer_take_done(sptrsm_file_writer *); /* takes them from the text of the journal */
int64_t spti_writer_columns_left(const sptrsm_file_writer *);
bool spti_writer_any_done(const sptrsm_file_writer *, int64_t first, int64_t end);
/* Appends a record, with the checksum of the last columns written where they lie in its range. */
sptrsm_status spti_writer_record_done(sptrsm_file_writer *, const sptrsm_file_columns *);

/* ---- resume.c: the records of the journal ---- */

/* Writes the first records of a journal: the shape, the bytes of the skeleton, what the solution depends on. */
sptrsm_status spti_writer_record(sptrsm_file_writer *, const char *inputs);
/* Takes a checksum of the last columns of X, by which a resumed stream recognises its part. */
void spti_writer_note(sptrsm_file_writer *, int64_t first, const sptrsm_block *X);
/* Takes shape, name, offsets and pieces from the journal. STRUCTURE: it is none of this version. */
typedef struct {
  sptrsm_block shape;
  off_t X, berr, size; /* berr 0: there is none */
  const char *name;
} spti_writer_format;
sptrsm_status spti_writer_read_format(spti_writer_format *, const sptrsm_file_writer *);
sptrsm_status spti_writer_format_text(char **out, const sptrsm_file_writer *); /* the record; the caller frees it */
/* Checks that the journal is of this version and of the same shape, and takes the offsets from it. */
sptrsm_status spti_writer_check_format(sptrsm_file_writer *);
/* Checks that the part is the file which the journal describes, then puts it back into the state of the last checkpoint. */
sptrsm_status spti_writer_restore(sptrsm_file_writer *);
/* The records by which a complete file is recognised, as text lines; the caller frees them. */
sptrsm_status spti_writer_digest(char **out, sptrsm_file_writer *);
/* The same of these texts; without DIGEST_PIECES for one file. */
enum { DIGEST_FORMAT, DIGEST_PIECES, DIGEST_INPUTS, DIGEST_DONE, DIGEST_WORDS };
sptrsm_status spti_writer_digest_of(char **out, const char *const texts[DIGEST_WORDS], const char *where);
/* Whether OUT is the whole solution that the records are about. A file that is another one is no error; one that can't be read is, and so
 * is one of which a piece is missing. */
sptrsm_status spti_writer_find_complete(sptrsm_file_writer *, bool *complete);

/* ---- open.c ---- */

/* Sets *lines, which the caller has set to NULL, to the digest of OUT if there is one; the caller frees it. STRUCTURE: OUT is another kind
 * of file. */
sptrsm_status spti_writer_read_digest(char **lines, const sptrsm_file_writer *);
/* A writer that has no file yet. */
sptrsm_status spti_writer_new(sptrsm_file_writer **out, const char *path, const sptrsm_save_options *);
sptrsm_status spti_writer_name_parts(sptrsm_file_writer *);

#endif
