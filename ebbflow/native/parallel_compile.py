"""Parallel compilation: all kernels compiled by one process per core, each kernel after those it calls.

A kernel that calls another needs the other's signature and, if it is inlined, its code. Both are written to the kernel
cache as soon as they exist, so the processes share nothing but that directory and the order in which they are given
kernels. They never run a kernel.

Rule: the result is the bundle that a single process would have written, or no bundle; then the calling process compiles
by itself and reports what is wrong.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Condition
from types import FunctionType
from typing import IO, Any, NamedTuple

from ebbflow.native import bundle, kernel_cache
from ebbflow.native.kernel_cache import (
    PACKAGE,
    bundle_path,
    directory,
    is_private,
    kernels,
    modules_with_kernels,
    read_from_outside,
)
from ebbflow.native.linker import Linker

MOST_PROCESSES = 4  # processes; each takes some 400 MB, and chains of calls leave little for more to do
COMMAND = ["-m", "ebbflow.native.parallel_compile"]

# ---- who asks ---------------------------------------------------------------------------------


class Task(NamedTuple):
    """A kernel to compile.  All are known by their places in one order, callees before their callers."""

    cost: int
    calls: list[int]


def compile_in_parallel(progress: Callable[[int, int], None]) -> bool:
    """Write the bundle of all kernels; whether it is there.

    Of the processes that need it at the same time, one compiles and the others wait for it.
    """
    cores = min(len(os.sched_getaffinity(0)), MOST_PROCESSES) if hasattr(os, "sched_getaffinity") else 1
    if cores < 2 or not is_private(directory()) or not Path(sys.executable).name.startswith("python"):
        return False
    try:
        with _alone():
            if not bundle_path().exists():
                _write_bundle(cores, progress)
    except (OSError, EOFError, pickle.UnpicklingError):
        return False
    return bundle_path().exists()


def _write_bundle(cores: int, progress: Callable[[int, int], None]) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), *sys.path])}
    helpers = []
    try:
        for _ in range(cores):
            helpers.append(_Helper(env))
        tasks, *_ = [helper.tasks() for helper in helpers]
        schedule = _Schedule(tasks, progress)
        schedule.run(helpers)
    finally:
        for helper in helpers:
            helper.end()
    if len(schedule.pieces) == kernels():
        pieces = [schedule.pieces[i] for i in range(kernels())]
        bundle.write(bundle_path(), pieces, Linker().object_of([seen for seen, _, _ in pieces]))


@contextmanager
def _alone() -> Iterator[None]:
    """Wait until no other process compiles for this directory; who dies lets go."""
    with open(directory() / "compiling", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


class _Helper:
    """A process that compiles what it is asked for."""

    def __init__(self, env: dict[str, str]):
        self.process = subprocess.Popen(
            [sys.executable, *COMMAND],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def tasks(self) -> list[Task]:
        assert self.process.stdout is not None
        return [Task(*task) for task in pickle.load(self.process.stdout)]

    def compile(self, i: int) -> bundle.Piece:
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump(i, self.process.stdin)
        self.process.stdin.flush()
        piece: bundle.Piece = pickle.load(self.process.stdout)
        return piece

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


class _Schedule:
    """What can be compiled now, the kernel with the longest chain of callers first."""

    def __init__(self, tasks: list[Task], progress: Callable[[int, int], None]):
        self.pieces: dict[int, bundle.Piece] = {}
        self.progress = progress
        self.changed = Condition()
        self.callers: list[list[int]] = [[] for _ in tasks]
        self.missing = [len(task.calls) for task in tasks]
        for i, task in enumerate(tasks):
            for callee in task.calls:
                self.callers[callee].append(i)
        self.chain = [0] * len(tasks)
        for i in reversed(range(len(tasks))):
            self.chain[i] = tasks[i].cost + max((self.chain[caller] for caller in self.callers[i]), default=0)
        self.ready = [i for i, count in enumerate(self.missing) if not count]
        self.ahead = len(tasks)

    def run(self, helpers: list[_Helper]) -> None:
        with ThreadPoolExecutor(len(helpers)) as threads:
            try:
                for done in [threads.submit(self.work, helper) for helper in helpers]:
                    done.result()
            finally:  # also when somebody presses Ctrl-C
                self._stop()

    def work(self, helper: _Helper) -> None:
        """Ask one helper for one kernel after the other until there are none."""
        try:
            while (i := self._take()) is not None:
                self._give(i, helper.compile(i))
        finally:
            self._stop()

    def _stop(self) -> None:
        """Nothing is asked for any more: all is compiled, or a helper died."""
        with self.changed:
            self.ahead = 0
            self.changed.notify_all()

    def _take(self) -> int | None:
        with self.changed:
            self.changed.wait_for(lambda: self.ready or not self.ahead)
            if not self.ahead:
                return None
            i = max(self.ready, key=self.chain.__getitem__)
            self.ready.remove(i)
            self.ahead -= 1
            return i

    def _give(self, i: int, piece: bundle.Piece) -> None:
        with self.changed:
            self.pieces[i] = piece
            for caller in self.callers[i]:
                self.missing[caller] -= 1
                if not self.missing[caller]:
                    self.ready.append(caller)
            self.progress(len(self.pieces), len(self.missing))
            self.changed.notify_all()


# ---- who compiles ---------------------------------------------------------------------------------


def help_compiling(asked: IO[bytes], answers: IO[bytes]) -> None:
    """Say what there is to compile; then compile what is asked for, until nobody asks any more."""
    named = kernel_cache.only_named = []
    for module in modules_with_kernels():
        importlib.import_module(module)
    places = {one.made: i for i, one in enumerate(named)}
    calls = [sorted(_calls(one.f, places)) for one in named]
    _answer(answers, [(len(one.f.__code__.co_code), calls[i]) for i, one in enumerate(named)])

    from ebbflow.native import compiler

    gc.freeze()  # what is loaded now stays, and what a kernel leaves behind is little
    gc.set_threshold(100_000)
    pieces: dict[int, bundle.Piece] = {}

    def compiled(i: int) -> bundle.Piece:
        if i not in pieces:
            for callee in calls[i]:
                compiled(callee)
            pieces[i] = compiler.compiled_as(*named[i])
        return pieces[i]

    while True:
        try:
            i = pickle.load(asked)
        except EOFError:
            return
        _answer(answers, compiled(i))


def _calls(f: Any, known: dict[Any, int]) -> set[int]:
    """The kernels that a function names."""
    values = [value for _, value in read_from_outside(f.__code__, f.__globals__) if isinstance(value, FunctionType)]
    return {known[value] for value in values if value in known}


def _answer(answers: IO[bytes], what: object) -> None:
    pickle.dump(what, answers)
    answers.flush()


if __name__ == "__main__":
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # nothing but answers goes there
        help_compiling(sys.stdin.buffer, answers)
