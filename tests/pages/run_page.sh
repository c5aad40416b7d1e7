#!/usr/bin/env bash
# run_page.sh PAGE PREFIX BUILD -- runs the code blocks of a Markdown page in their order, with the installation in PREFIX, in a folder of
# its own that has the project's `data`, `examples`, `bindings`, `docs` and `tests`, and the folder BUILD as `build/test`. HOME has the
# installation as `.local`. A block that fails ends the run, and its page and line are printed.
# run_page.sh --by NAME PAGE... -- runs those blocks of pages that are left to NAME (below), in the project's folder.
#
#   sh                run by bash, which stops at the first command that fails
#   text              what the sh block above it prints; numbers may be others, and a line "..." stands for any lines
#   c, cpp, fortran   written to the file that its first line names: /* heat.c -- ... */, ! heat.f90 -- ...
#   cmake             written to CMakeLists.txt
#   matlab            run by octave-cli; a block sees the variables of those before it
#   python            not run here but by python/tests/test_docs.py
#
# Any other language is an error. A comment in a line of its own above a block says what is special about it:
#
#   <!-- needs NAME ... -->     programs, files, modules of Python (python:NAME), or cuda for a device. Where one is missing, the block is
#                               left out, and a run in which no other fails ends with 77 (skipped)
#   <!-- from FILE -->          an excerpt of FILE, but for blanks and comments; a line "..." or "# ..." stands for any lines
#   <!-- run by NAME -->        left to another script, which calls this one with --by NAME
#   <!-- not run: REASON -->    the reason is shown on the site, too
set -euo pipefail
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/page.XXXXXX")
export OMPI_MCA_orte_tmpdir_base=$work/mpi # a folder that no other mpirun removes
trap 'chmod -R u+w "$work"; rm -rf --one-file-system "$work"' EXIT
printed=$work/printed
: >"$printed"

# split_page PAGE: block k of the page becomes blocks/00k.LANGUAGE, and 00k.line and 00k.mark beside it.
split_page() {
  rm -rf "$work/blocks"
  mkdir "$work/blocks"
  awk -v folder="$work/blocks" '
    !inside && match($0, /^<!-- (needs|from|run by|not run:) .* -->$/) { mark = substr($0, 6, length($0) - 9); next }
    !inside && match($0, /^```[a-z]+$/) {
      name = sprintf("%s/%03d", folder, ++count); file = name "." substr($0, 4); inside = 1
      printf "" > file
      print FNR > (name ".line")
      print mark > (name ".mark")
      next
    }
    inside && /^```$/ { inside = 0; mark = ""; close(file); next }
    inside { print > file }
    !inside && NF { mark = "" }' "$1"
}

missing() { # missing NAME...: prints those that are not here
  local name
  for name in "$@"; do
    case $name in
      cuda) [[ -e /dev/nvidia0 ]] && grep -q '^cusparse' <(sptrsm-info --methods) || echo "$name" ;;
      python:*) python3 -c "import ${name#*:}" 2>/dev/null || echo "$name" ;;
      *) command -v "$name" >/dev/null || [[ -e $name ]] || echo "$name" ;;
    esac
  done
}

# as_pattern FILE: the text as a pattern of [[ == ]].
as_pattern() { numbers_apart "$1" | sed -E 's/[][*?\\]/\\&/g; s/^\.\.\.$/*/'; }
# numbers_apart FILE: # in place of each number with its unit of time or size, single blanks, none at the end of a line.
numbers_apart() { sed -E 's/-?[0-9][0-9.]*(e[+-]?[0-9]+)?( (ns|us|ms|s|min|B|kB|MB|GB)\b)?/#/g; s/ +/ /g; s/ $//' "$1"; }

# as_code FILE: without comments in one line and blanks around lines, and without empty lines.
as_code() { sed -E 's|/\*.*\*/||; s/ # .*//; s/^ +//; s/ +$//; /^$/d' "$1"; }
is_excerpt() { # is_excerpt BLOCK FILE
  [[ $'\n'$(as_code "$2")$'\n' == *$'\n'$(as_code "$1" | sed -E 's/[][*?\\]/\\&/g; s/^(# )?\.\.\.$/*/')$'\n'* ]] || { echo "this is not in $2"; return 1; }
}

