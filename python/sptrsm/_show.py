"""Pictures of triangles: level sets and patterns. Needs matplotlib, which is imported when a picture is asked for."""
from __future__ import annotations

from html import escape
from typing import Any, Union

import numpy

from ._factors import Factors
from ._sparse import Matrix, on_host
from ._triangular import Triangular

BARS = 60
SHOWN_ROWS, SHOWN_ENTRIES = 20_000, 2_000_000  # level sets of more are shown by plot_levels alone, since Python finds them row by row


def triangles(solver) -> list:
    """(name, matrix, lower) of the triangles that a solver holds."""
    if isinstance(solver, Triangular):
        return [("T", on_host(solver._matrix), solver.lower)]
    if isinstance(solver, Factors):
        return [(name, on_host(T), name == "L") for name, T in (("L", solver.factors.L), ("U", solver.factors.U)) if T is not None]
    raise TypeError(f"pass a Triangular or Factors, not {type(solver).__name__}")


def level_sizes(matrix: Matrix, lower: bool) -> numpy.ndarray:
    """Number of rows in each level set: level 0 depends on no other row, level k + 1 on one of level k.

    Examples
    --------
    >>> import numpy
    >>> T = Matrix("csr", 3, numpy.array([0, 1, 3, 4]), numpy.array([0, 0, 1, 2]), numpy.ones(4))
    >>> level_sizes(T, lower=True)
    array([2, 1])
    """
    level = numpy.zeros(matrix.n, numpy.int64)
    indptr, indices = matrix.indptr.tolist(), matrix.indices
    forward = range(matrix.n) if lower else range(matrix.n - 1, -1, -1)
    for i in forward:
        line = indices[indptr[i]:indptr[i + 1]]
        line = line[line != i]
        if len(line) == 0:
            continue
        if matrix.format == "csr":
            level[i] = level[line].max() + 1
        else:
            level[line] = numpy.maximum(level[line], level[i] + 1)
    return numpy.bincount(level, minlength=0)


def _pictures(solver, draw) -> list:
    """A picture of each triangle of a solver, by draw(axis, name, matrix, lower)."""
    parts = triangles(solver)
    try:
        import matplotlib.pyplot as pyplot
    except ImportError as error:
        raise ImportError("pictures need the package matplotlib; pip install matplotlib") from error
    axes = pyplot.subplots(1, len(parts), figsize=(5 * len(parts), 4), squeeze=False)[1][0]
    for axis, part in zip(axes, parts):
        draw(axis, *part)
    return list(axes)


def _draw_levels(axis, name: str, matrix: Matrix, lower: bool) -> None:
    sizes = level_sizes(matrix, lower)
    axis.bar(numpy.arange(len(sizes)), sizes, width=1.0)
    axis.set(title=f"{name}: {len(sizes)} levels", xlabel="level", ylabel="rows", yscale="log")


def _draw_pattern(axis, name: str, matrix: Matrix, lower: bool) -> None:
    line = numpy.repeat(numpy.arange(matrix.n), numpy.diff(matrix.indptr))
    row, column = (line, matrix.indices) if matrix.format == "csr" else (matrix.indices, line)
    axis.plot(column, row, ",")
    axis.set(title=f"{name}: n = {matrix.n}, {matrix.nnz} entries", xlim=(-0.5, matrix.n - 0.5), ylim=(matrix.n - 0.5, -0.5),
             aspect="equal")


def plot_levels(solver: Union[Triangular, Factors]) -> list[Any]:
    """Draws the rows of each level set: many rows in few levels solve in parallel, long thin tails do not.

    Returns
    -------
    list of matplotlib.axes.Axes, one for each triangle
    """
    return _pictures(solver, _draw_levels)


def spy(solver: Union[Triangular, Factors]) -> list[Any]:
    """Draws the pattern of each triangle.

    Returns
    -------
    list of matplotlib.axes.Axes, one for each triangle
    """
    return _pictures(solver, _draw_pattern)


def _level_bars(name: str, matrix: Matrix, lower: bool) -> str:
    """The level sets of a triangle as at most BARS bars of HTML, each the largest of its part of the levels."""
    sizes = level_sizes(matrix, lower)
    groups = [int(group.max()) for group in numpy.array_split(sizes, min(BARS, max(1, len(sizes)))) if len(group)]
    top = max(groups, default=1)
    drawn = "".join(f'<rect x="{4 * k}" y="{40 - 40 * size / top:.1f}" width="3" height="{40 * size / top:.1f}"/>'
                    for k, size in enumerate(groups))
    picture = f'<svg width="{4 * len(groups)}" height="40">{drawn}</svg>'
    return f"<div>{name}: {len(sizes)} levels, at most {top} rows<br>{picture}</div>"


def as_html(solver) -> str:
    """What a notebook shows: the table of `info`, and the level sets where they are quickly found. A closed solver has its repr alone."""
    try:
        table = solver.info._repr_html_()
    except ValueError:
        return f"<pre>{escape(repr(solver))}</pre>"
    if not isinstance(solver, (Triangular, Factors)) or solver.nnz > SHOWN_ENTRIES or solver.shape[0] > SHOWN_ROWS:
        return table
    return table + "".join(_level_bars(*part) for part in triangles(solver))
