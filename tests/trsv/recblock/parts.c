/* parts.c -- the cuts of recblock and its rules, at their boundaries. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "trsv/recblock/partition.h"

/* ---- depth ---- */

Test(recblock_parts, depth_is_the_smallest_that_the_rule_allows) {
  static const struct {
    int32_t n;
    int64_t lanes;
    int32_t depth;
  } cases[] = {{0, 1, 0},
               {39, 1, 0},
               {40, 1, 1},
               {79, 1, 1},
               {80, 1, 2},
               {675839, 16896, 0},
               {675840, 16896, 1},
               {1351680, 16896, 2},
               {INT32_MAX, 16896, 12},
               {INT32_MAX, 1, SPTI_RECBLOCK_MAX_DEPTH}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    int32_t depth = spti_recblock_depth(cases[c].n, cases[c].lanes);
    cr_assert_eq(depth, cases[c].depth, "n=%d lanes=%lld: depth %d, not %d", cases[c].n, (long long)cases[c].lanes, depth, cases[c].depth);
  }
}

/* ---- cuts ---- */

typedef struct {
  spti_recblock_tree tree;
  int64_t segments;
} grown;

static grown grow(int32_t n, int32_t first, int32_t depth) {
  grown g = {.tree = {.n = n, .first = first, .depth = depth}};
  g.tree.bound = malloc((size_t)(spti_recblock_leaves(depth) + 1) * sizeof *g.tree.bound);
  g.tree.base = malloc((size_t)spti_recblock_blocks(depth) * sizeof *g.tree.base);
  cr_assert(g.tree.bound && g.tree.base);
  g.segments = spti_recblock_cut(&g.tree);
  return g;
}

static void fell(grown *g) {
  free(g->tree.bound);
  free(g->tree.base);
}

static int32_t leaf_of(const spti_recblock_tree *t, int32_t place) {
  int32_t leaf = spti_recblock_leaves(t->depth) - 1;
  while (t->bound[leaf] > place) leaf--;
  return leaf;
}

/* Every entry lies in the block that block_of names, and in no other; segments do not overlap. */
static bool is_inside(const spti_recblock_tree *t, const spti_recblock_block *block, int32_t b, int32_t first, int32_t i, int32_t j) {
  const bool in_rows = i >= block->row_begin && i < block->row_end;
  if (in_rows && j >= block->column_begin && j < block->column_end) return true;
  return !block->rectangle && in_rows && j < first && leaf_of(t, j) == b / 2;
}

static void check_tree(int32_t n, int32_t first, int32_t depth) {
  grown g = grow(n, first, depth);
  const spti_recblock_tree *t = &g.tree;
  char *taken = calloc((size_t)g.segments + 1, 1);
  cr_assert(taken);
  for (int32_t b = 0; b < spti_recblock_blocks(depth); b++) {
    spti_recblock_block block = spti_recblock_block_at(t, b);
    cr_assert_eq(block.rectangle, b % 2 == 1);
    for (int32_t i = block.row_begin; i < block.row_end; i++) {
      int64_t s = (int64_t)t->base[b] + i;
      cr_assert(i >= first && s >= 0 && s < g.segments && !taken[s], "n=%d depth=%d: row %d of block %d", n, depth, i, b);
      taken[s] = 1;
    }
    for (int32_t i = first; i < n; i++)
      for (int32_t j = 0; j <= i; j++)
        cr_assert_eq(is_inside(t, &block, b, first, i, j), spti_recblock_block_of(leaf_of(t, i), leaf_of(t, j)) == b,
                     "n=%d first=%d depth=%d: entry (%d,%d), block %d", n, first, depth, i, j, b);
  }
  for (int64_t s = 0; s < g.segments; s++) cr_assert(taken[s]);
  free(taken);
  fell(&g);
}

Test(recblock_parts, every_entry_has_one_block) {
  static const int32_t orders[] = {1, 2, 3, 7, 16, 29};
  for (size_t c = 0; c < sizeof orders / sizeof orders[0]; c++)
    for (int32_t depth = 0; depth <= 5; depth++)
      for (int32_t first = 1; first <= orders[c]; first += 1 + orders[c] / 5) check_tree(orders[c], first, depth);
}

