"""Schur complements S = C op(A)^-1 B from the factors of A: schur(), schur_many() and Schur (include/sptrsm_schur.h)."""
from __future__ import annotations

import ctypes
import sys
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, Callable, NamedTuple, Optional, Sequence

import numpy

from . import _arrays, _dlpack, _lib, _nvidia, _sparse
from ._context import family_of, making_on
from ._errors import check
from ._factors import Factors
from ._info import SchurInfo, schur_info
from ._lib import lib
from ._options import INT32_MAX, flag, operation


class _Side(NamedTuple):
    """B by columns or C by rows: a sparse matrix on the host, or a dense array with `block`, of n rows and a column for each line."""

    sparse: Optional[_sparse.Matrix]
    dense: Optional[_arrays.Operand]
    block: Optional[_lib.Block]
    lines: int
    like: Any  # an array of the kind and in the place that S gets from this side; None: of NumPy

    values = property(lambda self: None if self.sparse is None else _sparse.address(self.sparse.data))

    def as_struct(self) -> _lib.SchurColumns:
        """The library's description. It points into the arrays of this object."""
        struct = _lib.sized(_lib.SchurColumns, lib.sptrsm_schur_columns_init_sized)
        if self.sparse is None:
            struct.dense = ctypes.pointer(self.block)
        else:
            struct.count = self.lines
            struct.ptr, struct.idx, struct.val = map(_sparse.address, self.sparse[2:])
        return struct


class _Target(NamedTuple):
    """Where S goes, S as the caller gets it, what makes it if it is not there before the solve, and the stream of the solve."""

    operand: _arrays.Operand
    S: Any
    finish: Optional[Callable]
    stream: Any


def _check_shape(shape: tuple, name: str, n: int) -> None:
    if len(shape) != 2 or shape[name == "C"] != n:
        raise ValueError(f"{name} has shape {tuple(shape)}, and A is of order {n}; pass {'(n, columns)' if name == 'B' else '(rows, n)'}, "
                         f"with n = {n}")


def _dense_side(given, name: str, F: Factors, keep: bool, stream: Optional[int]) -> _Side:
    family = family_of(given)
    foreign = family not in ("", "numpy")
    if foreign:
        _arrays.check_place(name, _dlpack.device(given, name), F._device)
    else:
        given = _arrays.as_numpy(given, F.dtype, name)
    one = _arrays.operand(given, F.dtype, None, name, stream)
    _check_shape(one.shape, name, F.shape[0])
    if keep:
        with making_on(given, stream if one.device.place == _lib.CUDA else None):  # the operand has ordered it behind the array
            given = _arrays.own_copy(given, family, name)
        one = _arrays.operand(given, F.dtype, None, name, stream)
    block, lines = one.block, one.shape[name == "B"]
    if lines > INT32_MAX:
        raise ValueError(f"{name} has shape {one.shape}; S has at most {INT32_MAX} rows and columns")
    if name == "C":  # a row of C is a column for the library
        layout = _lib.COL_MAJOR if block.layout == _lib.ROW_MAJOR else _lib.ROW_MAJOR
        block = _lib.Block(block.data, block.ld, F.shape[0], lines, block.dtype, layout, block.place)
    return _Side(None, one, block, lines, given if foreign else None)


def _sparse_side(given, name: str, F: Factors) -> _Side:
    _check_shape(given.shape, name, F.shape[0])
    compressed, like = given.tocsc() if name == "B" else given.tocsr(), None
    if _arrays.on_device(compressed.data, name):
        _arrays.check_place(name, _dlpack.device(compressed.data, name), F._device)
        compressed, like = compressed.get(), compressed.data[:0].copy()
    matrix = _sparse.lines_of(compressed, F.dtype, name, "safe")
    return _Side(matrix, None, None, matrix.n, like)


def _side(given, name: str, F: Factors, keep: bool, stream: Optional[int]) -> _Side:
    """B or C, checked. keep: in arrays of its own, dense ones too."""
    if family_of(given) == "" and hasattr(given, "tocsr"):
        return _sparse_side(given, name, F)
    return _dense_side(given, name, F, keep, stream)


def _span(block: _lib.Block) -> tuple:
    """(address of the first element, address behind the last one, all elements for NumPy to compare addresses: on a device, too)."""
    lines, length = (block.n, block.nrhs) if block.layout == _lib.ROW_MAJOR else (block.nrhs, block.n)
    begin, size = block.data or 0, numpy.dtype(_lib.DTYPES[block.dtype]).itemsize
    end = begin + ((lines - 1) * block.ld + length) * size if lines and length else begin
    elements = SimpleNamespace(__array_interface__={"version": 3, "typestr": f"|V{size}", "data": (begin, False), "shape": (lines, length),
                                                    "strides": (block.ld * size, size)})
    return begin, end, numpy.asarray(elements)


