/* structgrid_case.h -- the cases of structgrid and structgrid-lines, drawn from a seed, and their systems. */
#ifndef TESTS_SIMT_TRSV_STRUCTGRID_CASE_H
#define TESTS_SIMT_TRSV_STRUCTGRID_CASE_H

#include "simt/cases/problem.h"

static const char *const stencils[] = {"D2N5", "D2N9", "D3N7", "D3N13", "D3N27", "D3N33"};

/* The points of a stencil, said in other words than the library's. */
inline bool in_stencil(const std::string &name, int x, int y, int z) {
  const int distance = abs(x) + abs(y) + abs(z);
  const bool cube = name == "D2N9" || name == "D3N27" || name == "D3N33", far = name == "D3N13" || name == "D3N33";
  if (abs(x) <= 1 && abs(y) <= 1 && abs(z) <= 1) return cube || distance <= 1;
  return far && distance == 2;
}

struct grid_case {
  std::string stencil = "D3N27", variant;
  bool lines = false; /* structgrid-lines, not structgrid */
  int64_t grid[3] = {5, 4, 3};
  int32_t width = 1;
  int missing = 0;        /* one entry of this many is left out; 0: none */
  int32_t spin_limit = 0; /* 0: as in earnest */
  size_t shared = 0;      /* bytes that a thread block may ask for; 0: as an H200 has */
  bool backward = false, unit = false, stored_diagonal = true, conj = false;
  bool columns = false, mapped = false, in_place = false, told = true;

  int32_t n() const { return int32_t(grid[0] * grid[1] * grid[2]); }
  void draw(uint64_t seed) {
    static const int sides[] = {1, 2, 3, 4, 5, 6}, widths[] = {1, 1, 1, 1, 2, 3, 5};
    static const char *const variants[] = {"",
                                           "tasks=tiles",
                                           "layout=csr",
                                           "tasks=tiles,layout=csr",
                                           "tasks=pencils",
                                           "tasks=pencils",
                                           "tasks=pencils,kept=0",
                                           "tasks=pencils,kept=1048576",
                                           /* of structgrid-lines: */ "",
                                           "map=row,state=row",
                                           "poll=relaxed,warps=2,clock=1"};
    numbers r(seed + 4321);
    for (int i = 0; i < 8; i++) r.next();
    stencil = stencils[r.below(6)];
    for (int64_t &side : grid) side = sides[r.below(6)];
    if (r.below(4) == 0) grid[1] = 31 + r.below(36); /* more lines than a warp has */
    if (grid[1] > 8) grid[0] = 1 + r.below(3), grid[2] = 1 + r.below(2);
    if (stencil[1] == '2') grid[2] = 1;
    const int of = r.below(11);
    variant = variants[of];
    lines = of >= 8;
    width = widths[r.below(7)];
    if (variant.rfind("tasks=pencils", 0) == 0 && r.below(3) == 0) width = 31 + r.below(10); /* around a tile */
    missing = r.below(3) == 0 ? 4 : 0;
    backward = r.below(2);
    unit = r.below(4) == 0;
    stored_diagonal = !unit || lines || r.below(2);
    conj = r.below(3) == 0;
    columns = r.below(2);
    mapped = r.below(3) == 0;
    in_place = !mapped && r.below(3) == 0;
  }
  std::string name() const {
    return stencil + " " + std::to_string(grid[0]) + "x" + std::to_string(grid[1]) + "x" + std::to_string(grid[2]) + " structgrid" +
           (lines ? "-lines:" : ":") + variant + " width=" + std::to_string(width) + (backward ? " backward" : " forward") +
           (unit ? " unit" : "") + (stored_diagonal ? "" : " no diagonal") + (conj ? " conj" : "") + (missing ? " entries missing" : "") +
           (columns ? " columns" : " rows") + (mapped ? " mapped" : "") + (in_place ? " in place" : "");
  }
};

template <typename T> struct grid_problem {
  std::vector<int64_t> ptr;
  std::vector<int32_t> idx;
  std::vector<T> val;
  spti_view view = {};

  grid_problem(const grid_case &c, uint64_t seed) {
    const int32_t n = c.n();
    const int64_t X = c.grid[0], Y = c.grid[1];
    numbers random(seed);
    ptr.push_back(0);
    for (int32_t i = 0; i < n; i++) {
      for (int32_t j = c.backward ? i : 0; j <= (c.backward ? n - 1 : i); j++) {
        const bool near = i != j && in_stencil(c.stencil, int(i % X - j % X), int(i / X % Y - j / X % Y), int(i / (X * Y) - j / (X * Y)));
        if (i == j ? !c.stored_diagonal : !near || (c.missing && random.below(c.missing) == 0)) continue;
        T v;
        random.make(v);
        if (i == j) v = c.unit ? T(NAN) : T(2) + v;
        else v = v * T(0.25);
        idx.push_back(j);
        val.push_back(v);
      }
      ptr.push_back(int64_t(idx.size()));
    }
    view = view_of(n, ptr, idx, val);
    view.head = c.stored_diagonal && c.backward;
    view.tail = c.stored_diagonal && !c.backward;
    view.pull = true;
    view.backward = c.backward;
    view.conj = c.conj;
    view.unit = c.unit;
  }
};

#endif
