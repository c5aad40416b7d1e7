"""A picture: shapes and text on a white ground, written as SVG. The same calls give the same bytes."""
from __future__ import annotations

from html import escape

INK, FAINT, GROUND = "#1f2933", "#d5dbe1", "#ffffff"
ACCENTS = ["#3b6fb6", "#d9822b", "#2f9e77", "#b5476f", "#7a5bb5", "#8a8f2a", "#4a9fb5", "#9c5b34"]
SCALE = [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (200, 215, 50)]  # dark to light, also for readers who see no red or green


def shade(part: float) -> str:
    """A colour of SCALE for a number from 0 to 1."""
    at = min(max(part, 0.0), 1.0) * (len(SCALE) - 1)
    k = min(int(at), len(SCALE) - 2)
    return "#" + "".join(f"{round(a + (at - k) * (b - a)):02x}" for a, b in zip(SCALE[k], SCALE[k + 1]))


def number(x: float) -> str:
    return f"{x:.2f}".rstrip("0").rstrip(".")


class Picture:
    def __init__(self, width: float, height: float, title: str):
        self.width, self.height, self.title, self.shapes = width, height, title, []

    def rect(self, x, y, w, h, fill=GROUND, stroke=None, radius=0.0, line=1.0):
        edge = f' stroke="{stroke}" stroke-width="{number(line)}"' if stroke else ""
        corner = f' rx="{number(radius)}"' if radius else ""
        self.shapes.append(f'<rect x="{number(x)}" y="{number(y)}" width="{number(w)}" height="{number(h)}"{corner} fill="{fill}"{edge}/>')

    def line(self, x1, y1, x2, y2, colour=INK, width=1.0, arrow=False, dashed=False):
        end = ' marker-end="url(#arrow)"' if arrow else ""
        dash = ' stroke-dasharray="4 3"' if dashed else ""
        self.shapes.append(f'<line x1="{number(x1)}" y1="{number(y1)}" x2="{number(x2)}" y2="{number(y2)}" stroke="{colour}" '
                           f'stroke-width="{number(width)}"{dash}{end}/>')

    def circle(self, x, y, radius, fill):
        self.shapes.append(f'<circle cx="{number(x)}" cy="{number(y)}" r="{number(radius)}" fill="{fill}"/>')

    def text(self, x, y, words, size=13, colour=INK, anchor="start", bold=False):
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}" fill="{colour}" text-anchor="{anchor}"{weight}>'
                           f"{escape(words)}</text>")

    def key(self, x, y, entries, size=13):
        """Coloured squares with their meaning, one row of them; returns where the row ends."""
        for colour, words in entries:
            self.rect(x, y - 10, 11, 11, colour, FAINT)
            self.text(x + 16, y, words, size)
            x += 28 + 0.56 * size * len(words)
        return x

    def save(self, path):
        size = f'width="{number(self.width)}" height="{number(self.height)}" viewBox="0 0 {number(self.width)} {number(self.height)}"'
        arrow = (f'<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
                 f'<path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>')
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="system-ui, DejaVu Sans, Arial, sans-serif" role="img">'
                f"<title>{escape(self.title)}</title>{arrow}")
        ground = f'<rect width="{number(self.width)}" height="{number(self.height)}" rx="6" fill="{GROUND}"/>'
        path.write_text("\n".join([head, ground, *self.shapes, "</svg>", ""]), encoding="utf-8")
