"""Schur complements beside dense algebra: forms, kinds of B and C, new values, many at a time."""
import pickle
import threading
import weakref

import numpy
import pytest
import scipy.sparse
from conftest import Foreign, apply, close, general, in_threads, random, triangle

import sptrsm
from sptrsm import _context, _schur
from sptrsm._lib import lib

N = 40


def sparse_columns(columns, dtype="float64", seed=0, n=N):
    """A sparse matrix n x columns with an empty column."""
    generator = numpy.random.default_rng(seed)
    dense = random((n, columns), dtype, seed) * (generator.random((n, columns)) < 0.1)
    dense[:, 1:2] = 0
    return scipy.sparse.csc_array(dense)


def cholesky(dtype="float64", upper=None):
    """Factors of a symmetric matrix with a permutation, D and a scaling, and the matrix."""
    L, p = triangle(N, dtype, form="csc"), numpy.random.default_rng(3).permutation(N)
    D, scale = numpy.where(numpy.arange(N) % 3, 2.0, -1.0), numpy.linspace(1, 2, N)
    F = sptrsm.from_factors(L, D=D, p=p, upper=upper, row_scale=scale, col_scale=scale, dtype=dtype)
    inner = L @ numpy.diag(D).astype(dtype) @ (L.toarray().T if upper == "transpose" else L.toarray().conj().T)
    A = numpy.empty_like(inner)
    A[numpy.ix_(p, p)] = inner
    return F, A / scale[:, None] / scale


def expected(A, B, C, trans="N"):
    B, C = (M.toarray() if hasattr(M, "toarray") else numpy.asarray(M) for M in (B, C))
    return C @ numpy.linalg.solve(apply(A, trans).astype("complex128"), B.astype("complex128"))


def agree(S, wanted, dtype):
    return S.dtype == dtype and close(S, wanted if numpy.dtype(dtype).kind == "c" else wanted.real, dtype)


@pytest.mark.parametrize("trans", "NTH")
def test_general(dtype, trans):
    A = general(N, dtype)
    F, B, C = sptrsm.splu(A), sparse_columns(35, dtype), sparse_columns(5, dtype, seed=1).T
    for b in (B, B.tocoo(), B.toarray(), numpy.asfortranarray(B.toarray()), numpy.repeat(B.toarray(), 2, 1)[:, ::2]):
        for c in (C, C.tocsc(), C.toarray(), numpy.asfortranarray(C.toarray())):
            assert agree(F.schur(b, c, trans), expected(A, B, C, trans), dtype)
    assert numpy.array_equal(sptrsm.schur(F, B, C, trans).solve(), F.schur(B, C, trans))


@pytest.mark.parametrize("upper", ("transpose", "conjugate-transpose"))
def test_symmetric(dtype, upper):
    F, A = cholesky(dtype, upper)
    B = sparse_columns(35, dtype)
    wanted = expected(A, B, B.T if upper == "transpose" else B.conj().T)
    for b in (B, B.toarray()):
        S = F.schur(b)
        assert agree(S, wanted, dtype) and numpy.array_equal(S, S.T if upper == "transpose" else S.conj().T)
        for lower, part in ((True, numpy.tril), (False, numpy.triu), (1, numpy.tril), (0, numpy.triu), (numpy.False_, numpy.triu)):
            T, out = F.schur(b, lower=lower), numpy.full(S.shape, 7, dtype)
            assert agree(T, part(wanted), dtype) and numpy.array_equal(T, part(T))
            assert F.schur(b, lower=lower, out=out) is out and numpy.array_equal(part(out), T) and (out[part(out) != out] == 7).all()
    assert agree(F.schur(B, B.T), expected(A, B, B.T), dtype)


def test_integers_and_real_values_fit_a_complex_solver():
    A = general(N, "complex128")
    F, B = sptrsm.splu(A), (sparse_columns(4) * 10).astype(int)
    assert close(F.schur(B, B.T), expected(A, B, B.T), "complex128")
    assert close(F.schur(B.toarray(), B.T), expected(A, B, B.T), "complex128")


