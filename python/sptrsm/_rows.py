"""Few rows of X: the part of a factor set that they need (include/sptrsm_reach.h)."""
from __future__ import annotations

import ctypes

import numpy

from . import _arrays, _lib
from ._errors import check
from ._lib import Block, lib
from ._sparse import address


class Rows:
    """The part of a factor set that gives certain rows of X (include/sptrsm_reach.h), as a solver of its own."""

    def __init__(self, owner, system: int, op: int, rows: numpy.ndarray):
        wanted = numpy.unique(rows).astype(numpy.int32)
        request = _lib.sized(_lib.ReachRequest, lib.sptrsm_reach_request_init_sized)
        request.system, request.op, request.wanted, request.wanted_count = system, op, address(wanted), len(wanted)
        reach, part = ctypes.c_void_p(), _lib.sized(_lib.ReachPart)
        host = owner._set.on_host()  # the struct points into its arrays
        check(lib.sptrsm_reach_create(reach, host.as_struct(), request))
        try:
            check(lib.sptrsm_reach_part_of(part, reach))
            self._n, self._b_rows = part.m, numpy.array(part.b_rows[:part.m], numpy.int64)
            x_rows = numpy.array(part.x_rows[:part.m], numpy.int64)
            handle = ctypes.c_void_p()
            check(lib.sptrsm_direct_create(handle, owner._context.handle, part.factors, owner._options.as_struct()))
            self._handle = handle.value
        finally:
            lib.sptrsm_reach_destroy(reach)
        self.key, self._system, self._op = (system, op, rows.tobytes()), system, op
        for name in ("_dtype", "_code", "_device", "_on_host", "_lock", "_context"):  # what _arrays.solve needs
            setattr(self, name, getattr(owner, name))
        self._at = numpy.searchsorted(x_rows, rows)  # all rows of B count, so the part has every wanted row

    def _run(self, alpha, B: Block, X: Block) -> None:
        check(lib.sptrsm_direct_solve(self._handle, self._system, self._op, None if alpha is None else address(alpha), B, X))

    def solve(self, B, alpha):
        """The wanted rows of X, in the order in which they were asked for; B has all rows."""
        return _arrays.solve(self, B[self._b_rows], None, None, lambda b, x: self._run(alpha, b, x))[self._at]

    def free(self) -> None:
        lib.sptrsm_direct_destroy(self._handle)
        self._handle = None
