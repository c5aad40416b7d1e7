#!/usr/bin/env bash
# api-pages.sh [FOLDER] -- pages of the public headers by Doxygen, in FOLDER/html (build/api by default). Fails at the first warning.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${1:-build/api}
mkdir -p "$out"
version=$(sed -nE 's/^#define SPTRSM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' include/sptrsm.h | paste -sd .)
{ cat docs/Doxyfile; echo "OUTPUT_DIRECTORY = $out"; echo "PROJECT_NUMBER = $version"; } | doxygen - >"$out/doxygen.log" 2>&1 ||
  { grep -E 'warning|error' "$out/doxygen.log" >&2; echo "api-pages.sh: see $out/doxygen.log" >&2; exit 1; }
echo "API pages: $out/html/index.html"
