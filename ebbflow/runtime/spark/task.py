"""Task: what runs in one of Spark's Python processes, or in a test's process.

A task is given everything: which shards to host, the names of the files with their state, their input, and how far to
run. It answers with the output rows, the outboxes for shards elsewhere, and the name of the file with the new state.
What a process keeps between two tasks only saves reading: state is identified by file names, which are hashes of the
content.

Rule: the answer is a function of the order, taken as multisets of rows and outboxes; nothing counts until the driver
uses it.
"""

from __future__ import annotations

import sys
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
from ebbflow.durable.image import Delta, Pages, sections, segment
from ebbflow.durable.store import Store
from ebbflow.engine import apart
from ebbflow.engine.apart import Outboxes
from ebbflow.engine.compact_after_load import LARGE_STEP, compact_after_load
from ebbflow.engine.host import Host
from ebbflow.engine.slices import Rows
from ebbflow.engine.worker import Worker
from ebbflow.errors import EbbflowError, Place
from ebbflow.runtime.local import split
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.texts import Part, Texts, part_of
from ebbflow.times import lattice
from ebbflow.trace.heap import WIDE_DIFF

PROGRAMS_KEPT = 4  # of which a process keeps the state mapped
ROW_ARRAYS = 3  # rows are lanes, times and diffs
SMALL_ANSWER = 1 << 15  # words that ride in an answer rather than in a file
SEGMENTS, LETTERS, OUTPUTS, STAGED, TEXTS = "segments", "letters", "outputs", "staged", "texts"
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


# ---- one task -------------------------------------------------------------------------------------------


def perform(data: bytes, number: int, functions: Sequence[Any] = (), process: Process = PROCESS) -> bytes:
    """Do what task `number` of an order is to do; the answer."""
    facts, arrays = blobs.read(data)
    hosting = process.hosting(facts["program"], functions)
    try:
        return Task(hosting, facts, arrays, facts["tasks"][number]).run()
    except EbbflowError as error:
        return blobs.write({"refused": refusal_json(error)})


