"""The runtime on Spark itself, one session for all: the oracle's answers, in few jobs, that do not grow."""

import os
import signal

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.errors import EbbflowError, FunctionFailed, NumberOverflow
from ebbflow.runtime.spark.cluster import SparkCluster, seat
from ebbflow.runtime.spark.runtime import SparkRuntime
from ebbflow.runtime.spark.step import Step
from tests.meaning.cases import make_case
from tests.meaning.runtimes import RUNTIMES, judge

ROUNDS = 20


def reachability(nested=False):
    flow = ebb.Dataflow()
    edges, roots = flow.input("edges", "src long, dst long"), flow.input("roots", "root long")
    start = roots.select("root", node="root")
    step = lambda reach: reach.join(edges, on={"node": "src"}).select("root", node="dst").union(start).distinct()
    flow.output("reach", start.iterate(step))
    return flow


def rows(*given):
    return np.array(given, np.int64).T.copy()


def edit(runtime, name, row, time, diff):
    runtime.feed(name, rows(row), np.full((1, 1), time, np.int64), np.array([diff], np.int64))


def go_to(runtime, time):
    runtime.advance({"edges": ((time,),), "roots": ((time,),)})


def made(spark, place, **options):
    return SparkRuntime(reachability().graph, SparkCluster(spark), str(place), reserve=1 << 30, **options)


def chain(runtime, length):
    for i in range(length):
        edit(runtime, "edges", (i, i + 1), 0, 1)
    edit(runtime, "roots", (0,), 0, 1)
    go_to(runtime, 1)
    assert len(runtime.take("reach")[2]) == length + 1


@pytest.mark.parametrize("number", range(12))
def test_what_spark_shows_is_what_the_oracle_says_at_every_time(spark, number):
    case, pool, right = make_case(71, number)
    judge(RUNTIMES["spark"], case.graph, list(case.steps), pool, right)


def processes(spark, tasks, name=""):
    """The processes in which so many tasks ran at once."""

    def run(batches):
        import os
        import time

        import pyarrow as pa

        for batch in batches:
            time.sleep(0.2)  # so that no process does two of them
            yield pa.record_batch([pa.array([os.getpid()] * batch.num_rows, pa.int64())], ["process"])

    frame = spark.range(0, tasks, 1, tasks).mapInArrow(run, "process bigint")
    if name:
        seat(frame, name)
    return [row[0] for row in frame.collect()]


def test_tasks_that_run_alone_meet_one_process_and_others_do_not_come_there(spark):
    before = dict(spark.sparkContext.environment)
    alone, others = set(), set()
    for _ in range(3):
        alone |= set(processes(spark, 1, "a test"))
        others |= set(processes(spark, 2))
    assert len(alone) == 1 and not alone & others
    assert spark.sparkContext.environment == before


@pytest.mark.parametrize("shards", [1, 8, 64])
def test_one_change_on_a_loop_of_twenty_rounds_is_one_job(spark, tmp_path, shards):
    runtime = made(spark, tmp_path / "state", shards=shards)
    chain(runtime, ROUNDS)
    before = runtime.counters()["jobs"]
    for i in range(1, 13):
        edit(runtime, "edges", (0, 1), i, -1 if i % 2 else 1)
        go_to(runtime, i + 1)
        assert len(runtime.take("reach")[2]) == ROUNDS
    assert runtime.counters()["jobs"] - before == 12


def test_wide_supersteps_say_the_same_and_end_narrow(spark, tmp_path):
    runtime = made(spark, tmp_path / "state", shards=8, wide_rows=4, narrow_words=30, width=2)
    chain(runtime, 12)
    assert runtime.supersteps >= 3  # two and more apart, and one that took over
    edit(runtime, "edges", (0, 1), 1, -1)
    go_to(runtime, 2)
    lanes, _, diffs = runtime.take("reach")
    assert sorted(lanes[1].tolist()) == list(range(1, 13)) and set(diffs.tolist()) == {-1}


