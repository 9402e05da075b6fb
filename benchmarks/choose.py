"""Which rows are measured when a person asks: a workload, a size, and what is to be otherwise than in the table.

Rule: a row of the table that is meant keeps its goal; one that was made has none.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.draws import SEED
from benchmarks.shapes import DRAWN, Shape, window_of
from benchmarks.table import ROWS, Row, rust_arguments, size_of

ON_GRAPHS = ("degrees", "reach", "bfs", "scc", "components")
USUAL = 2  # the skew of the products of a bipartite graph, unless told


def chosen(
    names: tuple[str, ...],
    size: str,
    steps: tuple[int, ...],
    workers: tuple[int, ...],
    times: int | None,
    seed: int,
    skew: int | None = None,
    shape: Shape | None = None,
) -> list[Row]:
    """The rows that a person asks for.  A step, a number of workers or a graph that no row has makes one, without a
    goal.
    """
    rows = [row for row in ROWS if size in row.sets or (size == "all" and {"seed", "large", "skewed"} & set(row.sets))]
    rows = [row for row in rows if not names or row.module in names]
    if skew is not None or shape is not None:
        rows = on_graph(rows, skew, shape)
    if steps:
        rows = [one for row in first_of_each(rows, "step") for one in varied(row, rows, "step", steps)]
    if workers:
        rows = [one for row in first_of_each(rows, "workers") for one in varied(row, rows, "workers", workers)]
    return [adjusted(row, times, seed) for row in rows]


def on_graph(rows: list[Row], skew: int | None, shape: Shape | None) -> list[Row]:
    """The rows of such a graph; where there is none, those of others on one with as many nodes, each run once."""
    if meant := [row for row in rows if is_on(row, skew, shape)]:
        return meant
    found: dict[object, Row] = {}
    for row in rows:
        own: Shape = row.options.get("shape", "random")
        drawn_by = shape or own
        if row.module not in ON_GRAPHS or (skew is not None and drawn_by not in DRAWN):
            continue
        options = {name: value for name, value in row.options.items() if name not in ("skew", "shape")}
        power = row.options.get("skew", 0) if skew is None else skew
        if drawn_by != "random":
            options["shape"] = drawn_by
            power = USUAL if drawn_by == "bipartite" and skew is None and not power else power
        if drawn_by != own:
            options["edges"] = window_of(drawn_by, options["nodes"])
        if power and drawn_by in DRAWN:
            options["skew"] = power
        made = like(row, list(ROWS), options)
        found.setdefault((made.workload, made.size, made.step, made.workers), made)
    return list(found.values())


def is_on(row: Row, skew: int | None, shape: Shape | None) -> bool:
    own: Shape = row.options.get("shape", "random")
    is_so_skewed = skew is None or (row.options.get("skew", 0) == skew and own in DRAWN)
    return row.module in ON_GRAPHS and shape in (None, own) and is_so_skewed


def first_of_each(rows: list[Row], apart_from: str) -> list[Row]:
    """One row of each kind, where rows that differ in this one option only are of a kind."""
    kinds: dict[object, Row] = {}
    for row in rows:
        if row.options.get(apart_from) is not None:
            others = {name: value for name, value in row.options.items() if name not in (apart_from, "times")}
            kinds.setdefault((row.workload, row.size, tuple(sorted(others.items()))), row)
    return list(kinds.values())


def varied(row: Row, rows: list[Row], option: str, values: tuple[int, ...]) -> list[Row]:
    """A row for each value of an option: that of the table, or one like it."""
    return [like(row, rows, row.options | {option: value}) for value in values]


def like(row: Row, rows: list[Row], options: dict[str, Any]) -> Row:
    """The row that has these options; where there is none, this one with them and without a goal."""
    if options == row.options:
        return row
    made = replace(
        row,
        options=options,
        size=size_of(options) if "nodes" in options and row.module in ON_GRAPHS else row.size,
        measures=tuple(replace(measure, first=None, goal=None) for measure in row.measures),
        step=options.get("step", row.step),
        workers=options.get("workers", row.workers),
    )
    made = replace(made, rust=rust_arguments(made))
    alike = (r for r in rows if (r.workload, r.size) == (made.workload, made.size))
    return next((r for r in alike if same_run(r, made)), made)


def same_run(a: Row, b: Row) -> bool:
    return a.options | {"times": 0} == b.options | {"times": 0}


def adjusted(row: Row, times: int | None, seed: int) -> Row:
    options = dict(row.options)
    if times is not None and "times" in options:
        options["times"] = times
    if seed != SEED and row.module in (*ON_GRAPHS, "workers", "sustained", "arrangement", "feeding"):
        options["seed"] = seed
    if options == row.options:
        return row
    row = replace(row, options=options)
    if row.module == "chains" and row.rust is not None:
        return replace(row, rust=(*row.rust[:2], str(options["times"]), row.rust[3]))
    if row.module == "hub" and row.rust is not None:
        return replace(row, rust=(*row.rust[:3], str(options["times"])))
    return replace(row, rust=rust_arguments(row)) if row.rust is not None else row
