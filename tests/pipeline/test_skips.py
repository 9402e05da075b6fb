"""Claims about steps that a sink does not take: told with what to do, tried again, skipped on somebody's word."""

import json

import pyarrow.parquet
import pytest
from click.testing import CliRunner

import ebbflow as ebb
from ebbflow.errors import NotPublished, TypeMismatch
from ebbflow.pipeline.sinks.parquet_table import ParquetTable
from ebbflow.tools.cli import main
from tests.parts import need_connector
from tests.pipeline.given import Kept, rows_of
from tests.pipeline.test_redelivery import Fed


def ask(*arguments):
    said = CliRunner().invoke(main, list(map(str, arguments)))
    assert said.exception is None or isinstance(said.exception, SystemExit), said.exception
    return said.exit_code, said.output


def test_a_step_that_a_function_never_takes_is_skipped_on_somebodys_word(spark, tmp_path):
    stream, kept = tmp_path / "checkpoint", Kept()

    def fails(changes, progress):
        if progress.step == 2:
            raise ValueError("no room for this")
        kept(changes, progress)

    fed = Fed(spark, tmp_path, sink=ebb.each(fails))
    fed.hand(0, (1, 2, 0))
    with pytest.raises(
        NotPublished, match=r'step 2 of "degrees" is committed, .* a function: ValueError: no room'
    ) as told:
        fed.hand(1, (1, 3, 1))
    assert f"`ebbflow skip {stream} 2`" in told.value.hint and "again" in told.value.hint
    fed.end()
    with pytest.raises(NotPublished, match="no room"):  # a restart tries again
        Fed(spark, tmp_path, sink=ebb.each(fails))
    status, said = ask("check", stream)
    assert status == 0, said
    assert "published: step 1, batch 0" in said and "step 2 waits to be published to: degrees" in said
    assert "ValueError: no room for this" in said

    for step, output, what in ((1, None, "UnknownStep"), (3, None, "UnknownStep"), (2, "copy", "UnknownOutput")):
        status, said = ask("skip", stream, step, *(["--output", output] if output else []))
        assert status == 1 and said.startswith(what)
    status, said = ask("skip", stream, 2)
    assert status == 0 and "step 2 will not be published to degrees" in said
    fed = Fed(spark, tmp_path, sink=ebb.each(fails))
    fed.hand(1, (1, 3, 1))  # Spark repeats the batch
    fed.hand(2, (1, 4, 2))
    fed.end()
    assert [step[0] for step in kept.steps] == [1, 3] and kept.changes[1:] == [(1, 2, 2, -1), (1, 3, 2, 1)]
    (file,) = (stream / "skipped" / "step=2").iterdir()
    assert str(file) in said
    assert pyarrow.parquet.read_table(file).to_pylist() == [
        {"src": 1, "count": 1, "_time": 1, "_diff": -1},
        {"src": 1, "count": 2, "_time": 1, "_diff": 1},
    ]
    status, said = ask("check", stream / "state")
    assert "published: step 3, batch 2" in said and "skipped: step 2 of degrees: ValueError: no room for this" in said
    assert ask("skip", stream, 3)[1].startswith("UnknownStep")


@pytest.mark.parametrize("kind", ["table", "log"])
def test_after_a_skipped_step_a_table_is_made_good_and_a_log_says_so(spark, tmp_path, kind, monkeypatch):
    sink = ebb.table(f"{tmp_path}/out") if kind == "table" else ebb.change_log(f"{tmp_path}/out")
    fed = Fed(spark, tmp_path, sink=sink)
    fed.hand(0, (1, 2, 0))
    with monkeypatch.context() as full:

        def refuses(*given):
            raise PermissionError(13, "Permission denied", f"{tmp_path}/out")

        full.setattr(ParquetTable, "_write", refuses)
        full.setattr("ebbflow.pipeline.marks.settle", refuses)
        with pytest.raises(NotPublished, match=r"the (table|log) .*/out: PermissionError: .*Permission denied"):
            fed.hand(1, (1, 3, 1), (2, 2, 1))
    fed.end()
    assert ask("skip", tmp_path / "checkpoint", 2)[0] == 0
    fed = Fed(spark, tmp_path, sink=sink)
    assert json.loads((tmp_path / "out" / "_progress.json").read_text())["step"] == 1
    fed.hand(2, (1, 4, 2))
    fed.end()
    mark = json.loads((tmp_path / "out" / "_progress.json").read_text())
    assert mark["step"] == 3 and mark.get("skipped") == (None if kind == "table" else [2])
    found = spark.read.parquet(f"{tmp_path}/out")
    if kind == "table":
        assert rows_of(found) == [(1, 3), (2, 1)]
    else:
        assert rows_of(found.select("src", "count", "_diff", "step")) == [(1, 1, 1, 1), (1, 2, -1, 3), (1, 3, 1, 3)]


def test_a_table_that_somebody_altered_is_told_and_replaced_when_told(spark, tmp_path):
    need_connector(spark, "delta")
    table = lambda **options: ebb.table(f"{tmp_path}/out", format="delta", key="src", **options)
    fed = Fed(spark, tmp_path, sink=table())
    fed.hand(0, (1, 2, 0))
    altered = spark.createDataFrame([], "src long, other long").write.format("delta").mode("overwrite")
    altered.option("overwriteSchema", "true").save(f"{tmp_path}/out")
    with pytest.raises(NotPublished, match=r'step 2 of "degrees" is committed'):
        fed.hand(1, (1, 3, 1), (5, 5, 1))
    fed.end()
    with pytest.raises(TypeMismatch, match=r'column "count" is bigint; .* has no such column'):
        Fed(spark, tmp_path, sink=table())
    Fed(spark, tmp_path, sink=table(replace=True)).end()
    assert rows_of(spark.read.format("delta").load(f"{tmp_path}/out")) == [(1, 2), (5, 1)]


def test_the_commands_take_the_directory_that_a_stream_was_given(spark, tmp_path):
    fed = Fed(spark, tmp_path, sink=ebb.table(f"{tmp_path}/out"))
    for batch_id in range(3):
        fed.hand(batch_id, (1, batch_id, batch_id))
    fed.end()
    status, said = ask("check", f"file://{tmp_path}/checkpoint")
    assert status == 0 and said.count("whole") == 3 and "published: step 3, batch 2" in said
    status, said = ask("rewind", tmp_path / "checkpoint", 2)
    assert status == 0 and "is at step 4, which says what step 2 said" in said and "back as far: to batch 1" in said
    with pytest.raises(ebb.EbbflowError, match=r"stands at step 3 \(batch 2\) of this stream, which is at step 4"):
        Fed(spark, tmp_path, sink=ebb.table(f"{tmp_path}/out"))
    fed = Fed(spark, tmp_path, sink=ebb.table(f"{tmp_path}/out", replace=True))
    assert rows_of(spark.read.parquet(f"{tmp_path}/out")) == [(1, 2)]
    fed.hand(2, (7, 2, 2))
    fed.end()
    assert rows_of(spark.read.parquet(f"{tmp_path}/out")) == [(1, 2), (7, 1)]
    assert ask("skip", tmp_path, 1)[1].startswith("NotACheckpoint")
