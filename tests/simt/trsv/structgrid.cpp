/* structgrid and structgrid-lines, their host code and their kernels, under adversarial schedules, judged by the componentwise residual. */
#include <criterion/criterion.h>

#include <string.h>

#include "core/device/device.cuh"
#include "core/stencil/stencil.h"
#include "simt/emulator/emulated_gpu.h"
#include "simt/cases/method_case.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"
#include "simt/trsv/structgrid_case.h"
#include "trsv/structgrid/pencils/kernels.h"

extern "C" const struct spti_method spti_method_structgrid, spti_method_structgrid_lines;

namespace {

/* A block of right-hand sides or solutions with its end of a transfer; element (i,k) of the panel is row map[i]. */
template <typename T> struct block {
  int64_t row_stride, col_stride;
  std::vector<int32_t> map;
  std::vector<T> data;

  block(const grid_case &c, uint64_t seed) : data(random_block<T>(int64_t(c.n() + 2) * (c.width + 2), seed)) {
    row_stride = c.columns ? 1 : c.width + 2;
    col_stride = c.columns ? c.n() + 2 : 1;
    for (int32_t i = 0; c.mapped && i < c.n(); i++) map.push_back((i + 5) % c.n());
  }
  size_t at(int64_t i, int64_t k) const { return size_t((map.empty() ? i : map[size_t(i)]) * row_stride + k * col_stride); }
  spti_end end() { return {data.data(), row_stride, col_stride, map.empty() ? nullptr : map.data(), nullptr, 0}; }
};

/* The worst entry of abs(2 b - T x) / ((k_i + 1) u (abs(T) abs(x))_i). */
template <typename T> double residual(const spti_view &v, const grid_case &c, const block<T> &X, const block<T> &B) {
  double worst = 0;
  for (int64_t k = 0; k < c.width; k++)
    for (int32_t i = 0; i < v.n; i++) {
      wide r = -wide(2) * widen(B.data[B.at(i, k)]);
      long double scale = 0, terms = 2;
      const auto add = [&](wide t, int32_t j) {
        t = v.conj ? std::conj(t) : t;
        r += t * widen(X.data[X.at(j, k)]);
        scale += std::abs(t) * std::abs(widen(X.data[X.at(j, k)]));
        terms += 1;
      };
      const T *val = static_cast<const T *>(v.val);
      for (int64_t p = spti_view_begin(&v, i); p < spti_view_end(&v, i); p++) add(widen(val[p]), v.idx[p]);
      add(v.unit ? wide(1) : widen(val[spti_view_diagonal(&v, i)]), i);
      const double ratio = double(std::abs(r) / (terms * (std::numeric_limits<typename dtype_of<T>::real>::epsilon() / 2) * scale));
      if (!(ratio <= worst)) worst = ratio;
      if (worst != worst) return worst;
    }
  return worst;
}

/* Empty if every word but the solutions is as before. */
template <typename T> std::string untouched(const grid_case &c, const block<T> &before, const block<T> &after) {
  std::vector<char> mine(before.data.size(), 0);
  for (int64_t i = 0; i < c.n(); i++)
    for (int64_t k = 0; k < c.width; k++) mine[after.at(i, k)] = 1;
  for (size_t p = 0; p < mine.size(); p++)
    if (!mine[p] && memcmp(&before.data[p], &after.data[p], sizeof(T)) != 0) return "wrote beyond the block at " + std::to_string(p);
  return "";
}

/* Solutions in the case's layout, or in rows where the method leaves that layout to the core. */
template <typename T> grid_case layout_of_solutions(const sptrsm_plan *plan, const grid_case &c) {
  block<T> X(c, 1);
  const spti_end end = X.end();
  grid_case rows = c;
  rows.columns = rows.mapped = false;
  return method_case_writes_to(plan, &end, c.width) ? c : rows;
}

const spti_method *method_of(bool lines) { return lines ? &spti_method_structgrid_lines : &spti_method_structgrid; }

/* Solves, changes all values, solves again. */
template <typename T> std::string run_plan(sptrsm_plan *plan, spti_view view, const grid_case &c, uint64_t seed) {
  if (method_case_analyse(plan, method_of(c.lines), c.variant.c_str()) != SPTRSM_OK)
    return std::string("analysis: ") + sptrsm_last_error() + "; " + simt::error();
  std::vector<T> other(static_cast<const T *>(view.val), static_cast<const T *>(view.val) + view.nnz);
  for (T &x : other) x = x * typename dtype_of<T>::real(1.25);
  const grid_case to = layout_of_solutions<T>(plan, c), from = c.in_place ? to : c;
  for (int round = 0; round < 2; round++) {
    if (round == 1) {
      view.val = other.data();
      if (method_case_new_values(plan, view.val) != SPTRSM_OK) return std::string("new values: ") + sptrsm_last_error();
    }
    const block<T> given(from, seed + 1);
    block<T> B = given, X = c.in_place ? given : block<T>(to, seed + 2);
    const block<T> before = X;
    block<T> &out = c.in_place ? B : X;
    const spti_transfer transfer = {B.end(), out.end(), {2, 0}, c.width};
    if (method_case_solve(plan, c.width + int32_t(seed % 3), &transfer, c.in_place || c.width > 9 ? 1 : 2) != SPTRSM_OK)
      return std::string("solve: ") + sptrsm_last_error() + "; " + simt::error();
    const double worst = residual(view, c, out, given), bound = dtype_of<T>::value >= SPTRSM_C64 ? 4 : 1;
    if (!(worst <= bound)) return "residual " + std::to_string(worst) + " bounds";
    const std::string failure = untouched(c, before, out);
    if (!failure.empty()) return failure;
  }
  return "";
}

template <typename T> std::string run_case(const grid_case &c, uint64_t seed) {
  simt::use(simt::schedule::from_seed(seed));
  const grid_problem<T> system(c, seed);
  if (c.shared > 0) emulated_gpu_shared_bytes = c.shared;
  sptrsm_plan *plan = plan_case_open(&system.view);
  if (c.told) plan_case_set_stencil(plan, c.stencil.c_str(), c.grid);
  if (c.spin_limit > 0) plan_case_set_spin_limit(plan, c.spin_limit);
  std::string failure = run_plan<T>(plan, system.view, c, seed);
  method_case_close(plan);
  if (failure.empty() && emulated_gpu_blocks != 0) failure = std::to_string(emulated_gpu_blocks) + " device blocks left over";
  return failure;
}

void expect(const std::string &failure, const grid_case &c, const char *type, uint64_t seed) {
  cr_assert(failure.empty(), "%s; %s, %s; replay with SIMT_SEED=%llu", failure.c_str(), type, c.name().c_str(), (unsigned long long)seed);
}

/* shared: as in grid_case; if set, structgrid runs without parameters. */
template <typename T> void many_grids(uint64_t first, uint64_t count, const char *type, size_t shared = 0) {
  const seed_range range(first, count);
  for (uint64_t seed = range.first; seed <= range.last; seed++) {
    if (left_to_other_builds(seed - range.first)) continue;
    grid_case c;
    c.draw(seed);
    c.shared = shared;
    if (shared > 0) c.lines = false, c.variant = "";
    expect(run_case<T>(c, seed), c, type, seed);
  }
}

} // namespace

