/* row_panel_kernels.cu -- cuts the rows of a pull view into panels, runs of up to 64 places that are solved together, and finds the levels
 * of the panels.
 *
 * The cut. A panel ends when it has `rows` rows, or when it has `least` rows and the next row depends on none of them. So the panels of a
 * factor follow its supernodes, and the panels of a wide matrix depend on few others. Neighbouring panels that depend on nothing before
 * them are joined if the result has at most `rows` rows: this gives fewer panels and makes no chain of panels longer. The end of a panel
 * depends only on the place at which it begins, so the ends for all places are computed in parallel. Then the panels are found by
 * following the ends from place 0, in chunks: for each of the 64 places at which this path can enter a chunk, a thread computes where the
 * path leaves it and how many panels it passes; after that one thread goes from chunk to chunk.
 *
 * The levels. level(p) = 1 + the highest level of the panels on which p depends, or 1 if there are none, by the protocol of kernels.cu with
 * a thread block for each panel. A panel of a factor has up to hundreds of thousands of entries, but in few panels. The block marks
 * these in a bit map in shared memory before it waits, so that a hop needs a poll of one word for each panel, not for each entry.
 * Deterministic: the results are integers and do not depend on the schedule. */
#include "core/levels/row_panel_kernels.h"

#include "core/device/block_sum.cuh"
#include "core/device/syncfree.cuh"

namespace spti {

enum {
  CUT_THREADS = 256,
  CHAIN_CHUNKS = 128,
  PANEL_BATCH = 8,
  MOST_THREADS = 1024,
  LEVEL_BLOCKS = 4224 /* thread blocks of the level kernel, about as many as can be resident */,
  SAMPLE_TIMES = 4 /* a sampled panel gets this many times the threads, since sampled panels are few */
};

/* ---- cuts ---- */

/* The places of the nearest and of the farthest column of a row's off-diagonal entries; -1 and INT32_MAX if it has none. */
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

/* The rows after a place, as far as panels that begin in the chunk reach. */
struct rows_ahead {
  int32_t *nearest, *farthest, *hops; /* shared; hops: rows of the panel that begins at this place, before panels are joined */
  int32_t start, left;                /* the first place; number of rows from it on */

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
  /* Number of rows of the panel that begins at s, after following panels are joined to it. */
  SPTI_DEVICE int32_t joined(const spti_row_panels_args &a, int32_t s) const {
    int32_t end = s + hops[s];
    if (!need_nothing_before(s, s, end)) return end - s;
    while (end < left && end + hops[end] - s <= a.rows && need_nothing_before(s, end, end + hops[end])) end += hops[end];
    return end - s;
  }
};

SPTI_DEVICE void clear_facts(spti_row_panels_facts *f) {
  store(&f->levels, 0);
  store(&f->most, 0);
  store(&f->sampled, 0);
  store(&f->needed, 0.0);
  store(&f->stored, 0.0);
}

/* Writes to `panel` the number of rows of the panel that begins at each place, and to `exits` the paths through each chunk: number of
 * panels * SPTI_ROW_PANEL_ROWS + number of places of the next chunk that the last panel covers. */
SPTI_KERNEL(CUT_THREADS) row_panels_hops_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, nearest, SPTI_ROW_PANEL_CHUNK + 2 * SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, farthest, SPTI_ROW_PANEL_CHUNK + 2 * SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, hops, SPTI_ROW_PANEL_CHUNK + SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, joined, SPTI_ROW_PANEL_CHUNK);
  const int32_t start = block_in_grid() * a.chunk, places = places_of_chunk(a, start);
  if (block_in_grid() == 0 && thread_in_block() == 0) clear_facts(a.facts);
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

/* The place at which the path of panels enters a chunk, and the number of panels before it. */
struct chunk_entry {
  int32_t at, count;
};

/* Whole block: follows the path through chunks [first, last), beginning with `entry`. One thread calls visit(chunk, entry) for each chunk.
 * Returns the entry of chunk `last`. */
