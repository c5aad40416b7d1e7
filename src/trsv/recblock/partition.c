/* partition.c -- see partition.h. */
#include "trsv/recblock/partition.h"

#include <stddef.h>

const spti_recblock_limits spti_recblock_defaults = {.levels = 20,
                                                     .level_row = 15,
                                                     .thin_levels = 100,
                                                     .thread_row = 12,
                                                     .thread_empty = 50,
                                                     .group_empty = 15,
                                                     .thread_apart = 32,
                                                     .group_apart = 512,
                                                     .chunk = 128,
                                                     .waiting_row = 256};

/* ---- cuts ---- */

int32_t spti_recblock_depth(int32_t n, int64_t lanes) {
  int32_t depth = 0;
  while (depth < SPTI_RECBLOCK_MAX_DEPTH && (int64_t)n >> (depth + 1) >= 20 * lanes) depth++;
  return depth;
}

static int32_t clip(const spti_recblock_tree *t, int32_t place) { return place < t->first ? t->first : place; }

spti_recblock_block spti_recblock_block_at(const spti_recblock_tree *t, int32_t index) {
  int32_t leaf = (index + 1) / 2;
  if (index % 2 == 0) {
    int32_t begin = clip(t, t->bound[leaf]), end = clip(t, t->bound[leaf + 1]);
    return (spti_recblock_block){.row_begin = begin, .row_end = end, .column_begin = begin, .column_end = end};
  }
  int32_t span = leaf & -leaf;
  return (spti_recblock_block){.rectangle = true,
                               .row_begin = clip(t, t->bound[leaf]),
                               .row_end = clip(t, t->bound[leaf + span]),
                               .column_begin = t->bound[leaf - span],
                               .column_end = t->bound[leaf]};
}

int64_t spti_recblock_cut(spti_recblock_tree *t) {
  int64_t segments = 0;
  for (int32_t k = 0; k <= spti_recblock_leaves(t->depth); k++) t->bound[k] = (int32_t)((int64_t)t->n * k >> t->depth);
  for (int32_t i = 0; i < spti_recblock_blocks(t->depth); i++) {
    spti_recblock_block block = spti_recblock_block_at(t, i);
    t->base[i] = (int32_t)(segments - block.row_begin);
    segments += block.row_end - block.row_begin;
  }
  return segments;
}

/* ---- choices ---- */

spti_recblock_triangle spti_recblock_choose_triangle(const spti_recblock_limits *l, int64_t rows, int64_t entries, int32_t levels) {
  if (entries == 0) return SPTI_RECBLOCK_DIAGONAL;
  if (levels == 1) return SPTI_RECBLOCK_LEVELS; /* rows that need the first level only */
  if (entries + rows <= l->level_row * rows && levels <= l->levels) return SPTI_RECBLOCK_LEVELS;
  if (entries < rows && levels <= l->thin_levels) return SPTI_RECBLOCK_LEVELS;
  return SPTI_RECBLOCK_SYNCFREE;
}

spti_recblock_way spti_recblock_choose_way(const spti_recblock_limits *l, int64_t rows, int64_t nonempty, int64_t entries) {
  bool thread = entries <= l->thread_row * nonempty;
  int32_t allowed = thread ? l->thread_empty : l->group_empty;
  return (spti_recblock_way){.slots = thread ? 1 : SPTI_RECBLOCK_SLOTS, .listed = 100 * (rows - nonempty) > allowed * rows};
}

/* ---- steps ---- */

static spti_recblock_step step_of(const spti_recblock_tree *t, int32_t block, int32_t begin, int32_t end) {
  return (spti_recblock_step){
      .block = block, .row = begin, .rows = end - begin, .segment = t->base[block] + begin, .apart_above = INT32_MAX, .listed = -1};
}

static bool is_rectangle(int32_t block) { return block % 2 != 0; }

int32_t spti_recblock_survey(spti_recblock_step *out, const spti_recblock_tree *t, const int32_t *level_ptr, int32_t levels,
                             const spti_recblock_limits *limits) {
  int32_t count = 0, level = 0;
  for (int32_t i = 0; i < spti_recblock_blocks(t->depth); i++) {
    spti_recblock_block block = spti_recblock_block_at(t, i);
    if (block.row_begin >= block.row_end) continue;
    if (block.rectangle) {
      if (out) out[count] = step_of(t, i, block.row_begin, block.row_end);
      count++;
      continue;
    }
    while (level_ptr[level + 1] <= block.row_begin) level++;
    int32_t last = level;
    while (last < levels && level_ptr[last] < block.row_end) last++;
    int32_t most = limits->levels > limits->thin_levels ? limits->levels : limits->thin_levels;
    bool whole = last - level > most && last - level > 1;
    for (int32_t l = level; l < last; l = whole ? last : l + 1) {
      int32_t begin = level_ptr[l] > block.row_begin ? level_ptr[l] : block.row_begin;
      int32_t end = whole || level_ptr[l + 1] > block.row_end ? block.row_end : level_ptr[l + 1];
      if (out) {
        out[count] = step_of(t, i, begin, end);
        out[count].syncfree = whole;
      }
      count++;
    }
  }
  return count;
}

typedef struct {
  const spti_recblock_limits *limits;
  spti_recblock_summary *summary;
  spti_recblock_step *steps;
  int32_t count, longest;
} chooser;

