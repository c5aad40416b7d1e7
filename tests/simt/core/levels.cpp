/* Level analysis and rows packed by place, the host's part and the kernels, under adversarial schedules. */
#include <criterion/criterion.h>

#include <algorithm>

#include "core/levels/kernels.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

extern "C" {
#include "core/levels/gpu.h"
#include "core/plan/analysis.h"
}

namespace {

using value = std::complex<double>;

struct levels_case {
  shape pattern = shape::random;
  int32_t n = 40;
  bool pull = true, backward = false, unit = false, stored_diagonal = true, conj = false;

  void draw(uint64_t seed) {
    numbers r(seed + 99);
    for (int i = 0; i < 8; i++) r.next();
    pull = r.below(3) != 0;
    backward = r.below(2);
    unit = r.below(4) == 0;
    stored_diagonal = !unit || r.below(2);
    conj = r.below(3) == 0;
  }
  std::string name() const {
    return std::string(shape_name(pattern)) + " n=" + std::to_string(n) + (pull ? " pull" : " push") +
           (backward ? " backward" : " forward") + (unit ? " unit" : "") + (stored_diagonal ? "" : " no diagonal") + (conj ? " conj" : "");
  }
};

/* A triangle and a view of it in either orientation. */
struct system_of_case {
  problem<value> push;
  spti_view view;

  /* Read as rows, the columns of the mirror image are a system of the other direction's pattern turned round. */
  system_of_case(const levels_case &c, uint64_t seed)
      : push(c.pattern, c.n, c.backward != c.pull, c.unit, c.stored_diagonal, c.conj, seed), view(push.view) {
    if (!c.pull) return;
    view.pull = true;
    view.backward = c.backward;
  }
};

/* By the definition, on the host. */
std::vector<int32_t> levels_by_hand(const spti_view &v) {
  std::vector<int32_t> level(size_t(v.n), 0);
  for (int32_t s = 0; s < v.n; s++) {
    const int32_t i = spti_view_line(&v, s);
    for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) {
      int32_t &to = level[size_t(v.pull ? i : v.idx[p])];
      to = std::max(to, level[size_t(v.pull ? v.idx[p] : i)] + 1);
    }
  }
  return level;
}

int32_t longest_by_hand(const spti_view &v) {
  std::vector<int32_t> length(size_t(v.n), 0);
  for (int32_t i = 0; i < v.n; i++)
    for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) length[size_t(v.pull ? i : v.idx[p])]++;
  return v.n ? *std::max_element(length.begin(), length.end()) : 0;
}

std::string compare(const spti_gpu_levels &found, const spti_view &v) {
  const std::vector<int32_t> level = levels_by_hand(v);
  const int32_t count = v.n ? *std::max_element(level.begin(), level.end()) + 1 : 0;
  if (found.n != v.n || found.count != count) return "count " + std::to_string(found.count) + ", not " + std::to_string(count);
  if (found.longest != longest_by_hand(v)) return "longest " + std::to_string(found.longest);
  int32_t place = 0, widest = 0;
  for (int32_t l = 0; l < count; l++) {
    if (found.ptr[l] != place || found.device_ptr[l] != place) return "level " + std::to_string(l) + " begins elsewhere";
    for (int32_t s = 0; s < v.n; s++) {
      const int32_t i = spti_view_line(&v, s);
      if (level[size_t(i)] != l) continue;
      if (found.order[place] != i) return "place " + std::to_string(place) + " holds row " + std::to_string(found.order[place]);
      if (found.level[i] != l) return "row " + std::to_string(i) + " has level " + std::to_string(found.level[i]);
      place++;
    }
    widest = std::max(widest, place - found.ptr[l]);
  }
  if (found.ptr[count] != v.n || found.device_ptr[count] != v.n) return "the last level ends elsewhere";
  return found.widest == widest ? "" : "widest " + std::to_string(found.widest);
}

