"""Lists with an array for each item of a batch: blocks at pointers of their own.

The library takes all blocks of a call in one layout. Vectors, single rows and matrices in C order are blocks of rows. A list is one of
columns, for matrices in F order, if all its arrays can be that; otherwise matrices in F order are copied.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import numpy

from . import _lib
from ._arrays import Operand, changed, check_place, compact, must_wait, new_target, operand, run_on, target_of
from ._context import family_of, making_on, stream_handle
from ._lib import COL_MAJOR, CUDA, HOST, ROW_MAJOR, BatchBlock, Block, lib
from ._sparse import address


def leading_dimension(block: Block, layout: int) -> Optional[int]:
    """That of the same elements in a layout, or None where they do not have it."""
    down, across = (block.ld, 1) if block.layout == ROW_MAJOR else (1, block.ld)
    if layout == ROW_MAJOR:
        lines, length, apart, beside = block.n, block.nrhs, down, across
    else:
        lines, length, apart, beside = block.nrhs, block.n, across, down
    if lines < 2 or length == 0:
        return length if beside == 1 or length < 2 else None
    return apart if apart >= length and (beside == 1 or length == 1) else None


def _choose(operands: Sequence[Optional[Operand]]) -> tuple:
    """The layout for all operands, and the leading dimension of each in it: None where it must be copied first."""
    rows, columns = ([0 if one is None else leading_dimension(one.block, layout) for one in operands] for layout in (ROW_MAJOR, COL_MAJOR))
    return (COL_MAJOR, columns) if None in rows and None not in columns else (ROW_MAJOR, rows)


def _joined(operands: Sequence[Optional[Operand]], layout: int, dimensions: Sequence[int], code: int) -> tuple:
    """(the blocks of all items, arrays that they point into). Items without an operand have no columns."""
    pointers = numpy.array([0 if one is None else one.block.data or 0 for one in operands], numpy.uint64)
    numbers = numpy.array([dimensions, [0 if one is None else one.block.nrhs for one in operands]], numpy.int64)
    block = _lib.sized(BatchBlock, lib.sptrsm_batch_block_init_sized)
    block.data_of, block.ld_of, block.nrhs_of = address(pointers), address(numbers[0]), address(numbers[1])
    block.dtype, block.layout = code, layout
    block.place = next((one.block.place for one in operands if one is not None), HOST)
    return block, (pointers, numbers)


def _read(B: Sequence, solver, orders: Sequence[int], stream: Optional[int], wanted) -> list:
    """The operands of the right-hand sides, all in one place."""
    family = _family(B)
    given: list = [None] * len(B)
    for i, b in enumerate(B):
        name = f"B[{i}]"
        if b is None and wanted is not None and not wanted[i]:
            continue
        if b is None or (family_of(b) or "numpy") != family:
            raise TypeError(f"{name} is of {family_of(b) or type(b).__name__}, and other arrays of B of {family}; pass arrays of one "
                            "package, and None only for items that mask= leaves out")
        given[i] = operand(b, solver._dtype, orders[i], name, stream)
        check_place(name, given[i].device, solver._device)
        if given[i].device != next(one.device for one in given if one is not None):
            raise ValueError(f"{name} is on {given[i].device} and other arrays of B are not; copy it to where they are")
    return given


def _family(B: Sequence) -> str:
    """The package of the arrays in a list; numbers and lists of them count as arrays of NumPy do."""
    return next((family_of(b) for b in B if b is not None), "") or "numpy"


def check_length(name: str, given: Any, count: int) -> None:
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} arrays, the batch {count} items; pass one for each")


def _write(B: Sequence, given: Sequence[Optional[Operand]], solver, orders: Sequence[int], out: Optional[Sequence], stream: Optional[int],
           fill: Optional[float]) -> tuple:
    """(operands, arrays, finishes) for X, where an array is made by its finish if that is not None."""
    family = _family(B)
    targets: list = []
    for i, one in enumerate(given):
        if one is None:
            targets.append((None, None if out is None else out[i], None))
        elif out is not None:
            targets.append((target_of(out[i], one, solver, family, f"out[{i}]", stream, orders[i], None), out[i], None))
        else:
            targets.append(new_target(B[i], one.shape, one.block.layout, one.device.place, solver, stream, fill=fill))
    return tuple(zip(*targets)) if targets else ((), (), ())


def solve(solver, orders: Sequence[int], B: Sequence, out: Optional[Sequence], stream, wanted, fill: Optional[float],
          run: Callable[[BatchBlock, BatchBlock], None]) -> list:
    """Calls run(blocks of B, blocks of X) and returns the list of X: those of `out`, or new arrays, of B's kind, shapes and layouts.

    The work is done on `stream`; None: the default stream. wanted has the items to solve, None: all; B and X may be None where an item is
    not wanted. fill: what new arrays hold at first.
    """
    check_length("B", B, len(orders))
    if out is not None:
        check_length("out", out, len(orders))
    family = _family(B)
    handle = stream_handle(stream)
    given = _read(B, solver, orders, handle, wanted)
    layout, dimensions = _choose(given)
    for i, dimension in enumerate(dimensions):
        if dimension is None:
            with making_on(B[i], handle if given[i].device.place == CUDA else None):
                given[i] = operand(compact(B[i], family, f"B[{i}]"), solver._dtype, orders[i], f"B[{i}]", handle)
            dimensions[i] = leading_dimension(given[i].block, layout)
    targets, results, finishes = _write(B, given, solver, orders, out, handle, fill)
    layout_of_X, dimensions_of_X = _choose(targets)
    if None in dimensions_of_X:
        raise ValueError(f"out[{dimensions_of_X.index(None)}] is in F order and other arrays of out are not; pass arrays in one order")
    b, keep_b = _joined(given, layout, dimensions, solver._code)
    x, keep_x = _joined(targets, layout_of_X, dimensions_of_X, solver._code)
    run_on(solver, stream, must_wait(b.place, family), lambda: run(b, x))
    for one in results:
        if out is not None and one is not None:
            changed(one, family)
    return [finish() if finish else result for finish, result in zip(finishes, results)]
