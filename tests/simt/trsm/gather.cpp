/* The kernels of gather under adversarial schedules: residuals, the same bits whatever the lanes, panels and schedules, workspaces
 * that serve solve after solve, and lost dependencies. */
#include <criterion/criterion.h>

#include <string.h>

#include <algorithm>

#include "simt/cases/block_ends.h"
#include "simt/cases/drawn_case.h"
#include "simt/cases/problem.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "core/levels/kernels.h"
#include "trsm/gather/kernels.h"

template <typename T> static T conjugate(T v) { return v; }
template <typename R> static std::complex<R> conjugate(std::complex<R> v) { return std::conj(v); }

/* What varies of a run. */
struct gather_case : drawn_ends {
  spti_gather_form form = SPTI_GATHER_ROWS;
  spti_gather_split split = {512, 256};
  int32_t lost_place = -1; /* a lost dependency: this place's row waits for itself */
  int32_t spin_limit = 100000;

  /* Everything but the shape of the problem. */
  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 99);
    draw_system(r);
    draw_ends(r);
    draw_schedule(seed);
  }
  /* What must not change a bit. */
  void draw_schedule(uint64_t seed) {
    numbers r = numbers_of(seed + 1234);
    form = spti_gather_form(r.below(4));
  }
  std::string name() const {
    return ends_name() + " form=" + std::to_string(int(form)) + " split=" + std::to_string(split.above) + "," +
           std::to_string(split.segment);
  }
};

/* The rows of a problem in level order, as the core packs them on a device, and what the analysis of gather adds. */
template <typename T> struct packed {
  std::vector<int32_t> order, start, from, row;
  std::vector<T> val, diag;
  std::vector<int32_t> items;
  int64_t item_count = 0;

  packed(const problem<T> &p, const gather_case &c) : diag(size_t(c.n), T(1)) {
    const spti_view &v = p.view;
    std::vector<std::vector<std::pair<int32_t, T>>> lines(size_t(c.n));
    for (int32_t j = 0; j < c.n; j++)
      for (int64_t e = v.ptr[j]; e < v.ptr[j + 1]; e++) {
        const T t = ((const T *)v.val)[e];
        if (v.idx[e] == j) diag[size_t(j)] = v.unit ? T(1) : v.conj ? conjugate(t) : t;
        else lines[size_t(v.idx[e])].push_back({j, v.conj ? conjugate(t) : t});
      }
    std::vector<int32_t> level(size_t(c.n), 0), place(size_t(c.n));
    for (int32_t s = 0; s < c.n; s++) {
      const int32_t i = spti_view_line(&v, s);
      if (v.backward) std::reverse(lines[size_t(i)].begin(), lines[size_t(i)].end());
      for (const auto &e : lines[size_t(i)]) level[size_t(i)] = std::max(level[size_t(i)], level[size_t(e.first)] + 1);
      order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](int32_t x, int32_t y) { return level[size_t(x)] < level[size_t(y)]; });
    for (int32_t t = 0; t < c.n; t++) place[size_t(order[size_t(t)])] = t;
    std::vector<T> by_place;
    for (int32_t i : order) {
      start.push_back(int32_t(from.size()));
      by_place.push_back(diag[size_t(i)]);
      for (const auto &e : lines[size_t(i)]) {
        from.push_back(place[size_t(e.first)]);
        val.push_back(e.second);
      }
    }
    start.push_back(int32_t(from.size()));
    diag = by_place;
  }

  /* Runs the kernels of the analysis, with the host's part in between. */
  std::string analyse(const gather_case &c) {
    row.assign(size_t(c.n), 12345);
    item_count = c.n;
    if (c.n == 0) return "";
    std::vector<int32_t> parts(size_t(c.n), -9), sums(size_t(spti_pull_rows_chunks(c.n)), -9), before(size_t(c.n) + 1, -9);
    spti_gather_pattern_args a = {};
    a.n = c.n;
    a.entries = int32_t(from.size());
    a.order = order.data();
    a.start = start.data();
    a.from = from.data();
    a.row = row.data();
    a.split = c.split;
    a.parts = parts.data();
    a.sums = sums.data();
    a.parts_before = before.data();
    spti_pull_rows_args sum = {};
    sum.view.n = c.n;
    sum.count = parts.data();
    sum.sums = sums.data();
    sum.start = before.data();
    if (spti_gather_rows_launch(&a, nullptr) || spti_gather_parts_launch(&a, nullptr) || spti_pull_rows_start_launch(&sum, nullptr))
      return "analysis: " + simt::error();
    for (int32_t t = 0; t < c.n; t++) {
      const int32_t length = start[size_t(t) + 1] - start[size_t(t)], own = length > c.split.above ? (length - 1) / c.split.segment : 0;
      if (before[size_t(t) + 1] - before[size_t(t)] != own) return "parts";
    }
    if (before.back() == 0) return "";
    item_count = c.n + before.back();
    items.assign(size_t(item_count) * SPTI_GATHER_ITEM_WORDS, 12345);
    a.item_count = item_count;
    a.items = items.data();
    return spti_gather_items_launch(&a, nullptr) ? "items: " + simt::error() : "";
  }
};

