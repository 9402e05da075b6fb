"""Loops: the fixed point, or what was reached when the rounds ran out, at every time."""

import pytest
from hypothesis import given, settings

from ebbflow.columns.schema import BOOLEAN
from ebbflow.columns.text_pool import Pool
from ebbflow.errors import NeverSettles
from tests.meaning.claims import claim
from tests.meaning.histories import Step, toggled
from tests.meaning.programs import (
    ONE,
    PAIR,
    Sketch,
    add_mod,
    call,
    components,
    core,
    distances,
    lit,
    own,
    reach,
    strong,
)
from tests.meaning.runtimes import ASKED, RUNTIMES, arrays, judge, taken

GRAPH = {"edges": PAIR, "roots": ONE}


@claim(schemas=GRAPH, widths=(1, 2, 3), examples=30)
def test_reachability(s, edges, roots):
    return reach(s, s.distinct(edges), s.distinct(roots))


CHAIN = [(node, node + 1) for node in range(4)] + [(0, 2), (1, 4), (0, 3), (4, 1), (3, 0)]


@pytest.mark.parametrize("runtime", [*ASKED, "local-2-sliced", "local-sealed-sliced", "tasks"])
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(steps=toggled("edges", CHAIN, {"roots": [(0,), (1,), (3,)]}))
def test_reachability_while_short_cuts_come_and_go_many_times_a_step(runtime, steps):
    s = Sketch("time")
    s.output("out", reach(s, s.input("edges", PAIR), s.input("roots", ONE)))
    judge(RUNTIMES[runtime], s.graph, steps)


@claim(schemas=GRAPH, widths=(1, 2), examples=30)
def test_distances_improve(s, edges, roots):
    return distances(s, s.distinct(edges), s.distinct(roots))


@claim(schemas={"edges": PAIR}, examples=25)
def test_components(s, edges):
    return components(s, s.distinct(edges))


@claim(schemas={"edges": PAIR}, widths=(1, 2, 3), examples=25)
def test_strong_components_are_a_loop_of_loops(s, edges):
    return strong(s, s.distinct(edges))


@claim(schemas={"edges": PAIR}, widths=(1, 2), examples=25)
def test_labels_that_set_out_one_after_the_other(s, edges):
    return components(s, s.distinct(edges), between=2)


@claim(schemas={"edges": PAIR}, widths=(1, 2), examples=20)
def test_labels_set_out_one_after_the_other_in_a_loop_of_loops(s, edges):
    return strong(s, s.distinct(edges), between=3)


@claim(widths=(1, 2, 3), examples=25)
def test_rows_that_wait_are_there_from_their_round_on(s, x, y):
    """Where rounds count, it shows: the loop adds one to whatever is there."""
    body = lambda v, loop: s.concat(grown(s, v, None), s.wait(y, loop, s.col(y, "a")))
    return s.iterate(x, body, max_rounds=4)


@claim(examples=25)
def test_a_loop_goes_on_after_a_pause_when_rows_still_wait(s, x, y):
    start = s.distinct(x)
    later = lambda c: call("mul", call("add", s.col(c, "a"), lit(1)), lit(100))

    def body(v, loop):
        return s.distinct(s.concat(step(s, v, s.enter(s.distinct(y), loop)), s.wait(start, loop, later(start))))

    return s.iterate(s.filter(start, lit(False, BOOLEAN)), body)


@claim(widths=(1, 2), examples=25)
def test_what_waits_in_an_inner_loop_may_change_with_the_rounds_of_the_outer(s, x, y):
    def outer(v, loop):
        inner = lambda w, within: s.concat(s.negate(w), s.wait(v, within, s.col(v, "b")))
        return s.concat(s.distinct(s.iterate(v, inner, loop, max_rounds=3)), s.wait(y, loop, s.col(y, "a")))

    return s.iterate(x, outer, max_rounds=3)


@claim(examples=25)
def test_an_arrangement_of_rows_that_wait_is_joined_from_their_round_on(s, x, y):
    body = lambda v, loop: s.concat(step(s, v, s.wait(y, loop, s.col(y, "b"))), s.enter(x, loop))
    return s.iterate(x, body, max_rounds=4)


