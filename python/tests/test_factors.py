"""Factors: SuperLU, Cholesky, any factors; systems, few rows, refinement, new values."""
import pickle

import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg
from conftest import apply, close, general, random, triangle

import sptrsm
from sptrsm._lib import lib

N = 40


@pytest.mark.parametrize("trans", "NTH")
def test_splu(dtype, trans):
    A = general(N, dtype)
    F, lu = sptrsm.splu(A), scipy.sparse.linalg.splu(A)
    for B in (random(N, dtype), random((N, 0), dtype), random((N, 1), dtype), random((N, 5), dtype),
              numpy.asfortranarray(random((N, 200), dtype))):
        X = F.solve(B, trans)
        assert close(apply(A, trans) @ X, B, dtype) and close(X, lu.solve(B, trans), dtype)
    out = random((N, 5), dtype)
    B = out.copy()
    assert F.solve(out, trans, out=out, alpha=2) is out and close(apply(A, trans) @ out, 2 * B, dtype)


def test_systems():
    F = sptrsm.splu(general(N))
    lu, b = scipy.sparse.linalg.splu(general(N)), random(N, "float64")
    assert close(lu.L @ F.solve(b, system="L"), b, "float64") and close(lu.U @ F.solve(b, system="U"), b, "float64")
    assert close(lu.U.T @ F.solve(b, "T", system="U"), b, "float64")
    with pytest.raises(sptrsm.ArgumentError, match="nonsense"):
        F.solve(b, system="nonsense")


@pytest.mark.parametrize("trans", "NTH")
def test_few_rows(dtype, trans):
    F = sptrsm.splu(general(N, dtype))
    B = random((N, 3), dtype)
    X = F.solve(B, trans)
    for rows in ([7], [30, 2, 2, 11], [], range(N), numpy.array([5], numpy.int64)):
        for _ in range(2):
            assert close(F.solve(B, trans, rows=rows), X[list(rows)], dtype)
    assert close(F.solve(B[:, 0], trans, rows=[4]), X[[4], 0], dtype)
    assert close(F.solve(B, trans, rows=[4], alpha=3), 3 * X[[4]], dtype)
    for rows in ([N], [-1]):
        with pytest.raises(ValueError, match="outside"):
            F.solve(B, rows=rows)
    with pytest.raises(TypeError, match="integers"):
        F.solve(B, rows=[0.5])
    with pytest.raises(ValueError, match="out="):
        F.solve(B, rows=[1], out=B)


@pytest.mark.parametrize("complex_type", (False, True))
@pytest.mark.parametrize("kind", ("LL", "LDL", "0.4"))
def test_cholesky_of_scikit_sparse(kind, complex_type):
    """Stand-ins with the attributes that scikit-sparse 0.5 and 0.4 document."""
    dtype = "complex128" if complex_type else "float64"
    L, p = triangle(N, dtype, form="csc"), numpy.random.default_rng(3).permutation(N)
    dense = L.toarray()
    D = numpy.ones(N)
    if kind != "LL":
        dense /= dense.diagonal()
        D = numpy.where(numpy.arange(N) % 3, 2.0, -1.0)
    permuted = dense @ numpy.diag(D) @ dense.conj().T
    A = numpy.empty_like(permuted)
    A[numpy.ix_(p, p)] = permuted
    unit = scipy.sparse.csc_array(dense)

    class New:
        perm, is_ll, L, D = p, kind == "LL", unit, None

    New.D = scipy.sparse.dia_array((D[None, :], [0]), shape=(N, N))

    class Old:
        def L_D(self):
            return unit, scipy.sparse.csc_array(numpy.diag(D))

        def P(self):
            return p

    F = sptrsm.from_cholesky(Old() if kind == "0.4" else New(), A=scipy.sparse.csc_array(A))
    b = random((N, 2), dtype)
    for trans in "NTH":
        x = F.solve(b, trans, refine=2)
        assert F.refine(b, x, trans).berr.max() <= 1e-14
        assert abs(apply(A, trans) @ x - b).max() <= 1e-12 * abs(A).max() * abs(x).max()
    with pytest.raises(TypeError, match="from_factors"):
        sptrsm.from_cholesky(object())


@pytest.mark.parametrize("dtype", ("float64", "complex128"))
@pytest.mark.parametrize("mode", ("simplicial", "supernodal"))
def test_cholesky_of_the_installed_scikit_sparse(mode, dtype):
    cholmod = pytest.importorskip("sksparse.cholmod")
    if hasattr(cholmod, "CholeskyFactor"):
        pytest.skip("needs scikit-sparse 0.4")
    G = general(N, dtype)
    A = scipy.sparse.csc_matrix(G @ G.conj().T)
    F, b = sptrsm.from_cholesky(cholmod.cholesky(A, mode=mode), A=A), random((N, 2), dtype)
    for trans in "NTH":
        assert F.refine(b, F.solve(b, trans), trans, steps=0).berr.max() <= 1e-13