Test(simt_structgrid, f64) { many_grids<double>(1, 24, "f64"); }
Test(simt_structgrid, f32) { many_grids<float>(1001, 6, "f32"); }
Test(simt_structgrid, c64) { many_grids<std::complex<float>>(2001, 6, "c64"); }
Test(simt_structgrid, c128) { many_grids<std::complex<double>>(3001, 6, "c128"); }

/* Systems of one to three rows: by tiles, and by pencils with the largest kept=, room for billions of tiles. */
Test(simt_structgrid, few_rows) {
  for (const char *variant : {"tasks=pencils,kept=1048576", "tasks=tiles"})
    for (int X = 1; X <= 3; X++) {
      grid_case c;
      c.variant = variant;
      c.grid[0] = X, c.grid[1] = c.grid[2] = 1;
      c.width = 3;
      c.in_place = true;
      const std::string failure = run_case<double>(c, uint64_t(X));
      cr_expect(failure.empty(), "%s: %s", c.name().c_str(), failure.c_str());
    }
}

/* The same bits for a right-hand side alone and among others, whatever the layout and the number of warps. */
Test(simt_structgrid, width_and_layout_change_no_bit) {
  for (const char *stencil : stencils) {
    grid_case c;
    c.stencil = stencil;
    c.grid[1] = 9;
    if (c.stencil[1] == '2') c.grid[2] = 1;
    const grid_problem<double> system(c, 7);
    const size_t n = size_t(c.n());
    const std::vector<double> B = random_block<double>(int64_t(n) * 5, 8);
    std::vector<double> expected;
    static const struct {
      const char *variant;
      int32_t width;
    } ways[] = {{"", 1}, {"", 5}, {"layout=csr", 1}, {"layout=csr", 4}, {"tasks=tiles", 5}, {"tasks=pencils", 1}, {"tasks=pencils", 4}};
    for (const auto &way : ways) {
      std::vector<double> X(n * 5, 0.0), first(n);
      sptrsm_plan *plan = plan_case_open(&system.view);
      plan_case_set_stencil(plan, stencil, c.grid);
      simt::use(simt::schedule::from_seed(n));
      cr_assert_eq(method_case_analyse(plan, &spti_method_structgrid, way.variant), SPTRSM_OK, "%s", sptrsm_last_error());
      const spti_transfer transfer = {
          {(void *)B.data(), 5, 1, nullptr, nullptr, 0}, {X.data(), 5, 1, nullptr, nullptr, 0}, {1, 0}, way.width};
      cr_assert_eq(method_case_solve(plan, way.width, &transfer, 1), SPTRSM_OK, "%s", sptrsm_last_error());
      method_case_close(plan);
      for (size_t i = 0; i < n; i++) first[i] = X[5 * i];
      if (expected.empty()) expected = first;
      cr_assert_eq(memcmp(first.data(), expected.data(), n * sizeof(double)), 0, "%s: other bits with %s, width %d", stencil, way.variant,
                   way.width);
    }
  }
}

