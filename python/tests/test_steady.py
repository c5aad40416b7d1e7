"""Solves and solvers leave nothing behind, a solve allocates X and little else, and threads may share a solver.

benchmarks/steady.py measures the same over 100,000 solves, by the memory of the process.
"""
import gc
import os
import platform
import shutil
import subprocess
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from conftest import in_threads

import sptrsm
from sptrsm import _lib

sparse = pytest.importorskip("scipy.sparse")

A = sparse.diags_array([-1.0, 4.0, -1.0], offsets=[-30, 0, 1], shape=(400, 400), format="csc")
KINDS = {"vector": lambda B: B[:, 0].copy(), "C": np.ascontiguousarray, "F": np.asfortranarray, "strided": lambda B: B[::-1],
         "list": lambda B: B.tolist()}


@pytest.fixture
def B():
    return np.random.default_rng(0).standard_normal((400, 16))


@pytest.fixture(params=["triangle", "factors"])
def solver(request):
    if request.param == "factors":
        return sptrsm.splu(A, threads=1)
    return sptrsm.triangular(sparse.tril(A, format="csr"), threads=1)


@pytest.mark.parametrize("order", "CF")
def test_a_solve_allocates_x_and_a_few_small_objects(solver, B, order):
    B = np.asarray(B, order=order)
    solver.solve(B)  # allocates what the solver keeps
    tracemalloc.start()
    X = solver.solve(B)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < X.nbytes + 8192


# An allocator that adds up the bytes that all code of a process asks for, that of libsptrsm, too.
ALLOCATOR = """
#include <errno.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
size_t asked;
static size_t count(size_t size) { __atomic_add_fetch(&asked, size, __ATOMIC_RELAXED); return size; }
void *malloc(size_t size) { return __libc_malloc(count(size)); }
void *calloc(size_t number, size_t size) { count(number * size); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { return __libc_realloc(old, count(size)); }
void *aligned_alloc(size_t align, size_t size) { return __libc_memalign(align, count(size)); }
int posix_memalign(void **p, size_t align, size_t size) { *p = __libc_memalign(align, count(size)); return *p ? 0 : ENOMEM; }
"""

# Prints for each solver the bytes that a solve asked for beyond X.
PROGRAM = """
import ctypes, sys, numpy as np, scipy.sparse as sparse, sptrsm
asked = ctypes.c_size_t.in_dll(ctypes.CDLL(sys.argv[1]), "asked")
A = sparse.diags_array([-1.0, 4.0, -1.0], offsets=[-30, 0, 1], shape=(400, 400), format="csc")
for threads in (1, 2):
    for solver in (sptrsm.splu(A, threads=threads), sptrsm.triangular(sparse.tril(A, format="csr"), threads=threads)):
        for order in "CF":
            B = np.ones((400, 64), order=order)
            solver.solve(B)
            before = asked.value
            X = solver.solve(B)
            after = asked.value
            assert after - before >= X.nbytes, "the allocator is not in use"
            print(after - before - X.nbytes)
"""


@pytest.mark.skipif(not shutil.which("cc") or platform.libc_ver()[0] != "glibc", reason="needs a C compiler and glibc")
def test_a_solve_asks_the_allocator_for_x_and_little_else(tmp_path):
    source, allocator = tmp_path / "count.c", tmp_path / "count.so"
    source.write_text(ALLOCATOR)
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-o", str(allocator), str(source)], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "LD_PRELOAD": str(allocator)}
    ran = subprocess.run([sys.executable, "-c", PROGRAM, str(allocator)], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    beyond = list(map(int, ran.stdout.split()))
    assert len(beyond) == 8 and max(beyond) < 8192, beyond


@pytest.mark.parametrize("kind", KINDS)
def test_solves_leave_no_memory_of_python_behind(solver, B, kind):
    B = KINDS[kind](B)
    solver.solve(B)
    tracemalloc.start()
    try:
        for _ in range(10):
            solver.solve(B)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            solver.solve(B)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 200 * 16  # less than the smallest object for each solve
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("listed", (False, True))
def test_batches_and_schur_complements_leave_no_memory_of_python_behind(B, listed):
    F = sptrsm.splu(A, threads=1)
    P, S = sptrsm.batch([F] * 4, threads=1), sptrsm.schur(F, B, B.T)
    blocks = [B] * 4 if listed else np.array([B] * 4)

    def use():
        P.solve(blocks, mask=[True, False, True, True])
        P.update_values(L=F.L.data, items=2)
        S.solve()
        S.update_values(B=B)

    tracemalloc.start()
    try:
        for _ in range(10):
            use()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(4000):  # Python's own lists of free objects grow for a while
            use()
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 4000 * 16
    finally:
        tracemalloc.stop()


@pytest.fixture
def alive(monkeypatch):
    """Counts objects of the library by kind: what was created and not yet destroyed."""
    counts = Counter()

    def counted(function, kind, step):
        def call(*arguments):
            result = function(*arguments)
            if step < 0 or result == 0:
                counts[kind] += step
            return result
        return call

    for name in _lib.FUNCTIONS:
        kind, _, verb = name.replace("_uniform", "").replace("_mixed", "").rpartition("_")
        if verb in ("create", "destroy"):
            monkeypatch.setattr(_lib.lib, name, counted(getattr(_lib.lib, name), kind, 1 if verb == "create" else -1))
    return counts


@pytest.mark.parametrize("ending", ["close", "with", "collected"])
def test_solvers_free_all_that_they_created(alive, B, ending):
    for _ in range(20):
        made = [sptrsm.splu(A), sptrsm.triangular(sparse.tril(A, format="csr"))]
        for solver in made:
            solver.solve(B, trans="T")
        made[0].solve(B, rows=[3, 5])
        assert alive["sptrsm_context"] == 2 and alive["sptrsm_plan"] == 2 and alive["sptrsm_workspace"] == 1
        made += [sptrsm.batch(made[:1] * 3), sptrsm.batch(made[:1], uniform=False), sptrsm.schur(made[0], B, B.T)]
        made[2].solve(B[None])
        made[3].solve([B])
        made[4].solve()
        made[0].schur(B, B.T)
        assert alive["sptrsm_batch"] == 2 and alive["sptrsm_schur"] == 1
        for solver in reversed(made):
            if ending == "close":
                solver.close()
            elif ending == "with":
                with solver:
                    pass
        del made, solver
        gc.collect()
        assert not +alive, +alive


def test_a_refused_matrix_leaves_nothing_behind(alive):
    with pytest.raises(sptrsm.SingularError):
        sptrsm.triangular(sparse.csr_array(np.diag([1.0, 0.0])))
    with pytest.raises(ValueError):
        sptrsm.triangular(sparse.eye_array(3, format="csr"), method="none such")
    with pytest.raises(ValueError):
        sptrsm.batch([{"L": sparse.eye_array(3)}], method="none such")
    with sptrsm.splu(A) as F, pytest.raises(ValueError):
        F.schur(np.ones((3, 2)), np.ones((2, 3)))
    gc.collect()
    assert not +alive, +alive


def test_eight_threads_share_a_solver(solver, B):
    wanted = [solver.solve(B[:, k]) for k in range(8)]
    right = []

    def work(k):
        right.append(all(np.array_equal(solver.solve(B[:, k]), wanted[k]) for _ in range(100)))

    in_threads(*(lambda k=k: work(k) for k in range(8)))
    assert right == [True] * 8
