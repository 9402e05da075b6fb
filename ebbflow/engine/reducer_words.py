"""Reducer words: what a reduction does, as words that its kernel reads.

Each kind of reducer (aggregates, sums, the first of an order, windows) has its own words: which lanes it reads, what
shape their values have, and how the answer is made of them.

Rule: words name lanes by their position among the values of the reduction; nothing else of the plan stands in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import astuple
from functools import reduce

from ebbflow.columns.float_words import float_to_lane
from ebbflow.columns.schema import DOUBLE, PRECISION, Field, Schema, Type
from ebbflow.columns.value_words import to_lane
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, split
from ebbflow.dataflow.windows import WHOLE, WINDOW_FUNCTIONS, Reach, reach_of
from ebbflow.operators.reduce import answers, ordered_values, window_order
from ebbflow.operators.reduce.totals import accumulators


def shape_of(type: Type) -> int:
    """What a lane is."""
    if type.is_wide:
        return answers.WIDE_FIRST
    if type.name == "decimal":
        return answers.SCALED
    return answers.FLOAT_NUMBER if type.is_float else answers.TEXT_ID if type.is_pooled else answers.WHOLE_NUMBER


def lane_shapes(names: Iterable[str], schema: Schema) -> list[int]:
    """What the lanes of these columns are, for who compares one after the other."""
    shapes = ((answers.WHOLE_NUMBER if schema[name].is_wide else shape_of(schema[name]), name) for name in names)
    return [shape for shape, name in shapes for _ in schema.lanes(name)]


def answer_shapes(of: Type, gives: Type) -> tuple[int, ...]:
    """How an answer is described: once for each of its words."""
    shape = shape_of(of)
    if not gives.is_wide:
        return (shape,)
    return (shape, answers.WIDE_SECOND) if of.is_wide else (answers.SCALED_FIRST, answers.SCALED_SECOND)


def bagged(reducer: n.Aggregates, values: tuple[str, ...], source: Schema, sums: bool = False) -> list[int]:
    """sums: the lane is the number of a column of the accumulators."""
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    entries: list[int] = []
    for a in reducer.aggregates:
        kind = kind_of(a.op)
        if a.column is None:
            entries += [kind.opcode, 0, 0, 1, 0]
            continue
        of = source[a.column]
        lane = values.index(a.column) if sums else kept.lanes(a.column).start
        shapes = (answers.WHOLE_NUMBER,) if a.op == "count" else answer_shapes(of, kind.gives(of))
        for shape in shapes:
            entries += [kind.opcode, lane, shape, beside(a, kept), room_of(kind.gives(of))]
    return [len(entries) // answers.AGGREGATE, *entries]


def room_of(gives: Type) -> int:
    """What a decimal may come to, as its kernels want to know it."""
    return gives.precision if gives.is_wide else gives.most


def beside(a: n.Aggregate, kept: Schema) -> int:
    """What else is said of an aggregate: its number, its second column, or the digits that a mean has more."""
    if a.by is not None:
        return kept.lanes(a.by).start * ordered_values.SHAPES + shape_of(kept[a.by])
    if kind_of(a.op).has_part:
        return to_lane(split(a.op)[1], DOUBLE, None)  # type: ignore[arg-type]
    assert a.column is not None
    return min(kept[a.column].scale + 4, PRECISION) - kept[a.column].scale


def summed(reducer: n.Aggregates, values: tuple[str, ...], source: Schema) -> tuple[list[tuple[int, int]], list[int]]:
    """The columns to add up, and how the answer is made of them."""
    adds = {a.column for a in reducer.aggregates if kind_of(a.op).takes == "number"}
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    shapes = [
        accumulators.ONLY_COUNT
        if name not in adds
        else accumulators.FLOAT_SUM
        if source[name].is_float
        else accumulators.WIDE_SUM
        if source[name].is_wide
        else accumulators.INT_SUM
        for name in values
    ]
    return list(zip(kept.starts, shapes, strict=True)), bagged(reducer, values, source, sums=True)


def topped(reducer: n.Top, values: tuple[str, ...], source: Schema) -> list[int]:
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    asked = [(name, int(down)) for name, down in reducer.order if name in values]
    order = [
        (lane, down, shape)
        for name, down in asked
        for lane, shape in zip(kept.lanes(name), lane_shapes([name], kept), strict=True)
    ]
    return [
        reducer.n,
        len(order),
        *(word for key in order for word in key),
        kept.width,
        *lane_shapes(values, kept),
    ]


def ordering(reducer: n.Reducer, values: tuple[str, ...], source: Schema) -> list[int]:
    """The order in which an index has the values of a key: that of a window without functions."""
    by = reducer.order if isinstance(reducer, n.Top) else tuple((name, False) for name in values)
    order = tuple((name, down, down) for name, down in by)
    return windowed(n.Window(order, ()), values, source, Schema(()))


def windowed(reducer: n.Window, values: tuple[str, ...], source: Schema, gives: Schema) -> list[int]:
    kept = Schema(tuple(Field(name, source[name]) for name in values))
    order = [
        (lane, int(down), shape_of(kept[name]) if i == 0 else answers.WHOLE_NUMBER, int(last))
        for name, down, last in reducer.order
        if name in values
        for i, lane in enumerate(kept.lanes(name))
    ]
    keys = [word for key in order for word in key]
    lanes = [kept.width, *lane_shapes(values, kept)]
    differ = any(
        WINDOW_FUNCTIONS[f.op].counts or (f.frame is not None and f.frame.unit == "rows" and f.frame != WHOLE)
        for f in reducer.functions
    )
    reach = reduce(Reach.joined, map(reach_of, reducer.functions), Reach())
    real = bool(order) and order[0][2] == answers.FLOAT_NUMBER
    functions = [words for f in reducer.functions for words in described(f, kept, gives[f.name], real)]
    at = window_order.Window.SIZE + len(keys) + len(lanes)
    head = [len(functions), at, int(differ), len(order), *map(int, astuple(reach))]
    return head + keys + lanes + [word for words in functions for word in words]


def described(function: n.WindowFunction, kept: Schema, gives: Type, real: bool) -> Iterator[list[int]]:
    """A function of a window, once for each word of its results; real: whether offsets are of an order column of
    floats.
    """
    frame = function.frame or WHOLE
    ends = []
    for end in (frame.start, frame.end):
        how = window_order.UNBOUNDED_END if end is None else window_order.AT_OFFSET if end else window_order.CURRENT_ROW
        measured = real and frame.unit == "range"
        ends += [how, float_to_lane(float(end or 0)) if measured else int(end or 0)]
    unit = window_order.BY_RANGE if frame.unit == "range" else window_order.BY_ROWS
    behind = [unit, *ends, function.number]
    opcode, skips = list(WINDOW_FUNCTIONS).index(function.op), int(function.skips_nulls)
    default = -1 if function.default is None else kept.lanes(function.default).start
    if function.column is None:
        yield [opcode, 0, 0, 1, 0, *behind, default, skips]
        return
    type, lane = kept[function.column], kept.lanes(function.column).start
    digits = min(type.scale + 4, PRECISION) - type.scale
    if function.op in ("count", "count_rows"):
        yield [opcode, lane, answers.WHOLE_NUMBER, digits, 0, *behind, default, skips]
    elif opcode <= window_order.NTH_VALUE:  # the words of another row, as they are
        for word in range(gives.words):
            other = default + word if default >= 0 else -1
            yield [opcode, lane + word, answers.WHOLE_NUMBER, digits, 0, *behind, other, skips]
    else:
        for shape in answer_shapes(type, gives):
            yield [opcode, lane, shape, digits, room_of(gives), *behind, default, skips]
