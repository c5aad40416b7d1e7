/* gen_triangle.h -- synthetic triangles in memory: a pattern filled with numbers, for sptrsm-gen and sptrsm-bench.
 *
 * Off-diagonal entries are odd multiples of 1/8, from -7/8 to 7/8 (complex: both parts). The diagonal is 1 + sum of |re| + |im| over
 * the row (complex: times 1 + i/2), so that rows are diagonally dominant and the inverse is at most 1 in the maximum norm. With a unit
 * diagonal the row is divided by a power of two at least as large as its length.
 */
#ifndef APPS_COMMON_GEN_TRIANGLE_H
#define APPS_COMMON_GEN_TRIANGLE_H

#include <complex.h>

#include <sptrsm.h>

#include "common/gen_pattern.h"

typedef struct {
  pattern pattern;
  sptrsm_uplo uplo;
  sptrsm_dtype dtype;
  bool unit;
  uint64_t item; /* of a batch: changes the values, but not the pattern; 0: none */
} triangle_spec;

typedef struct {
  int64_t *ptr;
  int32_t *idx;
  void *val;
  sptrsm_sparse T; /* CSR over the arrays above */
} triangle;

/* Takes the value of --row (is_row) or --density; checks that the options suit the kind. Both exit with CLI_USAGE where not. */
void spec_parse_fill(triangle_spec *, bool is_row, const char *text);
void spec_check(const triangle_spec *);
/* Is there memory for `items` triangles with one pattern, and for two blocks of nrhs columns of each? Estimated before any row is counted,
 * because counting alone takes minutes for an order in the billions. Returns an exit code. */
int spec_check_memory(const triangle_spec *, int64_t nrhs, int64_t items);
bool triangle_make(triangle *, const triangle_spec *); /* false: no memory; triangle_free is needed in both cases */
void triangle_free(triangle *);

/* Writes or reads element `at` of an array of a dtype. */
void put_value(void *to, sptrsm_dtype, int64_t at, double complex value);
double complex get_value(const void *from, sptrsm_dtype, int64_t at);

#endif