template <typename Visit>
SPTI_DEVICE chunk_entry chase(const spti_row_panels_args &a, int32_t first, int32_t last, chunk_entry entry, Visit visit) {
  SPTI_SHARED(int32_t, exits, CHAIN_CHUNKS * SPTI_ROW_PANEL_ROWS);
  SPTI_SHARED(int32_t, end, 2);
  for (int32_t c = first; c < last; c += CHAIN_CHUNKS) {
    const int32_t here = last - c < CHAIN_CHUNKS ? last - c : CHAIN_CHUNKS;
    for (int32_t e = thread_in_block(); e < here * SPTI_ROW_PANEL_ROWS; e += CUT_THREADS)
      exits[e] = load_const(a.exits + int64_t(c) * SPTI_ROW_PANEL_ROWS + e);
    syncthreads();
    for (int32_t h = 0; thread_in_block() == 0 && h < here; h++) {
      const int32_t exit = exits[h * SPTI_ROW_PANEL_ROWS + entry.at];
      visit(c + h, entry);
      entry = {exit % SPTI_ROW_PANEL_ROWS, entry.count + exit / SPTI_ROW_PANEL_ROWS};
    }
    syncthreads();
  }
  if (thread_in_block() == 0) end[0] = entry.at, end[1] = entry.count;
  syncthreads();
  return {end[0], end[1]};
}

SPTI_DEVICE void store_count(const spti_row_panels_args &a, int32_t count) {
  store(&a.facts->count, count);
  store(a.first + count, a.view.n);
}

/* One thread block; used if there are too many chunks for every block to follow the path to its own chunk. */
SPTI_KERNEL(CUT_THREADS) row_panels_chain_kernel(spti_row_panels_args a) {
  const chunk_entry end = chase(a, 0, spti_row_panels_chunks(a.view.n, a.chunk), {0, 0}, [&](int32_t chunk, chunk_entry entry) {
    store(a.entry + 2 * chunk, entry.at);
    store(a.entry + 2 * chunk + 1, entry.count);
  });
  if (thread_in_block() == 0) store_count(a, end.count);
}

/* Whole block: the entry of its chunk. */
SPTI_DEVICE chunk_entry own_entry(const spti_row_panels_args &a, int32_t chunks) {
  if (chunks > CHAIN_CHUNKS) return {load_const(a.entry + 2 * block_in_grid()), load_const(a.entry + 2 * block_in_grid() + 1)};
  const chunk_entry entry = chase(a, 0, block_in_grid(), {0, 0}, [](int32_t, chunk_entry) {});
  if (thread_in_block() == 0 && block_in_grid() == chunks - 1)
    store_count(a, entry.count + load_const(a.exits + int64_t(block_in_grid()) * SPTI_ROW_PANEL_ROWS + entry.at) / SPTI_ROW_PANEL_ROWS);
  return entry;
}

/* Follows the path once more in each chunk, for the panel of each place and the first place of each panel. */
SPTI_KERNEL(CUT_THREADS) row_panels_place_kernel(spti_row_panels_args a) {
  SPTI_SHARED(int32_t, hops, SPTI_ROW_PANEL_CHUNK);
  SPTI_SHARED(int32_t, begins, SPTI_ROW_PANEL_CHUNK); /* number of panels that begin in this chunk at or before the place */
  const int32_t start = block_in_grid() * a.chunk, places = places_of_chunk(a, start);
  const chunk_entry entry = own_entry(a, spti_row_panels_chunks(a.view.n, a.chunk));
  for (int32_t s = thread_in_block(); s < places; s += CUT_THREADS) hops[s] = load(a.panel + start + s);
  syncthreads();
  if (thread_in_block() < 32) {
    for (int32_t s = lane(); s < entry.at && s < places; s += 32) begins[s] = 0;
    int32_t count = 0;
    for (int32_t s = entry.at; s < places; s += hops[s]) {
      const int32_t p = entry.count + count++;
      for (int32_t r = lane(); r < hops[s] && s + r < places; r += 32) begins[s + r] = count;
      if (lane() == 0) store(a.first + p, start + s);
      if (lane() == 1) store(a.number + p, p);
      if (lane() == 2) store(a.level + p, -1);
    }
  }
  syncthreads();
  for (int32_t s = thread_in_block(); s < places; s += CUT_THREADS) store(a.panel + start + s, entry.count + begins[s] - 1);
}

/* ---- the panels on which a panel depends ---- */

struct panel_rows {
  int32_t panel, first, rows; /* place of its first row, number of rows */
  int64_t begin, end;         /* its entries in the view */
};

SPTI_DEVICE panel_rows panel_rows_of(const spti_row_panels_args &a, int32_t p) {
  const int32_t first = load_const(a.first + p), next = load_const(a.first + p + 1);
  const int64_t begin = load_const(a.view.ptr + (a.view.backward ? a.view.n - next : first));
  return {p, first, next - first, begin, load_const(a.view.ptr + (a.view.backward ? a.view.n - first : next))};
}

