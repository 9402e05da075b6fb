"""Claims about what comes again: a batch counts once or is refused, and what was committed is published."""

import json
import shutil

import pytest

import ebbflow as ebb
from ebbflow.errors import DeliveryRefused, NotPublished
from ebbflow.pipeline import marks
from tests.pipeline.given import Files, Kept, balances, degrees, rows_of, run

QUERY = "6f1c0000-0000-0000-0000-000000000000"


class Fed:
    """A stream whose batches are handed over by the test, as Spark might: twice, out of turn, from another query."""

    def __init__(self, spark, place, flow=None, sink=None):
        self.spark, self.place, self.kept = spark, place, Kept()
        (place / "edges").mkdir(exist_ok=True)
        frame = spark.readStream.schema("src long, dst long, ts long").json(str(place / "edges"))
        query = (flow or degrees()).stream(
            spark, checkpoint=str(place / "checkpoint"), inputs={"edges": ebb.changes(frame, time="ts")},
            outputs={"degrees": sink or ebb.each(self.kept)}, trigger={"processingTime": "1 hour"}, shards=2,
            dead_letters=str(place / "dead"),
        )  # fmt: skip
        query._query.stop()
        self.feed, self.query = query._feed, query

    def hand(self, batch_id, *rows, query=QUERY):
        schema = (
            "_input int, _time0 long, _diff long, _reason string, _given string, _row0 struct<src: long, dst: long>"
        )
        frame = self.spark.createDataFrame([(0, t, 1, None, None, (s, d)) for s, d, t in rows], schema)
        self.feed._take(frame, query, batch_id)

    def end(self):
        self.feed.live._release()


def test_a_batch_that_comes_several_times_counts_once(spark, tmp_path):
    fed = Fed(spark, tmp_path)
    for batch_id, rows in enumerate([[(1, 2, 0), (1, 3, 0)], [(1, 4, 5)], []]):
        for again in range(3):
            fed.hand(batch_id, *(rows[::-1] if again else rows))
    assert fed.kept.changes == [(1, 2, 0, 1), (1, 2, 5, -1), (1, 3, 5, 1)]
    assert fed.feed.live.frontier("degrees") == [(6,)]
    fed.end()
    again = Fed(spark, tmp_path)  # another process would begin like this
    again.hand(2)
    again.hand(3, (1, 5, 6))
    assert again.kept.changes == [(1, 3, 6, -1), (1, 4, 6, 1)]

    with pytest.raises(DeliveryRefused, match=r"was taken in with 1 rows .* and now comes with 2 rows"):
        again.hand(3, (1, 5, 6), (7, 7, 6))
    with pytest.raises(DeliveryRefused, match="batch 1 comes after batch 3 was taken in"):
        again.hand(1, (1, 4, 5))
    with pytest.raises(DeliveryRefused, match="batch 5 comes after batch 3"):
        again.hand(5, (1, 9, 9))
    with pytest.raises(DeliveryRefused, match="comes from the query other"):
        again.hand(0, (1, 9, 9), query="other")
    again.hand(4, (2, 2, 7))  # none of these has left a trace
    assert again.kept.changes[2:] == [(2, 1, 7, 1)]
    again.end()


def test_a_row_that_was_on_time_is_not_late_when_it_comes_again(spark, tmp_path):
    fed = Fed(spark, tmp_path)
    fed.hand(0, (1, 2, 3))
    fed.hand(1, (1, 3, 2), (1, 4, 9))
    fed.hand(1, (1, 3, 2), (1, 4, 9))
    assert fed.kept.changes == [(1, 1, 3, 1), (1, 1, 9, -1), (1, 2, 9, 1)]
    letters = rows_of(spark.read.json(str(tmp_path / "dead")).select("reason", "time"))
    assert letters == [('late: "edges" is complete before 4', 2)]
    fed.end()


@pytest.mark.parametrize("window", ["before the commit", "before publishing", "before the mark"])
def test_a_crash_around_the_commit_loses_and_doubles_nothing(spark, tmp_path, window, monkeypatch):
    log = ebb.change_log(str(tmp_path / "log"))
    fed = Fed(spark, tmp_path, sink=log)
    fed.hand(0, (1, 2, 0))
    write = marks.write
    fails = lambda *given, **more: 1 / 0
    where = {
        "before the commit": ("ebbflow.frontend.running.stepping.work", fails),
        "before publishing": ("ebbflow.pipeline.sinks.change_log.ChangeLog.publish", fails),
        "before the mark": (
            "ebbflow.pipeline.marks.write",
            lambda path, says: 1 / 0 if path.name == "published.json" else write(path, says),
        ),
    }
    with monkeypatch.context() as crash:
        crash.setattr(*where[window])
        with pytest.raises((ZeroDivisionError, NotPublished), match="division by zero"):
            fed.hand(1, (1, 3, 1))
    fed.end()
    again = Fed(spark, tmp_path, sink=log)
    told = [(1, 1, 0, 1), (1, 1, 1, -1), (1, 2, 1, 1)]
    published = rows_of(spark.read.parquet(str(tmp_path / "log")).select("src", "count", "_time", "_diff"))
    assert published == (told[:1] if window == "before the commit" else told)  # by opening alone
    again.hand(1, (1, 3, 1))
    published = rows_of(spark.read.parquet(str(tmp_path / "log")).select("src", "count", "_time", "_diff"))
    assert published == told
    assert json.loads((tmp_path / "log" / "_progress.json").read_text())["frontier"] == [[2]]
    again.end()


def test_files_in_two_runs_to_their_end(spark, tmp_path):
    edits = Files(tmp_path / "edits", "id long, owner string, amount long, seq long", spark)
    table = f"{tmp_path}/table"

    def once():
        source = ebb.upsert(edits.frame(1), sequence="seq")
        return run(balances(), spark, tmp_path, {"accounts": source}, {"totals": ebb.table(table)}, shards=2)

    edits.put((1, "ann", 10, 1), (2, "bob", 5, 2))
    edits.put((1, "ann", 12, 3))
    once()
    assert rows_of(spark.read.parquet(f"{table}")) == [("ann", 12), ("bob", 5)]
    edits.put((2, "ann", 7, 4), (1, "ann", 99, 2))
    once()
    assert rows_of(spark.read.parquet(f"{table}")) == [("ann", 19)]
    once()  # nothing new
    assert rows_of(spark.read.parquet(f"{table}")) == [("ann", 19)]

    shutil.rmtree(tmp_path / "checkpoint" / "query")  # Spark numbers its batches anew, and reads all files again
    with pytest.raises(DeliveryRefused, match="this checkpoint was fed by"):
        once()
    assert rows_of(spark.read.parquet(f"{table}")) == [("ann", 19)]


def test_parquet_files_are_a_source_too(spark, tmp_path):
    spark.createDataFrame([(1, 2), (1, 3)], "src long, dst long").coalesce(1).write.parquet(str(tmp_path / "edges"))
    frame = spark.readStream.schema("src long, dst long").parquet(str(tmp_path / "edges"))
    run(degrees(), spark, tmp_path, {"edges": ebb.append(frame)}, {"degrees": ebb.view("degrees")}, shards=1)
    assert rows_of(spark.sql("select * from degrees")) == [(1, 2)]