class Task:
    def __init__(self, hosting: Hosting, facts: dict[str, Any], arrays: list[np.ndarray], task: dict[str, Any]):
        self.hosting, self.store, self.arrays, self.task = hosting, hosting.store, arrays, task
        self.facts, self.shards = facts, tuple(task["shards"])
        self.answer: dict[str, Any] = {"python": list(sys.version_info[:2])}
        self.sent: list[np.ndarray] = []
        self.used: list[tuple[int, int]] = []
        self.consumed: set[str] = set()  # what one stage made for another that was here
        self.is_large = False  # the step, which ends here

    def run(self) -> bytes:
        hosting = self.hosting
        hosting.tell_texts(self.facts["texts"], [self.arrays[i] for i in self.facts["fresh"]])
        hosting.make_room(self.task["sizes"])
        results: dict[str, list[Rows]] = {}
        mid_walk = False
        for work in self.task["works"]:
            mid_walk = self.do(work, results)
        self.answer["outputs"] = {
            name: self.file_or_arrays(OUTPUTS, rows)
            for name, rows in summed(results).items()
            if name not in self.consumed
        }
        fresh = hosting.texts.fresh()
        self.answer["fresh"] = self.refer(part_of(hosting.texts.pool, fresh)) if len(fresh) else []
        if self.is_large and not mid_walk:
            for key in self.used:
                compact_after_load(hosting.shards[key].worker)
        if self.used:
            self.answer["segment"], self.answer["chains"] = hosting.write(self.used, mid_walk)
            self.answer["sizes"] = {f"{part}/{i}": 8 * hosting.shards[part, i].pages.live for part, i in self.used}
        self.answer["counters"] = self.counters()
        return blobs.write(self.answer, self.sent)

    def host(self, part: int) -> Host:
        self.used += [(part, i) for i in self.shards]
        return self.hosting.host(part, self.shards, self.task["chains"], self.facts["lengths"])

    def do(self, work: dict[str, Any], results: dict[str, list[Rows]]) -> bool:
        """One stage's share; whether its walk stands at a meeting."""
        found: dict[str, list[Rows]] = {}
        if work["how"] == "whole":
            self.go_through(work, results, found)
        else:
            self.go_on(work, found)
        for name, blocks in found.items():
            results.setdefault(name, []).extend(blocks)
        return not self.answer["finished"]

    def go_through(self, work: dict[str, Any], results: dict[str, list[Rows]], found: dict[str, list[Rows]]) -> None:
        """All the workers are here: to the end of the step."""
        part = work["part"]
        stage = self.hosting.stages[part]
        lower, upper = antichain(work["lower"]), antichain(work["upper"])
        held = self.rows(work["rows"], lower, upper)
        for name in stage.imports:
            held.setdefault(name, []).extend(results.get(name, ()))
            self.consumed.add(name)
        rows, left = split(held, upper)
        self.answer.setdefault("left", []).extend(
            [part, name, self.refer(blobs.together(blocks))] for name, blocks in left.items()
        )
        self.answer["finished"] = True
        rows = {name: blobs.canonical(block) for name, block in rows.items()}
        self.is_large |= "agreed" in work or sum(len(block[2]) for block in rows.values()) >= LARGE_STEP
        if "agreed" in work:
            host = self.host(part)
            apart.resume(host, self.outboxes(work), work["agreed"])
            host.collect(host.take_turns(alone=True), found)
        elif rows or (upper != lower and self.hosting.is_general(part)):
            host = self.host(part)
        if rows or ("agreed" not in work and upper != lower and self.hosting.is_general(part)):
            for name, blocks in host.advance(rows, lower, upper).items():
                found.setdefault(name, []).extend(blocks)

    def go_on(self, work: dict[str, Any], found: dict[str, list[Rows]]) -> None:
        """Some of the workers are here: to the next meeting."""
        host = self.host(work["part"])
        if work["how"] == "begin":
            times = np.array(work["times"], np.int64)
            self.begin(host, work, times, antichain(work["lower"]), antichain(work["upper"]))
        else:
            apart.resume(host, self.outboxes(work), work["agreed"])
        met = apart.to_barrier(host, found)
        self.is_large = True
        self.answer |= {"finished": met.finished, "at_loop": met.at_loop, "least": met.least, "pending": met.pending}
        self.answer["loop"] = met.loop
        self.answer["letters"] = [
            [sender, to, self.file_or_arrays(LETTERS, (words,))] for (sender, to), words in sorted(met.outboxes.items())
        ]

    def begin(self, host: Host, work: dict[str, Any], times: np.ndarray, lower: Any, upper: Any) -> None:
        """Take in the rows of a slice: those that lie with a shard there, others by turns."""
        window = (lower, upper) if host.plan.general else (((int(times[0]),),), ((int(times[-1]) + 1,),))
        free, placed = {}, {}
        for name, blocks in self.rows(work["rows"], *window).items():
            if blocks:
                free[name] = blobs.canonical(blobs.together(blocks))
        for name, by_shard in self.placed(work["rows"], *window).items():
            placed[name] = by_shard
        apart.begin(host, free, times, lower, upper, work["first"], placed)

    # ---- rows and letters -----------------------------------------------------------------------------

    def rows(self, given: dict[str, list[Any]], lower: Any, upper: Any) -> dict[str, list[Rows]]:
        """The rows of each input between two frontiers, from the order itself and, for a whole step, from files."""
        found: dict[str, list[Rows]] = {}
        for name, refs in given.items():
            for ref in refs:
                if "at" in ref:
                    lanes, times, diffs = (self.arrays[i] for i in ref["at"])
                    found.setdefault(name, []).append((lanes, times, diffs))
                elif self.is_whole:
                    for _, rows in self.staged(ref, None):
                        found.setdefault(name, []).append(rows)
        return {name: [within(rows, lower, upper) for rows in blocks] for name, blocks in found.items()}

    def placed(self, given: dict[str, list[Any]], lower: Any, upper: Any) -> dict[str, list[tuple[int, Rows]]]:
        """The rows that lie in files by shard, of the shards that are here."""
        found: dict[str, list[tuple[int, Rows]]] = {}
        for name, refs in given.items():
            for ref in refs:
                if "file" in ref and set(ref["shards"]) & set(self.shards):
                    for shard, rows in self.staged(ref, set(self.shards)):
                        found.setdefault(name, []).append((shard, within(rows, lower, upper)))
        return {name: sorted(blocks, key=lambda block: block[0]) for name, blocks in found.items()}

    @property
    def is_whole(self) -> bool:
        return len(self.shards) == self.hosting.count and self.task["works"][0]["how"] == "whole"

    def staged(self, ref: dict[str, Any], wanted: set[int] | None) -> list[tuple[int, Rows]]:
        """The rows in a file, but for those that were dropped since it was written."""
        facts, arrays = blobs.read(self.store.get_checked(STAGED, *ref["file"]))
        found = []
        for shard, first in facts["shards"]:
            if wanted is None or shard in wanted:
                rows = arrays[first], arrays[first + 1], arrays[first + 2]
                for frontier in ref.get("dropped", []):
                    rows = within(rows, frontier, ())
                found.append((shard, rows))
        return found

    def outboxes(self, work: dict[str, Any]) -> Outboxes:
        found: Outboxes = {}
        for sender, to, ref in work["letters"]:
            if to in self.shards:
                found[sender, to] = self.arrays_of(LETTERS, ref)[0]
        return found

    def arrays_of(self, directory: str, ref: dict[str, Any]) -> list[np.ndarray]:
        if "at" in ref:
            return [self.arrays[i] for i in ref["at"]]
        return blobs.read(self.store.get_checked(directory, *ref["file"]))[1]

    def refer(self, arrays: Sequence[np.ndarray]) -> list[int]:
        first = len(self.sent)
        self.sent += arrays
        return list(range(first, len(self.sent)))

    def file_or_arrays(self, directory: str, arrays: Sequence[np.ndarray]) -> dict[str, Any]:
        if sum(array.size for array in arrays) <= SMALL_ANSWER:
            return {"at": self.refer(arrays)}
        data = blobs.write(None, arrays)
        wide = len(arrays) == ROW_ARRAYS and is_wide(arrays)
        return {"file": [self.store.put(directory, [data]), len(data)], "rows": len(arrays[-1]), "wide": wide}

    def counters(self) -> dict[str, dict[str, int]]:
        return {f"{part}/{i}": self.hosting.shards[part, i].worker.counters() for part, i in self.used}


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


# ---- refusals travel as data --------------------------------------------------------------------------------


def refusal_json(error: EbbflowError) -> dict[str, Any]:
    at = [error.at.file, error.at.line] if error.at is not None else None
    return {"kind": type(error).__name__, "what": error.what, "at": at, "hint": error.hint}


def refusal_from(told: dict[str, Any]) -> EbbflowError:
    kind: Callable[..., EbbflowError] = getattr(errors, told["kind"], EbbflowError)
    return kind(told["what"], at=Place(*told["at"]) if told["at"] else None, hint=told["hint"])
