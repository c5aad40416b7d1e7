/* sptrsm.hpp -- C++17 over sptrsm.h and sptrsm_refine.h: handles that end themselves, typed views of arrays, exceptions, Eigen.
 *
 *   sptrsm::context context;                                              the host, with all usable processors
 *   sptrsm::matrix L(context, sptrsm::triangle(SPTRSM_CSR, SPTRSM_LOWER, n, ptr, idx, val));
 *   sptrsm::plan plan(L);
 *   plan.solve(sptrsm::column_major(b, n, nrhs), sptrsm::column_major(x, n, nrhs));
 *
 * Right-hand sides and solutions are sptrsm::block views, vectors (anything with data() and size(): std::vector, std::span), or dense
 * objects of Eigen that have their numbers in memory (Matrix, Map, Ref, blocks of columns), which are read and written where they are.
 * Include Eigen's modules SparseLU and SparseCholesky before this header for sptrsm::from_eigen, which takes over their factors.
 *
 * Errors: every failing call throws sptrsm::error with the status and the message of the C function. Destructors do not throw.
 * Ownership: context, matrix, plan, workspace and direct own one object each; they can be moved, not copied, and ended in any order. get()
 *   lends the C object for functions that have no counterpart here. Blocks and triangles own nothing.
 * Threads, sizes, and what every argument means: sptrsm.h.
 */
#ifndef SPTRSM_HPP
#define SPTRSM_HPP

#include <sptrsm.h>
#include <sptrsm_refine.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace sptrsm {

/* ---- errors ---- */

class error : public std::runtime_error {
public:
  error(sptrsm_status status, const std::string &message) : std::runtime_error(message), status_(status) {}
  sptrsm_status status() const noexcept { return status_; }

private:
  sptrsm_status status_;
};

inline void check(sptrsm_status status) {
  if (status != SPTRSM_OK) throw error(status, sptrsm_last_error());
}

/* ---- views ---- */

/* The sptrsm_dtype of float, double, std::complex<float> and std::complex<double>; other types do not compile. */
template <class T> constexpr sptrsm_dtype dtype_of() {
  using S = std::remove_const_t<T>;
  constexpr bool real32 = std::is_same_v<S, float>, real64 = std::is_same_v<S, double>, complex32 = std::is_same_v<S, std::complex<float>>;
  static_assert(real32 || real64 || complex32 || std::is_same_v<S, std::complex<double>>, "float, double, or std::complex of these");
  return real32 ? SPTRSM_F32 : real64 ? SPTRSM_F64 : complex32 ? SPTRSM_C64 : SPTRSM_C128;
}

/* Orders and indices have 32 bits in the library. */
inline int32_t narrow(int64_t value, const char *what) {
  if (value < 0 || value > std::numeric_limits<int32_t>::max())
    throw error(SPTRSM_ERR_UNSUPPORTED, std::string(what) + " " + std::to_string(value) + " is not in 0 .. 2147483647");
  return static_cast<int32_t>(value);
}

/* A dense block of n rows and nrhs columns in the caller's memory; const T for blocks that are only read. */
template <class T> struct block {
  T *data;
  int32_t n;
  int64_t nrhs, ld; /* element (i,k) at i*ld+k by rows, i+k*ld by columns */
  sptrsm_layout layout;
  sptrsm_place place;

  sptrsm_block c() const { return {const_cast<std::remove_const_t<T> *>(data), ld, n, nrhs, dtype_of<T>(), layout, place}; }
};
/* ld 0: the smallest. */
template <class T> block<T> row_major(T *data, int32_t n, int64_t nrhs, int64_t ld = 0, sptrsm_place place = SPTRSM_HOST) {
  return {data, n, nrhs, ld ? ld : std::max<int64_t>(nrhs, 1), SPTRSM_ROW_MAJOR, place};
}
template <class T> block<T> column_major(T *data, int32_t n, int64_t nrhs, int64_t ld = 0, sptrsm_place place = SPTRSM_HOST) {
  return {data, n, nrhs, ld ? ld : std::max<int64_t>(n, 1), SPTRSM_COL_MAJOR, place};
}

