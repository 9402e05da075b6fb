"""Ours and the peer, one after the other, three times: what each run found, what it cost, whether it was left in peace.

A run is a process of its own; one with a single worker is held on one core, the quietest, and both sides of a pair on
the same.  A run that got much less of its core than it wanted was disturbed; its figures count only if there are no
others.

Rule: two sides are compared only within one go.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import dbsp, recompute, rust
from benchmarks.table import Row, known_checks

CHECKOUT = Path(__file__).resolve().parents[1]
IN_PEACE = 0.9  # of the wall clock, at least, a run on its own core is running
LOOK = 0.05  # seconds between two looks at a running process, at most
BUILT: dict[str, Any] = {"rust": rust, "dbsp": dbsp}  # peers that are programs of their own
DATA = (
    "nodes",
    "edges",
    "times",
    "seed",
    "skew",
    "shape",
    "query",
    "directory",
)  # the options that say what is worked on
GIVEN = {"SEED": ("seed", 42), "SKEW": ("skew", 0), "SHAPE": ("shape", "random")}  # to the Rust peer
MEMORY_SHARE = 0.8  # of what is free, at most, a run may take


@dataclass(frozen=True)
class Run:
    """One process: what it printed, or why it printed nothing."""

    found: dict[str, Any]
    seconds: float
    cpu_share: float
    is_disturbed: bool
    trouble: str = ""


@dataclass
class Outcome:
    """All runs of a row, of both sides."""

    row: Row
    runs: dict[str, list[Run]] = field(default_factory=dict)  # by side: ours, a peer, or a tool that starts over

    @property
    def trouble(self) -> str:
        return "; ".join(f"{side} {run.trouble}" for side, runs in self.runs.items() for run in runs if run.trouble)

    def of(self, side: str) -> list[Run]:
        return self.runs.setdefault(side, [])

    def figures(self, side: str, path: str) -> list[float]:
        """A figure in every run that counts."""
        good = [run for run in self.of(side) if not run.trouble]
        quiet = [run for run in good if not run.is_disturbed] or good
        values = [at(run.found, path) for run in quiet]
        return [value for value in values if value is not None]

    def figure(self, side: str, path: str) -> float | None:
        values = self.figures(side, path)
        return median(values) if values else None

    @property
    def is_disturbed(self) -> bool:
        """One of the sides has no run that was left in peace."""
        return any(runs and all(run.is_disturbed for run in runs) for runs in self.runs.values())

    def checks_equal(self, seed: int) -> bool | None:
        """Whether all runs found the same, and what is known; None where there is nothing to compare."""
        told = [run.found["checks"] for runs in self.runs.values() for run in runs if run.found.get("checks")]
        known = known_checks(self.row, seed)
        compared = [*told, known] if known else told
        if len(compared) < 2 or not any(run.found.get("checks") for run in self.of("ours")):
            return None
        return all(
            one[name] == other[name] for one in compared for other in compared for name in one.keys() & other.keys()
        )


def at(found: dict[str, Any], path: str) -> Any:
    """A figure by its dotted path; None where it is not."""
    value: Any = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def sides_of(row: Row, peers: tuple[str, ...]) -> list[str]:
    """Who runs a row: ours, and those of the peers that can."""
    tools = [tool for tool in peers if tool in recompute.TOOLS and recompute.can(tool, row.module)]
    rusts = [peer for peer in BUILT if peer in peers and command_of(peer, row) is not None]
    return ["ours", *rusts, *tools]


def command_of(peer: str, row: Row) -> tuple[str, ...] | None:
    """The arguments of a peer that is built, for a row; None where it does not run it."""
    return row.rust if peer == "rust" else dbsp.arguments(row)


def interleaved(rows: list[Row], peers: tuple[str, ...], limit: float, say: Callable[[str], None]) -> Iterator[Outcome]:
    """Every row with its runs, sides taking turns; `say` hears of every run that begins."""
    for row in rows:
        outcome = Outcome(row)
        for turn in range(row.repeats):
            core = quietest_core() if row.workers == 1 else None
            for side in sides_of(row, peers):
                say(f"{row.label}: {side}, {turn + 1} of {row.repeats}")
                if not any(run.trouble for run in outcome.of(side)):  # what did not end once will not end now
                    outcome.of(side).append(one_run(row, side, core, limit))
        yield outcome


def one_run(row: Row, side: str, core: int | None, limit: float) -> Run:
    data = {name: str(row.options.get(key, plain)) for name, (key, plain) in GIVEN.items()}
    environment = os.environ | data | {"PYTHONPATH": str(CHECKOUT)}
    if side in BUILT:
        arguments = command_of(side, row)
        assert arguments is not None
        run = process(BUILT[side].PROGRAMS.command(arguments), environment, core, limit, row.workers)
        return run if run.trouble else replace(run, found=BUILT[side].in_our_words(run.found))
    module, options = row.module, row.options
    if side != "ours":
        of_the_data = {name: options[name] for name in DATA if name in options}
        module, options = "recompute", {"tool": side, "workload": row.module, **of_the_data}
    command = [sys.executable, "-m", "benchmarks.child", module, json.dumps(options)]
    return process(command, environment, core, limit, row.workers)


def process(
    command: list[str],
    environment: dict[str, str],
    core: int | None,
    limit: float,
    workers: int = 1,
    checkout: Path | None = None,
) -> Run:
    """Run a command of this checkout, or another, to its end, or to the end of its time or memory."""
    with tempfile.TemporaryFile("w+") as printed, tempfile.TemporaryFile("w+") as said:
        began = time.perf_counter()
        child = subprocess.Popen(
            command,
            cwd=checkout or CHECKOUT,
            env=environment,
            stdout=printed,
            stderr=said,
            preexec_fn=(lambda: os.sched_setaffinity(0, {core})) if core is not None else None,
        )
        status, usage, trouble = wait(child.pid, limit)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        printed.seek(0)
        said.seek(0)
        share = (usage.ru_utime + usage.ru_stime) / seconds
        disturbed = workers == 1 and core is not None and share < IN_PEACE
        if child.returncode and not trouble:
            last = said.read().strip().splitlines()[-1:] or ["no word"]
            trouble = f"ended with status {child.returncode}: {last[0]}"
        lines = printed.read().strip().splitlines()
        found = json.loads(lines[-1]) if lines and not trouble else {}
        return Run(found, seconds, share, disturbed, trouble)


def wait(pid: int, limit: float) -> tuple[int, Any, str]:
    """The end of a process: its status, what it used, and why it was ended if it was."""
    began, most, trouble = time.monotonic(), free_mb() * MEMORY_SHARE, ""
    while True:
        done, status, usage = os.wait4(pid, os.WNOHANG)
        if done:
            return status, usage, trouble
        if not trouble:
            if time.monotonic() - began > limit:
                trouble = f"did not end within {limit:.0f} s"
            elif most and resident_mb(pid) > most:
                trouble = f"took more than {most / 1024:.0f} GB of memory"
            if trouble:
                os.kill(pid, signal.SIGKILL)
        waited = time.monotonic() - began
        time.sleep(min(LOOK, max(0.001, waited / 50)))  # a short run is not called disturbed because nobody looked


# what is short is not called disturbed for it


# ---- the machine -----------------------------------------------------------------------------------------


def quietest_core() -> int | None:
    """The core that did least in the last moment; None where processes cannot be held on one."""
    if not hasattr(os, "sched_setaffinity"):
        return None
    before = idle_ticks()
    time.sleep(0.2)
    after = idle_ticks()
    cores = sorted(os.sched_getaffinity(0))
    return max(cores, key=lambda core: after.get(core, 0) - before.get(core, 0))


def idle_ticks() -> dict[int, int]:
    try:
        lines = Path("/proc/stat").read_text().splitlines()
    except OSError:
        return {}
    words = [line.split() for line in lines if line.startswith("cpu") and line[3].isdigit()]
    return {int(line[0][3:]): int(line[4]) + int(line[5]) for line in words}


def free_mb() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return 0.0


def resident_mb(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS")), 0.0)
    except OSError:
        return 0.0


def machine() -> str:
    """What it ran on, in a few words."""
    name = "unknown processor"
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {os.cpu_count()} cores"


def commit() -> str:
    """The commit that was measured; a plus sign where files were changed since."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    ask = lambda *words: subprocess.run([git, *words], cwd=CHECKOUT, capture_output=True, text=True).stdout.strip()
    changed = ask("status", "--porcelain", "--untracked-files=no", "--", "ebbflow", "benchmarks")
    return (ask("rev-parse", "--short", "HEAD") or "unknown") + ("+" if changed else "")
