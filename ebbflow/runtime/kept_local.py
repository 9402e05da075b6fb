"""Durable local runtime: every committed step is there again after the process has ended.

The engine's heaps are at fixed addresses, so their pages are the state; future rows, text and the state of the session
are journals beside them. A step writes what it changed as one segment, and counts when its record is in the ledger.

Rule: a step that was not committed is undone in memory too; opening a checkpoint gives exactly the last committed step.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import json
import random
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from textwrap import shorten
from typing import Any

import numpy as np

from ebbflow.columns.text_pool import BITS, KEY0, KEY1, Pool
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.fingerprint import fingerprints
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.node_names import detail, kind
from ebbflow.dataflow.plan_json import schema_json
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.durable.image import Delta, Pages, sections, segment
from ebbflow.durable.journal import Journal
from ebbflow.durable.ledger import LEDGER, Ledger, begin
from ebbflow.durable.store import Files, Store, disk_refusals, local_path
from ebbflow.engine.slices import Antichain, Rows
from ebbflow.errors import AddressTaken, CheckpointDiffers, DamagedFile, DiskRefused
from ebbflow.native.structs import is_address
from ebbflow.runtime.contract import Guard, Keeper
from ebbflow.runtime.local import LocalRuntime, split, together
from ebbflow.trace import heap as h

SEGMENTS = "segments"
LOWEST, HIGHEST, ALIGNED = 0x3000_0000_0000, 0x5000_0000_0000, 1 << 30  # addresses that Linux leaves free

LARGEST = 1 << 38  # bytes reserved for a worker
MOST_DETAIL = 80  # letters that say what a node does
SAME_MEMORY: dict[str, str] = {}  # an engine, and the one before it, where the two differ by names only


class DurableRuntime:
    OPTIONS = LocalRuntime.OPTIONS
    moments, staging, late_outputs, recording = None, None, None, None

    def __init__(
        self,
        graph: Graph,
        workers: int = 1,
        pool: Pool | None = None,
        checkpoint: object = None,
        files: Files | None = None,
        reserve: int | None = None,
        **options: Any,
    ):
        self.store = Store(local_path(checkpoint), files)
        self.pool = pool if pool is not None else Pool()
        self.journals: dict[str, Journal] = {}
        self.words: dict[str, Any] = {}  # what the session said at the last step
        self.counted: dict[str, int] = {}
        self._before: list[Any] = []
        self._found: dict[str, list[tuple[str, Delta]]] = {}  # links of journals that nobody has asked for yet
        ledger = Ledger.open(self.store)
        build = lambda base, size: LocalRuntime(graph, workers, self.pool, base=base, reserve=size, **options)
        said = manifest_for(graph, workers, self.pool)
        if ledger is None:
            self.local, place = build_anywhere(build, aligned(reserve or min(h.default_reserve(), LARGEST)))
            self._begin({**said, **place, "layout": layout_of(self.local)})
        else:
            self._resume(ledger, said, build)

    # ---- what every runtime does ------------------------------------------------------------------

    @property
    def text_predicates(self) -> TextPredicates:
        return self.local.text_predicates

    @property
    def keeper(self) -> Keeper:
        return self

    def abandon(self) -> None:
        """What is committed stays."""

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        self.local.feed(name, lanes, times, diffs)

    @property
    def guard(self) -> Guard | None:
        return self.local.guard

    @guard.setter
    def guard(self, guard: Guard) -> None:
        self.local.guard = guard

    @property
    def watches(self) -> bool:
        return self.local.watches

    @watches.setter
    def watches(self, watches: bool) -> None:
        self.local.watches = watches

    def advance(self, frontiers: dict[str, Antichain]) -> None:
        self.ledger.refuse_if_lost()
        local = self.local
        self._before = [
            dict(local.frontiers),
            {name: list(blocks) for name, blocks in local.done.items()},
            [(part.frontier, {k: list(v) for k, v in part.buffered.items()}) for part in local.parts],
        ]
        local.advance(frontiers)

    def rest(self) -> None:
        self.local.rest()

    def discard(self) -> None:
        self.local.discard()

    def take(self, output: str) -> Rows:
        return self.local.take(output)

    def frontier(self, output: str) -> Antichain:
        return self.local.frontier(output)

    def counters(self) -> dict[str, int]:
        return self.counted or self.local.counters()

    def close(self) -> None:
        """Let the memory go; what is committed stays, and nothing else was to be kept."""
        if not self.counted:
            self.counted = self.local.counters() or {"rows": 0}
            self.local.close()
            release(self.local)

    # ---- what a durable one does ---------------------------------------------------------------------

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
            self._note()
            kept: dict[str, Pages | Journal] = {}
            deltas: dict[str, Delta] = {}
            sections: dict[str, Pages | Journal] = {**self.pages, **self.journals}
            for name, one in sections.items():
                delta = one.delta()
                if delta is not None:
                    kept[name], deltas[name] = one, delta
            with disk_refusals(f"a step could not be kept in {self.store.root}"):
                blocks = segment(deltas)
                name = self.store.put(SEGMENTS, blocks)
                length = sum(len(memoryview(block).cast("B")) for block in blocks)
                state, files = self._state(name, length, words)
                self.ledger.commit(state, files)
        except BaseException as error:
            for journal in self.journals.values():
                journal.drop()
            if isinstance(error, DiskRefused):
                self.ledger.lose_if_behind()
            raise
        for one in kept.values():
            one.settle(name)
        self._settled(words)

    def undo(self) -> None:
        """Take back the last advance, which succeeded and was not committed."""
        frontiers, done, parts = self._before
        local = self.local
        for part, (frontier, buffered) in zip(local.parts, parts, strict=True):
            part.host.undo()
            part.frontier, part.buffered = frontier, buffered
        local.frontiers, local.done = frontiers, done

    # ---- beginning, and beginning again ----------------------------------------------------------------

    def _begin(self, manifest: dict[str, Any]) -> None:
        store = self.store
        try:
            self._attach()
            with disk_refusals(f"{store.root} could not be begun"):
                begin(store)
                store.make(LEDGER)
                store.make(SEGMENTS)
                deltas = {name: pages.delta() for name, pages in self.pages.items()}
                blocks = segment(deltas)
                name = store.put(SEGMENTS, blocks)
                length = sum(len(memoryview(block).cast("B")) for block in blocks)
                self.lengths: dict[str, int] = {}
                self.ledger = Ledger.create(store, manifest, *self._state(name, length, {}))
        except BaseException:
            release(self.local)
            raise
        for pages in self.pages.values():
            pages.settle(name)
        self._settled({})

    def _resume(self, ledger: Ledger, said: dict[str, Any], build: Callable[[int, int], LocalRuntime]) -> None:
        self.ledger, manifest, root = ledger, ledger.manifest, self.store.root
        refuse_other(manifest, said, root)
        try:
            self.local = _built_again(build, manifest)
        except AddressTaken as error:
            raise AddressTaken(
                f"{root} is open in this process already, it seems: its memory has a fixed place, and {error.what}",
                hint="Close that session first, or let go of it (del live); else open it in another process.",
            ) from None
        try:
            if layout_of(self.local) != manifest["layout"]:
                raise CheckpointDiffers(
                    f"{root} was made by a program that computes the same and is written in another order.",
                )
            self._attach()
            self._read()
        except BaseException:
            release(self.local)
            raise

    def _attach(self) -> None:
        self.pages = {
            f"heap/{i}/{worker.me}": Pages(worker)
            for i, part in enumerate(self.local.parts)
            for worker in part.host.workers
        }
        self._left: dict[str, Rows] = {}
        text = self.journals["text"] = Journal(lambda: self.pool.entries()[: text.length], lambda: text.length)

    def _read(self) -> None:
        """The last step, from the files that the ledger names."""
        state, read = self.ledger.state, {}
        names = state["segments"]
        for name in names:
            read[name] = sections(self.ledger.get(SEGMENTS, name), self.store.path(SEGMENTS, name))
        self.lengths = {name: self.ledger.head.files[SEGMENTS][name] for name in names}
        for section, chain in state["chains"].items():
            found = [names[i] for i in chain]
            for name in found:
                if section not in read[name]:
                    raise DamagedFile(f"the file {self.store.path(SEGMENTS, name)} lacks what the ledger says it has.")
            if section in self.pages:
                self.pages[section].catch_up(found, lambda name, section=section: read[name][section])  # type: ignore[misc]
            else:
                self._found[section] = [(name, read[name][section]) for name in found]
        text = self.journals["text"].read(self._found.pop("text", []))
        if not self.pool.add_entries(text):
            raise DamagedFile(f"the text in {self.store.root} does not fit the program's own.")
        self.local.frontiers = {name: as_antichain(f) for name, f in state["frontiers"].items()}
        for i, (part, frontier) in enumerate(zip(self.local.parts, state["parts"], strict=True)):
            part.frontier = as_antichain(frontier)
            for name, cell in part.host.plan.inputs.items():
                section = f"buffered/{i}/{name}"
                if section in self._found:
                    words = self._journal_of(section).read(self._found.pop(section))
                    rows = rows_of(words, cell.schema.width, self.local.coordinates)
                    _, left = split({name: [rows]}, part.frontier)
                    if name in left:
                        part.buffered[name] = left[name]
                        self._left[section] = left[name][0]
        self.words = state["session"]

    # ---- a step ----------------------------------------------------------------------------------------

    def _note(self) -> None:
        """Add to our journals what this step left waiting, and the text that is new."""
        text = self.journals["text"]
        text.add(self.pool.entries(text.length))
        for i, part in enumerate(self.local.parts):
            for name, blocks in part.buffered.items():
                section = f"buffered/{i}/{name}"
                if blocks:
                    lanes, times, diffs = together(blocks)
                    old = self._left.get(section)
                    still = 0
                    if old is not None:
                        _, left = split({name: [old]}, part.frontier)
                        still = len(left[name][0][2]) if name in left else 0
                    self._journal_of(section).add(words_of(lanes[:, still:], times[still:], diffs[still:]))

    def _journal_of(self, section: str) -> Journal:
        """A journal of rows that one stage has been given and not yet taken."""
        if section not in self.journals:
            self.journals[section] = Journal(
                lambda: words_of(*self._left[section]) if section in self._left else np.empty(0, np.int64),
                lambda: len(self._left[section][2]) * 8 if section in self._left else 0,
            )
        return self.journals[section]

    def _state(self, name: str, length: int, words: dict[str, Any]) -> tuple[dict[str, Any], dict[str, dict[str, int]]]:
        """What the record says: every chain as it will be with the new file."""
        sections: dict[str, Pages | Journal] = {**self.pages, **self.journals}
        chains = {section: one.next_chain(name) for section, one in sections.items()}
        used = {link for chain in chains.values() for link in chain}
        lengths = {**self.lengths, name: length}
        order = [link for link in self.lengths if link in used and link != name] + [name]
        at = {link: i for i, link in enumerate(order)}
        local = self.local
        state = {
            "segments": order,
            "chains": {section: [at[link] for link in chain] for section, chain in chains.items() if chain},
            "frontiers": local.frontiers,
            "parts": [part.frontier for part in local.parts],
            "session": words,
        }
        return state, {SEGMENTS: {link: lengths[link] for link in order}}

    def _settled(self, words: dict[str, Any]) -> None:
        self.words, self.lengths = (
            words,
            {n: self.ledger.head.files[SEGMENTS][n] for n in self.ledger.state["segments"]},
        )
        self._left = {
            f"buffered/{i}/{name}": together(blocks)
            for i, part in enumerate(self.local.parts)
            for name, blocks in part.buffered.items()
            if blocks
        }


# ---- rows as words ---------------------------------------------------------------------------------------


def words_of(lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> np.ndarray:
    """Rows one after the other: lanes, time, diff."""
    return np.concatenate([lanes, times.T, diffs[None]]).T.reshape(-1)


def rows_of(words: np.ndarray, lanes: int, coordinates: int) -> Rows:
    rows = words.reshape(-1, lanes + coordinates + 1).T
    parts = rows[:lanes], rows[lanes:-1].T, rows[-1]
    return tuple(np.array(part, np.int64, order="C") for part in parts)  # type: ignore[return-value]


def as_antichain(times: list[list[int]]) -> Antichain:
    return tuple(tuple(time) for time in times)


# ---- what a checkpoint was made by -----------------------------------------------------------------------


def manifest_for(graph: Graph, workers: int, pool: Pool) -> dict[str, Any]:
    each = fingerprints(graph)
    return {
        "ebbflow": version(),
        "engine": engine(),
        "workers": workers,
        "coordinates": list(graph.coordinates),
        "pool": pool._header[[KEY0, KEY1, BITS]].tolist(),
        "program": [[letters, told_node(graph, i)] for i, letters in enumerate(each)],
        "outputs": [  # for who reads them without the program
            [node.name, schema_json(graph.schemas[node.source])] for node in graph.nodes if isinstance(node, n.Output)
        ],
    }


def told_node(graph: Graph, number: int) -> str:
    """A node in a few words: its kind, its name, where it was written, and what it does."""
    node, place = graph.nodes[number], graph.places[number]
    name = getattr(node, "name", None) or graph.names.get(number)
    told = kind(node) + (f' "{name}"' if name else "")
    told += "" if place is None else f" ({Path(place.file).name}, line {place.line})"
    return f"{told}: {shorten(detail(node), MOST_DETAIL, placeholder=' ...')}" if detail(node) else told


def refuse_other(made: dict[str, Any], now: dict[str, Any], root: str) -> None:
    """Refuse a checkpoint of another version, number of workers, or program; of that, say which node differs."""
    if made.get("kind", "local") != now.get("kind", "local"):
        raise CheckpointDiffers(
            f"{root} was made by a program that ran on Spark, with {made['workers']} shards.",
            hint=f"Open it with run(spark, checkpoint=..., shards={made['workers']}), or give another directory.",
        )
    if made["ebbflow"] != now["ebbflow"] or not has_memory_of(now["engine"], made["engine"]):
        was = f"ebbflow {made['ebbflow']}"
        if made["ebbflow"] == now["ebbflow"]:
            was = "another state of its source"
        raise CheckpointDiffers(f"{root} was made by {was}; this is ebbflow {now['ebbflow']}, whose memory differs.")
    if made["workers"] != now["workers"]:
        raise CheckpointDiffers(
            f"{root} was made with {made['workers']} worker{'s' * (made['workers'] != 1)}, and this is "
            f"{now['workers']}.",
            hint=f"Open it with run(workers={made['workers']}), or give another directory.",
        )
    if made["coordinates"] != now["coordinates"]:
        raise CheckpointDiffers(
            f"{root} was made by a program whose times are ({', '.join(made['coordinates'])}); "
            f"this one's are ({', '.join(now['coordinates'])})."
        )
    if made["pool"] != now["pool"]:
        raise CheckpointDiffers(f"{root} was made with another key for its text.")
    before, after = [letters for letters, _ in made["program"]], [letters for letters, _ in now["program"]]
    if before != after:
        new = next((told for letters, told in now["program"] if letters not in before), None)
        gone = next((told for letters, told in made["program"] if letters not in after), None)
        what = f"it has no {new}" if new else "its nodes stand in another order"
        what += f"; and it has {gone}, which this one lacks" if gone else ""
        raise CheckpointDiffers(f"{root} was made by another program: {what}.")


def version() -> str:
    try:
        return metadata.version("ebbflow")
    except metadata.PackageNotFoundError:
        return "that is not installed"


def has_memory_of(now: str | None, made: str) -> bool:
    """Whether words that one engine wrote mean the same to another."""
    while now is not None and now != made:
        now = SAME_MEMORY.get(now)
    return now is not None


def engine() -> str:
    """A few letters for what the words of a heap mean: all named numbers and structures of the engine."""
    found: list[Any] = []
    house = Path(__file__).parents[1]
    files = [*house.glob("trace/*.py"), *house.glob("operators/**/*.py"), *house.glob("engine/*.py")]
    for path in sorted([*files, house / "expressions/interpreter.py"]):
        part = importlib.import_module(".".join(("ebbflow", *path.relative_to(house).with_suffix("").parts)))
        names = sorted(vars(part).items())
        found.append([(name, value) for name, value in names if type(value) is int])
        found.append([(name, value.LAYOUT) for name, value in names if is_address(value)])
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


def layout_of(local: LocalRuntime) -> str:
    """A few letters for where everything lies when nothing has happened yet; limits are not part of it."""
    digest = hashlib.sha256()
    for part in local.parts:
        for worker in part.host.workers:
            delta = Pages(worker).delta()
            words = np.array(delta.words)
            words[[8 + h.Worker.FIELDS[name].offset for name in ("seal", "keep", "effort")]] = 0
            digest.update(np.int64(delta.size).tobytes() + words.tobytes())
    return digest.hexdigest()[:16]


def aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _built_again(build: Callable[[int, int], LocalRuntime], manifest: dict[str, Any]) -> LocalRuntime:
    """The runtime where it lay; a session that nobody holds any more, and Python has not swept away yet, gives way."""
    try:
        return build(manifest["base"], manifest["reserve"])
    except AddressTaken:
        gc.collect()
        return build(manifest["base"], manifest["reserve"])


def build_anywhere(build: Callable[[int, int], LocalRuntime], reserve: int) -> tuple[LocalRuntime, dict[str, int]]:
    """The runtime at an address drawn at random, where nothing else is now and hardly anything will be."""
    for _ in range(16):
        base = random.SystemRandom().randrange(LOWEST, HIGHEST - 64 * reserve, ALIGNED)
        try:
            return build(base, reserve), {"base": base, "reserve": reserve}
        except AddressTaken:
            continue
    raise AddressTaken("no free addresses were found for the memory of a checkpoint.")


def release(local: LocalRuntime) -> None:
    for part in local.parts:
        for worker in part.host.workers:
            worker.H = None  # type: ignore[assignment]  # whoever uses it now is mistaken
            worker.heap.close()
