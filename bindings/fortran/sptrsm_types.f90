! sptrsm_types.f90 -- below the module sptrsm: structs and functions of sptrsm.h as they are in C, and triangles with arrays of their own.
module sptrsm_types
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int), parameter :: HOST = 0, F32 = 0, F64 = 1, C64 = 2, C128 = 3, COPY = 0, COL_MAJOR = 1, U_GIVEN = 0, U_IS_LH = 2, &
    OK = 0, ERR_ARGUMENT = -1

  type, bind(C) :: c_sparse
    integer(c_int) :: format, dtype, uplo, diag, place
    integer(c_int32_t) :: n
    type(c_ptr) :: ptr, idx, val
  end type
  type, bind(C) :: c_block
    type(c_ptr) :: data
    integer(c_int64_t) :: ld
    integer(c_int32_t) :: n
    integer(c_int64_t) :: nrhs
    integer(c_int) :: dtype, layout, place
  end type
  type, bind(C) :: c_options
    integer(c_size_t) :: size
    type(c_ptr) :: method
    integer(c_int) :: op
    integer(c_int64_t) :: nrhs_hint
    integer(c_int) :: select
    integer(c_int32_t) :: p, q, panel, deterministic
    integer(c_size_t) :: memory_limit
    character(kind=c_char) :: stencil(16)
    integer(c_int64_t) :: grid(3)
    integer(c_int) :: precision
  end type
  type, bind(C) :: c_factors
    integer(c_size_t) :: size
    type(c_ptr) :: L, U
    integer(c_int) :: u_kind
    type(c_ptr) :: D, D_sub
    integer(c_int32_t) :: D_hermitian
    type(c_ptr) :: perm_row, perm_col
    integer(c_int) :: row_convention, col_convention
    type(c_ptr) :: scale_row, scale_col
    integer(c_int) :: row_op, col_op
    integer(c_int) :: copy
  end type

  ! A triangle with copies of its arrays; not needed once a matrix or a factor set is made of it.
  type :: sptrsm_triangle
    integer(c_int) :: format = 0, uplo = 0, diag = 0, dtype = F64
    integer(c_int64_t) :: values = 0                            ! elements of val
    integer(c_int64_t), allocatable :: ptr(:)
    integer(c_int32_t), allocatable :: idx(:)
    real(c_float), allocatable :: r32(:)                        ! one of the four is allocated
    real(c_double), allocatable :: r64(:)
    complex(c_float_complex), allocatable :: c32(:)
    complex(c_double_complex), allocatable :: c64(:)
  end type
  interface sptrsm_triangle
    module procedure triangle_r32, triangle_r64, triangle_c32, triangle_c64
  end interface

  interface
    integer(c_int) function c_context_create(out, place, device, stream) bind(C, name='sptrsm_context_create')
      import
      type(c_ptr), intent(inout) :: out
      integer(c_int), value :: place, device
      type(c_ptr), value :: stream
    end function
    integer(c_int) function c_context_set_threads(context, threads) bind(C, name='sptrsm_context_set_threads')
      import
      type(c_ptr), value :: context
      integer(c_int), value :: threads
    end function
    integer(c_int) function c_matrix_create(out, context, T, mode) bind(C, name='sptrsm_matrix_create')
      import
      type(c_ptr), intent(inout) :: out
      type(c_ptr), value :: context
      type(c_sparse), intent(in) :: T
      integer(c_int), value :: mode
    end function
    integer(c_int) function c_plan_create(out, matrix, options) bind(C, name='sptrsm_plan_create')
      import
      type(c_ptr), intent(inout) :: out
      type(c_ptr), value :: matrix
      type(c_options), intent(in) :: options
    end function
    integer(c_int) function c_solve(plan, workspace, alpha, B, X) bind(C, name='sptrsm_solve')
      import
      type(c_ptr), value :: plan, workspace, alpha
      type(c_block), intent(in) :: B
      type(c_block), intent(inout) :: X
    end function
    integer(c_int) function c_direct_create(out, context, factors, options) bind(C, name='sptrsm_direct_create')
      import
      type(c_ptr), intent(inout) :: out
      type(c_ptr), value :: context
      type(c_factors), intent(in) :: factors
      type(c_options), intent(in) :: options
    end function
    integer(c_int) function c_direct_solve(direct, system, op, alpha, B, X) bind(C, name='sptrsm_direct_solve')
      import
      type(c_ptr), value :: direct, alpha
      integer(c_int), value :: system, op
      type(c_block), intent(in) :: B
      type(c_block), intent(inout) :: X
    end function
    subroutine c_options_init(options, size) bind(C, name='sptrsm_options_init_sized')
      import
      type(c_options), intent(inout) :: options
      integer(c_size_t), value :: size
    end subroutine
    subroutine c_factors_init(factors, size) bind(C, name='sptrsm_factors_init_sized')
      import
      type(c_factors), intent(inout) :: factors
      integer(c_size_t), value :: size
    end subroutine
    type(c_ptr) function c_last_error() bind(C, name='sptrsm_last_error')
      import
    end function
    integer(c_size_t) function c_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
    ! In C a function with further arguments for the format, here one without: the text has no '%'.
    integer(c_int) function c_error_set(status, text) bind(C, name='sptrsm_error_set')
      import
      integer(c_int), value :: status
      character(kind=c_char), intent(in) :: text(*)
    end function
    subroutine c_context_destroy(object) bind(C, name='sptrsm_context_destroy')
      import
      type(c_ptr), value :: object
    end subroutine
    subroutine c_matrix_destroy(object) bind(C, name='sptrsm_matrix_destroy')
      import
      type(c_ptr), value :: object
    end subroutine
    subroutine c_plan_destroy(object) bind(C, name='sptrsm_plan_destroy')
      import
      type(c_ptr), value :: object
    end subroutine
    subroutine c_direct_destroy(object) bind(C, name='sptrsm_direct_destroy')
      import
      type(c_ptr), value :: object
    end subroutine
  end interface

