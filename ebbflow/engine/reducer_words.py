"""Reducer words: what a reduction does, as words that its kernel reads.

Each kind of reducer (aggregates, sums, the first of an order, windows) has its own words: which lanes it reads, what
shape their values have, and how the answer is made of them.

Rule: words name lanes by their position among the values of the reduction; nothing else of the plan stands in them.
"""

from __future__ import annotations

from dataclasses import astuple
from functools import reduce

from ebbflow.columns.lanes import float_to_lane, to_lane
from ebbflow.columns.schema import DOUBLE, PRECISION, Schema, Type
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, split
from ebbflow.dataflow.windows import FUNCTIONS, WHOLE, Reach, reach_of
from ebbflow.operators.reduce import answers, ordered_values, window_order
from ebbflow.operators.reduce.totals import accumulators


def shape_of(type: Type) -> int:
    if type.name == "decimal":
        return answers.SCALED
    return answers.REAL if type.is_float else answers.TEXT if type.is_pooled else answers.WHOLE


def bagged(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> list[int]:
    words = [len(reducer.aggregates)]
    for a in reducer.aggregates:
        opcode = kind_of(a.op).opcode
        if a.column is None:
            words += [opcode, 0, 0, 1]
        else:
            words += [opcode, values.index(a.column), shape_of(source[a.column]), beside(a, values, source)]
    return words


def beside(a: n.Aggregate, values: tuple[str, ...], source: Schema) -> int:
    """What else is said of an aggregate: its number, its second column, or the digits that a mean has more."""
    if a.by is not None:
        return values.index(a.by) * ordered_values.SHAPES + shape_of(source[a.by])
    if kind_of(a.op).has_part:
        return to_lane(split(a.op)[1], DOUBLE, None)  # type: ignore[arg-type]
    assert a.column is not None
    return min(source[a.column].scale + 4, PRECISION) - source[a.column].scale


def summed(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> tuple[list[tuple[int, int]], list[int]]:
    """The columns to add up, and how the answer is made of them."""
    adds = {a.column for a in reducer.aggregates if kind_of(a.op).takes == "number"}
    shapes = [
        accumulators.ONLY_COUNT
        if name not in adds
        else accumulators.FLOAT_SUM
        if source[name].is_float
        else accumulators.INT_SUM
        for name in values
    ]
    return list(enumerate(shapes)), bagged(reducer, values, source)


def topped(reducer: n.Top, values: tuple[str, ...], source: Schema) -> list[int]:
    order = [(values.index(name), int(down), shape_of(source[name])) for name, down in reducer.order if name in values]
    return [
        reducer.n,
        len(order),
        *(word for key in order for word in key),
        len(values),
        *(shape_of(source[v]) for v in values),
    ]


def ordering(reducer: n.Reducer, values: tuple[str, ...], source: Schema) -> list[int]:
    """The order in which an index has the values of a key: that of a window without functions."""
    by = reducer.order if isinstance(reducer, n.Top) else tuple((name, False) for name in values)
    order = tuple((name, down, down) for name, down in by)
    return windowed(n.Window(order, ()), values, source)


def windowed(reducer: n.Window, values: tuple[str, ...], source: Schema) -> list[int]:
    order = [
        (values.index(name), int(down), shape_of(source[name]), int(last))
        for name, down, last in reducer.order
        if name in values
    ]
    keys = [word for key in order for word in key]
    lanes = [len(values), *(shape_of(source[name]) for name in values)]
    differ = any(
        FUNCTIONS[f.op].counts or (f.frame is not None and f.frame.unit == "rows" and f.frame != WHOLE)
        for f in reducer.functions
    )
    reach = reduce(Reach.joined, map(reach_of, reducer.functions), Reach())
    at = window_order.Window.SIZE + len(keys) + len(lanes)
    head = [len(reducer.functions), at, int(differ), len(order), *map(int, astuple(reach))]
    real = bool(order) and order[0][2] == answers.REAL
    return head + keys + lanes + [word for f in reducer.functions for word in described(f, values, source, real)]


def described(function: n.WindowFunction, values: tuple[str, ...], source: Schema, real: bool) -> list[int]:
    """A function of a window; real: whether offsets are of an order column of floats."""
    frame = function.frame or WHOLE
    ends = []
    for end in (frame.start, frame.end):
        how = window_order.UNBOUNDED if end is None else window_order.OFFSET if end else window_order.CURRENT
        measured = real and frame.unit == "range"
        ends += [how, float_to_lane(float(end or 0)) if measured else int(end or 0)]
    words = [list(FUNCTIONS).index(function.op), 0, 0, 1]
    if function.column is not None:
        type = source[function.column]
        digits = min(type.scale + 4, PRECISION) - type.scale
        words[1:] = [values.index(function.column), shape_of(type), digits]
    default = -1 if function.default is None else values.index(function.default)
    unit = window_order.RANGE if frame.unit == "range" else window_order.ROWS
    return [*words, unit, *ends, function.number, default, int(function.skips_nulls)]
