#!/usr/bin/env bash
# coverage.sh [PERCENT] -- line coverage of the host code (C files of src/ and apps/) by the whole test suite, and branch coverage of
# src/io and src/core. Prints a line per file and the totals; fails below PERCENT of the lines (97 unless told). Report to click through:
# build/coverage/index.html.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
limit=${1:-97}

need_build_tools
need_header criterion/criterion.h libcriterion-dev
need gcovr gcovr
install_missing

build=build/coverage
cmake -S . -B "$build" -G Ninja -DSPTRSM_CUDA=OFF -DSPTRSM_COVERAGE=ON -DCMAKE_BUILD_TYPE=Debug
cmake --build "$build" --parallel "$JOBS"
find "$build" -name '*.gcda' -delete # counts of an earlier run
ctest --test-dir "$build" --output-on-failure --parallel "$JOBS"
gcovr --root . --filter 'src/.*\.[ch]$' --filter 'apps/.*\.[ch]$' --exclude-throw-branches --object-directory "$build" --json "$build/counts.json"
for folder in src/io src/core; do
  say "Branches of $folder"
  gcovr --root . --add-tracefile "$build/counts.json" --filter "$folder/" --txt - --branches --print-summary
done
say "Lines"
gcovr --root . --add-tracefile "$build/counts.json" --html-details "$build/index.html" --txt - --print-summary --fail-under-line "$limit"