@claim(schemas={"edges": PAIR}, examples=25)
def test_a_loop_that_shrinks(s, edges):
    return core(s, s.distinct(edges), 2)


@claim()
def test_a_loop_that_changes_nothing_gives_its_start(s, x, y):
    return s.iterate(x, lambda v, loop: v)


@claim()
def test_a_loop_that_ignores_its_start(s, x, y):
    return s.iterate(x, lambda v, loop: s.enter(y, loop))


@claim(examples=25)
def test_a_loop_over_arithmetic_in_a_small_ring(s, x, y):
    start = s.distinct(x)

    def body(v, loop):
        turned = s.map(v, a=add_mod(s.col(v, "a"), lit(1), 3), b=add_mod(s.col(v, "b"), s.col(v, "a"), 4))
        return s.distinct(s.concat(turned, s.enter(start, loop)))

    return s.iterate(start, body)


@claim(examples=25)
def test_a_loop_variable_joined_with_itself_doubles_its_reach(s, x, y):
    start = s.distinct(x)

    def body(v, loop):
        return s.distinct(s.concat(s.join(v, v, {"b": "a"}, a="left.a", b="right.b"), s.enter(start, loop)))

    return s.iterate(start, body)


@claim(examples=25)
def test_a_loop_variable_joined_with_an_outer_arrangement(s, x, y):
    """The arrangement serves a join outside too."""
    edges = s.distinct(y)
    outside = s.join(x, edges, {"b": "a"}, a="left.a", b="right.b")
    start = s.distinct(x)

    def body(v, loop):
        stepped = s.join(v, s.enter(edges, loop), {"b": "a"}, a="left.a", b="right.b")
        return s.distinct(s.concat(stepped, s.enter(start, loop)))

    return s.concat(outside, s.iterate(start, body))


@claim(examples=25)
def test_two_variables_advance_together(s, x, y):
    """What is an even and what is an odd number of steps away."""
    edges, start, nothing = s.distinct(x), s.distinct(y), s.filter(s.distinct(y), lit(False, BOOLEAN))
    loop = s.loop()
    even, odd = s.variable(start, loop, 0), s.variable(nothing, loop, 1)
    inside = s.enter(edges, loop)
    s.becomes(even, s.distinct(s.concat(s.enter(start, loop), step(s, odd, inside))))
    s.becomes(odd, s.distinct(step(s, even, inside)))
    return s.concat(s.leave(s.graph.next_of[even], loop), s.negate(s.leave(s.graph.next_of[odd], loop)))


@claim(examples=25)
def test_variables_that_swap_each_round_show_the_round_they_end_in(s, x, y):
    loop = s.loop(max_rounds=3)
    one, two = s.variable(x, loop, 0), s.variable(y, loop, 1)
    s.becomes(one, s.map(two, a="a", b="b"))
    s.becomes(two, s.map(one, a="a", b="b"))
    return s.leave(s.graph.next_of[one], loop)


def step(s, source, edges):
    return s.join(source, edges, {"b": "a"}, a="left.a", b="right.b")


def bounded(rounds, body, **options):
    @claim(examples=20, **options)
    def test_bounded(s, x, y):
        return s.iterate(x, lambda v, loop: body(s, v, s.enter(y, loop)), max_rounds=rounds)

    return test_bounded


def handed_on(s, v, y):
    """What each leads to along y, with what it has: a join with what a reduction by `a` gave the round before."""
    return s.join(v, y, {"a": "a"}, a="right.b", b="left.b")


def least_handed_on(s, v, y):
    return s.aggregate(s.concat(handed_on(s, v, y), y), ("a",), b=("min", "b"))


def counted_on(s, v, y):
    return s.aggregate(handed_on(s, v, y), ("a",), b=("count_rows", None))


def both_handed_on(s, v, y):
    return s.distinct(handed_on(s, v, y))


def grown(s, v, y):
    return s.map(v, a="a", b=call("add", s.col(v, "b"), lit(1)))


