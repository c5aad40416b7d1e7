/* recblock, its host part and its kernels, under adversarial schedules: forced depths, few and many levels, rows in lists and rows
 * taken apart, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include <string.h>

#include "simt/cases/drawn_case.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/problem.h"
#include "simt/trsv/recblock_case.h"
#include "simt/cases/run_cases.h"
#include "simt/emulator/simt.h"
#include "trsv/recblock/kernels.h"

namespace {

struct blocks_case : drawn_system {
  int32_t width = 3;
  bool column_major = false, in_place = false, update = false;
  bool permuted = false; /* rows of B and X mapped and scaled */
  std::string variant;

  void draw(uint64_t seed) {
    static const char *const levels[] = {"levels=20,thin=100", "levels=0,thin=0", "levels=3,thin=3"};
    static const char *const rows[] = {"short=32,long=2048,chunk=256", "short=2,long=3,chunk=1", "thread=2,short=1,long=4,chunk=3"};
    numbers r = numbers_of(seed + 55);
    draw_system(r);
    column_major = r.below(2);
    permuted = r.below(3) == 0;
    in_place = !permuted && r.below(2);
    update = r.below(3) == 0;
    variant = "depth=" + std::to_string(r.below(5)) + "," + levels[r.below(3)] + "," + rows[r.below(3)];
  }
  std::string name() const {
    return system_name() + " width=" + std::to_string(width) + (column_major ? " columns" : " rows") + (in_place ? " in place" : "") +
           (permuted ? " permuted" : "") + (update ? " update" : "") + " " + variant;
  }
};

/* A block with its layout, and the end of a transfer that it is. */
template <typename T> struct block {
  std::vector<T> data;
  spti_end end = {};
  std::vector<int32_t> map;
  std::vector<double> scale;

  block(const blocks_case &c, uint64_t seed) {
    const int64_t ld = (c.column_major ? c.n : c.width) + int64_t(seed % 3);
    data = random_block<T>((c.column_major ? c.width : c.n) * ld, seed + 1);
    end.row_stride = c.column_major ? 1 : ld;
    end.col_stride = c.column_major ? ld : 1;
    if (!c.permuted) return;
    for (int32_t i = 0; i < c.n; i++) map.push_back(int32_t((i + int32_t(seed % 7)) % c.n));
    for (int32_t i = 0; i < c.n; i++) scale.push_back(i % 2 ? 0.5 : 2.0);
    end.map = map.data();
    end.scale = scale.data();
    end.divide = int32_t(seed % 2);
  }
  void point() { end.data = data.data(); }
  /* Element (i,k) of the panel. */
  T at(int32_t i, int32_t k) const {
    const int64_t r = map.empty() ? i : map[size_t(i)];
    return data[size_t(r * end.row_stride + k * end.col_stride)];
  }
  double factor(int32_t i, bool inverse) const {
    if (scale.empty()) return 1;
    const double s = scale[size_t(map[size_t(i)])];
    return (end.divide != 0) != inverse ? 1 / s : s;
  }
};

/* abs(b - T x) / ((k_i + 1) u (abs(T) abs(x))_i) of row i and right-hand side k. */
template <typename T> double residual_of_row(const spti_view &v, const block<T> &X, const block<T> &B, int32_t i, int32_t k) {
  const T *val = static_cast<const T *>(v.val);
  wide r = widen(B.at(i, k)) * (long double)(B.factor(i, false));
  long double scale = 0;
  for (int64_t p = v.ptr[i]; p < v.ptr[i + 1]; p++) {
    if (v.idx[p] == i && v.unit) continue;
    const wide t = v.conj ? std::conj(widen(val[p])) : widen(val[p]),
               x = widen(X.at(v.idx[p], k)) * (long double)(X.factor(v.idx[p], true));
    r -= t * x;
    scale += std::abs(t) * std::abs(x);
  }
  if (v.unit) {
    const wide x = widen(X.at(i, k)) * (long double)(X.factor(i, true));
    r -= x;
    scale += std::abs(x);
  }
  const long double u = std::numeric_limits<typename dtype_of<T>::real>::epsilon() / 2;
  return double(std::abs(r) / ((long double)(v.ptr[i + 1] - v.ptr[i] + (v.head || v.tail ? 1 : 2)) * u * scale));
}

/* The worst of these over rows and right-hand sides; NaN if anything is not a number. */
template <typename T> double residual(const spti_view &v, const block<T> &X, const block<T> &B, int32_t width) {
  double worst = 0;
  for (int32_t k = 0; k < width; k++)
    for (int32_t i = 0; i < v.n; i++) {
      const double ratio = residual_of_row(v, X, B, i, k);
      if (!(ratio <= worst)) worst = ratio;
      if (worst != worst) return worst;
    }
  return worst;
}

