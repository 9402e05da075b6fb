"""Sessions: a program that runs.

Rows go in with their times, `advance_to` says that no earlier ones will follow and does the work, results come out
with the times at which they hold.  A session checks and keeps what it is given; the runtime sees rows only when there
is work to do with them, so that a step that is refused leaves both as they were.

Rule: a call either happens or raises and changes nothing.  What is complete was shown once, and is never taken back.
"""

from __future__ import annotations

import difflib
import operator
import struct
from array import array
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.graph import Graph
from ebbflow.errors import (
    ChangesNotKept,
    FrontierMovedBack,
    HistoryGone,
    LateTime,
    NoKey,
    NotBuiltYet,
    NotComplete,
    SessionClosed,
    TypeMismatch,
    UnknownColumn,
    UnknownInput,
    UnknownOutput,
    WrongDiff,
    WrongTime,
)
from ebbflow.frontend.table import Table, plain, sorted_order
from ebbflow.frontend.upsert import Edits, Keyed, Outcome
from ebbflow.times import lattice
from ebbflow.times.frontier import Time, antichain, before

if TYPE_CHECKING:
    from ebbflow.columns.pool import Pool

Array = NDArray[np.int64]
Antichain = tuple[Time, ...]

END = 2**63 - 1  # the last number a coordinate can be
FEW = 16  # rows that are taken one by one, without Arrow
KNOWN_TEXTS = 1 << 16
LOG = 1 << 16  # changes kept as they came before they are summed up
RANGES = {"long": 2**63 - 1, "int": 2**31 - 1, "short": 2**15 - 1, "byte": 2**7 - 1}


class Program(Protocol):
    """What a session needs of a Dataflow."""

    graph: Graph


class Runtime(Protocol):
    """What a session needs of whoever does the work."""

    def feed(self, name: str, lanes: Array, times: Array, diffs: Array) -> None: ...
    def advance(self, frontiers: dict[str, Antichain]) -> None: ...
    def discard(self) -> None: ...
    def take(self, output: str) -> tuple[Array, Array, Array]: ...
    def frontier(self, output: str) -> Antichain: ...
    def close(self) -> None: ...


class Changes(NamedTuple):
    lanes: Array  # int64[lanes, n]
    times: Array  # int64[n, coordinates]
    diffs: Array  # int64[n]


# ---- times, as people write and read them --------------------------------------------------------


def told(times: Antichain | Time) -> str:
    """A time or a frontier, in a sentence."""
    if not times:
        return "closed"
    if isinstance(times[0], tuple):
        return " and ".join(told(time) for time in times)  # type: ignore[arg-type]
    return str(times[0]) if len(times) == 1 else str(tuple(times))


