"""Output log: the changes of an output that were not read yet, and the collection they add up to.

A snapshot is taken at a time, so changes are kept at their own times as far back as the session's history reaches.
Older ones are advanced to where it begins, where no snapshot can tell them apart, and summed: the log is as large as
the collection, however long it has been changing.

The diffs of a row may add up to more than a word holds. That is refused before the step counts. For this check only one
bound is kept: sums are computed only when diffs are large, or very many.

Rule: at every time at or after `since`, the sum of the log is the collection at that time, and fits words.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.schema import Schema
from ebbflow.errors import STAYS, NumberOverflow
from ebbflow.frontend.running.row_order import in_order
from ebbflow.frontend.running.table import Table
from ebbflow.native.kernel import lanes_of
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, before

Array = NDArray[np.int64]
Antichain = tuple[Time, ...]

END = 2**63 - 1  # the last number a coordinate can be
WIDE_BITS = 31  # of a diff that is like others
NEARLY = 2**62  # a sum that one step of such diffs takes no further than END
ROUNDING_SLACK = 2.0**-30  # more than sums of rounded numbers are wrong by
MOST_JOINS = 1 << 20  # times of a row that are looked at, each with all its changes
FEW_DISTINCT_ROWS = 1 << 10  # room for distinct rows at first, a power of two
NEAR_ROWS, LEFT_ROWS = 1 << 9, 1 << 12  # the last row for each of so many hashes; how many leave before they are summed
LOG = 1 << 16  # changes kept as they came before they are summed up


class Changes:
    """Rows with their times and diffs.

    Along one coordinate they may be one array, `words`: lanes, then times, then diffs.  Its parts are made when
    somebody asks for one; of a few changes that are read and gone nobody does.
    """

    __slots__ = ("_diffs", "_lanes", "_times", "count", "words")

    _lanes: Array
    _times: Array
    _diffs: Array

    def __init__(self, lanes: Array, times: Array, diffs: Array):
        self._lanes, self._times, self._diffs = lanes, times, diffs
        self.words: Array | None = None
        self.count = len(diffs)

    @classmethod
    def of_words(cls, words: Array) -> Changes:
        made = cls.__new__(cls)
        made.words, made.count = words, words.shape[1]
        return made

    @property
    def lanes(self) -> Array:
        """int64[lanes, n]"""
        return self._lanes if self.words is None else self.words[:-2]

    @property
    def times(self) -> Array:
        """int64[n, coordinates]"""
        return self._times if self.words is None else self.words[-2][:, None]

    @property
    def diffs(self) -> Array:
        """int64[n]"""
        return self._diffs if self.words is None else self.words[-1]

    def __iter__(self) -> Iterator[Array]:
        return iter((self.lanes, self.times, self.diffs))


class OutputLog:
    """One output."""

    def __init__(self, name: str, schema: Schema, keeps_changes: bool, since: Antichain, frontier: Antichain):
        self.name, self.schema, self.keeps_changes = name, schema, keeps_changes
        self.since, self.frontier = since, frontier
        self.unread: list[Changes] = []
        self.pulled_at = -1  # how many steps had begun when the runtime was last asked
        self.subscribers: list[Callable[[Table, list[Time]], object]] = []
        self.bound = 0  # no row is there more often than this, at any time
        self.fill: Callable[[], None] | None = None  # whom to tell when the bound comes near what a word tells
        self._log: list[Changes] = []
        self._in_log, self._summed = 0, 0  # how many are in it, and how many of them were summed up

    def add(self, changes: Changes) -> None:
        if self.keeps_changes:
            self.unread.append(changes)
        if self._in_log > LOG and self._in_log > LOG + 2 * max(self._summed, self._log[0].count):
            with suppress(MemoryError):  # another time
                self._sum_up()  # without the new ones: those before them are mostly past `since`, and fold to few
        self._log.append(changes)
        self._in_log += changes.count
        self.bound += changes.count << WIDE_BITS  # larger diffs were looked at, by `refuse_overflow`
        if self.bound >= NEARLY:
            self._tighten()

    def _tighten(self) -> None:
        """Let the bound be what was shown rather than what might have been."""
        _, totals = gross(joined(self._log))
        self.bound = above(totals)
        if self.bound >= NEARLY and self.fill is not None:
            self.fill()

    def refuse_overflow(self, new: Sequence[Changes], told: Callable[[Array], str]) -> None:
        """Refuse changes by which some row would be there more often, at some time, than a word tells.

        told: a row, one word for each lane, as people read it.
        """
        bound = self.bound + sum(above(np.abs(part.diffs.astype(np.float64)).sum(keepdims=True)) for part in new)
        if bound <= END:
            self.bound = bound
            return
        whole = joined([part for part in (*self._log, *new) if len(part.diffs)])
        rows, totals = gross(whole)
        for row in np.flatnonzero(totals >= END * (1 - ROUNDING_SLACK)).tolist():
            its = np.flatnonzero(rows == row)
            found = first_overflow(whole.times[its], whole.diffs[its])
            if found is not None:
                time, count = found
                what = f'The row {told(whole.lanes[:, its[0]])} of the output "{self.name}" would be there {count:,}'
                when = f"at time {time[0] if len(time) == 1 else time}"
                raise NumberOverflow(f"{what} times {when}; at most {END:,} copies of a row can be told.", hint=STAYS)
        self.bound = min(above(totals), END)

    def go_on(self, frontier: Antichain) -> None:
        """Along one coordinate: the frontier moves, and from where it was on times can be told apart."""
        if self.since < self.frontier:
            self.since = self.frontier
        self.frontier = frontier

    def _sum_up(self) -> None:
        """Move what is older than `since` up to it, and sum."""
        recent: list[Changes] = []
        if len(self.since) == 1:
            (begin,) = self.since
            recent = [
                p for p in self._log if len(p.diffs) and any(p.times[:, k].max() > t for k, t in enumerate(begin))
            ]
        if len(self.since) == 1 and (len(begin) == 1 or not recent):
            past = [part for part in self._log if not any(part is other for other in recent)]
            lanes, diffs = (
                added_up(past) if past else (np.empty((self.schema.width, 0), np.int64), np.empty(0, np.int64))
            )
            self._log = [Changes(lanes, np.tile(np.array(begin, np.int64), (len(diffs), 1)), diffs), *recent]
        else:
            whole = joined(self._log)
            times = lattice.advance(whole.times, np.array(self.since, np.int64).reshape(-1, whole.times.shape[1]))
            lanes, diffs = consolidated(np.concatenate([whole.lanes, times.T]), whole.diffs)
            self._log = [Changes(lanes[: self.schema.width], lanes[self.schema.width :].T, diffs)]
        self._in_log = self._summed = sum(len(part.diffs) for part in self._log)

    def all(self) -> Changes | None:
        """All that is kept, summed up as far as may be."""
        if self._in_log > self._summed:
            self._sum_up()
        return joined(self._log) if self._log else None

    def resume(self, since: Antichain, frontier: Antichain, log: Changes, unread: Changes) -> None:
        """Go on where a process left off."""
        self.since, self.frontier = since, frontier
        self.take_up(log)
        if len(log.diffs):
            self._tighten()
        if self.keeps_changes and len(unread.diffs):
            self.unread = [unread]

    def take_up(self, log: Changes) -> None:
        """Begin with a log that was kept."""
        if len(log.diffs):
            self._log, self._in_log, self._summed = [log], len(log.diffs), 0

    def last_time(self, coordinates: int) -> Time | None:
        """The last complete time that is kept; where there are several, one that all of them have passed."""
        last = corners(self.frontier, coordinates)
        if len(last) > 1:
            last.insert(0, tuple(map(min, *last)))
        return next((time for time in last if self.is_kept(time)), None)

    def is_kept(self, time: Time) -> bool:
        if len(time) == len(self.since) == 1:
            return self.since[0] <= time
        return any(before(element, time) for element in self.since)

    def at(self, time: Time) -> tuple[Array, Array]:
        """The collection at a time: its rows as lanes, and their counts."""
        if self._in_log > self._summed:
            self._sum_up()
        if self._in_log == 0:
            return np.empty((self.schema.width, 0), np.int64), np.empty(0, np.int64)
        whole = joined([part for part in self._log if len(part.diffs)])
        if (
            len(self._log) == 1
            and (whole.times == whole.times[:1]).all()
            and before(tuple(whole.times[0].tolist()), time)
        ):
            return whole.lanes, whole.diffs  # all at one time: each row stands there once
        seen = np.flatnonzero(lattice.precedes(whole.times, np.array(time, np.int64)))
        return consolidated(in_order(whole.lanes, seen), whole.diffs[seen])


def gross(changes: Changes) -> tuple[Array, np.ndarray]:
    """Which row each change is of, by a number, and for each of these how much came and went, about."""
    lanes = np.ascontiguousarray(changes.lanes.T)
    if lanes.shape[1]:
        keys = lanes.view([("", np.int64)] * lanes.shape[1])[:, 0]
        rows = np.unique(keys, return_inverse=True)[1].reshape(-1)
    else:
        rows = np.zeros(len(changes.diffs), np.int64)
    return rows, np.bincount(rows, weights=np.abs(changes.diffs.astype(np.float64)))


def above(totals: np.ndarray) -> int:
    """A whole number that none of these, which are rounded, exceeds."""
    return int(totals.max(initial=0) * (1 + ROUNDING_SLACK)) + 1


def first_overflow(times: Array, diffs: Array) -> tuple[Time, int] | None:
    """The first time at which changes of one row sum up to more than a word, and that sum.

    With several coordinates any join of times may be one.  Where there are too many, what came in all, or went, counts.
    """
    found = [(tuple(time), diff) for time, diff in zip(times.tolist(), diffs.tolist())]
    if times.shape[1] == 1:
        total = 0
        for time, same in groupby(sorted(found), key=lambda one: one[0]):
            total += sum(diff for _, diff in same)
            if abs(total) > END:
                return time, total
        return None
    axes = [sorted(set(axis)) for axis in zip(*(time for time, _ in found))]
    if math.prod(map(len, axes)) * len(found) <= MOST_JOINS:
        for time in product(*axes):
            total = sum(diff for at, diff in found if before(at, time))
            if abs(total) > END:
                return time, total
        return None
    for sign in (1, -1):
        total = sum(diff for _, diff in found if diff * sign > 0)
        if abs(total) > END:
            return tuple(map(max, zip(*(time for time, diff in found if diff * sign > 0)))), total
    return None


@cache
def nothing(lanes: int, coordinates: int) -> Changes:
    """No changes; most steps have none to show."""
    return Changes(np.empty((lanes, 0), np.int64), np.empty((0, coordinates), np.int64), np.empty(0, np.int64))


def joined(parts: Sequence[Changes]) -> Changes:
    if len(parts) == 1:
        return parts[0]
    return Changes(
        np.concatenate([part.lanes for part in parts], axis=1),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.diffs for part in parts]),
    )


def added_up(parts: Sequence[Changes]) -> tuple[Array, Array]:
    """Each row of these changes once, whatever its time, with the sum of its diffs.

    Most of what is said is taken back soon: such rows find each other in a small table that stays in the cache, and
    only those that another row drives out of it are looked up among all.
    """
    from ebbflow.columns.row_sums import sift

    lanes = len(parts[0].lanes)
    sums = Sums(lanes)
    if lanes == 0:
        for part in parts:
            sums.add(part.diffs[None])
        return sums.rows()
    last = np.zeros((NEAR_ROWS, lanes + 1), np.int64)
    left, state = np.empty((lanes + 1, LEFT_ROWS), np.int64), np.array([0, 65 - NEAR_ROWS.bit_length()])
    for part in parts:
        (_held, starts), diffs = lanes_of(part.lanes), np.ascontiguousarray(part.diffs)
        at = 0
        while (at := int(sift(starts, diffs, last, left, state, at))) < len(diffs):
            sums.add(left)
            state[0] = 0
    sums.add(left[:, : state[0]])
    sums.add(np.ascontiguousarray(last[last[:, -1] != 0].T))
    return sums.rows()


class Sums:
    """Rows and the sums of their diffs, each row once."""

    def __init__(self, lanes: int):
        self._make_room(lanes, FEW_DISTINCT_ROWS)

    def _make_room(self, lanes: int, room: int) -> None:
        self._found, self._slots = np.empty((lanes + 1, room), np.int64), np.zeros(1 + 2 * room, np.int64)

    def add(self, rows: Array) -> None:
        """Rows as lanes, the diffs behind them."""
        from ebbflow.columns.row_sums import add_up

        (_held, starts), diffs = lanes_of(rows[:-1]), np.ascontiguousarray(rows[-1])
        at = 0
        while (at := int(add_up(starts, diffs, self._found, self._slots, at))) < len(diffs):
            full = self._found
            self._make_room(len(full) - 1, 4 * full.shape[1])
            self.add(full)

    def rows(self) -> tuple[Array, Array]:
        """Those whose sum is not zero."""
        kept = np.flatnonzero(self._found[-1, : self._slots[0]])
        return in_order(self._found[:-1], kept), self._found[-1, kept]


def consolidated(lanes: Array, diffs: Array) -> tuple[Array, Array]:
    """Each row once, with the sum of its diffs; those that sum to zero are gone."""
    if len(diffs) == 0:
        return lanes, diffs
    from ebbflow.columns.row_sums import sum_rows

    sums = np.array(diffs)
    sum_rows(np.ascontiguousarray(lanes), sums, np.zeros(2 << len(diffs).bit_length(), np.int64))
    kept = np.flatnonzero(sums)
    return (lanes, sums) if len(kept) == len(diffs) else (in_order(lanes, kept), sums[kept])


def corners(frontier: Antichain, coordinates: int) -> list[Time]:
    """The last complete times: whatever is complete precedes one of them.  END: any number."""
    found: set[Time] = {(END,) * coordinates}
    for element in frontier:
        reached = {corner for corner in found if before(element, corner)}
        found -= reached
        for corner in reached:
            for i, number in enumerate(element):
                if number > 0:
                    found.add((*corner[:i], min(corner[i], number - 1), *corner[i + 1 :]))
    return sorted(c for c in found if not any(c != other and before(c, other) for other in found))
