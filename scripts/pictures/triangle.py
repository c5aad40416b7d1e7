"""A lower triangle from a Matrix Market file, and what the methods see in it: level sets, supernodes, tiles."""
from __future__ import annotations

from pathlib import Path


class Triangle:
    """rows[i] and columns[j]: the rows and columns of the entries, ascending; values are of no interest here."""

    def __init__(self, n: int, entries: list):
        self.n, self.entries = n, sorted(entries)
        self.rows, self.columns = [[] for _ in range(n)], [[] for _ in range(n)]
        for i, j in self.entries:
            self.rows[i].append(j)
            self.columns[j].append(i)
        if any(row[-1:] != [i] for i, row in enumerate(self.rows)):
            raise ValueError("not a lower triangle with its diagonal")

    def levels(self) -> list:
        """The level set of each row."""
        level: list = []
        for row in self.rows:
            level.append(max((level[j] + 1 for j in row[:-1]), default=0))
        return level

    def permuted(self, order: list) -> "Triangle":
        """Row order[k] becomes row k; the order must keep every row behind those it needs."""
        place = {i: k for k, i in enumerate(order)}
        return Triangle(self.n, [(place[i], place[j]) for i, j in self.entries])

    def supernodes(self) -> list:
        """(first, end) of each run of neighbouring columns with one pattern below the diagonal."""
        starts = [0] + [j for j in range(1, self.n) if self.columns[j] != self.columns[j - 1][1:]]
        return list(zip(starts, starts[1:] + [self.n]))

    def tiles(self, size: int) -> dict:
        """(tile row, tile column): the places of its entries in the tile."""
        found: dict = {}
        for i, j in self.entries:
            found.setdefault((i // size, j // size), []).append((i % size, j % size))
        return found


def read(path: Path) -> Triangle:
    numbers = [line.split() for line in path.read_text().splitlines() if not line.startswith("%")]
    return Triangle(int(numbers[0][0]), [(int(i) - 1, int(j) - 1) for i, j, _ in numbers[1:]])


def tile_format(entries: list, height: int, width: int) -> str:
    """The format of a tile off the diagonal, by the rule of src/trsv/tiles/README.md."""
    lengths = [sum(i == row for i, _ in entries) for row in range(height)]
    heights = [sum(j == column for _, j in entries) for column in range(width)]
    if 4 * len(entries) >= 3 * height * width:
        return "DNS"
    if len(entries) <= 12:
        return "COO"
    if all(length in (0, width) for length in lengths):
        return "DNSROW"
    if all(length in (0, height) for length in heights):
        return "DNSCOL"
    mean = len(entries) / height
    deviation = (sum((length - mean) ** 2 for length in lengths) / height) ** 0.5
    if deviation <= 0.2 * mean:
        return "ELL"
    return "HYB" if deviation > mean and sum(max(0, length - round(mean)) for length in lengths) <= 4 else "CSR"