def whole(value: object) -> int | None:
    """A whole number that fits a word, or None."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
    return number if -END <= number <= END else None


def whole_numbers(values: Any) -> Array | None:
    """A column of whole numbers that fit words, or None."""
    if hasattr(values, "null_count"):  # Arrow
        if values.null_count:
            return None
        values = values.to_numpy()
    given = np.asarray(values)
    if given.size == 0:
        return given.astype(np.int64)
    if given.dtype.kind == "u" and given.dtype.itemsize == 8 and given.max() > END:
        return None
    return given.astype(np.int64, copy=False) if given.dtype.kind in "iu" else None


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


def near(name: object, names: Sequence[str]) -> str | None:
    found = difflib.get_close_matches(str(name), names, n=1)
    return f'Did you mean "{found[0]}"?' if found else None


def listed(names: Sequence[str]) -> str:
    return ", ".join(map(plain, names)) if names else "none"


# ---- what an input has been given ------------------------------------------------------------------


class Given:
    """One input: its frontier, and the rows since the last step."""

    def __init__(self, node: n.Input, coordinates: int):
        self.name, self.schema = node.name, node.schema
        self.frontier: Antichain = ((0,) * coordinates,)
        self.coordinates = coordinates
        self.key = tuple(node.schema.index(name) for name in node.key)
        self.keyed = Keyed(len(node.schema), self.key) if self.key else None
        self._words = array("q")  # row after row: lanes, time, diff
        self._blocks: list[Changes] = []
        self._types = node.schema.types

    def add_few(self, rows: list[Any], time: Time, diff: int, text_id: Callable[[str], int | None]) -> bool:
        """Take rows of plain values as they are; False, and nothing happened, if one needs a closer look."""
        words: list[int] = []
        types = self._types
        for row in rows:
            if type(row) is not tuple or len(row) != len(types):
                return False
            for value, type_ in zip(row, types):
                word = _word(value, type_, text_id)
                if word is None:
                    return False
                words.append(word)
            for i in self.key:
                if row[i] is None:
                    return False
            words.extend(time)
            words.append(diff)
        self._words.extend(words)
        return True

    def add(self, changes: Changes) -> None:
        self._flush()
        self._blocks.append(changes)

    def _flush(self) -> None:
        if self._words:
            width = len(self.schema)
            rows = np.frombuffer(self._words, np.int64).reshape(-1, width + self.coordinates + 1).T
            self._blocks.append(
                Changes(np.ascontiguousarray(rows[:width]), np.ascontiguousarray(rows[width:-1].T), rows[-1].copy())
            )
            self._words = array("q")

    def blocks(self) -> list[Changes]:
        self._flush()
        return self._blocks

    def clear(self) -> None:
        self._words, self._blocks = array("q"), []


def _word(value: object, type_: Type, text_id: Callable[[str], int | None]) -> int | None:
    """The lane of a plain value; None if it is not one."""
    if value is None:
        return NULL
    kind = type(value)
    if kind is int:
        limit = RANGES.get(type_.name)
        return value if limit is not None and -limit <= value <= limit else None  # type: ignore[operator,return-value]
    if kind is str:
        return text_id(value) if type_.name == "string" else None  # type: ignore[arg-type]
    if kind is float:
        if type_.name != "double" or value != value:
            return None
        (bits,) = struct.unpack("<q", struct.pack("<d", value + 0.0))  # type: ignore[operator]
        return bits if bits >= 0 else bits ^ END
    if kind is bool and type_.name == "boolean":
        return int(value)  # type: ignore[call-overload]
    return None


# ---- what an output has shown ----------------------------------------------------------------------


class Shown:
    """One output: what became complete and was not read, and what it all sums up to.

    Changes are kept at their exact times; those further back than the session's history are moved up to where it
    begins, where they can no longer be told apart, and summed.
    """

    def __init__(self, name: str, schema: Schema, keeps_changes: bool, since: Antichain, frontier: Antichain):
        self.name, self.schema, self.keeps_changes = name, schema, keeps_changes
        self.since, self.frontier = since, frontier
        self.unread: list[Changes] = []
        self.subscribers: list[Callable[[Table, list[Time]], object]] = []
        self._log: list[Changes] = []
        self._in_log = self._summed = 0

    def add(self, changes: Changes) -> None:
        if self.keeps_changes:
            self.unread.append(changes)
        self._log.append(changes)
        self._in_log += len(changes.diffs)
        if self._in_log > LOG + 2 * self._summed:
            self.summed()

    def summed(self) -> Changes:
        """Everything complete, at times moved up to `since`."""
        if len(self._log) > 1 or self._in_log != self._summed:
            whole = joined(self._log)
            times = lattice.advance(whole.times, np.array(self.since, np.int64).reshape(-1, whole.times.shape[1]))
            lanes, diffs = consolidated(np.concatenate([whole.lanes, times.T]), whole.diffs)
            self._log = [Changes(lanes[: len(self.schema)], lanes[len(self.schema) :].T, diffs)]
            self._in_log = self._summed = len(diffs)
        return self._log[0]

    @property
    def has_rows(self) -> bool:
        return self._in_log > 0

    def is_kept(self, time: Time) -> bool:
        return any(before(element, time) for element in self.since)


def joined(parts: Sequence[Changes]) -> Changes:
    if len(parts) == 1:
        return parts[0]
    return Changes(
        np.concatenate([part.lanes for part in parts], axis=1),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.diffs for part in parts]),
    )


def consolidated(lanes: Array, diffs: Array) -> tuple[Array, Array]:
    """Each row once, with the sum of its diffs; those that sum to zero are gone."""
    if len(diffs) == 0:
        return lanes, diffs
    order = sorted_order(list(lanes))
    lanes, diffs = lanes[:, order], diffs[order]
    starts = np.flatnonzero(np.append(True, (lanes[:, 1:] != lanes[:, :-1]).any(axis=0)))
    sums = np.add.reduceat(diffs, starts)
    kept = sums != 0
    return lanes[:, starts[kept]], sums[kept]


# ---- the session -------------------------------------------------------------------------------------


class Session:
    """A running program; `flow.run()` makes it, `with` closes it.

    Rows may be a list of tuples or of dicts, a dict of arrays, or anything Arrow: pyarrow, pandas, Polars, DuckDB.
    A time is a whole number, or a tuple where the program has several coordinates; without one, the input's open time.
    """

    def __init__(
        self,
        flow: Program,
        workers: int = 1,
        checkpoint: object = None,
        history: int | str | None = None,
        runtime: Callable[..., Runtime] | None = None,
        **options: object,
    ):
        from ebbflow.columns.pool import Pool  # numba and pyarrow load when a program runs, not when one is written

        if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
            raise TypeMismatch(
                f"workers is a number of threads, 1 or more, not {plain(workers)}.", hint="run(workers=2)"
            )
        if history not in (None, "all") and (whole(history) is None or history < 0):  # type: ignore[operator]
            raise TypeMismatch(
                f"history says how far back snapshots reach, not {plain(history)}.",
                hint='Leave it out, or write run(history="all") or run(history=1000), a number of time units.',
            )
        if runtime is None:
            from ebbflow.runtime.local import LocalRuntime

            runtime = LocalRuntime
        if checkpoint is not None:
            options["checkpoint"] = checkpoint
        self._graph, self._history = flow.graph, history
        self._coordinates = tuple(flow.graph.coordinates)
        width = len(self._coordinates)
        self._inputs = {node.name: Given(node, width) for node in flow.graph.nodes if isinstance(node, n.Input)}
        for given in self._inputs.values():
            if given.keyed is not None and width > 1:
                raise NoKey(
                    f'the input "{plain(given.name)}" has a key, and this flow\'s times have {width} coordinates '
                    f"({listed(self._coordinates)}); rows are replaced by key along one coordinate only.",
                    hint="Leave out key=, and delete the row that is replaced.",
                )
        self._pool: Pool = Pool()
        self._text_ids: dict[str, int] = {}
        self._runtime = runtime(flow.graph, workers=workers, pool=self._pool, **options)
        self._is_closed = False
        self._outputs: dict[str, Shown] = {}
        for node in flow.graph.nodes:
            if isinstance(node, n.Output):
                self._show(node, ((0,) * width,))
        self._notices: deque[tuple[Callable[[Table, list[Time]], object], Table, list[Time]]] = deque()
        self._is_delivering = False

    def _show(self, node: n.Output, since: Antichain) -> None:
        schema = self._graph.schemas[node.source]
        self._outputs[node.name] = Shown(node.name, schema, node.changes, since, self._runtime.frontier(node.name))

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is not None:
            self._release()
            return
        try:
            self.close()
        except BaseException:
            self._release()
            raise

    def __repr__(self) -> str:
        inputs = ", ".join(f"{plain(given.name)} {told(given.frontier)}" for given in self._inputs.values())
        outputs = ", ".join(f"{plain(shown.name)} {told(shown.frontier)}" for shown in self._outputs.values())
        return f"Session(inputs: {inputs or 'none'}; outputs: {outputs or 'none'})"

    # ---- rows in -----------------------------------------------------------------------------

    def insert(self, name: str, rows: Any, time: Any = None) -> None:
        """Add rows at a time.  For an input with a key: the rows of their keys, from that time on."""
        self._edit("insert", name, rows, time, 1)

    def delete(self, name: str, rows: Any, time: Any = None) -> None:
        """Take rows away at a time.  For an input with a key, rows or only their keys."""
        self._edit("delete", name, rows, time, -1)

    def upsert(self, name: str, rows: Any, time: Any = None) -> None:
        """Give the rows of their keys from a time on, in place of those that were there."""
        if self._given("upsert", name).keyed is None:
            raise NoKey(
                f'upsert replaces rows by key, and the input "{plain(name)}" has no key.',
                hint=f'Declare it as flow.input("{plain(name)}", ..., key="..."), or use insert and delete.',
            )
        self._edit("upsert", name, rows, time, 1)

    def apply(self, name: str, table: Any, time: Any = None, diff: Any = None) -> None:
        """Add changes in bulk.

        `time` and `diff` are the name of a column of the table, an array with one number a row, or one number for all.
        With several coordinates `time` is one time as a tuple, or a tuple with such a name, array or number for each.
        """
        self._edit("apply", name, table, time, 1 if diff is None else diff)

    def _given(self, verb: str, name: str) -> Given:
        given = self._inputs.get(name) if isinstance(name, str) else None
        if given is None:
            if name in self._outputs:
                hint: str | None = f'"{plain(name)}" is an output: it follows from the inputs.'
            else:
                hint = near(name, list(self._inputs)) or "Inputs are declared with flow.input(name, schema)."
            raise UnknownInput(
                f'{verb} looks for the input "{plain(name)}"; this flow has: {listed(list(self._inputs))}.', hint=hint
            )
        if self._is_closed or not given.frontier:
            self._refuse_closed(verb, f'the input "{plain(name)}"')
        return given

    def _refuse_closed(self, verb: str, what: str) -> NoReturn:
        whose = "the session" if self._is_closed else what
        raise SessionClosed(
            f"{verb} comes after {whose} was closed, which said that no more input follows.",
            hint="Results stay readable. Start another session with flow.run() for more input.",
        )

    def _edit(self, verb: str, name: str, rows: Any, time: Any, diff: Any) -> None:
        given = self._given(verb, name)
        if type(rows) is list and len(rows) <= FEW and type(diff) is int and _is_one_time(time):
            moment = self._one_time(verb, given, time)
            if given.keyed is None or diff == 1 or (diff == -1 and verb == "delete"):
                if given.add_few(rows, moment, diff, self._text_id):
                    return
        self._edit_many(verb, given, rows, time, diff)

    def _text_id(self, text: str) -> int | None:
        known = self._text_ids.get(text)
        if known is None:
            if len(self._text_ids) >= KNOWN_TEXTS:
                self._text_ids.clear()
            try:
                known = self._text_ids[text] = int(self._pool.encode_texts([text])[0])
            except UnicodeEncodeError:
                return None
        return known

    def _edit_many(self, verb: str, given: Given, rows: Any, time: Any, diff: Any) -> None:
        columns, count = as_columns(verb, given, rows)
        used = _names_in(time) | _names_in(diff)
        times = self._times(verb, given, time, columns, count)
        diffs = self._diffs(verb, given, diff, columns, count)
        schema = given.schema
        if given.keyed is not None and (diffs < 0).all() and not set(schema.names) <= set(columns):
            schema = Schema(tuple(schema.fields[i] for i in given.key))  # delete by key
        lanes = self._encode(verb, given, schema, columns, used, count)
        if given.keyed is not None:
            lanes = _edits_by_key(verb, given, schema, lanes, diffs)
        if not diffs.all():
            kept = diffs != 0
            lanes, times, diffs = lanes[:, kept], times[kept], diffs[kept]
        if len(diffs):
            given.add(Changes(lanes, times, diffs))

    def _encode(
        self, verb: str, given: Given, schema: Schema, columns: dict[str, Any], used: set[str], count: int
    ) -> Array:
        from ebbflow.columns.lanes import encode

        missing = [name for name in schema.names if name not in columns]
        if missing:
            raise UnknownColumn(
                f'{verb} looks for the column "{plain(missing[0])}" of the input "{plain(given.name)}" in its rows, '
                f"which have: {listed(list(columns))}.",
                hint=near(missing[0], list(columns)) or f"The input has: {given.schema}.",
            )
        more = [name for name in columns if name not in schema and name not in used]
        if more:
            raise UnknownColumn(
                f'{verb} finds the column "{plain(more[0])}" in its rows, which the input "{plain(given.name)}" does not '
                f"have: {listed(given.schema.names)}.",
                hint=near(more[0], given.schema.names) or "Leave it out, or name it as time= or diff=.",
            )
        if not count:
            return np.empty((len(schema), 0), np.int64)
        return encode({name: columns[name] for name in schema.names}, schema, self._pool)

    # ---- times and diffs of rows -----------------------------------------------------------------

    def _open_time(self, verb: str, given: Given) -> Time:
        if len(given.frontier) > 1:
            raise WrongTime(
                f'{verb} has no time, and the input "{plain(given.name)}" has several open ones: {told(given.frontier)}.',
                hint=f"Say which: time={told(given.frontier[0])}.",
            )
        return given.frontier[0]

    def _as_time(self, verb: str, value: object) -> Time:
        """A time as a person writes it: a whole number, or one for each coordinate."""
        width = len(self._coordinates)
        parts = value if isinstance(value, (tuple, list)) else (value,)
        numbers = tuple(whole(part) for part in parts)
        if len(numbers) == width and None not in numbers:
            return numbers  # type: ignore[return-value]
        if width == 1:
            wanted, hint = "a whole number", "Write time=8."
        else:
            wanted = f"{width} whole numbers ({listed(self._coordinates)})"
            hint = f"Write a tuple, such as {(3,) + (0,) * (width - 1)}."
        raise WrongTime(f"{verb} is given the time {plain(value)}; a time of this flow is {wanted}.", hint=hint)

    def _one_time(self, verb: str, given: Given, value: object) -> Time:
        """The one time of all the rows of a call, at which they may still come."""
        if value is None:
            return self._open_time(verb, given)
        time = self._as_time(verb, value)
        for element in given.frontier:
            if before(element, time):
                return time
        self._refuse_late(verb, given, time, "")

    def _refuse_late(self, verb: str, given: Given, time: Time, where: str) -> NoReturn:
        raise LateTime(
            f'{verb} comes too late at time {told(time)}{where}: the input "{plain(given.name)}" is complete before its '
            f"frontier, {told(given.frontier)}.",
            hint=f"Use a time from {told(given.frontier)} on; nothing of this call was taken in.",
        )

    def _times(self, verb: str, given: Given, time: Any, columns: dict[str, Any], count: int) -> Array:
        """One time per row, none of them late."""
        width = len(self._coordinates)
        if (
            time is None
            or whole(time) is not None
            or (isinstance(time, tuple) and all(whole(t) is not None for t in time))
        ):
            return np.tile(np.array(self._one_time(verb, given, time), np.int64), (count, 1))
        if isinstance(time, str) or (
            isinstance(time, (tuple, list)) and len(time) == width and (type(time) is tuple or type(time[0]) is str)
        ):
            parts = (time,) if isinstance(time, str) else time
            found = [self._column(verb, "time", part, columns, count) for part in parts]
        else:
            found = [time]
        numbers = [_number_table(part, count) for part in found]
        if any(part is None for part in numbers) or sum(part.shape[1] for part in numbers if part is not None) != width:
            every = "one whole number" if width == 1 else f"{width} whole numbers ({listed(self._coordinates)})"
            raise WrongTime(
                f"{verb} takes as time {every} for each of its {count} rows, not {_kind(time, found)}.",
                hint="Give one time, the name of a column of whole numbers, or an array of them"
                + ("." if width == 1 else ", for each coordinate."),
            )
        times = np.concatenate([part for part in numbers if part is not None], axis=1)
        times = np.ascontiguousarray(times)
        if count:
            on_time = lattice.reached(times, np.array(given.frontier, np.int64))
            if not on_time.all():
                row = int(np.argmin(on_time))
                self._refuse_late(verb, given, tuple(times[row].tolist()), f" (row {row})")
        return times

    def _diffs(self, verb: str, given: Given, diff: Any, columns: dict[str, Any], count: int) -> Array:
        number = whole(diff)
        if number is not None:
            return np.full(count, number, np.int64)
        found = self._column(verb, "diff", diff, columns, count)
        numbers = _number_table(found, count)
        if numbers is None or numbers.shape[1] != 1:
            raise WrongDiff(
                f"{verb} takes as diff one whole number for each of its {count} rows, not {_kind(diff, [found])}.",
                hint="A diff counts copies of a row: 1 adds one, -1 takes one away.",
            )
        return np.ascontiguousarray(numbers[:, 0])

    def _column(self, verb: str, what: str, part: Any, columns: dict[str, Any], count: int) -> Any:
        """A part of time= or diff=: a column by its name, a number for every row, or what it is."""
        if isinstance(part, str):
            if part not in columns:
                raise UnknownColumn(
                    f'{verb} looks for the column "{plain(part)}" ({what}=) in its rows, which have: '
                    f"{listed(list(columns))}.",
                    hint=near(part, list(columns)) or f"{what}= takes the name of a column, an array or a number.",
                )
            return columns[part]
        number = whole(part)
        return part if number is None else np.full(count, number, np.int64)

    # ---- time goes on ----------------------------------------------------------------------------

    def advance_to(self, time: Any = None, /, **inputs: Any) -> None:
        """Say that no input comes before a time, and do the work this allows.

        One time for all the inputs, or for some by name; a list of times is an antichain: what is not at or after
        one of them is complete.
        """
        if self._is_closed:
            self._refuse_closed("advance_to", "")
        targets: dict[str, Antichain] = {}
        if time is not None:
            target = self._as_frontier(time)
            targets = {name: target for name, given in self._inputs.items() if given.frontier}
        elif not inputs:
            raise WrongTime("advance_to is not told where to.", hint="Write advance_to(8), or advance_to(edges=8).")
        for name, value in inputs.items():
            self._given("advance_to", name)
            targets[name] = self._as_frontier(value)
        for name, target in targets.items():
            at = self._inputs[name].frontier
            if target != at and not all(any(before(old, new) for old in at) for new in target):
                raise FrontierMovedBack(
                    f'advance_to would move the frontier of the input "{plain(name)}" back from {told(at)} to '
                    f"{told(target)}; what is complete stays complete.",
                    hint="Give a later time"
                    + ("." if len(self._inputs) == 1 else ", or name the inputs that go on: advance_to(name=time)."),
                )
        self._step(targets)

    def _as_frontier(self, value: Any) -> Antichain:
        several = isinstance(value, (list, set, frozenset)) and not (
            len(self._coordinates) > 1 and len(value) > 0 and all(whole(part) is not None for part in value)
        )
        return antichain(self._as_time("advance_to", part) for part in (value if several else [value]))

    def commit(self) -> dict[str, Table]:
        """Close the current time, open the next, and give what changed in every output that keeps its changes.

        With several coordinates it is the last one that goes on.
        """
        open_ = [given for given in self._inputs.values() if given.frontier]
        if self._is_closed or not open_:
            self._refuse_closed("commit", "every input")
        times = [self._open_time("commit", given) for given in open_]
        now = tuple(map(max, *times)) if len(times) > 1 else times[0]
        self._step({given.name: ((*now[:-1], now[-1] + 1),) for given in open_})
        return {name: self.changes(name) for name, shown in self._outputs.items() if shown.keeps_changes}

    def close(self) -> None:
        """Say that no more input comes, ever, and do what is left to do.  Results stay readable."""
        if not self._is_closed:
            self._step(dict.fromkeys(self._inputs, ()), release=True)

    def discard(self) -> None:
        """Drop the rows given since the last step that succeeded."""
        for given in self._inputs.values():
            given.clear()

    def _step(self, targets: dict[str, Antichain], release: bool = False) -> None:
        frontiers = {name: targets.get(name, given.frontier) for name, given in self._inputs.items()}
        outcomes: dict[str, Outcome] = {}
        try:
            for name, given in self._inputs.items():
                blocks = given.blocks()
                if given.keyed is not None:
                    edits = [Edits(block.lanes, block.times[:, 0], block.diffs) for block in blocks]
                    until = frontiers[name][0][0] if frontiers[name] else None
                    outcome = outcomes[name] = given.keyed.resolve(edits, until)
                    blocks = [Changes(outcome.lanes, outcome.times[:, None], outcome.diffs)]
                for block in blocks:
                    if len(block.diffs):
                        self._runtime.feed(name, *block)
            self._runtime.advance(frontiers)
        except BaseException:
            self._runtime.discard()
            raise
        for name, given in self._inputs.items():
            given.frontier = frontiers[name]
            given.clear()
            if given.keyed is not None:
                given.keyed.settle(outcomes[name])
        for shown in self._outputs.values():
            self._move_on(shown)
        if release:
            self._release()
        self._deliver()

    def _move_on(self, shown: Shown) -> None:
        """Take note of an output's frontier, and of what somebody waits for."""
        was, shown.frontier = shown.frontier, self._runtime.frontier(shown.name)
        if was != shown.frontier and self._history != "all":
            kept = was
            if self._history is not None:
                kept += tuple(tuple(max(c - int(self._history), 0) for c in time) for time in shown.frontier or was)
            shown.since = antichain(kept)
        if shown.subscribers or not shown.keeps_changes:
            new = self._pull(shown)
            if new is not None:
                changes = self._as_table(shown, new)
                for fn in shown.subscribers:
                    self._notices.append((fn, changes, list(shown.frontier)))

    def _deliver(self) -> None:
        """Call the subscribers.  All of them hear of everything, in order, whatever one of them raises or starts."""
        if self._is_delivering:
            return
        self._is_delivering = True
        raised: list[BaseException] = []
        try:
            while self._notices:
                fn, changes, frontier = self._notices.popleft()
                try:
                    fn(changes, frontier)
                except Exception as error:
                    raised.append(error)
        finally:
            self._is_delivering = False
        if raised:
            for other in raised[1:]:
                raised[0].add_note(f"another subscriber raised too: {other!r}")
            raise raised[0]

    def _release(self) -> None:
        if not self._is_closed:
            for shown in self._outputs.values():
                self._pull(shown)
            self._is_closed = True
            self._runtime.close()

    # ---- results out -------------------------------------------------------------------------------

    def _shown(self, verb: str, name: str) -> Shown:
        shown = self._outputs.get(name) if isinstance(name, str) else None
        if shown is None:
            if name in self._inputs:
                hint: str | None = f'"{plain(name)}" is an input; flow.output("{plain(name)}", ...) would show it.'
            else:
                hint = near(name, list(self._outputs)) or "Outputs are declared with flow.output(name, collection)."
            raise UnknownOutput(
                f'{verb} looks for the output "{plain(name)}"; this flow has: {listed(list(self._outputs))}.', hint=hint
            )
        return shown

    def _pull(self, shown: Shown) -> Changes | None:
        """What became complete since the runtime was last asked."""
        if self._is_closed:
            return None
        new = Changes(*self._runtime.take(shown.name))
        if not len(new.diffs):
            return None
        shown.add(new)
        return new

    def _as_table(self, shown: Shown, changes: Changes) -> Table:
        return Table(shown.schema, changes.lanes, changes.times, changes.diffs, self._coordinates, self._pool)

    def changes(self, name: str) -> Table:
        """What became complete since the last call: the columns, `_time` and `_diff`."""
        shown = self._shown("changes", name)
        if not shown.keeps_changes:
            raise ChangesNotKept(
                f'the output "{plain(name)}" was declared with changes=False: its changes are not kept.',
                hint="Leave changes=False out of flow.output, use subscribe to see changes go by, or read snapshot.",
            )
        self._pull(shown)
        unread, shown.unread = shown.unread, []
        return self._as_table(shown, joined(unread) if unread else self._nothing(shown))

    def _nothing(self, shown: Shown) -> Changes:
        none = np.empty(0, np.int64)
        return Changes(none.reshape(len(shown.schema), 0), none.reshape(0, len(self._coordinates)), none)

    def snapshot(self, name: str, at: Any = None) -> Table:
        """The collection at a time: the columns and `_count`.  Without `at`, at the last complete time.

        Where several coordinates leave no one last time, it is one that all of them have passed.
        """
        shown = self._shown("snapshot", name)
        time = self._last_time(shown) if at is None else self._readable("snapshot", shown, at)
        self._pull(shown)
        if time is None or not shown.has_rows:
            nothing = self._nothing(shown)
            return Table(shown.schema, nothing.lanes, None, nothing.diffs, self._coordinates, self._pool)
        whole = shown.summed()
        seen = lattice.precedes(whole.times, np.array(time, np.int64))
        lanes, counts = consolidated(whole.lanes[:, seen], whole.diffs[seen])
        return Table(shown.schema, lanes, None, counts, self._coordinates, self._pool)

    def _last_time(self, shown: Shown) -> Time | None:
        last = corners(shown.frontier, len(self._coordinates))
        if len(last) > 1:
            last.insert(0, tuple(map(min, *last)))
        return next((time for time in last if shown.is_kept(time)), None)

    def _readable(self, verb: str, shown: Shown, at: Any) -> Time:
        time = self._as_time(verb, at)
        if any(before(element, time) for element in shown.frontier):
            raise NotComplete(
                f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is not complete: its frontier is '
                f"{told(shown.frontier)}.",
                hint="Call advance_to with a later time first, or leave at= out for the last complete time.",
            )
        if not shown.is_kept(time):
            began = ", where the last advance began" if self._history is None else ""
            raise HistoryGone(
                f'{verb} asks for "{plain(shown.name)}" at {told(time)}, which is no longer kept: '
                f"it reaches back to {told(shown.since)}{began}.",
                hint='Start with run(history="all"), or run(history=1000) for as many time units, to look further back.',
            )
        return time

    def frontier(self, name: str) -> list[Time]:
        """The times that may still appear in an output (or an input); none when it is closed."""
        if name in self._inputs and name not in self._outputs:
            return list(self._inputs[name].frontier)
        return list(self._shown("frontier", name).frontier)

    def subscribe(self, name: str, fn: Callable[[Table, list[Time]], object]) -> Callable[[], None]:
        """Call `fn(changes, frontier)` whenever changes of an output become complete, from now on.

        `changes` still gives them too.  What is returned ends the subscription when called.
        """
        shown = self._shown("subscribe", name)
        if not callable(fn):
            raise TypeMismatch(
                f"subscribe takes a function of (changes, frontier), not {plain(fn)}.",
                hint="live.subscribe(name, lambda changes, frontier: print(changes))",
            )
        self._pull(shown)  # what is complete already is not news
        shown.subscribers.append(fn)

        def unsubscribe() -> None:
            if fn in shown.subscribers:
                shown.subscribers.remove(fn)

        return unsubscribe

    def add_output(self, name: str) -> None:
        """Show an output that the program was given after it began to run; its past is summed up where it begins."""
        if name in self._outputs:
            return
        node = next((node for node in self._graph.nodes if isinstance(node, n.Output) and node.name == name), None)
        if node is None:
            self._shown("add_output", name)
        assert node is not None
        add = getattr(self._runtime, "add_output", None)
        if add is None or self._is_closed:
            raise NotBuiltYet(
                f'the output "{plain(name)}" was declared after the session began, and this runtime shows only those '
                "it was started with.",
                hint="Declare it before flow.run().",
            )
        since = add(name)
        self._show(node, since or self._runtime.frontier(name))

    def counters(self) -> dict[str, Any]:
        """What the runtime counts about its work; nothing if it counts nothing."""
        counters = getattr(self._runtime, "counters", None)
        return dict(counters()) if counters is not None else {}


