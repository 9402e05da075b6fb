"""A cluster: a frame is evaluated by one action, and whoever packs its rows, the same is made of them."""

import pickle
from datetime import date, datetime

import numpy as np
import pytest
from pyspark.sql import functions as F

import ebbflow as ebb
from ebbflow.errors import ClusterFailed, LateTime
from ebbflow.runtime.spark import cluster
from ebbflow.runtime.spark.cluster import SparkCluster, Unread, has_few_rows
from ebbflow.runtime.spark.runtime import SparkRuntime

COLUMNS = "a long, b string, c boolean, d date, e timestamp, f double, n int"
ROWS = [
    (
        i,
        None if i % 5 == 0 else f"text {i % 4}",
        i % 2 == 0,
        date(2026, 1, 1 + i),
        datetime(2026, 1, 1, i),
        i / 7,
        i % 3,
    )
    for i in range(20)
]


def given(spark, rows=ROWS):
    return spark.createDataFrame(rows, COLUMNS).repartition(3)


def program():
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("x", COLUMNS))
    return flow


def told(**more):
    schema = [field.split() for field in COLUMNS.split(", ")]
    facts = {"verb": "insert", "input": "x", "schema": schema, "key": [], "times": [None], "diff": 1, "order": 0}
    return facts | {"late": [[0]], "open": [0]} | more


def made(spark, place, tasks):
    runtime = SparkRuntime(program().graph, SparkCluster(spark), str(place), 3, reserve=1 << 28)
    runtime.staging_tasks = tasks
    return runtime


def taken(runtime, frame, **more):
    """The count and hash of a frame's rows, the rows, and the text they name."""
    found = runtime.stage([(told(), frame)], [], **more)
    rows = [rows for rows, _ in found.rows["x"]]
    lanes = np.concatenate([lanes for lanes, _, _ in rows], axis=1)
    texts = runtime.pool.decode(lanes[1]).to_pylist()
    return found.count, found.hash, sorted(map(tuple, lanes.T.tolist())), sorted(texts, key=str)


def jobs_of(spark, name, action):
    """What an action gives, and how many of Spark's jobs it takes."""
    context = spark.sparkContext
    context.setJobGroup(name, name)
    try:
        return action(), len(context.statusTracker().getJobIdsForGroup(name))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)


def test_of_rows_that_were_given_and_of_limits_the_plan_says_how_many_there_are(spark, tmp_path):
    some = spark.range(0, 200, 1, 2).selectExpr("id as a", "xxhash64(id) as b")
    some.write.parquet(str(tmp_path / "file"))
    file = spark.read.parquet(str(tmp_path / "file"))
    assert all(map(has_few_rows, [some, some.unionAll(some).filter("a > 3"), file.limit(50)]))
    assert has_few_rows(spark.createDataFrame(some.toPandas()))
    many = [spark.range(cluster.FEW_TO_PACK + 1), some.selectExpr("explode(sequence(0, 1000000)) as x"), file]
    many += [some.mapInArrow(lambda batches: batches, "a long, b long"), some.crossJoin(some)]
    assert not any(map(has_few_rows, many))
    assert has_few_rows(file, most=200) and not has_few_rows(some, most=cluster.FEW_TO_PACK + 1)
    assert not has_few_rows(object()), "Spark Connect does not tell"


@pytest.mark.parametrize("tasks", [1, 3])
def test_rows_that_come_to_the_driver_are_those_that_tasks_would_pack(spark, tmp_path, tasks):
    here, jobs = jobs_of(
        spark, f"here {tasks}", lambda: taken(made(spark, tmp_path / "a", tasks), given(spark), most=20)
    )
    assert jobs == 1 and here[0] == 20
    there = taken(made(spark, tmp_path / "b", tasks), given(spark), most=1 << 30)
    assert here == there
    assert taken(made(spark, tmp_path / "c", tasks), given(spark, ROWS[::-1]), most=20) == here
    assert taken(made(spark, tmp_path / "d", tasks), given(spark, ROWS[1:]), most=20)[:2] != here[:2]


@pytest.mark.parametrize("most", [20, 1 << 30])
def test_every_row_of_a_frame_is_made_once(spark, tmp_path, most):
    log = str(tmp_path / "log")

    @F.udf("long")
    def seen(i):
        with open(log, "a") as file:
            file.write(f"{i}\n")
        return i

    frame = spark.createDataFrame(ROWS, COLUMNS).repartition(2).withColumn("a", seen("a"))
    assert taken(made(spark, tmp_path / "state", 1), frame, most=most)[0] == 20
    with open(log) as file:
        assert sorted(map(int, file)) == list(range(20))


def test_what_is_wrong_with_rows_is_told_alike_wherever_they_are_packed(spark, tmp_path):
    found = []
    for most in (20, 1 << 30):
        runtime = made(spark, tmp_path / str(most), 1)
        with pytest.raises(LateTime, match="too late at time 0") as refused:
            runtime.stage([(told(late=[[3]]), given(spark))], [], most)
        found.append((refused.value.what, refused.value.hint))
        broken = given(spark).withColumn("a", F.expr("a + raise_error('no such row')").cast("long"))
        with pytest.raises(ClusterFailed, match="Spark could not run a step"):
            runtime.stage([(told(), broken)], [], most)
        assert taken(runtime, given(spark), most=most)[0] == 20
    assert found[0] == found[1]


def test_a_frame_without_rows_is_taken_in_as_nothing(spark, tmp_path):
    found = made(spark, tmp_path / "state", 1).stage([(told(), spark.createDataFrame([], COLUMNS))], [], 0)
    assert (found.count, found.rows, found.files) == (0, {}, {})


def test_a_small_frame_after_a_large_one_needs_no_tasks_of_ours(spark, tmp_path, monkeypatch):
    flow = ebb.Dataflow()
    flow.output("once", flow.input("x", "x long").distinct())
    live = flow.run(spark, shards=2)
    live.insert("x", spark.range(cluster.FEW_TO_PACK + 1).selectExpr("id as x"))
    live.commit()
    monkeypatch.setattr(SparkCluster, "mapped", lambda *_: pytest.fail("a task was asked"))
    live.insert("x", spark.range(3).selectExpr("-id as x"))
    monkeypatch.undo()
    assert sorted(live.commit()["once"].rows()) == [(-2, 1, 1), (-1, 1, 1)]
    live.close()


def test_functions_are_pickled_once_and_read_by_a_process_that_is_new_to_the_program(spark, tmp_path):
    class Heavy:
        """What a function drags along, and how often it was pickled."""

        times = 0

        def __getstate__(self):
            self.times += 1
            return {"times": 0}

    heavy = Heavy()
    flow = ebb.Dataflow()
    flow.output("twice", flow.input("x", "x long").map_rows(lambda row: (2 * row.x + heavy.times,), "x long"))
    live = flow.run(spark, shards=2)
    for i in range(4):
        live.insert("x", [(i,)])
        assert [row[0] for row in live.commit()["twice"].rows()] == [2 * i]
    assert heavy.times == 1
    live.close()


def test_functions_are_not_read_before_they_are_needed():
    unread = Unread(b"no pickle")
    with pytest.raises(pickle.UnpicklingError):
        len(unread)
    read = Unread(pickle.dumps([max, min]))
    assert list(read) == [max, min] and len(read) == 2
