/* syncfree_csr.cpp -- syncfree-csr, host code and kernels, under adversarial schedules, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/method_case.h"
#include "simt/cases/problem.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "simt/trsv/syncfree_csr_case.h"

extern "C" const struct spti_method spti_method_syncfree_csr;

namespace {

const char *const variants[] = {"",
                                "preset=thread",
                                "preset=warp",
                                "preset=yy",
                                "preset=yy,average=2,warps=2",
                                "order=natural,lanes=4",
                                "order=level,lanes=2,warps=1",
                                "order=level,lanes=16",
                                "order=level",
                                "order=block",
                                "order=block,lanes=2",
                                "order=block,lanes=1",
                                "order=packed,entries=1,warps=2,gate=2",
                                "order=packed,entries=2,split=5,warps=3",
                                "order=packed,split=1,lanes=8,gate=1",
                                "order=packed,lanes=32,warps=1",
                                "order=packed,lanes=1,gate=0",
                                "order=packed,split=40,entries=1"};

struct csr_case : drawn_system {
  int32_t width = 3;
  std::string variant;
  bool columns = false, mapped = false, in_place = false;

  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 177);
    variant = variants[r.below(int(sizeof variants / sizeof *variants))];
    draw_system(r);
    columns = r.below(2);
    mapped = r.below(3) == 0;
    in_place = !mapped && r.below(3) == 0;
  }
  std::string name() const {
    return "syncfree-csr:" + variant + " " + system_name() + " width=" + std::to_string(width) + (columns ? " columns" : " rows") +
           (mapped ? " mapped" : "") + (in_place ? " in place" : "");
  }
};

/* A block of right-hand sides or solutions with its end of a transfer; element (i,k) of the panel is row map[i]. */
template <typename T> struct block {
  int64_t row_stride, col_stride;
  std::vector<int32_t> map;
  std::vector<T> data;

  block(const csr_case &c, uint64_t seed) : data(random_block<T>(int64_t(c.n + 2) * (c.width + 2), seed)) {
    row_stride = c.columns ? 1 : c.width + 2;
    col_stride = c.columns ? c.n + 2 : 1;
    for (int32_t i = 0; c.mapped && i < c.n; i++) map.push_back((i + 5) % c.n);
  }
  size_t at(int64_t i, int64_t k) const { return size_t((map.empty() ? i : map[size_t(i)]) * row_stride + k * col_stride); }
  spti_end end() { return {data.data(), row_stride, col_stride, map.empty() ? nullptr : map.data(), nullptr, 0}; }
};

/* The worst entry of abs(alpha b - T x) / ((k_i + 1) u (abs(T) abs(x))_i) for a pull view. */
template <typename T> double residual(const spti_view &v, const csr_case &c, const block<T> &X, const block<T> &B, const wide &alpha) {
  double worst = 0;
  for (int64_t k = 0; k < c.width; k++)
    for (int32_t i = 0; i < c.n; i++) {
      wide r = -alpha * widen(B.data[B.at(i, k)]);
      long double scale = 0, terms = 2;
      const auto add = [&](const wide &t, int32_t j) {
        r += t * widen(X.data[X.at(j, k)]);
        scale += std::abs(t) * std::abs(widen(X.data[X.at(j, k)]));
        terms += 1;
      };
      for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) {
        const wide t = widen(static_cast<const T *>(v.val)[p]);
        add(v.conj ? std::conj(t) : t, v.idx[p]);
      }
      const wide d = v.unit ? wide(1) : widen(static_cast<const T *>(v.val)[spti_view_diagonal(&v, i)]);
      add(v.conj ? std::conj(d) : d, i);
      const double ratio = double(std::abs(r) / (terms * (std::numeric_limits<typename dtype_of<T>::real>::epsilon() / 2) * scale));
      if (!(ratio <= worst)) worst = ratio;
      if (worst != worst) return worst;
    }
  return worst;
}

/* Empty if nothing but the solutions was overwritten. */
template <typename T> std::string untouched(const csr_case &c, const block<T> &before, const block<T> &after) {
  std::vector<char> mine(before.data.size(), 0);
  for (int64_t i = 0; i < c.n; i++)
    for (int64_t k = 0; k < c.width; k++) mine[after.at(i, k)] = 1;
  for (size_t p = 0; p < mine.size(); p++)
    if (!mine[p] && memcmp(&before.data[p], &after.data[p], sizeof(T)) != 0) return "wrote beyond the block at " + std::to_string(p);
  return "";
}

