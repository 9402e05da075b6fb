"""Claims about places: each belongs to one output of one stream, and another is refused before anything runs."""

import json
import os
import shutil
import threading

import pytest
from pyspark.core.rdd import RDD
from pyspark.sql import SparkSession

import ebbflow as ebb
from ebbflow.errors import (
    ChangesNotKept,
    CheckpointDiffers,
    DeliveryRefused,
    NotATable,
    PlaceTaken,
    ReservedName,
    SecondSession,
    TypeMismatch,
    WrongDiff,
)
from ebbflow.pipeline.claims import owner_of
from ebbflow.pipeline.sinks.sink import Progress
from tests.parts import need_connector
from tests.pipeline.given import Files, Kept, degrees, rows_of, run
from tests.pipeline.test_redelivery import Fed
from tests.pipeline.test_sinks import COLUMNS, DDL, changes, hand, stands

# ---- of one stream and another, by the sinks alone -------------------------------------------------


def make(kind, place, **options):
    if kind == "delta":
        return ebb.table(f"{place}/out", format="delta", counts=True, **options)
    if kind == "view":
        return ebb.view("shared", **options)
    return ebb.table(f"{place}/out", **options) if kind == "table" else ebb.change_log(f"{place}/out", **options)


def read(spark, kind, place):
    if kind == "view":
        return stands(spark.table("shared"))
    found = spark.read.format("delta").load(f"{place}/out") if kind == "delta" else spark.read.parquet(f"{place}/out")
    return stands(found.select("name", "n"))


@pytest.mark.parametrize("kind", ["table", "log", "view", "delta"])
def test_what_another_stream_began_is_refused_or_replaced_when_told(spark, tmp_path, kind):
    if kind == "delta":
        need_connector(spark, "delta")
    first, second = tmp_path / "c1" / "outputs" / "0", tmp_path / "c2" / "outputs" / "0"
    sink = make(kind, tmp_path)
    owner_of(first, "reach", "0123456789abcdef")
    sink.open(spark, first, COLUMNS, DDL)
    hand(sink, spark, first, 1, [("a", 1, 0, 1)])
    with pytest.raises(PlaceTaken, match='belongs to the output "reach" of another stream') as refused:
        sink.open(spark, second, COLUMNS, DDL)
    assert str(tmp_path / "c1") in refused.value.what and "01234567" in refused.value.what
    assert "replace=True" in refused.value.hint
    assert read(spark, kind, tmp_path) == [("a", 1)]

    other = make(kind, tmp_path, replace=True)
    other.open(spark, second, COLUMNS, DDL)
    so_far = lambda: changes(spark, [("b", 2, 0, 1)])
    other.publish(so_far(), Progress("out", 1, [(1,)], "query", 0, so_far=so_far), second)
    assert read(spark, kind, tmp_path) == [("b", 2)]
    with pytest.raises(PlaceTaken, match="belongs to another stream"):  # the first is still running
        hand(sink, spark, first, 2, [("c", 3, 1, 1)])
    other.open(spark, second, COLUMNS, DDL)  # a stream's own place is continued, whatever it says of others
    hand(other, spark, second, 2, [("d", 4, 1, 1)])
    assert read(spark, kind, tmp_path) == [("b", 2), ("d", 4)]
    if kind == "view":
        spark.catalog.dropTempView("shared")


@pytest.mark.parametrize("spelled", ["{}/", "file://{}", "file:{}", "{}/../out", "relative"])
def test_one_place_has_one_spelling(tmp_path, spelled):
    path = str(tmp_path / "out")
    other = os.path.relpath(path) if spelled == "relative" else spelled.format(path)
    assert ebb.table(other) == ebb.table(path) and ebb.change_log(other) == ebb.change_log(path)
    assert ebb.table(other, format="delta").place == ebb.table(path).place