/* Tiles and pencils of alpha B in turn. */
template <typename T> void expect_same_bits(const grid_case &c, const spti_view &view, const std::vector<T> &B, double alpha) {
  std::vector<T> X[3];
  static const char *const variants[] = {"tasks=tiles", "tasks=tiles,layout=csr", "tasks=pencils"};
  for (int v = 0; v < 3; v++) {
    X[v].resize(B.size());
    sptrsm_plan *plan = plan_case_open(&view);
    plan_case_set_stencil(plan, c.stencil.c_str(), c.grid);
    simt::use(simt::schedule::from_seed(uint64_t(v + 1)));
    cr_assert_eq(method_case_analyse(plan, &spti_method_structgrid, variants[v]), SPTRSM_OK, "%s", sptrsm_last_error());
    const spti_transfer transfer = {
        {(void *)B.data(), c.width, 1, nullptr, nullptr, 0}, {X[v].data(), c.width, 1, nullptr, nullptr, 0}, {alpha, 0}, c.width};
    cr_assert_eq(method_case_solve(plan, c.width, &transfer, 1), SPTRSM_OK, "%s", sptrsm_last_error());
    method_case_close(plan);
    cr_assert_eq(memcmp(X[v].data(), X[0].data(), B.size() * sizeof(T)), 0, "%s: other bits with %s", c.name().c_str(), variants[v]);
  }
}

/* Signs of zeros as well: what a row lacks does not make zeros of minus zeros. */
template <typename T> void expect_same_zeros() {
  for (const char *stencil : stencils) {
    grid_case c;
    c.stencil = stencil;
    c.missing = 2;
    c.width = 2;
    if (c.stencil[1] == '2') c.grid[2] = 1;
    const grid_problem<T> system(c, 11);
    std::vector<T> B = random_block<T>(int64_t(c.n()) * c.width, 12);
    for (size_t i = 0; i < B.size(); i++)
      if (i % 2 == 0 || i < B.size() / 2) B[i] = T(0);
    expect_same_bits(c, system.view, B, -1);
  }
}
Test(simt_structgrid, tiles_and_pencils_make_the_same_zeros) {
  expect_same_zeros<float>();
  expect_same_zeros<double>();
  expect_same_zeros<std::complex<float>>();
  expect_same_zeros<std::complex<double>>();
}

