/* The analysis of block on the emulated GPU, its host part and its kernels under adversarial schedules, against panels made by plain loops
 * (trsm/block/reference.h). */
#include <criterion/criterion.h>

#include <string.h>

#include <algorithm>

#include "trsm/block/reference.h"
#include "core/levels/row_panel_kernels.h"
#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_case.h"
#include "simt/emulator/simt.h"

extern "C" {
#include "trsm/block/gpu/analysis.h"
}

namespace {

struct block_case : drawn_system {
  int decades = 0; /* rows are scaled by up to this many powers of ten up or down */
  block_rules rules = BLOCK_RULES;

  void draw(uint64_t seed) {
    static const int32_t rows[] = {64, 64, 16, 48}, least[] = {16, 64, 7, 16}, windows[] = {0, 64, 128, 0};
    numbers r = numbers_of(seed + 77);
    draw_system(r);
    const int kind = r.below(4);
    rules = {rows[kind], least[kind], windows[r.below(4)], r.below(3) ? 8.0 : 2.0, r.below(2) ? 32.0 : 1000.0, r.below(3) ? 1000.0 : 10.0};
  }
  std::string name() const {
    return system_name() + " rows=" + std::to_string(rules.rows) + " least=" + std::to_string(rules.least) +
           " window=" + std::to_string(rules.window);
  }
  spti_block_settings settings() const {
    return {
        rules.rows, rules.least, rules.window ? rules.window : 1 << 17, int32_t(rules.bound), int32_t(rules.spare), int32_t(rules.refine),
        0};
  }
};

/* A pull view: the columns of the mirror image. Some entries are stored zeros. */
template <typename T> struct system_of_case {
  problem<T> columns;
  spti_view view;

  system_of_case(const block_case &c, uint64_t seed) : columns(c.pattern, c.n, !c.backward, c.unit, c.stored_diagonal, c.conj, seed) {
    for (int32_t j = 0; j < c.n; j++)
      for (int64_t p = columns.ptr[size_t(j)]; p < columns.ptr[size_t(j) + 1]; p++)
        if (columns.idx[size_t(p)] != j && (p * 7 + j) % 13 == 0) columns.val[size_t(p)] = T(0);
    view = as_rows(columns);
    if (c.decades > 0) scale_rows(c.decades, seed);
  }
  /* Row i of the pull view is line i. */
  void scale_rows(int decades, uint64_t seed) {
    numbers r(seed + 4242);
    for (int32_t i = 0; i < view.n; i++) {
      const double factor = std::pow(10.0, r.below(2 * decades + 1) - decades);
      for (int64_t p = columns.ptr[size_t(i)]; p < columns.ptr[size_t(i) + 1]; p++)
        columns.val[size_t(p)] *= typename dtype_of<T>::real(factor);
    }
  }
};

template <typename A> std::string differ(const char *what, const A *found, const A *expected, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (memcmp(found + i, expected + i, sizeof(A)) != 0) return std::string(what) + " " + std::to_string(i);
  return "";
}

/* Where element (row, column) of a diagonal block that begins at tile `start` is. */
int64_t element(int64_t start, int32_t row, int32_t column) {
  const int64_t tile = start + spti_block_diagonal_tile(row / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STRIP, column / SPTI_BLOCK_STEP % 2);
  return tile * SPTI_BLOCK_TILE + (32 * (column / 4 % 2) + row % 8 * 4 + column % 4) * 2 + row / 8 % 2;
}

int64_t element_of_tile(int64_t tile, int32_t row, int32_t column) {
  return tile * SPTI_BLOCK_TILE + (32 * (column / 4) + row % 8 * 4 + column % 4) * 2 + row / 8;
}

/* Column k of an inverse is as large as 1 / D(k,k); in these units it is known but for some roundings. */
template <typename T> std::string check_inverses(const spti_block_panels &found, const spti_block_panels &expected) {
  using real = typename dtype_of<T>::real;
  const T *inverse = static_cast<const T *>(found.inverse), *by_hand = static_cast<const T *>(expected.inverse);
  const T *triangle = static_cast<const T *>(expected.triangle);
  for (int32_t p = 0; p < found.count; p++) {
    if (found.flags[p] != expected.flags[p])
      return "flag of panel " + std::to_string(p) + ": " + std::to_string(found.flags[p]) + ", not " + std::to_string(expected.flags[p]);
    if (found.flags[p] == SPTI_BLOCK_SUBSTITUTE) continue;
    const int32_t strips = (found.first[p + 1] - found.first[p] + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP;
    for (int32_t row = 0; row < strips * SPTI_BLOCK_STRIP; row++)
      for (int32_t column = 0; column <= row; column++) {
        const int64_t at = element(found.diag_start[p], row, column), diagonal = element(found.diag_start[p], column, column);
        const long double error = std::abs((widen(inverse[at]) - widen(by_hand[at])) * widen(triangle[diagonal]));
        if (!(error <= 1e4L * std::numeric_limits<real>::epsilon())) return "inverse of panel " + std::to_string(p);
      }
  }
  return "";
}

/* D N = A for all that a panel has of near columns that are used, in units of what its rows sum up. */
template <typename T> std::string check_near(const spti_block_panels &found, const spti_block_panels &expected) {
  const long double u = std::numeric_limits<typename dtype_of<T>::real>::epsilon();
  const T *near = static_cast<const T *>(found.near), *tile = static_cast<const T *>(expected.tile);
  const T *triangle = static_cast<const T *>(expected.triangle);
  for (int32_t p = 0; p < found.count; p++) {
    const int32_t end = expected.step_start[p + 1], steps = spti_block_near(end - expected.step_start[p]);
    const int32_t rows = (found.first[p + 1] - found.first[p] + SPTI_BLOCK_STRIP - 1) / SPTI_BLOCK_STRIP * SPTI_BLOCK_STRIP;
    const bool used = !(found.flags[p] & (SPTI_BLOCK_SUBSTITUTE | SPTI_BLOCK_APART));
    for (int32_t e = 0; used && e < rows * steps * SPTI_BLOCK_STEP; e++) {
      const int32_t row = e % rows, step = e / rows / SPTI_BLOCK_STEP, column = e / rows % SPTI_BLOCK_STEP;
      const int64_t record = expected.step[end - steps + step];
      int64_t at = spti_block_step_tile(record);
      for (int32_t below = 0; below < row / 16; below++) at += spti_block_step_strips(record) >> below & 1;
      const bool is_there = spti_block_step_strips(record) >> row / 16 & 1;
      wide sum = is_there ? widen(tile[element_of_tile(at, row % 16, column)]) : wide(0);
      long double scale = std::abs(sum);
      for (int32_t k = 0; k <= row; k++) {
        const int64_t own = found.near_start[p] + k / 16 * steps + step;
        const wide term = widen(triangle[element(expected.diag_start[p], row, k)]) * widen(near[element_of_tile(own, k % 16, column)]);
        sum -= term;
        scale += std::abs(term);
      }
      if (!(std::abs(sum) <= 1e4L * u * scale)) return "near columns of panel " + std::to_string(p);
    }
  }
  return "";
}

template <typename T> std::string compare(const spti_block_analysis &a, const block_reference &b) {
  const spti_block_panels &found = a.panels, &expected = b.panels;
  const int64_t *totals = a.totals;
  if (found.n != expected.n || found.count != expected.count) return "count " + std::to_string(found.count);
  if (a.levels != b.levels) return "levels " + std::to_string(a.levels);
  if (found.n == 0) return "";
  const int64_t diagonal = expected.diag_start[expected.count];
  if (totals[SPTI_BLOCK_STEPS] != b.steps || totals[SPTI_BLOCK_TILES] != b.tiles || totals[SPTI_BLOCK_DIAGONAL_TILES] != diagonal ||
      totals[SPTI_BLOCK_NEAR_TILES] != expected.near_start[expected.count])
    return "totals";
  std::string failure = differ("first", found.first, expected.first, expected.count + 1);
  if (failure.empty()) failure = differ("order", found.order, expected.order, expected.count);
  if (failure.empty()) failure = differ("ready at", a.args.columns.ready_at, b.ready_at, expected.n);
  if (failure.empty()) failure = differ("step start", found.step_start, expected.step_start, expected.count + 1);
  if (failure.empty()) failure = differ("diagonal start", found.diag_start, expected.diag_start, expected.count + 1);
  if (failure.empty()) failure = differ("near start", found.near_start, expected.near_start, expected.count + 1);
  if (failure.empty()) failure = differ("column", found.col, expected.col, b.steps * SPTI_BLOCK_STEP);
  if (failure.empty()) failure = differ("step", found.step, expected.step, b.steps);
  using T1 = const T *;
  if (failure.empty()) failure = differ("tile value", T1(found.tile), T1(expected.tile), b.tiles * SPTI_BLOCK_TILE);
  if (failure.empty()) failure = differ("triangle value", T1(found.triangle), T1(expected.triangle), diagonal * SPTI_BLOCK_TILE);
  if (failure.empty()) failure = check_inverses<T>(found, expected);
  if (failure.empty()) failure = check_near<T>(found, expected);
  if (failure.empty()) failure = differ("flagged", a.args.flagged, b.flagged, 3);
  return failure;
}

/* Made from the system, then with other values of the same pattern. */
template <typename T> std::string run_typed(const block_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  system_of_case<T> system(c, seed % 5);
  block_reference expected;
  spti_block_analysis found;
  const spti_block_settings set = c.settings();
  sptrsm_plan *plan = plan_case_open(&system.view);
  std::string failure = block_reference_make(&expected, &system.view, &c.rules) ? "" : "no memory";
  if (spti_block_analysis_make(&found, plan, &set) != SPTRSM_OK) failure = sptrsm_last_error() + std::string("; ") + simt::error();
  if (failure.empty()) failure = compare<T>(found, expected);
  block_reference_free(&expected);
  if (failure.empty()) {
    for (T &v : system.columns.val) v = v * typename dtype_of<T>::real(-3);
    if (!block_reference_make(&expected, &system.view, &c.rules)) failure = "no memory";
    else if (spti_block_analysis_update(&found, plan) != SPTRSM_OK) failure = sptrsm_last_error();
    else failure = compare<T>(found, expected);
    if (!failure.empty()) failure = "new values: " + failure;
    block_reference_free(&expected);
  }
  spti_block_analysis_free(&found, plan);
  plan_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " blocks left over";
  return failure;
}

std::string run(const block_case &c, int type, uint64_t seed) {
  switch (type) {
  case 0: return run_typed<float>(c, seed);
  case 1: return run_typed<double>(c, seed);
  case 2: return run_typed<std::complex<float>>(c, seed);
  default: return run_typed<std::complex<double>>(c, seed);
  }
}

void all_shapes(int32_t n, uint64_t first, uint64_t seeds, int decades = 0) {
  const seed_range range(first, seeds);
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      block_case c;
      c.draw(seed * 16 + uint64_t(s));
      c.pattern = shape(s);
      c.n = n;
      c.decades = decades;
      const int type = int((seed + uint64_t(s)) % 4);
      const std::string failure = run(c, type, seed);
      cr_assert(failure.empty(), "%s; %s type %d; replay with SIMT_SEED=%llu", failure.c_str(), c.name().c_str(), type,
                (unsigned long long)seed);
    }
}

} // namespace

