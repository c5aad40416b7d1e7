"""Exceptions. Each message is the library's one line: what was wrong, where, and what to do."""
from __future__ import annotations

import re
from typing import Optional

import numpy

from ._lib import lib


class SptrsmError(Exception):
    """Base of all errors that the library reports; raised itself for errors that no other class names."""


class ArgumentError(SptrsmError, ValueError):
    """The call is wrong: sizes that do not fit together, an unknown method or parameter."""


class StructureError(SptrsmError, ValueError):
    """The matrix is wrong: an entry out of range, duplicate, or in the other triangle."""


class FormatError(SptrsmError, ValueError):
    """A file can't be read or written, or does not hold what it should."""


class SingularError(SptrsmError, numpy.linalg.LinAlgError):
    """A diagonal entry is missing, zero or not finite.

    Attributes
    ----------
    index : int or None
        Row of the entry, from 0; None if the message names none.
    item : int or None
        In a batch, the number of the item.
    """

    def __init__(self, message: str, item: Optional[int] = None):
        super().__init__(message)
        self.item = item
        found = re.search(r"\((\d+),\d+\)|\[(\d+)\]|rows? (\d+)", message)
        self.index = next((int(number) for number in found.groups() if number), None) if found else None


class OutOfMemoryError(SptrsmError, MemoryError):
    """Host or device memory is not enough, or memory_limit would be passed."""


class UnsupportedError(SptrsmError, NotImplementedError):
    """The request is correct but not available: a type, a size, a method, or a library built without CUDA."""


class DeviceError(SptrsmError, RuntimeError):
    """The GPU or its driver reported an error, or a CUDA object is used where it can't be."""


OF_STATUS = {-1: ArgumentError, -2: StructureError, -3: SingularError, -4: OutOfMemoryError, -5: FormatError, -6: UnsupportedError,
             -7: DeviceError}


def fail(status: int) -> None:
    """Raises the exception of a status other than 0; call it in the thread that received the status."""
    raise OF_STATUS.get(status, SptrsmError)(lib.sptrsm_last_error().decode(errors="replace"))


def check(status: int) -> None:
    if status:
        fail(status)
