"""Instants through streams: every format and every sink, on a session whose zone is not UTC."""

import json
import os
from datetime import datetime

import ebbflow as ebb
import ebbflow.functions as F
from ebbflow.pipeline import formats
from ebbflow.pipeline.sinks.sink import Progress
from tests.parts import need_connector
from tests.pipeline.given import run
from tests.pipeline.test_formats import kafka, message, rows
from tests.runtime.spark.test_zones import exact, moments, session_in

ZONE = "America/New_York"
COLUMNS = "id long, ts timestamp, n timestamp_ntz"


def stream_of(spark, place, *frames):
    """A stream of so many micro-batches at most."""
    for i, frame in enumerate(frames):
        frame.coalesce(1).write.parquet(str(place / f"part={i}"))
        for file in (place / f"part={i}").iterdir():
            os.utime(file, (1_700_000_000 + i,) * 2)  # Spark reads files in the order of their times
    schema = frames[0].schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(place / "part=*"))


def test_instants_go_through_every_format_and_every_sink(spark, tmp_path):
    flow = ebb.Dataflow()
    keyed = {"upsert": "id"}
    for name in ("changes", "append", "upsert", "debezium", "change_feed"):
        given = flow.input(name, COLUMNS, key=keyed.get(name))
        flow.output(name, given.with_columns(hour=F.hour("ts")))
    with session_in(spark, ZONE):
        frame = moments(spark, ZONE)
        wanted = exact(frame, "hour(ts)")
        before = frame.selectExpr("id", "ts - interval 1 hour as ts", "n")
        stream = lambda name, *frames: stream_of(spark, tmp_path / "in" / name, *frames)
        row, early = "struct(id, ts, n)", "struct(id, ts - interval 1 hour as ts, n)"
        inputs = {
            "changes": ebb.changes(stream("changes", frame.selectExpr("*", "1L as d")), diff="d"),
            "append": ebb.append(stream("append", frame)),
            "upsert": ebb.upsert(stream("upsert", before, frame)),
            "debezium": ebb.debezium(
                stream(
                    "debezium",
                    before.selectExpr("'c' as op", f"if(id < 0, {row}, null) as before", f"{row} as after"),
                    frame.selectExpr("'u' as op", f"{early} as before", f"{row} as after"),
                )
            ),
            "change_feed": ebb.change_feed(
                stream("change_feed", frame.selectExpr("*", "'insert' as _change_type", "0L as _commit_version")),
                time=None,
            ),
        }  # fmt: skip
        seen = []
        outputs = {
            "changes": ebb.table(str(tmp_path / "out")),
            "append": ebb.change_log(str(tmp_path / "log")),
            "upsert": ebb.view("upserted"),
            "debezium": ebb.each(lambda changes: seen.extend(changes.selectExpr(*of_all, "_diff").collect())),
            "change_feed": ebb.table(str(tmp_path / "kept"), counts=True),
        }
        of_all = ["id", "unix_micros(ts) as ts", "cast(n as string) as n", "hour"]
        run(flow, spark, tmp_path, inputs, outputs)
        assert exact(spark.read.parquet(str(tmp_path / "out")), "hour") == wanted
        assert exact(spark.read.parquet(str(tmp_path / "log")), "hour") == wanted
        assert exact(spark.table("upserted"), "hour") == wanted
        assert exact(spark.read.parquet(str(tmp_path / "kept")), "hour") == wanted
        net = {}
        for *record, diff in map(tuple, seen):
            net[tuple(record)] = net.get(tuple(record), 0) + diff
        assert sorted(record for record, count in net.items() if count) == wanted
        assert spark.table("upserted").dtypes[1:3] == [("ts", "timestamp"), ("n", "timestamp_ntz")]


def test_instants_go_into_a_delta_table_and_into_messages(spark, tmp_path):
    need_connector(spark, "delta")
    flow = ebb.Dataflow()
    flow.output("same", flow.input("rows", COLUMNS))
    with session_in(spark, ZONE):
        frame = moments(spark, ZONE)
        place = str(tmp_path / "delta")
        inputs = {"rows": ebb.append(stream_of(spark, tmp_path / "in", frame))}
        messages = []
        sink = ebb.kafka("topic", "none:1")
        run(flow, spark, tmp_path, inputs, {"same": ebb.table(place, format="delta")})
        assert exact(spark.read.format("delta").load(place)) == exact(frame)
        with flow.run(spark, shards=1) as live:
            live.insert("rows", frame)
            live.advance_to(1)
            progress = Progress("same", 1, [(1,)], "query", 0)
            sent = sink._messages(live.changes("same", as_spark=True), progress).select("value").collect()
        for (value,) in sent:
            told = json.loads(value)
            messages.append((told["id"], int(datetime.fromisoformat(told["ts"]).timestamp()) * 1_000_000, told["n"]))
        assert sorted(messages) == [(i, ts, n.replace(" ", "T") + ".000") for i, ts, n in exact(frame)]


def test_counts_of_a_database_are_instants_and_of_no_zone_what_clocks_show(spark):
    with session_in(spark, ZONE):
        after = {"at": 1_720_000_000_123_456, "n": 1_720_000_000_123_456}
        source = formats.debezium(kafka(spark, message("c", after=after)))
        shaped = source.shaped(_node("at timestamp, n timestamp_ntz"), ("time",)).frame
        assert tuple(shaped.selectExpr("unix_micros(at)", "cast(n as string)").first()) == (
            1_720_000_000_123_456,
            "2024-07-03 09:46:40.123456",
        )


def _node(schema):
    flow = ebb.Dataflow()
    flow.input("given", schema)
    return flow.graph.nodes[0]


def test_a_time_without_a_zone_counts_its_own_microseconds(spark):
    with session_in(spark, ZONE):
        frame = spark.sql("select 1L as x, timestamp_ntz'1970-01-02 00:00:01.25' as t")
        assert rows(formats.append(frame, time="t"), "x long") == ([(86_401_250_000, 1, 1)], [])
        frame = spark.sql("select 1L as x, timestamp'1970-01-02 00:00:00' as t")
        assert rows(formats.append(frame, time="t"), "x long") == ([((24 + 5) * 3_600_000_000, 1, 1)], [])
