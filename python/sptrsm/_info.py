"""What an analysis chose and found, as Python values."""
from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple, Optional

import numpy

from . import _lib
from ._errors import check
from ._lib import lib


class Table:
    """A dataclass that is printed as a small table, without the members that say nothing."""

    def rows(self) -> list[tuple[str, str]]:
        """Names and values as text."""
        members = [(field.name, getattr(self, field.name)) for field in fields(self)]  # type: ignore[arg-type]
        return [(name.replace("_", " "), _text(value)) for name, value in members if value not in ("", -1)]

    def __str__(self) -> str:
        rows = self.rows()
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)

    def _repr_html_(self) -> str:
        from html import escape

        return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self.rows()) + "</table>"


@dataclass(frozen=True)
class Info(Table):
    """The analysis of one triangle.

    levels is -1 where the analysis does not compute them. panel is the number of right-hand sides worked on at once, plan_bytes the memory
    of the analysis beyond the matrix, flops_per_rhs the floating-point operations of one right-hand side.
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


def _text(value) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class BatchInfo(Table):
    """What a batch is and takes; method, reason and panel are those of the largest item.

    kind is "uniform" (one pattern for all items) or "mixed". singular is the number of items that solves leave out. batch_bytes is the
    memory of factors and analyses, workspace_bytes what solves need beyond it, for the systems solved so far.
    """

    kind: str
    count: int
    n: int
    dtype: str
    device: str
    patterns: int
    singular: int
    method: str
    reason: str
    panel: int
    deterministic: bool
    capturable: bool
    analysis_seconds: float
    batch_bytes: int
    workspace_bytes: int


@dataclass(frozen=True)
class SchurInfo(Table):
    """What the analysis of a Schur complement found.

    groups of columns are solved together; reached is the share of all rows that they make nonzero: 1 for dense columns.
    """

    shape: tuple
    groups: int
    reached: float
    analysis_seconds: float
    workspace_bytes: int


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


def batch_info(batch: int, kind: str, dtype: numpy.dtype, device: str) -> BatchInfo:
    facts = _lib.sized(_lib.BatchFacts)
    check(lib.sptrsm_batch_info(facts, batch))
    return BatchInfo(kind, facts.count, facts.n_most, dtype.name, device, facts.patterns, facts.singular, facts.method.decode(),
                     facts.reason.decode(), facts.panel, bool(facts.deterministic), bool(facts.capturable), facts.analysis_seconds,
                     facts.batch_bytes, facts.workspace_bytes)


def schur_info(schur: int) -> SchurInfo:
    facts = _lib.sized(_lib.SchurFacts)
    check(lib.sptrsm_schur_info(facts, schur))
    return SchurInfo((facts.rows, facts.columns), facts.groups, facts.reached, facts.analysis_seconds, facts.workspace_bytes)