def test_a_path_through_a_link_is_the_place_it_leads_to(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert ebb.table(f"{tmp_path}/link/out") == ebb.table(f"{tmp_path}/real/out")


def test_what_somebody_else_put_there_stays(spark, tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "mine.txt").write_text("mine")
    for sink in (ebb.table(f"{tmp_path}/file"), ebb.table(f"{tmp_path}/link", replace=True)):
        with pytest.raises(NotATable, match="holds something else"):
            sink.open(spark, tmp_path / "home", COLUMNS, DDL)
    for name in ("file", "dir"):
        with pytest.raises(NotATable, match=r"a log is to be|is to be a directory"):
            ebb.change_log(f"{tmp_path}/{name}", replace=True).open(spark, tmp_path / "home", COLUMNS, DDL)
    assert (tmp_path / "file").read_text() == "mine" and os.readlink(tmp_path / "link") == str(tmp_path / "elsewhere")


def test_a_view_of_ones_own_is_not_taken(spark, tmp_path):
    spark.range(3).createOrReplaceTempView("mine_already")
    with pytest.raises(PlaceTaken, match="no stream made it"):
        ebb.view("Mine_Already").open(spark, tmp_path, COLUMNS, DDL)
    assert spark.table("mine_already").count() == 3
    spark.catalog.dropTempView("mine_already")


@pytest.mark.parametrize(
    ("sink", "columns", "what"),
    [
        (lambda at: ebb.table(at), ["a", "A"], "does not tell apart"),
        (lambda at: ebb.table(at, counts=True), ["a", "_count"], 'a column "_count"'),
        (lambda at: ebb.change_log(at), ["Step"], 'a column "Step"'),
    ],
)
def test_names_that_could_not_be_written_are_refused_before_anything_runs(tmp_path, sink, columns, what):
    with pytest.raises(ReservedName, match=what):
        sink(f"{tmp_path}/out").open(None, tmp_path / "home", columns, "")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("path", ["s3://bucket/reach", "hdfs://host/x", "dbfs:/x"])
def test_a_disk_that_is_not_here_is_refused_where_links_are_needed(path):
    with pytest.raises(TypeMismatch, match="another kind of place"):
        ebb.table(path)
    assert ebb.table(path, format="delta").place == path


# ---- Delta -----------------------------------------------------------------------------------------


def test_nothing_is_set_on_the_session_while_a_delta_table_is_written(spark, tmp_path):
    """Appends of another thread to a table of its own arrive, all of them."""
    need_connector(spark, "delta")
    mine, stop, done, to_frame = f"{tmp_path}/mine", threading.Event(), [], RDD.toDF
    sink, home = ebb.table(f"{tmp_path}/out", format="delta", counts=True), tmp_path / "home"
    sink.open(spark, home, COLUMNS, DDL)
    spark.range(0).write.format("delta").save(mine)

    def appends():
        while not stop.is_set():
            spark.range(1).coalesce(1).write.format("delta").mode("append").save(mine)
            done.append(1)

    other = threading.Thread(target=appends)
    other.start()
    for step in range(1, 5):
        hand(sink, spark, home, step, [("a", step, 0, 1)])
    stop.set()
    other.join()
    assert spark.read.format("delta").load(mine).count() == len(done) >= 4
    assert RDD.toDF is to_frame
    active = SparkSession.getActiveSession()
    assert active is None or active._jsparkSession.sessionUUID() == spark._jsparkSession.sessionUUID()
    assert spark.read.format("delta").load(f"{tmp_path}/out").count() == 4


def test_a_delta_table_that_is_not_as_the_output_needs_it_is_refused_at_the_start(spark, tmp_path):
    need_connector(spark, "delta")
    path, home = f"{tmp_path}/out", tmp_path / "home"
    spark.createDataFrame([(1, "x")], "n int, name string").write.format("delta").save(path)
    with pytest.raises(NotATable, match="has rows that no stream wrote"):
        ebb.table(path, format="delta").open(spark, home, COLUMNS, DDL)
    spark.sql(f"delete from delta.`{path}`")
    with pytest.raises(TypeMismatch, match=r'column "n" is bigint; the Delta table .* has it as int'):
        ebb.table(path, format="delta").open(spark, home, COLUMNS, DDL)
    sink = ebb.table(path, format="delta", replace=True)
    sink.open(spark, home, COLUMNS, DDL)
    hand(sink, spark, home, 1, [("a", 1, 0, 1)])
    assert stands(spark.read.format("delta").load(path).select("name", "n")) == [("a", 1)]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x.txt").write_text("mine")
    with pytest.raises(NotATable, match="cannot be made"):
        ebb.table(f"{tmp_path}/full", format="delta").open(spark, home, COLUMNS, DDL)


def test_a_row_that_comes_a_second_time_in_a_later_step_is_not_lost_when_one_goes(spark, tmp_path):
    need_connector(spark, "delta")
    for i, options in enumerate(({}, {"key": "name"})):
        sink, home = ebb.table(f"{tmp_path}/{i}", format="delta", **options), tmp_path / f"home{i}"
        sink.open(spark, home, COLUMNS, DDL)
        hand(sink, spark, home, 1, [("a", 1, 0, 1)])
        with pytest.raises(WrongDiff, match=r"step 2 .* is there already"):
            hand(sink, spark, home, 2, [("a", 1, 0, 1)])
        hand(sink, spark, home, 2, [("a", 1, 1, -1), ("a", 2, 1, 1)])
        assert stands(spark.read.format("delta").load(f"{tmp_path}/{i}")) == [("a", 2)]


def test_a_delta_table_that_was_dropped_or_set_back_is_written_anew(spark, tmp_path):
    need_connector(spark, "delta")
    path, home = f"{tmp_path}/out", tmp_path / "home"
    sink = ebb.table(path, format="delta", counts=True)
    given = [[("a", 1, 0, 1)], [("b", 2, 1, 1)], [("c", 3, 2, 1)]]

    def publish(step, sink=sink, record=""):
        so_far = lambda: changes(spark, [row for rows in given[:step] for row in rows])
        progress = Progress("out", step, [(step,)], "query", step - 1, "", record, (), so_far)
        sink.publish(changes(spark, given[step - 1]), progress, home)
        return [row[0] for row in stands(spark.read.format("delta").load(path))]

    sink.open(spark, home, COLUMNS, DDL)
    assert publish(1) == ["a"] and publish(2) == ["a", "b"]
    shutil.rmtree(path)
    with pytest.raises(NotATable, match="no longer there"):
        publish(3)
    sink.open(spark, home, COLUMNS, DDL)
    assert publish(3) == ["a", "b", "c"]
    with pytest.raises(PlaceTaken, match="stands at step 3"):  # the checkpoint is an older copy
        publish(2)
    assert publish(2, ebb.table(path, format="delta", counts=True, replace=True)) == ["a", "b"]
    assert publish(3, record="another third step") == ["a", "b", "c"]


# ---- through streams ------------------------------------------------------------------------------


def fed(spark, place, checkpoint, sink, rows=()):
    """A stream of its own checkpoint, given batches of rows."""
    (place / checkpoint).mkdir(exist_ok=True)
    stream = Fed(spark, place / checkpoint, sink=sink)
    for batch_id, row in enumerate(rows):
        stream.hand(batch_id, row)
    return stream


def test_a_second_query_on_a_table_is_refused_before_it_runs(spark, tmp_path):
    """Its first steps were dropped without a word, and later ones mixed into the old table."""
    table = f"{tmp_path}/table"
    fed(spark, tmp_path, "one", ebb.table(table), [(1, 2, 0), (1, 3, 1)]).end()
    with pytest.raises(PlaceTaken, match='the output "degrees" of another stream'):
        fed(spark, tmp_path, "two", ebb.table(table))
    assert rows_of(spark.read.parquet(table)) == [(1, 2)]
    fed(spark, tmp_path, "two", ebb.table(table, replace=True), [(7, 8, 0)]).end()
    assert rows_of(spark.read.parquet(table)) == [(7, 1)]
    mark = json.loads((tmp_path / "table" / "_progress.json").read_text())
    assert mark["stream"] == owner_of(tmp_path / "two" / "checkpoint" / "outputs" / "0").id
    assert mark["program"] and mark["query"] and mark["step"] == 1


def test_a_table_stands_where_the_stream_does_whatever_became_of_its_place(spark, tmp_path):
    table, log = f"{tmp_path}/table", f"{tmp_path}/log"
    stream = fed(spark, tmp_path, "one", ebb.table(table), [(1, 2, 0), (1, 3, 1)])
    stream.end()
    os.unlink(table)  # by hand
    fed(spark, tmp_path, "one", ebb.table(table)).end()
    assert rows_of(spark.read.parquet(table)) == [(1, 2)]
    fed(spark, tmp_path, "one", ebb.change_log(log)).end()  # another sink, after two steps
    assert rows_of(spark.read.parquet(log).groupBy("src", "count").sum("_diff").filter("`sum(_diff)` != 0")) == [
        (1, 2, 1)
    ]
    again = fed(spark, tmp_path, "one", ebb.table(f"{tmp_path}/elsewhere"))
    again.hand(2, (1, 4, 2))
    again.hand(3, (1, 5, 3))
    again.end()
    assert rows_of(spark.read.parquet(f"{tmp_path}/elsewhere")) == [(1, 4)]
    with pytest.raises(PlaceTaken, match=r"ends with step 2 .* which is at step 4"):
        again = fed(spark, tmp_path, "one", ebb.change_log(log))
    again = fed(spark, tmp_path, "one", ebb.table(table))  # it missed two steps
    again.end()
    assert rows_of(spark.read.parquet(table)) == [(1, 4)]


def test_two_outputs_of_a_stream_have_places_of_their_own(spark, tmp_path):
    files = Files(tmp_path / "edges", "src long, dst long", spark)
    outputs = {"degrees": ebb.table(f"{tmp_path}/out"), "copy": ebb.change_log(f"file://{tmp_path}/out/")}
    with pytest.raises(PlaceTaken, match='the outputs "degrees" and "copy" are both published to'):
        run(degrees(), spark, tmp_path, {"edges": ebb.append(files.frame())}, outputs)
    assert not (tmp_path / "checkpoint").exists() and not (tmp_path / "out").exists()


def test_an_output_without_changes_is_refused_before_it_runs(spark, tmp_path):
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("edges", "src long, dst long"), changes=False)
    files = Files(tmp_path / "edges", "src long, dst long", spark)
    with pytest.raises(ChangesNotKept, match="nothing to publish"):
        run(flow, spark, tmp_path, {"edges": ebb.append(files.frame())}, {"copy": ebb.each(print)})


