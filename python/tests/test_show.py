"""Level sets and pictures."""
import sys

import numpy
import pytest
import scipy.sparse
from conftest import general, triangle

import sptrsm
from sptrsm import _show
from sptrsm._show import level_sizes


@pytest.mark.parametrize("form", ("csr", "csc"))
@pytest.mark.parametrize("lower", (True, False))
def test_level_sets(form, lower):
    """The longest path by its definition, on the dense triangle."""
    T = sptrsm.triangular(triangle(30, "float64", lower, form), lower)
    dense, level = triangle(30, "float64", lower).toarray(), numpy.zeros(30, int)
    for i in range(30) if lower else reversed(range(30)):
        level[i] = max((level[j] + 1 for j in numpy.flatnonzero(dense[i]) if j != i), default=0)
    assert (level_sizes(T._matrix, lower) == numpy.bincount(level)).all()
    assert T.info.levels in (-1, level.max() + 1)


def test_pictures():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    F = sptrsm.splu(general(30))
    for picture in (sptrsm.plot_levels, sptrsm.spy):
        axes = picture(F)
        assert [axis.get_title()[0] for axis in axes] == ["L", "U"]
        axes[0].figure.canvas.draw()
    with pytest.raises(TypeError, match="Triangular"):
        sptrsm.spy(general(3))


def test_notebooks_show_closed_and_large_solvers():
    T, F = sptrsm.triangular(triangle(30)), sptrsm.splu(general(30))
    assert T._repr_html_().count("<svg") == 1 and F._repr_html_().count("<svg") == 2
    for solver in (T, F):
        solver.close()
        assert "closed" in solver._repr_html_() and "<sptrsm" not in solver._repr_html_()


def test_a_large_solver_is_shown_without_a_walk_over_its_rows(monkeypatch):
    monkeypatch.setattr(_show, "level_sizes", None)  # would raise
    T = sptrsm.triangular(2 * scipy.sparse.eye_array(_show.SHOWN_ROWS + 1, format="csr"))
    assert len(T._repr_html_()) < 5000


def test_missing_matplotlib_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        sptrsm.spy(sptrsm.splu(general(5)))
