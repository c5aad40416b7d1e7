/* plan_in_rows.h -- runs a plan with row-major blocks of padded rows: analysis, solve, new values, solve. Residuals are checked. */
#ifndef TESTS_SIMT_CASES_PLAN_IN_ROWS_H
#define TESTS_SIMT_CASES_PLAN_IN_ROWS_H

#include "simt/cases/method_case.h"
#include "simt/cases/two_views.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/emulator/simt.h"

template <typename T> struct solution {
  int64_t ld;
  std::vector<T> B, X;
};

/* Solves for B, twice with one workspace unless in place. Case has n, width and in_place. */
template <typename T, typename Case> std::string solve(sptrsm_plan *plan, const Case &c, solution<T> *s) {
  s->X = c.in_place ? s->B : std::vector<T>(s->B.size(), T(-9));
  const spti_end from = {c.in_place ? s->X.data() : s->B.data(), s->ld, 1, nullptr, nullptr, 0},
                 to = {s->X.data(), s->ld, 1, nullptr, nullptr, 0};
  const spti_transfer transfer = {from, to, {1, 0}, c.width};
  if (method_case_solve(plan, c.width, &transfer, c.in_place ? 1 : 2) == SPTRSM_OK) return "";
  return std::string("solve: ") + sptrsm_last_error() + "; " + simt::error();
}

template <typename T, typename Case> std::string judge(const two_views<T> &system, const Case &c, const solution<T> &s) {
  for (int64_t i = 0; i < c.n; i++)
    for (int64_t k = c.width; k < s.ld; k++)
      if (s.X[size_t(i * s.ld + k)] != (c.in_place ? s.B[size_t(i * s.ld + k)] : T(-9)))
        return "wrote beyond the block at row " + std::to_string(i);
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0, worst = system.columns.residual(s.X.data(), s.B.data(), s.ld, c.width);
  return worst <= bound ? "" : "residual " + std::to_string(worst) + " bounds";
}

/* Case also has analyse(plan) and values(system), the values in the order of the plan's view. */
template <typename T, typename Case> std::string run_plan(sptrsm_plan *plan, two_views<T> &system, const Case &c, uint64_t seed) {
  solution<T> s;
  s.ld = c.width + int64_t(seed % 3);
  s.B = random_block<T>(c.n * s.ld, seed + 1);
  if (c.analyse(plan) != SPTRSM_OK) return std::string("analysis: ") + sptrsm_last_error() + "; " + simt::error();
  std::string failure = solve(plan, c, &s);
  if (failure.empty()) failure = judge(system, c, s);
  if (!failure.empty()) return failure;
  system.scale_values(T(1.25f));
  if (method_case_new_values(plan, c.values(system)) != SPTRSM_OK) return std::string("new values: ") + sptrsm_last_error();
  failure = solve(plan, c, &s);
  return failure.empty() ? judge(system, c, s) : failure + " after new values";
}

/* Case also has view(system). */
template <typename T, typename Case> std::string run_case(const Case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  two_views<T> system(c, seed % 5);
  sptrsm_plan *plan = plan_case_open(&c.view(system));
  std::string failure = run_plan(plan, system, c, seed);
  method_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " blocks left over";
  return failure;
}

#endif