def compute(
    flow: Program,
    inputs: Mapping[str, Any],
    workers: int = 1,
    runtime: Callable[..., Runtime] | None = None,
    **options: object,
) -> dict[str, Table]:
    """The program run once on these rows: the snapshot of every output."""
    session = Session(flow, workers=workers, runtime=runtime, **options)  # type: ignore[arg-type]
    with session:
        for name, rows in inputs.items():
            session._edit("compute", name, rows, None, 1)
    return {name: session.snapshot(name) for name in session._outputs}


# ---- rows, as people give them -----------------------------------------------------------------------


def as_columns(verb: str, given: Given, rows: Any) -> tuple[dict[str, Any], int]:
    """The columns of the rows by name, and how many rows there are."""
    schema = given.schema
    if isinstance(rows, Mapping):
        columns = {name: column for name, column in rows.items()}
    elif isinstance(rows, np.ndarray) and rows.dtype.names:
        columns = {name: rows[name] for name in rows.dtype.names}
    elif isinstance(rows, np.ndarray) and rows.ndim == 2:
        return _by_position(verb, given, list(rows.T), len(rows), rows.shape[1], 0)
    elif type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "iloc"):
        import pyarrow

        return _from_arrow(pyarrow.Table.from_pandas(rows, preserve_index=False))
    elif hasattr(rows, "__arrow_c_stream__") or hasattr(rows, "__arrow_c_array__"):
        import pyarrow

        return _from_arrow(pyarrow.table(rows))
    elif isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
        raise TypeMismatch(
            f'{verb} takes the rows of "{plain(given.name)}" as a list of tuples, a dict of arrays, or anything Arrow, '
            f"not {type(rows).__name__}.",
            hint=f"Write [({', '.join(schema.names)}{',' if len(schema) == 1 else ''})].",
        )
    else:
        return _from_rows(verb, given, list(rows))
    lengths = {
        name: len(column) if hasattr(column, "__len__") and not isinstance(column, (str, bytes)) else None
        for name, column in columns.items()
    }
    if None in lengths.values() or len(set(lengths.values())) > 1:
        raise TypeMismatch(
            f'{verb} takes columns of equal length for "{plain(given.name)}"; these have: '
            + ", ".join(f"{plain(k)} {'one value' if v is None else v}" for k, v in lengths.items())
            + ".",
            hint="A dict holds an array for every column.",
        )
    return columns, next(iter(lengths.values()), 0) or 0


