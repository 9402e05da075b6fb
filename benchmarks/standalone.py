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
from typing import Any, NamedTuple

PATIENCE = 120.0
DEPLOY = "org.apache.spark.deploy"
HERE = "127.0.0.1"


class Cluster(NamedTuple):
    master: str  # its address
    secret: str
    workers: tuple[int, ...]  # the numbers of their processes

    @property
    def settings(self) -> dict[str, Any]:
        """Those of a session that uses it."""
        return {
            "master": self.master,
            "spark.authenticate": "true",
            "spark.authenticate.secret": self.secret,
            "spark.executor.memory": "1g",
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        }


@contextmanager
def cluster(place: Path, memory: str = "3g", secret: str | None = None) -> Iterator[Cluster]:
    secret, port = secret or uuid.uuid4().hex, free_port()
    master = f"spark://{HERE}:{port}"
    log = place / "master.log"
    running = [start(log, secret, f"{DEPLOY}.master.Master", "--host", HERE, "--port", str(port))]
    try:
        wait_for(port, running[0], log)
        for i in (1, 2):
            words = ("--host", HERE, "--cores", "1", "--memory", memory, "--work-dir", str(place / f"worker{i}"))
            running.append(start(place / f"worker{i}.log", secret, f"{DEPLOY}.worker.Worker", *words, master))
        yield Cluster(master, secret, tuple(worker.pid for worker in running[1:]))
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
    with open(log, "wb") as out:
        command = [str(home / "bin" / "spark-class"), *arguments[:1], "--webui-port", "0", *arguments[1:]]
        return subprocess.Popen(command, env=settings, stdout=out, stderr=subprocess.STDOUT)


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HERE, 0))
        return int(one.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until a server that was started listens; if it ends before, what its log says."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text()[-2000:]}")
        with socket.socket() as tried:
            tried.settimeout(1)
            if tried.connect_ex((HERE, port)) == 0:
                return
        time.sleep(0.2)
    raise RuntimeError(f"the server did not open its port in {PATIENCE:.0f} seconds: {log.read_text()[-2000:]}")


def executors(workers: tuple[int, ...]) -> list[int]:
    """The processes in which the Workers let tasks run."""
    found = []
    for pid in [child for worker in workers for child in below(worker)]:
        try:
            if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:
            continue
    return found


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
