"""Triangles in the library's form from sparse matrices of SciPy and CuPy: sorted CSR or CSC, 64-bit pointers, 32-bit indices."""
from __future__ import annotations

import sys
from typing import Any, NamedTuple, Optional

import numpy

from . import _dlpack, _lib
from ._arrays import CODE, Casting, as_numpy, check_digits, wrong_type
from ._context import CPU, Device, family_of
from ._options import INT32_MAX


class Matrix(NamedTuple):
    """Arrays of a square sparse matrix, of NumPy or CuPy, that belong to the solver made from it and do not change."""

    format: str  # "csr" or "csc"
    n: int
    indptr: Any  # int64 [n+1]
    indices: Any  # int32 [nnz], ascending in each row (csr) or column (csc)
    data: Any  # [nnz]

    @property
    def nnz(self) -> int:
        return len(self.indices)


def value_type(dtype, given=None) -> numpy.dtype:
    """The type of the library for values of `given`: at least float32, as in SciPy; `dtype` where one is asked for."""
    result = numpy.dtype(dtype) if dtype is not None else numpy.promote_types(given, numpy.float32)
    if result not in CODE:
        raise TypeError(f"values of type {result} are not supported; convert the matrix to one of " + ", ".join(_lib.DTYPES))
    return result


def address(array) -> int:
    """Where the elements of a contiguous NumPy or CuPy array begin."""
    return array.__array_interface__["data"][0] if isinstance(array, numpy.ndarray) else array.data.ptr


def device_of(matrix: Matrix) -> Device:
    return CPU if isinstance(matrix.data, numpy.ndarray) else _dlpack.device(matrix.data, "A")


def _compressed(A, name: str):
    """A as an object with format "csr" or "csc"."""
    if hasattr(A, "to_scipy_sparse"):  # the package sparse of PyData
        A = A.to_scipy_sparse()
    if getattr(A, "format", None) in ("csr", "csc"):
        return A
    if not hasattr(A, "tocsr"):
        raise TypeError(f"{name} is {type(A).__name__}, not a sparse matrix; pass scipy.sparse.csr_array({name})")
    return A.tocsr()


def canonical(A, dtype=None, name: str = "A") -> Matrix:
    """The matrix in arrays of its own, sorted and with duplicates added up.

    Raises TypeError where A is not sparse or of another type than numbers, ValueError where it is not square or too large.
    """
    A = _compressed(A, name)
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be a square matrix but its shape is {tuple(A.shape)}.")
    return lines_of(A, dtype, name, "unsafe")  # a narrower dtype is asked for by name


def lines_of(A, dtype, name: str, casting: Casting) -> Matrix:
    """The rows of a CSR or the columns of a CSC matrix of any shape, as `canonical` has them; n is their number."""
    lines = A.shape[A.format == "csc"]
    if max(A.shape) > INT32_MAX:
        raise ValueError(f"{name} has shape {tuple(A.shape)}; the library takes at most {INT32_MAX} rows and columns")
    if A.indptr.dtype.kind not in "iu" or A.indices.dtype.kind not in "iu":
        raise TypeError(f"{name} has offsets of type {A.indptr.dtype} and indices of type {A.indices.dtype}; pass integers")
    lengths = len(A.indptr), len(A.indices), len(A.data)
    if lengths[0] != lines + 1 or min(lengths[1:]) < int(A.indptr[-1]) or A.data.ndim != 1 or A.indices.ndim != 1:
        raise ValueError(f"{name} is damaged: its {lines} rows or columns need {lines + 1} offsets, and as many indices and "
                         f"values as the last one says ({int(A.indptr[-1])}); it has {lengths[0]}, {lengths[1]} and {lengths[2]}")
    kind = value_type(dtype, A.dtype)
    if A.dtype.kind == "c" and kind.kind != "c":
        raise TypeError(f"{name} is {A.dtype}; values can't become {kind.name} without losing their imaginary part")
    if isinstance(A.data, numpy.ndarray):
        check_digits(name, A.data, kind, casting)
    if not A.has_canonical_format:
        A = A.copy()
        A.sum_duplicates()
    if A.nnz and A.indices.dtype.itemsize > 4:
        for index in (int(A.indices.max()), int(A.indices.min())):
            if not -1 < index <= INT32_MAX:
                raise ValueError(f"{name} has column or row index {index}, outside its shape {tuple(A.shape)}")
    used = slice(int(A.indptr[-1]))  # SciPy's arrays may be longer than that
    return Matrix(A.format, lines, A.indptr.astype(numpy.int64), A.indices[used].astype(numpy.int32), A.data[used].astype(kind))


