/* mutants.cpp -- `simt_mutants STEP` runs kernels without one step of the dependency protocol, which the emulator must detect. Exit status
 * 0 if a seed fails (it is printed; SIMT_SEED replays it), 1 if all pass. `simt_mutants none` is the control: the same cases with the
 * whole protocol, exit status 0 if all pass. */
#include <stdio.h>
#include <string.h>

#include "core/batch/gpu/interleaved_kernels.h"
#include "core/batch/gpu/joined_kernels.h"
#include "core/device/device.cuh"
#include "simt/trsm/syncfree_csc_case.h"
#include "simt/trsv/syncfree_csr_case.h"

/* In the order of spti::protocol_step. */
static const char *const steps[] = {"none",           "ticket",        "last_arrival",   "acquire",        "arrival_barrier",
                                    "update_barrier", "release",       "shared_acquire", "shared_release", "unpublish",
                                    "publishable",    "level_barrier", "tile_barrier"};

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

/* Values as flags: syncfree-csr solves a chain three times with one workspace, the last time in the work block of the first, with other
 * right-hand sides, one of which has the bits of the sentinel. Returns an empty string if the rows before that one are right and all rows
 * from it on are NaN. */
static std::string run_values(uint64_t seed) {
  const int32_t n = 33, marked = 20;
  const problem<double> system(shape::chain, n, true, false, true, false, seed); /* columns of a backward system: rows of a forward one */
  std::vector<double> B, X(n);
  stored_rows_solve s(system, 1, 2000);
  spti_syncfree_csr_args &a = s.args;
  a.lanes = 1 << seed % 6;
  simt::use(simt::schedule::from_seed(seed));
  if (s.start()) return "start: " + simt::error();
  for (int solve = 0; solve < 3; solve++) {
    B = random_block<double>(n, seed + uint64_t(solve));
    if (solve == 2) memset(&B[marked], 0xff, sizeof B[marked]);
    a.transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
    if (spti_syncfree_csr_natural_launch(&a, nullptr)) return "solve: " + simt::error();
    if (s.lost) return "dependency never arrived (row " + std::to_string(s.lost - 1) + ")";
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

/* Levels of a batch: each row depends on all rows of the level before. The solution has to be right for every item, with work blocks in
 * shared memory and, for half of the seeds, in device memory. */
static std::string run_levels(uint64_t seed) {
  const int32_t levels = 5, rows = 18, n = levels * rows, log_group = 1 + int32_t(seed % 2), group = 1 << log_group;
  const int32_t entries = (levels - 1) * rows * rows;
  std::vector<int32_t> level, row, start(1, 0), column;
  for (int32_t l = 0; l <= levels; l++) level.push_back(l * rows);
  for (int32_t i = 0; i < n; i++) {
    row.push_back(i);
    for (int32_t j = 0; j < rows && i >= rows; j++) column.push_back(i / rows * rows - rows + j);
    start.push_back(int32_t(column.size()));
  }
  const std::vector<double> val = random_block<double>(int64_t(entries) * group, seed);
  std::vector<double> diag(size_t(n * group), 4), X(size_t(n * group)), work(size_t(n * group)),
      B = random_block<double>(n * group, seed + 1);
  const std::vector<sptrsm_item_status> status(size_t(group), {SPTRSM_OK, -1});
  spti_batch_solve_args a = {};
  a.n = n;
  a.log_group = log_group;
  a.items.count = group;
  a.items.nrhs = 1;
  a.items.status = status.data();
  a.from.place.data = B.data();
  a.to.place.data = X.data();
  a.from.place.stride = a.to.place.stride = a.from.place.ld = a.to.place.ld = n;
  a.alpha[0] = 1;
  a.work = seed % 4 < 2 ? work.data() : nullptr;
  a.blocks = 1;
  a.threads = 32 << seed % 3;
  a.stage_count = 1;
  a.stages[0].diag = diag.data();
  a.stages[0].levels = levels;
  a.stages[0].level = level.data();
  a.stages[0].row = row.data();
  a.stages[0].start = start.data();
  a.stages[0].column = column.data();
  a.stages[0].val = val.data();
  a.stages[0].entries = entries;
  simt::use(simt::schedule::from_seed(seed));
  if (spti_batch_solve_launch(&a, SPTRSM_F64, nullptr)) return "solve: " + simt::error();
  for (int32_t item = 0; item < group; item++) {
    double *b = &B[size_t(item * n)];
    for (int32_t i = 0; i < n; i++) {
      for (int32_t p = start[size_t(i)]; p < start[size_t(i) + 1]; p++) b[i] -= val[size_t(p * group + item)] * b[column[size_t(p)]];
      b[i] /= 4;
      if (!(std::abs(b[i] - X[size_t(item * n + i)]) <= 1e-9 * (1 + std::abs(b[i]))))
        return "item " + std::to_string(item) + ", row " + std::to_string(i) + " is wrong";
    }
  }
  return "";
}

/* Tiles of a mixed batch: column-major blocks of two items go to the rows of one panel and back. */
static std::string run_tiles(uint64_t seed) {
  const int32_t n = 45, width = 40, ld = 25;
  const std::vector<int32_t> first = {0, 20, n};
  const std::vector<int64_t> item = {0, 1};
  const std::vector<sptrsm_item_status> status(2, {SPTRSM_OK, -1});
  std::vector<int32_t> row_member;
  for (int32_t r = 0; r < n; r++) row_member.push_back(r >= first[1]);
  std::vector<double> B = random_block<double>(2 * ld * width, seed), X(B.size()), panel(size_t(n * width));
  spti_joined_move_args a = {};
  a.rows = {n, row_member.data(), first.data(), item.data()};
  a.items.count = 2;
  a.items.nrhs = a.width = width;
  a.items.status = status.data();
  a.place.data = B.data();
  a.place.stride = ld * width;
  a.place.ld = ld;
  a.panel = panel.data();
  simt::use(simt::schedule::from_seed(seed));
  if (spti_joined_pack_launch(&a, SPTRSM_F64, nullptr)) return "pack: " + simt::error();
  a.place.data = X.data();
  if (spti_joined_unpack_launch(&a, SPTRSM_F64, nullptr)) return "unpack: " + simt::error();
  for (int32_t r = 0; r < n; r++)
    for (int32_t k = 0; k < width; k++) {
      const int32_t member = row_member[size_t(r)];
      const size_t at = size_t((member * width + k) * ld + r - first[size_t(member)]);
      if (panel[size_t(r * width + k)] != B[at] || X[at] != B[at])
        return "row " + std::to_string(r) + ", column " + std::to_string(k) + " is wrong";
    }
  return "";
}

/* Runs kernels that have the step, and says which. Where none is left out, the seeds take turns with all kernels. */
static std::string run_step(spti::protocol_step step, uint64_t seed, std::string &kernels) {
  using spti::protocol_step;
  const int turn = step == protocol_step::none ? int(seed % 8) : -1;
  if (step == protocol_step::tile_barrier || turn == 2) {
    kernels = "joined";
    return run_tiles(seed);
  }
  if (step == protocol_step::level_barrier || turn == 1 || turn == 5) {
    kernels = "interleaved";
    return run_levels(seed);
  }
  if (step == protocol_step::unpublish || step == protocol_step::publishable || turn == 0 || turn == 4) {
    kernels = "syncfree-csr";
    return run_values(seed);
  }
  const solve_case c = case_of(seed, step == protocol_step::shared_acquire || step == protocol_step::shared_release);
  kernels = c.name();
  return run_case<double>(c, seed);
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
    std::string kernels;
    const std::string failure = run_step(spti::protocol_step(step), seed, kernels);
    if (failure.empty()) continue;
    printf("without step '%s': %s; %s; replay with SIMT_SEED=%llu\n", steps[step], failure.c_str(), kernels.c_str(),
           (unsigned long long)seed);
    return step == 0;
  }
  printf("without step '%s': nothing noticed in seeds %llu to %llu\n", steps[step], (unsigned long long)range.first,
         (unsigned long long)range.last);
  return step != 0;
}