def test_out():
    A = general(N)
    F, B, C = sptrsm.splu(A), sparse_columns(7), sparse_columns(5, seed=1).T
    S, wide = F.schur(B, C), numpy.full((5, 20), 7.0)
    for out in (wide[:, 3:10], numpy.zeros((5, 7), order="F")):
        assert F.schur(B, C, out=out) is out and numpy.array_equal(out, S)
    assert (numpy.delete(wide, numpy.s_[3:10], 1) == 7).all()
    dense = numpy.zeros((N + 5, 7))
    for wrong, error, message in ((numpy.zeros((5, 6)), ValueError, r"pass one of the shape \(5, 7\)"),
                                  (numpy.zeros((7, 5)), ValueError, r"out has shape \(7, 5\); pass one of the shape \(5, 7\)"),
                                  (numpy.zeros((5, 7), "float32"), TypeError, "out must be an array of float64"),
                                  (wide[:, ::2][:, :7], ValueError, "strides"), ([[0.0] * 7] * 5, TypeError, "out must be an array")):
        with pytest.raises(error, match=message):
            F.schur(B, C, out=wrong)
    with pytest.raises(ValueError, match="out shares memory with B or C"):
        F.schur(dense[:N], C, out=dense[N - 1:N + 4])
    beside = numpy.zeros((N, 14))
    beside[:, :7] = B.toarray()
    assert numpy.array_equal(F.schur(beside[:, :7], C, out=beside[:5, 7:]), F.schur(B.toarray(), C))


def test_new_values_of_all():
    A = general(N)
    F, B, C = sptrsm.splu(A), sparse_columns(7), sparse_columns(5, seed=1).T.tocsr()
    S = sptrsm.schur(F, B, C)
    before = S.solve()
    B.data[...] = 0  # the object has arrays of its own
    assert numpy.array_equal(S.solve(), before)
    B2, C2 = sparse_columns(7), 3 * C
    B2.data *= 2
    S.update_values(B=B2, C=C2)
    assert close(S.solve(), 6 * before, "float64")
    S.update_values(B=B2.data / 2)
    F.update_values(U=0.5 * F.U.data)
    assert close(S.solve(), 6 * before, "float64")
    S.update_values(C=numpy.zeros(C.nnz))
    assert (S.solve() == 0).all()
    for wrong, error, message in ((dict(B=B2.data[1:]), ValueError, "B has shape"),
                                  (dict(B=sparse_columns(7, seed=5)), ValueError, "B has another pattern"),
                                  (dict(C=C2.astype("complex128")), TypeError, "C is complex128")):
        with pytest.raises(error, match=message):
            S.update_values(**wrong)
    dense = sptrsm.schur(F, B2.toarray(), C.toarray())
    array = B2.toarray()
    given = array.copy()
    kept = sptrsm.schur(F, given, C)
    given[...] = 0
    assert close(kept.solve(), F.schur(B2, C), "float64")
    dense.update_values(B=2 * array, C=C2.toarray())
    assert close(dense.solve(), F.schur(2 * B2, C2), "float64")
    with pytest.raises(ValueError, match="another shape"):
        dense.update_values(C=array[:, :4].T)
    with pytest.raises(ValueError, match=r"C has shape \(40, 7\).*pass \(rows, n\)"):
        dense.update_values(C=array)
    with pytest.raises(ValueError, match="another shape"):  # neither of the two has got its new values
        dense.update_values(B=5 * array, C=array[:, :4].T)
    assert close(dense.solve(), F.schur(2 * B2, C2), "float64")
    symmetric = sptrsm.schur(cholesky()[0], B2)
    with pytest.raises(ValueError, match="made without C"):
        symmetric.update_values(C=C2)


