! sptrsm.f90 -- Fortran 2008 over sptrsm.h: sparse triangular systems with many right-hand sides, and factor sets of direct solvers.
!
!   type(sptrsm_context) :: context
!   type(sptrsm_matrix) :: matrix
!   type(sptrsm_plan) :: plan
!   call context%create()                                                   the host, with all usable processors
!   call matrix%create(context, sptrsm_triangle(SPTRSM_CSR, SPTRSM_LOWER, ptr, idx, val))
!   call plan%create(matrix)
!   call plan%solve(B, X)                                                   B(n) or B(n, nrhs), as often as you like
!   call plan%destroy(); call matrix%destroy(); call context%destroy()      in any order
!
! Types: real and complex, single and double precision; val, B and X have the same one.
! Indices: ptr, idx and permutations may be 1-based, as usual in Fortran, or 0-based. ptr(1) tells which of both ptr and idx are, the
!   smallest element tells it of a permutation. Within each row (CSR) or column (CSC) indices ascend.
! Errors: with stat=, it is one of the SPTRSM_ERR constants or SPTRSM_OK, and sptrsm_message() says what was wrong; indices in messages
!   are 0-based. Without stat= an error stops the program with that message.
! Ownership: an object lives until its destroy, which may be called again. Assignment of an object makes a second name for it, not a copy.
! Threads: a context and its objects are used by one thread at a time.
module sptrsm
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit
  use sptrsm_types
  implicit none
  private
  public :: sptrsm_context, sptrsm_triangle, sptrsm_matrix, sptrsm_plan, sptrsm_direct, sptrsm_options, sptrsm_message

  integer, parameter, public :: SPTRSM_OK = 0, SPTRSM_ERR_ARGUMENT = -1, SPTRSM_ERR_STRUCTURE = -2, SPTRSM_ERR_SINGULAR = -3, &
    SPTRSM_ERR_MEMORY = -4, SPTRSM_ERR_IO = -5, SPTRSM_ERR_UNSUPPORTED = -6, SPTRSM_ERR_DEVICE = -7, SPTRSM_ERR_INTERNAL = -8
  integer(c_int), parameter, public :: SPTRSM_HOST = 0, SPTRSM_CUDA = 1, SPTRSM_CSR = 0, SPTRSM_CSC = 1, SPTRSM_LOWER = 0, &
    SPTRSM_UPPER = 1, SPTRSM_NONUNIT = 0, SPTRSM_UNIT = 1, SPTRSM_N = 0, SPTRSM_T = 1, SPTRSM_C = 2, SPTRSM_GATHER = 0, &
    SPTRSM_SCATTER = 1, SPTRSM_MULTIPLY = 0, SPTRSM_DIVIDE = 1, SPTRSM_SYS_A = 0, SPTRSM_SYS_L = 3, SPTRSM_SYS_U = 6

  type :: sptrsm_options
    character(len=80) :: method = 'auto'
    integer(c_int) :: op = SPTRSM_N                             ! of a plan; SPTRSM_T: transpose, SPTRSM_C: conjugate transpose
    integer(c_int64_t) :: nrhs_hint = 0, memory_limit = 0       ! right-hand sides that a solve will have; bytes. 0: unknown, none
    logical :: deterministic = .false., mixed = .false.         ! mixed, for sptrsm_direct: double factors are used in single precision
  end type

  type :: sptrsm_context
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => context_create
    procedure :: destroy => context_destroy
  end type

  type :: sptrsm_matrix
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => matrix_create
    procedure :: destroy => matrix_destroy
  end type

  ! What solves: a plan or a factor set. solve(B, X [, stat]) with B and X of one type and shape, (n) or (n, nrhs).
  type, abstract :: solver
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure(run_block), private, deferred :: run
    generic :: solve => solve_r32_1, solve_r32_2, solve_r64_1, solve_r64_2, solve_c32_1, solve_c32_2, solve_c64_1, solve_c64_2
    procedure, private :: solve_r32_1, solve_r32_2, solve_r64_1, solve_r64_2, solve_c32_1, solve_c32_2, solve_c64_1, solve_c64_2
  end type

  type, extends(solver) :: sptrsm_plan
  contains
    procedure :: create => plan_create
    procedure :: destroy => plan_destroy
    procedure, private :: run => plan_run
  end type

  type, extends(solver) :: sptrsm_direct
    integer(c_int) :: system = SPTRSM_SYS_A, op = SPTRSM_N      ! what solve solves; they may be changed between solves
  contains
    procedure :: create => direct_create
    procedure :: destroy => direct_destroy
    procedure, private :: run => direct_run
  end type

  abstract interface
    function run_block(self, B, X) result(status)
      import
      class(solver), intent(in) :: self
      type(c_block), intent(in) :: B
      type(c_block), intent(inout) :: X
      integer(c_int) :: status
    end function
  end interface

