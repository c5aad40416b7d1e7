/* eigen_test.cpp -- sptrsm.hpp with Eigen: sparse and dense views, and the factors of SparseLU, SimplicialLLT and SimplicialLDLT. */
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <criterion/criterion.h>
#include <sptrsm.hpp>

#include <cmath>
#include <cstring>

enum { N = 70, NRHS = 6 };

template <class T> static T number(int i, int j) {
  const double a = std::sin(1.0 + 3 * i + 7 * j), b = std::cos(2.0 + 5 * i - j);
  if constexpr (Eigen::NumTraits<T>::IsComplex) return T(a, b);
  else return a + 0 * b;
}

/* Unsymmetric, with pivots that are not on the diagonal, or Hermitian and positive definite. */
template <class Matrix> static Matrix sparse(bool hermitian) {
  using T = typename Matrix::Scalar;
  Matrix A(N, N);
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      const bool stored = i == j || (i * j + i + j) % 11 == 0 || std::abs(i - j) == 9;
      if (!stored) continue;
      if (!hermitian) A.insert(i, j) = i == j ? number<T>(i, j) * T(0.01) : number<T>(i, j);
      else if (i == j) A.insert(i, j) = 60;
      else A.insert(i, j) = i > j ? number<T>(i, j) : Eigen::numext::conj(number<T>(j, i));
    }
  A.makeCompressed();
  return A;
}

template <class T> static Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> dense(int rows, int columns) {
  Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic> B(rows, columns);
  for (int i = 0; i < rows; i++)
    for (int k = 0; k < columns; k++) B(i, k) = number<T>(i + 100, k);
  return B;
}

template <class Solver> static void solves_as(const Solver &solver, const typename Solver::MatrixType &A) {
  using T = typename Solver::Scalar;
  cr_assert_eq(solver.info(), Eigen::Success);
  sptrsm::direct direct = sptrsm::from_eigen(sptrsm::context(), solver);
  const auto B = dense<T>(N, NRHS);
  const auto X = direct.solve(B);
  const double residual = (A * X - B).norm() / (A.norm() * X.norm()), limit = 100 * Eigen::NumTraits<T>::epsilon();
  cr_assert(residual <= limit, "residual %g", residual);
  const double difference = (X - solver.solve(B)).norm() / X.norm();
  cr_assert(difference <= 1e4 * limit, "difference %g", difference);
}

template <class T, class Index> static void factors() {
  using Matrix = Eigen::SparseMatrix<T, Eigen::ColMajor, Index>;
  const Matrix A = sparse<Matrix>(false), S = sparse<Matrix>(true);
  solves_as(Eigen::SparseLU<Matrix, Eigen::COLAMDOrdering<Index>>(A), A);
  solves_as(Eigen::SimplicialLLT<Matrix, Eigen::Lower, Eigen::AMDOrdering<Index>>(S), S);
  solves_as(Eigen::SimplicialLDLT<Matrix, Eigen::Upper, Eigen::AMDOrdering<Index>>(S), S);
  solves_as(Eigen::SimplicialLDLT<Matrix, Eigen::Lower, Eigen::NaturalOrdering<Index>>(S), S);
}

Test(cpp_eigen, factors_real_and_complex) {
  factors<double, int>();
  factors<std::complex<float>, int>();
}

Test(cpp_eigen, factors_with_indices_of_64_bits) { factors<double, int64_t>(); }

template <class View, class = void> struct has_triangle : std::false_type {};
template <class View> struct has_triangle<View, std::void_t<decltype(std::declval<View>().triangle(SPTRSM_LOWER))>> : std::true_type {};
static_assert(has_triangle<const sptrsm::sparse_view &>::value && !has_triangle<sptrsm::sparse_view>::value, "it would dangle");

template <class Matrix> static void triangles() {
  const Matrix L = sparse<Matrix>(true).template triangularView<Eigen::Lower>();
  const sptrsm::sparse_view view(L);
  const sptrsm_sparse T = view.triangle(SPTRSM_LOWER);
  cr_assert_eq(T.val, L.valuePtr(), "the values were copied");
  cr_assert_eq((const void *)T.idx == (const void *)L.innerIndexPtr(), sizeof(typename Matrix::StorageIndex) == 4);
  const sptrsm::plan plan(sptrsm::matrix(sptrsm::context(), T));
  const Eigen::MatrixXd B = dense<double>(N, NRHS), X = L.template triangularView<Eigen::Lower>().solve(B);
  cr_assert((plan.solve(B) - X).norm() <= 1e-13 * X.norm());
}

