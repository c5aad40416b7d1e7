/* tile-levelset and tile-syncfree on a GPU, host code and kernels, under adversarial schedules, judged by the componentwise
 * residual. */
#include <criterion/criterion.h>

#include <string.h>

#include "trsv/tiles/tiles.h"
#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_in_rows.h"
#include "simt/cases/method_case.h"
#include "simt/cases/problem.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "simt/cases/two_views.h"

extern "C" const struct spti_method spti_method_tile_levelset_gpu, spti_method_tile_syncfree_gpu;

namespace {

const char *const variants[] = {"",                               /* one run */
                                "wide=1",                         /* a launch for each level */
                                "wide=1,diagonal=thread",         /* and two */
                                "wide=2,align=1,diagonal=thread", /* levels that begin with a tile row of their own */
                                "tiles=1,align=4",                /* parts of tile rows */
                                "tiles=2,wide=2,align=20"};

const char *const by_columns_variants[] = {"", "order=natural", "align=1"};

struct tile_case : drawn_system {
  bool by_columns = false; /* tile-syncfree */
  int32_t width = 1;
  std::string variant;
  bool in_place = false;

  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 177);
    by_columns = r.below(3) == 0;
    variant = by_columns ? by_columns_variants[r.below(3)] : variants[r.below(int(sizeof variants / sizeof *variants))];
    draw_system(r);
    in_place = r.below(2);
  }
  /* As the method has it. */
  template <typename T> const spti_view &view(const two_views<T> &system) const { return by_columns ? system.columns.view : system.rows; }
  template <typename T> const T *values(const two_views<T> &system) const {
    return by_columns ? system.columns.val.data() : system.val.data();
  }
  sptrsm_status analyse(sptrsm_plan *plan) const { return method_case_analyse(plan, method(), variant.c_str()); }
  const spti_method *method() const { return by_columns ? &spti_method_tile_syncfree_gpu : &spti_method_tile_levelset_gpu; }
  std::string name() const {
    return (by_columns ? "tile-syncfree:" : "tile-levelset:") + variant + " " + system_name() + " width=" + std::to_string(width) +
           (in_place ? " in place" : "");
  }
};

template <typename T> void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<tile_case>(n, width, first, seeds, type, run_case<T, tile_case>);
}

template <typename T> void all_orders(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {0, 1, 16, 33, 65};
  for (int32_t n : orders) all_shapes<T>(n, 1 + n % 3, uint64_t(n * 100), n < 17 ? 1 : seeds, type);
}

} // namespace

Test(simt_tiles, f64) { all_orders<double>("f64", 2); }
Test(simt_tiles, f32) { all_shapes<float>(50, 1, 5, 1, "f32"); }
Test(simt_tiles, c128) { all_shapes<std::complex<double>>(50, 2, 6, 1, "c128"); }
Test(simt_tiles, c64) { all_shapes<std::complex<float>>(50, 1, 7, 1, "c64"); }

/* More parts than one item adds up. */
Test(simt_tiles, many_parts) {
  for (shape pattern : {shape::dense_last, shape::dense}) {
    tile_case c;
    c.pattern = pattern;
    c.n = pattern == shape::dense ? 100 : 16 * (SPTI_TILE_SUMS_MOST + 6);
    c.variant = "tiles=1";
    expect(run_case<double>(c, 3), c, "f64", 3);
  }
}

/* Lanes over right-hand sides, in more than one group. */
Test(simt_tiles, wide_blocks) {
  for (int32_t width : {2, 33})
    for (shape pattern : {shape::random, shape::dense, shape::grid}) {
      if (spared(uint64_t(pattern) + uint64_t(width), 2)) continue;
      tile_case c;
      c.pattern = pattern;
      c.n = 50;
      c.width = width;
      c.variant = width == 2 ? "tiles=2" : "wide=2,align=1,diagonal=thread";
      expect(run_case<double>(c, uint64_t(width)), c, "f64", uint64_t(width));
    }
}

