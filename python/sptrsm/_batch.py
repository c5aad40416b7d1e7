"""Many systems in one call: batch() and Batch (include/sptrsm_batch.h)."""
from __future__ import annotations

import ctypes
import operator
import warnings
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy

from . import _arrays, _dlpack, _lib, _lists, _sparse
from ._context import Device, Solver, as_device, checked_device, current_stream, family_of, stream_handle
from ._errors import SingularError, check
from ._factors import system_number
from ._factorset import FactorSet, count_of, difference, originals_of, stacked, values_of, values_struct
from ._info import BatchInfo, batch_info
from ._lib import lib
from ._options import Options, operation
from ._sources import as_factor_set, solver_options
from ._triangular import as_alpha

POLICIES = ("raise", "warn", "ignore")


class ItemStatus(NamedTuple):
    """What the values of the items of a batch say about them.

    Attributes
    ----------
    ok : ndarray of bool, shape (count,)
        Whether the item is solved; it may be passed as `mask`.
    row : ndarray of int32, shape (count,)
        The row of a diagonal entry that is zero or not finite, or of a scaling that is, -1 where all is well.
    """

    ok: numpy.ndarray
    row: numpy.ndarray


class _Mask(NamedTuple):
    """The items to solve: `wanted` on the host, or None where all are or only a device knows."""

    pointer: Optional[int]
    place: int
    wanted: Optional[numpy.ndarray]
    keep: object