/* Appends a step that reads solutions of earlier steps only, with the kernel that its counts ask for. */
static spti_recblock_way append(chooser *c, spti_recblock_step step, const int32_t *facts, bool finish) {
  const spti_recblock_limits *l = c->limits;
  spti_recblock_summary *s = c->summary;
  spti_recblock_way way = spti_recblock_choose_way(l, step.rows, facts[SPTI_RECBLOCK_NONEMPTY], facts[SPTI_RECBLOCK_ENTRIES]);
  bool thread = way.slots == 1;
  step.syncfree = 0;
  step.finish = finish;
  step.slots = way.slots;
  step.apart_above = thread ? l->thread_apart : l->group_apart;
  step.chunk = l->chunk;
  step.apart = facts[thread ? SPTI_RECBLOCK_THREAD_APART : SPTI_RECBLOCK_GROUP_APART];
  step.chunks = facts[thread ? SPTI_RECBLOCK_THREAD_CHUNKS : SPTI_RECBLOCK_GROUP_CHUNKS];
  way.listed &= !finish; /* rows without entries are solved for too */
  step.listed = way.listed ? facts[SPTI_RECBLOCK_NONEMPTY] - step.apart : -1;
  step.list = s->lists;
  step.record = s->records;
  step.piece = s->pieces;
  if (way.listed) s->lists += step.listed;
  s->records += step.apart;
  s->pieces += step.chunks;
  if (step.chunks > s->most_pieces) s->most_pieces = step.chunks;
  c->steps[c->count++] = step;
  return way;
}

static void choose_rectangle(chooser *c, spti_recblock_step step, const int32_t *facts, bool finish) {
  spti_recblock_summary *s = c->summary;
  s->rectangle_entries += facts[SPTI_RECBLOCK_ENTRIES];
  if (facts[SPTI_RECBLOCK_ENTRIES] == 0) {
    s->empty++;
    if (!finish) return;
  }
  if (!finish && step.row < s->panel_row) s->panel_row = step.row;
  spti_recblock_way way = append(c, step, facts, finish);
  if (facts[SPTI_RECBLOCK_ENTRIES] == 0) return;
  if (way.slots == 1) *(way.listed ? &s->thread_listed : &s->thread) += 1;
  else *(way.listed ? &s->group_listed : &s->group) += 1;
}

/* The surveyed steps [0, levels) of one triangle. */
static void choose_triangle(chooser *c, const spti_recblock_step *steps, const int32_t *facts, int32_t levels,
                            spti_recblock_triangle kind) {
  spti_recblock_summary *s = c->summary;
  spti_recblock_step whole = steps[0];
  whole.rows = steps[levels - 1].row + steps[levels - 1].rows - whole.row;
  if (kind == SPTI_RECBLOCK_SYNCFREE) {
    int64_t entries = 0;
    for (int32_t l = 0; l < levels; l++) entries += facts[l * SPTI_RECBLOCK_FACTS + SPTI_RECBLOCK_ENTRIES];
    whole.syncfree = whole.finish = 1;
    whole.slots = c->longest <= c->limits->waiting_row ? spti_recblock_choose_way(c->limits, whole.rows, whole.rows, entries).slots
                                                       : SPTI_RECBLOCK_SLOTS;
    if (s->syncfree++ == 0) s->syncfree_begin = whole.row;
    s->syncfree_end = whole.row + whole.rows;
    c->steps[c->count++] = whole;
  } else if (kind == SPTI_RECBLOCK_DIAGONAL) {
    s->diagonal++;
    append(c, whole, facts, true); /* no entries in any level, so the first one's counts are the whole's */
  } else {
    s->levels++;
    for (int32_t l = 0; l < levels; l++) append(c, steps[l], facts + l * SPTI_RECBLOCK_FACTS, true);
  }
}

/* Surveyed steps that belong to the block of step `at`, and the kind of triangle they make. */
static int32_t run_of(const spti_recblock_step *steps, int32_t count, int32_t at, const int32_t *facts, const spti_recblock_limits *l,
                      spti_recblock_triangle *kind) {
  int64_t rows = 0, entries = 0;
  int32_t run = 0;
  for (; at + run < count && steps[at + run].block == steps[at].block; run++) {
    rows += steps[at + run].rows;
    entries += facts[(at + run) * SPTI_RECBLOCK_FACTS + SPTI_RECBLOCK_ENTRIES];
  }
  *kind = steps[at].syncfree && entries > 0 ? SPTI_RECBLOCK_SYNCFREE : spti_recblock_choose_triangle(l, rows, entries, run);
  return run;
}

int32_t spti_recblock_choose(spti_recblock_step *steps, int32_t count, const int32_t *facts, const spti_recblock_tree *t,
                             const spti_recblock_limits *limits, spti_recblock_summary *summary) {
  *summary = (spti_recblock_summary){.panel_row = t->n};
  chooser c = {.limits = limits, .summary = summary, .steps = steps, .longest = t->longest};
  for (int32_t at = 0; at < count;) {
    spti_recblock_triangle kind;
    const spti_recblock_step step = steps[at];
    const int32_t *f = facts + at * SPTI_RECBLOCK_FACTS;
    if (!is_rectangle(step.block)) {
      int32_t run = run_of(steps, count, at, facts, limits, &kind);
      choose_triangle(&c, steps + at, f, run, kind);
      at += run;
      continue;
    }
    int32_t after = at + 1;
    bool last = after < count && steps[after].block == step.block + 1;
    int32_t run = last ? run_of(steps, count, after, facts, limits, &kind) : 0;
    /* A rectangle above a mere diagonal is the last to touch its rows if it spans the same ones: solve in the same pass. */
    bool finish = last && kind == SPTI_RECBLOCK_DIAGONAL && steps[after].row == step.row &&
                  steps[after + run - 1].row + steps[after + run - 1].rows == step.row + step.rows;
    choose_rectangle(&c, step, f, finish);
    if (finish) summary->diagonal++;
    at = finish ? after + run : after;
  }
  for (int32_t i = 0; i < count; i++) summary->entries += facts[i * SPTI_RECBLOCK_FACTS + SPTI_RECBLOCK_ENTRIES];
  return c.count;
}
