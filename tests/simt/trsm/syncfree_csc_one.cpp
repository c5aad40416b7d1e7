/* The kernel of syncfree-csc for one right-hand side under adversarial schedules, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include "core/device/device.cuh"
#include "simt/cases/run_cases.h"
#include "simt/trsm/syncfree_csc_case.h"

template <typename T> static void all_shapes(int32_t n, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<solve_case>(n, 1, first, seeds, type, [](solve_case &c, uint64_t seed) {
    c.use_one(seed + uint64_t(c.pattern));
    return run_case<T>(c, seed);
  });
}

template <typename T> static void all_orders(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {0, 1, 2, 15, 16, 17, 33, 70};
  for (int32_t n : orders) all_shapes<T>(n, uint64_t(n * 100 + 1), seeds, type);
}

Test(simt_syncfree_csc_one, f64) { all_orders<double>("f64", 12); }
Test(simt_syncfree_csc_one, f32) { all_orders<float>("f32", 3); }
Test(simt_syncfree_csc_one, c128) { all_orders<std::complex<double>>("c128", 3); }
Test(simt_syncfree_csc_one, c64) { all_orders<std::complex<float>>("c64", 3); }

/* One update too few, in the block or from outside: the lost word names a row that waits for it, and no wait is left behind. */
Test(simt_syncfree_csc_one, lost_dependency) {
  const seed_range range(1, schedules(24));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    solve_case c;
    c.draw(seed);
    c.use_one(seed);
    c.pattern = shape::chain;
    c.extra_in_degree_row = c.backward ? 20 : 5;
    c.spin_limit = 200;
    int64_t lost = 0;
    const std::string failure = run_case<double>(c, seed, &lost);
    cr_assert(failure.find("never arrived") != std::string::npos, "got '%s'; %s", failure.c_str(), c.name().c_str());
    const int64_t row = lost - 1;
    cr_assert(c.backward ? row <= 20 : row >= 5, "row %lld is not behind the lost update; %s", (long long)row, c.name().c_str());
  }
}

/* A NaN in b reaches what depends on it, nothing else, and hangs nobody. */
template <typename T> static void not_a_number(uint64_t seeds) {
  const seed_range range(1, schedules(seeds));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    const int32_t n = 40, bad = 20;
    simt::use(simt::schedule::from_seed(seed));
    const problem<T> system(shape::chain, n, false, false, true, false, seed);
    std::vector<T> x(size_t(n), T(1));
    x[bad] = seed % 2 ? T(NAN) : like_sentinel<T>(seed / 2);
    std::vector<int32_t> in_degree(size_t(n), 1), state(size_t(n) + SPTI_SYNCFREE_CONTROL_WORDS, 0);
    in_degree[0] = 0;
    int64_t lost = 0;
    spti_syncfree_csc_one_args a = {};
    a.inside = spti_syncfree_csc_inside(seed % 3);
    a.solve.view = system.view;
    a.solve.work = x.data();
    a.solve.ld = a.solve.width = 1;
    a.solve.block_warps = 16;
    a.solve.in_degree = in_degree.data();
    a.solve.sync.lost = &lost;
    a.solve.sync.spin_limit = 100000;
    spti_syncfree_csc_bind(&a.solve, state.data());
    cr_assert_eq(spti_syncfree_csc_start_launch(&a.solve, nullptr), 0, "%s", simt::error().c_str());
    cr_assert_eq(spti_syncfree_csc_one_launch(&a, nullptr), 0, "%s", simt::error().c_str());
    cr_assert_eq(lost, 0);
    for (int32_t i = 0; i < n; i++) cr_assert_eq(x[size_t(i)] != x[size_t(i)], i >= bad, "row %d, seed %d", i, int(seed));
  }
}

Test(simt_syncfree_csc_one, not_a_number_f64) { not_a_number<double>(24); }
Test(simt_syncfree_csc_one, not_a_number_f32) { not_a_number<float>(8); }
Test(simt_syncfree_csc_one, not_a_number_c64) { not_a_number<std::complex<float>>(12); }
Test(simt_syncfree_csc_one, not_a_number_c128) { not_a_number<std::complex<double>>(12); }
