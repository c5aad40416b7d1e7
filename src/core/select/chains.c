/* chains.c -- see chains.h. A line here is a column of a triangle that is solved forward, or a row of one that is
 * solved backward, whichever of the two is stored: line j has entries for lines after j, in the order of their
 * numbers. */
#include "core/select/chains.h"

#include <string.h>

#include "core/context/alloc.h"

enum { CHAIN_LEAST = 4 };

/* Lengths of all lines, where the view stores the other orientation. */
static void count_lengths(int32_t *length, const spti_view *v) {
  memset(length, 0, (size_t)v->n * sizeof *length);
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) length[v->idx[p]]++;
}

/* Has line j an entry for line j+1? own: the view stores the lines themselves. */
static bool joined(const spti_view *v, bool own, int32_t j) {
  int32_t i = own ? j : j + 1;
  int64_t begin = spti_view_begin(v, i), end = spti_view_end(v, i);
  return begin < end && v->idx[own ? begin : end - 1] == (own ? j + 1 : j);
}

sptrsm_status spti_chained_share(double *out, const spti_view *v) {
  const bool own = v->pull == v->backward;
  int32_t *counted = NULL;
  int64_t all = 0, chained = 0, sum = 0;
  if (!own) {
    SPTI_TRY(spti_host_alloc(&counted, v->n, sizeof *counted, "lengths of lines"));
    count_lengths(counted, v);
  }
  for (int32_t j = 0, lines = 0, previous = 0; j < v->n; j++) {
    int32_t length = own ? (int32_t)(spti_view_end(v, j) - spti_view_begin(v, j)) : counted[j];
    bool continues = j > 0 && previous == length + 1 && joined(v, own, j - 1);
    lines = continues ? lines + 1 : 1;
    sum = continues ? sum + length : length;
    if (lines == CHAIN_LEAST) chained += sum;
    if (lines > CHAIN_LEAST) chained += length;
    all += length;
    previous = length;
  }
  spti_host_free(counted);
  *out = all > 0 ? (double)chained / (double)all : 0;
  return SPTRSM_OK;
}
