/* levelset_block.cpp -- levelset on a GPU for blocks of right-hand sides and few levels, host code and kernels, under adversarial
 * schedules: residuals in all layouts, the same bits in panels of every width, and which elements a NaN reaches. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/cases/block_ends.h"
#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/method_case.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "simt/cases/two_views.h"
#include "trsv/levelset/gpu/kernels.h"

extern "C" const struct spti_method spti_method_levelset_gpu;

namespace {

const char *const always = "block=100000"; /* however many levels there are */

struct block_case : drawn_ends {
  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 41);
    draw_system(r);
    draw_ends(r);
  }
  std::string name() const { return ends_name(); }
};

std::string analyse(sptrsm_plan *plan) {
  if (method_case_analyse(plan, &spti_method_levelset_gpu, always) == SPTRSM_OK) return "";
  return std::string("analysis: ") + sptrsm_last_error() + "; " + simt::error();
}

template <typename T> std::string solve(sptrsm_plan *plan, int32_t panel, block_ends<T> &e, int times) {
  if (method_case_solve(plan, panel, &e.t, times) == SPTRSM_OK) return "";
  return std::string("solve: ") + sptrsm_last_error() + "; " + simt::error();
}

template <typename T> std::string solve_and_judge(sptrsm_plan *plan, const two_views<T> &system, const block_case &c, uint64_t seed) {
  block_ends<T> e(c, seed);
  const std::string failure = solve(plan, c.width + int32_t(seed % 3), e, c.in_place ? 1 : 2);
  if (!failure.empty()) return failure;
  const std::vector<T> x = e.solution();
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0,
               worst = system.columns.residual(x.data(), e.plain.data(), c.width, c.width);
  return worst <= bound ? "" : "residual " + std::to_string(worst) + " bounds";
}

/* Analysis, solve, new values, solve. */
template <typename T> std::string run_case(const block_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  two_views<T> system(c, seed % 5);
  sptrsm_plan *plan = plan_case_open(&system.rows);
  std::string failure = analyse(plan);
  if (failure.empty()) failure = solve_and_judge(plan, system, c, seed);
  system.scale_values(T(1.25f));
  if (failure.empty() && method_case_new_values(plan, system.val.data()) != SPTRSM_OK) failure = sptrsm_last_error();
  if (failure.empty()) failure = solve_and_judge(plan, system, c, seed + 1);
  method_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " blocks left over";
  return failure;
}

template <typename T> void run_drawn(shape pattern, int32_t n, int32_t width, const char *type, uint64_t seed) {
  block_case c;
  c.draw(seed);
  c.pattern = pattern;
  c.n = n;
  c.width = width;
  expect(run_case<T>(c, seed), c, type, seed);
}

template <typename T>
void orders_and_widths(const char *type, std::initializer_list<int32_t> orders, std::initializer_list<int32_t> widths) {
  for (int32_t n : orders)
    for (int32_t width : widths)
      for (int s = 0; s < int(shape::count); s++) {
        const uint64_t seed = uint64_t(n * 100 + width * 7 + s);
        if (!left_to_other_builds(seed)) run_drawn<T>(shape(s), n, width, type, seed);
      }
}

} // namespace

Test(simt_levelset_block, f64) { orders_and_widths<double>("f64", {0, 1, 2, 33, 70}, {1, 2, 5, 8, 33, 66, 130}); }
Test(simt_levelset_block, f32) { orders_and_widths<float>("f32", {1, 40}, {3, 6, 40, 65}); }
Test(simt_levelset_block, c128) { orders_and_widths<std::complex<double>>("c128", {1, 40}, {1, 5, 40}); }
Test(simt_levelset_block, c64) { orders_and_widths<std::complex<float>>("c64", {2, 40}, {2, 8, 33}); }

/* A long row that one thread block sums up, and one that several blocks do. */
Test(simt_levelset_block, long_rows) {
  for (int32_t n : {SPTI_LEVELSET_GPU_LONG + 30, 1300})
    for (int32_t width : {1, 5, 66})
      for (uint64_t seed = 1; seed <= 3; seed++)
        if (!spared(seed + uint64_t(n + width), 3)) run_drawn<double>(shape::dense_last, n, width, "f64", seed);
}

