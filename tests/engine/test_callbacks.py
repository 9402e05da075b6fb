from collections import Counter

import numpy as np
import pytest

import ebbflow as ebb
from ebbflow.columns.schema import DOUBLE, LONG, STRING
from ebbflow.columns.text_pool import Pool
from ebbflow.dataflow import nodes as n
from ebbflow.errors import FunctionFailed
from ebbflow.expressions.typed import Literal
from ebbflow.runtime.local import LocalRuntime
from ebbflow.runtime.oracle.values import Values
from tests.meaning.programs import PAIR, Sketch, call, schema
from tests.meaning.runtimes import arrays, taken

B, NAMED = schema(b=LONG), schema(name=STRING, x=DOUBLE)


class Program:
    """Rows (a, b), a function on them or their groups, and what comes out, decoded."""

    def __init__(self, build, given=PAIR, workers=1, coordinates=("time",)):
        s = Sketch(*coordinates)
        self.given, self.pool = given, Pool()
        out = build(s, s.input("x", given))
        self.types = s.schema(out).types
        s.output("out", out)
        self.runtime = LocalRuntime(s.graph, workers=workers, pool=self.pool)

    def __call__(self, *changes, until=9):
        """Changes (row, time, diff) -> {(row, time): diff}."""
        values, width = Values(self.pool), self.runtime.coordinates
        rows = [(tuple(map(values.encode, self.given.types, row)), (time,) * width, d) for row, time, d in changes]
        if rows:
            self.runtime.feed("x", *arrays(rows, len(self.given), width))
        self.runtime.advance({"x": ((until,) * width,)})
        found = taken(self.runtime, "out")
        return {(tuple(map(values.decode, self.types, row)), time[0]): diff for (row, time), diff in found.items()}


def function(fn, name=None):
    return n.Function(fn, id(fn), name or fn.__name__)


def applied(fn, how, schema=PAIR, name=None):
    return lambda s, x: s.linear(x, n.Apply(function(fn, name), how, schema))


def grouped(fn, how="rows", schema=B):
    def build(s, x):
        whole, _ = s._rest(x, ("a",))
        fields = (whole.fields[0], *schema.fields)
        return s.add(n.Reduce(x, ("a",), n.Own(function(fn), how, schema), type(whole)(fields)))

    return build


# ---- rows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_of_a_row_is_given_named_values_and_its_answer_has_the_rows_time_and_copies(workers):
    program = Program(applied(lambda row: (row.b, row.a + 1), "rows"), workers=workers)
    assert program(((1, 10), 0, 2), ((2, None), 3, -1)) == {((10, 2), 0): 2, ((None, 3), 3): -1}


def test_a_function_may_give_any_number_of_rows():
    program = Program(applied(lambda row: [(row.a, i) for i in range(row.b)], "flat"))
    assert program(((1, 0), 0, 1), ((2, 2), 1, 3)) == {((2, 0), 1): 3, ((2, 1), 1): 3}


def test_a_function_of_arrays_is_given_columns():
    seen = []

    def doubled(columns):
        seen.append({name: column.tolist() for name, column in columns.items()})
        return {"a": columns["a"] * 2, "b": columns["b"]}

    program = Program(applied(doubled, "batches"))
    assert program(((1, 5), 0, 1), ((2, 6), 1, 1)) == {((2, 5), 0): 1, ((4, 6), 1): 1}
    assert seen == [{"a": [1, 2], "b": [5, 6]}]


def test_text_and_floats_come_as_what_they_are():
    program = Program(applied(lambda row: (row.name.upper() if row.name else "none", row.x / 2), "rows", NAMED), NAMED)
    assert program((("é", 1.0), 0, 1), ((None, -0.5), 0, 1)) == {(("É", 0.5), 0): 1, (("none", -0.25), 0): 1}


def test_an_expression_on_text_that_the_walk_cannot_compute_is_asked_outside():
    def build(s, x):
        return s.filter(
            s.map(x, name=call("upper", s.col(x, "name")), x="x"), call("ne", s.col(x, "name"), Literal("B", STRING))
        )

    program = Program(build, NAMED)
    assert program((("a", 1.0), 0, 1), (("b", 1.0), 0, 1)) == {(("A", 1.0), 0): 1}


def test_what_passes_is_shown_with_its_times_and_diffs():
    seen = []

    def look(lanes, times, diffs, pool):
        seen.append((lanes.tolist(), times.tolist(), diffs.tolist()))

    program = Program(lambda s, x: s.linear(x, n.Inspect(function(look))))
    assert program(((1, 2), 4, 3)) == {((1, 2), 4): 3}
    assert seen == [([[1], [2]], [[4]], [3])]


# ---- groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coordinates", [("time",), ("time", "valid")])
def test_a_group_is_given_in_order_with_counts_and_only_what_is_there(coordinates):
    seen = []

    def listed(rows):
        seen.append([(tuple(row), count) for row, count in rows])
        return [(sum(count for _, count in rows),)]

    program = Program(grouped(listed), coordinates=coordinates)
    changes = [((1, 9), 0, 1), ((1, None), 0, 2), ((1, 3), 0, -1), ((1, 5), 0, 1), ((1, 5), 0, -1), ((2, 1), 3, 1)]
    assert program(*changes) == {((1, 2), 0): 1, ((2, 1), 3): 1}
    assert [((None,), 2), ((3,), -1), ((9,), 1)] in seen and [((1,), 1)] in seen
    seen.clear()
    assert program(((2, 1), 9, -1), until=20) == {((2, 1), 9): -1}
    assert [] not in seen  # a group that is gone is not asked about


