"""The 22 queries of TPC-H and the 99 of TPC-DS, while rows go, change and come back, by both fronts, against DuckDB.

    python -m tests.relational.tpc tpch tpcds                        flow.sql
    python -m tests.relational.tpc tpch tpcds --front dataframe      DataFrames, and the types of both fronts
    python -m tests.relational.tpc tpcds --scale 0.1 --only 8 24     other data

An answer is asked at four times: with all rows, without some, with some of the rest changed, and with all as they were.

Rule: at each time the answer is DuckDB's, which starts over: the same rows, numbers to six digits.  Types are Spark's.
"""

from __future__ import annotations

import argparse
import glob
import importlib
import math
import os
import sys
import tempfile
import time as clock
from decimal import Decimal

import ebbflow as ebb

SCALE = "0.01"
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
    "tpch": {"lineitem": ("l_orderkey % 19 = 4", "l_quantity")},
    "tpcds": {"store_sales": ("ss_ticket_number % 7 = 3", "ss_quantity")},
}
"""Which rows of a table change, and which of its columns is one more."""
TIMES = ("whole", "without", "changed", "whole")
RIGHT_NULLS = "set default_null_order = 'nulls_first_on_asc_last_on_desc'"  # Spark's


def connected(kind: str, scale: str = SCALE):
    """A connection to DuckDB that has the tables and knows the queries."""
    import duckdb

    extension = importlib.import_module(f"duckdb_extension_{kind}")
    (path,) = glob.glob(os.path.join(os.path.dirname(extension.__file__), "**", "*.duckdb_extension"), recursive=True)
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    connection.execute(f"load '{path}'")
    connection.execute(f"call {'dbgen' if kind == 'tpch' else 'dsdgen'}(sf={scale})")
    connection.execute(RIGHT_NULLS)
    return connection


def numbers(kind: str) -> range:
    return range(1, 23 if kind == "tpch" else 100)


def text_of(connection, kind: str, number: int) -> str:
    found = connection.execute(f"select query from {kind}_queries() where query_nr = ?", [number]).fetchone()
    return found[0].rstrip("; \n")


def of_spark(text: str) -> str:
    return text.replace('"', "`")


# ---- how the tables change -------------------------------------------------------------------


class Rows:
    """The rows of DuckDB's tables at each time, and what comes and goes between."""

    def __init__(self, connection, kind: str):
        self.connection, self.gone, self.changed = connection, GONE[kind], CHANGED[kind]
        self.tables = [row[0] for row in connection.execute("show tables").fetchall()]

    def read_by(self, query: str) -> list[str]:
        return [name for name in self.tables if name in query.lower()]

    def schema(self, name: str) -> str:
        columns = self.connection.execute(f"describe {name}").fetchall()
        return ", ".join(f"{column[0]} {TYPES.get(column[1].lower(), column[1])}" for column in columns)

    def arrow(self, name: str, columns="*", where="true", more="", kind=""):
        text = ", ".join(columns)
        if more:
            text = text.replace(more, f"cast({more} + 1 as {kind}) as {more}")
        return self.connection.execute(f"select {text} from {name} where {where}").arrow().read_all()

    def steps(self, columns: dict[str, list[str]]):
        """For each time what goes and what comes: (table, rows) each; of these columns of these tables."""
        whole = [(name, self.arrow(name, some)) for name, some in columns.items()]
        gone = [(name, self.arrow(name, columns[name], self.gone[name])) for name in columns if name in self.gone]
        before, after = [], []
        for name, (where, more) in self.changed.items():
            if more in columns.get(name, ()):
                found = dict(row[:2] for row in self.connection.execute(f"describe {name}").fetchall())
                left = f"{where} and ({self.gone[name]}) is not true"
                before.append((name, self.arrow(name, columns[name], left)))
                after.append((name, self.arrow(name, columns[name], left, more, found[more])))
        yield [], whole
        yield gone, []
        yield before, after
        yield after, [*before, *gone]

    def become(self, time: str) -> None:
        """Inside of a transaction that is rolled back: the tables as they are at a time."""
        for name, condition in self.gone.items() if time != "whole" else ():
            self.connection.execute(f"delete from {name} where {condition}")
        for name, (where, more) in self.changed.items() if time == "changed" else ():
            self.connection.execute(f"update {name} set {more} = {more} + 1 where {where}")

    def answers(self, query: str) -> dict[str, list]:
        found = {}
        for time in dict.fromkeys(TIMES):
            self.connection.execute("begin transaction")
            try:
                self.become(time)
                found[time] = self.connection.execute(query).fetchall()
            finally:
                self.connection.execute("rollback")
        return found


def show(spark, place, rows: Rows) -> None:
    """The tables before Spark, as files."""
    for table in rows.tables:
        rows.connection.execute(f"copy {table} to '{place}/{table}.parquet' (format parquet)")
        spark.read.parquet(f"{place}/{table}.parquet").createOrReplaceTempView(table)


# ---- what an answer is compared by --------------------------------------------------------------


