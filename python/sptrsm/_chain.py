"""What sptrsm.torch and sptrsm.jax share: a solve as a chain of linear steps, each of which they know how to differentiate.

With the values of a solver as they are, a solve is one step. The derivative by the values of a factor needs the vectors before and after
that factor, so a solve with given values of a factor set goes step by step through x = C Q U^-1 D^-1 L^-1 P R b; for op T and H the same
chain is passed from its other end. The permutations with their scalings are indexing, which the frameworks differentiate themselves.
"""
from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import NamedTuple, Optional, Union

import numpy

from ._factors import Factors
from ._factorset import FactorSet
from ._options import operation
from ._sparse import Matrix, on_host
from ._triangular import Triangular

ADJOINT = {"N": "H", "H": "N"}
STORED = {"given": "N", "transpose": "T", "conjugate-transpose": "H"}  # U by FactorSet.upper: U itself, or L^T or L^H, by the values of L


class Permutation(NamedTuple):
    """y[i] = scale[i] b[source[i]]; scale None: ones."""

    source: numpy.ndarray
    scale: Optional[numpy.ndarray]

    def transposed(self) -> Permutation:
        inverse = numpy.argsort(self.source)
        return Permutation(inverse, None if self.scale is None else self.scale[inverse])


class Pattern(NamedTuple):
    """Row and column of each stored value, and the positions of values that the solver never reads."""

    rows: numpy.ndarray
    cols: numpy.ndarray
    unread: numpy.ndarray


@dataclass(frozen=True)
class Substitution:
    """op(S) X = B for a system S of a solver.

    part is the place of S's values among those that a caller gives; None: S has none. stored says what the values hold: S ("N"), its
    transpose ("T") or its conjugate transpose ("H").
    """

    solver: Union[Triangular, Factors]
    system: str
    trans: str
    part: Optional[int] = None
    stored: str = "N"

    def solve(self, B, trans: str):
        """X of op(S) X = B for the operation `trans`, which replaces the step's own."""
        return self.solver.solve(B, trans) if isinstance(self.solver, Triangular) else self.solver.solve(B, trans, system=self.system)

    def lock(self) -> AbstractContextManager:
        """While it is held no other thread gives the solver other values."""
        return self.solver._values_lock if isinstance(self.solver, Triangular) else self.solver._lock

    def held(self) -> object:
        """The object that holds the values of S in the solver. New values are in another object."""
        if isinstance(self.solver, Factors) and self.part is None:
            return self.solver._set.D if self.system == "D" else self.solver._values
        return self.matrix().data

    def matrix(self) -> Matrix:
        """The stored pattern and values."""
        return self.solver._matrix if isinstance(self.solver, Triangular) else self.solver._matrix("LU"[self.part])

    def set_values(self, values) -> None:
        if isinstance(self.solver, Triangular):
            self.solver.update_values(values)
        else:
            self.solver.update_values(**{"LU"[self.part]: values})

    @property
    def unit(self) -> bool:
        """Whether the diagonal of S is one, whatever is stored."""
        solver = self.solver
        return solver.unit_diagonal if isinstance(solver, Triangular) else (solver._set.unit_L, solver._set.unit_U)[self.part]

    def pattern(self) -> Pattern:
        """Where the stored values stand in S."""
        matrix = on_host(self.matrix())
        lines = numpy.repeat(numpy.arange(matrix.n), numpy.diff(matrix.indptr))
        places = matrix.indices.astype(numpy.int64)
        rows, cols = (lines, places) if (matrix.format == "csr") == (self.stored == "N") else (places, lines)
        return Pattern(rows, cols, numpy.flatnonzero(rows == cols) if self.unit else numpy.empty(0, numpy.int64))


Step = Union[Permutation, Substitution]


def chain(F: Union[Triangular, Factors], trans: str, values: Optional[tuple]) -> list[Step]:
    """The steps of op(A) X = B, first one first. values: None where all stay as they are."""
    if not isinstance(F, (Triangular, Factors)):
        raise TypeError(f"F is {type(F).__name__}; pass what sptrsm.triangular, from_splu or another constructor of sptrsm made")
    operation(trans)
    parts = 1 if isinstance(F, Triangular) or F._set.U is None else 2
    if values is not None and len(values) != parts:
        raise ValueError(f"values has {len(values)} parts, and the solver {parts}: pass " + ("values_L, values_U" if parts == 2 else "one"))
    if isinstance(F, Triangular):
        return [Substitution(F, "T", trans, part=0)]
    if values is None:
        return [Substitution(F, "A", trans)]
    steps = _factor_steps(F)
    if trans == "N":
        return steps
    return [step.transposed() if isinstance(step, Permutation) else replace(step, trans=trans) for step in reversed(steps)]


def _factor_steps(F: Factors) -> list[Step]:
    """The steps of A X = B by the factors of A."""
    factors = F._set
    if factors.upper not in STORED:
        raise ValueError("the factor set has no U, so it can't solve with A")
    stored = STORED[factors.upper]
    steps = [_rows_step(factors), Substitution(F, "L", "N", part=0), Substitution(F, "D", "N") if factors.D is not None else None,
             Substitution(F, "U", "N", part=1 if stored == "N" else 0, stored=stored), _cols_step(factors)]
    return [step for step in steps if step is not None]


def _rows_step(factors: FactorSet) -> Optional[Permutation]:
    """P R"""
    index, scale = _index(factors.perm_row, factors.row_convention == "gather"), _scale(factors, factors.scale_row, factors.row_op)
    if scale is None:
        return None if index is None else Permutation(index, None)
    return Permutation(numpy.arange(factors.L.n), scale) if index is None else Permutation(index, scale[index])


def _cols_step(factors: FactorSet) -> Optional[Permutation]:
    """C Q"""
    index, scale = _index(factors.perm_col, factors.col_convention == "gather"), _scale(factors, factors.scale_col, factors.col_op)
    if index is None and scale is None:
        return None
    return Permutation(numpy.arange(factors.L.n) if index is None else index, scale)


def _index(perm: Optional[numpy.ndarray], gather: bool) -> Optional[numpy.ndarray]:
    """index with y[i] = x[index[i]]"""
    return None if perm is None else perm.astype(numpy.int64) if gather else numpy.argsort(perm)


def _scale(factors: FactorSet, scale: Optional[numpy.ndarray], op: str) -> Optional[numpy.ndarray]:
    """Factors to multiply by, in the real type of the solver."""
    if scale is None:
        return None
    return (scale if op == "multiply" else 1 / scale).astype(factors.L.data.real.dtype)