def _overlap(blocks: Sequence[_lib.Block]) -> Optional[tuple]:
    """The numbers of two blocks that have an element in common, the lower one first, or None."""
    spans = [_span(block) for block in blocks]
    order = sorted(range(len(spans)), key=lambda i: spans[i][0])
    for k, i in enumerate(order):
        for j in order[k + 1:]:
            if spans[j][0] >= spans[i][1]:
                break
            if numpy.shares_memory(spans[i][2], spans[j][2]):
                return min(i, j), max(i, j)
    return None


class Schur:
    """S = C op(A)^-1 B with its analysis, for repeated values; made by :func:`schur`.

    It keeps copies of B and C and follows `update_values` of the factors. Calls of a thread wait for those of others that use the same
    factors. It is not pickled: pickle the factors, B and C. Its shape and dtype are those of S.
    """

    def __init__(self, F: Factors, B, C, trans: str, lower: Optional[bool], keep: bool, stream=None):
        self._handle: Optional[int] = None
        if not isinstance(F, Factors):
            raise TypeError(f"F is {type(F).__name__}; pass what sptrsm.splu, from_splu, from_cholesky or from_factors made")
        self._F, self._symmetric, self._keep = F, C is None, keep
        self._lower = None if lower is None else flag("lower", lower)
        op = operation(trans)
        if lower is not None and C is not None:
            raise ValueError("lower= is for the symmetric form; with C all of S is made")
        if C is None and F.factors.upper == "given":
            raise ValueError("without C, S is symmetric, and these factors have a U that is not L transposed; pass C=B.T (or B.conj().T)")
        if not F._on_host:
            _nvidia.preload(_nvidia.CUBLAS)
        with F._lock:
            self._context = F._use_stream_of(B, C, stream=stream)
            given = {"B": B} if C is None else {"B": B, "C": C}
            self._sides = {name: _side(one, name, F, keep, self._context.stream) for name, one in given.items()}
            self.shape = self._sides["B" if C is None else "C"].lines, self._sides["B"].lines
            self._create(op)

    def _create(self, op: int) -> None:
        request = _lib.sized(_lib.SchurRequest, lib.sptrsm_schur_request_init_sized)
        for name, side in self._sides.items():
            setattr(request, name, ctypes.pointer(side.as_struct()))
        request.op, request.uplo = op, _lib.UPPER if self._lower is False else _lib.LOWER
        request.whole = self._lower is None
        handle = ctypes.c_void_p()
        check(lib.sptrsm_schur_create(handle, self._F._open_handle(), request))
        self._handle = handle.value

    def solve(self, out=None, *, stream=None):
        """S with the present values.

        Parameters
        ----------
        out : array, shape (rows of C, columns of B), optional
            Where S goes: on the host, or on the device of the factors.
        stream : int or stream object, optional
            CUDA stream of the work; default: the current stream of the package of `out`, or of B or C as they are kept.

        Returns
        -------
        S : array of the kind of B, and on its device; of C where B is of NumPy or SciPy
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
            target = self._target(out, "out", stream)
            check(lib.sptrsm_schur_solve(handle, target.operand.block))
            return self._finished(target, out)

    def _open_handle(self) -> Any:
        """The object in the library; the caller holds the lock of the factors."""
        self._F._open_handle()
        if self._handle is None:
            raise ValueError("this Schur is closed")
        return self._handle

    def _like(self) -> Any:
        return next((side.like for side in self._sides.values() if side.like is not None), None)

    def _target(self, out, name: str, stream) -> _Target:
        """`out`, or a new array, for what is queued next; on a device that is queued on the caller's stream."""
        F, like = self._F, self._like()
        context = F._use_stream_of(out, like, stream=stream)
        if out is None:
            place = _lib.CUDA if _arrays.on_device(like, name) else _lib.HOST
            fill = 0 if self._symmetric and self._lower is not None else None
            return _Target(*_arrays.new_target(like, self.shape, _lib.ROW_MAJOR, place, F, context.stream, fill=fill), context.keeps)
        target = _arrays.operand(out, F.dtype, None, name, context.stream, True)
        _arrays.check_place(name, target.device, F._device)
        if target.shape != self.shape:
            raise ValueError(f"{name} has shape {target.shape}; pass one of the shape {self.shape} of S")
        if any(side.block and _overlap((side.block, target.block)) for side in self._sides.values()):
            raise ValueError(f"{name} shares memory with B or C; pass another array, or a copy of them")
        return _Target(target, out, None, context.keeps)

    def _finished(self, target: _Target, out) -> Any:
        """S, whole or queued, as the caller gets it."""
        read = [] if self._keep else [(side.dense, side.like) for side in self._sides.values() if side.dense]
        if any(_arrays.must_wait(one.device.place, family_of(array)) for one, array in [(target.operand, target.S), *read]):
            self._context.sync()
        if out is not None:
            _arrays.changed(out, family_of(out))
        return target.finish() if target.finish else target.S

    def update_values(self, B=None, C=None) -> None:
        """New values of B and C; what is None stays.

        Parameters
        ----------
        B, C : matrix with the same pattern, or an array of its values by columns of B or rows of C, if it is sparse; else an array of its
            shape
        """
        with self._F._lock:
            handle = self._open_handle()
            context = self._F._use_stream_of(B, C)
            fresh = {name: self._new_side(values, name, context.stream) for name, values in (("B", B), ("C", C)) if values is not None}
            check(lib.sptrsm_schur_set_values(handle, *(fresh[name].values if name in fresh else None for name in "BC")))
            check(lib.sptrsm_schur_set_blocks(handle, *(fresh[name].block if name in fresh else None for name in "BC")))
            before = self._sides  # lives as long as this call: earlier solves may still read its arrays until the end of the wait
            self._sides = {**before, **fresh}
            if not self._F._on_host:
                context.sync()

    def _new_side(self, values, name: str, stream: Optional[int]) -> _Side:
        if name not in self._sides:
            raise ValueError("C is given, and this Schur complement was made without C; pass B alone")
        side = self._sides[name]
        if side.sparse is not None:
            values = _sparse.new_values(_arrays.brought_to_host(values, name), side.sparse, name)
            return side._replace(sparse=side.sparse._replace(data=values))
        fresh = _dense_side(values, name, self._F, True, stream)
        if fresh.lines != side.lines:
            raise ValueError(f"{name} has another shape than before; make a new Schur complement by sptrsm.schur")
        return fresh

    def close(self) -> None:
        """Frees the memory of the object now rather than when Python collects it."""
        with self._F._lock:
            if self._handle is not None and self._context.usable:
                lib.sptrsm_schur_destroy(self._handle)
                if self._keep and not self._F._on_host:
                    self._context.sync()  # its copies of B and C may still be read
            self._handle = None
            self._sides = {}

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
        if finalizing() or not getattr(self, "_handle", None):
            return
        if self._F._lock.acquire(blocking=False):  # the thread that collects it may hold the lock of other factors
            try:
                self.close()
            finally:
                self._F._lock.release()
        else:
            self._F._ended.append(self)

    def __repr__(self) -> str:
        form = "B^T A^-1 B" if self._symmetric and self._F.factors.upper == "transpose" else "B^H A^-1 B" if self._symmetric else "C A^-1 B"
        return f"<sptrsm.Schur {form} {self.shape[0]} x {self.shape[1]} {self.dtype.name}{', closed' if self._handle is None else ''}>"


