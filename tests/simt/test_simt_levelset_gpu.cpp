/* The kernels of levelset on a GPU under adversarial schedules, judged by the componentwise residual. Analysis is made here, the plain way;
 * which levels are a run's and which are launches of their own is drawn. */
#include <criterion/criterion.h>

#include <algorithm>

#include "simt/problem.h"
#include "simt/simt.h"
#include "trsv/levelset_gpu_kernels.h"

namespace {

/* Rows in level order, as spti_pull_rows has them. */
template <typename T> struct by_level {
  std::vector<int32_t> level, level_ptr, row, start, from;
  std::vector<T> val, diag;

  explicit by_level(const problem<T> &p) {
    const size_t n = size_t(p.n);
    std::vector<int32_t> place(n);
    level.assign(n, 0);
    for (int32_t s = 0; s < p.n; s++) {
      const int32_t j = spti_view_line(&p.view, s);
      for (int64_t e = spti_view_begin(&p.view, j); e < spti_view_end(&p.view, j); e++) {
        int32_t &below = level[size_t(p.idx[size_t(e)])];
        below = std::max(below, level[size_t(j)] + 1);
      }
    }
    const int32_t count = n ? *std::max_element(level.begin(), level.end()) + 1 : 0;
    for (int32_t l = 0; l < count; l++) {
      level_ptr.push_back(int32_t(row.size()));
      for (int32_t s = 0; s < p.n; s++) {
        const int32_t i = spti_view_line(&p.view, s);
        if (level[size_t(i)] == l) {
          place[size_t(i)] = int32_t(row.size());
          row.push_back(i);
        }
      }
    }
    level_ptr.push_back(int32_t(row.size()));
    for (int32_t i : row) add_row(p, i, place);
    start.push_back(int32_t(from.size()));
  }
  int32_t levels() const { return int32_t(level_ptr.size()) - 1; }

private:
  T value(const problem<T> &p, int64_t at) const { return p.view.conj ? conjugate(p.val[size_t(at)]) : p.val[size_t(at)]; }
  static float conjugate(float v) { return v; }
  static double conjugate(double v) { return v; }
  template <typename R> static std::complex<R> conjugate(std::complex<R> v) { return std::conj(v); }

  void add_row(const problem<T> &p, int32_t i, const std::vector<int32_t> &place) {
    start.push_back(int32_t(from.size()));
    for (int32_t s = 0; s < p.n; s++) {
      const int32_t j = spti_view_line(&p.view, s);
      for (int64_t e = spti_view_begin(&p.view, j); e < spti_view_end(&p.view, j); e++)
        if (p.idx[size_t(e)] == i) {
          from.push_back(place[size_t(j)]);
          val.push_back(value(p, e));
        }
    }
    diag.push_back(p.view.unit ? T(1) : value(p, spti_view_diagonal(&p.view, i)));
  }
};

struct levelset_case {
  shape pattern = shape::random;
  int32_t n = 40, width = 1, lanes = 4, wide_percent = 30;
  bool backward = false, unit = false, stored_diagonal = true, conj = false;

  void draw(uint64_t seed) {
    numbers r(seed + 177);
    for (int i = 0; i < 8; i++) r.next();
    backward = r.below(2);
    unit = r.below(4) == 0;
    stored_diagonal = !unit || r.below(2);
    conj = r.below(3) == 0;
    lanes = 1 << r.below(4);
    const int32_t percents[] = {0, 0, 10, 50, 100};
    wide_percent = percents[r.below(5)];
  }
  std::string name() const {
    return std::string(shape_name(pattern)) + " n=" + std::to_string(n) + " width=" + std::to_string(width) +
           " lanes=" + std::to_string(lanes) + " wide=" + std::to_string(wide_percent) + "%" + (backward ? " backward" : " forward") +
           (unit ? " unit" : "") + (stored_diagonal ? "" : " no diagonal") + (conj ? " conj" : "");
  }
};

/* What the survey kernels say of the levels. */
struct survey {
  std::vector<int32_t> entries, long_count, long_rows;

