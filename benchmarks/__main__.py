"""The benchmarks: `ebbflow bench`, `make bench`, or `python -m benchmarks`.

Without a name, the small set: every kind of work once, within five minutes.

Rule: it ends with status 1 where two programs found different answers, and never because one was slow.
"""

from __future__ import annotations

import sys
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from benchmarks import data, on_spark, recompute, report, runner, spark_report, table
from benchmarks.table import Row
from ebbflow.tools import warm

FIVE_MINUTES = 300.0
AN_HOUR = 3600.0
SPARK = "spark"


class Saying:
    """A bar where there is a terminal, a line now and then where there is none."""

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.bar = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("", total=None)
        self.runs = self.begun = 0

    def expect(self, runs: int) -> None:
        self.runs = runs
        self.bar.update(self.task, total=runs, completed=0)

    def __call__(self, what: str) -> None:
        """Something that is not one of the runs."""
        self.bar.update(self.task, description=what)
        if not self.console.is_terminal:
            self.console.print(what, highlight=False)

    def run(self, what: str) -> None:
        self.bar.update(self.task, description=what, completed=self.begun)
        self.begun += 1
        if not self.console.is_terminal:
            self.console.print(f"{self.begun} of {self.runs}  {what}", highlight=False)


def numbers(_: object, __: object, text: str | None) -> tuple[int, ...]:
    """1,10,100 as numbers."""
    try:
        return tuple(int(part.replace("_", "")) for part in text.split(",")) if text else ()
    except ValueError:
        raise click.BadParameter("numbers with commas between them, such as 1,10,100.") from None


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*table.NAMES, SPARK]), metavar="[NAME]...")
@click.option("--size", type=click.Choice([*table.SIZES, "all"]), default="small", show_default=True)
@click.option("--steps", callback=numbers, help="Times handed over at once: 1,10,100; on Spark changes.")
@click.option("--workers", callback=numbers, help="Numbers of workers: 1,2.")
@click.option("--times", type=click.IntRange(1), help="How many times, instead of the row's own number.")
@click.option(
    "--against",
    type=click.Choice([*runner.BUILT, *recompute.TOOLS, "none"]),
    multiple=True,
    default=["rust"],
    show_default=True,
    help="The Rust original, dbsp, or a tool that starts over; may be given several times.",
)
@click.option("--repeats", type=click.IntRange(1), help="Runs of each side, instead of three.")
@click.option("--seed", type=int, default=42, show_default=True, help="Other data of the same kind.")
@click.option("--limit", type=float, help="Seconds that one run may take: 300, and on Spark 3600.")
@click.option("--view", "views", multiple=True, type=click.Choice([*on_spark.VIEWS, "step", "load"]), help="On Spark.")
@click.option("--cluster", is_flag=True, help="On Spark: a Master and two Workers on the loopback, not local[2].")
@click.option("--save/--no-save", default=True, help="Write benchmarks/results/DATE-COMMIT.json.")
def main(
    names: tuple[str, ...],
    size: str,
    steps: tuple[int, ...],
    workers: tuple[int, ...],
    times: int | None,
    against: tuple[str, ...],
    repeats: int | None,
    seed: int,
    limit: float | None,
    views: tuple[str, ...],
    cluster: bool,
    save: bool,
) -> None:
    """Measure our programs beside the Rust original, in one go, and compare what they found.

    NAME is a workload: degrees, reach, bfs, scc, workers, chains, tpch, arrangement, sustained, startup, feeding.
    `spark` is measured by itself: micro-batches beside recomputing with Spark.
    """
    if SPARK in names:
        if len(names) > 1:
            raise click.ClickException("spark is measured by itself: `ebbflow bench spark`.")
        chosen = on_spark.orders_of(size, views, steps)
        measure_on_spark(chosen, size != "small", cluster, limit or AN_HOUR, save)
        return
    rows = table.chosen(names, size, steps, workers, times, seed)
    if not rows:
        raise click.ClickException(
            f"No row of the set {size} is meant by that; --size seed and --size large have more."
        )
    rows = [row if repeats is None else table.replace(row, repeats=repeats) for row in rows]
    warm.warm()
    saying = Saying()
    with saying.bar:
        rows, left_out = with_data(rows, saying)
        peers = against
        for peer, module in runner.BUILT.items():
            if peer in peers and any(runner.command_of(peer, row) for row in rows):
                why_without = module.PROGRAMS.build(saying)
                if why_without is not None:
                    left_out.append(why_without)
                    peers = tuple(other for other in peers if other != peer)
        saying.expect(sum(row.repeats * len(runner.sides_of(row, peers)) for row in rows))
        measured: list[report.Figures] = []
        try:
            for outcome in runner.interleaved(rows, peers, limit or FIVE_MINUTES, saying.run):
                measured += report.rows_of(outcome, seed)
        except KeyboardInterrupt:
            left_out.append("Interrupted: what was measured until then follows.")
    console = Console(width=None if Console().is_terminal else 200)
    report.show(measured, console)
    for sentence in left_out:
        console.print(sentence, highlight=False)
    if save and measured:
        console.print(f"Written to {report.save(measured)}", highlight=False)
    if any(row["checks_equal"] is False for row in measured):
        console.print("Two programs found different answers.", style="bold red")
        sys.exit(1)


def measure_on_spark(chosen: list[dict[str, Any]], apart: bool, cluster: bool, limit: float, save: bool) -> None:
    warm.warm()
    saying, measured, left_out = Saying(), list[report.Figures](), list[str]()
    with saying.bar:
        saying.expect(len(chosen))
        where = on_spark.CLUSTER if cluster else on_spark.MASTER
        try:
            tables = lambda scale: data.tpch(scale, saying)
            for order, found in on_spark.all_of(chosen, apart, cluster, tables, saying, limit):
                saying.run(f"{order['name']} done")
                if isinstance(found, str):
                    left_out.append(found)
                else:
                    measured += spark_report.rows_of(order, found, where)
        except KeyboardInterrupt:
            left_out.append("Interrupted: what was measured until then follows.")
    console = Console(width=None if Console().is_terminal else 200)
    spark_report.show(measured, console)
    for sentence in left_out:
        console.print(sentence, highlight=False, markup=False)
    if save and measured:
        console.print(f"Written to {report.save(measured)}", highlight=False)
    if any(row["checks_equal"] is False for row in measured):
        console.print("Two programs found different answers.", style="bold red")
        sys.exit(1)


def with_data(rows: list[Row], saying: Saying) -> tuple[list[Row], list[str]]:
    """The rows whose data is there or can be made, and sentences about the others."""
    ready, left_out = [], []
    for row in rows:
        if row.needs is None:
            ready.append(row)
            continue
        place = data.tpch(row.needs, saying)
        if isinstance(place, str):
            if place not in left_out:
                left_out.append(place)
            continue
        assert row.rust is not None
        ready.append(
            table.replace(
                row,
                options=row.options | {"directory": str(place)},
                rust=tuple(part or str(place) for part in row.rust),
            )
        )
    return ready, left_out


if __name__ == "__main__":
    main()
