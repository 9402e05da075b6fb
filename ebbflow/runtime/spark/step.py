"""One advance on Spark, as supersteps of tasks.

Where there is little to do, one task hosts all shards and runs the whole step, loops included, in one job. Where there
is much, each task hosts some shards and runs to the next barrier; the driver carries the outboxes and agrees on rounds;
when little is left, one task takes over all shards in the middle of the walk. Where the state is more than one task may
hold, as many tasks as needed share it.

Rule: the number of tasks cannot be seen in the result, and nothing of the runtime changes before a step has run.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.stages import Stage
from ebbflow.durable.records import TEXTS
from ebbflow.durable.segments import links_kept
from ebbflow.durable.store import Store
from ebbflow.engine.slices import SLICE, SLICE_IN_LOOPS, Antichain, Rows
from ebbflow.errors import OtherPython
from ebbflow.runtime.local import split, together
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.cluster import Cluster
from ebbflow.runtime.spark.hosting import refusal_from
from ebbflow.runtime.spark.jobs import titled
from ebbflow.runtime.spark.stage_frontiers import StageFrontiers
from ebbflow.runtime.spark.state import Ref, State, is_due
from ebbflow.runtime.spark.texts import Part as TextPart
from ebbflow.runtime.spark.texts import Texts, add_texts, part_of

WIDE_SLICES = 8  # a step cut into more slices is not worth as many supersteps


class Driver(Protocol):
    """What a step reads of the runtime that takes it."""

    store: Store
    cluster: Cluster
    texts: Texts
    pool: Pool
    program: dict[str, Any]
    functions: list[Callable[..., Any]]
    stages: list[Stage]
    stage_frontiers: StageFrontiers
    general: list[bool]
    has_loops: list[bool]
    outputs: dict[str, tuple[int, int]]
    state: State
    buffered: list[dict[str, list[Rows]]]
    staged: list[dict[str, list[Ref]]]
    count: int
    wide_rows: int
    narrow_words: int
    width: int | None
    slice_times: int | None
    title: str
    advances: int
    supersteps: int
    is_durable: bool

    @property
    def step(self) -> int: ...
    def loaded(self, block: Any) -> Rows: ...


class Step:
    """One advance, from what is due to what the ledger is to say."""

    def __init__(self, runtime: Driver, frontiers: dict[str, Antichain]):
        self.runtime, self.store, self.count = runtime, runtime.store, runtime.count
        self.state = runtime.state.copy()
        self.state.inputs = dict(frontiers)
        self.left: list[dict[str, list[Rows]]] = []
        self.shown: dict[str, list[Any]] = {}
        self.counted: dict[str, dict[str, int]] = {}
        lengths = dict(map(tuple, self.state.texts))
        runtime.texts.tell(list(lengths), self.read_text, None)
        self.fresh = runtime.texts.fresh()  # ids of text that the driver was given
        self.arrays: list[np.ndarray] = []
        self.uppers = runtime.stage_frontiers.at(frontiers)
        self.rows: list[dict[str, Rows]] = []
        self.files: list[dict[str, list[Ref]]] = []
        self.files_left: list[dict[str, list[Ref]]] = []
        for part, upper in enumerate(self.uppers):
            rows, left = split(runtime.buffered[part], upper)
            self.rows.append(rows)
            self.left.append(left)
            held = runtime.staged[part].items()
            due = {name: [ref for ref in refs if is_due(ref["least"], upper)] for name, refs in held}
            later = {name: [ref for ref in refs if not is_due(ref["most"], upper)] for name, refs in held}
            self.files.append({name: refs for name, refs in due.items() if refs})
            self.files_left.append({name: refs for name, refs in later.items() if refs})

    def run(self) -> None:
        parts = range(len(self.uppers))
        rows = sum(map(self.total, parts))
        if self.count > 1 and (rows >= self.runtime.wide_rows or len(self.fewest(parts)) > 1):
            for part in parts:
                self.go_wide(part)
        else:
            self.go_narrow(range(len(self.uppers)))
        self.state.frontiers = list(self.uppers)
        self.keep_texts()

    def total(self, part: int) -> int:
        """The rows that a part is given."""
        in_files = sum(ref["rows"] for refs in self.files[part].values() for ref in refs)
        return in_files + sum(len(block[2]) for block in self.rows[part].values())

    def fewest(self, parts: Sequence[int], seats: list[list[int]] | None = None) -> list[list[int]]:
        """As few tasks as can hold some parts, each no more than it may: their shards, neighbours that sit together."""
        sizes = [sum(self.state.sizes.get(f"{part}/{i}", 0) for part in parts) for i in range(self.count)]
        return brought_together(seats or [[i] for i in range(self.count)], sizes, self.runtime.program["task_bytes"])

    def refs(self, part: int, rows: dict[str, Rows]) -> dict[str, list[Ref]]:
        """Rows as an order names them: those that go with it, and those in files."""
        found: dict[str, list[Ref]] = {name: [{"at": self.refer(block)}] for name, block in rows.items()}
        for name, refs in self.files[part].items():
            told = ("file", "shards", "dropped")
            found.setdefault(name, []).extend({fact: ref[fact] for fact in told if fact in ref} for ref in refs)
        return found

    def read_text(self, name: str) -> TextPart:
        _, part = blobs.read(self.store.get_checked(TEXTS, name, dict(map(tuple, self.state.texts))[name]))
        return part[0], part[1], part[2]

    def moves(self, part: int) -> bool:
        """Whether a part has something to do even without rows."""
        return self.uppers[part] != self.state.frontiers[part] and self.runtime.general[part]

    def go_narrow(self, parts: Sequence[int]) -> None:
        """One task for the whole step."""
        busy: set[int] = set()
        for part in parts:
            feeders = {name for other in busy for name in self.runtime.stages[other].exports}
            if self.rows[part] or self.files[part] or self.moves(part) or feeders & self.runtime.stages[part].imports:
                busy.add(part)
        if not busy:
            return
        works = [
            {
                "part": part,
                "how": "whole",
                "lower": self.state.frontiers[part],
                "upper": self.uppers[part],
                "rows": self.refs(part, self.rows[part]),
            }
            for part in sorted(busy)
        ]
        self.superstep([{"shards": list(range(self.count)), "works": works}])

    # ---- wide -----------------------------------------------------------------------------------------

    def go_wide(self, part: int) -> None:
        """As many tasks as run at a time, until little is left."""
        runtime, rows, upper = self.runtime, self.rows[part], self.uppers[part]
        if not rows and not self.files[part] and not self.moves(part):
            return
        slices, seats = self.slices(part, rows), self.fewest([part])
        is_small = self.total(part) < runtime.wide_rows
        if slices is None or (len(seats) == 1 and (is_small or len(slices) > WIDE_SLICES)):
            self.go_narrow([part])
            return
        width = min(self.count, runtime.width or runtime.cluster.width)
        if not is_small and len(seats) < width:
            seats = [list(range(self.count * i // width, self.count * (i + 1) // width)) for i in range(width)]
        lower = self.state.frontiers[part]
        for number, times in enumerate(slices):
            tasks, width = [], len(seats)
            for i, shards in enumerate(seats):
                dealt = {name: (lanes[:, i::width], at[i::width], d[i::width]) for name, (lanes, at, d) in rows.items()}
                work = {
                    "part": part,
                    "how": "begin",
                    "lower": lower,
                    "upper": upper,
                    "first": number == 0,
                    "times": times.tolist(),
                    "rows": self.refs(part, dealt),
                }
                tasks.append({"shards": shards, "works": [work]})
            met = self.superstep(tasks)
            while not met[0]["finished"]:
                letters = [letter for one in met for letter in one["letters"]]
                agreed = min(one["least"] for one in met)
                if sum(one["pending"] for one in met) <= runtime.narrow_words:
                    seats = self.fewest([part], seats)
                    if len(seats) == 1:
                        self.finish_narrow(part, letters, agreed, rows, times)
                        return
                work = {"part": part, "how": "resume", "letters": letters, "agreed": agreed}
                resumed = [{"shards": shards, "works": [work]} for shards in seats]
                met = self.superstep(resumed, self.round_told(part, met[0]["loop"], agreed))

    def round_told(self, part: int, loop: list[int] | None, agreed: int) -> str:
        """Where a step stands: the round of the loop that it is at the head of."""
        if loop is None:
            return ""
        number, shift, bits = loop
        return (
            f", round {(agreed >> shift) & ((1 << bits) - 1)} of {loop_name(self.runtime.stages[part].graph, number)}"
        )

    def slices(self, part: int, rows: dict[str, Rows]) -> list[np.ndarray] | None:
        """The times of a step, so many at once: what runs together must agree on them.  None: they are too many."""
        refs = [ref for refs in self.files[part].values() for ref in refs]
        if self.runtime.general[part] or not (rows or refs):
            return [np.zeros(1, np.int64)]
        if any(ref["times"] is None for ref in refs):
            return None
        upper = self.uppers[part][0][0] if self.uppers[part] else 2**63 - 1
        lower = self.state.frontiers[part][0][0]
        in_files = [time for ref in refs for time in ref["times"] if lower <= time < upper]
        times = np.unique(np.concatenate([np.array(in_files, np.int64), *(at[:, 0] for _, at, _ in rows.values())]))
        size = self.runtime.slice_times or (SLICE_IN_LOOPS if self.runtime.has_loops[part] else SLICE)
        return [times[at : at + size] for at in range(0, len(times), size)]

    def finish_narrow(
        self, part: int, letters: list[Any], agreed: int, rows: dict[str, Rows], times: np.ndarray
    ) -> None:
        """One task takes over all the shards where they stand, and goes through what is left of the step."""
        lower, rest = self.uppers[part], {}
        if not self.runtime.general[part]:
            lower = ((int(times[-1]) + 1,),)
            later = {name: at[:, 0] > times[-1] for name, (_, at, _) in rows.items()}
            rest = {
                name: (lanes[:, later[name]], at[later[name]], diffs[later[name]])
                for name, (lanes, at, diffs) in rows.items()
                if later[name].any()
            }
        work = {
            "part": part,
            "how": "whole",
            "lower": lower,
            "upper": self.uppers[part],
            "letters": letters,
            "agreed": agreed,
            "rows": self.refs(part, rest),
        }
        self.superstep([{"shards": list(range(self.count)), "works": [work]}])

    # ---- a superstep ----------------------------------------------------------------------------------

    def refer(self, arrays: Sequence[np.ndarray]) -> list[int]:
        first = len(self.arrays)
        self.arrays += arrays
        return list(range(first, len(self.arrays)))

    def superstep(self, tasks: list[dict[str, Any]], where: str = "") -> list[dict[str, Any]]:
        """Give the tasks their orders and take in their answers; letters in these are kept for the next ones.

        where: in which round of which loop, if they are in one.
        """
        runtime = self.runtime
        number = runtime.step + 1 if runtime.is_durable else runtime.advances
        runtime.cluster.doing = f"{runtime.title}, step {number}{where}"
        parts = {work["part"] for task in tasks for work in task["works"]}
        for task in tasks:
            sections = [f"{p}/{i}" for p in sorted(parts) for i in task["shards"]]
            task["chains"] = {section: self.state.chains[section] for section in sections}
            task["sizes"] = {section: self.state.sizes.get(section, 0) for section in sections}
        named = {name for task in tasks for chain in task["chains"].values() for name in chain}
        facts = {
            "program": runtime.program,
            "texts": self.state.texts,
            "fresh": self.refer(part_of(runtime.pool, self.fresh)) if len(self.fresh) else [],
            "lengths": {name: self.state.lengths[name] for name in sorted(named)},
            "tasks": tasks,
        }
        answers = runtime.cluster.superstep(blobs.write(facts, self.arrays), len(tasks), runtime.functions)
        runtime.supersteps += 1
        self.arrays = []
        return [self.take_in(data) for data in answers]

    def take_in(self, data: bytes) -> dict[str, Any]:
        answer, arrays = blobs.read(data)
        if answer.get("refused"):
            raise refusal_from(answer["refused"])
        check_python(answer["python"])
        if "segment" in answer:
            name, length = answer["segment"]
            self.state.lengths[name] = length
            self.state.chains.update(answer["chains"])
            self.state.sizes.update(answer["sizes"])
        self.counted.update(answer["counters"])
        if answer["fresh"]:
            ids = self.learn(tuple(arrays[i] for i in answer["fresh"]))
            self.fresh = np.union1d(self.fresh, ids)
        for name, ref in answer["outputs"].items():
            block = tuple(arrays[i] for i in ref["at"]) if "at" in ref else ref
            self.show(name, block)
        for part, name, at in answer.get("left", ()):
            self.left[part].setdefault(name, []).append(tuple(arrays[i] for i in at))
        for letter in answer.get("letters", ()):
            if "at" in letter[2]:
                letter[2] = {"at": self.refer([arrays[i] for i in letter[2]["at"]])}
        return answer

    def learn(self, part: TextPart) -> np.ndarray:
        return add_texts(self.runtime.pool, part)

    def show(self, name: str, block: Any) -> None:
        """Rows of an output, or of a stage for a later one."""
        for part, stage in enumerate(self.runtime.stages):
            if name in stage.imports:
                taken, left = split({name: [self.runtime.loaded(block)]}, self.uppers[part])
                for rows in taken.values():
                    known = [self.rows[part][name]] if name in self.rows[part] else []
                    self.rows[part][name] = together([*known, rows])
                for blocks in left.values():
                    self.left[part].setdefault(name, []).extend(blocks)
        if name in self.runtime.outputs:
            self.shown.setdefault(name, []).append(block)

    def keep_texts(self) -> None:
        """Text that is new with this step becomes a part that every later task is told."""
        if not len(self.fresh):
            return
        texts, parts = self.runtime.texts, self.state.texts
        weights = [length for _, length in parts]
        weight = lambda ids: 8 * len(ids)
        ids_from = lambda k: np.concatenate([self.fresh, *list(texts.parts.values())[k:]])
        live = weight(texts.known) + weight(self.fresh)
        kept = links_kept(weights, weight(self.fresh), max(live, sum(weights)), lambda k: weight(ids_from(k)))
        data = blobs.write(None, part_of(texts.pool, ids_from(kept)))
        self.state.texts = [*parts[:kept], [self.store.put(TEXTS, [data]), len(data)]]


def loop_name(graph: Graph, number: int) -> str:
    """A loop by the name of its variable, or by the one output where it is the only loop."""
    named = [graph.names[i] for i, node in enumerate(graph.nodes)
             if isinstance(node, n.Feedback) and node.loop == number and i in graph.names]  # fmt: skip
    outputs = [node.name for node in graph.nodes if isinstance(node, n.Output)]
    if not named and len(graph.loops) == len(outputs) == 1:
        named = outputs
    return titled(named) if named else f"loop {number}"


def brought_together(seats: list[list[int]], sizes: list[int], most: int) -> list[list[int]]:
    """Neighbours at one seat as long as it is not too much; who sat together stays together, as do their letters.

    >>> brought_together([[0, 1], [2], [3], [4, 5]], [2, 2, 3, 3, 1, 9], 8)
    [[0, 1, 2], [3], [4, 5]]
    """
    found: list[list[int]] = []
    room = -1
    for seat in seats:
        size = sum(sizes[i] for i in seat)
        if found and size <= room:
            found[-1] = found[-1] + seat
            room -= size
        else:
            found.append(seat)
            room = most - size
    return found


def check_python(version: list[int]) -> None:
    here = sys.version_info
    if tuple(version) != here[:2]:
        raise OtherPython(
            f"Spark's workers run Python {version[0]}.{version[1]}, and this is {here[0]}.{here[1]}.",
            hint=f"Use ebb.spark(), or set PYSPARK_PYTHON to {sys.executable} before the session is made.",
        )
