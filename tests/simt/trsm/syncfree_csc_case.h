/* syncfree_csc_case.h -- one run of syncfree-csc on the emulator: what varies, and whether the result stands. Used by its tests and
 * by the programs that leave out a protocol step and want to see it fail. */
#ifndef TESTS_SIMT_TRSM_SYNCFREE_CSC_CASE_H
#define TESTS_SIMT_TRSM_SYNCFREE_CSC_CASE_H

#include <stdlib.h>

#include "simt/cases/drawn_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"
#include "trsm/syncfree_csc/kernels.h"
#include "trsm/syncfree_csc/one_kernels.h"

struct solve_case : drawn_system {
  int32_t width = 7;
  sptrsm_select select = SPTRSM_SELECT_ADAPTIVE;
  int32_t p = 8, q = 8192, whole_column = 4, second_chunk = 4, block_warps = 2;
  int one = -1;             /* the kernel for one right-hand side: an spti_syncfree_csc_inside */
  bool ready_order = false; /* columns in the order in which they become ready, long ones in segments */
  bool gathered = false;    /* long rows in accumulators of their own */
  spti_syncfree_csc_limits limits = {4096, 512, 1024, 128};
  int32_t extra_in_degree_row = -1; /* a lost dependency: this row waits for one update more than there is */
  int32_t spin_limit = 100000;

  solve_case &use_one(uint64_t seed) {
    static const int32_t warps[] = {16, 1, 2, 3, 8, 32};
    one = int(seed % 3);
    width = 1;
    block_warps = warps[seed / 3 % 6];
    ready_order = false;
    return *this;
  }
  /* Everything but the shape of the problem. */
  void draw(uint64_t seed) {
    numbers r = numbers_of(seed + 77);
    draw_system(r);
    select = sptrsm_select(r.below(3));
    p = r.below(2) ? 8 : 1 + r.below(70);
    q = r.below(2) ? 8192 : 1 + r.below(20);
    whole_column = r.below(2) ? 4 : r.below(33);
    second_chunk = 1 + r.below(31);
    block_warps = 1 + r.below(4);
    ready_order = r.below(2);
    gathered = r.below(2);
    limits = {3 + r.below(12), 1 + r.below(5), 2 + r.below(6), 1 + r.below(4)};
  }
  std::string name() const {
    return system_name() + " width=" + std::to_string(width) + (one >= 0 ? " one=" + std::to_string(one) : "") +
           " select=" + std::to_string(int(select)) + " p=" + std::to_string(p) + " q=" + std::to_string(q) +
           " chunks=" + std::to_string(whole_column) + "," + std::to_string(second_chunk) + " warps=" + std::to_string(block_warps) +
           (ready_order ? " ready order" : "") + (gathered ? " gathered" : "") + " limits=" + std::to_string(limits.split_above) + "," +
           std::to_string(limits.segment) + "," + std::to_string(limits.gather_above) + "," + std::to_string(limits.share);
  }
};

/* What the analysis makes of a pattern. */
struct analysis {
  std::vector<int32_t> in_degree, part_first, target;
  std::vector<int64_t> items;
  int32_t facts[SPTI_CSC_FACTS] = {-9, -9, -9};

