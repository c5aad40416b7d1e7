#!/usr/bin/env bash
# run_page.sh PAGE PREFIX -- runs the code blocks of a Markdown page in their order, with the installation in PREFIX, in a
# folder of its own that has the project's `data`, `examples`, `bindings`, `docs` and `tests`. A block that fails ends the run, and its page and line are printed.
#
#   sh       run by bash, which stops at the first command that fails
#   text     what the sh block above it prints; numbers may be others, and a line "..." stands for any lines
#   c        written to the file that its first line names: /* heat.c -- ... */
#   cmake    written to CMakeLists.txt
#   matlab   run by octave-cli; a block sees the variables of those before it
#   python   not run here but by python/tests/test_docs.py
#
# A comment <!-- needs NAME ... --> above a block names what it needs: programs, files, or cuda for a device. Where
# one is missing, the block is left out, and a run in which no other fails ends with 77 (skipped). Any other language is an error.
set -euo pipefail
page=$(realpath "$1") prefix=$(realpath "$2")
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/page.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf --one-file-system "$work"' EXIT
mkdir "$work/blocks" "$work/here"
ln -s "$root/data" "$root/examples" "$root/bindings" "$root/docs" "$root/tests" "$work/here"
library=$(dirname "$(find "$prefix" -name sptrsm.pc)")
export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$library LD_LIBRARY_PATH=${library%/pkgconfig} CMAKE_PREFIX_PATH=$prefix LC_ALL=C.UTF-8 OMP_NUM_THREADS=2

# Block k of the page becomes blocks/00k.LANGUAGE, and 00k.line and 00k.needs beside it.
awk -v folder="$work/blocks" '
  !inside && match($0, /^<!-- needs .* -->$/) { needs = substr($0, 12, length($0) - 15); next }
  !inside && match($0, /^```[a-z]+$/) {
    name = sprintf("%s/%03d", folder, ++count); file = name "." substr($0, 4); inside = 1
    printf "" > file
    print FNR > (name ".line")
    print needs > (name ".needs")
    next
  }
  inside && /^```$/ { inside = 0; needs = ""; close(file); next }
  inside { print > file }
  !inside && NF { needs = "" }' "$page"

missing() { # missing NAME...: prints those that are not here
  local name
  for name in "$@"; do
    case $name in
      cuda) [[ -e /dev/nvidia0 ]] && grep -q '^cusparse' <(sptrsm-info --methods) || echo "$name" ;;
      *) command -v "$name" >/dev/null || [[ -e $name ]] || echo "$name" ;;
    esac
  done
}

# as_pattern FILE: the text as a pattern of [[ == ]].
as_pattern() { numbers_apart "$1" | sed -E 's/[][*?\\]/\\&/g; s/^\.\.\.$/*/'; }
# numbers_apart FILE: # in place of each number with its unit of time or size, single blanks, none at the end of a line.
numbers_apart() { sed -E 's/-?[0-9][0-9.]*(e[+-]?[0-9]+)?( (ns|us|ms|s|min|B|kB|MB|GB)\b)?/#/g; s/ +/ /g; s/ $//' "$1"; }

printed=$work/printed
run_block() { # run_block FILE: by its language
  case $1 in
    *.sh) bash -euo pipefail "$1" >"$printed" 2>&1 ;;
    *.text) [[ $(numbers_apart "$printed") == $(as_pattern "$1") ]] || { echo "the page shows:"; cat "$1"; return 1; } ;;
    *.c) cp "$1" "$(sed -nE '1s|^/\* ([a-z0-9_]+\.c) -- .*|\1|p' "$1")" >"$printed" 2>&1 ;;
    *.cmake) cp "$1" CMakeLists.txt ;;
    *.matlab)
      cat "$1" >>session.m
      octave-cli --norc session.m >"$printed" 2>&1
      ;;
    *) echo "no one knows how to run this language"; return 1 ;;
  esac
}

cd "$work/here"
shopt -s nullglob
run=0 left_out=
for line in "$work"/blocks/*.line; do
  name=${line%.line}
  block=$(compgen -G "$name.*" | grep -vE '\.(line|needs)$')
  [[ $block != *.python ]] || continue
  [[ $block == *.text ]] || read -r -a needs <"$name.needs" || true # a text block needs what prints it
  lacking=$(missing "${needs[@]}")
  if [[ $lacking ]]; then
    left_out+="line $(<"$line") needs $lacking; "
    continue
  fi
  # Pages show what happens without a device, unless a block needs one.
  if [[ " ${needs[*]} " == *" cuda "* ]]; then unset CUDA_VISIBLE_DEVICES; else export CUDA_VISIBLE_DEVICES=; fi
  run_block "$block" || { echo "$page:$(<"$line"): this block failed. Printed was:"; cat "$printed"; exit 1; }
  run=$((run + 1))
done
echo "$page: $run blocks"
[[ $run -gt 0 || $left_out ]] || { echo "there is nothing to run"; exit 1; }
[[ -z $left_out ]] || { echo "partly skipped: ${left_out%; }"; exit 77; }
