/* pack.cpp -- packing, unpacking and solving with the D of LDL' on the emulator, against plain loops. */
#include <criterion/criterion.h>

#include <algorithm>

#include "core/device/convert.h"
#include "core/plan/pack_kernels.h"
#include "simt/cases/problem.h"
#include "simt/emulator/simt.h"

struct pack_case {
  int32_t n, width;
  bool to_work, row_major, map, scale;
  sptrsm_convention convention;
  sptrsm_scale_op scale_op;
  int alpha; /* 0: one, 1: real, 2: complex */
  int32_t gap, padding;

  void draw(uint64_t seed) {
    numbers r(seed + 7);
    for (int i = 0; i < 8; i++) r.next();
    to_work = r.below(2);
    row_major = r.below(2);
    map = r.below(2);
    scale = r.below(2);
    convention = sptrsm_convention(r.below(2));
    scale_op = sptrsm_scale_op(r.below(2));
    alpha = to_work ? r.below(3) : 0;
    gap = r.below(3);
    padding = r.below(2) ? r.below(5) : 0;
  }
  std::string name() const {
    return std::string(to_work ? "pack" : "unpack") + " n=" + std::to_string(n) + " width=" + std::to_string(width) +
           (row_major ? " row" : " column") + "-major" + (map ? convention == SPTRSM_GATHER ? " gather" : " scatter" : "") +
           (scale ? scale_op == SPTRSM_DIVIDE ? " divide" : " multiply" : "") + " alpha=" + std::to_string(alpha);
  }
};

static std::vector<int32_t> permutation(int32_t n, uint64_t seed) {
  numbers random(seed);
  std::vector<int32_t> map(static_cast<size_t>(n));
  for (int32_t i = 0; i < n; i++) map[size_t(i)] = i;
  for (int32_t i = n; i > 1; i--) std::swap(map[size_t(i - 1)], map[size_t(random.below(i))]);
  return map;
}

template <typename T> static bool close(T a, wide exact) {
  using real = typename dtype_of<T>::real;
  return std::abs(widen(a) - exact) <= 4 * std::numeric_limits<real>::epsilon() * std::abs(exact);
}

template <typename T> static void check_pack(const pack_case &c, uint64_t seed) {
  const int64_t ld = c.width + c.padding + c.gap, block_ld = c.gap + (c.row_major ? c.width : c.n);
  const int64_t block_size = block_ld * (c.row_major ? c.n : c.width);
  std::vector<T> block = random_block<T>(block_size, seed), work = random_block<T>(c.n * ld, seed + 9);
  const std::vector<T> old_block = block, old_work = work;
  const std::vector<int32_t> map = permutation(c.n, seed);
  std::vector<double> scale = random_block<double>(c.n, seed + 3);
  for (double &s : scale) s += s < 0 ? -1 : 1;
  spti_pack_args a = {c.n,
                      c.width,
                      c.to_work ? c.width + c.padding : c.width,
                      block.data(),
                      c.row_major ? block_ld : 1,
                      c.row_major ? 1 : block_ld,
                      work.data(),
                      ld,
                      c.map ? map.data() : nullptr,
                      c.convention,
                      c.scale ? scale.data() : nullptr,
                      c.scale_op,
                      {1, 0}};
  if (c.alpha > 0) a.alpha[0] = 0.75;
  if (c.alpha > 1 && dtype_of<T>::value >= SPTRSM_C64) a.alpha[1] = -0.5;
  simt::use(simt::schedule::from_seed(seed));
  const int error = c.to_work ? spti_pack_launch(&a, dtype_of<T>::value, nullptr) : spti_unpack_launch(&a, dtype_of<T>::value, nullptr);
  cr_assert_eq(error, 0, "%s: %s", simt::error().c_str(), c.name().c_str());

  std::vector<T> rest = c.to_work ? work : block; /* memory that the kernel must not write */
  for (int64_t i = 0; i < c.n; i++) {
    const int64_t from = c.map && c.convention == SPTRSM_GATHER ? map[size_t(i)] : i,
                  to = c.map && c.convention == SPTRSM_SCATTER ? map[size_t(i)] : i;
    const int64_t b = c.to_work ? from : to, w = c.to_work ? to : from;
    for (int64_t k = 0; k < c.width + (c.to_work ? c.padding : 0); k++) {
      const size_t in_block = size_t(b * a.row_stride + k * a.col_stride), in_work = size_t(w * ld + k);
      wide exact = 0;
      if (k < c.width) exact = widen(c.to_work ? old_block[in_block] : old_work[in_work]) * wide(a.alpha[0], a.alpha[1]);
      if (c.scale) exact = c.scale_op == SPTRSM_DIVIDE ? exact / wide(scale[size_t(b)]) : exact * wide(scale[size_t(b)]);
      const T got = c.to_work ? work[in_work] : block[in_block];
      const bool exactly = !c.scale && c.alpha == 0;
      cr_assert(exactly ? widen(got) == exact : close(got, exact), "element (%d,%d) is wrong: %s; seed %d", int(i), int(k),
                c.name().c_str(), int(seed));
      const size_t at = c.to_work ? in_work : in_block;
      rest[at] = c.to_work ? old_work[at] : old_block[at];
    }
  }
  cr_assert(rest == (c.to_work ? old_work : old_block), "wrote outside the panel: %s; seed %d", c.name().c_str(), int(seed));
  cr_assert(c.to_work ? block == old_block : work == old_work, "changed its input: %s; seed %d", c.name().c_str(), int(seed));
}

