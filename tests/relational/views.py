"""Views as people define them, over the tables of a shop that change, asked of ebbflow and of DuckDB.

    python -m tests.relational.views --seeds 20

Rule: DuckDB starts over at each time; what ebbflow kept up to date must be the same bag of rows, of the same kinds of
types.  Numbers are compared to nine digits: a quotient of decimals is a decimal in Spark and a double in DuckDB.
"""

from __future__ import annotations

import argparse
import datetime
import random
import sys
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import ebbflow as ebb
from tests.relational.view_queries import VIEWS

TABLES = {
    "customers": {
        "id": "int", "name": "string", "region": "string", "credit": "double", "since": "date", "referrer": "int",
    },
    "orders": {
        "id": "int", "customer": "int", "amount": "decimal(10,2)", "status": "string", "placed": "timestamp",
        "day": "date", "qty": "int",
    },
    "items": {"order_id": "int", "sku": "string", "price": "decimal(8,2)", "n": "int"},
    "clicks": {"uid": "bigint", "page": "string", "ts": "timestamp", "ms": "int"},
    "quotes": {"sym": "string", "ts": "timestamp", "px": "double"},
    "trades": {"sym": "string", "ts": "timestamp", "qty": "int"},
    "edges": {"src": "int", "dst": "int"},
    "nothing": {"a": "int", "b": "string"},
}  # fmt: skip
TEXTS = {
    "status": ["paid", "open", "void"], "region": ["eu", "us", "paid"], "sku": ["a", "b", "c"], "sym": ["X", "Y"],
    "name": ["Ann", "Bob", "Ana", "Cohen", " Dan "], "page": ["home", "cart", "pay"],
}  # fmt: skip
TIMES = 4
Step = dict[str, tuple[list[tuple], list[tuple]]]


def value(column: str, kind: str, rng: random.Random) -> object:
    if rng.random() < 0.1:
        return None
    match kind:
        case "int" | "bigint":
            return rng.randint(1, 500) if column == "ms" else rng.randint(0, 6)
        case "double":
            return rng.choice([0.5, 12.25, 33.0, 99.5, 140.0, -3.0])
        case "string":
            return rng.choice(TEXTS[column])
        case "date":
            return datetime.date(2024, rng.randint(1, 3), rng.randint(1, 28))
        case "timestamp":
            return datetime.datetime(2024, rng.randint(1, 3), rng.randint(1, 28), rng.randint(0, 23), 15)
    return Decimal(rng.randint(0, 3000)).scaleb(-2)


def history(seed: int) -> list[Step]:
    """For each time and table the rows that come and go: updates are both; `nothing` stays empty."""
    rng = random.Random(seed)
    here: dict[str, list[tuple]] = {name: [] for name in TABLES}
    steps = []
    for time in range(TIMES):
        step: Step = {}
        for name, columns in TABLES.items():
            if name == "nothing":
                continue
            emptied = time == 2 and rng.random() < 0.2
            gone = [row for row in here[name] if emptied or rng.random() < 0.3] if time else []
            for row in gone:
                here[name].remove(row)
            count = rng.choice([0, 2, 4]) if time else rng.choice([6, 9])
            come = [tuple(value(column, kind, rng) for column, kind in columns.items()) for _ in range(count)]
            if gone and rng.random() < 0.7:
                at, (column, kind) = rng.choice(list(enumerate(columns.items())))
                old = rng.choice(gone)
                come.append((*old[:at], value(column, kind, rng), *old[at + 1 :]))
            here[name] += come
            step[name] = (come, gone)
        steps.append(step)
    return steps


def plain(found: object) -> object:
    """A value such that DuckDB's and Spark's are equal: numbers of all types alike, moments without a zone."""
    match found:
        case bool():
            return found
        case int() | float() | Decimal():
            return ("number", float(f"{round(float(found), 12):.9g}") + 0.0)
        case datetime.datetime():
            return found.replace(tzinfo=None)
        case datetime.date():
            return datetime.datetime(found.year, found.month, found.day)
        case list():
            return tuple(map(plain, found))
        case dict():
            return tuple((name, plain(part)) for name, part in found.items())
    return found


