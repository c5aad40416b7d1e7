/* survey.cpp -- row panels, the panels on which each depends, and their levels; and the survey of `auto`, which ends the search for level
 * sets of rows early. Host code and kernels under adversarial schedules, against plain loops. */
#include <criterion/criterion.h>

#include <algorithm>
#include <set>

#include "trsm/block/reference.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/plan_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

extern "C" {
#include "core/plan/analysis.h"
}

namespace {

/* A triangle by rows, from the columns of the mirror image. */
struct system_of_case {
  problem<double> columns;
  spti_view view;

  system_of_case(shape pattern, int32_t n, bool backward, bool unit, uint64_t seed)
      : columns(pattern, n, !backward, unit, seed % 2 || !unit, false, seed), view(columns.view) {
    view.pull = true;
    view.backward = backward;
  }
};

/* The panels are those of the reference code; the rest follows the definitions. */
struct by_hand {
  std::vector<int32_t> first, level; /* first row and level of each panel */
  std::vector<int32_t> needed;       /* number of panels on which each depends */
  std::vector<int64_t> stored;
  int32_t most = 0, panel_levels = 0, row_levels = 0;

  by_hand(const spti_view &v, int32_t rows, int32_t least) {
    block_rules rules = BLOCK_RULES;
    block_reference reference;
    rules.rows = rows;
    rules.least = least;
    cr_assert(block_reference_make(&reference, &v, &rules));
    first.assign(reference.panels.first, reference.panels.first + reference.panels.count + (v.n > 0));
    level.assign(size_t(reference.panels.count), 1);
    block_reference_free(&reference);
    std::vector<int32_t> panel(size_t(v.n)), depth(size_t(v.n), 1);
    std::vector<std::set<int32_t>> needs(level.size());
    stored.assign(level.size(), 0);
    for (int32_t p = 0; p < int32_t(level.size()); p++)
      for (int32_t s = first[size_t(p)]; s < first[size_t(p) + 1]; s++) panel[size_t(s)] = p;
    for (int32_t s = 0; s < v.n; s++) {
      const int32_t i = spti_view_line(&v, s);
      const size_t own = size_t(panel[size_t(s)]);
      for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) {
        const size_t place = size_t(v.backward ? v.n - 1 - v.idx[p] : v.idx[p]), other = size_t(panel[place]);
        stored[own]++;
        depth[size_t(s)] = std::max(depth[size_t(s)], depth[place] + 1);
        if (other == own) continue;
        needs[own].insert(int32_t(other));
        level[own] = std::max(level[own], level[other] + 1);
      }
      row_levels = std::max(row_levels, depth[size_t(s)]);
    }
    for (const auto &of_panel : needs) {
      needed.push_back(int32_t(of_panel.size()));
      most = std::max(most, needed.back());
    }
    for (int32_t l : level) panel_levels = std::max(panel_levels, l);
  }
};

std::string name_of(shape pattern, const spti_view &v) {
  return std::string(shape_name(pattern)) + " n=" + std::to_string(v.n) + (v.backward ? " backward" : " forward");
}

/* The kernels, with small panels and windows of 32 panels. */
std::string run_kernels(const spti_view &v, int32_t threads, int32_t dense, int32_t samples) {
  const int32_t rows = 16, least = 2, most = spti_row_panels_most(v.n, least), chunk = 64, chunks = spti_row_panels_chunks(v.n, chunk);
  const by_hand expected(v, rows, least);
  std::vector<int32_t> exits(size_t(chunks) * SPTI_ROW_PANEL_ROWS), entry(size_t(chunks) * 2), panel(size_t(v.n)), first(size_t(most) + 1);
  std::vector<int32_t> number(size_t(most), -7), level(size_t(most), -7), control(SPTI_SYNCFREE_CONTROL_WORDS, -7);
  spti_row_panels_facts facts = {-7, -7, -7, -7, -7, -7};
  int64_t lost = 0;
  const spti_row_panels_args args = {v,
                                     rows,
                                     least,
                                     chunk,
                                     threads,
                                     32,
                                     dense,
                                     samples,
                                     exits.data(),
                                     entry.data(),
                                     panel.data(),
                                     first.data(),
                                     number.data(),
                                     level.data(),
                                     &facts,
                                     {control.data(), &lost, 100000}};
  if (spti_row_panels_cut_launch(&args, nullptr) || spti_row_panels_levels_launch(&args, nullptr)) return simt::error();
  const size_t count = expected.level.size();
  if (facts.count != int32_t(count)) return "count " + std::to_string(facts.count);
  if (!std::equal(expected.first.begin(), expected.first.end(), first.begin())) return "first";
  const bool surely = double(spti_view_entries(&v)) >= dense * 0.5 * double(count * (count + 1));
  const int32_t sampled = surely ? 0 : std::min(samples, int32_t(count));
  double needed = 0, stored = 0;
  for (int64_t t = 0; t < sampled; t++) {
    needed += expected.needed[size_t(t * int64_t(count) / sampled)];
    stored += double(expected.stored[size_t(t * int64_t(count) / sampled)]);
  }
  if (dense && (facts.sampled != sampled || facts.needed != needed || facts.stored != stored)) return "sampled";
  const bool wanted = dense == 0 || stored >= dense * (needed + sampled);
  if (facts.most != (wanted ? expected.most : 0)) return "most " + std::to_string(facts.most);
  if (!wanted) return facts.levels == 0 && level[0] == -1 ? "" : "levels that nobody wanted";
  if (facts.levels != expected.panel_levels) return "levels " + std::to_string(facts.levels);
  return std::equal(expected.level.begin(), expected.level.end(), level.begin()) ? "" : "level";
}

/* `seen` records which branches of the decision were taken. */
struct seen {
  int early = 0, whole = 0, thin = 0;
};