std::string compare(const spti_pull_rows &rows, const spti_view &v, const int32_t *order) {
  std::vector<int32_t> place(size_t(v.n), -1);
  for (int32_t t = 0; t < v.n; t++) place[size_t(order[t])] = t;
  int32_t at = 0;
  for (int32_t t = 0; t < v.n; t++) {
    const int32_t i = order[t];
    const std::string where = "place " + std::to_string(t);
    if (rows.row[t] != i || rows.start[t] != at) return where + ": row or start";
    std::vector<int64_t> entries;
    for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) entries.push_back(p);
    if (v.backward) std::reverse(entries.begin(), entries.end());
    if (int64_t(entries.size()) <= rows.sorted)
      std::sort(entries.begin(), entries.end(), [&](int64_t p, int64_t q) { return place[size_t(v.idx[p])] < place[size_t(v.idx[q])]; });
    for (int64_t p : entries) {
      const value stored = static_cast<const value *>(v.val)[p], want = v.conj ? std::conj(stored) : stored;
      if (rows.from[at] != place[size_t(v.idx[p])]) return where + ": column";
      if (static_cast<const value *>(rows.val)[at] != want) return where + ": value";
      at++;
    }
    const value diagonal = v.unit ? value(1) : static_cast<const value *>(v.val)[spti_view_diagonal(&v, i)];
    if (static_cast<const value *>(rows.diag)[t] != (v.conj ? std::conj(diagonal) : diagonal)) return where + ": diagonal";
  }
  if (rows.start[v.n] != at) return "the last row ends elsewhere";
  const size_t bytes = size_t(2 * v.n + 1) * 4 + size_t(at) * (4 + sizeof(value)) + size_t(v.n) * sizeof(value);
  return rows.bytes >= bytes && rows.bytes <= bytes + 5 * 256 ? "" : "bytes " + std::to_string(rows.bytes);
}

/* Packs, compares, changes all values, compares again. */
std::string run_rows(sptrsm_context *context, const spti_view &view, const int32_t *order, int32_t sort_up_to) {
  spti_pull_rows rows;
  if (spti_pull_rows_create_sorted(&rows, &view, context, order, sort_up_to) != SPTRSM_OK) return sptrsm_last_error();
  std::string failure = compare(rows, view, order);
  std::vector<value> other(static_cast<const value *>(view.val), static_cast<const value *>(view.val) + view.nnz);
  for (value &x : other) x = x * 3.0 + value(0, 1);
  spti_view changed = view;
  changed.val = other.data();
  if (failure.empty() && spti_pull_rows_update(&rows, &changed, context) != SPTRSM_OK) failure = sptrsm_last_error();
  if (failure.empty()) failure = compare(rows, changed, order);
  spti_pull_rows_free(&rows, context);
  return failure;
}

/* Empty if all stands. */
std::string run_view(const spti_view &view) {
  sptrsm_plan *plan = plan_case_open(&view);
  const spti_gpu_levels *levels = nullptr, *again = nullptr;
  std::string failure;
  if (spti_plan_levels(plan, &levels) != SPTRSM_OK) failure = sptrsm_last_error() + std::string("; ") + simt::error();
  else if (spti_plan_levels(plan, &again) != SPTRSM_OK || again != levels) failure = "not kept";
  else failure = compare(*levels, view);
  for (int32_t sort_up_to : {0, 5, 1000})
    if (failure.empty() && view.pull) failure = run_rows(plan_case_context(plan), view, levels->order, sort_up_to);
  plan_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " blocks left over";
  return failure;
}

std::string run_levels(const levels_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  const system_of_case system(c, seed % 5);
  return run_view(system.view);
}

void expect(const std::string &failure, const levels_case &c, uint64_t seed) {
  cr_assert(failure.empty(), "%s; %s; replay with SIMT_SEED=%llu", failure.c_str(), c.name().c_str(), (unsigned long long)seed);
}

void all_shapes(int32_t n, uint64_t first, uint64_t seeds) {
  const seed_range range(first, seeds);
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      levels_case c;
      c.draw(seed * 16 + uint64_t(s));
      c.pattern = shape(s);
      c.n = n;
      expect(run_levels(c, seed), c, seed);
    }
}

} // namespace