/* A bit for each panel of the window [start, start + count). */
struct needed_map {
  int32_t *words; /* shared */
  int32_t start, count;

  SPTI_DEVICE int32_t word_count() const { return (count + 31) / 32; }

  /* Most threads find the bit set already, since a panel has many entries in the same panel. */
  SPTI_DEVICE void mark(int32_t panel) const {
    const uint32_t at = uint32_t(panel - start); /* a panel of another window gives a number beyond count */
    const int32_t bit = int32_t(1u << at % 32);
    if (at < uint32_t(count) && !(shared_load_relaxed(words + at / 32) & bit)) shared_red_or(words + at / 32, bit);
  }
};

/* Whole block: sets the bits of the panels in the window on which the panel depends. Ends with a barrier. */
SPTI_DEVICE void mark_needed(const spti_row_panels_args &a, const panel_rows &r, const needed_map &map) {
  for (int32_t w = thread_in_block(); w < map.word_count(); w += threads_per_block()) shared_store(map.words + w, 0);
  syncthreads();
  for (int64_t p = r.begin + thread_in_block(); p < r.end; p += int64_t(PANEL_BATCH) * threads_per_block()) {
    int32_t place[PANEL_BATCH];
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) {
      const int64_t e = p + int64_t(b) * threads_per_block();
      const int32_t j = e < r.end ? load_const(a.view.idx + e) : -1;
      place[b] = j < 0 ? r.first : a.view.backward ? a.view.n - 1 - j : j;
    }
    int32_t panel[PANEL_BATCH];
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++) panel[b] = load_const(a.panel + place[b]);
#pragma unroll
    for (int b = 0; b < PANEL_BATCH; b++)
      if (place[b] < r.first) map.mark(panel[b]);
  }
  syncthreads();
}

/* Whole block: calls visit(map) for each window of panels before this one. */
template <typename Visit> SPTI_DEVICE void each_needed_map(const spti_row_panels_args &a, const panel_rows &r, Visit visit) {
  SPTI_DYNAMIC_SHARED(int32_t, words);
  for (int32_t start = 0; start == 0 || start < r.panel; start += a.window) {
    const needed_map map = {words, start, r.panel - start < a.window ? r.panel - start : a.window};
    mark_needed(a, r, map);
    visit(map);
    syncthreads();
  }
}

/* Whole block: the number of panels in the map. */
SPTI_DEVICE int64_t count_needed(const needed_map &map) {
  int64_t mine = 0, total;
  for (int32_t w = thread_in_block(); w < map.word_count(); w += threads_per_block())
    mine += popcount(uint32_t(shared_load_relaxed(map.words + w)));
  block_sum_before(mine, &total);
  return total;
}

SPTI_DEVICE int64_t off_diagonal(const spti_view &v, int64_t entries, int32_t rows) { return entries - (v.head + v.tail) * int64_t(rows); }

/* Samples nothing if the panels are so few for all entries that they are dense in any case: the test of levels_wanted holds then, too. */
SPTI_KERNEL(MOST_THREADS) row_panels_sample_kernel(spti_row_panels_args a) {
  const int32_t count = load_const(&a.facts->count), sampled = count < a.samples ? count : a.samples;
  const double pairs = 0.5 * count * (count + 1.0); /* the most pairs of a panel and a panel that it depends on, or itself */
  if (block_in_grid() >= sampled || double(off_diagonal(a.view, a.view.nnz, a.view.n)) >= a.dense * pairs) return;
  const panel_rows r = panel_rows_of(a, int32_t(int64_t(block_in_grid()) * count / sampled));
  int64_t needed = 0;
  each_needed_map(a, r, [&](const needed_map &map) { needed += count_needed(map); });
  if (thread_in_block() != 0) return;
  if (block_in_grid() == 0) store(&a.facts->sampled, sampled);
  red_add(&a.facts->needed, double(needed)); /* sums of integers: exact, in any order */
  red_add(&a.facts->stored, double(off_diagonal(a.view, r.end - r.begin, r.rows)));
}

/* ---- levels ---- */

enum { LOST = INT32_MAX };

/* One lane: the level of panel q once it is known, or LOST. */
SPTI_DEVICE int32_t await_level(const spti_row_panels_args &a, int32_t q, int32_t row) {
  spin_guard guard;
  guard.start();
  int32_t level = load_relaxed(a.level + q);
  while (level < 0) {
    if (!guard.go_on(a.sync, row)) return LOST;
    level = load_relaxed(a.level + q);
  }
  return level;
}

