"""Where work happens: a host context or a CUDA context for each object, the number of threads, streams, and what fork leaves usable.

Every solver has a context of its own, so that solvers used by different threads never meet. A context costs next to nothing on the host;
a CUDA context here is a small record and a stream, not a context of the CUDA driver, which all share.
"""
from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, NoReturn, Optional, TypeVar

import numpy

from . import _lib
from ._errors import DeviceError, check
from ._lib import lib
from ._options import INT32_MAX, MAX_THREADS, Options, integer

PACKAGES = {"cupy": "cupy", "torch": "torch", "jax": "jax", "jaxlib": "jax"}  # by the first part of a module's name
LEGACY_STREAM = 1  # cudaStreamLegacy: the default stream of CUDA programs, whose plain handle 0 the C library takes for "none given"

_threads = 0
_forks = 0  # how often this process is the child of a fork since the package was imported
_live: "weakref.WeakSet[Solver]" = weakref.WeakSet()
_live_lock = threading.Lock()


class Device(NamedTuple):
    """A place and, for CUDA, the number of the device."""

    place: int
    number: int = 0

    def __str__(self) -> str:
        return f"cuda:{self.number}" if self.place == _lib.CUDA else "cpu"


CPU = Device(_lib.HOST)


def as_device(device) -> Device:
    """A Device from None, "cpu", "cuda", "cuda:1", or any object whose text is one of these, such as a torch.device."""
    if isinstance(device, Device):
        return device
    name, colon, index = ("cpu" if device is None else str(device)).partition(":")
    if name in ("cpu", "host") and not colon:
        return CPU
    if name == "cuda" and (not colon or index.isdecimal() and int(index) <= INT32_MAX):
        return Device(_lib.CUDA, int(index or 0))
    raise ValueError(f'device {device!r} is not known; use "cpu", "cuda" or "cuda:INDEX"')


def checked_device(device: Device, options: Options) -> Device:
    """The device that a caller asked for; a limit on device memory is for CUDA. `Solver.to` may leave the device, and the limit with it."""
    if options.device_memory and device.place == _lib.HOST:
        raise ValueError(f"device_memory={options.device_memory} is a limit on the memory of a CUDA device, and this solver is on the "
                         'host; use device="cuda", or memory_limit, which bounds the workspace')
    return device


def set_threads(threads: int) -> None:
    """Sets the number of threads of solvers made from now on without an argument ``threads``.

    Parameters
    ----------
    threads : int
        Number of host threads of one solve; 0: OMP_NUM_THREADS, else the processors and the CPU quota of this process.
    """
    global _threads
    _threads = integer("threads", threads, 0, MAX_THREADS)


def device_count() -> int:
    """Number of usable CUDA devices; 0 in a build without CUDA."""
    return lib.sptrsm_device_count()


def stream_handle(stream) -> Optional[int]:
    """The address of a CUDA stream: an int, or an object of CuPy (``.ptr``) or torch (``.cuda_stream``). None stays None."""
    if stream is None:
        return None
    for name in ("ptr", "cuda_stream"):
        if hasattr(stream, name):
            stream = getattr(stream, name)
    if isinstance(stream, bool) or not isinstance(stream, int):
        raise TypeError(f"stream is {type(stream).__name__}; pass an int, or a stream of CuPy or torch")
    return integer("stream", stream, 0, 2**64 - 1) or LEGACY_STREAM


def family_of(array) -> str:
    """The package that made an array: "numpy", "cupy", "torch", "jax", another name, or "" for lists and the like."""
    if isinstance(array, numpy.ndarray):
        return "numpy"
    if not hasattr(array, "__dlpack__"):
        return ""
    for base in type(array).__mro__:  # a subclass may come from any module
        package = PACKAGES.get(base.__module__.partition(".")[0])
        if package:
            return package
    return type(array).__module__.partition(".")[0]


def current_stream(array):
    """The stream on which the array's package queues work at the moment, as an object of the package; None: the default stream."""
    family = family_of(array)
    if family == "cupy":
        return sys.modules["cupy"].cuda.get_current_stream(array.device.id)
    if family == "torch" and array.is_cuda:
        return sys.modules["torch"].cuda.current_stream(array.device)
    return None


def stream_of(*arrays):
    """The first of their current streams, for work that reads them all; what is queued on others is waited for through DLPack."""
    return next((stream for stream in map(current_stream, arrays) if stream is not None), None)


@contextmanager
def making_on(array, stream: Optional[int]):
    """A context in which the package of an array on a device makes other arrays on the CUDA stream `stream`.

    The memory of such an array is given to a later one only behind the work of that stream.
    """
    family = family_of(array)
    if stream is None or family not in ("cupy", "torch") or stream == (stream_handle(current_stream(array)) or LEGACY_STREAM):
        yield
        return
    cuda = sys.modules[family].cuda
    external = cuda.ExternalStream(stream) if family == "cupy" else cuda.stream(cuda.ExternalStream(stream, array.device))
    with array.device if family == "cupy" else nullcontext(), external:  # CuPy's streams are those of the current device
        yield


