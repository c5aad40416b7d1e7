"""What the tests share: matrices of every type, and reference solutions by dense algebra."""
import threading

import numpy
import pytest
import scipy.sparse

DTYPES = ("float32", "float64", "complex64", "complex128")


def tolerance(dtype):
    return 2e-5 if numpy.dtype(dtype).name in ("float32", "complex64") else 1e-12


def random(shape, dtype, seed=0):
    generator = numpy.random.default_rng(seed)
    values = generator.standard_normal(shape)
    return (values + 1j * generator.standard_normal(shape) if numpy.dtype(dtype).kind == "c" else values).astype(dtype)


def general(n, dtype="float64", seed=0):
    """A regular sparse matrix with unsymmetric pattern, in CSC."""
    generator = numpy.random.default_rng(seed)
    dense = random((n, n), dtype, seed) * (generator.random((n, n)) < 0.15)
    return scipy.sparse.csc_array(dense + numpy.diag(4 + random(n, dtype, seed + 1)).astype(dtype) * 2)


def triangle(n, dtype="float64", lower=True, form="csr", seed=0):
    A = general(n, dtype, seed)
    return (scipy.sparse.tril(A) if lower else scipy.sparse.triu(A)).asformat(form)


def apply(A, trans):
    """op(A) as a dense array."""
    A = A.toarray() if hasattr(A, "toarray") else A
    return {"N": A, "T": A.T, "H": A.conj().T}[trans]


def close(x, y, dtype):
    """NaN fails."""
    x, y = numpy.asarray(x), numpy.asarray(y)
    return x.shape == y.shape and (x.size == 0 or bool(abs(x - y).max() <= tolerance(dtype) * max(1, abs(y).max())))


def in_threads(*works) -> None:
    """Runs the functions at the same time; the first exception of one is raised here."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:  # to be raised by the test
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


class Foreign:
    """An array of no known package, which speaks DLPack for NumPy."""

    def __init__(self, array, kind=1):
        self.array, self.kind = array, kind

    def __dlpack_device__(self):
        return self.kind, 0

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()

    def __array_namespace__(self):
        return numpy


@pytest.fixture(params=DTYPES)
def dtype(request):
    return numpy.dtype(request.param)
