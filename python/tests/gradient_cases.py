"""Small systems whose derivatives test_torch.py and test_jax.py check: triangles and factor sets, with dense matrices beside them."""
from dataclasses import dataclass

import numpy
import scipy.sparse
import scipy.sparse.linalg

import sptrsm

N = 12
DTYPES = ("float64", "complex128")
KINDS = ("lower", "upper", "unit")
FACTORS = ("splu", "scaled", "cholesky", "ldlt")
TRANS = ("N", "T", "H")


@dataclass
class Case:
    """A solver, the values of its parts, where they stand (in a triangle), and its matrix."""

    solver: object
    data: tuple
    matrix: numpy.ndarray
    rows: numpy.ndarray = None
    cols: numpy.ndarray = None


def numbers(rng, dtype, *shape):
    """Random numbers with both parts nonzero where the type is complex."""
    real = rng.standard_normal(shape)
    return real if dtype == "float64" else real + 1j * rng.standard_normal(shape)


def block(dtype, nrhs, seed=1):
    return numbers(numpy.random.default_rng(seed), dtype, N, nrhs)


def sparse(dtype, seed=0, density=0.25):
    """A square matrix with a strong diagonal."""
    rng = numpy.random.default_rng(seed)
    A = numbers(rng, dtype, N, N) * (rng.random((N, N)) < density)
    return A + 4 * numpy.diag(numbers(rng, dtype, N) / 4 + 1)


def triangle(dtype, kind):
    """T in CSR (upper: CSC). A unit triangle stores diagonal entries that are not one, and lacks the first one."""
    T = numpy.triu(sparse(dtype)) if kind == "upper" else numpy.tril(sparse(dtype))
    if kind == "unit":
        T[0, 0] = 0
    stored = (scipy.sparse.csc_array if kind == "upper" else scipy.sparse.csr_array)(T)
    stored.sort_indices()
    if kind == "unit":
        numpy.fill_diagonal(T, 1)
    places = stored.tocoo()
    solver = sptrsm.triangular(stored, lower=kind != "upper", unit_diagonal=kind == "unit")
    return Case(solver, (solver.data.copy(),), T, places.row, places.col)


def factors(dtype, kind="splu"):
    """A factor set; its values are those of L and U, or of L alone where U is L transposed."""
    rng = numpy.random.default_rng(7)
    if kind == "splu":
        A = sparse(dtype)
        F = sptrsm.from_splu(scipy.sparse.linalg.splu(scipy.sparse.csc_array(A)))
        return Case(F, (F.L.data.copy(), F.U.data.copy()), A)
    L, p, D = numpy.tril(sparse(dtype)), rng.permutation(N), numbers(rng, dtype, N) + 3
    if kind == "scaled":
        U, q, r, c = numpy.triu(sparse(dtype, seed=3)), rng.permutation(N), rng.random(N) + 1, rng.random(N) + 1
        F = sptrsm.from_factors(scipy.sparse.csr_array(L), scipy.sparse.csc_array(U), D, p=p, q=q, row_scale=r, col_scale=c, row_op="divide")
        A = numpy.empty_like(L)
        A[numpy.ix_(p, q)] = L * D @ U  # P (A / r) C Q = L D U
        return Case(F, (F.L.data.copy(), F.U.data.copy()), A * r[:, None] / c)
    if kind == "cholesky":
        F, inner = sptrsm.from_factors(scipy.sparse.csc_array(L), p=p), L @ L.conj().T
    else:  # complex symmetric L D L^T with a 2x2 block in D
        sub = numpy.zeros(N, dtype)
        sub[4] = 0.5
        F = sptrsm.from_factors(scipy.sparse.csc_array(L), D=D, D_sub=sub, upper="transpose", unit_L=True, p=p)
        numpy.fill_diagonal(L, 1)
        inner = L @ (numpy.diag(D) + numpy.diag(sub[:-1], 1) + numpy.diag(sub[:-1], -1)) @ L.T
    A = numpy.empty_like(L)
    A[numpy.ix_(p, p)] = inner
    return Case(F, (F.L.data.copy(),), A)


def dense(case, trans):
    """op(A)"""
    return {"N": case.matrix, "T": case.matrix.T, "H": case.matrix.conj().T}[trans].copy()