/* A workspace and everything that stays the same from solve to solve. */
template <typename T> struct solver {
  gather_case c;
  const problem<T> system;
  packed<T> rows;
  std::vector<T> memory;
  int64_t lost = 0;
  spti_gather_args a = {};
  std::string failure;

  solver(const gather_case &made, int32_t panel, uint64_t seed)
      : c(made), system(c.pattern, c.n, c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5), rows(system, c) {
    failure = rows.analyse(c);
    if (c.lost_place >= 0) rows.from[size_t(rows.start[size_t(c.lost_place)])] = c.lost_place;
    a.n = c.n;
    a.item_count = int32_t(rows.item_count);
    const int32_t *item = rows.items.data(), *start = rows.start.data();
    if (rows.items.empty()) a.items = {rows.row.data(), nullptr, start, start + 1, nullptr};
    else a.items = {item, item + a.item_count, item + 2 * a.item_count, item + 3 * a.item_count, item + 4 * a.item_count};
    a.from = rows.from.data();
    a.val = rows.val.data();
    a.diag = c.unit ? nullptr : rows.diag.data();
    a.ld = panel + panel % 2;
    const size_t blocks = 2 * size_t(rows.item_count) * size_t(a.ld);
    memory.assign(blocks + SPTI_TWO_BLOCKS_CONTROL_WORDS, T(-7));
    a.work = memory.data();
    a.sync = {(int32_t *)(memory.data() + blocks), &lost, c.spin_limit};
    make_whole();
  }
  solver(const solver &) = delete;
  solver &operator=(const solver &) = delete;

  void make_whole() {
    const int64_t words = ((char *)a.sync.control - (char *)a.work) / int64_t(sizeof(int64_t));
    const spti_two_blocks_args args = {a.sync.control, (int64_t *)a.work, words};
    if (failure.empty() && spti_two_blocks_start_launch(&args, nullptr)) failure = "start: " + simt::error();
  }
  /* B and X with their strides; element (r,k) of the block belongs to row i, r = map[i]. */
  void solve(const spti_transfer &between, const gather_case &now) {
    a.between = between;
    const bool pairs = dtype_of<T>::value <= SPTRSM_F64 && spti_transfer_in_twos(&between, sizeof(T));
    a.form = now.form == SPTI_GATHER_PAIRS && !pairs ? SPTI_GATHER_ROWS : now.form;
    a.tile = spti_gather_tile(a.form);
    a.tiles = (between.width + a.tile - 1) / a.tile;
    if (failure.empty() && spti_gather_solve_launch(&a, dtype_of<T>::value, nullptr)) failure = "solve: " + simt::error();
    if (failure.empty() && lost) failure = "dependency never arrived (row " + std::to_string(lost - 1) + ")";
  }
};

