/* test.cpp -- sptrsm.hpp without Eigen: handles, views, options, errors, refinement. */
#include <criterion/criterion.h>
#include <sptrsm.hpp>

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

/* L = [2 . .; 1 4 .; . 3 5], by rows. */
static const int64_t ptr[] = {0, 1, 3, 5};
static const int32_t idx[] = {0, 0, 1, 1, 2};

template <class T> static sptrsm::matrix lower(const sptrsm::context &context) {
  static const T val[] = {2, 1, 4, 3, 5};
  return sptrsm::matrix(context, sptrsm::triangle(SPTRSM_CSR, SPTRSM_LOWER, 3, ptr, idx, val));
}

template <class T> static bool equal(const T *x, std::initializer_list<T> expected) {
  bool same = true;
  for (const T &value : expected) same = same && std::abs(*x++ - value) <= 1e-6;
  return same;
}

template <class T> static void solve_in_every_layout() {
  const sptrsm::plan plan(lower<T>(sptrsm::context())); /* the plan keeps context and matrix alive */
  const T rows[] = {2, 4, 9, 18, 21, 42}, columns[] = {2, 9, 21, -1, 4, 18, 42, -1};
  T x[8] = {0, 0, 0, 7, 0, 0, 0, 7};
  plan.solve(sptrsm::row_major(rows, 3, 2), sptrsm::column_major(x, 3, 2, 4));
  cr_assert(equal<T>(x, {1, 2, 3, 7, 2, 4, 6, 7}));
  plan.solve(sptrsm::column_major(columns, 3, 2, 4), sptrsm::row_major(x, 3, 2), T(2));
  cr_assert(equal<T>(x, {2, 4, 4, 8, 6, 12}));
  std::array<T, 3> b = {2, 9, 21};
  cr_assert(equal<T>(plan.solve(b).data(), {1, 2, 3}));
  plan.solve(sptrsm::workspace(plan), b, b);
  cr_assert(equal<T>(b.data(), {1, 2, 3}));
}

Test(cpp, every_type_in_every_layout) {
  solve_in_every_layout<float>();
  solve_in_every_layout<double>();
  solve_in_every_layout<std::complex<float>>();
  solve_in_every_layout<std::complex<double>>();
}

Test(cpp, options_reach_the_plan) {
  sptrsm::context context(1);
  cr_assert_eq(context.describe(), "host, 1 thread");
  sptrsm::options options;
  options.method = "serial";
  options.op = SPTRSM_T;
  const sptrsm::plan plan(lower<double>(context), options);
  cr_assert_str_eq(plan.info().method, "serial");
  cr_assert(equal<double>(plan.solve(std::vector<double>{4, 17, 15}).data(), {1, 2, 3}));
}

template <class Call> static void refuse(sptrsm_status status, const char *message, Call call) {
  try {
    call();
  } catch (const sptrsm::error &e) {
    cr_assert_eq(e.status(), status, "%s instead of %s", sptrsm_status_name(e.status()), sptrsm_status_name(status));
    cr_assert(std::strstr(e.what(), message), "\"%s\" does not say \"%s\"", e.what(), message);
    return;
  }
  cr_assert_fail("no exception for \"%s\"", message);
}

Test(cpp, handles_move_and_new_values_are_used) {
  sptrsm::context context;
  sptrsm::matrix first = lower<double>(context), L = std::move(first);
  cr_assert_null(first.get());
  sptrsm::plan plan(L);
  const double val[] = {1, 1, 1, 1, 1};
  L.set_values(val);
  L = lower<double>(context); /* ends the handle; the plan goes on with what it was made from */
  cr_assert(equal<double>(plan.solve(std::vector<double>{1, 3, 5}).data(), {1, 2, 3}));
  sptrsm::workspace used(plan), kept = std::move(used);
  std::vector<double> x(3);
  refuse(SPTRSM_ERR_ARGUMENT, "workspace was moved", [&] { plan.solve(used, x, x); });
  plan.solve(kept, x, x);
  const sptrsm::context moved = std::move(context);
  cr_assert_eq(context.describe(), "moved to another handle");
  static_assert(!std::is_copy_constructible_v<sptrsm::plan> && std::is_nothrow_move_constructible_v<sptrsm::plan>);
}

Test(cpp, errors_are_exceptions) {
  sptrsm::context context;
  const double zero[] = {2, 1, 0, 3, 5};
  refuse(SPTRSM_ERR_SINGULAR, "(1,1)", [&] { sptrsm::matrix(context, sptrsm::triangle(SPTRSM_CSR, SPTRSM_LOWER, 3, ptr, idx, zero)); });
  refuse(SPTRSM_ERR_STRUCTURE, "upper", [&] { sptrsm::matrix(context, sptrsm::triangle(SPTRSM_CSR, SPTRSM_UPPER, 3, ptr, idx, zero)); });
  sptrsm::plan plan(lower<double>(context));
  refuse(SPTRSM_ERR_ARGUMENT, "4 rows", [&] { plan.solve(std::vector<double>(4)); });
  refuse(SPTRSM_ERR_ARGUMENT, "B", [&] { plan.solve(std::vector<float>(3)); });
  sptrsm::options options;
  options.method = "nothing";
  refuse(SPTRSM_ERR_ARGUMENT, "nothing", [&] { sptrsm::plan(lower<double>(context), options); });
  refuse(SPTRSM_ERR_UNSUPPORTED, "2147483648", [] { sptrsm::narrow(INT64_C(2147483648), "length"); });
}

Test(cpp, factor_sets_solve_and_refine) {
  sptrsm::context context;
  const double val[] = {2, 1, 4, 3, 5};
  const int64_t A_ptr[] = {0, 2, 5, 7}; /* A = L L^T = [4 2 .; 2 17 12; . 12 34] */
  const int32_t A_idx[] = {0, 1, 0, 1, 2, 1, 2};
  const double A_val[] = {4, 2, 2, 17, 12, 12, 34};
  const sptrsm_sparse L = sptrsm::triangle(SPTRSM_CSR, SPTRSM_LOWER, 3, ptr, idx, val);
  sptrsm::factors factors;
  factors.L = &L;
  factors.u_kind = SPTRSM_U_IS_LT;
  sptrsm::direct direct(context, factors);
  const std::vector<double> b = {8, 72, 126};
  std::vector<double> x = direct.solve(b);
  cr_assert(equal<double>(x.data(), {1, 2, 3}));
  direct.solve(b, x, SPTRSM_SYS_L);
  cr_assert(equal<double>(x.data(), {4, 17, 15}));

  direct.set_original({SPTRSM_CSR, SPTRSM_F64, SPTRSM_GENERAL, SPTRSM_HOST, 3, A_ptr, A_idx, A_val});
  x = {1.5, 2, 3};
  const sptrsm::refinement result = direct.refine(b, x, true);
  cr_assert(equal<double>(x.data(), {1, 2, 3}));
  cr_assert_eq(result.unconverged, 0);
  cr_assert(result.berr.size() == 1 && result.berr[0] <= 1e-15);
  cr_assert(result.ferr.size() == 1 && result.ferr[0] > 0 && result.ferr[0] <= 1e-13);
}
