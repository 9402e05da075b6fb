"""What was measured on Spark, as rows like those of the others: a table for people, figures for the file.

Rule: a micro-batch of a thousandth of the rows has to cost at most a tenth of recomputing; a hundredth is the goal.
"""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.report import Figures, number
from benchmarks.table import Measure, short

SHARE = Measure("time", "s", "s", 0.1, 0.01)  # of a recomputation, for a thousandth of the rows
ONE_CHANGE = Measure("time", "s", "s", 0.5, 0.15, stands_alone=True)  # with a loop of twenty rounds, in one job
AFTER_LOAD = Measure("time", "s", "s", 1.0, 0.3, stands_alone=True)


def rows_of(order: dict[str, Any], found: dict[str, Any], where: str) -> list[Figures]:
    name = order["name"]
    if name == "step":
        return [row("loop of twenty rounds", "", 1, where, found["s"], ONE_CHANGE, jobs=found["jobs"], runs=found)]
    if name == "load":
        size = f"{short(found['nodes'])}/{short(found['edges'])}"
        memory = {part: found[part] for part in ("driver MB", "JVM MB", "workers MB")}
        seconds = {"load_s": found["packed s"] + found["loaded s"], "first_s": found["first s"], "runs": found["runs"]}
        more = {"memory": memory, "memory_after": found["after"], "same": found["same"], **seconds}
        return [row("reach and degrees, loaded", size, 1, where, found["one change s"], AFTER_LOAD, **more)]
    options = order["options"]
    size = f"SF {order['needs']}" if "needs" in order else f"{short(options['nodes'])}/{short(options['edges'])}"
    whole, by = min((peer["s"], name) for name, peer in found["peers"].items())
    rows = []
    for changes, step in sorted(found["steps"].items(), key=lambda item: int(item[0])):
        measure = SHARE if int(changes) == found["share"] else Measure("time", "s", "s")
        more = {"recomputed": whole, "by": by, "cheaper_from": found["cheaper from"], "jobs": step["jobs"]}
        more |= {"peers": found["peers"], "load_s": found["load s"], "first_s": found["first s"], "runs": step["runs"]}
        same = all(peer["same"] for peer in found["peers"].values())
        made = row(name, size, int(changes), where, step["s"], measure, same=same, memory=found["memory"], **more)
        rows.append(made)
    return rows


def row(
    name: str, size: str, step: int, where: str, seconds: float, measure: Measure, same: bool | None = None, **more: Any
) -> Figures:
    whole = more.get("recomputed")
    ratio = seconds / whole if whole else None
    return {
        "workload": f"Spark: {name}",
        "size": f"{size} {where}".strip(),
        "step": step,
        "workers": 2,
        "times": None,
        "seed": None,
        "measure": measure.name,
        "ours": seconds,
        "rust": None,
        "unit": measure.unit,
        "ratio": ratio,
        "first": measure.first,
        "goal": measure.goal,
        "reached": report.reached(seconds if measure.stands_alone else ratio, measure),
        "checks_equal": same,
        "disturbed": False,
        "trouble": None,
        **more,
    }


def show(rows: list[Figures], console: Console) -> None:
    """Beside the times: the changes from which on recomputing is cheaper, and the most memory that each process had."""
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, collapse_padding=True)
    for heading in (
        *("view", "size", "changes", "ours, s", "jobs", "recomputed, s", "by", "ratio", "first", "goal", "reached"),
        *("same", "load, s", "cheaper from", "MB: driver / JVM / workers"),
    ):
        left = heading in ("view", "size", "by", "reached", "same", "MB: driver / JVM / workers")
        drawn.add_column(heading, justify="left" if left else "right", no_wrap=True)
    for one in rows:
        memory = one.get("memory") or {}
        parts = [memory.get("driver MB"), memory.get("JVM MB")]
        told = " / ".join(number(part) for part in parts if part is not None)
        workers = " + ".join(number(part) for part in memory.get("workers MB", ())[:2])
        drawn.add_row(
            one["workload"].removeprefix("Spark: "),
            one["size"],
            f"{one['step']:,}",
            number(one["ours"]),
            number(one.get("jobs")),
            number(one.get("recomputed")),
            one.get("by", ""),
            number(one["ratio"]),
            number(one["first"]),
            number(one["goal"]),
            report.MARKS[one["reached"]],
            {True: "yes", False: "[bold red]NO[/]", None: ""}[one["checks_equal"]],
            number(one.get("load_s")),
            f"{one['cheaper_from']:,.0f}" if one.get("cheaper_from") is not None else "",
            f"{told} / {workers}" if told else "",
        )
    console.print(drawn)