KINDS = {
    "tinyint": "whole", "byte": "whole", "smallint": "whole", "short": "whole", "integer": "whole", "int": "whole",
    "bigint": "whole", "long": "whole", "hugeint": "whole", "decimal": "part", "double": "part", "float": "part",
    "varchar": "text", "string": "text", "boolean": "truth", "date": "moment", "timestamp": "moment",
    "timestamp with time zone": "moment",
}  # fmt: skip


def kind_of(type_: object) -> str:
    """What kind of values a type holds, for DuckDB's types and ours."""
    name = str(type_).lower()
    if name.endswith("[]") or name.startswith("array<"):
        return "list of " + kind_of(name.removesuffix("[]") if name.endswith("[]") else name[6:-1])
    if name.startswith(("struct", "map")):
        return name.split("(")[0].split("<")[0]
    return KINDS.get(name.split("(")[0], name)


def declared(flow: ebb.Dataflow) -> ebb.Dataflow:
    for name, columns in TABLES.items():
        flow.input(name, ", ".join(f"{column} {kind}" for column, kind in columns.items()))
    return flow


def answers(connection, queries: Sequence[tuple[str, str]], seed: int):
    """For each time the answer of each query, as DuckDB has it."""
    rows: dict[str, list[tuple]] = {name: [] for name in TABLES}
    connection.execute("set default_null_order = 'nulls_first_on_asc_last_on_desc'")  # Spark's
    for step in history(seed):
        for name, columns in TABLES.items():
            come, gone = step.get(name, ([], []))
            for row in gone:
                rows[name].remove(row)
            rows[name] += come
            typed = ", ".join(f"{column} {'varchar' if kind == 'string' else kind}" for column, kind in columns.items())
            connection.execute(f"create or replace table {name} ({typed})")
            if rows[name]:
                connection.executemany(f"insert into {name} values ({', '.join('?' * len(columns))})", rows[name])
        found = []
        for _, asked in queries:
            answer = connection.execute(asked)
            kinds = [kind_of(column[1]) for column in answer.description]
            found.append((kinds, Counter(tuple(map(plain, row)) for row in answer.fetchall())))
        yield found


def compare(connection, queries: Sequence[tuple[str, str]], seed: int) -> int:
    """How many rows the answers had in all; AssertionError, with the queries, where any differ."""
    flow = declared(ebb.Dataflow())
    for i, (query, _) in enumerate(queries):
        flow.output(f"out{i}", flow.sql(query))
    kinds = [[kind_of(kind) for kind in flow.sql(query).schema.types] for query, _ in queries]
    wrong: dict[str, str] = {}
    count = 0
    with flow.run() as live:
        for time, (step, wanted) in enumerate(zip(history(seed), answers(connection, queries, seed), strict=True)):
            for name, (come, gone) in step.items():
                live.insert(name, come, time=time)
                live.delete(name, gone, time=time)
            live.advance_to(time + 1)
            for i, (theirs, want) in enumerate(wanted):
                got: Counter = Counter()
                for *row, copies in live.snapshot(f"out{i}"):
                    got[tuple(map(plain, row))] += copies
                count += len(want)
                if got != want:
                    wrong[queries[i][0]] = f"time {time}: missing {want - got}\n  more {got - want}"
                elif kinds[i] != theirs:
                    wrong[queries[i][0]] = f"types {kinds[i]}, and DuckDB's {theirs}"
    assert not wrong, "\n".join(f"{query}\n  {what}" for query, what in wrong.items())
    return count


def main(arguments: list[str] | None = None) -> int:
    import duckdb

    parser = argparse.ArgumentParser(prog="python -m tests.relational.views", description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    asked = parser.parse_args(arguments)
    failures = 0
    with duckdb.connect() as connection:
        for seed in range(asked.first, asked.first + asked.seeds):
            for topic, queries in VIEWS.items():
                try:
                    compare(connection, queries, seed)
                except Exception as problem:  # whatever it is, the next topic is asked
                    failures += 1
                    print(f"seed {seed}, {topic}: {type(problem).__name__}: {str(problem)[:3000]}", flush=True)
    print(f"{sum(map(len, VIEWS.values()))} views, {asked.seeds} seeds, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
