"""An image of a worker: the pages of its heap that changed, and the chain of segments that together hold them all.

A heap at a fixed address holds all of a worker's state by address, so its pages are its state: traces, loops, owed
times, mail, and a walk that stands at a meeting.  Pages that changed are found by a hash of each that the system says
was touched, or of all where it does not say, and go with those of other workers into one file, a segment, named by its
content.

    worker = Worker(..., reserve=bytes, base=address)     # or Host(...): worker i lies at base + i * reserve
    pages = Pages(worker)                                 # nothing is written yet
    delta = pages.delta(mid_walk=True)                    # what the next link has to hold: a Delta; nothing changes
    blocks = segment({"heap/0": delta, "heap/5": ...})    # the bytes of a file: store.put("segments", blocks) -> name
    pages.settle(name)                                    # it is in that file; pages.chain == [..., name]

    pages = Pages(worker)                                 # in another process: same plan, same base, same reserve
    pages.catch_up(chain, lambda name: sections(data_of(name))["heap/5"])   # only what it does not hold yet is read

Rule: the links of a chain, read in order, give every page as it was when the last one was written.  A page of a link
that is replaced is in the link that replaces it.  The same image and the same input give the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ebbflow.columns.kernel import address_of, inline, kernel, memory
from ebbflow.errors import DamagedFile
from ebbflow.runtime.touched import Touched, spread
from ebbflow.runtime.worker import Worker
from ebbflow.trace import heap as h
from ebbflow.trace.store import Block

Array = np.ndarray

PAGE = 512  # words
MAGIC = b"ebbflow segment\n"
FEW_LINKS = 8  # of one size, before they are written as one
SLACK = 1 << 14  # words that a chain may be longer than twice what it holds
FEW_PAGES = 1024  # that are sooner read than asked for

HOW = "EBBFLOW_PAGES"  # how changed pages are found: "all" are read, or all as well and "both" compared, or as is best


class Delta(NamedTuple):
    """What a link holds of its section: words in runs, and a few words beside them."""

    whole: bool  # what came before counts no more: all else is zeros
    size: int  # words of the section from now on
    starts: Array  # int64[runs]
    lengths: Array
    words: Array  # the runs' words, one after the other
    beside: Array
    cleared: Array = np.empty(0, np.int64)  # runs of zeros, of which no words are needed: where each begins and ends


class Link(NamedTuple):
    name: str  # of the file
    pages: Array  # which it holds
    weight: int  # in words


def links_kept(weights: Sequence[int], fresh: int, live: int, merged: Callable[[int], int]) -> int:
    """How many links stay before a new one of weight `fresh`; it takes the place of the others.

    merged: the weight of the new link if so many stay.  A chain stays short, as its links fall in size by levels, and
    within twice what is live: else the new link holds everything, which has paid for itself by then.
    """
    if not weights or sum(weights) + fresh > 2 * live + SLACK:
        return 0
    kept, weight = len(weights), fresh
    while True:
        level, k = level_of(weight), kept
        while k and level_of(weights[k - 1]) <= level:
            k -= 1
        if kept - k < FEW_LINKS:
            return kept
        kept, weight = k, merged(k)


def level_of(weight: int) -> int:
    return max(0, weight - 1).bit_length() // 3


# ---- segments ---------------------------------------------------------------------------------------


def segment(deltas: dict[str, Delta]) -> list[Block]:
    """The bytes of a file that holds these sections."""
    heads = {name: [int(d.whole), int(d.size), *map(len, d[2:])] for name, d in deltas.items()}
    head = json.dumps(heads, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    blocks: list[Block] = [MAGIC, len(head).to_bytes(8, "little"), head]
    for delta in deltas.values():
        blocks += [memoryview(np.ascontiguousarray(part, "<i8")).cast("B") for part in delta[2:] if len(part)]
    return blocks


def sections(data: bytes, path: str = "segment") -> dict[str, Delta]:
    """The sections of a segment whose checksum held; the words are views of `data`."""
    try:
        if data[: len(MAGIC)] != MAGIC:
            raise ValueError
        start = len(MAGIC) + 8
        length = int.from_bytes(data[len(MAGIC) : start], "little")
        heads = json.loads(data[start : start + length])
        words = np.frombuffer(data, "<i8", offset=start + length)
        found, at = {}, 0
        for name, (whole, size, *counts) in heads.items():
            parts = []
            for n in counts:
                parts.append(words[at : at + n])
                at += n
            delta = found[name] = Delta(bool(whole), size, *parts)
            if [len(part) for part in parts] != counts or delta.lengths.sum() != len(delta.words):
                raise ValueError
            for starts, ends in ((delta.starts, delta.starts + delta.lengths), delta.cleared.reshape(-1, 2).T):
                if len(starts) and ((ends < starts).any() or starts.min() < 0 or ends.max() > size):
                    raise ValueError
        if at != len(words):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedFile(f"the file {path} is not a segment as this version writes them.") from None
    return found


# ---- the pages of a heap ------------------------------------------------------------------------------


class Pages:
    """What is written of one worker's heap, and where."""

    def __init__(self, worker: Worker):
        self.worker = worker
        self.links: list[Link] = []
        self.hashes = np.empty((0, 2), np.int64)  # as the chain has them
        self.live = 0  # words on pages that are not all zeros: what it takes to hold the heap
        self._next: tuple[int, Array, Array] | None = None
        self._how = os.environ.get(HOW, "")
        self._touched: Touched | None = None
        self._suspects = np.empty(0, np.int64)  # pages that may be other than the chain has them

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
        with Written(self.worker):
            hashes, changed = self._look()
            is_filled = filled_rows(hashes)
            weight = lambda pages: PAGE * int(np.count_nonzero(is_filled[pages]))
            since = lambda k: union([changed, *(link.pages[link.pages < len(hashes)] for link in self.links[k:])])
            live = self.live = PAGE * int(np.count_nonzero(is_filled))
            weights = [link.weight for link in self.links]
            kept = links_kept(weights, weight(changed), live, lambda k: weight(since(k)))
            pages = since(kept) if kept else np.flatnonzero(is_filled)
            self._next = kept, pages, hashes
            filled = pages[is_filled[pages]]
            starts, lengths = runs_of(filled)
            from_, many = runs_of(pages[~is_filled[pages]])
            cleared = np.stack([from_, from_ + many], axis=1).reshape(-1)
            words, beside = self._all()[filled].reshape(-1), words_beside(self.worker, mid_walk)
            return Delta(not kept, len(hashes) * PAGE, starts, lengths, words, beside, cleared)

    def settle(self, name: str) -> None:
        """The delta last asked for is in the file of this name."""
        assert self._next is not None, "nothing was asked for"
        kept, pages, self.hashes = self._next
        self.links[kept:] = [Link(name, pages, PAGE * int(filled_rows(self.hashes[pages]).sum()))]
        self._next, self._suspects = None, np.empty(0, np.int64)

    def catch_up(self, chain: Sequence[str], read: Callable[[str], Delta]) -> None:
        """Make the heap what a chain says, reading only the links that are not held if that is enough."""
        same = 0
        while same < min(len(chain), len(self.links)) and chain[same] == self.links[same].name:
            same += 1
        deltas = [read(name) for name in chain[same:]]
        with Written(self.worker):
            known = self._look()[1] if same else None
        if known is not None:
            ours = union([known, *(link.pages for link in self.links[same:])])
            theirs = union([pages_of(delta) for delta in deltas])
            if len(np.setdiff1d(ours, theirs)):
                same = 0  # something was done here that this chain does not know of
                deltas = [read(name) for name in chain]
        if not same:
            self.worker.heap.wipe()
        links = self.links[:same]
        for name, delta in zip(chain[same:], deltas, strict=True):
            self._apply(delta)
            pages = pages_of(delta)
            links.append(Link(name, pages, len(delta.words)))
        self.links, self._next = links, None
        with Written(self.worker):
            self.hashes, _ = self._look()
        self.live = PAGE * int(np.count_nonzero(filled_rows(self.hashes)))
        self._suspects = np.empty(0, np.int64)

    def _apply(self, delta: Delta) -> None:
        worker = self.worker
        if delta.whole:
            worker.heap.wipe()
        worker.heap.all_open()
        H, first, at = worker.H, worker.W - 8, 0
        for start, length in zip(delta.starts.tolist(), delta.lengths.tolist(), strict=True):
            H[first + start : first + start + length] = delta.words[at : at + length]
            at += length
        for start, end in delta.cleared.reshape(-1, 2).tolist():
            worker.heap.clear(start, end - start)
        take_beside(worker, delta.beside)
        Written(worker).__exit__()

    def _look(self) -> tuple[Array, Array]:
        """The hash of every page as it is now, and which pages are other than the chain has them."""
        count, known = -(-len(self.worker.heap.words) // PAGE), len(self.hashes)
        told = self._told(count)
        if told is None:
            hashes = self._hash_all(count)
            return hashes, changed_rows(hashes, self.hashes)
        self._suspects = union([self._suspects, told])
        suspects = union([self._suspects[self._suspects < count], np.arange(min(known, count), count)])
        hashes = np.empty((count, 2), np.int64)
        hashes[:known] = self.hashes[:count]
        hash_pages(self.worker.H, self.worker.W - 8, suspects, hashes)
        old = suspects[: np.searchsorted(suspects, known)]
        other = (hashes[old] != self.hashes[old]).any(axis=1)
        if self._how == "both" and (hashes != self._hash_all(count)).any():
            raise AssertionError("a page was written, and the system did not tell")
        return hashes, np.concatenate([old[other], suspects[len(old) :]])

    def _told(self, count: int) -> Array | None:
        """The pages that were touched since the last time this was asked; None: any may have been."""
        if self._how == "all" or (count < FEW_PAGES and self._how != "both"):
            return None
        if self._touched is None:
            first = self.worker.W - 8
            self._touched = Touched(8 * (first + 1), 8 * (self.worker.heap.limit - first))
        return self._touched.look(8 * PAGE * count)

    def _hash_all(self, count: int) -> Array:
        hashes = np.empty((count, 2), np.int64)
        hash_pages(self.worker.H, self.worker.W - 8, np.arange(count), hashes)
        return hashes

    def _all(self) -> Array:
        worker, first = self.worker, self.worker.W - 8
        count = -(-len(worker.heap.words) // PAGE) * PAGE
        return worker.H.words[first : first + count].reshape(-1, PAGE)


class Written:
    """A worker's heap as it is written: without the words that are true in this process only."""

    def __init__(self, worker: Worker):
        self.worker = worker

    def __enter__(self) -> None:
        H = self.worker.H
        for at in self.worker.pool_words:
            H[at] = 0
        H[self.worker.W + h.LIMIT] = 0

    def __exit__(self, *error: object) -> None:
        H = self.worker.H
        for at in self.worker.pool_words:
            H[at] = self.worker.pool.address
        H[self.worker.W + h.LIMIT] = self.worker.heap.limit


def words_beside(worker: Worker, mid_walk: bool) -> Array:
    """What a worker knows beside its heap.  Between two advances nothing is left to undo."""
    words = [worker.step, worker.forget_at, int(mid_walk) + 2 * int(mid_walk and worker.goes_on)]
    if not mid_walk:
        return np.array(words, np.int64)
    parts = [np.array([len(worker.slice_times)]), worker.slice_times]
    for at, saved in worker.saved:
        parts += [np.array([at, len(saved)]), saved]
    return np.concatenate([np.array(words), *parts]).astype(np.int64)


def take_beside(worker: Worker, words: Array) -> None:
    worker.step, worker.forget_at, how = words[:3].tolist()
    worker.slice_times, worker.saved, worker.goes_on = np.empty(0, np.int64), [], how > 1
    if how:
        at = 4 + int(words[3])
        worker.slice_times = words[4:at].astype(np.int64)
        while at < len(words):
            v, n = words[at : at + 2].tolist()
            worker.saved.append((v, words[at + 2 : at + 2 + n].astype(np.int64)))
            at += 2 + n


def changed_rows(new: Array, old: Array) -> Array:
    """The numbers of the pages whose hash is another, or that are new."""
    both = min(len(new), len(old))
    return np.concatenate([np.flatnonzero((new[:both] != old[:both]).any(axis=1)), np.arange(both, len(new))])


def filled_rows(hashes: Array) -> Array:
    """Whether each page holds anything but zeros."""
    return (hashes[:, 0] != _ZEROS[0]) | (hashes[:, 1] != _ZEROS[1])


def union(parts: Sequence[Array]) -> Array:
    return np.unique(np.concatenate(parts)) if len(parts) > 1 else parts[0] if parts else np.empty(0, np.int64)


def runs_of(pages: Array) -> tuple[Array, Array]:
    """Sorted pages as runs of words: where each begins, and its length."""
    if not len(pages):
        return pages, pages
    first = np.flatnonzero(np.concatenate([[True], np.diff(pages) > 1]))
    counts = np.diff(np.append(first, len(pages)))
    return pages[first] * PAGE, counts * PAGE


def pages_of(delta: Delta) -> Array:
    cleared = delta.cleared.reshape(-1, 2) // PAGE
    filled = spread(delta.starts // PAGE, (delta.starts + delta.lengths) // PAGE)
    return union([filled, spread(cleared[:, 0], cleared[:, 1])])


# ---- kernels


@inline
def mixed(a, w, by):
    """A bijection of w for every a, and of a for every w; all bits of both count in the next round."""
    a = (a ^ w) * -7046029254386353131
    return a ^ ((a >> by) & ((1 << (64 - by)) - 1))


@kernel
def hash_pages(H, first, ids, out):
    """needs: out: [pages, 2].  leaves: there, 128 bits for each of some pages of 512 words from `first` on."""
    for k in range(ids.shape[0]):
        i = ids[k]
        p = first + i * 512
        a, b, c, d = 1, 2, 3, 4
        for j in range(0, 512, 4):
            a = mixed(a, h.peek(H, p + j), 32)
            b = mixed(b, h.peek(H, p + j + 1), 31)
            c = mixed(c, h.peek(H, p + j + 2), 30)
            d = mixed(d, h.peek(H, p + j + 3), 29)
        out[i, 0] = mixed(mixed(mixed(a, b, 32), c, 32), d, 32)
        out[i, 1] = mixed(mixed(mixed(d * 3, c, 29), b * 5, 29), a * 7, 29)
    return 0


def _hash_of_zeros() -> Array:
    zeros, found = np.zeros(PAGE, np.int64), np.empty((1, 2), np.int64)
    hash_pages(memory(), address_of(zeros), np.zeros(1, np.int64), found)
    return found[0]


_ZEROS = _hash_of_zeros()
