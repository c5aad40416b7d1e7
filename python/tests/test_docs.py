"""The Python blocks of the documentation's pages, the notebook and the examples of docstrings run, and figures that a page repeats are
those of the page it names.

Blocks of one section of docs/python.md, and those of another page, run in their order in one namespace; others do not know each other.
Blocks in other languages are run by tests/pages.

A comment `<!-- needs NAME ... -->` above a block names what it needs: packages, or cuda for a device. Where one is missing, the block and
those after it in its section are skipped.
"""
import doctest
import importlib.util
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Optional

import pytest

import sptrsm

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"(?:<!-- needs ([^>]*) -->\n+)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytest.importorskip("scipy")
if not (DOCS / "python.md").exists():
    pytest.skip("the tests lie outside a checkout, which has docs/python.md", allow_module_level=True)


ROOT = DOCS.parent
# All pages of the site but docs/python.md, which comes in sections.
PAGES = sorted({*ROOT.glob("*.md"), *(page for folder in ("apps", "bindings", "data", "docs", "python", "src", "tests")
                                      for page in (ROOT / folder).rglob("*.md"))} - {DOCS / "python.md"})


def blocks_of(text: str, begin: int = 0, end: Optional[int] = None) -> list:
    """(needs, code, number of lines before it) for each Python block of text[begin:end]."""
    return [((block[1] or "").split(), block[3], text.count("\n", 0, block.start(3)))
            for block in BLOCK.finditer(text, begin, len(text) if end is None else end) if block[2] == "python"]


