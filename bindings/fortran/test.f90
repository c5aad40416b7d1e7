! test.f90 -- the module sptrsm: every type and rank, 0- and 1-based indices, transposes, factor sets, options, errors.
program test
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use sptrsm
  implicit none

  ! L = [2 . .; 1 4 .; . 3 5], by rows, indices from 1.
  integer(int64), parameter :: ptr(4) = [1, 2, 4, 6]
  integer(int32), parameter :: idx(5) = [1, 1, 2, 2, 3]
  real(real64), parameter :: val(5) = [2, 1, 4, 3, 5], b(3) = [2, 9, 21], solution(3) = [1, 2, 3]
  type(sptrsm_context) :: context
  integer :: failures = 0

  call context%create(threads=2)
  call types()
  call bases_and_transposes()
  call factor_sets()
  call errors()
  call wrong_sizes()
  call context%destroy()
  if (failures > 0) error stop 1
  print '(a)', 'all passed'

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    print '(2a)', 'failed: ', what
    failures = failures + 1
  end subroutine

  subroutine expect_error(status, expected, part)
    integer, intent(in) :: status, expected
    character(len=*), intent(in) :: part
    character(len=:), allocatable :: message
    message = sptrsm_message()
    call expect(status == expected .and. index(message, part) > 0, 'an error that names '//part//': '//message)
  end subroutine

  ! Two right-hand sides, b and a multiple of it; a section that is not contiguous for rank 2.
  subroutine types()
    type(sptrsm_matrix) :: matrix
    type(sptrsm_plan) :: plan
    real(real32) :: x32(3), y32(3, 2)
    real(real64) :: x64(3), y64(3, 2), wide(6, 2)
    complex(real32) :: z32(3), w32(3, 2)
    complex(real64) :: z64(3), w64(3, 2)
    complex(real64), parameter :: i = (0, 1)

    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, real(val, real32)))
    call plan%create(matrix)
    call matrix%destroy()
    call plan%solve(real(b, real32), x32)
    call plan%solve(real(reshape([b, 2 * b], [3, 2]), real32), y32)
    call expect(all(abs(x32 - solution) <= 1e-5) .and. all(abs(y32(:, 2) - 2 * solution) <= 1e-5), 'real32')

    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, val))
    call plan%create(matrix)
    wide = 7
    wide(1:5:2, 1) = b
    wide(1:5:2, 2) = 2 * b
    call plan%solve(b, x64)
    call plan%solve(wide(1:5:2, :), y64)
    call expect(all(abs(x64 - solution) <= 1e-14) .and. all(abs(y64(:, 2) - 2 * solution) <= 1e-14), 'real64')
    call plan%solve(y64, wide(2:6:2, :))
    call expect(all(abs(wide(1:5:2, 1) - b) <= 0) .and. abs(wide(2, 1) - 0.5) <= 1e-14, 'real64, strided solution')

    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, cmplx(val, kind=real32)))
    call plan%create(matrix)
    call plan%solve(cmplx(i * b, kind=real32), z32)
    call plan%solve(cmplx(reshape([b + i * b, i * b], [3, 2]), kind=real32), w32)
    call expect(all(abs(z32 - i * solution) <= 1e-5) .and. all(abs(w32(:, 1) - (1 + i) * solution) <= 1e-5), 'complex32')

    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, i * val))
    call plan%create(matrix)
    call plan%solve(i * b, z64)
    call plan%solve(reshape([-b + i * b, i * b], [3, 2]), w64)
    call expect(all(abs(z64 - solution) <= 1e-14) .and. all(abs(w64(:, 1) - (1 + i) * solution) <= 1e-14), 'complex64')
    call plan%destroy()
    call matrix%destroy()
  end subroutine

  subroutine bases_and_transposes()
    type(sptrsm_matrix) :: matrix
    type(sptrsm_plan) :: plan
    real(real64) :: x(3)
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr - 1, idx - 1, val))
    call plan%create(matrix, sptrsm_options(method='serial', op=SPTRSM_T))
    call plan%solve([4d0, 17d0, 15d0], x)
    call expect(all(abs(x - solution) <= 1e-14), '0-based, transposed')
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSC, SPTRSM_UPPER, ptr, idx, val, SPTRSM_UNIT))
    call plan%create(matrix)
    call plan%solve([3d0, 11d0, 3d0], x)
    call expect(all(abs(x - solution) <= 1e-14), 'by columns, upper, unit diagonal')
    call plan%destroy()
    call matrix%destroy()
  end subroutine

  ! A(p,q) = L U with L unit lower and U = L'; A is made dense, and A x and A' x solved for again.
  subroutine factor_sets()
    integer(int32), parameter :: p(3) = [3, 1, 2], q(3) = [2, 3, 1]
    real(real64), parameter :: scale(3) = [2d0, 4d0, 8d0]
    real(real64) :: L(3, 3), LU(3, 3), A(3, 3), x(3)
    type(sptrsm_direct) :: direct
    type(sptrsm_triangle) :: lower, upper
    integer :: i, j
    L = transpose(reshape([2, 0, 0, 1, 4, 0, 0, 3, 5], [3, 3]))
    LU = matmul(L, transpose(L))
    do i = 1, 3
      do j = 1, 3
        A(p(i), q(j)) = LU(i, j)
      end do
    end do
    lower = sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, val)
    upper = sptrsm_triangle(SPTRSM_CSC, SPTRSM_UPPER, ptr, idx, val)

    call direct%create(context, lower, upper, p, q)
    call direct%solve(matmul(A, solution), x)
    call expect(all(abs(x - solution) <= 1e-13), 'A x = b')
    direct%op = SPTRSM_T
    call direct%solve(matmul(transpose(A), solution), x)
    call expect(all(abs(x - solution) <= 1e-13), 'A.'' x = b')
    direct%op = SPTRSM_N
    direct%system = SPTRSM_SYS_L
    call direct%solve(b, x)
    call expect(all(abs(x - solution) <= 1e-14), 'L x = b')
    direct%system = SPTRSM_SYS_A

    call direct%create(context, lower, perm_row=p, perm_col=p, col_convention=SPTRSM_GATHER, row_convention=SPTRSM_SCATTER)
    do i = 1, 3
      do j = 1, 3
        A(i, j) = LU(p(i), p(j))
      end do
    end do
    call direct%solve(matmul(A, solution), x)
    call expect(all(abs(x - solution) <= 1e-13), 'Cholesky factor, other conventions')

    call direct%create(context, lower, scale_row=scale, row_op=SPTRSM_DIVIDE)
    call direct%solve(scale * matmul(LU, solution), x)
    call expect(all(abs(x - solution) <= 1e-13), 'row scaling')
    call direct%destroy()
    call direct%destroy()
  end subroutine

  subroutine errors()
    type(sptrsm_matrix) :: matrix
    type(sptrsm_plan) :: plan
    real(real64) :: x(4)
    integer :: status
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, [2d0, 1d0, 0d0, 3d0, 5d0]), stat=status)
    call expect_error(status, SPTRSM_ERR_SINGULAR, '(1,1)')
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_UPPER, ptr, idx, val), stat=status)
    call expect_error(status, SPTRSM_ERR_STRUCTURE, 'triangle')
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, val))
    call plan%create(matrix, sptrsm_options(method='nothing'), status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'nothing')
    call plan%create(matrix)
    call plan%solve(b, x, status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'X')
    call plan%destroy()
    call plan%solve(b, x(1:3), status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'plan')
    call matrix%destroy()
  end subroutine

  ! Each array shorter or longer than n or ptr says, which C can't see.
  subroutine wrong_sizes()
    type(sptrsm_matrix) :: matrix
    type(sptrsm_direct) :: direct
    type(sptrsm_triangle) :: lower, nothing
    integer :: status
    lower = sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, val)
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx(:4), val), stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'T: idx has size 4, not 5')
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, real(val(:1), real32)), stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'T: val has size 1, not 5')
    call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr(1:0), idx, val), stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'T: ptr has size 0, not n + 1')
    call matrix%create(context, nothing, stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'T has no arrays')
    call direct%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, cmplx(val(:4))), stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'L: val has size 4, not 5')
    call direct%create(context, lower, sptrsm_triangle(SPTRSM_CSC, SPTRSM_UPPER, ptr, [idx, 3], val), stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'U: idx has size 6, not 5')
    call direct%create(context, lower, perm_row=[1], stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'perm_row has size 1, not 3')
    call direct%create(context, lower, perm_row=[1, 2, 3], perm_col=[1, 2, 3, 4], stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'perm_col has size 4, not 3')
    call direct%create(context, lower, scale_row=[2d0], stat=status)
    call expect_error(status, SPTRSM_ERR_ARGUMENT, 'scale_row has size 1, not 3')
  end subroutine
end program
