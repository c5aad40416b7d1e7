"""One sparse triangle, analysed once: triangular(), and spsolve_triangular() with SciPy's signature."""
from __future__ import annotations

import ctypes
import threading
from typing import Any, Optional

import numpy

from . import _arrays, _lib, _sparse
from ._context import Device, Solver, as_device, checked_device
from ._errors import StructureError, check, fail
from ._info import Info, plan_info
from ._lib import Block, lib
from ._options import Options, flag, operation


class _Plan:
    """A plan of one operation and the workspaces that no thread uses at the moment."""

    def __init__(self, matrix: Optional[int], options: _lib.Options, op: int):
        self.idle: list = []
        handle = ctypes.c_void_p()
        options.op = op
        check(lib.sptrsm_plan_create(handle, matrix, options))
        self.handle: Any = handle.value

    def add_workspace(self) -> None:
        workspace = ctypes.c_void_p()
        check(lib.sptrsm_workspace_create(workspace, self.handle, 0))
        self.idle.append(workspace.value)

    def free(self) -> None:
        for workspace in self.idle:
            lib.sptrsm_workspace_destroy(workspace)
        lib.sptrsm_plan_destroy(self.handle)


def as_alpha(alpha, dtype: numpy.dtype) -> Optional[numpy.ndarray]:
    """The factor of B as the library reads it; None stands for 1."""
    if type(alpha) is int and alpha == 1:
        return None
    factor = numpy.asarray(alpha)
    if factor.ndim or factor.dtype.kind not in "biufc" or factor.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"alpha is {alpha!r}; pass a number that {dtype.name} can hold")
    return factor.astype(dtype).reshape(1)