def parts() -> list:
    """(title, page, blocks) for each section of python.md and each other page that has Python blocks."""
    text = (DOCS / "python.md").read_text()
    found = [(part[1], DOCS / "python.md", blocks_of(text, part.start(2), part.end(2)))
             for part in re.finditer(r"^## (.*?)$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)]
    found += [(str(page.relative_to(ROOT)), page, blocks_of(page.read_text())) for page in PAGES]
    return [part for part in found if part[2]]


def runs() -> list:
    """The parts, and before one with blocks that need something those in front of them, which run everywhere."""
    found = []
    for title, page, blocks in parts():
        first = next((i for i, (needs, _, _) in enumerate(blocks) if needs), 0)
        if first:
            found.append((f"{title}, without {' '.join(blocks[first][0])}", page, blocks[:first]))
        found.append((title, page, blocks))
    return found


def missing(needs: list) -> list:
    return [name for name in needs if (sptrsm.device_count() == 0 if name == "cuda" else importlib.util.find_spec(name) is None)]


def given(page: Path) -> dict:
    """What the text of a page of reference takes as known: a matrix A and its triangle L, right-hand sides B, C, factors F0, F1, F2."""
    if page not in (ROOT / "README.md", ROOT / "data/README.md", ROOT / "python/README.md", DOCS / "formats.md"):
        return {}
    h5py = pytest.importorskip("h5py")
    import numpy
    import scipy.sparse.linalg
    A = scipy.sparse.csc_array([[4.0, 1.0, 0.0], [2.0, 5.0, 1.0], [0.0, 1.0, 3.0]])
    F0, F1, F2 = (sptrsm.splu(A * scale) for scale in (1.0, 2.0, 3.0))
    B = scipy.sparse.csc_array(numpy.ones((3, 2))) if page.name == "formats.md" else numpy.ones((3, 2))
    return dict(A=A, B=B, C=numpy.ones((2, 3)), F0=F0, F1=F1, F2=F2, L=scipy.sparse.tril(A).tocsc(), X_true=numpy.ones((3, 2)),
                scipy=scipy, h5py=h5py)


@pytest.mark.parametrize("page,blocks", [pytest.param(page, blocks, id=title) for title, page, blocks in runs()])
def test_the_blocks_run(page, blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    namespace = {"__name__": "__main__", **given(page)}
    for needs, code, lines in blocks:
        lacking = missing(needs)
        if lacking:
            pytest.skip(f"line {lines} of {page.name} needs " + ", ".join(lacking))
        exec(compile("\n" * lines + code, str(page), "exec"), namespace)


MODULES = ["sptrsm"] + [f"sptrsm.{module.name}" for module in pkgutil.iter_modules(sptrsm.__path__)]
WITH_EXAMPLES = {"sptrsm", "sptrsm._batch", "sptrsm._factors", "sptrsm._schur", "sptrsm._show", "sptrsm._sources", "sptrsm._triangular",
                 "sptrsm.jax", "sptrsm.torch"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name):
    if name in ("sptrsm.torch", "sptrsm.jax"):
        pytest.importorskip(name.partition(".")[2])
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0 and (result.attempted > 0) == (name in WITH_EXAMPLES)


def test_every_block_is_found():
    """A block that the pattern missed would never run."""
    for page in [DOCS / "python.md", *PAGES]:
        found = sum(len(blocks) for _, where, blocks in parts() if where == page)
        assert found == len(re.findall(r"^```python$", page.read_text(), re.MULTILINE)), page
    assert len(parts()) > 10


def numbers(text: str) -> set:
    return {number.replace(",", "").rstrip(".") for number in re.findall(r"\d[\d,.]*", text)}


def section(target: str) -> str:
    """The text of PAGE#SECTION, or of all of PAGE."""
    page, _, name = target.partition("#")
    text = (DOCS / page).read_text()
    if not name:
        return text
    slugs = {re.sub(r"[^\w -]", "", part.split("\n", 1)[0].lower()).replace(" ", "-"): part for part in text.split("\n## ")[1:]}
    return slugs[name]


def test_figures_beside_the_papers_are_those_measured():
    """In docs/papers.md every number in a cell of ours that links to measurements stands in the sections that it links to."""
    text = (DOCS / "papers.md").read_text()
    targets = dict(re.findall(r"^\[([a-z0-9-]+)\]: (\S+)$", text, re.MULTILINE))
    checked = 0
    for row in re.findall(r"^\|(?!---).*\|$", text, re.MULTILINE):
        ours = row.strip("|").split("|")[-1]
        pages = [targets[name] for name in re.findall(r"\[figures\]\[(.*?)\]", ours)] + re.findall(r"\]\((lab/[a-z-]+\.md)\)", ours)
        # Neither code nor targets of links nor sizes of grids.
        words = re.sub(r"`[^`]*`|\]\([^)]*\)|\]\[[^]]*\]|\d+ x \d+ x \d+", " ", ours)
        known = set().union(*(numbers(section(page)) for page in pages))
        for figure in numbers(re.sub(r"SpS[VM]|f64|f32", " ", words)) if pages else ():
            assert figure in known, f"{figure} of the row {row[:60]}... is not in {pages}"
            checked += 1
    assert checked > 40


def test_the_notebook_runs(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    monkeypatch.delenv("MPLBACKEND", raising=False)  # another backend than the notebook's own shows nothing there
    notebook = nbformat.read(DOCS / "notebooks" / "first-steps.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=None, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    plots = [output for cell in notebook.cells for output in cell.get("outputs", []) if "image/png" in output.get("data", {})]
    assert len(plots) == 2


def test_charts_are_those_of_their_data(tmp_path):
    """docs/charts/*.svg are what scripts/plots.py draws, byte for byte where matplotlib is the version that drew them."""
    matplotlib = pytest.importorskip("matplotlib")
    data = sorted((DOCS / "charts/data").glob("*.json"))
    assert [chart.stem for chart in data] == sorted(chart.stem for chart in (DOCS / "charts").glob("*.svg"))
    drawn_by = f"Matplotlib v{matplotlib.__version__},"
    if drawn_by not in (DOCS / f"charts/{data[0].stem}.svg").read_text():
        pytest.skip(f"the charts were drawn by another matplotlib than {matplotlib.__version__}")
    subprocess.run([sys.executable, ROOT / "scripts/plots.py", *data, "--out", tmp_path, "--format", "svg"], check=True)
    for chart in data:
        name = f"{chart.stem}.svg"
        assert (tmp_path / name).read_bytes() == (DOCS / "charts" / name).read_bytes(), f"{name} is not what {chart} describes"
