#!/usr/bin/env bash
# check-abi.sh [--store] -- the binary interface of both libraries beside the stored one (scripts/abi), which is that of the latest release.
# A change that would break a program fails, unless the soname has changed too. --store writes the interface as it is now: at a release.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$ROOT"
build=build/abi stored=scripts/abi
mkdir -p "$build" "$stored"
# Types are read from debug information, which an optimised build may lack.
cmake -S . -B "$build" -G Ninja -DSPTRSM_CUDA=OFF -DSPTRSM_BUILD_TESTS=OFF -DSPTRSM_BUILD_EXAMPLES=OFF -DCMAKE_BUILD_TYPE=Debug >"$build.log" 2>&1 || { tail -n 30 "$build.log" >&2; die "configuring failed"; }
cmake --build "$build" --parallel "$JOBS" --target sptrsm sptrsm_io >>"$build.log" 2>&1 || { tail -n 30 "$build.log" >&2; die "the build failed"; }
# members FILE.abi: "STRUCT MEMBER OFFSET TYPE" of every public struct; types by name, since their numbers differ from run to run.
members() {
  awk '
    function value(key) { return match($0, key "=\047[^\047]*\047") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 3) : "" }
    /<(type-decl|typedef-decl|class-decl|enum-decl) / { name[value(" id")] = value(" name") }
    /<pointer-type-def / { name[value(" id")] = "pointer" }
    /<array-type-def / { name[value(" id")] = "array of " value("size-in-bits") " bits" }
    /<class-decl / { struct = value(" name"); depth = $0 ~ /\/>/ ? "" : struct }
    /<data-member / { offset = value("layout-offset-in-bits") }
    /<var-decl / && depth ~ /^sptrsm_/ { count++; line[count] = depth " " value(" name") " " offset; type[count] = value(" type-id") }
    /<\/class-decl>/ { depth = "" }
    END { for (k = 1; k <= count; k++) print line[k], name[type[k]] }' "$1" | sort -u
}

for library in sptrsm sptrsm_io; do
  abidw --headers-dir include --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs "$build/src/lib$library.so" |
    sed "s|$ROOT/||g" >"$build/$library.abi"
  if [[ ${1:-} == --store ]]; then
    cp "$build/$library.abi" "$stored/$library.abi"
    echo "stored: $stored/$library.abi"
    continue
  fi
  # New functions, and members at the end of structs that may grow, break no program.
  code=0
  abidiff --redundant --no-added-syms --no-show-locs --suppressions "$stored/suppressions.ini" "$stored/$library.abi" "$build/$library.abi" || code=$?
  # Of a struct that may grow, members that were there keep their places, whatever abidiff leaves out.
  gone=$(comm -23 <(members "$stored/$library.abi") <(members "$build/$library.abi"))
  [[ -z $gone ]] || { printf 'moved or gone (struct, member, bit offset, type):\n%s\n' "$gone"; code=1; }
  soname() { sed -n "s/.*<abi-corpus.* soname='\([^']*\)'.*/\1/p" "$1"; }
  if [[ $code -ne 0 && $(soname "$stored/$library.abi") == "$(soname "$build/$library.abi")" ]]; then
    die "lib$library: programs compiled against the latest release could break, and the soname is the same"
  fi
done
echo "the ABI is that of the latest release, or extends it"
