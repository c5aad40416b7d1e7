/* The solve kernel of block has the bits of plain loops (trsm/block/solve_reference.h), with which its accuracy is judged on systems that
 * are too large for the emulator. */
#include "trsm/block/solve_reference.h"

#include <string.h>

#include "simt/cases/block_solver.h"
#include "simt/cases/run_cases.h"

template <typename T> static std::string compare(const block_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  solver<T> s(c, c.width, seed);
  block_ends<T> e(c, seed);
  std::vector<T> expected(e.plain.size());
  s.solve(e.t, c);
  if (!s.failure.empty()) return s.failure;
  if (!block_reference_solve(&s.panels, &s.system.view, c.width, (const double *)e.plain.data(), (double *)expected.data()))
    return "no memory";
  const std::vector<T> found = e.solution();
  for (size_t i = 0; i < found.size(); i++)
    if (memcmp(&found[i], &expected[i], sizeof(T)) != 0)
      return "element " + std::to_string(i) + " is off by " + std::to_string(std::abs(found[i] - expected[i]));
  return "";
}

/* Panels of one to four strips, refined or not, with and without near columns. */
template <typename T> static void run_orders(const char *type) {
  static const int32_t orders[] = {17, 70, 330};
  for (const int32_t n : orders)
    run_shapes<block_case>(n, 5, uint64_t(n), n < 300 ? 2 : 1, type, [](block_case &c, uint64_t seed) {
      c.refined = true; /* a substituted panel may fuse products with sums on a device */
      return compare<T>(c, seed);
    });
}
Test(simt_block_bits, plain_loops) { run_orders<double>("f64"); }
Test(simt_block_bits, plain_loops_for_complex_values) { run_orders<std::complex<double>>("c128"); }
