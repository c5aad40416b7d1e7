/* row_panel_kernels -- rows of a pull view cut into panels, runs of up to 64 places that are solved as one, and the levels of the panels.
 *
 * The cut: a panel ends when it has `rows` rows, or has `least` and the next row needs none of its rows. So factors with supernodes get
 * panels that follow these, and wide matrices get panels that need few others. Panels next to each other that need nothing before them
 * become one, if that has not too many rows: fewer panels, and no chain of them becomes longer. Where the panel that begins at place s
 * ends depends on s alone, so the ends are found for all places at once; which of them are taken is a chase from place 0. It is cut into
 * chunks: for each of the 64 places at which it may enter a chunk, where it leaves it and how many panels it passes; one thread then goes
 * from chunk to chunk. level(p) = 1 + the highest level of the panels that p needs, 1 without such, by the protocol of level_kernels.cu,
 * a block to a panel.
 * Deterministic: integers, and unique. */
#include "core/row_panel_kernels.h"

#include "core/syncfree.cuh"

namespace spti {

enum { CUT_THREADS = 256, CHAIN_CHUNKS = 64, PANEL_BATCH = 8, MOST_THREADS = 1024 };

/* ---- cuts ---- */

/* The places of the nearest and the farthest column that a row needs; -1 and INT32_MAX: none. */
struct needed_places {
  int32_t nearest, farthest;
};
SPTI_DEVICE needed_places needed_by(const spti_view &v, int32_t s) {
  const int32_t i = v.backward ? v.n - 1 - s : s;
  const int64_t begin = load_const(v.ptr + i) + v.head, end = load_const(v.ptr + i + 1) - v.tail;
  if (begin == end) return {-1, INT32_MAX};
  const int32_t low = load_const(v.idx + begin), high = load_const(v.idx + end - 1);
  return v.backward ? needed_places{v.n - 1 - low, v.n - 1 - high} : needed_places{high, low};
}

SPTI_DEVICE int32_t places_of_chunk(const spti_row_panels_args &a, int32_t start) {
  return a.view.n - start < a.chunk ? a.view.n - start : a.chunk;
}

/* The rows behind some place, as far as the panels need them that begin there. */
struct rows_ahead {
  int32_t *nearest, *farthest, *hops; /* shared; hops: rows of the panel that would begin there, before any are joined */
  int32_t start, left;                /* place of the first; rows from it on */

  /* Whole block. */
  SPTI_DEVICE void find(const spti_row_panels_args &a, int32_t places) const {
    for (int32_t s = thread_in_block(); s < places + 2 * SPTI_ROW_PANEL_ROWS && s < left; s += CUT_THREADS) {
      const needed_places needed = needed_by(a.view, start + s);
      nearest[s] = needed.nearest;
      farthest[s] = needed.farthest;
    }
    syncthreads();
    for (int32_t s = thread_in_block(); s < places + SPTI_ROW_PANEL_ROWS && s < left; s += CUT_THREADS) {
      int32_t hop = a.least;
      while (hop < a.rows && s + hop < left && nearest[s + hop] >= start + s) hop++;
      hops[s] = s + hop < left ? hop : left - s;
    }
    syncthreads();
  }
  SPTI_DEVICE bool need_nothing_before(int32_t s, int32_t from, int32_t to) const {
    while (from < to && farthest[from] >= start + s) from++;
    return from == to;
  }
  /* Rows of the panel that begins at s, with those behind it that are joined to it. */
  SPTI_DEVICE int32_t joined(const spti_row_panels_args &a, int32_t s) const {
    int32_t end = s + hops[s];
    if (!need_nothing_before(s, s, end)) return end - s;
    while (end < left && end + hops[end] - s <= a.rows && need_nothing_before(s, end, end + hops[end])) end += hops[end];
    return end - s;
  }
};

/* Rows of the panel that would begin at each place -> panel; the ways through each chunk -> exits: panels * SPTI_ROW_PANEL_ROWS + places
 * of the next chunk that the last of them takes. */
SPTI_KERNEL(CUT_THREADS) row_panels_hops_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, nearest, SPTI_ROW_PANEL_CHUNK + 2 * SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, farthest, SPTI_ROW_PANEL_CHUNK + 2 * SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, hops, SPTI_ROW_PANEL_CHUNK + SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, joined, SPTI_ROW_PANEL_CHUNK);
  const int32_t start = block_in_grid() * a.chunk, places = places_of_chunk(a, start);
  if (block_in_grid() == 0 && thread_in_block() < SPTI_ROW_PANELS_FACTS) store(a.facts + thread_in_block(), 0);
  if (block_in_grid() == 0 && thread_in_block() < SPTI_SYNCFREE_CONTROL_WORDS) store(a.sync.control + thread_in_block(), 0);
  const rows_ahead rows = {nearest, farthest, hops, start, a.view.n - start};
  rows.find(a, places);
  for (int32_t s = thread_in_block(); s < places; s += CUT_THREADS) {
    joined[s] = rows.joined(a, s);
    store(a.panel + start + s, joined[s]);
  }
  syncthreads();
  if (thread_in_block() >= SPTI_ROW_PANEL_ROWS) return;
  int32_t at = thread_in_block(), count = 0;
  for (; at < places; count++) at += joined[at];
  store(a.exits + int64_t(block_in_grid()) * SPTI_ROW_PANEL_ROWS + thread_in_block(), count * SPTI_ROW_PANEL_ROWS + at - places);
}

