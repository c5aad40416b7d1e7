#!/usr/bin/env bash
# doxygen-filter.sh FILE -- a header as Doxygen wants it: a comment at the beginning of a line documents what follows, one behind code
# documents that code, and the first comment is about the file.
exec awk '
  FNR == 1 { sub(/^\/\* /, "/** @file\n * "); print; next }
  /^ *\/\* ----/ { print; next }
  /^ *\/\*/ { sub(/\/\*/, "/**"); print; next }
  /^ \* [A-Za-z][A-Za-z, ]*: / { print " *" } # what such a line explains is a paragraph of its own
  /[;,{})].*\/\*/ && !/^#/ { sub(/\/\*/, "/**<"); print; next }
  { print }' "$1" | sed -E 's/([^\\])([@#<>])/\1\2/g'
