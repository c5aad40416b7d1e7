/* drawn_case.h -- the parameters in which the cases of all methods vary, drawn from a seed: the system, and the form of the blocks. */
#ifndef TESTS_SIMT_CASES_DRAWN_CASE_H
#define TESTS_SIMT_CASES_DRAWN_CASE_H

#include "simt/cases/problem.h"

/* Skips the first numbers, which are similar for small seeds. */
inline numbers numbers_of(uint64_t seed) {
  numbers r(seed);
  for (int i = 0; i < 8; i++) r.next();
  return r;
}

struct drawn_system {
  shape pattern = shape::random;
  int32_t n = 40;
  bool backward = false, unit = false, stored_diagonal = true, conj = false;

  void draw_system(numbers &r) {
    backward = r.below(2);
    unit = r.below(4) == 0;
    stored_diagonal = !unit || r.below(2);
    conj = r.below(3) == 0;
  }
  std::string system_name() const {
    return std::string(shape_name(pattern)) + " n=" + std::to_string(n) + (backward ? " backward" : " forward") + (unit ? " unit" : "") +
           (stored_diagonal ? "" : " no diagonal") + (conj ? " conj" : "");
  }
};

/* For block_ends.h. */
struct drawn_ends : drawn_system {
  int32_t width = 7;
  bool permuted = false, scaled = false, columns = false, in_place = false;

  void draw_ends(numbers &r) {
    permuted = r.below(3) == 0;
    scaled = r.below(3) == 0;
    columns = r.below(2);
    in_place = !permuted && r.below(3) == 0;
  }
  std::string ends_name() const {
    return system_name() + " width=" + std::to_string(width) + (permuted ? " permuted" : "") + (scaled ? " scaled" : "") +
           (columns ? " columns" : " rows") + (in_place ? " in place" : "");
  }
};

#endif
