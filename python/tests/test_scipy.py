"""spsolve_triangular and splu beside SciPy's."""
import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import close, general, random, tolerance, triangle

import sptrsm

# SciPy before 1.14 computes in double precision even where A and b are in single precision; this package keeps single, as newer ones do.
DOUBLE_AT_LEAST = tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14)


@pytest.mark.parametrize("unit_diagonal", (False, True))
@pytest.mark.parametrize("lower", (False, True))
@pytest.mark.parametrize("form", ("csr", "csc"))
@pytest.mark.parametrize("type_A", ("int32", "float32", "float64", "complex64"))
@pytest.mark.parametrize("type_b", ("int64", "float32", "float64", "complex128"))
def test_same_result_and_type(type_b, type_A, form, lower, unit_diagonal):
    A = (8 * triangle(12, "float64", lower, form)).astype(type_A)
    A.setdiag(9)
    precision = "float32" if type_A in ("float32", "complex64") else type_A  # SciPy scales A in A's own type
    for shape in ((12,), (12, 1), (12, 3)):
        b = (9 * random(shape, "float64")).astype(type_b)
        expected = scipy.sparse.linalg.spsolve_triangular(A, b, lower, unit_diagonal=unit_diagonal)
        x = sptrsm.spsolve_triangular(A, b, lower, unit_diagonal=unit_diagonal)
        if DOUBLE_AT_LEAST:
            expected = expected.astype(numpy.promote_types(numpy.promote_types(A.dtype, "float32"), b.dtype))
        assert x.dtype == expected.dtype and close(x, expected, precision if precision == "float32" else expected.dtype)


def test_overwrite_b():
    A, b = triangle(8), numpy.ones(8)
    kept = b.copy()
    x = sptrsm.spsolve_triangular(A, b)
    assert (b == kept).all()
    assert sptrsm.spsolve_triangular(A, b, overwrite_b=True) is b and (b == x).all()
    integers = numpy.ones(8, int)
    assert close(sptrsm.spsolve_triangular(A, integers, overwrite_b=True), x, "float64") and (integers == 1).all()


def test_errors():
    A = triangle(5)
    with pytest.raises(ValueError, match="b must have 1 or 2 dims"):
        sptrsm.spsolve_triangular(A, numpy.ones((5, 1, 1)))
    with pytest.raises(ValueError, match="size of the first dimension of b"):
        sptrsm.spsolve_triangular(A, numpy.ones(4))
    with pytest.raises(ValueError, match="A must be a square matrix"):
        sptrsm.spsolve_triangular(scipy.sparse.csc_array((3, 4)), numpy.ones(3))
    with pytest.raises(numpy.linalg.LinAlgError, match="not triangular"):
        sptrsm.spsolve_triangular(A, numpy.ones(5), lower=False)
    with pytest.raises(numpy.linalg.LinAlgError, match="diagonal"):
        sptrsm.spsolve_triangular(scipy.sparse.csc_array((5, 5)), numpy.ones(5))


def test_dense_and_lists():
    assert close(sptrsm.spsolve_triangular(triangle(5).toarray(), [1, 2, 3, 4, 5]),
                 sptrsm.spsolve_triangular(triangle(5), numpy.arange(1.0, 6)), "float64")


def test_options_of_splu():
    A, b = general(30), numpy.ones(30)
    for order in ("NATURAL", "COLAMD", "MMD_AT_PLUS_A"):
        assert close(A @ sptrsm.splu(A, permc_spec=order, options={"Equil": False}).solve(b), b, "float64")
    with pytest.raises(RuntimeError, match="singular"):
        sptrsm.splu(scipy.sparse.csc_array((3, 3)))


# About how large the numbers of A and of b are, given the smallest and the largest normal number.
SIZES = {"subnormal b": lambda least, most: (1, least / 200), "b that becomes subnormal": lambda least, most: (1, least * 5),
         "b near overflow": lambda least, most: (1, most / 2**20),
         "A and b near underflow": lambda least, most: (least * 2**20, least * 2**20),
         "A and b near overflow": lambda least, most: (most / 2**20, most / 2**20)}


def unusual(A, size, dtype):
    """A and a block b of the given size, both in dtype."""
    facts = numpy.finfo(dtype)
    of_A, of_b = SIZES[size](facts.tiny, facts.max)
    return A * facts.dtype.type(of_A), random((A.shape[0], 5), dtype, 7) * facts.dtype.type(of_b)


def lost(dtype):
    """What an operation may lose by underflow."""
    real = numpy.finfo(dtype).dtype.type
    return numpy.nextafter(real(0), real(1)).astype(numpy.longdouble)


def close_to_scipys(x, expected, dtype):
    """Up to roundings and to underflow in each of some hundred operations."""
    difference = abs(x.astype(numpy.clongdouble) - expected.astype(numpy.clongdouble)).max()
    return x.dtype == dtype and bool(difference <= tolerance(dtype) * numpy.longdouble(abs(expected).max()) + 500 * lost(dtype))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lower", (False, True))
@pytest.mark.parametrize("form", ("csr", "csc"))
def test_triangles_with_unusual_numbers(dtype, form, lower, size):
    """As SciPy's solution, and within the bound of substitution with a few roundings of underflow for each operation."""
    A, b = unusual(triangle(60, dtype, lower, form), size, dtype)
    x = sptrsm.spsolve_triangular(A, b, lower)
    assert close_to_scipys(x, scipy.sparse.linalg.spsolve_triangular(A, b, lower), dtype)
    M, X = A.toarray().astype(numpy.clongdouble), x.astype(numpy.clongdouble)
    entries = (M != 0).sum(axis=1)[:, None]
    bound = (entries + 1) * (numpy.finfo(dtype).eps / 2 * (abs(M) @ abs(X)) + 8 * lost(dtype) * (1 + abs(M).max()))
    assert numpy.all(abs(M @ X - b) <= (4 if dtype.kind == "c" else 1) * bound)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("trans", "NTH")
def test_factors_with_unusual_numbers(dtype, trans, size):
    A, b = unusual(general(60, dtype), size, dtype)
    expected = scipy.sparse.linalg.splu(A).solve(b, trans)
    assert close_to_scipys(sptrsm.splu(A).solve(b, trans=trans), expected, dtype)