/* Many levels, each with a long row that several blocks sum up; all use the same counters. One solve, because it takes long. */
Test(simt_levelset_block, long_rows_of_many_levels) {
  block_case c;
  c.pattern = shape::dense;
  c.n = 525;
  c.width = 6;
  c.in_place = true;
  simt::use(simt::schedule::from_seed(5));
  const two_views<double> system(c, 0);
  sptrsm_plan *plan = plan_case_open(&system.rows);
  std::string failure = analyse(plan);
  if (failure.empty()) failure = solve_and_judge(plan, system, c, 5);
  method_case_close(plan);
  expect(failure, c, "f64", 5);
}

/* Every column of every panel has the bits of one solve of all columns, whatever number of right-hand sides the plan was told. */
void same_bits(const block_case &c, int64_t hint, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  two_views<double> system(c, seed);
  sptrsm_plan *plan = plan_case_open(&system.rows);
  plan_case_set_hint(plan, hint);
  expect(analyse(plan), c, "f64", seed);
  block_ends<double> e(c, seed);
  expect(solve(plan, c.width, e, 1), c, "f64", seed);
  const std::vector<double> all = e.X;
  for (int32_t width : {1, 2, 3, 4, 5, 8, 17, 32, 64, 66}) {
    simt::use(simt::schedule::from_seed(seed * 100 + uint64_t(width)));
    const spti_transfer whole = e.t;
    e.t.from.data = (double *)whole.from.data + (c.width - width);
    e.t.to.data = (double *)whole.to.data + (c.width - width);
    e.t.width = width;
    expect(solve(plan, width, e, 1), c, "f64", seed);
    e.t = whole;
    cr_assert(memcmp(all.data(), e.X.data(), all.size() * sizeof(double)) == 0, "other bits with width=%d, hint=%d; %s", width, int(hint),
              c.name().c_str());
  }
  method_case_close(plan);
}

Test(simt_levelset_block, same_bits) {
  for (shape pattern : {shape::random, shape::dense_last})
    for (int64_t hint : {0, 3, 40}) {
      const uint64_t seed = uint64_t(hint + 1);
      block_case c;
      c.draw(seed);
      c.in_place = c.columns = false;
      c.pattern = pattern;
      c.n = pattern == shape::random ? 50 : 1100;
      c.width = 70;
      same_bits(c, hint, seed);
    }
}

static void check_poison(shape pattern, int32_t width, double poison) {
  block_case c;
  c.pattern = pattern;
  c.n = 30;
  c.width = width;
  simt::use(simt::schedule::from_seed(7));
  two_views<double> system(c, 2);
  sptrsm_plan *plan = plan_case_open(&system.rows);
  block_ends<double> e(c, 3);
  const int64_t ld = e.t.from.row_stride;
  e.B[3] = poison;
  std::string failure = analyse(plan);
  if (failure.empty()) failure = solve(plan, width, e, 1);
  method_case_close(plan);
  expect(failure, c, "f64", 7);
  for (int64_t i = 0; i < c.n; i++)
    for (int64_t k = 0; k < width; k++)
      cr_assert_neq(std::isfinite(e.X[size_t(i * ld + k)]), k == 3 && (i == 0 || pattern == shape::arrow), "X(%d,%d) is %g; %s", int(i),
                    int(k), e.X[size_t(i * ld + k)], c.name().c_str());
}

/* NaN and Inf in one right-hand side of one row reach the rows that depend on it, in this right-hand side, and nothing else. */
Test(simt_levelset_block, poison) {
  for (double poison : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
    for (shape pattern : {shape::diagonal, shape::arrow})
      for (int32_t width : {7, 8}) check_poison(pattern, width, poison);
}

/* Every allocation fails once: the error is MEMORY and nothing is left over. */
Test(simt_levelset_block, no_memory) {
  block_case c;
  two_views<double> system(c, 3);
  simt::use(simt::schedule::from_seed(3));
  for (int allowed = 0, failed = 1; failed; allowed++) {
    sptrsm_plan *plan = plan_case_open(&system.rows);
    emulated_gpu_fail_at = allowed;
    const sptrsm_status status = method_case_analyse(plan, &spti_method_levelset_gpu, always);
    failed = emulated_gpu_fail_at < 0;
    emulated_gpu_fail_at = -1;
    cr_assert_eq(status, failed ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "allocation %d: %s", allowed, sptrsm_last_error());
    cr_assert(failed || allowed >= 6, "only %d allocations", allowed);
    method_case_close(plan);
    cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
  }
}