Test(simt_block_analysis, small_orders) {
  static const int32_t orders[] = {0, 1, 15, 16, 17, 64, 65};
  for (int32_t n : orders) all_shapes(n, uint64_t(n * 100), 2);
}

Test(simt_block_analysis, several_panels) { all_shapes(180, 50000, 4); }

/* Rows scaled so far apart that entries of inverses underflow and overflow, in f32 and c64, or nearly so. */
Test(simt_block_analysis, rows_of_any_size) {
  for (int decades : {3, 18, 30}) all_shapes(64, 60000 + uint64_t(decades), 4, decades);
}

/* Rows one after the other, by columns and values; what flags their last panel gets, in the reference too. */
template <typename T> struct rows_by_hand {
  std::vector<int64_t> ptr = {0};
  std::vector<int32_t> idx;
  std::vector<T> val;

  void add(int32_t column, T value) { idx.push_back(column), val.push_back(value); }
  void end_row(T diagonal) {
    add(int32_t(ptr.size()) - 1, diagonal);
    ptr.push_back(int64_t(idx.size()));
  }
  void expect_flags(int32_t flags, const std::string &what, double bound = BLOCK_RULES.bound) {
    spti_view view = {};
    view.n = int32_t(ptr.size()) - 1;
    view.nnz = ptr.back();
    view.dtype = dtype_of<T>::value;
    view.place = SPTRSM_CUDA;
    view.ptr = ptr.data();
    view.idx = idx.data();
    view.val = val.data();
    view.tail = 1;
    view.pull = true;
    block_case c;
    c.rules.bound = bound;
    c.rules.refine = 1000;
    block_reference expected;
    spti_block_analysis found;
    const spti_block_settings set = c.settings();
    sptrsm_plan *plan = plan_case_open(&view);
    simt::use(simt::schedule::from_seed(9));
    cr_assert(block_reference_make(&expected, &view, &c.rules));
    cr_assert_eq(spti_block_analysis_make(&found, plan, &set), SPTRSM_OK, "%s; %s", sptrsm_last_error(), simt::error().c_str());
    cr_assert_eq(found.panels.flags[found.panels.count - 1], flags, "%s: flags %d", what.c_str(),
                 found.panels.flags[found.panels.count - 1]);
    cr_assert_eq(compare<T>(found, expected), "");
    block_reference_free(&expected);
    spti_block_analysis_free(&found, plan);
    plan_case_close(plan);
  }
};

