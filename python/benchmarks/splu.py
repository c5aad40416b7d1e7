"""sptrsm.splu(A).solve(B) beside scipy.sparse.linalg.splu(A).solve(B): whole calls with NumPy arrays, factorisation not counted.

    python/benchmarks/splu.py MATRIX ... [--nrhs 1,64] [--threads 2] [--at-least X]

A MATRIX is a Matrix Market file, also compressed, or an HDF5 file with /A as SciPy's csc_matrix. Of the orderings MMD_AT_PLUS_A and COLAMD
the one with the smaller factors is taken, for both packages. The two solve in turns, and the best turns of both are compared. `error` is
the larger of both residuals, |A X - B| / (|A| |X| + |B|) in maximum norms. Exit code 1 where a ratio is below --at-least.
"""
import argparse
import sys
import time
from pathlib import Path

import numpy as np
import scipy
import scipy.io
import scipy.sparse as sparse
import scipy.sparse.linalg as linalg

import sptrsm


def read(path: Path) -> sparse.csc_array:
    if path.suffix != ".h5":
        return sparse.csc_array(scipy.io.mmread(path))
    import h5py
    with h5py.File(path) as file:
        parts = (file["A"][part][:] for part in ("data", "indices", "indptr"))
        return sparse.csc_array(tuple(parts), shape=tuple(file["A"].attrs["shape"]))


def factors(A, threads: int):
    """SciPy's factors with the better ordering, the package's with the same one, and its name."""
    found = {order: linalg.splu(A, permc_spec=order) for order in ("MMD_AT_PLUS_A", "COLAMD")}
    order = min(found, key=lambda name: found[name].L.nnz + found[name].U.nnz)
    return found[order], sptrsm.splu(A, permc_spec=order, threads=threads), order


def shortest(turns: int, *calls) -> list:
    """Seconds of each call in its best turn; the calls take turns."""
    best = [float("inf")] * len(calls)
    for _ in range(turns):
        for k, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def error_of(A, X, B) -> float:
    return abs(A @ X - B).max() / (abs(A).max() * abs(X).max() + abs(B).max())


def compare(path: Path, arguments) -> float:
    """Prints a line for each number of right-hand sides and each order of B; returns the lowest ratio."""
    A = read(path)
    theirs, ours, order = factors(A, arguments.threads)
    name, n, lowest = path.name.partition(".")[0].replace("_splu", ""), A.shape[0], float("inf")
    for nrhs in arguments.nrhs:
        for layout in "CF" if nrhs > 1 else "C":
            B = np.asarray(np.random.default_rng(1).standard_normal((n, nrhs)), order=layout)
            turns = arguments.turns * (10 if nrhs == 1 else 1)
            their_time, our_time = shortest(turns, lambda: theirs.solve(B), lambda: ours.solve(B))
            error = max(error_of(A, F.solve(B), B) for F in (theirs, ours))
            lowest = min(lowest, their_time / our_time)
            print(f"{name:16s} {order:13s} {n:7d} {ours.nnz:8d} {nrhs:5d} {layout:5s} {their_time * 1e3:9.3f} {our_time * 1e3:9.3f} "
                  f"{their_time / our_time:7.1f}x {error:9.1e}", flush=True)
    return lowest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="+", metavar="MATRIX", type=Path)
    parser.add_argument("--nrhs", type=lambda text: [int(part) for part in text.split(",")], default=[1, 64])
    parser.add_argument("--threads", type=int, default=2, help="of sptrsm; SciPy's solve uses one")
    parser.add_argument("--turns", type=int, default=21, help="ten times as many for one right-hand side")
    parser.add_argument("--at-least", type=float, default=0, metavar="X", help="fail below this ratio")
    arguments = parser.parse_args()
    print(f"SciPy {scipy.__version__} and sptrsm {sptrsm.__version__}, {arguments.threads} threads, best of {arguments.turns} turns in ms")
    print(f"{'matrix':16s} {'ordering':13s} {'n':>7s} {'nnz L+U':>8s} {'nrhs':>5s} {'order':5s} {'SciPy':>9s} {'sptrsm':>9s} "
          f"{'faster':>8s} {'error':>9s}")
    lowest = min(compare(path, arguments) for path in arguments.matrices)
    if not lowest >= arguments.at_least:
        print(f"lowest ratio {lowest:.2f} is below {arguments.at_least:g}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
