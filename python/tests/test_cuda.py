"""Arrays of CuPy, torch and JAX on a device: solved in place on the caller's stream, or refused with the way out."""
import os
import pickle
import threading

import numpy
import pytest
import scipy.sparse
import scipy.sparse.linalg

import sptrsm
from cuda_cases import A, B, LOWER, N, NRHS, X, busy, close, cupy, factors, jax_on_a_device, needs_device, torch  # noqa: F401 (fixtures)

pytestmark = needs_device


def test_arrays_of_the_host(factors):
    assert close(factors.solve(B)) and close(factors.solve(B, rows=[3, 7]), X[[3, 7]])


@pytest.mark.parametrize("order", "CF")
def test_cupy(factors, cupy, order):
    x = factors.solve(cupy.asarray(B, order=order))
    assert isinstance(x, cupy.ndarray) and x.flags.c_contiguous == (order == "C") and close(x)


def test_cupy_vectors_and_views(factors, cupy):
    wide = cupy.zeros((N, 12))
    wide[:, 3:8] = cupy.asarray(B)
    assert close(factors.solve(cupy.asarray(B[:, 0])), X[:, 0])
    assert close(factors.solve(wide[:, 3:8]))
    assert close(factors.solve(cupy.repeat(cupy.asarray(B), 2, axis=1)[:, ::2]))
    out = cupy.zeros((N, NRHS))
    assert factors.solve(cupy.asarray(B), out=out) is out and close(out)


def solve_often(solver, b):
    """Each B is made on the current stream just before it is solved, so a solve on another stream would read too early."""
    for _ in range(50):
        x = solver.solve(b * 1.0)
    return x


def test_cupy_streams_that_end(factors, cupy):
    for _ in range(3):
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = solve_often(factors, cupy.asarray(B))
        stream.synchronize()
        del stream
        assert close(x)
    assert close(factors.solve(cupy.asarray(B)))


def test_stream_argument(factors, cupy):
    stream = cupy.cuda.Stream(non_blocking=True)
    b = cupy.asarray(B)
    cupy.cuda.Device().synchronize()
    for given in (stream, stream.ptr):
        x = factors.solve(b, stream=given)
        stream.synchronize()
        assert close(x)
    factors.solve(b)


def test_copies_of_b_are_made_on_the_given_stream(factors, cupy):
    """A copy of B that was made on the current stream, which is busy here, would be read before it is there."""
    wide = cupy.asarray(numpy.repeat(B, 2, axis=1))
    cupy.cuda.Device().synchronize()
    stream, results = cupy.cuda.Stream(non_blocking=True), []
    for _ in range(20):
        busy = cupy.ones((1500, 1500)) @ cupy.ones((1500, 1500))
        results.append(factors.solve(wide[:, ::2], stream=stream))
        del busy
    stream.synchronize()
    assert all(map(close, results))


def test_cupys_own_factors(cupy):
    linalg = pytest.importorskip("cupyx.scipy.sparse.linalg")
    F = sptrsm.from_splu(linalg.SuperLU(scipy.sparse.linalg.splu(A)))
    assert F.device == "cuda:0" and close(F.solve(cupy.asarray(B)))


def test_few_rows_of_cupy(factors, cupy):
    assert close(factors.solve(cupy.asarray(B), rows=[7, 3]), X[[7, 3]])


def test_threads_with_streams_of_their_own(factors, cupy):
    right = []

    def work():
        stream = cupy.cuda.Stream(non_blocking=True)
        with stream:
            x = solve_often(factors, cupy.asarray(B))
        stream.synchronize()
        right.append(close(x))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 4


def test_pickles_and_copies_know_their_device(factors):
    on_device, on_host, from_host = pickle.loads(pickle.dumps(factors)), factors.to("cpu"), sptrsm.splu(A).to("cuda")
    for solver, device in ((on_device, "cuda:0"), (on_host, "cpu"), (from_host, "cuda:0")):
        assert solver.device == device and close(solver.solve(B))


def test_files_of_factors_on_a_device(factors, tmp_path):
    pytest.importorskip("h5py")
    sptrsm.save(factors, tmp_path / "f.h5")
    assert close(sptrsm.load(tmp_path / "f.h5", device="cuda").solve(B))


