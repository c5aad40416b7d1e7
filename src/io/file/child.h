/* child.h -- calls of HDF5 in a child process, so that a damaged file harms no other process.
 *
 * Opening a file forks a child, which alone calls HDF5 for that file. A call is a plain struct in memory that both processes share: the
 * job, what it needs and what it gives. The child is a fork of the same program, so addresses of functions and constants mean the same in
 * both. The parent waits for an answer only as long as the child makes progress. A child that crashes, hangs or lacks memory is given up:
 * this is an error of the call, and of each later call for the same file. A damaged file may make the child write anything into the shared
 * memory, so the parent takes no pointer from there, and checks numbers that it relies on.
 */
#ifndef SPTI_IO_FILE_CHILD_H
#define SPTI_IO_FILE_CHILD_H

#include <stdatomic.h>

#include "io/file/file.h"

enum { SPTI_IO_TEXT = 4096 };      /* bytes of a name, of "FILE:/path", or of a message */
enum { SPTI_IO_WINDOW = 1 << 20 }; /* bytes of a call's window, through which the child gives numbers and text */
enum { SPTI_IO_CALLS = 2 };        /* calls under way at a time: one is answered while the last answer is copied */

typedef struct spti_io_call {
  sptrsm_status (*job)(struct spti_io_call *, spti_io_file *); /* runs in the child */
  /* What the job needs. In the child, `where` and `file` of object and dataset point to where and to the child's file. */
  char *window; /* of the child: what the parent reads is spti_io_call_window() */
  spti_io_object object;
  spti_io_dataset dataset;
  char where[SPTI_IO_TEXT], name[SPTI_IO_TEXT];
  bool too_long; /* a name or a path did not fit, so the job can't run */
  spti_io_slab slab;
  int64_t count;
  int as;
  size_t bytes; /* of chunks that the job may have to decompress: it may compute longer by this */
  void *state;  /* of the child, for the next call */
  /* What it gives. */
  bool found;
  int64_t integers[3];
  spti_io_place place;
  size_t used; /* bytes of the window */
  sptrsm_status status;
  char error[SPTI_IO_TEXT];
  bool lacked_memory, lookup_failed, met_external;
} spti_io_call;

typedef struct { /* what parent and child share */
  spti_io_call calls[SPTI_IO_CALLS];
  atomic_uint progress;  /* counts while a job goes on */
  atomic_int crash;      /* the signal of a crash */
  atomic_bool no_memory; /* an allocation had failed when the child ended */
  _Alignas(4096) char windows[SPTI_IO_CALLS][SPTI_IO_WINDOW];
} spti_io_shared;

/* ---- child.c: the parent's side ---- */

sptrsm_status spti_io_child_start(spti_io_file *);      /* IO: the system allows no further process */
void spti_io_child_end(spti_io_file *);                 /* nothing without a child; ends one that hangs, too */
sptrsm_status spti_io_child_dead(const spti_io_file *); /* the error for which the child was given up; OK: it was not */
bool spti_io_child_idle(const spti_io_file *);          /* it is there, it is this process's own, and no call is under way */
pid_t spti_io_child_id(const spti_io_file *);

/* An empty call about an object (name NULL: about itself), or about a dataset. It is valid until the next one with the same slot. */
spti_io_call *spti_io_call_object(const spti_io_object *, const char *name);
spti_io_call *spti_io_call_dataset(const spti_io_dataset *, int slot);
spti_io_call *spti_io_call_of(const spti_io_file *, int slot);    /* the latest one with that slot */
const char *spti_io_call_window(const spti_io_file *, int slot);  /* its window, SPTI_IO_WINDOW bytes */
sptrsm_status spti_io_call_refuse(const spti_io_file *);          /* the error for an answer that can't be right */
sptrsm_status spti_io_call_begin(spti_io_call *, spti_io_file *); /* hands the job to the child */
sptrsm_status spti_io_call_end(spti_io_call *, spti_io_file *);   /* waits for it; calls end in the order in which they began */
sptrsm_status spti_io_call_run(spti_io_call *, spti_io_file *);   /* both */

/* ---- serve.c: the child's side ---- */

_Noreturn void spti_io_serve(spti_io_file *, spti_io_shared *, int socket); /* does jobs until the parent closes the socket */
void spti_io_child_progress(void);                                          /* a long job goes on; does nothing outside of a child */
void spti_io_child_may_take(size_t bytes);                                  /* HDF5 needs this much memory for one dataset; likewise */

#endif
