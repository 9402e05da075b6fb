"""A warehouse of 45 views over views, kept at once: after each batch every view is what DuckDB recomputes."""

from collections import Counter

import pytest

import ebbflow as ebb
from benchmarks.warehouse_views import TABLES, VIEWS, Source
from tests.relational.views import kind_of, plain

duckdb = pytest.importorskip("duckdb", reason="DuckDB, which answers the same queries, is not installed")


def program():
    flow = ebb.Dataflow()
    for name, schema in TABLES.items():
        flow.input(name, schema)
    for name, text in VIEWS.items():
        flow.output(name, flow.sql(text))  # an output can be read by name in the views behind it
    return flow


def recomputed(connection, rows):
    """Each view's rows and kinds of types, from the tables as they are now."""
    connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for name, schema in TABLES.items():
        connection.execute(f"create or replace table {name} ({schema.replace(' string', ' varchar')})")
        connection.executemany(f"insert into {name} values ({', '.join('?' * len(rows[name][0]))})", rows[name])
    for name, text in VIEWS.items():
        found = connection.execute(f"create or replace view {name} as {text}").execute(f"from {name}")
        kinds = [kind_of(column[1]) for column in found.description]
        yield name, kinds, Counter(tuple(map(plain, row)) for row in found.fetchall())


def test_45_views_are_kept_at_once_while_a_hundredth_of_the_rows_changes():
    source, shown = Source(600), Counter()
    with duckdb.connect() as connection, program().run() as live:
        for name, rows in source.rows.items():
            live.insert(name, rows, time=0)
        for time in range(4):
            for name, (come, gone) in (source.batch() if time else {}).items():
                live.delete(name, gone, time=time)
                live.insert(name, come, time=time)
            live.advance_to(time + 1)
            for name, kinds, wanted in recomputed(connection, source.rows):
                found = Counter()
                for *row, count in live.snapshot(name):
                    found[tuple(map(plain, row))] += count
                assert found == wanted, f"{name} at {time}: missing {wanted - found}, more {found - wanted}"
                assert [kind_of(kind) for kind in live.snapshot(name).schema.types[: len(kinds)]] == kinds, name
                shown[name] += len(wanted)
    assert not [name for name in VIEWS if not shown[name]], "a view without rows shows nothing"


def test_views_read_views():
    depth = dict.fromkeys(TABLES, 0)
    for name, text in VIEWS.items():
        depth[name] = 1 + max(at for other, at in depth.items() if f" {other} " in f" {text} ".replace(")", " "))
    assert max(depth.values()) >= 6
