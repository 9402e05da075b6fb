"""Every function of the table against Spark, through all doors: `flow.sql`, `flow.dataframe`, `ebbflow.functions`.

Rule: an answer that is not Spark's belongs to a row of docs/spark-differences.md, which `explained` names.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

import ebbflow as ebb
from ebbflow import functions as ours
from ebbflow.columns.ddl import schema_of
from ebbflow.columns.lanes_out import arrow_type
from ebbflow.expressions.operations import FUNCTIONS
from ebbflow.relational.catalyst import functions as catalyst
from tests.relational import test_nested_like_spark
from tests.relational.function_questions import CALLS, ROWS, SCHEMA, questions

NUMBERED = [(i, *row) for i, row in enumerate(ROWS)]
COLUMNS = f"id long, {SCHEMA}"
NAMES = {"bigint": "long", "smallint": "short", "tinyint": "byte"}
EPOCH = datetime(1970, 1, 1)
ZONES = ["UTC", "America/New_York"]


def explained(asked: str, mine: object, theirs: object) -> bool:
    """One zero; the least long is null; integers are longs, and refuse what Spark wraps around."""
    if isinstance(mine, float) and isinstance(theirs, float):
        return mine == theirs or math.isclose(mine, theirs, rel_tol=1e-14) or (mine != mine and theirs != theirs)
    if theirs == -(2**63):
        return mine is None
    return asked.startswith("bround(i") and abs(mine - theirs) == 2**32


def session_of(spark, zone):
    session = spark.newSession()
    for name, value in {
        "session.timeZone": zone, "ansi.enabled": "false", "codegen.wholeStage": "false",
        "codegen.factoryMode": "NO_CODEGEN",
    }.items():  # fmt: skip
        session.conf.set(f"spark.sql.{name}", value)
    return session


def frame_of(session):
    fields = schema_of(COLUMNS)
    kinds = [pa.timestamp("us", "UTC") if f.type.name == "timestamp" else arrow_type(f.type) for f in fields]
    columns = {f.name: pa.array([row[i] for row in NUMBERED], kinds[i]) for i, f in enumerate(fields)}
    return session.createDataFrame(pa.table(columns))


def values_of(column: pa.ChunkedArray) -> list[object]:
    return column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(column.type) else column.to_pylist()


def plain(value: object) -> object:
    """As `values_of` gives it."""
    if not isinstance(value, datetime):
        return value
    value = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return round((value - EPOCH).total_seconds() * 1e6) if value.year > 1 else value


def answers_of(frame) -> dict[str, tuple[str, list[object]]]:
    table = frame.toArrow()
    return {field.name: (field.dataType.simpleString(), values_of(table[field.name])) for field in frame.schema}


def compared(collections, asked, theirs, zone, **given) -> None:
    """collections: for some of the questions, by name, the program and its output."""
    wrong = []
    for flow, names in collections:
        table = flow.compute(**given)["out"].to_arrow()
        order = table["id"].to_pylist()
        for name in names:
            mine = [plain(value) for _, value in sorted(zip(order, values_of(table[name])), key=lambda pair: pair[0])]
            for i, (one, two) in enumerate(zip(mine, theirs[name][1], strict=True)):
                if one != two and not explained(asked[name], one, two):
                    wrong.append(f"{asked[name]} of row {i} in {zone}: {one!r}, Spark: {two!r}")
    assert not wrong, "\n".join(wrong[:30])


@pytest.fixture(scope="module", params=ZONES)
def zone(request):
    return request.param


REFUSES = ("bround(n, -1)", "bround(i, -1)")  # integers that overflow


def test_every_function_of_sql_and_of_a_dataframe_answers_as_spark_does(spark, zone):
    session = session_of(spark, zone)
    frame = frame_of(session)
    asked = {f"c{i}": one for i, one in enumerate(questions()) if one not in REFUSES}
    whole = frame.selectExpr("id", *(f"{one} as {name}" for name, one in asked.items())).orderBy("id")
    theirs = answers_of(whole)
    names = list(asked)
    parts = [names[at : at + 40] for at in range(0, len(names), 40)]
    by_sql, by_frame = [], []
    for part in parts:
        flow = ebb.Dataflow(timezone=zone)
        flow.input("t", COLUMNS)
        flow.output("out", flow.sql(f"select id, {', '.join(f'{asked[name]} as {name}' for name in part)} from t"))
        by_sql.append((flow, part))
    compared(by_sql, asked, theirs, zone, t=NUMBERED)
    if zone == "UTC":
        for part in parts:
            flow = ebb.Dataflow(timezone=zone)
            flow.output("out", flow.dataframe(frame.selectExpr("id", *(f"{asked[n]} as {n}" for n in part))))
            by_frame.append((flow, part))
        compared(by_frame, asked, theirs, zone)


CLOCKS = [
    "at + interval 1 day", "at - interval 1 day", "at + interval 1 month", "at - interval 1 month",
    "at + interval 90 minutes", "at + interval '1 02:00:00' day to second", "timestampadd(DAY, k, at)",
    "timestampadd(MONTH, k, at)", "timestampadd(HOUR, k, at)", "months_between(at, bt)", "timestampdiff(HOUR, at, bt)",
    *(f"date_trunc('{unit}', at)" for unit in ("MINUTE", "HOUR", "DAY", "WEEK", "MONTH")),
    "date_format(at, 'HH:mm XXX')", "cast(cast(at as date) as timestamp)",
    "sequence(least(at, bt), greatest(at, bt), interval 1 day)",
]  # fmt: skip
CHANGES = {  # where clocks are changed: by half an hour, to the day before, by odd minutes, by a day that is left out
    "Australia/Lord_Howe": [datetime(2024, 4, 6, 15), datetime(2024, 10, 5, 15, 30)],
    "America/St_Johns": [datetime(2006, 10, 29, 2, 31), datetime(2006, 4, 2, 3, 31)],
    "Europe/Paris": [datetime(1911, 3, 10, 23, 50, 39), datetime(2024, 10, 27, 1)],
    "Pacific/Apia": [datetime(2011, 12, 30, 10)],
}


@pytest.mark.parametrize("zone", CHANGES)
def test_what_clocks_show_is_moved_as_spark_moves_it(spark, zone):
    steps = [0, -1, 1, 29, 30, 31, 59, 60, 61, 90, -30, -60, -61, -90, 1440, -1440, 1470, -1500, 44_640, -43_200]
    moments = [change + timedelta(minutes=step) for change in CHANGES[zone] for step in steps]
    rows = [(i, at, moments[i * 7 % len(moments)], i % 5 - 2) for i, at in enumerate(moments)]
    session = session_of(spark, zone)
    given = session.createDataFrame([(i, *(m.replace(tzinfo=UTC) for m in (at, bt)), k) for i, at, bt, k in rows],
                                    "id long, at timestamp, bt timestamp, k int")  # fmt: skip
    given.createOrReplaceTempView("t")
    plain_of = lambda value: [plain_of(part) for part in value] if isinstance(value, list | tuple) else plain(value)
    query = f"select id, {', '.join(f'{one} as c{i}' for i, one in enumerate(CLOCKS))} from t"
    flow = ebb.Dataflow(timezone=zone)
    flow.input("t", "id long, at timestamp, bt timestamp, k int")
    flow.output("out", flow.sql(query))
    mine = sorted((row[:-1] for row in flow.compute(t=rows)["out"].rows()), key=lambda row: row[0])
    theirs = sorted(session.sql(query).toArrow().to_pylist(), key=lambda row: row["id"])
    wrong = [
        f"{CLOCKS[i - 1]} of {moments[row[0]]}: {row[i]}, Spark: {told[f'c{i - 1}']}"
        for row, told in zip(mine, theirs, strict=True)
        for i in range(1, len(row))
        if plain_of(row[i]) != plain_of(told[f"c{i - 1}"])
    ]
    assert not wrong, "\n".join(wrong[:20])


def test_every_function_of_columns_answers_as_sparks_does(spark):
    from pyspark.sql import functions as F

    frame = frame_of(session_of(spark, "UTC"))
    theirs = answers_of(
        frame.select(
            "id", *(call(F, {n: F.col(n) for n in frame.columns}).alias(f"f_{n}") for n, call in CALLS.items())
        ).orderBy("id")
    )
    flow = ebb.Dataflow()
    rows = flow.input("t", COLUMNS)
    columns = {f"f_{n}": call(ours, {each: ebb.col(each) for each in rows.columns}) for n, call in CALLS.items()}
    flow.output("out", rows.select("id", **columns))
    compared([(flow, list(columns))], {f"f_{n}": n for n in CALLS}, theirs, "UTC", t=NUMBERED)
    mine = {f.name: NAMES.get(theirs[f.name][0], theirs[f.name][0]) for f in rows.select("id", **columns).schema}
    differ = {n for n, kind in mine.items() if str(rows.select("id", **columns).schema[n]) != kind}
    assert differ <= {"f_pmod", "f_zeroifnull", "f_nullifzero", "f_try_mod"}  # integers are longs


def test_every_function_of_the_table_is_asked():
    text = " ".join([*questions(), *test_nested_like_spark.QUESTIONS, *test_nested_like_spark.QUERIES]).lower()
    others = {
        "later",
        "sequence_by",
        "log_of",
        "ceil_to",
        "floor_to",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "bitwise_not",
    }
    others |= {"yearofweek"}  # a part that extract gives
    others |= {"get_item", "get_field", "with_field"}  # m['k'], s.a, and what only columns have
    others |= {name for name in FUNCTIONS if name.endswith("_as")}
    spelt = {name: (name, *function.also.split()) for name, function in FUNCTIONS.items()}
    assert {n for n, names in spelt.items() if not any(f"{each}(" in text for each in names)} <= others
    assert set(catalyst.OF_TABLE.values()) <= set(FUNCTIONS)
