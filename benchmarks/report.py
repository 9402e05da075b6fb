"""What was measured, as rows: a table for people, a file for whoever compares later.

A row is one figure of a run: ours, the peer's, their ratio, what it has to be, and whether both found the same.

Rule: a figure that is missing says why; one that was disturbed is marked.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import recompute, runner
from benchmarks.measure import SPREAD
from benchmarks.runner import Outcome
from benchmarks.table import Measure

RESULTS = Path(__file__).resolve().parent / "results"

Figures = dict[str, Any]


def rows_of(outcome: Outcome, seed: int) -> list[Figures]:
    return [row_of(outcome, measure, seed) for measure in outcome.row.measures]


def row_of(outcome: Outcome, measure: Measure, seed: int) -> Figures:
    row = outcome.row
    ours, rust = outcome.figure("ours", measure.path), outcome.figure("rust", measure.path)
    ratio = ours / rust if ours is not None and rust else None
    judged = ours if measure.stands_alone else ratio
    figures: Figures = {
        "workload": row.workload,
        "size": row.size,
        "step": row.step,
        "workers": row.workers,
        "times": row.options.get("times"),
        "seed": row.options.get("seed", seed),
        "measure": measure.name,
        "ours": ours,
        "rust": rust,
        "unit": measure.unit,
        "ratio": ratio,
        "first": measure.first,
        "goal": measure.goal,
        "reached": reached(judged, measure),
        "checks_equal": outcome.checks_equal(seed),
        "disturbed": outcome.is_disturbed,
        "trouble": outcome.trouble,
        "runs": {side: outcome.figures(side, measure.path) for side in ("ours", *runner.BUILT) if outcome.of(side)},
        "cpu_wall": {side: [round(run.cpu_share, 2) for run in runs] for side, runs in outcome.runs.items()},
    }
    if measure is row.measures[0]:
        for side, prefix in (("ours", ""), ("rust", "rust_")):
            for name in SPREAD:
                figures[prefix + name] = outcome.figure(side, f"steps.{name}")
            for name in ("load_s", "peak_mb", "resident_load_mb"):
                figures[prefix + name] = outcome.figure(side, name)
        figures["starting_over"] = starting_over(outcome)
        figures["dbsp"] = beside_dbsp(outcome, measure)
        figures["parts"] = {part: outcome.figure("ours", f"parts.{part}") for part in ("fed", "worked", "read")}
    return figures


def beside_dbsp(outcome: Outcome, measure: Measure) -> Figures | None:
    """Ours in the same go, and dbsp's, which has one answer a step; None where it did not run."""
    ours, theirs = outcome.figure("ours", measure.path), outcome.figure("dbsp", measure.path)
    return {"ours": ours, "dbsp": theirs, "ratio": ours / theirs} if ours is not None and theirs else None


def starting_over(outcome: Outcome) -> dict[str, Figures]:
    """What each tool takes to start over, and up to how many changes between two looks ours is cheaper."""
    per_change = outcome.figure("ours", "us_per_time")
    if rows := outcome.figure("ours", "rows"):
        per_change = (outcome.figure("ours", "s") or 0.0) / rows * 1e6
    found: dict[str, Figures] = {}
    for tool in recompute.TOOLS:
        seconds = outcome.figure(tool, "s")
        if seconds is not None and per_change:
            found[tool] = {"s": seconds, "pays_up_to": seconds * 1e6 / per_change}
    return found


def reached(figure: float | None, measure: Measure) -> str | None:
    """How far a figure is: at its goal, at what must be shown first, or short of it."""
    if figure is None or measure.first is None:
        return None
    if measure.goal is not None and figure <= measure.goal:
        return "goal"
    return "first" if figure <= measure.first else "no"


# ---- for people ---------------------------------------------------------------------------------------

MARKS = {"goal": "[green]goal[/]", "first": "[green]first[/]", "no": "[red]no[/]", None: ""}


def show(rows: list[Figures], console: Console) -> None:
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name, justify in (
        ("workload", "left"),
        ("size", "left"),
        ("step", "right"),
        ("workers", "right"),
        ("ours", "right"),
        ("Rust", "right"),
        ("unit", "left"),
        ("ratio", "right"),
        ("first", "right"),
        ("goal", "right"),
        ("reached", "left"),
        ("same", "left"),
        ("", "left"),
    ):
        drawn.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    for row in rows:
        drawn.add_row(
            *cells(row),
            MARKS[row["reached"]],
            {True: "yes", False: "[bold red]NO[/]", None: ""}[row["checks_equal"]],
            "disturbed" if row["disturbed"] else "",
        )
    console.print(drawn)
    show_steps(rows, console)
    show_dbsp(rows, console)
    show_starting_over(rows, console)
    for row in rows:
        if row["trouble"] and row["measure"] in ("time", rows[0]["measure"]):
            console.print(f"{row['workload']}, {row['size']}: {row['trouble']}", highlight=False, markup=False)


