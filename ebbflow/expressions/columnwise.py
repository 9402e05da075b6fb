"""Expressions computed for whole arrays of rows, with what no program can compute.

A part of an expression that is not possible inside is computed in Python, once for each distinct combination of its
arguments, and becomes one more column of the rows.  A few rows are computed one by one, as the meaning says it: setting
up arrays for them costs several times as much.

Rule: the result is that of `operations.evaluate` for each row; where a row overflows, the first one is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from ebbflow.columns.lanes import by_column
from ebbflow.columns.lanes_out import python_values
from ebbflow.columns.schema import NULL, Field, Schema, Type
from ebbflow.columns.text_pool import Pool
from ebbflow.columns.value_words import from_lane, from_words, nested_lane, nested_values, row_of, to_lane, to_words
from ebbflow.errors import NumberOverflow
from ebbflow.expressions import guards, operations
from ebbflow.expressions.interpreter import interpret_rows
from ebbflow.expressions.opcodes import REGISTERS
from ebbflow.expressions.program import may_overflow, program
from ebbflow.expressions.text_columns import FAST
from ebbflow.expressions.typed import Call, Column, Expr, Literal, columns_of
from ebbflow.native.kernel import address_of


def outside(
    exprs: Sequence[Expr], condition: Expr | None, schema: Schema, pool: Pool, lanes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The columns of `exprs` for whole arrays of rows, and which rows are kept; what is not kept is null."""
    rows = lanes.shape[1]
    if rows <= ONE_BY_ONE and (few := _one_by_one(exprs, condition, schema, pool, lanes)) is not None:
        return few
    keep, numbers = np.ones(rows, bool), np.arange(rows)
    try:
        if condition is None:
            return _Columns(schema, pool, lanes).of(exprs), keep
        keep = _Columns(schema, pool, lanes).of([condition])[0] == 1
        numbers = np.flatnonzero(keep)
        found = np.full((sum(expr.type.words for expr in exprs), rows), NULL, np.int64)
        found[:, keep] = _Columns(schema, pool, np.ascontiguousarray(lanes[:, keep])).of(exprs)
    except RowOverflow as error:
        row = int(numbers[error.row])
        asked = [*exprs, *([] if condition is None else [condition])]  # whole: a part does not say what guards it
        told = overflowed(asked, schema, pool, lanes[:, row].tolist())
        told.row = row
        raise told from None
    return found, keep


ONE_BY_ONE = 4  # rows


