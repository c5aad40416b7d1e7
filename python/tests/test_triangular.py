"""Triangular: every type, format and operation, updates, errors."""
import pickle

import numpy
import pytest
import scipy.sparse
from conftest import apply, close, random, triangle

import sptrsm


@pytest.mark.parametrize("trans", "NTH")
@pytest.mark.parametrize("lower", (True, False))
@pytest.mark.parametrize("form", ("csr", "csc"))
def test_solves(dtype, form, lower, trans):
    A = triangle(40, dtype, lower, form)
    T = sptrsm.triangular(A, lower)
    for nrhs in (0, 1, 5, 200):
        B = random((40, nrhs), dtype, nrhs)
        X = T.solve(B, trans)
        assert X.dtype == dtype and close(apply(A, trans) @ X, B, dtype)
    b = random(40, dtype)
    assert close(apply(A, trans) @ T.solve(b, trans, alpha=2), 2 * b, dtype)


def test_unit_diagonal_ignores_what_is_stored():
    A = triangle(20)
    T = sptrsm.triangular(A, unit_diagonal=True)
    dense = A.toarray()
    numpy.fill_diagonal(dense, 1)
    b = random(20, "float64")
    assert close(dense @ T.solve(b), b, "float64")


@pytest.mark.parametrize("index", (numpy.int32, numpy.int64))
def test_unsorted_and_duplicate_entries(index):
    rows, columns = numpy.array([1, 1, 0, 1], index), numpy.array([1, 0, 0, 1], index)
    A = scipy.sparse.csr_array((numpy.array([2.0, 3.0, 4.0, 2.0]), columns[[2, 0, 1, 3]], numpy.array([0, 1, 4], index)), shape=(2, 2))
    before = A.indices.copy()
    for matrix in (A, scipy.sparse.coo_array((numpy.array([2.0, 3.0, 4.0, 2.0]), (rows, columns)), shape=(2, 2))):
        T = sptrsm.triangular(matrix)
        dense = matrix.toarray()
        assert close(dense @ T.solve(numpy.ones(2)), numpy.ones(2), "float64") and T.nnz == 3
    assert (A.indices == before).all()


def test_sizes_of_nothing():
    T = sptrsm.triangular(scipy.sparse.csr_array((0, 0)))
    assert T.solve(numpy.empty((0, 3))).shape == (0, 3) and T.solve(numpy.empty(0)).shape == (0,)


def test_the_callers_arrays_may_change_afterwards():
    A = triangle(10)
    T, b = sptrsm.triangular(A), numpy.ones(10)
    x = T.solve(b)
    A.data[:] = 7
    assert (T.solve(b) == x).all()


def test_update_values():
    A, b = triangle(30, form="csc"), random(30, "float64")
    T = sptrsm.triangular(A)
    T.solve(b, "T")
    T.update_values(3 * T.data)
    for trans in "NT":
        assert close(3 * apply(A, trans) @ T.solve(b, trans), b, "float64")
    T.update_values(A)
    assert close(A @ T.solve(b), b, "float64")
    bad = T.data.copy()
    bad[0] = 0
    with pytest.raises(sptrsm.SingularError):
        T.update_values(bad)
    assert close(A @ T.solve(b), b, "float64")
    with pytest.raises(ValueError, match="has shape"):
        T.update_values(bad[1:])
    with pytest.raises(ValueError, match="another pattern"):
        T.update_values(triangle(30, form="csc", seed=5))


def test_pickle(dtype):
    T = sptrsm.triangular(triangle(30, dtype), nrhs=4)
    S, B = pickle.loads(pickle.dumps(T)), random((30, 4), dtype)
    assert (S.solve(B, "T") == T.solve(B, "T")).all() and repr(S) == repr(T)


def test_close():
    with sptrsm.triangular(triangle(5)) as T:
        T.solve(numpy.ones(5))
    T.close()
    assert "closed" in repr(T)
    for use in (lambda: T.solve(numpy.ones(5)), lambda: T.info, lambda: T.update_values(T.data)):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_description():
    T = sptrsm.triangular(triangle(50), method="serial")
    assert "serial" in repr(T) and "n=50" in repr(T) and "asked for" in repr(T)
    assert T.info.method == "serial" and T.info.nnz == T.nnz and "method" in str(T.info) and "<svg" in T._repr_html_()