/* a and t, a small beside the range, whose product with the reciprocal is one ulp off: a / t is 2^-107 from between two numbers. */
void draw_hard_quotient(numbers &r, double *a, double *t) {
  for (;;) {
    const uint64_t divisor = uint64_t(1) << 52 | uint64_t(r.below(1 << 26)) << 26 | uint64_t(r.below(1 << 25)) << 1 | 1;
    uint64_t between = divisor; /* twice the quotient and one: the inverse modulo 2^54, or less it */
    for (int k = 0; k < 6; k++) between *= 2 - divisor * between;
    between &= (uint64_t(1) << 54) - 1;
    const bool negative = between >> 53 == 0;
    if (negative) between = (uint64_t(1) << 54) - between;
    const unsigned __int128 product = static_cast<unsigned __int128>(between) * divisor + (negative ? 1 : -1);
    *a = double(uint64_t(product >> 54)) * 0x1p-900;
    *t = double(divisor) * 0x1p-380;
    spti::divisor<double> by;
    by.set(*t);
    if (by.quick(*a) != *a / *t) return;
  }
}

/* A row's quotient is taken in the same way whatever the rows beside it are like: rows of zeros among those of small numerators. */
Test(simt_structgrid, quotients_of_rows_beside_zeros) {
  for (const char *stencil : stencils) {
    grid_case c;
    c.stencil = stencil;
    if (c.stencil[1] == '2') c.grid[2] = 1;
    grid_problem<double> system(c, 5);
    std::vector<double> B(size_t(c.n()));
    numbers r(6);
    for (double &v : system.val) v = 0;
    for (size_t i = 0; i < B.size(); i++) {
      draw_hard_quotient(r, &B[i], &system.val[size_t(system.ptr[i + 1] - 1)]);
      if (i % 3 == 1) B[i] = 0;
    }
    expect_same_bits(c, system.view, B, 1);
  }
}

/* The pattern that stands for "not there yet" may come in with a right-hand side: a NaN in the right places, no hang. Where an entry is
 * missing, nothing passes, and nothing passes from the end of one grid line to the beginning of the next. */
template <typename T> std::string run_sentinel(const char *variant, uint64_t seed, int32_t spin_limit = 0) {
  grid_case c;
  c.stencil = "D3N33";
  c.grid[2] = 5; /* several tiles */
  c.missing = seed <= 4 ? 3 : 0;
  const grid_problem<T> system(c, seed);
  const size_t n = size_t(c.n()), bad = 9;
  std::vector<T> B(n, T(1)), X(n, T(0));
  std::vector<char> expected(n, 0);
  B[bad] = seed % 2 ? like_sentinel<T>(seed) : -like_sentinel<T>(seed);                       /* a sum may change the sign */
  if (seed == 3 && sizeof(typename dtype_of<T>::real) == 8) memset((void *)&B[bad], 0x12, 1); /* pencils look at the upper half alone */
  expected[bad] = 1;
  for (size_t i = 0; i < n; i++)
    for (int64_t p = system.ptr[i]; p < system.ptr[i + 1] - 1; p++) expected[i] |= expected[size_t(system.idx[size_t(p)])];
  sptrsm_plan *plan = plan_case_open(&system.view);
  plan_case_set_stencil(plan, "D3N33", c.grid);
  if (spin_limit > 0) plan_case_set_spin_limit(plan, spin_limit);
  simt::use(simt::schedule::from_seed(seed));
  const spti_transfer transfer = {{B.data(), 1, 1, nullptr, nullptr, 0}, {X.data(), 1, 1, nullptr, nullptr, 0}, {1, 0}, 1};
  std::string failure;
  if (method_case_analyse(plan, &spti_method_structgrid, variant) != SPTRSM_OK || method_case_solve(plan, 1, &transfer, 1) != SPTRSM_OK)
    failure = sptrsm_last_error();
  method_case_close(plan);
  for (size_t i = 0; i < n && failure.empty(); i++)
    if ((X[i] != X[i]) != bool(expected[i])) failure = "row " + std::to_string(i);
  return failure;
}
template <typename T> void sentinel_in_the_right_hand_side(uint64_t first) {
  for (const char *variant : {"", "layout=csr", "tasks=pencils"})
    for (uint64_t seed = first; seed <= 6; seed++) {
      const std::string failure = run_sentinel<T>(variant, seed);
      cr_assert(failure.empty(), "%s: %s, seed %llu", variant, failure.c_str(), (unsigned long long)seed);
    }
}
Test(simt_structgrid, sentinel_in_the_right_hand_side) {
  sentinel_in_the_right_hand_side<double>(1);
  sentinel_in_the_right_hand_side<float>(4);
  sentinel_in_the_right_hand_side<std::complex<float>>(4);
  sentinel_in_the_right_hand_side<std::complex<double>>(3);
}

