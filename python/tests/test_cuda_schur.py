"""Schur complements of arrays of CuPy, torch and JAX on a device: read and written in place on the caller's stream, or refused."""
import numpy
import pytest
import scipy.sparse

import sptrsm
from cuda_cases import A, LOWER, N, busy, close, cupy, factors, jax_on_a_device, needs_device, torch  # noqa: F401 (fixtures)

pytestmark = needs_device

COLUMNS = scipy.sparse.csc_matrix(scipy.sparse.random(N, 100, 0.02, random_state=0))
ROWS = numpy.random.default_rng(1).standard_normal((7, N))
S = sptrsm.splu(A).schur(COLUMNS, ROWS)


@pytest.fixture(scope="module")
def eliminating(factors):
    """The factors, where cuBLAS is found (include/sptrsm_schur.h)."""
    try:
        factors.schur(COLUMNS, ROWS)
    except sptrsm.UnsupportedError as error:
        pytest.skip(str(error))
    return factors


def test_schur_complements_of_arrays_of_the_host(eliminating):
    kept, host = sptrsm.schur(eliminating, COLUMNS, ROWS), sptrsm.schur(sptrsm.splu(A), COLUMNS, ROWS)
    for s in (kept.solve(), eliminating.schur(COLUMNS.toarray(), ROWS), *sptrsm.schur_many([kept, host, kept])):
        assert isinstance(s, numpy.ndarray) and close(s, S)


def test_schur_complements_of_cupy(eliminating, cupy):
    dense, rows = cupy.asarray(COLUMNS.toarray()), cupy.asarray(ROWS)
    wide = cupy.repeat(dense, 2, axis=1)
    for B in (dense, cupy.asfortranarray(dense), wide[:, ::2], COLUMNS, dense.get()):
        for C in (rows, cupy.asfortranarray(rows), cupy.repeat(rows, 2, axis=1)[:, ::2], ROWS, scipy.sparse.csr_matrix(ROWS)):
            s = eliminating.schur(B, C)
            assert isinstance(s, cupy.ndarray if cupy.ndarray in (type(B), type(C)) else numpy.ndarray) and close(s, S)
    for trans in "TH":
        assert close(eliminating.schur(dense, rows, trans), sptrsm.splu(A).schur(COLUMNS, ROWS, trans))
    for out in (cupy.zeros(S.shape), cupy.zeros(S.shape, order="F"), cupy.zeros((7, 300))[:, 50:150], numpy.zeros(S.shape)):
        for B in (dense, COLUMNS):
            out[...] = 7
            assert eliminating.schur(B, ROWS, out=out) is out and close(out, S)


