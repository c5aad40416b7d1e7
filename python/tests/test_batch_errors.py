"""Backward errors of the items of a batch: those that NumPy computes, and of each item by itself."""
import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import Foreign, apply, general, random, tolerance, triangle

import sptrsm

COUNT, ORDERS = 5, (30, 7, 1, 19, 12)


def matrices(kind, dtype="float64"):
    """kind "uniform": matrices with one pattern."""
    if kind == "mixed":
        return [general(n, dtype, seed=n) for n in ORDERS]
    A = general(ORDERS[0], dtype)
    return [scipy.sparse.csc_array((A.data * (1 + i), A.indices, A.indptr), shape=A.shape) for i in range(COUNT)]


def batch_of(kind, As):
    return sptrsm.batch([scipy.sparse.linalg.splu(A, diag_pivot_thresh=0.0) for A in As], uniform=kind == "uniform")


def changed(A):
    """A with other values, so that a solution by the factors of A has a large error."""
    return scipy.sparse.csc_array((A.data * (1 + 0.1 * random(A.nnz, "float64", 5)).astype(A.dtype), A.indices, A.indptr), shape=A.shape)


def size(z):
    """|re| + |im|, as the library's formula has it."""
    return abs(z.real) + abs(z.imag)


def expected(A, x, b):
    """The largest componentwise backward error of the columns of x."""
    A, x, b = (one.astype("complex128") for one in (A, x, b))
    return (size(b - A @ x) / (size(A) @ size(x) + size(b))).max()


@pytest.fixture(params=("uniform", "mixed"))
def kind(request):
    return request.param


@pytest.mark.parametrize("trans", "NTH")
def test_errors_beside_numpy(kind, dtype, trans):
    As = matrices(kind, dtype)
    P, berr = batch_of(kind, As), numpy.full(COUNT, 7.0)
    B = [random((A.shape[0], 3), dtype, seed=i) for i, A in enumerate(As)]
    P.set_original(As)
    X = P.solve(B, trans, alpha=2, berr=berr)
    assert all(numpy.array_equal(x, y) for x, y in zip(X, P.solve(B, trans, alpha=2)))
    assert (berr <= tolerance(dtype)).all() and berr.max() > 0
    wrong = [changed(A) for A in As]
    P.set_original([A.tocsr() if i % 2 else A for i, A in enumerate(wrong)])
    P.solve(B, trans, alpha=2, berr=berr)
    for A, x, b, error in zip(wrong, X, B, berr):
        right = expected(apply(A, trans), x, 2 * b)
        assert right > 1e-3 and abs(error - right) <= 10 * tolerance(dtype)


def test_a_wrong_matrix_shows_in_its_item_alone(kind):
    As = matrices(kind)
    P, berr = batch_of(kind, As), numpy.zeros(COUNT)
    B = [random(A.shape[0], "float64") for A in As]
    P.set_original(As)
    P.set_original(changed(As[3]), items=3)
    P.solve(B, berr=berr)
    assert berr[3] > 1e-3 and (numpy.delete(berr, 3) <= 1e-14).all()
    P.set_original([changed(As[0]), As[1]], items=slice(0, 2))
    P.set_original(As[3], items=-2)
    P.solve(B, berr=berr)
    assert berr[0] > 1e-3 and (berr[1:] <= 1e-14).all()
    P.set_original(None, items=2)
    with pytest.raises(sptrsm.ArgumentError, match="berr of item 2 needs the matrix"):
        P.solve(B, berr=berr)


def test_masked_nan_and_singular_items(kind):
    As = matrices(kind)
    parts = [sptrsm.from_splu(scipy.sparse.linalg.splu(A, diag_pivot_thresh=0.0)) for A in As]
    P, mask = sptrsm.batch(parts, uniform=kind == "uniform"), numpy.arange(COUNT) != 2
    for i in numpy.flatnonzero(mask):
        P.set_original(As[i], items=int(i))
    P.update_values(U=0 * parts[4].U.data, items=4)
    B = [random((A.shape[0], 2), "float64") for A in As]
    B[1][0, 1] = numpy.nan
    berr = numpy.full(COUNT, 7.0)
    P.solve(B, mask=mask, singular="ignore", berr=berr)
    assert berr[2] == 7 and numpy.isnan(berr[[1, 4]]).all() and (berr[[0, 3]] <= 1e-14).all()
    berr[:] = 7
    with pytest.raises(sptrsm.SingularError):
        P.solve(B, mask=mask, berr=berr)
    with pytest.raises(sptrsm.ArgumentError, match="berr of item 2 needs the matrix"):
        P.solve(B, singular="ignore", berr=berr)
    assert (berr == 7).all()