def test_every_convention_and_scaling():
    lu = scipy.sparse.linalg.splu(general(N))
    b = random(N, "float64")
    x = lu.solve(b)
    p, q = numpy.argsort(lu.perm_r), numpy.argsort(lu.perm_c)
    for permutations in ({"perm_r": lu.perm_r, "perm_c": lu.perm_c}, {"p": p, "q": q}, {"p": p, "perm_c": lu.perm_c}):
        assert close(sptrsm.from_factors(lu.L, lu.U, **permutations).solve(b), x, "float64")
    r, c = numpy.linspace(1, 2, N), numpy.linspace(3, 1, N)
    F = sptrsm.from_factors(lu.L, lu.U, p=p, q=q, row_scale=r, col_scale=c, row_op="divide")
    A = numpy.diag(r) @ general(N).toarray() @ numpy.diag(1 / c)
    assert close(A @ F.solve(b), b, "float64") and close(A.T @ F.solve(b, "T"), b, "float64")
    for bad, message in (({"p": p, "perm_r": p}, "one of them"), ({"p": p[1:]}, "shape"), ({"p": p + 1}, "outside"),
                         ({"row_op": "add"}, "row_op"), ({"upper": "transpose"}, "upper")):
        with pytest.raises(ValueError, match=message):
            sptrsm.from_factors(lu.L, lu.U, **bad)
    with pytest.raises(sptrsm.SptrsmError, match="perm_row"):
        sptrsm.from_factors(lu.L, lu.U, p=numpy.zeros(N, int))


def test_blocks_of_ldl():
    L = scipy.sparse.eye_array(4, format="csc")
    F = sptrsm.from_factors(L, D=[1.0, 2.0, 3.0, 4.0], D_sub=[0.0, 5.0, 0.0, 0.0], unit_L=True)
    A = numpy.diag([1.0, 2.0, 3.0, 4.0])
    A[1, 2] = A[2, 1] = 5
    assert close(A @ F.solve(numpy.ones(4)), numpy.ones(4), "float64")


def test_refinement():
    A = general(N)
    F = sptrsm.splu(A)
    B = random((N, 3), "float64")
    X = F.solve(B) * (1 + 1e-4)
    assert F.refine(B, X.copy(), steps=0).berr.min() > 1e-6
    berr, ferr = F.refine(B, X)
    assert berr.shape == ferr.shape == (3,) and berr.max() <= 1e-15 and 0 < ferr.max() <= 1e-11 and close(A @ X, B, "float64")
    assert F.refine(B[:, 0], X[:, 0]).berr.shape == ()
    mixed = sptrsm.splu(A, mixed=True)
    assert close(A @ mixed.solve(B, refine=30), B, "float64")
    with pytest.raises(ValueError, match="A="):
        sptrsm.from_splu(scipy.sparse.linalg.splu(A)).solve(B, refine=1)
    frozen = X.copy()
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        F.refine(B, frozen)


def test_update_values():
    A, b = general(N), random(N, "float64")
    F = sptrsm.splu(A)
    x = F.solve(b)
    F.solve(b, rows=[3])
    F.update_values(U=2 * F.U.data, A=2 * F.A.data)
    assert close(F.solve(b), x / 2, "float64") and close(F.solve(b, rows=[3]), x[[3]] / 2, "float64")
    assert F.refine(b, x / 2).berr <= 1e-14
    G = pickle.loads(pickle.dumps(F))
    assert (G.solve(b) == F.solve(b)).all()
    bad = F.U.data.copy()
    bad[0] = numpy.nan
    with pytest.raises(sptrsm.SingularError, match="U"):
        F.update_values(U=bad)
    assert close(F.solve(b), x / 2, "float64")
    with pytest.raises(ValueError, match="no U"):
        sptrsm.from_factors(triangle(N, form="csc")).update_values(U=bad)
    with pytest.raises(sptrsm.ArgumentError, match="no D"):
        F.update_values(D=numpy.ones(N))


def test_description_and_close():
    F = sptrsm.splu(general(N), method="serial")
    assert "serial" in repr(F) and F.info.U.method == "serial" and "<svg" in F._repr_html_() and "asked for" in str(F.info)
    assert F.shape == (N, N) and F.dtype == numpy.float64 and F.nnz == F.L.nnz + F.U.nnz and F.device == "cpu"
    F.close()
    assert "closed" in repr(F)
    for use in (lambda: F.solve(numpy.ones(N)), lambda: F.info, lambda: F.update_values(), lambda: F.solve(numpy.ones(N), rows=[1])):
        with pytest.raises(ValueError, match="closed"):
            use()
    with pytest.raises(ValueError, match="order"):
        sptrsm.from_factors(triangle(4), triangle(5, lower=False))


def test_refinement_needs_the_matrix_of_the_present_factors():
    F, b = sptrsm.splu(general(20)), numpy.ones(20)
    F.update_values(L=F.L.data, U=2 * F.U.data)
    with pytest.raises(ValueError, match="update_values"):
        F.solve(b, refine=1)
    F.update_values(A=2 * F.A.data)
    assert F.refine(b, F.solve(b)).berr < 1e-15