enum { FEW_POLLS = 1000 }; /* more than any wait of so small a grid takes, which the tests below show */

template <typename Run> static std::string run_without(spti::protocol_step step, const Run &run) {
  simt::left_out_step = int(step);
  const std::string failure = run();
  simt::left_out_step = 0;
  return failure;
}

/* Each step of what pencils do to wait for each other, left out, must be noticed by some schedule that finds nothing wrong else. */
Test(simt_structgrid, pencils_need_tickets) {
  grid_case c;
  c.variant = "tasks=pencils";
  c.width = 3;
  c.spin_limit = FEW_POLLS;
  bool noticed = false;
  for (uint64_t seed = 1; seed <= 60 && !noticed; seed++) {
    c.stencil = stencils[2 + seed % 4];
    expect(run_case<double>(c, seed), c, "f64", seed);
    noticed = !run_without(spti::protocol_step::ticket, [&] { return run_case<double>(c, seed); }).empty();
  }
  cr_expect(noticed, "nothing noticed without tickets");
}

template <typename T> static void need_publishable(const char *type) {
  for (const char *variant : {"", "tasks=pencils"}) {
    bool noticed = false;
    for (uint64_t seed = 5; seed <= 6 && !noticed; seed++) {
      const auto run = [&] { return run_sentinel<T>(variant, seed, FEW_POLLS); };
      const std::string failure = run();
      cr_expect(failure.empty(), "%s, %s: %s", type, variant, failure.c_str());
      noticed = !run_without(spti::protocol_step::publishable, run).empty();
    }
    cr_expect(noticed, "%s, %s: nothing noticed of a solution that looks like none", type, variant);
  }
}
Test(simt_structgrid, solutions_that_look_like_none) {
  need_publishable<float>("f32");
  need_publishable<double>("f64");
  need_publishable<std::complex<float>>("c64");
  need_publishable<std::complex<double>>("c128");
}

/* ---- recognition and refusal ---- */

/* The last row alone tells stencil and grid where each side is long enough. */
Test(simt_structgrid, stencils_are_recognised) {
  for (const char *stencil : stencils)
    for (int backward = 0; backward < 2; backward++) {
      grid_case c;
      c.stencil = stencil;
      c.backward = backward;
      c.grid[1] = 3;
      c.grid[2] = stencil[1] == '2' ? 1 : 4;
      const grid_problem<double> system(c, 3);
      sptrsm_plan *plan = plan_case_open(&system.view);
      simt::use(simt::schedule::from_seed(3));
      cr_assert_eq(method_case_analyse(plan, &spti_method_structgrid, ""), SPTRSM_OK, "%s: %s", stencil, sptrsm_last_error());
      const std::string says = std::string("stencil=") + stencil + " grid=5,3," + std::to_string(c.grid[2]) + " ";
      cr_expect(strstr(method_case_parameters(plan), says.c_str()), "%s: %s", says.c_str(), method_case_parameters(plan));
      method_case_close(plan);
    }
}

static void expect_refusal(const spti_view *view, const char *stencil, int64_t X, int64_t Y, int64_t Z, sptrsm_status status,
                           const char *says, bool lines = false, const char *variant = "") {
  const int64_t grid[3] = {X, Y, Z};
  sptrsm_plan *plan = plan_case_open(view);
  simt::use(simt::schedule::from_seed(3));
  plan_case_set_stencil(plan, stencil, grid);
  cr_expect_eq(method_case_analyse(plan, method_of(lines), variant), status, "%s %s: %s", stencil, says, sptrsm_last_error());
  cr_expect(strstr(sptrsm_last_error(), says), "%s: %s", says, sptrsm_last_error());
  method_case_close(plan);
  cr_expect_eq(emulated_gpu_blocks, 0);
}

