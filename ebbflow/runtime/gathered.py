"""Gathered rows: what an output gives in many small parts, in one place.

An advance of very many times is done slice by slice, and each slice has rows to give.  They are written where they
stay: address space is reserved for each lane, and only what is written becomes memory.

Rule: no row is copied again unless there are several times as many as there was room for.
"""

from __future__ import annotations

import mmap

import numpy as np

from ebbflow.columns.memory import RESERVED

ROOM = 1 << 20  # rows at first
GROWTH = 8


class Gathered:
    """The rows of one output: lanes, then time and diff."""

    def __init__(self, lanes: int):
        self._rows, self._count = reserved(lanes + 2, ROOM), 0

    def room(self, n: int) -> tuple[np.ndarray, int]:
        """Where n more rows go, [lanes + 2, all that there is room for], and the column of the first."""
        first, end = self._count, self._count + n
        if end > self._rows.shape[1]:
            full, self._rows = self._rows, reserved(len(self._rows), GROWTH * end)
            self._rows[:, :first] = full[:, :first]
        self._count = end
        return self._rows, first

    def rows(self) -> np.ndarray:
        return self._rows[:, : self._count]


def reserved(lanes: int, room: int) -> np.ndarray:
    """Zeros that are not memory before they are written."""
    space = mmap.mmap(-1, 8 * lanes * room, flags=RESERVED)
    space.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(space, np.int64).reshape(lanes, room)
