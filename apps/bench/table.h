/* table.h -- the output of sptrsm-bench: a table while it measures, means at the end; text of at most 140 columns. */
#ifndef APPS_BENCH_TABLE_H
#define APPS_BENCH_TABLE_H

#include "bench/session.h"

void bench_table_begin(const bench_session *);               /* machine, limits, heading */
void bench_table_triangle(const bench_session *, int index); /* the triangle of a measurement, once it is loaded */
void bench_table_row(const bench_session *, int index);
void bench_table_end(const bench_session *);

#endif
