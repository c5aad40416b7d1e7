"""Factor sets from the objects of SciPy and scikit-sparse, and from matrices."""
from __future__ import annotations

from dataclasses import fields
from inspect import signature
from typing import Mapping, Optional

import numpy

from . import _sparse
from ._context import as_device, checked_device, family_of
from ._factors import Factors
from ._factorset import FactorSet, vector
from ._options import Options, check_keywords, flag


def solver_options(device=None, **options) -> tuple:
    """(device or None, Options) from the keyword arguments that all functions here share."""
    check_keywords(options, ["device"] + [field.name for field in fields(Options)], signature(from_factors).parameters)
    return device if device is None else as_device(device), Options(**options)


def permutation(values, n: int, name: str) -> Optional[numpy.ndarray]:
    """A permutation as the library takes it, int32 [n], or None; the library checks that it is one. It may be an array of CuPy, as those of
    CuPy's own SuperLU are.
    """
    if values is None:
        return None
    given = numpy.asarray(values.get() if family_of(values) == "cupy" else values)
    if given.shape != (n,) or given.dtype.kind not in "iu":
        raise ValueError(f"{name} has shape {given.shape} and type {given.dtype}; pass {n} integers")
    bad = numpy.flatnonzero((given < 0) | (given >= n))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {given[bad[0]]}, outside [0, {n})")
    return given.astype(numpy.int32)


def _one_permutation(scatter, gather, n: int, names: tuple) -> tuple:
    """(permutation, convention) from the two ways in which one may be given."""
    if scatter is not None and gather is not None:
        raise ValueError(f"{names[0]} and {names[1]} are two forms of one permutation; pass one of them")
    if gather is not None:
        return permutation(gather, n, names[1]), "gather"
    return permutation(scatter, n, names[0]), "scatter"


def factor_set(L, U=None, D=None, D_sub=None, *, upper: Optional[str] = None, unit_L: bool = False, unit_U: bool = False,
               hermitian_D: bool = False, perm_r=None, perm_c=None, p=None, q=None, row_scale=None, col_scale=None,
               row_op: str = "multiply", col_op: str = "multiply", A=None, dtype=None) -> FactorSet:
    """The checked arrays of a solver; the parameters are those of from_factors."""
    if upper is None:
        upper = "given" if U is not None else "conjugate-transpose"
    if upper not in ("given", "transpose", "conjugate-transpose") or (upper == "given") != (U is not None):
        raise ValueError(f'upper={upper!r} with U {"missing" if U is None else "given"}; pass U, or upper="transpose" or '
                         '"conjugate-transpose" without it')
    if dtype is None:
        types = [F.dtype if hasattr(F, "dtype") else numpy.asarray(F).dtype for F in (L, U, D, D_sub) if F is not None]
        dtype = _sparse.value_type(None, numpy.result_type(*types))
    L = _sparse.canonical(L, dtype, "L")
    n, kind = L.n, L.data.dtype
    U, A = (None if M is None else _sparse.canonical(M, kind, name) for M, name in ((U, "U"), (A, "A")))
    for M, name in ((U, "U"), (A, "A")):
        if M is not None and M.n != n:
            raise ValueError(f"{name} is of order {M.n}, L of order {n}")
    perm_row, row_convention = _one_permutation(perm_r, p, n, ("perm_r", "p"))
    perm_col, col_convention = _one_permutation(q, perm_c, n, ("q", "perm_c"))
    if upper != "given" and perm_col is None:  # Cholesky and LDL': one permutation for both sides, gathered before and scattered after
        perm_col, col_convention = perm_row, "scatter" if row_convention == "gather" else "gather"
    D, D_sub = (None if d is None else vector(d, kind, n, name, "same_kind") for d, name in ((D, "D"), (D_sub, "D_sub")))
    row_scale, col_scale = (None if s is None else vector(s, numpy.dtype("float64"), n, name)
                            for s, name in ((row_scale, "row_scale"), (col_scale, "col_scale")))
    for name, op in (("row_op", row_op), ("col_op", col_op)):
        if op not in ("multiply", "divide"):
            raise ValueError(f'{name}={op!r} is not "multiply" or "divide"')
    unit_L, unit_U, hermitian_D = flag("unit_L", unit_L), flag("unit_U", unit_U), flag("hermitian_D", hermitian_D)
    return FactorSet(L, U, upper, unit_L, unit_U, D, D_sub, hermitian_D, perm_row, perm_col, row_convention, col_convention, row_scale,
                     col_scale, row_op, col_op, A)