def schur(F: Factors, B, C=None, trans: str = "N", *, lower: Optional[bool] = None) -> Schur:
    """Analyses S = C op(A)^-1 B for repeated values; `F.schur(B, C)` is S itself.

    Sparse columns of B and rows of C are solved only in the rows that they reach, and with one triangle of A each.

    Parameters
    ----------
    F : Factors
        On the host or a device.
    B : sparse matrix or array, shape (n, columns)
        Arrays of NumPy, CuPy, torch or JAX, and sparse matrices of SciPy; on the device of the factors, or on the host. A sparse matrix of
        CuPy is copied to the host.
    C : sparse matrix or array, shape (rows, n), optional
        Likewise. Default, for factors with U = L^T or L^H: the transpose of B or, where U is L^H, its conjugate transpose. S is symmetric
        then.
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


def schur_many(items: Sequence[Schur], out: Optional[Sequence] = None, *, stream=None) -> list:
    """S of many Schur complements: `[S.solve() for S in items]` with threads that work on different items.

    Parameters
    ----------
    items : sequence of Schur, of any factors
    out : sequence of arrays, optional
        Where they go, as in `Schur.solve`.
    stream : int or stream object, optional
        CUDA stream of the work of all items on a device; default: for each as in `Schur.solve`.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> F = [sptrsm.from_factors(scipy.sparse.csc_array([[size]])) for size in (1.0, 2.0)]
    >>> sptrsm.schur_many([sptrsm.schur(f, numpy.ones((1, 1))) for f in F])
    [array([[1.]]), array([[0.25]])]
    """
    if isinstance(items, Schur):
        raise TypeError("items is one Schur; pass a list of them, or call its solve")
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
        targets = [one._target(result, f"out[{i}]", stream) for i, (one, result) in enumerate(zip(items, results))]
        blocks = (_lib.Block * len(items))(*(target.operand.block for target in targets))
        both = _overlap(blocks)
        if both:
            raise ValueError(f"out[{both[1]}] shares memory with out[{both[0]}]; pass an array of its own for each item")
        if all(one._F._on_host for one in items):
            check(lib.sptrsm_schur_solve_many(handles, len(items), blocks))
        else:  # on devices they follow one another, on the streams of their targets
            for one, target in zip(items, targets):
                one._context.use_stream(target.stream)
                check(lib.sptrsm_schur_solve(one._handle, target.operand.block))
        return [one._finished(target, result) for one, target, result in zip(items, targets, results)]
