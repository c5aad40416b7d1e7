/* order.c -- see order.h. */
#include "trsv/structgrid/tiles/order.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }

typedef struct {
  int64_t lowest, highest;
} band_range;

/* The bands of the tiles that begin in step `start`, and of a few that have no lines. Steps are counted in steps of a group: tile
 * (group, band) begins in step group + a_band band. A cube's bands move on with its planes, so only few bands of a step have lines; the
 * two bounds follow from first_band and last_band for group = start - a_band band. */
static band_range bands_of_step(const spti_stencil *s, const spti_structgrid_tiling *t, int64_t start, int64_t a_band, int64_t last) {
  const int64_t first_group = start - t->groups + 1;
  band_range r = {first_group > 0 ? (first_group + a_band - 1) / a_band : 0, smaller(last, start / a_band)};
  if (!s->cube) return r;
  r.lowest = greater(r.lowest, (start / a_band + 1) / 2);
  r.highest = smaller(r.highest, ((start + 1) * t->planes + s->grid[1] - 2) / (2 * SPTI_STRUCTGRID_LANES));
  return r;
}

int64_t spti_structgrid_list_tiles(const spti_stencil *s, const spti_structgrid_tiling *t, int32_t *order) {
  const int64_t a_band = SPTI_STRUCTGRID_LANES / t->planes; /* steps of a band over steps of a group */
  const int64_t last = spti_structgrid_last_band(s, t, t->groups - 1);
  int64_t count = 0;
  for (int64_t start = 0; start <= last * a_band + t->groups - 1; start++) {
    const band_range bands = bands_of_step(s, t, start, a_band, last);
    for (int64_t band = bands.lowest; band <= bands.highest; band++) {
      const int32_t group = (int32_t)(start - band * a_band);
      if (band < spti_structgrid_first_band(s, t, group) || band > spti_structgrid_last_band(s, t, group)) continue;
      if (order) {
        order[2 * count] = group;
        order[2 * count + 1] = (int32_t)band;
      }
      count++;
    }
  }
  return count;
}

enum { SMALL_GRID = 1 << 19, SMALL_CUBES = 1 << 20 }; /* rows */

int32_t spti_structgrid_tiles_most(const spti_stencil *s) {
  const int64_t rows = (int64_t)s->grid[0] * s->grid[1] * s->grid[2];
  if (s->cube && s->far) return 1;
  return rows <= (s->cube ? SMALL_CUBES : SMALL_GRID) ? 2 : 8;
}