/* One work for blocks of other places and widths: what is recorded must not hold on to the first of them. */
Test(simt_tiles, one_work_for_all_blocks) {
  enum { PANEL = 3, SOLVES = 6 };
  static const int32_t widths[SOLVES] = {3, 1, 2, 1, 3, 2};
  for (const char *variant : {"", "wide=1", "wide=1,diagonal=thread", "tiles=1"}) {
    tile_case c;
    c.n = 100;
    c.variant = variant;
    const two_views<double> system(c, 2);
    simt::use(simt::schedule::from_seed(11));
    sptrsm_plan *plan = plan_case_open(&system.rows);
    solution<double> solutions[SOLVES];
    spti_transfer transfers[SOLVES];
    for (int i = 0; i < SOLVES; i++) {
      solutions[i] = {widths[i] + i % 2, random_block<double>(c.n * (widths[i] + i % 2), uint64_t(20 + i)), {}};
      solutions[i].X.assign(solutions[i].B.size(), -9);
      transfers[i] = {{solutions[i].B.data(), solutions[i].ld, 1, nullptr, nullptr, 0},
                      {solutions[i].X.data(), solutions[i].ld, 1, nullptr, nullptr, 0},
                      {1, 0},
                      widths[i]};
    }
    sptrsm_status status = method_case_analyse(plan, &spti_method_tile_levelset_gpu, variant);
    if (status == SPTRSM_OK) status = method_case_solve_each(plan, PANEL, transfers, SOLVES);
    expect(status == SPTRSM_OK ? "" : sptrsm_last_error(), c, "f64", 11);
    for (int i = 0; i < SOLVES; i++) {
      c.width = widths[i];
      expect(judge(system, c, solutions[i]), c, "f64", uint64_t(i));
    }
    method_case_close(plan);
  }
}

/* A right-hand side alone has the bits that it has among others, though other kernels work on it. */
/* Empty if each right-hand side by itself gets the bits that it got among all. */
static std::string solve_each(sptrsm_plan *plan, const tile_case &c, const solution<double> &all, int32_t width) {
  std::string failure;
  for (int32_t k = 0; k < width && failure.empty(); k++) {
    solution<double> one = {1, std::vector<double>(size_t(c.n)), {}};
    for (int32_t i = 0; i < c.n; i++) one.B[size_t(i)] = all.B[size_t(i * width + k)];
    failure = solve(plan, c, &one);
    for (int32_t i = 0; i < c.n && failure.empty(); i++)
      if (one.X[size_t(i)] != all.X[size_t(i * width + k)]) failure = "other bits in row " + std::to_string(i);
  }
  return failure;
}

Test(simt_tiles, same_bits_for_every_width) {
  enum { WIDTH = 3 };
  for (shape pattern : {shape::arrow, shape::dense, shape::random})
    for (const char *variant : {"tiles=1", "wide=1,diagonal=thread", "align=1"}) {
      tile_case c;
      c.pattern = pattern;
      c.n = 70;
      c.variant = variant;
      const two_views<double> system(c, 2);
      simt::use(simt::schedule::from_seed(13));
      sptrsm_plan *plan = plan_case_open(&system.rows);
      solution<double> all = {WIDTH, random_block<double>(c.n * WIDTH, 9), {}};
      cr_assert_eq(method_case_analyse(plan, c.method(), variant), SPTRSM_OK, "%s", sptrsm_last_error());
      c.width = WIDTH;
      std::string failure = solve(plan, c, &all);
      c.width = 1;
      if (failure.empty()) failure = solve_each(plan, c, all, WIDTH);
      method_case_close(plan);
      expect(failure, c, "f64", 13);
    }
}

static void expect_poison(double poison, shape pattern, const char *variant) {
  tile_case c;
  c.pattern = pattern;
  c.n = 80;
  c.by_columns = strcmp(variant, "columns") == 0;
  c.variant = c.by_columns ? "" : variant;
  two_views<double> system(c, 2);
  solution<double> s = {1, random_block<double>(c.n, 4), {}};
  s.B[0] = poison;
  for (int32_t i = 1; i < c.n && pattern == shape::arrow; i += 2)
    system.val[size_t(system.ptr[size_t(i)])] = system.columns.val[size_t(i)] = 0; /* zeros are entries */
  simt::use(simt::schedule::from_seed(7));
  sptrsm_plan *plan = plan_case_open(&c.view(system));
  std::string failure;
  if (method_case_analyse(plan, c.method(), c.variant.c_str()) != SPTRSM_OK) failure = sptrsm_last_error();
  if (failure.empty()) failure = solve(plan, c, &s);
  method_case_close(plan);
  expect(failure, c, "f64", 7);
  for (int32_t i = 0; i < c.n; i++)
    cr_assert_neq(std::isfinite(s.X[size_t(i)]), i == 0 || pattern == shape::arrow, "row %d is %g; %s", i, s.X[size_t(i)],
                  c.name().c_str());
}

