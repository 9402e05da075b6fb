"""Opening a program on Spark: sessions of the wrong kind, other programs and other numbers of shards are refused."""

from pathlib import Path

import pytest

import ebbflow as ebb
from ebbflow.errors import CheckpointDiffers, MissingJava, NotACheckpoint, PlanError, TypeMismatch, UnknownOption
from ebbflow.runtime.spark import session
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.hosting import Process
from ebbflow.runtime.spark.opening import temporary
from ebbflow.runtime.spark.runtime import SparkRuntime


def program(extra=False):
    flow = ebb.Dataflow()
    x = flow.input("x", "x long")
    flow.output("once", x.distinct())
    if extra:
        flow.output("counted", x.group_by("x").count())
    return flow


def opened(root, flow=None, shards=2, **options):
    graph = (flow or program()).graph
    return SparkRuntime(graph, Here(process=Process()), str(root), shards, reserve=1 << 28, durable=True, **options)


def test_what_is_not_a_session_of_sparks_is_refused():
    with pytest.raises(TypeMismatch, match="a Spark session first, not dict"):
        program().run({})


def test_without_java_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(MissingJava, match="need Java 17 or newer") as refused:
        session.require()
    assert "apt-get install" in refused.value.hint


def test_a_number_of_shards_that_cannot_be_is_refused(tmp_path):
    for shards in (0, 65):
        with pytest.raises(PlanError, match=f"not {shards}"):
            opened(tmp_path / "a", shards=shards)


def test_a_checkpoint_opens_again_with_what_made_it_and_with_nothing_else(tmp_path):
    opened(tmp_path / "a").commit({"said": 1})
    assert opened(tmp_path / "a").words == {"said": 1}
    with pytest.raises(CheckpointDiffers, match="2 shards, and this is 3"):
        opened(tmp_path / "a", shards=3)
    with pytest.raises(CheckpointDiffers, match="another program"):
        opened(tmp_path / "a", program(extra=True))
    with pytest.raises(CheckpointDiffers, match="ran on Spark"):
        program().run(checkpoint=tmp_path / "a")


def test_a_checkpoint_of_the_local_runtime_is_not_opened_on_spark(tmp_path):
    with program().run(checkpoint=tmp_path / "a") as live:
        live.insert("x", [(1,)])
        live.commit()
    with pytest.raises(CheckpointDiffers, match="ran in one process"):
        opened(tmp_path / "a")


def test_on_a_cluster_a_place_that_all_machines_share_is_needed():
    class Conf:
        def get(self, name, default):
            return "spark://somewhere:7077"

    class Session:
        conf = Conf()

    with pytest.raises(NotACheckpoint, match="all its machines share"):
        temporary(Session())


def test_what_run_does_not_know_on_spark_is_refused(spark):
    with pytest.raises(UnknownOption, match='no option "shard"'):
        program().run(spark, shard=3)
    with pytest.raises(UnknownOption, match="shards rather than workers"):
        program().run(spark, workers=3)
    with pytest.raises(TypeMismatch, match="shards is a number"):
        program().run(spark, shards="many")


def test_another_python_in_the_workers_is_told_in_a_sentence():
    told = session.workers_differ(RuntimeError("... [PYTHON_VERSION_MISMATCH] Python in worker has different version"))
    assert told is not None and "another version of Python" in told.what
    told = session.workers_differ(RuntimeError("x\nModuleNotFoundError: No module named 'pyarrow'\n"))
    assert told is not None and "no pyarrow" in told.what and "PYSPARK_PYTHON" in told.hint
    assert session.workers_differ(RuntimeError("disk full")) is None


def test_logs_are_quiet_from_the_first_line_on_unless_someone_has_their_own(monkeypatch):
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    asked = session.defaults()["spark.driver.extraJavaOptions"].split()
    (option,) = (each for each in asked if each.startswith("-Dlog4j2.configurationFile=file:"))
    told = Path(option.partition("file://")[2]).read_text()
    assert "rootLogger.level = error" in told and "PythonGatewayServer" in told
    monkeypatch.setenv("SPARK_CONF_DIR", "conf")
    assert "log4j2" not in session.defaults()["spark.driver.extraJavaOptions"]
