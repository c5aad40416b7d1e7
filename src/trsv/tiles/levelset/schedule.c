/* schedule.c -- see schedule.h. */
#include "trsv/tiles/levelset/schedule.h"

#include "core/context/alloc.h"
#include "core/base/variant.h"

/* thre: an eighth of the cores of an H200 [lu2023tile]. */
enum { WIDE = 4096, THRE = 2112 };

sptrsm_status spti_tile_levelset_settings_parse(spti_tile_levelset_settings *s, const char *text) {
  static const char *const rules[] = {"auto", "thread", "warp", NULL};
  static const char *const orders[] = {"level", "natural", NULL};
  const spti_setting known[] = {{"tiles", &s->tiles.most, 1, INT32_MAX, NULL},
                                {"align", &s->tiles.align, 0, INT32_MAX, NULL},
                                {"order", &s->order, 0, 0, orders},
                                {"wide", &s->wide, 1, INT32_MAX, NULL},
                                {"diagonal", &s->diagonal, 0, 0, rules}};
  *s = (spti_tile_levelset_settings){.tiles = spti_tiles_defaults(), .wide = WIDE, .thre = THRE, .diagonal = SPTI_TILE_DIAGONAL_AUTO};
  return spti_variant_parse("tile-levelset", text, known, (int)(sizeof known / sizeof *known));
}

static bool by_threads(const spti_tiles *t, const spti_tile_levelset_settings *set) {
  if (set->diagonal != SPTI_TILE_DIAGONAL_AUTO) return set->diagonal == SPTI_TILE_DIAGONAL_THREAD;
  return t->tile_rows / t->levels >= set->thre;
}

/* A level whose tile rows have parts is never one by itself: the parts have to be waited for. */
static bool is_wide(const spti_tiles *t, const spti_tile_levelset_settings *set, int32_t level) {
  const int32_t tile_rows = t->level_tile_row[level + 1] - t->level_tile_row[level];
  return tile_rows >= set->wide && t->level_item[level + 1] - t->level_item[level] == tile_rows;
}

sptrsm_status spti_tile_levelset_schedule_make(spti_tile_levelset_schedule *out, const spti_tiles *t,
                                               const spti_tile_levelset_settings *set) {
  spti_tile_levelset_schedule s = {0};
  SPTI_TRY(spti_host_alloc(&s.steps, t->levels, sizeof *s.steps, "tile-levelset steps"));
  for (int32_t l = 0; l < t->levels; l++) {
    const bool wide = is_wide(t, set, l), goes_on = !wide && s.count > 0 && !s.steps[s.count - 1].wide;
    if (!goes_on) s.steps[s.count++] = (spti_tile_levelset_step){.first = t->level_item[l], .wide = wide};
    spti_tile_levelset_step *step = &s.steps[s.count - 1];
    step->last = t->level_item[l + 1];
    step->threads = wide && by_threads(t, set);
    step->sums = step->sums || l > 0; /* a tile row of the first level has no tiles */
    s.waits = s.waits || !wide;
    s.wide += wide;
  }
  *out = s;
  return SPTRSM_OK;
}

void spti_tile_levelset_schedule_free(spti_tile_levelset_schedule *s) {
  spti_host_free(s->steps);
  *s = (spti_tile_levelset_schedule){0};
}
