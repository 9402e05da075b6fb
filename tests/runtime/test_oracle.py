"""Runtime zero, against answers worked out by hand."""

import datetime
import math
from decimal import Decimal

import numpy as np
import pytest

from ebbflow.columns.schema import BINARY, BOOLEAN, DATE, DOUBLE, FLOAT, LONG, NULL, STRING, TIMESTAMP
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import NeverSettles, NumberOverflow
from ebbflow.runtime.oracle.groups import exact_sum
from ebbflow.runtime.oracle.histories import accumulate, closure, complete, differences, lower_envelope
from ebbflow.runtime.oracle.moment import evaluate
from ebbflow.runtime.oracle.runtime import OracleRuntime
from ebbflow.runtime.oracle.values import Values
from tests.meaning.programs import DECIMAL, ONE, Sketch, call, core, distances, lit, own, reach, schema, strong


def meaning(build, schemas=None, pool=None, **given):
    """What a program of inputs x, y makes of their collections."""
    s = Sketch()
    inputs = [
        s.input(name, (schemas or {}).get(name, ONE if name == "roots" else schema(a=LONG, b=LONG))) for name in given
    ]
    return evaluate(s.graph, build(s, *inputs), given, pool)


# ---- times ----------------------------------------------------------------------------------


def test_the_closure_has_joins_of_any_number_of_times():
    assert closure([(1, 0, 0), (0, 1, 0), (0, 0, 1)])[-1] == (1, 1, 1)
    assert len(closure([(1, 0, 0), (0, 1, 0), (0, 0, 1)])) == 7


def test_differences_and_sums_undo_each_other():
    history = [(("a",), (0, 1), 2), (("a",), (1, 0), -1), (("b",), (1, 1), 1)]
    times = closure(time for _, time, _ in history)
    assert sorted(differences((t, accumulate(history, t)) for t in times)) == sorted(history)


def test_a_time_is_complete_when_no_element_of_the_frontier_precedes_it():
    assert complete((0, 5), ((1, 0),)) and not complete((1, 5), ((1, 0),)) and complete((9, 9), ())
    assert lower_envelope([((1, 1), (0, 3)), ((0, 2),)]) == ((0, 2), (1, 1))


# ---- values ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type, value",
    [
        (LONG, -5),
        (LONG, 2**63 - 1),
        (LONG, None),
        (BOOLEAN, True),
        (DOUBLE, 1.5),
        (DOUBLE, -math.inf),
        (DOUBLE, -2.5e-300),
        (FLOAT, 0.5),
        (STRING, "é"),
        (STRING, ""),
        (STRING, None),
        (BINARY, b"\xff\x00"),
        (DATE, datetime.date(1969, 12, 31)),
        (TIMESTAMP, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
        (DECIMAL, Decimal("-3.10")),
    ],
)
def test_values_come_back_from_their_lanes(type, value):
    values = Values(Pool())
    assert values.decode(type, values.encode(type, value)) == value


def test_float_lanes_are_in_the_order_of_floats():
    values = Values()
    ordered = [None, -math.inf, -1.5, -1e-300, 0.0, 5e-324, 1.5, math.inf, math.nan]
    lanes = [values.encode(DOUBLE, value) for value in ordered]
    assert lanes == sorted(lanes) and len(set(lanes)) == len(lanes)
    assert values.encode(DOUBLE, -0.0) == values.encode(DOUBLE, 0.0) == 0


def test_sums_of_floats_are_rounded_once():
    assert exact_sum([(1e16, 1), (1.0, 3), (-1e16, 1)]) == 3.0
    assert exact_sum([(0.1, 10)]) == math.fsum([0.1] * 10)
    assert math.isnan(exact_sum([(math.inf, 1), (-math.inf, 1)])) and exact_sum([(math.inf, 2), (1.0, 1)]) == math.inf


# ---- nodes ----------------------------------------------------------------------------------


def test_join_multiplies_counts_and_leaves_null_keys_out():
    build = lambda s, x, y: s.join(x, y, {"b": "a"}, a="left.a", b="right.b")
    x, y = {(1, 2): 2, (1, NULL): 5}, {(2, 3): -3, (NULL, 4): 1}
    assert meaning(build, x=x, y=y) == {(1, 3): -6}


def test_distinct_is_one_above_zero_and_nothing_below():
    assert meaning(lambda s, x: s.distinct(x), x={(1, 1): 3, (2, 2): -1}) == {(1, 1): 1}


def test_threshold_maps_counts():
    assert meaning(lambda s, x: s.threshold(x, own("minus_count")), x={(1, 1): 3, (2, 2): -1}) == {
        (1, 1): -3,
        (2, 2): 1,
    }


