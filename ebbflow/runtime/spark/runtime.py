"""Spark runtime: the same program, with its workers hosted by Spark's tasks.

The driver keeps what is small: frontiers, the names of the files that hold each shard's state, and future rows. A step
consists of supersteps. Where there is little to do, one task hosts all shards and runs the whole step, loops included,
in one job. Where there is much, each task hosts some shards and runs to the next barrier; the driver carries the
outboxes and agrees on rounds; when little is left, one task takes over all shards in the middle of the walk. Where the
state is more than one task may hold, as many tasks as needed share it.

Rule: a step counts when its record is in the ledger, and before that nothing of it does; the number of tasks cannot be
seen in the result.
"""

from __future__ import annotations

import random
import sys
import uuid
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ebbflow import interrupts
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow import stages
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.lower import lower
from ebbflow.dataflow.plan_json import functions_of, to_json
from ebbflow.dataflow.rewrite import rewrite
from ebbflow.dataflow.rules import check
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.durable.image import Delta, links_kept, sections, segment
from ebbflow.durable.journal import Journal
from ebbflow.durable.ledger import LEDGER, Files, Ledger, begin
from ebbflow.durable.store import Store, disk_refusals
from ebbflow.engine.host import SLICE, SLICE_IN_LOOPS, Antichain, Rows
from ebbflow.engine.worker import LIMITS, WORKERS_AT_MOST
from ebbflow.errors import CheckpointDiffers, DamagedFile, OtherPython, PlanError
from ebbflow.native.memory import is_free
from ebbflow.runtime.contract import Guard, Keeper, Staging
from ebbflow.runtime.kept_local import manifest_for, refuse_other
from ebbflow.runtime.local import minimal, split, together
from ebbflow.runtime.spark import blobs
from ebbflow.runtime.spark.cluster import Cluster
from ebbflow.runtime.spark.jobs import titled
from ebbflow.runtime.spark.task import (
    LETTERS,
    OUTPUTS,
    SEGMENTS,
    STAGED,
    TEXTS,
    File,
    is_general,
    is_wide,
    refusal_from,
)
from ebbflow.runtime.spark.texts import Part as TextPart
from ebbflow.runtime.spark.texts import Texts, add_texts, part_of

DIRECTORIES = (SEGMENTS, LETTERS, OUTPUTS, STAGED, TEXTS)
LOWEST, HIGHEST = 0x2000_0000_0000, 0x3000_0000_0000  # above what Arrow's allocator takes, below durable sessions
RESERVE = 1 << 36  # address space of a shard: 64 GiB, of which only touched pages are real
GIB = 1 << 30
DRAWS = 16
STAGING_TASKS = 8  # behind the shuffle of a frame
FEW_STAGED = 50_000  # rows of a frame, after which the next one is expected to be small too, and gets one task
WIDE_ROWS = 500_000  # from so many rows on a step is begun by several tasks, at a job and a file for each meeting
NARROW_WORDS = 1 << 20  # when so few words wait anywhere, one task goes through the rest
WIDE_SLICES = 8  # a step cut into more slices is not worth as many supersteps
TASK_BYTES = 4 * GIB  # of state that a task holds, as long as no single shard has more


Ref = dict[str, Any]  # rows in a file: its name and length, their number, shards, least, most and distinct times


class Staged(NamedTuple):
    """What became of frames: how many rows, their hash, and where they are now, by input."""

    count: int  # type: ignore[assignment]  # a tuple counts otherwise
    hash: str
    rows: dict[str, list[tuple[Rows, np.ndarray]]]  # those that came back, and what puts the edits of a key in order
    files: dict[str, list[Ref]]


@dataclass
class State:
    """Where the program stands, as the ledger has it."""

    chains: dict[str, list[str]] = field(default_factory=dict)  # of every shard "part/shard": names of segments
    lengths: dict[str, int] = field(default_factory=dict)  # of every file that is named
    texts: list[File] = field(default_factory=list)
    frontiers: list[Antichain] = field(default_factory=list)  # of the parts
    inputs: dict[str, Antichain] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)  # of every shard: bytes of memory

    def copy(self) -> State:
        chains = {section: list(names) for section, names in self.chains.items()}
        kept = dict(self.lengths), list(self.texts), list(self.frontiers), dict(self.inputs), dict(self.sizes)
        return State(chains, *kept)

    def as_json(self) -> dict[str, Any]:
        return {
            "chains": self.chains,
            "lengths": self.lengths,
            "texts": self.texts,
            "frontiers": self.frontiers,
            "inputs": self.inputs,
            "sizes": self.sizes,
        }

    @staticmethod
    def from_json(data: dict[str, Any]) -> State:
        chain = lambda times: tuple(tuple(time) for time in times)
        return State(
            data["chains"],
            data["lengths"],
            data["texts"],
            [chain(times) for times in data["frontiers"]],
            {name: chain(times) for name, times in data["inputs"].items()},
            data["sizes"],
        )