/* Whole warp: the highest level of the panels in its share of the map. Words are dealt to the warps in turn, and a lane waits for each
 * panel of a word. */
SPTI_DEVICE int32_t highest_needed(const spti_row_panels_args &a, const needed_map &map, int32_t row) {
  int32_t highest = 0;
  for (int32_t from = warp_in_block(); from < map.word_count(); from += 32 * warps_per_block()) {
    const int32_t mine = from + lane() * warps_per_block();
    const int32_t word = mine < map.word_count() ? shared_load_relaxed(map.words + mine) : 0;
    for (uint32_t left = ballot(word != 0); left; left &= left - 1) {
      const int32_t from_lane = first_lane(left), at = (from + from_lane * warps_per_block()) * 32 + lane();
      if (!(uint32_t(shfl(word, from_lane)) >> lane() & 1)) continue;
      const int32_t level = await_level(a, map.start + at, row);
      highest = level > highest ? level : highest;
    }
  }
  return warp_max(highest);
}

SPTI_DEVICE bool levels_wanted(const spti_row_panels_args &a) {
  const spti_row_panels_facts *f = a.facts;
  return a.dense == 0 || load_const(&f->stored) >= a.dense * (load_const(&f->needed) + load_const(&f->sampled));
}

/* Whole block: finds the level of panel p. False: a dependency was lost. */
SPTI_DEVICE bool find_level(const spti_row_panels_args &a, int32_t p) {
  SPTI_SHARED(int32_t, highest, MOST_THREADS / 32);
  const panel_rows r = panel_rows_of(a, p);
  int32_t mine = 0;
  int64_t needed = 0;
  each_needed_map(a, r, [&](const needed_map &map) {
    needed += count_needed(map);
    const int32_t level = highest_needed(a, map, r.first);
    mine = level > mine ? level : mine;
  });
  if (lane() == 0) highest[warp_in_block()] = mine;
  syncthreads();
  const int32_t most = warp_max(lane() < warps_per_block() ? highest[lane()] : 0);
  if (thread_in_block() == 0 && most != LOST) {
    store_relaxed(a.level + p, most + 1);
    red_max(&a.facts->levels, most + 1);
    red_max(&a.facts->most, int32_t(needed));
  }
  return most != LOST;
}

SPTI_KERNEL(MOST_THREADS) row_panels_levels_kernel(spti_row_panels_args a) {
  if (!levels_wanted(a)) return;
  const int32_t count = load_const(&a.facts->count);
  for (int64_t ticket = block_ticket(a.sync); ticket < count; ticket = block_ticket(a.sync))
    if (!find_level(a, int32_t(ticket))) return;
}

} // namespace spti

extern "C" int spti_row_panels_cut_launch(const spti_row_panels_args *a, void *stream) {
  using namespace spti;
  const int32_t chunks = spti_row_panels_chunks(a->view.n, a->chunk);
  int error = SPTI_LAUNCH(row_panels_hops_kernel, chunks, CUT_THREADS, 0, stream, *a);
  if (!error && chunks > CHAIN_CHUNKS) error = SPTI_LAUNCH(row_panels_chain_kernel, 1, CUT_THREADS, 0, stream, *a);
  if (!error) error = SPTI_LAUNCH(row_panels_place_kernel, chunks, CUT_THREADS, 0, stream, *a);
  return error;
}

extern "C" int spti_row_panels_levels_launch(const spti_row_panels_args *a, void *stream) {
  using namespace spti;
  const int32_t most = spti_row_panels_most(a->view.n, a->least), panels = most < a->window ? most : a->window;
  const int32_t samples = most < a->samples ? most : a->samples, blocks = most < LEVEL_BLOCKS ? most : LEVEL_BLOCKS;
  const size_t map = (size_t(panels) + 31) / 32 * sizeof(int32_t);
  const int32_t threads = SAMPLE_TIMES * a->threads < MOST_THREADS ? SAMPLE_TIMES * a->threads : MOST_THREADS;
  const int error = a->dense ? SPTI_LAUNCH(row_panels_sample_kernel, samples, threads, map, stream, *a) : 0;
  return error ? error : SPTI_LAUNCH(row_panels_levels_kernel, blocks, a->threads, map, stream, *a);
}