def test_text_in_a_group_is_in_the_order_of_its_bytes():
    seen = []

    def build(s, x):
        whole, rest = s._rest(x, ("x",))
        return s.add(n.Reduce(x, ("x",), n.Own(function(lambda rows: seen.append(rows) or []), "rows", rest), whole))

    Program(build, NAMED)(*(((name, 1.0), 0, 1) for name in ["é", "z", "", "ab", "a", None]))
    assert [row.name for row, _ in seen[0]] == [None, "", "a", "ab", "z", "é"]


def test_an_answer_given_twice_is_there_twice():
    program = Program(grouped(lambda rows: [rows[0][0], rows[0][0]]))
    assert program(((1, 4), 0, 1)) == {((1, 4), 0): 2}


def test_all_the_groups_of_a_round_are_one_call():
    calls = []

    def firsts(columns, offsets):
        calls.append(({name: column.tolist() for name, column in columns.items()}, offsets.tolist()))
        return {"b": columns["b"][offsets[:-1]]}, np.arange(len(offsets))

    program = Program(grouped(firsts, "batches"))
    assert program(((1, 4), 0, 1), ((1, 3), 0, 2), ((2, 8), 0, 1)) == {((1, 3), 0): 1, ((2, 8), 0): 1}
    ((columns, offsets),) = calls
    assert offsets == [0, 2, 3] or offsets == [0, 1, 3]
    assert Counter(zip(columns["b"], columns["_count"], strict=True)) == Counter([(3, 2), (4, 1), (8, 1)])


def test_a_threshold_is_given_counts_and_never_none():
    seen = []

    def copies(count):
        seen.append(count)
        return count // 2

    program = Program(lambda s, x: s.threshold(x, function(copies)))
    assert program(((1, 1), 0, 4), ((1, 1), 1, -4), ((2, 2), 0, 1)) == {((1, 1), 0): 2, ((1, 1), 1): -2}
    assert 0 not in seen and set(seen) == {4, 1}


# ---- what goes wrong ---------------------------------------------------------------------------------


def boom(row):
    if 13 in tuple(row):
        raise ValueError("thirteen")
    return tuple(row)


def group_boom(rows):
    if any(13 in row for row, _ in rows):
        raise ValueError("thirteen")
    return [row for row, _ in rows]


def columns_boom(columns):
    if (columns["b"] == 13).any():
        raise ValueError("thirteen")
    return columns


FAILING = {
    "map_rows raises": (applied(boom, "rows"), ["boom", "ValueError: thirteen", "a=7, b=13", "at time 4"]),
    "flat_map raises": (
        applied(lambda row: [boom(row)], "flat"),
        ["the function given to flat_map", "b=13", "at time 4"],
    ),
    "map_batches raises": (applied(columns_boom, "batches"), ["columns_boom", "ValueError", "b=13", "at time 4"]),
    "reduce raises": (grouped(group_boom), ["group_boom", "ValueError: thirteen", "a=7", "at time 4"]),
    "too few values": (applied(lambda row: (1,) if row.b == 13 else tuple(row), "rows"), ["b=13", "at time 4"]),
    "another type": (applied(lambda row: ("x", 1) if row.b == 13 else tuple(row), "rows"), ["b=13", "at time 4"]),
    "no list of rows": (applied(lambda row: 5, "flat"), ["5", "not a list of rows"]),
    "no columns": (applied(lambda columns: 5, "batches"), ["5", "not a dict of columns"]),
    "too few rows": (applied(lambda c: {k: v[:1] for k, v in c.items()}, "batches"), ["2 rows", "returned 1"]),
    "no whole number": (lambda s, x: s.threshold(x, function(lambda count: 0.5, "half")), ["half", "0.5", "count 1"]),
    "no offsets": (grouped(lambda columns, offsets: {"b": [1]}, "batches"), ["not columns and offsets"]),
    "wrong offsets": (grouped(lambda c, o: ({"b": [1, 2]}, [0, 1]), "batches"), ["2 groups", "offsets for 1"]),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_function_that_fails_refuses_the_step_and_says_for_what_and_when(name):
    build, said = FAILING[name]
    program = Program(build)
    with pytest.raises(FunctionFailed) as found:
        program(((1, 2), 3, 1), ((7, 13), 4, 1))
    for part in said:
        assert part in found.value.what, found.value.what
    assert "discard" in found.value.hint
    program.runtime.discard()
    assert taken(program.runtime, "out") == {}


def test_an_answer_that_does_not_fit_is_told_with_its_time_before_the_reason():
    flow = ebb.Dataflow()
    flow.output("out", flow.input("xs", "x long").map_rows(lambda r: (1, 2), "y long"))
    told = r"for the row \(x=3\) at time 0: row 0 has 2 values, and 1 value is wanted"
    with pytest.raises(ebb.EbbflowError, match=told):
        flow.compute(xs=[(3,)])


def test_a_reduction_over_batches_may_answer_a_row_for_each_group_or_say_where_they_begin():
    flow = ebb.Dataflow()
    groups = flow.input("xs", "k long, x long").group_by("k")
    totals = lambda columns, offsets: {"t": np.add.reduceat(columns["x"] * columns["_count"], offsets[:-1])}
    flow.output("alone", groups.reduce_batches(totals, "t long"))
    flow.output("both", groups.reduce_batches(lambda c, o: (totals(c, o), np.arange(len(o))), "t long"))
    found = flow.compute(xs=[(1, 2), (1, 3), (2, 5)])
    assert found["alone"] == found["both"] == [(1, 5, 1), (2, 5, 1)]
    flow.output("short", groups.reduce_batches(lambda c, o: {"t": [1]}, "t long"))
    with pytest.raises(FunctionFailed, match="and not columns and offsets, for 2 groups"):
        flow.compute(xs=[(1, 2), (2, 5)])
