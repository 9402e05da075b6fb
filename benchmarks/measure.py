"""A program measured: changes handed over, the work done, the answer read, each with its share of the time.

Handing over, working and reading are all inside the clock; making the data and summing up the checks are outside.
Single changes go in as `delete` and `insert` of a row and come out as rows, many as arrays in and Arrow out.

Rule: what is measured goes through the public interface, and the answer is read with the exact time of every change.
"""

from __future__ import annotations

import resource
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ebbflow as ebb
from benchmarks.generator import Checks, Window
from benchmarks.shapes import Shape

SUMMED_EVERY = (
    100  # answers kept before they are summed up, outside the clock: few, so that Python's collector of garbage
)
# has little to look through. It ran for 30 ms in one of 2,000 steps when it had a thousand answers to look through
EDGE_OF_A_RUN = 1000  # steps at the beginning and the end that are compared with each other
SAMPLES = 20  # of the resident memory, over a run
IN_USE = "words"  # counted as it stands; every other counter only grows
FEW = 64  # changes that are read as rows; more of them as Arrow
CLOCK = time.perf_counter
SPREAD = ("p50", "p99", "p999", "max")  # of the steps of a run

Counters = dict[str, int]


@dataclass
class Clock:
    """Seconds per step and per part of a step."""

    steps: array[float] = field(default_factory=lambda: array("d"))  # a million of them are 8 MB, not 32
    fed: float = 0.0
    worked: float = 0.0
    read: float = 0.0

    def step(self, began: float, fed: float, worked: float, ended: float) -> None:
        self.steps.append(ended - began)
        self.fed += fed - began
        self.worked += worked - fed
        self.read += ended - worked

    def told(self, times: int) -> dict[str, Any]:
        seconds, edge = sum(self.steps), min(EDGE_OF_A_RUN, (len(self.steps) + 1) // 2)
        return {
            "us_per_time": seconds / times * 1e6,
            "parts": {part: getattr(self, part) / times * 1e6 for part in ("fed", "worked", "read")},
            "steps": spread(self.steps),
            "first_steps": spread(self.steps[:edge]),
            "last_steps": spread(self.steps[-edge:]),
        }


def get_ready() -> None:
    """Use everything once: what a process loads when it is first asked has rows of its own, those of the start."""
    flow = ebb.Dataflow()
    flow.output("copy", flow.input("rows", "x long, y long"))
    numbers = np.arange(4 * FEW)
    with flow.run() as live:
        live.apply("rows", {"x": numbers, "y": numbers, "t": numbers // 4}, time="t")
        live.advance_to(4 * FEW)
        assert len(live.changes("copy").to_arrow()) == 4 * FEW


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Microseconds: the median, the hundredth and the thousandth slowest, the slowest."""
    ordered = sorted(seconds)
    at = lambda share: ordered[min(int(len(ordered) * share), len(ordered) - 1)] * 1e6
    return {"p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": ordered[-1] * 1e6}


def resident_mb() -> float:
    """What this process holds in memory now; where the system does not say, the most it has held."""
    try:
        with open("/proc/self/status") as lines:
            return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
    except (OSError, StopIteration):
        return peak_mb()


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# ---- graphs that change edge by edge ---------------------------------------------------------------


def window(
    flow: ebb.Dataflow,
    output: str,
    pair: tuple[str, str],
    *,
    nodes: int,
    edges: int,
    step: int,
    times: int,
    workers: int = 1,
    seed: int = 42,
    skew: int = 0,
    shape: Shape = "random",
    others: dict[str, list[tuple[int, ...]]] | None = None,
    two_coordinates: bool = False,
    one_answer: bool = False,
) -> dict[str, Any]:
    """Load a graph into `edges`, then change one edge at each time, `step` times at once.

    `pair`: the two columns of the output that the checks are made of.  `others`: rows of other inputs, at time 0.
    `one_answer`: all changes of a step happen at its last time, as if nobody wanted to know of those between.
    """
    get_ready()
    data, checks, clock = Window(nodes, edges, times, seed, skew, shape), Checks(), Clock()
    with flow.run(workers=workers) as live:
        counted = Counted(live)
        load_s, resident = load(live, output, pair, data, checks, others, two_coordinates)
        after_load, size = counted.now(), checks.size
        memory = one_by_one(live, output, data, checks, clock, 1, times) if step == 1 and not two_coordinates else None
        if memory is None:
            memory = many_at_once(live, output, pair, data, step, checks, clock, 1, times, two_coordinates, one_answer)
        counts = {"load": after_load, "times": counted.now()}
    return {
        **clock.told(times),
        "load_s": load_s,
        "resident_load_mb": resident,
        "resident_mb": memory[:: max(1, len(memory) // SAMPLES)],
        "peak_mb": peak_mb(),
        "size_load": size,
        "checks": checks.told(),
        "counts": counts,
    }


def load(
    live: ebb.Session,
    output: str,
    pair: tuple[str, str],
    data: Window,
    checks: Checks,
    others: dict[str, list[tuple[int, ...]]] | None = None,
    two_coordinates: bool = False,
) -> tuple[float, float]:
    """The graph as it stands at time 0: the seconds until its answer was read, and the memory held then."""
    began = CLOCK()
    live.apply("edges", data.first(), time=(0, 0) if two_coordinates else 0)
    for name, rows in (others or {}).items():
        live.insert(name, rows, time=(0, 0) if two_coordinates else 0)
    live.advance_to((1, 0) if two_coordinates else 1)
    answer = live.changes(output).to_arrow()
    seconds, resident = CLOCK() - began, resident_mb()
    add(checks, answer, pair)
    return seconds, resident


def one_by_one(
    live: ebb.Session, output: str, data: Window, checks: Checks, clock: Clock, first: int, count: int
) -> list[float]:
    """So many times from the first on, one a step; the answer of each as rows."""
    memory, now = [], CLOCK
    for start in range(first, first + count, SUMMED_EVERY):
        read: list[list[tuple[int, ...]]] = []
        for t, (gone, come) in enumerate(data.single(start, min(SUMMED_EVERY, first + count - start)), start):
            began = now()
            live.delete("edges", gone, time=t)
            live.insert("edges", come, time=t)
            fed = now()
            live.advance_to(t + 1)
            worked = now()
            rows = live.changes(output).rows()
            clock.step(began, fed, worked, now())
            read.append(rows)
        add(checks, [row for rows in read for row in rows], ())
        memory.append(resident_mb())
    return memory


def many_at_once(
    live: ebb.Session,
    output: str,
    pair: tuple[str, str],
    data: Window,
    step: int,
    checks: Checks,
    clock: Clock,
    first: int,
    count: int,
    two_coordinates: bool = False,
    one_answer: bool = False,
) -> list[float]:
    """So many times from the first on, many of them a step; the answer of each as Arrow."""
    memory = []
    for t in range(first, first + count, step):
        here = min(step, first + count - t)
        changes = data.changes(t, here)
        if one_answer:
            changes["t"][:] = t + here - 1
        time_, upto = ("t", 0) if two_coordinates else "t", (t + here, 0) if two_coordinates else t + here
        began = CLOCK()
        live.apply("edges", changes, time=time_, diff="d")
        fed = CLOCK()
        live.advance_to(upto)
        worked = CLOCK()
        answer = live.changes(output).to_arrow()
        clock.step(began, fed, worked, CLOCK())
        add(checks, answer, pair)
        memory.append(resident_mb())
    return memory


def add(checks: Checks, answer: Any, pair: tuple[str, ...]) -> None:
    """Changes into the sums: rows of two columns, time and diff, or an Arrow table with the two columns named."""
    if isinstance(answer, list):
        checks.add(*np.array(answer, np.int64).reshape(-1, 4).T)
        return
    times = answer.column("_time")
    if times.type.num_fields:  # a struct of coordinates, of which the first one moves
        times = times.combine_chunks().field(0)
    checks.add(*(answer.column(name).to_numpy() for name in pair), times.to_numpy(), answer.column("_diff").to_numpy())


# ---- counting ----------------------------------------------------------------------------------------


class Counted:
    """What the engine did since it was last asked, in numbers that are the same on every machine."""

    def __init__(self, live: ebb.Session):
        self._live, self._before = live, live.counters()

    def now(self) -> Counters:
        before, self._before = self._before, self._live.counters()
        return {name: count - (before.get(name, 0) if name != IN_USE else 0) for name, count in self._before.items()}