def test_aggregates_by_hand():
    build = lambda s, x: s.aggregate(
        x,
        ("a",),
        n=("count_rows", None),
        c=("count", "b"),
        t=("sum", "b"),
        low=("min", "b"),
        high=("max", "b"),
        k=("count_distinct", "b"),
    )
    x = {(1, 5): 2, (1, 7): 1, (1, NULL): 1, (2, NULL): 1, (3, 4): 1, (3, 6): -1, (4, 1): 2, (4, 9): -1}
    assert meaning(build, x=x) == {
        (1, 4, 3, 17, 5, 7, 2): 1,
        (2, 1, 0, NULL, NULL, NULL, 0): 1,
        (4, 1, 1, -7, 1, 1, 1): 1,
    }


def test_a_sum_without_a_place_in_64_bits_is_refused():
    with pytest.raises(NumberOverflow):
        meaning(lambda s, x: s.aggregate(x, (), t=("sum", "b")), x={(1, 2**62): 2})
    with pytest.raises(NumberOverflow):
        meaning(lambda s, x: s.map(x, a=call("add", s.col(x, "a"), s.col(x, "b"))), x={(2**62, 2**62): 1})


def test_text_is_ordered_by_text():
    pool = Pool()
    ids = {text: int(i) for text, i in zip("abc", pool.encode_texts("abc"), strict=True)}
    columns = {"x": schema(a=LONG, b=STRING)}
    x = {(1, ids["c"]): 1, (1, ids["a"]): 1, (1, ids["b"]): 1}
    build = lambda s, x: s.aggregate(x, ("a",), low=("min", "b"), high=("max", "b"))
    assert meaning(build, columns, pool, x=x) == {(1, ids["a"], ids["c"]): 1}
    assert meaning(lambda s, x: s.top(x, ("a",), 1, ("b", True)), columns, pool, x=x) == {(1, ids["c"]): 1}


def test_top_counts_copies_and_breaks_ties_by_the_whole_row():
    columns = {"x": schema(a=LONG, b=LONG, c=LONG)}
    x = {(1, 5, 2): 2, (1, 5, 1): 1, (1, 9, 0): 1, (1, NULL, 3): 1, (1, 0, 0): -1}
    assert meaning(lambda s, x: s.top(x, ("a",), 3, ("b", True)), columns, x=x) == {
        (1, 9, 0): 1,
        (1, 5, 1): 1,
        (1, 5, 2): 1,
    }
    assert meaning(lambda s, x: s.top(x, ("a",), 2, ("b", False)), columns, x=x) == {(1, NULL, 3): 1, (1, 5, 1): 1}


def test_a_persons_reduction_gets_sorted_named_rows_with_their_counts():
    seen = []
    s = Sketch()
    x = s.input("x")
    rest = schema(b=LONG)
    from ebbflow.dataflow import nodes as n

    fn = lambda rows: seen.append(rows) or [(row.b + count,) for row, count in rows]
    reduce = s.add(n.Reduce(x, ("a",), n.Own(n.Function(fn, id(fn), "fn"), "rows", rest), s.schema(x)))
    assert evaluate(s.graph, reduce, {"x": {(1, 5): 2, (1, 3): -1}}) == {(1, 2): 1, (1, 7): 1}
    assert [(tuple(row), count) for row, count in seen[0]] == [((3,), -1), ((5,), 2)]


# ---- loops ----------------------------------------------------------------------------------

LINE = {(1, 2): 1, (2, 3): 1, (3, 4): 1}


def test_reachability():
    assert meaning(reach, edges=LINE, roots={(2,): 1}) == {(2, 2): 1, (2, 3): 1, (2, 4): 1}


def test_distances():
    edges = {**LINE, (1, 3): 1}
    assert meaning(distances, edges=edges, roots={(1,): 1}) == {(1, 0): 1, (2, 1): 1, (3, 1): 1, (4, 2): 1}


def test_strong_components():
    assert meaning(strong, edges={**LINE, (3, 2): 1}) == {(2, 3): 1, (3, 2): 1}


def test_a_core_shrinks_until_it_holds():
    ring = {(a, b): 1 for a in (1, 2, 3) for b in (1, 2, 3)}
    assert meaning(lambda s, x: core(s, x, 2), x={**ring, (4, 1): 1, (1, 4): 1}) == ring


def grown(s, v):
    return s.map(v, a="a", b=call("add", s.col(v, "b"), lit(1)))


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_max_rounds_is_how_often_the_body_is_applied(rounds):
    build = lambda s, x: s.iterate(x, lambda v, loop: grown(s, v), max_rounds=rounds)
    assert meaning(build, x={(0, 0): 1}) == {(0, rounds): 1}


def test_variables_advance_together():
    def build(s, x, y):
        loop = s.loop(max_rounds=3)
        one, two = s.variable(x, loop, 0), s.variable(y, loop, 1)
        s.becomes(one, two)
        s.becomes(two, grown(s, one))
        return s.concat(s.leave(two, loop), s.negate(s.leave(s.graph.next_of[two], loop)))

    # rounds (one, two): (x0, y0) (y0, x1) (x1, y1); next of two in round 2 is x2
    assert meaning(build, x={(1, 0): 1}, y={(2, 0): 1}) == {(2, 1): 1, (1, 2): -1}


