/* The order in which structgrid takes its tiles. */
#include <criterion/criterion.h>

#include <map>
#include <set>
#include <vector>

#include "trsv/structgrid/tiles/order.h"

namespace {

/* Whether `order` has each tile that has lines once, and what a tile needs before it. */
bool is_order(const spti_stencil &s, const spti_structgrid_tiling &t, const std::vector<int32_t> &order) {
  std::map<std::pair<int32_t, int32_t>, size_t> place;
  std::set<std::pair<int32_t, int32_t>> with_lines;
  for (size_t i = 0; i < order.size(); i += 2)
    if (!place.emplace(std::make_pair(order[i], order[i + 1]), i).second) return false;
  for (int32_t z = 0; z < s.grid[2]; z++)
    for (int32_t y = 0; y < s.grid[1]; y++) with_lines.emplace(z / t.planes, (y + (s.cube ? z : 0)) / SPTI_STRUCTGRID_LANES);
  if (with_lines.size() != place.size()) return false;
  for (const auto &tile : with_lines) {
    const auto own = place.find(tile);
    if (own == place.end()) return false;
    for (int before = 0; before < 4; before++) {
      const auto needed = place.find({tile.first - before / 2, tile.second - before % 2});
      if (needed != place.end() && needed->second > own->second) return false;
    }
  }
  return true;
}

void expect_order(bool cube, sptrsm_dtype dtype, int32_t Y, int32_t Z) {
  const spti_stencil s = {nullptr, cube, true, {3, Y, Z}};
  const spti_structgrid_tiling t = spti_structgrid_tiling_of(&s, dtype);
  std::vector<int32_t> order(2 * size_t(spti_structgrid_list_tiles(&s, &t, nullptr)));
  cr_assert_eq(spti_structgrid_list_tiles(&s, &t, order.data()), int64_t(order.size() / 2));
  cr_assert(is_order(s, t, order), "%d x %d lines, cube %d, %d planes", Y, Z, cube, t.planes);
}

} // namespace

/* Tiles come in an order in which they can be solved; and a long bar of a cube's planes, which has bands of its own all along, takes no
 * longer than its tiles are many. */
Test(simt_structgrid_order, tiles) {
  static const int32_t sides[] = {1, 2, 5, 31, 32, 33, 70, 200};
  enum { SIDES = sizeof sides / sizeof *sides };
  for (bool cube : {false, true})
    for (sptrsm_dtype dtype : {SPTRSM_F64, SPTRSM_C128})
      for (size_t i = 0; i < SIDES * SIDES; i++) expect_order(cube, dtype, sides[i / SIDES], sides[i % SIDES]);
  const spti_stencil bar = {nullptr, true, false, {2, 2, 1 << 24}};
  const spti_structgrid_tiling t = spti_structgrid_tiling_of(&bar, SPTRSM_F64);
  cr_assert_eq(spti_structgrid_list_tiles(&bar, &t, nullptr), (1 << 22) + (1 << 19)); /* every eighth group ends in the next band */
}

/* Small grids leave tiles at three right-hand sides, stars at half the rows of cubes. */
Test(simt_structgrid_order, right_hand_sides_of_tiles) {
  static const struct {
    bool cube, far;
    int32_t n, most;
  } cases[] = {{false, false, 0, 2},
               {false, false, 1 << 19, 2},
               {false, false, (1 << 19) + 1, 8},
               {false, true, 1 << 19, 2},
               {false, true, (1 << 19) + 1, 8},
               {true, false, 1 << 20, 2},
               {true, false, (1 << 20) + 1, 8},
               {true, false, INT32_MAX, 8},
               {true, true, 1, 1},
               {true, true, INT32_MAX, 1}};
  for (const auto &c : cases) {
    const spti_stencil s = {"", c.cube, c.far, {c.n, 1, 1}};
    cr_expect_eq(spti_structgrid_tiles_most(&s), c.most, "%d rows, cube %d, far %d", c.n, c.cube, c.far);
  }
}