Test(simt_levels, small_orders) {
  static const int32_t orders[] = {0, 1, 2, 3, 31, 32, 33};
  for (int32_t n : orders) all_shapes(n, uint64_t(n * 100), n < 4 ? 4 : 20);
}

/* The sweep alone, with blocks of any size: rows that need each other are in one warp, in one block, or in several. */
static std::string run_sweep(const levels_case &c, int32_t threads, int32_t short_row, bool all_by_warps, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  const system_of_case system(c, seed % 5);
  std::vector<int32_t> level(size_t(c.n), -7), control(SPTI_SYNCFREE_CONTROL_WORDS, -7);
  spti_levels_facts facts, kept;
  int64_t lost = 0;
  const spti_levels_args args = {
      system.view, level.data(), &kept, &facts, short_row, all_by_warps, threads, threads, {control.data(), &lost, 100000}, nullptr, 0, 0};
  if (spti_levels_find_launch(&args, nullptr)) return simt::error();
  if (lost) return "row " + std::to_string(lost - 1) + " was given up";
  const std::vector<int32_t> expected = levels_by_hand(system.view);
  for (int32_t i = 0; i < c.n; i++)
    if (level[size_t(i)] != expected[size_t(i)]) return "row " + std::to_string(i) + " has level " + std::to_string(level[size_t(i)]);
  if (facts.count != *std::max_element(expected.begin(), expected.end()) + 1) return "count";
  return facts.longest == longest_by_hand(system.view) ? "" : "longest";
}

Test(simt_levels, sweeps) {
  const seed_range range(7000, schedules(24));
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      levels_case c;
      c.draw(seed * 16 + uint64_t(s));
      c.pull = true;
      c.pattern = shape(s);
      c.n = 70 + int32_t(seed % 60);
      static const int32_t short_rows[] = {-1, 0, 5, 48};
      const int32_t threads = 32 * (1 + int32_t(seed % 3)), short_row = short_rows[seed / 3 % 4];
      const bool all_by_warps = seed / 2 % 2;
      const std::string failure = run_sweep(c, threads, short_row, all_by_warps, seed);
      cr_assert(failure.empty(), "%s; %s threads=%d short_row=%d all_by_warps=%d; replay with SIMT_SEED=%llu", failure.c_str(),
                c.name().c_str(), threads, short_row, all_by_warps, (unsigned long long)seed);
    }
}

/* Rows of several chunks; as many levels as are counted, and one more, for which rows are sorted. */
Test(simt_levels, large) {
  static const struct {
    shape pattern;
    int32_t n;
  } cases[] = {{shape::arrow, 2 * SPTI_LEVEL_CHUNK + 77},
               {shape::grid, SPTI_LEVEL_CHUNK + 1},
               {shape::chain, SPTI_LEVEL_FEW + 1},
               {shape::chain, SPTI_LEVEL_FEW}};
  for (uint64_t seed = 0; seed < 4; seed++) {
    levels_case c;
    c.draw(seed);
    c.pattern = cases[seed].pattern;
    c.n = cases[seed].n;
    c.backward = seed % 2;
    c.pull = true;
    expect(run_levels(c, seed), c, seed);
  }
}

/* Every allocation fails once: the error is MEMORY and nothing is left over. */
Test(simt_levels, no_memory) {
  for (int pull = 0; pull < 2; pull++)
    for (int allowed = 0, failed = 1; failed; allowed++) {
      levels_case c;
      c.pull = pull;
      const system_of_case system(c, 3);
      simt::use(simt::schedule::from_seed(3));
      sptrsm_plan *plan = plan_case_open(&system.view);
      const spti_gpu_levels *levels;
      spti_pull_rows rows;
      emulated_gpu_fail_at = allowed;
      sptrsm_status status = spti_plan_levels(plan, &levels);
      if (status == SPTRSM_OK && pull) {
        status = spti_pull_rows_create(&rows, &system.view, plan_case_context(plan), levels->order);
        if (status == SPTRSM_OK) spti_pull_rows_free(&rows, plan_case_context(plan));
      }
      failed = emulated_gpu_fail_at < 0;
      emulated_gpu_fail_at = -1;
      cr_assert_eq(status, failed ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "allocation %d: %s", allowed, sptrsm_last_error());
      cr_assert(failed || allowed >= 3 + 4 * (1 - pull), "only %d allocations", allowed);
      plan_case_close(plan);
      cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
    }
}

