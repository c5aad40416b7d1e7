/* worker.h -- the process that measures, and what it says to its parent.
 *
 * A worker is forked, so it shares the parent's arguments and inputs; it alone opens a device. It goes through the measurements from
 * the first one it is given and says what it does in messages of fixed size, each one write to a pipe.
 */
#ifndef APPS_BENCH_WORKER_H
#define APPS_BENCH_WORKER_H

#include <limits.h>

#include "bench/session.h"

typedef enum {
  SAY_READY,   /* the device is open, its limits are measured: machine */
  SAY_LOADING, /* index: of the first measurement that needs the triangle */
  SAY_LOADED,  /* features */
  SAY_REFUSED, /* the triangle can't be had: code and text; its measurements are left out */
  SAY_BEGIN,   /* a measurement */
  SAY_RESULT,
  SAY_FATAL /* the worker can't work: code and text */
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
