/* share.c -- see share.h. Chunks become smaller when few columns are left, so that all workers end at about the same time. A worker that
 * needs longer for its next chunk than another one for its own and all that is left takes no more: the other one, which goes on, is the
 * faster. So the fastest worker that has not left never leaves, and all columns are taken.
 *
 * A host beside GPUs is doubted, and slow if it is at most half as fast as the fastest that goes on. Then it can save little and cost much:
 * a chunk of it takes long, and the GPUs share memory and processors with it. So it takes half of its part of what is left once, to be
 * measured, unless that is less than half of its chunk, and nothing while it is known to be slow. */
#include "core/multi/share.h"

enum { DOUBT = 8 }; /* how much slower a worker is taken to be that is doubted, and not measured */

static double rate_of(const spti_share_worker *w) { return w->rate > 0 ? w->rate : w->prompt ? 2 * w->first : 0; }

/* The rate of the fastest of those that go on; 0: none of them is known. */
static double fastest(const spti_share_worker *workers, int count) {
  double best = 0;
  for (int k = 0; k < count; k++)
    if (!workers[k].left && rate_of(&workers[k]) > best) best = rate_of(&workers[k]);
  return best;
}

static bool is_slow(const spti_share_worker *w, double best) { return w->doubted && rate_of(w) > 0 && 2 * rate_of(w) <= best; }

/* What a worker does of the work of all that go on, by their rates; equal parts until all rates are known. A host that is slow, or is
 * doubted and has not been measured, counts only in its own part. */
static double part_of(const spti_share_worker *workers, int count, int me) {
  const double best = fastest(workers, count);
  const bool slow = is_slow(&workers[me], best);
  double sum = 0;
  int active = 0, unknown = 0;
  for (int k = 0; k < count; k++) {
    const spti_share_worker *w = &workers[k];
    const bool counts = !w->left && (slow || !is_slow(w, best)) && (!w->doubted || rate_of(w) > 0);
    if (k != me && !counts) continue;
    active++;
    unknown += rate_of(w) <= 0;
    sum += rate_of(w);
  }
  return unknown > 0 ? 1.0 / active : rate_of(&workers[me]) / sum;
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

/* Is another worker done with all columns, and with the chunk that it is at work on, before this one is done with its next? */
static bool another_is_faster(const spti_share_worker *workers, int count, int me, int64_t chunk, int64_t columns) {
  const double own = rate_of(&workers[me]);
  for (int k = 0; k < count && own > 0; k++) {
    const spti_share_worker *w = &workers[k];
    if (k != me && !w->left && w->rate > own && (double)(columns + w->held) / w->rate < (double)chunk / own) return true;
  }
  return false;
}

/* 0: it leaves all columns to others. */
static int64_t chunk_of_slow(const spti_share_worker *workers, int count, int me, int64_t columns) {
  const spti_share_worker *w = &workers[me];
  const int64_t panels = (int64_t)(part_of(workers, count, me) / 2 * (double)columns / (double)w->panel), half = panels * w->panel;
  const int64_t chunk = half < w->chunk ? half : w->chunk;
  return 2 * chunk < w->chunk || w->warm ? 0 : chunk;
}

/* One that is doubted waits until another one is measured. */
static bool must_wait(spti_share_worker *workers, int count, int me) {
  spti_share_worker *w = &workers[me];
  bool has_other = false;
  if (!w->doubted || rate_of(w) > 0) return false;
  for (int k = 0; k < count; k++) has_other = has_other || (!workers[k].doubted && !workers[k].left);
  const double best = fastest(workers, count);
  if (has_other && best > 0) w->rate = best / DOUBT;
  return has_other && best <= 0;
}

spti_share_answer spti_share_take(int64_t *begin, int64_t *end, spti_share_worker *workers, int count, int me, int64_t *next, int64_t all) {
  spti_share_worker *w = &workers[me];
  const int64_t columns = all - *next;
  if (columns <= 0) return SPTI_SHARE_NONE;
  if (must_wait(workers, count, me)) return SPTI_SHARE_LATER;
  const bool slow = is_slow(w, fastest(workers, count));
  const int64_t chunk = slow ? chunk_of_slow(workers, count, me, columns) : chunk_of(workers, count, me, columns, all);
  w->left = w->slow = chunk == 0 || (!slow && another_is_faster(workers, count, me, chunk, columns));
  if (w->left) return SPTI_SHARE_NONE;
  w->held = chunk;
  *begin = *next;
  *end = *next += chunk;
  return SPTI_SHARE_TAKEN;
}

void spti_share_begin(spti_share_worker *w) {
  if (w->slow && w->solved == 0 && !w->doubted) w->rate *= 1.125;
  w->left = w->slow = false;
  w->solved = w->held = 0;
}

void spti_share_count(spti_share_worker *w, double seconds) {
  const double rate = seconds > 0 ? (double)w->held / seconds : 0;
  if (rate > 0 && w->warm) w->rate = rate;
  if (rate > 0 && !w->warm) w->first = rate, w->rate = w->prompt ? 0 : w->rate;
  w->solved += w->held;
  w->held = 0;
  w->warm = true;
}