std::string run_survey(const spti_view &v, const spti_choose_limits *limits, seen *s) {
  sptrsm_plan *plan = plan_case_open(&v);
  spti_survey found;
  std::string failure;
  if (spti_plan_survey(&found, plan, limits) != SPTRSM_OK) failure = sptrsm_last_error() + std::string("; ") + simt::error();
  const by_hand e(v, SPTI_FACTOR_PANEL_ROWS, SPTI_FACTOR_PANEL_LEAST);
  int64_t needed = 0;
  for (int32_t of_panel : e.needed) needed += of_panel;
  const bool dense = spti_view_entries(&v) >= SPTI_PANEL_DENSITY * (needed + int64_t(e.level.size())) && v.n > 0;
  const int32_t hops = dense ? spti_row_panels_hops(e.panel_levels, e.most) : 0;
  const int32_t enough = dense && limits ? std::max(limits->levels, limits->a_hop * hops) : INT32_MAX;
  const bool early = e.row_levels >= enough;
  (early ? s->early : dense ? s->whole : s->thin)++;
  if (failure.empty() && found.hops != hops) failure = "hops " + std::to_string(found.hops) + ", not " + std::to_string(hops);
  if (failure.empty() && found.levels != std::min(e.row_levels, enough)) failure = "levels " + std::to_string(found.levels);
  const spti_gpu_levels *levels = plan_case_levels(plan);
  const spti_row_panels *panels = plan_case_row_panels(plan);
  if (failure.empty() && (levels != nullptr) == early) failure = early ? "level sets kept" : "no level sets";
  if (failure.empty() && levels && (levels->count != e.row_levels || plan_case_level_count(plan) != e.row_levels)) failure = "level sets";
  if (failure.empty() && v.n > 0 && panels->count != int32_t(e.level.size())) failure = "panels";
  if (failure.empty() && panels->levels != (dense ? e.panel_levels : 0)) failure = "levels of panels";
  spti_plan_drop_row_panels(plan);
  plan_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " blocks left over";
  return failure;
}

} // namespace

Test(simt_survey, kernels) {
  const seed_range range(1, schedules(24));
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      if (left_to_other_builds(seed + uint64_t(s))) continue;
      static const int32_t dense[] = {0, 1, 4};
      simt::use(simt::schedule::from_seed(seed));
      const system_of_case system(shape(s), 1 + int32_t(seed * 37 % 260), seed / 2 % 2, seed % 3 == 0, seed);
      const std::string failure = run_kernels(system.view, 32 << seed % 3, dense[(seed + uint64_t(s)) % 3], seed % 2 ? 7 : 1000);
      cr_assert(failure.empty(), "%s; %s; replay with SIMT_SEED=%llu", failure.c_str(), name_of(shape(s), system.view).c_str(),
                (unsigned long long)seed);
    }
}

/* Enough chunks for one thread block to find the entries of all chunks. */
Test(simt_survey, many_chunks) {
  simt::use(simt::schedule::from_seed(5));
  for (shape pattern : {shape::arrow, shape::diagonal}) {
    const system_of_case system(pattern, 64 * 129 + 3, pattern == shape::arrow, false, 5);
    const std::string failure = run_kernels(system.view, 64, 1, 100);
    cr_assert(failure.empty(), "%s; %s", failure.c_str(), name_of(pattern, system.view).c_str());
  }
}

Test(simt_survey, what_auto_goes_by) {
  static const int32_t orders[] = {0, 1, 16, 40, 300};
  seen all;
  const seed_range range(1, schedules(5));
  for (uint64_t seed = range.first; seed <= range.last; seed++)
    for (int s = 0; s < int(shape::count); s++) {
      simt::use(simt::schedule::from_seed(seed));
      const system_of_case system(shape(s), orders[(seed + uint64_t(s)) % 5], seed / 2 % 2, seed % 3 == 0, seed);
      const spti_choose_limits limits = {7, 5};
      const std::string failure = run_survey(system.view, seed % 5 == 0 ? nullptr : &limits, &all);
      cr_assert(failure.empty(), "%s; %s; replay with SIMT_SEED=%llu", failure.c_str(), name_of(shape(s), system.view).c_str(),
                (unsigned long long)seed);
    }
  const bool whole_range = range.last - range.first >= 4; /* not a single seed, nor the few seeds of a sanitizer build */
  cr_assert(!whole_range || (all.early > 0 && all.whole > 0 && all.thin > 0), "%d early, %d whole, %d thin", all.early, all.whole,
            all.thin);
}

/* Every allocation fails once: the error is MEMORY and nothing is left over. */
Test(simt_survey, no_memory) {
  for (shape pattern : {shape::dense, shape::random})
    for (int allowed = 0, failed = 1; failed; allowed++) {
      const system_of_case system(pattern, 200, false, false, 3);
      simt::use(simt::schedule::from_seed(3));
      sptrsm_plan *plan = plan_case_open(&system.view);
      spti_survey found;
      const spti_choose_limits limits = {7, 5};
      emulated_gpu_fail_at = allowed;
      const sptrsm_status status = spti_plan_survey(&found, plan, &limits);
      failed = emulated_gpu_fail_at < 0;
      emulated_gpu_fail_at = -1;
      cr_assert_eq(status, failed ? SPTRSM_ERR_MEMORY : SPTRSM_OK, "allocation %d: %s", allowed, sptrsm_last_error());
      cr_assert(failed || allowed >= 2, "only %d allocations", allowed);
      spti_plan_drop_row_panels(plan);
      plan_case_close(plan);
      cr_assert_eq(emulated_gpu_blocks, 0, "allocation %d: %d blocks left over", allowed, emulated_gpu_blocks);
    }
}
