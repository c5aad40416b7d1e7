/* eigen_solvers.h -- Eigen's SimplicialLDLT (AMD) and SparseLU (COLAMD) for C. */
#ifndef APPS_COMPARE_EIGEN_SOLVERS_H
#define APPS_COMPARE_EIGEN_SOLVERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A square matrix by columns, sorted. */
typedef struct {
  int64_t n;
  const int64_t *ptr, *idx; /* copied with 32 bits, which are Eigen's default */
  const double *val;
  int symmetric;
} eigen_matrix;

typedef struct eigen_solver eigen_solver;
eigen_solver *eigen_solver_create(const eigen_matrix *); /* factorises; NULL: no memory, or no factors */
/* Column-major blocks, ld = n; threads may solve with one solver at the same time. 0: no memory. */
int eigen_solver_solve(const eigen_solver *, const double *B, double *X, int64_t nrhs);
void eigen_solver_destroy(eigen_solver *);

#ifdef __cplusplus
}
#endif

#endif
