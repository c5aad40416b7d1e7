#!/usr/bin/env bash
# mutate.sh [N [SEED]] -- mutation testing of the host code: how many of N random mutants (300) the tests notice. scripts/mutate.py says how.
# N=300 takes hours on two cores. A run that was cut off goes on where it was.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"

need_build_tools
need_header criterion/criterion.h libcriterion-dev
need python3 python3
install_missing

exec python3 scripts/mutate.py "$@"
