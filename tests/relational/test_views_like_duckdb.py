"""Views as people define them have DuckDB's answers at every time; `python -m tests.relational.views` asks more."""

import pytest

from tests.relational import views
from tests.relational.view_queries import VIEWS

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which answers the same queries, is not installed")


@pytest.mark.parametrize("topic", VIEWS)
def test_views_are_kept_up_to_date(topic):
    with duckdb.connect() as connection:
        assert views.compare(connection, VIEWS[topic], seed=1) > len(VIEWS[topic])


def test_the_tables_change_and_one_is_emptied():
    steps = [step for seed in range(3) for step in views.history(seed)]
    assert all(any(step[name][1] for step in steps) for name in views.TABLES if name != "nothing")
    assert any(len(gone) > 3 and not come for step in steps for come, gone in step.values())
