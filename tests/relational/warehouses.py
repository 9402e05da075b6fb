"""The tables and queries of TPC-H and TPC-DS, as DuckDB's extensions make them, put before Spark as views."""

from __future__ import annotations

import glob
import os

import pytest

SCALE = 0.01


def made(kind, place):
    """A connection to DuckDB that has all tables, and the texts of the queries by number; the tables as files."""
    duckdb = pytest.importorskip("duckdb", reason="DuckDB, which has the data and the queries, is not installed")
    extension = pytest.importorskip(f"duckdb_extension_{kind}", reason=f"DuckDB's package of {kind} is not installed")
    (path,) = glob.glob(os.path.join(os.path.dirname(extension.__file__), "**", "*.duckdb_extension"), recursive=True)
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute(f"load '{path}'")
        connection.execute(f"call {'dbgen' if kind == 'tpch' else 'dsdgen'}(sf={SCALE})")
        tables = [row[0] for row in connection.execute("show tables").fetchall()]
        for table in tables:
            connection.execute(f"copy {table} to '{place}/{table}.parquet' (format parquet)")
        texts = connection.execute(f"select query_nr, query from {kind}_queries()").fetchall()
    return tables, {number: text.rstrip("; \n").replace('"', "`") for number, text in texts}


def show(spark, place, tables, without=None):
    """The tables as views; `without` names conditions for rows that are left out."""
    for table in tables:
        frame = spark.read.parquet(f"{place}/{table}.parquet")
        if without and table in without:
            frame = frame.filter(f"not coalesce({without[table]}, false)")
        frame.createOrReplaceTempView(table)
