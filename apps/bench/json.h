/* json.h -- the report of sptrsm-bench as JSON and as CSV. The keys are documented in docs/benchmarking.md and are stable. */
#ifndef APPS_BENCH_JSON_H
#define APPS_BENCH_JSON_H

#include "bench/session.h"

json_t *bench_json(const bench_session *);                    /* NULL: no memory */
int bench_csv_write(const bench_session *, const char *path); /* exit code */

#endif
