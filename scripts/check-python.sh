#!/usr/bin/env bash
# check-python.sh [PACKAGE...] -- builds the wheel sptrsm, installs it in a fresh virtual environment and runs python/tests against it.
# PACKAGEs of PyPI (torch, jax) are installed as well, for the tests that are skipped without them.
# Without Python >= 3.9, venv or PyPI it is skipped with a message; whatever the wheel itself lacks is a failure.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

folder=$ROOT/build/python
python=$folder/venv/bin/python
skip() { echo "skipped: the Python package is neither built nor tested"; exit 0; }

# All that comes from the network, so that a failure below is one of the wheel.
make_venv "$folder/venv" numpy scipy h5py hypothesis ipykernel matplotlib nbclient pytest "$@" || skip
scripts/wheels.sh cpu || { [[ $? -eq 77 ]] && skip; exit 1; }

say "python/tests with the installed wheel"
"$python" -m pip install -q --no-index "$(echo build/wheels/sptrsm-*.whl)[test]"
cd "$folder"
export PYTHONPYCACHEPREFIX=$folder/pycache # not beside the tests: the repository stays as it is
"$python" -c "import sptrsm, sys; assert sptrsm.__file__.startswith(sys.prefix), sptrsm.__file__ + ' is not the installed wheel'"
"$python" -m pytest -q -p no:cacheprovider "$ROOT/python/tests"
