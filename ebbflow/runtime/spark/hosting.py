"""The shards that one Python process of Spark's has, from one task to the next.

Rule: a shard is used only for the step that follows the one it was left at; any other is read from its files.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ebbflow import errors
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import stages
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.plan_json import from_json
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.durable.image import Pages
from ebbflow.durable.records import SEGMENTS, TEXTS
from ebbflow.durable.segments import Delta, sections, segment
from ebbflow.durable.store import Store
from ebbflow.engine.host import Host
from ebbflow.engine.slices import Rows
from ebbflow.engine.worker import Worker
from ebbflow.errors import EbbflowError, Place
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.texts import Part, Texts
from ebbflow.times import lattice
from ebbflow.trace.diff_limits import WIDE_DIFF

PROGRAMS_KEPT = 4  # of which a process keeps the state mapped
File = list[Any]  # name, length


class Shard:
    """One worker of one stage in this process, and which of its state is written."""

    def __init__(self, worker: Worker):
        self.worker, self.pages = worker, Pages(worker)
        self.used_at = 0  # the number of the last task that hosted it
        self.is_new = True  # laid out, and never run
        self.is_clean = True  # as its chain says

    def close(self) -> None:
        self.worker.heap.close()


class Hosting:
    """The shards of one program in this process."""

    def __init__(self, program: dict[str, Any], functions: Sequence[Any]):
        self.program, self.count = program, program["shards"]
        graph = from_json(program["plan"], functions)
        if program["rewriting"]:
            graph, _ = rewrite(graph)
        self.stages = stages.cut(graph)
        self.store = Store(program["root"])
        self.shards: dict[tuple[int, int], Shard] = {}
        self.hosts: dict[tuple[int, tuple[int, ...]], Host] = {}
        self.texts = Texts(Pool())
        self.tasks = 0

    def close(self) -> None:
        self.hosts.clear()
        for shard in self.shards.values():
            shard.close()
        self.shards.clear()

    def is_general(self, part: int) -> bool:
        return is_general(self.stages[part].graph)

    # ---- what everybody knows -------------------------------------------------------------------

    def tell_texts(self, parts: list[File], fresh: list[np.ndarray]) -> None:
        """Have the text of these parts, and no other."""
        lengths = dict(map(tuple, parts))

        def read(name: str) -> Part:
            _, part = blobs.read(self.store.get_checked(TEXTS, name, lengths[name]))
            return part[0], part[1], part[2]

        more = (fresh[0], fresh[1], fresh[2]) if fresh else None
        self.texts.tell(list(lengths), read, more)
        if not self.texts.is_exact:  # a task that failed left something
            self.forget_texts()
            self.texts.tell(list(lengths), read, more)

    def forget_texts(self) -> None:
        self.close()
        self.texts = Texts(Pool())

    # ---- hosts ------------------------------------------------------------------------------------

    def make_room(self, wanted: dict[str, int]) -> None:
        """Let go of the shards that were not used for longest, until those that are wanted have room beside the rest.

        wanted: the bytes of the shards that a task is to host, "part/shard".
        """
        self.tasks += 1
        others: list[tuple[int, tuple[int, int], int]] = []
        for (part, i), shard in self.shards.items():
            if f"{part}/{i}" in wanted:
                shard.used_at = self.tasks
            else:
                others.append((shard.used_at, (part, i), 8 * shard.pages.live))
        held = sum(wanted.values()) + sum(size for _, _, size in others)
        for _, key, size in sorted(others):
            if held <= self.program["task_bytes"]:
                break
            self.let_go([key])
            held -= size

    def let_go(self, keys: list[tuple[int, int]]) -> None:
        for part, i in keys:
            for key in [key for key in self.hosts if key[0] == part and i in key[1]]:
                del self.hosts[key]
            if (part, i) in self.shards:
                self.shards.pop((part, i)).close()

    def host(self, part: int, shards: tuple[int, ...], chains: dict[str, list[str]], lengths: dict[str, int]) -> Host:
        """A host of these shards, in the state that their chains say."""
        read: dict[str, dict[str, Delta]] = {}

        def section(name: str, which: str) -> Delta:
            if name not in read:
                read[name] = sections(self.store.get_checked(SEGMENTS, name, lengths[name]), name)
            return read[name][which]

        fresh = [i for i in shards if self.must_be_new(part, i, chains[f"{part}/{i}"])]
        self.let_go([(part, i) for i in fresh])
        host = self.hosts.get((part, shards))
        if host is None:
            host = Host(
                self.stages[part].graph,
                self.count,
                self.texts.pool,
                slice_times=self.program["options"].get("slice_times"),
                threads=False,
                mine=shards,
                make=lambda plan, i: self.shard(part, i, plan).worker,
            )
            self.hosts[part, shards] = host
        for i in shards:
            shard, chain = self.shards[part, i], chains[f"{part}/{i}"]
            if chain and not (shard.is_clean and shard.pages.chain == chain):
                shard.pages.catch_up(chain, lambda name, which=f"{part}/{i}": section(name, which))  # type: ignore[misc]
            shard.is_new = shard.is_clean = False
        return host

    def must_be_new(self, part: int, i: int, chain: list[str]) -> bool:
        """Whether a shard has to be laid out: not there yet, or used before its first state was written."""
        shard = self.shards.get((part, i))
        return shard is None or (not chain and not shard.is_new)

    def shard(self, part: int, i: int, plan: Any) -> Shard:
        if (part, i) not in self.shards:
            program = self.program
            options = {name: value for name, value in program["options"].items() if name != "slice_times"}
            base = program["base"] + part * self.count * program["reserve"]  # of the first worker
            worker = Worker(plan, i, self.count, self.texts.pool, reserve=program["reserve"], base=base, **options)
            self.shards[part, i] = Shard(worker)
            self.shards[part, i].used_at = self.tasks
        return self.shards[part, i]

    def write(self, used: list[tuple[int, int]], mid_walk: bool) -> tuple[File, dict[str, list[str]]]:
        """The new state of some shards, as one file; and by which files each is known now."""
        deltas = {f"{part}/{i}": self.shards[part, i].pages.delta(mid_walk) for part, i in used}
        blocks = segment(deltas)
        name = self.store.put(SEGMENTS, blocks)
        chains = {}
        for part, i in used:
            shard = self.shards[part, i]
            shard.pages.settle(name)
            shard.is_clean = True
            chains[f"{part}/{i}"] = shard.pages.chain
        return [name, sum(memoryview(block).nbytes for block in blocks)], chains


class Process:
    """What a Python process keeps between tasks."""

    def __init__(self) -> None:
        self.programs: OrderedDict[str, Hosting] = OrderedDict()

    def hosting(self, program: dict[str, Any], functions: Sequence[Any]) -> Hosting:
        key = program["key"]
        if key not in self.programs:
            for other in [k for k, one in self.programs.items() if overlap(one.program, program)]:
                self.forget(other)  # the same checkpoint, opened again
            while len(self.programs) >= PROGRAMS_KEPT:
                self.programs.popitem(last=False)[1].close()
            self.programs[key] = Hosting(program, functions)
        self.programs.move_to_end(key)
        return self.programs[key]

    def forget(self, key: str | None = None) -> None:
        for each in [key] if key is not None else list(self.programs):
            if each in self.programs:
                self.programs.pop(each).close()


def overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two programs lay claim to the same addresses."""
    ends = [p["base"] + p["stages"] * p["shards"] * p["reserve"] for p in (one, other)]
    return bool(one["base"] < ends[1] and other["base"] < ends[0])


