"""A factor set as arrays, the values of many with one pattern, and the library's descriptions of them."""
from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass, fields, replace
from typing import Any, Optional, Sequence

import numpy

from . import _arrays, _lib, _sparse
from ._context import family_of
from ._lib import lib

CONVENTIONS = {"gather": _lib.GATHER, "scatter": _lib.SCATTER}
SCALE_OPS = {"multiply": _lib.MULTIPLY, "divide": _lib.DIVIDE}
UPPERS = {"given": _lib.U_GIVEN, "none": _lib.U_GIVEN, "transpose": _lib.U_IS_LT, "conjugate-transpose": _lib.U_IS_LH}
PARTS = {"L": "L", "U": "U", "D": "D", "D_sub": "D_sub", "row_scale": "scale_row", "col_scale": "scale_col"}  # our name: the library's
MATRICES, SCALES = ("L", "U"), ("row_scale", "col_scale")


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


def values_struct(values: dict, first: int, count: int) -> _lib.BatchValues:
    """The library's description of arrays (count, length), or (length,) for all items. It points into them."""
    struct = _lib.sized(_lib.BatchValues, lib.sptrsm_batch_values_init_sized)
    struct.first, struct.count = first, count
    for name, array in values.items():
        setattr(struct, PARTS[name], _sparse.address(array))
        setattr(struct, PARTS[name] + "_stride", array.shape[1] if array.ndim == 2 else 0)
    return struct


def _part(of: FactorSet, name: str) -> Any:
    """The values of a part of a factor set."""
    part = getattr(of, PARTS[name])
    if part is None:
        raise ValueError(f"{name} is given, but the factor set has no {name}")
    return part.data if name in MATRICES else part


def values_of(values, name: str, of: FactorSet, count: Optional[int]) -> Any:
    """New values of a part as a compact array, (count, length) or (length,). count None: any number of items."""
    like = _part(of, name)
    if name in MATRICES:
        values = _in_order(values, name, getattr(of, name))
    place = like if name in MATRICES else like if name in SCALES else of.L.data  # D lies where L does
    if isinstance(place, numpy.ndarray):
        array = numpy.ascontiguousarray(_arrays.as_numpy(values, like.dtype, name))
    else:
        cupy = sys.modules["cupy"]
        array = cupy.ascontiguousarray(
            cupy.asarray(_arrays.as_numpy(values, like.dtype, name) if family_of(values) in ("", "numpy") else values))
        if array.dtype != like.dtype:
            raise _arrays.wrong_type(name, array.dtype, like.dtype)
    if array.ndim not in (1, 2) or array.shape[-1] != len(like) or array.ndim == 2 and count not in (None, len(array)):
        items = "count" if count is None else count
        raise ValueError(f"{name} has shape {array.shape}; pass an array ({items}, {len(like)}), or ({len(like)},) for the same values in "
                         "all items")
    return array


def count_of(values: dict) -> int:
    """The number of items that arrays (count, length) have."""
    counts = {name: len(array) for name, array in values.items() if array.ndim == 2}
    if not counts:
        raise ValueError("no array says how many items there are; pass L, U or another part with shape (count, length), or a list of "
                         "factor sets")
    name, count = next(iter(counts.items()))
    for other, length in counts.items():
        if length != count:
            raise ValueError(f"{other} has {length} items and {name} {count}; pass arrays of one length")
    return count


def originals_of(A, dtype: numpy.dtype, count: int) -> list:
    """The matrices of `count` items from a list of them, or from one for all; None stays None."""
    if not isinstance(A, (list, tuple)):
        return [None if A is None else _sparse.canonical(A, dtype, "A")] * count
    if len(A) != count:
        raise ValueError(f"A has {len(A)} matrices for {count} items; pass one for each")
    return [None if one is None else _sparse.canonical(one, dtype, f"A[{i}]") for i, one in enumerate(A)]


def _in_order(values, name: str, matrix: _sparse.Matrix) -> Any:
    """The values of a sparse matrix, or of a list of them, in the order of the pattern; anything else as it is."""
    if hasattr(values, "tocsr"):
        return _sparse.new_values(values, matrix, name)
    if isinstance(values, (list, tuple)) and values and all(hasattr(one, "tocsr") for one in values):
        package = numpy if isinstance(matrix.data, numpy.ndarray) else sys.modules["cupy"]
        return package.stack([_sparse.new_values(one, matrix, f"{name}[{i}]") for i, one in enumerate(values)])
    return values


def _same(a, b) -> bool:
    """Whether two members of factor sets are alike; permutations and matrices by their numbers, without values."""
    if isinstance(a, _sparse.Matrix) and isinstance(b, _sparse.Matrix):
        return a.format == b.format and a.n == b.n and _same(a.indptr, b.indptr) and _same(a.indices, b.indices)
    if hasattr(a, "shape") and hasattr(b, "shape"):
        return a is b or type(a) is type(b) and a.shape == b.shape and bool((a == b).all())
    return a is None and b is None or type(a) is type(b) and a == b


def difference(first: FactorSet, other: FactorSet) -> Optional[str]:
    """The first member in which two factor sets differ that have one pattern otherwise, or None. D and scalings may have other values."""
    for field in fields(FactorSet):
        a, b = getattr(first, field.name), getattr(other, field.name)
        if field.name in ("A", "A_is_old"):
            continue
        if field.name in PARTS.values() and not isinstance(a, _sparse.Matrix):
            same = (a is None) == (b is None)
        else:
            same = _same(a, b)
        if not same:
            return field.name
    return None


def stacked(sets: Sequence[FactorSet]) -> dict:
    """The values of factor sets with one pattern, as arrays of all items."""
    first = sets[0]
    values = {}
    for name, member in PARTS.items():
        if getattr(first, member) is not None:
            like = _part(first, name)
            package = numpy if isinstance(like, numpy.ndarray) else sys.modules["cupy"]
            values[name] = package.stack([_part(one, name) for one in sets])
            if name in ("D", "D_sub") and not isinstance(first.L.data, numpy.ndarray):
                values[name] = sys.modules["cupy"].asarray(values[name])  # D lies where L does
    return values