def test_the_arrays_of_a_factor_set_are_read_only():
    F = sptrsm.from_factors(triangle(N, form="csc"), D=numpy.ones(N), p=numpy.arange(N)[::-1])
    for G in (F, pickle.loads(pickle.dumps(F))):
        G.update_values(D=2 * G.factors.D)
        for array in (G.L.data, G.factors.L.indices, G.factors.D, G.factors.perm_row):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1


def test_factors_keep_what_a_pickle_carries():
    A = general(N)
    F, b = sptrsm.splu(A), random(N, "float64")
    F.update_values(L=F.L.data, U=2 * F.U.data)
    for solver in (F, pickle.loads(pickle.dumps(F)), F.to("cpu")):
        with pytest.raises(ValueError, match="A"):
            solver.refine(b, solver.solve(b))
        assert not solver.L.data.flags.writeable and not solver.factors.perm_row.flags.writeable


def test_a_file_leaves_out_an_old_matrix(tmp_path):
    pytest.importorskip("h5py")
    F = sptrsm.splu(general(N))
    F.update_values(L=F.L.data, U=2 * F.U.data)
    sptrsm.save(F, tmp_path / "f.h5")
    assert sptrsm.load(tmp_path / "f.h5").A is None


def test_new_values_are_all_taken_or_none(monkeypatch):
    F, b = sptrsm.splu(general(N)), random(N, "float64")
    x = F.solve(b)
    with monkeypatch.context() as patch, pytest.raises(sptrsm.OutOfMemoryError):
        patch.setattr(lib, "sptrsm_direct_set_original", lambda *_: -4)
        F.update_values(U=2 * F.U.data, A=2 * F.A.data)
    assert (F.solve(b) == x).all() and F.refine(b, x.copy()).berr <= 1e-14


def test_new_values_of_a_sparse_matrix_keep_their_digits():
    F = sptrsm.splu(general(N, "float32").astype("float32"))
    with pytest.raises(TypeError, match="L is float64 and the solver float32"):
        F.update_values(L=F.L.astype("float64"))
    F.update_values(L=F.L.copy(), U=F.U.tocsr())
    with pytest.raises(TypeError, match=r"2\*\*24"):
        F.update_values(U=F.U.astype("int64") + 2**24 * scipy.sparse.eye_array(N, dtype="int64") + scipy.sparse.eye_array(N, dtype="int64"))


def test_a_narrower_type_holds_for_all_parts():
    L, D = triangle(N, form="csc"), numpy.arange(1.0, N + 1)
    F = sptrsm.from_factors(L, D=D, unit_L=True, dtype="float32")
    assert F.dtype == numpy.float32 and F.factors.D.dtype == numpy.float32
    with pytest.raises(TypeError, match="D is complex128"):
        sptrsm.from_factors(L, D=D * 1j, unit_L=True, dtype="float32")


def test_permutations_of_cupy():
    """Those of CuPy's SuperLU object are arrays of CuPy."""
    lu = scipy.sparse.linalg.splu(general(N))

    class Array:
        __module__ = "cupy"
        __dlpack__ = None

        def __init__(self, array):
            self.array = array

        def get(self):
            return self.array

        def __array__(self, *_, **__):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    class Theirs:
        L, U, perm_r, perm_c = lu.L, lu.U, Array(lu.perm_r), Array(lu.perm_c)

    b = random(N, "float64")
    assert close(sptrsm.from_splu(Theirs()).solve(b), lu.solve(b), "float64")


@pytest.mark.parametrize("lu", (None, general(N)))
def test_what_is_no_superlu_object(lu):
    with pytest.raises(TypeError, match=rf"lu is {type(lu).__name__}; pass .*sptrsm.splu\(A\)"):
        sptrsm.from_splu(lu)


def test_errors_of_refine_name_its_arguments():
    F, b = sptrsm.splu(general(N)), numpy.ones(N)
    for X, error in ((b.astype("float32"), TypeError), (b.tolist(), TypeError), (numpy.ones((N, 1)), ValueError)):
        with pytest.raises(error, match="^X "):
            F.refine(b, X)


def test_integers_of_a_matrix_keep_their_digits():
    A = scipy.sparse.csc_array(numpy.diag([2**53, 1]))
    assert sptrsm.triangular(A).data.tolist() == [2.0**53, 1.0]
    A.data[0] += 1
    for make in (sptrsm.triangular, sptrsm.from_factors):
        with pytest.raises(TypeError, match=r"holds the integer 9007199254740993, .*astype"):
            make(A)


def test_refinement_needs_solutions():
    with pytest.raises(TypeError, match="X is None"):
        sptrsm.splu(general(N)).refine(numpy.ones(N), None)


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_splu_of_a_dense_array_keeps_it():
    A, b = general(N).toarray(), random(N, "float64")
    assert close(A @ sptrsm.splu(A).solve(b, refine=True), b, "float64")
