"""Upserts: edits that give a key its row, turned into changes.

An edit sets the row of a key from its time on, or removes it; the latest edit at or before a time counts, and of two at
one time the one given later. An edit may be given before another with an earlier time, so edits are resolved only when
their time is complete.

Rule: a key has at most one row at every time, and nothing here changes until the step that used it has succeeded.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ebbflow.frontend.running.row_order import in_order, sorted_order

Array = NDArray[np.int64]
Row = tuple[int, ...]

SMALL = 32  # edits that are followed one by one rather than as arrays, whatever the number of rows
SPREAD = 32  # ... or this fraction of the rows that an array would have to rebuild
FOLD = 1024  # rows that differ from the sorted ones, before they are sorted in
STRIDE = 0x5851_F42D_4C95_7F2D


def place(key: Array) -> Array:
    """The word by which keys are sorted.  Unequal keys may share one; one lane is its own."""
    word = key[0]
    for lane in key[1:]:
        word = word * STRIDE + lane
    return word


def place_of(key: Row) -> int:
    """`place` of a single key."""
    word = key[0]
    for lane in key[1:]:
        word = (word * STRIDE + lane + 2**63) % 2**64 - 2**63
    return word


@dataclass(frozen=True)
class Edits:
    """Edits in the order given.  kinds: positive for a row that shall be there, negative for a key that shall not."""

    lanes: Array  # int64[lanes, n]
    times: Array  # int64[n]
    kinds: Array  # int64[n]

    def __len__(self) -> int:
        return len(self.times)

    @staticmethod
    def joined(parts: Sequence[Edits]) -> Edits:
        if len(parts) == 1:
            return parts[0]
        return Edits(
            np.concatenate([part.lanes for part in parts], axis=1),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.kinds for part in parts]),
        )


@dataclass(frozen=True)
class Rows:
    """The row of every key: sorted ones, and what has changed since they were sorted (None: the key is gone)."""

    lanes: Array
    places: Array
    since: dict[Row, Row | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a step's edits come to: the changes, and what to keep if the step succeeds."""

    lanes: Array
    times: Array
    diffs: Array
    rows: Rows | dict[Row, Row | None]  # or only those that changed
    last: Array  # int64[lanes + 1, n]: the row of every key that was edited, and whether it is there