def test_places_exchanged_between_outputs_are_refused(spark, tmp_path):
    files = Files(tmp_path / "edges", "src long, dst long", spark)
    files.put((1, 2))
    one, two = (lambda: ebb.table(f"{tmp_path}/one")), (lambda: ebb.table(f"{tmp_path}/two"))
    inputs = {"edges": ebb.append(files.frame())}
    run(degrees(), spark, tmp_path, inputs, {"degrees": one(), "copy": two()}, shards=1)
    with pytest.raises(PlaceTaken, match='belongs to the output "copy" of this stream'):
        run(degrees(), spark, tmp_path, inputs, {"degrees": two(), "copy": one()}, shards=1)


def test_dead_letters_of_two_queries_are_kept_apart(spark, tmp_path):
    """Those of the second were swallowed: its batch=0 was there already."""
    dead = str(tmp_path / "dead")
    for name in ("one", "two"):
        files = Files(tmp_path / name / "edges", "src string, dst long", spark)
        files.put((name, 2))
        inputs, kept = {"edges": ebb.append(files.frame())}, {"copy": ebb.each(Kept())}
        run(degrees(), spark, tmp_path / name, inputs, kept, dead_letters=f"file://{dead}", shards=1)
    letters = spark.read.json(dead)
    assert sorted(row["row"] for row in letters.collect()) == ['{"src":"one","dst":2}', '{"src":"two","dst":2}']
    assert letters.select("query").distinct().count() == 2 and {row["batch"] for row in letters.collect()} == {0}