Test(recblock_parts, blocks_stand_in_the_order_of_the_work) {
  grown g = grow(80, 3, 3);
  static const int32_t rectangles[][4] = {{10, 20, 0, 10},  {20, 40, 0, 20},  {30, 40, 20, 30}, {40, 80, 0, 40},
                                          {50, 60, 40, 50}, {60, 80, 40, 60}, {70, 80, 60, 70}};
  for (int32_t k = 0; k < 7; k++) {
    spti_recblock_block b = spti_recblock_block_at(&g.tree, 2 * k + 1);
    cr_assert(b.row_begin == rectangles[k][0] && b.row_end == rectangles[k][1] && b.column_begin == rectangles[k][2] &&
                  b.column_end == rectangles[k][3],
              "rectangle %d is rows %d..%d, columns %d..%d", k, b.row_begin, b.row_end, b.column_begin, b.column_end);
  }
  cr_assert_eq(spti_recblock_block_at(&g.tree, 0).row_begin, 3);
  cr_assert_eq(g.segments, 77 + 10 + 20 + 10 + 40 + 10 + 20 + 10);
  fell(&g);
}

/* ---- choices ---- */

Test(recblock_parts, triangles) {
  static const struct {
    int64_t rows, entries;
    int32_t levels;
    spti_recblock_triangle kind;
  } cases[] = {{100, 0, 500, SPTI_RECBLOCK_DIAGONAL},   {100, 1400, 20, SPTI_RECBLOCK_LEVELS},   {100, 1401, 20, SPTI_RECBLOCK_SYNCFREE},
               {100, 1400, 21, SPTI_RECBLOCK_SYNCFREE}, {100, 99, 100, SPTI_RECBLOCK_LEVELS},    {100, 99, 101, SPTI_RECBLOCK_SYNCFREE},
               {100, 100, 100, SPTI_RECBLOCK_SYNCFREE}, {100, 1000000, 1, SPTI_RECBLOCK_LEVELS}, {100, 1000000, 2, SPTI_RECBLOCK_SYNCFREE}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
    cr_assert_eq(spti_recblock_choose_triangle(&spti_recblock_defaults, cases[c].rows, cases[c].entries, cases[c].levels), cases[c].kind,
                 "case %zu", c);
}

Test(recblock_parts, rectangles) {
  static const struct {
    int64_t rows, nonempty, entries;
    int32_t slots;
    bool listed;
  } cases[] = {{100, 100, 1200, 1, false},
               {100, 100, 1201, SPTI_RECBLOCK_SLOTS, false},
               {100, 50, 50, 1, false},
               {100, 49, 49, 1, true},
               {100, 50, 600, 1, false},
               {100, 50, 601, SPTI_RECBLOCK_SLOTS, true},
               {100, 85, 8500, SPTI_RECBLOCK_SLOTS, false},
               {100, 84, 8400, SPTI_RECBLOCK_SLOTS, true}};
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
    spti_recblock_way way = spti_recblock_choose_way(&spti_recblock_defaults, cases[c].rows, cases[c].nonempty, cases[c].entries);
    cr_assert(way.slots == cases[c].slots && way.listed == cases[c].listed, "case %zu: %d slots, %slisted", c, way.slots,
              way.listed ? "" : "not ");
  }
}

/* ---- steps ---- */

enum { STEPS_MAX = 64 };

typedef struct {
  spti_recblock_step steps[STEPS_MAX];
  int32_t facts[STEPS_MAX][SPTI_RECBLOCK_FACTS];
  int32_t count;
  spti_recblock_summary summary;
} planned;

/* 80 places, levels of 10, cut in 4; the first level is left out. */
static planned survey(grown *g, const spti_recblock_limits *limits) {
  static const int32_t level_ptr[] = {0, 10, 20, 30, 40, 50, 60, 70, 80};
  planned p = {.count = spti_recblock_survey(NULL, &g->tree, level_ptr, 8, limits)};
  cr_assert_leq(p.count, STEPS_MAX);
  cr_assert_eq(spti_recblock_survey(p.steps, &g->tree, level_ptr, 8, limits), p.count);
  return p;
}

static void check_order(const planned *p) {
  for (int32_t i = 1; i < p->count; i++)
    cr_assert(p->steps[i].segment >= p->steps[i - 1].segment + p->steps[i - 1].rows, "step %d overlaps the one before", i);
}

