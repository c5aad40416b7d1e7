/* writer.h -- a writer of columns and the journal that lets it be continued: writer.c and resume.c. */
#ifndef SPTI_IO_WRITE_WRITER_H
#define SPTI_IO_WRITE_WRITER_H

#include "io/file/internal.h"

struct sptrsm_file_writer {
  spti_io_output out; /* plain: its temp is OUT.part, and id is open only at the beginning and the end */
  int begun;          /* out is to be discarded */
  sptrsm_block shape;
  int has_berr, plain, finished, ended; /* finished: only the journal is left to remove; ended: nothing is */
  sptrsm_save_options options;
  char *name; /* the dataset */
  hid_t dataset, type;
  double *berr; /* through HDF5: collected until the end */
  /* plain */
  char *part, *journal_name, *journal_new;
  int fd;
  struct {
    off_t X, berr, size;
  } place;
  spti_io_journal journal;
  struct {
    int64_t first, count;
    uint64_t sum;
  } latest; /* the last columns of the latest part, and a checksum of their numbers */
};

/* Writes the first records of a journal: the shape, the bytes of the skeleton, what the solution depends on. */
sptrsm_status spti_writer_record(sptrsm_file_writer *, const char *inputs);
spti_io_span spti_writer_span(const sptrsm_file_writer *); /* X in the part */
/* Takes a checksum of the last columns of a part, by which a continuing run knows them again. */
void spti_writer_note(sptrsm_file_writer *, int64_t first, const sptrsm_block *X);
/* Is the journal of this version and of the same shape? Takes the places over. */
sptrsm_status spti_writer_format(sptrsm_file_writer *);
/* Puts the part back into the state that the journal tells, after checking that it is the file which the journal is about. */
sptrsm_status spti_writer_restore(sptrsm_file_writer *);

#endif