/* A row with a diagonal of 1e-15 needs 40 rows before its panel, with such a weight. */
template <typename T> static void near_overflow(float weight, int32_t flags) {
  enum { N = 65, NEEDED = 40 };
  rows_by_hand<T> rows;
  for (int32_t i = 0; i < N; i++) {
    for (int32_t j = 0; i == N - 1 && j < NEEDED; j++) rows.add(j, T(weight));
    rows.end_row(i == N - 1 ? T(1e-15f) : T(1));
  }
  rows.expect_flags(flags, "weight " + std::to_string(weight));
}

/* Products with the inverse that the type has no room for must not be made in advance. */
Test(simt_block_analysis, near_columns_that_overflow) {
  near_overflow<float>(1e20f, 0);
  near_overflow<float>(1e25f, SPTI_BLOCK_APART);
  near_overflow<std::complex<float>>(1e25f, SPTI_BLOCK_APART);
  near_overflow<double>(1e25f, 0);
}

/* A panel of 64 rows that each need the one before and, with such a weight, two of the first 128 rows, or all of them the first one. */
template <typename T> static void chain_behind(float weight, bool first, double bound, int32_t flags) {
  rows_by_hand<T> rows;
  for (int32_t i = 0; i < 192; i++) {
    for (int32_t j : {i - 128, i - 64})
      if (i >= 128 && !first) rows.add(j, T(weight));
    if (i >= 128 && first) rows.add(0, T(weight));
    if (i > 128) rows.add(i - 1, T(1));
    rows.end_row(T(1));
  }
  rows.expect_flags(flags, "weight " + std::to_string(weight) + ", bound " + std::to_string(bound), bound);
}

