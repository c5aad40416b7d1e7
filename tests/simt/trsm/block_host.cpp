/* The host code of block over its kernels on the emulated GPU: analysis, new values, panels of every width, workspaces that a solve left
 * unfinished, allocations that fail, variants. What the kernels do under adversarial schedules is in block_analysis.cpp and
 * block.cpp. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/host_case.h"

extern "C" const struct spti_method spti_method_block;

namespace {

/* Inverses of diagonal blocks may cost ten times what substitution may. */
enum { BOUND = 10 };

struct form {
  const char *variant;
  double bound;
};
const form forms[] = {{"", BOUND}, {"rows=16,least=3", BOUND}, {"bound=0,refine=0,tile=8", 1}};

} // namespace

/* A panel as wide as the block, wider, and of one column: the same bits; new values are those of the next solve. */
Test(simt_block_host, panels_and_values) {
  for (int s = 0; s < int(shape::count); s++) {
    const form &f = forms[s % 3];
    host_case o(&spti_method_block, shape(s), s % 2 != 0);
    host_blocks whole, single;
    std::vector<double> other(o.columns.val);
    for (double &v : other) v = -3 * v;
    cr_assert_eq(o.analyse(f.variant), SPTRSM_OK, "%s: %s", f.variant, sptrsm_last_error());
    for (const double factor : {1.0, -3.0}) {
      if (factor != 1.0) cr_assert_eq(method_case_new_values(o.plan, other.data()), SPTRSM_OK);
      const spti_transfer all = whole.part(0, WIDTH);
      cr_assert_eq(method_case_solve(o.plan, WIDTH + s, &all, 2), SPTRSM_OK, "%s", sptrsm_last_error());
      const double worst = o.residual(whole.X, whole.B, factor);
      cr_assert(worst <= f.bound, "%s, %s: residual %g bounds", shape_name(shape(s)), f.variant, worst);
      for (int32_t k = 0; k < WIDTH; k += 2) {
        const spti_transfer one = single.part(k, 1);
        cr_assert_eq(method_case_solve(o.plan, 1, &one, 1), SPTRSM_OK, "%s", sptrsm_last_error());
        for (int32_t i = 0; i < N; i++)
          cr_assert_eq(memcmp(&whole.X[size_t(i * WIDTH + k)], &single.X[size_t(i * WIDTH + k)], sizeof(double)), 0,
                       "%s, %s: other bits in panels of one", shape_name(shape(s)), f.variant);
      }
    }
  }
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* After a lost dependency was reported every workspace is made whole before its next solve. */
Test(simt_block_host, workspaces_after_a_loss) {
  host_case o(&spti_method_block, shape::random, false);
  host_blocks first, second;
  cr_assert_eq(o.analyse(""), SPTRSM_OK, "%s", sptrsm_last_error());
  const spti_transfer transfers[] = {first.part(0, WIDTH), second.part(0, WIDTH)};
  cr_assert_eq(method_case_solve_after_loss(o.plan, WIDTH, transfers), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert(o.residual(first.X, first.B, 1) <= BOUND, "the first workspace");
  cr_assert(o.residual(second.X, second.B, 1) <= BOUND, "the second workspace");
}

/* A row of the work blocks is counted in bytes by 32 bits: a panel too wide for that is refused before memory is asked for. */
Test(simt_block_host, widest_panel) {
  host_case o(&spti_method_block, shape::chain, false);
  cr_assert_eq(o.analyse(""), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_eq(method_case_solve(o.plan, INT32_MAX / 16 + 1, nullptr, 0), SPTRSM_ERR_UNSUPPORTED);
  cr_assert(strstr(sptrsm_last_error(), "134217728 right-hand sides, more than 134217727"), "%s", sptrsm_last_error());
}

/* Each allocation of an analysis and a work fails once: an error, and nothing left over. */
Test(simt_block_host, allocations) {
  sptrsm_status status = SPTRSM_ERR_MEMORY;
  int fail_at = 0;
  for (; status != SPTRSM_OK; fail_at++) {
    {
      host_case o(&spti_method_block, shape::dense_last, false);
      emulated_gpu_fail_at = fail_at;
      status = o.analyse("");
      if (status == SPTRSM_OK) status = method_case_solve(o.plan, WIDTH, nullptr, 0);
      emulated_gpu_fail_at = -1;
      cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "allocation %d: %s", fail_at, sptrsm_last_error());
    }
    cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", fail_at, emulated_gpu_blocks);
  }
  cr_assert_gt(fail_at, 5, "only %d allocations", fail_at - 1);
}

/* What a variant may not say, and what describe says of one that inverts nothing. */
Test(simt_block_host, variants) {
  static const char *const refused[] = {"rows=15",  "rows=65", "rows=16,least=17", "least=0", "window=0",  "window=100", "window=131136",
                                        "bound=-1", "tile=4",  "tile=24",          "tile=64", "refine=-1", "panels=3"};
  static const char *const taken[] = {"rows=16,least=16", "rows=64,least=64",  "least=1", "window=64", "window=131072",
                                      "bound=2147483647", "refine=2147483647", "tile=8",  "tile=16",   "tile=32"};
  for (const char *variant : refused) {
    host_case o(&spti_method_block, shape::chain, false);
    cr_assert_eq(o.analyse(variant), SPTRSM_ERR_ARGUMENT, "%s was taken", variant);
  }
  for (const char *variant : taken) {
    host_case o(&spti_method_block, shape::chain, false);
    cr_assert_eq(o.analyse(variant), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
  }
  host_case o(&spti_method_block, shape::chain, false);
  cr_assert_eq(o.analyse("bound=0,refine=0"), SPTRSM_OK, "%s", sptrsm_last_error());
  cr_assert_str_eq(method_case_parameters(o.plan), "panels=1 levels=1 stored/nnz=25.86 refined=0 substituted=1 apart=0");
}

namespace {

/* A lower triangle by rows and one right-hand side. */
template <typename T> struct small_system {
  std::vector<int64_t> ptr;
  std::vector<int32_t> idx;
  std::vector<T> val, B;

  /* Solved by that variant of block, which says `flags` of its panels. */
  std::vector<T> solve(const char *variant, const char *flags) {
    std::vector<T> X(B.size(), T(77));
    spti_view view = view_of(int32_t(B.size()), ptr, idx, val);
    view.tail = 1;
    view.pull = true;
    const spti_transfer transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
    sptrsm_plan *plan = plan_case_open(&view);
    simt::use(simt::schedule::from_seed(5));
    cr_assert_eq(method_case_analyse(plan, &spti_method_block, variant), SPTRSM_OK, "%s", sptrsm_last_error());
    cr_assert(strstr(method_case_parameters(plan), flags), "%g, ...: %s", double(val[0]), method_case_parameters(plan));
    cr_assert_eq(method_case_solve(plan, 1, &transfer, 1), SPTRSM_OK, "%s", sptrsm_last_error());
    method_case_close(plan);
    return X;
  }
};

/* d0 x0 = b, c x0 + d1 x1 = 0. */
template <typename T> struct pair_of_rows {
  T d0, c, d1, b;

  void check(const char *flags) const {
    const std::vector<T> X = small_system<T>{{0, 1, 3}, {0, 0, 1}, {d0, c, d1}, {b, 0}}.solve("", flags);
    const T first = b / d0, second = -c * first / d1, u = std::numeric_limits<T>::epsilon();
    cr_assert(std::abs(X[0] - first) <= u * std::abs(first) && std::abs(X[1] - second) <= 4 * u * std::abs(second),
              "%g, %g, %g: x = %g, %g", double(d0), double(c), double(d1), double(X[0]), double(X[1]));
  }
};

/* x0 = 3, 2 x(i-1) + x(i) = 0: roundings are amplified by some 2 2^rows in the last solution, by 4/3 2^rows in its residual. */
template <typename T> void rows_that_double(int rows, const char *flags) {
  small_system<T> system;
  system.B.assign(size_t(rows), T(0));
  system.B[0] = 3;
  system.ptr.push_back(0);
  for (int i = 0; i < rows; i++) {
    if (i > 0) system.idx.push_back(i - 1), system.val.push_back(2);
    system.idx.push_back(i), system.val.push_back(1);
    system.ptr.push_back(int64_t(system.idx.size()));
  }
  const std::vector<T> X = system.solve("", flags);
  for (int i = 0; i < rows; i++) cr_assert_eq(X[size_t(i)], std::ldexp(T(i % 2 ? -3 : 3), i), "row %d: %g", i, double(X[size_t(i)]));
}

} // namespace

/* A product with the inverse that overflows in one row must not be felt in rows that do not need it: the step of refinement multiplies
 * zeros by it. */
Test(simt_block_host, overflow_in_a_refined_panel) {
  small_system<double> system = {{0, 1, 2, 3, 5}, {0, 1, 2, 2, 3}, {1e-10, 1, 1, 1, 1}, {1e299, 1, 2, 3}};
  const std::vector<double> X = system.solve("bound=0", "refined=1");
  cr_assert(std::isinf(X[0]) && X[1] == 1 && X[2] == 2 && X[3] == 1, "x = %g, %g, %g, %g", X[0], X[1], X[2], X[3]);
}

/* What refinement can bring back depends on the precision of the inverse. */
Test(simt_block_host, bounds_of_refinement) {
  pair_of_rows<float>{1, 400, 1, 3}.check("refined=1 substituted=0");  /* a row sum of abs(inverse) abs(T) is 801 */
  pair_of_rows<float>{1, 6e5f, 1, 3}.check("refined=1 substituted=0"); /* 1200001, but three roundings at most in a residual */
  pair_of_rows<double>{1, 6e9, 1, 3}.check("refined=1 substituted=0");
  rows_that_double<float>(7, "refined=1 substituted=0");
  rows_that_double<float>(10, "refined=0 substituted=1 apart=0");
  rows_that_double<double>(17, "refined=1 substituted=0");
  rows_that_double<double>(20, "refined=0 substituted=1 apart=0");
}

/* An entry of the inverse that underflows, here even to zero, comes back in the step of refinement; where too much is lost, or an entry
 * overflows, the panel is substituted. */
Test(simt_block_host, inverses_beyond_the_range_of_the_type) {
  pair_of_rows<float>{1, 2, 1, 3}.check("refined=1 substituted=0"); /* the second row adds up roundings amplified by 1 and by 5 */
  pair_of_rows<float>{1, 0.25f, 1, 3}.check("refined=0 substituted=0");
  pair_of_rows<float>{1e3f, 1e-35f, 1e3f, 1e38f}.check("refined=1 substituted=0");
  pair_of_rows<float>{1e20f, 0.25f, 1e20f, 1e30f}.check("refined=1 substituted=0");
  pair_of_rows<float>{1e23f, 1, 1e23f, 1e30f}.check("refined=1 substituted=0");
  pair_of_rows<float>{1e30f, 1, 1e23f, 1e38f}.check("refined=0 substituted=1 apart=0");
  pair_of_rows<float>{1e-37f, 1, 1e-2f, 1e-30f}.check("refined=0 substituted=1 apart=0");
  pair_of_rows<double>{1e100, 1, 1e100, 1e200}.check("refined=1 substituted=0");
  pair_of_rows<double>{1e180, 1, 1e180, 1e300}.check("refined=0 substituted=1 apart=0");
  pair_of_rows<double>{1e-300, 1, 1e-20, 1e-200}.check("refined=0 substituted=1 apart=0");
}

/* The kernels ask for more shared memory than some devices have. */
Test(simt_block_host, a_device_of_little_shared_memory) {
  for (const size_t bytes : {(96 << 10) - 1, 96 << 10}) {
    emulated_gpu_shared_bytes = bytes;
    host_case o(&spti_method_block, shape::chain, false);
    cr_assert_eq(o.analyse(""), bytes < 96 << 10 ? SPTRSM_ERR_UNSUPPORTED : SPTRSM_OK, "%zu bytes: %s", bytes, sptrsm_last_error());
    if (bytes < 96 << 10) cr_assert(strstr(sptrsm_last_error(), "up to 95 KiB of shared memory, 96 are needed"), "%s", sptrsm_last_error());
  }
}

/* Windows are listed in shared memory: an order beyond the most windows is refused before anything is read. */
Test(simt_block_host, too_many_windows) {
  spti_view view = {};
  view.pull = true;
  for (const int32_t window : {64, 128, 1 << 16}) {
    view.n = (1 << 14) * window + 1;
    sptrsm_plan *plan = plan_case_open(&view);
    const std::string variant = "window=" + std::to_string(window);
    cr_assert_eq(method_case_analyse(plan, &spti_method_block, variant.c_str()), SPTRSM_ERR_ARGUMENT, "%s", variant.c_str());
    cr_assert(strstr(sptrsm_last_error(), "use a larger window"), "%s", sptrsm_last_error());
    method_case_close(plan);
  }
  cr_assert_eq(emulated_gpu_blocks, 0);
}

/* Row 65 needs row 64 alone, which needs the last of the panel before it with such a weight; the solution is known: 1, but x(64) as given.
 * Where row 64 nearly cancels, its near columns multiplied in advance would leave row 65 a residual many times its terms. */
static void near_columns(const char *variant, double weight, double x64, const char *flags) {
  enum { N = 80 };
  small_system<double> system = {{0}, {}, {}, {}};
  for (int32_t i = 0; i < N; i++) {
    const double before = i == 64 ? weight : i == 65 ? 0.5 * x64 : i > 0 ? 0.125 : 0, entry = i == 64 ? weight : i == 65 ? 0.5 : 0.125;
    if (i > 0) system.idx.push_back(i - 1), system.val.push_back(entry);
    system.idx.push_back(i);
    system.val.push_back(1);
    system.ptr.push_back(int64_t(system.idx.size()));
    system.B.push_back(before + (i == 64 ? x64 : 1));
  }
  const std::vector<double> X = system.solve(variant, flags);
  const double residual = std::abs(system.B[65] - X[64] / 2 - X[65]), terms = std::abs(X[64] / 2) + std::abs(X[65]);
  cr_assert(residual <= 4 * std::numeric_limits<double>::epsilon() * terms, "weight %g: %g of %g", weight, residual, terms);
}

Test(simt_block_host, near_columns_with_and_without_cancellation) {
  const char *trusting = "spare=1000000000"; /* rows of few terms have the limit of others */
  near_columns(trusting, 0.25, 0.5, "refined=0 substituted=0 apart=0");
  near_columns(trusting, 1e6, 0.1, "refined=0 substituted=0 apart=1");
  near_columns("", 0.25, 0.5, "refined=2 substituted=0 apart=1");
  near_columns("", 1e6, 0.1, "refined=2 substituted=0 apart=1");
  near_columns("", 1e-310, 0.1, "apart=1"); /* a product that underflows */
}
