/* The solve kernel of block under adversarial schedules, on panels that plain loops made (trsm/block/reference.h): residuals, the same bits
 * whatever the tiles, widths and schedules, panels solved by substitution, NaN and infinity where they belong and nowhere else,
 * workspaces that serve solve after solve, and lost dependencies. */
#include <criterion/criterion.h>

#include <string.h>

#include <algorithm>

#include "simt/cases/block_solver.h"
#include "simt/cases/problem.h"
#include "simt/cases/run_cases.h"

static bool is_finite(double v) { return std::isfinite(v); }
static bool is_finite(float v) { return std::isfinite(v); }
template <typename R> static bool is_finite(std::complex<R> v) { return is_finite(v.real()) && is_finite(v.imag()); }

/* Inverses alone cost some accuracy (their bound says how much), as do products in f32, and complex products some more. */
template <typename T> static std::string judge(const solver<T> &s, const block_ends<T> &e, int32_t but_column = -1) {
  const bool single = s.c.single && sizeof(typename dtype_of<T>::real) == 4;
  const double real_bound = s.c.rules.bound > 0 || single ? 10 : 1; /* without inverses alone all are refined or substituted */
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4 * real_bound : real_bound,
               worst = s.system.residual(e.solution(), e.plain, e.t.width, but_column);
  return worst <= bound ? "" : "residual " + std::to_string(worst) + " bounds";
}

/* Empty if the solutions stand, else what was wrong. Three solves with one workspace: the work blocks change places, widths vary. */
template <typename T> static std::string run_case(const block_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  solver<T> s(c, c.width + int32_t(seed % 2), seed);
  for (int turn = 0; turn < 3; turn++) {
    block_case now = c;
    if (turn == 1) now.width = 1 + c.width / 3;
    block_ends<T> e(now, seed + uint64_t(turn));
    s.solve(e.t, c);
    const std::string wrong = s.failure.empty() ? judge(s, e) : s.failure;
    if (!wrong.empty()) return "solve " + std::to_string(turn + 1) + ": " + wrong;
  }
  return "";
}

template <typename T> static void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<block_case>(n, width, first, seeds, type, run_case<T>);
}

template <typename T>
static void orders_and_widths(const char *type, std::initializer_list<int32_t> orders, std::initializer_list<int32_t> widths) {
  for (int32_t n : orders)
    for (int32_t width : widths) all_shapes<T>(n, width, uint64_t(n * 100 + width), 1, type);
}

Test(simt_block, f64) { orders_and_widths<double>("f64", {1, 16, 33, 70}, {1, 3, 9}); }
Test(simt_block, f32) { orders_and_widths<float>("f32", {1, 50}, {2, 8}); }
Test(simt_block, c128) { orders_and_widths<std::complex<double>>("c128", {1, 50}, {3, 8}); }
Test(simt_block, c64) { orders_and_widths<std::complex<float>>("c64", {17, 50}, {1, 9}); }

/* Several panels of full height, several tiles of full width. */
Test(simt_block, larger) {
  all_shapes<double>(150, 3, 7000, 1, "f64");
  all_shapes<double>(66, 33, 7001, 1, "f64");
}

Test(simt_block, many_schedules) {
  static const shape patterns[] = {shape::random, shape::dense, shape::chain};
  const seed_range range(1, schedules(30));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    block_case c;
    c.draw(seed);
    c.pattern = patterns[seed % 3];
    c.n = 40;
    c.width = 1 + int32_t(seed % 5);
    expect(run_case<double>(c, seed), c, "f64", seed);
  }
}

