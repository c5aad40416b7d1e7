"""Threads, processes and leaks."""
import gc
import multiprocessing
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy
import pytest
from conftest import close, general, in_threads, random, triangle

import sptrsm
from sptrsm import _context, _lib

N = 300


@pytest.mark.parametrize("make", (lambda: sptrsm.triangular(triangle(N), threads=1), lambda: sptrsm.splu(general(N), threads=1)),
                         ids=("triangular", "factors"))
def test_threads_share_one_object(make):
    solver = make()
    problems = [random((N, 1 + k), "float64", k) for k in range(8)]
    expected = [{trans: solver.solve(B, trans) for trans in "NT"} for B in problems]
    wrong = []

    def work(k):
        for repeat in range(50):
            trans = "NT"[(k + repeat) % 2]
            if not close(solver.solve(problems[k], trans), expected[k][trans], "float64"):
                wrong.append(k)

    in_threads(*(lambda k=k: work(k) for k in range(8)))
    assert wrong == []


def test_new_values_wait_for_solves():
    """Each solve sees old values or new ones, never some of both."""
    T, b = sptrsm.triangular(triangle(N), threads=1), random(N, "float64")
    old, values, seen = T.solve(b), T.data, []
    done = threading.Event()

    def work():
        while not done.is_set():
            seen.append(T.solve(b))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(20):
        T.update_values(values * (1 + k % 2))
    done.set()
    for thread in threads:
        thread.join()
    assert all((x == old).all() or (2 * x == old).all() for x in seen)


def in_child(work) -> int:
    """The exit code of a fork that runs work(); an alarm ends it if it hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if work() else 1)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    T, F = sptrsm.triangular(triangle(N), threads=2), sptrsm.splu(general(N), threads=2)
    B = random((N, 64), "float64")
    X, Y = T.solve(B), F.solve(B)
    assert in_child(lambda: close(T.solve(B), X, "float64") and close(F.solve(B), Y, "float64") and
                    close(sptrsm.triangular(triangle(N), threads=2).solve(B), X, "float64")) == 0
    assert close(T.solve(B), X, "float64")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_while_the_lock_is_held():
    T = sptrsm.triangular(triangle(N))
    held, leave = threading.Event(), threading.Event()

    def hold():
        with T._lock:
            held.set()
            leave.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    code = in_child(lambda: T.solve(numpy.ones(N)).shape == (N,))
    leave.set()
    thread.join()
    assert code == 0


def test_cuda_objects_are_refused_after_a_fork():
    context = object.__new__(_context.Context)
    context.device, context.forks, context.handle, context.stream = _context.as_device("cuda"), _context._forks, None, 1
    context.use_stream(None)
    context.forks -= 1
    with pytest.raises(sptrsm.DeviceError, match="spawn"):
        context.use_stream(None)


def test_spawn():
    T, b = sptrsm.triangular(triangle(N)), random(N, "float64")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert (pool.apply_async(operator.methodcaller("solve", b), (T,)).get(timeout=300) == T.solve(b)).all()


AT_EXIT = """
import numpy, scipy.sparse, sptrsm, threading
F, T = sptrsm.splu(2 * scipy.sparse.eye_array(3, format="csc")), sptrsm.triangular(scipy.sparse.eye_array(3))
P, S = sptrsm.batch([F]), sptrsm.schur(F, numpy.ones((3, 1)), numpy.ones((1, 3)))
def work():
    F.solve(numpy.ones(3))
thread = threading.Thread(target=work)
thread.start()
thread.join()
"""


def test_objects_may_live_until_python_ends():
    """In free-threaded builds of Python they live longer than the names in their modules."""
    code = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True)
    assert (code.returncode, code.stderr) == (0, "")


def test_threads_setting():
    sptrsm.set_threads(1)
    try:
        T = sptrsm.triangular(triangle(N))
        assert close(triangle(N) @ T.solve(numpy.ones(N)), numpy.ones(N), "float64")
    finally:
        sptrsm.set_threads(0)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_stays():
    A, b = general(60), numpy.ones(60)
    lower = triangle(60)

    def rounds(count):
        for _ in range(count):
            with sptrsm.triangular(lower, threads=1) as T:
                T.solve(b)
            F = sptrsm.splu(A, threads=1)
            for _ in range(20):
                F.solve(b)
            F.solve(b, rows=[3])
        gc.collect()

    rounds(100)
    before = resident()
    rounds(300)
    assert resident() - before <= 2**20
    assert not [solver for solver in _context._live if solver._context is not None and solver._n == 60]


def test_values_stay_while_their_owner_solves():
    T, b = sptrsm.triangular(triangle(N)), numpy.ones(N)
    base, x = T.data.copy(), T.solve(b)

    def owner(scale):
        for _ in range(300):
            with T._values_lock:
                T.update_values(scale * base)
                assert close(scale * T.solve(b), x, "float64")

    in_threads(*(lambda scale=scale: owner(scale) for scale in (1.0, 2.0, 4.0)), *[lambda: [T.solve(b) for _ in range(300)]] * 2)


def test_info_while_another_thread_closes():
    for _ in range(30):
        T = sptrsm.triangular(triangle(N))

        def look():
            try:
                while True:
                    repr(T.info)
            except ValueError as error:
                assert "closed" in str(error)

        in_threads(look, look, T.close)


def test_an_interrupted_wait_is_undone():
    T = sptrsm.triangular(triangle(N))
    T._active, wait = 1, T._quiet.wait
    T._quiet.wait = lambda: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        T.update_values(T.data)
    T._active, T._quiet.wait = 0, wait
    assert T._changing == 0 and T.solve(numpy.ones(N)).shape == (N,)


def test_plans_and_workspaces_are_made_while_no_thread_solves(monkeypatch):
    """The rule of sptrsm.h: several threads may solve at a time, and all else is done by one thread alone."""
    T, B = sptrsm.triangular(triangle(N), threads=1), random((N, 200), "float64")
    made = []

    def watched(function):
        def call(*arguments):
            made.append(T._active)
            return function(*arguments)
        return call

    for name in ("sptrsm_plan_create", "sptrsm_workspace_create", "sptrsm_plan_info"):
        monkeypatch.setattr(_lib.lib, name, watched(getattr(_lib.lib, name)))
    start = threading.Barrier(4)

    def work(k):
        start.wait()
        for repeat in range(30):
            T.solve(B, "NTH"[(k + repeat) % 3])
            T.info

    in_threads(*(lambda k=k: work(k) for k in range(4)))
    assert made and not any(made)


def test_a_solver_of_a_device_that_is_not_here_says_so():
    """As from a pickle made on a machine with more devices."""
    T = sptrsm.triangular(triangle(N))
    T._device = _context.as_device(f"cuda:{sptrsm.device_count()}")
    with pytest.raises(sptrsm.DeviceError, match=r"Triangular was pickled on cuda:.*\.to\("):
        pickle.loads(pickle.dumps(T))


@pytest.mark.parametrize("make", (lambda: sptrsm.triangular(triangle(N), nrhs=3), lambda: sptrsm.splu(general(N))), ids=("T", "F"))
def test_a_copy_on_a_device_is_a_solver_of_its_own(make):
    solver, b = make(), random(N, "float64")
    copy, x = solver.to("cpu"), solver.solve(b)
    assert repr(copy) == repr(solver)
    solver.close()
    assert (copy.solve(b) == x).all()
