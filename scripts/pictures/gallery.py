"""The pictures of the methods in docs/gallery.md, from the triangle in docs/pictures/grid81_chol.mtx."""
from __future__ import annotations

from collections import Counter

from svg import ACCENTS, FAINT, INK, Picture, shade
from triangle import Triangle, tile_format

WIDTH = 540
WAITING = "#eef1f4"


def pattern(picture: Picture, T: Triangle, x: float, y: float, cell: float, colour) -> None:
    """The entries of T as squares; colour(i, j)."""
    picture.rect(x, y, T.n * cell, T.n * cell, "#fbfcfd", FAINT)
    for i, j in T.entries:
        picture.rect(x + j * cell, y + i * cell, cell, cell, colour(i, j))


def levelset(T: Triangle) -> Picture:
    level = T.levels()
    count, cell = max(level) + 1, 6
    sets = [[i for i in range(T.n) if level[i] == k] for k in range(count)]
    picture = Picture(WIDTH, 770, "Level sets")
    picture.text(10, 24, f"A triangle of {T.n} rows; rows of one colour can be solved together", bold=True)
    pattern(picture, T, 27, 38, cell, lambda i, j: shade(level[i] / (count - 1)))
    top, step = 555, (WIDTH - 40) / count
    picture.text(10, top - 8, f"Its {count} level sets in their order; lines: who needs whom", bold=True)
    place = {i: (22 + k * step, top + 12 + 12 * m) for k, rows in enumerate(sets) for m, i in enumerate(rows)}
    for i, j in T.entries:
        if i != j and level[i] == level[j] + 1:
            picture.line(*place[j], *place[i], colour="#9aa5b1", width=0.8)
    for i, (x, y) in place.items():
        picture.circle(x, y, 4.5, shade(level[i] / (count - 1)))
    return picture


def schedule(T: Triangle, workers: int, barriers: bool) -> tuple:
    """([(row, worker, first step, [steps at work])], ends of level sets). Workers take rows in level order, and work a step on each entry.
    With barriers a row begins behind the level set before its own; else each entry waits for the one row that it needs."""
    level = T.levels()
    free, end, done, ends, last = [0] * workers, {}, [], [], 0
    for i in sorted(range(T.n), key=lambda i: (level[i], i)):
        if barriers and level[i] > last:
            ends.append(max(free))
            free, last = [ends[-1]] * workers, level[i]
        worker = min(range(workers), key=lambda w: (free[w], w))
        begin, now, steps = free[worker], free[worker], []
        for j in sorted(T.rows[i], key=lambda j: end.get(j, 0) if j < i else float("inf")):  # what is there first; the diagonal last
            now = max(now, end[j] if j < i and not barriers else now)
            steps.append(now)
            now += 1
        end[i] = free[worker] = now
        done.append((i, worker, begin, steps))
    return done, ends


def syncfree(T: Triangle) -> Picture:
    level, workers = T.levels(), 8
    plans = [schedule(T, workers, True), schedule(T, workers, False)]
    totals = [max(steps[-1] + 1 for *_, steps in done) for done, _ in plans]
    scale, row, picture = (WIDTH - 40) / max(totals), 14, Picture(WIDTH, 360, "Level sets with barriers, and waiting for single rows")
    names = ["Level sets, a barrier behind each", "Sync-free: each entry waits for the row it needs"]
    for k, ((done, ends), total) in enumerate(zip(plans, totals)):
        top = 40 + 155 * k
        picture.text(10, top - 14, f"{names[k]}: {total} steps", bold=True)
        picture.rect(20, top, total * scale, row * workers, WAITING)
        for i, worker, begin, steps in done:
            y = top + row * worker + 1
            picture.rect(20 + begin * scale, y, (steps[-1] + 1 - begin) * scale, row - 2, "#cfd6dd", "#ffffff", line=0.5)
            for first, length in runs(steps):
                picture.rect(20 + first * scale, y, length * scale, row - 2, shade(level[i] / max(level)))
        for end in ends:
            picture.line(20 + end * scale, top - 3, 20 + end * scale, top + row * workers + 3, colour="#c0392b", width=1.2)
    picture.key(20, 330, [(shade(0.35), "at work, by level set"), ("#cfd6dd", "waits within a row"), (WAITING, "idle"), ("#c0392b", "barrier")], 12)
    picture.text(20, 350, f"{workers} workers, one above the other; to the right: time. A step is one entry of a row.", 12)
    return picture


def runs(steps: list) -> list:
    """(first, length) of each run of consecutive numbers."""
    found: list = []
    for step in steps:
        if found and step == found[-1][0] + found[-1][1]:
            found[-1] = (found[-1][0], found[-1][1] + 1)
        else:
            found.append((step, 1))
    return found