constexpr int32_t ALL_REFINED = SPTI_BLOCK_STRIPS * SPTI_BLOCK_REFINE;

/* Near columns are multiplied in advance where the inverse is used alone, the product refined if need be, and where it is refined; but not
 * where they stay large. */
Test(simt_block_analysis, near_columns_of_all_kinds) {
  chain_behind<double>(1e-3f, false, 1e6, 0);
  chain_behind<double>(1, false, 300, SPTI_BLOCK_APART);
  chain_behind<double>(1, true, 3000, 0);
  chain_behind<double>(1e-3f, false, 200, ALL_REFINED);
  chain_behind<float>(1e-3f, false, 200, ALL_REFINED);
  chain_behind<std::complex<double>>(1e-3f, false, 200, ALL_REFINED);
  chain_behind<std::complex<float>>(1e-3f, false, 200, ALL_REFINED);
  chain_behind<double>(1, false, 2, ALL_REFINED | SPTI_BLOCK_APART);
}

/* A panel of `count` rows of `terms` terms each, nearly all of them before it. Each row but the first takes the one before twice: roundings
 * are amplified in the residuals by 82.3 in the 6th, by 679.7 in the 9th, by 1362.3 in the 10th row. */
template <typename T> static void rows_of_terms(int32_t count, int32_t terms, int32_t flags) {
  const int32_t before = (terms + 63) / 64 * 64;
  rows_by_hand<T> rows;
  for (int32_t i = 0; i < before; i++) rows.end_row(T(1));
  for (int32_t i = 0; i < count; i++) {
    for (int32_t j = 0; j < terms - (i > 0 ? 3 : 2); j++) rows.add(j, T(0.0025f));
    if (i > 0) rows.add(before + i - 1, T(2));
    rows.end_row(T(1));
  }
  rows.expect_flags(flags, std::to_string(count) + " rows of " + std::to_string(terms) + " terms", 2);
}

