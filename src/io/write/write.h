/* write.h -- from memory to HDF5 files that appear whole under their name or not at all. */
#ifndef SPTI_IO_WRITE_WRITE_H
#define SPTI_IO_WRITE_WRITE_H

#include <signal.h>

#include "io/file/file.h"

/* ---- output.c: an output file ---- */

typedef struct {
  char *final, *temp, *folder; /* the name asked for, the temporary file beside it, the folder of both */
  hid_t id;                    /* the open temporary file, or -1 */
  bool force;                  /* replace an existing file */
  spti_io_report old_report;   /* the caller's, given back at the end */
} spti_io_output;
/* taken = the caller's options after a check, or the defaults for NULL; *options then points to it. */
sptrsm_status spti_io_take_save_options(sptrsm_save_options *taken, const sptrsm_save_options **options);
sptrsm_status spti_io_output_begin(spti_io_output *, const char *path, const sptrsm_save_options *);
sptrsm_status spti_io_output_commit(spti_io_output *);
void spti_io_output_discard(spti_io_output *); /* after a failure: removes the temporary file */
/* The steps of the three functions above, for a stream of columns: sets final and folder only; flushes, closes and syncs. */
sptrsm_status spti_io_output_names(spti_io_output *, const char *path, const sptrsm_save_options *);
sptrsm_status spti_io_output_close(spti_io_output *);
/* Notes a file that spti_io_output_discard() and sptrsm_file_abandon() remove: `path`, as long as it is the file open as fd. */
sptrsm_status spti_io_output_watch(const char *path, int fd);
void spti_io_output_unwatch(void); /* forgets all of them */
/* Around the creation of a file and its watch: no signal comes between them. */
void spti_io_hold_signals(sigset_t *old);
void spti_io_release_signals(const sigset_t *old);
sptrsm_status spti_io_sync_path(const char *path, int flags);            /* fsync; flags: O_DIRECTORY for a folder */
sptrsm_status spti_io_write_failed(const char *where, const char *name); /* names the system's reason, if there is one */

/* ---- array.c: attributes and datasets ---- */

typedef struct {
  const char *name;
  hid_t type;                /* in memory and in the file */
  int rank;                  /* 1 to 3 */
  hsize_t dims[3], chunk[3]; /* chunk[0] = 0: contiguous unless a filter needs chunks */
  bool early;                /* gets its place in the file when it is created */
  hid_t sources;             /* creation properties with the sources of a virtual dataset; 0: it has its own numbers */
} spti_io_array;
spti_io_array spti_io_vector(const char *name, hid_t type, int64_t count);
sptrsm_status spti_io_write_text(hid_t object, const char *name, const char *text, const char *where); /* an attribute */
sptrsm_status spti_io_write_integers(hid_t object, const char *name, const int64_t *values, int count, const char *where); /* likewise */
/* A float type, or the compound {r, i}; the caller closes it. */
sptrsm_status spti_io_value_type(hid_t *out, sptrsm_dtype, const char *where);
/* Creates a dataset with the filters of the options; the caller closes *out. */
sptrsm_status spti_io_create_array(hid_t *out, hid_t group, const spti_io_array *, const sptrsm_save_options *, const char *where);
sptrsm_status spti_io_write_array(hid_t group, const spti_io_array *, const void *data, const sptrsm_save_options *, const char *where);
/* The values of a batch: `count` rows of `length` numbers, at a stride in memory. */
typedef struct {
  int64_t count, length, stride;
} spti_io_rows;
sptrsm_status spti_io_write_rows(hid_t group, const char *name, hid_t type, const spti_io_rows *, const void *data,
                                 const sptrsm_save_options *, const char *where);

/* ---- save_block.c: dense blocks ---- */

/* Dimensions and chunks of a dataset for a block such as X, written `step` columns at a time; the caller sets the type. */
spti_io_array spti_io_block_array(const char *name, const sptrsm_block *X, sptrsm_layout, int64_t step);
typedef struct { /* an open dataset that a block is written to */
  hid_t id, type;
  sptrsm_layout layout;     /* of the file */
  const char *where, *name; /* file and dataset, for messages */
} spti_io_target;
/* Writes X as columns [first, first + X->nrhs). */
sptrsm_status spti_io_write_columns(const spti_io_target *, const sptrsm_block *X, int64_t first);
/* The path of a dataset `name` in the group that holds `path`. */
sptrsm_status spti_io_beside(char **out, const char *path, const char *name, const char *where);
/* Writes a vector beside the solution: into the group that holds `path`, under the array's name. */
sptrsm_status spti_io_write_beside(spti_io_output *, const char *path, const spti_io_array *, const void *data,
                                   const sptrsm_save_options *);

