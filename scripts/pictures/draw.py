#!/usr/bin/env python3
"""draw.py [--check] -- draws the pictures of the documentation into docs/pictures; --check: only says whether those there are the same.

Needs nothing but Python. Exit code 1 if --check finds a difference.
"""
import sys
import tempfile
from pathlib import Path

import diagrams
import gallery
import triangle

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "pictures"


def draw(folder: Path) -> list:
    T = triangle.read(FOLDER / "grid81_chol.mtx")
    pictures = {"levelset": gallery.levelset(T), "syncfree": gallery.syncfree(T), "tiles": gallery.tiles(T), "block": gallery.block(T),
                "structgrid": gallery.structgrid(), "layers": diagrams.layers(), "main_job": diagrams.main_job()}
    for name, picture in pictures.items():
        picture.save(folder / f"{name}.svg")
    return list(pictures)


def main() -> int:
    if sys.argv[1:] == []:
        for name in draw(FOLDER):
            print(f"docs/pictures/{name}.svg")
        return 0
    if sys.argv[1:] != ["--check"]:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        names = draw(Path(folder))
        old = [name for name in names if not (FOLDER / f"{name}.svg").exists()
               or (FOLDER / f"{name}.svg").read_bytes() != (Path(folder) / f"{name}.svg").read_bytes()]
    for name in old:
        print(f"docs/pictures/{name}.svg is not what scripts/pictures/draw.py draws; run it")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
