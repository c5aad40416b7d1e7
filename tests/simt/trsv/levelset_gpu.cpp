/* levelset_gpu.cpp -- levelset on a GPU, host code and kernels, under adversarial schedules, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_in_rows.h"
#include "simt/cases/method_case.h"
#include "simt/cases/problem.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "simt/cases/two_views.h"
#include "trsv/levelset/gpu/kernels.h"

extern "C" const struct spti_method spti_method_levelset_gpu;

namespace {

const char *const variants[] = {"",                           /* one run, or wide levels alone */
                                "narrow=0",                   /* a launch for each level */
                                "narrow=1,lanes=1",           /* levels of one row among wide ones */
                                "narrow=3,lanes=4",           /* runs and wide levels */
                                "heavy=5,lanes=2",            /* the same by entries */
                                "segment=32,dense=0,lanes=2", /* segments of one chunk */
                                "segment=64,dense=0,narrow=50,lanes=8"};

/* Never by the kernels for few levels and blocks of right-hand sides, which levelset_block.cpp tests. */
sptrsm_status analyse_as(sptrsm_plan *plan, const std::string &variant) {
  return method_case_analyse(plan, &spti_method_levelset_gpu, (variant.empty() ? "block=0" : variant + ",block=0").c_str());
}

struct levelset_case : drawn_system {
  int32_t width = 1;
  std::string variant;
  bool in_place = false;

  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 177);
    variant = variants[r.below(int(sizeof variants / sizeof *variants))];
    draw_system(r);
    in_place = r.below(2);
  }
  sptrsm_status analyse(sptrsm_plan *plan) const { return analyse_as(plan, variant); }
  template <typename T> static const spti_view &view(const two_views<T> &system) { return system.rows; }
  template <typename T> static const T *values(const two_views<T> &system) { return system.val.data(); }
  std::string name() const {
    return "levelset:" + variant + " " + system_name() + " width=" + std::to_string(width) + (in_place ? " in place" : "");
  }
};

template <typename T> void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<levelset_case>(n, width, first, seeds, type, run_case<T, levelset_case>);
}

template <typename T> void all_orders(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {0, 1, 2, 31, 32, 33, 64, 65, 100};
  for (int32_t n : orders) all_shapes<T>(n, 1 + n % 3, uint64_t(n * 100), n < 3 ? 1 : seeds, type);
}

} // namespace

Test(simt_levelset_gpu, f64) { all_orders<double>("f64", 2); }
Test(simt_levelset_gpu, f32) { all_orders<float>("f32", 1); }
Test(simt_levelset_gpu, c128) { all_orders<std::complex<double>>("c128", 1); }
Test(simt_levelset_gpu, c64) { all_orders<std::complex<float>>("c64", 1); }

static void check_deep(const char *variant, shape pattern, uint64_t seed) {
  levelset_case c;
  c.pattern = pattern;
  c.n = 200;
  c.variant = variant;
  expect(run_case<double>(c, seed), c, "f64", seed);
}

/* A device with just the bytes that the host demands solves a chain. With a byte less it is refused, except with narrow=0. */
template <typename T> static void on_the_smallest_device(const char *type) {
  const size_t needed = spti_levelset_gpu_run_shared(dtype_of<T>::value);
  for (const size_t bytes : {needed, needed - 1})
    for (const char *variant : {"", "narrow=0"}) {
      emulated_gpu_shared_bytes = bytes;
      levelset_case c;
      c.pattern = shape::chain;
      c.n = 100;
      c.variant = variant;
      const std::string failure = run_case<T>(c, 3);
      if (bytes == needed || *variant) expect(failure, c, type, 3);
      else cr_expect(failure.find("use syncfree-csr, or narrow=0") != std::string::npos, "%s: %s", type, failure.c_str());
    }
}

Test(simt_levelset_gpu, small_devices) {
  on_the_smallest_device<float>("f32");
  on_the_smallest_device<double>("f64");
  on_the_smallest_device<std::complex<float>>("c64");
  on_the_smallest_device<std::complex<double>>("c128");
}

/* Levels of one row each: every row depends on the row before, through many chunks. */
Test(simt_levelset_gpu, deep) {
  for (const char *variant : {"", "segment=32,dense=0", "segment=96,dense=0"})
    for (shape pattern : {shape::chain, shape::dense})
      for (uint64_t seed = 1; seed <= 2; seed++)
        if (!spared(seed + uint64_t(pattern), 2)) check_deep(variant, pattern, seed);
}

