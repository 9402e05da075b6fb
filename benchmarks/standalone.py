"""A Spark cluster of one Master and two Workers on the loopback, from the PySpark that is installed.

Rule: what was started here is ended here, by its number.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE = 120.0
DEPLOY = "org.apache.spark.deploy"
HERE = "127.0.0.1"


@contextmanager
def cluster(place: Path, memory: str = "3g") -> Iterator[dict[str, Any]]:
    """The settings of a session that uses it."""
    secret, port = uuid.uuid4().hex, free_port()
    master = f"spark://{HERE}:{port}"
    running = [start(place / "master", secret, f"{DEPLOY}.master.Master", "--host", HERE, "--port", str(port))]
    try:
        wait_for(port, running[0])
        for i in (1, 2):
            words = ("--host", HERE, "--cores", "1", "--memory", memory, "--work-dir", str(place / f"worker{i}"))
            running.append(start(place / f"worker{i}.log", secret, f"{DEPLOY}.worker.Worker", *words, master))
        yield {
            "master": master,
            "spark.authenticate": "true",
            "spark.authenticate.secret": secret,
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        }
    finally:
        for process in reversed(running):
            for child in below(process.pid):
                end(child)
            process.terminate()
        for process in running:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def start(log: Path, secret: str, *arguments: str) -> subprocess.Popen[bytes]:
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HERE,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dspark.authenticate=true -Dspark.authenticate.secret='{secret}'",
        "PYSPARK_PYTHON": sys.executable,
    }
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log.with_suffix(".log"), "wb") as out:
        command = [str(home / "bin" / "spark-class"), *arguments[:1], "--webui-port", "0", *arguments[1:]]
        return subprocess.Popen(command, env=settings, stdout=out, stderr=subprocess.STDOUT)


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HERE, 0))
        return int(one.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while time.monotonic() - began < PATIENCE and process.poll() is None:
        try:
            socket.create_connection((HERE, port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise OSError("Spark's Master did not start")


def below(pid: int) -> list[int]:
    """The processes that a process started, and theirs."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        found = [int(c) for t in tasks for c in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []
    return [one for child in found for one in (child, *below(child))]


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
