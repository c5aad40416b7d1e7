"""The diagrams of docs/design.md: boxes and arrows."""
from __future__ import annotations

from svg import FAINT, INK, Picture

FILL = "#f1f5f9"


def box(picture: Picture, x: float, y: float, w: float, lines: list) -> tuple:
    """A box with a bold first line; returns (x, y, w, h)."""
    h = 14 + 18 * len(lines)
    picture.rect(x, y, w, h, FILL, "#9fb3c8", radius=6)
    for k, words in enumerate(lines):
        picture.text(x + w / 2, y + 20 + 18 * k, words, 13 if k == 0 else 12, anchor="middle", bold=k == 0)
    return x, y, w, h


def up(picture: Picture, below: tuple, above: tuple, dashed: bool = False, at: float = 0.5) -> None:
    """An arrow from the top of one box to the bottom of another, at a part of the width of the upper one."""
    x1, x2 = below[0] + below[2] / 2, above[0] + above[2] * at
    picture.line(x1, below[1], x2, above[1] + above[3] + 2, INK, 1.3, arrow=True, dashed=dashed)


def layers() -> Picture:
    picture = Picture(540, 360, "Layers: an arrow means includes")
    public = box(picture, 170, 14, 200, ["include/*.h", "public headers"])
    core = box(picture, 15, 112, 290, ["src/core", "base, device, context, matrix, levels,", "stencil, select, plan, two_blocks,", "direct, reach, refine"])
    io = box(picture, 326, 130, 84, ["src/io", "file, forms,", "read, write"])
    common = box(picture, 420, 130, 110, ["apps/common"])
    program = box(picture, 404, 240, 126, ["apps/PROGRAM"])
    trsv = box(picture, 15, 240, 140, ["src/trsv/METHOD", "its unit is one", "right-hand side"])
    trsm = box(picture, 165, 240, 140, ["src/trsm/METHOD", "made for blocks", "of them"])
    for below, above, at in [(core, public, 0.2), (io, public, 0.7), (common, public, 0.95), (trsv, core, 0.24), (trsm, core, 0.76), (program, common, 0.6)]:
        up(picture, below, above, at=at)
    picture.line(io[0], 165, core[0] + core[2] + 2, 165, INK, 1.3, arrow=True, dashed=True)
    picture.text(15, 342, "An arrow means: includes.  Dashed: only headers of src/core/base.", 12)
    return picture


def main_job() -> Picture:
    picture = Picture(540, 500, "The main job, from files to X")
    x, w = 90, 360
    steps = [(14, ["factors.h5, rhs.h5", "src/io"]), (92, ["matrix or factor set", "core/matrix, core/direct: validated once"]),
             (170, ["plans", "core/select, core/plan: method chosen, analysed once"]),
             (268, ["first pass: B to panel", "layout, alpha, permutation, scaling"]), (338, ["stages in place", "L, D, U: a method's solve"]),
             (408, ["last pass: panel to X.h5"])]
    picture.rect(x - 30, 254, w + 60, 202, "none", "#9fb3c8", radius=8)
    picture.text(x + w / 2, 474, "for each panel of right-hand sides", 12, anchor="middle")
    boxes = [box(picture, x, y, w, lines) for y, lines in steps]
    for above, below in zip(boxes, boxes[1:]):
        picture.line(x + w / 2, above[1] + above[3], x + w / 2, below[1] - 2, INK, 1.3, arrow=True)
    picture.line(x - 30, 244, x + w + 30, 244, FAINT, 1, dashed=True)
    picture.text(x - 30, 240, "once", 11)
    return picture