def ordered(rows):
    """Rows in an order that does not depend on the last digit of a number."""
    plain = lambda value: isinstance(value, float | Decimal)
    return sorted(rows, key=lambda row: ([repr(v) for v in row if not plain(v)], [float(v) for v in row if plain(v)]))


def are_alike(mine, theirs) -> bool:
    """Averages and quotients of decimals are decimals as Spark's, and doubles in DuckDB."""
    if isinstance(mine, float | Decimal | int) and isinstance(theirs, float | Decimal | int):
        return math.isclose(mine, theirs, rel_tol=1e-6, abs_tol=1e-5)
    return mine == theirs


def compare(mine, theirs, time) -> None:
    mine, theirs = ordered(mine), ordered(map(list, theirs))
    assert len(mine) == len(theirs), (time, len(mine), len(theirs))
    for one, two in zip(mine, theirs, strict=True):
        assert all(map(are_alike, one, two)), (time, one, two)


# ---- the two fronts ------------------------------------------------------------------------------


def by_sql(rows: Rows, text: str) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    for name in rows.read_by(text):
        flow.input(name, rows.schema(name))
    flow.output("answer", flow.sql(of_spark(text)))
    return flow


def by_dataframe(spark, text: str) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    flow.output("answer", flow.dataframe(spark.sql(of_spark(text))))
    return flow


def answered(flow: ebb.Dataflow, rows: Rows, query: str, holds_rows: bool = False) -> int:
    """How many rows the answers had in all; AssertionError where one is not DuckDB's.

    holds_rows: whether a session begins with the rows of the tables.
    """
    theirs = rows.answers(query)
    inputs = {node.name: node.schema.names for node in flow.graph.nodes if getattr(node, "name", "") in rows.tables}
    count = 0
    with flow.run() as live:
        for at, (goes, comes) in enumerate(rows.steps(inputs)):
            for name, table in goes:
                live.delete(name, table, time=at)
            for name, table in [] if at == 0 and holds_rows else comes:
                live.insert(name, table, time=at)
            live.advance_to(at + 1)
            found = [row for *row, copies in live.snapshot("answer") for _ in range(copies)]
            compare(found, theirs[TIMES[at]], TIMES[at])
            count += len(found)
    return count


# ---- by command ----------------------------------------------------------------------------------

SPELT = {"long": "bigint", "short": "smallint", "byte": "tinyint"}


def types_of(flow: ebb.Dataflow) -> list[str]:
    shown = next(i for i, node in enumerate(flow.graph.nodes) if type(node).__name__ == "Output")
    kinds = flow.graph.schemas[shown].types
    return [SPELT.get(str(kind), str(kind)) for kind in kinds]


def asked_of_both(spark, rows: Rows, text: str) -> int:
    """By Catalyst's front; that both fronts have Spark's types, but for the width of what flow.sql counts."""
    flow = by_dataframe(spark, text)
    theirs = [field.dataType.simpleString() for field in spark.sql(of_spark(text)).schema.fields]
    assert types_of(flow) == theirs, f"{types_of(flow)}, and Spark has {theirs}"
    any_width = lambda kinds: ["bigint" if kind in ("tinyint", "smallint", "int") else kind for kind in kinds]
    mine = types_of(by_sql(rows, text))
    assert any_width(mine) == any_width(theirs), f"flow.sql: {mine}, and Spark has {theirs}"
    return answered(flow, rows, text, holds_rows=True)


def ask(kind: str, scale: str, front: str, chosen) -> int:
    """How many of the queries answer otherwise."""
    right = empty = failures = 0
    with connected(kind, scale) as connection, tempfile.TemporaryDirectory() as place:
        rows = Rows(connection, kind)
        if front == "dataframe":
            spark = ebb.spark("local[2]", **{"spark.sql.shuffle.partitions": 2})
            show(spark, place, rows)
        for number in chosen:
            start = clock.perf_counter()
            text = text_of(connection, kind, number)
            try:
                count = answered(by_sql(rows, text), rows, text) if front == "sql" else asked_of_both(spark, rows, text)
                right, empty = right + 1, empty + (count == 0)
                print(f"{kind} {number}: {count} rows, {clock.perf_counter() - start:.1f} s", flush=True)
            except Exception as problem:  # whatever it is, the next query is asked
                failures += 1
                print(f"{kind} {number}: {type(problem).__name__}: {str(problem)[:700]}", flush=True)
    print(f"{kind} {scale} {front}: {right} of {right + failures} as DuckDB, {empty} without rows", flush=True)
    return failures


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.relational.tpc", description=__doc__)
    parser.add_argument("kinds", nargs="+", choices=tuple(GONE))
    parser.add_argument("--only", type=int, nargs="*")
    parser.add_argument("--scale", default=SCALE)
    parser.add_argument("--front", choices=("sql", "dataframe"), default="sql")
    asked = parser.parse_args(arguments)
    failures = 0
    for kind in asked.kinds:
        failures += ask(kind, asked.scale, asked.front, asked.only or numbers(kind))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
