"""The tables of docs/performance.md, written from stored results: `python -m benchmarks.page`.

The page is prose between tables; the tables stand between marks and are written anew from files of results, so that no
figure is typed by hand.  Of a row that was measured in several of them, the last file's figures are shown.

Rule: a figure on the page is a figure of a file that the page names.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from benchmarks.report import PER_STEP, RESULTS, Figures, cells, identity, number, per_step, spread

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"
WORDS = {"goal": "goal", "first": "yes", "no": "**no**", None: ""}


def newest(directory: Path = RESULTS) -> Path:
    """The results that were written last, by the date in their names and then by the file's own."""
    found = list(directory.glob("20*.json"))
    if not found:
        raise click.ClickException("No results are stored. `ebbflow bench --size all` writes some.")
    return max(found, key=lambda path: (path.name[:10], path.stat().st_mtime))


def grid(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def beside_the_original(rows: list[Figures]) -> str:
    head = ("workload", "size", "step", "workers", "ours", "Rust", "unit", "ratio", "must be", "goal", "reached")
    said = lambda row: WORDS[row["reached"]] + (" (disturbed)" if row["disturbed"] else "")
    shown = [row for row in rows if row["rust"] is not None or not row.get("dbsp")]  # not those of the other peer alone
    return grid((*head, "p50 / p99 / max us"), [(*cells(row), said(row), spread(row)) for row in shown])


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


def written(page: str, results: list[Path]) -> str:
    """The page with its tables made anew from files of results."""
    found: dict[tuple[object, ...], Figures] = {}
    for file in results:
        for row in json.loads(file.read_text()):
            was = found.get(identity(row), {})  # not every run has the same peers and tools beside it
            over = was.get("starting_over", {}) | row.get("starting_over", {})
            newest = was if was.get("rust") is not None and row["rust"] is None and row.get("dbsp") else row
            found[identity(row)] = newest | {"starting_over": over, "dbsp": row.get("dbsp") or was.get("dbsp")}
    rows = list(found.values())
    machines = " and ".join(dict.fromkeys(row["machine"] for row in rows))
    names = ", ".join(f"`benchmarks/results/{file.name}`" for file in results)
    rule = " (each row, and each tool beside it, from the last that has it)" if len(results) > 1 else ""
    page = between(page, "source", f"From {names}{rule}, measured on {machines}.")
    page = between(page, "original", beside_the_original(rows))
    page = between(page, "dbsp", beside_dbsp(rows))
    return between(page, "starting over", beside_starting_over(rows))


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
    """Write the tables of docs/performance.md, from RESULTS or those that were stored last."""
    shown = list(results) or [newest()]
    PAGE.write_text(written(PAGE.read_text(), shown))
    print(f"docs/performance.md shows {' and '.join(file.name for file in shown)}")


if __name__ == "__main__":
    main()