test_max_rounds_one_applies_the_body_once = bounded(1, grown)
test_max_rounds_two_applies_the_body_twice = bounded(2, grown)
test_max_rounds_five_applies_the_body_five_times = bounded(5, grown)
test_a_reduction_is_read_as_often_as_a_bounded_loop_goes_round = bounded(1, counted_on, widths=(1, 2))
test_a_reduction_is_read_twice_where_a_bounded_loop_goes_round_twice = bounded(2, counted_on, widths=(1, 2))
test_a_least_value_goes_so_many_rounds_and_no_further = bounded(3, least_handed_on, widths=(1, 2))
test_a_distinct_goes_so_many_rounds_and_no_further = bounded(3, both_handed_on, widths=(1, 2))


@claim(examples=25)
def test_what_is_joined_in_the_last_round_of_a_bounded_loop_does_not_leave_it(s, x, y):
    loop = s.loop(max_rounds=2)
    counts, shown = s.variable(x, loop, 0), s.variable(s.filter(x, lit(False, BOOLEAN)), loop, 1)
    inside = s.enter(y, loop)
    s.becomes(counts, counted_on(s, counts, inside))
    s.becomes(shown, handed_on(s, counts, inside))
    return s.leave(s.graph.next_of[shown], loop)


@claim(examples=25)
def test_what_is_joined_in_a_bounded_loop_starts_one_inside_it(s, x, y):
    def outer(v, loop):
        inside = s.enter(y, loop)
        inner = lambda w, within: s.distinct(s.concat(s.map(w, a="b", b="a"), s.enter(handed_on(s, v, inside), within)))
        return s.aggregate(s.iterate(handed_on(s, v, inside), inner, loop, max_rounds=2), ("a",), b=("min", "b"))

    return s.iterate(x, outer, max_rounds=2)


test_negation_inside_a_bounded_loop = bounded(3, lambda s, v, y: s.minus(y, v))
test_counts_may_grow_inside_a_bounded_loop = bounded(3, lambda s, v, y: s.concat(v, v, y))
test_a_join_inside_a_bounded_loop_multiplies = bounded(3, lambda s, v, y: step(s, v, y), widths=(1, 2, 3))
test_an_antijoin_inside_a_bounded_loop_flips = bounded(4, lambda s, v, y: s.antijoin(y, v, {"a": "a"}))
test_a_count_inside_a_bounded_loop = bounded(
    3, lambda s, v, y: s.aggregate(s.concat(v, y), ("a",), b=("count_rows", None))
)
test_a_sum_inside_a_bounded_loop = bounded(3, lambda s, v, y: s.aggregate(s.concat(v, y), ("a",), b=("sum", "b")))
test_top_inside_a_bounded_loop = bounded(3, lambda s, v, y: s.top(s.concat(v, y), ("a",), 2, ("b", True)))
test_distinct_inside_a_bounded_loop = bounded(
    4, lambda s, v, y: s.minus(s.distinct(s.minus(y, v)), v), widths=(1, 2, 3)
)
test_a_persons_threshold_inside_a_bounded_loop = bounded(
    3, lambda s, v, y: s.threshold(s.concat(v, y), own("count_mod_three"))
)
test_a_persons_reduction_inside_a_bounded_loop = bounded(
    3, lambda s, v, y: s.own(s.concat(s.map(v, a="b", b="a"), y), ("a",), "every_row_once")
)


@claim(examples=25)
def test_a_bound_that_is_not_reached_changes_nothing(s, x, y):
    start = s.distinct(x)

    def body(v, loop):
        return s.distinct(s.concat(step(s, v, s.enter(s.distinct(y), loop)), s.enter(start, loop)))

    return s.iterate(start, body, max_rounds=50)


@claim(examples=25)
def test_a_union_of_loop_results(s, x, y):
    one = s.iterate(s.distinct(x), lambda v, loop: s.distinct(s.concat(v, step(s, v, s.enter(s.distinct(y), loop)))))
    two = s.iterate(s.distinct(y), lambda v, loop: s.distinct(s.concat(v, s.map(v, a="b", b="a"))))
    return s.distinct(s.concat(one, s.negate(two)))


@claim(examples=25)
def test_a_loop_after_a_loop(s, x, y):
    first = s.iterate(s.distinct(x), lambda v, loop: s.distinct(s.concat(v, s.map(v, a="b", b="a"))))
    return s.iterate(first, lambda v, loop: s.distinct(s.concat(v, step(s, v, s.enter(s.distinct(y), loop)))))