def test_forms_of_right_hand_sides():
    As = matrices("uniform")
    P, C = batch_of("uniform", As), random((COUNT, ORDERS[0], 3), "float64")
    wrong = [changed(A) for A in As]
    P.set_original(wrong)
    for B in (C, C[:, :, 0].copy(), C.swapaxes(1, 2).copy().swapaxes(1, 2), C[:, ::-1], numpy.broadcast_to(C[1], C.shape), C[:1]):
        berr = numpy.zeros(COUNT)
        X = P.solve(B, berr=berr)
        for i, error in enumerate(berr):
            assert abs(error - expected(wrong[i], X[i], B[i % len(B)])) <= 1e-12
    berr = numpy.full(COUNT, 7.0)
    P.solve(C[:, :, :0], berr=berr)
    assert (berr == 0).all()
    nothing = sptrsm.batch([])
    nothing.set_original([])
    assert nothing.solve([], berr=numpy.zeros(0)) == []


def test_triangles_with_ones():
    T = [triangle(20, seed=seed) for seed in (1, 2)]
    unit = [scipy.sparse.csr_array(scipy.sparse.tril(one, -1) / 10 + scipy.sparse.eye_array(20)) for one in T]
    P, berr = sptrsm.batch([dict(L=one, unit_L=True) for one in unit]), numpy.ones(2)
    P.set_original(unit)
    P.solve(random((2, 20, 2), "float64"), "T", system="L", berr=berr)
    assert (berr <= 1e-14).all()
    with pytest.raises(sptrsm.ArgumentError, match="berr is for the systems"):
        P.solve(random((2, 20), "float64"), system="P", berr=berr)


def test_what_does_not_fit():
    As = matrices("uniform")
    P, B = batch_of("uniform", As), random((COUNT, ORDERS[0]), "float64")
    read_only = numpy.broadcast_to(0.0, COUNT)
    for berr, error, message in (
            (numpy.zeros(COUNT - 1), ValueError, r"berr has shape \(4,\); pass one number for each of the 5 items"),
            (numpy.zeros((COUNT, 1)), ValueError, r"berr has shape \(5, 1\)"),
            ([0.0] * COUNT, TypeError, "berr must be an array of float64"),
            (numpy.zeros(COUNT, "float32"), TypeError, "berr must be an array of float64"), (read_only, ValueError, "berr is read-only"),
            (numpy.zeros(2 * COUNT)[::2], ValueError, "berr is not in one piece"),
            (numpy.zeros(COUNT)[::-1], ValueError, r"berr has strides \(-8,\)"), (True, ValueError, r"berr has shape \(\)")):
        with pytest.raises(error, match=message):
            P.solve(B, berr=berr)
    berr = numpy.zeros(COUNT)
    with pytest.raises(sptrsm.ArgumentError, match="berr of item 0 needs the matrix"):
        P.solve(B, berr=berr)
    P.set_original(As)
    with pytest.raises(sptrsm.ArgumentError, match="X must be another block"):
        P.solve(B, out=B, berr=berr)
    for A, items, error, message in (
            (As[1:], None, ValueError, "A has 4 matrices for 5 items"), (As[0].toarray(), None, TypeError, "A is ndarray, not a sparse"),
            ([*As[1:], B], None, TypeError, r"A\[4\] is ndarray"), (As[0].astype("complex128"), 1, TypeError, "imaginary part"),
            (general(7), 3, sptrsm.ArgumentError, "item 3"), (As[0], COUNT, IndexError, "items=5 is not an item")):
        with pytest.raises(error, match=message):
            P.set_original(A, items=items)
    P.close()
    with pytest.raises(ValueError, match="this Batch is closed"):
        P.set_original(As)


def test_errors_in_arrays_of_other_packages():
    As = matrices("uniform")
    P, B, berr = batch_of("uniform", As), random((COUNT, ORDERS[0]), "float64"), numpy.zeros(COUNT)
    P.set_original([changed(A) for A in As])
    P.solve(B, berr=berr)
    kept = numpy.zeros(COUNT)
    with pytest.raises(ValueError, match="berr"):
        P.solve(B, berr=Foreign(kept, kind=2))
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(COUNT, dtype=torch.float64)
    before = tensor._version
    P.solve(torch.from_numpy(B), berr=tensor)
    assert numpy.array_equal(tensor.numpy(), berr) and tensor._version > before
