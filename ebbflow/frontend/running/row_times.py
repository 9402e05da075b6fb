"""The times and diffs of rows, as a call gives them.

A call says one time for all its rows, names a column of them, or gives an array; with several coordinates one of these
for each. So it says its diffs.

Rule: no row gets a time before the input's frontier; a call with one that is late is refused whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ebbflow.errors import LateTime, UnknownColumn, WrongDiff, WrongTime, did_you_mean
from ebbflow.frontend.plain import plain
from ebbflow.frontend.running.notation import as_time, beyond, is_whole_time, listed, told, whole
from ebbflow.frontend.running.output_log import END, Antichain
from ebbflow.frontend.running.same_time_rows import repeated
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, before

Array = NDArray[np.int64]


class RowTimes:
    """How calls say the times and diffs of the rows of one input."""

    def __init__(self, name: str, coordinates: tuple[str, ...]):
        self.name, self.coordinates = name, coordinates

    def open_time(self, verb: str, frontier: Antichain) -> Time:
        """The one time at which rows come that say none."""
        if len(frontier) > 1:
            raise WrongTime(
                f'{verb} has no time, and the input "{plain(self.name)}" has several open ones: {told(frontier)}.',
                hint=f"Say how far: advance_to({told(frontier[0])})."
                if verb == "commit"
                else f"Say which: time={told(frontier[0])}.",
            )
        return frontier[0]

    def one_time(self, verb: str, value: object, frontier: Antichain) -> Time:
        """The one time of all the rows of a call, at which they may still come."""
        if value is None:
            return self.open_time(verb, frontier)
        if type(value) is int and len(self.coordinates) == 1 and frontier[0][0] <= value <= END:
            return (value,)
        time = as_time(verb, value, self.coordinates)
        for element in frontier:
            if before(element, time):
                return time
        self._refuse_late(verb, time, "", frontier)

    def _refuse_late(self, verb: str, time: Time, where: str, frontier: Antichain) -> NoReturn:
        raise LateTime(
            f'{verb} comes too late at time {told(time)}{where}: the input "{plain(self.name)}" is complete '
            f"before its frontier, {told(frontier)}.",
            hint=f"Use a time from {told(frontier)} on; nothing of this call was taken in.",
        )

    def times(self, verb: str, time: Any, columns: dict[str, Any], count: int, frontier: Antichain) -> Array:
        """One time per row, none of them late."""
        width = len(self.coordinates)
        if is_whole_time(time):
            return repeated(self.one_time(verb, time, frontier), count)
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
            on_time = lattice.reached(times, np.array(frontier, np.int64))
            if not on_time.all():
                row = int(np.argmin(on_time))
                self._refuse_late(verb, tuple(times[row].tolist()), f" (row {row})", frontier)
        return times

    def diffs(self, verb: str, diff: Any, columns: dict[str, Any], count: int) -> Array:
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


def names_in(part: Any) -> set[str]:
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
        from ebbflow.columns.arrow_in import check_arrow

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
    return plain(written) + beyond(written)


def _row(values: Any) -> str:
    """The first of several values that is no whole number, if there is one."""
    for row, value in enumerate(values):
        value = value.as_py() if hasattr(value, "as_py") else value
        if whole(value) is None and not isinstance(value, (tuple, list, dict, np.ndarray)):
            return f" (row {row} has {plain(value)}{beyond(value)})"
    return ""
