"""Level sets and pictures."""
import numpy
import pytest
from conftest import general, triangle

import sptrsm
from sptrsm._show import level_sizes


@pytest.mark.parametrize("form", ("csr", "csc"))
@pytest.mark.parametrize("lower", (True, False))
def test_level_sets(form, lower):
    """The longest path by its definition, on the dense triangle."""
    T = sptrsm.triangular(triangle(30, "float64", lower, form), lower)
    dense, level = triangle(30, "float64", lower).toarray(), numpy.zeros(30, int)
    for i in range(30) if lower else reversed(range(30)):
        level[i] = max((level[j] + 1 for j in numpy.flatnonzero(dense[i]) if j != i), default=0)
    assert (level_sizes(T.matrix, lower) == numpy.bincount(level)).all()
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
