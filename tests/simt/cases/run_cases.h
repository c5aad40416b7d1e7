/* run_cases.h -- runs cases in all shapes; a failure names the case and the seed that replays it. */
#ifndef TESTS_SIMT_CASES_RUN_CASES_H
#define TESTS_SIMT_CASES_RUN_CASES_H

#include <criterion/criterion.h>

#include "simt/cases/problem.h"

template <typename Case> void expect(const std::string &failure, const Case &c, const char *type, uint64_t seed) {
  cr_assert(failure.empty(), "%s; %s, %s; replay with SIMT_SEED=%llu", failure.c_str(), type, c.name().c_str(), (unsigned long long)seed);
}

/* run(case, seed) may change the case; it returns a message, empty if all is right. */
template <typename Case, typename Run>
void run_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type, const Run &run) {
  const seed_range range(first, seeds);
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      Case c;
      c.draw(seed * 16 + uint64_t(s));
      c.pattern = shape(s);
      c.n = n;
      c.width = width;
      const std::string failure = run(c, seed);
      expect(failure, c, type, seed);
    }
}

#endif
