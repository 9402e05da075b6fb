"""What `ebbflow bench sql` measured, as a table for people.

Rule: a ratio is of two figures of one process, taken in turns; Spark's are of a process of its own.
"""

from __future__ import annotations

from statistics import geometric_mean

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.report import MARKS, Figures, number

LEFT = ("query", "same", "within 5 ms", "")
HEAD = (
    "query", "p50 us", "p99", "max", "within 5 ms", "DuckDB us", "/ ours", "Spark us", "/ ours", "0.1 %: rows", "us",
    "DuckDB / ours", "load s", "state MB", "same", "",
)  # fmt: skip


def show(rows: list[Figures], console: Console) -> None:
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, collapse_padding=True)
    for name in HEAD:
        drawn.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for row in rows:
        one, share = row["ours"], row["share_us"]
        drawn.add_row(
            row["workload"].removeprefix("sql: "),
            *(number(row[name]) for name in ("p50", "p99", "max")),
            MARKS[row["reached"]] if row["reached"] != "first" else "yes",
            number(row["duckdb_us"]),
            times(row["duckdb_us"], one),
            number(row["spark_us"]),
            times(row["spark_us"], one),
            number(row["share_rows"]),
            number(share),
            times(row["duckdb_us"], share),
            number(row["load_s"]),
            number(row["state_bytes"] / 1e6),
            "yes" if row["checks_equal"] else "[bold red]NO[/]",
            "disturbed" if row["disturbed"] else "",
        )
    console.print(drawn)
    ratios = [row["duckdb_us"] / row["ours"] for row in rows if row["ours"]]
    if ratios:
        console.print(
            f"A single change is {geometric_mean(ratios):.0f} times as fast as DuckDB starting over, on average "
            f"(geometric), {min(ratios):.1f} times at least.",
            highlight=False,
        )


def times(theirs: float | None, ours: float | None) -> str:
    return number(theirs / ours) if theirs and ours else ""
