from collections import Counter
from itertools import product as pairs
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.columns.schema import NULL
from ebbflow.errors import NumberOverflow
from ebbflow.operators import node as kinds
from ebbflow.operators.join.histories import merge_histories
from ebbflow.operators.join.joined_rows import FROM_KEY, FROM_LEFT, FROM_RIGHT, product
from ebbflow.runtime.local import LocalRuntime
from ebbflow.trace.failures import PRODUCT_OVERFLOW
from tests.meaning.programs import Sketch
from tests.meaning.runtimes import arrays, taken
from tests.trace.heaps import Bench

LARGE = st.integers(-(2**43) + 1, 2**43 - 1) | st.sampled_from([2**31, -(2**31), 2**32, -(2**32), 2**30, 0, 1, -1])


@settings(max_examples=300)
@given(LARGE, LARGE)
def test_a_product_is_exact_or_refused(a, b):
    bench = Bench()
    jn = bench.node(kinds.JOIN)
    kinds.Node(jn).number = 3
    found = product(bench.W, jn, a, b, 9)
    if abs(a * b) < 2**62:
        assert (found, bench.header.error) == (a * b, 0)
    else:
        assert [bench.header.error, bench.header.error_node, bench.header.error_rank] == [
            PRODUCT_OVERFLOW,
            3,
            9,
        ]


# ---- two histories along one line -----------------------------------------------------------------

ENTRIES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, 9), st.integers(-2, 2), st.integers(0, 2)), max_size=25)
DELTAS = st.dictionaries(st.tuples(st.integers(0, 1), st.integers(1, 9)), st.integers(-2, 2).filter(bool), max_size=12)


@settings(max_examples=150)
@given(ENTRIES, ENTRIES, DELTAS, st.integers(0, 2), st.integers(0, 3), st.booleans())
def test_merged_histories_are_the_products_of_pairs_at_the_later_of_their_times(
    before, now, deltas, rounds, seen, on_left
):
    bench = Bench()
    jn = bench.node(kinds.JOIN, lanes=3)
    kinds.Node(jn).projection = bench.heap.keep([FROM_KEY, 0, FROM_LEFT, 0, FROM_RIGHT, 0])
    sg, key = bench.segment(), bench.heap.keep([77])
    for updates in (before, now):
        for r, rank, diff, value in updates:
            bench.push(sg, 3, r, rank, diff, (value,))
        if updates is before:
            bench.next_slice()
            bench.push(sg, 3, 0, 1, 0, (0,))
    listed = sorted(deltas.items())
    p = bench.heap.keep([x for (value, rank), diff in listed for x in (rank, diff, value)])
    stored = bench.entries(sg, 3)
    old = bench.old(sg)
    merge_histories(bench.W, jn, int(on_left), key, p, len(listed), 3, rounds, seen, sg, 3, -1)
    words = bench.vector(kinds.Node(jn).buffer)
    found = Counter()
    for i in range(0, len(words), 6):
        r, rank, diff, *lanes = words[i : i + 6]
        found[r, rank, *lanes] += diff
    wanted = Counter()
    for (i, (r, rank, diff, (other,))), ((value, t), d) in pairs(enumerate(stored), listed):
        if i < old or r < seen:
            lanes = (77, value, other) if on_left else (77, other, value)
            wanted[max(r, rounds), max(rank, t), *lanes] += diff * d
    assert {k: d for k, d in found.items() if d} == {k: d for k, d in wanted.items() if d}
    assert bench.entries(sg, 3) == stored


@pytest.mark.interpreted
def test_two_long_histories_of_one_pair_cost_their_sum_not_their_product():
    bench = Bench()
    jn = bench.node(kinds.JOIN, lanes=1)
    kinds.Node(jn).projection = bench.heap.keep([FROM_KEY, 0])
    sg, key = bench.segment(), bench.heap.keep([77])
    bench.push(sg, 2, 0, 1, 0, ())
    for rank in range(1, 21):
        bench.push(sg, 2, 0, 2 * rank, (-1) ** rank, ())
    p = bench.heap.keep([x for rank in range(1, 21) for x in (2 * rank + 1, (-1) ** rank)])
    merge_histories(bench.W, jn, 1, key, p, 20, 2, 0, 1, sg, 2, -1)
    assert len(bench.vector(kinds.Node(jn).buffer)) // 4 <= 40


