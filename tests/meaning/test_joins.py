"""Joins: every pair of rows with equal keys, as often as the product of their counts."""

from random import Random

import pytest

from ebbflow.columns.schema import DOUBLE, LONG, STRING
from tests.meaning.claims import claim
from tests.meaning.histories import Step
from tests.meaning.programs import ONE, Sketch, call, lit, schema
from tests.meaning.runtimes import RUNTIMES, judge


@claim(widths=(1, 2, 3), examples=25)
def test_join_is_what_joining_at_each_time_would_give(s, x, y):
    return s.join(x, y, {"b": "a"}, a="left.a", b="right.b")


@claim(widths=(1, 2, 3))
def test_a_self_join_meets_each_pair_once(s, x, y):
    return s.join(x, x, {"b": "a"}, a="left.a", b="right.b")


@claim()
def test_a_self_join_on_the_same_key_shares_one_arrangement(s, x, y):
    return s.join(x, x, {"a": "a"}, a="left.b", b="right.b")


@claim()
def test_join_on_two_columns(s, x, y):
    return s.join(x, y, {"a": "b", "b": "a"}, a="left.a", b="left.b")


@claim()
def test_a_cross_join_has_an_empty_key(s, x, y):
    return s.join(x, y, {}, a="left.a", b="right.b")


@claim(nulls=True)
def test_null_keys_match_nothing(s, x, y):
    return s.join(x, y, {"a": "a", "b": "b"}, a="left.a", b="right.b")


@claim(nulls=True)
def test_null_keys_of_reductions_match_nothing(s, x, y):
    """Nulls form a group, and that group has no partner, not even itself."""
    counts = s.aggregate(x, ("a",), b=("count_rows", None))
    lows = s.aggregate(y, ("a",), b=("min", "b"))
    one = s.join(counts, counts, {"a": "a"}, a="left.b", b="right.b")
    return s.concat(one, s.join(counts, lows, {"a": "a"}, a="left.b", b="right.b"))


@claim(nulls=True)
def test_nulls_beside_the_key_are_kept(s, x, y):
    return s.join(x, y, {"a": "a"}, a="left.b", b="right.b")


@claim(schemas={"x": schema(a=STRING, b=LONG), "y": schema(a=STRING, b=DOUBLE)}, nulls=True)
def test_text_keys_match_by_text(s, x, y):
    return s.join(x, y, {"a": "a"}, a="left.a", b="left.b", c="right.b")


@claim(schemas={"x": schema(a=DOUBLE), "y": schema(a=DOUBLE)}, nulls=True)
def test_float_keys_match_nan_with_nan_and_zero_with_minus_zero(s, x, y):
    return s.join(x, y, {"a": "a"}, a="left.a", b="right.a")


@claim(examples=25)
def test_join_of_joins(s, x, y):
    twice = s.join(x, y, {"b": "a"}, a="left.a", b="right.b")
    return s.join(twice, x, {"b": "a"}, a="left.a", b="right.b")


@claim(examples=25)
def test_semijoin_keeps_rows_with_a_partner_in_their_own_number(s, x, y):
    return s.semijoin(x, y, {"b": "a"})


@claim(examples=25)
def test_antijoin_keeps_rows_without_a_partner(s, x, y):
    return s.antijoin(x, y, {"b": "a"})


@claim(nulls=True)
def test_antijoin_keeps_rows_whose_key_is_null(s, x, y):
    return s.antijoin(x, y, {"a": "a"})


@claim(examples=15, nulls=True)
def test_left_join_fills_with_nulls(s, x, y):
    return s.outer(x, y, {"a": "a"}, "left")


@claim(nulls=True)
def test_right_join_fills_with_nulls(s, x, y):
    return s.outer(x, y, {"a": "b"}, "right")


@claim(examples=15, nulls=True)
def test_full_join_fills_both_sides(s, x, y):
    return s.outer(x, y, {"b": "a"}, "full")


@claim(schemas={"x": ONE, "y": ONE}, widths=(1, 2, 3), examples=25)
def test_a_full_self_join_has_no_unmatched_row(s, x, y):
    return s.outer(x, x, {"a": "a"}, "full")


@claim(examples=25)
def test_counts_of_different_parity_never_meet(s, x, y):
    counts = s.aggregate(s.map(x, a="a"), ("a",), b=("count_rows", None))
    parity = call("mod", s.col(counts, "b"), lit(2))
    odd = s.filter(counts, call("ne", parity, lit(0)))
    even = s.filter(counts, call("eq", parity, lit(0)))
    return s.join(odd, even, {"a": "a"}, a="left.a", b="left.b", c="right.b")


@pytest.mark.parametrize("on_a_line", [True, False], ids=["line", "grid"])
@pytest.mark.parametrize("runtime", ["local-1", "local-2", "local-1-sliced"])
def test_long_histories_of_one_key_meet_where_both_have_been_seen(runtime, on_a_line):
    random, s = Random(5), Sketch("first", "second")
    x, y = s.input("x"), s.input("y")
    s.output("out", s.join(x, y, {"a": "a"}, a="left.b", b="right.b"))

    def at(begin):
        first = begin + random.randrange(6)
        return first, first if on_a_line else random.randrange(6)

    steps = []
    for begin in (0, 6, 12):
        changes = tuple(
            (name, (1, random.randrange(3)), at(begin), random.choice([1, 1, -1])) for _ in range(25) for name in "xy"
        )
        steps.append(Step(changes, tuple((name, ((begin + 6, 0),)) for name in "xy")))
    judge(RUNTIMES[runtime], s.graph, steps)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_what_one_side_gets_of_a_key_meets_what_the_other_gets_or_has_already(runtime):
    """Much of a key on one side, in steps that bring much, little or nothing of it on the other."""
    random, s = Random(3), Sketch()
    x, y = s.input("x"), s.input("y")
    s.output("out", s.join(x, y, {"a": "a"}, a="left.b", b="right.b"))
    steps = []
    for number, (much, other, key) in enumerate(["xy1", "xy1", "xy2", "yx1", "yx2", "xx1", "xy1"]):
        rows = [(much, 1)] * 60 + [(other, int(key))] * random.choice([1, 30])
        changes = tuple(
            (name, (a, random.randrange(3)), (20 * number + random.randrange(20),), random.choice([1, 1, -1]))
            for name, a in rows
        )
        steps.append(Step(changes, tuple((name, ((20 * number + 20,),)) for name in "xy")))
    judge(RUNTIMES[runtime], s.graph, steps)