Test(simt_structgrid, what_is_no_stencil_is_refused) {
  grid_case c; /* D3N27 on 5 x 4 x 3 */
  const grid_problem<double> system(c, 3), mirrored(
                                               [&] {
                                                 grid_case upper = c;
                                                 upper.backward = true;
                                                 return upper;
                                               }(),
                                               3);
  expect_refusal(&system.view, "D3N27", 5, 4, 4, SPTRSM_ERR_ARGUMENT, "has not 60 points");
  expect_refusal(&system.view, "D3N27", -5, -4, 3, SPTRSM_ERR_ARGUMENT, "grid[0] is -5");
  expect_refusal(&system.view, "D3N28", 5, 4, 3, SPTRSM_ERR_ARGUMENT, "unknown stencil \"D3N28\"");
  expect_refusal(&system.view, "D2N9", 5, 4, 3, SPTRSM_ERR_ARGUMENT, "Z = 1");
  /* row 5, point (0,1,0), needs (1,0,0); on a grid of width 4 row 4 would be (0,1,0) and its column 3 not beside it */
  expect_refusal(&system.view, "D3N7", 5, 4, 3, SPTRSM_ERR_UNSUPPORTED, "row 5 has an entry");
  expect_refusal(&system.view, "D3N27", 4, 5, 3, SPTRSM_ERR_UNSUPPORTED, "row 4 has an entry");
  expect_refusal(&mirrored.view, "D3N7", 5, 4, 3, SPTRSM_ERR_UNSUPPORTED, "row 0 has an entry");
  const problem<double> arrow(shape::arrow, 60, true, false, true, false, 1), full(shape::dense, 60, true, false, true, false, 1);
  for (spti_view view : {arrow.view, full.view}) { /* columns of upper triangles are rows of lower ones */
    view.pull = true;
    view.backward = false;
    expect_refusal(&view, "", 0, 0, 0, SPTRSM_ERR_UNSUPPORTED, "say grid and stencil");
  }
}

/* Blocks that are too small for a tile leave all to pencils, unless tiles are asked for. */
Test(simt_structgrid, small_devices) {
  const grid_problem<double> system({}, 3);
  for (const size_t kib : {48, 64, 99, 163}) {
    emulated_gpu_shared_bytes = kib << 10;
    const std::string says = "a thread block of this device has up to " + std::to_string(kib << 10) + "; use tasks=pencils";
    expect_refusal(&system.view, "D3N27", 5, 4, 3, SPTRSM_ERR_UNSUPPORTED, says.c_str(), false, "tasks=tiles");
    many_grids<float>(1, 4, "f32", kib << 10);
    many_grids<double>(1, 8, "f64", kib << 10);
    many_grids<std::complex<float>>(1, 4, "c64", kib << 10);
    many_grids<std::complex<double>>(1, 4, "c128", kib << 10);
  }
}

/* Rows and lines are counted in 32 bits, and a little beyond the last. */
Test(simt_structgrid, the_longest_lines_are_refused) {
  const grid_problem<double> system({}, 3);
  spti_view view = system.view;
  view.n = INT32_MAX - 255;
  expect_refusal(&view, "D2N5", view.n, 1, 1, SPTRSM_ERR_UNSUPPORTED, "structgrid: 2147483392 rows, more than 2147483391");
  expect_refusal(&view, "D2N5", view.n, 1, 1, SPTRSM_ERR_UNSUPPORTED, "structgrid-lines: 2147483392 rows, more than 2147483391", true);
}

/* structgrid-lines counts entries in 32 bits, too, and needs stored diagonals. */
Test(simt_structgrid, lines_refuse) {
  const grid_problem<double> system({}, 3);
  spti_view view = system.view;
  view.nnz = INT32_MAX - 63;
  expect_refusal(&view, "D3N27", 5, 4, 3, SPTRSM_ERR_UNSUPPORTED, "2147483584 entries, more than 2147483583", true);
  grid_case c;
  c.unit = true;
  c.stored_diagonal = false;
  const grid_problem<double> without_diagonal(c, 3);
  expect_refusal(&without_diagonal.view, "D3N27", 5, 4, 3, SPTRSM_ERR_UNSUPPORTED, "60 rows store none; use structgrid", true);
}