def test_a_state_that_was_made_anew_is_not_published_over_the_old(spark, tmp_path):
    fed(spark, tmp_path, "one", ebb.table(f"{tmp_path}/table"), [(1, 2, 0)]).end()
    shutil.rmtree(tmp_path / "one" / "checkpoint" / "state")
    with pytest.raises(CheckpointDiffers, match="of a state that is no longer in it"):
        fed(spark, tmp_path, "one", ebb.table(f"{tmp_path}/table"))
    os.unlink(tmp_path / "one" / "checkpoint" / "published.json")
    stream = fed(spark, tmp_path, "one", ebb.table(f"{tmp_path}/table"))
    with pytest.raises(DeliveryRefused, match="the first batch that comes is batch 1"):
        stream.hand(1, (1, 3, 1))
    stream.end()
    assert rows_of(spark.read.parquet(f"{tmp_path}/table")) == [(1, 1)]


def test_of_two_streams_on_one_checkpoint_the_second_to_step_is_told(spark, tmp_path):
    table = f"{tmp_path}/table"
    first = fed(spark, tmp_path, "one", ebb.table(table), [(1, 2, 0)])
    second = fed(spark, tmp_path, "one", ebb.table(table))
    second.hand(1, (1, 3, 1))
    with pytest.raises(SecondSession):
        first.hand(1, (1, 3, 1))
    assert rows_of(spark.read.parquet(table)) == [(1, 2)]
    first.end()
    second.end()
