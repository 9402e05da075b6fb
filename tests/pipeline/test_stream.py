"""Claims about streams: what goes in through Structured Streaming comes out right, at its times, and once."""

import pytest

import ebbflow as ebb
from ebbflow.errors import (
    DeadLetters,
    NumberOverflow,
    PlanError,
    TypeMismatch,
    UnknownInput,
    UnknownOption,
    UnknownOutput,
    WrongTime,
)
from ebbflow.runtime.spark.cluster import SparkCluster
from tests.pipeline.given import Files, Kept, degrees, reach, rows_of, run


def test_all_inputs_go_through_one_query_at_their_own_times(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src long, dst long, ts long, d long", spark)
    roots = Files(tmp_path / "roots", "root long", spark)
    edges.put((1, 2, 0, 1), (2, 3, 1, 1), (2, 3, 3, -1))
    roots.put((1,))
    kept = Kept()
    inputs = {"edges": ebb.changes(edges.frame(), time="ts", diff="d"), "roots": ebb.append(roots.frame())}
    query = run(reach(), spark, tmp_path, inputs, {"reach": ebb.each(kept)})
    assert kept.changes == [(1, 1, 0, 1), (1, 2, 0, 1), (1, 3, 1, 1), (1, 3, 3, -1)]
    assert kept.steps[-1][1] == [(4,)] and query.exception() is None and not query.isActive


def test_how_the_input_is_cut_into_batches_is_not_seen_in_the_changes(spark, tmp_path):
    told = []
    for files_at_once in (None, 1):
        place = tmp_path / str(files_at_once)
        edges = Files(place / "edges", "src long, dst long, ts long, d long", spark)
        roots = Files(place / "roots", "root long, ts long", spark)
        roots.put((1, 0), (7, 9))
        edges.put((1, 2, 0, 1), (2, 3, 1, 1))
        edges.put((2, 3, 4, -1), (3, 1, 5, 1))
        kept = Kept()
        inputs = {
            "edges": ebb.changes(edges.frame(files_at_once), time="ts", diff="d"),
            "roots": ebb.append(roots.frame(), time="ts"),
        }
        run(reach(), spark, place, inputs, {"reach": ebb.each(kept)})
        told.append((sorted(kept.changes), len([step for step in kept.steps if step[2]])))
    assert told[0][0] == told[1][0] == [(1, 1, 0, 1), (1, 2, 0, 1), (1, 3, 1, 1), (1, 3, 4, -1)]
    assert (told[0][1], told[1][1]) == (1, 2)


def test_rows_without_times_come_batch_by_batch(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src long, dst long", spark)
    edges.put((1, 2), (1, 3))
    edges.put((1, 4))
    kept = Kept()
    run(degrees(), spark, tmp_path, {"edges": ebb.append(edges.frame(1))}, {"degrees": ebb.each(kept)})
    assert kept.changes == [(1, 2, 0, 1), (1, 2, 1, -1), (1, 3, 1, 1)]
    assert [step[1] for step in kept.steps] == [[(1,)], [(2,)]]


def test_rows_that_were_counted_are_not_estimated_again(spark, tmp_path, monkeypatch):
    told, was = [], SparkCluster.stage
    monkeypatch.setattr(SparkCluster, "stage", lambda self, *given: told.append(given[4]) or was(self, *given))
    edges = Files(tmp_path / "edges", "src long, dst long", spark)
    edges.put((1, 2), (1, 3))
    edges.put((1, 4))
    run(degrees(), spark, tmp_path, {"edges": ebb.append(edges.frame(1))}, {"degrees": ebb.each(Kept())})
    assert told == [2, 1]


def test_a_time_stays_open_for_what_is_late_by_no_more(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src long, dst long, ts long", spark)
    edges.put((1, 2, 10))
    edges.put((1, 3, 6), (9, 9, 4))
    edges.put((2, 2, 20))
    kept = Kept()
    inputs = {"edges": ebb.changes(edges.frame(1), time="ts", lateness=5)}
    run(degrees(), spark, tmp_path, inputs, {"copy": ebb.each(kept)}, dead_letters=str(tmp_path / "dead"))
    assert sorted(kept.changes) == [(1, 2, 10, 1), (1, 3, 6, 1)]
    assert [step[1] for step in kept.steps] == [[(6,)], [(6,)], [(16,)]]
    dead = spark.read.json(str(tmp_path / "dead"))
    assert rows_of(dead.select("input", "reason", "time", "row", "batch")) == [
        ("edges", 'late: "edges" is complete before 6', 4, '{"src":9,"dst":9}', 1)
    ]


def test_the_rate_source_is_a_stream_like_any_other(spark, tmp_path):
    flow = ebb.Dataflow()
    flow.output("parity", flow.input("ticks", "value long").group_by(odd=ebb.col("value") % 2).count())
    kept = Kept()
    ticks = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).option("numPartitions", 2).load()
    query = flow.stream(
        spark, checkpoint=str(tmp_path / "checkpoint"), inputs={"ticks": ebb.append(ticks)},
        outputs={"parity": ebb.each(kept)},
    )  # fmt: skip
    while len(kept.steps) < 2 and query.isActive:
        query.awaitTermination(0.2)
    query.stop()
    assert kept.changes[:6] == [(0, 5, 0, 1), (1, 5, 0, 1), (0, 5, 1, -1), (0, 10, 1, 1), (1, 5, 1, -1), (1, 10, 1, 1)]
    assert not query.isActive and query.lastProgress is not None and query.status is not None and query.id


def test_malformed_rows_are_kept_with_their_reasons(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src string, dst long, _corrupt_record string", spark)
    edges.put(("1", 2), ("one", 2), "{torn", ("3", 4))
    kept = Kept()
    inputs = {"edges": ebb.append(edges.frame())}
    run(degrees(), spark, tmp_path, inputs, {"copy": ebb.each(kept)}, dead_letters=str(tmp_path / "dead"))
    assert kept.changes == [(1, 2, 0, 1), (3, 4, 0, 1)]
    letters = rows_of(spark.read.json(str(tmp_path / "dead")).select("reason", "row"))
    assert letters == [
        ('"src" holds what is not a long', '{"src":"one","dst":2}'),
        ("the reader could not read the row", '{"_corrupt_record":"{torn"}'),
    ]


def test_without_a_place_for_dead_letters_the_batch_is_refused(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src string, dst long", spark)
    edges.put(("one", 2))
    with pytest.raises(DeadLetters, match='has 1 row of "edges" that cannot be taken in') as refused:
        run(degrees(), spark, tmp_path, {"edges": ebb.append(edges.frame())}, {"copy": ebb.each(Kept())})
    assert "dead_letters" in refused.value.hint


def test_a_sum_of_decimals_that_leaves_its_room_is_refused_before_the_step_counts(spark, tmp_path):
    flow = ebb.Dataflow()
    sales = flow.input("sales", "shop long, price decimal(38,2)")
    flow.output("totals", sales.group_by("shop").agg(total=ebb.sum("price")))
    files = Files(tmp_path / "sales", "shop long, price decimal(38,2)", spark)
    large = '{"shop":1,"price":999999999999999999999999999999999999.99}'
    files.put(large, (2, 1.5), '{"shop":3,"price":123456789012345678.25}')
    files.put(large)
    outputs = {"totals": ebb.table(str(tmp_path / "totals"), format="parquet")}
    inputs = {"sales": ebb.append(files.frame(1))}
    dead = str(tmp_path / "dead")
    for _ in range(2):  # the step is refused again, and nothing is stuck
        with pytest.raises(NumberOverflow, match="needs more than 38 digits, for the group shop=1 at time 1"):
            run(flow, spark, tmp_path, inputs, outputs, dead_letters=dead)
    totals = spark.read.parquet(str(tmp_path / "totals"))
    assert totals.schema["total"].dataType.simpleString() == "decimal(38,2)"
    assert sorted((row["shop"], str(row["total"])) for row in totals.collect()) == [
        (1, large[18:-1]),
        (2, "1.50"),
        (3, "123456789012345678.25"),
    ]


def test_what_a_function_of_mine_raises_ends_the_query(spark, tmp_path):
    edges = Files(tmp_path / "edges", "src long, dst long", spark)
    edges.put((1, 2))

    def fails(changes, progress):
        raise ValueError("no room")

    with pytest.raises(Exception, match="no room"):
        run(degrees(), spark, tmp_path, {"edges": ebb.append(edges.frame())}, {"copy": ebb.each(fails)})


# ---- refused before anything runs -----------------------------------------------------------------


@pytest.fixture
def frame(spark):
    return spark.readStream.format("rate").load().selectExpr("value as src", "value as dst", "value as _commit_version")


@pytest.mark.parametrize(
    ("inputs", "outputs", "more", "kind", "what"),
    [
        ({}, None, {}, UnknownInput, "told nothing of the input edges"),
        ({"edgs": 1}, None, {}, UnknownInput, 'feeds the input "edgs"'),
        ({"edges": "raw"}, None, {}, TypeMismatch, "does not say how rows count"),
        ({"edges": "still"}, None, {}, TypeMismatch, "is not a stream"),
        (None, {}, {}, PlanError, "no outputs"),
        (None, {"degree": 1}, {}, UnknownOutput, 'publishes the output "degree"'),
        (None, {"degrees": 1}, {}, TypeMismatch, "is no sink"),
        (None, None, {"trigger": {"now": True}}, UnknownOption, "trigger is one of"),
    ],
)
def test_what_does_not_fit_is_refused(spark, tmp_path, frame, inputs, outputs, more, kind, what):
    made = {"raw": frame, "still": ebb.append(spark.range(1).selectExpr("id as src", "id as dst"))}
    inputs = {"edges": ebb.append(frame)} if inputs is None else {n: made.get(s, s) for n, s in inputs.items()}
    outputs = {"degrees": ebb.each(print)} if outputs is None else outputs
    with pytest.raises(kind, match=what):
        degrees().stream(spark, checkpoint=str(tmp_path / "c"), inputs=inputs, outputs=outputs, **more)


def test_versions_of_two_tables_are_not_one_clock(spark, tmp_path, frame):
    fed = frame.selectExpr("src", "dst", "src as root", "'insert' as _change_type", "_commit_version")
    inputs = {"edges": ebb.change_feed(fed), "roots": ebb.change_feed(fed)}
    with pytest.raises(WrongTime, match="edges, roots count time by the versions of their tables"):
        reach().stream(spark, checkpoint=str(tmp_path), inputs=inputs, outputs={"reach": ebb.each(print)})
