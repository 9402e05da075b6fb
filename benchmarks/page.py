"""The tables of docs/benchmarks.md and two charts, written from stored results: `python -m benchmarks.page`.

The tables stand between marks and are written anew from files of results, so that no figure is typed by hand.  Of a row
that was measured in several of them, the last file's figures are shown.  The charts show some of the rows.

Rule: a figure on the page, or in a chart, is a figure of a file that the page names.
"""

from __future__ import annotations

import json
import re
import textwrap
from pathlib import Path

import click

from benchmarks.chart import Bar, bars
from benchmarks.report import PER_STEP, RESULTS, STEPS, Figures, cells, identity, number, per_step, single_steps
from benchmarks.sql_report import times

PAGE = Path(__file__).resolve().parents[1] / "docs" / "benchmarks.md"
PLOTS = Path(__file__).resolve().parent / "plots"
# What the charts show: workload, size, step, measure (and the tool that starts over), and its name.
BESIDE_THE_ORIGINAL = (
    (("scc", "100k/200k", 1_000, "time"), "strong components, 100k nodes"),
    (("reach", "1M/2M", 1, "time"), "reach, 1M nodes, one change a step"),
    (("scc", "1k/2k", 1, "time"), "strong components, 1k nodes"),
    (("bfs", "1k/2k", 1, "time"), "bfs, 1k nodes, one change a step"),
    (("reach", "1k/2k", 100, "time"), "reach, 1k nodes, 100 a step"),
    (("degrees", "10M/50M", 100_000, "time"), "degrees, 10M nodes"),
    (("bfs", "1M/10M", 100, "time"), "bfs, 1M nodes, 100 a step"),
    (("TPC-H Q1", "SF 1", 1_000, "time"), "TPC-H Q1, 1,000 rows a step"),
    (("reach", "1M/2M", 1, "load"), "reach, 1M nodes: the first load"),
)
UNEVEN = tuple(
    ((workload, f"1k/2k, skew {skew}", step, "time"), f"{name}, skew {skew}, {many}")
    for workload, name in (
        ("bfs", "bfs"),
        ("reach", "reach"),
        ("scc", "strong components"),
        ("components", "components"),
    )
    for skew in (2, 3)
    for step, many in ((1, "one change a step"), (100, "100 a step"), (1_000, "1,000 a step"))
)
BESIDE_STARTING_OVER = (
    (("degrees", "10M/50M", 100_000, "time", "duckdb"), "degrees, 10M nodes: DuckDB"),
    (("TPC-H Q1", "SF 1", 10_000, "time", "duckdb"), "TPC-H Q1: DuckDB"),
    (("TPC-H Q13", "SF 1", 10_000, "time", "duckdb"), "TPC-H Q13: DuckDB"),
    (("bfs", "1M/10M", 100, "time", "scipy"), "bfs, 1M nodes: SciPy"),
    (("scc", "100k/200k", 1_000, "time", "scipy"), "strong components, 100k: SciPy"),
    (("bfs", "1k/2k", 1, "time", "scipy"), "bfs, 1k nodes: SciPy"),
    (("reach", "1k/2k", 10, "time", "scipy"), "reach, 1k nodes: SciPy"),
    (("scc", "1k/2k", 1, "time", "scipy"), "strong components, 1k: SciPy"),
)
WORDS = {"goal": "goal", "first": "yes", "no": "**no**", None: ""}


