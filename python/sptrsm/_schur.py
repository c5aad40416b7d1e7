"""Schur complements S = C op(A)^-1 B from the factors of A: schur(), schur_many() and Schur (include/sptrsm_schur.h)."""
from __future__ import annotations

import ctypes
import sys
from contextlib import ExitStack
from typing import Any, NamedTuple, Optional, Sequence

import numpy

from . import _arrays, _lib, _nvidia, _sparse
from ._context import CPU, family_of
from ._errors import check
from ._factors import Factors
from ._info import SchurInfo, schur_info
from ._lib import lib
from ._options import flag, operation


class _Side(NamedTuple):
    """B by columns or C by rows: a sparse matrix, or an array of shape (n, count), in C's case the transpose of what was given."""

    sparse: Optional[_sparse.Matrix]
    dense: Optional[numpy.ndarray]
    block: Optional[_lib.Block]
    lines: int

    def as_struct(self) -> _lib.SchurColumns:
        """The library's description. It points into the arrays of this object."""
        struct = _lib.sized(_lib.SchurColumns, lib.sptrsm_schur_columns_init_sized)
        if self.sparse is None:
            struct.dense = ctypes.pointer(self.block)
        else:
            struct.count = self.lines
            struct.ptr, struct.idx, struct.val = map(_sparse.address, self.sparse[2:])
        return struct


def _dense_side(given, name: str, F: Factors, keep: bool) -> _Side:
    array = _arrays.as_numpy(given, F.dtype, name)
    if array.ndim != 2:
        raise ValueError(f"{name} has {array.ndim} dimensions; pass a matrix, for a vector {name}[:, None] or {name}[None]")
    array = array.T if name == "C" else array
    if keep:
        array = array.copy("K")
    block = _arrays.numpy_block(array, _arrays.CODE[F.dtype])
    if block is None:
        array = numpy.array(array, order="C")
        block = _arrays.numpy_block(array, _arrays.CODE[F.dtype])
    return _Side(None, array, block, array.shape[1])


def _side(given, name: str, F: Factors, keep: bool) -> _Side:
    """B or C, checked. keep: in arrays of its own, dense ones too."""
    n, axis = F.shape[0], 0 if name == "B" else 1
    if family_of(given) == "" and hasattr(given, "tocsr"):
        compressed = given.tocsc() if name == "B" else given.tocsr()
        if not isinstance(compressed.data, numpy.ndarray):
            raise TypeError(f"{name} is in device memory, and a Schur complement takes matrices of the host; pass {name}.get()")
        shape = compressed.shape
        matrix = None if len(shape) != 2 else _sparse.lines_of(compressed, F.dtype, name, "safe")
        side = _Side(matrix, None, None, 0 if matrix is None else matrix.n)
    else:
        side = _dense_side(given, name, F, keep)
        assert side.dense is not None
        shape = side.dense.shape if name == "B" else side.dense.shape[::-1]
    if len(shape) != 2 or shape[axis] != n:
        raise ValueError(f"{name} has shape {tuple(shape)}, and A is of order {n}; pass {'(n, columns)' if name == 'B' else '(rows, n)'}, "
                         f"with n = {n}")
    return side


