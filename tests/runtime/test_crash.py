"""Processes that are killed, and processes that compete: `python -m tests.crash` does the same any number of times."""

import os
import subprocess
import sys

import pytest

from tests.crash import compete

ALONE = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.parametrize("seed", [7, 8])
def test_whenever_a_process_is_killed_what_it_answered_is_there(seed):
    """In a process of its own, which forks before anything has begun a thread."""
    command = [sys.executable, "-m", "tests.crash", "--kills=25", f"--seed={seed}", "--steps=30"]
    said = subprocess.run(command, capture_output=True, text=True, env=ALONE, check=False)
    assert said.returncode == 0 and "25 kills, 0 failures" in said.stdout, said.stdout + said.stderr


@pytest.mark.parametrize("writers", [2, 4])
def test_of_several_writers_each_step_is_won_by_one_and_the_others_are_told(writers):
    for _ in range(20):  # until they met: on a busy machine they may run one after the other
        counts = compete(writers, 10)
        assert counts["won"] == 10 * writers
        if counts["lost"]:
            return
    raise AssertionError("no two writers ever met")
