"""Callbacks: users' functions, and expressions that need Python, called from the walk.

The walk hands over whole buffers: all rows that came to a function, or all groups of a round, one per key and time. The
results are encoded and handed back, and the walk continues.

Rule: a function that raises, or returns what does not fit its schema, refuses the step; the error names the row and the
time.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ebbflow.columns.lanes import by_column
from ebbflow.columns.lanes_in import encode
from ebbflow.columns.lanes_out import decode_column, python_values
from ebbflow.columns.schema import NULL, Schema, Type
from ebbflow.columns.value_refusals import SHOWN_LETTERS
from ebbflow.columns.value_words import nested_values
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.exploding import Exploder
from ebbflow.dataflow.plan import Cell, Plan, Stage
from ebbflow.engine import feed
from ebbflow.engine.blame import Blamed, counted, culprit, rows_in, shown, whole
from ebbflow.engine.refusals import STAYS, told
from ebbflow.errors import EbbflowError, FunctionFailed, NumberOverflow, Place, StepRefused
from ebbflow.expressions.columnwise import lanes_of, outside, values_of
from ebbflow.limits import COPIES_KEPT
from ebbflow.operators.node import NOTHING

ROW_TYPES = tuple, list, Mapping, np.ndarray
VERBS = {"rows": "map_rows", "flat": "flat_map", "batches": "map_batches"}


class Callback(NamedTuple):
    """A user's function, by what it was given to and where."""

    function: n.Function
    verb: str
    at: Place | None

    def raised(self, error: Exception, about: str, times: np.ndarray) -> FunctionFailed:
        if isinstance(error, StepRefused):  # no function of a person's: what a query asks for
            return StepRefused(f"{error.what},{told(times)}.", at=self.at, hint=f"{error.hint} {STAYS}".strip())
        return self.failed(f"raised {type(error).__name__}: {error}, for {about[:SHOWN_LETTERS]}", times)

    def answered(self, error: EbbflowError, about: str, times: np.ndarray) -> FunctionFailed:
        what = f"returned what does not fit, for {about[:SHOWN_LETTERS]}"
        return self.failed(what, times, error.hint, because=f": {error.what.rstrip('.')}")

    def failed(self, what: str, times: np.ndarray, hint: str = "", because: str = "") -> FunctionFailed:
        name = "" if self.function.name == "<lambda>" else f" {self.function.name}"
        return FunctionFailed(
            f"the function{name} given to {self.verb} {what}{told(times)}{because}.",
            at=self.at,
            hint=f"{hint} {STAYS}".strip(),
        )


class Group(NamedTuple):
    """The rows of one key at one time: `count, lanes...` each."""

    key: int  # the key's lanes, in the heap
    rank: int
    rows: np.ndarray