contains

  ! C sees where an array begins, not where it ends. So its size is compared here with what is needed: a status.
  integer(c_int) function check_size(name, has, needs) result(status)
    character(len=*), intent(in) :: name
    integer(c_int64_t), intent(in) :: has, needs
    character(len=80) :: text
    status = OK
    if (has == needs) return
    write (text, '(a, i0, a, i0)') ' has size ', has, ', not ', needs
    status = c_error_set(ERR_ARGUMENT, name//trim(text)//c_null_char)
  end function

  integer(c_int) function check_triangle(T, name) result(status)
    type(sptrsm_triangle), intent(in) :: T
    character(len=*), intent(in) :: name
    integer(c_int64_t) :: entries
    status = OK
    if (.not. allocated(T%ptr)) status = c_error_set(ERR_ARGUMENT, name//' has no arrays: make it by sptrsm_triangle'//c_null_char)
    if (status /= OK) return
    if (size(T%ptr) == 0) status = c_error_set(ERR_ARGUMENT, name//': ptr has size 0, not n + 1'//c_null_char)
    if (status /= OK) return
    entries = T%ptr(size(T%ptr))
    status = check_size(name//': idx', size(T%idx, kind=c_int64_t), entries)
    if (status == OK) status = check_size(name//': val', T%values, entries)
  end function

  ! T in C; what it points to lives as long as T.
  function sparse_of(T) result(out)
    type(sptrsm_triangle), intent(in), target :: T
    type(c_sparse) :: out
    out = c_sparse(T%format, T%dtype, T%uplo, T%diag, HOST, int(size(T%ptr) - 1, c_int32_t), c_loc(T%ptr), c_loc(T%idx), &
      c_null_ptr)
    select case (T%dtype)
    case (F32); out%val = c_loc(T%r32)
    case (F64); out%val = c_loc(T%r64)
    case (C64); out%val = c_loc(T%c32)
    case (C128); out%val = c_loc(T%c64)
    end select
  end function

  subroutine fill(T, format, uplo, ptr, idx, dtype, values, diag)
    type(sptrsm_triangle), intent(inout) :: T
    integer(c_int), intent(in) :: format, uplo, dtype
    integer(c_int64_t), intent(in) :: ptr(:)
    integer(c_int32_t), intent(in) :: idx(:)
    integer(c_int64_t), intent(in) :: values
    integer(c_int), intent(in), optional :: diag
    integer(c_int64_t) :: base
    T%format = format
    T%uplo = uplo
    T%dtype = dtype
    if (present(diag)) T%diag = diag
    T%values = values
    base = 0
    if (size(ptr) > 0) base = ptr(1)
    T%ptr = ptr - base
    T%idx = idx - int(base, c_int32_t)
  end subroutine

  function triangle_r32(format, uplo, ptr, idx, val, diag) result(T)
    integer(c_int), intent(in) :: format, uplo
    integer(c_int64_t), intent(in) :: ptr(:)
    integer(c_int32_t), intent(in) :: idx(:)
    real(c_float), intent(in) :: val(:)
    integer(c_int), intent(in), optional :: diag
    type(sptrsm_triangle) :: T
    call fill(T, format, uplo, ptr, idx, F32, size(val, kind=c_int64_t), diag)
    T%r32 = val
  end function

  function triangle_r64(format, uplo, ptr, idx, val, diag) result(T)
    integer(c_int), intent(in) :: format, uplo
    integer(c_int64_t), intent(in) :: ptr(:)
    integer(c_int32_t), intent(in) :: idx(:)
    real(c_double), intent(in) :: val(:)
    integer(c_int), intent(in), optional :: diag
    type(sptrsm_triangle) :: T
    call fill(T, format, uplo, ptr, idx, F64, size(val, kind=c_int64_t), diag)
    T%r64 = val
  end function

  function triangle_c32(format, uplo, ptr, idx, val, diag) result(T)
    integer(c_int), intent(in) :: format, uplo
    integer(c_int64_t), intent(in) :: ptr(:)
    integer(c_int32_t), intent(in) :: idx(:)
    complex(c_float_complex), intent(in) :: val(:)
    integer(c_int), intent(in), optional :: diag
    type(sptrsm_triangle) :: T
    call fill(T, format, uplo, ptr, idx, C64, size(val, kind=c_int64_t), diag)
    T%c32 = val
  end function

  function triangle_c64(format, uplo, ptr, idx, val, diag) result(T)
    integer(c_int), intent(in) :: format, uplo
    integer(c_int64_t), intent(in) :: ptr(:)
    integer(c_int32_t), intent(in) :: idx(:)
    complex(c_double_complex), intent(in) :: val(:)
    integer(c_int), intent(in), optional :: diag
    type(sptrsm_triangle) :: T
    call fill(T, format, uplo, ptr, idx, C128, size(val, kind=c_int64_t), diag)
    T%c64 = val
  end function

end module
