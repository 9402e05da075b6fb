"""Image: the state of a worker on disk, as a chain of segments that each hold the parts of its heap that changed.

A heap at a fixed address holds all of a worker's state, so its words are the state: traces, loops, owed times,
outboxes, and a walk that stands at a barrier. Changes are scattered, a few words on each of many pages; so pages are
compared, by hashes, and written in lines, sixteen to a page. Only pages that the system reports as dirty are compared,
or all where it reports nothing. The changed lines of all workers go into one file, a segment, named by its content.

    worker = Worker(..., reserve=bytes, base=address)     # or Host(...): worker i lies at base + i * reserve
    pages = Pages(worker)                                 # nothing is written yet
    delta = pages.delta(mid_walk=True)                    # what the next link has to hold: a Delta; nothing changes
    blocks = segment({"heap/0": delta, "heap/5": ...})    # the bytes of a file: store.put("segments", blocks) -> name
    pages.settle(name)                                    # it is in that file; pages.chain == [..., name]

    pages = Pages(worker)                                 # in another process: same plan, same base, same reserve
    pages.catch_up(chain, lambda name: sections(data_of(name))["heap/5"])   # only what it does not hold yet is read

Rule: the segments of a chain, read in order, give every line as it was when the last one was written. A segment that
replaces others holds their lines. The same image and the same input give the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

import numpy as np

from ebbflow.durable.changed_lines import changed_lines, filled_rows, move_runs
from ebbflow.durable.dirty_pages import DirtyPages, spread
from ebbflow.durable.segments import (
    LINE,
    PAGE,
    Array,
    Delta,
    Link,
    is_within,
    lines_of,
    links_kept,
    runs_of,
    union,
)
from ebbflow.engine.worker import Worker
from ebbflow.native.kernel import address_of
from ebbflow.trace.reserved_heap import Heap
from ebbflow.trace.worker_fields import Vector

LINES = PAGE // LINE  # on a page
FEW_PAGES = 1024  # that are sooner read than asked for

# how changed pages are found: "all" are read, or all as well and "both" compared, or as is best
PAGES_SETTING = "EBBFLOW_PAGES"


# ---- the pages of a heap ------------------------------------------------------------------------------


class Pages:
    """What is written of one worker's heap, and where."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.links: list[Link] = []
        self.live = 0  # words on lines that are not all zeros: what it takes to hold the heap
        self._known, self._count = np.empty((0, 2), np.int64), 0  # hashes, and how many of them count
        self._before: tuple[int, int, Array, Array] | None = None  # what to put back if a delta is not settled
        self._next: tuple[int, Array] | None = None
        self._how = os.environ.get(PAGES_SETTING, "")
        self._dirty: DirtyPages | None = None
        self._suspects = np.empty(0, np.int64)  # pages that may be other than the chain has them

    @property
    def hashes(self) -> Array:
        """Of every line: as the chain has it, and from a delta until it is settled as that has it."""
        return self._known[: self._count]

    @property
    def chain(self) -> list[str]:
        """The files that hold the heap, in order."""
        return [link.name for link in self.links]

    def next_chain(self, name: str) -> list[str]:
        """The chain as it will be when the delta last asked for is in the file of this name."""
        return self.chain if self._next is None else [*self.chain[: self._next[0]], name]

    def delta(self, mid_walk: bool = False) -> Delta:
        """What the next link has to hold.  mid_walk: the walk is not finished, and may be undone."""
        self.worker.heap.trim()  # what nothing uses is zeros, and need not be written
        self._put_back()
        with Written(self.worker):
            changed = self._note(*self._look())
            hashes = self.hashes
            is_filled = lambda lines: filled_rows(hashes[lines])
            weight = lambda lines: LINE * int(np.count_nonzero(is_filled(lines)))
            since = lambda k: union([changed, *(link.lines[link.lines < len(hashes)] for link in self.links[k:])])
            weights = [link.weight for link in self.links]
            kept = links_kept(weights, weight(changed), self.live, lambda k: weight(since(k)))
            lines = since(kept) if kept else np.flatnonzero(filled_rows(hashes))
            self._next = kept, lines
            filled = is_filled(lines)
            starts, lengths = runs_of(lines[filled])
            from_, many = runs_of(lines[~filled])
            cleared = np.stack([from_, from_ + many], axis=1).reshape(-1)
            words, beside = np.empty(int(lengths.sum()), np.int64), words_beside(self.worker, mid_walk)
            move_runs(self.worker.W - 8, np.stack([starts, lengths], axis=1), address_of(words), 1)
            return Delta(not kept, len(hashes) * LINE, starts, lengths, words, beside, cleared)

    def settle(self, name: str) -> None:
        """The delta last asked for is in the file of this name."""
        assert self._next is not None, "nothing was asked for"
        kept, lines = self._next
        self.links[kept:] = [Link(name, lines, LINE * int(filled_rows(self.hashes[lines]).sum()))]
        self._next, self._before, self._suspects = None, None, np.empty(0, np.int64)

    def catch_up(self, chain: Sequence[str], read: Callable[[str], Delta]) -> None:
        """Make the heap what a chain says, reading only the links that are not held if that is enough."""
        self._put_back()
        same = 0
        while same < min(len(chain), len(self.links)) and chain[same] == self.links[same].name:
            same += 1
        deltas = [read(name) for name in chain[same:]]
        lines = [lines_of(delta) for delta in deltas]
        if same:
            with Written(self.worker):
                _, changed, _ = self._look()
            ours = union([changed, *(link.lines for link in self.links[same:])])
            if not is_within(ours, union(lines)):
                same = 0  # something was done here that this chain does not know of
                deltas = [read(name) for name in chain]
                lines = [lines_of(delta) for delta in deltas]
        if not same:
            self.worker.heap.wipe()
        links = self.links[:same]
        for name, delta, held in zip(chain[same:], deltas, lines, strict=True):
            self._apply(delta)
            links.append(Link(name, held, len(delta.words)))
        self.links, self._next = links, None
        with Written(self.worker):
            self._note(*(self._look_again(union(lines)) if same else self._look()))
        self._before, self._suspects = None, np.empty(0, np.int64)

    def _apply(self, delta: Delta) -> None:
        apply_delta(self.worker.heap, delta)
        take_beside(self.worker, delta.beside)
        Written(self.worker).__exit__()

    # ---- what is known of the lines

    def _look(self) -> tuple[int, Array, Array]:
        """How many lines there are, which of them are other than the chain has them, and the hashes of these."""
        count = self._size()
        told = self._told(count)
        if told is None:
            return count, *self._compared(np.arange(count))
        self._suspects = union([self._suspects, told])
        pages = self._suspects[self._suspects < count // LINES]
        return self._looked_at(count, spread(pages * LINES, pages * LINES + LINES))

    def _look_again(self, lines: Array) -> tuple[int, Array, Array]:
        """The same where only these lines were written since the last look."""
        count = self._size()
        if self._told(count) is None:
            return count, *self._compared(np.arange(count))
        return self._looked_at(count, lines[lines < count])

    def _looked_at(self, count: int, lines: Array) -> tuple[int, Array, Array]:
        """What these lines and those that are new tell."""
        found = self._compared(union([lines, np.arange(min(self._count, count), count)]))
        if self._how == "both" and self._compared(np.arange(count))[0].tolist() != found[0].tolist():
            raise AssertionError("a line was written, and nobody told")
        return count, *found

    def _compared(self, lines: Array) -> tuple[Array, Array]:
        """Those of some lines that are other than they are known to be, and their hashes."""
        out = np.empty((len(lines), 3), np.int64)
        found = out[: changed_lines(self.worker.W - 8, self._count, lines, self._known, out)]
        return found[:, 0].copy(), found[:, 1:].copy()

    def _note(self, count: int, lines: Array, hashes: Array) -> Array:
        """From now on this is known of the lines, until it is put back."""
        old = lines[: np.searchsorted(lines, self._count)]
        self._before = self._count, self.live, old, self._known[old]
        gone = self._known[count : self._count]
        if count > len(self._known):
            more = np.empty((count + count // 4, 2), np.int64)
            more[: self._count] = self.hashes
            self._known = more
        was = np.count_nonzero(filled_rows(self._before[3])) + np.count_nonzero(filled_rows(gone))
        self.live += LINE * (int(np.count_nonzero(filled_rows(hashes))) - int(was))
        self._known[lines], self._count = hashes, count
        return lines

    def _put_back(self) -> None:
        """What was noted and did not come to be is forgotten."""
        if self._before is not None:
            self._count, self.live, lines, hashes = self._before
            self._known[lines] = hashes
            self._before = self._next = None

    def _told(self, count: int) -> Array | None:
        """The pages that were touched since the last time this was asked; None: any may have been."""
        pages = count // LINES
        if self._how == "all" or (pages < FEW_PAGES and self._how != "both"):
            return None
        if self._dirty is None:
            first = self.worker.W - 8
            self._dirty = DirtyPages(8 * (first + 1), 8 * (self.worker.heap.end - first))
        return self._dirty.look(8 * PAGE * pages)

    def _size(self) -> int:
        """The lines of all pages that were ever given out."""
        return -(-len(self.worker.heap.words) // PAGE) * LINES


def apply_delta(heap: Heap, delta: Delta) -> None:
    """Make the words of a heap what one more link of its chain says."""
    if delta.whole:
        heap.wipe()
    heap.all_open()
    first, words = heap.W - 8, np.ascontiguousarray(delta.words, np.int64)
    move_runs(first, np.stack([delta.starts, delta.lengths], axis=1), address_of(words), 0)
    for start, end in delta.cleared.reshape(-1, 2).tolist():
        a, b = -(-start // PAGE) * PAGE, end // PAGE * PAGE
        if a < b:
            heap.clear(a, b - a)
        for at, until in ((start, min(a, end)), (max(a, b), end)):
            heap.H[first + at : first + until] = 0


class Written:
    """A worker's heap as it is written: without the words that are true in this process only."""

    def __init__(self, worker: Worker):
        self.worker = worker

    def __enter__(self) -> None:
        H = self.worker.H
        for at in self.worker.pool_words:
            H[at] = 0
        self.worker.header.limit = self.worker.header.space_end = 0
        self.worker.forget_block()

    def __exit__(self, *error: object) -> None:
        H = self.worker.H
        for at in self.worker.pool_words:
            H[at] = self.worker.pool.address
        self.worker.header.limit, self.worker.header.space_end = self.worker.heap.limit, self.worker.heap.end


def words_beside(worker: Worker, mid_walk: bool) -> Array:
    """What a worker knows beside its heap.  Between two advances nothing is left to undo."""
    words = [worker.step, worker.forget_at, int(mid_walk)]
    if not mid_walk:
        return np.array(words, np.int64)
    parts = [np.array([len(worker.slice_times)]), worker.slice_times]
    for at, saved in worker.saved or ():
        parts += [np.array([at, len(saved)]), saved]
    return np.concatenate([np.array(words), *parts]).astype(np.int64)


def take_beside(worker: Worker, words: Array) -> None:
    worker.step, worker.forget_at, how = words[:3].tolist()
    worker.slice_times, worker.saved = np.empty(0, np.int64), None
    worker.kept = 0  # the heap says what can be taken back
    if how:
        worker.saved = []
        at = 4 + int(words[3])
        worker.slice_times = words[4:at].astype(np.int64)
        while at < len(words):
            v, n = words[at : at + 2].tolist()
            worker.saved.append((Vector(v), words[at + 2 : at + 2 + n].astype(np.int64)))
            at += 2 + n