class Context:
    """A sptrsm_context."""

    def __init__(self, device: Device, options: Options = Options()):
        self.device, self.forks, self.handle = device, _forks, None
        handle = ctypes.c_void_p()
        check(lib.sptrsm_context_create(handle, device.place, device.number, LEGACY_STREAM))
        self.handle, self.stream = handle.value, LEGACY_STREAM
        self.keeps = None  # the object of a stream in use, which ends the stream when it is collected
        if device.place == _lib.HOST:
            check(lib.sptrsm_context_set_threads(handle, options.threads or _threads))
        elif options.device_memory:
            check(lib.sptrsm_context_set_memory_limit(handle, options.device_memory))

    @property
    def usable(self) -> bool:
        """False for a CUDA context that was made before this process was forked: the CUDA driver does not survive a fork."""
        return self.device.place == _lib.HOST or self.forks == _forks

    def use_stream(self, stream) -> None:
        """Queues the work that follows on `stream`: an int, an object of CuPy or torch, or None for the default stream."""
        if not self.usable:
            raise DeviceError("this object was made on a GPU before the process was forked, which CUDA does not support; make it in the "
                              'child, or start processes by multiprocessing.set_start_method("spawn")')
        handle = stream_handle(stream) or LEGACY_STREAM
        if self.device.place == _lib.HOST or handle == self.stream:
            return
        check(lib.sptrsm_context_set_stream(self.handle, handle))
        self.stream, self.keeps = handle, stream

    def sync(self) -> None:
        check(lib.sptrsm_context_sync(self.handle))

    def __del__(self, finalizing=sys.is_finalizing):
        if not finalizing() and self.handle and self.usable:
            lib.sptrsm_context_destroy(self.handle)
            self.handle = None


Own = TypeVar("Own", bound="Solver")


class Solver:
    """What Triangular, Factors and Batch share: a context, a lock, an end, and how they come through a fork."""

    _handle: Optional[int]

    def _open(self, device: Device, options: Options) -> None:
        self._lock = threading.RLock()
        self._context: Optional[Context] = Context(device, options)
        self._device, self._on_host = device, device.place == _lib.HOST
        with _live_lock:
            _live.add(self)

    def _use_stream_of(self, *arrays, stream=None) -> Context:
        """The context. On a device its later work is queued on `stream`; None: on the current stream of the first array that has one."""
        if self._context is None:
            self._raise_closed()
        self._context.use_stream(stream_of(*arrays) if stream is None and not self._on_host else stream)
        return self._context

    def _end(self) -> None:
        """Frees what the object holds in the library."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees the memory of the object now rather than when Python collects it. A closed object can't solve."""
        with self._lock:
            if self._context is not None:
                if self._context.usable:
                    self._end()
                self._context = None

    def _open_handle(self) -> Any:
        """The object in the library; the caller holds the lock."""
        if self._handle is None:
            self._raise_closed()
        return self._handle

    def _raise_closed(self) -> NoReturn:
        raise ValueError(f"this {type(self).__name__} is closed")

    def _after_fork(self) -> None:
        self._lock = threading.RLock()

    def _arguments(self, device: Device) -> tuple:
        """What makes a solver like this one on `device`; all arrays are on the host."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from ._show import as_html

        return as_html(self)

    def to(self: Own, device: Any) -> Own:
        """A new solver with copies of the same arrays on a device: "cpu", "cuda" or "cuda:INDEX"."""
        return type(self)(*self._arguments(as_device(device)))

    def __reduce__(self):
        return _unpickled, (type(self), self._device, self._arguments(self._device))

    def __enter__(self: Own) -> Own:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, finalizing=sys.is_finalizing):  # when Python ends, this module may have lost its names before its objects go
        if not finalizing() and getattr(self, "_context", None) is not None:
            self.close()


def _unpickled(kind: type, device: Device, arguments: tuple) -> Solver:
    if device.place == _lib.CUDA and device.number >= device_count():
        raise DeviceError(f"this {kind.__name__} was pickled on {device}, and here are {device_count()} usable CUDA devices; pickle "
                          'solver.to("cpu") instead, or store factors with sptrsm.save')
    return kind(*arguments)


def _in_child() -> None:
    """A lock that another thread held at the fork would never be released in the child, so all of them are made anew."""
    global _forks, _live_lock
    _forks += 1
    _live_lock = threading.Lock()
    for solver in list(_live):
        solver._after_fork()


os.register_at_fork(after_in_child=_in_child)
