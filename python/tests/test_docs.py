"""docs/python.md, the notebook and the examples of docstrings run.

Blocks of one section of docs/python.md run in their order in one namespace; sections do not know each other.

A comment `<!-- needs NAME ... -->` above a block names what it needs: packages, or cuda for a device. Where one is missing, the block and
those after it in its section are skipped.
"""
import doctest
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import sptrsm

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"(?:<!-- needs ([^>]*) -->\n+)?```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytest.importorskip("scipy")
if not (DOCS / "python.md").exists():
    pytest.skip("the tests lie outside a checkout, which has docs/python.md", allow_module_level=True)


def sections() -> list:
    """(title, [(needs, code, number of lines before it), ...]) for each section that has Python blocks."""
    text = (DOCS / "python.md").read_text()
    found = []
    for part in re.finditer(r"^## (.*?)$(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE):
        blocks = [((block[1] or "").split(), block[3], text.count("\n", 0, part.start(2) + block.start(3)))
                  for block in BLOCK.finditer(part[2]) if block[2] == "python"]
        if blocks:
            found.append((part[1], blocks))
    return found


def missing(needs: list) -> list:
    return [name for name in needs if (sptrsm.device_count() == 0 if name == "cuda" else importlib.util.find_spec(name) is None)]


@pytest.mark.parametrize("title,blocks", [pytest.param(*section, id=section[0]) for section in sections()])
def test_the_blocks_of_a_section_run(title, blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    for needs, code, lines in blocks:
        lacking = missing(needs)
        if lacking:
            pytest.skip(f"line {lines} of docs/python.md needs " + ", ".join(lacking))
        exec(compile("\n" * lines + code, str(DOCS / "python.md"), "exec"), namespace)


MODULES = ["sptrsm"] + [f"sptrsm.{module.name}" for module in pkgutil.iter_modules(sptrsm.__path__)]
WITH_EXAMPLES = {"sptrsm", "sptrsm._factors", "sptrsm._show", "sptrsm._sources", "sptrsm._triangular", "sptrsm.jax", "sptrsm.torch"}


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name):
    if name in ("sptrsm.torch", "sptrsm.jax"):
        pytest.importorskip(name.partition(".")[2])
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0 and (result.attempted > 0) == (name in WITH_EXAMPLES)


def test_the_readme_solves(tmp_path, monkeypatch):
    numpy, sparse = pytest.importorskip("numpy"), pytest.importorskip("scipy.sparse")
    code = re.search(r"```python\n(import sptrsm.*?)```", (DOCS.parent / "README.md").read_text(), re.DOTALL)[1]
    namespace = {"A": sparse.eye_array(3, format="csc") * 2, "B": numpy.ones((3, 2))}
    exec(code, namespace)
    assert numpy.array_equal(namespace["X"], numpy.full((3, 2), 0.5))


def test_every_block_is_found():
    """A block that the pattern missed would never run."""
    text = (DOCS / "python.md").read_text()
    assert sum(len(blocks) for _, blocks in sections()) == len(re.findall(r"^```python$", text, re.MULTILINE)) > 5


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
