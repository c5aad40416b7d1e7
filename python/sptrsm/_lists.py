"""Lists with an array for each item of a batch: blocks at pointers of their own.

The library takes all blocks of a call in one layout. Vectors, single rows and matrices in C order are blocks of rows. A list is one of
columns, for matrices in F order, if all its arrays can be that; otherwise matrices in F order are copied.
"""
from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import numpy

from . import _lib
from ._arrays import Operand, changed, check_place, compact, new_target, operand, run_on, target_of
from ._context import current_stream, family_of, making_on, stream_handle
from ._lib import COL_MAJOR, CUDA, ROW_MAJOR, BatchBlock, Block, lib
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


def _layout(operands: Sequence[Optional[Operand]]) -> int:
    def all_in(layout: int) -> bool:
        return all(one is None or leading_dimension(one.block, layout) is not None for one in operands)

    return COL_MAJOR if all_in(COL_MAJOR) and not all_in(ROW_MAJOR) else ROW_MAJOR


def _joined(operands: Sequence[Optional[Operand]], layout: int, code: int) -> tuple:
    """(the blocks of all items, arrays that they point into). Items without an operand have no columns."""
    numbers = numpy.zeros((3, len(operands)), numpy.int64)
    place = 0
    for i, one in enumerate(operands):
        if one is not None:
            place = one.block.place
            numbers[:, i] = [one.block.data or 0, leading_dimension(one.block, layout) or 0, one.block.nrhs]
    block = _lib.sized(BatchBlock, lib.sptrsm_batch_block_init_sized)
    block.data_of, block.ld_of, block.nrhs_of = (address(row) for row in numbers)
    block.dtype, block.layout, block.place = code, layout, place
    return block, numbers


def _read(B: Sequence, solver, orders: Sequence[int], stream: Optional[int], wanted) -> list:
    """The operands of the right-hand sides, all in one place and in layouts that go together."""
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
    layout = _layout(given)
    for i, one in enumerate(given):
        if one is not None and leading_dimension(one.block, layout) is None:
            with making_on(B[i], stream if one.device.place == CUDA else None):
                given[i] = operand(compact(B[i], family, f"B[{i}]"), solver._dtype, orders[i], f"B[{i}]", stream)
    return given


def _family(B: Sequence) -> str:
    """The package of the arrays in a list; numbers and lists of them count as arrays of NumPy do."""
    return next((family_of(b) for b in B if b is not None), "") or "numpy"


def _check_layouts(targets: Sequence[Optional[Operand]]) -> None:
    layout = _layout(targets)
    for i, one in enumerate(targets):
        if one is not None and leading_dimension(one.block, layout) is None:
            raise ValueError(f"out[{i}] is in F order and other arrays of out are not; pass arrays in one order")


def check_length(name: str, given: Any, count: int) -> None:
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} arrays, the batch {count} items; pass one for each")


def solve(solver, orders: Sequence[int], B: Sequence, out: Optional[Sequence], stream, wanted, fill: bool,
          run: Callable[[BatchBlock, BatchBlock], None]) -> list:
    """Calls run(blocks of B, blocks of X) and returns the list of X: those of `out`, or new arrays, of B's kind, shapes and layouts.

    wanted has the items to solve, None: all. B and X may be None where an item is not wanted. fill: new arrays are NaN at first.
    """
    check_length("B", B, len(orders))
    like = next((b for b in B if b is not None), None)
    family = _family(B)
    if stream is None:
        stream = current_stream(like)
    handle = stream_handle(stream)
    given = _read(B, solver, orders, handle, wanted)
    results: list = [None] * len(B)
    targets: list = [None] * len(B)
    finishes: list = [None] * len(B)
    if out is not None:
        check_length("out", out, len(orders))
        results = list(out)
    for i, one in enumerate(given):
        if one is None:
            continue
        if out is not None:
            targets[i] = target_of(out[i], one, solver, family, f"out[{i}]", handle, orders[i], None)
        else:
            targets[i], results[i], finishes[i] = new_target(B[i], one, solver, family, handle, orders[i], None, fill)
    _check_layouts(targets)
    (b, keep_b), (x, keep_x) = (_joined(operands, _layout(operands), solver._code) for operands in (given, targets))
    run_on(solver, stream, b.place == CUDA and family not in ("cupy", "torch"), lambda: run(b, x))
    for one in results if out is not None else ():
        changed(one, family)
    return [finish() if finish else result for finish, result in zip(finishes, results)]
