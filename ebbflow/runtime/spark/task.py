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
from collections.abc import Sequence
from typing import Any

import numpy as np

from ebbflow.durable.records import LETTERS, OUTPUTS, STAGED
from ebbflow.engine import apart
from ebbflow.engine.apart import Outboxes
from ebbflow.engine.compact_after_load import LARGE_STEP, compact_after_load
from ebbflow.engine.host import Host
from ebbflow.engine.slices import Rows
from ebbflow.errors import EbbflowError
from ebbflow.runtime.local import split
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.hosting import (
    PROCESS,
    Hosting,
    Process,
    antichain,
    is_wide,
    refusal_json,
    summed,
    within,
)
from ebbflow.runtime.spark.texts import part_of

ROW_ARRAYS = 3  # rows are lanes, times and diffs
SMALL_ANSWER = 1 << 15  # words that ride in an answer rather than in a file


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
                compact_after_load(hosting.shards[key].worker, LARGE_STEP)
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
