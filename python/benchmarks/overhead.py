"""What Python adds to a solve: F.solve(b) beside the C call on the same factors and the same arrays, n = 100, one right-hand side.

    python/benchmarks/overhead.py [--at-most MICROSECONDS]

Both run in turns, many calls each, and the shortest turn counts, so a busy machine changes little. Also printed: the most memory that a
solve with 64 right-hand sides has allocated from Python and NumPy at any time beside X. Exit code 1 where the difference is above
--at-most microseconds or the memory above four kilobytes.
"""
import argparse
import sys
import time
import tracemalloc

import numpy as np
import scipy.sparse as sparse

import sptrsm
from sptrsm._arrays import numpy_block
from sptrsm._lib import OPERATIONS, lib


def system(n: int):
    """A diagonally dominant matrix with five entries a row, factorised."""
    A = sparse.random_array((n, n), density=min(1.0, 4 / n), format="csc", rng=np.random.default_rng(1)) + 5 * sparse.eye_array(n)
    return sptrsm.splu(A.tocsc(), threads=1)


def seconds_of(call, calls: int = 50) -> float:
    """Mean seconds of a call."""
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls


def c_call(F, b):
    """A function that makes the C call of F.solve(b) alone, with blocks made beforehand."""
    X = np.empty_like(b)
    blocks = [numpy_block(array, F._code) for array in (b, X)]
    solve, handle = lib.sptrsm_direct_solve, F._handle
    return lambda: solve(handle, 0, OPERATIONS["N"], None, *blocks)


def most_allocated(F, B) -> float:
    """The most bytes that F.solve(B) has allocated at any time, over those of X."""
    F.solve(B)  # allocates what the solver keeps
    tracemalloc.start()
    X = F.solve(B)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most - X.nbytes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at-most", type=float, default=15, metavar="MICROSECONDS")
    arguments = parser.parse_args()
    F = system(100)
    b = np.ones(100)
    call = c_call(F, b)
    best = [float("inf")] * 2
    for _ in range(1000):
        best = [min(least, seconds_of(run)) for least, run in zip(best, (lambda: F.solve(b), call))]
    added = (best[0] - best[1]) * 1e6
    print(f"n = 100, one right-hand side: F.solve(b) {best[0] * 1e6:.1f} us, C call {best[1] * 1e6:.1f} us, difference {added:.1f} us")
    large, bad = system(2000), not added <= arguments.at_most
    for name, B in (("C order", np.ones((2000, 64))), ("F order", np.ones((2000, 64), order="F"))):
        beyond = most_allocated(large, B)
        print(f"n = 2000, 64 right-hand sides in {name}: {beyond} bytes allocated beside X of {B.nbytes}")
        bad |= not beyond <= 4096
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
