"""Persistence: what a session keeps on disk beside the engine: future rows, rows by key, output logs.

Each is a journal of the durable runtime: a step appends what it added, and all of it counts when the step does.

Rule: only new rows are written; which of them are still needed follows from the frontiers when they are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ebbflow.frontend.running.input_buffer import Due, InputBuffer
from ebbflow.frontend.running.output_log import Antichain, Changes, OutputLog
from ebbflow.runtime.contract import Keeper

Array = NDArray[np.int64]
LOG_PREFIX = "shown/"  # and the name of an output: the journal of its log


class Persistence:
    def __init__(self, keeper: Keeper, inputs: dict[str, InputBuffer], outputs: dict[str, OutputLog], coordinates: int):
        self.keeper, self.inputs, self.outputs, self.coordinates = keeper, inputs, outputs, coordinates
        words = keeper.words
        for name, given in inputs.items():
            lanes = given.schema.width
            waiting = self._rows(
                f"given/{name}",
                lanes,
                lambda given=given: given.waiting_rows(),
                lambda given=given: sum(block.lanes.size + 2 * len(block.diffs) for block in given.waiting_rows()),
            )
            keyed = np.empty((lanes + 1, 0), np.int64)
            if given.key:
                found = keeper.journal(
                    f"keyed/{name}",
                    lambda given=given: given.keyed_rows().T.reshape(-1),
                    lambda given=given: len(given) * (given.schema.width + 1),
                )
                keyed = found.reshape(-1, lanes + 1).T
            if words:
                given.resume(_antichain(words["inputs"][name]), waiting, keyed)
        self._unread: dict[str, list[Changes]] = {}  # as it was at the last step
        self._waiting: dict[str, Sequence[Changes]] = {}
        for name, shown in outputs.items():
            lanes = shown.schema.width
            told_apart = lambda shown=shown: np.array(shown.since, np.int64).reshape(-1)
            log = self._rows(f"{LOG_PREFIX}{name}", lanes, lambda shown=shown: _listed(shown.all()), beside=told_apart)
            unread = self._rows(f"unread/{name}", lanes, lambda shown=shown: shown.unread)
            if words:
                since, frontier = words["outputs"][name]
                shown.resume(_antichain(since), _antichain(frontier), log, unread)
        self.settled()

    def _rows(self, name: str, lanes: int, alive: Any, size: Any = None, beside: Any = None) -> Changes:
        return changes_of(self.keeper.journal(name, lambda: _words(alive()), size, beside), lanes, self.coordinates)

    def commit(
        self, due: dict[str, Due], new: dict[str, Changes], moved: dict[str, tuple[Antichain, Antichain]]
    ) -> None:
        """Make a step count: what its inputs became, what its outputs showed, and how far they are."""
        journals = self.keeper.journals
        for name, one in due.items():
            if self._has_dropped(name):
                journals[f"given/{name}"].renew()
            journals[f"given/{name}"].add(_words(one.early))
            if one.outcome is not None:
                journals[f"keyed/{name}"].add(one.outcome.last.T.reshape(-1))
        for name, shown in self.outputs.items():
            if self._unread[name] is not shown.unread:  # what was unread has been read
                journals[f"unread/{name}"].renew()
            if name in new:
                journals[f"{LOG_PREFIX}{name}"].add(_words([new[name]]))
                if shown.keeps_changes:
                    journals[f"unread/{name}"].add(_words([new[name]]))
        self.keeper.commit({"inputs": {name: one.frontier for name, one in due.items()}, "outputs": moved})

    @property
    def has_news(self) -> bool:
        """Whether something was given, dropped or read since the last step."""
        given = any(not one.is_empty or self._has_dropped(name) for name, one in self.inputs.items())
        return given or any(shown.unread is not self._unread[name] for name, shown in self.outputs.items())

    def _has_dropped(self, name: str) -> bool:
        """Whether rows that waited were dropped since the last step."""
        return self.inputs[name].waiting_rows() is not self._waiting[name]

    def settled(self) -> None:
        for name, given in self.inputs.items():
            self._waiting[name] = given.waiting_rows()
        for name, shown in self.outputs.items():
            self._unread[name] = shown.unread


def changes_of(words: Array, lanes: int, coordinates: int) -> Changes:
    """What `_words` wrote."""
    rows = words.reshape(-1, lanes + coordinates + 1).T
    return Changes(*(np.array(part, np.int64, order="C") for part in (rows[:lanes], rows[lanes:-1].T, rows[-1])))


def _listed(changes: Changes | None) -> list[Changes]:
    return [] if changes is None else [changes]


def _words(blocks: Sequence[Changes]) -> Array:
    """Rows one after the other: lanes, time, diff."""
    parts = [np.concatenate([block.lanes, block.times.T, block.diffs[None]]).T.reshape(-1) for block in blocks]
    return np.concatenate(parts) if parts else np.empty(0, np.int64)


def _antichain(times: Sequence[Sequence[int]]) -> Antichain:
    return tuple(tuple(time) for time in times)