/* A triangle in the caller's arrays: ptr [n+1], idx and val [ptr[n]], 0-based and sorted. */
template <class T>
sptrsm_sparse triangle(sptrsm_format format, sptrsm_uplo uplo, int32_t n, const int64_t *ptr, const int32_t *idx, const T *val,
                       sptrsm_diag diag = SPTRSM_NONUNIT, sptrsm_place place = SPTRSM_HOST) {
  return {format, dtype_of<T>(), uplo, diag, place, n, ptr, idx, val};
}

template <class M, class = void> struct is_matrix : std::false_type {};
template <class M> struct is_matrix<M, std::void_t<decltype(std::declval<M &>().outerStride())>> : std::true_type {};

/* The block that an argument of solve stands for: a block itself, a dense object of Eigen, or a container as one column. */
template <class T> block<T> view(const block<T> &b) { return b; }
template <class C> auto view(C &&c) -> block<std::remove_pointer_t<decltype(c.data())>> {
  using M = std::remove_reference_t<C>;
  if constexpr (is_matrix<M>::value) {
    const int32_t n = narrow(c.rows(), "number of rows");
    const int64_t columns = c.cols(), inner = c.innerStride(), outer = c.outerStride(), length = M::IsRowMajor ? columns : n;
    if (inner == 1 && (outer >= length || c.size() <= length)) /* else lines lie on each other */
      return M::IsRowMajor ? row_major(c.data(), n, columns, outer) : column_major(c.data(), n, columns, outer);
    const int64_t down = M::IsRowMajor ? outer : inner, across = M::IsRowMajor ? inner : outer;
    if (columns == 1 && down > 0) return row_major(c.data(), n, 1, down); /* a column of a matrix that is stored by rows */
    if (n == 1 && across > 0) return column_major(c.data(), 1, columns, across);
    throw error(SPTRSM_ERR_UNSUPPORTED, "a dense block with an inner stride of " + std::to_string(inner) + " and an outer stride of " +
                                            std::to_string(outer) + " must be copied first");
  } else {
    return column_major(c.data(), narrow(static_cast<int64_t>(c.size()), "length"), 1);
  }
}
template <class C> using value_of = std::remove_const_t<std::remove_pointer_t<decltype(view(std::declval<C>()).data)>>;

/* B and X of a solve in C. */
template <class C, class = void> struct is_viewable : std::false_type {};
template <class C> struct is_viewable<C, std::void_t<decltype(view(std::declval<C>()))>> : std::true_type {};
template <class C> sptrsm_block c_read(const C &B) {
  static_assert(is_viewable<const C &>::value, "B must have its numbers in memory: call eval() of an expression first");
  return view(B).c();
}
template <class C> sptrsm_block c_written(C &X) {
  static_assert(!std::is_const_v<std::remove_pointer_t<decltype(view(X).data)>>, "X is written, but its numbers are const");
  return view(X).c();
}

/* An empty object of B's kind and shape: a Matrix for Eigen's dense objects, else a std::vector. */
template <class T> void like(const block<T> &) {
  static_assert(sizeof(T) == 0, "solve(B) makes an X like B, but a block is only a view: call solve(B, X)");
}
template <class C> auto like(const C &B) {
  static_assert(is_viewable<const C &>::value, "B must have its numbers in memory: call eval() of an expression first");
  if constexpr (is_matrix<C>::value) {
    typename C::PlainObject X;
    X.resize(B.rows(), B.cols());
    return X;
  } else {
    return std::vector<value_of<const C &>>(B.size());
  }
}

/* A compressed SparseMatrix of Eigen, or a Map of one. Values and inner indices of 32 bits are borrowed, others converted. The matrix must
 * outlive the view; the view, which so has a name, what its functions return, and what is made of that with SPTRSM_BORROW. */