template <typename T>
std::string run_case(const blocks_case &c, uint64_t seed, block<T> *solution = nullptr, std::string *parameters = nullptr) {
  simt::use(simt::schedule::from_seed(seed));
  const problem<T> columns(c.pattern, c.n, !c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5);
  const spti_view view = as_rows(columns);
  std::vector<T> other(columns.val);
  for (T &v : other) v = v * typename dtype_of<T>::real(3);
  block<T> B(c, seed);
  block<T> X = B;
  if (!c.in_place) std::fill(X.data.begin(), X.data.end(), T(77));
  B.point();
  X.point();
  spti_transfer between = {};
  between.from = c.in_place ? X.end : B.end;
  between.to = X.end;
  between.alpha[0] = 1;
  between.width = c.width;
  recblock_case run = {};
  run.view = &view;
  run.variant = c.variant.c_str();
  run.between = &between;
  run.other_val = c.update ? other.data() : nullptr;
  run.solves = c.in_place ? 1 : 2;
  if (recblock_case_run(&run) != SPTRSM_OK) return sptrsm_last_error() + std::string("; ") + simt::error();
  if (emulated_gpu_blocks != 0) return std::to_string(emulated_gpu_blocks) + " blocks left over";
  if (parameters) *parameters = run.parameters;
  const double worst = residual(view, X, B, c.width);
  if (solution) *solution = X;
  return worst <= (dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0) ? "" : "residual " + std::to_string(worst) + " bounds, " + run.parameters;
}

template <typename T> void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  run_shapes<blocks_case>(n, width, first, seeds, type, [](const blocks_case &c, uint64_t seed) { return run_case<T>(c, seed); });
}

template <typename T> void all_orders_and_widths(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {0, 1, 2, 33, 70}, widths[] = {1, 2, 5, 16, 33};
  for (int32_t n : orders)
    for (int32_t width : widths) all_shapes<T>(n, width, uint64_t(n * 100 + width), n < 3 ? 1 : seeds, type);
}

} // namespace

Test(simt_recblock, f64) { all_orders_and_widths<double>("f64", 3); }
Test(simt_recblock, f32) { all_orders_and_widths<float>("f32", 1); }
Test(simt_recblock, c128) { all_orders_and_widths<std::complex<double>>("c128", 1); }
Test(simt_recblock, c64) { all_orders_and_widths<std::complex<float>>("c64", 1); }

/* A column has the same bits alone, in a narrow and in a wide panel, and under every schedule. */
Test(simt_recblock, bits_do_not_depend_on_the_panel) {
  static const int32_t widths[] = {1, 2, 4, 7, 8, 16, 31, 40};
  const seed_range range(1, schedules(12));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    blocks_case c;
    c.draw(seed);
    c.pattern = seed % 2 ? shape::dense : shape::random;
    c.n = 45;
    c.column_major = true;
    c.in_place = c.permuted = false;
    std::vector<double> first;
    for (int32_t width : widths) {
      block<double> X(c, seed);
      c.width = width;
      expect(run_case<double>(c, seed, &X), c, "f64", seed);
      if (first.empty()) first.assign(X.data.begin(), X.data.begin() + c.n);
      cr_assert(memcmp(first.data(), X.data.data(), size_t(c.n) * sizeof(double)) == 0, "other bits at width %d; %s; SIMT_SEED=%llu", width,
                c.name().c_str(), (unsigned long long)seed);
    }
  }
}

/* The parts that a pattern must come apart into. */
Test(simt_recblock, parts) {
  struct {
    shape pattern;
    const char *variant, *want;
  } const cases[] = {
      {shape::diagonal, "depth=2", "depth=2 diagonal=0 levels=0 syncfree=0 thread=0+0 group=0+0 empty=0 rectangles=0% launches=1"},
      {shape::dense_last, "depth=0,levels=0,thin=0", "depth=0 diagonal=0 levels=1 syncfree=0"}, /* all rows need the first */
      {shape::dense, "depth=1,levels=0,thin=0,thread=100", "depth=1 diagonal=0 levels=0 syncfree=2 thread=1+0 group=0+0 empty=0"},
      {shape::chain, "depth=1,levels=0,thin=0", "depth=1 diagonal=0 levels=0 syncfree=2 thread=0+1 group=0+0"},
      {shape::chain, "depth=1,levels=40", "depth=1 diagonal=0 levels=2 syncfree=0 thread=0+1"},
      {shape::dense, "depth=1,levels=0,thin=0", "depth=1 diagonal=0 levels=0 syncfree=2 thread=0+0 group=1+0 empty=0 rectangles=51%"},
  };
  for (const auto &one : cases) {
    blocks_case c;
    std::string found;
    c.pattern = one.pattern;
    c.variant = one.variant;
    expect(run_case<double>(c, 5, nullptr, &found), c, "f64", 5);
    cr_assert(found.compare(0, strlen(one.want), one.want) == 0, "%s: \"%s\", not \"%s\"", c.name().c_str(), found.c_str(), one.want);
  }
}

