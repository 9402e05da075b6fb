"""Oracle: the meaning of every node, computed from nothing, with no increments and no state.

A collection at one time is a dictionary from record (a tuple of lanes) to multiplicity, without zeros. `evaluate`
starts over each time it is called, so it has no state that could be wrong. Changes are derived: the collection is
evaluated at every time at which it can differ, and the differences are taken. Other runtimes are tested against it.

Rule: the result at a time depends on nothing but the inputs' collections at that time. The one exception is Delay,
which moves changes: it counts as an input of its own, whose history is its source's changes, moved.
"""

from __future__ import annotations

import datetime
import decimal
import math
import struct
from collections import defaultdict, namedtuple
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from typing import Any, cast

import numpy as np

from ebbflow.columns.lanes import by_column
from ebbflow.columns.ranges import EPOCH
from ebbflow.columns.schema import LONG, NULL, PRECISION, Field, Schema, Type
from ebbflow.columns.wide_words import number_of, words_of
from ebbflow.dataflow import nodes as n
from ebbflow.dataflow.aggregates import kind_of, split
from ebbflow.dataflow.graph import Graph
from ebbflow.dataflow.text_predicates import TextPredicates
from ebbflow.errors import STAYS, EbbflowError, FunctionFailed, NeverSettles, NumberOverflow
from ebbflow.expressions.operations import IN_TURN, OPERATIONS
from ebbflow.expressions.reference import EXACT, quotient
from ebbflow.expressions.typed import Column, Expr, Literal
from ebbflow.limits import WORD
from ebbflow.runtime.contract import Guard
from ebbflow.runtime.window_meaning import windowed

Record = tuple[int, ...]
Time = tuple[int, ...]
Collection = dict[Record, int]
History = list[tuple[Record, Time, int]]

WIDE = 10 ** (PRECISION + 1)  # added to a decimal that is two words, so that null is less than any, as elsewhere
PATIENCE = 10_000  # rounds after which an unbounded loop counts as one that never settles


# ---- times ----------------------------------------------------------------------------------


def precedes(s: Time, t: Time) -> bool:
    return all(a <= b for a, b in zip(s, t, strict=True))


def complete(time: Time, frontier: Iterable[Time]) -> bool:
    """No change at this time can still come."""
    return not any(precedes(f, time) for f in frontier)


def closure(times: Iterable[Time]) -> list[Time]:
    """Every join of these times, causes before effects."""
    closed: set[Time] = set()
    for time in set(times):
        closed |= {tuple(map(max, time, other)) for other in closed}
        closed.add(time)
    return sorted(closed)


def lower_envelope(frontiers: Iterable[Iterable[Time]]) -> tuple[Time, ...]:
    """The antichain of the least times of several frontiers."""
    times = {time for frontier in frontiers for time in frontier}
    return tuple(sorted(t for t in times if not any(s != t and precedes(s, t) for s in times)))


# ---- collections ----------------------------------------------------------------------------


def total(pairs: Iterable[tuple[Record, int]]) -> Collection:
    sums: Collection = {}
    for record, weight in pairs:
        sums[record] = sums.get(record, 0) + weight
    for record, weight in sums.items():
        if abs(weight) > WORD:
            raise NumberOverflow(f"The row {record} would be there {weight:,} times; at most {WORD:,}.", hint=STAYS)
    return {record: weight for record, weight in sums.items() if weight}


def accumulate(history: History, time: Time) -> Collection:
    """The collection at `time`: the sum of every change that precedes it."""
    return total((record, diff) for record, t, diff in history if precedes(t, time))


def differences(values: Iterable[tuple[Time, Collection]]) -> History:
    """The changes that sum to these collections; needs the times closed under join, causes first."""
    changes: dict[Time, Collection] = {}
    for time, value in values:
        before = (pair for s, change in changes.items() if precedes(s, time) for pair in change.items())
        change = total([*value.items(), *((record, -weight) for record, weight in before)])
        if change:
            changes[time] = change
    return [(record, time, diff) for time, change in changes.items() for record, diff in change.items()]


# ---- values ---------------------------------------------------------------------------------


