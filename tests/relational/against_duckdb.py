"""A query asked of ebbflow and of DuckDB, on the same changing rows, at every time.

Rule: DuckDB starts over at each time; what ebbflow kept up to date must be the same bag of rows.
"""

from __future__ import annotations

import datetime
import random
from collections import Counter
from decimal import Decimal

import ebbflow as ebb

SCHEMAS = {
    "t": [("a", "long"), ("b", "long"), ("s", "string"), ("d", "date")],
    "u": [("k", "long"), ("b", "long"), ("x", "double")],
    "e": [("src", "long"), ("dst", "long")],
}
DUCKDB = {"long": "bigint", "string": "varchar"}
TIMES = 3


def value(kind: str, rng: random.Random) -> object:
    if rng.random() < 0.15:
        return None
    match kind:
        case "long":
            return rng.randint(-3, 6)
        case "double":
            return rng.choice([0.5, 1.0, -2.25, 3.0])
        case "string":
            return rng.choice(["a", "b", "ab", "", "Zed"])
    return datetime.date(2024, rng.randint(1, 4), rng.randint(1, 28))


def history(rng: random.Random) -> list[dict[str, tuple[list[tuple], list[tuple]]]]:
    """For each time and table the rows that come and the rows that go; empty tables, empty steps and refills occur."""
    here: dict[str, list[tuple]] = {name: [] for name in SCHEMAS}
    steps = []
    for time in range(TIMES):
        step = {}
        for name, columns in SCHEMAS.items():
            gone = [row for row in here[name] if rng.random() < (1.0 if rng.random() < 0.1 else 0.35)] if time else []
            for row in gone:
                here[name].remove(row)
            count = rng.choice([0, 0, 2, 5]) if time else rng.choice([0, 4, 8])
            come = [tuple(value(kind, rng) for _, kind in columns) for _ in range(count)]
            here[name] += come
            step[name] = (come, gone)
        steps.append(step)
    return steps


def plain(found: object) -> object:
    """Numbers of all types alike, floats to nine digits: DuckDB's types are not Spark's."""
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal):
        return found
    return ("number", float(f"{float(found):.9g}") + 0.0)


def program(*queries: str) -> ebb.Dataflow:
    flow = ebb.Dataflow()
    for name, columns in SCHEMAS.items():
        flow.input(name, ", ".join(f"{column} {kind}" for column, kind in columns))
    for i, query in enumerate(queries):
        flow.output(f"out{i}", flow.sql(query))
    return flow


def compare(connection, query: str, seed: int, asked: str | None = None, beside=(), **options) -> int:
    """How many rows the answers had in all; AssertionError where they differ.  asked: the query in DuckDB's words;
    beside: (query, asked) pairs that the same program shows too.
    """
    steps = history(random.Random(seed))
    queries = [(query, asked or query), *beside]
    rows: dict[str, list[tuple]] = {name: [] for name in SCHEMAS}
    count = 0
    with program(*(one for one, _ in queries)).run(**options) as live:
        for time, step in enumerate(steps):
            for name, (come, gone) in step.items():
                live.insert(name, come, time=time)
                live.delete(name, gone, time=time)
                for row in gone:
                    rows[name].remove(row)
                rows[name] += come
            live.advance_to(time + 1)
            for i, (one, spoken) in enumerate(queries):
                got = Counter()
                for *row, copies in live.snapshot(f"out{i}"):
                    got[tuple(map(plain, row))] += copies
                want = Counter(tuple(map(plain, row)) for row in answer(connection, spoken, rows))
                assert got == want, f"time {time}: {one}\n{rows}\nmissing {want - got}\nmore {got - want}"
                count += len(want)
    return count


def answer(connection, query: str, rows: dict[str, list[tuple]]) -> list[tuple]:
    for name, columns in SCHEMAS.items():
        typed = ", ".join(f"{column} {DUCKDB.get(kind, kind)}" for column, kind in columns)
        connection.execute(f"create or replace table {name} ({typed})")
        if rows[name]:
            connection.executemany(f"insert into {name} values ({', '.join('?' * len(columns))})", rows[name])
    return connection.execute(query).fetchall()
