"""A batch beside loops: systems with one pattern and many values, solved by sptrsm.batch, one Factors each, and SciPy's SuperLU.

    python/benchmarks/batch.py [--count 1000] [--side 10,30] [--nrhs 1,16] [--turns 11]

The matrices are those of a grid of side x side points with different diagonals. Times are whole calls with NumPy arrays in ms, the least
of alternating turns. Prints also the largest difference from SciPy's solutions, relative to the largest entry.
"""
import argparse
import time

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.linalg import splu

import sptrsm


def scenarios(side: int, count: int) -> list:
    """SuperLU objects with one pattern: no pivot depends on values."""
    line, eye = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side)), sparse.eye_array(side)
    A = sparse.kron(line, eye) + sparse.kron(eye, line)
    return [splu((A + shift * sparse.eye_array(side * side)).tocsc(), diag_pivot_thresh=0) for shift in np.linspace(0, 1, count)]


def times(calls: dict, turns: int) -> dict:
    """{name: least time in ms}"""
    least = dict.fromkeys(calls, np.inf)
    for _ in range(turns):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            least[name] = min(least[name], 1e3 * (time.perf_counter() - start))
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--side", default="10,30")
    parser.add_argument("--nrhs", default="1,16")
    parser.add_argument("--turns", type=int, default=11)
    arguments = parser.parse_args()
    print("n, right-hand sides: ms of loop over SciPy, loop over Factors, mixed batch, uniform batch with lists, with arrays; difference")
    for side in map(int, arguments.side.split(",")):
        lus = scenarios(side, arguments.count)
        solvers = [sptrsm.from_splu(lu) for lu in lus]
        mixed = sptrsm.batch(solvers, uniform=False)
        for nrhs in map(int, arguments.nrhs.split(",")):
            uniform = sptrsm.batch(solvers, uniform=True, nrhs=nrhs)
            shape = (arguments.count, side * side, nrhs)
            B = np.random.default_rng(0).standard_normal(shape[:2] if nrhs == 1 else shape)
            calls = {"SciPy": lambda: [lu.solve(b) for lu, b in zip(lus, B)],
                     "Factors": lambda: [F.solve(b) for F, b in zip(solvers, B)],
                     "mixed": lambda: mixed.solve(B),
                     "lists": lambda: uniform.solve(list(B)),
                     "arrays": lambda: uniform.solve(B)}
            X, Y = np.array(calls["SciPy"]()), uniform.solve(B)
            found = times(calls, arguments.turns)
            difference = abs(X - Y).max() / abs(X).max()
            print(f"{side * side}, {nrhs}: " + ", ".join(f"{found[name]:.2f}" for name in calls) + f"; {difference:.1e}")


if __name__ == "__main__":
    main()
