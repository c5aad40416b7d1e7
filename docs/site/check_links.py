"""check_links.py FOLDER [--follow] -- the links, pictures and anchors of the HTML pages in FOLDER.

Those that stay in FOLDER must lead somewhere. Those to other hosts must be well-formed, and each address is spelt in one way; with --follow
an answer of 404 or 410 is a broken link, too, and other trouble is told and passed over. Prints each broken link; exit code 1 if there is one.
"""
import concurrent.futures
import re
import sys
import urllib.request
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


def malformed(addresses: dict) -> list:
    """What is wrong with addresses of other hosts. `addresses` names a page that has each."""
    broken, spellings = [], {}
    for address, page in addresses.items():
        parts = urlsplit(address)
        if parts.scheme != "https" or not re.fullmatch(r"([a-z0-9-]+\.)+[a-z]{2,}", parts.netloc) or re.search(r"[\s<>\"`{}|\\^]|\.$", address):
            broken.append(f"{page}: {address}: not https://host.domain/path, or a character that has no place there")
        other = spellings.setdefault(re.sub(r"^https?://(www\.)?|/(?=$|#)", "", address), address)
        if other != address:
            broken.append(f"{page}: {address}: {addresses[other]} has the same as {other}")
    return broken


def answer(address: str):
    try:
        return urllib.request.urlopen(urllib.request.Request(address, headers={"User-Agent": "Mozilla/5.0"}), timeout=20).status
    except OSError as error:
        return getattr(error, "code", str(error))  # no code: there was no answer


def follow(addresses: dict) -> list:
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = dict(zip(addresses, pool.map(answer, addresses)))
    if all(isinstance(status, str) for status in answers.values()):
        print(f"links to other hosts are not followed, since none answers: there is no network ({next(iter(answers.values()), 'no links')})")
        return []
    print(*(f"passed over: {address}: {status}\n" for address, status in answers.items() if status not in (200, 404, 410)), sep="", end="")
    return [f"{addresses[address]}: {address}: {status}" for address, status in answers.items() if status in (404, 410)]


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    pages = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    broken, checked, addresses = [], 0, {}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                addresses.setdefault(link, path.relative_to(root))
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            checked += 1
            if not target.is_file() or root not in target.parents:
                broken.append(f"{path.relative_to(root)}: {link}: no such file")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{path.relative_to(root)}: {link}: no such anchor")
    broken += malformed(addresses)
    if "--follow" in sys.argv[2:] and not broken:
        broken += follow(addresses)
    print(*broken, sep="\n", end="\n" if broken else "")
    print(f"{len(pages)} pages, {checked} links within the site, {len(addresses)} to other hosts, {len(broken)} broken")
    return 1 if broken or not checked else 0


if __name__ == "__main__":
    sys.exit(main())
