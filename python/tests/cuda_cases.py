"""What the tests on a device share: a system with its solution, the packages of arrays, and work that makes a stream late."""
import numpy
import pytest
import scipy.sparse

import sptrsm

needs_device = pytest.mark.skipif(sptrsm.device_count() == 0, reason="needs a CUDA device and libsptrsm with CUDA")

N, NRHS = 900, 5
A = scipy.sparse.csc_matrix(scipy.sparse.diags([-1.0, 4.0, -1.0], [-30, 0, 1], shape=(N, N)))
LOWER = scipy.sparse.csr_matrix(scipy.sparse.tril(A))
B = numpy.random.default_rng(0).standard_normal((N, NRHS))
X = sptrsm.splu(A).solve(B)


@pytest.fixture(scope="module")
def factors():
    return sptrsm.splu(A, device="cuda")


@pytest.fixture(scope="module")
def cupy():
    return pytest.importorskip("cupy")


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


def close(x, expected=X) -> bool:
    x = x.get() if hasattr(x, "get") else x.cpu().numpy() if hasattr(x, "cpu") else numpy.asarray(x)
    return x.shape == expected.shape and bool(numpy.abs(x - expected).max() < 1e-12)


def jax_on_a_device():
    jax = pytest.importorskip("jax")
    if not any(device.platform in ("gpu", "cuda") for device in jax.devices()):
        pytest.skip("JAX sees no device")
    jax.config.update("jax_enable_x64", True)
    return jax


def busy(cupy):
    """Work that keeps the current stream from what is queued behind it."""
    for _ in range(10):
        cupy.ones((3000, 3000)) @ cupy.ones((3000, 3000))