/* Refuses what can't be a block in host memory. */
sptrsm_status spti_io_check_block(const sptrsm_block *X, const char *name);
/* Writes a block as dataset `name`, with its order and the report, if there is one. */
sptrsm_status spti_io_write_block(spti_io_output *, const char *name, const sptrsm_block *X, const sptrsm_save_options *,
                                  const char *report);
/* Commits, or after a failure discards. */
sptrsm_status spti_io_output_finish(spti_io_output *, sptrsm_status);

/* ---- save_factors.c: factor sets ---- */

/* f = the caller's factor set, checked. */
sptrsm_status spti_io_take_factors(sptrsm_factors *f, const sptrsm_factors *in, const sptrsm_file_matrix *A);
/* Writes a factor set into the group out->id. values: what a batch has of its own for each item; NULL: nothing. */
sptrsm_status spti_io_write_set(spti_io_output *out, const sptrsm_factors *, const sptrsm_file_matrix *A, const sptrsm_batch_values *values,
                                const sptrsm_save_options *);
sptrsm_status spti_io_write_sparse(spti_io_output *out, const char *name, const sptrsm_file_matrix *, const sptrsm_save_options *);

/* ---- journal.c: an append-only file of records ---- */

typedef struct {
  int fd;
  char *path;
  char *text; /* after spti_io_journal_open: the valid records, each ended by a NUL */
  size_t bytes;
  bool shared; /* with other processes */
} spti_io_journal;
/* A journal is closed with spti_io_journal_close, also after create, open or join failed. */
sptrsm_status spti_io_journal_create(spti_io_journal *, const char *path); /* empties the file, unless another process has it open */
sptrsm_status spti_io_journal_open(spti_io_journal *, const char *path);   /* cuts off an incomplete last record */
/* Opens it together with other processes, and locks it for a change. *alone: no other process has it open; none can open it until
 * spti_io_journal_share. */
sptrsm_status spti_io_journal_join(spti_io_journal *, const char *path, bool *alone);
sptrsm_status spti_io_journal_share(spti_io_journal *); /* lets other processes open it */
/* Around changes of a shared journal, and of what it is about: waits until no other process is between them. */
sptrsm_status spti_io_journal_lock(const spti_io_journal *);
void spti_io_journal_unlock(const spti_io_journal *);
sptrsm_status spti_io_journal_claim(const spti_io_journal *, int64_t first, int64_t end); /* IO: another process has some of the columns */
/* Lets one process pass at a time: waits for the gate, a file that is there only meanwhile. */
sptrsm_status spti_io_gate_enter(int *fd, const char *path);
void spti_io_gate_leave(int *fd, const char *path);
bool spti_io_is_same(int fd, const char *path); /* does the name lead to the open file? */
bool spti_io_gate_foreign(const char *path);    /* is there a file that is no gate? One of a killed process is empty */
/* Takes the records from text lines instead of a file. */
sptrsm_status spti_io_journal_of_lines(spti_io_journal *, const char *lines);
sptrsm_status spti_io_journal_reload(spti_io_journal *); /* reads the records again, with those appended since */
sptrsm_status spti_io_journal_append(spti_io_journal *, const char *word, const char *text);
/* A record as the text line that append writes; the caller frees it. */
sptrsm_status spti_io_journal_line(char **out, const char *word, const char *text, const char *where);
/* The text of the first record `word`, or of the next one behind the text `after`; NULL: there is none. */
const char *spti_io_journal_next(const spti_io_journal *, const char *word, const char *after);
void spti_io_journal_close(spti_io_journal *);
bool spti_io_journal_busy(const char *path);                 /* does a process have it open? */
sptrsm_status spti_io_journal_not_foreign(const char *path); /* fails if a file is there that is no journal, by its first record */

#endif
