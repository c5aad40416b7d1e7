#!/usr/bin/env bash
# check-rules.sh [--build BUILD] -- the project's rules that a script can check (CONTRIBUTING.md). Prints each breach; exit 1 if any.
# Without an option: the sources. With --build: what BUILD's shared libraries export, and which object file uses which.
# PROJECT names another tree to check than the one this script is in.
set -euo pipefail
shopt -s lastpipe # so that the last command of a pipe can count breaches
cd "${PROJECT:-$(dirname "${BASH_SOURCE[0]}")/..}"

breaches=0
breach() { printf '%s\n' "$*"; breaches=$((breaches + 1)); }

# report RULE: every line of standard input is a breach of RULE.
report() {
  local line
  while IFS= read -r line; do [[ -z $line ]] || breach "$1: $line"; done
}

# sources FOLDER...: C, C++ and CUDA files.
sources() {
  local folder
  for folder in "$@"; do
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cc' -o -name '*.def' \)
  done | sort
}

# code FILE...: lines as FILE:LINE:TEXT with comments and string contents blanked.
code() {
  [[ $# -eq 0 ]] || awk '
    FNR == 1 { comment = 0 }
    {
      line = $0; out = ""
      while (line != "") {
        if (comment) {
          at = index(line, "*/")
          if (!at) { line = ""; break }
          line = substr(line, at + 2); comment = 0
        } else if (match(line, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)+\047|\/\*|\/\//)) {
          token = substr(line, RSTART, RLENGTH)
          out = out substr(line, 1, RSTART - 1)
          line = substr(line, RSTART + RLENGTH)
          if (token == "/*") comment = 1
          else if (token == "//") line = ""
          else out = out "\"\""
        } else { out = out line; line = "" }
      }
      if (out ~ /[^ \t]/) print FILENAME ":" FNR ":" out
    }' "$@"
}

# forbid RULE PATTERN FILE...: PATTERN (extended regular expression) must not match code.
forbid() {
  local rule=$1 pattern=$2
  shift 2
  code "$@" | { grep -E "^[^:]*:[0-9]+:.*($pattern)" || true; } | report "$rule"
}

# includes FILE...: "FILE NAME" per include line, NAME with its < > or quotes.
includes() { [[ $# -eq 0 ]] || awk 'match($0, /^[ \t]*#[ \t]*include[ \t]*/) { name = substr($0, RLENGTH + 1); sub(/[ \t].*/, "", name); print FILENAME, name }' "$@"; }

# allow_includes RULE PATTERN FILE...: every quoted include, and every sptrsm header, must match PATTERN.
allow_includes() {
  local rule=$1 pattern=$2
  shift 2
  includes "$@" | { grep -E ' ("|<sptrsm)' || true; } | { grep -Ev " ($pattern)\$" || true; } | report "$rule"
}

# The folder of scripts/layers.txt that each FILE belongs to: src/trsm/block/gpu/x.c is of src/trsm/block.
COMPONENT='function component(file) {
    if (match(file, /^(src\/trs[vm]\/[^\/]+|apps\/bench)/)) return substr(file, RSTART, RLENGTH)
    sub(/\/[^\/]*$/, "", file)
    return file
  }'

# against_layers RULE: each "USER USED" of standard input (paths of files) that scripts/layers.txt does not allow is a breach.
against_layers() {
  awk "$COMPONENT"'
    function fits(name, pattern) {
      if (pattern ~ /\*$/) return index(name, substr(pattern, 1, length(pattern) - 1)) == 1
      return name == pattern
    }
    NR == FNR {
      if ($0 !~ /^(#|$)/) { split($0, part, /:[ \t]*/); rules++; who[rules] = part[1]; whom[rules] = part[2] }
      next
    }
    {
      from = component($1); to = component($2); allowed = from == to; known = 0
      for (r = 1; r <= rules && !allowed; r++) {
        if (fits(from, who[r])) known = 1
        else if ($1 != who[r]) continue
        count = split(whom[r], list, / +/)
        for (k = 1; k <= count; k++) if (fits(to, list[k])) allowed = 1
      }
      if (!allowed) print $1 " uses " $2 (known ? "" : " (scripts/layers.txt does not know " from ")")
    }' scripts/layers.txt - | sort -u | report "$1"
}

# circles RULE: every circle among the "USER USED" of standard input is a breach, named by its members.
circles() {
  { tsort 2>&1 >/dev/null || true; } | sed 's/^tsort: //' | awk '
    /input contains a loop/ { if (loop != "") print loop; loop = ""; next }
    { loop = loop (loop == "" ? "" : " -> ") $0 }
    END { if (loop != "") print loop }' | report "$1"
}

# layers_are_layers: scripts/layers.txt itself has no circle, so that no two folders may use each other.
layers_are_layers() {
  awk -F ':[ \t]*' '!/^(#|$)/ && $1 !~ /\.c$/ { count = split($2, list, / +/); for (k = 1; k <= count; k++) print $1, list[k] }' \
    scripts/layers.txt | awk '
      { split($0, part, " "); from[NR] = part[1]; to[NR] = part[2]; folder[part[1]] = 1; lines = NR }
      function fits(name, pattern) { return pattern ~ /\*$/ ? index(name, substr(pattern, 1, length(pattern) - 1)) == 1 : name == pattern }
      END { for (k = 1; k <= lines; k++) for (name in folder) if (fits(name, to[k]) && name != from[k]) print from[k], name }' |
    circles "layers that use each other (scripts/layers.txt)"
}

# include_edges ROOT FILE...: "FILE INCLUDED" for each quoted include, which must be a file below ROOT; templates are included by
# SPTI_TEMPLATE. Other ways to name a file of this project are breaches.
include_edges() {
  local root=$1
  shift
  awk -v root="$root" 'match($0, /^[ \t]*#[ \t]*(include|define SPTI_TEMPLATE)[ \t]*"/) {
    name = substr($0, RLENGTH + 1); sub(/".*/, "", name)
    path = root "/" name
    if ((getline line < path) >= 0) print FILENAME, path
    else print FILENAME, "unknown:" name
    close(path)
  }' "$@"
}

# Length of lines, files and functions, and nesting. A function begins at a line that starts with a word and has a "(", ends its
# signature at the first line that ends in "{", and ends at "}" in column 1. A control statement indented by eight blanks or more stands
# in three others.
lengths() {
  awk '
    function finish(most) {
      most = file ~ /^tests/ ? 600 : 400
      if (last > most) print "file of more than " most " lines: " file " has " last
    }
    FNR == 1 { if (file != "") finish(); start = 0; pending = 0; file = FILENAME }
    { last = FNR }
    length($0) > 140 { print "line of more than 140 columns: " FILENAME ":" FNR }
    /^[A-Za-z_]/ && /\(/ && !start && !/^(template <.*> )?(typedef|struct|enum|union|extern "C" \{|namespace|#)/ { pending = FNR }
    pending && /[;}][ \t]*(\/[\/*].*)?$/ { pending = 0 }
    pending && /\{[ \t]*(\/[\/*].*)?$/ { start = pending; pending = 0 }
    start && FILENAME !~ /^tests/ && /^        +(if|for|while|switch|do|else)[ ({]/ { print "more than three levels of nesting: " FILENAME ":" FNR }
    /^\}/ && start {
      limit = FILENAME ~ /\.cuh?$/ ? 100 : 80
      if (FNR - start + 1 > limit) print "function of more than " limit " lines: " FILENAME ":" start " has " FNR - start + 1
      start = 0
    }
    END { if (file != "") finish() }' "$@" | report "length"
}

# The same of Python files, where a function ends before the next line that is not indented deeper than its "def".
python_lengths() {
  awk '
    function finish_function() { if (start && end - start + 1 > 80) print "function of more than 80 lines: " file ":" start " has " end - start + 1; start = 0 }
    function finish() { finish_function(); if (last > 400) print "file of more than 400 lines: " file " has " last }
    FNR == 1 { if (file != "") finish(); file = FILENAME }
    { last = FNR }
    length($0) > 140 { print "line of more than 140 columns: " FILENAME ":" FNR }
    /[^ ]/ {
      match($0, /^ */)
      if (start && RLENGTH <= indent && !/^ *\)/) finish_function()
      if (!start && /^ *(async )?def /) { start = FNR; indent = RLENGTH }
      end = FNR
    }
    END { if (file != "") finish() }' "$@" | report "length"
}

# A file says in its first line what it is: "/* NAME -- ...", in Python """...
heads() {
  local file name
  for file in "$@"; do
    name=${file##*/}
    case $name in
      *.py) [[ $(head -c 3 "$file") == '"""' ]] || echo "$file" ;;
      *) [[ $(head -n 1 "$file") == "/* $name -- "* ]] || echo "$file" ;;
    esac
  done
}

# Markdown: lines of at most 140 columns outside tables and code, cells of at most 200 characters, no phrase that lacks its noun.
prose() {
  awk '
    FNR == 1 { code = 0 }
    /^ *```/ { code = !code; next }
    code { next }
    /^ *\|/ {
      count = split($0, cell, "|")
      for (c = 1; c <= count; c++) if (length(cell[c]) > 200) print "table cell of more than 200 characters: " FILENAME ":" FNR
      next
    }
    length($0) > 140 && !/^ *(\[[^]]*\]:|!?\[[^]]*\]\([^)]*\)$)/ { print "line of more than 140 columns: " FILENAME ":" FNR }' "$@"
}

# Relative links of the Markdown files whose target does not exist.
links() {
  local file target
  while read -r file; do
    while read -r target; do
      [[ $target == *:* || -e $(dirname "$file")/$target ]] || echo "$file -> $target"
    done < <(grep -oE '\]\([^)# ]+' "$file" | cut -c 3-)
  done < <(markdown)
}

markdown() { find . -name '*.md' -not -path './build*' -not -path './.*' | sed 's|^\./||' | sort; }

check_sources() {
  local -a public library solving cuda apps examples all python texts
  mapfile -t public < <(sources include)
  mapfile -t library < <(sources src)
  mapfile -t solving < <(sources src/core src/trsv src/trsm)
  mapfile -t cuda < <(sources src | grep -E '\.cuh?$')
  mapfile -t apps < <(sources apps)
  mapfile -t examples < <(sources examples bindings)
  mapfile -t all < <(sources include src apps examples bindings tests)
  mapfile -t python < <(find python -name '*.py' | sort)
  mapfile -t texts < <(markdown)
  [[ ${#all[@]} -gt 0 ]] || { echo "no sources found" >&2; exit 2; }

  allow_includes "public headers include no hidden ones" '<sptrsm(_[a-z]+)?\.h>' "${public[@]}"
  allow_includes "examples and bindings include only public headers" '<sptrsm(_[a-z]+)?\.h(pp)?>' "${examples[@]}"
  { include_edges src "${library[@]}"; include_edges apps "${apps[@]}"; } | against_layers "layers (scripts/layers.txt)"
  { include_edges src "${library[@]}"; include_edges apps "${apps[@]}"; } | awk '$1 != $2' | circles "headers that include each other"
  layers_are_layers
  { grep -nE '^[ \t]*#[ \t]*include' "${library[@]}" "${apps[@]}" || true; } | { grep -E '<(core|trsv|trsm|io|apps|common|bench)/|include[^<"]*[^<" \t]|"\.' || true; } |
    { grep -vE 'include (SPTI_TEMPLATE|SPTI_SIMT|METHODS|[A-Z_]+ *(//.*|/\*.*)?$)' || true; } | report "includes are written \"folder/name.h\""
  includes "${solving[@]}" "${public[@]}" | { grep -E '<(hdf5|H5|jansson|zlib)' || true; } | report "HDF5, Jansson and zlib only in src/io and apps"
  find src apps tests python -type f -not -path 'tests/data/*' -not -path '*/__pycache__/*' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk '$1 > 25 { print $2 " has " $1 }' | report "at most 25 files in a folder"
  heads $(printf '%s\n' "${public[@]}" "${library[@]}" "${apps[@]}" "${python[@]}") | report 'a file begins with /* NAME -- what it is, or """what it is'

  forbid "the libraries never print or end the process" '(^|[^A-Za-z0-9_])(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|abort|assert|exit|_exit|quick_exit)[[:space:]]*\(' \
    $(printf '%s\n' "${library[@]}" | grep -vx src/io/file/serve.c) # a child process, which nothing else may end
  forbid "kernels start through SPTI_LAUNCH" '<<<' $(printf '%s\n' "${library[@]}" | grep -v '^src/core/device/device.cuh$')
  forbid "PTX and intrinsics only in src/core/device" '(^|[^A-Za-z0-9_])(asm|__asm__|__shfl[a-z_]*|__ballot[a-z_]*|__syncwarp|__syncthreads|__threadfence[a-z_]*|__ldg|__nanosleep|atomic[A-Z][A-Za-z]*)[[:space:]]*(volatile[[:space:]]*)?\(' \
    $(printf '%s\n' "${cuda[@]}" | grep -v '^src/core/device/')
  comm -13 <(sed -n 's/^@[a-z]*{\(.*\),$/\1/p' docs/references.bib | sort) \
    <({ sed -n 's/.*\.cite = "\(.*\)".*/\1/p' "${all[@]}"; grep -hoE '\[[a-z]+[12][0-9]{3}[a-z]*(, [a-z]+[12][0-9]{3}[a-z]*)*\]' "${all[@]}" | tr -d '[] ' | tr ',' '\n'; } | sort -u) |
    report "cited sources are in docs/references.bib"
  lengths "${all[@]}"
  python_lengths "${python[@]}"
  prose "${texts[@]}" | report "prose"
  wc -l README.md include/sptrsm.h | awk '($2 == "README.md" && $1 > 150) || ($2 == "include/sptrsm.h" && $1 > 300) { print $2 " has " $1 " lines" }' |
    report "README.md has at most 150 lines, sptrsm.h at most 300"
  { grep -niE '(^|[^a-z])so many([^a-z]|$)' "${all[@]}" "${python[@]}" "${texts[@]}" || true; } | { grep -v '^docs/lab/' || true; } | report "say the noun instead of \"so many\""
  version_is_told_once
  { grep -nE '(^|[^A-Za-z])(TODO|FIXME|XXX)([^A-Za-z]|$)' "${all[@]}" "${python[@]}" || true; } | report "no unfinished notes"
  links | report "links in Markdown lead somewhere"
  { (cd data && sha256sum --quiet -c SHA256SUMS 2>&1) || true; } | report "data/ as listed in data/SHA256SUMS"
}

# CITATION.cff and python/pyproject.toml repeat the version of include/sptrsm.h.
version_is_told_once() {
  local version
  version=$(sed -nE 's/^#define SPTRSM_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' include/sptrsm.h | paste -sd .)
  {
    grep -qx "version: $version" CITATION.cff || echo "include/sptrsm.h says $version, CITATION.cff $(sed -n 's/^version: //p' CITATION.cff)"
    grep -qx "version = \"$version\"" python/pyproject.toml || echo "include/sptrsm.h says $version, python/pyproject.toml $(sed -n 's/^version = //p' python/pyproject.toml)"
  } | report "one version"
}

# Object files of BUILD, which has compile_commands.json, as "OBJECT SOURCE". The emulator's build of the library has the host code of the CUDA methods and the kernels, too.
objects() {
  sed -nE 's/^ *"command": ".* -o ([^ ]*\.o) .*/\1/p' "$1/compile_commands.json" | awk -v build="$1/" '
    { path = $0; $0 = build path }
    match(path, /CMakeFiles\/(sptrsm_emulated|simt)\.dir\/__\/__\/src\//) { print $0, "src/" substr(path, RSTART + RLENGTH); next }
    match(path, /^src\/([a-z]+\/)?CMakeFiles\/sptrsm(_io)?_objects\.dir\//) || match(path, /^apps\/([a-z]+\/)?CMakeFiles\/[A-Za-z_-]+\.dir\//) {
      folder = path; sub(/CMakeFiles.*/, "", folder); print $0, folder substr(path, RSTART + RLENGTH)
    }' | sed 's/\.o$//'
}

# object_edges BUILD: "USER USED SYMBOL" (USER and USED are sources) for each symbol that one object file takes from another. Weak
# symbols are inline functions.
object_edges() {
  local list
  list=$(mktemp)
  objects "$1" >"$list"
  awk '{ print $1 }' "$list" | xargs nm -A -g | awk '
    NR == FNR { source[$1] = $2; next }
    { object = $1; sub(/:.*/, "", object); symbol = $NF; kind = $(NF - 1) }
    kind ~ /^[TDBRC]$/ { owner[symbol] = source[object]; next }
    kind == "U" { uses[source[object] " " symbol] = 1 }
    END {
      for (use in uses) {
        split(use, part, " ")
        if (part[2] in owner && owner[part[2]] != part[1]) print part[1], owner[part[2]], part[2]
      }
    }' "$list" - | sort -u
  rm -f "$list"
}

check_build() {
  local library
  for library in "$1"/src/libsptrsm.so "$1"/src/libsptrsm_io.so; do
    [[ -e $library ]] || { breach "no such library: $library"; continue; }
    nm -D --defined-only "$library" | awk '{ print $NF }' | { grep -Ev '^sptrsm_' || true; } | report "$library exports"
  done
  [[ $(objects "$1" | wc -l) -gt 100 ]] || breach "$1 has no object files to look at"
  # The public functions are there for everyone outside the library that has them.
  object_edges "$1" | awk '!($3 ~ /^sptrsm_/ && ($1 ~ /^apps\// || ($1 ~ /^src\/io\//) != ($2 ~ /^src\/io\//)))' |
    against_layers "layers, by symbols (scripts/layers.txt)"
  object_edges "$1" | awk '{ print $1, $2 }' | circles "files that use each other"
}

case ${1:-} in
  '') check_sources ;;
  --build) check_build "${2:?--build needs the build folder}" ;;
  *) echo "usage: check-rules.sh [--build BUILD]" >&2; exit 2 ;;
esac
[[ $breaches -eq 0 ]] || { echo "$breaches breach(es) of the rules"; exit 1; }
echo "Rules: no breach."