/* The limit is 2 (terms / 4)^1.5 up to 256 terms, 4 terms beyond. */
Test(simt_block_analysis, rows_of_many_terms) {
  rows_of_terms<double>(6, 47, SPTI_BLOCK_REFINE);
  rows_of_terms<double>(6, 48, 0);
  rows_of_terms<double>(9, 194, SPTI_BLOCK_REFINE);
  rows_of_terms<std::complex<float>>(9, 195, 0);
  rows_of_terms<double>(10, 340, SPTI_BLOCK_SUBSTITUTE); /* the power alone would let 310 terms pass */
  rows_of_terms<double>(10, 341, 0);
}

/* A panel of rows that take nothing, but for a chain: each of its rows takes the one before it and the first `outside` rows of another
 * panel. */
template <typename T> static void short_chain(int32_t at, int32_t chain, int32_t outside, float weight, int32_t flags) {
  rows_by_hand<T> rows;
  for (int32_t i = 0; i < 64; i++) rows.end_row(T(1));
  for (int32_t i = 0; i < (outside > 0 ? 12 : 40); i++) {
    const bool linked = i >= at && i < at + chain;
    for (int32_t j = 0; linked && j < outside; j++) rows.add(j, T(weight));
    if (linked) rows.add(64 + i - 1, T(1));
    rows.end_row(T(1));
  }
  rows.expect_flags(flags, "chain at " + std::to_string(at) + " of " + std::to_string(chain) + ", outside " + std::to_string(outside), 2);
}

/* All of a row of few terms may be small by chance. It is refined if it takes a row that takes another one, up to its own strip. */
Test(simt_block_analysis, rows_of_few_terms) {
  short_chain<double>(1, 1, 0, 0, 0);
  short_chain<double>(1, 2, 0, 0, SPTI_BLOCK_REFINE);
  short_chain<double>(14, 2, 0, 0, SPTI_BLOCK_REFINE);
  short_chain<double>(15, 2, 0, 0, 2 * SPTI_BLOCK_REFINE);
  short_chain<float>(33, 2, 0, 0, 3 * SPTI_BLOCK_REFINE);
  short_chain<std::complex<double>>(33, 2, 0, 0, 3 * SPTI_BLOCK_REFINE);
  short_chain<double>(1, 2, 6, 1, 0);                     /* eight terms */
  short_chain<double>(1, 2, 6, 1e-6f, SPTI_BLOCK_REFINE); /* two, and what is as good as none */
  short_chain<double>(1, 2, 60, 0.05f, 0);                /* two and many small ones */
}

