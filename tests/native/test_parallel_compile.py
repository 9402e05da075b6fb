"""Claims about compiling by several processes at once."""

import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Lock

import pytest

from ebbflow.native import parallel_compile
from ebbflow.native.kernel import INTERPRETED
from ebbflow.native.kernel_cache import directory
from ebbflow.native.parallel_compile import Task, _Schedule

ROOT = Path(__file__).resolve().parents[2]

#        0   1
#       / \ / \
#      2   3   4
#       \ /    |
#        5     6
DIAMONDS = [
    Task(10, []),
    Task(1, []),
    Task(5, [0]),
    Task(50, [0, 1]),
    Task(1, [1]),
    Task(1, [2, 3]),
    Task(1, [4]),
]


class Helpers:
    """Stand for processes: a kernel's piece is its place, and what it calls must be there."""

    def __init__(self, tasks, dies_at=None):
        self.tasks, self.dies_at = tasks, dies_at
        self.order, self.lock = [], Lock()

    def compile(self, i):
        with self.lock:
            if i == self.dies_at:
                raise EOFError
            assert all(callee in self.order for callee in self.tasks[i].calls)
            self.order.append(i)
        return i


def test_every_kernel_is_compiled_once_after_those_it_calls_and_the_longest_chain_first():
    helpers, seen = Helpers(DIAMONDS), []
    schedule = _Schedule(DIAMONDS, lambda done, total: seen.append((done, total)))
    schedule.work(helpers)
    assert helpers.order == [0, 1, 3, 2, 4, 5, 6]
    assert schedule.pieces == {i: i for i in range(7)}
    assert seen == [(done, 7) for done in range(1, 8)]


def test_helpers_work_side_by_side_and_all_end():
    tasks = [Task(1, []), Task(1, []), Task(1, [0, 1])]
    both = Barrier(2, timeout=30)
    asked = []

    class Waits:
        def compile(self, i):
            asked.append(i)
            if i < 2:
                both.wait()  # passed only if two kernels compile at the same time
            return i

    schedule = _Schedule(tasks, lambda done, total: None)
    schedule.run([Waits(), Waits()])
    assert sorted(asked) == [0, 1, 2] and sorted(schedule.pieces) == [0, 1, 2]


def test_a_helper_that_dies_ends_the_others():
    helpers = Helpers(DIAMONDS, dies_at=3)
    schedule = _Schedule(DIAMONDS, lambda done, total: None)
    with pytest.raises(EOFError):
        schedule.run([helpers, helpers])
    assert 3 not in schedule.pieces and 5 not in schedule.pieces


PROGRAM = """
import os, sys
if "alone" in sys.argv:
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
if "dies" in sys.argv:
    from ebbflow.native import parallel_compile
    parallel_compile.COMMAND = ["-c", "import sys; sys.exit(1)"]
from ebbflow.native import (kernel, kernel_cache)
told = []
kernel.compile_all(lambda done, total: told.append((done, total)))
assert told[-1] == (kernel_cache.kernels(), kernel_cache.kernels())
from ebbflow.trace.diff_limits import sum_fits
assert sum_fits(2**62, 2**61) and not sum_fits(2**63 - 1, 1)
print("numba" in sys.modules, kernel_cache.bundle_path())
"""


@pytest.mark.skipif(INTERPRETED, reason="interpreted, nothing is compiled")
def test_what_comes_out_is_the_bundle_of_one_process(tmp_path):
    """From kernels that are kept one by one, so that none is compiled again; a helper that cannot start costs time."""
    kept = tmp_path / "kernels" / directory().name
    shutil.copytree(directory(), kept, ignore=shutil.ignore_patterns("*.bundle"))
    kept.parent.chmod(0o700)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "EBBFLOW_CACHE_DIR": str(tmp_path)}

    def made(*options):
        done = subprocess.run([sys.executable, "-c", PROGRAM, *options], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        uses_the_compiler, path = done.stdout.split()
        bundle = sha256(Path(path).read_bytes()).hexdigest()
        Path(path).unlink()
        return uses_the_compiler, bundle, sorted(path.name for path in kept.glob("*.kernel"))

    first = made()
    assert first[0] == str(len(os.sched_getaffinity(0)) == 1)
    assert made("alone") == ("True", *first[1:])
    assert made("dies") == ("True", *first[1:])


def test_of_two_processes_one_compiles_and_the_other_waits(tmp_path, monkeypatch):
    monkeypatch.setenv("EBBFLOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    written = []

    def write(cores, progress):
        written.append(cores)
        parallel_compile.bundle_path().write_bytes(b"whole")

    monkeypatch.setattr(parallel_compile, "_write_bundle", write)
    assert parallel_compile.compile_in_parallel(print) and parallel_compile.compile_in_parallel(print)
    assert written == [2]
    parallel_compile.bundle_path().unlink()
    waits = "import sys, time; sys.stdin.read(); "
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from ebbflow.native import parallel_compile as t\nwith t._alone():\n print('holds', flush=True)\n {waits}"
            "t.bundle_path().write_bytes(b'whole')",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"holds\n"
    from threading import Thread

    answers = []
    waiting = Thread(target=lambda: answers.append(parallel_compile.compile_in_parallel(print)))
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    holder.communicate(b"", timeout=60)
    waiting.join(60)
    assert answers == [True] and written == [2]
