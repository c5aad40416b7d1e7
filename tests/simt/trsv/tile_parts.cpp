/* The partition into tiles on a device, under adversarial schedules, against the host's: the same arrays, bit for bit. */
#include <criterion/criterion.h>

extern "C" {
#include "core/plan/analysis.h"
}
#include "trsv/tiles/compare.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

namespace {

/* Tiles as they come in all formats: of each 16 x 16 one kind; a third has none. Every seventh value is a zero. */
template <typename T> struct patchwork {
  std::vector<int64_t> ptr = {0};
  std::vector<int32_t> idx;
  std::vector<T> val;
  spti_view view = {};

  static bool has(int kind, int odds, uint32_t columns, int r, int c, numbers &random) {
    switch (kind) {
    case 0: return random.below(odds) == 0;
    case 1: return columns >> c & 1;                  /* full columns */
    case 2: return columns >> r & 1;                  /* full rows */
    case 3: return (c + r) % 16 < 1 + odds % 3;       /* rows of one length */
    case 4: return random.below(8) != 0;              /* dense */
    case 5: return c == r ? r < 10 : r == 2 && c < 5; /* one long row */
    default: return false;
    }
  }
  /* The entries of the tile at row first_row and column `first`. */
  static void draw_tile(std::vector<std::vector<char>> &full, int first_row, int first, numbers &random) {
    const int n = int(full.size()), kind = random.below(9), odds = 2 + random.below(40);
    const uint32_t columns = uint32_t(random.below(1 << 16)) & uint32_t(random.below(1 << 16));
    for (int i = first_row; i < n && i < first_row + 16; i++)
      for (int j = first; j < i && j < first + 16; j++)
        full[size_t(i)][size_t(j)] = has(kind, odds, columns, i - first_row, j - first, random);
  }
  patchwork(int32_t n, bool pull, bool backward, bool unit, bool conj, uint64_t seed) {
    numbers random(seed);
    std::vector<std::vector<char>> full(size_t(n), std::vector<char>(size_t(n), 0));
    for (int first_row = 0; first_row < n; first_row += 16)
      for (int first = 0; first <= first_row; first += 16) draw_tile(full, first_row, first, random);
    const bool upper = backward == pull; /* of the triangle as it is stored */
    for (int tile_row = 0; tile_row < n; tile_row++) {
      for (int other = 0; other < n; other++) {
        const int i = pull ? tile_row : other, j = pull ? other : tile_row, mi = backward ? n - 1 - i : i, mj = backward ? n - 1 - j : j;
        if (i != j && !(mi > mj && full[size_t(mi)][size_t(mj)])) continue;
        T v;
        random.make(v);
        if (i != j && random.below(7) == 0) v = T(0);
        idx.push_back(other);
        val.push_back(v);
      }
      ptr.push_back(int64_t(idx.size()));
    }
    view = view_of(n, ptr, idx, val);
    view.head = upper;
    view.tail = !upper;
    view.pull = pull;
    view.backward = backward;
    view.unit = unit;
    view.conj = conj;
  }
};

/* As the host parts it; tile rows as they are solved, or by level. */
sptrsm_status part_on_host(spti_tiles *out, sptrsm_plan *plan, const spti_view &view, bool by_level, const spti_tiles_settings &set) {
  const spti_gpu_levels *levels;
  SPTI_TRY(spti_plan_levels(plan, &levels));
  std::vector<int32_t> order(size_t(view.n) + 1);
  for (int32_t s = 0; s < view.n; s++) order[size_t(s)] = by_level ? levels->order[s] : spti_view_line(&view, s);
  return spti_tiles_build(out, &view, order.data(), by_level ? levels->ptr : nullptr, levels->count, &set);
}

/* Empty, or what differs. After new values too. */
template <typename T> std::string compare(patchwork<T> &system, bool by_level, const spti_tiles_settings &set, int64_t *seen) {
  spti_tiles host;
  spti_gpu_tiles device;
  sptrsm_plan *plan = plan_case_open(&system.view);
  std::string failure;
  if (part_on_host(&host, plan, system.view, by_level, set) != SPTRSM_OK) return sptrsm_last_error();
  if (spti_gpu_tiles_create(&device, plan, by_level, &set) != SPTRSM_OK) failure = std::string(sptrsm_last_error()) + "; " + simt::error();
  const char *difference = failure.empty() ? tile_difference(&host, &device, plan) : nullptr;
  if (difference) failure = std::string("other ") + difference;
  for (int f = 0; f < SPTI_TILE_FORMATS; f++) seen[f] += host.tiles_in[f];
  for (T &v : system.val) v = v * T(3) + T(1);
  if (failure.empty()) {
    if (spti_tiles_update(&host, &system.view) != SPTRSM_OK || spti_gpu_tiles_update(&device, plan) != SPTRSM_OK)
      failure = sptrsm_last_error();
    difference = failure.empty() ? tile_difference(&host, &device, plan) : nullptr;
    if (difference) failure = std::string("after new values other ") + difference;
  }
  spti_gpu_tiles_free(&device, plan);
  spti_tiles_free(&host);
  plan_case_close(plan);
  return failure;
}

/* All orientations and directions of one type. */
template <typename T> void expect_same(int32_t n, uint64_t seed, bool by_level, const spti_tiles_settings &set, int64_t *seen) {
  for (int pull = 0; pull < 2; pull++)
    for (int backward = 0; backward < 2; backward++) {
      patchwork<T> system(n, pull, backward, seed % 3 == 0, seed % 2 == 0, seed);
      simt::use(simt::schedule::from_seed(seed));
      const std::string failure = compare(system, by_level, set, seen);
      cr_assert(failure.empty(), "%s: n=%d %s %s, %s, at most %d tiles, align %d, seed %d", failure.c_str(), n, pull ? "rows" : "columns",
                backward ? "backward" : "forward", by_level ? "by level" : "as solved", set.most, set.align, int(seed));
      cr_assert_eq(emulated_gpu_blocks, 0, "%d blocks left over", emulated_gpu_blocks);
    }
}

} // namespace