def test_errors_of_the_matrix():
    A = triangle(6).tolil()
    A[3, 3] = 0
    with pytest.raises(sptrsm.SingularError, match=r"\(3,3\)") as caught:
        sptrsm.triangular(A.tocsr())
    assert caught.value.index == 3 and isinstance(caught.value, numpy.linalg.LinAlgError)
    with pytest.raises(sptrsm.StructureError, match="diagonal"):
        sptrsm.triangular(triangle(6, lower=False) + triangle(6))
    with pytest.raises(ValueError, match="square"):
        sptrsm.triangular(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(TypeError, match="csr_array"):
        sptrsm.triangular(numpy.eye(3))
    with pytest.raises(sptrsm.ArgumentError, match="nonsense"):
        sptrsm.triangular(triangle(6), method="nonsense")
    with pytest.raises(ValueError, match="nowhere"):
        sptrsm.triangular(triangle(6), device="nowhere")
    if sptrsm.device_count() == 0:
        with pytest.raises((sptrsm.UnsupportedError, sptrsm.DeviceError)):
            sptrsm.triangular(triangle(6), device="cuda")
    with pytest.raises(TypeError, match="imaginary"):
        sptrsm.triangular(triangle(6, "complex128"), dtype="float64")
    with pytest.raises(MemoryError):
        sptrsm.triangular(triangle(60), memory_limit=8)


def test_unknown_operation():
    with pytest.raises(ValueError, match="'X'"):
        sptrsm.triangular(triangle(3)).solve(numpy.ones(3), "X")


def test_a_matrix_with_too_few_values_is_refused():
    A = scipy.sparse.csr_array(triangle(20))
    for part in ("data", "indices"):
        B = A.copy()
        setattr(B, part, getattr(B, part)[:3])
        with pytest.raises(ValueError, match="damaged"):
            sptrsm.triangular(B)


@pytest.mark.parametrize("alpha", (None, "2", [1.0, 2.0], 1 + 2j, numpy.complex128(2 + 1j)))
def test_alpha_that_is_no_number_of_the_type_is_refused(alpha):
    with pytest.raises(TypeError, match="alpha"):
        sptrsm.triangular(triangle(20)).solve(numpy.ones(20), alpha=alpha)


def test_types_of_new_values():
    T = sptrsm.triangular(triangle(20, "float32"))
    T.update_values(T.data.tolist())
    for values, message in ((T.data.astype("float64"), "float64"), (numpy.full(T.nnz, 2**24 + 1), "integer")):
        with pytest.raises(TypeError, match=message):
            T.update_values(values)
    torch = pytest.importorskip("torch")
    T.update_values(torch.tensor(T.data))
    with pytest.raises(TypeError, match="values is float64 and the solver float32"):
        T.update_values(torch.tensor(T.data, dtype=torch.float64))
    with pytest.raises(TypeError, match="detach"):
        T.update_values(torch.tensor(T.data, requires_grad=True))


def test_the_arrays_of_a_solver_are_read_only():
    A = triangle(20)
    T = sptrsm.triangular(A)
    for solver in (T, pickle.loads(pickle.dumps(T))):
        solver.update_values(2 * solver.data)
        for array in (solver.data, solver.indices, solver.indptr):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
    A.data *= 2


def test_room_behind_the_last_entry_is_left_out():
    A = triangle(20)
    longer = scipy.sparse.csr_array((numpy.append(A.data, 7.0), numpy.append(A.indices, 0), A.indptr), shape=A.shape)
    T = sptrsm.triangular(longer)
    assert T.nnz == len(T.data) == A.nnz
    T.update_values(A.data)


def test_indices_that_are_no_integers():
    A = triangle(20)
    A.indices = A.indices + 0.5
    with pytest.raises(TypeError, match="T has offsets of type int32 and indices of type float64; pass integers"):
        sptrsm.triangular(A)
    A = triangle(20)
    A.indices = A.indices[:, None]
    with pytest.raises(ValueError, match="T is damaged"):
        sptrsm.triangular(A)


@pytest.mark.parametrize("name", ("lower", "unit_diagonal", "data", "indptr", "dtype"))
def test_what_a_solver_is_stays(name):
    with pytest.raises(AttributeError):
        setattr(sptrsm.triangular(triangle(5)), name, None)
