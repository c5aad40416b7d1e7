/* problem.h -- small triangular systems for the tests of kernels, and the residuals of their solutions. */
#ifndef TESTS_SIMT_CASES_PROBLEM_H
#define TESTS_SIMT_CASES_PROBLEM_H

#include <stdlib.h>
#include <string.h>

#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "core/matrix/view.h"

template <typename T> struct dtype_of;
template <> struct dtype_of<float> {
  static constexpr sptrsm_dtype value = SPTRSM_F32;
  using real = float;
};
template <> struct dtype_of<double> {
  static constexpr sptrsm_dtype value = SPTRSM_F64;
  using real = double;
};
template <> struct dtype_of<std::complex<float>> {
  static constexpr sptrsm_dtype value = SPTRSM_C64;
  using real = float;
};
template <> struct dtype_of<std::complex<double>> {
  static constexpr sptrsm_dtype value = SPTRSM_C128;
  using real = double;
};

using wide = std::complex<long double>;
inline wide widen(float v) { return wide(v); }
inline wide widen(double v) { return wide(v); }
template <typename R> wide widen(std::complex<R> v) { return wide(v.real(), v.imag()); }

class numbers { /* random numbers that depend on the seed only, on every machine */
public:
  explicit numbers(uint64_t seed) : state(seed * 2654435761u + 88172645463325252u) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  int below(int n) { return int((next() >> 20) % uint64_t(n)); }
  double between(double low, double high) { return low + (high - low) * double(next() >> 11) / 9007199254740992.0; }
  void make(float &v) { v = float(between(-1, 1)); }
  void make(double &v) { v = between(-1, 1); }
  template <typename R> void make(std::complex<R> &v) {
    const double re = between(-1, 1), im = between(-1, 1);
    v = {R(re), R(im)};
  }

private:
  uint64_t state;
};

enum class shape { diagonal, chain, arrow, dense_last, dense, grid, random, count };
inline const char *shape_name(shape s) {
  static const char *const names[] = {"diagonal", "chain", "arrow", "dense last row", "dense", "grid", "random"};
  return names[int(s)];
}

/* Is (i,j), i > j, an entry of the lower triangle? Backward systems are its mirror image: row n-1-i, column n-1-j. */
inline bool has_entry(shape s, int n, int i, int j, numbers &random) {
  const int side = 9;
  switch (s) {
  case shape::diagonal: return false;
  case shape::chain: return i == j + 1;
  case shape::arrow: return j == 0;
  case shape::dense_last: return i == n - 1;
  case shape::dense: return true;
  case shape::grid: return (i == j + 1 && i % side != 0) || i == j + side;
  default: return random.below(8) == 0;
  }
}

/* A view of order n, by columns, forward, of arrays that stand for device memory. The caller sets the other members. */
template <typename T>
spti_view view_of(int32_t n, const std::vector<int64_t> &ptr, const std::vector<int32_t> &idx, const std::vector<T> &val) {
  spti_view view = {};
  view.n = n;
  view.nnz = ptr.back();
  view.dtype = dtype_of<T>::value;
  view.place = SPTRSM_CUDA;
  view.ptr = ptr.data();
  view.idx = idx.data();
  view.val = val.data();
  return view;
}

