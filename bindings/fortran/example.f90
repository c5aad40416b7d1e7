! example.f90 -- the factors L, U, p and q of a matrix A in arrays, and two right-hand sides: A X = B.
!
! L U = A(p,q), that is (L U)(i,j) = A(p(i), q(j)), as MATLAB, UMFPACK and others give them. L's diagonal of ones is left out.
program example
  use, intrinsic :: iso_fortran_env, only: int32, int64, real64
  use sptrsm
  implicit none

  ! L = [1; .5 1; . .25 1; . .5 . 1], U = [4 1 . 2; 8 . 4; 2 1; 5], both by columns, indices from 1.
  integer(int64) :: L_ptr(5) = [1, 2, 4, 4, 4], U_ptr(5) = [1, 2, 4, 5, 9]
  integer(int32) :: L_idx(3) = [2, 3, 4], U_idx(8) = [1, 1, 2, 3, 1, 2, 3, 4], p(4) = [3, 1, 4, 2], q(4) = [2, 4, 1, 3]
  real(real64) :: L_val(3) = [0.5d0, 0.25d0, 0.5d0], U_val(8) = [4d0, 1d0, 8d0, 2d0, 2d0, 4d0, 1d0, 5d0]
  real(real64) :: B(4, 2) = reshape([53d0, 37d0, 18d0, 16d0, 106d0, 74d0, 36d0, 32d0], [4, 2]), X(4, 2)
  type(sptrsm_context) :: context
  type(sptrsm_direct) :: direct

  call context%create()
  call direct%create(context, sptrsm_triangle(SPTRSM_CSC, SPTRSM_LOWER, L_ptr, L_idx, L_val, SPTRSM_UNIT), &
    sptrsm_triangle(SPTRSM_CSC, SPTRSM_UPPER, U_ptr, U_idx, U_val), p, q)
  call direct%solve(B, X)
  print '(a, 4f6.2)', 'first column: ', X(:, 1), 'second column:', X(:, 2)
  call direct%destroy()
  call context%destroy()
end program