@claim(examples=25)
def test_what_leaves_a_loop_need_not_be_its_variable(s, x, y):
    loop = s.loop()
    start = s.distinct(x)
    v = s.variable(start, loop)
    stepped = step(s, v, s.enter(s.distinct(y), loop))
    s.becomes(v, s.distinct(s.concat(stepped, s.enter(start, loop))))
    return s.leave(s.aggregate(stepped, ("a",), b=("count_rows", None)), loop)


@claim(widths=(1, 2, 3), examples=30)
def test_a_loop_in_a_loop(s, x, y):
    """The inner loop starts over in each round of the outer one."""
    start, edges = s.distinct(x), s.distinct(y)

    def outer(v, loop):
        def inner(w, within):
            return s.distinct(s.concat(step(s, w, s.enter(edges, within)), s.enter(v, within)))

        closed = s.iterate(v, inner, loop)
        return s.distinct(s.concat(s.map(closed, a="b", b="a"), s.enter(start, loop)))

    return s.iterate(start, outer)


@claim(widths=(1, 2), examples=25)
def test_bounded_loops_in_bounded_loops(s, x, y):
    def outer(v, loop):
        entered = s.enter(y, loop)
        inner = s.iterate(
            s.minus(v, entered),
            lambda w, within: s.concat(s.negate(w), s.distinct(s.enter(v, within))),
            loop,
            max_rounds=3,
        )
        return s.concat(s.aggregate(inner, ("a",), b=("max", "b")), s.distinct(entered))

    return s.iterate(x, outer, max_rounds=3)


@claim(widths=(1, 2), examples=20)
def test_three_loops_in_each_other(s, x, y):
    start, edges = s.distinct(x), s.distinct(y)

    def outer(v, one):
        def middle(w, two):
            def inner(u, three):
                return s.distinct(s.concat(step(s, u, s.enter(edges, three)), s.enter(w, three)))

            return s.distinct(s.concat(s.iterate(w, inner, two), s.enter(v, two)))

        turned = s.map(s.iterate(v, middle, one), a="b", b="a")
        return s.distinct(s.concat(turned, s.enter(start, one)))

    return s.iterate(start, outer)


@pytest.mark.parametrize("runtime", ASKED)
def test_a_bounded_loop_that_has_not_settled_can_raise(runtime):
    s = Sketch()
    x = s.input("x")
    s.output("out", s.iterate(x, lambda v, loop: grown(s, v, None), max_rounds=3, on_limit="raise"))
    with pytest.raises(NeverSettles):
        judge(RUNTIMES[runtime], s.graph, [Step((("x", (1, 1), (0,), 1),), (("x", ((1,),)),))], right={"out": {}})


@pytest.mark.parametrize("runtime", ASKED)
def test_a_bounded_loop_that_has_settled_does_not_raise(runtime):
    s = Sketch()
    x = s.input("x")
    small = lambda v: call("least", call("add", s.col(v, "b"), lit(1)), lit(3))
    s.output("out", s.iterate(x, lambda v, loop: s.map(v, a="a", b=small(v)), max_rounds=5, on_limit="raise"))
    judge(RUNTIMES[runtime], s.graph, [Step((("x", (1, 1), (0,), 1),), (("x", ((1,),)),))])


@pytest.mark.parametrize("runtime", ["local-1", "local-2"])
@pytest.mark.parametrize("wait", [0, 1, 2, 3, 7])
def test_rows_that_wait_longer_than_a_bounded_loop_lasts_never_come(runtime, wait):
    s = Sketch("time")
    x = s.input("x", PAIR)
    body = lambda v, loop: s.concat(v, s.wait(x, loop, lit(wait)))
    s.output("out", s.iterate(s.filter(x, lit(False, BOOLEAN)), body, max_rounds=3))
    wanted = {}
    for name in ("oracle", runtime):
        pool = Pool()
        asked = RUNTIMES[name](s.graph, pool)
        asked.feed("x", *arrays([((5, 6), (0,), 1)], 2, 1))
        asked.advance({"x": ((1,),)})
        wanted[name] = taken(asked, "out")
        asked.close()
    assert wanted[runtime] == wanted["oracle"]
