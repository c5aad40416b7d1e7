/* host_case.h -- a whole CUDA method on a small forward system with blocks of a few right-hand sides, for tests of the host code of
 * methods. */
#ifndef TESTS_SIMT_CASES_HOST_CASE_H
#define TESTS_SIMT_CASES_HOST_CASE_H

#include <criterion/criterion.h>

#include "simt/cases/method_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

enum { N = 50, WIDTH = 5 };

/* A forward system, and a plan for it by rows. */
struct host_case {
  const struct spti_method *method;
  const problem<double> columns; /* the columns of the mirror image */
  sptrsm_plan *plan;

  host_case(const struct spti_method *m, shape pattern, bool unit) : method(m), columns(pattern, N, true, unit, true, false, 1) {
    const spti_view view = as_rows(columns);
    plan = plan_case_open(&view);
    simt::use(simt::schedule::from_seed(3));
  }
  ~host_case() { method_case_close(plan); }
  host_case(const host_case &) = delete;
  host_case &operator=(const host_case &) = delete;

  sptrsm_status analyse(const char *variant) { return method_case_analyse(plan, method, variant); }

  /* The worst of abs(b - T x) / ((k_i + 1) u (abs(T) abs(x))_i), all of T times `factor`. */
  double residual(const std::vector<double> &X, const std::vector<double> &B, double factor) const {
    double worst = 0;
    for (int32_t k = 0; k < WIDTH; k++)
      for (int32_t i = 0; i < N; i++) {
        long double r = B[size_t(i * WIDTH + k)], scale = 0;
        for (int64_t p = columns.ptr[size_t(i)]; p < columns.ptr[size_t(i) + 1]; p++) {
          const int32_t j = columns.idx[size_t(p)];
          const long double t = j == i && columns.view.unit ? 1 : (long double)columns.val[size_t(p)] * factor;
          r -= t * X[size_t(j * WIDTH + k)];
          scale += std::abs(t * X[size_t(j * WIDTH + k)]);
        }
        const int64_t terms = columns.ptr[size_t(i) + 1] - columns.ptr[size_t(i)] + 1;
        const double ratio = double(std::abs(r) / ((long double)(terms)*std::numeric_limits<double>::epsilon() / 2 * scale));
        if (!(ratio <= worst)) worst = ratio;
        if (worst != worst) return worst;
      }
    return worst;
  }
};

struct host_blocks {
  std::vector<double> B = random_block<double>(N * WIDTH, 7), X = std::vector<double>(N * WIDTH, 77.0);

  /* Columns [first, first + width). */
  spti_transfer part(int32_t first, int32_t width) {
    return {{B.data() + first, WIDTH, 1, nullptr, nullptr, 0}, {X.data() + first, WIDTH, 1, nullptr, nullptr, 0}, {1, 0}, width};
  }
};

#endif