class Triangular(Solver):
    """A sparse triangular matrix T with its analysis; made by :func:`triangular`.

    Several threads may solve with one object on the host at the same time. A solve for which a new plan or workspace has to be made waits
    until no other is at work, as the library's rule for threads demands (include/sptrsm.h).

    Attributes
    ----------
    indptr, indices, data : ndarray
        T as the solver holds it, sorted, in `format` "csr" or "csc". Read-only (CuPy: not to be written to); see `update_values`.
    shape, dtype, nnz : of T
    lower, unit_diagonal : bool
    device : str
        "cpu" or "cuda:0".
    """

    def __init__(self, matrix: _sparse.Matrix, lower: bool, unit_diagonal: bool, device: Device, options: Options):
        self._matrix, self._lower, self._unit_diagonal = matrix, flag("lower", lower), flag("unit_diagonal", unit_diagonal)
        _sparse.freeze(matrix.indptr, matrix.indices, matrix.data)
        self._options = options
        self._n, self._dtype = matrix.n, numpy.dtype(matrix.data.dtype)
        self._code = _arrays.CODE[self._dtype]
        self._plans: dict = {}
        self._active = self._changing = 0
        self._handle: Optional[int] = None
        self._open(device, options)
        context = self._use_stream_of(matrix.data)
        handle = ctypes.c_void_p()
        check(lib.sptrsm_matrix_create(handle, context.handle, _sparse.as_struct(matrix, lower, unit_diagonal), _lib.BORROW))
        self._handle = handle.value
        with self._lock:
            self._info = plan_info(self._plan(operation("N")).handle, self._dtype, self._n)

    def _open(self, device: Device, options: Options) -> None:
        super()._open(device, options)
        self._quiet = threading.Condition(self._lock)
        self._values_lock = threading.RLock()  # of those who set values; taken before _lock, which waiting gives up

    def _after_fork(self) -> None:
        super()._after_fork()
        self._values_lock = threading.RLock()
        self._quiet, self._active, self._changing = threading.Condition(self._lock), 0, 0

    def _plan(self, op: int) -> _Plan:
        """The plan of an operation; the caller holds the lock."""
        if op not in self._plans:
            self._wait()
        if self._context is None:
            self._raise_closed()
        if op not in self._plans:  # another thread may have made it during the wait
            self._plans[op] = _Plan(self._handle, self._options.as_struct(), op)
        return self._plans[op]

    def _wait(self) -> None:
        """Waits until no thread is solving, and keeps others from beginning meanwhile; the caller holds the lock."""
        self._changing += 1
        try:
            while self._active:
                self._quiet.wait()
        finally:
            self._changing -= 1
            self._quiet.notify_all()

    def _end(self) -> None:
        self._wait()
        for plan in self._plans.values():
            plan.free()
        self._plans = {}
        if self._handle:
            lib.sptrsm_matrix_destroy(self._handle)
            self._handle = None

    def _run(self, op: int, alpha, B: Block, X: Block) -> None:
        factor, workspace = None if alpha is None else _sparse.address(alpha), None
        try:  # from before the count is raised to after it is lowered, so that an interrupt leaves it right
            with self._lock:
                while self._changing:
                    self._quiet.wait()
                plan = self._plan(op)
                if not self._on_host:  # a context serves one thread at a time
                    check(lib.sptrsm_solve(plan.handle, None, factor, B, X))
                    return
                if not plan.idle:
                    self._wait()
                    plan = self._plan(op)
                    plan.add_workspace()
                self._active, workspace = self._active + 1, plan.idle.pop()
            check(lib.sptrsm_solve(plan.handle, workspace, factor, B, X))
        finally:
            if workspace is not None:
                with self._lock:
                    plan.idle.append(workspace)
                    self._active -= 1
                    if not self._active:
                        self._quiet.notify_all()

    def solve(self, B, trans: str = "N", *, alpha=1, out=None, stream=None):
        """Solves op(T) X = alpha B.

        Parameters
        ----------
        B : array of NumPy, CuPy, torch or JAX, shape (n,) or (n, nrhs)
            Right-hand sides of T's dtype, read in place in C and F order and with any leading dimension.
        trans : {"N", "T", "H"}
            T itself, its transpose, or its conjugate transpose.
        alpha : number
        out : array, optional
            Where X goes; of B's kind, shape and dtype. It may be B.
        stream : int or stream object, optional
            CUDA stream of the work; default: the current stream of B's package.

        Returns
        -------
        X : array of B's kind and shape

        Examples
        --------
        >>> import numpy, scipy.sparse, sptrsm
        >>> T = sptrsm.triangular(scipy.sparse.csr_array([[2.0, 0.0], [1.0, 4.0]]))
        >>> T.solve(numpy.array([2.0, 9.0]))
        array([1., 2.])
        >>> T.solve(numpy.array([2.0, 8.0]), trans="T")
        array([0., 2.])
        """
        op, factor = operation(trans), as_alpha(alpha, self._dtype)
        return _arrays.solve(self, B, out, stream, lambda b, x: self._run(op, factor, b, x))

    def update_values(self, values) -> None:
        """New values for the same pattern; all plans follow without a new analysis.

        Parameters
        ----------
        values : array of shape (nnz,), in the order of `indices`, or a sparse matrix with the same pattern

        Raises
        ------
        SingularError
            A diagonal entry is zero or not finite; the old values stay.
        """
        fresh = _sparse.new_values(values, self._matrix)
        with self._values_lock, self._lock:
            self._wait()
            _sparse.freeze(fresh)
            context = self._use_stream_of(fresh)
            check(lib.sptrsm_matrix_set_values(self._handle, _sparse.address(fresh)))
            if not self._on_host:
                context.sync()
            self._matrix = self._matrix._replace(data=fresh)

    lower = property(lambda self: self._lower)
    unit_diagonal = property(lambda self: self._unit_diagonal)
    indptr = property(lambda self: self._matrix.indptr)
    indices = property(lambda self: self._matrix.indices)
    data = property(lambda self: self._matrix.data)
    format = property(lambda self: self._matrix.format)
    shape = property(lambda self: (self._n, self._n))
    dtype = property(lambda self: self._dtype)
    nnz = property(lambda self: self._matrix.nnz)
    device = property(lambda self: str(self._device))

    @property
    def info(self) -> Info:
        """What the analysis for trans="N" chose and found."""
        if self._context is None:
            self._raise_closed()
        return self._info

    def _arguments(self, device: Device) -> tuple:
        return _sparse.on_host(self._matrix), self.lower, self.unit_diagonal, device, self._options

    def __repr__(self) -> str:
        name = f"<sptrsm.Triangular {'lower' if self.lower else 'upper'} n={self._n} nnz={self.nnz} {self._dtype.name} on {self._device}"
        return name + (", closed>" if self._context is None else f", {self.info.choice}>")