def test_ctrl_c_stops_a_job_at_once_and_a_step_that_counts_when_it_is_over(spark, monkeypatch):
    live = reachability().run(spark)
    live.insert("roots", [(0,)], time=0)
    live.insert("edges", [(0, 1)], time=0)
    run, settle = Step.run, type(live._inputs["edges"]).settle

    went_on = []

    def interrupted(step):
        signal.raise_signal(signal.SIGINT)
        went_on.append(step)
        run(step)

    with monkeypatch.context() as patch:
        patch.setattr(Step, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            live.advance_to(1)
    assert not went_on and live.frontier("reach") == [(0,)]

    def settled_slowly(given, due):
        signal.raise_signal(signal.SIGINT)
        settle(given, due)

    with monkeypatch.context() as patch:
        patch.setattr(type(live._inputs["edges"]), "settle", settled_slowly)
        with pytest.raises(KeyboardInterrupt):
            live.advance_to(1)
    assert live.frontier("reach") == [(1,)]
    assert sorted(live.changes("reach").rows()) == [(0, 0, 0, 1), (0, 1, 0, 1)]
    live.close()


def persisted(spark):
    """How many frames the session holds on to."""
    return spark.sparkContext._jsc.sc().getPersistentRDDs().size()


def test_neither_plans_nor_memory_grow_over_two_hundred_supersteps(spark, tmp_path):
    runtime = made(spark, tmp_path / "state", shards=4)
    chain(runtime, 5)
    sizes, seen = [], []
    cluster, told = runtime.cluster, runtime.cluster.superstep
    before = persisted(cluster.spark)

    def measured(order, tasks, functions):
        frame = cluster.spark.range(0, tasks, 1, tasks).mapInArrow(lambda batches: batches, "id long")
        seen.append(len(frame._jdf.queryExecution().toString()))
        sizes.append(len(order))
        return told(order, tasks, functions)

    cluster.superstep = measured
    for i in range(1, 201):
        edit(runtime, "edges", (0, 1), i, -1 if i % 2 else 1)
        go_to(runtime, i + 1)
        runtime.take("reach")
    assert len(sizes) == 200
    assert max(sizes[100:]) < 1.5 * max(sizes[:100]) and max(seen) < 1.2 * min(
        seen
    )  # numbers of columns have more digits
    files = sum(len(found) for _, _, found in os.walk(tmp_path / "state"))
    assert files < 100
    assert persisted(cluster.spark) <= before


def test_a_process_of_sparks_that_dies_is_replaced_and_nothing_is_lost(spark, tmp_path):
    runtime = made(spark, tmp_path / "state", shards=4)
    chain(runtime, 6)
    flow = ebb.Dataflow()
    flow.output("pid", flow.input("x", "x long").map_rows(lambda row: (os.getpid(),), "pid long"))
    other = SparkRuntime(flow.graph, SparkCluster(spark), str(tmp_path / "other"), shards=1, reserve=1 << 28)
    other.feed("x", rows((1,)), np.zeros((1, 1), np.int64), np.ones(1, np.int64))
    other.advance({"x": ((1,),)})
    pid = int(other.take("pid")[0][0, 0])
    assert pid != os.getpid()
    os.kill(pid, signal.SIGKILL)
    edit(runtime, "edges", (0, 1), 1, -1)
    try:
        go_to(runtime, 2)
    except EbbflowError:  # local[2] repeats nothing: the step did not happen, and can be repeated
        go_to(runtime, 2)
    assert len(runtime.take("reach")[2]) == 6


def test_a_function_that_raises_in_a_task_refuses_the_step_in_our_words(spark, tmp_path):
    def careful(row):
        if row.x == 13:
            raise ValueError("not thirteen")
        return (row.x,)

    flow = ebb.Dataflow()
    flow.output("y", flow.input("x", "x long").map_rows(careful, "y long"))
    live = flow.run(spark, shards=2)
    live.insert("x", [(1,), (13,)])
    with pytest.raises(FunctionFailed, match=r"careful given to map_rows raised ValueError: not thirteen, for the row"):
        live.commit()
    assert live.frontier("y") == [(0,)]
    live.discard()
    live.insert("x", [(2,)])
    assert live.commit()["y"].rows() == [(2, 0, 1)]
    live.close()


def test_an_overflow_in_a_task_is_told_as_everywhere(spark):
    flow = ebb.Dataflow()
    x = flow.input("x", "x long")
    flow.output("y", x.select(y=x.x * 2**40))
    with flow.run(spark, shards=2) as live:
        live.insert("x", [(2**40,)])
        with pytest.raises(NumberOverflow):
            live.commit()
        live.discard()


@pytest.mark.parametrize("wide_rows", [None, 1000], ids=["narrow", "wide"])
def test_rows_in_files_that_waited_for_a_step_that_is_refused_are_discarded_with_it(spark, wide_rows):
    flow = ebb.Dataflow()
    x = flow.input("x", "x long, t long").select("x")
    flow.output("y", x.select(y=x.x + 1).group_by().agg(n=ebb.count(), most=ebb.max("y")))
    n = 20_000  # more than come back to the driver
    frame = spark.range(n).selectExpr(
        f"IF(id = {n - 1}, {2**63 - 1}, id) AS x", f"IF(id = {n - 1}, 8, 6 + 6 * (id % 2)) AS t"
    )
    with flow._run_tuned({"wide_rows": wide_rows} if wide_rows else {}, spark, shards=2) as live:
        live.apply("x", frame, time="t")
        live.advance_to(5)
        for _ in range(2):  # as long as nobody drops it
            with pytest.raises(NumberOverflow):
                live.advance_to(9)
        live.discard()
        live.advance_to(9)
        assert live.changes("y").rows() == []
        live.advance_to(20)
        assert live.changes("y").rows() == [(n // 2 - 1, n - 2, 12, 1)]


def test_text_made_in_tasks_is_known_to_all(spark, tmp_path):
    flow = ebb.Dataflow()
    words = flow.input("words", "word string")
    loud = words.select(word=ebb.upper(words.word))
    flow.output("loud", loud.group_by("word").count())
    live = flow._run_tuned({"wide_rows": 3, "narrow_words": 0}, spark, shards=4)
    live.insert("words", [(w,) for w in ("a", "b", "c", "a", "é", "")])
    assert sorted(live.commit()["loud"].rows()) == [
        ("", 1, 0, 1),
        ("A", 2, 0, 1),
        ("B", 1, 0, 1),
        ("C", 1, 0, 1),
        ("É", 1, 0, 1),
    ]
    live.delete("words", [("a",)])
    assert sorted(live.commit()["loud"].rows()) == [("A", 1, 1, 1), ("A", 2, 1, -1)]
    live.close()