class sparse_view {
public:
  template <class M>
  explicit sparse_view(const M &A)
      : format_(M::IsRowMajor ? SPTRSM_CSR : SPTRSM_CSC), dtype_(dtype_of<typename M::Scalar>()), n_(narrow(A.rows(), "number of rows")),
        val_(A.valuePtr()) {
    if (!A.isCompressed()) throw error(SPTRSM_ERR_ARGUMENT, "the sparse matrix is not compressed: call makeCompressed() first");
    if (A.rows() != A.cols())
      throw error(SPTRSM_ERR_ARGUMENT,
                  "the sparse matrix is " + std::to_string(A.rows()) + " x " + std::to_string(A.cols()) + ", not square");
    ptr_.assign(A.outerIndexPtr(), A.outerIndexPtr() + n_ + 1);
    if constexpr (sizeof(typename M::StorageIndex) == sizeof(int32_t)) idx_ = A.innerIndexPtr();
    else {
      converted_.assign(A.innerIndexPtr(), A.innerIndexPtr() + ptr_[n_]); /* below n, which has 32 bits */
      idx_ = converted_.data();
    }
  }
  sparse_view(const sparse_view &) = delete;
  sparse_view &operator=(const sparse_view &) = delete;

  sptrsm_sparse triangle(sptrsm_uplo uplo, sptrsm_diag diag = SPTRSM_NONUNIT) const & {
    return {format_, dtype_, uplo, diag, SPTRSM_HOST, n_, ptr_.data(), idx_, val_};
  }
  sptrsm_square square(sptrsm_symmetry symmetry = SPTRSM_GENERAL) const & {
    return {format_, dtype_, symmetry, SPTRSM_HOST, n_, ptr_.data(), idx_, val_};
  }
  sptrsm_sparse triangle(sptrsm_uplo, sptrsm_diag = SPTRSM_NONUNIT) && = delete;
  sptrsm_square square(sptrsm_symmetry = SPTRSM_GENERAL) && = delete;

private:
  sptrsm_format format_;
  sptrsm_dtype dtype_;
  int32_t n_;
  std::vector<int64_t> ptr_;
  std::vector<int32_t> converted_;
  const int32_t *idx_;
  const void *val_;
};

/* ---- objects ---- */

struct destroy {
  void operator()(sptrsm_context *object) const noexcept { sptrsm_context_destroy(object); }
  void operator()(sptrsm_matrix *object) const noexcept { sptrsm_matrix_destroy(object); }
  void operator()(sptrsm_plan *object) const noexcept { sptrsm_plan_destroy(object); }
  void operator()(sptrsm_workspace *object) const noexcept { sptrsm_workspace_destroy(object); }
  void operator()(sptrsm_direct *object) const noexcept { sptrsm_direct_destroy(object); }
};

template <class Object> class handle {
public:
  Object *get() const noexcept { return object_.get(); }

protected:
  template <class Create, class... Arguments> explicit handle(Create create, Arguments... arguments) {
    Object *out = nullptr;
    check(create(&out, arguments...));
    object_.reset(out);
  }

private:
  std::unique_ptr<Object, destroy> object_;
};

/* The C structs with their defaults. */
struct options : sptrsm_options {
  options() { sptrsm_options_init(this); }
};
struct factors : sptrsm_factors {
  factors() { sptrsm_factors_init(this); }
};
struct refine_options : sptrsm_refine_options {
  refine_options() { sptrsm_refine_options_init(this); }
};

class context : public handle<sptrsm_context> {
public:
  /* The host. threads 0: OMP_NUM_THREADS, else the usable processors. */
  explicit context(int threads = 0) : handle(sptrsm_context_create, SPTRSM_HOST, 0, nullptr) { set_threads(threads); }
  /* A CUDA device, on a cudaStream_t that outlives the context or, with nullptr, on a stream of the context's own. */
  static context cuda(int device = 0, void *stream = nullptr) { return context(SPTRSM_CUDA, device, stream); }

  void set_threads(int threads) { check(sptrsm_context_set_threads(get(), threads)); }
  void sync() { check(sptrsm_context_sync(get())); }
  std::string describe() const { return get() ? sptrsm_context_describe(get()) : "moved to another handle"; }

private:
  context(sptrsm_place place, int device, void *stream) : handle(sptrsm_context_create, place, device, stream) {}
};

class matrix : public handle<sptrsm_matrix> {
public:
  matrix(const context &context, const sptrsm_sparse &T, sptrsm_copy_mode mode = SPTRSM_COPY)
      : handle(sptrsm_matrix_create, context.get(), &T, mode) {}
  /* New values for the same pattern, of the type that the matrix was created with. */
  void set_values(const void *val) { check(sptrsm_matrix_set_values(get(), val)); }
};