class Schur:
    """S = C op(A)^-1 B with its analysis, for repeated values; made by :func:`schur`.

    It keeps copies of B and C and follows `update_values` of the factors. Calls of a thread wait for those of others that use the same
    factors. It is not pickled: pickle the factors, B and C. Its shape and dtype are those of S.
    """

    def __init__(self, F: Factors, B, C, trans: str, lower: Optional[bool], keep: bool):
        self._handle: Optional[int] = None
        if not isinstance(F, Factors):
            raise TypeError(f"F is {type(F).__name__}; pass what sptrsm.splu, from_splu, from_cholesky or from_factors made")
        self._F, self._symmetric, self._lower = F, C is None, lower
        op = operation(trans)
        if lower is not None:
            flag("lower", lower)
            if C is not None:
                raise ValueError("lower= is for the symmetric form; with C all of S is made")
        if C is None and F.factors.upper == "given":
            raise ValueError("without C, S is symmetric, and these factors have a U that is not L transposed; pass C=B.T (or B.conj().T)")
        self._B = _side(B, "B", F, keep)
        self._C = None if C is None else _side(C, "C", F, keep)
        self._like = next((given for given in (B, C) if given is not None and family_of(given) not in ("", "numpy")), None)
        request = _lib.sized(_lib.SchurRequest, lib.sptrsm_schur_request_init_sized)
        request.B = ctypes.pointer(self._B.as_struct())
        if self._C is not None:
            request.C = ctypes.pointer(self._C.as_struct())
        request.op, request.uplo = op, _lib.UPPER if lower is False else _lib.LOWER
        if not F._on_host:
            _nvidia.preload(_nvidia.CUBLAS)
        with F._lock:
            handle = ctypes.c_void_p()
            self._context = F._use_stream_of()
            check(lib.sptrsm_schur_create(handle, F._open_handle(), request))
            self._handle = handle.value

    def solve(self, out=None):
        """S with the present values.

        Parameters
        ----------
        out : array on the host, shape (rows of C, columns of B), optional
            Where S goes.

        Returns
        -------
        S : array of the kind of B or C; of NumPy if both are sparse
            Without C all of S, or only the triangle that was asked for: then the other one is zero, and untouched in `out`.

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> F = sptrsm.splu(scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]]))
        >>> B = scipy.sparse.csc_array([[5.0], [5.0]])
        >>> S = sptrsm.schur(F, B, C=numpy.eye(2))
        >>> S.solve()
        array([[1.],
               [1.]])
        >>> F.update_values(U=2 * F.U.data)
        >>> S.solve()
        array([[0.5],
               [0.5]])
        """
        with self._F._lock:
            handle = self._open_handle()
            target, S, finish = self._target(out, "out")
            check(lib.sptrsm_schur_solve(handle, target.block))
            return self._finished(target, S, finish)

    def _open_handle(self) -> Any:
        """The object in the library; the caller holds the lock of the factors."""
        self._F._use_stream_of()
        if self._handle is None:
            raise ValueError("this Schur is closed")
        return self._handle

    def _target(self, out, name: str) -> tuple:
        """(operand, S, finish) for a result: `out`, or a new array."""
        F = self._F
        if out is None:
            memory, S, finish = _arrays.host_result(self.shape, F.dtype, _lib.ROW_MAJOR, family_of(self._like), self._like)
            if self._symmetric and self._lower is not None:
                memory[...] = 0
            return _arrays.Operand(_arrays.numpy_block(memory, _arrays.CODE[F.dtype]), self.shape, CPU, memory), S, finish
        target = _arrays.operand(out, F.dtype, self.shape[0], name, None, True)
        if target.device != CPU:
            raise ValueError(f"{name} is on {target.device}, and a Schur complement goes to an array of the host; leave {name} out")
        if target.shape != self.shape:
            raise ValueError(f"{name} has shape {target.shape}; pass one of the shape {self.shape} of S")
        for side in (self._B, self._C):
            if side is not None and side.dense is not None and numpy.may_share_memory(side.dense, numpy.asarray(out)):
                raise ValueError(f"{name} shares memory with B or C; pass another array, or a copy of them")
        return target, out, None

    def _finished(self, target: _arrays.Operand, S, finish) -> Any:
        """S, whole, as the caller gets it."""
        if self._symmetric and self._lower is None:
            memory = target.keep if isinstance(target.keep, numpy.ndarray) else numpy.asarray(S)
            for i in range(len(memory)):
                column = memory[i + 1:, i]
                memory[i, i + 1:] = column.conj() if self._F.factors.upper == "conjugate-transpose" else column
        if finish is None:
            _arrays.changed(S, family_of(S))
        return finish() if finish else S

    def update_values(self, B=None, C=None) -> None:
        """New values of B and C; what is None stays.

        Parameters
        ----------
        B, C : matrix with the same pattern, or an array of its values by columns of B or rows of C, if it is sparse; else an array of its
            shape
        """
        with self._F._lock:
            handle = self._open_handle()
            fresh = {name: self._new_values(values, name) for name, values in (("B", B), ("C", C)) if values is not None}
            sparse = {name: values for name, values in fresh.items() if self._side_of(name).sparse is not None}
            check(lib.sptrsm_schur_set_values(handle, *(_sparse.address(sparse[name]) if name in sparse else None for name in "BC")))
            for name in fresh.keys() - sparse.keys():
                self._side_of(name).dense[...] = fresh[name]  # the library reads it at each solve

    def _side_of(self, name: str) -> Any:
        side = self._B if name == "B" else self._C
        if side is None:
            raise ValueError("C is given, and this Schur complement was made without C; pass B alone")
        return side

    def _new_values(self, values, name: str) -> numpy.ndarray:
        side = self._side_of(name)
        if side.sparse is not None:
            return _sparse.new_values(values, side.sparse, name)
        array = _arrays.as_numpy(values, self.dtype, name)
        array = array.T if name == "C" else array
        if array.shape != side.dense.shape:
            raise ValueError(f"{name} has another shape than before; make a new Schur complement by sptrsm.schur")
        return array

    def close(self) -> None:
        """Frees the memory of the object now rather than when Python collects it."""
        with self._F._lock:
            if self._handle is not None and self._context.usable:
                lib.sptrsm_schur_destroy(self._handle)
            self._handle = None


    shape = property(lambda self: ((self._C or self._B).lines, self._B.lines))
    dtype = property(lambda self: self._F.dtype)
    factors = property(lambda self: self._F, doc="the solver whose factors are used")

    @property
    def info(self) -> SchurInfo:
        """What the analysis found."""
        with self._F._lock:
            return schur_info(self._open_handle())

    def __reduce__(self):
        raise TypeError("a Schur is not pickled; pickle its factors, B and C, and call sptrsm.schur there")

    def __enter__(self) -> Schur:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, finalizing=sys.is_finalizing):
        if not finalizing() and getattr(self, "_handle", None):
            self.close()

    def __repr__(self) -> str:
        form = "B^T A^-1 B" if self._symmetric and self._F.factors.upper == "transpose" else "B^H A^-1 B" if self._symmetric else "C A^-1 B"
        return f"<sptrsm.Schur {form} {self.shape[0]} x {self.shape[1]} {self.dtype.name}{', closed' if self._handle is None else ''}>"


