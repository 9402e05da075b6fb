"""The 22 queries of TPC-H, kept up to date while rows are deleted and come back: at each time what DuckDB answers."""

import glob
import math
import os
from decimal import Decimal

import pytest

import ebbflow as ebb

duckdb = pytest.importorskip(
    "duckdb", reason="DuckDB, which has the data, the queries and the answers, is not installed"
)
extension = pytest.importorskip("duckdb_extension_tpch", reason="DuckDB's package of TPC-H is not installed")

SCALE = 0.01
GONE = {"lineitem": "l_orderkey % 17 = 3", "orders": "o_orderkey % 17 = 3", "supplier": "s_suppkey % 23 = 5"}
TYPES = {"integer": "int", "bigint": "long", "varchar": "string"}


@pytest.fixture(scope="module")
def warehouse():
    """All tables of TPC-H in DuckDB, and the queries' texts."""
    (path,) = glob.glob(os.path.join(os.path.dirname(extension.__file__), "**", "*.duckdb_extension"), recursive=True)
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"load '{path}'")
        connection.execute(f"call dbgen(sf={SCALE})")
        yield connection


def queries():
    return range(1, 23)


def text_of(connection, number):
    return (
        connection.execute("select query from tpch_queries() where query_nr = ?", [number]).fetchone()[0].rstrip("; \n")
    )


def table_of(connection, query):
    return connection.execute(query).arrow().read_all()


def ordered(rows):
    """Rows in an order that does not depend on the last digit of a number."""
    plain = lambda value: isinstance(value, float | Decimal)
    return sorted(rows, key=lambda row: ([repr(v) for v in row if not plain(v)], [float(v) for v in row if plain(v)]))


def are_alike(mine, theirs):
    """Averages and quotients of decimals are decimals as Spark's, and doubles in DuckDB."""
    if isinstance(mine, float | Decimal | int) and isinstance(theirs, float | Decimal | int):
        return math.isclose(mine, theirs, rel_tol=1e-6, abs_tol=1e-6)
    return mine == theirs


def compare(found, connection, query, time):
    mine = ordered([row for *row, count in found for _ in range(count)])
    theirs = ordered(map(list, connection.execute(query).fetchall()))
    assert len(mine) == len(theirs), time
    for one, two in zip(mine, theirs, strict=True):
        assert all(map(are_alike, one, two)), (time, one, two)
    return len(theirs)


@pytest.mark.parametrize("number", queries())
def test_a_query_answers_as_duckdb_does_while_rows_go_and_come_back(warehouse, number):
    query = text_of(warehouse, number)
    flow, tables = ebb.Dataflow(), [row[0] for row in warehouse.execute("show tables").fetchall()]
    used = [name for name in tables if name in query.lower()]
    for name in used:
        columns = warehouse.execute(f"describe {name}").fetchall()
        flow.input(name, ", ".join(f"{column[0]} {TYPES.get(column[1].lower(), column[1])}" for column in columns))
    flow.output("answer", flow.sql(query))
    moving = [name for name in used if name in GONE]
    rows = 0
    with flow.run() as live:
        for name in used:
            live.insert(name, table_of(warehouse, f"select * from {name}"), time=0)
        live.advance_to(1)
        rows += compare(live.snapshot("answer"), warehouse, query, 0)
        warehouse.execute("begin transaction")
        try:
            for name in moving:
                live.delete(name, table_of(warehouse, f"select * from {name} where {GONE[name]}"), time=1)
                warehouse.execute(f"delete from {name} where {GONE[name]}")
            live.advance_to(2)
            rows += compare(live.snapshot("answer"), warehouse, query, 1)
        finally:
            warehouse.execute("rollback")
        for name in moving:
            live.insert(name, table_of(warehouse, f"select * from {name} where {GONE[name]}"), time=2)
        live.advance_to(3)
        rows += compare(live.snapshot("answer"), warehouse, query, 2)
    assert rows > 0, "a query without an answer shows nothing"
