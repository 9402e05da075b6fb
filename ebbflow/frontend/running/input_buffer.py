"""Input buffer: the rows, times and diffs that an input was given and no step has taken yet.

A few rows of plain values are converted directly to words; everything else becomes columns, and columns become lanes at
once. All that can be refused is refused here, with name, row and value, before anything is buffered.

Rule: a call that is refused has buffered nothing. Rows are kept in the order given, at or after the frontier.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from ebbflow import limits
from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.errors import (
    DuplicateName,
    LateTime,
    NoKey,
    TypeMismatch,
    UnknownColumn,
    WrongDiff,
    WrongTime,
    did_you_mean,
)
from ebbflow.expressions.typed import Call
from ebbflow.frontend.running.future_rows import FutureRows, due_now
from ebbflow.frontend.running.output_log import END, Antichain, Changes, joined
from ebbflow.frontend.running.same_time_rows import SameTimeRows, repeated
from ebbflow.frontend.running.table import plain
from ebbflow.frontend.running.upserts import Edits, Keyed, Outcome
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, before
from ebbflow.times.lattice import told_once

if TYPE_CHECKING:
    from ebbflow.columns.arrow import Reader
    from ebbflow.columns.patterns import TextMatcher
    from ebbflow.columns.text_pool import Pool

Array = NDArray[np.int64]

SEVERAL = END + 1  # no time: there may be rows of more than one
NONE_NAMED: tuple[str | None, str | None] = (None, None)  # of a time and a diff that are given as numbers
FEW = 16  # rows that are taken one by one, without Arrow
MOST_WORDS = 1 << 14  # of rows that came one by one, until they become arrays
WRITTEN = {"advance_to": "advance_to(8)", "snapshot": "at=8", "changes": "since=8"}  # a time; time=8 elsewhere
RANGES = {"long": 2**63 - 1, "int": 2**31 - 1, "short": 2**15 - 1, "byte": 2**7 - 1}


# ---- times and numbers, as people write and read them ----------------------------------------------


def told(times: Antichain | Time) -> str:
    """A time or a frontier, in a sentence."""
    if not times:
        return "closed"
    if isinstance(times[0], tuple):
        return " and ".join(told(time) for time in times)  # type: ignore[arg-type]
    return str(times[0]) if len(times) == 1 else str(tuple(times))


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) if names else "none"


def whole(value: object) -> int | None:
    """A whole number that fits a word, or None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if -END <= number <= END else None


