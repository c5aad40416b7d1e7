#!/usr/bin/env bash
# check-tidy.sh BUILD -- clang-tidy with the checks of .clang-tidy over the host code of the libraries and programs, as BUILD compiles it.
# Options that GCC alone knows are no finding.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
build=${1:?usage: check-tidy.sh BUILD}
[[ -e $build/compile_commands.json ]] || die "$build has no compile_commands.json"
command -v clang-tidy-14 >/dev/null || die "clang-tidy-14 is not installed"
files=$(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | grep -E "^$ROOT/(src|apps)/.*\.c\$" | sort -u || true)
[[ $(wc -l <<<"$files") -gt 50 ]] || die "$build compiles hardly any file of $ROOT; is it a build of this folder?"
found=$(xargs -P "$JOBS" -n 8 clang-tidy-14 -p "$build" --quiet --extra-arg=-Qunused-arguments --extra-arg=-Wno-ignored-optimization-argument <<<"$files" 2>/dev/null | grep -E 'warning:|error:' | sort -u || true)
[[ -z $found ]] || { echo "$found"; exit 1; }
echo "clang-tidy has nothing to say"