template <typename T> static std::string judge(const problem<T> &system, const block_ends<T> &e) {
  const std::vector<T> x = e.solution();
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0,
               worst = system.residual(x.data(), e.plain.data(), e.t.width, e.t.width);
  return worst <= bound ? "" : "residual " + std::to_string(worst) + " bounds";
}

/* Empty if the solutions stand, else what was wrong. Three solves with one workspace: the work blocks change places, widths vary. */
template <typename T> static std::string run_case(const gather_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  solver<T> s(c, c.width + int32_t(seed % 2), seed);
  for (int turn = 0; turn < 3; turn++) {
    gather_case now = c;
    if (turn == 1) now.width = 1 + c.width / 3;
    block_ends<T> e(now, seed + uint64_t(turn));
    s.solve(e.t, c);
    const std::string wrong = s.failure.empty() ? judge(s.system, e) : s.failure;
    if (!wrong.empty()) return "solve " + std::to_string(turn + 1) + ": " + wrong;
  }
  return "";
}

template <typename T> static void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<gather_case>(n, width, first, seeds, type, [](gather_case &c, uint64_t seed) {
    if (seed % 2) c.split = {3 + int32_t(seed % 12), 1 + int32_t(seed % 7)};
    return run_case<T>(c, seed);
  });
}

template <typename T>
static void orders_and_widths(const char *type, std::initializer_list<int32_t> orders, std::initializer_list<int32_t> widths) {
  for (int32_t n : orders)
    for (int32_t width : widths) all_shapes<T>(n, width, uint64_t(n * 100 + width), 1, type);
}

Test(simt_gather, f64) { orders_and_widths<double>("f64", {0, 1, 2, 33}, {1, 8, 32, 65, 66}); }
Test(simt_gather, f32) { orders_and_widths<float>("f32", {1, 32}, {2, 33, 40}); }
Test(simt_gather, c128) { orders_and_widths<std::complex<double>>("c128", {1, 32}, {3, 40}); }
Test(simt_gather, c64) { orders_and_widths<std::complex<float>>("c64", {1, 31}, {1, 33}); }

Test(simt_gather, longer) {
  static const int32_t widths[] = {2, 16};
  for (int32_t width : widths) all_shapes<double>(100, width, uint64_t(5000 + width), 1, "f64");
}

Test(simt_gather, many_schedules) {
  static const shape patterns[] = {shape::random, shape::dense, shape::chain};
  const seed_range range(1, schedules(60));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    gather_case c;
    c.draw(seed);
    c.pattern = patterns[seed % 3];
    c.n = 20;
    c.width = 1 + int32_t(seed % 5);
    expect(run_case<double>(c, seed), c, "f64", seed);
  }
}

/* Every column of every panel has the bits that one solve of all columns gave. */
template <typename T> static void same_bits(const char *type) {
  static const int32_t widths[] = {1, 2, 5, 8, 16, 20, 40};
  const seed_range range(1, 3);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    if (spared(seed, 2)) continue;
    gather_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::dense : shape::random;
    c.n = 45;
    c.width = 40;
    c.in_place = false;
    if (seed % 3) c.split = {10 + int32_t(seed), 6};
    simt::use(simt::schedule::from_seed(seed));
    solver<T> s(c, 40, seed);
    block_ends<T> e(c, seed);
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    const std::vector<T> all = e.X;
    for (int32_t width : widths) {
      simt::use(simt::schedule::from_seed(seed * 100 + uint64_t(width)));
      c.draw_schedule(seed * 100 + uint64_t(width));
      spti_transfer part = e.t;
      const int64_t shift = (40 - width) * part.from.col_stride;
      part.from.data = (T *)part.from.data + shift;
      part.to.data = (T *)part.to.data + shift;
      part.width = width;
      s.solve(part, c);
      expect(s.failure, c, type, seed);
      cr_assert(memcmp(all.data(), e.X.data(), all.size() * sizeof(T)) == 0, "other bits with width=%d; %s, %s", width, type,
                c.name().c_str());
    }
  }
}