run_block() { # run_block FILE: by its language
  case $1 in
    *.sh) bash -euo pipefail "$1" >"$printed" 2>&1 ;;
    *.text) [[ $(numbers_apart "$printed") == $(as_pattern "$1") ]] || { echo "the page shows:"; cat "$1"; return 1; } ;;
    *.c | *.cpp | *.fortran) cp "$1" "$(sed -nE '1s/^(\/\*|!) ([a-z0-9_]+\.[a-z0-9]+) -- .*/\2/p' "$1")" >"$printed" 2>&1 ;;
    *.cmake) cp "$1" CMakeLists.txt ;;
    *.matlab)
      cat "$1" >>session.m
      octave-cli --norc session.m >"$printed" 2>&1
      ;;
    *) echo "no one knows how to run this language"; return 1 ;;
  esac
}

# run_page PAGE BY: its blocks that are left to BY, with an empty BY all others. Adds to `run` and `left_out`, and prints what is not run.
run_page() {
  local page=$1 by=$2 mark='' line name block needs lacking
  split_page "$page"
  for line in "$work"/blocks/*.line; do
    name=${line%.line}
    block=$(compgen -G "$name.*" | grep -vE '\.(line|mark)$')
    [[ $block != *.python ]] || continue
    [[ $block == *.text ]] || mark=$(<"$name.mark") # a text block goes with what prints it
    needs=()
    case $mark in
      "run by $by") ;;
      "run by "* | "not run: "*)
        [[ $by ]] || { echo "line $(<"$line"): $mark"; named=yes; }
        continue
        ;;
      "needs "*) read -r -a needs <<<"${mark#needs }" ;;
    esac
    [[ -z $by || $mark == "run by $by" ]] || continue
    lacking=$(missing "${needs[@]}")
    if [[ $lacking ]]; then
      left_out+="line $(<"$line") needs ${lacking//$'\n'/ }; "
      continue
    fi
    # Pages show what happens without a device, unless a block needs one.
    if [[ " ${needs[*]} " == *" cuda "* ]]; then unset CUDA_VISIBLE_DEVICES; else export CUDA_VISIBLE_DEVICES=; fi
    if [[ $mark == "from "* ]]; then is_excerpt "$block" "$root/${mark#from }"; else run_block "$block"; fi ||
      { echo "$page:$(<"$line"): this block failed. Printed was:"; cat "$printed"; exit 1; }
    [[ -z $by ]] || cat "$printed"
    run=$((run + 1))
  done
}

shopt -s nullglob
run=0 left_out='' named=''
if [[ $1 == --by ]]; then
  cd "$root"
  for page in "${@:3}"; do run_page "$page" "$2"; done
  echo "$2: $run blocks"
  [[ $run -gt 0 ]] || { echo "no block is left to $2"; exit 1; }
  exit 0
fi
page=$(realpath "$1") prefix=$(realpath "$2")
mkdir -p "$work/here/build" "$work/home"
ln -s "$root/data" "$root/examples" "$root/bindings" "$root/docs" "$root/tests" "$work/here"
ln -s "$(realpath "$3")" "$work/here/build/test"
ln -s "$prefix" "$work/home/.local"
library=$(dirname "$(find "$prefix" -name sptrsm.pc)")
export PATH=$prefix/bin:$PATH PKG_CONFIG_PATH=$library${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH} HOME=$work/home OMP_NUM_THREADS=2 LC_ALL=C.UTF-8
export LD_LIBRARY_PATH=${library%/pkgconfig}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} CMAKE_PREFIX_PATH=$prefix${CMAKE_PREFIX_PATH:+:$CMAKE_PREFIX_PATH}
cd "$work/here"
run_page "$page" ''
echo "$page: $run blocks"
[[ $run -gt 0 || $left_out || $named ]] || { echo "there is nothing to run"; exit 1; }
[[ -z $left_out ]] || { echo "partly skipped: ${left_out%; }"; exit 77; }