template <typename T> static void check_all_packs(uint64_t first) {
  static const int32_t orders[] = {0, 1, 2, 31, 32, 33, 100}, widths[] = {1, 2, 7, 31, 32, 33, 64, 65};
  uint64_t seed = first;
  for (int32_t n : orders)
    for (int32_t width : widths)
      for (int variant = 0; variant < 6; variant++) {
        pack_case c;
        if (left_to_other_builds(++seed)) continue;
        c.draw(seed);
        c.n = n;
        c.width = width;
        check_pack<T>(c, seed);
      }
}

Test(simt_pack, f32) { check_all_packs<float>(1000); }
Test(simt_pack, f64) { check_all_packs<double>(2000); }
Test(simt_pack, c64) { check_all_packs<std::complex<float>>(3000); }
Test(simt_pack, c128) { check_all_packs<std::complex<double>>(4000); }

/* A real alpha of one must not mix the parts: 0 * Inf would make a NaN. */
Test(simt_pack, infinity_stays_in_its_part) {
  const double inf = std::numeric_limits<double>::infinity();
  std::complex<double> b(inf, 2), w(0, 0);
  const spti_pack_args a = {1, 1, 1, &b, 1, 1, &w, 1, nullptr, SPTRSM_GATHER, nullptr, SPTRSM_MULTIPLY, {1, 0}};
  simt::use(simt::schedule::from_seed(1));
  cr_assert_eq(spti_pack_launch(&a, SPTRSM_C128, nullptr), 0);
  cr_assert(w.real() == inf && w.imag() == 2);
}

/* A row-major block can be its own work block: only alpha is applied then. */
Test(simt_pack, in_place) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    const int32_t n = 70, width = 1 + int32_t(seed) * 3;
    const int64_t ld = width + int64_t(seed % 3);
    std::vector<double> W = random_block<double>(n * ld, seed);
    const std::vector<double> before = W;
    const spti_pack_args a = {n, width, width, W.data(), ld, 1, W.data(), ld, nullptr, SPTRSM_GATHER, nullptr, SPTRSM_MULTIPLY, {-2, 0}};
    simt::use(simt::schedule::from_seed(seed));
    cr_assert_eq(spti_pack_launch(&a, SPTRSM_F64, nullptr), 0, "%s", simt::error().c_str());
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = 0; k < ld; k++) cr_assert_eq(W[size_t(i * ld + k)], before[size_t(i * ld + k)] * (k < width ? -2 : 1));
  }
}

/* Offsets between 64 and 32 bits. */
Test(simt_pack, offsets) {
  for (int64_t count = 0; count < 600; count += 1 + count) {
    std::vector<int64_t> wide_offsets(size_t(count), 0), back(size_t(count), -1);
    std::vector<int32_t> narrow(size_t(count), -1);
    for (int64_t i = 0; i < count; i++) wide_offsets[size_t(i)] = INT32_MAX - i * 1001;
    simt::use(simt::schedule::from_seed(uint64_t(count) + 1));
    cr_assert_eq(spti_narrow_launch(narrow.data(), wide_offsets.data(), count, nullptr), 0, "%s", simt::error().c_str());
    cr_assert_eq(spti_widen_launch(back.data(), narrow.data(), count, nullptr), 0, "%s", simt::error().c_str());
    cr_assert(back == wide_offsets);
  }
}

/* ---- D ---- */

