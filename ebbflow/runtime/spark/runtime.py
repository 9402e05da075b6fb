"""Spark runtime: the same program, with its workers hosted by Spark's tasks.

The driver keeps what is small, rows wait with it or in files, and each step is run by tasks. Frames are read where they
lie, by tasks too, and leave rows or files.

Rule: a step counts when its record is in the ledger, and before that nothing of it does.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import stages
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.plan_json import functions_of, to_json
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.rules.check import check
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.durable.journal import Journal
from ebbflow.durable.ledger import Ledger
from ebbflow.durable.records import LETTERS, OUTPUTS, SEGMENTS
from ebbflow.durable.segments import Delta, segment
from ebbflow.durable.store import Store, disk_refusals
from ebbflow.engine.node_work import NodeWork
from ebbflow.engine.slices import Antichain, Rows
from ebbflow.engine.worker import LIMIT_FIELDS
from ebbflow.errors import PlanError
from ebbflow.limits import WORKERS
from ebbflow.runtime.contract import Guard, Keeper, Staging
from ebbflow.runtime.local import split, together
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.addresses import RESERVE, anywhere
from ebbflow.runtime.spark.cluster import Cluster
from ebbflow.runtime.spark.hosting import is_general, is_wide, refusal_from
from ebbflow.runtime.spark.jobs import titled
from ebbflow.runtime.spark.record import begin_records, record_of, resume
from ebbflow.runtime.spark.stage_frontiers import StageFrontiers
from ebbflow.runtime.spark.state import Ref, Staged, State, is_due
from ebbflow.runtime.spark.step import Step
from ebbflow.runtime.spark.texts import Texts, add_texts

STAGING_TASKS = 8  # behind the shuffle of a frame
FEW_STAGED = 50_000  # rows of a frame, after which the next one is expected to be small too, and gets one task
WIDE_ROWS = 500_000  # from so many rows on a step is begun by several tasks, at a job and a file for each meeting
NARROW_WORDS = 1 << 20  # when so few words wait anywhere, one task goes through the rest
TASK_BYTES = 4 << 30  # of state that a task holds, as long as no single shard has more


class SparkRuntime:
    """`task_bytes` bounds the state that one task holds; the other options are for those who measure and test."""

    OPTIONS = (
        *("task_bytes", "rewriting", "slice_times", "reserve", "forget_times", "wide_rows", "narrow_words", "width"),
        *LIMIT_FIELDS,
    )
    moments, late_outputs, recording = None, None, None
    ledger: Ledger  # where it is durable

    def __init__(  # wide: the options of those who measure and test, by name
        self,
        graph: Graph,
        cluster: Cluster,
        root: str,
        shards: int = 8,
        pool: Pool | None = None,
        rewriting: bool = True,
        reserve: int = RESERVE,
        wide_rows: int = WIDE_ROWS,
        narrow_words: int = NARROW_WORDS,
        width: int | None = None,
        task_bytes: int = TASK_BYTES,
        store: Store | None = None,
        durable: bool = False,
        **options: int,
    ):
        check(graph)
        if not 1 <= shards <= WORKERS:
            raise PlanError(
                f"A program has 1 to {WORKERS} shards on Spark, not {shards}.", hint="flow.run(spark, shards=8)"
            )
        self.graph, self.cluster, self.count = graph, cluster, shards
        self.texts = Texts(pool)
        self.pool = self.texts.pool
        self.functions = [function.fn for function in functions_of(graph)]
        self.coordinates = len(graph.coordinates)
        whole = rewrite(graph)[0] if rewriting else graph
        self.stages = stages.cut(whole)
        self.stage_frontiers = StageFrontiers(whole, self.stages)
        self.general = [is_general(stage.graph) for stage in self.stages]
        self.has_loops = [bool(stage.graph.next_of) for stage in self.stages]
        self.slice_times = options.get("slice_times")
        self.wide_rows, self.narrow_words, self.width = wide_rows, narrow_words, width
        self.store = store or Store(root)
        self.program = self._told(root, rewriting, reserve, task_bytes, options)
        self.outputs = {
            node.name: (number, stage.graph.schemas[node.source].width)
            for number, stage in enumerate(self.stages)
            for node in stage.graph.nodes
            if isinstance(node, n.Output) and node.name not in stage.exports
        }
        self.title, self.advances = titled(list(self.outputs)), 0
        self.guard: Guard | None = None  # who refuses results, before they count, in which rows come very often
        self.watches = False  # whether it is asked of all results
        self.counted: dict[str, dict[str, int]] = {}
        self.supersteps = 0
        self.staging_tasks = min(shards, STAGING_TASKS)
        self.places: dict[str, list[int]] = {}  # of inputs whose frames came
        self.is_durable = durable
        self._stand_at_beginning()
        self.text_predicates: TextPredicates = {}
        self.release: weakref.finalize | None = None
        ledger = Ledger.open(self.store) if durable else None
        if ledger is not None:
            resume(self, ledger)
        else:
            begin_records(self)

    def _told(
        self, root: str, rewriting: bool, reserve: int, task_bytes: int, options: dict[str, int]
    ) -> dict[str, Any]:
        """What every task is told of the program."""
        base, reserve = anywhere(max(len(self.stages), 1) * self.count, reserve)
        return {
            "key": uuid.uuid4().hex,
            "plan": to_json(self.graph),
            "rewriting": rewriting,
            "stages": len(self.stages),
            "shards": self.count,
            "base": base,
            "reserve": reserve,
            "root": root,
            "task_bytes": task_bytes,
            "options": options,
        }

    def _stand_at_beginning(self) -> None:
        """Nothing has happened yet."""
        first: Antichain = (tuple(-(2**63) + 1 for _ in self.graph.coordinates),)
        self.state = State(frontiers=[first] * len(self.stages))
        self.state.chains = {f"{p}/{i}": [] for p in range(len(self.stages)) for i in range(self.count)}
        self.buffered: list[dict[str, list[Rows]]] = [{} for _ in self.stages]
        self.staged: list[dict[str, list[Ref]]] = [{} for _ in self.stages]  # rows that lie in files
        self.since_step: list[Ref] = []  # those of them that no step has seen
        self.done: dict[str, list[Any]] = {}  # rows, or the file that holds them
        self.words: dict[str, Any] = {}  # what the session said at the last step
        self.delivery: dict[str, Any] | None = None  # the one that was taken in last
        self.journals: dict[str, Journal] = {}
        self.found: dict[str, list[tuple[str, Delta]]] = {}  # links of journals that nobody has asked for yet
        self._before: tuple[Any, ...] = ()

    # ---- what every runtime offers ----------------------------------------------------------------

    @property
    def staging(self) -> Staging:
        return self

    @property
    def keeper(self) -> Keeper | None:
        return self if self.is_durable else None

    @property
    def spark(self) -> Any:
        return self.cluster.spark  # type: ignore[attr-defined]  # asked only of a cluster that is on Spark

    def rest(self) -> None:
        """A step leaves nothing: its state is in files."""

    def abandon(self) -> None:
        """In a forked child: the directory that is removed at the end is the parent's."""
        if self.release is not None:
            self.release.detach()

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        for part, stage in enumerate(self.stages):
            if any(isinstance(node, n.Input) and node.name == name for node in stage.graph.nodes):
                self.buffered[part].setdefault(name, []).append((lanes, times, diffs))

    def stage(self, frames: list[tuple[dict[str, Any], Any]], stays: list[str], most: int | None = None) -> Staged:
        """Evaluate frames, once and in one action; the rows that do not come back are kept for the next step.

        frames: with each, what is told to whoever packs it.  stays: inputs whose rows come back, however many.
        most: that they have no more rows than this, if someone has counted.
        """
        tasks = self.staging_tasks
        for told, _ in frames:
            told |= {"shards": self.count, "tasks": tasks, "place": self.place_of(told["input"])}
        found: Ref = {"count": 0, "sums": [0, 0]}
        rows: dict[str, list[tuple[Rows, np.ndarray]]] = {}
        files: dict[str, list[Ref]] = {}
        self.cluster.doing = f"{self.title}, rows of {titled([told['input'] for told, _ in frames])}"
        for data in sorted(self.cluster.stage(frames, tasks, self.program["root"], stays, most)):
            facts, arrays = blobs.read(data)
            if "refused" in facts:
                raise refusal_from(facts["refused"])
            found["count"] += facts["count"]
            found["sums"] = [(a + b) % 2**64 for a, b in zip(found["sums"], facts["hash"], strict=True)]
            if facts["texts"]:
                add_texts(self.pool, tuple(arrays[i] for i in facts["texts"]))
            for name, told in facts["inputs"].items():
                if "at" in told:
                    lanes, times, diffs, order = (np.array(arrays[i]) for i in told["at"])
                    rows.setdefault(name, []).append(((lanes, times, diffs), order))
                else:
                    files.setdefault(name, []).append(told)
        self.staging_tasks = 1 if found["count"] <= FEW_STAGED else min(self.count, STAGING_TASKS)
        return Staged(found["count"], "{:016x}{:016x}".format(*found["sums"]), rows, files)

    def feed_staged(self, name: str, refs: list[Ref]) -> None:
        """Rows in files, for the steps to come."""
        self.since_step += refs
        for part, stage in enumerate(self.stages):
            if any(isinstance(node, n.Input) and node.name == name for node in stage.graph.nodes):
                self.staged[part].setdefault(name, []).extend(refs)

    def discard_staged(self) -> None:
        """Drop the rows in files that no step has seen."""
        gone = [ref["file"] for ref in self.since_step]
        self.since_step = []
        self.staged = [
            {name: [ref for ref in refs if ref["file"] not in gone] for name, refs in part.items()}
            for part in self.staged
        ]

    def drop_staged(self, frontiers: dict[str, Antichain]) -> None:
        """Drop the rows in files that a step to these frontiers would have taken; a file may hold later ones."""

        def left(ref: Ref, upper: Antichain) -> Ref:
            return {**ref, "dropped": [*ref.get("dropped", []), upper]} if is_due(ref["least"], upper) else ref

        for part in self.staged:
            for name in set(part) & set(frontiers):
                upper = frontiers[name]
                part[name] = [left(ref, upper) for ref in part[name] if not is_due(ref["most"], upper)]

    def place_of(self, name: str) -> list[int]:
        """The lanes that decide at which shard the rows of an input begin: where most of them can stay."""
        if name not in self.places:
            self.places[name] = self._place_of(name)
        return self.places[name]

    def _place_of(self, name: str) -> list[int]:
        for stage in self.stages:
            for cell in lower(stage.graph, lambda _: False).cells:
                for pipe in cell.pipes:
                    node = stage.graph.nodes[pipe.source.node]
                    if isinstance(node, n.Input) and node.name == name and cell.partition_key:
                        names = cell.key + cell.values if cell.key else cell.schema.names
                        origin = pipe.origin(cell.partition_key, names)
                        if origin is not None:
                            return node.schema.lanes_of(origin)
        return []

    def advance(self, frontiers: dict[str, Antichain]) -> None:
        if self.is_durable:
            self.ledger.refuse_if_lost()
        self.advances += 1
        with interrupts.allowed():
            step = Step(self, frontiers)
            step.run()
            if self.guard is not None and (
                self.watches or any(is_wide(block) for blocks in step.shown.values() for block in blocks)
            ):
                self.guard({name: list(map(self.loaded, blocks)) for name, blocks in step.shown.items()})
        done = {name: list(blocks) for name, blocks in self.done.items()}
        self._before = self.state, self.buffered, self.staged, self.since_step, done, self.delivery
        self.state, self.buffered, self.staged = step.state, step.left, step.files_left
        self.since_step = []
        for name, blocks in step.shown.items():
            self.done.setdefault(name, []).extend(blocks)
        self.counted.update(step.counted)
        if not self.is_durable:
            self.sweep()

    def discard(self) -> None:
        """Drop the rows that no advance has passed; what one stage has taken, a later one keeps waiting for."""
        for part, stage in enumerate(self.stages):
            for name in set(self.buffered[part]) - stage.imports:
                frontier = self.state.inputs.get(name, self.state.frontiers[part])
                passed, _ = split({name: self.buffered[part].pop(name)}, frontier)
                if passed:
                    self.buffered[part][name] = [passed[name]]

    def take(self, output: str) -> Rows:
        blocks = [self.loaded(block) for block in self.done.get(output, ())]
        if blocks:
            rows = together(blocks)  # if a file cannot be read, or there is no memory, nothing is gone
            del self.done[output]
            return rows
        lanes = self.outputs[output][1]
        return np.empty((lanes, 0), np.int64), np.empty((0, self.coordinates), np.int64), np.empty(0, np.int64)

    def loaded(self, block: Any) -> Rows:
        if isinstance(block, tuple):
            return block
        _, arrays = blobs.read(self.store.get_checked(OUTPUTS, *block["file"]))
        return arrays[0], arrays[1], arrays[2]

    def frontier(self, output: str) -> Antichain:
        return self.state.frontiers[self.outputs[output][0]]

    def counters(self) -> dict[str, int]:
        found = list(self.counted.values())
        names = found[0] if found else ()
        counted = {name: sum(one[name] for one in found) for name in names}
        return {**counted, "supersteps": self.supersteps, "jobs": self.cluster.jobs}

    def work_by_node(self) -> dict[int, NodeWork]:
        return {}  # the nodes are in the tasks

    def close(self) -> None:
        """State is files, and stays; or goes, where it was only to last as long as the session."""
        if self.release is not None:
            self.done = {name: [self.loaded(block) for block in blocks] for name, blocks in self.done.items()}
            self.release()

    @property
    def step(self) -> int:
        """The number of the last step that counts."""
        return self.ledger.step if self.is_durable else self.supersteps

    # ---- what a durable one does -------------------------------------------------------------------

    def journal(
        self,
        name: str,
        alive: Callable[[], np.ndarray],
        size: Callable[[], int] | None = None,
        beside: Callable[[], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Have a journal of this name; its words as of the last step."""
        journal = self.journals[name] = Journal(alive, size, beside)
        return journal.read(self.found.pop(name, []))

    def commit(self, words: dict[str, Any]) -> None:
        """Make what was done since the last time count, with what the session says of itself.

        If it raises, nothing of it counts, and all that was added to journals is forgotten.
        """
        try:
            deltas = {name: one.delta() for name, one in self.journals.items()}
            written = {name: delta for name, delta in deltas.items() if delta is not None}
            with disk_refusals(f"a step could not be kept in {self.store.root}"):
                name, length = "", 0
                if written:
                    blocks = segment(written)
                    name = self.store.put(SEGMENTS, blocks)
                    length = sum(len(memoryview(block).cast("B")) for block in blocks)
                state, files = record_of(self, name, length, words)
                self.ledger.commit(state, files)
        except BaseException:
            for journal in self.journals.values():
                journal.drop()
            raise
        for one in self.journals.values():
            one.settle(name)
        self.state.lengths = {file: size for files_ in files.values() for file, size in files_.items()}
        self.words = words

    def undo(self) -> None:
        """Take back the last advance, which succeeded and was not committed."""
        self.state, self.buffered, self.staged, self.since_step, self.done, self.delivery = self._before

    def sweep(self) -> None:
        """Where no ledger says what is needed: remove what the state does not name."""
        names = {name for chain in self.state.chains.values() for name in chain}
        self.store.sweep(SEGMENTS, names)
        self.store.sweep(LETTERS, ())
        self.state.lengths = {name: length for name, length in self.state.lengths.items() if name in names}