/* Solves, changes all values, solves again. */
template <typename T> std::string run_plan(sptrsm_plan *plan, spti_view view, const csr_case &c, uint64_t seed) {
  if (method_case_analyse(plan, &spti_method_syncfree_csr, c.variant.c_str()) != SPTRSM_OK)
    return std::string("analysis: ") + sptrsm_last_error() + "; " + simt::error();
  std::vector<T> other(static_cast<const T *>(view.val), static_cast<const T *>(view.val) + view.nnz);
  for (T &x : other) x = x * typename dtype_of<T>::real(1.25);
  for (int round = 0; round < 2; round++) {
    if (round == 1) {
      view.val = other.data();
      if (method_case_new_values(plan, view.val) != SPTRSM_OK) return std::string("new values: ") + sptrsm_last_error();
    }
    const block<T> given(c, seed + 1);
    block<T> B = given, X = c.in_place ? given : block<T>(c, seed + 2);
    const block<T> before = X;
    block<T> &out = c.in_place ? B : X;
    const spti_transfer transfer = {B.end(), out.end(), {2, 0}, c.width};
    const int32_t panel = 1 + int32_t(seed % 5); /* narrower or wider than the block */
    if (method_case_solve(plan, panel, &transfer, c.in_place ? 1 : 2) != SPTRSM_OK)
      return std::string("solve: ") + sptrsm_last_error() + "; " + simt::error();
    const double worst = residual(view, c, out, given, wide(2)), bound = dtype_of<T>::value >= SPTRSM_C64 ? 4 : 1;
    if (!(worst <= bound)) return "residual " + std::to_string(worst) + " bounds";
    const std::string failure = untouched(c, before, out);
    if (!failure.empty()) return failure;
  }
  return "";
}

template <typename T> std::string run_case(const csr_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  const problem<T> system(c.pattern, c.n, !c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5);
  const spti_view view = as_rows(system);
  sptrsm_plan *plan = plan_case_open(&view);
  std::string failure = run_plan<T>(plan, view, c, seed);
  method_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " device blocks left over";
  return failure;
}

template <typename T> void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<csr_case>(n, width, first, seeds, type, run_case<T>);
}

template <typename T> void all_orders_and_widths(const char *type, bool fewer = false) {
  static const int32_t orders[] = {0, 1, 2, 31, 33}, widths[] = {0, 1, 4};
  for (int32_t n : orders)
    for (int32_t width : widths) {
      if (fewer && (n == 31 || width == 4)) continue; /* other types differ in little but the size of their values */
      all_shapes<T>(n, width, uint64_t(n * 100 + width + 1), n < 3 || fewer ? 1 : 2, type);
    }
}

} // namespace

Test(simt_syncfree_csr, f64) { all_orders_and_widths<double>("f64"); }
Test(simt_syncfree_csr, f32) { all_orders_and_widths<float>("f32", true); }
Test(simt_syncfree_csr, c128) { all_orders_and_widths<std::complex<double>>("c128", true); }
Test(simt_syncfree_csr, c64) { all_orders_and_widths<std::complex<float>>("c64", true); }

Test(simt_syncfree_csr, every_variant) {
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++)
    for (int s = 0; s < int(shape::count); s++) {
      if ((v + size_t(s)) % 2 != 0 || left_to_other_builds(v + size_t(s))) continue;
      csr_case c;
      const uint64_t seed = 7000 + v * 16 + uint64_t(s);
      c.draw(seed);
      c.variant = variants[v];
      c.pattern = shape(s);
      c.n = 70;
      c.width = 1;
      expect(run_case<double>(c, seed), c, "f64", seed);
    }
}

Test(simt_syncfree_csr, many_schedules) {
  static const shape patterns[] = {shape::random, shape::dense, shape::chain, shape::grid};
  const seed_range range(1, schedules(40));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    csr_case c;
    c.draw(seed);
    c.pattern = patterns[seed % 4];
    c.n = 36;
    c.width = 1 + int32_t(seed % 2);
    expect(run_case<double>(c, seed), c, "f64", seed);
  }
}

