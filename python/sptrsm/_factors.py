"""A factor set with its analysis: Factors, which solves A x = b and the partial systems, refines, and takes new values."""
from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any, Collection, NamedTuple, Optional

import numpy

from . import _arrays, _lib, _sparse
from ._context import Device, Solver, stream_of
from ._errors import SptrsmError, check, fail
from ._factorset import FactorSet, scipys_permutation, vector
from ._info import FactorsInfo, direct_info
from ._lib import Block, lib
from ._options import INT32_MAX, Options, integer, operation, text
from ._rows import Rows
from ._triangular import as_alpha


class Refined(NamedTuple):
    """Errors of the columns of X after refinement, each a number where X is a vector."""

    berr: numpy.ndarray
    ferr: numpy.ndarray


def system_number(known: dict, name: str) -> int:
    """The library's number of a system; `known` has those that were asked for before."""
    found = known.get(name)
    if found is None:
        value = ctypes.c_int()
        check(lib.sptrsm_system_from_name(value, text("system", name, '"A", "L" or another name of sptrsm_system')))
        found = known[name] = value.value
    return found


class Factors(Solver):
    """The factors of a direct solver with their analysis; made by from_splu, from_cholesky, from_factors, from_file or splu.

    Solves are made one after the other if several threads share one object; make one for each thread to have them at the same time.
    """

    def __init__(self, factors: FactorSet, device: Device, options: Options):
        self._set, self._options = factors, options
        self._n, self._dtype = factors.L.n, numpy.dtype(factors.L.data.dtype)
        self._code = _arrays.CODE[self._dtype]
        self._handle: Optional[int] = None
        self._rows: Optional[Rows] = None
        self._ended: list = []  # Schur complements that were collected while another thread held the lock
        self._systems: dict = {}
        self._values = object()  # another one when L, U or D get new values
        self._open(device, options)
        context = self._use_stream_of(factors.L.data)
        handle = ctypes.c_void_p()
        check(lib.sptrsm_direct_create(handle, context.handle, factors.as_struct(), options.as_struct()))
        self._handle = handle.value
        if factors.A is not None:
            check(lib.sptrsm_direct_set_original(self._handle, _sparse.as_square(factors.A)))

    def _open_handle(self) -> Any:
        while self._ended:
            self._ended.pop().close()
        return super()._open_handle()

    def _end(self) -> None:
        while self._ended:
            self._ended.pop().close()
        self._forget_rows()
        if self._handle:
            lib.sptrsm_direct_destroy(self._handle)
            self._handle = None

    def _forget_rows(self) -> None:
        if self._rows:
            self._rows.free()
            self._rows = None

    def _request(self, trans: str, system: str) -> tuple:
        return system_number(self._systems, system), operation(trans)

    def _run(self, system: int, op: int, alpha, B: Block, X: Block) -> None:
        status = lib.sptrsm_direct_solve(self._handle, system, op, None if alpha is None else _sparse.address(alpha), B, X)
        if status:
            fail(status)

    def solve(self, B, trans: str = "N", *, system: str = "A", alpha=1, out=None, stream=None, rows=None, refine: int = 0):
        """Solves op(S) X = alpha B.

        Parameters
        ----------
        B : array of NumPy, CuPy, torch or JAX, shape (n,) or (n, nrhs)
            Right-hand sides, read in place in C and F order and with any leading dimension.
        trans : {"N", "T", "H"}
            The system itself, its transpose, or its conjugate transpose.
        system : str
            S: "A", or a part of it such as "L", "U", "Pt_L", with the names of CHOLMOD and UMFPACK (sptrsm_system in include/sptrsm.h).
        alpha : number
        out : array, optional
            Where X goes; of B's kind, shape and dtype. It may be B, unless `refine` is given.
        stream : int or stream object, optional
            CUDA stream of the work; default: the current stream of B's package.
        rows : sequence of int, optional
            Only these rows of X are wanted; X then has them in this order. Only the part of the factors that they need is solved; it is
            kept for the next call with the same rows.
        refine : int or True
            At most this number of steps of iterative refinement; True: as many as :meth:`refine` makes by default. Needs the
            original matrix, which `splu` and files with A have.

        Returns
        -------
        X : array of B's kind and shape, or of len(rows) rows

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> F = sptrsm.splu(scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]]))
        >>> F.solve(numpy.array([5.0, 5.0]))
        array([1., 1.])
        >>> F.solve(numpy.array([6.0, 4.0]), trans="T", rows=[1])
        array([1.])
        """
        with self._lock:  # from the start: a thread that comes back for the next solve then mostly finds the lock free (docs/benchmarks.md)
            self._open_handle()
            S, op = self._request(trans, system)
            factor = as_alpha(alpha, self._dtype)
            if rows is not None:
                return self._solve_rows(B, S, op, factor, out, stream, rows, refine)
            if refine:
                steps = -1 if refine is True else integer("refine", refine, 1, INT32_MAX)
                return _arrays.solve(self, B, out, stream, lambda b, x: self._refine(S, op, factor, b, x, steps, True))
            return _arrays.solve(self, B, out, stream, lambda b, x: self._run(S, op, factor, b, x))

    def _solve_rows(self, B, system: int, op: int, alpha, out, stream, rows, refine: int):
        """The caller holds the lock."""
        if out is not None or refine or stream is not None:
            raise ValueError("rows= does not go together with out=, refine= or stream=")
        rows = numpy.asarray(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" and len(rows):
            raise TypeError("rows must be a sequence of integers")
        bad = numpy.flatnonzero((rows < 0) | (rows >= self._n))
        if len(bad):
            raise ValueError(f"rows[{bad[0]}] is {rows[bad[0]]}, outside [0, {self._n})")
        rows = rows.astype(numpy.int64)
        if _arrays.family_of(B) in ("", "numpy"):
            B = _arrays.as_numpy(B, self._dtype, "B")
        _arrays.check_shape("B", B.shape, self._n)
        if not self._rows or self._rows.key != (system, op, rows.tobytes()):
            self._forget_rows()
            self._rows = Rows(self, system, op, rows)
        return self._rows.solve(B, alpha)

    def _refine(self, system: int, op: int, alpha, B: Block, X: Block, steps: int, solve: bool, berr=None, ferr=None) -> None:
        options = _lib.sized(_lib.RefineOptions, lib.sptrsm_refine_options_init_sized)
        options.max_steps, options.solve = steps, solve
        result = _lib.sized(_lib.RefineResult)
        result.berr, result.ferr = (None if errors is None else _sparse.address(errors) for errors in (berr, ferr))
        if self._set.A is None:
            raise ValueError("refinement needs the matrix that was factorised; make the solver with A=")
        if self._set.A_is_old:
            raise ValueError("the factors have new values; give those of their matrix, too: update_values(A=...)")
        factor = None if alpha is None else _sparse.address(alpha)
        check(lib.sptrsm_direct_refine(self._handle, system, op, factor, B, X, options, result))

    def refine(self, B, X, trans: str = "N", *, system: str = "A", steps: int = -1, stream=None) -> Refined:
        """Refines solutions X of A X = B in place and says how good they are.

        Parameters
        ----------
        B, X : arrays of one kind and shape; X is written to
        steps : int
            Most corrections of a column; 0: errors only; -1: 5, or 30 for factors in mixed precision.

        Returns
        -------
        berr, ferr : ndarray
            For each column the componentwise backward error, and a bound of the forward error relative to the largest entry.
        """
        S, op = self._request(trans, system)
        if X is None:
            raise TypeError("X is None; pass the solutions of B, or let solve(B, refine=True) make them")
        steps = integer("steps", steps, -1, INT32_MAX)
        columns = numpy.shape(X)[1:]
        berr, ferr = numpy.zeros(columns), numpy.zeros(columns)
        with self._lock:
            self._open_handle()
            _arrays.solve(self, B, X, stream, lambda b, x: self._refine(S, op, None, b, x, steps, False, berr, ferr), "X")
        return Refined(berr, ferr)

    def schur(self, B, C=None, trans: str = "N", *, lower: Optional[bool] = None, out=None, stream=None):
        """The Schur complement S = C op(A)^-1 B as a dense array; for repeated values see :func:`sptrsm.schur`.

        Parameters
        ----------
        B, C, trans, lower
            As in :func:`sptrsm.schur`. Dense arrays are read in place.
        out : array, shape (rows of C, columns of B), optional
            Where S goes: on the host, or on the device of the factors.
        stream : int or stream object, optional
            CUDA stream of the work; default: the current stream of the package of `out`, B or C, the first that has one.

        Returns
        -------
        S : array of the kind of B, and on its device; of C where B is of NumPy or SciPy

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> F = sptrsm.splu(scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]]))
        >>> B = scipy.sparse.csc_array([[1.0], [0.0]])
        >>> F.schur(B, B.T)
        array([[0.3]])
        """
        from ._schur import Schur

        if stream is None and not self._on_host:
            stream = stream_of(out, B, C)
        with Schur(self, B, C, trans, lower, False, stream) as S:
            return S.solve(out, stream=stream)

    def update_values(self, L=None, U=None, D=None, D_sub=None, A=None) -> None:
        """New values for the same pattern, without a new analysis; what is None stays.

        Parameters
        ----------
        L, U, A : array of the matrix' nnz values in the order of `L.indices`, or a sparse matrix with the same pattern
        D, D_sub : array of shape (n,)

        Refinement needs the A of the present factors: give it together with them, or afterwards.
        """
        with self._lock:
            self._open_handle()
            changed: dict = {}
            for name, values in (("L", L), ("U", U), ("A", A)):
                if values is not None:
                    changed[name] = self._matrix(name)._replace(data=_sparse.new_values(values, self._matrix(name), name))
            for name, values in (("D", D), ("D_sub", D_sub)):
                if values is not None:
                    changed[name] = vector(values, self._dtype, self._n, name)
            self._use_stream_of(*(matrix.data for matrix in changed.values() if isinstance(matrix, _sparse.Matrix)))
            old = self._set.A is not None and "A" not in changed and (self._set.A_is_old or bool(changed))
            fresh = replace(self._set, A_is_old=old, **changed)
            self._set_values(fresh, changed)
            if "A" in changed:
                try:
                    check(lib.sptrsm_direct_set_original(self._handle, _sparse.as_square(changed["A"])))
                except SptrsmError:
                    self._set_values(self._set, changed)
                    raise
            if changed.keys() - {"A"}:
                self._values = object()
            self._set = fresh
            self._forget_rows()

    def _set_values(self, factors: FactorSet, names: Collection[str]) -> None:
        """Gives the library those values of a factor set that are named."""
        parts = [getattr(factors, name) if name in names else None for name in ("L", "D", "D_sub", "U")]
        arrays = (part.data if isinstance(part, _sparse.Matrix) else part for part in parts)
        check(lib.sptrsm_direct_set_values(self._handle, *(None if array is None else _sparse.address(array) for array in arrays)))

    def _matrix(self, name: str) -> _sparse.Matrix:
        matrix = getattr(self._set, name)
        if matrix is None:
            raise ValueError(f"the factor set has no {name}")
        return matrix

    factors = property(lambda self: self._set, doc="the arrays that the solver was made from")
    L = property(lambda self: _sparse.as_sparse(self._set.L), doc="L as a sparse array of SciPy (CuPy), not to be written to")
    U = property(lambda self: _sparse.as_sparse(self._set.U), doc="U likewise; None where it is L transposed")
    A = property(lambda self: _sparse.as_sparse(self._set.A), doc="the matrix that was factorised, or None")
    perm_r = property(lambda self: scipys_permutation(self._set.perm_row, self._set.row_convention == "scatter", self._n),
                      doc="the row permutation as SciPy's SuperLU has it: row i of A is row perm_r[i] of L U")
    perm_c = property(lambda self: scipys_permutation(self._set.perm_col, self._set.col_convention == "gather", self._n),
                      doc="the column permutation as SciPy's SuperLU has it: column perm_c[i] of L U is column i of A")
    shape = property(lambda self: (self._n, self._n))
    dtype = property(lambda self: self._dtype)
    nnz = property(lambda self: self._set.L.nnz + (self._set.U.nnz if self._set.U is not None else 0))
    device = property(lambda self: str(self._device))

    @property
    def info(self) -> FactorsInfo:
        """What the analyses of L and U chose and found."""
        with self._lock:
            return direct_info(self._open_handle(), self._dtype, self._n, self._set.U is not None)

    def _arguments(self, device: Device) -> tuple:
        return self._set.on_host(), device, self._options

    def __repr__(self) -> str:
        name = f"<sptrsm.Factors n={self._n} nnz={self.nnz} {self._dtype.name} on {self._device}"
        return name + (", closed>" if self._handle is None else f", {self.info.L.choice}>")
