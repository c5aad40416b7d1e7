"""Sphinx configuration of the documentation site; scripts/site.sh runs it with the root of the repository as source folder.

The pages are the Markdown files of the repository where they are, so a link between two of them works here as it does in a checkout.
A link to any other file (a source, a header, a script) becomes a download of that file.
"""
import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "sptrsm"
author = copyright = "the sptrsm developers"
version = release = ".".join(re.findall(r"^#define SPTRSM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", (ROOT / "include/sptrsm.h").read_text(), re.M))

extensions = ["myst_parser", "breathe"]
root_doc = "docs/README"
include_patterns = ["*.md", "docs/**.md", "src/**.md", "apps/**.md", "bindings/**.md", "python/*.md", "data/*.md", "tests/**.md"]
exclude_patterns = ["build*/**", "docs/site/contents.md"]

myst_heading_anchors = 6
myst_enable_extensions = ["colon_fence"]
suppress_warnings = ["myst.header"]  # some pages of notes go from # to ###

breathe_projects = {"sptrsm": os.environ.get("SPTRSM_DOXYGEN_XML", str(ROOT / "build/api/xml"))}
breathe_default_project = "sptrsm"
breathe_domain_by_extension = {"h": "c"}
breathe_show_include = False
c_extra_keywords = []

html_theme = "furo"
html_title = f"sptrsm {version}"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_extra_path = ["index.html"]
html_copy_source = False
html_show_sphinx = False


def add_contents(app, docname, source):
    """The sidebar: contents.md has the toctrees, which would be noise in docs/README.md on a code host."""
    if docname == root_doc:
        source[0] += "\n" + (ROOT / "docs/site/contents.md").read_text()


def leave_folders_plain(app, env, node, contnode):
    """A link to a folder, or to a hidden file, which a code host shows and this site does not have."""
    target = (ROOT / node.get("refdoc", "")).parent / node.get("reftarget", "")
    return contnode if target.is_dir() or target.name.startswith(".") and target.exists() else None


def setup(app):
    app.connect("source-read", add_contents)
    app.connect("missing-reference", leave_folders_plain)
