"""Memory and threads over a long run: 100,000 solves, as many of batches and Schur complements, 1,000 solvers made and freed, and one
factor set shared by eight threads.

    python/benchmarks/steady.py [--solves 100000] [--solvers 1000] [--turns 21]

Each part first runs a tenth of its length, at least 1,000 calls, then its resident memory is noted, and again at the end. The threads
solve each with a right-hand side of its own and compare every result with the first, without a lock and with one lock around each solve,
in alternating turns. What counts is the ratio of the two times of a turn: its median, and the interval that holds the true median with a
probability of 95 %. Exit code 1 where memory grew by more than a megabyte, a result differs, or the whole interval says that solves take
longer without the lock.
"""
import argparse
import importlib.util
import os
import sys
import threading
import time

import numpy as np
import scipy.sparse as sparse
from scipy.stats import binom

import sptrsm

MEGABYTE = 1 << 20


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def matrix(n: int):
    return (sparse.random_array((n, n), density=5 / n, format="csc", rng=np.random.default_rng(1)) + 5 * sparse.eye_array(n)).tocsc()


def grid(side: int):
    """Laplace's equation on a square of side x side points."""
    line, eye = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side)), sparse.eye_array(side)
    return (sparse.kron(line, eye) + sparse.kron(eye, line)).tocsc()


def growth(work, count: int) -> int:
    """Bytes by which the process grows over `count` calls, after a tenth of them or 1,000."""
    for _ in range(max(count // 10, 1_000)):
        work()
    before = resident()
    for _ in range(count):
        work()
    return resident() - before


def solve_of_everything(F, B):
    """One call after another of the kinds of right-hand sides that differ in how they are read."""
    kinds = [B[:, 0].copy(), B, np.asfortranarray(B), B[:, ::2], B[::-1], B.tolist()]
    if importlib.util.find_spec("torch"):
        import torch
        kinds.append(torch.from_numpy(B))
    turn = iter(range(sys.maxsize))
    return lambda: F.solve(kinds[next(turn) % len(kinds)])


def solve_of_many(F, B):
    """A batch with its blocks in an array, in one for all items and in a list, new values, and a Schur complement, one after the other."""
    P, S = sptrsm.batch([F] * 4, threads=1), sptrsm.schur(F, B, B.T)
    items, U = np.array([B] * 4), F.U.data
    calls = [lambda: P.solve(items), lambda: P.solve(B[None]), lambda: P.solve(list(items), mask=[True, False, True, True]),
             lambda: P.update_values(U=U, items=1), S.solve]
    turn = iter(range(sys.maxsize))
    return lambda: calls[next(turn) % len(calls)]()


def make_and_free(A):
    T, B = sparse.tril(A, format="csr"), np.ones((A.shape[0], 2))

    def work():
        with sptrsm.triangular(T) as solver:
            solver.solve(np.ones(A.shape[0]))
        F = sptrsm.splu(A)
        F.schur(B, B.T)
        sptrsm.batch([F, F]).solve(B[None])
    return work


def in_threads(F, count: int, threads: int, lock=None) -> float:
    """Seconds for `count` solves shared out over threads; raises AssertionError where a result is not the first one of its thread."""
    wrong = []

    def work(seed):
        b = np.random.default_rng(seed).standard_normal(F.shape[0])
        first = F.solve(b)
        for _ in range(count // threads):
            if lock:
                with lock:
                    x = F.solve(b)
            else:
                x = F.solve(b)
            if not np.array_equal(x, first):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong, f"threads {sorted(set(wrong))} received results that differ"
    return time.perf_counter() - start


def median_with_interval(ratios) -> tuple:
    """(median, lower end, upper end of its 95 % interval) of at least 6 values.

    The interval is that of order statistics, for any distribution: it ends at the k-th value from either side, with the largest k for
    which the true median lies outside with a probability of less than 5 %.
    """
    ordered, k = sorted(ratios), int(binom.ppf(0.025, len(ratios), 0.5))
    return float(np.median(ordered)), ordered[k - 1], ordered[-k]


def beside_a_lock(shared, turns: int) -> tuple:
    """Least seconds of 10,000 solves by 8 threads without a lock and with one, and the ratio of the two times of a turn."""
    times: dict = {False: [], True: []}
    for turn in range(turns):
        for locked in (turn % 2 == 0, turn % 2 == 1):  # so that neither is always the first
            times[locked].append(in_threads(shared, 10_000, 8, threading.Lock() if locked else None))
    return min(times[False]), min(times[True]), median_with_interval([a / b for a, b in zip(times[False], times[True])])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solves", type=int, default=100_000)
    parser.add_argument("--solvers", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=21, help="at least 6")
    arguments = parser.parse_args()
    if arguments.turns < 6:
        parser.error(f"--turns {arguments.turns} is too few for an interval of 95 %; pass at least 6")
    A = matrix(200)
    F = sptrsm.splu(A, threads=1)
    B = np.random.default_rng(2).standard_normal((200, 8))
    grown = {f"{arguments.solves} solves": growth(solve_of_everything(F, B), arguments.solves),
             f"{arguments.solves} solves of batches": growth(solve_of_many(F, B), arguments.solves),
             f"{arguments.solvers} solvers": growth(make_and_free(A), arguments.solvers)}
    for name, size in grown.items():
        print(f"{name}: memory grew by {size / MEGABYTE:.2f} MiB")
    bad = any(size > MEGABYTE for size in grown.values())
    large = grid(40)
    triangle = sptrsm.triangular(sparse.tril(large, format="csr"), threads=1)
    for name, shared in (("factor set", sptrsm.splu(large, threads=1)), ("triangle", triangle)):
        free, locked, (median, low, high) = beside_a_lock(shared, arguments.turns)
        print(f"10000 solves with one {name}, 8 threads: {free:.2f} s, with a lock {locked:.2f} s; ratio of {arguments.turns} turns: "
              f"median {median:.3f}, 95 % interval {low:.3f} to {high:.3f}")
        bad |= not low <= 1
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
