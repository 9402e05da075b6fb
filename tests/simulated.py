"""A simulated Spark: `python -m tests.simulated --seeds 200 --seed 1`.

The runtime's tasks run in this process, one after the other, under a seeded scheduler that does to them what clusters
do: runs a task twice and uses either answer, runs a part of a superstep again, forgets what a process had cached, lets
a task of an earlier step run once more after its step was committed, and permutes whatever has no order.  The driver
dies between any two calls to the disk or the cluster, and is started again.

Rule: every task that is run again gives the same files and the same answer; whatever happened, each step's changes are
those of the oracle, once.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from random import Random

import numpy as np

from ebbflow.durable.store import Files, Store
from ebbflow.errors import EbbflowError
from ebbflow.runtime.oracle.histories import complete, lower_envelope
from ebbflow.runtime.oracle.values import Values
from ebbflow.runtime.spark import blobs, hosting, task
from ebbflow.runtime.spark.cluster import Here
from ebbflow.runtime.spark.runtime import SparkRuntime
from tests.meaning.cases import make_case
from tests.meaning.runtimes import arrays, encoded, frontier_sources, taken

RESERVE = 1 << 28
LATE = 6  # orders that may be run once more


class DriverDied(BaseException):
    """The driver is gone, in the middle of something."""


class Twice(Here):
    """Every task runs twice, the second time with all that has no order in another one."""

    def __init__(self, width: int = 2, seed: int = 0):
        super().__init__(width, hosting.Process())
        self.random, self.counts = Random(seed), Counter()

    def superstep(self, order, tasks, functions):
        self.jobs += 1
        return [self.perform(order, number, functions) for number in range(tasks)]

    def perform(self, order, number, functions):
        first = task.perform(order, number, functions, self.process)
        again = task.perform(permuted(order, self.random), number, functions, self.process)
        same(first, again)
        self.counts["tasks run twice"] += 1
        return first


class Simulated(Twice):
    """The same, with everything that can happen to a task."""

    def __init__(self, random: Random, counts: Counter, width: int = 2):
        super().__init__(width)
        self.random, self.counts, self.late = random, counts, []

    def happens(self, what: str, chance: float) -> bool:
        if self.random.random() < chance:
            self.counts[what] += 1
            return True
        return False

    def superstep(self, order, tasks, functions):
        self.jobs += 1
        self.die("before a superstep")
        numbers = list(range(tasks))
        self.random.shuffle(numbers)
        answers = {number: self.attempt(order, number, functions) for number in numbers}
        if tasks > 1 and self.happens("a part of a superstep again", 0.1):
            number = self.random.choice(numbers)
            again = self.attempt(order, number, functions)
            same(answers[number], again)
            answers[number] = again
        self.late = [*self.late, (order, tasks, functions)][-LATE:]
        self.die("after a superstep")
        return [answers[number] for number in range(tasks)]

    def attempt(self, order, number, functions):
        if self.happens("a cache lost", 0.08):
            self.process.forget()
        if self.happens("a zombie before", 0.05):
            self.zombie()
        answer = task.perform(order, number, functions, self.process)
        if self.happens("a task twice", 0.15):
            again = task.perform(permuted(order, self.random), number, functions, self.process)
            same(answer, again)
            return self.random.choice([answer, again])
        return answer

    def zombie(self) -> None:
        """A task of an earlier superstep runs once more: it writes late, and leaves its state in the process."""
        if self.late:
            order, tasks, functions = self.random.choice(self.late)
            self.counts["zombies that wrote"] += 1
            task.perform(order, self.random.randrange(tasks), functions, self.process)

    def die(self, where: str) -> None:
        if self.random.random() < 0.01:
            self.counts[f"driver dead {where}"] += 1
            raise DriverDied


class Mortal(Files):
    """The driver's disk: before or after any call the driver may die."""

    def __init__(self, random: Random, counts: Counter, chance: float):
        self.random, self.counts, self.chance, self.armed = random, counts, chance, False

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name not in ("make_directory", "create", "write", "sync", "link", "remove", "sync_directory"):
            return found

        def call(*arguments):
            if self.armed and self.random.random() < self.chance:
                self.counts[f"driver dead before {name}"] += 1
                raise DriverDied
            done = found(*arguments)
            if self.armed and self.random.random() < self.chance:
                self.counts[f"driver dead after {name}"] += 1
                raise DriverDied
            return done

        return call


def permuted(order: bytes, random: Random) -> bytes:
    """The same order, with its rows and letters in other orders."""
    facts, given = blobs.read(order)
    made = list(given)
    for one in facts["tasks"]:
        for work in one["works"]:
            for refs in work.get("rows", {}).values():
                for ref in refs:
                    if "at" in ref:
                        lanes, times, diffs = ref["at"]
                        turn = list(range(len(given[diffs])))
                        random.shuffle(turn)
                        at = np.array(turn, np.int64)
                        made[lanes], made[times], made[diffs] = given[lanes][:, at], given[times][at], given[diffs][at]
            if "letters" in work:
                random.shuffle(work["letters"])
    return blobs.write(facts, made)


