"""This checkout beside another one of this project, in turns: `python -m benchmarks.before ../before`.

The other is usually an earlier commit (`git worktree add ../before COMMIT`).  Both run in this environment, each side
in a process of its own on one core, with the kernels of its own compiled first.

    python -m benchmarks.before ../before                    what takes seconds, by one worker
    python -m benchmarks.before ../before reach scc          these workloads
    python -m benchmarks.before ../before --runs 7

Rule: both have the same answers, and a ratio is of the medians of runs that took turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import reduce
from pathlib import Path
from statistics import geometric_mean, median

import click
from rich.console import Console
from rich.table import Table

from benchmarks import runner, table
from benchmarks.report import number

LIMIT = 300.0  # seconds of one run
NEARLY = 0.05  # of the time before, that a ratio may differ without a mark


def environment(checkout: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(checkout)}


def measured(row: table.Row, checkout: Path, core: int | None) -> runner.Run:
    command = [sys.executable, "-m", "benchmarks.child", row.module, json.dumps(row.options)]
    return runner.process(command, environment(checkout), core, LIMIT, 1, checkout)


def compared(row: table.Row, other: Path, runs: int, core: int | None) -> list[tuple[str, list[float], list[float]]]:
    """For each measure of a row its figures here and there; nothing where one of the two cannot run it."""
    sides: dict[Path, list[runner.Run]] = {runner.CHECKOUT: [], other: []}
    for turn in range(runs):
        for side in list(sides)[:: 1 if turn % 2 else -1]:
            run = measured(row, side, core)
            if run.trouble:
                return []
            sides[side].append(run)
    here, there = sides.values()
    if here[0].found.get("checks") != there[0].found.get("checks"):
        raise click.ClickException(f"{row.label}: the two have different answers.")
    found = [(m.name, *(figures_of(side, m.path) for side in (here, there))) for m in row.measures]
    return [(name, mine, theirs) for name, mine, theirs in found if mine and theirs]


def figures_of(side: list[runner.Run], path: str) -> list[float]:
    """What each run found at a dotted path; nothing where one of them found nothing."""
    found = [reduce(lambda part, name: (part or {}).get(name), path.split("."), run.found) for run in side]
    return [float(x) for x in found if x is not None] if None not in found else []


@click.command(help=__doc__.split("Rule:")[0] if __doc__ else None)
@click.argument("other", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("workloads", nargs=-1)
@click.option("--runs", default=3, show_default=True, help="of each side, for each row")
@click.option("--core", type=int, help="which core they are held on; the quietest unless told")
def main(other: Path, workloads: tuple[str, ...], runs: int, core: int | None) -> None:
    other = other.resolve()
    for checkout in (runner.CHECKOUT, other):
        command = [sys.executable, "-m", "ebbflow", "warm"]
        subprocess.run(command, cwd=checkout, env=environment(checkout), check=True, stdout=sys.stderr)
    rows = [
        row
        for row in table.ROWS
        if "small" in row.sets and row.workers == 1 and not row.needs and (not workloads or row.module in workloads)
    ]
    drawn, ratios = Table(box=None, pad_edge=False), []
    for name in ("workload", "measure", "here", "there", "here / there", ""):
        drawn.add_column(name, justify="left" if name in ("workload", "measure", "") else "right")
    core = runner.quietest_core() if core is None else core
    for row in rows:
        print(row.label, file=sys.stderr)
        for name, here, there in compared(row, other, runs, core):
            ratio = median(here) / median(there)
            ratios.append(ratio)
            mark = "slower" if ratio > 1 + NEARLY else "faster" if ratio < 1 - NEARLY else ""
            drawn.add_row(row.label, name, number(median(here)), number(median(there)), f"{ratio:.2f}", mark)
    console = Console(width=None if Console().is_terminal else 160)
    console.print(drawn)
    if ratios:
        console.print(f"On average (geometric) {geometric_mean(ratios):.2f} of the time there.", highlight=False)


if __name__ == "__main__":
    main()
