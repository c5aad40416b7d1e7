"""A factor set as arrays, and the library's description of it."""
from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Optional

import numpy

from . import _arrays, _lib, _sparse
from ._lib import lib

CONVENTIONS = {"gather": _lib.GATHER, "scatter": _lib.SCATTER}
SCALE_OPS = {"multiply": _lib.MULTIPLY, "divide": _lib.DIVIDE}
UPPERS = {"given": _lib.U_GIVEN, "none": _lib.U_GIVEN, "transpose": _lib.U_IS_LT, "conjugate-transpose": _lib.U_IS_LH}


@dataclass(frozen=True)
class FactorSet:
    """L D U = P R A C Q in arrays of its own, which become read-only; members mean what they mean in sptrsm_factors (include/sptrsm.h)."""

    L: _sparse.Matrix
    U: Optional[_sparse.Matrix] = None
    upper: str = "given"  # a key of UPPERS: what U is
    unit_L: bool = False
    unit_U: bool = False
    D: Optional[numpy.ndarray] = None
    D_sub: Optional[numpy.ndarray] = None
    D_hermitian: bool = False
    perm_row: Optional[numpy.ndarray] = None
    perm_col: Optional[numpy.ndarray] = None
    row_convention: str = "gather"
    col_convention: str = "gather"
    scale_row: Optional[numpy.ndarray] = None
    scale_col: Optional[numpy.ndarray] = None
    row_op: str = "multiply"
    col_op: str = "multiply"
    A: Optional[_sparse.Matrix] = None  # all entries of the matrix that was factorised, for refinement
    A_is_old: bool = False  # the factors have got values that A's were not factorised to

    def __post_init__(self) -> None:
        matrices = [matrix for matrix in (self.L, self.U, self.A) if matrix is not None]
        _sparse.freeze(*(part for matrix in matrices for part in (matrix.indptr, matrix.indices, matrix.data)), self.D, self.D_sub,
                       self.perm_row, self.perm_col, self.scale_row, self.scale_col)

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # arrays come writable out of a pickle

    def as_struct(self) -> _lib.Factors:
        """The library's description. It points into the arrays of this object."""
        struct = _lib.sized(_lib.Factors, lib.sptrsm_factors_init_sized)
        struct.L = ctypes.pointer(_sparse.as_struct(self.L, True, self.unit_L))
        if self.U is not None:
            struct.U = ctypes.pointer(_sparse.as_struct(self.U, False, self.unit_U))
        struct.u_kind, struct.D_hermitian = UPPERS[self.upper], self.D_hermitian
        for name in ("D", "D_sub", "perm_row", "perm_col", "scale_row", "scale_col"):
            array = getattr(self, name)
            setattr(struct, name, None if array is None else _sparse.address(array))
        struct.row_convention, struct.col_convention = CONVENTIONS[self.row_convention], CONVENTIONS[self.col_convention]
        struct.row_op, struct.col_op = SCALE_OPS[self.row_op], SCALE_OPS[self.col_op]
        return struct

    def on_host(self) -> FactorSet:
        """The same factors with all matrices in NumPy arrays."""
        return replace(self, **{name: _sparse.on_host(matrix) for name in ("L", "U", "A") if (matrix := getattr(self, name)) is not None})


def vector(values, dtype: numpy.dtype, n: int, name: str, casting: _arrays.Casting = "safe") -> numpy.ndarray:
    """A contiguous array [n] of its own."""
    fresh: numpy.ndarray = numpy.array(_arrays.as_numpy(values, dtype, name, casting))
    if fresh.shape != (n,):
        raise ValueError(f"{name} has shape {fresh.shape}, the factors are of order {n}")
    return fresh


def scipys_permutation(perm: Optional[numpy.ndarray], is_scipys: bool, n: int) -> numpy.ndarray:
    """An int32 [n] of its own: the permutation, its inverse unless it is in SciPy's convention, or the identity for None."""
    if perm is None:
        return numpy.arange(n, dtype=numpy.int32)
    return perm.copy() if is_scipys else numpy.argsort(perm).astype(numpy.int32)
