// user_cxx.cpp -- the C++ header; links the shared library.
#include <sptrsm.hpp>

#include <cstdio>

int main() try {
  const std::vector<int64_t> ptr{0, 1, 3, 5};
  const std::vector<int32_t> idx{0, 0, 1, 1, 2};
  const std::vector<double> val{2, 1, 4, 3, 5}, b{2, 9, 21};
  const sptrsm::matrix L(sptrsm::context(), sptrsm::triangle(SPTRSM_CSR, SPTRSM_LOWER, 3, ptr.data(), idx.data(), val.data()));
  const std::vector<double> x = sptrsm::plan(L).solve(b);
  std::printf("sptrsm %s: x = %g %g %g\n", sptrsm_version(), x[0], x[1], x[2]);
} catch (const sptrsm::error &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
