/* The kernels of syncfree-csc under adversarial schedules, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include "simt/cases/run_cases.h"
#include "simt/trsm/syncfree_csc_case.h"

template <typename T> static void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<solve_case>(n, width, first, seeds, type, [](const solve_case &c, uint64_t seed) { return run_case<T>(c, seed); });
}

template <typename T> static void all_orders_and_widths(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {0, 1, 2, 31, 32, 33}, widths[] = {1, 2, 7, 31, 32, 33, 64, 65};
  for (int32_t n : orders)
    for (int32_t width : widths) all_shapes<T>(n, width, uint64_t(n * 100 + width), n < 3 ? 1 : seeds, type);
}

Test(simt_syncfree_csc, f64) { all_orders_and_widths<double>("f64", 3); }
Test(simt_syncfree_csc, f32) { all_orders_and_widths<float>("f32", 1); }
Test(simt_syncfree_csc, c128) { all_orders_and_widths<std::complex<double>>("c128", 1); }
Test(simt_syncfree_csc, c64) { all_orders_and_widths<std::complex<float>>("c64", 1); }

Test(simt_syncfree_csc, longer) {
  static const int32_t widths[] = {1, 3, 16, 33, 130};
  for (int32_t width : widths) all_shapes<double>(100, width, uint64_t(5000 + width), 2, "f64");
}

Test(simt_syncfree_csc, many_schedules) {
  static const shape patterns[] = {shape::random, shape::dense, shape::chain};
  const seed_range range(1, schedules(200));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    solve_case c;
    c.draw(seed);
    c.pattern = patterns[seed % 3];
    c.n = 20;
    c.width = 1 + int32_t(seed % 5);
    expect(run_case<double>(c, seed), c, "f64", seed);
  }
}

/* One update too few must end in the lost word, name a row that waits for it, and leave no wait behind. */
Test(simt_syncfree_csc, lost_dependency) {
  const seed_range range(1, schedules(20));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    solve_case c;
    c.draw(seed);
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