def cells(row: Figures) -> tuple[str, ...]:
    """What was measured, ours, the peer's and their ratio, and what it has to be."""
    return (
        row["workload"] if row["measure"] == "time" else f"{row['workload']}: {row['measure']}",
        row["size"],
        f"{row['step']:,}" if row["step"] else "",
        str(row["workers"]),
        number(row["ours"]),
        number(row["rust"]),
        row["unit"],
        *(number(row[name]) for name in ("ratio", "first", "goal")),
    )


STEPS = ("workload", "size", "step", "ours, p50 / p99 / p99.9 / max us", "Rust, the same", "p50 / p50", "max / max")


def single_steps(row: Figures) -> tuple[str, ...] | None:
    """What single steps took, in the columns of STEPS; None where there were none, or one, or others between them."""
    if row.get("p50") is None or row["p50"] == row["max"] or row["measure"] == "growth":
        return None
    ratios = [number(row[name] / theirs) if (theirs := row.get(f"rust_{name}")) else "" for name in ("p50", "max")]
    return (
        row["workload"] if row["workers"] == 1 else f"{row['workload']}, {row['workers']} workers",
        row["size"],
        f"{row['step']:,}" if row["step"] else "",
        spread(row, ""),
        spread(row, "rust_"),
        *ratios,
    )


def spread(row: Figures, prefix: str) -> str:
    """The median, the hundredth and the thousandth slowest and the slowest; a dash where one was not measured."""
    found = [row.get(prefix + name) for name in SPREAD]
    return "" if found[0] is None else " / ".join("-" if one is None else number(one) for one in found)


def show_steps(rows: list[Figures], console: Console) -> None:
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in STEPS:
        drawn.add_column(name, justify="left" if name in ("workload", "size") else "right", no_wrap=True)
    for row in rows:
        if (cells_of_steps := single_steps(row)) is not None:
            drawn.add_row(*cells_of_steps)
    if drawn.row_count:
        console.print(drawn)


PER_STEP = ("workload", "size", "step", "workers", "ours, every time", "dbsp, every step", "unit", "ratio")


def per_step(row: Figures) -> tuple[str, ...]:
    """Ours beside dbsp, in the columns of PER_STEP."""
    figures = row["dbsp"]
    return (
        row["workload"],
        row["size"],
        f"{row['step']:,}",
        str(row["workers"]),
        *(number(figures[name]) for name in ("ours", "dbsp")),
        "us per change",
        number(figures["ratio"]),
    )


def show_dbsp(rows: list[Figures], console: Console) -> None:
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in PER_STEP:
        drawn.add_column(name, justify="left" if name in ("workload", "size", "unit") else "right", no_wrap=True)
    for row in rows:
        if row.get("dbsp"):
            drawn.add_row(*per_step(row))
    if drawn.row_count:
        console.print(drawn)
        console.print("dbsp keeps the state after each step, ours the answer at every time within it.", highlight=False)


def show_starting_over(rows: list[Figures], console: Console) -> None:
    """For each tool: once from nothing, and the number of changes up to which keeping up is cheaper."""
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for name in ("workload", "size", "step", "tool", "once, s", "ours is cheaper up to, changes"):
        drawn.add_column(name, justify="left" if name in ("workload", "size", "tool") else "right", no_wrap=True)
    for row in rows:
        for tool, figures in row.get("starting_over", {}).items():
            step = f"{row['step']:,}" if row["step"] else ""
            cells = (tool, number(figures["s"]), number(figures["pays_up_to"]))
            drawn.add_row(row["workload"], row["size"], step, *cells)
    if drawn.row_count:
        console.print(drawn)


def number(value: float | None) -> str:
    """Three figures that count.

    >>> number(0.01234), number(12.34), number(1234.5), number(None)
    ('0.0123', '12.3', '1,234', '')
    """
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


# ---- for later ------------------------------------------------------------------------------------------


def save(rows: list[Figures], directory: Path | None = None) -> Path:
    """Write the rows under today's date and the commit; rows measured again replace those of the same file."""
    machine, directory = runner.machine(), directory or RESULTS
    path = directory / f"{datetime.date.today().isoformat()}-{runner.commit()}.json"
    held = json.loads(path.read_text()) if path.is_file() else []
    found = {identity(row): row for row in held} | {identity(row): {**row, "machine": machine} for row in rows}
    directory.mkdir(exist_ok=True)
    path.write_text("[\n" + ",\n".join(json.dumps(rounded(row)) for row in found.values()) + "\n]\n")
    return path


def identity(row: Figures) -> tuple[object, ...]:
    return tuple(row.get(name) for name in ("workload", "size", "step", "workers", "times", "seed", "measure"))


def rounded(value: Any) -> Any:
    """Five figures of every number: no more are meant."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    return [rounded(one) for one in value] if isinstance(value, list) else value
