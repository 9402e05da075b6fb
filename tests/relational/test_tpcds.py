"""A sample of TPC-DS by `flow.sql`, while rows go, change and come back.

`python -m tests.relational.tpc tpcds` asks all 99.  The sample is what has rows at this scale and is answered soon;
rollups, windows, set operations, existence and correlated subqueries are among it.
"""

import pytest

pytest.importorskip("duckdb", reason="DuckDB, which has the data, the queries and the answers, is not installed")
pytest.importorskip("duckdb_extension_tpcds", reason="DuckDB's package of TPC-DS is not installed")

from tests.relational import tpc

SAMPLE = (
    1, 2, 6, 7, 9, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 26, 27, 28, 32, 33, 34, 35, 36, 40, 57, 59, 60, 61, 62, 63,
    67, 68, 69, 70, 71, 76, 79, 81, 84, 86, 87, 88, 89, 90, 92, 94, 95, 96, 97, 98, 99,
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse():
    with tpc.connected("tpcds") as connection:
        yield connection


@pytest.mark.parametrize("number", SAMPLE)
def test_a_query_answers_as_duckdb_does_while_rows_go_change_and_come_back(warehouse, number):
    text = tpc.text_of(warehouse, "tpcds", number)
    rows = tpc.Rows(warehouse, "tpcds")
    assert tpc.answered(tpc.by_sql(rows, text), rows, text) > 0, "a query without an answer shows nothing"
