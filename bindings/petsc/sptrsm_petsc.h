/* sptrsm_petsc.h -- PETSc solves with many right-hand sides by sptrsm: a MatSolverType for MatMatSolve.
 *
 * After sptrsm_petsc_register(), MatGetFactor(A, MATSOLVERSPTRSM, MAT_FACTOR_LU or MAT_FACTOR_ILU, &F) and the option
 * -pc_factor_mat_solver_type sptrsm give a factor that PETSc computes. MatMatSolve and MatMatSolveTranspose with it are blocks to sptrsm;
 * MatSolve and MatSolveTranspose, which have one right-hand side, stay PETSc's.
 *
 * Options: -mat_sptrsm_threads N       host threads; default: as many as OMP_NUM_THREADS or the process's cores
 *          -mat_sptrsm_ordering TYPE   the ordering where the caller gives none, as a PC does; default: the one that PETSc prefers
 */
#ifndef SPTRSM_PETSC_H
#define SPTRSM_PETSC_H

#include <petscmat.h>

#define MATSOLVERSPTRSM "sptrsm"

PetscErrorCode sptrsm_petsc_register(void); /* after PetscInitialize */

#endif