def _beyond(value: object) -> str:
    """What is wrong with a whole number, if it is that it does not fit a word."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    return ", which does not fit 64 bits" if is_whole and whole(value) is None else ""


def as_time(verb: str, value: object, coordinates: tuple[str, ...]) -> Time:
    """A time as a person writes it: a whole number, or a tuple with one for each coordinate."""
    parts = value if isinstance(value, (tuple, list)) else (value,)
    numbers = tuple(whole(part) for part in parts)
    if len(numbers) == len(coordinates) and None not in numbers:
        return numbers  # type: ignore[return-value]
    if len(coordinates) == 1:
        wanted, hint = "a whole number", f"Write {WRITTEN.get(verb, 'time=8')}."
    else:
        wanted = f"{len(coordinates)} whole numbers ({listed(coordinates)})"
        hint = f"Write a tuple, such as {(3,) + (0,) * (len(coordinates) - 1)}."
    beyond = next(filter(None, map(_beyond, parts)), "")
    raise WrongTime(f"{verb} is given the time {plain(value)}{beyond}; a time of this flow is {wanted}.", hint=hint)


# ---- one input --------------------------------------------------------------------------------------


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
        self.key = tuple(node.schema.index(name) for name in node.key)
        self.key_lanes = node.schema.lanes_of(node.key)
        self._keyed = Keyed(node.schema.width, tuple(self.key_lanes)) if self.key else None
        self._pool, self._text_id = pool, text_id
        self._types = node.schema.types
        self._never_null = tuple(sorted({*self.key, *node.schema.never_null}))
        self._limits = tuple(RANGES.get(type_.name, -1) for type_ in self._types)  # -1: no whole number fits
        self._is_chain = len(coordinates) == 1
        self._takes_words = self._is_chain and not self.key and all(type_.name == "long" for type_ in self._types)
        self._words: list[int] = []  # row after row: lanes, time, diff
        self._earliest, self._latest = END, -END  # of all the rows since the last step, where times have one coordinate
        self._has_moments = self._is_chain and self._keyed is None  # whether all there is may be of one time
        self.moment: int | None = None  # that time; None if there is nothing, SEVERAL if there may be more
        self._blocks: list[Changes | SameTimeRows] = []
        self._waiting = FutureRows()
        self._matchers: dict[int, TextMatcher] = {}  # columns of which is given, in place of the text, what it is like
        self._room: Array | None = None  # of the lanes of a table that was taken, for the next one
        self._reader: Reader | None = None  # of the tables that came last,
        self._read = NONE_NAMED  # with columns of these names for time and diff

    def answer(self, asked: Mapping[int, Sequence[Call]]) -> None:
        """From here on, in place of the text of these columns goes in what is asked of it."""
        from ebbflow.columns.patterns import TextMatcher

        self._matchers = {i: TextMatcher(calls) for i, calls in asked.items()}

    # ---- rows in -----------------------------------------------------------------------------

    def edit(self, verb: str, rows: Any, time: Any, diff: Any) -> None:
        if type(rows) is list:
            if len(rows) <= FEW and type(diff) is int and -END <= diff <= END and _is_one_time(time):
                moment = self._one_time(verb, time)
                if (not self.key or diff == 1 or diff == -1) and self._add_few(rows, moment, diff):
                    return
            self._add_many(verb, rows, time, diff)
        elif type(rows) is dict and self._add_words(rows, time, diff):
            return
        elif self.key or not _is_arrow(rows.__class__) or not self._add_arrow(verb, rows, time, diff):
            self._add_many(verb, rows, time, diff)

    def _add_few(self, rows: list[Any], time: Time, diff: int) -> bool:
        """Take rows of plain values as they are; False, and nothing happened, if one needs a closer look."""
        words: list[int] = []
        limits = self._limits
        for row in rows:
            if type(row) is not tuple or len(row) != len(limits):
                return False
            for value, limit in zip(row, limits):
                if type(value) is not int or not -limit <= value <= limit:
                    found = self._few_words(row)
                    if found is None:
                        return False
                    words += found
                    break
            else:
                words += row
            words += time
            words.append(diff)
        if diff and words:
            if self.moment != time[0]:
                self._note(time[0], time[0])
            self._words += words
            if len(self._words) > MOST_WORDS:
                self._flush()
        return True

    def _note(self, earliest: int, latest: int) -> None:
        """Rows come whose first coordinates are within these."""
        if earliest < self._earliest:
            self._earliest = earliest
        if latest > self._latest:
            self._latest = latest
        self.moment = self._latest if self._has_moments and self._latest == self._earliest else SEVERAL

    def _few_words(self, row: tuple[Any, ...]) -> list[int] | None:
        """The lanes of a row of plain values; None if one of them needs a closer look."""
        found: list[int] = []
        for i, (value, type_, limit) in enumerate(zip(row, self._types, self._limits)):
            if type(value) is int and -limit <= value <= limit:
                word: int | None = value
            elif i in self._matchers and type(value) is str:
                word = self._matchers[i].at(value) if _is_whole_text(value) else None
            else:
                word = self._word(value, type_)
            if word is None:
                return None
            found.append(word)
            if type_.is_wide:
                return None
        return None if any(row[i] is None for i in self._never_null) else found

    def _word(self, value: Any, type_: Type) -> int | None:
        """The lane of a plain value; None if it is not one."""
        if value is None:
            return NULL
        kind = type(value)
        if kind is str:
            return self._text_id(value) if type_.name == "string" else None
        if kind is float:
            if type_.name != "double" or value != value:
                return None
            (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))
            return bits if bits >= 0 else bits ^ END
        if kind is bool and type_.name == "boolean":
            return int(value)
        return None

    def _add_words(self, rows: dict[str, Any], time: Any, diff: Any) -> bool:
        """Take in columns of numpy's whole numbers that are words already, with a column of times and one of diffs or
        a number; False, and nothing happened, if there is anything else.
        """
        named = (*self.schema.names, time, diff) if type(diff) is str else (*self.schema.names, time)
        if not self._takes_words or type(time) is not str or rows.keys() != set(named) or len(set(named)) < len(named):
            return False
        columns = [rows[name] for name in named]
        count = len(columns[0]) if type(columns[0]) is np.ndarray else 0
        if count == 0 or any(
            type(column) is not np.ndarray or column.dtype != np.int64 or column.shape != (count,) for column in columns
        ):
            return False
        width = self.schema.width
        found = np.empty((width + 2, count), np.int64)
        found[-1] = diff if type(diff) is int and -END <= diff <= END else 0
        for lane, column in zip(found, columns):
            lane[:] = column
        earliest = int(found[width].min())
        if found.min() == NULL or earliest < self.frontier[0][0] or not found[-1].all():
            return False
        self._note(earliest, int(found[width].max()))
        self._flush()
        self._blocks.append(Changes(found[:width], found[width][:, None], found[-1]))
        return True

    def _add_arrow(self, verb: str, rows: Any, time: Any, diff: Any) -> bool:
        """Take in a table of Arrow as it lies; False, and nothing happened, if something in it needs a closer look."""
        if type(time) is type(diff) is int and diff == 1 and self._is_chain and self.frontier[0][0] <= time <= END:
            return self._add_same_time_rows(verb, rows, (time,), 1)  # what most tables are
        named = (time if type(time) is str else None, diff if type(diff) is str else None)
        if not (self._is_chain if named[0] is not None else _is_whole_time(time)):
            return False
        if named[1] is None and (type(diff) is not int or not -END <= diff <= END or diff == 0):
            return False
        moment = self._one_time(verb, time) if named[0] is None else None
        if moment is not None and named[1] is None:
            return self._add_same_time_rows(verb, rows, moment, diff)
        if rows.num_rows > limits.ROWS_A_CALL:
            self._refuse_many(verb, rows.num_rows)
        reader = self._reader_of(rows.schema, named)
        found = reader.read(rows, self._pool) if reader is not None else None
        if found is None or self._lacks(found):
            return False
        width, count = self.schema.width, found.shape[1]
        times = repeated(moment, count) if moment is not None else found[width : width + 1].T
        if moment is None and count and int(times.min()) < self.frontier[0][0]:
            return False
        self._keep(found[:width], times, found[-1] if named[1] is not None else np.full(count, diff, np.int64), moment)
        return True

    def _add_same_time_rows(self, verb: str, rows: Any, moment: Time, diff: int) -> bool:
        """The same, all rows at one time and equally often."""
        if rows.num_rows > limits.ROWS_A_CALL:
            self._refuse_many(verb, rows.num_rows)
        reader = self._reader
        if reader is None or self._read is not NONE_NAMED or not rows.schema.equals(reader.schema):
            reader = self._reader_of(rows.schema, NONE_NAMED)
            if reader is None:
                return False
        found = reader.read(rows, self._pool, self._room)
        if found is None or self._lacks(found):
            return False
        self._room = None
        if found.shape[1]:
            if self.moment != moment[0]:
                self._note(moment[0], moment[0])
            if self._words:
                self._flush()
            self._blocks.append(SameTimeRows(found, moment, diff))
        return True

    def _reader_of(self, schema: Any, named: tuple[str | None, str | None]) -> Reader | None:
        """Who reads tables of a schema with these columns for time and diff; None: it is not read as it lies."""
        if self._reader is None or self._read != named or not schema.equals(self._reader.schema):
            from ebbflow.columns.arrow import Reader

            self._reader, self._read = None, named  # whoever interrupts leaves no reader of other names
            numbers = [name for name in named if name is not None]
            self._reader = Reader.of(schema, self.schema.fields, numbers, self._matchers)
        return self._reader

    def _add_many(self, verb: str, rows: Any, time: Any, diff: Any) -> None:
        columns, count = self._columns(verb, rows)
        if count > limits.ROWS_A_CALL:
            self._refuse_many(verb, count)
        times = self._times(verb, time, columns, count)
        diffs = self._diffs(verb, diff, columns, count)
        schema = self.schema
        if self.key and (diffs < 0).all() and not set(schema.names) <= set(columns):
            schema = Schema(tuple(schema.fields[i] for i in self.key))  # delete by key
        lanes = self._encode(verb, schema, columns, _names_in(time) | _names_in(diff), count)
        if self.schema.never_null:
            self._refuse_null(verb, schema, lanes, diffs)
        if self.key:
            lanes = self._edits_by_key(verb, schema, lanes, diffs)
        self._keep(lanes, times, diffs)

    def _lacks(self, lanes: Array) -> bool:
        """Whether a value is missing in a column that is declared not null."""
        return any((lanes[self.schema.starts[i]] == NULL).any() for i in self._never_null)

    def _refuse_null(self, verb: str, schema: Schema, lanes: Array, diffs: Array) -> None:
        counted = diffs > 0 if self.key else diffs != 0  # a deletion by key need not say what the row was
        for i in schema.never_null:
            missing = counted & (lanes[schema.starts[i]] == NULL)
            if missing.any() and schema.names[i] not in (self.schema.names[k] for k in self.key):
                raise TypeMismatch(
                    f'{verb} finds no value for "{plain(schema.names[i])}" of "{plain(self.name)}" in row '
                    f"{int(np.argmax(missing))}; the schema says not null.",
                    hint="Give the row a value, leave it out, or declare the column without not null.",
                )

    def _keep(self, lanes: Array, times: Array, diffs: Array, moment: Time | None = None) -> None:
        """Have these rows for the next step, but for those that change nothing; all at one moment, if that is known."""
        if not told_once(diffs).all():
            kept = diffs != 0
            lanes, times, diffs = lanes[:, kept], times[kept], diffs[kept]
        self.take(Changes(lanes, times, diffs), moment)

    def take(self, rows: Changes, moment: Time | None = None) -> None:
        """Take in rows that were checked and encoded elsewhere."""
        if len(rows.diffs):
            if moment is not None:
                self._note(moment[0], moment[0])
            else:
                times = told_once(rows.times)[:, 0]
                self._note(int(times.min()), int(times.max()))
            self._flush()
            self._blocks.append(rows)

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
                self._room = last.room
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
            width = self.schema.width
            rows = np.array(self._words, np.int64).reshape(-1, width + len(self.coordinates) + 1).T.copy()
            block = Changes(rows[:width], rows[width:-1].T, rows[-1])
            # no call between the two: an interruption would leave the rows twice, or nowhere
            self._blocks += [block]
            self._words = []

    # ---- times and diffs of rows ---------------------------------------------------------------

    def open_time(self, verb: str) -> Time:
        if len(self.frontier) > 1:
            raise WrongTime(
                f'{verb} has no time, and the input "{plain(self.name)}" has several open ones: {told(self.frontier)}.',
                hint=f"Say how far: advance_to({told(self.frontier[0])})."
                if verb == "commit"
                else f"Say which: time={told(self.frontier[0])}.",
            )
        return self.frontier[0]

    def _one_time(self, verb: str, value: object) -> Time:
        """The one time of all the rows of a call, at which they may still come."""
        if value is None:
            return self.open_time(verb)
        if type(value) is int and len(self.coordinates) == 1 and self.frontier[0][0] <= value <= END:
            return (value,)
        time = as_time(verb, value, self.coordinates)
        for element in self.frontier:
            if before(element, time):
                return time
        self._refuse_late(verb, time, "")

    def _refuse_late(self, verb: str, time: Time, where: str) -> NoReturn:
        raise LateTime(
            f'{verb} comes too late at time {told(time)}{where}: the input "{plain(self.name)}" is complete '
            f"before its frontier, {told(self.frontier)}.",
            hint=f"Use a time from {told(self.frontier)} on; nothing of this call was taken in.",
        )

    def _times(self, verb: str, time: Any, columns: dict[str, Any], count: int) -> Array:
        """One time per row, none of them late."""
        width = len(self.coordinates)
        if _is_whole_time(time):
            return repeated(self._one_time(verb, time), count)
        found = [time]
        if isinstance(time, str):
            found = [self._column(verb, "time", time, columns, count)]
        elif isinstance(time, (tuple, list)) and len(time) == width and (type(time) is tuple or type(time[0]) is str):
            found = [self._column(verb, "time", part, columns, count) for part in time]
        numbers = [table for table in (whole_table(part, count) for part in found) if table is not None]
        if len(numbers) < len(found) or sum(table.shape[1] for table in numbers) != width:
            every = "one whole number" if width == 1 else f"{width} whole numbers ({listed(self.coordinates)})"
            raise WrongTime(
                f"{verb} takes as time {every} for each of its {count} rows, not {_kind(time, found)}.",
                hint="Give one time, the name of a column of whole numbers, or an array of them"
                + ("." if width == 1 else ", for each coordinate."),
            )
        times = np.ascontiguousarray(np.concatenate(numbers, axis=1))  # a copy, as everything that is kept
        if count:
            on_time = lattice.reached(times, np.array(self.frontier, np.int64))
            if not on_time.all():
                row = int(np.argmin(on_time))
                self._refuse_late(verb, tuple(times[row].tolist()), f" (row {row})")
        return times

    def _diffs(self, verb: str, diff: Any, columns: dict[str, Any], count: int) -> Array:
        number = whole(diff)
        if number is not None:
            return repeated((number,), count)[:, 0]
        found = self._column(verb, "diff", diff, columns, count)
        numbers = whole_table(found, count)
        if numbers is None or numbers.shape[1] != 1:
            raise WrongDiff(
                f"{verb} takes as diff one whole number for each of its {count} rows, not {_kind(diff, [found])}.",
                hint="A diff counts copies of a row: 1 adds one, -1 takes one away.",
            )
        return np.array(numbers[:, 0])  # ours: the caller's may change before the step

    def _column(self, verb: str, what: str, part: Any, columns: dict[str, Any], count: int) -> Any:
        """A part of time= or diff=: a column by its name, a number for every row, or what it is."""
        if isinstance(part, str):
            if part not in columns:
                raise UnknownColumn(
                    f'{verb} looks for the column "{plain(part)}" ({what}=) in its rows, which have: '
                    f"{listed(list(columns))}.",
                    hint=did_you_mean(part, list(columns))
                    or f"{what}= takes the name of a column, an array or a number.",
                )
            return columns[part]
        number = whole(part)
        return part if number is None else np.full(count, number, np.int64)

    # ---- columns of rows ------------------------------------------------------------------------

    def _columns(self, verb: str, rows: Any) -> tuple[dict[str, Any], int]:
        """The columns of the rows by name, and how many rows there are."""
        if isinstance(rows, Mapping):
            return self._from_columns(verb, dict(rows))
        if isinstance(rows, np.ndarray) and rows.dtype.names:
            return {name: rows[name] for name in rows.dtype.names}, len(rows)
        if isinstance(rows, np.ndarray) and rows.ndim == 2:
            return self._by_position(verb, list(rows.T)), len(rows)
        if type(rows).__module__ == "pyarrow.lib" and type(rows).__name__ == "Table":
            return self._from_arrow(verb, rows)
        if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
            return self._from_pandas(verb, rows)
        if type(rows).__module__.startswith("pyspark.sql") and hasattr(rows, "toArrow"):
            return self._from_arrow(verb, rows.toArrow())
        if hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
            import pyarrow

            try:
                table = pyarrow.table(rows)
            except (TypeError, ValueError):  # a single column, for example
                self._refuse_form(verb, rows)
            return self._from_arrow(verb, table)
        if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__") or getattr(rows, "ndim", 1) == 0:
            self._refuse_form(verb, rows)
        return self._from_rows(verb, list(rows))

    def _refuse_many(self, verb: str, count: int) -> NoReturn:
        raise TypeMismatch(
            f'{verb} is given {count:,} rows for "{plain(self.name)}"; one call takes {limits.ROWS_A_CALL:,}.',
            hint="Give them in several calls, at the same time if they belong together.",
        )

    def _refuse_form(self, verb: str, rows: Any) -> NoReturn:
        raise TypeMismatch(
            f'{verb} takes the rows of "{plain(self.name)}" as a list of tuples, a dict of arrays, or anything '
            f"Arrow, not {type(rows).__name__}.",
            hint=f"Write [{self._pattern}].",
        )

    @property
    def _pattern(self) -> str:
        return f"({', '.join(self.schema.names)}{',' if len(self.schema) == 1 else ''})"

    def _from_arrow(self, verb: str, table: Any) -> tuple[dict[str, Any], int]:
        names = table.column_names
        for name in names:
            if names.count(name) > 1:
                self._refuse_twice(verb, name)
        columns = {name: table.column(i) for i, name in enumerate(names)}
        for name, column in columns.items():
            if (count := column.length()) != table.num_rows:  # as a struct of Arrow's C interface may say
                raise TypeMismatch(
                    f'{verb} finds {count:,} rows in the column "{plain(name)}" of an Arrow table that says it '
                    f"has {table.num_rows:,}.",
                    hint="Whoever made it wrote it wrongly: table.validate() tells more.  Nothing of it was read.",
                )
        return columns, table.num_rows

    def _from_pandas(self, verb: str, rows: Any) -> tuple[dict[str, Any], int]:
        import pyarrow

        names = list(rows.columns)
        if len(set(names)) == len(names):
            try:
                return self._from_arrow(verb, pyarrow.Table.from_pandas(rows, preserve_index=False))
            except (pyarrow.ArrowException, TypeError):  # some value is of no type of Arrow: it will be found and named
                return {name: rows[name].tolist() for name in names}, len(rows)
        self._refuse_twice(verb, next(name for name in names if names.count(name) > 1))

    def _refuse_twice(self, verb: str, name: str) -> NoReturn:
        raise DuplicateName(
            f'{verb} finds two columns named "{plain(name)}" in the rows of "{plain(self.name)}".',
            hint="Rename one of them, or leave it out.",
        )

    def _from_columns(self, verb: str, columns: dict[str, Any]) -> tuple[dict[str, Any], int]:
        lengths = {
            name: len(column) if hasattr(column, "__len__") and not isinstance(column, (str, bytes)) else None
            for name, column in columns.items()
        }
        if None in lengths.values() or len(set(lengths.values())) > 1:
            raise TypeMismatch(
                f'{verb} takes columns of equal length for "{plain(self.name)}"; these have: '
                + ", ".join(f"{plain(k)} {'one value' if v is None else v}" for k, v in lengths.items())
                + ".",
                hint="A dict holds an array for every column.",
            )
        return columns, next(iter(lengths.values()), 0) or 0

    def _from_rows(self, verb: str, rows: list[Any]) -> tuple[dict[str, Any], int]:
        if not rows:
            return {name: [] for name in self.schema.names}, 0
        first = rows[0]
        if isinstance(first, Mapping):
            for i, row in enumerate(rows):
                if not isinstance(row, Mapping) or row.keys() != first.keys():
                    raise TypeMismatch(
                        f'{verb} finds other columns in row {i} for "{plain(self.name)}" than in row 0: '
                        f"{listed(list(row)) if isinstance(row, Mapping) else plain(row)} instead of "
                        f"{listed(list(first))}.",
                        hint="Give every row the same columns; None is a value.",
                    )
            return {name: [row[name] for row in rows] for name in first}, len(rows)
        if hasattr(first, "__dataclass_fields__"):
            kind = type(first)
            rows = [
                tuple(getattr(row, name) for name in self.schema.names) if type(row) is kind else row for row in rows
            ]
            first = rows[0]
        if verb == "delete" and len(self.key) == 1 and not any(isinstance(row, (tuple, list)) for row in rows):
            return {self.schema.names[self.key[0]]: rows}, len(rows)
        width = len(first) if isinstance(first, (tuple, list, np.ndarray)) else -1
        if not set(map(type, rows)) <= {tuple, list} or set(map(len, rows)) != {width}:
            for i, row in enumerate(rows):
                if not isinstance(row, (tuple, list, np.ndarray)) or len(row) != width:
                    self._refuse_row(verb, i, row)
        columns = [list(map(operator.itemgetter(i), rows)) for i in range(width)]  # zip(*rows) is far slower
        return self._by_position(verb, columns), len(rows)

    def _by_position(self, verb: str, columns: list[Any]) -> dict[str, Any]:
        """Columns without names: those of the schema in its order, or only the key where rows are deleted by it."""
        names = self.schema.names
        if len(columns) == len(names):
            return dict(zip(names, columns))
        if verb == "delete" and self.key and len(columns) == len(self.key):
            return {names[i]: column for i, column in zip(self.key, columns)}
        self._refuse_row(verb, 0, columns)

    def _refuse_row(self, verb: str, row: int, value: Any) -> NoReturn:
        is_row = isinstance(value, (tuple, list, np.ndarray))
        what = f"{len(value)} value{'' if len(value) == 1 else 's'}" if is_row else plain(value)
        raise TypeMismatch(
            f'{verb} finds {what} in row {row}; a row of "{plain(self.name)}" has {len(self.schema)}: {self.schema}.',
            hint=f"Write each row as a tuple: {self._pattern}.",
        )

    def _encode(self, verb: str, schema: Schema, columns: dict[str, Any], used: set[str], count: int) -> Array:
        from ebbflow.columns.lanes import encode

        missing = [name for name in schema.names if name not in columns]
        if missing:
            raise UnknownColumn(
                f'{verb} looks for the column "{plain(missing[0])}" of the input "{plain(self.name)}" in its rows, '
                f"which have: {listed(list(columns))}.",
                hint=did_you_mean(missing[0], list(columns)) or f"The input has: {self.schema}.",
            )
        more = [name for name in columns if name not in schema and name not in used]
        if more:
            raise UnknownColumn(
                f'{verb} finds the column "{plain(more[0])}" in its rows, which the input "{plain(self.name)}" '
                f"does not have: {listed(self.schema.names)}.",
                hint=did_you_mean(more[0], self.schema.names) or "Leave it out, or name it as time= or diff=.",
            )
        if not count:
            return np.empty((schema.width, 0), np.int64)
        lanes = encode({name: columns[name] for name in schema.names}, schema, self._pool)
        for i, look in self._matchers.items():
            at = schema.starts[i]
            lanes[at] = look.at_ids(lanes[at], self._pool)
        return lanes

    def _edits_by_key(self, verb: str, schema: Schema, lanes: Array, diffs: Array) -> Array:
        """Whole rows for edits, with nothing in the columns that a deletion by key leaves out."""
        names = [self.schema.names[i] for i in self.key]
        empty = lanes[[schema.lanes(name).start for name in names]] == NULL
        if empty.any():
            row = int(np.argmax(empty.any(axis=0)))
            column = names[int(np.argmax(empty[:, row]))]
            raise NoKey(
                f'{verb} finds no value for the key "{plain(column)}" of "{plain(self.name)}" in row {row}.',
                hint="A key is never null: it says which row is meant.",
            )
        beyond = np.abs(diffs) > 1
        if beyond.any():
            row = int(np.argmax(beyond))
            raise WrongDiff(
                f'{verb} finds the diff {int(diffs[row])} in row {row}; "{plain(self.name)}" has a key, and a key has '
                "one row.",
                hint="Use 1 for a row that shall be there, -1 for one that shall not.",
            )
        if len(schema) == len(self.schema):
            return lanes
        rows = np.full((self.schema.width, lanes.shape[1]), NULL, np.int64)
        rows[self.schema.lanes_of(names)] = lanes[schema.lanes_of(names)]
        return rows


def is_iterator(rows: object) -> bool:
    """Whether rows are made one by one when they are asked for; a stream of Arrow is taken as a table."""
    return hasattr(rows, "__next__") and not hasattr(rows, "__arrow_c_stream__")


# ---- what a value is -----------------------------------------------------------------------------------


def _is_whole_time(time: object) -> bool:
    """Whether it can be one time for all rows, or none is given."""
    if type(time) is tuple:
        return all(whole(part) is not None for part in time)
    return time is None or whole(time) is not None


def _is_one_time(time: object) -> bool:
    return type(time) is int or time is None or (type(time) is tuple and all(type(part) is int for part in time))


def _is_whole_text(text: str) -> bool:
    """Whether it can be written; half of a character cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@cache