def test_many():
    solvers = [sptrsm.splu(general(n, seed=n)) for n in (N, 11, 25)] + [cholesky()[0]]
    items = [sptrsm.schur(solvers[i % 3], sparse_columns(3 + i, n=solvers[i % 3].shape[0]), sparse_columns(2, n=solvers[i % 3].shape[0]).T)
             for i in range(7)] + [sptrsm.schur(solvers[3], sparse_columns(6)), sptrsm.schur(solvers[3], sparse_columns(6), lower=True)]
    for threads in (None, 8):
        if threads:
            sptrsm.set_threads(threads)
        try:
            S = sptrsm.schur_many(items)
        finally:
            sptrsm.set_threads(0)
        assert all(numpy.array_equal(one, item.solve()) for one, item in zip(S, items))
    out = [numpy.zeros_like(one) for one in S]
    assert all(a is b and numpy.array_equal(a, c) for a, b, c in zip(sptrsm.schur_many(items, out), out, S))
    assert sptrsm.schur_many([]) == []
    for wrong, error, message in (([items[0], solvers[0]], TypeError, r"items\[1\] is Factors; pass what sptrsm.schur made"),
                                  (items[0], TypeError, "items is one Schur; pass a list")):
        with pytest.raises(error, match=message):
            sptrsm.schur_many(wrong)
    with pytest.raises(ValueError, match=r"out\[1\] has"):
        sptrsm.schur_many(items[:2], [S[0], S[0]])
    together = numpy.zeros((5, 3))
    for shared in ([together[:2], together[:2]], [together[:2], together[1:3]], [together[3:], together[2:4]]):
        with pytest.raises(ValueError, match=r"out\[1\] shares memory with out\[0\]; pass an array of its own"):
            sptrsm.schur_many([items[0], items[0]], shared)
    with pytest.raises(ValueError, match=r"out\[2\] shares memory with out\[0\]"):
        sptrsm.schur_many([items[0]] * 3, [together[2:4], S[0], together[1:3]])
    side_by_side = numpy.zeros((2, 7))
    sptrsm.schur_many(items[:2], [side_by_side[:, :3], side_by_side[:, 3:]])
    assert numpy.array_equal(side_by_side, numpy.hstack(S[:2]))
    with pytest.raises(ValueError, match="out has 1 arrays"):
        sptrsm.schur_many(items[:2], [S[0]])
    items[1].close()
    with pytest.raises(ValueError, match="closed"):
        sptrsm.schur_many(items)


@pytest.mark.parametrize("B,C,keywords,error,message", (
    (sparse_columns(3), None, {}, ValueError, "pass C=B.T"),
    (sparse_columns(3), sparse_columns(3).T, {"lower": True}, ValueError, "symmetric form"),
    (sparse_columns(3), sparse_columns(3).T, {"trans": "X"}, ValueError, "trans"),
    (sparse_columns(3).T, sparse_columns(3).T, {}, ValueError, r"B has shape \(3, 40\), and A is of order 40; pass \(n, columns\)"),
    (sparse_columns(3), sparse_columns(3), {}, ValueError, r"C has shape \(40, 3\).*pass \(rows, n\)"),
    (numpy.ones(N), sparse_columns(3).T, {}, ValueError, r"B\[:, None\]"),
    (sparse_columns(3, "complex128"), sparse_columns(3).T, {}, TypeError, "imaginary part"),
    (numpy.ones((N, 2), complex), sparse_columns(3).T, {}, TypeError, "B is complex128 and the solver float64"),
    ("B", sparse_columns(3).T, {}, TypeError, "B has dtype"),
    (scipy.sparse.coo_array(numpy.ones(N)), sparse_columns(3).T, {}, ValueError, r"B has shape \(40,\), and .*pass \(n, columns\)"),
    (numpy.ones((N, 1, 1)), sparse_columns(3).T, {}, ValueError, "B has 3 dimensions; pass a matrix$"),
    (None, sparse_columns(3).T, {}, TypeError, "B is None; pass an array"),
))
def test_what_does_not_fit(B, C, keywords, error, message):
    with pytest.raises(error, match=message):
        sptrsm.splu(general(N)).schur(B, C, **keywords)


def test_other_refusals():
    B = sparse_columns(3)
    with pytest.raises(TypeError, match="F is csc_array; pass what sptrsm.splu"):
        sptrsm.schur(general(N), B)
    with pytest.raises(TypeError, match="B is float64 and the solver float32"):
        sptrsm.splu(general(N, "float32")).schur(B, B.T)
    F = sptrsm.from_factors(triangle(N), p=numpy.arange(N)[::-1], q=numpy.arange(N))
    with pytest.raises(sptrsm.ArgumentError, match="not symmetric; give C"):
        F.schur(B)
    with pytest.raises(sptrsm.UnsupportedError, match="single precision"):
        sptrsm.splu(general(N), mixed=True).schur(B, B.T)
    with pytest.raises(ValueError, match="lower"):
        cholesky()[0].schur(B, "N", lower=True)
    with pytest.raises(sptrsm.ArgumentError, match="op must be N"):
        cholesky()[0].schur(B, trans="T")