def from_factors(L, U=None, D=None, D_sub=None, *, upper: Optional[str] = None, unit_L: bool = False, unit_U: bool = False,
                 hermitian_D: bool = False, perm_r=None, perm_c=None, p=None, q=None, row_scale=None, col_scale=None,
                 row_op: str = "multiply", col_op: str = "multiply", A=None, dtype=None, **options) -> Factors:
    """A solver from the factors of any direct solver: L D U = P R A C Q, so x = C Q U^-1 D^-1 L^-1 P R b.

    Parameters
    ----------
    L, U : sparse matrices, n x n
        Lower and upper triangle. Without U, `upper` says what it is.
    D, D_sub : array of shape (n,), optional
        Diagonal of LDL'; entry i of D_sub couples i and i + 1 (2x2 blocks), its last entry is 0.
    upper : {"given", "transpose", "conjugate-transpose"}, optional
        What U is; default: given, and without U the conjugate transpose of L.
    unit_L, unit_U : bool
        The diagonal is one, whatever is stored there.
    hermitian_D : bool
        The 2x2 blocks are Hermitian rather than symmetric.
    perm_r, perm_c : array of int, optional
        Permutations as SciPy's splu gives them: row i of A is row perm_r[i] of L U, and x[i] = y[perm_c[i]].
    p, q : array of int, optional
        Instead of these, permutations as MATLAB, UMFPACK and CHOLMOD give them: A[p][:, q] = L U. With Cholesky and LDL' p alone.
    row_scale, col_scale : array of float, optional
        Scalings of the rows and columns of A, in their order in A; row_op and col_op say whether they "multiply" or "divide".
    A : sparse matrix, optional
        The matrix that was factorised, for refinement.
    dtype : dtype, optional
        Default: the type that holds both factors.
    **options
        device, method, deterministic, nrhs, memory_limit, threads and device_memory as in :func:`triangular`; mixed=True keeps the
        factors in single precision, for `Factors.refine`.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> L = scipy.sparse.csc_array([[2.0, 0.0], [1.0, 3.0]])
    >>> F = sptrsm.from_factors(L)
    >>> F.solve(numpy.array([4.0, 2.0])) @ (L @ L.T).toarray()
    array([4., 2.])
    """
    device, checked = solver_options(**options)
    factors = factor_set(L, U, D, D_sub, upper=upper, unit_L=unit_L, unit_U=unit_U, hermitian_D=hermitian_D, perm_r=perm_r, perm_c=perm_c,
                         p=p, q=q, row_scale=row_scale, col_scale=col_scale, row_op=row_op, col_op=col_op, A=A, dtype=dtype)
    place = _sparse.device_of(factors.L) if device is None else device
    return Factors(factors, checked_device(place, checked), checked)


def _parts_of_splu(lu) -> dict:
    """The arguments of from_factors for a SuperLU object."""
    return {"L": lu.L, "U": lu.U, "unit_L": True, "perm_r": lu.perm_r, "perm_c": lu.perm_c}


