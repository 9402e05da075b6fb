"""Frontiers: the times that may still appear, told by the earliest of them.

A `Frontier` is an antichain, mutually unordered times; whatever is not at or past one of them is complete, and
the empty frontier says that nothing more will come.  A `Counted` frontier is kept from counts of times that
come and go, as capabilities, messages and debts do.

Rule: no element of a frontier precedes another, and equal frontiers are equal tuples: sorted, each time once.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ebbflow.times.lattice import Times

Time = tuple[int, ...]


def before(s: Time, t: Time) -> bool:
    """Whether `s` precedes `t`, for two plain tuples of one length."""
    for a, b in zip(s, t, strict=True):
        if a > b:
            return False
    return True


def antichain(times: Iterable[Time]) -> tuple[Time, ...]:
    """The earliest of the times: sorted, none preceding another."""
    kept: list[Time] = []
    for time in sorted(set(times)):  # sorted: what precedes a time is met before it
        if not any(before(k, time) for k in kept):
            kept.append(time)
    return tuple(kept)


@dataclass(frozen=True, slots=True, init=False)
class Frontier:
    """
    >>> Frontier([(2, 0), (0, 1), (3, 3)])
    Frontier([(0, 1), (2, 0)])
    >>> Frontier([(0, 1), (2, 0)]).reaches((1, 0))
    False
    """

    times: tuple[Time, ...]

    def __init__(self, times: Iterable[Time] = ()):
        object.__setattr__(self, "times", antichain(tuple(map(int, time)) for time in times))

    def __repr__(self) -> str:
        return f"Frontier({list(self.times)})"

    def __iter__(self) -> Iterator[Time]:
        return iter(self.times)

    def __len__(self) -> int:
        return len(self.times)

    @property
    def is_empty(self) -> bool:
        """Closed: nothing more will come."""
        return not self.times

    def reaches(self, time: Time) -> bool:
        """Whether `time` may still appear: some element precedes it."""
        return any(before(element, time) for element in self.times)

    def passes(self, time: Time) -> bool:
        """Whether `time` is complete."""
        return not self.reaches(time)

    def follows(self, other: Frontier) -> bool:
        """Whether this frontier has not moved back from `other`: what was complete there is complete here."""
        return all(other.reaches(time) for time in self.times)

    def insert(self, *times: Time) -> Frontier:
        """The frontier at which `times` may appear too."""
        return Frontier((*self.times, *times))

    def meet(self, other: Frontier) -> Frontier:
        """What may still appear at either: the latest frontier that both follow."""
        return Frontier(self.times + other.times)

    def join(self, other: Frontier) -> Frontier:
        """What may still appear at both: the earliest frontier that follows both."""
        return Frontier(tuple(map(max, s, t)) for s in self.times for t in other.times)

    def advance(self, time: Time) -> Time:
        """The latest time that no reader at or past this frontier can tell from `time`."""
        if not self.times:
            return time
        joins = [tuple(map(max, time, element)) for element in self.times]
        return tuple(map(min, *joins)) if len(joins) > 1 else joins[0]

    def array(self, coordinates: int) -> Times:
        """One row per element, for the functions of the lattice."""
        return np.array(self.times, np.int64).reshape(len(self.times), coordinates)


def _known(times: tuple[Time, ...]) -> Frontier:
    """A frontier of times that are known to be an antichain in order."""
    frontier = object.__new__(Frontier)
    object.__setattr__(frontier, "times", times)
    return frontier


def least(coordinates: int) -> Frontier:
    """The frontier before anything has happened."""
    return Frontier([(0,) * coordinates])


class Counted:
    """A frontier kept from +/- counts of times.

    Counts may pass below zero while news of a time and of its end cross on the way; only times with counts above
    zero hold the frontier back.
    """

    __slots__ = ("_counts", "_queue", "_times")

    def __init__(self, times: Iterable[Time] = ()):
        self._counts: dict[Time, int] = {}
        self._queue: list[Time] = []  # times of one coordinate, earliest first; some are no longer counted
        self._times: tuple[Time, ...] = ()
        self.update((time, 1) for time in times)

    @property
    def frontier(self) -> Frontier:
        return _known(self._times)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is counted at all, above or below zero."""
        return not self._counts

    def count(self, time: Time) -> int:
        return self._counts.get(time, 0)

    def counts(self) -> dict[Time, int]:
        return dict(self._counts)

    def reaches(self, time: Time) -> bool:
        return any(before(element, time) for element in self._times)

    def update(self, changes: Iterable[tuple[Time, int]]) -> list[tuple[Time, int]]:
        """Count all the changes, then say how the frontier moved: (time, -1) left it, (time, +1) came in."""
        counts, times = self._counts, self._times
        touched: dict[Time, bool] = {}  # whether it was there before
        for time, change in changes:
            was = counts.get(time, 0)
            touched.setdefault(time, was > 0)
            if was + change:
                counts[time] = was + change
            else:
                counts.pop(time, None)
        came = [time for time, was_there in touched.items() if not was_there and counts.get(time, 0) > 0]
        if came and len(came[0]) == 1:
            for time in came:
                heapq.heappush(self._queue, time)
        left = [time for time in times if time in touched and counts.get(time, 0) <= 0]
        if left:
            kept = [time for time in times if time not in left]
            self._times = antichain([*kept, *came, *self._uncovered(left)])
        elif any(not self.reaches(time) for time in came):
            self._times = antichain([*times, *came])
        else:
            return []
        moves = [(time, -1) for time in times if time not in self._times]
        return moves + [(time, +1) for time in self._times if time not in times]

    def _uncovered(self, left: list[Time]) -> list[Time]:
        """The times that only these elements of the frontier, no longer counted, may have preceded."""
        if len(left[0]) > 1:
            return [t for t, count in self._counts.items() if count > 0 and any(before(gone, t) for gone in left)]
        while self._queue and self._counts.get(self._queue[0], 0) <= 0:
            heapq.heappop(self._queue)
        return self._queue[:1]
