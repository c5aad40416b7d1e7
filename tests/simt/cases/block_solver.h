/* block_solver.h -- the solve kernel of `block` on the emulator, with panels that plain loops made (trsm/block/reference.h). */
#ifndef TESTS_SIMT_CASES_BLOCK_SOLVER_H
#define TESTS_SIMT_CASES_BLOCK_SOLVER_H

#include "simt/cases/block_ends.h"
#include "simt/cases/drawn_case.h"
#include "simt/emulator/simt.h"
#include "trsm/block/reference.h"

template <typename T> inline T conjugate(T v) { return v; }
template <typename R> inline std::complex<R> conjugate(std::complex<R> v) { return std::conj(v); }

/* What varies of a run. */
struct block_case : drawn_ends {
  int32_t tile = 8;
  bool heralds = true;
  block_rules rules = BLOCK_RULES;
  bool single = false;  /* products of f32 and c64 in f32 */
  bool refined = false; /* panels beyond the bound: else substituted */
  int32_t spin_limit = 100000;

  /* Everything but the shape of the problem. */
  void draw(uint64_t seed) {
    static const double bounds[] = {100, 100, 0, 3};
    numbers r = numbers_of(seed + 99);
    draw_system(r);
    draw_ends(r);
    rules.rows = 16 << r.below(3);
    rules.least = 16;
    rules.window = r.below(2) ? 0 : 24;
    rules.bound = bounds[r.below(4)];
    refined = r.below(2);
    single = r.below(2);
    draw_schedule(seed);
  }
  /* What must not change a bit. */
  void draw_schedule(uint64_t seed) {
    numbers r = numbers_of(seed + 1234);
    tile = 8 << r.below(3);
    heralds = r.below(2);
  }
  std::string name() const {
    return ends_name() + " tile=" + std::to_string(tile) + (heralds ? " heralds" : "") + (single ? " single" : "") +
           " rules=" + std::to_string(rules.rows) + "," + std::to_string(rules.window) + "," + std::to_string(rules.bound);
  }
};

/* A system by rows: a problem's columns, taken as the rows of the mirror image. */
template <typename T> struct rows_of {
  problem<T> columns;
  spti_view view;

  rows_of(const block_case &c, uint64_t seed) : columns(c.pattern, c.n, !c.backward, c.unit, c.stored_diagonal, c.conj, seed) {
    view = as_rows(columns);
  }
  T value(int64_t p) const { return view.conj ? conjugate(columns.val[size_t(p)]) : columns.val[size_t(p)]; }

  /* The worst of abs(b - T x) / ((k_i + 1) u (abs(T) abs(x))_i); NaN if anything is not a number. */
  double residual(const std::vector<T> &x, const std::vector<T> &b, int32_t width, int32_t but_column = -1) const {
    const long double u = std::numeric_limits<typename dtype_of<T>::real>::epsilon() / 2;
    double worst = 0;
    for (int32_t k = 0; k < width; k++)
      for (int32_t i = 0; i < view.n && k != but_column; i++) {
        const wide own = widen(x[size_t(i * width + k)]);
        wide r = widen(b[size_t(i * width + k)]), t = 1;
        if (!view.unit) t = widen(value(spti_view_diagonal(&view, i)));
        r -= t * own;
        long double scale = std::abs(t * own);
        for (int64_t p = spti_view_begin(&view, i); p < spti_view_end(&view, i); p++) {
          const wide term = widen(value(p)) * widen(x[size_t(view.idx[p] * width + k)]);
          r -= term;
          scale += std::abs(term);
        }
        const long double terms = (long double)(spti_view_end(&view, i) - spti_view_begin(&view, i) + 2);
        const double ratio = double(std::abs(r) / (terms * u * scale));
        if (!(ratio <= worst) && !(r == wide(0) && scale == 0)) worst = ratio;
        if (worst != worst) return worst;
      }
    return worst;
  }
};

/* A workspace and everything that stays the same from solve to solve. */
template <typename T> struct solver {
  block_case c;
  rows_of<T> system;
  block_reference panels;
  std::vector<int32_t> herald;
  std::vector<T> memory;
  int64_t lost = 0, words;
  spti_block_solve_args a = {};
  std::string failure;

  /* zeros: the number of entries that are stored zeros. bad: the first entry of the first row from bad_row on, by place, that has any;
   * bad_row becomes that row, -1 if there is none. */
  solver(const block_case &made, int32_t panel, uint64_t seed, int zeros = 0, const T *bad = nullptr, int32_t *bad_row = nullptr)
      : c(made), system(made, seed % 5) {
    numbers r(seed);
    for (int i = 0; i < zeros; i++) {
      const int32_t row = r.below(c.n);
      const int64_t first = spti_view_begin(&system.view, row), count = spti_view_end(&system.view, row) - first;
      if (count > 0) system.columns.val[size_t(first + r.below(int(count)))] = T(0);
    }
    for (int32_t s = bad ? *bad_row : c.n; s < c.n; s++) {
      const int32_t i = spti_view_line(&system.view, s);
      if (spti_view_begin(&system.view, i) == spti_view_end(&system.view, i)) continue;
      system.columns.val[size_t(spti_view_begin(&system.view, i))] = *bad;
      *bad_row = i;
      break;
    }
    if (!block_reference_make(&panels, &system.view, &c.rules)) failure = "no memory";
    for (int32_t p = 0; failure.empty() && p < panels.panels.count; p++)
      if (panels.panels.flags[p] != 0 && panels.panels.flags[p] != SPTI_BLOCK_APART) {
        int32_t *flags = const_cast<int32_t *>(panels.panels.flags) + p;
        if (!c.refined) *flags = SPTI_BLOCK_SUBSTITUTE;
        else if (*flags == SPTI_BLOCK_SUBSTITUTE) *flags = strips_of(p) * SPTI_BLOCK_REFINE | SPTI_BLOCK_APART;
      }
    herald.assign(size_t(panels.steps), 12345);
    if (failure.empty() && spti_block_herald_launch(&panels.panels, panels.steps, herald.data(), nullptr)) failure = simt::error();
    a.panels = panels.panels;
    a.backward = c.backward;
    a.single = c.single;
    a.ld = panel <= 2 ? panel : (panel + 3) / 4 * 4;
    const size_t blocks = 2 * size_t(c.n) * size_t(a.ld);
    words = int64_t(blocks * sizeof(T) / 8);
    memory.assign(blocks + SPTI_TWO_BLOCKS_CONTROL_WORDS, T(-7));
    a.work = memory.data();
    a.sync = {(int32_t *)(memory.data() + blocks), &lost, c.spin_limit};
    make_whole();
  }
  ~solver() { block_reference_free(&panels); }
  int32_t strips_of(int32_t p) const { return (panels.panels.first[p + 1] - panels.panels.first[p] + 15) / 16; }
  solver(const solver &) = delete;
  solver &operator=(const solver &) = delete;

  void make_whole() {
    const spti_two_blocks_args start = {a.sync.control, (int64_t *)a.work, words};
    if (failure.empty() && spti_two_blocks_start_launch(&start, nullptr)) failure = "start: " + simt::error();
  }
  void solve(const spti_transfer &between, const block_case &now) {
    a.between = between;
    a.tile = now.tile;
    a.panels.herald = now.heralds ? herald.data() : nullptr;
    if (failure.empty() && spti_block_solve_launch(&a, dtype_of<T>::value, nullptr)) failure = "solve: " + simt::error();
    if (failure.empty() && lost) failure = "dependency never arrived (row " + std::to_string(lost - 1) + ")";
  }
};

#endif
