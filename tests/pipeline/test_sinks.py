"""Claims about sinks: handed a step twice they are as if handed it once, and no reader meets half a table."""

import json

import pytest

import ebbflow as ebb
from ebbflow.errors import MissingPackage, NotATable, TypeMismatch, UnknownColumn, WrongDiff
from ebbflow.pipeline.sinks.parquet_table import summed
from ebbflow.pipeline.sinks.sink import Progress
from tests.parts import need_connector
from tests.pipeline.given import Kept, rows_of

COLUMNS, DDL = ["name", "n"], "`name` string, `n` bigint"
STEPS = [
    [("a", 1, 0, 1), ("b", 2, 0, 1), ("b", 2, 0, 1)],
    [("a", 1, 1, -1), ("a", 5, 1, 1), ("b", 2, 2, -1), (None, None, 2, 1), ("z", 9, 1, 1), ("z", 9, 2, -1)],
    [],
]
STANDS = [[("a", 1), ("b", 2), ("b", 2)], [(None, None), ("a", 5), ("b", 2)], [(None, None), ("a", 5), ("b", 2)]]


def changes(spark, rows):
    import pyarrow

    types = [("name", pyarrow.string()), ("n", pyarrow.int64()), ("_time", pyarrow.int64()), ("_diff", pyarrow.int64())]
    return spark.createDataFrame(
        pyarrow.table({name: pyarrow.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(types)})
    )


def hand(sink, spark, place, step, rows):
    sink.publish(changes(spark, rows), Progress("out", step, [(step * 10,)], "query", step - 1), place)


def stands(frame):
    return sorted((tuple(row) for row in frame.collect()), key=repr)


@pytest.mark.parametrize("times", [1, 2], ids=["once", "each step twice"])
def test_a_parquet_table_is_what_the_changes_sum_up_to(spark, tmp_path, times):
    path = tmp_path / "table"
    sink = ebb.table(str(path))
    sink.open(spark, tmp_path / "place", COLUMNS, DDL)
    for step, rows in enumerate(STEPS, start=1):
        for _ in range(times):
            hand(sink, spark, tmp_path / "place", step, rows)
        assert stands(spark.read.parquet(str(path))) == sorted(STANDS[step - 1], key=repr)
        said = json.loads((path / "_progress.json").read_text())
        assert (said["step"], said["frontier"]) == (step, [[step * 10]])


def test_a_reader_of_a_parquet_table_keeps_the_version_it_began_with(spark, tmp_path):
    sink = ebb.table(str(tmp_path / "table"), counts=True)
    sink.open(spark, tmp_path, COLUMNS, DDL)
    hand(sink, spark, tmp_path, 1, STEPS[0])
    read = spark.read.parquet(str((tmp_path / "table").resolve()))
    hand(sink, spark, tmp_path, 2, STEPS[1])
    assert stands(read) == [("a", 1, 1), ("b", 2, 2)]
    assert stands(spark.read.parquet(str(tmp_path / "table"))) == [
        ("a", 5, 1),
        ("b", 2, 1),
        (None, None, 1),
    ]


def test_old_versions_of_a_parquet_table_go(spark, tmp_path):
    sink = ebb.table(str(tmp_path / "table"))
    sink.open(spark, tmp_path, COLUMNS, DDL)
    for step in range(1, 6):
        hand(sink, spark, tmp_path, step, [("a", step, 0, 1)])
    assert len([path for path in (tmp_path / ".table.versions").iterdir() if path.name.startswith("version-")]) == 3


@pytest.mark.parametrize("fails", ["point", "write"])
def test_a_crash_before_the_mark_is_made_good(spark, tmp_path, fails, monkeypatch):
    sink = ebb.table(str(tmp_path / "table"))
    sink.open(spark, tmp_path, COLUMNS, DDL)
    hand(sink, spark, tmp_path, 1, STEPS[0])
    from ebbflow.pipeline import marks

    with monkeypatch.context() as crash:
        crash.setattr(marks, fails, lambda *said: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hand(sink, spark, tmp_path, 2, STEPS[1])
    assert stands(spark.read.parquet(f"{tmp_path}/table")) == sorted(STANDS[0], key=repr)
    hand(sink, spark, tmp_path, 2, STEPS[1])
    assert stands(spark.read.parquet(f"{tmp_path}/table")) == sorted(STANDS[1], key=repr)


def test_a_directory_with_something_else_is_no_place_for_a_table(spark, tmp_path):
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "mine.txt").write_text("mine")
    with pytest.raises(NotATable, match="holds something else"):
        ebb.table(str(tmp_path / "table")).open(spark, tmp_path, COLUMNS, DDL)
    assert (tmp_path / "table" / "mine.txt").read_text() == "mine"


def test_a_log_has_every_change_once(spark, tmp_path):
    sink = ebb.change_log(str(tmp_path / "log"))
    sink.open(spark, tmp_path, COLUMNS, DDL)
    for step, rows in enumerate(STEPS, start=1):
        hand(sink, spark, tmp_path, step, rows)
        hand(sink, spark, tmp_path, step, rows)
    log = spark.read.parquet(str(tmp_path / "log"))
    told = [(*row, step) for step, rows in enumerate(STEPS, start=1) for row in rows]
    assert stands(log.select("name", "n", "_time", "_diff", "step")) == sorted(told, key=repr)
    assert json.loads((tmp_path / "log" / "_progress.json").read_text())["frontier"] == [[30]]


