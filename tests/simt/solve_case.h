/* solve_case.h -- one run of syncfree-csc on the emulator: what varies, and whether the result stands. Used by its tests and
 * by the programs that leave out a protocol step and want to see it fail. */
#ifndef SIMT_SOLVE_CASE_H
#define SIMT_SOLVE_CASE_H

#include <stdlib.h>

#include "simt/problem.h"
#include "simt/simt.h"
#include "trsm/syncfree_csc_kernels.h"

struct solve_case {
  shape pattern = shape::random;
  int32_t n = 40, width = 7;
  bool backward = false, unit = false, stored_diagonal = true, conj = false;
  sptrsm_select select = SPTRSM_SELECT_ADAPTIVE;
  int32_t p = 8, q = 8192, row_words = 1, first_chunk = 1, second_chunk = 4, block_warps = 2;
  spti_item_order order = SPTI_TILE_FASTEST;
  int32_t extra_in_degree_row = -1; /* a lost dependency: this row waits for one update more than there is */
  int32_t spin_limit = 100000;

  /* Everything but the shape of the problem. */
  void draw(uint64_t seed) {
    numbers r(seed + 77);
    for (int i = 0; i < 8; i++) r.next();
    backward = r.below(2);
    unit = r.below(4) == 0;
    stored_diagonal = !unit || r.below(2);
    conj = r.below(3) == 0;
    select = sptrsm_select(r.below(3));
    p = r.below(2) ? 8 : 1 + r.below(70);
    q = r.below(2) ? 8192 : 1 + r.below(20);
    row_words = 1 << r.below(3);
    first_chunk = r.below(2) ? 1 : 1 + r.below(32);
    second_chunk = 1 + r.below(32);
    block_warps = 1 + r.below(4);
    order = spti_item_order(r.below(2));
  }
  std::string name() const {
    return std::string(shape_name(pattern)) + " n=" + std::to_string(n) + " width=" + std::to_string(width) + (backward ? " backward" : " forward") +
           (unit ? " unit" : "") + (stored_diagonal ? "" : " no diagonal") + (conj ? " conj" : "") + " select=" + std::to_string(int(select)) +
           " p=" + std::to_string(p) + " q=" + std::to_string(q) + " row_words=" + std::to_string(row_words) + " chunks=" +
           std::to_string(first_chunk) + "," + std::to_string(second_chunk) + " warps=" + std::to_string(block_warps) +
           (order == SPTI_TILE_FASTEST ? " tile fastest" : " column fastest");
  }
};

/* Empty if the solution stands, else what was wrong. lost, if given, receives the lost word. */
template <typename T> std::string run_case(const solve_case &c, uint64_t seed, int64_t *lost_out = nullptr) {
  simt::use(simt::schedule::from_seed(seed));
  const problem<T> T_(c.pattern, c.n, c.backward, c.unit, c.stored_diagonal, c.conj, seed % 5);
  const int64_t ld = c.width + int64_t(seed % 3);
  const std::vector<T> B = random_block<T>(c.n * ld, seed + 1);
  std::vector<T> W = B;
  const int32_t tiles = spti_syncfree_csc_tiles(c.width, c.row_words);
  std::vector<int32_t> in_degree(size_t(c.n), 12345), state(spti_syncfree_csc_work_bytes(c.n, tiles) / sizeof(int32_t), -7);
  int64_t lost = 0;

  const spti_syncfree_csc_count_args count = {T_.view, in_degree.data()};
  if (spti_syncfree_csc_count_launch(&count, nullptr)) return "count: " + simt::error();
  if (c.extra_in_degree_row >= 0) in_degree[size_t(c.extra_in_degree_row)]++;

  spti_syncfree_csc_args a = {};
  a.view = T_.view;
  a.work = W.data();
  a.ld = ld;
  a.width = c.width;
  a.row_words = c.row_words;
  a.select = c.select;
  a.p = c.p;
  a.q = c.q;
  a.first_chunk = c.first_chunk;
  a.second_chunk = c.second_chunk;
  a.block_warps = c.block_warps;
  a.order = c.order;
  a.in_degree = in_degree.data();
  a.sync.lost = &lost;
  a.sync.spin_limit = c.spin_limit;
  spti_syncfree_csc_bind(&a, state.data());
  if (spti_syncfree_csc_start_launch(&a, nullptr)) return "start: " + simt::error();
  if (spti_syncfree_csc_solve_launch(&a, nullptr)) return "solve: " + simt::error();

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
