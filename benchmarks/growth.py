"""How the cost of one change grows with what stands around it: `python -m benchmarks.growth`.

One question a plot: as the graph grows at constant degree, as one key or one node grows, as the roots grow in number,
as history grows, as more times are handed over at once.  Work in proportion to the change shows as a line that stays
flat, or follows the size of the answer.

Rule: a point is one process, measured like every other row; the plots are drawn from what is stored beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.chart import Line, chart
from benchmarks.hub import KINDS
from benchmarks.runner import at as at_of
from benchmarks.shapes import window_of

HOME = Path(__file__).parent
POINTS = HOME / "results" / "growth.json"
PLOTS = HOME / "plots"


@dataclass(frozen=True)
class Question:
    name: str
    title: str
    across: str
    points: tuple[tuple[str, str, dict[str, Any], int], ...]  # line, workload, options, where on the axis


def _points(line: str, workload: str, key: str, values: tuple[int, ...], **fixed: Any) -> list[tuple]:
    return [(line, workload, {**fixed, key: value}, value) for value in values]


def _graphs(line: str, workload: str, **fixed: Any) -> list[tuple]:
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    return [(line, workload, {**fixed, "nodes": size, "edges": 2 * size}, size) for size in sizes]


def _stars(line: str, workload: str, **fixed: Any) -> list[tuple]:
    sizes = (100, 1_000, 10_000, 100_000)
    star = {"shape": "star", "step": 1, "times": 300, **fixed}
    return [(line, workload, {**star, "nodes": size + 1, "edges": window_of("star", size + 1)}, size) for size in sizes]


SMALL = {"nodes": 1000, "edges": 2000}
VALUES = (1_000, 10_000, 100_000, 1_000_000)
QUESTIONS = (
    Question(
        "graph",
        "As the graph grows, two edges a node",
        "nodes",
        (
            *_graphs("reach, one time a step", "reach", step=1, times=300),
            *_graphs("reach, 100 times a step", "reach", step=100, times=1000),
            *_graphs("bfs, one time a step", "bfs", step=1, times=300),
            *_graphs("degrees, 1000 times a step", "degrees", step=1000, times=20_000),
        ),
    ),
    Question(
        "roots",
        "As the roots grow in number (reach, 1,000 nodes, 2,000 edges)",
        "roots",
        (
            *_points("one time a step", "reach", "roots", (1, 3, 10, 30, 100, 300), step=1, times=500, **SMALL),
            *_points("100 times a step", "reach", "roots", (1, 3, 10, 30, 100, 300), step=100, times=1000, **SMALL),
        ),
    ),
    Question(
        "values",
        "As one key's values grow in number, one of them changed at a time (median)",
        "values of the key",
        tuple(point for kind in KINDS for point in _points(kind, "hub", "values", VALUES, kind=kind, times=300)),
    ),
    Question(
        "degree",
        "As one node's edges grow in number, one of them changed at a time (median)",
        "edges of the node, either way",
        (
            *_stars("degrees", "degrees"),
            *_stars("reach, one root", "reach", roots=1),
            *_stars("bfs", "bfs"),
            *_stars("strong components", "scc"),
            *_stars("components", "components"),
        ),
    ),
    Question(
        "step",
        "As more times are handed over at once",
        "times a step",
        (
            *_points("reach", "reach", "step", (1, 10, 100, 1000, 10_000), times=10_000, **SMALL),
            *_points("bfs", "bfs", "step", (1, 10, 100, 1000, 10_000), times=20_000, **SMALL),
            *_points("scc", "scc", "step", (1, 10, 100, 1000), times=1000, **SMALL),
            *_points(
                "degrees", "degrees", "step", (1, 10, 100, 1000, 10_000), times=20_000, nodes=10_000, edges=50_000
            ),
        ),
    ),
    Question(
        "history",
        "As history grows: the last thousand single changes (1,000 nodes)",
        "changes before",
        (
            *_points("reach", "reach", "times", (2_000, 5_000, 20_000, 50_000), step=1, **SMALL),
            *_points("bfs", "bfs", "times", (2_000, 5_000, 20_000, 100_000), step=1, **SMALL),
        ),
    ),
)


MEDIAN_OF = {"history": "last_steps.p50", "degree": "steps.p50", "values": "steps.p50"}  # elsewhere the mean


def measured(question: Question, say: Console) -> Iterator[dict[str, Any]]:
    for line, workload, options, at in question.points:
        say.print(f"{question.name}: {line}, {question.across} {at:,}", highlight=False)
        command = [sys.executable, "-m", "benchmarks.child", workload, json.dumps(options)]
        done = subprocess.run(command, capture_output=True, text=True, cwd=HOME.parent)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        found = json.loads(done.stdout)
        us = at_of(found, MEDIAN_OF.get(question.name, "us_per_time"))
        yield {"question": question.name, "line": line, "at": at, "us": us, "p99": found["steps"]["p99"]}


def draw(points: list[dict[str, Any]]) -> list[Path]:
    PLOTS.mkdir(exist_ok=True)
    drawn = []
    for question in QUESTIONS:
        here = [point for point in points if point["question"] == question.name]
        names = list(dict.fromkeys(point["line"] for point in here))
        lines = [Line(name, tuple((p["at"], p["us"]) for p in here if p["line"] == name)) for name in names]
        if lines:
            path = PLOTS / f"{question.name}.svg"
            path.write_text(chart(question.title, question.across, "microseconds a time", lines), encoding="utf-8")
            drawn.append(path)
    return drawn


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([question.name for question in QUESTIONS]))
@click.option("--draw-only", is_flag=True, help="Draw what was measured before.")
def main(names: tuple[str, ...], draw_only: bool) -> None:
    """Measure how the cost of a change grows, and draw it."""
    say = Console(stderr=True)
    points = json.loads(POINTS.read_text()) if POINTS.exists() else []
    if not draw_only:
        for question in QUESTIONS:
            if not names or question.name in names:
                found = list(measured(question, say))
                points = [point for point in points if point["question"] != question.name] + found
                POINTS.write_text(json.dumps(points, indent=1) + "\n")
    for path in draw(points):
        print(path.relative_to(HOME.parent))


if __name__ == "__main__":
    main()
