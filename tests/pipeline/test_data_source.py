"""Claims about `format("ebbflow")`: a checkpoint as a table and as a stream of Spark's."""

import datetime
import pickle
import subprocess
import sys
from decimal import Decimal

import pyarrow
import pytest
from pyspark.errors import PySparkException

import ebbflow as ebb
from ebbflow.errors import CheckpointDiffers, HistoryGone, NotACheckpoint, UnknownOption, UnknownOutput, WrongTime
from ebbflow.pipeline import data_source
from ebbflow.pipeline.data_source import Asked, BatchReader, Source, StreamReader
from tests.pipeline.given import Files, rows_of, run

DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
WALL = datetime.datetime(2024, 2, 29, 12)
COLUMNS = (
    "k int, word string, day date, at timestamp, wall timestamp_ntz, x double, p decimal(9,2), ok boolean, raw binary"
)
ROWS = [
    (1, "ebb", DAY, NOON, WALL, 0.5, Decimal("1.25"), True, b"\0"),
    (1, "ebb", DAY, NOON, WALL, 0.5, Decimal("1.25"), True, b"\0"),
    (None, "", *(None,) * 7),
]


@pytest.fixture
def live(tmp_path):
    flow = ebb.Dataflow()
    rows = flow.input("rows", COLUMNS)
    flow.output("counts", rows.group_by("word").count())
    flow.output("copy", rows)
    with flow.run(checkpoint=tmp_path / "state", history=100) as live:
        live.insert("rows", ROWS)
        live.commit()
        live.delete("rows", ROWS[:1])
        live.commit()
        yield live


def load(spark, place, **options):
    return spark.read.format("ebbflow").options(**options).load(str(place / "state"))


def test_a_table_of_spark_is_what_the_writer_has(spark, live, tmp_path):
    """Types, nulls and counts, at any kept time; the session's zone does not move an instant."""
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame = load(spark, tmp_path, output="copy")
        typed = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in frame.schema)
        assert typed == f"{COLUMNS}, _count bigint"
        assert frame.toArrow().to_pylist() == live.snapshot("copy").to_arrow().to_pylist()
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    assert rows_of(load(spark, tmp_path, output="counts", at=0)) == [("", 1, 1), ("ebb", 2, 1)]
    assert rows_of(load(spark, tmp_path, output="counts", since=1)) == [("ebb", 1, 1, 1), ("ebb", 2, 1, -1)]
    assert rows_of(load(spark, tmp_path, output="counts", mode="changes", until=1)) == [
        ("", 1, 0, 1),
        ("ebb", 2, 0, 1),
    ]
    assert rows_of(load(spark, tmp_path, mode="frontier")) == [("copy", 2), ("counts", 2)]
    with pytest.raises(PySparkException, match='the output "count"'):
        load(spark, tmp_path, output="count")


def test_a_stream_gives_each_change_once_over_restarts_and_replays(spark, live, tmp_path):
    batches = {}

    def start():
        frame = (
            spark.readStream.format("ebbflow").options(output="counts", mode="changes").load(str(tmp_path / "state"))
        )
        take = lambda df, number: batches.setdefault(number, []).append(rows_of(df))
        writer = frame.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / "query"))
        writer.trigger(availableNow=True).start().awaitTermination()

    start()
    for word in ("flow", "ebb"):
        live.insert("rows", [(2, word, *ROWS[2][2:])])
        live.commit()
    start()
    start()  # nothing is new
    for file in ("1", ".1.crc"):  # as if the process had been killed before Spark noted that the batch was done
        (tmp_path / "query" / "commits" / file).unlink()
    live.insert("rows", [(3, "flow", *ROWS[2][2:])])
    live.commit()
    start()
    assert batches[1][0] == batches[1][1] == [("ebb", 1, 3, -1), ("ebb", 2, 3, 1), ("flow", 1, 2, 1)]
    assert [len(batches[number]) for number in sorted(batches)] == [1, 2, 1]
    assert batches[2] == [[("flow", 1, 4, -1), ("flow", 2, 4, 1)]]
    held = {}
    for number in sorted(batches):
        for *row, _, diff in batches[number][0]:
            held[tuple(row)] = held.get(tuple(row), 0) + diff
    assert {row: n for row, n in held.items() if n} == {r[:-1]: r[-1] for r in live.snapshot("counts").rows()}


def test_the_directory_of_a_stream_is_read_like_any_other(spark, tmp_path):
    files = Files(tmp_path / "words", "word string", spark)
    files.put(("ebb",), ("flow",), ("ebb",))
    flow = ebb.Dataflow()
    flow.output("counts", flow.input("words", "word string").group_by("word").count())
    run(
        flow, spark, tmp_path / "kept", {"words": ebb.append(files.frame())}, {"counts": ebb.each(lambda changes: None)}
    )
    place = next(path.parent for path in (tmp_path / "kept").rglob("state"))
    assert rows_of(spark.read.format("ebbflow").load(str(place))) == [("ebb", 2, 1), ("flow", 1, 1)]
    assert ebb.open(place).snapshot("counts").rows() == [("ebb", 2, 1), ("flow", 1, 1)]


