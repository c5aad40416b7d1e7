"""Sphinx configuration of the documentation site; scripts/site.sh runs it with the root of the repository as source folder.

The pages are the Markdown files of the repository where they are, so a link between two of them works here as it does in a checkout.
A link to any other file (a source, a script, data) becomes a download of that file.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "sptrsm"
author = copyright = "the sptrsm developers"
version = release = ".".join(re.findall(r"^#define SPTRSM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", (ROOT / "include/sptrsm.h").read_text(), re.M))

extensions = ["myst_parser", "breathe", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/README"
include_patterns = ["*.md", "apps/**.md", "bindings/**.md", "data/*.md", "docs/**.md", "python/*.md", "src/**.md", "tests/**.md"]
exclude_patterns = ["build*/**", "docs/site/**"]
myst_heading_anchors = 6
suppress_warnings = ["myst.header"]  # pages of notes may go from # to ###

breathe_projects = {"sptrsm": str(ROOT / "build/api/xml")}  # by scripts/api-pages.sh
breathe_default_project = "sptrsm"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False

sys.path.insert(0, str(ROOT / "python"))
autodoc_mock_imports = ["numpy", "torch", "jax", "sptrsm._lib"]  # so that the pages need neither these packages nor the library
autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = f"sptrsm {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]
html_copy_source = False
html_show_sphinx = False


def add_contents(app, docname, source):
    """The sidebar. contents.md has its toctrees, which would be noise in docs/README.md where Markdown is all there is. And the reasons why
    code blocks are not run by the tests, which are comments in Markdown."""
    source[0] = re.sub(r"^<!-- not run: (.*) -->$", r"*Not run by the tests: \1.*\n", source[0], flags=re.M)
    if docname == root_doc:
        source[0] += "\n" + (ROOT / "docs/site/contents.md").read_text()


def mark(app, doctree):
    """READMEs of folders and notes are found by links and by search, not in the sidebar; charts get a class, for site.css."""
    docname = app.env.docname
    if not docname.startswith("docs/") or docname.startswith(("docs/lab/", "docs/charts/")):
        app.env.metadata[docname].setdefault("orphan", "")
    for image in doctree.findall(lambda node: node.tagname == "image" and "/charts/" in "/" + node["uri"]):
        image["classes"].append("chart")


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("doctree-read", mark)
