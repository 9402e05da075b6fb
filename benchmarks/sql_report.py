"""What `ebbflow bench sql` measured, as a table for people.

Rule: a ratio is of two figures of one process, taken in turns; Spark's and dbsp's are of a process of their own.
"""

from __future__ import annotations

from statistics import geometric_mean

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.report import MARKS, Figures, number

BESIDE_DBSP = (
    "query", "p50 us", "dbsp p50", "dbsp / ours", "p99", "dbsp p99", "max", "dbsp max", "0.1 %: us", "dbsp us",
    "dbsp / ours", "load s", "dbsp load s", "dbsp / ours",
)  # fmt: skip
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
    show_dbsp([row for row in rows if row["dbsp_share_us"]], console)
    ratios = [row["duckdb_us"] / row["ours"] for row in rows if row["ours"]]
    if ratios:
        console.print(
            f"A single change is {geometric_mean(ratios):.0f} times as fast as DuckDB starting over, on average "
            f"(geometric), {min(ratios):.1f} times at least.",
            highlight=False,
        )


def show_dbsp(rows: list[Figures], console: Console) -> None:
    """Ours beside dbsp's programs written by hand, for the queries that it keeps."""
    if not rows:
        return
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False, collapse_padding=True)
    for name in BESIDE_DBSP:
        drawn.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for row in rows:
        drawn.add_row(
            row["workload"].removeprefix("sql: "),
            *(number(row[name]) for name in ("p50", "dbsp_us")),
            times(row["dbsp_us"], row["p50"]),
            *(number(row[name]) for name in ("p99", "dbsp_p99", "max", "dbsp_max", "share_us", "dbsp_share_us")),
            times(row["dbsp_share_us"], row["share_us"]),
            *(number(row[name]) for name in ("load_s", "dbsp_load_s")),
            times(row["dbsp_load_s"], row["load_s"]),
        )
    console.print(drawn)
    console.print(
        "dbsp runs programs written by hand and is given the columns that they read; ours are given whole tables.",
        highlight=False,
    )


def times(theirs: float | None, ours: float | None) -> str:
    return number(theirs / ours) if theirs and ours else ""
