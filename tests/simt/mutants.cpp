/* mutants.cpp -- leaves one step of the dependency protocol out and wants the emulator to notice: `simt_mutants STEP`.
 * Exit 0 if some seed fails (it is printed: replay with SIMT_SEED), 1 if all pass. `simt_mutants none` is the control: the
 * same cases with nothing left out, exit 0 if all pass. */
#include <stdio.h>
#include <string.h>

#include "core/device.cuh"
#include "simt/solve_case.h"

/* As spti::protocol_step. */
static const char *const steps[] = {"none",           "ticket",  "last_arrival",   "acquire",       "arrival_barrier",
                                    "update_barrier", "release", "shared_acquire", "shared_release"};

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
    const solve_case c = case_of(seed, step >= int(spti::protocol_step::shared_acquire));
    const std::string failure = run_case<double>(c, seed);
    if (failure.empty()) continue;
    printf("without step '%s': %s; %s; replay with SIMT_SEED=%llu\n", steps[step], failure.c_str(), c.name().c_str(),
           (unsigned long long)seed);
    return step == 0;
  }
  printf("without step '%s': nothing noticed in seeds %llu to %llu\n", steps[step], (unsigned long long)range.first,
         (unsigned long long)range.last);
  return step != 0;
}