@pytest.mark.parametrize("count", [50, 200])
def test_an_event_meets_only_the_values_that_are_there_at_its_time(count):
    """Each side holds another value at each time, and one only: as many steps as events, not as pairs of values."""
    bench = Bench()
    jn = bench.node(kinds.JOIN, lanes=3)
    kinds.Node(jn).projection = bench.heap.keep([FROM_KEY, 0, FROM_LEFT, 0, FROM_RIGHT, 0])
    sg, key = bench.segment(), bench.heap.keep([77])
    for i in range(count):
        bench.push(sg, 3, 0, 4 * i + 1, 1, (i,))
        bench.push(sg, 3, 0, 4 * i + 2, -1, (i,))
    deltas = [(4 * i + 3 + end, 1 - 2 * end, i) for i in range(count) for end in range(2)]
    p = bench.heap.keep([x for delta in deltas for x in delta])
    merge_histories(bench.W, jn, 1, key, p, len(deltas), 3, 0, 1, sg, 3, -1)
    assert len(bench.vector(kinds.Node(jn).buffer)) == 0
    assert bench.header.replayed <= 6 * count


# ---- the product rule -----------------------------------------------------------------------------


def changes(width):
    time = st.tuples(*[st.integers(0, 7 if width == 1 else 2)] * width)
    row = st.tuples(st.integers(0, 1) | st.just(NULL), st.integers(0, 2))
    return st.lists(st.tuples(st.sampled_from("xy"), row, time, st.integers(-2, 2).filter(bool)), max_size=40)


def joined(left, right):
    """Each pair of updates once, at the join of its two times."""
    total = Counter()
    for (_, (a, b), s, d), (_, (c, e), t, f) in pairs(left, right):
        if a == c and a != NULL:
            total[(a, b, e), tuple(map(max, s, t))] += d * f
    return {key: diff for key, diff in total.items() if diff}


