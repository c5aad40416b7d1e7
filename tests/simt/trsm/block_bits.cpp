/* The solve kernel of block has the bits of plain loops (trsm/block/solve_reference.h), with which its accuracy is judged on systems that
 * are too large for the emulator. */
#include "trsm/block/solve_reference.h"

#include <string.h>

#include "simt/cases/block_solver.h"
#include "simt/cases/run_cases.h"

static std::string compare(const block_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  solver<double> s(c, c.width, seed);
  block_ends<double> e(c, seed);
  std::vector<double> expected(e.plain.size());
  s.solve(e.t, c);
  if (!s.failure.empty()) return s.failure;
  if (!block_reference_solve(&s.panels, &s.system.view, c.width, e.plain.data(), expected.data())) return "no memory";
  const std::vector<double> found = e.solution();
  for (size_t i = 0; i < found.size(); i++)
    if (memcmp(&found[i], &expected[i], sizeof(double)) != 0)
      return "element " + std::to_string(i) + ": " + std::to_string(found[i]) + ", not " + std::to_string(expected[i]);
  return "";
}

/* Panels of one to four strips, refined or not, with and without near columns. */
Test(simt_block_bits, plain_loops) {
  static const int32_t orders[] = {17, 70, 330};
  for (const int32_t n : orders)
    run_shapes<block_case>(n, 5, uint64_t(n), n < 300 ? 2 : 1, "f64", [](block_case &c, uint64_t seed) {
      c.refined = true; /* a substituted panel may fuse products with sums on a device */
      return compare(c, seed);
    });
}
