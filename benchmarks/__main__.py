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

from benchmarks import (
    choose,
    data,
    dbsp,
    on_spark,
    recompute,
    report,
    runner,
    shapes,
    spark_report,
    sql,
    sql_dbsp,
    sql_report,
    table,
    warehouse,
)
from benchmarks.table import Row
from ebbflow.tools import warm

FIVE_MINUTES = 300.0
AN_HOUR = 3600.0
SPARK, SQL, WAREHOUSE = "spark", "sql", "warehouse"


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
@click.argument("names", nargs=-1, type=click.Choice([*table.NAMES, SPARK, SQL, WAREHOUSE]), metavar="[NAME]...")
@click.option(
    "--size",
    type=click.Choice([*table.SIZES, "all", *sql.SCALES]),
    default="small",
    show_default=True,
    help="A set of rows; of `sql` the scale, 0.01 where none is given.",
)
@click.option("--steps", callback=numbers, help="Times handed over at once: 1,10,100; on Spark changes.")
@click.option("--workers", callback=numbers, help="Numbers of workers: 1,2.")
@click.option("--times", type=click.IntRange(1), help="How many times, instead of the row's own number.")
@click.option(
    "--against",
    type=click.Choice([*runner.BUILT, *recompute.TOOLS, SPARK, "none"]),
    multiple=True,
    default=["rust"],
    show_default=True,
    help="The Rust original, dbsp (also of `sql`), or a tool that starts over (spark: of `sql`); several, if wanted.",
)
@click.option("--repeats", type=click.IntRange(1), help="Runs of each side, instead of three.")
@click.option("--seed", type=int, default=42, show_default=True, help="Other data of the same kind.")
@click.option(
    "--skew", type=click.IntRange(0, 3), help="A power law among the nodes: 0 is uniform, 3 has the largest hubs."
)
@click.option("--shape", type=click.Choice(shapes.SHAPES), help="What the graphs look like.")
@click.option("--limit", type=float, help="Seconds that one run may take: 300, and on Spark 3600.")
@click.option("--view", "views", multiple=True, type=click.Choice([*on_spark.VIEWS, "step", "load"]), help="On Spark.")
@click.option("--query", "queries", callback=numbers, help="Of `sql`, some of the queries: 1,13,22.")
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
    skew: int | None,
    shape: shapes.Shape | None,
    limit: float | None,
    views: tuple[str, ...],
    queries: tuple[int, ...],
    cluster: bool,
    save: bool,
) -> None:
    """Measure our programs beside the Rust original, in one go, and compare what they found.

    NAME is a workload: degrees, reach, bfs, scc, components, hub, workers, chains, tpch, arrangement, sustained,
    startup, feeding.
    `spark` is measured by itself: micro-batches beside recomputing with Spark; so are `sql`, TPC-H's 22 queries, a
    single change beside DuckDB starting over, and `warehouse`, 45 views over views on Spark.
    """
    if WAREHOUSE in names or SQL in names:
        if len(names) > 1:
            raise click.ClickException(f"{names[0]} is measured by itself: `ebbflow bench {names[0]}`.")
        if SQL in names:
            measure_sql(size, queries, against, limit or FIVE_MINUTES, save)
        else:
            measure_warehouse(size, limit or AN_HOUR, save)
        return
    if SPARK in names:
        if len(names) > 1:
            raise click.ClickException("spark is measured by itself: `ebbflow bench spark`.")
        chosen = on_spark.orders_of(size, views, steps)
        measure_on_spark(chosen, size != "small", cluster, limit or AN_HOUR, save)
        return
    if skew and shape not in (None, *shapes.DRAWN):
        raise click.ClickException(f"A {shape} has the edges that it has; --skew is for random and bipartite graphs.")
    rows = choose.chosen(names, size, steps, workers, times, seed, skew, shape)
    if not rows:
        raise click.ClickException(
            f"No row of the set {size} is meant by that; --size seed, large and skewed have more."
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


def measure_sql(size: str, queries: tuple[int, ...], against: tuple[str, ...], limit: float, save: bool) -> None:
    """Each query in a process of its own; a scale by its number."""
    if size not in (*sql.SCALES, "small"):
        raise click.ClickException(f"The size of sql is a scale: {', '.join(sql.SCALES)}.")
    if unknown := [number for number in queries if number not in sql.QUERIES]:
        raise click.ClickException(f"TPC-H has queries 1 to 22, and no {unknown[0]}.")
    warm.warm()
    saying, measured, left_out = Saying(), list[report.Figures](), list[str]()
    chosen, scale = queries or sql.QUERIES, size if size in sql.SCALES else "0.01"
    with saying.bar:
        saying.expect(len(chosen))
        beside = None
        if "dbsp" in against and sql_dbsp.ANSWERS.keys() & set(chosen):
            why_without = dbsp.PROGRAMS.build(saying)
            beside = sql_dbsp.beside if why_without is None else None
            left_out += [why_without] if why_without else []
        try:
            for found in sql.measured(scale, chosen, SPARK in against, limit, saying.run, beside):
                if isinstance(found, str):
                    left_out.append(found)
                else:
                    measured.append(found)
        except KeyboardInterrupt:
            left_out.append("Interrupted: what was measured until then follows.")
    console = Console(width=None if Console().is_terminal else 200)
    sql_report.show(measured, console)
    for sentence in left_out:
        console.print(sentence, highlight=False, markup=False)
    if save and measured:
        console.print(f"Written to {report.save(measured)}", highlight=False)
    if left_out or any(row["checks_equal"] is False for row in measured):
        console.print("Some queries have no figures, or another answer.", style="bold red")
        sys.exit(1)


def measure_warehouse(size: str, limit: float, save: bool) -> None:
    if size not in warehouse.TRADES:
        raise click.ClickException(f"The size of warehouse is one of {', '.join(warehouse.TRADES)}.")
    warm.warm()
    saying = Saying()
    with saying.bar:
        saying.expect(1)
        saying.run(f"warehouse, {warehouse.TRADES[size]:,} trades")
        found = warehouse.measured(size, limit)
    console = Console(width=None if Console().is_terminal else 200)
    if isinstance(found, str):
        raise click.ClickException(found)
    warehouse.show(found, console)
    if save:
        console.print(f"Written to {report.save([found])}", highlight=False)
    if not found["checks_equal"]:
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