@settings(max_examples=40)
@pytest.mark.parametrize("width", [1, 2])
@given(data=st.data())
def test_each_pair_of_updates_meets_once_at_the_join_of_its_times(width, data):
    history = data.draw(changes(width))
    ends = sorted(data.draw(st.lists(st.integers(0, 8), max_size=3))) + [9]
    s = Sketch(*("time", "valid")[:width])
    x, y = s.input("x"), s.input("y")
    s.output("xy", s.join(x, y, {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    s.output("xx", s.join(x, x, {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph, slice_times=data.draw(st.sampled_from([None, 2])))
    for name in "xy":
        rows = [change[1:] for change in history if change[0] == name]
        runtime.feed(name, *arrays(rows, 2, width))
    found = {"xy": {}, "xx": {}}
    for end in ends:
        runtime.advance(dict.fromkeys("xy", ((end, *[0] * (width - 1)),)))
        for name, shown in found.items():
            shown |= taken(runtime, name)
    lefts, rights = ([change for change in history if change[0] == name] for name in "xy")
    assert found["xy"] == joined(lefts, rights)
    assert found["xx"] == joined(lefts, lefts)


@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("seed", range(12))
def test_long_histories_with_partly_ordered_times_meet_as_pairs_would(width, seed):
    """Many updates of one key: they are replayed through buffers, in two steps of which the second meets the first."""
    random = Random(seed)
    time = lambda: tuple(random.randrange(9) for _ in range(width))
    history = [
        (random.choice("xy"), (1, random.randrange(3)), time(), random.choice([-2, -1, 1, 2]))
        for _ in range(random.choice([30, 120]))
    ]
    s = Sketch(*"abc"[:width])
    x, y = s.input("x"), s.input("y")
    s.output("xy", s.join(x, y, {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph)
    for name in "xy":
        runtime.feed(name, *arrays([change[1:] for change in history if change[0] == name], 2, width))
    found = {}
    for end in (random.randrange(9), 9):
        runtime.advance(dict.fromkeys("xy", ((end,) * width,)))
        found |= taken(runtime, "xy")
    runtime.advance({"x": (), "y": ()})
    found |= taken(runtime, "xy")
    assert found == joined(*([change for change in history if change[0] == name] for name in "xy"))
    assert runtime.counters()["replayed"] > 0


# ---- what is put off ------------------------------------------------------------------------------

SEALED = {"seal_rows": 16, "keep_records": 2}


@pytest.mark.parametrize("options", [{}, SEALED], ids=["records", "sealed"])
@pytest.mark.parametrize("seed", range(16))
def test_long_histories_along_one_line_meet_as_pairs_would(options, seed):
    """Slices in which one side of a key has much and the other much, little or nothing, behind a past of both."""
    random = Random(seed)
    keys, values = random.choice([1, 4]), random.choice([2, 40])
    history = []
    for start in range(0, 300, 50):
        busy = random.choice(["x", "y", "xy", "xxxxy", "yyyyyyyyx"])
        for _ in range(random.choice([5, 60, 150])):
            key, value = random.randrange(keys), random.randrange(values)
            time = (start + random.randrange(50),)
            history.append((random.choice(busy), (key, value), time, random.choice([-2, -1, 1, 2])))
    s = Sketch()
    x, y = s.input("x"), s.input("y")
    s.output("xy", s.join(x, y, {"a": "a"}, a="left.a", b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph, slice_times=50, **options)
    found = {}
    for name in "xy":
        runtime.feed(name, *arrays([change[1:] for change in history if change[0] == name], 2, 1))
    for end in (random.randrange(300), 300):
        runtime.advance(dict.fromkeys("xy", ((end,),)))
        found |= taken(runtime, "xy")
    assert found == joined(*([change for change in history if change[0] == name] for name in "xy"))


def alternating(times):
    """A key that has a value on one side or the other, never on both."""
    for t in range(times):
        yield "xy"[t % 2], ((1, t), (t,), 1)
        if t:
            yield "yx"[t % 2], ((1, t - 1), (t,), -1)


def test_what_one_side_shows_does_not_meet_what_the_other_is_about_to_take_back():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph, slice_times=50)
    rows = list(alternating(200))
    for name in "xy":
        runtime.feed(name, *arrays([row for where, row in rows if where == name], 2, 1))
    runtime.advance({"x": ((200,),), "y": ((200,),)})
    assert taken(runtime, "out") == {}
    assert runtime.counters()["rows"] == len(rows)  # and none behind the join


def test_a_few_rows_of_a_key_with_many_are_not_put_off():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph)
    runtime.feed("x", *arrays([((1, value), (0,), 1) for value in range(1000)], 2, 1))
    runtime.feed("y", *arrays([((1, 7), (0,), 1)], 2, 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    before = runtime.counters()["replayed"]
    runtime.feed("x", *arrays([((1, value), (1,), 1) for value in range(1000, 1020)], 2, 1))
    runtime.feed("y", *arrays([((2, 7), (1,), 1)], 2, 1))
    runtime.advance({"x": ((2,),), "y": ((2,),)})
    assert runtime.counters()["replayed"] == before


def test_copies_beyond_a_word_refuse_the_step_and_leave_it_pending():
    s = Sketch()
    s.output("out", s.join(s.input("x"), s.input("y"), {"a": "a"}, b="left.b", c="right.b"))
    runtime = LocalRuntime(s.graph)
    runtime.feed("x", *arrays([((1, 5), (0,), 2**32)], 2, 1))
    runtime.feed("y", *arrays([((1, 6), (0,), 2**32)], 2, 1))
    with pytest.raises(NumberOverflow):
        runtime.advance({"x": ((1,),), "y": ((1,),)})
    runtime.discard()
    runtime.feed("x", *arrays([((1, 5), (0,), 2**30)], 2, 1))
    runtime.feed("y", *arrays([((1, 6), (0,), 2**30)], 2, 1))
    runtime.advance({"x": ((1,),), "y": ((1,),)})
    assert taken(runtime, "out") == {((5, 6), (0,)): 2**60}
