"""Gathered rows: what an output gives in many small parts, in one place.

An advance of very many times is done slice by slice, and each slice has rows to give.  They are written where they
stay: address space is reserved for each lane, and only what is written becomes memory.  Fresh memory costs as much as
the rows themselves, so what nobody reads any more is kept for the next advance.

Rule: no row is copied again unless there are several times as many as there was room for.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ebbflow.columns.memory import RESERVED, all_open

ROOM = 1 << 23  # words at first
GROWTH = 8
KEPT = 4  # places, of ROOM words each, that wait to be used again

_waiting: list[mmap.mmap] = []


class Gathered:
    """The rows of one output: lanes, then time and diff."""

    def __init__(self, lanes: int):
        self._rows, self._count = place_for(lanes + 2, ROOM // (lanes + 2)), 0

    def room(self, n: int) -> tuple[np.ndarray, int]:
        """Where n more rows go, [lanes + 2, all that there is room for], and the column of the first."""
        first, end = self._count, self._count + n
        if end > self._rows.shape[1]:
            full, self._rows = self._rows, place_for(len(self._rows), GROWTH * end)
            self._rows[:, :first] = full[:, :first]
        self._count = end
        return self._rows, first

    def left(self) -> np.ndarray:
        """Where the next rows go, [lanes + 2, as many as there is room for]; `room` says how many did."""
        return self._rows[:, self._count :]

    def rows(self) -> np.ndarray:
        return self._rows[:, : self._count]


class Place:
    """Reserved address space, which waits to be used again when the last array in it is gone."""

    def __init__(self, words: int):
        is_usual = words <= ROOM
        self._map = _waiting.pop() if is_usual and _waiting else reserved(ROOM if is_usual else words)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        words = np.frombuffer(self._map, np.int64)
        return {**words.__array_interface__, "data": (words.ctypes.data, False)}

    def __del__(self) -> None:
        if len(self._map) == 8 * ROOM and len(_waiting) < KEPT:
            _waiting.append(self._map)


def is_waiting(words: int) -> bool:
    """Whether there is a place of so many words that was used before."""
    return words <= ROOM and len(_waiting) > 0


def place_for(lanes: int, room: int) -> np.ndarray:
    """int64[lanes, room], with whatever it holds."""
    return np.asarray(Place(lanes * room))[: lanes * room].reshape(lanes, room)


def reserved(words: int) -> mmap.mmap:
    """Zeros that are not memory before they are written."""
    made = mmap.mmap(-1, 8 * words, flags=RESERVED)
    first = np.frombuffer(made, np.int64).ctypes.data // 8 - 1
    all_open(first, first + words)  # a heap may have lain there
    return made
