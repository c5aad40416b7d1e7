/* refused.cpp -- calls of sptrsm.hpp that must not compile, one for each number in WRONG; CMakeLists.txt has the messages. */
#include <sptrsm.hpp>

void calls(const sptrsm::plan &plan, sptrsm::direct &direct, const std::vector<double> &b, std::vector<double> &x) {
  plan.solve(b, x);
  direct.solve(b, x);
  direct.refine(b, x);
  plan.solve(sptrsm::column_major(b.data(), 3, 1), sptrsm::column_major(x.data(), 3, 1));
#if WRONG == 1
  plan.solve(x, b);
#elif WRONG == 2
  direct.solve(x, b);
#elif WRONG == 3
  direct.refine(x, b);
#elif WRONG == 4
  plan.solve(b, sptrsm::column_major(b.data(), 3, 1));
#elif WRONG == 5
  plan.solve(sptrsm::column_major(b.data(), 3, 1));
#elif WRONG == 6
  plan.solve(x.size(), x);
#elif WRONG == 7
  plan.solve(x.size());
#endif
}