class Values:
    """Between lanes and Python values, one at a time."""

    def __init__(self, pool: Any = None):
        self.pool = pool
        self.texts: dict[int, bytes] = {}

    def text(self, lane: int) -> bytes:
        """The bytes behind an id."""
        if lane not in self.texts:
            self.texts[lane] = self.pool.decode(np.array([lane], np.int64), binary=True)[0].as_py()
        return self.texts[lane]

    def decode(self, type: Type, lane: int) -> Any:
        if lane == NULL:
            return None
        match type.name:
            case "double" | "float":
                bits = lane if lane >= 0 else lane ^ (2**63 - 1)
                return struct.unpack("<d", struct.pack("<q", bits))[0]
            case "boolean":
                return lane == 1
            case "string":
                return self.text(lane).decode()
            case "binary":
                return self.text(lane)
            case "date":
                return EPOCH.date() + datetime.timedelta(days=lane)
            case "timestamp" | "timestamp_ntz":
                return EPOCH + datetime.timedelta(microseconds=lane)
            case "decimal":
                return decimal.Decimal(units(type, lane)).scaleb(-type.scale, EXACT)
        return lane

    def encode(self, type: Type, value: Any) -> int:
        if value is None:
            return NULL
        match type.name:
            case "double" | "float":
                return float_lane(float(np.float32(value)) if type.name == "float" else float(value))
            case "string" | "binary":
                return int(self.pool.encode_texts([value])[0])
            case "date":
                return (value - EPOCH.date()).days
            case "timestamp" | "timestamp_ntz":
                return (value - EPOCH) // datetime.timedelta(microseconds=1)
            case "decimal":
                return in_digits(int(decimal.Decimal(value).scaleb(type.scale, EXACT).to_integral_exact()), type)
        return in_range(int(value))

    def order(self, type: Type, lane: int) -> Any:
        """What sorts a value where order matters: null first, text by its bytes, the rest as their lanes."""
        if not type.is_text:
            return lane
        return (lane != NULL, b"" if lane == NULL else self.text(lane))


def float_lane(value: float) -> int:
    if math.isnan(value):
        return 0x7FF8_0000_0000_0000
    bits = struct.unpack("<q", struct.pack("<d", value + 0.0))[0]
    return bits if bits >= 0 else bits ^ (2**63 - 1)


def in_range(number: int) -> int:
    if not NULL < number < 2**63:
        shown = number if abs(number) < 10**40 else f"A number of {number.bit_length()} bits"
        raise NumberOverflow(f"{shown} has no place in 64 bits.")
    return number


def in_digits(number: int, type: Type) -> int:
    """The lane of a decimal, which is so many units of its last digit."""
    if abs(number) > type.most:
        raise NumberOverflow(f"{number} has more than {type.precision} digits.")
    return number + WIDE if type.is_wide else number


def units(type: Type, lane: int) -> int:
    """The number that a lane of a decimal, or of an integer, stands for."""
    return lane - WIDE if type.is_wide else lane