contains

  ! The message of the latest failing call, '' if there was none.
  function sptrsm_message() result(message)
    character(len=:), allocatable :: message
    character(kind=c_char), pointer :: text(:)
    type(c_ptr) :: at
    integer :: i
    at = c_last_error()
    call c_f_pointer(at, text, [c_strlen(at)])
    allocate (character(len=size(text)) :: message)
    do i = 1, size(text)
      message(i:i) = text(i)
    end do
  end function

  ! Hands the status to the caller, or stops the program if the caller does not ask for it.
  subroutine report(status, stat)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    if (present(stat)) then
      stat = status
    else if (status /= SPTRSM_OK) then
      write (error_unit, '(2a)') 'sptrsm: ', sptrsm_message()
      error stop 1
    end if
  end subroutine

  ! place SPTRSM_CUDA: device is its index. On the host, threads 0 means OMP_NUM_THREADS, else the usable processors.
  subroutine context_create(self, threads, place, device, stat)
    class(sptrsm_context), intent(inout) :: self
    integer, intent(in), optional :: threads, place, device
    integer, intent(out), optional :: stat
    integer(c_int) :: status
    call self%destroy()
    status = c_context_create(self%handle, either(SPTRSM_HOST, place), either(0_c_int, device), c_null_ptr)
    if (status == SPTRSM_OK) status = c_context_set_threads(self%handle, either(0_c_int, threads))
    call report(status, stat)
  end subroutine

  pure integer(c_int) function either(default, given)
    integer(c_int), intent(in) :: default
    integer, intent(in), optional :: given
    either = default
    if (present(given)) either = int(given, c_int)
  end function

  subroutine context_destroy(self)
    class(sptrsm_context), intent(inout) :: self
    call c_context_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  ! T is copied and validated: stat SPTRSM_ERR_STRUCTURE or SPTRSM_ERR_SINGULAR if it is not a triangle with a good diagonal.
  subroutine matrix_create(self, context, T, stat)
    class(sptrsm_matrix), intent(inout) :: self
    type(sptrsm_context), intent(in) :: context
    type(sptrsm_triangle), intent(in), target :: T
    integer, intent(out), optional :: stat
    integer(c_int) :: status
    call self%destroy()
    status = check_triangle(T, 'T')
    if (status == SPTRSM_OK) status = c_matrix_create(self%handle, context%handle, sparse_of(T), COPY)
    call report(status, stat)
  end subroutine

  subroutine matrix_destroy(self)
    class(sptrsm_matrix), intent(inout) :: self
    call c_matrix_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine plan_create(self, matrix, options, stat)
    class(sptrsm_plan), intent(inout) :: self
    type(sptrsm_matrix), intent(in) :: matrix
    type(sptrsm_options), intent(in), optional :: options
    integer, intent(out), optional :: stat
    character(kind=c_char), target :: method(81)
    call self%destroy()
    call report(c_plan_create(self%handle, matrix%handle, options_of(options, method)), stat)
  end subroutine

  subroutine plan_destroy(self)
    class(sptrsm_plan), intent(inout) :: self
    call c_plan_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  function plan_run(self, B, X) result(status)
    class(sptrsm_plan), intent(in) :: self
    type(c_block), intent(in) :: B
    type(c_block), intent(inout) :: X
    integer(c_int) :: status
    status = c_solve(self%handle, c_null_ptr, c_null_ptr, B, X)
  end function

  ! L U = P R A Q; without U it is L^H (Cholesky). GATHER: row i of P R A is row perm_row(i) of R A, SCATTER: row i of R A becomes row
  ! perm_row(i); perm_col(i) says which unknown the i-th of the permuted system is (SCATTER), or the other way round (GATHER). Defaults are
  ! those of MATLAB and UMFPACK: GATHER for rows, SCATTER for columns. scale_row(n) multiplies or divides (row_op) the rows of A.
  subroutine direct_create(self, context, L, U, perm_row, perm_col, row_convention, col_convention, scale_row, row_op, options, &
    stat)
    class(sptrsm_direct), intent(inout) :: self
    type(sptrsm_context), intent(in) :: context
    type(sptrsm_triangle), intent(in), target :: L
    type(sptrsm_triangle), intent(in), target, optional :: U
    integer(c_int32_t), intent(in), optional :: perm_row(:), perm_col(:)
    integer(c_int), intent(in), optional :: row_convention, col_convention, row_op
    real(c_double), intent(in), target, contiguous, optional :: scale_row(:)
    type(sptrsm_options), intent(in), optional :: options
    integer, intent(out), optional :: stat
    type(c_sparse), target :: lower, upper
    type(c_factors) :: set
    integer(c_int32_t), allocatable, target :: rows(:), columns(:)
    character(kind=c_char), target :: method(81)
    integer(c_int) :: status
    call self%destroy()
    status = check_sizes(L, U, perm_row, perm_col, scale_row)
    if (status /= SPTRSM_OK) then
      call report(status, stat)
      return
    end if
    call c_factors_init(set, c_sizeof(set))
    lower = sparse_of(L)
    set%L = c_loc(lower)
    set%u_kind = U_IS_LH
    if (present(U)) then
      upper = sparse_of(U)
      set%U = c_loc(upper)
      set%u_kind = U_GIVEN
    end if
    if (present(perm_row)) then
      rows = perm_row - minval(perm_row)
      set%perm_row = c_loc(rows)
    end if
    if (present(perm_col)) then
      columns = perm_col - minval(perm_col)
      set%perm_col = c_loc(columns)
    end if
    set%row_convention = either(SPTRSM_GATHER, row_convention)
    set%col_convention = either(SPTRSM_SCATTER, col_convention)
    if (present(scale_row)) set%scale_row = c_loc(scale_row)
    set%row_op = either(SPTRSM_MULTIPLY, row_op)
    call report(c_direct_create(self%handle, context%handle, set, options_of(options, method)), stat)
  end subroutine

  integer(c_int) function check_sizes(L, U, perm_row, perm_col, scale_row) result(status)
    type(sptrsm_triangle), intent(in) :: L
    type(sptrsm_triangle), intent(in), optional :: U
    integer(c_int32_t), intent(in), optional :: perm_row(:), perm_col(:)
    real(c_double), intent(in), optional :: scale_row(:)
    integer(c_int64_t) :: n
    status = check_triangle(L, 'L')
    if (status == SPTRSM_OK .and. present(U)) status = check_triangle(U, 'U')
    if (status /= SPTRSM_OK) return
    n = size(L%ptr, kind=c_int64_t) - 1
    if (present(perm_row)) status = check_size('perm_row', size(perm_row, kind=c_int64_t), n)
    if (status == SPTRSM_OK .and. present(perm_col)) status = check_size('perm_col', size(perm_col, kind=c_int64_t), n)
    if (status == SPTRSM_OK .and. present(scale_row)) status = check_size('scale_row', size(scale_row, kind=c_int64_t), n)
  end function

  subroutine direct_destroy(self)
    class(sptrsm_direct), intent(inout) :: self
    call c_direct_destroy(self%handle)
    self%handle = c_null_ptr
  end subroutine

  function direct_run(self, B, X) result(status)
    class(sptrsm_direct), intent(in) :: self
    type(c_block), intent(in) :: B
    type(c_block), intent(inout) :: X
    integer(c_int) :: status
    status = c_direct_solve(self%handle, self%system, self%op, c_null_ptr, B, X)
  end function

  ! ---- from Fortran's types to the C structs; what options point to lives as long as method ----

  function options_of(given, method) result(out)
    type(sptrsm_options), intent(in), optional :: given
    character(kind=c_char), intent(inout), target :: method(81)
    type(c_options) :: out
    integer :: i
    call c_options_init(out, c_sizeof(out))
    if (.not. present(given)) return
    method = [(given%method(i:i), i=1, 80), c_null_char]
    method(len_trim(given%method) + 1) = c_null_char
    out%method = c_loc(method)
    out%op = given%op
    out%nrhs_hint = given%nrhs_hint
    out%memory_limit = int(given%memory_limit, c_size_t)
    out%deterministic = merge(1, 0, given%deterministic)
    out%precision = merge(1, 0, given%mixed)
  end function

  subroutine solve_at(self, B, B_shape, X, X_shape, dtype, stat)
    class(solver), intent(in) :: self
    type(c_ptr), intent(in) :: B, X
    integer, intent(in) :: B_shape(2), X_shape(2)
    integer(c_int), intent(in) :: dtype
    integer, intent(out), optional :: stat
    type(c_block) :: to
    to = block_of(X, X_shape, dtype)
    call report(self%run(block_of(B, B_shape, dtype), to), stat)
  end subroutine

  pure type(c_block) function block_of(data, extent, dtype) result(out)
    type(c_ptr), intent(in) :: data
    integer, intent(in) :: extent(2)
    integer(c_int), intent(in) :: dtype
    out = c_block(data, int(max(extent(1), 1), c_int64_t), int(extent(1), c_int32_t), int(extent(2), c_int64_t), dtype, COL_MAJOR, &
      SPTRSM_HOST)
  end function

  subroutine solve_r32_1(self, B, X, stat)
    class(solver), intent(in) :: self
    real(c_float), intent(in), target, contiguous :: B(:)
    real(c_float), intent(inout), target, contiguous :: X(:)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), [size(B), 1], c_loc(X), [size(X), 1], F32, stat)
  end subroutine

  subroutine solve_r32_2(self, B, X, stat)
    class(solver), intent(in) :: self
    real(c_float), intent(in), target, contiguous :: B(:, :)
    real(c_float), intent(inout), target, contiguous :: X(:, :)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), shape(B), c_loc(X), shape(X), F32, stat)
  end subroutine

  subroutine solve_r64_1(self, B, X, stat)
    class(solver), intent(in) :: self
    real(c_double), intent(in), target, contiguous :: B(:)
    real(c_double), intent(inout), target, contiguous :: X(:)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), [size(B), 1], c_loc(X), [size(X), 1], F64, stat)
  end subroutine

  subroutine solve_r64_2(self, B, X, stat)
    class(solver), intent(in) :: self
    real(c_double), intent(in), target, contiguous :: B(:, :)
    real(c_double), intent(inout), target, contiguous :: X(:, :)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), shape(B), c_loc(X), shape(X), F64, stat)
  end subroutine

  subroutine solve_c32_1(self, B, X, stat)
    class(solver), intent(in) :: self
    complex(c_float_complex), intent(in), target, contiguous :: B(:)
    complex(c_float_complex), intent(inout), target, contiguous :: X(:)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), [size(B), 1], c_loc(X), [size(X), 1], C64, stat)
  end subroutine

  subroutine solve_c32_2(self, B, X, stat)
    class(solver), intent(in) :: self
    complex(c_float_complex), intent(in), target, contiguous :: B(:, :)
    complex(c_float_complex), intent(inout), target, contiguous :: X(:, :)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), shape(B), c_loc(X), shape(X), C64, stat)
  end subroutine

  subroutine solve_c64_1(self, B, X, stat)
    class(solver), intent(in) :: self
    complex(c_double_complex), intent(in), target, contiguous :: B(:)
    complex(c_double_complex), intent(inout), target, contiguous :: X(:)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), [size(B), 1], c_loc(X), [size(X), 1], C128, stat)
  end subroutine

  subroutine solve_c64_2(self, B, X, stat)
    class(solver), intent(in) :: self
    complex(c_double_complex), intent(in), target, contiguous :: B(:, :)
    complex(c_double_complex), intent(inout), target, contiguous :: X(:, :)
    integer, intent(out), optional :: stat
    call solve_at(self, c_loc(B), shape(B), c_loc(X), shape(X), C128, stat)
  end subroutine

end module