/* Every column of every panel has the bits that one solve of all columns gave. */
template <typename T> static void same_bits(const char *type, bool single = false) {
  static const int32_t widths[] = {1, 5, 8, 20};
  const seed_range range(1, 2);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    block_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::dense : shape::random;
    c.n = 70;
    c.width = 20;
    c.rules = BLOCK_RULES;
    c.rules.rows = 32 << seed % 2;
    c.rules.bound = seed == 1 ? 0 : 100;
    c.refined = true;
    c.in_place = false;
    c.single = single;
    simt::use(simt::schedule::from_seed(seed));
    solver<T> s(c, 20, seed);
    block_ends<T> e(c, seed);
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    const std::vector<T> all = e.X;
    for (int32_t width : widths) {
      simt::use(simt::schedule::from_seed(seed * 100 + uint64_t(width)));
      c.draw_schedule(seed * 100 + uint64_t(width));
      spti_transfer part = e.t;
      const int64_t shift = (20 - width) * part.from.col_stride;
      part.from.data = (T *)part.from.data + shift;
      part.to.data = (T *)part.to.data + shift;
      part.width = width;
      std::fill((T *)part.to.data, e.X.data() + e.X.size(), T(77));
      s.solve(part, c);
      expect(s.failure, c, type, seed);
      for (int32_t i = 0; i < c.n; i++)
        for (int32_t k = 0; k < width; k++) {
          const T *x = (const T *)part.to.data + e.place_of(i) * part.to.row_stride + k * part.to.col_stride;
          cr_assert(memcmp(x, all.data() + (x - e.X.data()), sizeof(T)) == 0, "row %d, column %d: other bits with width=%d; %s, %s", i, k,
                    width, type, c.name().c_str());
        }
    }
  }
}

Test(simt_block, same_bits_f64) { same_bits<double>("f64"); }
Test(simt_block, same_bits_c64) { same_bits<std::complex<float>>("c64"); }
Test(simt_block, same_bits_f32_single) { same_bits<float>("f32", true); }
Test(simt_block, same_bits_c64_single) { same_bits<std::complex<float>>("c64", true); }

/* Refined panels with near columns: the same as if the inverses were refined for no reason, of up to 128 near columns. */
template <typename T> static void refined_with_near_columns(const char *type, bool single = false) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    block_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::dense : shape::random;
    c.n = seed % 2 ? 330 : 90;
    c.width = 9;
    c.tile = 8 << seed % 3;
    c.rules = BLOCK_RULES;
    c.single = single;
    solver<T> s(c, c.width, seed);
    int32_t refined = 0;
    for (int32_t p = 0; p < s.panels.panels.count; p++) {
      int32_t *flags = const_cast<int32_t *>(s.panels.panels.flags) + p;
      if (*flags == 0) *flags = (1 + p % s.strips_of(p)) * SPTI_BLOCK_REFINE;
      refined +=
          !(*flags & (SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART)) && s.panels.panels.step_start[p] < s.panels.panels.step_start[p + 1];
    }
    cr_assert_gt(refined, 0, "%s", c.name().c_str());
    simt::use(simt::schedule::from_seed(seed));
    block_ends<T> e(c, seed);
    s.solve(e.t, c);
    expect(s.failure.empty() ? judge(s, e) : s.failure, c, type, seed);
  }
}

Test(simt_block, refined_with_near_columns_f64) { refined_with_near_columns<double>("f64"); }
Test(simt_block, refined_with_near_columns_c64) { refined_with_near_columns<std::complex<float>>("c64"); }
Test(simt_block, refined_with_near_columns_f32_single) { refined_with_near_columns<float>("f32", true); }
Test(simt_block, refined_with_near_columns_c64_single) { refined_with_near_columns<std::complex<float>>("c64", true); }

/* Solutions that are 0 have one sign, too, whatever the tile: right-hand sides of zeros, of either sign, and unit vectors, in panels that
 * are refined, multiplied once and substituted. */
template <typename T> static void same_zeros(const char *type, uint64_t seeds, bool single = false) {
  const seed_range range(1, seeds);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    block_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::dense : shape::random;
    c.n = 70;
    c.width = 20;
    c.rules = BLOCK_RULES;
    c.rules.bound = seed % 3 ? 0 : 100;
    c.refined = seed % 3 != 2;
    c.in_place = false;
    c.single = single;
    solver<T> s(c, c.width, seed);
    block_ends<T> e(c, seed);
    for (int32_t i = 0; i < c.n; i++)
      for (int32_t k = 0; k < 6; k++)
        e.B[size_t(e.place_of(i) * e.t.from.row_stride + k * e.t.from.col_stride)] = k < 2 ? T(k ? -0.0 : 0.0) : T(i == 17 * (k - 2));
    std::vector<T> first;
    for (int32_t tile : {8, 16, 32}) {
      simt::use(simt::schedule::from_seed(seed * 100 + uint64_t(tile)));
      c.tile = tile;
      std::fill(e.X.begin(), e.X.end(), T(77));
      s.solve(e.t, c);
      expect(s.failure, c, type, seed);
      if (tile == 8) first = e.X;
      cr_assert(memcmp(e.X.data(), first.data(), first.size() * sizeof(T)) == 0, "other bits; %s, %s", type, c.name().c_str());
    }
  }
}