/* A right-hand side may hold the sentinel itself, the bits of a value that is not yet published: rows become NaN, and nothing hangs. */
template <typename T> static void sentinel_in_the_right_hand_side(const char *type) {
  for (size_t v = 0; v < sizeof variants / sizeof *variants; v++) {
    const char *variant = variants[v];
    if (spared(v, 3)) continue;
    csr_case c;
    c.pattern = shape::chain;
    c.n = 20;
    c.width = 1;
    const problem<T> system(c.pattern, c.n, true, false, true, false, 1);
    spti_view view = system.view;
    view.pull = true;
    view.backward = false;
    sptrsm_plan *plan = plan_case_open(&view);
    simt::use(simt::schedule::from_seed(3));
    cr_assert_eq(method_case_analyse(plan, &spti_method_syncfree_csr, variant), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
    std::vector<T> B(20, T(1)), X(20, T(0));
    B[7] = like_sentinel<T>(v);
    const spti_transfer transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
    cr_assert_eq(method_case_solve(plan, 1, &transfer, 1), SPTRSM_OK, "%s: %s", variant, sptrsm_last_error());
    for (size_t i = 0; i < 20; i++) cr_assert_eq(X[i] != X[i], i >= 7, "%s, %s: row %zu", type, variant, i);
    method_case_close(plan);
  }
}

Test(simt_syncfree_csr, sentinel_f64) { sentinel_in_the_right_hand_side<double>("f64"); }
Test(simt_syncfree_csr, sentinel_f32) { sentinel_in_the_right_hand_side<float>("f32"); }
Test(simt_syncfree_csr, sentinel_c64) { sentinel_in_the_right_hand_side<std::complex<float>>("c64"); }
Test(simt_syncfree_csr, sentinel_c128) { sentinel_in_the_right_hand_side<std::complex<double>>("c128"); }

/* A row that depends on itself: the solve must end, and report that row or one that waits for it. */
Test(simt_syncfree_csr, lost_dependency) {
  const auto rows = spti_syncfree_csr_natural_launch, blocks = spti_syncfree_csr_block_launch;
  const struct {
    int32_t lanes, average;
    int (*launch)(const spti_syncfree_csr_args *, void *);
  } forms[] = {{1, 0, rows}, {4, 0, rows}, {32, 0, rows}, {0, 1, rows}, {0, 10, rows}, {2, 0, blocks}, {16, 0, blocks}};
  for (uint64_t seed = 1; seed <= schedules(5); seed++)
    for (const auto &form : forms) {
      simt::use(simt::schedule::from_seed(seed));
      problem<double> system(shape::chain, 40, true, false, true, false, 1);
      const int32_t lost_row = 9;
      system.idx[size_t(system.ptr[lost_row])] = lost_row;
      std::vector<double> B(40, 1.0), X(40, 0.0);
      stored_rows_solve s(system, 1, 200);
      s.args.lanes = form.lanes;
      s.args.average = form.average;
      s.args.transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
      cr_assert_eq(s.start(), 0, "%s", simt::error().c_str());
      cr_assert_eq(form.launch(&s.args, nullptr), 0, "%s", simt::error().c_str());
      cr_assert(s.lost > lost_row, "lanes=%d, seed %llu: lost is %lld", form.lanes, (unsigned long long)seed, (long long)s.lost);
    }
}

/* Solves of different widths follow each other in one workspace: each fills the block of the next one, also where that was wider before. */
Test(simt_syncfree_csr, widths_in_one_workspace) {
  const int32_t n = 40, most = 4;
  const problem<double> system(shape::random, n, true, false, true, false, 1);
  stored_rows_solve s(system, most, 20000);
  s.args.lanes = 4;
  cr_assert_eq(s.start(), 0, "%s", simt::error().c_str());
  csr_case c;
  c.n = n;
  uint64_t seed = 0;
  for (const int32_t width : {4, 1, 1, 4, 2, 3, 1, 4, 4}) {
    simt::use(simt::schedule::from_seed(++seed));
    c.width = width;
    block<double> B(c, seed), X(c, seed + 100);
    s.args.transfer = {B.end(), X.end(), {1, 0}, width};
    cr_assert_eq((seed % 2 ? spti_syncfree_csr_natural_launch : spti_syncfree_csr_block_launch)(&s.args, nullptr), 0, "%s",
                 simt::error().c_str());
    cr_assert_eq(s.lost, 0, "solve %llu: row %lld", (unsigned long long)seed, (long long)s.lost - 1);
    const double worst = residual(s.args.view, c, X, B, wide(1));
    cr_assert(worst <= 1, "solve %llu: %g bounds", (unsigned long long)seed, worst);
  }
}

/* Order of the systems on which preset=ag tries all its settings, which takes long. */
static const int32_t SEARCHED = one_case_in() > 2 ? 16 : 50;

/* Parameters take effect; anything else is refused. */
Test(simt_syncfree_csr, parameters) {
  static const struct {
    const char *variant, *says;
  } cases[] = {{"preset=thread", "order=natural lanes=1"},
               {"preset=warp,warps=4", "order=natural lanes=32 warps=4"},
               {"preset=yy", "lanes=0 average=10"},
               {"preset=ag", "search_ms="},
               {"order=packed,lanes=8", "order=packed lanes=8"},
               {"order=packed,entries=2,split=5", "entries=2 split=5"},
               {"preset=ag,warps=2", "warps=2"},
               {"warps=2,average=3,preset=yy", "lanes=0 average=3 warps=2"},
               {"preset=thread,preset=warp", "order=natural lanes=32"},
               {"preset=ag,order=natural", nullptr},
               {"preset=ag,lanes=4", nullptr},
               {"lanes=3", nullptr},
               {"yy", nullptr},
               {"capellini", nullptr},
               {"preset=capellini", nullptr},
               {"order=random", nullptr},
               {"entries=", nullptr},
               {"entries=4x", nullptr},
               {"warps=9", nullptr},
               {"=4", nullptr},
               {"rows=4", nullptr}};
  const problem<double> system(shape::random, SEARCHED, true, false, true, false, 1);
  spti_view view = system.view;
  view.pull = true;
  view.backward = false;
  for (const auto &one : cases) {
    sptrsm_plan *plan = plan_case_open(&view);
    simt::use(simt::schedule::from_seed(3));
    const sptrsm_status status = method_case_analyse(plan, &spti_method_syncfree_csr, one.variant);
    cr_expect_eq(status, one.says ? SPTRSM_OK : SPTRSM_ERR_ARGUMENT, "%s: %d %s", one.variant, int(status), sptrsm_last_error());
    if (one.says && status == SPTRSM_OK) {
      cr_expect(strstr(method_case_parameters(plan), one.says), "%s: %s", one.variant, method_case_parameters(plan));
      cr_expect_eq(method_case_is_deterministic(plan), strncmp(one.variant, "preset=ag", 9) != 0, "%s", one.variant);
    }
    method_case_close(plan);
  }
  cr_expect_eq(emulated_gpu_blocks, 0);
}

Test(simt_syncfree_csr, a_preset_without_its_key_is_told_how_to_write_it) {
  const problem<double> system(shape::chain, 3, true, false, true, false, 1);
  spti_view view = system.view;
  view.pull = true;
  view.backward = false;
  sptrsm_plan *plan = plan_case_open(&view);
  cr_expect_eq(method_case_analyse(plan, &spti_method_syncfree_csr, "warps=2,yy"), SPTRSM_ERR_ARGUMENT);
  cr_expect_str_eq(sptrsm_last_error(), "syncfree-csr: \"yy\" has no key; write syncfree-csr:preset=yy");
  method_case_close(plan);
}

/* The number of entries, which is not true here, bounds that of segments before rows are counted. */
Test(simt_syncfree_csr, segments_beyond_32_bits_are_refused) {
  const problem<double> system(shape::dense, SEARCHED, true, false, true, false, 1);
  spti_view view = system.view;
  view.pull = true;
  view.backward = false;
  view.nnz = int64_t(1) << 31;
  sptrsm_plan *plan = plan_case_open(&view);
  simt::use(simt::schedule::from_seed(3));
  cr_expect_eq(method_case_analyse(plan, &spti_method_syncfree_csr, "order=packed,split=2"), SPTRSM_ERR_UNSUPPORTED);
  cr_expect(strstr(sptrsm_last_error(), "segments of split=2 entries are beyond 32 bits; use a larger split"), "%s", sptrsm_last_error());
  method_case_close(plan);
  cr_expect_eq(emulated_gpu_blocks, 0);
}

/* Each allocation of an analysis and of a workspace fails once: an error, and nothing stays allocated. */
Test(simt_syncfree_csr, allocations) {
  const problem<double> system(shape::dense_last, SEARCHED, true, false, true, false, 1);
  spti_view view = system.view;
  view.pull = true;
  view.backward = false;
  for (const char *variant : {"order=packed,split=8", "preset=ag", "order=level"}) {
    sptrsm_status status = SPTRSM_ERR_MEMORY;
    for (int fail_at = 0; status != SPTRSM_OK; fail_at++) {
      sptrsm_plan *plan = plan_case_open(&view);
      simt::use(simt::schedule::from_seed(3));
      emulated_gpu_fail_at = fail_at;
      status = method_case_analyse(plan, &spti_method_syncfree_csr, variant);
      if (status == SPTRSM_OK) status = method_case_solve(plan, 1, nullptr, 0);
      cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "%s, allocation %d: %s", variant, fail_at, sptrsm_last_error());
      emulated_gpu_fail_at = -1;
      method_case_close(plan);
      cr_assert_eq(emulated_gpu_blocks, 0, "%s, allocation %d: %d blocks left over", variant, fail_at, emulated_gpu_blocks);
    }
  }
}
