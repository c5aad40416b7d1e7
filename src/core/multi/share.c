/* share.c -- see share.h. Chunks become smaller when few columns are left, so that all workers end at about the same time. A worker that
 * needs longer for its next chunk than another one for its own and all that is left takes no more: the other one, which goes on, is the
 * faster. So the fastest worker that has not left never leaves, and all columns are taken. */
#include "core/multi/share.h"

/* What a worker does of the work of all, by their rates; equal parts until all rates are known. */
static double part_of(const spti_share_worker *workers, int count, int me) {
  double sum = 0;
  for (int k = 0; k < count; k++) {
    if (workers[k].rate <= 0) return 1.0 / count;
    sum += workers[k].rate;
  }
  return workers[me].rate / sum;
}

/* At first a worker may take its part of all columns, so that all are done with one chunk each if it is large enough, later its part of
 * those that are left. */
static int64_t chunk_of(const spti_share_worker *workers, int count, int me, int64_t columns, int64_t all) {
  const spti_share_worker *w = &workers[me];
  const double part = part_of(workers, count, me) * (double)(w->solved > 0 ? columns : all);
  const int64_t panels = (int64_t)(part / (double)w->panel + 0.5), fair = (panels > 0 ? panels : 1) * w->panel;
  const int64_t chunk = fair < w->chunk ? fair : w->chunk;
  return chunk < columns ? chunk : columns;
}

/* Is another worker done with all columns, and with the chunk that it has just begun, before this one is done with its next? */
static bool another_is_faster(const spti_share_worker *workers, int count, int me, int64_t chunk, int64_t columns) {
  const double own = workers[me].rate;
  for (int k = 0; k < count && own > 0; k++) {
    const spti_share_worker *w = &workers[k];
    if (k != me && !w->left && w->rate > own && (double)(columns + w->chunk) / w->rate < (double)chunk / own) return true;
  }
  return false;
}

bool spti_share_take(int64_t *begin, int64_t *end, spti_share_worker *workers, int count, int me, int64_t *next, int64_t all) {
  const int64_t columns = all - *next;
  if (columns <= 0) return false;
  const int64_t chunk = chunk_of(workers, count, me, columns, all);
  workers[me].left = workers[me].slow = another_is_faster(workers, count, me, chunk, columns);
  if (workers[me].left) return false;
  *begin = *next;
  *end = *next += chunk;
  return true;
}

void spti_share_begin(spti_share_worker *w) {
  if (w->slow && w->solved == 0) w->rate *= 1.125;
  w->slow = false;
  w->solved = 0;
}

void spti_share_count(spti_share_worker *w, int64_t columns, double seconds) {
  if (w->warm && seconds > 0) w->rate = (double)columns / seconds;
  w->warm = true;
  w->solved += columns;
}