  template <typename T> std::string make(const by_level<T> &rows, int32_t n, bool with_long) {
    entries.assign(size_t(rows.levels()) + 1, -1);
    long_count.assign(size_t(rows.levels()), -1);
    long_rows.assign(rows.from.size() / SPTI_LEVELSET_GPU_LONG, -1);
    const spti_levelset_gpu_survey_args a = {n,
                                             rows.levels(),
                                             rows.level_ptr.data(),
                                             rows.level.data(),
                                             rows.row.data(),
                                             rows.start.data(),
                                             entries.data(),
                                             long_count.data(),
                                             with_long ? long_rows.data() : nullptr};
    if (spti_levelset_gpu_survey_launch(&a, nullptr)) return "survey: " + simt::error();
    for (int32_t l = 0; l <= rows.levels(); l++)
      if (entries[size_t(l)] != rows.start[size_t(rows.level_ptr[size_t(l)])]) return "wrong first entry of level " + std::to_string(l);
    return "";
  }
};

/* Solves levels [level, end) as one run. */
template <typename T> int launch_run(const by_level<T> &rows, spti_levelset_gpu_rows part, int32_t level, int32_t end, int32_t lanes) {
  part.first = rows.level_ptr[size_t(level)];
  part.last = rows.level_ptr[size_t(end)];
  std::vector<int32_t> starts(size_t(part.last - part.first + SPTI_LEVELSET_GPU_CHUNK - 1) / SPTI_LEVELSET_GPU_CHUNK, 0);
  for (int32_t l = level; l < end; l++) {
    const uint32_t at = uint32_t(rows.level_ptr[size_t(l)] - part.first);
    starts[at / 32] = int32_t(uint32_t(starts[at / 32]) | 1u << at % 32);
  }
  const spti_levelset_gpu_run_args a = {part, starts.data(), lanes * SPTI_LEVELSET_GPU_CHUNK};
  return spti_levelset_gpu_run_launch(&a, dtype_of<T>::value, nullptr);
}

template <typename T>
int launch_wide(const by_level<T> &rows, const survey &found, spti_levelset_gpu_rows part, int32_t level, int32_t lanes) {
  part.first = rows.level_ptr[size_t(level)];
  part.last = rows.level_ptr[size_t(level) + 1];
  const int32_t count = found.long_count[size_t(level)];
  const spti_levelset_gpu_wide_args a = {
      part, lanes, count ? found.long_rows.data() + found.entries[size_t(level)] / SPTI_LEVELSET_GPU_LONG : nullptr, count};
  return spti_levelset_gpu_wide_launch(&a, dtype_of<T>::value, nullptr);
}

template <typename T>
std::string solve_levels(const levelset_case &c, const by_level<T> &rows, const survey &found, const spti_levelset_gpu_rows &part,
                         numbers &random) {
  int32_t run = 0;
  for (int32_t l = 0; l <= rows.levels(); l++) {
    const bool wide = l < rows.levels() && random.below(100) < c.wide_percent;
    if (l < rows.levels() && !wide) continue;
    if (l > run && launch_run(rows, part, run, l, c.lanes)) return "run: " + simt::error();
    if (wide && launch_wide(rows, found, part, l, c.lanes)) return "wide: " + simt::error();
    run = l + 1;
  }
  return "";
}

/* Empty if the solution stands. in_place: X is B. */
template <typename T> std::string run_case(const levelset_case &c, uint64_t seed, bool in_place, const T *poison = nullptr) {
  simt::use(simt::schedule::from_seed(seed));
  numbers random(seed + 5);
  const problem<T> system(c.pattern, c.n, c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5);
  const by_level<T> rows(system);
  const int64_t ld = c.width + int64_t(seed % 3);
  std::vector<T> B = random_block<T>(c.n * ld, seed + 1), x(size_t(c.n) * size_t(c.width), T(-7)), X(B.size(), T(-9));
  if (poison) B[0] = *poison;
  const std::vector<T> given = B;
  survey found;
  std::string failed = found.make(rows, c.n, c.n > SPTI_LEVELSET_GPU_LONG);
  if (!failed.empty()) return failed;

  spti_levelset_gpu_rows part = {};
  part.transfer.from = {B.data(), ld, 1, nullptr, nullptr, 0};
  part.transfer.to = {in_place ? B.data() : X.data(), ld, 1, nullptr, nullptr, 0};
  part.transfer.alpha[0] = 1;
  part.transfer.width = c.width;
  part.row = rows.row.data();
  part.start = rows.start.data();
  part.from = rows.from.data();
  part.val = rows.val.data();
  part.diag = rows.diag.data();
  part.x = x.data();
  part.pitch = c.n;
  failed = solve_levels(c, rows, found, part, random);
  if (!failed.empty()) return failed;

  const std::vector<T> &solution = in_place ? B : X;
  if (poison) {
    const bool spread = c.pattern == shape::arrow;
    for (int32_t i = 0; i < c.n; i++) {
      const bool is_finite = std::isfinite(std::abs(solution[size_t(i * ld)]));
      if (is_finite == (i == 0 || spread)) return "row " + std::to_string(i) + (is_finite ? " lost the poison" : " was poisoned");
    }
    return "";
  }
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0;
  const double worst = system.residual(solution.data(), given.data(), ld, c.width);
  return worst <= bound ? "" : "residual " + std::to_string(worst) + " bounds";
}

void expect(const std::string &failure, const levelset_case &c, const char *type, uint64_t seed) {
  cr_assert(failure.empty(), "%s; %s, %s; replay with SIMT_SEED=%llu", failure.c_str(), type, c.name().c_str(), (unsigned long long)seed);
}

template <typename T> void all_shapes(int32_t n, int32_t width, uint64_t first, uint64_t seeds, const char *type) {
  const seed_range range(first, seeds);
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      levelset_case c;
      c.draw(seed * 16 + uint64_t(s));
      c.pattern = shape(s);
      c.n = n;
      c.width = width;
      expect(run_case<T>(c, seed, seed % 2), c, type, seed);
    }
}

