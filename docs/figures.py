"""Figures of the docs: what changes in a collection, by time, drawn from what the oracle computes.

A figure is a program, the changes that its inputs are given, and the collections to look at. The
same figure is written as an explorer page, where a reader can change the inputs:

    python -m docs.figures                          # docs/figures/*.svg
    python -m docs.figures --explorer site/explore  # the same programs as explorer pages

Each explorer page is written twice: whole, and as NAME-figure.html for a frame in a text.

Rule: every number in a figure is computed when the figure is written.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import ebbflow as ebb
from ebbflow.runtime.oracle.histories import History, Time, accumulate, closure, differences
from ebbflow.runtime.oracle.meaning import Meaning
from ebbflow.runtime.oracle.moment import Moment

PLACE = Path(__file__).parent / "figures"
Change = tuple[str, tuple[int, ...], Time, int]  # an input's name, a row of whole numbers, a time, a diff

CELL, ROW, GAP, LEFT, TOP, LETTER = 96, 40, 44, 80, 58, 8.0
STYLE = """<style>
  text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2733 }
  .title { font-weight: 600 } .soft { fill: #5c6675 }
  .card { fill: #ffffff; stroke: #d5dae1 } .cell { fill: #f4f6f9; stroke: #d5dae1 }
  .plus { fill: #dff3e6; stroke: #2f8f5b } .minus { fill: #fde5e3; stroke: #c8453b }
  .both { fill: #fdf1d8; stroke: #a8791c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6ebf2 } .soft { fill: #a3adba } .card { fill: #161b22; stroke: #3a424d }
    .cell { fill: #1d242d; stroke: #3a424d } .plus { fill: #163a28; stroke: #4fb67f }
    .minus { fill: #471f1d; stroke: #e8736a } .both { fill: #43340f; stroke: #d3a445 } }
</style>"""


# ---- what changes, and when -----------------------------------------------------------------


def changes(collection: ebb.Collection, history: Iterable[Change], rounds: int = 0) -> History:
    """The changes of a collection of whole numbers; inside a loop, in its first `rounds` rounds."""
    graph, node = collection._graph, collection._node
    meaning, given = Meaning(graph), defaultdict(list)
    names = {graph.nodes[i].name: i for i in meaning.reads(node)}
    for name, row, time, diff in history:
        if name in names:
            given[names[name]].append((row, time, diff))
    times = closure(time for rows in given.values() for _, time, _ in rows)
    is_inside = bool(graph.scopes[node])

    def values() -> Iterator[tuple[Time, Any]]:
        for time in times:
            moment = Moment(meaning, {i: accumulate(given[i], time) for i in names.values()})
            for turn in range(rounds if is_inside else 1):
                yield (*time, turn) if is_inside else time, moment.at(node, (turn,) if is_inside else ())

    return sorted(differences(values()), key=lambda change: (change[1], change[0]))


def folded(history: History, frontier: Iterable[Time]) -> History:
    """The same changes with each time moved as far as no reader at or after `frontier` can see."""
    sums: dict[tuple[Any, Time], int] = defaultdict(int)
    for row, time, diff in history:
        joins = [tuple(map(max, time, element)) for element in frontier]
        sums[row, tuple(map(min, *joins)) if len(joins) > 1 else joins[0]] += diff
    return [(row, time, diff) for (row, time), diff in sums.items() if diff]


# ---- drawing --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Panel:
    """One grid: columns by `across`, rows by `up` from the bottom, and the changes in its cells."""

    title: str
    across: tuple[str, ...]
    up: tuple[str, ...]
    cells: dict[tuple[int, int], list[tuple[str, int]]]

    @property
    def width(self) -> int:
        return max(LEFT + CELL * len(self.across), int(LETTER * len(self.title)))


def grid(title: str, history: History, names: tuple[str, str], label: Callable[[Any], str]) -> Panel:
    """Changes at times of two coordinates: the first to the right, the second upward."""
    firsts = sorted({time[0] for _, time, _ in history})
    seconds = sorted({time[1] for _, time, _ in history})
    cells: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for row, (first, second), diff in sorted(history):
        cells[firsts.index(first), seconds.index(second)].append((label(row), diff))
    across = tuple(f"{names[0]} {first}" for first in firsts)
    return Panel(title, across, tuple(f"{names[1]} {second}" for second in seconds), cells)


def strips(title: str, rows: list[tuple[str, History, Callable[[Any], str]]]) -> Panel:
    """Collections below each other, each with its changes by time; the first stands on top."""
    times = sorted({time[0] for _, history, _ in rows for _, time, _ in history})
    cells: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
    for up, (_, history, label) in enumerate(reversed(rows)):
        for row, (time,), diff in sorted(history):
            cells[times.index(time), up].append((label(row), diff))
    names = tuple(name for name, _, _ in reversed(rows))
    return Panel(title, tuple(f"time {time}" for time in times), names, cells)


def svg(panels: list[Panel], described: str) -> str:
    deepest = max((len(said) for panel in panels for said in panel.cells.values()), default=1)
    row = max(ROW, 12 + 20 * deepest)
    width = sum(panel.width for panel in panels) + GAP * (len(panels) - 1) + 32
    height = TOP + row * max(len(panel.up) for panel in panels) + 40
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{escape(described)}</title>",
        STYLE,
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
    ]
    left = 16
    for panel in panels:
        parts += _panel(panel, left, row)
        left += panel.width + GAP
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, left: int, row: int) -> Iterator[str]:
    bottom = TOP + row * len(panel.up)
    yield f'<text x="{left}" y="34" class="title">{escape(panel.title)}</text>'
    for i, name in enumerate(panel.across):
        middle = left + LEFT + CELL * i + CELL / 2
        yield f'<text class="soft" x="{middle:g}" y="{bottom + 22}" text-anchor="middle">{escape(name)}</text>'
    for j, name in enumerate(panel.up):
        top = bottom - row * (j + 1)
        yield f'<text class="soft" x="{left}" y="{top + row / 2 + 5:g}">{escape(name)}</text>'
        for i in range(len(panel.across)):
            said = panel.cells.get((i, j), [])
            signs = {diff > 0 for _, diff in said}
            kind = "cell" if not said else "both" if len(signs) > 1 else "plus" if True in signs else "minus"
            x, y = left + LEFT + CELL * i + 3, top + 3
            yield f'<rect class="{kind}" x="{x}" y="{y}" width="{CELL - 6}" height="{row - 6}" rx="5"/>'
            for line, (text, diff) in enumerate(said):
                sign = ("+" if diff > 0 else "−") + (f"{abs(diff)} × " if abs(diff) > 1 else " ")
                at = top + row / 2 + 5 + 20 * (line - (len(said) - 1) / 2)
                yield (f'<text x="{x + CELL / 2 - 3:g}" y="{at:g}" text-anchor="middle">{sign}{escape(text)}</text>')


# ---- the programs ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Figure:
    """`shown`: the panels, computed when asked for."""

    name: str
    described: str
    flow: ebb.Dataflow
    history: tuple[Change, ...]
    shown: Callable[[], list[Panel]]
    show: ebb.Collection  # that the explorer page begins with
    until: int | None = None  # the frontier that the page shows; the inputs are closed, if it is left out

    def svg(self) -> str:
        return svg(self.shown(), self.described)

    def explore(self, path: Path, parts: tuple[str, ...] | bool = False) -> None:
        def story(live: Any) -> None:
            for name, row, time, diff in self.history:
                live.apply(name, [row], time=time[0] if len(time) == 1 else time, diff=diff)
            live.close() if self.until is None else live.advance_to(self.until)

        self.flow.explore(path, story, figure=parts, show=self.show, title=self.described)


def added(name: str, rows: Iterable[tuple[int, ...]], *time: int) -> tuple[Change, ...]:
    return tuple((name, row, time, 1) for row in rows)


def removed(name: str, rows: Iterable[tuple[int, ...]], *time: int) -> tuple[Change, ...]:
    return tuple((name, row, time, -1) for row in rows)


def one(row: tuple[int, ...]) -> str:
    return str(row[0]) if len(row) == 1 else ", ".join(map(str, row))


def a_bag() -> Figure:
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop long, amount long")
    totals = sales.group_by("shop").agg(total=ebb.sum("amount"))
    flow.output("totals", totals)
    history = added("sales", [(1, 10), (2, 5)], 0) + added("sales", [(1, 7)], 1) + removed("sales", [(2, 5)], 2)
    rows = lambda: [("sales", changes(sales, history), one), ("totals", changes(totals, history), one)]
    title = "Rows are (shop, amount) and (shop, total)"
    return Figure("bag", "Sales and their totals by time", flow, history, lambda: [strips(title, rows())], totals)


def an_index() -> Figure:
    flow = ebb.Dataflow()
    orders = flow.input("orders", "customer long, item long")
    areas = flow.input("areas", "customer long, area long")
    both = orders.join(areas, on="customer")
    flow.output("both", both)
    history = (
        added("orders", [(1, 70)], 0) + added("areas", [(1, 5)], 2) + added("orders", [(1, 71)], 3)
        + removed("areas", [(1, 5)], 4)
    )  # fmt: skip
    rows = lambda: [(name, changes(given, history), one) for name, given in zip(names, (orders, areas, both))]
    names = ("orders", "areas", "joined")
    title = "(customer, item), (customer, area), (customer, item, area)"
    return Figure("join", "A join and its two inputs by time", flow, history, lambda: [strips(title, rows())], both)


def consistency() -> Figure:
    flow = ebb.Dataflow()
    moves = flow.input("moves", "sender long, receiver long, amount long")
    out = moves.select(account="sender", amount=ebb.lit(0) - ebb.col("amount"))
    balance = (
        out.union(moves.select(account="receiver", amount="amount")).group_by("account").agg(balance=ebb.sum("amount"))
    )
    total = balance.group_by().agg(total=ebb.sum("balance"))
    flow.output("total", total)
    history = added("moves", [(1, 2, 30)], 1) + added("moves", [(2, 3, 10)], 2)
    rows = lambda: [
        ("moves", changes(moves, history), lambda row: f"{row[0]}→{row[1]}: {row[2]}"),
        ("balances", changes(balance, history), one),
        ("sum", changes(total, history), one),
    ]
    title = "Transfers, (account, balance), and the sum of all balances"
    described = "Balances by time; their sum stays 0"
    return Figure("consistency", described, flow, history, lambda: [strips(title, rows())], balance, until=2)


GRAPH = ((1, 2), (2, 3), (3, 1), (3, 4))


def reach() -> tuple[ebb.Dataflow, ebb.Collection, ebb.Collection]:
    """The program, the loop's variable, the result."""
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "node long")
    seen: list[ebb.Collection] = []

    def step(reached: ebb.Collection) -> ebb.Collection:
        seen.append(reached)
        return reached.join(edges, on={"node": "src"}).select(node="dst").union(roots).distinct()

    result = roots.iterate(step)
    flow.output("reach", result)
    return flow, seen[0], result


def a_loop() -> Figure:
    flow, variable, _ = reach()
    history = added("roots", [(1,)], 0) + added("edges", GRAPH, 0) + removed("edges", [(2, 3)], 7)
    shown = lambda: [grid("Nodes reached, by time and round", changes(variable, history, 5), ("time", "round"), one)]
    return Figure("loop", "The variable of a loop, by time and round", flow, history, shown, variable)


def unordered() -> Figure:
    flow = ebb.Dataflow(time=("shop", "web"))
    prices = flow.input("prices", "item long, price long")
    least = prices.group_by("item").agg(least=ebb.min("price"))
    flow.output("least", least)
    history = added("prices", [(1, 9)], 0, 0) + added("prices", [(1, 7)], 0, 1) + added("prices", [(1, 8)], 1, 0)
    price = lambda row: str(row[1])
    shown = lambda: [
        grid("Prices of an item", changes(prices, history), ("shop", "web"), price),
        grid("The least price", changes(least, history), ("shop", "web"), price),
    ]
    return Figure("unordered", "A minimum over times of two coordinates", flow, history, shown, least)


def compaction() -> Figure:
    flow, variable, _ = reach()
    history = (
        added("roots", [(1,)], 0) + added("edges", GRAPH, 0) + added("edges", [(1, 3)], 3)
        + removed("edges", [(2, 3)], 7) + removed("edges", [(1, 3)], 9)
    )  # fmt: skip

    def shown() -> list[Panel]:
        found = changes(variable, history, 5)
        before = grid("All changes", found, ("time", "round"), one)
        return [before, grid("After folding to time 9", folded(found, [(9, 0)]), ("time", "round"), one)]

    return Figure(
        "compaction", "Changes in a loop before and after compaction", flow, history, shown, variable, until=9
    )


def many_times() -> Figure:
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop long, amount long")
    totals = sales.group_by("shop").agg(total=ebb.sum("amount"))
    flow.output("totals", totals)
    history = added("sales", [(1, 10), (2, 5)], 0) + tuple(
        change for time in range(1, 9) for change in added("sales", [(time % 2 + 1, time)], time)
    )
    rows = lambda: [("sales", changes(sales, history), one), ("totals", changes(totals, history), one)]
    title = "Nine times in one step; rows are (shop, amount) and (shop, total)"
    described = "Sales at nine times, handed over at once, and their totals"
    return Figure("many", described, flow, history, lambda: [strips(title, rows())], totals)


def questions() -> list[Figure]:
    """The answers of docs/quiz.md: explorer pages, without a picture."""
    start, path = added("roots", [(1,)], 0), added("edges", [(1, 2), (2, 3)], 0)
    histories = (
        start + path,
        start + path + added("edges", [(1, 3)], 5),
        start + added("edges", [(1, 2), (2, 4), (1, 3), (3, 4)], 0) + removed("edges", [(2, 4)], 6),
        start + added("edges", [(1, 2), (2, 3), (3, 2)], 0) + removed("edges", [(1, 2)], 4),
    )
    answers = []
    for number, history in enumerate(histories, start=1):
        flow, variable, _ = reach()
        answers.append(Figure(f"quiz-{number}", f"Question {number}", flow, history, list, variable))
    flow = ebb.Dataflow(time=("a", "b"))
    counts = flow.input("rows", "key long, value long").group_by("key").count()
    flow.output("counts", counts)
    history = added("rows", [(1, 10)], 0, 2) + added("rows", [(1, 20)], 3, 0)
    return [*answers, Figure("quiz-5", "Question 5", flow, history, list, counts)]


def figures() -> list[Figure]:
    return [a_bag(), an_index(), consistency(), a_loop(), unordered(), compaction(), many_times()]


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--explorer", type=Path, help="write explorer pages into this directory instead")
    place: Path | None = asked.parse_args().explorer
    (place or PLACE).mkdir(parents=True, exist_ok=True)
    if place is None:
        for figure in figures():
            (PLACE / f"{figure.name}.svg").write_text(figure.svg(), encoding="utf-8")
        return
    for figure in [*figures(), *questions()]:
        figure.explore(place / f"{figure.name}.html")
        figure.explore(place / f"{figure.name}-figure.html", ("lattice", "rows", "inputs"))


if __name__ == "__main__":
    main()
