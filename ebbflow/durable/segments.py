"""Segments: the file of one step: for each section, the runs of words that changed.

Rule: what was written reads back equal; a file that this version does not write is refused. A chain of segments is
as long as its sizes fall by levels, and within twice what is live.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ebbflow.durable.dirty_pages import spread
from ebbflow.durable.store import Block
from ebbflow.errors import DamagedFile

Array = np.ndarray

PAGE = 512  # words, of which the system tells whether one was written
LINE = 32  # words that are compared and written together
MAGIC = b"ebbflow segment\n"
FEW_LINKS = 8  # of one size, before they are written as one
SLACK = 1 << 14  # words that a chain may be longer than twice what it holds


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
    lines: Array  # which it holds
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


def segment(deltas: dict[str, Delta]) -> list[Block]:
    """The bytes of a file that holds these sections."""
    heads = {name: [int(d.whole), int(d.size), *map(len, d[2:])] for name, d in deltas.items()}
    head = json.dumps(heads, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    blocks: list[Block] = [MAGIC, len(head).to_bytes(8, "little"), head]
    for delta in deltas.values():
        blocks += [np.ascontiguousarray(part, "<i8").data.cast("B") for part in delta[2:] if len(part)]
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


def union(parts: Sequence[Array]) -> Array:
    """The numbers of some sorted parts, each once: a merge of runs, which is many times faster than `np.unique`."""
    if len(parts) < 2:
        return parts[0] if parts else np.empty(0, np.int64)
    found = np.sort(np.concatenate(parts), kind="stable")
    return found[np.append(True, found[1:] != found[:-1])] if len(found) else found


def is_within(some: Array, others: Array) -> bool:
    """Whether all of some numbers are among others, which are sorted."""
    at = np.searchsorted(others, some)
    return bool((at < len(others)).all()) and bool((others[at] == some).all())


def runs_of(lines: Array) -> tuple[Array, Array]:
    """Sorted lines as runs of words: where each begins, and its length."""
    if not len(lines):
        return lines, lines
    first = np.flatnonzero(np.concatenate([[True], np.diff(lines) > 1]))
    counts = np.diff(np.append(first, len(lines)))
    return lines[first] * LINE, counts * LINE


def lines_of(delta: Delta) -> Array:
    cleared = delta.cleared.reshape(-1, 2) // LINE
    filled = spread(delta.starts // LINE, (delta.starts + delta.lengths) // LINE)
    return union([filled, spread(cleared[:, 0], cleared[:, 1])])
