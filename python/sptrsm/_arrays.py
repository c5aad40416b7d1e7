"""Dense blocks from arrays of NumPy and, through DLPack, of other packages, and results of the same kind.

What the library reads in place: vectors with any positive stride, and matrices in C or F order whose rows or columns lie at any distance
(a leading dimension). An array of a batch has the items in front, at any distance; at distance zero they share one block. What is copied
first: negative strides, other zero strides of broadcast arrays, and matrices with a stride in both directions. NumPy arrays are also
copied where their type is narrower than the solver's or their bytes are swapped or unaligned.
"""
from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any, Callable, Literal, NamedTuple, Optional, Union

import numpy
from numpy import empty, ndarray

from . import _dlpack, _lib
from ._context import CPU, Device, current_stream, family_of, making_on, stream_handle
from ._lib import COL_MAJOR, CUDA, HOST, ROW_MAJOR, BatchBlock, Block, lib

CODE = {numpy.dtype(name): code for code, name in enumerate(_lib.DTYPES)}
PYTHON = (list, tuple, int, float, complex)
Casting = Literal["safe", "same_kind", "unsafe"]


def fit(shape: tuple, strides: Optional[tuple]) -> Optional[tuple]:
    """(layout, ld) of an array with these strides in elements, or None where the library can't read it in place."""
    n, nrhs = shape if len(shape) == 2 else (shape[0], 1)
    if strides is None:
        return (ROW_MAJOR, nrhs) if len(shape) == 2 else (COL_MAJOR, n)
    if n == 0 or nrhs == 0:
        return ROW_MAJOR, nrhs
    down, across = strides if len(shape) == 2 else (strides[0], 1)
    if across == 1 or nrhs == 1:
        if n == 1:
            return ROW_MAJOR, nrhs
        if down == 1 and nrhs == 1:
            return COL_MAJOR, n
        if down >= nrhs:
            return ROW_MAJOR, down
    if (down == 1 or n == 1) and across >= n:
        return COL_MAJOR, across
    return None


