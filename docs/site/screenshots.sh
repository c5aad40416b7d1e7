#!/usr/bin/env bash
# screenshots.sh [FOLDER] -- pictures of the site that scripts/site.sh has built, to look at: each page of the sidebar in headless Chromium
# (Debian: chromium) at the widths of a desktop and of a phone, FOLDER/PAGE_1280.png and FOLDER/PAGE_390.png (default: build/site/pictures).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
html=$PWD/build/site/html out=${1:-build/site/pictures}
[[ -e $html/index.html ]] || { echo "screenshots.sh: there is no $html; run scripts/site.sh first" >&2; exit 2; }
command -v chromium >/dev/null || { echo "screenshots.sh: there is no chromium" >&2; exit 2; }
mkdir -p "$out"
pages=$(sed -nE '/^```|^:|^$/d; s/.*<(.*)>$/\1/; p' docs/site/contents.md)
for page in README $pages; do
  page=$(realpath --relative-to="$html" -m "$html/docs/$page")
  for size in 1280,2000 390,3000; do
    picture=$out/$(tr / _ <<<"$page")_${size%,*}.png
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=$size --screenshot="$picture" "file://$html/$page.html" >"$out/log" 2>&1 &&
      [[ -s $picture ]] || { cat "$out/log" >&2; exit 1; }
  done
done
echo "$(ls "$out"/*.png | wc -l) pictures in $out"
