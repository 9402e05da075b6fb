"""The real parts beside which Spark's side is tested: Java, the connectors' jars, a Kafka broker.

Where one cannot be had a test is left out with a sentence that says so; in CI it fails instead, so that nothing is left
out unseen.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from benchmarks.standalone import free_port, wait_for
from ebbflow.errors import EbbflowError
from ebbflow.runtime.spark.session import require
from ebbflow.runtime.spark.session import spark as make_session
from ebbflow.tools import jars


def left_out(why: str) -> NoReturn:
    if os.environ.get("CI"):
        pytest.fail(f"CI leaves nothing out: {why}")
    pytest.skip(why)


def session() -> Any:
    """The session that all tests of this process share."""
    try:
        require()
    except EbbflowError as error:
        left_out(error.what)
    settings = {"spark.sql.shuffle.partitions": 2, "spark.ui.showConsoleProgress": "false", "spark.driver.memory": "2g"}
    with contextlib.suppress(EbbflowError):
        connectors = [*jars.jars("delta"), *jars.jars("kafka")]
        settings |= {"spark.jars": ",".join(map(str, connectors)), **jars.SESSION}
    return make_session("local[2]", **settings)


def need_connector(spark: Any, name: str) -> None:
    """Leave a test out where a connector's jars are not in the session."""
    try:
        wanted = jars.jars(name)
    except EbbflowError as error:
        left_out(error.what)
    if str(wanted[0]) not in spark.conf.get("spark.jars", ""):
        left_out(f"the session of this process was made without the jars of {name}; use the fixture `spark`")


# ---- a broker ---------------------------------------------------------------------------------------------

SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={logs}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
num.partitions=1
"""


@contextlib.contextmanager
def broker(place: Path) -> Iterator[str]:
    """A Kafka broker of one node on the loopback; its address.  It is ended when the block is."""
    try:
        path = ":".join(map(str, jars.jars("broker")))
    except EbbflowError as error:
        left_out(error.what)
    port, controller = free_port(), free_port()
    settings = place / "server.properties"
    settings.write_text(SETTINGS.format(port=port, controller=controller, logs=place / "logs"))
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path]
    formatting = [*java, "kafka.tools.StorageTool", "format", "-t", "ebbflowAAAAAAAAAAAAAAA", "-c", str(settings)]
    subprocess.run(formatting, check=True, capture_output=True, timeout=120)
    with open(place / "broker.log", "wb") as log:
        running = subprocess.Popen([*java, "kafka.Kafka", str(settings)], stdout=log, stderr=subprocess.STDOUT)
    try:
        wait_for(port, running, place / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait(30)