class Batch(Solver):
    """Many factor sets with their analyses, solved in one call; made by :func:`batch`.

    The values of the items are in the library alone, so a batch is neither pickled nor copied: pickle what it was made from.
    Solves are made one after the other if several threads share one object.

    Attributes
    ----------
    shape, dtype, count : of all items together
        shape is (count, n, n), where n is None if the orders of the items differ.
    orders : list of int
    device : str
        "cpu" or "cuda:0".
    """

    def __init__(self, sets: Sequence[FactorSet], count: int, values: Optional[dict], device: Device, options: Options):
        """values: {name of a part: array of all items} of a uniform batch with the pattern sets[0]; None: a mixed batch of the sets."""
        self._sets, self._count, self._options = sets, count, options
        self._uniform = values is not None
        self._dtype = numpy.dtype(sets[0].L.data.dtype if sets else numpy.float64)
        self._code = _arrays.CODE[self._dtype]
        orders = {one.L.n for one in sets}
        self._n: Any = orders.pop() if len(orders) == 1 else None
        self._systems: dict = {}
        self._status: Optional[ItemStatus] = None
        self._handle: Optional[int] = None
        self._open(device, options)
        arrays = list(values.values()) if values is not None else []
        context = self._use_stream_of(*(one.L.data for one in sets[:1]), *arrays)
        handle = ctypes.c_void_p()
        if values is not None:
            check(lib.sptrsm_batch_create_uniform(handle, context.handle, sets[0].as_struct(), values_struct(values, 0, count),
                                                  options.as_struct()))
        else:
            items = [one.as_struct() for one in sets]
            pointers = (ctypes.POINTER(_lib.Factors) * count)(*map(ctypes.pointer, items))
            check(lib.sptrsm_batch_create_mixed(handle, context.handle, pointers, count, options.as_struct()))
        self._handle = handle.value
        if not self._on_host:
            context.sync()  # the arrays of the caller may end now

    def _end(self) -> None:
        if self._handle:
            lib.sptrsm_batch_destroy(self._handle)
            self._handle = None

    def solve(self, B, trans: str = "N", *, system: str = "A", alpha=1, out=None, stream=None, mask=None, singular: str = "raise",
              berr=None):
        """Solves op(S_i) X_i = alpha B_i for all items i.

        Parameters
        ----------
        B : array of NumPy, CuPy, torch or JAX, or a list with an array for each item
            Shape (count, n) or (count, n, nrhs). All items share one block if the shape is (n,), (1, n) or (1, n, nrhs): pass B[None] for
            a matrix. In a list, item i has an array (n_i,) or (n_i, nrhs_i), or None where `mask` leaves it out.
        trans, system, alpha, stream
            As in `Factors.solve`, for all items.
        out : array or list of arrays, optional
            Where X goes; of B's kind, shape and dtype. It may be B.
        mask : array of bool, shape (count,), optional
            False: leave the item out. A mask in device memory is read there.
        singular : {"raise", "warn", "ignore"}
            What to do where an item that `mask` has is singular: raise SingularError before anything is solved; warn
            (scipy.sparse.linalg.MatrixRankWarning) and solve the others; solve the others. Of a mask in device memory the host knows
            nothing, and every singular item counts.
        berr : array of float64, shape (count,), optional
            Where the componentwise backward error of each item goes, the largest of its columns: NaN for a singular item, untouched for
            one that `mask` leaves out. On the host or on the device, as X is. Needs :meth:`set_original`, and an X that is not B.

        Returns
        -------
        X : array of B's kind, shape (count, n) or (count, n, nrhs), or a list of arrays
            Items that are not solved are NaN, and untouched in `out`.

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> L = scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]])
        >>> P = sptrsm.batch(dict(L=L), L=numpy.array([[2.0, 1.0, 4.0], [1.0, 0.0, 1.0]]))
        >>> P.solve(numpy.array([[2.0, 9.0], [3.0, 5.0]]), system="L")
        array([[1., 2.],
               [3., 5.]])
        >>> P.solve(numpy.array([2.0, 9.0]), system="L", mask=[True, False])
        array([[ 1.,  2.],
               [nan, nan]])
        """
        S, op, factor = system_number(self._systems, system), operation(trans), as_alpha(alpha, self._dtype)
        if singular not in POLICIES:
            raise ValueError(f'singular={singular!r} is not "raise", "warn" or "ignore"')
        if stream is None:
            stream = current_stream(next((b for b in B if b is not None), None) if isinstance(B, (list, tuple)) else B)
        with self._lock:
            handle = self._open_handle()
            wanted = self._mask(mask, stream)
            fill = None if self._check_singular(wanted, singular) and mask is None else numpy.nan
            how = _lib.sized(_lib.BatchRun, lib.sptrsm_batch_run_init_sized)
            how.mask, how.mask_place = wanted.pointer, wanted.place
            errors = None if berr is None else self._errors(berr, stream)
            how.berr = None if errors is None else errors.block.data

            def run(b: _lib.BatchBlock, x: _lib.BatchBlock) -> None:
                if errors is not None and errors.device.place != x.place:
                    raise ValueError(f"berr is on {errors.device} and X is not; pass an array where X is")
                check(lib.sptrsm_batch_solve(handle, S, op, None if factor is None else _sparse.address(factor), b, x, how))
                if errors is not None:
                    _arrays.changed(berr, family_of(berr))

            if isinstance(B, (list, tuple)):
                return _lists.solve(self, self.orders, B, out, stream, wanted.wanted, fill, run)
            return _arrays.solve_any(self, B, out, stream, run, count=self._count, fill=fill)

    def _errors(self, berr, stream) -> _arrays.Operand:
        if numpy.shape(berr) != (self._count,):
            raise ValueError(f"berr has shape {numpy.shape(berr)}; pass one number for each of the {self._count} items")
        errors = _arrays.operand(berr, numpy.dtype(numpy.float64), self._count, "berr", stream_handle(stream), True)
        _arrays.check_place("berr", errors.device, self._device)
        if self._count > 1 and errors.block.layout == _lib.ROW_MAJOR:
            raise ValueError("berr is not in one piece; pass a contiguous array")
        return errors

    def _mask(self, mask, stream) -> _Mask:
        """A mask in device memory is read behind what is queued for it, on the stream of the solve."""
        if mask is None:
            return _Mask(None, _lib.HOST, None, None)
        if _arrays.on_device(mask, "mask"):
            view = _dlpack.view(mask, "mask", stream_handle(stream))
            _arrays.check_place("mask", view.device, self._device)
            if view.dtype not in ("bool8", "uint8") or view.shape != (self._count,) or view.strides not in (None, (1,)):
                raise ValueError(f"mask is {view.dtype} of shape {view.shape}; pass {self._count} booleans in one piece")
            return _Mask(view.pointer, _lib.CUDA, None, (mask, view.capsule))
        wanted = numpy.asarray(mask)
        if wanted.dtype != bool and wanted.size:
            raise TypeError(f"mask is {wanted.dtype}; pass booleans, True for the items to solve")
        if wanted.shape != (self._count,):
            raise ValueError(f"mask has shape {wanted.shape}; pass one boolean for each of the {self._count} items")
        wanted = numpy.ascontiguousarray(wanted, bool)
        return _Mask(_sparse.address(wanted), _lib.HOST, wanted, wanted)

    def _check_singular(self, mask: _Mask, policy: str) -> bool:
        """Whether none of the items that the mask has is singular; if one is, what the policy says happens."""
        ok = self._statuses().ok
        bad = numpy.flatnonzero(~ok if mask.wanted is None else ~ok & mask.wanted)
        if len(bad) and policy != "ignore":
            item = int(bad[0])
            message = (f"item {item} is singular: row {self._statuses().row[item]} has a diagonal entry, or a scaling, that is zero or not "
                       f"finite; {len(bad)} such items in all")
            if policy == "raise":
                raise SingularError(message + '; leave them out by mask=P.status.ok, pass singular="warn", or give them other values', item)
            from scipy.sparse.linalg import MatrixRankWarning

            warnings.warn(message, MatrixRankWarning, stacklevel=3)
        return len(bad) == 0

    def _statuses(self) -> ItemStatus:
        """The caller holds the lock."""
        if self._status is None:
            status = ItemStatus(numpy.ones(self._count, bool), numpy.full(self._count, -1, numpy.int32))
            one = _lib.ItemStatus()
            for i in range(self._count if batch_info(self._open_handle(), "", self._dtype, "").singular else 0):
                check(lib.sptrsm_batch_item(one, self._handle, i))
                status.ok[i], status.row[i] = one.status == 0, one.row
            _sparse.freeze(*status)
            self._status = status
        return self._status

    def update_values(self, L=None, U=None, D=None, D_sub=None, row_scale=None, col_scale=None, *,
                      items: Union[int, slice, None] = None) -> None:
        """New values for some items, without a new analysis; what is None stays.

        Parameters
        ----------
        L, U : array of shape (number of items, nnz), or (nnz,) for all of them, or a list of sparse matrices, or one
            As in :func:`batch`.
        D, D_sub, row_scale, col_scale : array of shape (number of items, n), or (n,) for all of them
        items : int or slice, optional
            The items that get values; default: all. A mixed batch takes one at a time.

        An item that was singular is solved again once its values are good, and the other way round: see `status`.

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> P = sptrsm.batch(dict(L=scipy.sparse.eye_array(2, format="csc")), L=[[1.0, 1.0], [1.0, 0.0]])
        >>> P.status.ok
        array([ True, False])
        >>> P.update_values(L=[1.0, 2.0], items=1)
        >>> P.solve(numpy.array([1.0, 1.0]), system="L")
        array([[1. , 1. ],
               [1. , 0.5]])
        """
        given = {"L": L, "U": U, "D": D, "D_sub": D_sub, "row_scale": row_scale, "col_scale": col_scale}
        with self._lock:
            handle = self._open_handle()
            first, count = self._range(items)
            if not self._uniform and count != 1:
                raise ValueError(f"{count} items of a mixed batch, whose patterns differ; pass items=INDEX, one at a time")
            of = self._sets[0 if self._uniform else first] if self._sets else None
            values = {name: values_of(part, name, of, count) for name, part in given.items() if part is not None and of is not None}
            context = self._use_stream_of(*values.values())
            check(lib.sptrsm_batch_set_values(handle, values_struct(values, first, count)))
            self._status = None
            if not self._on_host:
                context.sync()

    def set_original(self, A, *, items: Union[int, slice, None] = None) -> None:
        """Gives items copies of the matrices that they were factorised from, which `berr` of :meth:`solve` compares with.

        Parameters
        ----------
        A : sparse matrix for all these items, or a list with one for each
            All entries of the matrix; for system="L" the triangle itself, with its ones also where L is unit. None removes the copy.
        items : int or slice, optional
            Default: all.

        Call it again when a matrix has new values. After an error, items before the one at fault have their new matrices.
        """
        with self._lock:
            handle = self._open_handle()
            first, count = self._range(items)
            matrices = originals_of(A, self._dtype, count)
            context = self._use_stream_of(*(one.data for one in matrices if one is not None))
            for i, one in enumerate(matrices):
                check(lib.sptrsm_batch_set_original(handle, first + i, None if one is None else _sparse.as_square(one)))
            if not self._on_host:
                context.sync()

    def _range(self, items: Union[int, slice, None]) -> tuple:
        """(first item, number of items)"""
        if isinstance(items, slice) or items is None:
            chosen = range(self._count)[slice(None) if items is None else items]
            if chosen.step != 1:
                raise ValueError(f"items={items} has a step; pass a slice of items that follow each other")
        else:
            try:
                number = range(self._count)[operator.index(items)]
            except (TypeError, IndexError) as error:
                raise type(error)(f"items={items!r} is not an item of a batch of {self._count}; pass an int or a slice") from None
            chosen = range(number, number + 1)
        return (chosen.start, len(chosen)) if len(chosen) else (0, 0)

    count = property(lambda self: self._count)
    shape = property(lambda self: (self._count, self._n, self._n))
    orders = property(lambda self: [self._sets[0].L.n] * self._count if self._uniform else [one.L.n for one in self._sets])
    dtype = property(lambda self: self._dtype)
    device = property(lambda self: str(self._device))

    def __len__(self) -> int:
        return self._count

    @property
    def status(self) -> ItemStatus:
        """Which items are solved, and the row that is at fault in the others."""
        with self._lock:
            self._open_handle()
            return self._statuses()

    @property
    def info(self) -> BatchInfo:
        """What the batch is, what the analysis chose, and the memory that it takes."""
        with self._lock:
            return batch_info(self._open_handle(), "uniform" if self._uniform else "mixed", self._dtype, self.device)

    def _arguments(self, device: Device) -> tuple:
        raise TypeError("a Batch is neither pickled nor copied, since the library alone has its values; do that with what it was made "
                        "from, and call sptrsm.batch there")

    def __repr__(self) -> str:
        name = f"<sptrsm.Batch {'uniform' if self._uniform else 'mixed'} count={self._count} n={'various' if self._n is None else self._n}"
        return f"{name} {self._dtype.name} on {self._device}" + (", closed>" if self._handle is None else f", {self.info.method}>")