/* A chain of 64 rows whose unknowns are scaled in turn: each row has entries `before` and 1, or 1 and `before`. */
template <typename T> static void scaled_chain(float before, bool in_turn, int32_t flags) {
  rows_by_hand<T> rows;
  for (int32_t i = 0; i < 64; i++) {
    const bool large = in_turn && i % 2 == 0;
    if (i > 0) rows.add(i - 1, T(large ? 1 : before));
    rows.end_row(T(large ? before : 1));
  }
  rows.expect_flags(flags, "unknowns scaled by " + std::to_string(before));
}

/* Solutions of very different sizes alone are no reason to substitute: what counts is whether a step of refinement makes residuals
 * small. */
Test(simt_block_analysis, unknowns_scaled_far_apart) {
  scaled_chain<double>(1e3f, true, ALL_REFINED);
  scaled_chain<double>(1e9f, true, ALL_REFINED | SPTI_BLOCK_APART); /* what underflows is not multiplied in advance */
  scaled_chain<float>(1e9f, true, ALL_REFINED | SPTI_BLOCK_APART);
  scaled_chain<std::complex<double>>(1e9f, true, ALL_REFINED | SPTI_BLOCK_APART);
  scaled_chain<double>(2, false, SPTI_BLOCK_SUBSTITUTE);
}

/* One wrong element in any of the arrays must not pass. */
Test(simt_block_analysis, what_is_wrong_is_noticed) {
  block_case c;
  c.pattern = shape::dense;
  c.n = 100;
  simt::use(simt::schedule::from_seed(1));
  system_of_case<double> system(c, 1);
  block_reference expected;
  spti_block_analysis found;
  const spti_block_settings set = c.settings();
  sptrsm_plan *plan = plan_case_open(&system.view);
  cr_assert(block_reference_make(&expected, &system.view, &c.rules));
  cr_assert_eq(spti_block_analysis_make(&found, plan, &set), SPTRSM_OK, "%s; %s", sptrsm_last_error(), simt::error().c_str());
  cr_assert_eq(compare<double>(found, expected), "");
  const auto notices = [&](const void *array, size_t at, size_t bytes, const char *what) {
    unsigned char *element = (unsigned char *)array + at * bytes, kept = *element;
    *element = (unsigned char)(kept ^ 64);
    const std::string failure = compare<double>(found, expected);
    cr_assert(failure.find(what) != std::string::npos, "%s changed: '%s'", what, failure.c_str());
    *element = kept;
  };
  const spti_block_panels &p = found.panels;
  notices(p.first, 1, 4, "first");
  notices(p.order, 0, 4, "order");
  notices(found.args.columns.ready_at, 70, 4, "ready at");
  notices(p.step_start, 1, 4, "step start");
  notices(p.diag_start, 1, 4, "diagonal start");
  notices(p.col, 3, 4, "column");
  notices(p.step, 2, 8, "step");
  notices((const double *)p.tile + 5, 0, 8, "tile value");
  notices((const double *)p.triangle + 64, 0, 8, "triangle value");
  notices((const char *)p.inverse + 7, 0, 1, "inverse"); /* the sign and the exponent of (0,0) */
  notices(p.near_start, 1, 4, "near start");
  notices((const char *)p.near + 7, 0, 1, "near columns");
  notices(p.flags, 1, 4, "flag");
  notices(found.args.flagged, 0, 4, "flagged");
  block_reference_free(&expected);
  spti_block_analysis_free(&found, plan);
  plan_case_close(plan);
}
