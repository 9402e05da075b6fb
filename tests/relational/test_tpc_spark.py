"""TPC's queries as DataFrames, kept while rows are deleted and come back: at each time what Spark answers itself."""

import pytest

from tests.relational import warehouses
from tests.relational.of_spark import compare, program

GONE = {
    "tpch": {"lineitem": "l_orderkey % 17 = 3", "orders": "o_orderkey % 17 = 3", "supplier": "s_suppkey % 23 = 5"},
    "tpcds": {"store_sales": "ss_ticket_number % 5 = 2", "catalog_returns": "cr_order_number % 3 = 1"},
}
SAMPLE = (18, 35, 98, 51, 70)
"""Those of TPC-DS's that are run in every test: grouping sets, existence, whole windows, running ones, ranks."""


@pytest.fixture(scope="module")
def tpch(tmp_path_factory, spark):
    yield from warehouse("tpch", tmp_path_factory, spark)


@pytest.fixture(scope="module")
def tpcds(tmp_path_factory, spark):
    yield from warehouse("tpcds", tmp_path_factory, spark)


def warehouse(kind, tmp_path_factory, spark):
    place = tmp_path_factory.mktemp(kind)
    tables, queries = warehouses.made(kind, place)
    warehouses.show(spark, place, tables)
    yield place, GONE[kind], queries
    for table in tables:
        spark.catalog.dropTempView(table)


def answers(spark, place, gone, queries, number):
    """How many rows the answers had in all: with all rows, without some, and with all again."""
    df = spark.sql(queries[number])
    flow, whole = program(df), df.collect()
    moving = [name for name in gone if name in flow._leaves]
    rows = 0
    with flow.run() as live:
        live.advance_to(1)
        rows += compare(live.snapshot("answer"), whole, 0)
        parts = {}
        for name in moving:
            columns = flow._leaves[name].schema.names
            every = spark.read.parquet(f"{place}/{name}.parquet")
            parts[name] = every.filter(gone[name]).select(*columns).toArrow()
            live.delete(name, parts[name], time=1)
        live.advance_to(2)
        without = {name: gone[name] for name in moving}
        warehouses.show(spark, place, without, without)
        try:
            rows += compare(live.snapshot("answer"), spark.sql(queries[number]), 1)
        finally:
            warehouses.show(spark, place, without)
        for name in moving:
            live.insert(name, parts[name], time=2)
        live.advance_to(3)
        rows += compare(live.snapshot("answer"), whole, 2)
    return rows


@pytest.mark.slow
def test_the_22_queries_of_tpch_answer_as_spark_does_while_rows_go_and_come_back(spark, tpch):
    for number in range(1, 23):
        assert answers(spark, *tpch, number) > 0, f"query {number} has no answer, which shows nothing"


@pytest.mark.slow
def test_the_99_queries_of_tpcds_are_built(spark, tpcds):
    for text in tpcds[2].values():
        program(spark.sql(text))
    assert len(tpcds[2]) == 99


@pytest.mark.slow
def test_queries_of_tpcds_answer_as_spark_does_while_rows_go_and_come_back(spark, tpcds):
    for number in SAMPLE:
        assert answers(spark, *tpcds, number) > 0, f"query {number} has no answer, which shows nothing"