def _from_arrow(table: Any) -> tuple[dict[str, Any], int]:
    return {name: table.column(i) for i, name in enumerate(table.column_names)}, table.num_rows


def _from_rows(verb: str, given: Given, rows: list[Any]) -> tuple[dict[str, Any], int]:
    if not rows:
        return {name: [] for name in given.schema.names}, 0
    first = rows[0]
    if isinstance(first, Mapping):
        names = list(first)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping) or row.keys() != first.keys():
                raise TypeMismatch(
                    f'{verb} finds other columns in row {i} for "{plain(given.name)}" than in row 0: '
                    f"{listed(list(row)) if isinstance(row, Mapping) else plain(row)} instead of {listed(names)}.",
                    hint="Give every row the same columns; None is a value.",
                )
        return {name: [row[name] for row in rows] for name in names}, len(rows)
    if hasattr(first, "__dataclass_fields__"):
        names = list(first.__dataclass_fields__)
        return {name: [getattr(row, name) for row in rows] for name in names}, len(rows)
    width = len(first) if isinstance(first, (tuple, list)) else -1
    if (
        verb == "delete"
        and len(given.key) == 1
        and width < 0
        and not any(isinstance(row, (tuple, list)) for row in rows)
    ):
        return {given.schema.names[given.key[0]]: rows}, len(rows)
    for i, row in enumerate(rows):
        if not isinstance(row, (tuple, list, np.ndarray)) or len(row) != width:
            width = len(row) if isinstance(row, (tuple, list, np.ndarray)) else -1
            return _by_position(verb, given, [], len(rows), width, i, row)
    return _by_position(verb, given, list(zip(*rows)), len(rows), width, 0, first)