class plan : public handle<sptrsm_plan> {
public:
  explicit plan(const matrix &matrix, const sptrsm_options &chosen = options()) : handle(sptrsm_plan_create, matrix.get(), &chosen) {}

  sptrsm_info info() const {
    sptrsm_info out = {};
    out.size = sizeof out;
    check(sptrsm_plan_info(&out, get()));
    return out;
  }

  /* op(T) X = alpha B. X may be B. One such solve at a time; several threads need a workspace each. */
  template <class In, class Out> void solve(const In &B, Out &&X, value_of<Out> alpha = 1) const { run(nullptr, B, X, alpha); }
  template <class In, class Out>
  void solve(const handle<sptrsm_workspace> &workspace, const In &B, Out &&X, value_of<Out> alpha = 1) const {
    if (!workspace.get()) throw error(SPTRSM_ERR_ARGUMENT, "the workspace was moved to another handle");
    run(workspace.get(), B, X, alpha);
  }
  template <class In> auto solve(const In &B) const {
    auto X = like(B);
    solve(B, X);
    return X;
  }

private:
  template <class In, class Out> void run(sptrsm_workspace *workspace, const In &B, Out &X, value_of<Out &> alpha) const {
    const sptrsm_block from = c_read(B);
    sptrsm_block to = c_written(X);
    check(sptrsm_solve(get(), workspace, &alpha, &from, &to));
  }
};

/* What one solve changes: one for each thread that solves with the same plan. */
class workspace : public handle<sptrsm_workspace> {
public:
  explicit workspace(const plan &plan, int32_t panel = 0) : handle(sptrsm_workspace_create, plan.get(), panel) {}
};

/* What direct::refine returns, one element per right-hand side. */
struct refinement {
  std::vector<double> berr, ferr; /* backward errors; bounds of forward errors, empty unless asked for */
  int64_t unconverged;
};

/* The solve phase of a direct solver: x = C Q U^-1 D^-1 L^-1 P R b. */
class direct : public handle<sptrsm_direct> {
public:
  direct(const context &context, const sptrsm_factors &set, const sptrsm_options &chosen = options())
      : handle(sptrsm_direct_create, context.get(), &set, &chosen) {}

  /* op(S) X = alpha B. X may be B. */
  template <class In, class Out>
  void solve(const In &B, Out &&X, sptrsm_system system = SPTRSM_SYS_A, sptrsm_op op = SPTRSM_N, value_of<Out> alpha = 1) {
    const sptrsm_block from = c_read(B);
    sptrsm_block to = c_written(X);
    check(sptrsm_direct_solve(get(), system, op, &alpha, &from, &to));
  }
  template <class In> auto solve(const In &B) {
    auto X = like(B);
    solve(B, X);
    return X;
  }

  /* The matrix that the factors were made from, which refine needs. It is copied. */
  void set_original(const sptrsm_square &A) { check(sptrsm_direct_set_original(get(), &A)); }
  /* Refines the solutions X of A X = B in place. bounds: also estimate the forward errors, which takes about five more solves. */
  template <class In, class Out>
  refinement refine(const In &B, Out &&X, bool bounds = false, const sptrsm_refine_options &chosen = refine_options()) {
    const sptrsm_block from = c_read(B);
    sptrsm_block to = c_written(X);
    const auto count = static_cast<size_t>(std::max<int64_t>(from.nrhs, 0));
    refinement out = {std::vector<double>(count), std::vector<double>(bounds ? count : 0), 0};
    sptrsm_refine_result result = {};
    result.size = sizeof result;
    result.berr = out.berr.data();
    result.ferr = bounds ? out.ferr.data() : nullptr;
    check(sptrsm_direct_refine(get(), SPTRSM_SYS_A, SPTRSM_N, nullptr, &from, &to, &chosen, &result));
    out.unconverged = result.unconverged;
    return out;
  }
};

/* ---- factors of Eigen ---- */