def numpy_block(array: ndarray, code: int) -> Optional[Block]:
    """The block that is this array of the dtype `code`, or None where the array must be copied first."""
    interface = array.__array_interface__
    shape, strides, pointer = interface["shape"], interface["strides"], interface["data"][0]
    size = array.itemsize
    if strides is not None:
        if any(stride % size for stride in strides):
            return None
        strides = tuple(stride // size for stride in strides)
    found = fit(shape, strides)
    if found is None or pointer % (size if code < 2 else size // 2):
        return None
    return Block(pointer, found[1], shape[0], shape[1] if len(shape) == 2 else 1, code, found[0], HOST)


def stack_block(pointer: int, shape: tuple, strides: Optional[tuple], count: int, code: int, place: int) -> Optional[BatchBlock]:
    """The blocks of `count` items in an array (count, n) or (count, n, nrhs), or in one for all of them, (n,), (1, n) or (1, n, nrhs); None
    where the array must be copied first. Strides are in elements.
    """
    if strides is None or 0 in shape:
        strides = tuple(numpy.cumprod((1,) + shape[:0:-1])[::-1].tolist())
    apart = strides[0] if len(shape) > 1 and shape[0] > 1 else 0
    found = fit(shape[1:] or shape, strides[1:] or strides)
    if found is None or apart < 0:
        return None
    block = _lib.sized(BatchBlock, lib.sptrsm_batch_block_init_sized)
    block.data, block.stride, block.ld, block.nrhs = pointer, apart, found[1], shape[2] if len(shape) == 3 else 1
    block.dtype, block.layout, block.place = code, found[0], place
    return block


def numpy_blocks(array: ndarray, code: int, count: Optional[int]) -> Union[Block, BatchBlock, None]:
    """numpy_block, or stack_block where there is a count of items."""
    if count is None:
        return numpy_block(array, code)
    size, pointer = array.itemsize, array.__array_interface__["data"][0]
    if any(stride % size for stride in array.strides) or pointer % (size if code < 2 else size // 2):
        return None
    return stack_block(pointer, array.shape, tuple(stride // size for stride in array.strides), count, code, HOST)


class Operand(NamedTuple):
    """An array as the library sees it. `keep` holds its memory."""

    block: Any  # Block, or BatchBlock of a batch
    shape: tuple
    device: Device
    keep: object


def check_stack(name: str, shape: tuple, n: Optional[int], count: int, writable: bool) -> tuple:
    """The shape of the blocks of all items that an array of this shape stands for."""
    if n is None:
        raise ValueError(f"{name} is one array and the items have different orders; pass a list of {count} arrays")
    if len(shape) not in (1, 2, 3):
        raise ValueError(f"{name} has {len(shape)} dimensions; pass an array ({count}, {n}) or ({count}, {n}, nrhs)")
    whole = shape if len(shape) > 1 else (1,) + shape
    if whole[0] != count and (writable or whole[0] != 1):
        shared = f"; for one block that all items share pass {name}[None]" if not writable and whole[0] == n else ""
        raise ValueError(f"{name} has shape {shape}, the batch {count} items of order {n}; pass an array ({count}, {n}) or "
                         f"({count}, {n}, nrhs){shared}")
    if whole[1] != n:
        raise ValueError(f"{name} has blocks of {whole[1]} rows, the items have {n}; is {name} transposed?")
    return (count,) + whole[1:]


def check_shape(name: str, shape: tuple, n: int) -> None:
    if len(shape) not in (1, 2):
        raise ValueError(f"{name} has {len(shape)} dimensions; pass a vector of {n} or a matrix of {n} rows")
    if shape[0] != n:
        raise ValueError(f"{name} has {shape[0]} rows, the system has {n}; is {name} transposed?")


def wrong_type(name: str, given: object, wanted: numpy.dtype) -> TypeError:
    return TypeError(f"{name} is {given} and the solver {wanted.name}; convert {name}, or make the solver with another dtype")


def check_digits(name: str, given: ndarray, dtype: numpy.dtype, casting: Casting) -> None:
    """Refuses numbers that would lose digits as `dtype`: integers by their size, others by their type and NumPy's rule `casting`."""
    if given.dtype.kind in "iu" and given.size:
        bits = numpy.finfo(dtype).nmant + 1
        largest = max(abs(int(given.min())), abs(int(given.max())))
        if largest > 2**bits:
            raise TypeError(f"{name} holds the integer {largest}, and {dtype.name} has all integers up to 2**{bits} only; pass "
                            f"{name}.astype({dtype.name!r}) if fewer digits will do")
    elif given.dtype.kind not in "biu" and not numpy.can_cast(given.dtype, dtype, casting):
        other = f", or make the solver with dtype={given.dtype.name!r}" if given.dtype in CODE else ""
        raise TypeError(f"{name} is {given.dtype} and the solver {dtype.name}; pass {name}.astype({dtype.name!r}) if less precision will "
                        f"do{other}")


def as_numpy(array, dtype: numpy.dtype, name: str, casting: Casting = "safe") -> ndarray:
    """An array of this dtype from an array on the host, a list or a number. A type that would lose digits is refused, unless `casting`
    is "same_kind"; lists and numbers of Python have no precision of choice, so theirs may become less.
    """
    if array is None:
        raise TypeError(f"{name} is None; pass an array")
    if hasattr(array, "toarray"):
        raise TypeError(f"{name} is sparse; pass {name}.toarray()")
    if isinstance(array, numpy.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array; pass {name}.filled()")
    try:
        given = numpy.asarray(array)
    except ValueError as error:
        raise ValueError(f"{name} is not an array ({error}); pass one, or lists of one length") from error
    except (RuntimeError, TypeError) as error:
        raise TypeError(f"{name} is not an array on the host ({error}); pass one of NumPy") from error
    if given.dtype == dtype:
        return given
    if given.dtype.kind not in "biufc":
        raise TypeError(f"{name} has dtype {given.dtype}; pass {name}.astype({dtype.name!r})")
    if family_of(array) not in ("", "numpy"):
        raise wrong_type(name, given.dtype.name, dtype)
    check_digits(name, given, dtype, "same_kind" if type(array) in PYTHON else casting)
    return given.astype(dtype)


def _whole_shape(name: str, shape: tuple, n: Optional[int], count: Optional[int], writable: bool) -> tuple:
    """The shape that an array was checked to have or, in a batch, to stand for. n None: a matrix with any number of rows."""
    if count is not None:
        return check_stack(name, shape, n, count, writable)
    if n is not None:
        check_shape(name, shape, n)
    elif len(shape) != 2:
        vector = f", for a vector {name}[:, None] or {name}[None]" if len(shape) == 1 else ""
        raise ValueError(f"{name} has {len(shape)} dimensions; pass a matrix{vector}")
    return shape


def _numpy_operand(array, dtype: numpy.dtype, n: Optional[int], name: str, writable: bool, count: Optional[int]) -> Operand:
    if writable and (not isinstance(array, ndarray) or array.dtype != dtype):
        raise TypeError(f"{name} must be an array of {dtype.name}")
    if writable and not array.flags.writeable:
        raise ValueError(f"{name} is read-only; pass a writable array")
    array = as_numpy(array, dtype, name)
    shape = _whole_shape(name, array.shape, n, count, writable)
    block = numpy_blocks(array, CODE[dtype], count)
    if block is None and writable:
        raise ValueError(f"{name} has strides {array.strides} that the library can't write to; pass an array in C or F order")
    if block is None:
        array = numpy.array(array if count is None or array.strides[0] else array[:1], order="C")
        block = numpy_blocks(array, CODE[dtype], count)
    return Operand(block, shape, CPU, array)


def _foreign_operand(array, family: str, dtype: numpy.dtype, n: Optional[int], name: str, stream: Optional[int], writable: bool,
                     count: Optional[int]) -> Operand:
    if writable and family == "jax":
        raise TypeError(f"{name} is a JAX array, which can't be written to; use the array that is returned without it")
    view = _dlpack.view(array, name, stream)
    shape = _whole_shape(name, view.shape, n, count, writable)
    if view.dtype != dtype.name:
        raise wrong_type(name, view.dtype, dtype)
    block = _foreign_block(view, CODE[dtype], count)
    if block is None and (writable or view.device.place == HOST and family == "jax"):
        raise ValueError(f"{name} has strides {view.strides} (elements) that the library can't use; pass an array in C or F order")
    if block is None:
        shared = count is not None and view.strides is not None and view.strides[0] == 0
        with making_on(array, stream if view.device.place == CUDA else None):  # the view has ordered the stream behind the array
            return _foreign_operand(compact(array[:1] if shared else array, family, name), family, dtype, n, name, stream, writable, count)
    return Operand(block, shape, view.device, (array, view.capsule))


def _foreign_block(view: _dlpack.View, code: int, count: Optional[int]) -> Union[Block, BatchBlock, None]:
    if count is not None:
        return stack_block(view.pointer, view.shape, view.strides, count, code, view.device.place)
    found = fit(view.shape, view.strides)
    if found is None:
        return None
    return Block(view.pointer, found[1], view.shape[0], view.shape[1] if len(view.shape) == 2 else 1, code, found[0], view.device.place)


def compact(array, family: str, name: str):
    """A copy of the array in C order."""
    if family == "numpy":
        return numpy.array(array, order="C")
    if family == "torch":
        return array.contiguous()
    if family == "cupy":
        return sys.modules["cupy"].ascontiguousarray(array)
    raise TypeError(f"{name} of {family} is not in C order; pass a contiguous copy")


def own_copy(array, family: str, name: str):
    """A copy of an array that `operand` takes, which nobody else can write to."""
    if family in ("", "numpy", "cupy"):
        return array.copy("K")
    if family == "torch":
        return array.clone()
    if not on_device(array, name):  # its package may prefer a device for what it makes
        return _maker(array, family, "from_dlpack", name)(numpy.from_dlpack(array).copy("K"))
    return _maker(array, family, "array", name)(array, copy=True)


def on_device(array, name: str) -> bool:
    return family_of(array) not in ("", "numpy") and _dlpack.device(array, name).place == CUDA


def brought_to_host(array, name: str):
    """An array or a sparse matrix on a device as one on the host; anything else as it is."""
    if not on_device(getattr(array, "data", None) if hasattr(array, "tocsr") else array, name):
        return array
    return array.get() if hasattr(array, "get") else array.cpu() if hasattr(array, "cpu") else numpy.asarray(array)


def operand(array, dtype: numpy.dtype, n: Optional[int], name: str, stream: Optional[int] = None, writable: bool = False,
            count: Optional[int] = None) -> Operand:
    """The block of an array of any kind with n rows, checked, or those of `count` items. n None: of a matrix. `writable`: it is written
    to, so it is never replaced by a copy.
    """
    family = family_of(array)
    if family in ("numpy", ""):
        return _numpy_operand(array, dtype, n, name, writable, count)
    return _foreign_operand(array, family, dtype, n, name, stream, writable, count)


def check_place(name: str, device: Device, solver: Device) -> None:
    """A solver on a device takes arrays of that device and of the host; a solver on the host takes arrays of the host."""
    if device.place == CUDA and device != solver:
        raise ValueError(f"{name} is on {device} and the solver on {solver}; copy {name}, or make the solver with device=\"{device}\"")


def _maker(like, family: str, function: str, name: str = "B") -> Callable:
    """`function` of the package of an array, for instance its from_dlpack or empty. Asked for before a solve, so that none is made in
    vain.
    """
    package = like.__array_namespace__() if hasattr(like, "__array_namespace__") else sys.modules.get(family)
    found = getattr(package, function, None)
    if found is None:
        raise TypeError(f"{name} is of the package {family}, which has no {function} to make arrays by; pass out=, or copy {name} to an "
                        "array of NumPy, CuPy, torch or JAX")
    return found


def _in_layout(make: Callable, shape: tuple, layout: int, count: Optional[int]):
    """An array by make(shape), which makes it in C order, whose blocks have this layout."""
    if layout != COL_MAJOR or len(shape) != (2 if count is None else 3):
        return make(shape)
    return make(shape[:-2] + shape[:-3:-1]).swapaxes(-1, -2)


def _host_result(shape: tuple, dtype: numpy.dtype, layout: int, family: str, like, count: Optional[int], fill: Optional[float]) -> tuple:
    """Memory for a result on the host and how to hand it over as an array of `family`. fill: what it holds at first."""
    x = _in_layout(lambda shape: empty(shape, dtype) if fill is None else numpy.full(shape, fill, dtype), shape, layout, count)
    if family in ("numpy", ""):
        return x, x, None
    if family == "torch":
        return x, sys.modules["torch"].from_numpy(x), None
    from_dlpack = _maker(like, family, "from_dlpack")
    return x, None, lambda: from_dlpack(x)


def _device_result(shape: tuple, layout: int, family: str, like, count: Optional[int], fill: Optional[float]):
    """An array on the device of `like`, in this layout where its package has both orders. fill: what it holds at first."""
    package = sys.modules[family] if family in ("cupy", "torch") else None
    arguments: dict = {"dtype": like.dtype} if family == "cupy" else {"dtype": like.dtype, "device": like.device}
    name = "empty" if fill is None else "full"

    def make(shape):
        function = getattr(package, name) if package else _maker(like, family, name)
        return function(shape, **arguments) if fill is None else function(shape, fill, **arguments)

    with like.device if family == "cupy" else nullcontext():
        x = _in_layout(make, shape, layout if package else ROW_MAJOR, count)
    return x.block_until_ready() if hasattr(x, "block_until_ready") else x


def target_of(out, given: Operand, solver, family: str, name: str, stream: Optional[int], n: int, count: Optional[int]) -> Operand:
    """The operand of an array for X, which fits that of B."""
    if family_of(out) != (family or "numpy"):
        raise TypeError(f"{name} is of {family_of(out) or type(out).__name__} and B of {family or 'numpy'}; pass arrays of one kind")
    target = operand(out, solver._dtype, n, name, stream, True, count)
    check_place(name, target.device, solver._device)
    if target.shape != given.shape:
        raise ValueError(f"{name} has shape {target.shape}; pass one of B's shape {given.shape}")
    return target


def new_target(like, shape: tuple, layout: int, place: int, solver, stream: Optional[int], count: Optional[int] = None,
               fill: Optional[float] = None) -> tuple:
    """(operand, X, finish) of a new array of the kind of `like`, where finish makes X if it is not None. fill: what X holds at first."""
    family = family_of(like)
    if place == HOST:
        memory, X, finish = _host_result(shape, solver._dtype, layout, family, like, count, fill)
        return Operand(numpy_blocks(memory, solver._code, count), shape, CPU, memory), X, finish
    with making_on(like, stream):
        X = _device_result(shape, layout, family, like, count, fill)
    return _foreign_operand(X, family, solver._dtype, shape[0 if count is None else 1], "X", stream, False, count), X, None


def run_on(solver, stream, wait: bool, run: Callable[[], None]) -> None:
    """Calls run() on the caller's stream; wait: until it is done."""
    if solver._on_host:
        return run()
    with solver._lock:
        if solver._context is None:
            solver._raise_closed()
        solver._context.use_stream(stream)
        run()
        if wait:
            solver._context.sync()


def must_wait(place: int, family: str) -> bool:
    """Whether a call that writes an array there has to wait, since the array's package knows no streams."""
    return place == CUDA and family not in ("cupy", "torch")


def changed(out, family: str) -> None:
    """Tells torch that a tensor was written to, so that a graph that saved the old values refuses to use them."""
    if family == "torch":
        sys.modules["torch"].autograd.graph.increment_version(out)


def solve(solver, B, out, stream, run: Callable[[Block, Block], None], name: str = "out"):
    """Calls run(block of B, block of X) and returns X: `out`, which errors call `name`, or a new array of B's kind, shape and layout.

    `solver` has _n, _dtype, _code, _device, _on_host, _lock and _context. Runs on the caller's stream. Waits only
    for arrays whose package knows no streams.
    """
    plain = type(B) is ndarray and out is None and stream is None
    if plain and B.dtype == solver._dtype and 0 < B.ndim < 3 and len(B) == solver._n and solver._on_host:
        block = numpy_block(B, solver._code)
        if block is not None:
            X = empty(B.shape, solver._dtype, "F" if block.layout else "C")
            run(block, numpy_block(X, solver._code))
            return X
    return solve_any(solver, B, out, stream, run, name)


def solve_any(solver, B, out, stream, run: Callable[[Any, Any], None], name: str = "out", count: Optional[int] = None,
              fill: Optional[float] = None):
    """What `solve` does for arrays of every kind, or for those of `count` items. fill: what a new X has where `run` does not write."""
    family = family_of(B)
    if stream is None:
        stream = current_stream(B)
    handle = stream_handle(stream)
    given = operand(B, solver._dtype, solver._n, "B", handle, False, count)
    check_place("B", given.device, solver._device)
    finish = None
    if out is not None:
        target, X = target_of(out, given, solver, family, name, handle, solver._n, count), out
    else:
        target, X, finish = new_target(B, given.shape, given.block.layout, given.device.place, solver, handle, count, fill)
    run_on(solver, stream, must_wait(given.device.place, family), lambda: run(given.block, target.block))
    if out is not None:
        changed(out, family)
    return finish() if finish else X