def test_nothing_to_do():
    F = sptrsm.splu(general(N))
    none = scipy.sparse.csc_array((N, 0))
    assert F.schur(none, sparse_columns(3).T).shape == (3, 0) and F.schur(sparse_columns(3), none.T).shape == (0, 3)
    assert cholesky()[0].schur(numpy.zeros((N, 0))).shape == (0, 0)
    assert (F.schur(scipy.sparse.csc_array((N, 2)), numpy.ones((3, N))) == 0).all()
    rowless = sptrsm.from_factors(scipy.sparse.csc_array((0, 0)))
    assert (rowless.schur(scipy.sparse.csc_array((0, 2))) == numpy.zeros((2, 2))).all()


def test_arrays_of_torch_and_jax():
    F, B, C = sptrsm.splu(general(N)), sparse_columns(7).toarray(), sparse_columns(5, seed=1).T
    S = F.schur(B, C)
    torch = pytest.importorskip("torch")
    x = F.schur(torch.from_numpy(B), C)
    assert isinstance(x, torch.Tensor) and numpy.array_equal(x.numpy(), S)
    out = torch.zeros((5, 7), dtype=torch.float64)
    assert F.schur(torch.from_numpy(B), C, out=out) is out and numpy.array_equal(out.numpy(), S)
    symmetric = torch.zeros((7, 7), dtype=torch.float64)
    assert cholesky()[0].schur(B, out=symmetric) is symmetric and numpy.array_equal(symmetric.numpy(), cholesky()[0].schur(B))
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    with jax.default_device(jax.devices("cpu")[0]):
        x = F.schur(sparse_columns(7), jax.numpy.asarray(C.toarray()))
    assert isinstance(x, jax.Array) and close(x, S, "float64")
    with pytest.raises(TypeError, match="out is a JAX array, which can't be written to; use the array that is returned without it"):
        F.schur(B, C, out=x)


def test_arrays_of_other_packages_go_through_dlpack():
    F, B, C = sptrsm.splu(general(N)), sparse_columns(7).toarray(), sparse_columns(5, seed=1).T
    S, given = F.schur(B, C), Foreign(B.copy())
    kept = sptrsm.schur(F, given, C)
    assert numpy.array_equal(F.schur(given, C), S) and close(F.schur(B, Foreign(C.toarray())), S, "float64")
    given.array[...] = 0  # the object has arrays of its own
    assert numpy.array_equal(kept.solve(), S)
    kept.update_values(B=Foreign(2 * B))
    assert numpy.array_equal(kept.solve(), 2 * S)
    torch = pytest.importorskip("torch")
    for make in (F.schur, lambda B, C: sptrsm.schur(F, B, C), lambda B, C: kept.update_values(B=B)):
        for bad, message in ((torch.from_numpy(B).requires_grad_(), "detach"), (torch.from_numpy(-1j * B).conj().imag, "resolve_neg"),
                             (torch.zeros(B.shape, dtype=torch.bfloat16), "B is bfloat16 and the solver float64"),
                             (torch.from_numpy(B).to_sparse(), "B can't be read through DLPack")):
            with pytest.raises(TypeError, match=message):
                make(bad, C)


def test_a_schur_complement_keeps_its_own_arrays_alone():
    torch = pytest.importorskip("torch")
    F, array = sptrsm.splu(general(N)), numpy.ones((N, 2))
    given = weakref.ref(array)
    kept = sptrsm.schur(F, torch.from_numpy(array), array.T.copy())
    del array
    assert given() is None and isinstance(kept.solve(), torch.Tensor)
    host = torch.ones((N, 2), dtype=torch.float64)
    assert (_schur._dense_side(host, "B", F, True, stream=7).like == host).all()  # its copy is made on no stream of a device


def test_a_schur_complement_tells_what_it_is():
    F = sptrsm.splu(general(N))
    S = sptrsm.schur(F, sparse_columns(7), sparse_columns(5).T)
    assert repr(S) == "<sptrsm.Schur C A^-1 B 5 x 7 float64>" and S.shape == (5, 7) and S.dtype == numpy.float64 and S.factors is F
    assert S.info.shape == (5, 7) and 0 < S.info.reached <= 1 and S.info.groups == 2 and "reached" in str(S.info)
    assert "B^H A^-1 B" in repr(sptrsm.schur(cholesky()[0], sparse_columns(3)))
    with pytest.raises(TypeError, match="pickle its factors"):
        pickle.dumps(S)
    with S:
        pass
    assert "closed" in repr(S)
    T = sptrsm.schur(F, sparse_columns(7), sparse_columns(5).T)
    F.close()
    for use in (S.solve, lambda: S.info, S.update_values, T.solve):
        with pytest.raises(ValueError, match="closed"):
            use()