/* One block: where the chase enters each chunk, and after how many panels. */
SPTI_KERNEL(CUT_THREADS) row_panels_chain_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, exits, CHAIN_CHUNKS * SPTI_ROW_PANEL_ROWS);
  const int32_t chunks = spti_row_panels_chunks(a.view.n, a.chunk);
  int32_t at = 0, count = 0;
  for (int32_t c = 0; c < chunks; c += CHAIN_CHUNKS) {
    const int32_t here = chunks - c < CHAIN_CHUNKS ? chunks - c : CHAIN_CHUNKS;
    for (int32_t e = thread_in_block(); e < here * SPTI_ROW_PANEL_ROWS; e += CUT_THREADS)
      exits[e] = load_const(a.exits + int64_t(c) * SPTI_ROW_PANEL_ROWS + e);
    syncthreads();
    for (int32_t h = 0; thread_in_block() == 0 && h < here; h++) {
      const int32_t exit = exits[h * SPTI_ROW_PANEL_ROWS + at];
      store(a.entry + 2 * (c + h), at);
      store(a.entry + 2 * (c + h) + 1, count);
      count += exit / SPTI_ROW_PANEL_ROWS;
      at = exit % SPTI_ROW_PANEL_ROWS;
    }
    syncthreads();
  }
  if (thread_in_block() != 0) return;
  store(a.facts + SPTI_ROW_PANELS_COUNT, count);
  store(a.first + count, a.view.n);
}

/* The chase once more, through each chunk: panel of each place, first place of each panel. */
SPTI_KERNEL(CUT_THREADS) row_panels_place_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, hops, SPTI_ROW_PANEL_CHUNK);
  SPTI_SHARED(int32_t, begins, SPTI_ROW_PANEL_CHUNK); /* panels that begin in this chunk up to the place */
  const int32_t start = block_in_grid() * a.chunk, places = places_of_chunk(a, start);
  const int32_t before = load_const(a.entry + 2 * block_in_grid() + 1);
  for (int32_t s = thread_in_block(); s < places; s += CUT_THREADS) hops[s] = load(a.panel + start + s);
  syncthreads();
  if (thread_in_block() < 32) {
    const int32_t entry = load_const(a.entry + 2 * block_in_grid());
    for (int32_t s = lane(); s < entry && s < places; s += 32) begins[s] = 0;
    int32_t count = 0;
    for (int32_t s = entry; s < places; s += hops[s]) {
      count++;
      for (int32_t r = lane(); r < hops[s] && s + r < places; r += 32) begins[s + r] = count;
      if (lane() == 0) store(a.first + before + count - 1, start + s);
      if (lane() == 1) store(a.number + before + count - 1, before + count - 1);
      if (lane() == 2) store(a.level + before + count - 1, -1);
    }
  }
  syncthreads();
  for (int32_t s = thread_in_block(); s < places; s += CUT_THREADS) store(a.panel + start + s, before + begins[s] - 1);
}

