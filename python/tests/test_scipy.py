"""spsolve_triangular and splu beside SciPy's."""
import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import close, general, random, triangle

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