def _by_position(
    verb: str, given: Given, columns: list[Any], count: int, width: int, row: int, value: object = None
) -> tuple[dict[str, Any], int]:
    """Columns without names: those of the schema in its order, or only the key where rows are deleted by it."""
    names = given.schema.names
    if len(columns) == width == len(names):
        return dict(zip(names, columns)), count
    if verb == "delete" and given.key and len(columns) == width == len(given.key):
        return {names[i]: column for i, column in zip(given.key, columns)}, count
    what = f"{width} value{'' if width == 1 else 's'}" if width >= 0 else plain(value)
    raise TypeMismatch(
        f'{verb} finds {what} in row {row}; a row of "{plain(given.name)}" has {len(names)}: {given.schema}.',
        hint=f"Write each row as a tuple: ({', '.join(names)}{',' if len(names) == 1 else ''}).",
    )


def _edits_by_key(verb: str, given: Given, schema: Schema, lanes: Array, diffs: Array) -> Array:
    """Whole rows for edits, with nothing in the columns that a deletion by key leaves out."""
    key = [schema.index(given.schema.names[i]) for i in given.key]
    empty = lanes[key] == NULL
    if empty.any():
        row = int(np.argmax(empty.any(axis=0)))
        column = schema.names[key[int(np.argmax(empty[:, row]))]]
        raise NoKey(
            f'{verb} finds no value for the key "{plain(column)}" of "{plain(given.name)}" in row {row}.',
            hint="A key is never null: it says which row is meant.",
        )
    beyond = np.abs(diffs) > 1
    if beyond.any():
        row = int(np.argmax(beyond))
        raise WrongDiff(
            f'{verb} finds the diff {int(diffs[row])} in row {row}; "{plain(given.name)}" has a key, and a key has one row.',
            hint="Use 1 for a row that shall be there, -1 for one that shall not.",
        )
    if len(schema) == len(given.schema):
        return lanes
    whole_rows = np.full((len(given.schema), lanes.shape[1]), NULL, np.int64)
    whole_rows[list(given.key)] = lanes[key]
    return whole_rows