/* NaN and Inf reach the rows that need them and no other, though a tile has zeros beside its entries. */
Test(simt_tiles, poison) {
  const double poisons[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (double poison : poisons)
    for (shape pattern : {shape::diagonal, shape::arrow})
      for (const char *variant : {"", "wide=1", "wide=1,diagonal=thread", "tiles=1", "columns"}) expect_poison(poison, pattern, variant);
}

/* A tile that is stored as a full one though it has places without entries: Inf must not reach rows through them. */
Test(simt_tiles, no_entry_times_infinity) {
  for (bool by_columns : {false, true})
    for (int32_t width : {1, 2}) {
      tile_case c;
      c.pattern = shape::dense;
      c.n = 32;
      c.width = width;
      c.by_columns = by_columns;
      two_views<double> system(c, 2);
      /* Row 20 loses its entry in column 0: the values stand, the patterns are made anew without it. */
      const auto drop = [](std::vector<int64_t> &ptr, std::vector<int32_t> &idx, std::vector<double> &val, int32_t tile_row,
                           int32_t other) {
        int64_t at = ptr[size_t(tile_row)];
        while (idx[size_t(at)] != other) at++;
        idx.erase(idx.begin() + at);
        val.erase(val.begin() + at);
        for (size_t l = size_t(tile_row) + 1; l < ptr.size(); l++) ptr[l]--;
      };
      for (int32_t j = 0; j < 20; j++) {
        drop(system.ptr, system.idx, system.val, 20, j); /* row 20 needs nothing, */
        drop(system.columns.ptr, system.columns.idx, system.columns.val, j, 20);
      }
      system.rows.nnz = system.columns.view.nnz = int64_t(system.idx.size());
      solution<double> s = {width, random_block<double>(c.n * width, 4), {}};
      for (int32_t k = 0; k < width; k++) s.B[size_t(k)] = std::numeric_limits<double>::infinity();
      simt::use(simt::schedule::from_seed(7));
      sptrsm_plan *plan = plan_case_open(&c.view(system));
      std::string failure;
      if (method_case_analyse(plan, c.method(), "order=natural") != SPTRSM_OK) failure = sptrsm_last_error();
      if (failure.empty()) failure = solve(plan, c, &s);
      method_case_close(plan);
      expect(failure, c, "f64", 7);
      for (int32_t i = 0; i < c.n; i++)
        cr_assert_eq(std::isfinite(s.X[size_t(i * width)]), i == 20, "row %d is %g; %s", i, s.X[size_t(i * width)], c.name().c_str());
    }
}

/* Every allocation fails once: the error is MEMORY and nothing is left over. */
Test(simt_tiles, no_memory) {
  for (bool by_columns : {false, true}) {
    tile_case c;
    c.n = 80;
    c.by_columns = by_columns;
    two_views<double> system(c, 3);
    simt::use(simt::schedule::from_seed(3));
    for (int allowed = 0, failed = 1; failed; allowed++) {
      sptrsm_plan *plan = plan_case_open(&c.view(system));
      emulated_gpu_fail_at = allowed;
      const sptrsm_status status = method_case_analyse(plan, c.method(), "");
      failed = emulated_gpu_fail_at < 0;
      emulated_gpu_fail_at = -1;
      cr_assert_eq(status, failed ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "allocation %d: %s", allowed, sptrsm_last_error());
      cr_assert(failed || allowed >= 4, "only %d allocations", allowed);
      method_case_close(plan);
      cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
    }
  }
}

Test(simt_tiles, refused_variants) {
  for (const char *variant : {"tiles", "tiles=0", "wide=0", "diagonal=both", "thre=-1", "narrow=1", "wide=1;", "order=random"})
    for (bool by_columns : {false, true}) {
      tile_case c;
      c.by_columns = by_columns;
      two_views<double> system(c, 3);
      sptrsm_plan *plan = plan_case_open(&c.view(system));
      cr_assert_eq(method_case_analyse(plan, c.method(), variant), SPTRSM_ERR_ARGUMENT, "%s was taken", variant);
      method_case_close(plan);
    }
}