@pytest.mark.skipif(sptrsm.device_count() < 2, reason="needs two CUDA devices")
def test_the_second_device(factors, cupy):
    F = sptrsm.splu(A, device="cuda:1")
    with cupy.cuda.Device(1):
        b = cupy.asarray(B)
    for _ in range(10):  # device 0 is the current one
        x = F.solve(b)
    assert x.device.id == 1 and close(x)
    with pytest.raises(ValueError, match="device=.cuda:1"):
        factors.solve(b)


def test_torch(factors, torch):
    b = torch.from_numpy(B).cuda()
    x = factors.solve(b)
    assert x.is_cuda and close(x) and close(factors.solve(b.t().contiguous().t()))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x = solve_often(factors, b)
    stream.synchronize()
    assert close(x)


def test_jax(factors):
    jax = jax_on_a_device()
    x = factors.solve(jax.device_put(B))
    assert isinstance(x, jax.Array) and close(x)


def test_what_does_not_fit(factors, torch):
    b = torch.from_numpy(B).cuda()
    with pytest.raises(ValueError, match="device="):
        sptrsm.splu(A).solve(b)
    with pytest.raises(TypeError, match="float32"):
        factors.solve(b.float())
    with pytest.raises(TypeError, match="sptrsm.torch"):
        factors.solve(b.requires_grad_())


def test_matrices_of_cupy_and_new_values(cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    b, expected = cupy.asarray(B), sptrsm.triangular(LOWER).solve(B)
    T = sptrsm.triangular(sparse.csr_matrix(LOWER), device="cuda")
    assert close(T.solve(b), expected)
    T.update_values(2 * T.data)
    assert close(2 * T.solve(b), expected)
    for scale, values in ((3, 3 * sparse.csr_matrix(LOWER)), (4, 4 * LOWER)):
        T.update_values(values)
        assert close(scale * T.solve(b), expected)
    with pytest.raises(TypeError, match="float32"):
        T.update_values(sparse.csr_matrix(LOWER).astype("float32"))
    with pytest.raises(ValueError, match="another pattern"):
        T.update_values(sparse.csr_matrix(LOWER.T.tocsr()))


def test_gradients(torch):
    import sptrsm.torch
    gradients = []
    for device in ("cpu", "cuda"):
        T = sptrsm.triangular(LOWER, device=device)
        b = torch.tensor(B, device=device, requires_grad=True)
        values = torch.tensor(LOWER.data, device=device, requires_grad=True)
        sptrsm.torch.solve(T, b, values=values).square().sum().backward()
        gradients.append((b.grad.cpu().numpy(), values.grad.cpu().numpy()))
    for host, device in zip(*gradients):
        numpy.testing.assert_allclose(device, host, rtol=1e-12, atol=1e-12)


COUNT = 5


@pytest.fixture(scope="module", params=["uniform", "mixed"])
def batch(request):
    """Items with the matrices (i + 1) A, in which U differs."""
    F = sptrsm.splu(A)
    sets = [dict(L=F.L, U=(i + 1) * F.U, unit_L=True, perm_r=F.perm_r, perm_c=F.perm_c) for i in range(COUNT)]
    return sptrsm.batch(sets, uniform=request.param == "uniform", device="cuda")


ITEMS = numpy.array([(i + 1) * B for i in range(COUNT)])  # each item has the solution X
SOLVED = numpy.array([X] * COUNT)


def test_batches_of_arrays_of_the_host(batch):
    assert batch.device == "cuda:0" and close(batch.solve(ITEMS), SOLVED)
    assert all(close(x) for x in batch.solve(list(ITEMS)))
    out = numpy.full(ITEMS.shape, 7.0)
    batch.solve(ITEMS, mask=[True, False, True, True, False], out=out)
    assert close(out[[0, 2, 3]], SOLVED[:3]) and (out[[1, 4]] == 7).all()


def test_batches_of_cupy(batch, cupy):
    b = cupy.asarray(ITEMS)
    x = batch.solve(b)
    assert isinstance(x, cupy.ndarray) and close(x, SOLVED)
    assert close(batch.solve(b.swapaxes(1, 2).copy().swapaxes(1, 2)), SOLVED)
    assert close(batch.solve(cupy.asarray(B)[None])[1], X / 2)
    assert all(close(x) for x in batch.solve([b[0], cupy.asfortranarray(b[1]), *b[2:]]))
    assert batch.solve(b, out=b) is b and close(b, SOLVED)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = solve_often(batch, cupy.asarray(ITEMS))
    stream.synchronize()
    assert close(x, SOLVED)


def test_masks_of_batches_in_device_memory(batch, cupy):
    mask = cupy.asarray([True, False, True, True, False])
    for given in (mask, mask.get()):
        x = batch.solve(cupy.asarray(ITEMS), mask=given).get()
        assert close(x[[0, 2, 3]], SOLVED[:3]) and numpy.isnan(x[[1, 4]]).all()
    with pytest.raises(ValueError, match="5 booleans"):
        batch.solve(cupy.asarray(ITEMS), mask=mask[1:])


def test_errors_of_batches(batch, cupy):
    """The last item has a wrong matrix; berr is on the host or on the device, as X is."""
    batch.set_original([(i + 1) * A for i in range(COUNT - 1)] + [A])
    host, device = numpy.ones(COUNT), cupy.ones(COUNT)
    batch.solve(ITEMS, berr=host)
    batch.solve(cupy.asarray(ITEMS), berr=device)
    for berr in (host, device.get()):
        assert berr[:-1].max() <= 1e-14 and 1e-3 < berr[-1] <= 1
    device[2] = 7
    batch.solve(cupy.asarray(ITEMS), mask=cupy.arange(COUNT) != 2, berr=device)
    assert device[2] == 7
    for b, berr, place in ((ITEMS, device, "cuda:0"), (cupy.asarray(ITEMS), host, "cpu")):
        with pytest.raises(ValueError, match=f"berr is on {place} and X is not"):
            batch.solve(b, berr=berr)


def test_a_mask_is_waited_for_by_the_stream_of_the_solve(batch, cupy):
    """It is late on the current stream of its package, on which nothing of the solve runs."""
    making, stream = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))
    b = cupy.asarray(ITEMS)
    for B, how in ((ITEMS, {}), (b, {"stream": stream}), (list(b), {"stream": stream})):
        batch.solve(B, mask=cupy.ones(COUNT, bool), **how)  # the first launch of a kernel waits for the whole device
        busy(cupy)
        cupy.cuda.Device().synchronize()
        with making:
            mask = cupy.zeros(COUNT, bool)
            busy(cupy)
            mask[...] = True
            x = batch.solve(B, mask=mask, **how)
        stream.synchronize()
        assert all(close(one, X) for one in x)
        making.synchronize()