template <typename T> void all_orders(const char *type, uint64_t seeds) {
  static const int32_t orders[] = {1, 2, 31, 32, 33, 64, 65, 100};
  for (int32_t n : orders) all_shapes<T>(n, 1 + n % 3, uint64_t(n * 100), n < 3 ? 1 : seeds, type);
}

} // namespace

Test(simt_levelset_gpu, f64) { all_orders<double>("f64", 3); }
Test(simt_levelset_gpu, f32) { all_orders<float>("f32", 1); }
Test(simt_levelset_gpu, c128) { all_orders<std::complex<double>>("c128", 1); }
Test(simt_levelset_gpu, c64) { all_orders<std::complex<float>>("c64", 1); }

/* Levels of one row: the longest way through many chunks, and nothing else to hide behind. */
Test(simt_levelset_gpu, deep) {
  for (shape pattern : {shape::chain, shape::dense}) {
    levelset_case c;
    c.pattern = pattern;
    c.n = 200;
    c.wide_percent = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) expect(run_case<double>(c, seed, false), c, "f64", seed);
  }
}

/* A row that gets a block of its own. */
Test(simt_levelset_gpu, long_row) {
  levelset_case c;
  c.pattern = shape::dense_last;
  c.n = SPTI_LEVELSET_GPU_LONG + 30;
  for (int32_t wide_percent : {0, 100}) {
    c.wide_percent = wide_percent;
    expect(run_case<double>(c, 3, false), c, "f64", 3);
  }
}

/* NaN and Inf reach the rows that need them and no other, though the tile has zeros beside the entries. */
Test(simt_levelset_gpu, poison) {
  const double poisons[] = {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()};
  for (double poison : poisons)
    for (shape pattern : {shape::diagonal, shape::arrow})
      for (int32_t wide_percent : {0, 100}) {
        levelset_case c;
        c.pattern = pattern;
        c.n = 80;
        c.wide_percent = wide_percent;
        expect(run_case<double>(c, 7, false, &poison), c, "f64", 7);
      }
}