/* A row that needs itself ends in the lost word, which names it or a row behind it, and leaves no wait behind. */
Test(simt_levels, lost_dependency) {
  const seed_range range(1, schedules(20));
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    levels_case c;
    c.draw(seed);
    c.pull = true;
    c.pattern = shape::chain;
    c.n = 70;
    simt::use(simt::schedule::from_seed(seed));
    system_of_case system(c, seed);
    const int32_t row = 35;
    system.push.idx[size_t(spti_view_begin(&system.view, row))] = row;
    std::vector<int32_t> level(70), control(SPTI_SYNCFREE_CONTROL_WORDS);
    spti_levels_facts facts, kept;
    int64_t lost = 0;
    const spti_levels_args args = {
        system.view, level.data(), &kept, &facts, seed % 2 ? 48 : -1, 1, 64, 64, {control.data(), &lost, 10}, nullptr, 0, 0};
    cr_assert_eq(spti_levels_find_launch(&args, nullptr), 0, "%s", simt::error().c_str());
    const int64_t found = lost - 1;
    cr_assert(lost > 0 && (c.backward ? found <= row : found >= row), "row %lld is not behind the lost one; %s", (long long)found,
              c.name().c_str());
    cr_assert_eq(level[row], -1);
  }
}

/* Offsets are 32 bits wide: what does not fit is refused before anything is allocated or read. */
Test(simt_levels, refusals) {
  levels_case c;
  const system_of_case system(c, 3);
  spti_view view = system.view;
  spti_pull_rows rows;
  view.nnz = int64_t(SPTI_PULL_ROWS_MOST) + view.n + 1;
  sptrsm_plan *plan = plan_case_open(&view);
  cr_assert_eq(spti_pull_rows_create(&rows, &view, plan_case_context(plan), nullptr), SPTRSM_ERR_UNSUPPORTED);
  cr_assert(std::string(sptrsm_last_error()).find("2147418112 off-diagonal entries, at most 2147418111") != std::string::npos, "%s",
            sptrsm_last_error());
  view.pull = false;
  cr_assert_eq(spti_pull_rows_create(&rows, &view, plan_case_context(plan), nullptr), SPTRSM_ERR_INTERNAL);
  plan_case_close(plan);
}

/* Two long lines side by side among short ones: a block shares each of them. Unit diagonal, stored nowhere. */
Test(simt_levels, long_lines) {
  const int32_t n = 300;
  for (int pull = 0; pull < 2; pull++) {
    std::vector<int64_t> ptr = {0};
    std::vector<int32_t> idx;
    for (int32_t line = 0; line < n; line++) {
      const int32_t dense_line = pull ? line - 280 : line;
      if (dense_line == 0 || dense_line == 1)
        for (int32_t k = pull ? 0 : line + 1; k < (pull ? line : n); k++) idx.push_back(k);
      else if (pull ? line > 0 : line < n - 1) idx.push_back(pull ? 0 : n - 1);
      ptr.push_back(int64_t(idx.size()));
    }
    const std::vector<value> val = random_block<value>(int64_t(idx.size()), 3);
    spti_view view = view_of(n, ptr, idx, val);
    view.pull = pull;
    view.unit = true;
    simt::use(simt::schedule::from_seed(uint64_t(pull + 1)));
    const std::string failure = run_view(view);
    cr_assert(failure.empty(), "%s; %s", failure.c_str(), pull ? "pull" : "push");
  }
}
