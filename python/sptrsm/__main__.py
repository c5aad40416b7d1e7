"""python -m sptrsm --self-test: version, library and devices, and a solve whose residual is printed. Exit code 1 if it is not small."""
from __future__ import annotations

import argparse
import sys

import numpy

from . import _lib
from ._context import as_device, device_count
from ._options import Options
from ._sparse import Matrix
from ._triangular import Triangular


def bidiagonal(n: int) -> Matrix:
    """The lower triangle with 2 on the diagonal and -1 below it."""
    indptr = numpy.maximum(2 * numpy.arange(n + 1) - 1, 0)
    indices = numpy.concatenate([[0], numpy.repeat(numpy.arange(1, n), 2) - numpy.tile([1, 0], n - 1)]).astype(numpy.int32)
    data = numpy.concatenate([[2.0], numpy.tile([-1.0, 2.0], n - 1)])
    return Matrix("csr", n, indptr.astype(numpy.int64), indices, data)


def residual(device: str, n: int = 1000, nrhs: int = 8) -> float:
    """Largest entry of B - T X over the largest entry of B, after a solve on `device`."""
    B = numpy.linspace(-1.0, 1.0, n * nrhs).reshape(n, nrhs)
    with Triangular(bidiagonal(n), True, False, as_device(device), Options(nrhs=nrhs)) as T:
        X = T.solve(B)
    product = 2 * X
    product[1:] -= X[:-1]
    return float(abs(B - product).max() / abs(B).max())


def self_test() -> bool:
    print(f"sptrsm {_lib.version}, library {_lib.path}, CUDA devices: {device_count()}")
    good = True
    for device in ["cpu"] + [f"cuda:{index}" for index in range(device_count())]:
        found = residual(device)
        good = found <= 1e-14 and good
        print(f"{device}: residual {found:.1e}")
    print("passed" if good else "FAILED")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m sptrsm", description=__doc__)
    parser.add_argument("--self-test", action="store_true", required=True, help="solve on every device and look at the residual")
    parser.parse_args()
    return 0 if self_test() else 1


if __name__ == "__main__":
    sys.exit(main())
