/* eigen_solvers.cpp -- see eigen_solvers.h. */
#include "compare/eigen_solvers.h"

#include <new>

#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

typedef Eigen::SparseMatrix<double> matrix; // with indices of 32 bits
typedef Eigen::Map<const Eigen::SparseMatrix<double, Eigen::ColMajor, int64_t>> given;
typedef Eigen::Map<const Eigen::MatrixXd> block;

struct eigen_solver {
  int64_t n = 0;
  bool symmetric = false;
  Eigen::SimplicialLDLT<matrix> ldlt;
  Eigen::SparseLU<matrix, Eigen::COLAMDOrdering<int>> lu;
};

eigen_solver *eigen_solver_create(const eigen_matrix *m) {
  eigen_solver *s = nullptr;
  try {
    const matrix A = given(m->n, m->n, m->ptr[m->n], m->ptr, m->idx, m->val);
    s = new eigen_solver;
    s->n = m->n;
    s->symmetric = m->symmetric != 0;
    if (s->symmetric) s->ldlt.compute(A);
    else s->lu.compute(A);
    if ((s->symmetric ? s->ldlt.info() : s->lu.info()) == Eigen::Success) return s;
  } catch (const std::bad_alloc &) {}
  delete s;
  return nullptr;
}

int eigen_solver_solve(const eigen_solver *s, const double *B, double *X, int64_t nrhs) {
  try {
    block from(B, s->n, nrhs);
    Eigen::Map<Eigen::MatrixXd> to(X, s->n, nrhs);
    if (s->symmetric) to = s->ldlt.solve(from);
    else to = s->lu.solve(from);
    return 1;
  } catch (const std::bad_alloc &) {
    return 0;
  }
}

void eigen_solver_destroy(eigen_solver *s) { delete s; }
