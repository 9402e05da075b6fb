"""Result buffer: the rows of an output over all slices of an advance, in one array.

An advance over very many times runs slice by slice, and each slice produces rows. They are written where they stay:
address space is reserved for each lane, and only what is written becomes memory. Fresh memory costs as much as the rows
themselves, so buffers that are no longer read are kept for the next advance.

Rule: no row is copied again unless there are several times as many as the buffer had room for.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from ebbflow.native.memory import RESERVED_ONLY, all_open

ROOM = 1 << 23  # words at first
GROWTH = 8
SPARES_KEPT = 4  # places, of ROOM words each, that wait to be used again

_spare: list[mmap.mmap] = []


class ResultBuffer:
    """The rows of one output: lanes, then time and diff."""

    def __init__(self, lanes: int):
        self._rows, self._count = reserve_rows(lanes + 2, ROOM // (lanes + 2)), 0

    def room(self, n: int) -> tuple[np.ndarray, int]:
        """Where n more rows go, [lanes + 2, all that there is room for], and the column of the first."""
        first, end = self._count, self._count + n
        if end > self._rows.shape[1]:
            full, self._rows = self._rows, reserve_rows(len(self._rows), GROWTH * end)
            self._rows[:, :first] = full[:, :first]
        self._count = end
        return self._rows, first

    def left(self) -> np.ndarray:
        """Where the next rows go, [lanes + 2, as many as there is room for]; `room` says how many did."""
        return self._rows[:, self._count :]

    def rows(self) -> np.ndarray:
        return self._rows[:, : self._count]


class ReservedSpace:
    """Reserved address space, which waits to be used again when the last array in it is gone."""

    def __init__(self, words: int):
        is_usual = words <= ROOM
        self._map = _spare.pop() if is_usual and _spare else reserved(ROOM if is_usual else words)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        words = np.frombuffer(self._map, np.int64)
        return {**words.__array_interface__, "data": (words.ctypes.data, False)}

    def __del__(self) -> None:
        if len(self._map) == 8 * ROOM and len(_spare) < SPARES_KEPT:
            _spare.append(self._map)


def has_spare(words: int) -> bool:
    """Whether there is a place of so many words that was used before."""
    return words <= ROOM and len(_spare) > 0


def reserve_rows(lanes: int, room: int) -> np.ndarray:
    """int64[lanes, room], with whatever it holds."""
    return np.asarray(ReservedSpace(lanes * room))[: lanes * room].reshape(lanes, room)


def reserved(words: int) -> mmap.mmap:
    """Zeros that are not memory before they are written."""
    made = mmap.mmap(-1, 8 * words, flags=RESERVED_ONLY)
    first = np.frombuffer(made, np.int64).ctypes.data // 8 - 1
    all_open(first, first + words)  # a heap may have lain there
    return made
