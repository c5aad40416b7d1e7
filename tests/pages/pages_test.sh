#!/usr/bin/env bash
# pages_test.sh ROOT PAGE... -- no code block of any page is forgotten: PAGE... are those that run_page.sh runs.
#   - A fence is ``` and a language at the beginning of a line, or ``` alone for a drawing or a listing; directives of Sphinx, only in docs/api.
#   - A page with code in another language than Python is in PAGE...; python/tests/test_docs.py finds Python's by itself.
#   - Comments above blocks have the form that run_page.sh reads, and stand directly above one. "run by SCRIPT PART" names a script that has
#     blocks_of "SCRIPT PART", which calls run_page.sh --by; "run by SCRIPT" one that reads the page itself.
#   - What has no language looks like no commands. Commands beside measured figures are indented: in docs/benchmarks.md and docs/lab.
set -euo pipefail
cd "$1"
shift
mapfile -t pages < <(find . -path './build*' -prune -o -path ./docs/site -prune -o -name '*.md' -print | sed 's|^\./||' | sort)
failed=0
found() { # found WHAT: lines of standard input are faults
  local line
  while read -r line; do
    echo "$line: $1"
    failed=1
  done
}

found "a fence of another form" < <(grep -nE '^[ >]*(```|~~~)' "${pages[@]}" | grep -vE ':```([a-z]+)?$' | grep -vE '^docs/api/[^:]*:[0-9]+:```\{[a-z-]+\}')
found "this page has code, but no test (configure the build again?)" < <(comm -23 \
  <(grep -lE '^```[a-z]' "${pages[@]}" | xargs awk 'FNR == 1 { known = 0 } /^```[a-z]+$/ && !/python/ && !known { known = 1; print FILENAME }' | sort) \
  <(printf '%s\n' "$@" | sort))
found "a comment that stands above no block, or has another form" < <(awk '
  FNR == 1 && open { print open; } FNR == 1 { open = "" }
  open && NF { if (!/^```[a-z]+$/) print open; open = "" }
  /^ *<!-- *(needs|from|run by|not run)/ { open = FILENAME ":" FNR; if (!/^<!-- (needs|from|run by|not run:) .* -->$/) { print open; open = "" } }
  END { if (open) print open }' "${pages[@]}")
found "no script runs blocks for this name" < <(grep -nE '^<!-- run by ' "${pages[@]}" | while IFS= read -r line; do
  name=$(sed -E 's/.*<!-- run by (.*) -->$/\1/' <<<"$line")
  [[ $name != *" "* && -e $name ]] || grep -qF "blocks_of \"$name\"" "${name%% *}" 2>/dev/null || echo "$line"
done)
found "commands in a block without a language" < <(awk '
  FNR == 1 { inside = plain = list = 0 }
  /^```/ { inside = !inside; plain = inside && $0 == "```"; next }
  !inside && /^ *([-*]|[0-9]+\.) / { list = 1 }
  !inside && /^[^ ]/ && !/^([-*]|[0-9]+\.) / { list = 0 }
  (plain || !inside && !list && /^    /) && /^ *([$] |sptrsm-[a-z]+ |compare_|scripts\/|build\/|cmake |ctest |pip |apt|git |cc |gcc |mpicc |export |import |#include |sptrsm_[a-z_]+[ (])/ {
    if (FILENAME != "docs/benchmarks.md" && FILENAME !~ /^docs\/lab\//) print FILENAME ":" FNR }' "${pages[@]}")
echo "${#pages[@]} pages"
exit $failed
