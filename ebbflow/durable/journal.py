"""Journal: an append-only list of words on disk, rewritten when most of it is no longer needed.

Future rows, rows by key, the logs of outputs, the text pool: each grows by what a step adds and shrinks by what is no
longer needed. Only additions are written; when a journal is twice as long as its live part, the live part is written
anew.

Rule: the journal, read in order, gives the live rows; nothing in memory changes until the step is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ebbflow.durable.segments import SLACK, Delta, links_kept

Array = np.ndarray

AT_HAND = 1 << 15  # words of the last links kept in memory, to be written once more as one


class Link(NamedTuple):
    name: str
    start: int  # in words of the journal
    weight: int


class Journal:
    def __init__(
        self,
        alive: Callable[[], Array],
        size: Callable[[], int] | None = None,
        beside: Callable[[], Array] | None = None,
    ):
        """alive: the words that count as of the last step that was settled.  size: how many they are, where that is
        known; else how many they were when last written.  beside: what readers of the files need to know of `alive`;
        where they need it, links are also merged as they are, and `alive` is asked only when the journal is too long.
        """
        self.alive, self._size, self._beside = alive, size, beside
        self._told = np.empty(0, np.int64)  # beside the first link
        self.links: list[Link] = []
        self.length = 0  # words, since it was last written anew
        self._first = 0  # words that were alive then
        self._recent: list[tuple[int, Array]] = []  # the last ones: where they begin
        self._fresh: list[Array] = []
        self._anew = False
        self._next: tuple[int, int, list[tuple[int, Array]], Array | None] | None = None

    @property
    def chain(self) -> list[str]:
        return [link.name for link in self.links]

    def add(self, words: Array) -> None:
        if len(words):
            self._fresh.append(words)

    def renew(self) -> None:
        """What is alive has become less in a way that cannot be told from the words: they are written anew."""
        self._anew = self._anew or self.length > 0

    def next_chain(self, name: str) -> list[str]:
        """The chain as it will be when the delta last asked for is in the file of this name."""
        return self.chain if self._next is None else [*self.chain[: self._next[0]], name]

    def delta(self) -> Delta | None:
        """What the next link has to hold; None: nothing was added."""
        fresh = sum(map(len, self._fresh))
        self._next = None
        if not fresh and not self._anew:
            return None
        end = self.length + fresh
        size = self._size() if self._size is not None else self._first
        kept = links_kept([link.weight for link in self.links], fresh, size, lambda k: end - self.links[k].start)
        at_hand = self._recent[0][0] if self._recent else self.length
        if kept and kept < len(self.links) and self.links[kept].start < at_hand:
            kept = len(self.links)
        if self._beside is not None and self._can_merge(kept, size, fresh):
            words = np.concatenate([*(old for _, old in self._recent), *self._fresh])
            self._next = 0, 0, [(0, words)], None
            return delta_of(True, 0, words)._replace(beside=self._told)
        if not kept or self._anew:
            words = np.concatenate([self.alive(), *self._fresh])
            beside = np.empty(0, np.int64) if self._beside is None else np.array([len(words), *self._beside()])
            self._next = 0, 0, [(0, words)], beside
            return delta_of(True, 0, words)._replace(beside=beside)
        start = self.links[kept].start if kept < len(self.links) else self.length
        before = [words for at, words in self._recent if at >= start]
        words = np.concatenate([*before, *self._fresh])
        assert len(words) == end - start, "the words that are at hand are the last ones"
        self._next = kept, start, [(at, old) for at, old in self._recent if at < start] + [(start, words)], None
        return delta_of(False, start, words)

    def _can_merge(self, kept: int, size: int, fresh: int) -> bool:
        """Whether all links become one because they are many, and their words are at hand."""
        is_due = bool(self.links) and not kept and not self._anew
        is_short = self.length + fresh <= 2 * size + SLACK
        return is_due and is_short and bool(self._recent) and self._recent[0][0] == 0

    def settle(self, name: str) -> None:
        """The delta last asked for is in the file of this name."""
        if self._next is not None:
            kept, start, recent, beside = self._next
            self.length = start + len(recent[-1][1])
            self.links[kept:] = [Link(name, start, self.length - start)]
            if beside is not None:
                self._first, self._told = self.length, beside
            self._recent = recent
            self._let_go()
        self.drop()

    def drop(self) -> None:
        """The step did not happen: what was added for it is forgotten."""
        self._fresh, self._next, self._anew = [], None, False

    def read(self, named: Iterable[tuple[str, Delta]]) -> Array:
        """Take up a journal where it was left: all its words."""
        words = np.empty(0, np.int64)
        for name, delta in named:
            start = int(delta.starts[0]) if len(delta.starts) else 0
            words = np.concatenate([words[:start], delta.words])
            if not self.links:
                self._told = np.array(delta.beside)
            self.links.append(Link(name, start, len(delta.words)))
        self.length = len(words)
        self._first = int(self._told[0]) if len(self._told) else self.links[0].weight if self.links else 0
        self._recent = [(link.start, words[link.start : link.start + link.weight]) for link in self.links]
        self._let_go()
        return words

    def _let_go(self) -> None:
        """Keep only the last words at hand."""
        at_hand = max(AT_HAND, self._first // 4)
        while self._recent and self.length - self._recent[0][0] > at_hand:
            self._recent.pop(0)


def delta_of(whole: bool, start: int, words: Array) -> Delta:
    one = np.ones(1 if len(words) else 0, np.int64)
    return Delta(whole, start + len(words), one * start, one * len(words), words, np.empty(0, np.int64))