PROCESS = Process()


def is_general(graph: Graph) -> bool:
    """Whether times of this stage are rows of coordinates rather than ranks along one line, as the plan has it."""
    delays = (isinstance(node, n.Linear) and isinstance(node.action, n.Delay) for node in graph.nodes)
    return len(graph.coordinates) > 1 or any(delays)


def within(rows: Rows, lower: Any, upper: Any) -> Rows:
    """The rows at or after one frontier that are complete under another."""
    lanes, times, diffs = rows
    reached = lattice.reached(times, np.array(lower, np.int64)) & ~lattice.reached(times, np.array(upper, np.int64))
    if reached.all():
        return np.array(lanes), times, diffs  # arrays of a message cannot be written to
    return np.ascontiguousarray(lanes[:, reached]), times[reached], diffs[reached]


def is_wide(block: Any) -> bool:
    """Whether rows of an output, or those in a file, come so often that sums of them are to be looked at."""
    if isinstance(block, dict):
        return bool(block.get("wide"))
    return len(block[2]) > 0 and bool(max(block[2].max(), -block[2].min()) > WIDE_DIFF)


def summed(results: dict[str, list[Rows]]) -> dict[str, Rows]:
    found = {name: blobs.together(blocks) for name, blocks in results.items() if blocks}
    return {name: rows for name, rows in found.items() if len(rows[2])}


def antichain(times: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(time) for time in times)


def refusal_json(error: EbbflowError) -> dict[str, Any]:
    at = [error.at.file, error.at.line] if error.at is not None else None
    return {"kind": type(error).__name__, "what": error.what, "at": at, "hint": error.hint}


def refusal_from(told: dict[str, Any]) -> EbbflowError:
    kind: Callable[..., EbbflowError] = getattr(errors, told["kind"], EbbflowError)
    return kind(told["what"], at=Place(*told["at"]) if told["at"] else None, hint=told["hint"])
