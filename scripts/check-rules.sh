#!/usr/bin/env bash
# check-rules.sh [--symbols BUILD] -- the house rules that a grep can see (docs/design.md, CONTRIBUTING.md). Prints each breach; exit 1 if any.
# With --symbols only: what BUILD's shared libraries export.
set -euo pipefail
shopt -s lastpipe # so that the last command of a pipe can count breaches
cd "$(dirname "${BASH_SOURCE[0]}")/.."

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
    [[ ! -d $folder ]] || find "$folder" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cc' \)
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

# The method a file belongs to: the longest id of methods.def that its name begins with; its whole stem if there is none.
method_of() {
  local stem id best=
  stem=$(basename "$1")
  stem=${stem%%.*}
  for id in $(sed -n 's/^METHOD(\(.*\)).*/\1/p' src/core/methods.def); do
    [[ $stem != "$id"* || ${#id} -le ${#best} ]] || best=$id
  done
  echo "${best:-$stem}"
}

# A method includes core/ and its own files, in trsv/ and trsm/: trsm/x.c may include trsv/x_kernels.h, never trsm/y.h.
method_includes() {
  local file name
  while read -r file name; do
    name=${name//\"/}
    [[ $name == core/* ]] || [[ $name == trs[vm]/* && $(method_of "$name") == "$(method_of "$file")" ]] ||
      breach "a method includes only core/ and its own files: $file $name"
  done < <(includes "$@" | grep ' "' || true)
}

# Length of lines, files and functions. A function of this project begins at a line that starts with a word and ends in "{", and ends at "}" in column 1.
lengths() {
  awk '
    FNR == 1 { start = 0; if (file != "") finish(); file = FILENAME }
    function finish(most) { most = file ~ /^tests/ ? 600 : 400; if (last > most) print "file of more than " most " lines: " file " has " last }
    { last = FNR }
    length($0) > 140 { print "line of more than 140 columns: " FILENAME ":" FNR }
    /^[A-Za-z_].*\{$/ && !/^(typedef|struct|enum|union|extern|namespace)/ && /\(/ { start = FNR }
    /^\}/ && start {
      limit = FILENAME ~ /\.cuh?$/ ? 100 : 80
      if (FNR - start + 1 > limit) print "function of more than " limit " lines: " FILENAME ":" start " has " FNR - start + 1
      start = 0
    }
    END { if (file != "") finish() }' "$@" | report "length"
}

# Relative links of the Markdown files whose target does not exist.
links() {
  local file target
  for file in *.md docs/*.md data/*.md; do
    while read -r target; do
      [[ $target == *:* || -e $(dirname "$file")/$target ]] || echo "$file -> $target"
    done < <(grep -oE '\]\([^)# ]+' "$file" | cut -c 3-)
  done
}

check_sources() {
  local -a public core methods io library cuda apps all
  mapfile -t public < <(sources include)
  mapfile -t core < <(sources src/core)
  mapfile -t methods < <(sources src/trsv src/trsm)
  mapfile -t io < <(sources src/io)
  mapfile -t library < <(sources src)
  mapfile -t cuda < <(sources src | grep -E '\.cuh?$')
  mapfile -t apps < <(sources apps examples)
  mapfile -t all < <(sources include src apps examples tests)
  [[ ${#all[@]} -gt 0 ]] || { echo "no sources found" >&2; exit 2; }

  allow_includes "public headers include no hidden ones" '<sptrsm(_auto|_io)?\.h>' "${public[@]}"
  allow_includes "src/core includes only core/ and the public header" '"core/.*"|<sptrsm(_auto)?\.h>|"simt/simt_device\.h"' "${core[@]}"
  method_includes "${methods[@]}"
  allow_includes "src/io includes only io/ and public headers" '"(io/)?[a-z0-9_.]+"|<sptrsm(_io)?\.h>' "${io[@]}"
  allow_includes "apps and examples include only public headers and their own" '"[a-z0-9_.]+"|<sptrsm(_auto|_io)?\.h>' "${apps[@]}"
  includes "${core[@]}" "${methods[@]}" "${public[@]}" | { grep -E '<(hdf5|H5|jansson|zlib)' || true; } | report "HDF5, Jansson and zlib only in src/io and apps"

  forbid "the libraries never print or end the process" '(^|[^A-Za-z0-9_])(printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror|abort|assert|exit|_exit|quick_exit)[[:space:]]*\(' "${library[@]}"
  forbid "kernels start through SPTI_LAUNCH" '<<<' $(printf '%s\n' "${library[@]}" | grep -v '^src/core/device.cuh$')
  forbid "PTX and intrinsics only in core/device.cuh, device_copy.cuh and device_opaque.cuh" '(^|[^A-Za-z0-9_])(asm|__asm__|__shfl[a-z_]*|__ballot[a-z_]*|__syncwarp|__syncthreads|__threadfence[a-z_]*|__ldg|__nanosleep|atomic[A-Z][A-Za-z]*)[[:space:]]*(volatile[[:space:]]*)?\(' \
    $(printf '%s\n' "${cuda[@]}" | grep -Ev '^src/core/device(_copy|_opaque)?.cuh$')
  comm -13 <(sed -n 's/^@[a-z]*{\(.*\),$/\1/p' docs/references.bib | sort) \
    <({ sed -n 's/.*\.cite = "\(.*\)".*/\1/p' "${all[@]}"; grep -hoE '\[[a-z]+[12][0-9]{3}[a-z]*(, [a-z]+[12][0-9]{3}[a-z]*)*\]' "${all[@]}" | tr -d '[] ' | tr ',' '\n'; } | sort -u) |
    report "cited sources are in docs/references.bib"
  printf '%s\n' "${public[@]}" "${library[@]}" "${apps[@]}" | sed 's|.*/||' | sort | uniq -d | report "file names are unique"
  sources tests | sed 's|.*/||' | sort | uniq -d | report "names of test files are unique"
  lengths "${all[@]}"
  { grep -nE '(^|[^A-Za-z])(TODO|FIXME|XXX)([^A-Za-z]|$)' "${all[@]}" || true; } | report "no unfinished notes"
  links | report "links in Markdown lead somewhere"
  { (cd data && sha256sum --quiet -c SHA256SUMS 2>&1) || true; } | report "data/ as listed in data/SHA256SUMS"
}

check_symbols() {
  local library
  for library in "$1"/src/libsptrsm.so "$1"/src/libsptrsm_io.so; do
    [[ -e $library ]] || { breach "no such library: $library"; continue; }
    nm -D --defined-only "$library" | awk '{ print $NF }' | { grep -Ev '^(sptrsm_|\.gomp_critical_user_spti_)' || true; } | report "$library exports"
  done
}

case ${1:-} in
  '') check_sources ;;
  --symbols) check_symbols "${2:?--symbols needs the build folder}" ;;
  *) echo "usage: check-rules.sh [--symbols BUILD]" >&2; exit 2 ;;
esac
[[ $breaches -eq 0 ]] || { echo "$breaches breach(es) of the house rules"; exit 1; }
echo "House rules: no breach."