Test(simt_block, same_zeros_f64) { same_zeros<double>("f64", 6); }
Test(simt_block, same_zeros_f32) { same_zeros<float>("f32", 2); }
Test(simt_block, same_zeros_f32_single) { same_zeros<float>("f32", 6, true); }
Test(simt_block, same_zeros_c128) { same_zeros<std::complex<double>>("c128", 2); }

/* The rows that depend on the given row, itself included. */
template <typename T> static std::vector<char> reached_from(const solver<T> &s, int32_t row) {
  std::vector<char> reached;
  for (int32_t i = 0; i < s.c.n; i++) reached.push_back(i == row);
  for (int32_t at = 0; at < s.c.n; at++) {
    const int32_t i = spti_view_line(&s.system.view, at);
    for (int64_t p = spti_view_begin(&s.system.view, i); p < spti_view_end(&s.system.view, i); p++)
      if (reached[size_t(s.system.view.idx[p])]) reached[size_t(i)] = 1;
  }
  return reached;
}

/* A NaN, an infinity or the sentinel's own bits in one right-hand side: spread over the rows that need it, by stored zeros too, and
 * over no others; all other columns have the bits that they have without it. */
template <typename T> static void poison(const char *type, T bad, bool sentinel, bool single = false) {
  const seed_range range(1, 8);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    if (left_to_other_builds(seed - range.first)) continue;
    simt::use(simt::schedule::from_seed(seed));
    block_case c;
    c.draw(seed);
    c.pattern = seed / 2 % 4 == 0 ? shape::chain : seed / 2 % 4 == 1 ? shape::grid : shape::random;
    c.n = 90;
    c.width = 10;
    c.permuted = c.scaled = c.columns = false;
    c.single = single;
    solver<T> s(c, c.width, seed, 40);
    block_ends<T> clean(c, seed), e(c, seed);
    s.solve(clean.t, c);
    const int32_t row = c.backward ? 60 : 30, column = int32_t(seed % 10);
    T &target = e.B[size_t(row * e.t.from.row_stride + column)];
    target = sentinel ? like_sentinel<T>(seed) : bad;
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    const std::vector<char> reached = reached_from(s, row);
    const std::vector<T> x = e.solution(), without = clean.solution();
    for (int32_t i = 0; i < c.n; i++)
      for (int32_t k = 0; k < c.width; k++) {
        const T v = x[size_t(i * c.width + k)], w = without[size_t(i * c.width + k)];
        if (k != column) cr_assert(v == w, "row %d, column %d: another column's NaN is felt; %s, %s", i, k, type, c.name().c_str());
        else cr_assert_eq(is_finite(v), !reached[size_t(i)], "row %d; %s, %s, seed %d", i, type, c.name().c_str(), int(seed));
      }
  }
}

Test(simt_block, nan_f64) { poison<double>("f64", NAN, false); }
Test(simt_block, infinity_f64) { poison<double>("f64", -INFINITY, false); }
Test(simt_block, sentinel_f64) { poison<double>("f64", 0, true); }
Test(simt_block, sentinel_f32) { poison<float>("f32", 0, true); }
Test(simt_block, sentinel_c64) { poison<std::complex<float>>("c64", 0, true); }
Test(simt_block, sentinel_c128) { poison<std::complex<double>>("c128", 0, true); }
Test(simt_block, nan_c128) { poison<std::complex<double>>("c128", {1, NAN}, false); }
Test(simt_block, infinity_f32) { poison<float>("f32", INFINITY, false); }
Test(simt_block, nan_f32_single) { poison<float>("f32", NAN, false, true); }
Test(simt_block, infinity_c64_single) { poison<std::complex<float>>("c64", {INFINITY, 0}, false, true); }
Test(simt_block, sentinel_f32_single) { poison<float>("f32", 0, true, true); }