def freeze(*arrays) -> None:
    """Makes arrays of NumPy read-only; CuPy has no such thing."""
    for array in arrays:
        if isinstance(array, numpy.ndarray):
            array.flags.writeable = False


def on_host(matrix: Matrix) -> Matrix:
    """The same matrix in NumPy arrays."""
    if isinstance(matrix.data, numpy.ndarray):
        return matrix
    return matrix._replace(indptr=matrix.indptr.get(), indices=matrix.indices.get(), data=matrix.data.get())


def as_struct(matrix: Matrix, lower: bool, unit: bool) -> _lib.Sparse:
    """The library's description of a triangle. It points into the matrix' arrays."""
    return _lib.Sparse(_lib.CSR if matrix.format == "csr" else _lib.CSC, CODE[matrix.data.dtype], _lib.LOWER if lower else _lib.UPPER,
                       _lib.UNIT if unit else _lib.NONUNIT, device_of(matrix).place, matrix.n, address(matrix.indptr),
                       address(matrix.indices), address(matrix.data))


def as_square(matrix: Matrix, symmetry: int = _lib.GENERAL) -> _lib.Square:
    """The library's description of a square matrix. It points into the matrix' arrays."""
    return _lib.Square(_lib.CSR if matrix.format == "csr" else _lib.CSC, CODE[matrix.data.dtype], symmetry, device_of(matrix).place,
                       matrix.n, address(matrix.indptr), address(matrix.indices), address(matrix.data))


def as_sparse(matrix: Optional[Matrix]):
    """The matrix as a sparse array of SciPy or a sparse matrix of CuPy, which shares its values; None stays None."""
    if matrix is None:
        return None
    if isinstance(matrix.data, numpy.ndarray):
        from scipy.sparse import csc_array, csr_array
    else:
        from cupyx.scipy.sparse import csc_matrix as csc_array, csr_matrix as csr_array
    form = csr_array if matrix.format == "csr" else csc_array
    return form((matrix.data, matrix.indices, matrix.indptr), shape=(matrix.n, matrix.n))


def _values_of(A, matrix: Matrix, name: str):
    """The values of a sparse matrix with the pattern of `matrix`, in its order."""
    A = A.tocsr() if matrix.format == "csr" else A.tocsc()
    if isinstance(A.data, numpy.ndarray):
        check_digits(name, A.data, matrix.data.dtype, "safe")
    elif A.dtype != matrix.data.dtype:
        raise wrong_type(name, A.dtype, matrix.data.dtype)
    other = lines_of(A, A.dtype if A.dtype in CODE else matrix.data.dtype, name, "unsafe")
    mine, theirs = (matrix, other) if type(matrix.data) is type(other.data) else (on_host(matrix), on_host(other))
    if mine.n != theirs.n or mine.nnz != theirs.nnz or bool((mine.indptr != theirs.indptr).any() or (mine.indices != theirs.indices).any()):
        raise ValueError(f"{name} has another pattern than the solver; make a new solver")
    return other.data


def new_values(values, matrix: Matrix, name: str = "values"):
    """An array of its own for `update_values`, from one of the matrix' length or a sparse matrix with the same pattern."""
    dtype = matrix.data.dtype
    if hasattr(values, "tocsr"):
        values = _values_of(values, matrix, name)
    if isinstance(matrix.data, numpy.ndarray):
        fresh = numpy.array(as_numpy(values, dtype, name))
    else:
        fresh = sys.modules["cupy"].array(as_numpy(values, dtype, name) if family_of(values) in ("", "numpy") else values)
        if fresh.dtype != dtype:
            raise wrong_type(name, fresh.dtype, dtype)
    if fresh.shape != matrix.data.shape:
        raise ValueError(f"{name} has shape {fresh.shape}; the pattern has {matrix.nnz} entries, in the order of `indices`")
    return fresh