def test_batches_of_torch(batch, torch):
    b = torch.from_numpy(ITEMS).cuda()
    x = batch.solve(b)
    assert x.is_cuda and close(x, SOLVED) and close(batch.solve(b.transpose(1, 2).contiguous().transpose(1, 2)), SOLVED)
    assert torch.isnan(batch.solve(b, mask=torch.arange(COUNT).cuda() < 2)[2:]).all()


def test_new_values_of_a_batch_in_device_memory(cupy):
    sparse = pytest.importorskip("cupyx.scipy.sparse")
    P = sptrsm.batch(dict(L=sparse.csr_matrix(LOWER)), L=cupy.asarray(numpy.array([LOWER.data] * COUNT)))
    expected = numpy.array([sptrsm.triangular(LOWER).solve(B)] * COUNT)
    assert P.device == "cuda:0" and close(P.solve(cupy.asarray(B)[None], system="L"), expected)
    broken = cupy.asarray(LOWER.data)
    broken[LOWER.indptr[8] - 1] = 0
    P.update_values(L=broken, items=3)
    assert not P.status.ok[3] and P.status.row[3] == 7 and P.status.ok.sum() == COUNT - 1
    with pytest.raises(sptrsm.SingularError, match="item 3"):
        P.solve(cupy.asarray(B)[None], system="L")
    x = P.solve(cupy.asarray(B)[None], system="L", singular="ignore").get()
    assert numpy.isnan(x[3]).all() and close(numpy.delete(x, 3, 0), expected[1:])
    P.update_values(L=2 * cupy.asarray(LOWER.data))
    assert P.status.ok.all() and close(2 * P.solve(cupy.asarray(B)[None], system="L"), expected)


def test_refinement(factors, cupy):
    b = cupy.asarray(B)
    assert factors.refine(b, factors.solve(b)).berr.max() < 1e-15


def test_a_fork_is_refused(factors):
    factors.solve(B)
    child = os.fork()
    if child == 0:
        try:
            factors.solve(B)
        except sptrsm.DeviceError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
