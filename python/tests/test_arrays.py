"""Arrays in and out: layouts that are read in place, those that are copied, and those that are refused."""
import numpy
import pytest
from conftest import Foreign, close, general, random, triangle

import sptrsm
from sptrsm import _arrays

N = 24


@pytest.fixture
def T():
    return sptrsm.triangular(triangle(N))


def layouts():
    wide = random((N + 3, 12), "float64")
    yield "C", wide[:N, :5].copy(), True
    yield "F", numpy.asfortranarray(wide[:N, :5]), True
    yield "rows with a leading dimension", wide[:N, 2:7], True
    yield "columns with a leading dimension", numpy.asfortranarray(wide)[1:N + 1, 2:7], True
    yield "every second row", random((2 * N, 5), "float64")[::2], True
    yield "one column of a matrix", wide[:N, 3:4], True
    yield "strided vector", wide[:N, 3], True
    yield "vector", wide[:N, 3].copy(), True
    yield "backwards", wide[:N][::-1, :5], False
    yield "every second column", wide[:N, ::2], False
    yield "broadcast", numpy.broadcast_to(wide[:N, :1], (N, 4)), False
    yield "vector of one number", numpy.broadcast_to(numpy.float64(2), (N,)), False
    yield "swapped bytes", wide[:N, :5].astype(">f8"), False
    yield "unaligned", numpy.frombuffer(b"x" + wide[:N, :5].tobytes(), numpy.float64, offset=1).reshape(N, 5), False


@pytest.mark.parametrize("B,in_place", [pytest.param(B, in_place, id=name) for name, B, in_place in layouts()])
def test_layouts(T, B, in_place):
    B.flags.writeable = False
    before = B.copy()
    X = T.solve(B)
    assert X.flags.writeable and close(triangle(N) @ X, B, "float64") and (B == before).all()
    if B.dtype == numpy.float64:
        block = _arrays.numpy_block(B, 1)
        assert (block is not None) == in_place
        if in_place:
            assert block.data == B.__array_interface__["data"][0]


@pytest.mark.parametrize("order", "CF")
def test_out(T, order):
    B = numpy.array(random((N, 5), "float64"), order=order)
    expected, out = T.solve(B), numpy.full((N, 5), numpy.nan, order=order)
    assert T.solve(B, out=out) is out and (out == expected).all() and expected.flags.f_contiguous == (order == "F")
    window = numpy.full((N, 9), -1.0)
    T.solve(B, out=window[:, 2:7])
    assert close(window[:, 2:7], expected, "float64") and (window[:, :2] == -1).all() and (window[:, 7:] == -1).all()
    assert T.solve(B, out=B) is B and (B == expected).all()


def test_out_that_can_not_be_used(T):
    B = random((N, 5), "float64")
    frozen = numpy.empty((N, 5))
    frozen.flags.writeable = False
    for out, error, message in ((frozen, ValueError, "read-only"), (numpy.empty((N, 4)), ValueError, "shape"),
                                (numpy.empty((N, 5), "float32"), TypeError, "float64"),
                                (numpy.empty((N, 10))[:, ::2], ValueError, "strides"),
                                ([1.0] * N, TypeError, "kind")):
        with pytest.raises(error, match=message):
            T.solve(B, out=out)
    overlapping = numpy.zeros((N + 1, 5))
    with pytest.raises(sptrsm.ArgumentError, match="overlaps"):
        T.solve(overlapping[:N], out=overlapping[1:])


def test_other_numbers(T):
    expected = T.solve(numpy.arange(N, dtype=float))
    for b in (list(range(N)), numpy.arange(N), numpy.arange(N, dtype="float32"), numpy.arange(N, dtype="uint8")):
        assert (T.solve(b) == expected).all()
    assert (T.solve(numpy.ones(N, bool)) == T.solve(numpy.ones(N))).all()


@pytest.mark.parametrize("B,error,message", [
    (numpy.ones(N, complex), TypeError, "complex128"), (numpy.ones(N, numpy.longdouble), TypeError, "astype"),
    (numpy.ones(N, object), TypeError, "object"), (numpy.array(["a"] * N), TypeError, "astype"),
    (numpy.float64(3), ValueError, "dimensions"),
    (3, ValueError, "dimensions"), (numpy.ones((N, 2, 2)), ValueError, "3 dimensions"), (numpy.ones(N + 1), ValueError, f"{N + 1} rows"),
    (numpy.ones((3, N)), ValueError, "transposed"), (triangle(N), TypeError, "toarray"), (numpy.ma.ones(N), TypeError, "filled"),
    (None, TypeError, "B is None; pass an array"), ("text", TypeError, "dtype")])
def test_refused(T, B, error, message):
    with pytest.raises(error, match=message):
        T.solve(B)


def test_jax(T):
    jax = pytest.importorskip("jax")
    B = jax.device_put(numpy.ones((N, 3), "float32"), jax.devices("cpu")[0])  # JAX may prefer a device
    S = sptrsm.triangular(triangle(N, "float32"))
    X = S.solve(B)
    assert isinstance(X, jax.Array) and close(X, S.solve(numpy.ones((N, 3), "float32")), "float32")
    with pytest.raises(TypeError, match="float32"):
        T.solve(B)
    with pytest.raises(TypeError, match="JAX"):
        S.solve(B, out=B)


