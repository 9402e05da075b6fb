"""Input buffer: the rows, times and diffs that an input was given and no step has taken yet.

What a call gives is read by the intake and buffered as it comes: words of a few rows, rows of one time, or changes. A
step takes what its frontier has passed; later rows wait, and edits of keys become changes of rows.

Rule: a call that is refused has buffered nothing. Rows are kept in the order given, at or after the frontier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ebbflow.dataflow import nodes as n
from ebbflow.expressions.typed import Call
from ebbflow.frontend.running.future_rows import FutureRows, due_now
from ebbflow.frontend.running.intake import Intake, Taken
from ebbflow.frontend.running.output_log import END, Antichain, Changes, joined
from ebbflow.frontend.running.same_time_rows import SameTimeRows
from ebbflow.frontend.running.upserts import Edits, Keyed, Outcome
from ebbflow.times.frontier import Time
from ebbflow.times.lattice import told_once

if TYPE_CHECKING:  # kernels load when a program runs
    from ebbflow.columns.text_pool import Pool

Array = NDArray[np.int64]

SEVERAL = END + 1  # no time: there may be rows of more than one
MOST_WORDS = 1 << 14  # of rows that came one by one, until they become arrays


class Due(NamedTuple):
    """What a step is given of an input, and what becomes of it if the step succeeds."""

    frontier: Antichain
    now: list[Changes]
    waiting: FutureRows  # rows that go on waiting
    early: Sequence[Changes] = ()  # those among them that came since the last step
    outcome: Outcome | None = None  # what replacing by key came to


class InputBuffer:
    """One input: its frontier, the rows given since the last step, and those that wait for a later one."""

    def __init__(self, node: n.Input, coordinates: tuple[str, ...], pool: Pool, text_id: Callable[[str], int | None]):
        self.name, self.schema, self.coordinates = node.name, node.schema, coordinates
        self.frontier: Antichain = ((0,) * len(coordinates),)
        self._intake = Intake(node, coordinates, pool, text_id)
        self.key = self._intake.key
        self.key_lanes = node.schema.lanes_of(node.key)
        self._keyed = Keyed(node.schema.width, tuple(self.key_lanes)) if self.key else None
        self._is_chain = len(coordinates) == 1
        self._width = node.schema.width
        self._words: list[int] = []  # row after row: lanes, time, diff
        self._earliest, self._latest = END, -END  # of all the rows since the last step, where times have one coordinate
        self._has_moments = self._is_chain and self._keyed is None  # whether all there is may be of one time
        self.moment: int | None = None  # that time; None if there is nothing, SEVERAL if there may be more
        self._blocks: list[Changes | SameTimeRows] = []
        self._waiting = FutureRows()

    def answer(self, asked: Mapping[int, Sequence[Call]]) -> None:
        """From here on, in place of the text of these columns goes in what is asked of it."""
        self._intake.answer(asked)

    def open_time(self, verb: str) -> Time:
        """The one time at which rows come that say none."""
        return self._intake.times.open_time(verb, self.frontier)

    # ---- rows in -----------------------------------------------------------------------------

    def edit(self, verb: str, rows: Any, time: Any, diff: Any) -> None:
        """Take in the rows of a call."""
        self.take(self._intake.read(verb, rows, time, diff, self.frontier))

    def take(self, rows: Taken) -> None:
        """Take in rows that were checked and encoded."""
        if isinstance(rows, list):
            if rows:
                moment = rows[self._width]  # a few rows are at one time
                if self.moment != moment:
                    self._note(moment, moment)
                self._words += rows
                if len(self._words) > MOST_WORDS:
                    self._flush()
        elif rows.count:
            if isinstance(rows, SameTimeRows):
                if self.moment != rows.time[0]:
                    self._note(rows.time[0], rows.time[0])
            else:
                times = told_once(rows.times)[:, 0]
                self._note(int(times.min()), int(times.max()))
            if self._words:
                self._flush()
            self._blocks.append(rows)

    def _note(self, earliest: int, latest: int) -> None:
        """Rows come whose first coordinates are within these."""
        if earliest < self._earliest:
            self._earliest = earliest
        if latest > self._latest:
            self._latest = latest
        self.moment = self._latest if self._has_moments and self._latest == self._earliest else SEVERAL

    # ---- a step ------------------------------------------------------------------------------

    def due(self, frontier: Antichain) -> Due:
        """What a step to this frontier is given."""
        blocks = self._all_blocks()
        if not self._waiting.blocks:
            if not blocks:
                return Due(frontier, [], self._waiting)
            if self._is_chain and self._keyed is None and (not frontier or self._latest < frontier[0][0]):
                return Due(frontier, blocks, self._waiting)  # all of it, and nothing else
        now, waiting = self._waiting.split(frontier)
        early = []
        for block in blocks:
            due, later = due_now(block, frontier) if frontier else (block, None)
            if due is not None:
                now.append(due)
            if later is not None:
                waiting = waiting.plus([later])
                early.append(later)
        if self._keyed is None or not now:
            return Due(frontier, now, waiting, early)
        outcome = self._keyed.resolve([Edits(block.lanes, block.times[:, 0], block.diffs) for block in now])
        changes = Changes(outcome.lanes, outcome.times[:, None], outcome.diffs)
        return Due(frontier, [changes], waiting, early, outcome)

    def settle(self, due: Due) -> None:
        """The step succeeded."""
        self.frontier, self._waiting = due.frontier, due.waiting
        if self._keyed is not None and due.outcome is not None:
            self._keyed.settle(due.outcome)
        self.clear()

    def settle_at(self, frontier: Antichain) -> None:
        """A step to this frontier succeeded, and took all there was; nobody has any of it any more."""
        self.frontier = frontier
        if self._words:
            self._words = []
        if self._blocks:
            last = self._blocks[-1]
            if type(last) is SameTimeRows:
                self._intake.room = last.room
            self._blocks = []
        self._earliest, self._latest, self.moment = END, -END, None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was given since the last step."""
        return not self._words and not self._blocks

    def rows_now(self) -> list[int] | tuple[Array, Array]:
        """All rows given since the last step: lanes and diffs, or the one diff of all of them.

        A few come as words: lanes, time and diff of one after the other.
        """
        blocks = self._blocks
        if not blocks:
            return self._words
        if len(blocks) == 1 and type(blocks[0]) is SameTimeRows and not self._words:
            return blocks[0].lanes, blocks[0].diffs
        rows = joined(self._all_blocks())
        return rows.lanes, rows.diffs

    def _all_blocks(self) -> list[Changes]:
        """All rows given since the last step, with the time and the diff of each."""
        self._flush()
        return [block.changes if isinstance(block, SameTimeRows) else block for block in self._blocks]

    # ---- kept between processes ----------------------------------------------------------------

    def waiting_rows(self) -> Sequence[Changes]:
        return self._waiting.blocks

    def keyed_rows(self) -> Array:
        """The row of every key, int64[lanes + 1, n], and whether it is there."""
        return self._keyed.all() if self._keyed is not None else np.empty((self.schema.width + 1, 0), np.int64)

    def __len__(self) -> int:
        """How many rows of keys there are, about."""
        return len(self._keyed) if self._keyed is not None else 0

    def resume(self, frontier: Antichain, waiting: Changes, keyed: Array) -> None:
        """Go on where a process left off.  Of the rows that once waited, those before the frontier had their turn."""
        self.frontier = frontier
        if len(waiting.diffs) and frontier:
            _, self._waiting = FutureRows().plus([waiting]).split(frontier)
            self.clear()
        if self._keyed is not None and keyed.shape[1]:
            times = np.arange(keyed.shape[1], dtype=np.int64)  # the later one counts
            kinds = np.where(keyed[-1] > 0, 1, -1)
            self._keyed.settle(self._keyed.resolve([Edits(np.ascontiguousarray(keyed[:-1]), times, kinds)]))

    def clear(self) -> None:
        """Forget the rows given since the last step."""
        if self._words:
            self._words = []
        if self._blocks:
            self._blocks = []
        self._earliest, self._latest = END, -END
        waits = bool(self._waiting.blocks)
        self._has_moments, self.moment = (
            self._is_chain and self._keyed is None and not waits,
            SEVERAL if waits else None,
        )

    def drop_waiting(self, frontier: Antichain) -> None:
        """Forget the rows that waited for a step to this frontier."""
        due, waiting = self._waiting.split(frontier)
        if due:
            self._waiting = waiting

    def _flush(self) -> None:
        if self._words:
            width = self._width
            rows = np.array(self._words, np.int64).reshape(-1, width + len(self.coordinates) + 1).T.copy()
            block = Changes(rows[:width], rows[width:-1].T, rows[-1])
            # no call between the two: an interruption would leave the rows twice, or nowhere
            self._blocks += [block]
            self._words = []