  std::string make(const solve_case &c, const spti_view &view) {
    int64_t lost = 0;
    in_degree.assign(size_t(c.n), 12345);
    part_first.assign(size_t(c.n), 12345);
    const spti_syncfree_csc_count_args count = {view, in_degree.data()};
    if (spti_syncfree_csc_count_launch(&count, nullptr)) return "count: " + simt::error();
    if (c.n == 0) return "";
    const spti_syncfree_csc_survey_args survey = {view, c.limits, in_degree.data(), facts, part_first.data()};
    if (spti_syncfree_csc_survey_launch(&survey, nullptr)) return "survey: " + simt::error();
    if (c.gathered && facts[SPTI_CSC_PARTIALS] > 0) {
      target.assign(size_t(view.nnz), 12345);
      const spti_syncfree_csc_target_args targets = {view, c.limits, in_degree.data(), part_first.data(), target.data()};
      if (spti_syncfree_csc_target_launch(&targets, nullptr)) return "target: " + simt::error();
    }
    if (!c.ready_order) return "";
    items.assign(size_t(c.n + facts[SPTI_CSC_SEGMENTS]), 12345);
    std::vector<int32_t> counters(size_t(c.n)), control(SPTI_SYNCFREE_CONTROL_WORDS);
    const spti_syncfree_csc_order_args order = {view,  c.limits,     in_degree.data(),      counters.data(),
                                                facts, items.data(), int64_t(items.size()), {control.data(), &lost, c.spin_limit}};
    if (spti_syncfree_csc_order_launch(&order, nullptr)) return "order: " + simt::error();
    return lost ? "order: item " + std::to_string(lost - 1) + " never came" : "";
  }
};

/* Empty if the solution stands, else what was wrong. lost, if given, receives the lost word. */
template <typename T> std::string run_case(const solve_case &c, uint64_t seed, int64_t *lost_out = nullptr) {
  simt::use(simt::schedule::from_seed(seed));
  const problem<T> T_(c.pattern, c.n, c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5);
  const int64_t ld = c.width + int64_t(seed % 3);
  const std::vector<T> B = random_block<T>(c.n * ld, seed + 1);
  std::vector<T> W = B;
  const int32_t tiles = spti_syncfree_csc_tiles(c.width);
  int64_t lost = 0;

  analysis found;
  const std::string failed = found.make(c, T_.view);
  if (!failed.empty()) return failed;
  if (c.extra_in_degree_row >= 0) found.in_degree[size_t(c.extra_in_degree_row)]++;

  spti_syncfree_csc_args a = {};
  a.view = T_.view;
  a.work = W.data();
  a.ld = ld;
  a.width = c.width;
  a.select = c.select;
  a.p = c.p;
  a.q = c.q;
  a.whole_column = c.whole_column;
  a.second_chunk = c.second_chunk;
  a.block_warps = c.block_warps;
  a.in_degree = found.in_degree.data();
  a.limits = c.limits;
  a.items = found.items.empty() ? nullptr : found.items.data();
  a.item_count = found.items.empty() ? c.n : int64_t(found.items.size());
  if (!found.target.empty()) {
    a.part_first = found.part_first.data();
    a.target = found.target.data();
    a.parts = found.facts[SPTI_CSC_PARTIALS];
  }
  a.value_bytes = int32_t(sizeof(T));
  a.sync.lost = &lost;
  a.sync.spin_limit = c.spin_limit;
  std::vector<T> state(spti_syncfree_csc_work_bytes(c.n, tiles, a.parts, c.width, sizeof(T)) / sizeof(T) + 1, T(-7));
  spti_syncfree_csc_bind(&a, state.data());
  if (spti_syncfree_csc_start_launch(&a, nullptr)) return "start: " + simt::error();
  const spti_syncfree_csc_one_args one = {a, spti_syncfree_csc_inside(c.one)};
  if (c.one < 0 ? spti_syncfree_csc_solve_launch(&a, nullptr) : spti_syncfree_csc_one_launch(&one, nullptr))
    return "solve: " + simt::error();

  if (lost_out) *lost_out = lost;
  if (lost) return "dependency never arrived (row " + std::to_string(lost - 1) + ")";
  for (int64_t i = 0; i < c.n; i++)
    for (int64_t k = c.width; k < ld; k++)
      if (W[size_t(i * ld + k)] != B[size_t(i * ld + k)]) return "wrote beyond the panel at row " + std::to_string(i);
  const double bound = dtype_of<T>::value >= SPTRSM_C64 ? 4.0 : 1.0;
  const double worst = T_.residual(W.data(), B.data(), ld, c.width);
  if (!(worst <= bound)) return "residual " + std::to_string(worst) + " bounds";
  return "";
}

#endif
