"""What engineers write with DataFrames, kept while rows come and go: at each time what Spark answers itself."""

import datetime
from decimal import Decimal

import pytest
from pyspark.sql import Row, Window
from pyspark.sql import functions as F

from ebbflow.errors import DataFrameError
from tests.relational.of_spark import compare, program

SCHEMA = (
    "id int, `Customer Id` long, `order.total` decimal(12,2), at timestamp, wall timestamp_ntz, note string, qty int, "
    "price double, ok boolean, tags array<string>, info struct<city:string,zip:int>"
)


def row(id_, customer, total, at, note, qty, price, ok, tags, info):
    at = at and datetime.datetime.fromisoformat(at)
    return (id_, customer, total and Decimal(total), at, at, note, qty, price, ok, tags, info)


FIRST = [
    row(1, 7, "2.50", "2024-03-10 01:59:59", "a", 3, 0.5, True, ["x", None], ("Bern", 1)),
    row(1, 7, "2.50", "2024-03-10 01:59:59", "a", 3, 0.5, True, ["x", None], ("Bern", 1)),
    row(2, None, None, "2024-03-10 13:00:00", "b", -1, 2.0, False, [], (None, 2)),
    row(3, 8, "-1.00", None, None, None, None, None, None, None),
    row(None, 8, "0.00", "1969-12-31 23:59:59.999999", "", 3, 0.5, True, [None], ("Bern", 1)),
]
LATER = [
    row(1, 7, "2.50", "2024-03-10 01:59:59", "a", 3, 0.5, True, ["x", None], ("Bern", 1)),
    row(2, 8, "9.00", "2024-03-11 00:00:00", "a,b", 4, 1.5, True, ["y", "x"], ("Basel", None)),
]
STEPS = [(FIRST, []), (LATER, FIRST[1:3]), ([], [*FIRST[:1], *FIRST[3:], *LATER])]


def orders(spark):
    return spark.table("`some orders`")


def show(spark, rows):
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("`some orders`")


def names(spark):
    return spark.createDataFrame([(1, "one"), (1, "uno"), (2, "two")], "ID int, word string").alias("names")


def plain(row):
    """A row of Spark's with its structs as ours are."""
    return tuple(value.asDict() if isinstance(value, Row) else value for value in row)