def _is_arrow(kind: type) -> bool:
    return kind.__module__ == "pyarrow.lib" and kind.__name__ in ("Table", "RecordBatch")


def _names_in(part: Any) -> set[str]:
    """The names of columns in a time= or diff=."""
    if isinstance(part, str):
        return {part}
    return {name for name in part if isinstance(name, str)} if isinstance(part, (tuple, list)) else set()


def whole_numbers(values: Any) -> Array | None:
    """An array of whole numbers that fit words, or None."""
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "null_count"):
        if values.null_count:
            return None
        values = values.to_numpy(zero_copy_only=False)
    try:
        given = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        return None
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind == "u" and given.dtype.itemsize == 8 and given.max() > END:
        return None
    return given.astype(np.int64, copy=False) if given.dtype.kind in "iu" else None


def whole_table(values: Any, count: int) -> Array | None:
    """int64[count, m] of whole numbers: one a row, or several as tuples or an Arrow struct.  None: it is not."""
    if type(values).__module__.partition(".")[0] == "pyarrow" and hasattr(values, "validate"):
        from ebbflow.columns.lanes import check_arrow

        for chunk in getattr(values, "chunks", [values]):
            check_arrow(chunk, "a column of times or diffs", 0)
    fields = getattr(getattr(values, "type", None), "fields", None)
    if fields:  # a struct with a number for each coordinate, as results have it
        struct_ = values.combine_chunks() if hasattr(values, "combine_chunks") else values
        parts = [part for part in map(whole_numbers, struct_.flatten()) if part is not None]
        return np.stack(parts, axis=1) if len(parts) == len(fields) and len(parts[0]) == count else None
    numbers = whole_numbers(values)
    if numbers is None or numbers.ndim not in (1, 2) or len(numbers) != count:
        return None
    return numbers.reshape(count, 1) if numbers.ndim == 1 else numbers


def _kind(written: Any, found: list[Any]) -> str:
    """What was given where numbers were wanted."""
    if isinstance(written, str):
        type_ = getattr(found[0], "type", None)
        return f'the column "{plain(written)}"' + (f" of {plain(type_)}" if type_ is not None else "") + _row(found[0])
    if hasattr(written, "__len__") and hasattr(written, "__iter__") and not isinstance(written, (bytes, Mapping)):
        some = f"{len(written)} value{'' if len(written) == 1 else 's'}"
        return f"{some} such as {plain(next(iter(written)))}{_row(written)}" if len(written) else "no values"
    return plain(written) + _beyond(written)


def _row(values: Any) -> str:
    """The first of several values that is no whole number, if there is one."""
    for row, value in enumerate(values):
        value = value.as_py() if hasattr(value, "as_py") else value
        if whole(value) is None and not isinstance(value, (tuple, list, dict, np.ndarray)):
            return f" (row {row} has {plain(value)}{_beyond(value)})"
    return ""
