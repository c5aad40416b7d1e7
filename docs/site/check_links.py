"""check_links.py FOLDER -- every link, picture and anchor of the HTML pages in FOLDER that stays in FOLDER must lead somewhere.

Links to other hosts are not followed. Prints each broken link; exit code 1 if there is one.
"""
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, path: Path):
        super().__init__()
        self.links, self.anchors = [], {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    broken, checked = [], 0
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            checked += 1
            if not target.is_file() or root not in target.parents:
                broken.append(f"{path.relative_to(root)}: {link}: no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{path.relative_to(root)}: {link}: no such anchor")
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{len(pages)} pages, {checked} links within the site, {len(broken)} broken")
    return 1 if broken or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