def _is_one_time(time: object) -> bool:
    return time is None or type(time) is int or (type(time) is tuple and all(type(part) is int for part in time))


def _names_in(part: Any) -> set[str]:
    """The names of columns in a time= or diff=."""
    if isinstance(part, str):
        return {part}
    return {name for name in part if isinstance(name, str)} if isinstance(part, (tuple, list)) else set()


def _number_table(values: Any, count: int) -> Array | None:
    """int64[count, m] of whole numbers: one a row, or several as rows of tuples or an Arrow struct.  None: it is not."""
    fields = getattr(getattr(values, "type", None), "fields", None)
    if fields:  # a struct with a number for each coordinate, as results have it
        chunks = values.combine_chunks() if hasattr(values, "combine_chunks") else values
        parts = [whole_numbers(part) for part in chunks.flatten()]
        if any(part is None or len(part) != count for part in parts):
            return None
        return np.stack([part for part in parts if part is not None], axis=1)
    try:
        numbers = whole_numbers(values)
    except (TypeError, ValueError, OverflowError):
        return None
    if numbers is None or len(numbers.shape) not in (1, 2) or len(numbers) != count:
        return None
    return numbers.reshape(count, 1) if numbers.ndim == 1 else numbers


def _kind(written: Any, found: list[Any]) -> str:
    """What was given where numbers were wanted."""
    if isinstance(written, str):
        type_ = getattr(found[0], "type", None)
        return f'the column "{plain(written)}"' + (f" of {plain(type_)}" if type_ is not None else "")
    if hasattr(written, "__len__") and not isinstance(written, (str, bytes)):
        return f"{len(written)} values such as {plain(written[0])}" if len(written) else "no values"
    return plain(written)
