"""Random queries have DuckDB's answers at every time; `python -m tests.relational.random_sql` asks any number."""

import pytest

from tests.relational import random_sql

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which answers the same queries, is not installed")

QUERIES = 2000
PART = 100


@pytest.mark.parametrize("first", range(0, QUERIES, PART))
def test_a_random_query_is_kept_up_to_date(first):
    with duckdb.connect() as connection:
        assert sum(random_sql.ask(connection, seed) for seed in range(first, first + PART)) > 0.95 * PART


def test_the_queries_are_of_every_kind():
    text = " ".join(random_sql.written(seed) for seed in range(QUERIES))
    wanted = [
        *random_sql.JOINS, *random_sql.SETS, "exists (", "not in (select", "rollup(", "cube(", "grouping sets (",
        "filter (where", "distinct from", "with w0", "limit", "offset", "having", "(values", "count(distinct",
    ]  # fmt: skip
    assert [part for part in wanted if part not in text] == []