/* Solutions of which some are above 1e37, where products in f32 may overflow: they are solved by entries. */
Test(simt_block, nearly_infinite_f32_single) {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    simt::use(simt::schedule::from_seed(seed));
    block_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::random : shape::chain;
    c.n = 70;
    c.width = 9;
    c.scaled = false;
    c.single = true;
    solver<float> s(c, c.width, seed);
    block_ends<float> e(c, seed);
    for (auto *block : {&e.B, &e.plain})
      for (float &v : *block) v = std::ldexp(v, 125);
    s.solve(e.t, c);
    const std::vector<float> x = e.solution();
    const int64_t large = std::count_if(x.begin(), x.end(), [](float v) { return std::fabs(v) > 1e37f; });
    cr_assert_gt(large, 0, "%s", c.name().c_str());
    expect(s.failure.empty() ? judge(s, e) : s.failure, c, "f32", seed);
  }
}

/* The same in the matrix: it affects all right-hand sides, but not the columns of a tile beyond the last one, nor alpha. */
template <typename T> static void bad_entry(const char *type, T bad) {
  const seed_range range(1, 6);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    if (left_to_other_builds(seed - range.first)) continue;
    simt::use(simt::schedule::from_seed(seed));
    block_case c;
    c.draw(seed);
    c.pattern = seed % 3 == 0 ? shape::chain : seed % 3 == 1 ? shape::dense : shape::random;
    c.n = 90;
    c.width = 1 + int32_t(seed % 3) * 5;
    c.permuted = c.scaled = c.columns = c.in_place = false;
    int32_t row = 70;
    solver<T> s(c, c.width, seed, 0, &bad, &row);
    block_ends<T> e(c, seed);
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    const std::vector<char> reached = reached_from(s, row);
    std::vector<T> x = e.solution();
    for (int32_t i = 0; i < c.n * c.width; i++)
      cr_assert_eq(is_finite(x[size_t(i)]), !reached[size_t(i / c.width)], "row %d; %s, %s", i / c.width, type, c.name().c_str());
    e.t.alpha[0] = INFINITY;
    s.solve(e.t, c);
    expect(s.failure, c, type, seed);
    for (T v : e.solution()) cr_assert(!is_finite(v), "alpha is infinite; %s, %s", type, c.name().c_str());
  }
}

Test(simt_block, nan_in_the_matrix) { bad_entry<double>("f64", NAN); }
Test(simt_block, infinity_in_the_matrix) { bad_entry<std::complex<float>>("c64", {INFINITY, 0}); }

/* A dependency that never comes must end in the lost word and leave no wait behind; later solves report it again; and after a new start
 * the workspace serves as before. */
Test(simt_block, lost_dependency) {
  const seed_range range(1, 6);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    simt::use(simt::schedule::from_seed(seed));
    block_case c;
    c.draw(seed);
    c.pattern = shape::chain;
    c.n = 70;
    c.rules.rows = 16;
    c.spin_limit = 200;
    solver<double> s(c, c.width, seed);
    int32_t *column = const_cast<int32_t *>(s.panels.panels.col) + s.panels.panels.step_start[2] * SPTI_BLOCK_STEP, place = *column;
    *column = s.panels.panels.first[2]; /* the panel waits for itself */
    for (int turn = 0; turn < 3; turn++) {
      block_ends<double> e(c, seed);
      s.solve(e.t, c);
      cr_assert(s.failure.find("never arrived") != std::string::npos, "got '%s'; %s", s.failure.c_str(), c.name().c_str());
      const int64_t row = s.lost - 1, first = c.backward ? c.n - 1 - row : row;
      if (turn < 2) cr_assert(first >= 32, "row %lld is not behind the lost one; %s", (long long)row, c.name().c_str());
      s.failure = "";
      if (turn > 0) s.lost = 0;
    }
    *column = place;
    s.a.sync.spin_limit = 100000;
    s.make_whole();
    for (int turn = 0; turn < 2; turn++) {
      block_ends<double> e(c, seed);
      s.solve(e.t, c);
      expect(s.failure.empty() ? judge(s, e) : s.failure, c, "f64", seed);
    }
  }
}

/* A panel of thousands of columns reports progress, so that waits for it are not given up. */
Test(simt_block, long_panels_are_heard_of) {
  block_case c;
  c.pattern = shape::arrow;
  c.n = 64 * 64 + 200;
  c.width = 1;
  simt::use(simt::schedule::from_seed(1));
  solver<double> s(c, c.width, 1);
  block_ends<double> e(c, 1);
  s.solve(e.t, c);
  expect(s.failure.empty() ? judge(s, e) : s.failure, c, "f64", 1);
  cr_assert_gt(s.a.sync.control[SPTI_SYNCFREE_PROGRESS], 0);
}
