/* mutants.cpp -- `simt_mutants STEP` runs kernels without one step of the dependency protocol, which the emulator must detect. Exit status
 * 0 if a seed fails (it is printed; SIMT_SEED replays it), 1 if all pass. `simt_mutants none` is the control: the same cases with the
 * whole protocol, exit status 0 if all pass. */
#include <stdio.h>
#include <string.h>

#include "core/device/device.cuh"
#include "simt/trsm/syncfree_csc_case.h"
#include "trsv/syncfree_csr/kernels.h"

/* In the order of spti::protocol_step. */
static const char *const steps[] = {"none",    "ticket",         "last_arrival",   "acquire",   "arrival_barrier", "update_barrier",
                                    "release", "shared_acquire", "shared_release", "unpublish", "publishable"};

static solve_case case_of(uint64_t seed, bool within_a_block) {
  static const shape patterns[] = {shape::dense, shape::random, shape::chain, shape::arrow};
  static const int32_t widths[] = {5, 33, 2, 8};
  solve_case c;
  c.draw(seed);
  c.pattern = patterns[seed % 4];
  c.width = widths[seed / 4 % 4];
  c.n = 33;
  c.spin_limit = 20000;
  if (within_a_block) c.use_one(3 * seed + SPTI_CSC_ONE_SUMS);
  return c;
}

/* Values as flags: syncfree-csr solves a chain twice with one workspace, the second time with other right-hand sides, one of which has the
 * bits of the sentinel. Returns an empty string if the rows before that one are right and all rows from it on are NaN. */
static std::string run_values(uint64_t seed) {
  const int32_t n = 33, marked = 20;
  const problem<double> system(shape::chain, n, true, false, true, false, seed); /* columns of a backward system: rows of a forward one */
  std::vector<double> B, X(n), work(n);
  std::vector<int32_t> control(SPTI_SYNCFREE_CONTROL_WORDS);
  int64_t lost = 0;
  spti_syncfree_csr_args a = {};
  a.n = n;
  a.dtype = SPTRSM_F64;
  a.view = system.view;
  a.view.pull = true;
  a.view.backward = false;
  a.lanes = 1 << seed % 6;
  a.work = work.data();
  a.stride = n;
  a.block_warps = 2;
  a.sync = {control.data(), &lost, 2000};
  simt::use(simt::schedule::from_seed(seed));
  for (int solve = 0; solve < 2; solve++) {
    B = random_block<double>(n, seed + uint64_t(solve));
    if (solve == 1) memset(&B[marked], 0xff, sizeof B[marked]);
    a.transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
    if (spti_syncfree_csr_start_launch(&a, nullptr)) return "start: " + simt::error();
    if (spti_syncfree_csr_natural_launch(&a, nullptr)) return "solve: " + simt::error();
    if (lost) return "dependency never arrived (row " + std::to_string(lost - 1) + ")";
  }
  double expected = 0;
  for (int32_t i = 0; i < n; i++) {
    const int64_t p = spti_view_begin(&a.view, i);
    expected = (B[size_t(i)] - (i > 0 ? system.val[size_t(p)] * expected : 0)) / system.val[size_t(spti_view_diagonal(&a.view, i))];
    const double x = X[size_t(i)];
    if (i < marked ? !(std::abs(x - expected) <= 1e-12) : x == x) return "row " + std::to_string(i) + " is wrong";
  }
  return "";
}

int main(int argc, char **argv) {
  int step = -1;
  for (int s = 0; s < int(sizeof steps / sizeof *steps); s++)
    if (argc == 2 && strcmp(argv[1], steps[s]) == 0) step = s;
  if (step < 0) {
    fprintf(stderr, "usage: simt_mutants");
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) fprintf(stderr, "%c%s", s ? '|' : ' ', steps[s]);
    fprintf(stderr, "\n");
    return 2;
  }
  simt::left_out_step = step;
  const seed_range range(1, 200);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    const solve_case c =
        case_of(seed, step >= int(spti::protocol_step::shared_acquire) && step <= int(spti::protocol_step::shared_release));
    const bool values = step >= int(spti::protocol_step::unpublish) || (step == 0 && seed % 4 == 0);
    const std::string failure = values ? run_values(seed) : run_case<double>(c, seed);
    if (failure.empty()) continue;
    printf("without step '%s': %s; %s; replay with SIMT_SEED=%llu\n", steps[step], failure.c_str(),
           values ? "syncfree-csr" : c.name().c_str(), (unsigned long long)seed);
    return step == 0;
  }
  printf("without step '%s': nothing noticed in seeds %llu to %llu\n", steps[step], (unsigned long long)range.first,
         (unsigned long long)range.last);
  return step != 0;
}