Test(recblock_parts, a_survey_has_a_step_a_level) {
  grown g = grow(80, 10, 2);
  spti_recblock_limits limits = spti_recblock_defaults;
  planned p = survey(&g, &limits);
  cr_assert_eq(p.count, 3 + 1 + 2 + 2 + 2); /* rectangles, then levels of each triangle */
  check_order(&p);
  cr_assert(p.steps[0].row == 10 && p.steps[0].rows == 10 && p.steps[0].block == 0);
  limits.levels = limits.thin_levels = 1;
  p = survey(&g, &limits);
  cr_assert_eq(p.count, 3 + 1 + 1 + 1 + 1);
  cr_assert(p.steps[2].syncfree && p.steps[2].row == 20 && p.steps[2].rows == 20, "two levels are more than one");
  cr_assert(!p.steps[0].syncfree);
  fell(&g);
}

Test(recblock_parts, steps_follow_from_counts) {
  grown g = grow(80, 10, 2);
  spti_recblock_limits limits = spti_recblock_defaults;
  planned p = survey(&g, &limits);
  /* Blocks: triangle 0 (1 level), rectangle 1, triangle 2 (2), rectangle 3, triangle 4 (2), rectangle 5, triangle 6 (2). */
  static const int32_t counts[10][SPTI_RECBLOCK_FACTS] = {
      {30, 10, 0, 0, 0, 0},  {40, 20, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0},       {0, 0, 0, 0, 0, 0}, /* a diagonal below a rectangle */
      {100, 10, 1, 3, 0, 0}, {90, 10, 0, 0, 0, 0}, {100, 10, 2, 5, 0, 0},      /* 40 rows with 10 entries; a triangle by levels */
      {0, 0, 0, 0, 0, 0},    {0, 0, 0, 0, 0, 0},   {9000, 10, 10, 40, 3, 12}}; /* empty rectangle; a triangle that waits */
  memcpy(p.facts, counts, sizeof counts);
  p.count = spti_recblock_choose(p.steps, p.count, p.facts[0], &g.tree, &limits, &p.summary);
  check_order(&p);
  const spti_recblock_summary *s = &p.summary;
  cr_assert_eq(p.count, 6);
  cr_assert(p.steps[0].block == 0 && p.steps[0].finish && p.steps[0].listed < 0);
  cr_assert(p.steps[1].block == 1 && p.steps[1].finish && p.steps[1].rows == 20, "the diagonal is solved for in the rectangle's pass");
  cr_assert(p.steps[2].block == 3 && !p.steps[2].finish && p.steps[2].listed == 9, "10 of 40 rows, one of them apart");
  cr_assert(p.steps[2].apart == 1 && p.steps[2].chunks == 3);
  cr_assert(p.steps[3].block == 4 && p.steps[3].finish && p.steps[4].block == 4 && p.steps[4].apart == 2);
  cr_assert(p.steps[5].block == 6 && p.steps[5].syncfree && p.steps[5].rows == 20 && p.steps[5].finish);
  cr_assert_eq(p.steps[5].slots, SPTI_RECBLOCK_SLOTS);
  cr_assert(s->diagonal == 1 && s->levels == 2 && s->syncfree == 1, "%d %d %d", s->diagonal, s->levels, s->syncfree);
  cr_assert(s->thread == 1 && s->thread_listed == 1 && s->group == 0 && s->group_listed == 0 && s->empty == 1);
  cr_assert(s->entries == 9360 && s->rectangle_entries == 140);
  cr_assert(s->lists == 9 && s->records == 3 && s->pieces == 8 && s->most_pieces == 5);
  cr_assert(s->panel_row == 40 && s->syncfree_begin == 60 && s->syncfree_end == 80);
  fell(&g);
}

Test(recblock_parts, a_rectangle_over_more_rows_leaves_them_unfinished) {
  grown g = grow(80, 10, 2);
  spti_recblock_limits limits = spti_recblock_defaults;
  planned p = survey(&g, &limits);
  for (int32_t i = 0; i < p.count; i++)
    if (p.steps[i].block == 3) p.facts[i][SPTI_RECBLOCK_ENTRIES] = p.facts[i][SPTI_RECBLOCK_NONEMPTY] = 40;
  p.count = spti_recblock_choose(p.steps, p.count, p.facts[0], &g.tree, &limits, &p.summary);
  /* Triangle 0, the fused 1 and 2, rectangle 3, its triangle 4 apart, the fused 5 and 6. */
  static const int32_t blocks[] = {0, 1, 3, 4, 5};
  cr_assert_eq(p.count, 5);
  for (int32_t i = 0; i < 5; i++) {
    cr_assert_eq(p.steps[i].block, blocks[i]);
    cr_assert_eq(p.steps[i].finish, blocks[i] != 3);
  }
  cr_assert_eq(p.summary.diagonal, 4);
  cr_assert_eq(p.summary.panel_row, 40);
  fell(&g);
}