Test(simt_gather, same_bits_f64) { same_bits<double>("f64"); }
Test(simt_gather, same_bits_c64) { same_bits<std::complex<float>>("c64"); }

/* A NaN of the sentinel's own bits on the right ends in the rows of its column that need it, and never in a wait. */
template <typename T> static void sentinels_on_the_right(const char *type, uint64_t seeds) {
  for (uint64_t seed = 1; seed <= seeds; seed++) {
    simt::use(simt::schedule::from_seed(seed));
    gather_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::chain : shape::random;
    c.unit = c.stored_diagonal = true;
    c.permuted = c.scaled = c.columns = c.in_place = false;
    solver<T> s(c, c.width, seed);
    block_ends<T> e(c, seed);
    e.B[size_t(c.n / 2) * size_t(e.t.from.row_stride) + 2] = like_sentinel<T>(seed);
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    const spti_view &v = s.system.view;
    std::vector<char> reached(size_t(c.n), 0);
    reached[size_t(c.n / 2)] = 1;
    for (int32_t at = 0; at < c.n; at++) {
      const int32_t j = spti_view_line(&v, at);
      for (int64_t p = spti_view_begin(&v, j); p < spti_view_end(&v, j) && reached[size_t(j)]; p++) reached[size_t(v.idx[p])] = 1;
    }
    const std::vector<T> x = e.solution();
    for (int32_t i = 0; i < c.n; i++)
      for (int32_t k = 0; k < c.width; k++) {
        const bool finite = std::isfinite(std::abs(x[size_t(i * c.width + k)]));
        cr_assert_eq(finite, k != 2 || !reached[size_t(i)], "row %d, column %d; %s, %s", i, k, type, c.name().c_str());
      }
  }
}

Test(simt_gather, sentinels_f64) { sentinels_on_the_right<double>("f64", 12); }
Test(simt_gather, sentinels_f32) { sentinels_on_the_right<float>("f32", 4); }
Test(simt_gather, sentinels_c64) { sentinels_on_the_right<std::complex<float>>("c64", 6); }
Test(simt_gather, sentinels_c128) { sentinels_on_the_right<std::complex<double>>("c128", 6); }

/* A dependency that never comes must end in the lost word and leave no wait behind; later solves report it again, but leave the row
 * that a report still to be read names; and after a new start the workspace serves as before. */
Test(simt_gather, lost_dependency) {
  const seed_range range(1, schedules(10));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    simt::use(simt::schedule::from_seed(seed));
    gather_case c;
    c.draw(seed);
    c.pattern = shape::chain;
    c.lost_place = 7;
    c.spin_limit = 200;
    solver<double> s(c, c.width, seed);
    for (int turn = 0; turn < 3; turn++) {
      block_ends<double> e(c, seed);
      s.solve(e.t, c);
      cr_assert(s.failure.find("never arrived") != std::string::npos, "got '%s'; %s", s.failure.c_str(), c.name().c_str());
      const int64_t row = s.lost - 1, first = c.backward ? c.n - 1 - row : row;
      if (turn < 2) cr_assert(first >= 7, "row %lld is not behind the lost one; %s", (long long)row, c.name().c_str());
      s.failure = "";
      if (turn > 0) s.lost = 0;
    }
    s.rows.from[size_t(s.rows.start[7])] = 6; /* the pattern as it was */
    s.a.sync.spin_limit = 100000;
    s.make_whole();
    for (int turn = 0; turn < 2; turn++) {
      block_ends<double> e(c, seed);
      s.solve(e.t, c);
      expect(s.failure.empty() ? judge(s.system, e) : s.failure, c, "f64", seed);
    }
  }
}