def _one_by_one(
    exprs: Sequence[Expr], condition: Expr | None, schema: Schema, pool: Pool, lanes: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """The same for a few rows; None where one overflows, which the way for arrays tells better."""
    calls = _calls_of(exprs, condition, schema)
    found = np.full((sum(expr.type.words for expr in exprs), lanes.shape[1]), NULL, np.int64)
    keep = np.ones(lanes.shape[1], bool)
    try:
        for i, words in enumerate(lanes.T.tolist()):
            row = {name: _value(words[at : at + kind.words], kind, pool) for name, at, kind in calls.read}
            if condition is not None and not operations.evaluate(condition, row):
                keep[i] = False
                continue
            out: list[int] = []
            for expr, at in zip(exprs, calls.copied, strict=True):
                if at is not None:
                    out += words[at : at + expr.type.words]
                else:
                    out += to_words(operations.evaluate(expr, row), expr.type, pool)
            found[:, i] = out
    except OverflowError:
        return None
    return found, keep


def _value(words: list[int], kind: Type, pool: Pool) -> Any:
    return pool.texts(words)[0] if kind.name == "string" else from_words(words, kind, pool)


class _Calls(NamedTuple):
    """Of some expressions: the columns that calls read, by name, lane and type; and the lane that each copies."""

    of: tuple[Sequence[Expr], Expr | None, Schema]  # kept, so that their ids stay theirs
    read: tuple[tuple[str, int, Type], ...]
    copied: tuple[int | None, ...]


def _calls_of(exprs: Sequence[Expr], condition: Expr | None, schema: Schema) -> _Calls:
    """Found once for the expressions of a plan, which are asked for by who they are: to hash them costs too much."""
    key = id(exprs), id(condition), id(schema)
    known = _CALLS.get(key)
    if known is None:
        computed: list[Expr] = [expr for expr in exprs if not isinstance(expr, Column)]
        computed += [] if condition is None else [condition]
        names = dict.fromkeys(name for expr in computed for name in columns_of(expr))
        read = tuple((name, schema.lanes(name).start, schema[name]) for name in names)
        copied = tuple(schema.lanes(expr.name).start if isinstance(expr, Column) else None for expr in exprs)
        if len(_CALLS) >= MOST_WRITTEN:
            _CALLS.clear()
        known = _CALLS[key] = _Calls((exprs, condition, schema), read, copied)
    return known


_CALLS: dict[tuple[int, int, int], _Calls] = {}


class RowOverflow(NumberOverflow):
    """An overflow in one of the rows of an array: `row` is its number."""

    row = 0


def overflowed(exprs: Sequence[Expr], schema: Schema, pool: Pool, lanes: Sequence[int]) -> RowOverflow:
    """The refusal for a row on which a program stopped: which expression, of which values."""
    row = dict(zip(schema.names, row_of(lanes, schema, pool), strict=True))
    for expr in exprs:
        try:
            operations.evaluate(expr, row)
        except OverflowError as error:
            shown = ", ".join(f"{name}={value!r}" for name, value in row.items())[:200]
            refused = guards.broken(expr, row)
            if refused is not None or guards.is_refusal(expr):
                what = "a quotient or a cast" if refused is None else refused
                return RowOverflow(f"{what} has no value for the row {shown}.", hint=_NO_VALUE_HINT)
            is_long = str(error).endswith(("elements", "has no room"))
            hint = "Make it shorter, or filter the row out." if is_long else _OVERFLOW_HINT
            return RowOverflow(f"{expr} overflows: {error}, in the row {shown}.", hint=hint)
    return RowOverflow("a number does not fit 64 bits.", hint=_OVERFLOW_HINT)


_NO_VALUE_HINT = (
    "In ANSI mode a division by zero, a cast that fails and an element that is not there are errors; try_divide, "
    "try_cast and try_element_at give null instead."
)
_OVERFLOW_HINT = 'Compute in doubles where the last digit does not count: .cast("double").'
LARGEST_PROGRAM = 40
OUTPUTS_AT_ONCE = 16


class _Columns:
    """Rows, and with them the columns that had to be computed outside."""

    def __init__(self, schema: Schema, pool: Pool, lanes: np.ndarray):
        self.schema, self.pool = schema, pool
        self.lanes = [np.ascontiguousarray(lane, np.int64) for lane in lanes]
        self.rows = lanes.shape[1]
        self.given = schema
        self.known: dict[Expr, Column] = {}

    def of(self, exprs: Sequence[Expr]) -> np.ndarray:
        """The lanes of expressions, one after the other."""
        lifted = [self.lift(expr) for expr in exprs]
        starts = np.cumsum([0, *(expr.type.words for expr in exprs)])
        out = np.empty((int(starts[-1]), self.rows), np.int64)
        computed = []
        for i, expr in enumerate(lifted):
            into = slice(starts[i], starts[i + 1])
            if isinstance(expr, Column):
                lanes = self.schema.lanes(expr.name)
                out[into] = self.lanes[lanes.start : lanes.stop]
            elif isinstance(expr, Literal):
                out[into] = np.array(to_words(expr.value, expr.type, self.pool), np.int64)[:, None]
            else:
                computed.append(i)
        for at in range(0, len(computed), OUTPUTS_AT_ONCE):
            part = computed[at : at + OUTPUTS_AT_ONCE]
            words = self.words([lifted[i] for i in part])
            if words is not None:
                filled = [lane for i in part for lane in range(starts[i], starts[i + 1])]
                out[filled] = self.run(words, [exprs[i] for i in part])
            else:
                for i in part:
                    words = self.words([lifted[i]])
                    assert words is not None, lifted[i]
                    out[starts[i] : starts[i + 1]] = self.run(words, [exprs[i]])
        return out

    def words(self, exprs: list[Expr]) -> np.ndarray | None:
        """The program, written once per pool."""
        written, key = _WRITTEN.setdefault(self.pool, {}), (tuple(exprs), self.schema)
        if key not in written:
            if len(written) >= MOST_WRITTEN:
                written.clear()
            written[key] = program(exprs, None, self.schema, self.pool)
        return written[key]

    def run(self, words: np.ndarray, exprs: Sequence[Expr]) -> np.ndarray:
        rows = np.stack(self.lanes) if self.lanes else np.empty((0, self.rows), np.int64)
        out = np.empty((sum(expr.type.words for expr in exprs) + 1, self.rows), np.int64)
        scratch = np.zeros(1 + len(self.lanes) + REGISTERS, np.int64)
        scratch[0] = address_of(scratch)
        stopped = interpret_rows(address_of(words), rows, out, scratch)
        if stopped < self.rows:
            row = [lane[stopped] for lane in self.lanes[: self.given.width]]
            error = overflowed([self.restored(expr) for expr in exprs], self.given, self.pool, row)
            error.row = int(stopped)
            raise error
        return out[:-1]

    def lift(self, expr: Expr) -> Expr:
        """The expression with all that is not possible inside replaced by columns that hold it."""
        if not isinstance(expr, Call):
            return expr
        if expr not in self.known:
            if expr.op in operations.IN_TURN and any(map(may_overflow, expr.args[1:])) and not self.fits(expr):
                self.known[expr] = self.column(expr, self.in_turn(expr))
                return self.known[expr]
            args = tuple(self.lift(arg) for arg in expr.args)
            if sum(map(_size, args)) > LARGEST_PROGRAM:
                args = tuple(self.column(arg, self.of([arg])) if isinstance(arg, Call) else arg for arg in args)
            call = replace(expr, args=args)
            if _is_inside(call):
                return call
            self.known[expr] = self.column(call, self.apart(call))
        return self.known[expr]

    def fits(self, expr: Expr) -> bool:
        """Whether it is small, and possible inside with all its arguments."""
        return _size(expr) <= LARGEST_PROGRAM and program([expr], None, self.given, self.pool) is not None

    def in_turn(self, call: Call) -> np.ndarray:
        """An operation that asks for an argument only in the rows where the ones before have not decided."""
        found = np.full((call.type.words, self.rows), NULL, np.int64)
        open_ = np.arange(self.rows)
        if call.op == "when":
            for condition, value in zip(call.args[:-1:2], call.args[1::2], strict=True):
                holds = self.part(open_, condition)[0] == 1
                found[:, open_[holds]] = self.part(open_[holds], value)
                open_ = open_[~holds]
            found[:, open_] = self.part(open_, call.args[-1])
            return found
        for i, arg in enumerate(call.args):
            answer = self.part(open_, arg)
            before = found[:, open_]
            if i == 0 or call.op == "coalesce":
                found[:, open_] = answer
            else:
                unknown = (before == NULL) | (answer == NULL)
                decided = answer == (0 if call.op == "and" else 1)
                found[:, open_] = np.where(decided, answer, np.where(unknown, NULL, before))
            first = found[0, open_]
            done = first != NULL if call.op == "coalesce" else first == (0 if call.op == "and" else 1)
            open_ = open_[~done]
        return found

    def part(self, rows: np.ndarray, expr: Expr) -> np.ndarray:
        """The lanes of an expression in some of the rows."""
        lanes = np.empty((self.given.width, len(rows)), np.int64)
        for i in range(self.given.width):
            lanes[i] = self.lanes[i][rows]
        try:
            return _Columns(self.given, self.pool, lanes).of([expr])
        except RowOverflow as error:
            error.row = int(rows[error.row])
            raise

    def restored(self, expr: Expr) -> Expr:
        """The expression with the columns that were computed outside replaced by what they hold."""
        if isinstance(expr, Column) and expr.name not in self.given:
            held = next((call for call, column in self.known.items() if column == expr), expr)
            return self.restored(held) if held != expr else expr
        return replace(expr, args=tuple(map(self.restored, expr.args))) if isinstance(expr, Call) else expr

    def column(self, expr: Expr, lanes: np.ndarray) -> Column:
        name = f"\0{len(self.lanes)}"
        self.lanes += list(lanes)
        self.schema = Schema((*self.schema.fields, Field(name, expr.type)))
        found = self.known[expr] = Column(name, expr.type)
        return found

    def apart(self, call: Call) -> np.ndarray:
        """An operation that looks at values: once for each distinct combination of arguments."""
        varying = [i for i, arg in enumerate(call.args) if not isinstance(arg, Literal)]
        lanes = self.of([call.args[i] for i in varying])
        distinct, where = _distinct(lanes, self.rows)
        shape = Schema(tuple(Field(f"{i}", call.args[i].type) for i in varying))
        known: list[np.ndarray | None] = [None] * len(call.args)
        for i, lane in zip(varying, by_column(distinct, shape), strict=True):
            known[i] = lane
        try:
            found = _compute_values(call, known, distinct.shape[1], self.pool)
            return found[:, where] if call.type.is_wide else found[None, where]
        except OverflowError:
            self.refuse(call)

    def refuse(self, call: Call) -> NoReturn:
        """The first row on which an operation that looks at values overflows."""
        restored = self.restored(call)
        for i in range(self.rows):
            row = [lane[i] for lane in self.lanes[: self.given.width]]
            named = dict(zip(self.given.names, row_of(row, self.given, self.pool), strict=True))
            try:
                operations.evaluate(restored, named)
            except OverflowError:
                error = overflowed([restored], self.given, self.pool, row)
                error.row = i
                raise error from None
        raise AssertionError(call)


_WRITTEN: WeakKeyDictionary[Pool, dict[Any, np.ndarray | None]] = WeakKeyDictionary()
MOST_WRITTEN = 1000
FEW_DISTINCT = 16


def _distinct(lanes: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct columns of an array of lanes, and which of them each row has."""
    if not len(lanes):
        return np.empty((0, 1), np.int64), np.zeros(rows, np.int64)
    if rows <= FEW_DISTINCT:
        return lanes, np.arange(rows)
    codes = np.zeros(rows, np.int64)
    for lane in lanes:
        values, code = np.unique(lane, return_inverse=True)
        _, first, codes = np.unique(codes * max(len(values), 1) + code, return_index=True, return_inverse=True)
    return lanes[:, first], codes


def _compute_values(call: Call, known: list[np.ndarray | None], n: int, pool: Pool) -> np.ndarray:
    fast = FAST.get(call.op)
    if fast is not None:
        found = fast(call, known, pool)
        if found is not None:
            return found
    values = [
        [arg.value] * n if isinstance(arg, Literal) else values_of(lane, arg.type, pool)  # type: ignore[arg-type]
        for arg, lane in zip(call.args, known, strict=True)
    ]
    fn = operations.OPERATIONS[call.op].fn
    assert fn is not None, call
    rows = zip(*values, strict=True) if values else [()] * n  # of no arguments: array(), map()
    return lanes_of([fn(*row, *call.options) for row in rows], call.type, pool)


def values_of(lane: np.ndarray, kind: Type, pool: Pool) -> list[Any]:
    if kind.is_text:
        return pool.decode(lane, binary=kind.name == "binary").to_pylist()
    if kind.is_nested:
        return nested_values(lane, kind, pool)
    if kind.is_wide:
        return python_values(lane, kind, pool)
    return [from_lane(word, kind, pool) for word in lane.tolist()]


def lanes_of(values: list[Any], kind: Type, pool: Pool) -> np.ndarray:
    """int64[rows], or int64[2, rows] where a value is two words."""
    if kind.is_text:
        return pool.encode_texts(values)
    if kind.is_nested:
        return nested_lane(values, kind, pool)
    if kind.is_wide:
        return np.array([to_words(value, kind, pool) for value in values], np.int64).reshape(-1, 2).T
    return np.array([to_lane(value, kind, pool) for value in values], np.int64)


def _is_inside(call: Call) -> bool:
    """Whether the operation alone is possible inside, its arguments taken as columns."""
    args = [arg if isinstance(arg, Literal) else Column(f"{i}", arg.type) for i, arg in enumerate(call.args)]
    return _is_inside_alone(replace(call, args=tuple(args)))


@lru_cache(10_000)
def _is_inside_alone(call: Call) -> bool:
    schema = Schema(tuple(Field(f"{i}", arg.type) for i, arg in enumerate(call.args)))
    return program([call], None, schema, Pool()) is not None


def _size(expr: Expr) -> int:
    return 1 + sum(map(_size, expr.args)) if isinstance(expr, Call) else 0
