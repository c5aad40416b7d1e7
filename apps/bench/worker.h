/* worker.h -- the child process that measures, and its messages to the parent.
 *
  * A worker is forked, so it has the parent's arguments and inputs; only workers open a device. It makes the measurements one after the
  * other, from a given one on, and reports each step in a message of fixed size, by one write to a pipe.
 */
#ifndef APPS_BENCH_WORKER_H
#define APPS_BENCH_WORKER_H

#include <limits.h>

#include "bench/session.h"

typedef enum {
  SAY_READY,   /* the device is open, its limits are measured: machine */
  SAY_LOADING, /* it reads or generates the triangle of measurement `index` */
  SAY_LOADED,  /* the triangle is in memory: features */
  SAY_REFUSED, /* the triangle can't be loaded: trouble; its measurements are left out */
  SAY_BEGIN,   /* measurement `index` begins */
  SAY_RESULT,  /* measurement `index` is made: result */
  SAY_FATAL    /* the worker can't work: trouble */
} bench_say;

typedef struct {
  bench_say what;
  int index;
  union {
    bench_machine machine;
    bench_features features;
    bench_result result;
    struct {
      int code;
      char text[1024];
    } trouble;
  };
} bench_message;
_Static_assert(sizeof(bench_message) <= PIPE_BUF, "a message is written whole or not at all");

/* Does not return. Measures the limits of the machine first if asked to. */
_Noreturn void bench_worker(bench_args *, const bench_inputs *, int first, bool with_limits, int pipe_end);

#endif
