#!/usr/bin/env bash
# site.sh -- the documentation site in build/site/html: Sphinx over the Markdown pages of the repository, with the C API from Doxygen and the
# Python API from its docstrings.
# A warning is an error, and links within the site must lead somewhere. It needs Doxygen, and from PyPI what docs/site/requirements.txt
# names, in a virtual environment of its own. Without Python >= 3.11, venv or PyPI it is skipped with a message.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

need doxygen doxygen
install_missing
scripts/api-pages.sh build/api
make_venv build/site/venv -r docs/site/requirements.txt || { echo "skipped: the site is not built"; exit 0; }
rm -rf build/site/html build/site/doctrees
PYTHONDONTWRITEBYTECODE=1 build/site/venv/bin/sphinx-build -q -W --keep-going -j "$JOBS" -c docs/site -d build/site/doctrees . build/site/html
build/site/venv/bin/python -B docs/site/check_links.py build/site/html
echo "site: $ROOT/build/site/html/index.html"