Test(simt_tile_parts, all_formats) {
  int64_t seen[SPTI_TILE_FORMATS] = {0};
  for (uint64_t seed = 1; seed <= 3; seed++) expect_same<double>(173, seed, false, {16, nullptr, 0}, seen);
  for (int f = 0; f < SPTI_TILE_FORMATS; f++) cr_assert_gt(seen[f], 10, "only %d tiles of format %d", int(seen[f]), f);
}

Test(simt_tile_parts, by_level) {
  int64_t seen[SPTI_TILE_FORMATS] = {0};
  for (int32_t n : {0, 1, 16, 17, 100}) expect_same<double>(n, uint64_t(n) + 1, true, {2, nullptr, 3}, seen);
}

Test(simt_tile_parts, types) {
  int64_t seen[SPTI_TILE_FORMATS] = {0};
  expect_same<float>(50, 3, true, {16, nullptr, 256}, seen);
  expect_same<std::complex<float>>(50, 4, false, {1, nullptr, 1}, seen);
  expect_same<std::complex<double>>(50, 6, false, {3, nullptr, 0}, seen);
}

/* Parts that add up the sums of parts: 70 tiles in the last row's tile row, one to a part. */
Test(simt_tile_parts, rounds_of_sums) {
  int64_t seen[SPTI_TILE_FORMATS] = {0};
  patchwork<double> system(16 * 70 + 1, true, false, false, false, 1);
  system.ptr.assign(1, 0);
  system.idx.clear();
  system.val.clear();
  for (int32_t i = 0; i <= 16 * 70; i++) {
    for (int32_t j = i == 16 * 70 ? 0 : i; j <= i; j++) {
      system.idx.push_back(j);
      system.val.push_back(1 + j % 5);
    }
    system.ptr.push_back(int64_t(system.idx.size()));
  }
  system.view.ptr = system.ptr.data();
  system.view.idx = system.idx.data();
  system.view.val = system.val.data();
  system.view.nnz = system.ptr.back();
  simt::use(simt::schedule::from_seed(5));
  const std::string failure = compare(system, false, {1, nullptr, 0}, seen);
  cr_assert(failure.empty(), "%s", failure.c_str());
}