FORMATS = ["DNS", "COO", "DNSROW", "DNSCOL", "ELL", "HYB", "CSR"]


def tiles(T: Triangle) -> Picture:
    level, size, cell = T.levels(), 16, 6
    P = T.permuted(sorted(range(T.n), key=lambda i: (level[i], i)))
    picture, colours = Picture(WIDTH, 600, "Tiles of 16 x 16"), dict(zip(FORMATS, ACCENTS))
    picture.text(10, 24, "The same triangle, rows by level set, in tiles of 16 x 16", bold=True)
    kinds = {place: "diagonal" if place[0] == place[1] else tile_format(entries, min(size, P.n - size * place[0]), size)
             for place, entries in P.tiles(size).items()}
    x, y, count = 27, 38, -(-P.n // size)
    for (I, J), kind in kinds.items():
        height, width = (size * cell if size * (K + 1) <= P.n else (P.n - size * K) * cell for K in (I, J))
        picture.rect(x + J * size * cell, y + I * size * cell, width, height, colours.get(kind, "#e4e7eb"), "#ffffff", line=1.5)
    for i, j in P.entries:
        picture.rect(x + j * cell + 1, y + i * cell + 1, cell - 2, cell - 2, INK)
    for K in range(count):
        picture.text(x + P.n * cell + 8, y + (K + 0.55) * size * cell if K < count - 1 else y + P.n * cell, f"{K}", 12)
    counts = Counter(kinds.values())
    used = [name for name in FORMATS if counts[name]]
    picture.key(20, 560, [(colours[name], f"{name}: {counts[name]}") for name in used] + [("#e4e7eb", f"diagonal tiles: {counts['diagonal']}")])
    picture.text(20, 586, "Numbers at the right: tile rows. A tile row waits for those of its tiles.", 12)
    return picture


def block(T: Triangle) -> Picture:
    nodes, cell = T.supernodes(), 6
    owner = {j: k for k, (first, end) in enumerate(nodes) for j in range(first, end)}
    depth: list = []
    for k, (first, end) in enumerate(nodes):
        needed = {owner[j] for i in range(first, end) for j in T.rows[i] if j < first}
        depth.append(max((depth[m] + 1 for m in needed), default=0))
    wide = [k for k, (first, end) in enumerate(nodes) if end - first > 1]
    picture = Picture(WIDTH, 640, "Supernodes as dense blocks")
    picture.text(10, 24, f"The same triangle: {len(wide)} runs of columns become dense blocks", bold=True)
    colour = {k: ACCENTS[m % len(ACCENTS)] for m, k in enumerate(wide)}
    pattern(picture, T, 27, 38, cell, lambda i, j: colour.get(owner[j], "#9aa5b1"))
    for k in wide:
        first, end = nodes[k]
        picture.rect(27 + first * cell, 38 + first * cell, (end - first) * cell, (end - first) * cell, "none", INK, line=1.3)
    picture.key(20, 548, [("#9aa5b1", "single columns"), (ACCENTS[0], "dense blocks, a colour each"), ("none", "diagonal blocks")])
    chains = [("rows", max(T.levels()) + 1), ("blocks", max(depth) + 1)]
    for m, (name, steps) in enumerate(chains):
        y = 572 + 30 * m
        picture.text(20, y + 15, f"Chain of {name}: {steps} steps", 13)
        for s in range(steps):
            picture.rect(190 + s * 14, y + 3, 12, 15, ACCENTS[m])
    return picture


def structgrid() -> Picture:
    X, Y, cell, now = 10, 8, 21, 9
    picture = Picture(WIDTH, 560, "A structured grid without level sets")
    picture.text(10, 24, f"Four planes of a grid in step {now}: point (x, y, z) has step x + y + z", bold=True)
    for z in range(4):
        left, top = 25 + (z % 2) * 260, 56 + (z // 2) * 210
        picture.text(left, top - 7, f"plane z = {z}", 13)
        for y in range(Y):
            for x in range(X):
                step = x + y + z
                colour = "#b9d3c2" if step < now else ACCENTS[1] if step == now else WAITING
                picture.rect(left + x * cell, top + y * cell, cell, cell, colour, "#ffffff", line=1.2)
                picture.text(left + (x + 0.5) * cell, top + (y + 0.68) * cell, str(step), 10, anchor="middle")
    picture.key(25, 472, [("#b9d3c2", "solved"), (ACCENTS[1], f"solved together in step {now}"), (WAITING, "to come")])
    picture.text(25, 500, "A point of this seven-point stencil needs its neighbours at x - 1, y - 1 and z - 1,", 12)
    picture.text(25, 520, "each solved a step before. A row of squares is a grid line; lines follow each other", 12)
    picture.text(25, 538, "by one step. No level sets are needed: the stencil says it all.", 12)
    return picture
