"""Arguments that do not fit are refused by name, with what is allowed; none is cut to fit."""
import numpy
import pytest
import scipy.sparse
from conftest import general, triangle

import sptrsm

N = 12
MAKERS = {"triangular": lambda **options: sptrsm.triangular(triangle(N), **options),
          "splu": lambda **options: sptrsm.splu(general(N), **options)}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("options,error,message", [
    ({"threads": 2**32 + 1}, ValueError, r"threads=4294967297 .*0\.\.4096"), ({"threads": 1.5}, TypeError, r"threads is 1\.5"),
    ({"nrhs": -1}, ValueError, "nrhs=-1"), ({"nrhs": 2**64 + 3}, ValueError, "nrhs=18446744073709551619"),
    ({"memory_limit": -1}, ValueError, "memory_limit=-1"), ({"memory_limit": 2**64}, ValueError, "memory_limit=18446744073709551616"),
    ({"device_memory": -1}, ValueError, "device_memory=-1"), ({"device_memory": 2.5}, TypeError, r"device_memory is 2\.5"),
    ({"device_memory": 10**6}, ValueError, "device_memory=1000000 is a limit on the memory of a CUDA device"),
    ({"method": None}, TypeError, 'method is None; pass "auto"'), ({"method": "serial\0x"}, ValueError, "method=.*NUL"),
    ({"deterministic": "no"}, TypeError, "deterministic is 'no'; pass True or False"),
    ({"device": "cuda:4294967296"}, ValueError, "cuda:4294967296"), ({"metod": "auto"}, TypeError, "metod")])
def test_refused_when_a_solver_is_made(make, options, error, message):
    with pytest.raises(error, match=message):
        make(**options)


def test_device_memory_is_a_limit_of_the_context(monkeypatch):
    """Without a device: what a context on one asks of the library; the solver on the host that `to` makes has no such limit."""
    from sptrsm import _context, _lib, _options

    calls = []
    monkeypatch.setattr(_context, "lib", type("lib", (), {
        "sptrsm_context_create": lambda handle, *place: setattr(handle, "value", 7) or calls.append(place) or 0,
        "sptrsm_context_set_threads": lambda *_: 0,
        "sptrsm_context_set_memory_limit": lambda handle, bytes: calls.append((handle.value, bytes)) or 0,
        "sptrsm_context_destroy": lambda handle: 0}))
    for options in (_options.Options(device_memory=12345), _options.Options()):
        context = _context.Context(_context.Device(_lib.CUDA, 1), options)
        context.handle = None
    assert calls == [(_lib.CUDA, 1, _context.LEGACY_STREAM), (7, 12345), (_lib.CUDA, 1, _context.LEGACY_STREAM)]
    calls.clear()
    _context.Context(_context.CPU, _options.Options(device_memory=12345)).handle = None
    assert calls == [(_lib.HOST, 0, _context.LEGACY_STREAM)]


def test_the_nearest_keyword_is_named():
    with pytest.raises(TypeError, match="'metod'; use 'method'"):
        sptrsm.splu(general(N), metod="serial")
    with pytest.raises(TypeError, match="'perm_row'; use 'perm_r'"):
        sptrsm.from_factors(triangle(N, form="csc"), perm_row=numpy.arange(N))
    with pytest.raises(TypeError, match="'x'; use one of device, method, deterministic"):
        sptrsm.splu(general(N), x=1)


@pytest.mark.parametrize("options,error,message", [
    ({"system": "L\0x"}, ValueError, "system=.*NUL"), ({"system": None}, TypeError, "system is None"),
    ({"trans": ["N"]}, ValueError, r"trans=\['N'\]"), ({"trans": "C"}, ValueError, "trans='C'"),
    ({"refine": -3}, ValueError, "refine=-3"), ({"refine": 2**32 + 1}, ValueError, "refine=4294967297"),
    ({"stream": -1}, ValueError, "stream=-1")])
def test_refused_by_a_solve(options, error, message):
    with pytest.raises(error, match=message):
        sptrsm.splu(general(N)).solve(numpy.ones(N), **options)


def test_steps_of_refinement():
    F, b = sptrsm.splu(general(N)), numpy.ones(N)
    with pytest.raises(ValueError, match="steps=4294967296"):
        F.refine(b, F.solve(b), steps=2**32)
    assert F.refine(b, F.solve(b, refine=True), steps=0).berr <= 1e-15


@pytest.mark.parametrize("name", ("lower", "unit_diagonal"))
def test_a_switch_is_no_text(name):
    with pytest.raises(TypeError, match=f"{name} is 'upper'; pass True or False"):
        sptrsm.triangular(triangle(N), **{name: "upper"})
    assert sptrsm.triangular(scipy.sparse.eye_array(3, format="csr"), **{name: numpy.True_}).solve(numpy.ones(3)).tolist() == [1, 1, 1]


def test_number_of_threads_for_all():
    for bad, error in ((2.5, TypeError), (None, TypeError), (-1, ValueError), (5000, ValueError)):
        with pytest.raises(error, match="4096"):
            sptrsm.set_threads(bad)


def test_splu_refuses_before_it_factorises():
    singular = scipy.sparse.csc_array((3, 3))
    for options in ({"metod": "auto"}, {"row_scale": numpy.ones(3)}, {"threads": 1.5}, {"method": 3}, {"dtype": "int8"}):
        with pytest.raises(TypeError, match=next(iter(options)) if "dtype" not in options else "int8"):
            sptrsm.splu(singular, **options)
