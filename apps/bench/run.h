/* run.h -- a whole run of sptrsm-bench: starts the workers that measure, and keeps what they find in the session. */
#ifndef APPS_BENCH_RUN_H
#define APPS_BENCH_RUN_H

#include "bench/session.h"

/* Measures everything, prints the table's rows as it goes. False: no machine to measure on. */
bool bench_run(bench_session *);

#endif
