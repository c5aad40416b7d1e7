/* chains.c -- see chains.h. Lines here are columns of what is solved forwards and rows of what is solved backwards, whichever are stored:
 * line j has entries for lines beyond j in the order of the numbers (backwards: rows beyond). */
#include "core/select/chains.h"

#include <string.h>

#include "core/context/alloc.h"

enum { CHAIN_LEAST = 4 };

/* Of each line, where the other lines are stored. */
static void count_lengths(int32_t *length, const spti_view *v) {
  memset(length, 0, (size_t)v->n * sizeof *length);
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) length[v->idx[p]]++;
}

/* Whether lines j and j+1 of a triangle whose lines have later ones (`own`) or are listed by later ones are joined by an entry. */
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
