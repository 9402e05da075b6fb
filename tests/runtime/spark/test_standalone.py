"""A real cluster on the loopback: an executor is killed in the middle of a step, then the driver; nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.standalone import below, cluster, end, executors
from ebbflow.errors import EbbflowError
from ebbflow.runtime.spark.session import require
from tests import parts
from tests.runtime.spark.drive import SECRET, drive, program

PATIENCE = 420  # seconds, on a machine that does other things too


class Driver:
    """A driver in a process of its own, and what it says."""

    def __init__(self, master: str, checkpoint: Path, shards: int, log: Path):
        arguments = [sys.executable, "-m", "tests.runtime.spark.drive", master, str(checkpoint), str(shards)]
        root = Path(__file__).parents[3]
        with open(log, "ab") as errors:
            self.process = subprocess.Popen(
                arguments,
                cwd=root,
                env={**os.environ, "PYTHONPATH": str(root)},
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.log = log

    def hears(self, wanted: str) -> str:
        """The next line that begins so."""
        until = time.monotonic() + PATIENCE
        for line in self.process.stdout:
            if line.startswith(wanted):
                return line
            if time.monotonic() > until:
                break
        raise AssertionError(f"the driver ended without saying {wanted!r}: {self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        started = below(self.process.pid)
        self.process.kill()
        self.process.wait()
        for pid in started:  # its Java, which would go by itself a little later
            end(pid)


def wait_for(found, what: str):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError(f"{what} did not come")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_an_executor_and_a_driver_killed_in_mid_step_leave_every_change_once(tmp_path):
    try:
        require()
    except EbbflowError as error:
        parts.left_out(error.what)
    with program().run(history="all") as local:
        right = drive(local)
    state, log = tmp_path / "state", tmp_path / "driver.log"
    segments = lambda: len(os.listdir(state / "segments"))
    with cluster(tmp_path, memory="1g", secret=SECRET) as running:
        driver = Driver(running.master, state, 64, log)
        try:
            driver.hears("begins 0")
            wait_for(lambda: segments() > 8, "some supersteps")  # in the middle of a step of many
            victims = executors(running.workers)
            assert victims, "there are executors to kill"
            end(victims[0])
            driver.hears("done 0")
            driver.hears("begins 2")
            before = segments()
            wait_for(lambda: segments() > before, "a superstep")
            driver.kill()
            driver = Driver(running.master, state, 64, log)
            driver.hears("opened")
            assert driver.hears("begins").strip() == "begins 2", "the step that was not committed is done again"
            said = json.loads(driver.hears("{"))
        finally:
            driver.kill()
    assert said["jobs"] > 5, "the steps were wide"
    for name, rows in right.items():
        assert said["changes"][name] == rows, name
