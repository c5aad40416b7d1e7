#!/usr/bin/env bash
# check-format.sh [--fix] -- are all C, C++ and CUDA files formatted as .clang-format says? Names those that are not; with --fix formats them.
# clang-format 14, since other versions format differently.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mapfile -t files < <(find include src apps tests examples bindings -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.[ch]pp')
if [[ ${1:-} == --fix ]]; then
  clang-format-14 -i "${files[@]}"
else
  clang-format-14 --dry-run --Werror --ferror-limit=1 "${files[@]}" && echo "${#files[@]} files are formatted" ||
    { echo "scripts/check-format.sh --fix formats them" >&2; exit 1; }
fi