def same(first: bytes, again: bytes) -> None:
    """Two answers of one task are one: the same files, and the same rows in whatever order."""
    (one, given), (other, again_given) = blobs.read(first), blobs.read(again)
    assert one.keys() == other.keys(), (one, other)
    for name in ("refused", "segment", "chains", "finished", "at_loop", "least", "pending"):
        assert one.get(name) == other.get(name), f"{name} of a task run twice differs: {one[name]} and {other[name]}"

    def letters(facts, found):
        for sender, to, ref in facts.get("letters", ()):
            yield sender, to, ref.get("file") or [found[i].tolist() for i in ref["at"]]

    def outputs(facts, found):
        for name, ref in sorted(facts.get("outputs", {}).items()):
            if "at" in ref:
                lanes, times, diffs = (found[i] for i in ref["at"])
                yield name, sorted(zip(lanes.T.tolist(), times.tolist(), diffs.tolist(), strict=True))
            else:
                yield name, ref

    assert list(letters(one, given)) == list(letters(other, again_given))
    assert list(outputs(one, given)) == list(outputs(other, again_given))
    fresh = [
        [found[i].tolist() for i in facts.get("fresh", ())] for facts, found in ((one, given), (other, again_given))
    ]
    assert fresh[0] == fresh[1]


WAYS = [  # shards, and when a step is wide
    {"shards": 3},
    {"shards": 4, "wide_rows": 1, "narrow_words": 60, "width": 2},
    {"shards": 5, "wide_rows": 1, "narrow_words": -1, "width": 3},
    {"shards": 2, "wide_rows": 4, "narrow_words": 20, "width": 2, "slice_times": 2},
    {"shards": 5, "wide_rows": 6, "narrow_words": 90, "width": 5, "task_bytes": 1 << 19},  # more than one task may hold
]


def run(seed: int) -> Counter:
    """One history on a simulated cluster; raises where something was lost, doubled or different."""
    random, counts = Random(f"simulated {seed}"), Counter()
    case, pool, right = make_case(900, seed)
    graph, width = case.graph, len(case.graph.coordinates)
    way = WAYS[seed % len(WAYS)]
    values = Values(pool)
    given = [encoded(graph, step.changes, values) for step in case.steps]
    outputs = [node.name for node in graph.nodes if type(node).__name__ == "Output"]
    root = tempfile.mkdtemp(prefix="simulated-", dir=scratch())
    cluster = Simulated(random, counts)
    files = Mortal(random, counts, 0.004)
    shown: dict[int, dict] = {}
    done = 0
    try:
        while done < len(case.steps):
            try:
                files.armed = False
                runtime = SparkRuntime(
                    graph, cluster, root, pool=pool, reserve=RESERVE, durable=True, store=Store(root, files), **way
                )
                done = runtime.words.get("steps", 0)
                assert done >= len(shown) - 1 and done <= len(shown) + 1, "steps came or went by themselves"
                if done:
                    shown[done - 1] = {name: taken(runtime, name) for name in outputs}
                files.armed = True
                while done < len(case.steps):
                    for name, rows in given[done].items():
                        if rows:
                            runtime.feed(name, *arrays(rows, len(rows[0][0]), width))
                    runtime.advance(dict(case.steps[done].frontiers))
                    runtime.commit({"steps": done + 1})
                    files.armed = False
                    shown[done] = {name: taken(runtime, name) for name in outputs}
                    files.armed = True
                    done += 1
                    if random.random() < 0.1:
                        cluster.zombie()
                counts["steps"] += len(case.steps)
            except DriverDied:
                counts["driver restarted"] += 1
        end, reads = dict(case.steps[-1].frontiers), frontier_sources(graph)
        for name in outputs:
            frontier = lower_envelope(end[i] for i in reads[name])
            due = {key: diff for key, diff in right[name].items() if complete(key[1], frontier)}
            whole: Counter = Counter()
            for step in shown.values():
                for key, diff in step[name].items():
                    assert key not in whole, f"{name} says {key} twice"
                    whole[key] += diff
            assert dict(whole) == due, f"seed {seed}: {name} differs from the oracle"
    finally:
        cluster.process.forget()
        shutil.rmtree(root, ignore_errors=True)
    counts["supersteps"] += cluster.jobs
    return counts


def scratch() -> str | None:
    import os

    return "/dev/shm" if os.path.isdir("/dev/shm") and os.access("/dev/shm", os.W_OK) else None


def faults(counts: Counter) -> int:
    return sum(n for what, n in counts.items() if what not in ("steps", "supersteps", "driver restarted"))


def report(counts: Counter, seeds: int, first: int, seconds: float) -> str:
    sites = [what for what in counts if what not in ("steps", "supersteps", "driver restarted")]
    lines = [
        f"seeds {first} to {first + seeds - 1}: 0 failures, {faults(counts)} faults fired at {len(sites)} sites, "
        f"{counts['steps']} steps, {counts['supersteps']} supersteps, {counts['driver restarted']} drivers started "
        f"again, {seconds:.1f} s"
    ]
    lines.append("  " + ", ".join(f"{what} {n}" for what, n in sorted(counts.items())))
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulated", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first")
    parser.add_argument("--minutes", type=float, default=None)
    asked = parser.parse_args(arguments)
    began, counts, number = time.monotonic(), Counter(), 0
    for number in range(asked.seeds):
        try:
            counts.update(run(asked.seed + number))
        except (AssertionError, EbbflowError, Exception) as error:
            print(f"seed {asked.seed + number}: {type(error).__name__}: {error}")
            print(f"again with: python -m tests.simulated --seeds 1 --seed {asked.seed + number}")
            raise
        if asked.minutes and time.monotonic() - began > 60 * asked.minutes:
            break
    print(report(counts, number + 1, asked.seed, time.monotonic() - began))
    return 0 if faults(counts) else 1


if __name__ == "__main__":
    sys.exit(main())