static sptrsm_plan *analysed(const grid_case &c, const grid_problem<double> &system, const char *variant, int64_t hint = 0,
                             bool lines = false) {
  sptrsm_plan *plan = plan_case_open(&system.view);
  plan_case_set_stencil(plan, c.stencil.c_str(), c.grid);
  plan_case_set_size(plan, c.n(), hint);
  simt::use(simt::schedule::from_seed(3));
  cr_assert_eq(method_case_analyse(plan, method_of(lines), variant), SPTRSM_OK, "%s", sptrsm_last_error());
  return plan;
}

/* Without a hint, no work for 32 right-hand sides where that is large; tiles, which have none, leave the panel to the core. */
Test(simt_structgrid, panels) {
  static const struct {
    const char *stencil, *variant;
    int32_t n;
    int64_t hint;
    int32_t expected;
    bool tiles; /* are prepared for the grid that is there, a small one */
  } cases[] = {{"D3N27", "", 1 << 20, 0, 128, true},
               {"D3N27", "", 1 << 24, 0, 32, true},
               {"D3N27", "", (1 << 24) + 1, 0, 8, true},
               {"D3N27", "", INT32_MAX, 0, 8, true},
               {"D3N27", "", INT32_MAX, 2, 2, true},
               {"D3N27", "", INT32_MAX, 3, 3, false},
               {"D3N27", "", 1 << 20, 8, 8, false},
               {"D3N27", "", INT32_MAX, 33, 32, false},
               {"D3N27", "", 1 << 20, 33, 64, false},
               {"D3N27", "", 1 << 20, 1000, 512, false},
               {"D3N27", "tasks=pencils", INT32_MAX, 0, 32, false},
               {"D3N27", "tasks=tiles", 1000, 0, 0, true},
               {"D3N33", "", 1 << 20, 0, 128, true},
               {"D3N33", "", INT32_MAX, 0, 8, true},
               {"D3N33", "", INT32_MAX, 1, 1, true},
               {"D3N33", "", INT32_MAX, 2, 2, false}};
  for (const auto &k : cases) {
    grid_case c;
    c.stencil = k.stencil;
    const grid_problem<double> system(c, 3);
    sptrsm_plan *plan = analysed(c, system, k.variant, k.hint);
    plan_case_set_size(plan, k.n, k.hint);
    cr_expect_eq(method_case_panel(plan), k.expected, "%s %s, %d rows, hint %d: %d", k.stencil, k.variant, k.n, int(k.hint),
                 method_case_panel(plan));
    const char *says = method_case_parameters(plan);
    cr_expect_eq(strstr(says, "layout=") != nullptr, k.tiles, "%s %s, hint %d: %s", k.stencil, k.variant, int(k.hint), says);
    method_case_close(plan);
  }
}

/* What the parameters say is what is in force. */
Test(simt_structgrid, parameters) {
  static const struct {
    const char *variant, *says;
    int missing;
    bool lines = false;
  } cases[] = {{"", "layout=soa kept=256", 0},
               {"kept=0", "layout=soa kept=0 entries=missing", 4},
               {"tasks=tiles,layout=csr", "layout=csr tasks=tiles", 0},
               {"tasks=pencils,kept=1048576", "tasks=pencils kept=1048576", 0},
               {"tasks=pencils", "tasks=pencils kept=256 entries=missing", 4},
               {"warps=3", "map=stream state=line poll=acquire warps=3", 0, true},
               {"map=row,state=row,poll=relaxed", "map=row state=row poll=relaxed warps=64", 0, true}};
  for (const auto &k : cases) {
    grid_case c;
    c.missing = k.missing;
    const grid_problem<double> system(c, 3);
    sptrsm_plan *plan = analysed(c, system, k.variant, 0, k.lines);
    const std::string says = std::string("stencil=D3N27 grid=5,4,3 ") + k.says;
    cr_expect_str_eq(method_case_parameters(plan), says.c_str());
    method_case_close(plan);
  }
  const grid_problem<double> system({}, 3);
  for (const char *variant : {"kept=-1", "kept=1048577", "tasks=kept", "map=row"}) {
    sptrsm_plan *plan = plan_case_open(&system.view);
    cr_expect_eq(method_case_analyse(plan, &spti_method_structgrid, variant), SPTRSM_ERR_ARGUMENT, "%s was taken", variant);
    method_case_close(plan);
  }
}

