"""Arguments that are numbers, names and switches, checked before the library sees them.

ctypes cuts off what does not fit: the upper bits of a number, and all of a text from its first NUL on.
"""
from __future__ import annotations

import operator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Iterable

import numpy

from . import _lib

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1
MAX_THREADS = 4096


def integer(name: str, value, least: int, most: int) -> int:
    """The integer from `least` to `most` that `value` is."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}; pass an integer in {least}..{most}") from None
    if not least <= number <= most:
        raise ValueError(f"{name}={number} is not in {least}..{most}; pass an integer in this range")
    return number


def flag(name: str, value) -> bool:
    """A switch. Only truth values, 0 and 1 are taken: "upper" or "no" would count as True."""
    if not isinstance(value, (bool, int, numpy.bool_, numpy.integer)) or value not in (0, 1):
        raise TypeError(f"{name} is {value!r}; pass True or False")
    return bool(value)


def text(name: str, value, examples: str) -> bytes:
    """A name as the library reads it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is {value!r}; pass {examples}")
    if "\0" in value:
        raise ValueError(f"{name}={value!r} has a NUL in it; pass {examples}")
    return value.encode(errors="replace")


def operation(trans) -> int:
    """The library's number of op(T)."""
    if not isinstance(trans, str) or trans not in _lib.OPERATIONS:
        raise ValueError(f'trans={trans!r} is not "N", "T" or "H"')
    return _lib.OPERATIONS[trans]


def check_keywords(given: Iterable[str], known: list, named: Iterable[str]) -> None:
    """Refuses a keyword argument that is not among `known`, and names the nearest one of these and those `named` in the signature."""
    for name in given:
        if name not in known:
            near = get_close_matches(name, [*known, *named], 1)
            raise TypeError(f"unknown keyword argument {name!r}; " + (f"use {near[0]!r}" if near else "use one of " + ", ".join(known)))


@dataclass(frozen=True)
class Options:
    """How solvers work; triangular() and from_factors() describe the members."""

    method: str = "auto"
    deterministic: bool = False
    nrhs: int = 0
    memory_limit: int = 0
    threads: int = 0
    mixed: bool = False
    device_memory: int = 0

    def __post_init__(self) -> None:
        flag("deterministic", self.deterministic)
        flag("mixed", self.mixed)
        integer("nrhs", self.nrhs, 0, INT64_MAX)
        integer("memory_limit", self.memory_limit, 0, INT64_MAX)
        integer("threads", self.threads, 0, MAX_THREADS)
        integer("device_memory", self.device_memory, 0, INT64_MAX)
        text("method", self.method, '"auto" or a name of docs/methods.md')

    def as_struct(self) -> _lib.Options:
        struct = _lib.sized(_lib.Options, _lib.lib.sptrsm_options_init_sized)
        struct.method = self.method.encode(errors="replace")
        struct.deterministic, struct.nrhs_hint, struct.memory_limit = bool(self.deterministic), self.nrhs, self.memory_limit
        struct.precision = _lib.MIXED if self.mixed else _lib.WORKING
        return struct
