"""Repeated solves with one LU on a GPU: CuPy's SuperLU.solve beside sptrsm's (https://github.com/cupy/cupy/issues/8580).

    python python/benchmarks/cupy_superlu.py MATRIX ... [--nrhs 1,64] [--repeat 20]

A MATRIX is a file as for splu.py, or random:SIZE for the matrix of the issue, half of whose entries are random; there SIZE is 10000.
SciPy factorises; both packages then solve with the same factors and the same right-hand sides on the device, in turns. Times are medians
in milliseconds, from call to finished solution. Where torch is installed its profiler counts the copies between host and device that
our solves made. Exit code 1 where a solution differs from CuPy's, or where a solve copies.
"""
import argparse
import statistics
import sys
import time
from pathlib import Path

import cupy
import numpy
import scipy.sparse
import scipy.sparse.linalg
from cupyx.scipy.sparse.linalg import SuperLU
from splu import read  # beside this file

import sptrsm


def milliseconds(solve) -> float:
    start = time.perf_counter()
    solve()
    cupy.cuda.Device().synchronize()
    return 1e3 * (time.perf_counter() - start)


def copies_of(solve, repeat: int):
    """Copies between host and device in `repeat` solves, and all kernels and copies seen; None without torch."""
    try:
        from torch.profiler import ProfilerActivity, profile
    except ImportError:
        return None
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(repeat):
            solve()
        cupy.cuda.Device().synchronize()
    names = [event.name for event in record.events()]
    return sum("HtoD" in name or "DtoH" in name for name in names), len(names)


def factorise(matrix: str):
    kind, _, size = matrix.partition(":")
    if kind == "random":
        A = scipy.sparse.random(int(size), int(size), density=0.5, random_state=2)
    else:
        A = read(Path(matrix))
    return scipy.sparse.linalg.splu(scipy.sparse.csc_matrix(A).astype(float))


def measure(name: str, lu, nrhs: int, repeat: int) -> bool:
    theirs, ours = SuperLU(lu), sptrsm.from_splu(lu, device="cuda")
    shape = (lu.shape[0], nrhs) if nrhs > 1 else (lu.shape[0],)
    b = cupy.asarray(numpy.random.default_rng(1).standard_normal(shape))
    x, y = ours.solve(b), theirs.solve(b)
    difference = float(cupy.abs(x - y).max() / cupy.abs(y).max())
    ours.solve(b)
    times = [(milliseconds(lambda: theirs.solve(b)) if turn < max(3, repeat // 5) else None, milliseconds(lambda: ours.solve(b)))
             for turn in range(repeat)]
    cupy_ms = statistics.median(t for t, _ in times if t is not None)
    our_ms = statistics.median(t for _, t in times)
    copies = copies_of(lambda: ours.solve(b), 10)
    seen = "not counted" if copies is None else f"{copies[0]} (of {copies[1]} events in 10 solves)"
    print(f"{name:24} {nrhs:5} {cupy_ms:11.3f} {our_ms:11.4f} {cupy_ms / our_ms:8.1f}   {difference:9.1e}   {seen}", flush=True)
    return difference < 1e-6 and (copies is None or copies[0] == 0 and copies[1] > 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("matrices", nargs="+")
    parser.add_argument("--nrhs", default="1,64")
    parser.add_argument("--repeat", type=int, default=20)
    arguments = parser.parse_args()
    print(f"CuPy {cupy.__version__}, sptrsm {sptrsm.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}")
    print(f"{'matrix':24} {'nrhs':>5} {'CuPy ms':>11} {'sptrsm ms':>11} {'ratio':>8}   difference   copies between host and device")
    good = []
    for matrix in arguments.matrices:
        lu = factorise(matrix)
        good += [measure(matrix.rpartition("/")[2], lu, int(nrhs), arguments.repeat) for nrhs in arguments.nrhs.split(",")]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