def _from_list(items: Sequence, uniform: Optional[bool], options: Options) -> tuple:
    """(factor sets, values or None) of a batch with an item for each factor set."""
    sets = [as_factor_set(item, f"factors[{i}]") for i, item in enumerate(items)]
    for i, one in enumerate(sets):
        if one.L.data.dtype != sets[0].L.data.dtype:
            raise TypeError(f"factors[{i}] is {one.L.data.dtype} and factors[0] {sets[0].L.data.dtype}; make all of one dtype, for "
                            "instance by from_factors(..., dtype=...)")
    if uniform is False or not sets:
        return sets, None
    if uniform is None and options.method != "auto":
        return sets, None
    for i, one in enumerate(sets):
        differs = difference(sets[0], one)
        if differs and uniform:
            raise ValueError(f"factors[{i}] and factors[0] differ in {differs}, so they have not one pattern; pass uniform=None or False")
        if differs:
            return sets, None
    return sets[:1], stacked(sets)


def batch(factors, L=None, U=None, D=None, D_sub=None, row_scale=None, col_scale=None, *, uniform: Optional[bool] = None,
          device=None, **options) -> Batch:
    """Many systems for solves in one call: one factor set with many values, or many factor sets.

    Each item stands for itself: a singular one harms no other, and its bits do not depend on its neighbours.

    Parameters
    ----------
    factors : factor set, or a list of them
        A factor set is a `Factors`, an object that `from_splu` or `from_cholesky` takes, or a dict with the arguments of `from_factors`,
        such as dict(L=T) for one triangle, to be solved as system="L".
    L, U : array of shape (count, nnz), or list of sparse matrices, optional
        With one factor set: the values of all items. Numbers come in the order of `L.indices` and `U.indices` of `Factors`, which are
        sorted (those of SciPy's SuperLU are not); matrices have the pattern of the factor set. An array (nnz,) or one matrix holds for all
        items, and so do the values of the factor set where an argument is left out.
    D, D_sub, row_scale, col_scale : array of shape (count, n) or (n,), optional
        Likewise; `factors` must have such a part.
    uniform : bool, optional
        With a list: True: all factor sets must have one pattern, which is analysed once, and are solved together in vector lanes; False:
        each is a factor set of its own; None: uniform if they have one pattern and `method` is not given.
    device : str, optional
        Default: where the arrays of the factors are.
    **options
        method, deterministic, nrhs (right-hand sides of one item), memory_limit, threads and device_memory, as in
        :func:`triangular`; factors of a batch do not stream.

    Examples
    --------
    >>> import numpy, scipy.sparse, scipy.sparse.linalg, sptrsm
    >>> A = [scipy.sparse.csc_array([[4.0 + i, 1.0], [2.0, 3.0]]) for i in range(3)]
    >>> P = sptrsm.batch([scipy.sparse.linalg.splu(a) for a in A])
    >>> P.solve(numpy.array([[5.0, 5.0], [6.0, 5.0], [7.0, 5.0]]))
    array([[1., 1.],
           [1., 1.],
           [1., 1.]])
    """
    _, checked = solver_options(**options)
    given = {"L": L, "U": U, "D": D, "D_sub": D_sub, "row_scale": row_scale, "col_scale": col_scale}
    given = {name: part for name, part in given.items() if part is not None}
    if isinstance(factors, (list, tuple)):
        if given:
            raise ValueError(f"{next(iter(given))} is given with a list of factor sets, which have values of their own; pass one factor "
                             "set")
        sets, values = _from_list(factors, uniform, checked)
        count = len(factors)
    else:
        sets = [as_factor_set(factors, "factors")]
        values = {name: values_of(part, name, sets[0], None) for name, part in given.items()}
        count = count_of(values)
        if uniform is False:
            raise ValueError("uniform=False with one factor set; pass a list of factor sets")
    place = _sparse.device_of(sets[0].L) if sets and device is None else as_device(device)
    return Batch(sets, count, values, checked_device(place, checked), checked)
