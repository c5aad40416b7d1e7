#!/usr/bin/env python3
"""Figures from the JSON of sptrsm-bench, as articles on triangular solves print them.

    sptrsm-bench triangles/ --methods all --json out.json
    scripts/plots.py out.json [--out FOLDER] [--format png|pdf|svg] [--only speedup,nrhs,roofline,preprocess,memory]

    speedup     time of the baseline over time of each method, a group of bars per triangle; one figure per type, operation and
                number of right-hand sides
    nrhs        time of a solve over the number of right-hand sides, a panel per triangle
    roofline    GFLOP/s over flops per byte below the bandwidth measured in the same run, and the share of the model limit over levels
    preprocess  analysis with its view over one solve, per triangle and method
    memory      plan and workspace over the bytes of the matrix

Results whose status is not "ok" are left out.

    scripts/plots.py docs/charts/data/*.json --out docs/charts --format svg

draws the charts of the documentation. Such a file describes one chart ("chart": "bars" or "lines", its groups and series) and says where
its figures come from ("source"); see docs/charts/README.md.

Needs matplotlib. Exit code 2: wrong usage or no matplotlib, 3: nothing to draw in the file, 5: the figures can't be written.
"""
import argparse
import json
import math
import os
import sys

FIGURES = ["speedup", "nrhs", "roofline", "preprocess", "memory"]
DTYPE_BYTES = {"f32": 4, "f64": 8, "c64": 8, "c128": 16}


def need_matplotlib():
    try:
        import matplotlib
    except ImportError:
        print("plots.py: matplotlib is missing; install it with: python3 -m pip install matplotlib", file=sys.stderr)
        sys.exit(2)
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # text stays text
    matplotlib.rcParams["svg.hashsalt"] = "sptrsm"  # the same input gives the same file
    from matplotlib import pyplot
    return pyplot


def triangle_name(result):
    return os.path.basename(result["file"]).removesuffix(".h5") + result["group"]


def in_order(values):
    return list(dict.fromkeys(values))


