"""dbsp beside `ebbflow bench sql`: five of TPC-H's queries, written by hand in Rust on its operators.

    ebbflow bench sql --query 1,3,13,18,22 --against dbsp

It takes the same single changes in the same order and the same thousandth of the rows, in a process of its own on one
core.  The tables are handed over as text, with the columns that the five queries read, whole numbers for decimals and
dates.  Reading them is outside the clock.

Rule: with all rows, without the thousandth and with all again, its answer is DuckDB's, exactly but for averages; and as
many single changes alter it as alter ours.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import dbsp, measure, runner, sql
from benchmarks.report import Figures

# The columns of each answer: text, a number as it is, a date as days, or the decimal places of a whole number.
ANSWERS = {1: "tt2246nnnn", 3: "n4dn", 13: "nn", 18: "tnnd22", 22: "tn2"}
READ = {
    "customer": ("c_custkey", "c_name", "c_phone", "c_acctbal", "c_mktsegment"),
    "orders": ("o_orderkey", "o_custkey", "o_totalprice", "o_orderdate", "o_shippriority", "o_comment"),
    "lineitem": (
        "l_orderkey", "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_returnflag", "l_linestatus",
        "l_shipdate",
    ),
}  # fmt: skip
EPOCH = date(1970, 1, 1).toordinal()

Rows = Sequence[Sequence[Any]]


def beside(number: int, directory: Path, ours: Figures, limit: float) -> Figures | str:
    """Its figures of a query, none where it has no program, or a sentence saying why there are none."""
    if number not in ANSWERS:
        return {}
    tables = texts(directory)
    with tempfile.TemporaryDirectory() as changes:
        wanted = asked(number, directory, Path(changes))
        words = (str(number), str(tables), changes, str(ours["tried"]), str(sql.SHARES))
        command = dbsp.PROGRAMS.command(("tpch", *words))
        told = runner.process(command, dict(os.environ), runner.quietest_core(), limit)
    if told.trouble:
        return f"Q{number} by dbsp {told.trouble}"
    return in_our_words(number, told.found, wanted, ours["altering"]) | {"disturbed": told.is_disturbed}


def in_our_words(number: int, found: Figures, wanted: dict[str, Rows], altering: int) -> Figures:
    steps = measure.spread(found["altering"]) if found["altering"] else {}
    answers = {when: rows_of(number, rows) for when, rows in found["answers"].items()}
    return {
        "dbsp_us": steps.get("p50"), "dbsp_p99": steps.get("p99"), "dbsp_max": steps.get("max"),
        "dbsp_share_us": median(found["shares"]) * 1e6, "dbsp_load_s": found["load_s"],
        "same": len(found["altering"]) == altering and all(are_equal(answers[when], wanted[when]) for when in wanted),
    }  # fmt: skip


def rows_of(number: int, rows: Rows) -> Rows:
    """Rows of whole numbers as DuckDB has them."""
    as_one: dict[str, Any] = {"t": str, "n": lambda value: value, "d": lambda days: date.fromordinal(EPOCH + days)}
    scaled = lambda places: lambda value: Decimal(value).scaleb(-places)
    kinds = [as_one.get(kind) or scaled(int(kind)) for kind in ANSWERS[number]]
    return [tuple(one(value) for one, value in zip(kinds, row, strict=True)) for row in rows]


def are_equal(theirs: Rows, wanted: Rows) -> bool:
    """The same rows: averages to nine digits, all else exactly."""
    alike = lambda one, other: math.isclose(one, other, rel_tol=1e-9) if isinstance(other, float) else one == other
    return len(theirs) == len(wanted) and all(
        all(map(alike, one, other)) for one, other in zip(ordered(theirs), ordered(wanted), strict=True)
    )


def ordered(rows: Rows) -> list[Any]:
    return sql.ordered(list(rows))


# ---- what it is given -------------------------------------------------------------------------------------


def texts(directory: Path) -> Path:
    """The tables as text, beside the files that they are made from; made once."""
    place = directory / "text"
    if place.is_dir():
        return place
    with tempfile.TemporaryDirectory(dir=directory) as unfinished, sql.connected() as connection:
        whole = Path(unfinished) / "whole"
        whole.mkdir()
        for table in READ:
            write(connection, table, f"from '{directory / table}.parquet'", whole / f"{table}.txt")
        whole.rename(place)
    return place


def asked(number: int, directory: Path, changes: Path) -> dict[str, Rows]:
    """Write the rows that change; DuckDB's answers with all rows, and without the thousandth."""
    with sql.connected() as connection:
        for file in directory.glob("*.parquet"):
            connection.execute(f"create view {file.stem} as from '{file}'")
        query, (table, _) = sql.text_of(connection, number), sql.CHANGES[number]
        share = sql.share_of(connection, number)
        write(connection, table, f"from ({sql.singles_of(connection, number, query)})", changes / "singles.txt")
        write(connection, table, share, changes / "share.txt")
        whole = connection.execute(query).fetchall()
        kept = share.replace(f"from {table} where ", f"from '{directory / table}.parquet' where not ")
        connection.execute(f"create or replace view {table} as {kept}")
        return {"loaded": whole, "without": connection.execute(query).fetchall(), "end": whole}


def write(connection: Any, table: str, rows: str, file: Path) -> None:
    """Rows of a table, in the columns that are read: decimals in hundredths, dates in days since 1970."""
    known = {name: kind for name, kind, *_ in connection.execute(f"describe {rows}").fetchall()}
    columns = ", ".join(f"{as_whole(name, known[name])} as {name}" for name in READ[table])
    connection.execute(f"copy (select {columns} {rows}) to '{file}' (format csv, delimiter '|', header, quote '')")


def as_whole(name: str, kind: str) -> str:
    if kind == "DATE":
        return f"{name} - date '1970-01-01'"
    return f"({name} * 100)::bigint" if kind == "DECIMAL(15,2)" else name