/* The published algorithm is no task of structgrid, and has parameters of its own. */
Test(simt_structgrid, lines_are_a_method_of_their_own) {
  const grid_problem<double> system({}, 3);
  for (const char *variant : {"tasks=lines", "layout=csr,tasks=lines", "tasks=lines,map=row"})
    expect_refusal(&system.view, "D3N27", 5, 4, 3, SPTRSM_ERR_ARGUMENT, "known are tiles, pencils", false, variant);
  for (const char *variant : {"warps=0", "layout=csr", "tasks=tiles"})
    expect_refusal(&system.view, "D3N27", 5, 4, 3, SPTRSM_ERR_ARGUMENT, "structgrid-lines: ", true, variant);
}

/* A launch has as many tiles of right-hand sides as it can, and one at least. */
Test(simt_structgrid, launches_of_pencils) {
  static const int32_t grids[][3] = {{1, 1, INT32_MAX}, {1, INT32_MAX, 1}, {1, 2, INT32_MAX / 2}, {1, INT32_MAX / 2, 2},
                                     {1, 46340, 46340}, {4, 60000, 8000},  {512, 512, 512},       {5, 4, 3}};
  for (const auto &grid : grids)
    for (bool cube : {false, true}) {
      const spti_stencil s = {nullptr, cube, false, {grid[0], grid[1], grid[2]}};
      const int32_t most = spti_pencil_tiles_most(&s);
      cr_assert_geq(most, 1);
      cr_expect_leq(spti_pencil_blocks(&s, most), INT32_MAX, "%d x %d lines", grid[1], grid[2]);
      if (most < INT32_MAX) cr_expect_gt(spti_pencil_blocks(&s, most + 1), INT32_MAX, "%d x %d lines", grid[1], grid[2]);
    }
}

Test(simt_structgrid, nothing_to_solve) {
  for (bool lines : {false, true}) {
    grid_case c;
    c.lines = lines;
    c.grid[0] = c.grid[1] = c.grid[2] = 0;
    c.told = false;
    cr_expect(run_case<double>(c, 1).empty());
    c.grid[0] = 3, c.grid[1] = c.grid[2] = 2;
    c.told = true;
    c.width = 0;
    cr_expect(run_case<double>(c, 1).empty());
  }
}

/* Analysis, work and solve of nothing, in which allocation number `fail_at` fails. */
static sptrsm_status run_allocations(const grid_case &c, const grid_problem<double> &system, int fail_at) {
  sptrsm_plan *plan = plan_case_open(&system.view);
  plan_case_set_stencil(plan, "D3N27", c.grid);
  simt::use(simt::schedule::from_seed(3));
  emulated_gpu_fail_at = fail_at;
  sptrsm_status status = method_case_analyse(plan, method_of(c.lines), c.variant.c_str());
  if (status == SPTRSM_OK) status = method_case_solve(plan, 1, nullptr, 0);
  cr_assert(status == SPTRSM_OK || status == SPTRSM_ERR_MEMORY, "%s, allocation %d: %s", c.name().c_str(), fail_at, sptrsm_last_error());
  emulated_gpu_fail_at = -1;
  method_case_close(plan);
  cr_assert_eq(emulated_gpu_blocks, 0, "%s, allocation %d: %d blocks left over", c.name().c_str(), fail_at, emulated_gpu_blocks);
  return status;
}

/* Each allocation of an analysis and a work fails once: an error, and nothing left over. */
Test(simt_structgrid, allocations) {
  for (int missing : {0, 5})
    for (const char *variant : {"", "layout=csr", "clock=1"}) {
      grid_case c;
      c.variant = variant;
      c.lines = c.variant == "clock=1";
      c.missing = missing;
      const grid_problem<double> system(c, 3);
      sptrsm_status status = SPTRSM_ERR_MEMORY;
      for (int fail_at = 0; status != SPTRSM_OK; fail_at++) status = run_allocations(c, system, fail_at);
    }
}