class SparkRuntime:
    """`task_bytes` bounds the state that one task holds; the other options are for those who measure and test."""

    OPTIONS = (
        *("task_bytes", "rewriting", "slice_times", "reserve", "forget_times", "wide_rows", "narrow_words", "width"),
        *LIMITS,
    )
    moments, late_outputs, recording = None, None, None

    def __init__(
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
        if not 1 <= shards <= WORKERS_AT_MOST:
            raise PlanError(
                f"A program has 1 to {WORKERS_AT_MOST} shards on Spark, not {shards}.", hint="flow.run(spark, shards=8)"
            )
        self.graph, self.cluster, self.count = graph, cluster, shards
        self.texts = Texts(pool)
        self.pool = self.texts.pool
        self.functions = [function.fn for function in functions_of(graph)]
        self.coordinates = len(graph.coordinates)
        whole = rewrite(graph)[0] if rewriting else graph
        self.stages = stages.cut(whole)
        self.general = [is_general(stage.graph) for stage in self.stages]
        self.has_loops = [bool(stage.graph.next_of) for stage in self.stages]
        self.slice_times = options.get("slice_times")
        self.wide_rows, self.narrow_words, self.width = wide_rows, narrow_words, width
        self.store = store or Store(root)
        base, reserve = anywhere(max(len(self.stages), 1) * shards, reserve)
        self.program: dict[str, Any] = {
            "key": uuid.uuid4().hex,
            "plan": to_json(graph),
            "rewriting": rewriting,
            "stages": len(self.stages),
            "shards": shards,
            "base": base,
            "reserve": reserve,
            "root": root,
            "task_bytes": task_bytes,
            "options": options,
        }
        first: Antichain = (tuple(-(2**63) + 1 for _ in graph.coordinates),)
        self.state = State(frontiers=[first] * len(self.stages))
        self.state.chains = {f"{p}/{i}": [] for p in range(len(self.stages)) for i in range(shards)}
        self.buffered: list[dict[str, list[Rows]]] = [{} for _ in self.stages]
        self.staged: list[dict[str, list[Ref]]] = [{} for _ in self.stages]  # rows that lie in files
        self.since_step: list[Ref] = []  # those of them that no step has seen
        self.done: dict[str, list[Any]] = {}  # rows, or the file that holds them
        self.outputs = {
            node.name: (number, len(stage.graph.schemas[node.source]))
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
        self.text_predicates: TextPredicates = {}
        self.release: weakref.finalize | None = None
        self.words: dict[str, Any] = {}  # what the session said at the last step
        self.delivery: dict[str, Any] | None = None  # the one that was taken in last
        self.journals: dict[str, Journal] = {}
        self._found: dict[str, list[tuple[str, Delta]]] = {}  # links of journals that nobody has asked for yet
        self._before: tuple[Any, ...] = ()
        ledger = Ledger.open(self.store) if durable else None
        if ledger is not None:
            self._resume(ledger)
        else:
            self._begin()

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
        return {**counted, "supersteps": self.supersteps, "jobs": getattr(self.cluster, "jobs", 0)}

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
        return journal.read(self._found.pop(name, []))

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
                state, files = self._said(name, length, words)
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

    def _said(self, name: str, length: int, words: dict[str, Any]) -> tuple[dict[str, Any], Files]:
        """What the record says, and which files it needs."""
        state = self.state
        journals = {section: one.next_chain(name) for section, one in self.journals.items()}
        inbox, outputs = self._keep_rows(), {output: self._keep_blocks(self.done[output]) for output in self.done}
        lengths = {**state.lengths, name: length}
        used = {link for chain in [*journals.values(), *state.chains.values()] for link in chain}
        said = {
            **state.as_json(),
            "journals": {section: chain for section, chain in journals.items() if chain},
            "staged": self.staged,
            "inbox": inbox,
            "outputs": {output: files for output, files in outputs.items() if files},
            "delivery": self.delivery,
            "session": words,
        }
        refs = [ref["file"] for part in self.staged for refs in part.values() for ref in refs]
        files = {
            SEGMENTS: {link: lengths[link] for link in sorted(used)},
            TEXTS: dict(map(tuple, state.texts)),
            STAGED: dict(map(tuple, [*refs, *inbox])),
            OUTPUTS: dict(map(tuple, [file for found in outputs.values() for file in found])),
            LETTERS: {},
        }
        return said, files

    def _keep_rows(self) -> list[File]:
        """Rows that a stage was given and has not taken, as a file."""
        told: list[list[Any]] = []
        arrays: list[np.ndarray] = []
        for part, held in enumerate(self.buffered):
            for name, blocks in held.items():
                if blocks:
                    told.append([part, name, len(arrays)])
                    arrays += together(blocks)
        if not told:
            return []
        data = blobs.write(told, arrays)
        return [[self.store.put(STAGED, [data]), len(data)]]

    def _keep_blocks(self, blocks: list[Any]) -> list[File]:
        """What an output has shown and nobody took, as files."""
        found = []
        for i, block in enumerate(blocks):
            if isinstance(block, tuple):
                data = blobs.write(None, block)
                blocks[i] = {"file": [self.store.put(OUTPUTS, [data]), len(data)]}
            found.append(blocks[i]["file"])
        return found

    def _begin(self) -> None:
        with disk_refusals(f"{self.store.root} could not be begun"):
            if self.is_durable:
                begin(self.store)
            self.store.make()
            for directory in (*DIRECTORIES, *([LEDGER] if self.is_durable else [])):
                self.store.make(directory)
            if self.is_durable:
                program = self.program
                place = {"base": program["base"], "reserve": program["reserve"], "layout": "spark"}
                manifest = {**manifest_for(self.graph, self.count, self.pool), **place, "kind": "spark"}
                manifest["rewriting"] = program["rewriting"]
                self.ledger = Ledger.create(self.store, manifest, *self._said("", 0, {}))

    def _resume(self, ledger: Ledger) -> None:
        """The last step, from what the ledger says."""
        self.ledger, manifest, root = ledger, ledger.manifest, self.store.root
        if manifest.get("kind") != "spark":
            raise CheckpointDiffers(
                f"{root} was made by a program that ran in one process.",
                hint=f"Open it with run(workers={manifest['workers']}, checkpoint=...), or give another directory.",
            )
        if manifest["workers"] != self.count:
            raise CheckpointDiffers(
                f"{root} was made with {manifest['workers']} shards, and this is {self.count}.",
                hint=f"Open it with run(spark, shards={manifest['workers']}), or give another directory.",
            )
        refuse_other(manifest, {**manifest_for(self.graph, self.count, self.pool), "kind": "spark"}, root)
        self.program |= {name: manifest[name] for name in ("base", "reserve", "rewriting")}
        said = ledger.state
        self.state = State.from_json(said)
        lengths = dict(map(tuple, self.state.texts))
        self.texts.tell(list(lengths), lambda name: (*blobs.read(ledger.get(TEXTS, name))[1],), None)  # type: ignore[arg-type, return-value]
        read: dict[str, dict[str, Delta]] = {}
        for section, chain in said["journals"].items():
            for name in chain:
                if name not in read:
                    read[name] = sections(ledger.get(SEGMENTS, name), self.store.path(SEGMENTS, name))
                if section not in read[name]:
                    raise DamagedFile(f"the file {self.store.path(SEGMENTS, name)} lacks what the ledger says it has.")
            self._found[section] = [(name, read[name][section]) for name in chain]
        self.staged = said["staged"]
        for file in said["inbox"]:
            told, arrays = blobs.read(ledger.get(STAGED, file[0]))
            for part, name, at in told:
                self.buffered[part][name] = [tuple(np.array(array) for array in arrays[at : at + 3])]
        self.done = {output: [{"file": file} for file in files] for output, files in said["outputs"].items()}
        self.delivery, self.words = said["delivery"], said["session"]
        for names in ledger.head.files.values():
            for name, length in names.items():
                self.state.lengths[name] = length

    def sweep(self) -> None:
        """Where no ledger says what is needed: remove what the state does not name."""
        names = {name for chain in self.state.chains.values() for name in chain}
        self.store.sweep(SEGMENTS, names)
        self.store.sweep(LETTERS, ())
        self.state.lengths = {name: length for name, length in self.state.lengths.items() if name in names}


class Step:
    """One advance, from what is due to what the ledger is to say."""

    def __init__(self, runtime: SparkRuntime, frontiers: dict[str, Antichain]):
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
        self.uppers = [minimal([time for name in stage.inputs for time in frontiers[name]]) for stage in runtime.stages]
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


def is_due(time: Sequence[int], upper: Antichain) -> bool:
    """Whether a time is complete under a frontier."""
    return not any(all(a >= b for a, b in zip(time, element, strict=True)) for element in upper)


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


def anywhere(heaps: int, reserve: int) -> tuple[int, int]:
    """Addresses drawn at random for heaps that lie side by side, and the size of each: smaller where they are many.

    Where the driver has nothing, if such a place is found soon: of what lies there, other programs of ours give way.
    """
    reserve = min(reserve, (HIGHEST - LOWEST) // 2 // heaps // GIB * GIB or GIB)
    for _ in range(DRAWS):
        base = random.SystemRandom().randrange(LOWEST, HIGHEST - heaps * reserve, GIB)
        if is_free(base, heaps * reserve):
            break
    return base, reserve


def check_python(version: list[int]) -> None:
    here = sys.version_info
    if tuple(version) != here[:2]:
        raise OtherPython(
            f"Spark's workers run Python {version[0]}.{version[1]}, and this is {here[0]}.{here[1]}.",
            hint=f"Use ebb.spark(), or set PYSPARK_PYTHON to {sys.executable} before the session is made.",
        )
