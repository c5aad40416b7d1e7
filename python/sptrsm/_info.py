"""What an analysis chose and found, as Python values."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Optional

import numpy

from . import _lib
from ._errors import check
from ._lib import lib


@dataclass(frozen=True)
class Info:
    """The analysis of one triangle; printed as a small table.

    levels is -1 where the analysis does not compute them. panel is the number of right-hand sides worked on at once, plan_bytes the memory of
    the analysis beyond the matrix, flops_per_rhs the floating-point operations of one right-hand side.
    """

    method: str
    reason: str
    parameters: str
    n: int
    nnz: int
    dtype: str
    device: str
    levels: int
    panel: int
    deterministic: bool
    analysis_seconds: float
    plan_bytes: int
    flops_per_rhs: float

    @property
    def choice(self) -> str:
        """The method and why it was taken, for a repr."""
        return f"{self.method} ({self.reason})"

    def rows(self) -> list[tuple[str, str]]:
        """Names and values as text, without those that say nothing."""
        return [(field.name.replace("_", " "), _text(getattr(self, field.name))) for field in fields(self)
                if getattr(self, field.name) not in ("", -1)]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        from html import escape

        return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.rows()) + "</table>"


def _text(value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


class FactorsInfo(NamedTuple):
    """The analyses of L and U; U is None where it is L transposed."""

    L: Info
    U: Optional[Info]

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n{info}" for name, info in zip("LU", self) if info)

    def _repr_html_(self) -> str:
        return "".join(f"<b>{name}</b>{info._repr_html_()}" for name, info in zip("LU", self) if info)


def from_struct(info: _lib.Info, dtype: numpy.dtype, n: int) -> Info:
    return Info(info.method.decode(), info.reason.decode(), info.parameters.decode(), n, info.nnz, dtype.name,
                "cuda" if info.place == _lib.CUDA else "cpu", info.levels, info.panel, bool(info.deterministic), info.analysis_seconds,
                info.plan_bytes, info.flops_per_rhs)


def plan_info(plan: int, dtype: numpy.dtype, n: int) -> Info:
    info = _lib.sized(_lib.Info)
    check(lib.sptrsm_plan_info(info, plan))
    return from_struct(info, dtype, n)


def direct_info(direct: int, dtype: numpy.dtype, n: int, has_U: bool) -> FactorsInfo:
    L, U = _lib.sized(_lib.Info), _lib.sized(_lib.Info)
    check(lib.sptrsm_direct_info(L, U if has_U else None, direct))
    return FactorsInfo(from_struct(L, dtype, n), from_struct(U, dtype, n) if has_U else None)
