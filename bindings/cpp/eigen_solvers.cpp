/* eigen_solvers.cpp -- Eigen factorises, sptrsm solves: in place of SparseLU::solve and SimplicialLDLT::solve.
 *
 *   c++ -O2 -std=c++17 -I/usr/include/eigen3 eigen_solvers.cpp $(pkg-config --cflags --libs sptrsm) -o eigen_solvers
 *   ./eigen_solvers [SIDE | MATRIX.mtx] [TURNS]     a square grid with SIDE points per side (default: 60), or a matrix in a Matrix
 *                                                   Market file; times are those of the fastest of TURNS turns (default: 10)
 */
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <unsupported/Eigen/SparseExtra>
#include <sptrsm.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>

using Sparse = Eigen::SparseMatrix<double>;

/* Diffusion on a grid, and with wind != 0 a wind that makes the matrix unsymmetric. */
static Sparse grid(int side, double wind) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int y = 0; y < side; y++)
    for (int x = 0; x < side; x++) {
      const int i = x + y * side;
      entries.emplace_back(i, i, 4.1);
      if (x > 0) entries.emplace_back(i, i - 1, -1 - wind);
      if (x + 1 < side) entries.emplace_back(i, i + 1, -1 + wind);
      if (y > 0) entries.emplace_back(i, i - side, -1);
      if (y + 1 < side) entries.emplace_back(i, i + side, -1);
    }
  Sparse A(side * side, side * side);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

/* Milliseconds of one call. Eigen has one thread, and is timed by what a core works for it, so that other work on the machine does not
 * count (CLOCK_THREAD_CPUTIME_ID); sptrsm by the clock on the wall (CLOCK_MONOTONIC). */
template <class Call> static double milliseconds(clockid_t clock, Call call) {
  timespec start, end;
  clock_gettime(clock, &start);
  call();
  clock_gettime(clock, &end);
  return 1e3 * static_cast<double>(end.tv_sec - start.tv_sec) + 1e-6 * static_cast<double>(end.tv_nsec - start.tv_nsec);
}

/* Solves with 64 right-hand sides by both in turn, and says how long that took and how far the solutions are apart. */
template <class Solver> static bool compare(const char *name, const Solver &solver, const Sparse &A, int turns) {
  sptrsm::context context;
  sptrsm::direct direct = sptrsm::from_eigen(context, solver); // once; the solver may end now

  const Eigen::MatrixXd B = A * Eigen::MatrixXd::Random(A.cols(), 64);
  Eigen::MatrixXd X = direct.solve(B); // was: X = solver.solve(B)

  const Eigen::MatrixXd reference = solver.solve(B);
  const double difference = (X - reference).norm() / reference.norm();
  double eigen = HUGE_VAL, ours = HUGE_VAL;
  for (int turn = 0; turn < turns; turn++) {
    eigen = std::min(eigen, milliseconds(CLOCK_THREAD_CPUTIME_ID, [&] { X = solver.solve(B); }));
    ours = std::min(ours, milliseconds(CLOCK_MONOTONIC, [&] { direct.solve(B, X); }));
  }
  std::printf("%-14s n = %d, 64 right-hand sides: Eigen %.2f ms, sptrsm (%s) %.2f ms, %.1f times as fast, difference %.1e\n", name,
              static_cast<int>(A.rows()), eigen, context.describe().c_str(), ours, eigen / ours, difference);
  return difference <= 1e-9;
}

int main(int argc, char **argv) try {
  const int side = argc > 1 ? std::atoi(argv[1]) : 60, turns = argc > 2 ? std::atoi(argv[2]) : 10;
  Sparse A, S;
  if (side > 0) {
    A = grid(side, 0.3);
    S = grid(side, 0);
  } else {
    if (!Eigen::loadMarket(A, argv[1])) throw std::runtime_error(std::string(argv[1]) + " can't be read as a Matrix Market file");
    S = A;
  }
  Eigen::SparseLU<Sparse> lu(A);
  bool good = compare("SparseLU", lu, A, turns);
  if (S.isApprox(Sparse(S.transpose()))) {
    Eigen::SimplicialLDLT<Sparse> ldlt(S);
    good = compare("SimplicialLDLT", ldlt, S, turns) && good;
  }
  return good ? 0 : 1;
} catch (const std::exception &e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