def records_of(lanes: np.ndarray, schema: Schema) -> list[Record]:
    """Rows as the oracle has them: one number for each column."""
    columns = [
        [NULL if first == NULL else number_of(first, second) + WIDE for first, second in zip(*lane.tolist())]
        if kind.is_wide
        else lane.tolist()
        for lane, kind in zip(by_column(lanes, schema), schema.types, strict=True)
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * lanes.shape[1]


def words_of_record(record: Record, schema: Schema) -> Record:
    """The same as the words of the lanes."""
    if not schema.is_wide:
        return record
    found: list[int] = []
    for lane, kind in zip(record, schema.types, strict=True):
        found += [lane] if not kind.is_wide else (NULL, NULL) if lane == NULL else words_of(lane - WIDE)
    return tuple(found)


def row_function(expr: Expr, schema: Schema, values: Values) -> Callable[[Record], int]:
    """An expression as a function from a row's lanes to a lane."""
    if isinstance(expr, Column):
        at = schema.index(expr.name)
        return lambda row: row[at]
    fn = python_value(expr, schema, values)

    def lane(row: Record) -> int:
        try:
            return values.encode(expr.type, fn(row))
        except OverflowError as error:
            raise NumberOverflow(f"{expr} has no place in 64 bits: {error}.") from error

    return lane


def python_value(expr: Expr, schema: Schema, values: Values) -> Callable[[Record], Any]:
    match expr:
        case Column(name):
            at, type = schema.index(name), schema[name]
            return lambda row: values.decode(type, row[at])
        case Literal(value):
            return lambda row: value
    parts, fn, options = [python_value(arg, schema, values) for arg in expr.args], OPERATIONS[expr.op].fn, expr.options
    if expr.op in IN_TURN:
        choose = IN_TURN[expr.op]
        return lambda row: choose(*(partial(part, row) for part in parts))
    assert fn is not None, f"{expr.op} has no meaning"
    return lambda row: fn(*(part(row) for part in parts), *options)


@contextmanager
def asking(function: n.Function) -> Iterator[None]:
    """A person's function that raises refuses the step."""
    try:
        yield
    except EbbflowError:
        raise
    except Exception as error:
        raise FunctionFailed(f"{function.name} raised {type(error).__name__}: {error}.") from error


def remembering(fn: Callable[[Record], Any]) -> Callable[[Record], Any]:
    known: dict[Record, Any] = {}

    def remembered(row: Record) -> Any:
        if row not in known:
            known[row] = fn(row)
        return known[row]

    return remembered


def named_rows(schema: Schema, values: Values) -> Callable[[Record], tuple]:
    """Rows as people's functions see them."""
    row_type: Any = namedtuple("Row", list(schema.names), rename=True)  # type: ignore[misc]
    return lambda row: row_type(*map(values.decode, schema.types, row))


def encoded_row(schema: Schema, row: Iterable[object], values: Values) -> Record:
    return tuple(map(values.encode, schema.types, row))


def arrays_of(schema: Schema, rows: list[Record], values: Values) -> dict[str, np.ndarray]:
    columns = zip(*(map(values.decode, schema.types, row) for row in rows), strict=True)
    return {name: np.array(column) for name, column in zip(schema.names, columns, strict=True)}


def rows_of(schema: Schema, columns: dict[str, Iterable], values: Values) -> list[Record]:
    listed = [np.asarray(columns[name]).tolist() for name in schema.names]
    return [encoded_row(schema, row, values) for row in zip(*listed, strict=True)]


# ---- groups ---------------------------------------------------------------------------------


def order_by(schema: Schema, order: tuple[tuple[str, bool], ...], values: Values) -> Callable[[Record], Any]:
    """A sort key: the order columns, descending where asked, then the whole row."""
    asked = [(schema.index(name), schema[name], descending) for name, descending in order]

    def key(row: Record) -> tuple:
        first = [(Reversed if down else tuple)((values.order(type, row[at]),)) for at, type, down in asked]
        return (*first, *map(values.order, schema.types, row))

    return key


class Reversed(tuple):
    def __lt__(self, other: tuple) -> bool:
        return tuple.__gt__(self, other)


def first(limit: int, group: Collection, key: Callable[[Record], Any]) -> Iterator[tuple[Record, int]]:
    """The first rows of a group, counting copies; rows with negative counts are not there."""
    for row in sorted((row for row, weight in group.items() if weight > 0), key=key):
        copies = min(limit, group[row])
        if copies == 0:
            return
        limit -= copies
        yield row, copies


def of_group(asked: n.Aggregate, at: int, schema: Schema, group: Collection, values: Values) -> int:
    """One aggregate of one group, by the table where it has a meaning there."""
    kind = kind_of(asked.op)
    if asked.by is not None:
        return value_by(asked, at, schema, group, values)
    if kind.means is None:
        return aggregate(kind.name, at, schema.types[at], group, values)
    type = schema.types[at]
    weights = total(((row[at],), weight) for row, weight in group.items() if row[at] != NULL)
    present = [(lane, values.decode(type, lane), weight) for (lane,), weight in weights.items() if weight > 0]
    if not present:
        return NULL
    found = kind.means(sorted(present, key=lambda each: values.order(type, each[0])), split(asked.op)[1])
    assert found is not None  # there are values
    return float_lane(found) if isinstance(found, float) else found


def value_by(asked: n.Aggregate, at: int, schema: Schema, group: Collection, values: Values) -> int:
    """The value in the row where another is largest or least; of several, the least value."""
    assert asked.by is not None
    by = schema.index(asked.by)
    pairs = total(((row[at], row[by]), weight) for row, weight in group.items() if row[by] != NULL)
    present = [pair for pair, weight in pairs.items() if weight > 0]
    if not present:
        return NULL
    order = lambda lane: values.order(schema.types[by], lane)
    end = (max if kind_of(asked.op).name == "max_by" else min)((pair[1] for pair in present), key=order)
    least = [lane for lane, place in present if place == end]
    return min(least, key=lambda lane: values.order(schema.types[at], lane))


def aggregate(op: str, at: int, type: Type, group: Collection, values: Values) -> int:
    """One aggregate of one group.  Nulls do not take part, except in count_rows."""
    if op == "count_rows":
        return in_range(sum(group.values()))
    lanes: Any = ((row[at], weight) for row, weight in group.items() if row[at] != NULL)
    weights: dict[Any, int] = total(lanes)
    present = [lane for lane, weight in weights.items() if weight > 0]
    count = sum(weights.values())
    match op:
        case "count":
            return in_range(count)
        case "count_distinct":
            return len(present)
        case "min" | "any_value":
            return min(present, key=lambda lane: values.order(type, lane), default=NULL)
        case "max":
            return max(present, key=lambda lane: values.order(type, lane), default=NULL)
        case "sum" | "avg" if count == 0:  # as many rows taken away as there are
            return NULL
        case "sum" if type.name == "decimal":
            added = sum(units(type, lane) * weight for lane, weight in weights.items())
            return in_digits(added, kind_of(op).gives(type))
        case "avg" if type.name == "decimal":
            more = min(type.scale + 4, PRECISION) - type.scale
            exact = Fraction(sum(units(type, lane) * weight for lane, weight in weights.items()) * 10**more)
            return in_digits(int(quotient(exact, count, 0)), kind_of(op).gives(type))
        case "sum" if not type.is_float:
            return in_range(sum(lane * weight for lane, weight in weights.items()))
        case "sum":
            return float_lane(exact_sum((values.decode(type, lane), weight) for lane, weight in weights.items()))
        case "avg" if type.is_float:
            return float_lane(
                exact_sum((values.decode(type, lane), weight) for lane, weight in weights.items()) / count
            )
        case "avg":
            return float_lane(sum(lane * weight for lane, weight in weights.items()) / count)
    raise AssertionError(op)


def exact_sum(pairs: Iterable[tuple[float, int]]) -> float:
    """The sum of weighted doubles, rounded once."""
    exact, unbounded = Fraction(0), set()
    for value, weight in pairs:
        if math.isfinite(value):
            exact += Fraction(value) * weight
        else:
            unbounded.add(value * weight)
    if unbounded:
        return unbounded.pop() if len(unbounded) == 1 else math.nan
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


# ---- what each node means -------------------------------------------------------------------


class Meaning:
    """What every node of one graph does with its sources' collections.

    Row functions remember their answers, since a graph is asked the same rows at many times and rounds.
    """

    def __init__(self, graph: Graph, pool: object = None):
        self.graph, self.values = graph, Values(pool)
        self.does = [self._doing(node) for node in graph.nodes]
        self.turns = _rounds_that_matter(graph)
        self.variables = {number: self._variables(*left) for number, left in _loops_left(graph)}

    def needs(self, number: int) -> set[int]:
        """The nodes this node is computed from, itself included, back to what is given."""
        found: set[int] = set()
        todo = [number]
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                if not self.is_given(at):
                    todo.extend(n.sources_of(self.graph.nodes[at]))
                    todo.extend([self.graph.next_of[at]] if at in self.graph.next_of else [])
        return found

    def reads(self, number: int) -> frozenset[int]:
        """The inputs, and delays, that a node is computed from."""
        return frozenset(filter(self.is_given, self.needs(number)))

    def inputs(self, number: int) -> frozenset[str]:
        """The names of the inputs that a node is computed from, through delays too."""
        given = [self.graph.nodes[i] for i in self.reads(number)]
        names = frozenset(node.name for node in given if isinstance(node, n.Input))
        return names.union(*(self.inputs(node.source) for node in given if isinstance(node, n.Linear)))

    def _variables(self, source: int, loop: int) -> list[int]:
        """The variables of a loop that decide what a node in it holds."""
        nodes = ((number, self.graph.nodes[number]) for number in sorted(self.needs(source)))
        return [number for number, node in nodes if isinstance(node, n.Feedback) and node.loop == loop]

    def is_given(self, number: int) -> bool:
        match self.graph.nodes[number]:
            case n.Input() | n.Linear(_, n.Delay()):
                return True
        return False

    def _doing(self, node: n.Node) -> Callable[..., Collection]:
        match node:
            case n.Linear(source, action):
                return self._linear(action, self.graph.schemas[source])
            case n.Concat():
                return lambda *parts: total(pair for part in parts for pair in part.items())
            case n.Arrange() | n.Output():
                return lambda source: source
            case n.Join(left, right, columns):
                return self._join(left, right, columns)
            case n.Reduce(source, key, reducer):
                return self._reduce(self.graph.schemas[source], key, reducer)
        return dict  # Input, Feedback: the moment knows

    def _linear(self, action: n.Action, schema: Schema) -> Callable[[Collection], Collection]:
        match action:
            case n.Map(columns):
                values = [row_function(expr, schema, self.values) for _, expr in columns]
                fn = remembering(lambda row: tuple(value(row) for value in values))
                return lambda rows: total((fn(row), weight) for row, weight in rows.items())
            case n.Filter(condition):
                keeps = remembering(row_function(condition, schema, self.values))
                return lambda rows: {row: weight for row, weight in rows.items() if keeps(row) == 1}
            case n.Apply(function, "batches", given):
                return self._batches(function, schema, given)
            case n.Apply(function, how, given):
                answers = self._own_rows(function, how, schema, given)
                return lambda rows: total((out, weight) for row, weight in rows.items() for out in answers(row))
            case n.Negate():
                return lambda rows: {row: -weight for row, weight in rows.items()}
        return lambda rows: rows  # Enter, Wait, Leave, Delay: the moment knows; Inspect passes everything on

    def _own_rows(
        self, function: n.Function, how: str, schema: Schema, given: Schema
    ) -> Callable[[Record], list[Record]]:
        decoded = named_rows(schema, self.values)

        def answers(row: Record) -> list[Record]:
            with asking(function):
                answer: Any = function.fn(decoded(row))
                return [encoded_row(given, out, self.values) for out in (answer if how == "flat" else [answer])]

        return remembering(answers)

    def _batches(self, function: n.Function, schema: Schema, given: Schema) -> Callable[[Collection], Collection]:
        def answers(rows: Collection) -> Collection:
            if not rows:
                return {}
            with asking(function):
                out: Any = function.fn(arrays_of(schema, list(rows), self.values))
                return total(zip(rows_of(given, out, self.values), rows.values(), strict=True))

        return answers

    def _join(self, left: int, right: int, columns: tuple[tuple[str, int, str], ...]) -> Callable[..., Collection]:
        sides = [cast(n.Arrange | n.Reduce, self.graph.nodes[side]) for side in (left, right)]
        schemas = [self.graph.schemas[left], self.graph.schemas[right]]
        keys = [[schema.index(name) for name in side.key] for schema, side in zip(schemas, sides, strict=True)]
        take = [(side, schemas[side].index(name)) for _, side, name in columns]

        def pairs(lefts: Collection, rights: Collection) -> Iterator[tuple[Record, int]]:
            index: dict[Record, list[tuple[Record, int]]] = defaultdict(list)
            for row, weight in rights.items():
                index[tuple(row[i] for i in keys[1])].append((row, weight))
            for row, weight in lefts.items():
                key = tuple(row[i] for i in keys[0])
                if NULL in key:
                    continue
                for other, times in index.get(key, ()):
                    yield tuple((row, other)[side][i] for side, i in take), weight * times

        return lambda lefts, rights: total(pairs(lefts, rights))

    def _reduce(self, schema: Schema, key: tuple[str, ...], reducer: n.Reducer) -> Callable[..., Collection]:
        if isinstance(reducer, n.Threshold):
            return self._threshold(reducer)
        at = [schema.index(name) for name in key]
        rest = [i for i, name in enumerate(schema.names) if name not in key]
        answer = self._group_answer(schema, rest, reducer)

        def reduced(rows: Collection) -> Collection:
            groups: dict[Record, Collection] = defaultdict(dict)
            for row, weight in rows.items():
                groups[tuple(row[i] for i in at)][row] = weight
            return total((k + o, weight) for k, group in groups.items() for o, weight in answer(group))

        return reduced

    def _threshold(self, reducer: n.Threshold) -> Callable[[Collection], Collection]:
        if reducer.function is None:
            return lambda rows: {row: 1 for row, weight in rows.items() if weight > 0}
        function = reducer.function

        def mapped(rows: Collection) -> Collection:
            with asking(function):
                return total((row, int(cast(Any, function.fn)(weight))) for row, weight in rows.items())

        return mapped

    def _group_answer(self, schema: Schema, rest: list[int], reducer: n.Reducer) -> Callable[[Collection], list]:
        """What a reducer says of one group of whole rows: rows without the key, with their weights."""
        values = self.values
        match reducer:
            case n.Aggregates(aggregates):
                asked = [(a, schema.index(a.column) if a.column is not None else -1) for a in aggregates]

                def aggregated(group: Collection) -> list:
                    if sum(group.values()) == 0:
                        return []
                    return [(tuple(of_group(a, at, schema, group, values) for a, at in asked), 1)]

                return aggregated
            case n.Top(limit, order):
                place = order_by(schema, order, values)
                return lambda group: [(tuple(row[i] for i in rest), c) for row, c in first(limit, group, place)]
            case n.Window():
                helpers = (values, aggregate, float_lane)
                return lambda group: windowed(schema, rest, reducer, group, helpers)
            case n.Own(function, how, given):
                others = Schema(tuple(schema.fields[i] for i in rest))
                place, decoded = order_by(others, (), values), named_rows(others, values)

                def own(group: Collection) -> list:
                    bare = {tuple(row[i] for i in rest): weight for row, weight in group.items()}
                    rows = sorted(bare, key=place)
                    with asking(function):
                        if how == "rows":
                            answers: Any = function.fn([(decoded(row), bare[row]) for row in rows])
                            return [(encoded_row(given, row, values), 1) for row in answers]
                        counts = np.array([bare[row] for row in rows], np.int64)
                        columns = {**arrays_of(others, rows, values), "_count": counts}
                        answered, _ = cast(Any, function.fn)(columns, np.array([0, len(rows)], np.int64))
                        return [(row, 1) for row in rows_of(given, answered, values)]

                return own
        raise AssertionError(reducer)


def _loops_left(graph: Graph) -> Iterator[tuple[int, tuple[int, int]]]:
    for number, node in enumerate(graph.nodes):
        match node:
            case n.Linear(source, n.Leave(loop)):
                yield number, (source, loop)


def _rounds_that_matter(graph: Graph) -> list[tuple[bool, ...]]:
    """For each node and each loop around it: whether what it holds can differ from round to round."""
    loops: list[set[int]] = [set() for _ in graph.nodes]
    grew = True
    while grew:
        grew = False
        for number, node in enumerate(graph.nodes):
            found = set().union(*(loops[source] for source in n.sources_of(node)))
            match node:
                case n.Feedback(_, loop):
                    found |= {loop} | loops[graph.next_of[number]]
                case n.Linear(_, n.Wait()):
                    found |= {graph.scopes[number][-1]}
                case n.Linear(_, n.Leave(loop)):
                    found -= {loop}
            grew, loops[number] = grew or found != loops[number], found
    return [tuple(loop in found for loop in scope) for scope, found in zip(graph.scopes, loops, strict=True)]


class Moment:
    """All the collections of a graph at one time, given the inputs' collections there."""

    def __init__(self, meaning: Meaning, given: dict[int, Collection]):
        self.meaning, self.graph, self.given = meaning, meaning.graph, given
        self.known: dict[tuple[int, Time], Collection] = {}

    def _turning(self, number: int, rounds: Time) -> Time:
        """The rounds, without those that make no difference to a node."""
        return tuple(r if turns else 0 for r, turns in zip(rounds, self.meaning.turns[number], strict=True))

    def at(self, number: int, rounds: Time = ()) -> Collection:
        """A node's collection in these rounds of the loops around it."""
        rounds = self._turning(number, rounds)
        known = self.known.get((number, rounds))
        if known is None:
            known = self.known[number, rounds] = self._evaluate(number, rounds)
        return known

    def largest(self) -> int:
        """The largest multiplicity met anywhere, in size."""
        return max((abs(weight) for rows in self.known.values() for weight in rows.values()), default=0)

    def _evaluate(self, number: int, rounds: Time) -> Collection:
        if self.meaning.is_given(number):
            return self.given[number]
        match self.graph.nodes[number]:
            case n.Linear(source, n.Enter()):
                return self.at(source, rounds[:-1])
            case n.Linear(source, n.Wait(column)):
                at = self.graph.schemas[source].index(column)
                return {row: weight for row, weight in self.at(source, rounds).items() if row[at] <= rounds[-1]}
            case n.Linear(source, n.Leave(loop)):
                return self._settled(source, loop, self.meaning.variables[number], rounds)
            case n.Feedback(start):
                if rounds[-1] == 0:
                    return self.at(start, rounds)
                return self.at(self.graph.next_of[number], (*rounds[:-1], rounds[-1] - 1))
            case node:
                return self.meaning.does[number](*(self.at(source, rounds) for source in n.sources_of(node)))

    def _settled(self, source: int, loop: int, variables: list[int], rounds: Time) -> Collection:
        """The source once none of its variables changes any more, or in the loop's last round."""
        limit = self.graph.loops[loop].max_rounds
        coming = self._coming(source, loop, rounds, limit)
        r = 0
        while r < (limit if limit is not None else coming[-1] + PATIENCE):
            inside = (*rounds, r)
            if any(self.at(self.graph.next_of[v], inside) != self.at(v, inside) for v in variables):
                r += 1
            elif coming[-1] <= r:
                return self.at(source, inside)
            else:  # nothing changes before the next rows come
                r = next(then for then in coming if then > r)
                for v in variables:
                    self.known[v, self._turning(v, (*rounds, r))] = self.at(v, inside)
        if limit is None or self.graph.loops[loop].on_limit == "raise":
            raise NeverSettles(
                f"the loop still changes after {PATIENCE if limit is None else limit} rounds.",
                hint="Make the body reach a fixed point (often by distinct or min), or bound it with max_rounds.",
            )
        return self.at(source, (*rounds, limit - 1))

    def _coming(self, source: int, loop: int, rounds: Time, limit: int | None) -> list[int]:
        """The rounds of a loop in which rows come into it, the first among them."""
        found = {0}
        for number in self.meaning.needs(source):
            match self.graph.nodes[number]:
                case n.Linear(entered, n.Wait(column)) if self.graph.scopes[number][-1] == loop:
                    at = self.graph.schemas[entered].index(column)
                    found |= {row[at] for row in self.at(entered, (*rounds, 0)) if row[at] > 0}
        return sorted(r for r in found if limit is None or r < limit)


def evaluate(graph: Graph, node: int, given: dict[str, Collection], pool: object = None) -> Collection:
    """The collection of a node outside loops, recomputed from the inputs' collections (by name) at one time."""
    meaning = Meaning(graph, pool)
    inputs = {i: given.get(x.name, {}) for i, x in enumerate(graph.nodes) if isinstance(x, n.Input)}
    assert meaning.reads(node) <= inputs.keys(), "a Delay cannot be evaluated from one time: ask Histories"
    return Moment(meaning, inputs).at(node)


# ---- histories ------------------------------------------------------------------------------


class Histories:
    """The changes of any node outside loops, from the histories of the inputs."""

    def __init__(self, meaning: Meaning, histories: dict[str, History]):
        self.meaning, self.graph, self.histories = meaning, meaning.graph, histories
        self.moments: dict[tuple, Moment] = {}

    def changes(self, number: int) -> History:
        """What changes at a node, and when: each record and time once."""
        given = {i: self._given(i) for i in self.meaning.reads(number)}
        times = closure(time for history in given.values() for _, time, _ in history)
        return differences((time, self._moment(given, time).at(number)) for time in times)

    def _given(self, number: int) -> History:
        match self.graph.nodes[number]:
            case n.Input(name):
                return self.histories.get(name, [])
            case n.Linear(source, n.Delay(expressions)):
                assert not self.graph.scopes[number], "a Delay stands outside loops"
                names = Schema(tuple(Field(name, LONG) for name in self.graph.coordinates))
                later = [row_function(expr, names, self.meaning.values) for expr in expressions]
                moved = [(record, t, tuple(fn(t) for fn in later), diff) for record, t, diff in self.changes(source)]
                assert all(precedes(t, then) for _, t, then, _ in moved), "a Delay never moves a change back"
                return [(record, then, diff) for record, _, then, diff in moved]
        raise AssertionError(number)

    def _moment(self, given: dict[int, History], time: Time) -> Moment:
        now = {number: accumulate(history, time) for number, history in given.items()}
        content = tuple((number, frozenset(rows.items())) for number, rows in sorted(now.items()))
        if content not in self.moments:  # equal inputs have equal meanings, whatever the time
            self.moments[content] = Moment(self.meaning, now)
        return self.moments[content]


class OracleRuntime:
    """Runtime zero: keeps every change ever fed, and starts over at each advance."""

    moments, staging, keeper, late_outputs, recording = None, None, None, None, None
    guard: Guard | None = None  # not asked: the numbers of Python do not overflow
    watches = False

    def __init__(self, graph: Graph, workers: int = 1, pool: object = None, **options: object):
        self.graph, self.meaning = graph, Meaning(graph, pool)
        self.text_predicates: TextPredicates = {}
        self.inputs = {node.name: i for i, node in enumerate(graph.nodes) if isinstance(node, n.Input)}
        self.outputs = {node.name: i for i, node in enumerate(graph.nodes) if isinstance(node, n.Output)}
        least = ((0,) * len(graph.coordinates),)
        self.history: dict[str, History] = {name: [] for name in self.inputs}
        self.buffer: dict[str, History] = {name: [] for name in self.inputs}
        self.frontiers: dict[str, tuple[Time, ...]] = dict.fromkeys(self.inputs, least)
        self.ready: dict[str, History] = {name: [] for name in self.outputs}

    def feed(self, name: str, lanes: np.ndarray, times: np.ndarray, diffs: np.ndarray) -> None:
        records = records_of(np.asarray(lanes), self.graph.schemas[self.inputs[name]])
        rows = zip(records, np.asarray(times).tolist(), np.asarray(diffs).tolist(), strict=True)
        self.buffer[name].extend((record, tuple(time), diff) for record, time, diff in rows)

    def advance(self, frontiers: dict[str, tuple[Time, ...]]) -> None:
        grown = {name: self.history[name] + self.buffer[name] for name in self.inputs}
        moved = {**self.frontiers, **{name: tuple(map(tuple, frontier)) for name, frontier in frontiers.items()}}
        found = {}
        for name, number in self.outputs.items():
            before, after = self._frontier(number, self.frontiers), self._frontier(number, moved)
            past = {i: [c for c in rows if complete(c[1], after)] for i, rows in grown.items()}
            found[name] = [
                change
                for change in Histories(self.meaning, past).changes(number)
                if complete(change[1], after) and not complete(change[1], before)
            ]
        self.frontiers = moved  # nothing was refused: it stands
        for name, rows in grown.items():
            self.history[name] = [change for change in rows if complete(change[1], moved[name])]
            self.buffer[name] = [change for change in rows if not complete(change[1], moved[name])]
        for name, changes in found.items():
            self.ready[name] += changes

    def discard(self) -> None:
        self.buffer = {name: [] for name in self.inputs}

    def take(self, output: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        changes, self.ready[output] = self.ready[output], []
        schema, coordinates = self.graph.schemas[self.outputs[output]], len(self.graph.coordinates)
        rows = [words_of_record(record, schema) for record, _, _ in changes]
        lanes = np.array(rows, np.int64).reshape(len(changes), schema.width).T.copy()
        times = np.array([time for _, time, _ in changes], np.int64).reshape(len(changes), coordinates)
        return lanes, times, np.array([diff for _, _, diff in changes], np.int64)

    def frontier(self, output: str) -> tuple[Time, ...]:
        return self._frontier(self.outputs[output], self.frontiers)

    def _frontier(self, number: int, frontiers: dict[str, tuple[Time, ...]]) -> tuple[Time, ...]:
        return lower_envelope(frontiers[name] for name in self.meaning.inputs(number))

    def rest(self) -> None:
        pass

    def counters(self) -> dict[str, int]:
        return {}

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        pass
