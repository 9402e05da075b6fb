"""Future rows: rows that were given for times that are not complete yet.

A caller may insert a year of changes and then advance day by day. With one coordinate, rows are sorted by time once, so
that each day costs the rows of that day and not those of the days to come.

Rule: rows at one time come out in the order in which they were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ebbflow.frontend.running.output_log import Antichain, Changes, joined
from ebbflow.frontend.running.row_order import in_order, sorted_order
from ebbflow.times import lattice

FEW_TO_COPY = 4096  # rows that are copied sooner than looked at where they lie


@dataclass(frozen=True)
class FutureRows:
    """Blocks in the order given; each sorted by time where times have one coordinate."""

    blocks: tuple[Changes, ...] = ()

    def split(self, frontier: Antichain) -> tuple[list[Changes], FutureRows]:
        """The rows that are complete at a frontier, and those that go on waiting."""
        if not self.blocks or not frontier:
            return list(self.blocks), FutureRows()
        now, later = [], []
        for block in self.blocks:
            if block.times.shape[1] == 1:
                due = int(np.searchsorted(block.times[:, 0], frontier[0][0]))
                parts = _cut(block, 0, due), _cut(block, due, len(block.diffs))
            else:
                parts = _parted(block, lattice.reached(block.times, np.array(frontier, np.int64)))
            now += [part for part in parts[:1] if len(part.diffs)]
            later += [part for part in parts[1:] if len(part.diffs)]
        return now, FutureRows(tuple(later))

    def plus(self, new: Sequence[Changes]) -> FutureRows:
        """These and new ones; small blocks are merged, so that there are few."""
        blocks = list(self.blocks)
        for block in new:
            blocks.append(_sorted(block))
            while len(blocks) > 1 and 2 * len(blocks[-1].diffs) >= len(blocks[-2].diffs):
                blocks[-2:] = [_sorted(joined(blocks[-2:]))]
        return FutureRows(tuple(blocks))


def due_now(block: Changes, frontier: Antichain) -> tuple[Changes | None, Changes | None]:
    """The rows of a new block that are complete at a frontier, and those that wait."""
    if block.times.shape[1] > 1:
        waits = lattice.reached(block.times, np.array(frontier, np.int64))
    elif len(block.diffs) == 1:
        return (None, block) if block.times[0, 0] >= frontier[0][0] else (block, None)
    else:
        waits = block.times[:, 0] >= frontier[0][0]
    if not waits.any():
        return block, None
    if waits.all():
        return None, block
    return _parted(block, waits)


def _parted(block: Changes, waits: np.ndarray) -> tuple[Changes, Changes]:
    first = int(waits.argmax())
    if waits[first:].all():
        return _cut(block, 0, first), _cut(block, first, len(waits))
    now, later = np.flatnonzero(~waits), np.flatnonzero(waits)
    return (
        Changes(in_order(block.lanes, now), block.times[now], block.diffs[now]),
        Changes(in_order(block.lanes, later), block.times[later], block.diffs[later]),
    )


def _cut(block: Changes, start: int, end: int) -> Changes:
    """Some rows of a block, contiguous if few; what is left of a block does not keep all of it in memory."""
    lanes, times, diffs = block.lanes[:, start:end], block.times[start:end], block.diffs[start:end]
    whole = lanes.base.size if lanes.base is not None else lanes.size
    if (2 * lanes.size < whole) if start else end <= FEW_TO_COPY:
        return Changes(lanes.copy(), times.copy(), diffs.copy())
    return Changes(lanes, times, diffs)


def _sorted(block: Changes) -> Changes:
    if block.times.shape[1] > 1 or (block.times[1:, 0] >= block.times[:-1, 0]).all():
        return block
    order = sorted_order([block.times[:, 0]])
    return Changes(in_order(block.lanes, order), block.times[order], block.diffs[order])