def test_sparse_matrices_of_cupy_for_schur_complements(eliminating, cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    B, C = sparse.csr_matrix(COLUMNS), sparse.csr_matrix(scipy.sparse.csr_matrix(ROWS))
    s = eliminating.schur(B, C)
    assert isinstance(s, cupy.ndarray) and close(s, S) and close(eliminating.schur(COLUMNS, C), S)
    kept = sptrsm.schur(eliminating, B, ROWS)
    kept.update_values(B=2 * B)
    assert close(kept.solve(), 2 * S)
    kept.update_values(B=cupy.asarray(3 * COLUMNS.data))
    assert close(kept.solve(), 3 * S)
    with pytest.raises(ValueError, match="B is on cuda:0 and the solver on cpu"):
        sptrsm.splu(A).schur(B, ROWS)


def test_schur_complements_that_are_kept(eliminating, cupy):
    B, C = cupy.asarray(COLUMNS.toarray()), cupy.asarray(ROWS)
    kept = sptrsm.schur(eliminating, B, C)
    B[...] = 0  # the object has arrays of its own
    assert isinstance(kept.solve(), cupy.ndarray) and close(kept.solve(), S)
    kept.update_values(B=2 * cupy.asarray(COLUMNS.toarray(), order="F"), C=3 * ROWS)
    assert close(kept.solve(), 6 * S)
    eliminating.update_values(U=0.5 * eliminating.U.data)
    out = cupy.zeros(S.shape)
    assert kept.solve(out) is out and close(out, 12 * S)
    eliminating.update_values(U=2 * eliminating.U.data)
    many = sptrsm.schur_many([kept, sptrsm.schur(eliminating, COLUMNS, ROWS)], [cupy.zeros(S.shape), numpy.zeros(S.shape)])
    assert close(many[0], 6 * S) and close(many[1], S)


def test_symmetric_schur_complements(eliminating, cupy):
    for dtype, upper in (("float64", "transpose"), ("complex128", "transpose"), ("complex128", "conjugate-transpose")):
        L = LOWER.astype(dtype) * (1 + (0.5j if dtype == "complex128" else 0))
        F, host = (sptrsm.from_factors(L, upper=upper, device=device) for device in ("cuda", "cpu"))
        b = cupy.asarray(COLUMNS.toarray().astype(dtype))
        expected = host.schur(COLUMNS.astype(dtype))
        assert close(F.schur(b), expected) and close(F.schur(b, out=cupy.zeros(expected.shape, dtype, order="F")), expected)
        for lower, part, other in ((True, numpy.tril, numpy.triu), (False, numpy.triu, numpy.tril)):
            out = cupy.full(expected.shape, 7, dtype)
            F.schur(b, lower=lower, out=out)
            assert close(F.schur(b, lower=lower), part(expected)) and close(part(out.get()), part(expected))
            k = 1 if lower else -1
            assert (other(out.get(), k) == other(numpy.full(out.shape, 7), k)).all()


def test_schur_complements_on_streams(eliminating, cupy):
    """B and C are late on the current stream, so that work on another one which did not wait for them would read zeros."""
    ready = cupy.asarray(COLUMNS.toarray()), cupy.asarray(ROWS)
    cupy.cuda.Device().synchronize()
    for given in ("current", "argument"):
        making, stream = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
        results = []
        with making:
            for turn in range(4):
                B, C = map(cupy.zeros_like, ready)
                busy(cupy)
                B[...], C[...] = ready
                kept = sptrsm.schur(eliminating, B, C) if turn % 2 else None
                how = {} if given == "current" else {"stream": stream}
                results.append(kept.solve(**how) if kept else eliminating.schur(B, C, **how))
                assert eliminating._context.stream == (making if given == "current" else stream).ptr
        (making if given == "current" else stream).synchronize()
        assert all(close(s, S) for s in results)
        making.synchronize()


def test_many_schur_complements_on_the_streams_of_their_arrays(eliminating, cupy, torch):
    """The last array is on a stream that is late, so that what reads the first one on its stream would read what it held before."""
    kept, own, late = sptrsm.schur(eliminating, COLUMNS, ROWS), torch.cuda.Stream(), cupy.cuda.Stream(non_blocking=True)
    kept.solve(torch.zeros(S.shape, dtype=torch.float64, device="cuda"))
    busy(cupy)  # the first launch of a kernel waits for the whole device
    with late, torch.cuda.stream(own):
        out = torch.zeros(S.shape, dtype=torch.float64, device="cuda"), cupy.zeros(S.shape)
        cupy.cuda.Device().synchronize()
        busy(cupy)
        sptrsm.schur_many([kept, kept], out)
        copies = out[0].clone(), out[1].copy()
    own.synchronize()
    late.synchronize()
    assert all(close(one, S) for one in copies)


def test_a_schur_complement_is_made_and_solved_on_one_stream(eliminating, cupy, torch):
    making, own = cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()
    with making, torch.cuda.stream(own):
        ready = cupy.asarray(COLUMNS.toarray()), cupy.asarray(ROWS)
        B, C = map(cupy.zeros_like, ready)
        cupy.cuda.Device().synchronize()
        busy(cupy)
        B[...], C[...] = ready
        out = torch.zeros(S.shape, dtype=torch.float64, device="cuda")
        eliminating.schur(B, C, out=out)
        assert eliminating._context.stream == own.cuda_stream
        copy = out.clone()
        eliminating.schur(B, ROWS)
        assert eliminating._context.stream == making.ptr
        kept = sptrsm.schur(eliminating, torch.from_numpy(COLUMNS.toarray()), C)  # arrays of the host know nothing of streams
        assert eliminating._context.stream == making.ptr and close(kept.solve(), S)
    own.synchronize()
    assert close(copy, S)


def test_arrays_of_s_may_lie_side_by_side(eliminating, cupy):
    kept, wide = sptrsm.schur(eliminating, COLUMNS, ROWS), cupy.zeros((7, 200))
    sptrsm.schur_many([kept, kept], [wide[:, :100], wide[:, 100:]])
    assert close(wide[:, :100], S) and close(wide[:, 100:], S)
    with pytest.raises(ValueError, match=r"out\[1\] shares memory with out\[0\]"):
        sptrsm.schur_many([kept, kept], [wide[:, :100], wide[:, 99:199]])


def test_schur_complements_of_torch(eliminating, torch):
    B, C = torch.from_numpy(COLUMNS.toarray()).cuda(), torch.from_numpy(ROWS).cuda()
    for c in (C, C.t().contiguous().t(), ROWS, scipy.sparse.csr_matrix(ROWS)):
        s = eliminating.schur(B, c)
        assert isinstance(s, torch.Tensor) and s.is_cuda and close(s, S)
    assert eliminating.schur(COLUMNS, C).is_cuda and not eliminating.schur(COLUMNS, C.cpu()).is_cuda
    out = torch.zeros(S.shape, dtype=torch.float64, device="cuda")
    version = out._version
    assert eliminating.schur(B, C, out=out) is out and close(out, S) and out._version > version
    with pytest.raises(TypeError, match="float32"):
        eliminating.schur(B.float(), C)
    with pytest.raises(TypeError, match="sptrsm.torch"):
        eliminating.schur(B.clone().requires_grad_(), C)
    with pytest.raises(ValueError, match="shares memory"):
        eliminating.schur(B, C, out=B[:7])
    with pytest.raises(ValueError, match="pass one of the shape"):
        eliminating.schur(B, C, out=out.t())
    with pytest.raises(ValueError, match="B is on cuda:0 and the solver on cpu"):
        sptrsm.splu(A).schur(B, C)


def test_schur_complements_of_jax(eliminating):
    jax = jax_on_a_device()
    B, C = jax.device_put(COLUMNS.toarray()), jax.device_put(ROWS)
    s, kept = eliminating.schur(B, C), sptrsm.schur(eliminating, B, C)
    assert isinstance(s, jax.Array) and close(s, S) and s.devices() == B.devices()
    kept.update_values(C=2 * C)
    assert close(kept.solve(), 2 * S) and close(s, S)
    with pytest.raises(TypeError, match="JAX"):
        eliminating.schur(B, C, out=s)


def test_arrays_of_jax_are_read_before_a_call_returns(eliminating, cupy, monkeypatch):
    """JAX knows no streams, so it may give their memory to other arrays at once."""
    jax, waits = jax_on_a_device(), []
    B, C, sync = cupy.asarray(COLUMNS.toarray()), jax.device_put(ROWS), eliminating._context.sync
    monkeypatch.setattr(eliminating._context, "sync", lambda: waits.append(1) or sync(), raising=False)
    assert isinstance(eliminating.schur(B, C), cupy.ndarray) and waits
    waits.clear()
    assert close(eliminating.schur(B, ROWS), S) and not waits
