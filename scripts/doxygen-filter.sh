#!/usr/bin/env bash
# doxygen-filter.sh FILE -- a header as Doxygen wants it: a comment at the beginning of a line documents what follows, one behind code
# documents that code, and the first comment is about the file. Names in backquotes are code, and so are indented lines behind an empty
# line or a colon; a line of a new sentence that begins with `word:` is a paragraph of its own.
exec awk '
  FNR == 1 { sub(/^\/\* /, "/** @file\n * ") }
  /^ \* / && previous ~ /[.:]$|^ \*$/ {
    if (/^ \* [A-Za-z][A-Za-z, ]*: /) print " *"
    if (/^ \*   / && previous !~ /[.]$/) { print " * @verbatim"; listing = 1 }
  }
  listing && (!/^ \*   / || / \*\/$/) {
    end = sub(/ \*\/$/, "") ? " */" : ""
    listing = 0
    if (/^ \*   /) { print substr($0, 6); print "@endverbatim" end; next }
    print "@endverbatim"
    $0 = $0 end
  }
  { previous = $0 }
  listing { print substr($0, 6); next }
  { $0 = with_code($0) }
  FNR == 1 || /^ *\/\* ----/ { print; next }
  /^ *\/\*/ { sub(/\/\*/, "/**"); print; next }
  /[;,{})].*\/\*/ && !/^#/ { sub(/\/\*/, "/**<"); print; next }
  { print }
  function with_code(line,   text) {
    while (match(line, /`[A-Za-z_]+`/)) {
      text = substr(line, RSTART + 1, RLENGTH - 2)
      line = substr(line, 1, RSTART - 1) "<tt>" text "</tt>" substr(line, RSTART + RLENGTH)
    }
    return line
  }' "$1"
