"""Same-time rows: rows of one call, all at one time and with one diff.

Most steps get the rows of one such call and take them whole. Then no time and diff is stored per row, and the array of
lanes is reused for the next call.

Rule: same-time rows mean the same as their `changes`.
"""

from __future__ import annotations

from array import array

import numpy as np

from ebbflow.frontend.running.output_log import Array, Changes
from ebbflow.times.frontier import Time

WORD_TYPE = np.dtype(np.int64)
ONCE = np.ones(1, np.int64)
MANY_WORDS = 1 << 20  # of a parcel whose room is not kept


class SameTimeRows:
    """Lanes int64[lanes, n], their time, and how often each row is added."""

    __slots__ = ("count", "diff", "lanes", "time")

    def __init__(self, lanes: Array, time: Time, diff: int):
        self.lanes, self.time, self.diff = lanes, time, diff
        self.count = lanes.shape[1]

    @property
    def diffs(self) -> Array:
        """The diff of all rows, as one word."""
        return ONCE if self.diff == 1 else np.array([self.diff], np.int64)

    @property
    def changes(self) -> Changes:
        count = self.lanes.shape[1]
        return Changes(self.lanes, repeated(self.time, count), np.full(count, self.diff, np.int64))

    @property
    def room(self) -> Array | None:
        """Where the lanes of the next parcel may lie, once these were taken."""
        return self.lanes if self.lanes.size <= MANY_WORDS else None


def repeated(time: Time, count: int) -> Array:
    """One time for so many rows; in memory it stands once."""
    return np.ndarray((count, len(time)), WORD_TYPE, array("q", time), 0, (0, 8))