def test_a_collected_schur_complement_waits_for_no_lock():
    """A collection may come in a thread that holds the lock of other factors, while the holder of this lock waits for that thread."""
    F = sptrsm.splu(general(N))
    uses = (lambda: F.solve(numpy.ones(N)), lambda: F.info, F.close)
    for use in uses:
        S = sptrsm.schur(F, sparse_columns(7), sparse_columns(5).T)
        with F._lock:
            thread = threading.Thread(target=S.__del__, daemon=True)
            thread.start()
            thread.join(60)
            assert not thread.is_alive() and "closed" not in repr(S)  # this thread may be at work with it
        use()
        assert "closed" in repr(S)


class Streams:
    """Streams of arrays and of solves, as a context on a device would have them, without a device."""

    def __init__(self, monkeypatch, F, current):
        self.at_solves, self.at_creation = [], []
        monkeypatch.setattr(F, "_on_host", False)
        monkeypatch.setattr(_context, "current_stream", lambda array: next((stream for one, stream in current if one is array), None))
        monkeypatch.setattr(F._context, "use_stream", lambda stream: setattr(F._context, "keeps", stream), raising=False)
        for name, seen in (("create", self.at_creation), ("solve", self.at_solves)):
            function = getattr(lib, "sptrsm_schur_" + name)
            monkeypatch.setattr(lib, "sptrsm_schur_" + name,
                                lambda *given, call=function, seen=seen: seen.append(F._context.keeps) or call(*given))


def test_each_solve_of_many_is_queued_on_the_stream_of_its_array(monkeypatch):
    F, B, C = sptrsm.splu(general(N)), sparse_columns(7), sparse_columns(5).T
    items, out = [sptrsm.schur(F, B, C)] * 3, [numpy.zeros((5, 7)) for _ in range(3)]
    streams = Streams(monkeypatch, F, [(out[0], 7), (out[1], 8)])
    sptrsm.schur_many(items, out)
    assert streams.at_solves == [7, 8, None]
    sptrsm.schur_many(items, out, stream=9)
    assert streams.at_solves[3:] == [9, 9, 9]


def test_a_schur_complement_has_one_default_stream(monkeypatch):
    F, B, C, out = sptrsm.splu(general(N)), sparse_columns(7).toarray(), sparse_columns(5).T, numpy.zeros((5, 7))
    streams = Streams(monkeypatch, F, [(out, 7), (B, 8)])
    F.schur(B, C, out=out)
    F.schur(B, C)
    F.schur(B, C, out=out, stream=9)
    assert streams.at_creation == streams.at_solves == [7, 8, 9]


def test_new_arrays_are_kept_where_the_wait_for_the_device_fails(monkeypatch):
    def fail():
        raise sptrsm.DeviceError("lost")

    F, B, C = sptrsm.splu(general(N)), sparse_columns(7).toarray(), sparse_columns(5).T
    S = sptrsm.schur(F, B, C)
    with monkeypatch.context() as patch:
        patch.setattr(F, "_on_host", False)
        patch.setattr(F._context, "sync", fail, raising=False)
        with pytest.raises(sptrsm.DeviceError):
            S.update_values(B=2 * B)
    assert numpy.array_equal(S._sides["B"].dense.keep, 2 * B)  # the library reads them from now on


def test_threads_with_common_factors_in_any_order():
    solvers = [sptrsm.splu(general(N, seed=seed), threads=1) for seed in range(3)]
    items = [sptrsm.schur(F, sparse_columns(5), sparse_columns(4).T) for F in solvers]
    wanted, right = [one.solve() for one in items], []

    def work(k):
        order = [(i * (1 if k % 2 else -1) + k) % 3 for i in range(3)]
        for _ in range(30):
            S = sptrsm.schur_many([items[i] for i in order])
            good = all(numpy.array_equal(S[j], wanted[i]) for j, i in enumerate(order))
            right.append(good and numpy.array_equal(items[k % 3].solve(), wanted[k % 3]))

    in_threads(*(lambda k=k: work(k) for k in range(8)))
    assert right == [True] * 240