def grid(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def beside_the_original(rows: list[Figures]) -> str:
    head = ("workload", "size", "step", "workers", "ours", "Rust", "unit", "ratio", "must be", "goal", "reached")
    said = lambda row: WORDS[row["reached"]] + (" (disturbed)" if row["disturbed"] else "")
    shown = [row for row in rows if row["rust"] is not None or not row.get("dbsp")]  # not those of the other peer alone
    return grid(head, [(*cells(row), said(row)) for row in shown])


def single_steps_of(rows: list[Figures]) -> str:
    found = [single_steps(row) for row in rows]
    return grid(STEPS, [cells_of_steps for cells_of_steps in found if cells_of_steps is not None])


def beside_dbsp(rows: list[Figures]) -> str:
    return grid(PER_STEP, [per_step(row) for row in rows if row.get("dbsp")])


def beside_starting_over(rows: list[Figures]) -> str:
    head = ("workload", "size", "step", "tool", "once, s", "ours is cheaper up to, changes")
    found = [
        (row["workload"], row["size"], f"{row['step']:,}" if row["step"] else "", tool)
        + (number(figures["s"]), number(figures["pays_up_to"]))
        for row in rows
        for tool, figures in row.get("starting_over", {}).items()
    ]
    return grid(head, found)


SQL, ON_SPARK = "sql: ", "Spark: "  # workloads with tables of their own


def kept_queries(rows: list[Figures]) -> str:
    """TPC-H's queries: a single change that alters the answer, a thousandth of the rows, and starting over."""
    head = (
        "query", "scale", "one change: p50 / p99 / max us", "DuckDB once, us", "by ours", "Spark once, us", "by ours",
        "0.1 % of the rows, us", "DuckDB by ours", "load s", "state MB",
    )  # fmt: skip
    found = []
    for row in rows:
        if row["workload"].startswith(SQL):
            one = " / ".join(number(row[name]) for name in ("p50", "p99", "max")) if row["ours"] else "no change did"
            found.append((
                row["workload"].removeprefix(SQL), row["size"], one + (" (disturbed)" if row["disturbed"] else ""),
                number(row["duckdb_us"]), times(row["duckdb_us"], row["ours"]), number(row["spark_us"]),
                times(row["spark_us"], row["ours"]), number(row["share_us"]), times(row["duckdb_us"], row["share_us"]),
                number(row["load_s"]), number(row["state_bytes"] / 1e6),
            ))  # fmt: skip
    return grid(head, found)


def queries_beside_dbsp(rows: list[Figures]) -> str:
    """Those that were written by hand for dbsp."""
    head = (
        "query", "scale", "ours, p50 / p99 / max us", "dbsp, the same", "dbsp by ours", "0.1 %: ours us", "dbsp us",
        "load: ours s", "dbsp s",
    )  # fmt: skip
    three = lambda row, *names: " / ".join(number(row[name]) for name in names)
    return grid(head, [
        (
            row["workload"].removeprefix(SQL), row["size"], three(row, "p50", "p99", "max"),
            three(row, "dbsp_us", "dbsp_p99", "dbsp_max"), times(row["dbsp_us"], row["p50"]),
            number(row["share_us"]), number(row["dbsp_share_us"]), number(row["load_s"]), number(row["dbsp_load_s"]),
        )
        for row in rows
        if row["workload"].startswith(SQL) and row.get("dbsp_us")
    ])  # fmt: skip


def merged(results: list[Path]) -> list[Figures]:
    """The rows of several files, each from the last that has it."""
    found: dict[tuple[object, ...], Figures] = {}
    for file in results:
        for row in json.loads(file.read_text()):
            was = found.get(identity(row), {})  # not every run has the same peers and tools beside it
            over = was.get("starting_over", {}) | row.get("starting_over", {})
            newest = was if was.get("rust") is not None and row["rust"] is None and row.get("dbsp") else row
            found[identity(row)] = newest | {"starting_over": over, "dbsp": row.get("dbsp") or was.get("dbsp")}
    return list(found.values())


def written(page: str, results: list[Path]) -> str:
    """The page with its tables made anew from files of results."""
    rows = merged(results)
    machines = " and ".join(dict.fromkeys(row["machine"] for row in rows))
    names = ", ".join(f"`benchmarks/results/{file.name}`" for file in results)
    rule = " (each row, and each tool beside it, from the last that has it)" if len(results) > 1 else ""
    source = f"From {names}{rule}, measured on {machines}."
    page = between(page, "source", textwrap.fill(source, 100, break_long_words=False, break_on_hyphens=False))
    page = between(page, "queries", kept_queries(rows))
    page = between(page, "queries beside dbsp", queries_beside_dbsp(rows))
    rows = [row for row in rows if not row["workload"].startswith((SQL, ON_SPARK))]
    page = between(page, "original", beside_the_original(rows))
    page = between(page, "steps", single_steps_of(rows))
    page = between(page, "dbsp", beside_dbsp(rows))
    return between(page, "starting over", beside_starting_over(rows))


def charts(rows: list[Figures]) -> dict[str, str]:
    """Some of the rows as charts, by the names of their files; a row that was not measured is left out."""
    alone = [row for row in rows if row["workers"] == 1]
    key_of = lambda row: tuple(row[name] for name in ("workload", "size", "step", "measure"))
    ratios = {key_of(row): row["ratio"] for row in alone if row["ratio"] is not None}
    pays = {
        (*key_of(row), tool): found["pays_up_to"]
        for row in alone
        for tool, found in row.get("starting_over", {}).items()
    }
    beside = [Bar(name, ratios[key], f"{ratios[key]:.2g}") for key, name in BESIDE_THE_ORIGINAL if key in ratios]
    over = [Bar(name, pays[key], number(pays[key])) for key, name in BESIDE_STARTING_OVER if key in pays]
    uneven = [Bar(name, ratios[key], f"{ratios[key]:.2g}") for key, name in UNEVEN if key in ratios]
    drawn = {}
    if uneven:
        across = "time of ebbflow / time of differential-dataflow in Rust: shorter is faster"
        drawn["uneven"] = bars("Beside the Rust original, on power laws", across, uneven, 1)
    if beside:
        across = "time of ebbflow / time of differential-dataflow in Rust: shorter is faster"
        drawn["original"] = bars("Beside the Rust original", across, beside, 1)
    if over:
        across = "up to so many changes between two looks, keeping the result is cheaper (logarithmic axis)"
        drawn["recomputing"] = bars("Beside computing it again", across, over, 1, logarithmic=True)
    return drawn


def between(page: str, mark: str, text: str) -> str:
    """The page with what stands between `<!-- mark -->` and `<!-- end -->` replaced."""
    pattern = re.compile(rf"(<!-- {mark} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not pattern.search(page):
        raise click.ClickException(f"The page has no place for its {mark}: <!-- {mark} --> and <!-- end -->.")
    return pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", page, count=1)


def named(page: str) -> list[Path]:
    """The files of results that a page says it is made from."""
    found = re.findall(r"`benchmarks/results/(20[^`]+\.json)`", page)
    if not found:
        raise click.ClickException("The page does not say which results it shows.")
    return [RESULTS / name for name in found]


@click.command()
@click.argument("results", nargs=-1, type=click.Path(exists=True, path_type=Path))
def main(results: tuple[Path, ...]) -> None:
    """Write the tables of docs/benchmarks.md and the charts, from RESULTS or those that the page names."""
    text = PAGE.read_text()
    shown = list(results) or named(text)
    PAGE.write_text(written(text, shown))
    for name, drawn in charts(merged(shown)).items():
        (PLOTS / f"{name}.svg").write_text(drawn, encoding="utf-8")
    print(f"docs/benchmarks.md and its charts show {' and '.join(file.name for file in shown)}")


if __name__ == "__main__":
    main()