def schur(F: Factors, B, C=None, trans: str = "N", *, lower: Optional[bool] = None) -> Schur:
    """Analyses S = C op(A)^-1 B for repeated values; `F.schur(B, C)` is S itself.

    Sparse columns of B and rows of C are solved only in the rows that they reach, and with one triangle of A each.

    Parameters
    ----------
    F : Factors
        On the host or a device; B, C and S are on the host.
    B : sparse matrix or array, shape (n, columns)
    C : sparse matrix or array, shape (rows, n), optional
        Default, for factors with U = L^T or L^H: the transpose of B or, where U is L^H, its conjugate transpose. S is symmetric then.
    trans : {"N", "T", "H"}
        op(A): A itself, its transpose, or its conjugate transpose. "N" without C.
    lower : bool, optional
        Without C: make only the lower (True) or upper (False) triangle of S.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> F = sptrsm.from_factors(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 3.0]]))
    >>> S = sptrsm.schur(F, scipy.sparse.csc_array([[0.0], [3.0]]))
    >>> S.solve()
    array([[1.]])
    >>> S.update_values(B=[6.0])
    >>> S.solve()
    array([[4.]])
    """
    return Schur(F, B, C, trans, lower, keep=True)


def schur_many(items: Sequence[Schur], out: Optional[Sequence] = None) -> list:
    """S of many Schur complements: `[S.solve() for S in items]` with threads that work on different items.

    Parameters
    ----------
    items : sequence of Schur, of any factors
    out : sequence of arrays, optional
        Where they go, as in `Schur.solve`.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> F = [sptrsm.from_factors(scipy.sparse.csc_array([[size]])) for size in (1.0, 2.0)]
    >>> sptrsm.schur_many([sptrsm.schur(f, numpy.ones((1, 1))) for f in F])
    [array([[1.]]), array([[0.25]])]
    """
    items = list(items)
    for i, one in enumerate(items):
        if not isinstance(one, Schur):
            raise TypeError(f"items[{i}] is {type(one).__name__}; pass what sptrsm.schur made")
    results = [None] * len(items) if out is None else list(out)
    if len(results) != len(items):
        raise ValueError(f"out has {len(results)} arrays, and there are {len(items)} items; pass one for each")
    with ExitStack() as locks:
        for F in sorted({one._F for one in items}, key=id):  # always in one order, so that two threads can't wait for each other
            locks.enter_context(F._lock)
        handles = (ctypes.c_void_p * len(items))(*(one._open_handle() for one in items))
        targets = [one._target(result, f"out[{i}]") for i, (one, result) in enumerate(zip(items, results))]
        first: dict = {}
        for i, result in enumerate(results):
            if result is not None and first.setdefault(id(result), i) != i:
                raise ValueError(f"out[{i}] is out[{first[id(result)]}]; pass an array of its own for each item")
        if all(one._F._on_host for one in items):
            blocks = (_lib.Block * len(items))(*(target.block for target, _, _ in targets))
            check(lib.sptrsm_schur_solve_many(handles, len(items), blocks))
        else:  # on devices they follow one another, and each solver has a stream of its own
            for handle, (target, _, _) in zip(handles, targets):
                check(lib.sptrsm_schur_solve(handle, target.block))
        return [one._finished(*target) for one, target in zip(items, targets)]