def triangular(T, lower: bool = True, unit_diagonal: bool = False, device=None, dtype=None, method: str = "auto",
               deterministic: bool = False, nrhs: int = 0, memory_limit: int = 0, threads: int = 0, device_memory: int = 0) -> Triangular:
    """Analyses a sparse triangular matrix for repeated solves.

    Parameters
    ----------
    T : sparse matrix or array of SciPy or CuPy, n x n
        CSR and CSC are taken as they are, other formats are converted to CSR. Unsorted or duplicate entries are sorted and added up in a
        copy. Entries of the other triangle are an error: pass scipy.sparse.tril(T) or triu(T).
    lower, unit_diagonal : bool
        Which triangle it is; whether its diagonal is one, stored or not.
    device : str, optional
        "cpu", "cuda" or "cuda:INDEX"; default: where T's arrays are.
    dtype : dtype, optional
        float32, float64, complex64 or complex128; default: T's; integers become float64, those of 8 and 16 bits float32.
    method : str
        "auto", or a name from docs/methods.md with its parameters.
    deterministic : bool
        Take only methods that give the same bits at every run.
    nrhs : int
        Number of right-hand sides to expect, which guides the choice of the method; 0: unknown.
    memory_limit : int
        Bytes of workspace; 0: no limit.
    threads : int
        Host threads of one solve; 0: as `set_threads` says.
    device_memory : int
        Bytes that the solver may take on a CUDA device; 0: no limit. A matrix on the host then stays there, and where there is no room
        for its factor on the device it streams from the host at each solve.

    Raises
    ------
    StructureError
        An entry lies in the other triangle.
    SingularError
        A diagonal entry is missing, zero or not finite.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> T = sptrsm.triangular(scipy.sparse.eye_array(3, format="csr") * 2)
    >>> T.solve(numpy.ones((3, 2)))[0]
    array([0.5, 0.5])
    """
    options = Options(method, deterministic, nrhs, memory_limit, threads, device_memory=device_memory)
    matrix = _sparse.canonical(T, dtype, "T")
    place = _sparse.device_of(matrix) if device is None else as_device(device)
    return Triangular(matrix, lower, unit_diagonal, checked_device(place, options), options)


def spsolve_triangular(A, b, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False, unit_diagonal: bool = False):
    """Solves A x = b for a sparse triangular matrix, as scipy.sparse.linalg.spsolve_triangular does.

    Parameters and result are SciPy's. `overwrite_A` changes nothing, and `b` is overwritten where it has the type of the result. Entries of
    the other triangle, and a diagonal entry that is NaN or infinite, raise LinAlgError. For several solves with one A use
    :func:`triangular`, which analyses A only once.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> A = scipy.sparse.csc_array([[3, 0, 0], [1, -1, 0], [2, 0, 1]], dtype=float)
    >>> sptrsm.spsolve_triangular(A, numpy.array([3.0, 0.0, 4.0]))
    array([1., 1., 2.])
    """
    if isinstance(A, (numpy.ndarray, list)):
        from scipy.sparse import csc_array

        A = csc_array(A)
    b = numpy.asanyarray(b) if _arrays.family_of(b) in ("", "numpy") and not hasattr(b, "tocsr") else b
    if b.ndim not in (1, 2):
        raise ValueError(f"b must have 1 or 2 dims but its shape is {b.shape}.")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix but its shape is {tuple(A.shape)}.")
    if A.shape[0] != b.shape[0]:
        raise ValueError("The size of the dimensions of A must be equal to the size of the first dimension of b but the shape of A is "
                         f"{A.shape} and the shape of b is {b.shape}.")
    dtype = _sparse.value_type(None, A.dtype)
    if isinstance(b, numpy.ndarray):
        dtype = _sparse.value_type(numpy.promote_types(dtype, b.dtype))
    try:
        with triangular(A, lower, unit_diagonal, dtype=dtype, nrhs=b.shape[1] if b.ndim == 2 else 1) as T:
            if not isinstance(b, numpy.ndarray):
                return T.solve(b)
            in_place = overwrite_b and b.dtype == dtype and b.flags.writeable and _arrays.numpy_block(b, T._code) is not None
            return T.solve(b.astype(dtype, copy=False), out=b if in_place else None)
    except StructureError as error:
        raise numpy.linalg.LinAlgError(f"A is not triangular: {error}") from error
