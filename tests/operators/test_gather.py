from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbflow.operators import gather as g
from ebbflow.operators import node as kinds
from ebbflow.trace import table as t
from ebbflow.trace.append import touch
from ebbflow.trace.worker_fields import Worker
from tests.trace.heaps import Bench


def events_of(bench, v):
    words = bench.vector(v)
    return [tuple(words[i : i + g.Event.SIZE]) for i in range(0, len(words), g.Event.SIZE)]


@settings(max_examples=100)
@given(st.lists(st.integers(0, 5), max_size=20) | st.lists(st.integers(0, 5), min_size=21, max_size=80))
def test_events_are_sorted_by_rank_stably(ranks):
    bench = Bench()
    events = [(rank, -i, i) for i, rank in enumerate(ranks)]
    p = bench.heap.keep([x for event in events for x in event])
    g.sort_events(bench.W, p, len(events))
    found = bench.words(p, g.Event.SIZE * len(events))
    assert found == [x for event in sorted(events, key=lambda event: event[0]) for x in event]


FIELD = st.integers(0, 2)
UPDATES = st.lists(
    st.tuples(st.tuples(FIELD, FIELD), st.integers(1, 4), st.integers(-2, 3), st.integers(0, 8)), max_size=40
)


def key_with(bench, before, now, lanes=1):
    """A key whose segment has updates of an earlier slice and of this one."""
    nd = bench.node(kinds.REDUCE, 1, (2 + lanes, 3))
    tb = bench.table(nd)
    rc = bench.record(tb, (4,))
    sg = int(t.segment_of(tb, rc, 0))
    for updates in (before, now):
        for rounds, rank, diff, value in updates:
            bench.push(sg, 2 + lanes, bench.rounds(*rounds), rank, diff, (value, -value)[:lanes])
        if updates is before:
            bench.next_slice()
            touch(bench.W, sg, 2 + lanes)
    return nd, rc, sg


def precede(a, b):
    return all(x <= y for x, y in zip(a, b, strict=True))


@settings(max_examples=80)
@given(UPDATES, UPDATES, st.tuples(FIELD, FIELD))
def test_base_and_events_are_the_history_at_these_rounds(before, now, at):
    bench = Bench(depth=2)
    _, _, sg = key_with(bench, before, now)
    base = g.gather_total(bench.W, sg, 3, bench.rounds(*at), Worker(bench.W).events)
    assert base == sum(diff for rounds, _, diff, _ in before if precede(rounds, at))
    seen = [(rank, diff, 0) for rounds, rank, diff, _ in now if precede(rounds, at)]
    assert events_of(bench, Worker(bench.W).events) == sorted(seen, key=lambda event: event[0])


@settings(max_examples=80)
@given(UPDATES, UPDATES, st.tuples(FIELD, FIELD), st.integers(0, 2))
def test_values_are_listed_once_with_their_base_and_events_point_at_them(before, now, at, lanes):
    bench = Bench(depth=2)
    _, _, sg = key_with(bench, before, now, lanes)
    step = lanes + 1
    g.gather_values(
        bench.W,
        sg,
        2 + lanes,
        bench.rounds(*at),
        Worker(bench.W).events,
        Worker(bench.W).values,
    )
    words = bench.vector(Worker(bench.W).values)
    rows = [words[i : i + step] for i in range(0, len(words), step)]
    values = [tuple(row[1:]) for row in rows]
    assert len(set(values)) == len(values)
    base = Counter()
    for rounds, _, diff, value in before:
        if precede(rounds, at):
            base[(value, -value)[:lanes]] += diff
    found = {value: row[0] for value, row in zip(values, rows, strict=True)}
    assert {value: count for value, count in found.items() if count} == {v: c for v, c in base.items() if c}
    events = events_of(bench, Worker(bench.W).events)
    told = [(rank, diff, values[place]) for rank, diff, place in events]
    seen = [(rank, diff, (value, -value)[:lanes]) for rounds, rank, diff, value in now if precede(rounds, at)]
    assert told == sorted(seen, key=lambda event: event[0])


@settings(max_examples=80)
@given(UPDATES, UPDATES, st.tuples(FIELD, FIELD))
def test_a_key_owes_the_joins_with_rounds_that_do_not_precede(before, now, at):
    bench = Bench(depth=2)
    nd, rc, sg = key_with(bench, before, now)
    kinds.Node(nd).depth = 2
    held = {bench.fields(rounds) for rounds, _, _, _ in bench.entries(sg, 3)}
    for _ in range(2):  # what is noted twice is owed once
        g.note_rounds(bench.W, nd, sg, 3, bench.rounds(*at))
    g.owe_noted(bench.W, nd, rc)
    assert bench.header.owed == len(bench.pending(nd)) and not bench.vector(Worker(bench.W).noted)
    owed = {bench.fields(rounds) for rounds, _ in bench.pending(nd)}
    assert owed == {tuple(map(max, rounds, at)) for rounds in held if not precede(rounds, at)}
    assert at not in owed  # what is owed lies ahead


@settings(max_examples=40)
@given(st.lists(st.integers(0, 9), max_size=9), st.lists(st.integers(0, 9), max_size=9), st.integers(0, 9))
def test_in_one_loop_a_key_owes_the_next_of_its_rounds(before, now, at):
    bench = Bench(depth=2)
    nd, rc, sg = key_with(bench, [((r, 0), 1, 1, 0) for r in before], [((r, 0), 1, 1, 0) for r in now])
    kinds.Node(nd).depth = 1
    g.note_rounds(bench.W, nd, sg, 3, bench.rounds(at, 0))
    g.owe_noted(bench.W, nd, rc)
    later = sorted((r, 0) for r in before + now if r > at)
    assert [bench.fields(rounds) for rounds, _ in bench.pending(nd)] == later[:1]


@pytest.mark.interpreted
@pytest.mark.parametrize("count", [3, 40], ids=["few", "many"])
def test_gathering_in_the_small(count):
    bench = Bench()
    before = [((0,), 1, 1, i) for i in range(count)]
    now = [((0,), 3 - i % 3, 2, i) for i in range(count)] + [((1,), 1, 5, 0)]
    _, _, sg = key_with(bench, before, now)
    g.gather_values(bench.W, sg, 3, 0, Worker(bench.W).events, Worker(bench.W).values)
    assert bench.vector(Worker(bench.W).values) == [x for i in range(count) for x in (1, i)]
    events = events_of(bench, Worker(bench.W).events)
    assert len(events) == count and [e[0] for e in events] == sorted(e[0] for e in events)