class Keyed:
    """The rows of one keyed input, up to its frontier."""

    def __init__(self, lanes: int, key: tuple[int, ...]):
        """`key`: which lanes are the key."""
        self._key = list(key)
        self._rows = Rows(np.empty((lanes, 0), np.int64), np.empty(0, np.int64))

    def resolve(self, given: Sequence[Edits]) -> Outcome:
        """The changes that these edits make; their times are complete, and not earlier than those of the last step."""
        edits = Edits.joined(given)
        if len(edits) <= SMALL or len(edits) * SPREAD < len(self._rows.places):
            return self._one_by_one(edits)
        return self._as_arrays(edits)

    def all(self) -> Array:
        """Every row, as the edits that would lead to it: int64[lanes + 1, n]."""
        lanes = self._sorted_in(self._rows).lanes
        return np.concatenate([lanes, np.ones((1, lanes.shape[1]), np.int64)])

    def __len__(self) -> int:
        return len(self._rows.places) + len(self._rows.since)

    def settle(self, outcome: Outcome) -> None:
        """The step succeeded: its outcome is what stands."""
        if isinstance(outcome.rows, Rows):
            self._rows = outcome.rows
            return
        self._rows.since.update(outcome.rows)
        if len(self._rows.since) > FOLD + len(self._rows.places) // 4:
            with contextlib.suppress(MemoryError):  # then it is done another time: the step counts
                self._rows = self._sorted_in(self._rows)

    # ---- few edits: one at a time -----------------------------------------------------------

    def _row_of(self, key: Row) -> Row | None:
        rows = self._rows
        if key in rows.since:
            return rows.since[key]
        word = place_of(key)
        at = int(np.searchsorted(rows.places, word))
        while at < len(rows.places) and rows.places[at] == word:
            row: Row = tuple(rows.lanes[:, at].tolist())
            if self._key_of(row) == key:
                return row
            at += 1
        return None

    def _key_of(self, row: Row) -> Row:
        return tuple([row[i] for i in self._key])

    def _one_by_one(self, edits: Edits) -> Outcome:
        given = list(zip(edits.times.tolist(), edits.lanes.T.tolist(), edits.kinds.tolist(), strict=True))
        last: dict[tuple[int, Row], Row | None] = {}
        for time, row, kind in given:
            last[time, self._key_of(row)] = tuple(row) if kind > 0 else None
        now: dict[Row, Row | None] = {}
        found: list[tuple[Row, int, int]] = []
        for time, key in sorted(last, key=lambda edit: edit[0]):
            before, after = now[key] if key in now else self._row_of(key), last[time, key]
            now[key] = after
            if before != after:
                if before is not None:
                    found.append((before, time, -1))
                if after is not None:
                    found.append((after, time, 1))
        lanes = np.array([row for row, _, _ in found], np.int64).reshape(len(found), len(edits.lanes)).T
        times, diffs = (np.array([change[i] for change in found], np.int64) for i in (1, 2))
        gone = lambda key: tuple(key[self._key.index(i)] if i in self._key else 0 for i in range(len(edits.lanes)))
        final = [(*row, 1) if row is not None else (*gone(key), 0) for key, row in now.items()]
        last_rows = np.array(final, np.int64).reshape(len(final), len(edits.lanes) + 1).T
        return Outcome(np.ascontiguousarray(lanes), times, diffs, now, last_rows)

    # ---- many edits: as arrays ---------------------------------------------------------------

    def _sorted_in(self, rows: Rows) -> Rows:
        """The same rows, all of them sorted."""
        if not rows.since:
            return rows
        keys = np.array(list(rows.since), np.int64).reshape(len(rows.since), len(self._key)).T
        new = np.array([row for row in rows.since.values() if row is not None], np.int64)
        return self._replaced(rows, self._find(rows, keys), new.reshape(-1, len(rows.lanes)).T)

    def _find(self, rows: Rows, keys: Array) -> Array:
        """Where each key stands among the sorted rows, or -1."""
        words = place(keys)
        at = np.searchsorted(rows.places, words)
        found = np.full(len(words), -1, np.int64)
        open_ = np.arange(len(words))
        while len(open_):  # more than once only for keys that share a word
            open_ = open_[at[open_] < len(rows.places)]
            open_ = open_[rows.places[at[open_]] == words[open_]]
            same = (rows.lanes[self._key][:, at[open_]] == keys[:, open_]).all(axis=0)
            found[open_[same]] = at[open_[same]]
            open_ = open_[~same]
            at[open_] += 1
        return found

    def _replaced(self, rows: Rows, gone: Array, new: Array) -> Rows:
        """The sorted rows without those at `gone` (-1: none), and with the new ones."""
        kept = np.ones(len(rows.places), np.bool_)
        kept[gone[gone >= 0]] = False
        lanes = np.concatenate([rows.lanes[:, kept], new], axis=1)
        places = place(lanes[self._key])
        order = np.argsort(places)
        return Rows(in_order(lanes, order), places[order])

    def _as_arrays(self, edits: Edits) -> Outcome:
        rows = self._sorted_in(self._rows)
        order = sorted_order([*edits.lanes[self._key], edits.times])  # stable: at one time, in the order given
        lanes, times, kinds = in_order(edits.lanes, order), edits.times[order], edits.kinds[order]
        other_key = (lanes[self._key][:, 1:] != lanes[self._key][:, :-1]).any(axis=0)
        last = np.append(other_key | (times[1:] != times[:-1]), True)
        last = np.flatnonzero(last)
        lanes, times, kinds = in_order(lanes, last), times[last], kinds[last]

        first = np.insert((lanes[self._key][:, 1:] != lanes[self._key][:, :-1]).any(axis=0), 0, True)
        at = self._find(rows, lanes[self._key][:, first])
        before = np.empty_like(lanes)
        before[:, 1:] = lanes[:, :-1]
        there_before = np.empty(len(times), np.bool_)
        there_before[1:] = kinds[:-1] > 0
        before[:, first] = rows.lanes[:, at] if len(rows.places) else 0  # where at is -1: not there, not looked at
        there_before[first] = at >= 0
        there = kinds > 0

        same = there & there_before & (lanes == before).all(axis=0)
        removed, added = there_before & ~same, there & ~same
        final = np.append(first[1:], True)
        return Outcome(
            np.ascontiguousarray(np.concatenate([before[:, removed], lanes[:, added]], axis=1)),
            np.concatenate([times[removed], times[added]]),
            np.repeat(np.array([-1, 1], np.int64), [removed.sum(), added.sum()]),
            self._replaced(rows, at, lanes[:, final & there]),
            np.concatenate([lanes[:, final], there[None, final]]),
        )