/* ---- levels ---- */

/* Some entries that one thread polls together. */
struct panel_batch {
  const int32_t *at[PANEL_BATCH];
  int32_t seen[PANEL_BATCH]; /* -1: not yet; 0: no entry, or of the panel itself */

  SPTI_DEVICE void fetch(const spti_row_panels_args &a, int32_t first, int64_t p, int64_t end) {
    int32_t place[PANEL_BATCH];
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) {
      const int64_t e = p + int64_t(b) * threads_per_block();
      const int32_t j = e < end ? load_const(a.view.idx + e) : -1;
      place[b] = j < 0 ? first : a.view.backward ? a.view.n - 1 - j : j;
    }
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) {
      seen[b] = place[b] < first ? -1 : 0;
      at[b] = a.level + load_const(a.panel + place[b]);
    }
  }
  SPTI_DEVICE bool poll() {
    int32_t least = 0;
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++)
      if (seen[b] < 0) seen[b] = load_relaxed(at[b]);
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) least = seen[b] < least ? seen[b] : least;
    return least == 0;
  }
  SPTI_DEVICE int32_t highest(int32_t v) const {
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) v = seen[b] > v ? seen[b] : v;
    return v;
  }
};

enum { LOST = INT32_MAX };

/* One thread's share of a panel's entries, which are [begin, end): the highest level they need, or LOST. */
SPTI_DEVICE int32_t level_needed(const spti_row_panels_args &a, int32_t first, int64_t begin, int64_t end) {
  int32_t level = 0;
  for (int64_t p = begin + thread_in_block(); p < end; p += int64_t(PANEL_BATCH) * threads_per_block()) {
    panel_batch batch;
    spin_guard guard;
    guard.start();
    batch.fetch(a, first, p, end);
    while (!batch.poll())
      if (!guard.go_on(a.sync, first)) return LOST;
    level = batch.highest(level);
  }
  return level;
}

SPTI_KERNEL(MOST_THREADS) row_panels_levels_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, highest, MOST_THREADS / 32);
  const int64_t ticket = block_ticket(a.sync);
  if (ticket >= load_const(a.facts + SPTI_ROW_PANELS_COUNT)) return;
  const int32_t p = int32_t(ticket), first = load_const(a.first + p), next = load_const(a.first + p + 1);
  const int64_t begin = load_const(a.view.ptr + (a.view.backward ? a.view.n - next : first));
  const int64_t end = load_const(a.view.ptr + (a.view.backward ? a.view.n - first : next));
  const int32_t mine = warp_max(level_needed(a, first, begin, end));
  if (lane() == 0) highest[warp_in_block()] = mine;
  syncthreads();
  if (warp_in_block() != 0) return;
  const int32_t most = warp_max(lane() < warps_per_block() ? highest[lane()] : 0);
  if (lane() != 0 || most == LOST) return;
  store_relaxed(a.level + p, most + 1);
  red_max(a.facts + SPTI_ROW_PANELS_LEVELS, most + 1);
}

} // namespace spti

extern "C" int spti_row_panels_cut_launch(const spti_row_panels_args *a, void *stream) {
  using namespace spti;
  const int32_t chunks = spti_row_panels_chunks(a->view.n, a->chunk);
  int error = SPTI_LAUNCH(row_panels_hops_kernel, chunks, CUT_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(row_panels_chain_kernel, 1, CUT_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(row_panels_place_kernel, chunks, CUT_THREADS, 0, stream, *a);
  return error;
}

extern "C" int spti_row_panels_levels_launch(const spti_row_panels_args *a, void *stream) {
  using namespace spti;
  return SPTI_LAUNCH(row_panels_levels_kernel, spti_row_panels_most(a->view.n, a->least), a->threads, 0, stream, *a);
}
