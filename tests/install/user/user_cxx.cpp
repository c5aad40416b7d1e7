// user_cxx.cpp -- the header from C++; links the shared library.
#include <sptrsm.h>

#include <cstdio>
#include <vector>

int main() {
  std::vector<int64_t> ptr{0, 1, 3, 5};
  std::vector<int32_t> idx{0, 0, 1, 1, 2};
  std::vector<double> val{2, 1, 4, 3, 5}, x{2, 9, 21};
  sptrsm_sparse L{SPTRSM_CSR, SPTRSM_F64, SPTRSM_LOWER, SPTRSM_NONUNIT, SPTRSM_HOST, 3, ptr.data(), idx.data(), val.data()};
  sptrsm_block X{x.data(), 1, 3, 1, SPTRSM_F64, SPTRSM_ROW_MAJOR, SPTRSM_HOST};
  sptrsm_context *context = nullptr;
  sptrsm_matrix *matrix = nullptr;
  sptrsm_plan *plan = nullptr;
  bool failed = sptrsm_context_create(&context, SPTRSM_HOST, 0, nullptr) || sptrsm_matrix_create(&matrix, context, &L, SPTRSM_COPY) ||
                sptrsm_plan_create(&plan, matrix, nullptr) || sptrsm_solve(plan, nullptr, nullptr, &X, &X);
  if (failed) std::fprintf(stderr, "%s\n", sptrsm_last_error());
  else std::printf("sptrsm %s: x = %g %g %g\n", sptrsm_version(), x[0], x[1], x[2]);
  sptrsm_plan_destroy(plan);
  sptrsm_matrix_destroy(matrix);
  sptrsm_context_destroy(context);
  return failed;
}