def test_torch(T):
    torch = pytest.importorskip("torch")
    B = torch.ones((N, 3), dtype=torch.float64)
    for given in (B, B.T.contiguous().T, B[:, ::2], torch.ones(N, dtype=torch.float64)):
        X = T.solve(given)
        assert isinstance(X, torch.Tensor) and close(X.numpy(), T.solve(given.numpy()), "float64")
    out = torch.empty_like(B)
    assert T.solve(B, out=out) is out and close(out.numpy(), T.solve(B.numpy()), "float64")
    with pytest.raises(TypeError, match="detach"):
        T.solve(B.requires_grad_())


def test_dlpack_of_any_package(T):
    B = random((N, 5), "float64")
    assert (T.solve(Foreign(B)) == T.solve(B)).all() and (T.solve(Foreign(B[:, 1:3])) == T.solve(B[:, 1:3])).all()
    with pytest.raises(TypeError, match="kind 8"):
        T.solve(Foreign(B, kind=8))
    with pytest.raises(ValueError, match="cuda:0"):
        T.solve(Foreign(B, kind=2))
    with pytest.raises(TypeError, match="int64"):
        T.solve(Foreign(numpy.ones(N, numpy.int64)))
    with pytest.raises(TypeError, match="contiguous"):
        T.solve(Foreign(B[:, ::2]))


class Asked(Foreign):
    """An array that says that it is in device memory, and notes the stream on which it is to be read."""

    stream = None

    def __dlpack__(self, stream=None):
        self.stream = stream
        return super().__dlpack__()


def test_a_mask_on_a_device_is_read_on_the_stream_of_the_solve(monkeypatch):
    from sptrsm import _batch

    P, B = sptrsm.batch([dict(L=triangle(N))] * 3), random((3, N), "float64")
    monkeypatch.setattr(_batch, "current_stream", lambda array: 99 if isinstance(array, Asked) else 98)
    for blocks, how, stream in ((B, {}, 98), (list(B), {}, 98), (B, {"stream": 7}, 7)):
        mask = Asked(numpy.ones(3, numpy.uint8), kind=2)
        with pytest.raises(ValueError, match="mask is on cuda:0 and the solver on cpu"):
            P.solve(blocks, system="L", mask=mask, **how)
        assert mask.stream == stream


def test_a_schur_complement_on_the_host_takes_no_arrays_of_a_device():
    F = sptrsm.splu(general(N))
    for B, C, how in ((Asked(random((N, 2), "float64"), kind=2), random((2, N), "float64"), {}),
                      (random((N, 2), "float64"), Asked(random((2, N), "float64"), kind=2), {"stream": 7})):
        with pytest.raises(ValueError, match="[BC] is on cuda:0 and the solver on cpu"):
            F.schur(B, C, **how)
    with pytest.raises(TypeError, match="stream is str"):
        F.schur(random((N, 2), "float64"), random((2, N), "float64"), stream="7")
    with pytest.raises(ValueError, match="out is on cuda:0 and the solver on cpu"):
        F.schur(random((N, 2), "float64"), random((2, N), "float64"), out=Asked(numpy.zeros((2, 2)), kind=2))
    assert sptrsm.schur(F, random((N, 2), "float64"), random((2, N), "float64")).solve(stream=7).shape == (2, 2)


class NotReturnable(Foreign):
    """An array whose package has no way to make another one."""

    __array_namespace__ = property()


@pytest.mark.parametrize("make", (lambda: sptrsm.triangular(triangle(N)), lambda: sptrsm.splu(general(N))), ids=("T", "F"))
def test_a_result_that_could_not_be_returned_is_refused_before_the_solve(make, monkeypatch):
    solver, B = make(), random((N, 5), "float64")
    runs, run = [], solver._run
    monkeypatch.setattr(solver, "_run", lambda *arguments: runs.append(1) or run(*arguments))
    with pytest.raises(TypeError, match="from_dlpack.*pass out="):
        solver.solve(NotReturnable(B))
    assert not runs
    out = numpy.zeros_like(B)
    target = NotReturnable(out)
    assert solver.solve(NotReturnable(B), out=target) is target and (out == solver.solve(B)).all()


def test_subclasses_of_tensors(T):
    torch = pytest.importorskip("torch")

    class Mine(torch.Tensor):
        pass

    B = torch.ones((N, 3), dtype=torch.float64)
    X = T.solve(B.as_subclass(Mine))
    assert isinstance(X, torch.Tensor) and (X == T.solve(B)).all()
    assert (T.solve(torch.nn.Parameter(B, requires_grad=False)) == X).all()


@pytest.mark.parametrize("bits,dtype", ((53, "float64"), (53, "complex128"), (24, "float32"), (24, "complex64")))
def test_integers_keep_their_digits(bits, dtype):
    T = sptrsm.triangular(triangle(N, dtype))
    kept = numpy.full(N, 2**bits)
    assert (T.solve(kept) == T.solve(kept.astype(dtype))).all()
    for lost in (kept + 1, -kept - 1, (kept + 1).astype("uint64"), (kept + 1).tolist()):
        with pytest.raises(TypeError, match=rf"integer {2**bits + 1}, .* 2\*\*{bits} .*astype"):
            T.solve(lost)


def test_a_type_that_no_solver_has_is_not_proposed(T):
    with pytest.raises(TypeError, match="precision will do$"):
        T.solve(numpy.ones(N, numpy.longdouble))


def test_no_memory_beyond_the_result(T):
    import tracemalloc

    S = sptrsm.triangular(triangle(N))
    B = random((N, 4000), "float64")
    S.solve(B)
    tracemalloc.start()
    S.solve(B)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= B.nbytes + 20_000