/* Without a depth the published rule sets it: 200 rows, two lanes, 200 / 2^3 < 40. */
Test(simt_recblock, depth_by_rule) {
  blocks_case c;
  std::string found;
  c.n = 200;
  expect(run_case<double>(c, 3, nullptr, &found), c, "f64", 3);
  cr_assert(found.compare(0, 8, "depth=2 ") == 0, "%s", found.c_str());
}

/* Every allocation fails once: the error is MEMORY and nothing is left over. */
Test(simt_recblock, no_memory) {
  for (int allowed = 0, failed = 1; failed; allowed++) {
    blocks_case c;
    c.variant = "depth=2,short=2,long=3,chunk=2";
    c.update = true;
    emulated_gpu_fail_at = allowed;
    const std::string failure = run_case<double>(c, 3);
    failed = emulated_gpu_fail_at < 0;
    emulated_gpu_fail_at = -1;
    cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
    cr_assert(failed ? failure.find("no device memory") != std::string::npos : failure.empty(), "allocation %d: '%s'", allowed,
              failure.c_str());
    cr_assert(failed || allowed >= 14, "only %d allocations", allowed);
  }
}

/* A row that waits for itself ends in the lost word, which names it or the row that waits for it, and leaves no wait behind. */
Test(simt_recblock, lost_dependency) {
  const seed_range range(1, schedules(20));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    simt::use(simt::schedule::from_seed(seed));
    const int32_t width = seed % 2 ? 1 : 9;
    const int32_t order[] = {4, 3, 2, 1, 0}, start[] = {0, 0, 1, 2, 3, 3}, from[] = {0, 2, 2}; /* place 2 waits for itself, 3 for 2 */
    const double ones[] = {1, 1, 1, 1, 1};
    std::vector<double> B(size_t(5 * width), 1.0), X(B), x(B.size());
    memset(x.data(), 0xff, x.size() * sizeof(double));
    int32_t control[SPTI_SYNCFREE_CONTROL_WORDS] = {};
    int64_t lost = 0;
    spti_recblock_step_args a = {};
    a.all.dtype = SPTRSM_F64;
    a.all.between.from = {B.data(), width, 1, nullptr, nullptr, 0};
    a.all.between.to = {X.data(), width, 1, nullptr, nullptr, 0};
    a.all.between.alpha[0] = 1;
    a.all.between.width = width;
    a.all.n = 5;
    a.all.order = order;
    a.all.start = start;
    a.all.from = from;
    a.all.val = a.all.diag = ones;
    a.all.x = x.data();
    a.step.rows = 5;
    a.step.slots = seed % 3 ? 1 : SPTI_RECBLOCK_SLOTS;
    a.step.syncfree = a.step.finish = 1;
    a.sync = {control, &lost, 300};
    cr_assert_eq(spti_recblock_syncfree_launch(&a, nullptr), 0, "%s", simt::error().c_str());
    cr_assert(lost - 1 == 2 || lost - 1 == 1, "row %lld; SIMT_SEED=%llu", (long long)(lost - 1), (unsigned long long)seed);
    cr_assert_eq(x[0], 1.0, "row 4 waits for nothing");
  }
}

/* What is not a variant is refused with the name of what is wrong. */
Test(simt_recblock, bad_parameters) {
  static const char *const bad[][2] = {
      {"deep=1", "deep"},    {"depth=13", "0..12"}, {"depth=-1", "0..12"}, {"depth", "key=value"}, {"depth=x", "depth=x is not a number"},
      {"chunk=0", "chunk=0"}};
  for (const auto &b : bad) {
    blocks_case c;
    c.variant = b[0];
    const std::string failure = run_case<double>(c, 1);
    cr_assert(failure.find(b[1]) != std::string::npos, "%s: '%s'", b[0], failure.c_str());
  }
}