IDIOMS = {
    "names that need quotes": lambda df: df.groupBy("Customer Id").agg(F.sum("`order.total`"), F.avg("`order.total`")),
    "pivot with values": lambda df: df.groupBy("id").pivot("ok", [True, False, None]).agg(F.sum("qty").alias("n")),
    "pivot of several aggregates": lambda df: df.select("id", "note", "qty")
    .groupBy("id").pivot("note", ["a", ""]).agg(F.sum("qty").alias("n"), F.max("note").alias("m")),
    "pivot by dates": lambda df: df.select("id", F.to_date("wall").alias("day"), "qty")
    .groupBy("id").pivot("day", [datetime.date(2024, 3, 10)]).sum("qty"),
    "exceptAll": lambda df: df.select("id").exceptAll(names(df.sparkSession).select("ID")),
    "intersectAll": lambda df: df.select("id").intersectAll(names(df.sparkSession).select("ID")),
    "a window of time": lambda df: df.groupBy(F.window("at", "1 day")).agg(F.sum("qty"), F.count("*")),
    "sliding windows": lambda df: df.groupBy(F.window("at", "1 hour", "20 minutes", "5 minutes"), "ok").count()
    .select("window.start", "window.end", "ok", "count"),
    "a window of wall clocks": lambda df: df.groupBy(F.window("wall", "1 day")).count(),
    "the time of a window": lambda df: df.groupBy(F.window("at", "1 hour")).count()
    .select(F.window_time("window").alias("t"), "count"),
    "stack": lambda df: df.select("id", F.expr("stack(3, 'q', qty, 'i', id, 'n') as (k, v)")),
    "percentile": lambda df: df.groupBy("id").agg(F.percentile("qty", 0.25), F.median("price")),
    "concat_ws with arrays": lambda df: df.select(F.concat_ws("-", "note", F.col("qty").cast("string"), "tags")),
    "case of names": lambda df: df.select("ID", "NOTE").join(names(df.sparkSession), "iD", "left"),
    "what is never true": lambda df: df.where("1 = 0").agg(F.count("*"), F.sum("qty"))
    .unionByName(df.limit(0).agg(F.count("*"), F.sum("qty"))),
    "written rows that are read twice": lambda df: df.sparkSession.sql(
        "with v as (select * from values (1), (2) as t(x)) select a.x, b.x as y from v a join v b on a.x < b.x + 1"),
    "an interval of the calendar": lambda df: df.select(F.expr("at + make_interval(0, 1, 0, 1, 2)")),
    "like any": lambda df: df.where("note like any ('a%', '_') and note not like all ('x', 'b')").select("note"),
    "running sums": lambda df: df.select("id", F.sum("qty").over(Window.partitionBy("ok").orderBy("qty"))),
    "the last of each": lambda df: df.select("id", "qty", "note").withColumn(
        "n", F.row_number().over(Window.partitionBy("id").orderBy(F.desc("qty"), "note"))).where("n = 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", IDIOMS)
def test_what_is_written_has_sparks_answer_at_each_time(spark, name):
    show(spark, FIRST)
    flow = program(IDIOMS[name](orders(spark)))
    named = [node.schema.names for node in flow.graph.nodes if getattr(node, "name", "") == "some orders"]
    read = named[0] if named else None
    columns = [field.name for field in orders(spark).schema.fields]
    chosen = lambda rows: [tuple(row[columns.index(name)] for name in read) for row in rows]
    with flow.run() as live:
        rows, seen = [], 0
        for time, (come, gone) in enumerate(STEPS):
            if time and read:
                live.insert("some orders", chosen(come), time=time)
                live.delete("some orders", chosen(gone), time=time)
            rows += come
            for one in gone:
                rows.remove(one)
            live.advance_to(time + 1)
            show(spark, rows)
            asked = IDIOMS[name](orders(spark))
            seen += compare(live.snapshot("answer"), [plain(row) for row in asked.collect()], time)
            kinds = [field.dataType.simpleString() for field in asked.schema.fields]
            spelt = {"long": "bigint"}
            mine = [spelt.get(str(kind), str(kind)).replace(": ", ":").replace(", ", ",") for kind in
                    live.snapshot("answer").schema.types[:-1]]  # fmt: skip
            assert mine == kinds
    assert seen > 0


@pytest.mark.parametrize(
    "make, what, hint",
    [
        (
            lambda df: df.groupBy(F.session_window("at", "1 hour")).count(),
            "a session window is not supported, in session_window",
            "Number the sessions: sum(if(at - lag(at) is large, 1, 0)) over a window, then group by that number.",
        ),
        (
            lambda df: df.select(F.col("at") - F.col("wall").cast("timestamp")),
            "a length of time as a value is not supported, in (`some orders`.at - CAST(`some orders`.wall AS",
            "Count units: timestampdiff(SECOND, start, end), or unix_timestamp(end) - unix_timestamp(start).",
        ),
        (
            lambda df: df.select(F.to_date("at") - F.lit(datetime.date(2024, 1, 1))),
            "a length of time as a value is not supported, in (CAST(`some orders`.at AS DATE) - DATE '2024-01-01')",
            "Count days: datediff(end, start).",
        ),
        (
            lambda df: df.select(F.rand(7)),
            "what has another value whenever it is computed is not supported, in rand(7L).",
            "Give it as a column of an input, or a constant.",
        ),
    ],
)
def test_a_refusal_names_what_was_written_and_no_place_of_sparks_own(spark, make, what, hint):
    show(spark, FIRST)
    with pytest.raises(DataFrameError) as refusal:
        program(make(orders(spark)))
    assert refusal.value.what.startswith(what) and refusal.value.hint == hint
    assert "java" not in refusal.value.what and "apache" not in refusal.value.what