Test(cpp_eigen, sparse_matrices_of_every_storage) {
  triangles<Eigen::SparseMatrix<double, Eigen::ColMajor, int>>();
  triangles<Eigen::SparseMatrix<double, Eigen::RowMajor, int>>();
  triangles<Eigen::SparseMatrix<double, Eigen::ColMajor, int64_t>>();
  triangles<Eigen::SparseMatrix<double, Eigen::RowMajor, int64_t>>();
}

/* plan solves 2 I X = B, so that every X must be B / 2. */
Test(cpp_eigen, dense_objects_of_every_layout) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::SparseMatrix<double> I(N, N);
  I.setIdentity();
  I *= 2;
  const sptrsm::sparse_view I_view(I);
  const sptrsm::plan plan(sptrsm::matrix(sptrsm::context(), I_view.triangle(SPTRSM_LOWER)));
  const Eigen::MatrixXd B = dense<double>(N, NRHS);
  const RowMajor by_rows = B;
  cr_assert_eq(plan.solve(by_rows), B / 2);

  RowMajor X = RowMajor::Zero(N, NRHS + 2);
  plan.solve(B.leftCols(2), X.middleCols(1, 2)); /* parts of matrices, each with the leading dimension of the whole */
  cr_assert_eq(X.middleCols(1, 2), B.leftCols(2) / 2);
  cr_assert(X.col(0).isZero(0) && X.col(3).isZero(0));
  plan.solve(by_rows.col(4), X.col(5)); /* one column of a matrix stored by rows */
  cr_assert_eq(X.col(5), B.col(4) / 2);
  cr_assert(X.col(4).isZero(0) && X.col(6).isZero(0));

  Eigen::SparseMatrix<double> two(1, 1);
  two.insert(0, 0) = 2;
  two.makeCompressed();
  const double one_row[] = {2, 0, 4, 0, 6}; /* one row of a matrix stored by columns, with gaps: the step is the outer one */
  const Eigen::Map<const Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> row(one_row, 1, 3, {2, 3});
  const sptrsm::sparse_view two_view(two);
  const sptrsm::plan scalar(sptrsm::matrix(sptrsm::context(), two_view.triangle(SPTRSM_LOWER)));
  cr_assert_eq(scalar.solve(row), Eigen::RowVector3d(1, 2, 3));

  std::vector<double> memory(N * NRHS);
  Eigen::Map<Eigen::MatrixXd> map(memory.data(), N, NRHS);
  plan.solve(B, map, 3.0);
  cr_assert((map - 1.5 * B).norm() <= 1e-14 * B.norm());
  const Eigen::VectorXd x = plan.solve(Eigen::VectorXd(B.col(0)));
  cr_assert_eq(x, B.col(0) / 2);
}

template <class Call> static void refuse(const char *message, Call call) {
  try {
    call();
  } catch (const sptrsm::error &e) {
    cr_assert(std::strstr(e.what(), message), "\"%s\" does not say \"%s\"", e.what(), message);
    return;
  }
  cr_assert_fail("no exception for \"%s\"", message);
}

Test(cpp_eigen, what_cannot_be_viewed_is_refused) {
  Eigen::SparseMatrix<double> open(N, N), oblong(N, N + 1);
  open.insert(0, 0) = 1;
  refuse("makeCompressed", [&] { sptrsm::sparse_view view(open); });
  oblong.makeCompressed();
  refuse("70 x 71", [&] { sptrsm::sparse_view view(oblong); });
  std::vector<double> memory(4 * N);
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>> spread(memory.data(), N, 2, {2 * N, 2});
  refuse("inner stride of 2", [&] { sptrsm::view(spread); });
  Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>> repeated(memory.data(), N, 2, Eigen::OuterStride<>(0));
  refuse("outer stride of 0", [&] { sptrsm::view(repeated); });
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> constant(memory.data(), N, Eigen::InnerStride<>(0));
  refuse("inner stride of 0", [&] { sptrsm::view(constant); });
  Eigen::SparseMatrix<double> ones = Eigen::MatrixXd::Ones(3, 3).sparseView();
  Eigen::SparseLU<Eigen::SparseMatrix<double>> lu(ones);
  refuse("info()", [&] { sptrsm::from_eigen(sptrsm::context(), lu); });
}