/* L D U = P_r A P_c^T, where the permutations say where a row and a column go. U nullptr: L^H; D nullptr: the identity. */
inline direct from_parts(const context &context, const sptrsm_sparse &L, const sptrsm_sparse *U, const void *D,
                         const std::vector<int32_t> &rows, const std::vector<int32_t> &columns, const sptrsm_options &chosen) {
  factors set;
  set.L = &L;
  set.U = U;
  set.u_kind = U ? SPTRSM_U_GIVEN : SPTRSM_U_IS_LH;
  set.D = D;
  set.perm_row = rows.empty() ? nullptr : rows.data(); /* empty with NaturalOrdering */
  set.perm_col = columns.empty() ? nullptr : columns.data();
  set.row_convention = SPTRSM_SCATTER;
  set.col_convention = SPTRSM_GATHER;
  return direct(context, set, chosen);
}
#if defined EIGEN_SPARSELU_MODULE_H || defined EIGEN_SPARSECHOLESKY_MODULE_H
template <class Solver> void need_success(const Solver &solver) {
  if (solver.info() != Eigen::Success) throw error(SPTRSM_ERR_ARGUMENT, "Eigen's factorisation is missing or failed: look at its info()");
}
template <class Permutation> std::vector<int32_t> indices_of(const Permutation &P) {
  return {P.indices().data(), P.indices().data() + P.size()};
}
#endif

#ifdef EIGEN_SPARSELU_MODULE_H
/* L U = P_r A P_c^T, where P_r and P_c move row i to row indices()[i]. Eigen keeps L in dense blocks of columns (supernodes), which hold
 * the diagonal and a part of U, too, and the rest of U by columns. Zeros that pad supernodes are kept. */
template <class Matrix, class Ordering>
direct from_eigen(const context &context, const Eigen::SparseLU<Matrix, Ordering> &lu, const sptrsm_options &chosen = options()) {
  using Scalar = typename Matrix::Scalar;
  using Index = typename Matrix::StorageIndex;
  need_success(lu);
  const auto packed = lu.matrixU();
  std::vector<Eigen::Triplet<Scalar, Index>> lower, upper;
  const auto add = [&](auto it, Index j) {
    for (; it; ++it) (it.index() > j ? lower : upper).emplace_back(static_cast<Index>(it.index()), j, it.value());
  };
  for (Index j = 0; j < lu.cols(); j++) {
    add(typename std::decay_t<decltype(packed.m_mapL)>::InnerIterator(packed.m_mapL, j), j);
    add(typename std::decay_t<decltype(packed.m_mapU)>::InnerIterator(packed.m_mapU, j), j);
  }
  Eigen::SparseMatrix<Scalar, Eigen::ColMajor, Index> L(lu.rows(), lu.cols()), U(lu.rows(), lu.cols());
  L.setFromTriplets(lower.begin(), lower.end());
  U.setFromTriplets(upper.begin(), upper.end());

  const sparse_view L_view(L), U_view(U);
  const sptrsm_sparse L_unit = L_view.triangle(SPTRSM_LOWER, SPTRSM_UNIT), U_all = U_view.triangle(SPTRSM_UPPER);
  return from_parts(context, L_unit, &U_all, nullptr, indices_of(lu.rowsPermutation()), indices_of(lu.colsPermutation()), chosen);
}
#endif

#ifdef EIGEN_SPARSECHOLESKY_MODULE_H
/* L D L^H = P A P^T; D nullptr: the identity. */
template <class Solver>
direct from_cholesky(const context &context, const Solver &solver, sptrsm_diag diag, const void *D, const sptrsm_options &chosen) {
  need_success(solver);
  const sparse_view stored(solver.matrixL().nestedExpression());
  const std::vector<int32_t> P = indices_of(solver.permutationP());
  return from_parts(context, stored.triangle(SPTRSM_LOWER, diag), nullptr, D, P, P, chosen);
}
template <class Matrix, int UpLo, class Ordering>
direct from_eigen(const context &context, const Eigen::SimplicialLLT<Matrix, UpLo, Ordering> &llt,
                  const sptrsm_options &chosen = options()) {
  return from_cholesky(context, llt, SPTRSM_NONUNIT, nullptr, chosen);
}
template <class Matrix, int UpLo, class Ordering>
direct from_eigen(const context &context, const Eigen::SimplicialLDLT<Matrix, UpLo, Ordering> &ldlt,
                  const sptrsm_options &chosen = options()) {
  const auto D = ldlt.vectorD().eval();
  return from_cholesky(context, ldlt, SPTRSM_UNIT, D.data(), chosen);
}
#endif

} // namespace sptrsm

#endif