/* A row of a wide level so long that it gets a thread block of its own. */
Test(simt_levelset_gpu, long_row) {
  for (const char *variant : {"", "narrow=0"}) {
    levelset_case c;
    c.pattern = shape::dense_last;
    c.n = SPTI_LEVELSET_GPU_LONG + 30;
    c.variant = variant;
    expect(run_case<double>(c, 3), c, "f64", 3);
  }
}

/* Row i of a dense triangle, a level of its own, has i entries off the diagonal. */
Test(simt_levelset_gpu, heavy_levels_are_wide) {
  levelset_case c;
  c.pattern = shape::dense;
  c.n = 10;
  two_views<double> system(c, 3);
  simt::use(simt::schedule::from_seed(3));
  sptrsm_plan *plan = plan_case_open(&system.rows);
  cr_assert_eq(analyse_as(plan, "heavy=5"), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(strstr(method_case_parameters(plan), " runs=1 segments=1 wide=4"), "%s", method_case_parameters(plan));
  method_case_close(plan);
}

/* One workspace for blocks at different addresses and of different widths: recorded launches must not keep the address of the first. */
Test(simt_levelset_gpu, one_work_for_all_blocks) {
  enum { PANEL = 3, SOLVES = 6 };
  static const int32_t widths[SOLVES] = {3, 1, 2, 1, 3, 2};
  for (const char *variant : {"", "narrow=0", "segment=32,dense=0"}) {
    levelset_case c;
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
    sptrsm_status status = analyse_as(plan, variant);
    if (status == SPTRSM_OK) status = method_case_solve_each(plan, PANEL, transfers, SOLVES);
    expect(status == SPTRSM_OK ? "" : sptrsm_last_error(), c, "f64", 11);
    for (int i = 0; i < SOLVES; i++) {
      c.width = widths[i];
      expect(judge(system, c, solutions[i]), c, "f64", uint64_t(i));
    }
    method_case_close(plan);
  }
}

static void check_poison(const char *variant, shape pattern, double poison) {
  levelset_case c;
  c.pattern = pattern;
  c.n = 80;
  c.variant = variant;
  two_views<double> system(c, 2);
  solution<double> s = {1, random_block<double>(c.n, 4), {}};
  s.B[0] = poison;
  for (int32_t i = 1; i < c.n && pattern == shape::arrow; i += 2) system.val[size_t(system.ptr[size_t(i)])] = 0; /* zeros are entries */
  simt::use(simt::schedule::from_seed(7));
  sptrsm_plan *plan = plan_case_open(&system.rows);
  std::string failure;
  if (analyse_as(plan, variant) != SPTRSM_OK) failure = sptrsm_last_error();
  if (failure.empty()) failure = solve(plan, c, &s);
  method_case_close(plan);
  expect(failure, c, "f64", 7);
  for (int32_t i = 0; i < c.n; i++)
    cr_assert_neq(std::isfinite(s.X[size_t(i)]), i == 0 || pattern == shape::arrow, "row %d is %g; %s", i, s.X[size_t(i)],
                  c.name().c_str());
}

/* NaN and Inf reach the rows that depend on them and no other row, although a tile holds zeros where there is no entry. */
Test(simt_levelset_gpu, poison) {
  for (double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (shape pattern : {shape::diagonal, shape::arrow})
      for (const char *variant : {"", "narrow=0", "segment=32,dense=0"}) check_poison(variant, pattern, poison);
}

/* Every allocation fails once: the error is MEMORY and nothing stays allocated. */
Test(simt_levelset_gpu, no_memory) {
  levelset_case c;
  c.n = 80;
  two_views<double> system(c, 3);
  simt::use(simt::schedule::from_seed(3));
  for (int allowed = 0, failed = 1; failed; allowed++) {
    sptrsm_plan *plan = plan_case_open(&system.rows);
    emulated_gpu_fail_at = allowed;
    const sptrsm_status status = analyse_as(plan, "segment=32,dense=0");
    failed = emulated_gpu_fail_at < 0;
    emulated_gpu_fail_at = -1;
    cr_assert_eq(status, failed ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "allocation %d: %s", allowed, sptrsm_last_error());
    cr_assert(failed || allowed >= 8, "only %d allocations", allowed);
    method_case_close(plan);
    cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
  }
}

Test(simt_levelset_gpu, refused_variants) {
  levelset_case c;
  two_views<double> system(c, 3);
  for (const char *variant : {"narrow", "narrow=-1", "lanes=3", "lanes=32", "segment=40", "wide=1", "narrow=1;"}) {
    sptrsm_plan *plan = plan_case_open(&system.rows);
    cr_assert_eq(method_case_analyse(plan, &spti_method_levelset_gpu, variant), SPTRSM_ERR_ARGUMENT, "%s was taken", variant);
    method_case_close(plan);
  }
}