static float conjugate(float v) { return v; }
static double conjugate(double v) { return v; }
template <typename R> static std::complex<R> conjugate(std::complex<R> v) { return std::conj(v); }

/* abs(w_i - (op(D) x)_i) relative to the sum of its terms. */
template <typename T>
static void check_diagonal(const spti_diagonal_args &a, const std::vector<T> &D, const std::vector<T> &sub, const std::vector<T> &x,
                           const std::vector<T> &w, const char *name) {
  using real = typename dtype_of<T>::real;
  for (int32_t i = 0; i < a.n; i++)
    for (int64_t k = 0; k < a.width; k++) {
      const auto op = [&](T v) { return widen(a.conj ? conjugate(v) : v); };
      const auto at = [&](int32_t r) { return widen(x[size_t(r * a.ld + k)]); };
      wide r = widen(w[size_t(i * a.ld + k)]) - op(D[size_t(i)]) * at(i);
      long double terms = std::abs(op(D[size_t(i)])) * std::abs(at(i)) + std::abs(widen(w[size_t(i * a.ld + k)]));
      if (a.D_sub && i > 0 && sub[size_t(i - 1)] != T(0)) { /* element (i,i-1) of op(D) */
        const T s = sub[size_t(i - 1)];
        const wide e = op(a.hermitian && a.transpose ? conjugate(s) : s);
        r -= e * at(i - 1);
        terms += std::abs(e) * std::abs(at(i - 1));
      }
      if (a.D_sub && i + 1 < a.n && sub[size_t(i)] != T(0)) { /* element (i,i+1) */
        const T s = sub[size_t(i)];
        const wide e = op(a.hermitian && !a.transpose ? conjugate(s) : s);
        r -= e * at(i + 1);
        terms += std::abs(e) * std::abs(at(i + 1));
      }
      cr_assert(std::abs(r) <= 16 * std::numeric_limits<real>::epsilon() * terms, "%s: row %d, column %d", name, int(i), int(k));
    }
}

template <typename T> static void check_diagonals(const char *name) {
  static const int32_t orders[] = {0, 1, 2, 33, 300}, widths[] = {1, 7, 33};
  uint64_t seed = 1;
  for (int32_t n : orders)
    for (int32_t width : widths)
      for (int variant = 0; variant < 16; variant++, seed++) {
        if (left_to_other_builds(seed)) continue;
        const int64_t ld = width + variant % 3;
        std::vector<T> D = random_block<T>(n, seed), sub(size_t(n), T(0)), W = random_block<T>(n * ld, seed + 1);
        const std::vector<T> before = W, off = random_block<T>(n, seed + 2);
        for (int32_t i = 0; i < n; i++) D[size_t(i)] += T(D[size_t(i)] == T(0) ? 2 : 0);
        for (int32_t i = 0; i + 1 < n; i += 2 + i % 3) { /* 2x2 blocks as Bunch and Kaufman choose them: small pivots */
          sub[size_t(i)] = off[size_t(i)] + T(typename dtype_of<T>::real(off[size_t(i)] == conjugate(off[size_t(i)]) ? 3 : 2));
          D[size_t(i)] *= T(0.25);
          D[size_t(i + 1)] *= T(0.25);
          if (i % 4 == 3) sub[size_t(i)] *= T(1e-25f); /* and some blocks with a tiny coupling */
        }
        const bool pairs = variant & 1;
        const spti_diagonal_args a = {
            n, width, W.data(), ld, D.data(), pairs ? sub.data() : nullptr, (variant >> 1) & 1, (variant >> 2) & 1, (variant >> 3) & 1};
        simt::use(simt::schedule::from_seed(seed));
        cr_assert_eq(spti_diagonal_launch(&a, dtype_of<T>::value, nullptr), 0, "%s", simt::error().c_str());
        check_diagonal(a, D, sub, W, before, name);
        for (int64_t i = 0; i < n; i++)
          for (int64_t k = width; k < ld; k++)
            cr_assert(W[size_t(i * ld + k)] == before[size_t(i * ld + k)], "%s: wrote beyond the panel", name);
      }
}

Test(simt_pack, diagonal_f32) { check_diagonals<float>("f32"); }
Test(simt_pack, diagonal_f64) { check_diagonals<double>("f64"); }
Test(simt_pack, diagonal_c64) { check_diagonals<std::complex<float>>("c64"); }
Test(simt_pack, diagonal_c128) { check_diagonals<std::complex<double>>("c128"); }
