"""Durable local runtime: every committed step is there again after the process has ended.

The engine's heaps are at fixed addresses, so their pages are the state; future rows, text and the state of the session
are journals beside them. A step writes what it changed as one segment, and counts when its record is in the ledger.

Rule: a step that was not committed is undone in memory too; opening a checkpoint gives exactly the last committed step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.durable.image import Pages
from ebbflow.durable.journal import Journal
from ebbflow.durable.ledger import Ledger, begin
from ebbflow.durable.records import LEDGER, SEGMENTS
from ebbflow.durable.segments import Delta, sections, segment
from ebbflow.durable.store import Files, Store, disk_refusals, local_path
from ebbflow.engine.node_work import NodeWork
from ebbflow.engine.slices import Antichain, Rows
from ebbflow.errors import AddressTaken, CheckpointDiffers, DamagedFile, DiskRefused
from ebbflow.runtime.contract import Guard, Keeper
from ebbflow.runtime.heap_places import LARGEST, aligned, build_anywhere, built_again, layout_of, release
from ebbflow.runtime.local import LocalRuntime, split, together
from ebbflow.runtime.made_by import manifest_for, refuse_other
from ebbflow.trace.reserved_heap import default_reserve


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
            self.local, place = build_anywhere(build, aligned(reserve or min(default_reserve(), LARGEST)))
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

    def work_by_node(self) -> dict[int, NodeWork]:
        return {} if self.counted else self.local.work_by_node()

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
            self.local = built_again(build, manifest)
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
            {n: self.ledger.head.files[SEGMENTS][n] for n in self.ledger.state[SEGMENTS]},
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
