/* chains.c -- see chains.h. A line here is a column of a triangle that is solved forward, or a row of one that is
 * solved backward, whichever of the two is stored: line j has entries for lines after j, in the order of their
 * numbers. */
#include "core/select/chains.h"

#include <string.h>

#include "core/context/alloc.h"

/* Lines that make a chain, at least. In a band, whose lines have BAND_LEAST entries or more beside the diagonal without a gap, a line may
 * have one entry in TOLERANCE more or fewer than one that continues the line before: supernodes there get few added zeros. */
enum { CHAIN_LEAST = 4, BAND_LEAST = 40, TOLERANCE = 16 };

/* Lengths of all lines, where the view stores the other orientation. */
static void count_lengths(int32_t *length, const spti_view *v) {
  memset(length, 0, (size_t)v->n * sizeof *length);
  for (int32_t i = 0; i < v->n; i++)
    for (int64_t p = spti_view_begin(v, i); p < spti_view_end(v, i); p++) length[v->idx[p]]++;
}

/* Has line j - 1 entries for the `count` lines from j on, or for all if they are fewer? Where the view stores the other orientation: have
 * the `count` lines before j entries for line j? own: the view stores the lines themselves. */
static bool reaches(const spti_view *v, bool own, int32_t j, int32_t count) {
  const int32_t i = own ? j - 1 : j;
  const int32_t all = own ? v->n - 1 - i : i;
  const int64_t begin = spti_view_begin(v, i), end = spti_view_end(v, i);
  if (count > all) count = all;
  if (end - begin < count) return false;
  return own ? v->idx[begin + count - 1] == i + count : v->idx[end - count] == i - count;
}

/* Does line j > 0 seem to have the entries of the line before, but for that of j itself, or nearly so in a band? */
static bool continues(const spti_view *v, bool own, int32_t j, int32_t length, int32_t previous) {
  const int64_t more = (int64_t)length + 1 - previous;
  if (more == 0) return reaches(v, own, j, 1);
  return TOLERANCE * (more < 0 ? -more : more) <= length && reaches(v, own, j, BAND_LEAST);
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
    const bool chained_on = j > 0 && continues(v, own, j, length, previous);
    lines = chained_on ? lines + 1 : 1;
    sum = chained_on ? sum + length : length;
    if (lines == CHAIN_LEAST) chained += sum;
    if (lines > CHAIN_LEAST) chained += length;
    all += length;
    previous = length;
  }
  spti_host_free(counted);
  *out = all > 0 ? (double)chained / (double)all : 0;
  return SPTRSM_OK;
}