def test_a_loop_that_never_settles_is_refused(monkeypatch):
    monkeypatch.setattr("ebbflow.runtime.oracle.moment.MOST_ROUNDS", 50)
    with pytest.raises(NeverSettles):
        meaning(lambda s, x: s.iterate(x, lambda v, loop: s.negate(v)), x={(1, 1): 1})
    with pytest.raises(NeverSettles):
        meaning(lambda s, x: s.iterate(x, lambda v, loop: grown(s, v), max_rounds=3, on_limit="raise"), x={(1, 1): 1})


# ---- the runtime ----------------------------------------------------------------------------


def fed(runtime, name, *changes):
    rows, times, diffs = zip(*changes, strict=True)
    runtime.feed(name, np.array(rows, np.int64).T, np.array(times, np.int64), np.array(diffs, np.int64))


def taken(runtime, output="out"):
    lanes, times, diffs = runtime.take(output)
    rows = zip(map(tuple, lanes.T.tolist()), map(tuple, times.tolist()), diffs.tolist(), strict=True)
    return sorted(rows, key=lambda change: change[1])


def one_input(build, *coordinates):
    s = Sketch(*coordinates)
    s.output("out", build(s, s.input("x", ONE)))
    return OracleRuntime(s.graph)


def test_nothing_is_shown_before_it_is_complete():
    runtime = one_input(lambda s, x: s.distinct(x))
    fed(runtime, "x", ((1,), (0,), 1), ((1,), (1,), 1), ((1,), (2,), -2))
    runtime.advance({"x": ((2,),)})
    assert taken(runtime) == [((1,), (0,), 1)] and taken(runtime) == []
    runtime.advance({"x": ()})
    assert taken(runtime) == [((1,), (2,), -1)] and runtime.frontier("out") == ()


def test_a_time_nobody_wrote_is_shown_when_it_is_complete():
    runtime = one_input(lambda s, x: s.distinct(x), "one", "two")
    fed(runtime, "x", ((1,), (1, 0), 1), ((1,), (0, 1), 1))
    runtime.advance({"x": ((1, 1),)})
    assert taken(runtime) == [((1,), (0, 1), 1), ((1,), (1, 0), 1)]
    runtime.advance({"x": ((1, 2),)})
    assert taken(runtime) == [((1,), (1, 1), -1)]


def test_an_output_waits_for_the_inputs_it_is_computed_from():
    s = Sketch()
    x, y = s.input("x", ONE), s.input("y", ONE)
    s.output("both", s.concat(x, y))
    s.output("one", x)
    runtime = OracleRuntime(s.graph)
    fed(runtime, "x", ((1,), (3,), 1))
    runtime.advance({"x": ((5,),), "y": ((2,),)})
    assert runtime.frontier("both") == ((2,),) and runtime.frontier("one") == ((5,),)
    assert taken(runtime, "both") == [] and taken(runtime, "one") == [((1,), (3,), 1)]


def test_delay_moves_changes_and_not_collections():
    """What is delayed and taken back before the delay is over is never seen."""
    first = lambda s: call("mul", call("add", call("floordiv", s, lit(10)), lit(1)), lit(10))
    from ebbflow.expressions.typed import Column

    runtime = one_input(lambda s, x: s.delay(s.distinct(x), first(Column("time", LONG))))
    fed(runtime, "x", ((1,), (3,), 1), ((1,), (5,), -1), ((2,), (7,), 1))
    runtime.advance({"x": ()})
    assert taken(runtime) == [((2,), (10,), 1)]


def test_a_loop_need_not_settle_at_times_that_are_not_complete(monkeypatch):
    """What a delay moved beyond the frontier stands there alone; what is to come may let a loop settle."""
    monkeypatch.setattr("ebbflow.runtime.oracle.moment.MOST_ROUNDS", 50)
    from ebbflow.expressions.typed import Column

    later = call("add", Column("time", LONG), lit(10))
    runtime = one_input(lambda s, x: s.iterate(s.delay(x, later), lambda v, loop: s.negate(v)))
    fed(runtime, "x", ((1,), (0,), 1))
    runtime.advance({"x": ((10,),)})
    assert taken(runtime) == [] and runtime.frontier("out") == ((10,),)
    with pytest.raises(NeverSettles):
        runtime.advance({"x": ((11,),)})


def test_a_refused_advance_leaves_everything_as_it_was():
    runtime = one_input(lambda s, x: s.map(x, a=call("mul", s.col(x, "a"), lit(2**40))))
    fed(runtime, "x", ((1,), (0,), 1))
    runtime.advance({"x": ((1,),)})
    fed(runtime, "x", ((2**40,), (1,), 1))
    with pytest.raises(NumberOverflow):
        runtime.advance({"x": ((2,),)})
    assert runtime.frontier("out") == ((1,),)
    runtime.discard()
    fed(runtime, "x", ((2,), (1,), 1))
    runtime.advance({"x": ((2,),)})
    assert taken(runtime) == [((2**40,), (0,), 1), ((2**41,), (1,), 1)]