template <typename T> struct problem {
  using real = typename dtype_of<T>::real;
  int32_t n;
  std::vector<int64_t> ptr;
  std::vector<int32_t> idx;
  std::vector<T> val;
  spti_view view; /* push: column j of op(T); points into the vectors */

  problem(shape s, int32_t order, bool backward, bool unit, bool stored_diagonal, bool conj, uint64_t seed) : n(order) {
    numbers random(seed);
    std::vector<std::vector<char>> full(size_t(n), std::vector<char>(size_t(n), 0));
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) full[size_t(i)][size_t(j)] = has_entry(s, n, i, j, random);
    ptr.push_back(0);
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < n; i++) {
        const int mi = backward ? n - 1 - i : i, mj = backward ? n - 1 - j : j;
        if (i == j ? stored_diagonal : mi > mj && full[size_t(mi)][size_t(mj)]) add_entry(i, i == j, unit, random);
      }
      ptr.push_back(int64_t(idx.size()));
    }
    view = view_of(n, ptr, idx, val);
    view.head = stored_diagonal && !backward;
    view.tail = stored_diagonal && backward;
    view.backward = backward;
    view.conj = conj;
    view.unit = unit;
  }
  problem(const problem &) = delete;
  problem &operator=(const problem &) = delete;

  /* The largest entry of abs(b - T x) / ((k_i + 1) u (abs(T) abs(x))_i); NaN if x has one. */
  double residual(const T *x, const T *b, int64_t ld, int32_t width) const {
    double worst = 0;
    for (int32_t k = 0; k < width; k++) {
      std::vector<wide> r(size_t(n), 0);
      std::vector<long double> scale(size_t(n), 0), terms(size_t(n), 1);
      for (int32_t j = 0; j < n; j++) {
        const wide xj = widen(x[j * ld + k]);
        if (view.unit) add_term(j, wide(1), xj, r, scale, terms);
        for (int64_t p = ptr[size_t(j)]; p < ptr[size_t(j) + 1]; p++) {
          const wide t = widen(val[size_t(p)]);
          if (idx[size_t(p)] != j || !view.unit) add_term(idx[size_t(p)], view.conj ? std::conj(t) : t, xj, r, scale, terms);
        }
      }
      for (int32_t i = 0; i < n; i++) {
        const long double u = std::numeric_limits<real>::epsilon() / 2;
        const long double bound = terms[size_t(i)] * u * scale[size_t(i)];
        const double ratio = double(std::abs(r[size_t(i)] - widen(b[i * ld + k])) / bound);
        if (!(ratio <= worst)) worst = ratio;
        if (worst != worst) return worst;
      }
    }
    return worst;
  }

private:
  void add_entry(int i, bool diagonal, bool unit, numbers &random) {
    T v;
    random.make(v);
    if (diagonal) v = unit ? T(std::numeric_limits<real>::quiet_NaN()) : T(real(2)) + v; /* a unit diagonal is never read */
    else v = v * real(0.5);
    idx.push_back(i);
    val.push_back(v);
  }
  static void add_term(int32_t i, wide t, wide x, std::vector<wide> &r, std::vector<long double> &scale, std::vector<long double> &terms) {
    r[size_t(i)] += t * x;
    scale[size_t(i)] += std::abs(t) * std::abs(x);
    terms[size_t(i)] += 1;
  }
};

/* The columns of a system read as rows: the mirror image, in the other direction. */
template <typename T> spti_view as_rows(const problem<T> &columns) {
  spti_view view = columns.view;
  view.pull = true;
  view.backward = !view.backward;
  return view;
}

template <typename T> std::vector<T> random_block(int64_t count, uint64_t seed) {
  numbers random(seed);
  std::vector<T> v(static_cast<size_t>(count));
  for (T &x : v) random.make(x);
  return v;
}

/* A value with the bits of the sentinel. A complex value may have them in one part only, by the seed; the other part is then 1. */
template <typename T> T like_sentinel(uint64_t seed) {
  using real = typename dtype_of<T>::real;
  constexpr size_t COUNT = sizeof(T) / sizeof(real);
  real words[COUNT];
  for (size_t w = 0; w < COUNT; w++) {
    words[w] = 1;
    if (COUNT == 1 || seed % 3 != w) memset(&words[w], 0xff, sizeof words[w]);
  }
  T v;
  memcpy((void *)&v, words, sizeof v);
  return v;
}

/* The share of cases that a build runs: all if SIMT_ALL is set, else one in two, and one in ten with AddressSanitizer, which is slow. */
inline uint64_t one_case_in() {
  if (getenv("SIMT_ALL") || getenv("SIMT_SEED")) return 1;
#if defined(__SANITIZE_ADDRESS__)
  return 10;
#else
  return 2;
#endif
}

inline bool left_to_other_builds(uint64_t number) { return number % one_case_in() != 0; }

/* Of cases that take the same paths AddressSanitizer runs one in `every`. */
inline bool spared(uint64_t number, uint64_t every) { return one_case_in() > 2 && number % every != 0; }

/* The number of schedules of one case that a build runs, of `count`. */
inline uint64_t schedules(uint64_t count) { return one_case_in() <= 2 ? count : (count + 4) / 5; }

/* The seeds of a test: SIMT_SEED alone if it is set, else `count` seeds from `from` on. */
struct seed_range {
  uint64_t first, last;
  seed_range(uint64_t from, uint64_t count) : first(from), last(from + count - 1) {
    if (const char *s = getenv("SIMT_SEED")) first = last = strtoull(s, nullptr, 10);
  }
};

#endif