def read_report(path):
    """The report, and its results with status ok; for the description of a chart there are none."""
    try:
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        if "chart" in report:
            return report, []
        results = [r for r in report["results"] if r["status"] == "ok" and r["solve_ms"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"plots.py: {path}: not a report of sptrsm-bench: {error}", file=sys.stderr)
        sys.exit(3)
    if not results:
        print(f"plots.py: {path}: no measurement with status ok", file=sys.stderr)
        sys.exit(3)
    return report, results


class Plotter:
    def __init__(self, pyplot, report, results, arguments):
        self.pyplot, self.report, self.results, self.arguments = pyplot, report, results, arguments
        self.methods = in_order(r["method"] for r in results)
        self.colours = {m: pyplot.get_cmap("tab20")(i % 20) for i, m in enumerate(self.methods)}

    def cases(self):
        """(type, operation) with the results of each."""
        for key in in_order((r["dtype"], r["op"]) for r in self.results):
            yield key, [r for r in self.results if (r["dtype"], r["op"]) == key]

    def save(self, figure, name, top=1.0):
        machine = self.report["machine"]
        figure.text(0.995, 0.005, f"{machine['device']}, {machine['software']}, {machine['date'][:10]}", ha="right", va="bottom", fontsize=6)
        path = os.path.join(self.arguments.out, f"{name}.{self.arguments.format}")
        figure.tight_layout(rect=(0, 0.035, 1, top))  # below: the machine; above: a legend of the whole figure
        figure.savefig(path, dpi=150)
        self.pyplot.close(figure)
        print(path)

    def bars(self, name, title, results, value, label, log=True, line=None):
        """A group of bars per triangle, a bar per method. value(result): a positive number, or None."""
        triangles = in_order(triangle_name(r) for r in results)
        methods = [m for m in self.methods if any(r["method"] == m and value(r) for r in results)]
        if not methods:
            return
        figure, axes = self.pyplot.subplots(figsize=(max(6, 1 + 0.16 * len(triangles) * (len(methods) + 1)), 4.5))
        width = 0.85 / len(methods)
        for i, method in enumerate(methods):
            points = [(triangles.index(triangle_name(r)), value(r)) for r in results if r["method"] == method and value(r)]
            axes.bar([t + (i + 0.5) * width - 0.425 for t, _ in points], [v for _, v in points], width, label=method, color=self.colours[method])
        if line is not None:
            axes.axhline(line, color="black", linewidth=0.8)
        if log:
            axes.set_yscale("log")
            least, most = axes.get_ylim()
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter("{x:g}" if most < 10 * least else self.pyplot.NullFormatter())
        axes.set_xticks(range(len(triangles)), triangles, rotation=90, fontsize=7)
        axes.set_ylabel(label)
        axes.set_title(title, fontsize=9)
        axes.legend(fontsize=6, ncols=2)
        self.save(figure, name)

    def speedup(self):
        baseline = self.report["baseline"]
        for (dtype, op), results in self.cases():
            for nrhs in in_order(r["nrhs"] for r in results):
                some = [r for r in results if r["nrhs"] == nrhs and r["method"] != baseline]
                self.bars(f"speedup_{dtype}_{op}_{nrhs}", f"over {baseline}: {dtype}, op {op}, {nrhs} right-hand sides", some,
                          lambda r: r["ratio_baseline"], f"time of {baseline} / time", line=1)

    def nrhs(self):
        for (dtype, op), results in self.cases():
            triangles = in_order(triangle_name(r) for r in results)
            columns = min(4, len(triangles))
            rows = math.ceil(len(triangles) / columns)
            figure, grid = self.pyplot.subplots(rows, columns, figsize=(3.2 * columns + 1, 2.4 * rows + 1), squeeze=False)
            lines = {}
            for k, axes in enumerate(grid.flat):
                if k >= len(triangles):
                    axes.axis("off")
                    continue
                for method in self.methods:
                    points = sorted((r["nrhs"], r["solve_ms"]) for r in results if triangle_name(r) == triangles[k] and r["method"] == method)
                    if points:
                        lines[method], = axes.loglog(*zip(*points), marker="o", markersize=3, linewidth=1, color=self.colours[method])
                axes.set_title(triangles[k], fontsize=7)
                axes.tick_params(labelsize=6)
            grid[-1][0].set_xlabel("right-hand sides", fontsize=7)
            grid[0][0].set_ylabel("ms per solve", fontsize=7)
            figure.legend(lines.values(), lines.keys(), fontsize=6, loc="upper center", ncols=6)
            self.save(figure, f"nrhs_{dtype}_{op}", top=0.95)

    def roofline(self):
        bandwidth = self.report["limits"]["copy_gb_s"]
        for (dtype, op), results in self.cases():
            figure, (left, right) = self.pyplot.subplots(1, 2, figsize=(11, 4.5))
            intensities = []
            for method in self.methods:
                points = []
                for r in (r for r in results if r["method"] == method):
                    moved = r["matrix_bytes"] + 2 * r["n"] * r["nrhs"] * DTYPE_BYTES[dtype]
                    points.append((r["gflops"] * r["solve_ms"] * 1e6 / moved, r["gflops"], r["levels"], r["limit_share"]))
                if not points:
                    continue
                intensities += [p[0] for p in points]
                left.scatter([p[0] for p in points], [p[1] for p in points], s=12, label=method, color=self.colours[method])
                right.scatter([p[2] for p in points], [p[3] for p in points], s=12, color=self.colours[method])
            if bandwidth and intensities:
                ends = [min(intensities) / 1.5, max(intensities) * 1.5]
                left.plot(ends, [bandwidth * e for e in ends], color="black", linewidth=0.8, label=f"{bandwidth:.0f} GB/s")
            for axes in (left, right):
                axes.set_xscale("log")
                axes.set_yscale("log")
            left.set_xlabel("flops per byte (matrix once, X and B once)")
            left.set_ylabel("GFLOP/s")
            left.legend(fontsize=6)
            right.axhline(1, color="black", linewidth=0.8)
            right.set_xlabel("level sets")
            right.set_ylabel("share of the model limit")
            self.save(figure, f"roofline_{dtype}_{op}")

    def preprocess(self):
        for (dtype, op), results in self.cases():
            least = min(r["nrhs"] for r in results)
            self.bars(f"preprocess_{dtype}_{op}", f"analysis and view over one solve: {dtype}, op {op}, {least} right-hand sides",
                      [r for r in results if r["nrhs"] == least], lambda r: (r["analysis_ms"] + r["view_ms"]) / r["solve_ms"],
                      "solves an analysis costs", line=10)

    def memory(self):
        for (dtype, op), results in self.cases():
            most = max(r["nrhs"] for r in results)
            self.bars(f"memory_{dtype}_{op}", f"plan and workspace over the matrix: {dtype}, op {op}, {most} right-hand sides",
                      [r for r in results if r["nrhs"] == most], lambda r: (r["plan_bytes"] + r["workspace_bytes"]) / r["matrix_bytes"],
                      "bytes / bytes of the matrix", line=1)


class Chart:
    """One chart of the documentation, as docs/charts/README.md describes its JSON."""

    def __init__(self, pyplot, chart, arguments):
        self.pyplot, self.chart, self.arguments = pyplot, chart, arguments
        self.colours = pyplot.get_cmap("tab10")

    def bars(self, axes):
        """A group of bars for each name, a bar for each series that has a value there; thin lines from the least to the most."""
        groups, series = self.chart["groups"], self.chart["series"]
        for group in range(len(groups)):
            present = [s for s in range(len(series)) if series[s]["values"][group] is not None]
            width = 0.8 / max(1, len(present))
            for place, s in enumerate(present):
                at, value = group + (place + 0.5) * width - 0.4, series[s]["values"][group]
                bottom = self.chart.get("line", 0)  # of a ratio: 1, so that a loss points downwards
                axes.bar(at, value - bottom, 0.9 * width, bottom, color=self.colours(s))
                if "least" in series[s]:
                    axes.vlines(at, series[s]["least"][group], series[s]["most"][group], color="black", linewidth=0.8)
                    axes.text(at, series[s]["most"][group], f" {value:g}", fontsize=7, ha="center", va="bottom")
        turned = sum(map(len, groups)) > 90
        axes.set_xticks(range(len(groups)), groups, rotation=90 if turned else 0, fontsize=7 if turned else 8)
        return [self.pyplot.Rectangle((0, 0), 1, 1, color=self.colours(s)) for s in range(len(series))]

    def lines(self, axes):
        groups, handles = self.chart["groups"], []
        for s, one in enumerate(self.chart["series"]):
            points = [(x, y) for x, y in zip(groups, one["values"]) if y is not None]
            handles += axes.plot(*zip(*points), marker="o", markersize=3, linewidth=1.2, color=self.colours(s % 10))
        axes.set_xscale("log")
        axes.set_xticks(groups, [f"{x:g}" for x in groups], fontsize=8)
        axes.xaxis.set_minor_locator(self.pyplot.NullLocator())
        return handles

    def draw(self, name):
        """Writes NAME.FORMAT into the folder and prints its path."""
        chart = self.chart
        figure, axes = self.pyplot.subplots(figsize=(8, 3.8))
        axes.set_yscale("log")
        handles = {"bars": self.bars, "lines": self.lines}[chart["chart"]](axes)
        axes.yaxis.set_major_formatter("{x:g}")
        least, most = axes.get_ylim()
        axes.yaxis.set_minor_locator(self.pyplot.LogLocator(subs=(2, 3, 5)))
        axes.yaxis.set_minor_formatter("{x:g}" if most < 100 * least else self.pyplot.NullFormatter())
        axes.tick_params(axis="y", which="both", labelsize=7)
        axes.margins(y=0.12)
        if "line" in chart:
            axes.axhline(chart["line"], color="black", linewidth=0.8)
        axes.set_xlabel(chart.get("x_label", ""), fontsize=8)
        axes.set_ylabel(chart["y_label"], fontsize=8)
        figure.suptitle(chart["title"].replace("`", ""), fontsize=10)
        if len(handles) > 1:
            axes.legend(handles, [s["name"] for s in chart["series"]], fontsize=7, loc="lower center", bbox_to_anchor=(0.5, 1.0),
                        ncols=min(len(handles), 5), frameon=False)
        facts = [chart.get("note", "").replace("`", "")] + in_order(f"{s['machine']}, {s['date']}" for s in chart["source"])
        figure.text(0.99, 0.01, "\n".join(fact for fact in facts if fact), ha="right", va="bottom", fontsize=5.5)
        path = os.path.join(self.arguments.out, f"{name}.{self.arguments.format}")
        figure.tight_layout(rect=(0, 0.01 + 0.025 * sum(map(bool, facts)), 1, 1))
        figure.savefig(path, dpi=150, metadata={"Date": None} if self.arguments.format == "svg" else None)
        self.pyplot.close(figure)
        print(path)


def draw(path, arguments, wanted):
    """The figures of one file. Returns the exit code."""
    report, results = read_report(path)
    pyplot = need_matplotlib()
    try:
        os.makedirs(arguments.out, exist_ok=True)
        if "chart" in report:
            Chart(pyplot, report, arguments).draw(os.path.splitext(os.path.basename(path))[0])
            return 0
        plotter = Plotter(pyplot, report, results, arguments)
        for name in wanted:
            getattr(plotter, name)()
    except KeyError as error:
        print(f"plots.py: {path}: not a report of sptrsm-bench: no {error}", file=sys.stderr)
        return 3
    except OSError as error:
        print(f"plots.py: can't write: {error}", file=sys.stderr)
        return 5
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", metavar="REPORT.json", nargs="+")
    parser.add_argument("--out", default=".", metavar="FOLDER")
    parser.add_argument("--format", default="png", choices=["png", "pdf", "svg"])
    parser.add_argument("--only", default=",".join(FIGURES), metavar="LIST", help="of " + ", ".join(FIGURES))
    arguments = parser.parse_args()
    wanted = arguments.only.split(",")
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        parser.error(f"--only: {unknown[0]} is not one of {', '.join(FIGURES)}")
    for path in arguments.reports:
        code = draw(path, arguments, wanted)
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