def test_a_view_follows_and_is_there_again_when_reopened(spark, tmp_path):
    sink = ebb.view("followed")
    sink.open(spark, tmp_path / "view", COLUMNS, DDL)
    assert spark.sql("select * from followed").collect() == []
    hand(sink, spark, tmp_path / "view", 1, STEPS[0])
    assert rows_of(spark.sql("select n, count(*) from followed group by n")) == [(1, 1), (2, 2)]
    spark.catalog.dropTempView("followed")
    sink.open(spark, tmp_path / "view", COLUMNS, DDL)
    assert spark.table("followed").count() == 3


def test_a_function_is_called_once_a_step(spark, tmp_path):
    kept = Kept()
    sink = ebb.each(kept)
    for step in (1, 1, 2):
        hand(sink, spark, tmp_path, step, STEPS[0][:1])
    assert kept.steps == [(1, [(10,)], [("a", 1, 0, 1)]), (2, [(20,)], [("a", 1, 0, 1)])]


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: ebb.table("x", format="orc"), "parquet or delta"),
        (lambda: ebb.table("x", key="n"), "has no key"),
        (lambda: ebb.table("x", format="delta", key="n", counts=True), "no counts"),
        (lambda: ebb.table(3), "a path or a name"),
        (lambda: ebb.view("not a word"), "called by a word"),
        (lambda: ebb.each(3), "takes a function"),
    ],
)
def test_what_is_no_sink_is_refused(make, what):
    with pytest.raises(TypeMismatch, match=what):
        make()


# ---- Delta ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("again", [False, True], ids=["once", "each step twice, its mark lost"])
def test_a_delta_table_with_counts_is_merged_row_by_row(spark, tmp_path, again):
    need_connector(spark, "delta")
    path = f"{tmp_path}/table"
    sink = ebb.table(path, format="delta", counts=True)
    sink.open(spark, tmp_path, COLUMNS, DDL)
    for step, rows in enumerate(STEPS, start=1):
        hand(sink, spark, tmp_path, step, rows)
        if again:
            (tmp_path / "_progress.json").unlink()
            hand(sink, spark, tmp_path, step, rows)
    assert stands(spark.read.format("delta").load(path)) == [("a", 5, 1), ("b", 2, 1), (None, None, 1)]
    history = spark.sql(f"describe history delta.`{path}`").filter("operation = 'MERGE'")
    said = [json.loads(row["userMetadata"])["frontier"] for row in history.orderBy("version").collect()]
    assert said == [[[10]], [[20]]]  # one commit a step that changed something


def test_a_delta_table_by_key_keeps_one_row_a_key(spark, tmp_path):
    need_connector(spark, "delta")
    path = f"{tmp_path}/table"
    sink = ebb.table(path, format="delta", key="name")
    sink.open(spark, tmp_path, COLUMNS, DDL)
    hand(sink, spark, tmp_path, 1, [("a", 1, 0, 1), ("b", 2, 0, 1)])
    hand(sink, spark, tmp_path, 2, [("a", 1, 1, -1), ("a", 5, 1, 1), ("b", 2, 1, -1), ("c", 3, 1, 1)])
    assert stands(spark.read.format("delta").load(path)) == [("a", 5), ("c", 3)]
    with pytest.raises(WrongDiff, match="2 rows for the key"):
        hand(sink, spark, tmp_path, 3, [("d", 1, 2, 1), ("d", 2, 2, 1)])
    with pytest.raises(UnknownColumn, match='the column "nome"'):
        ebb.table(path, format="delta", key="nome").open(spark, tmp_path, COLUMNS, DDL)


# ---- Kafka ------------------------------------------------------------------------------------------------


def test_messages_are_json_and_say_their_step(spark):
    sink = ebb.kafka("topic", servers="127.0.0.1:1", key="name")
    messages = sink._messages(changes(spark, STEPS[0][:1]), Progress("out", 7, [(9,)], "q", 6)).collect()
    ((key, value, headers),) = messages
    assert (key, json.loads(value)) == ('{"name":"a"}', {"name": "a", "n": 1, "_time": 0, "_diff": 1})
    assert {header["key"]: bytes(header["value"]) for header in headers} == {
        "ebbflow-step": b"7",
        "ebbflow-output": b"out",
    }


def test_without_the_connector_a_delta_table_is_refused_with_where_to_get_it(tmp_path):
    class Spark:
        def sql(self, text):
            raise RuntimeError("[DATA_SOURCE_NOT_FOUND] ... ClassNotFoundException: delta.DefaultSource")

    with pytest.raises(MissingPackage, match="does not have") as refusal:
        ebb.table("lake.reach", format="delta").open(Spark(), tmp_path, COLUMNS, DDL)
    assert 'jars.settings("delta")' in refusal.value.hint


def test_a_function_of_the_changes_alone_is_given_those(spark, tmp_path):
    given = []
    sink = ebb.each(lambda changes: given.append(rows_of(changes)))
    sink.open(spark, tmp_path, COLUMNS, DDL)
    hand(sink, spark, tmp_path / "place", 1, STEPS[0][:1])
    assert given == [[("a", 1, 0, 1)]]
    assert ebb.each(print) and ebb.each(lambda *both: None) and ebb.each(lambda changes, progress: None)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_of_diffs_are_exact_on_the_way_and_never_wrap(spark, ansi):
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", ansi)
    diffs = [2**62, 2**62, -(2**62), 5]  # the first two alone are beyond a long
    rows = session.createDataFrame([("a", diff) for diff in diffs], "name string, _diff long")
    assert [tuple(row) for row in summed(rows, ["name"]).collect()] == [("a", 2**62 + 5)]
    beyond = session.createDataFrame([("a", 2**62), ("a", 2**62)], "name string, _diff long")
    with pytest.raises(Exception, match="beyond 64 bits"):
        summed(beyond, ["name"]).collect()