def _parts_of_cholesky(factor) -> dict:
    """The arguments of from_factors for a factor of scikit-sparse."""
    if hasattr(factor, "perm"):  # 0.5 has attributes
        L, p, D = factor.L, factor.perm, None if factor.is_ll else factor.D.diagonal()
    elif hasattr(factor, "L_D"):  # 0.4 has methods, and gives L D L' of any factor
        (L, D), p = factor.L_D(), factor.P()
        D = D.diagonal()
    else:
        raise TypeError(f"factor is {type(factor).__name__}; pass a factor of sksparse.cholmod, or L, D and p to from_factors")
    return {"L": L, "D": D, "p": p, "unit_L": D is not None}


def as_factor_set(item, name: str) -> FactorSet:
    """The arrays of an item of a batch: a solver, an object that from_splu or from_cholesky takes, or the arguments of from_factors."""
    if isinstance(item, Factors):
        return item.factors
    if isinstance(item, FactorSet):
        return item
    if isinstance(item, Mapping):
        check_keywords(item, list(signature(factor_set).parameters), ())
        return factor_set(**item)
    if hasattr(item, "perm_r"):
        return factor_set(**_parts_of_splu(item))
    if hasattr(item, "perm") or hasattr(item, "L_D"):
        return factor_set(**_parts_of_cholesky(item))
    raise TypeError(f"{name} is {type(item).__name__}; pass sptrsm.Factors, what from_splu or from_cholesky takes, or a dict with the "
                    "arguments of from_factors, for instance dict(L=T) for a triangle T, which is solved as system=\"L\"")


def from_splu(lu, *, A=None, **options) -> Factors:
    """A solver with the factors of scipy.sparse.linalg.splu (a SuperLU object).

    Parameters
    ----------
    lu : scipy.sparse.linalg.SuperLU or cupyx.scipy.sparse.linalg.SuperLU
    A : sparse matrix, optional
        The matrix that was factorised, for refinement.
    **options
        As in :func:`from_factors`.

    Examples
    --------
    >>> import numpy, scipy.sparse, scipy.sparse.linalg, sptrsm
    >>> lu = scipy.sparse.linalg.splu(scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]]))
    >>> sptrsm.from_splu(lu).solve(numpy.array([5.0, 5.0]))
    array([1., 1.])
    """
    if not hasattr(lu, "perm_r"):
        raise TypeError(f"lu is {type(lu).__name__}; pass what scipy.sparse.linalg.splu(A) returns, or call sptrsm.splu(A)")
    return from_factors(**_parts_of_splu(lu), A=A, **options)


def from_cholesky(factor, *, A=None, **options) -> Factors:
    """A solver with a Cholesky or LDL' factor of scikit-sparse: A[p][:, p] = L L' or L D L'.

    Parameters
    ----------
    factor : sksparse.cholmod.CholeskyFactor (scikit-sparse 0.5), or sksparse.cholmod.Factor (0.4)
    A : sparse matrix, optional
        The matrix that was factorised, with the entries of both triangles, for refinement.
    **options
        As in :func:`from_factors`.
    """
    return from_factors(**_parts_of_cholesky(factor), A=A, **options)


def splu(A, permc_spec=None, diag_pivot_thresh=None, relax=None, panel_size=None, options=None, *, dtype=None,
         **solver) -> Factors:
    """Factorises A by scipy.sparse.linalg.splu on the host, for solves here. The first parameters are SciPy's.

    Parameters
    ----------
    dtype, **solver
        dtype, device and the other options of :func:`from_factors`. A is kept, so that `refine` works.

    Examples
    --------
    >>> import numpy, scipy.sparse, sptrsm
    >>> lu = sptrsm.splu(scipy.sparse.csc_array([[4.0, 1.0], [2.0, 3.0]]))
    >>> lu.solve(numpy.array([5.0, 5.0]))
    array([1., 1.])
    """
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu as factorise

    solver_options(**solver)  # refuses a wrong one before the long work
    dtype = None if dtype is None else _sparse.value_type(dtype)
    lu = factorise(A, permc_spec, diag_pivot_thresh, relax, panel_size, {} if options is None else options)
    return from_splu(lu, A=A if hasattr(A, "tocsc") else csc_array(A), dtype=dtype, **solver)
