/* stream.h -- a stream of panels: the state that its stages (stream.c) share with its output (stream_output.c). */
#ifndef APPS_SOLVE_STREAM_H
#define APPS_SOLVE_STREAM_H

#include "solve/ranks/ranks.h"
#include "solve/ring.h"
#include "solve/solve.h"

enum { READ, SOLVE, CHECK, WRITE };
enum { UNSYNCED = 64 }; /* the most ranges of columns between two checkpoints */

typedef struct {
  column_span columns;
  findings found;
} unsynced_range;

typedef struct {
  run *r;
  panel_list left;                             /* what is to do, of all ranks */
  column_span panel[RING_SLOTS_MAX];           /* the columns in each slot; empty: no panel was left */
  int64_t before[RING_SLOTS_MAX];              /* columns of `left` that were handed out before these */
  void *B[RING_SLOTS_MAX], *X[RING_SLOTS_MAX]; /* X[k] is B[k] where nobody needs B after the solve */
  residual errors[RING_SLOTS_MAX];
  nonfinite odd[RING_SLOTS_MAX];
  sptrsm_file_writer *writer;
  unsynced_range unsynced[UNSYNCED]; /* written since the latest checkpoint */
  int unsynced_count;
  findings found; /* of all columns that have no journal */
  cli_progress progress;
  double synced, sync_seconds; /* when the latest checkpoint ended, and how long it took */
} stream;

/* ---- stream_output.c; the functions return exit codes ---- */

int stream_open(stream *);                                     /* begins, continues or joins the output, and finds what is to do */
int stream_finish(stream *);                                   /* adds up what was found, and finishes the output where nothing is left */
void stream_own(const stream *, int64_t *begin, int64_t *end); /* the columns of this run, with all its ranks */
bool stream_keeps(const run *);                                /* whether an output that is not finished stays, to be continued */

#endif