class Callbacks:
    """Calls what the cells of a plan need from outside."""

    def __init__(self, plan: Plan, pool):
        self.plan, self.pool = plan, pool
        self.rows: dict[int, type] = {}

    def asked(self, cell: Cell, function: n.Function, verb: str) -> Callback:
        return Callback(function, verb, self.plan.graph.places[cell.node])

    # ---- rows -------------------------------------------------------------------------------

    def call(self, worker, cell: Cell) -> None:
        """Empty the buffer of a cell that asks, and fill that of the cell behind it with the answers."""
        a = worker.at[cell.number]
        width = cell.schema.width + 3
        rows = np.ascontiguousarray(worker.heap.vector(a.buffer).reshape(-1, width).T)
        a.buffer.length = 0
        a.least = NOTHING
        lanes, source = self.apply(cell, rows[3:], worker.time_of(rows[1]), rows[2])
        (behind,) = (other for other in self.plan.cells if other.follows is cell)
        stamps = rows[:3][:, source].reshape(-1)
        feed.put_rows(
            worker.header, worker.at[behind.number], np.ascontiguousarray(lanes), np.ascontiguousarray(stamps)
        )

    def apply(
        self, cell: Cell, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The rows an action makes of rows, and which row each came from."""
        everything = np.arange(lanes.shape[1])
        match cell.action:
            case Stage(schema, condition, columns):
                try:
                    found, keep = outside(columns, condition, schema, self.pool, np.ascontiguousarray(lanes))
                except NumberOverflow as error:
                    when = told(times[error.row : error.row + 1])  # type: ignore[attr-defined]
                    raise NumberOverflow(
                        f"{error.what.rstrip('.')}{when}.",
                        at=self.plan.graph.places[cell.node],
                        hint=f"{error.hint} {STAYS}",
                    ) from None
                return found[:, keep], everything[keep]
            case n.Inspect(function):
                asked = self.asked(cell, function, "inspect")
                try:
                    function.fn(lanes, times, diffs, self.pool)
                except Exception as error:
                    raise asked.raised(error, counted(lanes.shape[1], "change"), times) from error
                return lanes, everything
            case n.Apply(function, "batches", given):
                asked = self.asked(cell, function, "map_batches")
                return self.of_arrays(asked, cell.schema, given, lanes, times), everything
            case n.Apply(function, _, given) if isinstance(function.fn, Exploder):
                return exploded(function.fn, cell.schema, lanes, self.pool)
            case n.Apply(function, how, given):
                return self.of_rows(self.asked(cell, function, VERBS[how]), how, cell.schema, given, lanes, times)
        raise AssertionError(cell.action)

    def of_arrays(
        self, asked: Callback, schema: Schema, given: Schema, lanes: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        columns, rows = self.arrays(schema, lanes), lanes.shape[1]
        try:
            answer = asked.function.fn(dict(columns))
        except Exception as error:
            found = culprit(asked.function.fn, columns, rows)
            if found is None:
                raise asked.raised(error, counted(rows, "row"), times) from error
            row = next(iter(self.decoded(schema, lanes[:, found : found + 1])))
            raise asked.raised(error, f"the row {shown(row)}", times[found : found + 1]) from error
        made = self.encoded_columns(asked, answer, given, counted(rows, "row"), times)
        if made.shape[1] != rows:
            what = f"was given {counted(rows, 'row')} and returned {made.shape[1]}"
            raise asked.failed(what, times, "It returns as many; flat_map gives any number for each.")
        return made

    def of_rows(
        self, asked: Callback, how: str, schema: Schema, given: Schema, lanes: np.ndarray, times: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        rows = list(self.decoded(schema, lanes))
        made: list[Any] = []
        source: list[int] = []
        for i, row in enumerate(rows):
            try:
                answer = asked.function.fn(row)
                answers = [answer] if how == "rows" else rows_in(answer)
            except Exception as error:
                raise asked.raised(error, f"the row {shown(row)}", times[i : i + 1]) from error
            if answers is None:
                what = f"returned {answer!r:.60}, and not a list of rows, for the row {shown(row)}"
                raise asked.failed(what, times[i : i + 1], "It returns any number of rows: [(1, 2), (3, 4)], or [].")
            made += answers
            source += [i] * len(answers)
        blamed = lambda k: (f"the row {shown(rows[source[k]])}", times[source[k] : source[k] + 1])
        return self.encoded_rows(asked, made, given, blamed), np.array(source, np.int64)

    # ---- groups -----------------------------------------------------------------------------

    def answer(self, worker, cell: Cell) -> None:
        """Ask about every group in the cell's ASK vector, and write the answers to its CALL_RESULTS vector."""
        a = worker.at[cell.number]
        words = worker.heap.vector(a.call_args)
        node = self.plan.graph.nodes[cell.node]
        assert isinstance(node, n.Reduce)
        source = self.plan.graph.schemas[node.source]
        values = Schema(tuple(f for f in source if f.name in cell.values))
        step = values.width + 1
        groups: list[Group] = []
        at = 0
        while at < len(words):
            rows = int(words[at + 2])
            lanes = words[at + 3 : at + 3 + rows * step].reshape(rows, step)
            groups.append(Group(int(words[at]), int(words[at + 1]), lanes))
            at += 3 + rows * step

        def blamed(i: int) -> tuple[str, np.ndarray]:
            group = groups[i]
            keys = int(a.table.keys)
            key = Schema(tuple(f for name in cell.key for f in source if f.name == name))
            lanes = np.array([worker.H[group.key + k] for k in range(keys)], np.int64).reshape(keys, 1)
            row = next(iter(self.decoded(key, lanes)))
            return f"the {noun} {shown(row)}" if keys else f"the only {noun}", worker.time_of(np.array([group.rank]))

        noun = "group"
        match node.reducer:
            case n.Threshold(function) if function is not None:
                noun = "row"
                answers = self.thresholds(self.asked(cell, function, "threshold"), groups, blamed)
            case n.Own(function, "rows", given):
                answers = self.own_rows(self.asked(cell, function, "reduce"), groups, values, given, blamed)
            case n.Own(function, _, given):
                answers = self.own_batches(self.asked(cell, function, "reduce_batches"), groups, values, given, blamed)
        out = np.concatenate([np.concatenate([[len(rows)], rows.reshape(-1)]) for rows in answers])
        worker.heap.load(a.call_results, out.astype(np.int64))

    def thresholds(self, asked: Callback, groups: list[Group], blamed: Blamed) -> list[np.ndarray]:
        answers = []
        for i, group in enumerate(groups):
            copies: int | None = 0
            if len(group.rows):
                count = int(group.rows[0, 0])
                try:
                    answer = asked.function.fn(count)
                except Exception as error:
                    about, times = blamed(i)
                    raise asked.raised(error, f"the count {count} of {about}", times) from error
                copies = whole(answer)
                if copies is None or abs(copies) > COPIES_KEPT:
                    about, times = blamed(i)
                    what = f"returned {answer!r:.60} for the count {count} of {about}"
                    raise asked.failed(
                        what, times, f"It returns a whole number up to {COPIES_KEPT:,}: how often the row is there."
                    )
            answers.append(np.array([[copies]] if copies else np.empty((0, 1)), np.int64))
        return answers

    def own_rows(
        self, asked: Callback, groups: list[Group], values: Schema, given: Schema, blamed: Blamed
    ) -> list[np.ndarray]:
        made: list[Any] = []
        ends: list[int] = []
        for i, group in enumerate(groups):
            if len(group.rows):
                rows = self.sorted_rows(group.rows, values)
                try:
                    answer = asked.function.fn(rows)
                    answers = rows_in(answer)
                except Exception as error:
                    raise asked.raised(error, *blamed(i)) from error
                if answers is None:
                    about, times = blamed(i)
                    what = f"returned {answer!r:.60}, and not a list of rows, for {about}"
                    raise asked.failed(what, times, "It returns any number of rows: [(1, 2), (3, 4)], or [].")
                made += answers
            ends.append(len(made))
        encoded = self.encoded_rows(asked, made, given, lambda k: blamed(int(np.searchsorted(ends, k, "right"))))
        whole_rows = np.concatenate([np.ones((1, encoded.shape[1]), np.int64), encoded]).T
        return np.split(whole_rows, ends[:-1])

    def own_batches(
        self, asked: Callback, groups: list[Group], values: Schema, given: Schema, blamed: Blamed
    ) -> list[np.ndarray]:
        """All the groups of a round in one call; those with no rows answer nothing."""
        full = [(i, group.rows[self.order(group.rows, values)]) for i, group in enumerate(groups) if len(group.rows)]
        answers = [np.empty((0, given.width + 1), np.int64)] * len(groups)
        if not full:
            return answers
        everything = np.concatenate([rows for _, rows in full])
        offsets = np.cumsum([0, *(len(rows) for _, rows in full)])
        lanes = np.ascontiguousarray(everything[:, 1:].T)
        columns = {**self.arrays(values, lanes), "_count": everything[:, 0].copy()}
        times = np.concatenate([blamed(i)[1] for i in dict.fromkeys((full[0][0], full[-1][0]))])
        about = blamed(full[0][0])[0] if len(full) == 1 else counted(len(full), "group")
        try:
            answer = asked.function.fn(columns, offsets)
        except Exception as error:
            raise asked.raised(error, about, times) from error
        if isinstance(answer, Mapping) and all(np.size(column) == len(full) for column in answer.values()):
            answer = answer, np.arange(len(full) + 1)  # columns alone: a row for each group
        if not isinstance(answer, Sequence) or len(answer) != 2:
            what = f"returned {answer!r:.60}, and not columns and offsets, for {about}"
            raise asked.failed(what, times, "It returns both: a dict of arrays, and where each group begins.")
        made = self.encoded_columns(asked, answer[0], given, about, times)
        try:
            bounds = np.asarray(answer[1], np.int64)
        except (TypeError, ValueError) as error:
            raise asked.raised(error, f"the offsets of {about}", times) from error
        if len(bounds) != len(full) + 1 or bounds[-1] != made.shape[1] or bounds[0] != 0 or (np.diff(bounds) < 0).any():
            what = f"was given {counted(len(full), 'group')} and returned offsets for {len(bounds) - 1}"
            if len(bounds) == len(full) + 1:
                what = f"returned offsets that do not cut its {counted(made.shape[1], 'row')} into groups"
            raise asked.failed(what, times, "Offsets begin at 0 and end with the number of rows, one more than groups.")
        for j, (i, _) in enumerate(full):
            rows = made[:, bounds[j] : bounds[j + 1]].T
            answers[i] = np.concatenate([np.ones((len(rows), 1), np.int64), rows], axis=1)
        return answers

    # ---- values -----------------------------------------------------------------------------

    def row_type(self, schema: Schema) -> type:
        key = hash(schema)
        if key not in self.rows:
            self.rows[key] = namedtuple("Row", schema.names, rename=True)
        return self.rows[key]

    def decoded(self, schema: Schema, lanes: np.ndarray) -> Iterable[tuple]:
        row_type = self.row_type(schema)
        if not len(schema):
            return (row_type() for _ in range(lanes.shape[1]))
        by_name = zip(by_column(lanes, schema), schema.types, strict=True)
        columns = [self.values(lane, kind) for lane, kind in by_name]
        return (row_type(*row) for row in zip(*columns, strict=True))

    def values(self, lane: np.ndarray, kind: Type) -> list[Any]:
        """Values as people's functions see them."""
        return (python_values if kind.is_nested else values_of)(lane, kind, self.pool)

    def order(self, group: np.ndarray, values: Schema) -> list[int]:
        """The places of a group's rows in the order of rows, text by text, nulls first."""
        if len(group) < 2:
            return list(range(len(group)))
        kinds = [field.type for field in values for _ in range(field.type.words)]
        columns = [
            [x or b"" for x in self.pool.decode(lane, binary=True).to_pylist()] if kind.is_pooled else lane.tolist()
            for lane, kind in zip(group.T[1:], kinds, strict=True)
        ]
        nulls = group[:, 1:] != NULL
        return sorted(range(len(group)), key=lambda i: [(bool(nulls[i, k]), c[i]) for k, c in enumerate(columns)])

    def sorted_rows(self, group: np.ndarray, values: Schema) -> list[tuple[tuple, int]]:
        group = group[self.order(group, values)]
        rows = self.decoded(values, np.ascontiguousarray(group[:, 1:].T))
        return list(zip(rows, group[:, 0].tolist(), strict=True))

    def arrays(self, schema: Schema, lanes: np.ndarray) -> dict[str, np.ndarray]:
        """Columns as numpy arrays: numbers and booleans as such, anything else, and what has nulls, as objects."""
        columns = zip(by_column(lanes, schema), schema, strict=True)
        return {field.name: self.array(lane, field.type) for lane, field in columns}

    def array(self, lane: np.ndarray, type: Type) -> np.ndarray:
        if type.name not in ("long", "int", "short", "byte", "double", "float", "boolean") or (lane == NULL).any():
            found = np.empty(lane.shape[-1], object)
            found[:] = self.values(lane, type)
            return found
        if type.is_integer:
            return lane.copy()
        return decode_column(lane, type, self.pool).to_numpy(zero_copy_only=False).copy()

    def encoded_rows(self, asked: Callback, rows: list[Any], schema: Schema, blamed: Blamed) -> np.ndarray:
        """Lanes of the rows a function returned: tuples, dicts, or plain values where there is one column."""
        if len(schema) == 1:
            rows = [row if row is None or isinstance(row, ROW_TYPES) else (row,) for row in rows]
        try:
            return encode(rows, schema, self.pool)
        except EbbflowError:
            for k, row in enumerate(rows):
                try:
                    encode([row], schema, self.pool)
                except EbbflowError as error:
                    raise asked.answered(error, *blamed(k)) from None
            raise

    def encoded_columns(
        self, asked: Callback, answer: Any, schema: Schema, about: str, times: np.ndarray
    ) -> np.ndarray:
        if not isinstance(answer, Mapping) and not hasattr(answer, "__arrow_c_stream__"):
            what = f"returned {answer!r:.60}, and not a dict of columns, for {about}"
            raise asked.failed(what, times, f"It returns a dict of arrays: {', '.join(schema.names)}.")
        try:
            return encode(answer, schema, self.pool)
        except EbbflowError as error:
            raise asked.answered(error, about, times) from None


def exploded(fn: Exploder, schema: Schema, lanes: np.ndarray, pool: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lanes with one taken apart, and which row each new row came from; each distinct array is read once."""
    ids, which = np.unique(lanes[schema.starts[fn.at]], return_inverse=True)
    values = nested_values(ids, fn.of, pool)
    parts = [list(value or ()) for value in values]
    if fn.of.name == "array":
        parts = [[(x,) for x in part] for part in parts]
    if fn.is_outer:
        parts = [part or [(None,) * fn.width] for part in parts]
    sizes = np.array([len(part) for part in parts], np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    source = np.repeat(np.arange(lanes.shape[1]), sizes[which])
    first = np.repeat(np.cumsum(sizes[which]) - sizes[which], sizes[which])
    inside = np.arange(len(source)) - first
    new = [lanes[word][source] for i in fn.keeps for word in schema.lanes(schema.names[i])]
    if fn.has_position:
        nothing = np.array([not value for value in values], bool)
        new.append(np.where(nothing[which[source]], NULL, inside))
    at = starts[which[source]] + inside
    for k, (_, kind) in enumerate(fn.of.parts):
        new.extend(np.atleast_2d(lanes_of([x[k] for part in parts for x in part], kind, pool))[:, at])
    return np.array(new, np.int64).reshape(len(new), len(source)), source