# ---- without Spark: what its processes do --------------------------------------------------------------


def options(place, **more):
    return {"path": str(place / "state"), **{key: str(value) for key, value in more.items()}}


def read_by_parts(reader):
    parts = [pickle.loads(pickle.dumps(part)) for part in reader.partitions()]
    batches = [batch for part in parts for batch in pickle.loads(pickle.dumps(reader)).read(part)]
    return len(parts), pyarrow.Table.from_batches(batches).to_pylist() if batches else []


@pytest.mark.parametrize("few", [0, data_source.FEW_BYTES])
def test_many_rows_are_read_by_several_tasks_each_once_while_the_writer_goes_on(live, tmp_path, monkeypatch, few):
    monkeypatch.setattr(data_source, "FEW_BYTES", few)
    monkeypatch.setattr(data_source, "TASK_ROWS", 40)
    live.insert("rows", [(i, f"word {i}", *ROWS[0][2:]) for i in range(100)])
    live.commit()
    right = live.snapshot("copy").to_arrow().to_pylist()
    asked = options(tmp_path, output="copy")
    reader = BatchReader(asked, Source(asked).schema())
    parts = reader.partitions()
    live.delete("rows", [(i, f"word {i}", *ROWS[0][2:]) for i in range(50)])
    live.commit()
    found = [row for part in parts for batch in reader.read(part) for row in batch.to_pylist()]
    assert len(parts) == (3 if few == 0 else 1)
    assert found == right
    asked = options(tmp_path, output="copy", since=2)
    count, found = read_by_parts(BatchReader(asked, Source(asked).schema()))
    assert count == (4 if few == 0 else 1) and sum(row["_diff"] for row in found) == 50 and len(found) == 150


def test_a_stream_that_comes_too_late_or_finds_another_checkpoint_is_refused(live, tmp_path, monkeypatch):
    asked = options(tmp_path, output="counts", mode="changes")
    stream = StreamReader(asked, Source(asked).schema())
    begin, now = stream.initialOffset(), stream.latestOffset()
    assert begin["frontier"] == "[[0]]" and now["frontier"] == "[[2]]"
    assert stream.partitions(now, now) == []
    with pytest.raises(CheckpointDiffers, match="another checkpoint"):
        stream.partitions({**begin, "checkpoint": "other"}, now)
    with pytest.raises(CheckpointDiffers, match="set back"):
        stream.partitions({**now, "frontier": "[[5]]"}, now)
    asked = options(tmp_path, output="counts", since=1)
    assert StreamReader(asked, Source(asked).schema()).initialOffset()["frontier"] == "[[1]]"
    monkeypatch.setattr("ebbflow.frontend.running.reader.Reader._refuse_summed", _gone)
    with pytest.raises(HistoryGone):
        stream.partitions(begin, now)


def _gone(*_):
    raise HistoryGone("summed up.", hint="history=")


@pytest.mark.parametrize(
    ("more", "kind", "said"),
    [
        ({}, UnknownOutput, "has these outputs: counts, copy"),
        ({"output": "copie"}, UnknownOutput, 'the output "copie"'),
        ({"output": "copy", "mode": "snap"}, UnknownOption, 'mode is "snap"'),
        ({"output": "copy", "mode": "snapshot", "since": 1}, UnknownOption, '"since" does not belong to mode'),
        ({"output": "copy", "at": "noon"}, WrongTime, '"at" is "noon"'),
        ({"output": "copy", "att": 1}, UnknownOption, 'no option "att"'),
    ],
)
def test_options_that_say_nothing_are_refused(live, tmp_path, more, kind, said):
    with pytest.raises(kind, match=said):
        Asked(options(tmp_path, **more))


def test_a_read_that_names_no_place_and_a_stream_of_snapshots_are_refused(live, tmp_path):
    with pytest.raises(NotACheckpoint, match="not told what to read"):
        Asked({})
    asked = options(tmp_path, output="copy")
    with pytest.raises(UnknownOption, match="has the changes of an output"):
        StreamReader(asked, Source(asked).schema())


def test_spark_finds_it_by_the_name_of_a_package():
    import pyspark_ebbflow

    assert pyspark_ebbflow.DefaultSource is Source and Source.name() == "ebbflow"
    loaded = "import pyspark_ebbflow, sys; print('numba' in sys.modules)"  # whoever uses any data source loads it
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True).stdout == "False\n"
