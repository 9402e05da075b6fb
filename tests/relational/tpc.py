"""The 22 queries of TPC-H and the 99 of TPC-DS by `flow.sql`, while rows go, change and come back, against DuckDB.

    python -m tests.relational.tpc tpch tpcds
    python -m tests.relational.tpc tpcds --only 3 7 14

Rule: at each time the answer is DuckDB's, which starts over: the same rows, numbers to six digits.
"""

from __future__ import annotations

import argparse
import glob
import importlib
import math
import os
import sys
import time as clock
from decimal import Decimal

import ebbflow as ebb

SCALE = 0.01
TYPES = {"integer": "int", "bigint": "long", "varchar": "string"}
GONE = {
    "tpch": {"lineitem": "l_orderkey % 17 = 3", "orders": "o_orderkey % 17 = 3", "supplier": "s_suppkey % 23 = 5"},
    "tpcds": {
        "store_sales": "ss_ticket_number % 5 = 2", "catalog_sales": "cs_order_number % 5 = 2",
        "web_sales": "ws_order_number % 5 = 2", "store_returns": "sr_ticket_number % 3 = 1",
        "catalog_returns": "cr_order_number % 3 = 1", "inventory": "inv_item_sk % 7 = 1",
        "customer_address": "ca_address_sk % 11 = 4",
    },
}  # fmt: skip
CHANGED = {
    "tpch": {"lineitem": ("l_orderkey % 19 = 4", "l_quantity = l_quantity + 1")},
    "tpcds": {"store_sales": ("ss_ticket_number % 7 = 3", "ss_quantity = ss_quantity + 1")},
}


def connected(kind: str):
    """A connection to DuckDB that has the tables and knows the queries."""
    import duckdb

    extension = importlib.import_module(f"duckdb_extension_{kind}")
    (path,) = glob.glob(os.path.join(os.path.dirname(extension.__file__), "**", "*.duckdb_extension"), recursive=True)
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"load '{path}'")
    connection.execute(f"call {'dbgen' if kind == 'tpch' else 'dsdgen'}(sf={SCALE})")
    return connection


def text_of(connection, kind: str, number: int) -> str:
    found = connection.execute(f"select query from {kind}_queries() where query_nr = ?", [number]).fetchone()
    return found[0].rstrip("; \n")


def ordered(rows):
    """Rows in an order that does not depend on the last digit of a number."""
    plain = lambda value: isinstance(value, float | Decimal)
    return sorted(rows, key=lambda row: ([repr(v) for v in row if not plain(v)], [float(v) for v in row if plain(v)]))


def are_alike(mine, theirs) -> bool:
    """Averages and quotients of decimals are decimals as Spark's, and doubles in DuckDB."""
    if isinstance(mine, float | Decimal | int) and isinstance(theirs, float | Decimal | int):
        return math.isclose(mine, theirs, rel_tol=1e-6, abs_tol=1e-5)
    return mine == theirs


def compared(found, theirs) -> int:
    mine, theirs = ordered([row for *row, count in found for _ in range(count)]), ordered(map(list, theirs))
    assert len(mine) == len(theirs), (len(mine), len(theirs))
    for one, two in zip(mine, theirs, strict=True):
        assert all(map(are_alike, one, two)), (one, two)
    return len(theirs)


def answered(connection, kind: str, number: int) -> int:
    """How many rows the answers had in all: with all rows, without some, with some changed, and with all again."""
    query = text_of(connection, kind, number)
    asked = query.replace('"', "`")
    tables = [row[0] for row in connection.execute("show tables").fetchall()]
    flow, used = ebb.Dataflow(), [name for name in tables if name in query.lower()]
    for name in used:
        columns = connection.execute(f"describe {name}").fetchall()
        flow.input(name, ", ".join(f"{column[0]} {TYPES.get(column[1].lower(), column[1])}" for column in columns))
    flow.output("answer", flow.sql(asked))
    arrow = lambda text: connection.execute(text).arrow().read_all()
    gone = {name: condition for name, condition in GONE[kind].items() if name in used}
    changed = {name: both for name, both in CHANGED[kind].items() if name in used}
    rows = 0
    connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")
    with flow.run() as live:
        for name in used:
            live.insert(name, arrow(f"select * from {name}"), time=0)
        live.advance_to(1)
        rows += compared(live.snapshot("answer"), connection.execute(query).fetchall())
        connection.execute("begin transaction")
        try:
            left = {name: arrow(f"select * from {name} where {condition}") for name, condition in gone.items()}
            for name, condition in gone.items():
                live.delete(name, left[name], time=1)
                connection.execute(f"delete from {name} where {condition}")
            live.advance_to(2)
            rows += compared(live.snapshot("answer"), connection.execute(query).fetchall())
            before = {
                name: arrow(f"select * from {name} where {condition}") for name, (condition, _) in changed.items()
            }
            after = {}
            for name, (condition, change) in changed.items():
                connection.execute(f"update {name} set {change} where {condition}")
                after[name] = arrow(f"select * from {name} where {condition}")
                live.delete(name, before[name], time=2)
                live.insert(name, after[name], time=2)
            live.advance_to(3)
            rows += compared(live.snapshot("answer"), connection.execute(query).fetchall())
        finally:
            connection.execute("rollback")
        for name, table in left.items():
            live.insert(name, table, time=3)
        for name in changed:
            live.delete(name, after[name], time=3)
            live.insert(name, before[name], time=3)
        live.advance_to(4)
        rows += compared(live.snapshot("answer"), connection.execute(query).fetchall())
    return rows


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.relational.tpc", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=("tpch", "tpcds"))
    parser.add_argument("--only", type=int, nargs="*")
    asked = parser.parse_args(arguments)
    failures = 0
    for kind in asked.kinds:
        with connected(kind) as connection:
            numbers = asked.only or range(1, 23 if kind == "tpch" else 100)
            right = empty = 0
            for number in numbers:
                start = clock.perf_counter()
                try:
                    rows = answered(connection, kind, number)
                    right, empty = right + 1, empty + (rows == 0)
                    print(f"{kind} {number}: {rows} rows, {clock.perf_counter() - start:.1f} s", flush=True)
                except Exception as problem:  # whatever it is, the next query is asked
                    failures += 1
                    print(f"{kind} {number}: {type(problem).__name__}: {str(problem)[:500]}", flush=True)
            print(f"{kind}: {right} of {len(numbers)} answer as DuckDB does, {empty} of them without rows", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
