"""Claims about surroundings: nothing of ours is set where others are, also while our calls run."""

import os
import threading

import pytest

import ebbflow as ebb
from tests import parts
from tests.pipeline.given import Files, rows_of, run
from tests.pipeline.surroundings import Watch, of_session


def program(watch=None):
    """Its own function looks around; on Spark it runs elsewhere."""

    def doubled(row):
        if watch is not None:
            watch.look("a function of the user's", beside=threading.current_thread() is not threading.main_thread())
        return [(row.n * 2,)]

    flow = ebb.Dataflow()
    numbers = flow.input("numbers", "n long")
    flow.output("doubled", numbers.flat_map(doubled, "n long"))
    flow.output("counted", numbers.group_by("n").count())
    flow.output("logged", numbers.filter(numbers.n > 1))
    flow.output("told", numbers.select("n"))
    return flow


@pytest.mark.parametrize("workers", [1, 2])
def test_a_local_run_leaves_the_process_as_it_is(tmp_path, workers):
    watch = Watch()
    with watch.watching():
        with program(watch).run(workers=workers, checkpoint=tmp_path / "state") as live:
            live.subscribe("counted", lambda changes, frontier: watch.look("a subscriber"))
            for time in range(5):
                live.insert("numbers", [(time,), (1,)], time=time)
                live.advance_to(time + 1)
                live.snapshot("counted")
                live.changes("doubled")
        program(watch).compute(numbers=[(1,)])
    assert watch.seen == [] and watch.looks > 20


@pytest.fixture
def odd(spark, tmp_path):
    """A session whose settings, properties and directory are not the usual ones: what is put back is not enough."""
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    spark.conf.set("spark.ebbflow.test", "mine")
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", "mine")
    spark.range(1).count()  # Delta's extension sets spark.sql.parquet.fieldId.* with the first query, whose ever it is
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.unset("spark.ebbflow.test")
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", None)


def test_a_run_on_spark_leaves_the_session_as_it_is(odd, tmp_path):
    watch = Watch(odd)
    with watch.watching(), program().run(odd, checkpoint=str(tmp_path / "state"), shards=2) as live:
        live.subscribe("counted", lambda changes, frontier: watch.look_at_session("a subscriber"))
        live.insert("numbers", odd.range(5).selectExpr("id as n"), time=0)
        live.apply("numbers", odd.range(3).selectExpr("id as n", "2 as ts", "1 as d"), time="ts", diff="d")
        live.advance_to(3)
        assert live.changes("doubled", as_spark=True).count() == 8
        assert live.snapshot("counted", as_spark=True).count() == 5
    assert watch.seen == [] and watch.looks > 20


def test_a_stream_leaves_the_session_as_it_is(odd, tmp_path):
    parts.need_connector(odd, "delta")
    files = Files(tmp_path / "numbers", "n string", odd)
    files.put(("1",), ("one",), ("2",))
    files.put(("2",))
    odd.range(1).write.format("delta").save(f"{tmp_path}/used")
    assert odd.read.format("delta").load(f"{tmp_path}/used").count() == 1  # in a process that uses it
    watch, views = Watch(odd), {table.name for table in odd.catalog.listTables()}

    def told(changes, progress):
        watch.look("a sink")
        watch.look_at_session("a sink")

    outputs = {
        "doubled": ebb.table(f"{tmp_path}/doubled"),
        "counted": ebb.table(f"{tmp_path}/counted", format="delta", key="n"),
        "logged": ebb.change_log(f"{tmp_path}/logged"),
        "told": ebb.each(told),
    }
    with watch.watching():
        inputs = {"numbers": ebb.append(files.frame(1))}
        run(program(), odd, tmp_path, inputs, outputs, dead_letters=str(tmp_path / "dead"), shards=1)
    assert rows_of(odd.read.format("delta").load(f"{tmp_path}/counted")) == [(1, 1), (2, 2)]
    assert rows_of(odd.read.parquet(f"{tmp_path}/doubled")) == [(2,), (4,), (4,)]
    assert watch.seen == [] and watch.looks > 20
    assert {table.name for table in odd.catalog.listTables()} == views  # no view of ours is left


def test_a_session_that_runs_is_given_as_it_is_to_every_thread(spark):
    """A session of the main thread is not active in another one; it was given our settings there."""
    before, found = of_session(spark), []
    asks = lambda: found.append(ebb.spark(**{"spark.ebbflow.asked": "no"}))
    other = threading.Thread(target=asks)
    other.start()
    other.join()
    asks()
    assert {one._jsparkSession.sessionUUID() for one in found} == {spark._jsparkSession.sessionUUID()}
    assert of_session(spark) == before


def test_the_watch_sees_what_is_set_for_a_moment(odd):
    watch = Watch(odd)
    with watch.watching():
        odd.conf.set("spark.ebbflow.moment", "1")
        odd.conf.unset("spark.ebbflow.moment")
        os.environ["EBBFLOW_MOMENT"] = "1"
        watch.look("here")
        del os.environ["EBBFLOW_MOMENT"]
    where = [place for place, _ in watch.seen]
    assert any(place.startswith("set (") for place in where) and "here" in where
